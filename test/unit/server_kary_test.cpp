// Lookup, range and count against a plain reference.
#include <map>

#include "heap_facts.h"
#include "server_runs.h"

namespace {

using namespace server_test;

template <typename Type>
using ServerRequests = ServerWithRuns<Type>;
TYPED_TEST_SUITE(ServerRequests, Cases, CaseName);

TYPED_TEST(ServerRequests, LookupOfManyRuns) {
    using Key = typename TypeParam::Key;
    const std::vector<RunModel<Key>> runs = this->load_runs({3000, 0, 1, 700, 20000});
    const std::vector<Key> keys = this->random_keys(400);
    protocol::LookupKary request{};
    this->name_runs(&request, runs.size());
    request.keys = 4096;
    request.count = keys.size();
    request.results = 65536;
    request.capacity = this->buffer_bytes - request.results;
    std::copy(keys.begin(), keys.end(), this->client_->template at<Key>(request.keys));
    const auto reply = this->client_->template call<protocol::ResultReply>(Message::lookup_kary, request);
    ASSERT_EQ(Client::result_of(reply.header), ReplyResult::done) << reply.header.status.message;
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        std::vector<std::vector<std::pair<Key, Tid>>> expected;
        for (const Key key : keys) {
            expected.push_back(runs[i].live(key, key));
            total += expected.back().size();
        }
        this->expect_entries(reply, i, expected, false);
        ASSERT_FALSE(this->HasFatalFailure());
    }
    EXPECT_EQ(reply.tids, total);
    EXPECT_GT(total, 0U);

    // Exactly as much room as is needed, and 16 bytes less.
    request.capacity = reply.needed;
    const auto tight = this->client_->template call<protocol::ResultReply>(Message::lookup_kary, request);
    EXPECT_EQ(Client::result_of(tight.header), ReplyResult::done) << tight.header.status.message;
    EXPECT_EQ(tight.needed, reply.needed);
    request.capacity -= 16;
    const auto small = this->client_->template call<protocol::ResultReply>(Message::lookup_kary, request);
    EXPECT_EQ(small.header.status.code, StatusCode::insufficient_space);
    EXPECT_EQ(small.needed, reply.needed);
    EXPECT_EQ(small.tids, total);
}

// Without offsets, in each form; some keys come twice.
TYPED_TEST(ServerRequests, LookupWithoutOffsets) {
    using Key = typename TypeParam::Key;
    using protocol::LookupForm;
    const std::vector<RunModel<Key>> runs = this->load_runs({3000, 0, 1, 700, 20000});
    for (const std::size_t count : {std::size_t(400), std::size_t(1), std::size_t(0)}) {
        std::vector<Key> keys = this->random_keys(count);
        if (count > 10) {
            std::copy_n(keys.begin(), 5, keys.begin() + 5);
        }
        protocol::LookupKary request{};
        this->name_runs(&request, runs.size());
        request.keys = 4096;
        request.count = count;
        std::copy(keys.begin(), keys.end(), this->client_->template at<Key>(request.keys));
        for (const LookupForm form : {LookupForm::numbered, LookupForm::tids, LookupForm::number}) {
            SCOPED_TRACE("form " + std::to_string(static_cast<int>(form)) + ", " + std::to_string(count));
            request.form = static_cast<std::uint32_t>(form);
            request.results = 65536;
            request.capacity = this->buffer_bytes - request.results;
            const auto reply =
                this->client_->template call<protocol::ResultReply>(Message::lookup_kary, request);
            ASSERT_EQ(Client::result_of(reply.header), ReplyResult::done) << reply.header.status.message;
            std::uint64_t total = 0;
            for (std::size_t i = 0; i < runs.size(); ++i) {
                std::vector<std::pair<std::uint32_t, std::string>> expected;
                std::vector<std::pair<std::uint32_t, std::string>> found;
                const bool numbered = form == LookupForm::numbered;
                const auto bytes_of = [](const Tid &tid) {
                    return std::string(reinterpret_cast<const char *>(&tid), sizeof(tid));
                };
                for (std::size_t item = 0; item < count; ++item) {
                    for (const auto &[key, tid] : runs[i].live(keys[item], keys[item])) {
                        expected.emplace_back(numbered ? item : 0, bytes_of(tid));
                    }
                }
                ASSERT_EQ(reply.found[i], expected.size());
                total += expected.size();
                for (std::size_t entry = 0; form != LookupForm::number && entry < expected.size(); ++entry) {
                    const auto *items = this->client_->template at<std::uint32_t>(reply.keys_at[i]);
                    found.emplace_back(numbered ? items[entry] : 0,
                                       bytes_of(this->client_->template at<Tid>(reply.tids_at[i])[entry]));
                }
                std::sort(expected.begin(), expected.end());
                std::sort(found.begin(), found.end());
                ASSERT_TRUE(form == LookupForm::number || found == expected) << "run " << i;
            }
            EXPECT_EQ(reply.tids, total);
            EXPECT_EQ(reply.needed == 0, form == LookupForm::number || total == 0);

            // Exactly as much room as is needed, and 16 bytes less.
            request.capacity = reply.needed;
            const auto tight =
                this->client_->template call<protocol::ResultReply>(Message::lookup_kary, request);
            EXPECT_EQ(Client::result_of(tight.header), ReplyResult::done) << tight.header.status.message;
            EXPECT_EQ(tight.needed, reply.needed);
            if (reply.needed > 0) {
                request.capacity -= 16;
                const auto small =
                    this->client_->template call<protocol::ResultReply>(Message::lookup_kary, request);
                EXPECT_EQ(small.header.status.code, StatusCode::insufficient_space);
                EXPECT_EQ(small.needed, reply.needed);
                EXPECT_EQ(small.tids, total);
            }
        }
        request.form = 4;
        EXPECT_EQ(this->client_->template call<protocol::ResultReply>(Message::lookup_kary, request)
                      .header.status.code,
                  StatusCode::invalid_argument);
    }
}

