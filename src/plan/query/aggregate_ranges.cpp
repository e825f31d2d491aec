#include "plan/query/aggregate_ranges.h"

#include <cmath>

#include "column/format/scaled_numeric.h"
#include "compat.h"
#include "memory.h"
#include "plan/query/aggregate_compile.h"
#include "plan/query/aggregate_limits.h"

namespace pg_gpu::plan {

using column::ColumnType;

// ---- values -----------------------------------------------------------------------------------------------

namespace {

// Neighbours in the order of codes, on all of which the expression is ranged.
struct Segment {
    uint64 first;
    uint64 last;
};

struct Segments {
    Segment *items;
    int count;
    int room;
};

// A part's values.
struct Values {
    bool any;
    uint64 least;
    uint64 greatest;
};

}  // namespace

static void add_segment(Segments *segments, uint64 first, uint64 last) {
    if (segments->count == segments->room) {
        segments->room = segments->room == 0 ? 64 : 2 * segments->room;
        segments->items = segments->items == nullptr ? allocate<Segment>(segments->room)
                                                     : reallocate(segments->items, segments->room);
    }
    segments->items[segments->count++] = {first, last};
}

static Values all_values(const RangeRequest &request) {
    Values values = {};
    values.any = column::find_code_bounds(*request.part, request.column, &values.least, &values.greatest);
    return values;
}

// The first and the last code that the condition lets pass.
static Values passing_values(const RangeRequest &request) {
    Values values = {true, 0, PG_UINT64_MAX};
    for (int i = 0; request.condition != nullptr && i < request.condition->count; i++) {
        const column::Key &key = request.condition->keys[i];
        if (key.kind != column::KeyKind::Ranges || key.column != request.column)
            continue;
        values.any = values.any && key.ranges.count > 0;
        if (!values.any)
            break;
        values.least = Max(values.least, key.ranges.item[0].low);
        values.greatest = Min(values.greatest, key.ranges.item[key.ranges.count - 1].high);
    }
    values.any = values.any && values.least <= values.greatest;
    return values;
}

bool is_limited(const RangeRequest &request, uint64 *least, uint64 *greatest) {
    constexpr uint64 few = 4;  // of so many
    const Values values = all_values(request);
    const Values passing = passing_values(request);
    if (!values.any || (passing.any && passing.least <= values.least && passing.greatest >= values.greatest))
        return false;
    // Where none passes, any one will do.
    *least = passing.any ? Max(passing.least, values.least) : values.least;
    *greatest = passing.any ? Min(passing.greatest, values.greatest) : values.least;
    if (*least > *greatest)
        *least = *greatest = values.least;
    return *greatest - *least < (values.greatest - values.least) / few;
}

static Values values_of(const RangeRequest &request) {
    Values values = all_values(request);
    uint64 least;
    uint64 greatest;
    if (is_limited(request, &least, &greatest)) {
        values.least = least;
        values.greatest = greatest;
    }
    return values;
}

static bool is_time(const ColumnType &type) {
    return type.base_type == TIMESTAMPOID || type.base_type == TIMESTAMPTZOID;
}

// The codes of the infinities; false: the type has none.
static bool find_infinities(const ColumnType &type, uint64 *lowest, uint64 *highest) {
    if (is_time(type)) {
        *lowest = code_of_number(type, DT_NOBEGIN);
        *highest = code_of_number(type, DT_NOEND);
        return true;
    }
    if (!is_float(type))
        return false;
    *lowest = column::lowest_code(type);
    *highest = type.width == sizeof(float) ? column::encode_float4(std::numeric_limits<float>::infinity())
                                           : column::encode_float8(std::numeric_limits<double>::infinity());
    return true;
}

// Finite values among those of the part. Where the bounds are infinite, or not known because the codes have
// all bits, it takes a look at all rows, unless any value will do.
static Values finite_values(const RangeRequest &request, const Values &values) {
    const ColumnType &type = *request.type;
    uint64 lowest;
    uint64 highest;
    const Values all = all_values(request);
    if (!values.any || !find_infinities(type, &lowest, &highest) ||
        (all.least > lowest && all.greatest < highest))
        return values;
    Values finite = {true, Max(lowest + 1, values.least), Min(highest - 1, values.greatest)};
    if (is_time(type) || !has_buckets(request.ranged))
        finite.any = column::find_code_bounds_within(*request.part, type, request.column, finite.least,
                                                     finite.greatest, &finite.least, &finite.greatest);
    return finite;
}

static bool has_nan(const ColumnType &type, const Values &values) {
    return is_float(type) && values.any && values.greatest == column::low_bits(type.width * 8U);
}

// A value as limits have it.
static double limit_of(const ColumnType &type, uint64 code) {
    switch (type.code) {
        case column::IntegerCode::Float4:
            return column::decode_float4(code);
        case column::IntegerCode::Float8:
            return column::decode_float8(code);
        default:
            break;
    }
    constexpr double seconds_from_1970 = (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY;
    const auto number = static_cast<double>(number_of_code(type, code));
    return is_time(type) ? number / USECS_PER_SEC + seconds_from_1970 : number;
}

// Of floats, infinities are among the values.
static ValueLimits limits_of(const ColumnType &type, const Values &values, const Values &finite) {
    uint64 lowest;
    uint64 highest;
    const bool has_others = values.any && find_infinities(type, &lowest, &highest) &&
                            (values.least <= lowest || values.greatest >= highest);
    const Values &known = is_time(type) ? finite : values;
    if (!known.any)
        return {0, 0, has_others};
    return {limit_of(type, known.least),
            has_nan(type, known) ? std::numeric_limits<double>::infinity() : limit_of(type, known.greatest),
            has_others};
}

static const char kMayFail[] = "an expression may fail for some of a column's values";

// Floats that are no nearer to 0 than the numerics.
static ValueLimits widened(double least, double greatest) {
    return {std::nextafter(least, -std::numeric_limits<double>::infinity()),
            std::nextafter(greatest, std::numeric_limits<double>::infinity()), false};
}

// Of a dictionary, or of rows that no run of columns has yet. False: one is not a finite number, or as a
// float it wouldn't be, or only as good as 0.
static bool find_limits_of_entries(const RangeRequest &request, ValueLimits *limits) {
    constexpr double least_number = 1e-300;
    bool any = false;
    bool are_fine = true;
    *limits = {0, 0, false};
    column::visit_entries(*request.part, *request.type, request.column, nullptr, [&](uint64, Datum value) {
        const Numeric numeric = DatumGetNumeric(value);
        if (!are_fine || numeric_is_nan(numeric) || numeric_is_inf(numeric)) {
            are_fine = false;
            return;
        }
        const double number = DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, value));
        are_fine = std::isfinite(number) && (number == 0 || std::abs(number) >= least_number) &&
                   (number != 0 || DatumGetBool(DirectFunctionCall2(numeric_eq, value,
                                                                    NumericGetDatum(int64_to_numeric(0)))));
        limits->least = any ? Min(limits->least, number) : number;
        limits->greatest = any ? Max(limits->greatest, number) : number;
        any = true;
    });
    return are_fine;
}

