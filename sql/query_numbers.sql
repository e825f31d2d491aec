-- Aggregates of numbers that the node GpuQuery computes: moments of floats, several percentiles, intervals, numerics of differing digits, floats as
-- numerics. Each statement is run with the node and without it.
SET pg_gpu.path = host;
SET pg_gpu.min_mirror_entries = 0;
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;
SET timezone = 'Europe/Berlin';

CREATE TABLE trip (id int4, part int4, a float8, b float8, single float4, odd float8, flat float8, big float8, fare numeric(10,2), tip numeric, loose numeric, started timestamp,
                   ended timestamp, instant timestamptz, day date, kind text) WITH (autovacuum_enabled = off);
INSERT INTO trip
SELECT i, i % 7, CASE WHEN i % 11 <> 0 THEN sin(i) * 100 END, CASE WHEN i % 13 <> 0 THEN cos(i) * 3 + i / 100.0 END, (i % 640) / 7.0,
       CASE i % 400 WHEN 1 THEN 'NaN' WHEN 2 THEN 'Infinity' WHEN 3 THEN '-Infinity' WHEN 4 THEN '-0' ELSE i / 8.0 END::float8, 0.1, 1e15 + i % 3,
       CASE WHEN i % 17 <> 0 THEN (i * 7919 % 8000) / 100.0 END, round((i * 31 % 900) / 100.0, 2), CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN 1.5 WHEN 2 THEN 2.25 ELSE (i % 900) * 0.125 + 10 END,
       timestamp '2020-01-01' + i * interval '37 minutes 1.5 seconds', timestamp '2020-01-01' + i * interval '37 minutes' + i % 5000 * interval '53 seconds',
       timestamptz '2020-03-28 00:00:00+00' + i * interval '11 minutes', date '2020-01-01' + i % 400, CASE WHEN i % 19 <> 0 THEN 'kind ' || i % 3 END
FROM generate_series(1, 3000) AS i;
CREATE INDEX trip_i ON trip USING gpu_column (id, part, a, b, single, odd, flat, big, fare, tip, loose, started, ended, instant, day, kind);
VACUUM ANALYZE trip;
-- Rows of the tail.
INSERT INTO trip SELECT i, i, i * 0.1, i / 3.0, i / 3.0, i, 0.1, 1e15, i + 0.5, i + 0.25, 2.25, '2021-01-01', '2021-01-02', '2021-01-01 12:00+00', '2021-01-01', 'late' FROM generate_series(1, 6) AS i;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all

-- Moments of floats, of which PostgreSQL rounds more: they agree in nine digits.
CREATE FUNCTION nine(x float8) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN x IS NULL THEN NULL WHEN x IN ('NaN', 'Infinity', '-Infinity', 0) THEN x::text ELSE to_char(x, '9.99999999EEEE') END $$;
SELECT * FROM compare_all($list$
SELECT nine(stddev(a)), nine(variance(a)), nine(var_pop(b)), nine(stddev_samp(single)), nine(stddev_pop(single)), nine(var_samp(a + b)) FROM trip
SELECT part, nine(stddev(a)), nine(variance(b)), nine(stddev_pop(single)), nine(avg(a)) FROM trip GROUP BY part
SELECT nine(corr(a, b)), nine(covar_pop(a, b)), nine(covar_samp(single, b)), nine(corr(a, fare::float8)), nine(corr(fare, b)), nine(corr(a, id)), nine(corr(single, a)) FROM trip
SELECT part, nine(regr_slope(a, b)), nine(regr_intercept(a, b)), nine(regr_r2(a, b)), nine(regr_sxx(a, b)), nine(regr_sxy(a, b)), nine(regr_syy(b, a)), nine(regr_avgx(a, b)), nine(regr_avgy(a, id)), regr_count(a, b) FROM trip GROUP BY part
SELECT nine(stddev(a) FILTER (WHERE part = 3)), nine(corr(a, b) FILTER (WHERE a > 0)), nine(variance(a) FILTER (WHERE id < 0)) FROM trip
SELECT nine(stddev(odd)), nine(var_pop(odd)), nine(corr(odd, a)), nine(regr_sxx(a, odd)), nine(regr_syy(a, odd)), nine(regr_avgx(a, odd)) FROM trip
SELECT id % 400, nine(stddev(odd)), nine(var_pop(odd)), nine(covar_pop(odd, single)), nine(regr_avgy(odd, a)) FROM trip WHERE id % 400 < 5 GROUP BY 1
SELECT id, stddev(a), var_pop(a), corr(a, b), covar_pop(a, b), covar_samp(a, b), regr_slope(a, b) FROM trip WHERE id < 30 AND part > 0 GROUP BY id, kind
SELECT stddev(a * 1e200), corr(a, b) FROM trip
SELECT stddev(a * 1e-200) IS NULL FROM trip
SELECT stddev(a), corr(a, b), regr_count(a, b), var_pop(single) FROM trip WHERE id + 0 < 0
SELECT kind, nine(stddev(a)) FROM trip GROUP BY kind HAVING stddev(a) > 70.8 AND corr(a, b) < 2
$list$);
-- Sums of squares are exact, where PostgreSQL's plan has variances and correlations of what doesn't vary.
SELECT who_answers($$ SELECT stddev(flat) FROM trip $$);
SELECT stddev(flat), var_pop(flat), variance(big), covar_pop(flat, flat), corr(flat, a), regr_r2(a, flat), regr_r2(flat, a) FROM trip;

