// Joins whose probed rows have several matches, or whose build rows matter though they have none: the probed
// rows are a table, and the pairs of rows whose keys are equal are listed.
#include <algorithm>

#include "common/query/plan.h"
#include "device/column/select/codes.cuh"
#include "device/query/join_pairs.h"
#include "device/query/operators.h"
#include "device/query/plain.cuh"

namespace gpu_engine::query::on_device {
namespace {

// Pairs are listed so many at a time: what reads them needn't wait for all, nor they have memory.
constexpr std::uint64_t pairs_at_a_time = std::uint64_t(1) << 24;

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
        table.list_rows_by_key(call);
        table.order_rows(call, bound_column(query, join.at_most, JoinSide::build),
                         bound_column(query, join.at_least, JoinSide::build));
        table_ = table.side().view;
    }

    std::deque<RowSource> rows() {
        const JoinKind kind = join_.join;
        const bool marks_probed = keeps_probed(kind) || !gives_build(kind);
        if (marks_probed) {
            probed_marks_ = begin_marks(probed_.rows);
        }
        if (keeps_build(kind)) {
            build_marks_ = begin_marks(build_.rows);
        }
        list_pairs();
        if (kind == JoinKind::semi) {
            add_rows(JoinSide::probed, probed_.rows, std::move(probed_marks_));
        } else if (marks_probed) {
            invert(probed_marks_, probed_.rows);
            add_rows(JoinSide::probed, probed_.rows, std::move(probed_marks_));
        }
        if (keeps_build(kind)) {
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
    void mark(const JoinedRows &joined, std::uint64_t count) const {
        mark(joined.probed, count, probed_marks_);
        mark(joined.build, count, build_marks_);
    }
    void mark(const Buffer<std::uint32_t> &rows, std::uint64_t count,
              const Buffer<std::uint64_t> &marks) const {
        if (marks.size() > 0) {
            mark_rows_kernel<<<plain_blocks(count), plain_threads, 0, call_.stream()>>>(rows.data(), count,
                                                                                        marks.data());
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

    void list_pairs() {
        if (probed_.rows == 0 || build_.rows == 0) {
            return;
        }
        const auto pairs =
            std::make_shared<const JoinPairs>(call_, query_, join_, probed_, build_, table_, pairs_at_a_time);
        const std::shared_ptr<const JoinedRows> joined(pairs, &pairs->joined());
        const bool has_marks = probed_marks_.size() > 0 || build_marks_.size() > 0;
        for (std::uint64_t first = 0; first < pairs->count(); first += pairs_at_a_time) {
            const std::uint64_t count = std::min(pairs_at_a_time, pairs->count() - first);
            const auto list = [pairs, first, count] { pairs->list(first, count); };
            if (join_.filter != no_step) {
                list_passing(RowSource(joined, count, list), *joined);
                continue;
            }
            if (has_marks) {
                list();
                mark(*joined, count);
            }
            if (gives_build(join_.join)) {
                sources_.emplace_back(joined, count, list);
            }
        }
    }

    // Takes those of the pairs for which the filter is true.
    void list_passing(RowSource source, const JoinedRows &joined) {
        const std::uint64_t lots = (source.rows() + device::rows_a_warp - 1) / device::rows_a_warp;
        std::deque<RowSource> sources;
        sources.push_back(std::move(source));
        Composer composer(columns_of(sources, joined_types(probed_, build_)));
        composer.add_filter(query_, join_);
        composer.columns.clear();
        const Passed passed = select_passing(call_, data_, composer, sources[0]);
        if (passed.count == 0) {
            return;
        }
        const auto kept = std::make_shared<const JoinedRows>(call_, probed_, build_, passed.count);
        keep(joined.probed, passed, lots, kept->probed);
        keep(joined.build, passed, lots, kept->build);
        mark(*kept, passed.count);
        if (gives_build(join_.join)) {
            sources_.emplace_back(kept, passed.count, std::function<void()>());
        }
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
