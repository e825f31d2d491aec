#include "server/statistics.h"

namespace gpu_engine::server {

void Statistics::add(protocol::EngineName engine, protocol::Message type, std::uint32_t user,
                     const Done &done) {
    const std::lock_guard lock(mutex_);
    Kind kind{engine, type, user};
    if (sums_.size() >= max_sums && !sums_.contains(kind)) {
        kind.user = 0;
    }
    protocol::StatisticsRow &row = sums_[kind];
    row.engine = static_cast<std::uint32_t>(kind.engine);
    row.type = static_cast<std::uint32_t>(kind.type);
    row.user = kind.user;
    row.requests += 1;
    row.items += done.items;
    row.bytes += done.bytes;
    row.microseconds += done.microseconds;
    row.failures += done.failed ? 1 : 0;
}

std::uint64_t Statistics::list(protocol::StatisticsRow *rows, std::uint64_t capacity, bool reset) {
    const std::lock_guard lock(mutex_);
    std::uint64_t row = 0;
    for (const auto &[kind, sums] : sums_) {
        if (row < capacity) {
            rows[row] = sums;
        }
        ++row;
    }
    if (reset) {
        sums_.clear();
    }
    return row;
}

}  // namespace gpu_engine::server
