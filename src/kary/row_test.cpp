#include "kary/row_test.h"

#include "keys/keys.h"
#include "kary/indexed_row.h"

namespace pg_gpu::kary {

namespace {

// The elements of an array by hash: `heads` has the last one of each bucket, each element the one before it.
struct Element {
    uint64 hash;
    Datum value;
    uint32 next;
};

constexpr uint32 kNone = PG_UINT32_MAX;

struct ElementTable {
    Element *elements;
    uint32 *heads;
    int shift;
};

struct Value {
    Datum value;
    bool is_null;
    uint64 hash;
    uint32 element;  // element that may equal it, or a later one in its list
};

// This is one scan key, for which every row has a value.
struct KeyTest {
    ScanKeyData *key;
    ColumnHash *hash;      // nullptr: no hash function keeps the operator's equality
    FmgrInfo *array_hash;  // hash function of the elements
    bool has_guesses;
    ElementLayout elements;  // with guesses
    ElementTable table;      // made when it is first needed
    Value values[kRowsAtOnce];
};

}  // namespace

struct RowTest {
    IndexedRow row;
    MemoryContext context;
    MemoryContext scratch;
    int rows;
    uint32 guesses[kRowsAtOnce];
    KeyTest *tests;
    int count;
};

static bool is_comparison(const ScanKeyData &key) {
    return (key.sk_flags & (SK_SEARCHNULL | SK_SEARCHNOTNULL | SK_ISNULL)) == 0;
}

// Says whether this is a comparison of a lossy column.
static bool is_lossy_comparison(const KeyFormat &format, const ScanKeyData &key) {
    return is_comparison(key) && is_lossy(format.columns[key.sk_attno - 1].encoding);
}

static bool is_array_comparison(const KeyFormat &format, const ScanKeyData &key) {
    return is_lossy_comparison(format, key) && (key.sk_flags & SK_SEARCHARRAY) != 0;
}

static bool is_set_comparison(const KeyFormat &format, const ScanKeyData &key) {
    return is_array_comparison(format, key) && key.sk_strategy == BTEqualStrategyNumber;
}

bool has_long_arrays(const KeyFormat &format, const ScanKeyData *keys, int key_count) {
    for (int i = 0; i < key_count; i++) {
        if (!is_set_comparison(format, keys[i]))
            continue;
        // The rest of the index's rows would be looked at, for nothing but the recheck.
        const KeyColumn &column = format.columns[keys[i].sk_attno - 1];
        if (column.encoding == Encoding::Hash &&
            hash_for_operator(column.hash, keys[i].sk_func.fn_oid) == nullptr)
            continue;
        const auto *array = DatumGetArrayTypeP(keys[i].sk_argument);
        if (ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)) >= kLongArray)
            return true;
    }
    return false;
}

ScanKeyData *detoast_arrays(const KeyFormat &format, const ScanKeyData *keys, int key_count) {
    auto *copies = allocate<ScanKeyData>(key_count);
    for (int i = 0; i < key_count; i++) {
        copies[i] = keys[i];
        if (is_array_comparison(format, keys[i]))
            copies[i].sk_argument = PointerGetDatum(DatumGetArrayTypeP(keys[i].sk_argument));
    }
    return copies;
}

// ---- an array's elements ----------------------------------------------------------------------------------

static uint32 *head_of(const ElementTable &table, uint64 hash) {
    // Fibonacci hashing is used, because the hashes of some types leave the upper bits as they are.
    return &table.heads[(hash * 0x9e3779b97f4a7c15) >> table.shift];
}

static ElementTable make_table(MemoryContext scratch, const ColumnHash &hash, FmgrInfo *function,
                               ArrayType *array) {
    const auto items = static_cast<uint32>(ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)));
    ElementTable table;
    const int bits = std::bit_width(items | 1);
    table.shift = 64 - bits;
    table.elements = allocate<Element>(items + 1);
    table.heads = allocate<uint32>(size_t{1} << bits);
    memset(table.heads, 0xff, sizeof(uint32) << bits);
    uint32 count = 0;
    MemoryContext caller = MemoryContextSwitchTo(scratch);
    for_each_element(array, [&](Datum value, uint32) {
        const uint64 code = hash_value_with(function, hash, value);
        uint32 *head = head_of(table, code);
        table.elements[count] = {code, value, *head};
        *head = count++;
        if (count % 1024 == 0) {
            MemoryContextReset(scratch);
            CHECK_FOR_INTERRUPTS();
        }
    });
    MemoryContextSwitchTo(caller);
    return table;
}

// ---- the tests --------------------------------------------------------------------------------------------

// Returns the type whose hash function keeps the equality of the column's operators.
static Oid hashed_type_of(Relation index, const KeyFormat &format, int column) {
    return format.columns[column].encoding == Encoding::Hash
               ? TupleDescAttr(RelationGetDescr(index), column)->atttypid
               : format.columns[column].type;
}

