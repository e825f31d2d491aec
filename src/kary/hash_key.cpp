#include "kary/hash_key.h"

#include "memory.h"

namespace pg_gpu::kary {

[[noreturn]] static void report_not_hashable(Oid type) {
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_FUNCTION),
                    errmsg("type %s has no 64-bit hash function", format_type_be(type)),
                    errdetail("An index of gpu_kary finds values of a type by support function 2 of its "
                              "default hash operator class."),
                    errhint("Index an expression of a type that has one, for example a cast to text.")));
}

ColumnHash *column_hash(Oid type, Oid collation) {
    auto *hash = allocate_zeroed<ColumnHash>(1);
    hash->type = lookup_type_cache(getBaseType(type), TYPECACHE_HASH_EXTENDED_PROC_FINFO);
    hash->collation = collation;
    if (!OidIsValid(hash->type->hash_extended_proc))
        report_not_hashable(type);
    return hash;
}

uint64 hash_value_with(FmgrInfo *function, const ColumnHash &hash, Datum value) {
    return DatumGetUInt64(FunctionCall2Coll(function, hash.collation, value, Int64GetDatum(0)));
}

uint64 hash_value(const ColumnHash &hash, Datum value) {
    return hash_value_with(&hash.type->hash_extended_proc_finfo, hash, value);
}

Oid hashed_type(Oid type) {
    return lookup_type_cache(getBaseType(type), TYPECACHE_HASH_EXTENDED_PROC)->hash_opintype;
}

// The right type of the hash operator family's equality that has this function; InvalidOid when none has.
static Oid right_type(Oid family, Oid operator_function) {
    Oid type = InvalidOid;
    CatCList *members = SearchSysCacheList1(AMOPSTRATEGY, ObjectIdGetDatum(family));
    for (int i = 0; i < members->n_members && !OidIsValid(type); i++) {
        const auto *member = reinterpret_cast<Form_pg_amop>(GETSTRUCT(&members->members[i]->tuple));
        if (member->amopstrategy == HTEqualStrategyNumber && get_opcode(member->amopopr) == operator_function)
            type = member->amoprighttype;
    }
    ReleaseCatCacheList(members);
    return type;
}

static Oid hash_function(const TypeCacheEntry *type, Oid right) {
    return right == type->type_id || right == type->hash_opintype
               ? type->hash_extended_proc
               : get_opfamily_proc(type->hash_opf, right, right, HASHEXTENDED_PROC);
}

FmgrInfo *hash_for_type(ColumnHash *hash, Oid type) {
    if (type == hash->other_type)
        return &hash->other;
    const Oid function = hash_function(hash->type, type);
    if (!OidIsValid(function))
        return nullptr;
    if (function == hash->type->hash_extended_proc)
        return &hash->type->hash_extended_proc_finfo;
    hash->operator_function = InvalidOid;
    hash->other_type = type;
    fmgr_info_cxt(function, &hash->other, GetMemoryChunkContext(hash));
    return &hash->other;
}

FmgrInfo *hash_for_operator(ColumnHash *hash, Oid operator_function) {
    if (hash->operator_function == operator_function)
        return hash->right;
    const Oid type = right_type(hash->type->hash_opf, operator_function);
    hash->right = OidIsValid(type) ? hash_for_type(hash, type) : nullptr;
    hash->operator_function = operator_function;
    return hash->right;
}

bool is_hashed_equality(Oid type, Oid operator_function) {
    const TypeCacheEntry *entry = lookup_type_cache(getBaseType(type), TYPECACHE_HASH_EXTENDED_PROC);
    const Oid right = right_type(entry->hash_opf, operator_function);
    return OidIsValid(right) && OidIsValid(hash_function(entry, right));
}

}  // namespace pg_gpu::kary
