// Threads that wait for the device leave the processors to others, and what a call keeps stays until it has
// waited.
#include <gtest/gtest.h>

#include <ctime>

#include "device/call.h"

#include "device_test.h"

namespace gpu_engine::device {
namespace {

constexpr unsigned long long busy_nanoseconds = 300'000'000;

__device__ unsigned long long device_time() {
    unsigned long long nanoseconds = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
    return nanoseconds;
}

__global__ void keep_busy(unsigned long long nanoseconds) {
    const unsigned long long until = device_time() + nanoseconds;
    while (device_time() < until) {}
}

double seconds_of(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Notes whether the device had finished when it went.
class Observer {
  public:
    Observer(cudaStream_t stream, cudaError_t *seen) : stream_(stream), seen_(seen) {}
    Observer(const Observer &) = delete;
    Observer &operator=(const Observer &) = delete;
    ~Observer() { *seen_ = cudaStreamQuery(stream_); }

  private:
    cudaStream_t stream_;
    cudaError_t *seen_;
};

using Waiting = DeviceTest;

TEST_F(Waiting, TheContextSleeps) {
    unsigned int flags = 0;
    ASSERT_EQ(cudaSetDevice(engine_->device()), cudaSuccess);
    ASSERT_EQ(cudaGetDeviceFlags(&flags), cudaSuccess);
    EXPECT_EQ(flags & cudaDeviceScheduleMask, static_cast<unsigned int>(cudaDeviceScheduleBlockingSync));
}

TEST_F(Waiting, TakesHardlyAnyProcessorTime) {
    const Call call(*engine_, *stream_);
    keep_busy<<<1, 1, 0, call.stream()>>>(1);
    call.wait();
    const double began = seconds_of(CLOCK_MONOTONIC);
    const double processor_began = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    keep_busy<<<1, 1, 0, call.stream()>>>(busy_nanoseconds);
    check_launch("keep_busy");
    call.wait();
    const double took = seconds_of(CLOCK_MONOTONIC) - began;
    const double processor_took = seconds_of(CLOCK_THREAD_CPUTIME_ID) - processor_began;
    EXPECT_GT(took, 0.9e-9 * busy_nanoseconds);
    EXPECT_LT(processor_took, took / 4);
}

TEST_F(Waiting, LeavesNoErrorToTheNextCall) {
    const Call call(*engine_, *stream_);
    // The first ends while the thread looks, or after it has begun to sleep; the second after.
    for (const unsigned long long nanoseconds : {20'000ULL, 2'000'000ULL}) {
        keep_busy<<<1, 1, 0, call.stream()>>>(nanoseconds);
        call.wait();
        EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
    }
}

// A dead bitmap may have been replaced meanwhile, so that the call is the last to know it.
TEST_F(Waiting, KeepsPartsWhenACallFails) {
    cudaError_t seen = cudaErrorUnknown;
    try {
        const Call call(*engine_, *stream_);
        const Observer *observer = call.keep(std::make_shared<const Observer>(call.stream(), &seen));
        ASSERT_NE(observer, nullptr);
        keep_busy<<<1, 1, 0, call.stream()>>>(busy_nanoseconds);
        check_launch("keep_busy");
        throw Failure{make_status(StatusCode::out_of_memory, "a later step")};
    } catch (const Failure &) {
        EXPECT_EQ(seen, cudaSuccess);
    }
}

TEST_F(Waiting, KeepsNothingOfNothing) {
    const Call call(*engine_, *stream_);
    EXPECT_EQ(call.keep(std::shared_ptr<const Observer>()), nullptr);
}

}  // namespace
}  // namespace gpu_engine::device
