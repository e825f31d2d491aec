// Requests about inverted lists.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "server/queue.h"
#include "server/requests/results.h"
#include "server/requests/run_set.h"
#include "server/requests/spread.h"

namespace gpu_engine::server {
namespace {

// Checks that `first`, which says where the parts of each run begin and where the last run's end, doesn't
// descend.
void require_order(const std::uint32_t *first, std::uint32_t runs) {
    for (std::uint32_t i = 0; i < runs; ++i) {
        if (first[i] > first[i + 1]) {
            refuse("the runs' lists are not in order");
        }
    }
}

const TextList *lists_at(const TransferBuffer &buffer, const protocol::ListsPlace &place,
                         std::uint32_t runs) {
    require_order(place.first, runs);
    return buffer.part<TextList>(place.lists, place.first[runs]);
}

std::uint64_t hits_of(const TextQuery *queries, std::uint64_t count) {
    std::uint64_t hits = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        if (queries[i].k > max_text_hits) {
            refuse("a query wants too many hits");
        }
        hits += queries[i].k;
    }
    return hits;
}

// A request to rank: its queries, copied because what follows from them must not change, and the places of
// its results.
class Search {
  public:
    // Results are of the runs that are here, or of all.
    enum class Of { runs_here, all_runs };
    // The reply says where the results go, or which runs are lacking. Throws Failure.
    Search(Work &work, const protocol::SearchText &request, protocol::ResultReply &reply,
           Of of = Of::runs_here);

    bool complete() const noexcept { return runs_.complete(); }
    std::size_t runs() const noexcept { return runs_.size(); }
    bool is_here(std::size_t run) const noexcept { return runs_.is_here(run); }
    const TextIndex &lists(std::size_t run) const noexcept { return runs_.text(run); }
    TextRanking ranking(std::size_t run) const noexcept { return {request_.norms, request_.shrink[run]}; }

    std::uint32_t count() const noexcept { return count_; }
    const TextQuery *queries(std::size_t run) const noexcept { return queries_->data() + run * count_; }
    // Returns the steps of all runs' queries, which are copied with them.
    const TextStep *steps() const noexcept { return steps_->data(); }
    std::uint32_t step_count() const noexcept { return static_cast<std::uint32_t>(request_.step_count); }
    // Returns the batch of queries of a run. `terms` are the run's, or a copy of them.
    TextBatch batch(std::size_t run, const TextTerm *terms) const noexcept {
        return {queries(run), count_, terms, term_count(run), steps(), step_count()};
    }
    // Returns the terms of the run, in the transfer buffer.
    const TextTerm *terms(std::size_t run) const noexcept { return terms_ + request_.first_term[run]; }
    std::uint32_t term_count(std::size_t run) const noexcept {
        return request_.first_term[run + 1] - request_.first_term[run];
    }
    // Returns the places of the run's results in the transfer buffer: `count` numbers, and as many hits as
    // the queries want together.
    std::uint32_t *counts(std::size_t run) const noexcept { return counts_[run]; }
    TextHit *hits(std::size_t run) const noexcept { return hits_[run]; }
    std::uint64_t hit_count(std::size_t run) const noexcept { return hit_count_[run]; }
    std::uint64_t max_hits() const noexcept {
        return *std::max_element(hit_count_.begin(), hit_count_.end());
    }

    void note_done(Work &work) const noexcept {
        work.items = count_;
        work.bytes = result_bytes_;
    }

