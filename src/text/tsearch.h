// PostgreSQL's full-text types, and what an index's dependencies on configurations take. As a system header,
// for the same reason as postgres_headers.h.
#pragma once
#pragma GCC system_header

#include "compat.h"

extern "C" {
#include "catalog/catalog.h"
#include "catalog/indexing.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_ts_config.h"
#include "commands/event_trigger.h"
#include "common/string.h"
#include "utils/formatting.h"
#include "utils/inval.h"
#include "tsearch/ts_cache.h"
#include "tsearch/ts_public.h"
#include "tsearch/ts_type.h"
#include "tsearch/ts_utils.h"
#include "utils/jsonb.h"
#include "utils/jsonfuncs.h"
}

namespace pg_gpu::text {

// Reads a query as websearch_to_tsquery does, with its words pushed by `push`.
inline TSQuery parse_web_tsquery(char *typed, PushFunction push, Datum argument) {
    return parse_tsquery(typed, push, argument, P_TSQ_WEB PG_GPU_RAISE_ERRORS);
}

}  // namespace pg_gpu::text
