// Handlers write results into the transfer buffer by these.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "server/requests/request.h"
#include "server/requests/run_set.h"
#include "server/requests/scratch.h"

namespace gpu_engine::server {

inline std::uint64_t aligned(std::uint64_t bytes) {
    constexpr std::uint64_t alignment = protocol::buffer_alignment;
    return (bytes + alignment - 1) / alignment * alignment;
}

// The part of the transfer buffer that results go to.
class Results {
  public:
    Results(const TransferBuffer &buffer, std::uint64_t begin, std::uint64_t capacity)
        : buffer_(buffer),
          at_(begin),
          end_(begin + capacity / protocol::buffer_alignment * protocol::buffer_alignment),
          begin_(begin) {
        static_cast<void>(buffer.part<char>(begin, capacity));
    }

    // Takes room for the next `count` elements; *at says at which offset. Throws Failure when they don't fit.
    template <typename Element>
    Element *take(std::uint64_t count, std::uint64_t *at) {
        if (count > room<Element>()) {
            throw Failure{make_status(StatusCode::insufficient_space, "the results don't fit")};
        }
        *at = at_;
        at_ = std::min(at_ + aligned(count * sizeof(Element)), end_);
        return buffer_.part<Element>(*at, count);
    }
    // Returns how many elements fit into the room that is left.
    template <typename Element>
    std::uint64_t room() const {
        return (end_ - at_) / sizeof(Element);
    }
    template <typename Element>
    Element *rest() const {
        return buffer_.part<Element>(at_, room<Element>());
    }
    std::uint64_t used() const noexcept { return at_ - begin_; }

  private:
    const TransferBuffer &buffer_;
    std::uint64_t at_;
    const std::uint64_t end_;
    const std::uint64_t begin_;
};

// Boxes that are open in all columns take no room in the buffer, so the buffer's size doesn't limit how many
// a session may claim. This does.
inline constexpr std::uint64_t max_items = std::uint64_t(1) << 53;

// No run has results with more TIDs than this, so that a larger number in the buffer was written by the
// session.
inline constexpr std::uint64_t entries_limit = std::uint64_t(1) << 56;

// Reads a number in the transfer buffer, which the session may change at any time, exactly once.
inline std::uint64_t read_once(std::uint64_t &number) {
    return std::atomic_ref(number).load(std::memory_order_relaxed);
}

// Returns the bytes that the offsets of `items` items of so many runs take.
inline std::uint64_t offsets_bytes(std::size_t runs, std::uint64_t items) {
    return runs * aligned((items + 1) * sizeof(std::uint64_t));
}

// Writes the entries that are found in each run that is here. `compute(run, offsets, tids, capacity)` has an
// array fill in offsets and TIDs, as KaryArray::lookup does; `compute_keys(run, offsets, keys, tids,
// capacity)` has it fill in keys too, and is null when no keys are wanted.
template <typename Key, typename Compute, typename ComputeKeys>
void write_entries(Work &work, const RunSet &runs, std::uint64_t items, Results &results,
                   protocol::ResultReply &reply, Compute compute, ComputeKeys compute_keys) {
    constexpr bool with_keys = !std::is_same_v<ComputeKeys, std::nullptr_t>;
    if (items > max_items) {
        refuse("more items than can be answered");
    }
    // All offsets come first: their size is known.
    reply.needed = results.used() + offsets_bytes(runs.count_here(), items);
    std::uint64_t *offsets[protocol::max_runs];
    for (std::size_t i = 0; i < runs.size(); ++i) {
        offsets[i] = runs.is_here(i) ? results.take<std::uint64_t>(items + 1, &reply.offsets_at[i]) : nullptr;
    }
    bool fits = true;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (!runs.is_here(i)) {
            continue;
        }
        // If keys are wanted too, the TIDs are only counted at first, to find out where the keys begin.
        std::uint64_t capacity = fits && !with_keys ? results.room<Tid>() : 0;
        Status status =
            with_room(work, [&] { return compute(i, offsets[i], results.rest<Tid>(), capacity); });
        if (status.code != StatusCode::insufficient_space) {
            check(status);
        }
        const std::uint64_t found = read_once(offsets[i][items]);
        if (found > (status.ok() ? capacity : entries_limit)) {
            refuse("the transfer buffer was written to during the request");
        }
        const std::uint64_t bytes =
            aligned(found * sizeof(Tid)) + (with_keys ? aligned(found * sizeof(Key)) : 0);
        reply.needed += bytes;
        reply.tids += found;
        fits = fits && bytes <= results.room<char>();
        if (!fits) {
            continue;
        }
        Tid *tids = results.take<Tid>(found, &reply.tids_at[i]);
        if constexpr (with_keys) {
            Key *keys = results.take<Key>(found, &reply.keys_at[i]);
            check(with_room(work, [&] { return compute_keys(i, offsets[i], keys, tids, found); }));
        }
    }
    if (!fits) {
        throw Failure{make_status(StatusCode::insufficient_space, "the results don't fit")};
    }
    work.items = items;
    work.bytes = results.used();
}

