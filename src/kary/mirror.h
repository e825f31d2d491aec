// Mirrors of gpu_kary's runs in the server process: what they hold, and which conditions are sent there.
#pragma once

#include <type_traits>

#include "kary/request.h"
#include "kary/condition.h"

namespace pg_gpu::kary {

// A key as the server has it. The server has no keys of 96 bits.
template <typename Key>
using ServerKey = std::conditional_t<std::is_same_v<Key, Key96>, Key128, Key>;

template <typename Key>
inline ServerKey<Key> to_server(const Key &key) {
    return key_from<ServerKey<Key>>(bits_of(key));
}

// Returns keys as the server wants them; *copy, if not null, is pfree'd by the caller.
template <typename Key>
const ServerKey<Key> *to_server(const Key *keys, uint64 count, ServerKey<Key> **copy) {
    *copy = nullptr;
    if constexpr (std::is_same_v<Key, ServerKey<Key>>) {
        return keys;
    } else {
        *copy = allocate<ServerKey<Key>>(count);
        for (uint64 i = 0; i < count; i++)
            (*copy)[i] = to_server(keys[i]);
        return *copy;
    }
}

// Returns the i-th of the server's keys.
template <typename Key>
inline Key from_server(const void *keys, uint64 i) {
    return key_from<Key>(bits_of(static_cast<const ServerKey<Key> *>(keys)[i]));
}

// A mirror of a gpu_kary run has its entries without NULLs.
template <typename Key>
const client::MirrorFormat *mirror_format();
const client::MirrorFormat *mirror_format(Relation index);

using client::is_path_forced;
using client::may_use_server;

// Says whether a search of pages is counted in gpu.stat, which is so when it would be worth a request.
template <typename Key>
bool is_worth_counting(const Condition<Key> &condition);

// Says whether the server may be asked about a condition's matches.
template <typename Key>
bool may_travel(const Condition<Key> &condition);

}  // namespace pg_gpu::kary
