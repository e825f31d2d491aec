#include "client/quarantine.h"

#include "client/connection.h"

namespace pg_gpu::client {

namespace {

struct Sort {
    Oid index;
    int32 kind;
    int32 path;

    friend bool operator==(const Sort &, const Sort &) = default;
};

struct Quarantine {
    Sort sort;  // the key
    TimestampTz until;
    int seconds;
};

}  // namespace

static constexpr int kFirstSeconds = 60;
static constexpr int kMaxSeconds = 3600;
static constexpr long kMaxQuarantines = 1024;

static HTAB *quarantines = nullptr;
static Sort asked = {InvalidOid, -1, -1};

static Quarantine *find_quarantine(const Sort &sort, HASHACTION action) {
    if (quarantines == nullptr) {
        if (action != HASH_ENTER)
            return nullptr;
        HASHCTL control = {};
        control.keysize = sizeof(Sort);
        control.entrysize = sizeof(Quarantine);
        control.hcxt = TopMemoryContext;
        quarantines = hash_create("pg_gpu quarantines", 16, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
    }
    if (action == HASH_ENTER && hash_get_num_entries(quarantines) >= kMaxQuarantines) {
        hash_destroy(quarantines);
        quarantines = nullptr;
        return find_quarantine(sort, action);
    }
    bool found;
    auto *quarantine = static_cast<Quarantine *>(hash_search(quarantines, &sort, action, &found));
    if (action == HASH_ENTER && !found)
        quarantine->seconds = 0;
    return quarantine;
}

static Sort sort_of(Oid index, RequestKind kind, Path path) {
    return {index, static_cast<int32>(kind), static_cast<int32>(path)};
}

bool is_in_quarantine(const Request &request, Path path) {
    const Quarantine *quarantine = find_quarantine(sort_of(request.index, request.kind, path), HASH_FIND);
    return quarantine != nullptr && GetCurrentTimestamp() < quarantine->until;
}

void note_asked(const Request &request, Path path) {
    asked = sort_of(request.index, request.kind, path);
}

void put_in_quarantine(RequestKind kind, Path path) {
    if (!(asked == sort_of(asked.index, kind, path)))
        return;
    Quarantine *quarantine = find_quarantine(asked, HASH_ENTER);
    quarantine->seconds = Min(Max(quarantine->seconds * 2, kFirstSeconds), kMaxSeconds);
    quarantine->until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), quarantine->seconds * 1000);
    const char *index = OidIsValid(asked.index) ? get_rel_name(asked.index) : nullptr;
    ereport(LOG, (index != nullptr ? errmsg("requests \"%s\" to index \"%s\" are kept from path %s for %d s",
                                            request_name(kind), index, path_name(path), quarantine->seconds)
                                   : errmsg("requests \"%s\" are kept from path %s for %d s",
                                            request_name(kind), path_name(path), quarantine->seconds),
                  errdetail("The connection to the server process ended while it answered one: %s.",
                            last_reason())));
}

void end_quarantine(RequestKind kind, Path path) {
    if (quarantines != nullptr && asked == sort_of(asked.index, kind, path))
        find_quarantine(asked, HASH_REMOVE);
}

}  // namespace pg_gpu::client
