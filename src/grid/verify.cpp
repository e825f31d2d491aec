// gpu.verify checks that entries lie in their cells, that the directory counts them, and that they agree with
// the table.
#include "grid/grid.h"
#include "grid/page_reader.h"
#include "grid/page_writer.h"

namespace pg_gpu::grid {

using namespace table;

namespace {

// Goes through a run's entries in order.
struct EntryReader {
    uint32 next_page;
    uint64 ordinal;  // ordinal of the current entry
    uint32 place;    // on the page
    BlockNumber block;
    EntryPage page;
    PGAlignedBlock image;
    uint64 dead[(kMaxOnPage + 63) / 64];
    uint64 low[kMaxArrays];  // least values of all entries
    uint64 high[kMaxArrays];
};

struct CellVerification {
    const Format *format;
    Relation index;
    TableCheck *check;
    const storage::RunEntry *run;
    DirectoryReader directory;
    EntryReader entries;
};

// This says which codes a cell accepts.
struct CellLimits {
    uint64 low[kMaxDimensions];
    uint64 high[kMaxDimensions];
    bool is_null[kMaxDimensions];   // NULLs alone
    bool is_value[kMaxDimensions];  // none
};

}  // namespace

// Reads the page with the next entry; false when it cannot be followed, which has been reported.
static bool next_page(CellVerification *state) {
    CHECK_FOR_INTERRUPTS();
    EntryReader *entries = &state->entries;
    const storage::RunEntry &run = *state->run;
    const storage::Section &section = run.sections[kEntrySection];
    if (entries->next_page == section.pages) {
        report_problem(state->check, storage::run_block(run, section.first_page), nullptr,
                       "A run holds fewer entries than recorded.");
        return false;
    }
    const uint32 position = section.first_page + entries->next_page++;
    const storage::RunPage held = storage::read_run_page(state->index, run, position, nullptr);
    if (held.page == nullptr)
        return false;  // the structural check has reported it
    entries->block = storage::run_block(run, position);
    memcpy(entries->image.data, held.page, BLCKSZ);
    storage::release_run_page(held);
    Page page = entries->image.data;
    if (storage::content_length(page) > storage::kContentBytes ||
        !open_entry_page(storage::page_content(page), storage::content_length(page),
                         state->format->array_count, &entries->page) ||
        entries->page.count > kMaxOnPage || entries->page.first != entries->ordinal ||
        entries->page.count > run.entries - entries->ordinal) {
        report_problem(state->check, entries->block, nullptr, "An entry page contradicts its run.");
        return false;
    }
    entries->place = 0;
    return storage::read_dead_bits(state->index, run, entries->page.first, entries->page.count,
                                   entries->dead);
}

static bool is_inside(const Format &format, const CellLimits &limits, const uint64 *row) {
    for (int i = 0; i < format.dimension_count; i++) {
        const uint64 code = row[1 + format.dimension_lanes[i]];
        if ((place_nulls(row[0]) & format.dimension_columns[i]) != 0) {
            if (limits.is_value[i])
                return false;
        } else if (limits.is_null[i] || code < limits.low[i] || code > limits.high[i]) {
            return false;
        }
    }
    return true;
}

// A code has no more bits than its type, a mask none for columns that are not there.
static bool is_possible(const Format &format, const uint64 *row) {
    if ((place_nulls(row[0]) & ~format.all_null) != 0)
        return false;
    for (int i = 0; i < format.lane_count; i++)
        if ((row[1 + i] & ~low_mask(format.lanes[i].width)) != 0)
            return false;
    return true;
}

static size_t put_fingerprint(const Format &format, const uint64 *row, unsigned char *fingerprint) {
    const size_t bytes = static_cast<size_t>(format.row_words) * sizeof(uint64);
    memcpy(fingerprint, row, bytes);
    return bytes;
}
static_assert((1 + kMaxLanes) * sizeof(uint64) <= kMaxFingerprint);

// Checks the entries up to ordinal `end`, which belong to a cell.
static bool verify_entries(CellVerification *state, const CellLimits &limits, uint64 end) {
    const Format &format = *state->format;
    EntryReader *entries = &state->entries;
    for (; entries->ordinal < end; entries->ordinal++, entries->place++) {
        if (entries->place == entries->page.count && !next_page(state))
            return false;
        uint64 row[1 + kMaxLanes];
        read_row(format, entries->page, entries->place, row);
        widen_bounds(format, row, 1, entries->low, entries->high);
        const ItemPointerData tid = place_tid(row[0]);
        if (!is_possible(format, row))
            report_problem(state->check, entries->block, &tid, "An entry holds what its columns cannot.");
        else if (!is_inside(format, limits, row))
            report_problem(state->check, entries->block, &tid, "An entry lies outside its cell.");
        if (!((entries->dead[entries->place / 64] >> (entries->place % 64)) & 1)) {
            unsigned char fingerprint[kMaxFingerprint];
            const size_t bytes = put_fingerprint(format, row, fingerprint);
            note_entry(state->check, entries->block, fingerprint, bytes, tid);
        }
    }
    return true;
}

static BlockNumber directory_block(const CellVerification &state) {
    return storage::run_block(*state.run, state.run->sections[kDirectorySection].first_page);
}

static bool verify_grid(CellVerification *state, uint64 word, const CellLimits &limits);

static bool verify_cell(CellVerification *state, const GridHead &grid, uint64 number, const CellEntry *cells,
                        CellLimits limits) {
    const Format &format = *state->format;
    const EntryReader &entries = state->entries;
    for (int i = 0; i < format.dimension_count; i++) {
        const auto coordinate = static_cast<uint32>(number / grid.strides[i]);
        number %= grid.strides[i];
        limits.is_null[i] = coordinate >= grid.intervals[i];
        limits.is_value[i] = !limits.is_null[i];
        CellBounds bounds = {};
        bounds.low[i] = limits.low[i];
        bounds.high[i] = limits.high[i];
        if (!narrow_bounds(&state->directory, grid, i, coordinate, &bounds))
            return false;
        limits.low[i] = bounds.low[i];
        limits.high[i] = bounds.high[i];
    }
    // The page of a cell's first entry, or the one before.
    const bool on_current = entries.place < entries.page.count;
    const uint32 page = entries.next_page - (on_current || entries.next_page > 0 ? 1 : 0);
    if (cells[0].first != entries.ordinal || (cells[0].first < cells[1].first && cells[0].page != page &&
                                              (on_current || cells[0].page != page + 1))) {
        report_problem(state->check, directory_block(*state), nullptr,
                       "A cell is not where its grid's directory says.");
        return false;
    }
    return cells[0].grid != 0 ? verify_grid(state, cells[0].grid, limits)
                              : verify_entries(state, limits, cells[1].first);
}

static bool verify_grid(CellVerification *state, uint64 word, const CellLimits &limits) {
    check_stack_depth();
    GridHead grid;
    if (!read_grid_head(&state->directory, word, &grid))
        return false;
    for (uint64 number = 0; number < grid.cells; number++) {
        CellEntry cells[2];
        if (!read_cells(&state->directory, word, grid, number, 2, cells) ||
            !verify_cell(state, grid, number, cells, limits))
            return false;
    }
    return true;
}

// Checks what the directory says of all entries together.
static bool verify_summary(CellVerification *state) {
    const Format &format = *state->format;
    uint64 bounds[2 * kMaxArrays];
    if (!read_words(&state->directory, 0, summary_words(format.array_count), bounds))
        return false;
    for (int i = 0; i < format.array_count; i++) {
        if (bounds[2 * i] == state->entries.low[i] && bounds[2 * i + 1] == state->entries.high[i])
            continue;
        report_problem(state->check, directory_block(*state), nullptr,
                       "A run's entries lie outside of its bounds.");
        break;
    }
    return true;
}

static void verify_run(void *context, const storage::RunEntry &run) {
    auto *state = static_cast<CellVerification *>(context);
    const Format &format = *state->format;
    state->run = &run;
    begin_directory(&state->directory, state->index, &format, &run);
    state->directory.tolerant = true;
    EntryReader *entries = &state->entries;
    entries->next_page = 0;
    entries->ordinal = 0;
    entries->place = 0;
    entries->page.count = 0;
    reset_bounds(format, entries->low, entries->high);
    CellLimits limits = {};
    for (int i = 0; i < format.dimension_count; i++)
        limits.high[i] = low_mask(format.lanes[format.dimension_lanes[i]].width);
    const bool whole = run.access_method_data[0] == 0
                           ? verify_entries(state, limits, run.entries)
                           : verify_grid(state, root_word(format), limits) && verify_summary(state);
    if (state->directory.damaged)
        report_problem(state->check, directory_block(*state), nullptr,
                       "A grid's directory contradicts itself.");
    else if (whole &&
             (entries->ordinal != run.entries || entries->next_page != run.sections[kEntrySection].pages))
        report_problem(state->check, directory_block(*state), nullptr,
                       "A grid's cells do not hold all entries.");
    end_directory(&state->directory);
}

static size_t fingerprint_row(void *context, const Datum *values, const bool *nulls,
                              const ItemPointerData &tid, unsigned char *fingerprint) {
    const auto *state = static_cast<const CellVerification *>(context);
    uint64 row[1 + kMaxLanes];
    encode_row(*state->format, values, nulls, tid, row);
    return put_fingerprint(*state->format, row, fingerprint);
}

// ---- the steps --------------------------------------------------------------------------------------------

static void *begin_verification(TableCheck *check) {
    auto *state = allocate_zeroed<CellVerification>(1);
    state->format = format_of(check->index);
    state->index = check->index;
    state->check = check;
    return state;
}

static void verify_tail(void *context, const storage::Items &tail) {
    auto *state = static_cast<CellVerification *>(context);
    const Format &format = *state->format;
    for (uint32 at = 0; at < tail.bytes; at += format.tail_tuple_bytes) {
        uint64 row[1 + kMaxLanes];
        unsigned char fingerprint[kMaxFingerprint];
        read_tail_tuple(format, tail.tail_tuples + at, row);
        const size_t bytes = put_fingerprint(format, row, fingerprint);
        note_entry(state->check, storage::kTailBlock, fingerprint, bytes, place_tid(row[0]));
    }
}

const VerifySteps *verify_steps(Relation) {
    static constexpr VerifySteps steps = {
        .begin = begin_verification,
        .verify_tail = verify_tail,
        .verify_run = verify_run,
        .fingerprint_row = fingerprint_row,
    };
    return &steps;
}

}  // namespace pg_gpu::grid
