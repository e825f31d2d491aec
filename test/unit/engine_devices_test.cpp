// The list of devices, and what keeps exceptions inside the engine.
#include <gtest/gtest.h>

#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpu_engine/devices.h"
#include "gpu_engine/guard.h"

namespace {

using gpu_engine::DeviceInfo;
using gpu_engine::Status;
using gpu_engine::StatusCode;

// A row no list fills in this way, to see which rows were written.
DeviceInfo untouched_row() {
    DeviceInfo row{};
    row.device = -7;
    return row;
}

TEST(HostDevices, ListsNoDevice) {
    std::vector<DeviceInfo> rows(3, untouched_row());
    std::size_t count = 99;
    const Status status = gpu_engine::host::list_devices(rows.data(), rows.size(), &count);
    EXPECT_EQ(status.code, StatusCode::ok);
    EXPECT_EQ(count, 0U);
    for (const DeviceInfo &row : rows) {
        EXPECT_EQ(row.device, -7);
    }
}

TEST(HostDevices, RefusesMissingArguments) {
    DeviceInfo row = untouched_row();
    std::size_t count = 99;
    EXPECT_EQ(gpu_engine::host::list_devices(&row, 1, nullptr).code, StatusCode::invalid_argument);
    EXPECT_EQ(gpu_engine::host::list_devices(nullptr, 1, &count).code, StatusCode::invalid_argument);
    EXPECT_EQ(gpu_engine::host::list_devices(nullptr, 0, &count).code, StatusCode::ok);
}

#ifdef PG_GPU_HAVE_CUDA
TEST(CudaDevices, RefusesMissingArguments) {
    DeviceInfo row = untouched_row();
    std::size_t count = 99;
    EXPECT_EQ(gpu_engine::device::list_devices(&row, 1, nullptr).code, StatusCode::invalid_argument);
    EXPECT_EQ(gpu_engine::device::list_devices(nullptr, 1, &count).code, StatusCode::invalid_argument);
}

// With a device the list's rows make sense; without one the status is `unavailable`, and no row is touched.
TEST(CudaDevices, ListsWhatIsThere) {
    std::vector<DeviceInfo> rows(16, untouched_row());
    std::size_t count = 99;
    const Status status = gpu_engine::device::list_devices(rows.data(), rows.size(), &count);
    if (!status.ok()) {
        EXPECT_EQ(status.code, StatusCode::unavailable) << status.message;
        EXPECT_NE(status.message[0], '\0');
        EXPECT_EQ(count, 0U);
    }
    ASSERT_LE(count, rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (i < count) {
            EXPECT_EQ(rows[i].device, static_cast<int>(i));
            EXPECT_NE(rows[i].name[0], '\0');
            EXPECT_GE(rows[i].compute_capability_major, 5);
            EXPECT_GT(rows[i].memory_total, 0U);
            EXPECT_LE(rows[i].memory_free, rows[i].memory_total);
        } else {
            EXPECT_EQ(rows[i].device, -7);
        }
    }
}

TEST(CudaDevices, CountsWithoutRows) {
    std::vector<DeviceInfo> rows(16, untouched_row());
    std::size_t described = 99;
    const Status described_status = gpu_engine::device::list_devices(rows.data(), rows.size(), &described);
    std::size_t counted = 77;
    const Status counted_status = gpu_engine::device::list_devices(nullptr, 0, &counted);
    EXPECT_EQ(counted_status.code, described_status.code);
    EXPECT_EQ(counted, described);
}
#endif

TEST(Guard, PassesAStatusOn) {
    const Status status =
        gpu_engine::guarded([] { return gpu_engine::make_status(StatusCode::unavailable, "gone"); });
    EXPECT_EQ(status.code, StatusCode::unavailable);
    EXPECT_STREQ(status.message, "gone");
}

TEST(Guard, TurnsExceptionsIntoStatus) {
    EXPECT_EQ(gpu_engine::guarded([]() -> Status { throw std::bad_alloc(); }).code,
              StatusCode::out_of_memory);
    const Status status = gpu_engine::guarded([]() -> Status { throw std::runtime_error("broken"); });
    EXPECT_EQ(status.code, StatusCode::internal);
    EXPECT_STREQ(status.message, "broken");
    EXPECT_EQ(gpu_engine::guarded([]() -> Status { throw 1; }).code, StatusCode::internal);
}

TEST(Status, CutsLongMessages) {
    const std::string text(1000, 'x');
    const Status status = gpu_engine::make_status(StatusCode::internal, text.c_str());
    EXPECT_EQ(std::strlen(status.message), Status::message_capacity - 1);
    EXPECT_FALSE(status.ok());
}

}  // namespace
