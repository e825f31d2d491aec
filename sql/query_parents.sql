-- Aggregates of partitioned tables and inheritance parents by a GpuQuery of all members: each statement is run with the
-- nodes and without them, and the answers, or the kinds of errors, are held against each other.
SET pg_gpu.path = host;
SET enable_bitmapscan = off;
SET seq_page_cost = 100;
SET random_page_cost = 100;
SET max_parallel_workers_per_gather = 0;
SET timezone = 'UTC';
\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all

-- Members with columns in other places, a partitioned one, one without the index, an empty one, the default one.
CREATE TABLE sold (id int4, day date, city text, small int2, num int4, big int8, price numeric(10,2), any_scale numeric, flag bool, f8 float8) PARTITION BY RANGE (day);
CREATE TABLE sold_1 PARTITION OF sold FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE TABLE sold_2 (gone int4, big int8, also_gone text, city text, day date, id int4, flag bool, num int4, small int2, any_scale numeric, f8 float8, price numeric(10,2));
ALTER TABLE sold_2 DROP COLUMN gone, DROP COLUMN also_gone;
ALTER TABLE sold ATTACH PARTITION sold_2 FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
CREATE TABLE sold_3 PARTITION OF sold FOR VALUES FROM ('2026-03-01') TO ('2026-04-01') PARTITION BY LIST (city);
CREATE TABLE sold_3_lima PARTITION OF sold_3 FOR VALUES IN ('Lima');
CREATE TABLE sold_3_other PARTITION OF sold_3 DEFAULT;
CREATE TABLE sold_4 PARTITION OF sold FOR VALUES FROM ('2026-04-01') TO ('2026-05-01');
CREATE TABLE sold_empty PARTITION OF sold FOR VALUES FROM ('2026-05-01') TO ('2026-06-01');
CREATE TABLE sold_default PARTITION OF sold DEFAULT;
INSERT INTO sold
SELECT i, CASE WHEN i % 5 <> 0 THEN date '2026-01-01' + i % 130 END, (ARRAY['Oslo','Lima','Kyiv',NULL])[1 + i % 4], i % 11, CASE WHEN i % 7 <> 0 THEN (i * 7919) % 100003 - 50000 END,
       CASE WHEN i % 13 <> 0 THEN 9223372036854775807 - i END, CASE WHEN i % 17 <> 0 THEN (i % 1000) * 1.37 - 300 END, CASE i % 5 WHEN 0 THEN 1.5 WHEN 1 THEN 1.50 WHEN 2 THEN -2 WHEN 3 THEN 100.125 END,
       CASE i % 3 WHEN 0 THEN true WHEN 1 THEN false END, CASE WHEN i % 3 < 2 THEN i / 8.0 - 300 END
FROM generate_series(1, 7000) AS i WHERE i % 130 < 120 OR i % 5 = 0;
CREATE INDEX sold_1_i ON sold_1 USING gpu_column (id, day, city, small, num, big, price, any_scale, flag, f8);
CREATE INDEX sold_2_i ON sold_2 USING gpu_column (flag, f8, day, city, small, num, big, price, any_scale, id);
CREATE INDEX sold_lima_i ON sold_3_lima USING gpu_column (id, day, city, small, num, big, price, any_scale, flag, f8);
CREATE INDEX sold_other_i ON sold_3_other USING gpu_column (id, day, city, small, num, big, price, any_scale, flag, f8);
CREATE INDEX sold_empty_i ON sold_empty USING gpu_column (id, day, city, small, num, big, price, any_scale, flag, f8);
CREATE INDEX sold_default_i ON sold_default USING gpu_column (id, day, city, small, num, big, price, any_scale, flag, f8);
VACUUM ANALYZE sold;

