#include "plan/query/transition_state.h"

namespace pg_gpu::plan {

__extension__ typedef unsigned __int128 UnsignedInt128;

namespace {

// Numbers are in network order.
struct Serialized {
    char bytes[512];
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

// As numericvar_serialize writes a finite number: numeric_send gives the same with fewer bytes.
static void put_numeric(Serialized *state, Numeric number) {
    constexpr uint32 fields = 4;  // number of digits, weight, sign, scale
    bytea *sent = DatumGetByteaP(DirectFunctionCall1(numeric_send, NumericGetDatum(number)));
    const auto field = [sent](uint32 i) {
        uint16 value;
        memcpy(&value, VARDATA(sent) + i * sizeof(value), sizeof(value));
        return static_cast<int16>(pg_ntoh16(value));
    };
    const auto digits = static_cast<uint32>(field(0));
    Assert(state->used + fields * sizeof(uint32) + digits * sizeof(uint16) <= sizeof(state->bytes));
    for (uint32 i = 0; i < fields; i++)
        put(state, static_cast<uint64>(int64{field(i)}), sizeof(uint32));
    for (uint32 i = 0; i < digits; i++)
        put(state, static_cast<uint64>(field(fields + i)), sizeof(uint16));
    pfree(sent);
}

static Datum bytes_of(const Serialized &state) {
    auto *bytes = static_cast<bytea *>(palloc(VARHDRSZ + state.used));
    SET_VARSIZE(bytes, VARHDRSZ + state.used);
    memcpy(VARDATA(bytes), state.bytes, state.used);
    return PointerGetDatum(bytes);
}

Datum state_of_deviation(const Deviation &deviation) {
    Serialized state = {};
    put(&state, deviation.count, sizeof(uint64));
    put_number(&state, deviation.sum);
    put_number(&state, deviation.squares);
    return bytes_of(state);
}

// All finite values are taken for ones of the greatest scale; no infinity is among them.
Datum state_of_squares(uint64 count, Numeric sum, Numeric squares, int scale, uint64 nans) {
    Serialized state = {};
    put(&state, count, sizeof(uint64));
    put_numeric(&state, sum);
    put_numeric(&state, squares);
    put(&state, static_cast<uint64>(scale), sizeof(uint32));
    put(&state, count, sizeof(uint64));
    put(&state, nans, sizeof(uint64));
    for (int i = 0; i < 2; i++)
        put(&state, 0, sizeof(uint64));
    return bytes_of(state);
}

Datum call_support(Oid function, NullableDatum first, NullableDatum second, bool *is_null) {
    auto *context = makeNode(ExprContext);
    context->ecxt_per_tuple_memory = CurrentMemoryContext;
    auto *aggregate = makeNode(AggState);
    aggregate->curaggcontext = context;
    FmgrInfo info;
    fmgr_info(function, &info);
    LOCAL_FCINFO(call, 2);
    InitFunctionCallInfoData(*call, &info, 2, InvalidOid, reinterpret_cast<Node *>(aggregate), nullptr);
    call->args[0] = first;
    call->args[1] = second;
    const Datum result = FunctionCallInvoke(call);
    *is_null = call->isnull;
    return result;
}

}  // namespace pg_gpu::plan
