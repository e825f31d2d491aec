-- The planner looks up a column's least and greatest value in an ordered index: to 17 in a btree, from 18 on in the first
-- index that is ordered, whatever its access method. A gpu_kary index must neither stand in a btree's way nor tell less.
CREATE TABLE endpoints_test (k int8, n int4) WITH (autovacuum_enabled = off);
INSERT INTO endpoints_test SELECT i, i FROM generate_series(1, 20000) AS i;
ANALYZE endpoints_test;
-- ANALYZE knows none of these. Some lie on pages that are all-visible, and some don't; the outermost are of a transaction
-- that was taken back.
INSERT INTO endpoints_test SELECT i, i FROM generate_series(20001, 40000) AS i;
INSERT INTO endpoints_test SELECT -i, -i FROM generate_series(0, 20000) AS i;
VACUUM endpoints_test;
INSERT INTO endpoints_test VALUES (40001, 40001), (-20001, -20001), (NULL, NULL);
BEGIN;
INSERT INTO endpoints_test SELECT i, i FROM generate_series(1000000, 1000020) AS i;
ROLLBACK;
-- A build tells the planner how many rows there are.
CREATE INDEX endpoints_test_any ON endpoints_test (n);
DROP INDEX endpoints_test_any;

-- What the planner expects of ranges beyond those that ANALYZE saw.
CREATE FUNCTION pg_temp.expected(OUT above int, OUT below int) LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) SELECT * FROM endpoints_test WHERE k > 30000' INTO plan;
    above := plan->0->'Plan'->'Plan Rows';
    EXECUTE 'EXPLAIN (FORMAT JSON) SELECT * FROM endpoints_test WHERE k < -10000' INTO plan;
    below := plan->0->'Plan'->'Plan Rows';
END
$$;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_bitmapscan = off;

CREATE TABLE endpoints_found (indexes text PRIMARY KEY, above int, below int);
INSERT INTO endpoints_found SELECT 'none', e.* FROM pg_temp.expected() AS e;
CREATE INDEX endpoints_test_btree ON endpoints_test (k);
INSERT INTO endpoints_found SELECT 'btree', e.* FROM pg_temp.expected() AS e;
DROP INDEX endpoints_test_btree;
-- One is older than the btree, and one is younger. Their last entries are in tails.
CREATE INDEX endpoints_test_kary ON endpoints_test USING gpu_kary (k);
INSERT INTO endpoints_found SELECT 'gpu_kary', e.* FROM pg_temp.expected() AS e;
CREATE INDEX endpoints_test_btree ON endpoints_test (k);
CREATE INDEX endpoints_test_kary_too ON endpoints_test USING gpu_kary (k DESC, n);
INSERT INTO endpoints_found SELECT 'both', e.* FROM pg_temp.expected() AS e;
DROP INDEX endpoints_test_btree, endpoints_test_kary;
INSERT INTO endpoints_found SELECT 'gpu_kary, descending', e.* FROM pg_temp.expected() AS e;
-- Indexes that aren't ordered, or not by this column, are none of the planner's.
DROP INDEX endpoints_test_kary_too;
CREATE INDEX endpoints_test_grid ON endpoints_test USING gpu_grid (k, n);
CREATE INDEX endpoints_test_column ON endpoints_test USING gpu_column (k);
CREATE INDEX endpoints_test_other ON endpoints_test USING gpu_kary (n, k);
CREATE INDEX endpoints_test_part ON endpoints_test USING gpu_kary (k) WHERE k < 100;
INSERT INTO endpoints_found SELECT 'others', e.* FROM pg_temp.expected() AS e;

SELECT b.above > 2 * n.above AND b.below > 2 * n.below AS beyond_the_histogram
  FROM endpoints_found AS b, endpoints_found AS n WHERE b.indexes = 'btree' AND n.indexes = 'none';
SELECT f.indexes, (f.above, f.below) = (e.above, e.below) AS as_expected
  FROM endpoints_found AS f
  JOIN endpoints_found AS e ON e.indexes = CASE WHEN f.indexes IN ('none', 'others') THEN 'none'
    WHEN f.indexes LIKE 'gpu_kary%' AND current_setting('server_version_num')::int < 180000 THEN 'none' ELSE 'btree' END
  ORDER BY f.indexes COLLATE "C";
DROP TABLE endpoints_test, endpoints_found;
