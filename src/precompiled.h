// Headers that nearly every source of the module includes. The Makefile has the compiler read it once and
// keep what it understood, and puts it before each source; sources include what they need all the same, and
// compile without it (test/compile-against does).
#include "postgres_headers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
