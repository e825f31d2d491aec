#include "server/residency/mirrors.h"

#include <algorithm>
#include <cassert>
#include <chrono>

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

}  // namespace

std::uint64_t entries_of(const Mirror &mirror) {
    const MirrorPart &last = mirror.parts.back();
    return last.first + store_of(last.object)->entries();
}

std::uint64_t bytes_of(const Mirror &mirror) {
    std::uint64_t bytes = 0;
    for (const MirrorPart &part : mirror.parts) {
        bytes += store_of(part.object)->bytes();
    }
    return bytes + mirror.string_bytes();
}

std::uint64_t dead_version_of(const Mirror &mirror) {
    std::uint64_t version = UINT64_MAX;
    for (const MirrorPart &part : mirror.parts) {
        version = std::min(version, store_of(part.object)->dead_version());
    }
    return version;
}

namespace {

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
        *dead_version = dead_version_of(*found->second);
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
    overflow_ += added.is_overflow ? 1 : 0;
    ++counts_[added.parts.front().held_by].loads;
    return true;
}

template <typename Requested>
Mirrors::Victims Mirrors::victims(const Purpose &purpose, Requested requested) {
    Victims result;
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
        if (requested(*i->second) && i->second->holder.pinned == 0 && i->second.use_count() == 1 &&
            !is_needed(*i->second)) {
            result.push_back(i);
        }
    }
    std::sort(result.begin(), result.end(),
              [](const auto &a, const auto &b) { return a->second->order < b->second->order; });
    return result;
}

Mirrors::Victims Mirrors::victims(EngineId engine, const Purpose &purpose) {
    return victims(purpose, [engine](const Mirror &mirror) { return mirror.bytes_on(engine) > 0; });
}

template <typename Wanted>
void Mirrors::unlink(const Victims &victims, EngineId engine, Wanted wanted, Evicted *evicted) {
    // This can fail, so it comes before anything is unlinked.
    evicted->reserve(victims.size());
    std::uint64_t bytes = 0;
    for (const Table::iterator &victim : victims) {
        if (!wanted(bytes)) {
            break;
        }
        bytes += victim->second->bytes_on(engine);
        overflow_ -= victim->second->is_overflow ? 1 : 0;
        evicted->push_back(std::move(victim->second));
        table_.erase(victim);
    }
}

void Mirrors::unlink(const Victims &victims, Evicted *evicted) {
    unlink(
        victims, 0, [](std::uint64_t) { return true; }, evicted);
}

std::optional<std::uint64_t> Mirrors::bytes_to_leave(EngineId engine, const MemoryBudget &memory,
                                                     std::uint64_t bytes) {
    const std::uint64_t limit = memory.limit();
    if (bytes > limit) {
        return std::nullopt;
    }
    const auto lacking = [&memory, room = limit - bytes] {
        const std::uint64_t used = memory.used();
        return used - std::min(used, room);
    };
    std::uint64_t left = lacking();
    if (left > 0 && maps_.drop(engine, left)) {
        left = lacking();
    }
    if (left > 0 && engine == strings_engine && spaces_.drop(left)) {
        left = lacking();
    }
    return left;
}

std::uint64_t Mirrors::bytes_of_all(const Victims &victims, EngineId engine) {
    std::uint64_t bytes = 0;
    for (const Table::iterator &victim : victims) {
        bytes += victim->second->bytes_on(engine);
    }
    return bytes;
}

// ---- room -------------------------------------------------------------------------------------------------

bool Mirrors::make_room(EngineId engine, MemoryBudget &memory, std::uint64_t bytes, const Purpose &purpose) {
    Evicted evicted;
    const std::lock_guard lock(mutex_);
    const std::optional<std::uint64_t> needed = bytes_to_leave(engine, memory, bytes);
    if (!needed || *needed == 0) {
        return needed.has_value();
    }
    const Victims all = victims(engine, purpose);
    if (bytes_of_all(all, engine) < *needed) {
        return false;
    }
    unlink(
        all, engine, [&](std::uint64_t freed) { return freed < *needed; }, &evicted);
    counts_[engine].evictions += evicted.size();
    return true;
}

Mirrors::EngineRoom Mirrors::room_on(EngineId engine, const MemoryBudget &memory, const Purpose &purpose) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t limit = memory.limit();
    const std::uint64_t used = memory.used();
    const std::int64_t lately = microseconds_since_1970() - undisturbed_microseconds;
    std::uint64_t any = maps_.bytes(engine) + (engine == strings_engine ? spaces_.bytes() : 0);
    std::uint64_t idle = any;
    for (const Table::iterator &victim : victims(engine, purpose)) {
        const std::uint64_t bytes = victim->second->bytes_on(engine);
        any += bytes;
        idle += victim->second->touched_at <= lately ? bytes : 0;
    }
    const auto room_without = [&](std::uint64_t leaving) {
        return limit - std::min(limit, used - std::min(used, leaving));
    };
    return {room_without(any), room_without(idle)};
}

