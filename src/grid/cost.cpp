// Cost estimates, from the run list and column statistics: a box reads the rows of the cells it touches.
#include <cmath>

#include "grid/grid.h"
#include "grid/grid_writer.h"
#include "storage/storage.h"

namespace pg_gpu::grid {

// The processor's work on a page beyond its tuples, in operator costs. btree's cost estimate has the same
// number.
static constexpr double kPageOperators = 50.0;

// This is a dimension's part of a box.
struct DimensionShare {
    bool bounded;
    Selectivity selectivity;
};

static int dimension_shares(PlannerInfo *root, const IndexPath *path, DimensionShare *shares) {
    const IndexOptInfo *index = path->indexinfo;
    int count = 0;
    for (int column = 0; column < index->nkeycolumns; column++) {
        List *quals = NIL;
        ListCell *cell;
        foreach (cell, path->indexclauses) {
            const auto *clause = lfirst_node(IndexClause, cell);
            if (clause->indexcol == column)
                quals = list_concat(quals, clause->indexquals);
        }
        const Selectivity all = quals == NIL
                                    ? 1.0
                                    : clauselist_selectivity(root, quals, static_cast<int>(index->rel->relid),
                                                             JOIN_INNER, nullptr);
        const int dimensions = dimensions_of(&index->opcintype[column], 1);
        for (int i = 0; i < dimensions && count < kMaxDimensions; i++)
            shares[count++] = {quals != NIL, pow(all, 1.0 / dimensions)};
    }
    return count;
}

struct Reads {
    double rows;   // compared or taken
    double tests;  // those of the rows that lie in cells which the box only touches
    double jumps;  // rows of cells, each in a place of its own
};

// Estimates what a box reads of a grid of so many rows.
static Reads reads_of(const DimensionShare *shares, int dimensions, double rows) {
    const double cells = Max(rows / kCellRows, 1.0);
    const double intervals = Max(pow(cells, 1.0 / dimensions), 1.0);
    double touched = 1;
    double inside = 1;
    double jumps = 1;
    double before = 1;
    for (int i = 0; i < dimensions; i++) {
        const double share = shares[i].selectivity * intervals;
        const double wide = shares[i].bounded ? Min(share + 1, intervals) : intervals;
        touched *= wide;
        inside *= shares[i].bounded ? Max(share - 1, 0.0) : intervals;
        // Cells from the last bounded dimension on lie in one row.
        if (shares[i].bounded)
            jumps = before;
        before *= wide;
    }
    const double per_cell = rows / pow(intervals, dimensions);
    return {touched * per_cell, (touched - inside) * per_cell, jumps};
}

void estimate_cost(PlannerInfo *root, IndexPath *path, double loop_count, Cost *startup, Cost *total,
                   Selectivity *selectivity, double *correlation, double *pages) {
    IndexOptInfo *index = path->indexinfo;
    List *quals = get_quals_from_indexclauses(path->indexclauses);
    List *selective = add_predicate_to_index_quals(index, quals);
    *selectivity =
        clauselist_selectivity(root, selective, static_cast<int>(index->rel->relid), JOIN_INNER, nullptr);
    const double tuples = clamp_row_est(*selectivity * index->rel->tuples);

    const storage::Summary summary = storage::summary_for_planner(index, run_kind);
    const double runs = Max(summary.runs, 1);
    const double entries = Max(static_cast<double>(summary.entries), 1.0);
    const double entry_pages = Max(static_cast<double>(summary.pages), runs);
    DimensionShare shares[kMaxDimensions];
    const int dimensions = Max(dimension_shares(root, path, shares), 1);
    const Reads reads = reads_of(shares, dimensions, entries / runs);

    // At worst each row of cells begins on a page of its own.
    const double jumps = Min(reads.jumps * runs, entry_pages);
    const double read_pages = Min(entry_pages, jumps + reads.rows * runs / entries * entry_pages);
    double spc_random;
    double spc_sequential;
    get_tablespace_page_costs(index->reltablespace, &spc_random, &spc_sequential);
    double page_cost;
    if (loop_count > 1) {
        const double fetched = index_pages_fetched(read_pages * loop_count, index->pages, index->pages, root);
        page_cost = fetched * spc_random / loop_count;
    } else {
        // Pages are read in the order of the file, which is the more like a sequential read, the smaller the
        // gaps are.
        const double jump_cost = spc_random - (spc_random - spc_sequential) *
                                                  (jumps > runs ? sqrt(Min(jumps / entry_pages, 1.0)) : 0);
        page_cost = jumps * jump_cost + Max(read_pages - jumps, 0.0) * spc_sequential;
    }

    // Scales are searched in each run, and the directory is read once for a row of cells.
    const double descent =
        runs * dimensions * (log2(entries / runs + 2) / dimensions + 1) * cpu_operator_cost +
        (runs + jumps) * kPageOperators * cpu_operator_cost;
    const double tests = reads.tests * runs * Max(list_length(quals), 1) * cpu_operator_cost;
    *startup = index_other_operands_eval_cost(root, quals) + descent;
    *total = *startup + page_cost + tests + read_pages * kPageOperators * cpu_operator_cost +
             tuples * (cpu_index_tuple_cost + cpu_operator_cost);
    if (path->indexorderbys != NIL) {
        // A row that is returned has been through a heap of candidates, and so have the rows of its cell.
        *startup +=
            index_other_operands_eval_cost(root, path->indexorderbys) + kCellRows * cpu_operator_cost * runs;
        *total += tuples * (log2(tuples + 2) + 1) * cpu_operator_cost + kCellRows * cpu_operator_cost * runs;
    }
    *correlation = 0;
    *pages = read_pages;
}

}  // namespace pg_gpu::grid
