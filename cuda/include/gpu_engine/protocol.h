// The protocol between sessions and the server process. The messages are in the headers named below; this one
// has the rules and what `hello` compares.
//
// A session connects to a Unix socket (SOCK_SEQPACKET: a packet is a message), says `hello` and then sends
// one request at a time; the server answers each with one reply of the same type and request number. Messages
// have exactly the size of their structure. Bulk data lies in the session's transfer buffer, a sealed memfd
// that it makes and hands over with `attach`; offsets count bytes from the buffer's start and are multiples
// of 16. While a request runs, its parts of the buffer belong to the server; the others may be filled for the
// next request meanwhile.
//
// Both ends are of one machine: structures travel as they lie in memory. `hello` makes sure that both know
// the same ones. The server trusts nothing it reads: not lengths, offsets, counts, nor that the buffer keeps
// its content.
//
// A session ends a request by closing the connection: the server then stops the work, and frees all that the
// connection held. It also closes a connection by itself: after a message that is none (wrong magic or size
// in the header), after one before hello, and when it ends.
#pragma once

#include <cstdint>

#include "gpu_engine/protocol_column.h"
#include "gpu_engine/protocol_connection.h"
#include "gpu_engine/protocol_grid.h"
#include "gpu_engine/protocol_kary.h"
#include "gpu_engine/protocol_load.h"
#include "gpu_engine/protocol_query.h"
#include "gpu_engine/protocol_strings.h"
#include "gpu_engine/protocol_text.h"

namespace gpu_engine::protocol {

template <typename... Listed>
constexpr std::uint64_t add_layout(std::uint64_t layout, Structures<Listed...>) noexcept {
    // This is FNV-1a, with a step for each structure.
    ((layout = (layout ^ (sizeof(Listed) * 16 + alignof(Listed))) * 0x100000001b3ULL), ...);
    return layout;
}

template <typename... Lists>
constexpr std::uint64_t layout_of(Lists... lists) noexcept {
    std::uint64_t layout = version;
    ((layout = add_layout(layout, lists)), ...);
    return layout;
}

// A hash of the sizes and alignments of all structures, by which `hello` tells two builds apart.
inline constexpr std::uint64_t message_layout =
    layout_of(CommonStructures(), ConnectionStructures(), LoadStructures(), KaryStructures(),
              GridStructures(), ColumnStructures(), TextStructures(), QueryStructures(), StringStructures());

}  // namespace gpu_engine::protocol
