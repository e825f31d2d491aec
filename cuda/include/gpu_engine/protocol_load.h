// Messages by which mirrors of runs are loaded, brought up to date and dropped, whatever the access
// method.
#pragma once

#include <cstdint>

#include "gpu_engine/entry.h"
#include "gpu_engine/protocol_common.h"

namespace gpu_engine::protocol {

using gpu_engine::PageLayout;

struct BeginReply {  // begin_kary, begin_grid, begin_column, begin_text
    ReplyHeader header;
    std::uint64_t handle;
    std::uint64_t dead_version;  // dead version of the mirror that is there already
};

// Hands over `pages` images at `offset`, the first of which is page `first_page` of the run. The array takes
// the run's entries from `run_first` on, as many as it was begun with; others on these pages are left out.
// Pages come in order and without a gap: each message begins with the page that holds the next entry. The
// pages of grids and of inverted lists describe their entries themselves, so only page_bytes and first_byte
// of the layout are read for them, and none of the run's numbers. For columns only page_bytes is read.
struct AppendPages {
    RequestHeader header;
    std::uint64_t handle;
    std::uint64_t offset;
    std::uint64_t run_entries;  // entries of the whole run, which say how many are on its last page
    std::uint64_t run_first;
    std::uint32_t first_page;
    std::uint32_t pages;
    PageLayout layout;
};

// All entries must have come when `finish` is sent; the array becomes a mirror. `drop` gives up an array that
// isn't finished. Either ends the handle.
struct HandleRequest {
    RequestHeader header;
    std::uint64_t handle;
};

struct HandleReply {  // finish
    ReplyHeader header;
    std::uint64_t entries;
    std::uint64_t bytes;
};

// Replaces the mirror's bitmap of dead entries: bit i % 64 of 64-bit word i / 64 is entry i's. The words
// cover the whole array; with no words, no entry is dead. A version older than the present one changes
// nothing and is answered `done`. A run without a mirror is answered `not_resident`.
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

// Names the runs that a relation (run 0) has: `count` ids of 64 bits at `offset`, as they were listed at
// `listed_at`, in microseconds since 1970. A run is listed before it is loaded, so a mirror that was loaded
// before `listed_at` and is not among them is of a run that no longer exists. Such mirrors are dropped on
// both engines, pinned ones too. Answered by EvictReply.
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

using LoadStructures = Structures<PageLayout, BeginReply, AppendPages, HandleRequest, HandleReply, SetDead,
                                  Evict, KeepRuns, EvictReply>;

}  // namespace gpu_engine::protocol
