#include "plan/query/aggregate_parallel.h"

#include "compat.h"

namespace pg_gpu::plan {

int count_processes(int workers) {
    return workers + (parallel_leader_participation ? 1 : 0);
}

int count_ranges(int workers) {
    return workers == 0 ? 1 : kRangesPerProcess * count_processes(workers);
}

// ---- ranges -----------------------------------------------------------------------------------------------

void begin_sharing(SharedAggregate *shared, Relation heap, int workers) {
    *shared = {};
    shared->blocks = RelationGetNumberOfBlocks(heap);
    shared->ranges = Min(static_cast<uint32>(count_ranges(workers)), Max(shared->blocks, 1U));
    pg_atomic_init_u32(&shared->taken, 0);
    SpinLockInit(&shared->lock);
}

void begin_sharing_again(SharedAggregate *shared) {
    pg_atomic_write_u32(&shared->taken, 0);
    shared->totals = {};
}

bool take_range(SharedAggregate *shared, column::BlockRange *blocks) {
    const uint32 range = pg_atomic_fetch_add_u32(&shared->taken, 1);
    // Of those who find that nothing is left nobody asks so often that the number would begin anew.
    if (range >= shared->ranges)
        return false;
    const auto first_of = [shared](uint32 number) {
        return static_cast<BlockNumber>(uint64{shared->blocks} * number / shared->ranges);
    };
    // Blocks that came since belong to the last range.
    *blocks = {first_of(range), range + 1 == shared->ranges ? column::kAllBlocks.end : first_of(range + 1)};
    return true;
}

// ---- totals -----------------------------------------------------------------------------------------------

void add_totals(SharedAggregate *shared, const RangeTotals &totals) {
    SpinLockAcquire(&shared->lock);
    RangeTotals *all = &shared->totals;
    all->ranges += totals.ranges;
    all->refused += totals.refused;
    all->groups += totals.groups;
    all->heap_fetches += totals.heap_fetches;
    all->passes = Max(all->passes, totals.passes);
    if (totals.refused > 0)
        memcpy(all->problem, totals.problem, sizeof(all->problem));
    SpinLockRelease(&shared->lock);
}

RangeTotals read_totals(SharedAggregate *shared) {
    SpinLockAcquire(&shared->lock);
    const RangeTotals totals = shared->totals;
    SpinLockRelease(&shared->lock);
    return totals;
}

// ---- the plan that stands by ------------------------------------------------------------------------------

static Expr *compare_place(Index table, Oid comparison, BlockNumber block) {
    auto *place = static_cast<ItemPointerData *>(palloc(sizeof(ItemPointerData)));
    ItemPointerSet(place, block, 0);
    Var *column = makeVar(static_cast<int>(table), SelfItemPointerAttributeNumber, TIDOID, -1, InvalidOid, 0);
    Const *bound =
        makeConst(TIDOID, -1, InvalidOid, sizeof(ItemPointerData), PointerGetDatum(place), false, false);
    Expr *compared = make_opclause(comparison, BOOLOID, false, reinterpret_cast<Expr *>(column),
                                   reinterpret_cast<Expr *>(bound), InvalidOid, InvalidOid);
    set_opfuncid(reinterpret_cast<OpExpr *>(compared));
    return compared;
}

Plan *plan_over_blocks(const Plan *plan, const column::BlockRange &blocks) {
    auto *copy = static_cast<Plan *>(copyObjectImpl(plan));
    Plan **lowest = &copy;
    while ((*lowest)->lefttree != nullptr)
        lowest = &(*lowest)->lefttree;
    if (!IsA(*lowest, SeqScan))
        elog(ERROR, "the plan below a GpuAggregate does not scan its table");
    auto *scan = makeNode(TidRangeScan);
    scan->scan = reinterpret_cast<const SeqScan *>(*lowest)->scan;
    scan->scan.plan.type = T_TidRangeScan;
    const Index table = scan->scan.scanrelid;
    scan->tidrangequals = list_make1(compare_place(table, TIDGreaterEqOperator, blocks.first));
    if (blocks.end != column::kAllBlocks.end)
        scan->tidrangequals = lappend(scan->tidrangequals, compare_place(table, TIDLessOperator, blocks.end));
    *lowest = &scan->scan.plan;
    return copy;
}

}  // namespace pg_gpu::plan
