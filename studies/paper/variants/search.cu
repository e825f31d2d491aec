#include "studies/paper/variants/launch.cuh"

namespace gpu_engine::bench::paper {

namespace {

int attribute(const device::Call &call, cudaDeviceAttr which) {
    int value = 0;
    device::check(cudaDeviceGetAttribute(&value, which, call.engine().device()), "cudaDeviceGetAttribute");
    return value;
}

}  // namespace

std::size_t place_for_pinning(const device::Call &call, const Variant &variant, std::size_t taken) {
    if (variant.pinning == Pinning::none) {
        return 0;
    }
    std::size_t place = call.engine().shared_bytes();
    if (variant.static_blocks > 1) {
        const int each =
            attribute(call, cudaDevAttrMaxSharedMemoryPerMultiprocessor) / variant.static_blocks -
            attribute(call, cudaDevAttrReservedSharedMemoryPerBlock);
        place = std::min(place, static_cast<std::size_t>(each) / 128 * 128);
    }
    return place > taken ? place - taken : 0;
}

int shared_share(const device::Call &call, const Variant &variant, std::size_t bytes) {
    if (variant.static_blocks == 0 || bytes == 0) {
        return cudaSharedmemCarveoutDefault;
    }
    const int each = static_cast<int>(bytes) + attribute(call, cudaDevAttrReservedSharedMemoryPerBlock);
    const int all = attribute(call, cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    return std::min((each * variant.static_blocks * 100 + all - 1) / all, 100);
}

template <typename Key>
bool look_up(const device::Call &call, const Index<Key> &index, const Variant &variant,
             const Batch<Key> &batch) {
    if (variant.pinning != Pinning::none && variant.static_blocks == 0) {
        return false;
    }
    if (batch.count == 0) {
        return true;
    }
    if (variant.structure == Structure::binary) {
        return variant.reordering == Reordering::none ? look_up_binary(call, index, variant, batch)
                                                      : reorder_binary(call, index, variant, batch);
    }
    return variant.reordering == Reordering::none ? look_up_kary(call, index, variant, batch)
                                                  : reorder_kary(call, index, variant, batch);
}

template bool look_up(const device::Call &, const Index<std::uint32_t> &, const Variant &,
                      const Batch<std::uint32_t> &);
template bool look_up(const device::Call &, const Index<std::uint64_t> &, const Variant &,
                      const Batch<std::uint64_t> &);
template bool look_up(const device::Call &, const Index<Key128> &, const Variant &, const Batch<Key128> &);

}  // namespace gpu_engine::bench::paper
