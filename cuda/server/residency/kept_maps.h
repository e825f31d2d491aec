// Maps of codes that engines keep between queries (gpu_engine/query/query.h), by the runs whose codes they
// are of and the names that sessions give them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "gpu_engine/protocol.h"
#include "gpu_engine/query/query.h"
#include "server/engine_id.h"

namespace gpu_engine::server {

// All functions may be called by any thread.
class KeptMaps {
  public:
    struct Key {
        EngineId engine;
        protocol::RunName run;
        query::MapName name;
    };

    // Returns nullptr where there is none.
    std::shared_ptr<const query::KeptMap> find(const Key &key);
    // Returns the one that is there already, where there is one.
    std::shared_ptr<const query::KeptMap> add(const Key &key, std::shared_ptr<const query::KeptMap> map);

    // Drops an engine's maps that no request uses, least recently used first, until that has freed so many
    // bytes or none is left. Returns whether there was any.
    bool drop(EngineId engine, std::uint64_t bytes);
    // Drops all maps of a run.
    void forget(const protocol::RunName &run);
    std::uint64_t bytes(EngineId engine);

  private:
    struct Entry {
        std::shared_ptr<const query::KeptMap> map;
        std::uint64_t used;  // number of the last use
    };
    struct Less {
        bool operator()(const Key &a, const Key &b) const noexcept;
    };
    using Entries = std::map<Key, Entry, Less>;

    std::mutex mutex_;
    Entries entries_;
    std::uint64_t uses_ = 0;
};

}  // namespace gpu_engine::server
