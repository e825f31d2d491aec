#include "common/column/slots.h"

#include <algorithm>
#include <cmath>

#include "gpu_engine/guard.h"

namespace gpu_engine {

SlotFinder make_slot_finder(const ColumnTarget &target, std::vector<std::uint64_t> *starts) {
    starts->assign(target.starts, target.starts + (target.slots - 1));
    if (!std::is_sorted(starts->begin(), starts->end())) {
        throw Failure{make_status(StatusCode::invalid_argument, "the starts of slots must ascend")};
    }
    SlotFinder finder = {};
    finder.starts = starts->data();
    finder.slots = target.slots;
    finder.scale = target.scale;
    finder.most = target.slots - 1;
    if (target.even < 2) {
        return finder;
    }
    const std::uint64_t first = starts->front();
    const std::uint64_t last = (*starts)[target.even - 1];
    finder.origin = first;
    double width = static_cast<double>(last - first);
    if (target.scale != ValueScale::integers) {
        const bool is_double = target.scale == ValueScale::float8;
        finder.low = is_double ? double_of_value(first) : float_of_value(first);
        width = (is_double ? double_of_value(last) : float_of_value(last)) - finder.low;
    }
    const double factor = (target.even - 1) / width;
    finder.factor = std::isfinite(factor) && std::isfinite(finder.low) ? factor : 0.0;
    return finder;
}

}  // namespace gpu_engine
