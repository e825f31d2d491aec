// The groups among a table's records, as kernels find them.
#pragma once

#include "device/column/aggregate/list.h"

namespace gpu_engine::device {

// The span of a key's codes that a listed group's is in, or a dense group's, whose number it is part of.
__device__ inline std::uint32_t span_of_group(const FilledTable &filled, const GroupKey &key,
                                              std::uint64_t slot) {
    if (filled.is_list) {
        return key_span(key.key, reinterpret_cast<const std::uint64_t *>(filled.table.record(slot)));
    }
    const std::uint32_t code = static_cast<std::uint32_t>(slot) / key.factor % key.codes;
    return key_span(key.key, static_cast<std::uint64_t>(code));
}

// Returns whether a slot has a group that is wanted. The marks are looked at first, because they need no look
// at the record where the table is dense.
__device__ inline bool is_group(const FilledTable &filled, std::uint64_t slot) {
    const TableView &table = filled.table;
    const MarkedView &marked = filled.marked;
    if (marked.marks != nullptr && !is_marked(marked.marks, span_of_group(filled, marked.key, slot))) {
        return false;
    }
    if (filled.is_list) {
        return true;
    }
    if (table.key_words == 0) {
        return table.record(slot)[filled.rows_word] != 0;
    }
    if (table.key_words > 1) {
        return slot < table.slots && table.states[slot] != slot_is_free;
    }
    return slot < table.slots ? table.record(slot)[0] != free_key : table.flags->has_last != 0;
}

template <typename Visit>
__device__ void for_groups(const FilledTable &filled, Visit visit) {
    const std::uint64_t step = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
    for (std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
         i < filled.records; i += step) {
        if (is_group(filled, i)) {
            visit(i);
        }
    }
}

}  // namespace gpu_engine::device
