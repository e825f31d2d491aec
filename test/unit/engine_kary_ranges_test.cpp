// Sorted arrays: ranges with their entries, counting on some heap blocks, and arrays loaded piece by piece;
// each engine against a plain reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "bench/kary/load_array.h"
#include "gpu_engine/engine.h"
#include "gpu_engine/kary.h"
#include "engine_under_test.h"
#include "heap_facts.h"
#include "kary_reference.h"

namespace {

using gpu_engine::Kary;
using gpu_engine::KaryArray;
using gpu_engine::KaryLoader;
using gpu_engine::PageLayout;
using gpu_engine::Status;
using gpu_engine::StatusCode;
using gpu_engine::Tid;
using gpu_engine::bench::load_array;
using heap_facts::HeapFacts;
using kary_test::make_key;

std::uint64_t block_of(const Tid &tid) {
    return std::uint64_t(tid.block_high) << 16 | tid.block_low;
}

template <typename Type>
class EngineRanges : public EngineTest {
  protected:
    using Key = typename Type::Key;
    using Entries = std::vector<std::pair<Key, Tid>>;

    void SetUp() override { open<typename Type::UnderTest>(); }
    Kary<Key> &kary() { return gpu_engine::kary<Key>(*engine_); }

    // In order; blocks below `blocks`.
    Entries make_entries(std::size_t count, std::uint64_t distinct, std::uint64_t blocks) {
        Entries entries;
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint64_t block = random_() % blocks;
            entries.emplace_back(
                make_key<Key>(random_() % 2, random_() % distinct),
                Tid{static_cast<std::uint16_t>(block >> 16), static_cast<std::uint16_t>(block),
                    static_cast<std::uint16_t>(random_() % 300)});
        }
        std::sort(entries.begin(), entries.end());
        return entries;
    }
    std::unique_ptr<KaryArray<Key>> load(const Entries &entries) {
        std::vector<Key> keys;
        std::vector<Tid> tids;
        for (const auto &[key, tid] : entries) {
            keys.push_back(key);
            tids.push_back(tid);
        }
        std::unique_ptr<KaryArray<Key>> array;
        const Status status = load_array(*engine_, *stream_, keys.data(), tids.data(), keys.size(), &array);
        EXPECT_TRUE(status.ok()) << status.message;
        return array;
    }
    // Drops dead entries from `entries`, which then are the live ones.
    void set_dead(KaryArray<Key> &array, Entries *entries, unsigned percent) {
        std::vector<std::uint64_t> words((entries->size() + 63) / 64, 0);
        Entries live;
        for (std::size_t i = 0; i < entries->size(); ++i) {
            if (random_() % 100 < percent) {
                words[i / 64] |= std::uint64_t(1) << (i % 64);
            } else {
                live.push_back((*entries)[i]);
            }
        }
        ASSERT_TRUE(array.set_dead(*stream_, words.data(), 1).ok());
        *entries = std::move(live);
    }
    static std::pair<std::size_t, std::size_t> bounds(const Entries &entries, Key low, Key high) {
        const auto first = std::partition_point(entries.begin(), entries.end(),
                                                [&](const auto &entry) { return entry.first < low; });
        const auto last = std::partition_point(first, entries.end(),
                                               [&](const auto &entry) { return entry.first <= high; });
        return {first - entries.begin(), high < low ? first - entries.begin() : last - entries.begin()};
    }
    std::vector<Key> random_keys(std::size_t count, std::uint64_t distinct) {
        std::vector<Key> keys;
        for (std::size_t i = 0; i < count; ++i) {
            keys.push_back(make_key<Key>(random_() % 3, random_() % (distinct + 10)));
        }
        return keys;
    }
};
TYPED_TEST_SUITE(EngineRanges, KeyCases, KeyCaseName);