template <typename Counts>
std::uint64_t Mirrors::taken(EngineName engine, Counts counts) const {
    std::uint64_t bytes = 0;
    for (const auto &[place, mirror] : table_) {
        bytes += place.engine == engine && counts(place.name, mirror->holder.user) ? bytes_of(*mirror) : 0;
    }
    for (const auto &[place, share] : claimed_) {
        // A claim goes shortly after its mirror has come.
        if (place.engine == engine && counts(place.name, share.user) && !table_.contains(place)) {
            for (const NewMirrorPart &part : share.parts) {
                bytes += part.bytes;
            }
        }
    }
    return bytes;
}

Room Mirrors::choose_victims(const NewMirror &mirror, const Purpose &purpose, Victims *chosen) {
    // Quotas are of all engines of the kind together, and memory is an engine's, whatever kind its mirrors
    // are of.
    Victims left = victims(purpose, [&mirror](const Mirror &other) {
        return other.engine == mirror.engine ||
               std::any_of(mirror.parts.begin(), mirror.parts.end(), [&other](const NewMirrorPart &part) {
                   return part.memory != nullptr && other.bytes_on(part.held_by) > 0;
               });
    });
    // Moves mirrors to the chosen ones until what counts of them is as many bytes as are needed.
    const auto choose = [&](std::uint64_t needed, auto counted_bytes) {
        std::uint64_t bytes = 0;
        for (const Table::iterator &victim : *chosen) {
            bytes += counted_bytes(*victim->second);
        }
        for (auto victim = left.begin(); bytes < needed && victim != left.end();) {
            const std::uint64_t counted = counted_bytes(*(*victim)->second);
            if (counted == 0) {
                ++victim;
                continue;
            }
            bytes += counted;
            chosen->push_back(*victim);
            victim = left.erase(victim);
        }
        return bytes >= needed;
    };
    const auto keeps_within = [&](std::uint64_t quota, auto counts) {
        if (quota == 0) {
            return true;
        }
        const std::uint64_t bytes = mirror.bytes();
        const std::uint64_t used = taken(mirror.engine, counts) + bytes;
        return bytes <= quota && (used <= quota || choose(used - quota, [&](const Mirror &other) {
                                      return other.engine == mirror.engine &&
                                                     counts(other.name, other.holder.user)
                                                 ? bytes_of(other)
                                                 : 0;
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
    for (const NewMirrorPart &part : mirror.parts) {
        if (part.memory == nullptr) {
            continue;
        }
        const std::optional<std::uint64_t> needed =
            bytes_to_leave(part.held_by, *part.memory, part.bytes_in_the_making);
        if (!needed || (*needed > 0 && !choose(*needed, [&part](const Mirror &other) {
                return other.bytes_on(part.held_by);
            }))) {
            return Room::beyond_limit;
        }
    }
    return Room::made;
}

Room Mirrors::make_room_for(const NewMirror &mirror, const Purpose &purpose, Claim *claim) {
    assert(!mirror.parts.empty());
    Evicted evicted;
    const std::lock_guard lock(mutex_);
    Victims chosen;
    const Room room = choose_victims(mirror, purpose, &chosen);
    if (room != Room::made) {
        ++counts_[mirror.parts.front().held_by].refusals;
        Purpose of_auto = purpose;
        of_auto.forced = false;
        chosen.clear();
        return purpose.forced && choose_victims(mirror, of_auto, &chosen) == Room::made ? Room::used_by_others
                                                                                        : room;
    }
    if (claim != nullptr) {
        claimed_[claim->place_] = {mirror.holder.user, mirror.parts};
    }
    for (const Table::iterator &victim : chosen) {
        ++counts_[victim->second->parts.front().held_by].evictions;
    }
    unlink(chosen, &evicted);
    return room;
}

bool Mirrors::drop_one(EngineId engine, const Purpose &purpose) {
    if (maps_.drop(engine, 1) || (engine == strings_engine && spaces_.drop(1))) {
        return true;
    }
    Evicted evicted;
    const std::lock_guard lock(mutex_);
    bool dropped = false;
    unlink(
        victims(engine, purpose), engine, [&](std::uint64_t) { return !std::exchange(dropped, true); },
        &evicted);
    counts_[engine].evictions += evicted.size();
    return dropped;
}

void Mirrors::shrink(EngineId engine, const MemoryBudget &memory) {
    Evicted evicted;
    const std::lock_guard lock(mutex_);
    const std::uint64_t limit = memory.limit();
    static_cast<void>(bytes_to_leave(engine, memory, 0));
    const std::uint64_t used = memory.used();
    unlink(
        victims(engine, {}), engine,
        [&](std::uint64_t freed) { return used > limit && freed < used - limit; }, &evicted);
    counts_[engine].evictions += evicted.size();
}

template <typename Chosen>
void Mirrors::unlink_chosen(Chosen chosen, std::uint64_t *mirrors, std::uint64_t *bytes, Evicted *evicted) {
    *bytes = 0;
    Victims all;
    for (auto i = table_.begin(); i != table_.end(); ++i) {
        if (chosen(*i->second)) {
            all.push_back(i);
            *bytes += bytes_of(*i->second);
        }
    }
    *mirrors = all.size();
    unlink(all, evicted);
}

void Mirrors::evict(const RunName &name, std::uint64_t *mirrors, std::uint64_t *bytes) {
    Evicted evicted;
    const std::lock_guard lock(mutex_);
    unlink_chosen(
        [&](const Mirror &mirror) {
            return name.relation == 0
                       ? is_of_database(mirror.name, name)
                       : is_of_relation(mirror.name, name) && (name.run == 0 || mirror.name.run == name.run);
        },
        mirrors, bytes, &evicted);
}

void Mirrors::keep(const RunName &relation, const std::unordered_set<std::uint64_t> &listed,
                   std::int64_t listed_at, std::uint64_t *mirrors, std::uint64_t *bytes) {
    Evicted evicted;
    const std::lock_guard lock(mutex_);
    unlink_chosen(
        [&](const Mirror &mirror) {
            return is_of_relation(mirror.name, relation) && mirror.loaded_at < listed_at &&
                   !listed.contains(mirror.name.run);
        },
        mirrors, bytes, &evicted);
}

bool Mirrors::drop(const std::shared_ptr<Mirror> &mirror) {
    Evicted evicted;
    const std::lock_guard lock(mutex_);
    const auto found = table_.find(Place{mirror->engine, mirror->name});
    if (found == table_.end() || found->second != mirror || mirror->holder.pinned != 0) {
        return false;
    }
    ++counts_[mirror->parts.front().held_by].evictions;
    unlink({found}, &evicted);
    return true;
}

void Mirrors::clear(EngineId engine) {
    Evicted evicted;
    std::uint64_t mirrors = 0;
    std::uint64_t bytes = 0;
    const std::lock_guard lock(mutex_);
    unlink_chosen([engine](const Mirror &mirror) { return mirror.part_on(engine) != nullptr; }, &mirrors,
                  &bytes, &evicted);
}

std::vector<EngineId> Mirrors::holders_of(EngineName engine, const RunName &name) {
    std::vector<EngineId> holders;
    const std::lock_guard lock(mutex_);
    const auto found = table_.find(Place{engine, name});
    if (found != table_.end()) {
        for (const MirrorPart &part : found->second->parts) {
            holders.push_back(part.held_by);
        }
    }
    return holders;
}

std::array<std::uint64_t, max_engines> Mirrors::bytes_beside(EngineName engine, const RunName &name) {
    std::array<std::uint64_t, max_engines> bytes{};
    const auto counts = [&](const Place &place) {
        return place.engine == engine && is_of_relation(place.name, name) && place != Place{engine, name};
    };
    const std::lock_guard lock(mutex_);
    for (const auto &[place, mirror] : table_) {
        if (counts(place)) {
            for (const MirrorPart &part : mirror->parts) {
                bytes[part.held_by] += store_of(part.object)->bytes();
            }
        }
    }
    for (const auto &[place, share] : claimed_) {
        if (counts(place)) {
            for (const NewMirrorPart &part : share.parts) {
                bytes[part.held_by] += part.bytes;
            }
        }
    }
    return bytes;
}

std::uint64_t Mirrors::list(protocol::MirrorRow *rows, std::uint64_t capacity,
                            const std::function<std::int32_t(EngineId)> &device_of) {
    const std::lock_guard lock(mutex_);
    std::uint64_t count = 0;
    for (const auto &[place, mirror] : table_) {
        protocol::MirrorRow row = {};
        row.name = place.name;
        row.engine = static_cast<std::uint32_t>(place.engine);
        row.pinned = mirror->holder.pinned != 0 ? 1U : 0U;
        row.user = mirror->holder.user;
        row.hits = mirror->hits.load(std::memory_order_relaxed);
        row.loaded_at = mirror->loaded_at;
        row.last_used = mirror->last_used.load(std::memory_order_relaxed);
        row.parts = static_cast<std::uint16_t>(mirror->parts.size());
        for (std::size_t i = 0; i < mirror->parts.size(); ++i) {
            const MirrorPart &part = mirror->parts[i];
            row.entries = store_of(part.object)->entries();
            row.bytes = store_of(part.object)->bytes() + (i == 0 ? mirror->string_bytes() : 0);
            row.device = device_of(part.held_by);
            row.kind = static_cast<std::uint32_t>(kind_of(part.object));
            row.part = static_cast<std::uint16_t>(i + 1);
            if (count < capacity) {
                rows[count] = row;
            }
            ++count;
        }
    }
    return count;
}

MirrorCounts Mirrors::counts(EngineId engine) {
    const std::lock_guard lock(mutex_);
    return counts_[engine];
}

}  // namespace gpu_engine::server
