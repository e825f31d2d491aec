// Merges that this session has put off for a lack of disk space, memory or block numbers.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::storage {

struct PutOffMerges {
    uint64 count;
    char last_reason[256];
};
const PutOffMerges &merges_put_off();

void forget_put_off_merges();

}  // namespace pg_gpu::storage
