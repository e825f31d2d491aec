// The cost of a recorded statement now, its cost with one more index, and which indexes that could be.
#include "access_methods.h"
#include "column/gpu_column.h"
#include "compat.h"
#include "expressions.h"
#include "kary/gpu_kary.h"
#include "plan/advise/advise.h"
#include "plan/advise/statement.h"
#include "subtransaction.h"

extern "C" {
#include "optimizer/plancat.h"
}

namespace pg_gpu::plan {

static get_relation_info_hook_type previous_info_hook = nullptr;
static set_rel_pathlist_hook_type previous_relation_hook = nullptr;

namespace {

struct Planning {
    const Query *statement;
    Assumptions assumptions;
    Estimate *estimate;
    MemoryContext context;  // has what is found
};

}  // namespace

// nullptr: nobody asks.
static Planning *planning = nullptr;

// Functions that the planner evaluates may plan statements that are executed.
static bool is_requested(const PlannerInfo *root) {
    return planning != nullptr && statement_of(root) == planning->statement;
}

// ---- conditions -------------------------------------------------------------------------------------------

namespace {

// A condition that compares a column with something that is the same for all rows.
struct Condition {
    AttrNumber column;
    Oid type;
    Oid operation;
    bool is_equality;
};

struct Methods {
    Oid kary;
    Oid grid;
    Oid column;
    Oid text;
};

}  // namespace

static const Var *column_of(Node *node, Index table) {
    node = without_relabels(node);
    if (node == nullptr || !IsA(node, Var))
        return nullptr;
    const auto *var = reinterpret_cast<const Var *>(node);
    return var->varno == static_cast<int>(table) && var->varlevelsup == 0 && var->varattno > 0 ? var
                                                                                               : nullptr;
}

static bool is_same_for_all_rows(Node *node) {
    return !contain_var_clause(node) && !contain_volatile_functions(node);
}

// Returns false when the clause isn't such a condition.
static bool read_condition(Node *clause, Index table, Condition *condition) {
    List *operands;
    Oid operation;
    if (IsA(clause, OpExpr)) {
        operands = reinterpret_cast<OpExpr *>(clause)->args;
        operation = reinterpret_cast<OpExpr *>(clause)->opno;
    } else if (IsA(clause, ScalarArrayOpExpr) && reinterpret_cast<ScalarArrayOpExpr *>(clause)->useOr) {
        operands = reinterpret_cast<ScalarArrayOpExpr *>(clause)->args;
        operation = reinterpret_cast<ScalarArrayOpExpr *>(clause)->opno;
    } else {
        return false;
    }
    if (list_length(operands) != 2)
        return false;
    auto *left = static_cast<Node *>(linitial(operands));
    auto *right = static_cast<Node *>(lsecond(operands));
    const Var *column = column_of(left, table);
    if (column == nullptr && IsA(clause, OpExpr)) {
        column = column_of(right, table);
        right = left;
        operation = get_commutator(operation);
    }
    if (column == nullptr || !OidIsValid(operation) || !is_same_for_all_rows(right))
        return false;
    Oid operand;
    Oid other;
    op_input_types(operation, &operand, &other);
    *condition = {column->varattno, column->vartype, operation, op_mergejoinable(operation, operand)};
    return true;
}

// ---- proposals --------------------------------------------------------------------------------------------

static bool is_in(const Proposal &proposal, AttrNumber column) {
    for (int i = 0; i < proposal.count; i++)
        if (proposal.columns[i] == column)
            return true;
    return false;
}

static bool add_column(Proposal *proposal, AttrNumber column, Oid operator_class) {
    if (is_in(*proposal, column))
        return true;
    if (proposal->count == INDEX_MAX_KEYS)
        return false;
    proposal->columns[proposal->count] = column;
    proposal->classes[proposal->count++] = operator_class;
    return true;
}

// Appends a copy to a list that lies, with all that is found, in the estimate's context.
static List *keep(List *proposals, const Proposal &proposal) {
    MemoryContext caller = MemoryContextSwitchTo(planning->context);
    auto *copy = allocate<Proposal>(1);
    *copy = proposal;
    proposals = lappend(proposals, copy);
    MemoryContextSwitchTo(caller);
    return proposals;
}

static void propose(const Proposal &proposal) {
    planning->estimate->proposals = keep(planning->estimate->proposals, proposal);
}

Proposal *find_proposal(const List *proposals, Oid table) {
    ListCell *cell;
    foreach (cell, proposals)
        if (static_cast<Proposal *>(lfirst(cell))->table == table)
            return static_cast<Proposal *>(lfirst(cell));
    return nullptr;
}

bool unite(Proposal *proposal, const Proposal &more) {
    Proposal united = *proposal;
    for (int i = 0; i < more.count; i++) {
        int place = 0;
        while (place < united.count && united.columns[place] < more.columns[i])
            place++;
        if (place < united.count && united.columns[place] == more.columns[i])
            continue;
        if (united.count == INDEX_MAX_KEYS)
            return false;
        for (int j = united.count++; j > place; j--) {
            united.columns[j] = united.columns[j - 1];
            united.classes[j] = united.classes[j - 1];
        }
        united.columns[place] = more.columns[i];
        united.classes[place] = more.classes[i];
    }
    *proposal = united;
    return true;
}

// Returns the default operator class of the column's type, if it has the condition's operator; else
// InvalidOid.
static Oid class_for(const Condition &condition, Oid method) {
    const Oid operator_class = GetDefaultOpClass(condition.type, method);
    return OidIsValid(operator_class) &&
                   op_in_opfamily(condition.operation, get_opclass_family(operator_class))
               ? operator_class
               : InvalidOid;
}

// Has a key room for one more column?
static bool fits_key(const Proposal &proposal, Oid operator_class) {
    const auto bits_of = [](Oid one) {
        const Oid type = get_opclass_input_type(one);
        const Oid family = get_opclass_family(one);
        return kary::key_bits(&type, &family, 1);
    };
    int bits = bits_of(operator_class);
    for (int i = 0; i < proposal.count; i++)
        bits += bits_of(proposal.classes[i]);
    return bits <= kary::kMaxKeyBits;
}

// gpu_kary finds what is between two bounds: any number of columns with equalities, then one with a range.
static void propose_keys(Oid table, Oid method, const Condition *conditions, int count) {
    Proposal proposal = {table, method, 0, {}, {}};
    for (const bool are_equalities : {true, false}) {
        for (int i = 0; i < count; i++) {
            const Oid operator_class = class_for(conditions[i], method);
            if (conditions[i].is_equality == are_equalities && OidIsValid(operator_class) &&
                !is_in(proposal, conditions[i].column) && fits_key(proposal, operator_class)) {
                add_column(&proposal, conditions[i].column, operator_class);
                if (!are_equalities)
                    break;
            }
        }
    }
    if (proposal.count > 0)
        propose(proposal);
}

// All columns that have conditions which the method answers, at least so many.
static void propose_conditions(Oid table, Oid method, const Condition *conditions, int count, int least,
                               int most) {
    Proposal proposal = {table, method, 0, {}, {}};
    for (int i = 0; i < count && proposal.count < most; i++) {
        const Oid operator_class = class_for(conditions[i], method);
        if (OidIsValid(operator_class))
            add_column(&proposal, conditions[i].column, operator_class);
    }
    if (proposal.count >= least)
        propose(proposal);
}

// Does the statement do what gpu_column answers without reading rows?
static bool summarises(const Query *query) {
    return query->hasAggs || query->groupClause != NIL || query->groupingSets != NIL ||
           query->distinctClause != NIL || (query->sortClause != NIL && query->limitCount != nullptr);
}

// What a join gives may be summarised by the query around it, or be what is wanted.
static bool is_for_columns(const PlannerInfo *root) {
    return summarises(root->parse) || bms_membership(root->all_baserels) == BMS_MULTIPLE;
}

static bool is_for_columns(const Var *var) {
    return var->varattno > 0 && get_typlen(var->vartype) != -2 &&
           OidIsValid(lookup_type_cache(getBaseType(var->vartype), TYPECACHE_EQ_OPR)->eq_opr);
}

// gpu_column must have all columns that the statement takes from the table. They are in the table's order. A
// table that is read in several roles has one index.
static void propose_columns(Oid table, Oid method, const RelOptInfo *relation) {
    List *expressions = list_concat(list_copy(relation->reltarget->exprs),
                                    extract_actual_clauses(relation->baserestrictinfo, false));
    Bitmapset *columns = nullptr;
    ListCell *cell;
    foreach (cell,
             pull_var_clause(reinterpret_cast<Node *>(expressions),
                             PVC_RECURSE_AGGREGATES | PVC_RECURSE_WINDOWFUNCS | PVC_RECURSE_PLACEHOLDERS)) {
        const auto *var = lfirst_node(Var, cell);
        if (!is_for_columns(var))
            return;
        columns = bms_add_member(columns, var->varattno);
    }
    Proposal proposal = {table, method, 0, {}, {}};
    for (int column = bms_next_member(columns, -1); column >= 0; column = bms_next_member(columns, column)) {
        const auto number = static_cast<AttrNumber>(column);
        const Oid operator_class = GetDefaultOpClass(get_atttype(table, number), method);
        if (!OidIsValid(operator_class) || !add_column(&proposal, number, operator_class))
            return;
    }
    if (proposal.count == 0)
        return;
    Proposal *found = find_proposal(planning->estimate->columns, table);
    if (found == nullptr)
        planning->estimate->columns = keep(planning->estimate->columns, proposal);
    else
        unite(found, proposal);
}

static void propose_indexes(PlannerInfo *root, const RelOptInfo *relation, Oid table, bool is_partitioned) {
    const Methods methods = {get_am_oid(gpu_kary.name, true), get_am_oid(gpu_grid.name, true),
                             get_am_oid(gpu_column.name, true), get_am_oid(gpu_text.name, true)};
    if (OidIsValid(methods.column) && is_for_columns(root))
        propose_columns(table, methods.column, relation);
    // Conditions on a partitioned table are its partitions'.
    if (is_partitioned)
        return;
    auto *conditions = allocate<Condition>(static_cast<size_t>(list_length(relation->baserestrictinfo)) + 1);
    int count = 0;
    int points = 0;
    ListCell *cell;
    foreach (cell, relation->baserestrictinfo) {
        auto *clause = reinterpret_cast<Node *>(lfirst_node(RestrictInfo, cell)->clause);
        if (read_condition(clause, relation->relid, &conditions[count]))
            points += conditions[count++].type == POINTOID ? 1 : 0;
    }
    if (OidIsValid(methods.kary))
        propose_keys(table, methods.kary, conditions, count);
    // A single column that isn't a point is better served by gpu_kary.
    if (OidIsValid(methods.grid))
        propose_conditions(table, methods.grid, conditions, count, points > 0 ? 1 : 2, 8 - points);
    if (OidIsValid(methods.text))
        propose_conditions(table, methods.text, conditions, count, 1, 1);
}

// ---- hooks ------------------------------------------------------------------------------------------------

// Finds the proposed index as the relation has it: its own one, or the partition's of its parent's.
static bool find_own_index(PlannerInfo *root, Index number, Oid table, const Proposal &proposal,
                           Proposal *own) {
    check_stack_depth();
    *own = proposal;
    if (table == proposal.table)
        return true;
    const AppendRelInfo *place = root->append_rel_array == nullptr ? nullptr : root->append_rel_array[number];
    if (place == nullptr || !OidIsValid(place->parent_reloid) ||
        get_rel_relkind(place->parent_reloid) != RELKIND_PARTITIONED_TABLE ||
        !find_own_index(root, place->parent_relid, place->parent_reloid, proposal, own))
        return false;
    own->table = table;
    for (int i = 0; i < own->count; i++)
        own->columns[i] = list_nth_node(Var, place->translated_vars, own->columns[i] - 1)->varattno;
    return true;
}

static bool is_made(const IndexOptInfo &index) {
    if (index.hypothetical || find_access_method(&index) != &gpu_column)
        return false;
    Relation relation = index_open(index.indexoid, NoLock);
    const bool made = column::maker_of(relation) != column::Maker::User;
    index_close(relation, NoLock);
    return made;
}

static void add_proposed_indexes(PlannerInfo *root, Oid table, bool is_parent, RelOptInfo *relation) {
    if (previous_info_hook != nullptr)
        previous_info_hook(root, table, is_parent, relation);
    if (!is_requested(root) || is_parent)
        return;
    ListCell *cell;
    if (planning->assumptions.without_made)
        foreach (cell, relation->indexlist)
            if (is_made(*lfirst_node(IndexOptInfo, cell)))
                relation->indexlist = foreach_delete_current(relation->indexlist, cell);
    foreach (cell, planning->assumptions.with) {
        Proposal own;
        if (find_own_index(root, relation->relid, table, *static_cast<Proposal *>(lfirst(cell)), &own))
            relation->indexlist = lappend(relation->indexlist, make_hypothetical(own, relation));
    }
}

static void look_for_indexes(PlannerInfo *root, RelOptInfo *relation, Index number, RangeTblEntry *entry) {
    if (previous_relation_hook != nullptr)
        previous_relation_hook(root, relation, number, entry);
    if (!is_requested(root) || planning->assumptions.with != NIL || relation->reloptkind != RELOPT_BASEREL ||
        entry->rtekind != RTE_RELATION || entry->relid < FirstNormalObjectId)
        return;
    const bool is_partitioned = entry->relkind == RELKIND_PARTITIONED_TABLE;
    if (!is_partitioned && (entry->relkind != RELKIND_RELATION || entry->inh))
        return;
    MemoryContext caller = MemoryContextSwitchTo(planning->context);
    planning->estimate->tables = list_append_unique_oid(planning->estimate->tables, entry->relid);
    MemoryContextSwitchTo(caller);
    propose_indexes(root, relation, entry->relid, is_partitioned);
}

void register_advise() {
    previous_info_hook = get_relation_info_hook;
    get_relation_info_hook = add_proposed_indexes;
    previous_relation_hook = set_rel_pathlist_hook;
    set_rel_pathlist_hook = look_for_indexes;
}

// ---- the statement ----------------------------------------------------------------------------------------

// Parses a recorded statement. The types of parameters follow from where they stand, as those of PREPARE.
// They are all NULL. Returns nullptr when it is no SELECT that only reads.
static Query *parse_recorded(const char *text, ParamListInfo *parameters) {
    List *parsed = pg_parse_query(text);
    if (list_length(parsed) != 1 || !IsA(linitial_node(RawStmt, parsed)->stmt, SelectStmt))
        return nullptr;
    Oid *types = nullptr;
    int count = 0;
    List *queries =
        pg_analyze_and_rewrite_varparams(linitial_node(RawStmt, parsed), text, &types, &count, nullptr);
    if (list_length(queries) != 1)
        return nullptr;
    *parameters = makeParamList(count);
    for (int i = 0; i < count; i++)
        (*parameters)->params[i] = {Datum{0}, true, 0, types[i]};
    auto *query = linitial_node(Query, queries);
    return query->commandType == CMD_SELECT && query->rowMarks == NIL && !query->hasModifyingCTE
               ? restore_constants(query)
               : nullptr;
}

static bool plan_text(const char *text, Planning *requested) {
    ParamListInfo parameters;
    Query *query = parse_recorded(text, &parameters);
    if (query == nullptr)
        return false;
    requested->statement = query;
    Planning *outer = planning;
    PlannedStmt *plan = nullptr;
    PG_TRY();
    {
        planning = requested;
        plan = pg_plan_query(query, text, CURSOR_OPT_PARALLEL_OK, nullptr);
    }
    PG_FINALLY();
    { planning = outer; }
    PG_END_TRY();
    if (requested->assumptions.with == NIL)
        check_privileges(plan, text, parameters);
    requested->estimate->cost = plan->planTree->total_cost;
    return true;
}

// False: it is no SELECT. To be called in a subtransaction.
static bool plan_as_user(const Recorded &recorded, const char *text, const Assumptions &assumptions,
                         Estimate *estimate) {
    MemoryContext caller = CurrentMemoryContext;
    MemoryContext context = AllocSetContextCreate(caller, "gpu.advise", ALLOCSET_DEFAULT_SIZES);
    Planning requested = {nullptr, assumptions, estimate, caller};
    *estimate = {};
    // The planner evaluates functions, and types' input functions are called, which may be anybody's: they
    // get no rights but those of the user who ran the statement.
    Oid user;
    int security;
    GetUserIdAndSecContext(&user, &security);
    SetUserIdAndSecContext(recorded.user,
                           security | SECURITY_LOCAL_USERID_CHANGE | SECURITY_RESTRICTED_OPERATION);
    const int nesting = NewGUCNestLevel();
    if (recorded.search_path != nullptr)
        set_config_option("search_path", recorded.search_path, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
                          true, 0, false);
    MemoryContextSwitchTo(context);
    const bool is_select = plan_text(text, &requested);
    MemoryContextSwitchTo(caller);
    AtEOXact_GUC(false, nesting);
    SetUserIdAndSecContext(user, security);
    MemoryContextDelete(context);
    return is_select;
}

// Its locks on tables are given back with the subtransaction, so that nobody waits for the other statements.
static ErrorData *try_to_plan(const Recorded &recorded, const char *text, const Assumptions &assumptions,
                              Estimate *estimate, bool *is_select) {
    *is_select = false;
    if (recorded.limit_ms > 0)
        enable_timeout_after(STATEMENT_TIMEOUT, recorded.limit_ms);
    ErrorData *error = try_in_subtransaction(
        CurrentMemoryContext, [&] { *is_select = plan_as_user(recorded, text, assumptions, estimate); },
        Changes::TakeBack);
    if (recorded.limit_ms > 0) {
        disable_timeout(STATEMENT_TIMEOUT, false);
        // The time may have been up just now.
        QueryCancelPending = 0;
    }
    return error;
}

bool estimate_statement(const Recorded &recorded, const Assumptions &assumptions, Estimate *estimate,
                        ErrorData **error) {
    CHECK_FOR_INTERRUPTS();
    const TimestampTz began = GetCurrentTimestamp();
    bool is_select;
    *error = try_to_plan(recorded, recorded.statement, assumptions, estimate, &is_select);
    if (*error != nullptr && (*error)->sqlerrcode == ERRCODE_UNDEFINED_FUNCTION) {
        FreeErrorData(*error);
        *error = try_to_plan(recorded, recorded.of_numbers, assumptions, estimate, &is_select);
    }
    const bool is_late =
        recorded.limit_ms > 0 && TimestampDifferenceExceeds(began, GetCurrentTimestamp(), recorded.limit_ms);
    if (*error != nullptr && !is_about_work(**error) &&
        !(is_late && (*error)->sqlerrcode == ERRCODE_QUERY_CANCELED))
        ReThrowError(*error);
    return *error == nullptr && is_select;
}

bool estimate_now(const Recorded &recorded, bool without_made, Estimate *estimate, LeftOut *left_out) {
    if (!has_privs_of_role(GetUserId(), recorded.user)) {
        left_out->of_others++;
        return false;
    }
    ErrorData *error;
    if (estimate_statement(recorded, {NIL, without_made}, estimate, &error))
        return true;
    if (error == nullptr)
        return false;
    left_out->failed++;
    if (left_out->first_error == nullptr)
        left_out->first_error = pstrdup(error->message);
    FreeErrorData(error);
    return false;
}

void report_left_out(const LeftOut &left_out, const char *function) {
    if (left_out.failed > 0)
        ereport(NOTICE, (errmsg_plural("%d recorded statement could not be planned",
                                       "%d recorded statements could not be planned", left_out.failed,
                                       left_out.failed),
                         errdetail("The first error was \"%s\".", left_out.first_error),
                         errhint("Names are looked up by search_path as it is set here.")));
    if (left_out.of_others > 0)
        ereport(NOTICE, (errmsg_plural("%d recorded statement is another role's and was left out",
                                       "%d recorded statements are other roles' and were left out",
                                       left_out.of_others, left_out.of_others),
                         errhint("Statements are planned with the privileges of who ran them. Call %s as "
                                 "a superuser, or as a member of these roles.",
                                 function)));
}

}  // namespace pg_gpu::plan
