#include "accelerate/choice.h"

#include "column/gpu_column.h"
#include "compat.h"
#include "method.h"

namespace pg_gpu::accelerate {

using plan::Estimate;
using plan::Proposal;

AttrNumber count_columns(Oid table) {
    HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(table));
    if (!HeapTupleIsValid(tuple))
        return 0;
    const AttrNumber count = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple))->relnatts;
    ReleaseSysCache(tuple);
    return count;
}

// ---- by statements ----------------------------------------------------------------------------------------

TableDemand *find_demand(const Workload &workload, Oid table) {
    ListCell *cell;
    foreach (cell, workload.demands)
        if (static_cast<TableDemand *>(lfirst(cell))->index.table == table)
            return static_cast<TableDemand *>(lfirst(cell));
    return nullptr;
}

static void add(Demand *demand, const plan::Recorded &statement) {
    demand->calls += statement.calls;
    demand->milliseconds += statement.milliseconds;
}

// A statement that needs a column more than an index can have is left out.
static void add_statement(Workload *workload, const plan::Recorded &statement, const Proposal &columns,
                          double saved) {
    TableDemand *demand = find_demand(*workload, columns.table);
    if (demand == nullptr) {
        const auto count = static_cast<size_t>(count_columns(columns.table));
        if (count == 0)
            return;
        demand = allocate_zeroed<TableDemand>(1);
        demand->index = columns;
        demand->columns = allocate_zeroed<Demand>(count + 1);
        workload->demands = lappend(workload->demands, demand);
    } else if (!plan::unite(&demand->index, columns)) {
        return;
    }
    add(&demand->all, statement);
    demand->saved_milliseconds += saved;
    for (int i = 0; i < columns.count; i++)
        add(&demand->columns[columns.columns[i]], statement);
}

// Statements come in the order of the time they took, so that where there isn't room for the columns of all
// of them the slowest have theirs.
Workload find_demands(const plan::Recording &recording, Oid table) {
    const TimestampTz began = GetCurrentTimestamp();
    Workload workload = {};
    for (int i = 0; i < recording.count; i++) {
        if (recording.limit_ms > 0 &&
            TimestampDifferenceExceeds(began, GetCurrentTimestamp(), recording.limit_ms)) {
            ereport(LOG, (errmsg("pg_gpu columns: %d of %d recorded statements are not looked at",
                                 recording.count - i, recording.count),
                          errdetail("Planning the others took %d seconds.", recording.limit_ms / 1000)));
            break;
        }
        const plan::Recorded &statement = recording.statements[i];
        Estimate now;
        if (!plan::estimate_now(statement, true, &now, &workload.left_out))
            continue;
        if (OidIsValid(table) && list_member_oid(now.tables, table))
            workload.readers++;
        if (OidIsValid(table) ? plan::find_proposal(now.columns, table) == nullptr : now.columns == NIL)
            continue;
        Estimate with;
        ErrorData *error;
        if (!plan::estimate_statement(statement, {now.columns, true}, &with, &error)) {
            if (error != nullptr)
                FreeErrorData(error);
            continue;
        }
        if (with.cost >= plan::kWorthwhile * now.cost)
            continue;
        ListCell *cell;
        foreach (cell, now.columns)
            add_statement(&workload, statement, *static_cast<Proposal *>(lfirst(cell)),
                          statement.milliseconds * (now.cost - with.cost) / now.cost);
    }
    return workload;
}

// ---- all that there are -----------------------------------------------------------------------------------

Oid find_class(Oid table, AttrNumber column, const char **refused) {
    HeapTuple tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(table), Int16GetDatum(column));
    const bool is_there = HeapTupleIsValid(tuple);
    const auto *attribute = is_there ? reinterpret_cast<Form_pg_attribute>(GETSTRUCT(tuple)) : nullptr;
    const bool is_dropped = !is_there || attribute->attisdropped;
    const Oid type = is_dropped ? InvalidOid : attribute->atttypid;
    const bool is_computed = !is_dropped && is_virtual_column(attribute);
    if (is_there)
        ReleaseSysCache(tuple);
    *refused = "it was dropped";
    if (is_dropped)
        return InvalidOid;
    *refused = "its values are computed when they are read";
    if (is_computed)
        return InvalidOid;
    *refused = psprintf("its type %s has no default operator class for btree or hash", format_type_be(type));
    if (!OidIsValid(lookup_type_cache(getBaseType(type), TYPECACHE_EQ_OPR)->eq_opr))
        return InvalidOid;
    *refused = nullptr;
    return GetDefaultOpClass(type, get_am_oid(gpu_column.name, false));
}

Proposal choose_all_columns(Oid table, const char **left_out) {
    // Nobody groups by such values, and they take the index more room than all other columns.
    constexpr int kWidest = 512;
    Proposal all = {table, get_am_oid(gpu_column.name, false), 0, {}, {}};
    for (AttrNumber column = 1; column <= count_columns(table); column++) {
        const Oid operator_class = find_class(table, column, &left_out[column]);
        if (!OidIsValid(operator_class))
            continue;
        const int width = get_attavgwidth(table, column);
        if (width > kWidest) {
            left_out[column] = psprintf("its values have %d bytes on average", width);
        } else if (all.count == INDEX_MAX_KEYS) {
            left_out[column] = psprintf("an index has %d columns at most", INDEX_MAX_KEYS);
        } else {
            all.columns[all.count] = column;
            all.classes[all.count++] = operator_class;
        }
    }
    return all;
}

}  // namespace pg_gpu::accelerate