  private:
    const protocol::SearchText &request_;
    RunSet runs_;
    std::uint32_t count_ = 0;
    std::optional<Scratch<TextQuery>> queries_;
    std::optional<Scratch<TextStep>> steps_;
    const TextTerm *terms_ = nullptr;
    std::array<std::uint32_t *, protocol::max_runs> counts_{};
    std::array<TextHit *, protocol::max_runs> hits_{};
    std::array<std::uint64_t, protocol::max_runs> hit_count_{};
    std::uint64_t result_bytes_ = 0;
};

Search::Search(Work &work, const protocol::SearchText &request, protocol::ResultReply &reply, Of of)
    : request_(request), runs_(work, request.run, request.runs, text_bits, reply.header) {
    if (!runs_.complete()) {
        return;
    }
    if (request.count > max_text_queries) {
        refuse("too many queries");
    }
    if (request.step_count > std::uint64_t(max_text_queries) * max_text_steps) {
        refuse("too many steps");
    }
    count_ = static_cast<std::uint32_t>(request.count);
    const TransferBuffer &buffer = work.connection.buffer;
    const std::uint64_t all = request.count * runs_.size();
    require_order(request.first_term, request.runs);
    terms_ = buffer.part<TextTerm>(request.terms, request.first_term[request.runs]);
    queries_.emplace(work.server().engines().host().memory(), all);
    std::copy_n(buffer.part<TextQuery>(request.queries, all), all, queries_->data());
    const TextStep *steps = buffer.part<TextStep>(request.steps, request.step_count);
    steps_.emplace(work.server().engines().host().memory(), request.step_count);
    std::copy_n(steps, request.step_count, steps_->data());
    Results results(buffer, request.results, request.capacity);
    reply.needed = 0;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
        if (of == Of::runs_here && !is_here(i)) {
            continue;
        }
        hit_count_[i] = hits_of(queries(i), count_);
        reply.needed += aligned(count_ * sizeof(std::uint32_t)) + aligned(hit_count_[i] * sizeof(TextHit));
    }
    for (std::size_t i = 0; i < runs_.size(); ++i) {
        if (of == Of::runs_here && !is_here(i)) {
            continue;
        }
        counts_[i] = results.take<std::uint32_t>(count_, &reply.offsets_at[i]);
        hits_[i] = results.take<TextHit>(hit_count_[i], &reply.tids_at[i]);
    }
    result_bytes_ = results.used();
}

// ---- in one call with others' -----------------------------------------------------------------------------

// Larger requests are not computed with others: they keep an engine busy by themselves, and would keep the
// others waiting.
constexpr std::uint64_t max_joint_queries = 64;
constexpr std::uint64_t max_joint_terms = 4096;  // most terms of all runs
constexpr std::uint64_t max_joint_hits = 4096;   // most hits of a run

class JointSearch final : public Joint {
  public:
    JointSearch(Work &work, const protocol::SearchText &request, protocol::ResultReply &reply)
        : Joint(joint_key(request), static_cast<std::uint32_t>(request.count)),
          request_(request),
          search_(work, request_, reply) {}

    bool complete() const noexcept { return search_.complete(); }
    // Says whether the request is small, and whether each query's terms and steps are among the request's, so
    // that no query can get another one's.
    bool fits() const noexcept;
    // Copies the terms and makes room for the results.
    void prepare(Work &work);

    void compute(Work &work, std::span<Joint *const> joint_group) override;
    void deliver(Work &work) override;

  private:
    const TextTerm *terms(std::size_t run) const { return terms_->data() + request_.first_term[run]; }
    std::uint32_t *counts(std::size_t run) const { return counts_->data() + run * search_.count(); }
    TextHit *hits(std::size_t run) const { return hits_->data() + run * search_.max_hits(); }

    const protocol::SearchText request_;
    // Only the session's own thread may touch its places in the transfer buffer.
    const Search search_;
    std::optional<Scratch<TextTerm>> terms_;
    std::optional<Scratch<std::uint32_t>> counts_;
    std::optional<Scratch<TextHit>> hits_;
};

bool JointSearch::fits() const noexcept {
    if (request_.first_term[search_.runs()] > max_joint_terms || search_.step_count() > max_joint_terms ||
        search_.max_hits() > max_joint_hits) {
        return false;
    }
    for (std::size_t run = 0; run < search_.runs(); ++run) {
        const std::uint32_t terms = search_.term_count(run);
        for (std::uint32_t i = 0; i < search_.count(); ++i) {
            const TextQuery &query = search_.queries(run)[i];
            if (query.first_term > terms || query.terms > terms - query.first_term ||
                query.first_step > search_.step_count() ||
                query.steps > search_.step_count() - query.first_step) {
                return false;
            }
        }
    }
    return true;
}

void JointSearch::prepare(Work &work) {
    MemoryBudget &memory = work.server().engines().host().memory();
    const std::size_t runs = search_.runs();
    terms_.emplace(memory, request_.first_term[runs]);
    counts_.emplace(memory, runs * search_.count());
    hits_.emplace(memory, runs * search_.max_hits());
    // Hits that a search leaves unwritten are sent to the session, too, so they are cleared.
    std::fill_n(hits_->data(), runs * search_.max_hits(), TextHit{});
    for (std::size_t run = 0; run < runs; ++run) {
        std::copy_n(search_.terms(run), search_.term_count(run), terms_->data() + request_.first_term[run]);
    }
}

