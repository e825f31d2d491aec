-- Keys of several columns.
SET timezone = 'UTC';
CREATE TABLE composite_test (a int4, b timestamptz, c int2, id int);
INSERT INTO composite_test
SELECT CASE WHEN i % 11 > 0 THEN i / 7 % 10 END, CASE WHEN i % 9 > 0 THEN timestamptz '2021-01-01 00:00:00+00' + (i * 37 % 100) * interval '1 hour' END, i % 5, i
FROM generate_series(1, 2000) AS i;
CREATE INDEX composite_ab ON composite_test USING gpu_kary (a, b DESC NULLS LAST);
CREATE INDEX composite_cab ON composite_test USING gpu_kary (c DESC, a NULLS FIRST, b);
INSERT INTO composite_test SELECT a, b, c, id + 2000 FROM composite_test;
DELETE FROM composite_test WHERE id % 13 = 0;
VACUUM (ANALYZE) composite_test;
INSERT INTO composite_test SELECT a, b, c, id + 4000 FROM composite_test WHERE id < 100;
SELECT * FROM gpu.verify('composite_ab');
SELECT * FROM gpu.verify('composite_cab');

SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET pg_gpu.enable_count_scan = off;
-- Which conditions bound the scan, and which orders it gives.
EXPLAIN (COSTS OFF) SELECT a, b FROM composite_test WHERE a = 3 AND b > '2021-01-02' ORDER BY b DESC NULLS LAST;
EXPLAIN (COSTS OFF) SELECT a, b FROM composite_test ORDER BY a DESC NULLS FIRST, b NULLS FIRST;
EXPLAIN (COSTS OFF) SELECT c, a, b FROM composite_test WHERE c = 2 AND a IS NULL AND b < '2021-01-02';
EXPLAIN (COSTS OFF) SELECT a, b FROM composite_test WHERE a = ANY ('{1,2}') AND b = '2021-01-02 00:00:00+00';
-- A comparison of rows bounds the first column alone where the second one's direction differs.
EXPLAIN (COSTS OFF) SELECT a, b FROM composite_test WHERE (a, b) > (5, '2021-01-02 00:00:00+00');

-- Each condition through the index and through the table.
CREATE FUNCTION composite_same(condition text, ordering text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  query constant text := format('SELECT count(*) || '' '' || md5(coalesce(string_agg(format(''%%s %%s %%s'', a, b, c), '','')::text, '''')) FROM (SELECT a, b, c FROM composite_test WHERE %s ORDER BY %s) AS q', condition, ordering);
  through_index text;
  through_heap text;
BEGIN
  PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', 'on', true);
  EXECUTE query INTO through_index;
  PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'off', true), set_config('enable_indexonlyscan', 'off', true);
  EXECUTE query INTO through_heap;
  PERFORM set_config('enable_indexonlyscan', 'on', true);
  RETURN split_part(through_index, ' ', 1) || CASE WHEN through_index = through_heap THEN ' as the table' ELSE ' WRONG' END;
END
$$;
SELECT condition, composite_same(condition, 'c DESC, a NULLS FIRST, b') AS up, composite_same(condition, 'c, a DESC NULLS LAST, b DESC') AS down
FROM unnest(ARRAY['c = 2', 'c = 2 AND a = 3', 'c = 2 AND a IS NULL', 'c = 2 AND a IS NULL AND b IS NULL', 'c = 2 AND a > 3', 'c = 2 AND a > 3 AND b > ''2021-01-03''',
  'c < 3 AND a = 3', 'a = 3', 'b IS NULL', 'a IS NOT NULL AND b IS NULL', 'c = ANY (''{4,1,1,NULL}'')', 'c = ANY (''{4,1}'') AND a = ANY (''{2,7,NULL,9}'')',
  'c = ANY (''{4,1}'') AND a = ANY (''{2,7}'') AND b > ''2021-01-03''', 'c = 1 AND a = ANY (''{2,7}'') AND b IS NULL', 'c > ANY (''{3,1}'') AND a < ANY (''{2,7}'')',
  'c = 2 AND c = 3', 'c = 2 AND a = 100000000000', 'c > 0 AND a = ANY (''{2,7,100000000000}''::int8[])', '(c, a) >= (2, 5)', 'c = ANY (''{}'')',
  'b BETWEEN ''2021-01-02'' AND ''2021-01-03''', 'true']) WITH ORDINALITY AS q(condition, n) ORDER BY n;

