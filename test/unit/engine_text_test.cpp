// Text indexes of both engines, compared with looking at all postings.
#include <set>

#include "engine_text.h"

using namespace text_test;

namespace {

TYPED_TEST_SUITE(EngineText, Engines, Names);

TYPED_TEST(EngineText, AdversarialLists) {
    constexpr std::uint32_t documents = 300000;
    for (const Codec codec : codecs) {
        TextRun run(codec, documents);
        std::vector<TextTerm> terms;
        for (const std::uint32_t count : {1U, 2U, 3U, 127U, 128U, 129U, 255U, 256U, 257U, 511U, 512U, 513U,
                                          4095U, 4096U, 4097U, 20000U}) {
            terms.push_back(term_of(run, run.add(split_list(documents, count)), 1.0 + count % 7));
            Postings spread;
            for (std::uint32_t i = 0; i < count; ++i) {
                spread.push_back({static_cast<std::uint32_t>(std::uint64_t(i) * documents / count), 1});
            }
            terms.push_back(term_of(run, run.add(spread), 2.0));
        }
        const auto index = this->load(run);
        ASSERT_NE(index, nullptr);
        std::vector<TextQuery> queries;
        for (std::uint32_t i = 0; i < terms.size(); ++i) {
            for (const TextMode mode : {TextMode::any, TextMode::all}) {
                queries.push_back(make_query(i, 1, mode, 10));
                queries.push_back(make_query(i, std::min<std::uint32_t>(2, terms.size() - i), mode, 100));
                queries.push_back(make_query(i, std::min<std::uint32_t>(5, terms.size() - i), mode, 7));
            }
        }
        this->expect_hits(run, *index, terms, queries);
        for (std::size_t i = 0; i < terms.size(); ++i) {
            this->expect_members(run, *index, {terms[i].list});
            this->expect_members(run, *index, {terms[i].list, terms[(i * 7 + 3) % terms.size()].list});
        }
        ASSERT_FALSE(this->HasFailure()) << static_cast<int>(codec);
    }
}

TYPED_TEST(EngineText, RandomQueries) {
    for (const Codec codec : codecs) {
        TextRun run(codec, 70000 + static_cast<std::uint32_t>(this->random_() % 1000));
        std::vector<TextTerm> terms;
        for (const double rarity :
             {1.0, 1.01, 1.5, 2.0, 3.0, 10.0, 20.0, 50.0, 100.0, 300.0, 1000.0, 5000.0, 30000.0, 70000.0}) {
            const std::size_t list = run.add(random_list(this->random_, run.documents(), rarity));
            terms.push_back(term_of(run, list, 0.1 + std::log(rarity)));
        }
        std::vector<TextTerm> requested;
        std::vector<TextQuery> queries;
        for (int i = 0; i < 60; ++i) {
            const auto first = static_cast<std::uint32_t>(requested.size());
            std::set<std::size_t> chosen;
            const std::size_t size = 1 + this->random_() % 6;
            while (chosen.size() < size) {
                chosen.insert(this->random_() % terms.size());
            }
            for (const std::size_t term : chosen) {
                requested.push_back(terms[term]);
            }
            constexpr std::uint32_t ks[] = {1, 2, 10, 100, 1000, 10000};
            queries.push_back(make_query(first, static_cast<std::uint32_t>(size),
                                         this->random_() % 2 == 0 ? TextMode::any : TextMode::all,
                                         ks[this->random_() % 6]));
        }
        const auto index = this->load(run, 1 + static_cast<std::uint32_t>(this->random_() % 20));
        ASSERT_NE(index, nullptr);
        this->expect_hits(run, *index, requested, queries);
        // Bounds of no use, lengths that weigh less, and none.
        this->expect_hits(run, *index, requested, queries, {{1.2, 0.5}, -1});
        this->expect_hits(run, *index, requested, queries, {{0.3, 0.01}, 0.5});
        this->expect_hits(run, *index, requested, queries, {{0, 0}, 0});
        ASSERT_FALSE(this->HasFailure()) << static_cast<int>(codec);
    }
}

TYPED_TEST(EngineText, TiesComeByTid) {
    TextRun run(Codec::Bitpack, 50000);
    std::fill(run.lengths.begin(), run.lengths.end(), 10U);
    Postings all;
    Postings some;
    for (std::uint32_t i = 0; i < run.documents(); ++i) {
        all.push_back({i, 1});
        if (i % 7 == 3) {
            some.push_back({i, 1});
        }
    }
    const std::vector<TextTerm> terms = {term_of(run, run.add(all), 0.5), term_of(run, run.add(some), 3)};
    const auto index = this->load(run);
    ASSERT_NE(index, nullptr);
    std::vector<TextQuery> queries;
    for (const std::uint32_t k : {1U, 10U, 1000U, 7142U, 7143U, 7144U, 10000U}) {
        queries.push_back(make_query(0, 1, TextMode::any, k));
        queries.push_back(make_query(0, 2, TextMode::any, k));
        queries.push_back(make_query(0, 2, TextMode::all, k));
    }
    this->expect_hits(run, *index, terms, queries);
}

TYPED_TEST(EngineText, ResumesBehindAHit) {
    for (const bool ties : {false, true}) {
        TextRun run(Codec::Rice, 40000);
        if (ties) {
            std::fill(run.lengths.begin(), run.lengths.end(), 10U);
        }
        std::vector<TextTerm> terms;
        for (const double rarity : {2.0, 9.0, 200.0}) {
            Postings list = random_list(this->random_, run.documents(), rarity);
            if (ties) {
                for (Posting &posting : list) {
                    posting.frequency = 1;
                }
            }
            terms.push_back(term_of(run, run.add(list), std::log(rarity)));
        }
        const auto index = this->load(run);
        ASSERT_NE(index, nullptr);
        for (const TextMode mode : {TextMode::any, TextMode::all}) {
            TextQuery query = make_query(0, mode == TextMode::any ? 3 : 2, mode, 50);
            for (int i = 0; i < 5; ++i) {
                this->call(run, *index, terms, {query}, {run.norms, 1});
                const std::vector<TextHit> hits = run.search(run.norms, terms.data(), query, nullptr);
                ASSERT_FALSE(hits.empty());
                query.resumes = 1;
                query.score = hits.back().score;
                query.tid = hits.back().tid;
            }
            query.score = 0;
            this->call(run, *index, terms, {query}, {run.norms, 1});
        }
    }
}

TYPED_TEST(EngineText, DeadDocuments) {
    TextRun run(Codec::PForDelta, 30000);
    std::vector<TextTerm> terms;
    std::vector<TextList> lists;
    for (const double rarity : {1.0, 3.0, 40.0, 30000.0}) {
        const std::size_t list = run.add(random_list(this->random_, run.documents(), rarity));
        terms.push_back(term_of(run, list, 0.3 + std::log(rarity)));
        lists.push_back(run.list(list));
    }
    run.lengths[5] = null_text_length;
    const auto index = this->load(run);
    ASSERT_NE(index, nullptr);
    const std::uint64_t loaded_bytes = index->bytes();
    EXPECT_EQ(loaded_bytes, this->engine_->text().index_bytes(run.shape()));
    for (std::uint64_t version = 1; version <= 3; ++version) {
        run.dead.assign(run.documents(), false);
        for (std::uint32_t i = 0; i < run.documents(); ++i) {
            run.dead[i] = version == 3 ? i % 1000 != 1 : version == 2 && this->random_() % 3 == 0;
        }
        ASSERT_TRUE(index->set_dead(*this->stream_, run.dead_bitmap().data(), version * 2).ok());
        EXPECT_EQ(index->set_dead(*this->stream_, run.dead_bitmap().data(), 1).code,
                  StatusCode::invalid_argument);
        EXPECT_EQ(index->dead_version(), version * 2);
        std::uint64_t dead = 0;
        for (std::uint32_t i = 0; i < run.documents(); ++i) {
            dead += run.is_dead(i);
        }
        EXPECT_EQ(index->dead_entries(), dead);
        std::vector<std::uint32_t> frequencies(lists.size());
        ASSERT_TRUE(index
                        ->count_documents(*this->stream_, lists.data(),
                                          static_cast<std::uint32_t>(lists.size()), frequencies.data())
                        .ok());
        for (std::size_t i = 0; i < lists.size(); ++i) {
            EXPECT_EQ(frequencies[i], run.intersect({lists[i]}).size()) << i;
        }
        this->expect_hits(run, *index, terms,
                          {make_query(0, 4, TextMode::any, 10), make_query(0, 2, TextMode::all, 100),
                           make_query(2, 2, TextMode::any, 10000), make_query(3, 1, TextMode::all, 1)});
        this->expect_members(run, *index, {lists[0], lists[1]});
        this->expect_members(run, *index, {lists[2], lists[0], lists[1]});
    }
    run.dead.clear();
    ASSERT_TRUE(index->set_dead(*this->stream_, nullptr, 7).ok());
    EXPECT_EQ(index->dead_entries(), 0U);
    EXPECT_EQ(index->bytes(), loaded_bytes);
    this->expect_hits(run, *index, terms, {make_query(0, 4, TextMode::any, 10)});
}

TYPED_TEST(EngineText, ManyTerms) {
    TextRun run(Codec::Bitpack, 20000);
    std::vector<TextTerm> terms;
    for (int i = 0; i < 200; ++i) {
        const std::size_t list = run.add(random_list(this->random_, run.documents(), 2.0 + 3 * i));
        terms.push_back(term_of(run, list, std::log(2.0 + 3 * i)));
    }
    // Every document has all of these terms.
    for (int i = 0; i < 40; ++i) {
        terms.push_back(term_of(run, run.add(random_list(this->random_, run.documents(), 1)), 0.01));
    }
    const auto index = this->load(run);
    ASSERT_NE(index, nullptr);
    this->expect_hits(run, *index, terms,
                      {make_query(0, 200, TextMode::any, 10), make_query(0, 200, TextMode::any, 3000),
                       make_query(0, 200, TextMode::all, 10), make_query(200, 40, TextMode::all, 10),
                       make_query(0, 240, TextMode::any, 100), make_query(200, 33, TextMode::all, 1),
                       make_query(7, 0, TextMode::any, 10), make_query(7, 0, TextMode::all, 10)});
}

// More lists than are gone through at a time, the last of which most documents have: once others have raised
// the threshold, only some documents can still be hits after one of these, whether or not they are in it.
TYPED_TEST(EngineText, ManyTermsOfManyDocuments) {
    constexpr std::uint32_t rare_terms = 32;
    constexpr std::uint32_t frequent_terms = 8;
    // There are so many requests that most of them meet a threshold.
    constexpr std::size_t repeats = 12;
    TextRun run(Codec::Bitpack, 200000);
    std::vector<TextTerm> terms;
    for (std::uint32_t i = 0; i < rare_terms + frequent_terms; ++i) {
        const double rarity = i < rare_terms ? 1000 * std::pow(0.04, i / 31.0) : 1.5 + 0.1 * (i - rare_terms);
        terms.push_back(term_of(run, run.add(random_list(this->random_, run.documents(), rarity)), 1));
    }
    const auto index = this->load(run);
    ASSERT_NE(index, nullptr);
    std::vector<TextTerm> requested;
    std::vector<TextQuery> queries;
    for (const auto &[weight, k] :
         {std::pair{0.4, 1000U}, {0.7, 129U}, {0.7, 1000U}, {1.0, 100U}, {1.5, 10U}, {1.5, 129U}}) {
        for (std::uint32_t i = rare_terms; i < terms.size(); ++i) {
            terms[i].weight = terms[0].weight * weight;
        }
        queries.push_back(make_query(static_cast<std::uint32_t>(requested.size()),
                                     static_cast<std::uint32_t>(terms.size()), TextMode::any, k));
        requested.insert(requested.end(), terms.begin(), terms.end());
    }
    const TextRanking ranking = {run.norms, 1};
    const std::vector<std::vector<TextHit>> wanted = this->wanted_of(run, requested, queries, ranking);
    std::vector<TextQuery> repeated;
    std::vector<std::vector<TextHit>> all_wanted;
    for (std::size_t i = 0; i < repeats * queries.size(); ++i) {
        repeated.push_back(queries[i % queries.size()]);
        all_wanted.push_back(wanted[i % queries.size()]);
    }
    this->call(*index, requested, repeated, ranking, all_wanted);
}

TYPED_TEST(EngineText, SmallRuns) {
    for (const std::uint32_t documents : {1U, 2U, 63U, 64U, 65U, 905U, 906U, 2048U, 2049U}) {
        TextRun run(Codec::Rice, documents);
        std::vector<TextTerm> terms;
        for (const double rarity : {1.0, 2.0}) {
            terms.push_back(term_of(run, run.add(random_list(this->random_, documents, rarity)), 1));
        }
        const auto index = this->load(run);
        ASSERT_NE(index, nullptr);
        this->expect_hits(run, *index, terms,
                          {make_query(0, 2, TextMode::any, 10000), make_query(0, 2, TextMode::all, 10)});
        this->expect_members(run, *index, {terms[0].list, terms[1].list});
    }
    // No documents, no lists.
    const TextRun empty(Codec::Bitpack, 0);
    const auto index = this->load(empty);
    ASSERT_NE(index, nullptr);
    this->expect_hits(empty, *index, {}, {make_query(0, 0, TextMode::any, 10)});
}

TYPED_TEST(EngineText, RefusesWhatCannotBe) {
    TextRun run(Codec::Bitpack, 5000);
    const TextTerm term = term_of(run, run.add(random_list(this->random_, run.documents(), 3)), 1);
    const auto index = this->load(run);
    ASSERT_NE(index, nullptr);
    const auto code_of = [&](const TextTerm &requested, const TextQuery &query, const TextRanking &ranking) {
        std::vector<TextHit> hits(20000);
        std::uint32_t count;
        return index
            ->search(*this->stream_, ranking, {&query, 1, &requested, 1, nullptr, 0}, hits.data(), &count)
            .code;
    };
    const TextQuery query = make_query(0, 1, TextMode::any, 10);
    const TextRanking ranking = {run.norms, 1};
    ASSERT_EQ(code_of(term, query, ranking), StatusCode::ok);
    TextTerm lying = term;
    lying.list.offset += 1;
    EXPECT_EQ(code_of(lying, query, ranking), StatusCode::invalid_argument);
    lying = term;
    lying.list.bytes += UINT64_MAX - 5;
    EXPECT_EQ(code_of(lying, query, ranking), StatusCode::invalid_argument);
    lying = term;
    lying.list.documents = 0;
    EXPECT_EQ(code_of(lying, query, ranking), StatusCode::invalid_argument);
    lying = term;
    lying.weight = std::nan("");
    EXPECT_EQ(code_of(lying, query, ranking), StatusCode::invalid_argument);
    lying = {{0, 0, 1, 5000, 1, 0}, 1, 0, 1};
    EXPECT_EQ(code_of(lying, query, ranking), StatusCode::invalid_argument);
    lying = {{0, 0, 1, 4999, 0, 0}, 1, 0, 1};
    EXPECT_EQ(code_of(lying, query, ranking), StatusCode::invalid_argument);
    EXPECT_EQ(code_of(term, make_query(1, 1, TextMode::any, 10), ranking), StatusCode::invalid_argument);
    EXPECT_EQ(code_of(term, make_query(UINT32_MAX, 2, TextMode::any, 10), ranking),
              StatusCode::invalid_argument);
    EXPECT_EQ(code_of(term, make_query(0, 1, TextMode::any, 0), ranking), StatusCode::invalid_argument);
    EXPECT_EQ(code_of(term, make_query(0, 1, TextMode::any, 10001), ranking), StatusCode::invalid_argument);
    EXPECT_EQ(code_of(term, make_query(0, 1, static_cast<TextMode>(3), 10), ranking),
              StatusCode::invalid_argument);
    EXPECT_EQ(code_of(term, query, {{-1, 0}, 1}), StatusCode::invalid_argument);
    EXPECT_EQ(code_of(term, query, {run.norms, std::nan("")}), StatusCode::invalid_argument);
    std::uint64_t found;
    Tid tid;
    EXPECT_EQ(index->intersect(*this->stream_, &term.list, 0, &tid, 1, &found).code,
              StatusCode::invalid_argument);
    // The engine still works after all that.
    this->expect_hits(run, *index, {term}, {query});
}

TYPED_TEST(EngineText, LoadersRefuseWhatDoesNotFit) {
    TextRun run(Codec::Bitpack, 2000);
    run.add(random_list(this->random_, run.documents(), 1));
    std::unique_ptr<TextLoader> loader;
    TextShape shape = run.shape();
    shape.codec = static_cast<Codec>(3);
    EXPECT_EQ(this->engine_->text().open_loader(*this->stream_, shape, &loader).code,
              StatusCode::invalid_argument);
    ASSERT_TRUE(this->engine_->text().open_loader(*this->stream_, run.shape(), &loader).ok());
    const std::vector<char> pages = run.document_pages();
    const auto images = [&](std::size_t first, std::uint32_t count) {
        return TextPages{pages.data() + first * text_test::page_bytes, count, text_test::page_bytes,
                         text_test::first_byte, text_test::content_bytes};
    };
    const auto code_of = [&](const TextPages &given) {
        return loader->append_documents(*this->stream_, given).code;
    };
    TextPages wrong = images(0, 1);
    wrong.content_bytes = text_test::page_bytes;
    EXPECT_EQ(code_of(wrong), StatusCode::invalid_argument);
    wrong = images(0, 1);
    wrong.content_bytes = 8;
    EXPECT_EQ(code_of(wrong), StatusCode::invalid_argument);
    EXPECT_EQ(code_of(images(0, 4)), StatusCode::invalid_argument);
    std::unique_ptr<TextIndex> index;
    EXPECT_EQ(loader->finish(*this->stream_, &index).code, StatusCode::invalid_argument);
    ASSERT_EQ(code_of(images(1, 1)), StatusCode::ok);
    // The page before has lower TIDs.
    EXPECT_EQ(code_of(images(0, 1)), StatusCode::invalid_argument);
    EXPECT_EQ(loader->loaded_documents(), 905U);
}

// Whatever the bytes are, a call ends with an error or with some result, and harms nothing.
TYPED_TEST(EngineText, SurvivesDamagedLists) {
    for (const Codec codec : codecs) {
        int refused = 0;
        for (int round = 0; round < 40; ++round) {
            TextRun run(codec, 20000);
            const std::size_t first = run.add(random_list(this->random_, run.documents(), 3));
            const std::size_t second = run.add(random_list(this->random_, run.documents(), 11));
            const std::size_t third = run.add(random_list(this->random_, run.documents(), 300));
            TextTerm terms[] = {term_of(run, first, 1), term_of(run, second, 2), term_of(run, third, 3)};
            terms[2].number = 1;
            constexpr TextStep every_step[] = {{TextStepKind::lacks, 1},
                                               {TextStepKind::every, 0},
                                               {TextStepKind::both, 0},
                                               {TextStepKind::has, 0},
                                               {TextStepKind::either, 0}};
            const std::size_t changes = round < 20 ? 1 + this->random_() % 4 : run.bytes().size();
            for (std::size_t i = 0; i < changes; ++i) {
                run.bytes()[this->random_() % run.bytes().size()] =
                    static_cast<std::uint8_t>(this->random_());
            }
            const auto index = this->load(run);
            ASSERT_NE(index, nullptr);
            for (const TextMode mode : {TextMode::any, TextMode::all, TextMode::steps}) {
                TextQuery queries[] = {make_query(0, 3, mode, 10), make_query(1, 2, mode, 10000)};
                queries[0].steps = 5;
                queries[1].steps = 5;
                std::vector<TextHit> hits(10010);
                std::uint32_t counts[2] = {};
                const Status status =
                    index->search(*this->stream_, {run.norms, 1}, {queries, 2, terms, 3, every_step, 5},
                                  hits.data(), counts);
                ASSERT_TRUE(status.ok() || status.code == StatusCode::invalid_argument) << status.message;
                refused += status.ok() ? 0 : 1;
                ASSERT_LE(counts[0], 10U);
                ASSERT_LE(counts[1], 10000U);
            }
            const TextList lists[] = {terms[0].list, terms[1].list, terms[2].list};
            std::vector<Tid> tids(20000);
            std::uint64_t found = 0;
            const Status status = index->intersect(*this->stream_, lists, 3, tids.data(), 20000, &found);
            ASSERT_TRUE(status.ok() || status.code == StatusCode::invalid_argument) << status.message;
            std::vector<std::uint64_t> bitmap((20000 + 63) / 64, 1);
            ASSERT_TRUE(index->set_dead(*this->stream_, bitmap.data(), 1).ok());
            std::uint32_t counts[3];
            const Status counted = index->count_documents(*this->stream_, lists, 3, counts);
            ASSERT_TRUE(counted.ok() || counted.code == StatusCode::invalid_argument) << counted.message;
        }
        EXPECT_GT(refused, 0);
    }
}

TYPED_TEST(EngineText, KeepsItsMemoryLimit) {
    TextRun run(Codec::Bitpack, 30000);
    const TextTerm term = term_of(run, run.add(random_list(this->random_, run.documents(), 2)), 1);
    const std::uint64_t before = this->engine_->memory().used();
    {
        const auto index = this->load(run);
        ASSERT_NE(index, nullptr);
        EXPECT_EQ(this->engine_->memory().used() - before, index->bytes());
        const TextQuery query = make_query(0, 1, TextMode::any, 10000);
        const TextBatch batch = {&query, 1, &term, 1, nullptr, 0};
        std::vector<TextHit> hits(10000);
        std::uint32_t count;
        bool refused = false;
        for (int i = 0; i < 20; ++i) {
            this->engine_->memory().refuse_after(i);
            const Status status = index->search(*this->stream_, {run.norms, 1}, batch, hits.data(), &count);
            ASSERT_TRUE(status.ok() || status.code == StatusCode::out_of_memory) << status.message;
            refused = refused || !status.ok();
            EXPECT_EQ(this->engine_->memory().used() - before, index->bytes());
        }
        this->engine_->memory().refuse_after(-1);
        EXPECT_TRUE(refused);
        this->stream_->cancel();
        EXPECT_EQ(index->search(*this->stream_, {run.norms, 1}, batch, hits.data(), &count).code,
                  StatusCode::cancelled);
        this->stream_->resume();
        this->engine_->memory().set_limit(this->engine_->memory().used() + 100000);
        std::unique_ptr<TextIndex> second;
        EXPECT_EQ(run.load(*this->engine_, *this->stream_, 10, &second).code, StatusCode::out_of_memory);
    }
    EXPECT_EQ(this->engine_->memory().used(), before);
}

}  // namespace
