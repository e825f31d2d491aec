#include "plan/query/text_casts.h"

#include "compat.h"
#include "memory.h"
#include "plan/query/expression.h"

#include "utils/datetime.h"

namespace pg_gpu::plan::query {

// ---- what texts look like ---------------------------------------------------------------------------------

namespace {

// The rest of a text.
struct Rest {
    const char *at;
    const char *end;
};

}  // namespace

static bool is_digit(char character) {
    return character >= '0' && character <= '9';
}

static bool is_space(char character) {
    return character == ' ' || (character >= '\t' && character <= '\r');
}

static Rest without_spaces(Rest text) {
    while (text.at < text.end && is_space(*text.at))
        text.at++;
    while (text.at < text.end && is_space(text.end[-1]))
        text.end--;
    return text;
}

static bool take(Rest *text, char character) {
    const bool is_there = text->at < text->end && *text->at == character;
    if (is_there)
        text->at++;
    return is_there;
}

static void take_sign(Rest *text) {
    if (!take(text, '-'))
        take(text, '+');
}

// How many digits come; *number is theirs while it has room.
static int take_digits(Rest *text, int64 *number) {
    constexpr int most = 18;
    int count = 0;
    *number = 0;
    for (; text->at < text->end && is_digit(*text->at); text->at++)
        if (++count <= most)
            *number = *number * 10 + (*text->at - '0');
    return count;
}

// A number of so many digits between two limits.
static bool take_number(Rest *text, int digits, int64 least, int64 most) {
    int64 number;
    return take_digits(text, &number) == digits && number >= least && number <= most;
}

static bool is_word(const Rest &text, std::initializer_list<const char *> words) {
    const auto length = static_cast<size_t>(text.end - text.at);
    return std::any_of(words.begin(), words.end(), [&](const char *word) {
        return strlen(word) == length && pg_strncasecmp(word, text.at, length) == 0;
    });
}

static bool is_integer(Rest text, int64 most) {
    constexpr int max_digits = 18;
    take_sign(&text);
    int64 number;
    const int digits = take_digits(&text, &number);
    return digits > 0 && digits <= max_digits && text.at == text.end && number <= most;
}

// Any numeric and any float has room for so few digits, and an exponent below this limit. `max_whole` digits
// may come before the point.
static bool is_number(Rest text, int64 max_exponent, int max_whole) {
    constexpr int max_digits = 30;
    if (is_word(text, {"NaN"}))
        return true;
    take_sign(&text);
    int64 ignored;
    int digits = take_digits(&text, &ignored);
    if (digits > max_whole)
        return false;
    if (take(&text, '.'))
        digits += take_digits(&text, &ignored);
    if (digits == 0 || digits > max_digits)
        return false;
    if (take(&text, 'e') || take(&text, 'E')) {
        take_sign(&text);
        int64 exponent;
        const int exponent_digits = take_digits(&text, &exponent);
        if (exponent_digits == 0 || exponent_digits > 3 || exponent > max_exponent)
            return false;
    }
    return text.at == text.end;
}

// Years come first, which no setting of DateStyle reads in another way.
static bool take_date(Rest *text) {
    constexpr int february = 2;
    Rest year_text = *text;
    int64 year;
    int64 month;
    if (take_digits(&year_text, &year) != 4 || year == 0 || !take(&year_text, '-'))
        return false;
    Rest month_text = year_text;
    if (!take_number(&year_text, 2, 1, MONTHS_PER_YEAR) || !take(&year_text, '-'))
        return false;
    take_digits(&month_text, &month);
    const bool is_leap = isleap(static_cast<int>(year));
    const int last = month == february                                       ? (is_leap ? 29 : 28)
                     : month == 4 || month == 6 || month == 9 || month == 11 ? 30
                                                                             : 31;
    *text = year_text;
    return take_number(text, 2, 1, last);
}

static bool take_time(Rest *text) {
    if (!take_number(text, 2, 0, HOURS_PER_DAY - 1) || !take(text, ':') || !take_number(text, 2, 0, 59))
        return false;
    if (!take(text, ':'))
        return true;
    if (!take_number(text, 2, 0, 59))
        return false;
    int64 fraction;
    return !take(text, '.') || take_digits(text, &fraction) > 0;
}

static bool take_zone(Rest *text) {
    constexpr int max_hours = 14;
    if (take(text, 'Z') || text->at == text->end)
        return true;
    if (!take(text, '+') && !take(text, '-'))
        return false;
    return take_number(text, 2, 0, max_hours) && (!take(text, ':') || take_number(text, 2, 0, 59));
}

// A zone is allowed where it is ignored, and so is a time in what becomes a date.
static bool is_moment(Rest text) {
    if (!take_date(&text))
        return false;
    return text.at == text.end || ((take(&text, ' ') || take(&text, 'T')) && take_time(&text) &&
                                   take_zone(&text) && text.at == text.end);
}

// ---- casts ------------------------------------------------------------------------------------------------

static bool is_read_as(const Rest &text, const TextCast &cast) {
    constexpr int64 max_exponent = 100;
    switch (cast.type) {
        case BOOLOID:
            return is_word(text, {"t", "f", "true", "false", "y", "n", "yes", "no", "on", "off", "1", "0"});
        case INT2OID:
            return is_integer(text, PG_INT16_MAX);
        case INT4OID:
            return is_integer(text, PG_INT32_MAX);
        case INT8OID:
            return is_integer(text, PG_INT64_MAX);
        case NUMERICOID:
            return is_number(text, cast.max_whole == kAnyDigits ? max_exponent : 0, cast.max_whole);
        case FLOAT8OID:
            return is_number(text, max_exponent, kAnyDigits);
        case FLOAT4OID:
            return is_number(text, 0, kAnyDigits);
        case DATEOID:
        case TIMESTAMPOID:
        case TIMESTAMPTZOID:
            return is_moment(text);
        default:
            return false;
    }
}

static bool is_known(const CoerceViaIO &cast) {
    switch (cast.resulttype) {
        case BOOLOID:
        case INT2OID:
        case INT4OID:
        case INT8OID:
        case NUMERICOID:
        case FLOAT8OID:
        case FLOAT4OID:
        case DATEOID:
        case TIMESTAMPOID:
        case TIMESTAMPTZOID:
            break;
        default:
            return false;
    }
    const Oid type = getBaseType(exprType(reinterpret_cast<const Node *>(cast.arg)));
    return type == TEXTOID || type == VARCHAROID || type == BPCHAROID;
}

// Rounding to a scale may need one more digit.
static int whole_digits_of(const FuncExpr &cast_to_scale) {
    const auto *typmod = static_cast<const Const *>(lsecond(cast_to_scale.args));
    int precision;
    int scale;
    return IsA(typmod, Const) && read_numeric_typmod(DatumGetInt32(typmod->constvalue), &precision, &scale)
               ? precision - scale - 1
               : kAnyDigits;
}

// Appends what is cast, inner casts first; a cast to a scale takes the place of the one that it is of.
static bool list_casts(Node *node, void *context) {
    if (node == nullptr)
        return false;
    check_stack_depth();
    auto *list = static_cast<List **>(context);
    walk_expression(node, list_casts, context);
    if (IsA(node, CoerceViaIO) && is_known(*reinterpret_cast<CoerceViaIO *>(node)))
        *list = lappend(*list, node);
    if (IsA(node, FuncExpr) && reinterpret_cast<FuncExpr *>(node)->funcid == F_NUMERIC_NUMERIC_INT4 &&
        *list != NIL && llast(*list) == linitial(reinterpret_cast<FuncExpr *>(node)->args))
        llast(*list) = node;
    return false;
}

bool has_text_casts(Node *expression) {
    List *list = NIL;
    list_casts(expression, &list);
    return list != NIL;
}

TextCasts begin_text_casts(Expr *expression) {
    List *list = NIL;
    list_casts(reinterpret_cast<Node *>(expression), &list);
    TextCasts casts = {allocate<TextCast>(static_cast<size_t>(list_length(list)) + 1), 0};
    ListCell *cell;
    foreach (cell, list) {
        auto *node = static_cast<Node *>(lfirst(cell));
        const bool has_scale = IsA(node, FuncExpr);
        const auto *to_scale = reinterpret_cast<const FuncExpr *>(node);
        const auto *cast = reinterpret_cast<const CoerceViaIO *>(has_scale ? linitial(to_scale->args) : node);
        casts.casts[casts.count++] = {ExecInitExpr(cast->arg, nullptr), cast->resulttype,
                                      has_scale ? whole_digits_of(*to_scale) : kAnyDigits};
    }
    return casts;
}

bool are_readable(const TextCasts &casts, ExprContext *context) {
    MemoryContext caller = MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
    bool are_read = true;
    for (int i = 0; i < casts.count && are_read; i++) {
        bool is_null;
        const Datum datum = ExecEvalExpr(casts.casts[i].text, context, &is_null);
        if (is_null)
            continue;
        const text *value = DatumGetTextPP(datum);
        const char *first = VARDATA_ANY(value);
        are_read = is_read_as(without_spaces({first, first + VARSIZE_ANY_EXHDR(value)}), casts.casts[i]);
    }
    MemoryContextSwitchTo(caller);
    return are_read;
}

}  // namespace pg_gpu::plan::query
