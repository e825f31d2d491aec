#include "server/net/connection.h"

#include <pthread.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "gpu_engine/current_request.h"
#include "server/faults.h"
#include "server/residency/chosen.h"
#include "server/log.h"
#include "server/requests/request.h"
#include "server/requests/run_set.h"
#include "server/requests/spread.h"

namespace gpu_engine::server {
namespace {

using protocol::EngineName;
using protocol::Message;
using protocol::ReplyHeader;
using protocol::ReplyResult;
using protocol::RequestHeader;

std::uint64_t microseconds_of(Clock::duration duration) {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(duration).count());
}

// Groups are kept so long for a session that doesn't go on reading them.
constexpr int kept_milliseconds = 10000;

// A place in the queue, which is given back when this ends.
struct Place {
    Queue &queue;
    const std::string &key;
    Queue::Share &share;
    Clock::time_point began;
    ~Place() { queue.leave(key, share, Clock::now() - began); }
};

// The requests that were taken into one's call. They are told how it ended, whatever its end.
struct JointGroupTaken {
    Queue &queue;
    Queue::JointGroup joint_group;
    Queue::Result result = Queue::Result::alone;
    ~JointGroupTaken() { queue.end_joint_group(joint_group, result); }
};

void fail(ReplyHeader *reply, const Status &status) {
    reply->result = static_cast<std::uint32_t>(ReplyResult::failed);
    reply->status = status;
}

void fail(ReplyHeader *reply, StatusCode code, const char *message) {
    fail(reply, make_status(code, message));
}

}  // namespace

void serve_connection(Server &server, int socket, int process) noexcept {
    char name[16];  // has the length that the kernel takes
    std::snprintf(name, sizeof(name), "session %d", process);
    pthread_setname_np(pthread_self(), name);
    const FaultStack stack;
    const Status status = guarded([&] {
        const auto connection = std::make_unique<Connection>(server, socket, process);
        connection->serve();
        return Status{};
    });
    if (!status.ok()) {
        log_warning("the connection of process %d ends: %s", process, status.message);
    }
}

Connection::Connection(Server &its_server, int socket, int process)
    : server(its_server), number_(its_server.number_connection()), socket_(socket), process_(process) {
    server.watcher().add(activity_, socket_);
}

Connection::~Connection() {
    server.watcher().remove(activity_, socket_);
}

void Connection::serve() {
    for (;;) {
        std::size_t bytes = 0;
        switch (receive_message(socket_, request_, sizeof(request_), &bytes, &passed)) {
            case Received::message:
                break;
            case Received::closed:
                return;
            case Received::too_late:
                if (greeted_) {
                    drop_kept();
                    continue;
                }
                log_warning("process %d hasn't said hello: its connection is closed", process_);
                return;
            case Received::too_long:
                log_warning("process %d sent a message that is too long: its connection is closed", process_);
                return;
        }
        if (!(greeted_ ? result(bytes) : handle_hello(bytes))) {
            return;
        }
        passed = {};
    }
}

bool Connection::send(std::size_t bytes) {
    reinterpret_cast<ReplyHeader *>(reply_)->bytes = static_cast<std::uint32_t>(bytes);
    return send_message(socket_, reply_, bytes);
}

void Connection::keep(KeptRows rows) {
    if (!kept_) {
        set_timeout(socket_, SO_RCVTIMEO, kept_milliseconds);
    }
    kept_ = std::move(rows);
}

KeptRows Connection::take_kept() {
    KeptRows taken = kept_ ? std::move(*kept_) : KeptRows{};
    drop_kept();
    return taken;
}

std::optional<EngineId> Connection::holder_of_kept(protocol::EngineName engine) const noexcept {
    return kept_ && kept_->engine == engine ? std::optional(kept_->held_by) : std::nullopt;
}

void Connection::drop_kept() {
    kept_.reset();
    set_timeout(socket_, SO_RCVTIMEO, 0);
}

