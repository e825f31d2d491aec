// Results of several devices put together. Tables that have the same places are joined place by place. Listed
// groups are added to one table, which is found by a hash of the key as that of the request's own hashed
// groups is, and is large enough for all of them from the start.
#include <algorithm>
#include <bit>
#include <memory>
#include <vector>

#include "device/column/aggregate/output.h"
#include "device/column/aggregate/list.h"
#include "device/column/aggregate/top.h"
#include "gpu_engine/aggregate_merge.h"
#include "gpu_engine/guard.h"

namespace gpu_engine::device {
namespace {

// Groups of another device come in pieces of so many bytes.
constexpr std::uint64_t piece_bytes = std::uint64_t(256) << 20;

// An accumulator's place in a group's record, and how groups are joined there.
struct JoinView {
    AccumulatorKind kind;
    std::uint32_t word;
};

struct JoinsView {
    JoinView join[max_aggregate_accumulators];
    std::uint32_t count;
};

__global__ void begin_groups_kernel(TableView table, std::uint64_t records,
                                    const __grid_constant__ JoinsView joins) {
    const std::uint64_t step = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
    for (std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < records;
         i += step) {
        Word *record = table.record(i);
        for (std::uint32_t word = 0; word < table.stride; ++word) {
            record[word] = word < table.key_words ? free_key : 0;
        }
        for (std::uint32_t a = 0; a < joins.count; ++a) {
            record[table.key_words + joins.join[a].word] = first_word(joins.join[a].kind);
        }
    }
}

__global__ void add_groups_kernel(TableView table, const Word *groups, std::uint64_t count,
                                  const __grid_constant__ JoinsView joins) {
    const std::uint64_t step = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
    for (std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
         i += step) {
        const Word *group = groups + i * table.stride;
        Word *record = nullptr;
        if (table.key_words == 1) {
            record = find_record(table, group[0]);
        } else {
            std::uint64_t hash = 0;
            for (std::uint32_t word = 0; word < table.key_words; ++word) {
                hash = mix_key(hash, group[word]);
            }
            record = find_record(table, hash, [&](std::uint32_t word) { return group[word]; });
        }
        if (record == nullptr) {
            return;  // The table is full, and so nothing will come of it.
        }
        for (std::uint32_t a = 0; a < joins.count; ++a) {
            const JoinView &join = joins.join[a];
            const std::uint32_t word = table.key_words + join.word;
            add_to_group(join.kind, record + word, group[word], is_wide_sum(join.kind) ? group[word + 1] : 0);
        }
    }
}

// Says how a word of a table's records is joined with another table's.
struct WordJoin {
    AccumulatorKind kind;
    bool is_wide;  // with the next word, which has none of its own
    bool has_own;
};

struct WordJoinsView {
    WordJoin word[2 * max_aggregate_accumulators + 1];
    std::uint32_t stride;
};

// A thread has a word, so that neighbours read what lies side by side, also in another device's memory.
// `words` are whole records.
__global__ void join_tables_kernel(const Word *one, const Word *other, Word *joined, std::uint64_t words,
                                   const __grid_constant__ WordJoinsView joins) {
    const std::uint64_t step = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
    for (std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < words;
         i += step) {
        const WordJoin join = joins.word[i % joins.stride];
        if (!join.has_own) {
            continue;
        }
        if (join.is_wide) {
            const UInt128 sum = wide_of_words(one[i], one[i + 1]) + wide_of_words(other[i], other[i + 1]);
            joined[i] = static_cast<Word>(sum);
            joined[i + 1] = static_cast<Word>(sum >> 64);
        } else if (join.kind == AccumulatorKind::count || is_wide_sum(join.kind)) {
            joined[i] = one[i] + other[i];
        } else {
            joined[i] = join_words(join.kind, one[i], other[i]);
        }
    }
}

bool are_alike(const UnlistedTable &one, const UnlistedTable &other) {
    const TableView &its = one.filled.table;
    const TableView &others = other.filled.table;
    return its.slots == others.slots && its.stride == others.stride && its.key_words == others.key_words &&
           one.filled.records == other.filled.records && one.filled.rows_word == other.filled.rows_word &&
           one.filled.words == other.filled.words && one.rows == other.rows;
}

const DeviceAggregateOutput *result_of_device(const AggregateOutput *output) {
    const auto *its = dynamic_cast<const DeviceAggregateOutput *>(output);
    return its != nullptr && its->outcome() == AggregateOutcome::answered ? its : nullptr;
}

// May a device read this engine's memory directly? It may from now on, where there is a way between the two.
bool may_read(int device, DeviceEngine &engine) {
    if (device == engine.device()) {
        return true;
    }
    const cudaMemPool_t pool = engine.source().pool;
    cudaMemAccessDesc access = {};
    access.location.type = cudaMemLocationTypeDevice;
    access.location.id = device;
    if (cudaMemPoolGetAccess(&access.flags, pool, &access.location) == cudaSuccess &&
        access.flags == cudaMemAccessFlagsProtReadWrite) {
        return true;
    }
    int is_possible = 0;
    access.flags = cudaMemAccessFlagsProtReadWrite;
    const bool may = cudaDeviceCanAccessPeer(&is_possible, device, engine.device()) == cudaSuccess &&
                     is_possible != 0 && cudaMemPoolSetAccess(pool, &access, 1) == cudaSuccess;
    // A failure here is nobody else's error, so that it is cleared.
    static_cast<void>(cudaGetLastError());
    return may;
}

class Merger {
  public:
    Merger(const Call &call, const AggregateOutputs &merge, std::vector<const DeviceAggregateOutput *> parts)
        : call_(call),
          merge_(merge),
          key_words_(merge.program->key_words),
          words_(merge.program->key_words + merge.program->value_words),
          parts_(std::move(parts)),
          flags_(call.buffer<AggregateFlags>(1)) {
        joins_.count = merge.program->accumulator_count;
        for (std::uint32_t a = 0; a < joins_.count; ++a) {
            joins_.join[a] = {merge.program->accumulator[a].kind, merge.program->accumulator[a].word};
        }
        for (const DeviceAggregateOutput *part : parts_) {
            groups_ += part->groups();
            counted_ += part->counted();
            unresolved_count_ += part->unresolved();
        }
    }

