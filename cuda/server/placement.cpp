#include "server/placement.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "gpu_engine/boundary.h"

namespace gpu_engine::server {
namespace {

std::uint64_t free_bytes(const PlacementCandidate &candidate) {
    return candidate.limit - std::min(candidate.used, candidate.limit);
}

}  // namespace

bool is_kept_together(const std::vector<PlacementCandidate> &candidates, std::uint64_t bytes,
                      std::uint64_t kept_together) {
    std::uint64_t together = bytes;
    for (const PlacementCandidate &candidate : candidates) {
        together += candidate.of_index;
    }
    return together <= kept_together;
}

std::uint64_t room_of(const PlacementCandidate &candidate) {
    return std::max(candidate.room, free_bytes(candidate));
}

std::vector<PlacementCandidate> order_candidates(std::vector<PlacementCandidate> candidates,
                                                 std::uint64_t bytes, bool is_small) {
    const auto rank = [&](const PlacementCandidate &candidate) {
        return std::tuple(free_bytes(candidate) < bytes,
                          is_small ? UINT64_MAX - candidate.of_index : candidate.of_index,
                          UINT64_MAX - free_bytes(candidate), candidate.id);
    };
    std::sort(candidates.begin(), candidates.end(),
              [&](const auto &one, const auto &other) { return rank(one) < rank(other); });
    return candidates;
}

const PlacementCandidate &choose_place(const std::vector<PlacementCandidate> &ordered, std::uint64_t bytes) {
    for (const PlacementCandidate &candidate : ordered) {
        if (room_of(candidate) >= bytes) {
            return candidate;
        }
    }
    return ordered.front();
}

namespace {

// The most entries, whole granules of them, whose share takes no more than `room`.
std::uint64_t entries_within(const DivisibleRun &run, std::uint64_t room) {
    std::uint64_t fits = 0;
    std::uint64_t fails = run.entries / share_granule + 1;
    while (fails - fits > 1) {
        const std::uint64_t middle = fits + (fails - fits) / 2;
        (run.bytes_of(middle * share_granule) <= room ? fits : fails) = middle;
    }
    return fits * share_granule;
}

}  // namespace

std::vector<RunShare> divide_run(const std::vector<PlacementCandidate> &candidates, const DivisibleRun &run,
                                 bool by_leaving) {
    std::vector<std::pair<std::uint64_t, EngineId>> rooms;
    for (const PlacementCandidate &candidate : candidates) {
        rooms.emplace_back(by_leaving ? candidate.room : free_bytes(candidate), candidate.id);
    }
    // Those that have least room come first, so that the others know what is left.
    std::sort(rooms.begin(), rooms.end());
    std::vector<RunShare> shares;
    std::uint64_t left = run.entries;
    for (std::size_t i = 0; i < rooms.size() && left > 0; ++i) {
        const std::uint64_t engines = rooms.size() - i;
        const std::uint64_t even =
            ((left + engines - 1) / engines + share_granule - 1) / share_granule * share_granule;
        std::uint64_t share = std::min(even, left);
        if (run.bytes_of(share) > rooms[i].first) {
            share = std::min(entries_within(run, rooms[i].first), share);
        }
        if (share > 0) {
            shares.push_back({rooms[i].second, run.entries - left, share});
            left -= share;
        }
    }
    return left > 0 || shares.size() < 2 ? std::vector<RunShare>() : shares;
}

}  // namespace gpu_engine::server
