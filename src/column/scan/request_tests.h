// Tests of columns' rows, as requests have them.
#pragma once

#include "column/scan/request.h"

namespace pg_gpu::column {

// Places, whose offsets count from the data behind them until finish_test_places.
struct TestInputs {
    gpu_engine::protocol::ColumnTestPlace *places;
    uint64 place_bytes;
    char *data;
    uint64 data_bytes;
};

// Both are about the set of codes, or the ranges, that a test refers to.
uint64 bytes_of_test(const gpu_engine::ColumnTest &test);
const void *data_of_test(const gpu_engine::ColumnTest &test);

// Copies what the tests of a request refer to, together, into the current memory context.
TestInputs make_test_inputs(const client::RunSet &set, const RowTests &tests);
void free_test_inputs(const TestInputs &inputs);

// Is called once the inputs lie in the transfer buffer: makes the places' offsets count from its beginning.
void finish_test_places(const RowTests &tests, uint64 places_at, uint64 data_at);

}  // namespace pg_gpu::column