TYPED_TEST(EngineRanges, RangesGiveTheirEntries) {
    using Key = typename TypeParam::Key;
    for (const std::size_t size : {0, 1, 2, 100, 5000, 150000}) {
        for (const unsigned dead : {0U, 30U, 100U}) {
            SCOPED_TRACE(std::to_string(size) + " entries, " + std::to_string(dead) + " % dead");
            auto entries = this->make_entries(size, 3000, 70000);
            const auto array = this->load(entries);
            this->set_dead(*array, &entries, dead);
            for (const std::size_t count : {std::size_t(0), std::size_t(1), std::size_t(70)}) {
                std::vector<Key> low = this->random_keys(count, 3000);
                std::vector<Key> high = this->random_keys(count, 3000);
                if (count > 0) {
                    low[0] = Key{};
                    high[0] = make_key<Key>(UINT64_MAX, UINT64_MAX);
                }
                std::vector<std::uint64_t> expected_offsets = {0};
                std::vector<std::pair<Key, Tid>> expected;
                for (std::size_t i = 0; i < count; ++i) {
                    const auto [first, last] = this->bounds(entries, low[i], high[i]);
                    expected.insert(expected.end(), entries.begin() + static_cast<std::ptrdiff_t>(first),
                                    entries.begin() + static_cast<std::ptrdiff_t>(last));
                    expected_offsets.push_back(expected.size());
                }
                for (const bool with_keys : {true, false}) {
                    std::vector<std::uint64_t> offsets(count + 1, 99);
                    std::vector<Key> keys(expected.size());
                    std::vector<Tid> tids(expected.size());
                    Status status =
                        array->range(*this->stream_, low.data(), high.data(), count, offsets.data(),
                                     with_keys ? keys.data() : nullptr, tids.data(), expected.size());
                    ASSERT_TRUE(status.ok()) << status.message;
                    ASSERT_EQ(offsets, expected_offsets);
                    for (std::size_t i = 0; i < expected.size(); ++i) {
                        ASSERT_EQ(tids[i], expected[i].second);
                        ASSERT_TRUE(!with_keys || keys[i] == expected[i].first);
                    }
                    if (!expected.empty()) {
                        std::fill(offsets.begin(), offsets.end(), 99);
                        status = array->range(*this->stream_, low.data(), high.data(), count, offsets.data(),
                                              keys.data(), tids.data(), expected.size() - 1);
                        ASSERT_EQ(status.code, StatusCode::insufficient_space);
                        ASSERT_EQ(offsets, expected_offsets);
                    }
                }
            }
        }
    }
}

