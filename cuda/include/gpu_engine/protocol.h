// What sessions and the server process say to each other.
//
// A session connects to a Unix socket (SOCK_SEQPACKET: a packet is a message) and sends one request at a
// time; the server answers each with one reply of the same type and request number. Bulk data lies in the
// session's transfer buffer, a sealed memfd that it makes and hands over with `attach`; offsets count bytes
// from the buffer's start and are multiples of 16. While a request runs, its parts of the buffer belong to
// the server.
//
// Both ends are of one build and one machine: structures travel as they lie in memory. `hello` makes sure of
// it. The server trusts nothing it reads: not lengths, offsets, counts, nor that the buffer keeps its
// content.
//
// A session ends a request by closing the connection: the server then stops the work, and frees all that the
// connection held.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu_engine/devices.h"
#include "gpu_engine/entry.h"
#include "gpu_engine/status.h"

namespace gpu_engine::protocol {

// Raised with every change of this file that a peer could notice.
inline constexpr std::uint32_t version = 1;
inline constexpr std::uint32_t magic = 0x53504750;  // "PGPS"
inline constexpr std::size_t max_message = 8192;
inline constexpr std::size_t max_runs = 64;  // of a request
inline constexpr std::size_t buffer_alignment = 16;

enum class Message : std::uint16_t {
    hello = 1,
    ping,
    configure,
    attach,
    begin_array,
    append_pages,
    append_entries,
    finish_array,
    set_dead,
    drop_array,
    evict,
    lookup,
    count,
    range,
    merge,
    read_entries,
    name_array,
    mirrors,
    statistics,
    devices,
};

enum class EngineName : std::uint16_t { host = 0, cuda = 1 };
inline constexpr std::size_t engine_count = 2;

// What a reply says beside StatusCode.
enum class Answer : std::uint32_t {
    done = 0,
    failed,        // `status` says why; the connection goes on
    mismatch,      // another version: the server closes the connection
    not_resident,  // runs the request names aren't loaded: `lacking` has a bit for each
    stale,         // runs' dead bitmaps are older than asked for: `lacking` has a bit for each
    busy,          // the queue is full: take another path
};

struct RequestHeader {
    std::uint32_t magic;
    std::uint16_t type;         // Message
    std::uint16_t engine;       // EngineName, where the request computes
    std::uint32_t bytes;        // of the whole message
    std::uint32_t deadline_ms;  // the server gives up after this; 0: never
    std::uint64_t request;      // number, given back in the reply
};
static_assert(sizeof(RequestHeader) == 24);

struct ReplyHeader {
    std::uint32_t magic;
    std::uint16_t type;
    std::uint16_t reserved;
    std::uint32_t bytes;
    std::uint32_t answer;  // Answer
    std::uint64_t request;
    std::uint64_t lacking;       // not_resident, stale: bit i is run i of the request
    std::uint64_t microseconds;  // computing, without waiting in the queue
    std::uint64_t queued_microseconds;
    Status status;
    std::uint32_t padding;
};
static_assert(sizeof(ReplyHeader) == 256);

// ---- the connection --------------------------------------------------------------------------------------

struct Hello {
    RequestHeader header;
    std::uint32_t version;
    std::int32_t process;
    std::uint32_t database;  // oid, 0 for none
    std::uint32_t user;      // oid, 0 for none
    char build[64];          // text that differs between builds that mustn't meet
};

struct HelloReply {
    ReplyHeader header;
    std::uint32_t version;
    std::int32_t process;
    std::uint32_t engines;  // bit i: EngineName i is there
    std::uint32_t threads;  // of the host engine
    std::uint64_t start;    // random: another server process has another one
};

// Limits in bytes; 0 is the server's default. Whoever may connect may send it; the supervisor does.
struct Configure {
    RequestHeader header;
    std::uint64_t memory_limit[engine_count];
    std::uint64_t transfer_limit;  // of all buffers together
    std::uint32_t queue_limit;     // requests that wait
    std::uint32_t log_level;
};

// With the memfd as SCM_RIGHTS. It must be sealed against shrinking and growing, and is pinned for the device
// where there is one. Replaces the buffer attached before. Refused (out_of_memory) beyond the transfer limit.
struct Attach {
    RequestHeader header;
    std::uint64_t bytes;
};

// ---- arrays ----------------------------------------------------------------------------------------------

// What a run's mirror is known by. All zero: an array that only its connection knows, by its handle.
struct RunName {
    std::uint32_t tablespace;
    std::uint32_t database;
    std::uint32_t relation;  // relfilenode
    std::int32_t backend;    // of a temporary index, else -1
    std::uint64_t run;

