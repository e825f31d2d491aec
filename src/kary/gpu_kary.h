// The parts of gpu_kary that functions and plan nodes use.
#pragma once

#include "kary/format.h"
#include "kary/heap_rows.h"
#include "kary/kary.h"
#include "kary/lookup.h"
#include "kary/mirror.h"
#include "kary/request.h"
#include "kary/row_check.h"
#include "kary/strategies.h"
