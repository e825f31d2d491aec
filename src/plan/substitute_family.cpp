// ST_DWithin, ST_Intersects and the like tell the planner which condition of an index they imply, but only
// where the index's operator family is one of GiST, SP-GiST or BRIN. So the planner's own note of an index,
// which lasts as long as it plans a statement, has GiST's default family for the type in place of ours, if
// ours has all of its operators. The executor looks strategies up in the index's own family, which has the
// same operators under numbers of its own.
#include "plan/substitute_family.h"

#include "access_methods.h"

extern "C" {
#include "optimizer/plancat.h"
}

namespace pg_gpu::plan {

static get_relation_info_hook_type previous_hook = nullptr;

// Has `family` every operator of `other`, for the same purpose?
static bool has_operators_of(Oid family, Oid other) {
    CatCList *operators = SearchSysCacheList1(AMOPSTRATEGY, ObjectIdGetDatum(other));
    bool has_all = operators->n_members > 0;
    for (int i = 0; has_all && i < operators->n_members; i++) {
        const auto *member =
            reinterpret_cast<const FormData_pg_amop *>(GETSTRUCT(&operators->members[i]->tuple));
        has_all = SearchSysCacheExists3(AMOPOPID, ObjectIdGetDatum(member->amopopr),
                                        CharGetDatum(member->amoppurpose), ObjectIdGetDatum(family));
    }
    ReleaseCatCacheList(operators);
    return has_all;
}

// Statements on one table follow one another, and the default operator class is looked for among all of
// GiST's.
static Oid family_of_gist(Oid type) {
    static Oid last_type = InvalidOid;
    static Oid last_family = InvalidOid;
    if (type != last_type || !SearchSysCacheExists1(OPFAMILYOID, ObjectIdGetDatum(last_family))) {
        const Oid operator_class = GetDefaultOpClass(type, GIST_AM_OID);
        last_family = OidIsValid(operator_class) ? get_opclass_family(operator_class) : InvalidOid;
        last_type = type;
    }
    return last_family;
}

static void lend_families(PlannerInfo *root, Oid table, bool is_parent, RelOptInfo *relation) {
    if (previous_hook != nullptr)
        previous_hook(root, table, is_parent, relation);
    ListCell *cell;
    foreach (cell, relation->indexlist) {
        auto *index = lfirst_node(IndexOptInfo, cell);
        const Method *method = find_access_method(index);
        if (method == nullptr || method->finds_roughly == nullptr)
            continue;
        for (int column = 0; column < index->nkeycolumns; column++) {
            if (!method->finds_roughly(index->opcintype[column]))
                continue;
            const Oid family = family_of_gist(index->opcintype[column]);
            if (OidIsValid(family) && has_operators_of(index->opfamily[column], family))
                index->opfamily[column] = family;
        }
    }
}

void register_substitute_families() {
    previous_hook = get_relation_info_hook;
    get_relation_info_hook = lend_families;
}

}  // namespace pg_gpu::plan
