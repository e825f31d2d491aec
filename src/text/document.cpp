#include "text/document.h"

namespace pg_gpu::text {

ItemReader begin_item(const DocumentItem *item) {
    const auto *bytes = reinterpret_cast<const uint8 *>(item);
    ItemReader reader = {};
    reader.at = bytes + sizeof(DocumentItem);
    reader.end = bytes + storage::tail_item_size(&item->head);
    reader.left = lexeme_count(item);
    reader.has_positions = (item->lexemes & kItemHasPositions) != 0;
    return reader;
}

bool next_lexeme(ItemReader *reader) {
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

bool is_item_sound(const DocumentItem *item) {
    if (storage::tail_item_size(&item->head) < sizeof(DocumentItem))
        return false;
    ItemReader reader = begin_item(item);
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
    return !reader.failed && length == item->length && (!is_null(item) || length == 0);
}

void check_items(Relation index, BlockNumber block, const storage::Items &items) {
    for (uint32 at = 0; at < items.bytes;) {
        const auto *item = reinterpret_cast<const DocumentItem *>(items.items + at);
        const uint32 rest = items.bytes - at;
        if (rest < sizeof(DocumentItem) || storage::tail_item_size(&item->head) > rest ||
            storage::tail_item_size(&item->head) % alignof(DocumentItem) != 0 || !is_item_sound(item))
            storage::report_corruption(index, block, "A document's lexemes are damaged.");
        at += storage::tail_item_size(&item->head);
    }
}

DocumentItem *make_item(TSVector vector, const ItemPointerData &tid, bool with_positions) {
    uint8 positions[kMaxPositionBytes];
    size_t bytes = sizeof(DocumentItem);
    if (vector != nullptr)
        for_each_lexeme(vector, [&](const Lexeme &lexeme) {
            bytes += lexeme.length + (lexeme.length >= 0x80 ? 2 : 1) + (lexeme.frequency >= 0x80 ? 2 : 1);
            if (with_positions)
                bytes += write_positions(positions_of(vector, lexeme), positions);
        });
    bytes = TYPEALIGN(alignof(DocumentItem), bytes);
    if (bytes > kTailCapacity)
        return nullptr;

    auto *item = reinterpret_cast<DocumentItem *>(allocate_zeroed<char>(bytes));
    item->head.tid = tid;
    item->head.info = static_cast<uint16>(bytes | (vector == nullptr ? storage::kTailItemFlag : 0));
    if (vector != nullptr) {
        auto *out = reinterpret_cast<uint8 *>(item + 1);
        item->length = for_each_lexeme(vector, [&](const Lexeme &lexeme) {
            out += write_varint(out, lexeme.length);
            memcpy(out, lexeme.bytes, lexeme.length);
            out += lexeme.length;
            out += write_varint(out, lexeme.frequency);
            if (with_positions)
                out += write_positions(positions_of(vector, lexeme), out);
            item->lexemes++;
        });
        if (with_positions)
            item->lexemes |= kItemHasPositions;
    }
    return item;
}

}  // namespace pg_gpu::text
