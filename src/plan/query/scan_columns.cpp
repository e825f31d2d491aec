// How runs' codes and loose rows' values become the columns of a query's scans.
#include "column/format/scaled_numeric.h"
#include "column/query/row_tids.h"
#include "column/scan/cached_results.h"
#include "plan/query/columns.h"
#include "plan/query/entries.h"
#include "plan/query/kept_results.h"
#include "plan/query/map_names.h"
#include "plan/query/numbering.h"
#include "plan/query/spaces.h"
#include "plan/query/tables.h"
#include "plan/query/text_casts.h"

namespace pg_gpu::plan::query {

using column::ColumnHeader;
using column::ColumnType;
using column::RunReader;

// ---- the columns of a run ---------------------------------------------------------------------------------

static void write_words(ValueType type, Int128 number, uint64 *words) {
    words[0] = static_cast<uint64>(number);
    if (type == ValueType::int128)
        words[1] = static_cast<uint64>(number >> 64);
}

// A numeric that isn't finite, of which the source may say how many digits it shows.
static Int128 number_of_special(const Source &source, int special) {
    Int128 number = source.kind == SourceKind::Own ? special : 0;
    column::multiply_by_power(&number, source.unit);
    return number;
}

// The dictionary's numbers at the source's scale, or how many digits they show.
static const uint64 *map_decimals(const DecimalRun &run, const Source &source) {
    const uint32 words = engine::words_of(source.type);
    auto *values = allocate_zeroed<uint64>(run.count * words + 1);
    for (uint64 code = 0; code < run.count; code++) {
        Int128 number = run.scales[code];
        if (run.scales[code] == kSpecialScale) {
            number = number_of_special(source, static_cast<int>(run.words[2 * code]));
        } else if (source.kind == SourceKind::Own) {
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
    TextCasts casts;   // of the expression
    TupleTableSlot *row;
    column::ValueBuffer buffer;
    MapForm maps;
    const char *problem;
};

}  // namespace

// A source by the columns of the view.
static Source *source_of_view(const ViewColumns &columns, Program *program, uint32 number) {
    Source *source = &program->sources[number];
    if (columns.columns == nullptr)
        return source;
    auto *own = allocate<Source>(1);
    *own = *source;
    own->column = column_of_view(columns, source->column);
    own->expression =
        reinterpret_cast<Expr *>(over_member(reinterpret_cast<Node *>(source->expression), columns.columns));
    return own;
}

static Evaluation *begin_evaluation(const ViewColumns &columns, Program *program, uint32 number,
                                    ExprContext *context, MapForm maps) {
    Source *source = source_of_view(columns, program, number);
    auto *evaluation = allocate_zeroed<Evaluation>(1);
    evaluation->facts = &columns.facts[source->column];
    evaluation->source = source;
    evaluation->context = context;
    evaluation->maps = maps;
    if (source->kind != SourceKind::Result)
        return evaluation;
    if (source->numbering != no_numbering)
        evaluation->numbering = &program->numberings[source->numbering];
    if (!IsA(source->expression, Var)) {
        evaluation->state = ExecInitExpr(source->expression, nullptr);
        evaluation->casts = begin_text_casts(source->expression);
        const TupleDesc columns_of_row = columns.input != nullptr
                                             ? columns.input->descriptor
                                             : RelationGetDescr(columns.rows->view->index);
        evaluation->row = ExecStoreAllNullTuple(
            MakeSingleTupleTableSlot(CreateTupleDescCopy(columns_of_row), &TTSOpsVirtual));
    }
    return evaluation;
}

bool read_computed(Numeric numeric, int scale, Int128 *number, uint8 *shown) {
    uint64 words[2];
    if (column::special_of(numeric) != 0 || !column::read_wide(numeric, words, shown) || *shown > scale)
        return false;
    *number = column::wide_of_words(words[0], words[1]);
    return column::multiply_by_power(number, scale - *shown) &&
           std::fabs(static_cast<double>(*number)) < kMaxComputed;
}

static column::Converted write_decimal(const Source &source, Numeric numeric, uint64 *words) {
    Int128 number;
    uint8 shown;
    if (!read_computed(numeric, source.scale, &number, &shown))
        return column::Converted::Impossible;
    write_words(source.type, source.part == ResultPart::Shown ? shown : number, words);
    return column::Converted::Value;
}

// From PostgreSQL 17 on there are infinite intervals, which have no fields to compute with.
static column::Converted write_part(ResultPart part, const Interval &interval, uint64 *words) {
    if (is_infinite_interval(interval))
        return column::Converted::Impossible;
    const int64 number = part == ResultPart::Months ? interval.month
                         : part == ResultPart::Days ? interval.day
                                                    : interval.time;
    *words = static_cast<uint64>(number);
    return column::Converted::Value;
}

static const char *problem_of_result(const Evaluation &evaluation) {
    const Source &source = *evaluation.source;
    return source.result == Kind::Decimal     ? kNoRoomForDigits
           : source.part == ResultPart::Whole ? kNoRoomForNumbers
                                              : "an interval is infinite";
}

static column::Converted write_result(Evaluation *evaluation, Datum result, uint64 *words) {
    const Source &source = *evaluation->source;
    if (source.result == Kind::Decimal)
        return write_decimal(source, DatumGetNumeric(result), words);
    if (source.part != ResultPart::Whole)
        return write_part(source.part, *DatumGetIntervalP(result), words);
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

static column::Converted convert_result(Evaluation *evaluation, uint64 *words) {
    bool is_null;
    const Datum result = ExecEvalExprSwitchContext(evaluation->state, evaluation->context, &is_null);
    return is_null ? column::Converted::Null : write_result(evaluation, result, words);
}

// A text that is no number has no result, and of numerics neither has one without room.
static column::Converted convert_cast(Evaluation *evaluation, uint64 *words) {
    const Source &source = *evaluation->source;
    const bool is_asked = source.part == ResultPart::Readable;
    const bool may_lack_room = source.result == Kind::Decimal;
    bool is_readable = are_readable(evaluation->casts, evaluation->context);
    column::Converted converted = column::Converted::Null;
    if (is_readable && (!is_asked || may_lack_room)) {
        uint64 result[2];
        converted = convert_result(evaluation, is_asked ? result : words);
        if (may_lack_room && converted == column::Converted::Impossible) {
            is_readable = false;
            converted = column::Converted::Null;
        }
    }
    if (!is_asked)
        return converted;
    *words = is_readable ? 1 : 0;
    return column::Converted::Value;
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
    const column::Converted converted =
        evaluation->casts.count > 0 ? convert_cast(evaluation, words) : convert_result(evaluation, words);
    ResetExprContext(context);
    return converted;
}

// A dictionary's own entries differ from each other, so that it is known at once when they are too many.
static bool has_room(const Evaluation &evaluation, const ColumnHeader &header) {
    return evaluation.numbering == nullptr || evaluation.state != nullptr || header.base <= kNumberMemory;
}

// True: the map's name is enough.
static bool begin_map(const Evaluation &evaluation, uint64 places, engine::RunColumn *made) {
    made->form = engine::ColumnForm::map;
    made->places = places;
    made->name = name_map(*evaluation.source, places);
    return made->name.is_given() && evaluation.maps == MapForm::Named;
}

static void map_results(Evaluation *evaluation, RunReader *reader, engine::RunColumn *made) {
    const int number = evaluation->source->column;
    const uint64 count = reader->header.column[number].distinct;
    if (begin_map(*evaluation, count, made))
        return;
    if (!has_room(*evaluation, reader->header.column[number])) {
        evaluation->problem = kNoRoomForNumbers;
        return;
    }
    const uint32 width = engine::words_of(evaluation->source->type);
    auto *values = allocate_zeroed<uint64>(count * width + 1);
    uint64 *nulls = nullptr;
    const bool may_be_kept = evaluation->numbering != nullptr && evaluation->state != nullptr;
    const ResultsOfRun run = {reader, evaluation->source, column::count_changes()};
    bool has_room_for_kept = true;
    if (may_be_kept && number_kept_results(run, evaluation->numbering, values, &nulls, &has_room_for_kept)) {
        if (!has_room_for_kept)
            evaluation->problem = kNoRoomForNumbers;
        made->values = values;
        made->nulls = nulls;
        return;
    }
    column::StringCursor cursor;
    column::begin_strings(&cursor, reader, number);
    while (evaluation->problem == nullptr && column::next_string(&cursor)) {
        const uint64 code = cursor.ordinal;
        if (code % column::kBatch == 0)
            CHECK_FOR_INTERRUPTS();
        const column::Converted converted = evaluate(evaluation, cursor.value, &values[code * width]);
        if (converted == column::Converted::Impossible)
            evaluation->problem = problem_of_result(*evaluation);
        if (converted != column::Converted::Null)
            continue;
        if (nulls == nullptr)
            nulls = allocate_zeroed<uint64>(count / 64 + 1);
        nulls[code / 64] |= UINT64CONST(1) << (code % 64);
    }
    column::end_strings(&cursor);
    made->values = values;
    made->nulls = nulls;
    if (may_be_kept && evaluation->problem == nullptr)
        keep_results(run, *evaluation->numbering, values, nulls);
}

static void make_own(const ViewColumns &columns, int run, const Evaluation &evaluation,
                     engine::RunColumn *made) {
    const Source &source = *evaluation.source;
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
    // A run in which all rows are NULL has no numbers.
    if (!begin_map(evaluation, decimals == nullptr ? 0 : decimals->count, made))
        made->values = decimals == nullptr ? allocate_zeroed<uint64>(2) : map_decimals(*decimals, source);
}

static void make_run_column(const ViewColumns &columns, int run, Evaluation *evaluation,
                            engine::RunColumn *made) {
    const Source &source = *evaluation->source;
    RunReader *reader = &columns.rows->view->runs[run];
    made->column = static_cast<uint32>(source.column);
    switch (source.kind) {
        case SourceKind::Own:
            make_own(columns, run, *evaluation, made);
            return;
        case SourceKind::Shown: {
            const ColumnHeader &header = reader->header.column[source.column];
            if (!column::is_scaled(header)) {
                make_own(columns, run, *evaluation, made);
                return;
            }
            made->form = engine::ColumnForm::constant;
            made->offset = header.scale;
            return;
        }
        case SourceKind::Presence:
            made->form = engine::ColumnForm::code;
            return;
        case SourceKind::Number:
            made->form = engine::ColumnForm::row;
            made->offset = column::first_row_number(columns.rows->view, run);
            return;
        case SourceKind::Result:
            if (evaluation->numbering != nullptr && evaluation->numbering->is_by_code)
                made->form = engine::ColumnForm::code;
            else if (evaluation->numbering != nullptr && evaluation->numbering->is_by_space)
                make_space_column(columns, run, source.numbering, made);
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
        if (const int special = column::special_of(DatumGetNumeric(numeric)); special != 0) {
            write_words(source.type, number_of_special(source, special), words);
            return column::Converted::Value;
        }
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

// ---- inputs -----------------------------------------------------------------------------------------------

// Returns nullptr, or why a value has no words.
static const char *make_input_column(const InputRows &input, Evaluation *evaluation,
                                     engine::InputColumn *made) {
    const uint32 width = engine::words_of(evaluation->source->type);
    const auto columns = static_cast<uint64>(input.columns);
    auto *values = allocate_zeroed<uint64>(input.count * width + 1);
    auto *nulls = allocate_zeroed<uint64>(input.count / 64 + 1);
    for (uint64 row = 0; row < input.count; row++) {
        const column::TupleValue &value =
            input.values[row * columns + static_cast<uint64>(evaluation->source->column)];
        switch (convert_loose(evaluation, value, column::kNotScaled, values + row * width)) {
            case column::Converted::Null:
                nulls[row / 64] |= UINT64CONST(1) << (row % 64);
                break;
            case column::Converted::Impossible:
                return problem_of_result(*evaluation);
            default:
                break;
        }
    }
    *made = {values, nulls};
    return nullptr;
}

static const char *make_columns_of_input(const ViewColumns &columns, Program *program, ExprContext *context,
                                         ScanColumns *scan) {
    auto *made = allocate_zeroed<engine::InputColumn>(size_t{program->source_count} + 1);
    uint32 place = 0;
    for (uint32 i = 0; i < program->source_count; i++) {
        if (program->sources[i].table != columns.table)
            continue;
        Evaluation *evaluation = begin_evaluation(columns, program, i, context, MapForm::Whole);
        if (const char *problem = make_input_column(*columns.input, evaluation, &made[place++]))
            return problem;
    }
    scan->by_run = nullptr;
    scan->own_rows = {columns.input->count, made};
    return nullptr;
}

// ---- the whole --------------------------------------------------------------------------------------------

static const Numbering *ranked_numbering(const Program &program, const Source &source) {
    const Numbering *numbering =
        source.numbering == no_numbering ? nullptr : &program.numberings[source.numbering];
    return numbering == nullptr || (numbering->ranks == nullptr && numbering->own_numbers == nullptr)
               ? nullptr
               : numbering;
}

static void replace_numbers(const Numbering &numbering, const uint64 *numbers, uint64 count) {
    auto *own = const_cast<uint64 *>(numbers);
    for (uint64 i = 0; i < count; i++)
        own[i] = final_number(numbering, own[i]);
}

// Of one view, before numbers of values are final.
static const char *make_columns_of_view(const ViewColumns &columns, Program *program, ExprContext *context,
                                        MapForm maps, ScanColumns *scan) {
    if (columns.input != nullptr)
        return make_columns_of_input(columns, program, context, scan);
    const column::ColumnView *view = columns.rows->view;
    const size_t count = program->source_count;
    auto **made = allocate_zeroed<engine::RunColumn *>(static_cast<size_t>(view->run_count) + 1);
    for (int run = 0; run < view->run_count; run++)
        made[run] = allocate_zeroed<engine::RunColumn>(count + 1);
    auto *own = allocate_zeroed<column::OwnColumn>(count + 1);
    uint32 place = 0;
    for (uint32 i = 0; i < count; i++) {
        if (program->sources[i].table != columns.table)
            continue;
        Evaluation *evaluation = begin_evaluation(columns, program, i, context, maps);
        for (int run = 0; run < view->run_count && evaluation->problem == nullptr; run++)
            if (column::is_remote(view, run))
                make_run_column(columns, run, evaluation, &made[run][place]);
        if (evaluation->problem != nullptr)
            return evaluation->problem;
        own[place++] = {evaluation->source->column, program->sources[i].type,
                        program->sources[i].kind == SourceKind::Number ? nullptr : convert_loose, evaluation};
    }
    scan->by_run = const_cast<const engine::RunColumn **>(made);
    return column::take_own_rows(columns.rows, own, place, &scan->own_rows)
               ? nullptr
               : "rows of the tail can't be read";
}

static void replace_numbers_of_view(const ViewColumns &columns, const Program &program,
                                    const ScanColumns &scan) {
    const column::ColumnView *view = columns.rows == nullptr ? nullptr : columns.rows->view;
    uint32 place = 0;
    for (uint32 i = 0; i < program.source_count; i++) {
        if (program.sources[i].table != columns.table)
            continue;
        if (const Numbering *numbering = ranked_numbering(program, program.sources[i])) {
            for (int run = 0; view != nullptr && run < view->run_count; run++)
                if (column::is_remote(view, run))
                    replace_numbers(*numbering, scan.by_run[run][place].values,
                                    scan.by_run[run][place].places);
            replace_numbers(*numbering, scan.own_rows.columns[place].values, scan.own_rows.rows);
        }
        place++;
    }
}

// *asks_server: are numbers to be the server's where they can be? It becomes false where the server doesn't
// give them.
static const char *try_to_make_columns(const TableViews &views, Program *program, ExprContext *context,
                                       MapForm maps, bool *asks_server, ScanColumns *scans) {
    find_numbers_by_code(views, program);
    if (*asks_server)
        find_numbers_by_space(views, program);
    begin_numbers(program);
    for (int i = 0; i < views.count; i++)
        if (const char *problem = make_columns_of_view(views.views[i], program, context, maps, &scans[i]))
            return problem;
    if (!number_tables(program))
        return kNoRoomForNumbers;
    if (*asks_server && !number_by_spaces(views, program, scans)) {
        *asks_server = false;
        return nullptr;
    }
    finish_numbers(program);
    if (const char *problem = write_tables(program))
        return problem;
    for (int i = 0; i < views.count; i++)
        replace_numbers_of_view(views.views[i], *program, scans[i]);
    return nullptr;
}

const char *make_scan_columns(const TableViews &views, Program *program, ExprContext *context, MapForm maps,
                              ScanColumns *scans) {
    bool asks_server = true;
    const char *problem = try_to_make_columns(views, program, context, maps, &asks_server, scans);
    if (asks_server || problem != nullptr)
        return problem;
    forget_spaces(program);
    return try_to_make_columns(views, program, context, maps, &asks_server, scans);
}

}  // namespace pg_gpu::plan::query
