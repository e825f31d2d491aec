// An engine and a stream of the first device, for tests of kernels. The tests are skipped where there is no
// device.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "device/call.h"

namespace gpu_engine::device {

class DeviceTest : public testing::Test {
  protected:
    void SetUp() override {
        const Status opened = open_engine({}, &opened_);
        if (opened.code == StatusCode::unavailable) {
            GTEST_SKIP() << opened.message;
        }
        ASSERT_TRUE(opened.ok()) << opened.message;
        engine_ = static_cast<DeviceEngine *>(opened_.get());
        stream_ = std::make_unique<DeviceStream>(*engine_);
    }

    std::unique_ptr<Engine> opened_;
    DeviceEngine *engine_ = nullptr;
    std::unique_ptr<DeviceStream> stream_;
};

}  // namespace gpu_engine::device
