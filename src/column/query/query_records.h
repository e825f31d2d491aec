// The result of a query, as the session keeps it: records of words, one behind the other, in memory and
// beyond work_mem in a temporary file.
#pragma once

#include "memory.h"

namespace pg_gpu::column {

struct KeptRecords {
    Relation index;  // that a file's errors name
    MemoryContext context;
    ResourceOwner owner;  // of a file
    uint32 words;         // of a record
    uint64 *memory;
    uint64 in_memory;  // records
    uint64 room;
    uint64 max_in_memory;
    BufFile *file;
    uint64 in_file;
    uint64 *portion;  // read from the file
    uint64 max_in_portion;
    bool is_memory_read;
    uint64 file_read;
};

// They live as long as the context and the owner, which may outlast a subtransaction that adds to them,
// unless they are freed before.
KeptRecords *begin_records(Relation index, MemoryContext context, ResourceOwner owner);
// Adds records, which all have as many words.
void keep_records(KeptRecords *kept, const uint64 *records, uint32 words, uint64 count);

// The next records, all or some: how many; 0 at the end. They are good until the next call.
uint64 next_records(KeptRecords *kept, const uint64 **records);
void rewind_records(KeptRecords *kept);
void free_records(KeptRecords *kept);

}  // namespace pg_gpu::column
