// Whether a query is one. Queries may come from any client, so nothing of them is believed: not even that a
// number of an enumeration is one of it.
#include "common/query/float_functions.h"
#include "common/query/plan.h"

namespace gpu_engine::query {
namespace {

constexpr std::uint32_t max_columns = 4096;  // of a scan, or outputs of a node
constexpr std::uint32_t max_power = 38;

bool is_within(const Span &span, std::uint32_t count) noexcept {
    return std::uint64_t(span.first) + span.count <= count;
}
bool is_type(ValueType type) noexcept {
    return type >= ValueType::boolean && type <= ValueType::float64;
}
bool is_integer(ValueType type) noexcept {
    return type == ValueType::int64 || type == ValueType::int128;
}
bool is_width(std::uint8_t width, ValueType type) noexcept {
    switch (type) {
        case ValueType::int64:
            return width == 2 || width == 4 || width == 8;
        case ValueType::int128:
            return width == 2 || width == 4 || width == 8 || width == 16;
        case ValueType::float64:
            return width == 4 || width == 8;
        default:
            return true;
    }
}

bool is_float_decimal(const Step &step) noexcept {
    const std::uint32_t digits = step.detail >> 8 & 0xff;
    return (step.detail & 0xff) <= max_power && digits >= 1 && digits <= 15 &&
           (step.detail >> 16 & 0xff) <= max_power;
}

// ---- steps ------------------------------------------------------------------------------------------------

class StepCheck {
  public:
    StepCheck(const Query &query, const Node &node)
        : query_(query), node_(node), steps_(query.steps + node.steps.first) {}

    const char *problem(std::uint32_t number) const noexcept {
        const Step &step = steps_[number];
        if (!is_type(step.type)) {
            return "a step has no such type";
        }
        if (step.guard != no_step && !is(step.guard, number, ValueType::boolean)) {
            return "a step's guard is no truth value before it";
        }
        if (step.guard != no_step && step.operation <= Operation::null) {
            return "a source has no guard";
        }
        return is_fine(step, number) ? nullptr : "a step's operation, operands and type don't fit together";
    }

  private:
    // Is `operand` a step before `number`, and of that type?
    bool is(std::uint16_t operand, std::uint32_t number, ValueType type) const noexcept {
        return operand < number && steps_[operand].type == type;
    }
    bool is_any(std::uint16_t operand, std::uint32_t number) const noexcept { return operand < number; }
    bool is_some_integer(std::uint16_t operand, std::uint32_t number) const noexcept {
        return operand < number && is_integer(steps_[operand].type);
    }

