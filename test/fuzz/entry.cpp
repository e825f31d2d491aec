// libFuzzer's entry; PG_GPU_FUZZ_TARGET names the target.
#include "targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    fuzz::PG_GPU_FUZZ_TARGET(data, size);
    return 0;
}
