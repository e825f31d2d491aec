-- Count scans: which queries get one, and that they count what a sequential scan counts.
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET max_parallel_workers_per_gather = 0;
-- VACUUM marks a page all-visible only once the commits of its rows are on disk.
SET synchronous_commit = on;

CREATE TABLE count_test (k int8, id int, flag bool) WITH (autovacuum_enabled = off);
INSERT INTO count_test SELECT CASE WHEN i % 50 <> 0 THEN i % 400 END, i, i % 3 = 0 FROM generate_series(1, 10000) AS i;
CREATE INDEX count_test_k ON count_test USING gpu_kary (k);
VACUUM ANALYZE count_test;

-- Runs a query with a count scan and without any index; the first line of the plan goes before the answers.
CREATE FUNCTION count_both(query text) RETURNS TABLE (plan text, count_scan text, seq_scan text) LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        plan := coalesce(plan, line);
    END LOOP;
    EXECUTE format('SELECT string_agg(q::text, '' '') FROM (%s) AS q', query) INTO count_scan;
    SET LOCAL enable_seqscan = on;
    SET LOCAL enable_indexscan = off;
    SET LOCAL enable_indexonlyscan = off;
    EXECUTE format('SELECT string_agg(q::text, '' '') FROM (%s) AS q', query) INTO seq_scan;
    SET LOCAL enable_seqscan = off;
    SET LOCAL enable_indexscan = on;
    SET LOCAL enable_indexonlyscan = on;
    RETURN NEXT;
END $$;

EXPLAIN (COSTS OFF) SELECT count(*) FROM count_test WHERE k BETWEEN 10 AND 20;
SELECT * FROM count_both('SELECT count(*) FROM count_test');
SELECT * FROM count_both('SELECT count(*) FROM count_test WHERE k BETWEEN 10 AND 20');
SELECT * FROM count_both('SELECT count(*) FROM count_test WHERE k > 20 AND k <= 10');
SELECT * FROM count_both('SELECT count(*) FROM count_test WHERE k IS NULL');
SELECT * FROM count_both('SELECT count(*) FROM count_test WHERE k IS NOT NULL');
SELECT * FROM count_both('SELECT count(*) FROM count_test WHERE k < 200 AND k IS NOT NULL');
SELECT * FROM count_both('SELECT count(*) FROM count_test WHERE k = ANY (ARRAY(SELECT generate_series(-5, 100)))');
SELECT * FROM count_both('SELECT count(*) FROM count_test WHERE k = ANY (ARRAY(SELECT generate_series(1, 100))) AND k > 50');
SELECT * FROM count_both('SELECT count(*) FROM count_test WHERE k >= ANY (''{350,390,NULL}'')');
SELECT * FROM count_both('SELECT count(*) FROM count_test WHERE k > 100::int2 AND k <= 300::int4');
SELECT * FROM count_both('SELECT count(*) FROM count_test WHERE k > (SELECT NULL::int8)');
SELECT * FROM count_both('SELECT count(*) FROM count_test WHERE k > (SELECT 100)');

-- What is computed from counts, and other counts of the same rows.
SELECT * FROM count_both('SELECT count(*) + 1 AS more, count(*), -count(k), count(1), ''x'' || count(''y''), random() < 2 FROM count_test WHERE k > 100');
SELECT * FROM count_both('SELECT sum(n) FROM (SELECT count(*) AS n FROM count_test WHERE k > 100 UNION ALL SELECT count(k) FROM count_test WHERE k < 50) AS u');
SELECT * FROM count_both('SELECT count(*) FROM count_test WHERE k > 100 LIMIT 1');
SELECT * FROM count_both('SELECT DISTINCT count(*) FROM count_test WHERE k > 100 ORDER BY 1');
SELECT * FROM count_both('SELECT count(*) FROM (SELECT k FROM count_test WHERE k > 100) AS s WHERE s.k < 150');
SELECT * FROM count_both('SELECT count(*) || '' rows'', count(*) * 2 FROM count_test WHERE k > 100 ORDER BY count(*) + 3');
SELECT * FROM count_both('SELECT n / 2 FROM (SELECT count(*) AS n, count(1) AS m FROM count_test WHERE k > 100) AS s WHERE m > 0');
SELECT * FROM count_both('WITH c AS (SELECT count(*) AS n FROM count_test WHERE k > 100) SELECT n FROM c');

