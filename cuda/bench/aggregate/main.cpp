// Benchmark of aggregates, on either engine: statements by what they compute for each row, without SQL.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>

#include "bench/aggregate/rows.h"
#include "bench/command_line.h"
#include "bench/results.h"
#include "gpu_engine/engine.h"
#include "server/aggregate_parts.h"
#include "server/part_threads.h"

#include "gpu_engine/boundary.h"

namespace gpu_engine::bench {
namespace {

const char usage[] =
    "usage: pg_gpu_aggregate [--engine cuda|host] [--devices 0[,N...]] [--runs N] [--rows 18000000] "
    "[--repeats 9]\n"
    "                        [--only NAME[,NAME...]] [--json FILE]\n"
    "Rows are in as many runs as there are devices, or as are said, which are dealt to the devices. With "
    "--engine host\n"
    "each device is a host engine, for trying it out.\n"
    "Names: one, few, discounts, parts, orders, pairs, wide, filter; all when none is named. Progress goes "
    "first,\n"
    "tables last.\n";

struct Options {
    std::string engine = "cuda";
    std::vector<std::string> devices = {"0"};
    std::uint64_t runs = 0;  // 0: one a device
    std::uint64_t rows = 18000000;
    int repeats = 9;
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
        } else if (name == "--devices") {
            options->devices = split(value);
        } else if (name == "--runs") {
            options->runs = std::strtoull(value.c_str(), nullptr, 10);
        } else if (name == "--rows") {
            options->rows = std::strtoull(value.c_str(), nullptr, 10);
        } else if (name == "--repeats") {
            options->repeats = std::atoi(value.c_str());
        } else if (name == "--only") {
            options->only = split(value);
        } else if (name == "--json") {
            options->json = value;
        } else {
            return false;
        }
    }
    options->runs = std::max<std::uint64_t>(options->runs, options->devices.size());
    return (options->engine == "cuda" || options->engine == "host") && options->rows >= 1000 &&
           !options->devices.empty() && options->runs <= options->rows / 1000 && options->rows < UINT32_MAX &&
           options->repeats >= 1;
}

void require(const Status &status) {
    if (!status.ok()) {
        throw Failure{status};
    }
}

// A question in the making. The bytes are those that an engine must at least read for each row.
struct Statement {
    std::uint64_t rows;
    AggregateProgram program = {};
    std::vector<AggregateInput> inputs;
    std::deque<std::vector<std::uint8_t>> maps;
    AggregateTop top = {};
    double bits = 0;

    explicit Statement(std::uint64_t rows_) : rows(rows_) { program.filter = no_aggregate_step; }

    std::uint16_t step(AggregateOperation operation, std::uint16_t left, std::uint16_t right = 0) {
        program.step[program.step_count] = {operation, 8, left, right, 0, 0};
        return static_cast<std::uint16_t>(program.step_count++);
    }
    std::uint16_t constant(std::int64_t number) {
        const std::uint16_t made = step(AggregateOperation::constant, 0);
        program.step[made].constant = number;
        return made;
    }
    std::uint16_t column(FactColumn column) {
        AggregateInput input = {};
        input.kind = AggregateInputKind::code;
        input.column_null_is_null = true;
        input.column = column;
        // The texts of priorities are looked up, as strings are.
        if (column == priority) {
            maps.emplace_back(codes_of(column, rows));
            for (std::size_t i = 0; i < maps.back().size(); ++i) {
                maps.back()[i] = static_cast<std::uint8_t>(maps.back().size() - 1 - i);
            }
            input.kind = AggregateInputKind::map8;
            input.places = maps.back().size();
            input.values = maps.back().data();
        }
        inputs.push_back(input);
        bits += std::bit_width(codes_of(column, rows) - 1);
        return step(AggregateOperation::input, static_cast<std::uint16_t>(program.input_count++));
    }
    void key(FactColumn of) {
        AggregateKey made = {};
        made.step = column(of);
        made.codes = codes_of(of, rows);
        made.bits = static_cast<std::uint8_t>(std::bit_width(made.codes - 1));
        if (program.key_count > 0) {
            const AggregateKey &last = program.key[program.key_count - 1];
            made.shift = static_cast<std::uint8_t>(last.shift + last.bits);
        }
        program.key[program.key_count++] = made;
        program.key_words = 1;
    }
    void count() { add(AccumulatorKind::count, no_aggregate_step); }
    void add(AccumulatorKind kind, std::uint16_t argument, std::uint16_t exponent = 0) {
        program.accumulator[program.accumulator_count++] = {
            kind, static_cast<std::uint8_t>(program.value_words), argument, no_aggregate_step, exponent};
        program.value_words += accumulator_words(kind);
    }
    void sum(FactColumn of) {
        add(AccumulatorKind::sum, column(of),
            static_cast<std::uint16_t>(std::bit_width(codes_of(of, rows) - 1)));
    }
};

