// Settings (GUCs) and what they mean for a session.
#pragma once

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

// Defines pg_gpu.auto_columns and its like (accelerate/settings.h); define_settings does it.
void define_auto_columns();

}  // namespace pg_gpu
