// Benchmark of code spaces: runs with strings like addresses of pages, many of which several runs have.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>

#include "bench/command_line.h"
#include "bench/results.h"
#include "bench/strings/front_coding.h"
#include "gpu_engine/engine.h"
#include "gpu_engine/strings.h"

namespace gpu_engine::bench {
namespace {

const char usage[] =
    "usage: pg_gpu_strings [--strings 4500000] [--runs 8] [--threads 0] [--repeats 5] [--json FILE]\n"
    "Strings are those of all runs together; 0 threads are one a processor.\n";

struct Options {
    std::uint64_t strings = 4500000;
    std::uint64_t runs = 8;
    std::int32_t threads = 0;
    int repeats = 5;
    std::string json;
};

bool parse(int argc, char **argv, Options *options) {
    for (int i = 1; i < argc; i += 2) {
        const std::string name = argv[i];
        if (i + 1 >= argc) {
            return false;
        }
        const char *value = argv[i + 1];
        if (name == "--strings") {
            options->strings = std::strtoull(value, nullptr, 10);
        } else if (name == "--runs") {
            options->runs = std::strtoull(value, nullptr, 10);
        } else if (name == "--threads") {
            options->threads = std::atoi(value);
        } else if (name == "--repeats") {
            options->repeats = std::max(1, std::atoi(value));
        } else if (name == "--json") {
            options->json = value;
        } else {
            return false;
        }
    }
    return options->strings > 0 && options->runs > 0;
}

void require(const Status &status) {
    if (!status.ok()) {
        throw Failure{status};
    }
}

// Page `number` of one of a thousand sites.
std::string address_of(std::uint64_t number) {
    std::mt19937_64 random(number);
    std::string address = "http://site-" + std::to_string(random() % 1000) + ".example/";
    for (std::uint64_t i = random() % 3; i > 0; --i) {
        address += "section-" + std::to_string(random() % 50) + "/";
    }
    return address + "page.html?id=" + std::to_string(number);
}

// A run with these strings, each in one row.
std::shared_ptr<const RunStrings> load(Strings &strings, const std::vector<std::string> &entries) {
    constexpr std::uint32_t page_bytes = 8192;
    constexpr std::uint32_t first_byte = 24;
    const FrontCoded coded = front_code(entries);
    StoreLayout layout = {};
    layout.rows = entries.size();
    layout.tid_pages = 1;
    layout.page_bytes = page_bytes;
    layout.first_byte = first_byte;
    layout.page_words = (page_bytes - first_byte) / 8 - 2;
    layout.columns = 1;
    StoredColumn &column = layout.column[0];
    column.encoding = ColumnEncoding::dictionary;
    column.strings = 1;
    column.distinct = entries.size();
    column.bits =
        static_cast<std::uint8_t>(entries.size() <= 1 ? 0 : 64 - __builtin_clzll(entries.size() - 1));
    column.string_bytes = coded.bytes.size();
    column.dictionary = {0, (coded.bytes.size() + 7) / 8};
    column.blocks = {column.dictionary.words, coded.blocks.size()};
    column.codes = {column.blocks.first + column.blocks.words, packed_groups(layout.rows) * column.bits};
    layout.stream_words = column.codes.first + column.codes.words;
    std::vector<std::uint64_t> stream(layout.stream_words);
    std::memcpy(stream.data(), coded.bytes.data(), coded.bytes.size());
    std::copy(coded.blocks.begin(), coded.blocks.end(),
              stream.begin() + static_cast<std::ptrdiff_t>(column.blocks.first));
    std::vector<char> images(layout.pages() * page_bytes);
    for (std::uint64_t at = 0; at < stream.size(); at += layout.page_words) {
        std::memcpy(images.data() + (layout.tid_pages + at / layout.page_words) * page_bytes + first_byte,
                    stream.data() + at, std::min<std::uint64_t>(layout.page_words, stream.size() - at) * 8);
    }
    std::unique_ptr<StringsLoader> loader;
    require(strings.open_loader(layout, &loader));
    require(loader->append_pages(images.data(), static_cast<std::uint32_t>(layout.pages())));
    std::shared_ptr<const RunStrings> run;
    require(loader->finish(&run));
    return run;
}

Status run(const Options &options) {
    std::unique_ptr<Engine> engine;
    EngineOptions engine_options;
    engine_options.threads = options.threads;
    require(host::open_engine(engine_options, &engine));
    std::unique_ptr<Stream> stream;
    require(engine->open_stream(&stream));
    std::vector<SpaceMember> members;
    std::uint64_t bytes = 0;
    std::mt19937_64 random(20261129);
    for (std::uint64_t i = 0; i < options.runs; ++i) {
        std::vector<std::string> entries;
        // A third of a run's strings are in the next one, too.
        const std::uint64_t share = options.strings / options.runs;
        for (std::uint64_t k = 0; k < share + share / 3; ++k) {
            entries.push_back(address_of((i * share + k) % options.strings));
        }
        std::sort(entries.begin(), entries.end());
        members.push_back({load(*engine->strings(), entries), 0});
        bytes += members.back().run->bytes();
    }
    Results results;
    results.describe("benchmark", "strings");
    results.describe("date", time_now());
    results.describe("strings", std::to_string(options.strings));
    results.describe("runs", std::to_string(options.runs));
    results.describe("threads", std::to_string(options.threads));
    results.describe("bytes", std::to_string(bytes));
    const std::string size = std::to_string(options.strings / 1000000.0).substr(0, 4) + " million";
    const auto measure = [&](const char *name, const std::function<void()> &work) {
        std::vector<double> times;
        for (int i = 0; i < options.repeats; ++i) {
            const auto begin = std::chrono::steady_clock::now();
            work();
            times.push_back(
                std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
        }
        std::sort(times.begin(), times.end());
        const double median = times[times.size() / 2];
        std::printf("%-20s %9.3f ms, best %9.3f ms, %.2f GB/s of dictionaries\n", name, median, times[0],
                    static_cast<double>(bytes) / times[0] / 1e6);
        std::fflush(stdout);
        results.add({"strings", name, size, median, "ms", 0, 0});
    };
    std::shared_ptr<const CodeSpace> space;
    measure("code space", [&] {
        space = nullptr;
        require(engine->strings()->make_space(*stream, members.data(), members.size(), &space));
    });
    std::printf("%llu entries, %.1f bytes of dictionaries each, %.1f of the space\n",
                static_cast<unsigned long long>(space->entries()),
                static_cast<double>(bytes) / static_cast<double>(space->entries()),
                static_cast<double>(space->bytes()) / static_cast<double>(space->entries()));
    // Each time another pattern, since results are kept.
    int patterns = 0;
    measure("LIKE %a%b%", [&] {
        std::shared_ptr<const StringResult> result;
        const std::string pattern = "%site%page%" + std::to_string(patterns++) + "%";
        require(space->evaluate(*stream, {StringFunctionKind::like, true, pattern}, &result));
    });
    constexpr std::uint64_t read_at_once = 10000;
    std::vector<std::uint64_t> numbers(read_at_once);
    std::vector<std::uint64_t> ends(read_at_once);
    std::vector<char> room(read_at_once * 200);
    measure("10,000 entries read", [&] {
        for (std::uint64_t &number : numbers) {
            number = random() % space->entries();
        }
        std::uint64_t done = 0;
        std::uint64_t needed = 0;
        require(space->read(*stream, numbers.data(), numbers.size(), room.data(), room.size(), ends.data(),
                            &done, &needed));
    });
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
