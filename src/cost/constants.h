// The cost model's constants, in microseconds: what a machine of two cores and an H100 was measured to take.
// On others the ratio of what requests took to what was estimated makes up for the difference (learner.h).
#pragma once

namespace pg_gpu {

// The parts that a ranking's time is the sum of: the ranking itself, lists in runs, windows of 2,048
// documents that a list is looked through for and postings where one lexeme is enough, postings of the
// shortest and of the second shortest list where all are asked for.
enum ListFeature : int { kRanking, kList, kWindows, kPostings, kShortest, kSecond };
inline constexpr int kListFeatures = 6;

// Indexed by paged, host, cuda.
inline constexpr int kCostedPaths = 3;
struct CostConstants {
    double request[kCostedPaths];  // a round trip
    double key[kCostedPaths];      // looked up in a run
    double entry[kCostedPaths];    // found or read
    double sort[kCostedPaths];     // an entry merged or put in order
    double lists[kCostedPaths][kListFeatures];
    double transfer;  // a MiB copied between session and server, one way
    double load;      // a MiB of index pages made a mirror
};

inline constexpr CostConstants kMeasuredCosts = {.request = {0, 60, 80},
                                                 .key = {0.055, 0.02, 0.0005},
                                                 .entry = {0.003, 0.002, 0.0001},
                                                 .sort = {0.03, 0.12, 0.13},
                                                 .lists = {{0, 3.9, 0.2, 0.0039, 0.024, 0.0015},
                                                           {0, 8, 0.1, 0.0034, 0.013, 0.001},
                                                           {70, 1, 0, 0.00002, 0.0001, 0.00001}},
                                                 .transfer = 150,
                                                 .load = 600};

// Returns those above, or a test's in their place.
const CostConstants &cost_constants();

}  // namespace pg_gpu
