// Requests for the server's state and settings, and for the transfer buffer.
#include <unistd.h>

#include <cstdio>
#include <unordered_set>

#include "server/requests/request.h"

namespace gpu_engine::server {

using protocol::EngineName;

namespace {

constexpr EngineName engine_names[] = {EngineName::host, EngineName::cuda};

std::uint32_t bit(EngineName name) {
    return 1U << static_cast<std::uint32_t>(name);
}

// Writes rows for the session. `list(rows, capacity)` fills them in and returns how many there are.
template <typename Row, typename ListRows>
void handle_list(Work &work, const protocol::List &request, protocol::ListReply &reply, ListRows list) {
    const std::uint64_t capacity = request.capacity / sizeof(Row);
    Row *rows = capacity > 0 ? work.connection.buffer.part<Row>(request.offset, capacity) : nullptr;
    reply.rows = list(rows, capacity);
    Server &server = work.server();
    Engines &engines = server.engines();
    for (const EngineId id : engines.all()) {
        if (Engine *engine = engines.get(id)) {
            const auto i = static_cast<std::size_t>(engines.name_of(id));
            reply.memory_used[i] += engine->memory().used();
            reply.memory_limit[i] += engine->memory().limit();
            reply.queued += engines.queue(id).waiting();
        }
    }
    reply.transfer_used = server.transfer_memory().used();
    reply.transfer_limit = server.transfer_memory().limit();
    reply.connections = server.connections();
}

}  // namespace

void handle_ping(Work &work, const protocol::RequestHeader &, protocol::HelloReply &reply) {
    Engines &engines = work.server().engines();
    reply.version = protocol::version;
    reply.process = getpid();
    for (const EngineName name : engine_names) {
        switch (engines.state(name)) {
            case Engines::State::ready:
                reply.engines |= bit(name);
                break;
            case Engines::State::opening:
                reply.opening |= bit(name);
                break;
            case Engines::State::absent:
            case Engines::State::lost:
                break;
        }
    }
    reply.start = work.server().start_number();
    reply.threads = engines.threads();
}

void handle_state(Work &work, const protocol::RequestHeader &, protocol::StateReply &reply) {
    Server &server = work.server();
    Engines &engines = server.engines();
    std::snprintf(reply.version, sizeof(reply.version), "%s", PG_GPU_VERSION);
    reply.started_at = server.started_at();
    reply.process = getpid();
    reply.connections = server.connections();
    reply.transfer_used = server.transfer_memory().used();
    reply.transfer_limit = server.transfer_memory().limit();
    for (const EngineName name : engine_names) {
        protocol::EngineStanding &standing = reply.engines[static_cast<std::size_t>(name)];
        standing.state = static_cast<std::uint32_t>(engines.state(name));
        for (const EngineId id : engines.of(name)) {
            standing.waiting += engines.queue(id).waiting();
            standing.busy += engines.queue(id).turned_away();
            if (Engine *engine = engines.get(id)) {
                standing.memory_used += engine->memory().used();
                standing.memory_limit += engine->memory().limit();
            }
            const MirrorCounts counts = server.mirrors().counts(id);
            standing.loads += counts.loads;
            standing.evictions += counts.evictions;
            standing.refusals += counts.refusals;
        }
    }
    std::snprintf(reply.why_no_device, sizeof(reply.why_no_device), "%s",
                  engines.reason(EngineName::cuda).c_str());
}

void handle_configure(Work &work, const protocol::Configure &request, protocol::ReplyHeader &) {
    Server &server = work.server();
    Engines &engines = server.engines();
    for (const EngineName name : engine_names) {
        engines.set_memory_limit(name, request.memory_limit[static_cast<std::size_t>(name)]);
    }
    for (const EngineId id : engines.all()) {
        if (Engine *engine = engines.get(id)) {
            server.mirrors().shrink(id, engine->memory());
        }
    }
    server.set_transfer_limit(request.transfer_limit);
    engines.set_queue_limit(request.queue_limit);
}

void handle_attach(Work &work, const protocol::Attach &request, protocol::ReplyHeader &) {
    check(work.connection.buffer.attach(work.connection.passed, request.bytes,
                                        work.server().transfer_memory()));
}

void handle_evict(Work &work, const protocol::Evict &request, protocol::EvictReply &reply) {
    work.server().mirrors().evict(request.name, &reply.mirrors, &reply.bytes);
}

void handle_keep_runs(Work &work, const protocol::KeepRuns &request, protocol::EvictReply &reply) {
    // The ids are copied, since the session may change the buffer meanwhile.
    const auto *ids = work.connection.buffer.part<std::uint64_t>(request.offset, request.count);
    const std::unordered_set<std::uint64_t> listed(ids, ids + request.count);
    work.server().mirrors().keep(request.name, listed, request.listed_at, &reply.mirrors, &reply.bytes);
}

void handle_mirrors(Work &work, const protocol::List &request, protocol::ListReply &reply) {
    handle_list<protocol::MirrorRow>(work, request, reply, [&](auto *rows, std::uint64_t capacity) {
        const Engines &engines = work.server().engines();
        return work.server().mirrors().list(rows, capacity,
                                            [&engines](EngineId id) { return engines.device_of(id); });
    });
}

void handle_statistics(Work &work, const protocol::List &request, protocol::ListReply &reply) {
    handle_list<protocol::StatisticsRow>(work, request, reply, [&](auto *rows, std::uint64_t capacity) {
        return work.server().statistics().list(rows, capacity, request.reset != 0);
    });
}

namespace {

template <std::size_t size>
void copy_text(char (&to)[size], const char *from) {
    std::snprintf(to, size, "%s", from);
}

// Returns false for what is no device: the host's engine, and the place of devices that nobody has found.
bool describe_device(Server &server, EngineId id, protocol::DeviceRow *row) {
    Engines &engines = server.engines();
    const DeviceIdentity identity = engines.identity_of(id);
    Engine *engine = engines.get(id);
    const bool stands_for_device = engines.name_of(id) == EngineName::host && identity.device >= 0;
    const bool is_described = engine != nullptr && engine->describe(&row->info).ok();
    const std::string why_not = engines.reason(id);
    const bool is_known = identity.pci[0] != '\0' || identity.uuid[0] != '\0';
    const bool is_missed = !server.options().devices.empty() && !why_not.empty();
    if (!is_described && !is_known && !is_missed && !stands_for_device) {
        return false;
    }
    if (!is_described) {
        row->info = {};
        row->info.device = identity.device;
        copy_text(row->info.name, stands_for_device ? "host" : "");
    }
    row->engine = static_cast<std::uint32_t>(engines.name_of(id));
    row->state = static_cast<std::uint32_t>(engines.state(id));
    copy_text(row->uuid, identity.uuid);
    copy_text(row->pci, identity.pci);
    copy_text(row->why_not, why_not.c_str());
    if (engine != nullptr) {
        row->memory_used = engine->memory().used();
        row->memory_limit = engine->memory().limit();
    }
    return true;
}

}  // namespace

void handle_devices(Work &work, const protocol::List &request, protocol::ListReply &reply) {
    handle_list<protocol::DeviceRow>(work, request, reply, [&](auto *rows, std::uint64_t capacity) {
        Engines &engines = work.server().engines();
        std::uint64_t row = 0;
        for (const EngineId id : engines.all()) {
            protocol::DeviceRow device{};
            if (!describe_device(work.server(), id, &device)) {
                continue;
            }
            if (row < capacity) {
                rows[row] = device;
            }
            ++row;
        }
        return row;
    });
}

void handle_inject(Work &work, const protocol::Inject &request, protocol::ReplyHeader &) {
    if (!work.server().options().testing) {
        refuse("the server was not started for tests");
    }
    Engines &engines = work.server().engines();
    const EngineRange range = engines.of(work.engine_name);
    const EngineId id = range.first() + request.number;
    Engine *engine = request.number < range.size() ? engines.get(id) : nullptr;
    if (engine == nullptr) {
        refuse("the server has no such engine");
    }
    if (request.loses == protocol::lose_engine) {
        engines.break_engine(id);
    } else {
        engine->memory().refuse_after(request.refuse_after);
    }
}

}  // namespace gpu_engine::server
