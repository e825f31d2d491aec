// Codes of main and delta written anew, with the width that the merged dictionary needs: by the forms of
// main's map.
#pragma once

#include <cstdint>

#include "device/call.h"
#include "studies/column/device/code_map.cuh"
#include "studies/column/dictionary.h"

namespace gpu_engine::device {

struct Recoding {
    MappedCodes main;
    MappedCodes delta;
    std::uint32_t bits;
    std::uint32_t *words;
    volatile std::uint64_t *beyond;  // set where a code lies beyond its map, or needs more bits

    __host__ __device__ std::uint64_t total() const { return main.codes.count + delta.codes.count; }
};

// Which form serves best for main's map. `shared_bytes` is what a block may have.
MapForm map_form(const Recoding &recoding, std::size_t shared_bytes);

// All arrays are on the device. There must be a row. Any form but the plain one needs an entry of main, and
// the cells must fit into shared memory.
void launch_recode(const Call &call, const Recoding &recoding, MapForm form);

}  // namespace gpu_engine::device
