// Groups of rows on the device.
//
// Where there are few groups, each block keeps them in its shared memory and adds them to the table in the
// end. Where there are more, rows are added to the table in device memory at once. While keys have few bits a
// group's number is its key. Otherwise groups are found by a hash of the key; a table that turns out to be
// full is made anew, larger.
#include <algorithm>
#include <memory>
#include <vector>

#include "device/column/aggregate_add.cuh"
#include "device/column/aggregate_top.h"
#include "device/column/column.h"
#include "device/column/select.h"
#include "gpu_engine/guard.h"

#include "gpu_engine/boundary.h"

namespace gpu_engine::device {
namespace {

constexpr int threads = 256;
constexpr std::size_t shared_for_slots = 96 << 10;
constexpr std::size_t shared_for_copies = 24 << 10;
constexpr std::size_t max_shared_groups = 64 << 10;
constexpr std::uint32_t max_copies = 32;
constexpr std::uint32_t max_few_bits = 12;
constexpr std::uint32_t max_dense_bits = 26;
constexpr std::uint64_t max_dense_bytes = std::uint64_t(1) << 30;
constexpr std::uint64_t first_slots = std::uint64_t(1) << 20;
constexpr std::uint64_t least_slots = 1024;

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

// Does the slot hold a group? Where groups are dense, word `rows_word` counts the group's rows.
__device__ bool is_group(const TableView &table, std::uint64_t slot, std::uint32_t rows_word) {
    if (table.key_words == 0) {
        return table.record(slot)[rows_word] != 0;
    }
    if (table.key_words > 1) {
        return slot < table.slots && table.states[slot] != slot_is_free;
    }
    return slot < table.slots ? table.record(slot)[0] != free_key : table.flags->has_last != 0;
}

__global__ void count_groups_kernel(TableView table, std::uint64_t records, std::uint32_t rows_word) {
    Word count = 0;
    const std::uint64_t step = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
    for (std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < records;
         i += step) {
        count += is_group(table, i, rows_word) ? 1 : 0;
    }
    count = join_warp(count, [](Word a, Word b) { return a + b; });
    if (threadIdx.x % 32 == 0 && count != 0) {
        atomicAdd(&table.flags->groups, count);
    }
}

// Lists the groups that have rows, one behind the other: `words` words of each, without any that was added to
// the program here.
__global__ void list_groups_kernel(TableView table, std::uint64_t records, std::uint32_t rows_word,
                                   std::uint32_t key_words, std::uint32_t words, Word *listed, Word *groups) {
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint64_t step = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
    // A warp's lanes go on together, since they ask each other.
    for (std::uint64_t begin = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x - lane;
         begin < records; begin += step) {
        const std::uint64_t slot = begin + lane;
        const bool is_one = slot < records && is_group(table, slot, rows_word);
        const std::uint32_t ones = __ballot_sync(UINT32_MAX, is_one);
        Word first = 0;
        if (lane == 0 && ones != 0) {
            first = atomicAdd(listed, Word(__popc(ones)));
        }
        first = __shfl_sync(UINT32_MAX, first, 0);
        if (!is_one) {
            continue;
        }
        Word *group = groups + (first + __popc(ones & ((1U << lane) - 1))) * words;
        const Word *record = table.record(slot);
        if (table.key_words == 0 && key_words > 0) {
            *group++ = slot;
        }
        const std::uint32_t rest = words - (table.key_words == 0 ? key_words : 0);
        for (std::uint32_t word = 0; word < rest; ++word) {
            group[word] = record[word];
        }
    }
}

// ---- answers ----------------------------------------------------------------------------------------------

class DeviceAggregateAnswer final : public AggregateAnswer {
  public:
    explicit DeviceAggregateAnswer(DeviceEngine &engine, std::uint32_t words)
        : engine_(engine), words_(words) {}

    AggregateOutcome outcome() const noexcept override { return outcome_; }
    std::uint64_t groups() const noexcept override { return group_count_; }
    std::uint64_t doubtful() const noexcept override { return doubtful_count_; }
    Status read_groups(Stream &stream, std::uint64_t first, std::uint64_t count,
                       std::uint64_t *records) const noexcept override {
        return read(stream, groups_, group_count_, words_, first, count, records);
    }
    Status read_doubtful(Stream &stream, std::uint64_t first, std::uint64_t count,
                         std::uint64_t *records) const noexcept override {
        return read(stream, doubtful_, doubtful_count_, words_ + 1, first, count, records);
    }

