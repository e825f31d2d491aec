#include "studies/paper/variants/variant.h"

namespace gpu_engine::bench::paper {

std::string describe(const Variant &variant) {
    std::string name =
        variant.structure == Structure::binary ? "binary search" : std::to_string(variant.fanout) + "-ary";
    if (variant.structure == Structure::kary && variant.together > 1) {
        name += ", " + std::to_string(variant.together) + " together";
    }
    if (variant.static_blocks > 0) {
        name += ", static " + std::to_string(variant.static_blocks) + " x " + std::to_string(variant.threads);
    } else if (variant.reordering == Reordering::none && variant.threads != Variant{}.threads) {
        name += ", dynamic x " + std::to_string(variant.threads);
    }
    if (variant.pinning == Pinning::steps) {
        name += variant.steps > 0 ? ", " + std::to_string(variant.steps) + " pinned" : ", steps-pinning";
    } else if (variant.pinning == Pinning::full) {
        name += ", full-pinning";
    }
    if (variant.reordering != Reordering::none) {
        name += variant.reordering == Reordering::full ? ", full reordering " : ", lookup reordering ";
        name += std::to_string(variant.threads) + " x " + std::to_string(variant.items);
        if (variant.sort_bits != Variant{}.sort_bits) {
            name += " by " + std::to_string(variant.sort_bits) + " bits";
        }
    }
    return name;
}

}  // namespace gpu_engine::bench::paper
