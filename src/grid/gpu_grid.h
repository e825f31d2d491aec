// The parts of gpu_grid that the library uses.
#pragma once

#include "grid/grid.h"
#include "grid/request.h"
