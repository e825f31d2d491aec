#include "grid/scales.h"

#include <algorithm>
#include <cmath>

#include "keys/keys.h"

namespace pg_gpu::grid {

// Fewer rows of a sample would leave an interval to chance.
static constexpr uint32 kSampleRowsPerInterval = 32;
static constexpr uint64 kLeastSample = 256;
static constexpr uint64 kMaxSample = 16384;

static bool is_null(const Format &format, const uint64 *row, int dimension) {
    return (place_nulls(row[0]) & format.dimension_columns[dimension]) != 0;
}

static uint64 dimension_code(const Format &format, const uint64 *row, int dimension) {
    return row[1 + format.dimension_lanes[dimension]];
}

void begin_statistics(RowStatistics *statistics) {
    statistics->rows = 0;
    for (int i = 0; i < kMaxDimensions; i++) {
        statistics->low[i] = PG_UINT64_MAX;
        statistics->high[i] = 0;
        statistics->has_nulls[i] = false;
    }
}

void add_statistics(const Format &format, RowStatistics *statistics, const uint64 *rows, uint64 count) {
    statistics->rows += count;
    for (int i = 0; i < format.dimension_count; i++) {
        uint64 low = statistics->low[i];
        uint64 high = statistics->high[i];
        const NullMask column = format.dimension_columns[i];
        const uint64 *row = rows;
        for (uint64 j = 0; j < count; j++, row += format.row_words) {
            if (unlikely((row[0] & column) != 0)) {
                statistics->has_nulls[i] = true;
                continue;
            }
            const uint64 code = dimension_code(format, row, i);
            low = Min(low, code);
            high = Max(high, code);
        }
        statistics->low[i] = low;
        statistics->high[i] = high;
    }
}

static bool has_values(const RowStatistics &statistics, int dimension) {
    return statistics.low[dimension] <= statistics.high[dimension];
}

static bool is_constant(const RowStatistics &statistics, int dimension) {
    return !has_values(statistics, dimension) ||
           (statistics.low[dimension] == statistics.high[dimension] && !statistics.has_nulls[dimension]);
}

bool are_identical(const Format &format, const RowStatistics &statistics) {
    for (int i = 0; i < format.dimension_count; i++)
        if (!is_constant(statistics, i))
            return false;
    return true;
}

uint64 sample_size(const Format &format, uint64 rows, double cells) {
    const double intervals = pow(Max(cells, 1.0), 1.0 / format.dimension_count);
    const auto wanted = static_cast<uint64>(intervals * kSampleRowsPerInterval);
    return Min(rows, Min(Max(wanted, kLeastSample), kMaxSample));
}

// ---- how many intervals -----------------------------------------------------------------------------------

// Shares the cells out: dimensions get intervals in turn, whichever has fewest, up to its limit.
static void share_out(const Format &format, const uint32 *limits, double wanted, Scales *scales) {
    double cells = 1;
    const auto coordinates = [&](int i) { return scales->intervals[i] + (scales->has_nulls[i] ? 1 : 0); };
    for (int i = 0; i < format.dimension_count; i++) {
        scales->intervals[i] = Min(limits[i], 1U);
        cells *= Max(coordinates(i), 1U);
    }
    while (cells < wanted) {
        int fewest = -1;
        for (int i = 0; i < format.dimension_count; i++)
            if (scales->intervals[i] < limits[i] &&
                (fewest < 0 || scales->intervals[i] < scales->intervals[fewest]))
                fewest = i;
        if (fewest < 0)
            return;
        const double before = coordinates(fewest);
        scales->intervals[fewest]++;
        cells = cells / before * coordinates(fewest);
    }
}

static uint32 distinct_values(const uint64 *sorted, uint64 count) {
    uint32 distinct = count > 0 ? 1 : 0;
    for (uint64 i = 1; i < count; i++)
        distinct += sorted[i] != sorted[i - 1] ? 1 : 0;
    return distinct;
}

// ---- where they begin -------------------------------------------------------------------------------------

// Cuts a dimension at quantiles of the sample. A value that takes several is cut off behind as well, so that
// in the end it is alone. Returns the number of intervals.
static uint32 cut(const uint64 *sorted, uint64 count, uint64 low, uint64 high, uint32 intervals,
                  uint64 *starts) {
    uint32 cuts = 0;
    uint64 last = low;
    for (uint32 i = 1; i < intervals; i++) {
        uint64 start = sorted[count * i / intervals];
        if (start <= last) {
            if (start < last || last == high)
                continue;
            const uint64 *next = std::upper_bound(sorted, sorted + count, last);
            start = next < sorted + count ? *next : last + 1;
        }
        starts[cuts++] = start;
        last = start;
    }
    return cuts + 1;
}

static void lay_out_cells(const Format &format, Scales *scales) {
    scales->cells = 1;
    for (int i = format.dimension_count - 1; i >= 0; i--) {
        scales->strides[i] = scales->cells;
        scales->cells *= scales->intervals[i] + (scales->has_nulls[i] ? 1 : 0);
    }
}

Scales choose_scales(const Format &format, const RowStatistics &statistics, const uint64 *sample,
                     uint64 sample_count, double wanted, SplitRule rule) {
    Scales scales = {};
    uint64 *sorted[kMaxDimensions];
    uint64 counts[kMaxDimensions];
    uint32 limits[kMaxDimensions];
    const auto max_intervals =
        static_cast<uint32>(Max(sample_count / (kSampleRowsPerInterval / 4), uint64{2}));
    for (int i = 0; i < format.dimension_count; i++) {
        sorted[i] = allocate<uint64>(sample_count + 1);
        counts[i] = 0;
        for (uint64 j = 0; j < sample_count; j++) {
            const uint64 *row = sample + j * static_cast<uint64>(format.row_words);
            if (!is_null(format, row, i))
                sorted[i][counts[i]++] = dimension_code(format, row, i);
        }
        std::sort(sorted[i], sorted[i] + counts[i]);
        scales.has_nulls[i] = statistics.has_nulls[i];
        limits[i] = has_values(statistics, i) ? max_intervals : 0;
        if (rule == SplitRule::Distinct)
            limits[i] = Min(limits[i], Max(distinct_values(sorted[i], counts[i]), 1U));
        if (counts[i] == 0)
            limits[i] = Min(limits[i], 1U);
    }
    share_out(format, limits, wanted, &scales);

    bool parts = false;
    for (int i = 0; i < format.dimension_count; i++) {
        scales.starts[i] = allocate<uint64>(scales.intervals[i] + 2);
        if (scales.intervals[i] > 0)
            scales.intervals[i] = cut(sorted[i], counts[i], statistics.low[i], statistics.high[i],
                                      scales.intervals[i], scales.starts[i]);
        parts = parts || scales.intervals[i] > 1 || (scales.intervals[i] == 1 && scales.has_nulls[i]);
    }
    // The sample has one value, which is separated from the values that the sample doesn't show.
    for (int i = 0; !parts && i < format.dimension_count; i++) {
        if (scales.intervals[i] == 0 || statistics.low[i] == statistics.high[i])
            continue;
        const uint64 value = counts[i] > 0 ? sorted[i][counts[i] / 2] : statistics.low[i];
        scales.intervals[i] = 1;
        if (value > statistics.low[i])
            scales.starts[i][scales.intervals[i]++ - 1] = value;
        if (value < statistics.high[i])
            scales.starts[i][scales.intervals[i]++ - 1] = value + 1;
        parts = true;
    }
    lay_out_cells(format, &scales);
    for (int i = 0; i < format.dimension_count; i++)
        pfree(sorted[i]);
    return scales;
}

uint16 loose_dimensions(const Format &format, const RowStatistics &statistics, uint16 tight) {
    // Some pages of rows.
    constexpr uint64 kManyRows = 4096;
    // A grid has three coordinates for each.
    constexpr int kMaxAtOnce = 2;
    uint16 loose = 0;
    if (statistics.rows < kManyRows)
        return 0;
    for (int i = 0; i < format.dimension_count && std::popcount(loose) < kMaxAtOnce; i++) {
        const Lane &lane = format.lanes[format.dimension_lanes[i]];
        if (format.columns[lane.column].is_point && ((tight >> i) & 1) == 0 &&
            statistics.low[i] == statistics.high[i] && !statistics.has_nulls[i])
            loose |= static_cast<uint16>(1U << i);
    }
    return loose;
}

Scales tight_scales(const Format &format, const RowStatistics &statistics, uint16 dimensions) {
    Scales scales = {};
    for (int i = 0; i < format.dimension_count; i++) {
        scales.has_nulls[i] = statistics.has_nulls[i];
        scales.intervals[i] = has_values(statistics, i) ? 1 : 0;
        scales.starts[i] = allocate<uint64>(2);
        if (((dimensions >> i) & 1) == 0)
            continue;
        const uint64 value = statistics.low[i];
        if (value > 0)
            scales.starts[i][scales.intervals[i]++ - 1] = value;
        if (value < PG_UINT64_MAX)
            scales.starts[i][scales.intervals[i]++ - 1] = value + 1;
    }
    lay_out_cells(format, &scales);
    return scales;
}

Scales single_cell(const Format &format, const RowStatistics &statistics) {
    Scales scales = {};
    for (int i = 0; i < format.dimension_count; i++) {
        scales.has_nulls[i] = statistics.has_nulls[i];
        scales.intervals[i] = has_values(statistics, i) ? 1 : 0;
    }
    lay_out_cells(format, &scales);
    return scales;
}

uint64 grid_words(const Format &format, const Scales &scales) {
    uint64 words = static_cast<uint64>(format.dimension_count) + 2 * (uint64{scales.cells} + 1);
    for (int i = 0; i < format.dimension_count; i++)
        words += scales.intervals[i] > 0 ? scales.intervals[i] - 1 : 0;
    return words;
}

uint32 cell_of(const Format &format, const Scales &scales, const uint64 *row) {
    uint32 cell = 0;
    for (int i = 0; i < format.dimension_count; i++) {
        uint32 coordinate = scales.intervals[i];
        if (likely(!is_null(format, row, i)))
            coordinate = scales.intervals[i] > 1 ? upper_bound(scales.starts[i], scales.intervals[i] - 1,
                                                               dimension_code(format, row, i))
                                                 : 0;
        cell += coordinate * scales.strides[i];
    }
    return cell;
}

}  // namespace pg_gpu::grid
