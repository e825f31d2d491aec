// Chooses which of several engines gets what is about to be loaded.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "server/engine_id.h"

namespace gpu_engine::server {

// An engine keeps one part in so many of its memory free for requests when runs are divided with the
// overflow, and when a request has found no memory: an aggregate or a joint call that finds none fails, and
// its request falls back to pages.
inline constexpr std::uint64_t reserved_free_of_memory = 8;

// An engine that could take it.
struct PlacementCandidate {
    EngineId id = 0;
    std::uint64_t limit = 0;  // limit of its memory
    std::uint64_t used = 0;
    std::uint64_t of_index = 0;  // bytes of the same index's runs
    std::uint64_t room = 0;      // free memory, and what mirrors that may leave take
    // The same of mirrors that nobody used lately: those can leave without being loaded again at once.
    std::uint64_t idle_room = 0;
};

// The candidates in the order in which they should be tried.
//
// Those with room come first. Among them an index of few bytes stays together, where most of it is: one
// engine answers sooner alone than several that must be waited for. A larger one is spread: the engine comes
// first that has least of it, so that all compute. What decides between equals is free memory, and then the
// number. `bytes` includes what loading takes beside the run, so the comparison with `colocated_bytes` errs
// toward spreading.
std::vector<PlacementCandidate> order_candidates(std::vector<PlacementCandidate> candidates,
                                                 std::uint64_t bytes, bool is_small);

// Returns whether an index, with `bytes` more, is so small that its runs stay together.
bool is_colocated(const std::vector<PlacementCandidate> &candidates, std::uint64_t bytes,
                  std::uint64_t colocated_bytes);

// Returns whether engines that each get a share of a run's rows answer sooner than one alone, where rows are
// only looked at. It is estimated, and not measured, that to start several and wait for all takes some 100
// us, in which a device reads some 256 MiB, so a run should be several times what an index may take that is
// kept together.
inline bool gains_by_shares(std::uint64_t bytes, std::uint64_t colocated_bytes) {
    constexpr std::uint64_t times = 8;
    return bytes / times >= colocated_bytes;
}

// Both return how many bytes an engine can take.
std::uint64_t room_of(const PlacementCandidate &candidate);
std::uint64_t idle_room_of(const PlacementCandidate &candidate);

// The first candidate in that order on which there is room, or where idle mirrors may leave that are enough,
// or any mirrors; else the first, which will refuse. There must be a candidate.
const PlacementCandidate &choose_place(const std::vector<PlacementCandidate> &ordered, std::uint64_t bytes);

// The entries of a run that an engine gets.
struct RunShare {
    EngineId held_by = 0;
    std::uint64_t first = 0;
    std::uint64_t entries = 0;
};

// A share begins with a whole word of a bitmap, and a whole group of packed values.
inline constexpr std::uint64_t share_granule = 64;

// A run that can be divided: its entries, and what a share of so many of them takes.
struct DivisibleRun {
    std::uint64_t entries = 0;
    std::function<std::uint64_t(std::uint64_t entries)> bytes_of;
};

// The ways of counting an engine's room.
enum class RoomBy {
    free_memory,
    idle_leaving,  // and what mirrors take that nobody used lately
    any_leaving,   // and what all mirrors take that may leave
};

// Divides a run evenly among the candidates; one that hasn't the room for its share gets what it has room
// for, and the others get more. Shares are in the order of entries. None: there isn't the room, or no more
// than one engine gets any.
std::vector<RunShare> divide_run(const std::vector<PlacementCandidate> &candidates, const DivisibleRun &run,
                                 RoomBy by);

// ---- another kind's engine --------------------------------------------------------------------------------

// The engine that takes what those of a kind have no room for, and what the load takes there: the host's, for
// devices.
struct OverflowPlace {
    PlacementCandidate candidate;
    std::uint64_t bytes = 0;
    DivisibleRun divisible{};
};

// The candidates get as much of a run as they have room for, and leave a part of their memory for what
// requests take there; the overflow's engine gets the rest, as the last share. None: it hasn't the room for
// that, or the candidates get nothing.
std::vector<RunShare> divide_with_overflow(const std::vector<PlacementCandidate> &candidates,
                                           const DivisibleRun &run, const OverflowPlace &overflow, RoomBy by);

// ---- all together -----------------------------------------------------------------------------------------

struct PlacedLoad {
    std::uint64_t bytes = 0;
    DivisibleRun divisible{};  // without entries it can't be divided
};

struct PlacementRules {
    std::uint64_t colocated_bytes = 0;
    bool divides_all = false;  // for tests
};

// The engine that a load goes to, or the shares of several.
struct Placement {
    EngineId whole = 0;
    std::vector<RunShare> shares;
};

// Mirrors that were used lately aren't evicted for a load that the overflow's engine has room for. Otherwise
// a working set that is larger than the candidates' memory would be loaded again and again. There must be a
// candidate.
Placement place_load(const std::vector<PlacementCandidate> &candidates,
                     const std::optional<OverflowPlace> &overflow, const PlacedLoad &load,
                     const PlacementRules &rules);

}  // namespace gpu_engine::server
