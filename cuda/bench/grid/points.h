// The points that the benchmark of grid files asks about.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpu_engine/grid.h"

namespace gpu_engine::bench {

struct PointSet {
    std::vector<std::vector<std::uint32_t>> keys;  // one array a column
    std::vector<Tid> tids;

    std::uint64_t count() const { return tids.size(); }
    std::uint32_t columns() const { return static_cast<std::uint32_t>(keys.size()); }
};

PointSet uniform_points(std::uint64_t count, std::uint32_t columns);
// Points that are normally distributed around the middle, with this deviation.
PointSet gaussian_points(std::uint64_t count, std::uint32_t columns, double deviation);
// Returns points on the surface of a sphere, in three columns.
PointSet sphere_points(std::uint64_t count);
// Returns points on the lines between a scan's neighbours, a little beside them; `file` has float32 x, y, z.
// The set is empty when the file can't be read.
PointSet scanned_points(std::uint64_t count, const std::string &file);

}  // namespace gpu_engine::bench
