-- Joins with tables whose rows come as groups of their own gpu_column index: what compare() finds with the node and without it.
SET pg_gpu.path = host;
SET max_parallel_workers_per_gather = 0;
DO $$ BEGIN PERFORM set_config(name, 'off', false) FROM pg_settings WHERE name = 'enable_presorted_aggregate'; END $$;

-- Tables of so many rows that reading their groups pays. Keys of `near` lie close together, those of `far` don't; `many` has several rows of a key.
CREATE TABLE fact (id int, near int, far int8, day date, amount int) WITH (autovacuum_enabled = off);
CREATE TABLE near (k int PRIMARY KEY, name text, kind int, shade "char", price numeric(8,2), day date, flag bool) WITH (autovacuum_enabled = off);
CREATE TABLE far (k int8 PRIMARY KEY, name text) WITH (autovacuum_enabled = off);
CREATE TABLE many (k int, name text) WITH (autovacuum_enabled = off);
CREATE TABLE days (day date PRIMARY KEY, season text) WITH (autovacuum_enabled = off);
INSERT INTO near SELECT i, CASE WHEN i % 9 <> 0 THEN 'name ' || i % 23 END, CASE WHEN i % 7 <> 0 THEN i % 12 END, chr(65 + i % 5), i % 40 / 4.0,
    date '2020-01-01' + i % 50, CASE i % 3 WHEN 0 THEN true WHEN 1 THEN false END FROM generate_series(-2000, 38000) AS i;
INSERT INTO far SELECT i * 1000000007::int8, 'far ' || i % 31 FROM generate_series(-15000, 15000) AS i;
INSERT INTO many SELECT CASE WHEN i % 11 <> 0 THEN i % 12000 END, 'many ' || i % 5 FROM generate_series(1, 30000) AS i;
INSERT INTO days SELECT d, CASE extract(month FROM d)::int % 4 WHEN 1 THEN 'spring' WHEN 2 THEN 'summer' WHEN 3 THEN 'autumn' END
FROM generate_series(date '1950-01-01', date '2040-12-31', '1 day') AS d;
INSERT INTO fact SELECT i, CASE WHEN i % 17 <> 0 THEN (i * 7) % 45000 - 3000 END, CASE WHEN i % 19 <> 0 THEN (i * 13 % 32000 - 16000) * 1000000007::int8 END,
    date '1949-06-01' + i * 11 % 34000, i % 500 - 100 FROM generate_series(1, 60000) AS i;
CREATE INDEX fact_i ON fact USING gpu_column (id, near, far, day, amount);
CREATE INDEX near_i ON near USING gpu_column (k, name, kind, shade, price, day, flag);
CREATE INDEX far_i ON far USING gpu_column (k, name);
CREATE INDEX many_i ON many USING gpu_column (k, name);
CREATE INDEX days_i ON days USING gpu_column (day, season);
VACUUM ANALYZE fact, near, far, many, days;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all

-- The joined tables' rows are groups, since PostgreSQL's scans of tables are so dear here.
SET enable_seqscan = off;
SET enable_nestloop = off;

