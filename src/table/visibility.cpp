// Visibility map lookups and heap probes.
#include "table/visibility.h"

namespace pg_gpu::table {

// Below this many looks a copy of the map page costs more than it saves.
static constexpr uint32 kLooksBeforeCopy = 32;

void open_visibility(VisibilityMap *map, Relation heap) {
    *map = {};
    map->heap = heap;
    map->buffer = InvalidBuffer;
}

void renew_visibility(VisibilityMap *map) {
    for (uint32 i = 0; i < map->copy_room; i++)
        if (map->copies[i] != nullptr)
            pfree(map->copies[i]);
    if (map->copies != nullptr)
        pfree(map->copies);
    map->copies = nullptr;
    map->copy_room = 0;
    map->lookups = 0;
}

void close_visibility(VisibilityMap *map) {
    renew_visibility(map);
    if (BufferIsValid(map->buffer))
        ReleaseBuffer(map->buffer);
    map->buffer = InvalidBuffer;
}

static void copy_map_page(VisibilityMap *map, BlockNumber block, uint32 map_page) {
    if (map_page >= map->copy_room) {
        const uint32 room = map_page + 8;
        char **copies = allocate_zeroed<char *>(room);
        if (map->copies != nullptr) {
            memcpy(copies, map->copies, map->copy_room * sizeof(char *));
            pfree(map->copies);
        }
        map->copies = copies;
        map->copy_room = room;
    }
    char *copy = allocate_zeroed<char>(kMapBytes);
    // Pins the right map page, or none where the map ends before it.
    visibilitymap_get_status(map->heap, block, &map->buffer);
    if (BufferIsValid(map->buffer))
        memcpy(copy, PageGetContents(BufferGetPage(map->buffer)), kMapBytes);
    map->copies[map_page] = copy;
}

bool is_all_visible_uncopied(VisibilityMap *map, BlockNumber block) {
    if (map->lookups < kLooksBeforeCopy) {
        map->lookups++;
        return (visibilitymap_get_status(map->heap, block, &map->buffer) & VISIBILITYMAP_ALL_VISIBLE) != 0;
    }
    copy_map_page(map, block, block / kBlocksPerMapPage);
    return is_all_visible(map, block);
}

void open_heap_probe(HeapProbe *probe, Relation heap, Snapshot snapshot) {
    probe->fetch = table_index_fetch_begin(heap);
    probe->slot = table_slot_create(heap, nullptr);
    probe->snapshot = snapshot;
}

void close_heap_probe(HeapProbe *probe) {
    if (probe->fetch == nullptr)
        return;
    table_index_fetch_end(probe->fetch);
    ExecDropSingleTupleTableSlot(probe->slot);
    *probe = {};
}

TupleTableSlot *fetch_visible(HeapProbe *probe, const ItemPointerData &tid) {
    ItemPointerData copy = tid;
    bool call_again = false;
    bool all_dead = false;
    // An MVCC snapshot sees at most one member of a HOT chain, so there is nothing more to ask for.
    return table_index_fetch_tuple(probe->fetch, &copy, probe->snapshot, probe->slot, &call_again, &all_dead)
               ? probe->slot
               : nullptr;
}

bool is_visible(HeapProbe *probe, const ItemPointerData &tid, ItemPointerData *row) {
    const bool found = fetch_visible(probe, tid) != nullptr;
    if (found && row != nullptr)
        *row = probe->slot->tts_tid;
    ExecClearTuple(probe->slot);
    return found;
}

}  // namespace pg_gpu::table
