// A source of a scan's matches in all those runs that the server process answers for.
//
// The items of its requests are the condition's points, or its one range. One request asks all runs for many
// items, and the source holds what they have for some items in a row, merged into index order. Scans that
// begin with few items serve LIMIT. What is held is bounded by work_mem; a single item with more matches is
// left to the pages, of which a cursor holds one at a time.
//
// Entries are those of a dead bitmap that is no older than the view, so the rules for entries read from pages
// hold for them too (Trust): visibility map, then vacuum_seq once more. When the server process fails, the
// scan goes on in a new view without it.
#pragma once

#include "cost/usage.h"
#include "kary/request.h"
#include "kary/condition.h"
#include "kary/source.h"

namespace pg_gpu::kary {

template <typename Key>
struct Scan;
template <typename Key>
struct Position;

template <typename Key>
struct RemoteSource : Source<Key> {
    storage::RunEntry *runs;  // runs of the scan's view
    double *saves;            // by run: as client::RunSet's, of small runs
    int run_count;            // 0: the server process is not asked
    int run_room;
    int refusals;  // requests of the scan after which the runs were shared out again
    client::Choice choice;
    Ranges<Key> ranges;
    bool exact;    // items are keys and not ranges
    uint32 items;  // number of the condition's items
    uint32 begin;  // the batch has the matches of items [begin, end)
    uint32 end;
    uint32 step;          // so many items are asked for next
    double microseconds;  // time that the answers of the scan's requests took
};

// Chooses the runs of a view that the server process is asked about, if any, and puts the source before its
// first item or, not at_start, behind its last. Runs that stay local (client::share_out) are left to the
// pages.
template <typename Key>
void choose_remote_runs(Scan<Key> *scan, bool at_start);

// The runs that the server process is asked about.
template <typename Key>
client::RunSet remote_runs(const Scan<Key> *scan);

// Does the server process answer for the run's entries without NULLs?
template <typename Key>
bool is_remote(const Scan<Key> *scan, const storage::RunEntry &run);

// Makes the batch hold an entry after (before) the gap.
template <typename Key>
Step ensure_remote_forward(Scan<Key> *scan);
template <typename Key>
Step ensure_remote_backward(Scan<Key> *scan);

// Puts the gap right after (`after`) or right before the place of `position` in index order. false: Restart.
template <typename Key>
bool seek_remote(Scan<Key> *scan, const Position<Key> &position, bool after);

// Gives all matches to the sink, each run's in index order. false: Restart.
template <typename Key>
bool drain_remote(Scan<Key> *scan, const EntrySink<Key> &sink);

}  // namespace pg_gpu::kary
