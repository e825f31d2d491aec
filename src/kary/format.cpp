// This file says which types can be keys, and how an index's columns are laid out in one.
#include "kary/format.h"

#include "compat.h"

namespace pg_gpu::kary {

bool has_lossy_columns(Relation index) {
    for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
        if (is_lossy(encoding_of(index->rd_opcintype[i])))
            return true;
    return false;
}

static int width_for(int bits) {
    return bits <= 32 ? 32 : bits <= 64 ? 64 : bits <= 96 ? 96 : 128;
}

// Says whether the family has one of these operators on text or bpchar.
static bool has_text_operator(Oid family, Oid type, StrategyNumber first, StrategyNumber last) {
    for (StrategyNumber strategy = first; strategy <= last; strategy++)
        if (OidIsValid(get_opfamily_member(family, type, strategy < kLike ? type : TEXTOID,
                                           static_cast<int16>(strategy))))
            return true;
    return false;
}

TypeCode column_code(Oid type, Oid family) {
    const TypeCode code = code_of(type);
    return code.encoding == Encoding::Prefix && !has_text_operator(family, type, kLossyLess, kStartsWith)
               ? code_of(ANYELEMENTOID)
               : code;
}

static TypeCode column_code(Relation index, int column) {
    return column_code(index->rd_opcintype[column], index->rd_opfamily[column]);
}

int key_bits(const Oid *types, const Oid *families, int column_count) {
    int bits = 0;
    for (int i = 0; i < column_count; i++)
        bits += column_code(types[i], families[i]).width;
    return bits;
}

int key_width(const Oid *types, const Oid *families, int column_count) {
    return width_for(key_bits(types, families, column_count));
}

int key_width(Relation index) {
    return key_width(index->rd_opcintype, index->rd_opfamily, IndexRelationGetNumberOfKeyAttributes(index));
}

[[noreturn]] static void report_too_wide(Relation index, int column_count, int bits) {
    StringInfoData widths;
    initStringInfo(&widths);
    bool has_text = false;
    for (int i = 0; i < column_count; i++) {
        appendStringInfo(&widths, "%s%s %d", i > 0 ? ", " : "",
                         NameStr(TupleDescAttr(RelationGetDescr(index), i)->attname),
                         column_code(index, i).width);
        has_text = has_text || column_code(index, i).encoding == Encoding::Prefix;
    }
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                    errmsg("the columns of index \"%s\" take %d bits, and a key of gpu_kary has at most %d",
                           RelationGetRelationName(index), bits, kMaxKeyBits),
                    errdetail("Widths in bits: %s.", widths.data),
                    has_text ? errhint("Text takes 64 bits with gpu.hash_ops.")
                             : errhint("Leave a column out, or use narrower types.")));
}

KeyFormat key_format(Relation index) {
    KeyFormat format;
    const int count = IndexRelationGetNumberOfKeyAttributes(index);
    int bits = key_bits(index->rd_opcintype, index->rd_opfamily, count);
    if (unlikely(bits > kMaxKeyBits))
        report_too_wide(index, count, bits);

    format.column_count = count;
    format.width = width_for(bits);
    format.all_null = static_cast<NullMask>((1U << count) - 1);
    format.lossy = 0;
    for (int i = 0; i < count; i++) {
        const TypeCode code = column_code(index, i);
        const int16 option = index->rd_indoption[i];
        bits -= code.width;
        format.columns[i] = {index->rd_opcintype[i],
                             code.encoding,
                             code.width,
                             static_cast<uint8>(bits),
                             (option & INDOPTION_DESC) != 0,
                             (option & INDOPTION_NULLS_FIRST) != 0,
                             nullptr};
        if (is_lossy(code.encoding))
            format.lossy |= static_cast<NullMask>(1U << i);
        if (code.encoding == Encoding::Hash)
            format.columns[i].hash =
                column_hash(TupleDescAttr(RelationGetDescr(index), i)->atttypid, index->rd_indcollation[i]);
    }
    return format;
}

Oid left_type(Relation index, int column) {
    const Oid type = index->rd_opcintype[column];
    return type == ANYELEMENTOID ? hashed_type(TupleDescAttr(RelationGetDescr(index), column)->atttypid)
                                 : type;
}

