// Nodes of a query from a source of rows to what needs all of them, as one program that kernels run.
#pragma once

#include <vector>

#include "device/call.h"
#include "device/query/join_view.h"

namespace gpu_engine::query::on_device {

using device::Buffer;
using device::Call;

// Where values come from. A constant has no slot, nor has a column that is used once: it is read where it is
// used.
enum class Source : std::uint8_t { none, slot, column, constant, null };
struct Operand {
    Source source;
    ValueType type;
    std::uint16_t number;
};

enum class Task : std::uint8_t {
    compute,  // a step of the query
    read,     // column number `left` of the source
    probe,    // finds the row of join number `detail` whose key the operands are: an int64, or NULL
    gather,   // column number `list_first` of join number `detail`, of row `left`
};

// A step whose results go to a slot. `to` is a slot of one word, or the first of two.
struct Instruction {
    Operation operation;
    ValueType type;
    std::uint8_t width;
    std::uint16_t to;
    Task task;
    std::uint8_t reserved;
    Operand left;
    Operand right;
    Operand third;
    Operand guard;
    std::uint32_t detail;
    std::uint32_t list_first;  // of in_list: constants; of a probe: operands
    std::uint32_t list_count;
};

enum class Passing : std::uint8_t { is_true, is_null, is_not_null };

// Steps that are computed one behind the other, and what must be so for rows to go on.
struct Stage {
    std::uint32_t first;
    std::uint32_t count;
    Operand filter;
    Passing passing;
};

// All in device memory.
struct ProgramView {
    const Instruction *instructions;
    const Stage *stages;
    const Constant *constants;
    const Zone *zones;
    const JoinTableView *joins;
    const Operand *key_operands;
    std::uint32_t stage_count;
    std::uint32_t filter_stages;  // none behind these has a filter
    std::uint32_t slots;
};

// What all programs of a query read.
struct QueryData {
    Buffer<Constant> constants;
    Buffer<ZoneTransition> transitions;
    Buffer<Zone> zones;

    QueryData(const Call &call, const Query &query);
};

struct SourceColumn {
    ValueType type;
    bool may_be_null;
};

// What is build of a join, for those who look rows up in it.
struct BuildSide {
    JoinTableView view;
    std::vector<SourceColumn> columns;
    bool is_unique;  // no key has two rows
    bool has_null_key;
};
// Is a join's result found row by row? Then a probed row has one match at most, or matters only for whether
// it has one, and build rows that have none don't matter.
bool can_probe(const Query &query, const Node &join, const BuildSide &build);

// Puts nodes together: steps of a node that read a column of the node before become that node's steps.
class Composer {
  public:
    // A value that has been put together.
    using Number = std::uint32_t;
    static constexpr Number none = UINT32_MAX;

    explicit Composer(const std::vector<SourceColumn> &columns);

    // Adds a compute or aggregate node. Returns the numbers of its steps.
    std::vector<Number> add(const Query &query, const Node &node);
    // Adds a join that can be probed.
    void add_join(const Query &query, const Node &join, const BuildSide &build);
    // Leaves out rows whose key no build row has.
    void keep_matching(const Query &query, const Node &join, const BuildSide &build);
    // Adds a join's filter, where the columns are those of pairs of rows whose keys are equal.
    void add_filter(const Query &query, const Node &join);
    // Leaves the columns that a join gives.
    void choose_columns(const Query &query, const Node &join);
    // The columns that the next node reads.
    std::vector<Number> columns;

    bool may_be_null(Number number) const { return steps_[number].may_be_null; }
    ValueType type(Number number) const { return steps_[number].type; }

  private:
    friend class Program;
    struct FlatStep {
        Task task = Task::compute;
        Operation operation = {};
        ValueType type = {};
        std::uint8_t width = 8;
        bool may_be_null = false;
        bool may_fail = false;  // or a step that it takes may
        Number operands[3] = {none, none, none};
        Number guard = none;
        std::uint32_t source = 0;  // of a column or a constant
        std::uint32_t list_first = 0;
        std::uint32_t list_count = 0;
        std::uint32_t detail = 0;
        std::vector<Number> keys;  // of a probe
    };
    Number push(FlatStep step);
    Number push(const Step &step, const std::vector<Number> &numbers);
    std::vector<Number> push_steps(const Query &query, const Node &node);
    // The row of the build side that has the key.
    Number push_probe(const Query &query, const Node &join, const BuildSide &build);
    // The columns of a join's build side in the rows that `row` finds.
    void push_gathers(const BuildSide &build, Number row, bool may_lack_row, std::vector<Number> *to);
    // `row` where a condition is true, and else NULL.
    Number push_row_if(Number condition, Number row);

    // What rows go through: steps that may fail are computed in all rows that come so far, whether or not
    // anything needs them, and those steps that `filter` needs in rows that come this far.
    struct Gate {
        std::vector<Number> needed;
        Number filter;
        Passing passing = Passing::is_true;
    };
    void add_conditions(const Query &query, const Node &node, const std::vector<Number> &numbers);

    std::vector<FlatStep> steps_;
    std::vector<Gate> gates_;
    std::vector<JoinTableView> joins_;
};

// What has been put together, as instructions with slots, in device memory.
class Program {
  public:
    // `roots` are what the sink takes, from slots or, if it can, from columns; none is allowed among them.
    // Further `own_slots` are for the sink.
    // Throws Failure.
    Program(const Call &call, const QueryData &data, const Composer &composer,
            const std::vector<Composer::Number> &roots, std::uint32_t own_slots, bool are_roots_in_slots);

    const ProgramView &view() const noexcept { return view_; }
    const std::vector<Operand> &roots() const noexcept { return roots_; }
    std::uint32_t first_own_slot() const noexcept { return first_own_slot_; }
    bool has_filter() const noexcept { return view_.filter_stages > 0; }
    bool has_failing_steps() const noexcept { return has_failing_steps_; }

  private:
    Buffer<Instruction> instructions_;
    Buffer<Stage> stages_;
    Buffer<JoinTableView> joins_;
    Buffer<Operand> key_operands_;
    std::vector<Operand> roots_;
    std::uint32_t first_own_slot_ = 0;
    bool has_failing_steps_ = false;
    ProgramView view_{};
};

// An array of the host's in device memory. The host's memory isn't pinned, so it has been read when this
// returns.
template <typename Element>
Buffer<Element> upload(const Call &call, const Element *elements, std::uint64_t count) {
    Buffer<Element> buffer = call.buffer<Element>(count);
    call.copy(buffer.data(), elements, count);
    return buffer;
}
template <typename Element>
Buffer<Element> upload(const Call &call, const std::vector<Element> &elements) {
    return upload(call, elements.data(), elements.size());
}

}  // namespace gpu_engine::query::on_device
