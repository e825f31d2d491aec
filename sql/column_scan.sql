-- Bitmap scans of gpu_column give what a sequential scan gives, for every operator of its family.
SET search_path = public;
SET pg_gpu.enable_query = off;
CREATE TYPE column_mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE column_scan (id int4, i2 int2, i8 int8, f4 float4, f8 float8, d date, ts timestamp, tz timestamptz, t text COLLATE "C", n numeric,
                          b bool, m column_mood, u uuid, ba bytea, iv interval, a int[], r int4range, c "char", bp char(5), j jsonb, x xid, ip inet);
-- 4,000 rows built, 2,000 in runs and the tail, some dead.
INSERT INTO column_scan
SELECT g, g % 100, g * 12345678901, g % 50 / 4.0::float4,
       CASE g % 6 WHEN 0 THEN 'NaN'::float8 WHEN 1 THEN '-0' WHEN 2 THEN 0 WHEN 3 THEN 'Infinity' WHEN 4 THEN '-Infinity' ELSE g END,
       CASE WHEN g % 50 = 0 THEN 'infinity' ELSE '2000-01-01'::date + g END, '2000-01-01'::timestamp + g * interval '7 hours',
       '2000-01-01 UTC'::timestamptz + g * interval '7 hours', CASE WHEN g % 11 > 0 THEN 'T' || g % 300 END, (g % 40)::numeric / 8, g % 3 = 0,
       (ARRAY['sad', 'ok', 'happy'])[g % 3 + 1]::column_mood, md5((g % 20)::text)::uuid, decode(md5((g % 20)::text), 'hex'),
       g % 30 * interval '1 day', ARRAY[g % 5, g % 3], int4range(g % 10, g % 10 + 5), chr(65 + g % 26)::"char", (g % 77)::text,
       jsonb_build_object('k', g % 9), (g % 5)::text::xid, ('10.0.0.' || g % 200)::inet
FROM generate_series(1, 4000) AS g;
CREATE INDEX column_scan_i ON column_scan USING gpu_column
  (id, i2, i8, f4, f8, d, ts, tz, t, n, b, m, u, ba, iv, a, r, c, bp, j, x, ip) WITH (fanout = 2);
INSERT INTO column_scan SELECT id + 4000, i2, i8, f4, f8, d, ts, tz, t, n, b, m, u, ba, iv, a, r, c, bp, j, x, ip FROM column_scan WHERE id <= 2000;
INSERT INTO column_scan (id) SELECT g FROM generate_series(6001, 6100) AS g;
DELETE FROM column_scan WHERE id % 17 = 0;
VACUUM column_scan;
DELETE FROM column_scan WHERE id % 19 = 0;
UPDATE column_scan SET n = n + 1 WHERE id % 23 = 0;
ANALYZE column_scan;
SELECT * FROM gpu.verify('column_scan_i');

-- Counts and sums of ids by bitmap scan, counts by count scan where the planner takes one, and by sequential scan; rows only
-- where they differ or the index wasn't used.
CREATE FUNCTION column_differences(conditions text[]) RETURNS TABLE (condition text, problem text) LANGUAGE plpgsql AS $$
DECLARE
    by_index text;
    by_scan text;
    counted text;
    line text;
    used bool;
BEGIN
    FOREACH condition IN ARRAY conditions LOOP
        PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'on', true);
        EXECUTE 'SELECT count(*) || '' '' || coalesce(sum(id), 0) FROM column_scan WHERE ' || condition INTO by_index;
        used := false;
        EXECUTE 'SELECT count(*) FROM column_scan WHERE ' || condition INTO counted;
        FOR line IN EXECUTE 'EXPLAIN (COSTS off) SELECT count(*), sum(id) FROM column_scan WHERE ' || condition LOOP
            used := used OR line LIKE '%Bitmap Index Scan on column_scan_i%';
        END LOOP;
        PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_bitmapscan', 'off', true);
        EXECUTE 'SELECT count(*) || '' '' || coalesce(sum(id), 0) FROM column_scan WHERE ' || condition INTO by_scan;
        IF NOT used THEN
            problem := 'the index is not used';
            RETURN NEXT;
        ELSIF by_index <> by_scan OR counted <> split_part(by_scan, ' ', 1) THEN
            problem := by_index || ' and ' || counted || ' instead of ' || by_scan;
            RETURN NEXT;
        END IF;
    END LOOP;
