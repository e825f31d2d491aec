#include "bench/aggregate/bandwidth.h"

#include "bench/column/common.cuh"

namespace gpu_engine::bench {

double measure_bandwidth(Engine &engine, Stream &stream) {
    auto &device = dynamic_cast<device::DeviceEngine &>(engine);
    const Options options;
    Results results;
    const Bench bench = {device, dynamic_cast<device::DeviceStream &>(stream), options, results};
    return read_bandwidth(bench, device::Call(device, stream), std::uint64_t(1) << 30) * 1e6;
}

}  // namespace gpu_engine::bench
