#include "table/verify.h"

#include "storage/damage.h"
#include "storage/sealed_tail.h"

namespace pg_gpu::table {

void verify_index(Relation heap, Relation index, const storage::RunKind *kind, const VerifySteps &steps,
                  bool check_heap, storage::ProblemReporter report, void *context) {
    Snapshot snapshot = RegisterSnapshot(GetActiveSnapshot());
    storage::View view = {};
    storage::TailCopy tail = {allocate<char>(storage::kContentBytes), 0};
    storage::take_view(index, kind, snapshot, &view, storage::copy_tail, &tail);
    uint64 entries = tail.bytes / sizeof(storage::TailItem);
    for (int i = 0; i < view.run_count; i++)
        entries += view.runs[i].entries;
    TableCheck check;
    begin_table_check(&check, heap, index, check_heap, entries, view.vacuum_seq, report, context);
    void *state = steps.begin(&check);

    storage::report_damage_of(storage::kTailBlock, report, context,
                              [&] { steps.verify_tail(state, tail.items, tail.bytes); });
    MemoryContext run_context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu.verify run", ALLOCSET_DEFAULT_SIZES);
    for (int i = 0; i < view.run_count; i++) {
        storage::report_damage_of(storage::run_block(view.runs[i], 0), report, context, [&] {
            MemoryContextSwitchTo(run_context);
            steps.verify_run(state, view.runs[i]);
        });
        MemoryContextReset(run_context);
    }
    finish_table_check(&check, snapshot, steps.fingerprint_row, state);
    UnregisterSnapshot(snapshot);
}

}  // namespace pg_gpu::table
