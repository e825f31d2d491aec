// A rough mark of the keys that the groups of a result have. Engines that share a request out learn from it
// which groups no other engine has: these needn't be brought together.
#pragma once

#include <cstdint>

#include "gpu_engine/aggregate.h"
#include "gpu_engine/both.h"

namespace gpu_engine {

// The codes of a key, which all engines number alike, in so many spans of equal length at most.
inline constexpr std::uint32_t key_span_bits = 13;
inline constexpr std::uint32_t key_mark_words = (1 << key_span_bits) / 64;

// Returns the span that a code of a key belongs to.
GPU_ENGINE_BOTH std::uint32_t key_span(const AggregateKey &key, std::uint64_t code) {
    return static_cast<std::uint32_t>(key.bits > key_span_bits ? code >> (key.bits - key_span_bits) : code);
}
// Does the same for a group's code.
GPU_ENGINE_BOTH std::uint32_t key_span(const AggregateKey &key, const std::uint64_t *record) {
    if (key.bits == 0) {
        return 0;
    }
    return key_span(key, record[key.word] >> key.shift & UINT64_MAX >> (64 - key.bits));
}

GPU_ENGINE_BOTH bool is_marked(const std::uint64_t *marks, std::uint32_t span) {
    return (marks[span / 64] >> span % 64 & 1) != 0;
}

// The marks of each key have a bit a span, which is set where a group has a code in the span.
struct KeyMarks {
    std::uint64_t of_key[max_aggregate_keys][key_mark_words];
};

// Groups that others may have too: those whose code of this key is in a marked span. `own` marks all
// spans in which the result that is told this has groups, so that it needn't look for them elsewhere.
struct SharedKeys {
    std::uint32_t key;  // its number in the program
    std::uint64_t marks[key_mark_words];
    std::uint64_t own[key_mark_words];
};

}  // namespace gpu_engine
