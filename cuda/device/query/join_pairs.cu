#include "device/query/join_pairs.h"

#include <algorithm>

#include "common/query/plan.h"
#include "device/cub_calls.cuh"
#include "device/query/join_table.cuh"
#include "device/query/plain.cuh"

namespace gpu_engine::query::on_device {
namespace {

// Rows have numbers of 32 bits.
constexpr std::uint64_t max_probed_rows = UINT32_MAX;
// Nobody waits for more, and their bytes can be counted.
constexpr std::uint64_t max_pairs = std::uint64_t(1) << 40;
constexpr std::uint32_t pairs_a_lane = 8;
constexpr std::uint32_t pairs_a_warp = 32 * pairs_a_lane;
// A query can be cancelled each time that so many pieces have been listed.
constexpr std::uint32_t pieces_a_wait = 32;

struct MatchView {
    JoinTableView table;
    const ArrayColumn *columns;  // of the probed rows
    const std::uint32_t *key_columns;
    std::uint64_t rows;
    std::uint64_t most;     // matches that are wanted of a row
    std::uint32_t *firsts;  // the place of a row's first match. Null: all matches begin at 0
    std::uint64_t *counts;
};

__global__ void count_matches_kernel(const __grid_constant__ MatchView view) {
    const std::uint64_t row = plain_index();
    if (row >= view.rows) {
        return;
    }
    std::uint64_t count = 0;
    if (view.firsts == nullptr) {
        count = view.table.rows;
    } else {
        const RowKey key = {view.columns, view.key_columns, row};
        std::uint32_t first = 0;
        if (!has_null(view.table, key)) {
            const KeySlot found = find_key(view.table, key);
            if (found.row != no_row && view.table.ends != nullptr) {
                first = found.slot == 0 ? 0 : view.table.ends[found.slot - 1];
                count = view.table.ends[found.slot] - first;
            } else if (found.row != no_row) {
                first = found.row;
                count = 1;
            }
        }
        view.firsts[row] = first;
    }
    view.counts[row] = min(count, view.most);
}

struct PairView {
    const std::uint64_t *offsets;  // by probed row: how many pairs those before have
    std::uint64_t rows;
    const std::uint32_t *firsts;
    const std::uint32_t *rows_by_slot;  // null: a place is a row
    std::uint64_t begin;
    std::uint64_t count;
    std::uint32_t *probed;
    std::uint32_t *build;
};

// The row between `low` and `high` that has a pair: the last one whose pairs don't begin behind it.
__device__ std::uint64_t row_of_pair(const std::uint64_t *offsets, std::uint64_t low, std::uint64_t high,
                                     std::uint64_t pair) {
    while (low < high) {
        const std::uint64_t middle = low + (high - low + 1) / 2;
        if (offsets[middle] <= pair) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

// A warp lists consecutive pairs, however many rows they are of.
__global__ void list_pairs_kernel(const __grid_constant__ PairView view) {
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint64_t first = plain_index() / 32 * pairs_a_warp;
    if (first >= view.count) {
        return;
    }
    const std::uint64_t last = min(first + pairs_a_warp, view.count) - 1;
    std::uint64_t low = row_of_pair(view.offsets, 0, view.rows - 1, view.begin + (lane == 0 ? first : last));
    const std::uint64_t high = __shfl_sync(UINT32_MAX, low, 31);
    low = __shfl_sync(UINT32_MAX, low, 0);
    for (std::uint64_t i = first + lane; i <= last; i += 32) {
        const std::uint64_t pair = view.begin + i;
        const std::uint64_t row = row_of_pair(view.offsets, low, high, pair);
        const std::uint64_t place =
            (view.firsts == nullptr ? 0 : view.firsts[row]) + (pair - view.offsets[row]);
        view.probed[i] = static_cast<std::uint32_t>(row);
        view.build[i] =
            view.rows_by_slot == nullptr ? static_cast<std::uint32_t>(place) : view.rows_by_slot[place];
    }
}

}  // namespace

JoinPairs::JoinPairs(const Call &call, const Query &query, const Node &join, const Table &probed,
                     const Table &build, const JoinTableView &table, std::uint64_t at_a_time)
    : call_(call), table_(table), probed_rows_(probed.rows) {
    if (probed.rows > max_probed_rows) {
        throw Failure{make_status(StatusCode::unavailable, "the probed side of a join has too many rows")};
    }
    std::vector<std::uint32_t> keys;
    for (std::uint32_t k = 0; k < join.join_keys.count; k += 2) {
        keys.push_back(query.outputs[join.join_keys.first + k]);
    }
    const Buffer<ArrayColumn> columns = upload_columns(call, probed);
    const Buffer<std::uint32_t> key_columns = upload(call, keys);
    firsts_ = call.buffer<std::uint32_t>(keys.empty() ? 0 : probed.rows);
    offsets_ = call.buffer<std::uint64_t>(probed.rows + 1);
    call.fill(offsets_.data() + probed.rows, 0, sizeof(std::uint64_t));
    // Without a filter one match is as good as many, where it only matters whether there is one.
    const bool one_will_do = join.filter == no_step && !gives_build(join.join);
    const MatchView view = {
        table,          columns.data(), key_columns.data(), probed.rows, one_will_do ? 1 : UINT64_MAX,
        firsts_.data(), offsets_.data()};
    count_matches_kernel<<<plain_blocks(probed.rows), plain_threads, 0, call.stream()>>>(view);
    device::check_launch("count_matches_kernel");
    device::exclusive_sums(call, static_cast<const std::uint64_t *>(offsets_.data()), offsets_.data(),
                           probed.rows + 1);
    count_ = device::read_element(call, offsets_.data() + probed.rows);
    if (count_ > max_pairs) {
        throw Failure{make_status(StatusCode::out_of_memory, "a join has too many rows")};
    }
    joined_ = std::make_unique<JoinedRows>(call, probed, build, std::min(count_, at_a_time));
}

void JoinPairs::list(std::uint64_t first, std::uint64_t count) const {
    if (++pieces_ % pieces_a_wait == 0) {
        call_.wait();
    }
    const PairView view = {offsets_.data(), probed_rows_, firsts_.data(),         table_.rows_by_slot,
                           first,           count,        joined_->probed.data(), joined_->build.data()};
    list_pairs_kernel<<<plain_blocks((count + pairs_a_lane - 1) / pairs_a_lane), plain_threads, 0,
                        call_.stream()>>>(view);
    device::check_launch("list_pairs_kernel");
}

}  // namespace gpu_engine::query::on_device
