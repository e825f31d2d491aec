#include "plan/query/entries.h"

#include "column/dictionary_entries.h"
#include "plan/query/aggregate_compile.h"

namespace pg_gpu::plan::query {

bool are_codes_values(const ViewColumns &columns, const Source &source) {
    const column::ColumnView *view = columns.rows->view;
    if (source.kind != SourceKind::Result || source.result != Kind::Group || !IsA(source.expression, Var) ||
        view->run_count != 1 || !column::is_remote(view, 0) ||
        !column::is_dictionary(view->runs[0].header.column[source.column]))
        return false;
    for (uint32 row = 0; row < view->loose_count; row++)
        if (view->loose[row].selected)
            return false;
    return has_one_image(source.result_type, source.equality, source.collation);
}

// The codes that records have in a column, in order and each once; *count of them.
static uint64 *collect_codes(const RecordLayout &layout, const Result &result, column::QueryResult *records,
                             uint64 distinct, uint64 *count) {
    const uint64 words = (distinct + 63) / 64;
    auto *marks = allocate_zeroed<uint64>(words + 1);
    const uint64 *record;
    while (uint64 left = column::next_records(records->records, &record)) {
        CHECK_FOR_INTERRUPTS();
        for (; left > 0; left--, record += records->record_words) {
            const uint64 code = record[layout.words[result.value]];
            const bool is_null = (record[result.value / 64] >> (result.value % 64) & 1) != 0;
            if (!is_null && code < distinct)
                marks[code / 64] |= UINT64CONST(1) << (code % 64);
        }
    }
    column::rewind_records(records->records);
    *count = 0;
    for (uint64 word = 0; word < words; word++)
        *count += static_cast<uint64>(__builtin_popcountll(marks[word]));
    auto *codes = allocate<uint64>(*count + 1);
    uint64 at = 0;
    for (uint64 word = 0; word < words; word++)
        for (uint64 bits = marks[word]; bits != 0; bits &= bits - 1)
            codes[at++] = word * 64 + static_cast<uint64>(__builtin_ctzll(bits));
    pfree(marks);
    return codes;
}

static bool read_values(const ViewColumns &columns, Source *source, const RecordLayout &layout,
                        const Result &result, column::QueryResult *records) {
    column::RunReader *reader = &columns.rows->view->runs[0];
    const column::ColumnType &type = columns.facts[source->column].type;
    source->codes = collect_codes(layout, result, records, reader->header.column[source->column].distinct,
                                  &source->code_count);
    source->code_values = allocate_zeroed<Datum>(source->code_count + 1);
    uint64 read = 0;
    column::visit_codes_entries(reader, source->column, source->codes, source->code_count,
                                [&](uint64 i, const column::Bytes &bytes) {
                                    column::ValueBuffer buffer = {nullptr, 0};
                                    source->code_values[i] = column::datum_of(type, bytes, &buffer);
                                    read++;
                                });
    return read == source->code_count && !reader->stale;
}

bool read_code_values(const ViewColumns &columns, const CompiledQuery &compiled, const RecordLayout &layout,
                      column::QueryResult *records) {
    Program *program = compiled.program;
    MemoryContext caller = MemoryContextSwitchTo(program->context);
    bool is_read = true;
    for (uint32 i = 0; i < compiled.key_count && is_read; i++) {
        const Result &result = compiled.results[i];
        if (result.argument.kind != Kind::Group || result.argument.source == no_step)
            continue;
        Source *source = &program->sources[result.argument.source];
        if (source->is_by_code && source->codes == nullptr)
            is_read = read_values(columns, source, layout, result, records);
    }
    MemoryContextSwitchTo(caller);
    return is_read;
}

}  // namespace pg_gpu::plan::query
