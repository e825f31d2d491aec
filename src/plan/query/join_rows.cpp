#include "plan/query/join_rows.h"

#include "memory.h"
#include "plan/query/aggregate_compile.h"
#include "plan/query/aggregate_results.h"
#include "plan/query/aggregate_scan.h"
#include "plan/query/join_cache.h"

namespace pg_gpu::plan {

// ---- keys -------------------------------------------------------------------------------------------------

static bool is_column(const Expr *expression) {
    return IsA(expression, Var);
}

// Integers of SQL, of whatever widths, are equal if their numbers are, and so are dates.
static bool is_by_number(const JoinedTable &table) {
    if (!is_column(table.outer) || !is_column(table.inner))
        return false;
    const auto type_of = [](const Expr *expression) {
        return getBaseType(exprType(reinterpret_cast<const Node *>(expression)));
    };
    const Oid outer = type_of(table.outer);
    const Oid inner = type_of(table.inner);
    if (op_in_opfamily(table.equality, INTEGER_BTREE_FAM_OID))
        return true;
    return outer == DATEOID && inner == DATEOID &&
           table.equality == lookup_type_cache(DATEOID, TYPECACHE_EQ_OPR)->eq_opr;
}

// What a row takes, values that lie elsewhere aside.
static size_t row_bytes(const JoinedTable &table) {
    return static_cast<size_t>(table.columns) * (sizeof(Datum) + sizeof(bool)) + sizeof(Datum) +
           3 * sizeof(uint32);
}

static void describe_rows(JoinedRows *rows, const JoinedTable &table) {
    rows->table = table;
    Oid hash_outer;
    Oid hash_inner;
    if (!get_op_hash_functions(table.equality, &hash_outer, &hash_inner))
        ereport(ERROR, (errcode(ERRCODE_UNDEFINED_FUNCTION),
                        errmsg("operator %u has no hash functions any more", table.equality)));
    fmgr_info(hash_outer, &rows->hash_outer);
    fmgr_info(hash_inner, &rows->hash_inner);
    fmgr_info(get_opcode(table.equality), &rows->equal);
    rows->outer = ExecInitExpr(table.outer, nullptr);
    rows->inner = ExecInitExpr(table.inner, nullptr);
    rows->is_by_number = is_by_number(table);
    rows->outer_type =
        column::describe_type(exprType(reinterpret_cast<const Node *>(table.outer)), InvalidOid);
    rows->inner_type =
        column::describe_type(exprType(reinterpret_cast<const Node *>(table.inner)), InvalidOid);
    rows->codes = allocate_zeroed<ColumnCodes>(static_cast<size_t>(table.columns) + 1);
}

static void make_room(JoinedRows *rows, size_t count) {
    const auto columns = static_cast<size_t>(rows->table.columns);
    rows->values = allocate<Datum>(count * columns + 1);
    rows->nulls = allocate<bool>(count * columns + 1);
}

// Begins with room for the expected rows, if that many can be cached.
static void begin_rows(JoinedRows *rows, size_t limit) {
    constexpr size_t least_room = 64;
    const size_t wanted = Min(static_cast<size_t>(rows->table.rows), limit / row_bytes(rows->table) / 2);
    rows->room = pg_nextpower2_32(static_cast<uint32>(Max(wanted, least_room)));
    make_room(rows, rows->room);
    rows->keys = allocate<Datum>(rows->room);
    rows->key_stride = 1;
    rows->hashes = allocate<uint32>(rows->room);
    rows->mask = 2 * rows->room - 1;
    rows->slots = allocate_zeroed<uint32>(size_t{rows->mask} + 1);
}

static int64 number_of(const column::ColumnType &type, Datum key) {
    return number_of_code(type, column::encode_integer(type, key));
}

// Hashes a key, or what is compared with one. The type and the function are that side's.
static uint32 hash_key(const JoinedRows &rows, const column::ColumnType &type, FmgrInfo *function,
                       Datum key) {
    if (rows.is_by_number) {
        // Sixteen keys in a row have slots beside each other, which share a line of the processor's cache.
        const auto number = static_cast<uint64>(number_of(type, key));
        return static_cast<uint32>((number >> 4) * UINT64CONST(0x9e3779b97f4a7c15) >> 32) << 4 |
               (number & 15);
    }
    return murmurhash32(DatumGetUInt32(FunctionCall1Coll(function, rows.table.collation, key)));
}

// The number of the row whose key is equal to one of the type by the function; kNoMatch without one.
static uint32 find_equal(const JoinedRows &rows, uint32 hash, const column::ColumnType &type, FmgrInfo *equal,
                         Datum key) {
    for (uint32 slot = hash & rows.mask; rows.slots[slot] != 0; slot = (slot + 1) & rows.mask) {
        const uint32 number = rows.slots[slot];
        if (rows.hashes[number - 1] != hash)
            continue;
        const Datum other = key_of_row(rows, number - 1);
        if (rows.is_by_number ? number_of(type, key) == number_of(rows.inner_type, other)
                              : DatumGetBool(FunctionCall2Coll(equal, rows.table.collation, key, other)))
            return number;
    }
    return kNoMatch;
}

// Row number `row` + 1 takes the first free slot from its hash on.
static void add_slot(JoinedRows *rows, uint32 row) {
    uint32 slot = rows->hashes[row] & rows->mask;
    while (rows->slots[slot] != 0)
        slot = (slot + 1) & rows->mask;
    rows->slots[slot] = row + 1;
}

static void grow(JoinedRows *rows) {
    const auto columns = static_cast<size_t>(rows->table.columns);
    rows->room *= 2;
    rows->values = reallocate(rows->values, rows->room * columns + 1);
    rows->nulls = reallocate(rows->nulls, rows->room * columns + 1);
    rows->keys = reallocate(rows->keys, rows->room);
    rows->hashes = reallocate(rows->hashes, rows->room);
    rows->mask = 2 * rows->room - 1;
    rows->slots = reallocate(rows->slots, size_t{rows->mask} + 1);
    memset(rows->slots, 0, (size_t{rows->mask} + 1) * sizeof(uint32));
    for (uint32 i = 0; i < rows->count; i++)
        add_slot(rows, i);
}

uint32 find_key(JoinedRows *rows, Datum key) {
    if (rows->numbers > 0) {
        index_rows(rows);
        const uint64 place =
            static_cast<uint64>(number_of(rows->outer_type, key)) - static_cast<uint64>(rows->least_number);
        return place < rows->numbers ? rows->by_number[place] : kNoMatch;
    }
    const uint32 hash = hash_key(*rows, rows->outer_type, &rows->hash_outer, key);
    return find_equal(*rows, hash, rows->outer_type, &rows->equal, key);
}

uint32 find_match(JoinedRows *rows, ExprContext *context, TupleTableSlot *row) {
    context->ecxt_scantuple = row;
    bool is_null;
    const Datum key = ExecEvalExprSwitchContext(rows->outer, context, &is_null);
    return is_null ? kNoMatch : find_key(rows, key);
}

void put_match(const JoinedRows &rows, uint32 number, TupleTableSlot *row) {
    const auto columns = static_cast<size_t>(rows.table.columns);
    Datum *values = row->tts_values + rows.table.first;
    bool *nulls = row->tts_isnull + rows.table.first;
    if (number == kNoMatch) {
        memset(nulls, 1, columns);
        return;
    }
    memcpy(values, rows.values + (number - 1) * columns, columns * sizeof(Datum));
    memcpy(nulls, rows.nulls + (number - 1) * columns, columns);
}

void put_matches(JoinedTables *tables, ExprContext *context, TupleTableSlot *row) {
    for (int i = 0; i < tables->count; i++) {
        JoinedRows *rows = &tables->table[i];
        put_match(*rows, find_match(rows, context, row), row);
    }
}

// ---- reading ----------------------------------------------------------------------------------------------

static constexpr uint32 kRowsPerInterrupt = 65536;

// Why rows can't be joined.
static constexpr const char *kSeveralRows = "several rows of a joined table have the same key";
static constexpr const char *kNoRoom = "work_mem has no room for a joined table's rows";

// The equality of two keys, which the join's isn't where it is one of two types.
static Oid equality_of_keys(Oid equality) {
    Oid outer;
    Oid inner;
    op_input_types(equality, &outer, &inner);
    return outer == inner ? equality : lookup_type_cache(inner, TYPECACHE_EQ_OPR)->eq_opr;
}

static Datum copy_datum(Datum value, const FormData_pg_attribute &attribute, size_t *bytes) {
    if (attribute.attbyval)
        return value;
    const Datum copy = attribute.attlen == -1 ? PointerGetDatum(PG_DETOAST_DATUM_COPY(value))
                                              : datumCopy(value, attribute.attbyval, attribute.attlen);
    *bytes += MAXALIGN(datumGetSize(copy, false, attribute.attlen));
    return copy;
}

namespace {

// What reading a table takes.
struct Reading {
    JoinedTables *tables;
    JoinedRows *rows;
    ExprContext *context;
    TupleTableSlot *joined;  // a joined row, of which only the table's columns are there
    FmgrInfo equal;          // of two keys
    size_t limit;
};

}  // namespace

// nullptr, or why the row can't be added.
static const char *add_joined_row(Reading *reading, TupleTableSlot *from) {
    JoinedRows *rows = reading->rows;
    const auto columns = static_cast<size_t>(rows->table.columns);
    TupleTableSlot *joined = reading->joined;
    slot_getallattrs(from);
    memcpy(joined->tts_values + rows->table.first, from->tts_values, columns * sizeof(Datum));
    memcpy(joined->tts_isnull + rows->table.first, from->tts_isnull, columns);
    reading->context->ecxt_scantuple = joined;
    ResetExprContext(reading->context);
    bool is_null;
    const Datum key = ExecEvalExprSwitchContext(rows->inner, reading->context, &is_null);
    if (is_null)
        return nullptr;
    const uint32 hash = hash_key(*rows, rows->inner_type, &rows->hash_inner, key);
    if (find_equal(*rows, hash, rows->inner_type, &reading->equal, key) != kNoMatch)
        return rows->table.type == JOIN_SEMI || rows->table.type == JOIN_ANTI ? nullptr : kSeveralRows;
    if (rows->count == rows->room)
        grow(rows);
    size_t *bytes = &reading->tables->bytes;
    *bytes += row_bytes(rows->table);
    Datum *values = rows->values + rows->count * columns;
    bool *nulls = rows->nulls + rows->count * columns;
    for (size_t i = 0; i < columns; i++) {
        nulls[i] = from->tts_isnull[i];
        values[i] = nulls[i]
                        ? Datum{0}
                        : copy_datum(from->tts_values[i],
                                     *TupleDescAttr(from->tts_tupleDescriptor, static_cast<int>(i)), bytes);
    }
    // All that the rows take is within the limit, so that something of it may be left for others.
    if (*bytes > reading->limit || rows->count >= UINT32_MAX / 8)
        return kNoRoom;
    // From the copied values.
    memcpy(joined->tts_values + rows->table.first, values, columns * sizeof(Datum));
    rows->keys[rows->count] = ExecEvalExpr(rows->inner, reading->context, &is_null);
    rows->hashes[rows->count] = hash;
    add_slot(rows, rows->count++);
    return nullptr;
}

static const char *read_rows(Reading *reading, PlanState *plan) {
    const char *problem = nullptr;
    MemoryContext caller = CurrentMemoryContext;
    while (problem == nullptr) {
        CHECK_FOR_INTERRUPTS();
        // What it opens on its way lasts as long as the plan.
        MemoryContextSwitchTo(plan->state->es_query_cxt);
        TupleTableSlot *row = ExecProcNode(plan);
        MemoryContextSwitchTo(caller);
        if (TupIsNull(row))
            break;
        problem = add_joined_row(reading, row);
    }
    ResetExprContext(reading->context);
    return problem;
}

// ---- rows by their keys' numbers --------------------------------------------------------------------------

// Do numbers lie so close to each other that rows are found by them, and has memory room for that?
static bool is_dense(JoinedRows *rows, size_t room) {
    constexpr uint64 few_numbers = uint64{1} << 16;
    constexpr uint64 numbers_per_row = 16;
    int64 least = PG_INT64_MAX;
    int64 greatest = PG_INT64_MIN;
    for (uint32 i = 0; i < rows->count; i++) {
        const int64 number = number_of(rows->inner_type, key_of_row(*rows, i));
        least = Min(least, number);
        greatest = Max(greatest, number);
    }
    const uint64 range = static_cast<uint64>(greatest) - static_cast<uint64>(least);
    if (rows->count == 0 || range >= numbers_per_row * rows->count + few_numbers ||
        (range + 1) * sizeof(uint32) > room)
        return false;
    rows->least_number = least;
    rows->numbers = range + 1;
    return true;
}

static uint64 distance_of_row(const JoinedRows &rows, uint32 row) {
    return static_cast<uint64>(number_of(rows.inner_type, key_of_row(rows, row))) -
           static_cast<uint64>(rows.least_number);
}

// Of rows that are found by their numbers: have some of them the same key?
static bool has_equal_numbers(const JoinedRows &rows) {
    auto *seen = allocate_zeroed<uint64>(rows.numbers / 64 + 1);
    bool has_equals = false;
    for (uint32 i = 0; i < rows.count; i++) {
        if (i % kRowsPerInterrupt == 0)
            CHECK_FOR_INTERRUPTS();
        const uint64 distance = distance_of_row(rows, i);
        const uint64 bit = UINT64CONST(1) << (distance % 64);
        has_equals = has_equals || (seen[distance / 64] & bit) != 0;
        seen[distance / 64] |= bit;
    }
    pfree(seen);
    return has_equals;
}

// Of several rows with the same key the first one is found.
void index_rows(JoinedRows *rows) {
    if (rows->numbers == 0 || rows->by_number != nullptr)
        return;
    if (rows->cached != nullptr && rows->cached->by_number != nullptr) {
        rows->by_number = rows->cached->by_number;
        return;
    }
    MemoryContext caller = MemoryContextSwitchTo(rows->context);
    auto *by_number = allocate_zeroed<uint32>(rows->numbers);
    MemoryContextSwitchTo(caller);
    for (uint32 i = rows->count; i > 0; i--) {
        if (i % kRowsPerInterrupt == 0)
            CHECK_FOR_INTERRUPTS();
        by_number[distance_of_row(*rows, i - 1)] = i;
    }
    rows->by_number = by_number;
    if (rows->cached != nullptr)
        cache_index(*rows);
}

// The same by hashes, for keys that are numbers.
static void index_by_hash(JoinedRows *rows, bool *has_equals) {
    const uint32 slots = 2 * pg_nextpower2_32(Max(rows->count, 1U));
    rows->hashes = allocate<uint32>(size_t{rows->count} + 1);
    rows->slots = allocate_zeroed<uint32>(slots);
    rows->mask = slots - 1;
    *has_equals = false;
    for (uint32 i = 0; i < rows->count; i++) {
        if (i % kRowsPerInterrupt == 0)
            CHECK_FOR_INTERRUPTS();
        const uint32 hash = hash_key(*rows, rows->inner_type, &rows->hash_inner, key_of_row(*rows, i));
        rows->hashes[i] = hash;
        if (find_equal(*rows, hash, rows->inner_type, &rows->equal, key_of_row(*rows, i)) != kNoMatch)
            *has_equals = true;
        else
            add_slot(rows, i);
    }
}

// ---- rows that are groups ---------------------------------------------------------------------------------

// Leaves codes to those values only that rows have.
static void compact_codes(uint32 rows, ColumnCodes *codes) {
    const uint32 of_null = codes->count;
    auto *numbers = allocate_zeroed<uint32>(size_t{codes->count} + 1);
    codes->count = 0;
    for (uint32 i = 0; i < rows; i++)
        if (codes->by_row[i] != of_null && numbers[codes->by_row[i]] == 0)
            numbers[codes->by_row[i]] = ++codes->count;
    numbers[of_null] = codes->count + 1;
    for (uint32 i = 0; i < rows; i++)
        codes->by_row[i] = numbers[codes->by_row[i]] - 1;
    pfree(numbers);
}

// Copies the values, which may lie in the answer's memory, and their codes. False: a key is NULL.
static bool copy_groups(JoinedRows *rows, const AggregateOutput &result) {
    const auto columns = static_cast<size_t>(rows->table.columns);
    rows->count = static_cast<uint32>(result.groups.groups);
    make_room(rows, rows->count);
    for (int i = 0; i < rows->table.columns; i++) {
        ColumnCodes *codes = &rows->codes[i];
        codes->count = count_common_values(result, i);
        codes->by_row = codes->count == 0 ? nullptr : allocate<uint32>(size_t{rows->count} + 1);
        read_key_column(result, i, {columns, rows->values + i, rows->nulls + i, codes->by_row});
        if (codes->by_row != nullptr)
            compact_codes(rows->count, codes);
    }
    const size_t key = static_cast<size_t>(castNode(Var, rows->table.inner)->varattno) - 1 -
                       static_cast<size_t>(rows->table.first);
    rows->keys = rows->values + key;
    rows->key_stride = columns;
    bool any_null = false;
    for (uint32 i = 0; i < rows->count; i++)
        any_null = any_null || rows->nulls[i * columns + key];
    return !any_null;
}

// Puts a column's values that lie elsewhere into the current memory context. False: they have no codes.
static bool copy_column(JoinedRows *rows, const FormData_pg_attribute &attribute, int column) {
    const auto columns = static_cast<size_t>(rows->table.columns);
    const ColumnCodes &codes = rows->codes[column];
    if (attribute.attbyval)
        return true;
    if (codes.by_row == nullptr)
        return false;
    auto *copies = allocate_zeroed<Datum>(size_t{codes.count} + 1);
    for (uint32 i = 0; i < rows->count; i++) {
        const size_t place = i * columns + static_cast<size_t>(column);
        Datum *copy = &copies[codes.by_row[i]];
        if (rows->nulls[place])
            continue;
        if (*copy == Datum{0})
            *copy = datumCopy(rows->values[place], false, attribute.attlen);
        rows->values[place] = *copy;
    }
    pfree(copies);
    return true;
}

static bool copy_columns(JoinedRows *rows, PlanState *plan) {
    TupleDesc described = ExecGetResultType(plan);
    for (int i = 0; i < rows->table.columns; i++)
        if (!copy_column(rows, *TupleDescAttr(described, i), i))
            return false;
    return true;
}

// Takes the groups of the table's GpuAggregate as they are, into the current memory context. False: they must
// be read row by row.
static bool take_groups(JoinedTables *tables, JoinedRows *rows, PlanState *plan, size_t limit,
                        const char **problem) {
    if (!rows->is_by_number)
        return false;
    MemoryContext caller = MemoryContextSwitchTo(plan->state->es_query_cxt);
    const AggregateOutput *result = whole_result(plan);
    MemoryContextSwitchTo(caller);
    const auto columns = static_cast<size_t>(rows->table.columns);
    const size_t row_size = row_bytes(rows->table) + columns * sizeof(uint32);
    if (result == nullptr || result->key_count != rows->table.columns ||
        result->groups.groups >= UINT32_MAX / 8 ||
        result->groups.groups > (limit - Min(tables->bytes, limit)) / row_size)
        return false;
    if (!copy_groups(rows, *result)) {
        memset(rows->codes, 0, columns * sizeof(ColumnCodes));
        rows->count = 0;
        return false;
    }
    tables->bytes += rows->count * row_size;
    bool has_equals;
    if (is_dense(rows, limit - tables->bytes)) {
        tables->bytes += rows->numbers * sizeof(uint32);
        has_equals = has_equal_numbers(*rows);
    } else {
        index_by_hash(rows, &has_equals);
    }
    if (plan->instrument != nullptr)
        InstrUpdateTupleCount(plan->instrument, rows->count);
    if (has_equals && rows->table.type != JOIN_SEMI && rows->table.type != JOIN_ANTI)
        *problem = kSeveralRows;
    return true;
}

static const char *read_one_by_one(JoinedTables *tables, JoinedRows *rows, PlanState *plan,
                                   ExprContext *context, size_t limit) {
    Reading reading = {tables, rows, context, MakeSingleTupleTableSlot(tables->row, &TTSOpsVirtual),
                       {},     limit};
    begin_rows(rows, limit - tables->bytes);
    fmgr_info(get_opcode(equality_of_keys(rows->table.equality)), &reading.equal);
    ExecStoreAllNullTuple(reading.joined);
    const char *problem = read_rows(&reading, plan);
    // They can be found by their hashes, too, so this mustn't take the room that others need.
    constexpr size_t share = 16;
    if (problem == nullptr && rows->is_by_number && is_dense(rows, (limit - tables->bytes) / share))
        tables->bytes += rows->numbers * sizeof(uint32);
    return problem;
}

// Those of an earlier statement, if nothing in the table has changed. Returns nullptr, or why rows can't be
// read, in words.
static const char *read_table(JoinedTables *tables, JoinedRows *rows, PlanState *plan, ExprContext *context,
                              size_t limit) {
    const RowCacheEntry place = begin_cached(*rows, plan);
    const char *problem = nullptr;
    if (find_cached(place, plan, rows)) {
        tables->cached++;
    } else {
        MemoryContext room = place.key.expression == nullptr ? nullptr : column::begin_results(1);
        MemoryContext caller = room == nullptr ? CurrentMemoryContext : MemoryContextSwitchTo(room);
        const bool are_groups = take_groups(tables, rows, plan, limit, &problem);
        if (!are_groups)
            problem = read_one_by_one(tables, rows, plan, context, limit);
        if (problem == nullptr && room != nullptr && (!are_groups || copy_columns(rows, plan)))
            cache_rows(place, rows);
        MemoryContextSwitchTo(caller);
    }
    end_cached(place);
    return problem;
}

List *joined_plans(const CustomScanState *node, bool are_read) {
    List *plans = list_copy_tail(node->custom_ps, 1);
    MemoryContext caller = MemoryContextSwitchTo(node->ss.ps.state->es_query_cxt);
    ListCell *cell;
    foreach (cell, plans) {
        auto *plan = static_cast<PlanState *>(lfirst(cell));
        if (are_read && plan->chgParam == nullptr)
            ExecReScan(plan);
    }
    MemoryContextSwitchTo(caller);
    return plans;
}

static TupleDesc describe_joined_row(const List *joins, const List *plans, TupleDesc index_row) {
    int columns = index_row->natts;
    for (int i = 0; i < list_length(joins); i++)
        columns += unpack_joined_table(joins, i).columns;
    TupleDesc row = CreateTemplateTupleDesc(columns);
    AttrNumber column = 0;
    for (int i = 0; i < index_row->natts; i++)
        TupleDescCopyEntry(row, ++column, index_row, static_cast<AttrNumber>(i + 1));
    for (int i = 0; i < list_length(joins); i++) {
        TupleDesc of_plan = ExecGetResultType(static_cast<PlanState *>(list_nth(plans, i)));
        for (int j = 0; j < of_plan->natts; j++)
            TupleDescCopyEntry(row, ++column, of_plan, static_cast<AttrNumber>(j + 1));
    }
    return row;
}

JoinedTables *read_joined_tables(const List *joins, const List *plans, TupleDesc index_row,
                                 ExprContext *context, size_t limit, const char **problem) {
    auto *tables = allocate_zeroed<JoinedTables>(1);
    tables->count = list_length(joins);
    tables->table = allocate_zeroed<JoinedRows>(static_cast<size_t>(tables->count) + 1);
    tables->row = describe_joined_row(joins, plans, index_row);
    tables->index_columns = index_row->natts;
    *problem = nullptr;
    for (int i = 0; i < tables->count && *problem == nullptr; i++) {
        JoinedRows *rows = &tables->table[i];
        auto *plan = static_cast<PlanState *>(list_nth(plans, i));
        describe_rows(rows, unpack_joined_table(joins, i));
        rows->context = CurrentMemoryContext;
        *problem = read_table(tables, rows, plan, context, limit);
    }
    return tables;
}

}  // namespace pg_gpu::plan
