// Messages about strings of runs of columns (gpu_engine/strings.h). A code space is told by its members,
// which must be listed alike in all requests about it: the server makes it when it is wanted, and may drop it
// between two requests.
#pragma once

#include <cstdint>

#include "gpu_engine/protocol_query.h"

namespace gpu_engine::protocol {

// Numbers strings of the session's in a code space: `count` of them, which end in front of the bytes that lie
// at `ends`, each. Their numbers, of 64 bits, go to `results`.
struct NumberStrings {
    RequestHeader header;
    ArrayPlace members;  // SpaceMemberPlaces
    std::uint64_t bytes;
    std::uint64_t byte_count;
    std::uint64_t ends;
    std::uint64_t count;
    std::uint64_t results;
    std::uint64_t capacity;
    std::uint32_t reserved;
    std::uint32_t runs;
    RunUse run[max_runs];
};

// What numbers the entries have beside them (SpaceExtension); nothing unless `is_numbered`: the strings of a
// run aren't in memory. The session then numbers all strings by itself.
struct NumberStringsReply {
    ReplyHeader header;
    std::uint64_t needed;
    std::uint64_t entries;
    std::uint64_t base;
    std::uint32_t shift;
    std::uint32_t is_numbered;
    std::uint64_t numbers_at;
};

// Reads entries of a code space: `count` numbers of 64 bits lie at `numbers`, which are those of the space
// itself, without an extension.
struct ReadStrings {
    RequestHeader header;
    ArrayPlace members;
    std::uint64_t numbers;
    std::uint64_t count;
    std::uint64_t results;
    std::uint64_t capacity;
    std::uint32_t reserved;
    std::uint32_t runs;
    RunUse run[max_runs];
};

// As many of the strings as there was room for: where each ends, and their bytes. At least one, or the status
// is insufficient_space.
struct ReadStringsReply {
    ReplyHeader header;
    std::uint64_t needed;
    std::uint64_t done;
    std::uint64_t ends_at;
    std::uint64_t bytes_at;
};

// How an entry of a dictionary is tested, with a string that lies at `offset`.
enum class StringTestKind : std::uint32_t {
    like = 1,    // CodeSpace::evaluate; characters are UTF-8's
    like_bytes,  // the same where characters are bytes
    equal,
    below,  // by bytes
    at_most,
};
struct StringTestPlace {
    std::uint32_t kind;  // StringTestKind
    std::uint32_t is_negated;
    // Tests of the same group stand one behind the other: one of them must hold of each group.
    std::uint32_t group;
    std::uint32_t reserved;
    std::uint64_t offset;
    std::uint64_t bytes;
};

// Tells which entries of the one member pass all groups of `tests`, a bit a code.
struct MatchStrings {
    RequestHeader header;
    SpaceMemberPlace member;
    ArrayPlace tests;  // StringTestPlaces
    std::uint64_t results;
    std::uint64_t capacity;
    std::uint32_t reserved;
    std::uint32_t runs;
    RunUse run[max_runs];
};

// There are `words` words of bits, none where the run's strings aren't in memory.
struct MatchStringsReply {
    ReplyHeader header;
    std::uint64_t needed;
    std::uint64_t words;
    std::uint64_t words_at;
};

using StringStructures = Structures<NumberStrings, NumberStringsReply, ReadStrings, ReadStringsReply,
                                    StringTestPlace, MatchStrings, MatchStringsReply>;

}  // namespace gpu_engine::protocol
