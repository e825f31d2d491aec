// Counters of each index, in shared memory, for all sessions and workers: merges, and requests
// that the path they were meant for didn't answer.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::storage {

// Reasons are few and are told often, so counters keep their numbers, and 0 stands for none. A reason for
// which shared memory has no room becomes "another reason".
inline constexpr size_t kReasonBytes = 128;
uint16 number_of_reason(const char *reason);
// Returns a static string, in which the next call writes; nullptr for 0, and for nothing else.
const char *reason_of_number(uint16 number);

inline constexpr int kReasonsOfIndex = 8;

struct IndexStatistics {
    uint64 merges;
    TimestampTz last_merge;  // 0: none
    uint64 deferred;         // merges for which something was lacking
    TimestampTz last_deferred;
    uint64 fallbacks;
    TimestampTz last_fallback;
    uint16 last_reason;
    // The reasons of fallbacks, of which there may be more than there are places: those share the last one.
    uint16 reasons[kReasonsOfIndex];
    uint64 counts[kReasonsOfIndex];
};

// _PG_init calls it while preloading, which makes room for more indexes.
void reserve_index_statistics();

// The index must be one of this session's database.
void count_merge(Oid index);
void count_deferred(Oid index);
void count_fallback(Oid index, const char *reason);

// Reads what was counted since PostgreSQL's start, its recovery from a crash, or the last reset. Returns
// false where nothing is known: nothing has happened, shared memory has no room, or so many other indexes
// were counted since that this one was forgotten.
bool read_index_statistics(Oid index, IndexStatistics *statistics);

void forget_index_statistics();

}  // namespace pg_gpu::storage
