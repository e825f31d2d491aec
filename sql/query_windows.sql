-- Window functions that the engine computes. Each statement is run with the node and without it, and the answers are held against each other.
SET pg_gpu.path = host;
SET pg_gpu.min_mirror_entries = 0;
SET max_parallel_workers_per_gather = 0;
SET parallel_setup_cost = 0;

CREATE TABLE reading (id int4, device int4, at timestamptz, day date, value float8, price numeric(8,2), free numeric, wide int8, name text, note text COLLATE "C", short char(5), is_good bool, span interval) WITH (autovacuum_enabled = off);
INSERT INTO reading
SELECT i, CASE WHEN i % 17 > 0 THEN i % 40 END, timestamptz '2025-01-01 00:00 UTC' + i * 7919 % 100003 * interval '1 minute', date '2025-01-01' + i % 90,
       CASE i % 9 WHEN 0 THEN NULL WHEN 1 THEN 'NaN' WHEN 2 THEN -i WHEN 3 THEN 0 WHEN 4 THEN '-0' ELSE i / 8.0 END, CASE WHEN i % 11 > 0 THEN i * 31 % 1009 / 4.0 END,
       CASE WHEN i % 5 > 0 THEN (i % 70)::numeric(10, 2) ELSE i % 70 END, 9223372036854775000 - i % 1000, CASE WHEN i % 7 > 0 THEN 'Name ' || i % 45 ELSE 'name ' || i % 13 END, 'note ' || i % 30,
       's' || i % 12, i % 13 < 5, i % 50 * interval '1 hour'
