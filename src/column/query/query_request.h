// A query of typed columns (gpu_engine/query/query.h) about the rows of views, asked of the server process.
//
// Whether rows are visible is settled before the query is answered ("rows first"): the server is told what
// the session knows of heap blocks, and where it meets rows on others that pass the tests, it names them. The
// session looks these up, knows of their blocks from then on, for this request, and asks again. The query
// never sees a row that may not count.
//
// It is asked within with_rows_on_server or with_tables_on_server, as RequestKind::RunQuery. What it takes
// and who answers is in client::session_usage, as that of all requests.
#pragma once

#include "column/scan/mirror.h"
#include "column/query/query_records.h"
#include "gpu_engine/query/query.h"

namespace pg_gpu::column {

// ---- rows that the session has ----------------------------------------------------------------------------

// Makes words of a value of an index's column that isn't NULL: words_of the type's many. Numerics that are
// integers in their run come as integers too: `scale` digits of them are behind the point (scaled_numeric.h).
// For others it is kNotScaled.
enum class Converted { Value, Null, Impossible };
inline constexpr int kNotScaled = -1;
using ConvertValue = Converted (*)(void *context, const TupleValue &value, int scale, uint64 *words);

struct OwnColumn {
    int column;  // of the index
    gpu_engine::query::ValueType type;
    ConvertValue convert;  // nullptr: the numbers of rows (row_tids.h)
    void *context;
};

// Makes an input of the rows that the session has itself: those of loose rows and of local runs that pass
// the condition and are visible. In the current memory context. Returns false when a value can't be
// converted, or when a page was recycled meanwhile.
bool take_own_rows(RemoteRows *rows, const OwnColumn *columns, uint32 count,
                   gpu_engine::query::InputSource *input);

// ---- requests ---------------------------------------------------------------------------------------------

// What a scan of the query reads.
struct QueryTable {
    RemoteRows *rows;  // nullptr: nothing but own_rows
    // By run of the view, where is_remote: as many as the scan has columns.
    const gpu_engine::query::RunColumn *const *columns;
    gpu_engine::query::InputSource own_rows;
    uint32 scan;  // the table of the query's node that reads it
};

struct QueryRequest {
    // A scan's table is a number by which the tables below name the scan that reads them: the request adds
    // runs, inputs and blocks.
    gpu_engine::query::Query query;
    const QueryTable *tables;  // in the order of their scans, each of which has one; at least one has rows
    uint32 table_count;
    uint64 expected_rows;  // of the result
    MemoryContext result_context;
    ResourceOwner result_owner;  // of a file that they may take
};

// `outcome` is `answered` when run_query returns true. When it returns false the outcome tells why, if it is
// one of the engine's; 0: there was no answer.
struct QueryResult {
    gpu_engine::query::QueryOutcome outcome;
    uint64 rows;
    uint32 record_words;
    KeptRecords *records;  // in the request's result_context: next_records gives them
};

// Asks, and reads the result. False: gpu.stat reports why, but for a page that was recycled.
bool run_query(const QueryRequest &request, QueryResult *result);

}  // namespace pg_gpu::column
