// Where the inverted lists of a run lie that is divided by documents: each part has its stretch of every
// list, in a posting section of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gpu_engine/memory.h"
#include "gpu_engine/text.h"

namespace gpu_engine::server {

// Bytes that are counted in a budget for as long as this lives.
class CountedBytes {
  public:
    explicit CountedBytes(MemoryBudget &memory) noexcept : memory_(&memory) {}
    CountedBytes(const CountedBytes &) = delete;
    CountedBytes &operator=(const CountedBytes &) = delete;
    ~CountedBytes() { memory_->release(bytes_); }

    // Throws Failure when the budget is used up.
    void add(std::uint64_t bytes);

  private:
    MemoryBudget *memory_;
    std::uint64_t bytes_ = 0;
};

// Sessions name a list by its place in the run's posting section, or, where it has one posting, by that
// posting. These are for lists of more than one; all others are found by arithmetic.
class DividedLists {
  public:
    DividedLists(MemoryBudget &memory, const TextShape &run, std::size_t parts);

    // The run's next lists, in the order of their places. Throws Failure for lists that no run has, and where
    // there is no memory for all of them.
    void add(const TextList *lists, std::uint64_t count);
    std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(lists_.size()); }
    struct Whole {
        std::uint64_t offset;
        std::uint64_t bytes;
        std::uint32_t documents;
    };
    const Whole &operator[](std::uint32_t list) const noexcept { return lists_[list]; }

    // Says which documents a part has.
    void set_part(std::size_t part, std::uint32_t first, std::uint32_t documents);
    // Says where a part has its stretch of a list, which is not before those that were placed there. Parts
    // may do so at the same time. Throws Failure where there is no memory.
    void place(std::size_t part, std::uint32_t list, const TextList &own);
    // The lists that a part has, in the order of their places.
    struct Placed {
        std::uint64_t place;  // offset; or ordinal and, in the upper half, frequency
        std::uint64_t bytes;
        std::uint32_t list;  // of the run
        std::uint32_t documents;

        TextList named() const noexcept;
    };
    const std::vector<Placed> &placed(std::size_t part) const noexcept { return parts_[part]->placed; }

    std::uint32_t first(std::size_t part) const noexcept { return parts_[part]->first; }
    // Names a part's stretch of the run's list that is asked for. Returns false where that has no document.
    // Throws Failure when the run has no such list.
    bool find(std::size_t part, const TextList &asked, TextList *own) const;

  private:
    struct Part {
        explicit Part(MemoryBudget &memory) : counted(memory) {}
        std::uint32_t first = 0;
        std::uint32_t documents = 0;
        CountedBytes counted;
        std::vector<Placed> placed;
    };

    const TextShape run_;
    CountedBytes counted_;
    std::vector<Whole> lists_;
    std::vector<std::unique_ptr<Part>> parts_;
};

}  // namespace gpu_engine::server