namespace {

// Begins the reply to a request with a whole header.
void begin_reply(const char *request, char *reply, std::size_t bytes) {
    const auto *header = reinterpret_cast<const RequestHeader *>(request);
    std::memset(reply, 0, bytes);
    auto *reply_header = reinterpret_cast<ReplyHeader *>(reply);
    reply_header->magic = protocol::magic;
    reply_header->type = header->type;
    reply_header->request = header->request;
}

bool is_message(const char *request, std::size_t bytes) {
    const auto *header = reinterpret_cast<const RequestHeader *>(request);
    return bytes >= sizeof(RequestHeader) && header->magic == protocol::magic && header->bytes == bytes;
}

}  // namespace

bool Connection::handle_hello(std::size_t bytes) {
    const auto *hello = reinterpret_cast<const protocol::Hello *>(request_);
    if (!is_message(request_, bytes) || static_cast<Message>(hello->header.type) != Message::hello) {
        log_warning("process %d sent something else than hello: its connection is closed", process_);
        return false;
    }
    auto *reply = reinterpret_cast<protocol::HelloReply *>(reply_);
    begin_reply(request_, reply_, sizeof(*reply));
    if (bytes != sizeof(*hello) || hello->version != protocol::version ||
        hello->layout != protocol::message_layout) {
        log_warning("process %d is of another version: its connection is closed", process_);
        reply->header.result = static_cast<std::uint32_t>(ReplyResult::mismatch);
        reply->version = protocol::version;
        static_cast<void>(send(sizeof(*reply)));
        return false;
    }
    greeted_ = true;
    user = hello->user;
    set_timeout(socket_, SO_RCVTIMEO, 0);
    Work work{*this, EngineName::host, 0};
    handle_ping(work, hello->header, *reply);
    return send(sizeof(*reply));
}

bool Connection::result(std::size_t bytes) {
    const auto *header = reinterpret_cast<const RequestHeader *>(request_);
    if (!is_message(request_, bytes)) {
        log_warning("process %d sent garbage: its connection is closed", process_);
        return false;
    }
    auto *reply = reinterpret_cast<ReplyHeader *>(reply_);
    const Handler *handler = find_handler(header->type);
    begin_reply(request_, reply_, handler != nullptr ? handler->reply_bytes : sizeof(ReplyHeader));
    if (handler == nullptr || header->engine >= protocol::engine_count) {
        fail(reply, StatusCode::invalid_argument, "there is no such request, or no such engine");
        return send(sizeof(ReplyHeader));
    }
    if (bytes != handler->request_bytes) {
        fail(reply, StatusCode::invalid_argument, "the request hasn't the size of its structure");
        return send(handler->reply_bytes);
    }
    const Clock::time_point deadline = header->deadline_ms == 0
                                           ? Clock::time_point::max()
                                           : Clock::now() + std::chrono::milliseconds(header->deadline_ms);
    if (kept_ && static_cast<Message>(header->type) != Message::read_query) {
        drop_kept();
    }
    server.watcher().begin(activity_, *header, deadline);
    try {
        const OnRequest on(handler->computes ? header : nullptr);
        run(*handler);
    } catch (const Failure &failure) {
        fail(reply, failure.status);
    } catch (const std::bad_alloc &) {
        fail(reply, StatusCode::out_of_memory, "out of memory");
    } catch (const std::exception &exception) {
        fail(reply, StatusCode::internal, exception.what());
    }
    if (reply->status.code == StatusCode::cancelled && server.watcher().too_late(activity_)) {
        fail(reply, StatusCode::cancelled, "the request's time is up");
    }
    server.watcher().end(activity_);
    return send(handler->reply_bytes);
}

Purpose Connection::purpose_of(const RequestHeader &header) const noexcept {
    return {number_, header.purpose, header.forced != 0};
}

void Connection::run(const Handler &handler) {
    if (handler.computes) {
        compute(handler);
        return;
    }
    const auto *header = reinterpret_cast<const RequestHeader *>(request_);
    const auto name = static_cast<EngineName>(header->engine);
    Work work{*this, name, server.engines().of(name).first()};
    work.purpose = purpose_of(*header);
    handler.run(work, request_, reply_);
}

