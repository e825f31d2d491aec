// Results of lookups without offsets (protocol::LookupForm).
#pragma once

#include <vector>

#include "server/results.h"
#include "server/spread.h"

namespace gpu_engine::server {

// What a form has of each entry. Throws Failure for numbers that stand for none.
struct MatchBytes {
    std::uint64_t tid = 0;
    std::uint64_t item = 0;

    // All of a run's entries.
    std::uint64_t of(std::uint64_t found) const { return aligned(found * tid) + aligned(found * item); }
};
inline bool has_offsets(const protocol::LookupKary &request) {
    return static_cast<protocol::LookupForm>(request.form) == protocol::LookupForm::by_item;
}
MatchBytes match_bytes(const protocol::LookupKary &request);

// Writes what is found in each run that is here.
template <typename Key>
void answer_matches(Work &work, const RunSet &runs, const protocol::LookupKary &request,
                    protocol::ResultReply &reply) {
    const TransferBuffer &buffer = work.connection.buffer;
    const Key *keys = buffer.part<Key>(request.keys, request.count);
    const MatchBytes bytes = match_bytes(request);
    Results results(buffer, request.results, request.capacity);
    bool fits = true;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (!runs.is_here(i)) {
            continue;
        }
        std::uint64_t found = 0;
        const auto places = [&](std::uint64_t number) -> MatchPlaces {
            found = number;
            if (!fits || bytes.tid == 0 || bytes.of(number) > results.room<char>()) {
                return {nullptr, nullptr};
            }
            Results here = results;
            std::uint64_t at = 0;
            Tid *tids = here.take<Tid>(number, &at);
            return {tids, bytes.item > 0 ? here.take<std::uint32_t>(number, &at) : nullptr};
        };
        check(with_room(work,
                        [&] { return runs.kary<Key>(i).match(*work.stream, keys, request.count, places); }));
        reply.found[i] = found;
        reply.tids += found;
        reply.needed += bytes.of(found);
        fits = fits && bytes.of(found) <= results.room<char>();
        if (fits && bytes.tid > 0) {
            results.take<Tid>(found, &reply.tids_at[i]);
        }
        if (fits && bytes.item > 0) {
            results.take<std::uint32_t>(found, &reply.keys_at[i]);
        }
    }
    if (!fits) {
        throw Failure{make_status(StatusCode::insufficient_space, "the results don't fit")};
    }
    work.items = request.count;
    work.bytes = results.used();
}

// A part of the request that has answered for a run, or for a piece of it.
struct MatchPart {
    std::size_t part;
    std::uint64_t first_item;  // that it was asked
};

// Puts together what parts have found: `parts_of[run]` for each run, one after the other.
void put_matches_together(Spread &spread, const protocol::LookupKary &request,
                          const std::vector<std::vector<MatchPart>> &parts_of,
                          const std::vector<protocol::ResultReply> &replies, protocol::ResultReply *reply);

}  // namespace gpu_engine::server
