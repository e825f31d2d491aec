// Groups of rows on the device.
//
// Where there are few groups, each block keeps them in its shared memory and adds them to the table in the
// end; where nothing is added up, a bit a group, of which there can be many. Otherwise rows are added to the
// table in device memory at once. While keys have few codes a group's number is made of them. Otherwise
// groups are found by a hash of the key; a table that turns out to be full is made anew, larger.
#include <algorithm>
#include <bit>
#include <memory>
#include <vector>

#include "device/column/aggregate/add.cuh"
#include "device/column/aggregate/output.h"
#include "device/column/aggregate/list.h"
#include "device/column/aggregate/part.h"
#include "device/column/aggregate/top.h"
#include "device/column/column.h"
#include "device/column/aggregate/top_rows.h"
#include "gpu_engine/guard.h"

namespace gpu_engine::device {
namespace {

constexpr std::size_t shared_for_copies = 24 << 10;
constexpr std::size_t max_shared_groups = 64 << 10;
// The shared memory that a block leaves for slots and rows that wait when its groups have bits.
constexpr std::size_t shared_for_rows = 8 << 10;
constexpr std::uint32_t max_copies = 32;
constexpr std::uint64_t max_few_groups = 1 << 12;
constexpr std::uint64_t max_dense_groups = 1 << 26;
constexpr std::uint64_t max_dense_bytes = std::uint64_t(1) << 30;
constexpr std::uint64_t first_slots = std::uint64_t(1) << 20;
constexpr std::uint64_t least_slots = 1024;
// A larger table isn't joined with another device's, since few of its groups may be there.
constexpr std::uint64_t max_joined_bytes = std::uint64_t(256) << 20;
// Behind the flags in pinned memory lies the number of groups that were listed at once.
constexpr std::size_t flag_words = 3;

// ---- the table --------------------------------------------------------------------------------------------

__global__ void begin_table_kernel(TableView table, std::uint64_t records,
                                   const AccumulatorView *accumulators, std::uint32_t count) {
    const std::uint64_t step = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
    for (std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < records;
         i += step) {
        Word *record = table.record(i);
        for (std::uint32_t word = 0; word < table.stride; ++word) {
            record[word] = word < table.key_words ? free_key : 0;
        }
        for (std::uint32_t a = 0; a < count; ++a) {
            record[table.key_words + accumulators[a].word] = first_word(accumulators[a].kind);
        }
    }
}

// Gives the groups that have a bit their row.
__global__ void take_present_kernel(TableView table) {
    const std::uint64_t step = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
    for (std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < table.slots;
         i += step) {
        if ((table.present[i / 32] >> i % 32 & 1) != 0) {
            *table.record(i) = 1;
        }
    }
}

// ---- a request -------------------------------------------------------------------------------------------

// Groups of which only the number is wanted have nothing added up, unless unresolved rows may come.
AggregatePlan plan_groups(const AggregateRequest &request) {
    AggregatePlan plan = plan_aggregate(request);
    if (wants_only_counts(request) && request.blocks == nullptr) {
        plan.program.accumulator_count = 0;
        plan.program.value_words = 0;
    }
    return plan;
}

class Aggregator {
  public:
    Aggregator(const Call &call, const AggregateRequest &request)
        : call_(call),
          request_(request),
          plan_(plan_groups(request)),
          rows_word_(find_rows_word(plan_.program)),
          flags_(call.buffer<AggregateFlags>(1)) {}

