-- The SQL surface that users may build on: what exists, with which signature.
BEGIN;
SELECT no_plan();

SELECT has_schema('gpu', 'schema gpu exists');
SELECT has_extension('pg_gpu', 'extension pg_gpu is here');
SELECT is((SELECT string_agg(DISTINCT oprnamespace::regnamespace || ' ' || oprname, ', ' ORDER BY oprnamespace::regnamespace || ' ' || oprname)
           FROM pg_operator JOIN pg_depend ON classid = 'pg_operator'::regclass AND objid = pg_operator.oid
           JOIN pg_extension ON refclassid = 'pg_extension'::regclass AND refobjid = pg_extension.oid AND extname = 'pg_gpu'),
          'gpu #<, gpu #<=, gpu #>, gpu #>=, gpu <=>, gpu @@?, public <@>, public @@@', 'operators that users write are in the schema that the extension was made in');
SELECT is((SELECT extrelocatable FROM pg_extension WHERE extname = 'pg_gpu'), false, 'which can''t be changed later');
SELECT is((SELECT installed_version FROM pg_available_extensions WHERE name = 'pg_gpu'),
          (SELECT default_version FROM pg_available_extensions WHERE name = 'pg_gpu'), 'the default version is installed');

-- Functions: argument names, types and defaults, and result columns.
CREATE TEMP TABLE wanted (name text, arguments text, result text, rows bool);
INSERT INTO wanted VALUES
  ('accelerate', 'table_name regclass, columns name[] DEFAULT NULL::name[], apply boolean DEFAULT true, statements integer DEFAULT 1000',
   'TABLE(index_name regclass, column_name name, reason text, calls bigint, milliseconds double precision, bytes bigint, '
   'write_microseconds double precision)', true),
  ('advise', 'statements integer DEFAULT 200',
   'TABLE(advice text, table_name regclass, command text, queryid bigint, query text, calls bigint, milliseconds double precision, '
   'cost double precision, cost_with double precision, bytes bigint)', true),
  ('begin_bigrams', 'internal, integer', 'internal', false),
  ('begin_trigrams', 'internal, integer', 'internal', false),
  ('bm25_distance', 'tsvector, gpu.bm25_query', 'real', false),
  ('bm25_query_in', 'cstring', 'gpu.bm25_query', false),
  ('bm25_query_out', 'gpu.bm25_query', 'cstring', false),
  ('byte_histogram', 'image bytea', 'bigint[]', false),
  ('byte_histogram', 'images bytea[]', 'TABLE(ordinal bigint, counts bigint[])', true),
  ('configuration_renamed', '', 'event_trigger', false),
  ('columns', 'index regclass', 'TABLE(column_name name, encoding text, distinct_values bigint, bits integer, bytes bigint)', true),
  ('count', 'index regclass, filter text', 'bigint', false),
  ('count', 'index regclass, filter text, VARIADIC params "any"', 'bigint', false),
  ('count', 'index regclass, low anyarray, high anyarray', 'bigint', false),
  ('count', 'index regclass, low record, high record', 'bigint', false),
  ('count_batch', 'index regclass, low anyarray, high anyarray', 'TABLE(ordinal bigint, count bigint)', true),
  ('decelerate', 'table_name regclass', 'TABLE(index_name text, bytes bigint)', true),
  ('devices', NULL,
   'TABLE(device integer, name text, compute_capability text, memory_total bigint, memory_free bigint, engine text, uuid text, pci_id text, memory_limit bigint, memory_used bigint, state text, reason text)', true),
  ('dictionary', 'index regclass, column_name name, filter text DEFAULT NULL::text', 'TABLE(value text, count bigint)', true),
  ('dictionary', 'index regclass, column_name name, filter text, VARIADIC params "any"', 'TABLE(value text, count bigint)', true),
  ('distance', 'text, gpu.bm25_query', 'real', false),
  ('distance', 'text, text', 'real', false),
  ('distance', 'text, tsquery', 'real', false),
  ('distance', 'jsonb, gpu.bm25_query', 'real', false),
  ('distance', 'jsonb, text', 'real', false),
  ('distance', 'jsonb, tsquery', 'real', false),
  ('distance', 'text[], gpu.bm25_query', 'real', false),
  ('distance', 'text[], text', 'real', false),
  ('distance', 'text[], tsquery', 'real', false),
  ('end_grams', 'internal', 'void', false),
  ('evict', 'index regclass', 'bigint', false),
  ('evict_all', '', 'bigint', false),
  ('evict_database', 'database name DEFAULT current_database()', 'bigint', false),
  ('evict_run', 'run_id bigint', 'bigint', false),
  ('explain_why', 'query text',
   'TABLE(node text, candidate text, used boolean, reason text, cost double precision, other_cost double precision)', true),
  ('fuzzy_query', 'index regclass, query text, distance integer DEFAULT 1', 'tsquery', false),
  ('fuzzy_query', 'index regclass, query tsquery, distance integer DEFAULT 1', 'tsquery', false),
  ('histogram',
   'index regclass, column_name name, bins integer DEFAULT 256, low double precision DEFAULT NULL::double precision, '
   'high double precision DEFAULT NULL::double precision, filter text DEFAULT NULL::text',
   'TABLE(bin integer, lower double precision, upper double precision, count bigint)', true),
  ('histogram',
   'index regclass, column_name name, bins integer, low double precision, high double precision, filter text, VARIADIC params "any"',
   'TABLE(bin integer, lower double precision, upper double precision, count bigint)', true),
  ('index_rows', NULL,
   'TABLE(index_name regclass, table_name regclass, method text, state text, problem text, bytes bigint, runs integer, entries bigint, '
   'dead_share double precision, resident_share double precision, merges bigint, last_merge timestamp with time zone, merges_deferred bigint, '
   'last_deferred timestamp with time zone, fallbacks bigint, last_fallback timestamp with time zone, last_reason text, reasons text[], '
   'reason_counts bigint[])', true),
  ('gram_types', 'internal', 'internal', false),
  ('intersect', 'index regclass, lexemes text[]', 'SETOF tid', true),
  ('last_gram_lexemes', 'internal, internal, internal, internal', 'internal', false),
  ('latency_rows', NULL, 'TABLE(path text, request text, up_to_ms double precision, requests bigint, all_up_to bigint)', true),
  ('load', 'index regclass, pinned boolean DEFAULT false', 'bigint', false),
  ('lookup', 'index regclass, keys anyarray', 'TABLE(ordinal bigint, tid tid)', true),
  ('match_selectivity', 'internal, oid, internal, integer', 'double precision', false),
  ('matching_query', 'index regclass, query text', 'gpu.bm25_query', false),
  ('matching_query', 'index regclass, query tsquery', 'gpu.bm25_query', false),
  ('matches', 'text, gpu.bm25_query', 'boolean', false),
  ('matches', 'text, text', 'boolean', false),
  ('matches', 'text, tsquery', 'boolean', false),
  ('matches', 'jsonb, gpu.bm25_query', 'boolean', false),
  ('matches', 'jsonb, text', 'boolean', false),
  ('matches', 'jsonb, tsquery', 'boolean', false),
  ('matches', 'text[], gpu.bm25_query', 'boolean', false),
  ('matches', 'text[], text', 'boolean', false),
  ('matches', 'text[], tsquery', 'boolean', false),
  ('may_match', 'text, gpu.bm25_query', 'boolean', false),
  ('may_match', 'jsonb, gpu.bm25_query', 'boolean', false),
  ('may_match', 'text[], gpu.bm25_query', 'boolean', false),
  ('merge', 'index regclass',
   'TABLE(step text, column_name name, entries bigint, bytes bigint, milliseconds double precision, path text)', true),
  ('mirror_rows', NULL,
   'TABLE(index_name regclass, run_id bigint, kind text, entries bigint, bytes bigint, device integer, part integer, parts integer, '
   'pinned boolean, loaded_at timestamp with time zone, last_used timestamp with time zone, hits bigint, path text)', true),
  ('next_gram', 'internal, internal, internal', 'internal', false),
  ('progress_rows', NULL,
   'TABLE(pid integer, datname name, usename name, command text, index_name regclass, phase text, tuples_done bigint, tuples_total bigint, '
   'started timestamp with time zone)', true),
  ('query', 'index regclass, query tsquery', 'gpu.bm25_query', false),
  ('ranking_query', 'index regclass, query text', 'gpu.bm25_query', false),
  ('ranking_query', 'index regclass, query tsquery', 'gpu.bm25_query', false),
  ('runs', 'index regclass',
   'TABLE(run_id bigint, level integer, entries bigint, dead bigint, pages bigint, bytes bigint)', true),
  ('search', 'index regclass, query tsquery, k integer DEFAULT 10, mode text DEFAULT ''and_or''::text', 'TABLE(tid tid, score real)', true),
  ('search_batch', 'index regclass, queries tsquery[], k integer DEFAULT 10, mode text DEFAULT ''and_or''::text',
   'TABLE(ordinal bigint, tid tid, score real)', true),
  ('server_row', NULL,
   'TABLE(pid integer, started timestamp with time zone, version text, state text, reason text, host text, cuda text, cuda_reason text, '
   'host_memory_used bigint, host_memory_limit bigint, device_memory_used bigint, device_memory_limit bigint, transfer_memory_used bigint, '
   'transfer_memory_limit bigint, connections integer, queued integer, loads bigint, evictions bigint, refusals bigint, turned_away bigint, '
   'restarts bigint, last_error text, last_error_at timestamp with time zone)', false),
  ('stat_reset', '', 'void', false),
  ('stat_rows', NULL,
   'TABLE(path text, request text, requests bigint, items bigint, bytes bigint, milliseconds double precision, '
   'fallbacks bigint, last_reason text)', true),
  ('summary', 'index regclass, column_name name, filter text DEFAULT NULL::text',
   'TABLE(count bigint, nulls bigint, distinct_values bigint, minimum text, maximum text, sum numeric, mean double precision)', false),
  ('summary', 'index regclass, column_name name, filter text, VARIADIC params "any"',
   'TABLE(count bigint, nulls bigint, distinct_values bigint, minimum text, maximum text, sum numeric, mean double precision)', false),
  ('row_bound', 'anyelement, record', 'boolean', false),
  ('refusing_support', 'internal', 'internal', false),
  ('short_word_lexemes', 'internal, internal, internal, internal', 'internal', false),
  ('typed_support', 'internal', 'internal', false),
  ('verify', 'index regclass, heap boolean DEFAULT true', 'TABLE(block bigint, tid tid, problem text)', true);