-- Several percentiles.
SELECT * FROM compare_all($list$
SELECT percentile_cont(ARRAY[0.25, 0.5, 0.75]) WITHIN GROUP (ORDER BY a), percentile_disc(ARRAY[0, 0.1, 1]) WITHIN GROUP (ORDER BY id) FROM trip
SELECT part, percentile_cont(ARRAY[0.9, NULL, 0.1]) WITHIN GROUP (ORDER BY a), percentile_cont(0.5) WITHIN GROUP (ORDER BY a), mode() WITHIN GROUP (ORDER BY part) FROM trip GROUP BY part
SELECT percentile_disc(ARRAY[[0.1, 0.2], [0.3, 0.4]]) WITHIN GROUP (ORDER BY fare), percentile_disc('[3:4]={0.5,1}'::float8[]) WITHIN GROUP (ORDER BY day) FROM trip
SELECT percentile_cont(ARRAY[0.5]) WITHIN GROUP (ORDER BY a) FILTER (WHERE part = 2), percentile_cont(ARRAY[0.5]) WITHIN GROUP (ORDER BY fare) FROM trip
SELECT part, percentile_disc(ARRAY[0.5, 0.99]) WITHIN GROUP (ORDER BY started), percentile_cont(ARRAY[0.3]) WITHIN GROUP (ORDER BY ended - started) FROM trip GROUP BY part
SELECT percentile_cont(ARRAY[0.5, 0.6]) WITHIN GROUP (ORDER BY a) FROM trip WHERE id + 0 < 0
SELECT percentile_cont(ARRAY[0.5, 1.5]) WITHIN GROUP (ORDER BY a) FROM trip
SELECT percentile_cont(NULL::float8[]) WITHIN GROUP (ORDER BY a) FROM trip
SELECT percentile_cont('{}'::float8[]) WITHIN GROUP (ORDER BY a) FROM trip
$list$);

-- Intervals.
SELECT * FROM compare_all($list$
SELECT avg(ended - started), sum(ended - started), min(ended - started), max(ended - started), count(DISTINCT ended - started) FROM trip
SELECT part, avg(ended - started), min(started - ended), sum(started - ended), max(instant - '2020-04-01') FROM trip GROUP BY part
SELECT avg(ended - date_trunc('day', ended)), sum(ended - date_trunc('day', ended)) FROM trip
SELECT date_trunc('hour', ended) - date_trunc('hour', started), count(*) FROM trip GROUP BY 1
SELECT avg(extract(epoch FROM ended - started)), sum(extract(day FROM ended - started)), sum(extract(hour FROM started - ended)), sum(extract(minute FROM ended - started)), sum(extract(second FROM started - ended)) FROM trip
SELECT sum(date_part('epoch', ended - started)), sum(date_part('day', ended - started)), avg(date_part('hour', started - ended)), max(date_part('epoch', started - ended)) FROM trip
SELECT count(*) FROM trip WHERE ended - started > interval '1 hour' AND started - ended < interval '36 hours' AND ended - started <> interval '1 month'
SELECT count(*) FILTER (WHERE ended - started < '1 mon'), count(*) FILTER (WHERE instant - '2020-04-01 00:00+02' > '-1 day') FROM trip
SELECT max(day + (ended - started)), min(started - (ended - started)) FROM trip
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY ended - started), percentile_disc(0.3) WITHIN GROUP (ORDER BY ended - started), percentile_cont(0) WITHIN GROUP (ORDER BY ended - started) FROM trip
SELECT max(CASE WHEN part > 3 THEN ended - started END), sum(coalesce(ended - started, interval '1 day')), min(greatest(ended - started, interval '00:10')) FROM trip
SELECT max(CASE WHEN part > 3 THEN ended - started ELSE interval '2 months' END) FROM trip
SELECT avg(ended - started), sum(ended - started), max(ended - started) FROM trip WHERE id + 0 < 0
SELECT part, avg(ended - started) FROM trip GROUP BY part HAVING avg(ended - started) > interval '-5 hours'
$list$);

