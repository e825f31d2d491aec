#include "host/column/groups.h"

#include <algorithm>

#include "gpu_engine/boundary.h"

namespace gpu_engine::host {
namespace {

constexpr std::uint64_t first_room = 1024;
// Groups are dense if rows aren't far fewer than the keys there can be. Even beyond the caches a row then
// costs one line of memory, which is less than the two lines of a hashed table and its growing.
constexpr std::uint32_t max_dense_bits = 22;
// Large tables lie beyond the caches, so their lines are fetched this many keys ahead.
constexpr std::uint32_t keys_ahead = 16;

}  // namespace

Groups::Groups(MemoryBudget &budget, const AggregatePlan &plan, std::uint64_t max_groups,
               std::uint64_t dense_bytes)
    : budget_(&budget), plan_(&plan), max_groups_(std::min<std::uint64_t>(max_groups, UINT32_MAX - 1)) {
    const std::uint32_t bits = plan.key_bits();
    const std::uint64_t record_bytes = plan.record_words() * sizeof(std::uint64_t);
    is_dense_ = bits <= max_dense_bits && record_bytes << bits <= dense_bytes &&
                std::uint64_t(1) << bits <= plan.rows + first_room;
    room_ = is_dense_ ? std::uint64_t(1) << bits : first_room;
    records_ = Buffer<std::uint64_t>(budget, room_ * plan.record_words());
    if (!is_dense_) {
        mask_ = 2 * room_ - 1;
        slots_ = Buffer<std::uint32_t>(budget, mask_ + 1);
        std::fill_n(slots_.data(), slots_.size(), 0);
        return;
    }
    present_ = Buffer<std::uint8_t>(budget, room_);
    std::fill_n(present_.data(), room_, 0);
    for (std::uint64_t group = 0; group < room_; ++group) {
        begin_record(group);
        if (plan.program.key_words > 0) {
            records_[group * plan.record_words()] = group;
        }
    }
    // Without keys there is one group, even without rows.
    present_[0] = plan.program.key_count == 0 ? 1 : 0;
}

void Groups::begin_record(std::uint64_t group) {
    begin_group(plan_->program, records_.data() + group * plan_->record_words() + plan_->program.key_words);
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
    std::copy_n(records_.data(), count_ * plan_->record_words(), records.data());
    records_ = std::move(records);
    room_ = room;
    slots_ = Buffer<std::uint32_t>();
    mask_ = 2 * room - 1;
    slots_ = Buffer<std::uint32_t>(*budget_, mask_ + 1);
    std::fill_n(slots_.data(), slots_.size(), 0);
    for (std::uint64_t group = 0; group < count_; ++group) {
        std::uint64_t slot = hash_of(record(group)) & mask_;
        while (slots_[slot] != 0) {
            slot = (slot + 1) & mask_;
        }
        slots_[slot] = static_cast<std::uint32_t>(group + 1);
    }
    return true;
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
            present_[numbers[i]] = 1;
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
            __builtin_prefetch(&records_[numbers[at] * std::uint64_t(plan_->record_words())], 1);
        }
    }
    return true;
}

bool Groups::merge(const std::uint64_t *other) {
    const std::uint32_t words = plan_->program.key_words;
    std::uint32_t number = 0;
    if (is_dense_) {
        number = words == 0 ? 0 : static_cast<std::uint32_t>(other[0]);
        present_[number] = 1;
    } else if (!find_one(
                   hash_of(other),
                   [&](const std::uint64_t *record) { return std::equal(record, record + words, other); },
                   [&](std::uint64_t *record) { std::copy_n(other, words, record); }, &number)) {
        return false;
    }
    merge_group(plan_->program, records_.data() + number * std::uint64_t(plan_->record_words()) + words,
                other + words);
    return true;
}

void Groups::finish() {
    if (!is_dense_) {
        return;
    }
    const std::uint32_t words = plan_->record_words();
    for (std::uint64_t group = 0; group < room_; ++group) {
        if (present_[group] != 0) {
            std::copy_n(record(group), words, records_.data() + count_++ * words);
        }
    }
}

}  // namespace gpu_engine::host
