// Sorting that can be cancelled.
#pragma once

#include <algorithm>
#include <type_traits>

#include "postgres_headers.h"

namespace pg_gpu {

// std::sort, but an interrupt ends it by longjmp within some thousand comparisons: elements have nothing to
// be destroyed.
template <typename Element, typename Less>
void sort_interruptibly(Element *first, Element *last, Less less) {
    static_assert(std::is_trivially_destructible_v<Element>);
    constexpr uint32 kComparisonsBetweenLooks = 1u << 14;
    uint32 comparisons = 0;
    std::sort(first, last, [&](const Element &a, const Element &b) {
        if (++comparisons % kComparisonsBetweenLooks == 0)
            CHECK_FOR_INTERRUPTS();
        return less(a, b);
    });
}

}  // namespace pg_gpu
