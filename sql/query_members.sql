-- Aggregates of partitioned tables and inheritance parents by one GpuQuery over all members, which have an index each: each statement
-- is run with the node and without it, and the answers, or the kinds of errors, are held against each other.
-- From PostgreSQL 16 on what aggregates take may be sorted with the groups.
DO $$ BEGIN PERFORM set_config(name, 'off', false) FROM pg_settings WHERE name = 'enable_presorted_aggregate'; END $$;
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

-- Members with columns in other places, a partitioned one, an empty one, the default one, one with NULLs only where others have values.
CREATE TABLE paid (id int4, day date, city text, small int2, num int4, big int8, price numeric(10,2), any_scale numeric, flag bool, f8 float8, at timestamp, sparse int4) PARTITION BY RANGE (day);
CREATE TABLE paid_1 PARTITION OF paid FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE TABLE paid_2 (gone int4, sparse int4, big int8, also_gone text, city text, day date, at timestamp, id int4, flag bool, num int4, small int2, any_scale numeric, f8 float8, price numeric(10,2));
ALTER TABLE paid_2 DROP COLUMN gone, DROP COLUMN also_gone;
ALTER TABLE paid ATTACH PARTITION paid_2 FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
CREATE TABLE paid_3 PARTITION OF paid FOR VALUES FROM ('2026-03-01') TO ('2026-04-01') PARTITION BY LIST (city);
CREATE TABLE paid_3_lima PARTITION OF paid_3 FOR VALUES IN ('Lima');
CREATE TABLE paid_3_other PARTITION OF paid_3 DEFAULT;
CREATE TABLE paid_empty PARTITION OF paid FOR VALUES FROM ('2026-05-01') TO ('2026-06-01');
CREATE TABLE paid_default PARTITION OF paid DEFAULT;
INSERT INTO paid
SELECT i, CASE WHEN i % 5 <> 0 THEN date '2026-01-01' + i % 130 END, (ARRAY['Oslo','Lima','Kyiv',NULL])[1 + i % 4], i % 11, CASE WHEN i % 7 <> 0 THEN (i * 7919) % 100003 - 50000 END,
       CASE WHEN i % 13 <> 0 THEN 9223372036854775807 - i END, CASE WHEN i % 17 <> 0 THEN (i % 1000) * 1.37 - 300 END, CASE i % 5 WHEN 0 THEN 1.5 WHEN 1 THEN 1.50 WHEN 2 THEN -2 WHEN 3 THEN 100.125 END,
       CASE i % 3 WHEN 0 THEN true WHEN 1 THEN false END, CASE WHEN i % 3 < 2 THEN i / 8.0 - 300 END,
       CASE WHEN i % 9 <> 0 THEN timestamp '2026-01-01' + i % 130 * interval '1 day' + i * interval '1.000001 seconds' END, CASE WHEN i % 130 > 100 THEN i END
FROM generate_series(1, 7000) AS i WHERE i % 130 < 120 OR i % 5 = 0;
CREATE INDEX paid_1_i ON paid_1 USING gpu_column (id, day, city, small, num, big, price, any_scale, flag, f8, at, sparse);
CREATE INDEX paid_2_i ON paid_2 USING gpu_column (id, day, city, small, num, big, price, any_scale, flag, f8, at, sparse);
CREATE INDEX paid_lima_i ON paid_3_lima USING gpu_column (id, day, city, small, num, big, price, any_scale, flag, f8, at, sparse);
CREATE INDEX paid_other_i ON paid_3_other USING gpu_column (id, day, city, small, num, big, price, any_scale, flag, f8, at, sparse);
CREATE INDEX paid_empty_i ON paid_empty USING gpu_column (id, day, city, small, num, big, price, any_scale, flag, f8, at, sparse);
CREATE INDEX paid_default_i ON paid_default USING gpu_column (id, day, city, small, num, big, price, any_scale, flag, f8, at, sparse);
-- It takes those of the members.
CREATE INDEX paid_i ON paid USING gpu_column (id, day, city, small, num, big, price, any_scale, flag, f8, at, sparse);
VACUUM ANALYZE paid;