    std::unique_ptr<AggregateOutput> output() {
        auto output = std::make_unique<DeviceAggregateOutput>(call_.engine(), plan_.record_words());
        call_.fill(flags_.data(), 0, sizeof(AggregateFlags));
        choose_way();
        for (std::uint32_t i = 0; i < request_.part_count; ++i) {
            parts_.push_back(open_part(call_, request_, plan_, i, counts_rows() ? rows_word_ : no_rows_word));
            max_unresolved_ += parts_.back().unresolved_count;
        }
        AggregateFlags flags = {};
        for (;;) {
            begin_table();
            for (const Part &part : parts_) {
                add_rows(part);
            }
            if (way_ == Way::present) {
                take_present_kernel<<<blocks_of(slots_), threads_a_block, 0, call_.stream()>>>(table_);
                check_launch("take_present_kernel");
            }
            if (is_listed_at_once()) {
                listed_ =
                    list_small_table(call_, filled(), parts_[0].program->view(), call_.result() + flag_words);
            }
            if (is_joined()) {
                count_groups_later(call_, filled(), call_.result() + flag_words);
            } else if (stays_in_table()) {
                marks_ = call_.buffer<KeyMarks>(1);
                mark_groups_later(call_, filled(), plan_.program, marks_.data(), call_.result() + flag_words);
            }
            if (!first_pass_done_) {
                list_unresolved();
            }
            first_pass_done_ = true;
            flags = read_flags();
            if (flags.full == 0 || flags.failed != 0) {
                break;
            }
            if (is_beyond_room(flags)) {
                output->set_outcome(AggregateOutcome::too_many_groups);
                return output;
            }
            slots_ *= 4;
        }
        output->set_outcome(outcome_of(flags));
        if (output->outcome() == AggregateOutcome::answered) {
            give_groups(*output, flags);
        }
        return output;
    }

  private:
    // Dense groups are there when they have a row; others, when their keys are in the table.
    bool counts_rows() const { return way_ == Way::few || way_ == Way::present || way_ == Way::dense; }
    std::uint32_t value_words() const {
        return plan_.program.value_words + (counts_rows() && rows_word_ == plan_.program.value_words ? 1 : 0);
    }

    void choose_way() {
        const std::uint64_t groups = plan_.max_groups();
        const std::uint64_t record_bytes = (plan_.program.value_words + 1) * sizeof(std::uint64_t);
        // A table with far more places than there are rows would be filled and searched in vain.
        const std::uint64_t max_groups = std::min(max_dense_groups, 4 * plan_.rows + (1 << 16));
        if (plan_.program.key_count == 0) {
            way_ = Way::one;
        } else if (plan_.program.value_words == 0 && groups <= max_groups &&
                   bytes_of_bits(groups) <= call_.engine().shared_bytes() / 2 - shared_for_rows) {
            way_ = Way::present;
        } else if (groups <= max_few_groups && groups * record_bytes <= max_shared_groups) {
            way_ = Way::few;
        } else if (groups <= max_groups && groups * record_bytes <= max_dense_bytes) {
            way_ = Way::dense;
        } else {
            way_ = plan_.program.key_words > 1 ? Way::hashed_wide : Way::hashed;
        }
        if (is_hashed()) {
            std::uint64_t enough = least_slots;
            while (enough < 2 * plan_.rows && enough < first_slots) {
                enough *= 2;
            }
            slots_ = enough;
        } else {
            slots_ = groups;
        }
    }
    bool is_hashed() const { return way_ == Way::hashed || way_ == Way::hashed_wide; }

    // Small tables are listed behind the rows that are added, so that there is nothing to wait for in
    // between.
    bool is_listed_at_once() const {
        return counts_rows() && slots_ <= std::min(max_few_groups, request_.max_groups) &&
               request_.top.count == 0 && request_.top.of_rows == 0;
    }

    // Groups have the same places on all devices that answer the request, so they can be put together there,
    // or be left out.
    bool stays_in_table() const {
        return request_.rows_of_all > 0 && counts_rows() && slots_ > max_few_groups &&
               request_.top.count == 0 && request_.top.of_rows == 0;
    }
    bool is_joined() const {
        return stays_in_table() && records() * table_.stride * sizeof(std::uint64_t) <= max_joined_bytes;
    }

    static std::uint64_t bytes_of_bits(std::uint64_t groups) {
        return (groups + 31) / 32 * sizeof(std::uint32_t);
    }

