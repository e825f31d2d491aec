// Answers about groups of several devices, merged on one of them: against a plain reference, and against the
// merge in the machine's memory.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "engine_aggregates.h"
#include "gpu_engine/aggregate_merge.h"

#if defined(PG_GPU_HAVE_CUDA) && !defined(PG_GPU_NO_DEVICE_TESTS)
namespace {

using namespace gpu_engine;
using namespace aggregate_test;

// Two engines, each with memory of its own, on the same device: groups are copied from one to the other as
// between devices.
class MergeOnDevice : public AggregateEngineTest {
  protected:
    void SetUp() override {
        open<CudaEngineUnderTest>();
        if (IsSkipped() || HasFatalFailure()) {
            return;
        }
        swap_engines();
        open<CudaEngineUnderTest>();
        swap_engines();
        ASSERT_TRUE(host::open_engine({}, &host_).ok());
        ASSERT_TRUE(host_->open_stream(&host_stream_).ok());
    }
    void TearDown() override {
        AggregateEngineTest::TearDown();
        swap_engines();
        AggregateEngineTest::TearDown();
    }
    void swap_engines() {
        std::swap(engine_, other_);
        std::swap(stream_, other_stream_);
    }

    // Every other run is the other engine's.
    void make_runs_of_both(const std::vector<std::size_t> &rows, bool with_nulls) {
        for (std::size_t run = 0; run < rows.size(); ++run) {
            if (run % 2 == 1) {
                swap_engines();
            }
            stores_.push_back(std::move(make_runs({rows[run]}, &runs_, with_nulls)[0]));
            if (run % 2 == 1) {
                swap_engines();
            }
        }
    }

    // Asks an engine's runs. `rows_of_all` is as AggregateRequest has it.
    std::unique_ptr<AggregateOutput> submit_half(const TestRequest &request, std::size_t half,
                                                 heap_facts::HeapFacts *facts,
                                                 std::uint64_t rows_of_all = 0) {
        if (half == 1) {
            swap_engines();
        }
        std::vector<AggregatePart> parts;
        for (std::size_t run = half; run < stores_.size(); run += 2) {
            parts.push_back({stores_[run].get(), request.tests.data(),
                             static_cast<std::uint32_t>(request.tests.size()), 0,
                             request.inputs[run].views.data()});
        }
        const std::unique_ptr<HeapBlocks> blocks = facts == nullptr ? nullptr : keep(facts->known());
        const AggregateRequest requested = {&request.program,
                                            parts.data(),
                                            static_cast<std::uint32_t>(parts.size()),
                                            0,
                                            blocks.get(),
                                            UINT32_MAX,
                                            {},
                                            rows_of_all};
        std::unique_ptr<AggregateOutput> output;
        EXPECT_TRUE(engine_->column().aggregate(*stream_, requested, &output).ok());
        if (half == 1) {
            swap_engines();
        }
        return output;
    }

    struct Found {
        AggregateOutcome outcome;
        Groups groups;
        std::vector<std::vector<std::uint64_t>> unresolved;
        std::uint64_t counted;
    };
    static Found read(Stream &stream, const AggregateOutput &output, const AggregateProgram &program) {
        Found found = {output.outcome(), {}, {}, output.counted()};
        const std::uint32_t words = program.key_words + program.value_words;
        std::vector<std::uint64_t> records(output.groups() * words);
        EXPECT_TRUE(output.read_groups(stream, 0, output.groups(), records.data()).ok());
        for (std::size_t i = 0; i < output.groups(); ++i) {
            const std::uint64_t *record = records.data() + i * words;
            EXPECT_TRUE(found.groups
                            .try_emplace({record, record + program.key_words}, record + program.key_words,
                                         record + words)
                            .second)
                << "a group comes twice";
        }
        records.resize(output.unresolved() * (words + 1));
        EXPECT_TRUE(output.read_unresolved(stream, 0, output.unresolved(), records.data()).ok());
        for (std::size_t i = 0; i < output.unresolved(); ++i) {
            const std::uint64_t *record = records.data() + i * (words + 1);
            found.unresolved.emplace_back(record, record + words + 1);
        }
        std::sort(found.unresolved.begin(), found.unresolved.end());
        return found;
    }

