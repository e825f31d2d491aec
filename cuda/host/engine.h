// The host engine: threads, memory, and the parts it is made of.
#pragma once

#include <tbb/task_arena.h>

#include "gpu_engine/engine.h"
#include "gpu_engine/grid.h"
#include "gpu_engine/kary.h"
#include "gpu_engine/text.h"
#include "host/column/column.h"
#include "host/query/queries.h"
#include "host/strings/strings.h"
#include "host/parallel.h"

namespace gpu_engine::host {

class HostEngine;

template <typename Key>
class HostKary final : public Kary<Key> {
  public:
    explicit HostKary(HostEngine &engine) : engine_(engine) {}

    Status open_loader(Stream &stream, std::uint64_t entries,
                       std::unique_ptr<KaryLoader<Key>> *loader) noexcept override;
    std::uint64_t array_bytes(std::uint64_t entries) const noexcept override;
    Status match(Stream &stream, const KaryArray<Key> *const *arrays, std::size_t array_count,
                 const Key *keys, std::uint64_t count,
                 const typename Kary<Key>::PlacesFor &places) noexcept override;

  private:
    HostEngine &engine_;
};

class HostGrid final : public Grid {
  public:
    explicit HostGrid(HostEngine &engine) : engine_(engine) {}

    Status build(Stream &stream, const GridEntries &entries, const GridOptions &options,
                 std::unique_ptr<GridFile> *file) noexcept override;
    Status open_loader(Stream &stream, const GridPageColumns &columns, std::uint64_t entries,
                       std::unique_ptr<GridLoader> *loader) noexcept override;

  private:
    HostEngine &engine_;
};

class HostText final : public Text {
  public:
    explicit HostText(HostEngine &engine) : engine_(engine) {}

    std::uint64_t index_bytes(const TextShape &shape) const noexcept override;
    Status open_loader(Stream &stream, const TextShape &shape,
                       std::unique_ptr<TextLoader> *loader) noexcept override;

  private:
    HostEngine &engine_;
};

class HostEngine final : public Engine {
  public:
    // Returns how many calls may compute at a time. Further ones would wait for these, whatever becomes of
    // them. Beside calls of this engine's own there are those that look strings up for devices.
    static constexpr std::uint32_t callers(std::uint32_t threads) { return 2 * threads + 512; }
    // Its threads have been started (threads.h).
    HostEngine(const EngineOptions &options, std::uint32_t threads)
        : memory_(options.memory_limit),
          threads_(threads),
          arena_(static_cast<int>(threads - 1 + callers(threads)), callers(threads)) {}

    const char *name() const noexcept override { return "host"; }
    MemoryBudget &memory() noexcept override { return memory_; }
    Status open_stream(std::unique_ptr<Stream> *stream) noexcept override;
    Status pin(void *, std::uint64_t) noexcept override { return {}; }
    void unpin(void *) noexcept override {}
    Status keep_blocks(Stream &stream, const KnownBlocks &known,
                       std::unique_ptr<HeapBlocks> *blocks) noexcept override;
    Status describe(DeviceInfo *info) noexcept override;
    Status probe() noexcept override { return {}; }
    Kary<std::uint32_t> &kary32() noexcept override { return kary32_; }
    Kary<std::uint64_t> &kary64() noexcept override { return kary64_; }
    Kary<Key128> &kary128() noexcept override { return kary128_; }
    Grid &grid() noexcept override { return grid_; }
    Column &column() noexcept override { return column_; }
    Text &text() noexcept override { return text_; }
    query::Queries &queries() noexcept override { return queries_; }
    Strings *strings() noexcept override { return &strings_; }

    Workers workers(const Stream &stream) noexcept { return Workers{arena_, threads_, stream}; }

  private:
    MemoryBudget memory_;
    const std::uint32_t threads_;
    // Each caller has a place of its own, which no helper takes.
    tbb::task_arena arena_;
    HostKary<std::uint32_t> kary32_{*this};
    HostKary<std::uint64_t> kary64_{*this};
    HostKary<Key128> kary128_{*this};
    HostGrid grid_{*this};
    HostColumn column_{*this};
    HostText text_{*this};
    HostQueries queries_{*this};
    HostStrings strings_{*this};
};

}  // namespace gpu_engine::host
