// Items of the tail and of sealed tails.
#pragma once

#include "column/build/chunk.h"
#include "storage/storage.h"

namespace pg_gpu::column {

// The part of an item that is about one column.
struct ItemValue {
    bool is_null;
    uint64 integer;
    Bytes bytes;
};

// The item for a row, palloc'd; nullptr when it is longer than a tail.
storage::TailItem *make_item(const Format &format, const Datum *values, const bool *nulls,
                             const ItemPointerData &tid);

// All of an item's columns; false when it is damaged. Strings lie in the item.
bool read_item(const Format &format, const storage::TailItem *item, ItemValue *values);

inline void add_item(Chunk *chunk, const storage::TailItem *item, const ItemValue *values) {
    add_row(chunk, place_of(item->tid));
    for (int i = 0; i < chunk->columns; i++) {
        if (values[i].is_null)
            add_null(chunk, i);
        else if (chunk->column[i].type.is_integer)
            add_integer(chunk, i, values[i].integer);
        else
            add_string(chunk, i, values[i].bytes);
    }
}

// Calls visit(item, values) for each of the items that isn't dead. ERROR when one is damaged.
template <typename Visit>
void for_each_item(Relation index, const Format &format, BlockNumber block, const storage::Items &items,
                   Visit visit) {
    ItemValue values[kMaxColumns];
    uint32 number = 0;
    for (uint32 at = 0; at < items.bytes; number++) {
        const auto *item = reinterpret_cast<const storage::TailItem *>(items.items + at);
        const uint32 rest = items.bytes - at;
        const uint32 size = rest < kLeastItem ? 0 : storage::tail_item_size(item);
        if (size < kLeastItem || size > rest || size % 4 != 0 || !read_item(format, item, values))
            storage::report_corruption(index, block, "A row's values are damaged.");
        if (!storage::is_dead(items, number))
            visit(item, values);
        at += size;
    }
}

}  // namespace pg_gpu::column
