// Results of lookups without offsets (protocol::LookupForm).
#pragma once

#include <optional>
#include <vector>

#include "server/requests/results.h"
#include "server/requests/spread.h"

namespace gpu_engine::server {

// The bytes that a form of results has for each entry. Throws Failure for a number that names no form.
struct MatchBytes {
    std::uint64_t tid = 0;
    std::uint64_t item = 0;

    // Returns the bytes of all of a run's entries.
    std::uint64_t of(std::uint64_t found) const { return aligned(found * tid) + aligned(found * item); }
};
inline bool has_offsets(const protocol::LookupKary &request) {
    return static_cast<protocol::LookupForm>(request.form) == protocol::LookupForm::by_item;
}
MatchBytes match_bytes(const protocol::LookupKary &request);

// Writes what is found in each run that is here.
template <typename Key>
void write_matches(Work &work, const RunSet &runs, const protocol::LookupKary &request,
                   protocol::ResultReply &reply) {
    const TransferBuffer &buffer = work.connection.buffer;
    const Key *keys = buffer.part<Key>(request.keys, request.count);
    const MatchBytes bytes = match_bytes(request);
    std::vector<std::size_t> here;
    std::vector<const KaryArray<Key> *> arrays;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (runs.is_here(i)) {
            here.push_back(i);
            arrays.push_back(&runs.kary<Key>(i));
        }
    }
    std::optional<Results> results;
    bool fits = true;
    const auto places = [&](std::size_t array, std::uint64_t found) -> MatchPlaces {
        const std::size_t run = here[array];
        reply.found[run] = found;
        reply.tids += found;
        reply.needed += bytes.of(found);
        fits = fits && bytes.of(found) <= results->room<char>();
        if (!fits) {
            return {nullptr, nullptr};
        }
        return {bytes.tid > 0 ? results->take<Tid>(found, &reply.tids_at[run]) : nullptr,
                bytes.item > 0 ? results->take<std::uint32_t>(found, &reply.keys_at[run]) : nullptr};
    };
    check(with_room(work, [&] {
        // This may not be the first time.
        results.emplace(buffer, request.results, request.capacity);
        reply.tids = 0;
        reply.needed = 0;
        fits = true;
        return kary<Key>(*work.engine)
            .match(*work.stream, arrays.data(), arrays.size(), keys, request.count, places);
    }));
    if (!fits) {
        throw Failure{make_status(StatusCode::insufficient_space, "the results don't fit")};
    }
    work.items = request.count;
    work.bytes = results->used();
}

}  // namespace gpu_engine::server
