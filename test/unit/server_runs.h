// Runs with a plain reference, on a server with either engine.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <random>

#include "kary_reference.h"
#include "server_client.h"

namespace server_test {

using kary_test::make_key;

// A run's entries in order, and which of them are dead.
template <typename Key>
struct RunModel {
    std::vector<std::pair<Key, Tid>> entries;
    std::vector<bool> dead;

    std::vector<Key> keys() const {
        std::vector<Key> result;
        for (const auto &entry : entries) {
            result.push_back(entry.first);
        }
        return result;
    }
    std::vector<Tid> tids() const {
        std::vector<Tid> result;
        for (const auto &entry : entries) {
            result.push_back(entry.second);
        }
        return result;
    }
    // Live entries between two keys, in order.
    std::vector<std::pair<Key, Tid>> live(Key low, Key high) const {
        std::vector<std::pair<Key, Tid>> result;
        for (std::size_t i = 0; i < entries.size(); ++i) {
            if (low <= entries[i].first && entries[i].first <= high && (dead.empty() || !dead[i])) {
                result.push_back(entries[i]);
            }
        }
        return result;
    }
};

template <typename Key>
RunModel<Key> make_run(std::size_t size, std::uint64_t distinct, std::mt19937_64 &random) {
    RunModel<Key> run;
    for (std::size_t i = 0; i < size; ++i) {
        run.entries.emplace_back(make_key<Key>(random() % 3, random() % distinct),
                                 make_tid(random() % 5000, static_cast<std::uint16_t>(random() % 200 + 1)));
    }
    std::sort(run.entries.begin(), run.entries.end());
    return run;
}

template <typename Key>
std::vector<std::uint64_t> mark_dead(RunModel<Key> &run, double share, std::mt19937_64 &random) {
    std::vector<std::uint64_t> words((run.entries.size() + 63) / 64, 0);
    run.dead.assign(run.entries.size(), false);
    for (std::size_t i = 0; i < run.entries.size(); ++i) {
        if (static_cast<double>(random() % 1000) < 1000 * share) {
            run.dead[i] = true;
            words[i / 64] |= std::uint64_t(1) << (i % 64);
        }
    }
    return words;
}

template <EngineName Name, typename KeyType>
struct Case {
    static constexpr EngineName engine = Name;
    using Key = KeyType;
};
using Cases = testing::Types<Case<EngineName::host, std::uint32_t>, Case<EngineName::host, std::uint64_t>,
                             Case<EngineName::host, Key128>
#if !defined(PG_GPU_NO_DEVICE_TESTS)
                             ,
                             Case<EngineName::cuda, std::uint32_t>, Case<EngineName::cuda, std::uint64_t>,
                             Case<EngineName::cuda, Key128>
#endif
                             >;
struct CaseName {
    template <typename Type>
    static std::string GetName(int) {
        return (Type::engine == EngineName::host ? "host" : "cuda") +
               std::to_string(sizeof(typename Type::Key) * 8);
    }
};

template <typename Type>
class ServerWithRuns : public ServerTest {
  protected:
    using Key = typename Type::Key;
    static constexpr std::uint32_t key_bits = sizeof(Key) * 8;
    static constexpr std::uint64_t buffer_bytes = 8 << 20;

    ServerWithRuns() : ServerTest(Type::engine, buffer_bytes) {}

    // Loads runs 1, 2, … with dead entries of version 1, 2, …
    std::vector<RunModel<Key>> load_runs(std::initializer_list<std::size_t> sizes) {
        std::vector<RunModel<Key>> runs;
        for (const std::size_t size : sizes) {
            runs.push_back(make_run<Key>(size, 300, random_));
            RunModel<Key> &run = runs.back();
            EXPECT_EQ(client_->load(run_name(runs.size()), run.keys(), run.tids()), ReplyResult::done);
            const auto words = mark_dead(run, 0.2 * static_cast<double>(runs.size() % 3), random_);
            EXPECT_EQ(Client::result_of(client_->set_dead(run_name(runs.size()), words, runs.size())),
                      ReplyResult::done);
        }
        return runs;
    }
    template <typename Request>
    void name_runs(Request *request, std::size_t count) {
        request->key_bits = key_bits;
        request->runs = static_cast<std::uint32_t>(count);
        for (std::size_t i = 0; i < count; ++i) {
            request->run[i] = {run_name(i + 1), i + 1};
        }
    }
    std::vector<Key> random_keys(std::size_t count) {
        std::vector<Key> keys;
        for (std::size_t i = 0; i < count; ++i) {
            keys.push_back(make_key<Key>(this->random_() % 4, this->random_() % 310));
        }
        return keys;
    }

    // Compares what a reply says of a run with the entries expected of each item.
    void expect_entries(const protocol::ResultReply &reply, std::size_t run,
                        const std::vector<std::vector<std::pair<Key, Tid>>> &expected, bool with_keys) {
        const auto *offsets = client_->template at<std::uint64_t>(reply.offsets_at[run]);
        const auto *tids = client_->template at<Tid>(reply.tids_at[run]);
        const auto *keys = client_->template at<Key>(reply.keys_at[run]);
        std::uint64_t offset = 0;
        for (std::size_t i = 0; i < expected.size(); ++i) {
            ASSERT_EQ(offsets[i], offset) << "run " << run << ", item " << i;
            for (const auto &[key, tid] : expected[i]) {
                ASSERT_EQ(tids[offset], tid);
                if (with_keys) {
                    ASSERT_TRUE(keys[offset] == key);
                }
                ++offset;
            }
        }
        ASSERT_EQ(offsets[expected.size()], offset);
    }
};

}  // namespace server_test
