// Storage shared by all access methods: metapage, tail, runs, dead bitmaps, sealing, merging, vacuum.
// The rules it keeps, with the races they answer, are in README.md beside this file.
#pragma once

#include "memory.h"
#include "storage/format.h"
#include "storage/cached_runs.h"
#include "storage/nearby_buffer.h"

namespace pg_gpu::storage {

struct RunWriter;

// An access method keeps its entries with their TIDs in this section, page by page in ordinal order.
inline constexpr int kEntrySection = 1;

// One page holds at most so many uncompressed TIDs.
inline constexpr uint32 kMaxTidsPerPage = kContentBytes / sizeof(ItemPointerData);
// RunKind::read_tids gives at most so many TIDs of a page, which are more where TIDs are compressed.
inline constexpr uint32 kMaxTidsRead = 32768;

// BuiltWith records how an index was built, as far as its access method must know that later.
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
    uint32 merge_weight;      // cost of merging an entry, in units of 75 ns
    uint32 tail_capacity;  // bytes of tuples a tail holds; their sealed form and its dead bitmap must fit one
                           // page

    // Writes `count` tail tuples as a one-page run: fills the page's content and its length, and the entry's
    // access_method_data. The caller holds content locks of metapage, tail and the new page, so that it does
    // no I/O, takes no locks and raises no errors.
    void (*seal)(const RunKind *kind, const char *tail_tuples, uint32 bytes, uint32 count, Page page,
                 RunEntry *entry);

    // Returns the most pages that the inputs' entries can need once they are merged, without the dead bitmap.
    uint32 (*merge_page_bound)(Relation index, const RunKind *kind, const RunEntry *inputs, int count);

    // Merges the live entries of the inputs into the writer and sets the new entry's sections,
    // access_method_data and `entries`. The caller holds the lock of the inputs' part of the run list, and no
    // content locks. An ERROR is allowed: the caller gives the reserved pages back.
    void (*merge)(Relation index, const RunEntry *inputs, int count, RunWriter *writer, RunEntry *entry);

    // Is called when the inputs of a merge are no longer listed. No content locks are held.
    void (*merged)(Relation index, const RunEntry *inputs, int count);

    // Returns whether sections and access_method_data of a directory entry fit its number of entries. The
    // metapage is locked meanwhile, so that it reads no pages and takes no locks.
    bool (*is_valid)(const RunKind *kind, const RunEntry &run);

    // Writes the TIDs of the entries on page `position` of the entry section, at most kMaxTidsRead, to `tids`
    // and returns their number. The caller has the page pinned and locked, or a copy of it.
    uint32 (*read_tids)(Relation index, const RunEntry &run, uint32 position, Page page,
                        ItemPointerData *tids);

    // Returns what is to be recorded when an index is built; nullptr where the access method needs to know
    // nothing later.
    BuiltWith (*built_with)(Relation index);
};

// ---- errors -----------------------------------------------------------------------------------------------

// Raises ERRCODE_INDEX_CORRUPTED with a HINT to REINDEX. Content locks and pins that the caller has are given
// back by the abort.
[[noreturn]] void report_corruption(Relation index, BlockNumber block, const char *detail);

// Does the same about a page that doesn't carry its run's stamp, where nobody else can have recycled it. Only
// who holds the run's lock may call it: for all others such a page means that the run was merged.
[[noreturn]] void report_foreign_page(Relation index, const RunEntry &run, uint32 position);

// ---- metapage ---------------------------------------------------------------------------------------------

// Reads the metapage and returns it pinned and locked in `lock_mode`. Raises an error when its magic number,
// version, access method or the directory's bounds are wrong. The caller gives lock and pin back.
Buffer lock_metapage(Relation index, const RunKind *kind, int lock_mode);

// Returns in words what is wrong with a metapage; nullptr when nothing is.
const char *find_metapage_problem(Relation index, const RunKind *kind, Page page);

// Both write one page of an empty index into an image (ambuild, ambuildempty). They touch no buffers.
void initialise_metapage(Page page, const RunKind *kind, Relation index);
void initialise_tail(Page page);

// Returns what RunKind::built_with said when the index was built. The metapage is share-locked for that
// moment.
BuiltWith read_built_with(Relation index, const RunKind *kind);

uint64 read_vacuum_seq(Relation index, const RunKind *kind);

// Makes the checks of lock_metapage for writers of the tail, who otherwise leave the metapage alone. They are
// made once, and again after each change that the relation cache is told of.
void check_metapage_once(Relation index, const RunKind *kind);

// Copies the whole run directory, whose entries are checked. The caller has the metapage `meta` locked in any
// mode; chained pages are share-locked one at a time. The result is palloc'd in the current memory context,
// and *count is its length. Raises an error when the directory is damaged.
RunEntry *copy_directory(Relation index, const RunKind *kind, Page meta, int *count);

