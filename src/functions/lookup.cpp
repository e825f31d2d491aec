// gpu.lookup: the visible rows of many keys at once.
#include <algorithm>

#include "functions/index_access.h"
#include "functions/integers.h"
#include "kary/condition.h"
#include "kary/search.h"
#include "kary/visibility.h"
#include "settings.h"

PG_GPU_FUNCTION(pg_gpu_lookup);

using namespace pg_gpu;

namespace {

template <typename Key>
struct Wanted {
    Key key;
    uint32 ordinal;  // 0-based position in the caller's array
};

struct Match {
    ItemPointerData tid;
    uint32 point;  // index into the condition's points
};

template <typename Key>
struct LookupSink {
    const kary::Condition<Key> *condition;
    Match *matches;
    uint64 count;
    uint64 room;
};

}  // namespace

template <typename Key>
static void reset_lookup(void *context) {
    static_cast<LookupSink<Key> *>(context)->count = 0;
}

template <typename Key>
static void add_to_lookup(void *context, const Key *keys, ItemPointerData *tids, uint32 count) {
    auto *sink = static_cast<LookupSink<Key> *>(context);
    if (sink->count + count > sink->room) {
        sink->room = (sink->count + count) * 2;
        sink->matches = reallocate(sink->matches, sink->room);
    }
    const kary::Condition<Key> &condition = *sink->condition;
    // A batch ascends, so each key's point lies at or shortly after the one before.
    uint32 point = kary::lower_bound(condition.points, condition.point_count, keys[0]);
    for (uint32 i = 0; i < count; i++) {
        while (condition.points[point] < keys[i])
            point++;
        sink->matches[sink->count++] = {tids[i], point};
    }
}

template <typename Key>
static void lookup_keys(const functions::OpenIndex &open, Snapshot snapshot,
                        const functions::IntegerElements &elements, ReturnSetInfo *result) {
    using Integer = typename kary::SignedOf<Key>::type;
    const kary::KeyFormat format = kary::key_format(open.index);
    auto *wanted = allocate<Wanted<Key>>(elements.count + 1);
    uint32 wanted_count = 0;
    for (uint32 i = 0; i < elements.count; i++) {
        if (!elements.nulls[i] && elements.values[i] >= std::numeric_limits<Integer>::min() &&
            elements.values[i] <= std::numeric_limits<Integer>::max())
            wanted[wanted_count++] = {
                kary::encode_integer<Key>(static_cast<Integer>(elements.values[i]), format.descending), i};
    }
    if (wanted_count == 0)
        return;
    std::sort(wanted, wanted + wanted_count, [](const Wanted<Key> &a, const Wanted<Key> &b) {
        return a.key != b.key ? a.key < b.key : a.ordinal < b.ordinal;
    });

    // Distinct keys, and where each one's callers begin.
    kary::Condition<Key> condition = {};
    condition.wants_keys = true;
    condition.has_points = true;
    condition.points = allocate<Key>(wanted_count);
    auto *first_caller = allocate<uint32>(wanted_count + 1);
    for (uint32 i = 0; i < wanted_count; i++) {
        if (i == 0 || wanted[i].key != wanted[i - 1].key) {
            first_caller[condition.point_count] = i;
            condition.points[condition.point_count++] = wanted[i].key;
        }
    }
    first_caller[condition.point_count] = wanted_count;
    condition.low = condition.points[0];
    condition.high = condition.points[condition.point_count - 1];

    LookupSink<Key> sink = {&condition, allocate<Match>(wanted_count + 1024), 0, wanted_count + 1024};
    kary::collect_entries(open.heap, open.index, snapshot, condition,
                          kary::EntrySink<Key>{&sink, reset_lookup<Key>, add_to_lookup<Key>});

    // In heap order, so that each table page is visited once. The heap is always asked: a row's own TID can
    // differ from its entry's (HOT), and the caller wants the row's.
    std::sort(sink.matches, sink.matches + sink.count, [](const Match &a, const Match &b) {
        const uint64 place_a = (uint64{ItemPointerGetBlockNumberNoCheck(&a.tid)} << 16) |
                               ItemPointerGetOffsetNumberNoCheck(&a.tid);
        const uint64 place_b = (uint64{ItemPointerGetBlockNumberNoCheck(&b.tid)} << 16) |
                               ItemPointerGetOffsetNumberNoCheck(&b.tid);
        return place_a < place_b;
    });
    kary::HeapProbe probe;
    kary::open_heap_probe(&probe, open.heap, snapshot);
    const bool nulls[2] = {false, false};
    for (uint64 i = 0; i < sink.count; i++) {
        CHECK_FOR_INTERRUPTS();
        ItemPointerData tid = sink.matches[i].tid;
        if (!kary::is_visible(&probe, tid, &tid))
            continue;
        const uint32 point = sink.matches[i].point;
        for (uint32 caller = first_caller[point]; caller < first_caller[point + 1]; caller++) {
            const Datum values[2] = {Int64GetDatum(int64{wanted[caller].ordinal} + 1), PointerGetDatum(&tid)};
            tuplestore_putvalues(result->setResult, result->setDesc, const_cast<Datum *>(values),
                                 const_cast<bool *>(nulls));
        }
    }
    kary::close_heap_probe(&probe);
}

Datum pg_gpu_lookup(PG_FUNCTION_ARGS) {
    InitMaterializedSRF(fcinfo, 0);
    auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
    const functions::OpenIndex open =
        functions::open_index(PG_GETARG_OID(0), AccessShareLock, AccessShareLock);
    functions::require_read_access(open);
    announce_forced_path();
    ArrayType *array = PG_GETARG_ARRAYTYPE_P(1);
    functions::require_integer_type(ARR_ELEMTYPE(array), "array element");
    const functions::IntegerElements elements = functions::read_integers(array);

    Snapshot snapshot = GetActiveSnapshot();
    functions::lock_predicates(open, snapshot);
    if (kary::has_wide_keys(open.index))
        lookup_keys<uint64>(open, snapshot, elements, result);
    else
        lookup_keys<uint32>(open, snapshot, elements, result);
    functions::close_index(open);
    return Datum{0};
}
