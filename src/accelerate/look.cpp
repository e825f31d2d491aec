#include "accelerate/look.h"

#include "compat.h"

extern "C" {
#include "utils/varlena.h"
}

namespace pg_gpu::accelerate {

using plan::Proposal;

// Fewer than gpu.accelerate looks at, since the worker does so again and again.
static constexpr int kMaxStatements = 300;

// A table's row of gpu.auto_column_state, and what statistics say of the table.
namespace {

struct Facts {
    bool is_partitioned;
    bool is_fit;    // are all partitions tables of their own?
    int64 written;  // rows, since statistics began
    int64 scans;    // of the worker's index
    int64 bytes;    // of it
    // As the last look left it; seconds are those since then.
    const char *action;  // nullptr: it is looked at for the first time
    const char *columns;
    int64 calls;
    int64 written_before;
    double watched;  // seconds
    int64 scans_before;
    double unused;
    double since_last_look;
    bool is_deferred;
};

struct Look {
    AutoColumnsSettings settings;
    Workload workload;
    double recorded_seconds;  // in which the recorded statements ran
    int64 room;               // bytes that are left of the budget
    List *steps;
};

}  // namespace

// ---- statements -------------------------------------------------------------------------------------------

// The search_path that a role has in this database when it connects; nullptr: that of the server.
static const char *find_search_path(Oid user, MemoryContext context) {
    plan::select(psprintf(
        "SELECT substr(c, 13) FROM pg_db_role_setting s, unnest(setconfig) AS c WHERE c LIKE "
        "'search\\_path=%%' "
        "AND setrole IN (0, %u) AND setdatabase IN (0, %u) ORDER BY setrole = 0, setdatabase = 0 LIMIT 1",
        user, MyDatabaseId));
    return SPI_processed == 0 ? nullptr : MemoryContextStrdup(context, plan::text_at(0, 1));
}

// Can only superusers make anything in the schema? Who owns it may give themselves the right at any time.
// pg_database_owner stands for the database's owner, who is asked about as well.
static bool is_of_superusers(const char *schema) {
    plan::select(
        psprintf("SELECT FROM pg_namespace n WHERE nspname = %s AND NOT EXISTS (SELECT FROM pg_roles r "
                 "WHERE NOT rolsuper AND rolname <> 'pg_database_owner' "
                 "AND (has_schema_privilege(r.oid, n.oid, 'CREATE') "
                 "OR pg_has_role(r.oid, n.nspowner, 'MEMBER')))",
                 quote_literal_cstr(schema)));
    return SPI_processed > 0;
}

// Returns what a superuser's statements are planned by. Planning evaluates functions, and who owns the
// database may set the path by which a superuser's session finds them.
static const char *keep_superusers_schemas(const char *path, Oid user, MemoryContext context) {
    List *schemas;
    if (!SplitIdentifierString(pstrdup(path), ',', &schemas))
        schemas = NIL;
    StringInfoData kept;
    initStringInfo(&kept);
    appendStringInfoString(&kept, "pg_catalog");
    ListCell *cell;
    foreach (cell, schemas) {
        const auto *schema = static_cast<const char *>(lfirst(cell));
        if (strcmp(schema, "$user") == 0)
            schema = GetUserNameFromId(user, false);
        if (is_of_superusers(schema))
            appendStringInfo(&kept, ", %s", quote_identifier(schema));
    }
    return MemoryContextStrdup(context, kept.data);
}

// The search_path by which a role's statements are planned; nullptr: as it is set here.
static const char *choose_search_path(Oid user, MemoryContext context) {
    const char *own = find_search_path(user, context);
    if (!superuser_arg(user))
        return own;
    return keep_superusers_schemas(own != nullptr ? own : GetConfigOptionResetString("search_path"), user,
                                   context);
}

// As the roles would have them planned, but not for ever: functions that planning evaluates may be anybody's,
// and other databases wait for their turn.
static void prepare_statements(plan::Recording *recording, MemoryContext context) {
    constexpr int kLimitMs = 2000;
    recording->limit_ms = 60000;
    for (int i = 0; i < recording->count; i++) {
        plan::Recorded *statement = &recording->statements[i];
        statement->limit_ms = kLimitMs;
        int same = 0;
        while (recording->statements[same].user != statement->user)
            same++;
        statement->search_path =
            same < i ? recording->statements[same].search_path : choose_search_path(statement->user, context);
    }
}

static double count_recorded_seconds(const plan::Recording &recording) {
    if (!recording.has_recorder)
        return 0;
    // An extension that wasn't updated doesn't have the view.
    plan::select(
        "SELECT quote_ident(nspname) FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace "
        "JOIN pg_extension ON extnamespace = pg_namespace.oid AND extname = 'pg_stat_statements' "
        "WHERE relname = 'pg_stat_statements_info'");
    plan::select(psprintf(
        "SELECT extract(epoch FROM now() - %s)::float8",
        SPI_processed == 0
            ? "pg_postmaster_start_time()"
            : psprintf("(SELECT stats_reset FROM %s.pg_stat_statements_info)", plan::text_at(0, 1))));
    return Max(DatumGetFloat8(plan::value_at(0, 1)), 1);
}

// ---- tables -----------------------------------------------------------------------------------------------

// The indexes of a table that were made here; nullptr: there is none.
namespace {

struct MadeIndexes {
    const MadeIndex *own;     // by the worker
    const MadeIndex *former;  // by the worker, with no other columns than own, which was to be dropped
    const MadeIndex *other;   // by gpu.accelerate
};

}  // namespace

// Locks the table until the end of the look. Returns false where it is gone, or somebody is changing it.
static bool find_indexes(Oid oid, MadeIndexes *indexes) {
    *indexes = {nullptr, nullptr, nullptr};
    Relation table =
        ConditionalLockRelationOid(oid, AccessShareLock) ? try_relation_open(oid, NoLock) : nullptr;
    if (table == nullptr)
        return false;
    ListCell *cell;
    foreach (cell, find_made_indexes(table)) {
        const auto *made = static_cast<MadeIndex *>(lfirst(cell));
        if (!made->is_valid)
            continue;
        if (made->maker != Maker::Worker) {
            indexes->other = made;
        } else if (indexes->own == nullptr) {
            indexes->own = made;
        } else {
            const bool has_more = has_columns(made->columns, indexes->own->columns);
            indexes->former = has_more ? indexes->own : made;
            indexes->own = has_more ? made : indexes->own;
        }
    }
    relation_close(table, NoLock);
    return true;
}

// Returns false where the table is none that the worker makes indexes of: a temporary one, a partition, or an
// extension's.
static bool read_facts(Oid table, Oid index, Facts *facts) {
    plan::select(psprintf(
        "SELECT c.relkind = 'p', NOT EXISTS (SELECT FROM pg_partition_tree(c.oid) t JOIN pg_class p ON p.oid "
        "= t.relid "
        " WHERE t.level > 1 OR (t.level = 1 AND p.relkind <> 'r')), "
        "(SELECT coalesce(sum(n_tup_ins + n_tup_upd), 0)::int8 FROM pg_stat_all_tables "
        " WHERE relid = c.oid OR relid IN (SELECT relid FROM pg_partition_tree(c.oid))), "
        "(SELECT coalesce(sum(idx_scan), 0)::int8 FROM pg_stat_all_indexes "
        " WHERE indexrelid = %u OR indexrelid IN (SELECT relid FROM pg_partition_tree(%u))), "
        "s.action, s.columns, coalesce(s.calls, 0), coalesce(s.written, 0), "
        "coalesce(extract(epoch FROM now() - s.watched_since), 0)::float8, coalesce(s.scans, 0), "
        "coalesce(s.unused_seconds, 0), coalesce(extract(epoch FROM now() - s.looked_at), 0)::float8, "
        "coalesce(s.not_before > now(), false) "
        "FROM pg_class c LEFT JOIN gpu.auto_column_state s ON s.table_oid = c.oid "
        "WHERE c.oid = %u AND c.relkind IN ('r', 'p') AND c.relpersistence <> 't' AND NOT c.relispartition "
        "AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = c.oid AND "
        "deptype = "
        "'e')",
        index, index, table));
    if (SPI_processed == 0)
        return false;
    *facts = {DatumGetBool(plan::value_at(0, 1)),
              DatumGetBool(plan::value_at(0, 2)),
              DatumGetInt64(plan::value_at(0, 3)),
              DatumGetInt64(plan::value_at(0, 4)),
              0,
              plan::text_at(0, 5),
              plan::text_at(0, 6),
              DatumGetInt64(plan::value_at(0, 7)),
              DatumGetInt64(plan::value_at(0, 8)),
              DatumGetFloat8(plan::value_at(0, 9)),
              DatumGetInt64(plan::value_at(0, 10)),
              DatumGetFloat8(plan::value_at(0, 11)),
              DatumGetFloat8(plan::value_at(0, 12)),
              DatumGetBool(plan::value_at(0, 13))};
    if (OidIsValid(index))
        facts->bytes = measure_index(index).bytes;
    return true;
}

// ---- decisions --------------------------------------------------------------------------------------------

// A row that is inserted alone costs about so much more with an index of fifteen columns
// (bench/results/readers-and-writers).
static constexpr double kMicrosecondsARow = 10;

static bool is_seen_for_first_time(const Facts &facts) {
    return facts.action == nullptr || facts.written < facts.written_before;
}

// How long the worker's index has been unused. What nobody looked at doesn't count: the server was down, or
// the worker off.
static double count_unused(const Look &look, const Facts &facts) {
    if (facts.scans != facts.scans_before)
        return 0;
    return facts.unused + Min(facts.since_last_look, 2.0 * look.settings.interval);
}

static void decide(Decision *decision, Step step, const char *action, const char *reason) {
    decision->step = step;
    decision->action = action;
    decision->reason = reason;
}

// Of a table that statements ask for columns of, and that lacks them.
static void decide_on_missing(const Look &look, const TableDemand &demand, const Facts &facts,
                              Decision *decision) {
    const double writes_ms = is_seen_for_first_time(facts)
                                 ? 0
                                 : static_cast<double>(facts.written - facts.written_before) *
                                       kMicrosecondsARow / 1000 / Max(facts.watched, 1);
    const double saved_ms = demand.saved_milliseconds / look.recorded_seconds;
    const int64 more = decision->bytes - facts.bytes;
    if (!facts.is_fit)
        decide(decision, Step::None, "left to you",
               "a partition is partitioned itself, or a foreign table: call gpu.accelerate");
    else if (is_seen_for_first_time(facts))
        decide(decision, Step::None, "watched", "its writers are watched until the next look");
    else if (facts.action != nullptr && strcmp(facts.action, "dropped") == 0 &&
             facts.calls >= demand.all.calls)
        decide(decision, Step::None, "dropped", "no statement has asked for it since it was dropped");
    else if (more > look.room)
        decide(decision, Step::None, "too large",
               psprintf("it would take %lld kB more, and pg_gpu.auto_columns_space leaves %lld kB",
                        static_cast<long long>(more / 1024), static_cast<long long>(look.room / 1024)));
    else if (writes_ms > look.settings.write_share * saved_ms)
        decide(decision, Step::None, "too dear",
               psprintf("writers would pay %.3f ms a second, and statements save %.3f", writes_ms, saved_ms));
    else
        decide(decision, OidIsValid(decision->former) ? Step::Replace : Step::Create, "advised",
               psprintf("%lld calls took %.0f ms, of which it would save %.0f",
                        static_cast<long long>(demand.all.calls), demand.all.milliseconds,
                        demand.saved_milliseconds));
}

static void decide_on_table(Look *look, Oid table, const TableDemand *demand, const MadeIndexes &indexes,
                            const Facts &facts, Decision *decision) {
    const MadeIndex *own = indexes.own;
    const MadeIndex *other = indexes.other;
    *decision = {};
    decision->table = decision->index.table = table;
    decision->is_partitioned = facts.is_partitioned;
    if (own != nullptr) {
        decision->former = own->index;
        decision->index = own->columns;
        decision->bytes = facts.bytes;
    }
    if (demand != nullptr)
        decision->demand = demand->all;
    if (indexes.former != nullptr && has_columns(own->columns, indexes.former->columns)) {
        decision->former = indexes.former->index;
        decide(decision, Step::DropFormer, "made", "it replaced one that has fewer columns");
    } else if (own != nullptr && count_unused(*look, facts) >= look->settings.unused) {
        decide(decision, Step::Drop, "unused", "no statement has used it for pg_gpu.auto_columns_unused");
    } else if (demand == nullptr) {
        if (own != nullptr)
            decide(decision, Step::None, "made", "no recorded statement asks for it any more");
    } else if (own != nullptr && has_columns(own->columns, demand->index)) {
        decide(decision, Step::None, "made", "it has all columns that statements ask for");
    } else if (other != nullptr) {
        decision->index = demand->index;
        decide(decision, Step::None, "left to you",
               has_columns(other->columns, demand->index)
                   ? "gpu.accelerate made an index that has all columns"
                   : "gpu.accelerate made an index that lacks columns: call it again");
    } else {
        Proposal wanted = demand->index;
        if (own != nullptr)
            plan::unite(&wanted, own->columns);
        decision->index = wanted;
        decision->bytes = expect_bytes(wanted);
        decide_on_missing(*look, *demand, facts, decision);
    }
    // Drops wait as well. Until then others have the room.
    if (decision->step != Step::None && facts.is_deferred)
        decide(decision, Step::None, "failed", nullptr);
    if (decision->step != Step::None)
        look->room -= Max(decision->bytes - facts.bytes, 0);
}

// ---- gpu.auto_column_state --------------------------------------------------------------------------------

static void change(const char *statement) {
    const int result = SPI_execute(statement, false, 0);
    if (result != SPI_OK_INSERT && result != SPI_OK_UPDATE && result != SPI_OK_DELETE)
        elog(ERROR, "cannot write down: %s", statement);
}

static void write_down(const Look &look, const Decision &decision, const Facts &facts) {
    constexpr double kWatchedAtMost = 24 * 60 * 60;
    const bool begins_watch = is_seen_for_first_time(facts) || facts.watched > kWatchedAtMost;
    const double unused = OidIsValid(decision.former) ? count_unused(look, facts) : 0;
    change(psprintf(
        "INSERT INTO gpu.auto_column_state AS s (table_oid, action, reason, columns, calls, milliseconds, "
        "bytes, "
        "decided_at, written, watched_since, scans, unused_seconds, looked_at) "
        "VALUES (%u, %s, %s, %s, %lld, %.17g, %lld, now(), %lld, now(), %lld, %.17g, now()) "
        "ON CONFLICT (table_oid) DO UPDATE SET action = excluded.action, "
        "reason = coalesce(excluded.reason, s.reason), columns = excluded.columns, calls = excluded.calls, "
        "milliseconds = excluded.milliseconds, bytes = excluded.bytes, "
        "decided_at = CASE WHEN s.action = excluded.action AND s.columns = excluded.columns THEN "
        "s.decided_at "
        "ELSE now() END, written = CASE WHEN %s THEN excluded.written ELSE s.written END, "
        "watched_since = CASE WHEN %s THEN now() ELSE s.watched_since END, scans = excluded.scans, "
        "unused_seconds = excluded.unused_seconds, looked_at = now()",
        decision.table, quote_literal_cstr(decision.action),
        decision.reason == nullptr ? "NULL" : quote_literal_cstr(decision.reason),
        quote_literal_cstr(list_columns(decision.index)), static_cast<long long>(decision.demand.calls),
        decision.demand.milliseconds, static_cast<long long>(decision.bytes),
        static_cast<long long>(facts.written), static_cast<long long>(facts.scans), unused,
        begins_watch ? "true" : "false", begins_watch ? "true" : "false"));
}

void note_outcome(const Decision &decision, const char *action, const char *reason) {
    plan::with_catalogs([&] {
        change(psprintf(
            "UPDATE gpu.auto_column_state SET action = %s, reason = %s, decided_at = now(), failures = 0, "
            "not_before = NULL, scans = 0, unused_seconds = 0 WHERE table_oid = %u",
            quote_literal_cstr(action), quote_literal_cstr(reason), decision.table));
    });
}

void note_failure(const Decision &decision, const char *error) {
    plan::with_catalogs([&] {
        change(
            psprintf("UPDATE gpu.auto_column_state SET action = 'failed', reason = %s, decided_at = now(), "
                     "failures = failures + 1, not_before = now() + least(interval '1 day', "
                     "%d * interval '1 second' * 2 ^ least(failures, 16)) WHERE table_oid = %u",
                     quote_literal_cstr(error), auto_columns().interval, decision.table));
    });
}

// ---- the look ---------------------------------------------------------------------------------------------

// Says once what isn't done, since gpu.auto_columns shows it.
static void report(const Decision &decision, const Facts &facts) {
    const char *columns = list_columns(decision.index);
    if (decision.reason == nullptr ||
        (facts.action != nullptr && strcmp(facts.action, decision.action) == 0 &&
         strcmp(facts.columns, columns) == 0))
        return;
    ereport(LOG, (errmsg("pg_gpu columns of table %s: %s", name_of(decision.table), decision.action),
                  errdetail("Columns: %s. Reason: %s.", columns, decision.reason)));
}

// Tables with a demand, with an index of the worker's, or that were written down, each once.
static List *list_tables(const Workload &workload, MemoryContext context) {
    List *tables = NIL;
    plan::select(
        "SELECT table_oid FROM gpu.auto_column_state UNION SELECT i.indrelid FROM pg_class c "
        "JOIN pg_index i ON i.indexrelid = c.oid JOIN pg_am a ON a.oid = c.relam "
        "WHERE a.amname = 'gpu_column' AND 'made_by=worker' = ANY (c.reloptions) AND NOT c.relispartition");
    MemoryContext caller = MemoryContextSwitchTo(context);
    ListCell *cell;
    // Those first that save most.
    foreach (cell, workload.demands)
        tables = lappend_oid(tables, static_cast<TableDemand *>(lfirst(cell))->index.table);
    for (int i = 0; i < static_cast<int>(SPI_processed); i++)
        tables = list_append_unique_oid(tables, DatumGetObjectId(plan::value_at(i, 1)));
    MemoryContextSwitchTo(caller);
    return tables;
}

static int64 measure_own_indexes() {
    plan::select(
        "SELECT coalesce(sum(pg_relation_size(c.oid)), 0)::int8 FROM pg_class c JOIN pg_am a ON a.oid = "
        "c.relam "
        "WHERE a.amname = 'gpu_column' AND c.relkind = 'i' AND 'made_by=worker' = ANY (c.reloptions)");
    return DatumGetInt64(plan::value_at(0, 1));
}

static void look_at_table(Look *look, Oid table, MemoryContext context) {
    MadeIndexes indexes;
    const TableDemand *demand = find_demand(look->workload, table);
    if (!find_indexes(table, &indexes) || (demand == nullptr && indexes.own == nullptr))
        return;
    Facts facts;
    if (!read_facts(table, indexes.own != nullptr ? indexes.own->index : InvalidOid, &facts))
        return;
    Decision decision;
    decide_on_table(look, table, demand, indexes, facts, &decision);
    if (decision.action == nullptr)
        return;
    report(decision, facts);
    write_down(*look, decision, facts);
    if (decision.step == Step::None)
        return;
    MemoryContext caller = MemoryContextSwitchTo(context);
    auto *kept = allocate<Decision>(1);
    *kept = decision;
    kept->reason = pstrdup(decision.reason);
    look->steps = lappend(look->steps, kept);
    MemoryContextSwitchTo(caller);
}

static int compare_savings(const ListCell *left, const ListCell *right) {
    const double first = static_cast<TableDemand *>(lfirst(left))->saved_milliseconds;
    const double second = static_cast<TableDemand *>(lfirst(right))->saved_milliseconds;
    return first > second ? -1 : first < second ? 1 : 0;
}

List *look_at_tables(const AutoColumnsSettings &settings) {
    MemoryContext context = CurrentMemoryContext;
    Look look = {settings, {}, 0, 0, NIL};
    plan::Recording recording;
    plan::with_catalogs([&] {
        recording = plan::read_recorded(kMaxStatements, context);
        prepare_statements(&recording, context);
        look.recorded_seconds = count_recorded_seconds(recording);
    });
    look.workload = find_demands(recording, InvalidOid);
    list_sort(look.workload.demands, compare_savings);
    plan::with_catalogs([&] {
        look.room = settings.space - measure_own_indexes();
        ListCell *cell;
        foreach (cell, list_tables(look.workload, context))
            look_at_table(&look, lfirst_oid(cell), context);
        // What was dropped stays, or it would be made again for statements of long ago.
        change(
            "DELETE FROM gpu.auto_column_state s WHERE NOT EXISTS (SELECT FROM pg_class WHERE oid = "
            "s.table_oid) "
            "OR (s.action <> 'dropped' AND s.looked_at < now())");
    });
    return look.steps;
}

List *list_leftovers() {
    MemoryContext context = CurrentMemoryContext;
    List *leftovers = NIL;
    plan::with_catalogs([&] {
        plan::select(
            "SELECT i.indrelid, c.relkind = 'I', format('DROP INDEX %sIF EXISTS %I.%I', "
            "CASE WHEN c.relkind = 'i' THEN 'CONCURRENTLY ' END, n.nspname, c.relname) "
            "FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid JOIN pg_am a ON a.oid = c.relam "
            "JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_class t ON t.oid = i.indrelid "
            "WHERE a.amname = 'gpu_column' AND 'made_by=worker' = ANY (c.reloptions) AND NOT "
            "c.relispartition "
            "AND (NOT i.indisvalid OR (t.relispartition AND EXISTS ("
            " SELECT FROM pg_partition_ancestors(t.oid) a JOIN pg_index ai ON ai.indrelid = a.relid "
            " JOIN pg_class ac ON ac.oid = ai.indexrelid WHERE a.relid <> t.oid AND ac.relam = c.relam "
            " AND 'made_by=worker' = ANY (ac.reloptions)))) ORDER BY c.relkind DESC");
        MemoryContext caller = MemoryContextSwitchTo(context);
        for (int i = 0; i < static_cast<int>(SPI_processed); i++) {
            auto *leftover = allocate<Leftover>(1);
            *leftover = {DatumGetObjectId(plan::value_at(i, 1)), DatumGetBool(plan::value_at(i, 2)),
                         plan::text_at(i, 3)};
            leftovers = lappend(leftovers, leftover);
        }
        MemoryContextSwitchTo(caller);
    });
    return leftovers;
}

}  // namespace pg_gpu::accelerate
