// Queries with steps, one after the other: a bit a document for each value on the stack, which kernels
// combine word by word; then the documents that match are numbered, and lists add what they contribute to
// them.
#pragma once

#include <cstdint>

#include "device/text/damage.h"
#include "device/text/index.h"

namespace gpu_engine::device {

// A query of the caller's, checked, and its parts.
struct StepQuery {
    const TextQuery &query;
    const TextTerm *terms;
    const ListView *lists;  // lists of all terms
    const TextStep *steps;
};

// Writes the hits, of which there are query.k at most, to the device's memory, and returns their number.
// Waits for the device.
std::uint32_t rank_by_steps(const Call &call, const TextView &text, const postings::Norms &norms,
                            const StepQuery &requested, const Damage &damage, TextHit *hits);

}  // namespace gpu_engine::device
