// Strings of runs, through the server: numbers for them, queries about these, and back.
#include <map>
#include <optional>

#include "gpu_engine/query/query.h"
#include "server_columns.h"

namespace {

using namespace server_test;
namespace query = gpu_engine::query;

using Words = std::vector<std::string>;

class ServerStrings : public ServerColumnsTest {
  protected:
    ServerStrings() : ServerColumnsTest(buffer_bytes) {}

    static constexpr std::uint64_t buffer_bytes = 4 << 20;
    static constexpr std::uint64_t results = 2 << 20;

    std::string random_word() {
        return std::string(random_() % 4, 'w') + std::to_string(random_() % 500) +
               std::string(random_() % 9 == 0 ? 1 : 0, char(0));
    }

    // A run with a column of strings, some rows of which are NULL. It has all entries of its dictionary.
    void make_run(std::size_t rows) {
        Words words(rows / 2);
        for (std::string &word : words) {
            word = random_word();
        }
        std::sort(words.begin(), words.end());
        words.erase(std::unique(words.begin(), words.end()), words.end());
        column_test::ColumnRun run;
        run.places = column_test::make_places(rows, random_);
        column_test::Column column{gpu_engine::ColumnEncoding::dictionary, true, {}, words};
        for (std::size_t row = 0; row < rows; ++row) {
            const std::uint64_t place = row < words.size() ? row : random_() % words.size();
            column.values.push_back(row >= words.size() && row % 5 == 0 ? std::nullopt
                                                                        : std::optional(place));
            ++rows_by_word_[column.values.back() ? std::optional(words[place]) : std::nullopt];
        }
        run.columns.push_back(column);
        ++runs_;
        load(runs_, column_test::make_pages(run));
    }

    template <typename Element>
    std::uint64_t give(const std::vector<Element> &elements) {
        const std::uint64_t offset = at_;
        if (!elements.empty()) {
            std::memcpy(client_->at<char>(offset), elements.data(), elements.size() * sizeof(Element));
        }
        at_ += (elements.size() * sizeof(Element) + 15) / 16 * 16;
        EXPECT_LE(at_, results);
        return offset;
    }
    template <typename Element>
    protocol::ArrayPlace give_array(const std::vector<Element> &elements) {
        return {give(elements), static_cast<std::uint32_t>(elements.size()), 0};
    }
    protocol::ArrayPlace give_members() {
        std::vector<protocol::SpaceMemberPlace> members;
        for (std::uint32_t run = 0; run < runs_; ++run) {
            members.push_back({run, 0});
        }
        return give_array(members);
    }
    template <typename Request>
    void fill(Request *request) const {
        request->results = results;
        request->capacity = buffer_bytes - results;
        request->runs = static_cast<std::uint32_t>(runs_);
        for (std::uint32_t i = 0; i < request->runs; ++i) {
            request->run[i] = {run_name(i + 1), 0};
        }
    }

    protocol::NumberStrings lay_out_numbers(const Words &words) {
        protocol::NumberStrings request{};
        at_ = 0;
        std::vector<char> bytes;
        std::vector<std::uint64_t> ends;
        for (const std::string &word : words) {
            bytes.insert(bytes.end(), word.begin(), word.end());
            ends.push_back(bytes.size());
        }
        request.members = give_members();
        request.bytes = give(bytes);
        request.byte_count = bytes.size();
        request.ends = give(ends);
        request.count = ends.size();
        fill(&request);
        return request;
    }
    protocol::NumberStringsReply number(const protocol::NumberStrings &request) {
        return client_->call<protocol::NumberStringsReply>(Message::number_strings, request);
    }
    protocol::ReadStringsReply read(const std::vector<std::uint64_t> &numbers, std::uint64_t capacity) {
        protocol::ReadStrings request{};
        at_ = 0;
        request.members = give_members();
        request.numbers = give(numbers);
        request.count = numbers.size();
        fill(&request);
        request.capacity = capacity;
        return client_->call<protocol::ReadStringsReply>(Message::read_strings, request);
    }
    // A reply has room for where each string ends, and for so many bytes of them.
    Words read_all(const std::vector<std::uint64_t> &numbers, std::uint64_t bytes_at_once) {
        Words words;
        while (words.size() < numbers.size()) {
            const std::uint64_t capacity = (numbers.size() - words.size()) * 8 + bytes_at_once;
            const auto reply =
                read({numbers.begin() + static_cast<std::ptrdiff_t>(words.size()), numbers.end()}, capacity);
            EXPECT_EQ(Client::result_of(reply.header), ReplyResult::done) << reply.header.status.message;
            if (reply.done == 0 || HasFailure()) {
                break;
            }
            const std::uint64_t *ends = client_->at<std::uint64_t>(reply.ends_at);
            const char *bytes = client_->at<char>(reply.bytes_at);
            for (std::uint64_t i = 0; i < reply.done; ++i) {
                const std::uint64_t begin = i == 0 ? 0 : ends[i - 1];
                words.emplace_back(bytes + begin, ends[i] - begin);
            }
        }
        return words;
    }

