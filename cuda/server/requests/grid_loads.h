// The beginning and the end of loads of grid files.
#pragma once

#include <cstdint>

#include "server/residency/own_objects.h"

namespace gpu_engine::server {

// Throws Failure for columns that no grid has.
GridPageColumns columns_of(const protocol::BeginGrid &request);
GridOptions options_of(const protocol::BeginGrid &request);

// Returns the bytes of a file of so many entries without its directory: those of keys, TIDs and the order.
std::uint64_t grid_bytes(const GridPageColumns &columns, std::uint64_t entries);
// Returns what making a file takes: in the end the entries and the file are there together.
std::uint64_t grid_bytes_in_the_making(const GridPageColumns &columns, std::uint64_t entries);
// The same with what building takes beside them.
std::uint64_t grid_bytes_while_built(const GridPageColumns &columns, std::uint64_t entries);

// Makes a file of what has been loaded, on the work's engine.
AnyObject finish_grid(Work &work, const OwnObject &own, GridLoader &loader);

}  // namespace gpu_engine::server
