// Boxes of a device's grid files when the queue of lower grids is too short for them.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "device/call.h"
#include "device/grid/count_boxes.cuh"
#include "device/grid/file.h"

namespace gpu_engine::device {
namespace {

TEST(GridBoxes, FullQueuesLoseNothing) {
    std::unique_ptr<Engine> opened;
    const Status status = open_engine({}, &opened);
    if (status.code == StatusCode::unavailable) {
        GTEST_SKIP() << status.message;
    }
    ASSERT_TRUE(status.ok()) << status.message;
    auto &engine = static_cast<DeviceEngine &>(*opened);
    DeviceStream stream(engine);

    // The keys are skewed, so that most of the entries lie in lower grids.
    constexpr std::size_t count = 50000;
    constexpr std::size_t boxes = 200;
    std::mt19937_64 random(5);
    std::vector<std::uint32_t> keys[2];
    std::vector<Tid> tids(count);
    for (std::size_t i = 0; i < count; ++i) {
        keys[0].push_back(static_cast<std::uint32_t>(random() >> (32 + random() % 32)));
        keys[1].push_back(static_cast<std::uint32_t>(keys[0].back() + random() % 1000));
        tids[i] = Tid{0, static_cast<std::uint16_t>(i / 100), static_cast<std::uint16_t>(i % 100 + 1)};
    }
    GridEntries entries = {};
    entries.columns = 2;
    entries.count = count;
    entries.tids = tids.data();
    for (int c = 0; c < 2; ++c) {
        entries.key_bytes[c] = 4;
        entries.keys[c] = keys[c].data();
    }
    std::unique_ptr<GridFile> made;
    ASSERT_TRUE(engine.grid().build(stream, entries, {}, &made).ok());
    const GridView<std::uint32_t> &view = static_cast<const DeviceGridFile &>(*made).parts().view32;
    ASSERT_GT(view.levels, 2U);

    std::vector<std::uint32_t> low[2];
    std::vector<std::uint32_t> high[2];
    std::vector<std::uint32_t> expected(boxes, 0);
    for (std::size_t i = 0; i < boxes; ++i) {
        for (int c = 0; c < 2; ++c) {
            const std::uint32_t a = keys[c][random() % count];
            const std::uint32_t b = keys[c][random() % count];
            low[c].push_back(std::min(a, b));
            high[c].push_back(std::max(a, b));
        }
        for (std::size_t j = 0; j < count; ++j) {
            expected[i] += keys[0][j] >= low[0][i] && keys[0][j] <= high[0][i] && keys[1][j] >= low[1][i] &&
                                   keys[1][j] <= high[1][i]
                               ? 1
                               : 0;
        }
    }
    const Call call(engine, stream);
    Buffer<std::uint32_t> bounds[4];
    BoxBatch batch = {};
    batch.count = boxes;
    for (int c = 0; c < 2; ++c) {
        for (const bool is_high : {false, true}) {
            Buffer<std::uint32_t> &own = bounds[2 * c + (is_high ? 1 : 0)];
            own = call.buffer<std::uint32_t>(boxes);
            call.copy(own.data(), static_cast<const std::uint32_t *>((is_high ? high : low)[c].data()),
                      boxes);
            (is_high ? batch.high : batch.low)[c] = own.data();
        }
    }
    const Buffer<std::uint32_t> counts = call.buffer<std::uint32_t>(boxes);
    for (const std::uint32_t capacity : {0U, 1U, 7U, 500U, queue_capacity(boxes)}) {
        call.fill(counts.data(), 0, boxes * sizeof(std::uint32_t));
        launch_boxes<2, CountSink, CountSink::Shape>(call, view, batch, DeadView{}, capacity,
                                                     CountSink::Job{counts.data()});
        std::vector<std::uint32_t> found(boxes);
        call.copy(found.data(), static_cast<const std::uint32_t *>(counts.data()), boxes);
        call.wait();
        EXPECT_EQ(found, expected) << "capacity " << capacity;
    }
}

}  // namespace
}  // namespace gpu_engine::device
