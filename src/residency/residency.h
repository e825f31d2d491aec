// The room's header: mirrors of runs in the server process. Access methods say how their runs are
// mirrored, and which of them a request is about; what is loaded, and when, is decided here.
//
// A request answers true, with its results in place, or false: then the paged path answers, and gpu.stat
// tells why. It raises nothing but the user's own cancel (and corruption of the index, met while loading a
// run). Nothing here knows about an access method's keys.
#pragma once

#include "cost/cost.h"
#include "rpc/rpc.h"
#include "storage/storage.h"

namespace pg_gpu::client {

// ---- how runs are mirrored --------------------------------------------------------------------------------

// How an access method's runs are mirrored: what differs from index to index is in a struct of
// the method's own, which begins with this.
struct MirrorKind;
struct MirrorFormat {
    const MirrorKind *kind;
    int key_bits;  // on the server, and of keys in requests: 32, 64, 128; of points all columns together
    uint64 (*mirrored_entries)(const storage::RunEntry &run);
};

// Runs of an index, of a view with this vacuum_seq: all, or those that are worth a request. Those without
// mirrored entries are taken for empty.
struct RunSet {
    Relation index;
    const storage::RunKind *kind;
    const MirrorFormat *format;
    const storage::RunEntry *runs;
    int count;
    uint64 vacuum_seq;
    // The microseconds that the request saves where run i is asked and not read from pages; nullptr:
    // its part by entries of what the choice of the path saves. A batch says so of small runs: these are
    // asked, and loaded for it, where that pays at once.
    const double *saves = nullptr;
};

protocol::RunName run_name(Relation index, uint64 run_id);

// The pages where a run's mirrored entries lie, and how many are on each at least.
struct MirroredPages {
    uint32 count;  // from the entry section's first page on
    // Pages of so many keys and as many TIDs, the last one's fewer; 0: pages tell themselves.
    uint32 per_page;
    uint32 key_bytes;
    int further_section;  // whose pages follow those of the entry section; 0: none, or the next one
    uint32 ragged_pages;  // pages before the stream
    uint64 stream_bytes;  // and what lies behind them, without gaps
};

// A mirror that is about to be made.
struct NewMirror {
    const RunSet *set;
    const storage::RunEntry *run;
    Path path;
    bool pinned;
};

// An access method's, which its formats refer to.
struct MirrorKind {
    MirroredPages (*pages)(const MirrorFormat &format, const storage::RunEntry &run);
    // Tells the server what is to come. False when it doesn't take that, or the run was merged away.
    bool (*begin)(const NewMirror &mirror, protocol::BeginReply *reply);
    // The server's work on a run's entries once all have come, in entries sorted, by path.
    double finish_sorts[kPaths];
    // Is that much enough to count when loading is weighed?
    bool finishing_counts;
};

inline MirroredPages mirrored_pages(const MirrorFormat &format, const storage::RunEntry &run) {
    return format.kind->pages(format, run);
}

// This session's user and quotas.
protocol::Holder holder_of_mirrors(bool pinned);

// Fills in what such messages have in common, and asks.
template <typename Message>
bool begin_mirror(const NewMirror &mirror, Message *message, protocol::BeginReply *reply) {
    message->name = run_name(mirror.set->index, mirror.run->run_id);
    if constexpr (requires { message->entries; })
        message->entries = mirror.set->format->mirrored_entries(*mirror.run);
    message->holder = holder_of_mirrors(mirror.pinned);
    return exchange(message, reply) &&
           (result_of(reply->header) == protocol::ReplyResult::done || fail_by_reply(reply->header));
}

// Fails because a run was merged away meanwhile.
bool fail_as_recycled();

// Is the run large enough for a mirror? Recent runs are small, and are merged away before a mirror of them
// pays: the session reads them from pages while the server process answers for the others. What is asked
// nevertheless is loaded as any run is.
bool is_worth_mirroring(const MirrorFormat &format, const storage::RunEntry &run);

// ---- the runs of a request --------------------------------------------------------------------------------

// The runs of a set that have mirrored entries, in the set's order; the numbers of the protocol's requests.
struct LiveRuns {
    int count;
    int places[kMaxRuns];  // in the set
};
LiveRuns live_runs(const RunSet &set);

// A request that only pages can answer, because all runs with entries are that small.
inline constexpr char kAllRunsAreSmall[] = "all runs have fewer entries than pg_gpu.min_mirror_entries";

// Divides a view's runs, once a path is chosen: is_local[i] says that the session reads run i from pages
// beside the request to the others. These are runs that aren't worth mirroring, and runs that are known not
// to be resident, until loading them pays. False, counted as a failed request of this kind: most entries are
// not resident, and pages are to answer for all.
bool share_out(const RunSet &set, const Choice &choice, RequestKind kind, bool *is_local);

// Was the last request refused because of runs that turned out not to be resident, or to be merged away? In a
// new view, shared out again, it may do better. True once a failure.
bool may_share_out_again();

// ---- answers ----------------------------------------------------------------------------------------------

// The entries of one run: the live ones of item i are tids[offsets[i]] to tids[offsets[i + 1] - 1]. What lies
// in the buffer, offsets too, is the server process's word, which may change: `entries`, all items' number,
// is looked at and kept.
struct RunResult {
    uint64 entries;
    const uint64 *offsets;
    const ItemPointerData *tids;
    const void *keys;  // beside the TIDs, where asked for
};

struct EntriesResult {
    uint64 items;  // the first so many are answered; ask again for the others
    RunResult runs[kMaxRuns];
};

// The session's knowledge of heap blocks. Read it after the set's view, and compare vacuum_seq again after
// the request (rule "Trust").
struct VisibleBlocks {
    gpu_engine::KnownBlocks known;
    bool all;  // every block is all-visible, and `known` isn't needed
};

struct CountResult {
    uint64 items;              // the first so many are answered; ask again for the others
    const uint64 *counts;      // of live entries known to be visible, of all runs together
    bool hidden;               // is there anything unknown? Then
    RunResult runs[kMaxRuns];  // has those on unknown blocks: the heap must decide about each
};

// ---- before and after a request ---------------------------------------------------------------------------

// Before a request: tells the server process of the present run list, and returns false when one of the runs
// is known not to be resident and not to be loaded now.
bool is_worth_a_request(const RunSet &set, const LiveRuns &live, const Choice &choice);

// Loads, after the answer not_resident, those lacking runs for which that pays. Returns true when all are
// there. Uses the transfer buffer.
bool load_lacking(const RunSet &set, const LiveRuns &live, const Choice &choice, uint64 lacking);

// Brings dead bitmaps up to date after the answer stale.
bool refresh_dead(const RunSet &set, const LiveRuns &live, Path path, uint64 stale);

// ---- gpu.load, and runs that end --------------------------------------------------------------------------

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

}  // namespace pg_gpu::client
