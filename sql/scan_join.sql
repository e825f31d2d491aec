-- Joins: rescans in nested loops, mark and restore in merge joins.
\getenv source PG_ABS_SRCDIR
\set plan_of :source '/test/regress/plan_of.sql'
\set ECHO none
\i :plan_of
\set ECHO all
CREATE TABLE join_inner (k int4, id int);
INSERT INTO join_inner SELECT i % 1000, i FROM generate_series(1, 1500) AS i;
CREATE INDEX join_inner_k ON join_inner USING gpu_kary (k);
INSERT INTO join_inner SELECT i % 1000, i FROM generate_series(1501, 3000) AS i;
INSERT INTO join_inner VALUES (NULL, 0);
CREATE TABLE join_outer (n int, v2 int2, v4 int4, v8 int8, low int8, high int2);
INSERT INTO join_outer VALUES
  (1, 5, 5, 5, 10, 12), (2, 5, 5, 5, 10, 10), (3, NULL, NULL, NULL, NULL, 3),
  (4, -1, 2147483647, 4294967301, 999, 32767), (5, 999, 999, 999, 4294967301, 3);
VACUUM ANALYZE join_inner, join_outer;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SET enable_memoize = off;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_indexonlyscan = off;

SELECT * FROM pg_temp.plan_of($$SELECT n, id FROM join_outer JOIN join_inner ON k = v4$$);
SELECT n, id FROM join_outer JOIN join_inner ON k = v4 ORDER BY n, id;
SELECT * FROM pg_temp.plan_of($$SELECT n, id FROM join_outer JOIN join_inner ON k = v8$$);
SELECT n, id FROM join_outer JOIN join_inner ON k = v8 ORDER BY n, id;
SELECT * FROM pg_temp.plan_of($$SELECT n, id FROM join_outer JOIN join_inner ON k = v2$$);
SELECT n, id FROM join_outer JOIN join_inner ON k = v2 ORDER BY n, id;
SET enable_hashagg = off;
SELECT * FROM pg_temp.plan_of($$SELECT n, count(id) FROM join_outer JOIN join_inner ON k BETWEEN low AND high GROUP BY n$$);
RESET enable_hashagg;
SELECT n, count(id), min(k), max(k) FROM join_outer JOIN join_inner ON k BETWEEN low AND high GROUP BY n ORDER BY n;
SELECT n, count(id) FROM join_outer LEFT JOIN join_inner ON k = v8 GROUP BY n ORDER BY n;
SELECT n, count(id) FROM join_outer JOIN join_inner ON k = ANY (ARRAY[v8, low, NULL]) GROUP BY n ORDER BY n;
-- Existence and its absence stop at the first row.
SELECT n FROM join_outer WHERE EXISTS (SELECT FROM join_inner WHERE k = v8) ORDER BY n;
SELECT n FROM join_outer WHERE NOT EXISTS (SELECT FROM join_inner WHERE k = v8) ORDER BY n;
-- A scan that stops early each time.
SELECT * FROM pg_temp.plan_of($$SELECT n, ks FROM join_outer, LATERAL (SELECT array_agg(k) AS ks FROM (SELECT k FROM join_inner WHERE k >= low ORDER BY k LIMIT 4) AS l) AS a$$);
SELECT n, ks FROM join_outer, LATERAL (SELECT array_agg(k) AS ks FROM (SELECT k FROM join_inner WHERE k >= low ORDER BY k LIMIT 4) AS l) AS a ORDER BY n;
SELECT n, ks FROM join_outer, LATERAL (SELECT array_agg(k) AS ks FROM (SELECT k FROM join_inner WHERE k <= high ORDER BY k DESC LIMIT 4) AS l) AS a ORDER BY n;
-- Index-only and bitmap under a loop.
SET enable_indexonlyscan = on;
SELECT * FROM pg_temp.plan_of($$SELECT n, k FROM join_outer JOIN join_inner ON k = v8$$);
SELECT n, k FROM join_outer JOIN join_inner ON k = v8 ORDER BY n, k;
SET enable_indexscan = off;
SET enable_bitmapscan = on;
SELECT * FROM pg_temp.plan_of($$SELECT n, id FROM join_outer JOIN join_inner ON k = v8$$);
SELECT n, id FROM join_outer JOIN join_inner ON k = v8 ORDER BY n, id;
RESET enable_indexscan;
SET enable_bitmapscan = off;
SET enable_indexonlyscan = off;

-- Merge joins. Repeated keys on the outer side restore the inner scan's mark;
-- keys 5..7 come three times inside and up to four times outside.
CREATE TABLE join_merge (v int8);
INSERT INTO join_merge VALUES (5), (5), (6), (7), (7), (7), (7), (998), (998), (5000000000), (NULL), (-1);
CREATE INDEX join_merge_v ON join_merge (v);
ANALYZE join_merge;
SET enable_mergejoin = on;
SET enable_nestloop = off;
SET enable_sort = off;
EXPLAIN (COSTS OFF) SELECT v, id FROM join_merge JOIN join_inner ON k = v;
SELECT v, count(id), sum(id) FROM join_merge JOIN join_inner ON k = v GROUP BY v ORDER BY v;
EXPLAIN (COSTS OFF) SELECT a.k FROM join_inner a JOIN join_inner b ON a.k = b.k WHERE a.k BETWEEN 100 AND 200;
SELECT count(*), count(DISTINCT a.k), sum(a.id), sum(b.id)
FROM join_inner a JOIN join_inner b ON a.k = b.k WHERE a.k BETWEEN 100 AND 200;
SET enable_indexonlyscan = on;
SELECT count(*), count(DISTINCT a.k) FROM join_inner a JOIN join_inner b ON a.k = b.k WHERE a.k BETWEEN 100 AND 200;
SELECT v, count(k) FROM join_merge LEFT JOIN join_inner ON k = v GROUP BY v ORDER BY v;
SELECT count(*) FROM (SELECT k, v FROM join_inner FULL JOIN join_merge ON k = v) AS f;

-- The same downwards: the index is read backward and marks are restored there.
SET enable_indexonlyscan = off;
EXPLAIN (COSTS OFF) SELECT v, id FROM join_merge JOIN join_inner ON k = v ORDER BY v DESC;
SELECT v, count(id), sum(id)
FROM (SELECT v, id FROM join_merge JOIN join_inner ON k = v ORDER BY v DESC) AS m GROUP BY v ORDER BY v;
DROP TABLE join_merge, join_outer;

-- A mark in the middle of a long row of equal keys, over page and run borders.
CREATE TABLE join_equal (v int4);
INSERT INTO join_equal VALUES (1), (1), (2);
CREATE INDEX join_equal_v ON join_equal (v);
TRUNCATE join_inner;
INSERT INTO join_inner SELECT 1 + (i > 1700)::int, i FROM generate_series(1, 1800) AS i;
ANALYZE join_inner, join_equal;
EXPLAIN (COSTS OFF) SELECT v, id FROM join_equal JOIN join_inner ON k = v;
SELECT v, count(id), count(DISTINCT id), sum(id) FROM join_equal JOIN join_inner ON k = v GROUP BY v ORDER BY v;
DROP TABLE join_equal, join_inner;
