// Groups of rows: one kernel goes over the rows of each source and adds them to a table of groups, which is
// made larger where it was too small.
#include <algorithm>
#include <bit>

#include "common/query/plan.h"
#include "device/cub_calls.cuh"
#include "device/query/aggregate_launch.cuh"
#include "device/query/finish.cuh"
#include "device/query/operators.h"
#include "device/query/ordered.cuh"
#include "device/query/plain.cuh"

namespace gpu_engine::query::on_device {
namespace {

// Keys aren't found within so many slots where the table is nearly full.
constexpr std::uint32_t max_probes = 64;
constexpr std::uint32_t max_probes_of_largest = 1024;
constexpr std::uint64_t least_slots = 1024;
constexpr std::uint64_t growth = 16;

constexpr std::size_t least_front_room = 32 << 10;
constexpr std::uint64_t least_front_slots = 16;
constexpr std::uint64_t usual_groups = 32;  // where nobody knows
constexpr std::uint64_t max_front_slots = 2048;
// Rows of one group wait for each other less where it has copies; of so many groups few are alike in a warp.
constexpr std::uint32_t max_copies = 8;
constexpr std::uint64_t lanes_of_copies = 64;

// The digits that sums of floats have at first: of numbers from 2^-32 to 2^81, and smaller ones that are
// multiples of 2^-84.
constexpr std::int32_t usual_lowest_digit = 36;
constexpr std::uint32_t usual_digits = 6;
// Those of products, and of what rounded products lack, have as many more below.
constexpr std::int32_t more_product_digits = 2;
constexpr std::int32_t more_rest_digits = 4;

__global__ void begin_groups_kernel(GroupsView groups, std::uint64_t records, const Word *initial,
                                    std::uint32_t state_words) {
    const std::uint64_t step = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
    const std::uint64_t words = records * groups.stride;
    for (std::uint64_t i = plain_index(); i < words; i += step) {
        const auto word = static_cast<std::uint32_t>(i % groups.stride);
        groups.records[i] = word < groups.key_words ? free_key : initial[word - groups.key_words];
    }
}

bool is_count(AccumulatorKind kind) {
    return kind == AccumulatorKind::count_rows || kind == AccumulatorKind::count;
}

std::uint32_t words_of_state(const AccumulatorView &accumulator) {
    const bool is_wide = accumulator.type == ValueType::int128;
    switch (accumulator.kind) {
        case AccumulatorKind::sum:
            return is_wide ? 3 : 2;
        case AccumulatorKind::sum_float:
            return 1 + accumulator.digits;
        case AccumulatorKind::least:
        case AccumulatorKind::greatest:
            return is_wide ? 3 : 1;
        case AccumulatorKind::percentile_discrete:
        case AccumulatorKind::percentile_continuous:
        case AccumulatorKind::percentile_below:
        case AccumulatorKind::percentile_above:
        case AccumulatorKind::mode:
            return 2;
        case AccumulatorKind::any_value:
            return is_wide ? 2 : 1;
        default:
            return 1;
    }
}

void begin_state(const AccumulatorView &accumulator, Word *words) {
    const bool is_wide = accumulator.type == ValueType::int128;
    switch (accumulator.kind) {
        case AccumulatorKind::least:
            words[0] = is_wide ? UINT64_MAX : INT64_MAX;
            if (is_wide) {
                words[1] = INT64_MAX;
            }
            break;
        case AccumulatorKind::greatest:
            words[0] = is_wide ? 0 : static_cast<Word>(INT64_MIN);
            if (is_wide) {
                words[1] = static_cast<Word>(INT64_MIN);
            }
            break;
        case AccumulatorKind::bit_and:
            words[0] = UINT64_MAX;
            break;
        default:
            break;
    }
}

class Aggregator {
  public:
    Aggregator(const Call &call, const Query &query, const QueryData &data, const Node &node,
               Composer &composer, const std::deque<RowSource> &sources)
        : call_(call),
          query_(query),
          node_(node),
          sources_(sources),
          flags_(call.buffer<GroupFlags>(1)),
          accumulator_count_(node.accumulators.count) {
        const std::vector<Composer::Number> numbers = composer.add(query, node);
        std::vector<Composer::Number> roots;
        for (std::uint32_t k = 0; k < node.outputs.count; ++k) {
            roots.push_back(numbers[query.outputs[node.outputs.first + k]]);
            key_may_be_null_.push_back(composer.may_be_null(roots.back()));
            has_null_word_ = has_null_word_ || key_may_be_null_.back();
        }
        for (std::uint32_t a = 0; a < accumulator_count_; ++a) {
            const Accumulator &accumulator = query.accumulators[node.accumulators.first + a];
            const auto number_of = [&](std::uint16_t step) {
                return step == no_step ? Composer::none : numbers[step];
            };
            const bool takes_value = takes_argument(accumulator.kind);
            roots.push_back(takes_value ? number_of(accumulator.argument) : Composer::none);
            roots.push_back(number_of(accumulator.filter));
            const bool may_lack_rows = node.outputs.count == 0 || accumulator.filter != no_step ||
                                       (takes_value && composer.may_be_null(roots[roots.size() - 2]));
            // The row that marks a group as seen gives it its value, if any will do.
            is_seen_.push_back(is_count(accumulator.kind) ||
                               (!may_lack_rows && accumulator.kind != AccumulatorKind::any_value));
        }
        lay_out_keys(roots, composer);
        program_ = std::make_unique<Program>(call, data, composer, roots, key_words_, key_words_ > 0);
        keys_.resize(node.outputs.count);
        std::uint32_t word = has_null_word_ ? 1 : 0;
        for (std::uint32_t k = 0; k < node.outputs.count; ++k) {
            keys_[k] = {program_->roots()[k], word};
            word += words_of(keys_[k].operand.type);
        }
        for (const RowSource &source : sources) {
            rows_ += source.is_empty() ? 0 : source.rows();
        }
        make_accumulators();
    }

