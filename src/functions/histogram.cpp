// gpu.histogram and gpu.byte_histogram.
#include <algorithm>
#include <cmath>
#include <limits>

#include "column/gpu_column.h"
#include "functions/column_access.h"
#include "functions/numbers.h"
#include "gpu_engine/column_histogram.h"
#include "request_kinds.h"

PG_GPU_FUNCTION(pg_gpu_histogram);
PG_GPU_FUNCTION(pg_gpu_byte_histogram);
PG_GPU_FUNCTION(pg_gpu_byte_histograms);

using namespace pg_gpu;
using column::ColumnView;

// ---- bins -------------------------------------------------------------------------------------------------

namespace {

// Slots as gpu_engine::HistogramBins numbers them. What width_bucket rounds up beyond the last bin, though it
// is below `high`, is above all bins.
struct Bins {
    gpu_engine::HistogramBins shape;
    // The least value of each slot but NaN's, and one more that nothing reaches.
    double *starts;
    // (value - low) * scale + 1 is a value's slot or the one beside it.
    double scale;
    bool can_guess;
    uint64 *counts;
};

}  // namespace

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

static int32 guess_slot(const Bins &bins, double value) {
    const double guess = (value - bins.shape.low) * bins.scale + 1.0;
    const double most = bins.shape.above();
    // A NaN is below.
    const double positive = guess > 0.0 ? guess : 0.0;
    return static_cast<int32>(positive < most ? positive : most);
}

// The guess is wrong by one slot at most, so that one step either way corrects it.
static uint32 slot_from(const Bins &bins, int32 guess, double value) {
    int32 slot = guess;
    slot += value >= bins.starts[guess + 1] ? 1 : 0;
    slot -= value < bins.starts[guess] ? 1 : 0;
    return value == value ? static_cast<uint32>(slot) : bins.shape.nan();
}

static uint32 slot_by_search(const Bins &bins, double value) {
    if (value != value)
        return bins.shape.nan();
    return static_cast<uint32>(std::upper_bound(bins.starts, bins.starts + bins.shape.above() + 1, value) -
                               bins.starts - 1);
}

static uint32 slot_of(const Bins &bins, double value) {
    return bins.can_guess ? slot_from(bins, guess_slot(bins, value), value) : slot_by_search(bins, value);
}

// Is the guess never farther than a step from the slot? It doesn't fall as values rise, so slots' ends tell.
static bool find_can_guess(const Bins &bins) {
    if (!std::isfinite(bins.shape.high - bins.shape.low) || !std::isfinite(bins.scale))
        return false;
    for (uint32 slot = 1; slot <= bins.shape.bins; slot++) {
        const double first = bins.starts[slot];
        const double last = std::nextafter(bins.starts[slot + 1], -kInfinity);
        if (first <= last && (guess_slot(bins, first) < static_cast<int32>(slot) - 1 ||
                              guess_slot(bins, last) > static_cast<int32>(slot) + 1))
            return false;
    }
    const double last_below = std::nextafter(bins.starts[1], -kInfinity);
    return guess_slot(bins, last_below) <= 1 &&
           guess_slot(bins, bins.starts[bins.shape.above()]) >= static_cast<int32>(bins.shape.bins);
}

static Bins make_bins(double low, double high, uint32 count) {
    Bins bins = {};
    bins.starts = allocate<double>(size_t{count} + 3);
    bins.starts[0] = -kInfinity;
    double *edges = bins.starts + 1;
    const Datum low_datum = Float8GetDatum(low);
    const Datum high_datum = Float8GetDatum(high);
    const Datum count_datum = Int32GetDatum(static_cast<int32>(count));
    gpu_engine::find_bin_edges(
        low, high, count,
        [&](double value) {
            return static_cast<uint32>(DatumGetInt32(DirectFunctionCall4(
                width_bucket_float8, Float8GetDatum(value), low_datum, high_datum, count_datum)));
        },
        edges);
    edges[count + 1] = std::numeric_limits<double>::quiet_NaN();
    bins.shape = {low, high, count, edges};
    bins.scale = count / (high - low);
    bins.can_guess = find_can_guess(bins);
    bins.counts = allocate_zeroed<uint64>(bins.shape.slots());
    return bins;
}

