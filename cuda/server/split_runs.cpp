#include "server/split_runs.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "gpu_engine/boundary.h"

namespace gpu_engine::server {
namespace {

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

// All results anew, in memory of their own: parts of a run lie apart in the buffer, which has no more room
// than they take. They are no more than the buffer holds, and counted as it is.
class NewResults {
  public:
    NewResults(Spread &spread, std::uint64_t results, std::uint64_t bytes)
        : at_(results), begin_(results), bytes_(bytes), scratch_(memory_of(spread), bytes) {}

    // The next `bytes` of the results; *at says where they will lie.
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
    static MemoryBudget &memory_of(Spread &spread) { return spread.whole().server().transfer_memory(); }

  private:
    std::uint64_t at_;
    const std::uint64_t begin_;
    const std::uint64_t bytes_;
    Scratch<char> scratch_;
};

// What is put together takes no more than the parts did, unless the session has written to them meanwhile.
void require_room(std::uint64_t bytes, std::uint64_t capacity) {
    if (bytes > capacity) {
        throw Failure{make_status(StatusCode::insufficient_space, "the results don't fit")};
    }
}

// ---- entries ----------------------------------------------------------------------------------------------

// What a part found in a run. The session may change the buffer, so offsets are copied before they are
// checked, and used from there.
struct Piece {
    std::size_t part;
    std::unique_ptr<Scratch<std::uint64_t>> offsets;
    const char *tids;
    const char *keys;