-- Values that codes tell apart, and others; expressions over one of them, over several, and over both sides.
SELECT * FROM compare_all($list$
SELECT n.name, count(*), sum(f.amount) FROM fact f JOIN near n ON f.near = n.k GROUP BY 1
SELECT n.kind, n.shade, n.flag, count(*), sum(n.kind) FROM fact f JOIN near n ON f.near = n.k GROUP BY 1, 2, 3
SELECT upper(n.name), n.name || n.kind, count(*), count(DISTINCT n.name), min(n.name), max(n.shade) FROM fact f JOIN near n ON f.near = n.k GROUP BY 1, 2
SELECT n.price, sum(n.price), avg(n.price) FROM fact f JOIN near n ON f.near = n.k GROUP BY 1
SELECT n.day, f.near % 3, n.kind + f.near, count(*) FROM fact f JOIN near n ON f.near = n.k WHERE f.id < 3000 GROUP BY 1, 2, 3
SELECT n.name IS NULL, sum(f.amount) FROM fact f JOIN near n ON f.near = n.k WHERE n.name LIKE '%1%' OR n.name IS NULL GROUP BY 1
SELECT count(*), sum(f.amount) FILTER (WHERE n.name > 'name 2'), sum(length(n.name)) FROM fact f JOIN near n ON f.near = n.k WHERE n.flag
SELECT 12 / (n.kind - 5), count(*) FROM fact f JOIN near n ON f.near = n.k WHERE n.kind <> 5 GROUP BY 1
SELECT 12 / (length(n.name) - 6), count(*) FROM fact f JOIN near n ON f.near = n.k GROUP BY 1

-- Rows without a partner.
SELECT n.name, coalesce(n.name, 'none'), count(*), count(n.k) FROM fact f LEFT JOIN near n ON f.near = n.k GROUP BY 1, 2
SELECT n.kind, sum(f.amount) FROM fact f LEFT JOIN near n ON f.near = n.k AND n.name = 'name 3' GROUP BY 1
SELECT count(*), sum(f.amount) FROM fact f WHERE NOT EXISTS (SELECT FROM near n WHERE n.k = f.near AND n.kind = 3)
SELECT count(*), sum(f.amount) FROM fact f WHERE f.near IN (SELECT k FROM many WHERE name = 'many 2')
SELECT count(*), sum(f.amount) FROM fact f WHERE EXISTS (SELECT FROM many m WHERE m.k = f.near)

-- Keys that lie far apart, keys of other types, and dates.
SELECT x.name, count(*), sum(f.amount) FROM fact f JOIN far x ON f.far = x.k GROUP BY 1
SELECT n.name, count(*) FROM fact f JOIN near n ON f.far = n.k GROUP BY 1
SELECT d.season, extract(year FROM d.day) > 2000, count(*) FROM fact f JOIN days d ON f.day = d.day GROUP BY 1, 2
SELECT n.name, d.season, x.name, count(*) FROM fact f JOIN near n ON f.near = n.k JOIN days d ON f.day = d.day JOIN far x ON f.far = x.k GROUP BY 1, 2, 3
$list$);

-- Rows that come and go, and parameters that the groups depend on.
BEGIN;
DELETE FROM near WHERE k % 5 = 1;
UPDATE near SET name = 'new ' || k % 7 WHERE k % 5 = 2;
INSERT INTO near VALUES (40000, 'other', 1, 'Z', 0, '2020-01-01', true), (-2500, NULL, NULL, NULL, NULL, NULL, NULL);
SELECT * FROM compare('SELECT n.name, count(*), sum(f.amount) FROM fact f JOIN near n ON f.near = n.k GROUP BY 1');
ROLLBACK;
PREPARE by_kind(int) AS SELECT n.name, count(*) FROM fact f JOIN near n ON f.near = n.k WHERE n.kind = $1 GROUP BY 1 ORDER BY 1 LIMIT 2;
SET plan_cache_mode = force_generic_plan;
EXECUTE by_kind(3);
EXECUTE by_kind(4);
EXECUTE by_kind(NULL);
RESET plan_cache_mode;
SELECT * FROM compare('SELECT v, (SELECT sum(f.amount) FROM fact f JOIN near n ON f.near = n.k WHERE n.kind = v AND n.shade = ''B'') FROM generate_series(1, 4) AS v');

-- What the joined table's node has given is seen.
CREATE FUNCTION rows_of_nodes(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
        IF line LIKE '%(GpuQuery)%' THEN
            RETURN NEXT trim(replace(line, '.00 ', ' '));
        END IF;
    END LOOP;
END $$;
SELECT rows_of_nodes('SELECT n.name, sum(f.amount) FROM fact f JOIN near n ON f.near = n.k GROUP BY n.name');

-- With little memory.
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SELECT * FROM compare('SELECT n.name, count(*), sum(f.amount) FROM fact f JOIN near n ON f.near = n.k GROUP BY 1');
RESET work_mem;
RESET hash_mem_multiplier;
DROP TABLE fact, near, far, many, days;
DROP FUNCTION compare, compare_all, who_answers, answer_of, rows_of_nodes;
