// Requests about groups for tests, and a plain reference that answers them row by row.
#pragma once

#include <bit>
#include <cmath>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "column_run.h"
#include "gpu_engine/aggregate.h"
#include "heap_facts.h"

namespace aggregate_test {

using column_test::Random;
using gpu_engine::Accumulator;
using gpu_engine::AccumulatorKind;
using gpu_engine::AggregateInput;
using gpu_engine::AggregateInputKind;
using gpu_engine::AggregateKey;
using gpu_engine::AggregateOperation;
using gpu_engine::AggregateProgram;
using gpu_engine::AggregateStep;
using gpu_engine::ColumnTest;
using gpu_engine::no_aggregate_step;

__extension__ typedef __int128 Wide;

struct TestRun {
    column_test::ColumnRun run;
    column_test::Pages pages;
    std::vector<std::vector<std::uint64_t>> codes;  // of rows, by column

    void find_codes() {
        for (std::size_t c = 0; c < run.columns.size(); ++c) {
            codes.push_back(codes_of(run.columns[c], pages.layout.column[c]));
        }
    }
};

// ---- requests --------------------------------------------------------------------------------------------

// A part's inputs, with their maps.
struct TestInputs {
    std::vector<AggregateInput> views;
    std::deque<std::vector<std::uint64_t>> words;

    void add_code(const TestRun &, std::uint32_t column, std::uint64_t offset) {
        views.push_back({AggregateInputKind::code, true, 0, column, offset, 0, nullptr, nullptr, 0});
    }
    template <typename ValueOf>
    AggregateInput *add_map(const TestRun &run, std::uint32_t column, AggregateInputKind kind,
                            ValueOf value_of) {
        const std::uint64_t places = gpu_engine::code_slots(run.pages.layout.column[column]);
        words.emplace_back(places + 1);
        for (std::uint64_t code = 0; code < places; ++code) {
            const std::int64_t value = value_of(code);
            auto *bytes = reinterpret_cast<unsigned char *>(words.back().data());
            if (kind == AggregateInputKind::bits) {
                words.back()[code / 64] |= static_cast<std::uint64_t>(value & 1) << (code % 64);
            } else if (kind == AggregateInputKind::map8) {
                bytes[code] = static_cast<unsigned char>(value);
            } else if (kind == AggregateInputKind::map32) {
                const auto narrow = static_cast<std::uint32_t>(value);
                std::memcpy(bytes + code * sizeof(narrow), &narrow, sizeof(narrow));
            } else {
                std::memcpy(bytes + code * sizeof(value), &value, sizeof(value));
            }
        }
        views.push_back({kind, true, 0, column, 0, places, words.back().data(), nullptr, 0});
        return &views.back();
    }
    template <typename ValueOf>
    AggregateInput *add_wide(const TestRun &run, std::uint32_t column, ValueOf value_of) {
        const std::uint64_t places = gpu_engine::code_slots(run.pages.layout.column[column]);
        words.emplace_back(2 * places + 1);
        for (std::uint64_t code = 0; code < places; ++code) {
            const Wide value = value_of(code);
            words.back()[2 * code] = static_cast<std::uint64_t>(value);
            words.back()[2 * code + 1] = static_cast<std::uint64_t>(value >> 64);
        }
        views.push_back(
            {AggregateInputKind::map128, true, 0, column, 0, places, words.back().data(), nullptr, 0});
        return &views.back();
    }
    // Ranges of the column's codes, at random, with numbers that their starts give.
    template <typename ValueOf>
    AggregateInput *add_ranges(const TestRun &run, std::uint32_t column, Random &random, ValueOf value_of) {
        std::set<std::uint64_t> starts;
        const std::uint32_t bits = run.pages.layout.column[column].bits;
        const std::uint64_t mask = bits >= 64 ? UINT64_MAX : (std::uint64_t(1) << bits) - 1;
        for (std::uint64_t count = 1 + random() % 100; count > 0; --count) {
            starts.insert(random() & mask);
        }
        words.emplace_back(starts.begin(), starts.end());
        for (const std::uint64_t start : starts) {
            words.back().push_back(static_cast<std::uint64_t>(value_of(start)));
        }
        views.push_back(
            {AggregateInputKind::ranges, true, 0, column, 0, starts.size(), words.back().data(), nullptr, 0});
        return &views.back();
    }
    void set_nulls(AggregateInput *input, Random &random) {
        words.emplace_back((input->places + 63) / 64 + 1);
        for (std::uint64_t &word : words.back()) {
            word = random() & random() & random();
        }
        input->nulls = words.back().data();
    }
};

struct TestRequest {
    AggregateProgram program = {};
    std::vector<ColumnTest> tests;  // of kinds is_null and is_value
    std::deque<TestInputs> inputs;  // of each part

