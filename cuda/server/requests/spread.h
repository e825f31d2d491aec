// A request whose runs are on several engines: computed in parts, one an engine, which are added up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "gpu_engine/protocol.h"
#include "server/requests/request.h"
#include "server/requests/results.h"
#include "server/requests/run_set.h"

namespace gpu_engine::server {

// A part has no place on its engine: the request is answered `busy`.
struct Busy {};

class Spread {
  public:
    // Gets a part a place on its engine, calls `body` there, and returns how it ended, whatever `body`
    // throws. `*busy` says that there was no place.
    using OnEngine = std::function<Status(Work &work, const std::function<void()> &body, bool *busy)>;
    // Calls body(0) to body(parts - 1) at the same time, as PartThreads::run does.
    using AtOnce = std::function<void(std::size_t parts, const std::function<void(std::size_t)> &body)>;

    // `whole` has the request's runs, and the results of all parts are added up there.
    Spread(Work &whole, std::vector<Work> parts, OnEngine on_engine, AtOnce at_once)
        : whole_(whole),
          parts_(std::move(parts)),
          statuses_(parts_.size()),
          on_engine_(std::move(on_engine)),
          at_once_(std::move(at_once)) {}

    std::size_t size() const noexcept { return parts_.size(); }
    Work &whole() const noexcept { return whole_; }
    Work &work(std::size_t part) noexcept { return parts_[part]; }
    const RunSet &runs() const noexcept { return *whole_.found; }

    // Calls body(part, work) for each part, at the same time, on its engine; the results say how each ended.
    // Throws Busy.
    using Body = std::function<void(std::size_t part, Work &work)>;
    std::span<const Status> try_run(const Body &body);
    // Throws the failure of a part as well.
    void run(const Body &body);
    // The part that a failure is of.
    std::size_t failed() const noexcept { return failed_; }
    // Calls body(work) for one part.
    void run_one(std::size_t part, const std::function<void(Work &)> &body);

  private:
    void require(std::size_t part);

    Work &whole_;
    std::vector<Work> parts_;
    std::vector<Status> statuses_;
    OnEngine on_engine_;
    AtOnce at_once_;
    std::size_t failed_ = 0;
};

// ---- requests whose results lie in the transfer buffer ---------------------------------------------------

// Numbers that each part has of all items. They lie at the beginning of its results, and are added up.
struct Sums {
    std::uint64_t count = 0;
    std::uint32_t bytes = 0;  // bytes of one number
};

template <typename Request>
Sums sums_of(const Request &) {
    return {};
}
inline Sums sums_of(const protocol::CountKary &request) {
    return {request.count, sizeof(std::uint64_t)};
}
inline Sums sums_of(const protocol::CountGrid &request) {
    return {request.boxes.count, sizeof(std::uint64_t)};
}
inline Sums sums_of(const protocol::CountText &request) {
    return {request.lists.first[request.runs], sizeof(std::uint32_t)};
}

// The room in the transfer buffer that each part's results go to.
struct PartPlace {
    std::uint64_t results = 0;
    std::uint64_t capacity = 0;
    std::uint64_t needed = 0;  // bytes that the part needed when it was last asked
};

// Divides what is left beyond the needs by the parts' weights. Throws Failure (insufficient_space) when the
// parts don't fit; *needed says how many bytes they take.
void place_parts(const std::vector<double> &weights, std::uint64_t results, std::uint64_t capacity,
                 std::vector<PartPlace> *places, std::uint64_t *needed);
// Returns the entries that each part asks.
std::vector<double> entries_by_part(Spread &spread);
// Adds the other parts' sums to those of the first, which lie where the request wants them.
void add_up(const TransferBuffer &buffer, const Sums &sums, const std::vector<PartPlace> &places);

// Takes over what a part says of its runs.
void take_part(const Spread &spread, const Work &work, const protocol::ResultReply &its,
               protocol::ResultReply *reply);
void take_part(const Spread &spread, const Work &work, const protocol::ColumnReply &its,
               protocol::ColumnReply *reply);

}  // namespace gpu_engine::server
