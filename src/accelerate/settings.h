// The settings of the worker that chooses columns. Each database may have its own, by ALTER DATABASE, but for
// the interval.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::accelerate {

enum class AutoColumns : int { Off, Advise, On };

struct AutoColumnsSettings {
    AutoColumns mode;
    int interval;        // seconds from one look at all databases to the next
    int64 space;         // bytes that the worker's indexes of a database may take
    double write_share;  // what writers may pay, of what statements save
    int unused;          // seconds after which an unused index is dropped
};

AutoColumnsSettings auto_columns();

}  // namespace pg_gpu::accelerate
