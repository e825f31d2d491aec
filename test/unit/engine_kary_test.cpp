// Sorted arrays: each engine against a plain reference, on random and adversarial keys.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "bench/kary/load_array.h"
#include "gpu_engine/engine.h"
#include "gpu_engine/kary.h"
#include "engine_under_test.h"
#include "kary_reference.h"
#include "rounds.h"

namespace {

using gpu_engine::Engine;
using gpu_engine::EngineOptions;
using gpu_engine::Kary;
using gpu_engine::KaryArray;
using gpu_engine::KaryRange;
using gpu_engine::Key128;
using gpu_engine::Status;
using gpu_engine::StatusCode;
using gpu_engine::Stream;
using gpu_engine::Tid;
using gpu_engine::bench::load_array;
using kary_test::make_key;
using kary_test::make_tid;
using kary_test::Pattern;
using kary_test::patterns;
using kary_test::probes_of;
using kary_test::reference_of;

// ---- The engines --------------------------------------------------------------------------------

template <typename Type>
class EngineKary : public EngineTest {
  protected:
    using Key = typename Type::Key;

    void SetUp() override { open<typename Type::UnderTest>(); }

    Kary<Key> &kary() { return gpu_engine::kary<Key>(*engine_); }

    std::vector<Tid> ascending_tids(std::size_t count) {
        std::vector<Tid> tids(count);
        for (std::size_t i = 0; i < count; ++i) {
            tids[i] = make_tid((i / 100) << 16 | (i % 100 + 1));
        }
        return tids;
    }

    // Loads pairs that come in any order.
    Status try_build(const std::vector<Key> &keys, const std::vector<Tid> &tids,
                     std::unique_ptr<KaryArray<Key>> *array) {
        std::vector<Key> sorted_keys;
        std::vector<Tid> sorted_tids;
        for (const auto &[key, tid] : reference_of(keys, tids).entries) {
            sorted_keys.push_back(key);
            sorted_tids.push_back(tid);
        }
        return load_array(*engine_, *stream_, sorted_keys.data(), sorted_tids.data(), keys.size(), array);
    }
    std::unique_ptr<KaryArray<Key>> build(const std::vector<Key> &keys, const std::vector<Tid> &tids) {
        std::unique_ptr<KaryArray<Key>> array;
        const Status status = try_build(keys, tids, &array);
        EXPECT_TRUE(status.ok()) << status.message;
        return array;
    }

    void set_dead(KaryArray<Key> &array, kary_test::Reference<Key> &reference, double share,
                  std::uint64_t version) {
        reference.dead.assign(reference.entries.size(), false);
        std::vector<std::uint64_t> bitmap((reference.entries.size() + 63) / 64, 0);
        std::uint64_t count = 0;
        for (std::size_t i = 0; i < reference.entries.size(); ++i) {
            if (static_cast<double>(random_() % 1000) < share * 1000) {
                reference.dead[i] = true;
                bitmap[i / 64] |= std::uint64_t(1) << (i % 64);
                ++count;
            }
        }
        // Bits behind the last entry mean nothing.
        if (reference.entries.size() % 64 != 0) {
            bitmap.back() |= ~((std::uint64_t(1) << (reference.entries.size() % 64)) - 1);
        }
        const Status status = array.set_dead(*stream_, bitmap.data(), version);
        ASSERT_TRUE(status.ok()) << status.message;
        ASSERT_EQ(array.dead_entries(), count);
        ASSERT_EQ(array.dead_version(), version);
    }

    void expect_content(const KaryArray<Key> &array, const kary_test::Reference<Key> &reference) {
        const std::size_t count = reference.entries.size();
        ASSERT_EQ(array.entries(), count);
        std::vector<Key> keys(count);
        std::vector<Tid> tids(count);
        const Key low{};
        const Key high = kary_test::highest<Key>();
        std::uint64_t offsets[2];
        ASSERT_TRUE(array.range(*stream_, &low, &high, 1, offsets, keys.data(), tids.data(), count).ok());
        ASSERT_EQ(offsets[1], count);
        for (std::size_t i = 0; i < count; ++i) {
            ASSERT_EQ(keys[i], reference.entries[i].first) << "entry " << i;
            ASSERT_EQ(tids[i], reference.entries[i].second) << "entry " << i;
        }
    }

