// Benchmark of queries, on either engine: statements by what they compute, without SQL.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "bench/query/rows.h"
#include "bench/command_line.h"
#include "bench/query/statements.h"
#include "bench/results.h"
#include "gpu_engine/engine.h"

namespace gpu_engine::bench {
namespace {

const char usage[] =
    "usage: pg_gpu_query [--engine cuda|host] [--rows 12000000] [--runs 1] [--repeats 9] [--only "
    "NAME[,NAME...]]\n"
    "                    [--check yes] [--json FILE]\n"
    "Names: pricing, one, bounds, many, surprise, pairs, top, floats, float, distinct, ordered, rows, star, "
    "orders,\n"
    "wide, exists; all when none is named. With --check the answers are compared with the host engine's, "
    "too.\n";

struct Options {
    std::string engine = "cuda";
    std::uint64_t rows = 12000000;
    std::uint64_t runs = 1;
    int repeats = 9;
    bool check = false;
    std::vector<std::string> only;
    std::string json;
};

bool parse(int argc, char **argv, Options *options) {
    for (int i = 1; i < argc; i += 2) {
        const std::string name = argv[i];
        if (i + 1 >= argc) {
            return false;
        }
        const std::string value = argv[i + 1];
        if (name == "--engine") {
            options->engine = value;
        } else if (name == "--rows") {
            options->rows = std::strtoull(value.c_str(), nullptr, 10);
        } else if (name == "--runs") {
            options->runs = std::max(1ULL, std::strtoull(value.c_str(), nullptr, 10));
        } else if (name == "--repeats") {
            options->repeats = std::max(1, std::atoi(value.c_str()));
        } else if (name == "--check") {
            options->check = value == "yes";
        } else if (name == "--only") {
            options->only = split(value);
        } else if (name == "--json") {
            options->json = value;
        } else {
            return false;
        }
    }
    return options->rows > 0 && (options->engine == "cuda" || options->engine == "host");
}

void require(const Status &status) {
    if (!status.ok()) {
        throw Failure{status};
    }
}

using Records = std::vector<std::vector<std::uint64_t>>;

// An engine with the runs.
class Holder {
  public:
    Holder(const Options &options, const std::string &engine) {
        EngineOptions engine_options;
        if (engine == "host") {
            require(host::open_engine(engine_options, &engine_));
        } else {
#ifdef PG_GPU_HAVE_CUDA
            require(device::open_engine(engine_options, &engine_));
#else
            throw Failure{make_status(StatusCode::unavailable, "built without CUDA")};
#endif
        }
        require(engine_->open_stream(&stream_));
        for (std::uint64_t run = 0; run < options.runs; ++run) {
            runs_.push_back(make_fact_run(engine_->column(), *stream_, options.rows * run / options.runs,
                                          options.rows * (run + 1) / options.runs, options.rows));
            stores_.push_back(runs_.back().get());
        }
    }

    std::unique_ptr<query::QueryResult> compute(Statement &statement) {
        std::unique_ptr<query::QueryResult> result;
        require(engine_->queries().run(*stream_, statement.over(stores_), &result));
        if (result->outcome() != query::QueryOutcome::answered) {
            throw Failure{make_status(StatusCode::internal, "a statement has no answer")};
        }
        return result;
    }
    // Up to so many rows.
    std::vector<std::uint64_t> read(const query::QueryResult &result, std::uint64_t most) {
        const std::uint64_t rows = std::min(result.rows(), most);
        std::vector<std::uint64_t> words(rows * result.record_words());
        require(result.read_rows(*stream_, 0, rows, words.data()));
        return words;
    }
    // All rows in an order.
    Records sorted(Statement &statement) {
        const auto result = compute(statement);
        const std::vector<std::uint64_t> words = read(*result, UINT64_MAX);
        Records records;
        for (std::size_t at = 0; at < words.size(); at += result->record_words()) {
            records.emplace_back(words.begin() + static_cast<std::ptrdiff_t>(at),
                                 words.begin() + static_cast<std::ptrdiff_t>(at + result->record_words()));
        }
        std::sort(records.begin(), records.end());
        return records;
    }

  private:
    std::unique_ptr<Engine> engine_;
    std::unique_ptr<Stream> stream_;
    std::vector<std::unique_ptr<ColumnStore>> runs_;
    std::vector<const ColumnStore *> stores_;
};

Status run(const Options &options) {
    Holder holder(options, options.engine);
    std::unique_ptr<Holder> other;
    if (options.check) {
        other = std::make_unique<Holder>(options, "host");
    }
    Results results;
    results.describe("benchmark", "queries");
    results.describe("date", time_now());
    results.describe("engine", options.engine);
    results.describe("rows", std::to_string(options.rows));
    results.describe("runs", std::to_string(options.runs));
    const std::string size = std::to_string(options.rows / 1000000) + " million rows";
    bool is_alike = true;
    for (const auto &named : statements()) {
        if (!options.only.empty() &&
            std::find(options.only.begin(), options.only.end(), named.name) == options.only.end()) {
            continue;
        }
        Statement statement = named.make(options.rows);
        std::uint64_t rows = 0;
        std::vector<double> times;
        for (int i = 0; i <= options.repeats; ++i) {
            const auto begin = std::chrono::steady_clock::now();
            const auto result = holder.compute(statement);
            rows = result->rows();
            holder.read(*result, 1000);
            times.push_back(
                std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
        }
        times.erase(times.begin());
        std::sort(times.begin(), times.end());
        const double median = times[times.size() / 2];
        const bool is_same = other == nullptr || holder.sorted(statement) == other->sorted(statement);
        is_alike = is_alike && is_same;
        std::printf("%-10s %9.3f ms, best %9.3f ms, %llu rows%s\n", named.name, median, times[0],
                    static_cast<unsigned long long>(rows),
                    other == nullptr ? ""
                    : is_same        ? ", as on the host"
                                     : ", NOT as on the host");
        std::fflush(stdout);
        results.add({"queries", named.name, size, median, "ms", 0, 0});
    }
    results.print(stdout, 0);
    if (!options.json.empty() && !results.write_json(options.json)) {
        return make_status(StatusCode::internal, "the JSON file can't be written");
    }
    return is_alike ? Status{} : make_status(StatusCode::internal, "the engines' answers differ");
}

}  // namespace
}  // namespace gpu_engine::bench

int main(int argc, char **argv) {
    using namespace gpu_engine;
    return bench::run_main(argc, argv, bench::usage, bench::Options(), bench::parse, bench::run);
}
