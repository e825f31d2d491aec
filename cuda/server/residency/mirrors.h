// The table of mirrors: which runs are in an engine's memory, and which leave it to make room.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "gpu_engine/engine.h"
#include "gpu_engine/protocol.h"
#include "gpu_engine/strings.h"
#include "server/engine_id.h"
#include "server/residency/code_spaces.h"
#include "server/residency/kept_maps.h"
#include "server/residency/object.h"

namespace gpu_engine::server {

// A Purpose says who makes a request, and what for.
struct Purpose {
    std::uint64_t connection = 0;  // the server's number of it
    std::uint32_t number = 0;      // the session's (protocol::RequestHeader::purpose)
    bool forced = false;

    bool is(std::uint64_t its_connection, std::uint32_t its_number) const noexcept {
        return number != 0 && connection == its_connection && number == its_number;
    }
};

// The part of a run that an engine has: the entries from `first` on.
struct MirrorPart {
    EngineId held_by = 0;
    std::uint64_t first = 0;
    AnyObject object;
};

// A run in an engine's memory, or in parts in the memory of several. Requests share it, so that it lives
// until the last of them ends, also when it has left the table meanwhile.
struct Mirror {
    protocol::RunName name{};
    protocol::EngineName engine{};
    // The parts are in the order of their entries, each on another engine.
    std::vector<MirrorPart> parts;
    // The whole run's dictionaries of strings, in the machine's memory; null: it has none, or there was no
    // room.
    std::shared_ptr<const RunStrings> strings;
    CodeSpaces *spaces = nullptr;  // that the strings may be members of
    KeptMaps *maps = nullptr;      // among which may be maps of its codes
    protocol::Holder holder{};
    std::int64_t loaded_at = 0;  // microseconds since 1970
    std::atomic<std::int64_t> last_used{0};
    std::atomic<std::uint64_t> hits{0};
    // An engine of another kind has it, or a part of it, since those of its own kind had no room.
    bool is_overflow = false;
    // The following belong to the table and are read and written under its mutex.
    std::uint64_t order = 0;          // number of the last use
    std::uint64_t touched_by = 0;     // the connection that found or loaded it last
    std::uint32_t touched_for = 0;    // and its purpose
    std::int64_t touched_at = 0;      // microseconds since 1970
    std::int64_t touched_before = 0;  // when a connection other than `touched_by` last did so

    // Returns the part that the engine has; null when it has none.
    const MirrorPart *part_on(EngineId id) const noexcept {
        for (const MirrorPart &part : parts) {
            if (part.held_by == id) {
                return &part;
            }
        }
        return nullptr;
    }
    std::uint64_t string_bytes() const noexcept { return strings != nullptr ? strings->bytes() : 0; }
    std::uint64_t bytes_on(EngineId id) const {
        const MirrorPart *part = part_on(id);
        return (part != nullptr ? store_of(part->object)->bytes() : 0) +
               (id == strings_engine ? string_bytes() : 0);
    }

    Mirror() = default;
    Mirror(const Mirror &) = delete;
    Mirror &operator=(const Mirror &) = delete;
    ~Mirror() {
        if (strings != nullptr) {
            spaces->forget(strings.get());
        }
        if (maps != nullptr) {
            maps->forget(name);
        }
    }
};

std::uint64_t entries_of(const Mirror &mirror);
std::uint64_t bytes_of(const Mirror &mirror);
// All parts know the dead entries of this version.
std::uint64_t dead_version_of(const Mirror &mirror);

std::int64_t microseconds_since_1970() noexcept;

// The memory that a new mirror will take on an engine in the end, and while it is made. A mirror without
// `memory` has its memory already.
struct NewMirrorPart {
    EngineId held_by;
    const MemoryBudget *memory;
    std::uint64_t bytes;
    std::uint64_t bytes_in_the_making;
};

struct NewMirror {
    protocol::EngineName engine;
    protocol::RunName name;
    protocol::Holder holder;
    std::vector<NewMirrorPart> parts;

