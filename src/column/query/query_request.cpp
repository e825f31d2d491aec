#include "column/query/query_request.h"

#include "column/query/engine_request.h"
#include "sort.h"
#include "request_kinds.h"

namespace pg_gpu::column {

using gpu_engine::BlockGroup;
using gpu_engine::KnownBlocks;
using gpu_engine::query::QueryOutcome;
using gpu_engine::query::RunColumn;

static constexpr client::RequestKind kKind = client::RequestKind::RunQuery;

// ---- visibility -------------------------------------------------------------------------------------------

namespace {

// Rows that were looked up, in the order of their TIDs.
struct LookedUp {
    uint64 *places;  // encode_tid << 1 | visible
    uint64 count;
};

}  // namespace

static BlockNumber block_of(uint64 looked_up) {
    return static_cast<BlockNumber>(looked_up >> 17);
}

static uint32 offset_of(uint64 looked_up) {
    return static_cast<uint32>(looked_up >> 1 & 0xffff);
}

static LookedUp look_up(RemoteRows *rows, const EngineQueryResult &result) {
    auto *visible = allocate<bool>(result.unresolved + 1);
    table::check_rows(&rows->checker, storage::run_block(rows->set.runs[0], 0), result.tids,
                      result.unresolved, visible);
    LookedUp found = {allocate<uint64>(result.unresolved + 1), result.unresolved};
    for (uint64 i = 0; i < found.count; i++)
        found.places[i] = table::encode_tid(result.tids[i]) << 1 | (visible[i] ? 1 : 0);
    pfree(visible);
    sort_interruptibly(found.places, found.places + found.count, std::less<uint64>());
    return found;
}

// The words of a block's rows that were found visible; moves *at behind the block.
static void put_visible(const LookedUp &found, uint64 *at, uint64 *words) {
    const BlockNumber block = block_of(found.places[*at]);
    for (; *at < found.count && block_of(found.places[*at]) == block; ++*at) {
        const uint32 bit = offset_of(found.places[*at]) - 1;
        if ((found.places[*at] & 1) != 0)
            words[bit / 64] |= UINT64CONST(1) << (bit % 64);
    }
}

// What is known of blocks, and of those rows. Nothing is known of other rows on their blocks, but the query
// doesn't ask about them: it has named all that pass its tests.
static KnownBlocks add_blocks(const KnownBlocks &known, const LookedUp &found) {
    uint64 blocks = 0;
    uint32 last_offset = 1;
    for (uint64 i = 0; i < found.count; i++) {
        last_offset = Max(last_offset, offset_of(found.places[i]));
        blocks += i == 0 || block_of(found.places[i]) != block_of(found.places[i - 1]) ? 1 : 0;
    }
    KnownBlocks more = {};
    more.row_words = Max(known.row_words, (last_offset + 63) / 64);
    more.group_count = Max(known.group_count, uint64{block_of(found.places[found.count - 1])} / 64 + 1);
    auto *groups = allocate_zeroed<BlockGroup>(more.group_count);
    auto *words = allocate_zeroed<uint64>((known.slots + blocks) * more.row_words);
    uint64 at = 0;
    for (uint64 number = 0; number < more.group_count; number++) {
        const BlockGroup old = number < known.group_count ? known.groups[number] : BlockGroup{};
        BlockGroup *group = &groups[number];
        *group = {old.all_visible, old.known, more.slots};
        for (uint64 i = at; i < found.count && block_of(found.places[i]) / 64 == number; i++)
            group->known |= UINT64CONST(1) << (block_of(found.places[i]) % 64);
        uint64 old_slot = old.first_slot;
        for (uint64 bits = group->known; bits != 0; bits &= bits - 1) {
            uint64 *slot = words + more.slots++ * more.row_words;
            if ((old.known & bits & -bits) != 0)
                memcpy(slot, known.rows + old_slot++ * known.row_words, known.row_words * sizeof(uint64));
            const auto block =
                static_cast<BlockNumber>(number * 64 + static_cast<uint64>(__builtin_ctzll(bits)));
            if (at < found.count && block_of(found.places[at]) == block)
                put_visible(found, &at, slot);
        }
    }
    more.groups = groups;
    more.rows = words;
    return more;
}

// ---- requests ---------------------------------------------------------------------------------------------

static const RunColumn **columns_by_place(const QueryTable &table) {
    const RemoteRows &rows = *table.rows;
    auto **by_place = allocate_zeroed<const RunColumn *>(static_cast<size_t>(rows.set.count) + 1);
    for (int run = 0; run < rows.view->run_count; run++)
        if (is_remote(rows.view, run))
            by_place[rows.set_places[run]] = table.columns[run];
    return by_place;
}

EngineTable engine_table(const QueryTable &table) {
    if (table.rows == nullptr)
        return {nullptr, {}, nullptr, nullptr, table.own_rows, table.scan};
    RemoteRows &rows = *table.rows;
    return {&rows.set, {rows.tests, rows.test_count}, &rows.visible, columns_by_place(table), table.own_rows,
            table.scan};
}

static uint64 entries_of(const client::RunSet &set) {
    uint64 entries = 0;
    for (int run = 0; run < set.count; run++)
        entries += set.runs[run].entries;
    return entries;
}

static EngineQuery make_request(const QueryRequest &request) {
    auto *tables = allocate<EngineTable>(request.table_count);
    for (uint32 i = 0; i < request.table_count; i++)
        tables[i] = engine_table(request.tables[i]);
    EngineQuery prepared = {};
    prepared.query = &request.query;
    prepared.tables = tables;
    prepared.table_count = request.table_count;
    prepared.request.kind = kKind;
    prepared.request.results = request.expected_rows;
    double codes = 0;
    for (uint32 i = 0; i < request.table_count; i++) {
        if (tables[i].set == nullptr)
            continue;
        const uint64 entries = entries_of(*tables[i].set);
        prepared.request.runs += tables[i].set->count;
        prepared.request.entries += entries;
        codes += static_cast<double>(entries) * scan_of(request.query, tables[i]).types.count;
    }
    if (prepared.request.entries > 0)
        prepared.request.columns =
            static_cast<int>(ceil(codes / static_cast<double>(prepared.request.entries)));
    return prepared;
}

// What is the same in all of the request's rows.
static RemoteRows *first_rows(const QueryRequest &request) {
    uint32 table = 0;
    while (request.tables[table].rows == nullptr)
        table++;
    return request.tables[table].rows;
}

static const char *reason_of(QueryOutcome outcome) {
    switch (outcome) {
        case QueryOutcome::failed:
            return "an expression overflows, divides by zero or has no value otherwise";
        case QueryOutcome::too_many_rows:
            return "the result has more rows than there is room for";
        case QueryOutcome::unresolved:
            return "rows come up whose visibility isn't known";
        default:
            return "the server's answer means nothing";
    }
}

bool run_query(const QueryRequest &request, QueryResult *result) {
    // After a table's first answer the blocks of all of its rows that count are known.
    const uint32 max_results = request.table_count + 2;
    *result = {};
    const RemoteRows *rows = first_rows(request);
    const EngineQuery prepared = make_request(request);
    KeptRecords *records = begin_records(rows->view->index, request.result_context, request.result_owner);
    const RecordSink sink = {[](void *context, const uint64 *given, uint32 words, uint64 count) {
                                 keep_records(static_cast<KeptRecords *>(context), given, words, count);
                             },
                             records};
    for (uint32 i = 0; i < max_results; i++) {
        EngineQueryResult from_engine;
        if (!run_query(rows->choice, prepared, sink, &from_engine)) {
            free_records(records);
            result->outcome = QueryOutcome{};
            return false;
        }
        result->outcome = from_engine.outcome;
        if (from_engine.outcome == QueryOutcome::answered) {
            result->rows = from_engine.rows;
            result->record_words = from_engine.record_words;
            result->records = records;
            return true;
        }
        if (from_engine.outcome != QueryOutcome::unresolved || from_engine.unresolved == 0)
            break;
        RemoteRows *unresolved = request.tables[from_engine.unresolved_table].rows;
        unresolved->visible.known = add_blocks(unresolved->visible.known, look_up(unresolved, from_engine));
    }
    free_records(records);
    // The caller asks again with the maps.
    if (result->outcome != QueryOutcome::lacks_maps)
        client::decline(kKind, rows->choice, reason_of(result->outcome));
    return false;
}

}  // namespace pg_gpu::column
