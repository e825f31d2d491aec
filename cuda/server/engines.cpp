#include "server/engines.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "gpu_engine/guard.h"
#include "server/log.h"
#include "server/machine.h"
#include "server/residency/placement.h"
#include "server/emulated_engine.h"

namespace gpu_engine::server {
namespace {

using protocol::EngineName;

// These are the defaults. Together with the transfer buffers' 1/32 (server.cpp) the mirrors of a server
// process without settings take at most an eighth of the machine's memory.
constexpr std::uint64_t host_memory_parts = 3;
constexpr std::uint64_t host_memory_whole = 32;
constexpr std::uint64_t device_memory_share = 2;
constexpr std::uint32_t default_queue_limit = 64;

// So many requests compute at a time. With more of them the engine wouldn't be faster, and each would take
// longer; with fewer a large one would keep small ones waiting. The host engine takes so many calls at a time
// (HostEngine::callers), also where it stands for a device.
constexpr std::uint32_t places_on_device = 16;
std::uint32_t places_on_host(std::uint32_t threads) {
    return std::max<std::uint32_t>(2 * threads, 4);
}

// At most so many of these may be calls that other requests could join. A device takes nearly as long for one
// small request as for many together, so those that come meanwhile wait for the next call. There are several
// such calls, so that some are prepared and read while another computes; four measured best
// (bench/results/2026-11-22-joint-calls-h100.txt). The host engine's threads have work enough with any number
// of calls, so only what finds no place waits there.
constexpr std::uint32_t joint_calls_on_device = 4;

std::string word_of(const NamedDevice &named) {
    return named.device >= 0 ? std::to_string(named.device) : std::string(named.uuid_digits);
}

}  // namespace

Engines::Engines(const Options &options, Watcher &watcher)
    : watcher_(watcher),
      options_(options),
      open_device_(options.open_device),
      identify_devices_(options.identify_devices),
      overflows_(options.overflows) {
    Machine machine = read_machine();
    threads_ = options.threads > 0 ? static_cast<std::uint32_t>(options.threads)
                                   : default_host_threads(machine.processors);
    for (const EngineName name : {EngineName::host, EngineName::cuda}) {
        chosen_limit_[static_cast<std::size_t>(name)] = options.memory_limit[static_cast<std::size_t>(name)];
    }
    queue_limit_ = options.queue_limit > 0 ? options.queue_limit : default_queue_limit;
    open_host_engines(options, machine.memory / host_memory_whole * host_memory_parts);
#ifdef PG_GPU_HAVE_CUDA
    if (!open_device_) {
        open_device_ = device::open_engine;
        identify_devices_ = [](std::vector<DeviceIdentity> *devices) {
            devices->resize(max_engines);
            std::size_t count = 0;
            const Status status = device::identify_devices(devices->data(), devices->size(), &count);
            devices->resize(std::min(count, devices->size()));
            return status;
        };
    }
#endif
    if (options.emulated_devices > 0) {
        use_emulated_devices(options.emulated_devices);
    }
    // This place stands for the devices until it is known what devices there are.
    Place &first = places_[hosts_];
    first.queue = new_queue(EngineName::cuda);
    const bool opens = open_device_ && options.uses_devices;
    if (opens) {
        first.state = State::opening;
        first.opening_since = Clock::now();
    }
    count_ = hosts_ + 1;
    if (opens) {
        opener_ = std::thread([this] { open_devices(); });
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
    // The first opener, which has ended, was the one to make others.
    for (std::thread &opener : further_openers_) {
        opener.join();
    }
}

std::unique_ptr<Queue> Engines::new_queue(EngineName name) {
    const bool is_host = name == EngineName::host;
    const std::uint32_t places = is_host ? places_on_host(threads_a_host()) : places_on_device;
    const std::uint32_t joint_calls = is_host ? places : joint_calls_on_device;
    auto queue = std::make_unique<Queue>(
        watcher_, Queue::Settings{places, options_.joint_calls > 0 ? options_.joint_calls : joint_calls});
    queue->set_limit(queue_limit_);
    return queue;
}

void Engines::use_emulated_devices(std::uint32_t count) {
    identify_devices_ = [count](std::vector<DeviceIdentity> *devices) {
        for (std::uint32_t number = 0; number < count; ++number) {
            devices->push_back({static_cast<std::int32_t>(number), "", "emulated"});
        }
        return Status{};
    };
    open_device_ = [this](const EngineOptions &wanted, std::unique_ptr<Engine> *engine) {
        auto emulated_device = std::make_unique<EmulatedEngine>(wanted.device);
        EngineOptions options;
        options.threads = static_cast<std::int32_t>(threads_);
        const Status status = emulated_device->open(options);
        *engine = std::move(emulated_device);
        return status;
    };
}

// Several engines share the threads and the memory that one would have.
void Engines::open_host_engines(const Options &options, std::uint64_t default_memory) {
    hosts_ = std::clamp<std::uint32_t>(options.host_engines, 1, max_engines / 2);
    EngineOptions engine_options;
    engine_options.threads = static_cast<std::int32_t>(threads_a_host());
    for (EngineId id = 0; id < hosts_; ++id) {
        Place &place = places_[id];
        place.default_limit = default_memory / hosts_;
        place.device = hosts_ > 1 ? static_cast<std::int32_t>(id) : -1;
        place.identity.device = place.device;
        require_ok(host::open_engine(engine_options, &place.engine));
        place.queue = new_queue(EngineName::host);
        apply_limit(place, EngineName::host);
        place.state = State::ready;
    }
}

// ---- devices ----------------------------------------------------------------------------------------------

// Keeps the reason, and logs it if it is new.
void Engines::keep_reason(Place &place, const char *reason) {
    const std::lock_guard lock(mutex_);
    if (place.reason != reason) {
        // The main thread must not end for want of memory for words, which the log has as well.
        static_cast<void>(guarded([&] {
            place.reason = reason;
            return Status{};
        }));
        if (place.device > 0) {
            log_warning("no cuda engine on device %d: %s", place.device, reason);
        } else {
            log_line("no cuda engine: %s", reason);
        }
    }
}

// Returns false when the server is stopping.
bool Engines::wait_for_retry(std::chrono::milliseconds pause) {
    std::unique_lock lock(mutex_);
    return !ending_.wait_for(lock, pause, [this] { return stopping_; });
}

// The first device takes the place that stood for all of them. Called by the first opener only.
void Engines::add_place(const DeviceIdentity &identity, const std::string &why_absent) {
    const bool is_first = !std::exchange(has_found_devices_, true);
    const EngineId id = is_first ? hosts_ : count_.load();
    if (id == max_engines) {
        log_warning("device %d is not used: the server has %u engines at most", identity.device, max_engines);
        return;
    }
    Place &place = places_[id];
    {
        const std::lock_guard lock(mutex_);
        place.identity = identity;
        place.device = identity.device;
        if (!is_first) {
            place.queue = new_queue(EngineName::cuda);
        }
    }
    if (!is_first) {
        place.opening_since = Clock::now();
        place.state = State::opening;
    }
    if (!why_absent.empty()) {
        keep_reason(place, why_absent.c_str());
        place.state = State::absent;
        place.is_missing = true;
    }
    if (!is_first) {
        ++count_;
    }
}

void Engines::find_devices() {
    NamedDevice named[device_list::max_devices];
    const char *wrong = nullptr;
    const int names = read_device_list(options_.devices.c_str(), named, device_list::max_devices, &wrong);
    std::vector<DeviceIdentity> present;
    const bool are_known = identify_devices_ && identify_devices_(&present).ok() && !present.empty();
    if (!are_known) {
        // Opening the device will tell why there is none, and be tried again.
        const std::int32_t number = names > 0 ? std::max(named[0].device, 0) : 0;
        add_place({number, "", ""}, {});
        return;
    }
    for (int i = 0; i < names; ++i) {
        const auto found = std::find_if(present.begin(), present.end(), [&](const DeviceIdentity &device) {
            return device_list::names(named[i], device);
        });
        if (found != present.end()) {
            add_place(*found, {});
        } else {
            DeviceIdentity absent{named[i].device, "", ""};
            std::snprintf(absent.uuid, sizeof(absent.uuid), "%s", named[i].uuid_digits);
            add_place(absent, "pg_gpu.devices names " + word_of(named[i]) + ", and there is no such device");
        }
    }
    for (std::size_t i = 0; names <= 0 && i < present.size(); ++i) {
        add_place(present[i], {});
    }
}

void Engines::open_devices() noexcept {
    const Status status = guarded([this] {
        find_devices();
        const EngineRange devices = of(EngineName::cuda);
        for (const EngineId id : devices) {
            if (id != devices.first() && !places_[id].is_missing) {
                further_openers_.emplace_back([this, id] { open_device(places_[id]); });
            }
        }
        return Status{};
    });
    if (!status.ok()) {
        log_warning("not all devices are opened: %s", status.message);
    }
    // Its state doesn't matter: what takes long counts as absent, and goes on.
    if (!places_[hosts_].is_missing) {
        open_device(places_[hosts_]);
    }
}

void Engines::open_device(Place &place) noexcept {
    const Status status = guarded([this, &place] {
        std::chrono::milliseconds pause(options_.first_retry_milliseconds);
        bool opened = try_to_open(place);
        while (!opened && wait_for_retry(pause)) {
            pause = std::min(2 * pause, std::chrono::milliseconds(options_.longest_retry_milliseconds));
            opened = try_to_open(place);
        }
        return Status{};
    });
    if (!status.ok()) {
        log_warning("opening the device is not tried again: %s", status.message);
    }
}

// The limit may be chosen anew meanwhile. Whoever chooses one stores it before applying it, so the last look
// finds it.
void Engines::apply_limit(Place &place, EngineName name) {
    const std::atomic<std::uint64_t> &chosen_limit = chosen_limit_[static_cast<std::size_t>(name)];
    std::uint64_t chosen;
    do {
        chosen = chosen_limit;
        const std::uint64_t limit = chosen > 0 ? chosen : place.default_limit;
        if (limit != place.engine->memory().limit()) {
            place.lacked = false;
        }
        place.engine->memory().set_limit(limit);
    } while (chosen != chosen_limit);
}

bool Engines::try_to_open(Place &place) {
    const auto mebibytes = [](std::uint64_t bytes) -> unsigned long long { return bytes >> 20; };
    EngineOptions options;
    options.device = place.device;
    Status status = open_device_(options, &place.engine);
    DeviceInfo info{};
    if (status.ok()) {
        status = place.engine->describe(&info);
    }
    if (!status.ok()) {
        place.engine.reset();
        keep_reason(place, status.message);
        place.state = State::absent;
        return false;
    }
    place.default_limit = info.memory_free / device_memory_share;
    apply_limit(place, EngineName::cuda);
    place.state = State::ready;
    apply_limit(place, EngineName::cuda);
    log_line(
        "engine cuda: device %d, %s, compute capability %d.%d, %llu MiB of %llu MiB free, limit %llu MiB",
        info.device, info.name, info.compute_capability_major, info.compute_capability_minor,
        mebibytes(info.memory_free), mebibytes(info.memory_total), mebibytes(place.engine->memory().limit()));
    return true;
}

// ---- states -----------------------------------------------------------------------------------------------

Engines::State Engines::state(EngineName name) const noexcept {
    // The better, the earlier.
    constexpr State order[] = {State::ready, State::opening, State::lost, State::absent};
    const State *best = std::end(order) - 1;
    for (const EngineId id : of(name)) {
        best = std::min<const State *>(best, std::find(order, best, state(id)));
    }
    return *best;
}

std::uint64_t Engines::reserved_free(EngineId id) const noexcept {
    return places_[id].lacked ? places_[id].engine->memory().limit() / reserved_free_of_memory : 0;
}

bool Engines::is_opening() const noexcept {
    bool opening = false;
    for (const EngineId id : of(EngineName::cuda)) {
        opening = opening || state(id) == State::opening;
    }
    return opening;
}

Engine *Engines::get(EngineId id) noexcept {
    Place &place = places_[id];
    const State state = place.state.load();
    return state == State::ready || state == State::lost ? place.engine.get() : nullptr;
}

DeviceIdentity Engines::identity_of(EngineId id) {
    const std::lock_guard lock(mutex_);
    return places_[id].identity;
}

std::string Engines::reason(EngineId id) {
    if (state(id) != State::absent && state(id) != State::lost) {
        return {};
    }
    const std::lock_guard lock(mutex_);
    return places_[id].reason;
}

std::string Engines::reason(EngineName name) {
    std::string why;
    for (const EngineId id : of(name)) {
        why = why.empty() ? reason(id) : why;
    }
    return why;
}

void Engines::notice_slow_openings() {
    for (const EngineId id : of(EngineName::cuda)) {
        Place &place = places_[id];
        State opening = State::opening;
        if (Clock::now() - place.opening_since >=
                std::chrono::milliseconds(options_.slow_opening_milliseconds) &&
            place.state.compare_exchange_strong(opening, State::absent)) {
            keep_reason(place, "opening the device takes very long; it goes on");
        }
    }
}

void Engines::set_memory_limit(EngineName name, std::uint64_t bytes) {
    chosen_limit_[static_cast<std::size_t>(name)] = bytes;
    for (const EngineId id : of(name)) {
        if (get(id) != nullptr) {
            apply_limit(places_[id], name);
        }
    }
}

void Engines::set_queue_limit(std::uint32_t limit) {
    const std::lock_guard lock(mutex_);
    queue_limit_ = limit > 0 ? limit : default_queue_limit;
    for (Place &place : places_) {
        if (place.queue != nullptr) {
            place.queue->set_limit(queue_limit_);
        }
    }
}

void Engines::break_last() noexcept {
    for (EngineId id = count_; id > 0; --id) {
        if (state(id - 1) == State::ready && !places_[id - 1].broken.exchange(true)) {
            return;
        }
    }
}

bool Engines::lose_if_broken(EngineId id, const char *why) noexcept {
    Place &place = places_[id];
    if (place.state.load() != State::ready || (!place.broken && place.engine->probe().ok())) {
        return false;
    }
    State ready = State::ready;
    if (!place.state.compare_exchange_strong(ready, State::lost)) {
        return false;
    }
    static_cast<void>(guarded([&] {
        const std::lock_guard lock(mutex_);
        place.reason = why;
        return Status{};
    }));
    return true;
}

}  // namespace gpu_engine::server
