// What sessions and the server process say to each other.
//
// A session connects to a Unix socket (SOCK_SEQPACKET: a packet is a message), says `hello` and then sends
// one request at a time; the server answers each with one reply of the same type and request number. Messages
// have exactly the size of their structure. Bulk data lies in the session's transfer buffer, a sealed memfd
// that it makes and hands over with `attach`; offsets count bytes from the buffer's start and are multiples
// of 16. While a request runs, its parts of the buffer belong to the server; the others may be filled for the
// next request meanwhile.
//
// Both ends are of one machine: structures travel as they lie in memory. `hello` makes sure that both know
// the same ones. The server trusts nothing it reads: not lengths, offsets, counts, nor that the buffer keeps
// its content.
//
// A session ends a request by closing the connection: the server then stops the work, and frees all that the
// connection held. It also closes a connection by itself: after a message that is none (wrong magic or size
// in the header), after one before hello, and when it ends.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu_engine/column.h"
#include "gpu_engine/devices.h"
#include "gpu_engine/entry.h"
#include "gpu_engine/heap_blocks.h"
#include "gpu_engine/status.h"
#include "gpu_engine/text.h"

namespace gpu_engine::protocol {

// Raised with every change of this file that a peer could notice.
inline constexpr std::uint32_t version = 9;
inline constexpr std::uint32_t magic = 0x53504750;  // "PGPS"
inline constexpr std::size_t max_message = 8192;
inline constexpr std::size_t max_runs = 64;    // of a request
inline constexpr std::size_t max_columns = 8;  // of points
inline constexpr std::size_t buffer_alignment = 16;

enum class Message : std::uint16_t {
    hello = 1,
    ping,
    configure,
    attach,
    begin_kary,
    append_pages,
    append_kary,
    finish,
    set_dead,
    drop,
    evict,
    lookup_kary,
    count_kary,
    range_kary,
    merge_kary,
    read_kary,
    name_kary,
    mirrors,
    statistics,
    devices,
    inject,  // tests only
    begin_grid,
    count_grid,
    search_grid,
    match_grid,
    begin_column,
    count_column,
    count_column_values,
    match_column,
    begin_text,
    search_text,
    count_text,
    intersect_text,
    merge_column_dictionaries,
    keep_runs,
    aggregate_column,
};

enum class EngineName : std::uint16_t { host = 0, cuda = 1 };
inline constexpr std::size_t engine_count = 2;

// What a reply says beside StatusCode.
enum class Answer : std::uint32_t {
    done = 0,
    failed,        // `status` says why; the connection goes on
    mismatch,      // hello: another version; the server closes the connection
    not_resident,  // runs the request names aren't loaded: `lacking` has a bit for each
    stale,         // runs' dead bitmaps are older than asked for: `lacking` has a bit for each
    busy,          // the queue is full, or the engine is still being opened: take another path
    loading,       // begin_kary: another session is loading this run
    disorder,      // finish: entries don't ascend by (key, TID), so the run on disk is corrupt
    elsewhere,     // search_text: it would wait longer here than the session needs for it on pages
};

struct RequestHeader {
    std::uint32_t magic;
    std::uint16_t type;         // Message
    std::uint16_t engine;       // EngineName, where the request computes
    std::uint32_t bytes;        // of the whole message
    std::uint32_t deadline_ms;  // from its arrival on; then the server gives up (cancelled). 0: never
    std::uint64_t request;      // number, given back in the reply
    // What it is part of, a number of the session's: mirrors that were found or loaded for the same purpose
    // don't leave to make room for it. 0: for nothing in particular.
    std::uint32_t purpose;
    std::uint32_t
        forced;  // the path was set, not chosen by cost: what others used lately doesn't leave for it
};
static_assert(sizeof(RequestHeader) == 32);

struct ReplyHeader {
    std::uint32_t magic;
    std::uint16_t type;
    std::uint16_t reserved;
    std::uint32_t bytes;
    std::uint32_t answer;  // Answer
    std::uint64_t request;
    std::uint64_t lacking;       // not_resident, stale: bit i is run i of the request
    std::uint64_t microseconds;  // computing, without waiting in the queue
    std::uint64_t queued_microseconds;
    Status status;
    std::uint32_t padding;
};
static_assert(sizeof(ReplyHeader) == 256);

// ---- the connection --------------------------------------------------------------------------------------

struct Hello {
    RequestHeader header;
    std::uint32_t version;
    std::int32_t process;
    std::uint32_t database;  // oid, 0 for none
    std::uint32_t user;      // oid, 0 for none
    std::uint64_t layout;    // message_layout
};

struct HelloReply {  // ping too
    ReplyHeader header;
    std::uint32_t version;
    std::int32_t process;
    std::uint32_t engines;  // bit i: EngineName i is there
    std::uint32_t opening;  // bit i: it may come; a device takes some 100 ms to open. Ask again with ping
    std::uint64_t start;    // random: another server process has another one
    std::uint32_t threads;  // of the host engine
    std::uint32_t reserved;
};

// Limits in bytes; 0 is the server's default. Mirrors leave, least recently used first, until what is left
// fits. Whoever may connect may send it; the supervisor does.
struct Configure {
    RequestHeader header;
    std::uint64_t memory_limit[engine_count];
    std::uint64_t transfer_limit;  // of all buffers together
    std::uint32_t queue_limit;     // requests of an engine that wait; 0 is the default
    std::uint32_t reserved;
};

// With the memfd as SCM_RIGHTS. It must be sealed against shrinking, growing and further seals, be of this
// size, a multiple of 4096, and is pinned for the device with the first request that computes there. Replaces
// the buffer attached before, which is let go first: after a refusal there is none. Refused (out_of_memory)
// beyond the transfer limit.
struct Attach {
    RequestHeader header;
    std::uint64_t bytes;
};

// ---- arrays ----------------------------------------------------------------------------------------------

// What a run's mirror is known by. All zero: an array that only its connection knows, by its handle.
struct RunName {
    std::uint32_t tablespace;
    std::uint32_t database;
    std::uint32_t relation;  // relfilenode
    std::int32_t backend;    // of a temporary index, else -1
    std::uint64_t run;
    // Tells a database from one of the same OID that was dropped. Both may be copies of one template: with
    // the same files and run ids, but not with the same dead entries.
    std::uint32_t incarnation;
    std::uint32_t reserved;  // 0