Statement make_one(std::uint64_t rows) {
    Statement made(rows);
    const std::uint16_t number = made.column(revenue);
    made.add(AccumulatorKind::sum, number, 24);
    made.add(AccumulatorKind::least, number);
    made.add(AccumulatorKind::greatest, number);
    made.sum(quantity);
    made.count();
    return made;
}
Statement make_few(std::uint64_t rows) {
    Statement made(rows);
    made.key(priority);
    made.count();
    made.sum(revenue);
    made.sum(discount);
    return made;
}
Statement make_discounts(std::uint64_t rows) {
    Statement made(rows);
    made.key(discount);
    made.key(tax);
    made.key(priority);
    made.sum(extended_price);
    made.sum(quantity);
    made.count();
    return made;
}
// Groups in device memory, of which the ten with the greatest sums are wanted.
template <FactColumn by>
Statement make_top(std::uint64_t rows) {
    Statement made(rows);
    made.key(by);
    made.sum(revenue);
    made.top = {10, made.program.key_words, 1, 1, 0};
    return made;
}
// What count(DISTINCT …) asks first.
Statement make_pairs(std::uint64_t rows) {
    Statement made(rows);
    made.key(customer);
    made.count();
    return made;
}
Statement make_filter(std::uint64_t rows) {
    Statement made(rows);
    const std::uint16_t low = made.step(AggregateOperation::less, made.column(quantity), made.constant(24));
    const std::uint16_t cheap = made.step(AggregateOperation::less, made.column(discount), made.constant(3));
    made.program.filter = made.step(AggregateOperation::logical_and, low, cheap);
    made.add(AccumulatorKind::sum,
             made.step(AggregateOperation::multiply, made.column(extended_price), made.column(discount)));
    return made;
}

const struct {
    const char *name;
    const char *line;
    Statement (*make)(std::uint64_t rows);
} statements[] = {
    {"one", "one group: two sums, least, greatest, count", make_one},
    {"few", "5 groups: two sums, count", make_few},
    {"discounts", "495 groups of three keys: two sums, count", make_discounts},
    {"parts", "groups by part: a sum, the first ten", make_top<part>},
    {"orders", "groups by order: a sum, the first ten", make_top<order>},
    {"pairs", "groups by customer: a count", make_pairs},
    {"wide", "a million groups of 40 bits: a sum, the first ten", make_top<wide_key>},
    {"filter", "a filter of two columns, and the sum of a product", make_filter},
};

// A device, with its share of the runs.
struct Holder {
    std::unique_ptr<Engine> engine;
    std::unique_ptr<Stream> stream;
    std::vector<std::unique_ptr<ColumnStore>> runs;
};

std::unique_ptr<AggregateAnswer> ask_one(Holder &holder, const Statement &statement,
                                         const server::AggregateLimits &limits) {
    std::vector<AggregatePart> parts;
    for (const auto &run : holder.runs) {
        parts.push_back({run.get(), nullptr, 0, 0, statement.inputs.data()});
    }
    const AggregateQuestion question = {
        &statement.program, parts.data(), static_cast<std::uint32_t>(parts.size()), 0, nullptr,
        limits.max_groups,  limits.top};
    std::unique_ptr<AggregateAnswer> answer;
    require(holder.engine->column().aggregate(*holder.stream, question, &answer));
    if (answer->outcome() != AggregateOutcome::answered) {
        throw Failure{make_status(StatusCode::internal, "a question has no answer")};
    }
    return answer;
}

// Runs on one device or several.
class Holders {
  public:
    explicit Holders(const Options &options) : holders_(options.devices.size()) {
        require(host::open_engine({}, &host_));
        at_once([&](std::size_t i) { fill(i, options); });
    }

