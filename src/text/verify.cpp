// gpu.verify checks the dictionary, lists and documents, and their agreement with the table.
#include <cmath>

#include "text/configuration.h"
#include "text/corpus.h"
#include "text/position_list.h"
#include "text/text.h"

namespace pg_gpu::text {

namespace {

struct Verification {
    Relation index;
    table::TableCheck *check;
    DocumentSource source;
    bool positions;
};

// The sums of a run's lists over its documents.
struct RunSums {
    uint32 *lengths;
    uint64 *hashes;
    uint64 position_bytes;
};

}  // namespace

static constexpr uint64 kNullHash = UINT64CONST(0x9e3779b97f4a7c15);

// A document's hash is the sum of these, whatever their order. There are no positions where the index keeps
// none.
static uint64 hash_posting(const char *lexeme, uint32 length, uint32 frequency,
                           const PositionBytes &positions) {
    uint64 hash = DatumGetUInt64(hash_any_extended(reinterpret_cast<const unsigned char *>(lexeme),
                                                   static_cast<int>(length), frequency));
    if (positions.length > 0)
        hash = DatumGetUInt64(hash_any_extended(positions.bytes, static_cast<int>(positions.length), hash));
    return hash;
}

static constexpr PositionBytes kNoPositions = {nullptr, 0};

// ---- runs -------------------------------------------------------------------------------------------------

static BlockNumber section_block(const RunReader *reader, int section, uint32 page) {
    return storage::run_block(reader->run, reader->run.sections[section].first_page + page);
}

static void report_position_bytes(Verification *state, const RunReader *reader) {
    table::report_problem(state->check,
                          storage::run_block(reader->run, position_section(reader->run).first_page), nullptr,
                          "A lexeme's positions do not end where the next one's begin.");
}

static void verify_list(Verification *state, DictionaryCursor *dictionary, const postings::Norms &norms,
                        RunSums *sums) {
    RunReader *reader = dictionary->reader;
    const BlockNumber block_number = section_block(
        reader, kPostingSection, static_cast<uint32>(dictionary->list_start / storage::kContentBytes));
    const ListPlace place = encode_tid(dictionary);
    ListCursor *list = open_list(reader, place);
    PositionList *positions = reader->has_positions ? open_positions(list, place) : nullptr;
    const bool has_place = positions != nullptr && place.inline_position_bytes == 0;
    if (has_place && positions->start != sums->position_bytes)
        report_position_bytes(state, reader);
    for (uint32 block = 0; load_block(list, block); block++) {
        CHECK_FOR_INTERRUPTS();
        double least = HUGE_VAL;
        uint64 bytes = 0;
        for (; list->at < list->count; list->at++) {
            const uint32 ordinal = current_ordinal(list);
            const uint32 frequency = frequency_at(list, list->at);
            least = Min(least, norms.of(document_length(reader, ordinal)) / static_cast<double>(frequency));
            sums->lengths[ordinal] += frequency;
            const PositionBytes kept = positions == nullptr ? kNoPositions : position_bytes(positions);
            bytes += kept.length;
            sums->hashes[ordinal] +=
                hash_posting(dictionary->lexeme, dictionary->lexeme_length, frequency, kept);
        }
        if (has_place) {
            sums->position_bytes += bytes;
            if (positions->ends != nullptr && positions->length != bytes && !reader->stale)
                report_position_bytes(state, reader);
        }
        const float bound = std::bit_cast<float>(uint32{list->heads[block].bound} << 16);
        if (!(static_cast<double>(bound) <= least))
            table::report_problem(state->check, block_number, nullptr, "A block's bound is too low.");
    }
    if (positions != nullptr)
        close_positions(positions);
    close_list(list);
}

static void verify_lists(Verification *state, RunReader *reader, RunSums *sums) {
    const Options options = {postings::Codec::Bitpack, reader->header.k1, reader->header.b};
    const postings::Norms norms = norms_for(options, reader->header.average_length);
    auto *dictionary = allocate<DictionaryCursor>(1);
    char previous[kMaxLexemeBytes];
    uint32 previous_length = 0;
    uint64 lexemes = 0;
    uint64 posting_total = 0;
    uint64 end = 0;
    uint32 page = 0;
    for (begin_dictionary(dictionary, reader); !dictionary->end; next_entry(dictionary)) {
        const BlockNumber block = section_block(reader, kDictionarySection, dictionary->page);
        if (lexemes > 0 &&
            compare_lexemes(previous, previous_length, dictionary->lexeme, dictionary->lexeme_length) >= 0)
            table::report_problem(state->check, block, nullptr, "Lexemes are out of order.");
        if (dictionary->list_start != end)
            table::report_problem(state->check, block, nullptr,
                                  "A list does not begin where the one before ends.");
        if (dictionary->page != page && !is_fence_right(reader, dictionary->page, previous, previous_length,
                                                        dictionary->lexeme, dictionary->lexeme_length))
            table::report_problem(state->check, section_block(reader, kDictionarySection, 0), nullptr,
                                  "A fence does not divide the dictionary's pages.");
        page = dictionary->page;
        memcpy(previous, dictionary->lexeme, dictionary->lexeme_length);
        previous_length = dictionary->lexeme_length;
        end = dictionary->next_list;
        lexemes++;
        posting_total += dictionary->frequency;
        verify_list(state, dictionary, norms, sums);
    }
    if (reader->stale)
        return;
    if (lexemes != reader->header.lexemes || end != reader->header.posting_bytes ||
        posting_total != posting_count(reader->run))
        table::report_problem(state->check, section_block(reader, kDictionarySection, 0), nullptr,
                              "The dictionary disagrees with what its head says.");
    const uint64 position_pages =
        (sums->position_bytes + storage::kContentBytes - 1) / storage::kContentBytes;
    if (position_pages != position_section(reader->run).pages)
        report_position_bytes(state, reader);
    pfree(dictionary);
}

static void verify_document_pages(Verification *state, RunReader *reader, const RunSums &sums) {
    auto *tids = allocate<ItemPointerData>(kDocumentsPerPage);
    ItemPointerData previous;
    ItemPointerSetInvalid(&previous);
    uint64 total = 0;
    uint32 nulls = 0;
    for (uint32 page = 0; page < document_pages(reader->run.entries); page++) {
        CHECK_FOR_INTERRUPTS();
        const BlockNumber block = section_block(reader, kDocumentSection, page);
        const uint32 count = read_document_tids(reader, page, tids);
        for (uint32 i = 0; i < count; i++) {
            const uint32 ordinal = page * kDocumentsPerPage + i;
            const uint32 length = document_length(reader, ordinal);
            const bool is_null = length == kNullLength;
            if (ItemPointerIsValid(&previous) && ItemPointerCompare(&previous, &tids[i]) >= 0)
                table::report_problem(state->check, block, &tids[i], "Documents are out of order.");
            if (sums.lengths[ordinal] != (is_null ? 0 : length))
                table::report_problem(state->check, block, &tids[i],
                                      "A document's length is not the sum of its frequencies.");
            previous = tids[i];
            nulls += is_null ? 1 : 0;
            total += is_null ? 0 : length;
            if (!is_dead(reader, ordinal))
                table::note_row(state->check, block, is_null ? kNullHash : sums.hashes[ordinal], tids[i]);
        }
    }
    if (!reader->stale && (total != total_length(reader->run) || nulls != reader->header.null_documents))
        table::report_problem(state->check, section_block(reader, kDocumentSection, 0), nullptr,
                              "The documents disagree with what the directory says.");
    pfree(tids);
}

static void note_items(Verification *state, BlockNumber block, const storage::Items &tail_tuples) {
    for_each_tail_tuple(tail_tuples, [&](const DocumentTuple *tail_tuple) {
        uint64 hash = is_null(tail_tuple) ? kNullHash : 0;
        TupleReader reader = begin_tuple(tail_tuple);
        while (next_lexeme(&reader))
            hash += hash_posting(reader.lexeme.bytes, reader.lexeme.length, reader.lexeme.frequency,
                                 reader.has_positions ? position_bytes(reader) : kNoPositions);
        table::note_row(state->check, block, hash, tail_tuple->head.tid);
    });
}

static void verify_raw_run(Verification *state, const storage::RunEntry &run) {
    storage::Items tail_tuples;
    if (read_raw_tuples(state->index, run, &tail_tuples))  // else the structural check has reported it
        note_items(state, storage::run_block(run, 0), tail_tuples);
}

static void verify_run(void *context, const storage::RunEntry &run) {
    auto *state = static_cast<Verification *>(context);
    if (layout_of(run) == Layout::Raw) {
        verify_raw_run(state, run);
        return;
    }
    auto *reader = allocate<RunReader>(1);
    open_reader(reader, state->index, run);
    RunSums sums = {allocate_zeroed<uint32>(run.entries), allocate_zeroed<uint64>(run.entries), 0};
    if (!reader->stale && reader->has_positions != state->positions)
        table::report_problem(state->check, section_block(reader, kDictionarySection, 0), nullptr,
                              state->positions ? "The run has no positions." : "The run has positions.");
    if (!reader->stale)
        verify_lists(state, reader, &sums);
    if (!reader->stale)
        verify_document_pages(state, reader, sums);
    close_reader(reader);
}

// ---- the table --------------------------------------------------------------------------------------------

static size_t fingerprint_row(void *context, const Datum *values, const bool *nulls,
                              const ItemPointerData &tid, unsigned char *fingerprint) {
    uint64 hash = kNullHash;
    if (!nulls[0]) {
        const auto *state = static_cast<const Verification *>(context);
        TSVector vector = document_of(state->source, values, nulls);
        hash = 0;
        for_each_lexeme(vector, [&](const Lexeme &lexeme) {
            uint8 room[kMaxPositionBytes];
            PositionBytes positions = kNoPositions;
            if (state->positions)
                positions = {room, write_positions(positions_of(vector, lexeme), room)};
            hash += hash_posting(lexeme.bytes, lexeme.length, lexeme.frequency, positions);
        });
        if (reinterpret_cast<Pointer>(vector) != DatumGetPointer(values[0]))
            pfree(vector);
    }
    return table::put_row_fingerprint(hash, tid, fingerprint);
}

// ---- the steps --------------------------------------------------------------------------------------------

static void *begin_verification(table::TableCheck *check) {
    auto *state = allocate<Verification>(1);
    *state = {check->index, check, source_of(check->index), keeps_positions(check->index)};
    return state;
}

static void verify_tail(void *context, const storage::Items &tail_tuples) {
    auto *state = static_cast<Verification *>(context);
    check_tail_tuples(state->index, storage::kTailBlock, tail_tuples);
    note_items(state, storage::kTailBlock, tail_tuples);
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

}  // namespace pg_gpu::text
