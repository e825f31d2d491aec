// A query over runs of columns: a tree of operators over typed columns, which runs where the data lies, and
// of which only the result leaves the engine. The engine knows nothing of PostgreSQL: neither snapshots nor
// types of SQL.
//
// A query is plain arrays, which refer to each other by numbers, so that it can be written into a buffer as
// it is. Nodes come in an order in which what a node reads is before it; the last one gives the result, and
// each is read by at most one other.
#pragma once

#include <cstdint>
#include <memory>

#include "gpu_engine/column.h"
#include "gpu_engine/engine.h"
#include "gpu_engine/query/expression.h"

namespace gpu_engine::query {

// `count` elements of an array of the query from number `first` on.
struct Span {
    std::uint32_t first;
    std::uint32_t count;
};

// ---- sources ----------------------------------------------------------------------------------------------

// How a run's codes become values of a scan's column. NULL in the run is NULL.
enum class ColumnForm : std::uint32_t {
    integer = 1,  // the column's integer plus `offset`, modulo 2^64; int64, or int128 if the scan says so
    flag,         // boolean: the integer is not 0
    float32,      // ordered bits of a float of 32 or 64 bits (src/keys/codes.h) to float64
    float64,
    decimal,  // (integer + offset) * 10^power: int64 or int128; who asks knows that it has room
    map,      // values[code], as many words as the type has, NULL by `nulls`: dictionaries of what the engine
              // has no values of
    code,     // the code itself
    constant,  // `offset`, whatever the run has
    row,       // `offset` plus the number of the row in its run, from 0 on; int64
};

// Does a column of this form have nothing of a run's columns?
constexpr bool is_of_no_column(ColumnForm form) noexcept {
    return form == ColumnForm::constant || form == ColumnForm::row;
}

// A map of codes that an engine keeps between queries, in its own memory.
class KeptMap : public Interface {
  public:
    virtual std::uint64_t bytes() const noexcept = 0;
};

// What a map is made of: `words` words a value, and a bit a code that is NULL (nullptr: none is).
struct MapValues {
    std::uint64_t places;
    std::uint32_t words;
    const std::uint64_t *values;
    const std::uint64_t *nulls;
};

// The name by which a session asks the server process for a map that it keeps of a run; 0, 0: it has none.
struct MapName {
    std::uint64_t words[2];