-- All members at once.
SELECT * FROM compare_all($list$
SELECT count(*), count(num), count(city), sum(small), avg(small), sum(num), avg(num), min(num), max(num) FROM sold
SELECT sum(big), avg(big), min(big), max(big), sum(big) FILTER (WHERE flag), sum(-big), avg(-big) FROM sold
SELECT sum(price), avg(price), sum(any_scale), avg(any_scale), sum(price * 100000000000), avg(any_scale) FILTER (WHERE any_scale < 0), min(any_scale), max(price) FROM sold
SELECT variance(num), stddev(num), avg(num), var_pop(small), stddev_samp(small - num), variance(2000000000 + small) FROM sold
SELECT min(city), max(city), min(day), max(day), bool_and(flag), bool_or(flag), every(id > 0), max(f8), min(f8) FROM sold
SELECT variance(big), stddev(price), var_pop(any_scale), stddev_samp(any_scale), variance(big / 2 - num) FROM sold
SELECT city, bit_and(big), bit_or(small), bit_xor(num) FROM sold GROUP BY city
SELECT city, variance(big), stddev(price), var_pop(any_scale), variance(big) FILTER (WHERE small > 5) FROM sold GROUP BY city
SELECT city, count(*), count(num), sum(small), avg(small), sum(num), avg(num), sum(big), avg(big), sum(price), avg(price), variance(num), stddev(small), max(any_scale) FROM sold GROUP BY city
SELECT flag, small, sum(num) FILTER (WHERE id > 3000), avg(num) FILTER (WHERE id < 0), sum(big) FILTER (WHERE id < 0), avg(price) FILTER (WHERE id < 0), stddev(num) FILTER (WHERE id < 100), max(city) FILTER (WHERE flag) FROM sold GROUP BY flag, small
SELECT city, sum(any_scale), round(avg(any_scale), 40) FROM sold WHERE id % 5 = 2 OR city = 'Lima' GROUP BY city
SELECT id, sum(num), avg(big) FROM sold GROUP BY id
SELECT date_trunc('month', day), upper(city), count(*), sum(price) FROM sold WHERE num > small AND price IS NOT NULL GROUP BY 1, 2
SELECT city FROM sold GROUP BY city
SELECT day, count(*) FROM sold GROUP BY day
-- Floats whose sums are exact whatever the order.
SELECT sum(f8), avg(f8), avg(f8) FILTER (WHERE id < 0), sum(f8) FILTER (WHERE id < 0), count(f8) FROM sold
SELECT city, sum(f8), avg(f8), sum((small * 0.25)::float4), avg(small::float4) FROM sold GROUP BY city
SELECT city, round(avg(f8)::numeric, 6), round(stddev(f8)::numeric, 6) FROM sold GROUP BY city
$list$);
-- A group that is known before: nothing is left to sort by.
SET enable_hashagg = off;
SELECT same FROM compare('SELECT small, count(*), avg(num) FROM sold_3 WHERE small = 3 GROUP BY small');
SELECT same FROM compare('SELECT small, count(*), avg(num) FROM sold_3 WHERE small = 4711 GROUP BY small');
RESET enable_hashagg;
SELECT same FROM compare('SELECT small, count(*), avg(num) FROM sold_3 WHERE small = 3 GROUP BY small');
-- What is computed of groups; HAVING; what isn't selected; subqueries.
SELECT * FROM compare_all($list$
SELECT upper(city || '!'), sum(num) * 2 + count(*), avg(small) - min(small) FROM sold GROUP BY city || '!' HAVING max(num) > 1000 AND avg(price) > 0
SELECT sum(num) FROM sold GROUP BY city, small HAVING city <> 'Lima' AND small + 1 > 3
SELECT city, (SELECT count(*) FROM pg_am WHERE length(city) > 4), sum(num) FROM sold WHERE small < (SELECT max(small) FROM sold) GROUP BY city
SELECT city, sum(num), sum(sum(num)) OVER (ORDER BY city), rank() OVER (ORDER BY count(*) DESC, city) FROM sold GROUP BY city
SELECT city, sum(num) AS s FROM sold GROUP BY city ORDER BY s DESC NULLS LAST LIMIT 2
SELECT DISTINCT count(*) > 0, GROUPING(city) FROM sold GROUP BY city
SELECT count(*), avg(num) FROM sold HAVING sum(num) IS NULL
SELECT tableoid::regclass, count(*) FROM sold GROUP BY 1
SELECT tableoid, city, sum(num), avg(price) FROM sold WHERE day < '2026-03-10' GROUP BY 1, 2
-- Some members, one, and none.
SELECT count(*), sum(num), avg(price) FROM sold WHERE day >= '2026-02-20' AND day < '2026-03-10'
SELECT city, count(*), sum(num), avg(price) FROM sold WHERE day BETWEEN '2026-02-03' AND '2026-02-10' GROUP BY city HAVING min(small) = 0
SELECT city, count(DISTINCT small), sum(num) FROM sold WHERE day BETWEEN '2026-02-03' AND '2026-02-10' GROUP BY city ORDER BY 3 DESC LIMIT 2
SELECT count(*), sum(num), avg(num), sum(big), avg(price), stddev(num), max(city) FROM sold WHERE day BETWEEN '2026-05-03' AND '2026-05-10'
SELECT count(*), sum(num), avg(num), sum(big), avg(price), stddev(num), max(city), bool_or(flag) FROM sold WHERE id < 0
SELECT city, count(*) FROM sold WHERE id < 0 GROUP BY city
SELECT count(*), sum(num) FROM sold WHERE day < '2026-02-01' AND day > '2026-03-01'
SELECT count(*), sum(num) FROM sold WHERE day BETWEEN '2026-04-03' AND '2026-04-10'
SELECT city, count(*), avg(num) FROM sold_3 GROUP BY city
SELECT count(*), avg(num) FROM sold_2
-- Not these.
SELECT count(DISTINCT small) FROM sold
SELECT array_agg(small ORDER BY id) FROM sold
SELECT count(sold) FROM sold
SELECT city, small, count(*) FROM sold GROUP BY ROLLUP (city, small)
SELECT count(*) FROM sold TABLESAMPLE SYSTEM (100)
SELECT count(*), sum(num) FROM (SELECT num FROM sold_1 UNION ALL SELECT num FROM sold_2) AS u
SELECT count(a.num) FROM sold AS a JOIN sold_1 AS b ON a.id = b.id
-- Errors are PostgreSQL's.
SELECT sum(num * id * 1000) FROM sold
SELECT city, sum(10 / small) FILTER (WHERE small > 0) FROM sold GROUP BY city
SELECT sum(10 / small) FROM sold
$list$);

