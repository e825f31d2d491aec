#include "plan/query/windows.h"

#include "compat.h"
#include "plan/query/accumulators.h"
#include "plan/query/top.h"

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
    packed = lappend_int(lappend_int(packed, window.partition_keys), window.functions);
    return lappend(windows, list_concat(packed, window.order));
}

Window window_of(const List *windows, int number) {
    constexpr int own_integers = 6;
    const auto *packed = static_cast<const List *>(list_nth(windows, number));
    return {wide_at(packed, 0), wide_at(packed, 2), list_nth_int(packed, 4), list_nth_int(packed, 5),
            list_copy_tail(packed, own_integers)};
}

List *order_of_windows(const List *windows) {
    List *order = NIL;
    for (int i = 0; i < list_length(windows); i++)
        order = list_concat(order, window_of(windows, i).order);
    return order;
}

// ---- frames -----------------------------------------------------------------------------------------------

static bool read_offset(Node *offset, int64 *rows) {
    if (offset == nullptr || !IsA(offset, Const))
        return false;
    const auto *constant = reinterpret_cast<const Const *>(offset);
    if (constant->constisnull || constant->consttype != INT8OID)
        return false;
    *rows = DatumGetInt64(constant->constvalue);
    return *rows >= 0 && *rows <= engine::max_frame_offset;
}

// One end of a frame: relative to the row, unless it is that of the partition or of the row's peers.
static bool read_bound(const WindowClause *clause, bool is_start, int64 *bound) {
    const int options = clause->frameOptions;
    const auto is = [&](int start, int end) { return (options & (is_start ? start : end)) != 0; };
    const bool counts_rows = (options & FRAMEOPTION_ROWS) != 0;
    if (is(FRAMEOPTION_START_UNBOUNDED_PRECEDING, FRAMEOPTION_END_UNBOUNDED_FOLLOWING)) {
        *bound = is_start ? engine::partition_first : engine::partition_last;
        return true;
    }
    if (is(FRAMEOPTION_START_CURRENT_ROW, FRAMEOPTION_END_CURRENT_ROW)) {
        *bound = counts_rows ? 0 : is_start ? engine::peers_first : engine::peers_last;
        return true;
    }
    int64 rows;
    if (!counts_rows || !read_offset(is_start ? clause->startOffset : clause->endOffset, &rows))
        return false;
    *bound = is(FRAMEOPTION_START_OFFSET_PRECEDING, FRAMEOPTION_END_OFFSET_PRECEDING) ? -rows : rows;
    return true;
}

bool read_frame(const WindowClause *clause, Window *window) {
    return (clause->frameOptions & FRAMEOPTION_EXCLUSION) == 0 &&
           read_bound(clause, true, &window->frame_first) && read_bound(clause, false, &window->frame_last);
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

// How far away the row is whose value lag or lead gives, and whether it comes later.
static bool read_distance(const WindowFunc *function, bool is_lead, uint32 *distance, bool *is_later) {
    int64 rows = 1;
    if (list_length(function->args) > 1) {
        const auto *offset = static_cast<const Const *>(lsecond(function->args));
        if (!IsA(offset, Const) || offset->constisnull)
            return false;
        rows = DatumGetInt32(offset->constvalue);
    }
    *is_later = is_lead != (rows < 0);
    *distance = static_cast<uint32>(rows < 0 ? -rows : rows);
    return true;
}

// The value of another row. It looks as it does there.
static void compile_value(Compiler *compiler, CompiledQuery *compiled, const WindowFunc *function,
                          AccumulatorKind kind, uint32 detail, Result *result) {
    const Value value = compile(compiler, linitial_node(Expr, function->args));
    if (is_refused(compiler))
        return;
    if (value.kind == Kind::Interval && value.shown == kShownByRow) {
        refuse(&compiler->refusal, "an interval may look different from what is computed with");
        return;
    }
    result->argument = value;
    result->argument.may_be_minus_0 = false;
    result->value = accumulate(compiled, kind, value.step, no_step, false, detail);
    if (is_numeric(value) && value.shown == kShownByRow)
        result->shown = accumulate(compiled, kind, value.shown_step, no_step, false, detail);
}

static void compile_number(CompiledQuery *compiled, AccumulatorKind kind, Result *result) {
    result->argument = make_value(no_step, Kind::Integer, ValueType::int64);
    result->value = accumulate(compiled, kind, no_step, no_step);
}

// Sums of frames are differences of sums, which are exact where no frame's is too great.
static bool has_room(const Result &result) {
    constexpr double max_rows = 1e10;
    return result.argument.type != ValueType::int128 || result.argument.limit * max_rows < kMaxInt128;
}

static const char *refuse_result(const Result &result, const CompiledQuery &compiled, uint32 first,
                                 const Window &window) {
    switch (result.kind) {
        case ResultKind::Value:
        case ResultKind::ShownExtreme:
            break;
        case ResultKind::Integer:
        case ResultKind::Sum:
        case ResultKind::Average:
            if (!has_room(result))
                return "a window's sums may have no room";
            break;
        default:
            return "the engine doesn't have a window function";
    }
    const bool is_searched =
        window.frame_first == engine::partition_first ||
        (window.frame_first >= -engine::max_frame_offset && window.frame_last <= engine::max_frame_offset &&
         window.frame_last - window.frame_first < engine::max_searched_frame);
    for (uint32 i = first; i < compiled.accumulator_count; i++) {
        const AccumulatorKind kind = compiled.accumulators[i].kind;
        if ((kind == AccumulatorKind::least || kind == AccumulatorKind::greatest) && !is_searched)
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
    uint32 distance;
    bool is_later;
    switch (function->winfnoid) {
        case F_ROW_NUMBER:
            return compile_number(compiled, AccumulatorKind::row_number, result);
        case F_RANK_:
            return compile_number(compiled, AccumulatorKind::rank, result);
        case F_DENSE_RANK_:
            return compile_number(compiled, AccumulatorKind::dense_rank, result);
        case F_LAG_ANYELEMENT:
        case F_LAG_ANYELEMENT_INT4:
        case F_LEAD_ANYELEMENT:
        case F_LEAD_ANYELEMENT_INT4:
            if (!read_distance(
                    function,
                    function->winfnoid == F_LEAD_ANYELEMENT || function->winfnoid == F_LEAD_ANYELEMENT_INT4,
                    &distance, &is_later))
                break;
            return compile_value(compiler, compiled, function,
                                 is_later ? AccumulatorKind::later : AccumulatorKind::earlier, distance,
                                 result);
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
        compiled->windows[i] = {window.order,
                                window.partition_keys,
                                window.frame_first,
                                window.frame_last,
                                begun,
                                compiled->accumulator_count - begun};
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
