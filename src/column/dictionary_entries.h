// Entries of a dictionary of strings, by their codes.
#pragma once

#include "column/format/reader.h"

namespace pg_gpu::column {

// Calls visit(i, bytes) for codes[i], which ascend; only the blocks that they are in are read. What is left
// out when the run turns out to be stale, or beyond the dictionary, is not visited.
template <typename Visit>
void visit_codes_entries(RunReader *reader, int column, const uint64 *codes, uint64 count, Visit visit) {
    const ColumnHeader &header = reader->header.column[column];
    StringCursor cursor;
    begin_strings(&cursor, reader, column);
    for (uint64 i = 0; i < count && codes[i] < header.distinct && !reader->stale; i++) {
        const uint64 block = codes[i] / kDictionaryBlock;
        const uint64 next = header.distinct - cursor.left;
        // A block's first entry is whole.
        if (next > codes[i] || block > next / kDictionaryBlock) {
            uint64 start;
            read_words(reader, header.blocks.first_word + block, 1, &start);
            cursor.next = Min(start, header.dictionary_bytes);
            cursor.at = cursor.filled = 0;
            cursor.left = header.distinct - block * kDictionaryBlock;
        }
        while (header.distinct - cursor.left <= codes[i])
            if (!next_string(&cursor))
                break;
        if (!reader->stale && cursor.ordinal == codes[i])
            visit(i, cursor.value);
    }
    end_strings(&cursor);
}

}  // namespace pg_gpu::column
