// The room's header: values and rows as gpu_column's pages have them (layout.h), and reading them.
#pragma once

#include "column/format/layout.h"
#include "column/format/numeric.h"
#include "column/format/packing.h"
#include "column/format/reader.h"
#include "column/format/scaled_numeric.h"
#include "column/format/value.h"
