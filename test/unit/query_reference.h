// A plain reference that computes queries row by row. It shares nothing with the engines but the interface.
#pragma once

#include "test_query.h"

namespace query_test {

struct Failed {};

class Reference {
  public:
    explicit Reference(const TestQuery &query) : query_(query) {}

    // Throws Failed where a step fails that counts. `rows` are those of the first scan.
    std::vector<Row> run(std::vector<Row> rows) const {
        std::vector<std::vector<Row>> results(query_.nodes.size());
        results[0] = std::move(rows);
        for (std::uint32_t i = 1; i < query_.nodes.size(); ++i) {
            const Node &node = query_.nodes[i];
            if (node.kind == NodeKind::scan) {
                const auto found = query_.scanned.find(i);
                results[i] = found == query_.scanned.end() ? std::vector<Row>() : found->second;
                continue;
            }
            const std::vector<Row> &input = results[node.input];
            results[i] = node.kind == NodeKind::compute     ? compute_rows(node, input)
                         : node.kind == NodeKind::aggregate ? aggregate(node, input)
                         : node.kind == NodeKind::join      ? join(node, input, results[node.build])
                         : node.kind == NodeKind::window    ? window(node, input)
                                                            : sort(node, input);
        }
        return results.back();
    }

    bool comes_before(const Node &node, const Row &a, const Row &b) const {
        for (std::uint32_t k = 0; k < node.sort_keys.count; ++k) {
            const SortKey &key = query_.sort_keys[node.sort_keys.first + k];
            const Value &left = a[key.column];
            const Value &right = b[key.column];
            if (is_same(left, right)) {
                continue;
            }
            if (left.is_null || right.is_null) {
                return left.is_null == (key.nulls_first != 0);
            }
            return (compare(left, right) < 0) != (key.descends != 0);
        }
        return false;
    }

  private:
    // The steps of a row, each computed when it is first asked for.
    struct Steps {
        const Reference &reference;
        const Node &node;
        const Row &row;
        std::map<std::uint16_t, Value> known;

        const Value &operator()(std::uint16_t number) {
            const auto found = known.find(number);
            return found != known.end()
                       ? found->second
                       : known.emplace(number, reference.evaluate(*this, number)).first->second;
        }
    };

    bool passes(const Node &node, Steps &steps) const {
        return node.filter == no_step || steps(static_cast<std::uint16_t>(node.filter)).is_true();
    }

    std::vector<Row> compute_rows(const Node &node, const std::vector<Row> &rows) const {
        std::vector<Row> computed;
        for (const Row &row : rows) {
            Steps steps{*this, node, row, {}};
            if (!passes(node, steps)) {
                continue;
            }
            Row outputs;
            for (std::uint32_t k = 0; k < node.outputs.count; ++k) {
                outputs.push_back(steps(query_.outputs[node.outputs.first + k]));
            }
            computed.push_back(outputs);
        }
        return computed;
    }

