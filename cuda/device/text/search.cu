// Ranked search, in batches whose scratch memory is bounded.
#include "device/text/search.h"

#include <algorithm>
#include <vector>

#include "device/text/batch.h"
#include "gpu_engine/guard.h"

namespace gpu_engine::device {
namespace {

constexpr std::uint64_t max_candidate_bytes = std::uint64_t(256) << 20;
constexpr std::uint64_t max_start_bytes = std::uint64_t(64) << 20;
// The term of each chunk, and a place for each of its blocks, whose numbers have 32 bits.
constexpr std::uint64_t max_chunk_bytes = std::uint64_t(128) << 20;
constexpr std::uint64_t bytes_a_chunk = (probed_blocks_a_chunk + 1) * sizeof(std::uint32_t);
static_assert(max_chunk_bytes / bytes_a_chunk * probed_blocks_a_chunk < UINT32_MAX);
constexpr std::uint64_t max_hit_bytes = std::uint64_t(64) << 20;
constexpr std::uint64_t max_window_blocks = std::uint64_t(1) << 30;

// Starts and bounds of terms in each window, and what the terms behind them can add where they are probed.
std::uint64_t start_bytes(std::uint64_t terms, std::uint64_t windows, bool probed) {
    return terms * (windows + 1) * (probed ? 3 : 2) * sizeof(std::uint32_t);
}

// The memory that a batch of queries takes.
struct BatchSize {
    std::uint64_t candidates = 0;
    std::uint64_t hits = 0;
    std::uint64_t chunks = 0;  // only of those that are probed

    bool has_room(std::uint64_t capacity, std::uint64_t hits_wanted, std::uint64_t terms,
                  std::uint64_t queries, std::uint64_t windows, std::uint64_t chunks_wanted,
                  bool probed) const {
        return (candidates + capacity) * sizeof(Candidate) <= max_candidate_bytes &&
               (hits + hits_wanted) * sizeof(TextHit) <= max_hit_bytes &&
               start_bytes(terms, windows, probed) <= max_start_bytes &&
               (chunks + chunks_wanted) * bytes_a_chunk <= max_chunk_bytes &&
               queries * windows <= max_window_blocks;
    }
};

// A search is carried from its arguments to its results.
class Search {
  public:
    Search(const Call &call, const TextView &text, const TextRanking &ranking, const TextQueries &requested,
           std::uint32_t query_count, TextHit *hits)
        : call_(call),
          text_(text),
          ranking_(ranking),
          requested_(requested),
          damage_(call),
          hits_(hits),
          counts_(query_count) {
        std::uint64_t all = 0;
        for (std::uint32_t i = 0; i < query_count; ++i) {
            first_hits_.push_back(all);
            all += requested.query(i).k;
        }
        choose_probed();
    }

    void run() {
        const auto count = static_cast<std::uint32_t>(counts_.size());
        for (std::uint32_t next = 0; next < count;) {
            next = run_probed(next);
        }
        for (std::uint32_t next = 0; next < count;) {
            next = run_batch(next, false);
        }
        for (const std::uint32_t number : alone_) {
            run_alone(number);
        }
        for (const std::uint32_t number : with_steps_) {
            run_with_steps(number);
        }
    }
    const std::vector<std::uint32_t> &counts() const { return counts_; }

  private:
    // A query that by itself takes more memory than a batch may isn't probed, nor is any where there are too
    // few of them.
    void choose_probed() {
        const std::uint32_t windows = window_count(call_.engine(), text_.documents);
        std::uint32_t probed = 0;
        for (std::uint32_t i = 0; i < counts_.size(); ++i) {
            const TextQuery &query = requested_.query(i);
            is_probed_.push_back(suits_probing(query, windows) &&
                                 start_bytes(query.terms, windows, true) <= max_start_bytes &&
                                 requested_.chunks(i) * bytes_a_chunk <= max_chunk_bytes);
            probed += is_probed_[i] ? 1 : 0;
        }
        if (probed < min_probed_queries) {
            probe_none_from(0);
        }
    }
    void probe_none_from(std::uint32_t first) {
        std::fill(is_probed_.begin() + first, is_probed_.end(), false);
    }

    // Runs a batch of probed queries as run_batch does. Where there is no memory for it, the queries that are
    // left are no longer to be probed, which takes less.
    std::uint32_t run_probed(std::uint32_t first) {
        try {
            return run_batch(first, true);
        } catch (const Failure &failure) {
            if (failure.status.code != StatusCode::out_of_memory) {
                throw;
            }
        }
        probe_none_from(first);
        return static_cast<std::uint32_t>(counts_.size());
    }