SELECT * FROM compare_all($list$
SELECT count(*), count(num), count(city), sum(small), avg(small), sum(num), avg(num), min(num), max(num), count(sparse), min(sparse), max(sparse) FROM paid
SELECT sum(big), avg(big), min(big), max(big), sum(big) FILTER (WHERE flag), sum(price), avg(price), sum(any_scale), stddev(any_scale), variance(big), bit_xor(num) FROM paid
SELECT min(city), max(city), min(day), max(day), bool_and(flag), bool_or(flag), max(f8), sum(f8), avg(f8), min(at), max(upper(city)), min(any_scale) FROM paid
SELECT city, count(*), sum(num), avg(big), sum(price), avg(price), variance(num), stddev(price), max(any_scale), sum(f8), max(city || '!') FROM paid GROUP BY city
SELECT id, sum(num), avg(big) FROM paid GROUP BY id
SELECT big, at, flag, city, count(*) FROM paid GROUP BY big, at, flag, city
SELECT date_trunc('month', day), date_trunc('day', at), upper(city), count(*), sum(price) FROM paid WHERE num > small AND price IS NOT NULL GROUP BY 1, 2, 3
SELECT num + small, sparse % 10, count(*) FROM paid WHERE city LIKE '%o%' OR flag GROUP BY 1, 2
SELECT city FROM paid GROUP BY city
SELECT 10 - sum(num), coalesce(city, 'none') || max(day) FROM paid WHERE small <> 3 GROUP BY city HAVING count(*) > 1000 ORDER BY 1
SELECT id, count(*), sum(num) AS s FROM paid WHERE num IS NOT NULL GROUP BY id ORDER BY s DESC, id LIMIT 7
SELECT id % 100, count(*) AS c FROM paid GROUP BY 1 ORDER BY c DESC, 1 LIMIT 7 OFFSET 2
-- By member.
SELECT tableoid::regclass, count(*), sum(num) FROM paid GROUP BY 1
SELECT tableoid, city, count(*), avg(price), count(tableoid), max(sparse) FROM paid WHERE small < 7 GROUP BY tableoid, city ORDER BY 1, 2 LIMIT 9
SELECT count(DISTINCT tableoid), min(tableoid), max(tableoid), count(*) FILTER (WHERE tableoid IS NULL) FROM paid
SELECT tableoid::regclass, city, count(*) FROM paid GROUP BY ROLLUP (1, 2)
SELECT DISTINCT tableoid::regclass, flag FROM paid
SELECT tableoid::regclass, count(*) FROM paid_1 GROUP BY 1
SELECT tableoid::regclass, count(*) FROM paid WHERE tableoid = 'paid_1'::regclass GROUP BY 1
SELECT tableoid::regclass::text, count(*) FROM paid GROUP BY 1
-- Distinct values, grouping sets, distinct rows.
SELECT count(DISTINCT num), count(DISTINCT city), sum(DISTINCT small), avg(DISTINCT big), sum(DISTINCT price), count(DISTINCT at) FILTER (WHERE flag) FROM paid
SELECT city, flag, count(DISTINCT num), sum(DISTINCT price), count(*), count(DISTINCT sparse) FROM paid GROUP BY city, flag
SELECT city, flag, count(*), sum(num), grouping(city, flag) FROM paid GROUP BY ROLLUP (city, flag)
SELECT city, day, small, count(DISTINCT num), avg(price), grouping(day) FROM paid GROUP BY CUBE (city, day), small HAVING grouping(day) = 1
SELECT city::text AS a, city AS b, grouping(city::text, city) FROM paid GROUP BY GROUPING SETS ((1, 2), (), (1))
SELECT DISTINCT city, flag FROM paid
SELECT DISTINCT day + 1 AS next, small FROM paid WHERE num > 0 ORDER BY next DESC, small LIMIT 9
SELECT city, count(*) FROM paid WHERE day = '2026-01-05' GROUP BY ROLLUP (city)
-- Equal values may look different in other partitions.
SELECT any_scale + 0.000, count(*) FROM paid GROUP BY any_scale + 0.000
SELECT f8, count(*) FROM paid GROUP BY f8
-- Some members; one; none; a level below.
SELECT city, count(DISTINCT num) FROM paid WHERE day BETWEEN '2026-02-10' AND '2026-03-10' GROUP BY city
SELECT city, count(DISTINCT num) FROM paid WHERE day BETWEEN '2026-02-10' AND '2026-02-11' GROUP BY city
SELECT city, count(DISTINCT num) FROM paid WHERE day IS NULL AND day = '2026-02-10' GROUP BY city
SELECT city, count(DISTINCT num) FROM paid_3 GROUP BY city
$list$);
SET enable_partitionwise_aggregate = on;
SELECT * FROM compare('SELECT day, count(*), sum(num), avg(price), max(city), count(DISTINCT num) FROM paid GROUP BY day');
RESET enable_partitionwise_aggregate;
EXPLAIN (COSTS OFF) SELECT city, count(*), count(DISTINCT num) FROM paid GROUP BY city HAVING max(price) > 3;
-- Errors, and those that PostgreSQL avoids.
SELECT * FROM compare_all($list$
SELECT city, sum(10 / small) FROM paid GROUP BY city
SELECT city, sum(10 / small) FILTER (WHERE small > 0) FROM paid GROUP BY city
SELECT sum(num * 100000) FROM paid
SELECT count(*) FROM paid WHERE small > 0 AND 10 / small > 3 AND sqrt(num) > 2 AND num > 0
$list$);

