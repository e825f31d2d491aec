// Runs that the server answers for: their cursors get whole answers instead of leaf pages.
//
// A mirrored run's cursor goes through chunks of the condition's points as others go through leaves. What it
// holds is read from the run at a dead bitmap no older than the view, so the rules for entries read from
// pages hold for it too (R4): visibility map, then vacuum_seq once more. When the server fails, the scan
// restarts in a new view without it.
#pragma once

#include "client/client.h"
#include "kary/scan.h"

namespace pg_gpu::kary {

// How gpu_kary's runs are mirrored: their entries without NULLs.
template <typename Key>
const client::MirrorFormat *mirror_format();
const client::MirrorFormat *mirror_format(Relation index);

// Does pg_gpu.path name the server?
bool is_path_forced();

// May the server be asked about so many items, where fewer than `fewest` aren't worth a request?
bool may_ask_server(uint64 items, uint64 fewest);

// May the server be asked about a condition's matches?
template <typename Key>
bool may_travel(const Condition<Key> &condition);

// Decides whether the server answers for a cursor's run, and if so aims it at chunks.
template <typename Key>
void choose_cursor_path(Scan<Key> *scan, Cursor<Key> *cursor);

// Fills the batch with a chunk's matches. false: Restart, without the server.
template <typename Key>
bool load_chunk(Scan<Key> *scan, Cursor<Key> *cursor, int64 chunk);

// The first chunk that can hold keys from `key` on.
template <typename Key>
int64 chunk_for_key(const Scan<Key> *scan, const Cursor<Key> *cursor, Key key);

}  // namespace pg_gpu::kary
