// Remembers which run was found damaged last, so that a merge that failed knows its damaged input.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::storage {

struct LastDamage {
    uint64 run_read;    // run of the page that was read last
    BlockNumber block;  // block that the last corruption error names
};

inline LastDamage last_damage = {0, InvalidBlockNumber};

}  // namespace pg_gpu::storage
