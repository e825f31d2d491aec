// Loading runs and their dead bitmaps, against a plain reference.
#include <map>
#include <set>

#include "server_runs.h"

namespace {

using namespace server_test;

template <typename Type>
class ServerArrays : public ServerWithRuns<Type> {
  protected:
    using Key = typename Type::Key;

    // All live entries of run 1.
    std::vector<std::pair<Key, Tid>> read() {
        auto request = about_runs<protocol::RangeKary>(this->key_bits, {1});
        request.count = 1;
        request.high = 16;
        request.with_keys = 1;
        request.results = 4096;
        request.capacity = this->buffer_bytes - request.results;
        *this->client_->template at<Key>(0) = Key{};
        *this->client_->template at<Key>(16) = kary_test::highest<Key>();
        const auto reply = this->client_->template call<protocol::ResultReply>(Message::range_kary, request);
        EXPECT_EQ(Client::result_of(reply.header), ReplyResult::done) << reply.header.status.message;
        std::vector<std::pair<Key, Tid>> result;
        for (std::uint64_t i = 0; i < this->client_->template at<std::uint64_t>(reply.offsets_at[0])[1];
             ++i) {
            result.emplace_back(this->client_->template at<Key>(reply.keys_at[0])[i],
                                this->client_->template at<Tid>(reply.tids_at[0])[i]);
        }
        return result;
    }
};
TYPED_TEST_SUITE(ServerArrays, Cases, CaseName);

// A run's page images, as the layout has them.
template <typename Key>
std::vector<char> make_pages(const RunModel<Key> &run, const protocol::PageLayout &layout) {
    const std::uint64_t pages = (run.entries.size() + layout.per_page - 1) / layout.per_page;
    std::vector<char> images(pages * layout.page_bytes, '\x5a');
    for (std::uint64_t page = 0; page < pages; ++page) {
        const std::uint64_t first = page * layout.per_page;
        const std::uint64_t count = std::min<std::uint64_t>(layout.per_page, run.entries.size() - first);
        char *keys = images.data() + page * layout.page_bytes + layout.first_byte;
        char *tids = keys + count * layout.key_bytes;
        for (std::uint64_t i = 0; i < count; ++i) {
            const auto &[key, tid] = run.entries[first + i];
            if constexpr (sizeof(Key) == 16) {
                if (layout.key_bytes == 12) {
                    const auto high = static_cast<std::uint32_t>(key.high);
                    std::memcpy(keys + i * 12, &key.low, 8);
                    std::memcpy(keys + i * 12 + 8, &high, 4);
                } else {
                    std::memcpy(keys + i * 16, &key, 16);
                }
            } else {
                std::memcpy(keys + i * sizeof(Key), &key, sizeof(Key));
            }
            std::memcpy(tids + i * sizeof(Tid), &tid, sizeof(Tid));
        }
    }
    return images;
}

// All of a run, its beginning, its end and its middle, in chunks of one page and of several.
TYPED_TEST(ServerArrays, LoadFromPages) {
    using Key = typename TypeParam::Key;
    std::vector<std::uint32_t> widths = {sizeof(Key)};
    if (sizeof(Key) == 16) {
        widths.push_back(12);
    }
    for (const std::uint32_t width : widths) {
        const std::uint32_t per_page = (8192 - 24 - 16) / (width + 6);
        const protocol::PageLayout layout = {8192, 24, per_page, width};
        for (const std::uint64_t size :
             {std::uint64_t(1), std::uint64_t(per_page - 1), std::uint64_t(per_page),
              std::uint64_t(per_page + 1), std::uint64_t(5 * per_page), std::uint64_t(200 * per_page + 7)}) {
            const RunModel<Key> run = make_run<Key>(size, 1000, this->random_);
            const std::vector<char> images = make_pages(run, layout);
            const std::uint64_t bounds[][2] = {
                {0, size}, {0, (size + 1) / 2}, {size / 2, size - size / 2}, {size / 3, size / 3 + 1}};
            for (const auto &[first, entries] : bounds) {
                for (const std::uint32_t chunk : {1U, 3U, 500U}) {
                    if (chunk == 1 && size > 20 * per_page) {
                        continue;
                    }
                    SCOPED_TRACE(std::to_string(width) + " bytes, " + std::to_string(first) + " + " +
                                 std::to_string(entries) + " of " + std::to_string(size) + ", " +
                                 std::to_string(chunk) + " pages at a time");
                    const auto begun = this->client_->begin_kary(run_name(1), entries, this->key_bits);
                    ASSERT_EQ(Client::result_of(begun.header), ReplyResult::done)
                        << begun.header.status.message;
                    for (std::uint64_t page = first / per_page; page * per_page < first + entries;
                         page += chunk) {
                        protocol::AppendPages request{};
                        request.handle = begun.handle;
                        // The two halves of the buffer in turn.
                        request.offset = page / chunk % 2 * (this->buffer_bytes / 2);
                        request.run_entries = size;
                        request.run_first = first;
                        request.first_page = static_cast<std::uint32_t>(page);
                        request.pages = static_cast<std::uint32_t>(
                            std::min<std::uint64_t>(chunk, images.size() / 8192 - page));
                        request.layout = layout;
                        std::memcpy(this->client_->buffer() + request.offset, images.data() + page * 8192,
                                    request.pages * std::uint64_t(8192));
                        const auto reply = this->client_->template call<protocol::ReplyHeader>(
                            Message::append_pages, request);
                        ASSERT_EQ(Client::result_of(reply), ReplyResult::done) << reply.status.message;
                    }
                    const auto finished = this->client_->finish(begun.handle);
                    ASSERT_EQ(Client::result_of(finished.header), ReplyResult::done)
                        << finished.header.status.message;
                    ASSERT_EQ(finished.entries, entries);
                    ASSERT_TRUE(
                        this->read() ==
                        std::vector(run.entries.begin() + static_cast<std::ptrdiff_t>(first),
                                    run.entries.begin() + static_cast<std::ptrdiff_t>(first + entries)));
                    ASSERT_EQ(this->client_->evict(run_name(1)).mirrors, 1U);
                }
            }
        }
    }
}

TYPED_TEST(ServerArrays, PagesThatDoNotFitAreRefused) {
    using Key = typename TypeParam::Key;
    const std::uint32_t per_page = (8192 - 24 - 16) / (sizeof(Key) + 6);
    const auto begun = this->client_->begin_kary(run_name(1), 10 * per_page, this->key_bits);
    protocol::AppendPages good{};
    good.handle = begun.handle;
    good.run_entries = 10 * per_page;
    good.pages = 2;
    good.layout = {8192, 24, per_page, sizeof(Key)};
    const auto code = [&](const protocol::AppendPages &request) {
        return this->client_->template call<protocol::ReplyHeader>(Message::append_pages, request)
            .status.code;
    };
    const auto expect_refused = [&](auto change) {
        protocol::AppendPages bad = good;
        change(bad);
        EXPECT_EQ(code(bad), StatusCode::invalid_argument);
    };
    expect_refused([](auto &r) { r.handle = 77; });
    expect_refused([](auto &r) { r.pages = 0; });
    expect_refused([](auto &r) { r.pages = UINT32_MAX; });
    expect_refused([](auto &r) { r.offset = 8; });
    expect_refused([](auto &r) { r.offset = UINT64_MAX - 15; });
    expect_refused([](auto &r) { r.first_page = 1; });
    expect_refused([](auto &r) { r.first_page = UINT32_MAX; });
    expect_refused([](auto &r) { r.run_entries -= 1; });
    expect_refused([](auto &r) { r.run_entries = UINT64_MAX; });
    expect_refused([](auto &r) { r.run_first = 1; });
    expect_refused([](auto &r) { r.run_first = UINT64_MAX; });
    expect_refused([](auto &r) { r.layout.page_bytes = 0; });
    expect_refused([](auto &r) { r.layout.page_bytes = UINT32_MAX; });
    expect_refused([](auto &r) { r.layout.page_bytes = 8190; });
    expect_refused([](auto &r) { r.layout.first_byte = 20; });
    expect_refused([](auto &r) { r.layout.first_byte = 8200; });
    expect_refused([](auto &r) { r.layout.first_byte = UINT32_MAX - 7; });
    expect_refused([](auto &r) { r.layout.per_page = 0; });
    expect_refused([](auto &r) { r.layout.per_page = 8192; });
    expect_refused([](auto &r) { r.layout.per_page = UINT32_MAX; });
    expect_refused([](auto &r) { r.layout.key_bytes = 5; });
    expect_refused([](auto &r) { r.layout.key_bytes = 0; });
    EXPECT_EQ(this->client_->finish(begun.handle).header.status.code, StatusCode::invalid_argument)
        << "entries are missing";
}

TYPED_TEST(ServerArrays, DisorderIsToldApart) {
    using Key = typename TypeParam::Key;
    for (const bool by_tid : {false, true}) {
        RunModel<Key> run = make_run<Key>(5000, by_tid ? 1 : 100000, this->random_);
        std::swap(run.entries[4000], run.entries[4999]);
        const auto begun = this->client_->begin_kary(run_name(1), run.entries.size(), this->key_bits);
        ASSERT_EQ(Client::result_of(this->client_->append(begun.handle, run.keys(), run.tids())),
                  ReplyResult::done);
        const auto reply = this->client_->finish(begun.handle);
        EXPECT_EQ(Client::result_of(reply.header), ReplyResult::disorder);
        EXPECT_NE(std::string(reply.header.status.message), "");
        EXPECT_EQ(this->client_->finish(begun.handle).header.status.code, StatusCode::invalid_argument)
            << "the handle has ended";
        // The name is free again, and nothing was made.
        EXPECT_EQ(this->client_->list(Message::mirrors, 0, 0).rows, 0U);
    }
}

TYPED_TEST(ServerArrays, DeadBitmapsNeverGoBack) {
    this->load_runs({1000});
    const auto dead_count = [&] { return 1000 - this->read().size(); };
    const std::vector<std::uint64_t> ten = {0x3ff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    const std::vector<std::uint64_t> none(16, 0);
    EXPECT_EQ(Client::result_of(this->client_->set_dead(run_name(1), ten, 5)), ReplyResult::done);
    EXPECT_EQ(dead_count(), 10U);
    EXPECT_EQ(Client::result_of(this->client_->set_dead(run_name(1), none, 4)), ReplyResult::done);
    EXPECT_EQ(dead_count(), 10U) << "an older bitmap must change nothing";
    EXPECT_EQ(Client::result_of(this->client_->set_dead(run_name(1), {}, 6)), ReplyResult::done);
    EXPECT_EQ(dead_count(), 0U);
    EXPECT_EQ(this->client_->set_dead(run_name(1), {1, 2, 3}, 7).status.code, StatusCode::invalid_argument);
    EXPECT_EQ(Client::result_of(this->client_->set_dead(run_name(2), none, 1)), ReplyResult::not_resident);
}

TYPED_TEST(ServerArrays, ListsAndEviction) {
    this->load_runs({1000, 2000});
    RunModel<typename TypeParam::Key> other = make_run<typename TypeParam::Key>(10, 10, this->random_);
    EXPECT_EQ(this->client_->load(run_name(1, 2), other.keys(), other.tids(), true), ReplyResult::done);
    const auto reply = this->client_->list(Message::mirrors, 4096, 65536);
    ASSERT_EQ(reply.rows, 3U);
    const auto engine = static_cast<std::size_t>(TypeParam::engine);
    std::uint64_t bytes = 0;
    int pinned = 0;
    std::set<std::int32_t> devices_of_runs;
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> entries;
    for (std::size_t i = 0; i < reply.rows; ++i) {
        const auto &row = this->client_->template at<protocol::MirrorRow>(4096)[i];
        entries[{row.name.relation, row.name.run}] += row.entries;
        EXPECT_EQ(row.part, 1U);
        EXPECT_EQ(row.parts, 1U);
        EXPECT_EQ(row.engine, static_cast<std::uint32_t>(TypeParam::engine));
        EXPECT_EQ(row.user, 10U);
        EXPECT_GT(row.loaded_at, 0);
        if (TypeParam::engine == EngineName::host) {
            EXPECT_EQ(row.device, -1);
        } else {
            devices_of_runs.insert(row.device);
        }
        pinned += static_cast<int>(row.pinned);
        bytes += row.bytes;
    }
    EXPECT_EQ(pinned, 1);
    EXPECT_EQ(entries[std::pair(1, 1)], 1000U);
    EXPECT_EQ(entries[std::pair(1, 2)], 2000U);
    EXPECT_EQ(entries[std::pair(2, 1)], 10U);
    if (TypeParam::engine == EngineName::cuda) {
        EXPECT_EQ(devices_of_runs.size(), this->server_->engines().of(TypeParam::engine).size());
        EXPECT_EQ(*devices_of_runs.begin(), 0);
    }
    EXPECT_EQ(reply.memory_used[engine], bytes);
    EXPECT_EQ(reply.transfer_used, this->buffer_bytes);
    EXPECT_EQ(reply.connections, 1U);
    // As many rows as fit.
    this->client_->template at<protocol::MirrorRow>(4096)[1].entries = 12345;
    EXPECT_EQ(this->client_->list(Message::mirrors, 4096, sizeof(protocol::MirrorRow)).rows, reply.rows);
    EXPECT_EQ(this->client_->template at<protocol::MirrorRow>(4096)[1].entries, 12345U);

    const auto statistics = this->client_->list(Message::statistics, 0, 65536, true);
    ASSERT_GT(statistics.rows, 0U);
    bool loads = false;
    for (std::size_t i = 0; i < statistics.rows; ++i) {
        const auto &row = this->client_->template at<protocol::StatisticsRow>(0)[i];
        if (row.type == static_cast<std::uint32_t>(Message::append_pages)) {
            loads = true;
            EXPECT_EQ(row.requests, 3U);
            EXPECT_EQ(row.items, 3010U);
            EXPECT_EQ(row.failures, 0U);
        }
    }
    EXPECT_TRUE(loads);
    EXPECT_EQ(this->client_->list(Message::statistics, 0, 0).rows, 0U) << "reset";

    // Asked first, for that waits until the device is open.
    const std::uint64_t expected =
        this->server_.has(EngineName::cuda) ? this->server_->engines().of(EngineName::cuda).size() : 0;
    const auto devices = this->client_->list(Message::devices, 0, 65536);
    ASSERT_EQ(devices.rows, expected);
    if (devices.rows > 0) {
        EXPECT_NE(std::string(this->client_->template at<protocol::DeviceRow>(0)->info.name), "");
    }

    // One run, another relation's, the rest of the database.
    EXPECT_EQ(this->client_->evict(run_name(2)).mirrors, 1U);
    EXPECT_EQ(this->client_->evict(run_name(2)).mirrors, 0U);
    EXPECT_EQ(this->client_->evict(run_name(0, 2)).mirrors, 1U);
    protocol::RunName database{};
    database.database = 6;
    EXPECT_EQ(this->client_->evict(database).mirrors, 0U);
    database.database = 5;
    database.incarnation = 701;
    EXPECT_EQ(this->client_->evict(database).mirrors, 0U) << "a later database of the same OID";
    database.incarnation = run_name(0).incarnation;
    EXPECT_EQ(this->client_->evict(database).mirrors, 1U);
    EXPECT_EQ(this->client_->list(Message::mirrors, 0, 0).memory_used[engine], 0U);
}

TYPED_TEST(ServerArrays, HandlesAreOnesOwnAndBounded) {
    std::vector<std::uint64_t> handles;
    protocol::BeginReply reply{};
    for (int i = 0; i < 1000; ++i) {
        reply = this->client_->begin_kary(run_name(1 + i), 10, this->key_bits);
        if (Client::result_of(reply.header) != ReplyResult::done) {
            break;
        }
        handles.push_back(reply.handle);
    }
    EXPECT_EQ(reply.header.status.code, StatusCode::invalid_argument);
    EXPECT_GE(handles.size(), 16U);
    Client other(this->server_.path(), TypeParam::engine);
    EXPECT_EQ(other.drop(handles[0]).status.code, StatusCode::invalid_argument);
    if (TypeParam::engine == EngineName::cuda) {
        this->client_->engine = EngineName::host;
        EXPECT_EQ(this->client_->drop(handles[0]).status.code, StatusCode::invalid_argument);
        this->client_->engine = EngineName::cuda;
    }
    EXPECT_EQ(Client::result_of(this->client_->drop(handles[0])), ReplyResult::done);
    EXPECT_EQ(this->client_->drop(handles[0]).status.code, StatusCode::invalid_argument);
    EXPECT_EQ(this->client_->begin_kary({}, 10, this->key_bits).header.status.code,
              StatusCode::invalid_argument)
        << "no name";
    // More than an array can hold, or than memory.
    EXPECT_EQ(this->client_->begin_kary(run_name(2000), UINT64_MAX, this->key_bits).header.status.code,
              StatusCode::invalid_argument);
    EXPECT_EQ(this->client_->begin_kary(run_name(2000), 10, 96).header.status.code,
              StatusCode::invalid_argument);
}

}  // namespace