    void set_outcome(AggregateOutcome outcome) noexcept { outcome_ = outcome; }
    // The buffers outlive the stream that they were made on.
    void take(Buffer<std::uint64_t> groups, std::uint64_t group_count, Buffer<std::uint64_t> doubtful,
              std::uint64_t doubtful_count) noexcept {
        groups_ = std::move(groups);
        group_count_ = group_count;
        doubtful_ = std::move(doubtful);
        doubtful_count_ = doubtful_count;
        groups_.set_stream(engine_.release_stream());
        doubtful_.set_stream(engine_.release_stream());
    }

  private:
    Status read(Stream &stream, const Buffer<std::uint64_t> &from, std::uint64_t records_there,
                std::uint64_t words, std::uint64_t first, std::uint64_t count,
                std::uint64_t *records) const noexcept {
        return guarded([&] {
            const Call call(engine_, stream);
            if (first > records_there || count > records_there - first) {
                return make_status(StatusCode::invalid_argument, "there are no such groups");
            }
            call.copy(records, static_cast<const std::uint64_t *>(from.data()) + first * words,
                      count * words);
            call.wait();
            return Status{};
        });
    }

    DeviceEngine &engine_;
    std::uint32_t words_;
    AggregateOutcome outcome_ = AggregateOutcome::answered;
    Buffer<std::uint64_t> groups_;
    std::uint64_t group_count_ = 0;
    Buffer<std::uint64_t> doubtful_;
    std::uint64_t doubtful_count_ = 0;
};

// ---- a question -------------------------------------------------------------------------------------------

// The rows of a run, and the program with what it needs there.
struct Part {
    const StoreParts *parts;
    std::shared_ptr<const DeadBitmap> dead;
    HeldBuffers held;
    Selection selection;
    Buffer<std::uint64_t> doubtful;
    std::unique_ptr<PartProgram> program;

    StretchesView places() const {
        return {parts->stretches.data(), parts->count.stretches, parts->bitmaps.data()};
    }
};

class Aggregator {
  public:
    Aggregator(const Call &call, const AggregateQuestion &question)
        : call_(call),
          question_(question),
          plan_(plan_aggregate(question)),
          rows_word_(find_rows_word(plan_.program)),
          flags_(call.buffer<AggregateFlags>(1)) {}

    std::unique_ptr<AggregateAnswer> answer() {
        auto answer = std::make_unique<DeviceAggregateAnswer>(call_.engine(), plan_.record_words());
        call_.fill(flags_.data(), 0, sizeof(AggregateFlags));
        for (std::uint32_t i = 0; i < question_.part_count; ++i) {
            add_part(i);
        }
        choose_way();
        AggregateFlags flags = {};
        for (;;) {
            begin_table();
            for (const Part &part : parts_) {
                add_rows(part);
            }
            if (!first_pass_done_) {
                list_doubtful();
            }
            first_pass_done_ = true;
            flags = read_flags();
            if (flags.full == 0 || flags.failed != 0) {
                break;
            }
            slots_ *= 4;
        }
        answer->set_outcome(outcome_of(flags));
        if (answer->outcome() == AggregateOutcome::answered) {
            list_groups(*answer, flags);
        }
        return answer;
    }

  private:
    void add_part(std::uint32_t number) {
        const AggregatePart &asked = question_.parts[number];
        const auto *store = dynamic_cast<const DeviceColumnStore *>(asked.store);
        if (store == nullptr) {
            throw Failure{make_status(StatusCode::invalid_argument, "the store is another engine's")};
        }
        Part part;
        part.parts = &store->parts();
        part.dead = store->dead();
        part.selection =
            select_rows(call_, *part.parts, part.dead.get(), asked.tests, asked.test_count, &part.held);
        if (question_.blocks != nullptr) {
            // The rows are counted, since room for all of them would be too much where the filter keeps many
            // out.
            const Buffer<std::uint64_t> found = call_.buffer<std::uint64_t>(1);
            call_.fill(found.data(), 0, sizeof(std::uint64_t));
            part.doubtful = split_doubtful(call_, *part.parts, known_of(*question_.blocks), nullptr,
                                           part.selection, found.data(), &part.held);
            if (part.selection.count > 0) {
                call_.copy(const_cast<std::uint64_t *>(call_.answer()),
                           static_cast<const std::uint64_t *>(found.data()), 1);
                call_.wait();
                max_doubtful_ += *call_.answer();
            }
        }
        part.program = std::make_unique<PartProgram>(call_, plan_, plan_.inputs_of(number), *part.parts,
                                                     plan_.program.key_count > 0 ? rows_word_ : no_rows_word);
        parts_.push_back(std::move(part));
    }

