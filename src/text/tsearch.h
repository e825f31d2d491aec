// PostgreSQL's full-text types. As a system header, for the same reason as postgres_headers.h.
#pragma once
#pragma GCC system_header

#include "postgres_headers.h"

extern "C" {
#include "catalog/pg_ts_config.h"
#include "tsearch/ts_cache.h"
#include "tsearch/ts_type.h"
#include "tsearch/ts_utils.h"
}