FROM generate_series(1, 5000) AS i;
CREATE INDEX reading_i ON reading USING gpu_column (id, device, at, day, value, price, free, wide, name, note, short, is_good, span);
CREATE TABLE device (device int4, place text) WITH (autovacuum_enabled = off);
INSERT INTO device SELECT i, 'place ' || i % 6 FROM generate_series(0, 60) AS i;
CREATE INDEX device_i ON device USING gpu_column (device, place);
VACUUM ANALYZE reading, device;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all
EXPLAIN (COSTS OFF) SELECT device, id, row_number() OVER (PARTITION BY device ORDER BY price DESC, id) FROM reading;
EXPLAIN (COSTS OFF) SELECT * FROM (SELECT device, id, row_number() OVER (PARTITION BY device ORDER BY price DESC, id) AS n FROM reading) AS r WHERE n <= 2;
EXPLAIN (COSTS OFF) SELECT place, id, sum(price) OVER (PARTITION BY place ORDER BY id), max(at) OVER (PARTITION BY day) FROM reading JOIN device USING (device);
-- Numbers, ranks and their conditions.
SELECT * FROM compare_all($list$
SELECT device, id, row_number() OVER (PARTITION BY device ORDER BY price DESC, id) FROM reading
SELECT device, id, rank() OVER (PARTITION BY device ORDER BY price DESC), dense_rank() OVER (PARTITION BY device ORDER BY price DESC) FROM reading
SELECT id, rank() OVER (ORDER BY value), dense_rank() OVER (ORDER BY value DESC NULLS LAST) FROM reading
SELECT id, rank() OVER (ORDER BY name), rank() OVER (ORDER BY note DESC), rank() OVER (ORDER BY short, is_good) FROM reading
SELECT id, rank() OVER (PARTITION BY name ORDER BY day), rank() OVER (PARTITION BY is_good, day ORDER BY note, wide DESC) FROM reading
SELECT * FROM (SELECT device, id, row_number() OVER (PARTITION BY device ORDER BY at DESC, id) AS n FROM reading) AS r WHERE n <= 2
SELECT * FROM (SELECT device, id, row_number() OVER (PARTITION BY device ORDER BY at DESC, id) AS n FROM reading) AS r WHERE n = 1
SELECT * FROM (SELECT name, id, rank() OVER (PARTITION BY name ORDER BY price DESC) AS n FROM reading WHERE price IS NOT NULL) AS r WHERE n < 4 AND id % 2 = 0
SELECT * FROM (SELECT id, dense_rank() OVER (ORDER BY day DESC) AS n FROM reading) AS r WHERE n <= 3
SELECT * FROM (SELECT id, count(*) OVER (ORDER BY day) AS n FROM reading) AS r WHERE n <= 200
SELECT * FROM (SELECT device, row_number() OVER (PARTITION BY device ORDER BY id) AS n, row_number() OVER (PARTITION BY day ORDER BY id) AS m FROM reading) AS r WHERE n <= 5 AND m <= 3
SELECT device, avg(price) FROM (SELECT device, price, row_number() OVER (PARTITION BY device ORDER BY price DESC NULLS LAST, id) AS n FROM reading) AS r WHERE n <= 3 GROUP BY 1
SELECT id, row_number() OVER () > 0 FROM reading
SELECT row_number() OVER (ORDER BY id) FROM reading WHERE id < 0
SELECT device, id, row_number() OVER (PARTITION BY device, 7 ORDER BY id) * 2 AS n FROM reading ORDER BY n DESC, id LIMIT 5
$list$);
-- Values of other rows.
SELECT * FROM compare_all($list$
SELECT id, lag(id) OVER (ORDER BY id), lead(price, 3) OVER (PARTITION BY device ORDER BY id), lag(name, 2) OVER (PARTITION BY day ORDER BY id), lag(value, 0) OVER (ORDER BY id) FROM reading
SELECT id, at - lag(at) OVER (PARTITION BY device ORDER BY at, id), day - lag(day, -2) OVER (ORDER BY id), lag(free) OVER (ORDER BY id), lead(wide) OVER (ORDER BY id) FROM reading
SELECT id, first_value(price) OVER (PARTITION BY device ORDER BY id), last_value(note) OVER (PARTITION BY device ORDER BY day, id), last_value(short) OVER (PARTITION BY device ORDER BY id ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING) FROM reading
SELECT id, lag(is_good) OVER (ORDER BY id), lag(upper(note)) OVER (ORDER BY id), lag(price * 2 + device) OVER (ORDER BY id), lag(CASE WHEN id % 2 = 0 THEN name END) OVER (ORDER BY id) FROM reading
SELECT device, max(gap) FROM (SELECT device, at - lag(at) OVER (PARTITION BY device ORDER BY at, id) AS gap FROM reading) AS r GROUP BY 1
SELECT id, lag(value) OVER (PARTITION BY date_trunc('month', at) ORDER BY id), date_trunc('month', at) FROM reading
$list$);
-- Aggregates and frames.
SELECT * FROM compare_all($list$
SELECT id, sum(id) OVER (ORDER BY id), sum(price) OVER (PARTITION BY device ORDER BY id), sum(wide) OVER (PARTITION BY day ORDER BY id), count(value) OVER (PARTITION BY name) FROM reading
SELECT id, avg(price) OVER (PARTITION BY short ORDER BY id ROWS BETWEEN 3 PRECEDING AND CURRENT ROW), avg(id) OVER (PARTITION BY device), avg(free) OVER (ORDER BY id ROWS 2 PRECEDING) FROM reading
SELECT id, min(price) OVER (PARTITION BY device ORDER BY id), max(value) OVER (PARTITION BY device ORDER BY id ROWS BETWEEN 5 PRECEDING AND 5 FOLLOWING), max(note) OVER (PARTITION BY day), min(free) OVER (PARTITION BY device ORDER BY id) FROM reading
SELECT id, count(*) OVER (PARTITION BY device ORDER BY day), count(*) FILTER (WHERE is_good) OVER (PARTITION BY device ORDER BY day), sum(price) FILTER (WHERE price > 100) OVER (ORDER BY day) FROM reading
SELECT id, sum(price) OVER (PARTITION BY device ORDER BY day RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING), count(*) OVER (PARTITION BY device ORDER BY day GROUPS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM reading
SELECT id, sum(id) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), sum(id) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING), bool_or(is_good) OVER (PARTITION BY device ORDER BY id) FROM reading
SELECT id, price / sum(price) OVER (PARTITION BY day) AS share, price - avg(price) OVER (PARTITION BY day) FROM reading WHERE device < 9
SELECT id, sum(CASE WHEN is_good THEN 1 ELSE 0 END) OVER (PARTITION BY device ORDER BY id), max(at) OVER (PARTITION BY device ORDER BY id), min(day) OVER (ORDER BY id) FROM reading
SELECT count(*), sum(s) FROM (SELECT sum(is_new) OVER (PARTITION BY device ORDER BY at, id) AS s FROM (SELECT device, id, at, CASE WHEN at - lag(at) OVER (PARTITION BY device ORDER BY at, id) < interval '2 hours' THEN 0 ELSE 1 END AS is_new FROM reading) AS a) AS b
SELECT DISTINCT device, first_value(at) OVER (PARTITION BY device ORDER BY at) FROM reading
SELECT place, id, sum(price) OVER (PARTITION BY place ORDER BY id), row_number() OVER (PARTITION BY day ORDER BY id) FROM reading JOIN device USING (device)
SELECT place, id, rank() OVER (PARTITION BY place ORDER BY price) FROM device LEFT JOIN reading USING (device)
SELECT *, sum(n) OVER (ORDER BY day) FROM (SELECT day, count(*) AS n FROM reading GROUP BY day) AS r
SELECT id, sum(price) OVER w, lag(price) OVER w, row_number() OVER w FROM reading WINDOW w AS (PARTITION BY device ORDER BY id)
SELECT (SELECT sum(d) FROM (SELECT row_number() OVER (ORDER BY id) - id AS d FROM reading) AS r), count(*) FROM device
$list$);
-- Deviations of integers and numerics.
SELECT * FROM compare_all($list$
SELECT id, stddev(price) OVER (PARTITION BY device), variance(id) OVER (PARTITION BY device ORDER BY id), var_pop(free) OVER (PARTITION BY name ORDER BY id) FROM reading
SELECT id, stddev_pop(price) OVER (PARTITION BY device ORDER BY id ROWS 19 PRECEDING), stddev_samp(id::int2) FILTER (WHERE is_good) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND 2 FOLLOWING), var_samp(price) OVER (ORDER BY day RANGE '3 days' PRECEDING) FROM reading
SELECT id, stddev(wide) OVER (PARTITION BY day ORDER BY id) FROM reading
$list$);
-- Of groups, where there are many: the groups are a subquery of the same request.
EXPLAIN (COSTS OFF) SELECT * FROM (SELECT device, id, sum(price) AS p, row_number() OVER (PARTITION BY device ORDER BY sum(price) DESC, id) AS n FROM reading GROUP BY device, id) AS r WHERE n <= 3;
SELECT * FROM compare_all($list$
SELECT * FROM (SELECT device, id, sum(price) AS p, row_number() OVER (PARTITION BY device ORDER BY sum(price) DESC, id) AS n FROM reading GROUP BY device, id) AS r WHERE n <= 3
SELECT id % 3000 AS k, count(*), sum(count(*)) OVER (ORDER BY id % 3000), avg(price) - avg(avg(price)) OVER () FROM reading GROUP BY 1
SELECT id / 2 AS k, max(name), rank() OVER (ORDER BY count(*) DESC, min(day)) AS n FROM reading WHERE price > 10 GROUP BY 1 HAVING count(*) > 1 ORDER BY n, k LIMIT 20
SELECT DISTINCT device, max(sum(price)) OVER (PARTITION BY device) FROM reading GROUP BY device, id
SELECT place, id, lag(sum(price)) OVER (PARTITION BY place ORDER BY id) FROM reading JOIN device USING (device) GROUP BY place, id
SELECT id, 7 AS seven, count(*) OVER (PARTITION BY 7 ORDER BY id) FROM reading GROUP BY id, 2
SELECT day, count(*), lag(count(*)) OVER (ORDER BY day) FROM reading GROUP BY day
SELECT id, sum(sum(value)) OVER (ORDER BY id) FROM reading GROUP BY id
SELECT id, day, grouping(day), rank() OVER (ORDER BY count(*)) FROM reading GROUP BY ROLLUP (id, day)
SELECT id, rank() OVER (ORDER BY id), (SELECT count(*) FROM device d WHERE d.device = reading.id) FROM reading GROUP BY id
$list$);
-- Below groups, joins and other windows: a subquery of the same request.
EXPLAIN (COSTS OFF) SELECT device, count(*), max(gap) FROM (SELECT device, price, at - lag(at) OVER (PARTITION BY device ORDER BY at DESC, id) AS gap FROM reading) AS r WHERE price > 5 GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT place, sum(price) FROM (SELECT device, price, row_number() OVER (PARTITION BY device ORDER BY price DESC, id) AS n FROM reading) AS r JOIN device USING (device) WHERE n <= 3 GROUP BY 1;
SELECT * FROM compare_all($list$
SELECT device, count(*), max(gap), min(price) FROM (SELECT device, price, at - lag(at) OVER (PARTITION BY device ORDER BY at DESC, id) AS gap FROM reading) AS r WHERE price > 5 GROUP BY 1
SELECT place, sum(price), max(name) FROM (SELECT device, price, name, row_number() OVER (PARTITION BY device ORDER BY price DESC, id) AS n FROM reading) AS r JOIN device USING (device) WHERE n <= 3 GROUP BY 1
SELECT n, count(*), avg(price), sum(free), max(note), count(DISTINCT name) FROM (SELECT *, dense_rank() OVER (PARTITION BY device ORDER BY day) AS n FROM reading) AS r GROUP BY 1
SELECT name, count(*) FROM (SELECT name, lag(name) OVER (PARTITION BY device ORDER BY id) AS before FROM reading) AS r WHERE name <> before GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 7
SELECT before, count(*) FROM (SELECT lag(name, 2) OVER (PARTITION BY device ORDER BY id) AS before FROM reading) AS r GROUP BY 1
SELECT session, device, count(*), min(at), max(at) FROM (SELECT device, at, count(*) FILTER (WHERE is_new) OVER (PARTITION BY device ORDER BY at, id) AS session FROM (SELECT device, id, at, lag(at) OVER (PARTITION BY device ORDER BY at, id) < at - interval '2 days' AS is_new FROM reading) AS a) AS b GROUP BY 1, 2
SELECT count(*), sum(total), sum(free) FROM (SELECT free, sum(free) OVER (PARTITION BY name ORDER BY id) AS total FROM reading) AS r
SELECT * FROM (SELECT id, name, value, rank() OVER (PARTITION BY name ORDER BY value DESC) AS n FROM reading) AS r WHERE n <= 2 ORDER BY value, id LIMIT 20
SELECT DISTINCT device, n FROM (SELECT device, count(*) OVER (PARTITION BY day) AS n FROM reading) AS r
SELECT a.device, count(*), sum(b.n - a.n) FROM (SELECT device, id, row_number() OVER (PARTITION BY device ORDER BY id) AS n FROM reading) AS a JOIN (SELECT device, id, rank() OVER (PARTITION BY day ORDER BY price) AS n FROM reading) AS b ON a.id = b.id GROUP BY 1
SELECT d.place, count(r.n), sum(r.s) FROM device AS d LEFT JOIN (SELECT device, day, row_number() OVER (PARTITION BY day ORDER BY id) AS n, sum(price) OVER (PARTITION BY device) AS s FROM reading WHERE is_good) AS r ON r.device = d.device AND r.n = 1 GROUP BY 1
SELECT count(*) FROM device AS d WHERE EXISTS (SELECT FROM (SELECT device, rank() OVER (ORDER BY price DESC NULLS LAST) AS n FROM reading) AS r WHERE r.device = d.device AND n < 30)
SELECT count(*) FROM reading WHERE id IN (SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY day ORDER BY price, id) AS n FROM reading) AS r WHERE n = 2)
WITH ranked AS (SELECT day, sum(price) AS p, rank() OVER (ORDER BY sum(price) DESC) AS n FROM reading GROUP BY day) SELECT count(*), sum(p), min(n) FROM ranked WHERE n <= 30
SELECT value, count(*) FROM (SELECT max(value) OVER (PARTITION BY device, is_good) AS value FROM reading) AS r GROUP BY 1
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY gap) FROM (SELECT id - lag(id) OVER (PARTITION BY device, day ORDER BY id) AS gap FROM reading) AS r
SELECT device, sum(price) FROM (SELECT device, price, row_number() OVER (PARTITION BY device ORDER BY id) AS n, count(*) OVER (PARTITION BY device) AS c FROM reading) AS r WHERE n > c / 2 GROUP BY 1
SELECT span, count(*) FROM (SELECT span, lag(span) OVER (ORDER BY id) AS before FROM reading) AS r WHERE before > span GROUP BY 1
SELECT count(*) FROM (SELECT row_number() OVER (ORDER BY id) FROM reading WHERE id < 0) AS r
SELECT count(*), max(n) FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM reading LIMIT 10) AS r
SELECT sum(share) FROM (SELECT 1000 / (id - 1 - row_number() OVER (ORDER BY id) + 2) AS share FROM reading) AS r
$list$);
-- Shares and parts of partitions, rows of frames, and what is given where there is no such row.
SELECT * FROM compare_all($list$
SELECT id, percent_rank() OVER (PARTITION BY name ORDER BY note), cume_dist() OVER (PARTITION BY name ORDER BY note), cume_dist() OVER (ORDER BY id), percent_rank() OVER (PARTITION BY id) FROM reading
SELECT id, ntile(4) OVER (ORDER BY id), ntile(1) OVER (ORDER BY id), ntile(1000) OVER (PARTITION BY device ORDER BY id), ntile(7) OVER (PARTITION BY day ORDER BY price, id) FROM reading
SELECT id, nth_value(id, 2) OVER (ORDER BY id), nth_value(name, 3) OVER (PARTITION BY device ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING), nth_value(day, 1) OVER (PARTITION BY day) FROM reading
SELECT id, lag(id, 1, 0) OVER (ORDER BY id), lead(price, 2, 0) OVER (PARTITION BY device ORDER BY id), lag(price, 2, price) OVER (PARTITION BY device ORDER BY id), lag(name, 1, note) OVER (PARTITION BY day ORDER BY id) FROM reading
SELECT id, lag(name, 1, 'none') OVER (PARTITION BY day ORDER BY id), lag(free, 1, 0.0000) OVER (PARTITION BY device ORDER BY id), lag(free, 3, free) OVER (PARTITION BY device ORDER BY id), lead(id, 1, NULL) OVER (ORDER BY id) FROM reading
SELECT id, lag(at, 1, at) OVER (PARTITION BY device ORDER BY id), lag(day, -1, '2030-01-01') OVER (ORDER BY id), lag(is_good, 1, false) OVER (ORDER BY id), lag(value, 1, -0.0) OVER (PARTITION BY device ORDER BY id) FROM reading
SELECT name, count(*), min(part), max(share) FROM (SELECT name, ntile(5) OVER (PARTITION BY name ORDER BY id) AS part, percent_rank() OVER (PARTITION BY device ORDER BY price) AS share FROM reading) AS r GROUP BY 1
SELECT part, count(*), sum(price) FROM (SELECT price, ntile(10) OVER (ORDER BY price DESC, id) AS part FROM reading WHERE price > 0) AS r GROUP BY 1
SELECT count(*) FILTER (WHERE before = 0), sum(id - before) FROM (SELECT id, lag(id, 1, 0) OVER (PARTITION BY device ORDER BY id) AS before FROM reading) AS r
$list$);
-- Sums of floats are added up in the rows' order.
SELECT * FROM compare_all($list$
SELECT id, sum(value) OVER (PARTITION BY device ORDER BY id), avg(value) OVER (PARTITION BY device ORDER BY id) FROM reading WHERE value <> 'NaN'
SELECT id, sum(value) OVER (PARTITION BY device ORDER BY id ROWS BETWEEN 3 PRECEDING AND 2 FOLLOWING), avg(value) OVER (ORDER BY id ROWS BETWEEN 20 PRECEDING AND 10 PRECEDING), sum(value) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND CURRENT ROW) FROM reading
SELECT id, avg(value / 3) FILTER (WHERE is_good) OVER (PARTITION BY device ORDER BY id), sum(value * 0.1) FILTER (WHERE id % 3 = 0) OVER (ORDER BY id) FROM reading WHERE value <> 'NaN'
SELECT id, avg(value::float4) OVER (PARTITION BY device ORDER BY id ROWS 4 PRECEDING), sum(value) OVER (PARTITION BY id) FROM reading
SELECT device, max(total) FROM (SELECT device, sum(value) OVER (PARTITION BY device ORDER BY id) AS total FROM reading WHERE value <> 'NaN') AS r GROUP BY 1
$list$);
-- Frames by values.
SET timezone = 'UTC';
SELECT * FROM compare_all($list$
SELECT id, sum(id) OVER (ORDER BY day RANGE BETWEEN '3 days' PRECEDING AND CURRENT ROW), count(*) OVER (PARTITION BY device ORDER BY at RANGE BETWEEN '10 days' PRECEDING AND '1 hour' FOLLOWING) FROM reading
SELECT id, count(*) OVER (ORDER BY price RANGE BETWEEN 2.5 PRECEDING AND 0.25 FOLLOWING), sum(price) OVER (PARTITION BY day ORDER BY price DESC RANGE BETWEEN 20 PRECEDING AND 10 PRECEDING), avg(price) OVER (ORDER BY price DESC NULLS LAST RANGE 5 PRECEDING) FROM reading
SELECT id, count(*) OVER (ORDER BY price NULLS FIRST RANGE BETWEEN 1 FOLLOWING AND 3 FOLLOWING), count(*) OVER (ORDER BY free RANGE BETWEEN 1.000 PRECEDING AND UNBOUNDED FOLLOWING), count(price) OVER (ORDER BY value DESC RANGE BETWEEN 2.5 PRECEDING AND 100 FOLLOWING) FROM reading
SELECT id, sum(price) OVER (PARTITION BY name ORDER BY id RANGE BETWEEN 100 PRECEDING AND 100 FOLLOWING), count(*) OVER (ORDER BY device RANGE BETWEEN 2::int8 PRECEDING AND CURRENT ROW), max(id) OVER (PARTITION BY name ORDER BY id RANGE BETWEEN UNBOUNDED PRECEDING AND 300 PRECEDING) FROM reading
SELECT id, count(*) OVER (ORDER BY wide RANGE BETWEEN 500 PRECEDING AND 400 FOLLOWING), first_value(price) OVER (PARTITION BY device ORDER BY at RANGE BETWEEN '30 days' PRECEDING AND CURRENT ROW) IS NULL FROM reading
SELECT id, count(*) OVER (PARTITION BY device ORDER BY date_trunc('day', at) RANGE BETWEEN '2 days' PRECEDING AND CURRENT ROW), count(*) OVER (ORDER BY day - date '2025-01-01' RANGE 1 PRECEDING) FROM reading
SELECT day, max(recent) FROM (SELECT day, sum(price) OVER (PARTITION BY device ORDER BY at RANGE BETWEEN '7 days' PRECEDING AND CURRENT ROW) AS recent FROM reading) AS r GROUP BY 1
SELECT day, sum(p) OVER (ORDER BY day RANGE BETWEEN '6 days' PRECEDING AND CURRENT ROW) FROM (SELECT day, sum(price) AS p FROM reading GROUP BY day) AS r
$list$);
RESET timezone;
-- The first row of each group.
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (device) device, at, value FROM reading ORDER BY device, at DESC, id;
EXPLAIN (COSTS OFF) SELECT place, sum(price) FROM (SELECT DISTINCT ON (device) device, price FROM reading ORDER BY device, at DESC, id) AS r JOIN device USING (device) GROUP BY 1;
SELECT * FROM compare_all($list$
SELECT DISTINCT ON (device) device, at, value FROM reading ORDER BY device, at DESC, id
SELECT DISTINCT ON (name, day) id, upper(name), day + 1, price FROM reading ORDER BY day DESC, name, price NULLS FIRST, id
SELECT DISTINCT ON (device % 5) device % 5, id FROM reading ORDER BY device % 5, price, id LIMIT 3
SELECT DISTINCT ON (value) value, id FROM reading ORDER BY value, id DESC
SELECT DISTINCT ON (1, is_good) 1, is_good, id FROM reading ORDER BY 1, 2, id
SELECT DISTINCT ON (id) * FROM reading ORDER BY id
SELECT DISTINCT ON (place) place, id, price FROM reading JOIN device USING (device) ORDER BY place, price DESC NULLS LAST, id
SELECT DISTINCT ON (place) place, reading.id FROM device LEFT JOIN reading ON reading.device = device.device AND is_good ORDER BY place, reading.id
SELECT place, sum(price), count(*) FROM (SELECT DISTINCT ON (device) device, price FROM reading ORDER BY device, at DESC, id) AS r JOIN device USING (device) GROUP BY 1
SELECT * FROM device LEFT JOIN (SELECT DISTINCT ON (device) device, id, note FROM reading ORDER BY device, id DESC) AS r USING (device)
SELECT DISTINCT ON (n) n, day FROM (SELECT day, count(*) AS n FROM reading GROUP BY day) AS r ORDER BY n, day DESC
SELECT DISTINCT ON (device) device, count(*) OVER (PARTITION BY device) FROM reading ORDER BY device
SELECT DISTINCT ON (day) day, count(*) FROM reading GROUP BY day ORDER BY day
SELECT count(*) FROM (SELECT DISTINCT ON (device, short) device, short, id FROM reading ORDER BY device, short, at DESC, id) AS r
SELECT DISTINCT ON (device) device, id FROM reading WHERE id < 0 ORDER BY device, id
SELECT DISTINCT ON (device) device, id FROM (SELECT device, id FROM reading UNION ALL SELECT device, -id FROM reading WHERE is_good) AS r ORDER BY device, id
$list$);
-- What is volatile is computed of as many rows as PostgreSQL computes it of.
CREATE SEQUENCE drawn;
SELECT count(*) FROM (SELECT DISTINCT ON (device) device, nextval('drawn') FROM reading OFFSET 0) AS r;
SELECT last_value FROM drawn;
DROP SEQUENCE drawn;
-- PostgreSQL's own windows: an exclusion, offsets by groups, other functions, offsets and defaults that aren't known or fail, frames that would be looked at row by row.
SELECT * FROM compare_all($list$
SELECT id, sum(id) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW) FROM reading
SELECT id, sum(id) OVER (ORDER BY day GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM reading
SELECT id, lag(id, id % 3) OVER (ORDER BY id) FROM reading
SELECT id, lag(id, 1, 7 / (id - 1)) OVER (ORDER BY id) FROM reading WHERE id > 1
SELECT id, min(price) OVER (ORDER BY id ROWS BETWEEN 2000 PRECEDING AND CURRENT ROW), stddev(value) OVER (PARTITION BY device ORDER BY id), string_agg(note, ',') OVER (PARTITION BY device ORDER BY id) FROM reading
SELECT id, sum(value::float4) OVER (PARTITION BY device ORDER BY id) FROM reading
SELECT id, row_number() OVER (ORDER BY id) FROM reading TABLESAMPLE SYSTEM (100)
SELECT DISTINCT ON (device) device, id FROM reading TABLESAMPLE SYSTEM (100) ORDER BY device, id
SELECT id, avg(value) OVER (PARTITION BY device ORDER BY at RANGE BETWEEN '1 day' PRECEDING AND CURRENT ROW) FROM reading WHERE id < 500
$list$);
SELECT id, ntile(0) OVER (ORDER BY id) FROM reading;
SELECT id, nth_value(id, 0) OVER (ORDER BY id) FROM reading;
SELECT id, sum(id) OVER (ORDER BY day RANGE BETWEEN '-1 day' PRECEDING AND CURRENT ROW) FROM reading;
SELECT id, sum(id) OVER (ORDER BY id ROWS BETWEEN -1 PRECEDING AND CURRENT ROW) FROM reading;
SELECT id, sum(wide) OVER (ORDER BY id)::int8 FROM reading;
-- Statements that are prepared, rows of the transaction, and a cursor.
PREPARE first_of (int8) AS SELECT count(*), sum(id) FROM (SELECT id, row_number() OVER (PARTITION BY device ORDER BY id) AS n FROM reading) AS r WHERE n <= $1;
EXECUTE first_of (2);
EXECUTE first_of (0);
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE first_of (2);
EXECUTE first_of (2);
EXECUTE first_of (NULL);
BEGIN;
UPDATE reading SET price = 5000 WHERE id % 500 = 0;
DELETE FROM reading WHERE device = 3;
SELECT * FROM compare('SELECT id, sum(price) OVER (PARTITION BY device ORDER BY id) FROM reading');
DECLARE rows SCROLL CURSOR FOR SELECT id, row_number() OVER (ORDER BY id) FROM reading;
FETCH 2 FROM rows;
FETCH BACKWARD 1 FROM rows;
ROLLBACK;

