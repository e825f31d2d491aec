-- Expressions that the node GpuQuery computes: each statement is run with the node and without it, and the answers are held against each other as text,
-- so that digits behind the point count, too.
SET pg_gpu.path = host;
SET pg_gpu.min_mirror_entries = 0;
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;
SET timezone = 'Europe/Berlin';

CREATE TABLE line (id int4, small int2, many int8, price numeric(15,2), discount numeric(15,2), tax numeric(15,2), loose numeric, fine numeric(20,8), ratio float8,
                   single float4, day date, moment timestamp, instant timestamptz, flag bool, word text, kind char(4)) WITH (autovacuum_enabled = off);
INSERT INTO line
SELECT i, i % 100 - 50, i::int8 * 1000003, CASE WHEN i % 17 <> 0 THEN (i * 7919) % 100003 * 1.25 - 300 END, i % 11 * 0.01, CASE WHEN i % 13 <> 0 THEN i % 9 * 0.01 END,
       CASE i % 6 WHEN 0 THEN 1.5 WHEN 1 THEN 1.50 WHEN 2 THEN -2 WHEN 3 THEN 100.125 WHEN 4 THEN 0.000 END, i * 0.00000003 - 0.00004,
       CASE i % 50 WHEN 0 THEN 'NaN' WHEN 1 THEN 'Infinity' WHEN 2 THEN -0.0 ELSE (i % 1000 - 500) / 8.0 END::float8, (i % 64) / 4.0, date '2000-01-01' + i % 3000,
       timestamp '1999-12-31 23:00:00.25' + i * interval '37 minutes 1.5 seconds', timestamptz '2001-01-01 00:00:00+00' + i * interval '53 minutes',
       CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN true ELSE false END, CASE WHEN i % 19 <> 0 THEN 'word ' || i % 7 END, substr('abcd', i % 4 + 1, 1)
FROM generate_series(1, 4000) AS i;
INSERT INTO line (id) SELECT NULL FROM generate_series(1, 20);
CREATE INDEX line_i ON line USING gpu_column (id, small, many, price, discount, tax, loose, fine, ratio, single, day, moment, instant, flag, word, kind);
VACUUM ANALYZE line;
-- Rows of the tail.
INSERT INTO line SELECT 5000 + i, i, i, i * 1.11, 0.05, 0.02, i * 0.125, 0, i / 4.0, 2.5, '2020-02-29', '2020-02-29 12:34:56.789', '2020-10-25 00:30:00+00', true, 'late', 'z' FROM generate_series(1, 9) AS i;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all

-- Numerics.
SELECT * FROM compare_all($list$
SELECT count(*), sum(price), sum(price * (1 - discount)), sum(price * (1 - discount) * (1 + tax)), avg(price), avg(discount), avg(price * tax) FROM line
SELECT flag, discount, sum(price), sum(price * (1 - discount)), sum(price * (1 - discount) * (1 + tax)), avg(price), avg(discount), count(*) FROM line GROUP BY flag, discount
SELECT sum(CASE WHEN price < 10 THEN 1 ELSE 0 END), sum(CASE WHEN price < 10 THEN price ELSE 0 END), sum(CASE WHEN tax > 0.03 THEN price * discount END) FROM line
SELECT sum(CASE WHEN id < 0 THEN price ELSE 0 END), sum(CASE WHEN id < 0 THEN price * tax ELSE 1.5 END) FROM line
SELECT sum(loose), avg(loose), sum(loose * discount), avg(loose * price) FROM line
SELECT id % 6, sum(loose), avg(loose), sum(loose * discount), sum(-loose), sum(loose + price), sum(loose - many) FROM line GROUP BY 1
SELECT sum(price % 7), sum(mod(price, 0.3)), sum(abs(price)), sum(sign(price)), sum(round(price)), sum(round(price, 1)), sum(round(price, 3)), sum(round(price, -2)) FROM line
SELECT sum(ceil(price)), sum(floor(price)), sum(trunc(price)), sum(trunc(price, 1)), sum(ceiling(fine)), sum(floor(fine * 1000)) FROM line
SELECT sum(price::int4), sum(price::int8), sum((price / 1.0)::int4), max(discount::float8), sum(id::numeric * price) FROM line
SELECT avg(price / tax), sum(price / 7), avg(tax / price), sum(many / 3.0) FROM line WHERE tax > 0 AND price <> 0
SELECT avg(price / tax) FROM line
SELECT count(*) FROM line WHERE price * discount > tax * 100 AND price <> loose
SELECT count(*) FILTER (WHERE price - tax > 1.2399999999999999), count(*) FILTER (WHERE discount = tax), count(*) FILTER (WHERE price - tax < -12.5000001) FROM line
SELECT count(*) FROM line WHERE price + 0 IN (1.25, 2.50, 3.750, -300, 1.255, NULL)
SELECT count(*) FROM line WHERE price + 0 NOT IN (1.25, 2.50, 3.750, -300, 1.255)
SELECT min(price * discount), max(price * tax), min(price - fine), max(price) FROM line
SELECT var_pop(price), var_samp(price * discount), stddev(small), stddev_pop(many), variance(loose), stddev_samp(id - small) FROM line
SELECT flag, var_pop(price - discount), stddev(small + 1), var_samp(id) FROM line GROUP BY flag
SELECT sum(price::numeric(10,1)), sum(discount::numeric(6,4)) FROM line
SELECT count(DISTINCT price), count(DISTINCT loose), sum(DISTINCT discount), avg(DISTINCT small) FROM line
$list$);