    TestRequest() { program.filter = no_aggregate_step; }
};

// Adds to a program.
class Builder {
  public:
    explicit Builder(TestRequest *request) : program_(request->program) {}

    std::uint16_t add_input() {
        const auto number = static_cast<std::uint16_t>(program_.input_count++);
        return add_step(AggregateOperation::input, number);
    }
    std::uint16_t add_constant(std::int64_t constant) {
        const std::uint16_t step = add_step(AggregateOperation::constant);
        program_.step[step].constant = constant;
        return step;
    }
    std::uint16_t add_step(AggregateOperation operation, std::uint16_t left = 0, std::uint16_t right = 0,
                           std::uint8_t width = 8) {
        program_.step[program_.step_count] = {operation, width, left, right, 0, 0};
        return static_cast<std::uint16_t>(program_.step_count++);
    }
    void add_key(std::uint16_t step, std::uint8_t bits, std::int64_t least, bool may_be_null,
                 std::uint64_t codes = 0) {
        AggregateKey key = {step, bits, 0, 0, may_be_null, 0, least, codes};
        if (program_.key_count > 0) {
            const AggregateKey &last = program_.key[program_.key_count - 1];
            const bool fits = last.shift + last.bits + bits <= 64;
            key.word = static_cast<std::uint8_t>(fits ? last.word : last.word + 1);
            key.shift = static_cast<std::uint8_t>(fits ? last.shift + last.bits : 0);
        }
        program_.key_words = key.word + 1U;
        program_.key[program_.key_count++] = key;
    }
    void accumulate(AccumulatorKind kind, std::uint16_t step, std::uint16_t filter = no_aggregate_step,
                    std::uint16_t exponent = 0) {
        program_.accumulator[program_.accumulator_count++] = {
            kind, static_cast<std::uint8_t>(program_.value_words), step, filter, exponent};
        program_.value_words += accumulator_words(kind);
    }