    void expect_results(const KaryArray<Key> &array, const kary_test::Reference<Key> &reference,
                        const std::vector<Key> &probes) {
        const std::size_t count = probes.size();
        std::vector<std::uint32_t> up_to(count, 0xdeadbeef);
        std::vector<std::uint32_t> equal(count, 0xdeadbeef);
        std::vector<std::uint32_t> counts(count, 0xdeadbeef);
        const std::vector<Key> lowest(count);
        std::vector<Key> highs(probes);
        std::reverse(highs.begin(), highs.end());
        Status status = array.count(*stream_, lowest.data(), probes.data(), count, up_to.data());
        ASSERT_TRUE(status.ok()) << status.message;
        status = array.count(*stream_, probes.data(), probes.data(), count, equal.data());
        ASSERT_TRUE(status.ok()) << status.message;
        status = array.count(*stream_, probes.data(), highs.data(), count, counts.data());
        ASSERT_TRUE(status.ok()) << status.message;
        std::vector<std::uint32_t> live_before(reference.entries.size() + 1, 0);
        for (std::size_t i = 0; i < reference.entries.size(); ++i) {
            live_before[i + 1] = live_before[i] + (reference.dead.empty() || !reference.dead[i] ? 1 : 0);
        }
        for (std::size_t i = 0; i < count; ++i) {
            const KaryRange expected = reference.find(probes[i]);
            ASSERT_EQ(up_to[i], live_before[expected.last]) << "probe " << i;
            ASSERT_EQ(equal[i], live_before[expected.last] - live_before[expected.first]) << "probe " << i;
            const std::uint32_t end = reference.find(highs[i]).last;
            ASSERT_EQ(counts[i], probes[i] <= highs[i] ? live_before[end] - live_before[expected.first] : 0U)
                << "probe " << i;
        }
    }

    // A device answers small batches in another way. Answers get long where keys are equal, so a batch whose
    // answer had a million entries is the last one.
    void expect_tids(const KaryArray<Key> &array, const kary_test::Reference<Key> &reference,
                     const std::vector<Key> &probes) {
        for (const std::size_t batch : {std::size_t(1), std::size_t(2), std::size_t(33), std::size_t(64),
                                        std::size_t(65), std::size_t(200)}) {
            SCOPED_TRACE(batch);
            const std::size_t first = std::min(probes.size(), batch);
            const std::vector<Key> requested(probes.end() - first, probes.end());
            expect_tids_of_batch(array, reference, requested);
            std::size_t found = 0;
            for (const Key probe : requested) {
                const KaryRange range = reference.find(probe);
                found += range.last - range.first;
            }
            if (found > 1000000) {
                return;
            }
        }
    }

    void expect_tids_of_batch(const KaryArray<Key> &array, const kary_test::Reference<Key> &reference,
                              const std::vector<Key> &probes) {
        std::vector<Tid> expected;
        std::vector<std::uint64_t> expected_offsets = {0};
        for (const Key probe : probes) {
            const std::vector<Tid> live = reference.live(reference.find(probe));
            expected.insert(expected.end(), live.begin(), live.end());
            expected_offsets.push_back(expected.size());
        }
        std::vector<std::uint64_t> offsets(probes.size() + 1, 99);
        std::vector<Tid> tids(expected.size() + 1, make_tid(0x123456789abc));
        const Status status = array.lookup(*stream_, probes.data(), probes.size(), offsets.data(),
                                           tids.data(), expected.size());
        ASSERT_TRUE(status.ok()) << status.message;
        ASSERT_EQ(offsets, expected_offsets);
        ASSERT_EQ(tids.back(), make_tid(0x123456789abc)) << "written behind the end";
        tids.pop_back();
        ASSERT_TRUE(tids == expected);

        if (!expected.empty()) {
            std::fill(offsets.begin(), offsets.end(), 99);
            EXPECT_EQ(array
                          .lookup(*stream_, probes.data(), probes.size(), offsets.data(), tids.data(),
                                  expected.size() - 1)
                          .code,
                      StatusCode::insufficient_space);
            EXPECT_EQ(offsets, expected_offsets);
        }
        expect_matches(array, probes, expected, expected_offsets);
    }