    Table groups() {
        std::uint64_t slots = first_slots();
        for (;;) {
            begin_table(slots);
            run_all(Pass::add);
            const GroupFlags flags = read_flags();
            if (flags.failed != 0) {
                throw StepFailed{};
            }
            if (flags.full != 0) {
                // A table of twice as many slots as rows is full only where hashes were made to collide.
                const std::uint64_t max_slots = std::bit_ceil(std::max(least_slots, 2 * rows_));
                slots = slots < max_slots ? std::min(max_slots, slots * growth) : slots * 2;
                continue;
            }
            if (flags.out_of_window == 0) {
                break;
            }
            find_spans();
        }
        add_ordered();
        return finish();
    }

  private:
    void lay_out_keys(const std::vector<Composer::Number> &roots, const Composer &composer) {
        key_words_ = has_null_word_ ? 1 : 0;
        for (std::uint32_t k = 0; k < node_.outputs.count; ++k) {
            key_words_ += words_of(composer.type(roots[k]));
        }
    }

    std::uint64_t first_slots() const {
        if (node_.outputs.count == 0) {
            return 0;
        }
        const std::uint64_t max_slots = std::bit_ceil(std::max(least_slots, 2 * rows_));
        const std::uint64_t expected = std::min<std::uint64_t>(node_.expected_rows, std::uint64_t(1) << 32);
        return std::min(max_slots, std::bit_ceil(std::max(least_slots, 2 * expected)));
    }

    std::int32_t more_digits(std::uint32_t accumulator) const {
        const std::uint16_t argument = query_.accumulators[node_.accumulators.first + accumulator].argument;
        const Operation operation = query_.steps[node_.steps.first + argument].operation;
        return operation == Operation::product_rest ? more_rest_digits
               : operation == Operation::multiply   ? more_product_digits
                                                    : 0;
    }