static void count_numbers(const Bins &bins, const double *numbers, uint32 count) {
    if (!bins.can_guess) {
        for (uint32 i = 0; i < count; i++)
            bins.counts[slot_by_search(bins, numbers[i])]++;
        return;
    }
    // All 64, for loops of a fixed length; what is behind the last number is ignored.
    int32 guesses[column::kGroup];
    for (uint32 i = 0; i < column::kGroup; i++)
        guesses[i] = guess_slot(bins, numbers[i]);
    for (uint32 i = 0; i < count; i++)
        bins.counts[slot_from(bins, guesses[i], numbers[i])]++;
}

// Fills the numbers behind the last one with 0.
static void convert_scaled(const uint64 *values, uint32 count, uint64 base, uint8 scale, double *numbers) {
    for (uint32 i = 0; i < count; i++)
        numbers[i] = column::float8_of_scaled(values[i] + base, scale);
    std::fill(numbers + count, numbers + column::kGroup, 0.0);
}

// Calls visit(number, rows), or visit_many(numbers, count) with a row each, for the numbers of a column;
// returns the rows with NULL.
template <typename Visit, typename VisitMany>
static uint64 visit_numbers(ColumnView *view, int number, Visit visit, VisitMany visit_many) {
    const column::ColumnType &type = view->format->types[number];
    column::ValueBuffer buffer = {nullptr, 0};
    const auto visit_string = [&](const column::Bytes &bytes, uint64 rows) {
        visit(functions::number_as_double(type.base_type, column::datum_of(type, bytes, &buffer)), rows);
    };
    const auto visit_all = [&](auto as_double) {
        return column::visit_values(
            view, number, [&](uint64 code, uint64 rows) { visit(as_double(code), rows); },
            [&](const uint64 *values, uint32 count, uint64 base, const column::ColumnHeader &header) {
                double numbers[column::kGroup];
                if (column::is_scaled(header))
                    convert_scaled(values, count, base, header.scale, numbers);
                else
                    for (uint32 i = 0; i < column::kGroup; i++)
                        numbers[i] = as_double(values[i] + base);
                visit_many(numbers, count);
            },
            visit_string);
    };
    // Those that may come row by row have loops of their own.
    switch (type.base_type) {
        case FLOAT8OID:
            return visit_all([](uint64 code) { return column::decode_float8(code); });
        case INT4OID:
            return visit_all([](uint64 code) {
                return static_cast<double>(static_cast<int32>(static_cast<uint32>(code) ^ 0x80000000U));
            });
        case INT8OID:
            return visit_all([](uint64 code) {
                return static_cast<double>(static_cast<int64>(code ^ UINT64CONST(1) << 63));
            });
        default:
            return visit_all([&type](uint64 code) {
                return functions::number_as_double(type.base_type, column::decode_integer(type, code));
            });
    }
}

// Adds the numbers of selected rows; returns the rows with NULL.
static uint64 count_view(ColumnView *view, int number, const Bins &bins) {
    return visit_numbers(
        view, number, [&bins](double value, uint64 rows) { bins.counts[slot_of(bins, value)] += rows; },
        [&bins](const double *numbers, uint32 count) { count_numbers(bins, numbers, count); });
}

namespace {

struct Bounds {
    bool any;
    double least;
    double greatest;
};

}  // namespace

static void widen_bounds(Bounds *bounds, double number) {
    if (number != number)
        return;
    bounds->least = !bounds->any || number < bounds->least ? number : bounds->least;
    bounds->greatest = !bounds->any || number > bounds->greatest ? number : bounds->greatest;
    bounds->any = true;
}

