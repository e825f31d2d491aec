#include "column/scan/string_tests.h"

#include "compat.h"
#include "memory.h"
#include "residency/submission.h"

namespace pg_gpu::column {

using namespace client;

using protocol::StringTestKind;

// ---- what is tested --------------------------------------------------------------------------------------

namespace {

struct StringTests {
    protocol::StringTestPlace *places;  // offsets are those within the bytes
    uint32 count;
    uint32 room;
    StringInfoData bytes;
};

struct Comparison {
    StringTestKind kind;
    bool is_negated;
};

}  // namespace

static void add_string(StringTests *tests, uint32 group, const Comparison &comparison, const Bytes &string) {
    if (tests->count == tests->room) {
        tests->room = tests->room * 2 + 8;
        tests->places = tests->places == nullptr ? allocate<protocol::StringTestPlace>(tests->room)
                                                 : reallocate(tests->places, tests->room);
    }
    const auto at = static_cast<uint64>(tests->bytes.len);
    tests->places[tests->count++] = {
        static_cast<uint32>(comparison.kind), comparison.is_negated ? 1U : 0U, group, 0, at, string.length};
    appendBinaryStringInfo(&tests->bytes, string.data, static_cast<int>(string.length));
    // Each string begins where a part of the buffer may.
    while (tests->bytes.len % static_cast<int>(protocol::buffer_alignment) != 0)
        appendStringInfoChar(&tests->bytes, '\0');
}

// Returns false for an operator that isn't one of bytes.
static bool read_comparison(const ColumnType &type, const Key &key, Comparison *comparison) {
    const bool is_bytea = type.base_type == BYTEAOID;
    const bool is_text = type.base_type == TEXTOID || type.base_type == VARCHAROID;
    switch (key.function.fn_oid) {
        case F_TEXTNE:
            *comparison = {StringTestKind::equal, true};
            return is_text && OidIsValid(key.collation) && get_collation_isdeterministic(key.collation);
        case F_BYTEANE:
            *comparison = {StringTestKind::equal, true};
            return is_bytea;
        case F_TEXT_LT:
        case F_BYTEALT:
            *comparison = {StringTestKind::below, false};
            break;
        case F_TEXT_LE:
        case F_BYTEALE:
            *comparison = {StringTestKind::at_most, false};
            break;
        case F_TEXT_GT:
        case F_BYTEAGT:
            *comparison = {StringTestKind::at_most, true};
            break;
        case F_TEXT_GE:
        case F_BYTEAGE:
            *comparison = {StringTestKind::below, true};
            break;
        default:
            return false;
    }
    return is_bytea || (is_text && OidIsValid(key.collation) && is_c_collation(key.collation));
}

static bool add_key(const ColumnType &type, const Key &key, uint32 group, StringTests *tests) {
    if (key.kind == KeyKind::Strings) {
        for (uint32 i = 0; i < key.string_count; i++)
            add_string(tests, group, {StringTestKind::equal, false}, key.strings[i]);
        return key.string_count > 0;
    }
    Comparison comparison;
    const bool has_patterns = key.kind == KeyKind::Evaluate && key.patterns != nullptr;
    if (key.kind != KeyKind::Evaluate || key.argument_count == 0 ||
        (!has_patterns && !read_comparison(type, key, &comparison)))
        return false;
    const bool is_utf8 = pg_database_encoding_max_length() > 1 && type.base_type != BYTEAOID;
    for (uint32 i = 0; i < key.argument_count; i++) {
        if (has_patterns)
            comparison = {is_utf8 ? StringTestKind::like : StringTestKind::like_bytes,
                          key.patterns[i]->is_negated};
        add_string(tests, group, comparison, bytes_of(type, key.arguments[i]));
    }
    return true;
}

// Returns false where the column's keys aren't all about the bytes of strings.
static bool read_tests(const ColumnType &type, const ColumnKeys &keys, StringTests *tests) {
    *tests = {};
    initStringInfo(&tests->bytes);
    uint32 groups = 0;
    for (int i = 0; i < keys.count; i++) {
        const Key &key = *keys.keys[i];
        // Tests of NULL are made apart, and no code has the value of one.
        if (key.kind == KeyKind::IsNull || key.kind == KeyKind::IsNotNull)
            continue;
        if (!add_key(type, key, groups++, tests))
            return false;
    }
    return groups > 0;
}

// ---- the request -----------------------------------------------------------------------------------------

static uint32 number_of_run(const RunSet &set, int place) {
    const LiveRuns live = live_runs(set);
    uint32 number = 0;
    while (live.places[number] != place)
        number++;
    return number;
}

static bool take_matches(const protocol::MatchStringsReply &reply, uint64 codes, uint8 *match) {
    if (reply.words == 0)
        return false;
    if (reply.words != groups_of(codes) || !lies_in_buffer(reply.words_at, reply.words * sizeof(uint64)))
        return fail(RequestFailure::Refused, "matches lie outside of the transfer buffer");
    const auto *words = reinterpret_cast<const uint64 *>(buffer_at(reply.words_at));
    for (uint64 code = 0; code < codes; code++)
        match[code] = is_selected(words, code) ? 1 : 0;
    return true;
}

bool match_on_server(RemoteRows *rows, int run, const ColumnKeys &keys, uint8 *match) {
    const ColumnHeader &header = rows->view->runs[run].header.column[keys.column];
    StringTests tests;
    if (!is_dictionary(header) || header.distinct < kFewestServerStrings ||
        !read_tests(rows->view->format->types[keys.column], keys, &tests))
        return false;
    const Input inputs[] = {{nullptr, 0, tests.count * sizeof(*tests.places)},
                            {tests.bytes.data, 0, static_cast<uint64>(tests.bytes.len)}};
    const PreparedRequest prepared = {rows->kind, inputs, lengthof(inputs),
                                      groups_of(header.distinct) * sizeof(uint64),
                                      static_cast<double>(header.distinct) / 50};
    const auto set_inputs = [&](protocol::MatchStrings *message, const client::Layout &at, uint64) {
        auto *places = reinterpret_cast<protocol::StringTestPlace *>(buffer_at(at.inputs[0]));
        for (uint32 i = 0; i < tests.count; i++) {
            places[i] = tests.places[i];
            places[i].offset += at.inputs[1];
        }
        message->member = {number_of_run(rows->set, rows->set_places[run]), static_cast<uint32>(keys.column)};
        message->tests = {at.inputs[0], tests.count, 0};
    };
    client::Layout layout;
    protocol::MatchStringsReply reply;
    uint64 items = 1;
    return client::submit<protocol::MatchStrings>(prepared, rows->set, rows->choice,
                                                  protocol::Message::match_strings, set_inputs, &items,
                                                  &layout, &reply) &&
           take_matches(reply, header.distinct, match);
}

}  // namespace pg_gpu::column
