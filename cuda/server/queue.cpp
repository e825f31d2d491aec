#include "server/queue.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <iterator>
#include <utility>

namespace gpu_engine::server {
namespace {

// The most items of one call. A device that has so many at once has enough to do, and nobody waits long for
// the others.
constexpr std::uint32_t max_items = 512;

}  // namespace

// A request that waits. Whoever takes it into a call shares it, because its own thread may leave earlier.
struct Queue::Waiter {
    enum class State { waiting, taken, left, done };

    std::list<std::string> key;    // until it is admitted, in a list of one for `running_`
    std::shared_ptr<Joint> joint;  // null: not to be computed with others
    double start = 0;              // virtual time: not before its session's turn
    State state = State::waiting;
    Result result = Result::admitted;  // once it is done
    std::condition_variable changed;

    void end(Result its_result) {
        assert(state == State::waiting || state == State::taken);
        state = State::done;
        result = its_result;
        changed.notify_one();
    }
};

Queue::Queue(Watcher &watcher, const Settings &settings) : watcher_(watcher), settings_(settings) {}

Joint &Queue::joint_of(const Waiter &waiter) noexcept {
    return *waiter.joint;
}

// ---- entering and leaving ---------------------------------------------------------------------------------

bool Queue::has_place_for(const std::string &key) const {
    return running_.size() < settings_.places &&
           (key.empty() || std::count(running_.begin(), running_.end(), key) < settings_.joint_calls);
}

// The key comes in a list of its own, so that nothing is allocated here.
void Queue::take_place(std::list<std::string> *key) {
    assert(key->size() == 1);
    running_.splice(running_.end(), *key);
}

bool Queue::try_enter(const std::string &key, Share &share) {
    std::list<std::string> own = {key};
    const std::lock_guard lock(mutex_);
    if (!has_place_for(key)) {
        return false;
    }
    now_ = std::max(now_, share.finish_);
    take_place(&own);
    return true;
}

Queue::Result Queue::enter(const Activity &activity, const std::string &key, Share &share) {
    return wait(activity, key, nullptr, share);
}

Queue::Result Queue::enter(const Activity &activity, const std::shared_ptr<Joint> &joint, Share &share) {
    return wait(activity, joint->key(), joint, share);
}

// Inserts the waiter behind all whose turn comes no later.
void Queue::insert(std::list<std::shared_ptr<Waiter>> *waiter) {
    assert(waiter->size() == 1);
    auto place = waiting_.end();
    while (place != waiting_.begin() && (*std::prev(place))->start > waiter->front()->start) {
        --place;
    }
    waiting_.splice(place, *waiter);
}

Queue::Result Queue::wait(const Activity &activity, const std::string &key, std::shared_ptr<Joint> joint,
                          const Share &share) {
    const auto waiter = std::make_shared<Waiter>();
    waiter->key = {key};
    waiter->joint = std::move(joint);
    std::list<std::shared_ptr<Waiter>> own = {waiter};
    std::unique_lock lock(mutex_);
    waiter->start = std::max(now_, share.finish_);
    if (has_place_for(key)) {
        now_ = waiter->start;
        take_place(&waiter->key);
        return Result::admitted;
    }
    if (waiting_.size() >= limit_) {
        ++turned_away_;
        return Result::full;
    }
    insert(&own);
    // Asking the activity takes the watcher's mutex while this one is held; the watcher never does the
    // reverse.
    waiter->changed.wait(
        lock, [&] { return waiter->state == Waiter::State::done || watcher_.cancelled(activity); });
    if (waiter->state == Waiter::State::done) {
        return waiter->result;
    }
    if (waiter->state == Waiter::State::taken) {
        taken_.remove(waiter);
    } else {
        waiting_.remove(waiter);
    }
    waiter->state = Waiter::State::left;
    return Result::cancelled;
}

void Queue::add_to(Share &share, Clock::duration took) {
    share.finish_ = std::max(now_, share.finish_) + std::chrono::duration<double, std::micro>(took).count();
}

void Queue::charge(Share &share, Clock::duration took) {
    const std::lock_guard lock(mutex_);
    add_to(share, took);
}

void Queue::leave(const std::string &key, Share &share, Clock::duration took) {
    const std::lock_guard lock(mutex_);
    add_to(share, took);
    const auto place = std::find(running_.begin(), running_.end(), key);
    assert(place != running_.end());
    running_.erase(place);
    advance();
}

// ---- those that wait --------------------------------------------------------------------------------------

void Queue::advance() {
    for (auto i = waiting_.begin(); i != waiting_.end() && running_.size() < settings_.places;) {
        Waiter &waiter = **i;
        if (!has_place_for(waiter.key.front())) {
            ++i;
            continue;
        }
        now_ = std::max(now_, waiter.start);
        take_place(&waiter.key);
        waiter.end(Result::admitted);
        i = waiting_.erase(i);
    }
}

// ---- joint groups -----------------------------------------------------------------------------------------

Queue::JointGroup Queue::take_joint_group(const Joint &joint) {
    JointGroup joint_group;
    const std::lock_guard lock(mutex_);
    joint_group.reserve(waiting_.size());
    std::uint32_t items = joint.items();
    for (auto i = waiting_.begin(); i != waiting_.end();) {
        const auto place = i++;
        Waiter &waiter = **place;
        if (waiter.joint == nullptr || waiter.joint->key() != joint.key() ||
            items + waiter.joint->items() > max_items) {
            continue;
        }
        items += waiter.joint->items();
        joint_group.push_back(*place);
        waiter.state = Waiter::State::taken;
        taken_.splice(taken_.end(), waiting_, place);
    }
    return joint_group;
}

void Queue::end_joint_group(const JointGroup &joint_group, Result result) {
    const std::lock_guard lock(mutex_);
    for (const std::shared_ptr<Waiter> &waiter : joint_group) {
        if (waiter->state == Waiter::State::taken) {
            taken_.remove(waiter);
            waiter->end(result);
        }
    }
}

// ---- looking on -------------------------------------------------------------------------------------------

void Queue::wake() {
    // The mutex is held, so that no thread is between looking and waiting.
    const std::lock_guard lock(mutex_);
    for (const Waiting *waiters : {&waiting_, &taken_}) {
        for (const std::shared_ptr<Waiter> &waiter : *waiters) {
            waiter->changed.notify_one();
        }
    }
}

std::uint64_t Queue::turned_away() {
    const std::lock_guard lock(mutex_);
    return turned_away_;
}

std::uint32_t Queue::waiting() {
    const std::lock_guard lock(mutex_);
    return static_cast<std::uint32_t>(waiting_.size());
}

std::uint32_t Queue::computing() {
    const std::lock_guard lock(mutex_);
    return static_cast<std::uint32_t>(running_.size());
}

void Queue::set_limit(std::uint32_t limit) {
    const std::lock_guard lock(mutex_);
    limit_ = limit;
}

}  // namespace gpu_engine::server
