#include "kary/row_check.h"

#include "kary/indexed_row.h"

namespace pg_gpu::kary {

struct RowCheck {
    Relation index;
    KeyFormat format;
    LookupKeys keys;
    IndexedRow row;
    // Lossy columns have an equality with constants of `types`.
    Oid types[kMaxColumns];
    FmgrInfo equality[kMaxColumns];
};

RowCheck *begin_row_check(Relation index, const LookupKeys &keys) {
    auto *check = allocate_zeroed<RowCheck>(1);
    check->index = index;
    check->format = key_format(index);
    check->keys = keys;
    open_indexed_row(&check->row, index);
    return check;
}

void end_row_check(RowCheck *check) {
    close_indexed_row(&check->row);
    pfree(check);
}

void check_row(RowCheck *check, TupleTableSlot *row) {
    forget_rows(check->row);
    take_row(&check->row, row);
}

static FmgrInfo *equality_with(RowCheck *check, int column, Oid type) {
    if (check->types[column] == type)
        return &check->equality[column];
    const Oid operator_oid = equality_operator(check->index, column, type);
    check->types[column] = type;
    fmgr_info_cxt(get_opcode(operator_oid), &check->equality[column], GetMemoryChunkContext(check));
    return &check->equality[column];
}

bool row_has_key(RowCheck *check, uint32 position) {
    Datum values[kMaxColumns];
    Oid types[kMaxColumns];
    // A key with a NULL was not looked up.
    if (!check->keys.read(check->keys.context, position, values, types))
        return false;
    MemoryContext caller = MemoryContextSwitchTo(row_memory(check->row));
    bool equal = true;
    for (int i = 0; equal && i < check->format.column_count; i++) {
        if (!((check->format.lossy >> i) & 1))
            continue;
        equal = !check->row.nulls[i] && DatumGetBool(FunctionCall2Coll(equality_with(check, i, types[i]),
                                                                       check->index->rd_indcollation[i],
                                                                       check->row.values[i], values[i]));
    }
    MemoryContextSwitchTo(caller);
    return equal;
}

}  // namespace pg_gpu::kary