TYPED_TEST(ServerRequests, RangesWithAndWithoutKeys) {
    using Key = typename TypeParam::Key;
    const std::vector<RunModel<Key>> runs = this->load_runs({3000, 0, 1, 700, 20000});
    for (const std::size_t count : {std::size_t(1), std::size_t(0), std::size_t(60)}) {
        for (const bool with_keys : {false, true}) {
            SCOPED_TRACE(std::to_string(count) + (with_keys ? " ranges with keys" : " ranges"));
            const std::vector<Key> low = this->random_keys(count);
            const std::vector<Key> high = this->random_keys(count);
            protocol::RangeKary request{};
            this->name_runs(&request, runs.size());
            request.low = 0;
            request.high = 2048;
            request.count = count;
            request.with_keys = with_keys ? 1 : 0;
            request.results = 65536;
            request.capacity = this->buffer_bytes - request.results;
            std::copy(low.begin(), low.end(), this->client_->template at<Key>(request.low));
            std::copy(high.begin(), high.end(), this->client_->template at<Key>(request.high));
            const auto reply =
                this->client_->template call<protocol::ResultReply>(Message::range_kary, request);
            ASSERT_EQ(Client::result_of(reply.header), ReplyResult::done) << reply.header.status.message;
            for (std::size_t i = 0; i < runs.size(); ++i) {
                std::vector<std::vector<std::pair<Key, Tid>>> expected;
                for (std::size_t j = 0; j < count; ++j) {
                    expected.push_back(runs[i].live(low[j], high[j]));
                }
                this->expect_entries(reply, i, expected, with_keys);
                ASSERT_FALSE(this->HasFatalFailure());
            }
            if (count > 0) {
                request.capacity = reply.needed;
                const auto tight =
                    this->client_->template call<protocol::ResultReply>(Message::range_kary, request);
                EXPECT_EQ(Client::result_of(tight.header), ReplyResult::done) << tight.header.status.message;
                request.capacity -= 16;
                const auto small =
                    this->client_->template call<protocol::ResultReply>(Message::range_kary, request);
                EXPECT_EQ(small.header.status.code, StatusCode::insufficient_space);
                EXPECT_EQ(small.needed, reply.needed);
            }
        }
    }
}

