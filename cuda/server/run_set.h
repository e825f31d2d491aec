// The runs that a request asks about.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "server/request.h"

namespace gpu_engine::server {

// It shares the runs' mirrors, so that they stay in memory until the request is answered.
class RunSet {
  public:
    // Looks up `count` runs. When some have no mirror, or a mirror whose dead bitmap is older than asked for,
    // the reply says so and `complete` is false. Throws Failure for too many runs and for mirrors of another
    // key width; for those of grid, column and text that is grid_bits, column_bits and text_bits. Where the
    // work has the request's runs already, these are they. Where it has an engine already, runs that another
    // one has count as lacking.
    RunSet(Work &work, const protocol::RunUse *runs, std::uint32_t count, std::uint32_t key_bits,
           protocol::ReplyHeader &reply);

    bool complete() const noexcept { return complete_; }
    std::size_t size() const noexcept { return mirrors_.size(); }
    // Says whether the run is in the memory of the work's engine. Where a request's runs are on several
    // engines, each part of it asks those that are its own.
    bool is_here(std::size_t i) const noexcept { return mirrors_[i]->held_by == here_; }
    std::size_t count_here() const noexcept;
    void set_here(EngineId id) noexcept { here_ = id; }
    EngineId held_by(std::size_t i) const noexcept { return mirrors_[i]->held_by; }
    std::uint64_t entries(std::size_t i) const noexcept { return entries_of(mirrors_[i]->object); }
    template <typename Key>
    const KaryArray<Key> &kary(std::size_t i) const noexcept {
        return *mirrors_[i]->object.template get<Key>();
    }
    const GridFile &grid(std::size_t i) const noexcept { return *mirrors_[i]->object.grid(); }
    const ColumnStore &column(std::size_t i) const noexcept { return *mirrors_[i]->object.column(); }
    const TextIndex &text(std::size_t i) const noexcept { return *mirrors_[i]->object.text(); }

  private:
    std::vector<std::shared_ptr<Mirror>> mirrors_;
    EngineId here_;
    bool complete_ = false;
};

}  // namespace gpu_engine::server
