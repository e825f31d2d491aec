// Sums of squared differences from the mean, and of products of such, from exact sums of floats. Only their
// last step is rounded, where PostgreSQL rounds each row's.
#pragma once

#include "gpu_engine/query/query.h"
#include "postgres_headers.h"

namespace pg_gpu::plan::query {

// Columns of an aggregate's rows: parts of sums, those of products followed by those of what the products,
// rounded, lack.
struct FloatColumns {
    bool has_y;
    uint16 x[gpu_engine::query::sum_parts];
    uint16 xx[2 * gpu_engine::query::sum_parts];
    uint16 y[gpu_engine::query::sum_parts];
    uint16 yy[2 * gpu_engine::query::sum_parts];
    uint16 xy[2 * gpu_engine::query::sum_parts];
};

// What the columns of a row have.
struct FloatSums {
    double x[gpu_engine::query::sum_parts];
    double xx[2 * gpu_engine::query::sum_parts];
    double y[gpu_engine::query::sum_parts];
    double yy[2 * gpu_engine::query::sum_parts];
    double xy[2 * gpu_engine::query::sum_parts];
};

// PostgreSQL's transition state of variances (three numbers) and of regressions (six). Returns false where a
// number isn't finite although all rows' are, so that PostgreSQL may have an error.
inline constexpr int kMaxMoments = 6;
bool find_moments(const FloatSums &sums, double count, bool has_y, double *state);

}  // namespace pg_gpu::plan::query