// Entries on blocks that are not all-visible come back, per run.
TYPED_TEST(ServerRequests, CountsByVisibilityMap) {
    using Key = typename TypeParam::Key;
    const std::vector<RunModel<Key>> runs = this->load_runs({3000, 0, 1, 700, 20000});
    const std::size_t count = 40;
    const std::vector<Key> low = this->random_keys(count);
    const std::vector<Key> high = this->random_keys(count);
    for (const double visible_share : {0.0, 0.5, 0.99, 1.0}) {
        SCOPED_TRACE(visible_share);
        // Less than the heap has: blocks behind are unknown.
        heap_facts::HeapFacts facts =
            visible_share == 0.0 ? heap_facts::HeapFacts(4013)
            : visible_share == 0.5
                ? heap_facts::HeapFacts::random(4013, this->random_)
                : heap_facts::HeapFacts(visible_share == 1.0 ? 5003 : 4013, heap_facts::State::all_visible);
        protocol::CountKary request{};
        this->name_runs(&request, runs.size());
        request.low = 0;
        request.high = 1024;
        request.count = count;
        request.blocks = facts.place(this->client_->buffer(), 16384);
        request.results = 65536;
        request.capacity = this->buffer_bytes - request.results;
        std::copy(low.begin(), low.end(), this->client_->template at<Key>(request.low));
        std::copy(high.begin(), high.end(), this->client_->template at<Key>(request.high));
        const auto reply = this->client_->template call<protocol::ResultReply>(Message::count_kary, request);
        ASSERT_EQ(Client::result_of(reply.header), ReplyResult::done) << reply.header.status.message;
        std::vector<std::uint64_t> expected_counts(count, 0);
        std::uint64_t hidden = 0;
        for (std::size_t i = 0; i < runs.size(); ++i) {
            std::vector<std::vector<std::pair<Key, Tid>>> expected(count);
            for (std::size_t j = 0; j < count; ++j) {
                for (const auto &entry : runs[i].live(low[j], high[j])) {
                    const heap_facts::Visibility result = facts.of(entry.second);
                    expected_counts[j] += result == heap_facts::Visibility::visible ? 1 : 0;
                    if (result == heap_facts::Visibility::unknown) {
                        expected[j].push_back(entry);
                        ++hidden;
                    }
                }
            }
            this->expect_entries(reply, i, expected, false);
            ASSERT_FALSE(this->HasFatalFailure());
        }
        const auto *counts = this->client_->template at<std::uint64_t>(request.results);
        EXPECT_EQ(std::vector<std::uint64_t>(counts, counts + count), expected_counts);
        EXPECT_EQ(reply.tids, hidden);
        EXPECT_EQ(hidden == 0, visible_share == 1.0);

        request.capacity = reply.needed;
        const auto tight = this->client_->template call<protocol::ResultReply>(Message::count_kary, request);
        EXPECT_EQ(Client::result_of(tight.header), ReplyResult::done) << tight.header.status.message;
        request.capacity -= 16;
        const auto small = this->client_->template call<protocol::ResultReply>(Message::count_kary, request);
        EXPECT_EQ(small.header.status.code, StatusCode::insufficient_space);
        EXPECT_EQ(small.needed, reply.needed);
    }

    protocol::CountKary request{};
    this->name_runs(&request, runs.size());
    request.low = 0;
    request.high = 1024;
    request.count = count;
    request.blocks.all_visible = 1;
    request.results = 65536;
    // Each engine counts for itself.
    request.capacity = this->server_->engines().of(TypeParam::engine).size() * count * sizeof(std::uint64_t);
    const auto reply = this->client_->template call<protocol::ResultReply>(Message::count_kary, request);
    ASSERT_EQ(Client::result_of(reply.header), ReplyResult::done) << reply.header.status.message;
    const auto *counts = this->client_->template at<std::uint64_t>(request.results);
    for (std::size_t j = 0; j < count; ++j) {
        std::uint64_t expected = 0;
        for (const RunModel<Key> &run : runs) {
            expected += run.live(low[j], high[j]).size();
        }
        EXPECT_EQ(counts[j], expected);
    }
}

