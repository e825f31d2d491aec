// Columns of a run in the host's memory.
#pragma once

#include "common/column/layout.h"
#include "common/column/tids.h"
#include "gpu_engine/column.h"
#include "host/buffer.h"
#include "host/store.h"

namespace gpu_engine::host {

// The parts that a loader fills and a store reads.
struct StoreParts {
    StoreLayout layout;
    KeptStream kept;
    Buffer<std::uint64_t> words;  // words of the stream, as `kept` says
    Buffer<Span> spans;
    Buffer<std::uint64_t> bitmaps;
    SpanCount count;

    StoreParts(MemoryBudget &budget, const StoreLayout &store_layout)
        : layout(store_layout),
          kept(keep_stream(store_layout)),
          words(budget, kept.words),
          spans(budget, max_span_words(store_layout)),
          bitmaps(budget, max_span_words(store_layout)) {}

    std::uint64_t bytes() const noexcept { return words.bytes() + spans.bytes() + bitmaps.bytes(); }
};

class HostColumnStore final : public HostStore<ColumnStore> {
  public:
    HostColumnStore(HostEngine &engine, StoreParts parts)
        : HostStore(engine, parts.layout.rows), parts_(std::move(parts)) {}

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

}  // namespace gpu_engine::host
