// Maps of codes that a device keeps between queries.
#pragma once

#include "device/query/program.h"

namespace gpu_engine::query::on_device {

class DeviceKeptMap final : public KeptMap {
  public:
    DeviceKeptMap(const Call &call, const MapValues &values);

    std::uint64_t bytes() const noexcept override { return values_.bytes() + nulls_.bytes(); }
    std::uint64_t places() const noexcept { return places_; }
    std::uint32_t words() const noexcept { return words_; }
    // In device memory.
    const std::uint64_t *values() const noexcept { return values_.data(); }
    const std::uint64_t *nulls() const noexcept { return nulls_.data(); }

  private:
    const std::uint64_t places_;
    const std::uint32_t words_;
    Buffer<std::uint64_t> values_;
    Buffer<std::uint64_t> nulls_;  // empty: none is NULL
};

// Throws Failure for another engine's, and for one of values of another size.
const DeviceKeptMap &kept_map_of(const RunColumn &column, std::uint32_t words);

}  // namespace gpu_engine::query::on_device
