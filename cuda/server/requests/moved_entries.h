// Entries of sorted arrays on their way from an engine to another one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "server/requests/request.h"
#include "server/requests/scratch.h"
#include "server/server.h"

namespace gpu_engine::server {

// They go through the machine's memory, which counts them.
template <typename Key>
class MovedEntries {
  public:
    void read(Work &work, const KaryArray<Key> &array) {
        MemoryBudget &memory = work.server().engines().host().memory();
        count_ = array.entries();
        keys_.emplace(memory, count_);
        tids_.emplace(memory, count_);
        check(array.read(*work.stream, 0, count_, keys_->data(), tids_->data()));
    }
    // Makes an array of them on the work's engine.
    std::unique_ptr<KaryArray<Key>> load(Work &work) const {
        std::unique_ptr<KaryArray<Key>> array;
        check(with_room(work, [&] {
            return kary<Key>(*work.engine).load(*work.stream, keys_->data(), tids_->data(), count_, &array);
        }));
        return array;
    }
    void forget() {
        keys_.reset();
        tids_.reset();
    }

  private:
    std::uint64_t count_ = 0;
    std::optional<Scratch<Key>> keys_;
    std::optional<Scratch<Tid>> tids_;
};

}  // namespace gpu_engine::server
