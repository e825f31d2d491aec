// What gpu_grid offers to the library.
#pragma once

#include "grid/grid.h"
#include "grid/request.h"
