// This header raises the error of an operator strategy that no operator class of ours has.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::keys {

// Only catalogs that don't belong to this library can lead here, so it is an internal error, with the words
// that core uses.
[[noreturn]] inline void raise_unknown_strategy(StrategyNumber strategy) {
    elog(ERROR, "unrecognized strategy number: %d", strategy);
}

}  // namespace pg_gpu::keys
