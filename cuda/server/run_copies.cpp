// Copies of small runs that many ask at once, on engines that would have nothing to do, or only a part of the
// work. A mirror of a run of gpu_kary, gpu_grid or gpu_text lies on one engine, and an index's runs may lie
// on several, so a request computes where its runs are; with copies of all others any engine answers it
// alone. They go through the machine's memory, and leave before any mirror has to.
#include <algorithm>
#include <utility>

#include "server/chosen.h"
#include "server/moved_entries.h"
#include "server/moved_lists.h"
#include "server/run_set.h"

#include "gpu_engine/boundary.h"

namespace gpu_engine::server {
namespace {

// A request's runs are small if those that an engine lacks take this share of its memory at most, and so
// little that whoever copies them is through in some tenths of a second.
constexpr std::uint64_t share_of_memory = 8;
constexpr std::uint64_t max_copied_bytes = std::uint64_t(1) << 30;

bool has(const RunSet &found, std::size_t run, EngineId engine) {
    return found.mirror(run)->part_on(engine) != nullptr;
}

// Copies of those runs that the engine has no mirror of; nothing if one of them has none there.
std::optional<RunSet::Copies> copies_on(Mirrors &mirrors, EngineId engine, const RunSet &found) {
    RunSet::Copies copies(found.size());
    for (std::size_t run = 0; run < found.size(); ++run) {
        if (has(found, run, engine)) {
            continue;
        }
        copies[run] = mirrors.copy_on(*found.mirror(run), engine, found.dead_version(run));
        if (copies[run] == nullptr) {
            return std::nullopt;
        }
    }
    return copies;
}

void count_use(const RunSet::Copies &copies) {
    const std::int64_t now = microseconds_since_1970();
    for (const auto &copy : copies) {
        if (copy != nullptr) {
            copy->hits.fetch_add(1, std::memory_order_relaxed);
            copy->last_used.store(now, std::memory_order_relaxed);
        }
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

bool is_in_parts(const RunSet &found) {
    for (std::size_t run = 0; run < found.size(); ++run) {
        if (found.mirror(run)->parts.size() > 1) {
            return true;
        }
    }
    return false;
}

}  // namespace

// An engine that has all runs of a request.
struct Connection::HasAll {
    EngineId id = 0;
    std::uint32_t busy = 0;
    RunSet::Copies copies;
};

void Connection::choose_copies(const Handler &handler, Work &work, Chosen *chosen) {
    const RunSet &found = *chosen->found;
    const Options &options = server.options();
    if (found.size() == 0 || options.copied_after == 0 || is_in_parts(found)) {
        return;
    }
    bool is_lacking = false;
    std::vector<HasAll> having_all = find_having_all(work, *chosen, &is_lacking);
    const bool is_large = handler.items != nullptr && handler.items(work, request_) >= options.shared_items;
    std::uint32_t met = 0;
    if (!is_large || !share_out(&having_all, chosen)) {
        met = choose_one(std::move(having_all), chosen);
    }
    work.id = chosen->engines.front();
    if (is_lacking && (is_large || met >= options.crowd)) {
        copy_where_crowded(work, found);
    }
}

std::vector<Connection::HasAll> Connection::find_having_all(const Work &work, const Chosen &chosen,
                                                            bool *is_lacking) {
    Engines &engines = server.engines();
    const RunSet &found = *chosen.found;
    std::vector<HasAll> having_all;
    for (const EngineId id : engines.of(work.engine_name)) {
        if (engines.state(id) != Engines::State::ready) {
            continue;
        }
        std::optional<RunSet::Copies> copies = copies_on(server.mirrors(), id, found);
        if (copies) {
            having_all.push_back({id, engines.queue(id).busy(), std::move(*copies)});
        } else {
            *is_lacking = true;
        }
    }
    // Another kind's engine may have what this kind's had no room for. Devices come first.
    const EngineId home = chosen.engines.front();
    if (chosen.engines.size() == 1 && engines.is_overflow_of(work.engine_name, home)) {
        having_all.push_back({home, engines.queue(home).busy(), RunSet::Copies(found.size())});
    }
    return having_all;
}

// Those that have nothing to do take a share each of a large batch. Where all of them compute for others,
// sharing it out would only cost.
bool Connection::share_out(std::vector<HasAll> *having_all, Chosen *chosen) {
    if (std::count_if(having_all->begin(), having_all->end(),
                      [](const HasAll &one) { return one.busy == 0; }) < 2) {
        return false;
    }
    chosen->engines.clear();
    for (HasAll &one : *having_all) {
        if (one.busy == 0) {
            count_use(one.copies);
            chosen->engines.push_back(one.id);
            chosen->same_runs.push_back(*chosen->found);
            chosen->same_runs.back().use(std::move(one.copies), one.id);
        }
    }
    *chosen->found = chosen->same_runs.front();
    return true;
}

std::uint32_t Connection::choose_one(std::vector<HasAll> having_all, Chosen *chosen) {
    Engines &engines = server.engines();
    RunSet &found = *chosen->found;
    // Where the runs are spread, the request is through when the engine is that has most to do.
    std::uint32_t busy_where_spread = 0;
    std::size_t alone_as_well = 0;
    for (const EngineId id : chosen->engines) {
        busy_where_spread = std::max(busy_where_spread, engines.queue(id).busy());
        alone_as_well += std::count_if(having_all.begin(), having_all.end(),
                                       [id](const HasAll &one) { return one.id == id; });
    }
    if (having_all.empty()) {
        return busy_where_spread;
    }
    // Which of those with equally much to do is taken changes from request to request.
    const std::uint64_t turn = found.mirror(0)->hits.load(std::memory_order_relaxed);
    std::rotate(having_all.begin(),
                having_all.begin() + static_cast<std::ptrdiff_t>(turn % having_all.size()), having_all.end());
    HasAll &best = *std::min_element(having_all.begin(), having_all.end(),
                                     [](const HasAll &a, const HasAll &b) { return a.busy < b.busy; });
    if (chosen->engines.size() > 1) {
        // Together they are through sooner than one alone, as long as no other request needs them. Until each
        // of them could do it alone, those that can would get all requests, if they took what the others are
        // as busy for.
        const bool all_could = alone_as_well == chosen->engines.size();
        if (best.busy >= busy_where_spread && (busy_where_spread == 0 || !all_could)) {
            return busy_where_spread;
        }
    }
    count_use(best.copies);
    found.use(std::move(best.copies), best.id);
    chosen->engines = {best.id};
    return best.busy;
}

void Connection::copy_where_crowded(const Work &work, const RunSet &found) {
    if (!is_crowded(found, server.options().copied_after)) {
        return;
    }
    for (std::size_t run = 0; run < found.size(); ++run) {
        found.mirror(run)->crowded = 0;
    }
    if (const std::optional<EngineId> to = place_of_copies(work, found)) {
        make_copies(work, *to, found);
    }
}

// The engine with most free memory of those that lack a run, where there is room for what it lacks without
// anything leaving.
std::optional<EngineId> Connection::place_of_copies(const Work &work, const RunSet &found) {
    Engines &engines = server.engines();
    // Grid files go as they are, which only engines of the same kind understand.
    for (std::size_t run = 0; run < found.size(); ++run) {
        const MirrorPart &part = found.parts(run).front();
        if (part.object.grid() != nullptr && engines.is_overflow_of(work.engine_name, part.held_by)) {
            return std::nullopt;
        }
    }
    std::optional<EngineId> best;
    std::uint64_t most = 0;
    for (const EngineId id : engines.of(work.engine_name)) {
        if (engines.state(id) != Engines::State::ready) {
            continue;
        }
        std::uint64_t bytes = 0;
        for (std::size_t run = 0; run < found.size(); ++run) {
            const bool is_there = has(found, run, id) ||
                                  server.mirrors().copy_on(*found.mirror(run), id, found.dead_version(run));
            bytes += is_there ? 0 : bytes_of(*found.mirror(run));
        }
        const MemoryBudget &memory = engines.get(id)->memory();
        const std::uint64_t limit = memory.limit();
        const std::uint64_t free = memory.free_bytes();
        // Loading takes as much again.
        if (bytes > 0 && bytes <= std::min(limit / share_of_memory, max_copied_bytes) && free >= 2 * bytes &&
            free > most) {
            best = id;
            most = free;
        }
    }
    return best;
}

void Connection::make_copies(const Work &work, EngineId to, const RunSet &found) {
    Mirrors &mirrors = server.mirrors();
    for (std::size_t run = 0; run < found.size(); ++run) {
        const std::shared_ptr<Mirror> &mirror = found.mirror(run);
        if (has(found, run, to) || mirrors.copy_on(*mirror, to, found.dead_version(run)) != nullptr) {
            continue;
        }
        if (!mirrors.begin_copy(*mirror)) {
            return;
        }
        std::shared_ptr<const MirrorCopy> copy;
        const Status status = guarded([&] {
            copy = copy_run(work, mirror->parts.front().held_by, to, *mirror);
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

// Null where an engine has no place or no memory, and where entries have died meanwhile. May throw Failure
// for the same.
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
    if (object.text() != nullptr) {
        Work source = work_on(home);
        Work target = work_on(to);
        MovedLists lists(source, target, [this](Work &there, const std::function<void()> &body) {
            bool is_busy = false;
            check(compute_part(there, body, &is_busy));
            if (is_busy) {
                throw Failure{make_status(StatusCode::unavailable, "the engine has no place for a copy")};
            }
        });
        copy->object = AnyObject(lists.copy(*object.text(), &copy->dead_version));
        return copy;
    }
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
