// gpu.columns, gpu.summary and gpu.dictionary: what a gpu_column index knows of its columns. Only values of
// rows that the caller's snapshot sees are told.
#include "functions/column_access.h"

#include "access_methods.h"
#include "column/gpu_column.h"
#include "functions/numbers.h"
#include "request_kinds.h"

PG_GPU_FUNCTION(pg_gpu_columns);
PG_GPU_FUNCTION(pg_gpu_summary);
PG_GPU_FUNCTION(pg_gpu_dictionary);

namespace pg_gpu::functions {

OpenIndex open_columns(Oid index_oid, Snapshot snapshot, const char *what) {
    const OpenIndex open = open_index(index_oid, AccessShareLock, AccessShareLock);
    if (find_access_method(open.index) != &gpu_column)
        ereport(ERROR,
                (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                 errmsg("%s cannot be used with index \"%s\"", what, RelationGetRelationName(open.index)),
                 errdetail("Its access method is %s.", find_access_method(open.index)->name),
                 errhint("Name an index created with USING gpu_column.")));
    require_read_access(open);
    lock_predicates(open, snapshot);
    return open;
}

const char *column_name(const OpenIndex &open, int column) {
    const AttrNumber attribute = open.index->rd_index->indkey.values[column];
    if (attribute > 0)
        return NameStr(TupleDescAttr(RelationGetDescr(open.heap), attribute - 1)->attname);
    return NameStr(TupleDescAttr(RelationGetDescr(open.index), column)->attname);
}

int find_column(const OpenIndex &open, const char *name) {
    for (int i = 0; i < open.index->rd_index->indnkeyatts; i++)
        if (strcmp(column_name(open, i), name) == 0)
            return i;
    StringInfoData names;
    initStringInfo(&names);
    for (int i = 0; i < open.index->rd_index->indnkeyatts; i++)
        appendStringInfo(&names, "%s\"%s\"", i == 0 ? "" : ", ", column_name(open, i));
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
                    errmsg("index \"%s\" has no column \"%s\"", RelationGetRelationName(open.index), name),
                    errhint("Its columns are %s.", names.data)));
}

}  // namespace pg_gpu::functions

using namespace pg_gpu;
using column::ColumnView;

static ReturnSetInfo *begin_result(FunctionCallInfo fcinfo) {
    InitMaterializedSRF(fcinfo, 0);
    return reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
}

static char *output_value(const column::ColumnType &type, Datum value) {
    Oid function;
    bool is_varlena;
    getTypeOutputInfo(type.type, &function, &is_varlena);
    return OidOutputFunctionCall(function, value);
}

// ---- gpu.columns ------------------------------------------------------------------------------------------

namespace {

struct ColumnDescription {
    const char *encoding;
    uint64 distinct;
    int bits;
    uint64 bytes;
};

}  // namespace

static const char *encoding_name(const column::ColumnHeader &header) {
    switch (static_cast<column::Encoding>(header.encoding)) {
        case column::Encoding::Dictionary:
            return "dictionary";
        case column::Encoding::Frame:
            return "frame of reference";
        case column::Encoding::Scaled:
            return "scaled";
        default:
            return "plain";
    }
}

// The encoding is the largest run's, bits are those of the widest codes, bytes all runs' together.
static ColumnDescription describe_column(ColumnView *view, int number) {
    ColumnDescription description = {};
    uint64 largest = 0;
    for (int i = 0; i < view->run_count; i++) {
        const column::ColumnHeader &header = view->runs[i].header.column[number];
        const uint64 rows = view->runs[i].run.entries;
        if (rows > largest)
            description.encoding = encoding_name(header);
        largest = Max(largest, rows);
        description.bits = Max(description.bits, static_cast<int>(header.bits));
        description.bytes +=
            (header.codes.words + header.dictionary.words + header.blocks.words + header.null_bits.words) *
            sizeof(uint64);
    }
    description.distinct = column::find_distinct(view, number).count;
    return description;
}

Datum pg_gpu_columns(PG_FUNCTION_ARGS) {
    ReturnSetInfo *result = begin_result(fcinfo);
    Snapshot snapshot = GetActiveSnapshot();
    const functions::OpenIndex open = functions::open_columns(PG_GETARG_OID(0), snapshot, "gpu.columns");
    const column::Format *format = column::make_format(open.index);
    ColumnDescription descriptions[column::kMaxColumns];
    column::with_rows(open.heap, open.index, snapshot, format, {}, [&](ColumnView *view) {
        MemoryContext context = AllocSetContextCreate(view->context, "gpu.columns", ALLOCSET_DEFAULT_SIZES);
        for (int i = 0; i < format->columns; i++) {
            MemoryContextSwitchTo(context);
            descriptions[i] = describe_column(view, i);
            MemoryContextReset(context);
        }
        MemoryContextSwitchTo(view->context);
    });
    for (int i = 0; i < format->columns; i++) {
        const ColumnDescription &description = descriptions[i];
        NameData name;
        namestrcpy(&name, functions::column_name(open, i));
        const bool any_run = description.encoding != nullptr;
        Datum values[] = {NameGetDatum(&name), any_run ? CStringGetTextDatum(description.encoding) : Datum{0},
                          Int64GetDatum(static_cast<int64>(description.distinct)),
                          Int32GetDatum(description.bits),
                          Int64GetDatum(static_cast<int64>(description.bytes))};
        bool nulls[] = {false, !any_run, false, !any_run, false};
        tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
    }
    functions::close_index(open);
    return Datum{0};
}