    bool is_fine(const Step &step, std::uint32_t n) const noexcept {
        using enum Operation;
        const ValueType type = step.type;
        const bool has_width = is_width(step.width, type);
        const auto takes_own = [&](std::uint32_t operands) {
            return is(step.left, n, type) && (operands < 2 || is(step.right, n, type));
        };
        // All moments are integers of 64 bits.
        const bool is_moment = type == ValueType::int64 && is(step.left, n, ValueType::int64);
        switch (step.operation) {
            case column:
                return step.left < step_column_count(query_, node_) &&
                       step_column_type(query_, node_, step.left) == type;
            case constant:
                return step.left < query_.constant_count;
            case null:
                return true;
            case add:
            case subtract:
            case multiply:
            case divide:
                return type != ValueType::boolean && has_width && takes_own(2);
            case modulo:
                return is_integer(type) && takes_own(2);
            case negate:
            case absolute:
                return type != ValueType::boolean && has_width && takes_own(1);
            case sign:
                return type != ValueType::boolean && takes_own(1);
            case greater:
            case lesser:
            case coalesce:
            case null_if_equal:
                return takes_own(2);
            case divide_round:
            case divide_ceiling:
            case divide_floor:
                return is_integer(type) && has_width && takes_own(2);
            case quotient_digits:
                return type == ValueType::int64 && is(step.left, n, ValueType::int128) &&
                       is(step.right, n, ValueType::int128);
            case quotient:
                return type == ValueType::int128 && takes_own(2) && is(step.third, n, ValueType::int64) &&
                       step.detail >> 16 <= 255;
            case round_even:
            case ceiling:
            case floor:
            case truncate:
            case square_root:
                return type == ValueType::float64 && takes_own(1);
            case product_rest:
                return type == ValueType::float64 && takes_own(2);
            case float_function:
                return type == ValueType::float64 && takes_own(1) &&
                       takes_one(static_cast<FloatFunction>(step.detail));
            case float_function_of_two:
                return type == ValueType::float64 && takes_own(2) &&
                       takes_two(static_cast<FloatFunction>(step.detail));
            case bit_and:
            case bit_or:
            case bit_xor:
                return type == ValueType::int64 && takes_own(2);
            case bit_not:
                return type == ValueType::int64 && takes_own(1);
            case shift_left:
            case shift_right:
                return type == ValueType::int64 && has_width && takes_own(2);
            case widen:
                return type == ValueType::int128 &&
                       (is(step.left, n, ValueType::boolean) || is(step.left, n, ValueType::int64));
            case narrow:
                return type == ValueType::int64 && has_width &&
                       (is(step.left, n, ValueType::boolean) || is_some_integer(step.left, n));
            case to_float:
                return type == ValueType::float64 && has_width && is_some_integer(step.left, n) &&
                       step.detail <= max_power;
            case float_to_float:
                return type == ValueType::float64 && has_width && takes_own(1);
            case float_to_integer:
                return type == ValueType::int64 && has_width && is(step.left, n, ValueType::float64);
            case to_boolean:
                return type == ValueType::boolean && is(step.left, n, ValueType::int64);
            case is_negative:
                return type == ValueType::boolean && is(step.left, n, ValueType::float64);
            case float_to_decimal:
                return type == ValueType::int128 && is(step.left, n, ValueType::float64) &&
                       is_float_decimal(step);
            case float_scale:
                return type == ValueType::int64 && is(step.left, n, ValueType::float64) &&
                       is_float_decimal(step);
            case equal:
            case not_equal:
            case less:
            case less_or_equal:
            case is_distinct:
                return type == ValueType::boolean && is_any(step.left, n) &&
                       is(step.right, n, steps_[step.left].type);
            case logical_and:
            case logical_or:
                return type == ValueType::boolean && takes_own(2);
            case logical_not:
            case is_true:
            case is_false:
                return type == ValueType::boolean && takes_own(1);
            case is_null:
                return type == ValueType::boolean && is_any(step.left, n);
            case in_list:
                return type == ValueType::boolean && is_any(step.left, n) &&
                       is_within({step.third, step.right}, query_.constant_count);
            case choose:
                return is(step.left, n, ValueType::boolean) && is(step.right, n, type) &&
                       is(step.third, n, type);
            case look_up:
                return is_moment && step.detail < query_.constant_count &&
                       query_.constants[step.detail].low < query_.constant_count - step.detail;
            case date_of_timestamp:
            case timestamp_of_date:
                return is_moment;
            case truncate_days:
                return is_moment && step.detail >= static_cast<std::uint32_t>(TimeUnit::day) &&
                       step.detail <= static_cast<std::uint32_t>(TimeUnit::millennium);
            case truncate_timestamp:
                return is_moment && step.detail >= static_cast<std::uint32_t>(TimeUnit::microsecond) &&
                       step.detail <= static_cast<std::uint32_t>(TimeUnit::millennium);
            case field_of_date:
            case field_of_timestamp:
                return is_moment && step.detail >= static_cast<std::uint32_t>(DateField::microseconds) &&
                       step.detail <= static_cast<std::uint32_t>(DateField::julian_day);
            case shift_zone:
            case unshift_zone:
                return is_moment && step.detail < query_.zone_count;
            case months_added:
                return is_moment && is(step.right, n, ValueType::int64) && step.detail <= 1;
        }
        return false;
    }

