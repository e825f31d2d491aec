#include "plan/query/nodes.h"

#include "plan/query/nested_groups.h"
#include "plan/query/top.h"

namespace pg_gpu::plan::query {

namespace {

// A list that grows.
template <typename Item>
struct Items {
    Item *items;
    uint32 count;
    uint32 room;
};

template <typename Item>
void append(Items<Item> *list, const Item &item) {
    if (list->count == list->room) {
        list->room = Max(2 * list->room, uint32{16});
        list->items =
            list->items == nullptr ? allocate<Item>(list->room) : reallocate(list->items, list->room);
    }
    list->items[list->count++] = item;
}

// The columns of a node's rows: sources in the order of their numbers, then keys of the join above.
struct Columns {
    uint16 *sources;
    uint32 count;
};

struct Building {
    const CompiledQuery *compiled;
    Items<engine::Node> nodes;
    Items<ValueType> types;
    Items<engine::Step> steps;
    Items<uint16> outputs;
    Items<engine::Accumulator> accumulators;
    Items<engine::SortKey> sort_keys;
    // By node of the tree: which sources are read above it, which its own rows have, and the engine's node.
    bool **above;
    bool **own;
    uint32 *number;
};

}  // namespace

static void mark_read(const engine::Step *steps, uint32 count, bool *is_read) {
    for (uint32 i = 0; i < count; i++)
        if (steps[i].operation == Operation::column)
            is_read[steps[i].left] = true;
}

static bool is_column(const NodeSteps &steps, uint16 number) {
    return steps.steps[number].operation == Operation::column;
}

// Is something computed of the node's rows before the join above takes them?
static bool is_computed(const CompiledNode &node) {
    bool any = node.filter != no_step;
    for (uint32 i = 0; i < node.key_count; i++)
        any = any || !is_column(node.rows, node.keys[i]);
    return any;
}

// ---- which columns are read -------------------------------------------------------------------------------

static void mark_below(Building *building, int number) {
    const CompiledQuery &compiled = *building->compiled;
    const Program &program = *compiled.program;
    const TreeNode &node = compiled.tree.nodes[number];
    const CompiledNode &own = compiled.nodes[number];
    bool *is_read = building->own[number];
    memcpy(is_read, building->above[number], program.source_count * sizeof(bool));
    mark_read(own.rows.steps, own.rows.count, is_read);
    if (node.kind == TreeKind::Table)
        return;
    if (has_own_columns(node)) {
        mark_read(own.groups->steps.steps, own.groups->steps.count, building->above[node.probed]);
        return;
    }
    auto *is_joined = allocate_zeroed<bool>(size_t{program.source_count} + 1);
    memcpy(is_joined, is_read, program.source_count * sizeof(bool));
    mark_read(own.pairs.steps, own.pairs.count, is_joined);
    for (const int side : {node.probed, node.build}) {
        const Bitmapset *tables = tables_of(compiled.tree, side);
        for (uint32 i = 0; i < program.source_count; i++)
            building->above[side][i] = is_joined[i] && bms_is_member(program.sources[i].table, tables);
    }
}

static void mark_all(Building *building) {
    const CompiledQuery &compiled = *building->compiled;
    const Program &program = *compiled.program;
    const auto nodes = static_cast<size_t>(compiled.tree.count);
    building->above = allocate<bool *>(nodes);
    building->own = allocate<bool *>(nodes);
    building->number = allocate_zeroed<uint32>(nodes);
    for (size_t i = 0; i < nodes; i++) {
        building->above[i] = allocate_zeroed<bool>(size_t{program.source_count} + 1);
        building->own[i] = allocate_zeroed<bool>(size_t{program.source_count} + 1);
    }
    mark_read(program.steps, program.step_count, building->above[nodes - 1]);
    for (int i = compiled.tree.count - 1; i >= 0; i--)
        mark_below(building, i);
}

static Columns columns_of(const Building &building, const bool *is_there) {
    const uint32 count = building.compiled->program->source_count;
    Columns columns = {allocate<uint16>(size_t{count} + 1), 0};
    for (uint32 i = 0; i < count; i++)
        if (is_there[i])
            columns.sources[columns.count++] = static_cast<uint16>(i);
    return columns;
}

static uint16 place_of(const Columns &columns, uint16 source) {
    uint16 place = 0;
    while (columns.sources[place] != source)
        place++;
    return place;
}

// ---- nodes ------------------------------------------------------------------------------------------------

static engine::Node begin_node(engine::NodeKind kind) {
    engine::Node node = {};
    node.kind = kind;
    node.filter = no_step;
    return node;
}

static uint32 add_node(Building *building, const engine::Node &node) {
    append(&building->nodes, node);
    return building->nodes.count - 1;
}

// Adds steps that read columns by their numbers among these.
static engine::Span add_steps(Building *building, const engine::Step *steps, uint32 count,
                              const Columns &columns) {
    const uint32 first = building->steps.count;
    for (uint32 i = 0; i < count; i++) {
        engine::Step step = steps[i];
        if (step.operation == Operation::column)
            step.left = place_of(columns, step.left);
        append(&building->steps, step);
    }
    return {first, count};
}

// What the join above takes of a node's rows.
static void add_compute(Building *building, int number) {
    const Program &program = *building->compiled->program;
    const CompiledNode &compiled = building->compiled->nodes[number];
    const Columns own = columns_of(*building, building->own[number]);
    engine::Node compute = begin_node(engine::NodeKind::compute);
    compute.input = building->number[number];
    compute.filter = compiled.filter;
    compute.limit = PG_UINT64_MAX;
    compute.steps = add_steps(building, compiled.rows.steps, compiled.rows.count, own);
    const Columns given = columns_of(*building, building->above[number]);
    compute.outputs = {building->outputs.count, given.count + compiled.key_count};
    for (uint32 i = 0; i < given.count; i++) {
        append(&building->steps, make_step(Operation::column, program.sources[given.sources[i]].type,
                                           place_of(own, given.sources[i])));
        append(&building->outputs, static_cast<uint16>(compute.steps.count++));
    }
    for (uint32 i = 0; i < compiled.key_count; i++)
        append(&building->outputs, compiled.keys[i]);
    compute.expected_rows = static_cast<uint64>(Max(building->compiled->tree.nodes[number].rows, 1.0));
    building->number[number] = add_node(building, compute);
}

static void add_scan(Building *building, int number) {
    const Program &program = *building->compiled->program;
    engine::Node scan = begin_node(engine::NodeKind::scan);
    scan.table = static_cast<uint32>(building->compiled->tree.nodes[number].table);
    const Columns own = columns_of(*building, building->own[number]);
    scan.types = {building->types.count, own.count};
    for (uint32 i = 0; i < own.count; i++)
        append(&building->types, program.sources[own.sources[i]].type);
    building->number[number] = add_node(building, scan);
}

namespace {

// The columns that a join has of one of its sides, and where its keys are among them.
struct Side {
    Columns columns;
    uint32 count;  // keys that are computed included
    uint32 *keys;
};

}  // namespace

static Side side_of(const Building &building, int number) {
    const CompiledNode &compiled = building.compiled->nodes[number];
    const bool is_own = !is_computed(compiled);
    Side side = {columns_of(building, is_own ? building.own[number] : building.above[number]), 0,
                 allocate<uint32>(size_t{compiled.key_count} + 1)};
    for (uint32 i = 0; i < compiled.key_count; i++)
        side.keys[i] = is_own ? place_of(side.columns, compiled.rows.steps[compiled.keys[i]].left)
                              : side.columns.count + i;
    side.count = side.columns.count + (is_own ? 0 : compiled.key_count);
    return side;
}

static engine::JoinKind kind_of(JoinType type) {
    switch (type) {
        case JOIN_LEFT:
            return engine::JoinKind::left;
        case JOIN_RIGHT:
            return engine::JoinKind::right;
        case JOIN_FULL:
            return engine::JoinKind::full;
        case JOIN_SEMI:
            return engine::JoinKind::semi;
        case JOIN_ANTI:
            return engine::JoinKind::anti;
        default:
            return engine::JoinKind::inner;
    }
}

static void add_join(Building *building, int number) {
    const CompiledQuery &compiled = *building->compiled;
    const TreeNode &node = compiled.tree.nodes[number];
    const Side probed = side_of(*building, node.probed);
    const Side build = side_of(*building, node.build);
    engine::Node join = begin_node(engine::NodeKind::join);
    join.input = building->number[node.probed];
    join.build = building->number[node.build];
    join.join = kind_of(node.join);
    // Of the joined row's columns; a side's are in the order of sources' numbers, those of both aren't.
    const auto place_in_both = [&](uint16 source) {
        const bool is_probed =
            bms_is_member(compiled.program->sources[source].table, tables_of(compiled.tree, node.probed));
        return static_cast<uint16>(is_probed ? place_of(probed.columns, source)
                                             : probed.count + place_of(build.columns, source));
    };
    const CompiledNode &own = compiled.nodes[number];
    join.filter = own.match;
    join.steps = {building->steps.count, own.pairs.count};
    for (uint32 i = 0; i < own.pairs.count; i++) {
        engine::Step step = own.pairs.steps[i];
        if (step.operation == Operation::column)
            step.left = place_in_both(step.left);
        append(&building->steps, step);
    }
    const Columns given = columns_of(*building, building->own[number]);
    join.outputs = {building->outputs.count, given.count};
    for (uint32 i = 0; i < given.count; i++)
        append(&building->outputs, place_in_both(given.sources[i]));
    const uint32 first_key = building->outputs.count;
    for (uint32 i = 0; i < compiled.nodes[node.probed].key_count; i++) {
        append(&building->outputs, static_cast<uint16>(probed.keys[i]));
        append(&building->outputs, static_cast<uint16>(build.keys[i]));
    }
    const auto pair_of = [first_key](const std::optional<uint32> &key) {
        return key ? engine::Span{first_key + 2 * *key, 2} : engine::Span{first_key, 0};
    };
    join.join_keys = {first_key, 2 * own.equal_keys};
    join.at_most = pair_of(own.at_most);
    join.at_least = pair_of(own.at_least);
    join.expected_rows = static_cast<uint64>(Max(node.rows, 1.0));
    building->number[number] = add_node(building, join);
}

// Of the rows of a node of the tree.
static uint32 add_aggregate(Building *building, int grouped, const CompiledQuery &compiled,
                            const NodeSteps &steps, uint64 expected_groups) {
    engine::Node groups = begin_node(engine::NodeKind::aggregate);
    groups.input = building->number[grouped];
    groups.steps =
        add_steps(building, steps.steps, steps.count, columns_of(*building, building->own[grouped]));
    groups.filter = compiled.filter;
    groups.outputs = {building->outputs.count, compiled.key_count};
    for (uint32 i = 0; i < compiled.key_count; i++)
        append(&building->outputs, compiled.keys[i]);
    groups.accumulators = {building->accumulators.count, compiled.accumulator_count};
    for (uint32 i = 0; i < compiled.accumulator_count; i++)
        append(&building->accumulators, compiled.accumulators[i]);
    groups.expected_rows = expected_groups;
    return add_node(building, groups);
}

// Begins a computation over the columns of an aggregate.
static engine::Node begin_over_groups(Building *building, uint32 groups, const NodeSteps &steps,
                                      uint16 filter) {
    engine::Node compute = begin_node(engine::NodeKind::compute);
    compute.input = groups;
    compute.filter = filter;
    compute.limit = PG_UINT64_MAX;
    compute.steps = {building->steps.count, steps.count};
    for (uint32 i = 0; i < steps.count; i++)
        append(&building->steps, steps.steps[i]);
    compute.outputs = {building->outputs.count, 0};
    return compute;
}

// Leaves out the groups that HAVING drops; all columns stay as they are.
static void add_having(Building *building) {
    const CompiledQuery &compiled = *building->compiled;
    engine::Node having =
        begin_over_groups(building, building->nodes.count - 1, compiled.having.steps, compiled.having.filter);
    having.outputs.count = compiled.key_count + compiled.accumulator_count;
    for (uint32 i = 0; i < having.outputs.count; i++) {
        append(&building->steps, make_step(Operation::column, compiled.types[i], static_cast<uint16>(i)));
        append(&building->outputs, static_cast<uint16>(having.steps.count++));
    }
    add_node(building, having);
}

// Begins a computation over a node's rows.
static engine::Node begin_over_rows(Building *building, int rows, const NodeSteps &steps, uint16 filter) {
    engine::Node compute = begin_node(engine::NodeKind::compute);
    compute.input = building->number[rows];
    compute.filter = filter;
    compute.limit = PG_UINT64_MAX;
    compute.steps = add_steps(building, steps.steps, steps.count, columns_of(*building, building->own[rows]));
    compute.outputs = {building->outputs.count, 0};
    return compute;
}

// The column of the rows that a computation gives which has a step; one that it hasn't is added.
static uint16 place_of_step(Building *building, engine::Node *given, uint16 step) {
    if (step == no_step)
        return no_step;
    uint32 place = 0;
    while (place < given->outputs.count && building->outputs.items[given->outputs.first + place] != step)
        place++;
    if (place == given->outputs.count) {
        append(&building->outputs, step);
        given->outputs.count++;
    }
    return static_cast<uint16>(place);
}

// Sort keys of the query's, from the next one on.
static engine::Span add_sort_keys(Building *building, const CompiledQuery &compiled, const List *order,
                                  int unordered) {
    engine::SortKey *keys;
    const engine::Span span = {building->sort_keys.count, make_sort_keys(compiled, order, unordered, &keys)};
    for (uint32 i = 0; i < span.count; i++)
        append(&building->sort_keys, keys[i]);
    return span;
}

// Windows over the rows of the last node, which has what their functions take behind the keys; then what is
// wanted of that: keys and functions.
static void add_windows(Building *building, const CompiledQuery &compiled, engine::Node given) {
    const uint32 first = building->accumulators.count;
    for (uint32 i = 0; i < compiled.accumulator_count; i++) {
        engine::Accumulator function = compiled.accumulators[i];
        function.argument = place_of_step(building, &given, function.argument);
        function.filter = place_of_step(building, &given, function.filter);
        append(&building->accumulators, function);
    }
    const uint32 columns = given.outputs.count;
    add_node(building, given);
    for (uint32 i = 0; i < compiled.window_count; i++) {
        const CompiledWindow &own = compiled.windows[i];
        engine::Node window = begin_node(engine::NodeKind::window);
        window.input = building->nodes.count - 1;
        window.sort_keys = add_sort_keys(building, compiled, own.order, own.partition_keys);
        window.partition_keys = static_cast<uint32>(own.partition_keys);
        window.frame_first = own.frame_first;
        window.frame_last = own.frame_last;
        window.frame_key = own.frame_key;
        window.frame_from = own.frame_from;
        window.frame_to = own.frame_to;
        window.accumulators = {first + own.first, own.count};
        window.limit = PG_UINT64_MAX;
        window.expected_rows = given.expected_rows;
        add_node(building, window);
    }
    engine::Node wanted = begin_node(engine::NodeKind::compute);
    wanted.input = building->nodes.count - 1;
    wanted.limit = PG_UINT64_MAX;
    wanted.expected_rows = given.expected_rows;
    wanted.steps = {building->steps.count, compiled.key_count + compiled.accumulator_count};
    wanted.outputs = {building->outputs.count, wanted.steps.count};
    for (uint32 i = 0; i < wanted.steps.count; i++) {
        const uint32 column = i < compiled.key_count ? i : columns + i - compiled.key_count;
        append(&building->steps,
               make_step(Operation::column, compiled.types[i], static_cast<uint16>(column)));
        append(&building->outputs, static_cast<uint16>(i));
    }
    add_node(building, wanted);
}

// The rows of a node of the tree, or what windows are over them.
static uint32 add_given(Building *building, int rows, const CompiledQuery &compiled, const NodeSteps &steps,
                        uint64 expected_rows) {
    engine::Node given = begin_over_rows(building, rows, steps, compiled.filter);
    given.outputs.count = compiled.key_count;
    for (uint32 i = 0; i < compiled.key_count; i++)
        append(&building->outputs, compiled.keys[i]);
    given.expected_rows = expected_rows;
    if (compiled.window_count > 0)
        add_windows(building, compiled, given);
    else
        add_node(building, given);
    return building->nodes.count - 1;
}

// ---- subqueries -------------------------------------------------------------------------------------------

static engine::Node begin_nested(Building *building, const TreeNode &node, const CompiledGroups &groups) {
    if (node.kind == TreeKind::Rows)
        return begin_over_rows(building, node.probed, groups.steps, groups.filter);
    const auto expected = static_cast<uint64>(Max(node.rows, 1.0));
    const uint32 below = node.kind == TreeKind::Windows
                             ? add_given(building, node.probed, groups.query, groups.steps, expected)
                             : add_aggregate(building, node.probed, groups.query, groups.steps, expected);
    return begin_over_groups(building, below, groups.column_steps, groups.filter);
}

// A subquery's groups, or a member's rows, and of these the columns that are read.
static void add_nested(Building *building, int number) {
    const CompiledQuery &compiled = *building->compiled;
    const TreeNode &node = compiled.tree.nodes[number];
    const CompiledGroups &groups = *compiled.nodes[number].groups;
    engine::Node compute = begin_nested(building, node, groups);
    const Columns own = columns_of(*building, building->own[number]);
    for (uint32 i = 0; i < own.count; i++) {
        const Source &source = compiled.program->sources[own.sources[i]];
        append(&building->outputs, source.kind == SourceKind::Shown ? groups.shown[source.column]
                                                                    : groups.values[source.column].step);
    }
    compute.outputs.count = own.count;
    compute.expected_rows = static_cast<uint64>(Max(node.rows, 1.0));
    building->number[number] = add_node(building, compute);
}

static void add_sort(Building *building, const engine::Span &keys, int64 limit, uint64 expected_rows) {
    engine::Node sort = begin_node(engine::NodeKind::sort);
    sort.input = building->nodes.count - 1;
    sort.sort_keys = keys;
    sort.limit = static_cast<uint64>(limit);
    sort.expected_rows = Min(sort.limit, expected_rows);
    add_node(building, sort);
}

engine::Query make_engine_query(const CompiledQuery &compiled, const EngineQueryParts &parts) {
    const Program &program = *compiled.program;
    Building building = {};
    building.compiled = &compiled;
    mark_all(&building);
    for (int i = 0; i < compiled.tree.count; i++) {
        switch (compiled.tree.nodes[i].kind) {
            case TreeKind::Table:
                add_scan(&building, i);
                break;
            case TreeKind::Join:
            case TreeKind::Append:
                add_join(&building, i);
                break;
            case TreeKind::Groups:
            case TreeKind::Windows:
            case TreeKind::Rows:
                add_nested(&building, i);
                break;
        }
        if (i + 1 < compiled.tree.count && is_computed(compiled.nodes[i]))
            add_compute(&building, i);
    }
    const int root = compiled.tree.count - 1;
    const NodeSteps steps = {program.steps, program.step_count, 0, nullptr};
    if (compiled.gives_rows)
        add_given(&building, root, compiled, steps, parts.expected_groups);
    else
        add_aggregate(&building, root, compiled, steps, parts.expected_groups);
    const bool has_having = compiled.having.filter != no_step;
    if (has_having)
        add_having(&building);
    const engine::Span keys = add_sort_keys(
        &building, compiled, parts.is_having_tested && !compiled.having.is_whole ? NIL : parts.order, 0);
    if (keys.count > 0)
        add_sort(&building, keys, parts.count, parts.expected_groups);
    else if (compiled.window_count > 0 && parts.order == NIL && parts.count > 0)
        building.nodes.items[building.nodes.count - 1].limit = static_cast<uint64>(parts.count);
    engine::Query query = {};
    query.nodes = building.nodes.items;
    query.node_count = building.nodes.count;
    query.sort_keys = building.sort_keys.items;
    query.sort_key_count = building.sort_keys.count;
    query.types = building.types.items;
    query.type_count = building.types.count;
    query.steps = building.steps.items;
    query.step_count = building.steps.count;
    query.constants = program.constants;
    query.constant_count = program.constant_count;
    query.outputs = building.outputs.items;
    query.output_count = building.outputs.count;
    query.accumulators = building.accumulators.items;
    query.accumulator_count = building.accumulators.count;
    query.zones = program.zones;
    query.zone_count = program.zone_count;
    query.max_rows = parts.max_rows;
    return query;
}

}  // namespace pg_gpu::plan::query
