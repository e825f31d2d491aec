-- Time zones that rows have, in the node GpuQuery: each statement is run with the node and without it, and the answers are held
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
CREATE TABLE place (place int4 PRIMARY KEY, timezone text, name text);
INSERT INTO place SELECT i, (ARRAY['Europe/London', 'America/Los_Angeles', NULL])[1 + i % 3], 'name ' || i FROM generate_series(0, 7) AS i;
CREATE INDEX seen_i ON seen USING gpu_column (id, place, zone, other, at, local, clock);
VACUUM ANALYZE seen, place;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all

CREATE TEMP TABLE list AS SELECT $list$
SELECT date_trunc('hour', at AT TIME ZONE zone), count(*) FROM seen GROUP BY 1
SELECT id, max(at AT TIME ZONE zone), max(local AT TIME ZONE zone), max(local AT TIME ZONE other), max(date_trunc('day', at, zone)) FROM seen GROUP BY id
SELECT zone, extract(hour FROM at AT TIME ZONE zone), extract(isodow FROM at AT TIME ZONE other), count(*) FROM seen WHERE id < 8000 GROUP BY 1, 2, 3
SELECT (at AT TIME ZONE zone)::date, count(*), min(at), max(local AT TIME ZONE zone) FROM seen GROUP BY 1
SELECT date_trunc('month', at, zone), date_trunc('week', at, other), count(*) FROM seen GROUP BY 1, 2
SELECT count(*) FROM seen WHERE at AT TIME ZONE zone > local AND (at AT TIME ZONE zone)::time < '06:30'
SELECT to_char(at AT TIME ZONE zone, 'YYYY-MM'), count(*) FROM seen WHERE id < 8000 GROUP BY 1
SELECT timezone, min(at AT TIME ZONE timezone), max(date_trunc('day', at, timezone)), count(*) FROM seen JOIN place USING (place) GROUP BY 1
SELECT date_trunc('day', local AT TIME ZONE timezone), count(*) FROM seen LEFT JOIN place USING (place) GROUP BY 1
SELECT count(*) FROM seen WHERE CASE WHEN zone IS NULL THEN local ELSE at AT TIME ZONE zone END > '2024-05-01'
SELECT count(at AT TIME ZONE zone), count(*) FROM seen
SELECT (at AT TIME ZONE zone)::time > '12:00', place, count(*) FROM seen GROUP BY 1, 2
$list$ AS queries;
SELECT c.who, c.rows, c.same, c.query FROM list, compare_all(queries) AS c;
-- Abbreviations, and what isn't a zone.
INSERT INTO seen SELECT 9000 + i, 8, (ARRAY['EST', 'CET', 'Pacific/Apia'])[1 + i % 3], 'UTC', '2024-06-01 00:00+00', '2024-06-01', '12:00' FROM generate_series(1, 9) AS i;
SELECT c.who, c.rows, c.same, c.query FROM list, compare_all(queries) AS c WHERE c.same <> 'same';
SELECT * FROM compare('SELECT date_trunc(''hour'', at AT TIME ZONE zone), count(*) FROM seen WHERE place <> 8 GROUP BY 1');
SELECT * FROM compare('SELECT date_trunc(''hour'', at AT TIME ZONE zone), count(*) FROM seen GROUP BY 1');
UPDATE seen SET zone = 'No/Where' WHERE place = 8;
SELECT * FROM compare('SELECT date_trunc(''hour'', at AT TIME ZONE zone), count(*) FROM seen WHERE place <> 8 GROUP BY 1');
SELECT * FROM compare('SELECT date_trunc(''hour'', at AT TIME ZONE zone), count(*) FROM seen GROUP BY 1');
-- More zones than the engine gets.
UPDATE seen SET zone = (SELECT name FROM pg_timezone_names WHERE name LIKE 'America/%' ORDER BY name OFFSET id % 60 LIMIT 1) WHERE id < 120;
SELECT same FROM compare('SELECT date_trunc(''day'', at AT TIME ZONE zone), count(*) FROM seen WHERE place <> 8 GROUP BY 1');
DROP TABLE seen, place;
DROP FUNCTION answer_of, who_answers, compare, compare_all;