    const Query &query_;
    const Node &node_;
    const Step *steps_;
};

const char *problem_of_steps(const Query &query, const Node &node) noexcept {
    if (node.steps.count > max_steps || !is_within(node.steps, query.step_count)) {
        return "a node has no such steps";
    }
    const StepCheck check(query, node);
    for (std::uint32_t i = 0; i < node.steps.count; ++i) {
        if (const char *problem = check.problem(i); problem != nullptr) {
            return problem;
        }
    }
    const Step *steps = query.steps + node.steps.first;
    if (node.filter != no_step &&
        (node.filter >= node.steps.count || steps[node.filter].type != ValueType::boolean)) {
        return "a node's filter is no truth value";
    }
    const std::uint32_t most = node.kind == NodeKind::aggregate ? max_keys : max_columns;
    if (node.outputs.count > most || !is_within(node.outputs, query.output_count)) {
        return "a node has no such outputs";
    }
    for (std::uint32_t i = 0; node.kind != NodeKind::join && i < node.outputs.count; ++i) {
        if (query.outputs[node.outputs.first + i] >= node.steps.count) {
            return "an output is no step";
        }
    }
    return nullptr;
}

// ---- joins ------------------------------------------------------------------------------------------------

const char *problem_of_bound(const Query &query, const Node &join, const Span &bound) noexcept {
    if (bound.count == 0) {
        return nullptr;
    }
    if (bound.count != 2 || !is_within(bound, query.output_count) || join.filter == no_step) {
        return "a join has no such bound, or no filter";
    }
    const std::uint16_t *pair = query.outputs + bound.first;
    if (pair[0] >= column_count(query, join.input) || pair[1] >= column_count(query, join.build)) {
        return "a join's bound isn't a column of each side";
    }
    const ValueType type = column_type(query, join.input, pair[0]);
    if (type != column_type(query, join.build, pair[1]) ||
        (type != ValueType::int64 && type != ValueType::float64)) {
        return "a join's bound is of two types, or of one that has none";
    }
    return nullptr;
}

const char *problem_of_join(const Query &query, const Node &node) noexcept {
    if (node.join < JoinKind::inner || node.join > JoinKind::anti_null) {
        return "a join is of no kind";
    }
    if (node.join_keys.count > 2 * max_keys || node.join_keys.count % 2 != 0 ||
        !is_within(node.join_keys, query.output_count)) {
        return "a join has no such keys";
    }
    const std::uint32_t probed = column_count(query, node.input);
    const std::uint32_t build = column_count(query, node.build);
    for (std::uint32_t i = 0; i < node.join_keys.count; i += 2) {
        const std::uint16_t *pair = query.outputs + node.join_keys.first + i;
        if (pair[0] >= probed || pair[1] >= build ||
            column_type(query, node.input, pair[0]) != column_type(query, node.build, pair[1])) {
            return "a join's key isn't a column of each side, of one type";
        }
    }
    const std::uint32_t columns = gives_build(node.join) ? probed + build : probed;
    for (std::uint32_t i = 0; i < node.outputs.count; ++i) {
        if (query.outputs[node.outputs.first + i] >= columns) {
            return "a join's output is no column that it has";
        }
    }
    for (const Span &bound : {node.at_most, node.at_least}) {
        if (const char *problem = problem_of_bound(query, node, bound)) {
            return problem;
        }
    }
    if (node.join == JoinKind::anti_null && (node.join_keys.count != 2 || node.filter != no_step)) {
        return "a join for NOT IN has a key and no filter";
    }
    return nullptr;
}

// ---- aggregates -------------------------------------------------------------------------------------------

bool is_argument(const Accumulator &accumulator, ValueType type) noexcept {
    switch (accumulator.kind) {
        case AccumulatorKind::sum:
            return is_integer(type);
        case AccumulatorKind::sum_float:
        case AccumulatorKind::percentile_continuous:
            return type == ValueType::float64;
        case AccumulatorKind::bit_and:
        case AccumulatorKind::bit_or:
        case AccumulatorKind::bit_xor:
            return type == ValueType::int64;
        case AccumulatorKind::count:
        case AccumulatorKind::least:
        case AccumulatorKind::greatest:
        case AccumulatorKind::percentile_discrete:
        case AccumulatorKind::mode:
        case AccumulatorKind::any_value:
        case AccumulatorKind::percentile_below:
        case AccumulatorKind::percentile_above:
            return true;
        case AccumulatorKind::count_rows:
        case AccumulatorKind::row_number:
        case AccumulatorKind::rank:
        case AccumulatorKind::dense_rank:
        case AccumulatorKind::earlier:
        case AccumulatorKind::later:
        case AccumulatorKind::first_of_frame:
        case AccumulatorKind::last_of_frame:
        case AccumulatorKind::nth_of_frame:
        case AccumulatorKind::ntile:
        case AccumulatorKind::percent_rank:
        case AccumulatorKind::cume_dist:
            break;
    }
    return false;
}

bool is_accumulator(const Query &query, const Node &node, const Accumulator &accumulator) noexcept {
    const Step *steps = query.steps + node.steps.first;
    if (accumulator.filter != no_step &&
        (accumulator.filter >= node.steps.count || steps[accumulator.filter].type != ValueType::boolean)) {
        return false;
    }
    if (accumulator.kind == AccumulatorKind::count_rows) {
        return accumulator.distinct == 0;
    }
    if (accumulator.argument >= node.steps.count ||
        !is_argument(accumulator, steps[accumulator.argument].type)) {
        return false;
    }
    if (accumulator.distinct != 0 && accumulator.kind != AccumulatorKind::count &&
        accumulator.kind != AccumulatorKind::sum && accumulator.kind != AccumulatorKind::sum_float) {
        return false;
    }
    if (accumulator.kind == AccumulatorKind::sum_float &&
        accumulator.detail >= (accumulator.distinct != 0 ? 1 : sum_parts)) {
        return false;
    }
    if (is_percentile(accumulator.kind)) {
        if (accumulator.detail >= query.constant_count) {
            return false;
        }
        const double fraction = float_of_bits(query.constants[accumulator.detail].low);
        return fraction >= 0 && fraction <= 1;
    }
    return true;
}

// ---- windows ----------------------------------------------------------------------------------------------

bool is_sorted_by_columns(const Query &query, const Node &node) noexcept {
    if (!is_within(node.sort_keys, query.sort_key_count)) {
        return false;
    }
    for (std::uint32_t i = 0; i < node.sort_keys.count; ++i) {
        if (query.sort_keys[node.sort_keys.first + i].column >= column_count(query, node.input)) {
            return false;
        }
    }
    return true;
}

bool is_offset(std::int64_t bound) noexcept {
    return bound >= -max_frame_offset && bound <= max_frame_offset;
}

bool has_searchable_frame(const Node &node) noexcept {
    return node.frame_first == partition_first ||
           (is_offset(node.frame_first) && is_offset(node.frame_last) &&
            node.frame_last - node.frame_first < max_searched_frame);
}

bool is_function(const Query &query, const Node &node, const Accumulator &function) noexcept {
    const std::uint32_t columns = column_count(query, node.input);
    const bool is_filtered = function.filter != no_step;
    if (function.distinct != 0 || (is_filtered && function.filter >= columns) ||
        (takes_argument(function.kind) && function.argument >= columns)) {
        return false;
    }
    const auto type_of = [&](std::uint16_t column) { return column_type(query, node.input, column); };
    const bool has_condition = !is_filtered || type_of(function.filter) == ValueType::boolean;
    switch (function.kind) {
        case AccumulatorKind::count_rows:
        case AccumulatorKind::count:
            return has_condition;
        case AccumulatorKind::sum:
            return has_condition && is_integer(type_of(function.argument));
        case AccumulatorKind::sum_float:
            return has_condition && function.detail == 0 &&
                   type_of(function.argument) == ValueType::float64 && has_searchable_frame(node);
        case AccumulatorKind::least:
        case AccumulatorKind::greatest:
            return has_condition && has_searchable_frame(node);
        case AccumulatorKind::earlier:
        case AccumulatorKind::later:
            return !is_filtered || type_of(function.filter) == type_of(function.argument);
        case AccumulatorKind::ntile:
            return !is_filtered && function.detail > 0;
        case AccumulatorKind::row_number:
        case AccumulatorKind::rank:
        case AccumulatorKind::dense_rank:
        case AccumulatorKind::first_of_frame:
        case AccumulatorKind::last_of_frame:
        case AccumulatorKind::nth_of_frame:
        case AccumulatorKind::percent_rank:
        case AccumulatorKind::cume_dist:
            return !is_filtered;
        default:
            return false;
    }
}

// Are there the columns that a frame by values is found with?
bool has_frame_columns(const Query &query, const Node &node) noexcept {
    const std::uint32_t columns = column_count(query, node.input);
    const auto fits = [&](std::uint32_t column) {
        return column < columns &&
               column_type(query, node.input, column) == column_type(query, node.input, node.frame_key);
    };
    return node.sort_keys.count == node.partition_keys + 1 && node.frame_key < columns &&
           (node.frame_first != values_first || fits(node.frame_from)) &&
           (node.frame_last != values_last || fits(node.frame_to));
}

const char *problem_of_window(const Query &query, const Node &node) noexcept {
    if (!is_sorted_by_columns(query, node) || node.partition_keys > node.sort_keys.count) {
        return "a window has no such sort keys";
    }
    const bool is_by_values = node.frame_first == values_first || node.frame_last == values_last;
    const bool begins = node.frame_first == partition_first || node.frame_first == peers_first ||
                        node.frame_first == values_first || is_offset(node.frame_first);
    const bool ends = node.frame_last == partition_last || node.frame_last == peers_last ||
                      node.frame_last == values_last || is_offset(node.frame_last);
    if (!begins || !ends || (is_by_values && !has_frame_columns(query, node))) {
        return "a window has no such frame";
    }
    if (node.accumulators.count > max_accumulators ||
        !is_within(node.accumulators, query.accumulator_count) ||
        column_count(query, node.input) + node.accumulators.count > max_columns) {
        return "a window has no such functions";
    }
    for (std::uint32_t i = 0; i < node.accumulators.count; ++i) {
        if (!is_function(query, node, query.accumulators[node.accumulators.first + i])) {
            return "a window's function doesn't fit its columns or its frame";
        }
    }
    return nullptr;
}

// ---- nodes ------------------------------------------------------------------------------------------------

bool is_column(const ColumnStore &store, const RunColumn &column, ValueType type) noexcept {
    if (is_of_no_column(column.form)) {
        return column.form == ColumnForm::constant || type == ValueType::int64;
    }
    const StoreLayout &layout = store.layout();
    if (column.column >= layout.columns) {
        return false;
    }
    const bool has_values = layout.column[column.column].strings == 0;
    switch (column.form) {
        case ColumnForm::integer:
            return has_values && is_integer(type);
        case ColumnForm::flag:
            return has_values && type == ValueType::boolean;
        case ColumnForm::float32:
        case ColumnForm::float64:
            return has_values && type == ValueType::float64;
        case ColumnForm::decimal:
            return has_values && is_integer(type) && column.power <= max_power;
        case ColumnForm::map:
            return column.kept != nullptr || column.places == 0 || column.values != nullptr;
        case ColumnForm::code:
            return type == ValueType::int64;
        case ColumnForm::constant:
        case ColumnForm::row:
            break;
    }
    return false;
}

const char *problem_of_scan(const Query &query, const Node &node) noexcept {
    if (node.table != no_table && node.table >= query.block_count) {
        return "a scan's table is none of the query's";
    }
    if (node.types.count > max_columns || !is_within(node.types, query.type_count) ||
        !is_within(node.runs, query.run_count) || !is_within(node.inputs, query.input_count)) {
        return "a scan has no such columns or sources";
    }
    const ValueType *types = query.types + node.types.first;
    for (std::uint32_t i = 0; i < node.types.count; ++i) {
        if (!is_type(types[i])) {
            return "a column has no such type";
        }
    }
    for (std::uint32_t i = 0; i < node.runs.count; ++i) {
        const RunSource &run = query.runs[node.runs.first + i];
        if (run.store == nullptr || (run.tests == nullptr && run.test_count > 0) ||
            (run.columns == nullptr && node.types.count > 0)) {
            return "a run has no store, tests or columns";
        }
        if (node.table != no_table && run.table >= query.block_count - node.table) {
            return "a run's table is none of the query's";
        }
        for (std::uint32_t k = 0; k < node.types.count; ++k) {
            if (!is_column(*run.store, run.columns[k], types[k])) {
                return "a run's column doesn't fit the scan's";
            }
        }
    }
    for (std::uint32_t i = 0; i < node.inputs.count; ++i) {
        const InputSource &input = query.inputs[node.inputs.first + i];
        for (std::uint32_t k = 0; input.rows > 0 && k < node.types.count; ++k) {
            if (input.columns == nullptr || input.columns[k].values == nullptr) {
                return "an input has no columns";
            }
        }
    }
    return nullptr;
}

const char *problem_of_node(const Query &query, std::uint32_t number) noexcept {
    const Node &node = query.nodes[number];
    if (node.kind == NodeKind::scan) {
        return problem_of_scan(query, node);
    }
    if (node.kind < NodeKind::scan || node.kind > NodeKind::window || node.input >= number ||
        (node.kind == NodeKind::join && node.build >= number)) {
        return "a node is of no kind, or its input isn't before it";
    }
    if (node.kind == NodeKind::sort) {
        return is_sorted_by_columns(query, node) ? nullptr : "a sort has no such keys";
    }
    if (node.kind == NodeKind::window) {
        return problem_of_window(query, node);
    }
    const char *problem = problem_of_steps(query, node);
    if (problem != nullptr || node.kind == NodeKind::compute) {
        return problem;
    }
    if (node.kind == NodeKind::join) {
        return problem_of_join(query, node);
    }
    if (node.accumulators.count > max_accumulators ||
        !is_within(node.accumulators, query.accumulator_count)) {
        return "an aggregate has no such accumulators";
    }
    for (std::uint32_t i = 0; i < node.accumulators.count; ++i) {
        if (!is_accumulator(query, node, query.accumulators[node.accumulators.first + i])) {
            return "an accumulator doesn't fit its argument or filter";
        }
    }
    return nullptr;
}

bool has_arrays(const Query &query) noexcept {
    const auto is_there = [](const void *array, std::uint32_t count) {
        return array != nullptr || count == 0;
    };
    return is_there(query.nodes, query.node_count) && is_there(query.types, query.type_count) &&
           is_there(query.steps, query.step_count) && is_there(query.constants, query.constant_count) &&
           is_there(query.outputs, query.output_count) &&
           is_there(query.accumulators, query.accumulator_count) &&
           is_there(query.sort_keys, query.sort_key_count) && is_there(query.zones, query.zone_count) &&
           is_there(query.runs, query.run_count) && is_there(query.inputs, query.input_count) &&
           is_there(query.blocks, query.block_count);
}

// Is each node read by at most one other?
bool is_tree(const Query &query) noexcept {
    bool is_read[max_nodes] = {};
    for (std::uint32_t i = 0; i < query.node_count; ++i) {
        const Node &node = query.nodes[i];
        if (node.kind == NodeKind::scan) {
            continue;
        }
        if (is_read[node.input] || (node.kind == NodeKind::join && is_read[node.build])) {
            return false;
        }
        is_read[node.input] = true;
        if (node.kind == NodeKind::join) {
            if (node.build == node.input) {
                return false;
            }
            is_read[node.build] = true;
        }
    }
    return true;
}

}  // namespace

const char *find_problem(const Query &query) noexcept {
    if (query.node_count == 0 || query.node_count > max_nodes || !has_arrays(query)) {
        return "a query has no nodes, too many of them, or lacks an array";
    }
    for (std::uint32_t i = 0; i < query.zone_count; ++i) {
        if (query.zones[i].count == 0 || query.zones[i].transitions == nullptr) {
            return "a zone has no transitions";
        }
    }
    for (std::uint32_t i = 0; i < query.node_count; ++i) {
        if (const char *problem = problem_of_node(query, i); problem != nullptr) {
            return problem;
        }
    }
    return is_tree(query) ? nullptr : "a node is read by several others";
}

}  // namespace gpu_engine::query
