// Results that parts have found, put together anew.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>

#include "server/scratch.h"
#include "server/server.h"
#include "server/split_runs.h"

namespace gpu_engine::server {

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
inline void require_room(std::uint64_t bytes, std::uint64_t capacity) {
    if (bytes > capacity) {
        throw Failure{make_status(StatusCode::insufficient_space, "the results don't fit")};
    }
}

// What a part found in a run. The session may change the buffer, so offsets are copied before they are
// checked, and used from there.
struct Piece {
    std::size_t part;
    std::unique_ptr<Scratch<std::uint64_t>> offsets;
    const char *tids;
    const char *keys;

    std::uint64_t found(std::uint64_t items) const { return offsets->data()[items]; }
};

// Throws Failure where it can't be so. `wanted.items` are those that the part was asked.
Piece read_piece(Spread &spread, std::size_t part, std::size_t run, const EntryResults &wanted,
                 const protocol::ResultReply &reply);

}  // namespace gpu_engine::server
