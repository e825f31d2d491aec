// gpu.verify: headers, dictionaries, codes, and agreement with the table.
#include "column/column.h"
#include "column/format/reader.h"
#include "column/format/scaled_numeric.h"

namespace pg_gpu::column {

namespace {

struct Verification {
    Relation index;
    const Format *format;
    table::TableCheck *check;
};

}  // namespace

// ---- values -----------------------------------------------------------------------------------------------

// Hashes the value of one column; the hash of NULL is 0.
static uint64 hash_integer(int column, uint64 code) {
    return hash_bytes_uint32_extended(static_cast<uint32>(code), code >> 32 ^ static_cast<uint64>(column)
                                                                                  << 40) |
           1;
}

static uint64 hash_string(int column, const Bytes &bytes) {
    return DatumGetUInt64(hash_any_extended(reinterpret_cast<const unsigned char *>(bytes.data),
                                            static_cast<int>(bytes.length), static_cast<uint64>(column))) |
           1;
}

static uint64 hash_scaled(int column, uint64 code, uint8 scale) {
    FormattedNumeric formatted;
    format_scaled(code, scale, &formatted);
    return hash_string(column, bytes_of_formatted(formatted));
}

static uint64 hash_value(const Format &format, int column, const TupleValue &value) {
    if (value.is_null)
        return 0;
    return format.types[column].is_integer ? hash_integer(column, value.integer)
                                           : hash_string(column, value.bytes);
}

static uint64 add_hash(uint64 sum, uint64 hash) {
    return (sum << 7 | sum >> 57) + hash;
}

// ---- runs -------------------------------------------------------------------------------------------------

static BlockNumber section_block(const RunReader *reader, int section) {
    return storage::run_block(reader->run, reader->run.sections[section].first_page);
}

static void report_run(Verification *state, const RunReader *reader, const char *problem) {
    table::report_problem(state->check, section_block(reader, kStreamSection), nullptr, problem);
}

// Hashes of a dictionary's entries by code, 0 beyond them.
static uint64 *hash_dictionary(Verification *state, RunReader *reader, int column) {
    const ColumnHeader &header = reader->header.column[column];
    auto *hashes = allocate_zeroed<uint64>(UINT64CONST(1) << header.bits);
    if (state->format->types[column].is_integer) {
        const uint64 *entries = read_integer_dictionary(reader, column);
        for (uint64 i = 0; i < header.distinct; i++) {
            if (i > 0 && entries[i - 1] >= entries[i])
                report_run(state, reader, "A dictionary is out of order.");
            hashes[i] = hash_integer(column, entries[i]);
        }
        if (header.distinct > 0 &&
            (entries[0] != header.base || entries[header.distinct - 1] != header.highest))
            report_run(state, reader, "A dictionary is not within its column's bounds.");
        return hashes;
    }
    auto *blocks = allocate<uint64>(header.blocks.words + 1);
    read_words(reader, header.blocks.first_word, header.blocks.words, blocks);
    StringCursor cursor;
    begin_strings(&cursor, reader, column);
    char *previous = nullptr;
    size_t previous_length = 0;
    uint64 whole = 0;
    uint64 at = 0;
    while (next_string(&cursor)) {
        const uint64 start = at;
        at = cursor.next - (cursor.filled - cursor.at);
        if (cursor.ordinal % kDictionaryBlock == 0 && blocks[cursor.ordinal / kDictionaryBlock] != start)
            report_run(state, reader, "A dictionary's block does not begin where it should.");
        if (previous != nullptr) {
            if (compare_bytes({previous, previous_length}, cursor.value) >= 0)
                report_run(state, reader, "A dictionary is out of order.");
            pfree(previous);
        }
        previous = allocate<char>(cursor.value.length + 1);
        memcpy(previous, cursor.value.data, cursor.value.length);
        previous_length = cursor.value.length;
        whole += cursor.value.length;
        if (state->format->types[column].length > 0 &&
            cursor.value.length != static_cast<size_t>(state->format->types[column].length))
            report_run(state, reader, "A dictionary has an entry of a wrong length.");
        hashes[cursor.ordinal] = hash_string(column, cursor.value);
    }
    if (!reader->stale && (at != header.dictionary_bytes || whole != header.base))
        report_run(state, reader, "A dictionary disagrees with its column's header.");
    end_strings(&cursor);
    return hashes;
}

template <typename Value, typename HashCode>
static void hash_codes(Verification *state, RunReader *reader, int column, uint64 *rows, HashCode hash_code) {
    const ColumnHeader &header = reader->header.column[column];
    const uint64 *nulls = read_null_bits(reader, column);
    uint64 null_count = 0;
    bool beyond = false;
    CodeCursor<Value> cursor;
    begin_codes(&cursor, reader, header.codes, header.bits, reader->run.entries);
    uint64 row = 0;
    while (const uint32 groups = next_groups(&cursor)) {
        for (uint32 i = 0; i < groups * kGroup && row < reader->run.entries; i++, row++) {
            uint64 hash = 0;
            if (nulls != nullptr && ((nulls[row / 64] >> (row % 64)) & 1) != 0) {
                null_count++;
            } else {
                hash = hash_code(cursor.values[i]);
                beyond = beyond || hash == 0;
            }
            rows[row] = add_hash(rows[row], hash);
        }
    }
    end_codes(&cursor);
    if (reader->stale)
        return;
    if (beyond)
        report_run(state, reader, "A code lies beyond its dictionary.");
    if (null_count != header.nulls)
        report_run(state, reader, "A column has not as many NULLs as its header says.");
}

static void note_tail_tuples(Verification *state, BlockNumber block, const storage::Items &tail_tuples) {
    for_each_tail_tuple(state->index, *state->format, block, tail_tuples,
                        [&](const storage::TailTuple *tail_tuple, const TupleValue *values) {
                            uint64 hash = 0;
                            for (int i = 0; i < state->format->columns; i++)
                                hash = add_hash(hash, hash_value(*state->format, i, values[i]));
                            table::note_row(state->check, block, hash, tail_tuple->tid);
                        });
}

static void verify_raw_run(Verification *state, const storage::RunEntry &run) {
    storage::Items tail_tuples;
    if (read_raw_tuples(state->index, run, &tail_tuples))  // else the structural check has reported it
        note_tail_tuples(state, storage::run_block(run, 0), tail_tuples);
}

static void verify_run(void *context, const storage::RunEntry &run) {
    auto *state = static_cast<Verification *>(context);
    if (layout_of(run) == Layout::Raw) {
        verify_raw_run(state, run);
        return;
    }
    RunReader reader;
    open_reader(&reader, state->index, run, *state->format);
    if (reader.stale)
        return;  // the structural check has reported it
    auto *rows = allocate_zeroed<uint64>(groups_of(run.entries) * kGroup);
    for (int column = 0; column < state->format->columns; column++) {
        if (is_dictionary(reader.header.column[column])) {
            const uint64 *hashes = hash_dictionary(state, &reader, column);
            hash_codes<uint32>(state, &reader, column, rows, [hashes](uint32 code) { return hashes[code]; });
        } else if (is_scaled(reader.header.column[column])) {
            const ColumnHeader &header = reader.header.column[column];
            hash_codes<uint64>(state, &reader, column, rows, [column, &header](uint64 code) {
                return code + header.base > header.highest
                           ? 0
                           : hash_scaled(column, code + header.base, header.scale);
            });
        } else {
            const ColumnHeader &header = reader.header.column[column];
            hash_codes<uint64>(state, &reader, column, rows, [column, &header](uint64 code) {
                return code + header.base > header.highest ? 0 : hash_integer(column, code + header.base);
            });
        }
    }
    TidCursor cursor;
    begin_tid_cursor(&cursor, &reader);
    OffsetNumber offsets[MaxHeapTuplesPerPage];
    uint64 previous = 0;
    while (next_span(&cursor)) {
        span_offsets(&cursor, offsets);
        for (uint32 i = 0; i < cursor.count; i++) {
            ItemPointerData tid;
            ItemPointerSet(&tid, cursor.block, offsets[i]);
            const uint64 place = uint64{cursor.block} << 16 | offsets[i];
            if (place <= previous)
                table::report_problem(state->check, section_block(&reader, kTidSection), &tid,
                                      "TIDs are out of order.");
            previous = place;
            if (!is_dead(&reader, cursor.ordinal + i))
                table::note_row(state->check, section_block(&reader, kTidSection), rows[cursor.ordinal + i],
                                tid);
        }
    }
}

// ---- the table --------------------------------------------------------------------------------------------

static size_t fingerprint_row(void *context, const Datum *values, const bool *nulls,
                              const ItemPointerData &tid, unsigned char *fingerprint) {
    const Format *format = static_cast<const Verification *>(context)->format;
    uint64 hash = 0;
    for (int i = 0; i < format->columns; i++) {
        const ColumnType &type = format->types[i];
        TupleValue value = {nulls[i], 0, {nullptr, 0}};
        if (!nulls[i] && type.is_integer)
            value.integer = encode_integer(type, values[i]);
        else if (!nulls[i])
            value.bytes = bytes_of(type, values[i]);
        hash = add_hash(hash, hash_value(*format, i, value));
    }
    return table::put_row_fingerprint(hash, tid, fingerprint);
}

// ---- the steps --------------------------------------------------------------------------------------------

static void *begin_verification(table::TableCheck *check) {
    auto *state = allocate<Verification>(1);
    *state = {check->index, make_format(check->index), check};
    return state;
}

static void verify_tail(void *context, const storage::Items &tail_tuples) {
    note_tail_tuples(static_cast<Verification *>(context), storage::kTailBlock, tail_tuples);
}

const table::VerifySteps *verify_steps(Relation) {
    static constexpr table::VerifySteps steps = {
        .begin = begin_verification,
        .verify_tail = verify_tail,
        .verify_run = verify_run,
        .fingerprint_row = fingerprint_row,
    };
    return &steps;
}

}  // namespace pg_gpu::column
