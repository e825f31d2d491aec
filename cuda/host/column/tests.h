// What rows must have, made ready for a store's codes.
#pragma once

#include <vector>

#include "host/column/store.h"
#include "host/parallel.h"

namespace gpu_engine::host {

// Rows are looked at in batches of so many groups of 64.
inline constexpr std::uint64_t batch_groups = 64;

// Unpacks the codes of one group. Values have 32 bits where the codes have no more.
void unpack_group(const std::uint64_t *words, std::uint64_t group, std::uint32_t bits, std::uint32_t *values);
void unpack_group(const std::uint64_t *words, std::uint64_t group, std::uint32_t bits, std::uint64_t *values);

// Calls a function with a code of the width that a column's codes are unpacked to.
template <typename Function>
auto with_code(std::uint32_t bits, Function &&function) {
    return bits <= 32 ? function(std::uint32_t{}) : function(std::uint64_t{});
}

// All of a question's tests.
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
        bool wants_null;
        const std::uint64_t *nulls;  // may be null
        const std::uint64_t *codes;
        Range range;
        Buffer<std::uint8_t> table;  // by code: passes
        std::vector<Range> ranges;   // of codes
    };

    void add(HostEngine &engine, const StoreParts &parts, const ColumnTest &test);
    void add_ranges(HostEngine &engine, const StoreParts &parts, const ColumnTest &asked, Test *test);
    void add_codes(HostEngine &engine, const StoreParts &parts, const ColumnTest &asked, Test *test);
    template <typename Code>
    static std::uint64_t look(const Test &test, const Code *codes, std::uint64_t selected);

    std::vector<Test> tests_;
    bool none_passes_ = false;
};

}  // namespace gpu_engine::host
