#include "column/scan/whole_table.h"

#include "column/scan/view.h"
#include "table/table.h"

namespace pg_gpu::column {

namespace {

// vacuum_seq, what runs there are, and what the tail has.
struct Description {
    char *at;
    uint32 bytes;
    uint32 room;
};

}  // namespace

static void append(Description *description, const void *data, uint32 bytes) {
    Assert(description->bytes + bytes <= description->room);
    memcpy(description->at + description->bytes, data, bytes);
    description->bytes += bytes;
}

// The tail is locked meanwhile.
static void copy_tail(const char *tail_tuples, uint32 bytes, void *context) {
    append(static_cast<Description *>(context), tail_tuples, bytes);
}

Const *describe_whole_table(Relation heap, Relation index, Snapshot snapshot) {
    Description tail = {allocate<char>(storage::kContentBytes), 0, storage::kContentBytes};
    storage::View view = {};
    storage::take_view(index, run_kind(), snapshot, &view, copy_tail, &tail);
    if (!table::is_table_all_visible(heap) || storage::read_vacuum_seq(index, run_kind()) != view.vacuum_seq)
        return nullptr;
    const auto runs = static_cast<uint32>(view.run_count);
    const uint32 room = VARHDRSZ + (runs + 1) * static_cast<uint32>(sizeof(uint64)) + tail.bytes;
    Description whole = {allocate<char>(room), VARHDRSZ, room};
    SET_VARSIZE(whole.at, room);
    append(&whole, &view.vacuum_seq, sizeof(view.vacuum_seq));
    for (uint32 i = 0; i < runs; i++)
        append(&whole, &view.runs[i].run_id, sizeof(view.runs[i].run_id));
    append(&whole, tail.at, tail.bytes);
    pfree(tail.at);
    pfree(view.runs);
    return makeConst(BYTEAOID, -1, InvalidOid, -1, PointerGetDatum(whole.at), false, false);
}

}  // namespace pg_gpu::column
