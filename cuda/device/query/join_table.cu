#include "device/query/join_table.h"

#include <algorithm>
#include <bit>

#include "device/cub_calls.cuh"
#include "device/query/join_table.cuh"
#include "device/query/plain.cuh"

namespace gpu_engine::query::on_device {
namespace {

// A slot of a table by hash has a number of 32 bits, and half of them are free.
constexpr std::uint64_t max_build_rows = std::uint64_t(1) << 30;
constexpr std::uint64_t least_slots_of_join = 64;
// A dense table has at most so many slots a row; one by hash takes as much memory.
constexpr std::uint64_t dense_slots_a_row = 8;
constexpr std::uint64_t least_dense_slots = 1 << 16;

__global__ void find_bounds_kernel(const JoinTableView table, KeyFacts *facts) {
    const std::uint64_t step = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
    long long least = INT64_MAX;
    long long greatest = INT64_MIN;
    for (std::uint64_t row = plain_index(); row < table.rows; row += step) {
        const RowKey key = {table.columns, table.key_columns, row};
        if (!key.is_null(0)) {
            const auto word = static_cast<long long>(key.word(0, 0));
            least = min(least, word);
            greatest = max(greatest, word);
        }
    }
    for (int distance = 16; distance > 0; distance /= 2) {
        least = min(least, __shfl_down_sync(UINT32_MAX, least, distance));
        greatest = max(greatest, __shfl_down_sync(UINT32_MAX, greatest, distance));
    }
    if (threadIdx.x % 32 == 0 && least <= greatest) {
        atomicMin(&facts->least, least);
        atomicMax(&facts->greatest, greatest);
    }
}

// Puts a row into its slot. Returns false where a row with that key is there. Keys lie in the table, which
// nobody writes, so a row can be compared as soon as its number is in a slot.
__device__ bool insert_dense(const JoinTableView &table, std::uint32_t row, const RowKey &key) {
    return atomicCAS(table.dense_slots + (key.word(0, 0) - table.least), no_row, row) == no_row;
}
__device__ bool insert_by_hash(const JoinTableView &table, std::uint32_t row, const RowKey &key) {
    const std::uint64_t hash = hash_of_key(table, key);
    for (std::uint64_t slot = hash & (table.slot_count - 1);; slot = (slot + 1) & (table.slot_count - 1)) {
        std::uint64_t entry = __ldcg(table.slots + slot);
        if (entry == free_slot) {
            entry = atomicCAS(reinterpret_cast<unsigned long long *>(table.slots) + slot,
                              static_cast<unsigned long long>(free_slot),
                              static_cast<unsigned long long>(entry_of(hash, row)));
            if (entry == free_slot) {
                return true;
            }
        }
        if (may_have_hash(entry, hash) && has_key(table, static_cast<std::uint32_t>(entry), key)) {
            return false;
        }
    }
}

__global__ void insert_keys_kernel(const JoinTableView table, KeyFacts *facts) {
    const std::uint64_t row = plain_index();
    if (row >= table.rows) {
        return;
    }
    const RowKey key = {table.columns, table.key_columns, row};
    if (has_null(table, key)) {
        facts->has_null_key = 1;
        return;
    }
    const auto number = static_cast<std::uint32_t>(row);
    const bool is_first =
        table.slots == nullptr ? insert_dense(table, number, key) : insert_by_hash(table, number, key);
    if (!is_first) {
        facts->has_equal_keys = 1;
    }
}

// Counts the rows of each slot, or gives each of them its place among all rows, where places begin at
// `counts`.
__global__ void place_rows_kernel(const JoinTableView table, std::uint32_t *counts,
                                  std::uint32_t *rows_by_slot) {
    const std::uint64_t row = plain_index();
    if (row >= table.rows) {
        return;
    }
    const RowKey key = {table.columns, table.key_columns, row};
    if (has_null(table, key)) {
        return;
    }
    const std::uint32_t place = atomicAdd(counts + find_key(table, key).slot, 1U);
    if (rows_by_slot != nullptr) {
        rows_by_slot[place] = static_cast<std::uint32_t>(row);
    }
}

}  // namespace

Buffer<ArrayColumn> upload_columns(const Call &call, const Table &table) {
    std::vector<ArrayColumn> columns;
    for (const Table::Column &column : table.columns) {
        columns.push_back(array_of(column));
    }
    return upload(call, columns);
}

JoinTable::JoinTable(const Call &call, const Table &rows, const std::vector<std::uint32_t> &key_columns)
    : rows_(rows),
      columns_(upload_columns(call, rows)),
      key_columns_(upload(call, key_columns)),
      facts_(call.buffer<KeyFacts>(1)) {
    if (rows.rows > max_build_rows) {
        throw Failure{make_status(StatusCode::unavailable, "the build side of a join has too many rows")};
    }
    view_.columns = columns_.data();
    view_.rows = rows.rows;
    view_.key_columns = key_columns_.data();
    view_.key_count = static_cast<std::uint32_t>(key_columns.size());
    if (key_columns.empty()) {
        return;
    }
    const KeyFacts nothing = {0, 0, INT64_MAX, INT64_MIN};
    call.copy(facts_.data(), &nothing, 1);
    choose_slots(call, key_columns.size() == 1 && rows.columns[key_columns[0]].type == ValueType::int64);
    if (rows.rows == 0) {
        return;
    }
    insert_keys_kernel<<<plain_blocks(rows.rows), plain_threads, 0, call.stream()>>>(view_, facts_.data());
    device::check_launch("insert_keys_kernel");
    const KeyFacts facts = read_facts(call);
    is_unique_ = facts.has_equal_keys == 0;
    has_null_key_ = facts.has_null_key != 0;
}

KeyFacts JoinTable::read_facts(const Call &call) const {
    return device::read_element(call, static_cast<const KeyFacts *>(facts_.data()));
}

void JoinTable::choose_slots(const Call &call, bool is_integer) {
    if (is_integer && view_.rows > 0) {
        const unsigned blocks =
            std::min(plain_blocks(view_.rows), static_cast<unsigned>(call.engine().multiprocessors()) * 8);
        find_bounds_kernel<<<blocks, plain_threads, 0, call.stream()>>>(view_, facts_.data());
        device::check_launch("find_bounds_kernel");
        const KeyFacts facts = read_facts(call);
        const std::uint64_t distance =
            static_cast<std::uint64_t>(facts.greatest) - static_cast<std::uint64_t>(facts.least);
        if (facts.least <= facts.greatest &&
            distance < std::max(least_dense_slots, dense_slots_a_row * view_.rows)) {
            view_.least = static_cast<std::uint64_t>(facts.least);
            view_.span = distance + 1;
            dense_slots_ = call.buffer<std::uint32_t>(view_.span);
            view_.dense_slots = dense_slots_.data();
            call.fill(dense_slots_.data(), 0xff, view_.span * sizeof(std::uint32_t));
            return;
        }
    }
    view_.slot_count = std::bit_ceil(std::max(least_slots_of_join, 2 * view_.rows));
    slots_ = call.buffer<std::uint64_t>(view_.slot_count);
    view_.slots = slots_.data();
    call.fill(slots_.data(), 0xff, view_.slot_count * sizeof(std::uint64_t));
}

void JoinTable::list_rows_by_key(const Call &call) {
    if (is_unique_ || ends_.size() > 0) {
        return;
    }
    const std::uint64_t slots = view_.slots == nullptr ? view_.span : view_.slot_count;
    ends_ = call.buffer<std::uint32_t>(slots);
    rows_by_slot_ = call.buffer<std::uint32_t>(view_.rows);
    call.fill(ends_.data(), 0, slots * sizeof(std::uint32_t));
    const unsigned blocks = plain_blocks(view_.rows);
    place_rows_kernel<<<blocks, plain_threads, 0, call.stream()>>>(view_, ends_.data(), nullptr);
    device::check_launch("place_rows_kernel");
    // Where the rows of a slot begin; each row that is placed there moves it on, to their end at last.
    device::exclusive_sums(call, static_cast<const std::uint32_t *>(ends_.data()), ends_.data(), slots);
    place_rows_kernel<<<blocks, plain_threads, 0, call.stream()>>>(view_, ends_.data(), rows_by_slot_.data());
    device::check_launch("place_rows_kernel");
    view_.ends = ends_.data();
    view_.rows_by_slot = rows_by_slot_.data();
}

BuildSide JoinTable::side() const {
    std::vector<SourceColumn> columns;
    for (const Table::Column &column : rows_.columns) {
        columns.push_back({column.type, column.nulls.size() > 0});
    }
    return {view_, std::move(columns), is_unique_, has_null_key_};
}

}  // namespace gpu_engine::query::on_device
