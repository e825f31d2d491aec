// Rows that pass, listed in their order: they are counted first, so that each has its place.
#include <algorithm>

#include "device/cub_calls.cuh"
#include "device/query/launch.cuh"
#include "device/query/operators.h"

namespace gpu_engine::query::on_device {
namespace {

constexpr unsigned max_threads = 256;

struct ListView {
    ProgramView program;
    SourceView source;
    uint4 *passed;          // the rows of each lot that pass
    std::uint64_t *places;  // their number; then the place of the first of them. Null: of the row
    std::uint64_t first;    // the place of the source's first row
    std::uint64_t limit;
    const Operand *operands;
    const OutputView *outputs;
    std::uint32_t output_count;
    std::uint32_t *failed;
    std::uint64_t *scratch;
};

__global__ void __launch_bounds__(max_threads, 4) select_kernel(const __grid_constant__ ListView view) {
    extern __shared__ std::uint64_t shared[];
    Rows rows(view.program, view.source, make_slot_room(shared, view.scratch, view.program.slots));
    const std::uint32_t lane = threadIdx.x % 32;
    WarpRows lots(view.source);
    std::uint64_t first = 0;
    std::uint32_t bits[device::words_a_warp];
    while (lots.next(&first, bits)) {
        rows.take(first + lane, device::rows_of_lane(bits));
        rows.run(view.program.filter_stages);
        std::uint32_t passed[device::words_a_warp];
        std::uint32_t count = 0;
#pragma unroll
        for (std::uint32_t i = 0; i < device::words_a_warp; ++i) {
            passed[i] = __ballot_sync(UINT32_MAX, (rows.active() >> i & 1) != 0);
            count += __popc(passed[i]);
        }
        if (lane == 0) {
            view.passed[first / device::rows_a_warp] = make_uint4(passed[0], passed[1], passed[2], passed[3]);
            view.places[first / device::rows_a_warp] = count;
        }
    }
    if (rows.has_failed()) {
        *view.failed = 1;
    }
}

__global__ void __launch_bounds__(max_threads, 4) list_kernel(const __grid_constant__ ListView view) {
    extern __shared__ std::uint64_t shared[];
    Rows rows(view.program, view.source, make_slot_room(shared, view.scratch, view.program.slots));
    const std::uint32_t lane = threadIdx.x % 32;
    WarpRows lots(view.source);
    std::uint64_t first = 0;
    std::uint32_t bits[device::words_a_warp];
    while (lots.next(&first, bits)) {
        std::uint64_t place =
            view.first + (view.places != nullptr ? view.places[first / device::rows_a_warp] : first);
        std::uint64_t places[rows_a_thread];
        std::uint32_t wanted = device::rows_of_lane(bits);
#pragma unroll
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            places[i] = place + __popc(bits[i] & ((1U << lane) - 1));
            wanted &= places[i] < view.limit ? UINT32_MAX : ~(1U << i);
            place += __popc(bits[i]);
        }
        rows.take(first + lane, wanted);
        rows.run_all();
        for (std::uint32_t output = 0; output < view.output_count; ++output) {
            const Operand operand = view.operands[output];
            const OutputView to = view.outputs[output];
            Values values;
            rows.load(operand, &values);
#pragma unroll
            for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
                if ((rows.active() >> i & 1) == 0) {
                    continue;
                }
                if (operand.type == ValueType::int128) {
                    to.values[2 * places[i]] = values.low[i];
                    to.values[2 * places[i] + 1] = values.high[i];
                } else {
                    to.values[places[i]] = values.low[i];
                }
                if (to.nulls != nullptr && (values.nulls >> i & 1) != 0) {
                    set_null(to.nulls, places[i]);
                }
            }
        }
    }
    if (rows.has_failed()) {
        *view.failed = 1;
    }
}

class Lister {
  public:
    Lister(const Call &call, const QueryData &data, const Composer &composer)
        : call_(call),
          composer_(composer),
          program_(call, data, composer, composer.columns, 0, false),
          operands_(upload(call, program_.roots())),
          failed_(call.buffer<std::uint32_t>(1)) {
        call.fill(failed_.data(), 0, sizeof(std::uint32_t));
    }

