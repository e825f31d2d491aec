// A RowTest says whether rows meet scan keys on lossy columns. It tells what the executor's recheck would
// tell, but looks for a value in an array by hash, where the recheck compares it with one element after
// another.
#pragma once

#include "kary/format.h"

namespace pg_gpu::kary {

struct RowTest;

// This many rows are tested together, so that their waits for memory overlap.
inline constexpr int kRowsAtOnce = 16;

// Arrays of at least this many elements are searched by hash. The executor does so with constant arrays from
// the same length on.
inline constexpr int kLongArray = 9;

// Says whether a lossy column has such an array of keys. The keys are detoasted.
bool has_long_arrays(const KeyFormat &format, const ScanKeyData *keys, int key_count);

// Returns a copy of scan keys, with the arrays of lossy columns detoasted once for all.
ScanKeyData *detoast_arrays(const KeyFormat &format, const ScanKeyData *keys, int key_count);

// Begins a test, palloc'd. The index must stay open, and the scan keys, which are not toasted, must stay
// where they are until the end.
RowTest *begin_row_test(Relation index, const KeyFormat &format, ScanKeyData *keys, int key_count,
                        bool has_guesses);
void end_row_test(RowTest *test);

// Adds a row, up to kRowsAtOnce of them. Its tuple must stay in place; the slot need not. With has_guesses,
// `guess` is the place, in the only array among the scan keys, of an element that the row's value is likely
// to equal.
void add_row(RowTest *test, TupleTableSlot *slot, uint32 guess);

// Tests the rows added since the last time, and forgets them.
void test_rows(RowTest *test, bool *passed);

}  // namespace pg_gpu::kary
