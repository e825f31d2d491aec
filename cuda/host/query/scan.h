// Tiles of a scan: rows of runs, and rows that the caller or a node before gives.
#pragma once

#include <vector>

#include "common/query/plan.h"
#include "host/column/load/store.h"
#include "host/query/tile.h"

namespace gpu_engine::host {

// How a scan's columns are read from a run; all threads share it.
class RunReader {
  public:
    struct Column {
        query::RunColumn requested;
        ValueType type;
        std::uint32_t bits;
        std::uint64_t add;            // to a code, where `values` is null
        Int128 factor;                // 10^power
        const std::uint64_t *codes;   // packed
        const std::uint64_t *nulls;   // a bit a row; may be null
        const std::uint64_t *values;  // by code, of a dictionary: integers
        std::uint64_t value_count;
        bool is_narrow;  // a map of int128 whose values all have room in 64 bits
    };

    // Throws Failure for a store of another engine, and when there is no memory.
    RunReader(MemoryBudget &budget, const query::Query &query, const query::Node &scan,
              const query::RunSource &run);

    const StoreParts &parts() const noexcept { return *parts_; }
    const HostColumnStore &store() const noexcept { return *store_; }
    const std::vector<Column> &columns() const noexcept { return columns_; }

  private:
    void add_column(MemoryBudget &budget, const query::RunColumn &requested, ValueType type);

    const HostColumnStore *store_;
    const StoreParts *parts_;
    std::vector<Column> columns_;
    std::vector<Buffer<std::uint64_t>> dictionaries_;
};

class Combinations;

// Selected rows of 16 groups of 64 rows of a run, or combinations of its codes.
class RunTile final : public TileInput {
  public:
    explicit RunTile(MemoryBudget &budget)
        : codes_(budget, query_tile_rows), integers_(budget, query_tile_rows) {}

    void begin(const RunReader &reader, std::uint64_t first, std::uint32_t groups,
               const std::uint64_t *selected) noexcept;
    // `weights` say how many rows have the combinations at these places.
    void begin(const RunReader &reader, const Combinations &combinations, const std::uint32_t *places,
               const std::uint32_t *weights, std::uint32_t count) noexcept;
    Vector load(std::uint32_t column, const VectorRoom &room) override;
    const std::uint32_t *load_weights(std::uint32_t *room) override;

  private:
    template <typename Code>
    void read_codes(std::uint32_t number, const RunReader::Column &column);
    template <typename Code>
    void read_integers(const RunReader::Column &column, std::int64_t *integers);
    template <typename Code>
    void read_map(const RunReader::Column &column, const VectorRoom &room, bool *has_nulls);
    Vector finish(const RunReader::Column &column, const std::int64_t *integers, const VectorRoom &room,
                  const std::uint8_t *nulls);
    // Is the column NULL in any row? nulls[i] says in which, if it may be at all.
    bool add_nulls(std::uint32_t number, const RunReader::Column &column, std::uint8_t *nulls,
                   bool has_nulls) const;

    const RunReader *reader_ = nullptr;
    const Combinations *combinations_ = nullptr;
    const std::uint32_t *combined_ = nullptr;  // places
    const std::uint32_t *weights_ = nullptr;
    std::uint64_t first_ = 0;
    std::uint32_t groups_ = 0;
    std::uint64_t selected_[query_tile_rows / packing::group];
    Buffer<std::uint64_t> codes_;
    Buffer<std::int64_t> integers_;
};

// Rows of a node before, which are records.
class RecordTile final : public TileInput {
  public:
    explicit RecordTile(const query::RecordLayout &layout) : layout_(layout) {}

    void begin(const std::uint64_t *records, std::uint32_t count) noexcept {
        records_ = records;
        begin_all(count);
    }
    Vector load(std::uint32_t column, const VectorRoom &room) override;

  private:
    const query::RecordLayout &layout_;
    const std::uint64_t *records_ = nullptr;
};

// Rows that the caller gives.
class InputTile final : public TileInput {
  public:
    InputTile(const query::InputSource &input, const ValueType *types) : input_(input), types_(types) {}

    void begin(std::uint64_t first, std::uint32_t count) noexcept {
        first_ = first;
        begin_all(count);
    }
    Vector load(std::uint32_t column, const VectorRoom &room) override;

  private:
    const query::InputSource &input_;
    const ValueType *types_;
    std::uint64_t first_ = 0;
};

}  // namespace gpu_engine::host
