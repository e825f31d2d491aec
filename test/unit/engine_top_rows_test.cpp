// The first rows in an order on each engine, against a plain reference.
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "engine_aggregates.h"
#include "gpu_engine/top_rows.h"
#include "rounds.h"

namespace {

using namespace gpu_engine;
using namespace aggregate_test;

// The sort keys of rows, as SQL has them.
struct SortKey {
    std::uint16_t step;
    bool descending;
    bool nulls_first;
};

struct SortedRow {
    std::vector<Reference::Result> keys;
    std::uint64_t place;
};

int compare(const std::vector<SortKey> &sort, const SortedRow &one, const SortedRow &other) {
    for (std::size_t i = 0; i < sort.size(); ++i) {
        const Reference::Result &a = one.keys[i];
        const Reference::Result &b = other.keys[i];
        if (a.is_null || b.is_null) {
            if (a.is_null != b.is_null) {
                return a.is_null == sort[i].nulls_first ? -1 : 1;
            }
        } else if (a.number != b.number) {
            return (a.number < b.number) != sort[i].descending ? -1 : 1;
        }
    }
    return 0;
}

// Rows of several runs may have the same place, as those of one table never have.
class RowsByPlace {
  public:
    explicit RowsByPlace(const std::vector<SortedRow> &rows) {
        for (const SortedRow &row : rows) {
            rows_.emplace(row.place, &row);
        }
    }
    bool has(std::uint64_t place) const { return rows_.contains(place); }
    // Null where there are several.
    const SortedRow *only(std::uint64_t place) const {
        return rows_.count(place) == 1 ? rows_.find(place)->second : nullptr;
    }

  private:
    std::multimap<std::uint64_t, const SortedRow *> rows_;
};

template <typename UnderTest>
class EngineTopRows : public AggregateEngineTest {
  protected:
    void SetUp() override { this->template open<UnderTest>(); }

    // A program with random steps, sorted by some of them.
    TestRequest make_sort(const std::vector<TestRun> &runs, std::vector<SortKey> *sort) {
        TestRequest request = make_request(runs, random_);
        AggregateProgram &program = request.program;
        program.accumulator_count = 0;
        program.value_words = 0;
        program.key_count = 0;
        const auto is_wide = [&](std::uint16_t step) {
            return program.step[step].operation == AggregateOperation::input &&
                   request.inputs[0].views[program.step[step].left].kind == AggregateInputKind::map128;
        };
        sort->clear();
        for (std::uint64_t keys = 1 + random_() % 4; keys > 0; --keys) {
            const auto step = static_cast<std::uint16_t>(random_() % program.step_count);
            if (!is_wide(step)) {
                sort->push_back({step, random_() % 2 == 0, random_() % 2 == 0});
            }
        }
        Builder builder(&request);
        if (sort->empty()) {
            sort->push_back({builder.add_constant(3), false, false});
        }
        builder.accumulate(AccumulatorKind::least, builder.add_step(AggregateOperation::place));
        return request;
    }

    // Lays keys out as a session does, with some bits to spare at random. False: NULL has no code.
    bool lay_out(const std::vector<SortKey> &sort, const std::vector<SortedRow> &rows,
                 AggregateProgram *program) {
        std::uint32_t free_bits = 64;
        program->key_count = 0;
        program->key_words = 1;
        for (std::size_t i = 0; i < sort.size(); ++i) {
            Wide least = Wide(1) << 100;
            Wide greatest = -least;
            bool any_null = false;
            for (const SortedRow &row : rows) {
                any_null |= row.keys[i].is_null;
                if (!row.keys[i].is_null) {
                    least = std::min(least, row.keys[i].number);
                    greatest = std::max(greatest, row.keys[i].number);
                }
            }
            const bool any = least <= greatest;
            AggregateKey key = {};
            key.step = sort[i].step;
            key.least = any ? static_cast<std::int64_t>(least) : 0;
            key.may_be_null = any_null || random_() % 4 == 0;
            const Wide codes = (any ? greatest - least : 0) + (key.may_be_null ? 1 : 0);
            if (codes >> 64 != 0) {
                return false;
            }
            const std::uint32_t needed = column_test::bits_for(static_cast<std::uint64_t>(codes));
            key.bits = static_cast<std::uint8_t>(std::min<std::uint64_t>(64, needed + random_() % 3));
            key.order = static_cast<std::uint16_t>(
                (sort[i].descending ? key_descends : 0) |
                (sort[i].nulls_first == sort[i].descending ? key_null_is_greatest : 0));
            if (key.bits > free_bits) {
                ++program->key_words;
                free_bits = 64;
            }
            free_bits -= key.bits;
            key.word = static_cast<std::uint8_t>(program->key_words - 1);
            key.shift = static_cast<std::uint8_t>(key.bits == 0 ? 0 : free_bits);
            program->key[program->key_count++] = key;
        }
        return true;
    }

