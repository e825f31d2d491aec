// The processor's side of the benchmark of grid files.
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>

#include "bench/grid/machine.h"

namespace gpu_engine::bench {
namespace {

class HostStorage final : public Storage {
  public:
    explicit HostStorage(std::uint64_t bytes) : bytes_(bytes) {}
    void *data() const override { return const_cast<char *>(bytes_.data()); }

  private:
    std::vector<char> bytes_;
};

class HostMachine final : public Machine {
  public:
    HostMachine() {
        require(host::open_engine({}, &engine_));
        require(engine_->open_stream(&stream_));
    }
    Engine &engine() override { return *engine_; }
    Stream &stream() override { return *stream_; }
    void describe(Results *results) override {
        results->describe("engine", "host");
        results->describe("processors", std::to_string(std::thread::hardware_concurrency()));
    }
    std::unique_ptr<Storage> store(std::uint64_t bytes) override {
        return std::make_unique<HostStorage>(bytes);
    }
    void write(void *to, const void *from, std::uint64_t bytes) override { std::memcpy(to, from, bytes); }
    void read(void *to, const void *from, std::uint64_t bytes) override { std::memcpy(to, from, bytes); }
    double copied_bytes() override { return 0; }
    double match_ms(const GridFile &file, const GridPoints &points, std::uint64_t count,
                    std::uint32_t *counts, int repeats) override {
        std::vector<std::uint64_t> offsets(count + 1);
        std::vector<Tid> tids(4 * count);
        const double ms = median_ms(repeats, [&] {
            require(file.match(*stream_, points, count, offsets.data(), tids.data(), tids.size()));
        });
        for (std::uint64_t i = 0; i < count; ++i) {
            counts[i] = static_cast<std::uint32_t>(offsets[i + 1] - offsets[i]);
        }
        return ms;
    }
    double count_ms(const GridFile &file, const GridBoxes &boxes, std::uint64_t count, std::uint32_t *counts,
                    int repeats) override {
        return median_ms(repeats, [&] { require(file.count(*stream_, boxes, count, counts)); });
    }

  private:
    std::unique_ptr<Engine> engine_;
    std::unique_ptr<Stream> stream_;
};

}  // namespace

std::unique_ptr<Machine> open_host() {
    return std::make_unique<HostMachine>();
}

}  // namespace gpu_engine::bench
