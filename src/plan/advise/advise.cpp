#include "plan/advise/advise.h"

#include "access_methods.h"
#include "compat.h"
#include "functions/rows.h"

PG_GPU_FUNCTION(pg_gpu_advise);

namespace pg_gpu::plan {

namespace {

struct Statement {
    Recorded recorded;
    Cost cost;  // cost with the indexes that exist
    List *tables;
    Cost best;   // with the best of the chosen indexes
    int chosen;  // number of that index; -1: none
};

// Indexes that are made together: one, or those of gpu_column on the tables of a join.
struct Candidate {
    List *proposals;
    bool is_of_columns;
    bool is_united;  // its columns are part of a larger candidate's
    Cost *costs;     // cost of each statement; of a statement that doesn't read the table its cost now
};

struct Advice {
    Statement *statements;
    int count;
    List *candidates;  // a list of Candidate
    LeftOut left_out;
};

// The columns of gpu.advise.
enum Column : int {
    kAdvice,
    kTable,
    kCommand,
    kQueryId,
    kQuery,
    kCalls,
    kMilliseconds,
    kCost,
    kCostWith,
    kBytes,
    kColumns
};

}  // namespace

// ---- indexes that nobody uses ----------------------------------------------------------------------------

// Indexes of ours, with all of a partitioned one's parts, that no scan has used.
static void give_unused(FunctionCallInfo fcinfo) {
    select(
        "SELECT i.indrelid, format('DROP INDEX %s', c.oid::regclass), u.bytes "
        "FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid JOIN pg_am a ON a.oid = c.relam, "
        "LATERAL (SELECT coalesce(sum(s.idx_scan), 0) AS scans, "
        "coalesce(sum(pg_relation_size(s.indexrelid)), 0)::int8 AS bytes "
        "         FROM pg_stat_all_indexes s "
        "         WHERE s.indexrelid = c.oid OR s.indexrelid IN (SELECT relid FROM "
        "pg_partition_tree(c.oid))) AS u "
        "WHERE a.amname IN ('gpu_kary', 'gpu_grid', 'gpu_column', 'gpu_text') AND NOT c.relispartition "
        "AND NOT pg_is_other_temp_schema(c.relnamespace) AND u.scans = 0 ORDER BY u.bytes DESC, 2");
    for (int i = 0; i < static_cast<int>(SPI_processed); i++) {
        Datum values[kColumns] = {};
        bool nulls[kColumns];
        memset(nulls, true, sizeof(nulls));
        nulls[kAdvice] = nulls[kTable] = nulls[kCommand] = nulls[kBytes] = false;
        values[kAdvice] = CStringGetTextDatum("drop");
        values[kTable] = value_at(i, 1);
        values[kCommand] = value_at(i, 2);
        values[kBytes] = value_at(i, 3);
        functions::put_row(fcinfo, values, nulls);
    }
}

// ---- estimates --------------------------------------------------------------------------------------------

static bool are_same(const Proposal &left, const Proposal &right) {
    return left.table == right.table && left.method == right.method && left.count == right.count &&
           memcmp(left.columns, right.columns, sizeof(left.columns)) == 0 &&
           memcmp(left.classes, right.classes, sizeof(left.classes)) == 0;
}

static bool are_same(const List *left, const List *right) {
    if (list_length(left) != list_length(right))
        return false;
    for (int i = 0; i < list_length(left); i++)
        if (!are_same(*static_cast<Proposal *>(list_nth(left, i)),
                      *static_cast<Proposal *>(list_nth(right, i))))
            return false;
    return true;
}

static bool reads_any(const Statement &statement, const List *proposals) {
    ListCell *cell;
    foreach (cell, proposals)
        if (list_member_oid(statement.tables, static_cast<Proposal *>(lfirst(cell))->table))
            return true;
    return false;
}

static constexpr int kAllStatements = -1;

// Estimates statements with the proposed indexes: all of them, or the one of that number.
static void add_candidate(Advice *advice, List *proposals, int only) {
    auto *candidate = allocate_zeroed<Candidate>(1);
    candidate->proposals = proposals;
    candidate->is_of_columns =
        static_cast<Proposal *>(linitial(proposals))->method == get_am_oid(gpu_column.name, true);
    candidate->costs = allocate<Cost>(static_cast<size_t>(advice->count));
    for (int i = 0; i < advice->count; i++) {
        const Statement &statement = advice->statements[i];
        candidate->costs[i] = statement.cost;
        if ((only >= 0 && i != only) || !reads_any(statement, proposals))
            continue;
        Estimate result;
        ErrorData *error;
        if (estimate_statement(statement.recorded, {proposals, false}, &result, &error))
            candidate->costs[i] = Min(statement.cost, result.cost);
        else if (error != nullptr)
            FreeErrorData(error);
    }
    advice->candidates = lappend(advice->candidates, candidate);
}

static void add_new_candidate(Advice *advice, List *proposals, int only) {
    ListCell *cell;
    foreach (cell, advice->candidates)
        if (are_same(static_cast<Candidate *>(lfirst(cell))->proposals, proposals))
            return;
    add_candidate(advice, proposals, only);
}

// A join's columns are compared with other indexes for that statement alone. What serves others, too, are the
// unions of columns, which follow.
static void estimate_all(Advice *advice) {
    auto *estimates = allocate_zeroed<Estimate>(static_cast<size_t>(advice->count) + 1);
    for (int i = 0; i < advice->count; i++) {
        Statement *statement = &advice->statements[i];
        if (!estimate_now(statement->recorded, false, &estimates[i], &advice->left_out)) {
            estimates[i] = {};
            continue;
        }
        statement->cost = statement->best = estimates[i].cost;
        statement->tables = estimates[i].tables;
    }
    for (int i = 0; i < advice->count; i++) {
        ListCell *cell;
        foreach (cell, estimates[i].proposals)
            add_new_candidate(advice, list_make1(lfirst(cell)), kAllStatements);
        if (estimates[i].columns != NIL)
            add_new_candidate(advice, estimates[i].columns,
                              list_length(estimates[i].columns) > 1 ? i : kAllStatements);
    }
}

static bool helps(const Advice &advice, const Candidate &candidate, int statement) {
    return candidate.costs[statement] < kWorthwhile * advice.statements[statement].best;
}

// ---- choice -----------------------------------------------------------------------------------------------

// The time that the index would save beside those that are chosen, if time goes by cost.
static double saved_by(const Advice &advice, const Candidate &candidate) {
    double saved = 0;
    for (int i = 0; i < advice.count; i++) {
        const Statement &statement = advice.statements[i];
        if (helps(advice, candidate, i))
            saved += statement.recorded.milliseconds * (statement.best - candidate.costs[i]) / statement.cost;
    }
    return saved;
}

// Takes the index that saves most, then the one that saves most of what is left, and so on.
static void choose(Advice *advice) {
    for (;;) {
        int best = -1;
        double most = 0;
        for (int i = 0; i < list_length(advice->candidates); i++) {
            CHECK_FOR_INTERRUPTS();
            const auto *candidate = static_cast<Candidate *>(list_nth(advice->candidates, i));
            const double saved = candidate->is_united ? 0 : saved_by(*advice, *candidate);
            if (saved > most) {
                best = i;
                most = saved;
            }
        }
        if (best < 0)
            return;
        const auto *candidate = static_cast<Candidate *>(list_nth(advice->candidates, best));
        for (int i = 0; i < advice->count; i++) {
            if (!helps(*advice, *candidate, i))
                continue;
            advice->statements[i].best = candidate->costs[i];
            advice->statements[i].chosen = best;
        }
    }
}

// Adds the columns of a chosen candidate to those that their tables have already.
static List *unite_columns(List *unions, const Candidate &candidate) {
    ListCell *cell;
    foreach (cell, candidate.proposals) {
        const auto *proposal = static_cast<Proposal *>(lfirst(cell));
        Proposal *found = find_proposal(unions, proposal->table);
        if (found == nullptr) {
            found = allocate<Proposal>(1);
            *found = *proposal;
            unions = lappend(unions, found);
        } else {
            unite(found, *proposal);
        }
    }
    return unions;
}

// Statements on a table that are best served by a gpu_column index share one, since it reads only the columns
// that it needs; and those on joined tables share all of these.
static void choose_with_unions(Advice *advice) {
    choose(advice);
    List *unions = NIL;
    for (int i = 0; i < advice->count; i++) {
        Statement *statement = &advice->statements[i];
        if (statement->chosen < 0)
            continue;
        const auto *candidate = static_cast<Candidate *>(list_nth(advice->candidates, statement->chosen));
        statement->chosen = -1;
        statement->best = statement->cost;
        if (candidate->is_of_columns)
            unions = unite_columns(unions, *candidate);
    }
    ListCell *cell;
    foreach (cell, advice->candidates)
        static_cast<Candidate *>(lfirst(cell))->is_united =
            static_cast<Candidate *>(lfirst(cell))->is_of_columns;
    if (unions != NIL)
        add_candidate(advice, unions, kAllStatements);
    choose(advice);
}

// ---- rows -------------------------------------------------------------------------------------------------

static const char *command_of(const Proposal &proposal) {
    StringInfoData command;
    initStringInfo(&command);
    appendStringInfo(&command, "CREATE INDEX ON %s USING %s (",
                     quote_qualified_identifier(get_namespace_name(get_rel_namespace(proposal.table)),
                                                get_rel_name(proposal.table)),
                     get_am_name(proposal.method));
    for (int i = 0; i < proposal.count; i++) {
        const Oid type = get_atttype(proposal.table, proposal.columns[i]);
        const bool is_default = GetDefaultOpClass(type, proposal.method) == proposal.classes[i];
        appendStringInfo(&command, "%s%s%s", i == 0 ? "" : ", ",
                         quote_identifier(get_attname(proposal.table, proposal.columns[i], false)),
                         is_default ? "" : " gpu.hash_ops");
    }
    appendStringInfoChar(&command, ')');
    return command.data;
}

static void give_statement(const Statement &statement, const Proposal &proposal, FunctionCallInfo fcinfo) {
    const Datum values[kColumns] = {CStringGetTextDatum("create"),
                                    ObjectIdGetDatum(proposal.table),
                                    CStringGetTextDatum(command_of(proposal)),
                                    Int64GetDatum(statement.recorded.id),
                                    CStringGetTextDatum(statement.recorded.text),
                                    Int64GetDatum(statement.recorded.calls),
                                    Float8GetDatum(statement.recorded.milliseconds),
                                    Float8GetDatum(statement.cost),
                                    Float8GetDatum(statement.best)};
    bool nulls[kColumns] = {};
    nulls[kBytes] = true;
    functions::put_row(fcinfo, values, nulls);
}

// Returns each index with its statements, those first that took the most time.
static void give_proposed(const Advice &advice, FunctionCallInfo fcinfo) {
    for (int number = 0; number < list_length(advice.candidates); number++) {
        const auto *candidate = static_cast<Candidate *>(list_nth(advice.candidates, number));
        ListCell *cell;
        foreach (cell, candidate->proposals) {
            const auto *proposal = static_cast<Proposal *>(lfirst(cell));
            for (int i = 0; i < advice.count; i++)
                if (advice.statements[i].chosen == number &&
                    list_member_oid(advice.statements[i].tables, proposal->table))
                    give_statement(advice.statements[i], *proposal, fcinfo);
        }
    }
}

static void read_statistics(FunctionCallInfo fcinfo, int most, Advice *advice) {
    MemoryContext context = CurrentMemoryContext;
    Recording recording;
    with_catalogs([&] {
        recording = read_recorded(most, context);
        give_unused(fcinfo);
    });
    if (!recording.has_recorder)
        ereport(NOTICE,
                (errmsg("without pg_stat_statements only unused indexes are reported"),
                 errhint("Add pg_stat_statements to shared_preload_libraries, restart PostgreSQL, and "
                         "execute CREATE EXTENSION pg_stat_statements.")));
    advice->count = recording.count;
    advice->statements = allocate_zeroed<Statement>(static_cast<size_t>(recording.count) + 1);
    for (int i = 0; i < recording.count; i++)
        advice->statements[i] = {recording.statements[i], 0, NIL, 0, -1};
}

}  // namespace pg_gpu::plan

using namespace pg_gpu::plan;

Datum pg_gpu_advise(PG_FUNCTION_ARGS) {
    const int most = PG_GETARG_INT32(0);
    if (most < 0)
        ereport(ERROR,
                (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("the number of statements is negative")));
    InitMaterializedSRF(fcinfo, 0);
    Advice advice = {};
    read_statistics(fcinfo, most, &advice);
    estimate_all(&advice);
    choose_with_unions(&advice);
    give_proposed(advice, fcinfo);
    report_left_out(advice.left_out, "gpu.advise");
    return Datum{0};
}
