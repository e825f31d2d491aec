#include "plan/query/aggregate_kept_maps.h"

#include "column/scan/kept_results.h"
#include "compat.h"

namespace pg_gpu::plan {

using column::AggregatePart;
using gpu_engine::AggregateInput;

static Const *make_code(uint64 code) {
    return makeConst(INT8OID, -1, InvalidOid, sizeof(int64), Int64GetDatum(static_cast<int64>(code)), false,
                     true);
}

MapPlace place_of_map(const InputMaker *maker, uint32 number, const AggregatePart &part) {
    MapPlace place = {};
    place.is_kept = describe_map(maker->compiled->input[number], part,
                                 maker->matches == nullptr ? nullptr : maker->matches->tables, &place.key);
    const InputSource &source = maker->compiled->input[number];
    uint64 least;
    uint64 greatest;
    // Ranges of a few values are kept for statements that have the same condition, unless there are those of
    // all.
    if (place.is_kept && is_ranged(source, part) &&
        is_limited(ask_for_ranges(maker, source, part), &least, &greatest) &&
        column::find_results(place.key) == nullptr)
        place.key.expression = reinterpret_cast<const Node *>(
            list_make3(const_cast<Node *>(place.key.expression), make_code(least), make_code(greatest)));
    return place;
}

static const KeptMap *check_places(const void *found, const InputSource &source, const AggregatePart &part) {
    const auto *kept = static_cast<const KeptMap *>(found);
    if (is_ranged(source, part))
        return kept;
    const uint64 places = source.is_joined ? column::count_joinable_places(part, source.column)
                                           : column::count_places(part, source.column);
    return kept != nullptr && kept->places == places ? kept : nullptr;
}

const KeptMap *use_kept(const InputMaker *maker, uint32 number, const AggregatePart &part,
                        const MapPlace &place) {
    return place.is_kept ? check_places(column::use_results(place.key), maker->compiled->input[number], part)
                         : nullptr;
}

void take_kept(AggregateInput *input, const KeptMap &kept) {
    input->kind = kept.kind;
    input->places = kept.places;
    input->values = kept.values;
    input->nulls = kept.nulls;
    input->column_null_is_null = kept.column_null_is_null;
    input->of_column_null = kept.of_column_null;
}

bool copy_kept(InputMaker *maker, uint32 number, const AggregatePart &part, const MapPlace &place,
               AggregateInput *input, uint8 **scales) {
    const KeptMap *kept =
        place.is_kept ? check_places(column::find_results(place.key), maker->compiled->input[number], part)
                      : nullptr;
    if (kept == nullptr)
        return false;
    const uint64 null_bytes = (kept->places + 63) / 64 * sizeof(uint64);
    void *values = take_room(maker, places_of_map(*kept) * kept->width);
    void *nulls = values == nullptr ? nullptr : take_room(maker, null_bytes);
    void *copied = nulls == nullptr ? nullptr : take_room(maker, places_of_map(*kept));
    if (maker->problem != nullptr)
        return false;
    memcpy(values, kept->values, places_of_map(*kept) * kept->width);
    memcpy(nulls, kept->nulls, null_bytes);
    memcpy(copied, kept->scales, places_of_map(*kept));
    take_kept(input, *kept);
    input->values = values;
    input->nulls = static_cast<const uint64 *>(nulls);
    *scales = static_cast<uint8 *>(copied);
    return true;
}

KeptMap map_of(const AggregateInput &input, uint32 width, const InputBounds &bounds) {
    KeptMap map = {};
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
    place->room = place->is_kept ? column::begin_results(1) : nullptr;
}

bool is_whole(const InputSource &source, const AggregatePart &part, uint64 evaluated, bool has_null) {
    const column::ColumnHeader &header = part.reader->header.column[source.column];
    return !part.reader->stale &&
           (source.is_joined || is_ranged(source, part) ||
            (evaluated == column::count_entries(part, source.column) && (has_null || header.nulls == 0)));
}

}  // namespace pg_gpu::plan