// Does the same with the metapage share-locked for that moment.
RunEntry *read_directory(Relation index, const RunKind *kind, int *count);

// Does the same as copy_directory without checking the entries and without an error. When the chained part is
// damaged, *problem says how and *damaged where, and the result is what comes before it; else *problem is
// nullptr.
RunEntry *try_copy_directory(Relation index, Page meta, int *count, const char **problem,
                             BlockNumber *damaged);

// Raises an error when a directory entry cannot be true: readers rely on what it says without further checks.
void check_run_entry(Relation index, const RunKind *kind, const RunEntry &run);

// Returns whether check_run_entry would accept the entry, for gpu.verify, which reports instead of raising.
bool is_run_entry_valid(const RunKind *kind, const RunEntry &run);

struct Summary {
    int runs;
    uint64 entries;
    uint64 dead;
    uint64 pages;
};

// Returns totals of the run list, for cost estimates. The metapage is share-locked for that moment.
Summary summarise(Relation index, const RunKind *kind);

// Replaces the run directory in one WAL record, after writing chained pages where the list does not fit the
// metapage, and ends the owner's reservation. The caller has the metapage exclusively locked, and keeps it
// so. When chained pages would lie behind the end of the file, nothing is done and the result is how long the
// file must be first (extend_file, without the metapage); otherwise the result is 0.
BlockNumber replace_directory(Relation index, Buffer meta_buffer, const RunEntry *runs, int count,
                              ReservationOwner owner);

// Changes entries of the run list where they are: `keep` may change an entry, but for its pages, and takes it
// off the list by returning false. That needs no room, so that a full disk can't prevent it. The caller has
// the metapage exclusively locked, and keeps it so. Each page of the list is changed by a record of its own,
// the metapage last; `ends_vacuum` bumps vacuum_seq in that one.
using RunEditor = bool (*)(RunEntry *run, void *context);
void edit_directory(Relation index, Buffer meta_buffer, RunEditor keep, void *context, bool ends_vacuum);

// Returns everything that is not free: metapage, tail, runs, directory pages, reservations. The caller has
// the metapage `meta` locked in any mode and the result is palloc'd. A reservation that reaches beyond the
// end of the file is left out: a crash took the end of the file and its owner, or it is damaged. Of a run the
// part in the file counts. Raises an error when the chained directory is damaged.
Extent *used_extents(Relation index, Page meta, int *count);

// Is called before the file is made longer, with the metapage locked: raises an error when a run is said to
// lie beyond the end. A listed run was written before, so that its entry is damaged; and as used_extents
// counts only what lies in the file, each new block would be taken for the run's, and the file would grow
// until the disk is full.
void check_runs_in_file(Relation index, Page meta);

// Chooses room for new pages (extent_map.h), and returns the number of extents written to `chosen`. The
// caller has the metapage exclusively locked, so that the room stays free until it is written down. Raises an
// error when the file cannot have so many blocks.
int place_pages(Relation index, Extent *used, int used_count, uint32 pages, int max_pieces, Extent *chosen);

// Returns a pinned, exclusively locked buffer, zeroed, for a block that nobody uses; the file is made longer
// if needed. The caller gives lock and pin back.
Buffer acquire_page(Relation index, BlockNumber block);

// Whoever needs one block makes at most this many more in advance.
inline constexpr BlockNumber kMaxInAdvance = 15;

// Makes the file so many blocks long, in portions. The caller holds neither metapage nor tail: the extension
// lock may have to be waited for, and so may the operating system where it throttles writers.
void extend_file(Relation index, BlockNumber blocks);

// ---- locks ------------------------------------------------------------------------------------------------

// The rules "Locks" and "Who waits" say in which order locks are taken, and who may wait for one.

enum class RunLock : uint16 { OldRuns = 1, RecentRuns = 2 };

// Takes or gives back a heavyweight lock on the index's run list, which the end of the transaction gives back
// in any case. lock_runs returns false only when `conditional` is set and the lock isn't free.
bool lock_runs(Relation index, RunLock which, LOCKMODE mode, bool conditional);
void unlock_runs(Relation index, RunLock which, LOCKMODE mode);
// Takes the lock by trying again and again until it is free. In the lock's queue lock_timeout would end an
// INSERT, and PostgreSQL would cancel an autovacuum that has the lock.
void lock_runs_patiently(Relation index, RunLock which, LOCKMODE mode);

// None: doesn't wait for others. LockTimeout: waits as long as lock_timeout says. Endless: waits as long as
// it takes.
enum class Timeout { None, LockTimeout, Endless };

// Takes the old-runs lock and makes every run of this moment old: until the lock is given back only its
// holder may change them. The recent-runs lock is taken and given back in between. Returns false, with
// neither lock, when `timeout` is None and one of them isn't free; else *horizon is the new horizon. With
// `metapage`, the metapage is handed back pinned and exclusively locked; else no content lock is held on
// return.
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

