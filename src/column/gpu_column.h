// The parts of gpu_column that functions and plan nodes use.
#pragma once

#include "column/build/build.h"
#include "column/column.h"
#include "column/format/format.h"
#include "column/operators.h"
#include "column/query/engine_request.h"
#include "column/scan/scan.h"