  private:
    AggregateProgram &program_;
};

// A float's number as sums of floats take it.
inline std::int64_t number_of_float(double value, bool is_single) {
    if (is_single) {
        const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
        return static_cast<std::int64_t>((bits >> 31) != 0 ? ~bits : bits | std::uint32_t{1} << 31);
    }
    const auto bits = std::bit_cast<std::uint64_t>(value);
    return static_cast<std::int64_t>((bits >> 63) != 0 ? ~bits ^ std::uint64_t{1} << 63 : bits);
}

// A request about the runs at random: most of them have a result.
inline TestRequest make_request(const std::vector<TestRun> &runs, Random &random) {
    TestRequest request;
    Builder builder(&request);
    request.inputs.resize(runs.size());
    // Steps, with the greatest magnitude of their numbers.
    std::vector<std::pair<std::uint16_t, double>> numbers;
    std::vector<std::uint16_t> truths;
    std::vector<std::uint16_t> wides;
    std::vector<std::pair<std::uint16_t, bool>> floats;  // are they of 32 bits?
    const auto &columns = runs[0].pages.layout;
    const std::size_t inputs = 1 + random() % 6;
    for (std::size_t i = 0; i < inputs; ++i) {
        const auto column = static_cast<std::uint32_t>(random() % columns.columns);
        bool has_map = true;
        for (const TestRun &run : runs) {
            has_map &= gpu_engine::code_slots(run.pages.layout.column[column]) > 0;
        }
        const std::uint64_t kind = has_map ? random() % 8 : random() % 4 == 0 ? 7 : 0;
        const bool is_single = random() % 2 == 0;
        const std::int64_t of_null = static_cast<std::int64_t>(random() % 50) - 25;
        const bool column_null_is_null = random() % 2 == 0;
        const bool has_nulls = random() % 3 == 0;
        const bool is_extreme = random() % 5 == 0;
        const std::uint64_t seed = random();
        const std::uint64_t offset = random() % 3 == 0 ? random() % 1000 : 0;
        const auto small = [&](std::uint64_t code) {
            return static_cast<std::int64_t>((code + 7) * (seed | 1) >> 40) % 100;
        };
        const std::uint16_t step = builder.add_input();
        double magnitude = 100;
        for (std::size_t part = 0; part < runs.size(); ++part) {
            TestInputs &made = request.inputs[part];
            const TestRun &run = runs[part];
            switch (kind) {
                case 0:
                    made.add_code(run, column, offset);
                    magnitude =
                        std::max(magnitude, std::ldexp(1.0, run.pages.layout.column[column].bits) + 1000);
                    break;
                case 1:
                    made.add_map(run, column,
                                 is_extreme ? AggregateInputKind::bits : AggregateInputKind::map8,
                                 [&](std::uint64_t code) { return small(code) & 1; });
                    break;
                case 2:
                    made.add_map(run, column, AggregateInputKind::map32, [&](std::uint64_t code) {
                        return is_extreme ? static_cast<std::int64_t>(UINT32_MAX - code) : small(code) & 127;
                    });
                    magnitude = is_extreme ? 4294967296.0 : 128;
                    break;
                case 3:
                    made.add_wide(run, column, [&](std::uint64_t code) {
                        return (is_extreme ? Wide(1) << 100 : Wide(1)) * small(code);
                    });
                    break;
                case 4:
                    made.add_map(run, column, AggregateInputKind::map64, [&](std::uint64_t code) {
                        const double value = static_cast<double>(small(code)) / 8;
                        return number_of_float(is_extreme && code % 50 == 0 ? value * 1e30 : value,
                                               is_single);
                    });
                    break;
                case 7:
                    made.add_ranges(run, column, random, [&](std::uint64_t start) {
                        return is_extreme ? INT64_MAX - small(start) : small(start);
                    });
                    magnitude = is_extreme ? 9.3e18 : 100;
                    break;
                default:
                    made.add_map(run, column, AggregateInputKind::map64, [&](std::uint64_t code) {
                        return !is_extreme     ? small(code)
                               : code % 3 == 0 ? INT64_MIN
                                               : INT64_MAX - small(code);
                    });
                    magnitude = is_extreme ? 9.3e18 : 100;
            }
            AggregateInput *input = &made.views.back();
            if (kind != 3 && !column_null_is_null) {
                input->column_null_is_null = false;
                input->of_column_null = kind == 1   ? of_null & 1
                                        : kind == 4 ? number_of_float(static_cast<double>(of_null), is_single)
                                                    : of_null;
            }
            if (kind != 0 && has_nulls) {
                made.set_nulls(input, random);
            }
        }
        if (kind == 1) {
            truths.push_back(step);
        } else if (kind == 3) {
            wides.push_back(step);
        } else if (kind == 4) {
            floats.emplace_back(step, is_single);
        } else {
            numbers.emplace_back(step, magnitude);
        }
    }
    numbers.emplace_back(builder.add_constant(static_cast<std::int64_t>(random() % 40) - 20), 20);
    if (random() % 4 == 0) {
        numbers.emplace_back(builder.add_step(AggregateOperation::place), std::ldexp(1.0, 48));
    }
    if (random() % 6 == 0) {
        numbers.emplace_back(builder.add_step(AggregateOperation::null), 0);
    }
    const auto some_number = [&] { return numbers[random() % numbers.size()]; };
    const auto some_truth = [&] { return truths[random() % truths.size()]; };
    const std::size_t steps = random() % 12;
    for (std::size_t i = 0; i < steps; ++i) {
        using enum AggregateOperation;
        const auto left = some_number();
        const auto right = some_number();
        if (random() % 2 == 0) {
            const auto operation =
                static_cast<AggregateOperation>(static_cast<int>(add) + static_cast<int>(random() % 5));
            const double bound = operation == multiply ? left.second * right.second
                                 : operation == modulo ? right.second
                                 : operation == divide ? left.second
                                                       : left.second + right.second;
            const bool may_fail = bound > 9e18 || operation == divide || operation == modulo;
            if (may_fail && random() % 4 != 0) {
                continue;
            }
            const std::uint8_t width = bound < 32000 && random() % 2 == 0 ? 2
                                       : bound < 2e9 && random() % 2 == 0 ? 4
                                                                          : 8;
            numbers.emplace_back(builder.add_step(operation, left.first, right.first, width),
                                 std::min(bound, 9.3e18));
        } else if (truths.empty() || random() % 2 == 0) {
            const auto operation =
                static_cast<AggregateOperation>(static_cast<int>(equal) + static_cast<int>(random() % 4));
            truths.push_back(builder.add_step(operation, left.first, right.first));
        } else if (random() % 3 == 0) {
            constexpr AggregateOperation choices[] = {greater, only_where, or_else};
            const AggregateOperation operation = choices[random() % std::size(choices)];
            const std::uint16_t first = operation == only_where ? some_truth() : left.first;
            numbers.emplace_back(builder.add_step(operation, first, right.first),
                                 std::max(left.second, right.second));
        } else {
            constexpr AggregateOperation of_truths[] = {logical_and, logical_or, logical_not, is_null,
                                                        is_true};
            const AggregateOperation operation = of_truths[random() % std::size(of_truths)];
            truths.push_back(
                builder.add_step(operation, operation == is_null ? left.first : some_truth(), some_truth()));
        }
    }
    const std::size_t keys = random() % 4;
    for (std::size_t i = 0; i < keys; ++i) {
        const std::uint8_t bits[] = {0, 1, 3, 8, 12, 17, 40, 64};
        const bool of_truth = !truths.empty() && random() % 3 == 0;
        builder.add_key(of_truth ? some_truth() : some_number().first, bits[random() % 8],
                        static_cast<std::int64_t>(random() % 20) - 30, random() % 2 == 0);
    }
    const std::size_t accumulators = random() % 7;
    for (std::size_t i = 0; i < accumulators; ++i) {
        constexpr AccumulatorKind kinds[] = {AccumulatorKind::count,       AccumulatorKind::sum,
                                             AccumulatorKind::sum_squares, AccumulatorKind::least,
                                             AccumulatorKind::greatest,    AccumulatorKind::bits_and,
                                             AccumulatorKind::bits_or,     AccumulatorKind::bits_xor};
        const AccumulatorKind kind = kinds[random() % std::size(kinds)];
        const std::uint16_t filter = truths.empty() || random() % 3 != 0 ? no_aggregate_step : some_truth();
        if (!floats.empty() && random() % 2 == 0) {
            const auto [step, is_single] = floats[random() % floats.size()];
            // Eighths are multiples of what floats from 2^20 on, or doubles from 2^49 on, differ by.
            const int exponent = (is_single ? 127 + 20 : 1023 + 49) - static_cast<int>(random() % 30) +
                                 (random() % 20 == 0 ? 5 : 0);
            builder.accumulate(is_single ? AccumulatorKind::sum_float32 : AccumulatorKind::sum_float64, step,
                               filter, static_cast<std::uint16_t>(exponent));
            continue;
        }
        const auto number = some_number();
        if (kind == AccumulatorKind::sum_squares && number.second > 4294967296.0) {
            continue;
        }
        const bool of_wide = !wides.empty() && random() % 3 == 0 &&
                             (kind == AccumulatorKind::sum || kind == AccumulatorKind::count);
        const bool of_all = kind == AccumulatorKind::count && random() % 2 == 0;
        // How great numbers of sums are need not be said.
        std::uint16_t exponent = 0;
        if (!of_wide && kind <= AccumulatorKind::sum_squares && random() % 3 != 0) {
            exponent = static_cast<std::uint16_t>(std::ilogb(std::max(number.second, 1.0)) + 1);
            exponent =
                static_cast<std::uint16_t>(kind == AccumulatorKind::sum_squares ? 2 * exponent : exponent);
        }
        builder.accumulate(kind,
                           of_all    ? no_aggregate_step
                           : of_wide ? wides[random() % wides.size()]
                                     : number.first,
                           filter, exponent);
    }
    if (!truths.empty() && random() % 2 == 0) {
        request.program.filter = some_truth();
    }
    if (random() % 4 == 0) {
        request.tests.push_back(
            {random() % 4 == 0 ? gpu_engine::TestKind::is_null : gpu_engine::TestKind::is_value,
             static_cast<std::uint32_t>(random() % columns.columns), nullptr, nullptr, 0});
    }
    return request;
}

// ---- the reference ----------------------------------------------------------------------------------------

using Groups = std::map<std::vector<std::uint64_t>, std::vector<std::uint64_t>>;

struct Expected {
    bool failed = false;
    Groups groups;
    std::vector<std::vector<std::uint64_t>> unresolved;  // records, in order
};

class Reference {
  public:
    Reference(const TestRequest &request, const TestRun &run, std::size_t part)
        : request_(request), program_(request.program), run_(run), inputs_(request.inputs[part].views) {}

