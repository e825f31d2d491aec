// The runs that a request asks about.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "server/requests/request.h"

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
    // Says whether the run, or a part of it, is in the memory of the work's engine. Where a request's runs
    // are on several engines, each part of it asks what is its own: the following, too, are of that alone.
    bool is_here(std::size_t i) const noexcept { return is_on(i, here_); }
    std::size_t count_here() const noexcept;
    std::uint64_t entries(std::size_t i) const noexcept { return store_of(object_here(i))->entries(); }
    template <typename Key>
    const KaryArray<Key> &kary(std::size_t i) const noexcept {
        return *object_here(i).template get<Key>();
    }
    const GridFile &grid(std::size_t i) const noexcept { return *object_here(i).grid(); }
    const ColumnStore &column(std::size_t i) const noexcept { return *object_here(i).column(); }
    const TextIndex &text(std::size_t i) const noexcept { return *object_here(i).text(); }

    // Returns the parts of the run on all engines, in the order of its entries.
    const std::vector<MirrorPart> &parts(std::size_t i) const noexcept { return mirrors_[i]->parts; }
    bool is_on(std::size_t i, EngineId id) const noexcept { return mirrors_[i]->part_on(id) != nullptr; }
    std::uint64_t entries_on(std::size_t i, EngineId id) const noexcept {
        const MirrorPart *part = mirrors_[i]->part_on(id);
        return part != nullptr ? store_of(part->object)->entries() : 0;
    }
    void set_here(EngineId id) noexcept { here_ = id; }

    const std::shared_ptr<Mirror> &mirror(std::size_t i) const noexcept { return mirrors_[i]; }

  private:
    const AnyObject &object_here(std::size_t i) const noexcept { return mirrors_[i]->part_on(here_)->object; }

    std::vector<std::shared_ptr<Mirror>> mirrors_;
    EngineId here_;
    bool complete_ = false;
};

}  // namespace gpu_engine::server
