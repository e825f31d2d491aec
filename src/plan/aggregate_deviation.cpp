#include "plan/aggregate_deviation.h"

namespace pg_gpu::plan {

__extension__ typedef unsigned __int128 UnsignedInt128;

namespace {

// The bytes of core's numeric_poly_serialize, in network order.
struct Serialized {
    char bytes[256];
    uint32 used;
};

}  // namespace

static void put(Serialized *state, uint64 value, uint32 width) {
    for (uint32 i = width; i > 0; i--)
        state->bytes[state->used++] = static_cast<char>(value >> ((i - 1) * 8));
}

// As numericvar_serialize writes an integer: digits of 10000, the greatest first, behind their number, the
// weight of the first one, the sign and the scale.
static void put_number(Serialized *state, Int128 number) {
    constexpr uint32 base = 10000;
    constexpr uint32 negative = 0x4000;
    constexpr uint32 max_digits = 10;
    UnsignedInt128 left =
        number < 0 ? -static_cast<UnsignedInt128>(number) : static_cast<UnsignedInt128>(number);
    uint32 digits[max_digits];
    uint32 count = 0;
    for (; left != 0; left /= base)
        digits[count++] = static_cast<uint32>(left % base);
    put(state, count, sizeof(uint32));
    put(state, count > 0 ? count - 1 : 0, sizeof(uint32));
    put(state, number < 0 ? negative : 0, sizeof(uint32));
    put(state, 0, sizeof(uint32));
    for (; count > 0; count--)
        put(state, digits[count - 1], sizeof(uint16));
}

// Calls an aggregate's support function, which looks for the memory of its state there where an Agg node has
// it.
static Datum call_support(Oid function, Datum argument, bool *is_null) {
    auto *context = makeNode(ExprContext);
    context->ecxt_per_tuple_memory = CurrentMemoryContext;
    auto *aggregate = makeNode(AggState);
    aggregate->curaggcontext = context;
    FmgrInfo info;
    fmgr_info(function, &info);
    LOCAL_FCINFO(call, 2);
    InitFunctionCallInfoData(*call, &info, 2, InvalidOid, reinterpret_cast<Node *>(aggregate), nullptr);
    call->args[0] = {argument, false};
    call->args[1] = {Datum{0}, false};
    const Datum result = FunctionCallInvoke(call);
    *is_null = call->isnull;
    return result;
}

Datum finish_deviation(const FinalFunctions &functions, const Deviation &state, bool *is_null) {
    Serialized serialized = {};
    put(&serialized, state.count, sizeof(uint64));
    put_number(&serialized, state.sum);
    put_number(&serialized, state.squares);
    auto *bytes = static_cast<bytea *>(palloc(VARHDRSZ + serialized.used));
    SET_VARSIZE(bytes, VARHDRSZ + serialized.used);
    memcpy(VARDATA(bytes), serialized.bytes, serialized.used);
    const Datum internal = call_support(functions.deserialize, PointerGetDatum(bytes), is_null);
    return call_support(functions.finish, internal, is_null);
}

}  // namespace pg_gpu::plan
