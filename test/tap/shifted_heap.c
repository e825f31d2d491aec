/*
 * A table access method for tests whose TIDs are none of its table's pages: PostgreSQL's heap, with block
 * numbers that lie a million higher outside of this file. Rows can be inserted, indexed and read.
 *
 * The setting shifted_heap.shift is added to their offset numbers.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/tableam.h"
#include "catalog/pg_am_d.h"
#include "fmgr.h"
#include "nodes/execnodes.h"
#include "nodes/tidbitmap.h"
#include "utils/guc.h"

PG_MODULE_MAGIC;

void _PG_init(void);
PG_FUNCTION_INFO_V1(shifted_heap_handler);

#define SHIFT 1000000

static int offset = 0;
static const TableAmRoutine *heap;
static TableAmRoutine shifted;

static void move_tid(ItemPointer tid, int direction) {
    ItemPointerSet(tid, ItemPointerGetBlockNumberNoCheck(tid) + direction * SHIFT,
                   ItemPointerGetOffsetNumberNoCheck(tid) + direction * offset);
}

static void insert(Relation table, TupleTableSlot *slot, CommandId command, int options,
                   BulkInsertState state) {
    heap->tuple_insert(table, slot, command, options, state);
    move_tid(&slot->tts_tid, 1);
}

static void insert_many(Relation table, TupleTableSlot **slots, int count, CommandId command, int options,
                        BulkInsertState state) {
    heap->multi_insert(table, slots, count, command, options, state);
    for (int i = 0; i < count; i++)
        move_tid(&slots[i]->tts_tid, 1);
}

static bool next_row(TableScanDesc scan, ScanDirection direction, TupleTableSlot *slot) {
    const bool found = heap->scan_getnextslot(scan, direction, slot);
    if (found)
        move_tid(&slot->tts_tid, 1);
    return found;
}

static bool fetch(IndexFetchTableData *scan, ItemPointer tid, Snapshot snapshot, TupleTableSlot *slot,
                  bool *call_again, bool *all_dead) {
    bool found;
    move_tid(tid, -1);
    found = heap->index_fetch_tuple(scan, tid, snapshot, slot, call_again, all_dead);
    move_tid(tid, 1);
    if (found)
        move_tid(&slot->tts_tid, 1);
    return found;
}

typedef struct {
    IndexBuildCallback callback;
    void *state;
} Build;

static void build_row(Relation index, ItemPointer tid, Datum *values, bool *nulls, bool alive, void *state) {
    const Build *build = state;
    ItemPointerData moved = *tid;
    move_tid(&moved, 1);
    build->callback(index, &moved, values, nulls, alive, build->state);
}

static double build(Relation table, Relation index, IndexInfo *info, bool sync, bool any_visible,
                    bool progress, BlockNumber start, BlockNumber count, IndexBuildCallback callback,
                    void *state, TableScanDesc scan) {
    Build rows = {callback, state};
    double found;
    /* The heap's function looks for its own methods. */
    table->rd_tableam = heap;
    PG_TRY();
    {
        found = heap->index_build_range_scan(table, index, info, sync, any_visible, progress, start, count,
                                             build_row, &rows, scan);
    }
    PG_FINALLY();
    { table->rd_tableam = &shifted; }
    PG_END_TRY();
    return found;
}

static Oid method_of_toast(Relation table) {
    return HEAP_TABLE_AM_OID;
}

#if PG_VERSION_NUM < 180000
static bool bitmap_block(TableScanDesc scan, TBMIterateResult *block) {
    block->blockno -= SHIFT;
    if (block->ntuples > 0)
        for (int i = 0; i < block->ntuples; i++)
            block->offsets[i] -= offset;
    return heap->scan_bitmap_next_block(scan, block);
}

static bool bitmap_row(TableScanDesc scan, TBMIterateResult *block, TupleTableSlot *slot) {
    const bool found = heap->scan_bitmap_next_tuple(scan, block, slot);
    if (found)
        move_tid(&slot->tts_tid, 1);
    return found;
}
#endif

Datum shifted_heap_handler(PG_FUNCTION_ARGS) {
    heap = GetHeapamTableAmRoutine();
    shifted = *heap;
    shifted.tuple_insert = insert;
    shifted.multi_insert = insert_many;
    shifted.scan_getnextslot = next_row;
    shifted.index_fetch_tuple = fetch;
    shifted.index_build_range_scan = build;
    shifted.relation_toast_am = method_of_toast;
#if PG_VERSION_NUM < 180000
    shifted.scan_bitmap_next_block = bitmap_block;
    shifted.scan_bitmap_next_tuple = bitmap_row;
#else
    /* Without this function the planner has no bitmap scans. */
    shifted.scan_bitmap_next_tuple = NULL;
#endif
    PG_RETURN_POINTER(&shifted);
}

void _PG_init(void) {
    DefineCustomIntVariable("shifted_heap.shift", "What is added to offset numbers.", NULL, &offset, 0, 0,
                            2000, PGC_USERSET, 0, NULL, NULL, NULL);
}