-- OUT columns and RETURNS TABLE are the same to a user: compare names and types of columns.
CREATE FUNCTION pg_temp.result_columns(f oid) RETURNS text LANGUAGE sql AS $$
  SELECT CASE WHEN proargmodes IS NULL OR NOT proargmodes && '{o,t}' THEN pg_get_function_result(f)
    ELSE (SELECT 'TABLE(' || string_agg(proargnames[i] || ' ' || format_type(proallargtypes[i], NULL), ', ' ORDER BY i) || ')'
          FROM generate_subscripts(proallargtypes, 1) AS i WHERE proargmodes[i] IN ('o', 't')) END
  FROM pg_proc WHERE oid = f
$$;
CREATE FUNCTION pg_temp.input_arguments(f oid) RETURNS text LANGUAGE sql AS $$
  SELECT string_agg(trim(a), ', ' ORDER BY n)
  FROM regexp_split_to_table(pg_get_function_arguments(f), ', ') WITH ORDINALITY AS t(a, n)
  WHERE a NOT LIKE 'OUT %'
$$;
SELECT results_eq(
  $$ SELECT p.proname::text COLLATE "C", pg_temp.input_arguments(p.oid) COLLATE "C", pg_temp.result_columns(p.oid), p.proretset
     FROM pg_proc AS p WHERE pronamespace = 'gpu'::regnamespace AND prorettype <> 'index_am_handler'::regtype
     ORDER BY 1, 2 $$,
  $$ SELECT name COLLATE "C", arguments COLLATE "C", result, rows FROM wanted ORDER BY 1, 2 $$,
  'schema gpu has these functions and no others');