    bool is_given() const noexcept { return (words[0] | words[1]) != 0; }
};

struct RunColumn {
    ColumnForm form;
    std::uint32_t column;  // of the run
    std::uint64_t offset;
    std::uint32_t power;
    // Of requests to the server process, form map: 1 and the number of a code space. The values are the
    // numbers of its entries, shifted left by `power`, plus `offset`. Engines are always given the values.
    std::uint32_t space;
    std::uint64_t places;         // form map: codes from here on are NULL (damage)
    const std::uint64_t *values;  // form map
    const std::uint64_t *nulls;   // a bit a code; nullptr: none is NULL
    // Form map: places, values and NULLs are those of a map that this engine keeps. nullptr: they are here.
    const KeptMap *kept;
    // Of requests to the server process, form map: the map's name, by which alone it may come, without
    // values.
    MapName name;
};

// Rows of a run that pass all tests and are visible by the blocks of its table.
struct RunSource {
    const ColumnStore *store;
    const ColumnTest *tests;
    std::uint32_t test_count;
    std::uint32_t table;       // of the scan's tables, from 0 on: runs come in the order of these
    const RunColumn *columns;  // as many as the scan has
};

// Rows that the caller has: by column, values of words_of(type) words each, and a bit a row where NULL.
struct InputColumn {
    const std::uint64_t *values;
    const std::uint64_t *nulls;  // nullptr: none is NULL
};
struct InputSource {
    std::uint64_t rows;
    const InputColumn *columns;
};

// ---- operators --------------------------------------------------------------------------------------------

enum class NodeKind : std::uint32_t {
    scan = 1,   // rows of the query's runs and inputs `runs`, `inputs`: its columns are `types`
    compute,    // the rows of which `filter` is true, if there is one, and of them the steps `outputs`
    aggregate,  // a row a group: its columns are the keys, then the accumulators. NULL is a key like others,
                // and so is NaN; -0 and 0 are one group (either is shown). Without keys there is exactly one
                // row
    sort,       // rows in an order: the first `limit` of them
    join,       // rows of `input`, the probed side, matched with those of `build`, which is held in memory
    window,     // all rows in an order, with the accumulators of each row's frame behind its columns
};

// A pair of rows matches if its keys are equal, of which NULL equals nothing, NaN equals NaN and -0 equals 0,
// and if the join's filter is true of it. The joined row has the probed side's columns, then the build
// side's.
enum class JoinKind : std::uint32_t {
    inner = 1,  // a row for each pair that matches
    left,       // and one for each probed row without a match, with NULL for the build side's columns
    right,      // and one for each build row without a match, with NULL for the probed side's columns
    full,       // both
    semi,       // each probed row with at least one match, once: its other pairs needn't be looked at
    anti,       // each probed row without a match
    // NOT IN, of exactly one key and no filter: each probed row if there are no build rows. Otherwise those
    // whose key is not NULL and equals none, if no build row's key is NULL.
    anti_null,
};

enum class AccumulatorKind : std::uint8_t {
    count_rows = 1,  // int64
    count,           // int64: of which the argument isn't NULL
    sum,  // int64 or int128 to int128; fails where it overflows. NULL of nothing, as all from here on
    // float64: the exact sum, correctly rounded; NaN and infinities as additions would have them. From
    // `detail` 1 on what is left of the sum when those of lower details are taken away, rounded; 0 where the
    // sum isn't finite. Of a window: the sum of the frame's rows one after the other, each time rounded.
    sum_float,
    least,  // the argument's type, by SQL's order
    greatest,
    bit_and,  // int64
    bit_or,
    bit_xor,
    percentile_discrete,    // the value at fraction constant number `detail` (float64)
    percentile_continuous,  // float64 only, interpolated as orderedsetaggs.c does
    mode,                   // the most frequent value; of several the least
    any_value,              // of one of the rows that count
    // The values between which a percentile_continuous lies.
    percentile_below,
    percentile_above,
    // Of windows alone, whose arguments and filters are columns. int64, from 1 on:
    row_number,
    rank,  // the number of the first row that equals this one by the sort keys
    dense_rank,
    // The argument of another row of the partition, NULL where there is none.
    earlier,  // `detail` rows before
    later,    // `detail` rows behind
    first_of_frame,
    last_of_frame,
    nth_of_frame,  // the frame's row number `detail`, from 0 on
    // int64, from 1 on: the row's of `detail` parts of the partition, of which the first ones have one row
    // more than the others. There are no more parts than rows.
    ntile,
    // float64: how many rows of the partition come before the row's peers, of all but one (0 of one); how
    // many don't come behind its peers, of all.
    percent_rank,
    cume_dist,
};

inline constexpr std::uint32_t sum_parts = 4;

struct Accumulator {
    AccumulatorKind kind;
    std::uint8_t distinct;   // of count and sums: each value of a group once
    std::uint16_t argument;  // step
    // Only rows of which this step is true; no_step: all. Of earlier and later: what is given where there is
    // no such row, of the argument's type; no_step: NULL.
    std::uint16_t filter;
    std::uint16_t reserved;
    std::uint32_t detail;
};
static_assert(sizeof(Accumulator) == 12);

// A window's frame is rows of the row's partition: from row number `frame_first` to `frame_last`, relative to
// the row, or from and to one of these. A frame by values (values_first, values_last) begins with the first
// row that doesn't come before the row's own `frame_from` by `frame_key`, and ends with the last that doesn't
// come behind `frame_to`. Of a row whose key is NULL that are its peers.
inline constexpr std::int64_t partition_first = INT64_MIN;
inline constexpr std::int64_t peers_first = INT64_MIN + 1;
inline constexpr std::int64_t values_first = INT64_MIN + 2;
inline constexpr std::int64_t partition_last = INT64_MAX;
inline constexpr std::int64_t peers_last = INT64_MAX - 1;
inline constexpr std::int64_t values_last = INT64_MAX - 2;
inline constexpr std::int64_t max_frame_offset = std::int64_t(1) << 40;
// Of a frame that doesn't begin with the partition, least, greatest and sum_float look at all of its rows.
inline constexpr std::int64_t max_searched_frame = 1024;

struct SortKey {
    std::uint32_t column;
    std::uint8_t descends;
    std::uint8_t nulls_first;
    std::uint16_t reserved;
};

// Of a scan all of whose rows are visible, such as one of nothing but inputs.
inline constexpr std::uint32_t no_table = UINT32_MAX;

struct Node {
    NodeKind kind;
    std::uint32_t input;   // node number; a scan has none
    std::uint32_t build;   // join: node number
    JoinKind join;         // join
    std::uint32_t table;   // scan: number of its first table's among the query's `blocks`, or no_table
    Span types;            // scan
    Span runs;             // scan
    Span inputs;           // scan
    Span steps;            // compute, aggregate, join: numbered from 0 within the node
    std::uint32_t filter;  // a step; no_step: all rows pass. Also of an aggregate and a join
    // compute: steps that are its columns. aggregate: its keys. join: columns of the joined row, of the
    // probed side alone where the join gives nothing else
    Span outputs;
    // join: elements of `outputs`, two a key: a column of the probed side, and one of the build side, by its
    // number there, of the same type. Without keys all pairs are looked at.
    Span join_keys;
    // join: two elements of `outputs`, or none: a column of the probed side and one of the build side, by its
    // number there, both int64 or both float64. The filter is true of no pair whose build column is greater
    // (less) than the probed one, or is NULL, or whose probed one is: such pairs needn't be looked at.
    Span at_most;
    Span at_least;
    Span accumulators;             // aggregate, window
    Span sort_keys;                // sort, window
    std::uint32_t partition_keys;  // window: rows that are equal by so many of the first sort keys are one
                                   // partition. It may have least, greatest, sums and counts without distinct
    // Window by values: columns of one type, of which the key has the order of the only sort key that isn't
    // one of partitions, and is NULL where that is.
    std::uint32_t frame_key;
    std::uint32_t frame_from;
    std::uint32_t frame_to;
    std::int64_t frame_first;     // window
    std::int64_t frame_last;      // window
    std::uint64_t limit;          // sort: UINT64_MAX: all rows. compute: stop after so many rows, whichever
    std::uint64_t expected_rows;  // of the result, as the planner thinks; a hint
};

// The number of a run's table among the query's `blocks`, or no_table.
constexpr std::uint32_t table_number(const Node &scan, const RunSource &run) noexcept {
    return scan.table == no_table ? no_table : scan.table + run.table;
}

struct Zone {
    const ZoneTransition *transitions;
    std::uint64_t count;
};

struct Query {
    const Node *nodes;
    std::uint32_t node_count;
    std::uint32_t type_count;
    const ValueType *types;
    const Step *steps;
    const Constant *constants;
    const std::uint16_t *outputs;
    const Accumulator *accumulators;
    const SortKey *sort_keys;
    const Zone *zones;
    const RunSource *runs;
    const InputSource *inputs;
    std::uint32_t step_count;
    std::uint32_t constant_count;
    std::uint32_t output_count;
    std::uint32_t accumulator_count;
    std::uint32_t sort_key_count;
    std::uint32_t zone_count;
    std::uint32_t run_count;
    std::uint32_t input_count;
    // By table: what is known of its heap blocks. nullptr: all of its rows are visible. Which of them is told
    // by the scan.
    const HeapBlocks *const *blocks;
    std::uint32_t block_count;
    std::uint64_t max_rows;  // of the result
};

// The bounds within which a query may be; others are invalid_argument.
inline constexpr std::uint32_t max_nodes = 128;
inline constexpr std::uint32_t max_steps = 4096;  // of a node
inline constexpr std::uint32_t max_keys = 64;     // of an aggregate, and of a join
inline constexpr std::uint32_t max_accumulators = 512;

enum class QueryOutcome : std::uint32_t {
    answered = 1,
    failed,  // a step failed, in a row that counts (of a join: in a pair whose keys are equal): SQL may raise
             // an error, or may still have an answer
    unresolved,  // rows of a table that pass their run's tests lie on unknown blocks: the caller has to find
                 // out whether they are visible, and to ask again with `blocks` that know it
    too_many_rows,  // more than max_rows
    lacks_maps,     // of requests to the server process: a map that came by its name alone isn't kept
};

// ---- answers ----------------------------------------------------------------------------------------------

// The result, in the engine's memory. A row is a record of words: a bit for each column that is NULL, in as
// many words as that takes, then each column's value in words_of its type (whatever it is where the column is
// NULL).
class QueryResult {
  public:
    QueryResult() = default;
    QueryResult(const QueryResult &) = delete;
    QueryResult &operator=(const QueryResult &) = delete;
    virtual ~QueryResult() = default;

