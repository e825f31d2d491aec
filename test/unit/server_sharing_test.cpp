// Sessions whose searches wait at the same time share a call of the engine, and nothing else.
#include <atomic>
#include <thread>

#include "server/requests/request.h"
#include "server_text.h"

namespace {

using namespace server_test;
using gpu_engine::server::joint_key;
using gpu_engine::server::Options;
using gpu_engine::server::Queue;

class ServerSharing : public ServerText {
  protected:
    static constexpr std::size_t sessions = 6;

    // At a time.
    static Options one_call() {
        Options options;
        options.joint_calls = 1;
        return options;
    }
    ServerSharing() : ServerText(one_call()) {}

    void SetUp() override {
        ServerText::SetUp();
        skip_on_several_engines();
        if (IsSkipped()) {
            return;
        }
        for (const std::uint32_t documents : {20000U, 905U}) {
            runs_.push_back(make_text_run(postings::Codec::Bitpack, documents, random_));
            load(runs_.size(), runs_.back());
            kill_some(runs_.size(), &runs_.back());
            ASSERT_FALSE(HasFatalFailure());
        }
        EngineRequest engine_request;
        for (std::size_t i = 0; i < sessions; ++i) {
            clients_.push_back(std::make_unique<Client>(server_.path(), GetParam()));
            ASSERT_EQ(Client::result_of(clients_[i]->attach(buffer_bytes)), ReplyResult::done);
            do {
                engine_request = make_request(runs_, 1);
            } while (engine_request.terms[0].empty());
            engine_requests_.push_back(engine_request);
            requests_.push_back(place(*clients_[i], engine_requests_[i]));
        }
    }

    Queue &queue() { return server_->engines().queue(server_->engines().of(GetParam()).first()); }
    // Nobody gets to compute until `release`.
    void hold() { ASSERT_TRUE(queue().try_enter(joint_key(requests_[0]), holder_)); }
    void release() { queue().leave(joint_key(requests_[0]), holder_, {}); }
    Queue::Share holder_;
    void send(std::size_t i) { ASSERT_TRUE(clients_[i]->send_request(Message::search_text, &requests_[i])); }
    void send_all_and_wait() {
        for (std::size_t i = 0; i < sessions; ++i) {
            send(i);
        }
        ASSERT_TRUE(wait_until([&] { return queue().waiting() == sessions; }));
    }
    protocol::ResultReply receive(std::size_t i) {
        protocol::ResultReply reply;
        EXPECT_TRUE(clients_[i]->receive_reply(&reply));
        return reply;
    }
    void check(std::size_t i) {
        check_result(runs_, engine_requests_[i], requests_[i], receive(i), *clients_[i]);
    }

    std::vector<TextRun> runs_;
    std::vector<std::unique_ptr<Client>> clients_;
    std::vector<EngineRequest> engine_requests_;
    std::vector<protocol::SearchText> requests_;
};

TEST_P(ServerSharing, AnswersAreTheirOwn) {
    for (int round = 0; round < 10; ++round) {
        hold();
        send_all_and_wait();
        release();
        for (std::size_t i = 0; i < sessions; ++i) {
            check(i);
            engine_requests_[i] = make_request(runs_, 1 + static_cast<std::size_t>(round) % 3);
            // Searches that want few hits are computed together, those that want many are not.
            for (auto &queries : engine_requests_[i].queries) {
                for (TextQuery &query : queries) {
                    query.k = 1 + query.k % 100;
                }
            }
            requests_[i] = place(*clients_[i], engine_requests_[i]);
        }
    }
}

// The joint call is refused memory. Without a joint call the first session's own call would have been
// refused.
TEST_P(ServerSharing, WithoutMemoryForAllEachComputesAlone) {
    hold();
    send_all_and_wait();
    server_->engines().host().memory().refuse_after(0);
    release();
    for (std::size_t i = 0; i < sessions; ++i) {
        check(i);
    }
}

// What sessions learn of a path depends on who else computed.
TEST_P(ServerSharing, AReplySaysHowManyOthersWereComputed) {
    send(0);
    EXPECT_EQ(receive(0).header.others, 0U);
    ASSERT_TRUE(queue().try_enter({}, holder_));
    send(0);
    EXPECT_EQ(receive(0).header.others, 1U);
    queue().leave({}, holder_, {});
    send(0);
    EXPECT_EQ(receive(0).header.others, 0U);
}

TEST_P(ServerSharing, AnErrorIsOnesOwn) {
    clients_[1]->at<TextTerm>(requests_[1].terms)[0].weight = -1;
    hold();
    send_all_and_wait();
    release();
    for (std::size_t i = 0; i < sessions; ++i) {
        if (i == 1) {
            EXPECT_EQ(receive(i).header.status.code, StatusCode::invalid_argument);
        } else {
            check(i);
        }
    }
}

TEST_P(ServerSharing, WhoLeavesTakesNobodyAlong) {
    hold();
    send(0);
    ASSERT_TRUE(wait_until([&] { return queue().waiting() == 1; }));
    clients_[2]->deadline_ms = 50;
    for (std::size_t i = 1; i < sessions; ++i) {
        send(i);
    }
    const protocol::ResultReply late = receive(2);
    EXPECT_TRUE(wait_until([&] { return queue().waiting() == sessions - 1; }));
    // The first would have computed for all.
    clients_[0]->disconnect();
    EXPECT_EQ(late.header.status.code, StatusCode::cancelled);
    EXPECT_TRUE(wait_until([&] { return queue().waiting() == sessions - 2; }));
    release();
    for (const std::size_t i : {1, 3, 4, 5}) {
        check(i);
    }
    clients_[2]->deadline_ms = 0;
    send(2);
    check(2);
    EXPECT_TRUE(wait_until([&] { return server_->connections() == sessions; }));
}

// Sessions come and go, make errors and run out of time, while nothing controls when.
TEST_P(ServerSharing, UnderDisturbances) {
    std::vector<std::thread> threads;
    std::atomic<int> answered{0};
    for (std::size_t i = 0; i < sessions; ++i) {
        threads.emplace_back([&, i] {
            Random random(i);
            for (int round = 0; round < 60; ++round) {
                Client &client = *clients_[i];
                protocol::SearchText request = place(client, engine_requests_[i]);
                const auto disturbance = random() % 8;
                client.deadline_ms = disturbance == 0 ? 1 : 0;
                if (disturbance == 1) {
                    client.at<TextTerm>(request.terms)[0].weight = -1;
                }
                ASSERT_TRUE(client.send_request(Message::search_text, &request));
                if (disturbance == 2) {
                    clients_[i] = std::make_unique<Client>(server_.path(), GetParam());
                    ASSERT_EQ(Client::result_of(clients_[i]->attach(buffer_bytes)), ReplyResult::done);
                    continue;
                }
                protocol::ResultReply reply;
                ASSERT_TRUE(client.receive_reply(&reply));
                if (disturbance == 1) {
                    ASSERT_EQ(reply.header.status.code, StatusCode::invalid_argument);
                } else if (disturbance != 0 || reply.header.status.code != StatusCode::cancelled) {
                    check_result(runs_, engine_requests_[i], request, reply, client);
                    ++answered;
                }
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    EXPECT_GT(answered, 100);
    EXPECT_TRUE(wait_until([&] { return server_->connections() == sessions + 1; }));
    EXPECT_EQ(queue().waiting(), 0U);
    EXPECT_EQ(server_.given_up(), 0);
}

INSTANTIATE_TEST_SUITE_P(Engines, ServerSharing, every_engine(), engine_of);

}  // namespace
