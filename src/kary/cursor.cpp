// Moving through one sorted source of a scan, a leaf page at a time.

#include "kary/dead_rows.h"
#include "kary/scan.h"
#include "keys/keys.h"

namespace pg_gpu::kary {

// Is called after a page turned out to be recycled, and raises an error if that is damage.
template <typename Key>
static bool stale(Scan<Key> *scan, const Cursor<Key> *cursor, uint32 position) {
    storage::confirm_recycled(scan->descriptor->indexRelation, scan->kind, scan->view, *cursor->run,
                              position);
    return false;
}

template <typename Key>
static bool leaf_for_key(Scan<Key> *scan, const Cursor<Key> *cursor, Key key, Bound bound, int64 *leaf) {
    uint32 found;
    uint32 position = 0;
    if (!find_leaf<Key>(scan->descriptor->indexRelation, *cursor->run, cursor->partition, key, bound, &found,
                        &position))
        return stale(scan, cursor, position);
    *leaf = found;
    return true;
}

template <typename Key>
static void make_room(Scan<Key> *scan, Cursor<Key> *cursor, uint32 count) {
    if (cursor->room >= count)
        return;
    MemoryContext caller = MemoryContextSwitchTo(scan->context);
    if (cursor->keys != nullptr) {
        pfree(cursor->keys);
        pfree(cursor->tids);
    }
    cursor->room = Max(count, 16U);
    cursor->keys = allocate<Key>(cursor->room);
    cursor->tids = allocate<ItemPointerData>(cursor->room);
    MemoryContextSwitchTo(caller);
}

// Finds the places of the matching entries on a leaf page, for scans for points. *next_point is where to look
// first, from the leaf before, and becomes the first point whose range begins above the leaf.
template <typename Key>
static uint32 match_points(const Condition<Key> &condition, const Ranges<Key> &ranges, const Key *keys,
                           uint32 count, uint16 *places, uint32 *next_point) {
    const Key *points = condition.points;
    const uint32 point_count = condition.point_count;
    const auto first_of = [&](uint32 i) { return join_keys(points[i], ranges.point_low); };
    const auto last_of = [&](uint32 i) { return join_keys(points[i], ranges.point_high); };
    uint32 point = *next_point;
    if (point >= point_count || last_of(point) < keys[0] || (point > 0 && last_of(point - 1) >= keys[0]))
        point = partition_point(points, point_count,
                                [&](Key other) { return join_keys(other, ranges.point_high) < keys[0]; });
    const Key last = keys[count - 1];
    uint32 matches = 0;
    uint32 at = 0;
    for (; point < point_count && first_of(point) <= last; point++) {
        const Key wanted = first_of(point);
        const Key wanted_last = last_of(point);
        // Gallop: with many points on the page the next one is near.
        uint32 stride = 8;
        while (at + stride < count && keys[at + stride] < wanted)
            stride *= 4;
        at += lower_bound(keys + at, Min(count - at, stride + 1), wanted);
        for (; at < count && keys[at] <= wanted_last; at++)
            places[matches++] = static_cast<uint16>(at);
    }
    *next_point = point;
    return matches;
}

// ERROR for a TID that cannot be in the table.
template <typename Key>
static void check_tids(Scan<Key> *scan, const Cursor<Key> *cursor, BlockNumber index_block) {
    for (uint32 i = 0; i < cursor->count; i++)
        if (unlikely(!is_possible_tid(scan->descriptor->heapRelation, &scan->heap_blocks, cursor->tids[i])))
            storage::report_corruption(scan->descriptor->indexRelation, index_block,
                                       "An entry's TID lies outside the table.");
}

// Drops dead entries from the batch. `places` are the entries' places on the leaf, counted from `begin`;
// nullptr when they are consecutive from `first_place`.
template <typename Key>
static bool drop_dead(Scan<Key> *scan, Cursor<Key> *cursor, int64 leaf, uint32 on_leaf, uint32 begin,
                      uint32 first_place, const uint16 *places) {
    uint64 dead[(kLeafCapacity<Key> + 63) / 64];
    const uint64 first = static_cast<uint64>(leaf) * kLeafCapacity<Key>;
    if (!storage::read_dead_bits(scan->descriptor->indexRelation, *cursor->run, first, on_leaf, dead))
        return stale(scan, cursor, cursor->run->sections[storage::kDeadBitmapSection].first_page);
    uint32 kept = 0;
    for (uint32 i = 0; i < cursor->count; i++) {
        const uint32 place = begin + (places != nullptr ? places[i] : first_place + i);
        if ((dead[place / 64] >> (place % 64)) & 1)
            continue;
        cursor->keys[kept] = cursor->keys[i];
        cursor->tids[kept] = cursor->tids[i];
        kept++;
    }
    cursor->count = kept;
    return true;
}

// Index-only scans: keeps what the snapshot sees (rules "Trust" and "Index-only scans"). The entries were
// read before the visibility map is, and vacuum_seq is read again after it: when it is what the view says, no
// VACUUM finished in between, so an all-visible block's live entries are visible to everyone. The rest is
// looked up.
template <typename Key>
bool resolve_batch(Scan<Key> *scan, Source<Key> *source) {
    if (source->count == 0)
        return true;
    bool *visible = allocate<bool>(source->count);
    bool all_visible = true;
    for (uint32 i = 0; i < source->count; i++) {
        visible[i] = is_all_visible(&scan->visibility, ItemPointerGetBlockNumberNoCheck(&source->tids[i]));
        all_visible = all_visible && visible[i];
    }
    const bool stale_view =
        storage::read_vacuum_seq(scan->descriptor->indexRelation, scan->kind) != scan->view.vacuum_seq;
    if (stale_view || all_visible) {
        pfree(visible);
        return !stale_view;
    }
    // No heap page stays pinned while the scan is idle, because VACUUM (FREEZE) would wait for it.
    find_visible(&scan->rows, source->tids, source->count, visible);
    uint32 kept = 0;
    for (uint32 i = 0; i < source->count; i++) {
        if (!visible[i])
            continue;
        source->keys[kept] = source->keys[i];
        source->tids[kept] = source->tids[i];
        kept++;
    }
    source->count = kept;
    pfree(visible);
    return true;
}

// Passes over a leaf page all of whose entries the session knows to be dead. Returns whether it is one.
template <typename Key>
static bool pass_over_dead(const Scan<Key> *scan, Cursor<Key> *cursor, int64 leaf) {
    const DeadRows *known = known_dead_rows(scan->descriptor->indexRelation, scan->view.vacuum_seq);
    if (known == nullptr || scan->condition.has_points ||
        !is_known_dead(*known, DeadLeaf{cursor->run->run_id, leaf}))
        return false;
    // It isn't known where its keys lie, so that the next page decides where the range ends.
    cursor->first_key = kHighestKey<Key>;
    cursor->last_key = key_from<Key>(0);
    cursor->count = 0;
    cursor->leaf = leaf;
    return true;
}

template <typename Key>
void drop_known_dead(const Scan<Key> *scan, Source<Key> *source) {
    const DeadRows *known = known_dead_rows(scan->descriptor->indexRelation, scan->view.vacuum_seq);
    if (known == nullptr)
        return;
    uint32 kept = 0;
    for (uint32 i = 0; i < source->count; i++) {
        if (is_known_dead(*known, source->tids[i]))
            continue;
        source->keys[kept] = source->keys[i];
        source->tids[kept] = source->tids[i];
        kept++;
    }
    source->count = kept;
}

template <typename Key>
static void load_tail(Scan<Key> *scan, Cursor<Key> *cursor) {
    const SortEntry<Key> *entries = scan->tail + cursor->partition.first;
    const auto count = static_cast<uint32>(cursor->partition.entries);
    make_room(scan, cursor, count);
    for (uint32 i = 0; i < count; i++) {
        cursor->keys[i] = entries[i].key;
        ItemPointerSet(&cursor->tids[i], entries[i].block, entries[i].offset);
    }
    cursor->count = count;
    check_tids(scan, cursor, storage::kTailBlock);
    cursor->first_key = key_from<Key>(0);
    cursor->last_key = kHighestKey<Key>;
}

// Keeps the places whose keys pass the condition's filters; *first and *count as for consecutive places when
// `scattered` is false.
template <typename Key>
static uint32 filter_places(const Condition<Key> &condition, const Key *keys, uint32 first, uint32 count,
                            bool scattered, uint16 *places) {
    uint32 kept = 0;
    for (uint32 i = 0; i < count; i++) {
        const uint32 place = scattered ? places[i] : first + i;
        places[kept] = static_cast<uint16>(place);
        kept += passes_filters(condition, keys[place]) ? 1 : 0;
    }
    return kept;
}

template <typename Key>
static bool load_run_leaf(Scan<Key> *scan, Cursor<Key> *cursor, int64 leaf, bool *is_whole) {
    const storage::RunEntry &run = *cursor->run;
    const auto leaf_number = static_cast<uint32>(leaf);
    const storage::RunPage leaf_page = read_leaf<Key>(scan->descriptor->indexRelation, run, leaf_number);
    if (leaf_page.page == nullptr)
        return stale(scan, cursor, run.sections[kLeafSection].first_page + leaf_number);
    Page page = leaf_page.page;
    const uint32 entries = leaf_entries<Key>(run, leaf_number);
    const Places share = places_on_leaf<Key>(cursor->partition, leaf_number);
    const uint32 share_count = share.end - share.begin;
    const Key *keys = leaf_keys<Key>(page) + share.begin;
    const ItemPointerData *tids = leaf_tids<Key>(page, entries) + share.begin;
    const Condition<Key> &condition = scan->condition;
    const Ranges<Key> &ranges = cursor->ranges;

    uint16 places[kLeafCapacity<Key>];
    uint32 first = 0;
    bool scattered = condition.has_points;
    cursor->first_key = keys[0];
    cursor->last_key = keys[share_count - 1];
    if (scattered) {
        cursor->count = match_points(condition, ranges, keys, share_count, places, &cursor->next_point);
    } else {
        first = cursor->first_key < ranges.low ? lower_bound(keys, share_count, ranges.low) : 0;
        const uint32 end =
            cursor->last_key > ranges.high ? upper_bound(keys, share_count, ranges.high) : share_count;
        cursor->count = end > first ? end - first : 0;
    }
    *is_whole = !scattered && condition.filter_count == 0 && cursor->count == entries;
    if (condition.filter_count > 0) {
        cursor->count = filter_places(condition, keys, first, cursor->count, scattered, places);
        scattered = true;
    }
    if (scan->counts_only && run.dead == 0) {
        storage::release_run_page(leaf_page);
        return true;
    }
    make_room(scan, cursor, cursor->count);
    if (scattered) {
        for (uint32 i = 0; i < cursor->count; i++) {
            cursor->keys[i] = keys[places[i]];
            cursor->tids[i] = tids[places[i]];
        }
    } else if (cursor->count > 0) {
        memcpy(cursor->keys, keys + first, cursor->count * sizeof(Key));
        memcpy(cursor->tids, tids + first, cursor->count * sizeof(ItemPointerData));
    }
    storage::release_run_page(leaf_page);
    if (run.dead > 0 && cursor->count > 0 &&
        !drop_dead(scan, cursor, leaf, entries, share.begin, first, scattered ? places : nullptr))
        return false;
    // TIDs are checked only after dead entries are dropped: their rows may be gone together with the end of
    // the table.
    check_tids(scan, cursor, storage::run_block(run, run.sections[kLeafSection].first_page + leaf_number));
    return true;
}

// Searching a page for points, from finding it to having its matches, is what a request would do on the
// server. Where a request is sent, what remains for the pages is no search of its own.
template <typename Key>
static bool is_timed(const Scan<Key> *scan) {
    return scan->timed && scan->remote.run_count == 0;
}

template <typename Key>
static void begin_search(Scan<Key> *scan) {
    if (unlikely(is_timed(scan)))
        INSTR_TIME_SET_CURRENT(scan->search_began);
}

template <typename Key>
static void end_search(Scan<Key> *scan) {
    if (likely(!is_timed(scan)))
        return;
    instr_time now;
    INSTR_TIME_SET_CURRENT(now);
    INSTR_TIME_ACCUM_DIFF(scan->search_time, now, scan->search_began);
}

template <typename Key>
bool load_leaf(Scan<Key> *scan, Cursor<Key> *cursor, int64 leaf) {
    CHECK_FOR_INTERRUPTS();
    bool is_whole = false;
    if (cursor->run == nullptr) {
        load_tail(scan, cursor);
    } else if (scan->skips_dead && pass_over_dead(scan, cursor, leaf)) {
        return true;
    } else {
        if (!load_run_leaf(scan, cursor, leaf, &is_whole))
            return false;
        end_search(scan);
    }
    storage::check_snapshot_of_view(scan->descriptor->indexRelation, scan->kind,
                                    scan->descriptor->xs_snapshot);
    if (scan->skips_dead)
        drop_known_dead(scan, static_cast<Source<Key> *>(cursor));
    if (scan->skips_dead && is_whole && cursor->count == 0)
        note_dead_leaf(scan->descriptor->indexRelation, scan->view.vacuum_seq, {cursor->run->run_id, leaf});
    if (scan->resolve && !resolve_batch(scan, cursor))
        return false;
    cursor->leaf = leaf;
    return true;
}

// The next leaf that can hold matches; leaf_end when there is none.
template <typename Key>
static bool next_leaf(Scan<Key> *scan, const Cursor<Key> *cursor, int64 *leaf) {
    const Condition<Key> &condition = scan->condition;
    const Ranges<Key> &ranges = cursor->ranges;
    const bool first = cursor->leaf < cursor->leaf_begin;
    *leaf = cursor->leaf + 1;
    if (cursor->run == nullptr)
        return true;
    if (first)
        return leaf_for_key(scan, cursor, ranges.low, Bound::Lower, leaf);
    if (cursor->last_key > ranges.high) {
        *leaf = cursor->leaf_end;
        return true;
    }
    if (!condition.has_points)
        return true;
    const uint32 point = cursor->next_point;
    // The last range can go on on the next leaf; and with points on every leaf there is nothing to skip.
    const bool dense = condition.point_count > static_cast<uint64>(cursor->leaf_end) * 2;
    if (dense || (point > 0 && join_keys(condition.points[point - 1], ranges.point_high) >= cursor->last_key))
        return true;
    if (point >= condition.point_count) {
        *leaf = cursor->leaf_end;
        return true;
    }
    if (!leaf_for_key(scan, cursor, join_keys(condition.points[point], ranges.point_low), Bound::Lower, leaf))
        return false;
    // A partition of one leaf has no separators and answers its first for every key.
    *leaf = Max(*leaf, cursor->leaf + 1);
    return true;
}

// The previous leaf that can hold matches; leaf_begin - 1 when there is none.
template <typename Key>
static bool previous_leaf(Scan<Key> *scan, const Cursor<Key> *cursor, int64 *leaf) {
    const Condition<Key> &condition = scan->condition;
    const Ranges<Key> &ranges = cursor->ranges;
    const bool first = cursor->leaf >= cursor->leaf_end;
    *leaf = cursor->leaf - 1;
    if (cursor->run == nullptr)
        return true;
    Key key = ranges.high;
    if (!first) {
        if (cursor->first_key < ranges.low) {
            *leaf = cursor->leaf_begin - 1;
            return true;
        }
        if (!condition.has_points)
            return true;
        const uint32 point = partition_point(condition.points, condition.point_count, [&](Key other) {
            return join_keys(other, ranges.point_low) <= cursor->first_key;
        });
        if (point == 0) {
            *leaf = cursor->leaf_begin - 1;
            return true;
        }
        key = join_keys(condition.points[point - 1], ranges.point_high);
        if (key >= cursor->first_key)
            return true;
    }
    int64 found;
    if (!leaf_for_key(scan, cursor, key, Bound::Upper, &found))
        return false;
    *leaf = Min(found, cursor->leaf - 1);
    return true;
}

template <typename Key>
Step ensure_forward(Scan<Key> *scan, Cursor<Key> *cursor) {
    while (cursor->at == cursor->count) {
        int64 leaf = cursor->leaf_end;
        begin_search(scan);
        if (cursor->leaf < cursor->leaf_end && cursor->leaf_begin < cursor->leaf_end &&
            !next_leaf(scan, cursor, &leaf))
            return Step::Restart;
        if (leaf >= cursor->leaf_end) {
            cursor->leaf = cursor->leaf_end;
            cursor->count = cursor->at = 0;
            return Step::End;
        }
        if (!load_leaf(scan, cursor, leaf))
            return Step::Restart;
        cursor->at = 0;
    }
    return Step::Entry;
}

template <typename Key>
Step ensure_backward(Scan<Key> *scan, Cursor<Key> *cursor) {
    while (cursor->at == 0) {
        int64 leaf = cursor->leaf_begin - 1;
        begin_search(scan);
        if (cursor->leaf >= cursor->leaf_begin && cursor->leaf_begin < cursor->leaf_end &&
            !previous_leaf(scan, cursor, &leaf))
            return Step::Restart;
        if (leaf < cursor->leaf_begin) {
            cursor->leaf = cursor->leaf_begin - 1;
            cursor->count = cursor->at = 0;
            return Step::End;
        }
        if (!load_leaf(scan, cursor, leaf))
            return Step::Restart;
        cursor->at = cursor->count;
    }
    return Step::Entry;
}

template <typename Key>
static int compare_to_position(const Scan<Key> *scan, const Source<Key> *source, uint32 at,
                               const Position<Key> &position) {
    const int order =
        compare_in_index_order(scan->format, source->nulls, source->keys[at], position.nulls, position.key);
    return order != 0 ? order : ItemPointerCompare(&source->tids[at], const_cast<ItemPointer>(&position.tid));
}

template <typename Key>
void place_in_batch(const Scan<Key> *scan, Source<Key> *source, const Position<Key> &position, bool after) {
    uint32 low = 0;
    uint32 high = source->count;
    while (low < high) {
        const uint32 middle = (low + high) / 2;
        const int order = compare_to_position(scan, source, middle, position);
        if (order < 0 || (after && order == 0))
            low = middle + 1;
        else
            high = middle;
    }
    source->at = low;
}

// Among leaves [low, high), all ending on the position's key, the first whose last TID lies beyond it.
template <typename Key>
static bool leaf_among_equals(Scan<Key> *scan, const Cursor<Key> *cursor, const Position<Key> &position,
                              bool after, int64 low, int64 high, int64 *leaf) {
    while (low < high) {
        const int64 middle = (low + high) / 2;
        const auto number = static_cast<uint32>(middle);
        const storage::RunPage page = read_leaf<Key>(scan->descriptor->indexRelation, *cursor->run, number);
        if (page.page == nullptr)
            return stale(scan, cursor, cursor->run->sections[kLeafSection].first_page + number);
        const uint32 entries = leaf_entries<Key>(*cursor->run, number);
        const uint32 last = places_on_leaf<Key>(cursor->partition, number).end - 1;
        const ItemPointerData tid = leaf_tids<Key>(page.page, entries)[last];
        storage::release_run_page(page);
        const int order =
            ItemPointerCompare(const_cast<ItemPointer>(&tid), const_cast<ItemPointer>(&position.tid));
        if (order < 0 || (after && order == 0))
            low = middle + 1;
        else
            high = middle;
    }
    *leaf = low;
    return true;
}

// The leaf for a position whose entry has other columns NULL than the cursor's: entries that agree with it
// before the first such column are all before or all behind it.
template <typename Key>
static bool leaf_among_others(Scan<Key> *scan, const Cursor<Key> *cursor, const Position<Key> &position,
                              int64 *leaf) {
    int column;
    const int shift = first_difference(scan->format, cursor->partition.nulls, position.nulls, &column);
    const Bits<Key> below = low_bits<Bits<Key>>(shift);
    const Bits<Key> prefix = bits_of(position.key) & ~below;
    const bool is_null = (cursor->partition.nulls >> column) & 1;
    if (is_null == scan->format.columns[column].nulls_first)
        return leaf_for_key(scan, cursor, key_from<Key>(prefix | below), Bound::Upper, leaf);
    return leaf_for_key(scan, cursor, key_from<Key>(prefix), Bound::Lower, leaf);
}

template <typename Key>
bool seek_position(Scan<Key> *scan, Cursor<Key> *cursor, const Position<Key> &position, bool after) {
    int64 low = cursor->leaf_begin;
    int64 high = cursor->leaf_end;
    int64 leaf = low;
    cursor->count = cursor->at = 0;
    if (cursor->leaf_begin == cursor->leaf_end)
        return true;
    if (cursor->run != nullptr && cursor->partition.nulls != position.nulls) {
        if (!leaf_among_others(scan, cursor, position, &leaf))
            return false;
    } else if (cursor->run != nullptr) {
        if (!leaf_for_key(scan, cursor, position.key, Bound::Lower, &low) ||
            !leaf_for_key(scan, cursor, position.key, Bound::Upper, &high) ||
            !leaf_among_equals(scan, cursor, position, after, low, high, &leaf))
            return false;
    }
    if (leaf >= cursor->leaf_end) {
        cursor->leaf = cursor->leaf_end;
        return true;
    }
    if (!load_leaf(scan, cursor, leaf))
        return false;
    place_in_batch(scan, cursor, position, after);
    return true;
}

#define INSTANTIATE(Key)                                                                         \
    template Step ensure_forward(Scan<Key> *, Cursor<Key> *);                                    \
    template Step ensure_backward(Scan<Key> *, Cursor<Key> *);                                   \
    template bool load_leaf(Scan<Key> *, Cursor<Key> *, int64);                                  \
    template void place_in_batch(const Scan<Key> *, Source<Key> *, const Position<Key> &, bool); \
    template void drop_known_dead(const Scan<Key> *, Source<Key> *);                             \
    template bool resolve_batch(Scan<Key> *, Source<Key> *);                                     \
    template bool seek_position(Scan<Key> *, Cursor<Key> *, const Position<Key> &, bool);
PG_GPU_FOR_EACH_KEY_TYPE(INSTANTIATE)

}  // namespace pg_gpu::kary