    std::uint32_t value_words() const {
        return plan_.program.value_words +
               (plan_.program.key_count > 0 && rows_word_ == plan_.program.value_words ? 1 : 0);
    }

    void choose_way() {
        const std::uint32_t bits = plan_.key_bits();
        const std::uint64_t record_bytes = value_words() * sizeof(std::uint64_t);
        // A table with far more places than there are rows would be filled and searched in vain.
        const std::uint64_t max_dense_groups = 4 * plan_.rows + (1 << 16);
        if (plan_.program.key_count == 0) {
            way_ = Way::one;
        } else if (plan_.program.key_words > 1) {
            way_ = Way::hashed_wide;
        } else if (bits <= max_few_bits && record_bytes << bits <= max_shared_groups) {
            way_ = Way::few;
        } else if (bits <= max_dense_bits && record_bytes << bits <= max_dense_bytes &&
                   std::uint64_t(1) << bits <= max_dense_groups) {
            way_ = Way::dense;
        } else {
            way_ = Way::hashed;
        }
        if (is_hashed()) {
            std::uint64_t enough = least_slots;
            while (enough < 2 * plan_.rows && enough < first_slots) {
                enough *= 2;
            }
            slots_ = enough;
        } else {
            slots_ = std::uint64_t(1) << bits;
        }
    }
    bool is_hashed() const { return way_ == Way::hashed || way_ == Way::hashed_wide; }

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
        if (way_ == Way::hashed_wide) {
            states_ = call_.buffer<std::uint32_t>(slots_);
            call_.fill(states_.data(), 0, slots_ * sizeof(std::uint32_t));
            table_.states = states_.data();
        }
        // `full` and `has_last` are about this table, so they begin anew with it.
        call_.fill(&flags_.data()->full, 0, 2 * sizeof(std::uint32_t));
        const ProgramView &program = parts_[0].program->view();
        begin_table_kernel<<<blocks_of(records()), threads, 0, call_.stream()>>>(
            table_, records(), program.accumulators, program.accumulator_count);
        check_launch("begin_table_kernel");
    }

    unsigned blocks_of(std::uint64_t count) const {
        const std::uint64_t most = static_cast<std::uint64_t>(call_.engine().multiprocessors()) * 16;
        return static_cast<unsigned>(
            std::max<std::uint64_t>(1, std::min(most, (count + threads - 1) / threads)));
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

    void list_doubtful() {
        if (max_doubtful_ == 0) {
            return;
        }
        list_.stride = plan_.record_words() + 1;
        list_.capacity = std::min(max_doubtful_, question_.max_groups);
        doubtful_ = call_.buffer<std::uint64_t>(std::max<std::uint64_t>(1, list_.capacity * list_.stride));
        list_.records = reinterpret_cast<Word *>(doubtful_.data());
        for (const Part &part : parts_) {
            launch<Way::list>(part, part.doubtful.data());
        }
    }

    template <Way way>
    void launch(const Part &part, const std::uint64_t *rows) {
        if (part.selection.count == 0) {
            return;
        }
        const ProgramView &program = part.program->view();
        const std::size_t max_bytes = call_.engine().shared_bytes();
        unsigned block_threads = max_threads;
        const auto thread_bytes = [&] {
            const std::size_t key_bytes =
                way == Way::hashed_wide ? program.key_words * rows_a_thread * sizeof(std::uint64_t) : 0;
            return (program.slots * RowComputer::slot_bytes + key_bytes) * block_threads;
        };
        while (block_threads > 32 && thread_bytes() > shared_for_slots) {
            block_threads /= 2;
        }
        BlockTable block = {0, 0};
        if (way == Way::one) {
            block = {1, block_threads / 32};
        } else if (way == Way::few) {
            block.groups = static_cast<std::uint32_t>(slots_);
            block.copies = 1;
            const std::size_t bytes = slots_ * program.value_words * sizeof(std::uint64_t);
            while (block.copies < max_copies && 2 * block.copies * bytes <= shared_for_copies) {
                block.copies *= 2;
            }
        }
        const std::size_t shared = thread_bytes() + static_cast<std::size_t>(block.groups) *
                                                        program.value_words * block.copies *
                                                        sizeof(std::uint64_t);
        if constexpr (way == Way::few) {
            if (shared > max_bytes) {
                // Shared memory has no room for groups beside the slots. Groups in device memory have the
                // same numbers.
                launch<Way::dense>(part, rows);
                return;
            }
        }
        if (shared > max_bytes) {
            throw Failure{
                make_status(StatusCode::internal, "a program takes more shared memory than a block has")};
        }
        check(cudaFuncSetAttribute(aggregate_kernel<way>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(max_bytes)),
              "cudaFuncSetAttribute");
        int blocks = 0;
        check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, aggregate_kernel<way>,
                                                            static_cast<int>(block_threads), shared),
              "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
        const std::uint64_t warps = part.selection.words.size() / (rows_a_warp / 64);
        const std::uint64_t wanted = (warps * 32 + block_threads - 1) / block_threads;
        const std::uint64_t most =
            static_cast<std::uint64_t>(call_.engine().multiprocessors()) * std::max(blocks, 1);
        aggregate_kernel<way>
            <<<static_cast<unsigned>(std::min(wanted, most)), block_threads, shared, call_.stream()>>>(
                program, part.places(), RowsView{rows, part.selection.words.size()}, table_, block, list_);
        check_launch("aggregate_kernel");
    }