RowTest *begin_row_test(Relation index, const KeyFormat &format, ScanKeyData *keys, int key_count,
                        bool has_guesses) {
    auto *test = allocate_zeroed<RowTest>(1);
    test->tests = allocate_zeroed<KeyTest>(key_count);
    test->context = CurrentMemoryContext;
    test->scratch = AllocSetContextCreate(CurrentMemoryContext, "gpu_kary row test", ALLOCSET_DEFAULT_SIZES);
    open_indexed_row(&test->row, index);
    for (int i = 0; i < key_count; i++) {
        ScanKeyData &key = keys[i];
        if (!is_lossy_comparison(format, key))
            continue;
        KeyTest *one = &test->tests[test->count++];
        one->key = &key;
        if (!is_set_comparison(format, key))
            continue;
        one->hash = column_hash(hashed_type_of(index, format, key.sk_attno - 1), key.sk_collation);
        one->array_hash = hash_for_operator(one->hash, key.sk_func.fn_oid);
        if (one->array_hash == nullptr)
            one->hash = nullptr;
        one->has_guesses = has_guesses && one->hash != nullptr;
        if (one->has_guesses)
            one->elements = layout_of(DatumGetArrayTypeP(key.sk_argument));
    }
    return test;
}

void end_row_test(RowTest *test) {
    close_indexed_row(&test->row);
    MemoryContextDelete(test->scratch);
    pfree(test->tests);
    pfree(test);
}

void add_row(RowTest *test, TupleTableSlot *slot, uint32 guess) {
    take_row(&test->row, slot);
    for (int i = 0; i < test->count; i++) {
        const int column = test->tests[i].key->sk_attno - 1;
        Value *value = &test->tests[i].values[test->rows];
        value->value = test->row.values[column];
        value->is_null = test->row.nulls[column];
        if (test->tests[i].has_guesses)
            __builtin_prefetch(test->tests[i].elements.data + guess);
    }
    test->guesses[test->rows++] = guess;
}

static bool holds(const KeyTest &test, Datum value, Datum constant) {
    return DatumGetBool(FunctionCall2Coll(&test.key->sk_func, test.key->sk_collation, value, constant));
}

// Finds the lists of elements that values may equal, and asks for the memory that will be looked at.
static void find_elements(RowTest *test, KeyTest *one, int first, int end) {
    if (one->table.heads == nullptr) {
        MemoryContext caller = MemoryContextSwitchTo(test->context);
        one->table =
            make_table(test->scratch, *one->hash, one->array_hash, DatumGetArrayTypeP(one->key->sk_argument));
        MemoryContextSwitchTo(caller);
    }
    for (int i = first; i < end; i++) {
        Value *value = &one->values[i];
        if (value->is_null)
            continue;
        value->hash = hash_value(*one->hash, value->value);
        __builtin_prefetch(head_of(one->table, value->hash));
    }
    for (int i = first; i < end; i++) {
        Value *value = &one->values[i];
        value->element = value->is_null ? kNone : *head_of(one->table, value->hash);
        if (value->element != kNone)
            __builtin_prefetch(&one->table.elements[value->element]);
    }
    for (int i = first; i < end; i++)
        if (one->values[i].element != kNone)
            __builtin_prefetch(DatumGetPointer(one->table.elements[one->values[i].element].value));
}

static bool is_in_table(const KeyTest &test, const Value &value) {
    for (uint32 i = value.element; i != kNone; i = test.table.elements[i].next)
        if (test.table.elements[i].hash == value.hash &&
            holds(test, value.value, test.table.elements[i].value))
            return true;
    return false;
}

static bool holds_for_any(const KeyTest &test, const Value &value) {
    bool found = false;
    for_each_element(DatumGetArrayTypeP(test.key->sk_argument),
                     [&](Datum constant, uint32) { found = found || holds(test, value.value, constant); });
    return found;
}

// Tests all rows by one scan key.
static void test_key(RowTest *test, KeyTest *one, bool *passed) {
    if (!one->has_guesses && one->hash != nullptr)
        find_elements(test, one, 0, test->rows);
    for (int row = 0; row < test->rows; row++) {
        const Value &value = one->values[row];
        if (!passed[row])
            continue;
        if (value.is_null) {
            passed[row] = false;
        } else if (one->has_guesses &&
                   holds(*one, value.value, element_at(one->elements, test->guesses[row]))) {
            continue;
        } else if (one->hash != nullptr) {
            if (one->has_guesses)
                find_elements(test, one, row, row + 1);
            passed[row] = is_in_table(*one, value);
        } else if ((one->key->sk_flags & SK_SEARCHARRAY) != 0) {
            passed[row] = holds_for_any(*one, value);
        } else {
            passed[row] = holds(*one, value.value, one->key->sk_argument);
        }
    }
}

void test_rows(RowTest *test, bool *passed) {
    MemoryContext caller = MemoryContextSwitchTo(test->scratch);
    memset(passed, true, static_cast<size_t>(test->rows));
    for (int i = 0; i < test->count; i++)
        test_key(test, &test->tests[i], passed);
    MemoryContextSwitchTo(caller);
    MemoryContextReset(test->scratch);
    forget_rows(test->row);
    test->rows = 0;
}

}  // namespace pg_gpu::kary