    struct Found {
        std::vector<std::uint64_t> key;
        std::uint64_t place;
    };

    std::vector<Found> read(const AggregateOutput &output, const AggregateProgram &program) {
        const std::uint32_t words = program.key_words + 1;
        std::vector<std::uint64_t> records(output.groups() * words);
        EXPECT_TRUE(output.read_groups(*stream_, 0, output.groups(), records.data()).ok());
        std::vector<Found> found;
        for (std::size_t i = 0; i < output.groups(); ++i) {
            const std::uint64_t *record = records.data() + i * words;
            found.push_back({{record, record + program.key_words}, record[program.key_words]});
        }
        return found;
    }

    // All that come before the last wanted row are there; with it there are as many as are wanted, and with
    // ties all that are like it. Others may be there, too. All rows compare as their words do.
    void check_sure(const std::vector<SortKey> &sort, std::vector<Found> found,
                    std::vector<SortedRow> expected, const AggregateTop &top) {
        std::stable_sort(expected.begin(), expected.end(),
                         [&](const SortedRow &a, const SortedRow &b) { return compare(sort, a, b) < 0; });
        const RowsByPlace by_place(expected);
        std::sort(found.begin(), found.end(), [](const Found &a, const Found &b) {
            return std::tie(a.key, a.place) < std::tie(b.key, b.place);
        });
        const std::size_t wanted = std::min<std::size_t>(top.count, expected.size());
        ASSERT_GE(found.size(), wanted);
        for (std::size_t i = 0; i < found.size(); ++i) {
            ASSERT_TRUE(by_place.has(found[i].place)) << "a row that doesn't count";
            const SortedRow *row = by_place.only(found[i].place);
            const SortedRow *before = i == 0 ? nullptr : by_place.only(found[i - 1].place);
            if (row != nullptr && before != nullptr) {
                ASSERT_NE(row, before) << "a row comes twice";
                ASSERT_EQ(compare(sort, *before, *row), found[i - 1].key == found[i].key ? 0 : -1);
            }
        }
        for (std::size_t i = 0; i < wanted; ++i) {
            const SortedRow *row = by_place.only(found[i].place);
            if (row != nullptr) {
                ASSERT_EQ(compare(sort, *row, expected[i]), 0) << "row " << i;
            }
        }
        if ((top.of_rows & top_with_ties) != 0 && wanted > 0) {
            std::size_t ties = wanted;
            while (ties < expected.size() && compare(sort, expected[ties], expected[wanted - 1]) == 0) {
                ++ties;
            }
            ASSERT_GE(found.size(), ties);
            EXPECT_EQ(found[ties - 1].key, found[wanted - 1].key);
        }
    }

    // All unresolved rows that come before the last wanted sure one are there.
    void check_unresolved(const std::vector<SortKey> &sort, const AggregateOutput &output,
                          const AggregateProgram &program, std::vector<SortedRow> sure,
                          const std::vector<SortedRow> &unresolved, std::uint64_t count) {
        const RowsByPlace by_place(unresolved);
        std::set<std::uint64_t> found;
        for (const std::vector<std::uint64_t> &record : read_unresolved(output, program)) {
            ASSERT_EQ(record[program.key_words], record[program.key_words + 1]);
            ASSERT_TRUE(by_place.has(record[program.key_words]));
            found.insert(record[program.key_words]);
        }
        std::stable_sort(sure.begin(), sure.end(),
                         [&](const SortedRow &a, const SortedRow &b) { return compare(sort, a, b) < 0; });
        for (const SortedRow &row : unresolved) {
            if (sure.size() < count || compare(sort, row, sure[count - 1]) < 0) {
                ASSERT_TRUE(found.contains(row.place));
            }
        }
    }

