#include "kary/text_key.h"

#include "keys/keys.h"

namespace pg_gpu::kary {

namespace {

// Bytes of a text value, at least as many of them as a key can tell.
struct TextBytes {
    const char *bytes;
    size_t length;
};

}  // namespace

static TextBytes bytes_of(text *value) {
    return {VARDATA_ANY(value), static_cast<size_t>(VARSIZE_ANY_EXHDR(value))};
}

// Returns all bytes but, for bpchar, the blanks at the end.
static TextBytes all_bytes(Oid type, Datum value) {
    const TextBytes bytes = bytes_of(DatumGetTextPP(value));
    return {bytes.bytes, type == BPCHAROID ? length_without_blanks(bytes.bytes, bytes.length) : bytes.length};
}

Key128 text_key(Oid type, Datum value) {
    auto *string = reinterpret_cast<varlena *>(DatumGetPointer(value));
    // Long strings are fetched only as far as the key needs. Blanks at a string's end show only there, so
    // bpchar is fetched whole.
    const TextBytes bytes = type != BPCHAROID && (VARATT_IS_COMPRESSED(string) || VARATT_IS_EXTERNAL(string))
                                ? bytes_of(DatumGetTextPSlice(value, 0, static_cast<int32>(kPrefixBytes)))
                                : all_bytes(type, value);
    return prefix_key(bytes.bytes, bytes.length);
}

static LikePrefix first_bytes(const TextBytes &string) {
    LikePrefix prefix = {};
    prefix.length = Min(string.length, kPrefixBytes);
    memcpy(prefix.bytes, string.bytes, prefix.length);
    prefix.is_whole = string.length < kPrefixBytes;
    return prefix;
}

LikePrefix text_prefix(Oid type, Datum string) {
    return first_bytes(all_bytes(type, string));
}

LikePrefix text_pattern_prefix(Oid type, StrategyNumber strategy, Datum pattern) {
    const TextBytes bytes = bytes_of(DatumGetTextPP(pattern));
    LikePrefix prefix = strategy == kLike ? like_prefix(bytes.bytes, bytes.length) : first_bytes(bytes);
    if (strategy != kLike)
        prefix.is_whole = false;
    // char(n) is compared with its blanks at the end, keys are without.
    if (type == BPCHAROID)
        prefix.length = length_without_blanks(prefix.bytes, prefix.length);
    return prefix;
}

TextKeys text_keys_for(Oid type, StrategyNumber strategy, Datum constant) {
    TextKeys keys = {{0, 0}, kHighestKey<Key128>};
    switch (strategy) {
        case BTEqualStrategyNumber:
            keys.low = keys.high = text_key(type, constant);
            break;
        case kLossyLess:
        case kLossyLessEqual:
        case kBytesLess:
        case kBytesLessEqual:
            keys.high = text_key(type, constant);
            break;
        case kLossyGreater:
        case kLossyGreaterEqual:
        case kBytesGreater:
        case kBytesGreaterEqual:
            keys.low = text_key(type, constant);
            break;
        case kLike:
        case kStartsWith: {
            const LikePrefix prefix = text_pattern_prefix(type, strategy, constant);
            keys.low = prefix_key(prefix.bytes, prefix.length);
            keys.high = prefix.is_whole ? keys.low : prefix_key(prefix.bytes, prefix.length, 0xff);
            break;
        }
        default:
            raise_unknown_strategy(strategy);
    }
    return keys;
}

}  // namespace pg_gpu::kary