    // Merges the halves on the first engine. False where that isn't for it.
    bool merge(const TestRequest &request, const AggregateOutput *one, const AggregateOutput *two,
               std::uint64_t max_groups, const AggregateTop &top, Found *found) {
        const AggregateOutput *parts[] = {one, two};
        std::unique_ptr<AggregateOutput> output;
        const Status status =
            device::merge_outputs(*engine_, *stream_, {&request.program, max_groups, top, parts, 2}, &output);
        EXPECT_TRUE(status.ok() || status.code == StatusCode::unavailable) << status.message;
        if (status.ok()) {
            *found = read(*stream_, *output, request.program);
        }
        return status.ok();
    }
    Found merge_in_memory(const TestRequest &request, const AggregateOutput &one, const AggregateOutput &two,
                          std::uint64_t max_groups, const AggregateTop &top) {
        const std::uint32_t words = request.program.key_words + request.program.value_words;
        std::vector<std::vector<std::uint64_t>> held;
        std::vector<AggregateRecords> records;
        const auto take = [&](const AggregateOutput &output, Stream &stream) {
            std::vector<std::uint64_t> &groups = held.emplace_back(output.groups() * words);
            EXPECT_TRUE(output.read_groups(stream, 0, output.groups(), groups.data()).ok());
            std::vector<std::uint64_t> &unresolved = held.emplace_back(output.unresolved() * (words + 1));
            EXPECT_TRUE(output.read_unresolved(stream, 0, output.unresolved(), unresolved.data()).ok());
            records.push_back({output.outcome(), output.groups(), groups.data(), output.unresolved(),
                               unresolved.data(), output.counted()});
        };
        held.reserve(4);
        take(one, *stream_);
        take(two, *other_stream_);
        std::unique_ptr<AggregateOutput> output;
        EXPECT_TRUE(host::merge_outputs(*host_, *host_stream_,
                                        {&request.program, max_groups, top, records.data(), records.size()},
                                        &output)
                        .ok());
        return read(*host_stream_, *output, request.program);
    }

    // Returns the groups of its half that an engine doesn't leave out.
    std::unique_ptr<AggregateOutput> leave_out(const AggregateOutput &output, std::size_t half,
                                               const AggregateProgram &program, const SharedKeys &shared,
                                               const AggregateTop &top, const KeyMarks &own) {
        SharedKeys its = shared;
        std::copy_n(own.of_key[shared.key], key_mark_words, its.own);
        std::unique_ptr<AggregateOutput> rest;
        EXPECT_TRUE(output.leave_out(half == 0 ? *stream_ : *other_stream_, program, its, top, &rest).ok());
        return rest;
    }

    // Marks by a plain loop over the groups.
    static KeyMarks mark_plainly(const AggregateProgram &program, const Groups &groups) {
        KeyMarks marks = {};
        for (const auto &[key, values] : groups) {
            for (std::uint32_t k = 0; k < program.key_count; ++k) {
                const std::uint32_t span = key_span(program.key[k], key.data());
                marks.of_key[k][span / 64] |= std::uint64_t(1) << span % 64;
            }
        }
        return marks;
    }

    // Each half leaves out what the other one hasn't got; both together must tell as much as before.
    void check_leaving(const TestRequest &request, const AggregateOutput &one, const AggregateOutput &two,
                       const AggregateTop &top, const Found &expected) {
        const AggregateProgram &program = request.program;
        KeyMarks marks[2];
        ASSERT_TRUE(one.mark_keys(*stream_, program, &marks[0]).ok());
        ASSERT_TRUE(two.mark_keys(*other_stream_, program, &marks[1]).ok());
        const KeyMarks plain[2] = {mark_plainly(program, read(*stream_, one, program).groups),
                                   mark_plainly(program, read(*other_stream_, two, program).groups)};
        for (std::uint32_t key = 0; key < program.key_count; ++key) {
            SharedKeys shared = {key, {}, {}};
            for (std::uint32_t word = 0; word < key_mark_words; ++word) {
                ASSERT_EQ(marks[0].of_key[key][word], plain[0].of_key[key][word]);
                ASSERT_EQ(marks[1].of_key[key][word], plain[1].of_key[key][word]);
                shared.marks[word] = marks[0].of_key[key][word] & marks[1].of_key[key][word];
            }
            const auto rest_of_one = leave_out(one, 0, program, shared, top, marks[0]);
            const auto rest_of_two = leave_out(two, 1, program, shared, top, marks[1]);
            left_out_ += rest_of_one->groups() < one.groups();
            const Found in_memory = merge_in_memory(request, *rest_of_one, *rest_of_two, UINT32_MAX, top);
            EXPECT_EQ(in_memory.groups, expected.groups);
            EXPECT_EQ(in_memory.counted, expected.counted);
            Found on_device;
            ASSERT_TRUE(merge(request, rest_of_one.get(), rest_of_two.get(), UINT32_MAX, top, &on_device));
            EXPECT_EQ(on_device.groups, expected.groups);
            EXPECT_EQ(on_device.counted, expected.counted);
        }
    }

