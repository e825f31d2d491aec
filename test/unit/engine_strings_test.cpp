// Dictionaries of strings and code spaces, against the standard library.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "column_run.h"
#include "engine_under_test.h"
#include "gpu_engine/strings.h"
#include "rounds.h"
#include "server/residency/code_spaces.h"

namespace {

using gpu_engine::CodeSpace;
using gpu_engine::RunStrings;
using gpu_engine::SpaceExtension;
using gpu_engine::SpaceMember;
using gpu_engine::Status;
using gpu_engine::StatusCode;
using gpu_engine::StringFunction;
using gpu_engine::StringFunctionKind;
using gpu_engine::StringList;
using gpu_engine::StringResult;

using Texts = std::vector<std::string>;

// Rows that have a dictionary's strings one after the other, and NULL.
column_test::Pages pages_of(const std::vector<Texts> &dictionaries) {
    column_test::ColumnRun run;
    std::size_t rows = 1;
    for (const Texts &texts : dictionaries) {
        rows = std::max(rows, texts.size());
    }
    for (const Texts &texts : dictionaries) {
        column_test::Column column{gpu_engine::ColumnEncoding::dictionary, true, {}, texts};
        for (std::size_t row = 0; row < rows; ++row) {
            column.values.push_back(row < texts.size() ? std::optional<std::uint64_t>(row) : std::nullopt);
        }
        run.columns.push_back(column);
    }
    for (std::size_t row = 0; row < rows; ++row) {
        run.places.push_back((row / 200) << 16 | (row % 200 + 1));
    }
    return column_test::make_pages(run);
}

// As PostgreSQL's, over characters of one byte or of UTF-8.
bool is_like(const std::string &text, std::size_t t, const std::string &pattern, std::size_t p,
             bool is_utf8) {
    for (; p < pattern.size(); ++p) {
        if (pattern[p] == '%') {
            for (std::size_t from = t; from <= text.size(); ++from) {
                const bool within =
                    is_utf8 && from < text.size() && (static_cast<unsigned char>(text[from]) & 0xC0) == 0x80;
                if (!within && is_like(text, from, pattern, p + 1, is_utf8)) {
                    return true;
                }
            }
            return false;
        }
        if (t == text.size()) {
            return false;
        }
        if (pattern[p] == '_') {
            do {
                ++t;
            } while (is_utf8 && t < text.size() && (static_cast<unsigned char>(text[t]) & 0xC0) == 0x80);
            continue;
        }
        p += pattern[p] == '\\' ? 1 : 0;
        if (text[t++] != pattern[p]) {
            return false;
        }
    }
    return t == text.size();
}

struct OwnList {
    explicit OwnList(const Texts &texts) {
        for (const std::string &text : texts) {
            bytes += text;
            ends.push_back(bytes.size());
        }
    }
    StringList view() const { return {bytes.data(), ends.data(), ends.size()}; }

    std::string bytes;
    std::vector<std::uint64_t> ends;
};

class EngineStrings : public EngineTest {
  protected:
    void SetUp() override { open<HostEngineUnderTest>(); }

    static Texts dictionary_of(Texts texts) {
        std::sort(texts.begin(), texts.end());
        texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
        return texts;
    }
    // With long common beginnings, among them whole strings, and any bytes.
    std::string random_text() {
        static const Texts beginnings = {"",
                                         "http://",
                                         "http://example.com/path/",
                                         std::string(3, '\0'),
                                         "\xff\xff",
                                         std::string(300, 'x')};
        std::string text = beginnings[random_() % beginnings.size()];
        for (std::size_t i = random_() % 6; i > 0; --i) {
            text +=
                random_() % 8 == 0 ? static_cast<char>(random_()) : static_cast<char>('a' + random_() % 3);
        }
        return text;
    }
    Texts random_dictionary(std::size_t count) {
        Texts texts(count);
        for (std::string &text : texts) {
            text = random_text();
        }
        return dictionary_of(std::move(texts));
    }

