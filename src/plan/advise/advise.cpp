#include "plan/advise/advise.h"

#include "access_methods.h"
#include "compat.h"
#include "functions/rows.h"
#include "subtransaction.h"

PG_GPU_FUNCTION(pg_gpu_advise);

namespace pg_gpu::plan {

namespace {

// An index helps a statement that it makes cheaper by a tenth. Estimates aren't good for less.
constexpr double kWorthwhile = 0.9;

struct Statement {
    Recorded recorded;
    Cost cost;  // cost with the indexes that exist
    List *tables;
    Cost best;   // with the best of the chosen indexes
    int chosen;  // number of that index; -1: none
};

struct Candidate {
    Proposal proposal;
    bool is_of_columns;
    Cost *costs;  // cost of each statement; of a statement that doesn't read the table its cost now
};

struct Advice {
    MemoryContext context;
    Statement *statements;
    int count;
    List *candidates;  // a list of Candidate
    // Statements that aren't planned.
    int failed;
    int of_others;
    const char *first_error;
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

// ---- what PostgreSQL has recorded -------------------------------------------------------------------------

static void select(const char *statement) {
    if (SPI_execute(statement, true, 0) != SPI_OK_SELECT)
        elog(ERROR, "cannot read statistics: %s", statement);
}

static char *text_at(int row, int column) {
    return SPI_getvalue(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, column);
}

static Datum value_at(int row, int column) {
    bool is_null;
    return SPI_getbinval(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, column, &is_null);
}

// Returns the schema of pg_stat_statements, quoted; nullptr where the extension isn't there.
static const char *find_recorder() {
    select(
        "SELECT quote_ident(nspname) FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace "
        "WHERE extname = 'pg_stat_statements'");
    return SPI_processed == 0 ? nullptr : text_at(0, 1);
}

// Reads the SELECTs of this database that took the most time, and whose text the caller may see.
static void read_recorded(const char *schema, int most, Advice *advice) {
    select(
        psprintf("SELECT queryid, min(query), userid, sum(calls)::int8, sum(total_exec_time)::float8 "
                 "FROM %s.pg_stat_statements "
                 "WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND queryid "
                 "IS NOT NULL "
                 "AND query ~* '^[\\s(]*(select|with|table|values|/\\*|--)' "
                 "GROUP BY queryid, userid ORDER BY 5 DESC, queryid, userid LIMIT %d",
                 schema, most));
    MemoryContext caller = MemoryContextSwitchTo(advice->context);
    advice->count = static_cast<int>(SPI_processed);
    advice->statements = allocate_zeroed<Statement>(SPI_processed + 1);
    for (int i = 0; i < advice->count; i++) {
        Statement *statement = &advice->statements[i];
        statement->recorded = {DatumGetInt64(value_at(i, 1)), text_at(i, 2), DatumGetObjectId(value_at(i, 3)),
                               DatumGetInt64(value_at(i, 4)), DatumGetFloat8(value_at(i, 5))};
        statement->chosen = -1;
    }
    MemoryContextSwitchTo(caller);
}

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

// Returns false when the estimate isn't known. The first failure is kept, to be reported.
static bool estimate(Advice *advice, const Recorded &recorded, const Proposal *with, Estimate *result) {
    bool is_select = false;
    ErrorData *error = try_in_subtransaction(advice->context,
                                             [&] { is_select = estimate_statement(recorded, with, result); });
    if (error == nullptr)
        return is_select;
    if (!is_about_work(*error))
        ReThrowError(error);
    if (with == nullptr) {
        advice->failed++;
        if (advice->first_error == nullptr)
            advice->first_error = MemoryContextStrdup(advice->context, error->message);
    }
    FreeErrorData(error);
    return false;
}

static bool are_same(const Proposal &left, const Proposal &right) {
    return left.table == right.table && left.method == right.method && left.count == right.count &&
           memcmp(left.columns, right.columns, sizeof(left.columns)) == 0 &&
           memcmp(left.classes, right.classes, sizeof(left.classes)) == 0;
}

// Estimates all statements with the proposed index, unless that has been done.
static void add_candidate(Advice *advice, const Proposal &proposal) {
    CHECK_FOR_INTERRUPTS();
    ListCell *cell;
    foreach (cell, advice->candidates)
        if (are_same(static_cast<Candidate *>(lfirst(cell))->proposal, proposal))
            return;
    auto *candidate = allocate_zeroed<Candidate>(1);
    candidate->proposal = proposal;
    candidate->is_of_columns = proposal.method == get_am_oid(gpu_column.name, true);
    candidate->costs = allocate<Cost>(static_cast<size_t>(advice->count));
    for (int i = 0; i < advice->count; i++) {
        const Statement &statement = advice->statements[i];
        candidate->costs[i] = statement.cost;
        Estimate result;
        CHECK_FOR_INTERRUPTS();
        if (list_member_oid(statement.tables, proposal.table) &&
            estimate(advice, statement.recorded, &proposal, &result))
            candidate->costs[i] = Min(statement.cost, result.cost);
    }
    advice->candidates = lappend(advice->candidates, candidate);
}

static void estimate_now(Advice *advice) {
    List *proposals = NIL;
    for (int i = 0; i < advice->count; i++) {
        Statement *statement = &advice->statements[i];
        Estimate result;
        CHECK_FOR_INTERRUPTS();
        if (!has_privs_of_role(GetUserId(), statement->recorded.user)) {
            advice->of_others++;
            continue;
        }
        if (!estimate(advice, statement->recorded, nullptr, &result))
            continue;
        statement->cost = statement->best = result.cost;
        statement->tables = result.tables;
        proposals = list_concat(proposals, result.proposals);
    }
    ListCell *cell;
    foreach (cell, proposals)
        add_candidate(advice, *static_cast<Proposal *>(lfirst(cell)));
}

static bool helps(const Advice &advice, const Candidate &candidate, int statement) {
    return candidate.costs[statement] < kWorthwhile * advice.statements[statement].best;
}

// Adds the columns of `more`, in the table's order; false when there is no room for all of them.
static bool unite(Proposal *proposal, const Proposal &more) {
    for (int i = 0; i < more.count; i++) {
        int place = 0;
        while (place < proposal->count && proposal->columns[place] < more.columns[i])
            place++;
        if (place < proposal->count && proposal->columns[place] == more.columns[i])
            continue;
        if (proposal->count == INDEX_MAX_KEYS)
            return false;
        for (int j = proposal->count++; j > place; j--) {
            proposal->columns[j] = proposal->columns[j - 1];
            proposal->classes[j] = proposal->classes[j - 1];
        }
        proposal->columns[place] = more.columns[i];
        proposal->classes[place] = more.classes[i];
    }
    return true;
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
            const double saved =
                saved_by(*advice, *static_cast<Candidate *>(list_nth(advice->candidates, i)));
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

static Proposal *find_union(const List *unions, Oid table) {
    ListCell *cell;
    foreach (cell, unions)
        if (static_cast<Proposal *>(lfirst(cell))->table == table)
            return static_cast<Proposal *>(lfirst(cell));
    return nullptr;
}

// Statements on a table that are best served by a gpu_column index share one, since it reads only the columns
// that it needs.
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
        if (!candidate->is_of_columns)
            continue;
        Proposal *found = find_union(unions, candidate->proposal.table);
        if (found == nullptr) {
            found = allocate_zeroed<Proposal>(1);
            found->table = candidate->proposal.table;
            found->method = candidate->proposal.method;
            unions = lappend(unions, found);
        }
        Proposal united = *found;
        if (unite(&united, candidate->proposal))
            *found = united;
    }
    ListCell *cell;
    foreach (cell, unions)
        add_candidate(advice, *static_cast<Proposal *>(lfirst(cell)));
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

// Returns each index with its statements, those first that took the most time.
static void give_proposed(const Advice &advice, FunctionCallInfo fcinfo) {
    for (int number = 0; number < list_length(advice.candidates); number++) {
        const auto *candidate = static_cast<Candidate *>(list_nth(advice.candidates, number));
        for (int i = 0; i < advice.count; i++) {
            const Statement &statement = advice.statements[i];
            if (statement.chosen != number)
                continue;
            const Datum values[kColumns] = {CStringGetTextDatum("create"),
                                            ObjectIdGetDatum(candidate->proposal.table),
                                            CStringGetTextDatum(command_of(candidate->proposal)),
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
    }
}

static void report_what_was_left_out(const Advice &advice) {
    if (advice.failed > 0)
        ereport(NOTICE,
                (errmsg_plural("%d recorded statement could not be planned",
                               "%d recorded statements could not be planned", advice.failed, advice.failed),
                 errdetail("The first error was \"%s\".", advice.first_error),
                 errhint("Names are looked up by search_path as it is set here.")));
    if (advice.of_others > 0)
        ereport(NOTICE,
                (errmsg_plural("%d recorded statement is another role's and was left out",
                               "%d recorded statements are other roles' and were left out", advice.of_others,
                               advice.of_others),
                 errhint("Statements are planned with the privileges of who ran them. Call gpu.advise as "
                         "a superuser, or as a member of these roles.")));
}

static void read_statistics(FunctionCallInfo fcinfo, int most, Advice *advice) {
    // Statistics' names are PostgreSQL's own, whatever the caller's path has.
    const int nesting = NewGUCNestLevel();
    set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true,
                      0, false);
    if (SPI_connect() != SPI_OK_CONNECT)
        elog(ERROR, "SPI_connect failed");
    const char *recorder = find_recorder();
    if (recorder != nullptr)
        read_recorded(recorder, most, advice);
    else
        ereport(NOTICE,
                (errmsg("without pg_stat_statements only unused indexes are reported"),
                 errhint("Add pg_stat_statements to shared_preload_libraries, restart PostgreSQL, and "
                         "execute CREATE EXTENSION pg_stat_statements.")));
    give_unused(fcinfo);
    SPI_finish();
    AtEOXact_GUC(false, nesting);
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
    advice.context = CurrentMemoryContext;
    read_statistics(fcinfo, most, &advice);
    estimate_now(&advice);
    choose_with_unions(&advice);
    give_proposed(advice, fcinfo);
    report_what_was_left_out(advice);
    return Datum{0};
}
