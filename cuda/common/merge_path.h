// Finds how far a merge of two sorted sequences has come in each after so many entries. (Odeh, Green, Mwassi,
// Shmueli, Birk: "Merge Path - Parallel Merging Made Simple", 2012.)
#pragma once

#include "gpu_engine/both.h"

namespace gpu_engine {

// Returns how many of the first `diagonal` entries of the merge of a and b come from a. `b_before_a(i, j)`
// says whether b's entry j goes before a's entry i. Where neither goes before the other, a's is first.
template <typename Index, typename Before>
GPU_ENGINE_BOTH Index merge_path(Index a_count, Index b_count, Index diagonal, Before b_before_a) {
    Index low = diagonal > b_count ? diagonal - b_count : 0;
    Index high = diagonal < a_count ? diagonal : a_count;
    while (low < high) {
        const Index middle = low + (high - low) / 2;
        if (b_before_a(middle, diagonal - 1 - middle)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

}  // namespace gpu_engine
