// Chooses the engines that loads go to.
#include <algorithm>
#include <utility>

#include "server/residency/chosen.h"
#include "server/residency/own_objects.h"
#include "server/requests/request.h"

namespace gpu_engine::server {

void Connection::place(const Handler &handler, Work &work, Chosen *chosen) {
    Engines &engines = server.engines();
    const EngineRange range = engines.of(work.engine_name);
    std::vector<EngineId> ready;
    for (const EngineId id : range) {
        if (engines.state(id) == Engines::State::ready) {
            ready.push_back(id);
        }
    }
    if (ready.empty()) {
        return;
    }
    // Loads leave room for what they take until they are done, and for what requests take: always in the
    // machine's memory, and on a device once a request has found none there.
    const auto reserved_free_on = [&](EngineId id) {
        Engine &engine = *engines.get(id);
        const std::uint64_t part = engine.memory().limit() / reserved_free_of_memory;
        return engines.name_of(id) != work.engine_name
                   ? part
                   : std::max(engines.reserved_free(id), std::min(part, engine.loading_bytes()));
    };
    Engine &first = *engines.get(ready.front());
    const LoadSize size = handler.load_size(first, request_);
    // A load that fits on the only engine needs no look at the mirrors that are there.
    if (range.size() == 1 &&
        size.load.bytes + reserved_free_on(ready.front()) <= first.memory().free_bytes()) {
        return;
    }
    const auto of_index = server.mirrors().bytes_beside(work.engine_name, size.name);
    const auto candidate_of = [&](EngineId id) {
        const MemoryBudget &memory = engines.get(id)->memory();
        const Mirrors::EngineRoom room = server.mirrors().room_on(id, memory, work.purpose);
        const std::uint64_t reserved_free = reserved_free_on(id);
        const auto less = [reserved_free](std::uint64_t bytes) {
            return bytes - std::min(bytes, reserved_free);
        };
        return PlacementCandidate{id,           less(memory.limit()), memory.used(),
                                  of_index[id], less(room.by_any),    less(room.by_idle)};
    };
    std::vector<PlacementCandidate> candidates;
    for (const EngineId id : ready) {
        candidates.push_back(candidate_of(id));
    }
    const PlacementRules rules = {server.options().colocated_bytes, server.options().divides_all};
    std::optional<OverflowPlace> overflow;
    if (const std::optional<EngineId> id = engines.overflow_of(work.engine_name)) {
        const LoadSize there = handler.load_size(*engines.get(*id), request_);
        overflow = {candidate_of(*id), there.load.bytes, there.load.divisible};
    }
    Placement placement = place_load(candidates, overflow, size.load, rules);
    chosen->shares = std::move(placement.shares);
    for (const RunShare &share : chosen->shares) {
        chosen->engines.push_back(share.held_by);
    }
    if (chosen->shares.empty()) {
        chosen->engines.push_back(placement.whole);
    }
}

// The smallest of those that are enough goes, or the largest, and is loaded once more: elsewhere, since room
// is kept from now on.
bool Connection::make_way(const Handler &handler, Work work, EngineId full) {
    Engines &engines = server.engines();
    if (handler.find_runs == nullptr || engines.name_of(full) != work.engine_name ||
        !engines.overflow_of(work.engine_name) || engines.reserved_free(full) > 0) {
        return false;
    }
    work.engine = nullptr;
    work.found = nullptr;
    protocol::ReplyHeader looked{};
    const RunSet found = handler.find_runs(work, request_, looked);
    const std::uint64_t enough = engines.get(full)->memory().limit() / reserved_free_of_memory;
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < found.size() && found.complete(); ++i) {
        const std::uint64_t bytes = found.mirror(i)->bytes_on(full);
        const std::uint64_t of_best = best ? found.mirror(*best)->bytes_on(full) : 0;
        if (of_best < enough ? bytes > of_best : bytes >= enough && bytes < of_best) {
            best = i;
        }
    }
    // No room is kept if nothing can be evicted, or another request has made room meanwhile.
    if (!best || !engines.note_lack(full) || !server.mirrors().drop(found.mirror(*best))) {
        return false;
    }
    auto *reply = reinterpret_cast<protocol::ReplyHeader *>(reply_);
    reply->status = Status{};
    set_result(*reply, protocol::ReplyResult::not_resident);
    reply->lacking = std::uint64_t(1) << *best;
    return true;
}

}  // namespace gpu_engine::server
