// Batches of so many disjunctions over so many documents that the cuda engine probes them.
#include <algorithm>
#include <cstring>

#include "engine_text.h"

using namespace text_test;

namespace {

TYPED_TEST_SUITE(EngineText, Engines, Names);

// 64 windows of the cuda engine, or 127 narrow ones.
constexpr std::uint32_t documents = 63 * 16384 + 777;
// Documents of a window of either width whose scores aren't summed up.
constexpr std::uint32_t probed_begin = 16384;
constexpr std::uint32_t probed_end = probed_begin + 8192;

// Every `step`-th document between the two.
Postings list_between(std::uint32_t begin, std::uint32_t end, std::uint32_t step) {
    Postings list;
    for (std::uint32_t at = begin; at < end; at += step) {
        list.push_back({at, 1});
    }
    return list;
}

// This number of queries is probed if there are no others.
constexpr std::size_t enough_queries = 160;

// Returns the values, `times` times one after the other.
template <typename T>
std::vector<T> repeated(const std::vector<T> &values, std::size_t times) {
    std::vector<T> all;
    for (std::size_t i = 0; i < times; ++i) {
        all.insert(all.end(), values.begin(), values.end());
    }
    return all;
}

// Lists by their numbers, and queries of them.
struct Batch {
    std::vector<Postings> lists;
    std::vector<double> weights;
    std::vector<std::size_t> requested;
    std::vector<TextQuery> queries;