-- Parameters: partitions are left out when the plan begins, or have no rows; no partition is left.
SET plan_cache_mode = force_generic_plan;
PREPARE by_day (date, date, int) AS SELECT city, count(*) AS c, sum(num + $3) AS s, count(DISTINCT small) AS d FROM paid WHERE day BETWEEN $1 AND $2 AND small <> $3 GROUP BY city HAVING count(*) > $3;
CREATE FUNCTION given() RETURNS TABLE (first date, last date, city text, c int8, s int8, d int8) LANGUAGE plpgsql AS $$
DECLARE
    bounds date[];
BEGIN
    FOREACH bounds SLICE 1 IN ARRAY '{{2026-01-03,2026-03-10},{2026-02-03,2026-02-04},{2026-02-04,2026-02-03},{1990-01-01,1991-01-01},{2026-03-03,2026-04-10}}'::date[] LOOP
        FOR city, c, s, d IN EXECUTE format('EXECUTE by_day(%L, %L, 3)', bounds[1], bounds[2]) LOOP
            first := bounds[1];
            last := bounds[2];
            RETURN NEXT;
        END LOOP;
    END LOOP;
END $$;
EXPLAIN (COSTS OFF) EXECUTE by_day('2026-02-03', '2026-03-04', 3);
CREATE TEMPORARY TABLE by_node AS SELECT * FROM given();
SET pg_gpu.enable_query = off;
DEALLOCATE by_day;
PREPARE by_day (date, date, int) AS SELECT city, count(*) AS c, sum(num + $3) AS s, count(DISTINCT small) AS d FROM paid WHERE day BETWEEN $1 AND $2 AND small <> $3 GROUP BY city HAVING count(*) > $3;
CREATE TEMPORARY TABLE expected AS SELECT * FROM given();
RESET pg_gpu.enable_query;
(TABLE by_node EXCEPT ALL TABLE expected) UNION ALL (TABLE expected EXCEPT ALL TABLE by_node);
SELECT first, last, count(*) FROM by_node GROUP BY 1, 2 ORDER BY 1, 2;
DEALLOCATE by_day;
CREATE TABLE bare (n int4, t text) PARTITION BY RANGE (n);
CREATE TABLE bare_1 PARTITION OF bare FOR VALUES FROM (0) TO (1000);
CREATE TABLE bare_2 PARTITION OF bare FOR VALUES FROM (1000) TO (2000);
INSERT INTO bare SELECT i, i % 9 FROM generate_series(0, 1999) AS i;
CREATE INDEX bare_i ON bare USING gpu_column (n, t);
VACUUM ANALYZE bare;
PREPARE below (int4) AS SELECT count(*), count(DISTINCT t), max(t) FROM bare WHERE n < $1;
EXPLAIN (COSTS OFF) EXECUTE below(-1);
EXECUTE below(-1);
EXECUTE below(10);
EXECUTE below(10000);
DROP TABLE bare;
-- A plan doesn't outlive an index of one member.
PREPARE cached AS SELECT city, count(*), count(DISTINCT num) FROM paid GROUP BY city ORDER BY city;
EXECUTE cached;
BEGIN;
DROP INDEX paid_i;
EXECUTE cached;
ROLLBACK;
EXECUTE cached;
RESET plan_cache_mode;
DEALLOCATE cached;
SELECT * FROM compare_all($list$
SELECT g, (SELECT count(DISTINCT num) FROM paid WHERE small = g), (SELECT count(DISTINCT city) FROM paid WHERE id < g * 10) FROM generate_series(-1, 12) AS g
SELECT g, s.* FROM generate_series(1, 3) AS g, LATERAL (SELECT city, flag, count(*) + g AS n, sum(price) FROM paid WHERE small >= g GROUP BY ROLLUP (city, flag)) AS s
SELECT city, count(DISTINCT num) FROM paid WHERE day >= (SELECT date '2026-02-10' FROM (VALUES (1)) AS v) GROUP BY city
$list$);

