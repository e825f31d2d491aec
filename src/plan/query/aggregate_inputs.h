// A program's inputs for the parts of a view: expressions, evaluated by PostgreSQL for each code.
#pragma once

#include "column/query/aggregate_remote.h"
#include "plan/query/aggregate_compile.h"
#include "plan/query/aggregate_values.h"
#include "plan/query/join_matches.h"

namespace pg_gpu::plan {

// Results that mean the same in all parts, by their numbers or ranks.
struct CommonValues {
    Datum *values;
    uint32 count;
    uint32 room;
};

// A run that the server looks through: what it has counted of the view, and the run's number there.
struct PartOnServer {
    column::RemoteCodes *codes;
    int run;
};

struct InputBuilder {
    CompiledAggregate *compiled;
    const column::AggregateParts *parts;
    ExprContext *context;
    TupleTableSlot *row;                  // of the index's columns, or a joined one
    JoinMatches *matches;                 // nullptr: no tables are joined
    MemoryContext keep;                   // of what is needed for results
    size_t memory;                        // bytes that maps may still take
    gpu_engine::AggregateInput **inputs;  // by part
    // These are told of each input.
    bool *is_made;
    int64 *least;  // Value, Number, Wide, Narrow, and of FloatBase the integers: the least number; above
                   // `greatest` when there is none
    int64 *greatest;
    CommonValues *common;  // Rank, Group
    uint64 *centre;        // Narrow: two words of what scaled numbers are less by, the lower one first
    uint8 *scale;          // Wide, Narrow: digits behind the point that all are scaled to
    int16 *shown;          // Wide, Narrow: digits behind the point that all show, or kScaleOfGroup
    // Of floats that are cut to integers: what the least and the greatest finite one become, and the biased
    // exponent of floats that differ by as much as these integers count; 0: it isn't chosen yet.
    int64 *cut_least;
    int64 *cut_greatest;
    int16 *cut_unit;
    bool *is_wide;        // Wide: of 128 bits
    uint8 ***scales;      // Wide, Narrow: by part and code, the last one of the column's NULL
    ValueTable **values;  // Group, Groups: what has been numbered; nullptr: nothing yet
    bool *has_variants;   // Group: do equal values differ in their bytes?
    uint64 changes;       // count_changes() when it began
    // These are told of each step of the program.
    bool *is_settled;
    uint8 *digits;                       // how many digits of a numeric's integer are behind the point
    const char *problem;                 // why inputs can't be made; nullptr: they can
    const Oid *tables;                   // by part
    const column::Condition *condition;  // that all rows pass which count; nullptr: none is known
    const PartOnServer *on_server;       // by part; nullptr: the session looks through all runs
    bool keeps_true_rows;                // may be the session that looks through them
};

// A row that expressions are evaluated over, all of whose columns are NULL.
TupleTableSlot *make_row(Relation index, const JoinedTables *joins);

// Allocates in the current memory context. `joins` is nullptr where no tables are joined.
InputBuilder *begin_inputs(CompiledAggregate *compiled, const column::AggregateParts &parts, Relation index,
                           JoinedTables *joins, ExprContext *context, MemoryContext keep, size_t memory);

// Makes the inputs that these steps are computed from, and settles the steps. Expressions that may fail are
// evaluated for codes of rows that are selected now. False: `problem` says why not.
bool make_inputs(InputBuilder *builder, const uint16 *steps, uint32 count);

// Is there something in a step that may fail in a row, as a sum that has no room in its type?
bool may_fail_by_row(const gpu_engine::AggregateProgram &program, uint16 step);

// Is a step never NULL, as far as columns and maps tell?
bool is_never_null(const InputBuilder &builder, uint16 step);

}  // namespace pg_gpu::plan