    // A hashed table has one record more than slots, for the group whose key means that a slot is free.
    std::uint64_t records() const { return slots_ + (way_ == Way::hashed ? 1 : 0); }

    void begin_table() {
        table_.key_words = is_hashed() ? plan_.program.key_words : 0;
        table_.stride = table_.key_words + value_words();
        table_.slots = slots_;
        table_.flags = flags_.data();
        // The table that was too small gives its memory back first.
        records_ = Buffer<std::uint64_t>();
        states_ = Buffer<std::uint32_t>();
        records_ = call_.buffer<std::uint64_t>(std::max<std::uint64_t>(1, records() * table_.stride));
        table_.records = reinterpret_cast<Word *>(records_.data());
        table_.states = nullptr;
        table_.present = nullptr;
        if (way_ == Way::present) {
            present_ = call_.buffer<std::uint32_t>((slots_ + 31) / 32);
            call_.fill(present_.data(), 0, bytes_of_bits(slots_));
            table_.present = present_.data();
        }
        if (way_ == Way::hashed_wide) {
            states_ = call_.buffer<std::uint32_t>(slots_);
            call_.fill(states_.data(), 0, slots_ * sizeof(std::uint32_t));
            table_.states = states_.data();
        }
        // `full` and `has_last` are about this table, so they begin anew with it.
        call_.fill(&flags_.data()->full, 0, 2 * sizeof(std::uint32_t));
        const ProgramView &program = parts_[0].program->view();
        if (!is_hashed() && begins_with_zeros()) {
            call_.fill(records_.data(), 0, records() * table_.stride * sizeof(std::uint64_t));
            return;
        }
        begin_table_kernel<<<blocks_of(records()), threads_a_block, 0, call_.stream()>>>(
            table_, records(), program.accumulators, program.accumulator_count);
        check_launch("begin_table_kernel");
    }

    bool begins_with_zeros() const {
        for (std::uint32_t i = 0; i < plan_.program.accumulator_count; ++i) {
            if (first_word(plan_.program.accumulator[i].kind) != 0) {
                return false;
            }
        }
        return true;
    }

    unsigned blocks_of(std::uint64_t count) const {
        const std::uint64_t most = static_cast<std::uint64_t>(call_.engine().multiprocessors()) * 16;
        return static_cast<unsigned>(
            std::max<std::uint64_t>(1, std::min(most, (count + threads_a_block - 1) / threads_a_block)));
    }

    void add_rows(const Part &part) {
        const std::uint64_t *rows = part.selection.words.data();
        switch (way_) {
            case Way::one:
                launch<Way::one>(part, rows);
                break;
            case Way::few:
                launch<Way::few>(part, rows);
                break;
            case Way::present:
                launch<Way::present>(part, rows);
                break;
            case Way::dense:
                launch<Way::dense>(part, rows);
                break;
            case Way::hashed:
                launch<Way::hashed>(part, rows);
                break;
            default:
                launch<Way::hashed_wide>(part, rows);
        }
    }

    void list_unresolved() {
        if (max_unresolved_ == 0) {
            return;
        }
        list_.stride = plan_.record_words() + 1;
        list_.capacity = std::min(max_unresolved_, request_.max_groups);
        unresolved_ = call_.buffer<std::uint64_t>(std::max<std::uint64_t>(1, list_.capacity * list_.stride));
        list_.records = reinterpret_cast<Word *>(unresolved_.data());
        for (const Part &part : parts_) {
            launch<Way::list>(part, part.unresolved.data());
        }
    }

