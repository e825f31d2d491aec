#include "plan/search/document_source.h"

#include "access_methods.h"
#include "compat.h"
#include "memory.h"

namespace pg_gpu::plan {

// ---- where documents come from ----------------------------------------------------------------------------

static Node *strip(Node *node) {
    for (;;) {
        if (IsA(node, RelabelType))
            node = reinterpret_cast<Node *>(castNode(RelabelType, node)->arg);
        else if (IsA(node, PlaceHolderVar))
            node = reinterpret_cast<Node *>(castNode(PlaceHolderVar, node)->phexpr);
        else
            return node;
    }
}

// The queries around an expression, the innermost first.
static List *queries_of(const PlannerInfo *root) {
    List *queries = NIL;
    for (; root != nullptr; root = root->parent_root)
        queries = lappend(queries, root->parse);
    return queries;
}

// Finds the only table of an expression, which may be one of a query further out. The expression becomes one
// of that query, and the queries are those around it.
static const RangeTblEntry *find_table(List **queries, Node **expression, Index *number) {
    const int depth = list_length(*queries);
    for (int level = 0; level < depth; level++) {
        Relids relids = pull_varnos_of_level(nullptr, *expression, level);
        if (bms_is_empty(relids))
            continue;
        int table;
        if (!bms_get_singleton_member(relids, &table))
            return nullptr;
        for (int further = level + 1; further < depth; further++)
            if (contain_vars_of_level(*expression, further))
                return nullptr;
        if (level > 0) {
            *expression = static_cast<Node *>(copyObjectImpl(*expression));
            IncrementVarSublevelsUp(*expression, -level, level);
            *queries = list_copy_tail(*queries, level);
        }
        *number = static_cast<Index>(table);
        return rt_fetch(table, linitial_node(Query, *queries)->rtable);
    }
    return nullptr;
}

static Query *find_common_table(List **queries, const RangeTblEntry *entry) {
    if (entry->self_reference || static_cast<int>(entry->ctelevelsup) >= list_length(*queries))
        return nullptr;
    *queries = list_copy_tail(*queries, static_cast<int>(entry->ctelevelsup));
    ListCell *cell;
    foreach (cell, linitial_node(Query, *queries)->cteList) {
        const auto *common = lfirst_node(CommonTableExpr, cell);
        if (strcmp(common->ctename, entry->ctename) == 0)
            return common->cterecursive ? nullptr : castNode(Query, common->ctequery);
    }
    return nullptr;
}

static bool add_sources(List *queries, Node *expression, List **sources);

// Follows a column into the parts of a UNION, INTERSECT or EXCEPT.
static bool add_sources_of_parts(List *queries, Node *part, AttrNumber column, List **sources) {
    check_stack_depth();
    if (IsA(part, SetOperationStmt)) {
        const auto *operation = reinterpret_cast<const SetOperationStmt *>(part);
        return add_sources_of_parts(queries, operation->larg, column, sources) &&
               add_sources_of_parts(queries, operation->rarg, column, sources);
    }
    const int number = castNode(RangeTblRef, part)->rtindex;
    return add_sources(queries, reinterpret_cast<Node *>(makeVar(number, column, TEXTOID, -1, InvalidOid, 0)),
                       sources);
}

static bool add_sources_of_column(List *queries, Query *query, AttrNumber column, List **sources) {
    queries = lcons(query, list_copy(queries));
    if (query->setOperations != nullptr)
        return add_sources_of_parts(queries, query->setOperations, column, sources);
    const TargetEntry *entry = get_tle_by_resno(query->targetList, column);
    return entry != nullptr && add_sources(queries, reinterpret_cast<Node *>(entry->expr), sources);
}

// Follows a column through sub-selects and common table expressions, which not every plan pulls up.
static bool add_sources(List *queries, Node *expression, List **sources) {
    check_stack_depth();
    expression = strip(expression);
    Index number;
    const RangeTblEntry *table = find_table(&queries, &expression, &number);
    if (table == nullptr)
        return false;
    if (table->rtekind == RTE_RELATION) {
        auto *source = allocate<Source>(1);
        *source = {linitial_node(Query, queries), table, number, expression};
        *sources = lappend(*sources, source);
        return true;
    }
    if (!IsA(expression, Var))
        return false;
    if (Node *grouped = grouped_expression(table, castNode(Var, expression)->varattno))
        return add_sources(queries, grouped, sources);
    Query *query = table->rtekind == RTE_SUBQUERY ? table->subquery
                   : table->rtekind == RTE_CTE    ? find_common_table(&queries, table)
                                                  : nullptr;
    return query != nullptr &&
           add_sources_of_column(queries, query, castNode(Var, expression)->varattno, sources);
}

List *find_sources(PlannerInfo *root, Node *document) {
    List *sources = NIL;
    return add_sources(queries_of(root), document, &sources) ? sources : NIL;
}

// ---- what is known of a table's rows ----------------------------------------------------------------------

static bool reads(Node *part, Index number) {
    return bms_is_member(static_cast<int>(number), tables_of_join_tree(part));
}

// Collects the conditions that every row of the table meets of which the query makes something.
static void collect_conditions(Node *part, Index number, List **conditions) {
    check_stack_depth();
    if (part == nullptr || IsA(part, RangeTblRef) || !reads(part, number))
        return;
    if (IsA(part, FromExpr)) {
        const auto *from = reinterpret_cast<const FromExpr *>(part);
        *conditions = lappend(*conditions, from->quals);
        ListCell *cell;
        foreach (cell, from->fromlist)
            collect_conditions(static_cast<Node *>(lfirst(cell)), number, conditions);
        return;
    }
    const auto *join = castNode(JoinExpr, part);
    const bool is_left = reads(join->larg, number);
    const bool keeps_rows =
        join->jointype == JOIN_FULL || join->jointype == (is_left ? JOIN_LEFT : JOIN_RIGHT);
    if (!keeps_rows)
        *conditions = lappend(*conditions, join->quals);
    collect_conditions(is_left ? join->larg : join->rarg, number, conditions);
}

// Returns the conditions as the planner compares them with predicates. It may have prepared some of them
// already, or none.
static List *conditions_of(const Source &source) {
    List *collected = list_copy(source.table->securityQuals);
    collect_conditions(reinterpret_cast<Node *>(source.query->jointree), source.table_number, &collected);
    List *conditions = NIL;
    ListCell *cell;
    foreach (cell, collected) {
        auto *condition = static_cast<Node *>(lfirst(cell));
        if (condition == nullptr)
            continue;
        if (IsA(condition, List)) {
            conditions = list_concat(conditions, castNode(List, condition));
            continue;
        }
        Node *prepared = eval_const_expressions(nullptr, static_cast<Node *>(copyObjectImpl(condition)));
        conditions = list_concat(
            conditions, make_ands_implicit(canonicalize_qual(reinterpret_cast<Expr *>(prepared), false)));
    }
    return conditions;
}

// ---- which index ------------------------------------------------------------------------------------------

namespace {

struct Candidate {
    DocumentIndex index;
    const char *name;
    bool is_partial;
    bool applies;  // has all rows that the query makes something of
};

}  // namespace

static bool is_indexed(Relation index, const Source &source) {
    const AttrNumber column = index->rd_index->indkey.values[0];
    if (column != 0)
        return IsA(source.expression, Var) && castNode(Var, source.expression)->varattno == column;
    Node *indexed = static_cast<Node *>(copyObjectImpl(linitial(RelationGetIndexExpressions(index))));
    ChangeVarNodes(indexed, 1, static_cast<int>(source.table_number), 0);
    return equal(strip(indexed), source.expression);
}

static bool implies_predicate(const Source &source, Relation index) {
    List *predicate = static_cast<List *>(copyObjectImpl(RelationGetIndexPredicate(index)));
    ChangeVarNodes(reinterpret_cast<Node *>(predicate), 1, static_cast<int>(source.table_number), 0);
    return predicate_implied_by(predicate, conditions_of(source), false);
}

static Candidate *read_candidate(Relation index, const Source &source) {
    if (find_access_method(index) != &gpu_text || !index->rd_index->indisvalid ||
        !index->rd_index->indislive || index->rd_opcintype[0] == TSVECTOROID || !is_indexed(index, source))
        return nullptr;
    auto *candidate = allocate<Candidate>(1);
    candidate->index = {RelationGetRelid(index), index->rd_opfamily[0], index->rd_opcintype[0],
                        text::source_of(index)};
    candidate->name = pstrdup(RelationGetRelationName(index));
    candidate->is_partial = RelationGetIndexPredicate(index) != NIL;
    candidate->applies = !candidate->is_partial || implies_predicate(source, index);
    return candidate;
}

static List *read_candidates(const Source &source) {
    Relation table = table_open(source.table->relid, NoLock);
    List *candidates = NIL;
    bool some_apply = false;
    ListCell *cell;
    foreach (cell, RelationGetIndexList(table)) {
        Relation index = index_open(lfirst_oid(cell), AccessShareLock);
        Candidate *candidate = read_candidate(index, source);
        index_close(index, NoLock);
        if (candidate == nullptr)
            continue;
        candidates = lappend(candidates, candidate);
        some_apply = some_apply || candidate->applies;
    }
    table_close(table, NoLock);
    foreach (cell, candidates)
        if (some_apply && !static_cast<Candidate *>(lfirst(cell))->applies)
            candidates = foreach_delete_current(candidates, cell);
    return candidates;
}

static bool comes_before(const Candidate &a, const Candidate &b) {
    return a.is_partial != b.is_partial ? b.is_partial : strcmp(a.name, b.name) < 0;
}

static char *describe(const Candidate &candidate) {
    return DatumGetCString(
        DirectFunctionCall1(regconfigout, ObjectIdGetDatum(candidate.index.words.configuration)));
}

[[noreturn]] static void report_ambiguity(const Source &source, const Candidate &one,
                                          const Candidate &other) {
    const Candidate &first = comes_before(one, other) ? one : other;
    const Candidate &second = &first == &one ? other : one;
    ereport(
        ERROR,
        (errcode(ERRCODE_AMBIGUOUS_PARAMETER),
         errmsg("indexes of table \"%s\" make different words of what is searched",
                get_rel_name(source.table->relid)),
         errdetail("Index \"%s\" makes them by text search configuration \"%s\", index \"%s\" by \"%s\"%s.",
                   first.name, describe(first), second.name, describe(second),
                   first.index.words.configuration == second.index.words.configuration ? " with other options"
                                                                                       : ""),
         errhint("Name the index whose words are meant: @@@ gpu.matching_query('%s', ...), and <@> "
                 "gpu.ranking_query('%s', ...).",
                 quote_identifier(first.name), quote_identifier(first.name))));
}

static bool find_index_of(const Source &source, DocumentIndex *found) {
    const Candidate *best = nullptr;
    ListCell *cell;
    foreach (cell, read_candidates(source)) {
        const auto *candidate = static_cast<const Candidate *>(lfirst(cell));
        if (best != nullptr && !text::makes_same_words(best->index.words, candidate->index.words))
            report_ambiguity(source, *best, *candidate);
        if (best == nullptr || comes_before(*candidate, *best))
            best = candidate;
    }
    if (best != nullptr)
        *found = best->index;
    return best != nullptr;
}

bool find_document_index(List *sources, DocumentIndex *found) {
    ListCell *cell;
    foreach (cell, sources) {
        DocumentIndex index;
        if (!find_index_of(*static_cast<const Source *>(lfirst(cell)), &index))
            return false;
        if (foreach_current_index(cell) == 0)
            *found = index;
        else if (!text::makes_same_words(found->words, index.words) || found->type != index.type)
            return false;
    }
    return sources != NIL;
}

}  // namespace pg_gpu::plan