    struct Result {
        bool is_null = false;
        Wide number = 0;
    };

    void begin_row(std::size_t row) {
        row_ = row;
        results_.assign(program_.step_count, {});
    }
    bool failed() const { return failed_; }
    bool is_true(std::uint16_t step) {
        const Result truth = result(step);
        return !truth.is_null && truth.number != 0;
    }
    Result result(std::uint16_t number) {
        if (!results_[number]) {
            results_[number] = compute(program_.step[number]);
        }
        return *results_[number];
    }

    std::vector<std::uint64_t> key() {
        std::vector<std::uint64_t> words(program_.key_words);
        for (std::uint32_t i = 0; i < program_.key_count; ++i) {
            const AggregateKey &key = program_.key[i];
            const Result number = result(key.step);
            Wide code = number.is_null ? 0 : number.number - key.least + (key.may_be_null ? 1 : 0);
            for (std::uint32_t bit = 0; bit < key.bits; ++bit, code >>= 1) {
                words[key.word] |= static_cast<std::uint64_t>(code & 1) << (key.shift + bit);
            }
        }
        return words;
    }
    std::vector<std::uint64_t> empty() const {
        std::vector<std::uint64_t> words(program_.value_words);
        for (std::uint32_t i = 0; i < program_.accumulator_count; ++i) {
            const Accumulator &accumulator = program_.accumulator[i];
            if (accumulator.kind == AccumulatorKind::least) {
                words[accumulator.word] = INT64_MAX;
            } else if (accumulator.kind == AccumulatorKind::greatest) {
                words[accumulator.word] = static_cast<std::uint64_t>(INT64_MIN);
            } else if (accumulator.kind == AccumulatorKind::bits_and) {
                words[accumulator.word] = UINT64_MAX;
            }
        }
        return words;
    }
    void accumulate(std::vector<std::uint64_t> *words) {
        for (std::uint32_t i = 0; i < program_.accumulator_count; ++i) {
            const Accumulator &accumulator = program_.accumulator[i];
            std::uint64_t *word = words->data() + accumulator.word;
            const Result argument =
                accumulator.step == no_aggregate_step ? Result{} : result(accumulator.step);
            const bool counts = accumulator.filter == no_aggregate_step || is_true(accumulator.filter);
            if (!counts || argument.is_null) {
                continue;
            }
            const auto narrow = static_cast<std::int64_t>(argument.number);
            switch (accumulator.kind) {
                case AccumulatorKind::count:
                    ++*word;
                    break;
                case AccumulatorKind::sum:
                    add(word, argument.number);
                    break;
                case AccumulatorKind::sum_squares:
                    add(word, static_cast<Wide>(static_cast<unsigned __int128>(argument.number) *
                                                static_cast<unsigned __int128>(argument.number)));
                    break;
                case AccumulatorKind::least:
                    *word = static_cast<std::uint64_t>(std::min(static_cast<std::int64_t>(*word), narrow));
                    break;
                case AccumulatorKind::greatest:
                    *word = static_cast<std::uint64_t>(std::max(static_cast<std::int64_t>(*word), narrow));
                    break;
                case AccumulatorKind::bits_and:
                    *word &= static_cast<std::uint64_t>(narrow);
                    break;
                case AccumulatorKind::bits_or:
                    *word |= static_cast<std::uint64_t>(narrow);
                    break;
                case AccumulatorKind::bits_xor:
                    *word ^= static_cast<std::uint64_t>(narrow);
                    break;
                case AccumulatorKind::sum_float32:
                case AccumulatorKind::sum_float64:
                    add(word, fix(accumulator, narrow));
                    break;
            }
        }
    }

