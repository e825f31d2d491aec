// Columns of a run in device memory.
#pragma once

#include "common/column/layout.h"
#include "common/column/tids.h"
#include "device/store.h"
#include "gpu_engine/column.h"

namespace gpu_engine::device {

// The parts that a loader fills and a store reads.
struct StoreParts {
    StoreLayout layout;
    KeptStream kept;
    Buffer<std::uint64_t> words;  // words of the stream, as `kept` says
    Buffer<Span> spans;
    Buffer<std::uint64_t> bitmaps;
    SpanCount count;

    StoreParts(const Call &call, const StoreLayout &store_layout)
        : layout(store_layout),
          kept(keep_stream(store_layout)),
          words(call.buffer<std::uint64_t>(kept.words)),
          spans(call.buffer<Span>(max_span_words(store_layout))),
          bitmaps(call.buffer<std::uint64_t>(max_span_words(store_layout))) {}

    std::uint64_t bytes() const noexcept { return words.bytes() + spans.bytes() + bitmaps.bytes(); }

    // Returns null when the column has no NULLs.
    const std::uint64_t *null_bits(std::uint32_t column) const noexcept {
        return layout.column[column].null_bits.words > 0 ? words.data() + kept.column[column].null_bits
                                                         : nullptr;
    }
    const std::uint64_t *codes(std::uint32_t column) const noexcept {
        return words.data() + kept.column[column].codes;
    }
    const std::uint64_t *dictionary(std::uint32_t column) const noexcept {
        return words.data() + kept.column[column].dictionary;
    }
};

class DeviceColumnStore final : public DeviceStore<ColumnStore> {
  public:
    DeviceColumnStore(DeviceEngine &engine, StoreParts parts)
        : DeviceStore(engine, parts.layout.rows), parts_(std::move(parts)) {}

    std::uint64_t bytes() const noexcept override { return parts_.bytes() + dead_bytes(); }
    const StoreLayout &layout() const noexcept override { return parts_.layout; }

    Status count(Stream &stream, const ColumnTest *tests, std::uint32_t test_count,
                 const ColumnTarget &target, const HeapBlocks *blocks, std::uint64_t *counts,
                 UnresolvedRow *unresolved, std::uint64_t capacity,
                 std::uint64_t *found) const noexcept override;
    Status match(Stream &stream, const ColumnTest *tests, std::uint32_t test_count, Tid *tids,
                 std::uint64_t capacity, std::uint64_t *found) const noexcept override;

    const StoreParts &parts() const noexcept { return parts_; }

  private:
    const StoreParts parts_;
};

}  // namespace gpu_engine::device
