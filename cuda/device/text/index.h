// A text index in a device's memory.
#pragma once

#include <cstdint>

#include "common/text/text.h"
#include "device/store.h"

namespace gpu_engine::device {

// Lanes behind the last posting of a block read as if it had 128 of 32 bits.
inline constexpr std::uint32_t posting_padding = 1024;

// Returns a number that orders TIDs.
__host__ __device__ inline std::uint64_t tid_number(const Tid &tid) {
    return static_cast<std::uint64_t>(tid.block_high) << 32 |
           static_cast<std::uint64_t>(tid.block_low) << 16 | tid.offset;
}

// An index as kernels see it.
struct TextView {
    const std::uint32_t *postings;  // the posting section
    const std::uint32_t *lengths;
    const std::uint16_t *short_lengths;
    const Tid *tids;
    std::uint32_t documents;
    postings::Codec codec;
    DeadView dead;
};

// Longer documents have this among the short lengths.
inline constexpr std::uint32_t highest_short_length = 0xffff;

// A list as kernels see it, which lies within the posting section.
struct ListView {
    std::uint64_t offset;
    std::uint64_t data_bytes;  // without the heads behind them
    std::uint32_t documents;
    std::uint32_t blocks;
    std::uint32_t ordinal;  // ordinal of a single posting
    std::uint32_t frequency;
};

// Throws Failure when the list can't lie there.
ListView view_of(const TextShape &shape, const TextList &list);

struct TextParts {
    TextShape shape = {};
    Buffer<char> postings;
    Buffer<std::uint32_t> lengths;
    Buffer<std::uint16_t> short_lengths;
    Buffer<Tid> tids;
};

class DeviceTextIndex final : public DeviceStore<TextIndex> {
  public:
    DeviceTextIndex(DeviceEngine &engine, TextParts parts)
        : DeviceStore(engine, parts.shape.documents), parts_(std::move(parts)) {}

    const TextShape &shape() const noexcept override { return parts_.shape; }
    std::uint64_t bytes() const noexcept override;
    Status count_documents(Stream &stream, const TextList *lists, std::uint32_t count,
                           std::uint32_t *documents) const noexcept override;
    Status search(Stream &stream, const TextRanking &ranking, const TextBatch &batch, TextHit *hits,
                  std::uint32_t *counts) const noexcept override;
    Status intersect(Stream &stream, const TextList *lists, std::uint32_t count, Tid *tids,
                     std::uint64_t capacity, std::uint64_t *found) const noexcept override;

    const TextParts &parts() const noexcept { return parts_; }
    // Returns the index as kernels see it, until the device has finished the call.
    TextView view(const Call &call) const;

  private:
    TextParts parts_;
};

}  // namespace gpu_engine::device
