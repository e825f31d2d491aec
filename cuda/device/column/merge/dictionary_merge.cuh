// A merge of two dictionaries on the device, whatever merges them.
#pragma once

#include <cstdint>

#include "device/call.h"
#include "device/column/merge/fused_merge.cuh"
#include "gpu_engine/column_dictionary.h"

namespace gpu_engine::device {

inline constexpr char not_sorted[] = "the entries of a dictionary don't ascend";

// The arrays that a merge works on, all on the device.
template <typename Entry>
struct MergeArrays {
    const Entry *main;
    std::uint64_t main_count;
    const Entry *delta;
    std::uint64_t delta_count;
    Entry *merged;
    std::uint32_t *main_map;
    std::uint32_t *delta_map;

    std::uint64_t total() const { return main_count + delta_count; }
};

template <typename Entry>
std::uint64_t merge_fused(const Call &call, const MergeArrays<Entry> &merge) {
    if (merge.total() == 0) {
        return 0;
    }
    launch_fused_merge<FusedShape<sizeof(Entry)>>(
        call, NumberMerge<Entry>{merge.main, merge.delta, merge.merged}, merge.main_count, merge.delta_count,
        merge.main_map, merge.delta_map, call.result());
    call.wait();
    return *call.result();
}

inline void check_merged_entries(std::uint64_t main_count, std::uint64_t delta_count) {
    if (main_count > max_dictionary_entries || delta_count > max_dictionary_entries - main_count) {
        throw Failure{
            make_status(StatusCode::invalid_argument, "more entries than a merged dictionary can hold")};
    }
}

// Brings both dictionaries to the device and the results back. `merge_on_device` gets the call and its
// arrays, and returns how many entries the union has.
template <typename Entry, typename MergeOnDevice>
Status merge_dictionaries(DeviceEngine &engine, Stream &stream, const Dictionary<Entry> &main,
                          const Dictionary<Entry> &delta, MergedDictionary<Entry> *merged,
                          MergeOnDevice merge_on_device) {
    return guarded([&] {
        check_merged_entries(main.count, delta.count);
        const Call call(engine, stream);
        const std::uint64_t total = main.count + delta.count;
        const Input<Entry> main_entries(call, main.entries, main.count, main.count);
        const Input<Entry> delta_entries(call, delta.entries, delta.count, delta.count);
        const Output<Entry> entries(call, merged->entries, total, total);
        const Output<std::uint32_t> main_map(call, merged->main_map, main.count, main.count);
        const Output<std::uint32_t> delta_map(call, merged->delta_map, delta.count, delta.count);
        const MergeArrays<Entry> arrays{main_entries.piece(0, main.count),
                                        main.count,
                                        delta_entries.piece(0, delta.count),
                                        delta.count,
                                        entries.piece(0),
                                        main_map.piece(0),
                                        delta_map.piece(0)};
        merged->count = merge_on_device(call, arrays);
        entries.flush(0, merged->count);
        main_map.flush(0, main.count);
        delta_map.flush(0, delta.count);
        call.wait();
        return Status{};
    });
}

}  // namespace gpu_engine::device
