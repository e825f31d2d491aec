#include "plan/query/members.h"

#include "compat.h"
#include "memory.h"
#include "plan/query/failure.h"
#include "plan/query/groups.h"
#include "plan/query/inputs.h"
#include "plan/query/path.h"

namespace pg_gpu::plan::query {

// ---- which members ----------------------------------------------------------------------------------------

// All of them are open at the same time.
static constexpr int kMaxMembers = 1024;

bool is_parent_table(PlannerInfo *root, const RelOptInfo *relation) {
    return IS_SIMPLE_REL(relation) && relation->rtekind == RTE_RELATION &&
           planner_rt_fetch(relation->relid, root)->inh;
}

static const AppendRelInfo *place_of(PlannerInfo *root, Index member) {
    return root->append_rel_array == nullptr ? nullptr : root->append_rel_array[member];
}

// May it have rows, as far as the planner knows? What lies below a table that was pruned isn't planned at
// all.
static bool is_live(PlannerInfo *root, Index parent, Index member) {
    for (; member != parent; member = place_of(root, member)->parent_relid) {
        RelOptInfo *relation = root->simple_rel_array[member];
        if (relation == nullptr || place_of(root, member) == nullptr || IS_DUMMY_REL(relation))
            return false;
    }
    return true;
}

// Those with rows of their own: RelOptInfos.
static List *list_live(PlannerInfo *root, Index parent) {
    List *members = NIL;
    ListCell *cell;
    foreach (cell, root->append_rel_list) {
        const Index member = lfirst_node(AppendRelInfo, cell)->child_relid;
        if (is_live(root, parent, member) && !planner_rt_fetch(member, root)->inh)
            members = lappend(members, root->simple_rel_array[member]);
    }
    return members;
}

bool has_any_index(PlannerInfo *root, const RelOptInfo *table) {
    if (!is_parent_table(root, table))
        return has_column_index(table);
    ListCell *cell;
    foreach (cell, list_live(root, table->relid))
        if (has_column_index(static_cast<const RelOptInfo *>(lfirst(cell))))
            return true;
    return false;
}

// ---- columns ----------------------------------------------------------------------------------------------

// What is read of the parent: a bitmap of its attributes, from 1 on. Returns nullptr, or why it can't be
// read.
static const char *find_attributes(const RelOptInfo *parent, Bitmapset **attributes) {
    Bitmapset *found = nullptr;
    pull_varattnos(reinterpret_cast<Node *>(parent->reltarget->exprs), parent->relid, &found);
    pull_varattnos(reinterpret_cast<Node *>(extract_actual_clauses(parent->baserestrictinfo, false)),
                   parent->relid, &found);
    *attributes = nullptr;
    for (int i = bms_next_member(found, -1); i >= 0; i = bms_next_member(found, i)) {
        const int attribute = i + FirstLowInvalidHeapAttributeNumber;
        if (attribute <= 0)
            return "a row of partitions or children is wanted as a whole, or by what the system knows of it";
        *attributes = bms_add_member(*attributes, attribute);
    }
    return nullptr;
}

// The member's own column for one of the parent's.
static const Var *column_of(PlannerInfo *root, Index parent, Index member, int attribute) {
    check_stack_depth();
    const AppendRelInfo *place = place_of(root, member);
    if (place->parent_relid != parent)
        attribute = column_of(root, parent, place->parent_relid, attribute)->varattno;
    return list_nth_node(Var, place->translated_vars, attribute - 1);
}

static AttrNumber column_of_index(const IndexOptInfo *index, AttrNumber attribute) {
    for (int i = 0; i < index->nkeycolumns; i++)
        if (index->indexkeys[i] == attribute)
            return static_cast<AttrNumber>(i + 1);
    return 0;
}

namespace {

struct Parent {
    PlannerInfo *root;
    const RelOptInfo *relation;
    const Bitmapset *attributes;  // that are read
    int attribute_count;
};

}  // namespace

// Calls visit(attribute, the member's column) for what is read.
template <typename Visit>
static void for_columns(const Parent &parent, const RelOptInfo *member, Visit visit) {
    for (int i = bms_next_member(parent.attributes, -1); i >= 0; i = bms_next_member(parent.attributes, i))
        visit(i, column_of(parent.root, parent.relation->relid, member->relid, i));
}

static bool has_all(const Parent &parent, const RelOptInfo *member, const IndexOptInfo *index) {
    bool has = true;
    for_columns(parent, member,
                [&](int, const Var *column) { has = has && column_of_index(index, column->varattno) > 0; });
    return has;
}

// The smallest that has all columns; nullptr: none has.
static const IndexOptInfo *choose_index(const Parent &parent, const RelOptInfo *member) {
    const IndexOptInfo *smallest = nullptr;
    ListCell *cell;
    foreach (cell, member->indexlist) {
        const auto *index = lfirst_node(IndexOptInfo, cell);
        if (is_column_index(index) && index->indpred == NIL &&
            (smallest == nullptr || index->pages < smallest->pages) && has_all(parent, member, index))
            smallest = index;
    }
    return smallest;
}

// PostgreSQL's plan of the columns alone, whatever is computed of them above.
static Path *read_member(const Parent &parent, RelOptInfo *member) {
    PathTarget *target = create_empty_pathtarget();
    for_columns(parent, member, [&](int, const Var *column) {
        add_column_to_pathtarget(target, static_cast<Expr *>(copyObjectImpl(column)), 0);
    });
    Path *path = create_seqscan_path(parent.root, member, nullptr, 0);
    path->pathtarget = set_pathtarget_cost_width(parent.root, target);
    return path;
}

static MemberTable make_member(const Parent &parent, RelOptInfo *member) {
    const IndexOptInfo *index = choose_index(parent, member);
    auto *columns = allocate_zeroed<AttrNumber>(static_cast<size_t>(parent.attribute_count));
    AttrNumber of_rows = 0;
    for_columns(parent, member, [&](int attribute, const Var *column) {
        columns[attribute - 1] = index != nullptr ? column_of_index(index, column->varattno) : ++of_rows;
    });
    return {member, index, index == nullptr ? read_member(parent, member) : nullptr, columns};
}

// ---- what can be read -------------------------------------------------------------------------------------

static const char *refuse_parent(PlannerInfo *root, const RelOptInfo *parent) {
    if (planner_rt_fetch(parent->relid, root)->tablesample != nullptr)
        return "a sample is read";
    if (parent->lateral_relids != nullptr || parent->lateral_referencers != nullptr)
        return "a joined table depends on another table's rows";
    return IS_DUMMY_REL(const_cast<RelOptInfo *>(parent)) ? "no row can pass the conditions" : nullptr;
}

// Why the rows of members without an index can't be read: as those of inputs (inputs.h).
static const char *refuse_rows(const Parent &parent, const Members &members) {
    double rows = 0;
    for (int i = 0; i < members.count; i++) {
        const MemberTable &member = members.members[i];
        if (member.index != nullptr)
            continue;
        if (planner_rt_fetch(member.relation->relid, parent.root)->relkind != RELKIND_RELATION)
            return "a partition or child isn't a table of its own";
        rows += Max(member.relation->tuples, member.relation->rows);
    }
    if (rows > kMaxExpectedRows)
        return "a partition or child has no gpu_column index that answers, and many rows";
    if (rows == 0)
        return nullptr;
    List *conditions = extract_actual_clauses(parent.relation->baserestrictinfo, false);
    if (contain_volatile_functions(reinterpret_cast<Node *>(conditions)) || may_fail(conditions))
        return "a partition or child has no gpu_column index that answers, and a condition may raise errors";
    for (int i = 0; i < members.count; i++) {
        const Path *path = members.members[i].rows;
        for (int k = 0; path != nullptr && k < list_length(path->pathtarget->exprs); k++)
            if (type_of_input(list_nth(path->pathtarget->exprs, k)).length == -2)
                return "a partition or child gives what can't be read";
    }
    return nullptr;
}

const Members *find_members(PlannerInfo *root, const RelOptInfo *relation, const char **refused) {
    Bitmapset *attributes;
    *refused = refuse_parent(root, relation);
    if (*refused == nullptr)
        *refused = find_attributes(relation, &attributes);
    if (*refused != nullptr)
        return nullptr;
    const List *live = list_live(root, relation->relid);
    if (list_length(live) > kMaxMembers)
        *refused = "there are too many partitions or children";
    else if (!has_any_index(root, relation))
        *refused = "no partition or child has a gpu_column index";
    if (*refused != nullptr)
        return nullptr;
    const Parent parent = {root, relation, attributes, relation->max_attr};
    auto *tables = allocate<MemberTable>(static_cast<size_t>(list_length(live)));
    auto *members = allocate<Members>(1);
    *members = {tables, list_length(live), relation->max_attr};
    bool is_any_indexed = false;
    for (int i = 0; i < members->count; i++) {
        CHECK_FOR_INTERRUPTS();
        tables[i] = make_member(parent, static_cast<RelOptInfo *>(list_nth(live, i)));
        is_any_indexed = is_any_indexed || tables[i].index != nullptr;
    }
    *refused =
        is_any_indexed ? refuse_rows(parent, *members) : "no partition's or child's index has all columns";
    return *refused == nullptr ? members : nullptr;
}

Path *read_plainly(PlannerInfo *root, RelOptInfo *relation, const Members &members) {
    Bitmapset *attributes;
    if (find_attributes(relation, &attributes) != nullptr)
        return nullptr;
    const Parent parent = {root, relation, attributes, members.attributes};
    List *scans = NIL;
    PathTarget *target = create_empty_pathtarget();
    for (int i = 0; i < members.count; i++)
        scans = lappend(scans, read_member(parent, members.members[i].relation));
    // Their first member's columns have the parent's types.
    for_columns(parent, members.members[0].relation, [&](int attribute, const Var *column) {
        auto *own = makeVar(static_cast<int>(relation->relid), static_cast<AttrNumber>(attribute),
                            column->vartype, column->vartypmod, column->varcollid, 0);
        add_column_to_pathtarget(target, reinterpret_cast<Expr *>(own), 0);
    });
    Path *rows = append_paths(root, relation, scans);
    rows->pathtarget = set_pathtarget_cost_width(root, target);
    return rows;
}

// ---- from the planner to the executor ---------------------------------------------------------------------

List *pack_members(PlannerInfo *root, const Members *members) {
    if (members == nullptr)
        return NIL;
    List *tables = NIL;
    List *indexes = NIL;
    List *columns = NIL;
    for (int i = 0; i < members->count; i++) {
        const MemberTable &member = members->members[i];
        tables = lappend_oid(tables, planner_rt_fetch(member.relation->relid, root)->relid);
        indexes = lappend_oid(indexes, member.index == nullptr ? InvalidOid : member.index->indexoid);
        for (int k = 0; k < members->attributes; k++)
            columns = lappend_int(columns, member.columns[k]);
    }
    return list_make3(tables, indexes, columns);
}

int count_members(const List *packed) {
    return packed == NIL ? 0 : list_length(linitial_node(List, packed));
}

PackedMember unpack_member(const List *packed, int number) {
    const auto *all = static_cast<const List *>(lthird(packed));
    const int attributes = list_length(all) / count_members(packed);
    auto *columns = allocate<AttrNumber>(static_cast<size_t>(attributes) + 1);
    for (int i = 0; i < attributes; i++)
        columns[i] = static_cast<AttrNumber>(list_nth_int(all, number * attributes + i));
    return {list_nth_oid(static_cast<const List *>(linitial(packed)), number),
            list_nth_oid(static_cast<const List *>(lsecond(packed)), number), columns, attributes};
}

// ---- expressions ------------------------------------------------------------------------------------------

static Node *with_columns(Node *node, void *columns) {
    if (node == nullptr)
        return nullptr;
    if (!IsA(node, Var))
        return mutate_expression(node, with_columns, columns);
    auto *var = static_cast<Var *>(copyObjectImpl(node));
    var->varattno = static_cast<const AttrNumber *>(columns)[var->varattno - 1];
    return reinterpret_cast<Node *>(var);
}

Node *over_member(Node *expression, MemberColumns columns) {
    return with_columns(expression, const_cast<AttrNumber *>(columns));
}

void divide_common_conditions(const List *conditions, const IndexColumns *columns,
                              const MemberColumns *numbers, int count, List **by_code, List **others) {
    ListCell *cell;
    foreach (cell, conditions) {
        auto *condition = static_cast<Node *>(lfirst(cell));
        bool is_by_code = count > 0;
        for (int i = 0; i < count && is_by_code; i++)
            is_by_code = is_tested_by_code(over_member(condition, numbers[i]), columns[i]);
        List **list = is_by_code ? by_code : others;
        *list = lappend(*list, condition);
    }
}

// ---- what is pruned ---------------------------------------------------------------------------------------

namespace {

// The tables that a plan scans, as often as it does: OIDs.
struct ScannedTables {
    const List *range_table;
    List *tables;
    bool is_known;  // of all nodes of the plan
};

}  // namespace

static bool is_scan(const Plan *plan) {
    switch (nodeTag(plan)) {
        case T_SeqScan:
        case T_IndexScan:
        case T_IndexOnlyScan:
        case T_BitmapHeapScan:
        case T_TidScan:
        case T_TidRangeScan:
        case T_ForeignScan:
        case T_CustomScan:
            return true;
        default:
            return false;
    }
}

bool is_pruned(const Plan *plan, const EState *estate) {
    while (!is_scan(plan) && plan->lefttree != nullptr)
        plan = plan->lefttree;
    const auto *scan = reinterpret_cast<const Scan *>(plan);
    return is_scan(plan) && scan->scanrelid > 0 && is_relation_pruned(*estate, scan->scanrelid);
}

static void add_scanned(Plan *plan, ScannedTables *scanned);

static void add_all(const List *plans, ScannedTables *scanned) {
    ListCell *cell;
    foreach (cell, plans)
        add_scanned(static_cast<Plan *>(lfirst(cell)), scanned);
}

static void add_table(const Scan *scan, ScannedTables *scanned) {
    if (scan->scanrelid == 0) {
        scanned->is_known = false;
        return;
    }
    const auto *entry =
        list_nth_node(RangeTblEntry, scanned->range_table, static_cast<int>(scan->scanrelid) - 1);
    scanned->tables = lappend_oid(scanned->tables, entry->relid);
}

static void add_scanned(Plan *plan, ScannedTables *scanned) {
    check_stack_depth();
    if (plan == nullptr)
        return;
    if (is_scan(plan)) {
        add_table(reinterpret_cast<const Scan *>(plan), scanned);
        return;
    }
    switch (nodeTag(plan)) {
        case T_Append:
            add_all(reinterpret_cast<const Append *>(plan)->appendplans, scanned);
            break;
        case T_MergeAppend:
            add_all(reinterpret_cast<const MergeAppend *>(plan)->mergeplans, scanned);
            break;
        case T_SubqueryScan:
            add_scanned(reinterpret_cast<const SubqueryScan *>(plan)->subplan, scanned);
            break;
        default:
            add_scanned(plan->lefttree, scanned);
            add_scanned(plan->righttree, scanned);
    }
}

static void add_pruned_parts(const List *plans, PlanState **begun, int count, ScannedTables *pruned) {
    ListCell *cell;
    foreach (cell, plans) {
        auto *plan = static_cast<Plan *>(lfirst(cell));
        bool is_begun = false;
        for (int i = 0; i < count; i++)
            is_begun = is_begun || begun[i]->plan == plan;
        if (!is_begun)
            add_scanned(plan, pruned);
    }
}

static bool add_pruned(PlanState *state, void *context) {
    auto *pruned = static_cast<ScannedTables *>(context);
    if (IsA(state, AppendState)) {
        const auto *append = reinterpret_cast<AppendState *>(state);
        add_pruned_parts(reinterpret_cast<const Append *>(state->plan)->appendplans, append->appendplans,
                         append->as_nplans, pruned);
    } else if (IsA(state, MergeAppendState)) {
        const auto *append = reinterpret_cast<MergeAppendState *>(state);
        add_pruned_parts(reinterpret_cast<const MergeAppend *>(state->plan)->mergeplans, append->mergeplans,
                         append->ms_nplans, pruned);
    }
    return walk_plan_states(state, add_pruned, context);
}

static int count_of(const List *tables, Oid table) {
    int count = 0;
    ListCell *cell;
    foreach (cell, tables)
        count += lfirst_oid(cell) == table ? 1 : 0;
    return count;
}

List *find_pruned_tables(PlanState *plan) {
    ScannedTables pruned = {plan->state->es_range_table, NIL, true};
    add_pruned(plan, &pruned);
    if (pruned.tables == NIL)
        return NIL;
    ScannedTables all = {plan->state->es_range_table, NIL, true};
    add_scanned(plan->plan, &all);
    List *tables = NIL;
    ListCell *cell;
    foreach (cell, all.is_known ? pruned.tables : NIL)
        if (count_of(all.tables, lfirst_oid(cell)) == count_of(pruned.tables, lfirst_oid(cell)))
            tables = list_append_unique_oid(tables, lfirst_oid(cell));
    return tables;
}

}  // namespace pg_gpu::plan::query