void Connection::compute(const Handler &handler) {
    const auto *header = reinterpret_cast<const RequestHeader *>(request_);
    auto *reply = reinterpret_cast<ReplyHeader *>(reply_);
    const auto name = static_cast<EngineName>(header->engine);
    Engines &engines = server.engines();
    const EngineRange range = engines.of(name);
    Work work{*this, name, range.first()};
    work.purpose = purpose_of(*header);
    Chosen chosen;
    if (has_choice(handler, name) && engines.state(name) == Engines::State::ready &&
        !choose_engines(handler, work, &chosen)) {
        return;
    }
    work.engine = engines.get(work.id);
    if (work.engine == nullptr) {
        if (engines.state(name) == Engines::State::opening) {
            reply->result = static_cast<std::uint32_t>(ReplyResult::busy);
        } else {
            const std::string why = engines.reason(name);
            fail(reply, StatusCode::unavailable,
                 why.empty() ? "the server has no such engine" : ("no cuda engine: " + why).c_str());
        }
        return;
    }

    const Clock::time_point arrived = Clock::now();
    const std::uint32_t others = engines.queue(work.id).computing();
    Turn turn;
    EngineId computed_on = work.id;
    const Status status = guarded([&] {
        turn = chosen.engines.size() > 1 ? compute_spread(handler, work, chosen, &computed_on)
                                         : take_turn(handler, work, engines.queue(work.id));
        return turn.status;
    });
    if (status.ok() && !turn.computed) {
        return;
    }
    if (turn.computed) {
        const auto bit = [](EngineName kind) {
            return static_cast<std::uint16_t>(1U << static_cast<unsigned>(kind));
        };
        reply->engines = chosen.engines.empty() ? bit(name) : std::uint16_t(0);
        for (const EngineId id : chosen.engines) {
            reply->engines |= bit(engines.name_of(id));
        }
        reply->queued_microseconds = microseconds_of(turn.began - arrived);
        reply->microseconds = microseconds_of(turn.took);
        reply->others = std::max(others, engines.queue(work.id).computing());
    }
    if (status.code == StatusCode::out_of_memory && make_way(handler, work, computed_on)) {
        // The session loads it, and asks again.
    } else if (!status.ok()) {
        fail(reply, status);
    }
    server.statistics().add(name, static_cast<Message>(header->type), user,
                            {work.items, work.bytes, reply->microseconds,
                             static_cast<ReplyResult>(reply->result) != ReplyResult::done});
    if (status.code == StatusCode::internal || status.code == StatusCode::unavailable) {
        note_lost(work, computed_on, status);
    }
}

// An engine that can't go on ends alone where there are others of its kind: what it had is loaded again, by
// whoever asks next.
void Connection::note_lost(const Work &work, EngineId lost, const Status &status) {
    Engines &engines = server.engines();
    if (engines.lose_if_broken(lost, status.message)) {
        log_warning("engine %s is lost: %s", engines.get(lost)->name(), status.message);
        if (engines.state(engines.name_of(lost)) != Engines::State::ready) {
            server.give_up("an engine is lost");
        }
    }
    if (engines.state(lost) != Engines::State::lost ||
        engines.state(work.engine_name) != Engines::State::ready) {
        return;
    }
    // A load that was under way then may have put a mirror there since.
    server.mirrors().clear(lost);
    if (work.found == nullptr) {
        return;
    }
    auto *reply = reinterpret_cast<ReplyHeader *>(reply_);
    reply->status = Status{};
    reply->result = static_cast<std::uint32_t>(ReplyResult::not_resident);
    for (std::size_t i = 0; i < work.found->size(); ++i) {
        if (work.found->is_on(i, lost)) {
            reply->lacking |= std::uint64_t(1) << i;
        }
    }
}

// ---- one of several engines -------------------------------------------------------------------------------

bool Connection::has_choice(const Handler &handler, EngineName name) {
    Engines &engines = server.engines();
    if (engines.of(name).size() > 1) {
        return true;
    }
    // Runs that a device has no room for lie with the host engine.
    return engines.overflow_of(name) && (handler.load_size != nullptr || handler.holders != nullptr ||
                                         (handler.find_runs != nullptr && server.mirrors().has_overflow()));
}

