#include "accelerate/index.h"

#include "access_methods.h"
#include "compat.h"

namespace pg_gpu::accelerate {

using plan::Proposal;

static Proposal columns_of(Relation index) {
    const Form_pg_index form = index->rd_index;
    Proposal columns = {form->indrelid, index->rd_rel->relam, 0, {}, {}};
    for (int i = 0; i < form->indnkeyatts; i++) {
        const AttrNumber column = form->indkey.values[i];
        const Proposal one = {form->indrelid,
                              columns.method,
                              1,
                              {column},
                              {GetDefaultOpClass(get_atttype(form->indrelid, column), columns.method)}};
        plan::unite(&columns, one);
    }
    return columns;
}

// Whoever sets the option by hand may have another index than we make.
static bool is_as_made(Relation index) {
    return find_access_method(index) == &gpu_column && column::maker_of(index) != Maker::User &&
           !index->rd_rel->relispartition && RelationGetIndexExpressions(index) == NIL &&
           RelationGetIndexPredicate(index) == NIL;
}

List *find_made_indexes(Relation table) {
    List *found = NIL;
    List *indexes = RelationGetIndexList(table);
    ListCell *cell;
    foreach (cell, indexes) {
        Relation index = index_open(lfirst_oid(cell), AccessShareLock);
        if (is_as_made(index)) {
            auto *made = allocate<MadeIndex>(1);
            *made = {RelationGetRelid(index), column::maker_of(index), index->rd_index->indisvalid,
                     columns_of(index)};
            found = lappend(found, made);
        }
        index_close(index, AccessShareLock);
    }
    return found;
}

bool has_columns(const Proposal &index, const Proposal &columns) {
    Proposal united = index;
    return plan::unite(&united, columns) && united.count == index.count;
}

const char *name_of(Oid relation) {
    return quote_qualified_identifier(get_namespace_name(get_rel_namespace(relation)),
                                      get_rel_name(relation));
}

const char *choose_name(Oid table) {
    return ChooseRelationName(get_rel_name(table), nullptr, "gpu", get_rel_namespace(table), false);
}

// Returns nullptr where it is gone.
static const char *name_of_column(Oid table, AttrNumber column) {
    return OidIsValid(get_atttype(table, column)) ? get_attname(table, column, true) : nullptr;
}

const char *list_columns(const Proposal &columns) {
    StringInfoData list;
    initStringInfo(&list);
    for (int i = 0; i < columns.count; i++) {
        const char *name = name_of_column(columns.table, columns.columns[i]);
        if (name != nullptr)
            appendStringInfo(&list, "%s%s", list.len == 0 ? "" : ", ", quote_identifier(name));
    }
    return list.data;
}

const char *create_command(const Proposal &columns, Maker maker, const char *name, Way way) {
    return psprintf("CREATE INDEX %s%s ON %s%s USING gpu_column (%s) WITH (made_by = %s)",
                    way == Way::Concurrent ? "CONCURRENTLY " : "", quote_identifier(name),
                    way == Way::Parent ? "ONLY " : "", name_of(columns.table), list_columns(columns),
                    maker == Maker::Worker ? "worker" : "accelerate");
}

Proposal on_member(const Proposal &columns, Oid member) {
    Proposal own = {member, columns.method, 0, {}, {}};
    for (int i = 0; i < columns.count; i++) {
        const char *name = name_of_column(columns.table, columns.columns[i]);
        const AttrNumber column = name == nullptr ? InvalidAttrNumber : get_attnum(member, name);
        if (column == InvalidAttrNumber)
            continue;
        own.columns[own.count] = column;
        own.classes[own.count++] = columns.classes[i];
    }
    return own;
}

int64 expect_bytes(const Proposal &columns) {
    plan::select(
        psprintf("SELECT oid, greatest(reltuples, 0)::float8 FROM pg_class "
                 "WHERE relkind = 'r' AND (oid = %u OR oid IN (SELECT relid FROM pg_partition_tree(%u)))",
                 columns.table, columns.table));
    int64 bytes = 0;
    for (int i = 0; i < static_cast<int>(SPI_processed); i++)
        bytes +=
            static_cast<int64>(plan::expect_pages(on_member(columns, DatumGetObjectId(plan::value_at(i, 1))),
                                                  DatumGetFloat8(plan::value_at(i, 2)))) *
            BLCKSZ;
    return bytes;
}

IndexSize measure_index(Oid index) {
    plan::select(
        psprintf("SELECT coalesce(sum(pg_relation_size(oid)), 0)::int8, coalesce(sum(greatest(reltuples, "
                 "0)), 0)::float8 "
                 "FROM pg_class WHERE relkind = 'i' AND (oid = %u OR oid IN (SELECT relid FROM "
                 "pg_partition_tree(%u)))",
                 index, index));
    return {DatumGetInt64(plan::value_at(0, 1)), DatumGetFloat8(plan::value_at(0, 2))};
}

}  // namespace pg_gpu::accelerate
