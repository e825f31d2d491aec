// The server answers for these runs: it makes a grid of its own of a run's points and is asked for boxes.
//
// Its answers hold for a run at a dead bitmap no older than the view. So the rules for entries read from
// pages hold for them too (rule "Trust"): visibility map, then vacuum_seq once more.
#pragma once

#include "grid/request.h"
#include "grid/scan.h"
#include "keys/keys.h"

namespace pg_gpu::grid {

// Returns how an index's runs are mirrored, palloc'd. Returns nullptr for more than eight lanes, which are
// not mirrored.
const client::MirrorFormat *mirror_format(Relation index);

// When the paged path looks at fewer entries, a request's way there and back alone takes longer.
inline constexpr uint64 kFewestEntries = 16384;

// These are conditions as boxes of codes: arrays by lane, in the widths that the server has.
struct BoxList {
    const Format *format;
    uint32 count;
    void *low[kMaxGridColumns];
    void *high[kMaxGridColumns];
    uint8 *open;  // bit c of open[i]: box i takes all of lane c
    uint8 *null;  // it takes NULL only
    uint8 open_in_all;
    uint8 open_in_some;
    uint8 null_in_some;
};

// Makes room for `most` boxes. Returns false when the index's runs are not mirrored.
bool begin_boxes(BoxList *boxes, const Format *format, uint32 most);
// Adds a condition. Returns false when it asks for more than a box can say.
bool add_box(BoxList *boxes, const Condition &condition);
bool is_in_box(const BoxList &boxes, uint32 i, const uint64 *row);
// Returns the low bound of a lane.
uint64 lowest_code(const BoxList &boxes, uint32 i, int lane);
Boxes boxes_of(const BoxList &boxes);
void free_boxes(const BoxList &boxes);

// Returns the view's runs.
client::RunSet run_set(const ViewReader &reader, const client::MirrorFormat *format);
// Numbers of entries that are looked at for boxes: by the session on pages, and by the server, which can't
// take entries off where blocks have changed.
struct Effort {
    uint64 on_pages;
    uint64 on_server;
};

// The path for those that the server process may be asked about. Some runs stay local (client::share_out),
// which *is_local says of the view's runs.
client::Choice choose_path(const ViewReader &reader, const client::MirrorFormat *format,
                           client::RequestKind kind, uint32 boxes, const Effort &effort,
                           const bool **is_local);

// Local runs that are searched for each box.
struct LocalRuns {
    storage::RunEntry *runs;
    int count;
};

// Takes the local runs off the view. Those of at most `max_entries` entries are read as if they lay in the
// tail, whose rows are compared with each box; *home has the larger ones. false when a page was recycled, and
// a new view must be taken.
bool read_local_runs(ViewReader *reader, const bool *is_local, uint64 max_entries, LocalRuns *local);

// Counts the entries among a run's ranges that the paged path would look at for a condition: those it must
// test, or all when each one's visibility is in question. Returns 0 when a page was recycled.
uint64 entries_to_look_at(RunScan *scan, const Condition &condition, bool all);

// Gets the matches of the view from the server. Returns false when it isn't asked or doesn't answer; then the
// view may be another one, and its batches are still to come.
bool search_on_server(ViewReader *reader, const BatchSink &sink);

// Counts the visible rows of each box, if asking pays; *heap_fetches of their entries were looked up in the
// heap. The reader's condition takes the rows of all boxes, which `ranges` reads again; nullptr for a single
// one. false when the server doesn't answer; then counts hold nothing.
bool count_on_server(ViewReader *reader, const BoxList &boxes, const RangeReader *ranges,
                     const Effort &effort, int64 *counts, uint64 *heap_fetches);

}  // namespace pg_gpu::grid