    friend bool operator==(const RunName &, const RunName &) noexcept = default;
};
static_assert(sizeof(RunName) == 24);

struct RunUse {
    RunName name;
    std::uint64_t dead_version;  // the bitmap must be at least this new
};
static_assert(sizeof(RunUse) == 32);

// How sorted entries lie on page images: `per_page` keys at `first_byte`, then as many TIDs; the last page
// has the rest, keys and TIDs one behind the other as well.
struct PageLayout {
    std::uint32_t page_bytes;
    std::uint32_t first_byte;
    std::uint32_t per_page;
    std::uint32_t key_bytes;  // 4, 8, 12 (high 4 bytes first) or 16; widened to the next key width
};

// Reserves memory for an array of `entries` entries. An array that is named already gives Answer::done with
// `handle` 0: nothing is to be loaded.
struct BeginArray {
    RequestHeader header;
    RunName name;
    std::uint64_t entries;
    std::uint32_t key_bits;  // 32, 64, 128
    std::uint32_t pinned;    // not evicted to make room
    std::uint32_t user;      // oid: who loads it
    std::uint32_t sorted;    // 0: finish_array sorts
};

struct BeginArrayReply {
    ReplyHeader header;
    std::uint64_t handle;
    std::uint64_t dead_version;  // of the array that is named already
};

// `pages` images at `offset`, the first of which is page `first_page` of the run. Entries before `skip` on
// the run's first page and behind the array's last one are left out. In order.
struct AppendPages {
    RequestHeader header;
    std::uint64_t handle;
    std::uint64_t offset;
    std::uint64_t run_entries;  // of the whole run, which say how many are on its last page
    std::uint32_t first_page;
    std::uint32_t pages;
    PageLayout layout;
};

struct AppendEntries {
    RequestHeader header;
    std::uint64_t handle;
    std::uint64_t keys_offset;
    std::uint64_t tids_offset;
    std::uint64_t count;
};

struct HandleRequest {  // finish_array, drop_array
    RequestHeader header;
    std::uint64_t handle;
};

struct ArrayReply {  // finish_array, merge, name_array
    ReplyHeader header;
    std::uint64_t handle;
    std::uint64_t entries;
    std::uint64_t bytes;
};

// Gives a connection's own array a name, which ends its handle.
struct NameArray {
    RequestHeader header;
    std::uint64_t handle;
    RunName name;
    std::uint32_t user;
    std::uint32_t pinned;
};

// 64-bit words, bit i % 64 of word i / 64 is entry i's.
struct SetDead {
    RequestHeader header;
    RunName name;
    std::uint64_t version;
    std::uint64_t offset;
    std::uint64_t words;  // 0: nothing is dead
};

// Drops the mirrors of a relation (run 0) or of one run on both engines.
struct Evict {
    RequestHeader header;
    RunName name;
};

struct EvictReply {
    ReplyHeader header;
    std::uint64_t arrays;
    std::uint64_t bytes;
};

// ---- questions -------------------------------------------------------------------------------------------

// For each run, one behind the other from `results` on (each part aligned): offsets[count + 1] of 64 bits,
// then the TIDs. Live entries whose key is keys[i] are tids[offsets[i]] to tids[offsets[i + 1] - 1]. Ends
// with insufficient_space when `capacity` bytes aren't enough; `needed` then says how many were (0: unknown).
struct Lookup {
    RequestHeader header;
    std::uint64_t keys;  // offset
    std::uint64_t count;
    std::uint64_t results;
    std::uint64_t capacity;
    std::uint32_t key_bits;
    std::uint32_t runs;
    RunUse run[max_runs];
};

struct ResultReply {  // lookup, range
    ReplyHeader header;
    std::uint64_t needed;
    std::uint64_t tids;  // of all runs
    std::uint64_t offsets_at[max_runs];
    std::uint64_t tids_at[max_runs];
};

// Live entries from low[i] to high[i], both ends included, as lookup gives them. With `keys` their keys too
// (one range only): keys_at.
struct Range {
    RequestHeader header;
    std::uint64_t low;
    std::uint64_t high;
    std::uint64_t count;
    std::uint64_t results;
    std::uint64_t capacity;
    std::uint32_t key_bits;
    std::uint32_t runs;
    RunUse run[max_runs];
};

// counts[i] (64 bits, at `results`): live entries from low[i] to high[i] of all runs together whose heap
// block is all-visible by the map (bit b % 8 of byte b / 8 is block b; blocks beyond it are not). The TIDs of
// the others follow as hidden_offsets[count + 1], hidden TIDs.
struct Count {
    RequestHeader header;
    std::uint64_t low;
    std::uint64_t high;
    std::uint64_t count;
    std::uint64_t map;
    std::uint64_t map_blocks;
    std::uint64_t results;
    std::uint64_t capacity;
    std::uint32_t key_bits;
    std::uint32_t runs;
    std::uint32_t all_visible;  // every block is: the map isn't read
    std::uint32_t reserved;
    RunUse run[max_runs];
};

struct CountReply {
    ReplyHeader header;
    std::uint64_t needed;
    std::uint64_t hidden;  // how many TIDs
    std::uint64_t hidden_offsets_at;
    std::uint64_t hidden_tids_at;
};

// An array of the live entries of the runs, which only this connection knows.
struct Merge {
    RequestHeader header;
    std::uint32_t key_bits;
    std::uint32_t runs;
    RunUse run[max_runs];
};

struct ReadEntries {
    RequestHeader header;
    std::uint64_t handle;
    std::uint64_t first;
    std::uint64_t count;
    std::uint64_t keys_offset;
    std::uint64_t tids_offset;
};

// ---- what the server tells of itself ---------------------------------------------------------------------

// As many rows as fit go to the buffer at `offset`; `rows` in the reply says how many there are.
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
    std::uint64_t memory_used[engine_count];
    std::uint64_t memory_limit[engine_count];
    std::uint64_t transfer_used;
    std::uint32_t connections;
    std::uint32_t queued;
};

struct MirrorRow {
    RunName name;
    std::uint64_t entries;
    std::uint64_t bytes;
    std::uint64_t hits;
    std::int64_t loaded_at;  // microseconds since 1970
    std::int64_t last_used;
    std::uint32_t engine;
    std::uint32_t pinned;
    std::int32_t device;  // -1: none
    std::uint32_t user;
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

}  // namespace gpu_engine::protocol
