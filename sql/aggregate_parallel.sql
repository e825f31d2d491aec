-- GpuAggregates that parallel workers share: each statement is run by PostgreSQL's own plan, and by the nodes with no, one, two and
-- four workers, and the answers, or the kinds of errors, are held against each other.
SET enable_bitmapscan = off;
SET seq_page_cost = 100;
SET random_page_cost = 100;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET timezone = 'UTC';
SET pg_gpu.path = paged;
\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all
-- share(query): who answers with two workers, how many rows there are, and with how many workers they are others than PostgreSQL's.
CREATE FUNCTION share(query text, OUT who text, OUT rows int, OUT wrong int[]) LANGUAGE plpgsql AS $$
DECLARE
    without text[];
    line text;
BEGIN
    SET LOCAL max_parallel_workers_per_gather = 2;
    who := who_answers(query);
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        IF line LIKE '%Parallel Custom Scan (GpuAggregate)%' THEN
            who := 'shared ' || who;
        END IF;
    END LOOP;
    SET LOCAL max_parallel_workers_per_gather = 0;
    SET LOCAL pg_gpu.enable_aggregate = off;
    without := answer_of(query);
    SET LOCAL pg_gpu.enable_aggregate = on;
    rows := cardinality(without);
    FOR workers IN 0 .. 4 LOOP
        PERFORM set_config('max_parallel_workers_per_gather', workers::text, true);
        IF workers <> 3 AND answer_of(query) IS DISTINCT FROM without THEN
            wrong := wrong || workers;
        END IF;
    END LOOP;
END $$;

-- Rows of three quarters in a run, dead ones among them; others that came since, in small runs and in the tail; blocks that aren't
-- all-visible; NULLs.
CREATE TABLE sale (id int4, day date, city text, small int2, num int4, big int8, price numeric(10,2), any_scale numeric, flag bool, f8 float8, at timestamptz)
    WITH (parallel_workers = 4, autovacuum_enabled = off);
CREATE FUNCTION add_sales(first int, last int) RETURNS void LANGUAGE sql AS $$
INSERT INTO sale
SELECT i, CASE WHEN i % 5 <> 0 THEN date '2026-01-01' + i % 130 END, (ARRAY['Oslo','Lima','Kyiv',NULL])[1 + i % 4], i % 11, CASE WHEN i % 7 <> 0 THEN (i * 7919::int8) % 100003 - 50000 END,
       CASE WHEN i % 13 <> 0 THEN 9223372036854775807 - i END, CASE WHEN i % 17 <> 0 THEN (i % 1000) * 1.37 - 300 END, CASE i % 5 WHEN 0 THEN 1.5 WHEN 1 THEN 1.50 WHEN 2 THEN -2 WHEN 3 THEN 100.125 END,
       CASE i % 3 WHEN 0 THEN true WHEN 1 THEN false END, CASE WHEN i % 3 < 2 THEN i / 8.0 - 300 END, timestamptz '2026-01-01 00:00:00.123456+00' + i * interval '61.7 seconds'
FROM generate_series(first, last) AS i;
$$;
SELECT add_sales(1, 45000);
CREATE INDEX sale_i ON sale USING gpu_column (id, day, city, small, num, big, price, any_scale, flag, f8, at);
DELETE FROM sale WHERE id % 10 = 3 OR id BETWEEN 20000 AND 22000;
VACUUM ANALYZE sale;
SELECT add_sales(45001, 60000);
UPDATE sale SET num = num + 1 WHERE id % 1000 = 7;
DELETE FROM sale WHERE id % 977 = 5;

EXPLAIN (COSTS OFF) SELECT city, sum(num), avg(price) FROM sale WHERE small > 3 GROUP BY city HAVING count(*) > 2;
EXPLAIN (VERBOSE, COSTS OFF) SELECT count(*) + 1, stddev(num) FROM sale WHERE num > 0;

