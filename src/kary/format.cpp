// Which types can be keys, and how an index's columns are laid out in one.
#include "kary/format.h"

#include "postgres_headers.h"

namespace pg_gpu::kary {

struct TypeCode {
    Encoding encoding;
    uint8 width;  // 0: cannot be a key
};

static TypeCode code_of(Oid type) {
    switch (type) {
        case BOOLOID:
        case CHAROID:
            return {Encoding::Unsigned, 8};
        case OIDOID:
            return {Encoding::Unsigned, 32};
        case INT2OID:
            return {Encoding::Signed, 16};
        case INT4OID:
        case DATEOID:
            return {Encoding::Signed, 32};
        case INT8OID:
        case TIMEOID:
        case TIMESTAMPOID:
        case TIMESTAMPTZOID:
            return {Encoding::Signed, 64};
        case FLOAT4OID:
            return {Encoding::Float, 32};
        case FLOAT8OID:
            return {Encoding::Float, 64};
        case MACADDROID:
            return {Encoding::Bytes, 48};
        case MACADDR8OID:
            return {Encoding::Bytes, 64};
        case UUIDOID:
            return {Encoding::Bytes, 128};
        default:
            return {Encoding::Unsigned, 0};
    }
}

bool is_key_type(Oid type) {
    return code_of(type).width > 0;
}

bool is_invertible(Oid type) {
    return code_of(type).encoding != Encoding::Float;
}

static int width_for(int bits) {
    return bits <= 32 ? 32 : bits <= 64 ? 64 : bits <= 96 ? 96 : 128;
}

int key_width(const Oid *types, int column_count) {
    int bits = 0;
    for (int i = 0; i < column_count; i++)
        bits += code_of(types[i]).width;
    return width_for(bits);
}

int key_width(Relation index) {
    return key_width(index->rd_opcintype, IndexRelationGetNumberOfKeyAttributes(index));
}

[[noreturn]] static void report_unknown_type(Relation index, Oid type) {
    ereport(ERROR, (errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
                    errmsg("an operator class of index \"%s\" is for type %s, which cannot be a key",
                           RelationGetRelationName(index), format_type_be(type)),
                    errhint("Use one of the operator classes in schema gpu.")));
}

[[noreturn]] static void report_too_wide(Relation index, int column_count, int bits) {
    StringInfoData widths;
    initStringInfo(&widths);
    for (int i = 0; i < column_count; i++)
        appendStringInfo(&widths, "%s%s %d", i > 0 ? ", " : "",
                         NameStr(TupleDescAttr(RelationGetDescr(index), i)->attname),
                         code_of(index->rd_opcintype[i]).width);
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                    errmsg("the columns of index \"%s\" take %d bits, and a key of gpu_kary has at most %d",
                           RelationGetRelationName(index), bits, kMostKeyBits),
                    errdetail("Widths in bits: %s.", widths.data),
                    errhint("Leave a column out, or use narrower types.")));
}

KeyFormat key_format(Relation index) {
    KeyFormat format;
    const int count = IndexRelationGetNumberOfKeyAttributes(index);
    int bits = 0;
    for (int i = 0; i < count; i++) {
        const uint8 width = code_of(index->rd_opcintype[i]).width;
        if (unlikely(width == 0))
            report_unknown_type(index, index->rd_opcintype[i]);
        bits += width;
    }
    if (unlikely(bits > kMostKeyBits))
        report_too_wide(index, count, bits);

    format.column_count = count;
    format.width = width_for(bits);
    format.all_null = static_cast<NullMask>((1U << count) - 1);
    for (int i = 0; i < count; i++) {
        const TypeCode code = code_of(index->rd_opcintype[i]);
        const int16 option = index->rd_indoption[i];
        bits -= code.width;
        format.columns[i] = {index->rd_opcintype[i],
                             code.encoding,
                             code.width,
                             static_cast<uint8>(bits),
                             (option & INDOPTION_DESC) != 0,
                             (option & INDOPTION_NULLS_FIRST) != 0};
    }
    return format;
}

}  // namespace pg_gpu::kary
