// The host engine's columns.
#pragma once

#include "gpu_engine/column.h"

namespace gpu_engine::host {

class HostEngine;

class HostColumn final : public Column {
  public:
    explicit HostColumn(HostEngine &engine) : engine_(engine) {}

    Status open_loader(Stream &stream, const StoreLayout &layout,
                       std::unique_ptr<ColumnLoader> *loader) noexcept override;
    std::uint64_t store_bytes(const StoreLayout &layout) const noexcept override;
    Status merge_dictionaries(Stream &stream, const Dictionary<std::uint64_t> &main,
                              const Dictionary<std::uint64_t> &delta,
                              MergedDictionary<std::uint64_t> *merged) noexcept override;

  private:
    HostEngine &engine_;
};

}  // namespace gpu_engine::host
