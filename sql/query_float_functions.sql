-- Functions of floats that are the C library's, which processors compute alone. Each statement is run with the node GpuQuery and without it, and the
-- answers, or the kinds of errors, are the same in every bit that is shown.
SET pg_gpu.path = host;
SET pg_gpu.min_mirror_entries = 0;
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;
SET extra_float_digits = 3;

CREATE TABLE place (id int4, part int4, lat float8, lon float8, x float8, single float4, whole int4, odd float8, num numeric(10,3)) WITH (autovacuum_enabled = off);
INSERT INTO place
SELECT i, i % 5, CASE WHEN i % 11 <> 0 THEN (i * 7919 % 180000) / 1000.0 - 90 END, (i * 104729 % 360000) / 1000.0 - 180, CASE WHEN i % 13 <> 0 THEN i * 0.37 + 0.001 END,
    (i % 640) / 7.0 + 0.1, i % 300 - 20, (ARRAY['NaN', 'Infinity', '-Infinity', '-0', '0', '1', '-1', '0.5', '-2', '3', '1e308', '5e-324', '-1e-300', '750', '-760', '1e17']::float8[])[1 + i % 16], i / 8.0
FROM generate_series(1, 4000) AS i;
CREATE INDEX place_i ON place USING gpu_column (id, part, lat, lon, x, single, whole, odd, num);
VACUUM ANALYZE place;
INSERT INTO place SELECT 5000 + i, i, i, -i, i, i, i, i, i FROM generate_series(1, 5) AS i;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set plan_of :source '/test/regress/plan_of.sql'
\set ECHO none
\i :compare
\i :plan_of
\set ECHO all