    template <Way way>
    void launch(const Part &part, const std::uint64_t *rows) {
        if (part.selection.count == 0) {
            return;
        }
        const ProgramView &program = part.program->view();
        const std::size_t key_bytes =
            way == Way::hashed_wide ? program.key_words * rows_a_thread * sizeof(std::uint64_t) : 0;
        const std::size_t thread_bytes = program.slots * RowComputer::slot_bytes + key_bytes;
        const unsigned block_threads = threads_with_room(call_, max_threads, thread_bytes);
        BlockTable block = {};
        if (way == Way::one) {
            block.groups = 1;
            block.copies = block_threads / 32;
        } else if (way == Way::few) {
            block.groups = static_cast<std::uint32_t>(slots_);
            block.copies = 1;
            const std::size_t bytes = slots_ * program.value_words * sizeof(std::uint64_t);
            while (block.copies < max_copies && 2 * block.copies * bytes <= shared_for_copies) {
                block.copies *= 2;
            }
        } else if (way == Way::present) {
            block.groups = static_cast<std::uint32_t>(bytes_of_bits(slots_) / sizeof(std::uint32_t));
        }
        const std::size_t group_bytes = way == Way::present
                                            ? sizeof(std::uint32_t)
                                            : program.value_words * block.copies * sizeof(std::uint64_t);
        std::size_t shared = thread_bytes * block_threads + block.groups * group_bytes;
        // Rows that wait have numbers of 32 bits.
        const bool may_wait = part.selection.words.size() <= UINT32_MAX / 64;
        block.tests_first = may_wait && program.stage[first_stage].has_condition;
        block.gathers_selected = may_wait && part.selection.is_tested;
        shared = (shared + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t) * sizeof(std::uint64_t);
        block.waiting = static_cast<std::uint32_t>(shared);
        if (block.tests_first || block.gathers_selected) {
            shared += block_threads / 32 * PendingRows::room * sizeof(std::uint32_t);
        }
        if constexpr (way == Way::few || way == Way::present) {
            if (shared > call_.engine().shared_bytes()) {
                // Shared memory has no room for groups beside the slots. Groups in device memory have the
                // same numbers.
                launch<Way::dense>(part, rows);
                return;
            }
        }
        const std::uint64_t grid =
            blocks_over_rows(call_, aggregate_kernel<way>, block_threads, shared, part.selection);
        const std::uint64_t lots = part.selection.words.size() / (rows_a_warp / 64);
        const std::uint64_t warps = block_threads / 32;
        const std::uint64_t rows_a_block = max_lots_a_warp(lots, grid * warps) * warps * rows_a_warp;
        block.half_bits = 31 - static_cast<std::int32_t>(std::bit_width(rows_a_block));
        aggregate_kernel<way><<<static_cast<unsigned>(grid), block_threads, shared, call_.stream()>>>(
            program, part.places(), RowsView{rows, part.selection.words.size()}, table_, block, list_);
        check_launch("aggregate_kernel");
    }

    AggregateFlags read_flags() {
        AggregateFlags flags;
        static_assert(sizeof(AggregateFlags) == flag_words * sizeof(std::uint64_t));
        static_assert(flag_words < DeviceStream::result_words);
        auto *pinned = const_cast<std::uint64_t *>(call_.result());
        call_.copy(reinterpret_cast<AggregateFlags *>(pinned),
                   static_cast<const AggregateFlags *>(flags_.data()), 1);
        call_.wait();
        std::copy_n(reinterpret_cast<const AggregateFlags *>(pinned), 1, &flags);
        return flags;
    }

    // Is a larger table than the full one useless? It is where the caller has no room for the groups that
    // were found so far, and where most slots are free, because the keys' hashes were made to collide.
    bool is_beyond_room(const AggregateFlags &flags) {
        if (slots_ >= 4 * plan_.rows) {
            return true;
        }
        if ((request_.top.count > 0 || wants_only_counts(request_)) && flags.unresolved == 0) {
            return false;
        }
        return count_groups(call_, filled()) > request_.max_groups;
    }

    FilledTable filled() const {
        return {table_, records(), rows_word_, plan_.program.key_words, plan_.record_words()};
    }

    AggregateOutcome outcome_of(const AggregateFlags &flags) const {
        return flags.failed != 0                        ? AggregateOutcome::failed
               : flags.unresolved > request_.max_groups ? AggregateOutcome::too_many_groups
                                                        : AggregateOutcome::answered;
    }

