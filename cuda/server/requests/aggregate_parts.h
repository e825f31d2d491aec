// A request about groups whose runs are on several engines: what each of them is asked, and its result on
// the way to be merged.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gpu_engine/aggregate_merge.h"
#include "gpu_engine/column.h"
#include "gpu_engine/guard.h"
#include "server/requests/scratch.h"

namespace gpu_engine::server {

// The part of a result that is wanted.
struct AggregateLimits {
    std::uint64_t max_groups;
    AggregateTop top;
};

inline bool only_count(const AggregateTop &top) {
    return top.of_rows == top_only_counts && top.count == 0;
}

// The program by which parts are asked and merged. Where the groups are only counted their keys are enough,
// unless unresolved rows may come, which are wanted whole.
inline AggregateProgram program_of_parts(AggregateProgram program, const AggregateLimits &limits,
                                         bool all_visible) {
    if (only_count(limits.top) && all_visible) {
        program.accumulator_count = 0;
        program.value_words = 0;
    }
    return program;
}

// The limits of the parts follow from those of the whole. Only when the groups of all parts have been put
// together is it known which are the first ones, and how many there are. Of rows the first ones of each part
// are enough.
inline bool is_of_groups(const AggregateLimits &limits) {
    return (limits.top.of_rows & top_of_rows) == 0;
}
inline AggregateLimits limits_of_parts(const AggregateLimits &whole) {
    const bool wants_less = whole.top.count > 0 || whole.top.of_rows != 0;
    return is_of_groups(whole) && wants_less ? AggregateLimits{UINT32_MAX, AggregateTop{}} : whole;
}

// A PartOfResult is what one of the engines has found. It stays on the engine until it is read.
class PartOfResult {
  public:
    // Few groups are read at once. Of many it is found out which keys they have, where some may be left out.
    // `memory` counts what is read.
    void keep(MemoryBudget &memory, Stream &stream, const AggregateProgram &program,
              const AggregateLimits &limits, std::unique_ptr<AggregateOutput> result) {
        result_ = std::move(result);
        if (!has_many_groups()) {
            read(memory, stream, program);
            return;
        }
        const bool wants_less = only_count(limits.top) || (limits.top.count > 0 && limits.top.of_rows == 0);
        if (wants_less && program.key_count > 0 && result_->unresolved() == 0 && !result_->stays_in_table()) {
            marks_ = std::make_unique<KeyMarks>();
            require(result_->mark_keys(stream, program, marks_.get()));
        } else {
            list_groups(stream);
        }
    }
    // Has the engine list the groups when none of them are left out: the engine that merges them must find
    // them listed, unless it joins tables. Where there is no memory for that they are read.
    void list_groups(Stream &stream) {
        if (is_read() || result_->stays_in_table()) {
            return;
        }
        const Status status = result_->list_groups(stream);
        if (status.code != StatusCode::out_of_memory) {
            require(status);
        }
    }
    // Keeps only what the others must know of. Where there is no memory for that it keeps all, which does no
    // harm.
    void leave_out(MemoryBudget &memory, Stream &stream, const AggregateProgram &program,
                   const AggregateLimits &limits, const SharedKeys &shared) {
        if (is_read()) {
            return;
        }
        std::unique_ptr<AggregateOutput> rest;
        SharedKeys its = shared;
        std::copy_n(marks_->of_key[shared.key], key_mark_words, its.own);
        const Status status = result_->leave_out(stream, program, its, limits.top, &rest);
        if (status.code == StatusCode::out_of_memory) {
            return;
        }
        require(status);
        result_ = std::move(rest);
        if (!has_many_groups()) {
            read(memory, stream, program);
        }
    }

    // Fewer groups are little to bring to the machine's memory and to merge there. Where that changes has not
    // been measured. What is in a table is merged there.
    bool has_many_groups() const { return result_->groups() >= many_groups || result_->stays_in_table(); }
    bool is_read() const { return groups_.has_value(); }
    const AggregateOutput *result() const { return result_.get(); }
    // Marks the keys of groups that have been read. They stay as they are, but others needn't bring theirs.
    void mark_read(const AggregateProgram &program);
    // Null where none may be left out.
    const KeyMarks *marks() const { return marks_.get(); }

