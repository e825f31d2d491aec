#include "server/requests/split_runs.h"

#include <algorithm>
#include <cstring>

#include "server/requests/scratch.h"
#include "server/server.h"

namespace gpu_engine::server {
namespace {

// All results anew, in memory of their own: parts of a run lie apart in the buffer, which has no more room
// than they take. They are no more than the buffer holds, and counted as it is.
class NewResults {
  public:
    NewResults(Spread &spread, std::uint64_t results, std::uint64_t bytes)
        : at_(results),
          begin_(results),
          bytes_(bytes),
          scratch_(spread.whole().server().transfer_memory(), bytes) {}

    // Returns the next `bytes` of the results; *at says where they will lie.
    char *take(std::uint64_t bytes, std::uint64_t *at) {
        *at = at_;
        char *place = scratch_.data() + (at_ - begin_);
        at_ += aligned(bytes);
        return place;
    }
    void write(const TransferBuffer &buffer) const {
        if (bytes_ > 0) {
            std::memcpy(buffer.part<char>(begin_, bytes_), scratch_.data(), bytes_);
        }
    }

  private:
    std::uint64_t at_;
    const std::uint64_t begin_;
    const std::uint64_t bytes_;
    Scratch<char> scratch_;
};

// The parts of the request that have pieces of a run, in the order of its entries.
std::vector<std::size_t> pieces_of(Spread &spread, std::size_t run) {
    std::vector<std::size_t> pieces;
    for (const MirrorPart &held : spread.runs().parts(run)) {
        for (std::size_t part = 0; part < spread.size(); ++part) {
            if (spread.work(part).id == held.held_by) {
                pieces.push_back(part);
            }
        }
    }
    return pieces;
}

}  // namespace

bool has_split_runs(const Spread &spread) {
    for (std::size_t run = 0; run < spread.runs().size(); ++run) {
        if (spread.runs().parts(run).size() > 1) {
            return true;
        }
    }
    return false;
}

namespace {

// Returns how many places a run's counts have; none where only rows are wanted.
std::uint64_t places_of(Spread &spread, std::size_t run, const protocol::QueryColumn &request) {
    if (static_cast<protocol::Message>(request.header.type) == protocol::Message::match_column) {
        return 0;
    }
    ColumnTarget target = {};
    target.kind = static_cast<TargetKind>(request.target);
    target.column = request.column;
    target.slots = request.slots;
    target.even = request.even;
    return spread.runs().parts(run).front().object.column()->places(target);
}

void add_counts(const protocol::QueryColumn &request, const std::uint64_t *counts, std::uint64_t places,
                bool is_first, std::uint64_t *sums) {
    if (is_first) {
        std::copy_n(counts, places, sums);
    } else if (static_cast<TargetKind>(request.target) == TargetKind::bounds) {
        // The counts are the number of values, the least and the greatest. Of no values there are neither.
        if (counts[0] > 0) {
            sums[1] = sums[0] > 0 ? std::min(sums[1], counts[1]) : counts[1];
            sums[2] = sums[0] > 0 ? std::max(sums[2], counts[2]) : counts[2];
            sums[0] += counts[0];
        }
    } else {
        for (std::uint64_t i = 0; i < places; ++i) {
            sums[i] += counts[i];
        }
    }
}

}  // namespace

void put_together(Spread &spread, const protocol::QueryColumn &request,
                  const PartResults<protocol::ColumnReply> &part_results, protocol::ColumnReply *reply) {
    const TransferBuffer &buffer = spread.whole().connection.buffer;
    const std::size_t runs = spread.runs().size();
    const bool matches =
        static_cast<protocol::Message>(request.header.type) == protocol::Message::match_column;
    const std::uint64_t row_bytes = matches ? sizeof(Tid) : sizeof(UnresolvedRow);
    std::uint64_t bytes = 0;
    for (std::size_t run = 0; run < runs; ++run) {
        reply->found[run] = 0;
        for (const std::size_t part : pieces_of(spread, run)) {
            reply->found[run] += part_results.replies[part].found[run];
        }
        bytes += aligned(places_of(spread, run, request) * sizeof(std::uint64_t)) +
                 aligned(reply->found[run] * row_bytes);
    }
    // The joined results are no larger than the parts were, unless the session has written to these
    // meanwhile.
    if (bytes > request.capacity) {
        throw Failure{make_status(StatusCode::insufficient_space, "the results don't fit")};
    }
    NewResults anew(spread, request.results, bytes);
    for (std::size_t run = 0; run < runs; ++run) {
        const std::uint64_t places = places_of(spread, run, request);
        auto *sums = reinterpret_cast<std::uint64_t *>(
            anew.take(places * sizeof(std::uint64_t), &reply->counts_at[run]));
        char *rows = anew.take(reply->found[run] * row_bytes, &reply->found_at[run]);
        bool is_first = true;
        for (const std::size_t part : pieces_of(spread, run)) {
            const protocol::ColumnReply &its = part_results.replies[part];
            add_counts(request, buffer.part<std::uint64_t>(its.counts_at[run], places), places, is_first,
                       sums);
            is_first = false;
            const std::uint64_t here = its.found[run] * row_bytes;
            if (here > 0) {
                std::memcpy(rows, buffer.part<char>(its.found_at[run], here), here);
                rows += here;
            }
        }
    }
    anew.write(buffer);
}

}  // namespace gpu_engine::server