TYPED_TEST(EngineRanges, CountsOnBlocks) {
    using Key = typename TypeParam::Key;
    for (const std::size_t size : {0, 1, 63, 5000, 150000}) {
        for (const unsigned dead : {0U, 30U, 100U}) {
            for (const unsigned on_percent : {0U, 60U, 100U}) {
                SCOPED_TRACE(std::to_string(size) + " entries, " + std::to_string(dead) + " % dead, " +
                             std::to_string(on_percent) + " % of the blocks");
                auto entries = this->make_entries(size, 3000, 70000);
                const auto array = this->load(entries);
                this->set_dead(*array, &entries, dead);
                // With 60 %, the last blocks are unknown.
                HeapFacts facts = on_percent == 60  ? HeapFacts::random(69997, this->random_)
                                  : on_percent == 0 ? HeapFacts(0)
                                                    : HeapFacts(70000, heap_facts::State::all_visible);
                const auto blocks = this->keep(facts.known());
                ASSERT_NE(blocks, nullptr);
                for (const std::size_t count : {std::size_t(0), std::size_t(1), std::size_t(70)}) {
                    std::vector<Key> low = this->random_keys(count, 3000);
                    std::vector<Key> high = this->random_keys(count, 3000);
                    if (count > 0) {
                        low[0] = Key{};
                        high[0] = make_key<Key>(UINT64_MAX, UINT64_MAX);
                    }
                    std::vector<std::uint64_t> expected_counts;
                    std::vector<std::uint64_t> expected_offsets = {0};
                    std::vector<Tid> expected;
                    for (std::size_t i = 0; i < count; ++i) {
                        const auto [first, last] = this->bounds(entries, low[i], high[i]);
                        expected_counts.push_back(0);
                        for (std::size_t j = first; j < last; ++j) {
                            const heap_facts::Visibility result = facts.of(entries[j].second);
                            if (result == heap_facts::Visibility::visible) {
                                ++expected_counts.back();
                            } else if (result == heap_facts::Visibility::unknown) {
                                expected.push_back(entries[j].second);
                            }
                        }
                        expected_offsets.push_back(expected.size());
                    }
                    std::vector<std::uint64_t> counts(count, 99);
                    std::vector<std::uint64_t> offsets(count + 1, 99);
                    std::vector<Tid> tids(expected.size());
                    Status status = array->count_on(*this->stream_, low.data(), high.data(), count, *blocks,
                                                    counts.data(), offsets.data(), tids.data(), tids.size());
                    ASSERT_TRUE(status.ok()) << status.message;
                    ASSERT_EQ(counts, expected_counts);
                    ASSERT_EQ(offsets, expected_offsets);
                    ASSERT_TRUE(tids == expected);
                    if (!expected.empty()) {
                        std::fill(offsets.begin(), offsets.end(), 99);
                        std::fill(counts.begin(), counts.end(), 99);
                        status = array->count_on(*this->stream_, low.data(), high.data(), count, *blocks,
                                                 counts.data(), offsets.data(), tids.data(), tids.size() - 1);
                        ASSERT_EQ(status.code, StatusCode::insufficient_space);
                        ASSERT_EQ(counts, expected_counts);
                        ASSERT_EQ(offsets, expected_offsets);
                    }
                }
            }
        }
    }
}

// There are so many positions that they are counted in several pieces, and only some pieces have entries on
// blocks that must be looked up.
TYPED_TEST(EngineRanges, CountsOnBlocksInPieces) {
    using Key = typename TypeParam::Key;
    const std::size_t size = 400000;
    auto entries = this->make_entries(size, 100000, 60000);
    const auto array = this->load(entries);
    const std::uint64_t hidden_block = block_of(entries[size / 2].second);
    HeapFacts facts(60000, heap_facts::State::all_visible);
    facts.set(hidden_block, heap_facts::State::unknown);
    const auto blocks = this->keep(facts.known());
    ASSERT_NE(blocks, nullptr);
    std::vector<Tid> hidden;
    for (const auto &[key, tid] : entries) {
        if (block_of(tid) == hidden_block) {
            hidden.push_back(tid);
        }
    }
    const std::size_t count = 400;
    const std::vector<Key> low(count, Key{});
    const std::vector<Key> high(count, make_key<Key>(UINT64_MAX, UINT64_MAX));
    std::vector<std::uint64_t> counts(count);
    std::vector<std::uint64_t> offsets(count + 1);
    std::vector<Tid> tids(count * hidden.size());
    const Status status = array->count_on(*this->stream_, low.data(), high.data(), count, *blocks,
                                          counts.data(), offsets.data(), tids.data(), tids.size());
    ASSERT_TRUE(status.ok()) << status.message;
    for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(counts[i], size - hidden.size());
        ASSERT_EQ(offsets[i], i * hidden.size());
        ASSERT_TRUE(std::equal(hidden.begin(), hidden.end(),
                               tids.begin() + static_cast<std::ptrdiff_t>(i * hidden.size())));
    }
}

