// Histograms of bytes: the stages of optimisation, and the number of blocks.
#include "bench/column/bytes.cuh"

namespace gpu_engine::bench {
namespace {

using device::BytePlace;

// The bytes are uniform, all equal, or as in a picture, where most lie within a narrow range of grey.
enum class ByteInput { uniform, equal, picture };

__global__ void make_bytes_kernel(std::uint32_t *words, std::uint64_t count, ByteInput input) {
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    const auto random = static_cast<std::uint32_t>(scramble(i + 1));
    if (input == ByteInput::uniform) {
        words[i] = random;
    } else if (input == ByteInput::equal) {
        words[i] = 0x55555555;
    } else {
        // Four neighbours that differ by little around a slowly changing grey.
        words[i] = (static_cast<std::uint32_t>(i / 5000) % 40 + 80) * 0x01010101U + (random & 0x07070707U);
    }
}

// Measures sums of the blocks that the processor adds up.
double measure_processor_sums(const Bench &bench, const ByteProblem &problem) {
    constexpr std::uint64_t max_blocks = 4096;
    const device::Buffer<std::uint32_t> sums =
        problem.call.buffer<std::uint32_t>(max_blocks * device::byte_slots);
    HostArray<std::uint32_t> on_host(bench.engine, max_blocks * device::byte_slots, true);
    std::vector<std::uint64_t> counts(device::byte_slots);
    return median_call_ms(bench, [&] {
        const std::uint64_t blocks = device::launch_byte_histogram<BytePlace::striped, 16>(
            problem.call, problem.bytes, problem.count, problem.counts, 0, sums.data());
        problem.call.copy(on_host.data(), static_cast<const std::uint32_t *>(sums.data()),
                          blocks * device::byte_slots);
        problem.call.wait();
        std::fill(counts.begin(), counts.end(), 0);
        for (std::uint64_t i = 0; i < blocks * device::byte_slots; ++i) {
            counts[i % device::byte_slots] += on_host.data()[i];
        }
    });
}
double measure_tree_sums(const Bench &bench, const ByteProblem &problem) {
    std::vector<std::uint64_t> counts(device::byte_slots);
    HostArray<std::uint64_t> on_host(bench.engine, device::byte_slots, true);
    return median_call_ms(bench, [&] {
        problem.call.fill(problem.counts, 0, device::byte_slots * sizeof(std::uint64_t));
        device::launch_byte_histogram<BytePlace::striped, 16>(problem.call, problem.bytes, problem.count,
                                                              problem.counts);
        problem.call.copy(on_host.data(), static_cast<const std::uint64_t *>(problem.counts),
                          device::byte_slots);
        problem.call.wait();
    });
}

}  // namespace

void measure_bytes(const Bench &bench) {
    for (const int size : bench.options.sizes) {
        const std::uint64_t count = std::uint64_t(1) << size;
        const device::Call call(bench.engine, bench.stream);
        const double limit = read_bandwidth(bench, call, count);
        const device::Buffer<std::uint8_t> bytes = call.buffer<std::uint8_t>(count);
        const device::Buffer<std::uint64_t> counts = call.buffer<std::uint64_t>(device::byte_slots);
        const ByteProblem problem{call, bytes.data(), count, counts.data()};
        const Briefly brief(bench);
        const struct {
            ByteInput input;
            const char *name;
        } inputs[] = {{ByteInput::uniform, "uniform"},
                      {ByteInput::equal, "all equal"},
                      {ByteInput::picture, "picture"}};
        for (const auto &[input, name] : inputs) {
            make_bytes_kernel<<<grid_for(count / 4), 256, 0, call.stream()>>>(
                reinterpret_cast<std::uint32_t *>(bytes.data()), count / 4, input);
            device::check_launch("make_bytes_kernel");
            std::vector<std::uint64_t> right;
            const auto add = [&](const char *line, double ms) {
                const double speed = static_cast<double>(count) / ms / 1e6;
                bench.results.add({"histogram of bytes, " + power(size), line, name, speed,
                                   "GB/s, share of reading", speed / limit, 1});
            };
            const auto stage = [&](const char *line, auto measure) {
                std::vector<std::uint64_t> found;
                add(line, measure(&found));
                if (right.empty()) {
                    right = found;
                }
                require(found == right, "two histograms of the same bytes differ");
            };
            stage("global atomics, a byte a load", [&](auto *found) {
                return measure_byte_stage<BytePlace::global, 1>(brief.bench(), problem, found);
            });
            stage("a copy a block, a byte a load", [&](auto *found) {
                return measure_byte_stage<BytePlace::block, 1>(brief.bench(), problem, found);
            });
            stage("a copy a thread, a byte a load", [&](auto *found) {
                return measure_byte_stage<BytePlace::thread, 1>(brief.bench(), problem, found);
            });
            stage("32 striped copies, a byte a load", [&](auto *found) {
                return measure_byte_stage<BytePlace::striped, 1>(brief.bench(), problem, found);
            });
            stage("a copy a block, 4 bytes a load", [&](auto *found) {
                return measure_byte_stage<BytePlace::block, 4>(brief.bench(), problem, found);
            });
            stage("a copy a thread, 4 bytes a load", [&](auto *found) {
                return measure_byte_stage<BytePlace::thread, 4>(brief.bench(), problem, found);
            });
            stage("32 striped copies, 4 bytes a load", [&](auto *found) {
                return measure_byte_stage<BytePlace::striped, 4>(brief.bench(), problem, found);
            });
            stage("a copy a block, 4 x 16 bytes", [&](auto *found) {
                return measure_byte_stage<BytePlace::block, 16>(brief.bench(), problem, found);
            });
            stage("32 striped copies, 4 x 16 bytes (the library's)", [&](auto *found) {
                return measure_byte_stage<BytePlace::striped, 16>(bench, problem, found);
            });
            add("CUB DeviceHistogram", measure_cub_bytes(bench, problem));
            add("call, sums on the processor", measure_processor_sums(bench, problem));
            add("call, sums by the tree kernel", measure_tree_sums(bench, problem));
        }
        bench.results.add({"histogram of bytes, " + power(size), "reading", "uniform", limit, "GB/s", 1, 1});
    }
}

void measure_block_counts(const Bench &bench) {
    const device::Call call(bench.engine, bench.stream);
    const auto multiprocessors = static_cast<std::uint64_t>(bench.engine.multiprocessors());
    for (const int size : {22, 26, 30}) {
        const std::uint64_t count = std::uint64_t(1) << size;
        const double limit = read_bandwidth(bench, call, count);
        const device::Buffer<std::uint8_t> bytes = call.buffer<std::uint8_t>(count);
        const device::Buffer<std::uint64_t> counts = call.buffer<std::uint64_t>(device::byte_slots);
        make_bytes_kernel<<<grid_for(count / 4), 256, 0, call.stream()>>>(
            reinterpret_cast<std::uint32_t *>(bytes.data()), count / 4, ByteInput::uniform);
        device::check_launch("make_bytes_kernel");
        const auto measure = [&](const std::string &line, std::uint64_t blocks) {
            const double ms = median_ms(bench, [&] {
                call.fill(counts.data(), 0, device::byte_slots * sizeof(std::uint64_t));
                device::launch_byte_histogram<BytePlace::striped, 16>(call, bytes.data(), count,
                                                                      counts.data(), blocks);
            });
            const double speed = static_cast<double>(count) / ms / 1e6;
            bench.results.add({"histogram of bytes by blocks", line, power(size) + " bytes", speed,
                               "GB/s, share of reading", speed / limit, 1});
        };
        for (const std::uint64_t blocks : {1, 8, 32, 64}) {
            measure(std::to_string(blocks) + " blocks", blocks);
        }
        for (const std::uint64_t each : {1, 2, 3, 4, 6, 8, 16, 32, 64}) {
            measure(std::to_string(each) + " a multiprocessor", each * multiprocessors);
        }
        measure("as many as fit (the library's)", 0);
    }
}

}  // namespace gpu_engine::bench
