// A session's connection: its buffer, its objects, and the requests it makes, one at a time.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "server/residency/load_in_parts.h"
#include "server/residency/mirrors.h"
#include "server/residency/object.h"
#include "server/requests/part_threads.h"
#include "server/queue.h"
#include "server/server.h"
#include "server/net/transfer_buffer.h"

namespace gpu_engine::server {

struct Handler;
struct Work;
class Joint;
class RunSet;

// Serves a connection until either side ends it. The caller closes the socket.
void serve_connection(Server &server, int socket, int process) noexcept;

// An object that is being loaded, which only its connection knows.
struct OwnObject {
    protocol::EngineName engine{};
    EngineId held_by = 0;
    protocol::RunName name{};   // name of the mirror that it will be
    protocol::Holder holder{};  // and whose
    Mirrors::Claim claim;
    GridPageColumns columns{};  // this and the next are for points
    GridOptions grid;
    TextShape lists{};                       // this and the next are for inverted lists
    std::uint32_t content_bytes = 0;         // content bytes of a page
    AnyLoader loader;                        // holds what has come, until it is finished
    std::unique_ptr<StringsLoader> strings;  // the same of columns' strings, where these are kept
    std::unique_ptr<LoadInParts> in_parts;   // instead of the loader, where several engines share it
};

// A query's result that the session hasn't read yet.
struct KeptRows {
    protocol::EngineName engine{};
    EngineId held_by = 0;
    std::uint64_t given = 0;
    std::unique_ptr<query::QueryResult> result;
};

class Connection {
  public:
    Connection(Server &server, int socket, int process);
    Connection(const Connection &) = delete;
    Connection &operator=(const Connection &) = delete;
    ~Connection();

    void serve();

    // Keeps a result for the next request. It takes memory of the engine, so it goes when the next request
    // isn't its reader, or doesn't come soon.
    void keep(KeptRows rows);
    // Returns an empty one where nothing is kept.
    KeptRows take_kept();
    // Returns the engine that has it, where it is of this kind's.
    std::optional<EngineId> holder_of_kept(protocol::EngineName engine) const noexcept;

    Server &server;
    TransferBuffer buffer;
    std::map<std::uint64_t, OwnObject> objects;  // by handle
    std::uint64_t last_handle = 0;
    std::uint32_t user = 0;
    // The descriptor that came with the request that is being answered.
    Descriptor passed;

  private:
    // These return false when the connection must end.
    bool result(std::size_t bytes);
    bool handle_hello(std::size_t bytes);
    // Answers the request at `request_`. Throws what the handler throws.
    void run(const Handler &handler);
    void compute(const Handler &handler);
    // The end of a request's turn on an engine.
    struct Turn {
        Clock::time_point began{};
        Clock::duration took{};
        Status status;
        bool computed = false;  // else the reply says why not
    };
    Turn take_turn(const Handler &handler, Work &work, Queue &queue);
    // Says which compute if there are several engines of the kind. Returns false when the reply says why
    // none does.
    struct Chosen;
    bool has_choice(const Handler &handler, protocol::EngineName name);
    bool choose_engines(const Handler &handler, Work &work, Chosen *chosen);
    // Decides where a load goes (placing.cpp).
    void place(const Handler &handler, Work &work, Chosen *chosen);
    // A request has found no memory to compute with on an engine: drops one of its runs there, as the reply
    // says then. Returns false where that is no use.
    bool make_way(const Handler &handler, Work work, EngineId full);
    EngineId least_waited_for(protocol::EngineName name);
    // Computes a request on several engines, and says on which a failure was.
    Turn compute_spread(const Handler &handler, Work &work, const Chosen &chosen, EngineId *failed);
    // Computes a part of it, once it has a place in its engine's queue.
    Status compute_part(Work &work, const std::function<void()> &body, bool *busy);
    void note_lost(const Work &work, EngineId lost, const Status &status);
    // Computes a request that has a place in the queue. With `joint_group` it also computes the waiting
    // requests that can be computed in the same call.
    Status compute_together(Joint &joint, bool joint_group, Work &work, Queue &queue);
    // Runs `body`, which computes on the work's engine, and turns what it throws into a status.
    template <typename Body>
    Status on_engine(Work &work, Body &&body);
    bool send(std::size_t bytes);
    Purpose purpose_of(const protocol::RequestHeader &header) const noexcept;

    void drop_kept();

    const std::uint64_t number_;  // given by the server; no other connection has it
    const int socket_;
    const int process_;
    bool greeted_ = false;
    Activity activity_;
    // A share of each engine's queue, and a stream for each, opened by the first request that computes there.
    std::array<Queue::Share, max_engines> shares_;
    std::array<std::unique_ptr<Stream>, max_engines> streams_;
    std::optional<KeptRows> kept_;
    PartThreads part_threads_;
    alignas(16) char request_[protocol::max_message];
    alignas(16) char reply_[protocol::max_message];
};

}  // namespace gpu_engine::server
