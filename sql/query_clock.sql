-- Times of day in the node GpuQuery: each statement is run with the node and without it, and the answers are held
-- against each other.
SET pg_gpu.path = host;
SET pg_gpu.min_mirror_entries = 0;
SET max_parallel_workers_per_gather = 0;
SET parallel_setup_cost = 0;
SET timezone = 'Europe/Berlin';

CREATE TABLE seen (id int4, place int4, zone text, other varchar(40), at timestamptz, local timestamp, clock time) WITH (autovacuum_enabled = off);
INSERT INTO seen SELECT i, i % 9, (ARRAY['Europe/Berlin', 'America/New_York', 'UTC', 'Asia/Kolkata', NULL, 'australia/sydney'])[1 + i % 6], (ARRAY['Asia/Tokyo', 'Europe/Paris'])[1 + i % 2],
    timestamptz '2024-03-25 00:00+00' + i * interval '37 minutes 11.5 seconds', timestamp '2024-03-30 00:00' + i * interval '13 minutes 0.25 seconds', time '00:00' + i % 1000 * interval '83 seconds'
FROM generate_series(1, 8000) AS i;
INSERT INTO seen VALUES (8001, 1, 'UTC', NULL, 'infinity', '-infinity', '24:00'), (8002, 2, 'Europe/Berlin', 'UTC', '-infinity', 'infinity', NULL), (8003, 3, 'Asia/Kolkata', 'UTC', NULL, NULL, NULL);
CREATE INDEX seen_i ON seen USING gpu_column (id, place, zone, other, at, local, clock);
VACUUM ANALYZE seen;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all

SELECT * FROM compare_all($list$
SELECT at::time, local::time, count(*) FROM seen GROUP BY 1, 2
SELECT min(at::time), max(local::time), count(DISTINCT local::time), count(at::time), sum(local::time), avg(at::time), avg(local::time - time '08:00'), min(clock - local::time) FROM seen
SELECT count(*) FILTER (WHERE local::time >= '09:00' AND local::time < '17:00:00.5'), count(*) FILTER (WHERE at::time > clock), count(*) FILTER (WHERE local::time IN ('00:26:00.5', '12:00')) FROM seen
SELECT place, avg(clock), sum(clock), max(clock - time '12:00'), sum(clock::interval) FROM seen GROUP BY place
SELECT extract(hour FROM clock), extract(hour FROM local::time), count(*) FROM seen WHERE id < 2000 GROUP BY 1, 2
SELECT extract(minute FROM clock), sum(extract(second FROM clock)), min(extract(milliseconds FROM clock)), max(extract(microseconds FROM clock)), max(extract(epoch FROM clock)), max(extract(hour FROM clock)) FROM seen GROUP BY 1
SELECT date_part('hour', local::time), min(date_part('epoch', clock)), max(date_part('minute', clock)), count(date_part('microseconds', at::time)) FROM seen GROUP BY 1
SELECT extract(day FROM clock), count(*) FROM seen GROUP BY 1
SELECT isfinite(at), isfinite(local), isfinite(at::date), count(*) FROM seen GROUP BY 1, 2, 3
SELECT count(*), max(local) FROM seen WHERE isfinite(local) AND isfinite(at) IS NOT TRUE
SELECT * FROM (SELECT id, local::time FROM seen ORDER BY 2 DESC NULLS LAST, id LIMIT 7) AS s
$list$);
DROP TABLE seen;
DROP FUNCTION answer_of, who_answers, compare, compare_all;
