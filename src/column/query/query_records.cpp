// The result of a query: records in memory, and in a temporary file beyond what work_mem has room for.
#include "column/query/query_records.h"

#include "temporary_file.h"

namespace pg_gpu::column {

static constexpr uint64 kPortionBytes = 256 * 1024;

KeptRecords *begin_records(Relation index, MemoryContext context, ResourceOwner owner) {
    auto *kept = static_cast<KeptRecords *>(MemoryContextAllocZero(context, sizeof(KeptRecords)));
    kept->index = index;
    kept->context = context;
    kept->owner = owner;
    return kept;
}

static uint64 bytes_of(const KeptRecords &kept, uint64 count) {
    return count * kept.words * sizeof(uint64);
}

// As many records as there are, until all that memory may take are there.
static void grow(KeptRecords *kept, uint64 wanted) {
    if (wanted <= kept->room)
        return;
    MemoryContext caller = MemoryContextSwitchTo(kept->context);
    kept->room = Min(Max(kept->room * 2, wanted), kept->max_in_memory);
    const uint64 words = kept->room * kept->words;
    kept->memory = kept->memory == nullptr ? allocate<uint64>(words) : reallocate(kept->memory, words);
    MemoryContextSwitchTo(caller);
}

static void begin_file(KeptRecords *kept) {
    MemoryContext caller = MemoryContextSwitchTo(kept->context);
    kept->portion = allocate<uint64>(kept->max_in_portion * kept->words);
    ResourceOwner caller_owner = CurrentResourceOwner;
    CurrentResourceOwner = kept->owner;
    PG_TRY();
    { kept->file = BufFileCreateTemp(false); }
    PG_FINALLY();
    { CurrentResourceOwner = caller_owner; }
    PG_END_TRY();
    MemoryContextSwitchTo(caller);
}

static void set_words(KeptRecords *kept, uint32 words) {
    kept->words = words;
    const uint64 bytes = bytes_of(*kept, 1);
    kept->max_in_memory = Max(static_cast<uint64>(work_mem) * 1024 / bytes, uint64{1});
    kept->max_in_portion = Max(kPortionBytes / bytes, uint64{1});
}

void keep_records(KeptRecords *kept, const uint64 *records, uint32 words, uint64 count) {
    if (kept->words != words)
        set_words(kept, words);
    if (words == 0) {
        kept->in_memory += count;
        return;
    }
    const uint64 here = Min(count, kept->max_in_memory - kept->in_memory);
    grow(kept, kept->in_memory + here);
    if (here > 0)
        memcpy(kept->memory + kept->in_memory * kept->words, records, bytes_of(*kept, here));
    kept->in_memory += here;
    if (here == count)
        return;
    if (kept->file == nullptr)
        begin_file(kept);
    BufFileWrite(kept->file, const_cast<uint64 *>(records + here * words), bytes_of(*kept, count - here));
    kept->in_file += count - here;
}

uint64 next_records(KeptRecords *kept, const uint64 **records) {
    if (!kept->is_memory_read && kept->in_memory > 0) {
        kept->is_memory_read = true;
        *records = kept->memory;
        return kept->in_memory;
    }
    const uint64 count = Min(kept->in_file - kept->file_read, kept->max_in_portion);
    if (count > 0) {
        if (kept->file_read == 0)
            rewind_file(kept->file, kept->index);
        read_file(kept->file, kept->portion, bytes_of(*kept, count), kept->index);
        kept->file_read += count;
        *records = kept->portion;
    }
    return count;
}

void rewind_records(KeptRecords *kept) {
    kept->is_memory_read = false;
    kept->file_read = 0;
}

void free_records(KeptRecords *kept) {
    if (kept->file != nullptr)
        BufFileClose(kept->file);
    if (kept->portion != nullptr)
        pfree(kept->portion);
    if (kept->memory != nullptr)
        pfree(kept->memory);
    pfree(kept);
}

}  // namespace pg_gpu::column
