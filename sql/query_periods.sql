-- What comes again and again in columns of times that have no codes, months and hours and what to_char shows of them, and what is computed
-- of such results. Each statement is run with the node and without it, and the answers are held against each other.
SET pg_gpu.path = host;
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT setseed(0.25);

CREATE TABLE moments (id int4, at timestamp, zoned timestamptz, until timestamptz, lately timestamptz, seconds int8, small int4, f8 float8, price numeric(8,2)) WITH (autovacuum_enabled = off);
-- A row each seven hours of five years, and one each minute for some hours around the jumps of clocks in some zones.
INSERT INTO moments (id, zoned)
SELECT row_number() OVER (), t + random() * interval '1 second' FROM (
    SELECT generate_series(timestamptz '2008-01-01', '2012-12-31', '421 minutes') AS t
    UNION ALL SELECT generate_series(jump - interval '3 hours', jump + interval '3 hours', '1 minute')
    FROM (VALUES (timestamptz '2009-11-01 02:31'), ('2010-03-28 01:00'), ('2010-10-31 01:00'), ('2011-12-30 10:00'), ('2011-10-16 03:00'), ('2011-02-20 02:00')) AS j (jump)) AS s;
UPDATE moments SET at = zoned AT TIME ZONE 'UTC' + random() * interval '3 hours', seconds = extract(epoch FROM zoned)::int8 * 1000 + id % 1000, small = extract(epoch FROM zoned)::int4,
    until = CASE id % 100 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity' ELSE zoned + random() * interval '1 year' END,
    lately = timestamptz '2010-03-24' + random() * interval '8 days', f8 = random() * 2000 - 1000, price = id % 977 / 100.0;
INSERT INTO moments (id) SELECT 0 FROM generate_series(1, 30);
VACUUM moments;
CREATE INDEX moments_i ON moments USING gpu_column (id, at, zoned, until, lately, seconds, small, f8, price);
VACUUM ANALYZE moments;
SELECT column_name, encoding FROM gpu.columns('moments_i');

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all
CREATE FUNCTION by_periods(query text) RETURNS text LANGUAGE sql AS $$ SELECT who || ', ' || same FROM compare(query) $$;

-- Fields, in zones whose clocks jump, by less than an hour, by a day, and at midnight.
SELECT field, by_periods(format('SELECT extract(%s FROM at), date_part(%L, at), count(*), sum(id) FROM moments GROUP BY 1, 2', field, field)) AS plain,
       by_periods(format('SELECT extract(%s FROM until), count(*), sum(id) FROM moments GROUP BY 1', field)) AS with_infinite
FROM unnest(ARRAY['minute', 'hour', 'day', 'dow', 'isodow', 'doy', 'week', 'month', 'quarter', 'isoyear', 'Year', 'decade']) AS field;
SELECT zone, set_config('timezone', zone, false) IS NOT NULL AS is_set,
       by_periods('SELECT extract(month FROM zoned), count(*), sum(id) FROM moments GROUP BY 1') AS months,
       by_periods('SELECT extract(dow FROM zoned), extract(hour FROM zoned), count(*), sum(id) FROM moments GROUP BY 1, 2') AS hours,
       by_periods('SELECT extract(minute FROM lately), date_part(''doy'', zoned), count(*) FROM moments GROUP BY 1, 2') AS minutes,
       by_periods('SELECT to_char(lately, ''YYYY-MM-DD HH24:MI''), to_char(zoned, ''YYYY-MM-DD HH24''), count(*), sum(id) FROM moments GROUP BY 1, 2') AS shown,
       by_periods('SELECT date_trunc(''week'', zoned + interval ''1 day'') + interval ''-1 day'', extract(dow FROM zoned - interval ''36 hours''), count(*) FROM moments GROUP BY 1, 2') AS from_sunday,
       by_periods('SELECT extract(week FROM zoned), extract(day FROM until), count(*) FROM moments GROUP BY 1, 2') AS weeks
FROM unnest(ARRAY['UTC', 'Europe/Berlin', 'America/St_Johns', 'America/Sao_Paulo', 'Pacific/Apia', 'Asia/Kathmandu', 'Australia/Lord_Howe', 'America/Havana']) AS zone;
SET timezone = 'America/New_York';
SELECT by_periods('SELECT extract(hour FROM zoned AT TIME ZONE ''Europe/Berlin''), count(*) FROM moments GROUP BY 1'), by_periods('SELECT to_char(zoned AT TIME ZONE ''Pacific/Apia'', ''Dy DD''), count(*) FROM moments GROUP BY 1'),
       by_periods('SELECT extract(dow FROM zoned AT TIME ZONE ''Asia/Kathmandu'') + 1, count(*) FROM moments GROUP BY 1');
SET timezone = 'Europe/Berlin';

