#include "server/match_results.h"

#include <cstring>

#include "server/new_results.h"

#include "gpu_engine/boundary.h"

namespace gpu_engine::server {

MatchBytes match_bytes(const protocol::LookupKary &request) {
    switch (static_cast<protocol::LookupForm>(request.form)) {
        case protocol::LookupForm::numbered:
            return {sizeof(Tid), sizeof(std::uint32_t)};
        case protocol::LookupForm::tids:
            return {sizeof(Tid), 0};
        case protocol::LookupForm::number:
            return {0, 0};
        default:
            throw Failure{make_status(StatusCode::invalid_argument, "unknown form of a lookup")};
    }
}

void put_matches_together(Spread &spread, const protocol::LookupKary &request,
                          const std::vector<std::vector<MatchPart>> &parts_of,
                          const std::vector<protocol::ResultReply> &replies, protocol::ResultReply *reply) {
    const TransferBuffer &buffer = spread.whole().connection.buffer;
    const MatchBytes each = match_bytes(request);
    std::uint64_t bytes = 0;
    for (std::size_t run = 0; run < parts_of.size(); ++run) {
        reply->found[run] = 0;
        for (const MatchPart &part : parts_of[run]) {
            reply->found[run] += replies[part.part].found[run];
        }
        bytes += each.of(reply->found[run]);
    }
    require_room(bytes, request.capacity);
    NewResults anew(spread, request.results, bytes);
    for (std::size_t run = 0; run < parts_of.size(); ++run) {
        char *tids = anew.take(reply->found[run] * each.tid, &reply->tids_at[run]);
        auto *items =
            reinterpret_cast<std::uint32_t *>(anew.take(reply->found[run] * each.item, &reply->keys_at[run]));
        for (const MatchPart &part : parts_of[run]) {
            const protocol::ResultReply &its = replies[part.part];
            const std::uint64_t found = its.found[run];
            if (found > 0 && each.tid > 0) {
                std::memcpy(tids, buffer.part<Tid>(its.tids_at[run], found), found * sizeof(Tid));
                tids += found * sizeof(Tid);
            }
            if (found > 0 && each.item > 0) {
                const auto *of_part = buffer.part<std::uint32_t>(its.keys_at[run], found);
                for (std::uint64_t i = 0; i < found; ++i) {
                    *items++ = of_part[i] + static_cast<std::uint32_t>(part.first_item);
                }
            }
        }
    }
    anew.write(buffer);
}

}  // namespace gpu_engine::server