    void make_accumulators() {
        views_.clear();
        const bool all_seen = std::find(is_seen_.begin(), is_seen_.end(), false) == is_seen_.end();
        std::uint32_t word = all_seen ? 0 : (accumulator_count_ + 63) / 64;
        for (std::uint32_t a = 0; a < accumulator_count_; ++a) {
            const Accumulator &accumulator = query_.accumulators[node_.accumulators.first + a];
            const Operand *operands = &program_->roots()[keys_.size() + 2 * a];
            AccumulatorView view = {};
            view.kind = accumulator.kind;
            view.argument = operands[0];
            view.filter = operands[1];
            view.type = operands[0].type;
            const bool takes_each_once =
                accumulator.distinct != 0 &&
                (accumulator.kind == AccumulatorKind::count || accumulator.kind == AccumulatorKind::sum ||
                 accumulator.kind == AccumulatorKind::sum_float ||
                 accumulator.kind == AccumulatorKind::bit_xor);
            view.is_ordered = takes_each_once || is_percentile(accumulator.kind) ||
                              accumulator.kind == AccumulatorKind::mode;
            has_ordered_ = has_ordered_ || view.is_ordered;
            view.is_seen = is_seen_[a];
            view.bit = a;
            view.word = word;
            const std::uint32_t first = gathering(query_.accumulators + node_.accumulators.first, a);
            if (accumulator.kind == AccumulatorKind::sum_float && view.is_ordered) {
                view.digits = max_digits;
            } else if (accumulator.kind == AccumulatorKind::sum_float) {
                const bool has_span = !spans_.empty() && spans_[first].low <= spans_[first].high;
                view.lowest_digit = has_span ? spans_[first].low : usual_lowest_digit - more_digits(a);
                view.digits = static_cast<std::uint32_t>(has_span ? spans_[first].high - spans_[first].low + 1
                                                                  : static_cast<std::int32_t>(usual_digits) +
                                                                        more_digits(a));
                view.part = accumulator.detail;
            }
            view.is_shared = first != a;
            if (view.is_shared && !view.is_ordered) {
                view.bit = views_[first].bit;
                view.word = views_[first].word;
            } else {
                word += words_of_state(view);
            }
            views_.push_back(view);
        }
        state_words_ = std::max(1U, word);
        std::vector<Word> initial(state_words_, 0);
        for (const AccumulatorView &view : views_) {
            begin_state(view, &initial[view.word]);
        }
        initial_ = upload(call_, initial);
        device_views_ = upload(call_, views_);
        device_keys_ = upload(call_, keys_);
    }

    std::uint64_t records() const { return slots_ == 0 ? 1 : slots_ + (key_words_ == 1 ? 1 : 0); }

    GroupsView groups_view() const {
        GroupsView groups = {};
        groups.records = records_.data();
        groups.states = states_.data();
        groups.slots = slots_;
        groups.stride = key_words_ + state_words_;
        groups.key_words = key_words_;
        const bool is_largest = slots_ >= std::bit_ceil(std::max(least_slots, 2 * rows_));
        groups.max_probes = is_largest ? max_probes_of_largest : max_probes;
        groups.flags = flags_.data();
        return groups;
    }

    void begin_table(std::uint64_t slots) {
        // The old table goes before there is a new one.
        records_ = {};
        states_ = {};
        slots_ = slots;
        records_ = call_.buffer<Word>(records() * (key_words_ + state_words_));
        if (key_words_ > 1) {
            states_ = call_.buffer<std::uint32_t>(slots);
            call_.fill(states_.data(), 0, slots * sizeof(std::uint32_t));
        }
        counts_ = call_.buffer<Word>(accumulator_count_);
        call_.fill(counts_.data(), 0, accumulator_count_ * sizeof(Word));
        call_.fill(flags_.data(), 0, sizeof(GroupFlags));
        const unsigned blocks = std::min(plain_blocks(records() * (key_words_ + state_words_)),
                                         static_cast<unsigned>(call_.engine().multiprocessors()) * 16);
        begin_groups_kernel<<<blocks, plain_threads, 0, call_.stream()>>>(groups_view(), records(),
                                                                          initial_.data(), state_words_);
        device::check_launch("begin_groups_kernel");
    }