    void check(const std::vector<std::unique_ptr<ColumnStore>> &stores, const std::vector<TestRun> &runs,
               heap_facts::HeapFacts *facts) {
        std::vector<SortKey> sort;
        TestRequest request = make_sort(runs, &sort);
        std::vector<SortedRow> sure;
        std::vector<SortedRow> unresolved;
        const bool failed =
            for_rows(request, runs, facts, [&](Reference &reference, std::uint64_t place, bool is_visible) {
                SortedRow row = {{}, place};
                for (const SortKey &key : sort) {
                    row.keys.push_back(reference.result(key.step));
                }
                (is_visible ? sure : unresolved).push_back(row);
            });
        std::vector<SortedRow> all = sure;
        all.insert(all.end(), unresolved.begin(), unresolved.end());
        if (!failed && !lay_out(sort, all, &request.program)) {
            return;
        }
        if (failed) {
            lay_out(sort, {}, &request.program);
        }
        const bool of_inputs = std::all_of(sort.begin(), sort.end(), [&](const SortKey &key) {
            return request.program.step[key.step].operation == AggregateOperation::input;
        });
        const std::unique_ptr<HeapBlocks> blocks = facts == nullptr ? nullptr : keep(facts->known());
        for (const std::uint64_t count :
             {std::uint64_t(1), std::uint64_t(10), 1 + sure.size() / 2, 1 + sure.size()}) {
            for (const std::uint16_t ties : {std::uint16_t(0), top_with_ties}) {
                SCOPED_TRACE("the first " + std::to_string(count) + (ties != 0 ? " with ties" : ""));
                AggregateTop top = {};
                top.count = count;
                top.of_rows =
                    static_cast<std::uint16_t>(top_of_rows | ties | (of_inputs ? top_by_first_key : 0));
                std::unique_ptr<AggregateOutput> output;
                const Status status = call(stores, request, blocks.get(), UINT32_MAX, &output, top);
                ASSERT_TRUE(status.ok()) << status.message;
                ++outcomes_[failed ? 1 : 0];
                ASSERT_EQ(output->outcome(), failed ? AggregateOutcome::failed : AggregateOutcome::answered);
                if (failed) {
                    EXPECT_EQ(output->groups(), 0U);
                    continue;
                }
                check_sure(sort, read(*output, request.program), sure, top);
                ASSERT_FALSE(HasFatalFailure());
                check_unresolved(sort, *output, request.program, sure, unresolved, count);
                ASSERT_FALSE(HasFatalFailure());
                const std::uint64_t most = output->groups() + output->unresolved();
                if (most > 0) {
                    ASSERT_TRUE(call(stores, request, blocks.get(), most - 1, &output, top).ok());
                    EXPECT_EQ(output->outcome(), AggregateOutcome::too_many_groups);
                }
            }
        }
    }

