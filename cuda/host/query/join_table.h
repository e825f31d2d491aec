// The build side of a join in memory: rows of equal keys lie one behind the other, and a directory says where
// those of a hash, or of a key, are.
//
// After "Simple, Efficient, and Robust Hash Tables for Join Processing" (Birler, Schmidt, Fent, Neumann,
// 2024): no chains, and 16 bits of each place of the directory say which keys aren't there.
#pragma once

#include <vector>

#include "host/parallel.h"
#include "host/query/join_bounds.h"
#include "host/query/load_words.h"
#include "host/query/rows.h"

namespace gpu_engine::host {

class JoinTable {
  public:
    // Of `rows`, which aren't needed afterwards. Throws Failure when there is no memory.
    JoinTable(MemoryBudget &budget, const Workers &workers, const query::Query &query,
              const query::Node &join, const RowParts &rows);

    const JoinPlan &plan() const noexcept { return plan_; }
    // Of the build side, also those that aren't in the table.
    bool has_rows() const noexcept { return has_rows_; }
    bool has_null_key() const noexcept { return has_null_key_; }
    // Those behind the ones that have keys have a NULL key; they are kept where the join gives them.
    std::uint64_t rows() const noexcept { return rows_; }
    // Has no key more than one row?
    bool is_unique() const noexcept { return is_unique_; }

    // Finds the rows of `count` keys, which lie one behind the other. Without keys those are all rows.
    void find(const std::uint64_t *keys, std::uint32_t count, JoinMatches *matches) const;

    // Leaves the rows that may match by the join's bounds, which bound_of gives of the probed row's values.
    JoinMatches narrow(JoinMatches matches, std::int64_t at_most, std::int64_t at_least) const noexcept {
        return bounds_.narrow(matches, at_most, at_least);
    }

    static constexpr std::uint64_t no_row = UINT64_MAX;
    // A column of the build side of rows, row_of(i); it is NULL of no_row.
    template <typename RowOf>
    Vector load(std::uint32_t column, std::uint32_t count, const VectorRoom &room, RowOf row_of) const;

  private:
    struct Entry {
        std::uint64_t code;
        const std::uint64_t *record;  // of the build side
    };
    // Rows of the build side that lie together.
    struct Piece {
        const QueryRows *part;
        std::uint64_t first;
        std::uint64_t end;
        std::uint64_t at;  // number of the first one
    };
    // Where a column is in the table's rows, if it is kept.
    struct Column {
        ValueType type;
        std::uint32_t word;
        std::uint32_t null_bit;
    };
    struct Bounds;

    void lay_out(const Bounds &bounds);
    Bounds look_at(const Workers &workers, const std::vector<Piece> &pieces) const;
    void choose_codes(const Bounds &bounds);
    void write_keys(const std::uint64_t *from, std::uint64_t *keys) const;
    bool has_null(const std::uint64_t *from) const;
    std::uint64_t code_of(const std::uint64_t *keys) const noexcept;
    template <typename Visit>
    void for_records(const Piece &piece, Visit visit) const;
    void fill(MemoryBudget &budget, const Workers &workers, const std::vector<Piece> &pieces);
    void list_keys(MemoryBudget &budget, const Workers &workers);
    void list_existing(MemoryBudget &budget, const Workers &workers, const std::vector<Piece> &pieces);
    void list_key(std::uint64_t key) noexcept;
    bool fill_part(MemoryBudget &budget, std::uint32_t part, const Buffer<Entry> &entries,
                   std::uint64_t first, std::uint64_t end);
    int compare_entries(const Entry &one, const Entry &other, std::uint64_t *keys) const;
    bool order_slot(Entry *first, Entry *end) const;
    void fill_without_keys(MemoryBudget &budget, const Workers &workers, const std::vector<Piece> &pieces);
    void order_by_bounds(Entry *first, Entry *end) const;
    void finish_bounds(std::uint64_t first, std::uint64_t end) noexcept;
    void write_row(const std::uint64_t *from, std::uint64_t row);
    int compare_keys(const std::uint64_t *one, const std::uint64_t *other) const noexcept;
    JoinMatches find_among_many(std::uint64_t first, std::uint64_t end, std::uint64_t code,
                                const std::uint64_t *key) const;
    void find_dense(const std::uint64_t *keys, std::uint32_t count, JoinMatches *matches) const;
    void find_listed(const std::uint64_t *keys, std::uint32_t count, JoinMatches *matches) const;
    void find_existing(const std::uint64_t *keys, std::uint32_t count, JoinMatches *matches) const;
    // With `key_words` words a key; 0: as many as the plan has.
    template <std::uint32_t key_words>
    void find_by_hash(const std::uint64_t *keys, std::uint32_t count, JoinMatches *matches) const;

    const std::uint64_t *record(std::uint64_t row) const noexcept {
        return records_.data() + row * record_words_;
    }

    JoinPlan plan_;
    JoinBounds bounds_;
    bool has_rows_ = false;
    bool has_null_key_ = false;
    bool is_unique_ = true;
    bool is_dense_ = false;  // codes are a key less the least one
    bool has_nulls_ = false;
    std::uint64_t least_ = 0;
    std::uint64_t listed_places_ = 0;  // from the least key on; 0: keys aren't listed
    bool is_listed_alone_ = false;     // there are no rows, since nothing else is asked for
    std::uint64_t slots_ = 0;
    std::uint32_t slot_shift_ = 0;  // of a code, to its slot
    std::uint32_t part_shift_ = 0;  // of a code, to its part
    std::uint64_t keyed_rows_ = 0;
    std::uint64_t rows_ = 0;
    std::uint32_t record_words_ = 0;
    std::vector<Column> columns_;      // by column of the build side
    std::vector<std::uint32_t> kept_;  // those that rows have
    Buffer<std::uint64_t> records_;    // keys, then bits of NULLs, then columns that aren't keys
    // The end of each slot's rows << 16, and a bit for each of their codes; in front of them that of none.
    Buffer<std::uint64_t> directory_;
    Buffer<std::uint64_t> listed_;  // a bit for each place: does any row have the key?
};

template <typename RowOf>
Vector JoinTable::load(std::uint32_t column, std::uint32_t count, const VectorRoom &room,
                       RowOf row_of) const {
    static constexpr std::uint64_t nothing[2] = {0, 0};
    const Column &own = columns_[column];
    return load_words(
        own.type, count, room,
        [&](std::uint32_t i) {
            const std::uint64_t row = row_of(i);
            return row == no_row ? nothing : record(row) + own.word;
        },
        [&](std::uint32_t i) {
            const std::uint64_t row = row_of(i);
            return row == no_row || (has_nulls_ && bit_of(record(row) + plan_.key_words, own.null_bit));
        });
}

}  // namespace gpu_engine::host
