// Mirrors of columns: each engine against a plain reference, and pages that lie.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "column_run.h"
#include "engine_under_test.h"
#include "heap_facts.h"

namespace {

using namespace gpu_engine;
using column_test::ColumnRun;
using column_test::Random;
using column_test::RowTest;

template <typename UnderTest>
class EngineColumns : public EngineTest {
  protected:
    void SetUp() override { open<UnderTest>(); }

    Status load(const column_test::Pages &pages, std::unique_ptr<ColumnStore> *store, std::size_t most = 7) {
        std::unique_ptr<ColumnLoader> loader;
        Status status = engine_->column().open_loader(*stream_, pages.layout, &loader);
        for (std::size_t page = 0; status.ok() && page < pages.count();) {
            const std::size_t count = std::min(1 + random_() % most, pages.count() - page);
            // The pages have allocations of their own, so that sanitizers notice reads beyond them.
            const std::vector<char> images(
                pages.images.begin() + static_cast<std::ptrdiff_t>(page * column_test::page_bytes),
                pages.images.begin() + static_cast<std::ptrdiff_t>((page + count) * column_test::page_bytes));
            status = loader->append_pages(*stream_, images.data(), static_cast<std::uint32_t>(count));
            page += count;
        }
        return status.ok() ? loader->finish(*stream_, store) : status;
    }

    std::vector<RowTest> make_tests(const ColumnRun &run, const column_test::Pages &pages) {
        std::vector<RowTest> tests;
        for (std::uint32_t c = 0; c < run.columns.size(); ++c) {
            const StoredColumn &stored = pages.layout.column[c];
            if (random_() % 3 != 0) {
                continue;
            }
            RowTest test{TestKind::is_value, c, {}, {}};
            const auto some_value = [&] { return run.columns[c].values[random_() % run.rows()].value_or(0); };
            switch (random_() % 6) {
                case 0:
                    test.kind = random_() % 4 == 0 ? TestKind::is_null : TestKind::is_value;
                    break;
                case 1:
                case 2:
                case 3: {
                    if (run.columns[c].strings) {
                        break;
                    }
                    test.kind = TestKind::ranges;
                    const std::size_t ends = random_() % 3 == 0 ? 2 * (random_() % 20) : 2;
                    std::set<std::uint64_t> bounds;
                    while (bounds.size() < ends) {
                        bounds.insert(random_() % 5 == 0 ? random_() : some_value() + random_() % 7 - 3);
                    }
                    if (random_() % 8 == 0) {
                        bounds.insert(0);
                        bounds.insert(UINT64_MAX);
                    }
                    for (auto i = bounds.begin(); i != bounds.end() && std::next(i) != bounds.end();
                         std::advance(i, 2)) {
                        test.ranges.push_back({*i, *std::next(i)});
                        if (std::next(i, 2) == bounds.end()) {
                            break;
                        }
                    }
                    break;
                }
                default: {
                    const std::uint64_t codes = code_slots(stored);
                    if (codes == 0) {
                        break;
                    }
                    test.kind = TestKind::codes;
                    const std::uint64_t words = (codes + 63) / 64;
                    const bool is_range = random_() % 2 == 0;
                    const std::uint64_t first = random_() % codes;
                    const std::uint64_t last = first + random_() % (codes - first);
                    test.codes.resize(random_() % 10 == 0 ? words / 2 : words);
                    for (std::uint64_t code = 0; code < test.codes.size() * 64; ++code) {
                        const bool in = is_range ? code >= first && code <= last : random_() % 3 != 0;
                        test.codes[code / 64] |= std::uint64_t(in) << (code % 64);
                    }
                }
            }
            tests.push_back(test);
        }
        return tests;
    }

    std::vector<bool> passing(const ColumnRun &run, const column_test::Pages &pages,
                              const std::vector<RowTest> &tests) {
        std::vector<bool> result(run.rows());
        for (std::size_t row = 0; row < run.rows(); ++row) {
            result[row] = !run.is_dead(row);
        }
        for (const RowTest &test : tests) {
            const column_test::Column &column = run.columns[test.column];
            const std::vector<std::uint64_t> codes = codes_of(column, pages.layout.column[test.column]);
            for (std::size_t row = 0; row < run.rows(); ++row) {
                result[row] = result[row] && passes(test, column.values[row], codes[row]);
            }
        }
        return result;
    }