    int outcomes_[2] = {};
};

TYPED_TEST_SUITE(EngineTopRows, Engines, EngineName);

TYPED_TEST(EngineTopRows, AnswersEqualAPlainReference) {
    const std::vector<std::vector<std::size_t>> sizes = {{1},    {2},         {64},         {65, 1},
                                                         {1000}, {3000, 700}, {20011, 900}, {60000}};
    for (const std::vector<std::size_t> &rows : sizes) {
        std::vector<TestRun> runs;
        const auto stores = this->make_runs(rows, &runs, rows.size() % 2 == 1);
        for (int round = 0; round < (rows[0] > 10000 ? 8 : 30) / unit_test::few_or_many(2, 1); ++round) {
            SCOPED_TRACE(std::to_string(rows[0]) + " rows, round " + std::to_string(round));
            heap_facts::HeapFacts facts =
                heap_facts::HeapFacts::random(1 + (runs[0].run.places.back() >> 16), this->random_);
            this->check(stores, runs, round % 3 == 0 ? &facts : nullptr);
            ASSERT_FALSE(this->HasFatalFailure());
        }
    }
    // Both kinds of outcome have been seen.
    EXPECT_GT(this->outcomes_[0], unit_test::few_or_many(250, 500));
    EXPECT_GT(this->outcomes_[1], unit_test::few_or_many(2, 5));
}

// A request of one key, which each test changes.
TestRequest match_operator_by(const std::vector<TestRun> &runs, std::uint64_t modulus, std::uint8_t bits) {
    TestRequest request;
    Builder builder(&request);
    for (const TestRun &run : runs) {
        TestInputs inputs;
        inputs.add_map(run, 7, AggregateInputKind::map32,
                       [=](std::uint64_t code) { return static_cast<std::int64_t>(code % modulus); });
        request.inputs.push_back(std::move(inputs));
    }
    const std::uint16_t step = builder.add_input();
    builder.accumulate(AccumulatorKind::least, builder.add_step(AggregateOperation::place));
    request.program.key[0] = {step, bits, static_cast<std::uint8_t>(64 - bits), 0, false, 0, 0, 0};
    request.program.key_count = 1;
    request.program.key_words = 1;
    return request;
}

// If many rows are equal to the last wanted one, only as many come as are wanted, unless ties are.
TYPED_TEST(EngineTopRows, FewOfManyThatAreAlike) {
    std::vector<TestRun> runs;
    const auto stores = this->make_runs({70000, 9000}, &runs, false);
    const TestRequest request = match_operator_by(runs, 3, 2);
    std::uint64_t like_first = 0;
    for_rows(request, runs, nullptr, [&](Reference &reference, std::uint64_t, bool) {
        like_first += reference.result(0).number == 0 ? 1 : 0;
    });
    ASSERT_GT(like_first, 10000U);
    for (const std::uint64_t count : {std::uint64_t(1), std::uint64_t(100), like_first + 5}) {
        AggregateTop top = {};
        top.count = count;
        top.of_rows = top_of_rows | top_by_first_key;
        std::unique_ptr<AggregateOutput> output;
        ASSERT_TRUE(this->call(stores, request, nullptr, count, &output, top).ok());
        ASSERT_EQ(output->outcome(), AggregateOutcome::answered);
        EXPECT_EQ(output->groups(), count);
    }
    AggregateTop top = {};
    top.count = 1;
    top.of_rows = top_of_rows | top_with_ties;
    std::unique_ptr<AggregateOutput> output;
    ASSERT_TRUE(this->call(stores, request, nullptr, UINT32_MAX, &output, top).ok());
    EXPECT_EQ(output->groups(), like_first);
}

// There are so many rows that an engine may look at a sample of them first: by one key, and by a second one
// that has a word of its own.
TYPED_TEST(EngineTopRows, FewOfManyThatDiffer) {
    std::vector<TestRun> runs;
    const auto stores = this->make_runs({60000, 6000}, &runs, false);
    for (const bool by_place : {false, true}) {
        TestRequest request = match_operator_by(runs, by_place ? 50 : 1 << 20, 20);
        AggregateProgram &program = request.program;
        std::vector<SortKey> sort = {{program.key[0].step, false, false}};
        if (by_place) {
            program.key[1] = {program.accumulator[0].step, 64, 0, 1, false, key_descends, 0, 0};
            program.key_count = 2;
            program.key_words = 2;
            sort.push_back({program.accumulator[0].step, true, false});
        }
        std::vector<SortedRow> rows;
        for_rows(request, runs, nullptr, [&](Reference &reference, std::uint64_t place, bool) {
            rows.push_back({{}, place});
            for (const SortKey &key : sort) {
                rows.back().keys.push_back(reference.result(key.step));
            }
        });
        const std::pair<std::uint64_t, std::uint16_t> firsts[] = {
            {1, 0}, {100, 0}, {100, top_with_ties}, {512, 0}, {513, 0}};
        for (const auto &[count, ties] : firsts) {
            SCOPED_TRACE((by_place ? "by two keys, the first " : "the first ") + std::to_string(count));
            AggregateTop top = {};
            top.count = count;
            top.of_rows = static_cast<std::uint16_t>(top_of_rows | ties);
            std::unique_ptr<AggregateOutput> output;
            ASSERT_TRUE(this->call(stores, request, nullptr, UINT32_MAX, &output, top).ok());
            ASSERT_EQ(output->outcome(), AggregateOutcome::answered);
            this->check_sure(sort, this->read(*output, program), rows, top);
            ASSERT_FALSE(this->HasFatalFailure());
        }
    }
}

TYPED_TEST(EngineTopRows, ImpossibleRequests) {
    std::vector<TestRun> runs;
    const auto stores = this->make_runs({300}, &runs, true);
    const TestRequest fine = match_operator_by(runs, 5, 3);
    AggregateTop first = {};
    first.count = 2;
    first.of_rows = top_of_rows;
    std::unique_ptr<AggregateOutput> output;
    ASSERT_TRUE(this->call(stores, fine, nullptr, 300, &output, first).ok());
    const auto refused = [&](auto change) {
        TestRequest request = fine;
        AggregateTop top = first;
        change(&request.program, &top);
        return this->call(stores, request, nullptr, 300, &output, top).code == StatusCode::invalid_argument;
    };
    EXPECT_TRUE(refused([](AggregateProgram *, AggregateTop *top) { top->count = 0; }));
    EXPECT_TRUE(refused([](AggregateProgram *, AggregateTop *top) { top->of_rows = 8 | top_of_rows; }));
    EXPECT_TRUE(refused([](AggregateProgram *, AggregateTop *top) { top->of_rows = top_with_ties; }));
    EXPECT_TRUE(refused([](AggregateProgram *program, AggregateTop *) {
        program->key_count = 0;
        program->key_words = 0;
    }));
    EXPECT_TRUE(refused([](AggregateProgram *program, AggregateTop *) { program->accumulator_count = 0; }));
    EXPECT_TRUE(refused([](AggregateProgram *program, AggregateTop *) { program->accumulator[0].step = 0; }));
    EXPECT_TRUE(refused([](AggregateProgram *program, AggregateTop *) {
        program->accumulator[0].kind = AccumulatorKind::greatest;
    }));
    EXPECT_TRUE(refused([](AggregateProgram *program, AggregateTop *) { program->value_words = 2; }));
}

}  // namespace
