#include "column/scan/cached_matches.h"

#include "column/scan/cached_results.h"
#include "column/scan/view.h"
#include "compat.h"
#include "memory.h"
#include "settings.h"

namespace pg_gpu::column {

// ---- how they are distinguished
// ------------------------------------------------------------------------------

// Returns a call for each argument that a key compares with; nullptr when the function's results can't be
// cached.
static Node *calls_of_key(const Key &key) {
    Oid *types;
    int count;
    if (key.kind != KeyKind::Evaluate || !gives_cacheable_results(key.function.fn_oid))
        return nullptr;
    get_func_signature(key.function.fn_oid, &types, &count);
    if (count != 2 || IsPolymorphicType(types[1]))
        return nullptr;
    int16 length;
    bool by_value;
    get_typlenbyval(types[1], &length, &by_value);
    List *calls = NIL;
    for (uint32 i = 0; i < key.argument_count; i++) {
        Const *argument = makeConst(types[1], -1, InvalidOid, length, key.arguments[i], false, by_value);
        calls = lappend(calls, makeFuncExpr(key.function.fn_oid, BOOLOID, list_make1(argument), InvalidOid,
                                            key.collation, COERCE_EXPLICIT_CALL));
    }
    return reinterpret_cast<Node *>(calls);
}

static bool make_cache_key(const RunReader &reader, const ColumnKeys &keys, int kind, CacheKey *key) {
    List *calls = NIL;
    for (int i = 0; i < keys.count; i++) {
        Node *of_key = calls_of_key(*keys.keys[i]);
        if (of_key == nullptr)
            return false;
        calls = lappend(calls, of_key);
    }
    *key = {reader.index, reader.run.run_id, keys.column, kind, reinterpret_cast<Node *>(calls)};
    return !reader.stale && calls != NIL;
}

// ---- codes ------------------------------------------------------------------------------------------------

const uint64 *use_matching_codes(RunReader *reader, const ColumnKeys &keys) {
    CacheKey key;
    return make_cache_key(*reader, keys, kCachedMatches, &key) ? static_cast<const uint64 *>(use_results(key))
                                                               : nullptr;
}

const uint64 *cache_matching_codes(RunReader *reader, const ColumnKeys &keys, const uint8 *match,
                                   uint64 changes) {
    const ColumnHeader &header = reader->header.column[keys.column];
    const uint64 words = groups_of(UINT64CONST(1) << header.bits);
    CacheKey key;
    MemoryContext context =
        make_cache_key(*reader, keys, kCachedMatches, &key) ? begin_results(words * sizeof(uint64)) : nullptr;
    if (context == nullptr)
        return nullptr;
    MemoryContext caller = MemoryContextSwitchTo(context);
    auto *codes = allocate_zeroed<uint64>(words);
    MemoryContextSwitchTo(caller);
    uint64 code = 0;
    for (; code + kGroup <= header.distinct; code += kGroup)
        codes[code / kGroup] = pack_bits(match + code);
    for (; code < header.distinct; code++)
        codes[code / kGroup] |= uint64{match[code]} << (code % kGroup);
    if (share_results(key, context, codes, changes))
        return codes;
    MemoryContextDelete(context);
    return nullptr;
}

// ---- rows -------------------------------------------------------------------------------------------------

static size_t bytes_of_rows(const RunReader &reader) {
    return groups_of(reader.run.entries) * sizeof(uint64);
}

// Are rows worth keeping, because looking their codes up takes longer than reading a bit each, and takes the
// room that codes have?
static bool are_rows_worth_caching(const RunReader &reader, int column) {
    // Fewer codes' bits stay in a processor's nearest cache.
    constexpr uint64 fewest_codes = 65536;
    constexpr uint64 rows_per_code = 16;
    constexpr size_t part_of_memory = 4;
    const ColumnHeader &header = reader.header.column[column];
    return is_dictionary(header) && header.distinct > fewest_codes &&
           reader.run.entries / rows_per_code < header.distinct &&
           bytes_of_rows(reader) < map_memory() / part_of_memory;
}

bool are_rows_cached(const RunReader &reader, const ColumnKeys &keys) {
    CacheKey key;
    return are_rows_worth_caching(reader, keys.column) &&
           make_cache_key(reader, keys, kCachedMatchingRows, &key);
}

const uint64 *find_matching_rows(RunReader *reader, const ColumnKeys &keys) {
    CacheKey key;
    return make_cache_key(*reader, keys, kCachedMatchingRows, &key)
               ? static_cast<const uint64 *>(find_results(key))
               : nullptr;
}

void cache_matching_rows(RunReader *reader, const ColumnKeys &keys, const uint64 *rows, uint64 changes) {
    CacheKey key;
    MemoryContext context = make_cache_key(*reader, keys, kCachedMatchingRows, &key)
                                ? begin_results(bytes_of_rows(*reader))
                                : nullptr;
    if (context == nullptr)
        return;
    void *copy = MemoryContextAllocHuge(context, bytes_of_rows(*reader));
    memcpy(copy, rows, bytes_of_rows(*reader));
    add_results(key, context, copy, changes);
}

}  // namespace pg_gpu::column
