// Makes tables by what is looked up.
#include <cstdio>

#include "studies/paper/parts.h"
#include "studies/paper/workload.h"
#include "device/kary/shapes.h"

namespace gpu_engine::bench::paper {
namespace {

// The library's shape for these sizes with another hint: leaves that are read often may stay in L1.
struct LeavesMayStayInL1 : device::WideCodes32 {
    static constexpr device::CacheHints hints = device::CacheHints::none;
};
using LeavesInL1 = device::TreeShape<std::uint32_t, LeavesMayStayInL1>;

template <typename Key>
void measure_all(Workload<Key> &workload, const std::string &table, const std::string &column) {
    workload.add_limit(table, column);
    for (const auto &[line, variant] : compared_variants(sizeof(Key))) {
        workload.measure(table, column, variant, line);
    }
    workload.measure_library(table, column);
}

template <typename Key>
void measure_hits_of(const Bench &bench) {
    const std::uint64_t count = fewer_lookups(bench, 2);
    const int size = two_sizes(bench).back();
    const device::Call call(bench.engine, bench.stream);
    Workload<Key> workload(bench, call, std::uint64_t(1) << size, count);
    for (const int percent : {100, 50, 0}) {
        LookupKind kind{count};
        kind.hit_percent = percent;
        workload.set_lookups(kind);
        measure_all(workload, "hits " + std::to_string(sizeof(Key) * 8) + ", " + keys_of(size),
                    std::to_string(percent) + " %");
    }
}

}  // namespace

void measure_hits(const Bench &bench) {
    measure_hits_of<std::uint32_t>(bench);
    measure_hits_of<std::uint64_t>(bench);
    measure_hits_of<Key128>(bench);
}

void measure_skew(const Bench &bench) {
    const std::uint64_t count = fewer_lookups(bench, 2);
    for (const int size : two_sizes(bench)) {
        const device::Call call(bench.engine, bench.stream);
        Workload<std::uint32_t> workload(bench, call, std::uint64_t(1) << size, count);
        for (const double exponent : {0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5}) {
            LookupKind kind{count};
            kind.zipf_exponent = exponent;
            workload.set_lookups(kind);
            char column[16];
            std::snprintf(column, sizeof(column), "%g", exponent);
            const std::string table = "Zipf's exponent, " + keys_of(size);
            measure_all(workload, table, column);
            workload.measure_tree(table, column, "the library's, leaves kept in L1",
                                  measure_tree<LeavesInL1>);
        }
    }
}

void measure_batches(const Bench &bench) {
    const int size = two_sizes(bench).back();
    const device::Call call(bench.engine, bench.stream);
    Workload<std::uint32_t> workload(bench, call, std::uint64_t(1) << size, fewer_lookups(bench, 0));
    for (int lookups = 0; lookups <= bench.options.lookups; ++lookups) {
        workload.set_lookups({std::uint64_t(1) << lookups});
        measure_all(workload, "batch, " + keys_of(size), power(lookups));
    }
}

}  // namespace gpu_engine::bench::paper
