// Where a pipeline's rows come from: a run, or columns as arrays.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "device/column/select/select.h"
#include "device/query/program.h"

namespace gpu_engine::query::on_device {

enum class Reading : std::uint8_t {
    integer,
    flag,
    float32,
    float64,
    decimal,
    map,
    code,
    constant,
    row,
    array,
    picked,  // of an array, through numbers of rows
};

// A column as kernels read it.
struct ColumnView {
    Reading reading;
    ValueType type;
    std::uint8_t bits;        // of a code
    std::uint8_t entry_bits;  // of a dictionary's entry
    bool has_dictionary;      // of integers, which are looked up in it
    const std::uint64_t *codes;
    const std::uint64_t *nulls;  // may be null
    const std::uint64_t *dictionary;
    std::uint64_t entries;  // of the dictionary
    std::uint64_t offset;   // with the column's base
    Constant factor;        // of decimals
    // Of a map by code, or of an array by row.
    const std::uint64_t *values;
    const std::uint32_t *rows;         // where it is picked: by row, that of the array. Null: all are NULL
    const std::uint64_t *value_nulls;  // of a map; may be null
    std::uint64_t places;
    bool lacks_codes;  // of a map: the run has codes that aren't there
};

// All in device memory.
struct SourceView {
    const ColumnView *columns;
    const std::uint64_t *selected;  // null: all rows
    std::uint64_t words;            // of `selected`
    std::uint64_t rows;
};

// Rows with columns as arrays, the result of a node. `nulls` of a column has a bit a row, or is empty.
struct Table {
    struct Column {
        ValueType type;
        Buffer<std::uint64_t> values;
        Buffer<std::uint64_t> nulls;
    };
    std::uint64_t rows = 0;
    std::vector<Column> columns;

    // Adds a column of `rows` rows, of which none is NULL yet.
    Column &add(const Call &call, ValueType type, bool may_be_null);
};

inline ArrayColumn array_of(const Table::Column &column) {
    return {column.type, column.values.data(), column.nulls.size() > 0 ? column.nulls.data() : nullptr};
}

// Numbers of rows of two tables, pair by pair, and the tables' columns as they are read through them: those
// of the probed table, then of the build one.
struct JoinedRows {
    Buffer<std::uint32_t> probed;
    Buffer<std::uint32_t> build;
    Buffer<ColumnView> columns;
    std::vector<bool> may_be_null;

    // With room for so many pairs.
    JoinedRows(const Call &call, const Table &probed_table, const Table &build_table, std::uint64_t pairs);
};
enum class JoinSide : std::uint8_t { probed, build };

// A source with what its views point to.
class RowSource {
  public:
    RowSource(const Call &call, const Query &query, const Node &scan, const RunSource &run);
    RowSource(const Call &call, const Query &query, const Node &scan, const InputSource &input);
    RowSource(const Call &call, const Table &table);
    // The first `count` of joined rows, which `list`, if it isn't empty, puts there whenever they are read.
    RowSource(std::shared_ptr<const JoinedRows> joined, std::uint64_t count, std::function<void()> list);
    // The columns of joined rows, of rows of one side alone, which have a bit in `selected` (of
    // selection_words() words).
    RowSource(const Call &call, const Table &probed, const Table &build, JoinSide side,
              Buffer<std::uint64_t> selected);

    // For one kernel, which is launched before any other source's view is taken.
    const SourceView &view() const {
        if (list_) {
            list_();
        }
        return view_;
    }
    bool has_selection() const noexcept { return view_.selected != nullptr; }
    std::uint64_t rows() const noexcept { return view_.rows; }
    bool is_empty() const noexcept { return is_empty_; }
    bool may_be_null(std::size_t column) const { return may_be_null_[column]; }

    // Takes rows that aren't visible out of the selection. Those on unknown blocks are kept; *found, on the
    // device, becomes their number.
    void split_unknown(const Call &call, const KnownBlocks &known, std::uint64_t *found);
    const Buffer<std::uint64_t> &unknown() const noexcept { return unknown_; }
    const device::StoreParts &parts() const noexcept { return *parts_; }
    bool is_run() const noexcept { return parts_ != nullptr; }

  private:
    ColumnView view_of(const Call &call, const RunColumn &column, ValueType type);
    ColumnView view_of_map(const Call &call, const RunColumn &column, const StoredColumn &stored,
                           ColumnView view);
    const std::uint64_t *hold(const Call &call, const std::uint64_t *words, std::uint64_t count);
    const std::uint64_t *hold_nulls(const Call &call, const std::uint64_t *nulls, std::uint64_t count);
    void finish(const Call &call, const std::vector<ColumnView> &columns);

    const device::StoreParts *parts_ = nullptr;
    std::deque<Buffer<std::uint64_t>> arrays_;
    device::HeldBuffers held_;
    device::Selection selection_;
    Buffer<std::uint64_t> unknown_;
    std::shared_ptr<const JoinedRows> joined_;
    std::function<void()> list_;
    Buffer<ColumnView> columns_;
    std::vector<bool> may_be_null_;
    SourceView view_{};
    bool is_empty_ = false;
};

// What is known of columns of these types, which all sources have.
std::vector<SourceColumn> columns_of(const std::deque<RowSource> &sources,
                                     const std::vector<ValueType> &types);

std::vector<ValueType> types_of(const Table &table);
// Of joined rows.
std::vector<ValueType> joined_types(const Table &probed, const Table &build);

}  // namespace gpu_engine::query::on_device