static Bounds find_bounds(ColumnView *view, int number) {
    Bounds bounds = {};
    visit_numbers(
        view, number, [&bounds](double value, uint64) { widen_bounds(&bounds, value); },
        [&bounds](const double *numbers, uint32 count) {
            for (uint32 i = 0; i < count; i++)
                widen_bounds(&bounds, numbers[i]);
        });
    return bounds;
}

static bool are_bounds(double low, double high) {
    return std::isfinite(low) && std::isfinite(high) && low < high;
}

// ---- gpu.histogram ----------------------------------------------------------------------------------------

namespace {

struct Request {
    int column;
    uint32 bins;
    bool has_low;
    bool has_high;
    double low;
    double high;
};

}  // namespace

static void require_bounds(const functions::OpenIndex &open, const Request &request) {
    const char *column = functions::column_name(open, request.column);
    const char *index = RelationGetRelationName(open.index);
    if (!std::isfinite(request.low) || !std::isfinite(request.high))
        ereport(
            ERROR,
            (errcode(ERRCODE_INVALID_ARGUMENT_FOR_WIDTH_BUCKET_FUNCTION),
             errmsg("bounds of a histogram of column \"%s\" of index \"%s\" must be finite", column, index),
             errhint("Give low and high where the column has infinite values, or the greatest there is.")));
    if (request.low >= request.high)
        ereport(ERROR, (errcode(ERRCODE_INVALID_ARGUMENT_FOR_WIDTH_BUCKET_FUNCTION),
                        errmsg("low must be less than high in a histogram of column \"%s\" of index \"%s\"",
                               column, index)));
}

static Request read_request(FunctionCallInfo fcinfo, const functions::OpenIndex &open,
                            const column::Format &format) {
    Request request = {};
    request.column = functions::find_column(open, NameStr(*PG_GETARG_NAME(1)));
    const Oid type = format.types[request.column].base_type;
    if (functions::number_kind(type) == functions::NumberKind::None)
        ereport(ERROR,
                (errcode(ERRCODE_DATATYPE_MISMATCH),
                 errmsg("column \"%s\" of type %s has no histogram",
                        functions::column_name(open, request.column), format_type_be(type)),
                 errhint("Histograms are of numbers, dates and timestamps; gpu.dictionary counts values of "
                         "any type.")));
    const int32 bins = PG_ARGISNULL(2) ? 256 : PG_GETARG_INT32(2);
    if (bins < 1 || static_cast<uint32>(bins) > gpu_engine::HistogramBins::max_bins)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("number of bins of a histogram must be between 1 and %u",
                               gpu_engine::HistogramBins::max_bins)));
    request.bins = static_cast<uint32>(bins);
    request.has_low = !PG_ARGISNULL(3);
    request.has_high = !PG_ARGISNULL(4);
    request.low = request.has_low ? PG_GETARG_FLOAT8(3) : 0;
    request.high = request.has_high ? PG_GETARG_FLOAT8(4) : 0;
    return request;
}

// Gives an empty column a bound beside the one that was given: 1 from it, or the next number where that is
// more.
static void fill_in_bounds(const Bounds &bounds, Request *request) {
    // Minus zero and zero are the same number, whichever comes first.
    if (!request->has_low)
        request->low = bounds.any ? bounds.least + 0.0
                       : request->has_high
                           ? std::min({0.0, request->high - 1, std::nextafter(request->high, -kInfinity)})
                           : 0.0;
    if (!request->has_high)
        request->high = bounds.any
                            ? std::nextafter(bounds.greatest, kInfinity)
                            : std::max({1.0, request->low + 1, std::nextafter(request->low, kInfinity)});
}

// Fills in what the caller left open.
static void find_missing_bounds(ColumnView *view, Request *request) {
    if (!request->has_low || !request->has_high)
        fill_in_bounds(find_bounds(view, request->column), request);
}

// ---- on the server ----------------------------------------------------------------------------------------

