// The engine that streams: columns in the machine's memory, which a device goes over.
#include <gtest/gtest.h>

#include "column_run.h"
#include "engine_under_test.h"

#if defined(PG_GPU_HAVE_CUDA) && !defined(PG_GPU_NO_DEVICE_TESTS)

namespace {

using namespace gpu_engine;
using column_test::ColumnRun;

class EngineStreaming : public EngineTest {
  protected:
    void SetUp() override {
        open<CudaEngineUnderTest>();
        if (IsSkipped()) {
            return;
        }
        EngineOptions options;
        options.within = &machine_;
        double bytes_per_second = 0;
        const Status status =
            device::open_streaming_engine(*engine_, options, &streaming_, &bytes_per_second);
        ASSERT_TRUE(status.ok()) << status.message;
        EXPECT_GT(bytes_per_second, 1e8);
        EXPECT_EQ(machine_.used(), 0U);
        ASSERT_TRUE(streaming_->open_stream(&streaming_stream_).ok());
        ASSERT_TRUE(host::open_engine({}, &host_).ok());
        ASSERT_TRUE(host_->open_stream(&host_stream_).ok());
    }
    void TearDown() override {
        streaming_stream_.reset();
        streaming_.reset();
        EXPECT_EQ(machine_.used(), 0U) << "memory leaked";
        EngineTest::TearDown();
    }

    static Status load(Engine &engine, Stream &stream, const column_test::Pages &pages,
                       std::unique_ptr<ColumnStore> *store) {
        std::unique_ptr<ColumnLoader> loader;
        Status status = engine.column().open_loader(stream, pages.layout, &loader);
        for (std::size_t page = 0; status.ok() && page < pages.count();) {
            const std::size_t count = std::min<std::size_t>(5, pages.count() - page);
            status = loader->append_pages(stream, pages.images.data() + page * column_test::page_bytes,
                                          static_cast<std::uint32_t>(count));
            page += count;
        }
        return status.ok() ? loader->finish(stream, store) : status;
    }
    static std::vector<std::uint64_t> match(const ColumnStore &store, Stream &stream) {
        const ValueRange range = {1100, 1400};
        const ColumnTest test = {TestKind::ranges, 0, &range, nullptr, 1};
        std::vector<Tid> tids(store.entries());
        std::uint64_t found = 0;
        EXPECT_TRUE(store.match(stream, &test, 1, tids.data(), tids.size(), &found).ok());
        std::vector<std::uint64_t> places;
        for (std::uint64_t i = 0; i < found; ++i) {
            places.push_back(column_test::place_of(tids[i]));
        }
        std::sort(places.begin(), places.end());
        return places;
    }
    static std::vector<std::uint64_t> count(const ColumnStore &store, Stream &stream, std::uint32_t column) {
        const std::uint64_t starts[] = {10, 1100, 1200};
        const ColumnTarget target = {TargetKind::bins, column, 4, ValueScale::integers, starts, 3, 0};
        std::vector<std::uint64_t> counts(store.places(target));
        std::uint64_t found = 0;
        if (!counts.empty()) {
            EXPECT_TRUE(
                store.count(stream, nullptr, 0, target, nullptr, counts.data(), nullptr, 0, &found).ok());
        }
        return counts;
    }

    MemoryBudget machine_{std::uint64_t(1) << 30};
    std::unique_ptr<Engine> streaming_;
    std::unique_ptr<Stream> streaming_stream_;
    std::unique_ptr<Engine> host_;
    std::unique_ptr<Stream> host_stream_;
};

TEST_F(EngineStreaming, AnswersEqualTheHosts) {
    ColumnRun run = column_test::make_run(50000, random_);
    const column_test::Pages pages = column_test::make_pages(run);
    std::unique_ptr<ColumnStore> streamed;
    std::unique_ptr<ColumnStore> expected;
    ASSERT_TRUE(load(*host_, *host_stream_, pages, &expected).ok());
    // The device may be full meanwhile.
    engine_->memory().set_limit(0);
    ASSERT_TRUE(load(*streaming_, *streaming_stream_, pages, &streamed).ok());
    engine_->memory().set_limit(UINT64_MAX);
    EXPECT_EQ(engine_->memory().used(), 0U) << "none of it is the device's";
    EXPECT_EQ(machine_.used(), streaming_->memory().used());
    EXPECT_GE(machine_.used(), streamed->bytes());
    for (std::uint64_t version = 1; version <= 2; ++version) {
        EXPECT_EQ(match(*streamed, *streaming_stream_), match(*expected, *host_stream_));
        for (std::uint32_t column = 0; column < streamed->layout().columns; ++column) {
            EXPECT_EQ(count(*streamed, *streaming_stream_, column), count(*expected, *host_stream_, column))
                << column;
        }
        const std::vector<std::uint64_t> dead = column_test::kill_some(&run, random_);
        ASSERT_TRUE(streamed->set_dead(*streaming_stream_, dead.data(), version).ok());
        ASSERT_TRUE(expected->set_dead(*host_stream_, dead.data(), version).ok());
    }
}

TEST_F(EngineStreaming, EachMemoryHasItsLimit) {
    const ColumnRun run = column_test::make_run(20000, random_);
    const column_test::Pages pages = column_test::make_pages(run);
    std::unique_ptr<ColumnStore> store;
    machine_.set_limit(1000);
    EXPECT_EQ(load(*streaming_, *streaming_stream_, pages, &store).code, StatusCode::out_of_memory);
    EXPECT_EQ(machine_.used(), 0U);
    EXPECT_GT(streaming_->memory().take_refused(), 0U);
    machine_.set_limit(std::uint64_t(1) << 30);
    ASSERT_TRUE(load(*streaming_, *streaming_stream_, pages, &store).ok());
    // What a call takes is the device's, and the refusal is told there.
    engine_->memory().set_limit(0);
    const ValueRange range = {1100, 1400};
    const ColumnTest test = {TestKind::ranges, 0, &range, nullptr, 1};
    std::vector<Tid> tids(store->entries());
    std::uint64_t found = 0;
    EXPECT_EQ(store->match(*streaming_stream_, &test, 1, tids.data(), tids.size(), &found).code,
              StatusCode::out_of_memory);
    EXPECT_GT(engine_->memory().take_refused(), 0U);
    EXPECT_EQ(streaming_->memory().take_refused(), 0U);
    engine_->memory().set_limit(UINT64_MAX);
    EXPECT_TRUE(store->match(*streaming_stream_, &test, 1, tids.data(), tids.size(), &found).ok());
}

}  // namespace

#endif