    // Expects the results of match in each form: TIDs and numbers, one of them, and none.
    void expect_matches(const KaryArray<Key> &array, const std::vector<Key> &probes,
                        const std::vector<Tid> &expected, const std::vector<std::uint64_t> &offsets) {
        std::vector<std::uint32_t> expected_items;
        for (std::size_t i = 0; i < probes.size(); ++i) {
            expected_items.insert(expected_items.end(), offsets[i + 1] - offsets[i],
                                  static_cast<std::uint32_t>(i));
        }
        for (const auto &[with_tids, with_items] : {std::pair(true, true), std::pair(true, false),
                                                    std::pair(false, true), std::pair(false, false)}) {
            std::vector<Tid> tids(expected.size() + 1, make_tid(0x123456789abc));
            std::vector<std::uint32_t> items(expected.size() + 1, 0xabcdef);
            std::uint64_t number = UINT64_MAX;
            const KaryArray<Key> *arrays[] = {&array};
            const Status status = kary().match(
                *stream_, arrays, 1, probes.data(), probes.size(), [&](std::size_t, std::uint64_t found) {
                    number = found;
                    return gpu_engine::MatchPlaces{
                        found == expected.size() && with_tids ? tids.data() : nullptr,
                        found == expected.size() && with_items ? items.data() : nullptr};
                });
            ASSERT_TRUE(status.ok()) << status.message;
            ASSERT_EQ(number, expected.size());
            ASSERT_EQ(tids.back(), make_tid(0x123456789abc)) << "written behind the end";
            ASSERT_EQ(items.back(), 0xabcdefU) << "written behind the end";
            tids.pop_back();
            items.pop_back();
            ASSERT_TRUE(!with_tids || tids == expected);
            ASSERT_TRUE(!with_items || items == expected_items);
        }
    }

