#include "plan/query/submit.h"

#include "compat.h"
#include "plan/query/entries.h"
#include "plan/query/given_rows.h"
#include "plan/query/having.h"
#include "plan/query/nodes.h"
#include "plan/query/parameters.h"
#include "plan/query/path.h"
#include "plan/query/shape.h"
#include "plan/query/spaces.h"
#include "plan/query/subqueries.h"
#include "plan/query/tables.h"
#include "plan/query/top.h"
#include "plan/query/windows.h"
#include "request_kinds.h"
#include "subtransaction.h"

namespace pg_gpu::plan::query {

// ---- words ------------------------------------------------------------------------------------------------

static const char *words_of_outcome(engine::QueryOutcome outcome) {
    switch (outcome) {
        case engine::QueryOutcome::failed:
            return "an expression has no result for some row";
        case engine::QueryOutcome::too_many_rows:
            return "there are too many groups or rows";
        case engine::QueryOutcome::unresolved:
            return "rows whose visibility isn't known came again and again";
        default:
            return nullptr;
    }
}

static bool has_variants(const CompiledQuery &compiled) {
    for (uint32 i = 0; i < compiled.result_count; i++) {
        const Result &result = compiled.results[i];
        const Value &value = result.argument;
        const ValueTable *values =
            result.kind == ResultKind::Value && value.kind == Kind::Group && value.numbering != no_numbering
                ? compiled.program->numberings[value.numbering].values
                : nullptr;
        if (values != nullptr && values->has_variants && result.padded == 0)
            return true;
    }
    return false;
}

// What is wrong with a value may be wrong with one that row security hides.
static const char *words_of_problem(const QueryState &state, const char *problem) {
    return problem != nullptr && state.query.has_barrier ? "the engine gives no answer" : problem;
}

// ---- one request ------------------------------------------------------------------------------------------

namespace {

struct Asking {
    QueryState *state;
    TableViews views;
};

}  // namespace

// Lets gpu.stat tell why the server isn't asked after all.
static const char *decline(const Asking &asking, const char *problem) {
    const ViewColumns *view = asking.views.views;
    while (view->rows == nullptr)
        view++;
    client::decline(view->rows->kind, view->rows->choice, words_of_problem(*asking.state, problem));
    return problem;
}

static constexpr const char *kMerged = "a run was merged meanwhile";

static bool find_late_rows(const Asking &asking) {
    QueryState *state = asking.state;
    MemoryContext work = MemoryContextSwitchTo(state->keep);
    const bool is_read = take_late_rows(
        &state->late, asking.views.views[0].rows->view, state->compiled, state->layout, &state->result,
        state->order != NIL,
        static_cast<uint32>(list_length(state->bound.windows == NIL ? NIL : state->bound.aggregates)));
    MemoryContextSwitchTo(work);
    return is_read;
}

// Asks with maps of the form; *lacks_maps: the server process wants them whole.
static const char *ask_with(const Asking &asking, uint64 max_rows, MapForm maps, bool *lacks_maps) {
    QueryState *state = asking.state;
    auto *scans = allocate_zeroed<ScanColumns>(static_cast<size_t>(state->table_count));
    const char *problem =
        make_scan_columns(asking.views, state->compiled.program, state->expressions, maps, scans);
    if (problem == nullptr && has_variants(state->compiled))
        problem = "equal grouping columns may look different";
    if (problem != nullptr)
        return decline(asking, problem);
    auto *tables = allocate_zeroed<column::QueryTable>(static_cast<size_t>(state->table_count));
    for (int i = 0; i < state->table_count; i++)
        tables[i] = {asking.views.views[i].rows, scans[i].by_run, scans[i].own_rows,
                     static_cast<uint32>(state->tables[i].table)};
    column::QueryRequest request = {};
    request.expected_rows = static_cast<uint64>(Max(Min(state->custom.ss.ps.plan->plan_rows, 1e9), 1.0));
    request.query = make_engine_query(state->compiled, {state->order, state->custom.ss.ps.qual != nullptr,
                                                        state->count, request.expected_rows, max_rows});
    request.tables = tables;
    request.table_count = static_cast<uint32>(state->table_count);
    request.result_context = state->keep;
    request.result_owner = state->owner;
    const bool is_answered = column::run_query(request, &state->result);
    if (is_answered && state->is_late)
        return find_late_rows(asking) ? nullptr : "the rows that were found can't be looked up";
    if (is_answered)
        return read_code_values(asking.views, state->compiled, state->layout, &state->result) &&
                       read_space_values(state->compiled, state->layout, &state->result)
                   ? nullptr
                   : kMerged;
    *lacks_maps = state->result.outcome == engine::QueryOutcome::lacks_maps;
    const char *outcome = words_of_outcome(state->result.outcome);
    return outcome == nullptr ? "the server process gave no answer" : outcome;
}

// Asks the state's compiled query, or one that it needs the answer of.
static const char *ask(const Asking &asking, uint64 max_rows) {
    bool lacks_maps = false;
    const char *problem = ask_with(asking, max_rows, MapForm::Named, &lacks_maps);
    if (lacks_maps)
        problem = ask_with(asking, max_rows, MapForm::Whole, &lacks_maps);
    // A condition on groups may fail on the engine, and hold or not in the session.
    CompiledHaving *having = &asking.state->compiled.having;
    if (problem == nullptr || having->filter == no_step ||
        asking.state->result.outcome != engine::QueryOutcome::failed)
        return problem;
    *having = {{}, no_step, false};
    return ask(asking, max_rows);
}

static const char *ask_for_table(void *context, CompiledQuery *compiled, const RecordLayout &layout,
                                 column::QueryResult *result) {
    const auto *asking = static_cast<const Asking *>(context);
    QueryState inner = *asking->state;
    inner.keep = CurrentMemoryContext;
    inner.order = NIL;
    inner.is_late = false;
    inner.compiled = *compiled;
    inner.layout = layout;
    inner.result = {};
    const char *problem = ask({&inner, asking->views}, kMaxCombinations);
    *result = inner.result;
    return problem;
}

// ---- the views --------------------------------------------------------------------------------------------

// What the session evaluates may raise errors, and no subtransaction catches them.
static constexpr const char *kUnguarded = "an expression may raise an error";

// What is known of the tables' columns, by table; nullptr: members of one keep them in several ways.
static const ColumnFacts **combine_views(const QueryState &state, const ViewColumns *views) {
    const auto count = static_cast<size_t>(state.table_count);
    auto **facts = allocate<const ColumnFacts *>(count);
    auto **of_members = allocate<const ColumnFacts *>(count);
    auto *columns = allocate<MemberColumns>(count);
    for (int i = 0; i < state.table_count;) {
        const int table = state.tables[i].table;
        const int attributes = state.tables[i].attributes;
        int members = 0;
        for (; i < state.table_count && state.tables[i].table == table; i++) {
            of_members[members] = views[i].facts;
            columns[members++] = views[i].columns;
        }
        facts[table] =
            columns[0] == nullptr ? of_members[0] : combine_facts(of_members, columns, members, attributes);
        if (facts[table] == nullptr)
            return nullptr;
    }
    return facts;
}

// The planner may have known another path.
static bool is_for_device(const TableViews &views) {
    for (int i = 0; i < views.count; i++)
        if (views.views[i].rows != nullptr && views.views[i].rows->choice.path == client::Path::Cuda)
            return true;
    return false;
}

static const char *submit_about_rows(QueryState *state, column::RemoteRows *const *rows) {
    auto *opened = allocate<ViewColumns>(static_cast<size_t>(state->table_count));
    for (int i = 0; i < state->table_count; i++) {
        const QueriedTable &table = state->tables[i];
        opened[i] = table.index == nullptr ? read_input_columns(&table.input)
                                           : read_view_columns(*rows++, table.columns);
        opened[i].table = table.table;
        opened[i].columns = table.columns_of_member;
    }
    const TableViews views = {opened, state->table_count};
    const ColumnFacts **facts = combine_views(*state, opened);
    if (facts == nullptr)
        return decline({state, views}, "partitions or children keep a column in several ways");
    Compiler compiler = {};
    compiler.columns = facts;
    compiler.views = &views;
    compiler.context = state->expressions;
    compiler.has_barrier = state->bound.has_barrier;
    compiler.guard = no_step;
    compiler.has_tables = true;
    compiler.is_for_device = is_for_device(views);
    MemoryContext view = MemoryContextSwitchTo(state->keep);
    compiler.program = begin_program();
    const bool is_compiled = compile_query(
        &compiler,
        {state->tree, state->bound.keys, state->bound.key_operators, state->bound.aggregates,
         list_concat_copy(state->order, order_of_windows(state->bound.windows)), state->bound.windows},
        &state->compiled);
    const bool gives_rows = state->compiled.gives_rows;
    const bool is_known =
        is_compiled && (!gives_rows || (order_given(&compiler, state->compiled, state->order) &&
                                        order_windows(&compiler, state->compiled, state->bound.windows)));
    if (is_known) {
        compile_having(&compiler, state->bound.having, &state->compiled);
        if (!gives_rows) {
            order_keys(compiler, views, state->compiled, state->order);
        }
        state->layout = lay_out_record(state->compiled);
    }
    MemoryContextSwitchTo(view);
    Asking asking = {state, views};
    if (!is_known)
        return decline(asking, compiler.refusal.reason);
    // The planner knew less of the columns, so it may have taken such an expression for one of the engine's.
    if (compiler.maps_may_fail && !state->maps_may_fail) {
        state->maps_may_fail = true;
        return kUnguarded;
    }
    const char *problem =
        evaluate_tables({&compiler, state->tree, ask_for_table, &asking}, state->compiled.program);
    if (problem == nullptr)
        problem = ask(asking, PG_UINT64_MAX);
    if (problem != nullptr)
        return problem;
    problem = state->is_late ? nullptr : find_unknown_result(state->compiled, state->layout, &state->result);
    return problem == nullptr ? nullptr : decline(asking, problem);
}

void forget_result(QueryState *state) {
    if (state->result.records != nullptr)
        column::free_records(state->result.records);
    state->result = {};
    state->left = 0;
    state->late.count = state->late.next = 0;
}

static const char *find_groups_on_server(QueryState *state) {
    auto *tables = allocate_zeroed<column::RemoteTable>(static_cast<size_t>(state->table_count));
    int opened = 0;
    for (int i = 0; i < state->table_count; i++) {
        const QueriedTable &table = state->tables[i];
        if (table.index != nullptr)
            tables[opened++] = {table.heap, table.index, table.format, table.condition,
                                bms_num_members(table.columns)};
    }
    if (opened == 0)
        return "no table with a gpu_column index is left";
    const column::RemoteRequest request = {client::RequestKind::RunQuery,
                                           tables[0].columns,
                                           static_cast<uint64>(state->custom.ss.ps.plan->plan_rows),
                                           true,
                                           shape_of_query(state->bound),
                                           child_plan(state)->total_cost,
                                           state->needs_processors};
    const char *problem = "the server process wasn't asked";
    const auto work = [&](column::RemoteRows *const *rows) {
        // An earlier attempt may have been answered and found stale.
        forget_result(state);
        MemoryContextReset(state->keep);
        problem = submit_about_rows(state, rows);
        return problem == nullptr;
    };
    const bool is_answered = column::with_tables_on_server(
        tables, opened, state->custom.ss.ps.state->es_snapshot, request, work, &state->heap_fetches);
    if (is_answered)
        return nullptr;
    return problem == nullptr ? "VACUUM changed the index meanwhile" : problem;
}

static const char *submit_with_guard(QueryState *state) {
    const char *problem = kUnguarded;
    if (!state->maps_may_fail)
        problem = find_groups_on_server(state);
    if (problem != kUnguarded)
        return problem;
    if (!may_try())
        return "an expression may raise an error beside parallel workers";
    ErrorData *error =
        try_in_subtransaction(CurrentMemoryContext, [&] { problem = find_groups_on_server(state); });
    if (error == nullptr)
        return problem;
    if (!is_about_values(error->sqlerrcode))
        ReThrowError(error);
    FreeErrorData(error);
    return "an expression raised an error";
}

// ---- the tables -------------------------------------------------------------------------------------------

// Makes scan keys of a table's conditions that codes are tested for.
static bool make_condition(QueryState *state, QueriedTable *table, const IndexColumns &columns,
                           const List *by_code) {
    const int count = list_length(by_code);
    auto *keys = allocate_zeroed<ScanKeyData>(static_cast<size_t>(count) + 1);
    for (int i = 0; i < count; i++) {
        auto *condition = static_cast<Node *>(list_nth(by_code, i));
        if (table->columns_of_member != nullptr)
            condition = over_member(condition, table->columns_of_member);
        IndexCondition read;
        read_index_condition(condition, columns, &read);
        if (!make_scan_key(state->expressions, columns, read, &keys[i]))
            return false;
    }
    column::make_condition(table->index, *table->format, keys, count, &table->condition);
    return true;
}

// Divides a table's conditions, of all members alike, and makes scan keys of some.
static bool make_conditions(QueryState *state, TreeNode *node) {
    const auto most = static_cast<size_t>(state->table_count);
    auto **tables = allocate<QueriedTable *>(most);
    auto *columns = allocate<IndexColumns>(most);
    auto *numbers = allocate<MemberColumns>(most);
    int count = 0;
    for (int i = 0; i < state->table_count; i++) {
        QueriedTable *table = &state->tables[i];
        if (table->table != node->table || table->index == nullptr)
            continue;
        table->format = column::make_format(table->index);
        tables[count] = table;
        numbers[count] = table->columns_of_member;
        columns[count++] = {table->index->rd_opfamily, table->index->rd_indcollation};
    }
    if (count == 0)
        return true;
    List *by_code = NIL;
    List *others = NIL;
    if (numbers[0] == nullptr)
        divide_conditions(node->conditions, columns[0], &by_code, &others);
    else
        divide_common_conditions(node->conditions, columns, numbers, count, &by_code, &others);
    node->conditions = others;
    for (int i = 0; i < count; i++)
        if (!make_condition(state, tables[i], columns[i], by_code))
            return false;
    return true;
}

// Which columns of a table steps read.
static void find_columns(QueryState *state, QueriedTable *table) {
    Bitmapset *attributes = nullptr;
    const auto add = [&](const List *list) {
        pull_varattnos(reinterpret_cast<Node *>(const_cast<List *>(list)),
                       static_cast<Index>(table->table + 1), &attributes);
    };
    for (int i = 0; i < state->tree.count; i++) {
        const TreeNode &node = state->tree.nodes[i];
        for (const List *list : {node.conditions, node.pairs, node.keys, node.aggregates, node.columns})
            add(list);
    }
    add(state->bound.keys);
    add(state->bound.aggregates);
    table->columns = nullptr;
    for (int i = bms_next_member(attributes, -1); i >= 0; i = bms_next_member(attributes, i)) {
        const int column = i + FirstLowInvalidHeapAttributeNumber - 1;
        if (column < 0)
            continue;
        const MemberColumns own = table->columns_of_member;
        table->columns = bms_add_member(table->columns, own == nullptr ? column : own[column] - 1);
    }
}

static const char *find_groups(QueryState *state) {
    state->tree = unpack_tree(state->packed_tree, state->bound);
    for (int i = 0; i < state->tree.count; i++) {
        TreeNode *node = &state->tree.nodes[i];
        if (node->kind == TreeKind::Table && !make_conditions(state, node))
            return "an expression raised an error";
    }
    for (int i = 0; i < state->table_count; i++) {
        QueriedTable *table = &state->tables[i];
        if (table->index == nullptr) {
            if (const char *problem = read_input(table->plan, &table->input))
                return problem;
            continue;
        }
        find_columns(state, table);
        pgstat_count_index_scan(table->index);
    }
    return submit_with_guard(state);
}

// NULL and negative numbers are below 0.
static int64 evaluate_count(void *limit, ExprContext *context) {
    bool is_null;
    const Datum value = ExecEvalExprSwitchContext(static_cast<ExprState *>(limit), context, &is_null);
    return is_null ? -1 : DatumGetInt64(value);
}

// Finds how many rows Limit takes at most. It raises errors by itself, before it asks for a row.
static const char *find_count(QueryState *state) {
    if (state->limits == NIL)
        return nullptr;
    const int64 limit = evaluate_count(linitial(state->limits), state->expressions);
    const int64 offset = list_length(state->limits) < 2
                             ? 0
                             : Max(evaluate_count(lsecond(state->limits), state->expressions), int64{0});
    state->count = 0;
    if (limit < 0 || limit > kMaxFirstRows || offset > kMaxFirstRows)
        return "too many rows are wanted";
    state->count = limit + offset;
    return nullptr;
}

void submit(QueryState *state) {
    check_stack_depth();
    EState *estate = state->custom.ss.ps.state;
    forget_result(state);
    MemoryContextReset(state->work);
    MemoryContextReset(state->keep);
    ResetExprContext(state->expressions);
    MemoryContext caller = MemoryContextSwitchTo(state->work);
    for (int i = 0; i < state->table_count; i++) {
        if (state->tables[i].index == nullptr)
            continue;
        PredicateLockRelation(state->tables[i].index, estate->es_snapshot);
        PredicateLockRelation(state->tables[i].heap, estate->es_snapshot);
    }
    state->owner = CurrentResourceOwner;
    INSTR_TIME_SET_ZERO(state->child_waits_since);
    state->bound = state->query;
    size_t memory = get_hash_memory_limit();
    state->problem = state->is_any_role_pruned ? "a partition is read in one role, and pruned in another"
                                               : find_count(state);
    if (state->problem == nullptr)
        state->problem = read_subqueries(&state->bound, estate, &memory);
    if (state->problem == nullptr) {
        for (List **list :
             {&state->bound.conditions, &state->bound.keys, &state->bound.aggregates, &state->bound.having})
            *list = bind_parameters(*list, state->expressions);
        const client::Usage before = client::session_usage();
        state->problem = words_of_problem(*state, find_groups(state));
        client::add_usage_since(before, &state->usage);
    }
    MemoryContextSwitchTo(caller);
    if (state->problem != nullptr)
        forget_result(state);
    state->is_requested = true;
}

}  // namespace pg_gpu::plan::query
