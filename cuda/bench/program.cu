#include "bench/program.cuh"

#include <cuda_runtime_api.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "bench/command_line.h"

namespace gpu_engine::bench {
namespace {

bool parse(int argc, char **argv, Options *options) {
    for (int i = 1; i < argc; i += 2) {
        const std::string name = argv[i];
        if (i + 1 >= argc) {
            return false;
        }
        const std::string value = argv[i + 1];
        if (name == "--sizes") {
            options->sizes.clear();
            for (const std::string &size : split(value)) {
                options->sizes.push_back(std::atoi(size.c_str()));
                if (options->sizes.back() < 1 || options->sizes.back() > 31) {
                    return false;
                }
            }
        } else if (name == "--lookups") {
            options->lookups = std::atoi(value.c_str());
        } else if (name == "--repeats") {
            options->repeats = std::atoi(value.c_str());
        } else if (name == "--only") {
            options->only = split(value);
        } else if (name == "--json") {
            options->json = value;
        } else if (name == "--images") {
            options->images = value;
        } else {
            return false;
        }
    }
    return options->lookups >= 1 && options->lookups <= 30 && options->repeats >= 1;
}

void describe(const device::DeviceEngine &engine, const char *benchmark, Results *results) {
    cudaDeviceProp properties;
    device::check(cudaGetDeviceProperties(&properties, engine.device()), "cudaGetDeviceProperties");
    int driver = 0;
    device::check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    const std::string date = time_now();
    results->describe("benchmark", benchmark);
    results->describe("date", date);
    results->describe("device", properties.name);
    results->describe("multiprocessors", std::to_string(properties.multiProcessorCount));
    results->describe("L2 bytes", std::to_string(properties.l2CacheSize));
    results->describe("CUDA runtime", std::to_string(CUDART_VERSION));
    results->describe("CUDA driver", std::to_string(driver));
    std::printf("%s, CUDA %d, driver %d, %s\n", properties.name, CUDART_VERSION, driver, date.c_str());
}

Status run(const Options &options, const char *benchmark, std::span<const Part> parts) {
    std::unique_ptr<Engine> engine;
    Status status = device::open_engine({}, &engine);
    if (!status.ok()) {
        return status;
    }
    auto &cuda = static_cast<device::DeviceEngine &>(*engine);
    device::DeviceStream stream(cuda);
    Results results;
    describe(cuda, benchmark, &results);
    const Bench bench{cuda, stream, options, results};
    // Results from before a failure are kept all the same.
    for (const Part &part : parts) {
        if (!status.ok() || !options.runs(part.name)) {
            continue;
        }
        const std::size_t before = results.size();
        const auto begin = std::chrono::steady_clock::now();
        status = guarded([&] {
            part.measure(bench);
            return Status{};
        });
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
        std::printf("\n%s: %s, %.1f s\n", part.name, status.ok() ? "measured" : "failed", seconds.count());
        results.print(stdout, before);
        std::fflush(stdout);
        if (!options.json.empty() && !results.write_json(options.json) && status.ok()) {
            status = make_status(StatusCode::internal, "the JSON file can't be written");
        }
    }
    return status;
}

}  // namespace

int run_program(int argc, char **argv, const char *benchmark, const char *usage, const Options &defaults,
                std::span<const Part> parts) {
    return run_main(argc, argv, usage, defaults, parse,
                    [&](const Options &options) { return run(options, benchmark, parts); });
}

}  // namespace gpu_engine::bench
