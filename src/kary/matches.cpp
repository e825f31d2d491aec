#include "kary/matches.h"

#include "keys/keys.h"

namespace pg_gpu::kary {

namespace {

template <typename Key>
struct MatchSink {
    const Condition<Key> *condition;
    MatchKey what;
    LookupMatch *matches;
    uint64 count;
    uint64 room;
};

}  // namespace

template <typename Key>
static void reset_matches(void *context) {
    static_cast<MatchSink<Key> *>(context)->count = 0;
}

template <typename Key>
static void make_room(MatchSink<Key> *sink, uint32 count) {
    if (sink->count + count > sink->room) {
        sink->room = (sink->count + count) * 2;
        sink->matches = reallocate(sink->matches, sink->room);
    }
}

template <typename Key>
static void add_numbered(void *context, const uint32 *points, const ItemPointerData *tids, uint32 count) {
    auto *sink = static_cast<MatchSink<Key> *>(context);
    make_room(sink, count);
    LookupMatch *matches = sink->matches + sink->count;
    const uint32 *elements = sink->what == MatchKey::Element ? sink->condition->elements : nullptr;
    for (uint32 i = 0; i < count; i++)
        matches[i] = {encode_tid(tids[i]), elements != nullptr ? elements[points[i]] : points[i]};
    sink->count += count;
}

template <typename Key>
static void add_matches(void *context, const Key *keys, ItemPointerData *tids, uint32 count) {
    auto *sink = static_cast<MatchSink<Key> *>(context);
    make_room(sink, count);
    if (sink->what == MatchKey::None) {
        for (uint32 i = 0; i < count; i++)
            sink->matches[sink->count++] = {encode_tid(tids[i]), 0};
        return;
    }
    const Condition<Key> &condition = *sink->condition;
    // A batch ascends, so each key's point lies at or shortly after the one before.
    uint32 point = lower_bound(condition.points, condition.point_count, keys[0]);
    for (uint32 i = 0; i < count; i++) {
        while (condition.points[point] < keys[i])
            point++;
        sink->matches[sink->count++] = {encode_tid(tids[i]),
                                        sink->what == MatchKey::Element ? condition.elements[point] : point};
    }
}

template <typename Key>
LookupMatch *collect_matches(Relation heap, Relation index, Snapshot snapshot,
                             const Condition<Key> &condition, MatchKey what, uint64 *count) {
    const uint64 room = uint64{condition.point_count} + 1024;
    MatchSink<Key> sink = {&condition, what, allocate<LookupMatch>(room), 0, room};
    collect_entries(heap, index, snapshot, condition,
                    EntrySink<Key>{&sink, reset_matches<Key>, add_matches<Key>,
                                   what == MatchKey::None ? nullptr : add_numbered<Key>});
    auto *scratch = allocate<LookupMatch>(sink.count + 1);
    auto *sorted = radix_sort_by<uint64>(
        sink.matches, scratch, sink.count, [](const LookupMatch &match) { return match.encoded_tid; },
        [] { CHECK_FOR_INTERRUPTS(); });
    pfree(sorted == scratch ? sink.matches : scratch);
    *count = sink.count;
    return sorted;
}

#define INSTANTIATE(Key)                                                                                  \
    template LookupMatch *collect_matches(Relation, Relation, Snapshot, const Condition<Key> &, MatchKey, \
                                          uint64 *);
PG_GPU_FOR_EACH_KEY_TYPE(INSTANTIATE)
#undef INSTANTIATE

}  // namespace pg_gpu::kary