// Sees the tail's tuples, none of an empty one. The tail is share-locked and pinned meanwhile, so the visitor
// copies what it needs, and does nothing slow.
using TailVisitor = void (*)(const char *tail_tuples, uint32 bytes, void *context);

// Copies run list, tail and vacuum_seq of one instant. Pending rows of the session are written first. On
// return no content lock and no pin is held. The view's array is palloc'd in the current memory context and
// reused by later calls with the same view. Raises an error for damage, and "snapshot too old" (15 and 16).
void take_view(Relation index, const RunKind *kind, Snapshot snapshot, View *view, TailVisitor visit,
               void *context);

// Raises "snapshot too old" where an index changed since the snapshot was taken and rows that it sees may
// have been removed since (old_snapshot_threshold). For scans that read an older view on.
void check_snapshot_of_view(Relation index, const RunKind *kind, Snapshot snapshot);

// is_tail_valid returns whether the page is a tail of this kind whose length can be right; check_tail raises
// an error when not. The caller has the page locked, or an image of it.
bool is_tail_valid(const RunKind *kind, Page page);
void check_tail(Relation index, const RunKind *kind, Page page);

// Returns whether a tail tuple of this kind can have this size.
inline bool is_tail_tuple_size(const RunKind *kind, uint32 size) {
    return size >= sizeof(TailTuple) &&
           (kind->tail_tuple_bytes == 0 || size == kind->tail_tuple_bytes ||
            (kind->tail_tuple_extra != 0 && size == kind->tail_tuple_bytes + kind->tail_tuple_extra));
}

// Returns the size of the tail tuple at byte `at` of `length`; raises an error when it is impossible.
uint32 checked_tail_tuple_size(Relation index, const RunKind *kind, const char *tail_tuples, uint32 at,
                               uint32 length);

// Returns the number of tuples in these bytes; raises an error when the size of one of them is impossible.
uint32 count_tail_tuples(Relation index, const RunKind *kind, const char *tail_tuples, uint32 bytes);

// ---- run pages --------------------------------------------------------------------------------------------

// A page of a run while it is looked at lies in shared buffers, or is the reader's copy.
struct RunPage {
    Page page;      // nullptr: there is none, or it was recycled
    Buffer buffer;  // InvalidBuffer: a copy
    bool temporary;
};

// Pins and share-locks a page of a run, or finds the reader's copy. The caller gives it back by
// release_run_page. The result has no page, and no pin or lock, when the block belongs to something else now
// (rule "Recycled pages"). Readers of one page after the other pass `nearby`.
RunPage read_run_page(Relation index, const RunEntry &run, uint32 position, BufferAccessStrategy strategy,
                      NearbyBuffer *nearby = nullptr);
void release_run_page(const RunPage &page);

// Locks a page again that was kept pinned by unlock_run_page. Returns false when it was recycled meanwhile;
// then it is pinned still, and not locked.
bool lock_run_page_again(const RunEntry &run, uint32 position, const RunPage &page);
void unlock_run_page(const RunPage &page);
// Gives back the pin of a page that isn't locked, if there is one, or frees the copy.
void unpin_run_page(RunPage *page);

// Is called after a mismatch of a page's stamp, without content locks. Returns when the run list has changed
// since the view was taken, else reports corruption. The reader then takes a new view, which has copies of
// what is most easily taken away, and the more the more often this happens (cached_runs.h).
void confirm_recycled(Relation index, const RunKind *kind, const View &view, const RunEntry &run,
                      uint32 position);

// Reads dead bits [first, first + count) of a run into `bits`, whose bit i is that of entry first + i. They
// are written in whole words, the rest of the last one zero. Returns false when a page was recycled. No page
// stays pinned or locked.
bool read_dead_bits(Relation index, const RunEntry &run, uint64 first, uint32 count, uint64 *bits);

inline uint32 dead_bitmap_pages(uint64 entries) {
    return static_cast<uint32>((entries + kDeadBitsPerPage - 1) / kDeadBitsPerPage);
}

inline uint32 dead_bitmap_bytes(uint64 entries) {
    return static_cast<uint32>((entries + 63) / 64 * 8);
}

// ---- writing runs -----------------------------------------------------------------------------------------

struct Reservation;

// A RunWriter writes a run's pages in order of position: through shared buffers into reserved extents
// (free_space.h), or, in a build on a new, empty fork, straight to the file. The writer is palloc'd in the
// current memory context. next_run_page writes the page before out and returns an image that is valid until
// the next call.
RunWriter *begin_run(Relation index, const RunKind *kind, const Reservation &reservation, RunEntry *entry);
Page next_run_page(RunWriter *writer);
uint32 pages_begun(const RunWriter *writer);
// Adds the dead bitmap for entry->entries entries, writes what is left, sets the entry's pages and trims its
// extents. The writer isn't used any more.
void finish_run(RunWriter *writer);

