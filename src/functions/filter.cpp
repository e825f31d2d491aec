// Filters: SQL expressions as conditions of a gpu_column index, and gpu.count by one.
#include "column/gpu_column.h"
#include "compat.h"
#include "expressions.h"
#include "functions/column_access.h"
#include "functions/count.h"
#include "functions/filter_parameters.h"
#include "functions/values.h"

PG_GPU_FUNCTION(pg_gpu_count_filter);

namespace pg_gpu::functions {

namespace {

struct FilterReader {
    const OpenIndex *open;
    List *expressions;  // expressions of the index
    EState *state;
    ScanKeyData *keys;
    int count;
    int room;
};

}  // namespace

[[noreturn]] static void report_unsupported(const OpenIndex &open, const char *detail) {
    ereport(ERROR,
            (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
             errmsg("filter is not supported by index \"%s\"", RelationGetRelationName(open.index)),
             errdetail_internal("%s", detail),
             errhint("Use comparisons of the index's columns with constants, = ANY, LIKE and IS [NOT] NULL, "
                     "joined by AND.")));
}

// Errors point into the filter, not into the statement that it is an argument of.
static void point_into_filter(void *filter) {
    const int position = geterrposition();
    if (position <= 0)
        return;
    errposition(0);
    internalerrposition(position);
    internalerrquery(static_cast<const char *>(filter));
}

static Node *parse_filter(const OpenIndex &open, const char *filter, FilterParameters *parameters) {
    ErrorContextCallback callback = {error_context_stack, point_into_filter, const_cast<char *>(filter)};
    error_context_stack = &callback;
    List *parsed = raw_parser(filter, RAW_PARSE_PLPGSQL_EXPR);
    const auto *select = reinterpret_cast<SelectStmt *>(linitial_node(RawStmt, parsed)->stmt);
    if (!IsA(select, SelectStmt) || list_length(select->targetList) != 1 || select->fromClause != NIL ||
        select->whereClause != nullptr || select->groupClause != NIL || select->havingClause != nullptr ||
        select->windowClause != NIL || select->sortClause != NIL || select->limitCount != nullptr ||
        select->limitOffset != nullptr || select->lockingClause != NIL || select->distinctClause != NIL ||
        select->withClause != nullptr || select->op != SETOP_NONE || select->valuesLists != NIL)
        report_unsupported(open, "It is not one expression.");
    const auto *target = linitial_node(ResTarget, select->targetList);
    // A bare `*` is not for transformExpr, which takes it for a name.
    if (target->name != nullptr || target->indirection != NIL ||
        (IsA(target->val, ColumnRef) &&
         IsA(linitial(reinterpret_cast<ColumnRef *>(target->val)->fields), A_Star)))
        report_unsupported(open, "It is not one expression.");

    ParseState *state = make_parsestate(nullptr);
    state->p_sourcetext = filter;
    ParseNamespaceItem *item =
        addRangeTableEntryForRelation(state, open.heap, AccessShareLock, nullptr, false, true);
    addNSItemToQuery(state, item, false, true, true);
    require_parameters(state, target->val, *parameters);
    set_up_parameters(state, parameters);
    Node *expression = transformWhereClause(state, target->val, EXPR_KIND_WHERE, "filter");
    assign_expr_collations(state, expression);
    expression = replace_parameters(state, expression, parameters);
    error_context_stack = callback.previous;
    if (state->p_hasSubLinks)
        report_unsupported(open, "It has a subquery.");
    expression = eval_const_expressions(nullptr, expression);
    free_parsestate(state);
    return reinterpret_cast<Node *>(canonicalize_qual(reinterpret_cast<Expr *>(expression), false));
}

// Returns the index's column that an expression is; -1 for none.
static int match_column(const FilterReader &reader, Node *node) {
    node = without_relabels(node);
    const Form_pg_index form = reader.open->index->rd_index;
    ListCell *next = list_head(reader.expressions);
    for (int i = 0; i < form->indnkeyatts; i++) {
        const AttrNumber attribute = form->indkey.values[i];
        if (attribute != 0) {
            if (IsA(node, Var) && reinterpret_cast<Var *>(node)->varattno == attribute)
                return i;
            continue;
        }
        if (equal(node, without_relabels(static_cast<Node *>(lfirst(next)))))
            return i;
        next = lnext(reader.expressions, next);
    }
    return -1;
}

static Datum evaluate_constant(const FilterReader &reader, Node *node, bool *is_null) {
    if (contain_var_clause(node) || contain_volatile_functions(node))
        report_unsupported(*reader.open,
                           "A column of the index is compared with something that is not constant.");
    ExprState *state = ExecPrepareExpr(reinterpret_cast<Expr *>(node), reader.state);
    return ExecEvalExpr(state, GetPerTupleExprContext(reader.state), is_null);
}

static ScanKeyData *add_key(FilterReader *reader, int column) {
    if (reader->count == reader->room) {
        reader->room *= 2;
        reader->keys = reallocate(reader->keys, reader->room);
    }
    ScanKeyData *key = &reader->keys[reader->count++];
    *key = {};
    key->sk_attno = static_cast<AttrNumber>(column + 1);
    return key;
}

static void add_comparison(FilterReader *reader, Oid operator_oid, Oid collation, Node *left, Node *right,
                           bool is_array) {
    int column = match_column(*reader, left);
    if (column < 0 && !is_array) {
        std::swap(left, right);
        column = match_column(*reader, left);
        operator_oid = get_commutator(operator_oid);
    }
    if (column < 0 || !OidIsValid(operator_oid))
        report_unsupported(*reader->open, "A condition is on something that is not a column of the index.");
    Relation index = reader->open->index;
    const Oid family = index->rd_opfamily[column];
    if (!op_in_opfamily(operator_oid, family))
        report_unsupported(*reader->open, psprintf("Operator %s is not in the index's operator family.",
                                                   format_operator(operator_oid)));
    const Oid indexed = index->rd_indcollation[column];
    if (OidIsValid(indexed) && collation != indexed)
        report_unsupported(*reader->open,
                           psprintf("The collation of a condition on column \"%s\" is not the index's.",
                                    column_name(*reader->open, column)));
    const Oid function = get_opcode(operator_oid);
    if (function_execute_privilege(function, GetUserId()) != ACLCHECK_OK)
        aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_FUNCTION, get_func_name(function));

