// The description of an access method: from it the library makes the index routine, and finds out what can
// be asked of an index. Storage's part is the RunKind, and the server's the MirrorFormat.
#pragma once

#include "compat.h"
#include "cost/usage.h"
#include "keys/keys.h"
#include "progress.h"
#include "residency/residency.h"
#include "storage/storage.h"
#include "table/table.h"

namespace pg_gpu {

struct Method {
    const char *name;

    const storage::RunKind *(*run_kind)(Relation index);

    // These serve CREATE INDEX: the names of its phases in pg_stat_progress_create_index, and its steps.
    // build_steps raises an error for an index that can't be built.
    table::BuildPhases build_phases;
    const table::BuildSteps *(*build_steps)(Relation index);

    // Returns gpu.verify's steps behind storage's part.
    const table::VerifySteps *(*verify_steps)(Relation index);

    // The planner's estimate. It also tells the access method's indexes from others.
    amcostestimate_function estimate_cost;

    // Returns the number of rows that the snapshot sees and that match the scan keys; *heap_fetches of their
    // entries were looked up in the heap.
    int64 (*count_matching)(Relation heap, Relation index, Snapshot snapshot, const ScanKeyData *keys,
                            int key_count, uint64 *heap_fetches);
    // Are values of this type found roughly, and then looked at by PostgreSQL? An index with such a column
    // neither counts nor looks keys up. nullptr: none are.
    bool (*finds_roughly)(Oid type);
    // Does count_matching look up every entry in the heap for this path's conditions?
    bool (*fetches_all)(const IndexPath *path);
    // counts[i]: the rows in each range. nullptr where bounds mean nothing.
    void (*count_batch)(Relation heap, Relation index, Snapshot snapshot, const keys::RangeReader &reader,
                        int64 *counts);

    // Finds the entries of all keys for gpu.lookup, in one view; NULLs and values outside the columns' types
    // match nothing. All memory is palloc'd; what `keys` refers to must live as long as the result. nullptr
    // where there are no keys.
    table::LookupResult (*look_up)(Relation heap, Relation index, Snapshot snapshot,
                                   const table::LookupKeys &keys);

    // Returns the requests of an index scan so far, rescans included.
    client::Usage (*scan_usage)(IndexScanDesc scan);

    // Returns how runs are mirrored in the server process, or nullptr where they are not.
    const client::MirrorFormat *(*mirror_format)(Relation index);
};

// Each access method is defined beside its handler.
extern const Method gpu_kary;
extern const Method gpu_grid;
extern const Method gpu_column;
extern const Method gpu_text;

// These callbacks of PostgreSQL's differ in nothing but the method.
template <const Method &method>
struct MethodCallbacks {
    static IndexBuildResult *build(Relation heap, Relation index, IndexInfo *index_info) {
        return table::build_index(heap, index, index_info, method.run_kind(index),
                                  *method.build_steps(index));
    }

    static void build_empty(Relation index) { storage::build_empty(index, method.run_kind(index)); }

    static IndexBulkDeleteResult *bulk_delete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
                                              IndexBulkDeleteCallback callback, void *callback_state) {
        return storage::bulk_delete(info, method.run_kind(info->index), stats, callback, callback_state);
    }

    static IndexBulkDeleteResult *vacuum_cleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats) {
        return storage::vacuum_cleanup(info, method.run_kind(info->index), stats);
    }

    // gpu.load and gpu.merge show among the phases of CREATE INDEX, so they have names with every method.
    static char *build_phase_name(int64 phase) {
        const char *name = phase == kLoadSubphase    ? "loading into the server process"
                           : phase == kMergeSubphase ? "merging runs"
                                                     : table::build_phase_name(method.build_phases, phase);
        return name != nullptr ? pstrdup(name) : nullptr;
    }
};

// Makes a routine with what all access methods share and these callbacks; the handler adds capabilities, and
// the callbacks of inserts, scans and operator classes.
template <const Method &method>
IndexAmRoutine *make_index_routine() {
    using Callbacks = MethodCallbacks<method>;
    IndexAmRoutine *routine = storage::make_index_routine();
    routine->ambuild = Callbacks::build;
    routine->ambuildempty = Callbacks::build_empty;
    routine->ambulkdelete = Callbacks::bulk_delete;
    routine->amvacuumcleanup = Callbacks::vacuum_cleanup;
    routine->amcostestimate = method.estimate_cost;
    routine->ambuildphasename = Callbacks::build_phase_name;
    return routine;
}

}  // namespace pg_gpu
