#include "plan/query/aggregate_cost.h"

#include "compat.h"
#include "plan/query/aggregate_parallel.h"
#include "plan/query/join_query.h"

namespace pg_gpu::plan {

// The processor's work, in operator costs: on a row's code that is compared or unpacked, on a step computed
// for a row, on adding it to an accumulator of a group that is at hand, and of one that must be found among
// many.
static constexpr double kCodeOperators = 0.1;
static constexpr double kStepOperators = 0.15;
static constexpr double kAddOperators = 0.2;
static constexpr double kFindOperators = 2.0;
// More groups than that aren't in the processor's caches.
static constexpr double kFewGroups = 10000;
// Finding out which values a column has, a row.
static constexpr double kListOperators = 1.0;
// How often an expression is evaluated to find its ranges, of which a few hundred are usual.
static constexpr double kRangeEvaluations = 5000;
// Taking a row out of a bitmap and marking it, and passing over the rows of a block of the table.
static constexpr double kBitmapRowOperators = 4;
static constexpr double kBlockOperators = 2;
// What a run's headers cost, and what is done before and behind everything, in operators.
static constexpr double kRunOperators = 500.0;
static constexpr double kMatchOperators = 4000.0;
// A unit of these costs takes about a third of the time that one of PostgreSQL's own scans and aggregates
// does, so that the time of starting a worker is this many times as many units.
static constexpr double kUnitsOfOwn = 3.0;

// Tells of each index column whether it is read.
static void find_columns(const AggregateQuery &query, bool *is_read) {
    for (List *list : {query.conditions, query.keys, query.aggregates}) {
        Bitmapset *columns = roots_of(query.joins, list);
        for (int column = bms_next_member(columns, -1); column >= 0;
             column = bms_next_member(columns, column))
            is_read[column] = true;
        bms_free(columns);
    }
    for (int i = 0; i < list_length(query.joins); i++)
        is_read[unpack_joined_table(query.joins, i).root] = true;
}

// Both bounds of a column are one test of its codes.
static int count_tested_columns(const CompiledAggregate &compiled) {
    Bitmapset *columns = nullptr;
    pull_varattnos(reinterpret_cast<Node *>(compiled.index_conditions), 1, &columns);
    const int count = bms_num_members(columns);
    bms_free(columns);
    return count;
}

static Cost page_cost(const IndexOptInfo *index, const column::IndexSummary &summary, const bool *is_read,
                      int columns) {
    uint64 words = 0;
    for (int i = 0; i < columns; i++)
        words += is_read[i] ? summary.column[i].words : 0;
    double random;
    double sequential;
    get_tablespace_page_costs(index->reltablespace, &random, &sequential);
    return summary.runs * random + column::pages_of_words(words) * sequential;
}

// Expressions are evaluated once for each code.
static Cost expression_cost(PlannerInfo *root, const AggregateQuery &query, const CompiledAggregate &compiled,
                            const column::IndexSummary &summary) {
    Cost cost = 0;
    for (uint32 i = 0; i < compiled.program.input_count; i++) {
        const InputSource &source = compiled.input[i];
        if (source.kind == SourceKind::Presence || source.kind == SourceKind::Table ||
            source.kind == SourceKind::Scale || source.kind == SourceKind::FloatDivisor ||
            source.kind == SourceKind::FloatBase || source.kind == SourceKind::Groups)
            continue;
        QualCost each = {0, 0};
        if (source.kind != SourceKind::Value)
            cost_qual_eval_node(&each, reinterpret_cast<Node *>(source.expression), root);
        const column::ColumnSummary &column = summary.column[source.column];
        const double listed =
            bms_is_member(source.column, compiled.listed) ? static_cast<double>(column.unlisted_rows) : 0;
        double places =
            static_cast<double>(column.places) + listed + (source.ranged == nullptr ? 0 : kRangeEvaluations);
        if (source.is_joined) {
            const double codes = static_cast<double>(column.joinable_places) + listed;
            cost += codes * kCodeOperators * cpu_operator_cost;
            places = Min(codes, summary.runs * expected_matches(query.joins, source.expression));
        }
        cost += each.startup + places * (each.per_tuple + kStepOperators * cpu_operator_cost);
    }
    for (int column = bms_next_member(compiled.listed, -1); column >= 0;
         column = bms_next_member(compiled.listed, column))
        cost +=
            static_cast<double>(summary.column[column].unlisted_rows) * kListOperators * cpu_operator_cost;
    return cost;
}

// How often rows are gone through, so that each time the groups fit into memory.
static double count_passes(const CompiledAggregate &compiled, double groups) {
    if (compiled.program.key_count == 0)
        return 1;
    // A table of groups has room for about half as many more; keys mostly fit into a word.
    const double bytes =
        1.5 * groups * ((compiled.program.value_words + 1) * sizeof(uint64) + 2 * sizeof(uint32));
    return Max(1.0, ceil(bytes / static_cast<double>(get_hash_memory_limit())));
}

// The share of the table's rows that have a row in each joined table that must have one.
static double share_of_joined(const List *joins) {
    constexpr double million = 1e6;
    double share = 1;
    for (int i = 0; i < list_length(joins); i++) {
        const JoinedTable table = unpack_joined_table(joins, i);
        share *= is_required(table) ? table.kept / million : 1;
    }
    return share;
}

// By how many processes the rows' work is divided, as core has it: a leader that must read what many workers
// give has less time for rows of its own.
static double divide_work(int workers) {
    constexpr double taken_by_worker = 0.3;
    const double of_leader = parallel_leader_participation ? 1 - taken_by_worker * workers : 0;
    return workers == 0 ? 1 : workers + Max(of_leader, 0.0);
}

// What one table's rows cost, all of which are gone through before there is a group. Workers each read
// dictionaries and evaluate expressions by themselves.
static Cost cost_of_source(PlannerInfo *root, const AggregateSource &source, const AggregateQuery &query,
                           const CompiledAggregate &compiled, double groups, int workers) {
    const RelOptInfo *input = source.table;
    const column::IndexSummary &summary = source.summary;
    bool is_read[column::kMaxColumns] = {};
    find_columns(query, is_read);
    const auto rows = static_cast<double>(summary.rows);
    const double selected = Min(input->rows, Max(rows, 1.0));
    const double find = compiled.program.key_count == 0 ? 0
                        : groups > kFewGroups           ? kFindOperators
                                                        : kAddOperators;
    const double of_row = compiled.program.step_count * (kCodeOperators + kStepOperators) + find +
                          compiled.program.accumulator_count * kAddOperators * (groups > kFewGroups ? 2 : 1);
    // Pairs of groups and distinct values, which are then added to the groups.
    const double of_pairs = compiled.distinct_count * (of_row + 2 * kFindOperators);
    // Each row is asked for its partners; what is left to do is done for rows that have them.
    const double of_match = Min(list_length(query.joins) * (kCodeOperators + kStepOperators), of_row);
    const double of_joined = share_of_joined(query.joins) * (of_row - of_match + of_pairs);
    const double work = rows * count_tested_columns(compiled) * kCodeOperators +
                        selected * (of_match + of_joined) * count_passes(compiled, groups);
    // Rows elsewhere are looked up in the table.
    const double elsewhere = 1.0 - input->allvisfrac;
    const double ranges = workers == 0 ? 1 : kRangesPerProcess;
    return page_cost(source.index, summary, is_read, source.index->nkeycolumns) +
           elsewhere * input->pages * seq_page_cost +
           (work * cpu_operator_cost + elsewhere * selected * cpu_tuple_cost) / divide_work(workers) +
           ranges * (expression_cost(root, query, compiled, summary) +
                     summary.runs * kRunOperators * cpu_operator_cost);
}

void cost_aggregate(PlannerInfo *root, const AggregateSource *sources, int count, const AggregateQuery &query,
                    const CompiledAggregate &compiled, double groups, int workers, Path *path) {
    const double ranges = workers == 0 ? 1 : kRangesPerProcess;
    path->startup_cost = kMatchOperators * cpu_operator_cost;
    // Starting each worker takes as long as the first; the Gather above counts once what it takes
    // PostgreSQL's plans.
    if (workers > 0)
        path->startup_cost += (kUnitsOfOwn * workers - 1) * parallel_setup_cost;
    for (int i = 0; i < count; i++)
        path->startup_cost += cost_of_source(root, sources[i], query, compiled, groups, workers);
    // Groups in an order compare their codes.
    if (query.order != NIL)
        path->startup_cost += groups * log2(Max(groups, 2.0)) * kCodeOperators * cpu_operator_cost;
    // With several passes groups go through a file.
    path->total_cost =
        path->startup_cost + ranges * groups * cpu_tuple_cost * (count_passes(compiled, groups) > 1 ? 3 : 1);
}

void add_bitmap_cost(Path *bitmap, Path *path) {
    const RelOptInfo *table = bitmap->parent;
    Cost cost;
    Selectivity selectivity;
    cost_bitmap_tree_node(castNode(BitmapHeapPath, bitmap)->bitmapqual, &cost, &selectivity);
    cost +=
        (clamp_row_est(selectivity * table->tuples) * kBitmapRowOperators + table->pages * kBlockOperators) *
        cpu_operator_cost;
    path->startup_cost += cost;
    path->total_cost += cost;
    add_disabled_nodes(path, bitmap);
}

}  // namespace pg_gpu::plan
