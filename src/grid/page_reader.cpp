#include "grid/page_reader.h"

#include "storage/storage.h"

namespace pg_gpu::grid {

// ---- pages ------------------------------------------------------------------------------------------------

void begin_pages(PageCursor *cursor, Relation index, const Format *format, const storage::RunEntry *run) {
    cursor->index = index;
    cursor->format = format;
    cursor->run = run;
    cursor->held = {nullptr, InvalidBuffer, false};
}

static uint32 page_position(const storage::RunEntry &run, uint32 number) {
    return run.sections[kEntrySection].first_page + number;
}

void open_page_copy(Relation index, const Format &format, const storage::RunEntry &run, uint32 number,
                    const char *image, EntryPage *page) {
    Page copy = const_cast<char *>(image);
    if (!open_entry_page(storage::page_content(copy),
                         Min(storage::content_length(copy), storage::kContentBytes), format.array_count,
                         page) ||
        page->count > kMaxOnPage || page->first > run.entries || page->count > run.entries - page->first)
        storage::report_corruption(index, storage::run_block(run, page_position(run, number)),
                                   "An entry page contradicts its run.");
}

bool enter_page(PageCursor *cursor, uint32 number) {
    const storage::RunEntry &run = *cursor->run;
    if (cursor->held.page != nullptr && cursor->number == number)
        return storage::lock_run_page_again(run, page_position(run, number), cursor->held);
    release_page(cursor);
    if (number >= run.sections[kEntrySection].pages)
        storage::report_corruption(cursor->index, storage::run_block(run, 0),
                                   "A run holds fewer entries than recorded.");
    cursor->number = number;
    cursor->held = storage::read_run_page(cursor->index, run, page_position(run, number), nullptr);
    if (cursor->held.page == nullptr)
        return false;
    open_page_copy(cursor->index, *cursor->format, run, number, cursor->held.page, &cursor->page);
    return true;
}

void leave_page(PageCursor *cursor) {
    storage::unlock_run_page(cursor->held);
}

void release_page(PageCursor *cursor) {
    storage::unpin_run_page(&cursor->held);
}

ItemPointerData read_tid(const EntryPage &page, uint32 i) {
    ItemPointerData tid;
    ItemPointerSet(&tid, static_cast<BlockNumber>(page_value(page, kBlockArray, i)),
                   static_cast<OffsetNumber>(page_value(page, kOffsetArray, i)));
    return tid;
}

static void read_tids(const EntryPage &page, const uint16 *places, uint32 count, ItemPointerData *tids) {
    const PackedArray blocks = packed_array(page, kBlockArray);
    const PackedArray offsets = packed_array(page, kOffsetArray);
    for (uint32 i = 0; i < count; i++)
        ItemPointerSet(&tids[i], static_cast<BlockNumber>(blocks[places[i]]),
                       static_cast<OffsetNumber>(offsets[places[i]]));
}

void read_row(const Format &format, const EntryPage &page, uint32 i, uint64 *row) {
    const auto nulls = static_cast<NullMask>(page_value(page, kNullArray, i));
    row[0] = make_place(static_cast<BlockNumber>(page_value(page, kBlockArray, i)),
                        static_cast<OffsetNumber>(page_value(page, kOffsetArray, i)), nulls);
    for (int lane = 0; lane < format.lane_count; lane++)
        row[1 + lane] = unlikely((nulls >> format.lanes[lane].column) & 1)
                            ? 0
                            : page_value(page, kFirstLaneArray + lane, i);
}

// ---- matches on a page ------------------------------------------------------------------------------------

namespace {

// A lane's range, no wider than its values on the page.
struct PackedRange {
    PackedArray values;
    uint64 low;
    uint64 span;
    enum { None, All, Some } passes;