-- PostgreSQL's frames only move on, also where a month leads from later moments back to earlier ones, or a day does as a clock is set back.
SET timezone = 'Europe/Berlin';
SELECT * FROM compare_all($list$
SELECT id, sum(id) OVER (ORDER BY at RANGE BETWEEN CURRENT ROW AND '1 month' FOLLOWING) FROM reading
SELECT id, sum(id) OVER (ORDER BY at AT TIME ZONE 'UTC' DESC RANGE BETWEEN '1 month' PRECEDING AND CURRENT ROW) FROM reading
SELECT id, sum(id) OVER (ORDER BY at + 290 * interval '24 hours' RANGE BETWEEN '1 day' PRECEDING AND CURRENT ROW) FROM reading
SELECT id, sum(id) OVER (ORDER BY at RANGE BETWEEN '24 hours' PRECEDING AND CURRENT ROW), sum(id) OVER (ORDER BY day RANGE BETWEEN '1 month' PRECEDING AND '1 month 1 day' FOLLOWING) FROM reading
SELECT id, sum(id) OVER (ORDER BY date_trunc('month', at) RANGE BETWEEN '2 months' PRECEDING AND CURRENT ROW), sum(id) OVER (ORDER BY date_trunc('week', at) DESC RANGE '14 days' PRECEDING) FROM reading
SELECT id, sum(id) OVER (ORDER BY date_trunc('day', at AT TIME ZONE 'UTC') RANGE BETWEEN '1 month' PRECEDING AND '30 days' FOLLOWING), sum(id) OVER (ORDER BY at AT TIME ZONE 'UTC' RANGE '2 days 03:00' PRECEDING) FROM reading
$list$);
SET timezone = 'UTC';
SELECT * FROM compare_all($list$
SELECT id, sum(id) OVER (ORDER BY at RANGE BETWEEN CURRENT ROW AND '1 month' FOLLOWING) FROM reading
SELECT id, sum(id) OVER (ORDER BY at RANGE BETWEEN '7 days' PRECEDING AND CURRENT ROW) FROM reading
SELECT id, sum(id) OVER (ORDER BY date_trunc('day', at) RANGE BETWEEN '1 month' PRECEDING AND '7 days' FOLLOWING) FROM reading
$list$);
RESET timezone;
-- Above groups the planner reads columns, too, of which only an expression that is grouped by is wanted.
SELECT * FROM compare_all($list$
SELECT date_trunc('day', at) AS d, count(*), date_trunc('day', at) - lag(date_trunc('day', at)) OVER (ORDER BY date_trunc('day', at)) FROM reading GROUP BY 1
SELECT id % 7, (id % 7) + rank() OVER (ORDER BY sum(price)), lower(name) || lag(lower(name)) OVER (ORDER BY id % 7, lower(name)) FROM reading GROUP BY 1, lower(name)
SELECT id % 70, sum(id), sum(id % 70) OVER (ORDER BY id % 70) FROM reading GROUP BY 1
SELECT max(gap), count(*) FROM (SELECT (id % 70) - lag(id % 70) OVER (ORDER BY id % 70) AS gap FROM reading GROUP BY id % 70) AS r
SELECT device, place, id % 3, (id % 3) - lag(id % 3) OVER (ORDER BY device, id % 3) FROM reading JOIN device USING (device) GROUP BY 1, 2, 3
SELECT date_trunc('month', at), is_good, date_trunc('month', at) - lag(date_trunc('month', at)) OVER (PARTITION BY is_good ORDER BY date_trunc('month', at)) FROM reading GROUP BY ROLLUP (1, 2)
$list$);

