// Measures what it takes to make an index, and to add keys to one.
#include <cstdio>

#include "studies/paper/pairs.cuh"
#include "studies/paper/parts.h"
#include "studies/paper/variants/search.h"

namespace gpu_engine::bench::paper {
namespace {

// Makes random keys and TIDs, the keys in disorder.
template <typename Key>
struct Disorder {
    device::Buffer<Key> keys;
    device::Buffer<Tid> tids;

    Disorder(const device::Call &call, std::uint64_t first, std::uint64_t count)
        : keys(call.buffer<Key>(count)), tids(call.buffer<Tid>(count)) {
        make_pairs_kernel<<<grid_for(count), 256, 0, call.stream()>>>(keys.data(), tids.data(), first, count);
        device::check_launch("make_pairs_kernel");
    }
};

template <typename Key>
void measure_builds(const Bench &bench) {
    const std::string width = std::to_string(sizeof(Key) * 8);
    for (const int size : bench.options.sizes) {
        const std::uint64_t entries = std::uint64_t(1) << size;
        const double keys_bytes = static_cast<double>(entries * sizeof(Key));
        const device::Call call(bench.engine, bench.stream);
        device::Pairs<Key> sorted;
        double sort_ms = 0;
        {
            const Disorder<Key> input(call, 0, entries);
            const auto sort = [&] {
                sorted = device::sort_pairs<Key>(call, input.keys.data(), input.tids.data(), entries);
            };
            sort_ms = median_ms(bench, sort);
        }
        const auto add = [&](const std::string &line, double ms, std::uint64_t extra_bytes) {
            const double bytes = keys_bytes + static_cast<double>(extra_bytes);
            bench.results.add({"build " + width, line, power(size), ms, "ms, share of the sort's",
                               sort_ms / ms, bytes / static_cast<double>(entries)});
        };
        add("sorted array", sort_ms, 0);
        for (const std::uint32_t fanout : {5, 17, 65}) {
            Separators<Key> separators;
            const double ms = median_ms(bench, [&] {
                separators =
                    build_separators(call, static_cast<const Key *>(sorted.keys.data()), entries, fanout);
            });
            add("sorted array and " + std::to_string(fanout) + "-ary separators", sort_ms + ms,
                separators.keys.bytes());
        }
        device::TreeMemory memory;
        const double tree_ms = median_ms(bench, [&] {
            static_cast<void>(device::build_array_tree(call, sorted.keys.data(), entries, &memory));
        });
        add("the library's", sort_ms + tree_ms, memory.bytes());
    }
}

template <typename Key>
void measure_updates_of(const Bench &bench, int size) {
    const std::uint64_t entries = std::uint64_t(1) << size;
    const std::string table = "update " + std::to_string(sizeof(Key) * 8) + ", " + keys_of(size);
    const device::Call call(bench.engine, bench.stream);
    for (const double share : {0.001, 0.01, 0.1, 0.5, 1.0}) {
        const auto added = static_cast<std::uint64_t>(share * static_cast<double>(entries));
        const std::uint64_t total = entries + added;
        char column[16];
        std::snprintf(column, sizeof(column), "%g %%", share * 100);
        // The limit is that all bytes are read and written once.
        double limit_ms = 0;
        {
            const std::uint64_t bytes = total * (sizeof(Key) + sizeof(Tid));
            const device::Buffer<char> from = call.buffer<char>(bytes);
            const device::Buffer<char> to = call.buffer<char>(bytes);
            limit_ms = median_ms(
                bench, [&] { call.copy(to.data(), static_cast<const char *>(from.data()), bytes); });
        }
        bench.results.add({table, "copy of all entries", column, limit_ms, "ms, share of a copy's", 1, 0});
        const auto add = [&](const char *line, double ms) {
            bench.results.add({table, line, column, ms, "ms, share of a copy's", limit_ms / ms, 0});
        };
        // The new entries lie behind the old ones.
        const Disorder<Key> input(call, 0, total);
        const auto sort = [&](std::uint64_t first, std::uint64_t count) {
            return device::sort_pairs<Key>(call, input.keys.data() + first, input.tids.data() + first, count);
        };
        const auto build = [&](device::Pairs<Key> pairs) {
            const device::DeviceKaryArray<Key> array(call, std::move(pairs.keys), std::move(pairs.tids),
                                                     pairs.count);
        };
        const device::Pairs<Key> old = sort(0, entries);
        add("rebuild from all entries", median_ms(bench, [&] { build(sort(0, total)); }));
        add("merge of the sorted new entries with the old ones", median_ms(bench, [&] {
                const device::Pairs<Key> run = sort(entries, added);
                build(device::merge_pairs<Key>(call, old.keys.data(), old.tids.data(), entries,
                                               run.keys.data(), run.tids.data(), added));
            }));
        add("a run of the new entries beside the old one",
            median_ms(bench, [&] { build(sort(entries, added)); }));
    }
}

}  // namespace

void measure_builds_32(const Bench &bench) {
    measure_builds<std::uint32_t>(bench);
}
void measure_builds_64(const Bench &bench) {
    measure_builds<std::uint64_t>(bench);
}
void measure_builds_128(const Bench &bench) {
    measure_builds<Key128>(bench);
}

void measure_updates(const Bench &bench) {
    const int size = two_sizes(bench).back();
    measure_updates_of<std::uint32_t>(bench, size);
    measure_updates_of<std::uint64_t>(bench, size);
    measure_updates_of<Key128>(bench, size);
}

}  // namespace gpu_engine::bench::paper