-- Numerics that show differing digits.
SELECT * FROM compare_all($list$
SELECT sum(greatest(fare, tip)), sum(least(fare, tip)), sum(greatest(fare, loose, 1)), avg(least(loose, 2.5)), sum(greatest(loose, NULL)) FROM trip
SELECT part, sum(greatest(fare, tip)), max(greatest(fare, loose)), min(least(fare, loose, 1.000)), min(loose), max(loose), max(coalesce(loose, fare)) FROM trip GROUP BY part
SELECT least(loose, 3), count(*) FROM trip GROUP BY 1
SELECT loose, count(*) FROM trip GROUP BY loose
SELECT greatest(loose, 2.2500), count(*) FROM trip WHERE loose > 2 GROUP BY 1
SELECT max(least(loose, 2.2500)) FROM trip
SELECT min(loose) FILTER (WHERE part = 1), max(-loose), min(abs(loose)), sum(CASE WHEN part > 2 THEN fare ELSE 0 END), max(CASE WHEN part > 2 THEN fare ELSE 0.125 END) FROM trip
SELECT part, max(fare / tip), min(tip / fare), sum(fare / tip) FROM trip WHERE tip > 0 AND fare > 0 GROUP BY part
SELECT loose, max(loose) FROM trip GROUP BY loose ORDER BY max(loose) DESC NULLS LAST, 1 LIMIT 5
$list$);
INSERT INTO trip (id, part, loose) VALUES (0, 0, 1.50), (0, 0, 122.3750);
SELECT * FROM compare_all($list$
SELECT loose, count(*) FROM trip GROUP BY loose
SELECT max(loose) FROM trip
SELECT sum(loose), sum(greatest(loose, 1)) FROM trip
$list$);
DELETE FROM trip WHERE id = 0;

-- Floats as numerics.
SELECT * FROM compare_all($list$
SELECT sum(a::numeric(10,3)), sum(round(a::numeric, 2)), sum(a::numeric), avg(b::numeric), sum(single::numeric), sum(single::numeric(8,2)), sum(round(single::numeric, 1)) FROM trip
SELECT part, sum(a::numeric(10,3)), sum(fare * a::numeric), sum(trunc(b::numeric, 2)), sum(floor(a::numeric)), sum(-round(a::numeric, 3)), sum(round(-(a::numeric), 3)) FROM trip GROUP BY part
SELECT round(a::numeric, 0), count(*) FROM trip GROUP BY 1
SELECT (a / 10)::numeric(6,1), count(*) FROM trip GROUP BY 1
SELECT sum((big * 1e5)::numeric) FROM trip
SELECT sum((big * 1e5)::numeric(30,2)), sum((flat * 1e-5)::numeric), sum((a * 1e-30)::numeric(20,4)), sum(round((a * 1e-12)::numeric, 12)) FROM trip
SELECT sum((a * 1e-20)::numeric) FROM trip
SELECT sum((a * 1e5)::numeric(5,2)) FROM trip
SELECT sum(odd::numeric(10,2)) FROM trip WHERE id % 400 NOT IN (1, 2, 3)
SELECT count(*) FROM trip WHERE odd::numeric(10,2) > 5
SELECT sum(CASE WHEN odd < 1e6 AND odd > -1e6 THEN odd::numeric END), count(DISTINCT round(b::numeric, 1)) FROM trip
SELECT sum(nullif(a::numeric, 0)), sum(coalesce(a::numeric(10,4), 1)), max(round(a::numeric, 2)) FROM trip
SELECT min(b::numeric) FROM trip
$list$);
-- The nearest decimal of 15 digits, ties to even.
SELECT sum(x::numeric(30,0)) = sum(x::numeric) AS whole, sum(x::numeric) FROM (SELECT (2::float8 ^ (50 + id % 20)) * (1 + part / 8.0) AS x FROM trip WHERE id > 100) AS s;

