// Cancellation points inside the engine.
#pragma once

#include "gpu_engine/engine.h"
#include "gpu_engine/guard.h"

namespace gpu_engine {

// Ends the entry point if its caller cancelled.
inline void check_cancelled(const Stream &stream) {
    if (stream.cancelled()) {
        throw Failure{make_status(StatusCode::cancelled, "cancelled by the caller")};
    }
}

}  // namespace gpu_engine
