// Decides who computes on an engine now, who waits, and who waits together.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gpu_engine/protocol.h"
#include "server/net/watcher.h"

namespace gpu_engine::server {

struct Work;

// A request that can be computed in one call with others of its kind. It has copies of all that the call
// reads, and room for what it writes: the call goes on when its session is gone.
class Joint {
  public:
    Joint(std::string key, std::uint32_t items) : key_(std::move(key)), items_(items) {}
    Joint(const Joint &) = delete;
    Joint &operator=(const Joint &) = delete;
    virtual ~Joint() = default;

    // Requests with equal keys can be computed in one call.
    const std::string &key() const noexcept { return key_; }
    std::uint32_t items() const noexcept { return items_; }

    // Computes this request and others with the same key, as the work of one of them. Throws what requests
    // throw; then none of them is computed.
    virtual void compute(Work &work, std::span<Joint *const> joint_group) = 0;
    // Copies the results into the session's buffer; called by the thread of the request's own session.
    virtual void deliver(Work &work) = 0;

    // The thread that computes sets when it began, and this request's share of the time.
    Clock::time_point began{};
    Clock::duration share{};

  private:
    const std::string key_;
    const std::uint32_t items_;
};

// Those whose sessions had the least of the engine so far go first, and of these the first that came
// ("Start-time Fair Queueing", Goyal, Vin, Cheng, 1996): a session with large requests waits for others'
// small ones, never the reverse for long. Of requests that can be computed together only a few calls run at a
// time; requests that wait meanwhile go into the next call. All functions may be called by any thread.
class Queue {
  public:
    enum class Result {
        admitted,  // `leave` must follow
        full,
        cancelled,
        computed,  // by another one's call
        alone,     // such a call failed: it should be tried alone
        again,     // such a call was cancelled: it should wait once more
    };
    struct Settings {
        std::uint32_t places = 1;       // requests that compute at a time
        std::uint32_t joint_calls = 1;  // number of joint calls among them, with one key
    };

    // A session's share is how much of the engine it has had, in microseconds of the queue's virtual time.
    // Only the queue reads and writes it.
    class Share {
        friend class Queue;
        double finish_ = 0;  // virtual time at which what it had last ends
    };

    Queue(Watcher &watcher, const Settings &settings);

    // Returns whether there is a place at once. `key` is empty for requests that can't be computed with
    // others.
    bool try_enter(const std::string &key, Share &share);
    // Waits for a place, or, when another request's call takes this one along, for the end of that call.
    Result enter(const Activity &activity, const std::string &key, Share &share);
    Result enter(const Activity &activity, const std::shared_ptr<Joint> &joint, Share &share);
    // Gives a place back that the session held for so long.
    void leave(const std::string &key, Share &share, Clock::duration took);
    // Notes that a session had so much of a call that another session made.
    void charge(Share &share, Clock::duration took);

    // Takes from the queue the requests that can be computed with an admitted one. `end_joint_group` must
    // follow, with computed, alone or again.
    struct Waiter;
    using JointGroup = std::vector<std::shared_ptr<Waiter>>;
    JointGroup take_joint_group(const Joint &joint);
    static Joint &joint_of(const Waiter &waiter) noexcept;
    void end_joint_group(const JointGroup &joint_group, Result result);

    // Wakes the threads that wait, so that they see whether they are cancelled.
    void wake();

    std::uint32_t waiting();
    // Returns how many requests compute now.
    std::uint32_t computing();
    // Returns how many requests were refused because too many waited.
    std::uint64_t turned_away();
    void set_limit(std::uint32_t limit);

  private:
    using Waiting = std::list<std::shared_ptr<Waiter>>;

    Result wait(const Activity &activity, const std::string &key, std::shared_ptr<Joint> joint,
                const Share &share);
    // The following are called with the mutex held.
    void insert(std::list<std::shared_ptr<Waiter>> *waiter);
    void add_to(Share &share, Clock::duration took);
    bool has_place_for(const std::string &key) const;
    void take_place(std::list<std::string> *key);
    void advance();

    Watcher &watcher_;
    const Settings settings_;
    std::mutex mutex_;
    double now_ = 0;   // virtual: when what was admitted last could have begun
    Waiting waiting_;  // by virtual time; while there are free places, of those whose key has no call left
    Waiting taken_;    // into others' calls
    std::list<std::string> running_;  // the keys of those that compute
    std::uint32_t limit_ = 0;
    std::uint64_t turned_away_ = 0;
};

}  // namespace gpu_engine::server
