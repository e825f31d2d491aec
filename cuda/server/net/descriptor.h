// A file descriptor that is closed with its owner.
#pragma once

#include <unistd.h>

#include <utility>

namespace gpu_engine::server {

class Descriptor {
  public:
    Descriptor() = default;
    explicit Descriptor(int number) noexcept : number_(number) {}
    Descriptor(Descriptor &&other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor &operator=(Descriptor &&other) noexcept {
        Descriptor taken(std::move(other));
        std::swap(number_, taken.number_);
        return *this;
    }
    ~Descriptor() {
        if (number_ >= 0) {
            close(number_);
        }
    }

    int get() const noexcept { return number_; }
    // Hands the descriptor over: from now on the caller closes it.
    int release() noexcept { return std::exchange(number_, -1); }
    bool valid() const noexcept { return number_ >= 0; }

  private:
    int number_ = -1;
};

}  // namespace gpu_engine::server