    Status try_to_load(const column_test::Pages &pages, std::shared_ptr<const RunStrings> *strings) {
        std::unique_ptr<gpu_engine::StringsLoader> loader;
        Status status = engine_->strings()->open_loader(pages.layout, &loader);
        for (std::size_t page = 0; status.ok() && page < pages.count();) {
            const std::size_t count = std::min<std::size_t>(1 + random_() % 30, pages.count() - page);
            status = loader->append_pages(pages.images.data() + page * column_test::page_bytes,
                                          static_cast<std::uint32_t>(count));
            page += count;
        }
        return status.ok() ? loader->finish(strings) : status;
    }
    std::shared_ptr<const RunStrings> load(const column_test::Pages &pages) {
        std::shared_ptr<const RunStrings> strings;
        const Status status = try_to_load(pages, &strings);
        EXPECT_TRUE(status.ok()) << status.message;
        EXPECT_EQ(strings->bytes(), engine_->strings()->bytes_of(pages.layout));
        return strings;
    }
    std::vector<SpaceMember> members_of(const std::vector<Texts> &dictionaries) {
        std::vector<SpaceMember> members;
        for (const Texts &texts : dictionaries) {
            members.push_back({load(pages_of({texts})), 0});
        }
        return members;
    }
    std::shared_ptr<const CodeSpace> make(const std::vector<SpaceMember> &members) {
        std::shared_ptr<const CodeSpace> space;
        const Status status =
            engine_->strings()->make_space(*stream_, members.data(), members.size(), &space);
        EXPECT_TRUE(status.ok()) << status.message;
        return space;
    }
    Texts read(const CodeSpace &space, const std::vector<std::uint64_t> &numbers, std::uint64_t capacity) {
        Texts texts;
        std::string bytes(capacity, '?');
        while (texts.size() < numbers.size()) {
            std::vector<std::uint64_t> ends(numbers.size() - texts.size());
            std::uint64_t done = 0;
            std::uint64_t needed = 0;
            const Status status = space.read(*stream_, numbers.data() + texts.size(), ends.size(),
                                             bytes.data(), bytes.size(), ends.data(), &done, &needed);
            EXPECT_TRUE(status.ok()) << status.message;
            for (std::uint64_t i = 0; i < done; ++i) {
                texts.emplace_back(StringList{bytes.data(), ends.data(), done}.at(i));
            }
            if (done == 0) {
                EXPECT_GT(needed, bytes.size());
                bytes.resize(needed);
            }
        }
        return texts;
    }
    void expect_union(const std::vector<Texts> &dictionaries, const CodeSpace &space) {
        std::map<std::string, std::uint32_t> numbers;
        for (const Texts &texts : dictionaries) {
            for (const std::string &text : texts) {
                numbers.emplace(text, 0);
            }
        }
        std::uint32_t number = 0;
        Texts all;
        for (auto &[text, its_number] : numbers) {
            its_number = number++;
            all.push_back(text);
        }
        ASSERT_EQ(space.entries(), numbers.size());
        for (std::size_t member = 0; member < dictionaries.size(); ++member) {
            const std::uint32_t *its_numbers = space.numbers(member);
            ASSERT_EQ(its_numbers == nullptr, dictionaries.size() == 1);
            for (std::size_t code = 0; code < dictionaries[member].size(); ++code) {
                ASSERT_EQ(its_numbers == nullptr ? code : its_numbers[code],
                          numbers.at(dictionaries[member][code]));
            }
        }
        std::vector<std::uint64_t> wanted(all.size());
        Texts expected;
        for (std::uint64_t &one : wanted) {
            one = random_() % all.size();
            expected.push_back(all[one]);
        }
        EXPECT_EQ(read(space, wanted, 1 + random_() % 300000), expected);
        for (int i = 0; i < 200; ++i) {
            const std::string text =
                random_() % 2 == 0 && !all.empty() ? all[random_() % all.size()] : random_text();
            std::uint64_t below = 0;
            bool is_entry = false;
            ASSERT_TRUE(space.find(*stream_, text, &below, &is_entry).ok());
            const auto place = std::lower_bound(all.begin(), all.end(), text);
            EXPECT_EQ(below, static_cast<std::uint64_t>(place - all.begin()));
            EXPECT_EQ(is_entry, place != all.end() && *place == text);
        }
    }
};

TEST_F(EngineStrings, UnionsAreThoseOfTheStandardLibrary) {
    for (int round = 0; round < unit_test::few_or_many(30, 300); ++round) {
        std::vector<Texts> dictionaries(1 + random_() % 9);
        for (Texts &texts : dictionaries) {
            texts = random_dictionary(1 + random_() % (round % 10 == 0 ? 30000 : 300));
        }
        if (random_() % 3 == 0) {
            dictionaries.push_back(dictionaries.front());
        }
        expect_union(dictionaries, *make(members_of(dictionaries)));
    }
}

TEST_F(EngineStrings, LongStringsAndColumnsOfOneRun) {
    Texts long_ones;
    for (int i = 0; i < 9; ++i) {
        long_ones.push_back(std::string(1 << 20, static_cast<char>('a' + i % 3)) + std::to_string(i));
    }
    const std::vector<Texts> dictionaries = {dictionary_of(long_ones), {""}, random_dictionary(1000), {"z"}};
    const std::shared_ptr<const RunStrings> run = load(pages_of(dictionaries));
    EXPECT_TRUE(run->has(3));
    EXPECT_FALSE(run->has(4));
    expect_union(dictionaries, *make({{run, 0}, {run, 1}, {run, 2}, {run, 3}}));
}

TEST_F(EngineStrings, OtherStringsGetNumbersInOrder) {
    for (int round = 0; round < 30; ++round) {
        std::vector<Texts> dictionaries(1 + random_() % 3);
        for (Texts &texts : dictionaries) {
            texts = random_dictionary(1 + random_() % 100);
        }
        Texts own(random_() % 100);
        for (std::string &text : own) {
            text = random_() % 4 == 0 ? dictionaries[0][random_() % dictionaries[0].size()] : random_text();
        }
        const std::shared_ptr<const CodeSpace> space = make(members_of(dictionaries));
        const OwnList list(own);
        std::vector<std::uint64_t> numbers(own.size());
        SpaceExtension extension;
        ASSERT_TRUE(space->extend(*stream_, list.view(), &extension, numbers.data()).ok());
        std::map<std::string, std::uint64_t> all;
        for (std::size_t i = 0; i < own.size(); ++i) {
            EXPECT_EQ(all.emplace(own[i], numbers[i]).first->second, numbers[i]);
        }
        for (std::size_t member = 0; member < dictionaries.size(); ++member) {
            for (std::size_t code = 0; code < dictionaries[member].size(); ++code) {
                const std::uint64_t entry = dictionaries.size() == 1 ? code : space->numbers(member)[code];
                const std::uint64_t number = extension.number_of(entry);
                EXPECT_EQ(all.emplace(dictionaries[member][code], number).first->second, number);
            }
        }
        for (auto i = all.begin(); std::next(i) != all.end(); ++i) {
            ASSERT_LT(i->second, std::next(i)->second);
        }
    }
}

TEST_F(EngineStrings, FunctionsAreEvaluatedForEachEntry) {
    const Texts letters = {"a", "b", "\xc3\xa9", "\xe2\x82\xac", "%", "_"};
    const Texts signs = {"a", "b", "\xc3\xa9", "%", "_", "%", "_", "\\%", "\\_"};
    const auto compose = [&](const Texts &parts, std::size_t most) {
        std::string text;
        for (std::size_t i = random_() % (most + 1); i > 0; --i) {
            text += parts[random_() % parts.size()];
        }
        return text;
    };
    std::vector<Texts> dictionaries(3);
    std::set<std::string> all;
    for (Texts &texts : dictionaries) {
        texts.resize(500);
        for (std::string &text : texts) {
            text = compose(letters, 9);
            all.insert(text);
        }
        texts = dictionary_of(texts);
    }
    const std::shared_ptr<const CodeSpace> space = make(members_of(dictionaries));
    for (int round = 0; round < unit_test::few_or_many(400, 10000); ++round) {
        const std::string pattern = compose(signs, 6);
        const bool is_utf8 = random_() % 2 == 0;
        std::shared_ptr<const StringResult> result;
        ASSERT_TRUE(space->evaluate(*stream_, {StringFunctionKind::like, is_utf8, pattern}, &result).ok());
        std::uint64_t number = 0;
        for (const std::string &text : all) {
            ASSERT_EQ((result->bits()[number / 64] >> (number % 64) & 1) != 0,
                      is_like(text, 0, pattern, 0, is_utf8))
                << text << " LIKE " << pattern;
            ++number;
        }
    }
    for (const StringFunctionKind kind : {StringFunctionKind::bytes, StringFunctionKind::characters}) {
        for (const bool is_utf8 : {false, true}) {
            std::shared_ptr<const StringResult> result;
            ASSERT_TRUE(space->evaluate(*stream_, {kind, is_utf8, {}}, &result).ok());
            std::uint64_t number = 0;
            for (const std::string &text : all) {
                const bool all_bytes = kind == StringFunctionKind::bytes || !is_utf8;
                const auto length = std::count_if(text.begin(), text.end(), [&](char byte) {
                    return all_bytes || (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
                });
                EXPECT_EQ(result->words()[number++], length);
            }
        }
    }
    std::shared_ptr<const StringResult> first;
    std::shared_ptr<const StringResult> again;
    ASSERT_TRUE(space->evaluate(*stream_, {StringFunctionKind::like, true, "%a"}, &first).ok());
    ASSERT_TRUE(space->evaluate(*stream_, {StringFunctionKind::like, true, "%a"}, &again).ok());
    EXPECT_EQ(first, again);
    EXPECT_EQ(space->evaluate(*stream_, {StringFunctionKind::like, true, "a\\"}, &first).code,
              StatusCode::invalid_argument);
}

TEST_F(EngineStrings, DamageIsFoundOrHarmless) {
    int found = 0;
    for (int round = 0; round < unit_test::few_or_many(300, 5000); ++round) {
        const Texts texts = random_dictionary(400);
        column_test::Pages pages = pages_of({texts});
        gpu_engine::StoredColumn &column = pages.layout.column[0];
        const gpu_engine::WordArea area = round % 2 == 0 ? column.dictionary : column.blocks;
        std::uint64_t *words = pages.content(pages.layout.tid_pages + area.first / column_test::page_words);
        const std::uint64_t at = area.first % column_test::page_words;
        const std::uint64_t room = std::min(area.words, column_test::page_words - at);
        words[at + random_() % room] ^= std::uint64_t(1) << random_() % 64;
        const std::shared_ptr<const RunStrings> run = load(pages);
        const std::shared_ptr<const RunStrings> other = load(pages_of({random_dictionary(400)}));
        const SpaceMember members[] = {{run, 0}, {other, 0}};
        std::shared_ptr<const CodeSpace> space;
        const Status united = engine_->strings()->make_space(*stream_, members, 2, &space);
        EXPECT_TRUE(united.ok() || united.code == StatusCode::invalid_argument);
        found += united.ok() ? 0 : 1;
        space = make({{run, 0}});
        std::uint64_t below = 0;
        bool is_entry = false;
        static_cast<void>(space->find(*stream_, random_text(), &below, &is_entry));
        std::shared_ptr<const StringResult> result;
        static_cast<void>(space->evaluate(*stream_, {StringFunctionKind::like, true, "%a_b%"}, &result));
        std::string bytes(100, '?');
        const std::uint64_t number = random_() % texts.size();
        std::uint64_t end = 0;
        std::uint64_t done = 0;
        std::uint64_t needed = 0;
        static_cast<void>(
            space->read(*stream_, &number, 1, bytes.data(), bytes.size(), &end, &done, &needed));
    }
    EXPECT_GT(found, 30);
    column_test::Pages pages = pages_of({{"a", "b"}});
    pages.layout.column[0].string_bytes = UINT64_MAX;
    std::shared_ptr<const RunStrings> strings;
    EXPECT_EQ(try_to_load(pages, &strings).code, StatusCode::invalid_argument);
    pages = pages_of({{"a", "b"}});
    pages.layout.column[0].blocks.first = pages.layout.stream_words;
    EXPECT_EQ(try_to_load(pages, &strings).code, StatusCode::invalid_argument);
}

TEST_F(EngineStrings, MemoryIsCountedAndGivenBack) {
    const std::vector<Texts> dictionaries = {random_dictionary(3000), random_dictionary(3000)};
    std::vector<SpaceMember> members = members_of(dictionaries);
    gpu_engine::MemoryBudget &memory = engine_->memory();
    const std::uint64_t loaded = memory.used();
    EXPECT_EQ(loaded, members[0].run->bytes() + members[1].run->bytes());
    std::shared_ptr<const CodeSpace> space = make(members);
    EXPECT_EQ(memory.used(), loaded + space->bytes());
    std::shared_ptr<const StringResult> result;
    ASSERT_TRUE(space->evaluate(*stream_, {StringFunctionKind::bytes, false, {}}, &result).ok());
    EXPECT_EQ(memory.used(), loaded + space->bytes());
    result = nullptr;
    space = nullptr;
    EXPECT_EQ(memory.used(), loaded);
    for (std::int64_t i = 0;; ++i) {
        memory.refuse_after(i);
        const Status status =
            engine_->strings()->make_space(*stream_, members.data(), members.size(), &space);
        memory.refuse_after(-1);
        if (status.ok()) {
            EXPECT_GT(i, 2);
            break;
        }
        EXPECT_EQ(status.code, StatusCode::out_of_memory);
        EXPECT_EQ(memory.used(), loaded);
    }
    stream_->cancel();
    EXPECT_EQ(engine_->strings()->make_space(*stream_, members.data(), members.size(), &space).code,
              StatusCode::cancelled);
    stream_->resume();
    space = nullptr;
    members.clear();
    EXPECT_EQ(memory.used(), 0U);
}

TEST_F(EngineStrings, SpacesAreMadeOnceAndShared) {
    gpu_engine::server::CodeSpaces spaces;
    const std::vector<SpaceMember> members = members_of({random_dictionary(20000), random_dictionary(20000)});
    std::atomic<int> made{0};
    const auto get = [&](const std::vector<SpaceMember> &wanted) {
        return spaces.get(*stream_, wanted, [&] {
            ++made;
            return make(wanted);
        });
    };
    std::vector<std::thread> threads;
    std::vector<std::shared_ptr<const CodeSpace>> got(6);
    for (std::size_t i = 0; i < got.size(); ++i) {
        threads.emplace_back([&, i] { got[i] = get(members); });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    EXPECT_EQ(made, 1);
    for (const std::shared_ptr<const CodeSpace> &space : got) {
        EXPECT_EQ(space, got.front());
    }
    EXPECT_EQ(spaces.bytes(), got.front()->bytes());
    EXPECT_FALSE(spaces.drop(1));
    got.clear();
    const std::shared_ptr<const CodeSpace> single = get({members[1]});
    EXPECT_EQ(made, 2);
    EXPECT_TRUE(spaces.drop(1));
    EXPECT_EQ(spaces.bytes(), single->bytes());
    spaces.forget(members[0].run.get());
    EXPECT_EQ(get({members[1]}), single);
    spaces.forget(members[1].run.get());
    EXPECT_EQ(spaces.bytes(), 0U);
    EXPECT_THROW(
        spaces.get(*stream_, members, []() -> std::shared_ptr<const CodeSpace> { throw std::bad_alloc(); }),
        std::bad_alloc);
    EXPECT_NE(get(members), nullptr);
    EXPECT_EQ(made, 3);
}

}  // namespace
