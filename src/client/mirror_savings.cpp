// Slots are changed without a lock: where two sessions take a slot for two runs at once, what one of them
// adds may count for the other's run, which then is loaded a little too soon.
#include "client/mirror_savings.h"

#include <algorithm>

#include "common/hashfn.h"
#include "settings.h"
#include "shared_memory.h"

namespace pg_gpu::client {

namespace {

constexpr uint64 kSlots = 512;
// A run may take any of so many that lie together.
constexpr uint64 kWays = 8;
constexpr double kNanoseconds = 1000;  // of a microsecond

struct Slot {
    pg_atomic_uint64 run;  // the hash of its name
    pg_atomic_uint64 nanoseconds;
};

struct Slots {
    Slot slots[kSlots];
};

}  // namespace

static void initialise(void *place) {
    for (Slot &slot : static_cast<Slots *>(place)->slots) {
        pg_atomic_init_u64(&slot.run, 0);
        pg_atomic_init_u64(&slot.nanoseconds, 0);
    }
}

static SharedStructure structure = {"pg_gpu mirror savings", sizeof(Slots), initialise, nullptr, false};
static Slots *session_slots = nullptr;

void reserve_mirror_savings() {
    reserve_shared(structure);
}

static Slots *slots_of_session() {
    if (session_slots == nullptr) {
        session_slots = static_cast<Slots *>(MemoryContextAlloc(TopMemoryContext, sizeof(Slots)));
        initialise(session_slots);
    }
    return session_slots;
}

static uint64 hash_of(const gpu_engine::protocol::RunName &run) {
    return hash_bytes_extended(reinterpret_cast<const unsigned char *>(&run), sizeof(run), 0);
}

static Slot *ways_of(uint64 hash) {
    auto *shared = costs_are_users() ? nullptr : static_cast<Slots *>(find_shared(&structure));
    Slots *slots = shared != nullptr ? shared : slots_of_session();
    return &slots->slots[hash % (kSlots / kWays) * kWays];
}

// Returns nullptr when the run has none.
static Slot *find_slot(Slot *ways, uint64 hash) {
    for (Slot *slot = ways; slot < ways + kWays; slot++)
        if (pg_atomic_read_u64(&slot->run) == hash)
            return slot;
    return nullptr;
}

// Takes the one with the least sum, so that runs which are missed much don't take it from each other.
static Slot *take_slot(Slot *ways, uint64 hash) {
    Slot *least = std::min_element(ways, ways + kWays, [](Slot &one, Slot &other) {
        return pg_atomic_read_u64(&one.nanoseconds) < pg_atomic_read_u64(&other.nanoseconds);
    });
    pg_atomic_write_u64(&least->run, hash);
    pg_atomic_write_u64(&least->nanoseconds, 0);
    return least;
}

void add_saving(const gpu_engine::protocol::RunName &run, double microseconds) {
    const uint64 hash = hash_of(run);
    Slot *ways = ways_of(hash);
    Slot *slot = find_slot(ways, hash);
    if (slot == nullptr)
        slot = take_slot(ways, hash);
    pg_atomic_fetch_add_u64(&slot->nanoseconds, static_cast<int64>(microseconds * kNanoseconds));
}

double saving_of_run(const gpu_engine::protocol::RunName &run) {
    const uint64 hash = hash_of(run);
    Slot *slot = find_slot(ways_of(hash), hash);
    return slot != nullptr ? static_cast<double>(pg_atomic_read_u64(&slot->nanoseconds)) / kNanoseconds : 0;
}

void forget_saving(const gpu_engine::protocol::RunName &run) {
    const uint64 hash = hash_of(run);
    if (Slot *slot = find_slot(ways_of(hash), hash))
        pg_atomic_write_u64(&slot->nanoseconds, 0);
}

}  // namespace pg_gpu::client