    void add_list(Postings list, double weight) {
        lists.push_back(std::move(list));
        weights.push_back(weight);
    }
    void add_query(const std::vector<std::size_t> &numbers, std::uint32_t k, TextMode mode = TextMode::any) {
        queries.push_back(make_query(static_cast<std::uint32_t>(requested.size()),
                                     static_cast<std::uint32_t>(numbers.size()), mode, k));
        requested.insert(requested.end(), numbers.begin(), numbers.end());
    }
    // Adds the lists to a run; returns the queries' terms.
    std::vector<TextTerm> add_to(TextRun *run) const {
        std::vector<TextTerm> of_lists;
        for (std::size_t i = 0; i < lists.size(); ++i) {
            of_lists.push_back(term_of(*run, run->add(lists[i]), weights[i]));
        }
        std::vector<TextTerm> terms;
        for (const std::size_t number : requested) {
            terms.push_back(of_lists[number]);
        }
        return terms;
    }
};

TYPED_TEST(EngineText, BatchesOfDisjunctions) {
    constexpr std::size_t repeats = 2;
    Batch batch;
    for (const double rarity : {5.0, 20.0, 100.0, 1000.0, 8000.0, 100000.0, 1e9}) {
        batch.add_list(random_list(this->random_, documents, rarity), 0.1 + std::log(rarity));
    }
    batch.add_list(split_list(documents, 129), 1);
    const std::size_t ties = batch.lists.size();
    batch.add_list(list_between(documents / 2, documents, 20), 2);
    // With the highest number of hits and of terms that are probed, and one more.
    for (const std::uint32_t k : {1U, 10U, 100U, 128U, 129U}) {
        for (const std::size_t size : {2, 5}) {
            // A list may come twice.
            std::vector<std::size_t> numbers;
            while (numbers.size() < size) {
                numbers.push_back(this->random_() % batch.lists.size());
            }
            batch.add_query(numbers, k);
        }
    }
    batch.add_query({0, 1, 2, 3, 4, 5}, 10);
    batch.add_query({0, 1, 2, 3, 4, 5, 6, 7, 8}, 128);
    std::vector<std::size_t> many;
    while (many.size() < 33) {
        many.push_back(3 + many.size() % 4);
    }
    batch.add_query(many, 10);
    batch.add_query({0, 1}, 10, TextMode::all);
    batch.add_query({}, 10);
    // More documents have the best score than there is room for.
    batch.add_query({ties}, 10);
    batch.add_query({ties, 5}, 10);
    // Short lists, for enough queries.
    while (batch.queries.size() < enough_queries) {
        batch.add_query({5, 6}, 1);
    }
    std::vector<bool> dead(documents);
    for (std::uint32_t i = 0; i < documents; ++i) {
        dead[i] = this->random_() % 3 == 0;
    }
    std::vector<TextQuery> resumed = batch.queries;
    // Ranks don't depend on the codec.
    std::vector<std::vector<TextHit>> wanted;
    std::vector<std::vector<TextHit>> wanted_behind;
    for (const Codec codec : codecs) {
        TextRun run(codec, documents);
        std::fill(run.lengths.begin() + documents / 2, run.lengths.end(), 10U);
        const std::vector<TextTerm> terms = batch.add_to(&run);
        const auto index = this->load(run);
        ASSERT_NE(index, nullptr);
        const TextRanking ranking = {run.norms, 1};
        if (wanted.empty()) {
            wanted = this->wanted_of(run, terms, batch.queries, ranking);
            for (std::size_t i = 0; i < resumed.size(); ++i) {
                if (!wanted[i].empty()) {
                    const TextHit &hit = wanted[i][wanted[i].size() / 2];
                    resumed[i].resumes = 1;
                    resumed[i].score = hit.score;
                    resumed[i].tid = hit.tid;
                }
            }
        }
        const std::vector<TextQuery> queries = repeated(batch.queries, repeats);
        this->call(*index, terms, queries, ranking, repeated(wanted, repeats));
        // By bounds that say less, and by none.
        this->call(*index, terms, queries, {run.norms, 0.5}, repeated(wanted, repeats));
        this->call(*index, terms, queries, {run.norms, -1}, repeated(wanted, repeats));
        // Behind hits, and without the dead.
        run.dead = dead;
        ASSERT_TRUE(index->set_dead(*this->stream_, run.dead_bitmap().data(), 2).ok());
        if (wanted_behind.empty()) {
            wanted_behind = this->wanted_of(run, terms, resumed, ranking);
        }
        this->call(*index, terms, repeated(resumed, repeats), ranking, repeated(wanted_behind, repeats));
        ASSERT_FALSE(this->HasFailure()) << static_cast<int>(codec);
    }
}

// Whatever the bytes are, a call ends with an error or with some result, and harms nothing.
TYPED_TEST(EngineText, BatchesOfDisjunctionsSurviveDamagedLists) {
    constexpr std::uint32_t count = enough_queries;
    constexpr std::uint32_t k = 10;
    Batch batch;
    for (const double rarity : {30.0, 300.0, 3000.0}) {
        batch.add_list(random_list(this->random_, documents, rarity), std::log(rarity));
    }
    batch.add_list(list_between(probed_begin, probed_end, 30), 3);
    batch.add_list(list_between(probed_begin, probed_end, 10), 2);
    constexpr std::uint32_t few = 3;
    constexpr std::uint32_t more = 4;
    for (const Codec codec : codecs) {
        TextRun run(codec, documents);
        batch.requested = {0, 1, 2, few, more};
        const std::vector<TextTerm> terms = batch.add_to(&run);
        const std::vector<std::uint8_t> valid = run.bytes();
        const auto code_of = [&](std::uint32_t first, std::uint32_t size) {
            const auto index = this->load(run);
            EXPECT_NE(index, nullptr);
            const std::vector<TextQuery> queries(count, make_query(first, size, TextMode::any, k));
            std::vector<TextHit> hits(count * k);
            std::vector<std::uint32_t> counts(count);
            const Status status = index->search(*this->stream_, {run.norms, 1},
                                                this->batch_of(terms, queries), hits.data(), counts.data());
            EXPECT_TRUE(status.ok() || status.code == StatusCode::invalid_argument) << status.message;
            EXPECT_LE(*std::max_element(counts.begin(), counts.end()), k);
            return status.code;
        };
        // Blocks of a window that is probed, of the list itself and of one that is looked into for another's
        // documents. Heads stay, and so does the first block, which may begin in an earlier window as far as
        // they tell.
        for (const std::uint32_t damaged : {few, more}) {
            const TextList &list = run.list(damaged);
            const std::uint32_t blocks =
                (list.documents + postings::kBlockPostings - 1) / postings::kBlockPostings;
            ASSERT_GT(blocks, 1U);
            std::uint8_t *const bytes = run.bytes().data() + list.offset;
            const std::uint64_t data_bytes = list.bytes - blocks * sizeof(postings::BlockHead);
            postings::BlockHead second;
            std::memcpy(&second, bytes + data_bytes + sizeof(second), sizeof(second));
            std::fill(bytes + second.offset, bytes + data_bytes, 0xff);
            EXPECT_EQ(code_of(few, 2), StatusCode::invalid_argument) << damaged;
            EXPECT_EQ(code_of(damaged, 1), StatusCode::invalid_argument) << damaged;
            run.bytes() = valid;
            EXPECT_EQ(code_of(few, 2), StatusCode::ok);
        }
        int refused = 0;
        for (const std::size_t changes : {1, 5, 20, 100, 1000, 100000}) {
            for (std::size_t i = 0; i < changes; ++i) {
                run.bytes()[this->random_() % run.bytes().size()] =
                    static_cast<std::uint8_t>(this->random_());
            }
            refused += code_of(0, 5) == StatusCode::ok ? 0 : 1;
            run.bytes() = valid;
        }
        EXPECT_GT(refused, 0);
    }
}

// Without memory for probing a batch is answered all the same, or refused, and gives back what it took.
TYPED_TEST(EngineText, BatchesOfDisjunctionsKeepTheMemoryLimit) {
    Batch batch;
    for (const double rarity : {300.0, 3000.0}) {
        batch.add_list(random_list(this->random_, documents, rarity), std::log(rarity));
    }
    batch.add_query({0, 1}, 10);
    TextRun run(Codec::Bitpack, documents);
    const std::vector<TextTerm> terms = batch.add_to(&run);
    const auto index = this->load(run);
    ASSERT_NE(index, nullptr);
    const TextRanking ranking = {run.norms, 1};
    constexpr std::size_t repeats = enough_queries;
    const std::vector<TextQuery> queries = repeated(batch.queries, repeats);
    const std::vector<std::vector<TextHit>> wanted =
        repeated(this->wanted_of(run, terms, batch.queries, ranking), repeats);
    MemoryBudget &memory = this->engine_->memory();
    const std::uint64_t before = memory.used();
    std::vector<TextHit> hits(queries.size() * 10);
    std::vector<std::uint32_t> counts(queries.size());
    int refused = 0;
    for (int i = 0; i < 20; ++i) {
        memory.refuse_after(i);
        const Status status = index->search(*this->stream_, ranking, this->batch_of(terms, queries),
                                            hits.data(), counts.data());
        memory.refuse_after(-1);
        ASSERT_TRUE(status.ok() || status.code == StatusCode::out_of_memory) << status.message;
        ASSERT_EQ(memory.used(), before);
        refused += status.ok() ? 0 : 1;
        if (status.ok()) {
            for (std::size_t j = 0; j < queries.size(); ++j) {
                ASSERT_EQ(counts[j], wanted[j].size());
                for (std::size_t place = 0; place < wanted[j].size(); ++place) {
                    ASSERT_EQ(hits[j * 10 + place].ordinal, wanted[j][place].ordinal) << i;
                }
            }
        }
    }
    EXPECT_GT(refused, 0);
    this->call(*index, terms, queries, ranking, wanted);
}

}  // namespace
