#include "host/column/aggregate/groups.h"

#include <algorithm>
#include <bit>

#include "gpu_engine/large_pages.h"

namespace gpu_engine::host {
namespace {

constexpr std::uint64_t first_room = 1024;
// Groups are dense if rows aren't far fewer than the keys there can be. Even beyond the caches a row then
// costs one line of memory, which is less than the two lines of a hashed table and its growing.
constexpr std::uint32_t max_dense_bits = 24;
// Large tables lie beyond the caches, so their lines are fetched this many keys ahead.
constexpr std::uint32_t keys_ahead = 16;

template <typename Element>
void use_large_pages_for(Buffer<Element> &table) noexcept {
    use_large_pages(table.data(), table.bytes());
}

// std::equal would call memcmp for a word or two.
bool has_key(const std::uint64_t *record, const std::uint64_t *key, std::uint32_t words) noexcept {
    std::uint32_t word = 0;
    while (word < words && record[word] == key[word]) {
        ++word;
    }
    return word == words;
}

}  // namespace

Groups::Groups(MemoryBudget &budget, const AggregatePlan &plan, std::uint64_t max_groups,
               std::uint64_t dense_bytes, std::uint64_t expected)
    : budget_(&budget),
      plan_(&plan),
      max_groups_(std::min<std::uint64_t>(max_groups, UINT32_MAX - 1)),
      initial_(plan.program.value_words) {
    begin_group(plan.program, initial_.data());
    const std::uint32_t bits = plan.key_bits();
    const std::uint64_t record_bytes = plan.record_words() * sizeof(std::uint64_t);
    is_dense_ = dense_bytes > 0 && bits <= max_dense_bits && record_bytes << bits <= dense_bytes &&
                std::uint64_t(1) << bits <= 2 * plan.rows + first_room;
    room_ = is_dense_ ? std::uint64_t(1) << bits : std::bit_ceil(std::max(expected, first_room));
    records_ = Buffer<std::uint64_t>(budget, room_ * plan.record_words());
    use_large_pages_for(records_);
    if (!is_dense_) {
        make_slots();
        return;
    }
    present_ = Buffer<std::uint8_t>(budget, room_);
    std::fill_n(present_.data(), room_, 0);
    // Without keys there is one group, even if there are no rows.
    if (plan.program.key_count == 0) {
        begin_dense(0);
    }
}

void Groups::begin_record(std::uint64_t group) {
    std::copy(initial_.begin(), initial_.end(),
              records_.data() + group * plan_->record_words() + plan_->program.key_words);
}

void Groups::begin_dense(std::uint64_t group) noexcept {
    begin_record(group);
    if (plan_->program.key_words > 0) {
        records_[group * plan_->record_words()] = group;
    }
    present_[group] = 1;
}

std::uint64_t Groups::hash_of(const std::uint64_t *record) const noexcept {
    return hash_key(record, plan_->program.key_words);
}

bool Groups::grow() {
    if (count_ >= max_groups_) {
        return false;
    }
    const std::uint64_t room = 2 * room_;
    Buffer<std::uint64_t> records(*budget_, room * plan_->record_words());
    use_large_pages_for(records);
    std::copy_n(records_.data(), count_ * plan_->record_words(), records.data());
    records_ = std::move(records);
    room_ = room;
    // Given back before there are more.
    slots_ = Buffer<std::uint32_t>();
    make_slots();
    std::uint64_t slots[keys_ahead];
    for (std::uint64_t first = 0; first < count_; first += keys_ahead) {
        const std::uint64_t here = std::min<std::uint64_t>(keys_ahead, count_ - first);
        for (std::uint64_t i = 0; i < here; ++i) {
            slots[i] = hash_of(record(first + i)) & mask_;
            __builtin_prefetch(&slots_[slots[i]], 1);
        }
        for (std::uint64_t i = 0; i < here; ++i) {
            while (slots_[slots[i]] != 0) {
                slots[i] = (slots[i] + 1) & mask_;
            }
            slots_[slots[i]] = static_cast<std::uint32_t>(first + i + 1);
        }
    }
    return true;
}

void Groups::make_slots() {
    mask_ = 2 * room_ - 1;
    slots_ = Buffer<std::uint32_t>(*budget_, mask_ + 1);
    use_large_pages_for(slots_);
    std::fill_n(slots_.data(), slots_.size(), 0);
}

void Groups::fetch_ahead(const std::uint64_t *hashes, std::uint32_t count) const noexcept {
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t slot = slots_[hashes[i] & mask_];
        __builtin_prefetch(record(std::max(slot, 1U) - 1), 1);
    }
}