    // SELECT string, count(*) GROUP BY string, of the runs and of an input with these numbers.
    protocol::RunQuery lay_out_query(const protocol::NumberStringsReply &numbered,
                                     const std::vector<std::uint64_t> &own) {
        protocol::RunQuery request{};
        at_ = 0;
        std::vector<query::Node> nodes(2);
        nodes[0].kind = query::NodeKind::scan;
        nodes[0].types = {0, 1};
        nodes[0].runs = {0, static_cast<std::uint32_t>(runs_)};
        nodes[0].inputs = {0, 1};
        nodes[0].table = 0;
        nodes[0].filter = query::no_step;
        nodes[1].kind = query::NodeKind::aggregate;
        nodes[1].steps = {0, 1};
        nodes[1].filter = query::no_step;
        nodes[1].outputs = {0, 1};
        nodes[1].accumulators = {0, 1};
        nodes[1].limit = UINT64_MAX;
        request.nodes = give_array(nodes);
        request.types = give_array(std::vector<query::ValueType>{query::ValueType::int64});
        request.steps =
            give_array(std::vector<query::Step>{{query::Operation::column, query::ValueType::int64, 8, 0,
                                                 query::no_step, query::no_step, query::no_step, 0}});
        request.outputs = give_array(std::vector<std::uint16_t>{0});
        request.accumulators = give_array(std::vector<query::Accumulator>{
            {query::AccumulatorKind::count_rows, 0, query::no_step, query::no_step, 0, 0}});
        std::vector<protocol::RunSourcePlace> sources;
        for (std::uint32_t run = 0; run < runs_; ++run) {
            protocol::RunColumnPlace column{};
            column.form = static_cast<std::uint32_t>(query::ColumnForm::map);
            column.offset = numbered.base;
            column.power = numbered.shift;
            column.space = 1;
            column.nulls = protocol::nowhere;
            sources.push_back({give(std::vector<protocol::RunColumnPlace>{column}), run, 0});
        }
        request.sources = give_array(sources);
        const protocol::InputColumnPlace input = {give(own), protocol::nowhere};
        request.inputs = give_array(std::vector<protocol::InputSourcePlace>{
            {own.size(), give(std::vector<protocol::InputColumnPlace>{input})}});
        request.tables = give_array(std::vector<protocol::BlocksPlace>{{0, 0, 0, 0, 0, 1}});
        const protocol::SpacePlace space = {give_members()};
        request.spaces = give_array(std::vector<protocol::SpacePlace>{space});
        request.max_rows = 100000;
        fill(&request);
        return request;
    }
    protocol::QueryReply run(const protocol::RunQuery &request) {
        return client_->call<protocol::QueryReply>(Message::run_query, request);
    }