-- Not these.
SELECT * FROM count_both('SELECT count(k) FROM count_test');
SELECT * FROM count_both('SELECT count(id) FROM count_test WHERE k > 100');
SELECT * FROM count_both('SELECT count(NULL) FROM count_test WHERE k > 100');
SELECT * FROM count_both('SELECT count(k) FROM count_test WHERE k IS NULL');
SELECT * FROM count_both('SELECT count(DISTINCT k) FROM count_test WHERE k > 100');
SELECT * FROM count_both('SELECT count(*) FILTER (WHERE k > 200) FROM count_test WHERE k > 100');
SELECT * FROM count_both('SELECT count(*), max(k) FROM count_test WHERE k > 100');
SELECT * FROM count_both('SELECT count(*) FROM count_test WHERE k > 100 AND flag');
SELECT * FROM count_both('SELECT count(*) FROM count_test WHERE k > 100 OR k IS NULL');
SELECT * FROM count_both('SELECT count(*) FROM count_test WHERE k + 0 > 100');
SELECT * FROM count_both('SELECT count(*) FROM count_test WHERE k > 100 HAVING count(*) > 5');
SELECT * FROM count_both('SELECT count(*) FROM count_test WHERE k > 390 GROUP BY k ORDER BY k');
SELECT * FROM count_both('SELECT count(*) FROM count_test WHERE k > 390 GROUP BY () HAVING true');
SELECT * FROM count_both('SELECT count(*), generate_series(1, 2) FROM count_test WHERE k > 100');
SELECT * FROM count_both('SELECT count(*) FROM count_test AS a JOIN count_test AS b USING (k) WHERE k > 390');
SELECT * FROM count_both('SELECT count(*) FROM count_test TABLESAMPLE SYSTEM (100) WHERE k > 100');
SELECT * FROM count_both('SELECT count(*) FROM count_test WHERE k > 100 AND (SELECT true)');
SET pg_gpu.enable_count_scan = off;
SELECT * FROM count_both('SELECT count(*) FROM count_test WHERE k > 100');
RESET pg_gpu.enable_count_scan;

-- In a subplan, once for every row outside.
EXPLAIN (COSTS OFF) SELECT g, (SELECT count(*) FROM count_test WHERE k BETWEEN g AND 2 * g) FROM generate_series(1, 3) AS g;
SELECT g, (SELECT count(*) FROM count_test WHERE k BETWEEN g AND 2 * g),
       (SELECT count(*) FROM count_test WHERE k = ANY (ARRAY[g, g + 1, g])) FROM generate_series(0, 400, 80) AS g;
SELECT g, n FROM generate_series(1, 300, 99) AS g, LATERAL (SELECT count(*) AS n FROM count_test WHERE k < g) AS s;

-- The rows it stands for, and those it looked up in the table.
CREATE FUNCTION explain_analyze(query text, whole bool DEFAULT false) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' || query LOOP
        -- From 18 on, rows are averages and searches are counted. The path is that of pg_gpu.path.
        CONTINUE WHEN NOT whole AND line ~ '^ *(Index Searches: 1|Path: .*|Requests: 1|Batch Size: 1|Bytes: \d+)$';
        RETURN NEXT replace(line, '.00 loops', ' loops');
    END LOOP;
END $$;
SELECT explain_analyze('SELECT count(*) FROM count_test WHERE k BETWEEN 10 AND 20');
SET pg_gpu.path = paged;
SELECT line FROM explain_analyze('SELECT count(*) FROM count_test WHERE k BETWEEN 10 AND 20', true) AS line WHERE line ~ 'Path|Requests|Batch';
RESET pg_gpu.path;
UPDATE count_test SET id = -id WHERE k = 15 AND flag;
SELECT count(*) AS fetches FROM explain_analyze('SELECT count(*) FROM count_test WHERE k BETWEEN 14 AND 15') AS line
WHERE line ~ 'Heap Fetches: [1-9]';

-- A transaction's own rows; what others see of them; deleted and vacuumed ones.
BEGIN;
INSERT INTO count_test SELECT i % 400, i FROM generate_series(1, 3000) AS i;
SELECT * FROM count_both('SELECT count(*) FROM count_test WHERE k BETWEEN 10 AND 20');
SAVEPOINT s;
DELETE FROM count_test WHERE k < 15;
SELECT * FROM count_both('SELECT count(*) FROM count_test WHERE k BETWEEN 10 AND 20');
ROLLBACK TO s;
SELECT * FROM count_both('SELECT count(*) FROM count_test WHERE k = ANY (''{10,11,20,399}'')');
ROLLBACK;
SELECT * FROM count_both('SELECT count(*) FROM count_test WHERE k BETWEEN 10 AND 20');
DELETE FROM count_test WHERE k BETWEEN 12 AND 13 OR id % 7 = 0;
SELECT * FROM count_both('SELECT count(*) FROM count_test');
VACUUM (INDEX_CLEANUP ON) count_test;
SELECT * FROM count_both('SELECT count(*) FROM count_test');
SELECT * FROM count_both('SELECT count(*) FROM count_test WHERE k BETWEEN 10 AND 20');
SELECT * FROM count_both('SELECT count(*) FROM count_test WHERE k = ANY (''{10,11,12,13,20,399}'')');
SELECT * FROM count_both('SELECT count(*) FROM count_test WHERE k IS NULL');

