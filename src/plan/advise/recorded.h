// What PostgreSQL has recorded: statements of pg_stat_statements, and whatever else catalogs and statistics
// tell.
#pragma once

#include "memory.h"

namespace pg_gpu::plan {

// A statement of pg_stat_statements, of all calls of one role.
struct Recorded {
    int64 id;
    const char *text;
    const char *statement;   // the same, as it can be parsed (restore_statement)
    const char *of_numbers;  // the same, if what CASE gives are numbers
    Oid user;
    int64 calls;
    double milliseconds;
    const char *search_path;  // by which its names are looked up; nullptr: as it is set
    int limit_ms;             // how long it may be planned; 0: as long as it takes
};

struct Recording {
    bool has_recorder;  // is pg_stat_statements there?
    Recorded *statements;
    int count;
    int limit_ms;  // how long all of them may be planned; 0: as long as it takes
};

// Runs `work`, which reads catalogs by SPI. Names there are PostgreSQL's own, whatever the caller's
// search_path has.
template <typename Work>
void with_catalogs(Work work) {
    const int nesting = NewGUCNestLevel();
    set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true,
                      0, false);
    if (SPI_connect() != SPI_OK_CONNECT)
        elog(ERROR, "SPI_connect failed");
    work();
    SPI_finish();
    AtEOXact_GUC(false, nesting);
}

// For such work: executes a SELECT, whose rows are then read by the functions below.
void select(const char *statement);

// Columns are numbered from 1.
inline char *text_at(int row, int column) {
    return SPI_getvalue(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, column);
}

inline Datum value_at(int row, int column) {
    bool is_null;
    return SPI_getbinval(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, column, &is_null);
}

// A recorded statement has parameters where constants were, also where a parameter can't stand or nothing is
// known of what is computed with it. Parsed, it has likely values there (restored.cpp).
Query *restore_constants(Query *query);

// Reads the SELECTs of this database that took the most time, and whose text the caller may see; to be called
// in such work. The result lies in the context.
Recording read_recorded(int most, MemoryContext context);

}  // namespace pg_gpu::plan
