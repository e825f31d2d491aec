// The merge of whole columns: of dictionaries and maps, then of main's and delta's codes, which get a new
// width. It is measured on the device, and from and to the host's memory, beside one core of the processor.
#include <cstdio>
#include <thread>

#include "studies/column/studies.h"
#include "bench/column/merges.cuh"
#include "studies/column/device/recode.cuh"

namespace gpu_engine::bench {
namespace {

constexpr std::uint64_t main_rows = 100000000;
constexpr std::uint64_t delta_rows = 3000000;

// Makes a random code for each row, packed.
__global__ void make_codes_kernel(std::uint32_t *words, std::uint64_t word_count, std::uint64_t rows,
                                  std::uint32_t bits, std::uint64_t entries) {
    const std::uint64_t word = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (word >= word_count) {
        return;
    }
    std::uint32_t result = 0;
    for (std::uint64_t row = word * 32 / bits; row < rows && row * bits < (word + 1) * 32; ++row) {
        const std::uint64_t code = scramble(row + 1) % entries;
        const auto shift = static_cast<std::int64_t>(row * bits) - static_cast<std::int64_t>(word * 32);
        result |= static_cast<std::uint32_t>(shift >= 0 ? code << shift : code >> -shift);
    }
    words[word] = result;
}

// Makes the rows that make_codes_kernel's codes stand for.
template <typename Entry>
__global__ void make_rows_kernel(const Entry *dictionary, std::uint64_t entries, std::uint64_t rows,
                                 Entry *values) {
    const std::uint64_t row = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (row < rows) {
        values[row] = dictionary[scramble(row + 1) % entries];
    }
}

// Looks each code up by itself, to measure what that costs when codes are in disorder.
__global__ void gather_kernel(const std::uint32_t *map, std::uint64_t entries, std::uint64_t count,
                              std::uint32_t *output) {
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count) {
        output[i] = map[scramble(static_cast<std::uint32_t>(i)) % static_cast<std::uint32_t>(entries)];
    }
}

struct Codes {
    device::Buffer<std::uint32_t> words;
    std::uint64_t rows;
    std::uint32_t bits;

