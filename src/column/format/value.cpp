#include "column/format/value.h"

#include "storage/storage.h"

namespace pg_gpu::column {

static void describe_integer(ColumnType *type) {
    type->is_integer = true;
    type->is_ordered = true;
    type->width = static_cast<uint8>(type->length);
    switch (type->base_type) {
        case INT2OID:
        case INT4OID:
        case INT8OID:
        case DATEOID:
        case TIMEOID:
        case TIMESTAMPOID:
        case TIMESTAMPTZOID:
            type->code = IntegerCode::Signed;
            break;
        case FLOAT4OID:
            type->code = IntegerCode::Float4;
            break;
        case FLOAT8OID:
            type->code = IntegerCode::Float8;
            break;
        case BOOLOID:
        case CHAROID:
        case OIDOID:
            type->code = IntegerCode::Unsigned;
            break;
        default:
            // The order of enums, money and the like is left to their operators.
            type->code = IntegerCode::Unsigned;
            type->is_ordered = false;
    }
}

ColumnType describe_type(Oid oid, Oid collation) {
    ColumnType type = {};
    type.type = oid;
    type.base_type = getBaseType(oid);
    type.collation = collation;
    get_typlenbyval(oid, &type.length, &type.by_value);
    if (type.by_value)
        describe_integer(&type);
    return type;
}

static ColumnType describe(Relation index, int column) {
    const Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(index), column);
    const ColumnType type = describe_type(attribute->atttypid, index->rd_indcollation[column]);
    if (!OidIsValid(lookup_type_cache(type.base_type, TYPECACHE_EQ_OPR)->eq_opr) || type.length == -2)
        ereport(ERROR,
                (errcode(ERRCODE_DATATYPE_MISMATCH),
                 errmsg("column \"%s\" of type %s cannot be indexed by gpu_column",
                        NameStr(attribute->attname), format_type_be(type.type)),
                 errdetail("The type has no default operator class for btree or hash."),
                 errhint("Index an expression of a type that can be compared, such as a cast to text.")));
    return type;
}

Format *make_format(Relation index) {
    static_assert(sizeof(Format) <= storage::kNoteBytes);
    auto *format = allocate_zeroed<Format>(1);
    const void *note = storage::read_note(index);
    if (note != nullptr) {
        memcpy(format, note, sizeof(Format));
        return format;
    }
    format->columns = IndexRelationGetNumberOfKeyAttributes(index);
    for (int i = 0; i < format->columns; i++)
        format->types[i] = describe(index, i);
    storage::write_note(index, format, sizeof(Format));
    return format;
}

Bytes bytes_of(const ColumnType &type, Datum value) {
    if (type.length > 0)
        return {DatumGetPointer(value), static_cast<size_t>(type.length)};
    const struct varlena *plain = PG_DETOAST_DATUM_PACKED(value);
    return {VARDATA_ANY(plain), VARSIZE_ANY_EXHDR(plain)};
}

Datum datum_of(const ColumnType &type, const Bytes &bytes, ValueBuffer *buffer) {
    const size_t size = bytes.length + (type.length > 0 ? 0 : VARHDRSZ);
    if (size > buffer->room || buffer->data == nullptr) {
        buffer->room = Max(size * 2, size_t{64});
        buffer->data =
            buffer->data == nullptr ? allocate<char>(buffer->room) : reallocate(buffer->data, buffer->room);
    }
    if (type.length > 0) {
        memcpy(buffer->data, bytes.data, bytes.length);
        return PointerGetDatum(buffer->data);
    }
    SET_VARSIZE(buffer->data, size);
    memcpy(VARDATA(buffer->data), bytes.data, bytes.length);
    return PointerGetDatum(buffer->data);
}

}  // namespace pg_gpu::column
