// The best documents of a query, as the threads that look for them find them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "common/text/text.h"
#include "host/text/index.h"

namespace gpu_engine::host {

// All pieces of a query share this: documents with lower scores than the threshold can't be among the best.
struct Shared {
    std::atomic<std::int64_t> threshold{0};

    void raise(std::int64_t score) noexcept {
        std::int64_t present = threshold.load(std::memory_order_relaxed);
        while (present < score &&
               !threshold.compare_exchange_weak(present, score, std::memory_order_relaxed)) {}
    }
};

// The best hits of a piece, the worst of them in front.
class Best {
  public:
    Best(MemoryBudget &memory, const TextQuery &query, const TextParts &parts, const DeadBitmap *dead,
         Shared &shared)
        : hits_(memory, query.k), query_(query), parts_(parts), dead_(dead), shared_(shared) {}

    std::int64_t threshold() const noexcept { return shared_.threshold.load(std::memory_order_relaxed); }

    void offer(std::uint32_t ordinal, std::int64_t score) noexcept {
        if (score < threshold() || (dead_ != nullptr && dead_->is_dead(ordinal))) {
            return;
        }
        const Tid tid = parts_.tids[ordinal];
        if (query_.resumes != 0 && (score > query_.score || (score == query_.score && !(query_.tid < tid)))) {
            return;
        }
        const TextHit hit = {score, ordinal, tid, {}};
        TextHit *hits = hits_.data();
        if (count_ == query_.k) {
            if (!ranks_before(hit, hits[0])) {
                return;
            }
            std::pop_heap(hits, hits + count_, ranks_before);
            --count_;
        }
        hits[count_++] = hit;
        std::push_heap(hits, hits + count_, ranks_before);
        if (count_ == query_.k) {
            shared_.raise(hits[0].score);
        }
    }

    // Puts the best hit first.
    void sort() noexcept { std::sort(hits_.data(), hits_.data() + count_, ranks_before); }
    const TextHit *hits() const noexcept { return hits_.data(); }
    std::uint32_t count() const noexcept { return count_; }

  private:
    Buffer<TextHit> hits_;
    std::uint32_t count_ = 0;
    const TextQuery &query_;
    const TextParts &parts_;
    const DeadBitmap *dead_;
    Shared &shared_;
};

}  // namespace gpu_engine::host
