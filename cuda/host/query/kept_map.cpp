#include "host/query/kept_map.h"

#include <algorithm>

#include "host/query/load_words.h"

namespace gpu_engine::host {

bool are_narrow(const std::uint64_t *values, std::uint64_t places) {
    bool are = true;
    for (std::uint64_t code = 0; code < places && are; ++code) {
        are = fits_word(values + 2 * code);
    }
    return are;
}

HostKeptMap::HostKeptMap(MemoryBudget &budget, const query::MapValues &values)
    : places_(values.places), words_(values.words), values_(budget, values.places * values.words) {
    std::copy_n(values.values, values.places * values.words, values_.data());
    if (values.nulls != nullptr) {
        const std::uint64_t words = (values.places + 63) / 64;
        nulls_ = Buffer<std::uint64_t>(budget, words);
        std::copy_n(values.nulls, words, nulls_.data());
    }
    is_narrow_ = words_ == 2 && are_narrow(values_.data(), places_);
}

void take_kept_map(std::uint32_t words, query::RunColumn *column) {
    if (column->kept == nullptr) {
        return;
    }
    const auto *kept = dynamic_cast<const HostKeptMap *>(column->kept);
    if (kept == nullptr || kept->words() != words) {
        throw Failure{make_status(StatusCode::invalid_argument, "the map is another engine's or type's")};
    }
    column->places = kept->places();
    column->values = kept->values();
    column->nulls = kept->nulls();
}

}  // namespace gpu_engine::host