// The queries, terms and steps of several requests, one request's behind the other's in each run, and their
// results.
class Joined {
  public:
    struct Size {
        std::uint64_t queries = 0;
        std::uint64_t terms = 0;
        std::uint64_t steps = 0;
        std::uint64_t hits = 0;
    };

    Joined(MemoryBudget &memory, const Size &size)
        : queries_(memory, size.queries),
          terms_(memory, size.terms),
          steps_(memory, size.steps),
          counts_(memory, size.queries),
          hits_(memory, size.hits) {
        std::fill_n(hits_.data(), size.hits, TextHit{});
    }

    void add(const TextBatch &batch) {
        for (std::uint32_t i = 0; i < batch.query_count; ++i) {
            TextQuery &query = queries_.data()[query_count_++];
            query = batch.queries[i];
            query.first_term += term_count_;
            query.first_step += step_count_;
        }
        std::copy_n(batch.terms, batch.term_count, terms_.data() + term_count_);
        term_count_ += batch.term_count;
        std::copy_n(batch.steps, batch.step_count, steps_.data() + step_count_);
        step_count_ += batch.step_count;
    }
    Status search(const TextIndex &lists, Stream &stream, const TextRanking &ranking) const {
        return lists.search(
            stream, ranking,
            {queries_.data(), query_count_, terms_.data(), term_count_, steps_.data(), step_count_},
            hits_.data(), counts_.data());
    }
    // Takes the results of the next queries, as many as were added together.
    void take(std::uint32_t count, std::uint64_t hit_count, std::uint32_t *counts, TextHit *hits) {
        std::copy_n(counts_.data() + taken_queries_, count, counts);
        std::copy_n(hits_.data() + taken_hits_, hit_count, hits);
        taken_queries_ += count;
        taken_hits_ += hit_count;
    }

  private:
    const Scratch<TextQuery> queries_;
    const Scratch<TextTerm> terms_;
    const Scratch<TextStep> steps_;
    const Scratch<std::uint32_t> counts_;
    const Scratch<TextHit> hits_;
    std::uint32_t query_count_ = 0;
    std::uint32_t term_count_ = 0;
    std::uint32_t step_count_ = 0;
    std::uint32_t taken_queries_ = 0;
    std::uint64_t taken_hits_ = 0;
};

void JointSearch::compute(Work &work, std::span<Joint *const> joint_group) {
    if (joint_group.size() == 1) {
        for (std::size_t run = 0; run < search_.runs(); ++run) {
            check(with_room(work, [&] {
                return search_.lists(run).search(*work.stream, search_.ranking(run),
                                                 search_.batch(run, terms(run)), hits(run), counts(run));
            }));
        }
        return;
    }
    std::vector<const JointSearch *> searches;
    for (const Joint *joint : joint_group) {
        // Requests have equal keys only if they are of the same kind.
        searches.push_back(static_cast<const JointSearch *>(joint));
    }
    for (std::size_t run = 0; run < search_.runs(); ++run) {
        Joined::Size size;
        for (const JointSearch *joint : searches) {
            size.queries += joint->search_.count();
            size.terms += joint->search_.term_count(run);
            size.steps += joint->search_.step_count();
            size.hits += joint->search_.hit_count(run);
        }
        Joined joined(work.server().engines().host().memory(), size);
        for (const JointSearch *joint : searches) {
            joined.add(joint->search_.batch(run, joint->terms(run)));
        }
        check(joined.search(search_.lists(run), *work.stream, search_.ranking(run)));
        for (const JointSearch *joint : searches) {
            joined.take(joint->search_.count(), joint->search_.hit_count(run), joint->counts(run),
                        joint->hits(run));
        }
    }
}

void JointSearch::deliver(Work &work) {
    for (std::size_t run = 0; run < search_.runs(); ++run) {
        std::copy_n(counts(run), search_.count(), search_.counts(run));
        std::copy_n(hits(run), search_.hit_count(run), search_.hits(run));
    }
    search_.note_done(work);
}

}  // namespace

