-- Who may call what. Reading needs what a query on the table would need, merging
-- needs ownership; the schema and nearly all functions are open to everybody.
BEGIN;
SELECT no_plan();

CREATE ROLE gpu_tap_owner;
CREATE ROLE gpu_tap_member IN ROLE gpu_tap_owner;
CREATE ROLE gpu_tap_reader;
CREATE ROLE gpu_tap_column_reader;
CREATE ROLE gpu_tap_stranger;
SELECT schema_privs_are('gpu', 'gpu_tap_stranger', ARRAY['USAGE'], 'anybody may use schema gpu, nobody may add to it');
SELECT set_eq(
  $$ SELECT oid::regprocedure::text FROM pg_proc WHERE pronamespace = 'gpu'::regnamespace AND NOT has_function_privilege('gpu_tap_stranger', oid, 'EXECUTE') $$,
  ARRAY['gpu.verify(regclass,boolean)'], 'gpu.verify, as amcheck''s functions are, is for whom it is granted to');

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
SELECT is(pg_temp.outcomes($$ SELECT count(*) >= 0 FROM gpu.merge('gpu_tap.t_k') $$),
  ARRAY['true', 'true', '42501', '42501', '42501'], 'gpu.merge needs ownership');

-- Code in an index belongs to the table's owner and runs as the owner, whoever
-- has the index checked or rebuilt: else an owner could lead a superuser into it.
SET ROLE gpu_tap_owner;
CREATE FUNCTION gpu_tap.as_owner(int4) RETURNS int4 IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS $$
BEGIN
  IF current_user <> 'gpu_tap_owner' THEN
    RAISE EXCEPTION 'an index expression ran as %', current_user;
  END IF;
  RETURN $1;
END
$$;
CREATE TABLE gpu_tap.coded (k int4) WITH (parallel_workers = 2);
INSERT INTO gpu_tap.coded SELECT i FROM generate_series(1, 3000) AS i;
CREATE INDEX coded_expression ON gpu_tap.coded USING gpu_kary (gpu_tap.as_owner(k));
CREATE INDEX coded_predicate ON gpu_tap.coded USING gpu_kary (k) WHERE gpu_tap.as_owner(k) > 10;
RESET ROLE;
SELECT throws_ok($$ SELECT gpu_tap.as_owner(1) $$, 'P0001', NULL, 'the function can tell who calls it');
SELECT lives_ok($$ SELECT * FROM gpu.verify('gpu_tap.coded_expression') $$, 'gpu.verify evaluates an expression as the owner');
SELECT lives_ok($$ SELECT * FROM gpu.verify('gpu_tap.coded_predicate') $$, 'and a predicate');
SELECT is_empty($$ SELECT * FROM gpu.verify('gpu_tap.coded_expression') $$, 'and finds the index sound');
SELECT lives_ok($$ SELECT * FROM gpu.merge('gpu_tap.coded_expression') $$, 'gpu.merge needs no code of the owner''s');
SELECT lives_ok($$ SELECT gpu.count('gpu_tap.coded_predicate', ARRAY[1], ARRAY[20]) $$, 'nor does gpu.count');

-- But whoever is allowed to and may read the column may verify: names in the owner's code must not lead to the caller's objects.
GRANT EXECUTE ON FUNCTION gpu.verify(regclass, bool) TO gpu_tap_reader;
SET ROLE gpu_tap_owner;
CREATE FUNCTION gpu_tap.magnitude(int4) RETURNS int4 IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN abs($1); END $$;
CREATE TABLE gpu_tap.measured (k int4);
INSERT INTO gpu_tap.measured VALUES (1), (-2);
CREATE INDEX measured_magnitude ON gpu_tap.measured USING gpu_kary (gpu_tap.magnitude(k));
GRANT SELECT ON gpu_tap.measured TO gpu_tap_reader;
RESET ROLE;
CREATE SCHEMA gpu_tap_trap AUTHORIZATION gpu_tap_reader;
GRANT USAGE ON SCHEMA gpu_tap_trap TO PUBLIC;
SET ROLE gpu_tap_reader;
CREATE FUNCTION gpu_tap_trap.abs(int4) RETURNS int4 IMMUTABLE LANGUAGE plpgsql AS
  $$ BEGIN RAISE EXCEPTION 'the caller''s code ran as %', current_user; END $$;
RESET ROLE;
CREATE FUNCTION gpu_tap.led_astray(statement text) RETURNS text LANGUAGE plpgsql SET search_path = gpu_tap_trap, pg_catalog AS $$
DECLARE
  answer text;
BEGIN
  EXECUTE statement INTO answer;
  RETURN answer;
END
$$;
SELECT is(pg_temp.outcome('gpu_tap_reader', $$ SELECT gpu_tap.led_astray('SELECT gpu_tap.magnitude(-2)') $$),
  'P0001', 'a search path can lead a function astray');
SELECT is(pg_temp.outcome('gpu_tap_reader', $$ SELECT gpu_tap.led_astray($s$ SELECT count(*) FROM gpu.verify('gpu_tap.measured_magnitude') $s$) $$),
  '0', 'but not when gpu.verify calls it as the owner');

SET LOCAL min_parallel_table_scan_size = 0;
SET LOCAL max_parallel_maintenance_workers = 2;
SELECT lives_ok($$ REINDEX TABLE gpu_tap.coded $$, 'a build runs it as the owner in parallel workers too');

-- Row security.
ALTER TABLE gpu_tap.t ENABLE ROW LEVEL SECURITY;
CREATE POLICY low_keys ON gpu_tap.t TO gpu_tap_reader, gpu_tap_column_reader USING (k < 4);
SELECT is((pg_temp.outcomes($$ SELECT gpu.count('gpu_tap.t_k', ARRAY[3], ARRAY[4]) $$))[1:2],
  ARRAY['20', '20'], 'the owner is free of policies');
SELECT is((pg_temp.outcomes($$ SELECT gpu.count('gpu_tap.t_k', ARRAY[3], ARRAY[4]) $$))[3:5],
  ARRAY['42501', '42501', '42501'], 'whom a policy binds gets no count at all');
SELECT is((pg_temp.outcomes($$ SELECT count(*) FROM gpu.lookup('gpu_tap.t_k', ARRAY[5]) $$))[3:5],
  ARRAY['42501', '42501', '42501'], 'and finds nothing by gpu.lookup');
SELECT is(pg_temp.outcome('gpu_tap_reader', $$ SELECT count(*) FROM gpu_tap.t WHERE k BETWEEN 3 AND 4 $$),
  '10', 'while a plain query shows the rows that the policy lets through');

SELECT * FROM finish();
ROLLBACK;
