#include "grid/returned.h"

#include <algorithm>
#include <functional>

#include "sort.h"
#include "temporary_file.h"

namespace pg_gpu::grid {

static constexpr uint64 kFirstRoom = 1024;

void begin_returned(ReturnedRows *returned, MemoryContext context) {
    *returned = {};
    returned->context = context;
}

void forget_returned(ReturnedRows *returned) {
    if (returned->places != nullptr)
        pfree(returned->places);
    if (returned->skipped != nullptr)
        pfree(returned->skipped);
    if (returned->file != nullptr)
        BufFileClose(returned->file);
    begin_returned(returned, returned->context);
}

// Keeps in memory the rows that work_mem has room for, and the others in a file.
void note_more_returned(ReturnedRows *returned) {
    MemoryContext caller = MemoryContextSwitchTo(returned->context);
    const uint64 most = Max(static_cast<uint64>(work_mem) * 1024 / sizeof(uint64), kFirstRoom);
    if (returned->places == nullptr) {
        returned->room = kFirstRoom;
        returned->places = allocate<uint64>(returned->room);
    } else if (returned->room < most) {
        returned->room = Min(returned->room * 2, most);
        returned->places = reallocate(returned->places, returned->room);
    } else {
        if (returned->file == nullptr)
            returned->file = BufFileCreateTemp(false);
        BufFileWrite(returned->file, returned->places, returned->count * sizeof(uint64));
        returned->in_file += returned->count;
        returned->count = 0;
    }
    MemoryContextSwitchTo(caller);
}

void begin_skipping(ReturnedRows *returned, Relation index) {
    MemoryContext caller = MemoryContextSwitchTo(returned->context);
    const uint64 total = returned->in_file + returned->count;
    auto *all = allocate<uint64>(total + 1);
    if (returned->file != nullptr) {
        rewind_file(returned->file, index);
        read_file(returned->file, all, returned->in_file * sizeof(uint64), index);
    }
    if (returned->count > 0)
        memcpy(all + returned->in_file, returned->places, returned->count * sizeof(uint64));
    sort_interruptibly(all, all + total, std::less<uint64>());
    if (returned->skipped != nullptr)
        pfree(returned->skipped);
    returned->skipped = all;
    returned->skipped_count = total;
    MemoryContextSwitchTo(caller);
}

bool was_returned(const ReturnedRows &returned, const ItemPointerData &tid) {
    return returned.skipped != nullptr &&
           std::binary_search(returned.skipped, returned.skipped + returned.skipped_count, encode_tid(tid));
}

}  // namespace pg_gpu::grid