SELECT is((SELECT count(*) FROM pg_proc WHERE pronamespace = 'gpu'::regnamespace AND prorettype = 'index_am_handler'::regtype),
          4::bigint, 'and four access method handlers');

-- Labels the planner acts on. Those that read an index see what the snapshot sees, so they are stable; they keep counters and a
-- connection of the session's, so parallel workers leave them to the leader. Costs are in operators' of 2.5 ns or so: a request to the
-- server process costs some 1,000, a pass over a column more.
CREATE TEMP TABLE label (name text, arguments int, volatile text, parallel text, cost int, rows int);
INSERT INTO label VALUES
  ('accelerate', 4, 'v', 'u', 1000000, 20), ('advise', 1, 'v', 'u', 1000000, 10), ('decelerate', 1, 'v', 'u', 1000, 1),
  ('bm25_distance', 2, 'i', 's', 10, 0), ('bm25_query_in', 1, 'i', 's', 1, 0), ('bm25_query_out', 1, 's', 's', 1, 0),
  ('byte_histogram', 1, 'i', 's', 100, 0), ('byte_histogram', 1, 'i', 's', 1000, 100),
  ('columns', 1, 's', 'r', 10000, 10), ('configuration_renamed', 0, 'v', 'u', 1, 0),
  ('count', 2, 's', 'r', 10000, 0), ('count', 3, 's', 'r', 10000, 0), ('count', 3, 's', 'r', 1000, 0), ('count', 3, 's', 'r', 1000, 0), ('count_batch', 3, 's', 'r', 10000, 1000),
  ('devices', 0, 'v', 'r', 1000, 1), ('dictionary', 3, 's', 'r', 10000, 1000), ('dictionary', 4, 's', 'r', 10000, 1000), ('evict', 1, 'v', 'u', 1000, 0),
  ('evict_all', 0, 'v', 'u', 1000, 0), ('evict_database', 1, 'v', 'u', 1000, 0), ('evict_run', 1, 'v', 'u', 1000, 0),
  ('explain_why', 1, 'v', 'u', 10000, 3),
  ('histogram', 6, 's', 'r', 10000, 260), ('histogram', 7, 's', 'r', 10000, 260), ('index_rows', 0, 'v', 'u', 10000, 20), ('intersect', 2, 's', 'r', 1000, 1000), ('latency_rows', 0, 'v', 'r', 1000, 100), ('load', 2, 'v', 'u', 100000, 0),
  ('lookup', 2, 's', 'r', 1000, 1000), ('merge', 1, 'v', 'u', 1000000, 10), ('mirror_rows', 0, 'v', 'r', 1000, 100),
  ('progress_rows', 0, 'v', 'r', 1000, 5), ('query', 2, 's', 'r', 1000, 0), ('runs', 1, 'v', 'r', 100, 10), ('search', 4, 's', 'r', 1000, 10), ('search_batch', 4, 's', 'r', 10000, 1000),
  ('server_row', 0, 'v', 'r', 1000, 0), ('stat_reset', 0, 'v', 'r', 1000, 0), ('stat_rows', 0, 'v', 'r', 1000, 50), ('summary', 3, 's', 'r', 10000, 0), ('summary', 4, 's', 'r', 10000, 0),
  ('verify', 2, 'v', 'r', 1000000, 10), ('typed_support', 1, 'i', 's', 1, 0), ('row_bound', 2, 'i', 's', 1, 0), ('refusing_support', 1, 'i', 's', 1, 0), ('match_selectivity', 4, 's', 's', 1, 0),
  ('ranking_query', 2, 's', 'r', 1000, 0), ('ranking_query', 2, 's', 'r', 1000, 0), ('matching_query', 2, 's', 's', 10, 0), ('matching_query', 2, 's', 's', 10, 0),
  ('fuzzy_query', 3, 's', 'r', 10000, 0), ('fuzzy_query', 3, 's', 'r', 10000, 0),
  ('begin_bigrams', 2, 'i', 's', 1, 0), ('begin_trigrams', 2, 'i', 's', 1, 0), ('next_gram', 3, 'i', 's', 1, 0), ('end_grams', 1, 'i', 's', 1, 0), ('gram_types', 1, 'i', 's', 1, 0),
  ('last_gram_lexemes', 4, 'i', 's', 1, 0), ('short_word_lexemes', 4, 'i', 's', 1, 0);
