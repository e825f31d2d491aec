// Dictionary merges of byte strings.
#include <random>
#include <string>

#include "bench/column/merges.cuh"

#include "gpu_engine/boundary.h"

namespace gpu_engine::bench {
namespace {

struct Strings {
    std::vector<std::uint64_t> offsets = {0};
    std::vector<std::uint8_t> bytes;

    void add(const char *string, std::size_t length) {
        bytes.insert(bytes.end(), string, string + length);
        offsets.push_back(bytes.size());
    }
};

// Strings in order: digits of a growing number behind a beginning, and a tail of random length.
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

}  // namespace

void measure_merges_strings(const Bench &bench) {
    constexpr std::uint64_t main_count = std::uint64_t(1) << 22;
    constexpr std::uint64_t delta_count = main_count / 4;
    for (const char *beginning : {"", "https://www.example.org/articles/"}) {
        for (const int longest : {8, 64}) {
            std::mt19937_64 random(20261121);
            Strings main;
            Strings delta;
            char string[200];
            for (std::uint64_t i = 0; i < main_count + delta_count / 2; ++i) {
                const int digits = std::snprintf(string, sizeof(string), "%s%010llu", beginning,
                                                 static_cast<unsigned long long>(i * 397));
                const auto length =
                    static_cast<std::size_t>(digits) + random() % static_cast<std::uint64_t>(longest);
                for (auto at = static_cast<std::size_t>(digits); at < length; ++at) {
                    string[at] = static_cast<char>('a' + at % 26);
                }
                // A fifth of the places is delta's, the half of which main has too.
                const std::uint64_t kind = i % (main_count / delta_count * 2 + 1);
                if (kind != 1) {
                    main.add(string, length);
                }
                if (kind < 2) {
                    delta.add(string, length);
                }
            }
            const device::Call call(bench.engine, bench.stream);
            const double bandwidth = copy_bandwidth(bench, call, std::uint64_t(1) << 30);
            const DeviceStrings own_main(call, main);
            const DeviceStrings own_delta(call, delta);
            const std::uint64_t total = own_main.view().count + own_delta.view().count;
            const device::Buffer<std::uint64_t> offsets = call.buffer<std::uint64_t>(total + 1);
            const device::Buffer<std::uint8_t> bytes =
                call.buffer<std::uint8_t>(main.bytes.size() + delta.bytes.size());
            const device::Buffer<std::uint32_t> main_map = call.buffer<std::uint32_t>(own_main.view().count);
            const device::Buffer<std::uint32_t> delta_map =
                call.buffer<std::uint32_t>(own_delta.view().count);
            MergedStrings merged{offsets.data(), bytes.data(), main_map.data(), delta_map.data(), 0};
            const double ms = median_ms(bench, [&] {
                require(bench.engine.dictionaries().merge(bench.stream, own_main.view(), own_delta.view(),
                                                          &merged));
            });
            std::uint64_t merged_bytes = 0;
            call.copy(&merged_bytes, static_cast<const std::uint64_t *>(offsets.data()) + merged.count, 1);
            call.wait();
            // Read both, write the union and both maps.
            const double moved = static_cast<double>(main.bytes.size() + delta.bytes.size() + merged_bytes) +
                                 static_cast<double>(total) * 12 + static_cast<double>(merged.count) * 8;
            bench.results.add(
                {"dictionary merge, strings, 2^22 and a quarter in delta",
                 std::string(*beginning != 0 ? "one beginning of 33 bytes" : "different beginnings"),
                 "10 to " + std::to_string(longest + 9) + " B more", ms, "ms, share of the bytes",
                 moved / bandwidth / 1e6 / ms, moved / static_cast<double>(total)});
        }
    }
}

}  // namespace gpu_engine::bench
