// How thorough the unit tests are: as other tests, they take PG_GPU_TEST_ROUNDS, which is 1 in `make check`,
// for that.
#pragma once

#include <cstdlib>

namespace unit_test {

inline bool is_long_run() {
    const char *rounds = std::getenv("PG_GPU_TEST_ROUNDS");
    return rounds != nullptr && std::atoi(rounds) > 1;
}

// The first number in a short run, the second in a long one.
template <class Number>
Number few_or_many(Number few, Number many) {
    return is_long_run() ? many : few;
}

}  // namespace unit_test
