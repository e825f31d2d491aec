#include "device/column/aggregate/part.h"

namespace gpu_engine::device {

Part open_part(const Call &call, const AggregateRequest &request, const AggregatePlan &plan,
               std::uint32_t number, std::uint32_t rows_word) {
    const AggregatePart &requested = request.parts[number];
    const auto *store = dynamic_cast<const DeviceColumnStore *>(requested.store);
    if (store == nullptr) {
        throw Failure{make_status(StatusCode::invalid_argument, "the store is another engine's")};
    }
    Part part;
    part.parts = &store->parts();
    const AggregateInput *inputs = plan.inputs_of(number);
    part.selection = select_rows(call, *part.parts, call.keep(store->dead()), requested.tests,
                                 requested.test_count, &part.held);
    const std::vector<bool> is_tested =
        select_by_conditions(call, *part.parts, plan, inputs, &part.selection, &part.held);
    if (request.blocks != nullptr) {
        // The rows are counted, since room for all of them would be too much where the filter keeps many out.
        const Buffer<std::uint64_t> found = call.buffer<std::uint64_t>(1);
        call.fill(found.data(), 0, sizeof(std::uint64_t));
        part.unresolved = split_unresolved(call, *part.parts, known_of(*request.blocks), nullptr,
                                           part.selection, found.data(), &part.held);
        if (part.selection.count > 0) {
            call.copy(const_cast<std::uint64_t *>(call.result()),
                      static_cast<const std::uint64_t *>(found.data()), 1);
            call.wait();
            part.unresolved_count = *call.result();
        }
    }
    part.program = std::make_unique<PartProgram>(call, plan, inputs, *part.parts, is_tested, rows_word);
    return part;
}

}  // namespace gpu_engine::device