    // Each pair of rows whose keys are equal is looked at.
    std::vector<Row> join(const Node &node, const std::vector<Row> &probed,
                          const std::vector<Row> &build) const {
        std::vector<Row> joined;
        std::vector<bool> is_matched(build.size());
        const auto give = [&](const Row &row) {
            Row outputs;
            for (std::uint32_t k = 0; k < node.outputs.count; ++k) {
                outputs.push_back(row[query_.outputs[node.outputs.first + k]]);
            }
            joined.push_back(outputs);
        };
        const auto nulls_of = [&](std::uint32_t number) {
            Row row;
            for (const ValueType type : query_.columns_of(number)) {
                row.push_back(Value::null(type));
            }
            return row;
        };
        const auto both = [](Row one, const Row &other) {
            one.insert(one.end(), other.begin(), other.end());
            return one;
        };
        // The key of one of the sides; any of it may be NULL.
        const auto key_of = [&](const Row &row, std::uint32_t side, bool *is_null) {
            Row key;
            for (std::uint32_t k = side; k < node.join_keys.count; k += 2) {
                key.push_back(row[query_.outputs[node.join_keys.first + k]]);
                *is_null |= key.back().is_null;
            }
            return key;
        };
        std::map<Row, std::vector<std::size_t>, RowOrder> by_key;
        bool any_null = false;
        for (std::size_t i = 0; i < build.size(); ++i) {
            bool is_null = false;
            const Row key = key_of(build[i], 1, &is_null);
            any_null |= is_null;
            if (!is_null) {
                by_key[key].push_back(i);
            }
        }
        const bool gives_build = node.join <= JoinKind::full;
        for (const Row &row : probed) {
            std::uint64_t matches = 0;
            bool is_null = false;
            const Row key = key_of(row, 0, &is_null);
            const auto found = is_null ? by_key.end() : by_key.find(key);
            const bool is_unknown = any_null || (is_null && !build.empty());
            static const std::vector<std::size_t> none;
            for (const std::size_t i : found == by_key.end() ? none : found->second) {
                const Row pair = both(row, build[i]);
                Steps steps{*this, node, pair, {}};
                if (!passes(node, steps)) {
                    continue;
                }
                ++matches;
                is_matched[i] = true;
                if (gives_build) {
                    give(pair);
                }
            }
            if (node.join == JoinKind::semi ? matches > 0
                : node.join == JoinKind::anti
                    ? matches == 0
                    : node.join == JoinKind::anti_null && matches == 0 && !is_unknown) {
                give(row);
            }
            if (matches == 0 && (node.join == JoinKind::left || node.join == JoinKind::full)) {
                give(both(row, nulls_of(node.build)));
            }
        }
        for (std::size_t i = 0; i < build.size(); ++i) {
            if (!is_matched[i] && (node.join == JoinKind::right || node.join == JoinKind::full)) {
                give(both(nulls_of(node.input), build[i]));
            }
        }
        return joined;
    }

    std::vector<Row> sort(const Node &node, std::vector<Row> rows) const {
        std::stable_sort(rows.begin(), rows.end(),
                         [&](const Row &a, const Row &b) { return comes_before(node, a, b); });
        rows.resize(std::min<std::size_t>(rows.size(), node.limit));
        return rows;
    }

    static bool is_by_values(const Node &node) {
        return node.frame_first == values_first || node.frame_last == values_last;
    }
    bool comes_before_bound(const Node &node, const Row &row, const Value &bound) const {
        const SortKey &order = query_.sort_keys[node.sort_keys.first + node.sort_keys.count - 1];
        const Value &key = row[node.frame_key];
        return key.is_null           ? order.nulls_first != 0
               : order.descends != 0 ? compare(bound, key) < 0
                                     : compare(key, bound) < 0;
    }
    bool comes_behind_bound(const Node &node, const Row &row, const Value &bound) const {
        const SortKey &order = query_.sort_keys[node.sort_keys.first + node.sort_keys.count - 1];
        const Value &key = row[node.frame_key];
        return key.is_null           ? order.nulls_first == 0
               : order.descends != 0 ? compare(key, bound) < 0
                                     : compare(bound, key) < 0;
    }
    static Value add_in_order(const std::vector<Value> &values) {
        if (values.empty()) {
            return Value::null(ValueType::float64);
        }
        double sum = values[0].real;
        for (std::size_t i = 1; i < values.size(); ++i) {
            sum += values[i].real;
        }
        return Value::of_real(sum);
    }

