// The room's header: runs of columns, written from rows in memory and from other runs.
#pragma once

#include "column/build/chunk.h"
#include "column/build/run_builder.h"
