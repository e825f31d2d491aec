#include "plan/query/spaces.h"

#include "column/query/string_space.h"
#include "column/scan/string_tests.h"
#include "plan/query/entries.h"
#include "plan/query/index_conditions.h"
#include "plan/query/numbering.h"
#include "sort.h"

namespace pg_gpu::plan::query {

using column::Bytes;
using column::ColumnHeader;

// ---- which numberings -------------------------------------------------------------------------------------

static bool is_member(const ViewColumns &columns, int run, int column) {
    const ColumnHeader &header = columns.rows->view->runs[run].header.column[column];
    return column::is_remote(columns.rows->view, run) && column::is_dictionary(header) && header.distinct > 0;
}

// Returns whether a source's values can be numbered by their bytes. Those of an input the session has anyway.
static bool is_numbered_by_bytes(const ViewColumns &columns, const Source &source,
                                 const Numbering &numbering) {
    return source.kind == SourceKind::Result && (columns.input != nullptr || IsA(source.expression, Var)) &&
           has_one_image(source.result_type, numbering.equality, source.collation);
}

static uint64 count_entries(const ViewColumns &columns, int column) {
    uint64 entries = 0;
    for (int run = 0; columns.rows != nullptr && run < columns.rows->view->run_count; run++)
        if (is_member(columns, run, column))
            entries += columns.rows->view->runs[run].header.column[column].distinct;
    return entries;
}

static bool may_be_servers(const TableViews &views, const Program &program, uint32 number) {
    const Numbering &numbering = program.numberings[number];
    if (numbering.has_table || numbering.is_by_code || !is_of_bytes(numbering.type) ||
        (numbering.is_ordered && !is_bytewise(numbering.type, numbering.order_collation)))
        return false;
    uint64 entries = 0;
    for (uint32 i = 0; i < program.source_count; i++) {
        const Source &source = program.sources[i];
        if (source.numbering != number)
            continue;
        for (int k = 0; k < views.count; k++) {
            const ViewColumns &view = views.views[k];
            if (view.table != source.table)
                continue;
            if (!is_numbered_by_bytes(view, source, numbering))
                return false;
            entries += count_entries(view, column_of_view(view, source.column));
        }
    }
    return entries >= column::kFewestServerStrings;
}

void find_numbers_by_space(const TableViews &views, Program *program) {
    for (uint32 i = 0; i < program->numbering_count; i++)
        program->numberings[i].is_by_space = may_be_servers(views, *program, i);
}

void make_space_column(const ViewColumns &columns, int run, uint16 numbering, engine::RunColumn *made) {
    made->form = engine::ColumnForm::map;
    made->space = is_member(columns, run, static_cast<int>(made->column)) ? numbering + 1U : 0;
}

// ---- numbers ----------------------------------------------------------------------------------------------

static const Bytes *list_own_strings(const Numbering &numbering) {
    const ValueTable &values = *numbering.values;
    const column::ColumnType type = column::describe_type(numbering.type, numbering.collation);
    auto *strings = allocate<Bytes>(size_t{values.count} + 1);
    for (uint32 i = 0; i < values.count; i++)
        strings[i] = column::bytes_of(type, values.values[i]);
    return strings;
}

static bool number_by_space(column::StringSpace *space, Numbering *numbering) {
    const uint32 count = numbering->values->count;
    numbering->own_numbers = allocate_zeroed<uint64>(size_t{count} + 1);
    numbering->space = space;
    return column::number_strings(space, list_own_strings(*numbering), count, numbering->own_numbers);
}

// The members of a space have its numbers from now on.
static void set_numbers(const column::StringSpace &space) {
    for (uint32 table = 0; table < space.table_count; table++) {
        const column::SpaceTable &own = space.tables[table];
        for (int run = 0; own.table.rows != nullptr && run < own.table.rows->view->run_count; run++)
            for (uint32 i = 0; i < own.column_count; i++) {
                auto *column = const_cast<engine::RunColumn *>(&own.table.columns[run][i]);
                if (column->space != space.number + 1)
                    continue;
                column->power = space.shift;
                column->offset = space.base;
            }
    }
}

bool number_by_spaces(const TableViews &views, Program *program, const ScanColumns *scans) {
    auto *tables = allocate_zeroed<column::SpaceTable>(static_cast<size_t>(views.count));
    for (int i = 0; i < views.count; i++) {
        const ViewColumns &view = views.views[i];
        tables[i].table = {view.rows, scans[i].by_run, scans[i].own_rows, static_cast<uint32>(view.table)};
        for (uint32 k = 0; k < program->source_count; k++)
            tables[i].column_count += program->sources[k].table == view.table ? 1 : 0;
    }
    for (uint32 i = 0; i < program->numbering_count; i++) {
        Numbering *numbering = &program->numberings[i];
        if (!numbering->is_by_space)
            continue;
        auto *space = allocate_zeroed<column::StringSpace>(1);
        space->number = i;
        space->tables = tables;
        space->table_count = static_cast<uint32>(views.count);
        if (!number_by_space(space, numbering))
            return false;
        set_numbers(*space);
    }
    return true;
}

void forget_spaces(Program *program) {
    for (uint32 i = 0; i < program->numbering_count; i++) {
        program->numberings[i].is_by_space = false;
        program->numberings[i].own_numbers = nullptr;
    }
}

// ---- the values of results --------------------------------------------------------------------------------

// Lists the numbers that records have, in order and each once.
static void list_numbers(const CompiledQuery &compiled, uint32 number, const RecordLayout &layout,
                         column::QueryResult *records, Numbering *numbering) {
    uint64 room = 1024;
    uint64 count = 0;
    auto *numbers = static_cast<uint64 *>(palloc(room * sizeof(uint64)));
    for_results_of(compiled, number, layout, records, [&](uint64 one) {
        if (count == room) {
            room *= 2;
            numbers = static_cast<uint64 *>(repalloc_huge(numbers, room * sizeof(uint64)));
        }
        numbers[count++] = one;
    });
    sort_interruptibly(numbers, numbers + count, std::less<uint64>());
    numbering->codes = numbers;
    numbering->code_count = static_cast<uint64>(std::unique(numbers, numbers + count) - numbers);
}

namespace {

// Strings of the server go to these places.
struct Wanted {
    const column::ColumnType *type;
    Datum *values;
    const uint64 *places;  // by string that is asked for
};

}  // namespace

static void take_string(void *context, uint64 i, const Bytes &bytes) {
    const auto *wanted = static_cast<const Wanted *>(context);
    column::ValueBuffer buffer = {nullptr, 0};
    wanted->values[wanted->places[i]] = column::datum_of(*wanted->type, bytes, &buffer);
}

static bool read_values(Numbering *numbering) {
    const uint64 count = numbering->code_count;
    numbering->code_values = allocate_zeroed<Datum>(count + 1);
    uint64 *const end = numbering->codes + count;
    auto *is_own = allocate_zeroed<bool>(count + 1);
    for (uint32 i = 0; i < numbering->values->count; i++) {
        const uint64 number = numbering->own_numbers[i];
        const uint64 *found = std::lower_bound(numbering->codes, end, number);
        if (found == end || *found != number)
            continue;
        is_own[found - numbering->codes] = true;
        numbering->code_values[found - numbering->codes] = numbering->values->values[i];
    }
    auto *numbers = allocate<uint64>(count + 1);
    auto *places = allocate<uint64>(count + 1);
    uint64 others = 0;
    for (uint64 i = 0; i < count; i++) {
        if (is_own[i])
            continue;
        numbers[others] = numbering->codes[i];
        places[others++] = i;
    }
    const column::ColumnType type = column::describe_type(numbering->type, numbering->collation);
    Wanted wanted = {&type, numbering->code_values, places};
    return column::read_strings(*numbering->space, numbers, others, take_string, &wanted);
}

bool read_space_values(const CompiledQuery &compiled, const RecordLayout &layout,
                       column::QueryResult *records) {
    Program *program = compiled.program;
    MemoryContext caller = MemoryContextSwitchTo(program->context);
    bool is_read = true;
    for (uint32 i = 0; i < program->numbering_count && is_read; i++) {
        Numbering *numbering = &program->numberings[i];
        if (!numbering->is_by_space)
            continue;
        list_numbers(compiled, i, layout, records, numbering);
        is_read = read_values(numbering);
    }
    MemoryContextSwitchTo(caller);
    return is_read;
}

}  // namespace pg_gpu::plan::query