    std::uint64_t bytes() const noexcept {
        std::uint64_t all = 0;
        for (const NewMirrorPart &part : parts) {
            all += part.bytes;
        }
        return all;
    }
};

// Says whether there is room for a mirror, or why not.
enum class Room {
    made,
    beyond_limit,
    beyond_role_quota,
    beyond_database_quota,
    used_by_others,  // mirrors in use would have to leave, which a forced path doesn't disturb
};

// Counts of what happened to mirrors on an engine since the server's start.
struct MirrorCounts {
    std::uint64_t loads = 0;
    std::uint64_t evictions = 0;  // to make room, or for a lower limit
    std::uint64_t refusals = 0;   // there was no room
};

// All functions may be called by any thread.
class Mirrors {
  private:
    struct Place {
        protocol::EngineName engine;
        protocol::RunName name;

        friend bool operator==(const Place &, const Place &) noexcept = default;
    };
    struct Hash {
        std::size_t operator()(const Place &place) const noexcept {
            // Run ids are random, so they need no hashing.
            return static_cast<std::size_t>(place.name.run * 2 + static_cast<std::uint64_t>(place.engine));
        }
    };

  public:
    // The right to load a run. Only one connection at a time has it; destroying it gives it back.
    class Claim {
      public:
        Claim() = default;
        Claim(Claim &&other) noexcept
            : mirrors_(std::exchange(other.mirrors_, nullptr)), place_(other.place_) {}
        Claim &operator=(Claim &&other) noexcept {
            Claim taken(std::move(other));
            std::swap(mirrors_, taken.mirrors_);
            std::swap(place_, taken.place_);
            return *this;
        }
        ~Claim();

      private:
        friend class Mirrors;
        Mirrors *mirrors_ = nullptr;
        Place place_{};
    };

    // Returns the run's mirror and counts this as a use; null when there is none.
    std::shared_ptr<Mirror> find(protocol::EngineName engine, const protocol::RunName &name,
                                 const Purpose &purpose);

    enum class Claimed { yes, present, by_another };
    // Asks for the right to load a run. When its mirror is present already, `*dead_version` is the version of
    // the mirror's dead bitmap, and the mirror is pinned if that is wanted.
    Claimed claim(protocol::EngineName engine, const protocol::RunName &name, bool pinned, Claim *claim,
                  std::uint64_t *dead_version);

    // Enters a mirror into the table. Returns false when the name is taken; the mirror is then not entered.
    bool add(std::shared_ptr<Mirror> mirror, const Purpose &purpose);

    // Drops mirrors of the engine, least recently used first, until `bytes` more fit into its memory. Mirrors
    // that are pinned, in use, or needed for the same purpose stay. For a forced path, mirrors that another
    // connection used within the last minute stay too. Returns false, and drops nothing, when dropping all
    // the others would not make enough room.
    bool make_room(EngineId engine, MemoryBudget &memory, std::uint64_t bytes, const Purpose &purpose);
    // Returns for how many bytes eviction would make room, of any mirrors, and of those alone that nobody
    // used within the last minute.
    struct EngineRoom {
        std::uint64_t by_any = 0;
        std::uint64_t by_idle = 0;
    };
    EngineRoom room_on(EngineId engine, const MemoryBudget &memory, const Purpose &purpose);
    // The same for a mirror with all of its parts, which must also stay within its holder's quotas: for
    // these, mirrors of the same role or the same database leave. `claim`, where there is one, holds the
    // mirror's part of the quotas until the mirror is in the table.
    Room make_room_for(const NewMirror &mirror, const Purpose &purpose, Claim *claim);
    // Drops one of the mirrors that make_room may drop. Returns false when there is none.
    bool drop_one(EngineId engine, const Purpose &purpose);
    // Drops mirrors that are neither pinned nor in use until the engine's memory is within its limit, or none
    // of them is left.
    void shrink(EngineId engine, const MemoryBudget &memory);

