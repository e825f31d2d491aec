// Functions behind views share these: they make rows, and decide who may see them.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::functions {

inline void put_row(FunctionCallInfo fcinfo, const Datum *values, const bool *nulls) {
    auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
    tuplestore_putvalues(result->setResult, result->setDesc, const_cast<Datum *>(values),
                         const_cast<bool *>(nulls));
}

// Rows that stand for one's own doing, and everything to those who may see all.
inline bool may_see_all_rows() {
    return has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS);
}
inline bool may_see_rows_of(Oid user) {
    return may_see_all_rows() || (OidIsValid(user) && has_privs_of_role(GetUserId(), user));
}

// Returns microseconds since 1970 as a timestamptz.
inline Datum to_timestamp(int64 microseconds) {
    constexpr int64 kEpochDays = POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE;
    return TimestampTzGetDatum(microseconds - kEpochDays * SECS_PER_DAY * USECS_PER_SEC);
}

}  // namespace pg_gpu::functions
