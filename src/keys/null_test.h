// This header takes from scan keys what they say about NULLs.
#pragma once

#include "keys/column.h"

namespace pg_gpu::keys {

// Returns the bit of a scan key's column in masks of NULLs.
inline NullMask null_bit(const ScanKeyData &key) {
    return static_cast<NullMask>(1U << (key.sk_attno - 1));
}

// Notes in a condition which columns must be NULL (`nulls`) and which must not be (`not_nulls`), and with
// `nothing` that no row meets a comparison with NULL. Returns whether a comparison with a constant is left.
template <typename Condition>
bool take_null_test(const ScanKeyData &key, Condition *condition) {
    if (key.sk_flags & SK_SEARCHNULL) {
        condition->nulls |= null_bit(key);
        return false;
    }
    condition->not_nulls |= null_bit(key);  // operators are strict, and IS NOT NULL says so
    if (key.sk_flags & SK_SEARCHNOTNULL)
        return false;
    if (key.sk_flags & SK_ISNULL) {
        condition->nothing = true;
        return false;
    }
    return true;
}

}  // namespace pg_gpu::keys
