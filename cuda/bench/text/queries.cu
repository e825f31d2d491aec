// Ranked queries alone and in batches.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "bench/kary/measure.cuh"
#include "bench/text/corpus.h"
#include "bench/text/parts.h"
#include "device/text/batch.h"
#include "gpu_engine/guard.h"

namespace gpu_engine::bench {
namespace {

constexpr std::uint32_t documents = 8000000;
constexpr std::uint32_t mean_length = 250;
constexpr std::uint32_t list_count = 300;
constexpr std::uint32_t query_count = 1000;
constexpr std::uint32_t queries_alone = 200;
constexpr std::uint32_t few_queries = device::min_probed_queries;
// So many queries have their hits compared with the host engine's: enough to be probed.
constexpr std::uint32_t host_queries = device::min_probed_queries;
constexpr std::uint32_t shortest_list = 2000;
constexpr std::uint32_t longest_list = 3000000;

void require(const Status &status) {
    if (!status.ok()) {
        throw Failure{status};
    }
}

double ms_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

struct Result {
    std::vector<TextHit> hits;
    std::vector<std::uint32_t> counts;
};

// Makes one call with `count` queries from number `first` on.
double compute(Stream &stream, const TextIndex &index, const TextRanking &ranking, const Queries &requested,
               std::uint32_t first, std::uint32_t count, Result *result) {
    const std::uint32_t k = requested.queries[first].k;
    result->hits.resize(std::uint64_t(count) * k);
    result->counts.resize(count);
    // A query that is asked alone comes with its own terms only.
    const std::uint32_t first_term = requested.queries[first].first_term;
    const TextQuery &last = requested.queries[first + count - 1];
    std::vector<TextQuery> own(requested.queries.begin() + first, requested.queries.begin() + first + count);
    for (TextQuery &query : own) {
        query.first_term -= first_term;
    }
    const auto begin = std::chrono::steady_clock::now();
    require(index.search(stream, ranking,
                         {own.data(), count, requested.terms.data() + first_term,
                          last.first_term + last.terms - first_term, nullptr, 0},
                         result->hits.data(), result->counts.data()));
    return ms_since(begin);
}

std::uint64_t postings_of(const Queries &requested) {
    std::uint64_t all = 0;
    for (const TextTerm &term : requested.terms) {
        all += term.list.documents;
    }
    return all;
}

void require_same(const Result &one, const Result &other, std::uint32_t k) {
    for (std::size_t i = 0; i < one.counts.size(); ++i) {
        if (one.counts[i] != other.counts[i] ||
            std::memcmp(one.hits.data() + i * k, other.hits.data() + i * k,
                        one.counts[i] * sizeof(TextHit)) != 0) {
            throw Failure{make_status(StatusCode::internal, "the engines' hits differ")};
        }
    }
}

// Measures the steps of a batch, each by itself.
void measure_steps(const Bench &bench, const TextIndex &index, const TextRanking &ranking,
                   const Queries &requested, const std::string &table, const std::string &column,
                   double bandwidth) {
    const auto &own = static_cast<const device::DeviceTextIndex &>(index);
    const device::Call call(bench.engine, bench.stream);
    const device::TextQueries queries(
        own.shape(), ranking,
        {requested.queries.data(), static_cast<std::uint32_t>(requested.queries.size()),
         requested.terms.data(), static_cast<std::uint32_t>(requested.terms.size()), nullptr, 0});
    std::vector<device::RankedQuery> ranked;
    std::vector<device::RankedTerm> terms;
    std::uint64_t candidates = 0;
    std::uint64_t hits = 0;
    std::uint64_t bytes = 0;
    for (std::uint32_t i = 0; i < requested.queries.size(); ++i) {
        const std::uint32_t k = requested.queries[i].k;
        queries.rank(i, device::usual_capacity(k, device::window_count(bench.engine, documents)), &ranked,
                     &terms);
        ranked.back().first_candidate = candidates;
        ranked.back().first_hit = hits;
        candidates += ranked.back().capacity;
        hits += k;
    }
    for (const TextTerm &term : requested.terms) {
        bytes += term.list.bytes + term.list.documents * sizeof(std::uint32_t);
    }
    const device::Damage damage(call);
    // Both ways, also where the library takes the one: queries of more lists than it probes, too.
    const bool probed = ranked.size() > 1 && requested.queries[0].mode == TextMode::any &&
                        requested.queries[0].k <= device::max_probed_hits &&
                        device::window_count(bench.engine, documents) >= device::min_probed_windows;
    const device::DeviceBatch batch(call, own.view(call), ranking, terms, ranked, candidates, damage, probed);
    const device::Buffer<TextHit> found = call.buffer<TextHit>(hits);
    const device::Buffer<std::uint32_t> counts = call.buffer<std::uint32_t>(ranked.size());
    const auto add = [&](const char *line, double ms, double of_limit) {
        bench.results.add({table, line, column, ms, "ms", of_limit, 0});
    };
    const auto add_sums = [&](const char *line, double ms) {
        add(line, ms, static_cast<double>(bytes) / bandwidth * 1000 / ms);
    };
    const auto sum_up = [&](const device::DeviceBatch &summed) {
        summed.reset(call);
        device::accumulate(call, summed.view());
    };
    add("windows found", median_ms(bench, [&] { device::find_windows(call, batch.view()); }), 0);
    if (probed) {
        const device::DeviceBatch all_windows(call, own.view(call), ranking, terms, ranked, candidates,
                                              damage, false);
        device::find_windows(call, all_windows.view());
        add_sums("scores summed up in all windows", median_ms(bench, [&] { sum_up(all_windows); }));
        add("scores summed up in some windows", median_ms(bench, [&] { sum_up(batch); }), 0);
    }
    const double ms = median_ms(bench, [&] {
        sum_up(batch);
        if (probed) {
            device::probe(call, batch.view());
        }
    });
    add_sums(probed ? "the same, and others probed" : "scores summed up", ms);
    add("best scored and sorted",
        median_ms(bench, [&] { device::finish(call, batch.view(), found.data(), counts.data()); }), 0);
    std::vector<std::uint32_t> candidate_counts(ranked.size());
    call.copy(candidate_counts.data(), static_cast<const std::uint32_t *>(batch.view().counts),
              ranked.size());
    damage.raise();
    double all = 0;
    for (const std::uint32_t count : candidate_counts) {
        all += count;
    }
    bench.results.add(
        {table, "candidates a query", column, all / static_cast<double>(ranked.size()), "", 0, 0});
    bench.results.add({table, "postings", column, static_cast<double>(postings_of(requested)) / ms / 1e6,
                       "G/s", 0, static_cast<double>(bytes) / static_cast<double>(postings_of(requested))});
}

double copied_bytes(const Bench &bench) {
    const device::Call call(bench.engine, bench.stream);
    constexpr std::uint64_t bytes = std::uint64_t(1) << 30;
    const device::Buffer<char> from = call.buffer<char>(bytes);
    const device::Buffer<char> to = call.buffer<char>(bytes);
    const double ms =
        median_ms(bench, [&] { call.copy(to.data(), static_cast<const char *>(from.data()), bytes); });
    return 2.0 * bytes / ms * 1000;
}

void measure_codec(const Bench &bench, postings::Codec codec, const std::string &name, double bandwidth,
                   bool by_k) {
    const std::vector<std::uint32_t> lengths = make_lengths(documents, mean_length);
    const postings::Norms norms = {1.2 * 0.25, 1.2 * 0.75 / mean_length};
    std::vector<std::uint32_t> counts;
    for (std::uint32_t i = 0; i < list_count; ++i) {
        const double place = (i + 0.5) / list_count;
        counts.push_back(static_cast<std::uint32_t>(shortest_list *
                                                    std::pow(double(longest_list) / shortest_list, place)));
    }
    const Lists lists = make_lists(codec, documents, counts, norms, lengths.data());
    std::unique_ptr<TextIndex> index;
    require(load_corpus(bench.engine, bench.stream, lists, lengths, &index));
    std::unique_ptr<Engine> host;
    require(host::open_engine({}, &host));
    std::unique_ptr<Stream> host_stream;
    require(host->open_stream(&host_stream));
    std::unique_ptr<TextIndex> host_index;
    require(load_corpus(*host, *host_stream, lists, lengths, &host_index));
    const TextRanking ranking = {norms, 1};

    struct Line {
        const char *name;
        TextMode mode;
        std::uint32_t k;
        std::uint32_t lists;  // 0: as many as in web search
    };
    for (const Line &line :
         {Line{"and, 10", TextMode::all, 10, 0}, Line{"or, 10", TextMode::any, 10, 0},
          Line{"or of 8, 10", TextMode::any, 10, 8}, Line{"or, 100", TextMode::any, 100, 0},
          Line{"or, 1000", TextMode::any, 1000, 0}, Line{"or, 10000", TextMode::any, 10000, 0}}) {
        if (!by_k && (line.k > 10 || line.lists > 0)) {
            continue;
        }
        const std::string table = "queries, " + name;
        const Queries requested = make_queries(lists, query_count, line.mode, line.k, line.lists);
        Result result;
        double alone = 0;
        std::vector<std::uint32_t> found;
        compute(bench.stream, *index, ranking, requested, 0, 1, &result);
        for (std::uint32_t i = 0; i < queries_alone; ++i) {
            alone += compute(bench.stream, *index, ranking, requested, i, 1, &result);
            found.push_back(result.counts[0]);
        }
        const auto add = [&](const std::string &what, double value, const char *unit) {
            bench.results.add({table, what, line.name, value, unit, 0, 0});
        };
        add("alone, whole call", alone / queries_alone, "ms a query");
        if (line.k <= 1000) {
            const std::uint32_t size = line.k <= 100 ? query_count : 100;
            compute(bench.stream, *index, ranking, requested, 0, size, &result);
            const double batch = compute(bench.stream, *index, ranking, requested, 0, size, &result);
            add("in a batch, whole call", batch / size, "ms a query");
            add("in a batch", size / batch * 1000, "queries/s");
        }
        Result host_result;
        compute(bench.stream, *index, ranking, requested, 0, host_queries, &result);
        const double on_host =
            compute(*host_stream, *host_index, ranking, requested, 0, host_queries, &host_result);
        require_same(result, host_result, line.k);
        add("host engine, in a batch", on_host / host_queries, "ms a query");
        double host_alone = 0;
        for (std::uint32_t i = 0; i < host_queries; ++i) {
            host_alone += compute(*host_stream, *host_index, ranking, requested, i, 1, &host_result);
        }
        add("host engine, alone", host_alone / host_queries, "ms a query");
        if (line.mode == TextMode::all) {
            // Disjunctions are measured only where a conjunction has too few hits.
            const Queries any = make_queries(lists, query_count, TextMode::any, line.k, 0);
            for (std::uint32_t i = 0; i < queries_alone; ++i) {
                if (found[i] < line.k) {
                    alone += compute(bench.stream, *index, ranking, any, i, 1, &result);
                }
            }
            bench.results.add(
                {table, "alone, whole call", "and_or, 10", alone / queries_alone, "ms a query", 0, 0});
        }
        const auto measure = [&](const std::string &count, std::uint32_t size) {
            Queries some = requested;
            some.queries.resize(size);
            some.terms.resize(some.queries.back().first_term + some.queries.back().terms);
            measure_steps(bench, *index, ranking, some, "steps of " + count + ", " + name, line.name,
                          bandwidth);
        };
        if (line.k <= 100) {
            measure("1000 queries", query_count);
            measure(std::to_string(few_queries) + " queries", few_queries);
            measure("one query", 1);
        }
    }
    bench.results.add(
        {"queries, " + name, "postings a query", "or, 10",
         static_cast<double>(postings_of(make_queries(lists, query_count, TextMode::any, 10, 0))) /
             query_count / 1e6,
         "million", 0, 0});
}

}  // namespace

void measure_queries(const Bench &bench) {
    const double bandwidth = copied_bytes(bench);
    bench.results.add({"device", "copy, read and written", "", bandwidth / 1e9, "GB/s", 0, 0});
    measure_codec(bench, postings::Codec::Bitpack, "bitpack", bandwidth, true);
    measure_codec(bench, postings::Codec::PForDelta, "pfordelta", bandwidth, false);
    measure_codec(bench, postings::Codec::Rice, "rice", bandwidth, false);
}

}  // namespace gpu_engine::bench
