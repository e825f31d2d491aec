// Finding keys in the build side of a join.
#pragma once

#include "common/query/mix_key.h"
#include "common/query/operation.h"
#include "device/query/join_view.h"

namespace gpu_engine::query::on_device {

// The first word of a value of a key: equal values have equal ones.
GPU_ENGINE_BOTH std::uint64_t key_word(ValueType type, std::uint64_t low) {
    return type == ValueType::float64   ? bits_of_float(key_of_float(float_of_bits(low)))
           : type == ValueType::boolean ? (low != 0 ? 1 : 0)
                                        : low;
}

__device__ inline std::uint32_t words_of_key(ValueType type) {
    return type == ValueType::int128 ? 2 : 1;
}

__device__ inline bool is_null(const ArrayColumn &column, std::uint64_t row) {
    return column.nulls != nullptr && (column.nulls[row / 64] >> (row % 64) & 1) != 0;
}

// A word that has the order of an integer column's values, or of a float column's.
__device__ inline std::uint64_t bound_word(const ArrayColumn &column, std::uint64_t row) {
    const std::uint64_t word = column.values[row];
    return column.type == ValueType::float64 ? order_of_float(float_of_bits(word))
                                             : order_of_integer(static_cast<std::int64_t>(word));
}

// Columns of rows as keys: word `word` of key `key` of a row.
struct RowKey {
    const ArrayColumn *columns;
    const std::uint32_t *numbers;
    std::uint64_t row;

    __device__ ValueType type(std::uint32_t key) const { return columns[numbers[key]].type; }
    __device__ bool is_null(std::uint32_t key) const {
        return on_device::is_null(columns[numbers[key]], row);
    }
    __device__ std::uint64_t word(std::uint32_t key, std::uint32_t word) const {
        const ArrayColumn &column = columns[numbers[key]];
        return column.type == ValueType::int128 ? column.values[2 * row + word]
                                                : key_word(column.type, column.values[row]);
    }
};

// Rows with a NULL in their key match none.
__device__ inline bool has_null(const JoinTableView &table, const RowKey &key) {
    for (std::uint32_t k = 0; k < table.key_count; ++k) {
        if (key.is_null(k)) {
            return true;
        }
    }
    return false;
}

// A Key gives the words of a row's keys, as RowKey does.
template <typename Key>
__device__ std::uint64_t hash_of_key(const JoinTableView &table, const Key &key) {
    std::uint64_t hash = 0;
    for (std::uint32_t k = 0; k < table.key_count; ++k) {
        const ValueType type = table.columns[table.key_columns[k]].type;
        for (std::uint32_t word = 0; word < words_of_key(type); ++word) {
            hash = mix_key(hash, key.word(k, word));
        }
    }
    return hash;
}
template <typename Key>
__device__ bool has_key(const JoinTableView &table, std::uint32_t row, const Key &key) {
    const RowKey there = {table.columns, table.key_columns, row};
    for (std::uint32_t k = 0; k < table.key_count; ++k) {
        for (std::uint32_t word = 0; word < words_of_key(there.type(k)); ++word) {
            if (there.word(k, word) != key.word(k, word)) {
                return false;
            }
        }
    }
    return true;
}

// Where a key is.
struct KeySlot {
    std::uint64_t slot;
    std::uint32_t row;  // no_row: nowhere
};

GPU_ENGINE_BOTH std::uint64_t entry_of(std::uint64_t hash, std::uint32_t row) {
    return (hash & ~std::uint64_t(UINT32_MAX)) | row;
}
__device__ inline bool may_have_hash(std::uint64_t entry, std::uint64_t hash) {
    return (entry ^ hash) >> 32 == 0;
}

__device__ inline KeySlot find_dense(const JoinTableView &table, std::uint64_t word) {
    const std::uint64_t slot = word - table.least;
    return {slot, slot < table.span ? table.dense_slots[slot] : no_row};
}
template <typename Key>
__device__ KeySlot find_key(const JoinTableView &table, const Key &key) {
    if (table.slots == nullptr) {
        return find_dense(table, key.word(0, 0));
    }
    const std::uint64_t hash = hash_of_key(table, key);
    std::uint64_t slot = hash & (table.slot_count - 1);
    for (std::uint64_t entry = table.slots[slot]; entry != free_slot; entry = table.slots[slot]) {
        if (may_have_hash(entry, hash) && has_key(table, static_cast<std::uint32_t>(entry), key)) {
            return {slot, static_cast<std::uint32_t>(entry)};
        }
        slot = (slot + 1) & (table.slot_count - 1);
    }
    return {slot, no_row};
}

}  // namespace gpu_engine::query::on_device