static double code_as_double(const column::ColumnType &type, uint64 code) {
    return functions::number_as_double(type.base_type, column::decode_integer(type, code));
}

// The least code from `low` on whose number isn't below the edge; false when there is none. Numbers don't
// fall as codes rise. The search begins at a guess and takes steps that double, until the code is between.
static bool find_start(const column::ColumnType &type, double edge, uint64 low, uint64 high, uint64 guess,
                       uint64 *start) {
    const auto is_reached = [&](uint64 code) { return code_as_double(type, code) >= edge; };
    if (!is_reached(high))
        return false;
    uint64 probe = Min(Max(guess, low), high);
    const bool reached = is_reached(probe);
    for (uint64 step = 1; low < high; step *= 2) {
        (reached ? high : low) = reached ? probe : probe + 1;
        if (low >= high || high - low <= step)
            break;
        probe = reached ? high - step : low + step - 1;
        if (is_reached(probe) != reached) {
            (reached ? low : high) = reached ? probe + 1 : probe;
            break;
        }
    }
    while (low < high) {
        const uint64 middle = low + (high - low) / 2;
        if (is_reached(middle))
            high = middle;
        else
            low = middle + 1;
    }
    *start = low;
    return true;
}

// Slots as codes: each but the first begins at a start; NaNs have one too.
static gpu_engine::ColumnTarget target_of_bins(const column::ColumnType &type, const Bins &bins, int column) {
    const bool is_float =
        type.code == column::IntegerCode::Float4 || type.code == column::IntegerCode::Float8;
    const uint64 nan = column::low_bits(type.width * 8U);
    const uint64 highest =
        is_float ? column::encode_integer(type, type.code == column::IntegerCode::Float8
                                                    ? Float8GetDatum(kInfinity)
                                                    : Float4GetDatum(static_cast<float4>(kInfinity)))
                 : nan;
    auto *starts = allocate<uint64>(size_t{bins.shape.bins} + 2);
    gpu_engine::ColumnTarget target = {};
    target.kind = gpu_engine::TargetKind::bins;
    target.column = static_cast<uint32>(column);
    target.starts = starts;
    target.scale = type.code == column::IntegerCode::Float8   ? gpu_engine::ValueScale::float8
                   : type.code == column::IntegerCode::Float4 ? gpu_engine::ValueScale::float4
                                                              : gpu_engine::ValueScale::integers;
    uint64 low = column::lowest_code(type);
    uint64 distance = 0;
    for (uint32 edge = 0; edge <= bins.shape.bins; edge++) {
        const uint64 guess = low > highest - distance ? highest : low + distance;
        uint64 start;
        if (!find_start(type, bins.shape.edges[edge], low, highest, guess, &start))
            break;
        // Edges are so far apart that the next one is best guessed from this.
        distance = edge > 0 ? start - low : 0;
        low = start;
        starts[target.even++] = start;
    }
    target.slots = target.even + 1;
    if (is_float)
        starts[target.slots++ - 1] = nan;
    return target;
}

// Fills in what the caller left open.
static bool find_missing_bounds(column::RemoteRows *rows, Request *request) {
    if (request->has_low && request->has_high)
        return true;
    const column::ColumnType &type = rows->view->format->types[request->column];
    const column::CodeRange numbers = {0, column::low_bits(type.width * 8U) - 1};
    const int tests = rows->test_count;
    const bool is_float =
        type.code == column::IntegerCode::Float4 || type.code == column::IntegerCode::Float8;
    if (is_float)
        column::add_range_test(rows, request->column, &numbers, 1);
    bool any;
    uint64 least;
    uint64 greatest;
    const bool answered = column::find_remote_bounds(rows, request->column, &any, &least, &greatest);
    rows->test_count = tests;
    if (!answered)
        return false;
    // These are the bounds of what the session has selected itself.
    Bounds bounds = find_bounds(rows->view, request->column);
    if (any) {
        widen_bounds(&bounds, code_as_double(type, least));
        widen_bounds(&bounds, code_as_double(type, greatest));
    }
    fill_in_bounds(bounds, request);
    return true;
}

