// The queue by itself: places and joint calls.
#include "server/queue.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using gpu_engine::server::Activity;
using gpu_engine::server::Clock;
using gpu_engine::server::Joint;
using gpu_engine::server::Queue;
using gpu_engine::server::Watcher;
using gpu_engine::server::Work;

class Anything final : public Joint {
  public:
    using Joint::Joint;
    void compute(Work &, std::span<Joint *const>) override {}
    void deliver(Work &) override {}
};

// A session that waits in a thread of its own.
class Someone {
  public:
    Someone(Queue &queue, Watcher &watcher, std::shared_ptr<Joint> joint, Queue::Share *share = nullptr)
        : watcher_(watcher), joint_(std::move(joint)), share_(share != nullptr ? *share : own_share_) {
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets_), 0);
        watcher_.add(activity_, sockets_[0]);
        watcher_.begin(activity_, request_, Clock::time_point::max());
        thread_ = std::thread([this, &queue] {
            result_ = joint_ != nullptr ? queue.enter(activity_, joint_, share_)
                                        : queue.enter(activity_, "", share_);
        });
    }
    ~Someone() {
        if (thread_.joinable()) {
            thread_.join();
        }
        watcher_.remove(activity_, sockets_[0]);
        close(sockets_[0]);
        close(sockets_[1]);
    }
    Queue::Result result() {
        thread_.join();
        return result_;
    }
    void go_away() { shutdown(sockets_[1], SHUT_RDWR); }

  private:
    Watcher &watcher_;
    const gpu_engine::protocol::RequestHeader request_{};
    std::shared_ptr<Joint> joint_;
    Activity activity_;
    Queue::Share own_share_;
    Queue::Share &share_;
    int sockets_[2];
    Queue::Result result_ = Queue::Result::full;
    std::thread thread_;
};

class QueueTest : public testing::Test {
  protected:
    void make(const Queue::Settings &settings) {
        queue_ = std::make_unique<Queue>(watcher_, settings);
        queue_->set_limit(100);
    }
    static std::shared_ptr<Joint> joint(const std::string &key, std::uint32_t items = 1) {
        return std::make_shared<Anything>(key, items);
    }
    // Another session waits, too.
    std::unique_ptr<Someone> wait(std::shared_ptr<Joint> joint) {
        const std::uint32_t before = queue_->waiting();
        auto someone = std::make_unique<Someone>(*queue_, watcher_, std::move(joint));
        while (queue_->waiting() == before) {
            std::this_thread::sleep_for(1ms);
        }
        return someone;
    }

    Watcher watcher_{[this] { queue_->wake(); }, [] {}, 1min};
    std::unique_ptr<Queue> queue_;
    Queue::Share share_;
};

TEST_F(QueueTest, CallsOfAKeyAreCountedApart) {
    make({.places = 3, .joint_calls = 1});
    EXPECT_TRUE(queue_->try_enter("a", share_));
    EXPECT_FALSE(queue_->try_enter("a", share_));
    EXPECT_TRUE(queue_->try_enter("b", share_));
    EXPECT_TRUE(queue_->try_enter("", share_));
    EXPECT_FALSE(queue_->try_enter("", share_)) << "no place is left";
    queue_->leave("", share_, 0ms);
    EXPECT_TRUE(queue_->try_enter("c", share_));
    queue_->leave("a", share_, 0ms);
    EXPECT_FALSE(queue_->try_enter("b", share_));
    EXPECT_TRUE(queue_->try_enter("a", share_));
}

TEST_F(QueueTest, TheFirstTakesItsLike) {
    make({.places = 2, .joint_calls = 1});
    ASSERT_TRUE(queue_->try_enter("a", share_));
    const auto leading = joint("a");
    const auto first = wait(leading);
    const auto second = wait(joint("a"));
    const auto other = wait(joint("a", 511));
    ASSERT_TRUE(queue_->try_enter("b", share_)) << "a place is free, though some wait";
    const auto third = wait(joint("b"));
    queue_->leave("a", share_, 0ms);
    EXPECT_EQ(first->result(), Queue::Result::admitted);
    // With 511 the call would have too many items, and the third request has another key.
    const Queue::JointGroup joint_group = queue_->take_joint_group(*leading);
    ASSERT_EQ(joint_group.size(), 1U);
    EXPECT_EQ(queue_->waiting(), 2U);
    queue_->end_joint_group(joint_group, Queue::Result::computed);
    EXPECT_EQ(second->result(), Queue::Result::computed);
    queue_->leave("a", share_, 0ms);
    EXPECT_EQ(other->result(), Queue::Result::admitted);
    queue_->leave("b", share_, 0ms);
    EXPECT_EQ(third->result(), Queue::Result::admitted);
}

TEST_F(QueueTest, WhoIsTakenMayLeave) {
    make({.places = 1});
    ASSERT_TRUE(queue_->try_enter("a", share_));
    const auto leading = joint("a");
    const auto first = wait(leading);
    const auto second = wait(joint("a"));
    const auto third = wait(joint("a"));
    queue_->leave("a", share_, 0ms);
    EXPECT_EQ(first->result(), Queue::Result::admitted);
    const Queue::JointGroup joint_group = queue_->take_joint_group(*leading);
    ASSERT_EQ(joint_group.size(), 2U);
    second->go_away();
    EXPECT_EQ(second->result(), Queue::Result::cancelled);
    queue_->end_joint_group(joint_group, Queue::Result::again);
    EXPECT_EQ(third->result(), Queue::Result::again);
    // Ended again, as after an exception: nothing happens.
    queue_->end_joint_group(joint_group, Queue::Result::alone);
    EXPECT_EQ(queue_->waiting(), 0U);
}

// A session that had much of the engine waits for sessions that had little, however many requests it has.
// Among equals the first that comes is served first.
TEST_F(QueueTest, ThoseWhoHadLittleGoFirst) {
    make({.places = 1, .joint_calls = 1});
    Queue::Share greedy;
    ASSERT_TRUE(queue_->try_enter("", greedy));
    queue_->leave("", greedy, 10s);
    ASSERT_TRUE(queue_->try_enter("", share_));
    const auto enter = [&](Queue::Share &share) {
        const std::uint32_t before = queue_->waiting();
        auto someone = std::make_unique<Someone>(*queue_, watcher_, nullptr, &share);
        while (queue_->waiting() == before) {
            std::this_thread::sleep_for(1ms);
        }
        return someone;
    };
    Queue::Share modest;
    Queue::Share other;
    const auto last = enter(greedy);
    const auto first = enter(modest);
    const auto second = enter(other);
    queue_->leave("", share_, 0ms);
    EXPECT_EQ(first->result(), Queue::Result::admitted);
    EXPECT_EQ(queue_->waiting(), 2U);
    queue_->leave("", modest, 1ms);
    EXPECT_EQ(second->result(), Queue::Result::admitted);
    // Meanwhile the first session comes again. It had a millisecond, which still is less than ten seconds.
    const auto again = enter(modest);
    queue_->leave("", other, 1ms);
    EXPECT_EQ(again->result(), Queue::Result::admitted);
    queue_->leave("", modest, 20s);
    EXPECT_EQ(last->result(), Queue::Result::admitted);
    queue_->leave("", greedy, 0ms);
}

}  // namespace
