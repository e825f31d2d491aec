#include "functions/index_access.h"

#include "access_methods.h"
#include "compat.h"
#include "version.h"

namespace pg_gpu::functions {

[[noreturn]] static void report_not_an_index(Oid oid) {
    char *name = get_rel_name(oid);
    if (name == nullptr)
        ereport(ERROR,
                (errcode(ERRCODE_UNDEFINED_TABLE), errmsg("relation with OID %u does not exist", oid)));
    if (get_rel_relkind(oid) == RELKIND_PARTITIONED_INDEX)
        ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("\"%s\" is a partitioned index", name),
                        errhint("Call the function for the indexes of the partitions.")));
    ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("\"%s\" is not a pg_gpu index", name),
                    errhint("Name an index created with USING gpu_kary, gpu_grid, gpu_text or gpu_column.")));
}

OpenIndex open_index(Oid index_oid, LOCKMODE heap_lock, LOCKMODE index_lock) {
    require_matching_objects();
    const Oid heap_oid =
        get_rel_relkind(index_oid) == RELKIND_INDEX ? IndexGetRelation(index_oid, true) : InvalidOid;
    if (!OidIsValid(heap_oid))
        report_not_an_index(index_oid);
    OpenIndex open;
    open.heap = table_open(heap_oid, heap_lock);
    open.index = index_open(index_oid, index_lock);
    if (find_access_method(open.index) == nullptr)
        report_not_an_index(index_oid);

    const char *name = RelationGetRelationName(open.index);
    if (RELATION_IS_OTHER_TEMP(open.index))
        ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                        errmsg("cannot access index \"%s\" of another session's temporary table", name)));
    const Form_pg_index form = open.index->rd_index;
    if (!form->indisvalid || !form->indislive)
        ereport(ERROR,
                (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("index \"%s\" is not valid", name),
                 errdetail("CREATE INDEX CONCURRENTLY or REINDEX CONCURRENTLY is under way or has failed."),
                 errhint("Rebuild it with REINDEX INDEX.")));
    // get_relation_info has the same condition: rows that older snapshots see may not all be in such an
    // index.
    if (form->indcheckxmin &&
        !TransactionIdPrecedes(HeapTupleHeaderGetXmin(open.index->rd_indextuple->t_data), TransactionXmin))
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("index \"%s\" cannot be used by this transaction yet", name),
                        errdetail("Its table had rows with broken HOT chains when it was built."),
                        errhint("Try again in a new transaction once older ones have ended.")));
    return open;
}

static bool may_read_columns(const OpenIndex &open) {
    const Oid table = RelationGetRelid(open.heap);
    const Oid user = GetUserId();
    if (pg_class_aclcheck(table, user, ACL_SELECT) == ACLCHECK_OK)
        return true;

    Bitmapset *columns = nullptr;
    const Form_pg_index form = open.index->rd_index;
    for (int i = 0; i < form->indnatts; i++)
        if (form->indkey.values[i] != 0)
            columns = bms_add_member(columns, form->indkey.values[i] - FirstLowInvalidHeapAttributeNumber);
    pull_varattnos(reinterpret_cast<Node *>(RelationGetIndexExpressions(open.index)), 1, &columns);
    pull_varattnos(reinterpret_cast<Node *>(RelationGetIndexPredicate(open.index)), 1, &columns);

    bool may = true;
    for (int column = bms_next_member(columns, -1); column >= 0 && may;
         column = bms_next_member(columns, column)) {
        const auto attribute = static_cast<AttrNumber>(column + FirstLowInvalidHeapAttributeNumber);
        // Attribute 0 is the whole row: every column, which the table's own privilege would have covered.
        may = attribute != 0 && pg_attribute_aclcheck(table, attribute, user, ACL_SELECT) == ACLCHECK_OK;
    }
    bms_free(columns);
    return may;
}

// Raises an ERROR with row_security = off, unless told not to.
static bool has_row_security(const OpenIndex &open, bool raises_none) {
    return check_enable_rls(RelationGetRelid(open.heap), InvalidOid, raises_none) == RLS_ENABLED;
}

bool may_read(const OpenIndex &open) {
    return may_read_columns(open) && !has_row_security(open, true);
}

void require_read_access(const OpenIndex &open) {
    if (!may_read_columns(open))
        aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(open.heap->rd_rel->relkind),
                       RelationGetRelationName(open.heap));
    if (has_row_security(open, false))
        ereport(ERROR,
                (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                 errmsg("row security applies to table \"%s\"", RelationGetRelationName(open.heap)),
                 errdetail("pg_gpu's functions read the index and cannot apply row security policies."),
                 errhint("Use a query on the table instead.")));
}

bool is_rough_index(const OpenIndex &open) {
    return finds_roughly(*find_access_method(open.index), open.index->rd_opcintype,
                         IndexRelationGetNumberOfKeyAttributes(open.index));
}

void require_maintenance(Oid index_oid) {
    const Oid user = GetUserId();
    const Oid heap_oid =
        get_rel_relkind(index_oid) == RELKIND_INDEX ? IndexGetRelation(index_oid, true) : InvalidOid;
    if (owns_relation(index_oid, user) || (OidIsValid(heap_oid) && has_maintain_privilege(heap_oid, user)))
        return;
    if (get_rel_name(index_oid) == nullptr)
        report_not_an_index(index_oid);
    aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX, get_rel_name(index_oid));
}

void lock_predicates(const OpenIndex &open, Snapshot snapshot) {
    PredicateLockRelation(open.index, snapshot);
    PredicateLockRelation(open.heap, snapshot);
}

void close_index(const OpenIndex &open) {
    index_close(open.index, NoLock);
    table_close(open.heap, NoLock);
}

}  // namespace pg_gpu::functions
