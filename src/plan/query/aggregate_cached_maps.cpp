#include "plan/query/aggregate_cached_maps.h"

#include "column/scan/cached_results.h"
#include "compat.h"

namespace pg_gpu::plan {

using column::AggregatePart;
using gpu_engine::AggregateInput;

static Const *make_code(uint64 code) {
    return makeConst(INT8OID, -1, InvalidOid, sizeof(int64), Int64GetDatum(static_cast<int64>(code)), false,
                     true);
}

MapPlace place_of_map(const InputBuilder *builder, uint32 number, const AggregatePart &part) {
    MapPlace place = {};
    place.is_cached =
        describe_map(builder->compiled->input[number], part,
                     builder->matches == nullptr ? nullptr : builder->matches->tables, &place.key);
    const InputSource &source = builder->compiled->input[number];
    uint64 least;
    uint64 greatest;
    // Ranges of a few values are cached for statements that have the same condition, unless there are those
    // of all.
    if (place.is_cached && is_ranged(source, part) &&
        is_limited(range_request_of(builder, source, part), &least, &greatest) &&
        column::find_results(place.key) == nullptr)
        place.key.expression = reinterpret_cast<const Node *>(
            list_make3(const_cast<Node *>(place.key.expression), make_code(least), make_code(greatest)));
    return place;
}

static const CachedMap *check_places(const void *found, const InputSource &source,
                                     const AggregatePart &part) {
    const auto *cached = static_cast<const CachedMap *>(found);
    if (is_ranged(source, part))
        return cached;
    const uint64 places = source.is_joined ? column::count_joinable_places(part, source.column)
                                           : column::count_places(part, source.column);
    return cached != nullptr && cached->places == places ? cached : nullptr;
}

const CachedMap *use_cached(const InputBuilder *builder, uint32 number, const AggregatePart &part,
                            const MapPlace &place) {
    return place.is_cached
               ? check_places(column::use_results(place.key), builder->compiled->input[number], part)
               : nullptr;
}

void take_cached(AggregateInput *input, const CachedMap &cached) {
    input->kind = cached.kind;
    input->places = cached.places;
    input->values = cached.values;
    input->nulls = cached.nulls;
    input->column_null_is_null = cached.column_null_is_null;
    input->of_column_null = cached.of_column_null;
}

bool copy_cached(InputBuilder *builder, uint32 number, const AggregatePart &part, const MapPlace &place,
                 AggregateInput *input, uint8 **scales) {
    const CachedMap *cached = place.is_cached ? check_places(column::find_results(place.key),
                                                             builder->compiled->input[number], part)
                                              : nullptr;
    if (cached == nullptr)
        return false;
    const uint64 null_bytes = (cached->places + 63) / 64 * sizeof(uint64);
    void *values = take_room(builder, places_of_map(*cached) * cached->width);
    void *nulls = values == nullptr ? nullptr : take_room(builder, null_bytes);
    void *copied = nulls == nullptr ? nullptr : take_room(builder, places_of_map(*cached));
    if (builder->problem != nullptr)
        return false;
    memcpy(values, cached->values, places_of_map(*cached) * cached->width);
    memcpy(nulls, cached->nulls, null_bytes);
    memcpy(copied, cached->scales, places_of_map(*cached));
    take_cached(input, *cached);
    input->values = values;
    input->nulls = static_cast<const uint64 *>(nulls);
    *scales = static_cast<uint8 *>(copied);
    return true;
}

CachedMap map_of(const AggregateInput &input, uint32 width, const InputBounds &bounds) {
    CachedMap map = {};
    map.kind = input.kind;
    map.places = input.places;
    map.width = width;
    map.values = input.values;
    map.nulls = input.nulls;
    map.column_null_is_null = input.column_null_is_null;
    map.of_column_null = input.of_column_null;
    map.least = bounds.least;
    map.greatest = bounds.greatest;
    return map;
}

void begin_room(MapPlace *place) {
    place->room = place->is_cached ? column::begin_results(1) : nullptr;
}

bool is_whole(const InputSource &source, const AggregatePart &part, uint64 evaluated, bool has_null) {
    const column::ColumnHeader &header = part.reader->header.column[source.column];
    return !part.reader->stale &&
           (source.is_joined || is_ranged(source, part) ||
            (evaluated == column::count_entries(part, source.column) && (has_null || header.nulls == 0)));
}

}  // namespace pg_gpu::plan
