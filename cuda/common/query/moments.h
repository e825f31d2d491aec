// Dates and timestamps, as PostgreSQL's timestamp.c and date.c compute with them: in the Gregorian calendar
// for all times, year 0 being 1 BC.
#pragma once

#include "common/query/numbers.h"

namespace gpu_engine::query {

// ---- the calendar -----------------------------------------------------------------------------------------

struct Day {
    std::int64_t year;
    std::int32_t month;  // from 1
    std::int32_t day;
};

GPU_ENGINE_BOTH std::int64_t floor_divide(std::int64_t value, std::int64_t divisor) {
    return value / divisor - (value % divisor < 0 ? 1 : 0);
}

constexpr std::int64_t micros_a_second = 1000000;
constexpr std::int64_t micros_a_day = 86400 * micros_a_second;
constexpr std::int64_t days_a_cycle = 146097;      // of 400 years
constexpr std::int64_t days_before_2000 = 730425;  // from 1 March of year 0
constexpr std::int64_t julian_of_2000 = 2451545;
constexpr std::int64_t days_from_1970 = 10957;  // to 2000
constexpr std::int64_t end_of_dates = 2147483494 - julian_of_2000;
constexpr std::int64_t first_timestamp = -211813488000000000;
constexpr std::int64_t end_of_timestamps = 9223371331200000000;

// Years begin in March here, so that a leap day is a year's last one.
GPU_ENGINE_BOTH Day day_of(std::int64_t days) {
    days += days_before_2000;
    const std::int64_t cycle = floor_divide(days, days_a_cycle);
    const auto in_cycle = static_cast<std::uint32_t>(days - cycle * days_a_cycle);
    const std::uint32_t years = (in_cycle - in_cycle / 1460 + in_cycle / 36524 - in_cycle / 146096) / 365;
    const std::uint32_t in_year = in_cycle - (365 * years + years / 4 - years / 100);
    const std::uint32_t month = (5 * in_year + 2) / 153;
    return {cycle * 400 + years + (month >= 10 ? 1 : 0),
            static_cast<std::int32_t>(month < 10 ? month + 3 : month - 9),
            static_cast<std::int32_t>(in_year - (153 * month + 2) / 5 + 1)};
}
GPU_ENGINE_BOTH std::int64_t days_of(const Day &day) {
    const std::int64_t year = day.year - (day.month <= 2 ? 1 : 0);
    const std::int64_t cycle = floor_divide(year, 400);
    const std::int64_t in_cycle = year - cycle * 400;
    const std::int64_t month = day.month > 2 ? day.month - 3 : day.month + 9;
    return cycle * days_a_cycle + in_cycle * 365 + in_cycle / 4 - in_cycle / 100 + (153 * month + 2) / 5 +
           day.day - 1 - days_before_2000;
}
GPU_ENGINE_BOTH std::int32_t days_of_month(std::int64_t year, std::int32_t month) {
    if (month == 2) {
        return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28;
    }
    return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}
// 0 is Monday.
GPU_ENGINE_BOTH std::int64_t weekday_of(std::int64_t days) {
    const std::int64_t since_monday = days + 5;
    return since_monday - floor_divide(since_monday, 7) * 7;
}
GPU_ENGINE_BOTH std::int64_t year_begins(std::int64_t year) {
    return days_of({year, 1, 1});
}

GPU_ENGINE_BOTH bool is_finite_date(std::int64_t days) {
    return days > INT32_MIN && days < INT32_MAX;
}
GPU_ENGINE_BOTH bool is_finite_timestamp(std::int64_t micros) {
    return micros > INT64_MIN && micros < INT64_MAX;
}
GPU_ENGINE_BOTH bool is_date(std::int64_t days) {
    return days >= -julian_of_2000 && days < end_of_dates;
}
GPU_ENGINE_BOTH bool is_timestamp(std::int64_t micros) {
    return micros >= first_timestamp && micros < end_of_timestamps;
}

// The first year of those that a decade, a century or a millennium of a year has.
GPU_ENGINE_BOTH std::int64_t first_year(TimeUnit unit, std::int64_t year) {
    switch (unit) {
        case TimeUnit::decade:
            return floor_divide(year, 10) * 10;
        case TimeUnit::century:
            return floor_divide(year - 1, 100) * 100 + 1;
        case TimeUnit::millennium:
            return floor_divide(year - 1, 1000) * 1000 + 1;
        default:
            return year;
    }
}
GPU_ENGINE_BOTH std::int64_t truncate_to_days(TimeUnit unit, std::int64_t days) {
    if (unit == TimeUnit::day) {
        return days;
    }
    if (unit == TimeUnit::week) {
        return days - weekday_of(days);
    }
    const Day day = day_of(days);
    if (unit == TimeUnit::month) {
        return days - day.day + 1;
    }
    if (unit == TimeUnit::quarter) {
        return days_of({day.year, (day.month - 1) / 3 * 3 + 1, 1});
    }
    return year_begins(first_year(unit, day.year));
}

// ---- casts and truncations --------------------------------------------------------------------------------

struct DateOfTimestamp : OfOne<std::int64_t> {
    GPU_ENGINE_BOTH static bool call(const StepContext &, std::int64_t micros, std::int64_t *result) {
        *result = micros == INT64_MIN   ? INT32_MIN
                  : micros == INT64_MAX ? INT32_MAX
                                        : floor_divide(micros, micros_a_day);
        return true;
    }
};
struct TimestampOfDate : OfOne<std::int64_t> {
    GPU_ENGINE_BOTH static bool call(const StepContext &, std::int64_t days, std::int64_t *result) {
        if (!is_finite_date(days)) {
            *result = days < 0 ? INT64_MIN : INT64_MAX;
            return true;
        }
        *result = static_cast<std::int64_t>(static_cast<std::uint64_t>(days) * micros_a_day);
        return days >= -julian_of_2000 && days < end_of_timestamps / micros_a_day;
    }
};
struct TruncateDays : OfOne<std::int64_t> {
    GPU_ENGINE_BOTH static bool call(const StepContext &context, std::int64_t days, std::int64_t *result) {
        *result = days;
        if (!is_finite_date(days)) {
            return true;
        }
        *result = truncate_to_days(static_cast<TimeUnit>(context.detail), days);
        return is_date(*result);
    }
};
GPU_ENGINE_BOTH std::int64_t micros_of_unit(TimeUnit unit) {
    switch (unit) {
        case TimeUnit::millisecond:
            return 1000;
        case TimeUnit::second:
            return micros_a_second;
        case TimeUnit::minute:
            return 60 * micros_a_second;
        case TimeUnit::hour:
            return 3600 * micros_a_second;
        default:
            return 1;
    }
}
struct TruncateTimestamp : OfOne<std::int64_t> {
    GPU_ENGINE_BOTH static bool call(const StepContext &context, std::int64_t micros, std::int64_t *result) {
        *result = micros;
        if (!is_finite_timestamp(micros)) {
            return true;
        }
        const auto unit = static_cast<TimeUnit>(context.detail);
        if (unit < TimeUnit::day) {
            const std::int64_t part = micros_of_unit(unit);
            const std::int64_t rest = micros % part;
            *result = micros - (rest < 0 ? rest + part : rest);
        } else {
            *result = truncate_to_days(unit, floor_divide(micros, micros_a_day)) * micros_a_day;
        }
        return is_timestamp(*result);
    }
};

// ---- fields -----------------------------------------------------------------------------------------------

// Of a day. Years before 1 have numbers below 0.
GPU_ENGINE_BOTH std::int64_t field_of_day(DateField field, std::int64_t days) {
    switch (field) {
        case DateField::day_of_week:
            return (weekday_of(days) + 1) % 7;
        case DateField::iso_day_of_week:
            return weekday_of(days) + 1;
        case DateField::julian_day:
            return days + julian_of_2000;
        case DateField::week:
        case DateField::isoyear: {
            // A week belongs to the year in which its Thursday is.
            const std::int64_t thursday = days - weekday_of(days) + 3;
            const std::int64_t year = day_of(thursday).year;
            return field == DateField::week ? (thursday - year_begins(year)) / 7 + 1
                                            : year - (year <= 0 ? 1 : 0);
        }
        default:
            break;
    }
    const Day day = day_of(days);
    switch (field) {
        case DateField::day:
            return day.day;
        case DateField::month:
            return day.month;
        case DateField::quarter:
            return (day.month - 1) / 3 + 1;
        case DateField::day_of_year:
            return days - year_begins(day.year) + 1;
        case DateField::decade:
            return floor_divide(day.year, 10);
        case DateField::century:
            return day.year > 0 ? (day.year + 99) / 100 : -((99 - (day.year - 1)) / 100);
        case DateField::millennium:
            return day.year > 0 ? (day.year + 999) / 1000 : -((999 - (day.year - 1)) / 1000);
        default:
            return day.year - (day.year <= 0 ? 1 : 0);
    }
}
struct FieldOfDate : OfOne<std::int64_t> {
    GPU_ENGINE_BOTH static bool call(const StepContext &context, std::int64_t days, std::int64_t *result) {
        *result = 0;
        if (!is_finite_date(days)) {
            return false;
        }
        const auto field = static_cast<DateField>(context.detail);
        if (field == DateField::epoch_micros) {
            return multiply_integers(days + days_from_1970, micros_a_day, result);
        }
        *result = field < DateField::day ? 0 : field_of_day(field, days);
        return true;
    }
};
struct FieldOfTimestamp : OfOne<std::int64_t> {
    GPU_ENGINE_BOTH static bool call(const StepContext &context, std::int64_t micros, std::int64_t *result) {
        *result = 0;
        if (!is_finite_timestamp(micros)) {
            return false;
        }
        const auto field = static_cast<DateField>(context.detail);
        if (field == DateField::epoch_micros) {
            return add_integers(micros, days_from_1970 * micros_a_day, result);
        }
        const std::int64_t days = floor_divide(micros, micros_a_day);
        const std::int64_t in_day = micros - days * micros_a_day;
        switch (field) {
            case DateField::microseconds:
            case DateField::second_micros:
            case DateField::milliseconds:
                *result = in_day % (60 * micros_a_second);
                break;
            case DateField::minute:
                *result = in_day / (60 * micros_a_second) % 60;
                break;
            case DateField::hour:
                *result = in_day / (3600 * micros_a_second);
                break;
            default:
                *result = field_of_day(field, days);
        }
        return true;
    }
};

// ---- zones ------------------------------------------------------------------------------------------------

// The last transition at or before a moment.
GPU_ENGINE_BOTH std::uint64_t find_transition(const Zone &zone, std::int64_t micros) {
    std::uint64_t first = 0;
    for (std::uint64_t count = zone.count; count > 1;) {
        const std::uint64_t half = count / 2;
        first += zone.transitions[first + half].from <= micros ? half : 0;
        count -= half;
    }
    return first;
}
// Is it what PostgreSQL calls a timestamp, and does the sum have room?
GPU_ENGINE_BOTH bool shift_timestamp(std::int64_t micros, std::int64_t offset, std::int64_t *result) {
    return add_integers(micros, offset, result) && is_timestamp(*result);
}
struct ShiftZone : OfOne<std::int64_t> {
    GPU_ENGINE_BOTH static bool call(const StepContext &context, std::int64_t micros, std::int64_t *result) {
        *result = 0;
        return is_finite_timestamp(micros) &&
               shift_timestamp(micros, context.zone.transitions[find_transition(context.zone, micros)].offset,
                               result);
    }
};
// PostgreSQL looks at the next transition that follows the local time a day before, taken for UTC. A time
// that was there twice is the later one, and one that was left out is what the clock showed before.
struct UnshiftZone : OfOne<std::int64_t> {
    GPU_ENGINE_BOTH static bool call(const StepContext &context, std::int64_t micros, std::int64_t *result) {
        *result = 0;
        if (!is_timestamp(micros)) {
            return false;
        }
        const Zone &zone = context.zone;
        const std::int64_t local = floor_divide(micros, micros_a_second) * micros_a_second;
        const std::uint64_t place = find_transition(zone, local - micros_a_day);
        const std::int64_t before = zone.transitions[place].offset;
        std::int64_t offset = before;
        if (place + 1 < zone.count) {
            const std::int64_t boundary = zone.transitions[place + 1].from;
            const std::int64_t after = zone.transitions[place + 1].offset;
            // A transition with such an offset is no zone's.
            if (before < -micros_a_day || before > micros_a_day || after < -micros_a_day ||
                after > micros_a_day) {
                return false;
            }
            const bool is_before = local - before < boundary && local - after < boundary;
            const bool is_after = local - before > boundary && local - after >= boundary;
            offset = is_before ? before : is_after ? after : before < after ? before : after;
        }
        return shift_timestamp(micros, static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(offset)),
                               result);
    }
};