    // Starts of slots among the column's values, evenly apart or not.
    std::vector<std::uint64_t> make_starts(const ColumnRun &run, std::uint32_t column, std::size_t count) {
        std::vector<std::uint64_t> starts;
        const bool even = random_() % 2 == 0;
        const std::uint64_t first = run.columns[column].values[0].value_or(1000);
        const std::uint64_t step = 1 + random_() % 4000;
        for (std::size_t i = 0; i < count; ++i) {
            starts.push_back(even ? first + i * step
                                  : run.columns[column].values[random_() % run.rows()].value_or(0) +
                                        random_() % 3);
        }
        std::sort(starts.begin(), starts.end());
        return starts;
    }

    void check(const ColumnStore &store, const ColumnRun &run, const column_test::Pages &pages) {
        const std::vector<RowTest> tests = make_tests(run, pages);
        std::vector<ColumnTest> views;
        for (const RowTest &test : tests) {
            views.push_back(test.view());
        }
        const auto test_count = static_cast<std::uint32_t>(views.size());
        const std::vector<bool> in = passing(run, pages, tests);

        std::vector<std::uint64_t> expected;
        for (std::size_t row = 0; row < run.rows(); ++row) {
            if (in[row]) {
                expected.push_back(run.places[row]);
            }
        }
        std::vector<Tid> tids(expected.size() + 1);
        std::uint64_t found = 0;
        Status status = store.match(*stream_, views.data(), test_count, tids.data(), expected.size(), &found);
        ASSERT_TRUE(status.ok()) << status.message;
        ASSERT_EQ(found, expected.size());
        std::vector<std::uint64_t> matched;
        for (std::uint64_t i = 0; i < found; ++i) {
            matched.push_back(column_test::place_of(tids[i]));
        }
        std::sort(matched.begin(), matched.end());
        ASSERT_EQ(matched, expected);
        if (found > 0) {
            status = store.match(*stream_, views.data(), test_count, tids.data(), found - 1, &found);
            EXPECT_EQ(status.code, StatusCode::insufficient_space);
            EXPECT_EQ(found, expected.size());
        }

        for (const TargetKind kind :
             {TargetKind::rows, TargetKind::bins, TargetKind::codes, TargetKind::bounds}) {
            const auto column = static_cast<std::uint32_t>(random_() % run.columns.size());
            for (const bool all_visible : {true, false}) {
                SCOPED_TRACE("target " + std::to_string(static_cast<int>(kind)) + " of column " +
                             std::to_string(column) + (all_visible ? "" : ", some blocks"));
                check_count(store, run, pages, views, in, kind, column, all_visible);
                ASSERT_FALSE(this->HasFatalFailure());
            }
        }
    }

