#include "text/document.h"

namespace pg_gpu::text {

TupleReader begin_tuple(const DocumentTuple *tail_tuple) {
    const auto *bytes = reinterpret_cast<const uint8 *>(tail_tuple);
    TupleReader reader = {};
    reader.at = bytes + sizeof(DocumentTuple);
    reader.end = bytes + storage::tail_tuple_size(&tail_tuple->head);
    reader.left = lexeme_count(tail_tuple);
    reader.has_positions = (tail_tuple->lexemes & kTupleHasPositions) != 0;
    return reader;
}

bool next_lexeme(TupleReader *reader) {
    if (reader->left == 0)
        return false;
    uint64 length = 0;
    uint64 frequency = 0;
    const uint8 *at = read_varint(reader->at, reader->end, &length);
    if (at == nullptr || length == 0 || length > kMaxLexemeBytes ||
        length > static_cast<uint64>(reader->end - at)) {
        reader->failed = true;
        return false;
    }
    const char *bytes = reinterpret_cast<const char *>(at);
    at = read_varint(at + length, reader->end, &frequency);
    if (at == nullptr || frequency == 0 || frequency > MAXNUMPOS) {
        reader->failed = true;
        return false;
    }
    reader->lexeme = {bytes, static_cast<uint32>(length), static_cast<uint32>(frequency)};
    if (reader->has_positions) {
        reader->positions = at;
        at = skip_positions(at, reader->end, reader->lexeme.frequency);
        if (at == nullptr) {
            reader->failed = true;
            return false;
        }
    }
    reader->at = at;
    reader->left--;
    return true;
}

// Says whether the tuple's lexemes are in order, and the sum of their frequencies is its length.
static bool is_tail_tuple_valid(const DocumentTuple *tail_tuple) {
    if (storage::tail_tuple_size(&tail_tuple->head) < sizeof(DocumentTuple))
        return false;
    TupleReader reader = begin_tuple(tail_tuple);
    Lexeme previous = {};
    uint64 length = 0;
    while (next_lexeme(&reader)) {
        const Lexeme &lexeme = reader.lexeme;
        if (previous.bytes != nullptr &&
            compare_lexemes(previous.bytes, previous.length, lexeme.bytes, lexeme.length) >= 0)
            return false;
        previous = lexeme;
        length += lexeme.frequency;
    }
    return !reader.failed && length == tail_tuple->length && (!is_null(tail_tuple) || length == 0);
}

void check_tail_tuples(Relation index, BlockNumber block, const storage::Items &tail_tuples) {
    for (uint32 at = 0; at < tail_tuples.bytes;) {
        const auto *tail_tuple = reinterpret_cast<const DocumentTuple *>(tail_tuples.tail_tuples + at);
        const uint32 rest = tail_tuples.bytes - at;
        if (rest < sizeof(DocumentTuple) || storage::tail_tuple_size(&tail_tuple->head) > rest ||
            storage::tail_tuple_size(&tail_tuple->head) % alignof(DocumentTuple) != 0 ||
            !is_tail_tuple_valid(tail_tuple))
            storage::report_corruption(index, block, "A document's lexemes are damaged.");
        at += storage::tail_tuple_size(&tail_tuple->head);
    }
}

DocumentTuple *make_tail_tuple(TSVector vector, const ItemPointerData &tid, bool with_positions) {
    uint8 positions[kMaxPositionBytes];
    size_t bytes = sizeof(DocumentTuple);
    if (vector != nullptr)
        for_each_lexeme(vector, [&](const Lexeme &lexeme) {
            bytes += lexeme.length + (lexeme.length >= 0x80 ? 2 : 1) + (lexeme.frequency >= 0x80 ? 2 : 1);
            if (with_positions)
                bytes += write_positions(positions_of(vector, lexeme), positions);
        });
    bytes = TYPEALIGN(alignof(DocumentTuple), bytes);
    if (bytes > kTailCapacity)
        return nullptr;

    auto *tail_tuple = reinterpret_cast<DocumentTuple *>(allocate_zeroed<char>(bytes));
    tail_tuple->head.tid = tid;
    tail_tuple->head.info = static_cast<uint16>(bytes | (vector == nullptr ? storage::kTailTupleFlag : 0));
    if (vector != nullptr) {
        auto *out = reinterpret_cast<uint8 *>(tail_tuple + 1);
        tail_tuple->length = for_each_lexeme(vector, [&](const Lexeme &lexeme) {
            out += write_varint(out, lexeme.length);
            memcpy(out, lexeme.bytes, lexeme.length);
            out += lexeme.length;
            out += write_varint(out, lexeme.frequency);
            if (with_positions)
                out += write_positions(positions_of(vector, lexeme), out);
            tail_tuple->lexemes++;
        });
        if (with_positions)
            tail_tuple->lexemes |= kTupleHasPositions;
    }
    return tail_tuple;
}

}  // namespace pg_gpu::text