-- Plans.
EXPLAIN (COSTS OFF) SELECT city, sum(num), avg(price) FROM sold WHERE small > 3 GROUP BY city HAVING count(*) > 2;
EXPLAIN (VERBOSE, COSTS OFF) SELECT count(*) + 1, stddev(num) FROM sold WHERE day BETWEEN '2026-02-03' AND '2026-02-10';
-- By the partition key, where core may aggregate each partition by itself.
SET enable_partitionwise_aggregate = on;
SELECT * FROM compare_all($list$
SELECT day, count(*), sum(num), avg(num), sum(big), avg(price), stddev(num), max(city) FROM sold GROUP BY day
SELECT day, city, count(*), sum(price) FILTER (WHERE flag) FROM sold WHERE num > 0 GROUP BY day, city HAVING count(*) > 1
SELECT day, count(DISTINCT num), max(DISTINCT small) FROM sold GROUP BY day
SELECT upper(city), day, min(any_scale + 1) + count(*) FROM sold GROUP BY 1, 2
SELECT day, count(*) AS c FROM sold GROUP BY day ORDER BY c DESC, day LIMIT 7
SELECT city, count(*), sum(num) FROM sold_3 GROUP BY city
SELECT day + 0, count(*) FROM sold GROUP BY 1
$list$);
EXPLAIN (COSTS OFF) SELECT day, count(*), sum(num + small) FROM sold WHERE day < '2026-03-20' GROUP BY day HAVING max(price) > 3 ORDER BY sum(num + small) DESC LIMIT 2;
-- All members by one node beside core's aggregates of each.
SELECT * FROM compare('SELECT city, count(*), sum(num), avg(price) FROM sold GROUP BY city');
RESET enable_partitionwise_aggregate;

