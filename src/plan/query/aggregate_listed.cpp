#include "plan/query/aggregate_listed.h"

#include "compat.h"
#include "gpu_engine/aggregate_steps.h"
#include "plan/query/aggregate_evaluation.h"
#include "settings.h"

namespace pg_gpu::plan {

using column::AggregatePart;
using column::ValueList;
using gpu_engine::AggregateInput;
using gpu_engine::AggregateInputKind;

// ---- which columns ----------------------------------------------------------------------------------------

// The columns with codes by lists, too.
static IndexColumns with_lists(const IndexColumns &columns, const Bitmapset *listed) {
    const auto count = static_cast<size_t>(columns.format->columns);
    auto *has_codes = allocate<bool>(count);
    auto *is_joinable = allocate<bool>(count);
    for (size_t i = 0; i < count; i++) {
        const bool is_listed = bms_is_member(static_cast<int>(i), listed);
        has_codes[i] = columns.has_codes[i] || is_listed;
        is_joinable[i] = columns.is_joinable[i] || is_listed;
    }
    IndexColumns with = columns;
    with.has_codes = has_codes;
    with.is_joinable = is_joinable;
    return with;
}

// Columns that a statement reads and lists would give codes.
static Bitmapset *find_listable(const AggregateQuery &query, const IndexColumns &columns) {
    Bitmapset *read = nullptr;
    for (List *list : {query.conditions, query.keys, query.aggregates})
        read = bms_add_members(read, roots_of(query.joins, list));
    for (int i = 0; i < list_length(query.joins); i++)
        read = bms_add_member(read, unpack_joined_table(query.joins, i).root);
    Bitmapset *listable = nullptr;
    for (int column = bms_next_member(read, -1); column >= 0; column = bms_next_member(read, column))
        if (columns.can_be_listed[column] && !columns.has_codes[column])
            listable = bms_add_member(listable, column);
    return listable;
}

const char *compile_aggregate(const AggregateQuery &query, const IndexColumns &columns, ExprContext *context,
                              CompiledAggregate *compiled) {
    const char *reason = compile_by_codes(query, columns, context, compiled);
    Bitmapset *listable = reason == nullptr ? nullptr : find_listable(query, columns);
    auto *other = bms_is_empty(listable) ? nullptr : allocate<CompiledAggregate>(1);
    Expr *refused = compiled->refused;
    Bitmapset *listed = nullptr;
    // First those of what is refused, then all.
    while (other != nullptr && !bms_equal(listed, listable)) {
        Bitmapset *more = refused == nullptr ? nullptr : roots_of(query.joins, refused);
        more = bms_difference(bms_int_members(more, listable), listed);
        listed = bms_union(listed, bms_is_empty(more) ? listable : more);
        if (compile_by_codes(query, with_lists(columns, listed), context, other) == nullptr) {
            *compiled = *other;
            compiled->listed = listed;
            return nullptr;
        }
        refused = other->refused;
    }
    return reason;
}

// ---- lists ------------------------------------------------------------------------------------------------

bool list_columns(InputBuilder *builder) {
    for (int column = bms_next_member(builder->compiled->listed, -1); column >= 0;
         column = bms_next_member(builder->compiled->listed, column)) {
        for (int i = 0; i < builder->parts->count; i++) {
            AggregatePart *part = &builder->parts->part[i];
            if (part->reader == nullptr || !column::is_scaled(part->reader->header.column[column]))
                continue;
            const ValueList *list = column::list_values(part->reader, column, &builder->memory);
            if (list == nullptr) {
                builder->problem = kNoRoomForLists;
                return false;
            }
            column::use_list(part, builder->parts->format->columns, column, list);
        }
    }
    return true;
}

const char *refuse_lists_for_server(const InputBuilder &builder) {
    constexpr uint64 most = 65536;
    uint64 values = 0;
    for (int column = bms_next_member(builder.compiled->listed, -1); column >= 0;
         column = bms_next_member(builder.compiled->listed, column))
        for (int i = 0; i < builder.parts->count; i++)
            if (const ValueList *list = column::list_of(builder.parts->part[i], column))
                values += list->count;
    return values > most ? "the session has results for too many values to send" : nullptr;
}

// ---- what the server is told ------------------------------------------------------------------------------

static bool is_true(const AggregateInput &input, uint64 number) {
    return gpu_engine::bit_at(static_cast<const uint64 *>(input.values), number);
}

static int64 number_at(const AggregateInput &input, uint64 number) {
    switch (input.kind) {
        case AggregateInputKind::map8:
            return static_cast<const uint8 *>(input.values)[number];
        case AggregateInputKind::map32:
            return static_cast<const uint32 *>(input.values)[number];
        case AggregateInputKind::bits:
            return is_true(input, number) ? 1 : 0;
        default:
            return static_cast<const int64 *>(input.values)[number];
    }
}

namespace {

// A list's values as the server has them.
struct ListedCodes {
    uint64 count;
    uint64 range;  // codes are below it; 0: any
    const uint64 *codes;
};

}  // namespace

static uint64 *take_bits(InputBuilder *builder, uint64 places) {
    return static_cast<uint64 *>(take_memory(builder, (places + 63) / 64 * sizeof(uint64)));
}

// Truth values, and numbers of a byte, by code.
static bool map_by_code(InputBuilder *builder, const ListedCodes &listed, AggregateInput *input) {
    const AggregateInput from = *input;
    input->places = listed.range;
    uint64 *nulls = from.nulls == nullptr ? nullptr : take_bits(builder, listed.range);
    void *values = take_memory(builder, gpu_engine::bytes_of_map(*input));
    if (builder->problem != nullptr)
        return false;
    for (uint64 number = 0; number < listed.count; number++) {
        const uint64 code = Min(listed.codes[number], listed.range - 1);
        if (from.kind == AggregateInputKind::map8)
            static_cast<uint8 *>(values)[code] = static_cast<const uint8 *>(from.values)[number];
        else if (is_true(from, number))
            set_bit(static_cast<uint64 *>(values), code);
        if (nulls != nullptr && gpu_engine::bit_at(from.nulls, number))
            set_bit(nulls, code);
    }
    input->values = values;
    input->nulls = nulls;
    return true;
}

// A range for each value. Rows have no other codes.
static bool make_ranges_of_list(InputBuilder *builder, const ListedCodes &listed, AggregateInput *input) {
    const AggregateInput from = *input;
    input->kind = AggregateInputKind::ranges;
    input->places = listed.count;
    auto *starts = static_cast<uint64 *>(take_memory(builder, gpu_engine::bytes_of_map(*input)));
    if (starts == nullptr)
        return false;
    auto *numbers = reinterpret_cast<int64 *>(starts + listed.count);
    for (uint64 number = 0; number < listed.count; number++) {
        starts[number] = listed.codes[number];
        numbers[number] = number_at(from, number);
    }
    input->values = starts;
    return true;
}

static bool give_codes(InputBuilder *builder, const ListedCodes &listed, AggregateInput *input) {
    constexpr uint64 bytes_per_range = 2 * sizeof(uint64);
    switch (input->kind) {
        case AggregateInputKind::code:
        case AggregateInputKind::ranges:
            return true;
        case AggregateInputKind::map128:
            builder->problem = "a column without a dictionary has numerics of too many digits";
            return false;
        case AggregateInputKind::map8:
        case AggregateInputKind::bits:
            if (listed.range != 0 && listed.range / bytes_per_range < listed.count)
                return map_by_code(builder, listed, input);
            break;
        default:
            break;
    }
    return make_ranges_of_list(builder, listed, input);
}

bool give_codes_to_server(InputBuilder *builder, const AllRows &rows) {
    for (int i = 0; i < rows.count; i++) {
        const MemberRows &member = rows.member[i];
        for (int run = 0; member.remote != nullptr && run < member.view->run_count; run++) {
            const int number = member.first_part + run;
            const AggregatePart &part = builder->parts->part[number];
            if (!column::is_remote(member.view, run) || part.lists == nullptr)
                continue;
            for (uint32 j = 0; j < builder->compiled->program.input_count; j++) {
                AggregateInput *input = &builder->inputs[number][j];
                const ValueList *list = column::list_of(part, static_cast<int>(input->column));
                if (!builder->is_made[j] || list == nullptr)
                    continue;
                const column::ColumnHeader &header = part.reader->header.column[input->column];
                uint64 *codes = column::codes_of_list(part.reader, static_cast<int>(input->column), *list);
                const bool is_given =
                    give_codes(builder, {list->count, header.highest - header.base + 1, codes}, input);
                pfree(codes);
                if (!is_given)
                    return false;
            }
        }
    }
    return true;
}

// ---- what a planner wants to know -------------------------------------------------------------------------

static size_t width_of(SourceKind kind) {
    switch (kind) {
        case SourceKind::Truth:
        case SourceKind::Exists:
        case SourceKind::Scale:
            return sizeof(uint8);
        case SourceKind::Wide:
        case SourceKind::Narrow:
            return 2 * sizeof(uint64) + sizeof(uint8);
        case SourceKind::Number:
            return sizeof(int64);
        default:
            return sizeof(uint32);
    }
}

bool have_room_for_lists(const CompiledAggregate &compiled, const AggregateSource *sources, int count) {
    size_t lists = 0;
    size_t maps = 0;
    for (int i = 0; i < count; i++) {
        for (int column = bms_next_member(compiled.listed, -1); column >= 0;
             column = bms_next_member(compiled.listed, column))
            lists += sources[i].summary.column[column].list_bytes;
        for (uint32 j = 0; j < compiled.program.input_count; j++)
            if (bms_is_member(compiled.input[j].column, compiled.listed))
                maps += width_of(compiled.input[j].kind) *
                        sources[i].summary.column[compiled.input[j].column].unlisted_rows;
    }
    return lists <= Max(map_memory(), get_hash_memory_limit()) && maps <= get_hash_memory_limit();
}

}  // namespace pg_gpu::plan
