// Messages about a connection and about the server process itself.
#pragma once

#include <cstdint>

#include "gpu_engine/devices.h"
#include "gpu_engine/protocol_common.h"

namespace gpu_engine::protocol {

struct Hello {
    RequestHeader header;
    std::uint32_t version;
    std::int32_t process;
    std::uint32_t database;  // oid, 0 for none
    std::uint32_t user;      // oid, 0 for none
    std::uint64_t layout;    // message_layout
};

struct HelloReply {  // ping too
    ReplyHeader header;
    std::uint32_t version;
    std::int32_t process;
    std::uint32_t engines;  // bit i: EngineName i is there
    std::uint32_t opening;  // bit i: it may come; a device takes some 100 ms to open. Ask again with ping
    std::uint64_t start;    // random: another server process has another one
    std::uint32_t threads;  // threads of the host engine
    std::uint32_t reserved;
};

// Limits in bytes, of each engine of the kind; 0 is the server's default. Mirrors leave, least recently used
// first, until what is left fits. Whoever may connect may send it; the supervisor does.
struct Configure {
    RequestHeader header;
    std::uint64_t memory_limit[engine_count];
    std::uint64_t transfer_limit;  // limit of all buffers together
    std::uint32_t queue_limit;     // requests of an engine that wait; 0 is the default
    std::uint32_t reserved;
};

// Hands over a transfer buffer: its memfd comes as SCM_RIGHTS. It must be sealed against shrinking, growing
// and further seals, and have this size, a multiple of 4096. It is pinned for the device by the first request
// that computes there. The buffer attached before is let go first, so after a refusal there is none. A buffer
// beyond the transfer limit is refused (out_of_memory).
struct Attach {
    RequestHeader header;
    std::uint64_t bytes;
};

// ---- what the server reports about itself
// ---------------------------------------------------------------------

// Asks for rows. As many as fit are written to the buffer at `offset`; `rows` in the reply says how many
// there are. Without room for one (capacity 0) no buffer is needed.
struct List {  // mirrors, statistics, devices
    RequestHeader header;
    std::uint64_t offset;
    std::uint64_t capacity;
    std::uint32_t reset;  // statistics: begin anew afterwards
    std::uint32_t reserved;
};

struct ListReply {
    ReplyHeader header;
    std::uint64_t rows;
    std::uint64_t memory_used[engine_count];  // memory in use by all engines of the kind together
    std::uint64_t memory_limit[engine_count];
    std::uint64_t transfer_used;
    std::uint64_t transfer_limit;
    std::uint32_t connections;
    std::uint32_t queued;
};

enum class RunKind : std::uint32_t { kary = 0, grid = 1, column = 2, text = 3 };

// A run on an engine, or the part of it that the engine has where several share it.
struct MirrorRow {
    RunName name;
    std::uint64_t entries;
    std::uint64_t bytes;
    std::uint64_t hits;
    std::int64_t loaded_at;  // microseconds since 1970
    std::int64_t last_used;
    std::uint32_t engine;  // EngineName, whose requests it answers
    std::uint32_t pinned;
    std::int32_t device;  // device that holds it; -1: none, but the machine's memory
    std::uint32_t user;
    std::uint32_t kind;  // RunKind
    std::uint16_t part;  // its number, from 1 on
    std::uint16_t parts;
};

// Sums of one kind of request on one engine, since the server's start or the last reset.
struct StatisticsRow {
    std::uint32_t engine;
    std::uint32_t type;  // Message
    std::uint32_t user;
    std::uint32_t reserved;
    std::uint64_t requests;
    std::uint64_t items;
    std::uint64_t bytes;
    std::uint64_t microseconds;
    std::uint64_t failures;
};

enum class EngineState : std::uint32_t { absent = 0, opening, ready, lost };

// Counted since the server's start.
struct EngineStanding {
    std::uint32_t state;    // EngineState
    std::uint32_t waiting;  // requests in its queue
    std::uint64_t memory_used;
    std::uint64_t memory_limit;
    std::uint64_t loads;      // mirrors that were made
    std::uint64_t evictions;  // mirrors that left to make room, or for a lower limit
    std::uint64_t refusals;   // mirrors for which there was no room
    std::uint64_t busy;       // requests that the full queue turned away
};

struct StateReply {  // to a header alone
    ReplyHeader header;
    char version[16];         // version of the program
    std::int64_t started_at;  // microseconds since 1970
    std::int32_t process;
    std::uint32_t connections;
    std::uint64_t transfer_used;
    std::uint64_t transfer_limit;
    EngineStanding engines[engine_count];  // for all engines of the kind together; the best one's state
    char why_no_device[256];               // empty unless a device is absent or lost
};

// A device that the server computes on, or would: what is found by asking it is 0 while it is not open.
struct DeviceRow {
    DeviceInfo info;
    std::uint32_t engine;
    std::uint32_t state;  // EngineState
    std::uint64_t memory_used;
    std::uint64_t memory_limit;
    char uuid[48];
    char pci[16];
    char why_not[256];  // empty unless it is absent or lost
};

// ---- tests -----------------------------------------------------------------------------------------------

// Tests send it: after `refuse_after` more requests of the engine for memory the next one is refused, once;
// or the engine is lost. The message is refused itself (invalid_argument) unless the server was started for
// tests.
struct Inject {
    RequestHeader header;
    std::int64_t refuse_after;
    std::uint32_t number;  // number of the engine, among those of its kind
    std::uint32_t loses;   // lose_engine: it is lost; 0: it is not
};
// A random message is unlikely to have this number.
inline constexpr std::uint32_t lose_engine = 0x4c4f5345;

using ConnectionStructures = Structures<Hello, HelloReply, Configure, Attach, List, ListReply, MirrorRow,
                                        StatisticsRow, EngineStanding, StateReply, DeviceRow, Inject>;

}  // namespace gpu_engine::protocol