END
$$;
CREATE FUNCTION column_comparisons(name text, argument text) RETURNS text[] LANGUAGE sql AS $$
    SELECT array_agg(format('%s %s %s', name, o, argument)) FROM unnest(ARRAY['<', '<=', '=', '>=', '>', '<>']) AS o
$$;
SELECT d.* FROM (VALUES
  ('id', '3000'), ('id', '3000::int8'), ('id', '3000::int2'), ('id', '99999999999'), ('i2', '50::int2'), ('i2', '-1'), ('i2', '100000'),
  ('i8', '12345678901'), ('i8', '0'), ('f4', '2.25::float4'), ('f4', '2.3::float8'), ('f8', '0'), ('f8', '''-0''::float8'),
  ('f8', '''NaN''::float8'), ('f8', '''Infinity''::float4'), ('f8', '''-Infinity''::float8'), ('f8', '100.5'), ('d', '''2005-01-01''::date'),
  ('d', '''infinity''::date'), ('d', '''2005-01-01 12:00''::timestamp'), ('d', '''2005-01-01 12:00+03''::timestamptz'),
  ('ts', '''2001-01-01''::timestamp'), ('ts', '''2001-01-01''::date'), ('ts', '''2001-03-25 02:30''::timestamptz'),
  ('tz', '''2001-01-01''::timestamptz'), ('tz', '''2001-01-01''::date'), ('tz', '''2001-01-01''::timestamp'), ('t', '''T2'''), ('t', ''''''), ('n', '1.50'),
  ('n', '3'), ('m', '''ok'''), ('u', '''c4ca4238-a0b9-2382-0dcc-509a6f75849b'''), ('ba', '''\xc4ca''::bytea'), ('iv', '''10 days'''),
  ('a', 'ARRAY[1, 2]'), ('r', 'int4range(3, 8)'), ('c', '''M''::"char"'), ('bp', '''17''::bpchar'), ('j', '''{"k": 3}'''), ('ip', '''10.0.0.17''')
) AS v(name, argument), LATERAL column_differences(column_comparisons(name, argument)) AS d;
SELECT * FROM column_differences(ARRAY[
  'x = ''3''::xid', 'x <> ''3''::xid', 'b > false', 'b = ANY (''{f}'')', 't IS NULL', 'i2 IS NOT NULL', 'i2 IS NULL AND t IS NULL', 'i2 IS NULL AND i2 = 3',
  'id = ANY (''{1,5,NULL,3000,3000,-7}'')', 'id = ANY (''{}'')', 'id = ANY (NULL::int[])', 'i2 < ANY (''{3,5}'')', 't = ANY (''{T1,T20,x}'')',
  'n = ANY (''{1.5,2.0}'')', 't = ANY (ARRAY(SELECT ''T'' || 3 * g FROM generate_series(1, 200) AS g))', 'u = ANY (ARRAY[''c4ca4238-a0b9-2382-0dcc-509a6f75849b'']::uuid[])', 't LIKE ''T1%''', 't LIKE ''%9''', 't NOT LIKE ''%9''', 't ILIKE ''t2_''', 't NOT ILIKE ''t2_''', 't ~ ''^T.5$''', 't !~ ''5''',
  't ~* ''t1+$''', 't !~* ''T1''', 't ^@ ''T3''', 't ~<~ ''T2''', 't ~>=~ ''T2''', 'bp LIKE ''1%''', 'bp ~ ''^2''', 'id > 100 AND id < 3000 AND t LIKE ''T1%'' AND n > 2',
  'f8 > 5 AND f4 < 3 AND i8 > 100', 'tz > ''2000-05-01'' AND m = ''sad'' AND j = ''{"k": 3}''']);
-- All rows.
SELECT * FROM column_differences(ARRAY['id IS NOT NULL', 'id > 0']);

-- Parameters, rescans, joins.
SET enable_seqscan = off;
PREPARE column_by_text(text) AS SELECT count(*) FROM column_scan WHERE t LIKE $1;
EXECUTE column_by_text('T1%');
EXECUTE column_by_text(NULL);
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT v, (SELECT count(*) FROM column_scan WHERE i2 = v AND b > false) FROM generate_series(1, 5) AS v;
RESET enable_hashjoin;
RESET enable_mergejoin;

-- An operator's error is about a row that is there, or there is none.
CREATE TABLE column_error (t text COLLATE "C");
INSERT INTO column_error VALUES ('ab'), ('abc'), ('b');
CREATE INDEX column_error_i ON column_error USING gpu_column (t);
SELECT count(*) FROM column_error WHERE t LIKE 'ab\';
DELETE FROM column_error WHERE t LIKE 'ab%';
SELECT count(*) FROM column_error WHERE t LIKE 'ab\';
SELECT gpu.count('column_error_i', $$t LIKE 'ab\'$$);
VACUUM column_error;
SELECT count(*) FROM gpu.merge('column_error_i');
SELECT gpu.count('column_error_i', $$t LIKE 'ab\'$$), gpu.count('column_error_i', $$t LIKE 'x\\'$$);

-- Collations that take different strings for equal.
CREATE COLLATION column_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE column_collation (t text COLLATE column_case);
INSERT INTO column_collation SELECT (ARRAY['Abc', 'aBC', 'abd', 'ABD', 'x'])[g % 5 + 1] FROM generate_series(1, 1000) AS g;
CREATE INDEX column_collation_i ON column_collation USING gpu_column (t);
SELECT count(*) FROM column_collation WHERE t = 'ABC';
SELECT gpu.count('column_collation_i', 't = ''ABC''');
SELECT count, lower(value) FROM gpu.dictionary('column_collation_i', 't');
SELECT distinct_values, lower(minimum), maximum FROM gpu.summary('column_collation_i', 't');
RESET enable_seqscan;

-- Entries of rows whose blocks are gone.
CREATE TABLE column_truncated AS SELECT g AS k, repeat('x', 500) AS filler FROM generate_series(1, 2000) AS g;
CREATE INDEX column_truncated_i ON column_truncated USING gpu_column (k);
DELETE FROM column_truncated WHERE k > 500;
VACUUM column_truncated;
SELECT pg_relation_size('column_truncated') < 500000 AS is_truncated;
INSERT INTO column_truncated VALUES (1001, 'y');
SELECT gpu.count('column_truncated_i', 'k > 0'), (SELECT count(*) FROM gpu.dictionary('column_truncated_i', 'k'));
SET enable_seqscan = off;
SELECT count(*), sum(length(filler)) FROM column_truncated WHERE k > 400;
RESET enable_seqscan;
SELECT * FROM gpu.verify('column_truncated_i');

-- The planner takes it where it pays.
CREATE TABLE column_plan AS SELECT g AS k, g % 1000 AS v, repeat('x', 200) AS filler FROM generate_series(1, 20000) AS g;
CREATE INDEX column_plan_i ON column_plan USING gpu_column (k, v);
VACUUM ANALYZE column_plan;
EXPLAIN (COSTS off) SELECT * FROM column_plan WHERE v = 5 AND k > 100;
EXPLAIN (COSTS off) SELECT * FROM column_plan WHERE v >= 0;
EXPLAIN (COSTS off) SELECT count(*) FROM column_plan WHERE v = 5 AND k > 100;
EXPLAIN (COSTS off) SELECT count(k) FROM column_plan WHERE v = ANY ('{1,2}');
EXPLAIN (COSTS off) SELECT count(k) FROM column_plan WHERE v IS NULL AND filler <> 'x' OR k = 1;
DROP TABLE column_truncated, column_scan, column_error, column_collation, column_plan;
DROP FUNCTION column_differences, column_comparisons;
DROP TYPE column_mood;
DROP COLLATION column_case;