    AggregateFlags read_flags() {
        AggregateFlags flags;
        static_assert(sizeof(AggregateFlags) <= DeviceStream::answer_words * sizeof(std::uint64_t));
        auto *pinned = const_cast<std::uint64_t *>(call_.answer());
        call_.copy(reinterpret_cast<AggregateFlags *>(pinned),
                   static_cast<const AggregateFlags *>(flags_.data()), 1);
        call_.wait();
        std::copy_n(reinterpret_cast<const AggregateFlags *>(pinned), 1, &flags);
        return flags;
    }

    AggregateOutcome outcome_of(const AggregateFlags &flags) const {
        return flags.failed != 0                       ? AggregateOutcome::failed
               : flags.doubtful > question_.max_groups ? AggregateOutcome::too_many_groups
                                                       : AggregateOutcome::answered;
    }

    void list_groups(DeviceAggregateAnswer &answer, const AggregateFlags &flags) {
        std::uint64_t groups = 1;
        if (way_ != Way::one) {
            count_groups_kernel<<<blocks_of(records()), threads, 0, call_.stream()>>>(table_, records(),
                                                                                      rows_word_);
            check_launch("count_groups_kernel");
            groups = read_flags().groups;
        }
        const bool wants_top = question_.top.count > 0 && flags.doubtful == 0;
        if (!wants_top && (groups > question_.max_groups || flags.doubtful > question_.max_groups - groups)) {
            answer.set_outcome(AggregateOutcome::too_many_groups);
            return;
        }
        const std::uint32_t words = plan_.record_words();
        Buffer<std::uint64_t> listed =
            call_.buffer<std::uint64_t>(std::max<std::uint64_t>(1, groups * words));
        if (way_ == Way::one) {
            call_.copy(listed.data(), static_cast<const std::uint64_t *>(records_.data()), words);
        } else if (groups > 0) {
            const Buffer<std::uint64_t> count = call_.buffer<std::uint64_t>(1);
            call_.fill(count.data(), 0, sizeof(std::uint64_t));
            list_groups_kernel<<<blocks_of(records()), threads, 0, call_.stream()>>>(
                table_, records(), rows_word_, plan_.program.key_words, words,
                reinterpret_cast<Word *>(count.data()), reinterpret_cast<Word *>(listed.data()));
            check_launch("list_groups_kernel");
        }
        if (wants_top) {
            listed = keep_top(call_, question_.top, words, std::move(listed), &groups);
        }
        call_.wait();
        if (groups > question_.max_groups) {
            answer.set_outcome(AggregateOutcome::too_many_groups);
            return;
        }
        answer.take(std::move(listed), groups, std::move(doubtful_), flags.doubtful);
    }

    static constexpr std::uint32_t no_rows_word = UINT32_MAX;

    const Call &call_;
    const AggregateQuestion &question_;
    const AggregatePlan plan_;
    const std::uint32_t rows_word_;
    const Buffer<AggregateFlags> flags_;
    std::vector<Part> parts_;
    std::uint64_t max_doubtful_ = 0;
    bool first_pass_done_ = false;
    Way way_ = Way::one;
    std::uint64_t slots_ = 1;
    TableView table_{};
    Buffer<std::uint64_t> records_;
    Buffer<std::uint32_t> states_;
    ListView list_{};
    Buffer<std::uint64_t> doubtful_;
};

}  // namespace

Status DeviceColumn::aggregate(Stream &stream, const AggregateQuestion &question,
                               std::unique_ptr<AggregateAnswer> *answer) noexcept {
    return guarded([&] {
        const Call call(engine_, stream);
        *answer = Aggregator(call, question).answer();
        return Status{};
    });
}

}  // namespace gpu_engine::device
