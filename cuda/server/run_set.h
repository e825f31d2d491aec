// The runs that a question asks.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "server/request.h"

namespace gpu_engine::server {

// Shares of their mirrors, so that these stay until the question is answered.
class RunSet {
  public:
    // Looks up `count` runs. When some aren't there, or their dead bitmaps are older than asked for, the
    // reply says so and `complete` is false. Throws Failure for too many runs and for mirrors of another key
    // width; those of grid have grid_bits, of column column_bits, of text text_bits.
    RunSet(Work &work, const protocol::RunUse *runs, std::uint32_t count, std::uint32_t key_bits,
           protocol::ReplyHeader &reply);

    bool complete() const noexcept { return complete_; }
    std::size_t size() const noexcept { return mirrors_.size(); }
    template <typename Key>
    const KaryArray<Key> &kary(std::size_t i) const noexcept {
        return *mirrors_[i]->object.template get<Key>();
    }
    const GridFile &grid(std::size_t i) const noexcept { return *mirrors_[i]->object.grid(); }
    const ColumnStore &column(std::size_t i) const noexcept { return *mirrors_[i]->object.column(); }
    const TextIndex &text(std::size_t i) const noexcept { return *mirrors_[i]->object.text(); }

  private:
    std::vector<std::shared_ptr<Mirror>> mirrors_;
    bool complete_ = false;
};

}  // namespace gpu_engine::server