-- @@@ and <@>: text, jsonb and text[] with a value of the index, what was typed, and a tsquery.
INSERT INTO label SELECT f, 2, CASE q WHEN 1 THEN 'i' ELSE 's' END, 's', 5000, 0 FROM unnest('{matches,distance}'::text[]) AS f, generate_series(1, 3) AS q, generate_series(1, 3);
INSERT INTO label SELECT 'may_match', 2, 'i', 's', 1, 0 FROM generate_series(1, 3);
SELECT bag_eq(
  $$ SELECT proname::text, pronargs::int, provolatile::text, proparallel::text, procost::int, prorows::int
     FROM pg_proc WHERE pronamespace = 'gpu'::regnamespace AND prorettype <> 'index_am_handler'::regtype $$,
  'SELECT * FROM label', 'volatility, parallel safety, cost and rows of each function are these');
SELECT set_eq(
  $$ SELECT proname::text, prosecdef FROM pg_proc WHERE pronamespace = 'gpu'::regnamespace AND (prosecdef OR proleakproof) $$,
  $$ VALUES ('may_match', false) $$,
  'no function runs as its owner, and none claims to be leakproof but the one that looks at nothing');
SELECT is_empty(
  $$ SELECT proname FROM pg_proc WHERE pronamespace = 'gpu'::regnamespace AND proname LIKE 'count%' AND proisstrict AND pronargs > 2 $$,
  'gpu.count takes NULL bounds');
