// A RowTest says whether rows meet scan keys on lossy columns. It tells what the executor's recheck would
// tell, but looks for a value in an array by hash, where the recheck compares it with one element after
// another.
#pragma once

#include "kary/format.h"

namespace pg_gpu::kary {

struct RowTest;

// Rows are tested some at a time, so that memory is not waited for row by row.
inline constexpr int kRowsAtOnce = 16;

// Arrays of so many elements are looked into by hash. It is where the executor begins to do so with arrays
// that are constants.
inline constexpr int kLongArray = 9;

// Says whether a lossy column has such an array of keys. The keys are detoasted.
bool has_long_arrays(const KeyFormat &format, const ScanKeyData *keys, int key_count);

// A copy of scan keys, with the arrays of lossy columns detoasted once for all.
ScanKeyData *detoast_arrays(const KeyFormat &format, const ScanKeyData *keys, int key_count);

// Palloc'd. The index stays open and the scan keys, which are not toasted, stay where they are until the end.
RowTest *begin_row_test(Relation index, const KeyFormat &format, ScanKeyData *keys, int key_count,
                        bool has_guesses);
void end_row_test(RowTest *test);

// Adds a row, up to kRowsAtOnce; its tuple must stay in place, the slot need not. `guess`, if there are any,
// is the place, in the only array among the scan keys, of an element that the row's value may well equal.
void add_row(RowTest *test, TupleTableSlot *slot, uint32 guess);

// Tests the rows added since the last time, and forgets them.
void test_rows(RowTest *test, bool *passed);

}  // namespace pg_gpu::kary