    // Each row looks for its frame by itself.
    std::vector<Row> window(const Node &node, const std::vector<Row> &input) const {
        const std::vector<Row> rows = sort(node, input);
        const auto same = [&](const Row &a, const Row &b, std::uint32_t keys) {
            Node some = node;
            some.sort_keys.count = keys;
            return !comes_before(some, a, b) && !comes_before(some, b, a);
        };
        std::vector<Row> results;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const auto reach = [&](std::uint32_t keys, int step) {
                std::size_t at = i;
                while ((step > 0 ? at + 1 < rows.size() : at > 0) && same(rows[at + step], rows[i], keys)) {
                    at += step;
                }
                return static_cast<std::int64_t>(at);
            };
            const std::int64_t row = static_cast<std::int64_t>(i);
            const std::int64_t begin = reach(node.partition_keys, -1);
            const std::int64_t end = reach(node.partition_keys, 1);
            const std::int64_t first_peer = reach(node.sort_keys.count, -1);
            const std::int64_t last_peer = reach(node.sort_keys.count, 1);
            const bool is_of_peers = is_by_values(node) && rows[i][node.frame_key].is_null;
            std::int64_t first = node.frame_first == partition_first              ? begin
                                 : node.frame_first == peers_first || is_of_peers ? first_peer
                                 : node.frame_first == values_first               ? begin
                                                                    : std::max(begin, row + node.frame_first);
            while (node.frame_first == values_first && !is_of_peers && first <= end &&
                   comes_before_bound(node, rows[first], rows[i][node.frame_from])) {
                ++first;
            }
            std::int64_t last = node.frame_last == partition_last              ? end
                                : node.frame_last == peers_last || is_of_peers ? last_peer
                                : node.frame_last == values_last               ? end
                                                                 : std::min(end, row + node.frame_last);
            while (node.frame_last == values_last && !is_of_peers && last >= begin &&
                   comes_behind_bound(node, rows[last], rows[i][node.frame_to])) {
                --last;
            }
            Row result = rows[i];
            for (std::uint32_t k = 0; k < node.accumulators.count; ++k) {
                const Accumulator &function = query_.accumulators[node.accumulators.first + k];
                const auto number = [](std::int64_t value) { return Value::of(ValueType::int64, value); };
                const auto argument = [&](std::int64_t of, bool is_there) {
                    return is_there ? rows[of][function.argument]
                                    : Value::null(rows[i][function.argument].type);
                };
                using enum AccumulatorKind;
                if (function.kind == row_number) {
                    result.push_back(number(row - begin + 1));
                } else if (function.kind == rank) {
                    result.push_back(number(first_peer - begin + 1));
                } else if (function.kind == dense_rank) {
                    std::int64_t groups = 1;
                    for (std::int64_t at = begin + 1; at <= row; ++at) {
                        groups += same(rows[at], rows[at - 1], node.sort_keys.count) ? 0 : 1;
                    }
                    result.push_back(number(groups));
                } else if (function.kind == ntile) {
                    // Parts are filled one after the other.
                    std::int64_t part = 1;
                    std::int64_t left = row - begin;
                    const auto size = [&](std::int64_t number) {
                        const std::int64_t all = end - begin + 1;
                        return all / function.detail + (number <= all % function.detail ? 1 : 0);
                    };
                    while (left >= size(part)) {
                        left -= size(part++);
                    }
                    result.push_back(number(part));
                } else if (function.kind == percent_rank) {
                    result.push_back(Value::of_real(end == begin ? 0.0
                                                                 : static_cast<double>(first_peer - begin) /
                                                                       static_cast<double>(end - begin)));
                } else if (function.kind == cume_dist) {
                    result.push_back(Value::of_real(static_cast<double>(last_peer - begin + 1) /
                                                    static_cast<double>(end - begin + 1)));
                } else if (function.kind == earlier || function.kind == later) {
                    const std::int64_t of =
                        function.kind == earlier ? row - function.detail : row + function.detail;
                    const bool is_there = of >= begin && of <= end;
                    result.push_back(is_there || function.filter == no_step ? argument(of, is_there)
                                                                            : rows[i][function.filter]);
                } else if (function.kind == nth_of_frame) {
                    result.push_back(argument(first + function.detail, first + function.detail <= last));
                } else if (function.kind == first_of_frame || function.kind == last_of_frame) {
                    result.push_back(argument(function.kind == first_of_frame ? first : last, first <= last));
                } else {
                    std::vector<Value> values;
                    for (std::int64_t at = first; at <= last; ++at) {
                        const Value value =
                            function.kind == count_rows ? number(1) : rows[at][function.argument];
                        if (!value.is_null &&
                            (function.filter == no_step || rows[at][function.filter].is_true())) {
                            values.push_back(value);
                        }
                    }
                    result.push_back(function.kind == sum_float
                                         ? add_in_order(values)
                                         : accumulate(function, rows[i][function.argument].type, values));
                }
            }
            results.push_back(result);
        }
        return results;
    }