    virtual QueryOutcome outcome() const noexcept = 0;
    virtual std::uint64_t rows() const noexcept = 0;  // 0 unless answered
    virtual std::uint32_t record_words() const noexcept = 0;
    // Rows on unknown blocks that passed their run's tests, in no order. They are all of one table: of the
    // first one that has any, and other tables may have some, too.
    virtual std::uint64_t unresolved() const noexcept = 0;
    virtual std::uint32_t unresolved_table() const noexcept = 0;

    virtual Status read_rows(Stream &stream, std::uint64_t first, std::uint64_t count,
                             std::uint64_t *records) const noexcept = 0;
    virtual Status read_unresolved(Stream &stream, std::uint64_t first, std::uint64_t count,
                                   Tid *tids) const noexcept = 0;
};

constexpr std::uint32_t null_words(std::uint32_t columns) noexcept {
    return (columns + 63) / 64;
}

// Checks everything about a query that doesn't depend on its data: kinds, numbers, types, that operands come
// before the steps that take them. Returns nullptr, or what is wrong. Engines call it first.
const char *find_problem(const Query &query) noexcept;

class Queries {
  public:
    Queries() = default;
    Queries(const Queries &) = delete;
    Queries &operator=(const Queries &) = delete;
    virtual ~Queries() = default;

    // Copies a map to where this engine's queries read it. Keeps no more than there is memory for.
    virtual Status keep_map(Stream &stream, const MapValues &values,
                            std::shared_ptr<const KeptMap> *kept) noexcept = 0;

    // Runs a query over this engine's stores.
    virtual Status run(Stream &stream, const Query &query, std::unique_ptr<QueryResult> *result) noexcept = 0;
};

}  // namespace gpu_engine::query
