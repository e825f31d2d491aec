-- Moments with a time zone, without one, and days, compared with each other by GpuQuery, and rows of columns. Each statement is run with the node and without it.
SET pg_gpu.path = host;
SET pg_gpu.min_mirror_entries = 0;
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;
SET timezone = 'UTC';
SET datestyle = 'ISO';

CREATE TABLE event (id int4, started timestamptz, local timestamp, day date, until timestamptz, local_until timestamp, far date, kind text) WITH (autovacuum_enabled = off);
-- A row each two hours of 2024, and one each two minutes around the jumps of clocks in Berlin and New York.
INSERT INTO event (id, started)
SELECT row_number() OVER (), t FROM (
    SELECT generate_series(timestamptz '2023-12-25', '2025-01-05', '2 hours') AS t
    UNION ALL SELECT generate_series(jump - interval '3 hours', jump + interval '3 hours', '2 minutes')
    FROM (VALUES (timestamptz '2024-03-31 01:00'), ('2024-10-27 01:00'), ('2024-03-10 07:00'), ('2024-11-03 06:00')) AS j (jump)) AS s;
UPDATE event SET local = started AT TIME ZONE 'UTC' + id % 7 * interval '7 minutes', day = started::date + id % 3, kind = 'kind ' || id % 5,
    until = CASE id % 50 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity' WHEN 2 THEN NULL ELSE started + id % 9 * interval '1 hour' END,
    local_until = CASE id % 60 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity' WHEN 2 THEN NULL ELSE started AT TIME ZONE 'UTC' + id % 11 * interval '1 hour' END,
    far = CASE id % 70 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity' WHEN 2 THEN NULL ELSE started::date END;
