// Kernels report by this flag lists that contradict themselves.
#pragma once

#include "common/text/text.h"
#include "device/call.h"

namespace gpu_engine::device {

class Damage {
  public:
    explicit Damage(const Call &call) : call_(call), flag_(call.buffer<std::uint32_t>(1)) {
        call.fill(flag_.data(), 0, sizeof(std::uint32_t));
    }

    // Kernels set this to 1.
    std::uint32_t *flag() const noexcept { return flag_.data(); }
    // Waits for the work so far. Throws Failure when a list contradicted itself.
    void raise() const {
        std::uint32_t found = 0;
        call_.read(&found, flag_.data(), 1);
        if (found != 0) {
            throw Failure{contradicted_by_list()};
        }
    }

  private:
    const Call &call_;
    Buffer<std::uint32_t> flag_;
};

}  // namespace gpu_engine::device