    // Tables that are joined place by place, and read one by one.
    void check_tables(const TestRequest &request, heap_facts::HeapFacts *facts, const Expected &expected,
                      const std::vector<AggregateTop> &tops) {
        std::uint64_t rows = 0;
        for (const TestRun &run : runs_) {
            rows += run.run.places.size();
        }
        const auto one = submit_half(request, 0, facts, rows);
        const auto two = submit_half(request, 1, facts, rows);
        ASSERT_EQ(one->stays_in_table(), two->stays_in_table());
        if (!one->stays_in_table()) {
            return;
        }
        ++in_tables_;
        Found found = {};
        ASSERT_TRUE(merge(request, one.get(), two.get(), UINT32_MAX, {}, &found));
        EXPECT_EQ(found.groups, expected.groups);
        EXPECT_EQ(found.unresolved, expected.unresolved);
        const std::uint64_t all = found.groups.size() + found.unresolved.size();
        if (all > 0) {
            ASSERT_TRUE(merge(request, one.get(), two.get(), all - 1, {}, &found));
            EXPECT_EQ(found.outcome, AggregateOutcome::too_many_groups);
        }
        for (const AggregateTop &top : tops) {
            ASSERT_TRUE(merge(request, one.get(), two.get(), UINT32_MAX, top, &found));
            const Found other = merge_in_memory(request, *one, *two, UINT32_MAX, top);
            EXPECT_EQ(found.groups, other.groups);
            EXPECT_EQ(found.unresolved, other.unresolved);
            EXPECT_EQ(found.counted, other.counted);
            if (facts == nullptr) {
                check_leaving(request, *one, *two, top, found);
            }
        }
        // A listed answer and a table aren't for a device; two listed ones are.
        ASSERT_TRUE(two->list_groups(*other_stream_).ok());
        EXPECT_FALSE(two->stays_in_table());
        EXPECT_FALSE(merge(request, one.get(), two.get(), UINT32_MAX, {}, &found));
        ASSERT_TRUE(one->list_groups(*stream_).ok());
        ASSERT_TRUE(merge(request, one.get(), two.get(), UINT32_MAX, {}, &found));
        EXPECT_EQ(found.groups, expected.groups);
        EXPECT_EQ(found.unresolved, expected.unresolved);
    }

    void check(const TestRequest &request, heap_facts::HeapFacts *facts) {
        const Expected expected = compute(request, runs_, facts);
        const auto one = submit_half(request, 0, facts);
        const auto two = submit_half(request, 1, facts);
        const auto is_answered = [](const AggregateOutput &output) {
            return output.outcome() == AggregateOutcome::answered;
        };
        Found found = {};
        const bool merged = merge(request, one.get(), two.get(), UINT32_MAX, {}, &found);
        ASSERT_EQ(merged, request.program.key_count > 0 && is_answered(*one) && is_answered(*two));
        if (!merged) {
            return;
        }
        merged_++;
        several_words_ += request.program.key_words > 1;
        ASSERT_EQ(found.outcome, AggregateOutcome::answered);
        ASSERT_EQ(found.groups, expected.groups);
        ASSERT_EQ(found.unresolved, expected.unresolved);
        const std::uint64_t all = found.groups.size() + found.unresolved.size();
        std::vector<AggregateTop> tops = {{0, 0, 0, 0, top_only_counts}};
        for (std::uint32_t a = 0; a < request.program.accumulator_count; ++a) {
            const Accumulator &accumulator = request.program.accumulator[a];
            const bool is_wide = accumulator_words(accumulator.kind) == 2;
            tops.push_back({1 + random_() % 5, request.program.key_words + accumulator.word, is_wide,
                            random_() % 2 == 0, 0});
        }
        for (const AggregateTop &top : tops) {
            ASSERT_TRUE(merge(request, one.get(), two.get(), UINT32_MAX, top, &found));
            const Found other = merge_in_memory(request, *one, *two, UINT32_MAX, top);
            EXPECT_EQ(found.outcome, other.outcome);
            EXPECT_EQ(found.groups, other.groups);
            EXPECT_EQ(found.unresolved, other.unresolved);
            EXPECT_EQ(found.counted, other.counted);
            if (facts == nullptr) {
                check_leaving(request, *one, *two, top, found);
            }
        }
        check_tables(request, facts, expected, tops);
        ASSERT_TRUE(merge(request, one.get(), two.get(), all, {}, &found));
        EXPECT_EQ(found.outcome, AggregateOutcome::answered);
        if (all > 0) {
            ASSERT_TRUE(merge(request, one.get(), two.get(), all - 1, {}, &found));
            EXPECT_EQ(found.outcome, AggregateOutcome::too_many_groups);
            EXPECT_EQ(found.groups.size(), 0U);
        }
    }

