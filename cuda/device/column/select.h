// Which rows pass a question's tests: a bit a row, in device memory.
#pragma once

#include <vector>

#include "device/column/store.h"
#include "device/heap_blocks.h"

namespace gpu_engine::device {

struct Selection {
    Buffer<std::uint64_t> words;
    std::uint64_t count = 0;  // of words; 0: no row passes
};

// The live rows that pass. Throws Failure for tests that the store can't be asked. Nothing is waited for;
// what the work reads until then is in `held`.
struct HeldBuffers {
    std::vector<Buffer<std::uint64_t>> words;
};
Selection select_rows(const Call &call, const StoreParts &parts, const DeadBitmap *dead,
                      const ColumnTest *tests, std::uint32_t test_count, HeldBuffers *held);

// Only visible rows stay in the selection. Those on unknown blocks go to the result, but for those with a
// NULL where `nulls` isn't null; *found, on the device, is how many they are.
Buffer<std::uint64_t> split_doubtful(const Call &call, const StoreParts &parts, const KnownBlocks &known,
                                     const std::uint64_t *nulls, const Selection &selection,
                                     std::uint64_t *found, HeldBuffers *held);

// *count, on the device, is how many rows are selected.
void count_selected(const Call &call, const Selection &selection, std::uint64_t *count);

}  // namespace gpu_engine::device
