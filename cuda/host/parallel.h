// Loops over all of the engine's threads, with a cancellation point before each piece.
#pragma once

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <cassert>
#include <cstdint>

#include "common/cancel.h"

namespace gpu_engine::host {

// The threads that a call computes with: the engine's, and the caller's stream.
struct Workers {
    tbb::task_arena &arena;
    const Stream &stream;

    // Calls body(first, last) for pieces of [0, count) of `grain` elements or a few more.
    template <typename Body>
    void for_pieces(std::uint64_t count, std::uint64_t grain, Body &&body) const {
        assert(grain > 0);
        if (count <= grain) {
            check_cancelled(stream);
            if (count > 0) {
                body(std::uint64_t(0), count);
            }
            return;
        }
        const std::uint64_t pieces = (count + grain - 1) / grain;
        arena.execute([&] {
            tbb::parallel_for(tbb::blocked_range<std::uint64_t>(0, pieces), [&](const auto &range) {
                for (std::uint64_t piece = range.begin(); piece != range.end(); ++piece) {
                    check_cancelled(stream);
                    const std::uint64_t first = piece * grain;
                    body(first, first + grain < count ? first + grain : count);
                }
            });
        });
    }
};

}  // namespace gpu_engine::host
