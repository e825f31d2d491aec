// Counts a thread's rows, and adds the counts up.
#pragma once

#include <tbb/enumerable_thread_specific.h>

#include <vector>

#include "common/column/slots.h"
#include "host/column/load/store.h"
#include "host/parallel.h"

namespace gpu_engine::host {

class Counter {
  public:
    // Throws Failure for a target that the store can't be asked.
    Counter(HostEngine &engine, const Workers &workers, const StoreParts &parts, const ColumnTarget &target);

    // Counts the selected rows among `groups` groups from `first` on.
    void count(std::uint64_t first, std::uint64_t groups, const std::uint64_t *selected);
    // Says whether an unresolved row may count for something; the caller gets only such rows.
    bool wants(std::uint64_t row) const;
    std::uint64_t number(std::uint64_t row) const;
    // Adds up what all threads have counted.
    void finish(std::uint64_t *counts) const;

  private:
    // The counts of one thread. It has several copies of the places, by slot or by code, so that rows of the
    // same place needn't wait for each other.
    struct Local {
        Buffer<std::uint64_t> places;
        std::uint64_t rows = 0;
        std::uint64_t nulls = 0;
        std::uint64_t least = UINT64_MAX;
        std::uint64_t greatest = 0;
    };
    enum class Way { rows, codes, table, values, bounds };

    template <typename Code>
    void count_group(Local &local, const Code *codes, std::uint64_t selected) const;
    template <typename Code, typename SlotOf>
    void count_slots(Local &local, const Code *codes, std::uint64_t selected, SlotOf slot_of) const;
    std::uint64_t value_of(std::uint64_t code) const;
    bool is_null(std::uint64_t row) const;

    const ColumnTarget target_;
    const StoredColumn *column_ = nullptr;
    const std::uint64_t *nulls_ = nullptr;
    const std::uint64_t *codes_ = nullptr;
    const std::uint64_t *dictionary_ = nullptr;
    Way way_ = Way::rows;
    std::vector<std::uint64_t> starts_;
    SlotFinder finder_{};
    Buffer<std::uint32_t> slot_of_code_;
    std::uint64_t places_ = 0;  // number of places of one copy
    std::uint64_t copies_ = 1;
    tbb::enumerable_thread_specific<Local> locals_;
};

}  // namespace gpu_engine::host
