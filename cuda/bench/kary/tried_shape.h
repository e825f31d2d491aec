// Shapes by their numbers, for tables of those that are tried.
#pragma once

#include "device/kary/tree.h"

namespace gpu_engine::device {

template <typename CodeType, int NodeLanes, int LeafLanes, int BlockPrefixes, int TopDepth, int Threads,
          int Searches, CacheHints Hints, bool SharedNodes>
struct TriedPolicy {
    using Code = CodeType;
    static constexpr int node_lanes = NodeLanes;
    static constexpr int leaf_lanes = LeafLanes;
    static constexpr int block_prefixes = BlockPrefixes;
    static constexpr int top_depth = TopDepth;
    static constexpr int threads = Threads;
    static constexpr int searches = Searches;
    static constexpr CacheHints hints = Hints;
    static constexpr bool shared_nodes = SharedNodes;
};

template <typename Key, typename Code, int NodeLanes, int LeafLanes, int BlockPrefixes, int TopDepth,
          int Threads, int Searches = 1, CacheHints Hints = CacheHints::leaves_pass_l1,
          bool SharedNodes = false>
using TriedShape = TreeShape<Key, TriedPolicy<Code, NodeLanes, LeafLanes, BlockPrefixes, TopDepth, Threads,
                                              Searches, Hints, SharedNodes>>;

}  // namespace gpu_engine::device
