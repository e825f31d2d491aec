// Who computes on an engine now, who waits, and who waits together.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gpu_engine/protocol.h"
#include "server/dispatcher.h"
#include "server/watcher.h"

namespace gpu_engine::server {

struct Work;

// A request that can be computed in one call with others of its kind. It has copies of all that the call
// reads, and room for what it writes: the call goes on when its session is gone.
class Joint {
  public:
    Joint(std::string key, std::uint32_t items, const protocol::ExpectedCost &cost)
        : key_(std::move(key)), items_(items), cost_(cost) {}
    Joint(const Joint &) = delete;
    Joint &operator=(const Joint &) = delete;
    virtual ~Joint() = default;

    // Those with equal keys go together.
    const std::string &key() const noexcept { return key_; }
    std::uint32_t items() const noexcept { return items_; }
    const protocol::ExpectedCost &cost() const noexcept { return cost_; }

    // Computes this one and others of the same key, as the work of one of them. Throws what requests throw;
    // then none of them is computed.
    virtual void compute(Work &work, std::span<Joint *const> company) = 0;
    // Hands the results over, in the thread of the request's own session.
    virtual void deliver(Work &work) = 0;

    // Set by who computes: when, and this one's share of the time.
    Clock::time_point began{};
    Clock::duration share{};

  private:
    const std::string key_;
    const std::uint32_t items_;
    const protocol::ExpectedCost cost_;
};

// Those whose sessions had the least of the engine so far go first, and of these the first that came
// ("Start-time Fair Queueing", Goyal, Vin, Cheng, 1996): a session with large requests waits for others'
// small ones, never the reverse for long. Requests that can be computed together are admitted by few calls at
// a time; those that wait meanwhile go into the next one. Some go back to their sessions, which compute on
// pages: what the dispatcher takes for the processor. All functions may be called by any thread.
class Queue {
  public:
    enum class Result {
        admitted,  // `leave` must follow
        full,
        cancelled,
        elsewhere,  // its session had better compute it
        computed,   // by another one's call
        alone,      // such a call failed: it should be tried without company
        again,      // such a call was cancelled: it should wait once more
    };
    struct Settings {
        std::uint32_t places = 1;       // requests that compute at a time
        std::uint32_t joint_calls = 1;  // of them, with one key
        std::uint32_t processors = 0;   // for sessions to compute on
    };

    // What a session has had of the engine, in microseconds of the queue's virtual time; the queue's to read
    // and write.
    class Share {
        friend class Queue;
        double finish_ = 0;  // of what it had last
    };

    Queue(Watcher &watcher, const Settings &settings);

    // Whether there is a place at once. `key` is empty for requests that can't be computed with others.
    bool try_enter(const std::string &key, Share &share);
    // Waits for a place. A request that was taken into another one's call waits for its end.
    Result enter(const Activity &activity, const std::string &key, Share &share);
    Result enter(const Activity &activity, const std::shared_ptr<Joint> &joint, Share &share);
    // A place is free again, of which the session had so much.
    void leave(const std::string &key, Share &share, Clock::duration took);
    // The session had so much of another one's call.
    void charge(Share &share, Clock::duration took);

    // Others that wait and that can be computed with an admitted one, taken from the queue. `end_company`
    // must follow, with computed, alone or again.
    struct Waiter;
    using Company = std::vector<std::shared_ptr<Waiter>>;
    Company take_company(const Joint &joint);
    static Joint &joint_of(const Waiter &waiter) noexcept;
    void end_company(const Company &company, Result result);

    // Those who wait look whether they are cancelled.
    void wake();

    std::uint32_t waiting();
    void set_limit(std::uint32_t limit);

  private:
    using Waiting = std::list<std::shared_ptr<Waiter>>;

    Result wait(const Activity &activity, const std::string &key, std::shared_ptr<Joint> joint,
                const Share &share);
    // These have the mutex.
    void insert(std::list<std::shared_ptr<Waiter>> *waiter);
    void add_to(Share &share, Clock::duration took);
    bool has_place_for(const std::string &key) const;
    void take_place(std::list<std::string> *key);
    void dispatch(Waiter *waiter);
    void advance();
    void give_back();

    Watcher &watcher_;
    const Settings settings_;
    std::mutex mutex_;
    double now_ = 0;   // virtual: when what was admitted last could have begun
    Waiting waiting_;  // by virtual time; while there are free places, of those whose key has no call left
    Waiting taken_;    // into others' calls
    std::list<std::string> running_;  // the keys of those that compute
    std::uint32_t limit_ = 0;
    Dispatcher dispatcher_;           // those that wait and may go elsewhere
    std::vector<double> busy_until_;  // each processor, as far as is known
    std::uint64_t last_job_ = 0;
};

}  // namespace gpu_engine::server
