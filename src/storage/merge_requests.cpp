#include "storage/merge_requests.h"

#include <algorithm>

#include "shared_memory.h"

namespace pg_gpu::storage {

namespace {

constexpr int kPlaces = 64;

// At most this share of max_worker_processes merges at once, because parallel queries, subscriptions and
// other extensions want workers, too.
constexpr int kShareOfWorkers = 4;

// After a request that came to nothing the next one is a second later, though seals ask more often.
constexpr int kRequestIntervalMs = 1000;

// PostgreSQL says nothing of a worker that it could not start.
constexpr int kStartsWithinMs = 10000;

enum class State : uint8 {
    None,      // nobody's place, or that of an index whose merges came to nothing lately
    Waiting,   // for a worker
    Starting,  // a worker is registered
    Running,   // a worker has it in hand
};

struct Place {
    MergeRequest request;
    State state;
    bool is_requested_again;  // since the worker began
    bool is_refused;          // Waiting, because there was no free slot
    int given_way;            // so many times, one after the other
    TimestampTz since;        // it is registered; or its worker couldn't be, or gave it up
};

struct Requests {
    slock_t mutex;
    Place places[kPlaces];
};

}  // namespace

static void initialise(void *place) {
    auto *requests = static_cast<Requests *>(place);
    memset(place, 0, sizeof(Requests));
    SpinLockInit(&requests->mutex);
}

static SharedStructure structure = {"pg_gpu merge requests", sizeof(Requests), initialise, nullptr, false};

void reserve_merge_requests() {
    reserve_shared(structure);
}

// Returns the requests in shared memory, or, where that has no room, those of this session alone. Then nobody
// says when a request has been done, so that a worker that has had its time is taken for one that didn't
// start.
static Requests *all_requests() {
    static Requests own;
    static bool is_own_initialised = false;
    auto *shared = static_cast<Requests *>(find_shared(&structure));
    if (likely(shared != nullptr))
        return shared;
    if (!is_own_initialised)
        initialise(&own);
    is_own_initialised = true;
    return &own;
}

namespace {

// While it lives the requests are locked: nothing may be raised or take long.
class Locked {
  public:
    Locked() : now_(GetCurrentTimestamp()), requests_(all_requests()) {
        SpinLockAcquire(&requests_->mutex);
        for (Place &place : requests_->places)
            if (place.state == State::Starting && is_past(place, kStartsWithinMs))
                place.state = State::Waiting;
    }
    ~Locked() { SpinLockRelease(&requests_->mutex); }
    Locked(const Locked &) = delete;
    Locked &operator=(const Locked &) = delete;

    TimestampTz now() const { return now_; }
    bool is_past(const Place &place, int milliseconds) const {
        return TimestampDifferenceExceeds(place.since, now_, milliseconds);
    }
    template <typename Condition>
    Place *find(Condition condition) {
        Place *end = requests_->places + kPlaces;
        Place *found = std::find_if(requests_->places, end, condition);
        return found == end ? nullptr : found;
    }
    Place *find(const MergeRequest &request) {
        return find([&](const Place &place) {
            return place.request.index == request.index && place.request.database == request.database;
        });
    }
    // Returns the index's place, or a new one; nullptr when there is none.
    Place *find_or_add(const MergeRequest &request) {
        Place *place = find(request);
        if (place == nullptr) {
            place =
                find([](const Place &other) { return other.state == State::None && other.given_way == 0; });
            if (place == nullptr)
                place = find([](const Place &other) { return other.state == State::None; });
            if (place != nullptr)
                *place = {request, State::None, false, false, 0, 0};
        }
        return place;
    }
    bool may_start() const {
        const auto workers = std::count_if(
            requests_->places, requests_->places + kPlaces,
            [](const Place &p) { return p.state == State::Starting || p.state == State::Running; });
        return workers < Max(max_worker_processes / kShareOfWorkers, 1);
    }

  private:
    TimestampTz now_;
    Requests *requests_;
};

}  // namespace

Submission request_merge(const MergeRequest &request) {
    Locked locked;
    Place *place = locked.find_or_add(request);
    if (place == nullptr)
        return Submission::Refused;
    if (place->state == State::Starting || place->state == State::Running) {
        place->is_requested_again = true;
        return Submission::Noted;
    }
    if (!locked.is_past(*place, kRequestIntervalMs))
        return place->is_refused ? Submission::Refused : Submission::Noted;
    place->is_refused = false;
    if (!locked.may_start()) {
        // Those that are there come to it.
        place->state = State::Waiting;
        return Submission::Noted;
    }
    place->state = State::Starting;
    place->since = locked.now();
    return Submission::Register;
}

void register_failed(const MergeRequest &request) {
    Locked locked;
    Place *place = locked.find(request);
    if (place == nullptr || place->state != State::Starting)
        return;
    place->state = State::Waiting;
    place->is_refused = true;
    place->since = locked.now();
}

bool begin_request(const MergeRequest &request) {
    Locked locked;
    Place *place = locked.find_or_add(request);
    if (place == nullptr || place->state == State::Running)
        return false;
    place->state = State::Running;
    place->is_requested_again = false;
    return true;
}

bool end_request(const MergeRequest &request) {
    Locked locked;
    Place *place = locked.find(request);
    const bool is_again = place->is_requested_again;
    place->is_requested_again = false;
    if (!is_again)
        *place = {};
    return !is_again;
}

void give_request_up(const MergeRequest &request, Reason reason) {
    Locked locked;
    Place *place = locked.find(request);
    const int given_way = place->given_way + (reason == Reason::GaveWay ? 1 : 0);
    *place = {request, State::None, false, false, given_way, locked.now()};
}

int times_given_way(const MergeRequest &request) {
    Locked locked;
    return locked.find(request)->given_way;
}

bool take_waiting_request(Databases databases, MergeRequest *request) {
    Locked locked;
    Place *place = locked.find([&](const Place &other) {
        return other.state == State::Waiting &&
               (other.request.database == MyDatabaseId) == (databases == Databases::This);
    });
    if (place == nullptr || (databases == Databases::Others && !locked.may_start()))
        return false;
    place->state = databases == Databases::This ? State::Running : State::Starting;
    place->is_requested_again = false;
    place->since = locked.now();
    *request = place->request;
    return true;
}

}  // namespace pg_gpu::storage
