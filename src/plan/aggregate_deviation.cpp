#include "plan/aggregate_deviation.h"

namespace pg_gpu::plan {

Datum finish_deviation(const FinalFunctions &functions, const Deviation &deviation, bool *is_null) {
    const Datum state = call_support(functions.deserialize, {state_of_deviation(deviation), false},
                                     {Datum{0}, true}, is_null);
    return call_support(functions.finish, {state, false}, {Datum{0}, true}, is_null);
}

}  // namespace pg_gpu::plan
