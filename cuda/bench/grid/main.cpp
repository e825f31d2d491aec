// Benchmark of grid files, on either engine.
#include <cstdio>
#include <cstdlib>

#include "bench/command_line.h"
#include "bench/grid/experiments.h"

namespace gpu_engine::bench {
namespace {

const char usage[] =
    "usage: pg_gpu_grid [--engine cuda|host] [--entries 24] [--lookups 20] [--boxes 100000] [--repeats 7]\n"
    "                   [--scan FILE] [--only PART[,PART...]] [--json FILE]\n"
    "Entries and lookups are powers of two. FILE has float32 x, y, z of a scanned surface; without it those "
    "parts are\n"
    "left out. Parts: sizes, columns, skew, surfaces, boxes, single, builds; all when none is named. "
    "Progress goes\n"
    "first, tables last.\n";

bool parse(int argc, char **argv, Options *options) {
    for (int i = 1; i < argc; i += 2) {
        const std::string name = argv[i];
        if (i + 1 >= argc) {
            return false;
        }
        const std::string value = argv[i + 1];
        if (name == "--engine") {
            options->engine = value;
        } else if (name == "--entries") {
            options->entries = std::atoi(value.c_str());
        } else if (name == "--lookups") {
            options->lookups = std::atoi(value.c_str());
        } else if (name == "--boxes") {
            options->boxes = std::atoi(value.c_str());
        } else if (name == "--repeats") {
            options->repeats = std::atoi(value.c_str());
        } else if (name == "--scan") {
            options->scan = value;
        } else if (name == "--only") {
            options->only = split(value);
        } else if (name == "--json") {
            options->json = value;
        } else {
            return false;
        }
    }
    return (options->engine == "cuda" || options->engine == "host") && options->entries >= 10 &&
           options->entries <= 28 && options->lookups >= 1 && options->lookups <= 26 &&
           options->boxes >= 10 && options->repeats >= 1;
}

std::unique_ptr<Machine> open(const Options &options) {
    if (options.engine == "host") {
        return open_host();
    }
#ifdef PG_GPU_HAVE_CUDA
    return open_device();
#else
    throw Failure{make_status(StatusCode::unavailable, "built without CUDA")};
#endif
}

Status run(const Options &options) {
    const std::unique_ptr<Machine> machine = open(options);
    Results results;
    results.describe("benchmark", "grid files");
    results.describe("date", time_now());
    machine->describe(&results);
    results.describe("lookups", std::to_string(std::uint64_t(1) << options.lookups));
    results.describe("copy, bytes a second", std::to_string(machine->copied_bytes()));
    const Bench bench{*machine, options, results};
    const struct {
        const char *name;
        void (*measure)(const Bench &);
    } parts[] = {
        {"sizes", measure_sizes},       {"columns", measure_columns}, {"skew", measure_skew},
        {"surfaces", measure_surfaces}, {"boxes", measure_boxes},     {"single", measure_single_boxes},
        {"builds", measure_builds},
    };
    // Results from before a failure are printed all the same.
    Status status;
    for (const auto &part : parts) {
        if (status.ok() && options.runs(part.name)) {
            status = guarded([&] {
                part.measure(bench);
                return Status{};
            });
        }
    }
    results.print(stdout, 0);
    if (!options.json.empty() && !results.write_json(options.json) && status.ok()) {
        status = make_status(StatusCode::internal, "the JSON file can't be written");
    }
    return status;
}

}  // namespace
}  // namespace gpu_engine::bench

int main(int argc, char **argv) {
    using namespace gpu_engine;
    return bench::run_main(argc, argv, bench::usage, bench::Options(), bench::parse, bench::run);
}
