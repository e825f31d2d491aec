#include "server/engines.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "gpu_engine/guard.h"
#include "server/log.h"

#include "gpu_engine/boundary.h"

namespace gpu_engine::server {
namespace {

using protocol::EngineName;

// Defaults.
constexpr std::uint64_t host_memory_share = 4;
constexpr std::uint64_t device_memory_share = 2;
constexpr std::uint32_t default_queue_limit = 64;

// Requests that compute at a time. More would not make the engine faster, only all of them slower; fewer
// would let a large one keep small ones waiting.
constexpr std::uint32_t places_on_device = 16;
std::uint32_t places_on_host(std::uint32_t threads) {
    return std::max<std::uint32_t>(2 * threads, 4);
}

// Of these, calls that others could join. A device takes nearly as long for one small request as for many
// together, so those that come meanwhile wait for the next call; several, so that some are prepared and read
// while another computes (four measured best: bench/results/2026-11-22-joint-calls-h100.txt). The host
// engine's threads have work enough by any: only what finds no place waits.
constexpr std::uint32_t joint_calls_on_device = 4;

Queue::Settings settings_of(const Options &options, std::uint32_t places, std::uint32_t joint_calls,
                            std::uint32_t threads) {
    const std::uint32_t processors = std::max(std::thread::hardware_concurrency(), 1U);
    return {places, options.joint_calls > 0 ? options.joint_calls : joint_calls,
            processors > threads ? processors - threads : 1};
}

}  // namespace

std::uint64_t machine_memory() noexcept {
    std::uint64_t bytes = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                          static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    if (std::FILE *file = std::fopen("/sys/fs/cgroup/memory.max", "re")) {
        unsigned long long limit = 0;
        if (std::fscanf(file, "%llu", &limit) == 1) {  // not "max"
            bytes = std::min<std::uint64_t>(bytes, limit);
        }
        std::fclose(file);
    }
    return bytes;
}

Engines::Engines(const Options &options, Watcher &watcher) {
    threads_ = options.threads > 0 ? static_cast<std::uint32_t>(options.threads)
                                   : std::max(std::thread::hardware_concurrency(), 1U);
    EngineOptions engine_options;
    engine_options.threads = static_cast<std::int32_t>(threads_);
    Place &host = places_[index(EngineName::host)];
    host.default_limit = machine_memory() / host_memory_share;
    const Status status = host::open_engine(engine_options, &host.engine);
    if (!status.ok()) {
        throw Failure{status};
    }
    host.queue = std::make_unique<Queue>(
        watcher, settings_of(options, places_on_host(threads_), places_on_host(threads_), threads_));
    host.state = State::ready;
    set_memory_limit(EngineName::host, options.memory_limit[index(EngineName::host)]);

    Place &cuda = places_[index(EngineName::cuda)];
    cuda.queue = std::make_unique<Queue>(
        watcher, settings_of(options, places_on_device, joint_calls_on_device, threads_));
    cuda.chosen_limit = options.memory_limit[index(EngineName::cuda)];
    set_queue_limit(options.queue_limit);
    open_device_ = options.open_device;
#ifdef PG_GPU_HAVE_CUDA
    if (!open_device_) {
        open_device_ = device::open_engine;
    }
#endif
    if (open_device_ && options.device >= 0) {
        device_ = options.device;
        cuda.state = State::opening;
        opener_ = std::thread([this] { open_device(); });
    }
}

Engines::~Engines() {
    if (opener_.joinable()) {
        opener_.join();
    }
}

void Engines::open_device() noexcept {
    const auto mebibytes = [](std::uint64_t bytes) -> unsigned long long { return bytes >> 20; };
    Place &cuda = places_[index(EngineName::cuda)];
    EngineOptions options;
    options.device = device_;
    Status status = open_device_(options, &cuda.engine);
    DeviceInfo info{};
    if (status.ok()) {
        status = cuda.engine->describe(&info);
    }
    if (!status.ok()) {
        cuda.engine.reset();
        cuda.state = State::absent;
        log_line("no cuda engine: %s", status.message);
        return;
    }
    cuda.default_limit = info.memory_free / device_memory_share;
    const auto apply_limit = [&cuda] {
        const std::uint64_t chosen = cuda.chosen_limit;
        cuda.engine->memory().set_limit(chosen > 0 ? chosen : cuda.default_limit);
        return chosen;
    };
    apply_limit();
    cuda.state = State::ready;
    // Once more, for one that was chosen meanwhile: who chooses stores it first.
    while (apply_limit() != cuda.chosen_limit) {}
    log_line(
        "engine cuda: device %d, %s, compute capability %d.%d, %llu MiB of %llu MiB free, limit %llu MiB",
        info.device, info.name, info.compute_capability_major, info.compute_capability_minor,
        mebibytes(info.memory_free), mebibytes(info.memory_total), mebibytes(cuda.engine->memory().limit()));
}

Engines::State Engines::state(EngineName name) const noexcept {
    return places_[index(name)].state.load();
}

Engine *Engines::get(EngineName name) noexcept {
    Place &place = places_[index(name)];
    const State state = place.state.load();
    return state == State::ready || state == State::lost ? place.engine.get() : nullptr;
}

void Engines::set_memory_limit(EngineName name, std::uint64_t bytes) noexcept {
    Place &place = places_[index(name)];
    place.chosen_limit = bytes;
    if (Engine *engine = get(name)) {
        engine->memory().set_limit(bytes > 0 ? bytes : place.default_limit);
    }
}

void Engines::set_queue_limit(std::uint32_t limit) {
    for (Place &place : places_) {
        place.queue->set_limit(limit > 0 ? limit : default_queue_limit);
    }
}

bool Engines::lose_if_broken(EngineName name) noexcept {
    Place &place = places_[index(name)];
    if (place.state.load() != State::ready || place.engine->probe().ok()) {
        return false;
    }
    State ready = State::ready;
    return place.state.compare_exchange_strong(ready, State::lost);
}

}  // namespace gpu_engine::server
