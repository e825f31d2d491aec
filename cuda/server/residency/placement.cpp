#include "server/residency/placement.h"

#include <algorithm>
#include <cassert>
#include <tuple>
#include <utility>

namespace gpu_engine::server {
namespace {

std::uint64_t free_bytes(const PlacementCandidate &candidate) {
    return candidate.limit - std::min(candidate.used, candidate.limit);
}

}  // namespace

bool is_colocated(const std::vector<PlacementCandidate> &candidates, std::uint64_t bytes,
                  std::uint64_t colocated_bytes) {
    std::uint64_t together = bytes;
    for (const PlacementCandidate &candidate : candidates) {
        together += candidate.of_index;
    }
    return together <= colocated_bytes;
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

std::uint64_t idle_room_of(const PlacementCandidate &candidate) {
    return std::max(candidate.idle_room, free_bytes(candidate));
}

const PlacementCandidate &choose_place(const std::vector<PlacementCandidate> &ordered, std::uint64_t bytes) {
    assert(!ordered.empty());
    for (const auto room : {idle_room_of, room_of}) {
        for (const PlacementCandidate &candidate : ordered) {
            if (room(candidate) >= bytes) {
                return candidate;
            }
        }
    }
    return ordered.front();
}

namespace {

// Returns the most entries, whole granules of them, whose share takes no more than `room`.
std::uint64_t entries_within(const DivisibleRun &run, std::uint64_t room) {
    std::uint64_t fits = 0;
    std::uint64_t fails = run.entries / share_granule + 1;
    while (fails - fits > 1) {
        const std::uint64_t middle = fits + (fails - fits) / 2;
        (run.bytes_of(middle * share_granule) <= room ? fits : fails) = middle;
    }
    return fits * share_granule;
}

std::uint64_t room_by(const PlacementCandidate &candidate, RoomBy by) {
    switch (by) {
        case RoomBy::free_memory:
            return free_bytes(candidate);
        case RoomBy::idle_leaving:
            return idle_room_of(candidate);
        case RoomBy::any_leaving:
            break;
    }
    return room_of(candidate);
}

// Engines that would have less than this part of a run save nothing worth asking them for.
constexpr std::uint64_t least_share = 8;

using Rooms = std::vector<std::pair<std::uint64_t, EngineId>>;

// Divides the run's first entries evenly among the engines with room. *left says how many entries none has
// room for.
std::vector<RunShare> divide_evenly(Rooms rooms, const DivisibleRun &run, std::uint64_t *left) {
    // Those that have least room come first, so that the others know what is left.
    std::sort(rooms.begin(), rooms.end());
    std::vector<RunShare> shares;
    *left = run.entries;
    for (std::size_t i = 0; i < rooms.size() && *left > 0; ++i) {
        const std::uint64_t engines = rooms.size() - i;
        const std::uint64_t even =
            ((*left + engines - 1) / engines + share_granule - 1) / share_granule * share_granule;
        std::uint64_t share = std::min(even, *left);
        if (run.bytes_of(share) > rooms[i].first) {
            share = std::min(entries_within(run, rooms[i].first), share);
        }
        if (share > 0) {
            shares.push_back({rooms[i].second, run.entries - *left, share});
            *left -= share;
        }
    }
    return shares;
}

}  // namespace

std::vector<RunShare> divide_run(const std::vector<PlacementCandidate> &candidates, const DivisibleRun &run,
                                 RoomBy by) {
    Rooms rooms;
    for (const PlacementCandidate &candidate : candidates) {
        rooms.emplace_back(room_by(candidate, by), candidate.id);
    }
    std::uint64_t left = 0;
    std::vector<RunShare> shares = divide_evenly(std::move(rooms), run, &left);
    return left > 0 || shares.size() < 2 ? std::vector<RunShare>() : shares;
}

std::vector<RunShare> divide_with_overflow(const std::vector<PlacementCandidate> &candidates,
                                           const DivisibleRun &run, const OverflowPlace &overflow,
                                           RoomBy by) {
    Rooms rooms;
    for (const PlacementCandidate &candidate : candidates) {
        const std::uint64_t reserved_free = candidate.limit / reserved_free_of_memory;
        const std::uint64_t room = room_by(candidate, by);
        rooms.emplace_back(room - std::min(room, reserved_free), candidate.id);
    }
    std::uint64_t left = 0;
    std::vector<RunShare> shares = divide_evenly(std::move(rooms), run, &left);
    if (left == 0 || left > run.entries / least_share * (least_share - 1) ||
        overflow.divisible.bytes_of(left) > room_by(overflow.candidate, by)) {
        return {};
    }
    shares.push_back({overflow.candidate.id, run.entries - left, left});
    return shares;
}

namespace {

// Places a load for which a mirror in use would have to leave the candidates. Returns nothing if the overflow
// has no room for it either.
std::optional<Placement> place_in_overflow(const std::vector<PlacementCandidate> &ordered,
                                           const OverflowPlace &overflow, const PlacedLoad &load, RoomBy by,
                                           bool gains) {
    const bool has_room = overflow.bytes <= room_by(overflow.candidate, by);
    Placement placement{overflow.candidate.id, {}};
    if (load.divisible.entries > 0) {
        placement.shares = divide_run(ordered, load.divisible, by);
        // Requests that don't read all entries are as fast on one engine.
        if (placement.shares.empty() && (gains || !has_room)) {
            placement.shares = divide_with_overflow(ordered, load.divisible, overflow, by);
        }
    }
    return has_room || !placement.shares.empty() ? std::optional(placement) : std::nullopt;
}

}  // namespace

Placement place_load(const std::vector<PlacementCandidate> &candidates,
                     const std::optional<OverflowPlace> &overflow, const PlacedLoad &load,
                     const PlacementRules &rules) {
    const bool is_small = is_colocated(candidates, load.bytes, rules.colocated_bytes);
    const std::vector<PlacementCandidate> ordered = order_candidates(candidates, load.bytes, is_small);
    const PlacementCandidate &best = choose_place(ordered, load.bytes);
    const bool gains = !is_small && (rules.divides_all || gains_by_shares(load.bytes, rules.colocated_bytes));
    if (overflow && idle_room_of(best) < load.bytes) {
        if (std::optional<Placement> placed =
                place_in_overflow(ordered, *overflow, load, RoomBy::idle_leaving, gains)) {
            return *placed;
        }
    }
    const bool fits = room_of(best) >= load.bytes;
    Placement placement{best.id, {}};
    if (load.divisible.entries > 0 && (!fits || gains)) {
        placement.shares =
            divide_run(ordered, load.divisible, fits ? RoomBy::free_memory : RoomBy::any_leaving);
    }
    if (!fits && placement.shares.empty() && overflow) {
        if (std::optional<Placement> placed =
                place_in_overflow(ordered, *overflow, load, RoomBy::any_leaving, gains)) {
            return *placed;
        }
    }
    return placement;
}

}  // namespace gpu_engine::server