    // Does what protocol::Evict asks for. `*mirrors` and `*bytes` say how much was dropped.
    void evict(const protocol::RunName &name, std::uint64_t *mirrors, std::uint64_t *bytes);
    // Does what protocol::KeepRuns asks for, and says likewise how much was dropped.
    void keep(const protocol::RunName &relation, const std::unordered_set<std::uint64_t> &listed,
              std::int64_t listed_at, std::uint64_t *mirrors, std::uint64_t *bytes);
    // Drops one that is in the table still and isn't pinned. Returns whether it did.
    bool drop(const std::shared_ptr<Mirror> &mirror);
    // Drops all mirrors that an engine has anything of.
    void clear(EngineId engine);

    // Writes at most `capacity` rows, one a part of a mirror, and returns how many there are. `device_of`
    // gives the number of an engine's device.
    std::uint64_t list(protocol::MirrorRow *rows, std::uint64_t capacity,
                       const std::function<std::int32_t(EngineId)> &device_of);

    // Returns the engines that have the run; none when no engine of the kind has.
    std::vector<EngineId> holders_of(protocol::EngineName engine, const protocol::RunName &name);
    // Adds up what each engine has of the run's relation on the kind, by engine, without the run itself. What
    // is being loaded counts where it goes to.
    std::array<std::uint64_t, max_engines> bytes_beside(protocol::EngineName engine,
                                                        const protocol::RunName &name);

    MirrorCounts counts(EngineId engine);

    // The code spaces of mirrors' strings, and maps of mirrors' codes. They leave before mirrors do, since
    // they are made again from what is in memory, or in sessions' memory.
    CodeSpaces &spaces() noexcept { return spaces_; }
    KeptMaps &maps() noexcept { return maps_; }

    // Returns whether an engine has mirrors of another kind.
    bool has_overflow() const noexcept { return overflow_.load(std::memory_order_relaxed) > 0; }

  private:
    using Table = std::unordered_map<Place, std::shared_ptr<Mirror>, Hash>;
    using Evicted = std::vector<std::shared_ptr<Mirror>>;

    // The memory that the run of a claim will take.
    struct Share {
        std::uint32_t user = 0;
        std::vector<NewMirrorPart> parts;
    };
    using Victims = std::vector<Table::iterator>;

    // Those of the mirrors for which `asked(mirror)` is true that may go, least recently used first. The
    // mutex is held.
    template <typename Requested>
    Victims victims(const Purpose &purpose, Requested requested);
    Victims victims(EngineId engine, const Purpose &purpose);
    // How many bytes must go for `bytes` more to fit, once code spaces and maps have gone as far as that
    // helps; nothing where all of them wouldn't do.
    std::optional<std::uint64_t> bytes_to_leave(EngineId engine, const MemoryBudget &memory,
                                                std::uint64_t bytes);
    static std::uint64_t bytes_of_all(const Victims &victims, EngineId engine);
    // Returns the bytes of mirrors and claims for which `counts(name, user)` is true. The mutex is held.
    template <typename Counts>
    std::uint64_t taken(protocol::EngineName engine, Counts counts) const;
    // Says who has to leave for a mirror. The mutex is held.
    Room choose_victims(const NewMirror &mirror, const Purpose &purpose, Victims *chosen);
    void touch(Mirror &mirror, const Purpose &purpose);
    // Unlinks the mirrors for which `chosen(mirror)` is true, and counts them. The mutex is held.
    template <typename Chosen>
    void unlink_chosen(Chosen chosen, std::uint64_t *mirrors, std::uint64_t *bytes, Evicted *evicted);
    // Unlinks mirrors for as long as `wanted(bytes gone so far from the engine)` says so. The mutex is held.
    // The caller frees what is gone, without the mutex.
    template <typename Wanted>
    void unlink(const Victims &victims, EngineId engine, Wanted wanted, Evicted *evicted);
    void unlink(const Victims &victims, Evicted *evicted);

    // These outlive the mirrors.
    CodeSpaces spaces_;
    KeptMaps maps_;
    std::mutex mutex_;
    Table table_;
    std::unordered_map<Place, Share, Hash> claimed_;
    std::uint64_t uses_ = 0;
    std::array<MirrorCounts, max_engines> counts_;
    std::atomic<std::uint64_t> overflow_{0};  // mirrors in the table
};

}  // namespace gpu_engine::server