-- Rows that aren't in runs, deleted rows, rows that move, one's own changes.
BEGIN;
INSERT INTO paid SELECT * FROM paid WHERE id <= 50;
UPDATE paid SET num = num + 1, city = 'Quito' WHERE id BETWEEN 100 AND 150;
UPDATE paid SET day = '2026-02-05' WHERE day = '2026-01-07';
DELETE FROM paid WHERE id BETWEEN 1000 AND 3000;
SELECT * FROM compare_all($list$
SELECT city, count(*), sum(num), avg(num), sum(big), avg(price), variance(num), count(DISTINCT id) FROM paid GROUP BY city
SELECT day, at, count(*), sum(num) FROM paid GROUP BY day, at
$list$);
ROLLBACK;
SELECT * FROM compare('SELECT city, count(*), sum(num), avg(num), sum(big), avg(price), variance(num), count(DISTINCT id) FROM paid GROUP BY city');

-- Memory: groups that take several passes, and results of expressions that are too many.
SET work_mem = '64kB';
SELECT * FROM compare_all($list$
SELECT id, big, count(*) AS c, sum(num) AS s, avg(num) AS n FROM paid GROUP BY id, big
SELECT city, count(DISTINCT id), count(DISTINCT big) FROM paid GROUP BY city
SELECT max(id::text || repeat('long enough to take more memory than there is', 9)), count(DISTINCT num) FROM paid WHERE id > 0
$list$);
RESET work_mem;

