// Codes of main and delta written anew, with the width that the merged dictionary needs: by the forms of
// main's map.
#pragma once

#include <cstdint>

#include "device/call.h"
#include "device/column/code_map.cuh"
#include "gpu_engine/dictionary.h"

namespace gpu_engine::device {

struct RecodeProblem {
    std::uint32_t beyond;    // a code lies beyond its map, or needs more bits
    std::uint32_t unlisted;  // main's map can't be a list of steps
};

struct Recoding {
    MappedCodes main;
    MappedCodes delta;
    std::uint32_t bits;
    std::uint32_t *words;
    RecodeProblem *problem;

    __host__ __device__ std::uint64_t total() const { return main.codes.count + delta.codes.count; }
};

// Which form serves best for a map of so many steps. `shared_bytes`: of a block.
MapForm map_form(std::uint64_t rows, std::uint64_t entries, std::uint32_t steps, std::size_t shared_bytes);

// All on the device. There must be a row.
void launch_recode(const Call &call, const Recoding &recoding, MapForm form, std::uint32_t steps);
// How many steps main's map has in all; more than there are entries when it isn't a map that ascends.
std::uint32_t steps_of_map(const Call &call, const Recoding &recoding);

}  // namespace gpu_engine::device
