-- Which plan the planner picks with nothing forced, over selectivity, correlation, arrays, LIMIT, joins, partitions and
-- generic plans. 30000 rows: ANALYZE samples them all, so the plans don't depend on chance.
\getenv source PG_ABS_SRCDIR
\set plan_of :source '/test/regress/plan_of.sql'
\set ECHO none
\i :plan_of
\set ECHO all
SET max_parallel_workers_per_gather = 0;
CREATE TABLE cost_test (spread int8, ordered int4, few int4, id int, pad text);
INSERT INTO cost_test SELECT i * 7919 % 30011, i, i % 20, i, repeat('x', 100) FROM generate_series(1, 30000) AS i;
CREATE INDEX cost_spread ON cost_test USING gpu_kary (spread);
CREATE INDEX cost_ordered ON cost_test USING gpu_kary (ordered DESC);
CREATE INDEX cost_few ON cost_test USING gpu_kary (few);
VACUUM ANALYZE cost_test;

-- Selectivity, where rows lie all over the table and where they lie together.
EXPLAIN (COSTS OFF) SELECT * FROM cost_test WHERE spread = 5;
EXPLAIN (COSTS OFF) SELECT * FROM cost_test WHERE spread BETWEEN 100 AND 200;
EXPLAIN (COSTS OFF) SELECT * FROM cost_test WHERE spread > 1000;
EXPLAIN (COSTS OFF) SELECT * FROM cost_test WHERE ordered BETWEEN 100 AND 200;
EXPLAIN (COSTS OFF) SELECT * FROM cost_test WHERE ordered < 6000;
EXPLAIN (COSTS OFF) SELECT * FROM cost_test WHERE ordered > 1000;
EXPLAIN (COSTS OFF) SELECT * FROM cost_test WHERE few = 3;
EXPLAIN (COSTS OFF) SELECT * FROM cost_test WHERE spread IS NULL;
EXPLAIN (COSTS OFF) SELECT spread FROM cost_test WHERE spread < 10000;
EXPLAIN (COSTS OFF) SELECT * FROM cost_test WHERE spread < 3000 AND few = 3;

-- Arrays of a few, some and many keys.
CREATE FUNCTION plan_of(query text, keys int) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || format(query, (SELECT array_agg(i * 3) FROM generate_series(1, keys) AS i)) LOOP
    RETURN NEXT regexp_replace(line, '''\{.*\}''', '{...}');
  END LOOP;
END
$$;
SELECT plan_of('SELECT * FROM cost_test WHERE spread = ANY (%L::int8[])', 3);
SELECT plan_of('SELECT * FROM cost_test WHERE spread = ANY (%L::int8[])', 300);
SELECT plan_of('SELECT spread FROM cost_test WHERE spread = ANY (%L::int8[])', 300);
SELECT plan_of('SELECT spread FROM cost_test WHERE spread = ANY (%L::int8[])', 10000);

-- Order, with and without LIMIT.
EXPLAIN (COSTS OFF) SELECT * FROM cost_test ORDER BY spread LIMIT 10;
EXPLAIN (COSTS OFF) SELECT * FROM cost_test ORDER BY spread DESC LIMIT 10;
EXPLAIN (COSTS OFF) SELECT * FROM cost_test ORDER BY spread;
EXPLAIN (COSTS OFF) SELECT * FROM cost_test ORDER BY ordered;
EXPLAIN (COSTS OFF) SELECT * FROM cost_test WHERE spread BETWEEN 100 AND 200 ORDER BY spread;
SELECT * FROM pg_temp.plan_of($$SELECT max(ordered) FROM cost_test$$);

-- Joins: a few outer rows, many, and both in order.
CREATE TABLE cost_outer (v int4, n int);
INSERT INTO cost_outer SELECT i * 31 % 30000, i FROM generate_series(1, 5000) AS i;
ANALYZE cost_outer;
EXPLAIN (COSTS OFF) SELECT pad FROM cost_outer JOIN cost_test ON spread = v WHERE n < 20;
EXPLAIN (COSTS OFF) SELECT pad FROM cost_outer JOIN cost_test ON spread = v;
EXPLAIN (COSTS OFF) SELECT a.id FROM cost_test AS a JOIN cost_test AS b ON a.ordered = b.ordered;
EXPLAIN (COSTS OFF) SELECT n FROM cost_outer WHERE n < 20 AND EXISTS (SELECT FROM cost_test WHERE spread = v);

