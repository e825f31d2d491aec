// Statements that join.
#include "bench/query/rows.h"
#include "bench/query/statements.h"

namespace gpu_engine::bench {
namespace {

using query::Accumulator;
using query::AccumulatorKind;
using query::JoinKind;
using query::no_step;
using query::Operation;
using query::ValueType;

const Accumulator row_count = {AccumulatorKind::count_rows, 0, 0, no_step, 0, 0};
Accumulator sum_of(std::uint16_t step) {
    return {AccumulatorKind::sum, 0, step, no_step, 0, 0};
}

// A dimension: a column's codes, each once, and what kind each is of.
std::vector<std::vector<std::uint64_t>> dimension(FactColumn column, std::uint64_t rows,
                                                  std::uint64_t kinds) {
    std::vector<std::vector<std::uint64_t>> columns(2);
    for (std::uint64_t code = 0; code < codes_of(column, rows); ++code) {
        columns[0].push_back(code);
        columns[1].push_back(code * 11 % kinds);
    }
    return columns;
}

// Three dimensions, of one of which a fifth is wanted.
Statement make_star(std::uint64_t rows) {
    Statement statement;
    const std::uint32_t customers = statement.input(dimension(customer, rows, 25));
    const std::uint32_t dates = statement.input(dimension(date, rows, 7));
    statement.input(dimension(supplier, rows, 5));
    const auto key = statement.column(0);
    const auto region = statement.column(1);
    const auto wanted = statement.step(Operation::less, ValueType::boolean, region, statement.constant(1));
    statement.compute(wanted, {key});
    const std::uint32_t suppliers = statement.last();
    statement.join(JoinKind::inner, Statement::first_scan, supplier, suppliers, 0, {customer, date, revenue});
    statement.join(JoinKind::inner, statement.last(), 0, customers, 0, {1, 2, 4});
    statement.join(JoinKind::inner, statement.last(), 0, dates, 0, {1, 2, 4});
    const auto revenues = statement.column(0);
    statement.aggregate(no_step, {statement.column(1), statement.column(2)}, {sum_of(revenues), row_count},
                        175);
    return statement;
}

// Each row by those rows of its order that have no discount: several matches a row, or none.
Statement make_orders(std::uint64_t) {
    Statement statement;
    statement.scan();
    const auto wanted = statement.step(Operation::less, ValueType::boolean, statement.column(discount),
                                       statement.constant(1));
    const auto prices = statement.column(extended_price);
    statement.compute(wanted, {statement.column(order), prices});
    statement.join(JoinKind::inner, Statement::first_scan, order, statement.last(), 0,
                   {line_number, fact_columns + 1});
    const auto price = statement.column(1);
    statement.aggregate(no_step, {statement.column(0)}, {sum_of(price), row_count}, 7);
    return statement;
}

// A million keys far from one another, which are grouped first.
Statement make_wide(std::uint64_t) {
    Statement statement;
    statement.scan();
    const auto revenues = statement.column(revenue);
    statement.aggregate(no_step, {statement.column(wide_key)}, {sum_of(revenues), row_count}, 1000000);
    statement.join(JoinKind::inner, Statement::first_scan, wide_key, statement.last(), 0,
                   {line_number, fact_columns + 2});
    const auto counts = statement.column(1);
    statement.aggregate(no_step, {statement.column(0)}, {sum_of(counts), row_count}, 7);
    return statement;
}

// Rows in whose order one has no discount.
Statement make_exists(std::uint64_t) {
    Statement statement;
    statement.scan();
    const auto wanted = statement.step(Operation::less, ValueType::boolean, statement.column(discount),
                                       statement.constant(1));
    statement.compute(wanted, {statement.column(order)});
    statement.join(JoinKind::semi, Statement::first_scan, order, statement.last(), 0, {line_number});
    statement.aggregate(no_step, {statement.column(0)}, {row_count}, 7);
    return statement;
}

}  // namespace

std::vector<NamedStatement> join_statements() {
    return {{"star", make_star}, {"orders", make_orders}, {"wide", make_wide}, {"exists", make_exists}};
}

}  // namespace gpu_engine::bench