    // Brings it to the machine's memory, of which `memory` counts it.
    void read(MemoryBudget &memory, Stream &stream, const AggregateProgram &program) {
        const AggregateOutput &result = *result_;
        const std::uint64_t words = program.key_words + std::uint64_t(program.value_words);
        group_count_ = result.groups();
        unresolved_count_ = result.unresolved();
        groups_.emplace(memory, group_count_ * words);
        unresolved_.emplace(memory, unresolved_count_ * (words + 1));
        // The two are read only if they aren't empty, because each read waits for the device.
        if (group_count_ > 0) {
            require(result.read_groups(stream, 0, group_count_, groups_->data()));
        }
        if (unresolved_count_ > 0) {
            require(result.read_unresolved(stream, 0, unresolved_count_, unresolved_->data()));
        }
    }
    AggregateRecords records() const {
        return {result_->outcome(), group_count_,        groups_->data(),
                unresolved_count_,  unresolved_->data(), result_->counted()};
    }

  private:
    static constexpr std::uint64_t many_groups = 1 << 14;

    static void require(const Status &status) {
        if (!status.ok()) {
            throw Failure{status};
        }
    }

    std::unique_ptr<AggregateOutput> result_;
    std::unique_ptr<KeyMarks> marks_;
    std::uint64_t group_count_ = 0;
    std::uint64_t unresolved_count_ = 0;
    std::optional<Scratch<std::uint64_t>> groups_;
    std::optional<Scratch<std::uint64_t>> unresolved_;
};

inline bool have_many_groups(const std::vector<PartOfResult> &parts) {
    return std::any_of(parts.begin(), parts.end(),
                       [](const PartOfResult &part) { return part.has_many_groups(); });
}

// Returns the keys by which parts leave out the most of their groups. None where they would leave out too
// few, or a part may leave out none. Rows that come in the order of a key, or nearly, have parts with keys of
// their own.
std::optional<SharedKeys> find_shared_keys(const AggregateProgram &program, std::vector<PartOfResult> &parts);

// Has parts leave out what others needn't know of, or makes them ready to be merged whole. at_once(body)
// calls body(part, stream) for all parts.
template <typename AtOnce>
void leave_out_of_parts(MemoryBudget &memory, const AggregateProgram &program, const AggregateLimits &limits,
                        std::vector<PartOfResult> &parts, AtOnce at_once) {
    const bool is_one_marked = std::any_of(parts.begin(), parts.end(),
                                           [](const PartOfResult &part) { return part.marks() != nullptr; });
    if (!is_one_marked) {
        return;
    }
    const std::optional<SharedKeys> shared = find_shared_keys(program, parts);
    at_once([&](std::size_t part, Stream &stream) {
        if (shared) {
            parts[part].leave_out(memory, stream, program, limits, *shared);
        } else {
            parts[part].list_groups(stream);
        }
    });
}

// Merges groups that are on devices on one of them. False where they must be read, and merged in the
// machine's memory: they lie elsewhere too, or the device has no room. Throws other failures.
inline bool merge_on_device([[maybe_unused]] Engine &engine, [[maybe_unused]] Stream &stream,
                            [[maybe_unused]] const AggregateProgram &program,
                            [[maybe_unused]] const AggregateLimits &limits,
                            [[maybe_unused]] const std::vector<PartOfResult> &parts,
                            [[maybe_unused]] std::unique_ptr<AggregateOutput> *result) {
#ifdef PG_GPU_HAVE_CUDA
    std::vector<const AggregateOutput *> outputs;
    for (const PartOfResult &part : parts) {
        outputs.push_back(part.result());
    }
    const Status status = device::merge_outputs(
        engine, stream, {&program, limits.max_groups, limits.top, outputs.data(), outputs.size()}, result);
    if (!status.ok() && status.code != StatusCode::unavailable && status.code != StatusCode::out_of_memory) {
        throw Failure{status};
    }
    return status.ok();
#else
    return false;
#endif
}

// Merges parts that have been read.
inline Status merge_in_memory(Engine &host, Stream &stream, const AggregateProgram &program,
                              const AggregateLimits &limits, const std::vector<PartOfResult> &parts,
                              std::unique_ptr<AggregateOutput> *result) {
    std::vector<AggregateRecords> records;
    for (const PartOfResult &part : parts) {
        records.push_back(part.records());
    }
    return host::merge_outputs(
        host, stream, {&program, limits.max_groups, limits.top, records.data(), records.size()}, result);
}

}  // namespace gpu_engine::server
