#include "plan/query/aggregate_views.h"

#include "memory.h"

namespace pg_gpu::plan {

using column::AggregateParts;
using column::ColumnView;
using column::RemoteRows;

// ---- parts ------------------------------------------------------------------------------------------------

AggregateParts make_all_parts(AllRows *rows) {
    if (rows->count == 1) {
        const AggregateParts parts = column::make_parts(rows->member[0].view);
        rows->member[0].first_part = 0;
        rows->member[0].part_count = parts.count;
        return parts;
    }
    auto *each = allocate<AggregateParts>(static_cast<size_t>(rows->count));
    int count = 0;
    for (int i = 0; i < rows->count; i++) {
        each[i] = column::make_parts(rows->member[i].view);
        rows->member[i].first_part = count;
        rows->member[i].part_count = each[i].count;
        count += each[i].count;
    }
    AggregateParts all = {each[0].format, allocate<column::AggregatePart>(static_cast<size_t>(count) + 1),
                          count};
    for (int i = 0; i < rows->count; i++)
        memcpy(all.part + rows->member[i].first_part, each[i].part,
               static_cast<size_t>(each[i].count) * sizeof(column::AggregatePart));
    return all;
}

AggregateParts parts_of_member(const AggregateParts &parts, const MemberRows &member) {
    return {parts.format, parts.part + member.first_part, member.part_count};
}

Oid *tables_of_parts(const AllRows &rows, const AggregateParts &parts) {
    auto *tables = allocate<Oid>(static_cast<size_t>(parts.count) + 1);
    for (int i = 0; i < rows.count; i++)
        for (int part = 0; part < rows.member[i].part_count; part++)
            tables[rows.member[i].first_part + part] = RelationGetRelid(rows.member[i].view->heap);
    return tables;
}

bool is_any_stale(const AllRows &rows) {
    for (int i = 0; i < rows.count; i++)
        if (column::is_stale(rows.member[i].view))
            return true;
    return false;
}

// ---- views ------------------------------------------------------------------------------------------------

namespace {

// Views are opened one inside the other. One that has to be opened again opens those inside of it again, too.
struct OpenViews {
    Opening *opening;
    AllRows rows;
    uint64 *heap_fetches;  // by member
    bool is_answered;
};

}  // namespace

static OpenViews begin_opening(Opening *opening) {
    const auto count = static_cast<size_t>(opening->count);
    return {opening,
            {allocate_zeroed<MemberRows>(count + 1), opening->count},
            allocate_zeroed<uint64>(count + 1),
            false};
}

static void finish_opening(const OpenViews &views) {
    views.opening->heap_fetches = 0;
    for (int i = 0; i < views.rows.count; i++)
        views.opening->heap_fetches += views.heap_fetches[i];
}

static void open_next(OpenViews *views, int number);

static void open_local_runs(OpenViews *views, int number, void (*go_on)(OpenViews *views, int number)) {
    const AggregateMember &member = views->opening->member[number];
    views->heap_fetches[number] = column::with_rows(
        member.heap, member.index, views->opening->snapshot, member.format, member.condition,
        [views, number, go_on](ColumnView *view) {
            views->rows.member[number] = {view, nullptr, 0, 0};
            go_on(views, number + 1);
        },
        views->opening->blocks);
}

static void open_next(OpenViews *views, int number) {
    check_stack_depth();
    if (number < views->rows.count)
        open_local_runs(views, number, open_next);
    else
        views->is_answered = views->opening->work(views->opening->context, &views->rows);
}

void with_all_rows(Opening *opening) {
    OpenViews views = begin_opening(opening);
    open_next(&views, 0);
    finish_opening(views);
}

static bool is_any_remote(const AllRows &rows) {
    for (int i = 0; i < rows.count; i++)
        if (rows.member[i].remote != nullptr)
            return true;
    return false;
}

static void open_next_for_server(OpenViews *views, int number) {
    check_stack_depth();
    Opening *opening = views->opening;
    if (number == views->rows.count) {
        views->is_answered = is_any_remote(views->rows) && opening->work(opening->context, &views->rows);
        return;
    }
    const AggregateMember &member = opening->member[number];
    bool is_requested = false;
    const auto work = [views, number, &is_requested](RemoteRows *rows) {
        is_requested = true;
        views->rows.member[number] = {rows->view, rows, 0, 0};
        open_next_for_server(views, number + 1);
        return views->is_answered;
    };
    views->is_answered =
        column::with_rows_on_server(member.heap, member.index, opening->snapshot, member.format,
                                    member.condition, opening->remote, work, &views->heap_fetches[number]);
    // A single member is then answered for from pages altogether.
    if (!is_requested && views->rows.count > 1)
        open_local_runs(views, number, open_next_for_server);
}

// Is any index large enough?
static bool may_use_server(const Opening &opening) {
    for (int i = 0; i < opening.count; i++)
        if (client::may_use_server(RelationGetNumberOfBlocks(opening.member[i].index),
                                   column::kFewestPagesForServer))
            return true;
    return false;
}

bool with_all_rows_on_server(Opening *opening) {
    if (!may_use_server(*opening))
        return false;
    OpenViews views = begin_opening(opening);
    open_next_for_server(&views, 0);
    finish_opening(views);
    return views.is_answered;
}

}  // namespace pg_gpu::plan