    std::vector<Row> aggregate(const Node &node, const std::vector<Row> &rows) const {
        std::map<Row, std::vector<std::vector<Value>>, RowOrder> groups;
        if (node.outputs.count == 0) {
            groups[{}].resize(node.accumulators.count);
        }
        for (const Row &row : rows) {
            Steps steps{*this, node, row, {}};
            if (!passes(node, steps)) {
                continue;
            }
            Row key;
            for (std::uint32_t k = 0; k < node.outputs.count; ++k) {
                key.push_back(steps(query_.outputs[node.outputs.first + k]));
            }
            auto &values = groups[key];
            values.resize(node.accumulators.count);
            for (std::uint32_t k = 0; k < node.accumulators.count; ++k) {
                const Accumulator &accumulator = query_.accumulators[node.accumulators.first + k];
                const bool counts = accumulator.filter == no_step || steps(accumulator.filter).is_true();
                const Value value = accumulator.kind == AccumulatorKind::count_rows
                                        ? Value::of(ValueType::int64, 1)
                                        : steps(accumulator.argument);
                if (counts && !value.is_null) {
                    values[k].push_back(value);
                }
            }
        }
        std::vector<Row> results;
        for (auto &[key, values] : groups) {
            Row row = key;
            for (std::uint32_t k = 0; k < node.accumulators.count; ++k) {
                const Accumulator &accumulator = query_.accumulators[node.accumulators.first + k];
                const ValueType type = accumulator.kind == AccumulatorKind::count_rows
                                           ? ValueType::int64
                                           : query_.steps[node.steps.first + accumulator.argument].type;
                row.push_back(accumulate(accumulator, type, std::move(values[k])));
            }
            results.push_back(row);
        }
        return results;
    }

    Value accumulate(const Accumulator &accumulator, ValueType type, std::vector<Value> values) const {
        const auto is_less = [](const Value &a, const Value &b) { return compare(a, b) < 0; };
        std::stable_sort(values.begin(), values.end(), is_less);
        if (accumulator.distinct != 0) {
            values.erase(std::unique(values.begin(), values.end(), is_same), values.end());
        }
        using enum AccumulatorKind;
        if (accumulator.kind == count_rows || accumulator.kind == count) {
            return Value::of(ValueType::int64, static_cast<Wide>(values.size()));
        }
        if (values.empty()) {
            return Value::null(accumulator.kind == sum ? ValueType::int128 : type);
        }
        switch (accumulator.kind) {
            case sum: {
                Wide sum = 0;
                for (const Value &value : values) {
                    if (__builtin_add_overflow(sum, value.number, &sum)) {
                        throw Failed{};
                    }
                }
                return Value::of(ValueType::int128, sum);
            }
            case sum_float:
                return sum_floats(values, accumulator.detail);
            case least:
                return values.front();
            case greatest:
                return values.back();
            case bit_and:
            case bit_or:
            case bit_xor: {
                Value joined = values.front();
                for (std::size_t i = 1; i < values.size(); ++i) {
                    joined.number = accumulator.kind == bit_and  ? joined.number & values[i].number
                                    : accumulator.kind == bit_or ? joined.number | values[i].number
                                                                 : joined.number ^ values[i].number;
                }
                return joined;
            }
            case mode: {
                std::size_t best = 0;
                std::size_t most = 0;
                for (std::size_t i = 0; i < values.size();) {
                    std::size_t end = i;
                    while (end < values.size() && is_same(values[end], values[i])) {
                        ++end;
                    }
                    if (end - i > most) {
                        most = end - i;
                        best = i;
                    }
                    i = end;
                }
                return values[best];
            }
            case percentile_discrete: {
                const double place = std::ceil(fraction(accumulator) * static_cast<double>(values.size()));
                return values[place < 1 ? 0 : static_cast<std::size_t>(place) - 1];
            }
            case percentile_below:
            case percentile_above: {
                const double place = fraction(accumulator) * static_cast<double>(values.size() - 1);
                return values[static_cast<std::size_t>(
                    accumulator.kind == percentile_below ? std::floor(place) : std::ceil(place))];
            }
            case percentile_continuous: {
                const double place = fraction(accumulator) * static_cast<double>(values.size() - 1);
                const double low = values[static_cast<std::size_t>(std::floor(place))].real;
                const double high = values[static_cast<std::size_t>(std::ceil(place))].real;
                return Value::of_real(std::floor(place) == std::ceil(place)
                                          ? low
                                          : low + (place - std::floor(place)) * (high - low));
            }
            default:
                return values.front();
        }
    }

    double fraction(const Accumulator &accumulator) const {
        double fraction;
        std::memcpy(&fraction, &query_.constants[accumulator.detail].low, sizeof(fraction));
        return fraction;
    }

