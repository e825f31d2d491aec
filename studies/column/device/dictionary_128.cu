#include "studies/column/device/studies.h"
#include "studies/column/device/dictionary.cuh"

namespace gpu_engine::device {

Status DeviceDictionaries::merge(Stream &stream, const Dictionary<Key128> &main,
                                 const Dictionary<Key128> &delta, MergeWay way,
                                 MergedDictionary<Key128> *merged) noexcept {
    return merge_dictionaries(engine_, stream, main, delta, way, merged);
}

Status DeviceDictionaries::build(Stream &stream, const Key128 *values, std::uint64_t count, Key128 *entries,
                                 std::uint32_t *codes, std::uint64_t *distinct) noexcept {
    return build_dictionary(engine_, stream, values, count, entries, codes, distinct);
}

}  // namespace gpu_engine::device