    void check_count(const ColumnStore &store, const ColumnRun &run, const column_test::Pages &pages,
                     const std::vector<ColumnTest> &tests, const std::vector<bool> &in, TargetKind kind,
                     std::uint32_t column, bool all_visible) {
        ColumnTarget target = {};
        target.kind = kind;
        target.column = column;
        std::vector<std::uint64_t> starts;
        if (kind == TargetKind::bins) {
            constexpr std::size_t counts[] = {0, 1, 12, 257, 5000, 70000};
            starts = make_starts(run, column, counts[random_() % 6]);
            target.starts = starts.data();
            target.slots = static_cast<std::uint32_t>(starts.size() + 1);
            target.even = static_cast<std::uint32_t>(random_() % 3 == 0 ? 0 : starts.size());
            target.scale = static_cast<ValueScale>(random_() % 3);
        }
        const std::uint64_t places = store.places(target);
        const auto test_count = static_cast<std::uint32_t>(tests.size());
        std::uint64_t found = 0;
        if (places == 0) {
            std::uint64_t count = 0;
            EXPECT_EQ(
                store.count(*stream_, tests.data(), test_count, target, nullptr, &count, nullptr, 0, &found)
                    .code,
                StatusCode::invalid_argument);
            EXPECT_TRUE(run.columns[column].strings || kind == TargetKind::codes);
            return;
        }
        heap_facts::HeapFacts facts =
            heap_facts::HeapFacts::random(1 + (run.places.back() >> 16) / 2, random_);
        const auto blocks = keep(facts.known());
        ASSERT_NE(blocks, nullptr);

        const std::vector<std::uint64_t> codes = codes_of(run.columns[column], pages.layout.column[column]);
        std::vector<std::uint64_t> expected(places);
        std::map<std::uint64_t, std::uint64_t> unresolved;
        if (kind == TargetKind::bounds) {
            expected[1] = UINT64_MAX;
        }
        for (std::size_t row = 0; row < run.rows(); ++row) {
            if (!in[row]) {
                continue;
            }
            const auto &value = run.columns[column].values[row];
            if (kind == TargetKind::bounds && !value) {
                continue;
            }
            std::uint64_t number = 0;
            if (kind == TargetKind::bounds) {
                number = *value;
            } else if (kind == TargetKind::codes) {
                number = value ? codes[row] : places - 1;
            } else if (kind == TargetKind::bins) {
                number = value ? static_cast<std::uint64_t>(
                                     std::upper_bound(starts.begin(), starts.end(), *value) - starts.begin())
                               : places - 1;
            }
            const heap_facts::Visibility output =
                all_visible ? heap_facts::Visibility::visible : facts.of(run.places[row]);
            if (output == heap_facts::Visibility::hidden) {
                continue;
            }
            if (output == heap_facts::Visibility::unknown) {
                unresolved[run.places[row]] = number;
            } else if (kind == TargetKind::bounds) {
                ++expected[0];
                expected[1] = std::min(expected[1], number);
                expected[2] = std::max(expected[2], number);
            } else {
                ++expected[number];
            }
        }
        if (kind == TargetKind::bounds && expected[0] == 0) {
            expected[1] = 0;
        }
        std::vector<std::uint64_t> counts(places, 0x7777);
        std::vector<UnresolvedRow> rows(unresolved.size() + 1);
        const gpu_engine::HeapBlocks *blocks_or_null = all_visible ? nullptr : blocks.get();
        Status status = store.count(*stream_, tests.data(), test_count, target, blocks_or_null, counts.data(),
                                    rows.data(), unresolved.size(), &found);
        ASSERT_TRUE(status.ok()) << status.message;
        ASSERT_EQ(counts, expected);
        ASSERT_EQ(found, unresolved.size());
        std::map<std::uint64_t, std::uint64_t> reported;
        for (std::uint64_t i = 0; i < found; ++i) {
            reported[column_test::place_of(rows[i].tid)] = rows[i].number;
        }
        ASSERT_EQ(reported, unresolved);
        if (found > 0) {
            status = store.count(*stream_, tests.data(), test_count, target, blocks_or_null, counts.data(),
                                 rows.data(), found - 1, &found);
            EXPECT_EQ(status.code, StatusCode::insufficient_space);
            EXPECT_EQ(found, unresolved.size());
            EXPECT_EQ(counts, expected);
        }
    }
};

TYPED_TEST_SUITE(EngineColumns, Engines, EngineName);

TYPED_TEST(EngineColumns, AnswersEqualAPlainReference) {
    for (const std::size_t rows : {1, 2, 63, 64, 65, 1000, 4096, 30011, 120000}) {
        SCOPED_TRACE(std::to_string(rows) + " rows");
        ColumnRun run = column_test::make_run(rows, this->random_, rows % 2 == 0);
        const column_test::Pages pages = column_test::make_pages(run);
        std::unique_ptr<ColumnStore> store;
        const Status status = this->load(pages, &store, rows > 10000 ? 200 : 3);
        ASSERT_TRUE(status.ok()) << status.message;
        EXPECT_EQ(store->entries(), rows);
        EXPECT_LE(store->bytes(), this->engine_->column().store_bytes(pages.layout));
        EXPECT_GE(this->engine_->memory().used(), store->bytes());
        for (int round = 0; round < (rows > 10000 ? 6 : 25); ++round) {
            if (round == 2) {
                const std::vector<std::uint64_t> dead = column_test::kill_some(&run, this->random_);
                ASSERT_TRUE(store->set_dead(*this->stream_, dead.data(), 5).ok());
                EXPECT_EQ(store->dead_version(), 5U);
                EXPECT_EQ(store->dead_entries(),
                          static_cast<std::uint64_t>(std::count(run.dead.begin(), run.dead.end(), true)));
                EXPECT_EQ(store->set_dead(*this->stream_, dead.data(), 4).code, StatusCode::invalid_argument);
            }
            this->check(*store, run, pages);
            ASSERT_FALSE(this->HasFatalFailure()) << "round " << round;
        }
    }
    EXPECT_EQ(this->engine_->memory().used(), 0U);
}

// Floats' values, as gpu_column orders them.
std::uint64_t value_of(double number) {
    std::uint64_t bits;
    std::memcpy(&bits, &number, sizeof(bits));
    return std::isnan(number) ? UINT64_MAX : (bits >> 63) != 0 ? ~bits : bits | std::uint64_t(1) << 63;
}

TYPED_TEST(EngineColumns, BinsOfFloats) {
    constexpr std::size_t rows = 20000;
    constexpr double infinity = std::numeric_limits<double>::infinity();
    ColumnRun run;
    run.places = column_test::make_places(rows, this->random_);
    column_test::Column column{ColumnEncoding::plain, false, {}};
    std::vector<double> numbers;
    std::normal_distribution<double> normal(0.0, 100.0);
    for (std::size_t i = 0; i < rows; ++i) {
        constexpr double special[] = {0.0, -0.0, infinity, -infinity, NAN, 1e300, -5e-324};
        numbers.push_back(i % 50 == 0 ? special[i / 50 % 7] : normal(this->random_));
        column.values.emplace_back(value_of(numbers.back()));
    }
    run.columns.push_back(column);
    std::unique_ptr<ColumnStore> store;
    ASSERT_TRUE(this->load(column_test::make_pages(run), &store, 50).ok());
    std::vector<double> edges;
    std::vector<std::uint64_t> starts;
    for (int i = 0; i <= 100; ++i) {
        edges.push_back(-200.0 + 4.0 * i);
        starts.push_back(value_of(edges.back() == 0.0 ? -0.0 : edges.back()));
    }
    starts.push_back(UINT64_MAX);
    ColumnTarget target = {};
    target.kind = TargetKind::bins;
    target.slots = 103;
    target.scale = ValueScale::float8;
    target.starts = starts.data();
    target.even = 101;
    std::vector<std::uint64_t> expected(104);
    for (const double number : numbers) {
        ++expected[std::isnan(number)
                       ? 102
                       : static_cast<std::size_t>(std::upper_bound(edges.begin(), edges.end(), number) -
                                                  edges.begin())];
    }
    std::vector<std::uint64_t> counts(104);
    std::uint64_t found = 0;
    ASSERT_TRUE(
        store->count(*this->stream_, nullptr, 0, target, nullptr, counts.data(), nullptr, 0, &found).ok());
    EXPECT_EQ(counts, expected);
}

TYPED_TEST(EngineColumns, ImpossibleRequests) {
    const ColumnRun run = column_test::make_run(500, this->random_);
    const column_test::Pages pages = column_test::make_pages(run);
    std::unique_ptr<ColumnStore> store;
    ASSERT_TRUE(this->load(pages, &store).ok());
    std::vector<std::uint64_t> counts(2000);
    std::uint64_t found = 0;
    const auto code_of_count = [&](const RowTest &test, const ColumnTarget &target) {
        const ColumnTest view = test.view();
        return store->count(*this->stream_, &view, 1, target, nullptr, counts.data(), nullptr, 0, &found)
            .code;
    };
    ColumnTarget rows = {};
    rows.kind = TargetKind::rows;
    const RowTest fine{TestKind::is_value, 0, {}, {}};
    EXPECT_EQ(code_of_count(fine, rows), StatusCode::ok);
    EXPECT_EQ(code_of_count({TestKind::is_value, 9, {}, {}}, rows), StatusCode::invalid_argument);
    EXPECT_EQ(code_of_count({static_cast<TestKind>(99), 0, {}, {}}, rows), StatusCode::invalid_argument);
    EXPECT_EQ(code_of_count({TestKind::ranges, 2, {{1, 2}}, {}}, rows), StatusCode::invalid_argument);
    EXPECT_EQ(code_of_count({TestKind::codes, 4, {}, {1}}, rows), StatusCode::invalid_argument);
    EXPECT_EQ(code_of_count({TestKind::ranges, 0, {{5, 6}, {6, 7}}, {}}, rows), StatusCode::invalid_argument);
    EXPECT_EQ(code_of_count({TestKind::ranges, 0, {{6, 5}}, {}}, rows), StatusCode::invalid_argument);
    const std::uint64_t starts[] = {5, 4};
    ColumnTarget bins = {TargetKind::bins, 0, 3, ValueScale::integers, starts, 2, 0};
    EXPECT_EQ(code_of_count(fine, bins), StatusCode::invalid_argument);
    bins.slots = 0;
    EXPECT_EQ(code_of_count(fine, bins), StatusCode::invalid_argument);
    EXPECT_EQ(store->places(bins), 0U);
    bins.slots = ColumnTarget::max_slots + 1;
    EXPECT_EQ(store->places(bins), 0U);
    ColumnTarget nothing = {};
    EXPECT_EQ(code_of_count(fine, nothing), StatusCode::invalid_argument);
    this->stream_->cancel();
    EXPECT_EQ(code_of_count(fine, rows), StatusCode::cancelled);
    this->stream_->resume();
    EXPECT_EQ(code_of_count(fine, rows), StatusCode::ok);
}

// Whatever pages and layouts say, they are refused or give some answer.
TYPED_TEST(EngineColumns, PagesThatLie) {
    const ColumnRun run = column_test::make_run(3000, this->random_);
    const column_test::Pages honest = column_test::make_pages(run);
    int refused = 0;
    for (int round = 0; round < 300; ++round) {
        column_test::Pages pages = honest;
        auto *layout = reinterpret_cast<unsigned char *>(&pages.layout);
        for (std::uint64_t lies = 1 + this->random_() % 3; lies > 0; --lies) {
            const std::size_t tid_bytes = pages.layout.tid_pages * column_test::page_bytes;
            switch (this->random_() % 4) {
                case 0:
                    layout[this->random_() % (sizeof(StoreLayout) / 3)] =
                        static_cast<unsigned char>(this->random_());
                    break;
                case 1:
                    pages.images[this->random_() % std::min(tid_bytes, pages.images.size())] =
                        static_cast<char>(this->random_());
                    break;
                default:
                    pages.images[this->random_() % pages.images.size()] = static_cast<char>(this->random_());
            }
            // A layout that claims too much memory would only be refused for want of memory, which is not
            // tested here.
            pages.layout.rows = std::min<std::uint64_t>(pages.layout.rows, 1 << 20);
            // Callers give pages of as many bytes as the layout says.
            pages.layout.page_bytes = column_test::page_bytes;
        }
        std::unique_ptr<ColumnStore> store;
        const Status status = this->load(pages, &store);
        if (!status.ok()) {
            ++refused;
            continue;
        }
        std::vector<std::uint64_t> counts(1 << 17);
        std::vector<UnresolvedRow> rows(4096);
        std::vector<Tid> tids(4096);
        std::uint64_t found = 0;
        heap_facts::HeapFacts facts = heap_facts::HeapFacts::random(500, this->random_);
        const auto blocks = this->keep(facts.known());
        for (std::uint32_t c = 0; c < store->layout().columns; ++c) {
            for (const TargetKind kind : {TargetKind::bins, TargetKind::codes, TargetKind::bounds}) {
                const std::uint64_t starts[] = {10, 1100, 1200};
                const ColumnTarget target = {kind, c, 4, ValueScale::integers, starts, 3, 0};
                if (store->places(target) > 0 && store->places(target) <= counts.size()) {
                    static_cast<void>(store->count(*this->stream_, nullptr, 0, target, blocks.get(),
                                                   counts.data(), rows.data(), rows.size(), &found));
                }
            }
            const ValueRange range = {1, UINT64_MAX - 1};
            const ColumnTest test = {TestKind::ranges, c, &range, nullptr, 1};
            static_cast<void>(store->match(*this->stream_, &test, 1, tids.data(), tids.size(), &found));
        }
        ASSERT_TRUE(this->engine_->probe().ok());
    }
    EXPECT_GT(refused, 20);
    EXPECT_LT(refused, 280);
}

TYPED_TEST(EngineColumns, LayoutsThatCantBe) {
    const ColumnRun run = column_test::make_run(3000, this->random_);
    const column_test::Pages honest = column_test::make_pages(run);
    const auto refused = [&](auto change) {
        column_test::Pages pages = honest;
        change(pages.layout);
        std::unique_ptr<ColumnLoader> loader;
        return this->engine_->column().open_loader(*this->stream_, pages.layout, &loader).code ==
                   StatusCode::invalid_argument &&
               this->engine_->column().store_bytes(pages.layout) == 0;
    };
    EXPECT_FALSE(refused([](StoreLayout &) {}));
    EXPECT_TRUE(refused([](StoreLayout &layout) { layout.rows = 0; }));
    EXPECT_TRUE(refused([](StoreLayout &layout) { layout.rows = std::uint64_t(1) << 32; }));
    EXPECT_TRUE(refused([](StoreLayout &layout) { layout.columns = 0; }));
    EXPECT_TRUE(refused([](StoreLayout &layout) { layout.columns = 33; }));
    EXPECT_TRUE(refused([](StoreLayout &layout) { layout.tid_pages = 0; }));
    EXPECT_TRUE(refused([](StoreLayout &layout) { layout.page_bytes = 8188; }));
    EXPECT_TRUE(refused([](StoreLayout &layout) { layout.page_words = 1022; }));
    EXPECT_TRUE(refused([](StoreLayout &layout) { layout.stream_words -= 1; }));
    EXPECT_TRUE(refused([](StoreLayout &layout) { layout.column[0].bits = 65; }));
    EXPECT_TRUE(refused([](StoreLayout &layout) { layout.column[1].distinct += 1000; }));
    EXPECT_TRUE(refused([](StoreLayout &layout) { layout.column[1].dictionary.words += 1; }));
    EXPECT_TRUE(refused([](StoreLayout &layout) { layout.column[1].null_bits.words -= 1; }));
    EXPECT_TRUE(
        refused([](StoreLayout &layout) { layout.column[0].encoding = static_cast<ColumnEncoding>(0); }));
    EXPECT_TRUE(refused([](StoreLayout &layout) { layout.column[0].strings = 1; }));
    EXPECT_TRUE(refused([](StoreLayout &layout) { layout.column[3].codes.first = UINT64_MAX - 3; }));

    // Too few pages, too many, and the limit of memory.
    std::unique_ptr<ColumnLoader> loader;
    ASSERT_TRUE(this->engine_->column().open_loader(*this->stream_, honest.layout, &loader).ok());
    std::unique_ptr<ColumnStore> store;
    EXPECT_EQ(loader->finish(*this->stream_, &store).code, StatusCode::invalid_argument);
    EXPECT_EQ(loader
                  ->append_pages(*this->stream_, honest.images.data(),
                                 static_cast<std::uint32_t>(honest.count() + 1))
                  .code,
              StatusCode::invalid_argument);
    loader.reset();
    this->engine_->memory().set_limit(10000);
    EXPECT_EQ(this->engine_->column().open_loader(*this->stream_, honest.layout, &loader).code,
              StatusCode::out_of_memory);
    EXPECT_EQ(this->engine_->memory().used(), 0U);
}

TYPED_TEST(EngineColumns, MemoryRefusedAtEachPlace) {
    ColumnRun run = column_test::make_run(5000, this->random_);
    const column_test::Pages pages = column_test::make_pages(run);
    for (std::int64_t refusal = 0;; ++refusal) {
        ASSERT_LT(refusal, 1000);
        this->engine_->memory().refuse_after(refusal);
        std::unique_ptr<ColumnStore> store;
        Status status = this->load(pages, &store, 100);
        if (status.ok()) {
            const ValueRange ranges[] = {{0, 1100}, {1200, 1300}};
            const ColumnTest test = {TestKind::ranges, 0, ranges, nullptr, 2};
            const std::uint64_t starts[] = {1000, 1100};
            const ColumnTarget target = {TargetKind::bins, 0, 3, ValueScale::integers, starts, 2, 0};
            heap_facts::HeapFacts facts(16, heap_facts::State::known);
            std::unique_ptr<gpu_engine::HeapBlocks> blocks;
            std::uint64_t counts[4];
            std::vector<UnresolvedRow> rows(5000);
            std::uint64_t found = 0;
            status = this->engine_->keep_blocks(*this->stream_, facts.known(), &blocks);
            if (status.ok()) {
                status = store->count(*this->stream_, &test, 1, target, blocks.get(), counts, rows.data(),
                                      5000, &found);
            }
        }
        this->engine_->memory().refuse_after(-1);
        if (status.ok()) {
            EXPECT_GT(refusal, 3);
            break;
        }
        ASSERT_EQ(status.code, StatusCode::out_of_memory) << status.message;
        store.reset();
        ASSERT_EQ(this->engine_->memory().used(), 0U) << refusal;
    }
}

}  // namespace
