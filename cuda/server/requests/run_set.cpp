#include "server/requests/run_set.h"

namespace gpu_engine::server {

RunSet::RunSet(Work &work, const protocol::RunUse *runs, std::uint32_t count, std::uint32_t key_bits,
               protocol::ReplyHeader &reply)
    : here_(work.id) {
    if (work.found != nullptr) {
        mirrors_ = work.found->mirrors_;
        complete_ = work.found->complete_;
        return;
    }
    static_assert(protocol::max_runs <= 64, "a bit a run");
    if (count > protocol::max_runs) {
        refuse("too many runs");
    }
    std::uint64_t absent = 0;
    std::uint64_t stale = 0;
    const std::int64_t now = microseconds_since_1970();
    for (std::uint32_t i = 0; i < count; ++i) {
        std::shared_ptr<Mirror> mirror =
            work.server().mirrors().find(work.engine_name, runs[i].name, work.purpose);
        // An engine may have come, and the run be loaded there, since this one was chosen: then it is asked
        // for again.
        const bool is_elsewhere = mirror != nullptr && work.engine != nullptr &&
                                  (mirror->parts.size() > 1 || mirror->parts.front().held_by != work.id);
        if (mirror == nullptr || is_elsewhere) {
            absent |= std::uint64_t(1) << i;
            continue;
        }
        if (mirror->parts.front().object.key_bits() != key_bits) {
            refuse("the run is of another kind, or its keys have another width");
        }
        if (dead_version_of(*mirror) < runs[i].dead_version) {
            stale |= std::uint64_t(1) << i;
            continue;
        }
        mirror->last_used.store(now, std::memory_order_relaxed);
        mirror->hits.fetch_add(1, std::memory_order_relaxed);
        mirrors_.push_back(std::move(mirror));
    }
    complete_ = absent == 0 && stale == 0;
    if (!complete_) {
        reply.result = static_cast<std::uint32_t>(absent != 0 ? protocol::ReplyResult::not_resident
                                                              : protocol::ReplyResult::stale);
        reply.lacking = absent != 0 ? absent : stale;
    }
}

std::size_t RunSet::count_here() const noexcept {
    std::size_t count = 0;
    for (std::size_t i = 0; i < mirrors_.size(); ++i) {
        count += is_here(i) ? 1 : 0;
    }
    return count;
}

}  // namespace gpu_engine::server
