#include "shared_memory.h"

namespace pg_gpu {

static shmem_request_hook_type previous_hook = nullptr;
static size_t reserved_bytes = 0;

static void request_reserved() {
    if (previous_hook != nullptr)
        previous_hook();
    RequestAddinShmemSpace(reserved_bytes);
}

void reserve_shared(const SharedStructure &structure) {
    if (reserved_bytes == 0) {
        previous_hook = shmem_request_hook;
        shmem_request_hook = request_reserved;
    }
    reserved_bytes += CACHELINEALIGN(structure.bytes);
}

// Raises an error where the structure can't be had.
static pg_noinline void *attach(const SharedStructure &structure) {
    bool found;
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    void *place = ShmemInitStruct(structure.name, structure.bytes, &found);
    if (!found)
        structure.initialise(place);
    LWLockRelease(AddinShmemInitLock);
    return place;
}

// There may be no subtransaction here, since views are read in parallel mode, too, and none is needed: only
// the lock is held when an error is raised.
void *find_shared(SharedStructure *structure) {
    if (structure->is_tried)
        return structure->place;
    structure->is_tried = true;
    MemoryContext caller_context = CurrentMemoryContext;
    PG_TRY();
    { structure->place = attach(*structure); }
    PG_CATCH();
    {
        MemoryContextSwitchTo(caller_context);
        FlushErrorState();
        // The error has reset the count of holders of interrupts, from which the release takes one away.
        HOLD_INTERRUPTS();
        LWLockRelease(AddinShmemInitLock);
    }
    PG_END_TRY();
    return structure->place;
}

}  // namespace pg_gpu
