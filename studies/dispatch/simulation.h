// Queries that arrive by chance and wait for a processor or a device, simulated.
#pragma once

#include <cstdint>
#include <span>

#include "studies/dispatch/dispatcher.h"

namespace gpu_engine::bench {

struct MeasuredQuery {
    QueryFeatures features;
    std::array<double, kSides> milliseconds;  // measured on each side
};

enum class Policy {
    processor_only,
    device_only,
    fixed_rule,  // by the sum of the lists' lengths, first come, first served
    dispatcher,
};

struct Scenario {
    Policy policy = Policy::dispatcher;
    double per_second = 0;  // arrivals
    std::uint64_t queries = 0;
    std::uint64_t seed = 1;
    std::array<std::uint32_t, kSides> workers = {1, 1};
    double deadline_ms = 500;
};

struct Outcome {
    double mean_ms;     // from arrival to answer
    double of_95_ms;    // the 95th of a hundred
    double in_time;     // share answered within the deadline
    double on_device;   // share computed there
    double per_second;  // answered, from the first arrival to the last answer
};

// The sum of lengths from which on the fixed rule uses the device: the one with which all queries together
// take the least time.
double best_threshold(std::span<const MeasuredQuery> measured);

// Draws queries among those measured, with arrivals by a Poisson process. They take the time that was
// measured; the dispatcher knows only what was fitted to it.
Outcome simulate(std::span<const MeasuredQuery> measured, const Scenario &scenario);

// The highest rate at which 95 of a hundred queries are answered within the deadline, to a hundredth.
double capacity(std::span<const MeasuredQuery> measured, const Scenario &scenario);

}  // namespace gpu_engine::bench