static const char *check_numerics(const RangeRequest &request) {
    ValueLimits limits = {0, 0, false};
    if (column::count_places(*request.part, request.column) > 0) {
        if (!find_limits_of_entries(request, &limits))
            return kMayFail;
    } else if (const Values values = all_values(request); values.any) {
        const uint8 scale = request.part->reader->header.column[request.column].scale;
        limits.least = column::float8_of_scaled(values.least, scale);
        limits.greatest = column::float8_of_scaled(values.greatest, scale);
    }
    return stays_within_limits(request.expression, widened(limits.least, limits.greatest)) ? nullptr
                                                                                           : kMayFail;
}

const char *check_values(const RangeRequest &request) {
    const ColumnType &type = *request.type;
    if (!type.is_integer)
        return check_numerics(request);
    const Values values = values_of(request);
    if (has_nan(type, values) && has_buckets(request.ranged))
        return "a column has NaN, of which an expression may raise an error";
    const Values finite = is_time(type) ? finite_values(request, values) : values;
    if (is_time(type) && finite.any &&
        (number_of_code(type, finite.least) < kFirstRangedTimestamp ||
         number_of_code(type, finite.greatest) > kLastRangedTimestamp))
        return "a column has very early or very late times";
    return stays_within_limits(request.expression, limits_of(type, values, finite)) ? nullptr : kMayFail;
}