// Hands what is known of heap blocks to the work's engine. It is not called where all blocks are all-visible.
inline std::unique_ptr<HeapBlocks> keep_blocks(Work &work, const protocol::BlocksPlace &place) {
    if (place.slots > max_items) {
        refuse("more heap blocks than there can be");
    }
    const TransferBuffer &buffer = work.connection.buffer;
    const std::uint64_t row_words = std::min(place.row_words, KnownBlocks::max_row_words + 1);
    const KnownBlocks known = {buffer.part<BlockGroup>(place.groups, place.group_count), place.group_count,
                               buffer.part<std::uint64_t>(place.rows, place.slots * row_words), place.slots,
                               place.row_words};
    std::unique_ptr<HeapBlocks> blocks;
    check(with_room(work, [&] { return work.engine->keep_blocks(*work.stream, known, &blocks); }));
    return blocks;
}

// The places of a request's facts about blocks, and of its results.
struct CountPlace {
    const protocol::BlocksPlace &blocks;
    std::uint64_t results;
    std::uint64_t capacity;
};

// Answers with numbers of entries, summed over the runs that are here. `count(run, counts)` has an array
// count all live entries of each item; `count_on(run, blocks, counts, offsets, tids, capacity)` the visible
// ones, with the TIDs of those on unknown blocks.
template <typename Count, typename CountOn>
void handle_counts(Work &work, const RunSet &runs, std::uint64_t items, const CountPlace &place,
                   protocol::ResultReply &reply, Count count, CountOn count_on) {
    const TransferBuffer &buffer = work.connection.buffer;
    Results results(buffer, place.results, place.capacity);
    reply.needed = items * sizeof(std::uint64_t);
    std::uint64_t counts_at = 0;
    auto *counts = results.take<std::uint64_t>(items, &counts_at);
    // The sums are made here and not in the buffer, where others may write.
    MemoryBudget &memory = work.server().engines().host().memory();
    const Scratch<std::uint64_t> sums(memory, items);
    std::fill_n(sums.data(), items, 0);
    const auto add = [&](const auto *run_counts) {
        for (std::uint64_t j = 0; j < items; ++j) {
            sums.data()[j] += run_counts[j];
        }
    };
    if (place.blocks.all_visible != 0) {
        const Scratch<std::uint32_t> run_counts(memory, items);
        for (std::size_t i = 0; i < runs.size(); ++i) {
            if (runs.is_here(i)) {
                check(with_room(work, [&] { return count(i, run_counts.data()); }));
                add(run_counts.data());
            }
        }
        work.items = items;
    } else {
        const std::unique_ptr<HeapBlocks> blocks = keep_blocks(work, place.blocks);
        const Scratch<std::uint64_t> run_counts(memory, items);
        write_entries<std::uint32_t>(
            work, runs, items, results, reply,
            [&](std::size_t i, std::uint64_t *offsets, Tid *tids, std::uint64_t capacity) {
                const Status status = count_on(i, *blocks, run_counts.data(), offsets, tids, capacity);
                if (status.ok()) {
                    add(run_counts.data());
                }
                return status;
            },
            nullptr);
    }
    std::copy_n(sums.data(), items, counts);
    work.bytes = results.used();
}

}  // namespace gpu_engine::server
