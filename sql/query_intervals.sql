-- Intervals that GpuQuery computes with: columns of them, of which each has months, days and a time; and moments that are moved by them, in zones
-- whose clocks jump. Each statement is run with the node and without it.
SET pg_gpu.path = host;
SET pg_gpu.min_mirror_entries = 0;
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;
SET timezone = 'UTC';
SET datestyle = 'ISO';

CREATE TABLE delivery (id int4, part int4, span interval, other interval, whole interval, wide interval, started timestamptz, ordered timestamp, shipped timestamp, until timestamptz, day date) WITH (autovacuum_enabled = off);
-- A row each six hours of 2024, and one each two minutes around the jumps of clocks in Berlin and New York.
INSERT INTO delivery (id, started)
SELECT row_number() OVER (), t FROM (
    SELECT generate_series(timestamptz '2023-12-25', '2025-01-05', '6 hours') AS t
    UNION ALL SELECT generate_series(jump - interval '3 hours', jump + interval '3 hours', '2 minutes')
    FROM (VALUES (timestamptz '2024-03-31 01:00'), ('2024-10-27 01:00'), ('2024-03-10 07:00'), ('2024-11-03 06:00')) AS j (jump)) AS s;
UPDATE delivery SET part = id % 7, ordered = started AT TIME ZONE 'UTC', shipped = CASE WHEN id % 5 > 0 THEN started AT TIME ZONE 'UTC' + id % 13 * interval '11 hours 1.5 seconds' END, day = started::date,
    until = CASE id % 50 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity' WHEN 2 THEN NULL ELSE started + id % 9 * interval '1 hour' END,
    span = CASE WHEN id % 11 > 0 THEN make_interval(months => id % 3 * (id % 5 - 2), days => id % 40 - 10, hours => id % 17 - 3, secs => id % 23 * 1.25) END,
    other = CASE id % 6 WHEN 0 THEN interval '1 day' WHEN 1 THEN '24 hours' WHEN 2 THEN '-1 mon' WHEN 3 THEN '00:00' WHEN 4 THEN '1 year 2 mons -3 days 04:05:06.789' END,
    whole = make_interval(hours => id % 50 - 20), wide = CASE id WHEN 7 THEN interval '178000000 years' WHEN 8 THEN '-100000000 days' ELSE make_interval(days => id % 9) END;
VACUUM delivery;
CREATE INDEX delivery_i ON delivery USING gpu_column (id, part, span, other, whole, wide, started, ordered, shipped, until, day);
CREATE TABLE plan (part int4, due interval, since timestamp) WITH (autovacuum_enabled = off);
INSERT INTO plan SELECT i % 9, i * interval '5 hours' - i % 2 * interval '1 mon', timestamp '2024-01-01' + i * interval '1 day' FROM generate_series(1, 60) AS i;
CREATE INDEX plan_i ON plan USING gpu_column (part, due, since);
VACUUM ANALYZE delivery, plan;
-- Rows of the tail.
INSERT INTO delivery SELECT i, i, i * interval '1 mon 3 days', interval '1 hour', interval '2 days', '1 day', timestamptz '2024-03-31 00:30+00' + i * interval '11 minutes', '2024-03-31 02:30', '2024-04-30 02:30', 'infinity', '2024-03-31' FROM generate_series(1, 6) AS i;

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

