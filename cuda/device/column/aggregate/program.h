// A program for groups of rows as kernels run it.
#pragma once

#include <vector>

#include "common/column/aggregate.h"
#include "device/column/load/store.h"

namespace gpu_engine::device {

// The sources of numbers. A step that is used once, or is a constant, has no slot; it is computed where it is
// used.
enum class Source : std::uint16_t { slot = 1, input, constant, null, place };
struct Operand {
    Source source;
    std::uint16_t number;
};

// A step whose results go to a slot.
struct Instruction {
    AggregateOperation operation;
    std::uint8_t width;
    std::uint16_t to;
    Operand left;
    Operand right;
};

struct InputView {
    AggregateInput input;  // its maps are in device memory
    const std::uint64_t *codes;
    const std::uint64_t *column_nulls;  // may be null
    std::uint32_t bits;                 // bits of a code
};

// A dense group's number is the sum of all keys' codes, each times its key's factor: there are as many
// numbers as groups can be, where keys side by side would leave some out.
struct KeyView {
    AggregateKey key;
    Operand operand;
    std::uint64_t codes;
    std::uint64_t factor;
};

struct AccumulatorView {
    AccumulatorKind kind;
    bool has_argument;
    bool has_filter;
    bool is_narrow;          // a sum of all rows fits 64 bits with its sign
    bool is_presence;        // a count of all rows of which only matters whether it is 0
    bool is_short;           // a count that fits 32 bits
    std::uint16_t exponent;  // that of the Accumulator
    std::uint32_t word;
    Operand argument;
    Operand filter;
    const std::uint64_t *wide;  // for arguments of kind map128, whose numbers are places there; else null
};

// Steps that are computed one behind the other, and the condition that rows must then pass to go on.
struct StageView {
    const Instruction *steps;
    std::uint32_t count;
    bool has_condition;
    Operand condition;
};
// The first condition of the filter has a stage of its own, because it may leave so few rows that it pays to
// gather them before the rest is computed. Their order has changed then, and so the filter is computed anew.
enum Stage : std::uint32_t { first_stage, filter_stage, rest_stage, stages };

// All in device memory.
struct ProgramView {
    StageView stage[stages];
    const InputView *inputs;
    const std::int64_t *constants;
    const KeyView *keys;
    const AccumulatorView *accumulators;
    std::uint32_t key_count;
    std::uint32_t key_words;
    std::uint32_t accumulator_count;
    std::uint32_t value_words;  // with the word that counts rows, where it has been added
    std::uint32_t slots;
};

// A part's program with its maps, on the device.
class PartProgram {
  public:
    // `is_tested` says of each condition whether rows are tested for it beforehand, and so pass it.
    // `rows_word` is the word of an accumulator that counts all rows. If it is the first word behind all
    // others, such an accumulator is added.
    PartProgram(const Call &call, const AggregatePlan &plan, const AggregateInput *inputs,
                const StoreParts &parts, const std::vector<bool> &is_tested, std::uint32_t rows_word);

    const ProgramView &view() const noexcept { return view_; }
    // Gives all memory to a stream, as Memory does.
    void set_stream(cudaStream_t stream) noexcept {
        for (Buffer<std::uint64_t> &buffer : held_) {
            buffer.set_stream(stream);
        }
    }

  private:
    std::vector<InputView> upload_inputs(const Call &call, const AggregatePlan &plan,
                                         const AggregateInput *inputs, const StoreParts &parts,
                                         bool has_filter);
    const void *upload(const Call &call, const void *values, std::uint64_t bytes);

    std::vector<Buffer<std::uint64_t>> held_;
    ProgramView view_{};
};

// Does a sum of so many rows fit 64 bits with its sign?
bool is_narrow_sum(const Accumulator &accumulator, std::uint64_t rows);

// Are groups ordered by a sum whose upper half isn't in the table?
bool is_narrow_top(const AggregateProgram &program, const AggregateTop &top, std::uint64_t rows);

// Returns the word that counts all rows of a group, in the program or behind all its words.
std::uint32_t find_rows_word(const AggregateProgram &program);

}  // namespace gpu_engine::device