-- Buckets.
SELECT * FROM compare_all($list$
SELECT width_bucket(a, -50, 75.5, 10), width_bucket(fare, 0, 80, 16), count(*) FROM trip GROUP BY 1, 2
SELECT width_bucket(b + 0.1, 0, 1, 3), count(*), sum(width_bucket(single, 0.1, 90.3, 1000)) FROM trip GROUP BY 1
SELECT width_bucket(greatest(fare, loose), 0.125, 77.77, 7), sum(width_bucket(part, 1, 4, 3)) FROM trip GROUP BY 1
SELECT width_bucket(odd + 1, 0, 300, 4), count(*) FROM trip WHERE id % 400 <> 1 GROUP BY 1
SELECT sum(width_bucket(odd + 1, 0, 300, 4)) FROM trip
SELECT sum(width_bucket(a * b, 10, 0, 4)) FROM trip
$list$);

-- Several of all at once.
SELECT * FROM compare_all($list$
SELECT kind, round(sum(a)::numeric, 6) / count(*), sum(fare) / nullif(count(*) FILTER (WHERE part > 2), 0), avg(DISTINCT part), sum(DISTINCT fare), count(DISTINCT a), nine(stddev(a) / avg(fare)::float8) FROM trip GROUP BY kind HAVING max(ended - started) > interval '1 hour' AND percentile_cont(0.5) WITHIN GROUP (ORDER BY b) > 1
SELECT part, kind, max(fare) - min(fare), sum(fare) FILTER (WHERE a > 0) * 100 / sum(fare), avg(ended - started) FILTER (WHERE a > b) FROM trip GROUP BY 1, 2 ORDER BY 4 DESC NULLS LAST, 1, 2 LIMIT 5
$list$);

-- Lists of floats, and comparisons with numerics that no row has.
SELECT * FROM compare_all($list$
SELECT part, count(*) FILTER (WHERE odd IN ('Infinity', '-Infinity')), count(*) FILTER (WHERE odd IN ('NaN', 0)), count(*) FILTER (WHERE odd NOT IN ('-0', 2.5, 'NaN')), count(*) FILTER (WHERE odd IN (NULL, 1.25, -0.0)) FROM trip GROUP BY part
SELECT count(*) FILTER (WHERE odd NOT IN (NULL, 1.25)), count(*) FILTER (WHERE single IN (0.1, 1 / 7.0::float8, 3)), count(*) FILTER (WHERE single = ANY ('{0,0.14285715,3,NaN}'::float4[])), count(*) FILTER (WHERE odd = ANY ('{0.125,2}'::float4[])) FROM trip
SELECT kind, odd IN ('-0', 3, 4.5), count(*) FROM trip GROUP BY 1, 2
SELECT part, sum(fare) FILTER (WHERE fare <> 'NaN'), count(*) FILTER (WHERE fare < 'NaN'), count(*) FILTER (WHERE fare >= 'NaN'), count(*) FILTER (WHERE fare = 'Infinity'), count(*) FILTER (WHERE fare > '-Infinity') FROM trip GROUP BY part
SELECT part, count(*) FILTER (WHERE 'NaN' > fare), count(*) FILTER (WHERE '-Infinity' >= fare), count(*) FILTER (WHERE NOT fare < 'Infinity'), count(*) FILTER (WHERE '-Infinity' <> fare + tip) FROM trip GROUP BY part
$list$);

-- The engine is asked where parallel workers would cost next to nothing.
SET enable_seqscan = on;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT node, used, cost > other_cost AS costs_more FROM gpu.explain_why($$ SELECT sum(abs(fare - tip)), sum(least(fare, tip)), sum(coalesce(fare, 0) + tip) FROM trip $$);

DROP FUNCTION compare, compare_all, who_answers, answer_of, nine;
DROP TABLE trip;