-- Integers, floats and truth values.
SELECT * FROM compare_all($list$
SELECT sum(id + small), sum(id * small), sum(id / 7), sum(id % 7), sum(-id), sum(abs(small)), sum(many * 3), avg(id), avg(many), avg(small) FROM line
SELECT sum(id / nullif(small, 0)), sum(CASE WHEN small <> 0 THEN id / small END) FROM line
SELECT sum(id / small) FROM line
SELECT sum(many * many * 1000) FROM line
SELECT sum(id & 255), sum(id | small::int4), sum(id # 77), sum(~id), sum(id << 3), sum(id >> 2), bit_and(id), bit_or(id), bit_xor(id) FROM line WHERE id > 0
SELECT small, count(*), count(price), count(word), count(flag), sum(id), min(many), max(many) FROM line GROUP BY small
SELECT sum(ratio * 2), sum(ratio * ratio), avg(ratio), min(ratio), max(ratio) FROM line WHERE ratio BETWEEN -1000 AND 1000
SELECT sum(ratio), max(ratio), min(ratio), count(ratio) FROM line
SELECT sum(single), avg(single), sum(single * 2), min(single), sum(single * ratio) FROM line WHERE abs(ratio) < 100
SELECT sum(round(ratio)), sum(floor(ratio)), sum(ceil(ratio)), sum(trunc(ratio)), sum(sqrt(abs(ratio))::int4), sum(ratio::int4), sum(id::float8 / 2) FROM line WHERE abs(ratio) < 100
SELECT count(*) FROM line WHERE ratio > single AND ratio < 'NaN'
SELECT count(*) FILTER (WHERE ratio = 'NaN'), count(*) FILTER (WHERE ratio > 5 OR flag), count(*) FILTER (WHERE NOT flag), count(*) FILTER (WHERE flag IS NOT TRUE) FROM line
SELECT bool_and(flag), bool_or(flag), every(small < 60), bool_or(small > 1000), bool_and(id > 0) FROM line
SELECT flag, flag IS NULL, count(*), bool_or(small > 40) FROM line GROUP BY 1, 2
SELECT sum(coalesce(price, 0)), sum(coalesce(price, tax, 1)), sum(greatest(small, id)), sum(least(small, 3)), sum(nullif(small, 5)), count(nullif(flag, true)) FROM line
SELECT sum(CASE small WHEN 1 THEN 10 WHEN 2 THEN 20 ELSE id END), sum(CASE WHEN small < 0 THEN CASE WHEN flag THEN 1 ELSE 2 END WHEN small > 20 THEN 3 END) FROM line
SELECT count(*) FROM line WHERE small IN (1, 2, 3, 77) AND (id IS NOT NULL OR flag)
SELECT count(*) FROM line WHERE small + id IS DISTINCT FROM many
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY small), percentile_disc(0.25) WITHIN GROUP (ORDER BY price), mode() WITHIN GROUP (ORDER BY small) FROM line
SELECT round(corr(id, small)::numeric, 9), round(covar_pop(id, price)::numeric, 4), round(covar_samp(price, tax)::numeric, 9), regr_count(price, tax), round(regr_slope(id, small)::numeric, 9), regr_avgx(small, id) FROM line
SELECT flag, round(regr_intercept(id, small)::numeric, 6), round(regr_r2(small, id)::numeric, 9), round(regr_sxx(id, small)::numeric, 3), round(regr_sxy(id, small)::numeric, 3), round(corr(small, small)::numeric, 9) FROM line GROUP BY flag
SELECT corr(id, price), regr_count(id, price) FROM line WHERE id + 0 < 0
SELECT flag, percentile_cont(0.9) WITHIN GROUP (ORDER BY ratio), percentile_disc(0) WITHIN GROUP (ORDER BY day), percentile_disc(1) WITHIN GROUP (ORDER BY id) FROM line WHERE abs(ratio) < 100 GROUP BY flag
$list$);