-- One member without the index, or with another one: its rows are aggregated by PostgreSQL. Up to 17, and where autovacuum is on, CREATE INDEX counts the
-- pages that are all-visible, which plans' costs depend on.
VACUUM ANALYZE paid;
BEGIN;
ALTER TABLE paid_3 DETACH PARTITION paid_3_lima;
DROP INDEX paid_lima_i;
CREATE INDEX paid_other_way ON paid_3_lima USING gpu_column (day, id, city, small, num, big, price, any_scale, flag, f8, at, sparse);
DROP INDEX paid_i;
CREATE INDEX ON paid_1 USING gpu_column (id, day, city, small, num);
CREATE INDEX ON paid_2 USING gpu_column (id, day, city, small, num);
CREATE INDEX ON paid_3_other USING gpu_column (id, day, city, small, num);
CREATE INDEX ON paid_empty USING gpu_column (id, day, city, small, num);
CREATE INDEX ON paid_default USING gpu_column (id, day, city, small, num);
ALTER TABLE paid_3 ATTACH PARTITION paid_3_lima FOR VALUES IN ('Lima');
SELECT * FROM compare_all($list$
SELECT city, count(*), sum(num) FROM paid GROUP BY city
SELECT city, count(DISTINCT num) FROM paid GROUP BY city
SELECT city, count(DISTINCT num) FROM paid WHERE city <> 'Lima' GROUP BY city
$list$);
SELECT candidate, used, reason FROM gpu.explain_why('SELECT city, count(DISTINCT num) FROM paid GROUP BY city') ORDER BY 1, 3;
SELECT candidate, used, reason FROM gpu.explain_why('SELECT city, count(*) FROM paid WHERE city <> ''Lima'' GROUP BY ROLLUP (city)') ORDER BY 1, 3;
ROLLBACK;

-- Privileges and row security are the parent's; who peeks at a hidden row raises an error.
CREATE FUNCTION peek(int2) RETURNS bool IMMUTABLE COST 0.0001 LANGUAGE plpgsql AS $$
BEGIN
    IF $1 = 7 THEN
        RAISE EXCEPTION 'a hidden row was seen';
    END IF;
    RETURN $1 > 3;
END $$;
CREATE ROLE paid_reader;
GRANT SELECT (id, day, small, num, city) ON paid TO paid_reader;
CREATE POLICY paid_hides ON paid USING (small <> 7);
CREATE POLICY paid_2_hides ON paid_2 USING (small <> 3);
ALTER TABLE paid ENABLE ROW LEVEL SECURITY;
ALTER TABLE paid_2 ENABLE ROW LEVEL SECURITY;
SET ROLE paid_reader;
SELECT * FROM compare_all($list$
SELECT count(*), count(DISTINCT num) FROM paid WHERE peek(small)
SELECT city, count(DISTINCT small) FROM paid GROUP BY city
SELECT count(DISTINCT big) FROM paid
$list$);
RESET ROLE;

-- Inheritance: the parent has rows of its own.
CREATE TABLE parent (a int4, b text);
CREATE TABLE child_1 (c int4) INHERITS (parent);
CREATE TABLE child_2 () INHERITS (parent);
INSERT INTO parent SELECT i % 7, 'p' || i % 3 FROM generate_series(1, 500) AS i;
INSERT INTO child_1 SELECT i % 5, 'c' || i % 4, i FROM generate_series(1, 700) AS i;
INSERT INTO child_2 SELECT i % 9, NULL FROM generate_series(1, 300) AS i;
CREATE INDEX ON parent USING gpu_column (a, b);
CREATE INDEX ON child_1 USING gpu_column (a, b);
CREATE INDEX ON child_2 USING gpu_column (a, b);
VACUUM ANALYZE parent, child_1, child_2;
SELECT * FROM compare_all($list$
SELECT a, count(*), count(DISTINCT b), max(b) FROM parent GROUP BY a
SELECT a, b, count(*) FROM parent GROUP BY CUBE (a, b)
SELECT a, count(DISTINCT b) FROM ONLY parent GROUP BY a
-- The replaced plan computes what is grouped by for children, too.
SELECT a + 1, sum(10 / a) FILTER (WHERE a <> 0) FROM parent GROUP BY 1
SELECT lower(b), a % 3, sum(10 / a) FILTER (WHERE a <> 0) FROM parent WHERE b IS NOT NULL GROUP BY 1, 2
$list$);
DROP TABLE parent, child_1, child_2;
DROP TABLE paid;
DROP ROLE paid_reader;
DROP FUNCTION peek, given, answer_of, who_answers, compare, compare_all;
