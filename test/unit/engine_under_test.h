// The engines that tests of the interface run with, and what these tests have in common.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>

#include "gpu_engine/engine.h"

struct HostEngineUnderTest {
    static constexpr const char *name = "host";
    static gpu_engine::Status open(const gpu_engine::EngineOptions &options,
                                   std::unique_ptr<gpu_engine::Engine> *engine) {
        return gpu_engine::host::open_engine(options, engine);
    }
};
#if defined(PG_GPU_HAVE_CUDA) && !defined(PG_GPU_NO_DEVICE_TESTS)
struct CudaEngineUnderTest {
    static constexpr const char *name = "cuda";
    static gpu_engine::Status open(const gpu_engine::EngineOptions &options,
                                   std::unique_ptr<gpu_engine::Engine> *engine) {
        return gpu_engine::device::open_engine(options, engine);
    }
};
// The same device with no more shared memory for a block than compute capability 7.5 has.
struct SmallDeviceUnderTest {
    static constexpr const char *name = "small";
    static gpu_engine::Status open(gpu_engine::EngineOptions options,
                                   std::unique_ptr<gpu_engine::Engine> *engine) {
        options.shared_bytes = 64 << 10;
        return gpu_engine::device::open_engine(options, engine);
    }
};
using Engines = testing::Types<HostEngineUnderTest, CudaEngineUnderTest, SmallDeviceUnderTest>;
#else
// Tests of an engine that isn't built, or has no device here, would be compiled only to skip themselves.
using Engines = testing::Types<HostEngineUnderTest>;
#endif
struct EngineName {
    template <typename Type>
    static std::string GetName(int) {
        return Type::name;
    }
};

// Keys, or entries of dictionaries, of all widths on all engines.
template <typename KeyType, typename EngineType>
struct KeyCase {
    using Key = KeyType;
    using UnderTest = EngineType;
};
using KeyCases =
    testing::Types<KeyCase<std::uint32_t, HostEngineUnderTest>, KeyCase<std::uint64_t, HostEngineUnderTest>,
                   KeyCase<gpu_engine::Key128, HostEngineUnderTest>
#if defined(PG_GPU_HAVE_CUDA) && !defined(PG_GPU_NO_DEVICE_TESTS)
                   ,
                   KeyCase<std::uint32_t, CudaEngineUnderTest>, KeyCase<std::uint64_t, CudaEngineUnderTest>,
                   KeyCase<gpu_engine::Key128, CudaEngineUnderTest>,
                   KeyCase<std::uint32_t, SmallDeviceUnderTest>, KeyCase<std::uint64_t, SmallDeviceUnderTest>,
                   KeyCase<gpu_engine::Key128, SmallDeviceUnderTest>
#endif
                   >;
struct KeyCaseName {
    template <typename Type>
    static std::string GetName(int) {
        return Type::UnderTest::name + std::to_string(sizeof(typename Type::Key) * 8);
    }
};

// An engine with a stream, whose memory has to be given back by the end of the test.
class EngineTest : public testing::Test {
  protected:
    // Skips the test where the engine isn't to be had.
    template <typename UnderTest>
    void open() {
        const gpu_engine::Status opened = UnderTest::open({}, &engine_);
        if (opened.code == gpu_engine::StatusCode::unavailable) {
            GTEST_SKIP() << opened.message;
        }
        ASSERT_TRUE(opened.ok()) << opened.message;
        ASSERT_TRUE(engine_->open_stream(&stream_).ok());
    }
    void TearDown() override {
        if (engine_ != nullptr) {
            EXPECT_EQ(engine_->memory().used(), 0U) << "memory leaked";
        }
    }

    // Null after a refusal.
    std::unique_ptr<gpu_engine::HeapBlocks> keep(const gpu_engine::KnownBlocks &known) {
        std::unique_ptr<gpu_engine::HeapBlocks> blocks;
        static_cast<void>(engine_->keep_blocks(*stream_, known, &blocks));
        return blocks;
    }

    std::mt19937_64 random_{20261121};
    std::unique_ptr<gpu_engine::Engine> engine_;
    std::unique_ptr<gpu_engine::Stream> stream_;
};