// Which moments a column's values tell: a function of numbers, or the values themselves, which are times.
namespace {

struct Moments {
    const RangeRequest *request;
    ExprState *state;  // nullptr: there is no function
};

}  // namespace

static Timestamp moment_of(const Moments &moments, uint64 code) {
    const RangeRequest &request = *moments.request;
    if (moments.state == nullptr)
        return number_of_code(*request.type, code);
    bool is_null;
    request.row->tts_values[request.column] = column::decode_integer(*request.type, code);
    return DatumGetTimestampTz(ExecEvalExprSwitchContext(moments.state, request.context, &is_null));
}

// The first of these values that is at a moment or later. False: none is.
static bool find_first_at(const Moments &moments, const Values &values, Timestamp moment, uint64 *first) {
    *first = values.least;
    if (moments.state == nullptr) {
        *first = Max(code_of_number(*moments.request->type, moment), values.least);
        return *first <= values.greatest;
    }
    if (moment_of(moments, values.greatest) < moment)
        return false;
    for (uint64 last = values.greatest; *first < last;) {
        const uint64 middle = *first + (last - *first) / 2;
        if (moment_of(moments, middle) < moment)
            *first = middle + 1;
        else
            last = middle;
    }
    return true;
}

// Cuts a segment where local time jumps.
static const char *add_times(const RangeRequest &request, Segments *segments, const Values &finite) {
    constexpr int max_jumps = 10000;
    Expr *function = is_time(*request.type) ? nullptr : find_moment(request.ranged);
    const Moments moments = {&request, function == nullptr ? nullptr : ExecInitExpr(function, nullptr)};
    const pg_tz *zone;
    if (!find_zone(request.ranged, &zone))
        return "a time zone isn't known by its name";
    uint64 first = finite.least;
    if (zone != nullptr) {
        if (moment_of(moments, finite.greatest) < moment_of(moments, finite.least))
            return "times are divided by a negative number";
        // Of fractions of a second the conversion takes some off, and some on.
        pg_time_t moment = timestamptz_to_time_t(moment_of(moments, finite.least)) - 1;
        for (int jumps = 0;; jumps++) {
            pg_time_t jump;
            long offset[2];
            int is_dst[2];
            if (pg_next_dst_boundary(&moment, &offset[0], &is_dst[0], &jump, &offset[1], &is_dst[1], zone) <=
                0)
                break;
            uint64 start;
            if (!find_first_at(moments, finite, time_t_to_timestamptz(jump), &start))
                break;
            if (jumps == max_jumps)
                return "a column's times are too far apart";
            if (start > first)
                add_segment(segments, first, start - 1);
            first = Max(first, start);
            moment = jump;
        }
    }
    add_segment(segments, first, finite.greatest);
    return nullptr;
}

static const char *find_segments(const RangeRequest &request, Segments *segments) {
    const ColumnType &type = *request.type;
    const Values values = values_of(request);
    const Values finite = finite_values(request, values);
    uint64 lowest;
    uint64 highest;
    const bool has_infinities = find_infinities(type, &lowest, &highest);
    if (values.any && has_infinities && values.least <= lowest)
        add_segment(segments, lowest, lowest);
    const char *problem = nullptr;
    if (finite.any && (is_time(type) || find_moment(request.ranged) != nullptr))
        problem = add_times(request, segments, finite);
    else if (finite.any)
        add_segment(segments, finite.least, finite.greatest);
    if (values.any && has_infinities && values.greatest >= highest)
        add_segment(segments, highest, highest);
    if (has_nan(type, values))
        add_segment(segments, values.greatest, values.greatest);
    return problem;
}

// ---- results ----------------------------------------------------------------------------------------------

namespace {

struct Finder {
    const RangeRequest *request;
    column::ValueBuffer buffer;
    ExprState *state;
    int16 length;
    bool by_value;
    MemoryContext context;  // of `result`
    Datum result;           // of the range that is being looked at
    bool is_null;
    uint64 evaluations;
    uint64 *starts;
    uint64 count;
    uint64 room;
};

}  // namespace

static Datum evaluate_at(Finder *finder, uint64 code, bool *is_null) {
    constexpr uint64 evaluations_per_reset = 1024;
    const RangeRequest &request = *finder->request;
    if (finder->evaluations++ % evaluations_per_reset == 0) {
        ResetExprContext(request.context);
        CHECK_FOR_INTERRUPTS();
    }
    request.row->tts_values[request.column] =
        column::value_of_code(*request.part, *request.type, request.column, code, &finder->buffer);
    return ExecEvalExprSwitchContext(finder->state, request.context, is_null);
}

