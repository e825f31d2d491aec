#include "plan/query/series.h"

#include "compat.h"
#include "plan/query/failure.h"

namespace pg_gpu::plan::query {

// Dates of eight thousand years before 2000 and after: nothing that is added to them leaves the range of
// dates and timestamps.
static constexpr int64 kMaxDays = 8000 * 365;

static bool is_interval_in_range(const void *expression) {
    const auto *constant = static_cast<const Const *>(expression);
    if (!IsA(constant, Const) || constant->constisnull)
        return false;
    if (constant->consttype == INT4OID)
        return std::abs(static_cast<int64>(DatumGetInt32(constant->constvalue))) < kMaxDays;
    if (constant->consttype != INTERVALOID)
        return false;
    const Interval &interval = *DatumGetIntervalP(constant->constvalue);
    return std::abs(static_cast<int64>(interval.month)) * DAYS_PER_MONTH +
               std::abs(static_cast<int64>(interval.day)) + std::abs(interval.time / USECS_PER_DAY) <
           kMaxDays;
}

static bool is_constant_in_range(const Const &constant) {
    if (constant.constisnull)
        return false;
    switch (constant.consttype) {
        case DATEOID:
            return std::abs(static_cast<int64>(DatumGetDateADT(constant.constvalue))) < kMaxDays;
        case TIMESTAMPOID:
        case TIMESTAMPTZOID:
            return std::abs(DatumGetTimestamp(constant.constvalue) / USECS_PER_DAY) < kMaxDays;
        default:
            return false;
    }
}

// Casts between dates and timestamps.
static bool is_cast(Oid function) {
    switch (function) {
        case F_TIMESTAMP_DATE:
        case F_TIMESTAMPTZ_DATE:
        case F_TIMESTAMPTZ_TIMESTAMP:
        case F_TIMESTAMP_TIMESTAMPTZ:
        case F_DATE_TIMESTAMP:
        case F_DATE_TIMESTAMPTZ:
            return true;
        default:
            return false;
    }
}

// Is it a moment that is known to be in range: a constant, the present one, or a few years from it?
static bool is_moment_in_range(const void *expression) {
    check_stack_depth();
    const auto *node = static_cast<const Node *>(expression);
    switch (nodeTag(node)) {
        case T_Const:
            return is_constant_in_range(*reinterpret_cast<const Const *>(node));
        case T_SQLValueFunction:
            return true;
        case T_FuncExpr: {
            const auto *call = reinterpret_cast<const FuncExpr *>(node);
            return call->funcid == F_NOW ||
                   (is_cast(call->funcid) && is_moment_in_range(linitial(call->args)));
        }
        case T_OpExpr: {
            const auto *sum = reinterpret_cast<const OpExpr *>(node);
            return sum->opno < FirstUnpinnedObjectId && list_length(sum->args) == 2 &&
                   is_moment_in_range(linitial(sum->args)) && is_interval_in_range(lsecond(sum->args));
        }
        default:
            return false;
    }
}

static bool is_zero(const Const &step) {
    switch (step.consttype) {
        case INT4OID:
            return DatumGetInt32(step.constvalue) == 0;
        case INT8OID:
            return DatumGetInt64(step.constvalue) == 0;
        default: {
            const Interval &interval = *DatumGetIntervalP(step.constvalue);
            return interval.month == 0 && interval.day == 0 && interval.time == 0;
        }
    }
}

static bool is_step(const void *expression) {
    const auto *step = static_cast<const Const *>(expression);
    return IsA(step, Const) && !step->constisnull && !is_zero(*step);
}

bool may_series_fail(const FuncExpr *call) {
    switch (call->funcid) {
        case F_GENERATE_SERIES_INT4_INT4:
        case F_GENERATE_SERIES_INT8_INT8:
            return may_fail(call->args);
        case F_GENERATE_SERIES_INT4_INT4_INT4:
        case F_GENERATE_SERIES_INT8_INT8_INT8:
            return may_fail(call->args) || !is_step(lthird(call->args));
        case F_GENERATE_SERIES_TIMESTAMP_TIMESTAMP_INTERVAL:
        case F_GENERATE_SERIES_TIMESTAMPTZ_TIMESTAMPTZ_INTERVAL:
            return !is_moment_in_range(linitial(call->args)) || !is_moment_in_range(lsecond(call->args)) ||
                   !is_step(lthird(call->args)) || !is_interval_in_range(lthird(call->args));
        default:
            return true;
    }
}

}  // namespace pg_gpu::plan::query
