// All messages of the protocol (gpu_engine/protocol.h) have this in common: their types and headers, and how
// requests name runs, heap blocks and results.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu_engine/heap_blocks.h"
#include "gpu_engine/status.h"

namespace gpu_engine::protocol {

// Rises with every change of these headers that a peer could notice.
inline constexpr std::uint32_t version = 40;
inline constexpr std::uint32_t magic = 0x53504750;  // "PGPS"
inline constexpr std::size_t max_message = 8192;
inline constexpr std::size_t max_runs = 64;  // most runs of a request
inline constexpr std::size_t buffer_alignment = 16;
inline constexpr std::uint64_t nowhere = UINT64_MAX;  // an offset: there is no such part

enum class Message : std::uint16_t {
    hello = 1,
    ping,
    configure,
    attach,
    begin_kary,
    append_pages,
    finish,
    set_dead,
    drop,
    evict,
    lookup_kary,
    count_kary,
    range_kary,
    mirrors,
    statistics,
    devices,
    inject,  // tests only
    begin_grid,
    count_grid,
    search_grid,
    match_grid,
    begin_column,
    count_column,
    count_column_values,
    match_column,
    begin_text,
    search_text,
    count_text,
    intersect_text,
    merge_column_dictionaries,
    keep_runs,
    state,
    run_query,
    read_query,
    number_strings,
    read_strings,
    match_strings,
};

enum class EngineName : std::uint16_t { host = 0, cuda = 1 };
inline constexpr std::size_t engine_count = 2;

// The part of a reply that says more than StatusCode.
enum class ReplyResult : std::uint32_t {
    done = 0,
    failed,        // `status` says why; the connection goes on
    mismatch,      // hello: another version; the server closes the connection
    not_resident,  // runs the request names aren't loaded: `lacking` has a bit for each
    stale,         // runs' dead bitmaps are older than asked for: `lacking` has a bit for each
    busy,          // the queue is full, or the engine is still being opened: take another path
    loading,       // begin_kary: another session is loading this run
    disorder,      // finish: entries don't ascend by (key, TID), so the run on disk is corrupt
};

// What a session says of its request. It means nothing to the server process, which names it where a request
// ends the process, so that nobody sends such a request again.
struct Subject {
    std::uint32_t database;  // 0: the session says nothing
    std::uint32_t index;
    std::uint32_t kind;
    std::uint32_t shape;

    friend bool operator==(const Subject &, const Subject &) noexcept = default;
};
static_assert(sizeof(Subject) == 16);

// The line of the log by which it does that, with the subject's numbers and the engine's.
inline constexpr char last_words[] = "a request ends the process: %u %u %u %u on engine %u";

struct RequestHeader {
    std::uint32_t magic;
    std::uint16_t type;         // Message
    std::uint16_t engine;       // EngineName, where the request computes
    std::uint32_t bytes;        // length of the whole message
    std::uint32_t deadline_ms;  // from its arrival on; then the server gives up (cancelled). 0: never
    std::uint64_t request;      // number, given back in the reply
    // The number that the session gives to what the request is part of. Mirrors that were found or loaded for
    // the same purpose are not evicted to make room for it. 0 stands for no purpose.
    std::uint32_t purpose;
    // Set where the session forces the path. No mirror that others used lately is evicted for it.
    std::uint32_t forced;
    Subject subject;
};
static_assert(sizeof(RequestHeader) == 48);

struct ReplyHeader {
    std::uint32_t magic;
    std::uint16_t type;
    std::uint16_t engines;  // engines that computed: bit i is EngineName i
    std::uint32_t bytes;
    std::uint32_t result;  // ReplyResult
    std::uint64_t request;
    std::uint64_t lacking;       // not_resident, stale: bit i is run i of the request
    std::uint64_t microseconds;  // computing, without waiting in the queue
    std::uint64_t queued_microseconds;
    Status status;
    std::uint32_t others;  // other requests that the engine computed when this one came, or ended: the more
};
static_assert(sizeof(ReplyHeader) == 256);

// The name of a run's mirror.
struct RunName {
    std::uint32_t tablespace;
    std::uint32_t database;
    std::uint32_t relation;  // relfilenode
    std::int32_t backend;    // backend of a temporary index, else -1
    std::uint64_t run;
    // Tells a database from one of the same OID that was dropped. Both may be copies of one template: with
    // the same files and run ids, but not with the same dead entries.
    std::uint32_t incarnation;
    std::uint32_t reserved;  // 0

    friend bool operator==(const RunName &, const RunName &) noexcept = default;
};
static_assert(sizeof(RunName) == 32);

// A Holder says to whom a mirror will belong, and how many bytes mirrors may then take in the engine's
// memory: those that `user` loaded, and those of its database. 0: as many as the engine has.
struct Holder {
    std::uint32_t user;    // oid: who loads it
    std::uint32_t pinned;  // not evicted to make room
    std::uint64_t role_quota;
    std::uint64_t database_quota;
};
static_assert(sizeof(Holder) == 24);

struct RunUse {
    RunName name;
    std::uint64_t dead_version;  // the bitmap must be at least this new
};
static_assert(sizeof(RunUse) == 40);

// The session's knowledge of heap blocks, as KnownBlocks has it; `groups` and `rows` are offsets. With
// `all_visible` every block is, and nothing else is read.
struct BlocksPlace {
    std::uint64_t groups;
    std::uint64_t group_count;
    std::uint64_t rows;
    std::uint64_t slots;
    std::uint32_t row_words;
    std::uint32_t all_visible;
};

// Lookups, searches and counts ask the runs named, each a mirror on the request's engine with keys of
// `key_bits`. Results lie in the buffer from `results` on, within `capacity` bytes, each part aligned; the
// reply says where. When they don't fit the status is insufficient_space and `needed` says how many bytes
// they take.
//
// For each run: offsets[count + 1] of 64 bits, and TIDs. Live entries of item i are tids[offsets[i]] to
// tids[offsets[i + 1] - 1], in order of key and TID. Lookups may ask for another form (LookupForm); then the
// reply itself says how many entries each run has, and there are no offsets, which would take more room than
// all else where a request has many items and runs.
struct ResultReply {  // answers requests of kary, grid and text
    ReplyHeader header;
    std::uint64_t needed;
    std::uint64_t tids;  // number of TIDs of all runs
    std::uint64_t offsets_at[max_runs];
    std::uint64_t tids_at[max_runs];
    std::uint64_t keys_at[max_runs];
    std::uint64_t found[max_runs];  // for requests without offsets
};

// Structures of the messages and of what lies in the buffer. Each header of the protocol lists its own, for
// `message_layout`.
template <typename... Listed>
struct Structures {};

using CommonStructures =
    Structures<Subject, RequestHeader, ReplyHeader, RunName, Holder, RunUse, BlocksPlace, ResultReply>;

}  // namespace gpu_engine::protocol
