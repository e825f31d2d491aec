#include "column/format/packing.h"

namespace pg_gpu::column {

// ---- values -----------------------------------------------------------------------------------------------

void unpack(uint32 bits, const uint64 *words, uint64 groups, uint32 *values) {
    static constexpr auto table = gpu_engine::packing::unpackers<uint32>(std::make_index_sequence<33>{});
    table[bits](words, groups, values);
}

void unpack(uint32 bits, const uint64 *words, uint64 groups, uint64 *values) {
    static constexpr auto table = gpu_engine::packing::unpackers<uint64>(std::make_index_sequence<65>{});
    table[bits](words, groups, values);
}

void pack(uint32 bits, const uint64 *values, uint64 *words) {
    static constexpr auto table = gpu_engine::packing::packers(std::make_index_sequence<65>{});
    table[bits](values, words);
}

}  // namespace pg_gpu::column
