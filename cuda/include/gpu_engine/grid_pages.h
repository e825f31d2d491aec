// The heads of gpu_grid's entry pages (src/grid/page.h).
#pragma once

#include <cstdint>

namespace gpu_engine {

struct GridPageHead {
    std::uint64_t first;  // the run's number of the page's first entry
    std::uint16_t count;
    std::uint16_t arrays;
    std::uint32_t reserved;
};
static_assert(sizeof(GridPageHead) == 16);

}  // namespace gpu_engine
