// Integers out of SQL arrays and datums.
#pragma once

#include "memory.h"

namespace pg_gpu::functions {

struct IntegerElements {
    int64 *values;  // 0 where NULL
    bool *nulls;
    uint32 count;
};

// ERROR with a HINT unless the type is int2, int4, int8 or a domain over one of them.
void require_integer_type(Oid type, const char *what);

// Elements of an array of integers, dimensions ignored; both arrays are palloc'd.
IntegerElements read_integers(ArrayType *array);

}  // namespace pg_gpu::functions
