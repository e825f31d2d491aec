#include "device/text/decode_list.cuh"

namespace gpu_engine::device {

void decode_list(const Call &call, const TextView &text, const ListView &list, std::uint32_t *ordinals,
                 std::uint32_t *damaged, std::optional<DecodeForm> form) {
    whole_lists::launch_decode<true>(call, text, list, ordinals, damaged, form);
}

}  // namespace gpu_engine::device