    std::uint64_t found(std::uint64_t items) const { return offsets->data()[items]; }
};

Piece read_piece(Spread &spread, std::size_t part, std::size_t run, const EntryResults &wanted,
                 const protocol::ResultReply &reply) {
    const TransferBuffer &buffer = spread.whole().connection.buffer;
    Piece piece{part,
                std::make_unique<Scratch<std::uint64_t>>(NewResults::memory_of(spread), wanted.items + 1),
                nullptr, nullptr};
    std::uint64_t *offsets = piece.offsets->data();
    std::memcpy(offsets, buffer.part<std::uint64_t>(reply.offsets_at[run], wanted.items + 1),
                (wanted.items + 1) * sizeof(std::uint64_t));
    if (offsets[0] != 0 || !std::is_sorted(offsets, offsets + wanted.items + 1) ||
        offsets[wanted.items] > entries_limit) {
        refuse("the transfer buffer was written to during the request");
    }
    const std::uint64_t found = piece.found(wanted.items);
    piece.tids = buffer.part<char>(reply.tids_at[run], found * sizeof(Tid));
    piece.keys =
        wanted.key_bytes > 0 ? buffer.part<char>(reply.keys_at[run], found * wanted.key_bytes) : nullptr;
    return piece;
}

// Copies what the pieces have for each item, one piece after the other.
void copy_items(const std::vector<Piece> &pieces, std::uint64_t items, std::uint64_t bytes,
                const char *Piece::*what, char *to) {
    for (std::uint64_t item = 0; item < items; ++item) {
        for (const Piece &piece : pieces) {
            const std::uint64_t first = piece.offsets->data()[item];
            const std::uint64_t here = (piece.offsets->data()[item + 1] - first) * bytes;
            if (here > 0) {
                std::memcpy(to, piece.*what + first * bytes, here);
                to += here;
            }
        }
    }
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

void put_together(Spread &spread, const EntryResults &wanted, const Sums &sums,
                  const PartAnswers<protocol::ResultReply> &answers, protocol::ResultReply *reply) {
    if (!wanted.has_entries) {
        return;
    }
    const TransferBuffer &buffer = spread.whole().connection.buffer;
    const std::size_t runs = spread.runs().size();
    const std::uint64_t sum_bytes = sums.count * sums.bytes;
    std::vector<std::vector<Piece>> pieces(runs);
    std::vector<std::uint64_t> found(runs, 0);
    std::uint64_t bytes = aligned(sum_bytes) + offsets_bytes(runs, wanted.items);
    for (std::size_t run = 0; run < runs; ++run) {
        for (const std::size_t part : pieces_of(spread, run)) {
            pieces[run].push_back(read_piece(spread, part, run, wanted, answers.replies[part]));
            found[run] += pieces[run].back().found(wanted.items);
        }
        bytes += aligned(found[run] * sizeof(Tid)) + aligned(found[run] * wanted.key_bytes);
    }
    require_room(bytes, wanted.capacity);
    NewResults anew(spread, wanted.results, bytes);
    std::uint64_t at = 0;
    char *new_sums = anew.take(sum_bytes, &at);
    if (sum_bytes > 0) {
        std::memcpy(new_sums, buffer.part<char>(answers.places.front().results, sum_bytes), sum_bytes);
    }
    for (std::size_t run = 0; run < runs; ++run) {
        auto *offsets = reinterpret_cast<std::uint64_t *>(
            anew.take((wanted.items + 1) * sizeof(std::uint64_t), &reply->offsets_at[run]));
        std::fill_n(offsets, wanted.items + 1, 0);
        for (const Piece &piece : pieces[run]) {
            for (std::uint64_t item = 0; item <= wanted.items; ++item) {
                offsets[item] += piece.offsets->data()[item];
            }
        }
    }
    for (std::size_t run = 0; run < runs; ++run) {
        char *tids = anew.take(found[run] * sizeof(Tid), &reply->tids_at[run]);
        copy_items(pieces[run], wanted.items, sizeof(Tid), &Piece::tids, tids);
        if (wanted.key_bytes > 0) {
            char *keys = anew.take(found[run] * wanted.key_bytes, &reply->keys_at[run]);
            copy_items(pieces[run], wanted.items, wanted.key_bytes, &Piece::keys, keys);
        }
    }
    anew.write(buffer);
}

// ---- columns ----------------------------------------------------------------------------------------------

namespace {

// How many places a run's counts have; none where only rows are wanted.
std::uint64_t places_of(Spread &spread, std::size_t run, const protocol::AskColumn &request) {
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

void add_counts(const protocol::AskColumn &request, const std::uint64_t *counts, std::uint64_t places,
                bool is_first, std::uint64_t *sums) {
    if (is_first) {
        std::copy_n(counts, places, sums);
    } else if (static_cast<TargetKind>(request.target) == TargetKind::bounds) {
        // How many there are, the least value and the greatest. Of none there are no values.
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

void put_together(Spread &spread, const protocol::AskColumn &request,
                  const PartAnswers<protocol::ColumnReply> &answers, protocol::ColumnReply *reply) {
    const TransferBuffer &buffer = spread.whole().connection.buffer;
    const std::size_t runs = spread.runs().size();
    const bool matches =
        static_cast<protocol::Message>(request.header.type) == protocol::Message::match_column;
    const std::uint64_t row_bytes = matches ? sizeof(Tid) : sizeof(DoubtfulRow);
    std::uint64_t bytes = 0;
    for (std::size_t run = 0; run < runs; ++run) {
        reply->found[run] = 0;
        for (const std::size_t part : pieces_of(spread, run)) {
            reply->found[run] += answers.replies[part].found[run];
        }
        bytes += aligned(places_of(spread, run, request) * sizeof(std::uint64_t)) +
                 aligned(reply->found[run] * row_bytes);
    }
    require_room(bytes, request.capacity);
    NewResults anew(spread, request.results, bytes);
    for (std::size_t run = 0; run < runs; ++run) {
        const std::uint64_t places = places_of(spread, run, request);
        auto *sums = reinterpret_cast<std::uint64_t *>(
            anew.take(places * sizeof(std::uint64_t), &reply->counts_at[run]));
        char *rows = anew.take(reply->found[run] * row_bytes, &reply->found_at[run]);
        bool is_first = true;
        for (const std::size_t part : pieces_of(spread, run)) {
            const protocol::ColumnReply &its = answers.replies[part];
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
