// Messages about queries (gpu_engine/query/query.h).
#pragma once

#include <cstdint>

#include "gpu_engine/protocol_common.h"
#include "gpu_engine/query/query.h"

namespace gpu_engine::protocol {

// How a run's codes become a column of a scan (query::RunColumn).
struct RunColumnPlace {
    std::uint32_t form;  // query::ColumnForm
    std::uint32_t column;
    std::uint64_t offset;
    std::uint32_t power;
    std::uint32_t space;  // query::RunColumn::space
    std::uint64_t places;
    std::uint64_t values;  // offset, of maps; nowhere: it comes by its name alone
    std::uint64_t nulls;   // offset, of maps; nowhere: none is NULL
    query::MapName name;   // of maps
};

// A dictionary that a code space has: of a run of the request, and a column of strings.
struct SpaceMemberPlace {
    std::uint32_t run;
    std::uint32_t column;
};

// A source of a scan (query::RunSource): at `columns` lie as many RunColumnPlaces as the scan has columns.
// Its tests are those of the request that are for all runs, or for the source with this number.
struct RunSourcePlace {
    std::uint64_t columns;
    std::uint32_t run;    // of the request
    std::uint32_t table;  // query::RunSource::table
};

// At `columns` lie as many InputColumnPlaces as the scan has columns.
struct InputSourcePlace {
    std::uint64_t rows;
    std::uint64_t columns;
};
struct InputColumnPlace {
    std::uint64_t values;
    std::uint64_t nulls;  // nowhere: none is NULL
};

struct ZonePlace {
    std::uint64_t transitions;
    std::uint64_t count;
};

// `count` elements of an array of the query lie at `offset`.
struct ArrayPlace {
    std::uint64_t offset;
    std::uint32_t count;
    std::uint32_t reserved;
};
// At `members` lie SpaceMemberPlaces.
struct SpacePlace {
    ArrayPlace members;
};
inline constexpr std::uint32_t max_elements = 1U << 20;  // of all arrays together, those of values apart

// A scan may have many tables, such as partitions.
inline constexpr std::uint32_t max_query_tables = 4096;

// Runs a query.
struct RunQuery {
    RequestHeader header;
    ArrayPlace nodes;
    ArrayPlace types;
    ArrayPlace steps;
    ArrayPlace constants;
    ArrayPlace outputs;
    ArrayPlace accumulators;
    ArrayPlace sort_keys;
    ArrayPlace zones;    // ZonePlaces
    ArrayPlace sources;  // RunSourcePlaces
    ArrayPlace inputs;   // InputSourcePlaces
    ArrayPlace tables;   // BlocksPlaces, by table
    ArrayPlace spaces;   // SpacePlaces
    std::uint64_t max_rows;
    std::uint64_t tests;  // offset of ColumnTestPlaces
    std::uint32_t test_count;
    std::uint32_t reserved;
    std::uint64_t results;
    std::uint64_t capacity;
    std::uint32_t padding;
    std::uint32_t runs;
    RunUse run[max_runs];
};

// Records of the result, where the outcome is `answered`, or the TIDs of unresolved rows: as many as there is
// room for. The rest of them the server keeps for read_query, until the connection asks for anything else, or
// for nothing for a while.
struct QueryReply {
    ReplyHeader header;
    std::uint64_t needed;      // bytes of what is here
    std::uint64_t rows;        // in all
    std::uint64_t unresolved;  // in all
    std::uint64_t here;        // records or TIDs in the buffer now
    std::uint64_t here_at;
    std::uint32_t record_words;
    std::uint32_t
        outcome;  // query::QueryOutcome; 0: the runs lie on several engines, and it can't be divided
    std::uint32_t unresolved_table;
    std::uint32_t reserved;
};

// The next of what run_query found, on the same engine. The reply is a QueryReply, too.
struct ReadQuery {
    RequestHeader header;
    std::uint64_t results;
    std::uint64_t capacity;
};

using QueryStructures =
    Structures<RunColumnPlace, SpaceMemberPlace, SpacePlace, RunSourcePlace, InputSourcePlace,
               InputColumnPlace, ZonePlace, RunQuery, QueryReply, ReadQuery, query::Node, query::Step,
               query::Constant, query::Accumulator, query::SortKey, query::ZoneTransition>;

}  // namespace gpu_engine::protocol
