#include "plan/query/value_table.h"

#include "compat.h"

namespace pg_gpu::plan {

static size_t copied_bytes(Datum value, bool by_value, int16 length) {
    return by_value ? 0 : MAXALIGN(datumGetSize(value, false, length));
}

static Datum copy_value(MemoryContext context, Datum value, bool by_value, int16 length) {
    MemoryContext caller = MemoryContextSwitchTo(context);
    // What an expression gives may be a pointer to a toasted value.
    const Datum plain =
        length == -1 ? PointerGetDatum(PG_DETOAST_DATUM_COPY(value)) : datumCopy(value, by_value, length);
    MemoryContextSwitchTo(caller);
    return plain;
}

// ---- equal values -----------------------------------------------------------------------------------------

static bool has_hash(Oid equality, Oid type) {
    Oid left;
    Oid right;
    return op_hashjoinable(equality, type) && get_op_hash_functions(equality, &left, &right);
}

bool is_hashable(Oid equality, Oid type) {
    return has_hash(equality, type) || has_one_image(type, equality, InvalidOid);
}

bool has_one_image(Oid type, Oid equality, Oid collation) {
    const Oid base = getBaseType(type);
    const TypeCacheEntry *entry = lookup_type_cache(base, TYPECACHE_EQ_OPR | TYPECACHE_BTREE_OPFAMILY);
    if (entry->eq_opr != equality || !OidIsValid(entry->btree_opf) || base == BPCHAROID)
        return false;
    constexpr int16 equal_image = 4;  // BTEQUALIMAGE_PROC
    const Oid procedure =
        get_opfamily_proc(entry->btree_opf, entry->btree_opintype, entry->btree_opintype, equal_image);
    return OidIsValid(procedure) &&
           DatumGetBool(OidFunctionCall1Coll(procedure, collation, ObjectIdGetDatum(entry->btree_opintype)));
}

ValueTable *begin_values(const column::ColumnType &type, Oid equality, Oid collation) {
    constexpr uint32 first_room = 64;
    auto *table = allocate_zeroed<ValueTable>(1);
    table->context = CurrentMemoryContext;
    table->length = type.length;
    table->by_value = type.by_value;
    table->collation = collation;
    Oid hash = InvalidOid;
    table->has_hash = get_op_hash_functions(equality, &hash, nullptr);
    if (table->has_hash)
        fmgr_info(hash, &table->hash);
    fmgr_info(get_opcode(equality), &table->equal);
    table->room = first_room;
    table->values = allocate<Datum>(table->room);
    table->hashes = allocate<uint32>(table->room);
    table->mask = first_room * 2 - 1;
    table->slots = allocate_zeroed<uint32>(size_t{table->mask} + 1);
    return table;
}

static void grow(ValueTable *table) {
    table->room *= 2;
    table->values = reallocate(table->values, table->room);
    table->hashes = reallocate(table->hashes, table->room);
    table->mask = table->room * 2 - 1;
    table->slots = reallocate(table->slots, size_t{table->mask} + 1);
    memset(table->slots, 0, (size_t{table->mask} + 1) * sizeof(uint32));
    for (uint32 i = 0; i < table->count; i++) {
        uint32 slot = table->hashes[i] & table->mask;
        while (table->slots[slot] != 0)
            slot = (slot + 1) & table->mask;
        table->slots[slot] = i + 1;
    }
}

// Equal values of a type without a hash function have the same bytes (is_hashable).
static uint32 hash_value(ValueTable *table, Datum value) {
    return murmurhash32(table->has_hash
                            ? DatumGetUInt32(FunctionCall1Coll(&table->hash, table->collation, value))
                            : datum_image_hash(value, table->by_value, table->length));
}

uint32 number_of_value(ValueTable *table, Datum value, size_t *memory) {
    const uint32 hash = hash_value(table, value);
    uint32 slot = hash & table->mask;
    for (; table->slots[slot] != 0; slot = (slot + 1) & table->mask) {
        const uint32 number = table->slots[slot] - 1;
        if (table->hashes[number] == hash &&
            DatumGetBool(FunctionCall2Coll(&table->equal, table->collation, table->values[number], value))) {
            table->has_variants = table->has_variants || !datum_image_eq(table->values[number], value,
                                                                         table->by_value, table->length);
            return number;
        }
    }
    constexpr size_t entry_bytes = sizeof(Datum) + 4 * sizeof(uint32);
    const size_t bytes = entry_bytes + copied_bytes(value, table->by_value, table->length);
    if (bytes > *memory || table->room > UINT32_MAX / 8)
        return kNoValue;
    *memory -= bytes;
    if (table->count == table->room) {
        grow(table);
        slot = hash & table->mask;
        while (table->slots[slot] != 0)
            slot = (slot + 1) & table->mask;
    }
    table->values[table->count] = copy_value(table->context, value, table->by_value, table->length);
    table->hashes[table->count] = hash;
    table->slots[slot] = table->count + 1;
    return table->count++;
}

// ---- ranks ------------------------------------------------------------------------------------------------

RankedValues *begin_ranked(const column::ColumnType &type, MemoryContext context) {
    auto *ranked = static_cast<RankedValues *>(MemoryContextAllocZero(context, sizeof(RankedValues)));
    ranked->context = context;
    ranked->length = type.length;
    ranked->by_value = type.by_value;
    ranked->entry_room = 64;
    ranked->entries = allocate<RankedValue>(ranked->entry_room);
    return ranked;
}

bool add_ranked(RankedValues *ranked, Datum value, uint32 *rank, size_t *memory) {
    const size_t bytes =
        sizeof(RankedValue) + sizeof(Datum) + copied_bytes(value, ranked->by_value, ranked->length);
    if (bytes > *memory || ranked->entry_count == UINT32_MAX)
        return false;
    *memory -= bytes;
    if (ranked->entry_count == ranked->entry_room) {
        ranked->entry_room *= 2;
        ranked->entries = reallocate(ranked->entries, ranked->entry_room);
    }
    ranked->entries[ranked->entry_count++] = {
        copy_value(ranked->context, value, ranked->by_value, ranked->length), Datum{0}, rank};
    return true;
}

namespace {

struct Order {
    SortSupportData support;
    const RankedValues *ranked;
};

}  // namespace

static bool has_keys(const Order &order) {
    return order.support.abbrev_converter != nullptr;
}

static int compare_values(const Order &order, Datum a, Datum b) {
    const auto support = const_cast<SortSupport>(&order.support);
    return has_keys(order) ? ApplySortAbbrevFullComparator(a, false, b, false, support)
                           : ApplySortComparator(a, false, b, false, support);
}

// Keys that differ tell the order of values, at a fraction of what these cost to compare.
static int compare_keys(const Order &order, const RankedValue &a, const RankedValue &b) {
    return has_keys(order)
               ? ApplySortComparator(a.key, false, b.key, false, const_cast<SortSupport>(&order.support))
               : 0;
}

// Of equal values those that differ in their bytes come in an order of these, which is the same whoever
// sorts.
static int compare_bytes(const Order &order, Datum a, Datum b) {
    if (order.ranked->by_value)
        return a < b ? -1 : a > b;
    const size_t a_size = datumGetSize(a, false, order.ranked->length);
    const size_t b_size = datumGetSize(b, false, order.ranked->length);
    const int bytes = memcmp(DatumGetPointer(a), DatumGetPointer(b), Min(a_size, b_size));
    return bytes != 0 ? bytes : (a_size > b_size) - (a_size < b_size);
}

static int compare_ranked(const void *a, const void *b, void *context) {
    const Order &order = *static_cast<const Order *>(context);
    CHECK_FOR_INTERRUPTS();
    const auto &left = *static_cast<const RankedValue *>(a);
    const auto &right = *static_cast<const RankedValue *>(b);
    int compared = compare_keys(order, left, right);
    if (compared == 0)
        compared = compare_values(order, left.value, right.value);
    return compared != 0 ? compared : compare_bytes(order, left.value, right.value);
}

void finish_ranked(RankedValues *ranked, Oid order_operator, Oid collation, bool is_shared) {
    Order order = {};
    order.ranked = ranked;
    order.support.ssup_cxt = CurrentMemoryContext;
    order.support.ssup_collation = collation;
    order.support.abbreviate = true;
    PrepareSortSupportFromOrderingOp(order_operator, &order.support);
    for (uint64 i = 0; has_keys(order) && i < ranked->entry_count; i++) {
        CHECK_FOR_INTERRUPTS();
        ranked->entries[i].key = order.support.abbrev_converter(ranked->entries[i].value, &order.support);
    }
    qsort_arg(ranked->entries, ranked->entry_count, sizeof(RankedValue), compare_ranked, &order);
    MemoryContext caller = MemoryContextSwitchTo(ranked->context);
    ranked->values = allocate<Datum>(ranked->entry_count + 1);
    MemoryContextSwitchTo(caller);
    for (uint64 i = 0; i < ranked->entry_count; i++) {
        const RankedValue &entry = ranked->entries[i];
        const Datum before = i == 0 ? Datum{0} : ranked->values[ranked->count - 1];
        if (i == 0 || (is_shared ? compare_values(order, before, entry.value)
                                 : compare_bytes(order, before, entry.value)) != 0)
            ranked->values[ranked->count++] = entry.value;
        *entry.rank = ranked->count - 1;
    }
}

}  // namespace pg_gpu::plan