    Codes(const device::Call &call, std::uint64_t rows, std::uint64_t entries)
        : words(call.buffer<std::uint32_t>(packed_words(rows, bits_for(entries)))),
          rows(rows),
          bits(bits_for(entries)) {
        make_codes_kernel<<<grid_for(words.size()), 256, 0, call.stream()>>>(words.data(), words.size(), rows,
                                                                             bits, entries);
        device::check_launch("make_codes_kernel");
    }
    PackedCodes packed() const { return {words.data(), rows, bits}; }
};

// Recodes main's rows piece by piece from and to the host's memory, on several streams, and delta's last.
void recode_on_streams(const Bench &bench, std::vector<std::unique_ptr<Stream>> &streams,
                       const MappedCodes &main, const MappedCodes &delta, std::uint32_t bits,
                       std::uint32_t *words) {
    constexpr std::uint64_t piece = std::uint64_t(1) << 22;
    // The last piece of main goes with delta, which begins within a word.
    const std::uint64_t pieces = main.codes.count / piece;
    std::vector<Status> statuses(streams.size());
    std::vector<std::thread> threads;
    const auto part_of = [&](std::uint64_t p, std::uint64_t count) {
        return MappedCodes{{main.codes.words + p * piece / 32 * main.codes.bits, count, main.codes.bits},
                           main.map,
                           main.map_entries};
    };
    for (std::size_t s = 0; s < streams.size(); ++s) {
        threads.emplace_back([&, s] {
            const MappedCodes nothing{{nullptr, 0, 0}, nullptr, 0};
            for (std::uint64_t p = s; p < pieces && statuses[s].ok(); p += streams.size()) {
                statuses[s] =
                    open_column_studies(bench.engine)
                        ->dictionaries()
                        .recode(*streams[s], part_of(p, piece), nothing, bits, words + p * piece / 32 * bits);
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    for (const Status &status : statuses) {
        require(status);
    }
    require(open_column_studies(bench.engine)
                ->dictionaries()
                .recode(*streams[0], part_of(pieces, main.codes.count - pieces * piece), delta, bits,
                        words + pieces * piece / 32 * bits));
}

template <typename Entry>
void measure_column(const Bench &bench, int percent, double bandwidth) {
    const std::string table =
        "column of " + std::to_string(sizeof(Entry)) + "-byte values, 100 M and 3 M rows";
    const std::string column = std::to_string(percent) + " % unique";
    const Briefly brief(bench);
    const device::Call call(bench.engine, bench.stream);
    const auto studies = open_column_studies(bench.engine);
    auto &dictionaries = studies->dictionaries();
    const MergeSizes sizes{main_rows / 100 * static_cast<std::uint64_t>(percent),
                           delta_rows / 100 * static_cast<std::uint64_t>(percent), 50};
    const MergeProblem<Entry> problem(call, sizes);
    const Codes main(call, main_rows, sizes.main);
    const Codes delta(call, delta_rows, sizes.delta);
    MergedDictionary<Entry> merged = problem.merged();
    const double merge_ms = median_ms(bench, [&] {
        require(dictionaries.merge(bench.stream, problem.main(), problem.delta(), MergeWay::fused, &merged));
    });
    const std::uint32_t bits = bits_for(merged.count);
    const std::uint64_t new_words = packed_words(main_rows + delta_rows, bits);
    const device::Buffer<std::uint32_t> words = call.buffer<std::uint32_t>(new_words);
    const MappedCodes mapped_main{main.packed(), merged.main_map, sizes.main};
    const MappedCodes mapped_delta{delta.packed(), merged.delta_map, sizes.delta};
    const double recode_ms = median_ms(bench, [&] {
        require(dictionaries.recode(bench.stream, mapped_main, mapped_delta, bits, words.data()));
    });
    const double merge_limit = problem.bytes(merged.count) / bandwidth / 1e6;
    const double recode_limit = static_cast<double>((main.words.size() + delta.words.size() + new_words) * 4 +
                                                    (sizes.main + sizes.delta) * 4) /
                                bandwidth / 1e6;
    const device::Buffer<std::uint32_t> gathered = call.buffer<std::uint32_t>(main_rows);
    const double gather_ms = median_ms(bench, [&] {
        gather_kernel<<<grid_for(main_rows), 256, 0, call.stream()>>>(merged.main_map, sizes.main, main_rows,
                                                                      gathered.data());
        device::check_launch("gather_kernel");
    });
    const auto add = [&](const std::string &line, double ms, double limit) {
        bench.results.add({table, line, column, ms, "ms, share of the bytes", limit > 0 ? limit / ms : 0, 0});
    };
    add("dictionaries and maps", merge_ms, merge_limit);
    add("codes", recode_ms, recode_limit);
    add("both", merge_ms + recode_ms, merge_limit + recode_limit);
    add("limit: the bytes, as fast as a copy", merge_limit + recode_limit, 0);
    add("limit of the codes: main's map read at random", gather_ms, 0);
    {
        // Measures the forms of main's map, kernels alone.
        const device::Buffer<std::uint32_t> formed = call.buffer<std::uint32_t>(new_words);
        const device::Recoding recoding{mapped_main, mapped_delta, bits, formed.data(), call.result()};
        const struct {
            device::MapForm form;
            const char *name;
        } forms[] = {{device::MapForm::plain, "plain"},
                     {device::MapForm::cells, "by cells"},
                     {device::MapForm::sparse, "256 codes in 16 bytes"},
                     {device::MapForm::dense, "96 codes in 16 bytes"}};
        for (const auto &[form, name] : forms) {
            if (form == device::MapForm::cells &&
                device::CellMap(sizes.main, device::CellMap::longest, 0).bytes() >
                    bench.engine.shared_bytes()) {
                continue;
            }
            call.fill(formed.data(), 0xee, new_words * 4);
            const double ms =
                median_ms(bench, [&, form = form] { device::launch_recode(call, recoding, form); });
            require(differing_words(call, formed.data(), words.data(), new_words * 4) == 0,
                    "two forms of a map give different codes");
            add(std::string("codes, map ") + name, ms, recode_limit);
        }
    }

    {
        // Delta may also be kept raw, as a tail is; its dictionary is made first then.
        const device::Buffer<Entry> values = call.buffer<Entry>(delta_rows);
        const device::Buffer<Entry> entries = call.buffer<Entry>(delta_rows);
        const device::Buffer<std::uint32_t> codes = call.buffer<std::uint32_t>(delta_rows);
        make_rows_kernel<<<grid_for(delta_rows), 256, 0, call.stream()>>>(
            problem.delta().entries, sizes.delta, delta_rows, values.data());
        device::check_launch("make_rows_kernel");
        std::uint64_t distinct = 0;
        const double build_ms = median_ms(bench, [&] {
            require(dictionaries.build(bench.stream, values.data(), delta_rows, entries.data(), codes.data(),
                                       &distinct));
        });
        add("delta raw: its dictionary and codes", build_ms, 0);
        add("both, delta raw", build_ms + merge_ms + recode_ms, merge_limit + recode_limit);
    }

    // The data comes from the host's memory from here on, and goes back there.
    const std::uint64_t merged_capacity = sizes.main + sizes.delta;
    for (const bool pinned : {false, true}) {
        HostArray<Entry> host_main(bench.engine, sizes.main, pinned);
        HostArray<Entry> host_delta(bench.engine, sizes.delta, pinned);
        HostArray<Entry> host_entries(bench.engine, merged_capacity, pinned);
        HostArray<std::uint32_t> main_map(bench.engine, sizes.main, pinned);
        HostArray<std::uint32_t> delta_map(bench.engine, sizes.delta, pinned);
        HostArray<std::uint32_t> main_words(bench.engine, main.words.size(), pinned);
        HostArray<std::uint32_t> delta_words(bench.engine, delta.words.size(), pinned);
        HostArray<std::uint32_t> host_words(bench.engine, new_words, pinned);
        call.copy(host_main.data(), problem.main().entries, sizes.main);
        call.copy(host_delta.data(), problem.delta().entries, sizes.delta);
        call.copy(main_words.data(), static_cast<const std::uint32_t *>(main.words.data()),
                  main.words.size());
        call.copy(delta_words.data(), static_cast<const std::uint32_t *>(delta.words.data()),
                  delta.words.size());
        call.wait();
        // The maps stay on the device here.
        const auto merge = [&] {
            MergedDictionary<Entry> result{host_entries.data(), merged.main_map, merged.delta_map, 0};
            require(dictionaries.merge(bench.stream, {host_main.data(), sizes.main},
                                       {host_delta.data(), sizes.delta}, MergeWay::fused, &result));
            require(result.count == merged.count, "a merge from the host's memory differs");
        };
        const MappedCodes own_main{{main_words.data(), main_rows, main.bits}, merged.main_map, sizes.main};
        const MappedCodes own_delta{
            {delta_words.data(), delta_rows, delta.bits}, merged.delta_map, sizes.delta};
        std::vector<std::unique_ptr<Stream>> streams;
        for (const std::size_t count : {0, 1, 2, 4}) {
            if (count > 0 && !pinned) {
                continue;
            }
            while (streams.size() < count) {
                streams.emplace_back();
                require(bench.engine.open_stream(&streams.back()));
            }
            const double ms = median_call_ms(brief.bench(), [&] {
                merge();
                if (count == 0) {
                    require(dictionaries.recode(bench.stream, own_main, own_delta, bits, host_words.data()));
                } else {
                    recode_on_streams(bench, streams, own_main, own_delta, bits, host_words.data());
                }
            });
            const device::Buffer<std::uint32_t> copy = call.buffer<std::uint32_t>(new_words);
            call.copy(copy.data(), static_cast<const std::uint32_t *>(host_words.data()), new_words);
            require(differing_words(call, copy.data(), words.data(), new_words * 4) == 0,
                    "codes from the host's memory differ");
            add("transfers included, " + std::string(pinned ? "pinned, " : "pageable, ") +
                    (count == 0 ? std::string("all at once") : std::to_string(count) + " streams"),
                ms, 0);
        }
        if (pinned) {
            // One core of the processor does the same once, for comparison.
            std::unique_ptr<Engine> host;
            EngineOptions one_thread;
            one_thread.threads = 1;
            require(host::open_engine(one_thread, &host));
            std::unique_ptr<Stream> stream;
            require(host->open_stream(&stream));
            const auto begin = std::chrono::steady_clock::now();
            MergedDictionary<Entry> result{host_entries.data(), main_map.data(), delta_map.data(), 0};
            require(open_column_studies(*host)->dictionaries().merge(*stream, {host_main.data(), sizes.main},
                                                                     {host_delta.data(), sizes.delta},
                                                                     MergeWay::fused, &result));
            require(open_column_studies(*host)->dictionaries().recode(
                *stream, {{main_words.data(), main_rows, main.bits}, main_map.data(), sizes.main},
                {{delta_words.data(), delta_rows, delta.bits}, delta_map.data(), sizes.delta}, bits,
                host_words.data()));
            add("one core of the processor, once",
                std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count(),
                0);
        }
    }
    std::printf("column, %zu bytes, %d %% unique: measured\n", sizeof(Entry), percent);
    std::fflush(stdout);
}

// Measures the time of each step of the merge (the study's figure 2), by delta's size, the share of unique
// values and their length.
template <typename Entry>
void measure_steps(const Bench &bench) {
    const auto studies = open_column_studies(bench.engine);
    auto &dictionaries = studies->dictionaries();
    for (const int percent : {1, 10, 100}) {
        const std::string table = "time by merge step, " + std::to_string(sizeof(Entry)) + "-byte values, " +
                                  std::to_string(percent) + " % unique, main of 100 M rows";
        for (const std::uint64_t millions : {1, 3, 10}) {
            const std::uint64_t rows = millions * 1000000;
            const std::string column = std::to_string(millions) + " M rows in delta";
            const device::Call call(bench.engine, bench.stream);
            const MergeSizes sizes{main_rows / 100 * static_cast<std::uint64_t>(percent),
                                   rows / 100 * static_cast<std::uint64_t>(percent), 50};
            const MergeProblem<Entry> problem(call, sizes);
            const Codes main(call, main_rows, sizes.main);
            const Codes delta(call, rows, sizes.delta);
            const auto add = [&](const char *line, double ms) {
                bench.results.add({table, line, column, ms, "ms", 0, 0});
            };
            {
                const device::Buffer<Entry> values = call.buffer<Entry>(rows);
                const device::Buffer<Entry> entries = call.buffer<Entry>(rows);
                const device::Buffer<std::uint32_t> codes = call.buffer<std::uint32_t>(rows);
                make_rows_kernel<<<grid_for(rows), 256, 0, call.stream()>>>(problem.delta().entries,
                                                                            sizes.delta, rows, values.data());
                device::check_launch("make_rows_kernel");
                std::uint64_t distinct = 0;
                add("dictionary of a raw delta", median_ms(bench, [&] {
                        require(dictionaries.build(bench.stream, values.data(), rows, entries.data(),
                                                   codes.data(), &distinct));
                    }));
            }
            MergedDictionary<Entry> merged = problem.merged();
            add("dictionaries and maps", median_ms(bench, [&] {
                    require(dictionaries.merge(bench.stream, problem.main(), problem.delta(), MergeWay::fused,
                                               &merged));
                }));
            const std::uint32_t bits = bits_for(merged.count);
            const device::Buffer<std::uint32_t> words =
                call.buffer<std::uint32_t>(packed_words(main_rows + rows, bits));
            add("codes of main and delta", median_ms(bench, [&] {
                    require(dictionaries.recode(
                        bench.stream, MappedCodes{main.packed(), merged.main_map, sizes.main},
                        MappedCodes{delta.packed(), merged.delta_map, sizes.delta}, bits, words.data()));
                }));
        }
    }
}

}  // namespace

void measure_columns(const Bench &bench) {
    double bandwidth = 0;
    {
        const device::Call call(bench.engine, bench.stream);
        bandwidth = copy_bandwidth(bench, call, std::uint64_t(1) << 30);
    }
    // Measures by share of unique values, and by value length at one share (the study's figure 2).
    for (const int percent : {1, 10, 100}) {
        measure_column<std::uint64_t>(bench, percent, bandwidth);
    }
    measure_column<std::uint32_t>(bench, 10, bandwidth);
    for (const int percent : {1, 10, 100}) {
        measure_column<Key128>(bench, percent, bandwidth);
    }
}

void measure_merge_steps(const Bench &bench) {
    const Briefly brief(bench);
    measure_steps<std::uint32_t>(brief.bench());
    measure_steps<std::uint64_t>(brief.bench());
    measure_steps<Key128>(brief.bench());
}

}  // namespace gpu_engine::bench
