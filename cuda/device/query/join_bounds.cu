// The bounds of a join: the rows of each key in an order in which those that a probed row may match lie
// together. See host/query/join_bounds.h.
#include <cub/device/device_scan.cuh>
#include <cuda/std/functional>

#include "device/cub_calls.cuh"
#include "device/query/join_table.cuh"
#include "device/query/join_table.h"
#include "device/query/order.h"
#include "device/query/plain.cuh"

namespace gpu_engine::query::on_device {
namespace {

// NULL is in no range.
constexpr std::uint64_t low_of_null = UINT64_MAX;
constexpr std::uint64_t high_of_null = 0;

struct Greatest {
    __host__ __device__ std::uint64_t operator()(std::uint64_t one, std::uint64_t other) const {
        return one < other ? other : one;
    }
};

__global__ void write_bounds_kernel(const ArrayColumn column, std::uint64_t rows, std::uint64_t of_null,
                                    std::uint64_t *words) {
    const std::uint64_t row = plain_index();
    if (row < rows) {
        words[row] = is_null(column, row) ? of_null : bound_word(column, row);
    }
}

// Rows that have a NULL in their key come last.
__global__ void write_slots_kernel(const JoinTableView table, std::uint64_t *words) {
    const std::uint64_t row = plain_index();
    if (row < table.rows) {
        const RowKey key = {table.columns, table.key_columns, row};
        words[row] = has_null(table, key) ? UINT64_MAX : find_key(table, key).slot;
    }
}

Buffer<std::uint64_t> write_bounds(const Call &call, const Table &rows, std::uint32_t column,
                                   std::uint64_t of_null) {
    Buffer<std::uint64_t> words = call.buffer<std::uint64_t>(rows.rows);
    write_bounds_kernel<<<plain_blocks(rows.rows), plain_threads, 0, call.stream()>>>(
        array_of(rows.columns[column]), rows.rows, of_null, words.data());
    device::check_launch("write_bounds_kernel");
    return words;
}

Buffer<std::uint64_t> in_order(const Call &call, const RowOrder &order, const Buffer<std::uint64_t> &words) {
    Buffer<std::uint64_t> ordered = call.buffer<std::uint64_t>(order.count());
    gather_words(call, words.data(), order.rows(), order.count(), 1, ordered.data());
    return ordered;
}

// The greatest word so far, of the rows of the same slot.
Buffer<std::uint64_t> greatest_so_far(const Call &call, const Buffer<std::uint64_t> &words,
                                      const Buffer<std::uint64_t> &slots) {
    Buffer<std::uint64_t> greatest = call.buffer<std::uint64_t>(words.size());
    device::with_scratch_memory(call, "DeviceScan", [&](void *scratch, std::size_t &bytes) {
        if (slots.size() == 0) {
            return cub::DeviceScan::InclusiveScan(scratch, bytes, words.data(), greatest.data(), Greatest(),
                                                  words.size(), call.stream());
        }
        return cub::DeviceScan::InclusiveScanByKey(scratch, bytes, slots.data(), words.data(),
                                                   greatest.data(), Greatest(), words.size(),
                                                   cuda::std::equal_to<>(), call.stream());
    });
    return greatest;
}

}  // namespace

void JoinTable::order_rows(const Call &call, std::optional<std::uint32_t> at_most,
                           std::optional<std::uint32_t> at_least) {
    // Of a key that has one row there is nothing to leave out.
    const bool has_keys = view_.key_count > 0;
    if ((!at_most && !at_least) || view_.rows == 0 || (has_keys && is_unique_)) {
        return;
    }
    Buffer<std::uint64_t> lows;
    Buffer<std::uint64_t> highs;
    if (at_most) {
        lows = write_bounds(call, rows_, *at_most, low_of_null);
    }
    if (at_least) {
        highs = write_bounds(call, rows_, *at_least, high_of_null);
    }
    RowOrder order(call, view_.rows);
    order.order_by(at_most ? lows.data() : highs.data());
    Buffer<std::uint64_t> slots;
    if (has_keys) {
        slots = call.buffer<std::uint64_t>(view_.rows);
        write_slots_kernel<<<plain_blocks(view_.rows), plain_threads, 0, call.stream()>>>(view_,
                                                                                          slots.data());
        device::check_launch("write_slots_kernel");
        order.order_by(slots.data());
        slots = in_order(call, order, slots);
    } else {
        rows_by_slot_ = call.buffer<std::uint32_t>(view_.rows);
    }
    call.copy(rows_by_slot_.data(), order.rows(), view_.rows);
    view_.rows_by_slot = rows_by_slot_.data();
    if (at_most) {
        lows_ = in_order(call, order, lows);
        view_.lows = lows_.data();
    }
    if (at_least) {
        reached_ = greatest_so_far(call, in_order(call, order, highs), slots);
        view_.reached = reached_.data();
    }
}

}  // namespace gpu_engine::query::on_device