-- Sums of fields, and fields themselves.
SELECT * FROM compare_all($list$
SELECT sum(span), avg(span), sum(other), avg(other), sum(whole), avg(whole), count(span) FROM delivery
SELECT part, sum(span), avg(other) FILTER (WHERE id % 2 = 0), sum(whole) FILTER (WHERE span > interval '3 days'), min(whole), max(whole) FROM delivery GROUP BY part
SELECT sum(CASE WHEN part > 3 THEN span END), avg(CASE WHEN part > 3 THEN span ELSE other END), sum(coalesce(span, other, interval '1 mon 1 day')), sum(coalesce(span, shipped - ordered)), sum(CASE WHEN part > 3 THEN interval '1 mon -1 day' END) FROM delivery
SELECT sum(CASE WHEN part > 3 THEN interval '2 mons' WHEN part > 1 THEN shipped - ordered END), sum(CASE part WHEN 1 THEN NULL WHEN 2 THEN interval '3 days' ELSE interval '25:00' END), avg(interval '1 mon 2 days') FROM delivery
SELECT sum(-span), avg(span * 2), sum(span + interval '3 days') FROM delivery
SELECT sum(-coalesce(span, other)), sum(span + other), avg(span - other + (shipped - ordered)) FROM delivery
SELECT sum(nullif(span, other)), avg(nullif(shipped - ordered, whole)), sum(nullif(coalesce(span, other), interval '1 day')) FROM delivery
SELECT max(least(span, shipped - ordered, interval '1 mon')) FROM delivery
SELECT sum(greatest(span, other)), min(greatest(shipped - ordered, span, '1 day')), sum(least(interval '1 day', other, interval '24:00')), sum(greatest(interval '24:00', other, interval '1 day')) FROM delivery
SELECT coalesce(span, shipped - ordered) > other, count(*), sum(id) FROM delivery WHERE CASE WHEN part > 3 THEN span ELSE shipped - ordered END > interval '2 days' GROUP BY 1
SELECT sum(span), avg(other), sum(extract(day FROM span)) FROM delivery WHERE id + 0 < 0
SELECT sum(extract(epoch FROM span)), avg(extract(epoch FROM other)), sum(extract(day FROM span)), sum(extract(month FROM other)), sum(extract(year FROM other)), sum(extract(hour FROM whole)), sum(extract(minute FROM span)), sum(extract(second FROM span)), sum(extract(microseconds FROM other)), sum(extract(milliseconds FROM other)) FROM delivery
SELECT extract(day FROM span), extract(month FROM span), extract(century FROM other), extract(decade FROM other), extract(millennium FROM other), count(*) FROM delivery GROUP BY 1, 2, 3, 4, 5
SELECT extract(hour FROM coalesce(span, other)), extract(epoch FROM coalesce(span, other)), date_part('epoch', coalesce(other, span)), date_part('day', coalesce(span, whole)), count(*) FROM delivery GROUP BY 1, 2, 3, 4
SELECT extract(year FROM shipped - ordered), extract(month FROM coalesce(shipped - ordered, span)), count(*) FROM delivery GROUP BY 1, 2
SELECT part, sum(extract(epoch FROM span) / 3600), avg(extract(epoch FROM CASE WHEN part > 2 THEN span ELSE whole END)) FROM delivery GROUP BY part HAVING sum(extract(epoch FROM span)) > 0
SELECT other, whole, count(*) FROM delivery WHERE whole > interval '10 hours' GROUP BY 1, 2
SELECT span, count(*), sum(whole) FROM delivery GROUP BY 1
SELECT part, min(coalesce(span, shipped - ordered)), max(coalesce(span, shipped - ordered)), min(CASE WHEN part > 3 THEN interval '1 mon' WHEN part > 1 THEN '40 days' END), max(span + whole), min(span - whole) FROM delivery GROUP BY 1
SELECT span + (shipped - ordered), count(*) FROM delivery WHERE id % 10 = 3 GROUP BY 1
SELECT p.part, sum(d.span), avg(p.due), sum(extract(day FROM d.span + p.due)) FROM delivery d JOIN plan p USING (part) GROUP BY 1
SELECT sum(s), avg(s) FROM (SELECT sum(span) AS s FROM delivery GROUP BY part OFFSET 0) AS g
$list$);
-- Comparisons with what is computed.
SELECT * FROM compare_all($list$
SELECT count(*), sum(id) FROM delivery WHERE span > interval '3 days' AND other <= interval '1 day' AND whole <> interval '1 day'
SELECT count(*), sum(id) FROM delivery WHERE shipped - ordered > span
SELECT count(*), sum(id) FROM delivery WHERE other = shipped - ordered + interval '0' OR whole >= shipped - ordered
SELECT count(*), sum(id) FROM delivery WHERE span < other OR span = whole
SELECT count(*), sum(d.id) FROM delivery d JOIN plan p USING (part) WHERE d.shipped - d.ordered < p.due AND d.span > p.due
SELECT count(*), sum(id) FROM delivery WHERE wide < shipped - ordered AND id NOT IN (7, 8)
$list$);
-- What PostgreSQL alone knows: intervals that microseconds have no room for, sums out of range, distinct ones.
SELECT * FROM compare_all($list$
SELECT sum(wide) FROM delivery
SELECT sum(wide) FILTER (WHERE id IN (1, 2, 7)), avg(wide) FROM delivery WHERE id <> 8
SELECT sum(wide * 10) FROM delivery
SELECT count(*), sum(id) FROM delivery WHERE wide > shipped - ordered
SELECT sum(DISTINCT span), sum(DISTINCT other) FROM delivery
SELECT min(other), max(other) FROM delivery
SELECT max(CASE WHEN part > 3 THEN interval '1 mon' ELSE '30 days' END) FROM delivery
SELECT CASE WHEN part > 3 THEN interval '1 mon' ELSE '30 days' END, count(*) FROM delivery GROUP BY 1
SELECT other, count(*) FROM delivery GROUP BY 1
$list$);

