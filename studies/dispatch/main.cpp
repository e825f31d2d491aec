// Measures throughput against delay for the processor alone, the device alone, a fixed rule, and the
// dispatcher: Fig. 7 of "Using Graphics Processors for High Performance IR Query Processing". The queue is
// simulated, with queries that were measured on both.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "bench/command_line.h"
#include "studies/dispatch/simulation.h"
#include "bench/results.h"

namespace gpu_engine::bench {
namespace {

const char usage[] =
    "usage: pg_gpu_dispatch --costs FILE [--processors 1] [--devices 1] [--queries 100000] [--deadline 500]\n"
    "                       [--rates 24] [--seed 1] [--json FILE]\n"
    "FILE has a line for each query measured: lengths of the shortest and of the second shortest list, the "
    "sum "
    "of all\n"
    "lengths, the number of lists, milliseconds on a processor and on a device; lines that begin with # are "
    "remarks.\n"
    "Processors and devices compute a query each at a time. The deadline is in milliseconds.\n";

struct Options {
    std::string costs;
    std::string json;
    Scenario scenario;
    int rates = 24;
};

bool parse(int argc, char **argv, Options *options) {
    options->scenario.queries = 100000;
    for (int i = 1; i < argc; i += 2) {
        const std::string name = argv[i];
        if (i + 1 >= argc) {
            return false;
        }
        const char *value = argv[i + 1];
        const auto whole = [value] { return std::strtoull(value, nullptr, 10); };
        if (name == "--costs") {
            options->costs = value;
        } else if (name == "--processors") {
            options->scenario.workers[0] = static_cast<std::uint32_t>(whole());
        } else if (name == "--devices") {
            options->scenario.workers[1] = static_cast<std::uint32_t>(whole());
        } else if (name == "--queries") {
            options->scenario.queries = whole();
        } else if (name == "--deadline") {
            options->scenario.deadline_ms = std::strtod(value, nullptr);
        } else if (name == "--rates") {
            options->rates = static_cast<int>(whole());
        } else if (name == "--seed") {
            options->scenario.seed = whole();
        } else if (name == "--json") {
            options->json = value;
        } else {
            return false;
        }
    }
    const Scenario &scenario = options->scenario;
    return !options->costs.empty() && scenario.workers[0] > 0 && scenario.workers[1] > 0 &&
           scenario.queries > 0 && scenario.deadline_ms > 0 && options->rates > 0;
}

std::vector<MeasuredQuery> read_costs(const std::string &path) {
    std::ifstream file(path);
    std::vector<MeasuredQuery> queries;
    int number = 0;
    for (std::string line; std::getline(file, line);) {
        ++number;
        if (line.empty() || line[0] == '#') {
            continue;
        }
        std::istringstream fields(line);
        MeasuredQuery query;
        fields >> query.features.shortest >> query.features.second_shortest >> query.features.sum >>
            query.features.terms >> query.milliseconds[0] >> query.milliseconds[1];
        if (!fields || !(query.milliseconds[0] > 0) || !(query.milliseconds[1] > 0)) {
            std::fprintf(stderr, "%s, line %d:\n", path.c_str(), number);
            throw Failure{make_status(StatusCode::invalid_argument, "a line of costs can't be read")};
        }
        queries.push_back(query);
    }
    if (queries.empty()) {
        throw Failure{
            make_status(StatusCode::invalid_argument, "the file of costs can't be read or is empty")};
    }
    return queries;
}

// The mean relative error of the estimates.
double error_of(const std::vector<MeasuredQuery> &queries, std::size_t side) {
    std::vector<QueryFeatures> features;
    std::vector<double> milliseconds;
    for (const MeasuredQuery &query : queries) {
        features.push_back(query.features);
        milliseconds.push_back(query.milliseconds[side]);
    }
    const auto model = CostModel::fit(features, milliseconds);
    double error = 0;
    for (std::size_t i = 0; i < queries.size(); ++i) {
        error += std::abs(model.estimate(features[i]) - milliseconds[i]) / milliseconds[i];
    }
    return error / static_cast<double>(queries.size());
}

Status run(const Options &options) {
    const std::vector<MeasuredQuery> queries = read_costs(options.costs);
    Results results;
    const Scenario &scenario = options.scenario;
    results.describe("benchmark", "dispatcher");
    results.describe("date", time_now());
    results.describe("processors", std::to_string(scenario.workers[0]));
    results.describe("devices", std::to_string(scenario.workers[1]));
    results.describe("queries measured", std::to_string(queries.size()));
    results.describe("queries simulated", std::to_string(scenario.queries));
    results.describe("deadline, ms", std::to_string(scenario.deadline_ms));
    results.describe("seed", std::to_string(scenario.seed));
    const char *const sides[] = {"processor", "device"};
    for (std::size_t side = 0; side < kSides; ++side) {
        double mean = 0;
        for (const MeasuredQuery &query : queries) {
            mean += query.milliseconds[side] / static_cast<double>(queries.size());
        }
        results.add({"queries measured", sides[side], "on average", mean, "ms", 0, 0});
        results.add(
            {"error of the fit", sides[side], "on average", error_of(queries, side) * 100, "%", 0, 0});
    }
    const struct {
        Policy policy;
        const char *name;
    } policies[] = {
        {Policy::processor_only, "processor only"},
        {Policy::device_only, "device only"},
        {Policy::fixed_rule, "fixed rule"},
        {Policy::dispatcher, "dispatcher"},
    };
    double highest = 0;
    for (const auto &[policy, name] : policies) {
        Scenario tried = scenario;
        tried.policy = policy;
        const double most = capacity(queries, tried);
        highest = std::max(highest, most);
        results.add({"95 % within the deadline", name, "at most", most, "queries/s", 0, 0});
    }
    for (int step = 1; step <= options.rates; ++step) {
        // The highest rate is a little beyond what the best can do.
        const double rate = std::round(1.1 * highest * step / options.rates);
        const std::string column = std::to_string(static_cast<long>(rate));
        for (const auto &[policy, name] : policies) {
            Scenario tried = scenario;
            tried.policy = policy;
            tried.per_second = rate;
            const Outcome outcome = simulate(queries, tried);
            results.add({"mean delay by queries/s", name, column, outcome.mean_ms, "ms", 0, 0});
            results.add({"delay of 95 % by queries/s", name, column, outcome.of_95_ms, "ms", 0, 0});
            results.add({"within the deadline by queries/s", name, column, outcome.in_time * 100, "%", 0, 0});
            results.add({"answered by queries/s", name, column, outcome.per_second, "queries/s", 0, 0});
            results.add({"on the device by queries/s", name, column, outcome.on_device * 100, "%", 0, 0});
        }
    }
    results.print(stdout, 0);
    if (!options.json.empty() && !results.write_json(options.json)) {
        return make_status(StatusCode::internal, "the JSON file can't be written");
    }
    return {};
}

}  // namespace
}  // namespace gpu_engine::bench

int main(int argc, char **argv) {
    using namespace gpu_engine;
    return bench::run_main(argc, argv, bench::usage, bench::Options(), bench::parse, bench::run);
}
