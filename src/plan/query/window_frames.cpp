#include "plan/query/window_frames.h"

#include <algorithm>

#include "compat.h"
#include "plan/query/top.h"

namespace pg_gpu::plan::query {

// ---- offsets of rows --------------------------------------------------------------------------------------

static const Const *known_offset(const Node *offset) {
    if (offset == nullptr || !IsA(offset, Const))
        return nullptr;
    const auto *constant = reinterpret_cast<const Const *>(offset);
    return constant->constisnull ? nullptr : constant;
}

static bool read_rows(const Node *offset, int64 *rows) {
    const Const *constant = known_offset(offset);
    if (constant == nullptr || constant->consttype != INT8OID)
        return false;
    *rows = DatumGetInt64(constant->constvalue);
    return *rows >= 0 && *rows <= engine::max_frame_offset;
}

// ---- offsets of values ------------------------------------------------------------------------------------

namespace {

// A key with what is added to it or taken away, of types whose arithmetic doesn't overflow where PostgreSQL's
// in_range functions don't.
struct Distance {
    Node *key;
    Const *offset;
    Const *zero;
};

}  // namespace

static Const *make_offset(Oid type, Datum value) {
    int16 length;
    bool is_by_value;
    get_typlenbyval(type, &length, &is_by_value);
    return makeConst(type, -1, InvalidOid, length, value, false, is_by_value);
}

static Node *cast_to(Node *value, Oid type) {
    return exprType(value) == type ? value
                                   : coerce_to_target_type(nullptr, value, exprType(value), type, -1,
                                                           COERCION_IMPLICIT, COERCE_IMPLICIT_CAST, -1);
}

static int64 integer_of(const Const *constant) {
    switch (constant->consttype) {
        case INT2OID:
            return DatumGetInt16(constant->constvalue);
        case INT4OID:
            return DatumGetInt32(constant->constvalue);
        default:
            return DatumGetInt64(constant->constvalue);
    }
}

static bool is_integer_type(Oid type) {
    return type == INT2OID || type == INT4OID || type == INT8OID;
}

// Negative offsets, NaN and NULL are errors; infinite ones are PostgreSQL's.
static bool read_distance(Node *key, Const *offset, Distance *distance) {
    const Oid type = exprType(key);
    *distance = {key, offset, nullptr};
    if (is_integer_type(type) && is_integer_type(offset->consttype)) {
        const auto numeric_of = [](int64 number) {
            return make_offset(NUMERICOID, NumericGetDatum(int64_to_numeric(number)));
        };
        *distance = {cast_to(key, NUMERICOID), numeric_of(integer_of(offset)), numeric_of(0)};
        return integer_of(offset) >= 0;
    }
    if ((type == FLOAT4OID || type == FLOAT8OID) && offset->consttype == FLOAT8OID) {
        // With a lesser one no number becomes infinite.
        constexpr float8 max_offset = 1e290;
        distance->key = cast_to(key, FLOAT8OID);
        distance->zero = make_offset(FLOAT8OID, Float8GetDatum(0));
        const float8 real = DatumGetFloat8(offset->constvalue);
        return real >= 0 && real <= max_offset;
    }
    if (type == NUMERICOID && offset->consttype == NUMERICOID) {
        const Numeric number = DatumGetNumeric(offset->constvalue);
        if (numeric_is_nan(number) || numeric_is_inf(number))
            return false;
        // It has as many digits.
        const Datum zero = DirectFunctionCall2(numeric_sub, offset->constvalue, offset->constvalue);
        distance->zero = make_offset(NUMERICOID, zero);
        return DatumGetBool(DirectFunctionCall2(numeric_ge, offset->constvalue, zero));
    }
    if ((type == DATEOID || type == TIMESTAMPOID || type == TIMESTAMPTZOID) &&
        offset->consttype == INTERVALOID) {
        const Datum zero = IntervalPGetDatum(allocate_zeroed<Interval>(1));
        distance->zero = make_offset(INTERVALOID, zero);
        return DatumGetBool(DirectFunctionCall2(interval_ge, offset->constvalue, zero));
    }
    return false;
}

static Node *compute(const char *name, Node *key, Const *offset) {
    const Oid operation =
        OpernameGetOprid(list_make2(makeString(pstrdup("pg_catalog")), makeString(pstrdup(name))),
                         exprType(key), offset->consttype);
    if (!OidIsValid(operation))
        return nullptr;
    Expr *result = make_opclause(operation, get_op_rettype(operation), false, reinterpret_cast<Expr *>(key),
                                 reinterpret_cast<Expr *>(offset), InvalidOid, InvalidOid);
    set_opfuncid(reinterpret_cast<OpExpr *>(result));
    return reinterpret_cast<Node *>(result);
}

// The number of an expression in the row, where it is added if it isn't there.
static int add_to_row(List **row, Node *expression) {
    int number = number_in_row(*row, expression);
    if (number < 0) {
        number = list_length(*row);
        *row = lappend(*row, expression);
    }
    return number;
}

static bool add_values(const WindowClause *clause, bool is_start, Node *key, List **row, Window *window) {
    Node *offset = is_start ? clause->startOffset : clause->endOffset;
    const Const *known = known_offset(offset);
    Distance distance;
    if (key == nullptr || known == nullptr || !read_distance(key, const_cast<Const *>(known), &distance))
        return false;
    const bool precedes = (clause->frameOptions & (is_start ? FRAMEOPTION_START_OFFSET_PRECEDING
                                                            : FRAMEOPTION_END_OFFSET_PRECEDING)) != 0;
    Node *bound = compute(precedes == clause->inRangeAsc ? "-" : "+", distance.key, distance.offset);
    // Of the type that the bound has.
    Node *compared = compute("+", distance.key, distance.zero);
    if (bound == nullptr || compared == nullptr)
        return false;
    window->frame_key = add_to_row(row, compared);
    (is_start ? window->frame_from : window->frame_to) = add_to_row(row, bound);
    return true;
}

// ---- frames -----------------------------------------------------------------------------------------------

// One end of a frame: relative to the row, unless it is that of the partition, of the row's peers, or found
// by values.
static bool read_bound(const WindowClause *clause, bool is_start, Node *key, List **row, Window *window) {
    int64 *bound = is_start ? &window->frame_first : &window->frame_last;
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
    if ((options & FRAMEOPTION_RANGE) != 0) {
        *bound = is_start ? engine::values_first : engine::values_last;
        return add_values(clause, is_start, key, row, window);
    }
    int64 rows;
    if (!counts_rows || !read_rows(is_start ? clause->startOffset : clause->endOffset, &rows))
        return false;
    *bound = is(FRAMEOPTION_START_OFFSET_PRECEDING, FRAMEOPTION_END_OFFSET_PRECEDING) ? -rows : rows;
    return true;
}

bool read_frame(const WindowClause *clause, Node *key, List **row, Window *window) {
    return (clause->frameOptions & FRAMEOPTION_EXCLUSION) == 0 &&
           read_bound(clause, true, key, row, window) && read_bound(clause, false, key, row, window);
}

bool is_frame_searchable(const Window &window) {
    return window.frame_first == engine::partition_first ||
           (window.frame_first >= -engine::max_frame_offset &&
            window.frame_last <= engine::max_frame_offset &&
            window.frame_last - window.frame_first < engine::max_searched_frame);
}

// ---- the compiler -----------------------------------------------------------------------------------------

namespace {

enum class Unit : uint8 { Microsecond, Day, Month };

}  // namespace

// What all moments that a sort key gives are the begin of.
static Unit unit_of(const Node *key) {
    if (!IsA(key, FuncExpr))
        return Unit::Microsecond;
    const auto *call = reinterpret_cast<const FuncExpr *>(key);
    const bool is_cut =
        call->funcid == F_DATE_TRUNC_TEXT_TIMESTAMP || call->funcid == F_DATE_TRUNC_TEXT_TIMESTAMPTZ;
    const Const *name = is_cut ? known_offset(static_cast<const Node *>(linitial(call->args))) : nullptr;
    if (name == nullptr)
        return Unit::Microsecond;
    const char *unit = TextDatumGetCString(name->constvalue);
    const auto is = [unit](std::initializer_list<const char *> names) {
        return std::any_of(names.begin(), names.end(),
                           [unit](const char *one) { return strcmp(unit, one) == 0; });
    };
    return is({"day", "week"})                ? Unit::Day
           : is({"month", "quarter", "year"}) ? Unit::Month
                                              : Unit::Microsecond;
}

// Does a frame of a later moment never begin, or end, before an earlier one's? From March 30 20:00 and March
// 31 10:00 a month leads back to the same day, and where a clock is set back, so does a day. PostgreSQL's
// frames only move on.
static bool keeps_order(const Node *bound) {
    const auto *operation = reinterpret_cast<const OpExpr *>(bound);
    const auto *key = static_cast<const Node *>(linitial(operation->args));
    const auto *offset = static_cast<const Const *>(lsecond(operation->args));
    if (offset->consttype != INTERVALOID || exprType(key) == DATEOID)
        return true;
    const Interval &interval = *DatumGetIntervalP(offset->constvalue);
    const Unit unit = unit_of(key);
    long difference;
    if (exprType(key) == TIMESTAMPOID || pg_get_timezone_offset(session_timezone, &difference))
        return interval.month == 0 || unit != Unit::Microsecond;
    return unit == Unit::Month || (interval.month == 0 && (interval.day == 0 || unit != Unit::Microsecond));
}

void compile_frame(Compiler *compiler, const List *row, CompiledQuery *compiled, const Window &window) {
    const bool has_from = window.frame_first == engine::values_first;
    const bool has_to = window.frame_last == engine::values_last;
    const auto is_in_order = [row](bool is_there, int column) {
        return !is_there || keeps_order(static_cast<const Node *>(list_nth(row, column)));
    };
    if (!is_in_order(has_from, window.frame_from) || !is_in_order(has_to, window.frame_to)) {
        refuse(&compiler->refusal, "the frames of a window by months or days may go back");
        return;
    }
    Value common = compiled->results[window.frame_key].argument;
    const auto each = [&](auto visit) {
        visit(window.frame_key);
        if (has_from)
            visit(window.frame_from);
        if (has_to)
            visit(window.frame_to);
    };
    bool is_alike = true;
    bool is_wide = false;
    each([&](int column) {
        const Value &value = compiled->results[column].argument;
        is_alike = is_alike && value.kind == common.kind && value.scale == common.scale &&
                   value.numbering == no_numbering;
        is_wide = is_wide || value.type == ValueType::int128;
    });
    if (!is_alike) {
        refuse(&compiler->refusal, "a window has a frame that the engine doesn't have");
        return;
    }
    each([&](int column) {
        Result *result = &compiled->results[column];
        if (is_wide && result->argument.type != ValueType::int128) {
            result->argument = widen_to(compiler, result->argument, ValueType::int128);
            compiled->keys[result->value] = result->argument.step;
        }
    });
}

}  // namespace pg_gpu::plan::query
