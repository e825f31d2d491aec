#include "plan/query/windows.h"

#include "compat.h"
#include "plan/query/accumulators.h"
#include "plan/query/top.h"
#include "plan/query/window_frames.h"

namespace pg_gpu::plan::query {

// ---- as lists ---------------------------------------------------------------------------------------------

static List *add_wide(List *integers, int64 number) {
    return lappend_int(lappend_int(integers, static_cast<int>(number >> 32)), static_cast<int>(number));
}

static int64 wide_at(const List *integers, int place) {
    return static_cast<int64>(list_nth_int(integers, place)) << 32 |
           static_cast<uint32>(list_nth_int(integers, place + 1));
}

List *add_window(List *windows, const Window &window) {
    List *packed = add_wide(add_wide(NIL, window.frame_first), window.frame_last);
    for (const int number :
         {window.partition_keys, window.functions, window.frame_key, window.frame_from, window.frame_to})
        packed = lappend_int(packed, number);
    return lappend(windows, list_concat(packed, window.order));
}

Window window_of(const List *windows, int number) {
    constexpr int own_integers = 9;
    const auto *packed = static_cast<const List *>(list_nth(windows, number));
    const auto integer = [packed](int place) { return list_nth_int(packed, place); };
    return {wide_at(packed, 0), wide_at(packed, 2), integer(4), integer(5),
            integer(6),         integer(7),         integer(8), list_copy_tail(packed, own_integers)};
}

List *order_of_windows(const List *windows) {
    List *order = NIL;
    for (int i = 0; i < list_length(windows); i++)
        order = list_concat(order, window_of(windows, i).order);
    return order;
}

// ---- functions --------------------------------------------------------------------------------------------

static Aggref *as_aggregate(const WindowFunc *function) {
    auto *aggregate = makeNode(Aggref);
    aggregate->aggfnoid = function->winfnoid;
    aggregate->aggtype = function->wintype;
    aggregate->aggcollid = function->wincollid;
    aggregate->inputcollid = function->inputcollid;
    ListCell *cell;
    foreach (cell, function->args) {
        auto *argument = static_cast<Expr *>(lfirst(cell));
        aggregate->aggargtypes =
            lappend_oid(aggregate->aggargtypes, exprType(reinterpret_cast<Node *>(argument)));
        aggregate->args =
            lappend(aggregate->args,
                    makeTargetEntry(argument, static_cast<AttrNumber>(list_length(aggregate->args) + 1),
                                    nullptr, false));
    }
    aggregate->aggfilter = function->aggfilter;
    aggregate->aggstar = function->winstar;
    aggregate->aggkind = AGGKIND_NORMAL;
    aggregate->aggsplit = AGGSPLIT_SIMPLE;
    aggregate->location = -1;
    return aggregate;
}

// A function's second argument, if it is known; `unsaid` where there is none.
static bool read_integer(const WindowFunc *function, int unsaid, int64 *number) {
    *number = unsaid;
    if (list_length(function->args) < 2)
        return true;
    const auto *argument = static_cast<const Const *>(lsecond(function->args));
    if (!IsA(argument, Const) || argument->constisnull)
        return false;
    *number = DatumGetInt32(argument->constvalue);
    return true;
}

// The value of another row. It looks as it does there. Where there is no such row, `instead` is given, which
// has a step or is NULL.
static void accumulate_value(Compiler *compiler, CompiledQuery *compiled, AccumulatorKind kind, uint32 detail,
                             Value value, Value instead, Result *result) {
    const bool has_instead = !instead.is_null;
    if (has_instead && !bring_together(compiler, &value, &instead))
        return;
    if (value.kind == Kind::Interval && (has_instead || value.shown == kShownByRow)) {
        refuse(&compiler->refusal, "an interval may look different from what is computed with");
        return;
    }
    const bool is_shown_by_row =
        is_numeric(value) && (value.shown == kShownByRow || (has_instead && (instead.shown != value.shown)));
    result->argument = value;
    result->argument.may_be_minus_0 = false;
    result->argument.limit = has_instead ? Max(value.limit, instead.limit) : value.limit;
    result->value =
        accumulate(compiled, kind, value.step, has_instead ? instead.step : no_step, false, detail);
    if (!is_shown_by_row)
        return;
    result->argument.shown = kShownByRow;
    result->shown = accumulate(compiled, kind, shown_step_of(compiler, value),
                               has_instead ? shown_step_of(compiler, instead) : no_step, false, detail);
}

static void compile_value(Compiler *compiler, CompiledQuery *compiled, const WindowFunc *function,
                          AccumulatorKind kind, uint32 detail, Result *result) {
    Value instead = {};
    instead.is_null = true;
    const Value value = compile(compiler, linitial_node(Expr, function->args));
    if (list_length(function->args) > 2) {
        // What is computed of each row mustn't fail, since it may be wanted of none.
        const auto *expression = static_cast<const Expr *>(lthird(function->args));
        if (IsA(expression, Const) || IsA(expression, Var))
            instead = compile(compiler, expression);
        else
            refuse(&compiler->refusal, "what a window function gives instead of a row's value is computed");
    }
    if (!is_refused(compiler))
        accumulate_value(compiler, compiled, kind, detail, value, instead, result);
}

static void compile_other_row(Compiler *compiler, CompiledQuery *compiled, const WindowFunc *function,
                              bool is_lead, Result *result) {
    int64 distance;
    if (!read_integer(function, 1, &distance)) {
        refuse(&compiler->refusal, "a window function's offset isn't known");
        return;
    }
    const bool is_later = is_lead != (distance < 0);
    compile_value(compiler, compiled, function, is_later ? AccumulatorKind::later : AccumulatorKind::earlier,
                  static_cast<uint32>(distance < 0 ? -distance : distance), result);
}

// PostgreSQL raises an error of a number below 1.
static void compile_nth_value(Compiler *compiler, CompiledQuery *compiled, const WindowFunc *function,
                              Result *result) {
    int64 number;
    if (!read_integer(function, 1, &number) || number < 1)
        refuse(&compiler->refusal, "a window function's number isn't known, or below 1");
    else
        compile_value(compiler, compiled, function, AccumulatorKind::nth_of_frame,
                      static_cast<uint32>(number - 1), result);
}

static void compile_ntile(Compiler *compiler, CompiledQuery *compiled, const WindowFunc *function,
                          Result *result) {
    const auto *parts = linitial_node(Const, function->args);
    if (!IsA(parts, Const) || parts->constisnull || DatumGetInt32(parts->constvalue) < 1) {
        refuse(&compiler->refusal, "a window function's number isn't known, or below 1");
        return;
    }
    result->argument = make_value(no_step, Kind::Integer, ValueType::int64);
    result->argument.width = 4;
    result->value = accumulate(compiled, AccumulatorKind::ntile, no_step, no_step, false,
                               static_cast<uint32>(DatumGetInt32(parts->constvalue)));
}

static void compile_share(CompiledQuery *compiled, AccumulatorKind kind, Result *result) {
    result->argument = make_value(no_step, Kind::Float, ValueType::float64);
    result->argument.width = 8;
    result->value = accumulate(compiled, kind, no_step, no_step);
}

static void compile_number(CompiledQuery *compiled, AccumulatorKind kind, Result *result) {
    result->argument = make_value(no_step, Kind::Integer, ValueType::int64);
    result->value = accumulate(compiled, kind, no_step, no_step);
}

// Sums of frames are differences of sums, which are exact where no frame's is too great.
static bool has_room(const Result &result) {
    constexpr double max_rows = 1e10;
    const Value &argument = result.argument;
    if (result.kind == ResultKind::Deviation)
        return result.part_products == no_step && argument.limit * argument.limit * max_rows < kMaxInt128;
    return argument.type != ValueType::int128 || argument.limit * max_rows < kMaxInt128;
}

static const char *refuse_result(const Result &result, const CompiledQuery &compiled, uint32 first,
                                 const Window &window) {
    switch (result.kind) {
        case ResultKind::Value:
        case ResultKind::ShownExtreme:
        case ResultKind::FloatAverage:
            break;
        case ResultKind::FloatSum:
            // PostgreSQL rounds each sum to this type.
            if (result.type == FLOAT4OID)
                return "sums of real numbers over windows are PostgreSQL's";
            break;
        case ResultKind::Integer:
        case ResultKind::Sum:
        case ResultKind::Average:
        case ResultKind::Deviation:
            if (!has_room(result))
                return "a window's sums may have no room";
            break;
        default:
            return "the engine doesn't have a window function";
    }
    for (uint32 i = first; i < compiled.accumulator_count; i++) {
        const AccumulatorKind kind = compiled.accumulators[i].kind;
        if ((kind == AccumulatorKind::least || kind == AccumulatorKind::greatest ||
             kind == AccumulatorKind::sum_float) &&
            !is_frame_searchable(window))
            return "a window's frame has too many rows to be searched for each row";
    }
    return nullptr;
}

static void compile_function(Compiler *compiler, CompiledQuery *compiled, const WindowFunc *function,
                             Result *result) {
    const Aggref *aggregate = as_aggregate(function);
    if (function->winagg) {
        compile_aggregate(compiler, compiled, aggregate, result);
        return;
    }
    *result = make_result(ResultKind::Value, aggregate, {});
    switch (function->winfnoid) {
        case F_ROW_NUMBER:
            return compile_number(compiled, AccumulatorKind::row_number, result);
        case F_RANK_:
            return compile_number(compiled, AccumulatorKind::rank, result);
        case F_DENSE_RANK_:
            return compile_number(compiled, AccumulatorKind::dense_rank, result);
        case F_PERCENT_RANK_:
            return compile_share(compiled, AccumulatorKind::percent_rank, result);
        case F_CUME_DIST_:
            return compile_share(compiled, AccumulatorKind::cume_dist, result);
        case F_NTILE:
            return compile_ntile(compiler, compiled, function, result);
        case F_LAG_ANYELEMENT:
        case F_LAG_ANYELEMENT_INT4:
        case F_LAG_ANYCOMPATIBLE_INT4_ANYCOMPATIBLE:
            return compile_other_row(compiler, compiled, function, false, result);
        case F_LEAD_ANYELEMENT:
        case F_LEAD_ANYELEMENT_INT4:
        case F_LEAD_ANYCOMPATIBLE_INT4_ANYCOMPATIBLE:
            return compile_other_row(compiler, compiled, function, true, result);
        case F_NTH_VALUE:
            return compile_nth_value(compiler, compiled, function, result);
        case F_FIRST_VALUE:
            return compile_value(compiler, compiled, function, AccumulatorKind::first_of_frame, 0, result);
        case F_LAST_VALUE:
            return compile_value(compiler, compiled, function, AccumulatorKind::last_of_frame, 0, result);
        default:
            break;
    }
    refuse(&compiler->refusal, "the engine doesn't have a window function");
}

void compile_windows(Compiler *compiler, const QueryParts &parts, CompiledQuery *compiled) {
    const int windows = list_length(parts.windows);
    compiled->windows = allocate_zeroed<CompiledWindow>(static_cast<size_t>(windows));
    compiled->window_count = static_cast<uint32>(windows);
    int number = 0;
    for (int i = 0; i < windows; i++) {
        const Window window = window_of(parts.windows, i);
        // Functions of another window have other frames.
        const uint32 begun = compiled->accumulator_count;
        compiled->first_accumulator = begun;
        for (int k = 0; k < window.functions && !is_refused(compiler); k++, number++) {
            const auto *function = list_nth_node(WindowFunc, parts.aggregates, number);
            Result *result = &compiled->results[list_length(parts.keys) + number];
            compile_function(compiler, compiled, function, result);
            const char *reason =
                is_refused(compiler) ? nullptr : refuse_result(*result, *compiled, begun, window);
            if (reason != nullptr)
                refuse(&compiler->refusal, reason);
            if (is_refused(compiler) && compiler->refusal.expression == nullptr)
                compiler->refusal.expression = reinterpret_cast<Node *>(const_cast<WindowFunc *>(function));
        }
        if (has_frame_by_values(window))
            compile_frame(compiler, parts.keys, compiled, window);
        const auto column = [&](int number, bool is_there) {
            return is_there ? compiled->results[number].value : no_step;
        };
        const bool has_from = window.frame_first == engine::values_first;
        const bool has_to = window.frame_last == engine::values_last;
        compiled->windows[i] = {
            .order = window.order,
            .partition_keys = window.partition_keys,
            .frame_first = window.frame_first,
            .frame_last = window.frame_last,
            .frame_key = column(window.frame_key, has_from || has_to),
            .frame_from = column(window.frame_from, has_from),
            .frame_to = column(window.frame_to, has_to),
            .first = begun,
            .count = compiled->accumulator_count - begun,
        };
    }
}

bool order_windows(Compiler *compiler, const CompiledQuery &compiled, const List *windows) {
    for (int i = 0; i < list_length(windows); i++) {
        const Window window = window_of(windows, i);
        if (!order_given(compiler, compiled, skip_order_items(window.order, window.partition_keys)))
            return false;
    }
    return true;
}

}  // namespace pg_gpu::plan::query
