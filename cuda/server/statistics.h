// Sums of the work that requests did, by engine, kind and user.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <mutex>

#include "gpu_engine/protocol.h"

namespace gpu_engine::server {

// All functions may be called by any thread.
class Statistics {
  public:
    struct Done {
        std::uint64_t items = 0;
        std::uint64_t bytes = 0;
        std::uint64_t microseconds = 0;
        bool failed = false;
    };
    // Counts a request. Beyond so many sums, further users are counted as user 0.
    void add(protocol::EngineName engine, protocol::Message type, std::uint32_t user, const Done &done);
    // Writes at most `capacity` rows and returns how many there are. With `reset` the sums begin at zero
    // afterwards.
    std::uint64_t list(protocol::StatisticsRow *rows, std::uint64_t capacity, bool reset);

  private:
    static constexpr std::size_t max_sums = 10000;

    struct Kind {
        protocol::EngineName engine;
        protocol::Message type;
        std::uint32_t user;

        friend auto operator<=>(const Kind &, const Kind &) noexcept = default;
    };
    std::mutex mutex_;
    std::map<Kind, protocol::StatisticsRow> sums_;
};

}  // namespace gpu_engine::server