    bool holds(uint32 i) const { return values[i] - low <= span; }
};

// The places that have passed so far: all of [from, to) until a test has left some out.
struct Places {
    uint32 from;
    uint32 to;
    bool scattered;
    uint32 count;
    uint16 *places;
};

}  // namespace

static PackedRange packed_range(const EntryPage &page, int array, const LaneRange &lane) {
    const PackedArray values = packed_array(page, array);
    const uint64 base = values.base;
    const uint64 last = base > PG_UINT64_MAX - values.mask ? PG_UINT64_MAX : base + values.mask;
    PackedRange range = {values, 0, 0, PackedRange::Some};
    if (lane.low > last || lane.high < base) {
        range.passes = PackedRange::None;
    } else if (lane.low <= base && lane.high >= last) {
        range.passes = PackedRange::All;
    } else {
        range.low = Max(lane.low, base);
        range.span = Min(lane.high, last) - range.low;
    }
    return range;
}

template <typename Test>
static void keep(Places *places, Test test) {
    uint16 *kept = places->places;
    const uint16 *const before = kept;
    if (!places->scattered) {
        const uint32 to = places->to;
        for (uint32 i = places->from; i < to; i++) {
            *kept = static_cast<uint16>(i);
            kept += test(i) ? 1 : 0;
        }
        places->scattered = true;
    } else {
        const uint16 *const end = before + places->count;
        for (const uint16 *place = before; place < end; place++) {
            const uint16 i = *place;
            *kept = i;
            kept += test(i) ? 1 : 0;
        }
    }
    places->count = static_cast<uint32>(kept - before);
}

// Returns those columns of the range's dimensions for which the condition has more than a range of codes.
static NullMask tested_columns(const Format &format, const Condition &condition, const EntryRange &range) {
    NullMask columns = 0;
    if (condition.test_count == 0)
        return 0;
    for (int i = 0; i < format.dimension_count; i++)
        if ((range.dimensions >> i) & 1)
            columns |= format.dimension_columns[i];
    NullMask tested = 0;
    for (int i = 0; i < condition.test_count; i++)
        tested |= static_cast<NullMask>(1U << condition.tests[i].column);
    return columns & tested;
}

static void keep_matches(const Format &format, const Condition &condition, const EntryRange &range,
                         const EntryPage &page, Places *places) {
    if (range.mixed)
        keep(places, [&](uint32 i) {
            return wants_nulls(condition, static_cast<NullMask>(page_value(page, kNullArray, i)));
        });
    for (int i = 0; i < format.dimension_count; i++) {
        if (!((range.dimensions >> i) & 1))
            continue;
        const int lane = format.dimension_lanes[i];
        const PackedRange packed = packed_range(page, kFirstLaneArray + lane, condition.lanes[lane]);
        if (packed.passes == PackedRange::Some)
            keep(places, [packed](uint32 at) { return packed.holds(at); });
        else if (packed.passes == PackedRange::None)
            keep(places, [](uint32) { return false; });
    }
    const NullMask columns = tested_columns(format, condition, range);
    if (columns != 0)
        keep(places, [&](uint32 i) {
            uint64 row[1 + kMaxLanes];
            read_row(format, page, i, row);
            return passes_tests(format, condition, columns, row);
        });
}

uint32 match_entries(const Format &format, const Condition &condition, const EntryRange &range,
                     const EntryPage &page, uint32 from, uint32 to, uint16 *places) {
    Places kept = {from, to, false, 0, places};
    keep_matches(format, condition, range, page, &kept);
    if (!kept.scattered)
        keep(&kept, [](uint32) { return true; });
    return kept.count;
}

// Returns only the number of the matches. With a single lane to be looked at, no places are noted.
static uint32 count_entries(const Format &format, const Condition &condition, const EntryRange &range,
                            const EntryPage &page, uint32 from, uint32 to, uint16 *places) {
    PackedRange only = {};
    int lanes = range.mixed || tested_columns(format, condition, range) != 0 ? 2 : 0;
    for (int i = 0; i < format.dimension_count && lanes < 2; i++) {
        if (!((range.dimensions >> i) & 1))
            continue;
        const int lane = format.dimension_lanes[i];
        const PackedRange packed = packed_range(page, kFirstLaneArray + lane, condition.lanes[lane]);
        if (packed.passes == PackedRange::None)
            return 0;
        if (packed.passes == PackedRange::Some) {
            only = packed;
            lanes++;
        }
    }
    if (lanes == 0)
        return to - from;
    if (lanes > 1)
        return match_entries(format, condition, range, page, from, to, places);
    uint32 count = 0;
    for (uint32 i = from; i < to; i++)
        count += only.holds(i) ? 1 : 0;
    return count;
}

// ---- matches in a run -------------------------------------------------------------------------------------

void reset_run_scan(RunScan *scan) {
    scan->ranges.count = 0;
    scan->range = 0;
    scan->at = 0;
    scan->page = 0;
    scan->found = false;
}

void begin_run_scan(RunScan *scan, Relation index, const Format *format, const storage::RunEntry *run) {
    begin_directory(&scan->directory, index, format, run);
    scan->ranges = {};
    begin_pages(&scan->pages, index, format, run);
    scan->keeps_dead = false;
    reset_run_scan(scan);
}

void end_run_scan(RunScan *scan) {
    release_page(&scan->pages);
    end_directory(&scan->directory);
    if (scan->ranges.ranges != nullptr)
        pfree(scan->ranges.ranges);
    scan->ranges = {};
}

uint32 recycled_position(const RunScan &scan) {
    return scan.found ? page_position(*scan.pages.run, scan.pages.number) : scan.directory.position;
}

static void go_to_range(RunScan *scan, uint64 range) {
    scan->range = range;
    if (range < scan->ranges.count) {
        scan->at = scan->ranges.ranges[range].begin;
        scan->page = Max(scan->page, scan->ranges.ranges[range].page);
    }
}

void rewind_run_scan(RunScan *scan) {
    scan->page = 0;
    go_to_range(scan, 0);
}

bool find_matches(RunScan *scan, const Condition &condition) {
    if (scan->found)
        return true;
    if (!find_ranges(&scan->directory, condition, &scan->ranges))
        return false;
    scan->found = true;
    go_to_range(scan, 0);
    return true;
}

// Enters the page with the next ordinal. false when a page was recycled.
static bool enter_next_page(RunScan *scan) {
    for (;;) {
        if (!enter_page(&scan->pages, scan->page))
            return false;
        const EntryPage &page = scan->pages.page;
        if (page.first > scan->at)
            storage::report_corruption(
                scan->pages.index,
                storage::run_block(*scan->pages.run, page_position(*scan->pages.run, scan->page)),
                "An entry page contradicts the grid's directory.");
        if (scan->at < page.first + page.count)
            return true;
        leave_page(&scan->pages);
        scan->page++;
    }
}

// Removes a batch's dead entries.
static bool drop_dead(RunScan *scan, Batch *batch) {
    const storage::RunEntry &run = *scan->pages.run;
    const Format &format = *scan->pages.format;
    const EntryPage &page = scan->pages.page;
    uint64 dead[(kMaxOnPage + 63) / 64];
    if (!storage::read_dead_bits(scan->pages.index, run, page.first, page.count, dead))
        return false;
    keep_entries(format, batch, [&](uint32 i) {
        const uint32 place = scan->places[i];
        return ((dead[place / 64] >> (place % 64)) & 1) == 0;
    });
    return true;
}

bool read_dead_bit(const RunScan &scan, uint32 i, bool *dead) {
    uint64 bits = 0;
    const uint64 ordinal = scan.pages.page.first + scan.places[i];
    if (!storage::read_dead_bits(scan.pages.index, *scan.pages.run, ordinal, 1, &bits))
        return false;
    *dead = (bits & 1) != 0;
    return true;
}

Step next_batch(RunScan *scan, const Condition &condition, Batch *batch) {
    batch->count = 0;
    if (!find_matches(scan, condition))
        return Step::Recycled;
    const Format &format = *scan->pages.format;
    const auto words = static_cast<size_t>(format.row_words);
    while (scan->range < scan->ranges.count) {
        CHECK_FOR_INTERRUPTS();
        if (!enter_next_page(scan))
            return Step::Recycled;
        const EntryPage &page = scan->pages.page;
        const uint64 page_end = page.first + page.count;
        // Goes through all ranges on this page.
        while (scan->range < scan->ranges.count && scan->at < page_end) {
            const EntryRange &range = scan->ranges.ranges[scan->range];
            const uint64 end = Min(range.end, page_end);
            uint16 *places = scan->places + batch->count;
            const uint32 count =
                match_entries(format, condition, range, page, static_cast<uint32>(scan->at - page.first),
                              static_cast<uint32>(end - page.first), places);
            read_tids(page, places, count, batch->tids + batch->count);
            if (batch->rows != nullptr)
                for (uint32 i = 0; i < count; i++)
                    read_row(format, page, places[i], batch->rows + (batch->count + i) * words);
            batch->count += count;
            scan->at = end;
            if (end == range.end)
                go_to_range(scan, scan->range + 1);
        }
        leave_page(&scan->pages);
        if (batch->count > 0 && scan->pages.run->dead > 0 && !scan->keeps_dead && !drop_dead(scan, batch))
            return Step::Recycled;
        if (batch->count > 0) {
            release_page(&scan->pages);
            return Step::Entry;
        }
    }
    release_page(&scan->pages);
    return Step::End;
}

bool count_matches(RunScan *scan, const Condition &condition, uint64 *count) {
    if (!find_matches(scan, condition))
        return false;
    const Format &format = *scan->pages.format;
    const bool has_dead = scan->pages.run->dead > 0;
    while (scan->range < scan->ranges.count) {
        const EntryRange &range = scan->ranges.ranges[scan->range];
        if (range.dimensions == 0 && !range.mixed) {
            uint64 dead = 0;
            if (has_dead &&
                !storage::count_dead(scan->pages.index, *scan->pages.run, scan->at, range.end, &dead))
                return false;
            *count += range.end - scan->at - dead;
            go_to_range(scan, scan->range + 1);
            continue;
        }
        CHECK_FOR_INTERRUPTS();
        if (!enter_next_page(scan))
            return false;
        const EntryPage &page = scan->pages.page;
        const uint64 end = Min(range.end, page.first + page.count);
        const auto from = static_cast<uint32>(scan->at - page.first);
        const auto to = static_cast<uint32>(end - page.first);
        uint32 matches;
        if (has_dead) {
            matches = match_entries(format, condition, range, page, from, to, scan->places);
            leave_page(&scan->pages);
            uint64 dead[(kMaxOnPage + 63) / 64];
            if (!storage::read_dead_bits(scan->pages.index, *scan->pages.run, page.first, page.count, dead))
                return false;
            for (uint32 i = 0; i < matches; i++)
                *count += ((dead[scan->places[i] / 64] >> (scan->places[i] % 64)) & 1) == 0 ? 1 : 0;
        } else {
            matches = count_entries(format, condition, range, page, from, to, scan->places);
            leave_page(&scan->pages);
            *count += matches;
        }
        scan->at = end;
        if (end == range.end)
            go_to_range(scan, scan->range + 1);
    }
    return true;
}

}  // namespace pg_gpu::grid