// Adds what the server counts, and what the session has selected itself.
static bool count_bins(column::RemoteRows *rows, int column, const Bins &bins, uint64 *nulls) {
    const column::ColumnType &type = rows->view->format->types[column];
    const gpu_engine::ColumnTarget target = target_of_bins(type, bins, column);
    auto *counts = allocate_zeroed<uint64>(uint64{target.slots} + 1);
    if (!column::count_remote_bins(rows, target, counts))
        return false;
    for (uint32 slot = 0; slot <= target.even; slot++)
        bins.counts[slot] += counts[slot];
    if (target.slots > target.even + 1)
        bins.counts[bins.shape.nan()] += counts[target.even + 1];
    *nulls = counts[target.slots] + count_view(rows->view, column, bins);
    return true;
}

namespace {

struct BinnedRows {
    Bins bins;
    uint64 nulls;
};

}  // namespace

// Strings' numbers are looked at once a dictionary entry, integers' are the server's to bin.
static bool count_on_server(const functions::OpenIndex &open, Snapshot snapshot, const column::Format &format,
                            const column::Condition &condition, const Request &requested,
                            MemoryContext context, BinnedRows *counted) {
    const bool is_integer = format.types[requested.column].is_integer;
    uint64 heap_fetches;
    return column::with_rows_on_server(
        open.heap, open.index, snapshot, &format, condition,
        {client::RequestKind::CountColumnValues, 1, 0, true},
        [&](column::RemoteRows *rows) {
            Request request = requested;
            if (!is_integer && (!column::has_counted_codes(*rows, request.column) ||
                                !column::count_remote_codes(rows, request.column)))
                return false;
            if (is_integer && !find_missing_bounds(rows, &request))
                return false;
            if (!is_integer)
                find_missing_bounds(rows->view, &request);
            if (column::is_stale(rows->view))
                return false;
            // An error about the bounds is raised only when the view has held to its end: recycled pages may
            // have given wrong ones.
            if (!are_bounds(request.low, request.high))
                return false;
            MemoryContext caller = MemoryContextSwitchTo(context);
            counted->bins = make_bins(request.low, request.high, request.bins);
            MemoryContextSwitchTo(caller);
            if (is_integer)
                return count_bins(rows, request.column, counted->bins, &counted->nulls);
            counted->nulls = count_view(rows->view, request.column, counted->bins);
            return true;
        },
        &heap_fetches);
}

static BinnedRows count_by_bins(const functions::OpenIndex &open, Snapshot snapshot,
                                const column::Format &format, const column::Condition &condition,
                                const Request &requested) {
    MemoryContext context = CurrentMemoryContext;
    BinnedRows counted = {};
    pgstat_count_index_scan(open.index);
    if (count_on_server(open, snapshot, format, condition, requested, context, &counted))
        return counted;
    const client::PagedRequest paged = client::begin_paged(client::RequestKind::CountColumnValues, 1);
    column::with_rows(open.heap, open.index, snapshot, &format, condition, [&](ColumnView *view) {
        Request request = requested;
        find_missing_bounds(view, &request);
        if (column::is_stale(view))
            return;
        require_bounds(open, request);
        MemoryContextSwitchTo(context);
        counted.bins = make_bins(request.low, request.high, request.bins);
        MemoryContextSwitchTo(view->context);
        counted.nulls = count_view(view, request.column, counted.bins);
    });
    client::end_paged(paged);
    client::note_request_done(open.index, client::RequestKind::CountColumnValues);
    return counted;
}

