// Counts selected rows, on the device, by the codes or slots of a target.
#pragma once

#include <vector>

#include "common/column/slots.h"
#include "device/column/select/select.h"

namespace gpu_engine::device {

// A target as kernels see it.
struct TargetView {
    TargetKind kind;
    StoredColumn column;
    const std::uint64_t *codes;
    const std::uint64_t *dictionary;
    const std::uint64_t *nulls;         // may be null
    const std::uint32_t *slot_of_code;  // for bins: where codes are few enough; else null
    SlotFinder finder;                  // for bins
    std::uint64_t slots;                // NULL's is the next
    bool counts_codes;                  // a code is its own place
};

class Target {
  public:
    // Throws Failure for a target that the store can't be asked.
    Target(const Call &call, const StoreParts &parts, const ColumnTarget &target);

    const TargetView &view() const noexcept { return view_; }
    // Counts the selected rows; the caller's counts are there after the next wait.
    void count(const Selection &selection, std::uint64_t *counts);

  private:
    void count_slots(const Selection &selection);
    void count_places(const TargetView &view, const Selection &selection, std::uint64_t places,
                      std::uint64_t *counts);
    void count_bounds(const Selection &selection);

    const Call &call_;
    const StoreParts &parts_;
    TargetView view_{};
    std::vector<std::uint64_t> starts_;
    Buffer<std::uint64_t> device_starts_;
    Buffer<std::uint32_t> slot_of_code_;
    Buffer<std::uint64_t> counts_;
    Buffer<std::uint64_t> by_code_;
};

// Lists the selected rows, of which there are `count`, as the caller gets them.
void list_unresolved(const Call &call, const StoreParts &parts, const TargetView &target,
                     const Buffer<std::uint64_t> &selected, std::uint64_t count, UnresolvedRow *rows);
void list_tids(const Call &call, const StoreParts &parts, const Buffer<std::uint64_t> &selected,
               std::uint64_t count, Tid *tids);

}  // namespace gpu_engine::device