bool Connection::choose_engines(const Handler &handler, Work &work, Chosen *chosen) {
    auto *reply = reinterpret_cast<ReplyHeader *>(reply_);
    std::vector<EngineId> &ids = chosen->engines;
    if (handler.find_runs != nullptr) {
        chosen->found.emplace(handler.find_runs(work, request_, *reply));
        const RunSet &found = *chosen->found;
        if (!found.complete()) {
            return false;
        }
        work.found = &found;
        const auto take_if_requested = [&](EngineId id) {
            bool is_requested = false;
            for (std::size_t i = 0; i < found.size() && !is_requested; ++i) {
                is_requested = found.is_on(i, id);
            }
            if (is_requested) {
                ids.push_back(id);
            }
        };
        // Those of another kind are the last ones, since groups are merged on the first.
        for (const bool is_overflow : {false, true}) {
            for (const EngineId id : server.engines().all()) {
                if ((server.engines().name_of(id) != work.engine_name) == is_overflow) {
                    take_if_requested(id);
                }
            }
        }
    } else if (handler.holders != nullptr) {
        ids = handler.holders(work, request_);
    } else if (handler.load_size != nullptr) {
        place(handler, work, chosen);
    }
    if (ids.empty()) {
        ids.push_back(least_waited_for(work.engine_name));
    }
    if (ids.size() > 1 && handler.spread == nullptr) {
        refuse("the array is in parts on several engines");
    }
    work.id = ids.front();
    work.shares = chosen->shares.empty() ? nullptr : &chosen->shares;
    if (chosen->found) {
        chosen->found->set_here(work.id);
    }
    return true;
}

EngineId Connection::least_waited_for(EngineName name) {
    Engines &engines = server.engines();
    std::optional<EngineId> best;
    std::uint32_t fewest = 0;
    for (const EngineId id : engines.of(name)) {
        if (engines.state(id) != Engines::State::ready) {
            continue;
        }
        const std::uint32_t waiting = engines.queue(id).waiting();
        if (!best || waiting < fewest) {
            best = id;
            fewest = waiting;
        }
    }
    return best.value_or(engines.of(name).first());
}

Connection::Turn Connection::compute_spread(const Handler &handler, Work &work, const Chosen &chosen,
                                            EngineId *failed) {
    std::vector<Work> parts;
    for (const EngineId id : chosen.engines) {
        Work part = work;
        part.id = id;
        part.engine = server.engines().get(part.id);
        parts.push_back(part);
    }
    // Here, where no other part's thread does. The first one is a device, if any is.
    if (server.engines().name_of(chosen.engines.front()) == EngineName::cuda) {
        buffer.pin(*work.engine);
    }
    Turn turn;
    turn.began = Clock::now();
    turn.computed = true;
    Spread spread(
        work, std::move(parts),
        [this](Work &part, const std::function<void()> &body, bool *busy) {
            return compute_part(part, body, busy);
        },
        [this](std::size_t count, const std::function<void(std::size_t)> &body) {
            part_threads_.run(count, body);
        });
    try {
        handler.spread(spread, request_, reply_);
    } catch (const Busy &) {
        reinterpret_cast<ReplyHeader *>(reply_)->result = static_cast<std::uint32_t>(ReplyResult::busy);
        turn.computed = false;
        return turn;
    } catch (const Failure &failure) {
        turn.status = failure.status;
        *failed = spread.work(spread.failed()).id;
    }
    turn.took = Clock::now() - turn.began;
    return turn;
}

Status Connection::compute_part(Work &work, const std::function<void()> &body, bool *busy) {
    return guarded([&] {
        const std::string key;
        Queue &queue = server.engines().queue(work.id);
        Queue::Share &share = shares_[work.id];
        if (!queue.try_enter(key, share)) {
            switch (queue.enter(activity_, key, share)) {
                case Queue::Result::admitted:
                    break;
                case Queue::Result::full:
                    *busy = true;
                    return Status{};
                default:
                    return make_status(StatusCode::cancelled, "cancelled while it waited");
            }
        }
        const Place place{queue, key, share, Clock::now()};
        return on_engine(work, body);
    });
}

// ---- one engine's queue -----------------------------------------------------------------------------------