    // Runs as many queries from number `first` on as fit together, either of those that are probed or of the
    // others; returns the next one's number. What can't be finished together goes to alone_, and what has
    // steps to with_steps_.
    std::uint32_t run_batch(std::uint32_t first, bool probed) {
        const std::uint32_t windows = window_count(call_.engine(), text_.documents);
        std::vector<RankedTerm> terms;
        std::vector<RankedQuery> queries;
        std::vector<std::uint32_t> numbers;
        BatchSize size;
        std::uint32_t next = first;
        for (; next < counts_.size(); ++next) {
            const TextQuery &query = requested_.query(next);
            if (is_probed_[next] != probed) {
                continue;
            }
            if (query.mode == TextMode::steps) {
                with_steps_.push_back(next);
                continue;
            }
            if (query.terms == 0) {
                continue;
            }
            if (query.k > max_finished_together) {
                alone_.push_back(next);
                continue;
            }
            const std::uint64_t capacity = usual_capacity(query.k, windows);
            const std::uint64_t chunks = probed ? requested_.chunks(next) : 0;
            if (!queries.empty() && !size.has_room(capacity, query.k, terms.size() + query.terms,
                                                   queries.size() + 1, windows, chunks, probed)) {
                break;
            }
            requested_.rank(next, capacity, &queries, &terms);
            queries.back().first_candidate = size.candidates;
            queries.back().first_hit = size.hits;
            size.candidates += queries.back().capacity;
            size.hits += query.k;
            size.chunks += chunks;
            numbers.push_back(next);
        }
        if (queries.empty()) {
            return next;
        }
        const DeviceBatch batch(call_, text_, ranking_, terms, queries, size.candidates, damage_, probed);
        const Buffer<TextHit> found = call_.buffer<TextHit>(size.hits);
        const Buffer<std::uint32_t> found_counts = call_.buffer<std::uint32_t>(queries.size());
        // Hits that aren't written go to the caller too.
        call_.fill(found.data(), 0, size.hits * sizeof(TextHit));
        find_windows(call_, batch.view());
        accumulate(call_, batch.view());
        if (probed) {
            probe(call_, batch.view());
        }
        finish(call_, batch.view(), found.data(), found_counts.data());
        std::vector<std::uint32_t> counts(queries.size());
        call_.copy(counts.data(), static_cast<const std::uint32_t *>(found_counts.data()), counts.size());
        for (std::size_t i = 0; i < queries.size();) {
            // Hits of queries that follow one another lie together here and there.
            std::size_t end = i + 1;
            while (end < queries.size() && numbers[end] == numbers[end - 1] + 1) {
                ++end;
            }
            call_.copy(hits_ + first_hits_[numbers[i]],
                       static_cast<const TextHit *>(found.data()) + queries[i].first_hit,
                       queries[end - 1].first_hit + queries[end - 1].k - queries[i].first_hit);
            i = end;
        }
        damage_.raise();
        for (std::size_t i = 0; i < counts.size(); ++i) {
            if (counts[i] == unfinished) {
                alone_.push_back(numbers[i]);
            } else {
                counts_[numbers[i]] = counts[i];
            }
        }
        return next;
    }

    void run_alone(std::uint32_t number) {
        std::vector<RankedTerm> terms;
        std::vector<RankedQuery> queries;
        requested_.rank(number, UINT64_MAX, &queries, &terms);
        const DeviceBatch batch(call_, text_, ranking_, terms, queries, queries[0].capacity, damage_, false);
        const Buffer<TextHit> found = call_.buffer<TextHit>(queries[0].k);
        find_windows(call_, batch.view());
        accumulate(call_, batch.view());
        finish_alone(call_, batch.view(), queries[0], found.data(), &counts_[number]);
        call_.copy(hits_ + first_hits_[number], static_cast<const TextHit *>(found.data()), counts_[number]);
        damage_.raise();
    }

    void run_with_steps(std::uint32_t number) {
        const StepQuery requested = requested_.with_steps(number);
        const Buffer<TextHit> found = call_.buffer<TextHit>(requested.query.k);
        counts_[number] = rank_by_steps(call_, text_, ranking_.norms, requested, damage_, found.data());
        call_.copy(hits_ + first_hits_[number], static_cast<const TextHit *>(found.data()), counts_[number]);
        damage_.raise();
    }

    const Call &call_;
    const TextView &text_;
    const TextRanking &ranking_;
    const TextQueries &requested_;
    Damage damage_;
    TextHit *hits_;
    std::vector<std::uint32_t> counts_;
    std::vector<std::uint64_t> first_hits_;
    std::vector<std::uint32_t> alone_;
    std::vector<std::uint32_t> with_steps_;
    std::vector<bool> is_probed_;
};

}  // namespace

Status DeviceTextIndex::search(Stream &stream, const TextRanking &ranking, const TextBatch &batch,
                               TextHit *hits, std::uint32_t *counts) const noexcept {
    return guarded([&] {
        const Call call(engine_, stream);
        const TextRanking own_ranking = ranking;
        const TextQueries requested(parts_.shape, own_ranking, batch);
        const TextView text = view(call);
        Search search(call, text, own_ranking, requested, batch.query_count, hits);
        search.run();
        std::copy(search.counts().begin(), search.counts().end(), counts);
        return Status{};
    });
}

}  // namespace gpu_engine::device
