// The ways to search a sorted array that J. Henneberg, F. Schuhknecht: "All You Need Is Binary Search! A
// Practical View on Lightweight Database Indexing on GPUs" (2025) compares, as parameters of one lookup.
#pragma once

#include <cstdint>
#include <string>

namespace gpu_engine::bench::paper {

enum class Structure {
    binary,  // offset-based binary search in the sorted array
    kary     // levels of separators above it, a group of threads a node
};

// What a block copies into its shared memory before it searches.
enum class Pinning {
    none,
    steps,  // the keys of the first steps of binary search, or whole levels of separators from the top
    full    // as many evenly spaced keys, or separators from the top, as there is place for
};

// Says whether and how a block sorts the lookups of a tile before it searches.
enum class Reordering {
    none,
    lookups,  // ranks are written where the lookups came from, in the order of the keys
    full      // ranks go back into the lookups' order in shared memory first
};

inline constexpr std::uint32_t least_fanout = 2;
inline constexpr std::uint32_t max_fanout = 65;

// The tile of a block that sorts, where the tile isn't the parameter that is looked at.
inline constexpr int usual_sort_threads = 1024;
inline constexpr int usual_sort_items = 4;

struct Variant {
    Structure structure = Structure::binary;
    std::uint32_t fanout = 17;  // children of a node; of kary
    int together = 1;           // searches that a group of threads has under way; of kary, 1 or 2
    // With static scheduling so many blocks a multiprocessor share all lookups. 0 means dynamic scheduling:
    // each tile has a block. Pinning wants static scheduling.
    int static_blocks = 0;
    int threads = 256;  // a block
    Pinning pinning = Pinning::none;
    int steps = 0;  // to be pinned by `steps`; 0: as many as fit
    Reordering reordering = Reordering::none;
    int items = usual_sort_items;  // lookups a thread sorts
    int sort_bits = 32;            // from the highest bit of the array's last key down
};

// As in "binary search, static 2 x 512, full-pinning, full reordering 512 x 4".
std::string describe(const Variant &variant);

}  // namespace gpu_engine::bench::paper
