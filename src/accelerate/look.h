// What the worker finds in a database, and what it would do about it.
#pragma once

#include "accelerate/index.h"
#include "accelerate/settings.h"

namespace pg_gpu::accelerate {

// DropFormer: of an index that was replaced, when it could not be dropped then.
enum class Step : int { None, Create, Replace, DropFormer, Drop };

struct Decision {
    Oid table;
    Step step;
    const char *action;  // as gpu.auto_columns shows it
    const char *reason;
    plan::Proposal index;  // which is to be made, or is there
    Demand demand;
    int64 bytes;  // which it takes, or may take
    Oid former;   // the worker's own index; InvalidOid: it has none
    bool is_partitioned;
};

// Looks at all tables that statements ask for columns of, or whose index the worker made, and writes down
// what it decides. Returns the list of Decisions that have a step. To be called in a transaction, with a
// snapshot.
List *look_at_tables(const AutoColumnsSettings &settings);

// Writes down what became of a step. To be called in a transaction, too.
void note_outcome(const Decision &decision, const char *action, const char *reason);
// The same of one that failed, which is tried again later.
void note_failure(const Decision &decision, const char *error);

// An index of the worker's that a crash or an error left behind, or that a table had before it became a
// partition, whose parent has one of its own by now. A table that becomes a partition keeps its index until
// then.
struct Leftover {
    Oid table;
    bool is_partitioned;
    const char *command;  // that drops it
};
// Returns a list of Leftovers. To be called in a transaction.
List *list_leftovers();

}  // namespace pg_gpu::accelerate
