// Histograms of real pictures, whose neighbouring samples are much alike: each alone, and repeated up to a
// size that no cache holds.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "studies/column/studies.h"
#include "bench/column/bytes.cuh"

namespace gpu_engine::bench {
namespace {

using device::BytePlace;

constexpr std::uint64_t repeated_bytes = std::uint64_t(1) << 28;

// Reads the samples of a PGM or PPM file of 8 bits a sample, without comments.
std::vector<std::uint8_t> read_picture(const std::filesystem::path &path) {
    std::ifstream file(path, std::ios::binary);
    std::string kind;
    std::uint64_t width = 0;
    std::uint64_t height = 0;
    int most = 0;
    file >> kind >> width >> height >> most;
    file.get();
    const std::uint64_t count = width * height * (kind == "P6" ? 3 : 1);
    require(file && (kind == "P5" || kind == "P6") && most == 255 && count > 0 && count < repeated_bytes,
            "a picture isn't a PGM or PPM file of 8 bits a sample");
    std::vector<std::uint8_t> samples(count);
    file.read(reinterpret_cast<char *>(samples.data()), static_cast<std::streamsize>(count));
    require(static_cast<std::uint64_t>(file.gcount()) == count, "a picture's file ends early");
    return samples;
}

void measure_picture(const Bench &bench, const std::string &name, const std::vector<std::uint8_t> &samples) {
    const device::Call call(bench.engine, bench.stream);
    std::vector<std::uint64_t> right(device::byte_slots);
    for (const std::uint8_t sample : samples) {
        ++right[sample];
    }
    const device::Buffer<std::uint8_t> bytes = call.buffer<std::uint8_t>(repeated_bytes);
    const device::Buffer<std::uint64_t> counts = call.buffer<std::uint64_t>(device::byte_slots);
    const std::uint64_t copies = repeated_bytes / samples.size();
    const std::uint64_t count = copies * samples.size();
    for (std::uint64_t copy = 0; copy < copies; ++copy) {
        call.copy(bytes.data() + copy * samples.size(), samples.data(), samples.size());
    }
    call.wait();
    const double limit = read_bandwidth(bench, call, repeated_bytes);
    const auto add = [&](const char *line, std::uint64_t read, double ms) {
        const double speed = static_cast<double>(read) / ms / 1e6;
        bench.results.add(
            {"histogram of pictures", line, name, speed, "GB/s, share of reading", speed / limit, 1});
    };
    const ByteProblem problem{call, bytes.data(), count, counts.data()};
    const auto stage = [&](const char *line, auto measure) {
        std::vector<std::uint64_t> found;
        const double ms = measure(&found);
        for (int slot = 0; slot < device::byte_slots; ++slot) {
            require(found[static_cast<std::size_t>(slot)] == right[static_cast<std::size_t>(slot)] * copies,
                    "a histogram of a picture is wrong");
        }
        add(line, count, ms);
    };
    stage("global atomics, a byte a load",
          [&](auto *found) { return measure_byte_stage<BytePlace::global, 1>(bench, problem, found); });
    stage("a copy a block, 4 bytes a load",
          [&](auto *found) { return measure_byte_stage<BytePlace::block, 4>(bench, problem, found); });
    stage("a copy a thread, 4 bytes a load",
          [&](auto *found) { return measure_byte_stage<BytePlace::thread, 4>(bench, problem, found); });
    stage("32 striped copies, 4 x 16 bytes (the library's)",
          [&](auto *found) { return measure_byte_stage<BytePlace::striped, 16>(bench, problem, found); });
    add("CUB DeviceHistogram", count, measure_cub_bytes(bench, problem));
    std::vector<std::uint64_t> found(device::byte_slots);
    add("once, call from pageable memory", samples.size(), median_call_ms(bench, [&] {
            require(open_column_studies(bench.engine)
                        ->histograms()
                        .count_bytes(bench.stream, samples.data(), samples.size(), found.data()));
        }));
    require(found == right, "a histogram of a picture is wrong");
    std::unique_ptr<Engine> host;
    EngineOptions one_thread;
    one_thread.threads = 1;
    require(host::open_engine(one_thread, &host));
    std::unique_ptr<Stream> stream;
    require(host->open_stream(&stream));
    add("once, one thread of the processor", samples.size(), median_call_ms(bench, [&] {
            require(open_column_studies(*host)->histograms().count_bytes(*stream, samples.data(),
                                                                         samples.size(), found.data()));
        }));
    require(found == right, "the processor's histogram of a picture is wrong");
}

}  // namespace

void measure_images(const Bench &bench) {
    if (bench.options.images.empty()) {
        return;
    }
    std::vector<std::filesystem::path> paths;
    for (const auto &entry : std::filesystem::directory_iterator(bench.options.images)) {
        if (entry.path().extension() == ".pgm" || entry.path().extension() == ".ppm") {
            paths.push_back(entry.path());
        }
    }
    std::sort(paths.begin(), paths.end());
    for (const auto &path : paths) {
        measure_picture(bench, path.stem().string(), read_picture(path));
    }
}

}  // namespace gpu_engine::bench
