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
    ++counts_of(added.engine).loads;
    return true;
}

Mirrors::Leavers Mirrors::leavers(EngineName engine, const Purpose &purpose) {
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
        if (i->first.engine == engine && i->second->holder.pinned == 0 && i->second.use_count() == 1 &&
            !is_needed(*i->second)) {
            result.push_back(i);
        }
    }
    std::sort(result.begin(), result.end(),
              [](const auto &a, const auto &b) { return a->second->order < b->second->order; });
    return result;
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

bool Mirrors::make_room(EngineName engine, MemoryBudget &memory, std::uint64_t bytes,
                        const Purpose &purpose) {
    Gone gone;
    const std::lock_guard lock(mutex_);
    const std::uint64_t limit = memory.limit();
    const std::uint64_t used = memory.used();
    if (bytes > limit) {
        return false;
    }
    if (used <= limit - bytes) {
        return true;
    }
    const std::uint64_t needed = used - (limit - bytes);
    const Leavers all = leavers(engine, purpose);
    std::uint64_t available = 0;
    for (const Table::iterator &leaver : all) {
        available += bytes_of(leaver->second->object);
    }
    if (available < needed) {
        return false;
    }
    unlink(
        all, [&](std::uint64_t freed) { return freed < needed; }, &gone);
    counts_of(engine).evictions += gone.size();
    return true;
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
    Leavers left = leavers(mirror.engine, purpose);
    // Moves mirrors to the chosen ones until those that count are as many bytes as are needed.
    const auto choose = [&](std::uint64_t needed, auto counts) {
        std::uint64_t bytes = 0;
        for (const Table::iterator &leaver : *chosen) {
            bytes += counts(leaver->first.name, leaver->second->holder.user)
                         ? bytes_of(leaver->second->object)
                         : 0;
        }
        for (auto leaver = left.begin(); bytes < needed && leaver != left.end();) {
            if (!counts((*leaver)->first.name, (*leaver)->second->holder.user)) {
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
        return mirror.bytes <= quota && (used <= quota || choose(used - quota, counts));
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
    const std::uint64_t limit = memory->limit();
    const std::uint64_t used = memory->used();
    if (mirror.bytes_in_the_making > limit) {
        return Room::beyond_limit;
    }
    const std::uint64_t free_then = limit - mirror.bytes_in_the_making;
    return used <= free_then || choose(used - free_then, [](const RunName &, std::uint32_t) { return true; })
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
        ++counts_of(mirror.engine).refusals;
        Purpose of_auto = purpose;
        of_auto.forced = false;
        chosen.clear();
        return purpose.forced && choose_leavers(mirror, memory, of_auto, &chosen) == Room::made
                   ? Room::used_by_others
                   : room;
    }
    if (claim != nullptr) {
        claimed_[claim->place_] = {mirror.holder.user, mirror.bytes};
    }
    unlink(
        chosen, [](std::uint64_t) { return true; }, &gone);
    counts_of(mirror.engine).evictions += gone.size();
    return room;
}

bool Mirrors::drop_one(EngineName engine, const Purpose &purpose) {
    Gone gone;
    const std::lock_guard lock(mutex_);
    bool dropped = false;
    unlink(
        leavers(engine, purpose), [&](std::uint64_t) { return !std::exchange(dropped, true); }, &gone);
    counts_of(engine).evictions += gone.size();
    return dropped;
}

void Mirrors::shrink(EngineName engine, const MemoryBudget &memory) {
    Gone gone;
    const std::lock_guard lock(mutex_);
    const std::uint64_t limit = memory.limit();
    const std::uint64_t used = memory.used();
    unlink(
        leavers(engine, {}), [&](std::uint64_t freed) { return used > limit && freed < used - limit; },
        &gone);
    counts_of(engine).evictions += gone.size();
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

void Mirrors::clear(EngineName engine) {
    Gone gone;
    const std::lock_guard lock(mutex_);
    Leavers all;
    for (auto i = table_.begin(); i != table_.end(); ++i) {
        if (i->first.engine == engine) {
            all.push_back(i);
        }
    }
    unlink(
        all, [](std::uint64_t) { return true; }, &gone);
}

std::uint64_t Mirrors::list(protocol::MirrorRow *rows, std::uint64_t capacity, std::int32_t device) {
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
                place.engine == EngineName::cuda ? device : -1,
                mirror->holder.user,
                static_cast<std::uint32_t>(kind_of(mirror->object)),
                0,
            };
        }
        ++row;
    }
    return row;
}

MirrorCounts Mirrors::counts(EngineName engine) {
    const std::lock_guard lock(mutex_);
    return counts_of(engine);
}

}  // namespace gpu_engine::server