-- Moments that are moved by intervals: by months and days of the session's zone.
SELECT * FROM compare_all($list$
SELECT count(*), sum(id) FROM delivery WHERE shipped > ordered + interval '3 days' AND shipped < ordered + interval '1 mon -2 hours'
SELECT count(*), sum(id) FROM delivery WHERE shipped <= ordered + span
SELECT date_trunc('week', ordered + span)::date, count(*), count(*) FILTER (WHERE shipped <= ordered + other), max(shipped - span), min(day - other) FROM delivery GROUP BY 1
SELECT count(*), sum(id), min(started - interval '7 days'), max(started + interval '1 mon 1 day 01:30'), min(started - interval '1 mon -1 day 24:00') FROM delivery
SELECT started + interval '1 day', count(*) FROM delivery GROUP BY 1
SELECT started + interval '7 mons', started - interval '24 hours', count(*) FROM delivery GROUP BY 1, 2
SELECT count(*), sum(id) FROM delivery WHERE started - interval '7 days' > timestamptz '2024-03-24 02:30+01' AND started + interval '1 day' > shipped AT TIME ZONE 'UTC'
SELECT started + span, started - other, count(*) FROM delivery GROUP BY 1, 2
SELECT started + (shipped - ordered), until - (shipped - ordered), count(*) FROM delivery GROUP BY 1, 2
SELECT min(until + interval '1 mon 1 day 1 hour'), max(until - interval '1 day'), count(until + span) FROM delivery
SELECT until + interval '1 day', until - span, count(*) FROM delivery GROUP BY 1, 2
SELECT date_trunc('month', until - interval '1 mon'), (until + interval '2 days')::date, count(*) FROM delivery GROUP BY 1, 2
SELECT max(until - started) FROM delivery WHERE until < 'infinity' AND until > '-infinity'
SELECT count(started + wide) FROM delivery WHERE id NOT IN (7, 8)
SELECT count(started + wide) FROM delivery
SELECT count(*), sum(d.id) FROM delivery d JOIN plan p USING (part) WHERE d.ordered > p.since + p.due AND d.started < p.since + interval '1 mon'
$list$, 'compare_in_zones');
-- Ages: in years, months and days of the calendar.
CREATE TABLE person (id int4, born date, noted timestamp, seen timestamptz) WITH (autovacuum_enabled = off);
INSERT INTO person SELECT i, date '1896-01-01' + i * 13, timestamp '2023-12-28 20:00' + i % 4000 * interval '3 hours 7 minutes', timestamptz '2024-03-10 03:00+00' + i % 3500 * interval '97 minutes' FROM generate_series(1, 6000) AS i;
INSERT INTO person VALUES (0, NULL, '2024-01-01', NULL), (-1, '4001-02-29 BC', '0001-01-01', '0001-03-01 BC'), (-2, '0001-12-31 BC', '4000-01-01', '0001-01-01');
CREATE INDEX person_i ON person USING gpu_column (id, born, noted, seen);
VACUUM ANALYZE person;
SELECT * FROM compare_all($list$
SELECT extract(year FROM age(timestamp '2024-11-01', born)), count(*) FROM person GROUP BY 1
SELECT floor(extract(year FROM age(noted, born)) / 10) * 10, count(*), sum(id), min(extract(month FROM age(noted, born))), sum(extract(day FROM age(noted, born))) FROM person GROUP BY 1
SELECT sum(age(noted, born)), avg(age(noted, seen::timestamp)), sum(age(born, noted)), sum(age(seen)) FROM person
SELECT extract(month FROM age(noted, seen AT TIME ZONE 'UTC')), extract(day FROM age(noted, seen AT TIME ZONE 'UTC')), sum(age(seen AT TIME ZONE 'UTC', noted)), count(*) FROM person GROUP BY 1, 2
SELECT extract(day FROM age(seen, noted)), extract(hour FROM age(seen, noted)), sum(extract(epoch FROM age(noted, seen))), count(*) FROM person GROUP BY 1, 2
SELECT a.id % 9, sum(age(a.seen, b.seen)), sum(extract(day FROM age(b.seen, a.seen))), count(*) FROM person a JOIN person b ON a.id = b.id * 7 GROUP BY 1
SELECT count(*), sum(id) FROM person WHERE age(noted, born) > interval '60 years 3 mons' OR age(born) < interval '53 years'
SELECT date_part('year', age(born)), date_part('month', age(seen, born)), date_part('epoch', age(seen, born)), count(*) FROM person GROUP BY 1, 2, 3
SELECT age(noted, born), count(*) FROM person GROUP BY 1
SELECT max(age(noted, born)), min(age(noted, born)), min(age(noted, seen AT TIME ZONE 'UTC')), max(age(born, noted)) FILTER (WHERE id > 10) FROM person
SELECT id % 9, min(age(noted, born)), max(age(seen)), age(noted, seen::timestamp) < interval '1 mon' FROM person GROUP BY 1, 4
SELECT age(noted, born), id FROM person ORDER BY age(noted, born), id LIMIT 20
SELECT age(noted, born) AS years, count(*) FROM person GROUP BY 1 HAVING age(noted, born) > interval '100 years'
SELECT max(years), avg(years) FROM (SELECT age(noted, born) AS years FROM person GROUP BY 1) AS s
$list$, 'compare_in_zones');
SELECT * FROM compare_all($list$
SELECT sum(age(d.started, e.started)), sum(extract(day FROM age(e.started, d.started))), sum(extract(hour FROM age(e.started, d.started))), sum(extract(month FROM age(e.started, d.started))), count(*) FROM delivery d JOIN delivery e ON d.id = e.id + 31 OR d.id = e.id + 1 WHERE d.id > 7 AND e.id > 7
SELECT d.id % 100, sum(age(d.started, e.started)), sum(age(e.started, d.started)) FROM delivery d JOIN delivery e ON d.id = e.id + 29 GROUP BY 1
SELECT d.id % 100, sum(age(d.started, e.started)), sum(age(e.started, d.started)) FROM delivery d JOIN delivery e ON d.id = e.id + 23 GROUP BY 1
$list$, 'compare_in_zones');
SET timezone = 'Europe/Berlin';
PREPARE moved(interval) AS SELECT sum(id) - (SELECT sum(id) FROM (SELECT started, shipped, id FROM delivery OFFSET 0) AS d WHERE started + $1 > shipped) AS more, count(*) > 0 AS any FROM delivery WHERE started + $1 > shipped;
SET plan_cache_mode = force_generic_plan;
EXECUTE moved('1 mon 3 days 04:00');
EXECUTE moved('-1 hour');
EXECUTE moved(NULL);
DEALLOCATE moved;
RESET plan_cache_mode;
-- Above and below other nodes: of groups, unions, partitions whose columns have other places, rows that are given, in windows and subqueries.
CREATE TABLE visit (id int4, started timestamptz, local timestamp, span interval, day date) WITH (autovacuum_enabled = off);
INSERT INTO visit SELECT i, timestamptz '2024-01-01' + i * interval '3 hours', timestamp '2024-01-02' + i * interval '3 hours', i % 50 * interval '1 day 1 hour', date '2024-01-01' + i % 99 FROM generate_series(1, 4000) AS i;
CREATE INDEX visit_i ON visit USING gpu_column (id, started, local, span, day);
CREATE TABLE piece (id int4, started timestamptz, span interval, d date) PARTITION BY RANGE (id);
CREATE TABLE piece_1 PARTITION OF piece FOR VALUES FROM (0) TO (2000);
CREATE TABLE piece_2 (span interval, d date, id int4, started timestamptz);
ALTER TABLE piece ATTACH PARTITION piece_2 FOR VALUES FROM (2000) TO (9000);
INSERT INTO piece SELECT id, started, span, day FROM visit;
CREATE INDEX ON piece USING gpu_column (id, started, span, d);
VACUUM ANALYZE visit; VACUUM ANALYZE piece;
INSERT INTO visit SELECT i, timestamptz '2024-01-01', timestamp '2024-01-02', interval '1 mon', '2024-01-01' FROM generate_series(1, 4) AS i;
SELECT * FROM compare_all($list$
SELECT id % 10, max(started) FROM visit GROUP BY 1 HAVING max(started) > date '2025-05-10'
SELECT id % 10, max(started) FROM visit GROUP BY 1 HAVING max(local) > min(started) AND max(started) > timestamp '2025-05-10 03:00'
SELECT count(*), sum(id) FROM visit WHERE local >= (SELECT max(started) - interval '30 days' FROM visit)
SELECT day, sum(span), sum(id) FROM visit WHERE started > (SELECT avg(extract(day FROM span)) FROM visit) * interval '1 day' + timestamptz '2024-01-01' GROUP BY 1
SELECT sum(span), avg(span), max(span), count(*) FILTER (WHERE started > d) FROM piece
SELECT d, sum(span), max(started + span) FROM piece WHERE started >= date '2024-03-03' GROUP BY 1
SELECT sum(p.span), sum(e.span) FROM piece p JOIN visit e ON p.id = e.id AND p.started > e.local
SELECT k, sum(s), count(*) FROM (SELECT id % 10 AS k, sum(span) AS s FROM visit GROUP BY id) AS g GROUP BY k
SELECT k, sum(s) FROM (SELECT id % 10 AS k, span AS s FROM visit UNION ALL SELECT id % 7, span + interval '1 mon' FROM piece) AS g GROUP BY k
SELECT sum(a.span + v.i) FROM visit a JOIN (VALUES (1, interval '1 mon'), (2, '2 days'), (3, NULL)) AS v (n, i) ON a.id % 5 = v.n
SELECT id, span + (local - day) FROM visit ORDER BY span + (local - day) DESC, id LIMIT 10
SELECT e.id, age(e.local, p.started::timestamp) FROM visit e JOIN piece p ON e.id = p.id WHERE e.id % 3 = 0
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY span), mode() WITHIN GROUP (ORDER BY span) FROM visit
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY age(local, day)) FROM visit
SELECT day, sum(span) FROM visit GROUP BY ROLLUP (1)
SELECT id % 3, sum(age(local, day)) FROM visit GROUP BY 1 ORDER BY 2 DESC LIMIT 2
SELECT id % 3, max(age(local, day)) FROM visit GROUP BY 1 ORDER BY 2 DESC LIMIT 2
SELECT age(local, day), count(*) FROM visit GROUP BY 1 ORDER BY 1 DESC LIMIT 3
SELECT sum(span) OVER (PARTITION BY id % 3), id FROM visit
SELECT count(DISTINCT age(local, day)), count(DISTINCT span) FROM visit
SELECT max(greatest(span, local - day)), sum(least(span, interval '1 day')) FROM visit
$list$);
RESET timezone;
DROP TABLE delivery, plan, person, visit, piece;
DROP FUNCTION compare_in_zones, compare, compare_all, who_answers, answer_of;