  private:
    // By the library's own arithmetic of floats.
    Wide fix(const Accumulator &accumulator, std::int64_t number) {
        const bool is_single = accumulator.kind == AccumulatorKind::sum_float32;
        double value;
        if (is_single) {
            const auto code = static_cast<std::uint32_t>(number);
            value = std::bit_cast<float>((code >> 31) != 0 ? code ^ std::uint32_t{1} << 31 : ~code);
        } else {
            const auto code = static_cast<std::uint64_t>(number);
            value = std::bit_cast<double>((code >> 63) == 0 ? code : ~code ^ std::uint64_t{1} << 63);
        }
        const double scaled = std::ldexp(value, (is_single ? 127 + 23 : 1023 + 52) - accumulator.exponent);
        int exponent = 0;
        std::frexp(value, &exponent);
        const bool is_large =
            value != 0 && exponent - 1 + (is_single ? 127 : 1023) >= accumulator.exponent + 74;
        if (!std::isfinite(value) || is_large || scaled != std::trunc(scaled)) {
            failed_ = true;
            return 0;
        }
        return static_cast<Wide>(scaled);
    }

    static void add(std::uint64_t *words, Wide number) {
        unsigned __int128 sum = static_cast<unsigned __int128>(words[1]) << 64 | words[0];
        sum += static_cast<unsigned __int128>(number);
        words[0] = static_cast<std::uint64_t>(sum);
        words[1] = static_cast<std::uint64_t>(sum >> 64);
    }

