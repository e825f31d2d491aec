// Which of several engines of a kind gets what is about to be loaded.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "server/engine_id.h"

namespace gpu_engine::server {

// An engine that could take it.
struct PlacementCandidate {
    EngineId id = 0;
    std::uint64_t limit = 0;  // of its memory
    std::uint64_t used = 0;
    std::uint64_t of_index = 0;  // bytes of the same index's runs
};

// The candidates in the order in which they should be tried.
//
// Those with room come first. Among them an index of few bytes stays together, where most of it is: one
// engine answers sooner alone than several that must be waited for. A larger one is spread: the engine comes
// first that has least of it, so that all compute. What decides between equals is free memory, and then the
// number. `bytes` includes what loading takes beside the run, so the comparison with `kept_together` errs
// toward spreading.
std::vector<PlacementCandidate> order_candidates(std::vector<PlacementCandidate> candidates,
                                                 std::uint64_t bytes, std::uint64_t kept_together);

// The first candidate in that order on which there is room, or on which `can_make_room` says that mirrors
// may leave; else the first, which will refuse. There must be a candidate.
EngineId choose_place(const std::vector<PlacementCandidate> &candidates, std::uint64_t bytes,
                      std::uint64_t kept_together, const std::function<bool(EngineId)> &can_make_room);

}  // namespace gpu_engine::server