-- What is shown.
SELECT format, by_periods(format('SELECT to_char(at, %L), count(*), sum(id) FROM moments GROUP BY 1', format)) AS plain, by_periods(format('SELECT to_char(until, %L), count(*) FROM moments GROUP BY 1', format)) AS zoned
FROM unnest(ARRAY['YYYY-MM', 'Mon YYYY', 'FMMonth', 'Dy', 'Day DDth', '"Q"Q YYYY', 'IYYY-IW', 'YYYY"-"MM"-"DD', 'HH24', 'HH12 AM', 'hh12 p.m.', 'HH24:MI', 'J', 'TMMon', 'YY', '']) AS format;

-- Several of these together, and computed with.
SELECT expression, by_periods(format('SELECT %s, count(*), sum(id) FROM moments GROUP BY 1', expression)) FROM unnest(ARRAY[
    'extract(year FROM zoned) * 100 + extract(month FROM zoned)', 'extract(year FROM at)::int * 100 + extract(month FROM at)::int', 'extract(year FROM zoned)::text || ''-Q'' || extract(quarter FROM zoned)::text',
    'to_char(zoned, ''YYYY'') || ''/'' || to_char(zoned, ''WW'')', 'extract(isoyear FROM at) * 100 + extract(week FROM at)', 'extract(week FROM at) + extract(month FROM at)', 'CAST(extract(dow FROM zoned) AS integer) + 1',
    'extract(month FROM zoned)::int', 'extract(hour FROM at)::int / 6', 'extract(hour FROM at)::int % 12', 'CASE WHEN extract(hour FROM zoned) < 12 THEN ''morning'' WHEN extract(hour FROM zoned) < 18 THEN ''afternoon'' ELSE ''evening'' END',
    'extract(dow FROM zoned) IN (0, 6)', 'extract(dow FROM zoned) NOT IN (0, NULL)', 'CAST(extract(dow FROM zoned) + 1 AS integer)', 'ceil(extract(doy FROM date_trunc(''week'', at))::int / 7.0)::int', 'zoned::date - extract(dow FROM zoned)::int', 'date_trunc(''week'', at + interval ''1 day'') - interval ''1 day''', 'date_trunc(''day'', zoned - interval ''5 hours'')', 'date_trunc(''day'', at + interval ''1 month'')', 'extract(dow FROM at + interval ''2 days 1 us'')', 'date_trunc(''month'', at) + interval ''1 month''', 'date_trunc(''month'', at)::date - 1',
    'date_trunc(''hour'', lately) + floor(extract(minute FROM lately) / 15) * interval ''15 min''', 'date_trunc(''hour'', lately) + date_part(''minute'', lately)::int / 20 * interval ''20 min''',
    'date_trunc(''hour'', lately) + floor(date_part(''minute'', lately) / 30) * interval ''30 min''', 'extract(quarter FROM zoned) = 1 OR extract(month FROM zoned) = 12', 'coalesce(extract(month FROM at), 0)']) AS expression;
-- Bins of seconds.
SELECT expression, by_periods(format('SELECT %s, count(*), sum(id) FROM moments GROUP BY 1', expression)) FROM unnest(ARRAY[
    'floor(extract(epoch FROM zoned) / 3600) * 3600', 'floor(extract(epoch FROM at) / 86400)', 'to_timestamp(floor(extract(epoch FROM zoned) / 21600) * 21600)', 'round(extract(epoch FROM at) / 604800, 1)',
    'ceil(extract(epoch FROM zoned) / 31536000)', 'trunc(extract(epoch FROM zoned) / 86400) * 86400', '(extract(epoch FROM zoned) / 86400)::int8', 'floor(date_part(''epoch'', zoned) / 86400) * 86400',
    'timestamptz ''epoch'' + floor(extract(epoch FROM zoned) / 86400) * interval ''86400 s''', 'floor(extract(epoch FROM zoned) / -86400)', 'floor((small / 86400)::float8) * 86400', 'small / 86400 * 86400',
    'to_timestamp(seconds / 86400000 * 86400)', 'floor(seconds::numeric / 86400000)', '(seconds / 86400000)::int', 'floor(seconds / 1e12)']) AS expression;
-- In conditions and arguments.
SELECT by_periods('SELECT count(*), sum(price) FROM moments WHERE extract(month FROM zoned) = 5 AND extract(hour FROM zoned) BETWEEN 9 AND 17'),
       by_periods('SELECT sum(CASE WHEN extract(dow FROM zoned) IN (0, 6) THEN price ELSE 0 END), sum(price) FILTER (WHERE to_char(zoned, ''MM'') = ''07'') FROM moments'),
       by_periods('SELECT sum(extract(hour FROM zoned)::int), max(extract(month FROM at)::int), count(DISTINCT extract(doy FROM at)), count(DISTINCT to_char(zoned, ''DY'')) FROM moments'),
       by_periods('SELECT date_trunc(''month'', zoned), extract(dow FROM zoned), sum(price) FROM moments GROUP BY ROLLUP (1, 2)'),
       by_periods('SELECT id % 7, count(*) FROM moments WHERE (extract(hour FROM at) > 20) IS NOT TRUE GROUP BY 1');