Oid equality_operator(Relation index, int column, Oid type) {
    const Oid family = index->rd_opfamily[column];
    const Oid left = left_type(index, column);
    const Oid own = get_opfamily_member(family, left, type, BTEqualStrategyNumber);
    return OidIsValid(own) ? own : get_opfamily_member(family, left, left, BTEqualStrategyNumber);
}

// ---- what CREATE INDEX refuses ----------------------------------------------------------------------------

// The planner takes an index for ordered whose operator family has `<` under btree's number; lossy codes are
// not.
static void require_no_order(Relation index, int column) {
    const Oid type = index->rd_opcintype[column];
    if (!OidIsValid(get_opfamily_member(index->rd_opfamily[column], type, type, BTLessStrategyNumber)))
        return;
    ereport(ERROR, (errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
                    errmsg("an operator class of index \"%s\" orders type %s, which gpu_kary cannot",
                           RelationGetRelationName(index), format_type_be(type)),
                    errhint("Use one of the operator classes in schema gpu.")));
}

static void require_byte_order(Relation index, int column) {
    const Oid collation = index->rd_indcollation[column];
    // Does the operator family have operators that follow the collation's order?
    const bool follows =
        has_text_operator(index->rd_opfamily[column], index->rd_opcintype[column], kLossyLess, kLossyGreater);
    if (follows ? is_c_collation(collation) : get_collation_isdeterministic(collation))
        return;
    const char *name = NameStr(TupleDescAttr(RelationGetDescr(index), column)->attname);
    const char *shown = generate_collation_name(collation);
    if (follows)
        ereport(ERROR,
                (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                 errmsg("column \"%s\" of index \"%s\" has collation %s, and its operator class needs C",
                        name, RelationGetRelationName(index), shown),
                 errdetail("Its keys are the first bytes of the strings, in the order of bytes."),
                 errhint("Use COLLATE \"C\", in the queries too; or the operator class for patterns, "
                         "gpu.%s_pattern_prefix_ops; or, for equality alone, gpu.hash_ops.",
                         index->rd_opcintype[column] == BPCHAROID ? "bpchar" : "text")));
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("column \"%s\" of index \"%s\" has the nondeterministic collation %s", name,
                           RelationGetRelationName(index), shown),
                    errdetail("Strings that it calls equal begin with different bytes."),
                    errhint("Use gpu.hash_ops.")));
}

// Do values of the type hold names or char(n) under a nondeterministic collation? The hash of names ignores
// collations, and that of char(n) minds the blanks at the end then, unlike their equality.
static bool hash_defies_collation(Oid type, Oid collation) {
    type = getBaseType(type);
    if (type == NAMEOID || type == BPCHAROID)
        return OidIsValid(collation) && !get_collation_isdeterministic(collation);
    const Oid element = get_element_type(type);
    if (OidIsValid(element))
        return hash_defies_collation(element, collation);
    switch (get_typtype(type)) {
        case TYPTYPE_MULTIRANGE:
            return hash_defies_collation(get_multirange_range(type), InvalidOid);
        case TYPTYPE_RANGE:
            return hash_defies_collation(get_range_subtype(type), get_range_collation(type));
        case TYPTYPE_COMPOSITE: {
            bool defies = false;
            TupleDesc fields = lookup_rowtype_tupdesc(type, -1);
            for (int i = 0; i < fields->natts; i++) {
                const Form_pg_attribute field = TupleDescAttr(fields, i);
                defies = defies || (!field->attisdropped &&
                                    hash_defies_collation(field->atttypid, field->attcollation));
            }
            ReleaseTupleDesc(fields);
            return defies;
        }
        default:
            return false;
    }
}

static void require_hashed_collation(Relation index, int column) {
    const Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(index), column);
    if (!hash_defies_collation(attribute->atttypid, index->rd_indcollation[column]))
        return;
    ereport(ERROR,
            (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
             errmsg("column \"%s\" of index \"%s\" cannot be hashed", NameStr(attribute->attname),
                    RelationGetRelationName(index)),
             errdetail("Hashes of types name and character do not follow nondeterministic collations."),
             errhint("Index an expression, for example a cast to text.")));
}

void require_valid_columns(Relation index) {
    for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++) {
        const Encoding encoding = column_code(index, i).encoding;
        if (is_lossy(encoding))
            require_no_order(index, i);
        if (encoding == Encoding::Prefix)
            require_byte_order(index, i);
        else if (encoding == Encoding::Hash)
            require_hashed_collation(index, i);
    }
}

}  // namespace pg_gpu::kary
