// These functions measure what gpu.calibrate stores.
#pragma once

#include <algorithm>

#include "cost/cost.h"
#include "text/gpu_text.h"
#include "settings.h"

namespace pg_gpu::functions {

// The table and index that measurements use, made by gpu.calibrate for itself.
struct CalibrationIndex {
    Relation heap;
    Relation index;
    uint64 rows;
    int64 (*key)(uint64 row);
};

// Measures the path's request, key, entry and sort costs, and transfer and load. False when the engine isn't
// there or doesn't answer.
bool measure_engine(const CalibrationIndex &sample, client::Path path, CostSettings *costs);

// Measures the paged path's costs: what statements take more or less on pages than on `engine`, whose costs
// are known.
void measure_paged(const CalibrationIndex &sample, client::Path engine, CostSettings *costs);

// Makes a document of a collection, whose rarest lexemes occur in some ten documents of 100,000 and whose
// most frequent ones in every fourth.
TSVector make_document(uint64 number);

// Fits the path's costs of inverted lists to rankings in indexes of such documents. The path's request cost
// is known. False when the engine isn't there or doesn't answer.
bool measure_lists(const Relation *indexes, int count, client::Path path, CostSettings *costs);

// ---- taking times -----------------------------------------------------------------------------------------

inline constexpr int kRepetitions = 7;

// Sets pg_gpu.path.
void choose(client::Path path);

double microseconds_since(const instr_time &start);

// Runs something several times that returns its microseconds, and returns the least of them, since what else
// goes on at the time only adds. Returns a number below 0 when one of the runs failed.
template <typename Body>
double shortest_time(Body body) {
    double shortest = 0;
    for (int i = 0; i < kRepetitions; i++) {
        CHECK_FOR_INTERRUPTS();
        const double time = body();
        if (time < 0)
            return -1;
        shortest = i == 0 ? time : std::min(shortest, time);
    }
    return shortest;
}

}  // namespace pg_gpu::functions
