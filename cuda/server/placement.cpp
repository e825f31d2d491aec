#include "server/placement.h"

#include <algorithm>
#include <tuple>

#include "gpu_engine/boundary.h"

namespace gpu_engine::server {
namespace {

std::uint64_t free_bytes(const PlacementCandidate &candidate) {
    return candidate.limit - std::min(candidate.used, candidate.limit);
}

}  // namespace

std::vector<PlacementCandidate> order_candidates(std::vector<PlacementCandidate> candidates,
                                                 std::uint64_t bytes, std::uint64_t kept_together) {
    std::uint64_t together = bytes;
    for (const PlacementCandidate &candidate : candidates) {
        together += candidate.of_index;
    }
    const bool is_small = together <= kept_together;
    const auto rank = [&](const PlacementCandidate &candidate) {
        return std::tuple(free_bytes(candidate) < bytes,
                          is_small ? UINT64_MAX - candidate.of_index : candidate.of_index,
                          UINT64_MAX - free_bytes(candidate), candidate.id);
    };
    std::sort(candidates.begin(), candidates.end(),
              [&](const auto &one, const auto &other) { return rank(one) < rank(other); });
    return candidates;
}

EngineId choose_place(const std::vector<PlacementCandidate> &candidates, std::uint64_t bytes,
                      std::uint64_t kept_together, const std::function<bool(EngineId)> &can_make_room) {
    const std::vector<PlacementCandidate> ordered = order_candidates(candidates, bytes, kept_together);
    for (const PlacementCandidate &candidate : ordered) {
        if (free_bytes(candidate) >= bytes || can_make_room(candidate.id)) {
            return candidate.id;
        }
    }
    return ordered.front().id;
}

}  // namespace gpu_engine::server
