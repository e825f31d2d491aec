-- GpuQuery joins tables with a gpu_column index with what has none: tables, partitions, subqueries, WITH, VALUES and functions, whose rows the session reads itself.
SET pg_gpu.path = host;
SET pg_gpu.min_mirror_entries = 0;
SET max_parallel_workers_per_gather = 0;

CREATE TABLE sale (id int4, shop int4, day date, moment timestamp, price numeric(8,2), loose numeric, ratio float8, code char(4), note text) WITH (autovacuum_enabled = off);
INSERT INTO sale
SELECT i, CASE WHEN i % 11 > 0 THEN i * 7 % 120 END, date '2025-01-01' + i % 300, timestamp '2025-01-01' + i * interval '50 minutes', i % 500 / 4.0,
       CASE i % 3 WHEN 0 THEN i % 40 WHEN 1 THEN (i % 40)::numeric(6,1) ELSE (i % 40 / 4.0)::numeric(6,2) END, CASE WHEN i % 17 > 0 THEN i % 30 / 4.0 END, (ARRAY['a', 'b', 'c'])[1 + i % 3],
       (ARRAY['fast', 'late', '', 'lost', NULL])[1 + i % 5]
FROM generate_series(1, 8000) AS i;
CREATE INDEX sale_i ON sale USING gpu_column (id, shop, day, moment, price, loose, ratio, code, note);
-- Without an index, with one that has too few columns, and one whose values are many.
CREATE TABLE shop (id int8, region text, opened date, share numeric, factor float4, kind char(4), is_open bool, code uuid) WITH (autovacuum_enabled = off);
INSERT INTO shop
SELECT i % 90, CASE WHEN i % 9 > 0 THEN 'region ' || i % 7 END, date '2025-01-01' + i, CASE WHEN i % 4 > 0 THEN i / 8.0 ELSE i END, CASE WHEN i % 6 > 0 THEN i / 4.0 END, (ARRAY['a', 'b', 'd'])[1 + i % 3], i % 2 = 0,
       md5((i % 20)::text)::uuid
