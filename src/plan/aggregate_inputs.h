// A program's inputs for the parts of a view: expressions, evaluated by PostgreSQL for each code.
#pragma once

#include "column/aggregate_remote.h"
#include "plan/aggregate_compile.h"

namespace pg_gpu::plan {

// Results that mean the same in all parts, by their numbers or ranks.
struct CommonValues {
    Datum *values;
    uint32 count;
    uint32 room;
};

struct InputMaker {
    const CompiledAggregate *compiled;
    const column::AggregateParts *parts;
    ExprContext *context;
    TupleTableSlot *row;                  // of the index's columns
    MemoryContext keep;                   // of what is needed for results
    size_t memory;                        // bytes that maps may still take
    gpu_engine::AggregateInput **inputs;  // by part
    // By input.
    bool *is_made;
    int64 *least;  // Value, Number: the least number; above `greatest` when there is none
    int64 *greatest;
    CommonValues *common;               // Rank, Group
    uint8 *scale;                       // Wide: digits behind the point that all are scaled to
    bool *has_variants;                 // Group: do equal values differ in their bytes?
    const char *problem;                // why inputs can't be made; nullptr: they can
    column::RemoteCodes *remote_codes;  // of runs that the server looks through; nullptr: it does not
};

// In the current memory context.
InputMaker *begin_inputs(const CompiledAggregate &compiled, const column::AggregateParts &parts,
                         Relation index, ExprContext *context, MemoryContext keep, size_t memory);

// Makes the inputs that these steps are computed from. Expressions that may fail are evaluated for codes of
// rows that are selected now. False: `problem` says why not.
bool make_inputs(InputMaker *maker, const uint16 *steps, uint32 count);

// Is an input's step never NULL, as far as its columns and maps tell?
bool is_never_null(const InputMaker &maker, uint16 step);

}  // namespace pg_gpu::plan
