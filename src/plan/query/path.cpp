#include "plan/query/path.h"

#include "compat.h"
#include "plan/query/engine_plan.h"
#include "plan/query/entries.h"
#include "plan/query/failure.h"
#include "plan/query/given_rows.h"
#include "plan/query/having.h"
#include "plan/query/late_rows.h"
#include "plan/query/nested_groups.h"
#include "plan/query/node.h"
#include "plan/query/offer.h"
#include "plan/query/plan_nodes.h"
#include "plan/query/plan_tree.h"
#include "plan/query/tables.h"
#include "plan/query/top.h"
#include "plan/query/windows.h"
#include "settings.h"

namespace pg_gpu::plan::query {

// What the engine does for a row, in operator costs: a step, and adding to an accumulator of a group at hand.
// An engine has several threads, or a device's.
static constexpr double kStepOperators = 0.02;
static constexpr double kAddOperators = 0.02;
// A request is handed to another process, as work is to parallel workers, which takes longer to begin: half a
// millisecond, in which PostgreSQL reads a hundred pages one after the other.
Cost cost_request() {
    constexpr double part = 0.1;
    return part * parallel_setup_cost;
}

bool is_tested_by_code(Node *condition, const IndexColumns &columns) {
    IndexCondition read;
    return !may_fail(condition) && read_index_condition(condition, columns, &read);
}

void divide_conditions(const List *conditions, const IndexColumns &columns, List **by_code, List **others) {
    ListCell *cell;
    foreach (cell, conditions) {
        auto *condition = static_cast<Node *>(lfirst(cell));
        List **list = is_tested_by_code(condition, columns) ? by_code : others;
        *list = lappend(*list, condition);
    }
}

static Candidate candidate_of(const TableAggregate &table, const IndexOptInfo *index) {
    return {query_path_methods()->CustomName,
            table.root,
            table.input,
            table.output,
            index == nullptr ? InvalidOid : index->indexoid,
            table.given != nullptr && are_passing_rows(table)};
}

// ---- groups -----------------------------------------------------------------------------------------------

// How many results of a moment's truncation are expected, or of its fields: the planner, which doesn't know
// these, takes them to be as many as the column has values.
static constexpr double kCoarseGroups = 1000;

// Does a step make few values of many moments?
static bool is_coarse(const Program &program, uint16 number) {
    const engine::Step &step = program.steps[number];
    switch (step.operation) {
        case Operation::truncate_days:
        case Operation::truncate_timestamp:
        case Operation::field_of_date:
        case Operation::field_of_timestamp:
        case Operation::date_of_timestamp:
            return true;
        case Operation::shift_zone:
        case Operation::unshift_zone:
        case Operation::widen:
        case Operation::narrow:
        case Operation::to_float:
            return is_coarse(program, step.left);
        default:
            return false;
    }
}

// Is it looked up in a table (tables.h)?
static bool is_looked_up(const Program &program, uint16 number) {
    const engine::Step &step = program.steps[number];
    return step.operation == Operation::null_if_equal &&
           program.steps[step.left].operation == Operation::look_up &&
           program.steps[step.left].detail >= kListNumber;
}

static double max_values(const Node *expression);

// A constant of int4 or int8; 0: it isn't known. A 1 may stand for what advice doesn't know
// (restore_constants).
static double known_number(const void *argument) {
    const auto *constant = static_cast<const Const *>(argument);
    if (!IsA(constant, Const) || constant->constisnull)
        return 0;
    const double number = constant->consttype == INT4OID
                              ? DatumGetInt32(constant->constvalue)
                              : static_cast<double>(DatumGetInt64(constant->constvalue));
    return std::abs(number) == 1 ? 0 : number;
}

// Of a call, 0: it isn't known. A remainder has both signs, and a bucket's number is 0 or one more than there
// are for what lies outside.
static double max_values_of_call(Oid function, const List *arguments) {
    switch (function) {
        case F_INT4MOD:
        case F_MOD_INT4_INT4:
        case F_INT8MOD:
        case F_MOD_INT8_INT8:
            return 2 * std::abs(known_number(llast(arguments)));
        case F_WIDTH_BUCKET_FLOAT8_FLOAT8_FLOAT8_INT4:
        case F_WIDTH_BUCKET_NUMERIC_NUMERIC_NUMERIC_INT4: {
            const double buckets = known_number(llast(arguments));
            return buckets == 0 ? 0 : buckets + 3;
        }
        default:
            break;
    }
    double most = 1;
    ListCell *cell;
    foreach (cell, arguments)
        most *= max_values(static_cast<const Node *>(lfirst(cell)));
    return func_volatile(function) == PROVOLATILE_VOLATILE ? 0 : most;
}

// How many values an expression may have at most, which the planner guesses from those of its columns: a CASE
// of constants, a truth value, a remainder, or what is computed of such. 0: as many as there are.
static double max_values(const Node *expression) {
    check_stack_depth();
    if (exprType(expression) == BOOLOID)
        return 3;
    if (IsA(expression, Const))
        return 1;
    if (IsA(expression, RelabelType))
        return max_values(
            reinterpret_cast<const Node *>(reinterpret_cast<const RelabelType *>(expression)->arg));
    if (IsA(expression, OpExpr)) {
        const auto *operation = reinterpret_cast<const OpExpr *>(expression);
        return max_values_of_call(operation->opfuncid, operation->args);
    }
    if (IsA(expression, FuncExpr)) {
        const auto *call = reinterpret_cast<const FuncExpr *>(expression);
        return call->args == NIL ? 0 : max_values_of_call(call->funcid, call->args);
    }
    if (!IsA(expression, CaseExpr))
        return 0;
    const auto *choice = reinterpret_cast<const CaseExpr *>(expression);
    double most =
        choice->defresult == nullptr ? 1 : max_values(reinterpret_cast<const Node *>(choice->defresult));
    ListCell *cell;
    foreach (cell, choice->args) {
        const double own = max_values(reinterpret_cast<const Node *>(lfirst_node(CaseWhen, cell)->result));
        most = most == 0 || own == 0 ? 0 : most + own;
    }
    return most;
}

static double expect_groups(const Offer &offer) {
    const TableAggregate &table = *offer.table;
    List *expressions = get_sortgrouplist_exprs(table.clauses, table.columns);
    List *others = NIL;
    double coarse = 1;
    for (int i = 0; i < list_length(expressions); i++) {
        if (is_coarse(*offer.compiled.program, offer.compiled.keys[i]))
            coarse *= kCoarseGroups;
        else if (is_looked_up(*offer.compiled.program, offer.compiled.keys[i]))
            coarse *= Max(offer.evaluations, 1.0);
        else if (const double most = max_values(static_cast<const Node *>(list_nth(expressions, i)));
                 most > 0)
            coarse *= most;
        else
            others = lappend(others, list_nth(expressions, i));
    }
    const double groups = estimate_groups(table);
    if (list_length(others) == list_length(expressions))
        return groups;
    const double of_others =
        others == NIL ? 1 : estimate_num_groups(table.root, others, table.input->rows, nullptr, nullptr);
    return Min(groups, coarse * of_others);
}

// ---- tables -----------------------------------------------------------------------------------------------

// Of what a moment is cut to, PostgreSQL has no statistics.
static bool has_narrowing_call(Node *node, void *context) {
    if (node == nullptr)
        return false;
    if (IsA(node, FuncExpr)) {
        switch (reinterpret_cast<const FuncExpr *>(node)->funcid) {
            case F_DATE_TRUNC_TEXT_TIMESTAMP:
            case F_DATE_TRUNC_TEXT_TIMESTAMPTZ:
            case F_DATE_TRUNC_TEXT_TIMESTAMPTZ_TEXT:
            case F_EXTRACT_TEXT_DATE:
            case F_EXTRACT_TEXT_TIMESTAMP:
            case F_EXTRACT_TEXT_TIMESTAMPTZ:
            case F_DATE_PART_TEXT_TIMESTAMP:
            case F_DATE_PART_TEXT_TIMESTAMPTZ:
                return true;
            default:
                break;
        }
    }
    return walk_expression(node, has_narrowing_call, context);
}

static double estimate_combinations(const Offer &offer, const Table &looked_up) {
    constexpr double narrow_values = 5000;
    const TableAggregate &table = *offer.table;
    const double rows = table.input->rows;
    List *plain = NIL;
    double combinations = 1;
    ListCell *cell;
    foreach (cell, looked_up.inputs) {
        Node *input = over_statement(offer, static_cast<Node *>(lfirst(cell)));
        if (has_narrowing_call(input, nullptr))
            combinations *= Min(narrow_values,
                                estimate_num_groups(table.root, list_make1(input), rows, nullptr, nullptr));
        else
            plain = lappend(plain, input);
    }
    if (plain != NIL)
        combinations *= estimate_num_groups(table.root, plain, rows, nullptr, nullptr);
    return Min(combinations, rows);
}

// How often expressions are evaluated for tables; below 0: more often than is worth it.
static double count_evaluations(const Offer &offer) {
    constexpr double few_combinations = 5000;
    const Program &program = *offer.compiled.program;
    const double rows = offer.table->input->rows;
    double all = 0;
    for (uint32 i = 0; i < program.table_count; i++) {
        const double combinations = estimate_combinations(offer, program.tables[i]);
        if (combinations > kMaxCombinations / 2.0 || combinations > Max(few_combinations, rows / 2))
            return -1;
        all += combinations;
    }
    return all;
}

static const PathTarget *target_of(const TableAggregate &table) {
    return table.given != nullptr ? table.given->target : table.output->reltarget;
}

// ---- costs ------------------------------------------------------------------------------------------------

// Of reading a table.
static Cost cost_index(const IndexOptInfo &index) {
    const RelOptInfo *table = index.rel;
    const double rows = index.tuples;
    // Rows elsewhere are looked up in the table.
    const double elsewhere = 1.0 - table->allvisfrac;
    return rows * kStepOperators * cpu_operator_cost +
           elsewhere * (table->pages * seq_page_cost + Min(table->rows, Max(rows, 1.0)) * cpu_tuple_cost);
}

// Does the server number the values (spaces.h)?
static bool is_numbered_by_server(const Source &source, const Numbering &numbering) {
    return IsA(source.expression, Var) && is_of_bytes(numbering.type) &&
           (!numbering.is_ordered || is_bytewise(numbering.type, numbering.order_collation));
}

// Of joined tables and of rows that are given: of numbering values that the engine doesn't compute with.
static Cost cost_numbers(const Offer &offer) {
    constexpr double cost_of_value = 0.03;
    constexpr double cost_of_servers = 0.001;
    const Program &program = *offer.compiled.program;
    const TableAggregate &table = *offer.table;
    Cost cost = 0;
    for (uint32 i = 0; i < program.source_count; i++) {
        const Source &source = program.sources[i];
        if (source.numbering == no_numbering)
            continue;
        Node *values = over_statement(offer, reinterpret_cast<Node *>(source.expression));
        const ReadTable read = table.read == nullptr
                                   ? ReadTable{0, table.root, table.input, nullptr, nullptr, nullptr}
                                   : table.read->tables[source.table];
        const bool is_servers =
            table.given != nullptr && is_numbered_by_server(source, program.numberings[source.numbering]);
        cost += (is_servers ? cost_of_servers : cost_of_value) *
                estimate_num_groups(read.root, list_make1(values),
                                    Max(read.relation->tuples, read.relation->rows), nullptr, nullptr);
    }
    return cost;
}

static bool add_cost_of_subquery(Node *node, void *context) {
    if (node == nullptr)
        return false;
    if (!IsA(node, SubPlan))
        return walk_expression(node, add_cost_of_subquery, context);
    *static_cast<Cost *>(context) += reinterpret_cast<const SubPlan *>(node)->startup_cost;
    return false;
}

// Of the rows of subqueries in conditions, which PostgreSQL reads before the engine is asked.
static Cost cost_subqueries(const AggregateQuery &query) {
    Cost cost = 0;
    for (const List *expressions : {query.conditions, query.keys, query.aggregates})
        add_cost_of_subquery(reinterpret_cast<Node *>(const_cast<List *>(expressions)), &cost);
    return cost;
}

// Of a row that leaves the engine as it is: all do before the first one is taken.
static Cost cost_leaving_row(const CompiledQuery &compiled) {
    return compiled.result_count * cpu_operator_cost;
}
// Of a row that has left, when it is taken: some of its values are made anew, in memory of their own.
static Cost cost_given_row(const CompiledQuery &compiled) {
    double operators = 0;
    for (uint32 i = 0; i < compiled.result_count; i++) {
        const Kind kind = compiled.results[i].argument.kind;
        operators += kind == Kind::Group || is_numeric(compiled.results[i].argument) ? 3 : 0;
    }
    return cpu_tuple_cost + operators * cpu_operator_cost;
}

// Of rows that the statement groups afterwards. A node that computes the groups is better by more than the
// estimate of how many rows pass can tell, which may be far too low.
static Cost cost_leaving_groups(const TableAggregate &table) {
    constexpr double requests = 4;
    const Query *parse = table.root->parse;
    const bool has_groups = parse->hasAggs || parse->groupClause != NIL || parse->distinctClause != NIL;
    return has_groups && table.given != nullptr && are_passing_rows(table) ? requests * cost_request() : 0;
}

static void cost_query(const Offer &offer, double groups, Path *path) {
    const TableAggregate &table = *offer.table;
    const CompiledQuery &compiled = offer.compiled;
    double rows = 0;
    Cost reading = 0;
    for (int i = 0; i < offer.table_count; i++)
        for (int k = 0; k < offer.tables[i].count; k++) {
            rows += offer.tables[i].indexes[k]->tuples;
            reading += cost_index(*offer.tables[i].indexes[k]);
        }
    if (table.plan != nullptr)
        reading += operators_of(*table.plan) * cpu_operator_cost;
    if (table.plan != nullptr || table.given != nullptr)
        reading += cost_numbers(offer);
    const double selected =
        table.plan == nullptr ? Min(table.input->rows, Max(rows, 1.0)) : table.input->rows;
    // Rows that are given are collected column by column.
    const double find = compiled.key_count == 0  ? 0
                        : table.given != nullptr ? compiled.key_count * kAddOperators
                                                 : find_operators(groups);
    const bool is_all_sorted =
        table.given != nullptr && table.given->order != NIL && table.given->count == kAllSorted;
    const double of_row = compiled.program->step_count * kStepOperators +
                          compiled.accumulator_count * kAddOperators + find +
                          (compiled.window_count + (is_all_sorted ? 1 : 0)) * kSortOperators;
    path->startup_cost = cost_request() + selected * of_row * cpu_operator_cost + reading +
                         cost_leaving_groups(table) + cost_subqueries(offer.query);
    // Combinations for a table are found as groups are.
    path->startup_cost +=
        compiled.program->table_count *
            (cost_request() + selected * find_operators(selected) * cpu_operator_cost + reading) +
        offer.evaluations * cpu_tuple_cost;
    if (table.given != nullptr)
        path->startup_cost += groups * cost_leaving_row(compiled);
    path->total_cost =
        path->startup_cost + groups * (table.given != nullptr ? cost_given_row(compiled) : cpu_tuple_cost);
    if (offer.is_late)
        path->total_cost += cost_late_rows(table, groups);
    const PathTarget *target = target_of(table);
    path->startup_cost += target->cost.startup;
    path->total_cost += target->cost.startup + target->cost.per_tuple * groups;
}

// ---- paths ------------------------------------------------------------------------------------------------

static void add_query_path(const Offer &offer, const Candidate &candidate) {
    const TableAggregate &table = *offer.table;
    const GivenRows *given = table.given;
    const double groups = given != nullptr ? expect_given(table) : expect_groups(offer);
    auto *path = makeNode(CustomPath);
    path->path.pathtype = T_CustomScan;
    path->path.parent = table.output;
    path->path.pathtarget = const_cast<PathTarget *>(target_of(table));
    path->path.pathkeys = given != nullptr ? given->pathkeys : NIL;
    path->path.rows = given != nullptr || table.output->pathlist == NIL
                          ? groups
                          : Min(groups, linitial_node(Path, table.output->pathlist)->rows);
    cost_query(offer, groups, &path->path);
    path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
    path->custom_paths =
        list_make1(given != nullptr ? make_replaced_rows(table) : make_replaced_path(table, offer.row));
    if (table.read != nullptr)
        path->custom_paths = list_concat(path->custom_paths, plans_of_inputs(*table.read));
    const TopRows top = given != nullptr        ? TopRows{given->order, given->count}
                        : offer.is_having_whole ? find_top_rows(table, offer.row, groups)
                                                : TopRows{};
    path->custom_private = pack_planning(
        {pack_query(offer.query), offer.row, table.having, offer.maps_may_fail, top.order, top.count,
         table.set, table.plan == nullptr ? NIL : pack_tree(offer.tree), offer.names, given != nullptr,
         given != nullptr ? given->limits : NIL, table.read == nullptr ? NIL : pack_all_members(*table.read),
         offer.needs_processors, offer.is_late});
    path->methods = query_path_methods();
    note_offered(candidate, path);
    add_path(table.output, &path->path);
}

// Has the statement around it compute these groups, too, if the engine knows all of a group's columns.
static void keep_nestable(Compiler *compiler, const Offer &offer) {
    List *having;
    List *columns;
    CompiledGroups groups = {};
    groups.query = offer.compiled;
    if (offer.compiled.program->table_count == 0 &&
        make_group_expressions(*offer.table, offer.row, &having, &columns) &&
        compile_group_columns(compiler, having, columns, &groups))
        keep_groups(*offer.table);
}

static Refusal compile_offer(Offer *offer) {
    Compiler compiler = {};
    QueryTree tree = offer->tree;
    tree.nodes = allocate<TreeNode>(static_cast<size_t>(tree.count));
    memcpy(tree.nodes, offer->tree.nodes, static_cast<size_t>(tree.count) * sizeof(TreeNode));
    auto **facts = allocate<const ColumnFacts *>(static_cast<size_t>(offer->table_count));
    for (int i = 0; i < tree.count; i++) {
        TreeNode *node = &tree.nodes[i];
        if (node->kind != TreeKind::Table)
            continue;
        facts[node->table] = find_table_facts(*offer, node);
        if (facts[node->table] == nullptr)
            return {"partitions or children keep a column in several ways", nullptr};
    }
    compiler.columns = facts;
    compiler.program = begin_program();
    compiler.has_barrier = offer->query.has_barrier;
    compiler.guard = no_step;
    compiler.has_tables = true;
    compiler.is_for_device = path_setting() == PathSetting::Cuda;
    const GivenRows *given = offer->table->given;
    bool is_whole;
    const List *results = result_expressions(*offer->table, offer->row, offer->is_late);
    offer->query.having = make_having(*offer->table, results, &is_whole);
    const bool is_compiled = compile_query(
        &compiler,
        {tree, offer->query.keys, offer->query.key_operators, offer->query.aggregates,
         list_concat_copy(given == nullptr ? NIL : given->order, order_of_windows(offer->query.windows)),
         offer->query.windows},
        &offer->compiled);
    const bool is_ordered =
        is_compiled &&
        (given == nullptr || (order_given(&compiler, offer->compiled, given->order) &&
                              order_windows(&compiler, offer->compiled, offer->query.windows)));
    if (is_ordered)
        compile_having(&compiler, offer->query.having, &offer->compiled);
    offer->is_having_whole = offer->table->having == NIL || (is_whole && offer->compiled.having.is_whole);
    offer->maps_may_fail = compiler.maps_may_fail;
    const Refusal refusal = compiler.refusal;
    offer->needs_processors = refusal.reason == nullptr && needs_processors(offer->compiled);
    if (refusal.reason == nullptr && is_nestable(*offer->table))
        keep_nestable(&compiler, *offer);
    return refusal;
}

// With the query and what it reads.
static bool consider_offer(Offer *offer, const Candidate &candidate) {
    Refusal refusal = compile_offer(offer);
    offer->evaluations = refusal.reason == nullptr ? count_evaluations(*offer) : 0;
    if (offer->evaluations < 0)
        refusal.reason = "an expression has too many combinations of values";
    if (refusal.reason != nullptr)
        note_declined(candidate, refusal, source_of(*offer, refusal.expression));
    else
        add_query_path(*offer, candidate);
    return refusal.reason == nullptr;
}

// The engine is the server process's. Why it isn't asked about the index; nullptr: it is.
static const char *refuse_request(const IndexOptInfo *index) {
    if (!server_wanted())
        return "pg_gpu.server is off";
    if (path_setting() == PathSetting::Paged)
        return "pg_gpu.path is paged";
    return client::may_use_server(index->pages, column::kFewestPagesForQuery)
               ? nullptr
               : "the index is too small for a request to the server process";
}

static bool consider_index(const TableAggregate &table, const IndexOptInfo *index) {
    const Candidate candidate = candidate_of(table, index);
    const char *refused = index->indpred != NIL && !index->predOK
                              ? "the conditions don't imply those of the partial index"
                              : refuse_request(index);
    if (refused != nullptr) {
        note_declined(candidate, refused);
        return false;
    }
    Offer offer = {};
    Refusal refusal = {};
    if (!make_any_query(table, index, &offer.query, &offer.row, &offer.is_late, &refusal)) {
        const Index number = table.input->relid;
        note_declined(candidate, refusal, {number, planner_rt_fetch(number, table.root)->relid});
        return false;
    }
    const TableIndexes indexes = {&index, 1};
    offer.table = &table;
    offer.tables = &indexes;
    offer.table_count = 1;
    offer.tree = unpack_tree(NIL, offer.query);
    return consider_offer(&offer, candidate);
}

// ---- joined tables ----------------------------------------------------------------------------------------

bool begin_joined_query(TableAggregate *join) {
    const char *refused;
    const EnginePlan *plan = find_engine_plan(join->root, join->input, &refused);
    Path *rows = join->rows != nullptr ? join->rows : cheapest_rows(join->input);
    // Core has rows of partitions computed what stands above them.
    if (plan != nullptr && join->given != nullptr && is_parent_table(join->root, join->input))
        rows = read_plainly(join->root, join->input, *tables_of_plan(*plan)->tables[0].members);
    if (plan != nullptr && rows == nullptr)
        refused = "the joined rows depend on an outer table's";
    if (refused != nullptr) {
        note_declined(candidate_of(*join, nullptr), refused);
        return false;
    }
    join->plan = plan;
    join->read = tables_of_plan(*plan);
    join->rows = rows;
    return true;
}

static bool consider_joined(const TableAggregate &table) {
    const ReadTables &read = *table.read;
    const Candidate candidate = candidate_of(table, nullptr);
    Offer offer = {};
    offer.table = &table;
    Refusal refusal = {};
    if (!make_tree(*table.plan, read, &offer.tree, &refusal) ||
        !make_any_query(table, nullptr, &offer.query, &offer.row, &offer.is_late, &refusal)) {
        note_declined(candidate, refusal.reason);
        return false;
    }
    replace_lost_columns(&offer.tree, {&offer.query.keys, &offer.query.aggregates});
    auto *tables = allocate_zeroed<TableIndexes>(static_cast<size_t>(read.count));
    const char *refused = "no joined table has a gpu_column index";
    bool is_any_requested = false;
    for (int i = 0; i < read.count; i++) {
        const IndexOptInfo *index = read.tables[i].index;
        offer.names = lappend(offer.names, names_of(read.tables[i]));
        offer.query.indexes =
            lappend_oid(offer.query.indexes, index == nullptr ? InvalidOid : index->indexoid);
        tables[i] = indexes_of(read.tables[i]);
        for (int k = 0; k < tables[i].count; k++) {
            refused = refuse_request(tables[i].indexes[k]);
            is_any_requested = is_any_requested || refused == nullptr;
        }
    }
    for (int i = 0; i < read.groups_count; i++)
        offer.names = lappend(offer.names, names_of(read.groups[i]));
    offer.tables = tables;
    offer.table_count = read.count;
    offer.query.conditions = expressions_of(offer.tree);
    if (!is_any_requested) {
        note_declined(candidate, refused);
        return false;
    }
    return consider_offer(&offer, candidate);
}

bool consider_query(const TableAggregate &table) {
    if (table.plan != nullptr)
        return consider_joined(table);
    bool is_offered = false;
    ListCell *cell;
    foreach (cell, table.input->indexlist) {
        const auto *index = lfirst_node(IndexOptInfo, cell);
        if (is_column_index(index))
            is_offered = consider_index(table, index) || is_offered;
    }
    return is_offered;
}

}  // namespace pg_gpu::plan::query