    friend bool operator==(const RunName &, const RunName &) noexcept = default;
};
static_assert(sizeof(RunName) == 32);

struct RunUse {
    RunName name;
    std::uint64_t dead_version;  // the bitmap must be at least this new
};
static_assert(sizeof(RunUse) == 40);

using gpu_engine::PageLayout;

// Reserves memory for an array of `entries` entries, for which unpinned mirrors that nobody uses leave, least
// recently used first. out_of_memory when there isn't enough even so; then none has left. An array that is
// named already gives Answer::done with `handle` 0: nothing is to be loaded.
struct BeginKary {
    RequestHeader header;
    RunName name;
    std::uint64_t entries;
    std::uint32_t key_bits;  // 32, 64, 128
    std::uint32_t pinned;    // not evicted to make room
    std::uint32_t user;      // oid: who loads it
    std::uint32_t sorted;    // 0: finish sorts
};

struct BeginReply {  // begin_grid, begin_column, begin_text too
    ReplyHeader header;
    std::uint64_t handle;
    std::uint64_t dead_version;  // of the array that is named already
};

// The same for a grid file of points, which has a name. Its entries come by append_pages only, all of them
// and in the run's order.
struct BeginGrid {
    RequestHeader header;
    RunName name;
    std::uint64_t entries;
    std::uint32_t pinned;
    std::uint32_t user;
    std::uint32_t columns;
    std::uint32_t bucket;                 // entries a cell, on average
    std::uint32_t distinct;               // cells are shared out among columns by their distinct keys
    std::uint32_t unsplit;                // columns, a bit each, as GridOptions has it
    std::uint8_t key_bytes[max_columns];  // 4 or 8
    std::uint8_t null_bit[max_columns];   // of the masks on pages
};

// The same for columns, which have a name. All pages come, in order: those of TIDs, then those of the stream.
struct BeginColumn {
    RequestHeader header;
    RunName name;
    std::uint32_t pinned;
    std::uint32_t user;
    StoreLayout layout;
};

// The same for a run's inverted lists. Their pages come by append_pages only, numbered through both sections:
// those of documents, then those of postings, all of them and in order.
struct BeginText {
    RequestHeader header;
    RunName name;
    std::uint64_t posting_bytes;
    std::uint32_t documents;
    std::uint32_t codec;          // postings::Codec
    std::uint32_t content_bytes;  // of each page
    std::uint32_t pinned;
    std::uint32_t user;
    std::uint32_t reserved;
};

// `pages` images at `offset`, the first of which is page `first_page` of the run. The array takes the run's
// entries from `run_first` on, as many as it was begun with; others on these pages are left out. Pages come
// in order and without a gap: the next one wanted is the one that holds the next entry. Of a grid's pages
// and of those of lists only page_bytes and first_byte of the layout count, and none of the numbers of the
// run: they tell themselves. Of columns' only page_bytes does.
struct AppendPages {
    RequestHeader header;
    std::uint64_t handle;
    std::uint64_t offset;
    std::uint64_t run_entries;  // of the whole run, which say how many are on its last page
    std::uint64_t run_first;
    std::uint32_t first_page;
    std::uint32_t pages;
    PageLayout layout;
};

// Keys as wide as `key_bits` has it.
struct AppendKary {
    RequestHeader header;
    std::uint64_t handle;
    std::uint64_t keys_offset;
    std::uint64_t tids_offset;
    std::uint64_t count;
};

// finish: all entries must have come. A named array becomes a mirror and its handle ends; one without a
// name keeps it. drop: also one that is not finished.
struct HandleRequest {
    RequestHeader header;
    std::uint64_t handle;
};

struct HandleReply {  // finish, merge_kary, name_kary
    ReplyHeader header;
    std::uint64_t handle;
    std::uint64_t entries;
    std::uint64_t bytes;
};

// Gives a connection's own finished array a name, which ends its handle. Its dead bitmap has version 0. When
// the name is taken already the array is dropped and the one there stays.
struct NameKary {
    RequestHeader header;
    std::uint64_t handle;
    RunName name;
    std::uint32_t user;
    std::uint32_t pinned;
};

// 64-bit words, bit i % 64 of word i / 64 is entry i's. They cover the array, or there are none: nothing is
// dead then. A version older than the present one changes nothing and is done. not_resident as in questions.
struct SetDead {
    RequestHeader header;
    RunName name;
    std::uint64_t version;
    std::uint64_t offset;
    std::uint64_t words;
};

// Drops mirrors on both engines, pinned ones too: of one run, of a relation (run 0), or of a database
// (relation and run 0, where tablespace and backend don't matter), of the incarnation named. Requests that
// use them go on.
struct Evict {
    RequestHeader header;
    RunName name;
};

// The runs of a relation (run 0) are `count` ids of 64 bits at `offset`, as they were listed at `listed_at`,
// microseconds since 1970. Mirrors of others that were loaded before are of runs that are no more, since a
// run is listed before it is loaded: they are dropped on both engines, pinned ones too. Answered by
// EvictReply.
struct KeepRuns {
    RequestHeader header;
    RunName name;
    std::int64_t listed_at;
    std::uint64_t offset;
    std::uint64_t count;
};

struct EvictReply {
    ReplyHeader header;
    std::uint64_t mirrors;
    std::uint64_t bytes;
};

// ---- questions -------------------------------------------------------------------------------------------

// Questions ask the runs named, each a mirror on the request's engine with keys of `key_bits`. Answers lie in
// the buffer from `results` on, within `capacity` bytes, each part aligned; the reply says where. When they
// don't fit the status is insufficient_space and `needed` says how many bytes they take.
//
// For each run: offsets[count + 1] of 64 bits, and TIDs. Live entries of item i are tids[offsets[i]] to
// tids[offsets[i + 1] - 1], in order of key and TID.

// Item i: entries whose key is keys[i].
struct LookupKary {
    RequestHeader header;
    std::uint64_t keys;  // offset
    std::uint64_t count;
    std::uint64_t results;
    std::uint64_t capacity;
    std::uint32_t key_bits;
    std::uint32_t runs;
    RunUse run[max_runs];
};

// Item i: entries with low[i] <= key <= high[i]. With `with_keys` their keys too, as the TIDs lie.
struct RangeKary {
    RequestHeader header;
    std::uint64_t low;
    std::uint64_t high;
    std::uint64_t count;
    std::uint64_t results;
    std::uint64_t capacity;
    std::uint32_t key_bits;
    std::uint32_t runs;
    std::uint32_t with_keys;
    std::uint32_t reserved;
    RunUse run[max_runs];
};

// What is known of heap blocks, as KnownBlocks has it; `groups` and `rows` are offsets. With `all_visible`
// every block is, and nothing else is read.
struct BlocksPlace {
    std::uint64_t groups;
    std::uint64_t group_count;
    std::uint64_t rows;
    std::uint64_t slots;
    std::uint32_t row_words;
    std::uint32_t all_visible;
};

// Item i: entries with low[i] <= key <= high[i]. At `results` lie counts[count] of 64 bits: the live ones of
// all runs together that are visible as far as that is known. Those on unknown blocks, hidden ones, follow
// for each run as above; where all blocks are all-visible there are none, and no offsets.
struct CountKary {
    RequestHeader header;
    std::uint64_t low;
    std::uint64_t high;
    std::uint64_t count;
    BlocksPlace blocks;
    std::uint64_t results;
    std::uint64_t capacity;
    std::uint32_t key_bits;
    std::uint32_t runs;
    RunUse run[max_runs];
};

struct ResultReply {  // of kary, grid and text
    ReplyHeader header;
    std::uint64_t needed;
    std::uint64_t tids;  // of all runs
    std::uint64_t offsets_at[max_runs];
    std::uint64_t tids_at[max_runs];
    std::uint64_t keys_at[max_runs];
};

// Where the bounds of `count` boxes lie, all of one shape as GridBoxes has it. A column is open in all boxes
// where both offsets are `nowhere`; so are `open` and `null` where there are no such bytes.
inline constexpr std::uint64_t nowhere = UINT64_MAX;
struct BoxesPlace {
    std::uint64_t low[max_columns];
    std::uint64_t high[max_columns];
    std::uint64_t open;  // a byte a box
    std::uint64_t null;  // a byte a box
    std::uint64_t count;
    std::uint32_t columns;
    std::uint8_t key_bytes[max_columns];
    std::uint32_t reserved;
};

// Item i: entries in box i. TIDs of an item come in no certain order.
struct SearchGrid {
    RequestHeader header;
    BoxesPlace boxes;
    std::uint64_t results;
    std::uint64_t capacity;
    std::uint32_t runs;
    std::uint32_t reserved;
    RunUse run[max_runs];
};

// Item i: entries in box i, counted as CountKary does.
struct CountGrid {
    RequestHeader header;
    BoxesPlace boxes;
    BlocksPlace blocks;
    std::uint64_t results;
    std::uint64_t capacity;
    std::uint32_t runs;
    std::uint32_t reserved;
    RunUse run[max_runs];
};

// Item i: entries without NULL whose keys are keys[0][i], keys[1][i], ...
struct MatchGrid {
    RequestHeader header;
    std::uint64_t keys[max_columns];
    std::uint64_t count;
    std::uint64_t results;
    std::uint64_t capacity;
    std::uint32_t columns;
    std::uint32_t runs;
    std::uint8_t key_bytes[max_columns];
    RunUse run[max_runs];
};

// A test of rows (ColumnTest), for all runs or for one of them by its place in the request: sets of codes
// mean a run's own dictionary. At `offset` lie `count` ValueRanges, or words of a set.
inline constexpr std::uint32_t all_runs = UINT32_MAX;
struct ColumnTestPlace {
    std::uint32_t kind;  // TestKind
    std::uint32_t column;
    std::uint32_t run;
    std::uint32_t reserved;
    std::uint64_t offset;
    std::uint64_t count;
};
inline constexpr std::uint32_t max_tests = 4096;

// count_column, count_column_values: rows that pass all tests, counted in each run by itself
// (ColumnStore::count). match_column: their TIDs (ColumnStore::match); no blocks and no target then.
struct AskColumn {
    RequestHeader header;
    std::uint64_t tests;  // offset of ColumnTestPlaces
    std::uint32_t test_count;
    std::uint32_t target;  // TargetKind
    std::uint32_t column;
    std::uint32_t slots;
    std::uint64_t starts;  // offset, of slots - 1 values
    std::uint32_t scale;   // ValueScale
    std::uint32_t even;
    BlocksPlace blocks;
    std::uint64_t results;
    std::uint64_t capacity;
    std::uint32_t reserved;
    std::uint32_t runs;
    RunUse run[max_runs];
};

// For each run: where its counts lie (ColumnStore::places), how many rows were found,
// and where they lie: DoubtfulRows, or Tids for match_rows.
struct ColumnReply {
    ReplyHeader header;
    std::uint64_t needed;
    std::uint64_t rows;  // found in all runs
    std::uint64_t counts_at[max_runs];
    std::uint64_t found[max_runs];
    std::uint64_t found_at[max_runs];
};

// A program's input in one run (AggregateInput); maps lie in the buffer.
struct AggregateInputPlace {
    std::uint8_t kind;  // AggregateInputKind
    std::uint8_t column_null_is_null;
    std::uint16_t reserved;
    std::uint32_t column;
    std::uint64_t offset;
    std::uint64_t places;
    std::uint64_t values;  // offset, of maps
    std::uint64_t nulls;   // offset, of maps; nowhere: none is NULL
    std::int64_t of_column_null;
};

// Groups of the rows that pass all tests, of all runs together (Column::aggregate). At `program` lies an
// AggregateProgram, at `inputs` an AggregateInputPlace for each of its inputs in the first run, then those in
// the second, and so on.
struct AggregateColumn {
    RequestHeader header;
    std::uint64_t program;
    std::uint64_t inputs;
    std::uint64_t tests;  // offset of ColumnTestPlaces
    std::uint32_t test_count;
    std::uint32_t reserved;
    BlocksPlace blocks;
    std::uint64_t most_groups;  // doubtful rows among them
    std::uint64_t results;
    std::uint64_t capacity;
    std::uint32_t padding;
    std::uint32_t runs;
    RunUse run[max_runs];
};

// Where the records of groups and of doubtful rows lie (AggregateAnswer); none unless the outcome is
// answered.
struct AggregateReply {
    ReplyHeader header;
    std::uint64_t needed;
    std::uint64_t groups;
    std::uint64_t doubtful;
    std::uint64_t groups_at;
    std::uint64_t doubtful_at;
    std::uint32_t outcome;  // AggregateOutcome
    std::uint32_t reserved;
};

// What a session expects its request to take, in milliseconds, for the dispatcher. Where one isn't above 0 it
// isn't answered `elsewhere`.
struct ExpectedCost {
    double on_pages;  // in the session
    double alone;     // on the engine
    double further;   // on the engine, beside others of its kind in one call
};

// Ranks documents. Query i of run r is queries[r * count + i] (TextQuery), and the run's terms (TextTerm) are
// terms[first_term[r]] to terms[first_term[r + 1] - 1], which the query counts from 0. At `results` lie for
// each run counts[count] of 32 bits, at offsets_at, and hits (TextHit), at tids_at: those of query i begin
// behind as many as the run's queries before have k, together.
struct SearchText {
    RequestHeader header;
    std::uint64_t queries;  // offset
    std::uint64_t count;
    std::uint64_t terms;  // offset
    std::uint64_t results;
    std::uint64_t capacity;
    postings::Norms norms;
    ExpectedCost cost;
    std::uint32_t runs;
    std::uint32_t first_term[max_runs + 1];
    double shrink[max_runs];
    RunUse run[max_runs];
};

// Lists (TextList) of the runs: those of run r are lists[first[r]] to lists[first[r + 1] - 1].
struct ListsPlace {
    std::uint64_t lists;  // offset
    std::uint32_t first[max_runs + 1];
    std::uint32_t reserved;
};

// documents[i] of 32 bits, at `results`: the live documents of list i.
struct CountText {
    RequestHeader header;
    ListsPlace lists;
    std::uint64_t results;
    std::uint64_t capacity;
    std::uint32_t runs;
    std::uint32_t reserved;
    RunUse run[max_runs];
};

// One item: a run's entries that are in all of its lists.
struct IntersectText {
    RequestHeader header;
    ListsPlace lists;
    std::uint64_t results;
    std::uint64_t capacity;
    std::uint32_t runs;
    std::uint32_t reserved;
    RunUse run[max_runs];
};

// An array of the live entries of the runs, which only this connection knows: a HandleReply.
struct MergeKary {
    RequestHeader header;
    std::uint32_t key_bits;
    std::uint32_t runs;
    RunUse run[max_runs];
};

// The union of two sorted dictionaries of 64-bit integers and the maps to it (Dictionaries::merge): to
// `entries` as many of 64 bits as both have together, to the maps a code of 32 bits for each entry of theirs.
struct MergeColumnDictionaries {
    RequestHeader header;
    std::uint64_t main;
    std::uint64_t main_count;
    std::uint64_t delta;
    std::uint64_t delta_count;
    std::uint64_t entries;
    std::uint64_t main_map;
    std::uint64_t delta_map;
};

struct MergeColumnDictionariesReply {
    ReplyHeader header;
    std::uint64_t count;  // of the union
};

// `count` entries of the connection's own array from `first` on.
struct ReadKary {
    RequestHeader header;
    std::uint64_t handle;
    std::uint64_t first;
    std::uint64_t count;
    std::uint64_t keys_offset;
    std::uint64_t tids_offset;
};

// ---- what the server tells of itself ---------------------------------------------------------------------

// As many rows as fit go to the buffer at `offset`; `rows` in the reply says how many there are. Without room
// for one (capacity 0) no buffer is needed.
struct List {  // mirrors, statistics, devices
    RequestHeader header;
    std::uint64_t offset;
    std::uint64_t capacity;
    std::uint32_t reset;  // statistics: begin anew afterwards
    std::uint32_t reserved;
};

struct ListReply {
    ReplyHeader header;
    std::uint64_t rows;
    std::uint64_t memory_used[engine_count];
    std::uint64_t memory_limit[engine_count];
    std::uint64_t transfer_used;
    std::uint64_t transfer_limit;
    std::uint32_t connections;
    std::uint32_t queued;
};

enum class RunKind : std::uint32_t { kary = 0, grid = 1, column = 2, text = 3 };

struct MirrorRow {
    RunName name;
    std::uint64_t entries;
    std::uint64_t bytes;
    std::uint64_t hits;
    std::int64_t loaded_at;  // microseconds since 1970
    std::int64_t last_used;
    std::uint32_t engine;
    std::uint32_t pinned;
    std::int32_t device;  // -1: none
    std::uint32_t user;
    std::uint32_t kind;  // RunKind
    std::uint32_t reserved;
};

// Sums of one kind of request on one engine, since the server's start or the last reset.
struct StatisticsRow {
    std::uint32_t engine;
    std::uint32_t type;  // Message
    std::uint32_t user;
    std::uint32_t reserved;
    std::uint64_t requests;
    std::uint64_t items;
    std::uint64_t bytes;
    std::uint64_t microseconds;
    std::uint64_t failures;
};

// A device that the server computes on.
struct DeviceRow {
    DeviceInfo info;
    std::uint32_t engine;
    std::uint32_t reserved;
};

// ---- tests -----------------------------------------------------------------------------------------------

// After `refuse_after` more the engine's next request for memory is refused, once. Refused itself
// (invalid_argument) unless the server was started for tests.
struct Inject {
    RequestHeader header;
    std::int64_t refuse_after;
};

// ---- what hello compares ---------------------------------------------------------------------------------

template <typename... Messages>
constexpr std::uint64_t layout_of() noexcept {
    std::uint64_t layout = version;
    // FNV-1a, a step a structure.
    ((layout = (layout ^ (sizeof(Messages) * 16 + alignof(Messages))) * 0x100000001b3ULL), ...);
    return layout;
}
inline constexpr std::uint64_t message_layout =
    layout_of<RequestHeader, ReplyHeader, Hello, HelloReply, Configure, Attach, RunUse, PageLayout, BeginKary,
              BeginReply, AppendPages, AppendKary, HandleRequest, HandleReply, NameKary, SetDead, Evict,
              EvictReply, LookupKary, RangeKary, CountKary, ResultReply, MergeKary, ReadKary, List, ListReply,
              MirrorRow, StatisticsRow, DeviceRow, BeginGrid, SearchGrid, CountGrid, MatchGrid, BeginColumn,
              ColumnTestPlace, AskColumn, ColumnReply, BeginText, SearchText, TextQuery, TextTerm, TextHit,
              BlocksPlace, CountText, IntersectText, MergeColumnDictionaries, MergeColumnDictionariesReply,
              AggregateInputPlace, AggregateColumn, AggregateReply, AggregateProgram>();

}  // namespace gpu_engine::protocol
