// Settings (GUCs) and what they mean for a session.
#pragma once

#include <span>

#include "postgres_headers.h"

namespace pg_gpu {

enum class PathSetting : int { Auto, Paged, Host, Cuda };
enum class MirrorSetting : int { Auto, Manual, Off };
enum class ServerSetting : int { Auto, Off };

void define_settings();

// Returns whether the planner may use count scans.
bool count_scan_enabled();

// Returns whether it may use lookup joins.
bool lookup_join_enabled();

// Returns whether it may use GpuQuery over gpu_column's indexes.
bool query_enabled();

// Returns whether the planner may use ordered scans of gpu_text's indexes with other indexes' conditions.
bool search_enabled();

// Bytes that a session may keep maps of expressions in.
size_t map_memory();

// Bytes in which a statement may keep rows that it has inserted before their entries are written; 0: none
// (storage/pending_rows.h).
size_t insert_memory();

// May visibility be told by what is known of heap blocks (table/block_facts.h)?
bool block_facts_enabled();

PathSetting path_setting();
MirrorSetting mirror_setting();

// Bytes that mirrors may take in an engine's memory: those that the session's user loaded, and those of the
// database. 0: any number.
uint64 role_mirror_quota();
uint64 database_mirror_quota();

// Runs with fewer entries are read from pages.
uint64 min_mirror_entries();

// Is called when pg_gpu.path names a path that does not exist here. Raises one NOTICE a session, that the
// paged path answers.
void announce_forced_path();

// Returns whether there may be a server process.
bool server_wanted();

// The server process; 0 stands for its own default.
struct ServerSettings {
    int device_memory_limit;    // MiB
    int host_memory_limit;      // MiB
    int transfer_memory_limit;  // MiB, of all sessions together
    int threads;
    const char *devices;  // a list that gpu_engine::read_device_list reads
};
ServerSettings server_settings();

// Milliseconds a request may take beyond four times its estimate.
int request_timeout();

// Milliseconds after which a session closes a connection to the server process that it does not use.
int connection_idle_timeout();

// Bytes of transfer buffer that one session may have.
uint64 session_transfer_limit();

// The parts that a ranking's time is the sum of: the ranking itself, lists in runs, windows of documents that
// a list is looked through for and postings where one lexeme is enough, postings of the shortest and of the
// second shortest list where all are asked for.
enum ListFeature : int { kRanking, kList, kWindows, kPostings, kShortest, kSecond };
inline constexpr int kListFeatures = 6;

// The cost model's constants, in microseconds; indexed by paged, host, cuda.
inline constexpr int kCostedPaths = 3;
struct CostSettings {
    double request[kCostedPaths];  // a round trip
    double key[kCostedPaths];      // looked up in a run
    double entry[kCostedPaths];    // found or read
    double sort[kCostedPaths];     // an entry sorted or merged
    double lists[kCostedPaths][kListFeatures];
    double transfer;  // a MiB copied between session and server, one way
    double load;      // a MiB of index pages made a mirror
};
const CostSettings &cost_settings();
// Returns whether they were set for a role, a database or the session, and not for all of the server. Such
// costs can force a path as pg_gpu.path does.
bool costs_are_users();

// Defines pg_gpu.costs; define_settings does it.
void define_cost_settings();

// Defines pg_gpu.auto_columns and its like (accelerate/settings.h); define_settings does it.
void define_auto_columns();

// A cost constant, as pg_gpu.costs and the view gpu.costs know it.
struct CostConstant {
    const char *name;
    const char *unit;
    const char *meaning;
    double default_value;
    size_t offset;     // in CostSettings
    int path;          // -1 for those that all paths share
    bool may_be_zero;  // otherwise a measured 0 is a measurement that failed
};
std::span<const CostConstant> cost_constants();
double cost_of(const CostSettings &settings, const CostConstant &constant);

}  // namespace pg_gpu
