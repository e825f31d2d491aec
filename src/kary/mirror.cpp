#include "kary/mirror.h"

#include <algorithm>

#include "settings.h"

namespace pg_gpu::kary {

// Fewer points are answered from pages, unless pg_gpu.path says otherwise: a request's way there and back
// alone takes longer.
static constexpr uint32 kFewestPoints = 512;

// Points of a chunk: rows fetched one by one begin with small ones, which serve LIMIT.
static constexpr uint32 kFirstChunk = 4096;
static constexpr uint32 kLargestChunk = 1U << 20;

// A chunk's matches held in memory; with more of them the pages are read, which holds one at a time.
static constexpr uint64 kMaxMatches = 1U << 23;

// ---- the mirror's format ----------------------------------------------------------------------------------

template <typename Key>
const client::MirrorFormat *mirror_format() {
    static constexpr client::KaryMirror format = {
        {&client::kary_mirror, static_cast<int>(sizeof(ServerKey<Key>) * 8), keyed_entries},
        sizeof(Key),
        kLeafCapacity<Key>};
    return &format;
}

const client::MirrorFormat *mirror_format(Relation index) {
    return with_key_type(key_width(index), [](auto key) { return mirror_format<decltype(key)>(); });
}

// ---- choosing ---------------------------------------------------------------------------------------------

// Ends of the chunks among the condition's points, from small ones to large ones.
template <typename Key>
static void plan_chunks(Scan<Key> *scan) {
    const uint32 points = scan->condition.has_points ? scan->condition.point_count : 1;
    scan->chunk_ends = static_cast<uint32 *>(
        MemoryContextAlloc(scan->points_context, (points / kLargestChunk + 8) * sizeof(uint32)));
    scan->chunk_count = 0;
    uint32 size = scan->drains ? kLargestChunk : kFirstChunk;
    for (uint32 end = 0; end < points;) {
        end += Min(size, points - end);
        scan->chunk_ends[scan->chunk_count++] = end;
        size = Min(size * 8, kLargestChunk);
    }
}

template <typename Key>
void choose_cursor_path(Scan<Key> *scan, Cursor<Key> *cursor) {
    cursor->choice = {client::Path::Paged, 0};
    if (likely(!scan->may_travel) || cursor->run == nullptr || cursor->partition.nulls != 0)
        return;
    const Condition<Key> &condition = scan->condition;
    const bool exact = condition.has_points && cursor->ranges.point_low == cursor->ranges.point_high;
    client::Request request = {};
    request.kind = exact ? client::RequestKind::Lookup : client::RequestKind::Range;
    request.key_bits = mirror_format<Key>()->key_bits;
    request.runs = 1;
    request.items = condition.has_points ? condition.point_count : 1;
    request.entries = cursor->partition.entries;
    request.results = Min(exact ? request.items : request.entries, request.entries);
    cursor->choice = client::choose_path(request);
    if (cursor->choice.path == client::Path::Paged)
        return;
    if (scan->chunk_ends == nullptr)
        plan_chunks(scan);
    cursor->leaf_begin = 0;
    cursor->leaf_end = scan->chunk_count;
}

template <typename Key>
bool is_worth_counting(const Condition<Key> &condition) {
    return !condition.nothing && condition.has_points && condition.point_count >= kFewestPoints;
}

template <typename Key>
bool may_travel(const Condition<Key> &condition) {
    return !condition.nothing &&
           may_ask_server(condition.has_points ? condition.point_count : 1, kFewestPoints);
}

// ---- chunks -----------------------------------------------------------------------------------------------

// Makes room for `wanted` matches, keeping those there are.
template <typename Key>
static void keep_and_make_room(Scan<Key> *scan, Cursor<Key> *cursor, uint64 wanted) {
    if (cursor->room >= wanted)
        return;
    const uint64 room = Max(wanted, uint64{cursor->room} * 2);
    if (cursor->keys == nullptr) {
        MemoryContext caller = MemoryContextSwitchTo(scan->context);
        cursor->keys = allocate<Key>(room);
        cursor->tids = allocate<ItemPointerData>(room);
        MemoryContextSwitchTo(caller);
    } else {
        cursor->keys = reallocate(cursor->keys, room);
        cursor->tids = reallocate(cursor->tids, room);
    }
    cursor->room = static_cast<uint32>(room);
}

// Adds the answers to items whose keys are known: key_of(i) is item i's.
template <typename Key, typename KeyOf>
static bool add_matches(Scan<Key> *scan, Cursor<Key> *cursor, const client::EntriesAnswer &answer,
                        KeyOf key_of) {
    const uint64 *offsets = answer.runs[0].offsets;
    const uint64 matches = answer.runs[0].entries;
    if (matches > kMaxMatches - cursor->count)
        return false;
    keep_and_make_room(scan, cursor, cursor->count + matches);
    memcpy(cursor->tids + cursor->count, answer.runs[0].tids, matches * sizeof(ItemPointerData));
    Key *keys = cursor->keys + cursor->count;
    for (uint64 i = 0; i < answer.items; i++) {
        const Key key = key_of(i);
        for (uint64 at = offsets[i]; at < Min(offsets[i + 1], matches); at++)
            keys[at] = key;
    }
    cursor->count += static_cast<uint32>(matches);
    return true;
}

template <typename Key>
static bool look_up_points(Scan<Key> *scan, Cursor<Key> *cursor, const client::RunSet &set, uint32 begin,
                           uint32 end) {
    const uint32 count = end - begin;
    const Key *points = scan->condition.points + begin;
    Key *joined = nullptr;
    if (bits_of(cursor->ranges.point_low) != 0) {
        joined = allocate<Key>(count);
        for (uint32 i = 0; i < count; i++)
            joined[i] = join_keys(points[i], cursor->ranges.point_low);
        points = joined;
    }
    ServerKey<Key> *copy;
    const ServerKey<Key> *wanted = to_server(points, count, &copy);
    bool sound = true;
    for (uint32 done = 0; sound && done < count;) {
        client::EntriesAnswer answer;
        sound = client::lookup(set, cursor->choice, wanted + done, count - done, &answer) &&
                answer.items > 0 &&
                add_matches(scan, cursor, answer, [&](uint64 i) { return points[done + i]; });
        if (sound)
            done += static_cast<uint32>(answer.items);
    }
    if (joined != nullptr)
        pfree(joined);
    if (copy != nullptr)
        pfree(copy);
    return sound;
}

template <typename Key>
static bool look_up_ranges(Scan<Key> *scan, Cursor<Key> *cursor, const client::RunSet &set, uint32 begin,
                           uint32 end) {
    const Condition<Key> &condition = scan->condition;
    const uint32 count = end - begin;
    auto *low = allocate<ServerKey<Key>>(uint64{count} * 2);
    ServerKey<Key> *high = low + count;
    for (uint32 i = 0; i < count; i++) {
        low[i] =
            to_server(condition.has_points ? join_keys(condition.points[begin + i], cursor->ranges.point_low)
                                           : cursor->ranges.low);
        high[i] =
            to_server(condition.has_points ? join_keys(condition.points[begin + i], cursor->ranges.point_high)
                                           : cursor->ranges.high);
    }
    bool sound = true;
    for (uint32 done = 0; sound && done < count;) {
        client::EntriesAnswer answer;
        sound = client::range(set, cursor->choice, low + done, high + done, count - done, true, &answer) &&
                answer.items > 0 && answer.runs[0].entries <= kMaxMatches - cursor->count;
        if (!sound)
            break;
        const uint64 matches = answer.runs[0].entries;
        keep_and_make_room(scan, cursor, cursor->count + matches);
        memcpy(cursor->tids + cursor->count, answer.runs[0].tids, matches * sizeof(ItemPointerData));
        for (uint64 i = 0; i < matches; i++)
            cursor->keys[cursor->count + i] = from_server<Key>(answer.runs[0].keys, i);
        cursor->count += static_cast<uint32>(matches);
        done += static_cast<uint32>(answer.items);
    }
    pfree(low);
    return sound;
}

template <typename Key>
static void drop_filtered(const Condition<Key> &condition, Cursor<Key> *cursor) {
    uint32 kept = 0;
    for (uint32 i = 0; i < cursor->count; i++) {
        if (!passes_filters(condition, cursor->keys[i]))
            continue;
        cursor->keys[kept] = cursor->keys[i];
        cursor->tids[kept] = cursor->tids[i];
        kept++;
    }
    cursor->count = kept;
}

template <typename Key>
bool load_chunk(Scan<Key> *scan, Cursor<Key> *cursor, int64 chunk) {
    const client::RunSet set = {scan->descriptor->indexRelation,
                                scan->kind,
                                mirror_format<Key>(),
                                cursor->run,
                                1,
                                scan->view.vacuum_seq};
    const uint32 begin = chunk > 0 ? scan->chunk_ends[chunk - 1] : 0;
    const uint32 end = scan->chunk_ends[chunk];
    cursor->count = 0;
    const bool exact = scan->condition.has_points && cursor->ranges.point_low == cursor->ranges.point_high;
    const client::Usage before = client::session_usage();
    const bool answered =
        exact ? look_up_points(scan, cursor, set, begin, end) : look_up_ranges(scan, cursor, set, begin, end);
    client::add_usage_since(before, &scan->usage);
    if (!answered) {
        cursor->count = cursor->at = 0;
        scan->may_travel = false;
        return false;
    }
    if (scan->condition.filter_count > 0)
        drop_filtered(scan->condition, cursor);
    return true;
}

template <typename Key>
int64 chunk_for_key(const Scan<Key> *scan, const Cursor<Key> *cursor, Key key) {
    if (!scan->condition.has_points)
        return 0;
    const uint32 point = partition_point(scan->condition.points, scan->condition.point_count, [&](Key other) {
        return join_keys(other, cursor->ranges.point_high) < key;
    });
    const uint32 *ends = scan->chunk_ends;
    return std::upper_bound(ends, ends + scan->chunk_count, point) - ends;
}

#define INSTANTIATE(Key)                                          \
    template const client::MirrorFormat *mirror_format<Key>();    \
    template bool is_worth_counting(const Condition<Key> &);      \
    template bool may_travel(const Condition<Key> &);             \
    template void choose_cursor_path(Scan<Key> *, Cursor<Key> *); \
    template bool load_chunk(Scan<Key> *, Cursor<Key> *, int64);  \
    template int64 chunk_for_key(const Scan<Key> *, const Cursor<Key> *, Key);
PG_GPU_FOR_EACH_KEY_TYPE(INSTANTIATE)
#undef INSTANTIATE

}  // namespace pg_gpu::kary
