#include "grid/condition.h"

#include <cfloat>
#include <cmath>

#include "grid/converted.h"
#include "keys/keys.h"

namespace pg_gpu::grid {

static void narrow(LaneRange *lane, uint64 low, uint64 high) {
    lane->low = Max(lane->low, low);
    lane->high = Min(lane->high, high);
    lane->sure_low = Max(lane->sure_low, low);
    lane->sure_high = Min(lane->sure_high, high);
}

static void make_unsure(LaneRange *lane) {
    lane->sure_low = PG_UINT64_MAX;
    lane->sure_high = 0;
}

static ColumnTest *add_test(Condition *condition, ColumnTest::Kind kind, int column) {
    ColumnTest *test = &condition->tests[condition->test_count++];
    *test = {};
    test->kind = kind;
    test->column = column;
    return test;
}

// ---- numbers, dates and the like --------------------------------------------------------------------------

static void add_wide_comparison(const Column &column, const ScanKeyData &key, Condition *condition) {
    const auto range = codes_for(
        key.sk_strategy, encode_tid<Key128>(column.key, key.sk_argument, column.key.type), column.key.width);
    condition->nothing = condition->nothing || range.empty;
    // The upper lane decides but for its two outermost codes.
    LaneRange *lane = &condition->lanes[column.first_lane];
    const auto low = static_cast<uint64>(range.low >> 64);
    const auto high = static_cast<uint64>(range.high >> 64);
    const bool whole_low = static_cast<uint64>(range.low) == 0;
    const bool whole_high = static_cast<uint64>(range.high) == PG_UINT64_MAX;
    lane->low = Max(lane->low, low);
    lane->high = Min(lane->high, high);
    if (whole_low || low < PG_UINT64_MAX)
        lane->sure_low = Max(lane->sure_low, whole_low ? low : low + 1);
    else
        make_unsure(lane);
    if (whole_high || high > 0)
        lane->sure_high = Min(lane->sure_high, whole_high ? high : high - 1);
    else
        make_unsure(lane);
    ColumnTest *test = add_test(condition, ColumnTest::Kind::Wide, key.sk_attno - 1);
    test->low = Key128::from(range.low);
    test->high = Key128::from(range.high);
}

static void add_instant_comparison(const Column &column, const ScanKeyData &key, Condition *condition) {
    auto *constant = allocate<int64>(1);
    *constant = DatumGetTimestampTz(key.sk_argument);
    LaneRange *lane = &condition->lanes[column.first_lane];
    narrow(
        lane, key.sk_strategy >= BTEqualStrategyNumber ? code_before_instant(column.key, *constant) : 0,
        key.sk_strategy <= BTEqualStrategyNumber ? code_after_instant(column.key, *constant) : PG_UINT64_MAX);
    make_unsure(lane);
    add_test(condition, ColumnTest::Kind::Instant, key.sk_attno - 1)->instant = {key.sk_strategy, constant,
                                                                                 1};
}

static void add_comparison(const Column &column, const ScanKeyData &key, Condition *condition) {
    const Oid type = OidIsValid(key.sk_subtype) ? key.sk_subtype : column.key.type;
    if (is_instant_of_time_zone(column.key, type))
        return add_instant_comparison(column, key, condition);
    if (column.lane_count == 2)
        return add_wide_comparison(column, key, condition);
    const bool is_rounded = column.key.encoding == Encoding::Rounded;
    condition->is_rough = condition->is_rough || is_rounded;
    const auto range = codes_for(is_rounded ? strategy_on_rounded(key.sk_strategy) : key.sk_strategy,
                                 encode_tid<uint64>(column.key, key.sk_argument, type), column.key.width);
    condition->nothing = condition->nothing || range.empty;
    narrow(&condition->lanes[column.first_lane], range.low, range.high);
}

// ---- points -----------------------------------------------------------------------------------------------

// Narrows a lane to the values from low to high, both included. No NaN is between bounds, and with a NaN for
// a bound nothing is.
static void narrow_to_interval(LaneRange *lane, double low, double high, Condition *condition) {
    if (std::isnan(low) || std::isnan(high)) {
        condition->nothing = true;
        return;
    }
    narrow(lane, encode_float(low), encode_float(high));
}

// The interval of coordinates that can be within `distance` of a center, as far as rounding goes.
static void narrow_around(LaneRange *lane, double center, double distance) {
    make_unsure(lane);
    const double margin = 8 * DBL_EPSILON * (std::fabs(center) + std::fabs(distance));
    const double low = center - distance - margin;
    const double high = center + distance + margin;
    if (!std::isfinite(low) || !std::isfinite(high))
        return;  // PostgreSQL's functions know what that means
    lane->low = Max(lane->low, encode_float(std::nextafter(low, -HUGE_VAL)));
    lane->high = Min(lane->high, encode_float(std::nextafter(high, HUGE_VAL)));
}

static void add_point_comparison(const Column &column, const ScanKeyData &key, Condition *condition) {
    LaneRange *x = &condition->lanes[column.first_lane];
    LaneRange *y = x + 1;
    const int number = key.sk_attno - 1;
    switch (key.sk_strategy) {
        case kContainedInBox: {
            const BOX *box = DatumGetBoxP(key.sk_argument);
            narrow_to_interval(x, box->low.x, box->high.x, condition);
            narrow_to_interval(y, box->low.y, box->high.y, condition);
            break;
        }
        case kContainedInCircle: {
            const CIRCLE *circle = DatumGetCircleP(key.sk_argument);
            narrow_around(x, circle->center.x, circle->radius);
            narrow_around(y, circle->center.y, circle->radius);
            add_test(condition, ColumnTest::Kind::Circle, number)->constant = key.sk_argument;
            break;
        }
        case kSamePoint: {
            const Point *point = DatumGetPointP(key.sk_argument);
            narrow_around(x, point->x, 2 * EPSILON);
            narrow_around(y, point->y, 2 * EPSILON);
            add_test(condition, ColumnTest::Kind::SamePoint, number)->constant = key.sk_argument;
            break;
        }
        case BTGreaterEqualStrategyNumber: {
            const Point *corner = DatumGetPointP(key.sk_argument);
            narrow(x, encode_float(corner->x), PG_UINT64_MAX);
            narrow(y, encode_float(corner->y), PG_UINT64_MAX);
            break;
        }
        case BTLessEqualStrategyNumber: {
            const Point *corner = DatumGetPointP(key.sk_argument);
            narrow(x, 0, encode_float(corner->x));
            narrow(y, 0, encode_float(corner->y));
            break;
        }
        default:
            raise_unknown_strategy(key.sk_strategy);
    }
}

// ---- what is converted to points --------------------------------------------------------------------------

namespace {

// On which sides a strategy bounds a point, and by which bound of the box that it is compared with.
struct Sides {
    enum Bound : uint8 { Open, Low, High };
    Bound x_low;
    Bound x_high;
    Bound y_low;
    Bound y_high;
};

}  // namespace

static Sides sides_of(StrategyNumber strategy) {
    constexpr Sides::Bound open = Sides::Open;
    switch (strategy - kConvertedStrategies) {
        case RTLeftStrategyNumber:
            return {open, Sides::Low, open, open};
        case RTOverLeftStrategyNumber:
            return {open, Sides::High, open, open};
        case RTOverRightStrategyNumber:
            return {Sides::Low, open, open, open};
        case RTRightStrategyNumber:
            return {Sides::High, open, open, open};
        case RTBelowStrategyNumber:
            return {open, open, open, Sides::Low};
        case RTOverBelowStrategyNumber:
            return {open, open, open, Sides::High};
        case RTOverAboveStrategyNumber:
            return {open, open, Sides::Low, open};
        case RTAboveStrategyNumber:
            return {open, open, Sides::High, open};
        case RTOverlapStrategyNumber:
        case RTSameStrategyNumber:
        case RTContainsStrategyNumber:
        case RTContainedByStrategyNumber:
            return {Sides::Low, Sides::High, Sides::Low, Sides::High};
        default:
            raise_unknown_strategy(strategy);
    }
}

static void narrow_to_sides(LaneRange *lane, Sides::Bound low, Sides::Bound high, double box_low,
                            double box_high) {
    const double from = low == Sides::Open ? -HUGE_VAL : widened_down(low == Sides::Low ? box_low : box_high);
    const double to = high == Sides::Open ? HUGE_VAL : widened_up(high == Sides::Low ? box_low : box_high);
    narrow(lane, encode_float(from), encode_float(to));
}

// The box is one that no row lies outside of that PostgreSQL would find.
static void add_converted_comparison(const Column &column, const ScanKeyData &key, Condition *condition) {
    condition->is_rough = true;
    if (key.sk_flags & SK_SEARCHNULL) {
        condition->nulls |= null_bit(key);
        return;
    }
    // A point that lies nowhere is NULL in the index, and not NULL in the table.
    if (key.sk_flags & SK_SEARCHNOTNULL)
        return;
    if (key.sk_flags & SK_ISNULL) {
        condition->nothing = true;
        return;
    }
    BOX box;
    if (make_box(column, key.sk_argument, &box)) {
        // PostGIS compares NaN differently from one operator to another, and a NaN may stand for the whole
        // box, so that such a box narrows nothing.
        if (std::isnan(box.low.x) || std::isnan(box.low.y) || std::isnan(box.high.x) ||
            std::isnan(box.high.y))
            return;
        const Sides sides = sides_of(key.sk_strategy);
        LaneRange *x = &condition->lanes[column.first_lane];
        narrow_to_sides(x, sides.x_low, sides.x_high, box.low.x, box.high.x);
        narrow_to_sides(x + 1, sides.y_low, sides.y_high, box.low.y, box.high.y);
        condition->bounded |= null_bit(key);
        condition->not_nulls |= null_bit(key);
    } else if (key.sk_strategy == kConvertedStrategies + RTSameStrategyNumber) {
        // Values that lie nowhere are the same.
        condition->nulls |= null_bit(key);
    } else {
        condition->nothing = true;
    }
}

// ---- all scan keys together -------------------------------------------------------------------------------

void make_condition(const Format &format, const ScanKeyData *keys, int key_count, Condition *condition) {
    *condition = {};
    for (int i = 0; i < format.lane_count; i++)
        condition->lanes[i] = {0, PG_UINT64_MAX, 0, PG_UINT64_MAX};
    condition->tests = allocate<ColumnTest>(static_cast<size_t>(key_count) + 1);

    for (int i = 0; i < key_count; i++) {
        const ScanKeyData &key = keys[i];
        const Column &column = format.columns[key.sk_attno - 1];
        if (column.conversion != nullptr) {
            add_converted_comparison(column, key, condition);
            continue;
        }
        if (!take_null_test(key, condition))
            continue;
        condition->bounded |= null_bit(key);
        if (column.is_point)
            add_point_comparison(column, key, condition);
        else
            add_comparison(column, key, condition);
    }
    condition->nothing = condition->nothing || (condition->nulls & condition->not_nulls) != 0;
    for (int i = 0; i < format.lane_count; i++)
        condition->nothing = condition->nothing || condition->lanes[i].low > condition->lanes[i].high;
}

static bool passes_test(const Format &format, const ColumnTest &test, const uint64 *row) {
    const Column &column = format.columns[test.column];
    switch (test.kind) {
        case ColumnTest::Kind::Wide: {
            const Uint128 code = wide_row_code(column, row);
            return code >= test.low.bits() && code <= test.high.bits();
        }
        case ColumnTest::Kind::Instant:
            return passes_instant_test(column.key, row_code(column, row), test.instant);
        default: {
            const Point point = point_of(column, row);
            return DatumGetBool(
                DirectFunctionCall2(test.kind == ColumnTest::Kind::Circle ? pt_contained_circle : point_eq,
                                    PointPGetDatum(&point), test.constant));
        }
    }
}

bool passes_tests(const Format &format, const Condition &condition, NullMask columns, const uint64 *row) {
    for (int i = 0; i < condition.test_count; i++)
        if ((columns >> condition.tests[i].column) & 1 && !passes_test(format, condition.tests[i], row))
            return false;
    return true;
}

bool matches(const Format &format, const Condition &condition, const uint64 *row) {
    if (condition.nothing || !wants_nulls(condition, place_nulls(row[0])))
        return false;
    for (int i = 0; i < format.lane_count; i++) {
        const NullMask bit = static_cast<NullMask>(1U << format.lanes[i].column);
        if ((condition.bounded & bit) != 0 &&
            (row[1 + i] < condition.lanes[i].low || row[1 + i] > condition.lanes[i].high))
            return false;
    }
    return passes_tests(format, condition, condition.bounded, row);
}

}  // namespace pg_gpu::grid
