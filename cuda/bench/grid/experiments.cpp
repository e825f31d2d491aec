#include "bench/grid/experiments.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "bench/grid/subject.h"

namespace gpu_engine::bench {
namespace {

std::string power(int exponent) {
    return "2^" + std::to_string(exponent);
}

std::uint64_t sum_of(const std::vector<std::uint32_t> &numbers) {
    return std::accumulate(numbers.begin(), numbers.end(), std::uint64_t(0));
}

void check_equal(std::uint64_t a, std::uint64_t b, const char *what) {
    if (a != b) {
        throw Failure{make_status(StatusCode::internal, what)};
    }
}

GridOptions flat() {
    GridOptions options;
    options.hierarchical = false;
    return options;
}

// A batch of requests, brought to where the machine reads them.
struct Requested {
    GridPoints points = {};
    GridBoxes boxes = {};
    std::uint32_t *counts;
    std::uint64_t count;

    Requested(Subject &subject, const Requests &requests) : count(requests.count()) {
        const std::uint64_t bytes = count * sizeof(std::uint32_t);
        for (std::size_t c = 0; c < requests.low.size(); ++c) {
            boxes.low[c] = subject.put(requests.low[c].data(), bytes);
            boxes.high[c] = subject.put(requests.high[c].data(), bytes);
            points.keys[c] = boxes.low[c];
        }
        counts = static_cast<std::uint32_t *>(subject.take(bytes));
    }
};

class Experiment {
  public:
    Experiment(const Bench &bench, std::string table, std::string column)
        : bench_(bench), table_(std::move(table)), column_(std::move(column)) {}

    void add(const std::string &line, double value, const std::string &unit, double limit_ms = 0,
             double bytes = 0) const {
        std::printf("%s, %s, %s: %.4g %s\n", table_.c_str(), column_.c_str(), line.c_str(), value,
                    unit.c_str());
        std::fflush(stdout);
        bench_.results.add({table_, line, column_, value, unit, limit_ms > 0 ? limit_ms / value : 0, bytes});
    }
    // Returns the time that the machine needs to move so many bytes; 0 where it wasn't measured.
    double limit_ms(double bytes) const {
        const double rate = bench_.machine.copied_bytes();
        return rate > 0 ? bytes / rate * 1000 : 0;
    }

    // Measures a batch of exact matches of existing points.
    void match(Subject &subject, const GridFile &file, const std::string &name, const Limits *limits) const {
        const Requests requests = choose_points(subject.points(), std::uint64_t(1) << bench_.options.lookups);
        const Requested requested(subject, requests);
        const double ms = bench_.machine.match_ms(file, requested.points, requested.count, requested.counts,
                                                  bench_.options.repeats);
        for (const std::uint32_t found : subject.read(requested.counts, requested.count)) {
            check_equal(found > 0 ? 1 : 0, 1, "an existing point wasn't found");
        }
        double limit = 0;
        if (limits != nullptr) {
            // The bytes of the point and of the answer; what must be looked at comes on top.
            const double own = (subject.points().columns() + 1) * sizeof(std::uint32_t);
            limit = limit_ms((limits->bytes(requests) + own) * static_cast<double>(requested.count));
        }
        add(name, ms, "ms", limit, static_cast<double>(file.bytes()) / static_cast<double>(file.entries()));
    }

    // Measures a batch of boxes, counted; returns how many entries there are in them.
    std::uint64_t count(Subject &subject, const GridFile &file, const std::string &name,
                        const Requests &requests, const Limits *limits) const {
        const Requested requested(subject, requests);
        const double ms = bench_.machine.count_ms(file, requested.boxes, requested.count, requested.counts,
                                                  bench_.options.repeats);
        double limit = 0;
        if (limits != nullptr) {
            const double own = (2 * subject.points().columns() + 1) * sizeof(std::uint32_t);
            limit = limit_ms((limits->bytes(requests) + own) * static_cast<double>(requested.count));
        }
        add(name, ms, "ms", limit);
        return sum_of(subject.read(requested.counts, requested.count));
    }

    void calls(Subject &subject, const GridFile &file) const {
        const Requests requests = choose_points(subject.points(), std::uint64_t(1) << bench_.options.lookups);
        const Requested requested(subject, requests);
        Stream &stream = bench_.machine.stream();
        const std::uint64_t most = 4 * requested.count;
        auto *offsets =
            static_cast<std::uint64_t *>(subject.take((requested.count + 1) * sizeof(std::uint64_t)));
        auto *tids = static_cast<Tid *>(subject.take(most * sizeof(Tid)));
        add("match, TIDs, whole call",
            median_ms(
                bench_.options.repeats,
                [&] { require(file.match(stream, requested.points, requested.count, offsets, tids, most)); }),
            "ms");
    }