FROM generate_series(0, 129) AS i;
INSERT INTO shop VALUES (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (5, 'fifth', '2025-01-09', 'NaN', 'NaN', 'a', true, NULL);
CREATE TABLE rate (day date, rate numeric) PARTITION BY RANGE (day);
CREATE TABLE rate_early PARTITION OF rate FOR VALUES FROM (MINVALUE) TO ('2025-06-01');
CREATE TABLE rate_late PARTITION OF rate FOR VALUES FROM ('2025-06-01') TO (MAXVALUE);
INSERT INTO rate SELECT date '2025-01-01' + i * 2, 1 + i / 100.0 FROM generate_series(0, 149) AS i;
CREATE TABLE empty (id int4, name text);
VACUUM ANALYZE sale, shop, rate, empty;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all
EXPLAIN (COSTS OFF) SELECT p.region, count(*), sum(s.price) FROM sale s LEFT JOIN shop p ON s.shop = p.id AND p.share < s.price GROUP BY 1;
SELECT * FROM compare_all($list$
SELECT p.region, count(*), sum(s.price), sum(p.share * s.loose) FROM sale s JOIN shop p ON s.shop = p.id GROUP BY 1
SELECT p.region, count(*), count(s.id), max(s.note) FROM sale s RIGHT JOIN shop p ON s.shop = p.id AND s.price > 60 GROUP BY 1
SELECT coalesce(p.id, s.shop), count(*), count(p.id) FROM sale s FULL JOIN shop p ON s.shop = p.id AND p.is_open GROUP BY 1
SELECT count(*), sum(s.price) FROM sale s WHERE EXISTS (SELECT FROM shop p WHERE p.id = s.shop AND p.opened < s.day)
SELECT count(*), sum(s.price) FROM sale s WHERE NOT EXISTS (SELECT FROM shop p WHERE p.id = s.shop AND p.opened < s.day)
SELECT p.id, count(*) FROM shop p WHERE EXISTS (SELECT FROM sale s WHERE p.id = s.shop AND s.note = 'late') GROUP BY 1
SELECT p.region, s.note, count(*) FROM sale s JOIN shop p ON s.shop = p.id GROUP BY 1, 2
SELECT p.region || '/' || s.note, count(*) FROM sale s JOIN shop p ON s.shop = p.id GROUP BY 1
SELECT upper(p.region), count(DISTINCT s.note), min(p.region) FROM sale s JOIN shop p ON s.shop = p.id GROUP BY 1
SELECT p.code, count(*) FROM sale s JOIN shop p ON s.shop = p.id GROUP BY 1
SELECT p.is_open, p.kind, count(*), sum(p.factor) FROM sale s JOIN shop p ON s.shop = p.id GROUP BY 1, 2
SELECT count(*) FROM sale s JOIN shop p ON s.code = p.kind
SELECT count(*), sum(s.ratio) FROM sale s JOIN shop p ON s.ratio = p.factor
SELECT count(*), sum(s.loose) FROM sale s JOIN shop p ON s.loose = p.share
SELECT count(*), max(p.share) FROM sale s JOIN shop p ON s.loose = p.share WHERE p.share < 1000
SELECT p.region, percentile_disc(0.5) WITHIN GROUP (ORDER BY s.price) FROM sale s JOIN shop p ON s.shop = p.id WHERE p.region LIKE 'region%' GROUP BY 1
SELECT extract(month FROM s.day), sum(s.price * r.rate) FROM sale s JOIN rate r ON r.day = s.day GROUP BY 1
SELECT v.name, count(*) FROM sale s JOIN (VALUES (1, 'one'), (2, 'two'), (2, 'two again'), (NULL, 'none')) AS v (id, name) ON s.shop = v.id GROUP BY 1
SELECT g, count(s.id) FROM sale s RIGHT JOIN generate_series(0, 20) AS g ON s.shop = g GROUP BY 1
SELECT m.region, count(*), max(m.shops) FROM sale s JOIN (SELECT id, region, count(*) AS shops FROM shop GROUP BY 1, 2) AS m ON m.id = s.shop GROUP BY 1
SELECT m.region, count(*) FROM sale s JOIN (SELECT DISTINCT id, region FROM shop ORDER BY 1, 2 LIMIT 50) AS m ON m.id = s.shop GROUP BY 1
WITH m AS MATERIALIZED (SELECT id, region FROM shop WHERE is_open) SELECT a.region, b.region, count(*) FROM sale s JOIN m a ON a.id = s.shop JOIN m b ON b.id = s.shop + 2 GROUP BY 1, 2
SELECT s.note, count(*) FROM sale s JOIN (SELECT shop, max(price) AS most FROM sale GROUP BY 1) AS m ON m.shop = s.shop AND m.most = s.price GROUP BY 1
SELECT count(*), count(e.name) FROM sale s LEFT JOIN empty e ON e.id = s.shop
SELECT count(*) FROM sale s JOIN empty e ON e.id = s.shop
SELECT count(*) FROM sale s, shop p WHERE s.price < p.share AND s.id < 300
SELECT a.region, count(*) FROM sale s JOIN shop a ON s.shop = a.id JOIN shop b ON b.opened = s.day AND b.kind = a.kind GROUP BY 1
SELECT count(*) FROM (SELECT id FROM sale UNION ALL SELECT id FROM shop) AS u JOIN sale s ON s.id = u.id
SELECT count(*) FROM sale s JOIN (SELECT id, 10 / (id - 5) AS q FROM shop) AS p ON p.id = s.shop WHERE p.q > 0
SELECT count(*) FROM sale s JOIN (SELECT id, 10 / (id - 5) AS q FROM shop WHERE id > 5) AS p ON p.id = s.shop WHERE p.q > 0
SELECT count(*) FROM sale s JOIN (SELECT id, random() AS q FROM shop) AS p ON p.id = s.shop WHERE p.q > -1
SELECT count(*), sum(p.q) FROM sale s JOIN (SELECT id + 1 AS next, count(*) AS q FROM shop GROUP BY 1 OFFSET 0) AS p ON p.next = s.shop
WITH p AS MATERIALIZED (SELECT id, date_trunc('month', opened) AS month FROM shop) SELECT month, count(*) FROM sale s JOIN p ON p.id = s.shop GROUP BY 1
WITH p AS MATERIALIZED (SELECT id, 10 / (id - 5) AS q FROM shop) SELECT count(*) FROM sale s JOIN p ON p.id = s.shop
WITH p AS MATERIALIZED (SELECT id, 10 / (id - 5) AS q FROM shop) SELECT s.id > 0 FROM sale s JOIN p ON p.id = s.shop LIMIT 1
$list$);

-- The input is the larger side, and has a number that makes PostgreSQL's own plan answer.
CREATE TABLE metered AS SELECT g AS id, CASE WHEN g = 5 THEN 1e40 ELSE g END AS x FROM generate_series(1, 9000) AS g;
ANALYZE metered;
SELECT * FROM compare_all($list$
SELECT count(*), avg(m.x), count(s.id) FROM sale s RIGHT JOIN metered m ON s.id = m.id AND s.price > 120
SELECT avg(m.x), count(s.id), count(t.id) FROM metered m LEFT JOIN sale s ON s.id = m.id LEFT JOIN sale t ON t.id = m.id AND t.price > 12
$list$);
-- Parameters and outer rows.
SET plan_cache_mode = force_generic_plan;
PREPARE of_region (text, int) AS SELECT p.kind, count(*), sum(s.price) FROM sale s JOIN shop p ON s.shop = p.id + $2 WHERE p.region = $1 GROUP BY 1 ORDER BY 1;
EXECUTE of_region ('region 3', 0);
EXECUTE of_region ('region 4', 1);
EXECUTE of_region (NULL, 1);
RESET plan_cache_mode;
SELECT * FROM compare_all($list$
SELECT v.region, (SELECT count(*) FROM sale s JOIN shop p ON s.shop = p.id WHERE p.region = v.region) FROM (VALUES ('region 1'), ('region 2'), ('none')) AS v (region)
SELECT e.n, c.* FROM generate_series(1, 3) AS e (n), LATERAL (SELECT count(*), sum(p.share) FROM sale s JOIN shop p ON s.shop = p.id AND p.id < e.n * 10 WHERE p.id <> 5) AS c
$list$);

-- More rows than were expected, and rows of this transaction.
BEGIN;
INSERT INTO shop (id, region) SELECT i % 100, 'new ' || i % 5 FROM generate_series(1, 3000) AS i;
UPDATE shop SET region = 'moved' WHERE id = 7;
SELECT * FROM compare_all($list$
SELECT p.region, count(*), sum(s.price) FROM sale s JOIN shop p ON s.shop = p.id GROUP BY 1
SELECT count(*) FROM sale s LEFT JOIN shop p ON s.shop = p.id AND p.region = 'moved'
$list$);
ROLLBACK;

-- Who may not see the rows, or only some.
CREATE ROLE regress_input_reader;
GRANT SELECT ON sale TO regress_input_reader;
SET ROLE regress_input_reader;
SELECT count(*) FROM sale s JOIN shop p ON s.shop = p.id;
RESET ROLE;
GRANT SELECT ON shop TO regress_input_reader;
ALTER TABLE shop ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON shop USING (id < 40);
SET ROLE regress_input_reader;
SELECT * FROM compare_all($list$
SELECT count(*), max(p.id) FROM sale s JOIN shop p ON s.shop = p.id
SELECT count(*), max(p.id) FROM sale s LEFT JOIN shop p ON s.shop = p.id
$list$);
RESET ROLE;
-- Series of moments and of steps, of which some may raise errors, so that PostgreSQL's plan reads them where it comes to them.
SELECT * FROM compare_all($list$
SELECT d::date, count(s.id), sum(s.price) FROM generate_series(date '2025-02-01', date '2025-03-10', interval '1 day') AS d LEFT JOIN sale s ON s.day = d::date GROUP BY 1
SELECT d, count(s.id) FROM generate_series(timestamp '2025-01-01', timestamp '2025-06-01' - interval '1 day', '1 month') AS d LEFT JOIN sale s ON date_trunc('month', s.moment) = d GROUP BY 1
SELECT d::date, count(s.id) FROM generate_series(timestamptz '2025-03-10 00:00+00', timestamptz '2025-02-20 00:00+00', '-12 hours') AS d LEFT JOIN sale s ON s.day = d::date GROUP BY 1
SELECT count(*), count(s.id) FROM generate_series(current_date - 3, now(), '1 day') AS d LEFT JOIN sale s ON s.day = d::date
SELECT g, count(s.id) FROM generate_series(100, 1, -9) AS g LEFT JOIN sale s ON s.shop = g GROUP BY 1
SELECT g, count(s.id) FROM generate_series(1::int8, 30, 4) AS g LEFT JOIN sale s ON s.shop = g GROUP BY 1
SELECT count(s.id) FROM generate_series(timestamp '2025-01-01', timestamp '2025-06-01', '0 days') AS d LEFT JOIN sale s ON s.moment = d
SELECT count(s.id) FROM empty e, generate_series(timestamp '2025-01-01', timestamp '2025-06-01', '0 days') AS d LEFT JOIN sale s ON s.moment = d WHERE e.id > 0
SELECT count(s.id) FROM generate_series(1, 10, 0) AS g LEFT JOIN sale s ON s.shop = g
SELECT count(s.id) FROM generate_series(timestamp '294276-12-30', timestamp '294276-12-31 23:59', '10 hours') AS d LEFT JOIN sale s ON s.moment = d
SELECT count(s.id) FROM generate_series(timestamp '2025-01-01', NULL, '1 day') AS d LEFT JOIN sale s ON s.moment = d
$list$);
DROP TABLE sale, shop, rate, empty;
DROP FUNCTION compare, compare_all, who_answers, answer_of;
DROP ROLE regress_input_reader;