    // Null where the results' tables aren't alike, and where the table was full, because the keys' hashes
    // were made to collide.
    std::unique_ptr<AggregateOutput> output() {
        auto output = std::make_unique<DeviceAggregateOutput>(call_.engine(), words_);
        const UnlistedTable *first = parts_[0]->table();
        const bool are_tables =
            parts_.size() > 1 && &parts_[0]->engine() == &call_.engine() &&
            std::all_of(parts_.begin(), parts_.end(), [&](const auto *part) {
                return first != nullptr && part->table() != nullptr && are_alike(*first, *part->table());
            });
        if (are_tables) {
            join_tables();
            take_unresolved();
            FilledTable joined = first->filled;
            joined.table.records = reinterpret_cast<Word *>(records_.data());
            give_groups(*output, joined, first->program->view(),
                        is_narrow_top(*merge_.program, merge_.top, first->rows));
            return output;
        }
        if (std::any_of(parts_.begin(), parts_.end(),
                        [](const auto *part) { return part->table() != nullptr; })) {
            return nullptr;
        }
        begin_table();
        for (const DeviceAggregateOutput *part : parts_) {
            add_groups(*part);
        }
        take_unresolved();
        if (is_full()) {
            return nullptr;
        }
        // None of the sums in the records are narrow.
        give_groups(*output, {table_, records_count(), 0, key_words_, words_}, {}, false);
        return output;
    }

  private:
    std::uint64_t records_count() const { return table_.slots + (key_words_ == 1 ? 1 : 0); }
    unsigned blocks_of(std::uint64_t count) const {
        const std::uint64_t most = static_cast<std::uint64_t>(call_.engine().multiprocessors()) * 16;
        return static_cast<unsigned>(
            std::max<std::uint64_t>(1, std::min(most, (count + threads_a_block - 1) / threads_a_block)));
    }

    void begin_table() {
        call_.fill(flags_.data(), 0, sizeof(AggregateFlags));
        table_.key_words = key_words_;
        table_.stride = words_;
        table_.slots = std::bit_ceil(std::max<std::uint64_t>(1024, groups_ + groups_ / 2));
        table_.flags = flags_.data();
        records_ = call_.buffer<std::uint64_t>(records_count() * words_);
        table_.records = reinterpret_cast<Word *>(records_.data());
        if (key_words_ > 1) {
            states_ = call_.buffer<std::uint32_t>(table_.slots);
            call_.fill(states_.data(), 0, table_.slots * sizeof(std::uint32_t));
            table_.states = states_.data();
        }
        begin_groups_kernel<<<blocks_of(records_count()), threads_a_block, 0, call_.stream()>>>(
            table_, records_count(), joins_);
        check_launch("begin_groups_kernel");
    }