SELECT * FROM compare_all($list$
SELECT part, max(2 * 6371 * asin(sqrt(power(sin(radians(lat - 52.5) / 2), 2) + cos(radians(52.5)) * cos(radians(lat)) * power(sin(radians(lon - 13.4) / 2), 2)))) FROM place GROUP BY part
SELECT count(*) FROM place WHERE 2 * 6371 * asin(sqrt(sin(radians(lat - 52.5) / 2) ^ 2 + cos(radians(52.5)) * cos(radians(lat)) * sin(radians(lon - 13.4) / 2) ^ 2)) < 5000
SELECT part, max(degrees(atan2(sin(radians(lon)) * cos(radians(lat)), cos(radians(lat))))), min(degrees(acos(cos(radians(lat))))) FROM place GROUP BY part
SELECT max(ln(x)), min(log(x)), max(log10(x)), max(exp(lat / 10)), max(cbrt(lon)), min(cbrt(lat)), max(power(x, 2)), max(x ^ 0.5), max(power(x, -1.5)) FROM place
SELECT max(sin(lat)), min(cos(lon)), max(tan(lat)), min(cot(lon + 0.5)), max(atan(lon)), max(asin(lat / 90)), min(acos(lon / 180)), max(atan2(lat, lon)), max(pi() * x) FROM place
SELECT max(sinh(lat / 9)), min(cosh(lat / 9)), max(tanh(lon)), max(asinh(lon)), max(acosh(x + 1)), min(atanh(lat / 91)) FROM place
SELECT exp(max(ln(x)) / 3), count(*) FROM place WHERE ln(x) > 2 GROUP BY part
SELECT part, count(*) FROM place GROUP BY part HAVING max(ln(x)) > 1.5 AND exp(min(x)) < 1e6
SELECT floor(ln(x)), count(*) FROM place GROUP BY 1
SELECT width_bucket(log(x), 0, 4, 8), count(*), max(power(single, 3)), max(exp(single::float8 / 20)) FROM place GROUP BY 1
SELECT round(log(whole + 100.5::float8)::numeric, 4), count(*) FROM place WHERE part = 1 GROUP BY 1
SELECT id, ln(x), power(lat, 3), exp(lon / 40) FROM place WHERE part = 2 AND id < 400 GROUP BY 1, 2, 3, 4
SELECT id, x FROM place ORDER BY sin(x), id LIMIT 20
SELECT max(ln(num::float8 + 1)), max(power(whole, 2)), max(power(whole::float8, 3)), max(exp(whole / 10.0::float8)) FROM place
SELECT stddev(ln(x)) IS NULL, count(DISTINCT floor(sqrt(x))), count(ln(x)), count(ln(lat + 91)) FROM place
$list$);
-- Averages of floats are rounded once by the node, so that they agree in all digits but the last.
SELECT * FROM compare_all($list$
SELECT part, round(exp(avg(ln(x)))::numeric, 8), round(avg(power(x, 2))::numeric, 4), round(sum(sin(lat))::numeric, 8) FROM place GROUP BY part
SELECT round(sum(exp(-x / 100) * cos(lon))::numeric, 8), round(avg(log(x) / ln(2))::numeric, 10) FROM place WHERE cbrt(x) < 9
$list$);
-- Values at the ends, and errors that CASE and conditions keep away, or don't.
SELECT * FROM compare_all($list$
SELECT CASE WHEN odd > 0 THEN ln(odd) END, count(*) FROM place GROUP BY 1
SELECT CASE WHEN odd > 0 AND odd < 1e300 THEN log(odd) ELSE -1 END, count(*) FROM place GROUP BY 1
SELECT CASE WHEN odd < 700 AND odd > -700 THEN exp(odd) END, odd, count(*) FROM place WHERE odd <> 0 GROUP BY 1, 2
SELECT odd, exp(odd), count(*) FROM place WHERE odd <> 0 AND abs(odd) < 5 OR odd = 'NaN' GROUP BY 1, 2
SELECT odd, exp(odd), count(*) FROM place WHERE odd > 1.5e308 OR odd = '-Infinity' GROUP BY 1, 2
SELECT odd, cbrt(odd), atan(odd), tanh(odd), asinh(odd), sinh(odd / 2), cosh(odd), count(*) FROM place WHERE abs(odd) > 1e-200 GROUP BY 1, 2, 3, 4, 5, 6, 7
SELECT id, odd, cbrt(odd), atan(odd), atan2(odd, -odd), power(odd, 0), power(odd, 'NaN'), power(1, odd) FROM place WHERE id < 64 GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
SELECT id, power(odd, 3), power(odd, 2), power(odd, 'Infinity'), power(1.5, odd) FROM place WHERE id < 64 AND (abs(odd) < 100 OR abs(odd) > 1e308) AND (odd = 0 OR abs(odd) > 0.1) GROUP BY 1, 2, 3, 4, 5
SELECT id, power(odd, -3), power(odd, '-Infinity'), power(odd, -2) FROM place WHERE id < 64 AND abs(odd) > 0.1 AND abs(odd) <> 1e308 GROUP BY 1, 2, 3, 4
SELECT id, sin(odd), cos(odd), tan(odd) FROM place WHERE id < 64 AND abs(odd) < 'Infinity' GROUP BY 1, 2, 3, 4
SELECT id, cot(odd) FROM place WHERE id < 64 AND abs(odd) < 'Infinity' GROUP BY 1, 2
SELECT id, asin(odd), acos(odd), atanh(odd) FROM place WHERE id < 64 AND odd BETWEEN -1 AND 1 GROUP BY 1, 2, 3, 4
SELECT id, radians(odd), degrees(odd) FROM place WHERE id < 64 AND abs(odd) < 1e300 AND (odd = 0 OR abs(odd) > 1e-290) GROUP BY 1, 2, 3
SELECT max(ln(odd)) FROM place
SELECT max(ln(-x)) FROM place
SELECT max(log(odd)) FROM place WHERE odd = 0
SELECT max(exp(odd)) FROM place WHERE odd = 750
SELECT max(exp(odd)) FROM place WHERE odd = -760
SELECT max(power(odd, 2)) FROM place WHERE odd = 1e308
SELECT max(power(odd, 2)) FROM place WHERE odd > 0 AND odd < 1e-100
SELECT max(power(odd, -1)) FROM place WHERE odd = 0
SELECT max(power(odd, 0.5)) FROM place WHERE odd = -2
SELECT max(sin(odd)), max(cos(odd)) FROM place WHERE odd = 'Infinity'
SELECT max(tan(odd)) FROM place WHERE odd = '-Infinity'
SELECT max(asin(odd)) FROM place WHERE odd = 3
SELECT max(acosh(odd)) FROM place WHERE odd = 0.5
SELECT max(atanh(odd)) FROM place WHERE odd = -2
SELECT max(degrees(odd)) FROM place WHERE odd = 1e308
SELECT max(radians(odd)) FROM place WHERE odd > 0 AND odd < 1e-300
SELECT count(*) FROM place WHERE odd > 0 AND ln(odd) > 1
SELECT count(*) FILTER (WHERE odd > 0 AND ln(odd) > 1), max(ln(odd)) FILTER (WHERE odd > 0) FROM place
SELECT max(ln(coalesce(nullif(x, 0), 1))), max(ln(NULL::float8 + x)) FROM place
$list$);
-- Joins, groups within a subquery, and several functions of one value.
SELECT * FROM compare_all($list$
SELECT p.part, max(sqrt((p.lat - q.lat) ^ 2 + (p.lon - q.lon) ^ 2)) FROM place AS p JOIN place AS q ON p.whole = q.whole AND p.id < q.id WHERE p.id < 300 AND q.id < 600 GROUP BY 1
SELECT floor(l), count(*) FROM (SELECT whole, max(ln(x)) AS l FROM place GROUP BY whole) AS s GROUP BY 1
SELECT whole, m FROM (SELECT whole, exp(min(x) / 1000) AS m FROM place GROUP BY whole) AS s WHERE m > 1.1
$list$);
-- A device doesn't compute them, so that no node is planned for one, but for angles.
SET pg_gpu.path = cuda;
SELECT node, is_offered, reason FROM (SELECT node, used OR cost IS NOT NULL AS is_offered, reason FROM gpu.explain_why('SELECT max(ln(x)) FROM place')) AS s WHERE node = 'GpuQuery';
SELECT plan FROM pg_temp.plan_of('SELECT max(ln(x)) FROM place');
SELECT plan FROM pg_temp.plan_of('SELECT max(radians(x)) FROM place');
DROP FUNCTION compare, compare_all, who_answers, answer_of;
DROP TABLE place;
