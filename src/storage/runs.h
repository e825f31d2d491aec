// Storage shared by all access methods: metapage, tail, runs, dead bitmaps, sealing, merging, vacuum.
// The rules it keeps, with the races they answer, are in README.md beside this file.
#pragma once

#include "memory.h"
#include "storage/format.h"
#include "storage/cached_runs.h"
#include "storage/nearby_buffer.h"

namespace pg_gpu::storage {

struct RunWriter;

// The section in which an access method keeps its entries with their TIDs, page by page in ordinal order.
inline constexpr int kEntrySection = 1;

// The most TIDs one page can hold as they are.
inline constexpr uint32 kMaxTidsPerPage = kContentBytes / sizeof(ItemPointerData);
// The most that RunKind::read_tids may give: compressed TIDs take less.
inline constexpr uint32 kMaxTidsRead = 32768;

// How an index was built, as far as its access method must know that later.
struct BuiltWith {
    uint32 names;    // a hash of them
    uint64 numbers;  // packed as the access method likes
};

// An access method's runs, as far as storage must know them. Nothing here knows about keys.
struct RunKind {
    uint32 id;  // recorded in the metapage
    const char *name;
    uint32 tail_tuple_bytes;  // size of every tail tuple, head included; 0 when they vary
    uint32 tail_tuple_extra;  // not 0: a tail tuple can also be so many bytes longer
    uint32 merge_weight;      // what merging an entry takes, in units of 75 ns
    uint32 tail_capacity;  // bytes of tuples a tail holds; their sealed form and its dead bitmap must fit one
                           // page

    // Writes `count` tail tuples as a one-page run: fills the page's content and its length, and the entry's
    // access_method_data. Runs under buffer locks: no I/O, no locks, no errors.
    void (*seal)(const RunKind *kind, const char *tail_tuples, uint32 bytes, uint32 count, Page page,
                 RunEntry *entry);

    // The most pages the runs can need once merged, without the dead bitmap.
    uint32 (*merge_page_bound)(Relation index, const RunKind *kind, const RunEntry *inputs, int count);

    // Merges the live entries of the inputs into the writer and sets the new entry's sections,
    // access_method_data and `entries`.
    void (*merge)(Relation index, const RunEntry *inputs, int count, RunWriter *writer, RunEntry *entry);

    // The output of a merge is listed, its inputs no longer are.
    void (*merged)(Relation index, const RunEntry *inputs, int count, const RunEntry &output);

    // Do sections and access_method_data of a directory entry fit its number of entries?
    bool (*is_valid)(const RunKind *kind, const RunEntry &run);

    // TIDs of the entries on page `position` of the entry section, at most kMaxTidsRead; returns how many.
    uint32 (*read_tids)(Relation index, const RunEntry &run, uint32 position, Page page,
                        ItemPointerData *tids);

