// Sorting that can be cancelled, and heaps for merges.
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

// Moves the first element of a heap (std::make_heap) to its place, after it has changed. Where it stays first
// that takes two comparisons. std::pop_heap and std::push_heap take two for each level of the heap, though in
// a merge of a large run with small ones nearly every next entry comes from the large one.
template <typename Element, typename Less>
void settle_first(Element *heap, int count, Less less) {
    if (count == 0)
        return;
    const Element moved = heap[0];
    int at = 0;
    for (int child = 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && less(heap[child], heap[child + 1]))
            child++;
        if (!less(moved, heap[child]))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

}  // namespace pg_gpu
