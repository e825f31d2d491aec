// This file seals tails, merges runs and reads TIDs.
#include "grid/runs.h"

#include "grid/request.h"
#include "grid/collector.h"
#include "grid/grid.h"
#include "grid/page_reader.h"
#include "progress.h"

namespace pg_gpu::grid {

static void seal(const storage::RunKind *kind, const char *tail_tuples, uint32, uint32 count, Page page,
                 storage::RunEntry *) {
    const Format &format = *format_of(kind);
    // A row's words are one and one a lane; its item has 9 bytes and one a lane at least, rounded up to a
    // multiple of 4. So words are half as many as bytes at most, which seven lanes of a byte come to.
    uint64 rows[storage::kContentBytes / 2];
    Assert(count * static_cast<uint32>(format.row_words) <= lengthof(rows));
    uint64 low[kMaxArrays];
    uint64 high[kMaxArrays];
    for (uint32 i = 0; i < count; i++)
        read_tail_tuple(format, tail_tuples + i * format.tail_tuple_bytes,
                        rows + i * static_cast<uint32>(format.row_words));
    reset_bounds(format, low, high);
    widen_bounds(format, rows, count, low, high);
    storage::set_content_length(page,
                                pack_rows(format, rows, count, 0, low, high, storage::page_content(page)));
}

// ---- how many pages a merged run can take -----------------------------------------------------------------

// The runs are the caller's to change, so their pages are not recycled.
static void read_bounds(Relation index, const Format &format, const storage::RunEntry &run, uint64 *bounds) {
    if (run.access_method_data[0] > 0) {
        DirectoryReader reader;
        begin_directory(&reader, index, &format, &run);
        if (!read_words(&reader, 0, summary_words(format.array_count), bounds))
            storage::report_foreign_page(index, run, reader.position);
        end_directory(&reader);
    } else {
        PageCursor cursor;
        begin_pages(&cursor, index, &format, &run);
        if (!enter_page(&cursor, 0))
            storage::report_foreign_page(index, run, 0);
        for (int i = 0; i < format.array_count; i++) {
            const uint64 base = cursor.page.bases[i];
            const uint64 spread = low_mask(cursor.page.widths[i]);
            bounds[2 * i] = base;
            bounds[2 * i + 1] = base > PG_UINT64_MAX - spread ? PG_UINT64_MAX : base + spread;
        }
        leave_page(&cursor);
        release_page(&cursor);
    }
}

static void widen_by_run(Relation index, const Format &format, const storage::RunEntry &run, uint64 *low,
                         uint64 *high) {
    uint64 bounds[2 * kMaxArrays];
    read_bounds(index, format, run, bounds);
    for (int i = 0; i < format.array_count; i++) {
        low[i] = Min(low[i], bounds[2 * i]);
        high[i] = Max(high[i], bounds[2 * i + 1]);
    }
}

static uint32 merge_page_bound(Relation index, const storage::RunKind *kind, const storage::RunEntry *inputs,
                               int count) {
    const Format &format = *format_of(kind);
    uint64 low[kMaxArrays];
    uint64 high[kMaxArrays];
    uint64 entries = 0;
    reset_bounds(format, low, high);
    for (int i = 0; i < count; i++) {
        widen_by_run(index, format, inputs[i], low, high);
        entries += inputs[i].entries;
    }
    // All pages but the last have at least as many rows as fit a page between these bounds.
    uint32 fit = 1;
    for (uint32 step = 1024; step > 0; step /= 2)
        if (fit + step <= storage::kMaxTidsPerPage &&
            packed_bytes(format, fit + step, low, high) <= storage::kContentBytes)
            fit += step;
    return static_cast<uint32>((entries + fit - 1) / fit) + 1 +
           static_cast<uint32>((max_directory_words(entries) + kWordsPerPage - 1) / kWordsPerPage);
}

// ---- merging ----------------------------------------------------------------------------------------------

static void collect_run(Relation index, const storage::RunEntry &run, Collector *collector) {
    const Format &format = *collector->format;
    PGAlignedBlock image;
    uint64 dead[(kMaxOnPage + 63) / 64] = {};
    uint64 low[kMaxArrays];
    uint64 high[kMaxArrays];
    uint64 ordinal = 0;
    reset_bounds(format, low, high);
    for (uint32 number = 0; number < run.sections[kEntrySection].pages; number++) {
        storage::pause_merge(index);
        const uint32 position = run.sections[kEntrySection].first_page + number;
        const storage::RunPage held = storage::read_run_page(index, run, position, nullptr);
        if (held.page == nullptr)
            storage::report_foreign_page(index, run, position);
        memcpy(image.data, held.page, BLCKSZ);
        storage::release_run_page(held);
        EntryPage page;
        open_page_copy(index, format, run, number, image.data, &page);
        if (page.first != ordinal)
            storage::report_corruption(index, storage::run_block(run, position),
                                       "An entry page contradicts its run.");
        if (run.dead > 0 && !storage::read_dead_bits(index, run, page.first, page.count, dead))
            storage::report_foreign_page(index, run, run.sections[storage::kDeadBitmapSection].first_page);
        for (uint32 i = 0; i < page.count; i++) {
            if ((dead[i / 64] >> (i % 64)) & 1)
                continue;
            uint64 *row = next_row(collector);
            read_row(format, page, i, row);
            widen_bounds(format, row, 1, low, high);
        }
        ordinal += page.count;
        add_progress(page.count);
    }
    if (ordinal != run.entries)
        storage::report_corruption(index, storage::run_block(run, run.sections[kEntrySection].first_page),
                                   "A run holds fewer entries than recorded.");
    // Room was reserved by what the run says of itself.
    uint64 bounds[2 * kMaxArrays];
    read_bounds(index, format, run, bounds);
    for (int i = 0; i < format.array_count; i++)
        if (low[i] <= high[i] && (low[i] < bounds[2 * i] || high[i] > bounds[2 * i + 1]))
            storage::report_corruption(index, storage::run_block(run, 0),
                                       "A run's entries lie outside of its bounds.");
}

static void merge(Relation index, const storage::RunEntry *runs, int count, storage::RunWriter *writer,
                  storage::RunEntry *entry) {
    auto *collector = allocate<Collector>(1);
    begin_collecting(collector, format_of(index), table::maintenance_memory(), nullptr, 0);
    for (int i = 0; i < count; i++)
        collect_run(index, runs[i], collector);
    if (collector->total > 0)
        write_collected(collector, index, nullptr, 1, split_rule_of(index), writer, entry);
}

// ---- what a directory entry may say -----------------------------------------------------------------------

static bool is_valid(const storage::RunKind *kind, const storage::RunEntry &run) {
    const Format &format = *format_of(kind);
    const storage::Section &pages = run.sections[kEntrySection];
    const storage::Section &directory = run.sections[kDirectorySection];
    const uint64 words = run.access_method_data[0];
    if (run.entries == 0 || pages.pages == 0 || pages.pages > run.entries ||
        run.entries > uint64{pages.pages} * storage::kMaxTidsPerPage)
        return false;
    if (words == 0)
        return pages.pages == 1 && directory.pages == 0;
    return words > root_word(format) && words <= PG_UINT32_MAX &&
           directory.pages == (words + kWordsPerPage - 1) / kWordsPerPage;
}

static uint32 read_tids(Relation index, const storage::RunEntry &run, uint32 position, Page page,
                        ItemPointerData *tids) {
    const Format &format = *format_of(index);
    EntryPage entries;
    open_page_copy(index, format, run, position - run.sections[kEntrySection].first_page,
                   static_cast<const char *>(page), &entries);
    for (uint32 i = 0; i < entries.count; i++)
        tids[i] = read_tid(entries, i);
    return entries.count;
}

void set_run_callbacks(storage::RunKind *kind) {
    kind->name = "gpu_grid";
    kind->seal = seal;
    kind->merge_page_bound = merge_page_bound;
    kind->merge_weight = 2;
    kind->merge = merge;
    kind->merged = client::forget_inputs;
    kind->is_valid = is_valid;
    kind->read_tids = read_tids;
}

}  // namespace pg_gpu::grid
