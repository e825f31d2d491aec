#include "grid/converted.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

namespace pg_gpu::grid {

// Rounding to single precision, outwards and on both sides of a comparison, moves a bound by four units at
// most. Twice that costs nothing, because PostgreSQL looks at what is found.
static constexpr double kRounding = 8.0 * FLT_EPSILON;
static constexpr double kSmallest = 8.0 * FLT_TRUE_MIN;

bool is_converted(Oid type) {
    return finds_roughly(type) && encoding_of(type) != Encoding::Rounded;
}

static void look_up_function(Relation index, int column, int number, FmgrInfo *function) {
    const Oid oid = index_getprocid(index, static_cast<AttrNumber>(column + 1), static_cast<uint16>(number));
    if (!OidIsValid(oid))
        ereport(ERROR,
                (errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
                 errmsg("the operator class of column \"%s\" of index \"%s\" lacks support function %d",
                        NameStr(TupleDescAttr(RelationGetDescr(index), column)->attname),
                        RelationGetRelationName(index), number)));
    fmgr_info_cxt(oid, function, TopMemoryContext);
}

Conversion *make_conversion(Relation index, int column) {
    Conversion found = {};
    look_up_function(index, column, kPointFunction, &found.to_point);
    look_up_function(index, column, kBoxFunction, &found.to_box);
    auto *conversion = static_cast<Conversion *>(MemoryContextAlloc(TopMemoryContext, sizeof(Conversion)));
    *conversion = found;
    return conversion;
}

static void add_context(void *type) {
    errcontext("making a point of a value of type %s, for an index of gpu_grid, which takes points alone",
               format_type_be(*static_cast<const Oid *>(type)));
}

// Returns nullptr for NULL. The result lasts until the next conversion, and so does what the function leaves
// in memory. The functions don't come back here: they are another library's, and look at one value.
static void *convert(const Column &column, FmgrInfo *function, Datum value) {
    static MemoryContext context = nullptr;
    if (context == nullptr)
        context = AllocSetContextCreate(TopMemoryContext, "gpu_grid conversion", ALLOCSET_SMALL_SIZES);
    else
        MemoryContextReset(context);
    Oid type = column.key.type;
    ErrorContextCallback says = {error_context_stack, add_context, &type};
    error_context_stack = &says;
    MemoryContext caller = MemoryContextSwitchTo(context);
    LOCAL_FCINFO(call, 1);
    InitFunctionCallInfoData(*call, function, 1, InvalidOid, nullptr, nullptr);
    call->args[0].value = value;
    call->args[0].isnull = false;
    const Datum result = FunctionCallInvoke(call);
    MemoryContextSwitchTo(caller);
    error_context_stack = says.previous;
    return call->isnull ? nullptr : DatumGetPointer(result);
}

// PostGIS compares one of two numbers with the other to decide what such a point overlaps. No range of codes
// says that.
static void require_numbers(const Column &column, const Point &point) {
    if (!std::isnan(point.x) && !std::isnan(point.y))
        return;
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("a value of type %s with a coordinate that is NaN cannot be indexed by gpu_grid",
                           format_type_be(column.key.type)),
                    errhint("Leave such rows out by a partial index, or use GiST.")));
}

bool make_point(const Column &column, Datum value, Point *point) {
    const void *made = convert(column, &column.conversion->to_point, value);
    if (made == nullptr)
        return false;
    memcpy(point, made, sizeof(*point));
    require_numbers(column, *point);
    return true;
}

bool make_box(const Column &column, Datum value, BOX *box) {
    const void *made = convert(column, &column.conversion->to_box, value);
    if (made == nullptr)
        return false;
    memcpy(box, made, sizeof(*box));
    return true;
}

double widened_up(double bound) {
    constexpr double farthest = FLT_MAX;
    const double seen = std::clamp(bound, -farthest, farthest);
    const double high = seen + std::fabs(seen) * kRounding + kSmallest;
    return high >= farthest ? HUGE_VAL : high;
}

double widened_down(double bound) {
    return -widened_up(-bound);
}

}  // namespace pg_gpu::grid
