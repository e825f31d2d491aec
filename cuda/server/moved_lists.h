// Inverted lists on their way from an engine to another one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "server/request.h"

namespace gpu_engine::server {

// They go through the machine's memory, which counts them, a piece at a time: the list section may take
// gigabytes. Numbers of documents stay what they are, so lists are copied as they are stored, and dead
// documents are copied as such.
class MovedLists {
  public:
    // Has `body` compute on an engine. Throws what `body` throws, and Failure where there is no place.
    using OnEngine = std::function<void(Work &work, const std::function<void()> &body)>;

    MovedLists(Work &source, Work &target, OnEngine on_engine)
        : source_(source), target_(target), on_engine_(std::move(on_engine)) {}

    // Makes an index on the target's engine. Nothing leaves to make room for it. *dead_version says which
    // documents are dead in it. Throws Failure.
    std::unique_ptr<TextIndex> copy(const TextIndex &index, std::uint64_t *dead_version);

  private:
    void copy_postings(const TextIndex &index, TextLoader *loader);
    void copy_documents(const TextIndex &index, TextLoader *loader);
    MemoryBudget &memory() const;

    Work &source_;
    Work &target_;
    const OnEngine on_engine_;
};

}  // namespace gpu_engine::server
