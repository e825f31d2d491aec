// Inside the client: runs' mirrors in the server process.
#pragma once

#include "rpc/connection.h"

namespace pg_gpu::client {

protocol::RunName run_name(Relation index, uint64 run_id);

// The runs of a set that have mirrored entries, in the set's order; the numbers of the protocol's requests.
struct LiveRuns {
    int count;
    int places[kMaxRuns];  // in the set
};
LiveRuns live_runs(const RunSet &set);

// ---- what differs between access methods ------------------------------------------------------------------

// Where a run's mirrored entries lie, and what is on a page at least.
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

// An access method's: in kary.cpp, grid.cpp, column.cpp and text.cpp.
struct MirrorKind {
    MirroredPages (*pages)(const MirrorFormat &format, const storage::RunEntry &run);
    // Tells the server what is to come. False when it doesn't take that, or the run was merged away.
    bool (*begin)(const NewMirror &mirror, protocol::BeginReply *reply);
    // What the server does with a run's entries once all have come, in entries sorted, by path.
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
           (answer_of(reply->header) == protocol::Answer::done || fail_by_answer(reply->header));
}

// Fails because a run was merged away meanwhile.
bool fail_as_gone();

// ---- loading -----------------------------------------------------------------------------------

// Loads, after the answer not_resident, those lacking runs for which that pays. Returns true when all are
// there. Uses the transfer buffer.
bool load_lacking(const RunSet &set, const LiveRuns &live, const Choice &choice, uint64 lacking);

// Brings dead bitmaps up to date after the answer stale.
bool refresh_dead(const RunSet &set, const LiveRuns &live, Path path, uint64 stale);

}  // namespace pg_gpu::client