    std::unique_ptr<Engine> other_;
    std::unique_ptr<Stream> other_stream_;
    std::unique_ptr<Engine> host_;
    std::unique_ptr<Stream> host_stream_;
    std::vector<TestRun> runs_;
    std::vector<std::unique_ptr<ColumnStore>> stores_;
    int merged_ = 0;
    int several_words_ = 0;
    int left_out_ = 0;
    int in_tables_ = 0;
};

TEST_F(MergeOnDevice, EqualsAPlainReference) {
    const std::vector<std::vector<std::size_t>> sizes = {
        {1, 1}, {65, 1}, {1000, 3000, 700}, {20011, 9000, 500, 4000}};
    for (const std::vector<std::size_t> &rows : sizes) {
        runs_.clear();
        stores_.clear();
        make_runs_of_both(rows, rows.size() % 2 == 0);
        for (int round = 0; round < 40; ++round) {
            SCOPED_TRACE(std::to_string(rows[0]) + " rows, round " + std::to_string(round));
            const TestRequest request = make_request(runs_, random_);
            std::uint64_t blocks = 0;
            for (const TestRun &run : runs_) {
                blocks = std::max<std::uint64_t>(blocks, 1 + (run.run.places.back() >> 16));
            }
            heap_facts::HeapFacts facts = heap_facts::HeapFacts::random(blocks, random_);
            check(request, round % 3 == 0 ? &facts : nullptr);
            ASSERT_FALSE(HasFatalFailure());
        }
    }
    EXPECT_GT(merged_, 60);
    EXPECT_GT(several_words_, 3);
    EXPECT_GT(left_out_, 3);
    EXPECT_GT(in_tables_, 3);
    stores_.clear();
}

TEST_F(MergeOnDevice, OutOfMemoryAndCancelledItLeavesNothing) {
    make_runs_of_both({3000, 3000}, false);
    TestRequest request;
    do {
        request = make_request(runs_, random_);
    } while (request.program.key_count == 0 || compute(request, runs_, nullptr).groups.size() < 100 ||
             compute(request, runs_, nullptr).failed);
    const auto one = submit_half(request, 0, nullptr);
    const auto two = submit_half(request, 1, nullptr);
    const AggregateOutput *parts[] = {one.get(), two.get()};
    const AggregateOutputs merge = {&request.program, UINT32_MAX, {}, parts, 2};
    std::unique_ptr<AggregateOutput> output;
    stream_->cancel();
    EXPECT_EQ(device::merge_outputs(*engine_, *stream_, merge, &output).code, StatusCode::cancelled);
    stream_->resume();
    const std::uint64_t used = engine_->memory().used();
    engine_->memory().set_limit(used + 1000);
    EXPECT_EQ(device::merge_outputs(*engine_, *stream_, merge, &output).code, StatusCode::out_of_memory);
    EXPECT_EQ(engine_->memory().used(), used);
    engine_->memory().set_limit(UINT64_MAX);
    EXPECT_TRUE(device::merge_outputs(*engine_, *stream_, merge, &output).ok());
    output.reset();
    stores_.clear();
}

}  // namespace
#endif
