#include "plan/query/numbering.h"

#include "compat.h"

#include "access/genam.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/pg_collation_d.h"
#include "catalog/pg_enum.h"

namespace pg_gpu::plan::query {

using column::ColumnType;

// ---- compiling --------------------------------------------------------------------------------------------

// Strings are equal by their bytes by all collations that are deterministic.
static Oid collation_of_equality(Oid equality, Oid collation) {
    return OidIsValid(collation) && equality < FirstUnpinnedObjectId &&
                   get_collation_isdeterministic(collation)
               ? C_COLLATION_OID
               : collation;
}

static Oid equality_of(Oid type) {
    return lookup_type_cache(getBaseType(type), TYPECACHE_EQ_OPR)->eq_opr;
}

bool is_coded(Oid type) {
    return column::describe_type(type, InvalidOid).is_integer;
}

static uint16 append_numbering(Program *program, Oid type, Oid equality, Oid collation, bool is_alone) {
    Numbering *numbering = &program->numberings[program->numbering_count];
    *numbering = {};
    numbering->type = getBaseType(type);
    numbering->equality = equality;
    numbering->collation = collation;
    numbering->is_alone = is_alone;
    return static_cast<uint16>(program->numbering_count++);
}

uint16 add_own_numbering(Compiler *compiler, Oid type, Oid collation) {
    Program *program = compiler->program;
    const Oid equality = equality_of(type);
    // Half of them are left for values that meet others.
    if (!OidIsValid(equality) || !is_hashable(equality, type) ||
        program->numbering_count >= lengthof(program->numberings) / 2)
        return no_numbering;
    return append_numbering(program, type, equality, collation_of_equality(equality, collation), true);
}

// Arrays' and rows' equality is that of any two types, but raises an error where these differ.
static bool is_of_any_type(Oid equality) {
    Oid left;
    Oid right;
    op_input_types(equality, &left, &right);
    return IsPolymorphicType(left) || left == RECORDOID;
}

uint16 find_numbering(Compiler *compiler, Oid type, Oid collation) {
    Program *program = compiler->program;
    const Oid equality = equality_of(type);
    if (!OidIsValid(equality) || !is_hashable(equality, type)) {
        refuse(&compiler->refusal, "values of its type can't be told apart by a hash");
        return no_numbering;
    }
    const Oid used = collation_of_equality(equality, collation);
    for (uint32 i = 0; i < program->numbering_count; i++) {
        const Numbering &other = program->numberings[i];
        if (!other.is_alone && other.equality == equality && other.collation == used &&
            (other.type == getBaseType(type) || !is_of_any_type(equality)))
            return static_cast<uint16>(i);
    }
    if (program->numbering_count == lengthof(program->numberings)) {
        refuse(&compiler->refusal, "there are values of too many types");
        return no_numbering;
    }
    return append_numbering(program, type, equality, used, false);
}

// No number of SQL's is so great, so that no other constant is the same.
static constexpr uint64 kUnnumbered = UINT64CONST(1) << 63;

static uint16 add_numbered(Program *program, uint16 numbering, Datum value) {
    const Numbering &own = program->numberings[numbering];
    int16 length;
    bool by_value;
    get_typlenbyval(own.type, &length, &by_value);
    for (uint32 i = 0; i < program->numbered_count; i++)
        if (program->numbered[i].numbering == numbering &&
            datumIsEqual(program->numbered[i].value, value, by_value, length))
            return static_cast<uint16>(program->numbered[i].constant);
    MemoryContext caller = MemoryContextSwitchTo(program->context);
    program->numbered = program->numbered == nullptr
                            ? allocate<NumberedConstant>(size_t{program->numbered_count} + 1)
                            : reallocate(program->numbered, size_t{program->numbered_count} + 1);
    const engine::Constant constant = {program->numbered_count, kUnnumbered};
    const uint32 place = add_constants(program, &constant, 1);
    program->numbered[program->numbered_count++] = {numbering, datumCopy(value, by_value, length), place};
    MemoryContextSwitchTo(caller);
    return static_cast<uint16>(place);
}

Value value_of_numbered(Compiler *compiler, Oid type, Oid collation, const Const *constant) {
    Value value = make_value(no_step, Kind::Group, ValueType::int64);
    if (is_coded(type)) {
        value.coded = getBaseType(type);
        const ColumnType own = column::describe_type(type, InvalidOid);
        const uint64 number =
            constant == nullptr ? 0 : column::encode_integer(own, constant->constvalue) + offset_of_code(own);
        value.step = constant_step(compiler->program, static_cast<int64>(number), ValueType::int64);
        return value;
    }
    value.numbering = find_numbering(compiler, type, collation);
    if (value.numbering == no_numbering)
        return {};
    value.step =
        constant == nullptr
            ? constant_step(compiler->program, 0, ValueType::int64)
            : add_step(compiler->program,
                       make_step(Operation::constant, ValueType::int64,
                                 add_numbered(compiler->program, value.numbering, constant->constvalue)));
    return value;
}

bool take_numbering(Compiler *compiler, Value *constant, const Value &value) {
    Program *program = compiler->program;
    if (constant->numbering == no_numbering || value.numbering == no_numbering ||
        program->steps[constant->step].operation != Operation::constant ||
        program->numberings[constant->numbering].equality != program->numberings[value.numbering].equality)
        return false;
    constant->numbering = value.numbering;
    for (uint32 i = 0; i < program->numbered_count; i++)
        if (program->numbered[i].constant == program->steps[constant->step].left) {
            const uint16 place = add_numbered(program, value.numbering, program->numbered[i].value);
            constant->step = add_step(program, make_step(Operation::constant, ValueType::int64, place));
            break;
        }
    return true;
}

// Integers of 64 bits are signed in the engine, as money is, whose code isn't.
static bool is_ordered_code(Oid type) {
    const ColumnType own = column::describe_type(type, InvalidOid);
    return type == MONEYOID ||
           (own.is_ordered && (own.code == column::IntegerCode::Signed || own.width < sizeof(uint64)));
}

// The list that look_up steps want of an enum: what is found for a label's number is its place in the order,
// and behind that the number. *count is how many labels there are.
static engine::Constant *rank_labels(Oid type, uint32 *count) {
    uint32 room = 16;
    auto *labels = allocate<engine::Constant>(room);
    *count = 0;
    ScanKeyData key;
    ScanKeyInit(&key, Anum_pg_enum_enumtypid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(type));
    Relation enums = table_open(EnumRelationId, AccessShareLock);
    Relation index = index_open(EnumTypIdSortOrderIndexId, AccessShareLock);
    SysScanDesc scan = systable_beginscan_ordered(enums, index, nullptr, 1, &key);
    while (HeapTuple tuple = systable_getnext_ordered(scan, ForwardScanDirection)) {
        if (*count == room) {
            room *= 2;
            labels = reallocate(labels, room);
        }
        const uint64 number = reinterpret_cast<const FormData_pg_enum *>(GETSTRUCT(tuple))->oid;
        labels[*count] = {number, uint64{*count} << 32 | number};
        (*count)++;
    }
    systable_endscan_ordered(scan);
    index_close(index, AccessShareLock);
    table_close(enums, AccessShareLock);
    std::sort(labels, labels + *count,
              [](const engine::Constant &a, const engine::Constant &b) { return a.low < b.low; });
    return labels;
}

// Returns the place of a type's list among the constants; false: it has too many labels.
static bool find_ranks(Program *program, Oid type, uint32 *list) {
    constexpr uint32 max_labels = 4096;
    for (uint32 i = 0; i < program->ranked_type_count; i++) {
        *list = program->ranked_types[i].list;
        if (program->ranked_types[i].type == type)
            return true;
    }
    if (program->ranked_type_count == lengthof(program->ranked_types))
        return false;
    uint32 count;
    engine::Constant *labels = rank_labels(type, &count);
    if (count > max_labels)
        return false;
    const engine::Constant head = {count, 0};
    *list = add_constants(program, &head, 1);
    add_constants(program, labels, count);
    pfree(labels);
    program->ranked_types[program->ranked_type_count++] = {type, *list};
    return true;
}

// The engine has the numbers of an enum's labels as they are in rows, which new labels have in any order.
static bool rank_code(Compiler *compiler, Value *value) {
    uint32 list;
    if (get_typtype(value->coded) != TYPTYPE_ENUM || !find_ranks(compiler->program, value->coded, &list))
        return false;
    engine::Step ranked = make_step(Operation::look_up, ValueType::int64, value->step);
    ranked.detail = list;
    value->step = add_step(compiler->program, ranked);
    value->is_ranked = true;
    return true;
}

bool order_numbers(Compiler *compiler, Value *value, Oid collation) {
    const bool is_numbered = value->numbering != no_numbering;
    if (value->is_null || value->is_ranked || (!is_numbered && is_ordered_code(value->coded)) ||
        (!is_numbered && rank_code(compiler, value)))
        return true;
    Numbering *numbering = is_numbered ? &compiler->program->numberings[value->numbering] : nullptr;
    if (!is_numbered || collation_of_equality(numbering->equality, collation) != numbering->collation ||
        (numbering->is_ordered && numbering->order_collation != collation) ||
        !OidIsValid(lookup_type_cache(numbering->type, TYPECACHE_LT_OPR)->lt_opr)) {
        refuse(&compiler->refusal, "values are compared whose order the engine doesn't know");
        return false;
    }
    numbering->is_ordered = true;
    numbering->order_collation = collation;
    return true;
}

bool has_order(const Program &program, const Value &value, Oid collation) {
    if (value.is_null || value.numbering == no_numbering)
        return value.is_null || value.is_ranked || is_ordered_code(value.coded);
    const Numbering &numbering = program.numberings[value.numbering];
    return numbering.is_ordered && numbering.order_collation == collation;
}

bool is_own_comparison(const Program &program, const Value &value, int strategy, Oid operator_oid,
                       Oid collation) {
    if (value.is_null)
        return true;
    const bool is_numbered = value.numbering != no_numbering;
    const Oid type = is_numbered ? program.numberings[value.numbering].type : value.coded;
    const TypeCacheEntry *entry = lookup_type_cache(type, TYPECACHE_EQ_OPR | TYPECACHE_BTREE_OPFAMILY);
    if (is_numbered &&
        collation_of_equality(entry->eq_opr, collation) != program.numberings[value.numbering].collation)
        return false;
    switch (strategy) {
        case BTEqualStrategyNumber:
            return operator_oid == entry->eq_opr;
        case kNotEqualStrategy:
            return get_negator(operator_oid) == entry->eq_opr;
        default:
            return OidIsValid(entry->btree_opf) && op_in_opfamily(operator_oid, entry->btree_opf);
    }
}

// ---- executing --------------------------------------------------------------------------------------------

bool is_of_one_source(const Program &program, uint16 numbering) {
    uint32 count = 0;
    for (uint32 i = 0; i < program.source_count; i++)
        count += program.sources[i].numbering == numbering ? 1 : 0;
    for (uint32 i = 0; i < program.numbered_count; i++)
        count += program.numbered[i].numbering == numbering ? 1 : 0;
    return count == 1;
}

void begin_numbers(Program *program) {
    MemoryContext caller = MemoryContextSwitchTo(program->context);
    program->number_memory = kNumberMemory;
    for (uint32 i = 0; i < program->numbering_count; i++) {
        Numbering *numbering = &program->numberings[i];
        numbering->memory = &program->number_memory;
        if (!numbering->is_by_code)
            numbering->values = begin_values(column::describe_type(numbering->type, numbering->collation),
                                             numbering->equality, numbering->collation);
    }
    for (uint32 i = 0; i < program->numbered_count; i++)
        number_of(&program->numberings[program->numbered[i].numbering], program->numbered[i].value);
    MemoryContextSwitchTo(caller);
}

uint32 number_of(Numbering *numbering, Datum value) {
    return number_of_value(numbering->values, value, numbering->memory);
}

static void rank(Numbering *numbering) {
    const ValueTable &values = *numbering->values;
    RankedValues *ranked = begin_ranked(column::describe_type(numbering->type, numbering->order_collation),
                                        CurrentMemoryContext);
    numbering->ranks = allocate_zeroed<uint32>(size_t{values.count} + 1);
    size_t memory = MaxAllocHugeSize;
    for (uint32 i = 0; i < values.count; i++)
        add_ranked(ranked, values.values[i], &numbering->ranks[i], &memory);
    finish_ranked(ranked, lookup_type_cache(numbering->type, TYPECACHE_LT_OPR)->lt_opr,
                  numbering->order_collation, true);
    numbering->by_rank = ranked->values;
}

void finish_numbers(Program *program) {
    MemoryContext caller = MemoryContextSwitchTo(program->context);
    for (uint32 i = 0; i < program->numbering_count; i++)
        if (program->numberings[i].is_ordered && !program->numberings[i].is_by_code &&
            !program->numberings[i].is_by_space)
            rank(&program->numberings[i]);
    for (uint32 i = 0; i < program->numbered_count; i++) {
        const NumberedConstant &numbered = program->numbered[i];
        Numbering *numbering = &program->numberings[numbered.numbering];
        program->constants[numbered.constant] = {
            final_number(*numbering, number_of(numbering, numbered.value)), 0};
    }
    MemoryContextSwitchTo(caller);
}

Datum value_of_number(const Numbering &numbering, uint64 number) {
    if (!numbering.is_by_code && !numbering.is_by_space)
        return numbering.ranks == nullptr ? numbering.values->values[number] : numbering.by_rank[number];
    uint64 *const end = numbering.codes + numbering.code_count;
    return numbering.code_values[std::lower_bound(numbering.codes, end, number) - numbering.codes];
}

}  // namespace pg_gpu::plan::query
