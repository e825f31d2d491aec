#include "functions/integers.h"

#include "kary/condition.h"

namespace pg_gpu::functions {

void require_integer_type(Oid type, const char *what) {
    const Oid base = getBaseType(type);
    if (base != INT2OID && base != INT4OID && base != INT8OID)
        ereport(ERROR,
                (errcode(ERRCODE_DATATYPE_MISMATCH),
                 errmsg("%s of type %s cannot be compared with the index's keys", what, format_type_be(type)),
                 errhint("Cast it to smallint, integer or bigint.")));
}

IntegerElements read_integers(ArrayType *array) {
    const Oid base = getBaseType(ARR_ELEMTYPE(array));
    int16 length;
    bool by_value;
    char alignment;
    get_typlenbyvalalign(ARR_ELEMTYPE(array), &length, &by_value, &alignment);
    Datum *datums;
    IntegerElements elements;
    int count;
    deconstruct_array(array, ARR_ELEMTYPE(array), length, by_value, alignment, &datums, &elements.nulls,
                      &count);
    elements.count = static_cast<uint32>(count);
    elements.values = allocate<int64>(elements.count + 1);
    for (uint32 i = 0; i < elements.count; i++)
        elements.values[i] = elements.nulls[i] ? 0 : kary::integer_from_datum(datums[i], base);
    pfree(datums);
    return elements;
}

}  // namespace pg_gpu::functions
