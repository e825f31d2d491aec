#include "plan/query/wanted_rows.h"

#include "compat.h"

namespace pg_gpu::plan {

// More rows than that are better sorted by PostgreSQL alone.
static constexpr int64 kMaxTop = 1000000;

// A constant's number; -1: it isn't one that is known, or is NULL, which means all rows.
static int64 constant_number(const Node *node) {
    if (node == nullptr || !IsA(node, Const) || reinterpret_cast<const Const *>(node)->constisnull)
        return -1;
    return DatumGetInt64(reinterpret_cast<const Const *>(node)->constvalue);
}

int64 wanted_rows(const Query *query) {
    const int64 count = constant_number(query->limitCount);
    const int64 offset = query->limitOffset == nullptr ? 0 : constant_number(query->limitOffset);
    return count < 0 || offset < 0 || count > kMaxTop || offset > kMaxTop ? 0 : count + offset;
}

bool is_own_order(Oid operator_oid, Oid type, bool *descending) {
    Oid family;
    Oid operand;
    return find_ordering(operator_oid, &family, &operand, descending) &&
           family == lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
}

}  // namespace pg_gpu::plan