-- Rows that aren't in runs, deleted rows, rows that move, one's own changes.
BEGIN;
INSERT INTO sold SELECT * FROM sold WHERE id <= 50;
UPDATE sold SET num = num + 1, city = 'Quito' WHERE id BETWEEN 100 AND 150;
UPDATE sold SET day = '2026-02-05' WHERE day = '2026-01-07';
DELETE FROM sold WHERE id BETWEEN 1000 AND 3000;
SELECT * FROM compare_all($list$
SELECT city, count(*), sum(num), avg(num), sum(big), avg(price), variance(num) FROM sold GROUP BY city
SELECT day, count(*), sum(num) FROM sold GROUP BY day
$list$);
ROLLBACK;
SELECT * FROM compare('SELECT city, count(*), sum(num), avg(num), sum(big), avg(price), variance(num) FROM sold GROUP BY city');

-- Generic plans, and rescans.
PREPARE by_day (date, int) AS SELECT city, count(*) AS c, sum(num + $2) AS s, avg(price) AS a FROM sold WHERE day < $1 AND small <> $2 GROUP BY city HAVING count(*) > $2;
SET plan_cache_mode = force_generic_plan;
CREATE TEMPORARY TABLE given AS EXECUTE by_day('2026-03-10', 3);
SET pg_gpu.enable_query = off;
DEALLOCATE by_day;
PREPARE by_day (date, int) AS SELECT city, count(*) AS c, sum(num + $2) AS s, avg(price) AS a FROM sold WHERE day < $1 AND small <> $2 GROUP BY city HAVING count(*) > $2;
CREATE TEMPORARY TABLE expected AS EXECUTE by_day('2026-03-10', 3);
RESET pg_gpu.enable_query;
(TABLE given EXCEPT ALL TABLE expected) UNION ALL (TABLE expected EXCEPT ALL TABLE given);
SELECT count(*) > 0 AS any FROM given;
DEALLOCATE by_day;
-- A plan doesn't outlive an index.
PREPARE cached AS SELECT city, count(*), avg(num) FROM sold_3 GROUP BY city ORDER BY city;
EXECUTE cached;
BEGIN;
DROP INDEX sold_lima_i;
EXECUTE cached;
ROLLBACK;
EXECUTE cached;
RESET plan_cache_mode;
DEALLOCATE cached;
SELECT * FROM compare_all($list$
SELECT g, (SELECT avg(num) FROM sold WHERE small = g), (SELECT max(city) FROM sold WHERE id < g * 10) FROM generate_series(-1, 12) AS g
SELECT g, s.* FROM generate_series(1, 3) AS g, LATERAL (SELECT city, count(*) + g AS n, sum(price) FROM sold WHERE small >= g GROUP BY city) AS s
$list$);

-- Little memory.
SET work_mem = '64kB';
SELECT * FROM compare('SELECT max(id::text || repeat(''long enough to take more memory than there is'', 9)), avg(num) FROM sold WHERE id > 0');
RESET work_mem;

-- Privileges and row security are the parent's; who peeks at a hidden row raises an error.
CREATE FUNCTION peek(int2) RETURNS bool IMMUTABLE COST 0.0001 LANGUAGE plpgsql AS $$
BEGIN
    IF $1 = 7 THEN
        RAISE EXCEPTION 'a hidden row was seen';
    END IF;
    RETURN $1 > 3;