    std::uint64_t runs_ = 0;
    std::map<std::optional<std::string>, std::uint64_t> rows_by_word_;
    std::uint64_t at_ = 0;
};

TEST_P(ServerStrings, AreCountedByTheirNumbers) {
    for (const std::size_t rows : {1000U, 300U, 1U << 12}) {
        make_run(rows);
        ASSERT_FALSE(HasFatalFailure());
        Words own;
        for (int i = 0; i < 50; ++i) {
            own.push_back(i < 10 ? "between " + std::to_string(i) : random_word());
        }
        std::map<std::optional<std::string>, std::uint64_t> expected = rows_by_word_;
        const protocol::NumberStringsReply numbered = number(lay_out_numbers(own));
        ASSERT_EQ(Client::result_of(numbered.header), ReplyResult::done) << numbered.header.status.message;
        ASSERT_EQ(numbered.is_numbered, 1U);
        const std::uint64_t *numbers = client_->at<std::uint64_t>(numbered.numbers_at);
        const std::vector<std::uint64_t> own_numbers(numbers, numbers + own.size());
        std::map<std::uint64_t, std::string> own_words;
        for (std::size_t i = 0; i < own.size(); ++i) {
            own_words.emplace(own_numbers[i], own[i]);
            ++expected[own[i]];
        }
        const protocol::QueryReply reply = run(lay_out_query(numbered, own_numbers));
        ASSERT_EQ(Client::result_of(reply.header), ReplyResult::done) << reply.header.status.message;
        ASSERT_EQ(reply.rows, expected.size());
        ASSERT_EQ(reply.here, reply.rows);
        const std::uint64_t *records = client_->at<std::uint64_t>(reply.here_at);
        std::map<std::optional<std::string>, std::uint64_t> found;
        std::vector<std::uint64_t> entries;
        std::vector<std::uint64_t> counts;
        for (std::uint64_t i = 0; i < reply.rows; ++i, records += reply.record_words) {
            if ((records[0] & 1) != 0) {
                found[std::nullopt] = records[2];
            } else if (const auto word = own_words.find(records[1]); word != own_words.end()) {
                found[word->second] = records[2];
            } else {
                entries.push_back((records[1] - numbered.base) >> numbered.shift);
                counts.push_back(records[2]);
            }
        }
        const Words words = read_all(entries, 1500);
        ASSERT_EQ(words.size(), entries.size());
        for (std::size_t i = 0; i < words.size(); ++i) {
            found[words[i]] = counts[i];
        }
        EXPECT_EQ(found, expected);
    }
}

TEST_P(ServerStrings, EntriesAreMatched) {
    using protocol::StringTestKind;
    make_run(1000);
    ASSERT_FALSE(HasFatalFailure());
    Words words;
    for (const auto &[word, rows] : rows_by_word_) {
        if (word) {
            words.push_back(*word);
        }
    }
    struct Test {
        StringTestKind kind;
        bool is_negated;
        std::uint32_t group;
        std::string string;
    };
    const std::string middle = words[words.size() / 2];
    const std::string absent = middle + "!";
    const auto passes = [](const Test &test, const std::string &word) {
        switch (test.kind) {
            case StringTestKind::equal:
                return (word == test.string) != test.is_negated;
            case StringTestKind::below:
                return (word < test.string) != test.is_negated;
            case StringTestKind::at_most:
                return (word <= test.string) != test.is_negated;
            default:
                // The pattern is %7%.
                return (word.find('7') != std::string::npos) != test.is_negated;
        }
    };
    const std::vector<std::vector<Test>> requests = {
        {},
        {{StringTestKind::like, false, 0, "%7%"}},
        {{StringTestKind::like_bytes, true, 0, "%7%"}, {StringTestKind::equal, false, 0, middle}},
        {{StringTestKind::equal, true, 0, middle}, {StringTestKind::equal, true, 1, absent}},
        {{StringTestKind::below, false, 0, absent}, {StringTestKind::at_most, true, 1, words[3]}},
        {{StringTestKind::below, true, 0, middle}, {StringTestKind::at_most, false, 0, words[1]}},
        {{StringTestKind::equal, false, 0, absent}}};
    for (const std::vector<Test> &tests : requests) {
        protocol::MatchStrings request{};
        at_ = 0;
        std::vector<protocol::StringTestPlace> places;
        for (const Test &test : tests) {
            places.push_back({static_cast<std::uint32_t>(test.kind), test.is_negated ? 1U : 0U, test.group, 0,
                              give(std::vector<char>(test.string.begin(), test.string.end())),
                              test.string.size()});
        }
        request.tests = give_array(places);
        fill(&request);
        const auto reply = client_->call<protocol::MatchStringsReply>(Message::match_strings, request);
        ASSERT_EQ(Client::result_of(reply.header), ReplyResult::done) << reply.header.status.message;
        ASSERT_EQ(reply.words, (words.size() + 63) / 64);
        const std::uint64_t *bits = client_->at<std::uint64_t>(reply.words_at);
        for (std::size_t code = 0; code < reply.words * 64; ++code) {
            std::map<std::uint32_t, bool> groups;
            for (const Test &test : tests) {
                groups[test.group] |= code < words.size() && passes(test, words[code]);
            }
            const bool expected =
                code < words.size() &&
                std::all_of(groups.begin(), groups.end(), [](const auto &group) { return group.second; });
            EXPECT_EQ((bits[code / 64] >> (code % 64) & 1) != 0, expected) << code;
        }
    }
    protocol::MatchStrings wrong{};
    at_ = 0;
    wrong.tests = give_array(std::vector<protocol::StringTestPlace>{{9, 0, 0, 0, 0, 0}});
    fill(&wrong);
    EXPECT_EQ(client_->call<protocol::MatchStringsReply>(Message::match_strings, wrong).header.status.code,
              StatusCode::invalid_argument);
}

TEST_P(ServerStrings, WrongRequestsAreRefused) {
    make_run(500);
    make_run(500);
    ASSERT_FALSE(HasFatalFailure());
    protocol::NumberStrings request = lay_out_numbers({"one", "two"});
    client_->at<std::uint64_t>(request.ends)[0] = 100;
    EXPECT_EQ(number(request).header.status.code, StatusCode::invalid_argument);
    request = lay_out_numbers({"one", "two"});
    client_->at<protocol::SpaceMemberPlace>(request.members.offset)[0].run =
        static_cast<std::uint32_t>(runs_);
    EXPECT_EQ(number(request).header.status.code, StatusCode::invalid_argument);
    request = lay_out_numbers({"one", "two"});
    client_->at<protocol::SpaceMemberPlace>(request.members.offset)[0].column = 1;
    EXPECT_EQ(number(request).is_numbered, 0U);
    request = lay_out_numbers({"one", "two"});
    request.count = UINT64_MAX;
    EXPECT_EQ(number(request).header.status.code, StatusCode::invalid_argument);
    request = lay_out_numbers({});
    request.members.count = 0;
    EXPECT_EQ(number(request).header.status.code, StatusCode::invalid_argument);
    const protocol::NumberStringsReply numbered = number(lay_out_numbers({}));
    ASSERT_EQ(numbered.is_numbered, 1U) << numbered.header.status.message;
    EXPECT_EQ(read({numbered.entries}, 1000).header.status.code, StatusCode::invalid_argument);
    EXPECT_EQ(read({0, 1}, 16).header.status.code, StatusCode::insufficient_space);
    protocol::RunQuery asked = lay_out_query(numbered, {});
    asked.spaces.count = 0;
    EXPECT_EQ(run(asked).header.status.code, StatusCode::invalid_argument);
    asked = lay_out_query(numbered, {});
    client_->at<protocol::SpacePlace>(asked.spaces.offset)[0].members.count =
        static_cast<std::uint32_t>(runs_ - 1);
    EXPECT_EQ(run(asked).header.status.code, StatusCode::invalid_argument);
    EXPECT_EQ(Client::result_of(run(lay_out_query(numbered, {})).header), ReplyResult::done);
}

INSTANTIATE_TEST_SUITE_P(Engines, ServerStrings, every_engine(), engine_of);

}  // namespace
