#include "plan/query/kept_results.h"

#include "column/scan/cached_results.h"
#include "compat.h"
#include "memory.h"
#include "plan/query/map_names.h"

namespace pg_gpu::plan::query {

// Others are evaluated in no time.
static constexpr uint64 kFewestPlaces = 128;
// More values than these take memory, and a while to be numbered.
static constexpr uint32 kMaxValues = 1 << 16;
static constexpr uint32 kNull = UINT32_MAX;

namespace {

struct KeptResults {
    uint64 places;
    const uint32 *results;  // by code: one of the values, or kNull
    const Datum *values;
    uint32 count;
};

}  // namespace

static column::CacheKey key_of(const ResultsOfRun &run) {
    return {run.reader->index, run.reader->run.run_id, run.source->column, column::kKeptResults,
            reinterpret_cast<const Node *>(run.source->expression)};
}

static uint64 places_of(const ResultsOfRun &run) {
    return run.reader->header.column[run.source->column].distinct;
}

static void set_null(uint64 code, uint64 places, uint64 **nulls) {
    if (*nulls == nullptr)
        *nulls = allocate_zeroed<uint64>(places / 64 + 1);
    (*nulls)[code / 64] |= UINT64CONST(1) << (code % 64);
}

bool number_kept_results(const ResultsOfRun &run, Numbering *numbering, uint64 *values, uint64 **nulls,
                         bool *has_room) {
    const uint64 places = places_of(run);
    const auto *kept =
        places < kFewestPlaces ? nullptr : static_cast<const KeptResults *>(column::use_results(key_of(run)));
    if (kept == nullptr || kept->places != places)
        return false;
    auto *numbers = allocate<uint64>(size_t{kept->count} + 1);
    for (uint32 i = 0; i < kept->count; i++) {
        numbers[i] = number_of(numbering, kept->values[i]);
        *has_room = *has_room && numbers[i] != kNoValue;
    }
    for (uint64 code = 0; code < places; code++) {
        if (kept->results[code] == kNull)
            set_null(code, places, nulls);
        else
            values[code] = numbers[kept->results[code]];
    }
    pfree(numbers);
    return true;
}

// Are equal results always the same, in this statement and in others?
static bool may_be_kept(const Source &source, const Numbering &numbering, uint64 places) {
    return places >= kFewestPlaces &&
           has_one_image(source.result_type, numbering.equality, source.collation) &&
           is_constant(source.expression);
}

static Datum *copy_values(const Numbering &numbering, const uint32 *numbers, uint32 count) {
    int16 length;
    bool by_value;
    get_typlenbyval(numbering.type, &length, &by_value);
    auto *values = allocate<Datum>(size_t{count} + 1);
    for (uint32 i = 0; i < count; i++)
        values[i] = datumCopy(numbering.values->values[numbers[i]], by_value, length);
    return values;
}

void keep_results(const ResultsOfRun &run, const Numbering &numbering, const uint64 *values,
                  const uint64 *nulls) {
    const uint64 places = places_of(run);
    MemoryContext context = may_be_kept(*run.source, numbering, places)
                                ? column::begin_results(places * sizeof(uint32))
                                : nullptr;
    if (context == nullptr)
        return;
    MemoryContext caller = MemoryContextSwitchTo(context);
    auto *kept = allocate_zeroed<KeptResults>(1);
    auto *results = static_cast<uint32 *>(MemoryContextAllocHuge(context, places * sizeof(uint32)));
    MemoryContextSwitchTo(caller);
    const uint32 most = numbering.values->count;
    auto *place_of = allocate_zeroed<uint32>(size_t{most} + 1);  // by number: place + 1
    auto *numbers = allocate<uint32>(size_t{Min(most, kMaxValues)} + 1);
    uint32 count = 0;
    bool are_few = true;
    for (uint64 code = 0; code < places && are_few; code++) {
        results[code] = kNull;
        if (nulls != nullptr && (nulls[code / 64] >> (code % 64) & 1) != 0)
            continue;
        uint32 *place = &place_of[values[code]];
        are_few = *place != 0 || count < kMaxValues;
        if (*place == 0 && are_few) {
            numbers[count] = static_cast<uint32>(values[code]);
            *place = ++count;
        }
        results[code] = *place - 1;
    }
    if (are_few) {
        MemoryContextSwitchTo(context);
        *kept = {places, results, copy_values(numbering, numbers, count), count};
        MemoryContextSwitchTo(caller);
        column::add_results(key_of(run), context, kept, run.changes);
    } else {
        MemoryContextDelete(context);
    }
    pfree(place_of);
    pfree(numbers);
}

}  // namespace pg_gpu::plan::query