    // Bytes of a block's shared memory that groups may take: two blocks have room on a multiprocessor, with
    // what they compute in.
    std::size_t front_room() const {
        return std::max<std::size_t>(least_front_room, call_.engine().shared_bytes() / 8 * 3);
    }

    // What a block may have of groups in front of all others.
    FrontView plan_front() const {
        FrontView front = {};
        const std::uint64_t expected = node_.expected_rows == 0 ? usual_groups : node_.expected_rows;
        std::uint64_t slots =
            std::clamp<std::uint64_t>(std::bit_ceil(2 * std::min<std::uint64_t>(expected, max_front_slots)),
                                      least_front_slots, max_front_slots);
        while (slots > 0 &&
               front_bytes(static_cast<std::uint32_t>(slots), 1, state_words_, key_words_) > front_room()) {
            slots /= 2;
        }
        // Many more groups than a block has room for would only be looked up twice.
        if (slots < least_front_slots || expected > 4 * slots) {
            return front;
        }
        front.slots = static_cast<std::uint32_t>(slots);
        front.copies = max_copies;
        while (front.copies > 1 && expected * front.copies > lanes_of_copies) {
            front.copies /= 2;
        }
        while (front.copies > 1 &&
               front_bytes(front.slots, front.copies, state_words_, key_words_) > front_room()) {
            front.copies /= 2;
        }
        return front;
    }

    AggregateView view_of_pass(const RowSource &source, Pass pass) const {
        AggregateView view = {};
        view.program = program_->view();
        view.source = source.view();
        view.groups = groups_view();
        view.pass = pass;
        view.keys = device_keys_.data();
        view.key_count = static_cast<std::uint32_t>(keys_.size());
        view.key_slot = program_->first_own_slot();
        view.has_null_word = has_null_word_;
        view.accumulators = device_views_.data();
        view.accumulator_count = accumulator_count_;
        view.state_words = state_words_;
        view.initial = initial_.data();
        view.counts = counts_.data();
        view.front.copies = 1;
        return view;
    }

    void run(AggregateView view) {
        std::size_t bytes = 0;
        if (view.pass == Pass::add) {
            if (slots_ == 0) {
                // Each thread has a copy, where there is room for so many.
                std::uint32_t copies = max_threads;
                while (copies > 1 && front_bytes(1, copies, state_words_, 0) > front_room()) {
                    copies /= 2;
                }
                view.front = {1, copies, 0};
            } else {
                const FrontView front = plan_front();
                view.front = front.slots > 0 ? front : view.front;
            }
            bytes = front_bytes(view.front.slots, view.front.copies, state_words_, key_words_);
        }
        if (slots_ == 0) {
            add_to_one_group(call_, view, bytes);
        } else {
            add_to_groups_by_key(call_, view, bytes);
        }
    }
    void run_all(Pass pass) {
        for (const RowSource &source : sources_) {
            if (!source.is_empty()) {
                run(view_of_pass(source, pass));
            }
        }
    }

    GroupFlags read_flags() const {
        GroupFlags flags;
        call_.read(&flags, flags_.data(), 1);
        return flags;
    }

    // Finds the digits that sums of floats need.
    void find_spans() {
        std::vector<DigitSpan> spans(accumulator_count_, DigitSpan{INT32_MAX, INT32_MIN});
        device_spans_ = upload(call_, spans);
        for (const RowSource &source : sources_) {
            if (!source.is_empty()) {
                AggregateView view = view_of_pass(source, Pass::spans);
                view.spans = device_spans_.data();
                run(view);
            }
        }
        call_.read(spans.data(), device_spans_.data(), spans.size());
        spans_ = std::move(spans);
        make_accumulators();
    }

