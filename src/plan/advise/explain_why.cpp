// gpu.explain_why: plans a statement and tells what our planner's hooks made of it.
#include "plan/advise/explain_why.h"

#include <compare>

#include "compat.h"
#include "memory.h"
#include "plan/advise/statement.h"

PG_GPU_FUNCTION(pg_gpu_explain_why);

namespace pg_gpu::plan {

namespace {

// The costs by which the planner compares paths.
struct Costs {
    int disabled;
    Cost total;
    auto operator<=>(const Costs &) const = default;
};

struct Note {
    const char *node;
    const char *candidate;  // nullptr: it has no name
    const RelOptInfo *output;
    const CustomPath *path;  // nullptr: declined. Perhaps freed, and only good for comparing
    bool is_chosen;
    bool is_minor;
    Costs costs;
    const char *reason;  // the reason why it was declined, if it was
};

// The cheapest of the paths that others made.
struct OtherPaths {
    const RelOptInfo *output;
    Costs costs;
};

struct Inquiry {
    const Query *statement;
    MemoryContext context;
    List *notes;   // a list of Note
    List *others;  // a list of OtherPaths
};

}  // namespace

// nullptr: nobody asks.
static Inquiry *inquiry = nullptr;

// Planning may run functions, and these may plan other statements.
static bool is_requested(const PlannerInfo *root) {
    return inquiry != nullptr && statement_of(root) == inquiry->statement;
}

// ---- words ------------------------------------------------------------------------------------------------

static char *name_of_relation(Oid relation) {
    return DatumGetCString(DirectFunctionCall1(regclassout, ObjectIdGetDatum(relation)));
}

// The tables that the relation is made of; nullptr when there is none.
static const char *name_tables(PlannerInfo *root, const RelOptInfo *relation) {
    StringInfoData names;
    initStringInfo(&names);
    for (int member = bms_next_member(relation->relids, -1); member >= 0;
         member = bms_next_member(relation->relids, member)) {
        const RangeTblEntry *entry = planner_rt_fetch(static_cast<Index>(member), root);
        if (entry->rtekind == RTE_RELATION)
            appendStringInfo(&names, "%s%s", names.len == 0 ? "" : ", ", name_of_relation(entry->relid));
    }
    return names.len == 0 ? nullptr : names.data;
}

// Gives all Vars the number 1, which is `*number` so far. True: PostgreSQL can't show the expression, because
// there is something in it that only the planner has.
static bool renumber(Node *node, void *number) {
    if (node == nullptr)
        return false;
    if (IsA(node, PlaceHolderVar))
        return true;
    if (IsA(node, Var)) {
        auto *var = reinterpret_cast<Var *>(node);
        const bool is_other = var->varno != *static_cast<int *>(number) || var->varlevelsup != 0;
        var->varno = 1;
        // ruleutils goes by the column's place in the statement, if it has one.
        var->varnosyn = 1;
        var->varattnosyn = var->varattno;
        return is_other;
    }
    return walk_expression(node, renumber, number);
}

static const char *words_of(const Refusal &refusal, const ExpressionSource &source) {
    auto *expression = static_cast<Node *>(copyObjectImpl(refusal.expression));
    int number = static_cast<int>(source.number);
    if (expression == nullptr || renumber(expression, &number))
        return pstrdup(refusal.reason);
    // What has no column may be of no table.
    const char *table = get_rel_name(source.relation);
    if (table == nullptr && contain_var_clause(expression))
        return pstrdup(refusal.reason);
    List *names = table == nullptr ? NIL : deparse_context_for(table, source.relation);
    return psprintf("%s: %s", refusal.reason, deparse_expression(expression, names, false, false));
}

// ---- notes ------------------------------------------------------------------------------------------------

static OtherPaths *find_others(const Inquiry &requested, const RelOptInfo *output) {
    ListCell *cell;
    foreach (cell, requested.others) {
        auto *others = static_cast<OtherPaths *>(lfirst(cell));
        if (others->output == output)
            return others;
    }
    return nullptr;
}

static Costs costs_of(const ::Path *path) {
    return {disabled_nodes(path), path->total_cost};
}

void note_other_paths(PlannerInfo *root, const RelOptInfo *output) {
    if (!is_requested(root))
        return;
    MemoryContext caller = MemoryContextSwitchTo(inquiry->context);
    OtherPaths *others = find_others(*inquiry, output);
    ListCell *cell;
    foreach (cell, output->pathlist) {
        const auto *path = static_cast<const ::Path *>(lfirst(cell));
        if (path->pathtype == T_CustomScan)
            continue;
        if (others == nullptr) {
            others = allocate<OtherPaths>(1);
            *others = {output, costs_of(path)};
            inquiry->others = lappend(inquiry->others, others);
        }
        others->costs = Min(others->costs, costs_of(path));
    }
    MemoryContextSwitchTo(caller);
}

// Adds a note in the inquiry's memory context.
static Note *add_note(const Candidate &candidate) {
    auto *note = allocate_zeroed<Note>(1);
    note->node = candidate.node;
    note->candidate = OidIsValid(candidate.index) ? name_of_relation(candidate.index)
                                                  : name_tables(candidate.root, candidate.input);
    note->output = candidate.output;
    note->is_minor = candidate.is_minor;
    inquiry->notes = lappend(inquiry->notes, note);
    return note;
}

void note_declined(const Candidate &candidate, const Refusal &refusal, const ExpressionSource &source) {
    if (!is_requested(candidate.root))
        return;
    MemoryContext caller = MemoryContextSwitchTo(inquiry->context);
    add_note(candidate)->reason = words_of(refusal, source);
    MemoryContextSwitchTo(caller);
}

void note_declined(const Candidate &candidate, const char *reason) {
    note_declined(candidate, {reason, nullptr}, {});
}

void note_offered(const Candidate &candidate, const CustomPath *path) {
    if (!is_requested(candidate.root))
        return;
    MemoryContext caller = MemoryContextSwitchTo(inquiry->context);
    Note *note = add_note(candidate);
    note->path = path;
    note->costs = costs_of(&path->path);
    MemoryContextSwitchTo(caller);
}

void note_chosen(PlannerInfo *root, const CustomPath *path) {
    if (!is_requested(root))
        return;
    // A later path may lie at the address of one that was freed.
    for (int i = list_length(inquiry->notes) - 1; i >= 0; i--) {
        auto *note = static_cast<Note *>(list_nth(inquiry->notes, i));
        if (note->path == path) {
            note->is_chosen = true;
            return;
        }
    }
}

PlanNotes put_notes_aside(const Query *statement) {
    if (inquiry == nullptr || inquiry->statement != statement)
        return {};
    const PlanNotes aside = {inquiry->notes, inquiry->others};
    inquiry->notes = inquiry->others = NIL;
    return aside;
}

void take_notes_back(const Query *statement, const PlanNotes &notes) {
    if (inquiry == nullptr || inquiry->statement != statement)
        return;
    inquiry->notes = notes.notes;
    inquiry->others = notes.others;
}

static bool is_any_chosen(const Inquiry &requested, const RelOptInfo *output) {
    ListCell *cell;
    foreach (cell, requested.notes) {
        const auto *note = static_cast<const Note *>(lfirst(cell));
        if (note->output == output && note->is_chosen)
            return true;
    }
    return false;
}

static const char *reason_of(const Inquiry &requested, const Note &note, const OtherPaths *others) {
    if (note.reason != nullptr)
        return note.reason;
    if (note.is_chosen)
        return "the plan uses it";
    if (is_any_chosen(requested, note.output))
        return "another node is expected to cost less";
    return others != nullptr && others->costs <= note.costs
               ? "PostgreSQL's own plan is expected to cost less"
               : "with what comes above it, another plan is expected to cost less";
}

// ---- the statement ----------------------------------------------------------------------------------------

// Errors point into the statement, not into the one that it is an argument of.
static void point_into_statement(void *text) {
    const int position = geterrposition();
    if (position <= 0)
        return;
    errposition(0);
    internalerrposition(position);
    internalerrquery(static_cast<const char *>(text));
}

namespace {

struct Parsed {
    List *queries;
    const Oid *parameter_types;
    int parameter_count;
    int options;  // of a cursor, whose rows may be fetched backwards
};

}  // namespace

static Parsed parse_text(const char *text) {
    List *statements = pg_parse_query(text);
    if (list_length(statements) != 1)
        return {};
    Oid *types = nullptr;
    int count = 0;
    List *queries =
        pg_analyze_and_rewrite_varparams(linitial_node(RawStmt, statements), text, &types, &count, nullptr);
    return {queries, types, count, CURSOR_OPT_PARALLEL_OK};
}

static Parsed parse_prepared(const char *name) {
    const CachedPlanSource *source = FetchPreparedStatement(name, true)->plansource;
    auto *statement = static_cast<RawStmt *>(copyObjectImpl(source->raw_parse_tree));
    List *queries = statement == nullptr ? NIL
                                         : pg_analyze_and_rewrite_fixedparams(statement, source->query_string,
                                                                              source->param_types,
                                                                              source->num_params, nullptr);
    return {queries, source->param_types, source->num_params, CURSOR_OPT_PARALLEL_OK};
}

// The query whose rows a statement of these kinds takes is analyzed, but not rewritten.
static Parsed rewrite(const Parsed &parsed, Node *query, int options) {
    return {QueryRewrite(castNode(Query, copyObjectImpl(query))), parsed.parameter_types,
            parsed.parameter_count, options};
}

// What a statement computes that is asked for in other words.
static Parsed find_computed(const Parsed &parsed) {
    check_stack_depth();
    if (list_length(parsed.queries) != 1 || linitial_node(Query, parsed.queries)->commandType != CMD_UTILITY)
        return parsed;
    Node *statement = linitial_node(Query, parsed.queries)->utilityStmt;
    switch (nodeTag(statement)) {
        case T_CreateTableAsStmt: {
            auto *query = castNode(Query, reinterpret_cast<CreateTableAsStmt *>(statement)->query);
            return query->commandType == CMD_UTILITY
                       ? find_computed({list_make1(query), nullptr, 0, parsed.options})
                       : rewrite(parsed, reinterpret_cast<Node *>(query), parsed.options);
        }
        case T_DeclareCursorStmt:
            return rewrite(parsed, reinterpret_cast<DeclareCursorStmt *>(statement)->query,
                           reinterpret_cast<DeclareCursorStmt *>(statement)->options);
        case T_ExecuteStmt:
            return find_computed(parse_prepared(reinterpret_cast<ExecuteStmt *>(statement)->name));
        default:
            return {};
    }
}

static bool is_explained(const Parsed &parsed) {
    if (list_length(parsed.queries) != 1)
        return false;
    const CmdType command = linitial_node(Query, parsed.queries)->commandType;
    return command == CMD_SELECT || command == CMD_INSERT;
}

static Parsed parse_statement(const char *text) {
    const Parsed parsed = find_computed(parse_text(text));
    if (!is_explained(parsed))
        ereport(ERROR,
                (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                 errmsg("only one statement that computes rows can be explained"),
                 errhint("Pass a SELECT, INSERT, CREATE TABLE AS, DECLARE or EXECUTE, without EXPLAIN.")));
    return parsed;
}

// As if all parameters were NULL, which matters to nothing that is looked at before rows are.
static ParamListInfo make_parameters(const Parsed &parsed) {
    ParamListInfo parameters = makeParamList(parsed.parameter_count);
    for (int i = 0; i < parsed.parameter_count; i++)
        parameters->params[i] = {Datum{0}, true, 0, parsed.parameter_types[i]};
    return parameters;
}

void check_privileges(PlannedStmt *plan, const char *text, ParamListInfo parameters) {
    // pg_stat_statements would count it as a call.
    plan->queryId = 0;
    QueryDesc *description = CreateQueryDesc(plan, text, GetActiveSnapshot(), InvalidSnapshot, None_Receiver,
                                             parameters, nullptr, 0);
    ExecutorStart(description, EXEC_FLAG_EXPLAIN_ONLY);
    ExecutorEnd(description);
    FreeQueryDesc(description);
}

static void plan_statement(const char *text, Inquiry *requested) {
    ErrorContextCallback callback = {error_context_stack, point_into_statement, const_cast<char *>(text)};
    error_context_stack = &callback;
    const Parsed parsed = parse_statement(text);
    auto *statement = linitial_node(Query, parsed.queries);
    requested->statement = statement;
    Inquiry *outer = inquiry;
    PlannedStmt *plan = nullptr;
    PG_TRY();
    {
        inquiry = requested;
        plan = pg_plan_query(statement, text, parsed.options, nullptr);
    }
    PG_FINALLY();
    { inquiry = outer; }
    PG_END_TRY();
    check_privileges(plan, text, make_parameters(parsed));
    error_context_stack = callback.previous;
}

static void give_notes(const Inquiry &requested, const ReturnSetInfo *result) {
    ListCell *cell;
    foreach (cell, requested.notes) {
        const auto *note = static_cast<const Note *>(lfirst(cell));
        if (note->is_minor && !note->is_chosen)
            continue;
        const OtherPaths *others = find_others(requested, note->output);
        Datum values[] = {CStringGetTextDatum(note->node),
                          note->candidate == nullptr ? Datum{0} : CStringGetTextDatum(note->candidate),
                          BoolGetDatum(note->is_chosen),
                          CStringGetTextDatum(reason_of(requested, *note, others)),
                          Float8GetDatum(note->costs.total),
                          Float8GetDatum(others == nullptr ? 0 : others->costs.total)};
        bool nulls[] = {false, note->candidate == nullptr, false,
                        false, note->path == nullptr,      others == nullptr};
        tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
    }
}

}  // namespace pg_gpu::plan

using namespace pg_gpu::plan;

Datum pg_gpu_explain_why(PG_FUNCTION_ARGS) {
    InitMaterializedSRF(fcinfo, 0);
    Inquiry requested = {nullptr, CurrentMemoryContext, NIL, NIL};
    plan_statement(text_to_cstring(PG_GETARG_TEXT_PP(0)), &requested);
    give_notes(requested, reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo));
    return Datum{0};
}
