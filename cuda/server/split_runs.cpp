#include "server/split_runs.h"

#include <algorithm>
#include <cstring>

#include "server/new_results.h"

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

// ---- entries ----------------------------------------------------------------------------------------------

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

std::vector<std::vector<MatchPart>> pieces_of_runs(Spread &spread) {
    std::vector<std::vector<MatchPart>> pieces(spread.runs().size());
    for (std::size_t run = 0; run < pieces.size(); ++run) {
        for (const std::size_t part : pieces_of(spread, run)) {
            pieces[run].push_back({part, 0});
        }
    }
    return pieces;
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