    // Test values are multiples of 2^-20 below 2^60, or special ones, so that 128 bits have all sums.
    static Value sum_floats(const std::vector<Value> &values, std::uint32_t part) {
        Wide sum = 0;
        bool nan = false;
        bool above = false;
        bool below = false;
        for (const Value &value : values) {
            nan |= std::isnan(value.real);
            above |= std::isinf(value.real) && value.real > 0;
            below |= std::isinf(value.real) && value.real < 0;
            sum += std::isfinite(value.real) ? static_cast<Wide>(std::ldexp(value.real, 20)) : 0;
        }
        if (part > 0 && (nan || above || below)) {
            return Value::of_real(0);
        }
        if (nan || (above && below)) {
            return Value::of_real(std::nan(""));
        }
        if (above || below) {
            return Value::of_real(above ? INFINITY : -INFINITY);
        }
        for (; part > 0; --part) {
            sum -= static_cast<Wide>(static_cast<double>(sum));
        }
        return Value::of_real(std::ldexp(static_cast<double>(sum), -20));
    }

    Value evaluate(Steps &steps, std::uint16_t number) const;
    static Value checked(ValueType type, std::uint8_t width, Wide number, bool overflows) {
        const Wide end = width == 16 ? 0 : Wide(1) << (8 * width - 1);
        if (overflows || (width < 16 && (number < -end || number >= end))) {
            throw Failed{};
        }
        return Value::of(type, number);
    }
    Value compute_integers(const Step &step, Wide left, Wide right) const;
    static Value compute_floats(const Step &step, double left, double right);

    const TestQuery &query_;
};

inline Value Reference::compute_integers(const Step &step, Wide left, Wide right) const {
    using enum Operation;
    Wide result = 0;
    bool overflows = false;
    switch (step.operation) {
        case add:
            overflows = __builtin_add_overflow(left, right, &result);
            break;
        case subtract:
            overflows = __builtin_sub_overflow(left, right, &result);
            break;
        case multiply:
            overflows = __builtin_mul_overflow(left, right, &result);
            break;
        case modulo:
        case divide:
        case divide_round:
        case divide_ceiling:
        case divide_floor: {
            if (right == 0) {
                throw Failed{};
            }
            if (right == -1) {
                overflows = step.operation != modulo && __builtin_sub_overflow(Wide(0), left, &result);
                break;
            }
            const Wide rest = left % right;
            const bool is_negative = (left < 0) != (right < 0);
            result = step.operation == modulo ? rest : left / right;
            const Wide size = rest < 0 ? -rest : rest;
            const Wide divisor = right < 0 ? -right : right;
            if (rest != 0 && ((step.operation == divide_round && size >= divisor - size) ||
                              (step.operation == divide_ceiling && !is_negative) ||
                              (step.operation == divide_floor && is_negative))) {
                result += is_negative ? -1 : 1;
            }
            if (step.operation == modulo) {
                return Value::of(step.type, result);
            }
            break;
        }
        case bit_and:
            return Value::of(step.type, left & right);
        case bit_or:
            return Value::of(step.type, left | right);
        default:
            return Value::of(step.type, left ^ right);
    }
    return checked(step.type, step.width, result, overflows);
}

inline Value Reference::compute_floats(const Step &step, double left, double right) {
    using enum Operation;
    double result = step.operation == add        ? left + right
                    : step.operation == subtract ? left - right
                    : step.operation == multiply ? left * right
                                                 : left / right;
    const bool any_infinite = std::isinf(left) || (std::isinf(right) && step.operation != divide);
    if (step.operation == divide && right == 0 && !std::isnan(left)) {
        throw Failed{};
    }
    if (std::isinf(result) && !any_infinite) {
        throw Failed{};
    }
    if (result == 0 && ((step.operation == multiply && left != 0 && right != 0) ||
                        (step.operation == divide && left != 0 && !std::isinf(right)))) {
        throw Failed{};
    }
    return Value::of_real(result);
}