INSERT INTO event (id) VALUES (0);
VACUUM event;
CREATE INDEX event_i ON event USING gpu_column (id, started, local, day, until, local_until, far, kind);
CREATE TABLE shift (number int4, begins timestamp, begins_at timestamptz, on_day date) WITH (autovacuum_enabled = off);
INSERT INTO shift SELECT i, t AT TIME ZONE 'Europe/Berlin', CASE WHEN i % 13 > 0 THEN t END, (t AT TIME ZONE 'UTC')::date FROM (SELECT i, timestamptz '2024-03-30' + i * interval '30 minutes' AS t FROM generate_series(1, 400) AS i) AS s;
CREATE INDEX shift_i ON shift USING gpu_column (number, begins, begins_at, on_day);
VACUUM ANALYZE event, shift;
-- Rows of the tail.
INSERT INTO event SELECT i, timestamptz '2024-03-31 00:30+00' + i * interval '11 minutes', timestamp '2024-03-31 01:30' + i * interval '7 minutes', '2024-03-31', 'infinity', '-infinity', 'infinity', 'late' FROM generate_series(1, 12) AS i;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all
-- compare(query) by the clocks of several zones, which say the same.
CREATE FUNCTION compare_in_zones(query text, OUT who text, OUT rows int, OUT same text) LANGUAGE sql AS $$
    SELECT string_agg(DISTINCT c.who, '; '), max(c.rows), string_agg(DISTINCT c.same, '; ')
    FROM unnest(ARRAY['Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'UTC']) AS zone, set_config('timezone', zone, true) AS is_set, LATERAL compare(query || left(is_set, 0)) AS c
$$;

-- Columns and constants, also ones that only the executor knows.
SELECT * FROM compare_all($list$
SELECT count(*), sum(id) FROM event WHERE started >= date '2024-03-31'
SELECT count(*), sum(id) FROM event WHERE started >= timestamp '2024-03-31 02:30' AND started < timestamp '2024-10-27 02:30'
SELECT count(*), sum(id) FROM event WHERE date '2024-07-01' > started OR timestamp '2024-11-03 01:30' = started
SELECT count(*), sum(id) FROM event WHERE started BETWEEN date '2024-03-10' AND date '2024-03-10' + 21
SELECT count(*), sum(id) FROM event WHERE local >= timestamptz '2024-03-31 01:00+00' AND local < timestamptz '2024-10-27 00:30+00'
SELECT count(*), sum(id) FROM event WHERE local BETWEEN timestamptz '2024-03-31 00:00+00' AND timestamptz '2024-05-31 01:30+00'
SELECT count(*), sum(id) FROM event WHERE day >= timestamptz '2024-03-30 23:00+00' AND day <> timestamptz '2024-03-31 22:00+00' AND day < timestamp '2024-06-01 00:00:01'
SELECT count(*), sum(id) FROM event WHERE day = timestamp '2024-05-05' OR day = timestamptz '2024-06-05 00:00+02' OR local = date '2024-02-02'
SELECT count(*), sum(id) FROM event WHERE local >= now() - interval '300 years' AND day >= now() - interval '300 years' AND started < current_date + 100000 AND started > localtimestamp - interval '200 years'
SELECT count(*), sum(id) FROM event WHERE local < date_trunc('year', current_timestamp) AND day < current_timestamp
SELECT kind, count(*) FILTER (WHERE started >= date '2024-10-27'), min(CASE WHEN local < timestamptz '2024-03-31 00:00+00' THEN day END), sum(CASE WHEN day > timestamptz '2024-05-01 00:00+00' THEN 1 ELSE 0 END) FROM event GROUP BY kind
SELECT started >= timestamp '2024-03-31 03:00', local <= timestamptz '2024-03-31 00:59+00', count(*) FROM event GROUP BY 1, 2
SELECT count(*), sum(id) FROM event WHERE started IN (timestamp '2024-03-31 03:00', timestamp '2024-03-31 02:00', timestamp '2024-10-27 02:00', date '2024-03-31')
SELECT count(*), sum(id) FROM event WHERE started = ANY (ARRAY[timestamp '2024-03-31 03:00', '2024-03-31 02:30', '2024-11-03 01:30', NULL, 'infinity'])
SELECT count(*), sum(id) FROM event WHERE started <> ALL (ARRAY[date '2024-03-31', '2024-11-03', 'infinity', '5000000-01-01'])
SELECT count(*), sum(id) FROM event WHERE local = ANY (ARRAY[timestamptz '2024-03-31 00:28+00', '2024-10-27 00:28+00', '2024-10-27 01:28+00']) OR day = ANY (ARRAY[timestamptz '2024-03-31 00:00+01', '2024-11-03 00:00-04', '2024-05-05 00:00+05:30'])
SELECT count(*), sum(id) FROM event WHERE day IN (timestamp '2024-03-31 00:00', '2024-04-01') OR local = ANY (ARRAY[date '2024-03-31', '2024-04-01'])
SELECT count(*), sum(id) FROM event WHERE started IS DISTINCT FROM timestamp '2024-03-31 03:00' AND nullif(local, timestamptz '2024-01-01 00:00+00') IS NOT NULL
$list$, 'compare_in_zones');
-- Infinite moments, and days that no moment of the other type is of.
SELECT * FROM compare_all($list$
SELECT count(*), sum(id) FROM event WHERE until >= date '2024-03-31' AND until < timestamp 'infinity'
SELECT count(*), sum(id) FROM event WHERE until <= date 'infinity' AND until > date '-infinity'
SELECT count(*), sum(id) FROM event WHERE until = date '-infinity' OR until = timestamp 'infinity'
SELECT count(*), sum(id) FROM event WHERE until < date '5000000-01-01' AND local_until < date '5000000-01-01' AND started > date '4713-01-01 BC'
SELECT count(*), sum(id) FROM event WHERE until > date '5000000-01-01' OR local_until > date '5000000-01-01' OR until >= timestamp '294276-12-31 23:59:59.999999'
SELECT count(*), sum(id) FROM event WHERE until <= timestamp '4713-01-01 00:00:00 BC' OR local_until <= timestamptz '4713-01-01 BC'
SELECT count(*), sum(id) FROM event WHERE local_until >= timestamptz '2024-03-31 01:00+00' AND local_until <> timestamptz 'infinity'
SELECT count(*), sum(id) FROM event WHERE local_until > timestamptz '-infinity' AND far <= timestamptz '2024-05-05 12:00+00'
SELECT count(*), sum(id) FROM event WHERE far > timestamp '2024-05-05 12:00' AND far < timestamp 'infinity' OR far = timestamptz '-infinity'
SELECT kind, min(until::timestamp), max(local_until::timestamptz), max(far::timestamptz), count(until AT TIME ZONE 'Asia/Kolkata') FROM event GROUP BY kind
SELECT date_trunc('hour', until), count(*) FROM event GROUP BY 1
SELECT until::date, date_trunc('month', until), count(*) FROM event GROUP BY 1, 2
$list$, 'compare_in_zones');
-- Two columns, of one table and of two.
SELECT * FROM compare_all($list$
SELECT count(*), sum(id) FROM event WHERE started < local
SELECT count(*), sum(id) FROM event WHERE day <= started AND local >= day
SELECT count(*), sum(id) FROM event WHERE until > local_until OR until = far
SELECT count(*), sum(id) FROM event WHERE started IS NOT DISTINCT FROM local
SELECT count(*), sum(e.id), sum(s.number) FROM event e JOIN shift s ON e.started = s.begins
SELECT count(*), sum(e.id), sum(s.number) FROM event e JOIN shift s ON e.local = s.begins_at
SELECT count(*), sum(e.id), sum(s.number) FROM event e JOIN shift s ON e.day = s.begins_at
SELECT count(*), sum(e.id), sum(s.number) FROM event e JOIN shift s ON e.started = s.on_day
SELECT s.number, count(e.id) FROM shift s LEFT JOIN event e ON e.started = s.begins AND e.local > s.begins_at GROUP BY 1
SELECT count(*) FROM event e WHERE NOT EXISTS (SELECT 1 FROM shift s WHERE s.begins = e.started)
SELECT d, count(e.id) FROM generate_series(date '2024-03-25', date '2024-04-05', interval '1 day') AS d LEFT JOIN event e ON e.day = d GROUP BY 1
SELECT d, count(e.id) FROM generate_series(date '2024-01-01', date '2024-12-01', interval '1 month') AS d LEFT JOIN event e ON date_trunc('month', e.local) = d GROUP BY 1
$list$, 'compare_in_zones');
-- Parameters.
SET timezone = 'Europe/Berlin';
PREPARE since(date, timestamptz) AS SELECT sum(id) - (SELECT sum(id) FROM (SELECT started, id FROM event OFFSET 0) AS e WHERE started >= $1) AS more, count(*) > 0 AS any FROM event WHERE started >= $1 AND local > $2;
SET plan_cache_mode = force_generic_plan;
EXECUTE since('2024-03-31', '-infinity');
EXECUTE since('2024-10-27', '2024-01-01');
SET timezone = 'America/New_York';
EXECUTE since('2024-11-03', '2024-01-01');
DEALLOCATE since;
RESET plan_cache_mode;
SET timezone = 'UTC';

-- Rows of columns: where two are equal, the next ones decide, and a NULL leaves it open.
SELECT * FROM compare_all($list$
SELECT count(*), sum(id) FROM event WHERE (local, id) > ('2024-03-31', 300)
SELECT count(*), sum(id) FROM event WHERE (day, id) <= (date '2024-03-31', 4000) AND (kind, started) >= ('kind 2', timestamptz '2024-03-31 01:00+00')
SELECT count(*), sum(id) FROM event WHERE (far, until, id) < (date '2024-03-31', NULL, 5)
SELECT count(*), sum(id) FROM event WHERE ((until, id) > (timestamptz '2024-05-05', 7)) IS NULL
SELECT count(*), sum(id) FROM event WHERE NOT (far, local_until) >= (far, timestamp '2024-05-05')
SELECT count(*), sum(id) FROM event WHERE (started, id) > (date '2024-03-31', 300) AND (kind, id) IN (('kind 1', 1), ('kind 2', 3452))
SELECT (kind, id) < ('kind 2', 100), count(*) FROM event GROUP BY 1
SELECT count(*), sum(id) FROM event WHERE (kind, day) > ('kind 3', date '2024-06-01') AND (id, 10 / id) > (0, 1)
SELECT count(*), sum(s.number) FROM event e JOIN shift s ON e.started = s.begins_at AND (e.local, e.id) > (s.begins, s.number)
$list$, 'compare_in_zones');
-- Periods.
SELECT * FROM compare_all($list$
SELECT count(*), sum(id) FROM event WHERE (started, until) OVERLAPS (timestamptz '2024-03-31', timestamptz '2024-05-05')
SELECT count(*), sum(id) FROM event WHERE (local_until, local) OVERLAPS (timestamp '2024-07-31 06:00', interval '-90 days')
SELECT (started, until) OVERLAPS (local::timestamptz, far::timestamptz), count(*), sum(id) FROM event GROUP BY 1
SELECT (day, far) OVERLAPS (date '2024-06-01', NULL), (NULL, until) OVERLAPS (started, until), count(*) FROM event GROUP BY 1, 2
SELECT ((until, NULL) OVERLAPS (started, NULL::timestamptz)) IS NULL, ((local, local_until) OVERLAPS (local, local_until)) IS TRUE, count(*) FROM event GROUP BY 1, 2
SELECT count(*), sum(e.id), sum(s.number) FROM event e JOIN shift s ON (e.started, interval '40 minutes') OVERLAPS (s.begins_at, interval '30 minutes') AND e.id % 50 = s.number % 50
$list$, 'compare_in_zones');
RESET timezone;
DROP TABLE event, shift;
DROP FUNCTION compare_in_zones, compare, compare_all, who_answers, answer_of;