SELECT * FROM share('SELECT count(*), count(num), count(city), sum(small), avg(small), sum(num), avg(num), min(num), max(num) FROM sale');
SELECT * FROM share('SELECT sum(big), avg(big), min(big), max(big), sum(big) FILTER (WHERE flag) FROM sale');
SELECT * FROM share('SELECT sum(price), avg(price), sum(any_scale), avg(any_scale), sum(price * 100000000000), min(price), max(price) FROM sale');
SELECT * FROM share('SELECT variance(num), stddev(num), var_pop(small), stddev_samp(small - num), variance(big), stddev(price), var_pop(any_scale) FROM sale');
SELECT * FROM share('SELECT min(city), max(city), min(day), max(at), bool_and(flag), bool_or(flag), every(id > 0), bit_and(big), bit_xor(num), count(f8) FROM sale');
SELECT * FROM share('SELECT city, count(*), sum(num), avg(big), sum(price), avg(any_scale), variance(num), max(day) FROM sale GROUP BY city');
SELECT * FROM share('SELECT flag, small, sum(num) FILTER (WHERE id > 30000), avg(num) FILTER (WHERE id < 0), max(city) FILTER (WHERE flag) FROM sale GROUP BY flag, small');
SELECT * FROM share('SELECT date_trunc(''month'', at), upper(city), count(*), sum(price) FROM sale WHERE num > small AND price IS NOT NULL GROUP BY 1, 2');
SELECT * FROM share('SELECT city, sum(num * small), sum(CASE WHEN flag THEN price * (1 + price) ELSE 0 END) FROM sale GROUP BY city');
SELECT * FROM share('SELECT id % 1000, sum(num), avg(big) FROM sale GROUP BY 1');
SELECT * FROM share('SELECT city FROM sale GROUP BY city');
SELECT * FROM share('SELECT small FROM sale WHERE city LIKE ''%i%'' OR num % 7 = 3 GROUP BY small HAVING sum(num) > 0');
SELECT * FROM share('SELECT count(*), sum(num) FROM sale WHERE city = ''Lima'' AND id BETWEEN 1000 AND 50000 AND day >= ''2026-02-01''');
SELECT * FROM share('SELECT count(*), sum(num), avg(price), stddev(num), max(city), bool_or(flag) FROM sale WHERE id < 0');
SELECT * FROM share('SELECT city, count(*) FROM sale WHERE id < 0 GROUP BY city');
SELECT * FROM share('SELECT count(*), avg(num) FROM sale HAVING sum(num) IS NULL');
SELECT * FROM share('SELECT city, sum(num) AS s FROM sale GROUP BY city ORDER BY s DESC NULLS LAST LIMIT 2');
SELECT * FROM share('SELECT city, sum(num), sum(sum(num)) OVER (ORDER BY city) FROM sale GROUP BY city');
SELECT * FROM share('SELECT sum(num) * 2 + count(*), upper(city || ''!'') FROM sale WHERE small < (SELECT max(amopstrategy) FROM pg_amop) GROUP BY city || ''!''');
SELECT * FROM share('SELECT tableoid::regclass, count(*) FROM sale GROUP BY 1');
-- Groups in several passes.
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SET enable_seqscan = off;
SET enable_hashagg = off;
SET cpu_tuple_cost = 0;
SET cpu_operator_cost = 1;
SELECT * FROM share('SELECT id, small, count(*), sum(num), max(day) FROM sale GROUP BY 1, 2');
SELECT * FROM share('SELECT num / 4, count(*), sum(big) FROM sale GROUP BY 1');
RESET work_mem;
RESET hash_mem_multiplier;
RESET enable_seqscan;
RESET enable_hashagg;
RESET cpu_tuple_cost;
RESET cpu_operator_cost;
-- Not by workers: sums of floats, equal values that look different, distinct values, sets, expressions that may raise errors, subqueries that are read.
SELECT * FROM share('SELECT city, count(*), sum(f8), max(f8) FROM sale GROUP BY city');
SELECT * FROM share('SELECT max(any_scale) > 100, count(*) FROM sale');
SELECT * FROM share('SELECT any_scale::int, count(*) FROM sale GROUP BY any_scale');
SELECT * FROM share('SELECT count(DISTINCT small), sum(num) FROM sale');
SELECT * FROM share('SELECT city, small, count(*) FROM sale GROUP BY ROLLUP (city, small)');
SELECT * FROM share('SELECT sum(10 / small) FILTER (WHERE small > 0) FROM sale');
SELECT * FROM share('SELECT sum(10 / small) FILTER (WHERE small > 0), count(*) FROM sale');
SELECT * FROM share('SELECT count(*) FROM sale WHERE city NOT IN (SELECT amname FROM pg_am) OR small > 5');
SELECT node, reason FROM gpu.explain_why('SELECT city, sum(f8) FROM sale GROUP BY city') ORDER BY 1;

-- What the index can't answer is answered by the plan below the node, range by range. So are errors.
SELECT * FROM share('SELECT sum(10 / small) FROM sale');
SELECT * FROM share('SELECT sum(num * id * 1000) FROM sale');
SELECT * FROM share('SELECT city, sum(num * small * 10) FROM sale WHERE num < 1000000 GROUP BY city');
INSERT INTO sale (id, big, price, num, small) VALUES (70000, 7, 'NaN', 2000000000, 2);
SELECT * FROM share('SELECT city, sum(price * 2), sum(price * (1 - price)), sum(num + small) FROM sale GROUP BY city');
SELECT * FROM share('SELECT sum(num::int8 * big), count(*) FROM sale WHERE id >= 70000');
SELECT * FROM share('SELECT sum(num * small), count(*) FROM sale WHERE id > 0');
DO $$
DECLARE
    line text;
BEGIN
    SET LOCAL max_parallel_workers_per_gather = 2;
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT city, count(*) FROM sale GROUP BY city' LOOP
        CONTINUE WHEN line !~ 'Block|Groups|Fallback Reason';
        RAISE INFO '%', btrim(line);
    END LOOP;
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT city, sum(price * (1 - price)) FROM sale GROUP BY city' LOOP
        CONTINUE WHEN line !~ 'Block|Fallback Reason';
        RAISE INFO '%', btrim(line);
    END LOOP;
