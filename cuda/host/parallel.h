// Work for all of the engine's threads, with cancellation points.
#pragma once

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>
#include <tbb/task_arena.h>

#include <cassert>
#include <cstdint>

#include "common/cancel.h"
#include "gpu_engine/current_request.h"

namespace gpu_engine::host {

// The threads that a call computes with, and the caller's stream. The caller's own thread does nothing but
// the call's work, and goes on with it whether or not others come to help. So no call waits for another
// one's, but for the end of a piece that a helper has begun.
struct Workers {
    tbb::task_arena &arena;
    std::uint32_t threads;  // that work for one call at a time
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
        execute([&, request = current_request] {
            tbb::parallel_for(tbb::blocked_range<std::uint64_t>(0, pieces), [&](const auto &range) {
                const OnRequest on(request);
                for (std::uint64_t piece = range.begin(); piece != range.end(); ++piece) {
                    check_cancelled(stream);
                    const std::uint64_t first = piece * grain;
                    body(first, first + grain < count ? first + grain : count);
                }
            });
        });
    }

    // A comparison that is a cancellation point, for what goes through all elements without another one.
    template <typename Before>
    auto cancellable(const Before &is_before) const {
        return [&is_before, &its_stream = stream](const auto &a, const auto &b) {
            check_cancelled(its_stream);
            return is_before(a, b);
        };
    }

    // Where it is cancelled the elements are anything.
    template <typename Element, typename Before>
    void sort(Element *first, Element *last, const Before &is_before) const {
        check_cancelled(stream);
        execute([&] { tbb::parallel_sort(first, last, cancellable(is_before)); });
    }

  private:
    // Isolated, a thread that waits for its own pieces takes none of other calls'.
    template <typename Body>
    void execute(const Body &body) const {
        arena.execute([&] { tbb::this_task_arena::isolate(body); });
    }
};

}  // namespace gpu_engine::host
