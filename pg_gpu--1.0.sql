-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION pg_gpu" to load this file. \quit

CREATE SCHEMA gpu;
COMMENT ON SCHEMA gpu IS 'pg_gpu: index access methods and analytics on the GPU';
GRANT USAGE ON SCHEMA gpu TO PUBLIC;

-- functions

CREATE FUNCTION gpu.runs(index regclass, OUT run_id bigint, OUT level int, OUT entries bigint, OUT dead bigint,
                         OUT pages bigint, OUT bytes bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_gpu_runs'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED COST 100 ROWS 10;
COMMENT ON FUNCTION gpu.runs(regclass) IS 'the runs of a pg_gpu index';

CREATE FUNCTION gpu.merge(index regclass, OUT step text, OUT column_name name, OUT entries bigint, OUT bytes bigint,
                          OUT milliseconds float8, OUT path text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_gpu_merge'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 10;
COMMENT ON FUNCTION gpu.merge(regclass) IS 'merges all runs of a pg_gpu index into one, now';

CREATE FUNCTION gpu.verify(index regclass, heap bool DEFAULT true, OUT block bigint, OUT tid tid, OUT problem text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_gpu_verify'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED COST 1000000 ROWS 10;
REVOKE EXECUTE ON FUNCTION gpu.verify(regclass, bool) FROM PUBLIC;
COMMENT ON FUNCTION gpu.verify(regclass, bool) IS 'checks a pg_gpu index, and that its table''s rows are in it; no rows when sound';

CREATE FUNCTION gpu.lookup(index regclass, keys anyarray, OUT ordinal bigint, OUT tid tid)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_gpu_lookup'
LANGUAGE C STRICT STABLE PARALLEL RESTRICTED COST 1000 ROWS 1000;
COMMENT ON FUNCTION gpu.lookup(regclass, anyarray) IS 'visible rows with one of the keys: position in keys, and tid';

CREATE FUNCTION gpu.count(index regclass, low anyarray, high anyarray)
RETURNS bigint
AS 'MODULE_PATHNAME', 'pg_gpu_count_array'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000;
COMMENT ON FUNCTION gpu.count(regclass, anyarray, anyarray) IS 'visible rows with keys between two bounds, both inclusive; NULL is open';

CREATE FUNCTION gpu.count(index regclass, low record, high record)
RETURNS bigint
AS 'MODULE_PATHNAME', 'pg_gpu_count_record'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000;
COMMENT ON FUNCTION gpu.count(regclass, record, record) IS 'visible rows with keys between two bounds, both inclusive; NULL is open';

CREATE FUNCTION gpu.count_batch(index regclass, low anyarray, high anyarray, OUT ordinal bigint, OUT count bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_gpu_count_batch'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000;
COMMENT ON FUNCTION gpu.count_batch(regclass, anyarray, anyarray) IS 'gpu.count for each row of two-dimensional arrays';

CREATE FUNCTION gpu.devices(OUT device int, OUT name text, OUT compute_capability text, OUT memory_total bigint,
                            OUT memory_free bigint, OUT engine text, OUT uuid text, OUT pci_id text, OUT memory_limit bigint,
                            OUT memory_used bigint, OUT state text, OUT reason text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_gpu_devices'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED COST 1000 ROWS 1;
COMMENT ON FUNCTION gpu.devices() IS 'the devices the server process computes on, or why it does not';

CREATE FUNCTION gpu.load(index regclass, pinned bool DEFAULT false)
RETURNS bigint
AS 'MODULE_PATHNAME', 'pg_gpu_load'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION gpu.load(regclass, bool) IS 'makes the mirrors of an index resident; the bytes they take';

CREATE FUNCTION gpu.evict(index regclass)
RETURNS bigint
AS 'MODULE_PATHNAME', 'pg_gpu_evict'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION gpu.evict(regclass) IS 'drops the mirrors of an index; the bytes they took';

CREATE FUNCTION gpu.evict_run(run_id bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'pg_gpu_evict_run'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION gpu.evict_run(bigint) IS 'drops the mirror of a run as gpu.mirrors numbers it; the bytes it took';

CREATE FUNCTION gpu.evict_database(database name DEFAULT current_database())
RETURNS bigint
AS 'MODULE_PATHNAME', 'pg_gpu_evict_database'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION gpu.evict_database(name) IS 'drops the mirrors of all indexes of a database; the bytes they took';

CREATE FUNCTION gpu.evict_all()
RETURNS bigint
AS 'MODULE_PATHNAME', 'pg_gpu_evict_all'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION gpu.evict_all() IS 'drops all mirrors of the server process; the bytes they took';

CREATE FUNCTION gpu.explain_why(query text, OUT node text, OUT candidate text, OUT used bool, OUT reason text, OUT cost float8, OUT other_cost float8)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_gpu_explain_why'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE COST 10000 ROWS 3;
COMMENT ON FUNCTION gpu.explain_why(text) IS 'plans a SELECT and tells which of our nodes it could have had, and why it has them or not';

CREATE FUNCTION gpu.advise(statements int DEFAULT 200, OUT advice text, OUT table_name regclass, OUT command text, OUT queryid bigint,
                           OUT query text, OUT calls bigint, OUT milliseconds float8, OUT cost float8, OUT cost_with float8,
                           OUT bytes bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_gpu_advise'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 10;
COMMENT ON FUNCTION gpu.advise(int) IS 'indexes of ours that would make recorded statements cheaper, and those that nobody uses';

CREATE FUNCTION gpu.accelerate(table_name regclass, columns name[] DEFAULT NULL, apply bool DEFAULT true, statements int DEFAULT 1000,
                               OUT index_name regclass, OUT column_name name, OUT reason text, OUT calls bigint, OUT milliseconds float8,
                               OUT bytes bigint, OUT write_microseconds float8)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_gpu_accelerate'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 20;
COMMENT ON FUNCTION gpu.accelerate(regclass, name[], bool, int) IS 'makes the gpu_column index that a table''s statements ask for, or only tells';

CREATE FUNCTION gpu.decelerate(table_name regclass, OUT index_name text, OUT bytes bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_gpu_decelerate'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE COST 1000 ROWS 1;
COMMENT ON FUNCTION gpu.decelerate(regclass) IS 'drops a table''s indexes that gpu.accelerate or its worker made';

CREATE FUNCTION gpu.stat_reset()
RETURNS void
AS 'MODULE_PATHNAME', 'pg_gpu_stat_reset'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED COST 1000;
COMMENT ON FUNCTION gpu.stat_reset() IS 'sets the counters of the session''s user to zero, and for superusers everybody''s';

CREATE FUNCTION gpu.search(index regclass, query tsquery, k int DEFAULT 10, mode text DEFAULT 'and_or', OUT tid tid, OUT score real)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_gpu_search'
LANGUAGE C STRICT STABLE PARALLEL RESTRICTED COST 1000 ROWS 10;
COMMENT ON FUNCTION gpu.search(regclass, tsquery, int, text) IS 'the k visible rows that match best, by BM25';

CREATE FUNCTION gpu.search_batch(index regclass, queries tsquery[], k int DEFAULT 10, mode text DEFAULT 'and_or',
                                 OUT ordinal bigint, OUT tid tid, OUT score real)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_gpu_search_batch'
LANGUAGE C STRICT STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000;
COMMENT ON FUNCTION gpu.search_batch(regclass, tsquery[], int, text) IS 'gpu.search for each of several queries';

CREATE FUNCTION gpu.intersect(index regclass, lexemes text[])
RETURNS SETOF tid
AS 'MODULE_PATHNAME', 'pg_gpu_intersect'
LANGUAGE C STRICT STABLE PARALLEL RESTRICTED COST 1000 ROWS 1000;
COMMENT ON FUNCTION gpu.intersect(regclass, text[]) IS 'visible rows that have all of the lexemes';

CREATE FUNCTION gpu.count(index regclass, filter text)
RETURNS bigint
AS 'MODULE_PATHNAME', 'pg_gpu_count_filter'
LANGUAGE C STRICT STABLE PARALLEL RESTRICTED COST 10000;
COMMENT ON FUNCTION gpu.count(regclass, text) IS 'visible rows that match a filter on the columns of a gpu_column index';

-- Variadic functions have no named arguments, so those with a filter come in two: without values for its $1 and so on, and with them.
CREATE FUNCTION gpu.count(index regclass, filter text, VARIADIC params "any")
RETURNS bigint
AS 'MODULE_PATHNAME', 'pg_gpu_count_filter'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000;
COMMENT ON FUNCTION gpu.count(regclass, text, "any") IS 'gpu.count by a filter with parameters';

CREATE FUNCTION gpu.columns(index regclass, OUT column_name name, OUT encoding text, OUT distinct_values bigint, OUT bits int,
                            OUT bytes bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_gpu_columns'
LANGUAGE C STRICT STABLE PARALLEL RESTRICTED COST 10000 ROWS 10;
COMMENT ON FUNCTION gpu.columns(regclass) IS 'the columns of a gpu_column index and how they are kept';

CREATE FUNCTION gpu.summary(index regclass, column_name name, filter text DEFAULT NULL,
                            OUT count bigint, OUT nulls bigint, OUT distinct_values bigint,
                            OUT minimum text, OUT maximum text, OUT sum numeric, OUT mean float8)
RETURNS record
AS 'MODULE_PATHNAME', 'pg_gpu_summary'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000;
COMMENT ON FUNCTION gpu.summary(regclass, name, text) IS 'a column''s visible values in one row';

CREATE FUNCTION gpu.summary(index regclass, column_name name, filter text, VARIADIC params "any",
                            OUT count bigint, OUT nulls bigint, OUT distinct_values bigint,
                            OUT minimum text, OUT maximum text, OUT sum numeric, OUT mean float8)
RETURNS record
AS 'MODULE_PATHNAME', 'pg_gpu_summary'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000;
COMMENT ON FUNCTION gpu.summary(regclass, name, text, "any") IS 'gpu.summary by a filter with parameters';

CREATE FUNCTION gpu.dictionary(index regclass, column_name name, filter text DEFAULT NULL, OUT value text, OUT count bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_gpu_dictionary'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000;
COMMENT ON FUNCTION gpu.dictionary(regclass, name, text) IS 'a column''s visible values, and how many rows have each';

CREATE FUNCTION gpu.dictionary(index regclass, column_name name, filter text, VARIADIC params "any", OUT value text, OUT count bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_gpu_dictionary'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000;
COMMENT ON FUNCTION gpu.dictionary(regclass, name, text, "any") IS 'gpu.dictionary by a filter with parameters';

CREATE FUNCTION gpu.histogram(index regclass, column_name name, bins int DEFAULT 256, low float8 DEFAULT NULL,
                              high float8 DEFAULT NULL, filter text DEFAULT NULL,
                              OUT bin int, OUT lower float8, OUT upper float8, OUT count bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_gpu_histogram'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 260;
COMMENT ON FUNCTION gpu.histogram(regclass, name, int, float8, float8, text) IS 'visible rows by equal-width bins of a column''s values';

CREATE FUNCTION gpu.histogram(index regclass, column_name name, bins int, low float8, high float8, filter text, VARIADIC params "any",
                              OUT bin int, OUT lower float8, OUT upper float8, OUT count bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_gpu_histogram'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 260;
COMMENT ON FUNCTION gpu.histogram(regclass, name, int, float8, float8, text, "any") IS 'gpu.histogram by a filter with parameters';

CREATE FUNCTION gpu.byte_histogram(image bytea)
RETURNS bigint[]
AS 'MODULE_PATHNAME', 'pg_gpu_byte_histogram'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION gpu.byte_histogram(bytea) IS 'how often each of the 256 bytes occurs';

CREATE FUNCTION gpu.byte_histogram(images bytea[], OUT ordinal bigint, OUT counts bigint[])
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_gpu_byte_histograms'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 1000 ROWS 100;
COMMENT ON FUNCTION gpu.byte_histogram(bytea[]) IS 'gpu.byte_histogram for each of several images';

-- private functions

CREATE FUNCTION gpu.mirror_rows(OUT index_name regclass, OUT run_id bigint, OUT kind text, OUT entries bigint,
                                OUT bytes bigint, OUT device int, OUT part int, OUT parts int, OUT pinned bool,
                                OUT loaded_at timestamptz, OUT last_used timestamptz, OUT hits bigint, OUT path text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_gpu_mirror_rows'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED COST 1000 ROWS 100;
COMMENT ON FUNCTION gpu.mirror_rows() IS 'the rows of gpu.mirrors';

CREATE FUNCTION gpu.stat_rows(OUT path text, OUT request text, OUT requests bigint, OUT items bigint, OUT bytes bigint,
                              OUT milliseconds float8, OUT fallbacks bigint, OUT last_reason text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_gpu_stat_rows'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED COST 1000 ROWS 50;
COMMENT ON FUNCTION gpu.stat_rows() IS 'the rows of gpu.stat';

CREATE FUNCTION gpu.latency_rows(OUT path text, OUT request text, OUT up_to_ms float8, OUT requests bigint, OUT all_up_to bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_gpu_latency_rows'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED COST 1000 ROWS 100;
COMMENT ON FUNCTION gpu.latency_rows() IS 'the rows of gpu.latency';

CREATE FUNCTION gpu.progress_rows(OUT pid int, OUT datname name, OUT usename name, OUT command text, OUT index_name regclass, OUT phase text,
                                  OUT tuples_done bigint, OUT tuples_total bigint, OUT started timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_gpu_progress_rows'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED COST 1000 ROWS 5;
COMMENT ON FUNCTION gpu.progress_rows() IS 'the rows of gpu.progress';

CREATE FUNCTION gpu.index_rows(OUT index_name regclass, OUT table_name regclass, OUT method text, OUT state text, OUT problem text,
                               OUT bytes bigint, OUT runs int, OUT entries bigint, OUT dead_share float8, OUT resident_share float8,
                               OUT merges bigint, OUT last_merge timestamptz, OUT merges_deferred bigint, OUT last_deferred timestamptz,
                               OUT fallbacks bigint, OUT last_fallback timestamptz, OUT last_reason text, OUT reasons text[],
                               OUT reason_counts bigint[])
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_gpu_index_rows'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE COST 10000 ROWS 20;
COMMENT ON FUNCTION gpu.index_rows() IS 'the rows of gpu.indexes';

CREATE FUNCTION gpu.server_row(OUT pid int, OUT started timestamptz, OUT version text, OUT state text, OUT reason text,
                               OUT host text, OUT cuda text, OUT cuda_reason text,
                               OUT host_memory_used bigint, OUT host_memory_limit bigint,
                               OUT device_memory_used bigint, OUT device_memory_limit bigint,
                               OUT transfer_memory_used bigint, OUT transfer_memory_limit bigint,
                               OUT connections int, OUT queued int, OUT loads bigint, OUT evictions bigint, OUT refusals bigint,
                               OUT turned_away bigint, OUT restarts bigint, OUT last_error text, OUT last_error_at timestamptz)
RETURNS record
AS 'MODULE_PATHNAME', 'pg_gpu_server_row'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED COST 1000;
COMMENT ON FUNCTION gpu.server_row() IS 'the row of gpu.server';

CREATE FUNCTION gpu.gpu_kary_handler(internal)
RETURNS index_am_handler
AS 'MODULE_PATHNAME', 'pg_gpu_kary_handler'
LANGUAGE C;
COMMENT ON FUNCTION gpu.gpu_kary_handler(internal) IS 'gpu_kary index access method handler';

CREATE FUNCTION gpu.gpu_text_handler(internal)
RETURNS index_am_handler
AS 'MODULE_PATHNAME', 'pg_gpu_text_handler'
LANGUAGE C;
COMMENT ON FUNCTION gpu.gpu_text_handler(internal) IS 'gpu_text index access method handler';

-- ranked queries

CREATE TYPE gpu.bm25_query;

CREATE FUNCTION gpu.bm25_query_in(cstring)
RETURNS gpu.bm25_query
AS 'MODULE_PATHNAME', 'pg_gpu_bm25_query_in'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION gpu.bm25_query_in(cstring) IS 'I/O';

CREATE FUNCTION gpu.bm25_query_out(gpu.bm25_query)
RETURNS cstring
AS 'MODULE_PATHNAME', 'pg_gpu_bm25_query_out'
LANGUAGE C STRICT STABLE PARALLEL SAFE;
COMMENT ON FUNCTION gpu.bm25_query_out(gpu.bm25_query) IS 'I/O';

CREATE TYPE gpu.bm25_query (
    INPUT = gpu.bm25_query_in,
    OUTPUT = gpu.bm25_query_out,
    INTERNALLENGTH = VARIABLE,
    ALIGNMENT = double,
    STORAGE = plain
);
COMMENT ON TYPE gpu.bm25_query IS 'a tsquery with an index''s statistics, to rank by';

CREATE FUNCTION gpu.query(index regclass, query tsquery)
RETURNS gpu.bm25_query
AS 'MODULE_PATHNAME', 'pg_gpu_query'
LANGUAGE C STRICT STABLE PARALLEL RESTRICTED COST 1000;
COMMENT ON FUNCTION gpu.query(regclass, tsquery) IS 'what rows are ranked by, in ORDER BY ... <=> gpu.query(...)';

CREATE FUNCTION gpu.bm25_distance(tsvector, gpu.bm25_query)
RETURNS real
AS 'MODULE_PATHNAME', 'pg_gpu_bm25_distance'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 10;
COMMENT ON FUNCTION gpu.bm25_distance(tsvector, gpu.bm25_query) IS 'implementation of <=> operator';

CREATE OPERATOR gpu.<=> (
    FUNCTION = gpu.bm25_distance,
    LEFTARG = tsvector,
    RIGHTARG = gpu.bm25_query
);
COMMENT ON OPERATOR gpu.<=> (tsvector, gpu.bm25_query) IS 'minus the BM25 score; 0 without a match';

-- text search configurations for text without spaces and for parts of words: all strings of two or three characters

CREATE FUNCTION gpu.begin_bigrams(internal, int)
RETURNS internal
AS 'MODULE_PATHNAME', 'pg_gpu_begin_bigrams'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION gpu.begin_bigrams(internal, int) IS 'start of parser gpu.bigrams';

CREATE FUNCTION gpu.begin_trigrams(internal, int)
RETURNS internal
AS 'MODULE_PATHNAME', 'pg_gpu_begin_trigrams'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION gpu.begin_trigrams(internal, int) IS 'start of parser gpu.trigrams';

CREATE FUNCTION gpu.next_gram(internal, internal, internal)
RETURNS internal
AS 'MODULE_PATHNAME', 'pg_gpu_next_gram'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION gpu.next_gram(internal, internal, internal) IS 'next token of parsers gpu.bigrams and gpu.trigrams';

CREATE FUNCTION gpu.end_grams(internal)
RETURNS void
AS 'MODULE_PATHNAME', 'pg_gpu_end_grams'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION gpu.end_grams(internal) IS 'end of parsers gpu.bigrams and gpu.trigrams';

CREATE FUNCTION gpu.gram_types(internal)
RETURNS internal
AS 'MODULE_PATHNAME', 'pg_gpu_gram_types'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION gpu.gram_types(internal) IS 'token types of parsers gpu.bigrams and gpu.trigrams';

CREATE FUNCTION gpu.last_gram_lexemes(internal, internal, internal, internal)
RETURNS internal
AS 'MODULE_PATHNAME', 'pg_gpu_last_gram_lexemes'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION gpu.last_gram_lexemes(internal, internal, internal, internal) IS 'lexemes of dictionary gpu.last_gram';

CREATE FUNCTION gpu.short_word_lexemes(internal, internal, internal, internal)
RETURNS internal
AS 'MODULE_PATHNAME', 'pg_gpu_short_word_lexemes'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION gpu.short_word_lexemes(internal, internal, internal, internal) IS 'lexemes of dictionary gpu.short_word';

CREATE TEXT SEARCH PARSER gpu.bigrams (START = gpu.begin_bigrams, GETTOKEN = gpu.next_gram, END = gpu.end_grams, LEXTYPES = gpu.gram_types);
COMMENT ON TEXT SEARCH PARSER gpu.bigrams IS 'all strings of two characters within words';

CREATE TEXT SEARCH PARSER gpu.trigrams (START = gpu.begin_trigrams, GETTOKEN = gpu.next_gram, END = gpu.end_grams, LEXTYPES = gpu.gram_types);
COMMENT ON TEXT SEARCH PARSER gpu.trigrams IS 'all strings of three characters within words';

CREATE TEXT SEARCH TEMPLATE gpu.last_gram (LEXIZE = gpu.last_gram_lexemes);
COMMENT ON TEXT SEARCH TEMPLATE gpu.last_gram IS 'what a word ends with';

CREATE TEXT SEARCH TEMPLATE gpu.short_word (LEXIZE = gpu.short_word_lexemes);
COMMENT ON TEXT SEARCH TEMPLATE gpu.short_word IS 'a word that is shorter than a string, or the beginning of one';

CREATE TEXT SEARCH DICTIONARY gpu.last_gram (TEMPLATE = gpu.last_gram);
COMMENT ON TEXT SEARCH DICTIONARY gpu.last_gram IS 'what a word ends with';

CREATE TEXT SEARCH DICTIONARY gpu.short_word (TEMPLATE = gpu.short_word);
COMMENT ON TEXT SEARCH DICTIONARY gpu.short_word IS 'a word that is shorter than a string, or the beginning of one';

CREATE TEXT SEARCH CONFIGURATION gpu.bigrams (PARSER = gpu.bigrams);
ALTER TEXT SEARCH CONFIGURATION gpu.bigrams ADD MAPPING FOR gram WITH pg_catalog.simple;
ALTER TEXT SEARCH CONFIGURATION gpu.bigrams ADD MAPPING FOR last_gram WITH gpu.last_gram;
ALTER TEXT SEARCH CONFIGURATION gpu.bigrams ADD MAPPING FOR short_word WITH gpu.short_word;
COMMENT ON TEXT SEARCH CONFIGURATION gpu.bigrams IS 'text without spaces, and parts of words, by two characters';

CREATE TEXT SEARCH CONFIGURATION gpu.trigrams (PARSER = gpu.trigrams);
ALTER TEXT SEARCH CONFIGURATION gpu.trigrams ADD MAPPING FOR gram WITH pg_catalog.simple;
ALTER TEXT SEARCH CONFIGURATION gpu.trigrams ADD MAPPING FOR last_gram WITH gpu.last_gram;
ALTER TEXT SEARCH CONFIGURATION gpu.trigrams ADD MAPPING FOR short_word WITH gpu.short_word;
COMMENT ON TEXT SEARCH CONFIGURATION gpu.trigrams IS 'text without spaces, and parts of words, by three characters';

-- text as people type it: text, jsonb and text[] are searched by words of a text search configuration, which takes some 10 to 100 us a row. The operators lie in
-- pg_catalog, so they need no search path.

CREATE FUNCTION gpu.typed_support(internal)
RETURNS internal
AS 'MODULE_PATHNAME', 'pg_gpu_typed_support'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION gpu.typed_support(internal) IS 'planner support for @@@ and <@>';

CREATE FUNCTION gpu.match_selectivity(internal, oid, internal, integer)
RETURNS float8
AS 'MODULE_PATHNAME', 'pg_gpu_match_selectivity'
LANGUAGE C STRICT STABLE PARALLEL SAFE;
COMMENT ON FUNCTION gpu.match_selectivity(internal, oid, internal, integer) IS 'restriction selectivity of @@@';

CREATE FUNCTION gpu.ranking_query(index regclass, query text)
RETURNS gpu.bm25_query
AS 'MODULE_PATHNAME', 'pg_gpu_ranking_query'
LANGUAGE C STRICT STABLE PARALLEL RESTRICTED COST 1000;
COMMENT ON FUNCTION gpu.ranking_query(regclass, text) IS 'what was typed, with an index''s configuration and statistics';

CREATE FUNCTION gpu.ranking_query(index regclass, query tsquery)
RETURNS gpu.bm25_query
AS 'MODULE_PATHNAME', 'pg_gpu_ranking_query'
LANGUAGE C STRICT STABLE PARALLEL RESTRICTED COST 1000;
COMMENT ON FUNCTION gpu.ranking_query(regclass, tsquery) IS 'a query, with an index''s configuration and statistics';

CREATE FUNCTION gpu.matching_query(index regclass, query text)
RETURNS gpu.bm25_query
AS 'MODULE_PATHNAME', 'pg_gpu_matching_query'
LANGUAGE C STRICT STABLE PARALLEL SAFE COST 10;
COMMENT ON FUNCTION gpu.matching_query(regclass, text) IS 'what was typed, with an index''s configuration';

CREATE FUNCTION gpu.matching_query(index regclass, query tsquery)
RETURNS gpu.bm25_query
AS 'MODULE_PATHNAME', 'pg_gpu_matching_query'
LANGUAGE C STRICT STABLE PARALLEL SAFE COST 10;
COMMENT ON FUNCTION gpu.matching_query(regclass, tsquery) IS 'a query, with an index''s configuration';

CREATE FUNCTION gpu.fuzzy_query(index regclass, query text, distance int DEFAULT 1)
RETURNS tsquery
AS 'MODULE_PATHNAME', 'pg_gpu_fuzzy_query'
LANGUAGE C STRICT STABLE PARALLEL RESTRICTED COST 10000;
COMMENT ON FUNCTION gpu.fuzzy_query(regclass, text, int) IS 'what was typed, with an index''s words that are written nearly alike';

CREATE FUNCTION gpu.fuzzy_query(index regclass, query tsquery, distance int DEFAULT 1)
RETURNS tsquery
AS 'MODULE_PATHNAME', 'pg_gpu_fuzzy_query'
LANGUAGE C STRICT STABLE PARALLEL RESTRICTED COST 10000;
COMMENT ON FUNCTION gpu.fuzzy_query(regclass, tsquery, int) IS 'a query, with an index''s words that are written nearly alike';

-- Of functions whose operators the planner alone names (src/plan/planner_operators.cpp).
CREATE FUNCTION gpu.refusing_support(internal)
RETURNS internal
AS 'MODULE_PATHNAME', 'pg_gpu_refusing_support'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION gpu.refusing_support(internal) IS 'refuses functions in statements that are the planner''s alone';

CREATE FUNCTION gpu.matches(text, gpu.bm25_query)
RETURNS bool
AS 'MODULE_PATHNAME', 'pg_gpu_text_matches'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 5000 SUPPORT gpu.typed_support;
COMMENT ON FUNCTION gpu.matches(text, gpu.bm25_query) IS 'implementation of @@@ operator';

CREATE FUNCTION gpu.may_match(text, gpu.bm25_query)
RETURNS bool
AS 'MODULE_PATHNAME', 'pg_gpu_text_may_match'
LANGUAGE C STRICT IMMUTABLE LEAKPROOF PARALLEL SAFE SUPPORT gpu.refusing_support;
COMMENT ON FUNCTION gpu.may_match(text, gpu.bm25_query) IS 'implementation of @@? operator';

CREATE FUNCTION gpu.matches(text, text)
RETURNS bool
AS 'MODULE_PATHNAME', 'pg_gpu_text_matches_typed'
LANGUAGE C STRICT STABLE PARALLEL SAFE COST 5000 SUPPORT gpu.typed_support;
COMMENT ON FUNCTION gpu.matches(text, text) IS 'implementation of @@@ operator';

CREATE FUNCTION gpu.matches(text, tsquery)
RETURNS bool
AS 'MODULE_PATHNAME', 'pg_gpu_text_matches_typed'
LANGUAGE C STRICT STABLE PARALLEL SAFE COST 5000 SUPPORT gpu.typed_support;
COMMENT ON FUNCTION gpu.matches(text, tsquery) IS 'implementation of @@@ operator';

CREATE FUNCTION gpu.distance(text, gpu.bm25_query)
RETURNS real
AS 'MODULE_PATHNAME', 'pg_gpu_text_distance'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 5000 SUPPORT gpu.typed_support;
COMMENT ON FUNCTION gpu.distance(text, gpu.bm25_query) IS 'implementation of <@> operator';

CREATE FUNCTION gpu.distance(text, text)
RETURNS real
AS 'MODULE_PATHNAME', 'pg_gpu_text_distance_typed'
LANGUAGE C STRICT STABLE PARALLEL SAFE COST 5000 SUPPORT gpu.typed_support;
COMMENT ON FUNCTION gpu.distance(text, text) IS 'implementation of <@> operator';

CREATE FUNCTION gpu.distance(text, tsquery)
RETURNS real
AS 'MODULE_PATHNAME', 'pg_gpu_text_distance_typed'
LANGUAGE C STRICT STABLE PARALLEL SAFE COST 5000 SUPPORT gpu.typed_support;
COMMENT ON FUNCTION gpu.distance(text, tsquery) IS 'implementation of <@> operator';

CREATE OPERATOR @extschema@.@@@ (
    FUNCTION = gpu.matches,
    LEFTARG = text,
    RIGHTARG = gpu.bm25_query,
    RESTRICT = gpu.match_selectivity,
    JOIN = matchingjoinsel
);
COMMENT ON OPERATOR @extschema@.@@@ (text, gpu.bm25_query) IS 'matches what was typed';

CREATE OPERATOR gpu.@@? (
    FUNCTION = gpu.may_match,
    LEFTARG = text,
    RIGHTARG = gpu.bm25_query,
    RESTRICT = gpu.match_selectivity,
    JOIN = matchingjoinsel
);
COMMENT ON OPERATOR gpu.@@? (text, gpu.bm25_query) IS 'true; in an index condition, may match what was typed';

CREATE OPERATOR @extschema@.<@> (
    FUNCTION = gpu.distance,
    LEFTARG = text,
    RIGHTARG = gpu.bm25_query
);
COMMENT ON OPERATOR @extschema@.<@> (text, gpu.bm25_query) IS 'minus the BM25 score; 0 without a match';

CREATE OPERATOR @extschema@.@@@ (
    FUNCTION = gpu.matches,
    LEFTARG = text,
    RIGHTARG = text,
    RESTRICT = gpu.match_selectivity,
    JOIN = matchingjoinsel
);
COMMENT ON OPERATOR @extschema@.@@@ (text, text) IS 'matches what was typed';

CREATE OPERATOR @extschema@.<@> (
    FUNCTION = gpu.distance,
    LEFTARG = text,
    RIGHTARG = text
);
COMMENT ON OPERATOR @extschema@.<@> (text, text) IS 'minus the BM25 score; 0 without a match';

CREATE OPERATOR @extschema@.@@@ (
    FUNCTION = gpu.matches,
    LEFTARG = text,
    RIGHTARG = tsquery,
    RESTRICT = gpu.match_selectivity,
    JOIN = matchingjoinsel
);
COMMENT ON OPERATOR @extschema@.@@@ (text, tsquery) IS 'matches what was typed';

CREATE OPERATOR @extschema@.<@> (
    FUNCTION = gpu.distance,
    LEFTARG = text,
    RIGHTARG = tsquery
);
COMMENT ON OPERATOR @extschema@.<@> (text, tsquery) IS 'minus the BM25 score; 0 without a match';

CREATE FUNCTION gpu.matches(jsonb, gpu.bm25_query)
RETURNS bool
AS 'MODULE_PATHNAME', 'pg_gpu_text_matches'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 5000 SUPPORT gpu.typed_support;
COMMENT ON FUNCTION gpu.matches(jsonb, gpu.bm25_query) IS 'implementation of @@@ operator';

CREATE FUNCTION gpu.may_match(jsonb, gpu.bm25_query)
RETURNS bool
AS 'MODULE_PATHNAME', 'pg_gpu_text_may_match'
LANGUAGE C STRICT IMMUTABLE LEAKPROOF PARALLEL SAFE SUPPORT gpu.refusing_support;
COMMENT ON FUNCTION gpu.may_match(jsonb, gpu.bm25_query) IS 'implementation of @@? operator';

CREATE FUNCTION gpu.matches(jsonb, text)
RETURNS bool
AS 'MODULE_PATHNAME', 'pg_gpu_text_matches_typed'
LANGUAGE C STRICT STABLE PARALLEL SAFE COST 5000 SUPPORT gpu.typed_support;
COMMENT ON FUNCTION gpu.matches(jsonb, text) IS 'implementation of @@@ operator';

CREATE FUNCTION gpu.matches(jsonb, tsquery)
RETURNS bool
AS 'MODULE_PATHNAME', 'pg_gpu_text_matches_typed'
LANGUAGE C STRICT STABLE PARALLEL SAFE COST 5000 SUPPORT gpu.typed_support;
COMMENT ON FUNCTION gpu.matches(jsonb, tsquery) IS 'implementation of @@@ operator';

CREATE FUNCTION gpu.distance(jsonb, gpu.bm25_query)
RETURNS real
AS 'MODULE_PATHNAME', 'pg_gpu_text_distance'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 5000 SUPPORT gpu.typed_support;
COMMENT ON FUNCTION gpu.distance(jsonb, gpu.bm25_query) IS 'implementation of <@> operator';

CREATE FUNCTION gpu.distance(jsonb, text)
RETURNS real
AS 'MODULE_PATHNAME', 'pg_gpu_text_distance_typed'
LANGUAGE C STRICT STABLE PARALLEL SAFE COST 5000 SUPPORT gpu.typed_support;
COMMENT ON FUNCTION gpu.distance(jsonb, text) IS 'implementation of <@> operator';

CREATE FUNCTION gpu.distance(jsonb, tsquery)
RETURNS real
AS 'MODULE_PATHNAME', 'pg_gpu_text_distance_typed'
LANGUAGE C STRICT STABLE PARALLEL SAFE COST 5000 SUPPORT gpu.typed_support;
COMMENT ON FUNCTION gpu.distance(jsonb, tsquery) IS 'implementation of <@> operator';

CREATE OPERATOR @extschema@.@@@ (
    FUNCTION = gpu.matches,
    LEFTARG = jsonb,
    RIGHTARG = gpu.bm25_query,
    RESTRICT = gpu.match_selectivity,
    JOIN = matchingjoinsel
);
COMMENT ON OPERATOR @extschema@.@@@ (jsonb, gpu.bm25_query) IS 'matches what was typed';

CREATE OPERATOR gpu.@@? (
    FUNCTION = gpu.may_match,
    LEFTARG = jsonb,
    RIGHTARG = gpu.bm25_query,
    RESTRICT = gpu.match_selectivity,
    JOIN = matchingjoinsel
);
COMMENT ON OPERATOR gpu.@@? (jsonb, gpu.bm25_query) IS 'true; in an index condition, may match what was typed';

CREATE OPERATOR @extschema@.<@> (
    FUNCTION = gpu.distance,
    LEFTARG = jsonb,
    RIGHTARG = gpu.bm25_query
);
COMMENT ON OPERATOR @extschema@.<@> (jsonb, gpu.bm25_query) IS 'minus the BM25 score; 0 without a match';

CREATE OPERATOR @extschema@.@@@ (
    FUNCTION = gpu.matches,
    LEFTARG = jsonb,
    RIGHTARG = text,
    RESTRICT = gpu.match_selectivity,
    JOIN = matchingjoinsel
);
COMMENT ON OPERATOR @extschema@.@@@ (jsonb, text) IS 'matches what was typed';

CREATE OPERATOR @extschema@.<@> (
    FUNCTION = gpu.distance,
    LEFTARG = jsonb,
    RIGHTARG = text
);
COMMENT ON OPERATOR @extschema@.<@> (jsonb, text) IS 'minus the BM25 score; 0 without a match';

CREATE OPERATOR @extschema@.@@@ (
    FUNCTION = gpu.matches,
    LEFTARG = jsonb,
    RIGHTARG = tsquery,
    RESTRICT = gpu.match_selectivity,
    JOIN = matchingjoinsel
);
COMMENT ON OPERATOR @extschema@.@@@ (jsonb, tsquery) IS 'matches what was typed';

CREATE OPERATOR @extschema@.<@> (
    FUNCTION = gpu.distance,
    LEFTARG = jsonb,
    RIGHTARG = tsquery
);
COMMENT ON OPERATOR @extschema@.<@> (jsonb, tsquery) IS 'minus the BM25 score; 0 without a match';

CREATE FUNCTION gpu.matches(text[], gpu.bm25_query)
RETURNS bool
AS 'MODULE_PATHNAME', 'pg_gpu_text_matches'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 5000 SUPPORT gpu.typed_support;
COMMENT ON FUNCTION gpu.matches(text[], gpu.bm25_query) IS 'implementation of @@@ operator';

CREATE FUNCTION gpu.may_match(text[], gpu.bm25_query)
RETURNS bool
AS 'MODULE_PATHNAME', 'pg_gpu_text_may_match'
LANGUAGE C STRICT IMMUTABLE LEAKPROOF PARALLEL SAFE SUPPORT gpu.refusing_support;
COMMENT ON FUNCTION gpu.may_match(text[], gpu.bm25_query) IS 'implementation of @@? operator';

CREATE FUNCTION gpu.matches(text[], text)
RETURNS bool
AS 'MODULE_PATHNAME', 'pg_gpu_text_matches_typed'
LANGUAGE C STRICT STABLE PARALLEL SAFE COST 5000 SUPPORT gpu.typed_support;
COMMENT ON FUNCTION gpu.matches(text[], text) IS 'implementation of @@@ operator';

CREATE FUNCTION gpu.matches(text[], tsquery)
RETURNS bool
AS 'MODULE_PATHNAME', 'pg_gpu_text_matches_typed'
LANGUAGE C STRICT STABLE PARALLEL SAFE COST 5000 SUPPORT gpu.typed_support;
COMMENT ON FUNCTION gpu.matches(text[], tsquery) IS 'implementation of @@@ operator';

CREATE FUNCTION gpu.distance(text[], gpu.bm25_query)
RETURNS real
AS 'MODULE_PATHNAME', 'pg_gpu_text_distance'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE COST 5000 SUPPORT gpu.typed_support;
COMMENT ON FUNCTION gpu.distance(text[], gpu.bm25_query) IS 'implementation of <@> operator';

CREATE FUNCTION gpu.distance(text[], text)
RETURNS real
AS 'MODULE_PATHNAME', 'pg_gpu_text_distance_typed'
LANGUAGE C STRICT STABLE PARALLEL SAFE COST 5000 SUPPORT gpu.typed_support;
COMMENT ON FUNCTION gpu.distance(text[], text) IS 'implementation of <@> operator';

CREATE FUNCTION gpu.distance(text[], tsquery)
RETURNS real
AS 'MODULE_PATHNAME', 'pg_gpu_text_distance_typed'
LANGUAGE C STRICT STABLE PARALLEL SAFE COST 5000 SUPPORT gpu.typed_support;
COMMENT ON FUNCTION gpu.distance(text[], tsquery) IS 'implementation of <@> operator';

CREATE OPERATOR @extschema@.@@@ (
    FUNCTION = gpu.matches,
    LEFTARG = text[],
    RIGHTARG = gpu.bm25_query,
    RESTRICT = gpu.match_selectivity,
    JOIN = matchingjoinsel
);
COMMENT ON OPERATOR @extschema@.@@@ (text[], gpu.bm25_query) IS 'matches what was typed';

CREATE OPERATOR gpu.@@? (
    FUNCTION = gpu.may_match,
    LEFTARG = text[],
    RIGHTARG = gpu.bm25_query,
    RESTRICT = gpu.match_selectivity,
    JOIN = matchingjoinsel
);
COMMENT ON OPERATOR gpu.@@? (text[], gpu.bm25_query) IS 'true; in an index condition, may match what was typed';

CREATE OPERATOR @extschema@.<@> (
    FUNCTION = gpu.distance,
    LEFTARG = text[],
    RIGHTARG = gpu.bm25_query
);
COMMENT ON OPERATOR @extschema@.<@> (text[], gpu.bm25_query) IS 'minus the BM25 score; 0 without a match';

CREATE OPERATOR @extschema@.@@@ (
    FUNCTION = gpu.matches,
    LEFTARG = text[],
    RIGHTARG = text,
    RESTRICT = gpu.match_selectivity,
    JOIN = matchingjoinsel
);
COMMENT ON OPERATOR @extschema@.@@@ (text[], text) IS 'matches what was typed';

CREATE OPERATOR @extschema@.<@> (
    FUNCTION = gpu.distance,
    LEFTARG = text[],
    RIGHTARG = text
);
COMMENT ON OPERATOR @extschema@.<@> (text[], text) IS 'minus the BM25 score; 0 without a match';

CREATE OPERATOR @extschema@.@@@ (
    FUNCTION = gpu.matches,
    LEFTARG = text[],
    RIGHTARG = tsquery,
    RESTRICT = gpu.match_selectivity,
    JOIN = matchingjoinsel
);
COMMENT ON OPERATOR @extschema@.@@@ (text[], tsquery) IS 'matches what was typed';

CREATE OPERATOR @extschema@.<@> (
    FUNCTION = gpu.distance,
    LEFTARG = text[],
    RIGHTARG = tsquery
);
COMMENT ON OPERATOR @extschema@.<@> (text[], tsquery) IS 'minus the BM25 score; 0 without a match';

-- views

CREATE VIEW gpu.mirrors AS
SELECT index_name, run_id, kind, entries, bytes, device, part, parts, pinned, loaded_at, last_used, hits, path FROM gpu.mirror_rows();
COMMENT ON VIEW gpu.mirrors IS 'runs that lie in the server process';
GRANT SELECT ON gpu.mirrors TO PUBLIC;

CREATE VIEW gpu.stat AS
SELECT path, request, requests, items, bytes, milliseconds, fallbacks, last_reason FROM gpu.stat_rows();
COMMENT ON VIEW gpu.stat IS 'where requests went, and why not elsewhere';
GRANT SELECT ON gpu.stat TO PUBLIC;

CREATE VIEW gpu.latency AS
SELECT path, request, up_to_ms, requests, all_up_to FROM gpu.latency_rows();
COMMENT ON VIEW gpu.latency IS 'how long sessions waited for answers: histograms by path and kind of request';
GRANT SELECT ON gpu.latency TO PUBLIC;

CREATE VIEW gpu.indexes AS
SELECT index_name, table_name, method, state, problem, bytes, runs, entries, dead_share, resident_share, merges, last_merge,
       merges_deferred, last_deferred, fallbacks, last_fallback, last_reason, reasons, reason_counts
FROM gpu.index_rows();
COMMENT ON VIEW gpu.indexes IS 'all pg_gpu indexes of the database';
GRANT SELECT ON gpu.indexes TO PUBLIC;

CREATE VIEW gpu.progress AS
SELECT pid, datname, usename, command, index_name, phase, tuples_done, tuples_total, started FROM gpu.progress_rows();
COMMENT ON VIEW gpu.progress IS 'merges, gpu.verify and gpu.load that are under way';
GRANT SELECT ON gpu.progress TO PUBLIC;

CREATE VIEW gpu.server AS
SELECT pid, started, version, state, reason, host, cuda, cuda_reason, host_memory_used, host_memory_limit, device_memory_used,
       device_memory_limit, transfer_memory_used, transfer_memory_limit, connections, queued, loads, evictions, refusals, turned_away,
       restarts, last_error, last_error_at
FROM gpu.server_row();
COMMENT ON VIEW gpu.server IS 'the server process, or why there is none';
GRANT SELECT ON gpu.server TO PUBLIC;

-- What the worker of pg_gpu.auto_columns has decided on each table, and what it has to know of the look before. Dumps don't have it: the
-- worker begins anew where they are restored.
CREATE TABLE gpu.auto_column_state (
    table_oid oid PRIMARY KEY, action text NOT NULL, reason text, columns text NOT NULL, calls bigint NOT NULL, milliseconds float8 NOT NULL,
    bytes bigint NOT NULL, decided_at timestamptz NOT NULL, written bigint NOT NULL, watched_since timestamptz NOT NULL, scans bigint NOT NULL,
    unused_seconds float8 NOT NULL, looked_at timestamptz NOT NULL, failures int NOT NULL DEFAULT 0, not_before timestamptz);
COMMENT ON TABLE gpu.auto_column_state IS 'what the worker of pg_gpu.auto_columns remembers';

CREATE VIEW gpu.auto_columns AS
SELECT table_oid::regclass AS table_name, action, columns, reason, calls, milliseconds, bytes, decided_at
FROM gpu.auto_column_state JOIN pg_catalog.pg_class ON pg_class.oid OPERATOR(pg_catalog.=) table_oid
WHERE pg_catalog.pg_has_role(relowner, 'USAGE') OR pg_catalog.pg_has_role('pg_read_all_stats', 'USAGE');
COMMENT ON VIEW gpu.auto_columns IS 'what the worker of pg_gpu.auto_columns has decided on tables';
GRANT SELECT ON gpu.auto_columns TO PUBLIC;

-- access methods

CREATE ACCESS METHOD gpu_kary TYPE INDEX HANDLER gpu.gpu_kary_handler;
COMMENT ON ACCESS METHOD gpu_kary IS 'sorted runs of fixed-width keys with K-ary separator levels';

CREATE ACCESS METHOD gpu_text TYPE INDEX HANDLER gpu.gpu_text_handler;
COMMENT ON ACCESS METHOD gpu_text IS 'inverted lists with BM25 ranking';

-- The option `configuration` of gpu_text's indexes follows a text search configuration that is renamed.
CREATE FUNCTION gpu.configuration_renamed()
RETURNS event_trigger
AS 'MODULE_PATHNAME', 'pg_gpu_configuration_renamed'
LANGUAGE C;
COMMENT ON FUNCTION gpu.configuration_renamed() IS 'writes renamed text search configurations into the options of gpu_text indexes';

CREATE EVENT TRIGGER pg_gpu_configuration_renamed ON ddl_command_end
WHEN TAG IN ('ALTER TEXT SEARCH CONFIGURATION', 'ALTER SCHEMA', 'ALTER EXTENSION')
EXECUTE FUNCTION gpu.configuration_renamed();
ALTER EVENT TRIGGER pg_gpu_configuration_renamed ENABLE ALWAYS;
COMMENT ON EVENT TRIGGER pg_gpu_configuration_renamed IS 'indexes of gpu_text follow a text search configuration that is renamed';

-- opclasses

CREATE OPERATOR FAMILY gpu.tsvector_ops USING gpu_text;
COMMENT ON OPERATOR FAMILY gpu.tsvector_ops USING gpu_text IS 'full-text search';

CREATE OPERATOR CLASS gpu.tsvector_ops
DEFAULT FOR TYPE tsvector USING gpu_text FAMILY gpu.tsvector_ops AS
    OPERATOR 1 @@ (tsvector, tsquery),
    OPERATOR 2 gpu.<=> (tsvector, gpu.bm25_query) FOR ORDER BY pg_catalog.float_ops;
COMMENT ON OPERATOR CLASS gpu.tsvector_ops USING gpu_text IS 'lexemes with their frequencies';

CREATE OPERATOR FAMILY gpu.document_ops USING gpu_text;
COMMENT ON OPERATOR FAMILY gpu.document_ops USING gpu_text IS 'full-text search of text as it is';

CREATE OPERATOR CLASS gpu.text_document_ops
DEFAULT FOR TYPE text USING gpu_text FAMILY gpu.document_ops AS
    OPERATOR 1 @@@ (text, gpu.bm25_query),
    OPERATOR 2 <@> (text, gpu.bm25_query) FOR ORDER BY pg_catalog.float_ops,
    OPERATOR 3 gpu.@@? (text, gpu.bm25_query);
COMMENT ON OPERATOR CLASS gpu.text_document_ops USING gpu_text IS 'words of text, with their frequencies';

CREATE OPERATOR CLASS gpu.jsonb_document_ops
DEFAULT FOR TYPE jsonb USING gpu_text FAMILY gpu.document_ops AS
    OPERATOR 1 @@@ (jsonb, gpu.bm25_query),
    OPERATOR 2 <@> (jsonb, gpu.bm25_query) FOR ORDER BY pg_catalog.float_ops,
    OPERATOR 3 gpu.@@? (jsonb, gpu.bm25_query);
COMMENT ON OPERATOR CLASS gpu.jsonb_document_ops USING gpu_text IS 'words of a documents strings, with their frequencies';

CREATE OPERATOR CLASS gpu.text_array_document_ops
DEFAULT FOR TYPE text[] USING gpu_text FAMILY gpu.document_ops AS
    OPERATOR 1 @@@ (text[], gpu.bm25_query),
    OPERATOR 2 <@> (text[], gpu.bm25_query) FOR ORDER BY pg_catalog.float_ops,
    OPERATOR 3 gpu.@@? (text[], gpu.bm25_query);
COMMENT ON OPERATOR CLASS gpu.text_array_document_ops USING gpu_text IS 'words of all elements, with their frequencies';

CREATE OPERATOR FAMILY gpu.bool_ops USING gpu_kary;
COMMENT ON OPERATOR FAMILY gpu.bool_ops USING gpu_kary IS 'booleans';

CREATE OPERATOR CLASS gpu.bool_ops
DEFAULT FOR TYPE bool USING gpu_kary FAMILY gpu.bool_ops AS
    OPERATOR 1 < (bool, bool),
    OPERATOR 2 <= (bool, bool),
    OPERATOR 3 = (bool, bool),
    OPERATOR 4 >= (bool, bool),
    OPERATOR 5 > (bool, bool);
COMMENT ON OPERATOR CLASS gpu.bool_ops USING gpu_kary IS 'bool keys, 8 bits';

CREATE OPERATOR FAMILY gpu.char_ops USING gpu_kary;
COMMENT ON OPERATOR FAMILY gpu.char_ops USING gpu_kary IS 'single bytes';

CREATE OPERATOR CLASS gpu.char_ops
DEFAULT FOR TYPE "char" USING gpu_kary FAMILY gpu.char_ops AS
    OPERATOR 1 < ("char", "char"),
    OPERATOR 2 <= ("char", "char"),
    OPERATOR 3 = ("char", "char"),
    OPERATOR 4 >= ("char", "char"),
    OPERATOR 5 > ("char", "char");
COMMENT ON OPERATOR CLASS gpu.char_ops USING gpu_kary IS 'char keys, 8 bits';

CREATE OPERATOR FAMILY gpu.integer_ops USING gpu_kary;
COMMENT ON OPERATOR FAMILY gpu.integer_ops USING gpu_kary IS 'integers';

CREATE OPERATOR CLASS gpu.int2_ops
DEFAULT FOR TYPE int2 USING gpu_kary FAMILY gpu.integer_ops AS
    OPERATOR 1 < (int2, int2),
    OPERATOR 2 <= (int2, int2),
    OPERATOR 3 = (int2, int2),
    OPERATOR 4 >= (int2, int2),
    OPERATOR 5 > (int2, int2);
COMMENT ON OPERATOR CLASS gpu.int2_ops USING gpu_kary IS 'int2 keys, 16 bits';

CREATE OPERATOR CLASS gpu.int4_ops
DEFAULT FOR TYPE int4 USING gpu_kary FAMILY gpu.integer_ops AS
    OPERATOR 1 < (int4, int4),
    OPERATOR 2 <= (int4, int4),
    OPERATOR 3 = (int4, int4),
    OPERATOR 4 >= (int4, int4),
    OPERATOR 5 > (int4, int4);
COMMENT ON OPERATOR CLASS gpu.int4_ops USING gpu_kary IS 'int4 keys, 32 bits';

CREATE OPERATOR CLASS gpu.int8_ops
DEFAULT FOR TYPE int8 USING gpu_kary FAMILY gpu.integer_ops AS
    OPERATOR 1 < (int8, int8),
    OPERATOR 2 <= (int8, int8),
    OPERATOR 3 = (int8, int8),
    OPERATOR 4 >= (int8, int8),
    OPERATOR 5 > (int8, int8);
COMMENT ON OPERATOR CLASS gpu.int8_ops USING gpu_kary IS 'int8 keys, 64 bits';

ALTER OPERATOR FAMILY gpu.integer_ops USING gpu_kary ADD
    OPERATOR 1 < (int2, int4),
    OPERATOR 2 <= (int2, int4),
    OPERATOR 3 = (int2, int4),
    OPERATOR 4 >= (int2, int4),
    OPERATOR 5 > (int2, int4),
    OPERATOR 1 < (int2, int8),
    OPERATOR 2 <= (int2, int8),
    OPERATOR 3 = (int2, int8),
    OPERATOR 4 >= (int2, int8),
    OPERATOR 5 > (int2, int8),
    OPERATOR 1 < (int4, int2),
    OPERATOR 2 <= (int4, int2),
    OPERATOR 3 = (int4, int2),
    OPERATOR 4 >= (int4, int2),
    OPERATOR 5 > (int4, int2),
    OPERATOR 1 < (int4, int8),
    OPERATOR 2 <= (int4, int8),
    OPERATOR 3 = (int4, int8),
    OPERATOR 4 >= (int4, int8),
    OPERATOR 5 > (int4, int8),
    OPERATOR 1 < (int8, int2),
    OPERATOR 2 <= (int8, int2),
    OPERATOR 3 = (int8, int2),
    OPERATOR 4 >= (int8, int2),
    OPERATOR 5 > (int8, int2),
    OPERATOR 1 < (int8, int4),
    OPERATOR 2 <= (int8, int4),
    OPERATOR 3 = (int8, int4),
    OPERATOR 4 >= (int8, int4),
    OPERATOR 5 > (int8, int4);

CREATE OPERATOR FAMILY gpu.oid_ops USING gpu_kary;
COMMENT ON OPERATOR FAMILY gpu.oid_ops USING gpu_kary IS 'object identifiers';

CREATE OPERATOR CLASS gpu.oid_ops
DEFAULT FOR TYPE oid USING gpu_kary FAMILY gpu.oid_ops AS
    OPERATOR 1 < (oid, oid),
    OPERATOR 2 <= (oid, oid),
    OPERATOR 3 = (oid, oid),
    OPERATOR 4 >= (oid, oid),
    OPERATOR 5 > (oid, oid);
COMMENT ON OPERATOR CLASS gpu.oid_ops USING gpu_kary IS 'oid keys, 32 bits';

CREATE OPERATOR FAMILY gpu.datetime_ops USING gpu_kary;
COMMENT ON OPERATOR FAMILY gpu.datetime_ops USING gpu_kary IS 'dates and timestamps';

CREATE OPERATOR CLASS gpu.date_ops
DEFAULT FOR TYPE date USING gpu_kary FAMILY gpu.datetime_ops AS
    OPERATOR 1 < (date, date),
    OPERATOR 2 <= (date, date),
    OPERATOR 3 = (date, date),
    OPERATOR 4 >= (date, date),
    OPERATOR 5 > (date, date);
COMMENT ON OPERATOR CLASS gpu.date_ops USING gpu_kary IS 'date keys, 32 bits';

CREATE OPERATOR CLASS gpu.timestamp_ops
DEFAULT FOR TYPE timestamp USING gpu_kary FAMILY gpu.datetime_ops AS
    OPERATOR 1 < (timestamp, timestamp),
    OPERATOR 2 <= (timestamp, timestamp),
    OPERATOR 3 = (timestamp, timestamp),
    OPERATOR 4 >= (timestamp, timestamp),
    OPERATOR 5 > (timestamp, timestamp);
COMMENT ON OPERATOR CLASS gpu.timestamp_ops USING gpu_kary IS 'timestamp keys, 64 bits';

CREATE OPERATOR CLASS gpu.timestamptz_ops
DEFAULT FOR TYPE timestamptz USING gpu_kary FAMILY gpu.datetime_ops AS
    OPERATOR 1 < (timestamptz, timestamptz),
    OPERATOR 2 <= (timestamptz, timestamptz),
    OPERATOR 3 = (timestamptz, timestamptz),
    OPERATOR 4 >= (timestamptz, timestamptz),
    OPERATOR 5 > (timestamptz, timestamptz);
COMMENT ON OPERATOR CLASS gpu.timestamptz_ops USING gpu_kary IS 'timestamptz keys, 64 bits';

ALTER OPERATOR FAMILY gpu.datetime_ops USING gpu_kary ADD
    OPERATOR 1 < (date, timestamp),
    OPERATOR 2 <= (date, timestamp),
    OPERATOR 3 = (date, timestamp),
    OPERATOR 4 >= (date, timestamp),
    OPERATOR 5 > (date, timestamp),
    OPERATOR 1 < (date, timestamptz),
    OPERATOR 2 <= (date, timestamptz),
    OPERATOR 3 = (date, timestamptz),
    OPERATOR 4 >= (date, timestamptz),
    OPERATOR 5 > (date, timestamptz),
    OPERATOR 1 < (timestamp, date),
    OPERATOR 2 <= (timestamp, date),
    OPERATOR 3 = (timestamp, date),
    OPERATOR 4 >= (timestamp, date),
    OPERATOR 5 > (timestamp, date),
    OPERATOR 1 < (timestamp, timestamptz),
    OPERATOR 2 <= (timestamp, timestamptz),
    OPERATOR 3 = (timestamp, timestamptz),
    OPERATOR 4 >= (timestamp, timestamptz),
    OPERATOR 5 > (timestamp, timestamptz),
    OPERATOR 1 < (timestamptz, date),
    OPERATOR 2 <= (timestamptz, date),
    OPERATOR 3 = (timestamptz, date),
    OPERATOR 4 >= (timestamptz, date),
    OPERATOR 5 > (timestamptz, date),
    OPERATOR 1 < (timestamptz, timestamp),
    OPERATOR 2 <= (timestamptz, timestamp),
    OPERATOR 3 = (timestamptz, timestamp),
    OPERATOR 4 >= (timestamptz, timestamp),
    OPERATOR 5 > (timestamptz, timestamp);

CREATE OPERATOR FAMILY gpu.time_ops USING gpu_kary;
COMMENT ON OPERATOR FAMILY gpu.time_ops USING gpu_kary IS 'times of day';

CREATE OPERATOR CLASS gpu.time_ops
DEFAULT FOR TYPE time USING gpu_kary FAMILY gpu.time_ops AS
    OPERATOR 1 < (time, time),
    OPERATOR 2 <= (time, time),
    OPERATOR 3 = (time, time),
    OPERATOR 4 >= (time, time),
    OPERATOR 5 > (time, time);
COMMENT ON OPERATOR CLASS gpu.time_ops USING gpu_kary IS 'time keys, 64 bits';

CREATE OPERATOR FAMILY gpu.float_ops USING gpu_kary;
COMMENT ON OPERATOR FAMILY gpu.float_ops USING gpu_kary IS 'floating-point numbers';

CREATE OPERATOR CLASS gpu.float4_ops
DEFAULT FOR TYPE float4 USING gpu_kary FAMILY gpu.float_ops AS
    OPERATOR 1 < (float4, float4),
    OPERATOR 2 <= (float4, float4),
    OPERATOR 3 = (float4, float4),
    OPERATOR 4 >= (float4, float4),
    OPERATOR 5 > (float4, float4);
COMMENT ON OPERATOR CLASS gpu.float4_ops USING gpu_kary IS 'float4 keys, 32 bits';

CREATE OPERATOR CLASS gpu.float8_ops
DEFAULT FOR TYPE float8 USING gpu_kary FAMILY gpu.float_ops AS
    OPERATOR 1 < (float8, float8),
    OPERATOR 2 <= (float8, float8),
    OPERATOR 3 = (float8, float8),
    OPERATOR 4 >= (float8, float8),
    OPERATOR 5 > (float8, float8);
COMMENT ON OPERATOR CLASS gpu.float8_ops USING gpu_kary IS 'float8 keys, 64 bits';

ALTER OPERATOR FAMILY gpu.float_ops USING gpu_kary ADD
    OPERATOR 1 < (float4, float8),
    OPERATOR 2 <= (float4, float8),
    OPERATOR 3 = (float4, float8),
    OPERATOR 4 >= (float4, float8),
    OPERATOR 5 > (float4, float8),
    OPERATOR 1 < (float8, float4),
    OPERATOR 2 <= (float8, float4),
    OPERATOR 3 = (float8, float4),
    OPERATOR 4 >= (float8, float4),
    OPERATOR 5 > (float8, float4);

CREATE OPERATOR FAMILY gpu.uuid_ops USING gpu_kary;
COMMENT ON OPERATOR FAMILY gpu.uuid_ops USING gpu_kary IS 'UUIDs';

CREATE OPERATOR CLASS gpu.uuid_ops
DEFAULT FOR TYPE uuid USING gpu_kary FAMILY gpu.uuid_ops AS
    OPERATOR 1 < (uuid, uuid),
    OPERATOR 2 <= (uuid, uuid),
    OPERATOR 3 = (uuid, uuid),
    OPERATOR 4 >= (uuid, uuid),
    OPERATOR 5 > (uuid, uuid);
COMMENT ON OPERATOR CLASS gpu.uuid_ops USING gpu_kary IS 'uuid keys, 128 bits';

CREATE OPERATOR FAMILY gpu.macaddr_ops USING gpu_kary;
COMMENT ON OPERATOR FAMILY gpu.macaddr_ops USING gpu_kary IS 'MAC addresses';

CREATE OPERATOR CLASS gpu.macaddr_ops
DEFAULT FOR TYPE macaddr USING gpu_kary FAMILY gpu.macaddr_ops AS
    OPERATOR 1 < (macaddr, macaddr),
    OPERATOR 2 <= (macaddr, macaddr),
    OPERATOR 3 = (macaddr, macaddr),
    OPERATOR 4 >= (macaddr, macaddr),
    OPERATOR 5 > (macaddr, macaddr);
COMMENT ON OPERATOR CLASS gpu.macaddr_ops USING gpu_kary IS 'macaddr keys, 48 bits';

CREATE OPERATOR FAMILY gpu.macaddr8_ops USING gpu_kary;
COMMENT ON OPERATOR FAMILY gpu.macaddr8_ops USING gpu_kary IS 'MAC addresses of 8 bytes';

CREATE OPERATOR CLASS gpu.macaddr8_ops
DEFAULT FOR TYPE macaddr8 USING gpu_kary FAMILY gpu.macaddr8_ops AS
    OPERATOR 1 < (macaddr8, macaddr8),
    OPERATOR 2 <= (macaddr8, macaddr8),
    OPERATOR 3 = (macaddr8, macaddr8),
    OPERATOR 4 >= (macaddr8, macaddr8),
    OPERATOR 5 > (macaddr8, macaddr8);
COMMENT ON OPERATOR CLASS gpu.macaddr8_ops USING gpu_kary IS 'macaddr8 keys, 64 bits';

-- Numeric by the nearest float8. Strategy numbers are src/kary/strategies.h's: none is btree's for an order.
CREATE OPERATOR FAMILY gpu.numeric_ops USING gpu_kary;
COMMENT ON OPERATOR FAMILY gpu.numeric_ops USING gpu_kary IS 'numerics';

CREATE OPERATOR CLASS gpu.numeric_ops
DEFAULT FOR TYPE numeric USING gpu_kary FAMILY gpu.numeric_ops AS
    OPERATOR 3 = (numeric, numeric),
    OPERATOR 6 < (numeric, numeric),
    OPERATOR 7 <= (numeric, numeric),
    OPERATOR 8 >= (numeric, numeric),
    OPERATOR 9 > (numeric, numeric);
COMMENT ON OPERATOR CLASS gpu.numeric_ops USING gpu_kary IS 'numeric keys by the nearest float8, 64 bits';

-- Any hashable type by its hash, for equality: the default of types that have no class of their own. The family has the
-- equality of each type with a default hash operator
-- class, and those between types whose hashes agree, but not boolean's: of an index whose family has that, the planner
-- compares each column with every condition as a whole, from PostgreSQL 18 on by a walk through it. Types that are
-- created later are added by hand:
--   ALTER OPERATOR FAMILY gpu.hash_ops USING gpu_kary ADD OPERATOR 3 = (citext, citext);
CREATE OPERATOR FAMILY gpu.hash_ops USING gpu_kary;
COMMENT ON OPERATOR FAMILY gpu.hash_ops USING gpu_kary IS 'hashes';

CREATE OPERATOR CLASS gpu.hash_ops
DEFAULT FOR TYPE anyelement USING gpu_kary FAMILY gpu.hash_ops AS
    STORAGE anyelement;
COMMENT ON OPERATOR CLASS gpu.hash_ops USING gpu_kary IS 'hashes of any type, 64 bits';

DO $$
DECLARE
    equality regoperator;
BEGIN
    FOR equality IN
        SELECT amopopr
        FROM pg_catalog.pg_amop JOIN pg_catalog.pg_am ON pg_am.oid = amopmethod
        WHERE amname = 'hash' AND amoplefttype <> 'bool'::pg_catalog.regtype
          AND EXISTS (SELECT FROM pg_catalog.pg_opclass
                      WHERE opcfamily = amopfamily AND opcintype = amoplefttype AND opcdefault)
        ORDER BY amopopr
    LOOP
        EXECUTE pg_catalog.format('ALTER OPERATOR FAMILY gpu.hash_ops USING gpu_kary ADD OPERATOR 3 %s', equality);
    END LOOP;
END
$$;

-- Text by its hash, which follows the collation: classes of its own, so that errors of constraints can show it.
CREATE OPERATOR CLASS gpu.text_ops
DEFAULT FOR TYPE text USING gpu_kary AS
    OPERATOR 3 = (text, text);
COMMENT ON OPERATOR FAMILY gpu.text_ops USING gpu_kary IS 'hashes of text';
COMMENT ON OPERATOR CLASS gpu.text_ops USING gpu_kary IS 'text keys by their hashes, 64 bits';

CREATE OPERATOR CLASS gpu.bpchar_ops
DEFAULT FOR TYPE bpchar USING gpu_kary AS
    OPERATOR 3 = (bpchar, bpchar);
COMMENT ON OPERATOR FAMILY gpu.bpchar_ops USING gpu_kary IS 'hashes of bpchar';
COMMENT ON OPERATOR CLASS gpu.bpchar_ops USING gpu_kary IS 'bpchar keys by their hashes, 64 bits';

-- Text by its first 16 bytes. Strategy numbers are src/kary/strategies.h's: none is btree's for an order.
CREATE OPERATOR FAMILY gpu.text_prefix_ops USING gpu_kary;
COMMENT ON OPERATOR FAMILY gpu.text_prefix_ops USING gpu_kary IS 'first bytes of text in collation C';

CREATE OPERATOR CLASS gpu.text_prefix_ops
FOR TYPE text USING gpu_kary FAMILY gpu.text_prefix_ops AS
    OPERATOR 3 = (text, text),
    OPERATOR 6 < (text, text),
    OPERATOR 7 <= (text, text),
    OPERATOR 8 >= (text, text),
    OPERATOR 9 > (text, text),
    OPERATOR 10 ~<~ (text, text),
    OPERATOR 11 ~<=~ (text, text),
    OPERATOR 12 ~>=~ (text, text),
    OPERATOR 13 ~>~ (text, text),
    OPERATOR 14 ~~ (text, text),
    OPERATOR 15 ^@ (text, text);
COMMENT ON OPERATOR CLASS gpu.text_prefix_ops USING gpu_kary IS 'text keys in collation C, first 16 bytes';

CREATE OPERATOR FAMILY gpu.text_pattern_prefix_ops USING gpu_kary;
COMMENT ON OPERATOR FAMILY gpu.text_pattern_prefix_ops USING gpu_kary IS 'first bytes of text for LIKE';

CREATE OPERATOR CLASS gpu.text_pattern_prefix_ops
FOR TYPE text USING gpu_kary FAMILY gpu.text_pattern_prefix_ops AS
    OPERATOR 3 = (text, text),
    OPERATOR 10 ~<~ (text, text),
    OPERATOR 11 ~<=~ (text, text),
    OPERATOR 12 ~>=~ (text, text),
    OPERATOR 13 ~>~ (text, text),
    OPERATOR 14 ~~ (text, text),
    OPERATOR 15 ^@ (text, text);
COMMENT ON OPERATOR CLASS gpu.text_pattern_prefix_ops USING gpu_kary IS 'text keys for LIKE, first 16 bytes';

CREATE OPERATOR FAMILY gpu.bpchar_prefix_ops USING gpu_kary;
COMMENT ON OPERATOR FAMILY gpu.bpchar_prefix_ops USING gpu_kary IS 'first bytes of bpchar in collation C';

CREATE OPERATOR CLASS gpu.bpchar_prefix_ops
FOR TYPE bpchar USING gpu_kary FAMILY gpu.bpchar_prefix_ops AS
    OPERATOR 3 = (bpchar, bpchar),
    OPERATOR 6 < (bpchar, bpchar),
    OPERATOR 7 <= (bpchar, bpchar),
    OPERATOR 8 >= (bpchar, bpchar),
    OPERATOR 9 > (bpchar, bpchar),
    OPERATOR 10 ~<~ (bpchar, bpchar),
    OPERATOR 11 ~<=~ (bpchar, bpchar),
    OPERATOR 12 ~>=~ (bpchar, bpchar),
    OPERATOR 13 ~>~ (bpchar, bpchar),
    OPERATOR 14 ~~ (bpchar, text);
COMMENT ON OPERATOR CLASS gpu.bpchar_prefix_ops USING gpu_kary IS 'bpchar keys in collation C, first 16 bytes';

CREATE OPERATOR FAMILY gpu.bpchar_pattern_prefix_ops USING gpu_kary;
COMMENT ON OPERATOR FAMILY gpu.bpchar_pattern_prefix_ops USING gpu_kary IS 'first bytes of bpchar for LIKE';

CREATE OPERATOR CLASS gpu.bpchar_pattern_prefix_ops
FOR TYPE bpchar USING gpu_kary FAMILY gpu.bpchar_pattern_prefix_ops AS
    OPERATOR 3 = (bpchar, bpchar),
    OPERATOR 10 ~<~ (bpchar, bpchar),
    OPERATOR 11 ~<=~ (bpchar, bpchar),
    OPERATOR 12 ~>=~ (bpchar, bpchar),
    OPERATOR 13 ~>~ (bpchar, bpchar),
    OPERATOR 14 ~~ (bpchar, text);
COMMENT ON OPERATOR CLASS gpu.bpchar_pattern_prefix_ops USING gpu_kary IS 'bpchar keys for LIKE, first 16 bytes';

-- gpu_grid: the same types, families and operators as gpu_kary's exact ones

CREATE FUNCTION gpu.gpu_grid_handler(internal)
RETURNS index_am_handler
AS 'MODULE_PATHNAME', 'pg_gpu_grid_handler'
LANGUAGE C;
COMMENT ON FUNCTION gpu.gpu_grid_handler(internal) IS 'gpu_grid index access method handler';

CREATE ACCESS METHOD gpu_grid TYPE INDEX HANDLER gpu.gpu_grid_handler;
COMMENT ON ACCESS METHOD gpu_grid IS 'hierarchical grid files of points of one to eight dimensions';

DO $$
DECLARE
    family record;
    class record;
    operators text;
BEGIN
    FOR family IN
        SELECT DISTINCT opfname AS name, pg_catalog.obj_description(opfamily.oid, 'pg_opfamily') AS comment, opfamily.oid
        FROM pg_catalog.pg_opfamily AS opfamily
             JOIN pg_catalog.pg_am ON pg_am.oid = opfmethod
             JOIN pg_catalog.pg_opclass ON opcfamily = opfamily.oid
        WHERE amname = 'gpu_kary' AND opcdefault AND opfname NOT IN ('numeric_ops', 'hash_ops', 'text_ops', 'bpchar_ops')
        ORDER BY opfname
    LOOP
        EXECUTE pg_catalog.format('CREATE OPERATOR FAMILY gpu.%I USING gpu_grid', family.name);
        EXECUTE pg_catalog.format('COMMENT ON OPERATOR FAMILY gpu.%I USING gpu_grid IS %L', family.name, family.comment);
        FOR class IN
            SELECT opcname AS name, opcintype AS type, pg_catalog.obj_description(oid, 'pg_opclass') AS comment
            FROM pg_catalog.pg_opclass
            WHERE opcfamily = family.oid
            ORDER BY opcname
        LOOP
            SELECT pg_catalog.string_agg(pg_catalog.format('OPERATOR %s %s', amopstrategy, amopopr::pg_catalog.regoperator), ', '
                                         ORDER BY amopstrategy)
            INTO operators
            FROM pg_catalog.pg_amop
            WHERE amopfamily = family.oid AND amoplefttype = class.type AND amoprighttype = class.type;
            EXECUTE pg_catalog.format('CREATE OPERATOR CLASS gpu.%I DEFAULT FOR TYPE %s USING gpu_grid FAMILY gpu.%I AS %s',
                                      class.name, class.type::pg_catalog.regtype, family.name, operators);
            EXECUTE pg_catalog.format('COMMENT ON OPERATOR CLASS gpu.%I USING gpu_grid IS %L', class.name, class.comment);
        END LOOP;
        SELECT pg_catalog.string_agg(pg_catalog.format('OPERATOR %s %s', amopstrategy, amopopr::pg_catalog.regoperator), ', '
                                     ORDER BY amoplefttype, amoprighttype, amopstrategy)
        INTO operators
        FROM pg_catalog.pg_amop
        WHERE amopfamily = family.oid AND amoplefttype <> amoprighttype;
        IF operators IS NOT NULL THEN
            EXECUTE pg_catalog.format('ALTER OPERATOR FAMILY gpu.%I USING gpu_grid ADD %s', family.name, operators);
        END IF;
    END LOOP;
END
$$;

-- A grid has no order, so that numeric's operators have btree's numbers.
CREATE OPERATOR FAMILY gpu.numeric_ops USING gpu_grid;
COMMENT ON OPERATOR FAMILY gpu.numeric_ops USING gpu_grid IS 'numerics';

CREATE OPERATOR CLASS gpu.numeric_ops
DEFAULT FOR TYPE numeric USING gpu_grid FAMILY gpu.numeric_ops AS
    OPERATOR 1 < (numeric, numeric),
    OPERATOR 2 <= (numeric, numeric),
    OPERATOR 3 = (numeric, numeric),
    OPERATOR 4 >= (numeric, numeric),
    OPERATOR 5 > (numeric, numeric);
COMMENT ON OPERATOR CLASS gpu.numeric_ops USING gpu_grid IS 'numerics by the nearest float8, 64 bits';

-- Comparisons of rows: (a, b) < (1, 2) bounds what is read of an index on (a, b). The planner makes conditions
-- `a #< ROW(1, 2)` of them (src/plan/row_comparisons.cpp); statements can't name these operators.

CREATE FUNCTION gpu.row_bound(anyelement, record)
RETURNS bool
AS 'MODULE_PATHNAME', 'pg_gpu_row_bound'
LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE SUPPORT gpu.refusing_support;
COMMENT ON FUNCTION gpu.row_bound(anyelement, record) IS 'what comparisons of rows say to an index of gpu_kary';

DO $$
DECLARE
    family pg_catalog.name;
    comparison pg_catalog.text;
BEGIN
    FOREACH comparison IN ARRAY ARRAY['<', '<=', '>=', '>'] LOOP
        EXECUTE pg_catalog.format('CREATE OPERATOR gpu.#%s (FUNCTION = gpu.row_bound, LEFTARG = anyelement, RIGHTARG = record)', comparison);
        EXECUTE pg_catalog.format('COMMENT ON OPERATOR gpu.#%s (anyelement, record) IS %L', comparison,
                                  'a comparison of rows that begin with the column');
    END LOOP;
    FOR family IN
        SELECT DISTINCT opfname
        FROM pg_catalog.pg_amop
             JOIN pg_catalog.pg_opfamily AS opfamily ON opfamily.oid = amopfamily
             JOIN pg_catalog.pg_am ON pg_am.oid = amopmethod
        WHERE amname = 'gpu_kary' AND amopstrategy = 1
        ORDER BY opfname
    LOOP
        EXECUTE pg_catalog.format('ALTER OPERATOR FAMILY gpu.%I USING gpu_kary ADD OPERATOR 16 gpu.#< (anyelement, record), '
                                  'OPERATOR 17 gpu.#<= (anyelement, record), OPERATOR 18 gpu.#>= (anyelement, record), '
                                  'OPERATOR 19 gpu.#> (anyelement, record)', family);
    END LOOP;
END
$$;

-- Strategy numbers are src/grid/format.h's.
CREATE OPERATOR FAMILY gpu.point_ops USING gpu_grid;
COMMENT ON OPERATOR FAMILY gpu.point_ops USING gpu_grid IS 'points';

CREATE OPERATOR CLASS gpu.point_ops
DEFAULT FOR TYPE point USING gpu_grid FAMILY gpu.point_ops AS
    OPERATOR 6 <@ (point, box),
    OPERATOR 7 <@ (point, circle),
    OPERATOR 8 ~= (point, point),
    OPERATOR 15 <-> (point, point) FOR ORDER BY pg_catalog.float_ops;
COMMENT ON OPERATOR CLASS gpu.point_ops USING gpu_grid IS 'points of a plane, two dimensions';

-- gpu_column: one operator class for all types but boolean, which has its own for the reason that gpu.hash_ops has none
-- of it. Its family has the operators of each type's default operator class for btree, and equality of those that only
-- have one for hash, under btree's numbers; the negators of equalities; and the operators of patterns on text. Types
-- that are created later are added by hand:
--   ALTER OPERATOR FAMILY gpu.column_ops USING gpu_column ADD OPERATOR 3 = (citext, citext);
-- Strategy numbers are src/column/operators.h's.

CREATE FUNCTION gpu.gpu_column_handler(internal)
RETURNS index_am_handler
AS 'MODULE_PATHNAME', 'pg_gpu_column_handler'
LANGUAGE C;
COMMENT ON FUNCTION gpu.gpu_column_handler(internal) IS 'gpu_column index access method handler';

CREATE ACCESS METHOD gpu_column TYPE INDEX HANDLER gpu.gpu_column_handler;
COMMENT ON ACCESS METHOD gpu_column IS 'dictionary-compressed columns';

CREATE OPERATOR FAMILY gpu.column_ops USING gpu_column;
COMMENT ON OPERATOR FAMILY gpu.column_ops USING gpu_column IS 'values of any type';

CREATE OPERATOR CLASS gpu.column_ops
DEFAULT FOR TYPE anyelement USING gpu_column FAMILY gpu.column_ops AS
    STORAGE anyelement;
COMMENT ON OPERATOR CLASS gpu.column_ops USING gpu_column IS 'values of any type that has an equality, but boolean';

DO $$
DECLARE
    operators text;
BEGIN
    WITH member AS (
        SELECT amopopr, amopstrategy, amoplefttype, amoprighttype, amname
        FROM pg_catalog.pg_amop JOIN pg_catalog.pg_am ON pg_am.oid = amopmethod
        WHERE amname IN ('btree', 'hash') AND amoppurpose = 's' AND amoplefttype <> 'bool'::pg_catalog.regtype
          AND EXISTS (SELECT FROM pg_catalog.pg_opclass
                      WHERE opcfamily = amopfamily AND opcintype = amoplefttype AND opcdefault)
    ), ordered AS (
        SELECT amopopr AS operator, amopstrategy AS strategy FROM member WHERE amname = 'btree'
        UNION
        SELECT amopopr, 3 FROM member AS hashed
        WHERE amname = 'hash'
          AND NOT EXISTS (SELECT FROM member AS ordered
                          WHERE ordered.amname = 'btree' AND ordered.amopstrategy = 3
                            AND ordered.amoplefttype = hashed.amoplefttype AND ordered.amoprighttype = hashed.amoprighttype)
    ), negated AS (
        SELECT oprnegate, 6 FROM ordered JOIN pg_catalog.pg_operator ON pg_operator.oid = operator
        WHERE strategy = 3 AND oprnegate <> 0
    ), patterns AS (
        SELECT pg_operator.oid, 6 + place
        FROM pg_catalog.unnest(ARRAY['~~', '!~~', '~~*', '!~~*', '~', '!~', '~*', '!~*', '^@', '~<~', '~<=~', '~>=~', '~>~'])
             WITH ORDINALITY AS pattern(name, place)
             JOIN pg_catalog.pg_operator ON oprname = name AND oprnamespace = 'pg_catalog'::pg_catalog.regnamespace
        WHERE oprleft IN ('text'::pg_catalog.regtype, 'name'::pg_catalog.regtype, 'bpchar'::pg_catalog.regtype, 'bytea'::pg_catalog.regtype)
          AND oprright IN ('text'::pg_catalog.regtype, 'bpchar'::pg_catalog.regtype, 'bytea'::pg_catalog.regtype)
          AND oprresult = 'bool'::pg_catalog.regtype
    )
    SELECT pg_catalog.string_agg(pg_catalog.format('OPERATOR %s %s', strategy, operator::pg_catalog.regoperator), ', '
                                 ORDER BY operator, strategy)
    INTO operators
    FROM (SELECT * FROM ordered UNION SELECT * FROM negated UNION SELECT * FROM patterns) AS every(operator, strategy);
    EXECUTE 'ALTER OPERATOR FAMILY gpu.column_ops USING gpu_column ADD ' || operators;
END
$$;

CREATE OPERATOR FAMILY gpu.bool_ops USING gpu_column;
COMMENT ON OPERATOR FAMILY gpu.bool_ops USING gpu_column IS 'booleans';

CREATE OPERATOR CLASS gpu.bool_ops
DEFAULT FOR TYPE bool USING gpu_column FAMILY gpu.bool_ops AS
    OPERATOR 1 < (bool, bool),
    OPERATOR 2 <= (bool, bool),
    OPERATOR 3 = (bool, bool),
    OPERATOR 4 >= (bool, bool),
    OPERATOR 5 > (bool, bool),
    OPERATOR 6 <> (bool, bool);
COMMENT ON OPERATOR CLASS gpu.bool_ops USING gpu_column IS 'booleans';