    Result of_input(const AggregateInput &input) const {
        if (!run_.run.columns[input.column].values[row_]) {
            return input.column_null_is_null ? Result{true, 0} : Result{false, input.of_column_null};
        }
        const std::uint64_t code = run_.codes[input.column][row_];
        if (input.kind == AggregateInputKind::code) {
            return {false, static_cast<std::int64_t>(code + input.offset)};
        }
        const auto *words = static_cast<const std::uint64_t *>(input.values);
        std::uint64_t place = code;
        if (input.kind == AggregateInputKind::ranges) {
            for (place = 0; place + 1 < input.places && words[place + 1] <= code;) {
                ++place;
            }
        }
        if (input.nulls != nullptr && (input.nulls[place / 64] >> (place % 64) & 1) != 0) {
            return {true, 0};
        }
        switch (input.kind) {
            case AggregateInputKind::ranges:
                return {false, static_cast<std::int64_t>(words[input.places + place])};
            case AggregateInputKind::bits:
                return {false, static_cast<Wide>(words[code / 64] >> (code % 64) & 1)};
            case AggregateInputKind::map8:
                return {false, static_cast<const std::uint8_t *>(input.values)[code]};
            case AggregateInputKind::map32:
                return {false, static_cast<const std::uint32_t *>(input.values)[code]};
            case AggregateInputKind::map64:
                return {false, static_cast<std::int64_t>(words[code])};
            default:
                return {false, static_cast<Wide>(static_cast<unsigned __int128>(words[2 * code + 1]) << 64 |
                                                 words[2 * code])};
        }
    }

