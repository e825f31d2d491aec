#include "gpu_engine/guard.h"
#include "host/column/merge/dictionary_merge.h"
#include "host/engine.h"

namespace gpu_engine::host {

Status HostColumn::merge_dictionaries(Stream &stream, const Dictionary<std::uint64_t> &main,
                                      const Dictionary<std::uint64_t> &delta,
                                      MergedDictionary<std::uint64_t> *merged) noexcept {
    return guarded([&] {
        check_merged_entries(main.count, delta.count);
        merge_numbers(engine_.workers(stream), main, delta, merged);
        return Status{};
    });
}

}  // namespace gpu_engine::host
