// Copies of small runs that many ask at once, on engines that would have nothing to do. A mirror of a run of
// gpu_kary or gpu_grid lies on one engine, and so its requests compute there alone; copies let them be shared
// out. They go through the machine's memory, and leave before any mirror has to. Of gpu_kary they are made of
// live entries only.
#include <algorithm>
#include <utility>

#include "server/chosen.h"
#include "server/moved_entries.h"
#include "server/run_set.h"

#include "gpu_engine/boundary.h"

namespace gpu_engine::server {
namespace {

// A run is small if it takes this share of the engine's memory at most, and so little that whoever copies it
// is through in some tenths of a second.
constexpr std::uint64_t share_of_memory = 8;
constexpr std::uint64_t max_copied_bytes = std::uint64_t(1) << 30;

// Copies of all runs on an engine; none if one of them has none there.
RunSet::Copies copies_on(Mirrors &mirrors, EngineId engine, const RunSet &found) {
    RunSet::Copies copies;
    for (std::size_t run = 0; run < found.size(); ++run) {
        std::shared_ptr<const MirrorCopy> copy =
            mirrors.copy_on(*found.mirror(run), engine, found.dead_version(run));
        if (copy == nullptr) {
            return {};
        }
        copies.push_back(std::move(copy));
    }
    return copies;
}

void count_use(const RunSet::Copies &copies, std::int64_t now) {
    for (const auto &copy : copies) {
        copy->hits.fetch_add(1, std::memory_order_relaxed);
        copy->last_used.store(now, std::memory_order_relaxed);
    }
}

// Counts a request that meets others, or a large one. Returns whether it is time to make a copy.
bool is_crowded(const RunSet &found, std::uint32_t times) {
    bool is_time = false;
    for (std::size_t run = 0; run < found.size(); ++run) {
        std::atomic<std::uint32_t> &crowded = found.mirror(run)->crowded;
        is_time = crowded.fetch_add(1, std::memory_order_relaxed) + 1 >= times || is_time;
    }
    return is_time;
}

}  // namespace

void Connection::choose_copies(const Handler &handler, Work &work, Chosen *chosen) {
    RunSet &found = *chosen->found;
    if (found.size() == 0 || server.options().copied_after == 0) {
        return;
    }
    const bool is_large = handler.items(request_) >= server.options().shared_items;
    if (!is_large || !share_out(work, work.id, chosen)) {
        work.id = chosen->engines.front() = choose_copies_of(work, work.id, is_large, &found);
    }
}

// Whoever has nothing to do takes a share of a large batch. Where all have, sharing it out would only cost.
bool Connection::share_out(const Work &work, EngineId home, Chosen *chosen) {
    Engines &engines = server.engines();
    if (engines.queue(home).busy() > 0) {
        return false;
    }
    std::vector<EngineId> ids = {home};
    std::vector<RunSet> same_runs = {*chosen->found};
    const std::int64_t now = microseconds_since_1970();
    bool has_all = true;
    for (const EngineId id : engines.of(work.engine_name)) {
        if (id == home || engines.state(id) != Engines::State::ready || engines.queue(id).busy() > 0) {
            continue;
        }
        RunSet::Copies copies = copies_on(server.mirrors(), id, *chosen->found);
        if (!copies.empty()) {
            count_use(copies, now);
            ids.push_back(id);
            same_runs.push_back(*chosen->found);
            same_runs.back().use(std::move(copies));
        } else {
            has_all = false;
        }
    }
    if (ids.size() == 1) {
        return false;
    }
    if (!has_all) {
        copy_where_crowded(work, home, *chosen->found);
    }
    chosen->engines = std::move(ids);
    chosen->same_runs = std::move(same_runs);
    return true;
}

EngineId Connection::choose_copies_of(const Work &work, EngineId home, bool is_large, RunSet *found) {
    Engines &engines = server.engines();
    const Options &options = server.options();
    // Which of those with equally much to do is taken changes from request to request.
    const std::uint64_t turn = found->mirror(0)->hits.load(std::memory_order_relaxed);
    const EngineRange range = engines.of(work.engine_name);
    EngineId best = home;
    RunSet::Copies copies_of_best;
    std::pair least = {engines.queue(home).busy(), (home + turn) % range.size()};
    for (const EngineId id : range) {
        if (id == home || engines.state(id) != Engines::State::ready) {
            continue;
        }
        RunSet::Copies copies = copies_on(server.mirrors(), id, *found);
        const std::pair its = {engines.queue(id).busy(), (id + turn) % range.size()};
        if (!copies.empty() && its < least) {
            best = id;
            least = its;
            copies_of_best = std::move(copies);
        }
    }
    if (best != home) {
        count_use(copies_of_best, microseconds_since_1970());
        found->use(std::move(copies_of_best));
        return best;
    }
    if (is_large || least.first >= options.crowd) {
        copy_where_crowded(work, home, *found);
    }
    return home;
}

void Connection::copy_where_crowded(const Work &work, EngineId home, const RunSet &found) {
    if (!is_crowded(found, server.options().copied_after)) {
        return;
    }
    for (std::size_t run = 0; run < found.size(); ++run) {
        found.mirror(run)->crowded = 0;
    }
    if (const std::optional<EngineId> to = place_of_copies(work, home, found)) {
        make_copies(work, home, *to, found);
    }
}

// The engine with most free memory that has no copies yet, where there is room for them without anything
// leaving.
std::optional<EngineId> Connection::place_of_copies(const Work &work, EngineId home, const RunSet &found) {
    Engines &engines = server.engines();
    // What another kind of engine has for this one moves as soon as there is room; grid files go as they are.
    if (engines.name_of(home) != work.engine_name && found.parts(0).front().object.grid() != nullptr) {
        return std::nullopt;
    }
    std::uint64_t bytes = 0;
    for (std::size_t run = 0; run < found.size(); ++run) {
        bytes += bytes_of(*found.mirror(run));
    }
    std::optional<EngineId> best;
    std::uint64_t most = 0;
    for (const EngineId id : engines.of(work.engine_name)) {
        if (id == home || engines.state(id) != Engines::State::ready ||
            !copies_on(server.mirrors(), id, found).empty()) {
            continue;
        }
        const MemoryBudget &memory = engines.get(id)->memory();
        const std::uint64_t limit = memory.limit();
        const std::uint64_t free = limit - std::min(limit, memory.used());
        // Loading takes as much again.
        if (bytes <= std::min(limit / share_of_memory, max_copied_bytes) && free >= 2 * bytes &&
            free > most) {
            best = id;
            most = free;
        }
    }
    return best;
}

void Connection::make_copies(const Work &work, EngineId home, EngineId to, const RunSet &found) {
    Mirrors &mirrors = server.mirrors();
    for (std::size_t run = 0; run < found.size(); ++run) {
        const std::shared_ptr<Mirror> &mirror = found.mirror(run);
        if (mirrors.copy_on(*mirror, to, found.dead_version(run)) != nullptr) {
            continue;
        }
        if (!mirrors.begin_copy(*mirror)) {
            return;
        }
        std::shared_ptr<const MirrorCopy> copy;
        const Status status = guarded([&] {
            copy = copy_run(work, home, to, *mirror);
            return Status{};
        });
        const bool is_made = status.ok() && copy != nullptr;
        mirrors.end_copy(mirror, std::move(copy));
        if (!is_made) {
            // The request goes on without.
            return;
        }
    }
}

// Null where an engine has no place or no memory, and where entries have died meanwhile.
std::shared_ptr<const MirrorCopy> Connection::copy_run(const Work &work, EngineId home, EngineId to,
                                                       const Mirror &mirror) {
    const AnyObject &object = mirror.parts.front().object;
    auto copy = std::make_shared<MirrorCopy>();
    copy->held_by = to;
    copy->made_at = microseconds_since_1970();
    copy->dead_version = dead_version_of(object);
    const auto work_on = [&](EngineId id) {
        Work there = work;
        there.id = id;
        there.engine = server.engines().get(id);
        there.found = nullptr;
        return there;
    };
    bool is_done = false;
    const auto move = [&](auto read, auto load) {
        bool is_busy = false;
        Work source = work_on(home);
        Status status = compute_part(
            source, [&] { read(source); }, &is_busy);
        if (!status.ok() || is_busy || dead_version_of(object) != copy->dead_version) {
            return;
        }
        Work target = work_on(to);
        status = compute_part(
            target, [&] { copy->object = AnyObject(load(target)); }, &is_busy);
        is_done = status.ok() && !is_busy;
    };
    if (object.grid() != nullptr) {
        MovedGrid file;
        move([&](Work &source) { file.read(source, *object.grid()); },
             [&](Work &target) { return file.load(target); });
        return is_done ? copy : nullptr;
    }
    with_key(object.key_bits(), [&]<typename Key>(Key) {
        MovedEntries<Key> entries;
        move(
            [&](Work &source) {
                const KaryArray<Key> *arrays[] = {object.get<Key>()};
                std::unique_ptr<KaryArray<Key>> live;
                check(kary<Key>(*source.engine).merge(*source.stream, arrays, 1, &live));
                entries.read(source, *live);
            },
            [&](Work &target) { return entries.load(target); });
    });
    return is_done ? copy : nullptr;
}

}  // namespace gpu_engine::server
