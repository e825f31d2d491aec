// The session's way to the server process: which path a request takes, the requests, and the mirrors of runs
// that they need. Nothing here knows about an access method's keys.
//
// A request answers true, with its results in place, or false: then the paged path answers, and gpu.stat
// tells why. It raises nothing but the user's own cancel (and corruption of the index, met while loading a
// run). Results lie in the transfer buffer; they are good until the next request of this session, whosever,
// or until a (sub)transaction aborts: use them up before other code runs.
#pragma once

#include <array>

#include "cost/record.h"
#include "gpu_engine/column.h"
#include "gpu_engine/text.h"
#include "settings.h"
#include "storage/storage.h"

namespace pg_gpu::client {

enum class Path : int { Paged, Host, Cuda };
inline constexpr int kPaths = kRecordedPaths;
const char *path_name(Path path);

enum class RequestKind : int {
    LookupKary,
    RangeKary,
    CountKary,
    SortKary,
    MergeKary,
    CountGrid,
    SearchGrid,
    MatchGrid,
    CountColumn,
    CountColumnValues,
    MatchColumn,
    SearchText,
    CountText,
    IntersectText,
    MergeColumnDictionaries,
    AggregateColumn,
};
inline constexpr int kRequestKinds = 16;
const char *request_name(RequestKind kind);

// ---- choosing (../cost) ----------------------------------------------------------------------------------

// A request as the cost model sees it.
struct Request {
    RequestKind kind;
    int key_bits;    // 32, 64, 128, as the server has them; of a point all columns together
    int runs;        // it reads
    uint64 items;    // keys, ranges or boxes asked for; entries to sort or merge
    uint64 entries;  // of the runs together; not of sorting and merging
    uint64 results;  // entries expected to match, of all items together; when counting those that the paged
                     // path must look at one by one, for which ranks or a directory don't do; of columns rows
                     // expected to come back
    int columns;     // of columns: those whose codes are read
    // Of inverted lists, summed up over queries and runs; `items` are queries then, and `entries` postings of
    // lists of which one is enough.
    uint64 lists = 0;
    uint64 shortest = 0;        // postings of the shortest list, where a query asks for all
    uint64 second = 0;          // and of the second shortest
    uint64 windows = 0;         // of documents that each list is looked through for, where one is enough
    Oid index = InvalidOid;     // that is asked
    uint64 server_results = 0;  // when counting boxes, what the server must look at, where that is more
    // What the index's requests took counts in the choice of a path, those of the same shape before others;
    // else estimates do alone.
    bool learns = false;
    uint32 shape = 0;
};

// What the cost model estimates a request to inverted lists from, by ListFeature.
using ListFeatures = std::array<double, kListFeatures>;
ListFeatures list_features(const Request &request);

// A request on the path that was chosen for it.
struct Attempt {
    Oid index = InvalidOid;  // invalid: nothing is learned from it
    RequestKind kind = RequestKind::LookupKary;
    uint32 shape = 0;
    Path path = Path::Paged;
    PathEstimates estimates = {};
    instr_time began = {};
    double left_out_before = 0;  // of the session's microseconds (leave_out)
};

struct Choice {
    Path path;
    // Microseconds it is expected to save over the paged path; mirrors are loaded when it pays.
    double saving;
    Attempt attempt = {};
    Oid index = InvalidOid;  // that the request is about
};

// Where to send it, by pg_gpu.path, cost, what such requests took lately, and what is there. Connects to the
// server when another path than Paged is worth it, and waits at most pg_gpu.request_timeout, once. A forced
// path that isn't there gives Paged and one NOTICE a session.
Choice choose_path(const Request &request);

// What a request took for which choose_path chose among paths, so that later choices know it. One of them is
// to be called once the request is answered, whoever answered in the end, on all paths at the same point.
// note_request_done: the last one that a path was chosen for, if it asked this index; it took until now.
// note_taken: an attempt whose time the caller has measured.
void note_request_done(Relation index, RequestKind kind);
void note_taken(const Attempt &attempt, double microseconds);
// Microseconds that were spent since the last path was chosen and say nothing about it.
void leave_out(double microseconds);

inline double microseconds_since(const instr_time &began) {
    instr_time taken;
    INSTR_TIME_SET_CURRENT(taken);
    INSTR_TIME_SUBTRACT(taken, began);
    return static_cast<double>(INSTR_TIME_GET_MICROSEC(taken));
}

// What the cost model expects the request to take on a path, in microseconds, with mirrors in place.
double estimate_microseconds(const Request &request, Path path);

// Does pg_gpu.path name the server?
bool is_path_forced();

// May the server be asked about so many items, where fewer than `fewest` aren't worth a request?
bool may_ask_server(uint64 items, uint64 fewest);

// The server can't be asked this, and gpu.stat is to tell why.
void decline(RequestKind kind, const Choice &choice, const char *reason);

// Is there a server process with this path's engine? Waits for one that is being started, as requests on a
// forced path do.
bool is_available(Path path);

// A request that only the paged path can answer: gpu.stat tells why, where another one is forced.
void note_unsuited(RequestKind kind, Oid index, const char *reason);

// Counts a request that the paged path answered, for gpu.stat: begin_paged before the work, end_paged after
// it, or count_paged where its time is made of parts.
struct PagedRequest {
    RequestKind kind;
    uint64 items;
    instr_time began;
    double processor_began;  // microseconds of processor time; below 0 where waits aren't measured
};
PagedRequest begin_paged(RequestKind kind, uint64 items);
void end_paged(const PagedRequest &request);
void count_paged(RequestKind kind, uint64 items, const instr_time &taken);

// ---- requests (../kary, ../grid) -------------------------------------------------------------------------

// How an access method's runs are mirrored: as kary_mirror and the others have it, with what differs from
// index to index in a struct of each kind's own, below.
struct MirrorKind;
struct MirrorFormat {
    const MirrorKind *kind;
    int key_bits;  // on the server, and of keys in requests: 32, 64, 128; of points all columns together
    uint64 (*mirrored_entries)(const storage::RunEntry &run);
};

// The first `mirrored_entries` entries of storage::kEntrySection, whose pages hold `per_page` keys from the
// content's first byte on, then as many TIDs (the last page: the rest of both), ordered by (key, TID).
extern const MirrorKind kary_mirror;
struct KaryMirror : MirrorFormat {
    uint32 key_bytes;  // on pages: 4, 8, 12 (the low 8, then the high 4), 16
    uint32 per_page;
};

// Points on pages that tell themselves how many they hold (src/grid/page.h), one array of keys a column.
extern const MirrorKind grid_mirror;
inline constexpr int kMaxGridColumns = 8;
struct GridMirror : MirrorFormat {
    uint32 columns;
    uint8 key_bytes[kMaxGridColumns];  // 4 or 8
    uint8 null_bit[kMaxGridColumns];   // of the masks on pages
    uint32 bucket;                     // points a cell of the server's grid, on average
    uint32 unsplit;                    // lower halves of keys of 128 bits, a bit each
    bool distinct;                     // cells are shared out among columns by their distinct keys
};

// Columns of rows (src/column/format/format.h): all pages of the first two sections.
extern const MirrorKind column_mirror;
struct ColumnMirror : MirrorFormat {
    // Where a run's columns lie. False when a page was recycled.
    bool (*describe)(Relation index, const storage::RunEntry &run, gpu_engine::StoreLayout *layout);
    // Bytes of the stream, which fills its pages without gaps.
    uint64 (*stream_bytes)(const storage::RunEntry &run);
};

// Inverted lists, with documents in storage::kEntrySection: all pages of both sections.
extern const MirrorKind text_mirror;
struct TextMirror : MirrorFormat {
    int posting_section;
    // What the run's own pages tell of it; false when one was recycled.
    bool (*read_shape)(Relation index, const storage::RunEntry &run, gpu_engine::TextShape *shape);
};

// Is the run large enough for a mirror? Young runs are small, and are merged away before a mirror of them
// pays: the session reads them from pages while the server process answers for the others. What is asked
// nevertheless is loaded as any run is.
bool is_worth_mirroring(const MirrorFormat &format, const storage::RunEntry &run);

// How many microseconds the part of a request that is about one run takes on pages beyond what the path takes
// for it beside other runs. Below zero: so many less.
double saved_by_server(const Request &of_run, Path path);

// A request that only pages can answer, because all runs with entries are that small.
inline constexpr char kAllRunsAreSmall[] = "all runs have fewer entries than pg_gpu.min_mirror_entries";

// Runs of an index, of a view with this vacuum_seq: all, or those that are worth a request. Those without
// mirrored entries are taken for empty.
struct RunSet {
    Relation index;
    const storage::RunKind *kind;
    const MirrorFormat *format;
    const storage::RunEntry *runs;
    int count;
    uint64 vacuum_seq;
    // What the request takes less, in microseconds, where run i is asked and not read from pages; nullptr:
    // its part by entries of what the choice of the path saves. A batch says so of small runs: these are
    // asked, and loaded for it, where that pays at once.
    const double *saves = nullptr;
};

// More runs than this in one request are for the paged path.
inline constexpr int kMaxRuns = 64;

// Divides a view's runs, once a path is chosen: at_home[i] says that the session reads run i from pages
// beside the request to the others. These are runs that aren't worth mirroring, and runs that are known not
// to be resident, until loading them pays. False, counted as a failed request of this kind: most entries are
// not resident, and pages are to answer for all.
bool share_out(const RunSet &set, const Choice &choice, RequestKind kind, bool *at_home);

// Was the last request refused because of runs that turned out not to be resident, or to be merged away? In a
// new view, shared out again, it may do better. True once a failure.
bool may_share_out_again();

// Of one run: live entries of item i are tids[offsets[i]] to tids[offsets[i + 1] - 1]. What lies in the
// buffer, offsets too, is the server process's word, which may change: `entries`, all items' number, is
// looked at and kept.
struct RunAnswer {
    uint64 entries;
    const uint64 *offsets;
    const ItemPointerData *tids;
    const void *keys;  // beside the TIDs, where asked for
};

struct EntriesAnswer {
    uint64 items;  // the first so many are answered; ask again for the others
    RunAnswer runs[kMaxRuns];
};

// Live entries with one of the keys, which are best sorted. Runs that aren't mirrored are loaded first when
// pg_gpu.mirror has it so and it pays; dead bitmaps as new as the set's vacuum_seq.
bool lookup_kary(const RunSet &set, const Choice &choice, const void *keys, uint64 key_count,
                 EntriesAnswer *answer);

// The same without offsets, for many distinct keys: these take eight bytes for each key and run, where most
// runs have no entry of most keys.
enum class Matched { Numbered, Tids, Number };
struct MatchedEntries {
    uint64 count;
    const ItemPointerData
        *tids;            // in the order of the keys; unless it is their number alone that is asked for
    const uint32 *items;  // which key each has, where that is asked for. The server process's word
};
struct MatchesAnswer {
    uint64 items;  // the first so many are answered; ask again for the others
    uint64 count;  // of all runs
    MatchedEntries runs[kMaxRuns];
};
bool match_kary(const RunSet &set, const Choice &choice, const void *keys, uint64 key_count, Matched form,
                MatchesAnswer *answer);

// Live entries from low[i] to high[i], both included; with their keys when asked for.
bool range_kary(const RunSet &set, const Choice &choice, const void *low, const void *high,
                uint64 range_count, bool with_keys, EntriesAnswer *answer);

// What the session knows of heap blocks. Read it after the set's view, and compare vacuum_seq again after the
// request (rule "Trust").
struct VisibleBlocks {
    gpu_engine::KnownBlocks known;
    bool all;  // every block is all-visible, and `known` isn't needed
};

struct CountAnswer {
    uint64 items;              // the first so many are answered; ask again for the others
    const uint64 *counts;      // of live entries known to be visible, of all runs together
    bool hidden;               // is there anything unknown? Then
    RunAnswer runs[kMaxRuns];  // has those on unknown blocks: the heap must decide about each
};

bool count_kary(const RunSet &set, const Choice &choice, const void *low, const void *high,
                uint64 range_count, const VisibleBlocks &visible, CountAnswer *answer);

// Boxes of points, all bounds included; arrays of keys by column, and of a byte a box.
struct Boxes {
    const void *low[kMaxGridColumns];  // nullptr, as `high` then: no box bounds the column
    const void *high[kMaxGridColumns];
    const uint8 *open;  // bit c of open[i]: box i takes all of column c, NULL too; may be nullptr
    const uint8 *null;  // bit c of null[i]: it takes NULL only, unless it is open; may be nullptr
    uint64 count;
};

// Live entries in the boxes from number `first` on: counted, or their TIDs in no certain order.
bool count_grid(const RunSet &set, const Choice &choice, const Boxes &boxes, uint64 first,
                const VisibleBlocks &visible, CountAnswer *answer);
bool search_grid(const RunSet &set, const Choice &choice, const Boxes &boxes, uint64 first,
                 EntriesAnswer *answer);

// Live entries that are one of the points from number `first` on; points are arrays of keys by column.
bool match_grid(const RunSet &set, const Choice &choice, const void *const *keys, uint64 count, uint64 first,
                EntriesAnswer *answer);

// ---- columns (../column) --------------------------------------------------------------------------------

// A test of rows; of one run of the set, or of all (kAllRuns).
inline constexpr int kAllRuns = -1;
struct RowTest {
    gpu_engine::ColumnTest test;
    int run;
};

struct RowTests {
    const RowTest *tests;
    int count;
};

// Of one run: counts as the target has them (gpu_engine::ColumnStore::places), and the rows on
// unknown blocks. All is empty for a run that isn't mirrored.
struct ColumnCounts {
    const uint64 *counts;
    const gpu_engine::DoubtfulRow *doubtful;
    uint64 found;
};

struct ColumnsAnswer {
    ColumnCounts runs[kMaxRuns];
};

// Live rows that pass all tests, counted in each run: CountRows for a target of rows, else CountValues.
// `places[i]` are those of run i's counts.
bool count_column(const RunSet &set, const Choice &choice, const RowTests &tests,
                  const gpu_engine::ColumnTarget &target, const uint64 *places, const VisibleBlocks &visible,
                  ColumnsAnswer *answer);

struct RowsAnswer {
    const ItemPointerData *tids[kMaxRuns];
    uint64 found[kMaxRuns];
};

// Their TIDs, in no certain order.
bool match_column(const RunSet &set, const Choice &choice, const RowTests &tests, RowsAnswer *answer);

// ---- groups of rows (../column)
// -----------------------------------------------------------------------------

// What is computed of the live rows that pass all tests (gpu_engine/aggregate.h).
struct GroupsQuestion {
    const gpu_engine::AggregateProgram *program;
    const gpu_engine::AggregateInput *const *inputs;  // by run of the set; of runs that aren't empty
    uint64 max_groups;                                // rows on unknown blocks among them
    gpu_engine::AggregateTop top;
    Request request;  // as it was chosen by
};

// Records lie one behind the other, each of `words`: a group's key and its accumulators. Those of doubtful
// rows, which lie on unknown blocks, have the row's TID (heap block << 16 | offset number) in one more. They
// are the caller's, in the current memory context. Without an answer, of which the outcome is the reason,
// there are none.
struct GroupsAnswer {
    gpu_engine::AggregateOutcome outcome;
    uint32 words;
    uint64 groups;
    uint64 doubtful;
    uint64 counted;  // groups, where only their number was asked for and no row is doubtful
    uint64 *group_records;
    uint64 *doubtful_records;
};

bool aggregate_column(const RunSet &set, const Choice &choice, const RowTests &tests,
                      const GroupsQuestion &question, const VisibleBlocks &visible, GroupsAnswer *answer);

// The union of two sorted dictionaries without duplicates: *count entries, and for each entry of theirs its
// place among them. Results lie in the transfer buffer, and have been looked through.
bool merge_column_dictionaries(const Choice &choice, const uint64 *main, uint64 main_count,
                               const uint64 *delta, uint64 delta_count, const uint64 **entries, uint64 *count,
                               const uint32 **main_map, const uint32 **delta_map);

// ---- inverted lists (../text) ---------------------------------------------------------------------------

// Sets of runs with documents only.

struct TextSearch {
    const gpu_engine::TextQuery *queries;  // query i of run r is queries[r * count + i]
    uint64 count;
    // Those of run r are terms[first_term[r]] and the following, which its queries, in order, count from 0.
    const gpu_engine::TextTerm *terms;
    const uint32 *first_term;
    // Those of all queries, in order. A query has the same ones in all runs.
    const gpu_engine::TextStep *steps;
    uint32 step_count;
    gpu_engine::postings::Norms norms;
    const double *shrink;  // by run
    Request request;       // as it was chosen by
};

// Of query i, counted from the first one that was asked: counts[i] hits of each run, which begin behind as
// many as the queries before have k, together.
struct TextHits {
    uint64 queries;  // so many are answered; ask again for the others
    const uint32 *counts[kMaxRuns];
    const gpu_engine::TextHit *hits[kMaxRuns];
};

// The best live documents for queries from number `first` on, by score, then by TID.
bool search_text(const RunSet &set, const Choice &choice, const TextSearch &search, uint64 first,
                 TextHits *hits);

// Lists of run r are lists[first[r]] to lists[first[r + 1] - 1].
struct TextLists {
    const gpu_engine::TextList *lists;
    const uint32 *first;
    Request request;
};

// *documents: of each list, how many live documents it has.
bool count_text(const RunSet &set, const Choice &choice, const TextLists &lists, const uint32 **documents);

// Live documents that are in all of a run's lists: one item.
bool intersect_text(const RunSet &set, const Choice &choice, const TextLists &lists, EntriesAnswer *answer);

// ---- sorting and merging (../kary)
// --------------------------------------------------------------------

// Entries on the server, ordered by (key, TID), that only this session knows. Lost when the connection is,
// and with the end of the transaction; reading it then answers false, and the caller must do without it.
struct ServerArray {
    uint64 connection;
    uint64 handle;  // 0: none
    uint64 entries;
    RequestKind kind;  // what made it, which its reading is part of
    Path path;
    Oid index;  // whose entries they are
    int key_bits;
};

// Sorts entries: begin_sort, append_to_sort as often as needed, finish_sort.
bool begin_sort(const Choice &choice, int key_bits, uint64 entries, ServerArray *array);
bool append_to_sort(ServerArray *array, const void *keys, const ItemPointerData *tids, uint64 count);
bool finish_sort(ServerArray *array);

// The live entries of the runs (their mirrored part).
bool merge_kary(const RunSet &set, const Choice &choice, ServerArray *array);

// Entries from `first` on: *count of them, at least one, at most `most`.
bool read_kary(const ServerArray &array, uint64 first, uint64 most, const void **keys,
               const ItemPointerData **tids, uint64 *count);

// The array becomes the mirror of a run that was written from it, entry by entry. Once the run is listed.
void name_kary(ServerArray *array, Relation index, const storage::RunEntry &run);
// Gives the array back. Does nothing to one that is lost.
void drop_kary(ServerArray *array);

// ---- mirrors (../residency) ------------------------------------------------------------------------------

// gpu.load shows in pg_stat_progress_create_index, there being no view of our own to show in; the access
// method names this subphase.
inline constexpr int64 kLoadSubphase = 100;

// Makes all runs of an index resident, for gpu.load: on the device where there is one, or as pg_gpu.path
// says. The bytes of server memory that took. ERROR when it can't be done.
uint64 load_index(Relation index, const storage::RunKind *kind, const MirrorFormat *format, bool pinned);

// Drops an index's mirrors; the bytes that were. ERROR when no server answers.
uint64 evict_index(Relation index);

// Tells the server, if this session is connected, that a run is no more.
void forget_run(Relation index, const storage::RunEntry &run);

// RunKind::merged where the server loads the output when it is asked for: forgets large inputs. Mirrors of
// small ones leave as least recently used.
void forget_inputs(Relation index, const storage::RunEntry *inputs, int count,
                   const storage::RunEntry &output);

// ---- set-up ----------------------------------------------------------------------------------------------

// From _PG_init: callbacks, and when preloading the supervisor.
void register_client();

}  // namespace pg_gpu::client
