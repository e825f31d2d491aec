#include "plan/advise/recorded.h"

namespace pg_gpu::plan {

void select(const char *statement) {
    // It sees what the transaction has just made.
    if (SPI_execute(statement, false, 0) != SPI_OK_SELECT)
        elog(ERROR, "cannot read statistics: %s", statement);
}

// Returns the schema of pg_stat_statements, quoted; nullptr where the extension isn't there.
static const char *find_recorder() {
    select(
        "SELECT quote_ident(nspname) FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace "
        "WHERE extname = 'pg_stat_statements'");
    return SPI_processed == 0 ? nullptr : text_at(0, 1);
}

// Of the expressions below the statement's text is made what can be parsed: `date '2026-01-01'`, which was
// recorded as `date $1`, becomes `CAST($1 AS date)`, `interval '1' day` an interval of days, and
// `extract(year FROM x)` a call of its function. A list of constants, which PostgreSQL 18 records as
// `$1 /*, ... */` whatever its length, becomes one of two.
static const char *restore_statement(const char *column) {
    constexpr char kTypes[] =
        "date|time|timestamp|timestamptz|timetz|interval|(?:time|timestamp) (?:with|without) time zone|"
        "int|integer|bigint|smallint|int[248]|numeric|decimal|dec|real|float|float[48]|double precision|"
        "bool|boolean|text|varchar|char|bpchar|name|bytea|uuid|json|jsonb|inet|cidr|macaddr|money|bit|oid|"
        "point|box|circle|line|lseg|path|polygon|tsquery|tsvector|(?:int4|int8|num|date|ts|tstz)range";
    constexpr char kFields[] = "(?:year|month|day|hour|minute|second)";
    return psprintf(
        "regexp_replace(regexp_replace(regexp_replace(regexp_replace(%s, "
        "'(\\$\\d+) /\\*, \\.\\.\\. \\*/', '\\1, \\1', 'g'), "
        "'\\minterval\\s+(\\$\\d+)\\s+(%s(?:\\s+to\\s+%s)?)\\M', 'CAST(\\1 AS interval \\2)', 'gi'), "
        "'\\m(%s)\\s+(\\$\\d+)', 'CAST(\\2 AS \\1)', 'gi'), "
        "'\\mextract\\s*\\(\\s*(\\$\\d+)\\s+from\\M', 'pg_catalog.extract(\\1,', 'gi')",
        column, kFields, kFields, kTypes);
}

// Where all that a CASE gives are parameters, nothing tells that they are no text, as in `sum(CASE … THEN $1
// ELSE $2 END)`.
static const char *take_for_numbers(const char *column) {
    return psprintf("regexp_replace(%s, '\\m(then|else)\\s+(\\$\\d+)', '\\1 CAST(\\2 AS int)', 'gi')",
                    column);
}

Recording read_recorded(int most, MemoryContext context) {
    Recording recording = {};
    const char *schema = find_recorder();
    if (schema == nullptr)
        return recording;
    recording.has_recorder = true;
    const char *statement = restore_statement("min(query)");
    select(
        psprintf("SELECT queryid, min(query), userid, sum(calls)::int8, sum(total_exec_time)::float8, %s, %s "
                 "FROM %s.pg_stat_statements "
                 "WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND queryid "
                 "IS NOT NULL "
                 "AND query ~* '^[\\s(]*(select|with|table|values|/\\*|--)' "
                 "GROUP BY queryid, userid ORDER BY 5 DESC, queryid, userid LIMIT %d",
                 statement, take_for_numbers(statement), schema, most));
    MemoryContext caller = MemoryContextSwitchTo(context);
    recording.count = static_cast<int>(SPI_processed);
    recording.statements = allocate_zeroed<Recorded>(SPI_processed + 1);
    for (int i = 0; i < recording.count; i++)
        recording.statements[i] = {DatumGetInt64(value_at(i, 1)),
                                   text_at(i, 2),
                                   text_at(i, 6),
                                   text_at(i, 7),
                                   DatumGetObjectId(value_at(i, 3)),
                                   DatumGetInt64(value_at(i, 4)),
                                   DatumGetFloat8(value_at(i, 5)),
                                   nullptr,
                                   0};
    MemoryContextSwitchTo(caller);
    return recording;
}

}  // namespace pg_gpu::plan