    std::uint64_t bytes() const {
        std::uint64_t bytes = 0;
        for (const Holder &holder : holders_) {
            for (const auto &run : holder.runs) {
                bytes += run->bytes();
            }
        }
        return bytes;
    }

    // As the server process does it.
    std::uint64_t ask(const Statement &statement) {
        const server::AggregateLimits limits = {UINT32_MAX, statement.top};
        if (holders_.size() == 1) {
            return read_some(statement, *ask_one(holders_[0], statement, limits));
        }
        std::vector<server::PartOfAnswer> parts(holders_.size());
        at_once([&](std::size_t i) {
            const auto answer = ask_one(holders_[i], statement, server::limits_of_parts(limits));
            parts[i].read(host_->memory(), *holders_[i].stream, statement.program, *answer);
        });
        std::vector<AggregateRecords> records;
        for (const server::PartOfAnswer &part : parts) {
            records.push_back(part.records());
        }
        const AggregateMerge merge = {&statement.program, limits.max_groups, limits.top, records.data(),
                                      records.size()};
        std::unique_ptr<AggregateAnswer> answer;
        require(host::merge_answers(*host_, *holders_[0].stream, merge, &answer));
        return read_some(statement, *answer);
    }

  private:
    template <typename Body>
    void at_once(Body body) {
        std::vector<Status> statuses(holders_.size());
        threads_.run(holders_.size(), [&](std::size_t i) {
            statuses[i] = guarded([&] {
                body(i);
                return Status{};
            });
        });
        for (const Status &status : statuses) {
            require(status);
        }
    }

    void fill(std::size_t i, const Options &options) {
        Holder &holder = holders_[i];
        EngineOptions engine_options;
        if (options.engine == "host") {
            require(host::open_engine(engine_options, &holder.engine));
        } else {
#ifdef PG_GPU_HAVE_CUDA
            engine_options.device = std::atoi(options.devices[i].c_str());
            require(device::open_engine(engine_options, &holder.engine));
#else
            throw Failure{make_status(StatusCode::unavailable, "built without CUDA")};
#endif
        }
        require(holder.engine->open_stream(&holder.stream));
        for (std::uint64_t run = i; run < options.runs; run += holders_.size()) {
            holder.runs.push_back(make_fact_run(holder.engine->column(), *holder.stream,
                                                options.rows * run / options.runs,
                                                options.rows * (run + 1) / options.runs, options.rows));
        }
    }

    std::uint64_t read_some(const Statement &statement, const AggregateAnswer &answer) {
        const std::uint64_t groups = std::min<std::uint64_t>(answer.groups(), 1000);
        std::vector<std::uint64_t> records(groups *
                                           (statement.program.key_words + statement.program.value_words));
        require(answer.read_groups(*holders_[0].stream, 0, groups, records.data()));
        return answer.groups();
    }

    std::unique_ptr<Engine> host_;  // merges
    std::vector<Holder> holders_;
    server::PartThreads threads_;
};

Status run(const Options &options) {
    Holders holders(options);
    std::printf("%llu rows, %.1f MiB, %llu runs on %zu devices\n",
                static_cast<unsigned long long>(options.rows),
                static_cast<double>(holders.bytes()) / (1 << 20),
                static_cast<unsigned long long>(options.runs), options.devices.size());
    Results results;
    results.describe("benchmark", "aggregates");
    results.describe("date", time_now());
    results.describe("engine", options.engine);
    results.describe("rows", std::to_string(options.rows));
    results.describe("runs", std::to_string(options.runs));
    results.describe("devices", std::to_string(options.devices.size()));
    const std::string size = std::to_string(options.rows / 1000000) + " million rows";
    for (const auto &statement : statements) {
        if (!options.only.empty() &&
            std::find(options.only.begin(), options.only.end(), statement.name) == options.only.end()) {
            continue;
        }
        const Statement asked = statement.make(options.rows);
        std::uint64_t groups = holders.ask(asked);
        std::vector<double> times;
        for (int i = 0; i < options.repeats; ++i) {
            const auto begin = std::chrono::steady_clock::now();
            groups = holders.ask(asked);
            times.push_back(
                std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
        }
        std::sort(times.begin(), times.end());
        const double median = times[times.size() / 2];
        std::printf("%-12s %9.3f ms, %llu groups\n", statement.name, median,
                    static_cast<unsigned long long>(groups));
        results.add({"aggregates", statement.line, size, median, "ms", 0, asked.bits / 8});
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
