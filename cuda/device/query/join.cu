// Joins whose probed rows have several matches, or whose build rows matter though they have none: the probed
// rows are a table, and the pairs of rows whose keys are equal are listed.
#include <algorithm>

#include "device/column/select/codes.cuh"
#include "device/cub_calls.cuh"
#include "device/query/join_table.cuh"
#include "device/query/operators.h"
#include "device/query/plain.cuh"

namespace gpu_engine::query::on_device {
namespace {

// Rows have numbers of 32 bits.
constexpr std::uint64_t max_probed_rows = UINT32_MAX;
// So many pairs are looked at at a time where a filter leaves few of them.
constexpr std::uint64_t pairs_at_a_time = std::uint64_t(1) << 25;
// Nobody has memory for more, and their bytes can be counted.
constexpr std::uint64_t max_pairs = std::uint64_t(1) << 40;
constexpr std::uint32_t pairs_a_lane = 8;
constexpr std::uint32_t pairs_a_warp = 32 * pairs_a_lane;

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

// Keeps the pairs that have passed.
__global__ void keep_pairs_kernel(const std::uint32_t *rows, const uint4 *passed, const std::uint64_t *places,
                                  std::uint64_t lots, std::uint32_t *kept) {
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint64_t lot = plain_index() / 32;
    if (lot >= lots) {
        return;
    }
    const uint4 bits = passed[lot];
    const std::uint32_t words[] = {bits.x, bits.y, bits.z, bits.w};
    std::uint64_t place = places[lot];
#pragma unroll
    for (std::uint32_t i = 0; i < device::words_a_warp; ++i) {
        if ((words[i] >> lane & 1) != 0) {
            kept[place + __popc(words[i] & ((1U << lane) - 1))] =
                rows[lot * device::rows_a_warp + i * 32 + lane];
        }
        place += __popc(words[i]);
    }
}

__global__ void mark_rows_kernel(const std::uint32_t *rows, std::uint64_t count, std::uint64_t *marks) {
    const std::uint64_t i = plain_index();
    if (i >= count) {
        return;
    }
    // Most rows of many pairs have their mark already.
    const std::uint32_t row = rows[i];
    const std::uint64_t seen = *static_cast<volatile std::uint64_t *>(marks + row / 64);
    if ((seen >> (row % 64) & 1) == 0) {
        atomicOr(reinterpret_cast<unsigned long long *>(marks) + row / 64, 1ULL << (row % 64));
    }
}

// Marks those of `rows` rows that had no mark, and no others.
__global__ void invert_marks_kernel(std::uint64_t *marks, std::uint64_t words, std::uint64_t rows) {
    const std::uint64_t word = plain_index();
    if (word < words) {
        const std::uint64_t first = word * 64;
        const std::uint64_t all = first + 64 <= rows ? UINT64_MAX
                                  : first < rows     ? (std::uint64_t(1) << (rows - first)) - 1
                                                     : 0;
        marks[word] = ~marks[word] & all;
    }
}

class Joiner {
  public:
    Joiner(const Call &call, const Query &query, const QueryData &data, const Node &join, const Table &probed,
           const Table &build, JoinTable &table)
        : call_(call), query_(query), data_(data), join_(join), probed_(probed), build_(build) {
        if (probed.rows > max_probed_rows) {
            throw Failure{
                make_status(StatusCode::unavailable, "the probed side of a join has too many rows")};
        }
        table.list_rows_by_key(call);
        table_ = table.side().view;
    }

    std::deque<RowSource> rows() {
        const JoinKind kind = join_.join;
        const bool gives_pairs = kind == JoinKind::inner || kind == JoinKind::left ||
                                 kind == JoinKind::right || kind == JoinKind::full;
        const bool marks_probed = kind != JoinKind::inner && kind != JoinKind::right;
        const bool marks_build = kind == JoinKind::right || kind == JoinKind::full;
        if (marks_probed) {
            probed_marks_ = begin_marks(probed_.rows);
        }
        if (marks_build) {
            build_marks_ = begin_marks(build_.rows);
        }
        list_pairs(gives_pairs);
        if (kind == JoinKind::semi) {
            add_rows(JoinSide::probed, probed_.rows, std::move(probed_marks_));
        } else if (marks_probed) {
            invert(probed_marks_, probed_.rows);
            add_rows(JoinSide::probed, probed_.rows, std::move(probed_marks_));
        }
        if (marks_build) {
            invert(build_marks_, build_.rows);
            add_rows(JoinSide::build, build_.rows, std::move(build_marks_));
        }
        return std::move(sources_);
    }

  private:
    Buffer<std::uint64_t> begin_marks(std::uint64_t rows) const {
        Buffer<std::uint64_t> marks = call_.buffer<std::uint64_t>(device::selection_words(rows));
        call_.fill(marks.data(), 0, marks.size() * sizeof(std::uint64_t));
        return marks;
    }
    void mark(const Buffer<std::uint32_t> &rows, const Buffer<std::uint64_t> &marks) const {
        if (marks.size() > 0 && rows.size() > 0) {
            mark_rows_kernel<<<plain_blocks(rows.size()), plain_threads, 0, call_.stream()>>>(
                rows.data(), rows.size(), marks.data());
            device::check_launch("mark_rows_kernel");
        }
    }
    void invert(const Buffer<std::uint64_t> &marks, std::uint64_t rows) const {
        if (marks.size() > 0) {
            invert_marks_kernel<<<plain_blocks(marks.size()), plain_threads, 0, call_.stream()>>>(
                marks.data(), marks.size(), rows);
            device::check_launch("invert_marks_kernel");
        }
    }
    void add_rows(JoinSide side, std::uint64_t rows, Buffer<std::uint64_t> selected) {
        if (rows > 0) {
            sources_.emplace_back(call_, probed_, build_, side, std::move(selected));
        }
    }

