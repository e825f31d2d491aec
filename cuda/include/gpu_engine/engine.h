// An engine is what computes: a device (`cuda`) or the machine's processors (`host`). Both answer the same
// calls with the same results.
//
// Calls are synchronous: when one returns, its results are in place and it has let go of its arguments. Calls
// on different streams run beside each other. Where a call takes arrays, they may lie in the host's memory,
// pinned or not; the cuda engine also takes pointers into its device's memory. Memory that others write to
// meanwhile makes results wrong but never makes a call reach beyond its arguments, apart from Kary::build and
// Kary::load.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "gpu_engine/devices.h"
#include "gpu_engine/entry.h"
#include "gpu_engine/heap_blocks.h"
#include "gpu_engine/interface.h"
#include "gpu_engine/memory.h"
#include "gpu_engine/status.h"

namespace gpu_engine {

// A caller's place of work. One call at a time; it must not outlive its engine.
class Stream : public Interface {
  public:
    // Any thread may cancel: the call that runs on this stream, or else the next one, ends with
    // StatusCode::cancelled at its next cancellation point, some milliseconds of work later at most. It lasts
    // until `resume`.
    void cancel() noexcept { cancelled_.store(true, std::memory_order_relaxed); }
    void resume() noexcept { cancelled_.store(false, std::memory_order_relaxed); }
    bool cancelled() const noexcept { return cancelled_.load(std::memory_order_relaxed); }

  private:
    std::atomic<bool> cancelled_{false};
};

// A run's entries, rows or documents in the engine's memory, some of which may be dead.
class Store : public Interface {
  public:
    virtual std::uint64_t entries() const noexcept = 0;
    // Returns the bytes of the engine's memory, those of the dead bitmap included.
    virtual std::uint64_t bytes() const noexcept = 0;

    // Marks entries dead: bit i % 64 of word i / 64 is that of the i-th entry that was given; bits beyond the
    // last one are ignored. Calls that run meanwhile use the old bitmap or the new one as a whole. `version`
    // is the caller's and must not fall (invalid_argument). A null `bitmap` clears all.
    virtual Status set_dead(Stream &stream, const std::uint64_t *bitmap, std::uint64_t version) noexcept = 0;
    virtual std::uint64_t dead_version() const noexcept = 0;
    virtual std::uint64_t dead_entries() const noexcept = 0;
};

template <typename Key>
class Kary;
class Grid;
class Column;
class Text;
class Strings;
namespace query {
class Queries;
}

class Engine : public Interface {
  public:
    // Returns "cuda" or "host".
    virtual const char *name() const noexcept = 0;
    // Counts the memory of all of this engine's arrays and running calls.
    virtual MemoryBudget &memory() noexcept = 0;
    // About what loading a mebibyte of pages takes of it beside what is loaded, until they are there.
    virtual std::uint64_t loading_bytes() const noexcept { return 0; }
    virtual Status open_stream(std::unique_ptr<Stream> *stream) noexcept = 0;

    // Makes whole pages of the caller's memory quick to copy to and from the device, until `unpin`. This
    // costs some 100 us a MiB. The host engine does nothing.
    virtual Status pin(void *memory, std::uint64_t bytes) noexcept = 0;
    virtual void unpin(void *memory) noexcept = 0;

    // Copies the facts of heap blocks to where this engine reads them, once for all requests that are asked
    // under the same visibility. Row words beyond max_row_words are invalid_argument.
    virtual Status keep_blocks(Stream &stream, const KnownBlocks &known,
                               std::unique_ptr<HeapBlocks> *blocks) noexcept = 0;

    // Describes the device that it computes on; `unavailable` for the host engine.
    virtual Status describe(DeviceInfo *info) noexcept = 0;
    // Says whether calls can still succeed. A device that failed once stays lost until the process ends.
    virtual Status probe() noexcept = 0;

    // These return the operations on sorted arrays (gpu_engine/kary.h).
    virtual Kary<std::uint32_t> &kary32() noexcept = 0;
    virtual Kary<std::uint64_t> &kary64() noexcept = 0;
    virtual Kary<Key128> &kary128() noexcept = 0;

    // Returns the operations on grid files (gpu_engine/grid.h).
    virtual Grid &grid() noexcept = 0;
    // Returns the operations on mirrors of runs of columns (gpu_engine/column.h).
    virtual Column &column() noexcept = 0;
    // Returns the operations on inverted lists (gpu_engine/text.h).
    virtual Text &text() noexcept = 0;
    // Queries over columns (gpu_engine/query/query.h).
    virtual query::Queries &queries() noexcept = 0;
    // Dictionaries of strings, whichever engine has their runs (gpu_engine/strings.h). Only the host engine
    // has them: null of others.
    virtual Strings *strings() noexcept { return nullptr; }
};

struct EngineOptions {
    std::uint64_t memory_limit = UINT64_MAX;  // bytes
    std::int32_t device = 0;                  // cuda: which one
    std::int32_t threads = 0;                 // host: how many; 0 is one a processor
    // cuda: a block's shared memory, where it is to be less than the device has. Tests play smaller devices
    // so.
    std::uint64_t shared_bytes = UINT64_MAX;
};

namespace host {
Status open_engine(const EngineOptions &options, std::unique_ptr<Engine> *engine) noexcept;
}  // namespace host

// These functions exist only in builds with PG_GPU_HAVE_CUDA.
namespace device {
// Makes a context on the device, which costs memory there beyond the limit: for the server process only.
// Without a driver or that device the status is `unavailable`.
Status open_engine(const EngineOptions &options, std::unique_ptr<Engine> *engine) noexcept;
}  // namespace device

}  // namespace gpu_engine
