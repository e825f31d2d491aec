// The tests that rows must pass, made ready for a store's codes.
#pragma once

#include <vector>

#include "host/column/load/store.h"
#include "host/column/select/unpack.h"
#include "host/parallel.h"

namespace gpu_engine::host {

// Rows are looked at in batches of so many groups of 64.
inline constexpr std::uint64_t batch_groups = 64;

// All of a request's tests, in the order in which they leave fewest rows soonest.
class RowTests {
  public:
    // Throws Failure for tests that the store can't be asked.
    RowTests(HostEngine &engine, const StoreParts &parts, const ColumnTest *tests, std::uint32_t count);

    bool none_passes() const noexcept { return none_passes_; }
    // Clears the bits of rows that don't pass, among `groups` groups from `first` on.
    void apply(std::uint64_t first, std::uint64_t groups, std::uint64_t *selected) const;

  private:
    struct Range {
        std::uint64_t low;
        std::uint64_t high;
    };
    enum class Way { nulls, range, table, ranges };
    struct Test {
        Way way;
        std::uint32_t bits;
        bool null_passes;
        bool value_passes;           // way nulls: whatever it is
        const std::uint64_t *nulls;  // may be null
        const std::uint64_t *codes;
        Range range;
        Buffer<std::uint8_t> table;  // by code: passes
        std::vector<Range> ranges;   // ranges of codes
        // Cost of testing a row, for each row that the test is likely to keep out.
        double effort;
    };

    static Test begin(const StoreParts &parts, std::uint32_t column);
    void add(HostEngine &engine, const StoreParts &parts, const ColumnTest &test);
    void add_ranges(HostEngine &engine, const StoreParts &parts, const ColumnTest &requested, Test *test);
    void add_codes(HostEngine &engine, const ColumnTest &requested, Test *test);
    void finish(const StoredColumn &column, Test test);
    void sort();
    static bool passes(const Test &test, std::uint64_t code);
    static std::uint64_t look(const Test &test, std::uint64_t group, std::uint64_t selected);
    template <typename Code>
    static std::uint64_t look_at_all(const Test &test, const Code *codes);

    std::vector<Test> tests_;
    bool none_passes_ = false;
};

}  // namespace gpu_engine::host
