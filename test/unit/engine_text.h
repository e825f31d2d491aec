// The fixture of tests of text indexes, for both engines.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "engine_under_test.h"
#include "text_run.h"

namespace text_test {

using namespace gpu_engine;
using postings::Codec;

template <typename Under>
class EngineText : public EngineTest {
  protected:
    void SetUp() override { open<Under>(); }

    std::unique_ptr<TextIndex> load(const TextRun &run, std::uint32_t piece = 64) {
        std::unique_ptr<TextIndex> index;
        const Status status = run.load(*engine_, *stream_, piece, &index);
        EXPECT_TRUE(status.ok()) << status.message;
        if (index != nullptr && !run.dead.empty()) {
            EXPECT_TRUE(index->set_dead(*stream_, run.dead_bitmap().data(), 1).ok());
        }
        return index;
    }

    // Queries with steps have theirs here.
    std::vector<TextStep> steps_;

    TextBatch batch_of(const std::vector<TextTerm> &terms, const std::vector<TextQuery> &queries) const {
        return {queries.data(), static_cast<std::uint32_t>(queries.size()),
                terms.data(),   static_cast<std::uint32_t>(terms.size()),
                steps_.data(),  static_cast<std::uint32_t>(steps_.size())};
    }

    // Asks all queries at once, and then each alone.
    void expect_hits(const TextRun &run, const TextIndex &index, const std::vector<TextTerm> &terms,
                     const std::vector<TextQuery> &queries, const TextRanking &ranking) {
        const std::vector<std::vector<TextHit>> wanted = wanted_of(run, terms, queries, ranking);
        call(index, terms, queries, ranking, wanted);
        for (std::size_t i = 0; i < queries.size(); ++i) {
            call(index, terms, {queries[i]}, ranking, {wanted[i]});
            if (testing::Test::HasFailure()) {
                return;
            }
        }
    }
    void expect_hits(const TextRun &run, const TextIndex &index, const std::vector<TextTerm> &terms,
                     const std::vector<TextQuery> &queries) {
        expect_hits(run, index, terms, queries, {run.norms, 1});
    }

    std::vector<std::vector<TextHit>> wanted_of(const TextRun &run, const std::vector<TextTerm> &terms,
                                                const std::vector<TextQuery> &queries,
                                                const TextRanking &ranking) const {
        std::vector<std::vector<TextHit>> wanted;
        for (const TextQuery &query : queries) {
            wanted.push_back(run.search(ranking.norms, terms.data(), query, steps_.data()));
        }
        return wanted;
    }

    void call(const TextRun &run, const TextIndex &index, const std::vector<TextTerm> &terms,
              const std::vector<TextQuery> &queries, const TextRanking &ranking) {
        call(index, terms, queries, ranking, wanted_of(run, terms, queries, ranking));
    }
    void call(const TextIndex &index, const std::vector<TextTerm> &terms,
              const std::vector<TextQuery> &queries, const TextRanking &ranking,
              const std::vector<std::vector<TextHit>> &wanted) {
        std::uint64_t all = 0;
        for (const TextQuery &query : queries) {
            all += query.k;
        }
        std::vector<TextHit> hits(all, TextHit{-1, 7, {}, {9, 9, 9}});
        std::vector<std::uint32_t> counts(queries.size(), UINT32_MAX);
        const Status status =
            index.search(*stream_, ranking, batch_of(terms, queries), hits.data(), counts.data());
        ASSERT_TRUE(status.ok()) << status.message;
        const TextHit *at = hits.data();
        for (std::size_t i = 0; i < queries.size(); at += queries[i].k, ++i) {
            ASSERT_EQ(counts[i], wanted[i].size()) << "query " << i << " of " << queries.size();
            for (std::size_t j = 0; j < wanted[i].size(); ++j) {
                ASSERT_EQ(at[j].score, wanted[i][j].score) << "query " << i << ", hit " << j;
                ASSERT_EQ(at[j].ordinal, wanted[i][j].ordinal) << "query " << i << ", hit " << j;
                ASSERT_TRUE(at[j].tid == wanted[i][j].tid) << "query " << i << ", hit " << j;
                ASSERT_EQ(at[j].reserved[0] | at[j].reserved[1] | at[j].reserved[2], 0);
            }
        }
    }

    void expect_members(const TextRun &run, const TextIndex &index, const std::vector<TextList> &lists) {
        const std::vector<std::uint32_t> wanted = run.intersect(lists);
        std::vector<Tid> tids(wanted.size() + 1);
        std::uint64_t found = 0;
        Status status = index.intersect(*stream_, lists.data(), static_cast<std::uint32_t>(lists.size()),
                                        tids.data(), tids.size(), &found);
        ASSERT_TRUE(status.ok()) << status.message;
        ASSERT_EQ(found, wanted.size());
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            ASSERT_TRUE(tids[i] == run.tids[wanted[i]]) << i;
        }
        if (!wanted.empty()) {
            status = index.intersect(*stream_, lists.data(), static_cast<std::uint32_t>(lists.size()),
                                     tids.data(), wanted.size() - 1, &found);
            ASSERT_EQ(status.code, StatusCode::insufficient_space);
            ASSERT_EQ(found, wanted.size());
        }
    }
};

struct Names {
    template <typename Under>
    static std::string GetName(int) {
        return Under::name;
    }
};

inline constexpr Codec codecs[] = {Codec::Bitpack, Codec::PForDelta, Codec::Rice};

// About one document in `rarity`.
inline Postings random_list(std::mt19937_64 &random, std::uint32_t documents, double rarity) {
    Postings list;
    std::geometric_distribution<std::uint32_t> gap(1 / rarity);
    for (std::uint64_t at = gap(random); at < documents; at += 1 + std::uint64_t(gap(random))) {
        const std::uint32_t frequency = random() % 50 == 0 ? 1 + random() % 1000 : 1 + random() % 3;
        list.push_back({static_cast<std::uint32_t>(at), frequency});
    }
    if (list.empty()) {
        list.push_back({static_cast<std::uint32_t>(random() % documents), 1});
    }
    return list;
}

// `count` postings: neighbours, apart from a gap as large as there is room for after the first half.
inline Postings split_list(std::uint32_t documents, std::uint32_t count) {
    Postings list;
    for (std::uint32_t i = 0; i < count; ++i) {
        list.push_back({i < count / 2 ? i : documents - count + i, 1 + i % 5});
    }
    return list;
}

inline TextTerm term_of(const TextRun &run, std::size_t list, double idf) {
    return {run.list(list), idf / postings::kScoreUnit, 0, 1};
}

inline TextQuery make_query(std::uint32_t first, std::uint32_t terms, TextMode mode, std::uint32_t k) {
    return {first, terms, mode, k, 0, 0, 0, {}, 0};
}

}  // namespace text_test
