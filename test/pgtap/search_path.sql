-- Functions and indexes work whatever the search path holds, and call nothing
-- that a user planted there.
BEGIN;
SELECT no_plan();

CREATE SCHEMA gpu_tap;
CREATE TABLE gpu_tap.t (k int4, l int8);
CREATE INDEX t_k ON gpu_tap.t USING gpu_kary (k);
CREATE INDEX t_l ON gpu_tap.t USING gpu_kary ((l / 2) DESC) WHERE l > 10;
INSERT INTO gpu_tap.t SELECT i, i FROM generate_series(1, 2000) AS i;

-- Traps: operators and functions that would be called if names were looked up by path.
CREATE SCHEMA trap;
CREATE TABLE trap.sprung (what text);
CREATE FUNCTION trap.operator_trap(int4, int4) RETURNS bool LANGUAGE plpgsql AS
  $$ BEGIN INSERT INTO trap.sprung VALUES ('operator'); RETURN true; END $$;
CREATE OPERATOR trap.< (LEFTARG = int4, RIGHTARG = int4, FUNCTION = trap.operator_trap);
CREATE OPERATOR trap.= (LEFTARG = int4, RIGHTARG = int4, FUNCTION = trap.operator_trap);
CREATE FUNCTION trap.count(regclass, anyarray, anyarray) RETURNS bigint LANGUAGE plpgsql AS
  $$ BEGIN INSERT INTO trap.sprung VALUES ('count'); RETURN -1; END $$;
CREATE FUNCTION trap.btint4cmp(int4, int4) RETURNS int LANGUAGE plpgsql AS
  $$ BEGIN INSERT INTO trap.sprung VALUES ('compare'); RETURN 0; END $$;
CREATE TYPE trap.tid AS (a int);

-- pgTAP's own functions are found by path, too: each path is left again at once.
CREATE FUNCTION public.gpu_tap_under(path text, statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  before constant text := pg_catalog.current_setting('search_path');
  answer text;
BEGIN
  PERFORM pg_catalog.set_config('search_path', path, true);
  EXECUTE statement INTO answer;
  PERFORM pg_catalog.set_config('search_path', before, true);
  RETURN answer;
END
$$;
CREATE TEMP TABLE path (p text);
INSERT INTO path VALUES (''), ('pg_catalog'), ('gpu'), ('trap, gpu_tap, pg_catalog'), ('trap, gpu, pg_catalog, public'), ('pg_temp'), ('no_such_schema');
SELECT is(public.gpu_tap_under(p, $$ SELECT gpu.count('gpu_tap.t_k', ARRAY[1], ARRAY[100]) $$), '100', format('gpu.count under path "%s"', p)) FROM path;
SELECT is(public.gpu_tap_under(p, $$ SELECT gpu.count('gpu_tap.t_l', ARRAY[10::pg_catalog.int8], NULL) $$), '1981', format('an expression under path "%s"', p)) FROM path;
SELECT is(public.gpu_tap_under(p, $$ SELECT pg_catalog.count(*) FROM gpu.lookup('gpu_tap.t_k', ARRAY[1, 2]) $$), '2', format('gpu.lookup under path "%s"', p)) FROM path;
SELECT is(public.gpu_tap_under(p, $$ SELECT pg_catalog.count(*) FROM gpu.verify('gpu_tap.t_k') $$), '0', format('gpu.verify under path "%s"', p)) FROM path;
SELECT is(public.gpu_tap_under(p, $$ SELECT pg_catalog.count(*) OPERATOR(pg_catalog.>) 0 FROM gpu.runs('gpu_tap.t_k') $$), 'true', format('gpu.runs under path "%s"', p)) FROM path;
SELECT is(public.gpu_tap_under(p, $$ SELECT pg_catalog.count(*) OPERATOR(pg_catalog.>=) 0 FROM gpu.merge('gpu_tap.t_k') $$), 'true', format('gpu.merge under path "%s"', p)) FROM path;

-- Inserts and scans, too.
SELECT lives_ok($$ SET LOCAL search_path = trap, pg_catalog; INSERT INTO gpu_tap.t SELECT i, i FROM pg_catalog.generate_series(3000, 4000) AS i;
                   SET LOCAL search_path = "$user", public $$, 'insert under a strange path');
SELECT is(public.gpu_tap_under('trap, pg_catalog', $$ SELECT pg_catalog.count(*) FROM gpu_tap.t WHERE k OPERATOR(pg_catalog.>=) 3000 $$), '1001', 'scan under a strange path');
SELECT is_empty($$ SELECT * FROM trap.sprung $$, 'no trap was sprung');

-- Names that need quotes, and names that look like SQL.
CREATE TABLE gpu_tap."a table; with "" marks" ("the key" int4);
CREATE INDEX "an index's name" ON gpu_tap."a table; with "" marks" USING gpu_kary ("the key");
INSERT INTO gpu_tap."a table; with "" marks" VALUES (1), (2);
SELECT is(gpu.count('gpu_tap."an index''s name"', ARRAY[1], ARRAY[1]), 1::bigint, 'names with quotes in them');
SELECT is((SELECT count(*) FROM gpu.verify('gpu_tap."an index''s name"')), 0::bigint, 'verified as well');

SELECT * FROM finish();
ROLLBACK;
