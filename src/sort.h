// Sorting that can be cancelled, and heaps for merges.
#pragma once

#include <algorithm>
#include <functional>
#include <type_traits>

#include "postgres_headers.h"

namespace pg_gpu {

// std::sort that an interrupt ends by longjmp, within some thousand comparisons.
template <typename Element, typename Less>
void sort_interruptibly(Element *first, Element *last, Less less) {
    static_assert(std::is_trivially_destructible_v<Element>, "nobody destroys elements after a longjmp");
    auto comparison = [less, comparisons = uint32{0}](const Element &a, const Element &b) mutable {
        constexpr uint32 comparisons_between_checks = 1u << 14;
        if (++comparisons % comparisons_between_checks == 0)
            CHECK_FOR_INTERRUPTS();
        return less(a, b);
    };
    std::sort(first, last, std::ref(comparison));
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
