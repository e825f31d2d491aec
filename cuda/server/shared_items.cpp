#include "server/shared_items.h"

#include <cstring>

#include "server/new_results.h"

#include "gpu_engine/boundary.h"

namespace gpu_engine::server {

std::vector<ItemShare> share_items(std::uint64_t items, std::size_t engines) {
    constexpr std::uint64_t granule = 64;
    const std::uint64_t even = (items / engines / granule + 1) * granule;
    std::vector<ItemShare> shares;
    std::uint64_t first = 0;
    for (std::size_t engine = 0; engine < engines; ++engine) {
        const std::uint64_t count = std::min(even, items - first);
        shares.push_back({first, count});
        first += count;
    }
    return shares;
}

std::vector<std::vector<MatchPart>> shares_of_runs(const Spread &spread,
                                                   const std::vector<ItemShare> &shares) {
    std::vector<MatchPart> parts;
    for (std::size_t part = 0; part < shares.size(); ++part) {
        parts.push_back({part, shares[part].first});
    }
    return std::vector<std::vector<MatchPart>>(spread.runs().size(), parts);
}

void put_shares_together(Spread &spread, const EntryResults &wanted, const Sums &sums,
                         const std::vector<ItemShare> &shares,
                         const PartAnswers<protocol::ResultReply> &answers, protocol::ResultReply *reply) {
    const TransferBuffer &buffer = spread.whole().connection.buffer;
    const std::size_t runs = wanted.has_entries ? spread.runs().size() : 0;
    std::vector<std::vector<Piece>> pieces(runs);
    std::vector<std::uint64_t> found(runs, 0);
    std::uint64_t bytes = aligned(sums.count * sums.bytes) + offsets_bytes(runs, wanted.items);
    for (std::size_t run = 0; run < runs; ++run) {
        for (std::size_t part = 0; part < shares.size(); ++part) {
            EntryResults of_share = wanted;
            of_share.items = shares[part].count;
            pieces[run].push_back(read_piece(spread, part, run, of_share, answers.replies[part]));
            found[run] += pieces[run].back().found(of_share.items);
        }
        bytes += aligned(found[run] * sizeof(Tid)) + aligned(found[run] * wanted.key_bytes);
    }
    require_room(bytes, wanted.capacity);
    NewResults anew(spread, wanted.results, bytes);
    std::uint64_t at = 0;
    char *new_sums = anew.take(sums.count * sums.bytes, &at);
    for (std::size_t part = 0; part < shares.size() && sums.count > 0; ++part) {
        const std::uint64_t share_bytes = shares[part].count * sums.bytes;
        if (share_bytes > 0) {
            std::memcpy(new_sums + shares[part].first * sums.bytes,
                        buffer.part<char>(answers.places[part].results, share_bytes), share_bytes);
        }
    }
    for (std::size_t run = 0; run < runs; ++run) {
        auto *offsets = reinterpret_cast<std::uint64_t *>(
            anew.take((wanted.items + 1) * sizeof(std::uint64_t), &reply->offsets_at[run]));
        std::uint64_t before = 0;
        for (std::size_t part = 0; part < shares.size(); ++part) {
            const std::uint64_t *of_share = pieces[run][part].offsets->data();
            for (std::uint64_t item = 0; item <= shares[part].count; ++item) {
                offsets[shares[part].first + item] = before + of_share[item];
            }
            before += pieces[run][part].found(shares[part].count);
        }
    }
    const auto copy = [&](std::size_t run, const char *Piece::*what, std::uint64_t each, char *to) {
        for (std::size_t part = 0; part < shares.size(); ++part) {
            const Piece &piece = pieces[run][part];
            const std::uint64_t here = piece.found(shares[part].count) * each;
            if (here > 0) {
                std::memcpy(to, piece.*what, here);
                to += here;
            }
        }
    };
    for (std::size_t run = 0; run < runs; ++run) {
        copy(run, &Piece::tids, sizeof(Tid), anew.take(found[run] * sizeof(Tid), &reply->tids_at[run]));
        if (wanted.key_bytes > 0) {
            copy(run, &Piece::keys, wanted.key_bytes,
                 anew.take(found[run] * wanted.key_bytes, &reply->keys_at[run]));
        }
    }
    anew.write(buffer);
}

}  // namespace gpu_engine::server
