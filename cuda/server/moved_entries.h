// What an engine has of a run on its way to another one, through the machine's memory, which counts it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "server/request.h"
#include "server/scratch.h"
#include "server/server.h"

namespace gpu_engine::server {

// Entries of a sorted array.
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

// A grid file as it is: the other engine needn't build it anew, and knows its dead entries.
class MovedGrid {
  public:
    void read(Work &work, const GridFile &file) {
        bytes_ = file.image_bytes();
        image_.emplace(work.server().engines().host().memory(), bytes_ / sizeof(std::uint64_t) + 1);
        check(file.write_image(*work.stream, reinterpret_cast<char *>(image_->data())));
    }
    // Makes the file on the work's engine, which must be of the same kind.
    std::unique_ptr<GridFile> load(Work &work) const {
        std::unique_ptr<GridFile> file;
        check(with_room(work, [&] {
            return work.engine->grid().load_image(
                *work.stream, reinterpret_cast<const char *>(image_->data()), bytes_, &file);
        }));
        return file;
    }

  private:
    std::uint64_t bytes_ = 0;
    std::optional<Scratch<std::uint64_t>> image_;
};

}  // namespace gpu_engine::server