-- Prepared: a custom plan's constant, a generic plan's parameter.
PREPARE counted(int8) AS SELECT count(*) FROM count_test WHERE k > $1;
EXECUTE counted(390);
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE counted(390);
EXECUTE counted(390);
EXECUTE counted(NULL);
RESET plan_cache_mode;
DEALLOCATE counted;
BEGIN;
DECLARE counting SCROLL CURSOR FOR SELECT count(*) FROM count_test WHERE k > 100;
FETCH counting;
FETCH counting;
FETCH BACKWARD counting;
COMMIT;

-- A partial index answers for its predicate; a column of another order, an expression and an empty table too.
CREATE INDEX count_test_part ON count_test USING gpu_kary (id DESC NULLS LAST) WHERE id > 9000;
VACUUM count_test;
SELECT * FROM count_both('SELECT count(*) FROM count_test WHERE id > 9000');
SELECT * FROM count_both('SELECT count(*) FROM count_test WHERE id > 9000 AND id < 9500');
SELECT * FROM count_both('SELECT count(*) FROM count_test WHERE id > 8999');
-- Where PostgreSQL has no index-only scan, an index scan stands for the count: expressions, floats.
CREATE INDEX count_test_expression ON count_test USING gpu_kary ((id % 100));
CREATE INDEX count_test_float ON count_test USING gpu_kary ((id::float8 / 2));
ANALYZE count_test;
EXPLAIN (COSTS OFF) SELECT count(*) FROM count_test WHERE id % 100 < 7;
SELECT * FROM count_both('SELECT count(*) FROM count_test WHERE id % 100 < 7');
SELECT * FROM count_both('SELECT count(*) FROM count_test WHERE id::float8 / 2 BETWEEN 10.5 AND 99');
SELECT * FROM count_both('SELECT count(*) FROM count_test WHERE id::float8 / 2 > 10 AND k > 100');
DELETE FROM count_test WHERE id % 100 = 3;
SELECT * FROM count_both('SELECT count(*) FROM count_test WHERE id % 100 < 7');
SELECT * FROM count_both('SELECT count(*) FROM count_test WHERE id::float8 / 2 BETWEEN 10.5 AND 99');
DROP INDEX count_test_expression, count_test_float;
CREATE TABLE count_none (k int4);
CREATE INDEX count_none_k ON count_none USING gpu_kary (k);
SELECT * FROM count_both('SELECT count(*) FROM count_none');
SELECT * FROM count_both('SELECT count(*) FROM count_none WHERE k = ANY (''{}'')');
CREATE TABLE count_child (LIKE count_none) INHERITS (count_none);
INSERT INTO count_child VALUES (1), (2);
SELECT * FROM count_both('SELECT count(*) FROM count_none WHERE k > 0');
SELECT * FROM count_both('SELECT count(*) FROM ONLY count_none WHERE k > 0');

-- Row security: its condition must be one that the index answers.
CREATE ROLE count_reader;
GRANT SELECT ON count_test TO count_reader;
ALTER TABLE count_test ENABLE ROW LEVEL SECURITY;
CREATE POLICY seen ON count_test FOR SELECT TO count_reader USING (k < 100);
SET ROLE count_reader;
SELECT * FROM count_both('SELECT count(*) FROM count_test WHERE k > 50');
RESET ROLE;
DROP POLICY seen ON count_test;
CREATE POLICY seen ON count_test FOR SELECT TO count_reader USING (flag);
SET ROLE count_reader;
SELECT * FROM count_both('SELECT count(*) FROM count_test WHERE k > 50');
RESET ROLE;
REVOKE SELECT ON count_test FROM count_reader;
SET ROLE count_reader;
SELECT count(*) FROM count_test WHERE k > 50;
RESET ROLE;
DROP TABLE count_child, count_none, count_test;
DROP ROLE count_reader;
DROP FUNCTION count_both, explain_analyze;