-- Dates and timestamps.
SELECT * FROM compare_all($list$
SELECT extract(minute FROM moment), count(*), sum(price) FROM line GROUP BY 1
SELECT extract(year FROM day), extract(month FROM day), extract(quarter FROM moment), count(*) FROM line GROUP BY 1, 2, 3
SELECT extract(dow FROM day), extract(isodow FROM moment), extract(week FROM day), count(*) FROM line GROUP BY 1, 2, 3
SELECT extract(hour FROM instant), extract(doy FROM instant), count(*) FROM line GROUP BY 1, 2
SELECT sum(extract(second FROM moment)), sum(extract(epoch FROM instant)), avg(extract(milliseconds FROM moment)), sum(date_part('hour', moment)), sum(extract(epoch FROM day)) FROM line
SELECT date_trunc('month', moment), date_trunc('hour', moment), count(*) FROM line WHERE small = 3 GROUP BY 1, 2
SELECT date_trunc('month', instant), count(*), min(instant), max(moment), min(day) FROM line GROUP BY 1
SELECT date_trunc('hour', instant), count(*) FROM line WHERE instant > '2001-03-01' GROUP BY 1
SELECT date_trunc('week', day), count(*) FROM line GROUP BY 1
SELECT instant::date, moment::date, count(*) FROM line GROUP BY 1, 2
SELECT day + 7, day - 3, count(*) FROM line GROUP BY 1, 2
SELECT sum(day - date '1999-01-01'), max(day + interval '1 month'), min(moment - interval '1 year 3 days 02:00:00') FROM line
SELECT sum(extract(epoch FROM instant - '2001-01-01 00:00:00+00')), avg(extract(epoch FROM moment - '2000-01-01')) FROM line
SELECT count(*) FROM line WHERE moment > day + 10 AND day < moment
SELECT count(*) FILTER (WHERE day BETWEEN '2001-01-01' AND '2001-12-31'), count(*) FILTER (WHERE date_trunc('day', moment) = '2000-01-05') FROM line
$list$);

-- Columns of which the engine knows codes alone.
SELECT * FROM compare_all($list$
SELECT word, kind, count(*), sum(price * (1 - discount)) FROM line GROUP BY word, kind
SELECT word, count(*), count(DISTINCT kind), count(DISTINCT word) FROM line GROUP BY word
SELECT sum(CASE WHEN word = 'word 1' THEN price ELSE 0 END), sum(CASE WHEN word IN ('word 2', 'late') THEN 1 ELSE 0 END), count(*) FILTER (WHERE word LIKE '%3') FROM line
SELECT sum(CASE word WHEN 'word 1' THEN price WHEN 'word 2' THEN tax END), count(*) FILTER (WHERE kind = 'a') FROM line
SELECT upper(word), length(word), count(*), sum(length(word) * id) FROM line GROUP BY 1, 2
SELECT count(*) FROM line WHERE word IS NULL OR kind IS NOT NULL AND price * tax > 3
SELECT word, sum(price * tax) FROM line WHERE word <> 'word 3' AND price + tax > 0 GROUP BY word
$list$);

-- Many keys, many aggregates, HAVING, orders and limits.
SELECT * FROM compare_all($list$
SELECT small, flag, kind, word, discount, tax, day, single, id % 3, small % 2, sum(price) FROM line GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
SELECT word, sum(price * tax) FROM line GROUP BY word HAVING sum(price * tax) > 200
SELECT word, count(*) FROM line GROUP BY word HAVING avg(price * tax) > 0.5 AND word <> 'word 1'
SELECT small, sum(price * tax) FROM line GROUP BY small ORDER BY 2 DESC, 1 LIMIT 10
SELECT id * 2, sum(price - 1) FROM line GROUP BY 1 ORDER BY 1 DESC NULLS LAST LIMIT 5
SELECT DISTINCT small + 1, discount * 2 FROM line
SELECT DISTINCT extract(month FROM day) FROM line
SELECT count(*), sum(price * tax), max(small + 1) FROM line WHERE id + 0 < 0
SELECT small + 1, sum(price * tax) FROM line WHERE id + 0 < 0 GROUP BY 1
$list$);
SELECT string_agg(format('sum(id + %s)', i), ', ') AS sums FROM generate_series(1, 90) AS i \gset
SELECT who, rows, same FROM compare_all('SELECT ' || :'sums' || ' FROM line');

-- Parameters, rescans and a scan within a subquery.
PREPARE asked(int, numeric) AS SELECT sum(CASE WHEN small < $1 THEN price * $2 ELSE tax END) FROM line;
EXECUTE asked(10, 1.5);
EXECUTE asked(-10, 2);
EXECUTE asked(NULL, NULL);
SELECT x, (SELECT sum(CASE WHEN small < x THEN id + 1 END) FROM line) FROM generate_series(-20, 20, 20) AS x;
-- EXPLAIN of PostgreSQL 18 says of a node that it is disabled.
SET enable_seqscan = on;
EXPLAIN (COSTS OFF) SELECT sum(CASE WHEN small < 3 THEN id + tax END) FROM line WHERE id > 7;
SET pg_gpu.path = host;
EXPLAIN (COSTS OFF) SELECT avg(price / tax) FROM line WHERE tax > 0;

DROP FUNCTION compare, compare_all, who_answers, answer_of;
DROP TABLE line;