// Passes a column's distinct values in visible rows that match to `work`, which may run several times and
// leaves what it does last.
template <typename Work>
static void with_distinct(const functions::OpenIndex &open, Snapshot snapshot, const column::Format *format,
                          const column::Condition &condition, int number, Work work) {
    uint64 heap_fetches;
    pgstat_count_index_scan(open.index);
    const auto work_on_server = [&](column::RemoteRows *rows) {
        if (!column::has_counted_codes(*rows, number) || !column::count_remote_codes(rows, number))
            return false;
        const column::DistinctValues distinct = column::find_distinct(rows->view, number);
        if (column::is_stale(rows->view))
            return false;
        work(rows->view, distinct);
        return true;
    };
    if (column::with_rows_on_server(open.heap, open.index, snapshot, format, condition,
                                    {client::RequestKind::CountColumnValues, 1, 0, true}, work_on_server,
                                    &heap_fetches))
        return;
    const client::PagedRequest paged = client::begin_paged(client::RequestKind::CountColumnValues, 1);
    column::with_rows(open.heap, open.index, snapshot, format, condition, [&](ColumnView *view) {
        const column::DistinctValues distinct = column::find_distinct(view, number);
        if (!column::is_stale(view))
            work(view, distinct);
    });
    client::end_paged(paged);
    client::note_request_done(open.index, client::RequestKind::CountColumnValues);
}

// ---- gpu.dictionary ---------------------------------------------------------------------------------------

Datum pg_gpu_dictionary(PG_FUNCTION_ARGS) {
    ReturnSetInfo *result = begin_result(fcinfo);
    if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
        return Datum{0};
    Snapshot snapshot = GetActiveSnapshot();
    const functions::OpenIndex open = functions::open_columns(PG_GETARG_OID(0), snapshot, "gpu.dictionary");
    const column::Format *format = column::make_format(open.index);
    const int number = functions::find_column(open, NameStr(*PG_GETARG_NAME(1)));
    const column::ColumnType &type = format->types[number];
    column::Condition condition = {};
    functions::read_filter(fcinfo, 2, open, *format, &condition);
    with_distinct(
        open, snapshot, format, condition, number, [&](ColumnView *, const column::DistinctValues &distinct) {
            tuplestore_clear(result->setResult);
            column::ValueBuffer buffer = {nullptr, 0};
            for (uint64 i = 0; i < distinct.count; i++) {
                CHECK_FOR_INTERRUPTS();
                const column::DistinctValue &value = distinct.values[i];
                char *text = output_value(type, column::datum_of_value(type, value, &buffer));
                Datum values[] = {CStringGetTextDatum(text), Int64GetDatum(static_cast<int64>(value.count))};
                bool nulls[] = {false, false};
                tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
                pfree(DatumGetPointer(values[0]));
                pfree(text);
            }
            if (distinct.nulls > 0) {
                Datum values[] = {Datum{0}, Int64GetDatum(static_cast<int64>(distinct.nulls))};
                bool nulls[] = {true, false};
                tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
            }
        });
    functions::close_index(open);
    return Datum{0};
}

// ---- gpu.summary ------------------------------------------------------------------------------------------

namespace {

struct Summary {
    uint64 count;
    uint64 nulls;
    uint64 distinct;
    bool has_bounds;
    char *minimum;
    char *maximum;
    bool has_sum;
    Datum sum;
    Datum mean;
};

}  // namespace

namespace {

// A sum of values cast to numeric, which are added up as integers as far as these have room, by scale. It
// shows as many digits as the value that shows most.
struct NumericSum {
    static constexpr int kScales = 39;
    column::Int128 sums[kScales];
    bool is_used[kScales];
    Datum rest;
};

}  // namespace

static bool add_product(NumericSum *sum, uint8 scale, column::Int128 product) {
    column::Int128 next;
    if (__builtin_add_overflow(sum->sums[scale], product, &next))
        return false;
    sum->sums[scale] = next;
    sum->is_used[scale] = true;
    return true;
}

static bool add_as_integer(NumericSum *sum, Datum numeric, uint64 rows) {
    uint64 words[2];
    uint8 scale;
    column::Int128 product;
    return column::read_wide(DatumGetNumeric(numeric), words, &scale) &&
           !__builtin_mul_overflow(column::wide_of_words(words[0], words[1]), column::Int128{rows},
                                   &product) &&
           add_product(sum, scale, product);
}