    Table list(const std::deque<RowSource> &sources, std::uint64_t limit) {
        Table table;
        std::deque<Passed> listed;
        for (const RowSource &source : sources) {
            listed.push_back(table.rows < limit ? select(source) : Passed{});
            table.rows += listed.back().count;
        }
        table.rows = std::min(table.rows, limit);
        std::vector<OutputView> outputs;
        for (const Composer::Number column : composer_.columns) {
            outputs.push_back(
                view_of(table.add(call_, composer_.type(column), composer_.may_be_null(column))));
        }
        const Buffer<OutputView> views = upload(call_, outputs);
        std::uint64_t first = 0;
        for (std::size_t i = 0; i < sources.size() && first < table.rows; ++i) {
            if (listed[i].count > 0) {
                write(sources[i], listed[i], first, table.rows, views);
            }
            first += listed[i].count;
        }
        check_failed();
        return table;
    }

    Passed select(const RowSource &source) {
        Passed listed;
        if (source.is_empty()) {
            return listed;
        }
        if (!program_.has_filter() && !source.has_selection()) {
            listed.count = source.rows();
            return listed;
        }
        const std::uint64_t lots = (source.rows() + device::rows_a_warp - 1) / device::rows_a_warp;
        listed.rows = call_.buffer<uint4>(lots);
        // A number behind all becomes that of all rows.
        listed.places = call_.buffer<std::uint64_t>(lots + 1);
        call_.fill(listed.rows.data(), 0, lots * sizeof(uint4));
        call_.fill(listed.places.data(), 0, (lots + 1) * sizeof(std::uint64_t));
        ListView view = view_of_source(source);
        view.passed = listed.rows.data();
        view.places = listed.places.data();
        const Launch launch = plan_launch(call_, select_kernel, view.program, view.source, max_threads, 0);
        view.scratch = launch.scratch.data();
        select_kernel<<<launch.blocks, launch.threads, launch.shared, call_.stream()>>>(view);
        device::check_launch("select_kernel");
        device::exclusive_sums(call_, static_cast<const std::uint64_t *>(listed.places.data()),
                               listed.places.data(), lots + 1);
        listed.count = device::read_element(call_, listed.places.data() + lots);
        return listed;
    }

    void check_failed() {
        if (program_.has_failing_steps() && device::read_element(call_, failed_.data()) != 0) {
            throw StepFailed{};
        }
    }

  private:
    ListView view_of_source(const RowSource &source) const {
        ListView view = {};
        view.program = program_.view();
        view.source = source.view();
        view.operands = operands_.data();
        view.output_count = static_cast<std::uint32_t>(operands_.size());
        view.failed = failed_.data();
        return view;
    }

    void write(const RowSource &source, const Passed &listed, std::uint64_t first, std::uint64_t limit,
               const Buffer<OutputView> &outputs) {
        ListView view = view_of_source(source);
        if (listed.rows.size() > 0) {
            view.source.selected = reinterpret_cast<const std::uint64_t *>(listed.rows.data());
            view.source.words = listed.rows.size() * (device::rows_a_warp / 64);
            view.places = listed.places.data();
        }
        view.first = first;
        view.limit = limit;
        view.outputs = outputs.data();
        const Launch launch = plan_launch(call_, list_kernel, view.program, view.source, max_threads, 0);
        view.scratch = launch.scratch.data();
        list_kernel<<<launch.blocks, launch.threads, launch.shared, call_.stream()>>>(view);
        device::check_launch("list_kernel");
    }

    const Call &call_;
    const Composer &composer_;
    const Program program_;
    const Buffer<Operand> operands_;
    const Buffer<std::uint32_t> failed_;
};

}  // namespace

Table list_rows(const Call &call, const QueryData &data, const Composer &composer,
                const std::deque<RowSource> &sources, std::uint64_t limit) {
    return Lister(call, data, composer).list(sources, limit);
}

Passed select_passing(const Call &call, const QueryData &data, const Composer &composer,
                      const RowSource &source) {
    Lister lister(call, data, composer);
    Passed passed = lister.select(source);
    lister.check_failed();
    return passed;
}

}  // namespace gpu_engine::query::on_device
