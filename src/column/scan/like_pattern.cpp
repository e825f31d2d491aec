#include "column/scan/like_pattern.h"

#include "gpu_engine/find_literal.h"

namespace pg_gpu::column {

// ---- patterns ---------------------------------------------------------------------------------------------

namespace {

enum class Matcher : uint8 { None, Text, Bytea };

}  // namespace

static Matcher matcher_of(Oid function, bool *is_negated) {
    *is_negated = false;
    switch (function) {
        case F_TEXTNLIKE:
        case F_NOTLIKE_TEXT_TEXT:
        case F_BPCHARNLIKE:
            *is_negated = true;
            return Matcher::Text;
        case F_TEXTLIKE:
        case F_LIKE_TEXT_TEXT:
        case F_BPCHARLIKE:
            return Matcher::Text;
        case F_BYTEANLIKE:
        case F_NOTLIKE_BYTEA_BYTEA:
            *is_negated = true;
            return Matcher::Bytea;
        case F_BYTEALIKE:
        case F_LIKE_BYTEA_BYTEA:
            return Matcher::Bytea;
        default:
            return Matcher::None;
    }
}

// A literal may be looked for at every byte where no other character has its first byte in the middle of its
// own: where characters are bytes, and in UTF-8. Only a deterministic collation's LIKE compares bytes.
static bool matches_by_bytes(Matcher matcher, Oid collation) {
    if (matcher == Matcher::Bytea)
        return true;
    return matcher == Matcher::Text && OidIsValid(collation) &&
           (pg_database_encoding_max_length() == 1 || GetDatabaseEncoding() == PG_UTF8) &&
           get_collation_isdeterministic(collation);
}

static bool is_within_character(Matcher matcher, char first) {
    return matcher == Matcher::Text && pg_database_encoding_max_length() > 1 &&
           (static_cast<uint8>(first) & 0xC0) == 0x80;
}

// Reads a pattern's literals into `text`, which has room for all of it. False: it has something else.
static bool read_literals(const Bytes &bytes, char *text, LikePattern *pattern) {
    char *literal = text;
    for (size_t i = 0; i < bytes.length; i++) {
        const bool is_escaped = bytes.data[i] == '\\';
        if (is_escaped && ++i == bytes.length)
            return false;
        if (!is_escaped && bytes.data[i] == '_')
            return false;
        if (is_escaped || bytes.data[i] != '%') {
            *text++ = bytes.data[i];
            continue;
        }
        if (text > literal)
            pattern->literals[pattern->count++] = {literal, static_cast<size_t>(text - literal)};
        pattern->begins_anywhere = pattern->begins_anywhere || i == 0;
        literal = text;
    }
    pattern->ends_anywhere = bytes.length > 0 && text == literal;
    if (text > literal)
        pattern->literals[pattern->count++] = {literal, static_cast<size_t>(text - literal)};
    return true;
}

const LikePattern *read_like_pattern(Oid function, Oid collation, Datum datum) {
    bool is_negated;
    const Matcher matcher = matcher_of(function, &is_negated);
    if (!matches_by_bytes(matcher, collation))
        return nullptr;
    const struct varlena *plain = PG_DETOAST_DATUM_PACKED(datum);
    const Bytes bytes = {VARDATA_ANY(plain), VARSIZE_ANY_EXHDR(plain)};
    auto *pattern = allocate_zeroed<LikePattern>(1);
    pattern->is_negated = is_negated;
    pattern->literals = allocate<Bytes>(bytes.length + 1);
    if (!read_literals(bytes, allocate<char>(bytes.length + 1), pattern))
        return nullptr;
    for (uint32 i = 0; i < pattern->count; i++) {
        if (is_within_character(matcher, pattern->literals[i].data[0]))
            return nullptr;
        pattern->length += pattern->literals[i].length;
    }
    return pattern;
}

// ---- values -----------------------------------------------------------------------------------------------

// Takes the first of several places where a literal could be, since that leaves most for the literals behind
// it.
static bool has_literals(const LikePattern &pattern, const Bytes &value) {
    const char *at = value.data;
    const char *end = value.data + value.length;
    uint32 next = 0;
    uint32 left = pattern.count;
    if (value.length < pattern.length)
        return false;
    if (!pattern.begins_anywhere) {
        if (left == 0)
            return value.length == 0;
        const Bytes &literal = pattern.literals[next++];
        if (memcmp(at, literal.data, literal.length) != 0)
            return false;
        at += literal.length;
        left--;
        if (left == 0 && !pattern.ends_anywhere)
            return at == end;
    }
    if (!pattern.ends_anywhere) {
        const Bytes &literal = pattern.literals[next + --left];
        end -= literal.length;
        if (memcmp(end, literal.data, literal.length) != 0)
            return false;
    }
    for (; left > 0; left--) {
        const Bytes &literal = pattern.literals[next++];
        at = gpu_engine::find_literal(at, end, literal.data, literal.length);
        if (at == nullptr)
            return false;
        at += literal.length;
    }
    return true;
}

bool is_like(const LikePattern &pattern, const Bytes &value) {
    return has_literals(pattern, value) != pattern.is_negated;
}

}  // namespace pg_gpu::column