static void add_numeric(NumericSum *sum, Datum numeric, uint64 rows) {
    if (add_as_integer(sum, numeric, rows))
        return;
    const Datum factor = DirectFunctionCall1(int8_numeric, Int64GetDatum(static_cast<int64>(rows)));
    const Datum product = DirectFunctionCall2(numeric_mul, numeric, factor);
    const Datum next = DirectFunctionCall2(numeric_add, sum->rest, product);
    pfree(DatumGetPointer(factor));
    pfree(DatumGetPointer(product));
    pfree(DatumGetPointer(sum->rest));
    sum->rest = next;
}

static Datum finish_sum(const NumericSum &sum) {
    Datum whole = sum.rest;
    for (int scale = 0; scale < NumericSum::kScales; scale++)
        if (sum.is_used[scale])
            whole = DirectFunctionCall2(numeric_add, whole,
                                        NumericGetDatum(column::make_numeric(sum.sums[scale], scale, scale)));
    return whole;
}

// Finds the sum of the values cast to numeric, and their mean.
static bool find_sum(const column::ColumnType &type, const column::DistinctValues &distinct,
                     Summary *summary) {
    const functions::NumberKind kind = functions::number_kind(type.base_type);
    if (kind != functions::NumberKind::Integer && kind != functions::NumberKind::Float &&
        kind != functions::NumberKind::Numeric)
        return false;
    NumericSum sum = {};
    sum.rest = DirectFunctionCall1(int8_numeric, Int64GetDatum(0));
    column::ValueBuffer buffer = {nullptr, 0};
    for (uint64 i = 0; i < distinct.count; i++) {
        CHECK_FOR_INTERRUPTS();
        const Datum value = column::datum_of_value(type, distinct.values[i], &buffer);
        const uint64 rows = distinct.values[i].count;
        if (kind == functions::NumberKind::Integer) {
            // There is room for numbers of 64 bits in more rows than a table can have.
            sum.sums[0] += column::Int128{static_cast<int64>(value)} * column::Int128{rows};
            continue;
        }
        const Datum numeric = functions::number_as_numeric(type.base_type, value);
        add_numeric(&sum, numeric, rows);
        if (numeric != value)
            pfree(DatumGetPointer(numeric));
    }
    sum.is_used[0] = sum.is_used[0] || kind == functions::NumberKind::Integer;
    summary->sum = finish_sum(sum);
    const Datum count =
        DirectFunctionCall1(int8_numeric, Int64GetDatum(static_cast<int64>(summary->count - summary->nulls)));
    summary->mean = DirectFunctionCall1(numeric_float8_no_overflow,
                                        DirectFunctionCall2(numeric_div, summary->sum, count));
    return true;
}

Datum pg_gpu_summary(PG_FUNCTION_ARGS) {
    TupleDesc descriptor;
    if (get_call_result_type(fcinfo, nullptr, &descriptor) != TYPEFUNC_COMPOSITE)
        ereport(ERROR, (errcode(ERRCODE_INVALID_FUNCTION_DEFINITION),
                        errmsg("gpu.summary is not declared to return its columns"),
                        errhint("Create the extension pg_gpu anew or update it.")));
    if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
        PG_RETURN_NULL();
    Snapshot snapshot = GetActiveSnapshot();
    const functions::OpenIndex open = functions::open_columns(PG_GETARG_OID(0), snapshot, "gpu.summary");
    const column::Format *format = column::make_format(open.index);
    const int number = functions::find_column(open, NameStr(*PG_GETARG_NAME(1)));
    const column::ColumnType &type = format->types[number];
    column::Condition condition = {};
    functions::read_filter(fcinfo, 2, open, *format, &condition);
    MemoryContext context = CurrentMemoryContext;
    Summary summary = {};
    with_distinct(open, snapshot, format, condition, number,
                  [&](ColumnView *view, const column::DistinctValues &distinct) {
                      summary = {};
                      summary.count = column::count_selected(view);
                      summary.nulls = distinct.nulls;
                      summary.distinct = distinct.count;
                      if (distinct.count == 0)
                          return;
                      MemoryContextSwitchTo(context);
                      column::ValueBuffer buffer = {nullptr, 0};
                      summary.has_bounds = distinct.is_ordered;
                      summary.minimum =
                          output_value(type, column::datum_of_value(type, distinct.values[0], &buffer));
                      summary.maximum = output_value(
                          type, column::datum_of_value(type, distinct.values[distinct.count - 1], &buffer));
                      summary.has_sum = find_sum(type, distinct, &summary);
                      MemoryContextSwitchTo(view->context);
                  });
    functions::close_index(open);
    Datum values[] = {Int64GetDatum(static_cast<int64>(summary.count)),
                      Int64GetDatum(static_cast<int64>(summary.nulls)),
                      Int64GetDatum(static_cast<int64>(summary.distinct)),
                      summary.has_bounds ? CStringGetTextDatum(summary.minimum) : Datum{0},
                      summary.has_bounds ? CStringGetTextDatum(summary.maximum) : Datum{0},
                      summary.sum,
                      summary.mean};
    bool nulls[] = {false,           false, false, !summary.has_bounds, !summary.has_bounds, !summary.has_sum,
                    !summary.has_sum};
    PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), values, nulls)));
}