    static WordJoinsView find_joins(const AggregateProgram &program, const UnlistedTable &table) {
        WordJoinsView joins = {};
        joins.stride = table.filled.table.stride;
        for (std::uint32_t a = 0; a < program.accumulator_count; ++a) {
            const Accumulator &accumulator = program.accumulator[a];
            const bool is_narrow = is_narrow_sum(accumulator, table.rows);
            const bool is_wide = is_wide_sum(accumulator.kind) && !is_narrow;
            joins.word[accumulator.word] = {accumulator.kind, is_wide, true};
            if (is_narrow) {
                // Its upper half is 0 in all tables.
                joins.word[accumulator.word + 1] = {AccumulatorKind::bits_or, false, true};
            }
        }
        // In dense groups this word counts rows, whether it is an accumulator or has been added.
        joins.word[table.filled.rows_word] = {AccumulatorKind::count, false, true};
        return joins;
    }

    // The parts' own tables stay as they are: where there is no memory for more they are read.
    void join_tables() {
        const UnlistedTable &first = *parts_[0]->table();
        const WordJoinsView joins = find_joins(*merge_.program, first);
        const std::uint64_t words = first.filled.records * joins.stride;
        records_ = call_.buffer<std::uint64_t>(words);
        const std::uint64_t *joined = first.records.data();
        for (std::size_t part = 1; part < parts_.size(); ++part) {
            join_table(joined, *parts_[part], words, joins);
            joined = records_.data();
        }
    }

    void join_table(const std::uint64_t *one, const DeviceAggregateOutput &part, std::uint64_t words,
                    const WordJoinsView &joins) {
        const std::uint64_t *other = part.table()->records.data();
        const bool is_peer = may_read(call_.engine().device(), part.engine());
        // Whole records.
        const std::uint64_t a_piece =
            is_peer ? words
                    : std::max<std::uint64_t>(1, piece_bytes / sizeof(Word) / joins.stride) * joins.stride;
        if (!is_peer && piece_.size() == 0) {
            piece_ = call_.buffer<std::uint64_t>(std::min(a_piece, words));
        }
        for (std::uint64_t first = 0; first < words; first += a_piece) {
            const std::uint64_t count = std::min(a_piece, words - first);
            if (!is_peer) {
                copy_from(part, piece_.data(), other + first, count);
            }
            const std::uint64_t *from = is_peer ? other + first : piece_.data();
            join_tables_kernel<<<blocks_of(count), threads_a_block, 0, call_.stream()>>>(
                reinterpret_cast<const Word *>(one + first), reinterpret_cast<const Word *>(from),
                reinterpret_cast<Word *>(records_.data() + first), count, joins);
            check_launch("join_tables_kernel");
        }
    }

    void add_piece(const std::uint64_t *groups, std::uint64_t count) {
        add_groups_kernel<<<blocks_of(count), threads_a_block, 0, call_.stream()>>>(
            table_, reinterpret_cast<const Word *>(groups), count, joins_);
        check_launch("add_groups_kernel");
    }

    void add_groups(const DeviceAggregateOutput &part) {
        if (part.groups() == 0) {
            return;
        }
        if (&part.engine() == &call_.engine()) {
            add_piece(part.group_records(), part.groups());
            return;
        }
        const std::uint64_t a_piece = std::max<std::uint64_t>(1, piece_bytes / (words_ * sizeof(Word)));
        if (piece_.size() == 0) {
            piece_ = call_.buffer<std::uint64_t>(std::min(a_piece, groups_) * words_);
        }
        for (std::uint64_t first = 0; first < part.groups(); first += a_piece) {
            const std::uint64_t count = std::min(a_piece, part.groups() - first);
            copy_from(part, piece_.data(), part.group_records() + first * words_, count * words_);
            add_piece(piece_.data(), count);
        }
    }

