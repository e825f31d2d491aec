// The dictionaries of a run, in the machine's memory.
#pragma once

#include "common/column/layout.h"
#include "gpu_engine/strings.h"
#include "host/buffer.h"
#include "host/strings/entries.h"

namespace gpu_engine::host {

class HostRunStrings final : public RunStrings {
  public:
    HostRunStrings(const StoreLayout &layout, const KeptStream &kept, Buffer<std::uint64_t> words)
        : layout_(layout), kept_(kept), words_(std::move(words)) {}

    std::uint64_t bytes() const noexcept override { return words_.bytes(); }
    const StoreLayout &layout() const noexcept override { return layout_; }
    // Returns the dictionary of a column that it has.
    StringArea area(std::uint32_t column) const noexcept {
        const StoredColumn &stored = layout_.column[column];
        return {reinterpret_cast<const std::uint8_t *>(words_.data() + kept_.column[column].dictionary),
                stored.string_bytes, words_.data() + kept_.column[column].blocks, stored.distinct};
    }

  private:
    const StoreLayout layout_;
    const KeptStream kept_;
    const Buffer<std::uint64_t> words_;
};

}  // namespace gpu_engine::host
