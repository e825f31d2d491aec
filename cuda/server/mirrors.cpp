#include "server/mirrors.h"

#include <algorithm>
#include <chrono>

#include "gpu_engine/boundary.h"

namespace gpu_engine::server {

using protocol::EngineName;
using protocol::RunName;

namespace {

// A mirror that another connection used within this time stays when a forced path needs room.
constexpr std::int64_t undisturbed_microseconds = 60'000'000;

protocol::RunKind kind_of(const AnyObject &object) {
    return object.grid() != nullptr     ? protocol::RunKind::grid
           : object.column() != nullptr ? protocol::RunKind::column
           : object.text() != nullptr   ? protocol::RunKind::text
                                        : protocol::RunKind::kary;
}

bool is_of_database(const RunName &run, const RunName &database) {
    return run.database == database.database && run.incarnation == database.incarnation;
}

bool is_of_relation(const RunName &run, const RunName &relation) {
    return is_of_database(run, relation) && run.tablespace == relation.tablespace &&
           run.relation == relation.relation && run.backend == relation.backend;
}

}  // namespace

std::int64_t microseconds_since_1970() noexcept {
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

Mirrors::Claim::~Claim() {
    if (mirrors_ != nullptr) {
        const std::lock_guard lock(mirrors_->mutex_);
        mirrors_->claimed_.erase(place_);
    }
}

void Mirrors::touch(Mirror &mirror, const Purpose &purpose) {
    mirror.order = ++uses_;
    if (mirror.touched_by != purpose.connection) {
        mirror.touched_before = mirror.touched_at;
        mirror.touched_by = purpose.connection;
    }
    mirror.touched_for = purpose.number;
    mirror.touched_at = microseconds_since_1970();
}

std::shared_ptr<Mirror> Mirrors::find(EngineName engine, const RunName &name, const Purpose &purpose) {
    const std::lock_guard lock(mutex_);
    const auto found = table_.find(Place{engine, name});
    if (found == table_.end()) {
        return nullptr;
    }
    touch(*found->second, purpose);
    return found->second;
}

Mirrors::Claimed Mirrors::claim(EngineName engine, const RunName &name, bool pinned, Claim *claim,
                                std::uint64_t *dead_version) {
    const Place place{engine, name};
    const std::lock_guard lock(mutex_);
    const auto found = table_.find(place);
    if (found != table_.end()) {
        *dead_version = dead_version_of(found->second->object);
        if (pinned) {
            found->second->holder.pinned = 1;
        }
        return Claimed::present;
    }
    if (!claimed_.try_emplace(place).second) {
        return Claimed::by_another;
    }
    claim->mirrors_ = this;
    claim->place_ = place;
    return Claimed::yes;
}

bool Mirrors::add(std::shared_ptr<Mirror> mirror, const Purpose &purpose) {
    const std::lock_guard lock(mutex_);
    const Place place{mirror->engine, mirror->name};
    Mirror &added = *mirror;
    if (!table_.try_emplace(place, std::move(mirror)).second) {
        return false;
    }
    touch(added, purpose);
    ++counts_[added.held_by].loads;
    return true;
}

template <typename Asked>
Mirrors::Leavers Mirrors::leavers(const Purpose &purpose, Asked asked) {
    Leavers result;
    const std::int64_t lately = microseconds_since_1970() - undisturbed_microseconds;
    const auto is_needed = [&](const Mirror &mirror) {
        if (purpose.is(mirror.touched_by, mirror.touched_for)) {
            return true;
        }
        const std::int64_t by_others =
            mirror.touched_by != purpose.connection ? mirror.touched_at : mirror.touched_before;
        return purpose.forced && by_others > lately;
    };
    for (auto i = table_.begin(); i != table_.end(); ++i) {
        // Requests get their share of a mirror under the mutex, so a mirror that only the table has stays
        // unused meanwhile.
        if (asked(*i->second) && i->second->holder.pinned == 0 && i->second.use_count() == 1 &&
            !is_needed(*i->second)) {
            result.push_back(i);
        }
    }
    std::sort(result.begin(), result.end(),
              [](const auto &a, const auto &b) { return a->second->order < b->second->order; });
    return result;
}

Mirrors::Leavers Mirrors::leavers(EngineId engine, const Purpose &purpose) {
    return leavers(purpose, [engine](const Mirror &mirror) { return mirror.held_by == engine; });
}

template <typename Wanted>
void Mirrors::unlink(const Leavers &leavers, Wanted wanted, Gone *gone) {
    // What can fail comes first, before anything is unlinked.
    gone->reserve(leavers.size());
    std::uint64_t bytes = 0;
    for (const Table::iterator &leaver : leavers) {
        if (!wanted(bytes)) {
            break;
        }
        bytes += bytes_of(leaver->second->object);
        gone->push_back(std::move(leaver->second));
        table_.erase(leaver);
    }
}

namespace {

// How many bytes must go for `bytes` more to fit; nothing where all of them wouldn't do.
std::optional<std::uint64_t> lacking_bytes(const MemoryBudget &memory, std::uint64_t bytes) {
    const std::uint64_t limit = memory.limit();
    const std::uint64_t used = memory.used();
    if (bytes > limit) {
        return std::nullopt;
    }
    return used <= limit - bytes ? 0 : used - (limit - bytes);
}

}  // namespace

std::uint64_t Mirrors::bytes_of_all(const Leavers &leavers) {
    std::uint64_t bytes = 0;
    for (const Table::iterator &leaver : leavers) {
        bytes += bytes_of(leaver->second->object);
    }
    return bytes;
}

bool Mirrors::make_room(EngineId engine, MemoryBudget &memory, std::uint64_t bytes, const Purpose &purpose) {
    Gone gone;
    const std::lock_guard lock(mutex_);
    const std::optional<std::uint64_t> needed = lacking_bytes(memory, bytes);
    if (!needed || *needed == 0) {
        return needed.has_value();
    }
    const Leavers all = leavers(engine, purpose);
    if (bytes_of_all(all) < *needed) {
        return false;
    }
    unlink(
        all, [&](std::uint64_t freed) { return freed < *needed; }, &gone);
    counts_[engine].evictions += gone.size();
    return true;
}

bool Mirrors::could_make_room(EngineId engine, const MemoryBudget &memory, std::uint64_t bytes,
                              const Purpose &purpose) {
    const std::lock_guard lock(mutex_);
    const std::optional<std::uint64_t> needed = lacking_bytes(memory, bytes);
    return needed && (*needed == 0 || bytes_of_all(leavers(engine, purpose)) >= *needed);
}

template <typename Counts>
std::uint64_t Mirrors::taken(EngineName engine, Counts counts) const {
    std::uint64_t bytes = 0;
    for (const auto &[place, mirror] : table_) {
        bytes +=
            place.engine == engine && counts(place.name, mirror->holder.user) ? bytes_of(mirror->object) : 0;
    }
    for (const auto &[place, share] : claimed_) {
        // A claim goes shortly after its mirror has come.
        bytes += place.engine == engine && counts(place.name, share.user) && !table_.contains(place)
                     ? share.bytes
                     : 0;
    }
    return bytes;
}

Room Mirrors::choose_leavers(const NewMirror &mirror, const MemoryBudget *memory, const Purpose &purpose,
                             Leavers *chosen) {
    // Quotas are of all engines of the kind together.
    Leavers left = leavers(purpose, [&mirror](const Mirror &other) { return other.engine == mirror.engine; });
    // Moves mirrors to the chosen ones until those that count are as many bytes as are needed.
    const auto choose = [&](std::uint64_t needed, auto counts) {
        std::uint64_t bytes = 0;
        for (const Table::iterator &leaver : *chosen) {
            bytes += counts(*leaver->second) ? bytes_of(leaver->second->object) : 0;
        }
        for (auto leaver = left.begin(); bytes < needed && leaver != left.end();) {
            if (!counts(*(*leaver)->second)) {
                ++leaver;
                continue;
            }
            bytes += bytes_of((*leaver)->second->object);
            chosen->push_back(*leaver);
            leaver = left.erase(leaver);
        }
        return bytes >= needed;
    };
    const auto keeps_within = [&](std::uint64_t quota, auto counts) {
        if (quota == 0) {
            return true;
        }
        const std::uint64_t used = taken(mirror.engine, counts) + mirror.bytes;
        return mirror.bytes <= quota && (used <= quota || choose(used - quota, [&](const Mirror &other) {
                                             return counts(other.name, other.holder.user);
                                         }));
    };
    if (!keeps_within(mirror.holder.role_quota,
                      [&](const RunName &, std::uint32_t user) { return user == mirror.holder.user; })) {
        return Room::beyond_role_quota;
    }
    if (!keeps_within(mirror.holder.database_quota, [&](const RunName &name, std::uint32_t) {
            return is_of_database(name, mirror.name);
        })) {
        return Room::beyond_database_quota;
    }
    if (memory == nullptr) {
        return Room::made;
    }
    const std::optional<std::uint64_t> needed = lacking_bytes(*memory, mirror.bytes_in_the_making);
    return needed && (*needed == 0 ||
                      choose(*needed,
                             [&mirror](const Mirror &other) { return other.held_by == mirror.held_by; }))
               ? Room::made
               : Room::beyond_limit;
}

Room Mirrors::make_room_for(const NewMirror &mirror, const MemoryBudget *memory, const Purpose &purpose,
                            Claim *claim) {
    Gone gone;
    const std::lock_guard lock(mutex_);
    Leavers chosen;
    const Room room = choose_leavers(mirror, memory, purpose, &chosen);
    if (room != Room::made) {
        ++counts_[mirror.held_by].refusals;
        Purpose of_auto = purpose;
        of_auto.forced = false;
        chosen.clear();
        return purpose.forced && choose_leavers(mirror, memory, of_auto, &chosen) == Room::made
                   ? Room::used_by_others
                   : room;
    }
    if (claim != nullptr) {
        claimed_[claim->place_] = {mirror.holder.user, mirror.held_by, mirror.bytes};
    }
    for (const Table::iterator &leaver : chosen) {
        ++counts_[leaver->second->held_by].evictions;
    }
    unlink(
        chosen, [](std::uint64_t) { return true; }, &gone);
    return room;
}

bool Mirrors::drop_one(EngineId engine, const Purpose &purpose) {
    Gone gone;
    const std::lock_guard lock(mutex_);
    bool dropped = false;
    unlink(
        leavers(engine, purpose), [&](std::uint64_t) { return !std::exchange(dropped, true); }, &gone);
    counts_[engine].evictions += gone.size();
    return dropped;
}

void Mirrors::shrink(EngineId engine, const MemoryBudget &memory) {
    Gone gone;
    const std::lock_guard lock(mutex_);
    const std::uint64_t limit = memory.limit();
    const std::uint64_t used = memory.used();
    unlink(
        leavers(engine, {}), [&](std::uint64_t freed) { return used > limit && freed < used - limit; },
        &gone);
    counts_[engine].evictions += gone.size();
}

template <typename Chosen>
void Mirrors::unlink_chosen(Chosen chosen, std::uint64_t *mirrors, std::uint64_t *bytes, Gone *gone) {
    *bytes = 0;
    Leavers all;
    for (auto i = table_.begin(); i != table_.end(); ++i) {
        if (chosen(*i->second)) {
            all.push_back(i);
            *bytes += bytes_of(i->second->object);
        }
    }
    *mirrors = all.size();
    unlink(
        all, [](std::uint64_t) { return true; }, gone);
}

void Mirrors::evict(const RunName &name, std::uint64_t *mirrors, std::uint64_t *bytes) {
    Gone gone;
    const std::lock_guard lock(mutex_);
    unlink_chosen(
        [&](const Mirror &mirror) {
            return name.relation == 0
                       ? is_of_database(mirror.name, name)
                       : is_of_relation(mirror.name, name) && (name.run == 0 || mirror.name.run == name.run);
        },
        mirrors, bytes, &gone);
}

void Mirrors::keep(const RunName &relation, const std::unordered_set<std::uint64_t> &listed,
                   std::int64_t listed_at, std::uint64_t *mirrors, std::uint64_t *bytes) {
    Gone gone;
    const std::lock_guard lock(mutex_);
    unlink_chosen(
        [&](const Mirror &mirror) {
            return is_of_relation(mirror.name, relation) && mirror.loaded_at < listed_at &&
                   !listed.contains(mirror.name.run);
        },
        mirrors, bytes, &gone);
}

void Mirrors::clear(EngineId engine) {
    Gone gone;
    const std::lock_guard lock(mutex_);
    Leavers all;
    for (auto i = table_.begin(); i != table_.end(); ++i) {
        if (i->second->held_by == engine) {
            all.push_back(i);
        }
    }
    unlink(
        all, [](std::uint64_t) { return true; }, &gone);
}

std::optional<EngineId> Mirrors::holder_of(EngineName engine, const RunName &name) {
    const std::lock_guard lock(mutex_);
    const auto found = table_.find(Place{engine, name});
    return found == table_.end() ? std::nullopt : std::optional(found->second->held_by);
}

std::array<std::uint64_t, max_engines> Mirrors::bytes_by_engine(EngineName engine, const RunName &relation) {
    std::array<std::uint64_t, max_engines> bytes{};
    const auto counts = [&](const Place &place) {
        return place.engine == engine && is_of_relation(place.name, relation);
    };
    const std::lock_guard lock(mutex_);
    for (const auto &[place, mirror] : table_) {
        bytes[mirror->held_by] += counts(place) ? bytes_of(mirror->object) : 0;
    }
    for (const auto &[place, share] : claimed_) {
        bytes[share.held_by] += counts(place) && !table_.contains(place) ? share.bytes : 0;
    }
    return bytes;
}

std::uint64_t Mirrors::list(protocol::MirrorRow *rows, std::uint64_t capacity,
                            const std::function<std::int32_t(EngineId)> &device_of) {
    const std::lock_guard lock(mutex_);
    std::uint64_t row = 0;
    for (const auto &[place, mirror] : table_) {
        if (row < capacity) {
            rows[row] = protocol::MirrorRow{
                place.name,
                entries_of(mirror->object),
                bytes_of(mirror->object),
                mirror->hits.load(std::memory_order_relaxed),
                mirror->loaded_at,
                mirror->last_used.load(std::memory_order_relaxed),
                static_cast<std::uint32_t>(place.engine),
                mirror->holder.pinned != 0 ? 1U : 0U,
                device_of(mirror->held_by),
                mirror->holder.user,
                static_cast<std::uint32_t>(kind_of(mirror->object)),
                0,
            };
        }
        ++row;
    }
    return row;
}

MirrorCounts Mirrors::counts(EngineId engine) {
    const std::lock_guard lock(mutex_);
    return counts_[engine];
}

}  // namespace gpu_engine::server
