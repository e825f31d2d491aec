// The room's header: conditions on columns, the rows of a view that match them, their values, and what
// the session keeps of them; and what the server process is asked about them.
#pragma once

#include "column/scan/condition.h"
#include "column/scan/filter.h"
#include "column/scan/cached_matches.h"
#include "column/scan/cached_results.h"
#include "column/scan/like_pattern.h"
#include "column/scan/mirror.h"
#include "column/scan/request.h"
#include "column/scan/request_tests.h"
#include "column/scan/values.h"
#include "column/scan/view.h"
