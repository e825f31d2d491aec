// Inside the client: a run's page images on their way to the server.
#pragma once

#include "residency/residency.h"

namespace pg_gpu::client {

struct PageLoad {
    const RunSet *set;
    const storage::RunEntry *run;
    uint64 handle;  // number of the array that is being made on the server
    Path path;
    int max_workers;             // parallel workers that may help
    void (*sent)(uint32 pages);  // is called with the number of pages sent so far
};

// Sends the pages of the run's mirrored entries, in order. Returns false when the server doesn't take them,
// or the run was merged away. Uses the transfer buffer. No page stays pinned or locked.
bool send_pages(const PageLoad &load);

}  // namespace pg_gpu::client
