// Keeps exceptions inside the engine. Entry points use it, since `noexcept` alone would turn a failed
// allocation into an abort of the whole process.
#pragma once

#include <exception>
#include <new>

#include "gpu_engine/status.h"

namespace gpu_engine {

// Thrown inside the engine to end an entry point with this status.
struct Failure {
    Status status;
};

inline void require_ok(const Status &status) {
    if (!status.ok()) {
        throw Failure{status};
    }
}

template <typename Body>
Status guarded(Body &&body) noexcept {
    try {
        return body();
    } catch (const Failure &failure) {
        return failure.status;
    } catch (const std::bad_alloc &) {
        return make_status(StatusCode::out_of_memory, "out of memory");
    } catch (const std::exception &exception) {
        return make_status(StatusCode::internal, exception.what());
    } catch (...) {
        return make_status(StatusCode::internal, "unknown exception");
    }
}

}  // namespace gpu_engine