    // Finds how many pairs each probed row has.
    void count_matches() {
        offsets_ = call_.buffer<std::uint64_t>(probed_.rows + 1);
        call_.fill(offsets_.data() + probed_.rows, 0, sizeof(std::uint64_t));
        std::vector<std::uint32_t> keys;
        for (std::uint32_t k = 0; k < join_.join_keys.count; k += 2) {
            keys.push_back(query_.outputs[join_.join_keys.first + k]);
        }
        const Buffer<ArrayColumn> columns = upload_columns(call_, probed_);
        const Buffer<std::uint32_t> key_columns = upload(call_, keys);
        firsts_ = call_.buffer<std::uint32_t>(keys.empty() ? 0 : probed_.rows);
        // Without a filter one match is as good as many, where it only matters whether there is one.
        const bool one_will_do =
            join_.filter == no_step && (join_.join == JoinKind::semi || join_.join == JoinKind::anti);
        const MatchView view = {
            table_,         columns.data(), key_columns.data(), probed_.rows, one_will_do ? 1 : UINT64_MAX,
            firsts_.data(), offsets_.data()};
        count_matches_kernel<<<plain_blocks(probed_.rows), plain_threads, 0, call_.stream()>>>(view);
        device::check_launch("count_matches_kernel");
        device::exclusive_sums(call_, static_cast<const std::uint64_t *>(offsets_.data()), offsets_.data(),
                               probed_.rows + 1);
    }

    void list_pairs(bool gives_pairs) {
        if (probed_.rows == 0 || build_.rows == 0) {
            return;
        }
        count_matches();
        const std::uint64_t count = device::read_element(call_, offsets_.data() + probed_.rows);
        const std::uint64_t most = join_.filter != no_step ? pairs_at_a_time : count;
        for (std::uint64_t first = 0; first < count; first += most) {
            Pairs pairs = pairs_of(first, std::min(most, count - first));
            if (join_.filter != no_step) {
                pairs = filtered(std::move(pairs));
            }
            mark(pairs.probed, probed_marks_);
            mark(pairs.build, build_marks_);
            if (gives_pairs && pairs.count() > 0) {
                sources_.emplace_back(call_, probed_, build_, std::move(pairs));
            }
        }
    }

    Pairs make_pairs(std::uint64_t count) const {
        if (count > max_pairs) {
            throw Failure{make_status(StatusCode::out_of_memory, "there is no memory for a join's rows")};
        }
        return {call_.buffer<std::uint32_t>(count), call_.buffer<std::uint32_t>(count)};
    }

    Pairs pairs_of(std::uint64_t first, std::uint64_t count) const {
        Pairs pairs = make_pairs(count);
        const PairView view = {offsets_.data(), probed_.rows, firsts_.data(),      table_.rows_by_slot,
                               first,           count,        pairs.probed.data(), pairs.build.data()};
        list_pairs_kernel<<<plain_blocks((count + pairs_a_lane - 1) / pairs_a_lane), plain_threads, 0,
                            call_.stream()>>>(view);
        device::check_launch("list_pairs_kernel");
        return pairs;
    }

    // Those of the pairs for which the filter is true.
    Pairs filtered(Pairs pairs) const {
        const std::uint64_t lots = (pairs.count() + device::rows_a_warp - 1) / device::rows_a_warp;
        std::deque<RowSource> sources;
        sources.emplace_back(call_, probed_, build_, std::move(pairs));
        Composer composer(columns_of(sources, joined_types(probed_, build_)));
        composer.add_filter(query_, join_);
        composer.columns.clear();
        const Passed passed = select_passing(call_, data_, composer, sources[0]);
        Pairs kept = make_pairs(passed.count);
        if (passed.count > 0) {
            keep(sources[0].pairs().probed, passed, lots, kept.probed);
            keep(sources[0].pairs().build, passed, lots, kept.build);
        }
        return kept;
    }
    void keep(const Buffer<std::uint32_t> &rows, const Passed &passed, std::uint64_t lots,
              const Buffer<std::uint32_t> &kept) const {
        keep_pairs_kernel<<<plain_blocks(lots * 32), plain_threads, 0, call_.stream()>>>(
            rows.data(), passed.rows.data(), passed.places.data(), lots, kept.data());
        device::check_launch("keep_pairs_kernel");
    }

    const Call &call_;
    const Query &query_;
    const QueryData &data_;
    const Node &join_;
    const Table &probed_;
    const Table &build_;
    JoinTableView table_;
    Buffer<std::uint64_t> offsets_;
    Buffer<std::uint32_t> firsts_;
    Buffer<std::uint64_t> probed_marks_;
    Buffer<std::uint64_t> build_marks_;
    std::deque<RowSource> sources_;
};

}  // namespace

std::deque<RowSource> join_rows(const Call &call, const Query &query, const QueryData &data, const Node &join,
                                const Table &probed, const Table &build, JoinTable &table) {
    return Joiner(call, query, data, join, probed, build, table).rows();
}

}  // namespace gpu_engine::query::on_device
