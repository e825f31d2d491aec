#include "client/experience.h"

#include <cmath>

#include "client/load_record.h"
#include "postgres_headers.h"

namespace pg_gpu::client {

namespace {

// Requests whose size differs by more are not compared, since the constants' errors differ with size.
constexpr double kClassWidth = 4;

struct ExperienceKey {
    Oid index;
    int32 kind;
    int32 size_class;
    // Of requests of all shapes a ShapesRecord is kept, and a PathRecord of each shape.
    int32 is_of_shape;
    uint32 shape;
};

struct Experience {
    ExperienceKey key;
    union {
        ShapesRecord all;
        PathRecord one;
    };
};

}  // namespace

static constexpr long kMaxExperiences = 4096;
static HTAB *experiences = nullptr;

static ExperienceKey key_of(Oid index, RequestKind kind, const PathEstimates &estimates) {
    const double paged = Max(estimates[static_cast<int>(Path::Paged)], 1.0);
    return {index, static_cast<int32>(kind), static_cast<int32>(std::log(paged) / std::log(kClassWidth)), 0,
            0};
}

static ExperienceKey with_shape(ExperienceKey key, uint32 shape) {
    key.is_of_shape = 1;
    key.shape = shape;
    return key;
}

static Experience *find_experience(const ExperienceKey &key, HASHACTION action) {
    if (experiences == nullptr) {
        if (action == HASH_FIND)
            return nullptr;
        HASHCTL control = {};
        control.keysize = sizeof(ExperienceKey);
        control.entrysize = sizeof(Experience);
        control.hcxt = TopMemoryContext;
        experiences = hash_create("pg_gpu experiences", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
    }
    if (action == HASH_ENTER && hash_get_num_entries(experiences) >= kMaxExperiences) {
        hash_destroy(experiences);
        experiences = nullptr;
        return find_experience(key, action);
    }
    bool found;
    auto *experience = static_cast<Experience *>(hash_search(experiences, &key, action, &found));
    if (experience != nullptr && !found && action == HASH_ENTER) {
        if (key.is_of_shape)
            experience->one = {};
        else
            experience->all = {};
    }
    return experience;
}

namespace {

// What is known of a request.
struct Known {
    PathRecord record;
    ShapesRecord others;
};

}  // namespace

static Known find_known(const ExperienceKey &key, uint32 shape) {
    Known known;
    if (const Experience *experience = find_experience(with_shape(key, shape), HASH_FIND))
        known.record = experience->one;
    if (const Experience *experience = find_experience(key, HASH_FIND))
        known.others = experience->all;
    return known;
}

static Known known_of(const Request &request, const PathEstimates &estimates) {
    if (!request.learns)
        return {};
    return find_known(key_of(request.index, request.kind, estimates), request.shape);
}

Path choose_by_experience(const Request &request, const PathEstimates &estimates) {
    const Known known = known_of(request, estimates);
    return static_cast<Path>(known.record.choose(estimates, known.others));
}

double expected_microseconds(const Request &request, const PathEstimates &estimates, Path path) {
    const Known known = known_of(request, estimates);
    return known.record.expected(static_cast<int>(path), estimates, known.others);
}

// ---- loads ------------------------------------------------------------------------------------------------

static LoadRecord loads;
static double left_out_microseconds = 0;  // in all the session's time

void leave_out(double microseconds) {
    left_out_microseconds += microseconds;
}

void note_load(double estimate, double taken) {
    loads.note(estimate, taken);
    leave_out(taken);
}

double expected_load(double estimate) {
    return loads.expected(estimate);
}

// ---- attempts ---------------------------------------------------------------------------------------------

// The last one that was begun. One that an error broke off is of another statement, or is replaced.
static Attempt last_attempt;
static TimestampTz last_statement = 0;

Attempt begin_attempt(const Request &request, const PathEstimates &estimates, Path path) {
    Attempt attempt;
    attempt.index = request.learns ? request.index : InvalidOid;
    attempt.kind = request.kind;
    attempt.shape = request.shape;
    attempt.path = path;
    attempt.estimates = estimates;
    attempt.left_out_before = left_out_microseconds;
    INSTR_TIME_SET_CURRENT(attempt.began);
    last_attempt = attempt;
    last_statement = GetCurrentStatementStartTimestamp();
    return attempt;
}

void go_to_pages(RequestKind kind) {
    if (last_attempt.kind != kind || last_attempt.path == Path::Paged)
        return;
    last_attempt.path = Path::Paged;
    last_attempt.left_out_before = left_out_microseconds;
    INSTR_TIME_SET_CURRENT(last_attempt.began);
}

void note_taken(const Attempt &attempt, double microseconds) {
    if (!OidIsValid(attempt.index))
        return;
    const double left_out = left_out_microseconds - attempt.left_out_before;
    const ExperienceKey key = key_of(attempt.index, attempt.kind, attempt.estimates);
    const int path = static_cast<int>(attempt.path);
    Known known = find_known(key, attempt.shape);
    known.record.note(path, attempt.estimates, known.others, Max(microseconds - left_out, 0.0));
    known.others.note(attempt.shape, known.record.known_ratios());
    find_experience(with_shape(key, attempt.shape), HASH_ENTER)->one = known.record;
    find_experience(key, HASH_ENTER)->all = known.others;
}

void note_request_done(Relation index, RequestKind kind) {
    const Attempt attempt = last_attempt;
    if (attempt.index != RelationGetRelid(index) || attempt.kind != kind ||
        last_statement != GetCurrentStatementStartTimestamp())
        return;
    last_attempt.index = InvalidOid;
    note_taken(attempt, microseconds_since(attempt.began));
}

}  // namespace pg_gpu::client