-- Of partitions, some without the index, and of children of a table that has rows itself.
CREATE TABLE divided (LIKE reading) PARTITION BY LIST (short);
CREATE TABLE divided_1 PARTITION OF divided FOR VALUES IN ('s1', 's2', 's3', 's4', 's5', 's6', 's7');
CREATE TABLE divided_2 PARTITION OF divided DEFAULT;
INSERT INTO divided SELECT * FROM reading;
CREATE INDEX divided_i ON divided USING gpu_column (id, device, at, day, value, price, free, wide, name, note, short, is_good, span);
CREATE TABLE heir (LIKE reading) WITH (autovacuum_enabled = off);
CREATE TABLE heir_1 () INHERITS (heir);
INSERT INTO heir SELECT * FROM reading WHERE id % 3 > 0;
INSERT INTO heir_1 SELECT * FROM reading WHERE id % 3 = 0;
CREATE INDEX heir_i ON heir USING gpu_column (id, device, at, day, value, price, free, wide, name, note, short, is_good, span);
CREATE INDEX heir_1_i ON heir_1 USING gpu_column (id, device, at, day, value, price, free, wide, name, note, short, is_good, span);
VACUUM ANALYZE divided, heir, heir_1;
SELECT members, c.who, c.rows, c.same, c.query FROM unnest('{divided,heir}'::text[]) AS members, compare_all(replace($list$
SELECT device, id, row_number() OVER (PARTITION BY device ORDER BY price DESC, id) FROM some
SELECT * FROM (SELECT device, id, row_number() OVER (PARTITION BY device ORDER BY at DESC, id) AS n FROM some) AS r WHERE n <= 2
SELECT id, avg(price) OVER (PARTITION BY short ORDER BY id ROWS BETWEEN 3 PRECEDING AND CURRENT ROW), device * 2 FROM some ORDER BY 2, 1 LIMIT 50
SELECT place, id, sum(price) OVER (PARTITION BY place ORDER BY id) FROM some JOIN device USING (device) WHERE short = 's3'
SELECT DISTINCT ON (device) device, id, at FROM some ORDER BY device, at DESC, id
SELECT day, max(n), sum(gap) FROM (SELECT day, row_number() OVER (PARTITION BY day ORDER BY id) AS n, id - lag(id) OVER (PARTITION BY device ORDER BY id) AS gap FROM some) AS r GROUP BY 1
$list$, 'some', members)) AS c;
-- No more rows leave than LIMIT takes: the first ones by columns, expressions and functions of windows, or any.
EXPLAIN (COSTS OFF) SELECT id, device, rank() OVER (PARTITION BY device ORDER BY at, id) AS r FROM reading ORDER BY r DESC, id LIMIT 5;
EXPLAIN (COSTS OFF) SELECT id, at - lag(at) OVER (PARTITION BY device ORDER BY at, id) FROM reading ORDER BY id LIMIT 5;
SELECT * FROM compare_all($list$
SELECT id, device, rank() OVER (PARTITION BY device ORDER BY at, id) AS r FROM reading ORDER BY r DESC, id LIMIT 5
SELECT array_agg(id) FROM (SELECT id, rank() OVER (PARTITION BY device ORDER BY at, id) AS r FROM reading ORDER BY r DESC, id LIMIT 30) AS s
SELECT array_agg(id) FROM (SELECT id, at - lag(at) OVER (PARTITION BY device ORDER BY at, id) FROM reading ORDER BY price NULLS FIRST, id DESC LIMIT 30 OFFSET 7) AS s
SELECT array_agg(id) FROM (SELECT id, sum(price) OVER (PARTITION BY name ORDER BY id) AS total FROM reading ORDER BY total DESC NULLS LAST, id LIMIT 30) AS s
SELECT array_agg(id) FROM (SELECT id, first_value(note) OVER (PARTITION BY device ORDER BY id) AS f, lag(value) OVER (ORDER BY id) AS l FROM reading ORDER BY f DESC, l, id LIMIT 30) AS s
SELECT id, price - lag(price) OVER (ORDER BY id) AS change FROM reading ORDER BY change DESC NULLS LAST, id LIMIT 9
SELECT id, row_number() OVER (ORDER BY id), id % 7 FROM reading ORDER BY id % 7, day + 1 DESC, id LIMIT 9
SELECT count(n) FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM reading LIMIT 12) AS s
SELECT count(a), count(DISTINCT id) FROM (SELECT id, avg(price) OVER (PARTITION BY device) AS a FROM reading LIMIT 12 OFFSET 4995) AS s
SELECT id, row_number() OVER (ORDER BY id) FROM reading ORDER BY id LIMIT 0
SELECT id, row_number() OVER (ORDER BY id) FROM reading WHERE id < 10 ORDER BY id LIMIT 100
SELECT DISTINCT device, count(*) OVER (PARTITION BY device) FROM reading ORDER BY 2 DESC, 1 LIMIT 3
SELECT id, rank() OVER (ORDER BY device) FROM reading ORDER BY 2 FETCH FIRST 3 ROWS WITH TIES
SELECT * FROM (SELECT id, device, row_number() OVER (PARTITION BY device ORDER BY id) AS n FROM reading ORDER BY id LIMIT 50) AS s WHERE n = 1
SELECT * FROM (SELECT id, device, row_number() OVER (PARTITION BY device ORDER BY id) AS n FROM reading) AS s WHERE n <= 2 ORDER BY n DESC, id LIMIT 5
SELECT device, count(*), rank() OVER (ORDER BY count(*) DESC, device) FROM reading GROUP BY 1 ORDER BY 3 LIMIT 4
SELECT place, id, sum(price) OVER (PARTITION BY place ORDER BY id) FROM reading JOIN device USING (device) ORDER BY place DESC, id LIMIT 6
SELECT id, row_number() OVER (ORDER BY id), generate_series(1, 2) FROM reading ORDER BY 1, 3 LIMIT 5
$list$);
PREPARE first_ranks(int) AS SELECT id, rank() OVER (PARTITION BY device ORDER BY at, id) AS r FROM reading ORDER BY r DESC, id LIMIT $1;
SET plan_cache_mode = force_generic_plan;
EXECUTE first_ranks(3);
EXECUTE first_ranks(0);
DEALLOCATE first_ranks;
RESET plan_cache_mode;

DROP FUNCTION compare, compare_all, who_answers, answer_of;
DROP TABLE reading, device, divided, heir, heir_1;
