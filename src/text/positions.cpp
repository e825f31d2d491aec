#include "text/positions.h"

namespace pg_gpu::text {

static constexpr uint32 kOneByte = 200;    // distances below take one
static constexpr uint8 kThreeBytes = 248;  // two bytes follow this one
static constexpr uint8 kWithWeights = 249;
static constexpr uint8 kNone = 250;
static constexpr uint32 kTwoBytes = kOneByte + (kThreeBytes - kOneByte) * 256;

Positions positions_of(TSVector vector, const WordEntry *entry) {
    if (!entry->haspos)
        return {PositionState::None, 0, nullptr};
    const auto count = static_cast<uint32>(POSDATALEN(vector, entry));
    const WordEntryPos *at = POSDATAPTR(vector, entry);
    if (count == 0 || count > MAXNUMPOS)
        return kUnknownPositions;
    for (uint32 i = 1; i < count; i++)
        if (WEP_GETPOS(at[i]) <= WEP_GETPOS(at[i - 1]))
            return kUnknownPositions;
    return {PositionState::Known, count, at};
}

static uint32 write_distance(uint32 distance, uint8 *out) {
    if (distance < kOneByte) {
        out[0] = static_cast<uint8>(distance);
        return 1;
    }
    if (distance < kTwoBytes) {
        out[0] = static_cast<uint8>(kOneByte + (distance - kOneByte) / 256);
        out[1] = static_cast<uint8>(distance - kOneByte);
        return 2;
    }
    out[0] = kThreeBytes;
    out[1] = static_cast<uint8>(distance);
    out[2] = static_cast<uint8>(distance >> 8);
    return 3;
}

uint32 write_positions(const Positions &positions, uint8 *out) {
    if (positions.state != PositionState::Known) {
        out[0] = positions.state == PositionState::None ? kNone : kUnknownByte;
        return 1;
    }
    uint32 weights = 0;
    for (uint32 i = 0; i < positions.count; i++)
        weights |= WEP_GETWEIGHT(positions.at[i]);
    uint32 bytes = 0;
    if (weights != 0)
        out[bytes++] = kWithWeights;
    uint32 next = 0;
    for (uint32 i = 0; i < positions.count; i++) {
        const uint32 position = WEP_GETPOS(positions.at[i]);
        bytes += write_distance(position - next, out + bytes);
        next = position + 1;
    }
    if (weights == 0)
        return bytes;
    for (uint32 i = 0; i < positions.count; i++) {
        if (i % 4 == 0)
            out[bytes++] = 0;
        out[bytes - 1] |= static_cast<uint8>(WEP_GETWEIGHT(positions.at[i]) << (2 * (i % 4)));
    }
    return bytes;
}

// Returns nullptr where the bytes end before, or aren't a distance.
static inline const uint8 *read_distance(const uint8 *in, const uint8 *end, uint32 *distance) {
    if (unlikely(in == end))
        return nullptr;
    const uint8 first = *in++;
    if (likely(first < kOneByte)) {
        *distance = first;
        return in;
    }
    if (first < kThreeBytes) {
        if (in == end)
            return nullptr;
        *distance = kOneByte + uint32{static_cast<uint8>(first - kOneByte)} * 256 + *in;
        return in + 1;
    }
    if (first > kThreeBytes || end - in < 2)
        return nullptr;
    *distance = in[0] | uint32{in[1]} << 8;
    return in + 2;
}

// Calls visit(place, position) for each position where they are known; *weights has the weights' bytes, if
// there are any.
template <typename Visit>
static inline const uint8 *walk(const uint8 *in, const uint8 *end, uint32 frequency, PositionState *state,
                                const uint8 **weights, Visit visit) {
    *state = PositionState::Known;
    *weights = nullptr;
    if (unlikely(in == end))
        return nullptr;
    const bool weighted = *in == kWithWeights;
    if (*in > kWithWeights) {
        *state = *in == kNone ? PositionState::None : PositionState::Unknown;
        return *in <= kUnknownByte ? in + 1 : nullptr;
    }
    if (weighted)
        in++;
    uint32 next = 0;
    for (uint32 i = 0; i < frequency; i++) {
        uint32 distance;
        in = read_distance(in, end, &distance);
        if (in == nullptr || next + distance >= MAXENTRYPOS)
            return nullptr;
        visit(i, next + distance);
        next += distance + 1;
    }
    if (!weighted)
        return in;
    *weights = in;
    const uint32 bytes = (frequency + 3) / 4;
    return static_cast<uint32>(end - in) >= bytes ? in + bytes : nullptr;
}

const uint8 *skip_positions(const uint8 *in, const uint8 *end, uint32 frequency) {
    PositionState state;
    const uint8 *weights;
    return walk(in, end, frequency, &state, &weights, [](uint32, uint32) {});
}

const uint8 *read_positions(const uint8 *in, const uint8 *end, uint32 frequency, WordEntryPos *room,
                            Positions *positions) {
    *positions = kUnknownPositions;
    if (frequency > MAXNUMPOS)
        return nullptr;
    const uint8 *weights;
    const uint8 *behind =
        walk(in, end, frequency, &positions->state, &weights,
             [room](uint32 i, uint32 position) { room[i] = static_cast<WordEntryPos>(position); });
    if (behind == nullptr)
        return nullptr;
    if (weights != nullptr)
        for (uint32 i = 0; i < frequency; i++)
            WEP_SETWEIGHT(room[i], weights[i / 4] >> (2 * (i % 4)) & 3);
    positions->at = room;
    positions->count = positions->state == PositionState::Known ? frequency : 0;
    return behind;
}

}  // namespace pg_gpu::text