    void add_ordered() {
        if (!has_ordered_) {
            return;
        }
        std::vector<Word> counts(accumulator_count_);
        call_.read(counts.data(), counts_.data(), accumulator_count_);
        for (std::uint32_t a = 0; a < accumulator_count_; ++a) {
            if (!views_[a].is_ordered || views_[a].is_shared || counts[a] == 0) {
                continue;
            }
            OrderedValues values(call_, counts[a], views_[a].type);
            for (const RowSource &source : sources_) {
                if (source.is_empty()) {
                    continue;
                }
                AggregateView view = view_of_pass(source, Pass::list);
                view.listed = {a, values.slots.data(), values.low.data(), values.high.data(),
                               values.listed.data()};
                run(view);
            }
            values.sort(call_);
            for (std::uint32_t b = a; b < accumulator_count_; ++b) {
                const Accumulator *all = query_.accumulators + node_.accumulators.first;
                if (gathering(all, b) == a) {
                    add_ordered_values(call_, values, groups_view(), views_[b], fraction_of(all[b]));
                }
            }
        }
    }

    double fraction_of(const Accumulator &accumulator) const {
        return is_percentile(accumulator.kind) ? float_of_bits(query_.constants[accumulator.detail].low) : 0;
    }

    Table finish() {
        const GroupsView groups = groups_view();
        Table table;
        table.rows = slots_ == 0 ? 1 : count_groups(call_, groups, records());
        FinishView view = {};
        view.groups = groups;
        view.records = records();
        view.has_null_word = has_null_word_;
        std::vector<OutputView> outputs;
        for (std::size_t k = 0; k < keys_.size(); ++k) {
            outputs.push_back(view_of(table.add(call_, keys_[k].operand.type, key_may_be_null_[k])));
        }
        for (const AccumulatorView &accumulator : views_) {
            outputs.push_back(view_of(
                table.add(call_, result_type(accumulator.kind, accumulator.type), !accumulator.is_seen)));
        }
        const Buffer<OutputView> device_outputs = upload(call_, outputs);
        view.keys = device_keys_.data();
        view.key_count = static_cast<std::uint32_t>(keys_.size());
        view.accumulators = device_views_.data();
        view.accumulator_count = accumulator_count_;
        view.outputs = device_outputs.data();
        call_.fill(&flags_.data()->groups, 0, sizeof(Word));
        finish_groups(call_, view);
        if (read_flags().failed != 0) {
            throw StepFailed{};
        }
        return table;
    }

    const Call &call_;
    const Query &query_;
    const Node &node_;
    const std::deque<RowSource> &sources_;
    const Buffer<GroupFlags> flags_;
    const std::uint32_t accumulator_count_;
    std::vector<bool> key_may_be_null_;
    std::vector<bool> is_seen_;
    bool has_null_word_ = false;
    bool has_ordered_ = false;
    std::uint32_t key_words_ = 0;
    std::uint32_t state_words_ = 0;
    std::uint64_t rows_ = 0;
    std::unique_ptr<Program> program_;
    std::vector<KeyView> keys_;
    std::vector<AccumulatorView> views_;
    std::vector<DigitSpan> spans_;
    Buffer<KeyView> device_keys_;
    Buffer<AccumulatorView> device_views_;
    Buffer<Word> initial_;
    Buffer<Word> counts_;
    Buffer<DigitSpan> device_spans_;
    std::uint64_t slots_ = 0;
    Buffer<Word> records_;
    Buffer<std::uint32_t> states_;
};

}  // namespace

Table aggregate(const Call &call, const Query &query, const QueryData &data, const Node &node,
                Composer &composer, const std::deque<RowSource> &sources) {
    return Aggregator(call, query, data, node, composer, sources).groups();
}

}  // namespace gpu_engine::query::on_device
