// Rows of a fact table, as the Star Schema Benchmark has them.
#pragma once

#include <cstdint>
#include <memory>

#include "gpu_engine/column.h"

namespace gpu_engine::bench {

// The columns of a run of these rows. All numbers are codes: what lies between a column's least number and
// its others.
enum FactColumn : std::uint32_t {
    discount,        // 11 numbers
    tax,             // 9
    priority,        // 5
    quantity,        // 50
    extended_price,  // 24 bits
    revenue,         // 24 bits
    customer,        // so many for each six million rows
    part,
    order,     // four rows of each, one behind the other
    wide_key,  // a million numbers, of 40 bits
    supplier,
    date,         // 2,406 numbers
    line_number,  // 7
    supply_cost,  // 17 bits
    fact_columns
};

// Returns how many codes a column has among so many rows.
std::uint64_t codes_of(FactColumn column, std::uint64_t rows);

// Returns how many bits these codes have.
std::uint32_t bits_of(FactColumn column, std::uint64_t rows);

// Returns a row's code, which depends on nothing but its number.
std::uint64_t code_of(FactColumn column, std::uint64_t row, std::uint64_t rows);

// Makes a run of the rows from `first` to `last` - 1 of so many in the engine's memory. Throws Failure.
std::unique_ptr<ColumnStore> make_fact_run(Column &columns, Stream &stream, std::uint64_t first,
                                           std::uint64_t last, std::uint64_t rows);

}  // namespace gpu_engine::bench