    // nullptr where the access method needs to know nothing later.
    BuiltWith (*built_with)(Relation index);
};

// ---- errors -----------------------------------------------------------------------------------------------

// ERROR, ERRCODE_INDEX_CORRUPTED, with a HINT to REINDEX.
[[noreturn]] void report_corruption(Relation index, BlockNumber block, const char *detail);

// The same about a page that doesn't carry its run's stamp, where nobody else can have recycled it: only who
// holds the run's lock may.
[[noreturn]] void report_foreign_page(Relation index, const RunEntry &run, uint32 position);

// ---- metapage ---------------------------------------------------------------------------------------------

// Reads and locks the metapage; checks magic, version, access method and the directory's bounds.
Buffer lock_metapage(Relation index, const RunKind *kind, int lock_mode);

// Returns in words what is wrong with a metapage; nullptr when nothing is.
const char *find_metapage_problem(Relation index, const RunKind *kind, Page page);

// Writes metapage and tail of an empty index into an image each (ambuild, ambuildempty).
void initialise_metapage(Page page, const RunKind *kind, Relation index);
void initialise_tail(Page page);

// Returns what RunKind::built_with said when the index was built.
BuiltWith read_built_with(Relation index, const RunKind *kind);

uint64 read_vacuum_seq(Relation index, const RunKind *kind);

// The same checks for writers of the tail, who leave the metapage alone: once, and again after each change
// that the relation cache is told of.
void check_metapage_once(Relation index, const RunKind *kind);

// Copies the whole run directory while the metapage is locked. The result is palloc'd; *count its length.
RunEntry *copy_directory(Relation index, const RunKind *kind, Page meta, int *count);

// The same, taking every entry as it is. When the chained part is damaged, *problem says how and *damaged
// where, and the result is what comes before it; else *problem is nullptr.
RunEntry *try_copy_directory(Relation index, Page meta, int *count, const char **problem,
                             BlockNumber *damaged);

// ERROR when a directory entry cannot be true: readers rely on what it says without further checks.
void check_run_entry(Relation index, const RunKind *kind, const RunEntry &run);

// The same as an answer, for gpu.verify.
bool is_run_entry_valid(const RunKind *kind, const RunEntry &run);

struct Summary {
    int runs;
    uint64 entries;
    uint64 dead;
    uint64 pages;
};

// Totals of the run list, for cost estimates.
Summary summarise(Relation index, const RunKind *kind);

// Replaces the run directory under the exclusively locked metapage in one WAL record, after writing chained
// pages where the list does not fit the metapage. Also ends the owner's reservation. The metapage stays
// locked. Does nothing, and says how long the file must be first, when such pages lie behind its end;
// otherwise returns 0.
BlockNumber replace_directory(Relation index, Buffer meta_buffer, const RunEntry *runs, int count,
                              ReservationOwner owner);

// Changes entries of the run list where they are, under the exclusively locked metapage: `keep` may change an
// entry, but for its pages, and takes it off the list by returning false. That needs no room. Each page of
// the list is changed by a record of its own, the metapage last; `ends_vacuum` bumps vacuum_seq in that one.
using RunEditor = bool (*)(RunEntry *run, void *context);
void edit_directory(Relation index, Buffer meta_buffer, RunEditor keep, void *context, bool ends_vacuum);

// Everything that is not free: metapage, tail, runs, directory pages, reservations. palloc'd. A
// reservation that reaches beyond the end of the file is left out: a crash took the end of the file and its
// owner, or it is damaged. Of a run the part in the file counts.
Extent *used_extents(Relation index, Page meta, int *count);

// Before the file is made longer: reports a run that is said to lie beyond its end. A listed run was written
// before, so that its entry is damaged; and as used_extents counts of it what lies in the file, each new
// block would be taken for the run's, and the file would grow until the disk is full.
void check_runs_in_file(Relation index, Page meta);

// Chooses room for new pages (extent_map.h); ERROR when the file cannot have so many blocks.
int place_pages(Relation index, Extent *used, int used_count, uint32 pages, int max_pieces, Extent *chosen);

// A pinned, exclusively locked buffer for a block nobody uses, extending the file if needed.
Buffer acquire_page(Relation index, BlockNumber block);

// When one block is needed, at most this many more are made in advance.
inline constexpr BlockNumber kMaxInAdvance = 15;

// Makes the file so many blocks long, in portions. Nobody holds metapage or tail meanwhile: others may be at
// it, and the operating system may make whoever writes wait.
void extend_file(Relation index, BlockNumber blocks);

// ---- locks ------------------------------------------------------------------------------------------------

// The rules "Locks" and "Who waits" say in which order locks are taken, and who may wait for one.

enum class RunLock : uint16 { OldRuns = 1, RecentRuns = 2 };

// Heavyweight locks on the index's run list; false only when conditional and not to be had.
bool lock_runs(Relation index, RunLock which, LOCKMODE mode, bool conditional);
void unlock_runs(Relation index, RunLock which, LOCKMODE mode);
// Looks again and again whether the lock is free: in its queue lock_timeout would end an INSERT, and
// PostgreSQL cancel an autovacuum that has it.
void lock_runs_patiently(Relation index, RunLock which, LOCKMODE mode);

// How long to wait for others: not at all, or as long as lock_timeout says, or as long as it takes.
enum class Timeout { None, LockTimeout, Endless };

// Takes the old-runs lock and makes every run of this moment old: until the lock is given back only its
// holder may change them. Returns the horizon. With Timeout::None, false when the lock is not free.
// With `metapage`, the metapage is handed back still exclusively locked.
bool claim_old_runs(Relation index, const RunKind *kind, Timeout timeout, uint64 *horizon,
                    Buffer *metapage = nullptr);

// ---- views ------------------------------------------------------------------------------------------------

// The rule "Start of a read" says how a view is taken.

struct View {
    uint64 vacuum_seq;
    uint64 directory_version;
    RunEntry *runs;  // the smallest and youngest first, which merges take away first
    int run_count;
    int run_capacity;
    CachedRuns *cached;  // the reader's, who sets it; nullptr for one that does without after a recycled page
};

// Sees the tail's tuples, none of an empty one, while the tail is share-locked: copy what is needed, nothing
// slow.
using TailVisitor = void (*)(const char *tail_tuples, uint32 bytes, void *context);

// Run list, tail and vacuum_seq of one instant. The view's array is palloc'd in the current memory context
// and reused by later calls with the same view.
void take_view(Relation index, const RunKind *kind, Snapshot snapshot, View *view, TailVisitor visit,
               void *context);

// Raises "snapshot too old" where an index changed since the snapshot was taken and rows that it sees may
// have been removed since (old_snapshot_threshold). For scans that read an older view on.
void check_snapshot_of_view(Relation index, const RunKind *kind, Snapshot snapshot);

// Is the page a tail of this kind whose length can be right? check_tail raises an ERROR when not.
bool is_tail_valid(const RunKind *kind, Page page);
void check_tail(Relation index, const RunKind *kind, Page page);

// Can a tail tuple of this kind have this size?
inline bool is_tail_tuple_size(const RunKind *kind, uint32 size) {
    return size >= sizeof(TailTuple) &&
           (kind->tail_tuple_bytes == 0 || size == kind->tail_tuple_bytes ||
            (kind->tail_tuple_extra != 0 && size == kind->tail_tuple_bytes + kind->tail_tuple_extra));
}

// Size of the tail tuple at byte `at` of `length`, checked.
uint32 checked_tail_tuple_size(Relation index, const RunKind *kind, const char *tail_tuples, uint32 at,
                               uint32 length);

// How many tuples there are, each checked.
uint32 count_tail_tuples(Relation index, const RunKind *kind, const char *tail_tuples, uint32 bytes);

// ---- run pages --------------------------------------------------------------------------------------------

// A page of a run while it is looked at: in shared buffers, or the reader's copy.
struct RunPage {
    Page page;      // nullptr: there is none, or it was recycled
    Buffer buffer;  // InvalidBuffer: a copy
    bool temporary;
};

// Pins and share-locks a page of a run, or finds the reader's copy; without a page when that belongs to
// something else now (rule "Recycled pages"). With `near` for those who read one page after the other.
RunPage read_run_page(Relation index, const RunEntry &run, uint32 position, BufferAccessStrategy strategy,
                      NearbyBuffer *nearby = nullptr);
void release_run_page(const RunPage &page);

// Serves those who keep a page pinned between two looks at it. Returns false when it was recycled meanwhile;
// it is unlocked then.
bool lock_run_page_again(const RunEntry &run, uint32 position, const RunPage &page);
void unlock_run_page(const RunPage &page);
// Gives back the pin of a page that isn't locked, if there is one.
void unpin_run_page(RunPage *page);

// After a mismatch: returns when the run list has changed since the view was taken, else reports corruption.
// The reader takes a new view then, which has copies of what is most easily taken away, and the more the more
// often this happens (cached_runs.h).
void confirm_recycled(Relation index, const RunKind *kind, const View &view, const RunEntry &run,
                      uint32 position);

// Reads dead bits [first, first + count) of a run into `bits` (bit i of the result is entry first + i, count
// up to 64 * words). false when a page was recycled.
bool read_dead_bits(Relation index, const RunEntry &run, uint64 first, uint32 count, uint64 *bits);

inline uint32 dead_bitmap_pages(uint64 entries) {
    return static_cast<uint32>((entries + kDeadBitsPerPage - 1) / kDeadBitsPerPage);
}

inline uint32 dead_bitmap_bytes(uint64 entries) {
    return static_cast<uint32>((entries + 63) / 64 * 8);
}

// ---- writing runs -----------------------------------------------------------------------------------------

struct Reservation;

// Writes a run's pages in order of position: through shared buffers into reserved extents (free_space.h), or
// (a build on a new, empty fork) straight to the file.
RunWriter *begin_run(Relation index, const RunKind *kind, const Reservation &reservation, RunEntry *entry);
Page next_run_page(RunWriter *writer);
uint32 pages_begun(const RunWriter *writer);
// Adds the dead bitmap for entry->entries entries, writes what is left, sets pages and trims the extents.
void finish_run(RunWriter *writer);

uint64 new_run_id();
uint16 level_of(const RunKind *kind, uint64 entries, int fanout);
int fanout_of(Relation index);

// For loops of a merge, once a page: interrupts, cost-based delay; and in the merge worker an ERROR
// (ERRCODE_LOCK_NOT_AVAILABLE, deferred by the caller) when somebody has waited long enough for a lock on
// table or index that the worker stands in the way of (rule "Giving way").
void pause_merge(Relation index);

// ---- inserting, merging, vacuum ---------------------------------------------------------------------------

// Raises an error when the index can't hold a row with this TID: like PostgreSQL's bitmaps, which are made
// of what indexes find, it has room for offset numbers of heap pages.
void require_usable_tid(Relation index, const ItemPointerData &tid);

// The state of a statement that inserts many rows. Zeroed: there are none yet.
struct InsertStream {
    uint32 seals;  // tails it has sealed
};

// Appends one tuple to the tail, sealing it and merging small runs as needed. With `stream`, a statement that
// fills one tail after the other merges more of them at once (rule "Tiers").
void insert_tail_tuple(Relation index, const RunKind *kind, const TailTuple *tail_tuple,
                       InsertStream *stream = nullptr);

// Appends tuples that lie one behind the other, whose TIDs have been looked at, as many by one record as the
// tail has room for. True if tails were sealed: then merges may be due, which are left to the caller.
bool append_tail_tuples(Relation index, const RunKind *kind, const char *tail_tuples, uint32 bytes);

// Adds a run of at most `pages` pages that `write` writes as RunKind::merge does. Waits for the recent-runs
// lock, which is held for long by gpu.verify alone. Merges that are due then are left to the caller.
void add_run(Relation index, const RunKind *kind, uint32 pages,
             void (*write)(RunWriter *writer, RunEntry *entry, void *context), void *context);
// The same for an entry that does not fit a tail, of so many pages without its dead bitmap. Merges.
void insert_run(Relation index, const RunKind *kind, uint32 pages,
                void (*write)(RunWriter *writer, RunEntry *entry, void *context), void *context);

struct MergeOutcome {
    int inputs;
    uint64 entries;
    uint64 bytes;
};

// Merges all runs into one (gpu.merge); waits for the old-runs lock.
MergeOutcome merge_all(Relation index, const RunKind *kind);

// ambulkdelete and the storage part of amvacuumcleanup.
IndexBulkDeleteResult *bulk_delete(IndexVacuumInfo *info, const RunKind *kind, IndexBulkDeleteResult *stats,
                                   IndexBulkDeleteCallback callback, void *callback_state);
IndexBulkDeleteResult *vacuum_cleanup(IndexVacuumInfo *info, const RunKind *kind,
                                      IndexBulkDeleteResult *stats);

// Writes metapage and tail of an unlogged index's init fork.
void build_empty(Relation index, const RunKind *kind);

// A build on a new, empty fork: reserves blocks 0 and 1, writes the run, then metapage and tail.
RunWriter *begin_build(Relation index, RunEntry *entry);
void finish_build(Relation index, const RunKind *kind, const RunEntry &entry);

// ---- verification -----------------------------------------------------------------------------------------

using ProblemReporter = void (*)(BlockNumber block, const ItemPointerData *tid, const char *problem,
                                 void *context);

// Checks metapage, directory, extents and the tail's tuple heads, each at one instant. False when they are
// too damaged to follow.
bool verify_structure(Relation index, const RunKind *kind, ProblemReporter report, void *context);

// Checks that every page of a run carries the run's stamp, and that its dead bitmap agrees with the
// directory. False when the run lies beyond the end of the file, where nobody can read it. A run that is
// merged meanwhile looks damaged: the caller looks afterwards whether it is still listed.
bool verify_run_pages(Relation index, const RunEntry &run, ProblemReporter report, void *context);

// The head of every access method's parsed reloptions.
struct StorageOptions {
    int32 varlena_header;
    int fanout;
};

// A kind of reloptions that has these; an access method adds its own.
relopt_kind add_storage_options();

// Registered in _PG_init: for access methods that have no others.
void register_storage_options();
bytea *storage_options(Datum options, bool validate);

}  // namespace pg_gpu::storage
