// Compares the processor and the device by image size, with 256 grey values, of which a load brings four.
#include <thread>

#include "studies/column/studies.h"
#include "bench/column/bytes.cuh"

namespace gpu_engine::bench {

void measure_image_sizes(const Bench &bench) {
    std::vector<std::unique_ptr<Engine>> hosts(2);
    std::vector<std::unique_ptr<Stream>> streams(2);
    for (int i = 0; i < 2; ++i) {
        EngineOptions options;
        options.threads = i == 0 ? 1 : 0;
        require(host::open_engine(options, &hosts[i]));
        require(hosts[i]->open_stream(&streams[i]));
    }
    const std::string all = std::to_string(std::thread::hardware_concurrency()) + " threads of the processor";
    for (const int side : {256, 512, 1024, 2048, 4096, 8192}) {
        // The study's images have an int for each pixel.
        const std::uint64_t count = static_cast<std::uint64_t>(side) * static_cast<std::uint64_t>(side) * 4;
        HostArray<std::uint8_t> image(bench.engine, count, true);
        for (std::uint64_t i = 0; i < count; ++i) {
            image.data()[i] = static_cast<std::uint8_t>(scramble(i + 1) >> 56);
        }
        std::vector<std::uint8_t> pageable(image.data(), image.data() + count);
        const device::Call call(bench.engine, bench.stream);
        const device::Buffer<std::uint8_t> on_device = call.buffer<std::uint8_t>(count);
        call.copy(on_device.data(), static_cast<const std::uint8_t *>(image.data()), count);
        call.wait();
        std::vector<std::uint64_t> right(256);
        for (std::uint64_t i = 0; i < count; ++i) {
            ++right[image.data()[i]];
        }
        const std::string column = std::to_string(side) + " x " + std::to_string(side);
        const auto measure = [&](const std::string &line, Engine &engine, Stream &stream,
                                 const std::uint8_t *bytes) {
            std::vector<std::uint64_t> counts(256);
            const double ms = median_call_ms(bench, [&] {
                require(open_column_studies(engine)->histograms().count_bytes(stream, bytes, count,
                                                                              counts.data()));
            });
            require(counts == right, "a histogram of an image is wrong");
            bench.results.add({"histogram of an image of ints, calls", line, column,
                               static_cast<double>(count) / ms / 1e6, "GB/s", 0, 1});
        };
        measure("one thread of the processor", *hosts[0], *streams[0], image.data());
        measure(all, *hosts[1], *streams[1], image.data());
        measure("device, pageable memory", bench.engine, bench.stream, pageable.data());
        measure("device, pinned memory", bench.engine, bench.stream, image.data());
        measure("device, its own memory", bench.engine, bench.stream, on_device.data());
        const device::Buffer<std::uint64_t> sums = call.buffer<std::uint64_t>(device::byte_slots);
        std::vector<std::uint64_t> found;
        const double ms = measure_byte_stage<device::BytePlace::striped, 16>(
            bench, ByteProblem{call, on_device.data(), count, sums.data()}, &found);
        require(found == right, "a histogram of an image is wrong");
        bench.results.add({"histogram of an image of ints, calls", "device, kernels alone", column,
                           static_cast<double>(count) / ms / 1e6, "GB/s", 0, 1});
    }
}

}  // namespace gpu_engine::bench
