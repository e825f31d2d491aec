// Maps of a part that earlier statements have made and the session keeps (aggregate_maps.h), and those that
// are made to be cached.
#pragma once

#include "gpu_engine/aggregate_steps.h"
#include "plan/query/aggregate_evaluation.h"
#include "plan/query/aggregate_maps.h"

namespace pg_gpu::plan {

// Where a map is cached.
struct MapPlace {
    bool is_cached;
    column::CacheKey key;
    MemoryContext room;  // where it is made; nullptr: there is no room to keep it
};

// Only `room` is left out, which is for maps that are to be made (begin_room).
MapPlace place_of_map(const InputBuilder *builder, uint32 number, const column::AggregatePart &part);

// The map of an earlier statement, good until the transaction ends; nullptr when there is none.
const CachedMap *use_cached(const InputBuilder *builder, uint32 number, const column::AggregatePart &part,
                            const MapPlace &place);

// Makes the cached map the input, without copying it.
void take_cached(gpu_engine::AggregateInput *input, const CachedMap &cached);

// Copies a map of numerics, which the statement scales. False: there is none, or a problem.
bool copy_cached(InputBuilder *builder, uint32 number, const column::AggregatePart &part,
                 const MapPlace &place, gpu_engine::AggregateInput *input, uint8 **scales);

// The input as a map to keep, with so many bytes a value.
CachedMap map_of(const gpu_engine::AggregateInput &input, uint32 width, const InputBounds &bounds);

// Makes room to keep a map that isn't there yet, if it may be cached.
void begin_room(MapPlace *place);

// Is a map one to keep? That is so if all of a dictionary's entries have been evaluated for it, and NULL if
// it comes. Of joined rows, and of ranges, all are.
bool is_whole(const InputSource &source, const column::AggregatePart &part, uint64 evaluated, bool has_null);

// A map's values as a statement writes them: of bool a bit each.
template <typename Value>
struct MapValues {
    Value *values;

    void set(uint64 code, int64 number) { values[code] = static_cast<Value>(number); }
    void repeat(uint64 code, uint64 earlier) { values[code] = values[earlier]; }
};
template <>
struct MapValues<bool> {
    uint64 *values;

    void set(uint64 code, int64 number) {
        if (number != 0)
            set_bit(values, code);
    }
    void repeat(uint64 code, uint64 earlier) { set(code, gpu_engine::bit_at(values, earlier) ? 1 : 0); }
};

// Makes a map whose values `number_of(result)` gives, in the place's room. *whole: it may be cached.
template <typename Value, typename NumberOf>
bool make_number_map(InputBuilder *builder, uint32 number, const column::AggregatePart &part,
                     gpu_engine::AggregateInputKind kind, const MapPlace &place,
                     gpu_engine::AggregateInput *input, NumberOf number_of, bool *whole) {
    const InputSource &source = builder->compiled->input[number];
    const bool has_ranges = is_ranged(source, part);
    MemoryContext room = place.room == nullptr ? CurrentMemoryContext : place.room;
    MemoryContext caller = MemoryContextSwitchTo(has_ranges ? CurrentMemoryContext : room);
    const bool has_room = has_ranges ? make_ranges(builder, source, part, room, input)
                                     : make_map(builder, part, source.is_joined, kind, sizeof(Value), input);
    MemoryContextSwitchTo(caller);
    if (!has_room)
        return false;
    MapValues<Value> values = {
        static_cast<decltype(MapValues<Value>::values)>(const_cast<void *>(input->values))};
    auto *numbers = static_cast<int64 *>(const_cast<void *>(input->values)) + input->places;
    uint64 evaluated = 0;
    bool has_null = false;
    const bool is_made = evaluate_codes(
        builder, source, part, *input,
        [&](uint64 code, Datum result, bool is_null) {
            evaluated++;
            if (is_null)
                set_null(input, code);
            else if (has_ranges)
                numbers[code] = static_cast<int64>(number_of(result));
            else
                values.set(code, static_cast<int64>(number_of(result)));
        },
        [&](uint64 code, uint64 earlier) {
            values.repeat(code, earlier);
            if ((input->nulls[earlier / 64] >> (earlier % 64) & 1) != 0)
                set_null(input, code);
        },
        [&](Datum result, bool is_null) {
            has_null = true;
            set_of_column_null(input, is_null ? 0 : static_cast<int64>(number_of(result)), is_null);
        });
    *whole = is_made && place.room != nullptr && is_whole(source, part, evaluated, has_null);
    return is_made;
}

// The same with a map that is cached, or is to be.
template <typename Value, typename NumberOf>
bool make_cached_map(InputBuilder *builder, uint32 number, const column::AggregatePart &part,
                     gpu_engine::AggregateInputKind kind, gpu_engine::AggregateInput *input,
                     NumberOf number_of) {
    MapPlace place = place_of_map(builder, number, part);
    const CachedMap *cached = use_cached(builder, number, part, place);
    if (cached != nullptr) {
        take_cached(input, *cached);
        note_bounds(builder, number, {cached->least, cached->greatest});
        return true;
    }
    begin_room(&place);
    // This map's numbers by themselves.
    const InputBounds others = {builder->least[number], builder->greatest[number]};
    builder->least[number] = PG_INT64_MAX;
    builder->greatest[number] = PG_INT64_MIN;
    bool whole = false;
    const bool is_made = make_number_map<Value>(builder, number, part, kind, place, input, number_of, &whole);
    if (whole)
        share_map(place.key, place.room,
                  map_of(*input, sizeof(Value), {builder->least[number], builder->greatest[number]}),
                  builder->compiled->input[number].type, builder->changes);
    note_bounds(builder, number, others);
    return is_made;
}

}  // namespace pg_gpu::plan
