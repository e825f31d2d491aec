#include "plan/query/deviation.h"

namespace pg_gpu::plan {

Datum finish_deviation(const FinalFunctions &functions, Datum serialized, bool *is_null) {
    const Datum state = call_support(functions.deserialize, {serialized, false}, {Datum{0}, true}, is_null);
    return call_support(functions.finish, {state, false}, {Datum{0}, true}, is_null);
}

}  // namespace pg_gpu::plan
