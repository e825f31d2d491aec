// Columns of text, varchar and char that are encoded by their first bytes.
#pragma once

#include "postgres_headers.h"

#include "kary/strategies.h"
#include "kary/text_prefix.h"

namespace pg_gpu::kary {

// Returns the key of a value of type text or bpchar. For bpchar blanks at the end don't count.
Key128 text_key(Oid type, Datum value);

// These are the keys that strings can have for which `string OPERATOR constant` holds.
struct TextKeys {
    Key128 low;
    Key128 high;  // inclusive
};
TextKeys text_keys_for(Oid type, StrategyNumber strategy, Datum constant);

// Returns the bytes with which all strings begin that a LIKE pattern, or a constant of ^@, accepts.
LikePrefix text_pattern_prefix(Oid type, StrategyNumber strategy, Datum pattern);

// Returns the first bytes of a string. is_whole says that these are the whole string, so that no other string
// has its key.
LikePrefix text_prefix(Oid type, Datum string);

}  // namespace pg_gpu::kary
