#include "column/query/query_message.h"

#include "column/scan/request_tests.h"
#include "memory.h"
#include "residency/submission.h"

namespace pg_gpu::column {

using namespace client;

namespace query = gpu_engine::query;

namespace {

// Puts arrays into the buffer, one behind the other, or only finds out how many bytes they take.
struct Sheet {
    bool writes;
    uint64 at;
};

// Which of the message's sources and inputs are a table's.
struct TableSources {
    LiveRuns live;
    uint32 first_source;
    uint32 input;
    uint32 inputs;
};

}  // namespace

// ---- arrays ----------------------------------------------------------------------------------------------

template <typename Element>
static uint64 put(Sheet *sheet, const Element *elements, uint64 count) {
    const uint64 offset = sheet->at;
    if (sheet->writes && count > 0)
        memcpy(buffer_at(offset), elements, count * sizeof(Element));
    sheet->at = offset + align_offset(count * sizeof(Element));
    return offset;
}

template <typename Element>
static protocol::ArrayPlace put_array(Sheet *sheet, const Element *elements, uint32 count) {
    return {put(sheet, elements, count), count, 0};
}

static uint64 put_nulls(Sheet *sheet, const uint64 *nulls, uint64 places) {
    return nulls == nullptr ? protocol::nowhere : put(sheet, nulls, (places + 63) / 64);
}

static protocol::ArrayPlace put_zones(Sheet *sheet, const query::Query &query) {
    auto *places = allocate<protocol::ZonePlace>(size_t{query.zone_count} + 1);
    for (uint32 i = 0; i < query.zone_count; i++)
        places[i] = {put(sheet, query.zones[i].transitions, query.zones[i].count), query.zones[i].count};
    const protocol::ArrayPlace place = put_array(sheet, places, query.zone_count);
    pfree(places);
    return place;
}

// ---- tables ----------------------------------------------------------------------------------------------

// The message names the live runs of all sets, in the order of the tables: a run's number is its source's.
static TableSources *sources_of_tables(const EngineQuery &prepared) {
    auto *sources = allocate_zeroed<TableSources>(prepared.table_count);
    uint32 source = 0;
    uint32 input = 0;
    for (uint32 i = 0; i < prepared.table_count; i++) {
        if (prepared.tables[i].set != nullptr)
            sources[i].live = live_runs(*prepared.tables[i].set);
        sources[i].first_source = source;
        sources[i].input = input;
        sources[i].inputs = prepared.tables[i].own_rows.rows > 0 ? 1 : 0;
        source += static_cast<uint32>(sources[i].live.count);
        input += sources[i].inputs;
    }
    return sources;
}

static uint32 first_of_scan(const EngineQuery &prepared, uint32 scan) {
    uint32 table = 0;
    while (prepared.tables[table].scan != scan)
        table++;
    return table;
}

static protocol::ArrayPlace put_nodes(Sheet *sheet, const EngineQuery &prepared,
                                      const TableSources *sources) {
    const query::Query &query = *prepared.query;
    auto *nodes = allocate<query::Node>(query.node_count);
    memcpy(nodes, query.nodes, query.node_count * sizeof(*nodes));
    for (uint32 i = 0; i < query.node_count; i++) {
        if (nodes[i].kind != query::NodeKind::scan)
            continue;
        nodes[i].runs = {};
        nodes[i].inputs = {};
        const uint32 table = first_of_scan(prepared, nodes[i].table);
        nodes[i].runs.first = sources[table].first_source;
        nodes[i].inputs.first = sources[table].input;
        for (uint32 own = table; own < prepared.table_count && prepared.tables[own].scan == nodes[i].table;
             own++) {
            nodes[i].runs.count += static_cast<uint32>(sources[own].live.count);
            nodes[i].inputs.count += sources[own].inputs;
        }
        nodes[i].table = table;
    }
    const protocol::ArrayPlace place = put_array(sheet, nodes, query.node_count);
    pfree(nodes);
    return place;
}

const query::Node &scan_of(const query::Query &query, const EngineTable &table) {
    uint32 node = 0;
    while (query.nodes[node].kind != query::NodeKind::scan || query.nodes[node].table != table.scan)
        node++;
    return query.nodes[node];
}

static protocol::RunColumnPlace put_column(Sheet *sheet, const query::RunColumn &column,
                                           query::ValueType type) {
    protocol::RunColumnPlace place = {};
    place.form = static_cast<uint32>(column.form);
    place.column = column.column;
    place.offset = column.offset;
    place.power = column.power;
    place.space = column.space;
    place.nulls = protocol::nowhere;
    if (column.form == query::ColumnForm::map && column.space == 0) {
        place.places = column.places;
        place.name = column.name;
        place.values = protocol::nowhere;
        if (column.values != nullptr || !column.name.is_given()) {
            place.values = put(sheet, column.values, column.places * query::words_of(type));
            place.nulls = put_nulls(sheet, column.nulls, column.places);
        }
    }
    return place;
}

static protocol::ArrayPlace put_sources(Sheet *sheet, const EngineQuery &prepared,
                                        const TableSources *sources) {
    protocol::RunSourcePlace places[kMaxRuns];
    uint32 count = 0;
    for (uint32 table = 0; table < prepared.table_count; table++) {
        const LiveRuns &live = sources[table].live;
        const query::Span types = scan_of(*prepared.query, prepared.tables[table]).types;
        const uint32 of_scan = table - first_of_scan(prepared, prepared.tables[table].scan);
        auto *columns = allocate<protocol::RunColumnPlace>(size_t{types.count} + 1);
        for (int run = 0; run < live.count; run++) {
            const query::RunColumn *of_run = prepared.tables[table].columns[live.places[run]];
            for (uint32 i = 0; i < types.count; i++)
                columns[i] = put_column(sheet, of_run[i], prepared.query->types[types.first + i]);
            places[count] = {put(sheet, columns, types.count), count, of_scan};
            count++;
        }
        pfree(columns);
    }
    return put_array(sheet, places, count);
}

static protocol::ArrayPlace put_inputs(Sheet *sheet, const EngineQuery &prepared) {
    auto *places = allocate<protocol::InputSourcePlace>(size_t{prepared.table_count} + 1);
    uint32 count = 0;
    for (uint32 table = 0; table < prepared.table_count; table++) {
        const query::InputSource &source = prepared.tables[table].own_rows;
        if (source.rows == 0)
            continue;
        const query::Span types = scan_of(*prepared.query, prepared.tables[table]).types;
        auto *columns = allocate<protocol::InputColumnPlace>(size_t{types.count} + 1);
        for (uint32 i = 0; i < types.count; i++)
            columns[i] = {put(sheet, source.columns[i].values,
                              source.rows * query::words_of(prepared.query->types[types.first + i])),
                          put_nulls(sheet, source.columns[i].nulls, source.rows)};
        places[count++] = {source.rows, put(sheet, columns, types.count)};
        pfree(columns);
    }
    const protocol::ArrayPlace place = put_array(sheet, places, count);
    pfree(places);
    return place;
}

static protocol::ArrayPlace put_tables(Sheet *sheet, const EngineQuery &prepared) {
    auto *places = allocate<protocol::BlocksPlace>(prepared.table_count);
    for (uint32 table = 0; table < prepared.table_count; table++) {
        const EngineTable &own = prepared.tables[table];
        places[table] = {0, 0, 0, 0, 0, 1};
        if (own.set == nullptr || own.visible->all)
            continue;
        const gpu_engine::KnownBlocks &known = own.visible->known;
        places[table] = {put(sheet, known.groups, known.group_count),
                         known.group_count,
                         put(sheet, known.rows, known.slots * known.row_words),
                         known.slots,
                         known.row_words,
                         0};
    }
    const protocol::ArrayPlace place = put_array(sheet, places, prepared.table_count);
    pfree(places);
    return place;
}

// ---- code spaces -----------------------------------------------------------------------------------------

// Calls visit(column, run) for all columns of all runs, which have the message's numbers.
template <typename Visit>
static void for_columns(const EngineTable *tables, const uint32 *column_counts, uint32 table_count,
                        Visit visit) {
    uint32 number = 0;
    for (uint32 table = 0; table < table_count; table++) {
        if (tables[table].set == nullptr)
            continue;
        const LiveRuns live = live_runs(*tables[table].set);
        for (int run = 0; run < live.count; run++, number++)
            for (uint32 i = 0; i < column_counts[table]; i++)
                visit(tables[table].columns[live.places[run]][i], number);
    }
}

SpaceMembers members_of_space(const EngineTable *tables, const uint32 *column_counts, uint32 table_count,
                              uint32 space) {
    SpaceMembers members = {nullptr, 0};
    for (const bool writes : {false, true}) {
        if (writes)
            members.places = allocate<protocol::SpaceMemberPlace>(size_t{members.count} + 1);
        members.count = 0;
        for_columns(tables, column_counts, table_count, [&](const query::RunColumn &column, uint32 run) {
            if (column.space != space + 1)
                return;
            if (writes)
                members.places[members.count] = {run, column.column};
            members.count++;
        });
    }
    return members;
}

static protocol::ArrayPlace put_spaces(Sheet *sheet, const EngineQuery &prepared) {
    auto *counts = allocate<uint32>(size_t{prepared.table_count} + 1);
    for (uint32 table = 0; table < prepared.table_count; table++)
        counts[table] = scan_of(*prepared.query, prepared.tables[table]).types.count;
    uint32 spaces = 0;
    for_columns(prepared.tables, counts, prepared.table_count,
                [&](const query::RunColumn &column, uint32) { spaces = Max(spaces, column.space); });
    auto *places = allocate<protocol::SpacePlace>(size_t{spaces} + 1);
    for (uint32 i = 0; i < spaces; i++) {
        const SpaceMembers members = members_of_space(prepared.tables, counts, prepared.table_count, i);
        places[i] = {put_array(sheet, members.places, members.count)};
        pfree(members.places);
    }
    const protocol::ArrayPlace place = put_array(sheet, places, spaces);
    pfree(places);
    pfree(counts);
    return place;
}

// ---- tests -----------------------------------------------------------------------------------------------

// Calls visit(test, source) for the tests of all tables: of a table's runs together once for each, unless the
// request has no others.
template <typename Visit>
static void for_tests(const EngineQuery &prepared, const TableSources *sources, Visit visit) {
    for (uint32 table = 0; table < prepared.table_count; table++) {
        const RowTests &tests = prepared.tables[table].tests;
        const LiveRuns &live = sources[table].live;
        for (int i = 0; i < tests.count; i++) {
            if (tests.tests[i].run == kAllRuns && prepared.table_count == 1) {
                visit(tests.tests[i].test, protocol::all_runs);
                continue;
            }
            for (int run = 0; run < live.count; run++)
                if (tests.tests[i].run == kAllRuns || tests.tests[i].run == live.places[run])
                    visit(tests.tests[i].test, sources[table].first_source + static_cast<uint32>(run));
        }
    }
}

uint64 count_tests(const EngineQuery &prepared) {
    TableSources *sources = sources_of_tables(prepared);
    uint64 count = 0;
    for_tests(prepared, sources, [&](const gpu_engine::ColumnTest &, uint32) { count++; });
    pfree(sources);
    return count;
}

static void put_tests(Sheet *sheet, const EngineQuery &prepared, const TableSources *sources,
                      protocol::RunQuery *message) {
    auto *places = allocate<protocol::ColumnTestPlace>(count_tests(prepared) + 1);
    const gpu_engine::ColumnTest *put_last = nullptr;
    uint64 put_at = 0;
    for_tests(prepared, sources, [&](const gpu_engine::ColumnTest &test, uint32 source) {
        // What several runs are tested for comes once.
        if (&test != put_last)
            put_at = put(sheet, static_cast<const char *>(data_of_test(test)), bytes_of_test(test));
        put_last = &test;
        places[message->test_count++] = {
            static_cast<uint32>(test.kind), test.column, source, 0, put_at, test.count};
    });
    message->tests = put(sheet, places, message->test_count);
    pfree(places);
}

// ---- all -------------------------------------------------------------------------------------------------

static void put_query(Sheet *sheet, const EngineQuery &prepared, protocol::RunQuery *message) {
    const query::Query &query = *prepared.query;
    TableSources *sources = sources_of_tables(prepared);
    message->nodes = put_nodes(sheet, prepared, sources);
    message->types = put_array(sheet, query.types, query.type_count);
    message->steps = put_array(sheet, query.steps, query.step_count);
    message->constants = put_array(sheet, query.constants, query.constant_count);
    message->outputs = put_array(sheet, query.outputs, query.output_count);
    message->accumulators = put_array(sheet, query.accumulators, query.accumulator_count);
    message->sort_keys = put_array(sheet, query.sort_keys, query.sort_key_count);
    message->zones = put_zones(sheet, query);
    message->sources = put_sources(sheet, prepared, sources);
    message->inputs = put_inputs(sheet, prepared);
    message->tables = put_tables(sheet, prepared);
    message->spaces = put_spaces(sheet, prepared);
    put_tests(sheet, prepared, sources, message);
    message->max_rows = query.max_rows;
    pfree(sources);
}

uint64 bytes_of_query(const EngineQuery &prepared) {
    Sheet counted = {false, 0};
    protocol::RunQuery message = {};
    put_query(&counted, prepared, &message);
    return counted.at;
}

void put_query(const EngineQuery &prepared, uint64 at, protocol::RunQuery *message) {
    Sheet sheet = {true, at};
    put_query(&sheet, prepared, message);
}

}  // namespace pg_gpu::column
