#include "functions/values.h"

#include "memory.h"

namespace pg_gpu::functions {

// Returns the left type of the operators that compare a column with constants. An operator class of any type
// has those of the column's type for hash, or for btree where it has none for hash.
static Oid left_type(Relation index, int column) {
    const Oid type = kary::left_type(index, column);
    if (OidIsValid(type))
        return type;
    const Oid column_type = getBaseType(TupleDescAttr(RelationGetDescr(index), column)->atttypid);
    return lookup_type_cache(column_type, TYPECACHE_BTREE_OPFAMILY)->btree_opintype;
}

Oid comparable_type(Relation index, int column, Oid type) {
    const Oid base = getBaseType(type);
    const Oid left = left_type(index, column);
    if (OidIsValid(get_opfamily_member(index->rd_opfamily[column], left, base, BTEqualStrategyNumber)))
        return base;
    // Arrays, enums and the like share operators, but only values of one type are comparable.
    const bool is_shared = get_typtype(left) == TYPTYPE_PSEUDO;
    const Oid column_type =
        is_shared ? getBaseType(TupleDescAttr(RelationGetDescr(index), column)->atttypid) : left;
    if (is_shared ? base == column_type : IsBinaryCoercible(base, left))
        return column_type;
    ereport(ERROR,
            (errcode(ERRCODE_DATATYPE_MISMATCH),
             errmsg("a value of type %s cannot be compared with column \"%s\" of index \"%s\"",
                    format_type_be(type), NameStr(TupleDescAttr(RelationGetDescr(index), column)->attname),
                    RelationGetRelationName(index)),
             errhint("Cast the value to %s.", format_type_be(column_type))));
}

bool is_record_type(Oid type) {
    return type == RECORDOID || get_typtype(getBaseType(type)) == TYPTYPE_COMPOSITE;
}

[[noreturn]] static void report_too_many(Relation index, bool is_row) {
    const int columns = IndexRelationGetNumberOfKeyAttributes(index);
    const char *name = RelationGetRelationName(index);
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
             is_row ? errmsg("row has more fields than index \"%s\" has columns", name)
                    : errmsg("array has more elements than index \"%s\" has columns", name),
             errdetail_plural("The index has %d column.", "The index has %d columns.", columns, columns)));
}

void read_record(Relation index, HeapTupleHeader record, ColumnValues *values) {
    TupleDesc descriptor =
        lookup_rowtype_tupdesc(HeapTupleHeaderGetTypeId(record), HeapTupleHeaderGetTypMod(record));
    HeapTupleData tuple = {};
    tuple.t_len = HeapTupleHeaderGetDatumLength(record);
    ItemPointerSetInvalid(&tuple.t_self);
    tuple.t_data = record;
    values->count = 0;
    for (int i = 0; i < descriptor->natts; i++) {
        const Form_pg_attribute field = TupleDescAttr(descriptor, i);
        if (field->attisdropped)
            continue;
        const int column = values->count++;
        if (column == IndexRelationGetNumberOfKeyAttributes(index))
            report_too_many(index, true);
        values->values[column] = heap_getattr(&tuple, i + 1, descriptor, &values->nulls[column]);
        // A bare NULL has type text in a row constructor.
        if (!values->nulls[column])
            values->types[column] = comparable_type(index, column, field->atttypid);
    }
    ReleaseTupleDesc(descriptor);
}

Elements read_elements(ArrayType *array) {
    int16 length;
    bool by_value;
    char alignment;
    get_typlenbyvalalign(ARR_ELEMTYPE(array), &length, &by_value, &alignment);
    Elements elements;
    deconstruct_array(array, ARR_ELEMTYPE(array), length, by_value, alignment, &elements.values,
                      &elements.nulls, &elements.count);
    return elements;
}

void read_columns(Relation index, Oid type, const Datum *elements, const bool *nulls, int count,
                  ColumnValues *values) {
    if (count > IndexRelationGetNumberOfKeyAttributes(index))
        report_too_many(index, false);
    values->count = count;
    for (int i = 0; i < count; i++) {
        values->values[i] = elements[i];
        values->nulls[i] = nulls[i];
        if (!nulls[i])
            values->types[i] = comparable_type(index, i, type);
    }
}

}  // namespace pg_gpu::functions
