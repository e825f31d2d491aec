// Hooks by which a library of the tests (test/module) holds sessions that have loaded it, to see what others
// do meanwhile. The two find each other by a rendezvous variable, so that this library has neither settings
// nor exported symbols for them.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu {

struct CostConstants;

// The points where a session can be held. It has no buffer lock at any of them.
enum class HoldPoint : int {
    Reader,       // behind each view that a reader takes
    Extension,    // before a file is made longer by more than a seal may do under its locks
    Result,       // between the check of what the server process has answered and its use
    Vacuum,       // when VACUUM has marked an index's dead entries, before it says so
    RunPages,     // before pages of a run go to the file
    MergeWorker,  // between two pages that a merge worker writes, with the locks of the merge
};

struct TestHooks {
    void (*hold)(HoldPoint point);
    // Up to this number of different numerics, a run's column has a dictionary in any case.
    int (*listed_numerics)();
    // The cost model's constants, in place of those that were measured.
    const CostConstants *(*costs)();
};

inline constexpr char kTestHooks[] = "pg_gpu_test_hooks";

// _PG_init calls it.
void find_test_hooks();

// Returns nullptr when none are loaded.
const TestHooks *test_hooks();

inline void hold(HoldPoint point) {
    if (const TestHooks *hooks = test_hooks(); unlikely(hooks != nullptr))
        hooks->hold(point);
}

}  // namespace pg_gpu
