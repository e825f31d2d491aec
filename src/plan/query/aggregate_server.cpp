#include "plan/query/aggregate_server.h"

#include "rpc/rpc.h"
#include "column/query/aggregate_run.h"
#include "request_kinds.h"

namespace pg_gpu::plan {

using column::AggregateParts;
using gpu_engine::AggregateOutcome;

uint64 count_entries(const AllRows &rows) {
    uint64 entries = 1;
    for (int i = 0; i < rows.count; i++)
        for (int run = 0; rows.member[i].remote != nullptr && run < rows.member[i].remote->set.count; run++)
            entries += rows.member[i].remote->set.runs[run].entries;
    return entries;
}

// The choice of one of the members that the server looks through, which stands for all.
static const client::Choice &choice_of(const AllRows &rows) {
    int i = 0;
    while (rows.member[i].remote == nullptr)
        i++;
    return rows.member[i].remote->choice;
}

bool decline(const AllRows &rows, const char *problem) {
    client::decline(client::RequestKind::AggregateColumn, choice_of(rows), problem);
    return false;
}

// One member's groups, added to those of all.
static bool add_member(const ServerRequest &requested, const MemberRows &member,
                       column::AggregateGroups *groups) {
    const AggregateParts parts = parts_of_member(*requested.parts, member);
    const gpu_engine::AggregateInput *const *inputs = requested.inputs + member.first_part;
    if (member.remote == nullptr)
        return column::aggregate_parts(parts, *requested.program, inputs, groups) ==
                   AggregateOutcome::answered ||
               decline(*requested.rows, "groups of rows elsewhere could not be added");
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "GpuAggregate member", ALLOCSET_DEFAULT_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(context);
    gpu_engine::GroupTable found;
    bool answered = column::aggregate_on_server(member.remote, parts, *requested.program, inputs,
                                                requested.memory / 2, requested.expected, {}, &found);
    if (answered && !column::add_table(groups, found))
        answered = decline(*requested.rows, "work_mem has no room for the groups");
    MemoryContextSwitchTo(caller);
    MemoryContextDelete(context);
    return answered;
}

bool find_groups_on_server(const ServerRequest &requested, gpu_engine::GroupTable *groups) {
    const AllRows &rows = *requested.rows;
    if (rows.count == 1)
        return column::aggregate_on_server(rows.member[0].remote, *requested.parts, *requested.program,
                                           requested.inputs, requested.memory, requested.expected,
                                           requested.top, groups, requested.counted);
    column::AggregateGroups *all = column::begin_groups(*requested.program, requested.memory / 2,
                                                        column::count_rows(*requested.parts), 1, 0);
    for (int i = 0; i < rows.count; i++)
        if (!add_member(requested, rows.member[i], all))
            return false;
    *groups = column::finish_groups(all);
    return true;
}

bool uses_host(const AllRows &rows) {
    return choice_of(rows).path == client::Path::Host;
}

bool is_local_faster(const InputBuilder &builder, const CompiledAggregate &compiled) {
    if (compiled.distinct_count > 0)
        return false;
    const uint64 computed = column::count_computed_rows(*builder.parts, compiled.program);
    const auto other_threads = static_cast<uint64>(client::host_threads() - 1);
    return computed != column::kNothingKnown &&
           computed * other_threads <= column::count_rows(*builder.parts);
}

const PartOnServer *find_parts_on_server(const AllRows &rows, const AggregateParts &parts) {
    auto *on_server = allocate_zeroed<PartOnServer>(static_cast<size_t>(parts.count) + 1);
    for (int i = 0; i < rows.count; i++) {
        const MemberRows &member = rows.member[i];
        if (member.remote == nullptr)
            continue;
        auto *codes = allocate_zeroed<column::RemoteCodes>(1);
        codes->rows = member.remote;
        for (int part = 0; part < member.part_count; part++)
            on_server[member.first_part + part] = {codes, part};
    }
    return on_server;
}

}  // namespace pg_gpu::plan
