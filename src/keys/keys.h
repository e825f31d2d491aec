// The room's header: codes of column types, whose order is that of their values; keys made of them,
// searched and sorted; conditions on columns as ranges of codes; and checks of operator classes.
#pragma once

#include "keys/array_elements.h"
#include "keys/codes.h"
#include "keys/column.h"
#include "keys/index_tuple.h"
#include "keys/instant.h"
#include "keys/key.h"
#include "keys/null_test.h"
#include "keys/radix_sort.h"
#include "keys/range_reader.h"
#include "keys/search.h"
#include "keys/strategy.h"
#include "keys/validate.h"
