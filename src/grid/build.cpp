// CREATE INDEX: the table is scanned, by several participants where the planner grants workers, and its rows
// are collected; then the grid is made and written past the buffer manager.
#include "grid/collector.h"
#include "grid/grid.h"
#include "table/table.h"

namespace pg_gpu::grid {

using namespace table;

static void collect(Relation, ItemPointer tid, Datum *values, bool *nulls, bool, void *state) {
    auto *collector = static_cast<Collector *>(state);
    encode_row(*collector->format, values, nulls, *tid, next_row(collector));
}

static void *begin_part(const BuildPart &part) {
    auto *collector = allocate<Collector>(1);
    begin_collecting(collector, format_of(part.index), part.memory, part.files, part.participant);
    return collector;
}

static HandedOver hand_over_rows(void *state) {
    auto *collector = static_cast<Collector *>(state);
    hand_over(collector);
    return {collector->total, collector->total};
}

static uint64 finish_collecting(void *collector) {
    return static_cast<Collector *>(collector)->total;
}

static void write_run(void *state, const BuildTarget &target) {
    const ParallelBuild *parallel = target.parallel;
    write_collected(static_cast<Collector *>(state), target.index,
                    parallel != nullptr ? handed_over(parallel) : nullptr,
                    parallel != nullptr ? parallel_participants(parallel) : 1, split_rule_of(target.index),
                    target.writer, target.entry);
}

const BuildSteps *build_steps(Relation) {
    static constexpr BuildSteps steps = {
        .takes_any_order = true,
        .begin = begin_part,
        .collect = collect,
        .hand_over = hand_over_rows,
        .finish = finish_collecting,
        .sort = nullptr,
        .write = write_run,
    };
    return &steps;
}

}  // namespace pg_gpu::grid
