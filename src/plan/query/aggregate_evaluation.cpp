#include "plan/query/aggregate_evaluation.h"

namespace pg_gpu::plan {

using column::AggregatePart;
using gpu_engine::AggregateInput;
using gpu_engine::AggregateInputKind;

void *take_room(InputBuilder *builder, uint64 bytes) {
    if (bytes > builder->memory) {
        builder->problem = "work_mem has no room for a dictionary's values";
        return nullptr;
    }
    builder->memory -= bytes;
    return allocate<char>(bytes + 1);
}

void *take_memory(InputBuilder *builder, uint64 bytes) {
    if (bytes > builder->memory) {
        builder->problem = "work_mem has no room for a dictionary's values";
        return nullptr;
    }
    builder->memory -= bytes;
    return allocate_zeroed<char>(bytes + 1);
}

bool is_ranged(const InputSource &source, const AggregatePart &part) {
    return source.ranged != nullptr && column::count_places(part, source.column) == 0;
}

RangeRequest range_request_of(const InputBuilder *builder, const InputSource &source,
                              const AggregatePart &part) {
    constexpr uint64 max_ranges = 500000;
    return {source.ranged,
            source.expression,
            &part,
            &builder->parts->format->types[source.column],
            source.column,
            builder->context,
            builder->row,
            Min(max_ranges, builder->memory / (4 * sizeof(uint64))),
            is_ranged(source, part) ? builder->condition : nullptr};
}

bool make_ranges(InputBuilder *builder, const InputSource &source, const AggregatePart &part,
                 MemoryContext room, AggregateInput *input) {
    uint64 *starts;
    builder->problem = find_ranges(range_request_of(builder, source, part), &starts, &input->places);
    if (builder->problem != nullptr)
        return false;
    input->kind = AggregateInputKind::ranges;
    MemoryContext caller = MemoryContextSwitchTo(room);
    input->values = take_memory(builder, 2 * input->places * sizeof(uint64));
    input->nulls =
        input->values == nullptr
            ? nullptr
            : static_cast<uint64 *>(take_memory(builder, (input->places + 63) / 64 * sizeof(uint64)));
    MemoryContextSwitchTo(caller);
    if (input->nulls == nullptr)
        return false;
    auto *codes = static_cast<uint64 *>(const_cast<void *>(input->values));
    for (uint64 i = 0; i < input->places; i++)
        codes[i] = starts[i] - column::base_of_codes(part, source.column);
    if (starts != nullptr)
        pfree(starts);
    return true;
}

bool make_map(InputBuilder *builder, const AggregatePart &part, bool is_joined, AggregateInputKind kind,
              uint32 bytes, AggregateInput *input) {
    const int column = static_cast<int>(input->column);
    input->kind = kind;
    input->places =
        is_joined ? column::count_joinable_places(part, column) : column::count_places(part, column);
    if (input->places == 0) {
        builder->problem = "a column has no dictionary any more";
        return false;
    }
    // What a NULL of the column gives has a place behind the others.
    input->values = take_memory(builder, kind == AggregateInputKind::bits ? gpu_engine::bytes_of_map(*input)
                                                                          : (input->places + 1) * bytes);
    input->nulls =
        input->values == nullptr
            ? nullptr
            : static_cast<uint64 *>(take_memory(builder, (input->places + 63) / 64 * sizeof(uint64)));
    return input->nulls != nullptr;
}

static bool mark_on_server(const PartOnServer &part, int column, uint8 *marks, bool *any_null) {
    return column::mark_remote_codes(part.codes, part.run, column, marks, any_null);
}

uint8 *mark_selected(InputBuilder *builder, const InputSource &source, const AggregatePart &part,
                     bool *any_null) {
    auto *marks = static_cast<uint8 *>(
        take_memory(builder, source.is_joined ? column::count_joinable_places(part, source.column)
                                              : column::count_places(part, source.column)));
    if (marks == nullptr)
        return nullptr;
    if (part.selected != nullptr)
        column::mark_codes(part, source.column, part.selected, marks, any_null);
    else if (!mark_on_server(builder->on_server[&part - builder->parts->part], source.column, marks,
                             any_null))
        builder->problem = "the server can't tell which values visible rows have";
    return marks;
}

const uint8 *find_wanted(InputBuilder *builder, const InputSource &source, const AggregatePart &part,
                         bool *any_null) {
    *any_null = !source.may_fail;
    if (is_ranged(source, part))
        return nullptr;
    // Of joined rows those are looked at that a code leads to.
    if (!source.may_fail && (source.is_joined || column::is_listed(part, source.column)))
        return nullptr;
    return mark_selected(builder, source, part, any_null);
}

LikeOfValue find_like(const InputBuilder *builder, const InputSource &source, const AggregatePart &part) {
    const auto *match = reinterpret_cast<const OpExpr *>(source.expression);
    if (match == nullptr || !IsA(match, OpExpr) || list_length(match->args) != 2)
        return {};
    auto *value = static_cast<Expr *>(linitial(match->args));
    const auto *argument = static_cast<const Const *>(lsecond(match->args));
    if (!IsA(argument, Const) || argument->constisnull)
        return {};
    const column::LikePattern *pattern =
        column::read_like_pattern(match->opfuncid, match->inputcollid, argument->constvalue);
    // varchar's values are those of text.
    const Expr *plain = IsA(value, RelabelType) ? reinterpret_cast<RelabelType *>(value)->arg : value;
    const column::ColumnType &type = builder->parts->format->types[source.column];
    const bool is_entry = pattern != nullptr && IsA(plain, Var) && !source.is_joined &&
                          part.reader != nullptr && !type.is_integer && type.length == -1 &&
                          column::is_dictionary(part.reader->header.column[source.column]);
    return {pattern, value, is_entry};
}

bool can_repeat(const InputSource &source) {
    switch (source.kind) {
        case SourceKind::Truth:
        case SourceKind::Exists:
        case SourceKind::Number:
        case SourceKind::Scale:
        case SourceKind::Group:
            return true;
        default:
            return false;
    }
}

}  // namespace pg_gpu::plan
