// Tuples of the tail and of sealed tails.
#pragma once

#include "column/build/chunk.h"
#include "storage/storage.h"

namespace pg_gpu::column {

// The part of a tuple that is about one column.
struct TupleValue {
    bool is_null;
    uint64 integer;
    Bytes bytes;
};

// Returns the tuple for a row, palloc'd; nullptr when it is longer than a tail.
storage::TailTuple *make_tail_tuple(const Format &format, const Datum *values, const bool *nulls,
                                    const ItemPointerData &tid);

// Reads all of a tuple's columns; returns false when it is damaged. Strings lie in the tuple.
bool read_tail_tuple(const Format &format, const storage::TailTuple *tail_tuple, TupleValue *values);

inline void add_tail_tuple(Chunk *chunk, const storage::TailTuple *tail_tuple, const TupleValue *values) {
    add_row(chunk, encode_tid(tail_tuple->tid));
    for (int i = 0; i < chunk->columns; i++) {
        if (values[i].is_null)
            add_null(chunk, i);
        else if (chunk->column[i].type.is_integer)
            add_integer(chunk, i, values[i].integer);
        else
            add_string(chunk, i, values[i].bytes);
    }
}

// Calls visit(tuple, values) for each of the tuples that isn't dead. ERROR when one is damaged.
template <typename Visit>
void for_each_tail_tuple(Relation index, const Format &format, BlockNumber block,
                         const storage::Items &tail_tuples, Visit visit) {
    TupleValue values[kMaxColumns];
    uint32 number = 0;
    for (uint32 at = 0; at < tail_tuples.bytes; number++) {
        const auto *tail_tuple = reinterpret_cast<const storage::TailTuple *>(tail_tuples.tail_tuples + at);
        const uint32 rest = tail_tuples.bytes - at;
        const uint32 size = rest < kLeastTailTuple ? 0 : storage::tail_tuple_size(tail_tuple);
        if (size < kLeastTailTuple || size > rest || size % 4 != 0 ||
            !read_tail_tuple(format, tail_tuple, values))
            storage::report_corruption(index, block, "A row's values are damaged.");
        if (!storage::is_dead(tail_tuples, number))
            visit(tail_tuple, values);
        at += size;
    }
}

}  // namespace pg_gpu::column
