// Queries with steps on both engines, compared with looking at all postings.
#include <set>

#include "engine_text.h"

using namespace text_test;

namespace {

template <typename Under>
using EngineTextSteps = EngineText<Under>;

TYPED_TEST_SUITE(EngineTextSteps, Engines, Names);

TYPED_TEST(EngineTextSteps, RandomTrees) {
    for (const Codec codec : codecs) {
        TextRun run(codec, 35000 + static_cast<std::uint32_t>(this->random_() % 1000));
        // These entries are no documents, and no list has them.
        for (std::uint32_t i = 0; i < run.documents(); i += 1 + this->random_() % 100) {
            run.lengths[i] = null_text_length;
        }
        std::vector<std::size_t> lists;
        for (const double rarity : {1.0, 1.3, 2.0, 5.0, 20.0, 70.0, 300.0, 2000.0, 30000.0}) {
            for (int i = 0; i < 3; ++i) {
                Postings list = random_list(this->random_, run.documents(), rarity);
                std::erase_if(list, [&](const Posting &posting) {
                    return run.lengths[posting.ordinal] == null_text_length;
                });
                if (!list.empty()) {
                    lists.push_back(run.add(list));
                }
            }
        }
        if (codec == Codec::Rice) {
            run.dead.assign(run.documents(), false);
            for (std::uint32_t i = 0; i < run.documents(); ++i) {
                run.dead[i] = this->random_() % 4 == 0;
            }
        }
        this->steps_.clear();
        std::vector<TextTerm> terms;
        std::vector<TextQuery> queries;
        for (int i = 0; i < 25; ++i) {
            constexpr std::uint32_t ks[] = {1, 2, 10, 100, 1024, 1025, 10000};
            TextQuery query = make_query(static_cast<std::uint32_t>(terms.size()), 0, TextMode::steps,
                                         ks[this->random_() % 7]);
            const auto count = static_cast<std::uint32_t>(1 + this->random_() % 6);
            std::set<std::size_t> chosen;
            for (std::uint32_t number = 0; number < count; ++number) {
                const double idf = 0.01 + static_cast<double>(this->random_() % 900) / 100;
                const std::uint32_t scored = this->random_() % 4 == 0 ? 0 : 1;
                // No list, one, or several, as prefixes have.
                const auto size =
                    std::max<std::uint64_t>(this->random_() % 6, 1) - (this->random_() % 8 == 0);
                for (std::uint64_t j = 0; j < size; ++j) {
                    const std::size_t list = lists[this->random_() % lists.size()];
                    if (!chosen.insert(list).second) {
                        continue;
                    }
                    terms.push_back({run.list(list), idf / postings::kScoreUnit, number, scored});
                }
            }
            query.terms = static_cast<std::uint32_t>(terms.size()) - query.first_term;
            query.first_step = static_cast<std::uint32_t>(this->steps_.size());
            text_test::add_random_steps(this->random_, count, &this->steps_);
            query.steps = static_cast<std::uint32_t>(this->steps_.size()) - query.first_step;
            if (this->random_() % 3 == 0) {
                const std::vector<TextHit> hits =
                    run.search(run.norms, terms.data(), query, this->steps_.data());
                if (!hits.empty()) {
                    query.resumes = 1;
                    query.score = hits[hits.size() / 2].score;
                    query.tid = hits[hits.size() / 2].tid;
                }
            }
            queries.push_back(query);
            // Others of the same call.
            queries.push_back(make_query(0, 1, i % 2 == 0 ? TextMode::any : TextMode::all, 10));
        }
        const auto index = this->load(run, 1 + static_cast<std::uint32_t>(this->random_() % 20));
        ASSERT_NE(index, nullptr);
        this->expect_hits(run, *index, terms, queries);
        this->expect_hits(run, *index, terms, queries, {{1.2, 0.5}, -1});
        this->expect_hits(run, *index, terms, queries, {{0.3, 0.01}, 0.5});
        ASSERT_FALSE(this->HasFailure()) << static_cast<int>(codec);
    }
}

TYPED_TEST(EngineTextSteps, SmallRuns) {
    for (const std::uint32_t documents : {0U, 1U, 31U, 32U, 63U, 64U, 65U, 2048U, 2049U}) {
        TextRun run(Codec::PForDelta, documents);
        std::vector<TextTerm> terms;
        if (documents > 0) {
            for (std::uint32_t number = 0; number < 2; ++number) {
                terms.push_back(term_of(run, run.add(random_list(this->random_, documents, 2)), 1 + number));
                terms.back().number = number;
            }
        }
        const auto index = this->load(run);
        ASSERT_NE(index, nullptr);
        this->steps_ = {{TextStepKind::lacks, 0},
                        {TextStepKind::has, 1},
                        {TextStepKind::both, 0},
                        {TextStepKind::every, 0},
                        {TextStepKind::lacks, 700}};
        const auto size = static_cast<std::uint32_t>(terms.size());
        std::vector<TextQuery> queries = {
            make_query(0, size, TextMode::steps, 10000), make_query(0, size, TextMode::steps, 3),
            make_query(0, size, TextMode::steps, 10000), make_query(0, 0, TextMode::steps, 10)};
        queries[0].steps = 3;
        queries[1].steps = 1;
        queries[2].first_step = 3;
        queries[2].steps = 1;
        queries[3].first_step = 4;
        queries[3].steps = 1;
        this->expect_hits(run, *index, terms, queries);
    }
}

TYPED_TEST(EngineTextSteps, RefusesWhatCannotBe) {
    TextRun run(Codec::Bitpack, 5000);
    std::vector<TextTerm> terms = {term_of(run, run.add(random_list(this->random_, run.documents(), 3)), 1),
                                   term_of(run, run.add(random_list(this->random_, run.documents(), 9)), 1)};
    const auto index = this->load(run);
    ASSERT_NE(index, nullptr);
    TextQuery query = make_query(0, 2, TextMode::steps, 10);
    const auto code_of = [&](const std::vector<TextStep> &steps) {
        this->steps_ = steps;
        query.steps = static_cast<std::uint32_t>(steps.size());
        std::vector<TextHit> hits(10);
        std::uint32_t count;
        return index
            ->search(*this->stream_, {run.norms, 1}, this->batch_of(terms, {query}), hits.data(), &count)
            .code;
    };
    constexpr TextStep has = {TextStepKind::has, 0};
    constexpr TextStep both = {TextStepKind::both, 0};
    ASSERT_EQ(code_of({has}), StatusCode::ok);
    EXPECT_EQ(code_of({}), StatusCode::invalid_argument);
    EXPECT_EQ(code_of({has, has}), StatusCode::invalid_argument);
    EXPECT_EQ(code_of({has, both}), StatusCode::invalid_argument);
    EXPECT_EQ(code_of({both, has}), StatusCode::invalid_argument);
    EXPECT_EQ(code_of({{TextStepKind::has, max_text_terms}}), StatusCode::invalid_argument);
    EXPECT_EQ(code_of({{static_cast<TextStepKind>(5), 0}}), StatusCode::invalid_argument);
    EXPECT_EQ(code_of(std::vector<TextStep>(max_text_steps + 1, has)), StatusCode::invalid_argument);
    std::vector<TextStep> deep(max_text_depth + 1, has);
    deep.insert(deep.end(), max_text_depth, both);
    EXPECT_EQ(code_of(deep), StatusCode::invalid_argument);
    deep.erase(deep.begin());
    deep.pop_back();
    EXPECT_EQ(code_of(deep), StatusCode::ok);
    query.first_step = 1;
    EXPECT_EQ(code_of({has}), StatusCode::invalid_argument);
    query.first_step = UINT32_MAX;
    EXPECT_EQ(code_of({has}), StatusCode::invalid_argument);
    query.first_step = 0;
    terms[0].number = 1;
    EXPECT_EQ(code_of({has}), StatusCode::invalid_argument);
    terms[0].number = max_text_terms;
    terms[1].number = max_text_terms;
    EXPECT_EQ(code_of({has}), StatusCode::invalid_argument);
}

}  // namespace
