#include "server/residency/kept_maps.h"

#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace gpu_engine::server {

bool KeptMaps::Less::operator()(const Key &a, const Key &b) const noexcept {
    static_assert(std::has_unique_object_representations_v<protocol::RunName>);
    // By run first, so that a run's maps lie beside each other.
    if (const int order = std::memcmp(&a.run, &b.run, sizeof(a.run)); order != 0) {
        return order < 0;
    }
    return std::tie(a.engine, a.name.words[0], a.name.words[1]) <
           std::tie(b.engine, b.name.words[0], b.name.words[1]);
}

std::shared_ptr<const query::KeptMap> KeptMaps::find(const Key &key) {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end()) {
        return nullptr;
    }
    found->second.used = ++uses_;
    return found->second.map;
}

std::shared_ptr<const query::KeptMap> KeptMaps::add(const Key &key,
                                                    std::shared_ptr<const query::KeptMap> map) {
    const std::lock_guard lock(mutex_);
    const auto [entry, is_new] = entries_.try_emplace(key, Entry{std::move(map), 0});
    entry->second.used = ++uses_;
    return entry->second.map;
}

bool KeptMaps::drop(EngineId engine, std::uint64_t bytes) {
    // What is dropped is freed without the mutex.
    std::vector<std::shared_ptr<const query::KeptMap>> dropped;
    const std::lock_guard lock(mutex_);
    for (std::uint64_t freed = 0; freed < bytes;) {
        auto oldest = entries_.end();
        for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
            // Requests get their share of a map under the mutex, so one that only this has stays unused.
            if (entry->first.engine == engine && entry->second.map.use_count() == 1 &&
                (oldest == entries_.end() || entry->second.used < oldest->second.used)) {
                oldest = entry;
            }
        }
        if (oldest == entries_.end()) {
            break;
        }
        freed += oldest->second.map->bytes();
        dropped.push_back(std::move(oldest->second.map));
        entries_.erase(oldest);
    }
    return !dropped.empty();
}

void KeptMaps::forget(const protocol::RunName &run) {
    Entries dropped;
    const std::lock_guard lock(mutex_);
    for (auto entry = entries_.lower_bound({0, run, {{0, 0}}});
         entry != entries_.end() && entry->first.run == run;) {
        dropped.insert(entries_.extract(entry++));
    }
}

std::uint64_t KeptMaps::bytes(EngineId engine) {
    const std::lock_guard lock(mutex_);
    std::uint64_t bytes = 0;
    for (const auto &[key, entry] : entries_) {
        bytes += key.engine == engine ? entry.map->bytes() : 0;
    }
    return bytes;
}

}  // namespace gpu_engine::server