-- Again, with what was kept, and in another zone.
SELECT by_periods('SELECT extract(hour FROM zoned), count(*), sum(id) FROM moments GROUP BY 1'), set_config('timezone', 'Asia/Kathmandu', false), by_periods('SELECT extract(hour FROM zoned), count(*), sum(id) FROM moments GROUP BY 1');
RESET timezone;
SET timezone = 'UTC';
PREPARE in_hour(numeric) AS SELECT count(*) > 0 AS any, count(*) - (SELECT count(*) FROM moments WHERE zoned - date_trunc('day', zoned) >= $1 * interval '1 hour' AND zoned - date_trunc('day', zoned) < ($1 + 1) * interval '1 hour') AS more
FROM moments WHERE extract(hour FROM zoned) = $1;
EXECUTE in_hour(7);
DEALLOCATE in_hour;

-- Rows that aren't in a run of columns, dictionaries beside ranges, and rows that nobody sees.
INSERT INTO moments (id, at, zoned) SELECT i, timestamp '2013-01-01' + i % 5 * interval '1 day 3 hours', timestamptz '2013-01-01' + i % 5 * interval '1 month' FROM generate_series(1, 20) AS i;
SELECT by_periods('SELECT extract(month FROM zoned), extract(hour FROM at), count(*), sum(id) FROM moments GROUP BY 1, 2');
DELETE FROM moments WHERE id % 3 = 0;
INSERT INTO moments (id, at) SELECT i, timestamp '2014-01-01' + i % 4 * interval '1 day 1 hour' FROM generate_series(1, 30000) AS i;
SELECT by_periods('SELECT to_char(at, ''YYYY-MM''), extract(hour FROM at)::int, count(*), sum(id) FROM moments GROUP BY 1, 2');

-- What may fail for infinite times, or for numbers that are too great, is found out when it is asked.
SELECT expression, by_periods(format('SELECT %s, count(*) FROM moments WHERE until < ''3000-01-01'' AND until > ''2000-01-01'' GROUP BY 1', expression)) FROM unnest(ARRAY[
    'extract(year FROM until)::int', 'extract(year FROM until)::text', 'extract(month FROM until)::int', 'to_timestamp(floor(extract(epoch FROM until) / 86400) * 86400)',
    'floor(extract(epoch FROM until) / 86400)', 'floor(extract(epoch FROM until) / 86400) * interval ''1 day''', '(seconds / 1000)::int', '(seconds / 10)::int', 'to_timestamp(seconds / 1000000 * 1000000)']) AS expression;
SELECT by_periods('SELECT extract(year FROM until)::int, count(*) FROM moments GROUP BY 1'), by_periods('SELECT (seconds / 10)::int, count(*) FROM moments GROUP BY 1'),
       by_periods('SELECT to_timestamp(seconds * 1000000 / 1000), count(*) FROM moments GROUP BY 1');
-- Values for which an expression would fail belong to rows that nobody sees.
DELETE FROM moments WHERE NOT isfinite(until);
SELECT by_periods('SELECT extract(year FROM until)::int, count(*) FROM moments GROUP BY 1'), by_periods('SELECT extract(month FROM until)::int, count(*) FROM moments GROUP BY 1');

-- What isn't computed by ranges.
SELECT expression, split_part(reason, ':', 1) AS reason FROM unnest(ARRAY['extract(second FROM at)', 'extract(timezone FROM zoned)', 'to_char(at, ''SS'')', 'to_char(at, ''US'')', 'to_char(zoned, ''HH TZ'')', 'to_char(zoned, ''YYYY OF'')',
    'to_char(at, at::date::text)', 'at::time', 'extract(nonsense FROM at)', 'extract(month FROM at) / extract(hour FROM at)', 'extract(month FROM at) / 0', 'extract(month FROM at) + extract(month FROM zoned)',
    'extract(year FROM zoned) + extract(month FROM zoned AT TIME ZONE ''Asia/Tokyo'')', 'extract(hour FROM date_bin(''7 hours'', at, ''2000-01-01'')) + extract(month FROM at)', 'extract(epoch FROM at) / 300',
    'floor(f8 / 10)', 'floor(f8)::int', 'extract(hour FROM at::date)', 'date_part(''month'', at) / 1e300', 'to_char(extract(month FROM at), ''99'')']) AS expression,
    LATERAL gpu.explain_why(format('SELECT %s, count(*) FROM moments GROUP BY 1', expression)) WHERE node = 'GpuQuery' AND NOT used AND cost IS NULL ORDER BY 1;
-- Who may not call the function that periods are found by isn't shown a plan that does.
CREATE ROLE regress_no_periods;
GRANT SELECT ON moments TO regress_no_periods;
BEGIN;
REVOKE EXECUTE ON FUNCTION date_trunc(text, timestamp) FROM PUBLIC;
SET LOCAL ROLE regress_no_periods;
SELECT by_periods('SELECT extract(month FROM at), count(*) FROM moments GROUP BY 1'), by_periods('SELECT extract(month FROM zoned), count(*) FROM moments GROUP BY 1');
ROLLBACK;
DROP TABLE moments;
DROP ROLE regress_no_periods;
DROP FUNCTION by_periods, compare, compare_all, who_answers, answer_of;
