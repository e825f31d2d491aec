#include "column/scan/mirror.h"
#include "column/scan/cached_results.h"
#include "column/scan/remote_rows.h"
#include "column/scan/string_tests.h"

#include "rpc/rpc.h"

#include "table/table.h"
#include "request_kinds.h"

namespace pg_gpu::column {

// ---- the mirror's format ---------------------------------------------------------------------------------

// Sealed tails are read by sessions.
static uint64 mirrored_entries(const storage::RunEntry &run) {
    return layout_of(run) == Layout::Columns ? run.entries : 0;
}

static uint64 stream_bytes(const storage::RunEntry &run) {
    return stream_words(run) * sizeof(uint64);
}

static gpu_engine::WordArea area_of(const Area &area) {
    return {area.first_word, area.words};
}

static bool describe_run(Relation index, const storage::RunEntry &run, gpu_engine::StoreLayout *layout) {
    static_assert(kMaxColumns <= static_cast<int>(gpu_engine::max_store_columns));
    static_assert(kDictionaryBlock == gpu_engine::string_block);
    static_assert(static_cast<int>(Encoding::Dictionary) ==
                      static_cast<int>(gpu_engine::ColumnEncoding::dictionary) &&
                  static_cast<int>(Encoding::Frame) == static_cast<int>(gpu_engine::ColumnEncoding::frame) &&
                  static_cast<int>(Encoding::Plain) == static_cast<int>(gpu_engine::ColumnEncoding::plain));
    const Format *format = make_format(index);
    auto *reader = allocate<RunReader>(1);
    open_header(reader, index, run, *format);
    const bool valid = !reader->stale;
    *layout = {};
    layout->rows = run.entries;
    layout->stream_words = stream_words(run);
    layout->tid_pages = run.sections[kTidSection].pages;
    layout->page_bytes = BLCKSZ;
    layout->first_byte = storage::kContentStart;
    layout->page_words = kWordsPerPage;
    layout->columns = static_cast<uint32>(format->columns);
    for (int i = 0; valid && i < format->columns; i++) {
        const ColumnHeader &header = reader->header.column[i];
        const bool is_integer = format->types[i].is_integer || is_scaled(header);
        gpu_engine::StoredColumn *column = &layout->column[i];
        // The engine needn't know where the point is.
        column->encoding = is_scaled(header) ? gpu_engine::ColumnEncoding::frame
                                             : static_cast<gpu_engine::ColumnEncoding>(header.encoding);
        column->bits = header.bits;
        column->entry_bits = is_integer ? header.entry_bits : 0;
        column->strings = is_integer ? 0 : 1;
        column->base = is_integer ? header.base : 0;
        column->distinct = is_dictionary(header) ? header.distinct : 0;
        column->null_bits = area_of(header.null_bits);
        column->codes = area_of(header.codes);
        // Numerics are compared as numbers, never by their bytes.
        const bool has_strings = !is_integer && format->types[i].base_type != NUMERICOID;
        if (is_dictionary(header) && (is_integer || has_strings))
            column->dictionary = area_of(header.dictionary);
        if (is_dictionary(header) && has_strings) {
            column->string_bytes = header.dictionary_bytes;
            column->blocks = area_of(header.blocks);
        }
    }
    pfree(reader);
    return valid;
}

const client::MirrorFormat *mirror_format(Relation) {
    // A session numbers the strings of a run without a mirror anew in each statement.
    constexpr uint32 usual_bytes = 4;
    static constexpr ColumnMirror format = {
        {&column_mirror, 0, mirrored_entries, usual_bytes}, describe_run, stream_bytes};
    return &format;
}

// ---- tests -----------------------------------------------------------------------------------------------

using gpu_engine::ColumnTarget;
using gpu_engine::TargetKind;
using gpu_engine::TestKind;

static void add_test(RemoteRows *rows, const gpu_engine::ColumnTest &test, int place) {
    if (rows->test_count == rows->test_room) {
        rows->test_room = Max(rows->test_room * 2, 16);
        rows->tests = rows->tests == nullptr ? allocate<RowTest>(static_cast<size_t>(rows->test_room))
                                             : reallocate(rows->tests, static_cast<size_t>(rows->test_room));
    }
    rows->tests[rows->test_count++] = {test, place};
}

static gpu_engine::ColumnTest range_test(int column, const CodeRange *ranges, uint32 count) {
    static_assert(sizeof(CodeRange) == sizeof(gpu_engine::ValueRange));
    return {TestKind::ranges, static_cast<uint32>(column),
            reinterpret_cast<const gpu_engine::ValueRange *>(ranges), nullptr, count};
}

void add_range_test(RemoteRows *rows, int column, const CodeRange *ranges, uint32 count) {
    add_test(rows, range_test(column, ranges, count), kAllRuns);
}

static bool are_codes_listed(const ColumnHeader &header) {
    return is_dictionary(header) || header.bits <= kMaxListedBits;
}

bool has_counted_codes(const RemoteRows &rows, int column) {
    for (int run = 0; run < rows.view->run_count; run++)
        if (is_remote(rows.view, run) && !are_codes_listed(rows.view->runs[run].header.column[column])) {
            client::decline(rows.kind, rows.choice, "a column has too many values to count each");
            return false;
        }
    return true;
}

// Must a key be kept from values of a run that no visible row has? Integers without a dictionary needn't be
// values at all.
static bool needs_visible_codes(ColumnView *view, int run, const Condition &condition, int column,
                                KeysToApply which) {
    const ColumnHeader &header = view->runs[run].header.column[column];
    return !(is_dictionary(header) || is_scaled(header)) ||
           (which == KeysToApply::Unsafe && use_cached_codes(view, run, column, condition, which) == nullptr);
}

static bool is_applied(const Key &key, int column, KeysToApply which) {
    return key.column == column && key.is_safe == (which == KeysToApply::Safe);
}

// Numerics that are integers have ranges then, which aren't the same in all runs.
static bool compares_numerics_only(const Condition &condition, int column, KeysToApply which) {
    for (int i = 0; i < condition.count; i++) {
        const Key &key = condition.keys[i];
        if (is_applied(key, column, which) && key.kind == KeyKind::Evaluate && !key.compares_numerics)
            return false;
    }
    return true;
}

static void add_scaled_tests(RemoteRows *rows, int run, const Condition &condition, int column,
                             KeysToApply which) {
    const uint8 scale = rows->view->runs[run].header.column[column].scale;
    for (int i = 0; i < condition.count; i++) {
        const Key &key = condition.keys[i];
        if (!is_applied(key, column, which) || !key.compares_numerics)
            continue;
        const CodeRanges &ranges = ranges_of_scale(key, scale);
        add_test(rows, range_test(column, ranges.item, ranges.count), rows->set_places[run]);
    }
}

// Returns what the server says of the entries of runs, by run, and keeps it for statements to come; nullptr
// where the session has to look at them. No operator is called, so none sees a value.
static uint8 **match_runs_on_server(RemoteRows *rows, const Condition &condition, int column,
                                    KeysToApply which) {
    ColumnView *view = rows->view;
    auto **matches = allocate_zeroed<uint8 *>(static_cast<size_t>(view->run_count) + 1);
    const ColumnKeys keys = keys_of_column(condition, column, which);
    for (int run = 0; run < view->run_count; run++) {
        const ColumnHeader &header = view->runs[run].header.column[column];
        if (!is_remote(view, run) || !is_dictionary(header) ||
            use_cached_codes(view, run, column, condition, which) != nullptr)
            continue;
        const uint64 changes = count_changes();
        auto *match = allocate_zeroed<uint8>(groups_of(UINT64CONST(1) << header.bits) * kGroup);
        if (!match_on_server(rows, run, keys, match)) {
            pfree(match);
            continue;
        }
        matches[run] = match;
        (void)cache_matching_codes(&view->runs[run], keys, match, changes);
    }
    return matches;
}

// A set of the codes that match the column's keys, for each run. Where values may be nothing an operator is
// to see, only those that visible rows have are looked at.
static bool add_code_tests(RemoteRows *rows, const Condition &condition, int column, KeysToApply which) {
    ColumnView *view = rows->view;
    if (!compares_numerics_only(condition, column, which) && !has_counted_codes(*rows, column))
        return false;
    uint8 **by_server = match_runs_on_server(rows, condition, column, which);
    bool only_selected = false;
    for (int run = 0; run < view->run_count; run++)
        only_selected = only_selected || (is_remote(view, run) && by_server[run] == nullptr &&
                                          needs_visible_codes(view, run, condition, column, which));
    if (only_selected && !count_remote_codes(rows, column))
        return false;
    for (int run = 0; run < view->run_count; run++) {
        if (!is_remote(view, run))
            continue;
        if (is_scaled(view->runs[run].header.column[column])) {
            add_scaled_tests(rows, run, condition, column, which);
            continue;
        }
        const uint64 codes = UINT64CONST(1) << view->runs[run].header.column[column].bits;
        if (const uint64 *cached = use_cached_codes(view, run, column, condition, which)) {
            add_test(rows, {TestKind::codes, static_cast<uint32>(column), nullptr, cached, groups_of(codes)},
                     rows->set_places[run]);
            continue;
        }
        auto *match = by_server[run];
        if (match == nullptr) {
            match = allocate_zeroed<uint8>(groups_of(codes) * kGroup);
            if (!only_selected)
                memset(match, 1, view->runs[run].header.column[column].distinct);
            for (uint64 code = 0; only_selected && code < view->counted[run].codes; code++)
                match[code] = view->counted[run].by_code[code] > 0 ? 1 : 0;
            match_codes(view, run, column, condition, which, match);
        }
        const uint64 words = groups_of(codes);
        auto *set = allocate<uint64>(words + 1);
        for (uint64 word = 0; word < words; word++)
            set[word] = pack_bits(match + word * 64);
        pfree(match);
        add_test(rows, {TestKind::codes, static_cast<uint32>(column), nullptr, set, words},
                 rows->set_places[run]);
    }
    view->counted = nullptr;
    return !is_stale(view);
}

bool add_tests(RemoteRows *rows, const Condition &condition, KeysToApply which) {
    for (int column = 0; column < rows->view->format->columns; column++) {
        bool by_code = false;
        for (int i = 0; i < condition.count; i++) {
            const Key &key = condition.keys[i];
            if (!is_applied(key, column, which))
                continue;
            const auto number = static_cast<uint32>(column);
            switch (key.kind) {
                case KeyKind::IsNull:
                    add_test(rows, {TestKind::is_null, number, nullptr, nullptr, 0}, kAllRuns);
                    break;
                case KeyKind::IsNotNull:
                    add_test(rows, {TestKind::is_value, number, nullptr, nullptr, 0}, kAllRuns);
                    break;
                case KeyKind::Ranges:
                    add_range_test(rows, column, key.ranges.item, key.ranges.count);
                    break;
                default:
                    by_code = true;
            }
        }
        if (by_code && !add_code_tests(rows, condition, column, which))
            return false;
    }
    return true;
}

// ---- requests --------------------------------------------------------------------------------------------

static uint64 codes_of(const ColumnHeader &header) {
    return is_dictionary(header) ? header.distinct : UINT64CONST(1) << header.bits;
}

// Calls add_row(number) for the visible ones among the rows of a run that the server can't tell about.
template <typename AddRow>
static void add_visible(table::RowChecker *checker, BlockNumber index_block, const ColumnCounts &counts,
                        AddRow add_row) {
    auto *tids = allocate<ItemPointerData>(counts.found + 1);
    auto *visible = allocate<bool>(counts.found + 1);
    for (uint64 i = 0; i < counts.found; i++)
        memcpy(&tids[i], &counts.unresolved[i].tid, sizeof(tids[i]));
    table::check_rows(checker, index_block, tids, counts.found, visible);
    for (uint64 i = 0; i < counts.found; i++)
        if (visible[i])
            add_row(counts.unresolved[i].number);
    pfree(visible);
    pfree(tids);
}

// Calls add_counts(run, counts) with what the server has counted of each run, and add_row(run, number) for
// the visible ones among the rows it can't tell about.
template <typename AddCounts, typename AddRow>
static bool submit(RemoteRows *rows, const ColumnTarget &target, AddCounts add_counts, AddRow add_row) {
    const ColumnView *view = rows->view;
    auto *places = allocate_zeroed<uint64>(static_cast<size_t>(rows->set.count) + 1);
    for (int run = 0; run < view->run_count; run++) {
        if (!is_remote(view, run))
            continue;
        uint64 *count = &places[rows->set_places[run]];
        switch (target.kind) {
            case TargetKind::rows:
                *count = 1;
                break;
            case TargetKind::bins:
                *count = uint64{target.slots} + 1;
                break;
            case TargetKind::codes:
                *count = codes_of(view->runs[run].header.column[target.column]) + 1;
                break;
            default:
                *count = gpu_engine::bounds_places;
        }
    }
    auto *result = allocate<ColumnsResult>(1);
    const RowTests tests = {rows->tests, rows->test_count};
    const bool answered = count_column(rows->set, rows->choice, tests, target, places, rows->visible, result);
    for (int run = 0; answered && run < view->run_count; run++) {
        if (!is_remote(view, run))
            continue;
        const ColumnCounts &counts = result->runs[rows->set_places[run]];
        add_counts(run, counts.counts);
        add_visible(&rows->checker, storage::run_block(view->runs[run].run, 0), counts,
                    [&](uint64 number) { add_row(run, number); });
    }
    pfree(result);
    pfree(places);
    return answered;
}

static ColumnTarget target_of(TargetKind kind, int column) {
    ColumnTarget target = {};
    target.kind = kind;
    target.column = static_cast<uint32>(column);
    return target;
}

bool count_remote_rows(RemoteRows *rows, uint64 *count) {
    *count = 0;
    return submit(
        rows, target_of(TargetKind::rows, 0), [count](int, const uint64 *counts) { *count += counts[0]; },
        [count](int, uint64) { ++*count; });
}

bool count_remote_bins(RemoteRows *rows, const ColumnTarget &bins, uint64 *counts) {
    return submit(
        rows, bins,
        [&](int, const uint64 *run_counts) {
            for (uint32 slot = 0; slot <= bins.slots; slot++)
                counts[slot] += run_counts[slot];
        },
        [&](int, uint64 slot) { counts[slot]++; });
}

bool count_remote_codes(RemoteRows *rows, int column) {
    ColumnView *view = rows->view;
    auto *counted = allocate_zeroed<RemoteCounts>(static_cast<size_t>(view->run_count) + 1);
    const bool answered = submit(
        rows, target_of(TargetKind::codes, column),
        [&](int run, const uint64 *counts) {
            RemoteCounts *own = &counted[run];
            own->codes = codes_of(view->runs[run].header.column[column]);
            own->by_code = allocate<uint64>(own->codes + 1);
            memcpy(own->by_code, counts, own->codes * sizeof(uint64));
            own->nulls = counts[own->codes];
        },
        [&](int run, uint64 code) {
            RemoteCounts *own = &counted[run];
            ++(code == own->codes ? own->nulls : own->by_code[code]);
        });
    view->counted = answered ? counted : nullptr;
    return answered;
}

bool find_remote_bounds(RemoteRows *rows, int column, bool *any, uint64 *least, uint64 *greatest) {
    *any = false;
    const auto widen = [&](uint64 low, uint64 high) {
        *least = *any ? Min(*least, low) : low;
        *greatest = *any ? Max(*greatest, high) : high;
        *any = true;
    };
    return submit(
        rows, target_of(TargetKind::bounds, column),
        [&](int, const uint64 *counts) {
            if (counts[0] > 0)
                widen(counts[1], counts[2]);
        },
        [&](int, uint64 value) { widen(value, value); });
}

// ---- bitmap scans ----------------------------------------------------------------------------------------

static bool match_in_view(RemoteRows *rows, const Condition &condition, TidSink sink, void *context) {
    ColumnView *view = rows->view;
    // Nobody's visibility is in question.
    rows->visible = {{}, true};
    if (!add_tests(rows, condition, KeysToApply::Safe))
        return false;
    select_matching(view, condition, KeysToApply::Safe);
    auto *result = allocate<RowsResult>(1);
    const RowTests tests = {rows->tests, rows->test_count};
    if (!match_column(rows->set, rows->choice, tests, result))
        return false;
    for (int run = 0; run < view->run_count; run++) {
        if (!is_remote(view, run)) {
            give_selected(view, run, sink, context);
            continue;
        }
        const int place = rows->set_places[run];
        for (uint64 i = 0; i < result->found[place]; i++)
            if (unlikely(!table::is_tid_within(result->tids[place][i], view->heap_blocks)))
                report_damage(&view->runs[run], kTidSection, "An entry's TID lies outside the table.");
        sink(context, result->tids[place], result->found[place]);
    }
    for (uint32 i = 0; i < view->loose_count; i++)
        if (view->loose[i].selected)
            sink(context, &view->loose[i].tid, 1);
    return !is_stale(view);
}

bool match_on_server(Relation heap, Relation index, Snapshot snapshot, const Format *format,
                     const Condition &condition, TidSink sink, void *context) {
    if (condition.matches_nothing || !is_all_safe(condition) ||
        !client::may_use_server(RelationGetNumberOfBlocks(index), kFewestPagesForServer))
        return false;
    auto *rows = allocate_zeroed<RemoteRows>(1);
    if (!open_remote_view(heap, index, snapshot, format, condition,
                          {client::RequestKind::MatchColumn, 0, 0, true}, rows))
        return false;
    MemoryContext caller = MemoryContextSwitchTo(rows->view->context);
    // Which values occur in visible rows is asked before an operator that may fail is applied to them.
    table::begin_row_checker(&rows->checker, heap, index, snapshot);
    const bool answered = match_in_view(rows, condition, sink, context);
    table::end_row_checker(&rows->checker);
    MemoryContextSwitchTo(caller);
    if (answered)
        count_skipped_runs(*rows->view);
    close_view(rows->view);
    return answered;
}

}  // namespace pg_gpu::column