Connection::Turn Connection::take_turn(const Handler &handler, Work &work, Queue &queue) {
    auto *reply = reinterpret_cast<ReplyHeader *>(reply_);
    std::string key = handler.joint_key != nullptr ? handler.joint_key(request_) : std::string();
    std::shared_ptr<Joint> joint;
    bool joint_group = true;
    auto result = Queue::Result::admitted;
    Queue::Share &share = shares_[work.id];
    if (!queue.try_enter(key, share)) {
        if (!key.empty()) {
            joint = handler.join(work, request_, reply_);
            if (static_cast<ReplyResult>(reply->result) != ReplyResult::done) {
                return {};
            }
            if (joint == nullptr) {
                key.clear();
            }
        }
        do {
            result =
                joint != nullptr ? queue.enter(activity_, joint, share) : queue.enter(activity_, key, share);
        } while (result == Queue::Result::again);
        if (result == Queue::Result::alone) {
            joint_group = false;
            result = queue.enter(activity_, key, share);
        }
    }
    Turn turn;
    switch (result) {
        case Queue::Result::full:
            reply->result = static_cast<std::uint32_t>(ReplyResult::busy);
            return {};
        case Queue::Result::computed:
            turn = {joint->began, joint->share, {}, true};
            queue.charge(share, joint->share);
            break;
        case Queue::Result::admitted: {
            turn.began = Clock::now();
            const Place place{queue, key, share, turn.began};
            turn.computed = true;
            turn.status = joint != nullptr ? compute_together(*joint, joint_group, work, queue)
                                           : on_engine(work, [&] { handler.run(work, request_, reply_); });
            turn.took = joint != nullptr && turn.status.ok() ? joint->share : Clock::now() - turn.began;
            break;
        }
        case Queue::Result::cancelled:
        case Queue::Result::again:
        case Queue::Result::alone:
            fail(reply, StatusCode::cancelled, "cancelled while it waited");
            return {};
    }
    if (joint != nullptr && turn.status.ok()) {
        joint->deliver(work);
    }
    return turn;
}

// Tells the watcher that a request no longer computes on a stream.
struct OnStream {
    Watcher &watcher;
    Activity &activity;
    Stream *stream;
    ~OnStream() { watcher.leaves(activity, stream); }
};

template <typename Body>
Status Connection::on_engine(Work &work, Body &&body) {
    return guarded([&] {
        if (server.engines().is_broken(work.id)) {
            return make_status(StatusCode::unavailable, "the engine was broken for a test");
        }
        std::unique_ptr<Stream> &stream = streams_[work.id];
        if (stream == nullptr) {
            check(work.engine->open_stream(&stream));
        }
        if (server.engines().name_of(work.id) == EngineName::cuda) {
            buffer.pin(*work.engine);
        }
        work.stream = stream.get();
        server.watcher().computes_on(activity_, stream.get());
        const OnStream on{server.watcher(), activity_, stream.get()};
        body();
        return Status{};
    });
}

Status Connection::compute_together(Joint &joint, bool joint_group, Work &work, Queue &queue) {
    JointGroupTaken taken{queue, joint_group ? queue.take_joint_group(joint) : Queue::JointGroup()};
    std::vector<Joint *> joints = {&joint};
    std::uint64_t items = joint.items();
    for (const auto &waiter : taken.joint_group) {
        joints.push_back(&Queue::joint_of(*waiter));
        items += joints.back()->items();
    }
    const Clock::time_point began = Clock::now();
    const Status status = on_engine(work, [&] { joint.compute(work, joints); });
    if (status.ok()) {
        const Clock::duration took = Clock::now() - began;
        for (Joint *computed : joints) {
            computed->began = began;
            computed->share = took * computed->items() / items;
        }
        taken.result = Queue::Result::computed;
        return status;
    }
    if (status.code == StatusCode::cancelled) {
        // The session of this request has cancelled it. The requests of the others go back to the queue.
        taken.result = Queue::Result::again;
        return status;
    }
    if (joints.size() == 1) {
        return status;
    }
    // At least one of the requests is to blame, and each is tried alone to find out which.
    queue.end_joint_group(taken.joint_group, Queue::Result::alone);
    taken.joint_group.clear();
    return on_engine(work, [&] { joint.compute(work, std::span(joints).first(1)); });
}

}  // namespace gpu_engine::server