  private:
    const Bench &bench_;
    std::string table_;
    std::string column_;
};

}  // namespace

void measure_sizes(const Bench &bench) {
    for (int size = std::max(bench.options.entries - 4, 10); size <= bench.options.entries; ++size) {
        const Experiment experiment(bench, "exact matches, 2 columns", power(size));
        Subject subject(bench, uniform_points(std::uint64_t(1) << size, 2));
        const std::unique_ptr<GridFile> file = subject.build();
        const Limits limits(subject.host_entries(), {});
        experiment.match(subject, *file, "scales in shared memory", &limits);
        const Requested requested(subject,
                                  choose_points(subject.points(), std::uint64_t(1) << bench.options.lookups));
        for (const auto &[name, ms] : bench.machine.match_variants_ms(
                 *file, requested.points, requested.count, requested.counts, bench.options.repeats)) {
            experiment.add(name, ms, "ms");
        }
        experiment.match(subject, *subject.build(flat()), "without hierarchy", nullptr);
        experiment.calls(subject, *file);
    }
}

void measure_columns(const Bench &bench) {
    for (std::uint32_t columns = 1; columns <= max_grid_columns; ++columns) {
        const Experiment experiment(bench, "exact matches, " + power(bench.options.entries) + " entries",
                                    std::to_string(columns) + " columns");
        Subject subject(bench, uniform_points(std::uint64_t(1) << bench.options.entries, columns));
        const Limits limits(subject.host_entries(), {});
        experiment.match(subject, *subject.build(), "uniform", &limits);
        experiment.match(subject, *subject.build(flat()), "uniform, without hierarchy", nullptr);
    }
}

void measure_skew(const Bench &bench) {
    for (int deviation = 3; deviation <= 7; ++deviation) {
        const Experiment experiment(bench,
                                    "exact matches, 2 columns, normal, " + power(bench.options.entries),
                                    "10^" + std::to_string(deviation));
        Subject subject(
            bench, gaussian_points(std::uint64_t(1) << bench.options.entries, 2, std::pow(10.0, deviation)));
        const Limits limits(subject.host_entries(), {});
        experiment.match(subject, *subject.build(), "hierarchical", &limits);
        experiment.match(subject, *subject.build(flat()), "flat", nullptr);
    }
}

void measure_surfaces(const Bench &bench) {
    for (const bool scanned : {false, true}) {
        for (int size = std::max(bench.options.entries - 4, 10); size <= bench.options.entries; ++size) {
            const std::uint64_t count = std::uint64_t(1) << size;
            if (scanned && bench.options.scan.empty()) {
                continue;
            }
            PointSet points = scanned ? scanned_points(count, bench.options.scan) : sphere_points(count);
            if (points.count() == 0) {
                throw Failure{make_status(StatusCode::invalid_argument, "the scan can't be read")};
            }
            const Experiment experiment(bench, scanned ? "scan, 3 columns" : "sphere, 3 columns",
                                        power(size));
            Subject subject(bench, std::move(points));
            const std::unique_ptr<GridFile> lower = subject.build();
            const std::unique_ptr<GridFile> first = subject.build(flat());
            const Limits limits(subject.host_entries(), {});
            experiment.match(subject, *lower, "exact matches, hierarchical", &limits);
            experiment.match(subject, *first, "exact matches, flat", nullptr);
            const Requests boxes = choose_boxes(subject.points(), bench.options.boxes / 10, 0.01);
            check_equal(
                experiment.count(subject, *lower, "boxes of 1 % counted, hierarchical", boxes, &limits),
                experiment.count(subject, *first, "boxes of 1 % counted, flat", boxes, nullptr),
                "the grids' counts differ");
        }
    }
}

void measure_boxes(const Bench &bench) {
    for (const std::uint32_t columns : {2U, 3U}) {
        Subject subject(bench, uniform_points(std::uint64_t(1) << bench.options.entries, columns));
        const std::unique_ptr<GridFile> file = subject.build();
        const std::unique_ptr<GridFile> first = subject.build(flat());
        const Limits limits(subject.host_entries(), {});
        for (const char *side : {"0.1", "0.2", "0.5", "1"}) {
            const Experiment experiment(bench,
                                        std::to_string(bench.options.boxes) + " boxes, " +
                                            std::to_string(columns) + " columns, " +
                                            power(bench.options.entries),
                                        std::string(side) + " % a side");
            const Requests requests =
                choose_boxes(subject.points(), bench.options.boxes, std::atof(side) / 100);
            const std::uint64_t found = experiment.count(subject, *file, "counted", requests, &limits);
            check_equal(experiment.count(subject, *first, "counted, flat", requests, &limits), found,
                        "the grids' counts differ");
            const Requested requested(subject, requests);
            if (columns == 2) {
                for (const auto &[name, ms] : bench.machine.count_variants_ms(
                         *file, requested.boxes, requested.count, requested.counts, bench.options.repeats)) {
                    experiment.add(std::string("counted, ") + name, ms, "ms");
                }
            }
            Stream &stream = bench.machine.stream();
            experiment.add("counted, whole call",
                           median_ms(bench.options.repeats,
                                     [&] {
                                         require(file->count(stream, requested.boxes, requested.count,
                                                             requested.counts));
                                     }),
                           "ms");
            const auto offset_storage = bench.machine.store((requested.count + 1) * sizeof(std::uint64_t));
            const auto tid_storage = bench.machine.store(found * sizeof(Tid));
            auto *offsets = static_cast<std::uint64_t *>(offset_storage->data());
            const double written = experiment.limit_ms(2.0 * static_cast<double>(found) * sizeof(Tid));
            experiment.add(
                "TIDs returned, whole call",
                median_ms(bench.options.repeats,
                          [&] {
                              require(file->search(stream, requested.boxes, requested.count, offsets,
                                                   static_cast<Tid *>(tid_storage->data()), found));
                          }),
                "ms", written);
            experiment.add("TIDs a box", static_cast<double>(found) / static_cast<double>(requested.count),
                           "");
        }
    }
}

void measure_single_boxes(const Bench &bench) {
    const std::uint64_t count = std::min<std::uint64_t>(10000000, std::uint64_t(1) << bench.options.entries);
    Subject subject(bench, uniform_points(count, 3));
    const std::unique_ptr<GridFile> file = subject.build();
    Stream &stream = bench.machine.stream();
    const std::uint64_t blocks = count / 150 + 1;
    std::vector<BlockGroup> groups((blocks + 63) / 64, {UINT64_MAX, 0, 0});
    for (const char *share : {"1e-6", "1e-4", "1e-2"}) {
        const Experiment experiment(bench, "one box, 3 columns, " + std::to_string(count) + " entries",
                                    share);
        const Requests requests = choose_boxes(subject.points(), 1, std::cbrt(std::atof(share)));
        // The boxes come from the host's memory and results go there, as with a session's request.
        GridBoxes boxes = {};
        for (std::uint32_t c = 0; c < 3; ++c) {
            boxes.low[c] = requests.low[c].data();
            boxes.high[c] = requests.high[c].data();
        }
        std::uint32_t found = 0;
        experiment.add(
            "count",
            median_ms(bench.options.repeats, [&] { require(file->count(stream, boxes, 1, &found)); }), "ms");
        std::uint64_t on = 0;
        std::uint64_t offsets[2] = {};
        std::vector<Tid> tids(found);
        for (const bool all_visible : {true, false}) {
            // Every tenth block isn't all-visible.
            for (std::uint64_t block = 0; block < blocks && !all_visible; block += 10) {
                groups[block / 64].all_visible &= ~(std::uint64_t(1) << (block % 64));
            }
            std::unique_ptr<HeapBlocks> known;
            require(bench.machine.engine().keep_blocks(stream, {groups.data(), groups.size(), nullptr, 0, 1},
                                                       &known));
            experiment.add(all_visible ? "count_on, all blocks" : "count_on, nine in ten blocks",
                           median_ms(bench.options.repeats,
                                     [&] {
                                         require(file->count_on(stream, boxes, 1, *known, &on, offsets,
                                                                tids.data(), tids.size()));
                                     }),
                           "ms");
            check_equal(on + offsets[1], found, "count_on lost entries");
        }
        groups.assign(groups.size(), {UINT64_MAX, 0, 0});
        experiment.add(
            "search",
            median_ms(bench.options.repeats,
                      [&] { require(file->search(stream, boxes, 1, offsets, tids.data(), tids.size())); }),
            "ms");
        experiment.add("entries", found, "");
    }
}

void measure_builds(const Bench &bench) {
    const std::string table = "build, " + power(bench.options.entries) + " entries";
    const std::uint64_t count = std::uint64_t(1) << bench.options.entries;
    // Adds the median time, and the file's bytes an entry; returns the file's shape.
    const auto build = [&](const Experiment &experiment, const Subject &subject, const std::string &name,
                           const GridOptions &options) {
        std::unique_ptr<GridFile> file;
        const double ms = median_ms(bench.options.repeats, [&] {
            file.reset();
            file = subject.build(options);
        });
        // Everything is read once and written once.
        const double bytes = 2.0 * static_cast<double>(count) *
                             (subject.entries().columns * sizeof(std::uint32_t) + sizeof(Tid));
        experiment.add(name, ms, "ms", experiment.limit_ms(bytes),
                       static_cast<double>(file->bytes()) / static_cast<double>(count));
        const GridShape shape = file->shape();
        experiment.add(name + ": directory",
                       static_cast<double>(shape.directory_bytes) / static_cast<double>(count),
                       "bytes an entry");
        experiment.add(name + ": levels", shape.levels, "");
    };
    for (std::uint32_t columns = 1; columns <= 4; ++columns) {
        const Subject subject(bench, uniform_points(count, columns));
        const Experiment experiment(bench, table, std::to_string(columns) + " columns");
        build(experiment, subject, "uniform", {});
        build(experiment, subject, "uniform, splits by distinct keys", {8, GridSplits::distinct, true});
        build(experiment, subject, "uniform, flat", flat());
    }
    const Experiment experiment(bench, table, "3 columns");
    build(experiment, Subject(bench, sphere_points(count)), "sphere", {});
    if (!bench.options.scan.empty()) {
        build(experiment, Subject(bench, scanned_points(count, bench.options.scan)), "scan", {});
    }
}

}  // namespace gpu_engine::bench