-- Functions: elements and fields belong to the columns in order.
SET enable_seqscan = on;
SELECT gpu.count('composite_cab', ARRAY[2::int2, 3], ARRAY[2::int2, 5]) AS found, (SELECT count(*) FROM composite_test WHERE c = 2 AND a BETWEEN 3 AND 5) AS wanted;
SELECT gpu.count('composite_cab', ARRAY[2::int2], ARRAY[2::int2]) AS found, (SELECT count(*) FROM composite_test WHERE c = 2) AS wanted;
SELECT gpu.count('composite_cab', row(NULL, 3), row(NULL, 3, '2021-01-02'::timestamptz)) AS found, (SELECT count(*) FROM composite_test WHERE a = 3 AND b <= '2021-01-02') AS wanted;
-- Attributes that a row type has lost are no fields.
CREATE TYPE composite_bound AS (c int2, gone text, a int4);
ALTER TYPE composite_bound DROP ATTRIBUTE gone;
SELECT gpu.count('composite_cab', row(2, 3)::composite_bound, row(2, 5)::composite_bound) AS found, (SELECT count(*) FROM composite_test WHERE c = 2 AND a BETWEEN 3 AND 5) AS wanted;
DROP TYPE composite_bound;
SELECT gpu.count('composite_cab', NULL::int4[], NULL::int4[]) AS found, (SELECT count(*) FROM composite_test) AS wanted;
SELECT b.ordinal, b.count, (SELECT count(*) FROM composite_test WHERE c >= l.c AND (l.a IS NULL OR a >= l.a) AND c <= l.c AND a <= l.a + 2) AS wanted
FROM gpu.count_batch('composite_cab', ARRAY[[0, 3], [1, 4], [4, 9]], ARRAY[[0, 5], [1, 6], [4, 11]]) AS b
JOIN (VALUES (1, 0, 3), (2, 1, 4), (3, 4, 9)) AS l(n, c, a) ON l.n = b.ordinal ORDER BY 1;
SELECT * FROM gpu.count_batch('composite_ab', ARRAY[row(3, '2021-01-02'::timestamptz), NULL, row(NULL, NULL)], NULL);
SELECT * FROM gpu.count_batch('composite_ab', NULL::int4[], ARRAY[[3], [NULL::int4], [-1]]);
SELECT * FROM gpu.count_batch('composite_ab', NULL::int4[], NULL::int4[]);
SELECT * FROM gpu.count_batch('composite_ab', '{}'::int4[], NULL::int4[]);
SELECT a, b FROM composite_test WHERE id = 25;
SELECT l.ordinal, count(*), bool_and(t.a = 3 AND t.b = '2021-01-02 01:00:00+00') AS right
FROM gpu.lookup('composite_ab', ARRAY[row(3, '2021-01-02 01:00:00+00'::timestamptz), row(3::int8, '2021-01-02 01:00:00'::timestamp), row(5, NULL), NULL,
                                      row(3, '2021-01-02 01:00:00+00'::timestamptz), row(10000000000, now())]) AS l
JOIN composite_test AS t ON t.ctid = l.tid GROUP BY l.ordinal ORDER BY l.ordinal;
SELECT count(*) AS found, (SELECT count(*) FROM composite_test WHERE a IS NOT NULL AND b IS NOT NULL) AS wanted
FROM gpu.lookup('composite_ab', (SELECT array_agg(DISTINCT row(a, b)) FROM composite_test));

-- Wrong arguments.
SELECT gpu.count('composite_ab', ARRAY[1, 2], NULL);
SELECT gpu.count('composite_ab', row(1, now(), 3), NULL);
SELECT gpu.count('composite_ab', row('x'::text), NULL);
SELECT * FROM gpu.count_batch('composite_ab', ARRAY[1, 2], NULL);
SELECT * FROM gpu.count_batch('composite_ab', ARRAY[[1], [2]], ARRAY[[1]]);
SELECT * FROM gpu.count_batch('composite_ab', ARRAY[[row(1)]], NULL);
SELECT * FROM gpu.lookup('composite_ab', ARRAY[1]);
SELECT * FROM gpu.lookup('composite_ab', ARRAY[row(1)]);
SELECT * FROM gpu.lookup('composite_ab', ARRAY[row(1, 'x'::text)]);

-- Runs of one page, merges, and a build give the same.
SELECT count(*) > 0 AS merged FROM gpu.merge('composite_cab');
SELECT * FROM gpu.verify('composite_cab');
SELECT composite_same('c = 2 AND a IS NULL', 'c DESC, a NULLS FIRST, b');
REINDEX INDEX composite_cab;
SELECT * FROM gpu.verify('composite_cab');
SELECT composite_same('true', 'c DESC, a NULLS FIRST, b');

-- A cursor turns round among rows with and without NULLs.
SET enable_seqscan = off;
BEGIN;
DECLARE composite_cursor SCROLL CURSOR FOR SELECT a, b FROM composite_test WHERE id < 60 ORDER BY a, b DESC NULLS LAST;
FETCH 4 FROM composite_cursor;
FETCH BACKWARD 3 FROM composite_cursor;
FETCH LAST FROM composite_cursor;
FETCH BACKWARD 3 FROM composite_cursor;
FETCH FORWARD 2 FROM composite_cursor;
COMMIT;
DROP FUNCTION composite_same;
DROP TABLE composite_test;

-- Keys of 4, 8, 12 and 16 bytes: how many pages a run of 20000 entries takes.
CREATE TABLE composite_width AS SELECT i % 2 = 0 AS b, (i % 100)::int2 AS s, i AS i, i::int8 AS l, now() AS t FROM generate_series(1, 20000) AS i;
CREATE FUNCTION composite_pages(columns text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  found bigint;
BEGIN
  EXECUTE format('CREATE INDEX composite_width_k ON composite_width USING gpu_kary (%s)', columns);
  SELECT pages INTO STRICT found FROM gpu.runs('composite_width_k');
  DROP INDEX composite_width_k;
  RETURN found;
END
$$;
SELECT columns, composite_pages(columns) FROM unnest(ARRAY['b, s', 'b, i', 'i, i', 'b, l', 'i, t', 's, b, s, b, s, b', 'i, i, b, b, b, b', 'i, i, i, b', 'l, t']) WITH ORDINALITY AS c(columns, n) ORDER BY n;
DROP FUNCTION composite_pages;
DROP TABLE composite_width;
