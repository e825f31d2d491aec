// A text index in the host's memory.
#pragma once

#include <cstdint>
#include <memory>

#include "common/text/text.h"
#include "common/versioned.h"
#include "host/buffer.h"
#include "host/kary/dead.h"
#include "host/parallel.h"

namespace gpu_engine::host {

class HostEngine;

struct TextParts {
    TextShape shape = {};
    Buffer<std::uint8_t> postings;  // with postings::kPadding more
    Buffer<std::uint32_t> lengths;
    Buffer<Tid> tids;
};

class HostTextIndex final : public TextIndex {
  public:
    HostTextIndex(HostEngine &engine, TextParts parts) : engine_(engine), parts_(std::move(parts)) {}

    const TextShape &shape() const noexcept override { return parts_.shape; }
    std::uint64_t bytes() const noexcept override;
    Status set_dead(Stream &stream, const std::uint64_t *bitmap, std::uint64_t version) noexcept override;
    std::uint64_t dead_version() const noexcept override { return dead_.version(); }
    std::uint64_t dead_entries() const noexcept override;
    Status count_documents(Stream &stream, const TextList *lists, std::uint32_t count,
                           std::uint32_t *documents) const noexcept override;
    Status search(Stream &stream, const TextRanking &ranking, const TextBatch &batch, TextHit *hits,
                  std::uint32_t *counts) const noexcept override;
    Status intersect(Stream &stream, const TextList *lists, std::uint32_t count, Tid *tids,
                     std::uint64_t capacity, std::uint64_t *found) const noexcept override;

  private:
    HostEngine &engine_;
    TextParts parts_;
    Versioned<DeadBitmap> dead_;
};

}  // namespace gpu_engine::host
