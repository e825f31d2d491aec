// Inside the table layer: commits that are seen before they are flushed. A synchronous commit is flushed
// before anybody sees it, an asynchronous one later. The rule: ../storage/README.md, "Following WAL".
#pragma once

#include "compat.h"

namespace pg_gpu::table {

// In shared memory: whose commits are known to be read already.
struct CheckedCommits {
    static constexpr int kMaxOpen = 256;
    LWLock lock;
    uint64 from;     // transactions with this id or a later one may not be
    int open_count;  // and these of those before it, which had not ended yet
    uint64 open[kMaxOpen];
};

// Where the last commit ends that the snapshot may see and that is neither known to be read nor was flushed
// before the call; PG_UINT64_MAX: more than so many transactions would have to be asked about. What clog has
// forgotten was flushed before: so the end of what is flushed must be read afterwards.
XLogRecPtr last_commit(CheckedCommits *checked, Snapshot snapshot, uint64 most);

// So many ids are to be asked about.
uint64 unchecked_ids(CheckedCommits *checked, Snapshot snapshot);

// All commits that the snapshot sees are read now. `anew`: whatever else was known.
void note_checked(CheckedCommits *checked, Snapshot snapshot, bool anew);

}  // namespace pg_gpu::table