END $$;
DELETE FROM sale WHERE id = 70000;

-- Without a leader's part, without workers, without room for them.
SET parallel_leader_participation = off;
SELECT * FROM share('SELECT city, count(*), sum(num), avg(price) FROM sale GROUP BY city');
SET max_parallel_workers = 0;
SELECT * FROM share('SELECT city, count(*), sum(num), avg(price) FROM sale GROUP BY city');
RESET parallel_leader_participation;
SELECT * FROM share('SELECT city, count(*), sum(num), avg(price) FROM sale GROUP BY city');
RESET max_parallel_workers;

-- PL/pgSQL's SELECT INTO asks for two rows at most, for which no workers are started.
SET max_parallel_workers_per_gather = 2;
DO $$
DECLARE
    counted record;
BEGIN
    SELECT city, count(*), sum(num) INTO counted FROM sale WHERE city = 'Lima' GROUP BY city;
    RAISE INFO '%', counted;
END $$;
SELECT city, count(*), sum(num) FROM sale WHERE city = 'Lima' GROUP BY city;

-- Rescans, with and without parameters; a statement that is prepared; rows of the own transaction; savepoints.
SELECT x, c, s FROM generate_series(1, 3) AS x, LATERAL (SELECT count(*) AS c, sum(num) AS s FROM sale WHERE small = 4 OFFSET 0) AS t ORDER BY 1;
SELECT x, c FROM generate_series(1, 3) AS x LEFT JOIN (SELECT small, count(*) AS c FROM sale GROUP BY small) AS t ON t.small < x AND c > x ORDER BY 1, 2;
SET enable_material = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
EXPLAIN (COSTS OFF) SELECT x, c FROM generate_series(1, 3) AS x LEFT JOIN (SELECT small, count(*) AS c FROM sale GROUP BY small) AS t ON t.small < x AND c > x ORDER BY 1, 2;
SELECT x, c FROM generate_series(1, 3) AS x LEFT JOIN (SELECT small, count(*) AS c FROM sale GROUP BY small) AS t ON t.small < x AND c > x ORDER BY 1, 2;
RESET enable_material;
RESET enable_hashjoin;
RESET enable_mergejoin;
SET plan_cache_mode = force_generic_plan;
PREPARE by_city (text, int) AS SELECT count(*), sum(num) FROM sale WHERE city = $1 AND id > $2;
EXPLAIN (COSTS OFF) EXECUTE by_city ('Oslo', 5);
EXECUTE by_city ('Oslo', 5);
EXECUTE by_city ('Kyiv', 59990);
EXECUTE by_city (NULL, NULL);
BEGIN;
SELECT add_sales(60001, 62000);
SAVEPOINT a;
UPDATE sale SET small = 100 WHERE id > 61000;
SELECT * FROM share('SELECT small, count(*), sum(num) FROM sale GROUP BY small');
ROLLBACK TO a;
SELECT * FROM share('SELECT small, count(*), sum(num) FROM sale GROUP BY small');
DELETE FROM sale WHERE id % 3 = 0;
SELECT * FROM share('SELECT small, count(*), sum(num) FROM sale GROUP BY small');
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT * FROM share('SELECT small, count(*), sum(num) FROM sale GROUP BY small');
COMMIT;
-- A cursor has no workers, but may be read in part.
BEGIN;
DECLARE c CURSOR FOR SELECT small, count(*) FROM sale GROUP BY small ORDER BY small;
FETCH 2 FROM c;
CLOSE c;
COMMIT;
SELECT count(*) FROM (SELECT id / 3 FROM sale GROUP BY 1 LIMIT 5) AS t;

-- Other paths, and small tables, are one process's.
SET pg_gpu.path = auto;
EXPLAIN (COSTS OFF) SELECT city, count(*) FROM sale GROUP BY city;
SET pg_gpu.path = host;
EXPLAIN (COSTS OFF) SELECT city, count(*) FROM sale GROUP BY city;
SET pg_gpu.path = paged;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
CREATE TABLE little AS SELECT * FROM sale WHERE id < 5000;
CREATE INDEX little_i ON little USING gpu_column (city, num);
VACUUM ANALYZE little;
SELECT who, wrong FROM share('SELECT city, count(*), sum(num) FROM little GROUP BY city');
-- An empty table, one of a block, and one whose rows are all in the tail.
CREATE TABLE empty (city text, num int4) WITH (parallel_workers = 2);
CREATE INDEX empty_i ON empty USING gpu_column (city, num);
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SELECT rows, wrong FROM share('SELECT city, count(*), sum(num) FROM empty GROUP BY city');
INSERT INTO empty VALUES ('a', 1), ('b', 2), (NULL, NULL), ('a', 4);
SELECT rows, wrong FROM share('SELECT city, count(*), sum(num) FROM empty GROUP BY city');
SELECT rows, wrong FROM share('SELECT count(*), sum(num), avg(num) FROM empty');
DROP TABLE sale, little, empty;
DROP FUNCTION share, add_sales, compare, compare_all, who_answers, answer_of;
