// Made-up facts of heap blocks, as a session knows them, and what they say about entries.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "gpu_engine/entry.h"
#include "gpu_engine/heap_blocks.h"
#include "gpu_engine/protocol.h"

namespace heap_facts {

enum class State : std::uint8_t { unknown, known, all_visible };
enum class Visibility : std::uint8_t { hidden, visible, unknown };

class HeapFacts {
  public:
    // Makes this many blocks of one state. Entries on known blocks are hidden.
    explicit HeapFacts(std::uint64_t blocks, State state = State::unknown, std::uint32_t row_words = 2)
        : row_words_(row_words), states_(blocks, state), rows_(blocks * row_words) {
        number_slots();
    }

    // Makes blocks of each state, and at the end known blocks without a slot.
    template <typename Random>
    static HeapFacts random(std::uint64_t blocks, Random &random) {
        HeapFacts facts(blocks, State::all_visible, 1 + random() % 3);
        for (State &state : facts.states_) {
            const auto drawn = random() % 4;
            state = drawn == 0 ? State::unknown : drawn == 1 ? State::known : State::all_visible;
        }
        for (std::uint64_t &word : facts.rows_) {
            word = static_cast<std::uint64_t>(random()) << 32 ^ static_cast<std::uint64_t>(random());
        }
        facts.number_slots();
        facts.slots_ -= facts.slots_ > 2 ? random() % 3 : 0;
        return facts;
    }

    void set(std::uint64_t block, State state) {
        states_[block] = state;
        number_slots();
    }

    Visibility of(std::uint64_t place) const {
        const std::uint64_t block = place >> 16;
        if (block >= states_.size() || states_[block] == State::unknown) {
            return Visibility::unknown;
        }
        if (states_[block] == State::all_visible) {
            return Visibility::visible;
        }
        if (slot_of_[block] >= slots_) {
            return Visibility::unknown;
        }
        const std::uint64_t bit = (place & 0xffff) - 1;
        return bit < row_words_ * 64 && (rows_[block * row_words_ + bit / 64] >> (bit % 64) & 1) != 0
                   ? Visibility::visible
                   : Visibility::hidden;
    }
    Visibility of(const gpu_engine::Tid &tid) const {
        return of(static_cast<std::uint64_t>(tid.block_high) << 32 |
                  static_cast<std::uint64_t>(tid.block_low) << 16 | tid.offset);
    }

    // The facts as an engine takes them. They are valid as long as this object, and until the next call.
    gpu_engine::KnownBlocks known() {
        groups_.assign((states_.size() + 63) / 64, {});
        packed_.clear();
        for (std::uint64_t block = 0; block < states_.size(); ++block) {
            gpu_engine::BlockGroup &group = groups_[block / 64];
            group.first_slot = block % 64 == 0 ? packed_.size() / row_words_ : group.first_slot;
            const std::uint64_t bit = std::uint64_t(1) << (block % 64);
            group.all_visible |= states_[block] == State::all_visible ? bit : 0;
            group.known |= states_[block] == State::known ? bit : 0;
            if (states_[block] == State::known) {
                packed_.insert(packed_.end(), rows_.begin() + static_cast<std::ptrdiff_t>(block * row_words_),
                               rows_.begin() + static_cast<std::ptrdiff_t>((block + 1) * row_words_));
            }
        }
        return {groups_.data(), groups_.size(), packed_.data(), slots_, row_words_};
    }

    // Writes the facts into a transfer buffer, from `at` on.
    gpu_engine::protocol::BlocksPlace place(char *buffer, std::uint64_t at) {
        const gpu_engine::KnownBlocks known = this->known();
        const std::uint64_t group_bytes = known.group_count * sizeof(gpu_engine::BlockGroup);
        const std::uint64_t rows_at = at + (group_bytes + 15) / 16 * 16;
        std::memcpy(buffer + at, groups_.data(), group_bytes);
        if (known.slots > 0) {
            std::memcpy(buffer + rows_at, packed_.data(), known.slots * row_words_ * sizeof(std::uint64_t));
        }
        return {at, known.group_count, rows_at, known.slots, row_words_, 0};
    }

  private:
    void number_slots() {
        slots_ = 0;
        slot_of_.clear();
        for (const State state : states_) {
            slot_of_.push_back(slots_);
            slots_ += state == State::known ? 1 : 0;
        }
    }

    std::uint32_t row_words_;
    std::vector<State> states_;
    std::vector<std::uint64_t> slot_of_;
    std::uint64_t slots_ = 0;
    std::vector<std::uint64_t> rows_;
    std::vector<gpu_engine::BlockGroup> groups_;
    std::vector<std::uint64_t> packed_;
};

}  // namespace heap_facts
