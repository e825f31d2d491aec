// The layout on disk: pages, the metapage, the run directory. Layout changes need a new kFormatVersion.
//
//   block 0  metapage: counters, reservations, the newest part of the run directory
//   block 1  tail: the tuples inserted since the last seal, appended in order of arrival
//   others   run pages and chained directory pages, in extents; what no extent covers is free
#pragma once

#include "postgres_headers.h"

#include "storage/extent_map.h"

namespace pg_gpu::storage {

inline constexpr uint32 kMagic = 0x55504750;  // "PGPU" in a little-endian dump
inline constexpr uint16 kFormatVersion = 6;
inline constexpr BlockNumber kMetaBlock = 0;
inline constexpr BlockNumber kTailBlock = 1;
inline constexpr BlockNumber kFirstFreeBlock = 2;

enum class PageKind : uint16 { Meta = 1, Tail = 2, Run = 3, Directory = 4 };

// Special area of every page. A run's pages carry the run's random id and their position in the run, so that
// a reader holding an old view notices that a page was recycled (rules "Identity" and "Recycled pages").
struct PageStamp {
    uint64 run_id;
    uint32 position;
    uint16 kind;
    uint16 reserved;
};
static_assert(sizeof(PageStamp) == 16);
static_assert(MAXALIGN(sizeof(PageStamp)) == sizeof(PageStamp));

inline constexpr uint32 kContentStart = MAXALIGN(SizeOfPageHeaderData);
inline constexpr uint32 kContentEnd = BLCKSZ - sizeof(PageStamp);
inline constexpr uint32 kContentBytes = kContentEnd - kContentStart;
static_assert(kContentBytes % 8 == 0);

inline constexpr int kExtentsPerRun = 4;
inline constexpr int kSectionsPerRun = 4;

// A section is a named range of a run's pages, counted in positions; what it holds is the access method's
// business, except for the dead bitmap, which is storage's.
struct Section {
    uint32 first_page;
    uint32 pages;
};
static_assert(sizeof(Section) == 8);

inline constexpr int kDeadBitmapSection = 0;  // 1..3 are named by the access method

inline constexpr uint32 kDeadBitsPerPage = kContentBytes * 8;

// A run's entry in the directory. `order` only says which run is older; identity is `run_id`.
struct RunEntry {
    uint64 run_id;
    uint64 order;
    uint64 entries;
    uint64 dead;  // bits set in the dead bitmap, as of the vacuum_seq beside it
    uint64 access_method_data[2];
    Extent extents[kExtentsPerRun];
    Section sections[kSectionsPerRun];
    uint32 pages;
    uint16 extent_count;
    uint16 level;
    uint32 dead_bitmap_offset;  // byte on the first bitmap page: a one-page run keeps its bitmap behind its
                                // entries
    uint32 cached;  // 0 on disk; in a view, the copy that its reader has of the run (cached_runs.h)
};
static_assert(sizeof(RunEntry) == 128);
static_assert(alignof(RunEntry) == 8);

// `vacuum_seq` of an index in which VACUUM has found nothing dead yet.
inline constexpr uint64 kFirstVacuumSeq = 1;

enum class ReservationOwner : int { OldRuns = 0, RecentRuns = 1 };
inline constexpr int kReservationOwners = 2;

struct MetaPage {
    uint32 magic;
    uint16 format_version;
    uint16 inline_runs;          // entries in runs[]
    uint32 access_method;        // RunKind::id; a page of another access method is corruption
    uint32 built_with_names;     // RunKind::built_with
    uint64 vacuum_seq;           // bumped at the end of every ambulkdelete (rule "VACUUM")
    uint64 next_order;           // order of the next sealed run
    uint64 old_runs_horizon;     // runs below belong to whoever holds the old-runs lock
    uint64 directory_version;    // bumped with every change of the run list
    uint32 chained_runs;         // entries on the chained directory pages
    BlockNumber directory_head;  // newest chained directory page, or InvalidBlockNumber
    Extent reservations[kReservationOwners][kExtentsPerRun];
    uint64 built_with_numbers;
    RunEntry runs[FLEXIBLE_ARRAY_MEMBER];
};
static_assert(offsetof(MetaPage, runs) == 128);

inline constexpr uint32 kInlineRuns = (kContentBytes - offsetof(MetaPage, runs)) / sizeof(RunEntry);

// A chained directory page: the overflow of the metapage's run list. Once linked it gets no other runs;
// entries change where they are, or leave it (edit_directory). All access is under the metapage's lock.
struct DirectoryPage {
    BlockNumber next;
    uint32 runs_on_page;
    RunEntry runs[FLEXIBLE_ARRAY_MEMBER];
};
static_assert(offsetof(DirectoryPage, runs) == 8);

inline constexpr uint32 kRunsPerDirectoryPage =
    (kContentBytes - offsetof(DirectoryPage, runs)) / sizeof(RunEntry);
static_assert(kInlineRuns <= kRunsPerDirectoryPage,
              "the inline list must fit one chained page when it spills");

// Head of every tail tuple; the access method's payload follows. Sizes are multiples of 4 and include the
// head.
struct TailTuple {
    ItemPointerData tid;
    uint16 info;
};
static_assert(sizeof(TailTuple) == 8);

inline constexpr uint16 kTailTupleSizeMask = 0x3fff;
inline constexpr uint16 kTailTupleFlag = 0x4000;  // free for the access method
static_assert(kContentBytes <= kTailTupleSizeMask);

inline uint32 tail_tuple_size(const TailTuple *tail_tuple) {
    return tail_tuple->info & kTailTupleSizeMask;
}

inline char *page_content(Page page) {
    return static_cast<char *>(page) + kContentStart;
}

inline PageStamp *page_stamp(Page page) {
    return reinterpret_cast<PageStamp *>(static_cast<char *>(page) + kContentEnd);
}

inline MetaPage *meta_page(Page page) {
    return reinterpret_cast<MetaPage *>(page_content(page));
}

inline uint32 content_length(Page page) {
    return reinterpret_cast<PageHeader>(page)->pd_lower - kContentStart;
}

inline void set_content_length(Page page, uint32 bytes) {
    reinterpret_cast<PageHeader>(page)->pd_lower = static_cast<LocationIndex>(kContentStart + bytes);
}

// Block that holds page `position` of a run; the caller has checked position < run.pages.
inline BlockNumber run_block(const RunEntry &run, uint32 position) {
    for (int i = 0; i < run.extent_count; i++) {
        if (position < run.extents[i].count)
            return run.extents[i].start + position;
        position -= run.extents[i].count;
    }
    return InvalidBlockNumber;
}

}  // namespace pg_gpu::storage