TYPED_TEST(ServerRequests, ReportWhichRunsAreAbsentOrStale) {
    this->load_runs({100, 100, 100});
    protocol::LookupKary request{};
    this->name_runs(&request, 3);
    request.count = 1;
    request.results = 64;
    request.capacity = 65536;
    const auto call = [&] {
        return this->client_->template call<protocol::ResultReply>(Message::lookup_kary, request);
    };
    EXPECT_EQ(Client::result_of(call().header), ReplyResult::done);
    request.run[1].dead_version = 3;
    auto reply = call();
    EXPECT_EQ(Client::result_of(reply.header), ReplyResult::stale);
    EXPECT_EQ(reply.header.lacking, 2U);
    request.run[2].name.run = 99;
    request.run[0].name.backend = 7;
    reply = call();
    EXPECT_EQ(Client::result_of(reply.header), ReplyResult::not_resident);
    EXPECT_EQ(reply.header.lacking, 5U);
    // The run has the right name, but another key width.
    this->name_runs(&request, 3);
    request.key_bits = this->key_bits == 32 ? 64 : 32;
    EXPECT_EQ(call().header.status.code, StatusCode::invalid_argument);
    request.key_bits = 33;
    EXPECT_EQ(call().header.status.code, StatusCode::invalid_argument);
    this->name_runs(&request, 3);
    request.runs = protocol::max_runs + 1;
    EXPECT_EQ(call().header.status.code, StatusCode::invalid_argument);
    // No run at all.
    request.runs = 0;
    reply = call();
    EXPECT_EQ(Client::result_of(reply.header), ReplyResult::done);
    EXPECT_EQ(reply.tids, 0U);
}

// Parts of the buffer that lie outside it, or nearly do, with sums beyond 64 bits.
TYPED_TEST(ServerRequests, RefusePartsOutsideTheBuffer) {
    using Key = typename TypeParam::Key;
    this->load_runs({100});
    protocol::LookupKary good{};
    this->name_runs(&good, 1);
    good.keys = this->buffer_bytes - 16 * sizeof(Key);
    good.count = 16;
    good.results = 0;
    good.capacity = this->buffer_bytes;
    const auto code = [&](const protocol::LookupKary &request) {
        return this->client_->template call<protocol::ResultReply>(Message::lookup_kary, request)
            .header.status.code;
    };
    EXPECT_EQ(code(good), StatusCode::ok);
    const std::uint64_t huge[] = {this->buffer_bytes, this->buffer_bytes + 16, std::uint64_t(1) << 63,
                                  UINT64_MAX - 15,    UINT64_MAX / 16,         UINT64_MAX / 8 + 1,
                                  UINT64_MAX / 4 + 1, 17 + this->buffer_bytes, 8};
    for (const std::uint64_t value : huge) {
        protocol::LookupKary bad = good;
        bad.keys = value;
        EXPECT_EQ(code(bad), StatusCode::invalid_argument) << value;
        bad = good;
        bad.count = value == 8 ? 17 : value;
        EXPECT_EQ(code(bad), StatusCode::invalid_argument) << value;
        bad = good;
        bad.results = value;
        EXPECT_EQ(code(bad), StatusCode::invalid_argument) << value;
        bad = good;
        bad.capacity = value == 8 || value == this->buffer_bytes ? this->buffer_bytes + 1 : value;
        EXPECT_EQ(code(bad), StatusCode::invalid_argument) << value;

        protocol::CountKary count{};
        this->name_runs(&count, 1);
        count.count = 1;
        count.high = 64;
        count.results = 4096;
        count.capacity = 65536;
        const std::uint64_t many = value == 8 ? UINT64_MAX : value;
        for (const protocol::BlocksPlace &blocks :
             {protocol::BlocksPlace{128, many, 0, 0, 1, 0}, protocol::BlocksPlace{128, 1, 0, many, 1, 0}}) {
            count.blocks = blocks;
            EXPECT_EQ(this->client_->template call<protocol::ResultReply>(Message::count_kary, count)
                          .header.status.code,
                      StatusCode::invalid_argument)
                << value;
        }
    }
    EXPECT_EQ(code(good), StatusCode::ok);
}

}  // namespace