    void expect_all(const std::vector<Key> &keys, const std::vector<Tid> &tids) {
        kary_test::Reference<Key> reference = reference_of(keys, tids);
        const std::unique_ptr<KaryArray<Key>> array = build(keys, tids);
        ASSERT_NE(array, nullptr);
        expect_content(*array, reference);
        const std::vector<Key> probes = probes_of(reference, 6000, random_);
        expect_results(*array, reference, probes);
        expect_tids(*array, reference, probes);
        set_dead(*array, reference, 0.3, 1);
        expect_results(*array, reference, probes);
        expect_tids(*array, reference, probes);
    }
};
TYPED_TEST_SUITE(EngineKary, KeyCases, KeyCaseName);

// More arrays, and more keys times arrays, than a device takes at a time.
TYPED_TEST(EngineKary, MatchesKeysInManyArraysAtOnce) {
    using Key = typename TypeParam::Key;
    const Pattern<Key> pattern = patterns<Key>().front();
    std::vector<std::unique_ptr<KaryArray<Key>>> arrays;
    std::vector<const KaryArray<Key> *> requested;
    std::vector<Key> probes;
    for (std::size_t i = 0; i < 150; ++i) {
        const std::size_t size = i % 7 == 0 ? i / 70 : 40 * i;
        const std::vector<Key> keys = pattern.make(size, this->random_);
        const std::vector<Tid> tids = this->ascending_tids(size);
        arrays.push_back(this->build(keys, tids));
        ASSERT_NE(arrays.back(), nullptr);
        if (i % 3 == 0) {
            kary_test::Reference<Key> reference = reference_of(keys, tids);
            this->set_dead(*arrays.back(), reference, 0.4, 1);
        }
        requested.push_back(arrays.back().get());
        probes.insert(probes.end(), keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(size / 10));
    }
    gpu_engine::MemoryBudget &memory = this->engine_->memory();
    const std::uint64_t limit = memory.limit();
    // The last time with memory for a few arrays at a time.
    for (const auto &[count, spare] :
         {std::pair(std::size_t{0}, limit), std::pair(std::size_t{100}, limit),
          std::pair(probes.size(), limit), std::pair(probes.size(), std::uint64_t{8} << 20)}) {
        SCOPED_TRACE(std::to_string(count) + " keys");
        memory.set_limit(spare == limit ? limit : memory.used() + spare);
        std::vector<std::vector<Tid>> tids(requested.size());
        std::vector<std::vector<std::uint32_t>> items(requested.size());
        std::size_t next = 0;
        const Status status =
            this->kary().match(*this->stream_, requested.data(), requested.size(), probes.data(), count,
                               [&](std::size_t array, std::uint64_t found) {
                                   EXPECT_EQ(array, next++);
                                   tids[array].resize(found);
                                   items[array].resize(found);
                                   return gpu_engine::MatchPlaces{tids[array].data(), items[array].data()};
                               });
        memory.set_limit(limit);
        ASSERT_TRUE(status.ok()) << status.message;
        ASSERT_EQ(next, requested.size());
        for (std::size_t i = 0; i < requested.size(); ++i) {
            std::vector<std::uint64_t> offsets(count + 1);
            std::vector<Tid> expected(tids[i].size());
            ASSERT_TRUE(requested[i]
                            ->lookup(*this->stream_, probes.data(), count, offsets.data(), expected.data(),
                                     expected.size())
                            .ok());
            ASSERT_EQ(offsets.back(), expected.size());
            ASSERT_TRUE(tids[i] == expected);
            for (std::size_t key = 0; key < count; ++key) {
                for (std::uint64_t at = offsets[key]; at < offsets[key + 1]; ++at) {
                    ASSERT_EQ(items[i][at], key);
                }
            }
        }
    }
}

// Around the sizes of leaves, nodes and blocks, and their powers.
TYPED_TEST(EngineKary, AnswersAsTheReferenceOnSmallSizes) {
    using Key = typename TypeParam::Key;
    std::vector<std::size_t> sizes = {0, 1, 2, 3};
    for (const std::size_t size : {4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096}) {
        sizes.insert(sizes.end(), {size - 1, size, size + 1});
    }
    for (const Pattern<Key> &pattern : patterns<Key>()) {
        for (const std::size_t size : sizes) {
            SCOPED_TRACE(std::string(pattern.name) + ", " + std::to_string(size) + " entries");
            this->expect_all(pattern.make(size, this->random_), this->ascending_tids(size));
            ASSERT_FALSE(this->HasFatalFailure());
        }
    }
}

TYPED_TEST(EngineKary, AnswersAsTheReferenceOnLargerSizes) {
    using Key = typename TypeParam::Key;
    for (const Pattern<Key> &pattern : patterns<Key>()) {
        for (const std::size_t size : {32768 - 1, 65536 + 1, 262144, 300007}) {
            if (size == 262144 && !unit_test::is_long_run()) {
                break;
            }
            SCOPED_TRACE(std::string(pattern.name) + ", " + std::to_string(size) + " entries");
            this->expect_all(pattern.make(size, this->random_), this->ascending_tids(size));
            ASSERT_FALSE(this->HasFatalFailure());
        }
    }
}

// The cuda engine searches large batches with copies of the tree's top in shared memory, which small ones
// don't pay for.
TYPED_TEST(EngineKary, AnswersLargeBatches) {
    using Key = typename TypeParam::Key;
    for (const std::size_t size : {1000, 300000, (1 << 20) + 1}) {
        for (const std::size_t pattern : {0, 8, 9}) {
            if (size > 1000 && pattern != (size < 1000000 ? 8 : 9) && !unit_test::is_long_run()) {
                continue;
            }
            SCOPED_TRACE(std::string(patterns<Key>()[pattern].name) + ", " + std::to_string(size) +
                         " entries");
            const std::vector<Key> keys = patterns<Key>()[pattern].make(size, this->random_);
            const std::vector<Tid> tids = this->ascending_tids(size);
            const auto array = this->build(keys, tids);
            ASSERT_NE(array, nullptr);
            const kary_test::Reference<Key> reference = reference_of(keys, tids);
            std::vector<Key> probes = probes_of(reference, 200000, this->random_);
            // Enough for every multiprocessor, however few differ.
            for (std::size_t i = 0; probes.size() < 200000; ++i) {
                probes.push_back(probes[i]);
            }
            this->expect_results(*array, reference, probes);
            ASSERT_FALSE(this->HasFatalFailure());
        }
    }
}

TYPED_TEST(EngineKary, LoadTakesOnlyOrderedEntries) {
    using Key = typename TypeParam::Key;
    for (const std::size_t size : {0, 1, 2, 5000, 140000}) {
        const std::vector<Key> keys = patterns<Key>()[1].make(size, this->random_);
        const std::vector<Tid> tids = this->ascending_tids(size);
        const kary_test::Reference<Key> reference = reference_of(keys, tids);
        std::unique_ptr<KaryArray<Key>> array = this->build(keys, tids);
        ASSERT_NE(array, nullptr);
        this->expect_content(*array, reference);
        this->expect_results(*array, reference, probes_of(reference, 3000, this->random_));
        ASSERT_FALSE(this->HasFatalFailure());
        array.reset();
        if (size >= 2) {
            for (const std::size_t place : {std::size_t(1), size / 2, size - 1}) {
                // Each part of a TID counts.
                for (const std::uint64_t less :
                     std::vector<std::uint64_t>{0x000100010006, 0x000100000007, 0x000000010007}) {
                    std::vector<Tid> broken(size, make_tid(0x000100010007));
                    broken[place] = make_tid(less);
                    const std::vector<Key> same_keys(size, Key{});
                    EXPECT_EQ(load_array(*this->engine_, *this->stream_, same_keys.data(), broken.data(),
                                         size, &array)
                                  .code,
                              StatusCode::invalid_argument);
                    EXPECT_EQ(array, nullptr);
                }
                std::vector<Key> broken(size, make_key<Key>(1, 1));
                broken[place] = make_key<Key>(0, 0);
                EXPECT_EQ(
                    load_array(*this->engine_, *this->stream_, broken.data(), tids.data(), size, &array).code,
                    StatusCode::invalid_argument);
            }
        }
    }
}

TYPED_TEST(EngineKary, DeadBitmapsNeverGoBack) {
    using Key = typename TypeParam::Key;
    const std::vector<Key> keys = patterns<Key>()[0].make(1000, this->random_);
    kary_test::Reference<Key> reference = reference_of(keys, this->ascending_tids(1000));
    const auto array = this->build(keys, this->ascending_tids(1000));
    ASSERT_NE(array, nullptr);
    this->set_dead(*array, reference, 0.5, 7);
    EXPECT_EQ(array->set_dead(*this->stream_, nullptr, 6).code, StatusCode::invalid_argument);
    EXPECT_EQ(array->dead_version(), 7U);
    EXPECT_TRUE(array->set_dead(*this->stream_, nullptr, 7).ok());
    EXPECT_EQ(array->dead_entries(), 0U);
}

TYPED_TEST(EngineKary, RefusesForeignArrays) {
    using Key = typename TypeParam::Key;
    const Key key{};
    const Tid tid = make_tid(1);
    std::unique_ptr<Engine> other;
    std::unique_ptr<Stream> other_stream;
    ASSERT_TRUE(gpu_engine::host::open_engine({}, &other).ok());
    ASSERT_TRUE(other->open_stream(&other_stream).ok());
    std::unique_ptr<KaryArray<Key>> foreign;
    ASSERT_TRUE(load_array(*other, *other_stream, &key, &tid, 1, &foreign).ok());
    const KaryArray<Key> *arrays[] = {foreign.get()};
    const auto nowhere = [](std::size_t, std::uint64_t) { return gpu_engine::MatchPlaces{}; };
    EXPECT_EQ(this->kary().match(*this->stream_, arrays, 1, &key, 1, nowhere).code,
              StatusCode::invalid_argument);
}

TYPED_TEST(EngineKary, CancelledCallsEnd) {
    using Key = typename TypeParam::Key;
    const std::vector<Key> keys = patterns<Key>()[0].make(100000, this->random_);
    const std::vector<Tid> tids = this->ascending_tids(keys.size());
    const auto array = this->build(keys, tids);
    ASSERT_NE(array, nullptr);
    std::vector<std::uint32_t> counts(keys.size());
    const auto count = [&] {
        return array->count(*this->stream_, keys.data(), keys.data(), keys.size(), counts.data()).code;
    };
    this->stream_->cancel();
    EXPECT_EQ(count(), StatusCode::cancelled);
    std::unique_ptr<KaryArray<Key>> second;
    EXPECT_EQ(this->try_build(keys, tids, &second).code, StatusCode::cancelled);
    EXPECT_EQ(second, nullptr);
    this->stream_->resume();
    EXPECT_EQ(count(), StatusCode::ok);
}

// Each request for memory in turn is refused: the call fails with out_of_memory, leaks nothing, and the next
// one succeeds.
TYPED_TEST(EngineKary, SurvivesEveryRefusedAllocation) {
    using Key = typename TypeParam::Key;
    const std::vector<Key> keys = patterns<Key>()[1].make(70000, this->random_);
    std::vector<Tid> tids = this->ascending_tids(keys.size());
    std::shuffle(tids.begin(), tids.end(), this->random_);
    const kary_test::Reference<Key> reference = reference_of(keys, tids);
    const std::vector<Key> probes = probes_of(reference, 1000, this->random_);
    std::vector<std::uint64_t> offsets(probes.size() + 1);
    std::vector<std::uint64_t> bitmap((keys.size() + 63) / 64, 0x5555555555555555);
    bool refused = true;
    int refusals = 0;
    for (int requests = 0; refused; ++requests) {
        ASSERT_LT(requests, 200);
        refused = false;
        const auto expect_refusal_or_success = [&](const Status &status) {
            if (!status.ok() && status.code != StatusCode::insufficient_space) {
                EXPECT_EQ(status.code, StatusCode::out_of_memory) << status.message;
                refused = true;
                ++refusals;
            }
        };
        std::unique_ptr<KaryArray<Key>> array;
        const std::uint64_t before = this->engine_->memory().used();
        this->engine_->memory().refuse_after(requests);
        expect_refusal_or_success(this->try_build(keys, tids, &array));
        this->engine_->memory().refuse_after(-1);
        if (array == nullptr) {
            EXPECT_EQ(this->engine_->memory().used(), before);
            array = this->build(keys, tids);
            ASSERT_NE(array, nullptr);
        }
        this->engine_->memory().refuse_after(requests);
        expect_refusal_or_success(array->set_dead(*this->stream_, bitmap.data(), 1));
        this->engine_->memory().refuse_after(requests);
        expect_refusal_or_success(
            array->lookup(*this->stream_, probes.data(), probes.size(), offsets.data(), nullptr, 0));
        this->engine_->memory().refuse_after(-1);
    }
    EXPECT_GT(refusals, 3);
}

TYPED_TEST(EngineKary, KeepsItsMemoryLimit) {
    using Key = typename TypeParam::Key;
    const std::vector<Key> keys = patterns<Key>()[0].make(100000, this->random_);
    const std::vector<Tid> tids = this->ascending_tids(keys.size());
    const auto array = this->build(keys, tids);
    ASSERT_NE(array, nullptr);
    EXPECT_GE(this->engine_->memory().used(), array->bytes());
    EXPECT_GE(array->bytes(), keys.size() * (sizeof(Key) + sizeof(Tid)));
    EXPECT_LE(static_cast<double>(array->bytes()),
              static_cast<double>(keys.size()) * (1.2 * sizeof(Key) + sizeof(Tid)));
    this->engine_->memory().set_limit(array->bytes() + 1000);
    std::unique_ptr<KaryArray<Key>> second;
    EXPECT_EQ(this->try_build(keys, tids, &second).code, StatusCode::out_of_memory);
    this->engine_->memory().set_limit(UINT64_MAX);
}

// Streams of their own, and dead bitmaps that change meanwhile: each answer is that of one bitmap or another.
TYPED_TEST(EngineKary, StreamsWorkBesideEachOther) {
    using Key = typename TypeParam::Key;
    const std::size_t size = 50000;
    std::vector<Key> keys(size);
    for (std::size_t i = 0; i < size; ++i) {
        keys[i] = make_key<Key>(0, i);
    }
    const auto array = this->build(keys, this->ascending_tids(size));
    ASSERT_NE(array, nullptr);
    const std::vector<std::uint64_t> all_dead((size + 63) / 64, UINT64_MAX);
    std::atomic<int> wrong = 0;
    std::atomic<bool> done = false;
    std::vector<std::thread> readers;
    for (int i = 0; i < 3; ++i) {
        readers.emplace_back([&] {
            std::unique_ptr<Stream> stream;
            if (!this->engine_->open_stream(&stream).ok()) {
                ++wrong;
                return;
            }
            while (!done) {
                const Key low{};
                const Key high = kary_test::highest<Key>();
                std::uint32_t count = 1;
                if (!array->count(*stream, &low, &high, 1, &count).ok() || (count != 0 && count != size)) {
                    ++wrong;
                }
                std::vector<std::uint32_t> counts(size);
                if (!array->count(*stream, keys.data(), keys.data(), size, counts.data()).ok()) {
                    ++wrong;
                }
                for (std::size_t j = 0; j < size; ++j) {
                    wrong += counts[j] == counts[0] ? 0 : 1;
                }
            }
        });
    }
    for (std::uint64_t version = 1; version < 200; ++version) {
        EXPECT_TRUE(
            array->set_dead(*this->stream_, version % 2 != 0 ? all_dead.data() : nullptr, version).ok());
    }
    done = true;
    for (std::thread &reader : readers) {
        reader.join();
    }
    EXPECT_EQ(wrong, 0);
}

#ifdef PG_GPU_HAVE_CUDA
TEST(EngineOpen, ReportsMissingDevices) {
    std::unique_ptr<Engine> engine;
    EngineOptions options;
    options.device = 1000;
    const Status status = gpu_engine::device::open_engine(options, &engine);
    EXPECT_EQ(status.code, StatusCode::unavailable) << status.message;
    EXPECT_EQ(engine, nullptr);
}
#endif

}  // namespace
