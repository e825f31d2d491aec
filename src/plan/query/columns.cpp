#include "plan/query/columns.h"

#include "column/scan/cached_results.h"
#include "column/format/scaled_numeric.h"
#include "plan/query/entries.h"
#include "plan/query/numbering.h"
#include "plan/query/tables.h"

namespace pg_gpu::plan::query {

using column::ColumnHeader;
using column::ColumnType;
using column::RunReader;

static constexpr int kMaxScale = 38;

// ---- what is gathered of a column -------------------------------------------------------------------------

namespace {

struct Gathered {
    bool any;
    double limit;                // of integers
    double most[kMaxScale + 1];  // of decimals, by scale: the greatest number without its point
    bool has_scale[kMaxScale + 1];
    bool may_be_minus_0;  // a float
    const char *problem;
};

}  // namespace

static constexpr const char *kOddNumber = "a numeric isn't finite, or has too many digits";

static void note_integer(Gathered *gathered, const ColumnType &type, uint64 code) {
    const uint64 bias =
        type.code == column::IntegerCode::Signed ? UINT64CONST(1) << (type.width * 8U - 1) : 0;
    gathered->any = true;
    gathered->limit = Max(gathered->limit, std::fabs(static_cast<double>(static_cast<int64>(code - bias))));
}

// Codes are in the order of the numbers, -0 before 0.
static void note_float(Gathered *gathered, const ColumnType &type, uint64 least) {
    const uint64 zero =
        type.code == column::IntegerCode::Float4 ? column::encode_float4(0) : column::encode_float8(0);
    gathered->may_be_minus_0 = gathered->may_be_minus_0 || least < zero;
}

static void note_decimal(Gathered *gathered, Int128 number, int scale) {
    gathered->any = true;
    gathered->has_scale[scale] = true;
    gathered->most[scale] = Max(gathered->most[scale], std::fabs(static_cast<double>(number)));
}

static bool is_empty(const ColumnHeader &header, uint64 entries) {
    return header.nulls >= entries;
}

static void note_header(Gathered *gathered, const ColumnType &type, Kind kind, const ColumnHeader &header) {
    if (column::is_scaled(header)) {
        note_decimal(gathered, column::number_of_scaled(header.base), header.scale);
        note_decimal(gathered, column::number_of_scaled(header.highest), header.scale);
    } else if (kind == Kind::Float) {
        note_float(gathered, type, header.base);
    } else if (type.is_integer) {
        note_integer(gathered, type, header.base);
        note_integer(gathered, type, header.highest);
    }
}

static void finish_facts(const Gathered &gathered, ColumnFacts *facts) {
    facts->problem = gathered.problem;
    facts->limit = gathered.limit;
    facts->may_be_minus_0 = gathered.may_be_minus_0;
    if (facts->kind != Kind::Decimal)
        return;
    int least = -1;
    for (int scale = 0; scale <= kMaxScale; scale++) {
        if (!gathered.has_scale[scale])
            continue;
        least = least < 0 ? scale : least;
        facts->scale = static_cast<int16>(scale);
    }
    for (int scale = 0; scale <= facts->scale; scale++)
        facts->limit = Max(facts->limit, gathered.most[scale] * std::pow(10.0, facts->scale - scale));
    facts->shown = least == facts->scale || least < 0 ? facts->scale : kShownByRow;
    if (facts->limit >= kMaxInt128)
        facts->problem = kOddNumber;
}

static ColumnFacts *begin_facts(const column::Format &format) {
    auto *facts = allocate_zeroed<ColumnFacts>(static_cast<size_t>(format.columns));
    for (int i = 0; i < format.columns; i++) {
        facts[i].type = format.types[i];
        facts[i].kind = kind_of_type(format.types[i].base_type);
    }
    return facts;
}

// ---- for the planner --------------------------------------------------------------------------------------

// What a dictionary has, its header doesn't tell. A column's declared scale is that of all its values.
static void guess_decimals(Gathered *gathered, int32 typmod) {
    constexpr int usual_scale = 4;
    constexpr double usual_number = 1e9;
    if (typmod < static_cast<int32>(VARHDRSZ)) {
        note_decimal(gathered, 0, 0);
        gathered->has_scale[usual_scale] = true;
        gathered->most[usual_scale] = Max(gathered->most[usual_scale], usual_number);
        return;
    }
    const uint32 packed = static_cast<uint32>(typmod) - VARHDRSZ;
    const int scale = static_cast<int>((packed & 0x7ff) ^ 1024) - 1024;
    const auto precision = static_cast<int>(packed >> 16);
    if (scale < 0 || scale > kMaxScale)
        return;
    gathered->has_scale[scale] = true;
    gathered->most[scale] = Max(gathered->most[scale], Min(std::pow(10.0, precision), usual_number));
}

ColumnFacts *read_index_facts(Relation index, const column::Format &format) {
    ColumnFacts *facts = begin_facts(format);
    auto *gathered = allocate_zeroed<Gathered>(static_cast<size_t>(format.columns));
    int count;
    const Buffer buffer = storage::lock_metapage(index, column::run_kind(), BUFFER_LOCK_SHARE);
    const storage::RunEntry *runs =
        storage::copy_directory(index, column::run_kind(), BufferGetPage(buffer), &count);
    UnlockReleaseBuffer(buffer);
    for (int run = 0; run < count; run++) {
        if (column::layout_of(runs[run]) != column::Layout::Columns)
            continue;
        RunReader reader;
        column::open_header(&reader, index, runs[run], format);
        for (int i = 0; i < format.columns && !reader.stale; i++) {
            const ColumnHeader &header = reader.header.column[i];
            if (is_empty(header, runs[run].entries))
                continue;
            note_header(&gathered[i], format.types[i], facts[i].kind, header);
            if (facts[i].kind == Kind::Decimal && !column::is_scaled(header))
                guess_decimals(&gathered[i], TupleDescAttr(RelationGetDescr(index), i)->atttypmod);
        }
    }
    for (int i = 0; i < format.columns; i++)
        finish_facts(gathered[i], &facts[i]);
    pfree(gathered);
    return facts;
}

// ---- for the executor -------------------------------------------------------------------------------------

static DecimalRun *read_decimals(RunReader *reader, const ColumnType &type, int number) {
    const uint64 count = reader->header.column[number].distinct;
    auto *run = allocate_zeroed<DecimalRun>(1);
    run->count = count;
    run->words = allocate_zeroed<uint64>(2 * count + 1);
    run->scales = allocate_zeroed<uint8>(count + 1);
    column::ValueBuffer buffer = {nullptr, 0};
    column::StringCursor cursor;
    column::begin_strings(&cursor, reader, number);
    while (column::next_string(&cursor)) {
        const uint64 code = cursor.ordinal;
        const Datum value = column::datum_of(type, cursor.value, &buffer);
        if (code % column::kBatch == 0)
            CHECK_FOR_INTERRUPTS();
        if (!column::read_wide(DatumGetNumeric(value), &run->words[2 * code], &run->scales[code]))
            run->has_odd = true;
    }
    column::end_strings(&cursor);
    if (buffer.data != nullptr)
        pfree(buffer.data);
    return run;
}

// A run doesn't change, so the session keeps what it has read of one.
static const DecimalRun *find_decimals(RunReader *reader, const ColumnType &type, int number) {
    constexpr size_t bytes_of_entry = 2 * sizeof(uint64) + 1;
    const column::CacheKey key = {reader->index, reader->run.run_id, number, column::kKeptDecimals, nullptr};
    if (const void *found = column::use_results(key))
        return static_cast<const DecimalRun *>(found);
    const uint64 changes = column::count_changes();
    MemoryContext context =
        column::begin_results(sizeof(DecimalRun) + reader->header.column[number].distinct * bytes_of_entry);
    MemoryContext caller = MemoryContextSwitchTo(context == nullptr ? CurrentMemoryContext : context);
    DecimalRun *run = read_decimals(reader, type, number);
    MemoryContextSwitchTo(caller);
    if (context != nullptr && !reader->stale)
        column::share_results(key, context, run, changes);
    return run;
}

static void note_decimals(Gathered *gathered, const DecimalRun &run) {
    if (run.has_odd)
        gathered->problem = kOddNumber;
    for (uint64 i = 0; i < run.count && !run.has_odd; i++)
        note_decimal(gathered, column::wide_of_words(run.words[2 * i], run.words[2 * i + 1]), run.scales[i]);
}

static void note_loose(Gathered *gathered, const ColumnFacts &facts, const column::TupleValue &value) {
    if (value.is_null)
        return;
    if (facts.kind == Kind::Decimal) {
        column::ValueBuffer buffer = {nullptr, 0};
        uint64 words[2];
        uint8 scale;
        const Datum numeric = column::datum_of(facts.type, value.bytes, &buffer);
        if (column::read_wide(DatumGetNumeric(numeric), words, &scale))
            note_decimal(gathered, column::wide_of_words(words[0], words[1]), scale);
        else
            gathered->problem = kOddNumber;
        pfree(buffer.data);
    } else if (facts.kind == Kind::Float) {
        note_float(gathered, facts.type, value.integer);
    } else if (facts.type.is_integer) {
        note_integer(gathered, facts.type, value.integer);
    }
}

ViewColumns read_view_columns(column::RemoteRows *rows, const Bitmapset *used) {
    column::ColumnView *view = rows->view;
    const column::Format &format = *view->format;
    const auto columns = static_cast<size_t>(format.columns);
    ViewColumns found = {
        rows, begin_facts(format),
        allocate_zeroed<const DecimalRun *>(columns * static_cast<size_t>(view->run_count) + 1)};
    for (int i = bms_next_member(used, -1); i >= 0; i = bms_next_member(used, i)) {
        auto *gathered = allocate_zeroed<Gathered>(1);
        for (int run = 0; run < view->run_count; run++) {
            RunReader *reader = &view->runs[run];
            const ColumnHeader &header = reader->header.column[i];
            if (is_empty(header, reader->header.entries))
                continue;
            note_header(gathered, format.types[i], found.facts[i].kind, header);
            if (found.facts[i].kind != Kind::Decimal || column::is_scaled(header))
                continue;
            const DecimalRun *decimals = find_decimals(reader, format.types[i], i);
            found.decimals[static_cast<size_t>(run) * columns + static_cast<size_t>(i)] = decimals;
            note_decimals(gathered, *decimals);
        }
        for (uint32 row = 0; row < view->loose_count; row++)
            if (view->loose[row].selected)
                note_loose(gathered, found.facts[i], view->loose[row].values[i]);
        finish_facts(*gathered, &found.facts[i]);
        pfree(gathered);
    }
    return found;
}

// ---- the columns of a run ---------------------------------------------------------------------------------

static void write_words(ValueType type, Int128 number, uint64 *words) {
    words[0] = static_cast<uint64>(number);
    if (type == ValueType::int128)
        words[1] = static_cast<uint64>(number >> 64);
}

// The dictionary's numbers at the source's scale, or how many digits they show.
static const uint64 *map_decimals(const DecimalRun &run, const Source &source) {
    const uint32 words = engine::words_of(source.type);
    auto *values = allocate_zeroed<uint64>(run.count * words + 1);
    for (uint64 code = 0; code < run.count; code++) {
        Int128 number = run.scales[code];
        if (source.kind == SourceKind::Own) {
            number = column::wide_of_words(run.words[2 * code], run.words[2 * code + 1]);
            column::multiply_by_power(&number, source.scale - run.scales[code]);
        }
        write_words(source.type, number, &values[code * words]);
    }
    return values;
}

namespace {

// Evaluates a source's expression for values of its column.
struct Evaluation {
    const ColumnFacts *facts;
    Source *source;
    Numbering *numbering;  // of results; nullptr: they aren't numbered
    ExprContext *context;
    ExprState *state;  // nullptr: the values themselves are the results
    TupleTableSlot *row;
    column::ValueBuffer buffer;
    const char *problem;
};

}  // namespace

static Evaluation *begin_evaluation(const ViewColumns &columns, Program *program, uint32 number,
                                    ExprContext *context) {
    Source *source = &program->sources[number];
    auto *evaluation = allocate_zeroed<Evaluation>(1);
    evaluation->facts = &columns.facts[source->column];
    evaluation->source = source;
    evaluation->context = context;
    if (source->kind != SourceKind::Result)
        return evaluation;
    if (source->numbering != no_numbering)
        evaluation->numbering = &program->numberings[source->numbering];
    if (!IsA(source->expression, Var)) {
        evaluation->state = ExecInitExpr(source->expression, nullptr);
        evaluation->row = ExecStoreAllNullTuple(MakeSingleTupleTableSlot(
            CreateTupleDescCopy(RelationGetDescr(columns.rows->view->index)), &TTSOpsVirtual));
    }
    return evaluation;
}

static column::Converted write_result(Evaluation *evaluation, Datum result, uint64 *words) {
    const Source &source = *evaluation->source;
    const uint8 width = width_of_type(source.result_type);
    switch (source.result) {
        case Kind::Boolean:
            *words = DatumGetBool(result) ? 1 : 0;
            return column::Converted::Value;
        case Kind::Float:
            *words = static_cast<uint64>(DatumGetInt64(Float8GetDatum(
                width == 4 ? static_cast<float8>(DatumGetFloat4(result)) : DatumGetFloat8(result))));
            return column::Converted::Value;
        case Kind::Group: {
            if (evaluation->numbering == nullptr) {
                const ColumnType type = column::describe_type(source.result_type, InvalidOid);
                *words = column::encode_integer(type, result) + offset_of_code(type);
                return column::Converted::Value;
            }
            const uint32 number = number_of(evaluation->numbering, result);
            *words = number;
            return number == kNoValue ? column::Converted::Impossible : column::Converted::Value;
        }
        default:
            *words = static_cast<uint64>(width == 2   ? DatumGetInt16(result)
                                         : width == 4 ? DatumGetInt32(result)
                                                      : DatumGetInt64(result));
            return column::Converted::Value;
    }
}

static column::Converted evaluate(Evaluation *evaluation, const column::Bytes &bytes, uint64 *words) {
    const Datum value = column::datum_of(evaluation->facts->type, bytes, &evaluation->buffer);
    if (evaluation->state == nullptr)
        return write_result(evaluation, value, words);
    ExprContext *context = evaluation->context;
    const int column = evaluation->source->column;
    evaluation->row->tts_values[column] = value;
    evaluation->row->tts_isnull[column] = false;
    context->ecxt_scantuple = evaluation->row;
    bool is_null;
    const Datum result = ExecEvalExprSwitchContext(evaluation->state, context, &is_null);
    const column::Converted converted =
        is_null ? column::Converted::Null : write_result(evaluation, result, words);
    ResetExprContext(context);
    return converted;
}

// A dictionary's own entries differ from each other, so that it is known at once when they are too many.
static bool has_room(const Evaluation &evaluation, const ColumnHeader &header) {
    return evaluation.numbering == nullptr || evaluation.state != nullptr || header.base <= kNumberMemory;
}

static void map_results(Evaluation *evaluation, RunReader *reader, engine::RunColumn *made) {
    const int number = evaluation->source->column;
    const uint64 count = reader->header.column[number].distinct;
    if (!has_room(*evaluation, reader->header.column[number])) {
        evaluation->problem = kNoRoomForNumbers;
        return;
    }
    auto *values = allocate_zeroed<uint64>(count + 1);
    uint64 *nulls = nullptr;
    column::StringCursor cursor;
    column::begin_strings(&cursor, reader, number);
    while (evaluation->problem == nullptr && column::next_string(&cursor)) {
        const uint64 code = cursor.ordinal;
        if (code % column::kBatch == 0)
            CHECK_FOR_INTERRUPTS();
        const column::Converted converted = evaluate(evaluation, cursor.value, &values[code]);
        if (converted == column::Converted::Impossible)
            evaluation->problem = kNoRoomForNumbers;
        if (converted != column::Converted::Null)
            continue;
        if (nulls == nullptr)
            nulls = allocate_zeroed<uint64>(count / 64 + 1);
        nulls[code / 64] |= UINT64CONST(1) << (code % 64);
    }
    column::end_strings(&cursor);
    made->form = engine::ColumnForm::map;
    made->places = count;
    made->values = values;
    made->nulls = nulls;
}

static void make_own(const ViewColumns &columns, int run, const Source &source, engine::RunColumn *made) {
    const ColumnFacts &facts = columns.facts[source.column];
    const ColumnHeader &header = columns.rows->view->runs[run].header.column[source.column];
    switch (facts.kind) {
        case Kind::Boolean:
            made->form = engine::ColumnForm::flag;
            return;
        case Kind::Float:
            made->form = facts.type.code == column::IntegerCode::Float4 ? engine::ColumnForm::float32
                                                                        : engine::ColumnForm::float64;
            return;
        case Kind::Decimal:
            break;
        default:
            made->form = engine::ColumnForm::integer;
            made->offset = offset_of_code(facts.type);
            return;
    }
    if (column::is_scaled(header) && !is_empty(header, columns.rows->view->runs[run].header.entries)) {
        made->form = engine::ColumnForm::decimal;
        made->offset = UINT64CONST(1) << 63;
        made->power = static_cast<uint32>(source.scale - header.scale);
        return;
    }
    const auto place = static_cast<size_t>(run) * static_cast<size_t>(columns.rows->view->format->columns) +
                       static_cast<size_t>(source.column);
    const DecimalRun *decimals = columns.decimals[place];
    made->form = engine::ColumnForm::map;
    // A run in which all rows are NULL has no numbers.
    made->places = decimals == nullptr ? 0 : decimals->count;
    made->values = decimals == nullptr ? allocate_zeroed<uint64>(2) : map_decimals(*decimals, source);
}

static void make_run_column(const ViewColumns &columns, int run, Evaluation *evaluation,
                            engine::RunColumn *made) {
    const Source &source = *evaluation->source;
    RunReader *reader = &columns.rows->view->runs[run];
    made->column = static_cast<uint32>(source.column);
    switch (source.kind) {
        case SourceKind::Own:
            make_own(columns, run, source, made);
            return;
        case SourceKind::Shown: {
            const ColumnHeader &header = reader->header.column[source.column];
            if (!column::is_scaled(header)) {
                make_own(columns, run, source, made);
                return;
            }
            made->form = engine::ColumnForm::constant;
            made->offset = header.scale;
            return;
        }
        case SourceKind::Presence:
            made->form = engine::ColumnForm::code;
            return;
        case SourceKind::Result:
            if (evaluation->numbering != nullptr && evaluation->numbering->is_by_code)
                made->form = engine::ColumnForm::code;
            else
                map_results(evaluation, reader, made);
    }
}

// ---- loose rows -------------------------------------------------------------------------------------------

static column::Converted convert_decimal(Evaluation *evaluation, const column::TupleValue &value, int scale,
                                         uint64 *words) {
    const Source &source = *evaluation->source;
    uint64 number[2];
    uint8 shown;
    if (scale != column::kNotScaled) {
        write_words(ValueType::int128, column::number_of_scaled(value.integer), number);
        shown = static_cast<uint8>(scale);
    } else {
        const Datum numeric = column::datum_of(evaluation->facts->type, value.bytes, &evaluation->buffer);
        if (!column::read_wide(DatumGetNumeric(numeric), number, &shown))
            return column::Converted::Impossible;
    }
    Int128 scaled = column::wide_of_words(number[0], number[1]);
    if (source.kind == SourceKind::Shown)
        scaled = shown;
    else if (shown > source.scale || !column::multiply_by_power(&scaled, source.scale - shown))
        return column::Converted::Impossible;
    write_words(source.type, scaled, words);
    return column::Converted::Value;
}

static column::Converted convert_loose(void *context, const column::TupleValue &value, int scale,
                                       uint64 *words) {
    auto *evaluation = static_cast<Evaluation *>(context);
    const Source &source = *evaluation->source;
    const ColumnFacts &facts = *evaluation->facts;
    if (value.is_null)
        return column::Converted::Null;
    switch (source.kind) {
        case SourceKind::Presence:
            *words = 0;
            return column::Converted::Value;
        case SourceKind::Result:
            return evaluate(evaluation, value.bytes, words);
        default:
            break;
    }
    switch (facts.kind) {
        case Kind::Decimal:
            return convert_decimal(evaluation, value, scale, words);
        case Kind::Boolean:
            *words = value.integer != 0 ? 1 : 0;
            return column::Converted::Value;
        case Kind::Float: {
            const float8 real = facts.type.code == column::IntegerCode::Float4
                                    ? static_cast<float8>(column::decode_float4(value.integer))
                                    : column::decode_float8(value.integer);
            *words = static_cast<uint64>(DatumGetInt64(Float8GetDatum(real)));
            return column::Converted::Value;
        }
        default:
            *words = value.integer + offset_of_code(facts.type);
            return column::Converted::Value;
    }
}

// ---- the whole --------------------------------------------------------------------------------------------

static const Numbering *ranked_numbering(const Program &program, const Source &source) {
    const Numbering *numbering =
        source.numbering == no_numbering ? nullptr : &program.numberings[source.numbering];
    return numbering == nullptr || numbering->ranks == nullptr ? nullptr : numbering;
}

static void replace_numbers(const Numbering &numbering, const uint64 *numbers, uint64 count) {
    auto *own = const_cast<uint64 *>(numbers);
    for (uint64 i = 0; i < count; i++)
        own[i] = final_number(numbering, own[i]);
}

// Of one table, before numbers of values are final.
static const char *make_columns_of_table(const ViewColumns &columns, int table, Program *program,
                                         ExprContext *context, ScanColumns *scan) {
    const column::ColumnView *view = columns.rows->view;
    const size_t count = program->source_count;
    auto **made = allocate_zeroed<engine::RunColumn *>(static_cast<size_t>(view->run_count) + 1);
    for (int run = 0; run < view->run_count; run++)
        made[run] = allocate_zeroed<engine::RunColumn>(count + 1);
    auto *own = allocate_zeroed<column::OwnColumn>(count + 1);
    uint32 place = 0;
    for (uint32 i = 0; i < count; i++) {
        if (program->sources[i].table != table)
            continue;
        Evaluation *evaluation = begin_evaluation(columns, program, i, context);
        for (int run = 0; run < view->run_count && evaluation->problem == nullptr; run++)
            if (column::is_remote(view, run))
                make_run_column(columns, run, evaluation, &made[run][place]);
        if (evaluation->problem != nullptr)
            return evaluation->problem;
        own[place++] = {program->sources[i].column, program->sources[i].type, convert_loose, evaluation};
    }
    scan->by_run = const_cast<const engine::RunColumn **>(made);
    return column::take_own_rows(columns.rows, own, place, &scan->own_rows)
               ? nullptr
               : "rows of the tail can't be read";
}

static void replace_numbers_of_table(const ViewColumns &columns, int table, const Program &program,
                                     const ScanColumns &scan) {
    const column::ColumnView *view = columns.rows->view;
    uint32 place = 0;
    for (uint32 i = 0; i < program.source_count; i++) {
        if (program.sources[i].table != table)
            continue;
        if (const Numbering *numbering = ranked_numbering(program, program.sources[i])) {
            for (int run = 0; run < view->run_count; run++)
                if (column::is_remote(view, run))
                    replace_numbers(*numbering, scan.by_run[run][place].values,
                                    scan.by_run[run][place].places);
            replace_numbers(*numbering, scan.own_rows.columns[place].values, scan.own_rows.rows);
        }
        place++;
    }
}

const char *make_scan_columns(const ViewColumns *views, int count, Program *program, ExprContext *context,
                              ScanColumns *scans) {
    find_numbers_by_code(views, program);
    begin_numbers(program);
    for (int table = 0; table < count; table++)
        if (const char *problem = make_columns_of_table(views[table], table, program, context, &scans[table]))
            return problem;
    if (!number_tables(program))
        return kNoRoomForNumbers;
    finish_numbers(program);
    if (const char *problem = write_tables(program))
        return problem;
    for (int table = 0; table < count; table++)
        replace_numbers_of_table(views[table], table, *program, scans[table]);
    return nullptr;
}

}  // namespace pg_gpu::plan::query
