// A RangeReader gives the bounds of many ranges or boxes, one after another.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::keys {

// `read` gives the scan keys of range i, at most two a column, and returns how many.
struct RangeReader {
    uint32 count;
    int (*read)(void *context, uint32 i, ScanKeyData *keys);
    void *context;
};

}  // namespace pg_gpu::keys
