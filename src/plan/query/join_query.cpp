#include "plan/query/join_query.h"

namespace pg_gpu::plan {

List *pack_joined_table(const JoinedTable &table) {
    List *numbers = list_concat(
        list_make5_int(static_cast<int>(table.type), table.root, table.first, table.columns, table.previous),
        list_make2_int(table.rows, table.kept));
    return list_make5(numbers, table.outer, table.inner, list_make2_oid(table.equality, table.collation),
                      makeString(table.condition));
}

JoinedTable unpack_joined_table(const List *joins, int number) {
    const auto *packed = static_cast<const List *>(list_nth(joins, number));
    const auto *numbers = static_cast<const List *>(linitial(packed));
    const auto *operators = static_cast<const List *>(lfourth(packed));
    JoinedTable table = {};
    table.type = static_cast<JoinType>(list_nth_int(numbers, 0));
    table.root = list_nth_int(numbers, 1);
    table.first = list_nth_int(numbers, 2);
    table.columns = list_nth_int(numbers, 3);
    table.previous = list_nth_int(numbers, 4);
    table.rows = list_nth_int(numbers, 5);
    table.kept = list_nth_int(numbers, 6);
    table.outer = static_cast<Expr *>(lsecond(packed));
    table.inner = static_cast<Expr *>(lthird(packed));
    table.equality = linitial_oid(operators);
    table.collation = lsecond_oid(operators);
    table.condition = strVal(list_nth(packed, 4));
    return table;
}

int table_of_column(const List *joins, int column) {
    for (int i = list_length(joins) - 1; i >= 0; i--)
        if (unpack_joined_table(joins, i).first <= column)
            return i;
    return -1;
}

int root_of_column(const List *joins, int column) {
    const int table = table_of_column(joins, column);
    return table < 0 ? column : unpack_joined_table(joins, table).root;
}

Bitmapset *columns_of(const void *expression) {
    Bitmapset *attributes = nullptr;
    pull_varattnos(static_cast<Node *>(const_cast<void *>(expression)), 1, &attributes);
    Bitmapset *columns = nullptr;
    for (int member = bms_next_member(attributes, -1); member >= 0;
         member = bms_next_member(attributes, member))
        if (member + FirstLowInvalidHeapAttributeNumber > 0)
            columns = bms_add_member(columns, member + FirstLowInvalidHeapAttributeNumber - 1);
    bms_free(attributes);
    return columns;
}

Bitmapset *roots_of(const List *joins, const void *expression) {
    Bitmapset *columns = columns_of(expression);
    Bitmapset *roots = nullptr;
    for (int column = bms_next_member(columns, -1); column >= 0; column = bms_next_member(columns, column))
        roots = bms_add_member(roots, root_of_column(joins, column));
    bms_free(columns);
    return roots;
}

double expected_matches(const List *joins, const void *expression) {
    double most = 0;
    Bitmapset *columns = columns_of(expression);
    for (int column = bms_next_member(columns, -1); column >= 0; column = bms_next_member(columns, column)) {
        const int table = table_of_column(joins, column);
        if (table >= 0)
            most = Max(most, static_cast<double>(unpack_joined_table(joins, table).rows));
    }
    bms_free(columns);
    return most;
}

bool is_over_joined_table(const List *joins, const void *expression) {
    if (joins == NIL)
        return false;
    Bitmapset *columns = columns_of(expression);
    const bool is_over = bms_prev_member(columns, -1) >= unpack_joined_table(joins, 0).first;
    bms_free(columns);
    return is_over;
}

}  // namespace pg_gpu::plan
