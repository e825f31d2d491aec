#include "plan/query/aggregate_common_inputs.h"

#include "compat.h"
#include "plan/query/aggregate_cached_maps.h"
#include "plan/query/aggregate_values.h"

namespace pg_gpu::plan {

using column::AggregatePart;
using gpu_engine::AggregateInput;
using gpu_engine::AggregateInputKind;

// ---- groups -----------------------------------------------------------------------------------------------

// A group's number among the statement's values.
static uint32 number_of_group(InputBuilder *builder, uint32 number, ValueTable *table, Datum value) {
    const uint32 group = number_of_value(table, value, &builder->memory);
    if (group == kNoValue)
        builder->problem = "work_mem has no room for a grouping column's values";
    note_number(builder, number, group);
    return group;
}

static uint32 group_of_code(const AggregateInput &input, uint64 code) {
    return input.kind == AggregateInputKind::map8 ? static_cast<const uint8 *>(input.values)[code]
                                                  : static_cast<const uint32 *>(input.values)[code];
}

// Numbers a cached map's groups as the statement does. False: there is none, or a problem.
static bool take_kept_groups(InputBuilder *builder, uint32 number, ValueTable *table,
                             const AggregatePart &part, const MapPlace &place, AggregateInput *input) {
    const CachedMap *cached = use_cached(builder, number, part, place);
    if (cached == nullptr)
        return false;
    auto *groups = static_cast<uint32 *>(take_room(builder, cached->groups * sizeof(uint32)));
    bool is_alike = true;
    for (uint32 i = 0; builder->problem == nullptr && i < cached->groups; i++) {
        groups[i] = number_of_group(builder, number, table, cached->values_of_groups[i]);
        is_alike = is_alike && groups[i] == i;
    }
    take_cached(input, *cached);
    table->has_variants = table->has_variants || cached->has_variants;
    if (builder->problem != nullptr || is_alike)
        return builder->problem == nullptr;
    auto *numbers = static_cast<uint32 *>(take_room(builder, cached->places * sizeof(uint32)));
    if (numbers == nullptr)
        return false;
    // What isn't a result stays 0.
    for (uint64 code = 0; code < cached->places; code++) {
        const uint32 group = group_of_code(*input, code);
        numbers[code] = group < cached->groups ? groups[group] : 0;
    }
    if (!input->column_null_is_null)
        input->of_column_null = groups[input->of_column_null];
    input->kind = AggregateInputKind::map32;
    input->values = numbers;
    return true;
}

// Are all groups' numbers ones of a byte, which are sooner written, copied and read? It is known where groups
// are made of a joined table's column whose values are known.
static bool has_few_groups(const InputBuilder *builder, const InputSource &source, const ValueTable &table) {
    constexpr uint32 few = UINT8_MAX;
    const uint32 values = source.is_joined ? count_joined_values(*builder->matches, source) : 0;
    return values > 0 && values < few && table.count < few - values;
}

// Values must be numbered again for each statement, so there must be few.
static void share_groups(const InputBuilder *builder, const ValueTable &table, const InputSource &source,
                         const MapPlace &place, const AggregateInput &input) {
    constexpr uint64 least_places_per_group = 8;
    if (input.places / least_places_per_group < table.count)
        return;
    const uint32 width = input.kind == AggregateInputKind::map8 ? sizeof(uint8) : sizeof(uint32);
    CachedMap map = map_of(input, width, {PG_INT64_MAX, PG_INT64_MIN});
    map.values_of_groups = table.values;
    map.groups = table.count;
    map.has_variants = table.has_variants;
    share_map(place.key, place.room, map, source.type, builder->changes);
}

static bool make_groups(InputBuilder *builder, uint32 number, ValueTable *table, const AggregatePart &part,
                        AggregateInput *input) {
    const InputSource &source = builder->compiled->input[number];
    MapPlace place = place_of_map(builder, number, part);
    if (take_kept_groups(builder, number, table, part, place, input))
        return true;
    if (builder->problem != nullptr)
        return false;
    begin_room(&place);
    bool whole = false;
    const auto number_of = [&](Datum result) { return number_of_group(builder, number, table, result); };
    const bool is_made = has_few_groups(builder, source, *table)
                             ? make_number_map<uint8>(builder, number, part, AggregateInputKind::map8, place,
                                                      input, number_of, &whole)
                             : make_number_map<uint32>(builder, number, part, AggregateInputKind::map32,
                                                       place, input, number_of, &whole);
    if (whole)
        share_groups(builder, *table, source, place, *input);
    return is_made;
}

// What an input's results are numbered in, by itself or by all of its family.
static ValueTable *values_of(InputBuilder *builder, uint32 number) {
    if (builder->values[number] != nullptr)
        return builder->values[number];
    const InputSource &source = builder->compiled->input[number];
    MemoryContext caller = MemoryContextSwitchTo(builder->keep);
    builder->values[number] = begin_values(source.type, source.operator_oid, source.type.collation);
    MemoryContextSwitchTo(caller);
    return builder->values[number];
}

static void give_values(InputBuilder *builder, uint32 number) {
    const ValueTable &table = *builder->values[number];
    builder->common[number].values = table.values;
    builder->common[number].count = table.count;
    builder->has_variants[number] = table.has_variants;
}

bool make_group_input(InputBuilder *builder, uint32 number) {
    const uint16 family = builder->compiled->input[number].family;
    const uint32 owner = family == UINT16_MAX ? number : family;
    ValueTable *table = values_of(builder, owner);
    for (int part = 0; part < builder->parts->count; part++)
        if (!make_groups(builder, number, table, builder->parts->part[part], &builder->inputs[part][number]))
            return false;
    give_values(builder, owner);
    return true;
}

uint32 number_of_constant(InputBuilder *builder, uint16 family, const Const *constant) {
    const uint32 group = number_of_group(builder, family, values_of(builder, family), constant->constvalue);
    give_values(builder, family);
    return group;
}

// ---- ranks ------------------------------------------------------------------------------------------------

bool make_rank_input(InputBuilder *builder, uint32 number) {
    const InputSource &source = builder->compiled->input[number];
    RankedValues *ranked = begin_ranked(source.type, builder->keep);
    for (int part = 0; part < builder->parts->count; part++) {
        AggregateInput *input = &builder->inputs[part][number];
        if (!make_map(builder, builder->parts->part[part], source.is_joined, AggregateInputKind::map32,
                      sizeof(uint32), input))
            return false;
        auto *ranks = static_cast<uint32 *>(const_cast<void *>(input->values));
        const auto add = [&](Datum result, uint32 *rank) {
            if (!add_ranked(ranked, result, rank, &builder->memory))
                builder->problem = "work_mem has no room for a column's values";
        };
        input->column_null_is_null = true;
        if (!evaluate_codes(
                builder, source, builder->parts->part[part], *input,
                [&](uint64 code, Datum result, bool is_null) {
                    if (is_null)
                        set_null(input, code);
                    else
                        add(result, &ranks[code]);
                },
                repeat_nothing,
                [&](Datum result, bool is_null) {
                    input->column_null_is_null = is_null;
                    if (!is_null)
                        add(result, &ranks[input->places]);
                }))
            return false;
    }
    finish_ranked(ranked, source.operator_oid, source.collation, source.kind == SourceKind::Order);
    if (ranked->count > 0) {
        note_number(builder, number, 0);
        note_number(builder, number, int64{ranked->count} - 1);
    }
    for (int part = 0; part < builder->parts->count; part++) {
        AggregateInput *input = &builder->inputs[part][number];
        input->of_column_null = static_cast<const uint32 *>(input->values)[input->places];
    }
    builder->common[number].values = ranked->values;
    builder->common[number].count = ranked->count;
    return true;
}

}  // namespace pg_gpu::plan
