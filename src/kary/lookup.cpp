// Finding the rows of many keys at once.
#include "kary/lookup.h"

#include "kary/matches.h"
#include "keys/keys.h"
#include "kary/row_check.h"

namespace pg_gpu::kary {

template <typename Key>
struct WantedKey {
    Key key;
    uint32 position;
};

// The keys that can match, encoded, sorted by (key, position).
template <typename Key>
static WantedKey<Key> *sort_wanted(const KeyFormat &format, const LookupKeys &keys, uint32 *count) {
    auto *wanted = allocate<WantedKey<Key>>(keys.count + 1);
    *count = 0;
    for (uint32 i = 0; i < keys.count; i++) {
        Datum values[kMaxColumns];
        Oid types[kMaxColumns];
        Key key;
        CHECK_FOR_INTERRUPTS();
        if (keys.read(keys.context, i, values, types) && make_key(format, values, types, &key))
            wanted[(*count)++] = {key, i};
    }
    auto *scratch = allocate<WantedKey<Key>>(*count + 1);
    auto *sorted = radix_sort_by<Key>(
        wanted, scratch, *count, [](const WantedKey<Key> &key) { return key.key; },
        [] { CHECK_FOR_INTERRUPTS(); });
    pfree(sorted == wanted ? scratch : wanted);
    return sorted;
}

// Makes distinct keys the condition's points, and finds where each one's positions begin.
template <typename Key>
static void make_points(const KeyFormat &format, const WantedKey<Key> *wanted, uint32 count,
                        Condition<Key> *condition, LookupResult *result) {
    *condition = {};
    condition->not_nulls = format.all_null;
    condition->points = allocate<Key>(count + 1);
    result->first_position = allocate<uint32>(count + 1);
    result->positions = allocate<uint32>(count + 1);
    for (uint32 i = 0; i < count; i++) {
        if (i == 0 || wanted[i].key != wanted[i - 1].key) {
            result->first_position[condition->point_count] = i;
            condition->points[condition->point_count++] = wanted[i].key;
        }
        result->positions[i] = wanted[i].position;
    }
    result->first_position[condition->point_count] = count;
    condition->nothing = count == 0;
    condition->has_points = true;
}

template <typename Key>
static LookupResult look_up_of(Relation heap, Relation index, Snapshot snapshot, const LookupKeys &keys) {
    const KeyFormat format = key_format(index);
    LookupResult result;
    uint32 count;
    WantedKey<Key> *wanted = sort_wanted<Key>(format, keys, &count);
    Condition<Key> condition;
    make_points(format, wanted, count, &condition, &result);
    pfree(wanted);

    result.matches = collect_matches(heap, index, snapshot, condition, MatchKey::Point, &result.count);
    pfree(condition.points);
    result.check = format.lossy != 0 ? begin_row_check(index, keys) : nullptr;
    return result;
}

LookupResult look_up(Relation heap, Relation index, Snapshot snapshot, const LookupKeys &keys) {
    return with_key_type(key_width(index),
                         [&](auto key) { return look_up_of<decltype(key)>(heap, index, snapshot, keys); });
}

}  // namespace pg_gpu::kary
