// Selects the rows that pass a request's tests: a bit a row, in device memory.
#pragma once

#include <vector>

#include "device/column/load/store.h"
#include "device/heap_blocks.h"

namespace gpu_engine::device {

struct Selection {
    Buffer<std::uint64_t> words;
    std::uint64_t count = 0;  // number of words; 0: no row passes
};

// Selects the live rows that pass. Throws Failure for tests that the store can't be asked. It doesn't wait
// for the device; what the device reads until the next wait is kept in `held`.
struct HeldBuffers {
    std::vector<Buffer<std::uint64_t>> words;
};
Selection select_rows(const Call &call, const StoreParts &parts, const DeadBitmap *dead,
                      const ColumnTest *tests, std::uint32_t test_count, HeldBuffers *held);

// Leaves only visible rows in the selection. Returns those on unknown blocks, without those that are NULL by
// `nulls`, which may be null; *found, on the device, becomes their number.
Buffer<std::uint64_t> split_unresolved(const Call &call, const StoreParts &parts, const KnownBlocks &known,
                                       const std::uint64_t *nulls, const Selection &selection,
                                       std::uint64_t *found, HeldBuffers *held);

// Counts the selected rows; *count is on the device.
void count_selected(const Call &call, const Selection &selection, std::uint64_t *count);

}  // namespace gpu_engine::device