END $$;
CREATE ROLE sold_reader;
GRANT SELECT (id, day, small, num, city) ON sold TO sold_reader;
CREATE POLICY sold_hides ON sold USING (small <> 7);
CREATE POLICY sold_2_hides ON sold_2 USING (small <> 3);
ALTER TABLE sold ENABLE ROW LEVEL SECURITY;
ALTER TABLE sold_2 ENABLE ROW LEVEL SECURITY;
SET ROLE sold_reader;
SELECT * FROM compare_all($list$
SELECT count(*), sum(num) FROM sold WHERE peek(small)
SELECT peek(small), count(*), sum(num) FROM sold GROUP BY 1
SELECT small, count(*), avg(num) FROM sold WHERE id > 100 GROUP BY small
SELECT city, count(*), avg(num) FROM sold WHERE day BETWEEN '2026-02-03' AND '2026-02-10' GROUP BY city
SELECT max(price) FROM sold
SELECT max(num) FROM sold_2
$list$);
RESET ROLE;
ALTER TABLE sold DISABLE ROW LEVEL SECURITY;
ALTER TABLE sold_2 DISABLE ROW LEVEL SECURITY;
BEGIN;
REVOKE EXECUTE ON FUNCTION avg(int4) FROM PUBLIC;
SET LOCAL ROLE sold_reader;
SELECT * FROM compare_all($list$
SELECT avg(num) FROM sold
SELECT sum(num) FROM sold
$list$);
ROLLBACK;
CREATE VIEW sold_seen WITH (security_barrier) AS SELECT * FROM sold WHERE small <> 7;
SELECT * FROM compare_all($list$
SELECT count(*), sum(num) FROM sold_seen WHERE peek(small)
SELECT city, avg(num) FROM sold_seen WHERE small > 5 GROUP BY city
$list$);
DROP VIEW sold_seen;
DROP POLICY sold_hides ON sold;
DROP POLICY sold_2_hides ON sold_2;
REVOKE SELECT (id, day, small, num, city) ON sold FROM sold_reader;
DROP ROLE sold_reader;
DROP FUNCTION peek;

-- Inheritance: a parent has rows of its own, children more columns and several parents.
CREATE TABLE kept (id int4, city text, num int4, price numeric);
CREATE TABLE tagged (tag text, num int4);
CREATE TABLE kept_more (extra text) INHERITS (tagged, kept);
CREATE TABLE kept_most (more text) INHERITS (kept_more);
CREATE TABLE kept_bare () INHERITS (kept);
INSERT INTO kept SELECT i, (ARRAY['Oslo','Lima','Kyiv',NULL])[1 + i % 4], i % 1000, i % 77 / 10.0 FROM generate_series(1, 1000) AS i;
INSERT INTO kept_more SELECT 'tag ' || i % 3, i % 900, i, (ARRAY['Oslo','Lima','Bonn',NULL])[1 + i % 4], i % 77 / 1.0 FROM generate_series(1001, 2000) AS i;
INSERT INTO kept_most SELECT 'tag ' || i % 5, i % 800, i, (ARRAY['Oslo','Lima','Bonn',NULL])[1 + i % 4], i % 77 / 100.0 FROM generate_series(2001, 3000) AS i;
INSERT INTO kept_bare SELECT i, (ARRAY['Oslo','Lima','Kyiv',NULL])[1 + i % 4], i % 700, i % 77 / 10.0 FROM generate_series(3001, 3300) AS i;
CREATE INDEX kept_i ON kept USING gpu_column (id, city, num, price);
CREATE INDEX kept_more_i ON kept_more USING gpu_column (extra, num, tag, id, price, city);
CREATE INDEX kept_most_i ON kept_most USING gpu_column (tag, price, city, num, more, id);
VACUUM ANALYZE kept, kept_more, kept_most, kept_bare, tagged;
SELECT * FROM compare_all($list$
SELECT count(*), sum(num), avg(num), sum(price), avg(price), stddev(num), max(city) FROM kept
SELECT city, count(*), sum(num), avg(price), min(id) FROM kept WHERE num > 10 GROUP BY city HAVING count(*) > 5
SELECT tag, count(*), avg(num) FROM tagged GROUP BY tag
SELECT length(city) + num % 3, count(*) FROM kept GROUP BY 1
SELECT city, count(*) FROM ONLY kept GROUP BY city
SELECT city, count(*), avg(num) FROM kept_more GROUP BY city
$list$);
-- A value that the index can't add up: PostgreSQL's own plan of all members answers.
BEGIN;
UPDATE kept_more SET price = 1e40 WHERE id IN (1001, 1002);
SELECT * FROM compare_all($list$
SELECT city, count(*), sum(price), avg(price), stddev(num), max(id) FROM kept GROUP BY city
SELECT count(*), sum(price), avg(price), avg(num) FROM kept
$list$);
ROLLBACK;
EXPLAIN (VERBOSE, COSTS OFF) SELECT city || '?', avg(num) FROM kept GROUP BY city || '?';
DROP TABLE kept, tagged, kept_more, kept_most, kept_bare;
DROP TABLE sold;
DROP FUNCTION answer_of, who_answers, compare, compare_all;
