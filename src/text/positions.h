// A lexeme's positions in a document, and the bytes they are kept as wherever a posting goes: in the tail, in
// builds, and in runs. They are the same bytes everywhere, so merges copy them.
//
//   first byte   0 to 247, 248   positions follow, from this byte on; all have the lowest weight
//                249             positions follow, then their weights, two bits each
//                250             none: the document's tsvector has been stripped of them
//                251             not known: the row must be asked
//
// Positions follow one another as distances less one, the first one's from -1. Below 200 a distance takes a
// byte, below 12,488 two, else three. How many there are is said by the lexeme's frequency.
#pragma once

#include "text/tsearch.h"

namespace pg_gpu::text {

enum class PositionState : uint8 { Known, None, Unknown };

struct Positions {
    PositionState state;
    uint32 count;            // 0 unless they are known
    const WordEntryPos *at;  // in order, with their weights
};

inline constexpr Positions kUnknownPositions = {PositionState::Unknown, 0, nullptr};
inline constexpr uint8 kUnknownByte = 251;

// The most bytes that a lexeme's positions take.
inline constexpr uint32 kMaxPositionBytes = 1 + MAXNUMPOS * 3 + MAXNUMPOS / 4;

// Returns the positions of a tsvector's entry. They are not known where they are no ascending ones.
Positions positions_of(TSVector vector, const WordEntry *entry);

// Writes at most kMaxPositionBytes, and returns how many.
uint32 write_positions(const Positions &positions, uint8 *out);

// Returns where the bytes of a lexeme of that frequency end; nullptr where they are damaged.
const uint8 *skip_positions(const uint8 *in, const uint8 *end, uint32 frequency);

// Does the same, and puts the positions into `room`, which has MAXNUMPOS.
const uint8 *read_positions(const uint8 *in, const uint8 *end, uint32 frequency, WordEntryPos *room,
                            Positions *positions);

}  // namespace pg_gpu::text