SELECT is_empty(
  $$ SELECT proname FROM pg_proc WHERE pronamespace = 'gpu'::regnamespace AND prolang <> (SELECT oid FROM pg_language WHERE lanname = 'c') $$,
  'every function is in C');
SELECT is_empty(
  $$ SELECT proname FROM pg_proc WHERE pronamespace = 'gpu'::regnamespace AND probin IS DISTINCT FROM '$libdir/pg_gpu' $$,
  'and in this library');

-- A comment on everything the extension made. From 17 on the types that come with another type or a view are members too.
SELECT is_empty(
  $$ SELECT pg_describe_object(classid, objid, objsubid) FROM pg_depend
     WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
       AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_gpu')
       AND obj_description(objid, classid::regclass::name) IS NULL
       AND NOT EXISTS (SELECT FROM pg_type AS t LEFT JOIN pg_class AS c ON c.oid = t.typrelid
                       WHERE classid = 'pg_type'::regclass AND t.oid = objid AND (t.typcategory = 'A' OR c.relkind <> 'c')) $$,
  'every object has a comment');
SELECT isnt(obj_description((SELECT oid FROM pg_extension WHERE extname = 'pg_gpu'), 'pg_extension'), NULL,
            'so has the extension');

-- The access method.
SELECT results_eq($$ SELECT amtype::text FROM pg_am WHERE amname IN ('gpu_kary', 'gpu_grid', 'gpu_text', 'gpu_column') $$, ARRAY['i', 'i', 'i', 'i'],
                  'gpu_kary, gpu_grid, gpu_text and gpu_column are index access methods');
SELECT set_eq(
  $$ SELECT amname::text FROM pg_am JOIN pg_depend ON objid = pg_am.oid AND classid = 'pg_am'::regclass AND deptype = 'e'
     WHERE refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_gpu') $$,
  ARRAY['gpu_kary', 'gpu_grid', 'gpu_text', 'gpu_column'], 'there are no others of the extension');

-- Settings: they exist once the library is loaded.
LOAD 'pg_gpu';
SELECT results_eq(
  $$ SELECT name, vartype, context, boot_val FROM pg_settings WHERE name = 'pg_gpu.path' $$,
  $$ VALUES ('pg_gpu.path', 'enum', 'user', 'auto') $$, 'pg_gpu.path is an enum any user may set');
SELECT set_eq(
  $$ SELECT unnest(enumvals) FROM pg_settings WHERE name = 'pg_gpu.path' $$,
  ARRAY['auto', 'paged', 'host', 'cuda'], 'with four values');
SELECT is_empty($$ SELECT name FROM pg_settings WHERE name LIKE 'pg\_gpu.%' AND coalesce(short_desc, '') = '' $$,
                'every setting describes itself');
SELECT throws_ok($$ SET pg_gpu.no_such_setting = 1 $$, '42602', NULL, 'the prefix is reserved');

SELECT * FROM finish();
ROLLBACK;