// `has_key(record)` says whether a group's record has the key that is looked for; `take_key(record)` writes
// the key into it.
template <typename HasKey, typename TakeKey>
bool Groups::find_one(std::uint64_t hash, HasKey has_key, TakeKey take_key, std::uint32_t *number) {
    if (count_ == room_ && !grow()) {
        return false;
    }
    std::uint64_t slot = hash & mask_;
    while (slots_[slot] != 0 && !has_key(record(slots_[slot] - 1))) {
        slot = (slot + 1) & mask_;
    }
    if (slots_[slot] == 0) {
        if (count_ >= max_groups_) {
            return false;
        }
        begin_record(count_);
        take_key(records_.data() + count_ * plan_->record_words());
        slots_[slot] = static_cast<std::uint32_t>(++count_);
    }
    *number = slots_[slot] - 1;
    return true;
}

bool Groups::find(const std::uint64_t *const *keys, std::uint32_t count, std::uint32_t *numbers) {
    const std::uint32_t words = plan_->program.key_words;
    if (is_dense_) {
        for (std::uint32_t i = 0; i < count; ++i) {
            numbers[i] = words == 0 ? 0 : static_cast<std::uint32_t>(keys[0][i]);
            if (present_[numbers[i]] == 0) {
                begin_dense(numbers[i]);
            }
        }
        return true;
    }
    std::uint64_t hashes[keys_ahead];
    for (std::uint32_t first = 0; first < count; first += keys_ahead) {
        const std::uint32_t here = std::min(keys_ahead, count - first);
        for (std::uint32_t i = 0; i < here; ++i) {
            hashes[i] = 0;
            for (std::uint32_t word = 0; word < words; ++word) {
                hashes[i] = mix_key(hashes[i], keys[word][first + i]);
            }
            __builtin_prefetch(&slots_[hashes[i] & mask_]);
        }
        fetch_ahead(hashes, here);
        for (std::uint32_t i = 0; i < here; ++i) {
            const std::uint32_t at = first + i;
            const bool found = find_one(
                hashes[i],
                [&](const std::uint64_t *record) {
                    std::uint32_t word = 0;
                    while (word < words && record[word] == keys[word][at]) {
                        ++word;
                    }
                    return word == words;
                },
                [&](std::uint64_t *record) {
                    for (std::uint32_t word = 0; word < words; ++word) {
                        record[word] = keys[word][at];
                    }
                },
                &numbers[at]);
            if (!found) {
                return false;
            }
        }
    }
    return true;
}

bool Groups::merge(const RecordSpan &other, const std::uint32_t *numbers, std::uint64_t count) {
    const std::uint32_t words = plan_->program.key_words;
    const auto other_record = [&](std::uint64_t i) {
        return other.record(numbers == nullptr ? i : numbers[i]);
    };
    std::uint64_t hashes[keys_ahead];
    for (std::uint64_t first = 0; first < count; first += keys_ahead) {
        const auto here = static_cast<std::uint32_t>(std::min<std::uint64_t>(keys_ahead, count - first));
        for (std::uint64_t i = first + here; i < std::min(first + 2 * keys_ahead, count); ++i) {
            __builtin_prefetch(other_record(i));
        }
        for (std::uint32_t i = 0; i < here; ++i) {
            hashes[i] = hash_of(other_record(first + i));
            __builtin_prefetch(&slots_[hashes[i] & mask_]);
        }
        fetch_ahead(hashes, here);
        for (std::uint32_t i = 0; i < here; ++i) {
            const std::uint64_t *record = other_record(first + i);
            std::uint32_t number = 0;
            if (!find_one(
                    hashes[i], [&](const std::uint64_t *own) { return has_key(own, record, words); },
                    [&](std::uint64_t *own) { std::copy_n(record, words, own); }, &number)) {
                return false;
            }
            merge_group(plan_->program,
                        records_.data() + number * std::uint64_t(plan_->record_words()) + words,
                        record + words);
        }
    }
    return true;
}

RecordSpan Groups::gather(std::uint64_t first, std::uint64_t last, std::span<const Groups> others) {
    const std::uint32_t words = plan_->record_words();
    std::uint64_t *const begin = records_.data() + first * words;
    std::uint64_t count = 0;
    // The next place never comes before a record that is still to be joined.
    join(first, last, others, [&](const std::uint64_t *record) {
        std::uint64_t *const place = begin + count++ * words;
        if (record != place) {
            std::copy_n(record, words, place);
        }
    });
    return {begin, count, words};
}

}  // namespace gpu_engine::host
