// The tests of rows that requests about columns send.
#pragma once

#include <vector>

#include "server/requests/request.h"

namespace gpu_engine::server {

// A request's tests, from which those that apply to a run are picked.
class Tests {
  public:
    // Reads the `count` ColumnTestPlaces at `offset`. Throws Failure for tests that can't lie there.
    Tests(const TransferBuffer &buffer, std::uint64_t offset, std::uint32_t count) : buffer_(buffer) {
        if (count > protocol::max_tests) {
            refuse("too many tests");
        }
        const auto *places = buffer.part<protocol::ColumnTestPlace>(offset, count);
        // The session may write to the buffer meanwhile, so it is read only once.
        places_.assign(places, places + count);
    }

    // Returns the tests that run number `run` is asked. They are valid until the next call.
    const std::vector<ColumnTest> &of_run(std::size_t run) {
        tests_.clear();
        for (const protocol::ColumnTestPlace &place : places_) {
            if (place.run != protocol::all_runs && place.run != run) {
                continue;
            }
            ColumnTest test{static_cast<TestKind>(place.kind), place.column, nullptr, nullptr, place.count};
            if (test.kind == TestKind::ranges) {
                test.ranges = buffer_.part<ValueRange>(place.offset, place.count);
            } else if (test.kind == TestKind::codes) {
                test.codes = buffer_.part<std::uint64_t>(place.offset, place.count);
            }
            tests_.push_back(test);
        }
        return tests_;
    }

  private:
    const TransferBuffer &buffer_;
    std::vector<protocol::ColumnTestPlace> places_;
    std::vector<ColumnTest> tests_;
};

}  // namespace gpu_engine::server
