#include "studies/column/device/studies.h"
#include "studies/column/device/dictionary.cuh"

namespace gpu_engine::device {

Status DeviceDictionaries::merge(Stream &stream, const Dictionary<std::uint32_t> &main,
                                 const Dictionary<std::uint32_t> &delta, MergeWay way,
                                 MergedDictionary<std::uint32_t> *merged) noexcept {
    return merge_dictionaries(engine_, stream, main, delta, way, merged);
}

Status DeviceDictionaries::build(Stream &stream, const std::uint32_t *values, std::uint64_t count,
                                 std::uint32_t *entries, std::uint32_t *codes,
                                 std::uint64_t *distinct) noexcept {
    return build_dictionary(engine_, stream, values, count, entries, codes, distinct);
}

}  // namespace gpu_engine::device
