#include "column/query/aggregate_remote.h"

#include "column/query/aggregate_run.h"
#include "request_kinds.h"

namespace pg_gpu::column {

using gpu_engine::AggregateInput;
using gpu_engine::AggregateOutcome;
using gpu_engine::AggregateProgram;
using gpu_engine::GroupTable;

static constexpr client::RequestKind kKind = client::RequestKind::AggregateColumn;

// ---- codes ------------------------------------------------------------------------------------------------

bool mark_remote_codes(RemoteCodes *codes, int run, int column, uint8 *marks, bool *any_null) {
    RemoteRows *rows = codes->rows;
    if (codes->counted[column] == nullptr) {
        if (!has_counted_codes(*rows, column) || !count_remote_codes(rows, column))
            return false;
        codes->counted[column] = rows->view->counted;
        rows->view->counted = nullptr;
    }
    const RemoteCounts &counted = codes->counted[column][run];
    for (uint64 code = 0; code < counted.codes; code++)
        marks[code] = counted.by_code[code] > 0 ? 1 : 0;
    *any_null = counted.nulls > 0;
    return true;
}

// ---- groups -----------------------------------------------------------------------------------------------

static const AggregateInput **inputs_by_place(const RemoteRows &rows, const AggregateInput *const *inputs) {
    auto **by_place = allocate_zeroed<const AggregateInput *>(static_cast<size_t>(rows.set.count) + 1);
    for (int run = 0; run < rows.view->run_count; run++)
        if (is_remote(rows.view, run))
            by_place[rows.set_places[run]] = inputs[run];
    return by_place;
}

bool submit_records(RemoteRows *rows, const AggregateProgram &program, const AggregateInput *const *inputs,
                    size_t memory, uint64 expected, const gpu_engine::AggregateTop &top,
                    FoundRecords *found) {
    found->words = program.key_words + program.value_words;
    GroupsRequest remote_request = {};
    remote_request.program = &program;
    remote_request.inputs = inputs_by_place(*rows, inputs);
    remote_request.max_groups = Max(memory / ((found->words + 1) * sizeof(uint64)), size_t{1});
    remote_request.top = top;
    remote_request.request.kind = kKind;
    remote_request.request.runs = rows->set.count;
    remote_request.request.columns = static_cast<int>(program.input_count);
    remote_request.request.results = Min(expected, remote_request.max_groups);
    for (int run = 0; run < rows->set.count; run++)
        remote_request.request.entries += rows->set.runs[run].entries;
    GroupsResult result;
    if (!aggregate_column(rows->set, rows->choice, {rows->tests, rows->test_count}, remote_request,
                          rows->visible, &result))
        return false;
    if (result.outcome != AggregateOutcome::answered) {
        client::decline(kKind, rows->choice,
                        result.outcome == AggregateOutcome::failed
                            ? "an expression overflows or divides by zero, or a sum of floats isn't exact"
                            : "work_mem has no room for the groups");
        return false;
    }
    found->groups = result.groups;
    found->unresolved = result.unresolved;
    found->counted = result.counted;
    found->group_records = result.group_records;
    found->unresolved_records = result.unresolved_records;
    return true;
}

uint64 keep_visible(RemoteRows *rows, const FoundRecords &found) {
    if (found.unresolved == 0)
        return 0;
    const uint32 stride = found.words + 1;
    auto *tids = allocate<ItemPointerData>(found.unresolved);
    auto *visible = allocate<bool>(found.unresolved);
    for (uint64 i = 0; i < found.unresolved; i++) {
        const uint64 place = found.unresolved_records[i * stride + found.words];
        ItemPointerSet(&tids[i], static_cast<BlockNumber>(place >> 16),
                       static_cast<OffsetNumber>(place & 0xffff));
    }
    table::check_rows(&rows->checker, storage::run_block(rows->view->runs[0].run, 0), tids, found.unresolved,
                      visible);
    uint64 kept = 0;
    for (uint64 i = 0; i < found.unresolved; i++)
        if (visible[i])
            memmove(found.unresolved_records + stride * kept++, found.unresolved_records + stride * i,
                    stride * sizeof(uint64));
    pfree(visible);
    pfree(tids);
    return kept;
}

// A table of the records as they are.
static GroupTable table_of(const AggregateProgram &program, const FoundRecords &found) {
    GroupTable table = {};
    table.groups = found.groups;
    table.key_words = program.key_words;
    table.value_words = program.value_words;
    table.key_word_stride = 1;
    table.key_group_stride = found.words;
    table.value_word_stride = 1;
    table.value_group_stride = found.words;
    table.keys = found.group_records;
    table.values = found.group_records + program.key_words;
    return table;
}

OwnParts find_own_parts(const RemoteRows &rows, const AggregateParts &parts,
                        const AggregateInput *const *inputs) {
    const auto count = static_cast<size_t>(parts.count) + 1;
    OwnParts own = {
        {parts.format, allocate<AggregatePart>(count), 0}, allocate<const AggregateInput *>(count), false};
    for (int part = 0; part < parts.count; part++) {
        if (part < rows.view->run_count && is_remote(rows.view, part))
            continue;
        own.inputs[own.parts.count] = inputs[part];
        own.parts.part[own.parts.count++] = parts.part[part];
        own.any = own.any || parts.part[part].rows > 0;
    }
    return own;
}

static bool is_added_up(const AggregateProgram &program, const OwnParts &own, const FoundRecords &found,
                        uint64 visible, size_t memory, GroupTable *table) {
    const size_t taken = (found.groups * found.words + found.unresolved * (found.words + 1)) * sizeof(uint64);
    AggregateGroups *groups = begin_groups(program, memory - Min(taken, memory),
                                           found.groups + visible + count_rows(own.parts), 1, 0);
    if (!add_records(groups, found.group_records, found.groups, found.words) ||
        !add_records(groups, found.unresolved_records, visible, found.words + 1) ||
        aggregate_parts(own.parts, program, own.inputs, groups) != AggregateOutcome::answered)
        return false;
    *table = finish_groups(groups);
    return true;
}

bool aggregate_on_server(RemoteRows *rows, const AggregateParts &parts, const AggregateProgram &program,
                         const AggregateInput *const *inputs, size_t memory, uint64 expected,
                         const gpu_engine::AggregateTop &top, GroupTable *groups, uint64 *counted) {
    const OwnParts own = find_own_parts(*rows, parts, inputs);
    FoundRecords found = {};
    // Rows elsewhere may change the order, and belong to the same groups.
    if (!submit_records(rows, program, inputs, memory, expected, own.any ? gpu_engine::AggregateTop{} : top,
                        &found))
        return false;
    if (counted != nullptr) {
        *counted = own.any || found.unresolved > 0 ? kNotCounted : found.counted;
        if (*counted != kNotCounted)
            return true;
    }
    const uint64 visible = keep_visible(rows, found);
    if (visible == 0 && !own.any) {
        *groups = table_of(program, found);
        return true;
    }
    if (is_added_up(program, own, found, visible, memory, groups))
        return true;
    client::decline(kKind, rows->choice, "groups of rows elsewhere could not be added");
    return false;
}

}  // namespace pg_gpu::column
