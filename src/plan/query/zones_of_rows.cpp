// Time zones that rows have, as in `moment AT TIME ZONE place.timezone`: few different ones. A call becomes a
// CASE with a branch for each name that the column has.
#include "plan/query/columns.h"
#include "plan/query/entries.h"
#include "plan/query/zone.h"

#include "catalog/pg_collation_d.h"
#include "expressions.h"

namespace pg_gpu::plan::query {

static constexpr int kMaxNames = 32;

// ---- names ------------------------------------------------------------------------------------------------

namespace {

struct Names {
    const column::ColumnType *type;
    List *names;
    column::ValueBuffer buffer;
    bool has_room;
};

}  // namespace

// Others than names of zones make rows fail that have them.
static void add_name(Names *names, const column::Bytes &bytes) {
    const Datum value = column::datum_of(*names->type, bytes, &names->buffer);
    Const *name = makeConst(TEXTOID, -1, C_COLLATION_OID, -1, value, false, false);
    if (!names->has_room || list_member(names->names, name) || zone_of_name(*name) == nullptr)
        return;
    names->has_room = list_length(names->names) < kMaxNames;
    if (names->has_room)
        names->names = lappend(names->names, copyObjectImpl(name));
}

static void add_names_of_input(Names *names, const InputRows &input, int column) {
    for (uint64 row = 0; row < input.count && names->has_room; row++) {
        const column::TupleValue &value =
            input.values[row * static_cast<uint64>(input.columns) + static_cast<uint64>(column)];
        if (!value.is_null)
            add_name(names, value.bytes);
    }
}

static void add_names_of_view(Names *names, column::ColumnView *view, int column) {
    constexpr uint64 max_entries = 1000;
    for (int run = 0; run < view->run_count && names->has_room; run++) {
        column::RunReader *reader = &view->runs[run];
        const column::ColumnHeader &header = reader->header.column[column];
        if (is_empty(header, reader->header.entries))
            continue;
        names->has_room = header.distinct <= max_entries;
        column::StringCursor cursor;
        column::begin_strings(&cursor, reader, column);
        while (names->has_room && column::next_string(&cursor))
            add_name(names, cursor.value);
        column::end_strings(&cursor);
    }
    for (uint32 row = 0; row < view->loose_count && names->has_room; row++)
        if (view->loose[row].selected && !view->loose[row].values[column].is_null)
            add_name(names, view->loose[row].values[column].bytes);
}

// NIL: there are too many. The planner takes any name for the column's.
static List *names_of(const Compiler &compiler, const Var *column) {
    Names names = {nullptr, NIL, {nullptr, 0}, true};
    for (int i = 0; compiler.views != nullptr && i < compiler.views->count; i++) {
        const ViewColumns &view = compiler.views->views[i];
        if (view.table != column->varno - 1)
            continue;
        const int own = column_of_view(view, column->varattno - 1);
        names.type = &view.facts[own].type;
        if (view.input != nullptr)
            add_names_of_input(&names, *view.input, own);
        else
            add_names_of_view(&names, view.rows->view, own);
    }
    if (!names.has_room)
        return NIL;
    return names.names != NIL ? names.names
                              : list_make1(makeConst(TEXTOID, -1, C_COLLATION_OID, -1,
                                                     CStringGetTextDatum("UTC"), false, false));
}

// ---- the call ---------------------------------------------------------------------------------------------

static const Var *column_of_zone(const Compiler &compiler, const Expr *zone) {
    const auto *column = reinterpret_cast<const Var *>(without_relabels(zone));
    return IsA(column, Var) && column->varattno > 0 && column->varno != kRowVarno &&
                   !is_of_groups(compiler, column) && is_of_bytes(getBaseType(column->vartype))
               ? column
               : nullptr;
}

static Expr *make_branch(Oid function, const List *arguments, int zone, Const *name) {
    List *own = list_copy(arguments);
    lfirst(list_nth_cell(own, zone)) = name;
    return reinterpret_cast<Expr *>(makeFuncExpr(function, get_func_rettype(function), own, InvalidOid,
                                                 C_COLLATION_OID, COERCE_EXPLICIT_CALL));
}

// A zone that isn't known fails in the rows that have it, if it isn't NULL.
static Value fail_elsewhere(Compiler *compiler, const List *branches, Value value) {
    uint16 is_known = no_step;
    ListCell *cell;
    foreach (cell, branches) {
        const uint16 is_own = compile_truth(compiler, lfirst_node(CaseWhen, cell)->expr);
        is_known = is_known == no_step ? is_own : logic(compiler, Operation::logical_or, is_known, is_own);
    }
    if (is_refused(compiler))
        return {};
    const uint16 is_unknown = logic(compiler, Operation::logical_not, is_known);
    const Guarded guarded = begin_guarded(compiler, is_unknown);
    const auto number = [&](Int128 constant) {
        return constant_step(compiler->program, constant, ValueType::int64);
    };
    const uint16 failing =
        add_guarded(compiler, make_step(Operation::divide, ValueType::int64, number(1), number(0)), true);
    end_guarded(guarded);
    value.step = add_step(compiler->program,
                          make_step(Operation::choose, value.type, is_unknown, failing, value.step));
    return value;
}

Value compile_by_zone(Compiler *compiler, Oid function, const List *arguments, int zone) {
    auto *expression = static_cast<Expr *>(list_nth(arguments, zone));
    const Var *column = column_of_zone(*compiler, expression);
    if (column == nullptr)
        return refuse_value(compiler, "a time zone isn't a constant, or not a name of one", expression);
    auto *choice = makeNode(CaseExpr);
    choice->casetype = get_func_rettype(function);
    choice->location = -1;
    ListCell *cell;
    foreach (cell, names_of(*compiler, column)) {
        auto *name = lfirst_node(Const, cell);
        auto *when = makeNode(CaseWhen);
        when->expr = make_opclause(TextEqualOperator, BOOLOID, false, expression, &name->xpr, InvalidOid,
                                   C_COLLATION_OID);
        set_opfuncid(reinterpret_cast<OpExpr *>(when->expr));
        when->result = make_branch(function, arguments, zone, name);
        when->location = -1;
        choice->args = lappend(choice->args, when);
    }
    if (choice->args == NIL)
        return refuse_value(compiler, "a column has too many time zones", expression);
    const Value value = compile(compiler, &choice->xpr);
    return is_refused(compiler) ? Value{} : fail_elsewhere(compiler, choice->args, value);
}

}  // namespace pg_gpu::plan::query
