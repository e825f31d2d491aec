// Messages about sorted arrays of keys (gpu_engine/kary.h).
#pragma once

#include <cstdint>

#include "gpu_engine/protocol_common.h"

namespace gpu_engine::protocol {

// Reserves memory for a mirror of `entries` entries. To make room, unpinned mirrors that nobody uses are
// evicted, least recently used first. When there isn't enough even so none is evicted, and the status is
// out_of_memory. A mirror that is there already gives ReplyResult::done with `handle` 0: nothing is to be
// loaded, and it is pinned from now on if the holder says so.
struct BeginKary {
    RequestHeader header;
    RunName name;
    Holder holder;
    std::uint64_t entries;
    std::uint32_t key_bits;  // 32, 64, 128
    std::uint32_t reserved;
};

// The form in which a lookup answers for each run. TIDs come in the order of their items; those of a run in
// parts, on several engines, part by part.
enum class LookupForm : std::uint32_t {
    by_item,   // offsets and TIDs, as described at ResultReply
    numbered,  // TIDs, and at keys_at as many items' numbers, of 32 bits
    tids,      // TIDs
    number,    // its value is the number of entries; there is nothing in the buffer
};

// Item i asks for the entries whose key is keys[i].
struct LookupKary {
    RequestHeader header;
    std::uint64_t keys;  // offset
    std::uint64_t count;
    std::uint64_t results;
    std::uint64_t capacity;
    std::uint32_t key_bits;
    std::uint32_t runs;
    std::uint32_t form;  // LookupForm
    std::uint32_t reserved;
    RunUse run[max_runs];
};

// Item i asks for the entries with low[i] <= key <= high[i]. With `with_keys` their keys come too, in the
// order of the TIDs.
struct RangeKary {
    RequestHeader header;
    std::uint64_t low;
    std::uint64_t high;
    std::uint64_t count;
    std::uint64_t results;
    std::uint64_t capacity;
    std::uint32_t key_bits;
    std::uint32_t runs;
    std::uint32_t with_keys;
    std::uint32_t reserved;
    RunUse run[max_runs];
};

// Item i asks for the number of entries with low[i] <= key <= high[i]. At `results` lie counts[count] of 64
// bits: the live ones of all runs together that are visible as far as that is known. The TIDs of those on
// unknown blocks, for each run as described at ResultReply, follow. Where all blocks are all-visible there
// are none, and no offsets.
struct CountKary {
    RequestHeader header;
    std::uint64_t low;
    std::uint64_t high;
    std::uint64_t count;
    BlocksPlace blocks;
    std::uint64_t results;
    std::uint64_t capacity;
    std::uint32_t key_bits;
    std::uint32_t runs;
    RunUse run[max_runs];
};

using KaryStructures = Structures<BeginKary, LookupKary, RangeKary, CountKary>;

}  // namespace gpu_engine::protocol
