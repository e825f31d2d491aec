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

// Looks at the first blocks of a map page.
static bool are_all_visible_on_page(const char *map, uint32 blocks) {
    constexpr uint32 blocks_per_word = 32;
    constexpr uint64 all_bits = UINT64CONST(0x5555555555555555);
    static_assert(VISIBILITYMAP_ALL_VISIBLE == 1);
    uint64 common = all_bits;
    for (uint32 word = 0; word < blocks / blocks_per_word; word++) {
        uint64 bits;
        memcpy(&bits, map + word * sizeof(bits), sizeof(bits));
        common &= bits;
    }
    bool all = common == all_bits;
    for (uint32 block = blocks / blocks_per_word * blocks_per_word; block < blocks; block++)
        all = all && (map[block / 4] >> (block % 4 * 2) & VISIBILITYMAP_ALL_VISIBLE) != 0;
    return all;
}

// Takes no locks, like PostgreSQL's own count of the map; but that would call a function for each of its
// words.
bool are_all_visible_before(Relation heap, BlockNumber end) {
    Buffer buffer = InvalidBuffer;
    bool all = true;
    for (BlockNumber block = 0; all && block < end; block += Min(kBlocksPerMapPage, end - block)) {
        // Pins the map page; the map may end before it.
        visibilitymap_get_status(heap, block, &buffer);
        all = BufferIsValid(buffer) && are_all_visible_on_page(PageGetContents(BufferGetPage(buffer)),
                                                               Min(kBlocksPerMapPage, end - block));
    }
    if (BufferIsValid(buffer))
        ReleaseBuffer(buffer);
    return all;
}

// Packs every other bit of a word of the map, from the lowest on.
static uint64 all_visible_bits(uint64 word) {
    uint64 bits = word & UINT64CONST(0x5555555555555555);
    bits = (bits | bits >> 1) & UINT64CONST(0x3333333333333333);
    bits = (bits | bits >> 2) & UINT64CONST(0x0f0f0f0f0f0f0f0f);
    bits = (bits | bits >> 4) & UINT64CONST(0x00ff00ff00ff00ff);
    bits = (bits | bits >> 8) & UINT64CONST(0x0000ffff0000ffff);
    return (bits | bits >> 16) & UINT64CONST(0x00000000ffffffff);
}

uint64 all_visible_in_group(VisibilityMap *map, uint32 number) {
    // A map page holds whole words, of 32 blocks each, but not whole groups.
    constexpr BlockNumber kBlocksPerWord = 32;
    static_assert(kBlocksPerMapPage % kBlocksPerWord == 0 && VISIBILITYMAP_ALL_VISIBLE == 1);
    uint64 bits = 0;
    for (uint32 i = 0; i < 2; i++) {
        const BlockNumber block = (number * 2 + i) * kBlocksPerWord;
        const uint32 map_page = block / kBlocksPerMapPage;
        if (map_page >= map->copy_room || map->copies[map_page] == nullptr)
            copy_map_page(map, block, map_page);
        unsigned char bytes[sizeof(uint64)];
        memcpy(bytes, map->copies[map_page] + block % kBlocksPerMapPage / 4, sizeof(bytes));
        uint64 word = 0;
        for (uint32 byte = 0; byte < sizeof(bytes); byte++)
            word |= uint64{bytes[byte]} << (byte * 8);
        bits |= all_visible_bits(word) << (i * kBlocksPerWord);
    }
    return bits;
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
    // An MVCC snapshot sees at most one member of a HOT chain, so that no call for a further one is needed.
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
