#include "column/scan/request_tests.h"

namespace pg_gpu::column {

using namespace client;

uint64 bytes_of_test(const gpu_engine::ColumnTest &test) {
    switch (test.kind) {
        case gpu_engine::TestKind::ranges:
            return test.count * sizeof(gpu_engine::ValueRange);
        case gpu_engine::TestKind::codes:
            return test.count * sizeof(uint64);
        default:
            return 0;
    }
}

const void *data_of_test(const gpu_engine::ColumnTest &test) {
    return test.kind == gpu_engine::TestKind::ranges ? static_cast<const void *>(test.ranges) : test.codes;
}

static uint32 number_of_run(const LiveRuns &live, int place) {
    if (place == kAllRuns)
        return protocol::all_runs;
    uint32 number = 0;
    while (live.places[number] != place)
        number++;
    return number;
}

TestInputs make_test_inputs(const RunSet &set, const RowTests &tests) {
    const LiveRuns live = live_runs(set);
    TestInputs inputs = {};
    for (int i = 0; i < tests.count; i++)
        inputs.data_bytes += align_offset(bytes_of_test(tests.tests[i].test));
    inputs.place_bytes = static_cast<uint64>(tests.count) * sizeof(protocol::ColumnTestPlace);
    inputs.places = allocate_zeroed<protocol::ColumnTestPlace>(static_cast<size_t>(tests.count) + 1);
    inputs.data = allocate_zeroed<char>(inputs.data_bytes + 1);
    uint64 at = 0;
    for (int i = 0; i < tests.count; i++) {
        const gpu_engine::ColumnTest &test = tests.tests[i].test;
        inputs.places[i] = {static_cast<uint32>(test.kind),
                            test.column,
                            number_of_run(live, tests.tests[i].run),
                            0,
                            at,
                            test.count};
        const uint64 bytes = bytes_of_test(test);
        if (bytes > 0)
            memcpy(inputs.data + at, data_of_test(test), bytes);
        at += align_offset(bytes);
    }
    return inputs;
}

void free_test_inputs(const TestInputs &inputs) {
    pfree(inputs.places);
    pfree(inputs.data);
}

void finish_test_places(const RowTests &tests, uint64 places_at, uint64 data_at) {
    auto *places = reinterpret_cast<protocol::ColumnTestPlace *>(buffer_at(places_at));
    for (int i = 0; i < tests.count; i++)
        places[i].offset += data_at;
}

}  // namespace pg_gpu::column