    Result compute(const AggregateStep &step) {
        using enum AggregateOperation;
        switch (step.operation) {
            case input:
                return of_input(inputs_[step.left]);
            case constant:
                return {false, step.constant};
            case null:
                return {true, 0};
            case place:
                return {false, static_cast<std::int64_t>(run_.run.places[row_])};
            case logical_not: {
                const Result left = result(step.left);
                return {left.is_null, left.number == 0};
            }
            case is_null:
                return {false, result(step.left).is_null};
            case AggregateOperation::is_true:
                return {false, this->is_true(step.left)};
            default:
                return compute_of_two(step, result(step.left), result(step.right));
        }
    }
    Result compute_of_two(const AggregateStep &step, const Result &left, const Result &right) {
        using enum AggregateOperation;
        if (step.operation == logical_and || step.operation == logical_or) {
            const int decisive = step.operation == logical_or ? 1 : 0;
            if ((!left.is_null && left.number == decisive) || (!right.is_null && right.number == decisive)) {
                return {false, decisive};
            }
            return {left.is_null || right.is_null, 1 - decisive};
        }
        if (step.operation == only_where) {
            return {left.is_null || left.number == 0 || right.is_null, right.number};
        }
        if (step.operation == or_else) {
            return left.is_null ? right : left;
        }
        if (left.is_null || right.is_null) {
            return {true, 0};
        }
        switch (step.operation) {
            case greater:
                return {false, std::max(left.number, right.number)};
            case add:
                return fit(step, left.number + right.number);
            case subtract:
                return fit(step, left.number - right.number);
            case multiply:
                return fit(step, left.number * right.number);
            case divide:
            case modulo:
                if (right.number == 0) {
                    failed_ = true;
                    return {true, 0};
                }
                return fit(
                    step, step.operation == divide ? left.number / right.number : left.number % right.number);
            case equal:
                return {false, left.number == right.number};
            case not_equal:
                return {false, left.number != right.number};
            case less:
                return {false, left.number < right.number};
            default:
                return {false, left.number <= right.number};
        }
    }
    Result fit(const AggregateStep &step, Wide number) {
        const Wide end = Wide(1) << (8 * step.width - 1);
        failed_ |= number < -end || number >= end;
        return {false, number};
    }

    const TestRequest &request_;
    const AggregateProgram &program_;
    const TestRun &run_;
    const std::vector<AggregateInput> &inputs_;
    std::size_t row_ = 0;
    std::vector<std::optional<Result>> results_;
    bool failed_ = false;
};

// Calls visit(reference, place, whether it is visible) for the rows that count, visible ones and unresolved
// ones. Returns whether a step failed. With `facts` null all rows are visible.
template <typename Visit>
bool for_rows(const TestRequest &request, const std::vector<TestRun> &runs,
              const heap_facts::HeapFacts *facts, Visit visit) {
    bool failed = false;
    for (std::size_t part = 0; part < runs.size(); ++part) {
        const column_test::ColumnRun &run = runs[part].run;
        Reference reference(request, runs[part], part);
        for (std::size_t row = 0; row < run.rows(); ++row) {
            const auto passes = [&](const ColumnTest &test) {
                return run.columns[test.column].values[row].has_value() ==
                       (test.kind == gpu_engine::TestKind::is_value);
            };
            if (run.is_dead(row) || !std::all_of(request.tests.begin(), request.tests.end(), passes)) {
                continue;
            }
            const heap_facts::Visibility seen =
                facts == nullptr ? heap_facts::Visibility::visible : facts->of(run.places[row]);
            if (seen == heap_facts::Visibility::hidden) {
                continue;
            }
            reference.begin_row(row);
            if (request.program.filter == no_aggregate_step || reference.is_true(request.program.filter)) {
                visit(reference, run.places[row], seen == heap_facts::Visibility::visible);
            }
        }
        failed |= reference.failed();
    }
    return failed;
}

inline Expected compute(const TestRequest &request, const std::vector<TestRun> &runs,
                        const heap_facts::HeapFacts *facts) {
    Expected expected;
    if (request.program.key_count == 0) {
        expected.groups[{}] = Reference(request, runs[0], 0).empty();
    }
    expected.failed =
        for_rows(request, runs, facts, [&](Reference &reference, std::uint64_t place, bool is_visible) {
            std::vector<std::uint64_t> key = reference.key();
            if (is_visible) {
                reference.accumulate(&expected.groups.emplace(key, reference.empty()).first->second);
                return;
            }
            std::vector<std::uint64_t> words = reference.empty();
            reference.accumulate(&words);
            key.insert(key.end(), words.begin(), words.end());
            key.push_back(place);
            expected.unresolved.push_back(key);
        });
    std::sort(expected.unresolved.begin(), expected.unresolved.end());
    return expected;
}

}  // namespace aggregate_test
