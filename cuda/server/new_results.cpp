#include "server/new_results.h"

#include <algorithm>

#include "gpu_engine/boundary.h"

namespace gpu_engine::server {

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

}  // namespace gpu_engine::server