    ScanKeyData *key = add_key(reader, column);
    int strategy;
    Oid left_type;
    get_op_opfamily_properties(operator_oid, family, false, &strategy, &left_type, &key->sk_subtype);
    key->sk_strategy = static_cast<StrategyNumber>(strategy);
    key->sk_collation = collation;
    fmgr_info(function, &key->sk_func);
    bool is_null;
    key->sk_argument = evaluate_constant(*reader, right, &is_null);
    key->sk_flags = (is_null ? SK_ISNULL : 0) | (is_array && !is_null ? SK_SEARCHARRAY : 0);
}

// Adds a boolean column by itself.
static void add_boolean(FilterReader *reader, Node *node, bool value) {
    add_comparison(reader, BooleanEqualOperator, InvalidOid, node, makeBoolConst(value, false), false);
}

static void add_clause(FilterReader *reader, Node *clause) {
    // A column of the index may itself be a comparison.
    if (match_column(*reader, clause) >= 0) {
        add_boolean(reader, clause, true);
        return;
    }
    if (IsA(clause, OpExpr) && list_length(reinterpret_cast<OpExpr *>(clause)->args) == 2) {
        const auto *comparison = reinterpret_cast<OpExpr *>(clause);
        add_comparison(reader, comparison->opno, comparison->inputcollid,
                       static_cast<Node *>(linitial(comparison->args)),
                       static_cast<Node *>(lsecond(comparison->args)), false);
        return;
    }
    if (IsA(clause, ScalarArrayOpExpr) && reinterpret_cast<ScalarArrayOpExpr *>(clause)->useOr) {
        const auto *comparison = reinterpret_cast<ScalarArrayOpExpr *>(clause);
        add_comparison(reader, comparison->opno, comparison->inputcollid,
                       static_cast<Node *>(linitial(comparison->args)),
                       static_cast<Node *>(lsecond(comparison->args)), true);
        return;
    }
    if (IsA(clause, NullTest) && !reinterpret_cast<NullTest *>(clause)->argisrow) {
        const auto *test = reinterpret_cast<NullTest *>(clause);
        const int column = match_column(*reader, reinterpret_cast<Node *>(test->arg));
        if (column < 0)
            report_unsupported(*reader->open,
                               "A condition is on something that is not a column of the index.");
        add_key(reader, column)->sk_flags =
            SK_ISNULL | (test->nulltesttype == IS_NULL ? SK_SEARCHNULL : SK_SEARCHNOTNULL);
        return;
    }
    if (IsA(clause, Const)) {
        const auto *constant = reinterpret_cast<Const *>(clause);
        // NULL and false mean that nothing matches.
        if (constant->constisnull || !DatumGetBool(constant->constvalue))
            add_key(reader, 0)->sk_flags = SK_ISNULL;
        return;
    }
    if (IsA(clause, BoolExpr) && reinterpret_cast<BoolExpr *>(clause)->boolop == NOT_EXPR) {
        auto *negated = static_cast<Node *>(linitial(reinterpret_cast<BoolExpr *>(clause)->args));
        if (match_column(*reader, negated) >= 0) {
            add_boolean(reader, negated, false);
            return;
        }
    }
    report_unsupported(*reader->open, "A part of it is not a comparison of a column with a constant.");
}

