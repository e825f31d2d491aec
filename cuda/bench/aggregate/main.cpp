// Benchmark of aggregates, on either engine: statements by what they compute for each row, without SQL.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>

#include "bench/aggregate/bandwidth.h"
#include "bench/aggregate/rows.h"
#include "bench/command_line.h"
#include "bench/results.h"
#include "gpu_engine/engine.h"
#include "gpu_engine/top_rows.h"
#include "server/requests/aggregate_parts.h"
#include "server/requests/part_threads.h"

namespace gpu_engine::bench {
namespace {

const char usage[] =
    "usage: pg_gpu_aggregate [--engine cuda|host] [--devices 0[,N...]] [--runs N] [--rows 18000000] "
    "[--repeats 9]\n"
    "                        [--only NAME[,NAME...]] [--json FILE]\n"
    "Rows are in as many runs as there are devices, or as are said, which are dealt to the devices. With "
    "--engine host\n"
    "each device is a host engine, for trying it out.\n"
    "Names: one, few, discounts, parts, orders, pairs, wide, filter, rows, dates, join, joins; all when none "
    "is "
    "named.\n"
    "Progress goes first: the median and the best time, the bytes that a statement's columns have and, on a "
    "device, what\n"
    "share of the bandwidth of reading they come to at best. Tables are last. Statements of "
    "test/bench/ssb.tsv: "
    "A1 is one,\n"
    "A2 few, A3 discounts, A4 parts, A6 orders, A7 rows, A8 pairs and dates, J1.1 join, J4.1 joins.\n";

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

// A request in the making. The bits are those that its columns have of each row.
struct Statement {
    std::uint64_t rows;
    AggregateProgram program = {};
    std::vector<AggregateInput> inputs;
    std::vector<ColumnTest> tests;
    std::deque<std::vector<std::uint8_t>> maps;
    std::deque<ValueRange> ranges;
    std::vector<FactColumn> columns;
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
    std::uint16_t input(const AggregateInput &made) {
        inputs.push_back(made);
        read(static_cast<FactColumn>(made.column));
        return step(AggregateOperation::input, static_cast<std::uint16_t>(program.input_count++));
    }
    // Adds an input with a small number for each code, as strings and joined tables' columns have.
    template <typename NumberOf>
    std::uint16_t mapped(FactColumn column, NumberOf number_of) {
        maps.emplace_back(codes_of(column, rows));
        for (std::size_t i = 0; i < maps.back().size(); ++i) {
            maps.back()[i] = static_cast<std::uint8_t>(number_of(i));
        }
        AggregateInput made = {};
        made.kind = AggregateInputKind::map8;
        made.column_null_is_null = true;
        made.column = column;
        made.places = maps.back().size();
        made.values = maps.back().data();
        return input(made);
    }
    std::uint16_t column(FactColumn column) {
        if (column == priority) {
            return mapped(column, [this](std::size_t code) { return codes_of(priority, rows) - 1 - code; });
        }
        AggregateInput made = {};
        made.kind = AggregateInputKind::code;
        made.column_null_is_null = true;
        made.column = column;
        return input(made);
    }
    void test(FactColumn column, std::uint64_t low, std::uint64_t high) {
        ranges.push_back({low, high});
        tests.push_back({TestKind::ranges, column, &ranges.back(), nullptr, 1});
        read(column);
    }
    void read(FactColumn column) {
        if (std::find(columns.begin(), columns.end(), column) == columns.end()) {
            columns.push_back(column);
            bits += bits_of(column, rows);
        }
    }
    void key(FactColumn of) { key(column(of), codes_of(of, rows)); }
    void key(std::uint16_t of, std::uint64_t codes) {
        AggregateKey made = {};
        made.step = of;
        made.codes = codes;
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
// Makes the statement that stands for count(DISTINCT …).
template <FactColumn of>
Statement make_distinct(std::uint64_t rows) {
    Statement made(rows);
    made.key(of);
    made.count();
    made.top.of_rows = top_only_counts;
    return made;
}
// Makes a statement for the first hundred rows by the greatest revenue, then by order and line.
Statement make_rows(std::uint64_t rows) {
    Statement made(rows);
    std::uint8_t shift = 64;
    for (const FactColumn of : {revenue, order, line_number}) {
        made.key(of);
        AggregateKey &key = made.program.key[made.program.key_count - 1];
        shift = static_cast<std::uint8_t>(shift - key.bits);
        key.shift = shift;
        key.codes = 0;
        key.order = of == revenue ? key_descends : 0;
    }
    made.add(AccumulatorKind::least, made.step(AggregateOperation::place, 0));
    made.top = {100, 0, 0, 0, top_of_rows | top_by_first_key};
    return made;
}
Statement make_join(std::uint64_t rows) {
    Statement made(rows);
    made.test(discount, 1, 3);
    made.test(quantity, 0, 23);
    made.program.filter = made.mapped(date, [](std::size_t code) { return code / 365 == 1 ? 1 : 0; });
    made.add(AccumulatorKind::sum,
             made.step(AggregateOperation::multiply, made.column(extended_price), made.column(discount)), 28);
    return made;
}
// Makes a statement with joins: one of five customers and suppliers, two of five parts; by year and nation.
Statement make_joins(std::uint64_t rows) {
    Statement made(rows);
    const auto one_of_five = [](std::size_t code) { return code * 2654435761U >> 7 & 255; };
    const auto is_here = [=](std::size_t code) { return one_of_five(code) < 51 ? 1 : 0; };
    const std::uint16_t sold = made.step(AggregateOperation::logical_and, made.mapped(customer, is_here),
                                         made.mapped(supplier, is_here));
    made.program.filter =
        made.step(AggregateOperation::logical_and, sold,
                  made.mapped(part, [=](std::size_t code) { return one_of_five(code) < 102 ? 1 : 0; }));
    made.key(made.mapped(date, [](std::size_t code) { return code / 365; }), 7);
    made.key(made.mapped(customer, [](std::size_t code) { return code % 5; }), 5);
    made.add(AccumulatorKind::sum,
             made.step(AggregateOperation::subtract, made.column(revenue), made.column(supply_cost)), 25);
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
    {"pairs", "how many customers there are", make_distinct<customer>},
    {"wide", "a million groups of 40 bits: a sum, the first ten", make_top<wide_key>},
    {"filter", "a filter of two columns, and the sum of a product", make_filter},
    {"rows", "the first hundred rows by three columns", make_rows},
    {"dates", "how many dates there are", make_distinct<date>},
    {"join", "a join, two ranges, and the sum of a product", make_join},
    {"joins", "four joins, 35 groups: the sum of a difference", make_joins},
};

// A device, with its share of the runs.
struct Holder {
    std::unique_ptr<Engine> engine;
    std::unique_ptr<Stream> stream;
    std::vector<std::unique_ptr<ColumnStore>> runs;
};

std::unique_ptr<AggregateOutput> compute_one(Holder &holder, const Statement &statement,
                                             const AggregateProgram &program,
                                             const server::AggregateLimits &limits,
                                             std::uint64_t rows_of_all) {
    std::vector<AggregatePart> parts;
    for (const auto &run : holder.runs) {
        parts.push_back({run.get(), statement.tests.data(),
                         static_cast<std::uint32_t>(statement.tests.size()), 0, statement.inputs.data()});
    }
    const AggregateRequest request = {&program,   parts.data(), static_cast<std::uint32_t>(parts.size()),
                                      0,          nullptr,      limits.max_groups,
                                      limits.top, rows_of_all};
    std::unique_ptr<AggregateOutput> output;
    require(holder.engine->column().aggregate(*holder.stream, request, &output));
    if (output->outcome() != AggregateOutcome::answered) {
        throw Failure{make_status(StatusCode::internal, "a request has no answer")};
    }
    return output;
}

// Runs on one device or several.
class Holders {
  public:
    explicit Holders(const Options &options)
        : is_device_(options.engine != "host"), holders_(options.devices.size()) {
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

    // Computes the statement as the server process does it.
    std::uint64_t compute(const Statement &statement) {
        const server::AggregateLimits limits = {UINT32_MAX, statement.top};
        if (holders_.size() == 1) {
            return read_some(statement, *compute_one(holders_[0], statement, statement.program, limits, 0));
        }
        const AggregateProgram program = server::program_of_parts(statement.program, limits, true);
        std::vector<server::PartOfResult> parts(holders_.size());
        at_once([&](std::size_t i) {
            parts[i].keep(host_->memory(), *holders_[i].stream, program, limits,
                          compute_one(holders_[i], statement, program, server::limits_of_parts(limits),
                                      server::is_of_groups(limits) ? statement.rows : 0));
        });
        server::leave_out_of_parts(host_->memory(), program, limits, parts, [&](auto body) {
            at_once([&](std::size_t i) { body(i, *holders_[i].stream); });
        });
        std::unique_ptr<AggregateOutput> output;
        if (server::have_many_groups(parts) &&
            server::merge_on_device(*holders_[0].engine, *holders_[0].stream, program, limits, parts,
                                    &output)) {
            return read_some(statement, *output);
        }
        at_once([&](std::size_t i) {
            if (!parts[i].is_read()) {
                parts[i].read(host_->memory(), *holders_[i].stream, program);
            }
        });
        require(server::merge_in_memory(*host_, *holders_[0].stream, program, limits, parts, &output));
        return read_some(statement, *output);
    }

    // Returns the bandwidth of reading device memory, of all devices together, in bytes a millisecond; 0 when
    // that isn't known.
    double bandwidth() {
        double sum = 0;
#ifdef PG_GPU_HAVE_CUDA
        for (Holder &holder : holders_) {
            if (is_device_) {
                sum += measure_bandwidth(*holder.engine, *holder.stream);
            }
        }
#endif
        return sum;
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

    std::uint64_t read_some(const Statement &statement, const AggregateOutput &output) {
        const std::uint64_t groups = std::min<std::uint64_t>(output.groups(), 1000);
        std::vector<std::uint64_t> records(groups *
                                           (statement.program.key_words + statement.program.value_words));
        require(output.read_groups(*holders_[0].stream, 0, groups, records.data()));
        return std::max(output.groups(), output.counted());
    }

    const bool is_device_;
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
    const double bandwidth = holders.bandwidth();
    results.describe("bandwidth", std::to_string(bandwidth / 1e6) + " GB/s");
    const std::string size = std::to_string(options.rows / 1000000) + " million rows";
    for (const auto &statement : statements) {
        if (!options.only.empty() &&
            std::find(options.only.begin(), options.only.end(), statement.name) == options.only.end()) {
            continue;
        }
        const Statement requested = statement.make(options.rows);
        std::uint64_t groups = holders.compute(requested);
        std::vector<double> times;
        for (int i = 0; i < options.repeats; ++i) {
            const auto begin = std::chrono::steady_clock::now();
            groups = holders.compute(requested);
            times.push_back(
                std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
        }
        std::sort(times.begin(), times.end());
        const double median = times[times.size() / 2];
        const double bytes = requested.bits / 8 * static_cast<double>(options.rows);
        const double share = bandwidth == 0 ? 0 : bytes / bandwidth / times[0];
        std::printf("%-12s %9.3f ms, best %9.3f ms, %llu groups, %.1f MB, %.0f %% of the bandwidth\n",
                    statement.name, median, times[0], static_cast<unsigned long long>(groups), bytes / 1e6,
                    share * 100);
        results.add({"aggregates", statement.line, size, median, "ms", 0, requested.bits / 8});
        results.add({"best, share of the bandwidth of reading", statement.line, size, times[0], "ms", share,
                     requested.bits / 8});
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