static void begin_range(Finder *finder, uint64 code) {
    if (finder->count == finder->room) {
        finder->room = finder->room == 0 ? 64 : 2 * finder->room;
        finder->starts = finder->starts == nullptr ? allocate<uint64>(finder->room)
                                                   : reallocate(finder->starts, finder->room);
    }
    finder->starts[finder->count++] = code;
    const Datum result = evaluate_at(finder, code, &finder->is_null);
    MemoryContextReset(finder->context);
    MemoryContext caller = MemoryContextSwitchTo(finder->context);
    finder->result = finder->is_null ? Datum{0} : datumCopy(result, finder->by_value, finder->length);
    MemoryContextSwitchTo(caller);
}

// Has the value the result of the range?
static bool is_in_range(Finder *finder, uint64 code) {
    bool is_null;
    const Datum result = evaluate_at(finder, code, &is_null);
    return is_null == finder->is_null &&
           (is_null || datum_image_eq(result, finder->result, finder->by_value, finder->length));
}

// The last code of the range that begins at `first`, in a segment that ends at `last`. Ranges are often as
// wide as the one before them, `width` codes.
static uint64 end_of_range(Finder *finder, uint64 first, uint64 last, uint64 width) {
    uint64 inside = first;
    uint64 outside;
    for (uint64 step = Max(width, UINT64CONST(2)) - 1;;) {
        if (last - inside <= step) {
            if (is_in_range(finder, last))
                return last;
            outside = last;
            break;
        }
        if (!is_in_range(finder, inside + step)) {
            outside = inside + step;
            break;
        }
        // First whether this is the end already.
        const bool is_guess = inside == first;
        inside += step;
        step = is_guess ? 1 : step > PG_INT64_MAX ? step : 2 * step;
    }
    while (outside - inside > 1) {
        const uint64 middle = inside + (outside - inside) / 2;
        if (is_in_range(finder, middle))
            inside = middle;
        else
            outside = middle;
    }
    return inside;
}

static const char *find_in_segment(Finder *finder, const Segment &segment) {
    constexpr uint64 max_evaluations = 1000000;
    constexpr uint64 first_ranges = 1000;
    const RangeRequest &request = *finder->request;
    uint64 width = 0;
    uint64 ranges = 0;
    for (uint64 first = segment.first;; ranges++) {
        // Of floats, nothing follows from the ranges so far.
        const double expected = static_cast<double>(segment.last - segment.first) /
                                static_cast<double>(first - segment.first + 1) * static_cast<double>(ranges);
        if (finder->count >= request.max_ranges || finder->evaluations > max_evaluations ||
            (ranges == first_ranges && !is_float(*request.type) &&
             expected > static_cast<double>(request.max_ranges)))
            return "an expression has too many distinct results";
        begin_range(finder, first);
        const uint64 end = end_of_range(finder, first, segment.last, width);
        if (end == segment.last)
            return nullptr;
        width = end - first + 1;
        first = end + 1;
    }
}

const char *find_ranges(const RangeRequest &request, uint64 **starts, uint64 *count) {
    Finder finder = {};
    finder.request = &request;
    finder.state = ExecInitExpr(request.ranged, nullptr);
    get_typlenbyval(exprType(reinterpret_cast<Node *>(request.ranged)), &finder.length, &finder.by_value);
    finder.context = AllocSetContextCreate(CurrentMemoryContext, "GpuAggregate range", ALLOCSET_SMALL_SIZES);
    request.context->ecxt_scantuple = request.row;
    request.row->tts_isnull[request.column] = false;
    Segments segments = {};
    const char *problem = find_segments(request, &segments);
    for (int i = 0; i < segments.count && problem == nullptr; i++)
        problem = find_in_segment(&finder, segments.items[i]);
    request.row->tts_values[request.column] = Datum{0};
    request.row->tts_isnull[request.column] = true;
    ResetExprContext(request.context);
    MemoryContextDelete(finder.context);
    *starts = finder.starts;
    *count = finder.count;
    return problem;
}

}  // namespace pg_gpu::plan