uint64 new_run_id();
uint16 level_of(const RunKind *kind, uint64 entries, int fanout);
int fanout_of(Relation index);

// Is called by loops of a merge, once a page and without content locks. It checks for interrupts and makes
// VACUUM's cost-based delay. In the merge worker it raises ERRCODE_LOCK_NOT_AVAILABLE, which the caller
// defers, when somebody has waited long enough for a lock on table or index that the worker stands in the way
// of (rule "Giving way").
void pause_merge(Relation index);

// ---- inserting, merging, vacuum ---------------------------------------------------------------------------

// Raises an error when the index can't hold a row with this TID: it has room for the offset numbers that heap
// pages can have, like PostgreSQL's bitmaps, which are made of what indexes find.
void require_usable_tid(Relation index, const ItemPointerData &tid);

// The state of a statement that inserts many rows. A zeroed one stands for a statement that has inserted
// none.
struct InsertStream {
    uint32 seals;  // number of tails the statement has sealed
};

// Appends one tuple to the tail, sealing it and merging small runs as needed. The caller holds no content
// locks, and none are held on return. With `stream`, a statement that fills one tail after the other merges
// more of them at once (rule "Tiers").
void insert_tail_tuple(Relation index, const RunKind *kind, const TailTuple *tail_tuple,
                       InsertStream *stream = nullptr);

// Appends tuples that lie one behind the other and whose TIDs require_usable_tid has seen. One record appends
// as many as the tail has room for. Returns true if tails were sealed: then merges may be due, which are left
// to the caller.
bool append_tail_tuples(Relation index, const RunKind *kind, const char *tail_tuples, uint32 bytes);

// Adds a run of at most `pages` pages that `write` writes as RunKind::merge does. Waits for the recent-runs
// lock, which only gpu.verify holds for long. Merges that are due then are left to the caller.
void add_run(Relation index, const RunKind *kind, uint32 pages,
             void (*write)(RunWriter *writer, RunEntry *entry, void *context), void *context);
// Does the same for an entry that does not fit a tail, and merges what is due. `pages` doesn't count the dead
// bitmap.
void insert_run(Relation index, const RunKind *kind, uint32 pages,
                void (*write)(RunWriter *writer, RunEntry *entry, void *context), void *context);

struct MergeOutcome {
    int inputs;
    uint64 entries;
    uint64 bytes;
};

// Merges all runs into one (gpu.merge). Waits for both locks of the run list, and gives them back.
MergeOutcome merge_all(Relation index, const RunKind *kind);

// bulk_delete is ambulkdelete, and vacuum_cleanup the storage part of amvacuumcleanup. `stats` may be
// nullptr, in which case the result is palloc'd.
IndexBulkDeleteResult *bulk_delete(IndexVacuumInfo *info, const RunKind *kind, IndexBulkDeleteResult *stats,
                                   IndexBulkDeleteCallback callback, void *callback_state);
IndexBulkDeleteResult *vacuum_cleanup(IndexVacuumInfo *info, const RunKind *kind,
                                      IndexBulkDeleteResult *stats);

// Writes metapage and tail of an unlogged index's init fork.
void build_empty(Relation index, const RunKind *kind);

// Both serve a build on a new, empty fork: begin_build reserves blocks 0 and 1 and returns the writer of the
// run, and finish_build writes metapage and tail once the run is complete.
RunWriter *begin_build(Relation index, RunEntry *entry);
void finish_build(Relation index, const RunKind *kind, const RunEntry &entry);

// ---- verification -----------------------------------------------------------------------------------------

using ProblemReporter = void (*)(BlockNumber block, const ItemPointerData *tid, const char *problem,
                                 void *context);

// Checks metapage, directory, extents and the tail's tuple heads, each at one instant; `report` is called
// while one of them is share-locked. Returns false when they are too damaged to follow.
bool verify_structure(Relation index, const RunKind *kind, ProblemReporter report, void *context);

// Checks that every page of a run carries the run's stamp, and that its dead bitmap agrees with the
// directory. Returns false when the run lies beyond the end of the file, where nobody can read it. A run that
// is merged meanwhile looks damaged: the caller looks afterwards whether it is still listed.
bool verify_run_pages(Relation index, const RunEntry &run, ProblemReporter report, void *context);

// Every access method's parsed reloptions begin with these.
struct StorageOptions {
    int32 varlena_header;
    int fanout;
};

// Makes a kind of reloptions that has these; the access method adds its own to it.
relopt_kind add_storage_options();

// _PG_init calls register_storage_options, which makes the kind for access methods that have no options of
// their own.
void register_storage_options();
bytea *storage_options(Datum options, bool validate);

}  // namespace pg_gpu::storage