    // Copies memory of another device. A device that mustn't read it gets it through the machine's memory,
    // which only the call for other devices' memory does.
    void copy_from(const DeviceAggregateOutput &part, std::uint64_t *to, const std::uint64_t *from,
                   std::uint64_t words) {
        const int own = call_.engine().device();
        if (may_read(own, part.engine())) {
            call_.copy(to, from, words);
            return;
        }
        check(cudaMemcpyPeerAsync(to, own, from, part.engine().device(), words * sizeof(std::uint64_t),
                                  call_.stream()),
              "cudaMemcpyPeerAsync");
    }

    void take_unresolved() {
        unresolved_ =
            call_.buffer<std::uint64_t>(std::max<std::uint64_t>(1, unresolved_count_ * (words_ + 1)));
        std::uint64_t *to = unresolved_.data();
        for (const DeviceAggregateOutput *part : parts_) {
            const std::uint64_t words = part->unresolved() * (words_ + 1);
            if (words > 0) {
                copy_from(*part, to, part->unresolved_records(), words);
                to += words;
            }
        }
    }

    bool is_full() {
        AggregateFlags flags;
        static_assert(sizeof(AggregateFlags) <= DeviceStream::result_words * sizeof(std::uint64_t));
        auto *pinned = reinterpret_cast<AggregateFlags *>(const_cast<std::uint64_t *>(call_.result()));
        call_.copy(pinned, static_cast<const AggregateFlags *>(flags_.data()), 1);
        call_.wait();
        std::copy_n(pinned, 1, &flags);
        return flags.full != 0;
    }

    // `is_narrow` is as list_first_groups takes it.
    void give_groups(DeviceAggregateOutput &output, const FilledTable &filled, const ProgramView &program,
                     bool is_narrow) {
        // Unresolved rows may change the order, and belong to the same groups.
        const bool is_certain = unresolved_count_ == 0;
        if (wants_only_counts(merge_.top) && is_certain) {
            output.set_counted(counted_ + count_groups(call_, filled));
            return;
        }
        std::uint64_t groups = 0;
        Buffer<std::uint64_t> listed;
        if (merge_.top.count > 0 && is_certain) {
            listed = list_first_groups(call_, filled, program, merge_.top, is_narrow, &groups);
            listed = keep_top(call_, merge_.top, words_, std::move(listed), &groups);
        } else {
            groups = count_groups(call_, filled);
            if (groups <= merge_.max_groups) {
                listed = list_groups(call_, filled, program, groups);
            }
        }
        call_.wait();
        if (groups > merge_.max_groups || unresolved_count_ > merge_.max_groups - groups) {
            output.set_outcome(AggregateOutcome::too_many_groups);
            return;
        }
        output.take(std::move(listed), groups, std::move(unresolved_), unresolved_count_);
    }

    const Call &call_;
    const AggregateOutputs &merge_;
    const std::uint32_t key_words_;
    const std::uint32_t words_;
    const std::vector<const DeviceAggregateOutput *> parts_;
    const Buffer<AggregateFlags> flags_;
    JoinsView joins_{};
    std::uint64_t groups_ = 0;
    std::uint64_t counted_ = 0;
    std::uint64_t unresolved_count_ = 0;
    TableView table_{};
    Buffer<std::uint64_t> records_;
    Buffer<std::uint32_t> states_;
    Buffer<std::uint64_t> piece_;
    Buffer<std::uint64_t> unresolved_;
};

}  // namespace

Status merge_outputs(Engine &engine, Stream &stream, const AggregateOutputs &merge,
                     std::unique_ptr<AggregateOutput> *output) noexcept {
    return guarded([&] {
        const auto unavailable =
            make_status(StatusCode::unavailable, "these groups can't be merged on a device");
        auto *device = dynamic_cast<DeviceEngine *>(&engine);
        std::vector<const DeviceAggregateOutput *> parts;
        for (std::size_t part = 0; part < merge.part_count; ++part) {
            parts.push_back(result_of_device(merge.parts[part]));
        }
        const bool is_of_rows = merge.top.of_rows != 0 && !wants_only_counts(merge.top);
        if (device == nullptr || is_of_rows || merge.program->key_words == 0 || parts.empty() ||
            std::find(parts.begin(), parts.end(), nullptr) != parts.end()) {
            return unavailable;
        }
        check_top(*merge.program, merge.top);
        const Call call(*device, stream);
        std::unique_ptr<AggregateOutput> merged = Merger(call, merge, std::move(parts)).output();
        if (merged == nullptr) {
            return unavailable;
        }
        *output = std::move(merged);
        return Status{};
    });
}

}  // namespace gpu_engine::device