// Every request for memory in turn is refused.
TYPED_TEST(EngineRanges, SurvivesEveryRefusedAllocation) {
    using Key = typename TypeParam::Key;
    auto entries = this->make_entries(50000, 3000, 70000);
    const auto array = this->load(entries);
    std::vector<Key> keys;
    std::vector<Tid> tids;
    for (const auto &[key, tid] : entries) {
        keys.push_back(key);
        tids.push_back(tid);
    }
    const Key low{};
    const Key high = make_key<Key>(UINT64_MAX, UINT64_MAX);
    std::vector<Key> found_keys(entries.size());
    std::vector<Tid> found_tids(entries.size());
    std::uint64_t offsets[2];
    std::uint64_t count = 0;
    HeapFacts facts(8, heap_facts::State::known);
    const std::uint64_t before = this->engine_->memory().used();
    int refusals = 0;
    for (int n = 0; n < 60; ++n) {
        const auto call = [&](auto body) {
            this->engine_->memory().refuse_after(n);
            const Status status = body();
            this->engine_->memory().refuse_after(-1);
            if (!status.ok()) {
                EXPECT_EQ(status.code, StatusCode::out_of_memory) << status.message;
                ++refusals;
            }
            EXPECT_EQ(this->engine_->memory().used(), before);
        };
        call([&] {
            return array->range(*this->stream_, &low, &high, 1, offsets, found_keys.data(), found_tids.data(),
                                found_tids.size());
        });
        call([&] {
            std::unique_ptr<gpu_engine::HeapBlocks> blocks;
            const Status kept = this->engine_->keep_blocks(*this->stream_, facts.known(), &blocks);
            return kept.ok() ? array->count_on(*this->stream_, &low, &high, 1, *blocks, &count, offsets,
                                               found_tids.data(), found_tids.size())
                             : kept;
        });
        call([&] {
            std::unique_ptr<KaryArray<Key>> loaded;
            return load_array(*this->engine_, *this->stream_, keys.data(), tids.data(), keys.size(), &loaded);
        });
    }
    EXPECT_GT(refusals, 10);
}

TYPED_TEST(EngineRanges, LoadersTakePages) {
    using Key = typename TypeParam::Key;
    constexpr std::uint32_t key_bytes = sizeof(Key);
    constexpr std::uint32_t per_page = 8152 / (key_bytes + 6);
    const PageLayout layout{8192, 24, per_page, key_bytes};
    const std::uint64_t size = 5000 * std::uint64_t(per_page) + 11;
    const auto entries = this->make_entries(size, 1 << 20, 70000);
    std::vector<char> images((size + per_page - 1) / per_page * 8192, 'x');
    for (std::uint64_t i = 0; i < size; ++i) {
        const std::uint64_t page = i / per_page;
        const std::uint64_t on_page = std::min<std::uint64_t>(per_page, size - page * per_page);
        char *content = images.data() + page * 8192 + 24;
        std::memcpy(content + i % per_page * key_bytes, &entries[i].first, key_bytes);
        std::memcpy(content + on_page * key_bytes + i % per_page * sizeof(Tid), &entries[i].second,
                    sizeof(Tid));
    }
    // All of it, and a part that begins and ends within pages.
    for (const std::uint64_t first : {std::uint64_t(0), std::uint64_t(3 * per_page + 5)}) {
        const std::uint64_t count = first == 0 ? size : size / 2;
        const std::uint64_t bytes = this->kary().array_bytes(count);
        std::unique_ptr<KaryLoader<Key>> loader;
        ASSERT_TRUE(this->kary().open_loader(*this->stream_, count, &loader).ok());
        const auto first_page = static_cast<std::uint32_t>(first / per_page);
        const auto middle = static_cast<std::uint32_t>(images.size() / 8192 / 3);
        gpu_engine::Pages pages{images.data() + std::uint64_t(first_page) * 8192,
                                size,
                                first,
                                first_page,
                                middle - first_page,
                                layout};
        Status status = loader->append_pages(*this->stream_, pages);
        ASSERT_TRUE(status.ok()) << status.message;
        EXPECT_EQ(loader->loaded(), std::uint64_t(middle) * per_page - first);
        EXPECT_EQ(loader->append_pages(*this->stream_, pages).code, StatusCode::invalid_argument)
            << "the same pages again";
        std::unique_ptr<KaryArray<Key>> array;
        bool ordered = false;
        EXPECT_EQ(loader->finish(*this->stream_, &ordered, &array).code, StatusCode::invalid_argument)
            << "entries are missing";
        pages.images = images.data() + std::uint64_t(middle) * 8192;
        pages.first_page = middle;
        pages.pages = static_cast<std::uint32_t>(images.size() / 8192) - middle;
        status = loader->append_pages(*this->stream_, pages);
        ASSERT_TRUE(status.ok()) << status.message;
        EXPECT_EQ(loader->loaded(), count);
        EXPECT_EQ(loader->append_pages(*this->stream_, pages).code, StatusCode::invalid_argument)
            << "nothing more is wanted";
        ASSERT_TRUE(loader->finish(*this->stream_, &ordered, &array).ok());
        EXPECT_TRUE(ordered);
        loader.reset();
        EXPECT_EQ(this->engine_->memory().used(), array->bytes());
        EXPECT_LE(array->bytes(), bytes) << "what array_bytes said";
        EXPECT_GE(array->bytes() + 16384, bytes);
        std::vector<Key> read_keys(count);
        std::vector<Tid> read_tids(count);
        const Key low{};
        const Key high = kary_test::highest<Key>();
        std::uint64_t offsets[2];
        ASSERT_TRUE(
            array->range(*this->stream_, &low, &high, 1, offsets, read_keys.data(), read_tids.data(), count)
                .ok());
        ASSERT_EQ(offsets[1], count);
        for (std::uint64_t i = 0; i < count; ++i) {
            ASSERT_TRUE(read_keys[i] == entries[first + i].first) << i;
            ASSERT_EQ(read_tids[i], entries[first + i].second) << i;
        }
    }
}