    void give_groups(DeviceAggregateOutput &output, const AggregateFlags &flags) {
        const std::uint32_t words = plan_.record_words();
        const ProgramView &program = parts_[0].program->view();
        const bool wants_top = request_.top.count > 0 && flags.unresolved == 0;
        std::uint64_t groups = 1;
        if (wants_only_counts(request_) && flags.unresolved == 0) {
            output.set_counted(way_ == Way::one ? groups : count_groups(call_, filled()));
            return;
        }
        if (stays_in_table()) {
            give_table(output, flags);
            return;
        }
        Buffer<std::uint64_t> listed;
        if (wants_top && way_ != Way::one) {
            listed = list_first_groups(call_, filled(), program, request_.top, is_top_narrow(), &groups);
            listed = keep_top(call_, request_.top, words, std::move(listed), &groups);
        } else {
            if (is_listed_at_once()) {
                groups = call_.result()[flag_words];
                listed = std::move(listed_);
            } else if (way_ != Way::one) {
                groups = count_groups(call_, filled());
            }
            if (groups > request_.max_groups || flags.unresolved > request_.max_groups - groups) {
                output.set_outcome(AggregateOutcome::too_many_groups);
                return;
            }
            if (way_ == Way::one) {
                listed = call_.buffer<std::uint64_t>(words);
                call_.copy(listed.data(), static_cast<const std::uint64_t *>(records_.data()), words);
            } else if (!is_listed_at_once()) {
                listed = list_groups(call_, filled(), program, groups);
            }
        }
        call_.wait();
        if (groups > request_.max_groups) {
            output.set_outcome(AggregateOutcome::too_many_groups);
            return;
        }
        output.take(std::move(listed), groups, std::move(unresolved_), flags.unresolved);
    }

    void give_table(DeviceAggregateOutput &output, const AggregateFlags &flags) {
        const std::uint64_t groups = call_.result()[flag_words];
        if (groups > request_.max_groups || flags.unresolved > request_.max_groups - groups) {
            output.set_outcome(AggregateOutcome::too_many_groups);
            return;
        }
        auto table = std::make_unique<UnlistedTable>();
        table->filled = filled();
        table->is_joined = is_joined();
        table->marks = std::move(marks_);
        // Flags only serve while rows are added, so they end with the request.
        table->filled.table.flags = nullptr;
        table->filled.table.present = nullptr;
        table->rows = plan_.rows;
        table->records = std::move(records_);
        table->program = std::move(parts_[0].program);
        output.take(std::move(table), groups, std::move(unresolved_), flags.unresolved);
    }

    bool is_top_narrow() const { return is_narrow_top(plan_.program, request_.top, plan_.rows); }

    const Call &call_;
    const AggregateRequest &request_;
    const AggregatePlan plan_;
    const std::uint32_t rows_word_;
    const Buffer<AggregateFlags> flags_;
    std::vector<Part> parts_;
    std::uint64_t max_unresolved_ = 0;
    bool first_pass_done_ = false;
    Way way_ = Way::one;
    std::uint64_t slots_ = 1;
    TableView table_{};
    Buffer<std::uint64_t> records_;
    Buffer<std::uint32_t> states_;
    Buffer<std::uint32_t> present_;
    Buffer<std::uint64_t> listed_;
    Buffer<KeyMarks> marks_;
    ListView list_{};
    Buffer<std::uint64_t> unresolved_;
};

}  // namespace

Status DeviceColumn::aggregate(Stream &stream, const AggregateRequest &request,
                               std::unique_ptr<AggregateOutput> *output) noexcept {
    return guarded([&] {
        const Call call(engine_, stream);
        *output = request.top.of_rows != 0 && !wants_only_counts(request)
                      ? find_top_rows(call, request)
                      : Aggregator(call, request).output();
        return Status{};
    });
}

}  // namespace gpu_engine::device
