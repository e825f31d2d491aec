#include "device/column/column.h"
#include "device/column/merge/dictionary_merge.cuh"
#include "device/engine.h"

namespace gpu_engine::device {

Status DeviceColumn::merge_dictionaries(Stream &stream, const Dictionary<std::uint64_t> &main,
                                        const Dictionary<std::uint64_t> &delta,
                                        MergedDictionary<std::uint64_t> *merged) noexcept {
    return device::merge_dictionaries(engine_, stream, main, delta, merged, merge_fused<std::uint64_t>);
}

}  // namespace gpu_engine::device
