-- ORDER BY in the index's order and against it, with all four orders of NULLs.
\getenv source PG_ABS_SRCDIR
\set plan_of :source '/test/regress/plan_of.sql'
\set ECHO none
\i :plan_of
\set ECHO all
CREATE TABLE order_test (k int4, id int);
INSERT INTO order_test VALUES (3, 1), (NULL, 2), (-2147483648, 3), (1, 4);
CREATE INDEX order_test_k ON order_test USING gpu_kary (k);
INSERT INTO order_test VALUES (2, 5), (2147483647, 6), (NULL, 7), (2, 8);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_sort = off;
\pset null '(null)'

EXPLAIN (COSTS OFF) SELECT k FROM order_test ORDER BY k;
SELECT k FROM order_test ORDER BY k;
EXPLAIN (COSTS OFF) SELECT k FROM order_test ORDER BY k DESC;
SELECT k FROM order_test ORDER BY k DESC;
-- Not this index's order of NULLs: a sort is needed.
SELECT * FROM pg_temp.plan_of($$SELECT k FROM order_test ORDER BY k NULLS FIRST$$);
DROP INDEX order_test_k;
CREATE INDEX order_test_k ON order_test USING gpu_kary (k DESC);
EXPLAIN (COSTS OFF) SELECT k FROM order_test ORDER BY k DESC;
SELECT k FROM order_test ORDER BY k DESC;
EXPLAIN (COSTS OFF) SELECT k FROM order_test ORDER BY k;
SELECT k FROM order_test ORDER BY k;
DROP INDEX order_test_k;
CREATE INDEX order_test_k ON order_test USING gpu_kary (k NULLS FIRST);
SELECT * FROM pg_temp.plan_of($$SELECT k FROM order_test ORDER BY k NULLS FIRST$$);
SELECT k FROM order_test ORDER BY k NULLS FIRST;
EXPLAIN (COSTS OFF) SELECT k FROM order_test ORDER BY k DESC NULLS LAST;
SELECT k FROM order_test ORDER BY k DESC NULLS LAST;
DROP INDEX order_test_k;
CREATE INDEX order_test_k ON order_test USING gpu_kary (k DESC NULLS LAST);
EXPLAIN (COSTS OFF) SELECT k FROM order_test ORDER BY k DESC NULLS LAST;
SELECT k FROM order_test ORDER BY k DESC NULLS LAST;
SELECT * FROM pg_temp.plan_of($$SELECT k FROM order_test ORDER BY k NULLS FIRST$$);
SELECT k FROM order_test ORDER BY k NULLS FIRST;

-- One end of the order.
SELECT min(k), max(k) FROM order_test;
SELECT * FROM pg_temp.plan_of($$SELECT max(k) FROM order_test WHERE k < 2147483647$$);
SELECT max(k) FROM order_test WHERE k < 2147483647;
SELECT min(k) FROM order_test WHERE k > -2147483648;
DROP TABLE order_test;

-- Enough rows for several runs: the merged order has no step back and no gap.
CREATE TABLE order_test (k int8, id int);
INSERT INTO order_test SELECT (i * 7919) % 2000, i FROM generate_series(1, 2000) AS i;
CREATE INDEX order_test_k ON order_test USING gpu_kary (k) WITH (fanout = 4);
INSERT INTO order_test SELECT (i * 7919) % 2000, i FROM generate_series(2001, 9000) AS i;
INSERT INTO order_test SELECT NULL, i FROM generate_series(9001, 9600) AS i;
ANALYZE order_test;
EXPLAIN (COSTS OFF) SELECT k FROM order_test ORDER BY k;
CREATE FUNCTION order_check(query text, OUT total bigint, OUT nulls bigint, OUT steps_back bigint, OUT first_keys bigint[])
LANGUAGE plpgsql AS $$
DECLARE
  row record;
  previous bigint;
BEGIN
  total := 0; nulls := 0; steps_back := 0; first_keys := '{}';
  FOR row IN EXECUTE query LOOP
    total := total + 1;
    IF total <= 6 THEN
      first_keys := first_keys || row.k;
    END IF;
    IF row.k IS NULL THEN
      nulls := nulls + 1;
    ELSIF row.k < previous THEN
      steps_back := steps_back + 1;
    END IF;
    previous := coalesce(row.k, previous);
  END LOOP;
END
$$;
SELECT * FROM order_check('SELECT k FROM order_test ORDER BY k');
SELECT * FROM order_check('SELECT -k AS k FROM order_test ORDER BY order_test.k DESC');
SELECT * FROM order_check('SELECT k FROM order_test WHERE k >= 1990 ORDER BY k');
SELECT * FROM order_check('SELECT -k AS k FROM order_test WHERE k <= 10 ORDER BY order_test.k DESC');
SELECT * FROM order_check('SELECT k, id FROM order_test WHERE k BETWEEN 500 AND 700 AND id > 0 ORDER BY k');
EXPLAIN (COSTS OFF) SELECT k, id FROM order_test ORDER BY k LIMIT 3;
SELECT k FROM order_test ORDER BY k LIMIT 6 OFFSET 3;
SELECT k FROM order_test WHERE k IS NOT NULL ORDER BY k DESC LIMIT 6 OFFSET 3;
SELECT k FROM order_test ORDER BY k DESC LIMIT 2;
SELECT k FROM order_test ORDER BY k OFFSET 8999 LIMIT 2;

-- DISTINCT and GROUP BY lean on the order.
SET enable_hashagg = off;
EXPLAIN (COSTS OFF) SELECT DISTINCT k FROM order_test WHERE k < 5;
SELECT DISTINCT k FROM order_test WHERE k < 5;
EXPLAIN (COSTS OFF) SELECT k, count(*) FROM order_test WHERE k > 1995 GROUP BY k;
SELECT k, count(*) FROM order_test WHERE k > 1995 GROUP BY k;
-- So does a window.
SELECT k, n FROM (SELECT k, row_number() OVER (ORDER BY k) AS n FROM order_test) AS w WHERE n IN (1, 4, 5, 9, 10, 9000, 9001, 9600);
DROP FUNCTION order_check;
DROP TABLE order_test;