TYPED_TEST(EngineRanges, LoadersRefuseMoreThanAnArrayHolds) {
    using Key = typename TypeParam::Key;
    std::unique_ptr<KaryLoader<Key>> loader;
    EXPECT_EQ(this->kary().open_loader(*this->stream_, Kary<Key>::max_entries + 1, &loader).code,
              StatusCode::invalid_argument);
    EXPECT_EQ(loader, nullptr);
}

// Memory that is pinned is as good as any other.
TYPED_TEST(EngineRanges, PinnedMemory) {
    using Key = typename TypeParam::Key;
    const auto entries = this->make_entries(30000, 1000, 70000);
    const auto array = this->load(entries);
    constexpr std::size_t bytes = 1 << 20;
    void *memory = std::aligned_alloc(4096, bytes);
    const Status status = this->engine_->pin(memory, bytes);
    ASSERT_TRUE(status.ok()) << status.message;
    for (const std::uint64_t count : {std::uint64_t(1), std::uint64_t(1000)}) {
        auto *low = static_cast<Key *>(memory);
        Key *high = low + count;
        auto *offsets = reinterpret_cast<std::uint64_t *>(static_cast<char *>(memory) + bytes / 2);
        auto *tids = reinterpret_cast<Tid *>(offsets + count + 1);
        for (std::uint64_t i = 0; i < count; ++i) {
            low[i] = high[i] = entries[this->random_() % entries.size()].first;
        }
        const std::uint64_t capacity = (bytes / 2 - (count + 1) * 8) / sizeof(Tid);
        ASSERT_TRUE(array->range(*this->stream_, low, high, count, offsets, nullptr, tids, capacity).ok());
        for (std::uint64_t i = 0; i < count; ++i) {
            const auto [first, last] = this->bounds(entries, low[i], high[i]);
            ASSERT_EQ(offsets[i + 1] - offsets[i], last - first);
            for (std::size_t j = first; j < last; ++j) {
                ASSERT_EQ(tids[offsets[i] + j - first], entries[j].second);
            }
        }
    }
    this->engine_->unpin(memory);
    EXPECT_TRUE(this->engine_->probe().ok());
    std::free(memory);
}

}  // namespace
