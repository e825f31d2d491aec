#include "table/table_check.h"

#include "progress.h"
#include "sort.h"
#include "table/visibility.h"

namespace pg_gpu::table {

void begin_table_check(TableCheck *check, Relation heap, Relation index, bool check_heap, uint64 entries,
                       uint64 seed, storage::ProblemReporter report, void *context) {
    *check = {};
    check->heap = heap;
    check->index = index;
    check->report = report;
    check->context = context;
    check->is_heap = is_heap_table(heap);
    check->heap_blocks = RelationGetNumberOfBlocks(heap);
    check->tid_room = 65536;
    check->tids = allocate<ItemPointerData>(check->tid_room);
    if (check_heap)
        check->filter = bloom_create(static_cast<int64>(entries), maintenance_work_mem, seed);
}

// Live entries must point to line pointers in use: VACUUM removes entries before it frees their line
// pointers.
void check_noted_entries(TableCheck *check) {
    sort_interruptibly(
        check->tids, check->tids + check->tid_count, [](const ItemPointerData &a, const ItemPointerData &b) {
            return ItemPointerCompare(const_cast<ItemPointer>(&a), const_cast<ItemPointer>(&b)) < 0;
        });
    for (uint32 i = 0; i < check->tid_count;) {
        CHECK_FOR_INTERRUPTS();
        const BlockNumber block = ItemPointerGetBlockNumberNoCheck(&check->tids[i]);
        Buffer buffer = ReadBuffer(check->heap, block);
        LockBuffer(buffer, BUFFER_LOCK_SHARE);
        Page page = BufferGetPage(buffer);
        const OffsetNumber last = PageIsNew(page) ? 0 : PageGetMaxOffsetNumber(page);
        for (; i < check->tid_count && ItemPointerGetBlockNumberNoCheck(&check->tids[i]) == block; i++) {
            const OffsetNumber offset = ItemPointerGetOffsetNumberNoCheck(&check->tids[i]);
            if (offset > last || !ItemIdIsUsed(PageGetItemId(page, offset)))
                check->report(InvalidBlockNumber, &check->tids[i],
                              "An entry points to a row that is not there.", check->context);
        }
        UnlockReleaseBuffer(buffer);
    }
    check->tid_count = 0;
}

void forget_noted_entries(TableCheck *check) {
    check->tid_count = 0;
}

void note_entry(TableCheck *check, BlockNumber block, const void *fingerprint, size_t bytes,
                const ItemPointerData &tid) {
    add_progress(1);
    const OffsetNumber offset = ItemPointerGetOffsetNumberNoCheck(&tid);
    if (offset == InvalidOffsetNumber ||
        (check->is_heap &&
         (ItemPointerGetBlockNumberNoCheck(&tid) >= check->heap_blocks || offset > MaxHeapTuplesPerPage))) {
        check->report(block, &tid, "An entry's TID lies outside the table.", check->context);
        return;
    }
    if (check->filter == nullptr)
        return;
    bloom_add_element(check->filter, static_cast<unsigned char *>(const_cast<void *>(fingerprint)), bytes);
    if (!check->is_heap)
        return;
    if (check->tid_count == check->tid_room)
        check_noted_entries(check);
    check->tids[check->tid_count++] = tid;
}

namespace {

struct RowFingerprint {
    uint64 hash;
    uint32 block;
    uint32 offset;
};
static_assert(sizeof(RowFingerprint) <= kMaxFingerprint);

}  // namespace

size_t put_row_fingerprint(uint64 hash, const ItemPointerData &tid, unsigned char *fingerprint) {
    const RowFingerprint row = {hash, ItemPointerGetBlockNumberNoCheck(&tid),
                                ItemPointerGetOffsetNumberNoCheck(&tid)};
    memcpy(fingerprint, &row, sizeof(row));
    return sizeof(row);
}

void note_row(TableCheck *check, BlockNumber block, uint64 hash, const ItemPointerData &tid) {
    unsigned char fingerprint[kMaxFingerprint];
    const size_t bytes = put_row_fingerprint(hash, tid, fingerprint);
    note_entry(check, block, fingerprint, bytes, tid);
}

namespace {

struct RowLookup {
    TableCheck *check;
    FingerprintRow fingerprint_row;
    void *context;
};

}  // namespace

static void look_up_row(Relation, ItemPointer tid, Datum *values, bool *nulls, bool alive, void *context) {
    const auto *look_up = static_cast<const RowLookup *>(context);
    add_progress(1);
    if (!alive)
        return;
    TableCheck *check = look_up->check;
    unsigned char fingerprint[kMaxFingerprint];
    const size_t bytes = look_up->fingerprint_row(look_up->context, values, nulls, *tid, fingerprint);
    if (bloom_lacks_element(check->filter, fingerprint, bytes))
        check->report(InvalidBlockNumber, tid, "A row is missing from the index.", check->context);
}

// An expression of the index as the catalog has it; nullptr without. What the relation cache has was worked
// out by whoever met the index first in this session: bodies of functions stand in it by that user's search
// path.
static Node *stored_expression(Relation index, AttrNumber attribute) {
    HeapTuple tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(RelationGetRelid(index)));
    if (!HeapTupleIsValid(tuple))
        elog(ERROR, "cache lookup failed for index %u", RelationGetRelid(index));
    bool is_null;
    const Datum stored = SysCacheGetAttr(INDEXRELID, tuple, attribute, &is_null);
    Node *expression = is_null ? nullptr : static_cast<Node *>(stringToNode(TextDatumGetCString(stored)));
    ReleaseSysCache(tuple);
    fix_opfuncids(expression);
    return expression;
}

void finish_table_check(TableCheck *check, Snapshot snapshot, FingerprintRow fingerprint_row, void *context) {
    if (check->filter == nullptr)
        return;
    RowLookup look_up = {check, fingerprint_row, context};
    begin_phase("reading the table", static_cast<uint64>(Max(check->heap->rd_rel->reltuples, 0.0F)));
    // The index's expressions and predicate run as the table's owner, as they would in REINDEX: whoever
    // verifies may be a superuser, and the functions are the owner's. And whoever verifies may have no right
    // but to read: so names in these functions aren't looked up by the caller's search path.
    Oid user;
    int security_context;
    GetUserIdAndSecContext(&user, &security_context);
    SetUserIdAndSecContext(check->heap->rd_rel->relowner, security_context | SECURITY_RESTRICTED_OPERATION);
    const int nest_level = NewGUCNestLevel();
    set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true,
                      0, false);
    // The owner's rights hold from here on, because constant parts of expressions and predicate are evaluated
    // as soon as these are read.
    IndexInfo *info = BuildIndexInfo(check->index);
    info->ii_Expressions = reinterpret_cast<List *>(stored_expression(check->index, Anum_pg_index_indexprs));
    info->ii_Predicate =
        make_ands_implicit(reinterpret_cast<Expr *>(stored_expression(check->index, Anum_pg_index_indpred)));
    info->ii_Concurrent = true;  // an MVCC scan: only what the snapshot sees
    info->ii_Unique = false;
    info->ii_ExclusionOps = nullptr;
    TableScanDesc scan = table_beginscan_strat(check->heap, snapshot, 0, nullptr, true, true);
    table_index_build_scan(check->heap, check->index, info, true, false, look_up_row, &look_up, scan);
    AtEOXact_GUC(false, nest_level);
    SetUserIdAndSecContext(user, security_context);
    bloom_free(check->filter);
}

}  // namespace pg_gpu::table
