#include "plan/query/entries.h"

#include "column/dictionary_entries.h"
#include "compat.h"
#include "plan/query/index_conditions.h"
#include "plan/query/numbering.h"

namespace pg_gpu::plan::query {

bool is_of_bytes(Oid type) {
    return type == TEXTOID || type == VARCHAROID || type == BYTEAOID;
}

bool is_bytewise(Oid type, Oid collation) {
    return is_of_bytes(type) && (type == BYTEAOID || (OidIsValid(collation) && is_c_collation(collation)));
}

// The view that has all of a table's rows; nullptr: there are several.
static const ViewColumns *only_view(const TableViews &views, int table) {
    const ViewColumns *found = nullptr;
    for (int i = 0; i < views.count; i++) {
        if (views.views[i].table != table)
            continue;
        if (found != nullptr)
            return nullptr;
        found = &views.views[i];
    }
    return found;
}

static bool are_codes_values(const ViewColumns &columns, const Source &source, const Numbering &numbering) {
    if (columns.input != nullptr)
        return false;
    const column::ColumnView *view = columns.rows->view;
    if (numbering.has_table || !IsA(source.expression, Var) || view->run_count != 1 ||
        !column::is_remote(view, 0) ||
        !column::is_dictionary(view->runs[0].header.column[column_of_view(columns, source.column)]) ||
        (numbering.is_ordered && !is_bytewise(numbering.type, numbering.order_collation)))
        return false;
    for (uint32 row = 0; row < view->loose_count; row++)
        if (view->loose[row].selected)
            return false;
    return has_one_image(source.result_type, numbering.equality, source.collation);
}

void find_numbers_by_code(const TableViews &views, Program *program) {
    for (uint32 i = 0; i < program->source_count; i++) {
        const Source &source = program->sources[i];
        if (source.numbering == no_numbering)
            continue;
        Numbering *numbering = &program->numberings[source.numbering];
        const ViewColumns *view = only_view(views, source.table);
        numbering->is_by_code = view != nullptr && is_of_one_source(*program, source.numbering) &&
                                are_codes_values(*view, source, *numbering);
        if (!numbering->is_by_code)
            continue;
        numbering->code_view = static_cast<int>(view - views.views);
        numbering->code_column = column_of_view(*view, source.column);
    }
}

// ---- the values of results --------------------------------------------------------------------------------

// Marks the codes that records have.
static void mark_codes(const CompiledQuery &compiled, uint32 numbering, const RecordLayout &layout,
                       column::QueryResult *records, uint64 distinct, uint64 *marks) {
    for_results_of(compiled, numbering, layout, records, [&](uint64 code) {
        if (code < distinct)
            marks[code / 64] |= UINT64CONST(1) << (code % 64);
    });
}

// In order and each once; *count of them.
static uint64 *list_codes(const uint64 *marks, uint64 distinct, uint64 *count) {
    const uint64 words = (distinct + 63) / 64;
    *count = 0;
    for (uint64 word = 0; word < words; word++)
        *count += static_cast<uint64>(__builtin_popcountll(marks[word]));
    auto *codes = allocate<uint64>(*count + 1);
    uint64 at = 0;
    for (uint64 word = 0; word < words; word++)
        for (uint64 bits = marks[word]; bits != 0; bits &= bits - 1)
            codes[at++] = word * 64 + static_cast<uint64>(__builtin_ctzll(bits));
    return codes;
}

static bool read_values(const ViewColumns &columns, Numbering *numbering) {
    column::RunReader *reader = &columns.rows->view->runs[0];
    const column::ColumnType &type = columns.facts[numbering->code_column].type;
    numbering->code_values = allocate_zeroed<Datum>(numbering->code_count + 1);
    uint64 read = 0;
    column::visit_codes_entries(reader, numbering->code_column, numbering->codes, numbering->code_count,
                                [&](uint64 i, const column::Bytes &bytes) {
                                    column::ValueBuffer buffer = {nullptr, 0};
                                    numbering->code_values[i] = column::datum_of(type, bytes, &buffer);
                                    read++;
                                });
    return read == numbering->code_count && !reader->stale;
}

bool read_code_values(const TableViews &views, const CompiledQuery &compiled, const RecordLayout &layout,
                      column::QueryResult *records) {
    Program *program = compiled.program;
    MemoryContext caller = MemoryContextSwitchTo(program->context);
    bool is_read = true;
    for (uint32 i = 0; i < program->numbering_count && is_read; i++) {
        Numbering *numbering = &program->numberings[i];
        if (!numbering->is_by_code)
            continue;
        const ViewColumns &columns = views.views[numbering->code_view];
        const uint64 distinct = columns.rows->view->runs[0].header.column[numbering->code_column].distinct;
        auto *marks = allocate_zeroed<uint64>(distinct / 64 + 1);
        mark_codes(compiled, i, layout, records, distinct, marks);
        numbering->codes = list_codes(marks, distinct, &numbering->code_count);
        pfree(marks);
        is_read = read_values(columns, numbering);
    }
    MemoryContextSwitchTo(caller);
    return is_read;
}

}  // namespace pg_gpu::plan::query
