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

// A MirrorFormat says how an access method's runs are mirrored: what differs from index to index is in a
// struct of the method's own, which begins with this.
struct MirrorKind;
struct MirrorFormat {
    const MirrorKind *kind;
    // Width of keys on the server and in requests: 32, 64, 128; of points that of all columns together.
    int key_bits;
    uint64 (*mirrored_entries)(const storage::RunEntry &run);
    // A run with long entries counts as one of more entries with so many bytes each. 0: only entries count.
    uint32 usual_bytes = 0;
};

// A RunSet has runs of an index, of a view with this vacuum_seq: all, or those that are worth a request.
// Those without mirrored entries are taken for empty.
struct RunSet {
    Relation index;
    const storage::RunKind *kind;
    const MirrorFormat *format;
    const storage::RunEntry *runs;
    int count;
    uint64 vacuum_seq;
    // The microseconds that the request saves where run i is requested and not read from pages. nullptr: a
    // run's share of what the choice of the path saves is by its entries. A batch says so of small runs:
    // these are requested, and loaded for it, where that pays at once.
    const double *saves = nullptr;
};

protocol::RunName run_name(Relation index, uint64 run_id);

// MirroredPages says on which pages a run's mirrored entries lie, and how they are spread over them.
struct MirroredPages {
    uint32 count;  // pages from the entry section's first one on
    // Keys on each of these pages, with as many TIDs; the last page has fewer. 0: the pages' heads have the
    // numbers.
    uint32 per_page;
    uint32 key_bytes;
    // The section whose pages follow those of the entry section; 0: none, or the next one.
    int further_section;
    uint32 ragged_pages;  // pages before the stream that have gaps at their ends
    uint64 stream_bytes;  // bytes behind them, which fill their pages without gaps
};

// A mirror that is about to be made.
struct NewMirror {
    const RunSet *set;
    const storage::RunEntry *run;
    Path path;
    bool pinned;
};

// A MirrorKind is an access method's, and its formats refer to it.
struct MirrorKind {
    MirroredPages (*pages)(const MirrorFormat &format, const storage::RunEntry &run);
    // Announces the mirror to the server. Returns false when it doesn't take that, or the run was merged
    // away.
    bool (*begin)(const NewMirror &mirror, protocol::BeginReply *reply);
    // The server's work on a run's entries once all have come, by path, in units of sorting the entries once.
    double finish_sorts[kPaths];
    // Returns whether that work is enough to count when loading is weighed.
    bool finishing_counts;
};

inline MirroredPages mirrored_pages(const MirrorFormat &format, const storage::RunEntry &run) {
    return format.kind->pages(format, run);
}

// Returns this session's user and quotas, as messages that make mirrors have them.
protocol::Holder holder_of_mirrors(bool pinned);

// Fills in what messages about one run have in common, and sends them.
template <typename Message>
bool begin_mirror(const NewMirror &mirror, Message *message, protocol::BeginReply *reply) {
    message->name = run_name(mirror.set->index, mirror.run->run_id);
    if constexpr (requires { message->entries; })
        message->entries = mirror.set->format->mirrored_entries(*mirror.run);
    message->holder = holder_of_mirrors(mirror.pinned);
    return exchange(message, reply) &&
           (result_of(reply->header) == protocol::ReplyResult::done || fail_by_reply(reply->header));
}

// Fails because a run was merged away meanwhile, and returns false.
bool fail_as_recycled();

// Returns whether the run is large enough for a mirror. Recent runs are small, and are merged away before a
// mirror of them pays: the session reads them from pages while the server process answers for the others. A
// run that is requested nevertheless is loaded as any run is.
bool is_worth_mirroring(const MirrorFormat &format, const storage::RunEntry &run);

// ---- the runs of a request --------------------------------------------------------------------------------

// The runs of a set that have mirrored entries, in the set's order. The protocol's requests number runs by
// this list.
struct LiveRuns {
    int count;
    int places[kMaxRuns];  // number of each run in the set
};
LiveRuns live_runs(const RunSet &set);

// The reason why a request is left to pages: all runs with entries are small.
inline constexpr char kAllRunsAreSmall[] = "all runs have fewer entries than pg_gpu.min_mirror_entries";

// Divides a view's runs, once a path is chosen: is_local[i] says that the session reads run i from pages
// beside the request to the others. These are runs that aren't worth mirroring, and runs that are known not
// to be resident, until loading them pays. Returns false, and counts a failed request of this kind, when most
// entries are not resident, and pages are to answer for all.
bool share_out(const RunSet &set, const Choice &choice, RequestKind kind, bool *is_local);

// Returns whether the last request was refused because of runs that turned out not to be resident, or to be
// merged away, so that it may do better in a new view, shared out again. It returns true only once for each
// failure.
bool may_share_out_again();

// ---- answers ----------------------------------------------------------------------------------------------

// A RunResult has the entries of one run: the live ones of item i are tids[offsets[i]] to tids[offsets[i + 1]
// - 1]. The offsets lie in the transfer buffer like the rest, where the server process may change them;
// `entries`, the number of all items' entries, was checked and copied.
struct RunResult {
    uint64 entries;
    const uint64 *offsets;
    const ItemPointerData *tids;
    const void *keys;  // keys of the entries, where they were requested
};

struct EntriesResult {
    uint64 items;  // number of items that are answered, the first ones; the others need another request
    RunResult runs[kMaxRuns];
};

// A VisibleBlocks has the session's knowledge of heap blocks. It is read after the set's view, and the caller
// compares vacuum_seq again after the request (rule "Trust").
struct VisibleBlocks {
    gpu_engine::KnownBlocks known;
    bool all;  // every block is all-visible, and `known` isn't needed
};

struct CountResult {
    // Number of items that are answered, the first ones; the others need another request.
    uint64 items;
    const uint64 *counts;  // numbers of live entries known to be visible, of all runs together
    bool hidden;           // set when there are entries on unknown blocks
    // Where `hidden` is set, the entries on unknown blocks: the heap must decide about each.
    RunResult runs[kMaxRuns];
};

// ---- before and after a request ---------------------------------------------------------------------------

// Is called before a request: reports the present run list to the server process, and returns false when one
// of the runs is known not to be resident and not to be loaded now.
bool is_worth_a_request(const RunSet &set, const LiveRuns &live, const Choice &choice);

// Loads those lacking runs for which that pays, after the server has answered not_resident. Returns true when
// all are there. Uses the transfer buffer.
bool load_lacking(const RunSet &set, const LiveRuns &live, const Choice &choice, uint64 lacking);

// Brings dead bitmaps up to date after the server has answered stale. Returns false when one of the runs was
// merged away, or the server doesn't take it.
bool refresh_dead(const RunSet &set, const LiveRuns &live, Path path, uint64 stale);

// ---- gpu.load, and runs that end --------------------------------------------------------------------------

// Makes all runs of an index resident, for gpu.load: on the device where there is one, or as pg_gpu.path
// says. Returns the bytes of server memory that took. Raises an error when it can't be done.
uint64 load_index(Relation index, const storage::RunKind *kind, const MirrorFormat *format, bool pinned);

// Drops an index's mirrors and returns the bytes they took. Raises an error when a server process should be
// there and doesn't answer.
uint64 evict_index(Relation index);

// An implementation of RunKind::merged: forgets large inputs. Mirrors of small ones leave as least recently
// used.
void forget_inputs(Relation index, const storage::RunEntry *inputs, int count);

}  // namespace pg_gpu::client
