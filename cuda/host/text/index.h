// A text index in the host's memory.
#pragma once

#include <cstdint>

#include "common/text/text.h"
#include "host/buffer.h"
#include "host/store.h"

namespace gpu_engine::host {

struct TextParts {
    TextShape shape = {};
    Buffer<std::uint8_t> postings;  // with postings::kPadding more
    Buffer<std::uint32_t> lengths;
    Buffer<Tid> tids;
};

class HostTextIndex final : public HostStore<TextIndex> {
  public:
    HostTextIndex(HostEngine &engine, TextParts parts)
        : HostStore(engine, parts.shape.documents), parts_(std::move(parts)) {}

    const TextShape &shape() const noexcept override { return parts_.shape; }
    std::uint64_t bytes() const noexcept override;
    Status count_documents(Stream &stream, const TextList *lists, std::uint32_t count,
                           std::uint32_t *documents) const noexcept override;
    Status search(Stream &stream, const TextRanking &ranking, const TextBatch &batch, TextHit *hits,
                  std::uint32_t *counts) const noexcept override;
    Status intersect(Stream &stream, const TextList *lists, std::uint32_t count, Tid *tids,
                     std::uint64_t capacity, std::uint64_t *found) const noexcept override;

  private:
    TextParts parts_;
};

}  // namespace gpu_engine::host
