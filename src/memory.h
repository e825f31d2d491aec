// Typed palloc.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu {

template <typename T>
T *allocate(size_t count) {
    return static_cast<T *>(palloc_extended(count * sizeof(T), MCXT_ALLOC_HUGE));
}

template <typename T>
T *allocate_zeroed(size_t count) {
    return static_cast<T *>(palloc_extended(count * sizeof(T), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO));
}

template <typename T>
T *reallocate(T *array, size_t count) {
    return static_cast<T *>(repalloc_huge(array, count * sizeof(T)));
}

}  // namespace pg_gpu
