// Dictionary merges of byte strings, sorted by their bytes and by their hash.
#include <algorithm>
#include <random>
#include <string>
#include <utility>

#include "studies/column/studies.h"
#include "bench/column/merges.cuh"
#include "studies/column/string_hash.h"

namespace gpu_engine::bench {
namespace {

struct Strings {
    std::vector<std::uint64_t> offsets = {0};
    std::vector<std::uint8_t> bytes;

    template <typename Byte>
    void add(const Byte *string, std::size_t length) {
        bytes.insert(bytes.end(), string, string + length);
        offsets.push_back(bytes.size());
    }
    Strings by_hash() const {
        std::vector<std::pair<std::uint64_t, std::uint32_t>> order(offsets.size() - 1);
        for (std::uint32_t i = 0; i < order.size(); ++i) {
            order[i] = {string_hash(bytes.data() + offsets[i], offsets[i + 1] - offsets[i]), i};
        }
        std::sort(order.begin(), order.end());
        Strings sorted;
        for (const auto &[hash, i] : order) {
            sorted.add(bytes.data() + offsets[i], offsets[i + 1] - offsets[i]);
        }
        return sorted;
    }
};

struct DeviceStrings {
    device::Buffer<std::uint64_t> offsets;
    device::Buffer<std::uint8_t> bytes;

    DeviceStrings(const device::Call &call, const Strings &strings)
        : offsets(call.buffer<std::uint64_t>(strings.offsets.size())),
          bytes(call.buffer<std::uint8_t>(std::max<std::size_t>(strings.bytes.size(), 1))) {
        call.copy(offsets.data(), strings.offsets.data(), strings.offsets.size());
        call.copy(bytes.data(), strings.bytes.data(), strings.bytes.size());
        call.wait();
    }
    StringDictionary view() const { return {offsets.data(), bytes.data(), offsets.size() - 1}; }
};

constexpr std::uint64_t main_count = std::uint64_t(1) << 22;
constexpr std::uint64_t delta_count = main_count / 4;

// Makes strings in order: digits of a growing number behind a beginning, and a tail of random length.
void make_strings(const char *beginning, std::uint64_t longest, Strings *main, Strings *delta) {
    std::mt19937_64 random(20261121);
    char string[200];
    for (std::uint64_t i = 0; i < main_count + delta_count / 2; ++i) {
        const int digits = std::snprintf(string, sizeof(string), "%s%010llu", beginning,
                                         static_cast<unsigned long long>(i * 397));
        const auto length = static_cast<std::size_t>(digits) + random() % longest;
        for (auto at = static_cast<std::size_t>(digits); at < length; ++at) {
            string[at] = static_cast<char>('a' + at % 26);
        }
        // A fifth of the places is delta's, and main has half of these, too.
        const std::uint64_t kind = i % (main_count / delta_count * 2 + 1);
        if (kind != 1) {
            main->add(string, length);
        }
        if (kind < 2) {
            delta->add(string, length);
        }
    }
}

void measure_strings(const Bench &bench, const Strings &main, const Strings &delta, StringOrder order,
                     const std::string &line, const std::string &column) {
    const device::Call call(bench.engine, bench.stream);
    const double bandwidth = copy_bandwidth(bench, call, std::uint64_t(1) << 30);
    const DeviceStrings own_main(call, main);
    const DeviceStrings own_delta(call, delta);
    const std::uint64_t total = own_main.view().count + own_delta.view().count;
    const device::Buffer<std::uint64_t> offsets = call.buffer<std::uint64_t>(total + 1);
    const device::Buffer<std::uint8_t> bytes =
        call.buffer<std::uint8_t>(main.bytes.size() + delta.bytes.size());
    const device::Buffer<std::uint32_t> main_map = call.buffer<std::uint32_t>(own_main.view().count);
    const device::Buffer<std::uint32_t> delta_map = call.buffer<std::uint32_t>(own_delta.view().count);
    MergedStrings merged{offsets.data(), bytes.data(), main_map.data(), delta_map.data(), 0};
    const double ms = median_ms(bench, [&] {
        require(open_column_studies(bench.engine)
                    ->dictionaries()
                    .merge(bench.stream, own_main.view(), own_delta.view(), order, &merged));
    });
    std::uint64_t merged_bytes = 0;
    call.copy(&merged_bytes, static_cast<const std::uint64_t *>(offsets.data()) + merged.count, 1);
    call.wait();
    // Both dictionaries are read, and the union and both maps are written.
    const double moved = static_cast<double>(main.bytes.size() + delta.bytes.size() + merged_bytes) +
                         static_cast<double>(total) * 12 + static_cast<double>(merged.count) * 8;
    const std::string table = "dictionary merge, strings, 2^22 and a quarter in delta";
    bench.results.add({table, line, column, ms, "ms, share of the bytes", moved / bandwidth / 1e6 / ms,
                       moved / static_cast<double>(total)});
    // One core of the processor does the same once, for comparison.
    std::unique_ptr<Engine> host;
    EngineOptions one_thread;
    one_thread.threads = 1;
    require(host::open_engine(one_thread, &host));
    std::unique_ptr<Stream> stream;
    require(host->open_stream(&stream));
    std::vector<std::uint64_t> host_offsets(total + 1);
    std::vector<std::uint8_t> host_bytes(bytes.size());
    std::vector<std::uint32_t> host_maps(total);
    MergedStrings right{host_offsets.data(), host_bytes.data(), host_maps.data(),
                        host_maps.data() + main_map.size(), 0};
    const StringDictionary host_main{main.offsets.data(), main.bytes.data(), main.offsets.size() - 1};
    const StringDictionary host_delta{delta.offsets.data(), delta.bytes.data(), delta.offsets.size() - 1};
    const auto begin = std::chrono::steady_clock::now();
    require(open_column_studies(*host)->dictionaries().merge(*stream, host_main, host_delta, order, &right));
    const double host_ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    bench.results.add({table, line + ", one core of the processor, once", column, host_ms,
                       "ms, share of the bytes", 0, moved / static_cast<double>(total)});
    std::vector<std::uint32_t> maps(total);
    call.copy(maps.data(), static_cast<const std::uint32_t *>(main_map.data()), main_map.size());
    call.copy(maps.data() + main_map.size(), static_cast<const std::uint32_t *>(delta_map.data()),
              delta_map.size());
    std::vector<std::uint8_t> found(merged_bytes);
    call.copy(found.data(), static_cast<const std::uint8_t *>(bytes.data()), merged_bytes);
    call.wait();
    require(merged.count == right.count && maps == host_maps &&
                std::equal(found.begin(), found.end(), host_bytes.begin()),
            "the processor merges the same strings otherwise");
}

}  // namespace

void measure_merges_strings(const Bench &bench) {
    for (const char *beginning : {"", "https://www.example.org/articles/"}) {
        for (const int longest : {8, 64}) {
            Strings main;
            Strings delta;
            make_strings(beginning, static_cast<std::uint64_t>(longest), &main, &delta);
            const std::string line = *beginning != 0 ? "one beginning of 33 bytes" : "different beginnings";
            const std::string column = "10 to " + std::to_string(longest + 9) + " B more";
            measure_strings(bench, main, delta, StringOrder::bytes, line, column);
            measure_strings(bench, main.by_hash(), delta.by_hash(), StringOrder::hash, line + ", by hash",
                            column);
        }
    }
}

}  // namespace gpu_engine::bench