void read_filter(FunctionCallInfo fcinfo, int argument, const OpenIndex &open, const column::Format &format,
                 column::Condition *condition) {
    FilterParameters parameters = read_parameters(fcinfo, argument + 1);
    if (PG_ARGISNULL(argument) && parameters.count == 0)
        return;
    if (PG_ARGISNULL(argument))
        ereport(ERROR,
                (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("a filter with parameters must not be NULL"),
                 errdetail("It would select rows of index \"%s\" by values that it does not name.",
                           RelationGetRelationName(open.index)),
                 errhint("Leave out the values to select all rows.")));
    FilterReader reader = {};
    reader.open = &open;
    reader.expressions = RelationGetIndexExpressions(open.index);
    reader.state = CreateExecutorState();
    reader.room = 8;
    reader.keys = allocate<ScanKeyData>(reader.room);
    ListCell *cell;
    foreach (cell, make_ands_implicit(reinterpret_cast<Expr *>(
                       parse_filter(open, text_to_cstring(PG_GETARG_TEXT_PP(argument)), &parameters))))
        add_clause(&reader, static_cast<Node *>(lfirst(cell)));
    column::make_condition(open.index, format, reader.keys, reader.count, condition);
}

}  // namespace pg_gpu::functions

using namespace pg_gpu;

// The parser takes a bare NULL for the filter's text though an open bound may be meant, as in
// gpu.count('i', NULL, ARRAY[10]): a bound is what follows then.
static bool may_be_bounds(FunctionCallInfo fcinfo) {
    if (!PG_ARGISNULL(1) || PG_NARGS() != 3 || get_fn_expr_variadic(fcinfo->flinfo))
        return false;
    const Oid type = get_fn_expr_argtype(fcinfo->flinfo, 2);
    return (type == UNKNOWNOID && PG_ARGISNULL(2)) || functions::is_record_type(type) ||
           OidIsValid(get_element_type(type));
}

Datum pg_gpu_count_filter(PG_FUNCTION_ARGS) {
    if (may_be_bounds(fcinfo))
        return functions::count_below_bound(fcinfo);
    if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
        PG_RETURN_NULL();
    Snapshot snapshot = GetActiveSnapshot();
    const functions::OpenIndex open =
        functions::open_columns(PG_GETARG_OID(0), snapshot, "gpu.count by a filter");
    const column::Format *format = column::make_format(open.index);
    column::Condition condition = {};
    functions::read_filter(fcinfo, 1, open, *format, &condition);
    uint64 heap_fetches;
    const uint64 count =
        column::count_rows(open.heap, open.index, snapshot, *format, condition, &heap_fetches);
    functions::close_index(open);
    PG_RETURN_INT64(static_cast<int64>(count));
}