-- Prepared: the generic plan knows no values.
SET plan_cache_mode = force_generic_plan;
PREPARE point (int8) AS SELECT * FROM cost_test WHERE spread = $1;
EXPLAIN (COSTS OFF) EXECUTE point (5);
PREPARE keys (int8[]) AS SELECT * FROM cost_test WHERE spread = ANY ($1);
EXPLAIN (COSTS OFF) EXECUTE keys ('{5,6}');
PREPARE range (int8, int8) AS SELECT * FROM cost_test WHERE spread BETWEEN $1 AND $2;
EXPLAIN (COSTS OFF) EXECUTE range (5, 6);
DEALLOCATE ALL;
RESET plan_cache_mode;

-- A btree beside it: the smaller index for much, either for a point.
CREATE INDEX cost_btree ON cost_test (spread);
EXPLAIN (COSTS OFF) SELECT spread FROM cost_test WHERE spread < 10000;
SELECT plan_of('SELECT * FROM cost_test WHERE spread = ANY (%L::int8[])', 300);
EXPLAIN (COSTS OFF) SELECT * FROM cost_test ORDER BY spread LIMIT 1000;
DROP INDEX cost_btree;

-- A partial index is smaller still.
CREATE INDEX cost_partial ON cost_test USING gpu_kary (spread) WHERE few = 3;
EXPLAIN (COSTS OFF) SELECT * FROM cost_test WHERE few = 3 AND spread BETWEEN 100 AND 3000;
DROP INDEX cost_partial;

-- Partitions.
CREATE TABLE cost_parted (k int8, id int, pad text) PARTITION BY RANGE (k);
CREATE TABLE cost_part_1 PARTITION OF cost_parted FOR VALUES FROM (0) TO (10000);
CREATE TABLE cost_part_2 PARTITION OF cost_parted FOR VALUES FROM (10000) TO (MAXVALUE);
INSERT INTO cost_parted SELECT i * 7919 % 20011, i, repeat('x', 100) FROM generate_series(1, 20000) AS i;
CREATE INDEX cost_parted_k ON cost_parted USING gpu_kary (k);
VACUUM ANALYZE cost_parted;
EXPLAIN (COSTS OFF) SELECT * FROM cost_parted WHERE k = 17;
EXPLAIN (COSTS OFF) SELECT * FROM cost_parted WHERE k BETWEEN 9950 AND 10050;
EXPLAIN (COSTS OFF) SELECT * FROM cost_parted WHERE k > 500;
EXPLAIN (COSTS OFF) SELECT * FROM cost_parted ORDER BY k LIMIT 5;
EXPLAIN (COSTS OFF) SELECT n, id FROM cost_outer JOIN cost_parted ON k = v WHERE n < 10;
DROP TABLE cost_parted;

-- After a bulk load that nobody analysed: no statistics, several runs.
CREATE TABLE cost_loaded (k int8, pad text);
CREATE INDEX cost_loaded_k ON cost_loaded USING gpu_kary (k);
INSERT INTO cost_loaded SELECT i * 7919 % 30011, repeat('x', 100) FROM generate_series(1, 30000) AS i;
SELECT count(*) > 3 AS several FROM gpu.runs('cost_loaded_k');
EXPLAIN (COSTS OFF) SELECT * FROM cost_loaded WHERE k = 5;
EXPLAIN (COSTS OFF) SELECT * FROM cost_loaded WHERE k = ANY ('{5,6,7}');
EXPLAIN (COSTS OFF) SELECT * FROM cost_loaded ORDER BY k LIMIT 5;
EXPLAIN (COSTS OFF) SELECT * FROM cost_loaded WHERE k IS NOT NULL;
DROP TABLE cost_loaded, cost_outer, cost_test;
DROP FUNCTION plan_of;
