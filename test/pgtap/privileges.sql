-- Who may call what. Reading needs what a query on the table would need, merging
-- needs ownership; the schema and the functions are open to everybody.
\set ECHO none
\set QUIET 1
\pset format unaligned
\pset tuples_only true
\pset pager off
BEGIN;
SELECT no_plan();

CREATE ROLE gpu_tap_owner;
CREATE ROLE gpu_tap_member IN ROLE gpu_tap_owner;
CREATE ROLE gpu_tap_reader;
CREATE ROLE gpu_tap_column_reader;
CREATE ROLE gpu_tap_stranger;
SELECT schema_privs_are('gpu', 'gpu_tap_stranger', ARRAY['USAGE'], 'anybody may use schema gpu, nobody may add to it');
SELECT is_empty(
  $$ SELECT proname FROM pg_proc WHERE pronamespace = 'gpu'::regnamespace AND NOT has_function_privilege('gpu_tap_stranger', oid, 'EXECUTE') $$,
  'anybody may call every function');

CREATE SCHEMA gpu_tap AUTHORIZATION gpu_tap_owner;
GRANT USAGE ON SCHEMA gpu_tap TO PUBLIC;
GRANT SELECT ON ALL TABLES IN SCHEMA pg_temp TO PUBLIC;
SET ROLE gpu_tap_owner;
CREATE TABLE gpu_tap.t (k int4, secret int);
INSERT INTO gpu_tap.t SELECT i % 10, i FROM generate_series(1, 100) AS i;
CREATE INDEX t_k ON gpu_tap.t USING gpu_kary (k);
CREATE INDEX t_partial ON gpu_tap.t USING gpu_kary (k) WHERE secret > 50;
CREATE INDEX t_expression ON gpu_tap.t USING gpu_kary ((secret % 10));
GRANT SELECT ON gpu_tap.t TO gpu_tap_reader;
GRANT SELECT (k) ON gpu_tap.t TO gpu_tap_column_reader;
RESET ROLE;

-- An answer, or the error's code: one text for both, so that roles compare in one query.
CREATE FUNCTION pg_temp.outcome(role name, statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  answer text;
BEGIN
  EXECUTE format('SET LOCAL ROLE %I', role);
  EXECUTE statement INTO answer;
  RESET ROLE;
  RETURN answer;
EXCEPTION WHEN OTHERS THEN
  RETURN sqlstate;
END
$$;
CREATE FUNCTION pg_temp.outcomes(statement text) RETURNS text[] LANGUAGE sql AS $$
  SELECT array_agg(pg_temp.outcome(role, statement) ORDER BY n)
  FROM unnest(ARRAY['gpu_tap_owner', 'gpu_tap_member', 'gpu_tap_reader', 'gpu_tap_column_reader', 'gpu_tap_stranger']) WITH ORDINALITY AS r(role, n)
$$;
SELECT is(pg_temp.outcomes($$ SELECT gpu.count('gpu_tap.t_k', ARRAY[3], ARRAY[4]) $$),
  ARRAY['20', '20', '20', '20', '42501'], 'gpu.count needs SELECT on the key');
SELECT is(pg_temp.outcomes($$ SELECT gpu.count('gpu_tap.t_k', row(3), row(4)) $$),
  ARRAY['20', '20', '20', '20', '42501'], 'with records too');
SELECT is(pg_temp.outcomes($$ SELECT count(*) FROM gpu.lookup('gpu_tap.t_k', ARRAY[3]) $$),
  ARRAY['10', '10', '10', '10', '42501'], 'so does gpu.lookup');
SELECT is(pg_temp.outcomes($$ SELECT gpu.count('gpu_tap.t_partial', ARRAY[3], ARRAY[4]) $$),
  ARRAY['10', '10', '10', '42501', '42501'], 'a partial index tells of the column in its predicate');
SELECT is(pg_temp.outcomes($$ SELECT gpu.count('gpu_tap.t_expression', ARRAY[3], ARRAY[4]) $$),
  ARRAY['20', '20', '20', '42501', '42501'], 'an expression of the column in it');
SELECT is(pg_temp.outcomes($$ SELECT count(*) > 0 FROM gpu.merge('gpu_tap.t_k') $$),
  ARRAY['true', 'true', '42501', '42501', '42501'], 'gpu.merge needs ownership');

-- Row security.
ALTER TABLE gpu_tap.t ENABLE ROW LEVEL SECURITY;
CREATE POLICY some ON gpu_tap.t TO gpu_tap_reader, gpu_tap_column_reader USING (k < 4);
SELECT is((pg_temp.outcomes($$ SELECT gpu.count('gpu_tap.t_k', ARRAY[3], ARRAY[4]) $$))[1:2],
  ARRAY['20', '20'], 'the owner is free of policies');
SELECT ok(NOT (pg_temp.outcomes($$ SELECT gpu.count('gpu_tap.t_k', ARRAY[3], ARRAY[4]) $$))[3:5] && ARRAY['20', '10'],
  'whom a policy binds gets no count at all');
SELECT ok(NOT (pg_temp.outcomes($$ SELECT count(*) FROM gpu.lookup('gpu_tap.t_k', ARRAY[5]) $$))[3:5] && ARRAY['10'],
  'and finds nothing by gpu.lookup');
SELECT is(pg_temp.outcome('gpu_tap_reader', $$ SELECT count(*) FROM gpu_tap.t WHERE k BETWEEN 3 AND 4 $$),
  '10', 'while a plain query shows the rows that the policy lets through');

SELECT * FROM finish();
ROLLBACK;
