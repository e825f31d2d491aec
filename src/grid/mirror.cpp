#include "grid/mirror.h"

#include "grid/grid.h"
#include "table/table.h"
#include "request_kinds.h"

namespace pg_gpu::grid {

// ---- the mirror's format ---------------------------------------------------------------------------------

static uint64 mirrored_entries(const storage::RunEntry &run) {
    return run.entries;
}

static bool is_mirrored(const Format &format) {
    return format.lane_count <= kMaxGridColumns;
}

// Returns whether a lane is the lower half of a code of 128 bits.
static bool is_lower_lane(const Format &format, int lane) {
    const Column &column = format.columns[format.lanes[lane].column];
    return column.lane_count == 2 && !column.is_point && lane > column.first_lane;
}

static uint8 key_bytes(const Format &format, int lane) {
    return format.lanes[lane].width <= 32 ? 4 : 8;
}

const client::MirrorFormat *mirror_format(Relation index) {
    const Format &format = *format_of(index);
    if (!is_mirrored(format))
        return nullptr;
    auto *mirror = allocate_zeroed<GridMirror>(1);
    int key_bits = 0;
    mirror->columns = static_cast<uint32>(format.lane_count);
    for (int i = 0; i < format.lane_count; i++) {
        mirror->key_bytes[i] = key_bytes(format, i);
        mirror->null_bit[i] = format.lanes[i].column;
        mirror->unsplit |= is_lower_lane(format, i) ? 1U << i : 0U;
        key_bits += mirror->key_bytes[i] * 8;
    }
    mirror->bucket = bucket_of(index);
    mirror->distinct = split_rule_of(index) == SplitRule::Distinct;
    mirror->kind = &grid_mirror;
    mirror->key_bits = key_bits;
    mirror->mirrored_entries = mirrored_entries;
    return mirror;
}

// ---- boxes -----------------------------------------------------------------------------------------------

bool begin_boxes(BoxList *boxes, const Format *format, uint32 most) {
    if (!is_mirrored(*format))
        return false;
    *boxes = {};
    boxes->format = format;
    boxes->open_in_all = 0xff;
    for (int i = 0; i < format->lane_count; i++) {
        boxes->low[i] = allocate<char>(uint64{most} * key_bytes(*format, i) + 1);
        boxes->high[i] = allocate<char>(uint64{most} * key_bytes(*format, i) + 1);
    }
    boxes->open = allocate<uint8>(uint64{most} + 1);
    boxes->null = allocate<uint8>(uint64{most} + 1);
    return true;
}

static void set_bounds(BoxList *boxes, int lane, uint64 low, uint64 high) {
    if (key_bytes(*boxes->format, lane) == 8) {
        static_cast<uint64 *>(boxes->low[lane])[boxes->count] = low;
        static_cast<uint64 *>(boxes->high[lane])[boxes->count] = high;
        return;
    }
    // Lanes of the server's width have no code beyond the greatest 32-bit one, so that a range above it is
    // empty.
    const bool is_empty = low > PG_UINT32_MAX || low > high;
    static_cast<uint32 *>(boxes->low[lane])[boxes->count] = is_empty ? 1 : static_cast<uint32>(low);
    static_cast<uint32 *>(boxes->high[lane])[boxes->count] =
        is_empty ? 0 : static_cast<uint32>(Min(high, uint64{PG_UINT32_MAX}));
}

// Codes of 128 bits are in a box when the range has one upper half, or whole ones.
static bool narrow_lower_lanes(const Format &format, Condition *condition) {
    for (int i = 0; i < condition->test_count; i++) {
        const ColumnTest &test = condition->tests[i];
        if (test.kind != ColumnTest::Kind::Wide)
            return false;
        const Uint128 low = test.low.bits();
        const Uint128 high = test.high.bits();
        const Column &column = format.columns[test.column];
        LaneRange *upper = &condition->lanes[column.first_lane];
        LaneRange *lower = upper + 1;
        const auto below = static_cast<uint64>(low);
        const auto above = static_cast<uint64>(high);
        if (upper->low < upper->high && (below != 0 || above != PG_UINT64_MAX))
            return false;
        // A single upper half is left, so that only the ends of a range that lie in it narrow the lower half.
        if (static_cast<uint64>(low >> 64) == upper->low)
            lower->low = Max(lower->low, below);
        if (static_cast<uint64>(high >> 64) == upper->high)
            lower->high = Min(lower->high, above);
        if (lower->low > lower->high)
            condition->nothing = true;
    }
    return true;
}

bool add_box(BoxList *boxes, const Condition &requested) {
    const Format &format = *boxes->format;
    Condition condition = requested;
    if (!condition.nothing && !narrow_lower_lanes(format, &condition))
        return false;
    uint8 open = 0;
    uint8 null = 0;
    for (int i = 0; i < format.lane_count; i++) {
        const auto lane = static_cast<uint8>(1U << i);
        const auto column = static_cast<NullMask>(1U << format.lanes[i].column);
        if (condition.nothing)
            set_bounds(boxes, i, 1, 0);
        else
            set_bounds(boxes, i, condition.lanes[i].low, condition.lanes[i].high);
        if (condition.nothing)
            continue;
        if ((condition.nulls & column) != 0)
            null |= lane;
        else if ((condition.not_nulls & column) == 0)
            open |= lane;
    }
    boxes->open[boxes->count] = open;
    boxes->null[boxes->count] = null;
    boxes->open_in_all &= open;
    boxes->open_in_some |= open;
    boxes->null_in_some |= null;
    boxes->count++;
    return true;
}

uint64 lowest_code(const BoxList &boxes, uint32 i, int lane) {
    return key_bytes(*boxes.format, lane) == 8 ? static_cast<uint64 *>(boxes.low[lane])[i]
                                               : static_cast<uint32 *>(boxes.low[lane])[i];
}

void free_boxes(const BoxList &boxes) {
    for (int i = 0; i < boxes.format->lane_count; i++) {
        pfree(boxes.low[i]);
        pfree(boxes.high[i]);
    }
    pfree(boxes.open);
    pfree(boxes.null);
}

bool is_in_box(const BoxList &boxes, uint32 i, const uint64 *row) {
    const Format &format = *boxes.format;
    const NullMask nulls = place_nulls(row[0]);
    for (int lane = 0; lane < format.lane_count; lane++) {
        if ((boxes.open[i] >> lane) & 1)
            continue;
        const bool is_null = (nulls >> format.lanes[lane].column) & 1;
        if (is_null != ((boxes.null[i] >> lane) & 1))
            return false;
        if (is_null)
            continue;
        const uint64 code = row[1 + lane];
        if (key_bytes(format, lane) == 8 ? code < static_cast<uint64 *>(boxes.low[lane])[i] ||
                                               code > static_cast<uint64 *>(boxes.high[lane])[i]
                                         : code < static_cast<uint32 *>(boxes.low[lane])[i] ||
                                               code > static_cast<uint32 *>(boxes.high[lane])[i])
            return false;
    }
    return true;
}

Boxes boxes_of(const BoxList &list) {
    Boxes boxes = {};
    for (int i = 0; i < list.format->lane_count; i++) {
        if ((list.open_in_all >> i) & 1)
            continue;
        boxes.low[i] = list.low[i];
        boxes.high[i] = list.high[i];
    }
    boxes.open = (list.open_in_some & ~list.open_in_all) != 0 ? list.open : nullptr;
    boxes.null = list.null_in_some != 0 ? list.null : nullptr;
    boxes.count = list.count;
    return boxes;
}

// ---- requests --------------------------------------------------------------------------------------------

client::RunSet run_set(const ViewReader &reader, const client::MirrorFormat *format) {
    return {reader.index,     reader.format,         format,
            reader.view.runs, reader.view.run_count, reader.view.vacuum_seq};
}

client::Choice choose_path(const ViewReader &reader, const client::MirrorFormat *format,
                           client::RequestKind kind, uint32 boxes, const Effort &effort,
                           const bool **is_local) {
    client::Request request = {};
    request.index = RelationGetRelid(reader.index);
    request.learns = true;
    request.kind = kind;
    request.key_bits = format->key_bits;
    request.items = boxes;
    for (int i = 0; i < reader.view.run_count; i++) {
        if (!client::is_worth_mirroring(*format, reader.view.runs[i]))
            continue;
        request.runs++;
        request.entries += reader.view.runs[i].entries;
    }
    request.results = effort.on_pages;
    request.server_results = effort.on_server;
    *is_local = nullptr;
    if (request.runs == 0) {
        client::note_unsuited(kind, request.index, client::kAllRunsAreSmall);
        return {client::Path::Paged, 0};
    }
    const client::Choice choice = client::choose_path(request);
    if (choice.path == client::Path::Paged)
        return choice;
    auto *chosen = allocate<bool>(static_cast<size_t>(reader.view.run_count));
    *is_local = chosen;
    return client::share_out(run_set(reader, format), choice, kind, chosen)
               ? choice
               : client::Choice{client::Path::Paged, 0};
}

bool read_local_runs(ViewReader *reader, const bool *is_local, uint64 max_entries, LocalRuns *local) {
    storage::View *view = &reader->view;
    const auto runs = static_cast<size_t>(view->run_count);
    auto *for_tail = allocate_zeroed<bool>(runs + 1);
    *local = {allocate<storage::RunEntry>(runs + 1), 0};
    int kept = 0;
    for (int i = 0; i < view->run_count; i++) {
        const storage::RunEntry run = view->runs[i];
        if (is_local[i] && run.entries > max_entries) {
            local->runs[local->count++] = run;
            continue;
        }
        for_tail[kept] = is_local[i];
        view->runs[kept++] = run;
    }
    view->run_count = kept;
    return read_into_tail(reader, for_tail);
}

uint64 entries_to_look_at(RunScan *scan, const Condition &condition, bool all) {
    if (!find_matches(scan, condition))
        return 0;
    uint64 entries = 0;
    for (uint64 i = 0; i < scan->ranges.count; i++) {
        const EntryRange &range = scan->ranges.ranges[i];
        if (all || range.dimensions != 0 || range.mixed)
            entries += range.end - range.begin;
    }
    return entries;
}

// Is estimated by the last run, as a rule the largest, and is 0 when there is none.
static uint64 expected_matches(ViewReader *reader) {
    const storage::View &view = reader->view;
    uint64 entries = 0;
    for (int i = 0; i < view.run_count; i++)
        entries += view.runs[i].entries;
    if (entries < kFewestEntries)
        return 0;
    const storage::RunEntry *last = &view.runs[view.run_count - 1];
    auto *scan = allocate<RunScan>(1);
    begin_run_scan(scan, reader->index, reader->format, last);
    const uint64 matches = entries_to_look_at(scan, *reader->condition, true);
    end_run_scan(scan);
    pfree(scan);
    return static_cast<uint64>(static_cast<double>(matches) * static_cast<double>(entries) /
                               static_cast<double>(last->entries));
}

static void take_result(ViewReader *reader, const client::EntriesResult &result, const BatchSink &sink) {
    auto *batch = allocate<Batch>(1);
    batch->rows = nullptr;
    const auto words = static_cast<size_t>(reader->format->row_words);
    for (uint32 done = 0; done < reader->tail_count; done += batch->count) {
        batch->count = Min(reader->tail_count - done, kMaxOnPage);
        for (uint32 i = 0; i < batch->count; i++)
            batch->tids[i] = place_tid(reader->tail[(done + i) * words]);
        check_tids(reader, *batch);
        sink.add(sink.context, batch);
    }
    for (int run = 0; run < reader->view.run_count; run++) {
        const uint64 found = result.runs[run].entries;
        for (uint64 done = 0; done < found; done += batch->count) {
            batch->count = static_cast<uint32>(Min(found - done, uint64{kMaxOnPage}));
            memcpy(batch->tids, result.runs[run].tids + done, batch->count * sizeof(ItemPointerData));
            check_tids(reader, *batch);
            sink.add(sink.context, batch);
        }
    }
    pfree(batch);
}

bool search_on_server(ViewReader *reader, const BatchSink &sink) {
    BoxList boxes;
    if (reader->condition->nothing || reader->view.run_count == 0 || !client::may_use_server(1, 1) ||
        !begin_boxes(&boxes, reader->format, 1) || !add_box(&boxes, *reader->condition))
        return false;
    const uint64 matches = client::is_path_forced() ? 0 : expected_matches(reader);
    if (!client::is_path_forced() && matches < kFewestEntries)
        return false;
    const client::MirrorFormat *format = mirror_format(reader->index);
    auto *result = allocate<client::EntriesResult>(1);
    bool answered = false;
    for (int tries = 0; !answered && tries < kMaxServerTries; tries++) {
        CHECK_FOR_INTERRUPTS();
        const bool *is_local;
        const client::Choice choice = choose_path(*reader, format, client::RequestKind::SearchGrid,
                                                  boxes.count, {matches, matches}, &is_local);
        if (choice.path == client::Path::Paged)
            break;
        LocalRuns local;
        answered = read_local_runs(reader, is_local, PG_UINT64_MAX, &local) &&
                   search_grid(run_set(*reader, format), choice, boxes_of(boxes), 0, result) &&
                   result->items == boxes.count;
        if (answered)
            take_result(reader, *result, sink);
        else
            renew_view(reader);
        if (!answered && !client::may_share_out_again())
            break;
    }
    pfree(result);
    return answered;
}

}  // namespace pg_gpu::grid
