// Groups by the codes of a single run's dictionary: the engine reads codes as they are, and only the entries
// of groups that leave it are read.
#pragma once

#include "plan/query/aggregates.h"
#include "plan/query/columns.h"

namespace pg_gpu::plan::query {

// Returns whether a type's values are strings that some collations compare by their bytes.
bool is_of_bytes(Oid type);
// Returns whether its values have the order of their bytes by a collation.
bool is_bytewise(Oid type, Oid collation);

// Calls visit(number) for the values of a numbering that records have.
template <typename Visit>
void for_results_of(const CompiledQuery &compiled, uint32 numbering, const RecordLayout &layout,
                    column::QueryResult *records, Visit visit) {
    const auto is_result_of = [numbering](const Result &result) {
        return result.kind == ResultKind::Value && result.argument.kind == Kind::Group &&
               result.argument.numbering == numbering;
    };
    const uint64 *record;
    while (uint64 left = column::next_records(records->records, &record)) {
        CHECK_FOR_INTERRUPTS();
        for (; left > 0; left--, record += records->record_words) {
            for (uint32 i = 0; i < compiled.result_count; i++) {
                const Result &result = compiled.results[i];
                if (is_result_of(result) && (record[result.value / 64] >> (result.value % 64) & 1) == 0)
                    visit(record[layout.words[result.value]]);
            }
        }
    }
    column::rewind_records(records->records);
}

// Which numberings may have a view's codes for numbers.
void find_numbers_by_code(const TableViews &views, Program *program);

// Reads the values that records have, while the views are open; in the program's memory context.
// False: the run is stale.
bool read_code_values(const TableViews &views, const CompiledQuery &compiled, const RecordLayout &layout,
                      column::QueryResult *records);

}  // namespace pg_gpu::plan::query