inline Value Reference::evaluate(Steps &steps, std::uint16_t number) const {
    using enum Operation;
    const Step &step = query_.steps[steps.node.steps.first + number];
    const auto truth = [](bool is_true) { return Value::of(ValueType::boolean, is_true ? 1 : 0); };
    switch (step.operation) {
        case column:
            return steps.row[step.left];
        case constant: {
            const std::uint64_t words[2] = {query_.constants[step.left].low,
                                            query_.constants[step.left].high};
            return read_value(step.type, false, words);
        }
        case null:
            return Value::null(step.type);
        default:
            break;
    }
    // Operands are computed whether they are needed or not.
    const bool takes_three = step.operation == choose;
    const bool takes_two =
        (step.operation <= modulo && step.operation >= add) || step.operation == greater ||
        step.operation == lesser || (step.operation >= divide_round && step.operation <= divide_floor) ||
        (step.operation >= bit_and && step.operation <= bit_xor) ||
        (step.operation >= equal && step.operation <= logical_or) || step.operation == is_distinct ||
        step.operation == null_if_equal || step.operation == coalesce || takes_three;
    const Value left = steps(step.left);
    const Value right = takes_two ? steps(step.right) : Value::of(step.type, 0);
    const Value third = takes_three ? steps(step.third) : right;
    if (step.guard != no_step && !steps(step.guard).is_true()) {
        return Value::null(step.type);
    }
    switch (step.operation) {
        case is_null:
            return truth(left.is_null);
        case is_true:
            return truth(left.is_true());
        case is_false:
            return truth(!left.is_null && left.number == 0);
        case in_list: {
            bool is_in = false;
            for (std::uint32_t i = 0; i < step.right; ++i) {
                const Constant &item = query_.constants[step.third + i];
                const std::uint64_t words[2] = {item.low, item.high};
                is_in |= !left.is_null && compare(left, read_value(left.type, false, words)) == 0;
            }
            return left.is_null || (!is_in && step.detail != 0) ? Value::null(ValueType::boolean)
                                                                : truth(is_in);
        }
        case choose:
            return left.is_true() ? right : third;
        case coalesce:
            return left.is_null ? right : left;
        default:
            break;
    }
    switch (step.operation) {
        case greater:
        case lesser:
            if (left.is_null || right.is_null) {
                return left.is_null ? right : left;
            }
            return (step.operation == greater) == (compare(left, right) < 0) && compare(left, right) != 0
                       ? right
                       : left;
        case logical_and:
        case logical_or: {
            const bool decisive = step.operation == logical_or;
            if ((!left.is_null && (left.number != 0) == decisive) ||
                (!right.is_null && (right.number != 0) == decisive)) {
                return truth(decisive);
            }
            return left.is_null || right.is_null ? Value::null(ValueType::boolean) : truth(!decisive);
        }
        case is_distinct:
            return truth(!is_same(left, right));
        case null_if_equal:
            return !left.is_null && !right.is_null && compare(left, right) == 0 ? Value::null(step.type)
                                                                                : left;
        default:
            break;
    }
    if (left.is_null || right.is_null) {
        return Value::null(step.type);
    }
    switch (step.operation) {
        case equal:
            return truth(compare(left, right) == 0);
        case not_equal:
            return truth(compare(left, right) != 0);
        case less:
            return truth(compare(left, right) < 0);
        case less_or_equal:
            return truth(compare(left, right) <= 0);
        case logical_not:
            return truth(left.number == 0);
        case look_up: {
            const std::uint64_t count = query_.constants[step.detail].low;
            for (std::uint64_t i = 1; i <= count; ++i) {
                const Constant &entry = query_.constants[step.detail + i];
                if (static_cast<std::int64_t>(entry.low) == left.number) {
                    return Value::of(step.type, static_cast<std::int64_t>(entry.high));
                }
            }
            throw Failed{};
        }
        case to_boolean:
            return truth(left.number != 0);
        case widen:
        case narrow:
            return checked(step.type, step.width, left.number, false);
        case to_float:
            return Value::of_real(static_cast<double>(left.number));
        case negate:
            return step.type == ValueType::float64
                       ? Value::of_real(-left.real)
                       : compute_integers({subtract, step.type, step.width, 0, 0, 0, 0, 0}, 0, left.number);
        case absolute:
            return step.type == ValueType::float64 ? Value::of_real(std::fabs(left.real))
                   : left.number >= 0
                       ? left
                       : compute_integers({subtract, step.type, step.width, 0, 0, 0, 0, 0}, 0, left.number);
        default:
            break;
    }
    return step.type == ValueType::float64 ? compute_floats(step, left.real, right.real)
                                           : compute_integers(step, left.number, right.number);
}

}  // namespace query_test
