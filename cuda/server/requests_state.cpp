// What the server tells of itself, its settings, and the transfer buffer.
#include <unistd.h>

#include <cstdio>
#include <unordered_set>

#include "server/request.h"

#include "gpu_engine/boundary.h"

namespace gpu_engine::server {

using protocol::EngineName;

namespace {

constexpr EngineName engine_names[] = {EngineName::host, EngineName::cuda};

std::uint32_t bit(EngineName name) {
    return 1U << static_cast<std::uint32_t>(name);
}

// Writes rows for the session. `list(rows, capacity)` fills them in and returns how many there are.
template <typename Row, typename ListRows>
void answer_list(Work &work, const protocol::List &request, protocol::ListReply &reply, ListRows list) {
    const std::uint64_t capacity = request.capacity / sizeof(Row);
    Row *rows = capacity > 0 ? work.connection.buffer.part<Row>(request.offset, capacity) : nullptr;
    reply.rows = list(rows, capacity);
    Server &server = work.server();
    for (const EngineName name : engine_names) {
        if (Engine *engine = server.engines().get(name)) {
            const auto i = static_cast<std::size_t>(name);
            reply.memory_used[i] = engine->memory().used();
            reply.memory_limit[i] = engine->memory().limit();
            reply.queued += server.engines().queue(name).waiting();
        }
    }
    reply.transfer_used = server.transfer_memory().used();
    reply.transfer_limit = server.transfer_memory().limit();
    reply.connections = server.connections();
}

}  // namespace

void answer_ping(Work &work, const protocol::RequestHeader &, protocol::HelloReply &reply) {
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

void answer_state(Work &work, const protocol::RequestHeader &, protocol::StateReply &reply) {
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
        standing.waiting = engines.queue(name).waiting();
        standing.busy = engines.queue(name).turned_away();
        if (Engine *engine = engines.get(name)) {
            standing.memory_used = engine->memory().used();
            standing.memory_limit = engine->memory().limit();
        }
        const MirrorCounts counts = server.mirrors().counts(name);
        standing.loads = counts.loads;
        standing.evictions = counts.evictions;
        standing.refusals = counts.refusals;
    }
    std::snprintf(reply.why_no_device, sizeof(reply.why_no_device), "%s",
                  engines.why_absent(EngineName::cuda).c_str());
}

void answer_configure(Work &work, const protocol::Configure &request, protocol::ReplyHeader &) {
    Server &server = work.server();
    for (const EngineName name : engine_names) {
        server.engines().set_memory_limit(name, request.memory_limit[static_cast<std::size_t>(name)]);
        if (Engine *engine = server.engines().get(name)) {
            server.mirrors().shrink(name, engine->memory());
        }
    }
    server.set_transfer_limit(request.transfer_limit);
    server.engines().set_queue_limit(request.queue_limit);
}

void answer_attach(Work &work, const protocol::Attach &request, protocol::ReplyHeader &) {
    check(work.connection.buffer.attach(work.connection.passed, request.bytes,
                                        work.server().transfer_memory()));
}

void answer_evict(Work &work, const protocol::Evict &request, protocol::EvictReply &reply) {
    work.server().mirrors().evict(request.name, &reply.mirrors, &reply.bytes);
}

void answer_keep_runs(Work &work, const protocol::KeepRuns &request, protocol::EvictReply &reply) {
    // The ids are copied, since the session may change the buffer meanwhile.
    const auto *ids = work.connection.buffer.part<std::uint64_t>(request.offset, request.count);
    const std::unordered_set<std::uint64_t> listed(ids, ids + request.count);
    work.server().mirrors().keep(request.name, listed, request.listed_at, &reply.mirrors, &reply.bytes);
}

void answer_mirrors(Work &work, const protocol::List &request, protocol::ListReply &reply) {
    answer_list<protocol::MirrorRow>(work, request, reply, [&](auto *rows, std::uint64_t capacity) {
        return work.server().mirrors().list(rows, capacity, work.server().engines().device());
    });
}

void answer_statistics(Work &work, const protocol::List &request, protocol::ListReply &reply) {
    answer_list<protocol::StatisticsRow>(work, request, reply, [&](auto *rows, std::uint64_t capacity) {
        return work.server().statistics().list(rows, capacity, request.reset != 0);
    });
}

void answer_devices(Work &work, const protocol::List &request, protocol::ListReply &reply) {
    answer_list<protocol::DeviceRow>(work, request, reply, [&](auto *rows, std::uint64_t capacity) {
        std::uint64_t row = 0;
        for (const EngineName name : engine_names) {
            Engine *engine = work.server().engines().get(name);
            protocol::DeviceRow device{};
            if (engine != nullptr && engine->describe(&device.info).ok()) {
                device.engine = static_cast<std::uint32_t>(name);
                if (row < capacity) {
                    rows[row] = device;
                }
                ++row;
            }
        }
        return row;
    });
}

void answer_inject(Work &work, const protocol::Inject &request, protocol::ReplyHeader &) {
    if (!work.server().options().testing) {
        refuse("the server was not started for tests");
    }
    Engine *engine = work.server().engines().get(work.engine_name);
    if (engine == nullptr) {
        refuse("the server has no such engine");
    }
    engine->memory().refuse_after(request.refuse_after);
}

}  // namespace gpu_engine::server
