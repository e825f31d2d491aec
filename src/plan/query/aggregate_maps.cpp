#include "plan/query/aggregate_maps.h"

#include "column/scan/cached_results.h"
#include "compat.h"
#include "plan/query/aggregate_ranged.h"

namespace pg_gpu::plan {

static bool has_passing_results(Oid function, void *) {
    return !column::gives_cacheable_results(function);
}

// A domain's constraints may change, and how XML shows bytes is a setting.
static bool has_passing_function(Node *node, void *context) {
    return node != nullptr && (IsA(node, CoerceToDomain) || IsA(node, XmlExpr) ||
                               check_functions_in_node(node, has_passing_results, context) ||
                               walk_expression(node, has_passing_function, context));
}

bool gives_cacheable_results(const Node *expression) {
    auto *node = const_cast<Node *>(expression);
    return !contain_mutable_functions(node) && !has_passing_function(node, nullptr);
}

static bool is_kind_kept(SourceKind kind, bool is_joined) {
    switch (kind) {
        case SourceKind::Truth:
        case SourceKind::Exists:
        case SourceKind::Number:
            return true;
        case SourceKind::Wide:
        case SourceKind::Narrow:
            return !is_joined;
        case SourceKind::Match:
        case SourceKind::Group:
            return is_joined;
        default:
            return false;
    }
}

// Which rows of a joined table codes lead to, if these are kept and found by the codes' own values; nullptr
// otherwise.
static Node *describe_table(const JoinedRows &rows) {
    if (rows.identity == 0 || rows.table.previous >= 0 || !IsA(rows.table.outer, Var))
        return nullptr;
    return reinterpret_cast<Node *>(
        list_make3(makeConst(INT8OID, -1, InvalidOid, sizeof(int64),
                             Int64GetDatum(static_cast<int64>(rows.identity)), false, true),
                   makeInteger(static_cast<int>(rows.table.type)), makeInteger(rows.table.first)));
}

// The same of all tables that the source is over. nullptr: of one of them it can't be told.
static List *describe_tables(const InputSource &source, const JoinedTables &joins) {
    List *tables = NIL;
    Bitmapset *columns = source.kind == SourceKind::Match ? nullptr : columns_of(source.expression);
    for (int i = 0; i < joins.count; i++) {
        const JoinedTable &table = joins.table[i].table;
        const int next = bms_next_member(columns, table.first - 1);
        if (source.kind == SourceKind::Match ? i != source.table
                                             : next < 0 || next >= table.first + table.columns)
            continue;
        Node *described = describe_table(joins.table[i]);
        if (described == nullptr)
            return nullptr;
        tables = lappend(tables, described);
    }
    bms_free(columns);
    return tables;
}

// Of numerics maps are the same whatever becomes of them. Of a list's numbers they have kinds of their own:
// without the list, ranges are kept of the same expressions.
static int kind_of_map(SourceKind kind, const column::AggregatePart &part, int column) {
    constexpr int by_list = 256;
    return static_cast<int>(kind == SourceKind::Narrow ? SourceKind::Wide : kind) +
           (column::list_of(part, column) == nullptr ? 0 : by_list);
}

// Ranges without a dictionary, and what they give. The time zone is one of the settings that results are kept
// by.
static bool are_ranges_kept(const InputSource &source, const column::AggregatePart &part) {
    return source.ranged != nullptr && column::count_places(part, source.column) == 0 &&
           (depends_on_zone_at_most(source.expression) ||
            gives_cacheable_results(reinterpret_cast<Node *>(source.expression)));
}

bool describe_map(const InputSource &source, const column::AggregatePart &part, const JoinedTables *joins,
                  column::CacheKey *key) {
    const bool is_joined = source.is_joined || source.kind == SourceKind::Match;
    auto *expression = reinterpret_cast<Node *>(source.expression);
    if (part.reader == nullptr || part.reader->stale || !is_kind_kept(source.kind, is_joined))
        return false;
    if (is_joined                                ? source.may_fail || !gives_cacheable_results(expression)
        : column::is_listed(part, source.column) ? !gives_cacheable_results(expression)
                                                 : !are_ranges_kept(source, part))
        return false;
    Node *described = expression;
    if (is_joined) {
        List *tables = describe_tables(source, *joins);
        if (tables == NIL)
            return false;
        described =
            reinterpret_cast<Node *>(list_make3(expression, tables, list_make1_oid(source.operator_oid)));
    }
    *key = {part.reader->index, part.reader->run.run_id, source.column,
            kind_of_map(source.kind, part, source.column), described};
    return true;
}

static void *copy_bytes(const void *bytes, size_t size) {
    void *copy = allocate<char>(size + 1);
    memcpy(copy, bytes, size);
    return copy;
}

void keep_map(const column::CacheKey &key, const CachedMap &map, uint64 changes) {
    const size_t null_bytes = (map.places + 63) / 64 * sizeof(uint64);
    const size_t scale_bytes = places_of_map(map);
    const size_t value_bytes = places_of_map(map) * map.width;
    const size_t bytes = sizeof(CachedMap) + value_bytes + null_bytes + scale_bytes;
    MemoryContext context = column::begin_results(bytes);
    if (context == nullptr)
        return;
    MemoryContext caller = MemoryContextSwitchTo(context);
    auto *copy = allocate<CachedMap>(1);
    *copy = map;
    copy->values = copy_bytes(map.values, value_bytes);
    copy->nulls = static_cast<const uint64 *>(copy_bytes(map.nulls, null_bytes));
    copy->scales = static_cast<const uint8 *>(copy_bytes(map.scales, scale_bytes));
    MemoryContextSwitchTo(caller);
    column::add_results(key, context, copy, changes);
}

static const Datum *copy_values(const CachedMap &map, const column::ColumnType &type) {
    auto *copies = allocate<Datum>(size_t{map.groups} + 1);
    for (uint32 i = 0; i < map.groups; i++)
        copies[i] = datumCopy(map.values_of_groups[i], type.by_value, type.length);
    return copies;
}

void share_map(const column::CacheKey &key, MemoryContext room, const CachedMap &map,
               const column::ColumnType &type, uint64 changes) {
    MemoryContext caller = MemoryContextSwitchTo(room);
    auto *copy = allocate<CachedMap>(1);
    *copy = map;
    // Every statement would look for NULLs among these again.
    if (map.nulls != nullptr && !column::is_any_set(map.nulls, (map.places + 63) / 64))
        copy->nulls = nullptr;
    if (map.values_of_groups != nullptr)
        copy->values_of_groups = copy_values(map, type);
    MemoryContextSwitchTo(caller);
    (void)column::share_results(key, room, copy, changes);
}

const uint64 *make_true_rows(const column::CacheKey &key, const column::AggregatePart &part,
                             const gpu_engine::AggregateInput &truth, uint64 changes) {
    const size_t bytes = column::groups_of(part.rows) * sizeof(uint64);
    MemoryContext context = column::begin_results(bytes);
    if (context == nullptr)
        return nullptr;
    auto *rows = static_cast<uint64 *>(MemoryContextAllocHuge(context, bytes));
    column::find_true_rows(part, key.column, static_cast<const uint64 *>(truth.values),
                           !truth.column_null_is_null && truth.of_column_null != 0, rows);
    if (!part.reader->stale && column::share_results(key, context, rows, changes))
        return rows;
    MemoryContextDelete(context);
    return nullptr;
}

}  // namespace pg_gpu::plan
