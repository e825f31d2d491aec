// From numbers to the bins of a histogram, the same on the processor and on a device.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "gpu_engine/both.h"
#include "gpu_engine/guard.h"
#include "studies/column/histogram.h"

namespace gpu_engine {

// A value's position among the bins is computed in fixed point, with 32 bits behind the point. What lies
// nearer to a bin's edge than the roundings can tell is compared with the edge.
struct BinMap {
    double low;
    double high;
    double scale;          // a power of two that brings high - low between 1 and 2, far from overflow
    double minus_low;      // -low * scale
    double factor;         // bins * 2^32 / ((high - low) * scale)
    double integer_point;  // 2^52 as below, and a bias that keeps integers off the edges
    std::uint32_t bins;
    bool exact_integers;  // with that bias integers need no comparison with the edges

    // width_bucket's roundings are below r * 2^-51 at position r, ours below r * 2^-51 + 2^-33; with r up to
    // 2^20 both together are below 5 / 2^32.
    static constexpr std::uint32_t tolerance = 16;
    // Added to a number below it, it makes the number's integer part the low 52 bits.
    static constexpr double point = 0x1p52;
    static constexpr std::uint32_t upper_half_of_point = 0x43300000;

    GPU_ENGINE_BOTH std::uint64_t position(double value, double at_point = point) const {
#ifdef __CUDA_ARCH__
        // The first product is exact.
        const double distance = __fma_rn(value, scale, minus_low);
        return static_cast<std::uint64_t>(
            __double_as_longlong(__dadd_rn(__dmul_rn(distance, factor), at_point)));
#else
        const double distance = value * scale + minus_low;
        const double position = distance * factor + at_point;
        std::uint64_t bits;
        std::memcpy(&bits, &position, sizeof(bits));
        return bits;
#endif
    }

    // The value's slot (HistogramBins). With `Checked` false the value must be an integer and
    // `exact_integers` hold.
    template <bool Checked>
    GPU_ENGINE_BOTH std::uint32_t slot(double value, const double *edges) const {
        const std::uint64_t at = position(value, Checked ? point : integer_point);
        const std::uint32_t bin = static_cast<std::uint32_t>(at >> 32) - upper_half_of_point;
        const auto fraction = static_cast<std::uint32_t>(at);
        if (bin < bins && (!Checked || fraction + tolerance > 2 * tolerance)) {
            return bin + 1;
        }
        return slot_by_edges(value, bin, fraction, edges);
    }

    GPU_ENGINE_BOTH std::uint32_t slot_by_edges(double value, std::uint32_t bin, std::uint32_t fraction,
                                                const double *edges) const {
        if (value < low) {
            return 0;
        }
        if (value >= high) {
            return bins + 1;
        }
        if (value != value) {
            return bins + 2;
        }
        std::uint32_t edge = bin + (fraction >> 31);
        edge = edge < bins ? edge : bins;
        return value >= edges[edge] ? edge + 1 : edge;
    }
};

// Throws Failure for bounds and edges that can't be. `edges` are looked at once; they must be the caller's
// own. Without `for_integers` exact_integers isn't looked into.
BinMap make_bin_map(const HistogramBins &bins, const double *edges, bool for_integers = true);
// The same from the caller's edges, which may change meanwhile: `edges` gets a copy.
BinMap make_bin_map(const HistogramBins &bins, std::vector<double> *edges, bool for_integers = true);

// Makes the slots' counts of those of the 256 bytes.
std::vector<std::uint64_t> slots_of_bytes(const HistogramBins &bins, const std::uint64_t *byte_counts);

}  // namespace gpu_engine