// The key has all of the call's arguments apart from queries and terms. It also has the versions of the dead
// bitmaps that will do, so that bitmaps that are new enough for one request are so for all.
std::string joint_key(const protocol::SearchText &request) {
    if (request.count == 0 || request.count > max_joint_queries || request.runs > protocol::max_runs) {
        return {};
    }
    std::string key;
    const auto add = [&key](const auto *values, std::size_t count) {
        key.append(reinterpret_cast<const char *>(values), count * sizeof(*values));
    };
    add(&request.norms, 1);
    add(request.shrink, request.runs);
    add(request.run, request.runs);
    return key;
}

std::shared_ptr<Joint> join_search_text(Work &work, const protocol::SearchText &request,
                                        protocol::ResultReply &reply) {
    auto joint = std::make_shared<JointSearch>(work, request, reply);
    if (!joint->complete() || !joint->fits()) {
        return nullptr;
    }
    joint->prepare(work);
    return joint;
}

void handle_search_text(Work &work, const protocol::SearchText &request, protocol::ResultReply &reply) {
    const Search search(work, request, reply);
    if (!search.complete()) {
        return;
    }
    for (std::size_t run = 0; run < search.runs(); ++run) {
        if (!search.is_here(run)) {
            continue;
        }
        check(with_room(work, [&] {
            return search.lists(run).search(*work.stream, search.ranking(run),
                                            search.batch(run, search.terms(run)), search.hits(run),
                                            search.counts(run));
        }));
    }
    search.note_done(work);
}

// The room for a query's hits is known beforehand, so that what an engine finds goes where it belongs.
void spread_search_text(Spread &spread, const protocol::SearchText &request, protocol::ResultReply &reply) {
    const Search search(spread.whole(), request, reply, Search::Of::all_runs);
    spread.run([&](std::size_t, Work &work) {
        RunSet runs = spread.runs();
        runs.set_here(work.id);
        for (std::size_t run = 0; run < search.runs(); ++run) {
            if (!runs.is_here(run)) {
                continue;
            }
            check(with_room(work, [&] {
                return runs.text(run).search(*work.stream, search.ranking(run),
                                             search.batch(run, search.terms(run)), search.hits(run),
                                             search.counts(run));
            }));
        }
    });
    search.note_done(spread.whole());
}

void handle_count_text(Work &work, const protocol::CountText &request, protocol::ResultReply &reply) {
    const RunSet runs(work, request.run, request.runs, text_bits, reply.header);
    if (!runs.complete()) {
        return;
    }
    const TransferBuffer &buffer = work.connection.buffer;
    const std::uint32_t *first = request.lists.first;
    const TextList *lists = lists_at(buffer, request.lists, request.runs);
    Results results(buffer, request.results, request.capacity);
    reply.needed = aligned(std::uint64_t(first[request.runs]) * sizeof(std::uint32_t));
    auto *documents = results.take<std::uint32_t>(first[request.runs], &reply.offsets_at[0]);
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (!runs.is_here(i)) {
            // The parts of a request are added up.
            std::fill(documents + first[i], documents + first[i + 1], 0);
            continue;
        }
        check(with_room(work, [&] {
            return runs.text(i).count_documents(*work.stream, lists + first[i], first[i + 1] - first[i],
                                                documents + first[i]);
        }));
    }
    work.items = first[request.runs];
    work.bytes = results.used();
}

void handle_intersect_text(Work &work, const protocol::IntersectText &request, protocol::ResultReply &reply) {
    const RunSet runs(work, request.run, request.runs, text_bits, reply.header);
    if (!runs.complete()) {
        return;
    }
    const TransferBuffer &buffer = work.connection.buffer;
    const std::uint32_t *first = request.lists.first;
    const TextList *lists = lists_at(buffer, request.lists, request.runs);
    Results results(buffer, request.results, request.capacity);
    write_entries<std::uint32_t>(
        work, runs, 1, results, reply,
        [&](std::size_t i, std::uint64_t *offsets, Tid *tids, std::uint64_t capacity) {
            std::uint64_t found = 0;
            const Status status = runs.text(i).intersect(*work.stream, lists + first[i],
                                                         first[i + 1] - first[i], tids, capacity, &found);
            offsets[0] = 0;
            offsets[1] = found;
            return status;
        },
        nullptr);
}

}  // namespace gpu_engine::server