// ---- months -----------------------------------------------------------------------------------------------

struct MonthsAdded : OfTwo<std::int64_t> {
    GPU_ENGINE_BOTH static bool call(const StepContext &context, std::int64_t moment, std::int64_t months,
                                     std::int64_t *result) {
        const bool is_date_there = context.detail == 1;
        *result = moment;
        if (is_date_there ? !is_finite_date(moment) : !is_finite_timestamp(moment)) {
            return true;
        }
        if (!fits_width(months, 4)) {
            return false;
        }
        const std::int64_t days = is_date_there ? moment : floor_divide(moment, micros_a_day);
        Day day = day_of(days);
        const std::int64_t month = day.month - 1 + months;
        day.year += floor_divide(month, 12);
        day.month = static_cast<std::int32_t>(month - floor_divide(month, 12) * 12 + 1);
        const std::int32_t last = days_of_month(day.year, day.month);
        day.day = day.day < last ? day.day : last;
        const std::int64_t there = days_of(day);
        if (!is_date(there)) {
            return false;
        }
        if (is_date_there) {
            *result = there;
            return true;
        }
        return multiply_integers(there, micros_a_day, result) &&
               add_integers(*result, moment - days * micros_a_day, result) && is_timestamp(*result);
    }
};

}  // namespace gpu_engine::query