static void put_slot(ReturnSetInfo *result, const Bins &bins, uint32 slot, uint64 count) {
    const bool has_edges = slot != bins.shape.nan();
    const double lower = has_edges ? bins.starts[slot] : 0;
    const double upper = slot == bins.shape.above() ? kInfinity : has_edges ? bins.starts[slot + 1] : 0;
    Datum values[] = {Int32GetDatum(static_cast<int32>(slot)), Float8GetDatum(lower), Float8GetDatum(upper),
                      Int64GetDatum(static_cast<int64>(count))};
    bool nulls[] = {false, !has_edges, !has_edges, false};
    tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

Datum pg_gpu_histogram(PG_FUNCTION_ARGS) {
    InitMaterializedSRF(fcinfo, 0);
    auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
    if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
        return Datum{0};
    Snapshot snapshot = GetActiveSnapshot();
    const functions::OpenIndex open = functions::open_columns(PG_GETARG_OID(0), snapshot, "gpu.histogram");
    const column::Format *format = column::make_format(open.index);
    const Request requested = read_request(fcinfo, open, *format);
    column::Condition condition = {};
    functions::read_filter(fcinfo, 5, open, *format, &condition);

    const BinnedRows counted = count_by_bins(open, snapshot, *format, condition, requested);
    for (uint32 slot = 0; slot < counted.bins.shape.slots(); slot++)
        put_slot(result, counted.bins, slot, counted.bins.counts[slot]);
    Datum values[] = {Datum{0}, Datum{0}, Datum{0}, Int64GetDatum(static_cast<int64>(counted.nulls))};
    bool absent[] = {true, true, true, false};
    tuplestore_putvalues(result->setResult, result->setDesc, values, absent);
    functions::close_index(open);
    return Datum{0};
}

// ---- gpu.byte_histogram -----------------------------------------------------------------------------------

static constexpr int kByteValues = 256;

// Neighbouring bytes count into arrays of their own: equal ones don't wait for each other then.
static void count_bytes(const uint8 *bytes, size_t length, int64 *counts) {
    constexpr size_t spread = 4;
    uint32 parts[spread][kByteValues] = {};
    size_t at = 0;
    for (; at + spread <= length; at += spread)
        for (size_t i = 0; i < spread; i++)
            parts[i][bytes[at + i]]++;
    for (; at < length; at++)
        parts[0][bytes[at]]++;
    for (int value = 0; value < kByteValues; value++) {
        counts[value] = 0;
        for (const auto &part : parts)
            counts[value] += part[value];
    }
}

static ArrayType *byte_counts(const struct varlena *image) {
    int64 counts[kByteValues];
    count_bytes(reinterpret_cast<const uint8 *>(VARDATA_ANY(image)), VARSIZE_ANY_EXHDR(image), counts);
    Datum elements[kByteValues];
    for (int i = 0; i < kByteValues; i++)
        elements[i] = Int64GetDatum(counts[i]);
    return construct_array(elements, kByteValues, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
}

Datum pg_gpu_byte_histogram(PG_FUNCTION_ARGS) {
    PG_RETURN_ARRAYTYPE_P(byte_counts(PG_GETARG_BYTEA_PP(0)));
}

Datum pg_gpu_byte_histograms(PG_FUNCTION_ARGS) {
    InitMaterializedSRF(fcinfo, 0);
    auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
    ArrayType *images = PG_GETARG_ARRAYTYPE_P(0);
    Datum *elements;
    bool *absent;
    int count;
    deconstruct_array(images, BYTEAOID, -1, false, TYPALIGN_INT, &elements, &absent, &count);
    for (int i = 0; i < count; i++) {
        CHECK_FOR_INTERRUPTS();
        Datum values[] = {Int64GetDatum(int64{i} + 1), Datum{0}};
        bool nulls[] = {false, absent[i]};
        if (!absent[i]) {
            const struct varlena *image = PG_DETOAST_DATUM_PACKED(elements[i]);
            values[1] = PointerGetDatum(byte_counts(image));
        }
        tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
        if (!absent[i])
            pfree(DatumGetPointer(values[1]));
    }
    return Datum{0};
}
