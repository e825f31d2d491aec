#include "server/engines.h"

#include <algorithm>
#include <utility>

#include "gpu_engine/guard.h"
#include "server/log.h"
#include "server/machine.h"

#include "gpu_engine/boundary.h"

namespace gpu_engine::server {
namespace {

using protocol::EngineName;

// These are the defaults. Together with the transfer buffers' 1/32 (server.cpp) the mirrors of a server
// process without settings take at most an eighth of the machine's memory.
constexpr std::uint64_t host_memory_parts = 3;
constexpr std::uint64_t host_memory_whole = 32;
constexpr std::uint64_t device_memory_share = 2;
constexpr std::uint32_t default_queue_limit = 64;

// How many requests compute at a time. With more of them the engine wouldn't be faster, and each would take
// longer; with fewer a large one would keep small ones waiting.
constexpr std::uint32_t places_on_device = 16;
std::uint32_t places_on_host(std::uint32_t threads) {
    return std::max<std::uint32_t>(2 * threads, 4);
}

// How many of these may be calls that other requests could join. A device takes nearly as long for one small
// request as for many together, so those that come meanwhile wait for the next call. There are several such
// calls, so that some are prepared and read while another computes; four measured best
// (bench/results/2026-11-22-joint-calls-h100.txt). The host engine's threads have work enough with any number
// of calls, so only what finds no place waits there.
constexpr std::uint32_t joint_calls_on_device = 4;

Queue::Settings settings_of(const Options &options, std::uint32_t places, std::uint32_t joint_calls,
                            std::uint32_t threads, std::uint32_t processors) {
    return {places, options.joint_calls > 0 ? options.joint_calls : joint_calls,
            processors > threads ? processors - threads : 1};
}

}  // namespace

Engines::Engines(const Options &options, Watcher &watcher, std::function<void(const char *)> give_up)
    : probe_device_(options.probe_device),
      give_up_(std::move(give_up)),
      first_retry_(options.first_retry_milliseconds),
      longest_retry_(options.longest_retry_milliseconds),
      slow_opening_(options.slow_opening_milliseconds) {
    Machine machine = read_machine();
    if (options.processors > 0) {
        machine.processors = options.processors;
    }
    threads_ = options.threads > 0 ? static_cast<std::uint32_t>(options.threads)
                                   : default_host_threads(machine.processors);
    EngineOptions engine_options;
    engine_options.threads = static_cast<std::int32_t>(threads_);
    Place &host = places_[index(EngineName::host)];
    host.default_limit = machine.memory / host_memory_whole * host_memory_parts;
    const Status status = host::open_engine(engine_options, &host.engine);
    if (!status.ok()) {
        throw Failure{status};
    }
    host.queue =
        std::make_unique<Queue>(watcher, settings_of(options, places_on_host(threads_),
                                                     places_on_host(threads_), threads_, machine.processors));
    host.state = State::ready;
    set_memory_limit(EngineName::host, options.memory_limit[index(EngineName::host)]);

    Place &cuda = places_[index(EngineName::cuda)];
    cuda.queue = std::make_unique<Queue>(
        watcher, settings_of(options, places_on_device, joint_calls_on_device, threads_, machine.processors));
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
        opening_since_ = Clock::now();
        opener_ = std::thread([this] { open_device(); });
    }
}

Engines::~Engines() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    ending_.notify_all();
    if (opener_.joinable()) {
        opener_.join();
    }
}

// Keeps the reason, and logs it if it is new.
void Engines::keep_reason(const char *reason) {
    const std::lock_guard lock(mutex_);
    if (reason_ != reason) {
        reason_ = reason;
        log_line("no cuda engine: %s", reason);
    }
}

std::string Engines::why_absent(EngineName name) {
    if (state(name) != State::absent) {
        return {};
    }
    const std::lock_guard lock(mutex_);
    return reason_;
}

bool Engines::notice_slow_opening() {
    State opening = State::opening;
    if (Clock::now() - opening_since_ < slow_opening_ ||
        !places_[index(EngineName::cuda)].state.compare_exchange_strong(opening, State::absent)) {
        return false;
    }
    keep_reason("opening the device takes very long; it goes on");
    return true;
}

// Returns false when the server is stopping.
bool Engines::wait_for_retry(std::chrono::milliseconds pause) {
    std::unique_lock lock(mutex_);
    return !ending_.wait_for(lock, pause, [this] { return stopping_; });
}

void Engines::open_device() noexcept {
    const Status status = guarded([this] {
        std::chrono::milliseconds pause = first_retry_;
        bool opened = try_to_open();
        while (!opened && wait_for_retry(pause)) {
            pause = std::min(2 * pause, longest_retry_);
            if (probe_device_ && !probe_device_()) {
                continue;
            }
            opened = try_to_open();
            if (!opened && probe_device_) {
                give_up_("a new process can open the device");
                break;
            }
        }
        return Status{};
    });
    if (!status.ok()) {
        log_line("opening the device is not tried again: %s", status.message);
    }
}

bool Engines::try_to_open() {
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
        keep_reason(status.message);
        cuda.state = State::absent;
        return false;
    }
    cuda.default_limit = info.memory_free / device_memory_share;
    const auto apply_limit = [&cuda] {
        const std::uint64_t chosen = cuda.chosen_limit;
        cuda.engine->memory().set_limit(chosen > 0 ? chosen : cuda.default_limit);
        return chosen;
    };
    apply_limit();
    cuda.state = State::ready;
    // The limit may have been chosen anew meanwhile. Whoever chooses one stores it before applying it, so
    // this finds it.
    while (apply_limit() != cuda.chosen_limit) {}
    log_line(
        "engine cuda: device %d, %s, compute capability %d.%d, %llu MiB of %llu MiB free, limit %llu MiB",
        info.device, info.name, info.compute_capability_major, info.compute_capability_minor,
        mebibytes(info.memory_free), mebibytes(info.memory_total), mebibytes(cuda.engine->memory().limit()));
    return true;
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
