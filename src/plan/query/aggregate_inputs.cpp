#include "plan/query/aggregate_inputs.h"

#include "column/scan/cached_matches.h"
#include "compat.h"
#include "plan/query/aggregate_common_inputs.h"
#include "plan/query/aggregate_float_inputs.h"
#include "plan/query/aggregate_cached_maps.h"
#include "plan/query/aggregate_numeric_inputs.h"
#include "plan/query/aggregate_numeric_steps.h"

namespace pg_gpu::plan {

using column::AggregatePart;
using gpu_engine::AggregateInput;
using gpu_engine::AggregateInputKind;
using gpu_engine::AggregateOperation;
using gpu_engine::AggregateProgram;
using gpu_engine::AggregateStep;

TupleTableSlot *make_row(Relation index, const JoinedTables *joins) {
    TupleTableSlot *row = MakeSingleTupleTableSlot(
        CreateTupleDescCopy(joins == nullptr ? RelationGetDescr(index) : joins->row), &TTSOpsVirtual);
    return ExecStoreAllNullTuple(row);
}

InputBuilder *begin_inputs(CompiledAggregate *compiled, const column::AggregateParts &parts, Relation index,
                           JoinedTables *joins, ExprContext *context, MemoryContext keep, size_t memory) {
    auto *builder = allocate_zeroed<InputBuilder>(1);
    builder->compiled = compiled;
    builder->parts = &parts;
    builder->context = context;
    builder->row = make_row(index, joins);
    builder->keep = keep;
    builder->memory = memory;
    builder->changes = column::count_changes();
    if (joins != nullptr)
        builder->matches = begin_matches(joins, parts, context, builder->row, &builder->memory);
    const uint32 count = compiled->program.input_count + 1;
    builder->inputs = allocate<AggregateInput *>(parts.count + 1);
    for (int part = 0; part < parts.count; part++) {
        builder->inputs[part] = allocate_zeroed<AggregateInput>(count);
        for (uint32 i = 0; i < compiled->program.input_count; i++) {
            // What no step needs is never made, but an engine sees it.
            builder->inputs[part][i].kind = AggregateInputKind::code;
            builder->inputs[part][i].column = static_cast<uint32>(compiled->input[i].column);
        }
    }
    builder->is_made = allocate_zeroed<bool>(count);
    builder->least = allocate<int64>(count);
    builder->greatest = allocate<int64>(count);
    for (uint32 i = 0; i < count; i++) {
        builder->least[i] = PG_INT64_MAX;
        builder->greatest[i] = PG_INT64_MIN;
    }
    builder->common = allocate_zeroed<CommonValues>(count);
    builder->scale = allocate_zeroed<uint8>(count);
    builder->shown = allocate_zeroed<int16>(count);
    builder->cut_least = allocate_zeroed<int64>(count);
    builder->cut_greatest = allocate_zeroed<int64>(count);
    builder->cut_unit = allocate_zeroed<int16>(count);
    builder->is_wide = allocate_zeroed<bool>(count);
    builder->scales = allocate_zeroed<uint8 **>(count);
    builder->centre = allocate_zeroed<uint64>(2 * size_t{count});
    builder->values = allocate_zeroed<ValueTable *>(count);
    builder->has_variants = allocate_zeroed<bool>(count);
    builder->is_settled = allocate_zeroed<bool>(gpu_engine::max_aggregate_steps);
    builder->digits = allocate_zeroed<uint8>(gpu_engine::max_aggregate_steps);
    return builder;
}

// ---- kinds ------------------------------------------------------------------------------------------------

// The column's own numbers: codes of integers, or a dictionary's.
static bool make_values(InputBuilder *builder, uint32 number, const AggregatePart &part,
                        AggregateInput *input) {
    const int column = static_cast<int>(input->column);
    const column::ColumnType &type = builder->parts->format->types[column];
    input->column_null_is_null = true;
    uint64 least;
    uint64 greatest;
    if (column::find_code_bounds(part, column, &least, &greatest)) {
        note_number(builder, number, number_of_code(type, least));
        note_number(builder, number, number_of_code(type, greatest));
    }
    const bool has_map = part.reader == nullptr ? column::count_places(part, column) > 0
                                                : column::is_dictionary(part.reader->header.column[column]);
    if (!has_map) {
        input->kind = AggregateInputKind::code;
        input->offset = static_cast<uint64>(number_of_code(type, column::base_of_codes(part, column)));
        return true;
    }
    input->kind = AggregateInputKind::map64;
    input->places = column::count_places(part, column);
    input->values = take_memory(builder, input->places * sizeof(int64));
    if (input->values == nullptr)
        return false;
    auto *values = static_cast<int64 *>(const_cast<void *>(input->values));
    column::visit_entries(part, type, column, nullptr, [&](uint64 code, Datum value) {
        values[code] = number_of_code(type, column::encode_integer(type, value));
    });
    return true;
}

static void make_presence(AggregateInput *input) {
    input->kind = AggregateInputKind::code;
    input->column_null_is_null = true;
}

// One range, which all codes fall into.
static bool make_single_range(InputBuilder *builder, int64 number, AggregateInput *input) {
    auto *range = static_cast<int64 *>(take_memory(builder, 2 * sizeof(int64)));
    if (range == nullptr)
        return false;
    range[1] = number;
    input->kind = AggregateInputKind::ranges;
    input->places = 1;
    input->values = range;
    return true;
}

static bool make_table(InputBuilder *builder, uint32 number, const AggregatePart &part,
                       AggregateInput *input) {
    const Oid table = builder->tables[&part - builder->parts->part];
    const column::ColumnType &type = builder->compiled->input[number].type;
    const int64 oid = number_of_code(type, column::encode_integer(type, ObjectIdGetDatum(table)));
    if (!make_single_range(builder, oid, input))
        return false;
    set_of_column_null(input, oid, false);
    note_number(builder, number, oid);
    return true;
}

// Sets the bits of the codes of rows.
static void mark_rows(const JoinedRows &rows, const NumberedCodes &codes, uint64 *bits) {
    for (uint32 row = 0; row < rows.count; row++) {
        uint64 code;
        if (code_of_row(rows, codes, row, &code))
            set_bit(bits, code);
    }
}

// Bits for a part's codes, all of them 0, in the current memory context.
static bool make_bits(InputBuilder *builder, const AggregatePart &part, AggregateInput *input) {
    input->kind = AggregateInputKind::bits;
    input->places = column::count_joinable_places(part, static_cast<int>(input->column));
    if (input->places == 0)
        builder->problem = "a column has no dictionary any more";
    else
        input->values = take_memory(builder, gpu_engine::bytes_of_map(*input));
    input->nulls = nullptr;
    return builder->problem == nullptr;
}

static bool make_match(InputBuilder *builder, uint32 number, const AggregatePart &part,
                       AggregateInput *input) {
    MapPlace place = place_of_map(builder, number, part);
    const CachedMap *cached = use_cached(builder, number, part, place);
    if (cached != nullptr) {
        take_cached(input, *cached);
        return true;
    }
    const int number_of_part = static_cast<int>(&part - builder->parts->part);
    const int table = builder->compiled->input[number].table;
    const NumberedCodes numbered = number_codes(*builder->matches, number_of_part, table);
    const PartMatches *found = numbered.are_there
                                   ? nullptr
                                   : find_matches(builder->matches, number_of_part, table, &builder->problem);
    if (builder->problem != nullptr)
        return false;
    begin_room(&place);
    MemoryContext caller = MemoryContextSwitchTo(place.room == nullptr ? CurrentMemoryContext : place.room);
    const bool has_room = make_bits(builder, part, input);
    MemoryContextSwitchTo(caller);
    if (!has_room)
        return false;
    auto *bits = static_cast<uint64 *>(const_cast<void *>(input->values));
    if (numbered.are_there)
        mark_rows(builder->matches->tables->table[table], numbered, bits);
    for (uint64 code = 0; code < input->places && found != nullptr; code++)
        if (match_of(*found, code) != kNoMatch)
            set_bit(bits, code);
    set_of_column_null(input, found != nullptr && found->of_null != kNoMatch ? 1 : 0, false);
    // Bits have no bytes of their own.
    if (place.room != nullptr && !part.reader->stale)
        share_map(place.key, place.room, map_of(*input, 0, {PG_INT64_MAX, PG_INT64_MIN}), {},
                  builder->changes);
    return true;
}

static bool make_numbers(InputBuilder *builder, uint32 number, const AggregatePart &part,
                         AggregateInput *input) {
    const column::ColumnType &type = builder->compiled->input[number].type;
    return make_cached_map<int64>(builder, number, part, AggregateInputKind::map64, input, [&](Datum result) {
        const int64 value = number_of_code(type, column::encode_integer(type, result));
        note_number(builder, number, value);
        return value;
    });
}

// What a session asks again and again of a long dictionary it keeps by row, too: once a statement has found
// the map, the next one finds these.
static void keep_true_rows(InputBuilder *builder, uint32 number, AggregatePart *part,
                           const AggregateInput &input) {
    const InputSource &source = builder->compiled->input[number];
    column::CacheKey key;
    if (!builder->keeps_true_rows || part->reader == nullptr || source.is_joined ||
        input.kind != AggregateInputKind::bits || input.nulls != nullptr ||
        !column::are_rows_worth_caching(*part->reader, source.column) ||
        !describe_map(source, *part, nullptr, &key))
        return;
    key.kind = column::kCachedTrueRows;
    const void *rows = column::use_results(key);
    if (rows == nullptr)
        rows = make_true_rows(key, *part, input, builder->changes);
    if (rows != nullptr)
        column::use_true_rows(part, builder->compiled->program.input_count, number,
                              static_cast<const uint64 *>(rows));
}

static bool make_truth(InputBuilder *builder, uint32 number, AggregatePart *part, AggregateInput *input) {
    // A byte for each of more codes would go out of a processor's nearer caches, and is more to be sent.
    constexpr uint64 max_bytes = 65536;
    const InputSource &source = builder->compiled->input[number];
    const auto truth_of = [](Datum result) { return DatumGetBool(result) ? 1 : 0; };
    const bool was_kept = use_cached(builder, number, *part, place_of_map(builder, number, *part)) != nullptr;
    if (!(!source.is_joined && column::count_places(*part, source.column) > max_bytes
              ? make_cached_map<bool>(builder, number, *part, AggregateInputKind::bits, input, truth_of)
              : make_cached_map<uint8>(builder, number, *part, AggregateInputKind::map8, input, truth_of)))
        return false;
    if (was_kept)
        keep_true_rows(builder, number, part, *input);
    return true;
}

static bool make_of_part(InputBuilder *builder, uint32 number, AggregatePart *of, AggregateInput *input) {
    const AggregatePart &part = *of;
    switch (builder->compiled->input[number].kind) {
        case SourceKind::Value:
            return make_values(builder, number, part, input);
        case SourceKind::Presence:
            make_presence(input);
            return true;
        case SourceKind::Truth:
            return make_truth(builder, number, of, input);
        case SourceKind::Table:
            return make_table(builder, number, part, input);
        case SourceKind::Match:
            return make_match(builder, number, part, input);
        case SourceKind::Exists:
            return make_cached_map<uint8>(builder, number, part, AggregateInputKind::map8, input,
                                          [](Datum) { return 1; });
        default:
            return make_numbers(builder, number, part, input);
    }
}

// ---- what all parts share ---------------------------------------------------------------------------------

static bool make_once(InputBuilder *builder, uint32 number);

// What was noted of the other input while it was made.
static bool make_scale_input(InputBuilder *builder, uint32 number) {
    const uint16 scaled = builder->compiled->input[number].scaled;
    if (!make_once(builder, scaled))
        return false;
    if (builder->shown[scaled] != kScaleOfGroup)
        return true;  // it is a constant
    for (int part = 0; part < builder->parts->count; part++) {
        const AggregateInput &other = builder->inputs[part][scaled];
        AggregateInput *input = &builder->inputs[part][number];
        if (other.kind == AggregateInputKind::code) {
            // Of numerics without a dictionary all show as many.
            if (!make_single_range(builder, builder->scales[scaled][part][0], input))
                return false;
            input->column_null_is_null = true;
            continue;
        }
        input->kind = AggregateInputKind::map8;
        input->places = other.places;
        input->values = builder->scales[scaled][part];
        input->nulls = other.nulls;
        input->column_null_is_null = other.column_null_is_null;
        input->of_column_null = other.column_null_is_null ? 0 : builder->scales[scaled][part][other.places];
    }
    return true;
}

// Ranged expressions can't fail for the values that pass, whether or not a part has ranges of them.
static bool are_values_fine(InputBuilder *builder, const InputSource &source) {
    for (int part = 0; part < builder->parts->count && source.ranged != nullptr; part++) {
        builder->problem = check_values(range_request_of(builder, source, builder->parts->part[part]));
        if (builder->problem != nullptr)
            return false;
    }
    return true;
}

// Rows needn't look for NULLs where there are none.
static void leave_out_empty_nulls(InputBuilder *builder, uint32 number) {
    for (int part = 0; part < builder->parts->count; part++) {
        AggregateInput *input = &builder->inputs[part][number];
        if (input->nulls != nullptr && !column::is_any_set(input->nulls, (input->places + 63) / 64))
            input->nulls = nullptr;
    }
}

static bool make_input(InputBuilder *builder, uint32 number) {
    if (!are_values_fine(builder, builder->compiled->input[number]))
        return false;
    switch (builder->compiled->input[number].kind) {
        case SourceKind::Group:
            return make_group_input(builder, number);
        case SourceKind::Rank:
        case SourceKind::Order:
            return make_rank_input(builder, number);
        case SourceKind::Wide:
        case SourceKind::Narrow:
            return make_wide_input(builder, number);
        case SourceKind::Scale:
            return make_scale_input(builder, number);
        case SourceKind::FloatDivisor:
        case SourceKind::FloatBase:
            return make_once(builder, builder->compiled->input[number].scaled) &&
                   make_float_input(builder, number);
        default:
            for (int part = 0; part < builder->parts->count; part++)
                if (!make_of_part(builder, number, &builder->parts->part[part],
                                  &builder->inputs[part][number]))
                    return false;
            return builder->problem == nullptr;
    }
}

static bool make_once(InputBuilder *builder, uint32 number) {
    if (builder->is_made[number])
        return true;
    builder->is_made[number] = true;
    if (!make_input(builder, number))
        return false;
    leave_out_empty_nulls(builder, number);
    return true;
}

static bool is_input_never_null(const InputBuilder &builder, uint16 number) {
    for (int i = 0; i < builder.parts->count; i++) {
        const AggregateInput &input = builder.inputs[i][number];
        const AggregatePart &part = builder.parts->part[i];
        const int column = static_cast<int>(input.column);
        const uint64 column_nulls = part.reader == nullptr ? part.chunk->column[column].nulls
                                                           : part.reader->header.column[column].nulls;
        if (column_nulls > 0 && input.column_null_is_null)
            return false;
        if (input.nulls != nullptr && column::is_any_set(input.nulls, (input.places + 63) / 64))
            return false;
    }
    return true;
}

// ---- which inputs -----------------------------------------------------------------------------------------

static bool has_operands(AggregateOperation operation, int count) {
    switch (operation) {
        case AggregateOperation::input:
        case AggregateOperation::constant:
        case AggregateOperation::null:
        case AggregateOperation::place:
            return false;
        case AggregateOperation::logical_not:
        case AggregateOperation::is_null:
        case AggregateOperation::is_true:
            return count == 1;
        default:
            return true;
    }
}

// Marks what marked steps are computed from, too. Operands come before the steps that take them.
static void mark_operands(const AggregateProgram &program, bool *is_needed) {
    for (uint32 i = program.step_count; i-- > 0;) {
        const AggregateStep &step = program.step[i];
        if (!is_needed[i])
            continue;
        const bool of_digits = depends_on_digits(step);
        if (of_digits || has_operands(step.operation, 1))
            is_needed[step.left] = true;
        if (of_digits || has_operands(step.operation, 2))
            is_needed[step.right] = true;
    }
}

bool may_fail_by_row(const AggregateProgram &program, uint16 number) {
    bool is_needed[gpu_engine::max_aggregate_steps] = {};
    is_needed[number] = true;
    mark_operands(program, is_needed);
    for (uint32 i = 0; i <= number; i++)
        if (is_needed[i] && gpu_engine::is_arithmetic(program.step[i].operation))
            return true;
    return false;
}

bool is_never_null(const InputBuilder &builder, uint16 number) {
    const AggregateProgram &program = builder.compiled->program;
    bool is_needed[gpu_engine::max_aggregate_steps] = {};
    bool is_never[gpu_engine::max_aggregate_steps] = {};
    is_needed[number] = true;
    mark_operands(program, is_needed);
    for (uint32 i = 0; i <= number; i++) {
        const AggregateStep &step = program.step[i];
        if (!is_needed[i])
            continue;
        switch (step.operation) {
            case AggregateOperation::input:
                is_never[i] = is_input_never_null(builder, step.left);
                break;
            case AggregateOperation::constant:
                is_never[i] = true;
                break;
            case AggregateOperation::add:
            case AggregateOperation::subtract:
            case AggregateOperation::multiply:
                is_never[i] = is_never[step.left] && is_never[step.right];
                break;
            case AggregateOperation::or_else:
                is_never[i] = is_never[step.right];
                break;
            default:
                break;
        }
    }
    return is_never[number];
}

bool make_inputs(InputBuilder *builder, const uint16 *steps, uint32 count) {
    const AggregateProgram &program = builder->compiled->program;
    bool is_needed[gpu_engine::max_aggregate_steps] = {};
    for (uint32 i = 0; i < count; i++)
        is_needed[steps[i]] = true;
    mark_operands(program, is_needed);
    for (uint32 i = 0; i < program.step_count; i++) {
        const AggregateStep &step = program.step[i];
        if (!is_needed[i] || builder->is_settled[i])
            continue;
        if (step.operation == AggregateOperation::input && !make_once(builder, step.left))
            return false;
        if (!settle_step(builder, static_cast<uint16>(i)))
            return false;
        builder->is_settled[i] = true;
    }
    return true;
}

}  // namespace pg_gpu::plan
