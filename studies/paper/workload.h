// An array, lookups on it, and the measurement of a variant by them.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "bench/kary/lookup.cuh"
#include "studies/paper/variants/search.h"
#include "device/kary/array.h"

namespace gpu_engine::bench::paper {

struct LookupKind {
    std::uint64_t count = 0;
    bool ordered = false;      // by key
    int hit_percent = 100;     // of keys that the array has
    double zipf_exponent = 0;  // which entries are looked up how often; 0: all alike
};

// Unique random keys; their number is a power of two.
template <typename Key>
class Workload {
  public:
    // There is room for `max_lookups` at a time.
    Workload(const Bench &bench, const device::Call &call, std::uint64_t entries, std::uint64_t max_lookups);

    // Sets the lookups that are measured from now on, and measures their limit: the best of gathers of 4, 32
    // and 64 bytes at the places where the lookups end.
    void set_lookups(const LookupKind &kind);

    // Adds a line to a table of the results. Throws Failure when ranks aren't the reference's.
    void measure(const std::string &table, const std::string &column, const Variant &variant);
    // Adds the line under a name of its own.
    void measure(const std::string &table, const std::string &column, const Variant &variant,
                 const std::string &line);
    // Measures the search that the library does.
    void measure_library(const std::string &table, const std::string &column);
    // Measures a tree of another shape than the library's.
    void measure_tree(const std::string &table, const std::string &column, const std::string &line,
                      Timing (*measure)(const Bench &, const LookupTask<Key> &));
    void add_limit(const std::string &table, const std::string &column);

  private:
    void forget_ranks() { call_.fill(ranks_.data(), 0xff, kind_.count * sizeof(std::uint32_t)); }
    // Checks the ranks and adds the line.
    void record(const std::string &table, const std::string &column, const std::string &line,
                const Timing &timing);

    const Bench &bench_;
    const device::Call &call_;
    std::uint64_t entries_;
    device::Buffer<Key> sorted_;
    Key last_key_;
    std::map<std::uint32_t, Separators<Key>> separators_;  // by fan-out
    device::TreeMemory tree_memory_;
    device::Tree<Key> tree_ = {};
    LookupKind kind_;
    device::Buffer<Key> lookups_;
    device::Buffer<std::uint32_t> ranks_;
    device::Buffer<std::uint32_t> expected_;
    double limit_ = 0;
};

// Measures thrust::lower_bound.
template <typename Key>
void reference_ranks(const device::Call &call, const Key *sorted, std::uint64_t entries, const Key *lookups,
                     std::uint64_t count, std::uint32_t *ranks);
void sort_places(const device::Call &call, std::uint32_t *places, std::uint64_t count);

}  // namespace gpu_engine::bench::paper
