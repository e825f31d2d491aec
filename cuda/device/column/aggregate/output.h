// The device's results of requests about groups.
#pragma once

#include <memory>
#include <utility>

#include "device/call.h"
#include "device/column/aggregate/list.h"
#include "device/column/aggregate/program.h"
#include "gpu_engine/column.h"
#include "gpu_engine/guard.h"

namespace gpu_engine::device {

// A table of dense groups that aren't listed yet. Where `is_joined` that of another device will be joined to
// it place by place: both are the same in all but the records. Otherwise most of its groups may be left out
// before the rest is listed.
struct UnlistedTable {
    FilledTable filled;
    bool is_joined;
    std::uint64_t rows;  // rows of the whole request: they say which sums are narrow
    Buffer<std::uint64_t> records;
    Buffer<KeyMarks> marks;  // marks of groups that may be left out
    std::unique_ptr<PartProgram> program;
};

class DeviceAggregateOutput final : public AggregateOutput {
  public:
    explicit DeviceAggregateOutput(DeviceEngine &engine, std::uint32_t words)
        : engine_(engine), words_(words) {}

    AggregateOutcome outcome() const noexcept override { return outcome_; }
    std::uint64_t groups() const noexcept override { return group_count_; }
    std::uint64_t unresolved() const noexcept override { return unresolved_count_; }
    std::uint64_t counted() const noexcept override { return counted_; }
    Status read_groups(Stream &stream, std::uint64_t first, std::uint64_t count,
                       std::uint64_t *records) const noexcept override;
    Status read_unresolved(Stream &stream, std::uint64_t first, std::uint64_t count,
                           std::uint64_t *records) const noexcept override;
    bool stays_in_table() const noexcept override { return table_ != nullptr && table_->is_joined; }
    Status list_groups(Stream &stream) noexcept override;
    Status mark_keys(Stream &stream, const AggregateProgram &program,
                     KeyMarks *marks) const noexcept override;
    Status leave_out(Stream &stream, const AggregateProgram &program, const SharedKeys &shared,
                     const AggregateTop &top, std::unique_ptr<AggregateOutput> *rest) const noexcept override;

    DeviceEngine &engine() const noexcept { return engine_; }
    const std::uint64_t *group_records() const noexcept { return groups_.data(); }
    const std::uint64_t *unresolved_records() const noexcept { return unresolved_.data(); }
    const UnlistedTable *table() const noexcept { return table_.get(); }

    void set_outcome(AggregateOutcome outcome) noexcept { outcome_ = outcome; }
    void set_counted(std::uint64_t groups) noexcept { counted_ = groups; }
    // The buffers outlive the stream that they were made on.
    void take(Buffer<std::uint64_t> groups, std::uint64_t group_count, Buffer<std::uint64_t> unresolved,
              std::uint64_t unresolved_count) noexcept {
        groups_ = std::move(groups);
        group_count_ = group_count;
        unresolved_ = std::move(unresolved);
        unresolved_count_ = unresolved_count;
        groups_.set_stream(engine_.release_stream());
        unresolved_.set_stream(engine_.release_stream());
    }
    // The same where the groups are still in the table.
    void take(std::unique_ptr<UnlistedTable> table, std::uint64_t group_count,
              Buffer<std::uint64_t> unresolved, std::uint64_t unresolved_count) noexcept {
        table_ = std::move(table);
        table_->records.set_stream(engine_.release_stream());
        table_->marks.set_stream(engine_.release_stream());
        table_->program->set_stream(engine_.release_stream());
        take(Buffer<std::uint64_t>(), group_count, std::move(unresolved), unresolved_count);
    }

  private:
    Status read(const Call &call, const Buffer<std::uint64_t> &from, std::uint64_t records_there,
                std::uint64_t words, std::uint64_t first, std::uint64_t count, std::uint64_t *records) const;
    FilledTable filled(std::uint32_t key_words) const;

    DeviceEngine &engine_;
    std::uint32_t words_;
    AggregateOutcome outcome_ = AggregateOutcome::answered;
    std::unique_ptr<UnlistedTable> table_;
    mutable Buffer<std::uint64_t> groups_;  // if there is a table they are listed when they are read
    std::uint64_t group_count_ = 0;
    Buffer<std::uint64_t> unresolved_;
    std::uint64_t unresolved_count_ = 0;
    std::uint64_t counted_ = 0;
};

}  // namespace gpu_engine::device
