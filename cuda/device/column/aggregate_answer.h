// The device's answers to questions about groups.
#pragma once

#include <utility>

#include "device/call.h"
#include "gpu_engine/column.h"
#include "gpu_engine/guard.h"

namespace gpu_engine::device {

class DeviceAggregateAnswer final : public AggregateAnswer {
  public:
    explicit DeviceAggregateAnswer(DeviceEngine &engine, std::uint32_t words)
        : engine_(engine), words_(words) {}

    AggregateOutcome outcome() const noexcept override { return outcome_; }
    std::uint64_t groups() const noexcept override { return group_count_; }
    std::uint64_t doubtful() const noexcept override { return doubtful_count_; }
    std::uint64_t counted() const noexcept override { return counted_; }
    Status read_groups(Stream &stream, std::uint64_t first, std::uint64_t count,
                       std::uint64_t *records) const noexcept override {
        return read(stream, groups_, group_count_, words_, first, count, records);
    }
    Status read_doubtful(Stream &stream, std::uint64_t first, std::uint64_t count,
                         std::uint64_t *records) const noexcept override {
        return read(stream, doubtful_, doubtful_count_, words_ + 1, first, count, records);
    }

    DeviceEngine &engine() const noexcept { return engine_; }
    const std::uint64_t *group_records() const noexcept { return groups_.data(); }
    const std::uint64_t *doubtful_records() const noexcept { return doubtful_.data(); }

    void set_outcome(AggregateOutcome outcome) noexcept { outcome_ = outcome; }
    void set_counted(std::uint64_t groups) noexcept { counted_ = groups; }
    // The buffers outlive the stream that they were made on.
    void take(Buffer<std::uint64_t> groups, std::uint64_t group_count, Buffer<std::uint64_t> doubtful,
              std::uint64_t doubtful_count) noexcept {
        groups_ = std::move(groups);
        group_count_ = group_count;
        doubtful_ = std::move(doubtful);
        doubtful_count_ = doubtful_count;
        groups_.set_stream(engine_.release_stream());
        doubtful_.set_stream(engine_.release_stream());
    }

  private:
    Status read(Stream &stream, const Buffer<std::uint64_t> &from, std::uint64_t records_there,
                std::uint64_t words, std::uint64_t first, std::uint64_t count,
                std::uint64_t *records) const noexcept {
        return guarded([&] {
            const Call call(engine_, stream);
            if (first > records_there || count > records_there - first) {
                return make_status(StatusCode::invalid_argument, "there are no such groups");
            }
            call.copy(records, static_cast<const std::uint64_t *>(from.data()) + first * words,
                      count * words);
            call.wait();
            return Status{};
        });
    }

    DeviceEngine &engine_;
    std::uint32_t words_;
    AggregateOutcome outcome_ = AggregateOutcome::answered;
    Buffer<std::uint64_t> groups_;
    std::uint64_t group_count_ = 0;
    Buffer<std::uint64_t> doubtful_;
    std::uint64_t doubtful_count_ = 0;
    std::uint64_t counted_ = 0;
};

}  // namespace gpu_engine::device
