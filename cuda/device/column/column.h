// The cuda engine's columns.
#pragma once

#include "gpu_engine/column.h"

namespace gpu_engine::device {

class DeviceEngine;

class DeviceColumn final : public Column {
  public:
    explicit DeviceColumn(DeviceEngine &engine) : engine_(engine) {}

    Status open_loader(Stream &stream, const StoreLayout &layout,
                       std::unique_ptr<ColumnLoader> *loader) noexcept override;
    std::uint64_t store_bytes(const StoreLayout &layout) const noexcept override;
    Status merge_dictionaries(Stream &stream, const Dictionary<std::uint64_t> &main,
                              const Dictionary<std::uint64_t> &delta,
                              MergedDictionary<std::uint64_t> *merged) noexcept override;

  private:
    DeviceEngine &engine_;
};

}  // namespace gpu_engine::device
