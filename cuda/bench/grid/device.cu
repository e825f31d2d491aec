// The device's side of the benchmark of grid files.
#include <cuda_runtime_api.h>

#include <type_traits>

#include "bench/grid/machine.h"
#include "bench/grid/reads.cuh"
#include "device/call.h"
#include "device/grid/count_boxes.cuh"
#include "device/grid/file.h"
#include "device/grid/match.cuh"

namespace gpu_engine::bench {
namespace {

template <int Threads, int Blocks>
struct TriedPolicy : device::CountPolicy {
    static constexpr int threads = Threads;
    static constexpr int blocks = Blocks;
};
template <int Threads, int Blocks>
using TriedShape = device::BoxShape<TriedPolicy<Threads, Blocks>>;

using device::check;

class DeviceStorage final : public Storage {
  public:
    explicit DeviceStorage(std::uint64_t bytes) { check(cudaMalloc(&data_, bytes), "cudaMalloc"); }
    ~DeviceStorage() override { static_cast<void>(cudaFree(data_)); }
    void *data() const override { return data_; }

  private:
    void *data_ = nullptr;
};

// Variants that have the trees in constant memory, or read them where the file has them.
__constant__ std::uint32_t constant_top[device::top_bytes / sizeof(std::uint32_t)];
struct ConstantTop {
    static __device__ __forceinline__ const std::uint32_t *get(const device::GridView<std::uint32_t> &) {
        return constant_top;
    }
};
struct GlobalTop {
    static __device__ __forceinline__ const std::uint32_t *get(const device::GridView<std::uint32_t> &grid) {
        return grid.top;
    }
};

class DeviceMachine final : public Machine {
  public:
    DeviceMachine() {
        require(device::open_engine({}, &engine_));
        require(engine_->open_stream(&stream_));
    }
    Engine &engine() override { return *engine_; }
    Stream &stream() override { return *stream_; }
    void describe(Results *results) override {
        DeviceInfo info;
        require(engine_->describe(&info));
        int driver = 0;
        check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
        results->describe("engine", "cuda");
        results->describe("device", info.name);
        results->describe("CUDA runtime", std::to_string(CUDART_VERSION));
        results->describe("CUDA driver", std::to_string(driver));
        std::printf("%s, CUDA %d, driver %d\n", info.name, CUDART_VERSION, driver);
    }
    std::unique_ptr<Storage> store(std::uint64_t bytes) override {
        return std::make_unique<DeviceStorage>(bytes);
    }
    void write(void *to, const void *from, std::uint64_t bytes) override {
        check(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    }
    void read(void *to, const void *from, std::uint64_t bytes) override {
        check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
    }
    double copied_bytes() override {
        if (copied_bytes_ == 0) {
            const std::uint64_t bytes = std::uint64_t(1) << 30;
            const DeviceStorage from(bytes);
            const DeviceStorage to(bytes);
            const double ms = work_ms(9, [&](const device::Call &call) {
                call.copy(static_cast<char *>(to.data()), static_cast<const char *>(from.data()), bytes);
            });
            copied_bytes_ = 2.0 * static_cast<double>(bytes) / ms * 1000;
        }
        return copied_bytes_;
    }
    double match_ms(const GridFile &file, const GridPoints &points, std::uint64_t count,
                    std::uint32_t *counts, int repeats) override {
        const device::PointBatch batch = batch_of(file, points, count);
        return work_ms(repeats, [&](const device::Call &call) {
            parts(file).with_view(
                [&](const auto &view) { device::count_matches(call, view, batch, {}, counts, nullptr); });
        });
    }
    double count_ms(const GridFile &file, const GridBoxes &boxes, std::uint64_t count, std::uint32_t *counts,
                    int repeats) override {
        const device::BoxBatch batch = batch_of(file, boxes, count);
        return work_ms(repeats, [&](const device::Call &call) {
            parts(file).with_view(
                [&](const auto &view) { device::count_boxes(call, view, batch, {}, counts); });
        });
    }
    std::vector<std::pair<const char *, double>> match_variants_ms(const GridFile &file,
                                                                   const GridPoints &points,
                                                                   std::uint64_t count, std::uint32_t *counts,
                                                                   int repeats) override {
        const device::GridView<std::uint32_t> &view = parts(file).view32;
        const device::PointBatch batch = batch_of(file, points, count);
        check(cudaMemcpyToSymbol(constant_top, view.top, view.top_keys * sizeof(std::uint32_t), 0,
                                 cudaMemcpyDeviceToDevice),
              "cudaMemcpyToSymbol");
        const auto time = [&]<typename Top>(std::type_identity<Top>) {
            return work_ms(repeats, [&](const device::Call &call) {
                device::launch_matches<2, std::uint32_t, Top>(call, view, batch, {}, 0, counts, nullptr);
            });
        };
        return {{"scales in constant memory", time(std::type_identity<ConstantTop>())},
                {"scales in global memory", time(std::type_identity<GlobalTop>())},
                {"reads alone", work_ms(repeats, [&](const device::Call &call) {
                     match_reads_kernel<<<read_blocks(call), 256, 0, call.stream()>>>(
                         view, batch, parts(file).shape.cells, parts(file).entries, counts);
                 })}};
    }

    std::vector<std::pair<const char *, double>> count_variants_ms(const GridFile &file,
                                                                   const GridBoxes &boxes,
                                                                   std::uint64_t count, std::uint32_t *counts,
                                                                   int repeats) override {
        const device::BoxBatch batch = batch_of(file, boxes, count);
        const device::GridView<std::uint32_t> &view = parts(file).view32;
        const auto time = [&]<typename Shape>(std::type_identity<Shape>) {
            return work_ms(repeats, [&](const device::Call &call) {
                device::launch_boxes<2, device::CountSink, Shape>(
                    call, view, batch, {}, device::queue_capacity(count), device::CountSink::Job{counts});
            });
        };
        using std::type_identity;
        return {{"2 blocks of 448 threads", time(type_identity<TriedShape<448, 2>>())},
                {"4 blocks of 224 threads", time(type_identity<TriedShape<224, 4>>())},
                {"4 blocks of 256 threads", time(type_identity<TriedShape<256, 4>>())},
                {"reads alone", work_ms(repeats, [&](const device::Call &call) {
                     box_reads_kernel<<<read_blocks(call), 256, 0, call.stream()>>>(
                         view, batch, parts(file).shape.cells, parts(file).entries, counts);
                 })}};
    }

  private:
    static const device::GridParts &parts(const GridFile &file) {
        return static_cast<const device::DeviceGridFile &>(file).parts();
    }
    static device::PointBatch batch_of(const GridFile &file, const GridPoints &points, std::uint64_t count) {
        device::PointBatch batch = {};
        for (std::uint32_t c = 0; c < parts(file).columns; ++c) {
            batch.keys[c] = points.keys[c];
        }
        batch.count = count;
        return batch;
    }
    static device::BoxBatch batch_of(const GridFile &file, const GridBoxes &boxes, std::uint64_t count) {
        device::BoxBatch batch = {};
        for (std::uint32_t c = 0; c < parts(file).columns; ++c) {
            batch.low[c] = boxes.low[c];
            batch.high[c] = boxes.high[c];
        }
        batch.count = count;
        return batch;
    }

    // Returns as many blocks of 256 threads as the device has room for.
    static unsigned read_blocks(const device::Call &call) {
        return 8 * static_cast<unsigned>(call.engine().multiprocessors());
    }

    template <typename Work>
    double work_ms(int repeats, Work work) {
        const device::Call call(static_cast<device::DeviceEngine &>(*engine_), *stream_);
        cudaEvent_t begin;
        cudaEvent_t end;
        check(cudaEventCreate(&begin), "cudaEventCreate");
        check(cudaEventCreate(&end), "cudaEventCreate");
        work(call);
        std::vector<float> times;
        for (int i = 0; i < repeats; ++i) {
            check(cudaEventRecord(begin, call.stream()), "cudaEventRecord");
            work(call);
            check(cudaEventRecord(end, call.stream()), "cudaEventRecord");
            check(cudaEventSynchronize(end), "cudaEventSynchronize");
            float time = 0;
            check(cudaEventElapsedTime(&time, begin, end), "cudaEventElapsedTime");
            times.push_back(time);
        }
        check(cudaEventDestroy(begin), "cudaEventDestroy");
        check(cudaEventDestroy(end), "cudaEventDestroy");
        std::sort(times.begin(), times.end());
        return times[times.size() / 2];
    }

    std::unique_ptr<Engine> engine_;
    std::unique_ptr<Stream> stream_;
    double copied_bytes_ = 0;
};

}  // namespace

std::unique_ptr<Machine> open_device() {
    return std::make_unique<DeviceMachine>();
}

}  // namespace gpu_engine::bench
