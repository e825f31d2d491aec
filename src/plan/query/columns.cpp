#include "plan/query/columns.h"

#include "column/format/scaled_numeric.h"
#include "column/scan/cached_results.h"

namespace pg_gpu::plan::query {

using column::ColumnHeader;
using column::ColumnType;
using column::RunReader;

// ---- what is gathered of a column -------------------------------------------------------------------------

namespace {

struct Gathered {
    bool any;
    double limit;  // of integers
    DecimalSpan decimals;
    bool may_be_minus_0;  // a float
    bool has_special;     // a numeric that isn't finite
    const char *problem;
};

}  // namespace

static constexpr const char *kOddNumber = "a numeric has too many digits";

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

static void widen(DecimalSpan *span, Int128 number, int scale) {
    span->has_scale[scale] = true;
    span->most[scale] = Max(span->most[scale], std::fabs(static_cast<double>(number)));
}

static void note_decimal(Gathered *gathered, Int128 number, int scale) {
    gathered->any = true;
    widen(&gathered->decimals, number, scale);
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
    facts->has_special = gathered.has_special;
    if (facts->kind != Kind::Decimal)
        return;
    int least = -1;
    for (int scale = 0; scale <= kMaxScale; scale++) {
        if (!gathered.decimals.has_scale[scale])
            continue;
        least = least < 0 ? scale : least;
        facts->scale = static_cast<int16>(scale);
    }
    for (int scale = 0; scale <= facts->scale; scale++)
        facts->limit =
            Max(facts->limit, gathered.decimals.most[scale] * std::pow(10.0, facts->scale - scale));
    facts->has_scale = least >= 0;
    facts->shown = least == facts->scale || least < 0 ? facts->scale : kShownByRow;
    if (facts->limit >= kMaxInt128)
        facts->problem = kOddNumber;
}

static ColumnFacts *begin_facts(const ColumnType *types, int count) {
    auto *facts = allocate_zeroed<ColumnFacts>(static_cast<size_t>(count) + 1);
    for (int i = 0; i < count; i++) {
        facts[i].type = types[i];
        facts[i].kind = kind_of_type(types[i].base_type);
    }
    return facts;
}

// ---- of members -------------------------------------------------------------------------------------------

static bool is_kept_alike(const ColumnType &one, const ColumnType &other) {
    return one.type == other.type && one.base_type == other.base_type && one.collation == other.collation &&
           one.length == other.length && one.by_value == other.by_value &&
           one.is_integer == other.is_integer && one.is_ordered == other.is_ordered &&
           one.width == other.width && one.code == other.code;
}

static void combine_decimals(ColumnFacts *facts, const ColumnFacts &other) {
    if (!other.has_scale)
        return;
    if (!facts->has_scale) {
        facts->has_scale = true;
        facts->limit = other.limit;
        facts->scale = other.scale;
        facts->shown = other.shown;
        return;
    }
    const int16 scale = Max(facts->scale, other.scale);
    facts->limit = Max(facts->limit * std::pow(10.0, scale - facts->scale),
                       other.limit * std::pow(10.0, scale - other.scale));
    if (facts->shown != other.shown)
        facts->shown = kShownByRow;
    facts->scale = scale;
    if (facts->limit >= kMaxInt128)
        facts->problem = kOddNumber;
}

static void combine_column(ColumnFacts *facts, const ColumnFacts &other) {
    if (facts->problem == nullptr)
        facts->problem = other.problem;
    facts->may_be_minus_0 = facts->may_be_minus_0 || other.may_be_minus_0;
    facts->has_special = facts->has_special || other.has_special;
    if (facts->kind == Kind::Decimal)
        combine_decimals(facts, other);
    else
        facts->limit = Max(facts->limit, other.limit);
}

ColumnFacts *combine_facts(const ColumnFacts *const *facts, const MemberColumns *columns, int members,
                           int attributes) {
    auto *combined = allocate_zeroed<ColumnFacts>(static_cast<size_t>(attributes) + 1);
    for (int i = 0; i < attributes; i++) {
        // All members have the same ones.
        if (columns[0][i] == 0)
            continue;
        combined[i] = facts[0][columns[0][i] - 1];
        for (int member = 1; member < members; member++) {
            const ColumnFacts &other = facts[member][columns[member][i] - 1];
            if (!is_kept_alike(combined[i].type, other.type))
                return nullptr;
            combine_column(&combined[i], other);
        }
    }
    return combined;
}

// ---- for the planner --------------------------------------------------------------------------------------

// What a dictionary has, its header doesn't tell. A column's declared scale is that of all its values.
static void guess_decimals(Gathered *gathered, int32 typmod) {
    constexpr int usual_scale = 4;
    constexpr double usual_number = 1e9;
    int precision;
    int scale;
    if (!read_numeric_typmod(typmod, &precision, &scale)) {
        note_decimal(gathered, 0, 0);
        gathered->decimals.has_scale[usual_scale] = true;
        gathered->decimals.most[usual_scale] = Max(gathered->decimals.most[usual_scale], usual_number);
        return;
    }
    if (scale < 0 || scale > kMaxScale)
        return;
    gathered->decimals.has_scale[scale] = true;
    gathered->decimals.most[scale] =
        Max(gathered->decimals.most[scale], Min(std::pow(10.0, precision), usual_number));
}

ColumnFacts *read_index_facts(Relation index, const column::Format &format) {
    ColumnFacts *facts = begin_facts(format.types, format.columns);
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

ColumnFacts *guess_input_facts(const List *columns) {
    constexpr double usual_number = 1e6;
    const int count = list_length(columns);
    auto *types = allocate<ColumnType>(static_cast<size_t>(count) + 1);
    for (int i = 0; i < count; i++)
        types[i] = type_of_input(list_nth(columns, i));
    ColumnFacts *facts = begin_facts(types, count);
    for (int i = 0; i < count; i++) {
        Gathered gathered = {};
        gathered.limit = usual_number;
        if (facts[i].kind == Kind::Decimal)
            guess_decimals(&gathered, exprTypmod(static_cast<const Node *>(list_nth(columns, i))));
        finish_facts(gathered, &facts[i]);
    }
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
        uint64 *words = &run->words[2 * code];
        if (const int special = column::special_of(DatumGetNumeric(value)); special != 0) {
            words[0] = static_cast<uint64>(int64{special});
            run->scales[code] = kSpecialScale;
            run->has_special = true;
        } else if (column::read_wide(DatumGetNumeric(value), words, &run->scales[code]))
            widen(&run->span, column::wide_of_words(words[0], words[1]), run->scales[code]);
        else
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
    gathered->has_special = gathered->has_special || run.has_special;
    gathered->any = gathered->any || run.count > 0;
    for (int scale = 0; scale <= kMaxScale; scale++) {
        gathered->decimals.has_scale[scale] =
            gathered->decimals.has_scale[scale] || run.span.has_scale[scale];
        gathered->decimals.most[scale] = Max(gathered->decimals.most[scale], run.span.most[scale]);
    }
}

static void note_loose(Gathered *gathered, const ColumnFacts &facts, const column::TupleValue &value) {
    if (value.is_null)
        return;
    if (facts.kind == Kind::Decimal) {
        column::ValueBuffer buffer = {nullptr, 0};
        uint64 words[2];
        uint8 scale;
        const Datum numeric = column::datum_of(facts.type, value.bytes, &buffer);
        if (column::special_of(DatumGetNumeric(numeric)) != 0)
            gathered->has_special = true;
        else if (column::read_wide(DatumGetNumeric(numeric), words, &scale))
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
        rows,
        begin_facts(format.types, format.columns),
        allocate_zeroed<const DecimalRun *>(columns * static_cast<size_t>(view->run_count) + 1),
        nullptr,
        0,
        nullptr};
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

ViewColumns read_input_columns(const InputRows *input) {
    ViewColumns found = {nullptr, begin_facts(input->types, input->columns), nullptr, input, 0, nullptr};
    for (int i = 0; i < input->columns; i++) {
        Gathered gathered = {};
        for (uint64 row = 0; row < input->count; row++)
            note_loose(&gathered, found.facts[i],
                       input->values[row * static_cast<uint64>(input->columns) + static_cast<uint64>(i)]);
        finish_facts(gathered, &found.facts[i]);
    }
    return found;
}

}  // namespace pg_gpu::plan::query
