-- Expressions over columns whose values hardly repeat, so that they have no codes: those whose results change at a few places only
-- are computed by ranges of values. Each statement is run with the node and without it, and the answers are held against each other.
SET pg_gpu.path = host;
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;
SET timezone = 'UTC';
SET synchronous_commit = on;
SET datestyle = 'ISO';
SELECT setseed(0.5);

CREATE TABLE ranged (id int4, at timestamp, zoned timestamptz, far timestamp, until timestamp, big int8, f4 float4, f8 float8, plain float8) WITH (autovacuum_enabled = off);
-- A row each three hours from 2009 to 2012, and one each twenty seconds for some hours around the jumps of clocks in some zones.
INSERT INTO ranged (id, zoned)
SELECT row_number() OVER (), t + random() * interval '1 second' FROM (
    SELECT generate_series(timestamptz '2009-01-01', '2012-12-31', '173 minutes') AS t
    UNION ALL SELECT generate_series(jump - interval '2 hours', jump + interval '2 hours', '20 seconds')
    FROM (VALUES (timestamptz '2009-11-01 02:31'), ('2010-03-28 01:00'), ('2010-10-31 01:00'), ('2011-12-30 10:00'), ('2011-10-16 03:00'), ('2011-02-20 02:00')) AS j (jump)) AS s;
UPDATE ranged SET at = zoned AT TIME ZONE 'UTC' + random() * interval '3 hours', far = timestamp '0002-01-01' + random() * interval '250000 years',
    until = CASE WHEN id % 100 = 0 THEN 'infinity' WHEN id % 100 = 1 THEN '-infinity' ELSE zoned AT TIME ZONE 'UTC' + random() * interval '1 year' END,
    big = (random() * 1e12)::int8 - 300000000000,
    f4 = CASE id % 200 WHEN 0 THEN 'Infinity' WHEN 1 THEN '-Infinity' WHEN 2 THEN 0 WHEN 3 THEN '-0' WHEN 4 THEN 1e-42 WHEN 5 THEN -1e-42 WHEN 6 THEN 'NaN' ELSE random() * 200 - 100 END,
    f8 = CASE id % 200 WHEN 0 THEN 'Infinity' WHEN 1 THEN '-Infinity' WHEN 2 THEN 0 WHEN 3 THEN '-0' WHEN 4 THEN 1e-320 WHEN 5 THEN -1e-320 WHEN 6 THEN 'NaN' ELSE random() * 200 - 100 END,
    plain = random() * 2000 - 1000;
INSERT INTO ranged (id) SELECT 0 FROM generate_series(1, 30);
VACUUM ranged;
CREATE INDEX ranged_i ON ranged USING gpu_column (id, at, zoned, far, until, big, f4, f8, plain);
VACUUM ANALYZE ranged;
SELECT column_name, encoding, bits > 16 AS is_wide FROM gpu.columns('ranged_i');

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all
CREATE FUNCTION by_ranges(query text) RETURNS text LANGUAGE sql AS $$ SELECT who || ', ' || same FROM compare(query) $$;

-- Timestamps.
SELECT unit, by_ranges(format('SELECT date_trunc(%L, at) AS g, count(*), min(id), sum(id) FROM ranged GROUP BY 1', unit))
FROM unnest(ARRAY['hour', 'Day', 'week', 'month', 'quarter', 'year', 'decade', 'century', 'millennium']) AS unit;
SELECT unit, by_ranges(format('SELECT date_trunc(%L, far) AS g, count(*) FROM ranged GROUP BY 1', unit))
FROM unnest(ARRAY['century', 'millennium']) AS unit;
SELECT field, by_ranges(format('SELECT extract(%s FROM at) AS g, date_part(%L, at), count(*) FROM ranged GROUP BY 1, 2', field, field)),
       by_ranges(format('SELECT extract(%s FROM until) AS g, count(*) FROM ranged GROUP BY 1', field))
FROM unnest(ARRAY['year', 'isoyear', 'decade', 'century', 'millennium']) AS field;
SELECT by_ranges('SELECT extract(century FROM far), count(*) FROM ranged GROUP BY 1');
SELECT by_ranges('SELECT at::date, count(*), max(id) FROM ranged GROUP BY 1');
SELECT by_ranges('SELECT until::date, date_trunc(''month'', until), count(*) FROM ranged GROUP BY 1, 2');
SELECT by_ranges('SELECT date_trunc(''month'', at)::date, date_trunc(''year'', at::date), count(*) FROM ranged GROUP BY 1, 2');
SELECT by_ranges('SELECT date_bin(''6 hours'', at, timestamp ''2010-06-07 01:30''), count(*) FROM ranged GROUP BY 1');
SELECT by_ranges('SELECT date_bin(''2 days 1 microsecond'', zoned, timestamptz ''2012-06-07''), count(*) FROM ranged GROUP BY 1');
SELECT by_ranges('SELECT date_trunc(''day'', at::timestamp(0)), count(*) FROM ranged GROUP BY 1');
-- Local time: clocks jump, and days are left out, or begin twice.
SELECT zone, set_config('timezone', zone, false) IS NOT NULL AS is_set,
       by_ranges('SELECT date_trunc(''hour'', zoned), count(*) FROM ranged GROUP BY 1') AS hours,
       by_ranges('SELECT date_trunc(''day'', zoned), count(*), min(id), max(id) FROM ranged GROUP BY 1') AS days,
       by_ranges('SELECT zoned::date, count(*), sum(id) FROM ranged GROUP BY 1') AS dates,
       by_ranges('SELECT date_trunc(''week'', zoned), extract(year FROM zoned), count(*) FROM ranged GROUP BY 1, 2') AS weeks,
       by_ranges('SELECT date_trunc(''day'', zoned::timestamp), count(*) FROM ranged GROUP BY 1') AS local_days,
       by_ranges('SELECT date_trunc(''month'', zoned)::date, count(*) FROM ranged GROUP BY 1') AS months
FROM unnest(ARRAY['UTC', 'Europe/Berlin', 'America/St_Johns', 'America/Sao_Paulo', 'Pacific/Apia', 'Asia/Kathmandu', '+05:45', 'Pacific/Honolulu']) AS zone;
SET timezone = 'America/New_York';
SELECT zone, by_ranges(format('SELECT date_trunc(''day'', zoned, %L), count(*) FROM ranged GROUP BY 1', zone)),
       by_ranges(format('SELECT (zoned AT TIME ZONE %L)::date, count(*) FROM ranged GROUP BY 1', zone))
FROM unnest(ARRAY['UTC', 'Europe/Berlin', 'america/st_johns', 'Pacific/Apia', '-03']) AS zone;
SET timezone = 'UTC';
-- A zone that only PostgreSQL's table of abbreviations knows.
SELECT by_ranges('SELECT (zoned AT TIME ZONE ''MSK'')::date, count(*) FROM ranged GROUP BY 1');

-- Numbers. Zeros of both signs are equal, and a group may show that of any of its rows.
SELECT by_ranges('SELECT abs(g), n FROM (SELECT floor(f8) AS g, count(*) AS n FROM ranged GROUP BY 1) AS s');
SELECT by_ranges('SELECT abs(g), n, m FROM (SELECT ceil(f8) AS g, count(*) AS n, min(id) AS m FROM ranged GROUP BY 1) AS s');
SELECT by_ranges('SELECT abs(r), abs(t), n FROM (SELECT round(f8) AS r, trunc(f8) AS t, count(*) AS n FROM ranged GROUP BY 1, 2) AS g');
SELECT by_ranges('SELECT abs(g), abs(h), n FROM (SELECT floor(f4) AS g, ceiling(f4) AS h, count(*) AS n FROM ranged GROUP BY 1, 2) AS s');
SELECT by_ranges('SELECT width_bucket(plain, -500, 700, 37), count(*), min(plain), max(plain) FROM ranged GROUP BY 1');
SELECT by_ranges('SELECT width_bucket(plain, 700, -500, 5), width_bucket(floor(plain), 0, 1, 1), count(*) FROM ranged GROUP BY 1, 2');
SELECT by_ranges('SELECT width_bucket(big, 0, 600000000000, 100), sum(id) FROM ranged GROUP BY 1');
SELECT by_ranges('SELECT width_bucket(big::numeric, -1e11, 6e11, 12), count(*) FROM ranged GROUP BY 1');
SELECT by_ranges('SELECT width_bucket(extract(epoch FROM at), 1230768000, 1356998400, 48), count(*) FROM ranged GROUP BY 1');
SELECT by_ranges('SELECT big / 100000000000, big % 7, count(*) FROM ranged GROUP BY 1, 2');

-- What depends on a ranged expression alone, in conditions and arguments.
SELECT by_ranges('SELECT to_char(date_trunc(''month'', at), ''Mon YYYY''), count(*) FROM ranged GROUP BY 1');
SELECT by_ranges('SELECT date_trunc(''day'', date_bin(''1 hour'', zoned, ''2010-01-01'')), 100 / (1 + width_bucket(plain, 0, 1, 1)), count(*) FROM ranged GROUP BY 1, 2');
SELECT by_ranges('SELECT extract(dow FROM at::date), count(*) FROM ranged GROUP BY 1');
SELECT by_ranges('SELECT CASE WHEN extract(year FROM at) < 2011 THEN ''old'' WHEN extract(year FROM at) IS NULL THEN ''none'' ELSE ''new'' END, count(*) FROM ranged GROUP BY 1');
SELECT by_ranges('SELECT coalesce(extract(year FROM at), 0), count(*) FROM ranged GROUP BY 1');
SELECT by_ranges('SELECT count(*), sum(id) FROM ranged WHERE at::date = ''2010-05-05''');
SELECT by_ranges('SELECT count(*) FROM ranged WHERE extract(year FROM zoned) = 2010 AND date_trunc(''day'', at) <> ''2010-05-05''');
SELECT by_ranges('SELECT count(*) FROM ranged WHERE (date_trunc(''month'', at) = ''2010-05-01'') IS NOT TRUE');
SELECT by_ranges('SELECT count(*) FILTER (WHERE extract(year FROM at) = 2010), min(at::date), max(date_trunc(''day'', at)), count(floor(f8)), count(DISTINCT at::date) FROM ranged');
PREPARE by_day(date) AS SELECT count(*) > 0 AS any, count(*) - (SELECT count(*) FROM ranged WHERE at >= $1 AND at < $1 + 1) AS more FROM ranged WHERE at::date = $1;
EXECUTE by_day('2010-05-05');
DEALLOCATE by_day;

-- Rows that aren't in a run of columns, dictionaries beside ranges, and rows that nobody sees.
INSERT INTO ranged (id, at, zoned, f8) SELECT i, timestamp '2013-01-01' + i % 5 * interval '1 day', timestamptz '2013-01-01' + i % 5 * interval '1 day', i % 3 - 1.5 FROM generate_series(1, 20) AS i;
SELECT by_ranges('SELECT date_trunc(''day'', at), count(*), sum(id) FROM ranged GROUP BY 1');
DELETE FROM ranged WHERE id % 3 = 0;
SELECT by_ranges('SELECT zoned::date, floor(f4), count(*), sum(id) FROM ranged WHERE f4 > 0 GROUP BY 1, 2');
INSERT INTO ranged (id, at) SELECT i, timestamp '2014-01-01' + i % 4 * interval '1 day' FROM generate_series(1, 30000) AS i;
SELECT count(*) > 0 AS merged FROM gpu.runs('ranged_i');
SELECT by_ranges('SELECT at::date, extract(year FROM at), count(*), sum(id) FROM ranged GROUP BY 1, 2');

-- What isn't computed by ranges: functions that fail, that aren't known, or whose results change from value to value.
SELECT query, split_part(reason, ':', 1) AS reason FROM unnest(ARRAY['extract(second FROM at)', 'extract(epoch FROM at)', 'at::timestamptz', 'big::float8', 'floor(plain / 10)', 'date_trunc(''nonsense'', at)',
    'date_bin(''1 month'', at, timestamp ''2010-01-01'')', 'date_bin(''1 day'', at, timestamp ''infinity'')', 'width_bucket(plain, 1, 1, 5)', 'width_bucket(plain, 1, ''NaN'', 5)',
    'width_bucket(plain, 1, 2, 0)', 'date_trunc(''day'', at)::text || at::text', 'at::date - (big / 5)::int4', 'CASE WHEN at IS NULL THEN at::text END']) AS query,
    LATERAL gpu.explain_why(format('SELECT %s, count(*) FROM ranged GROUP BY 1', query)) WHERE node = 'GpuQuery' AND NOT used AND cost IS NULL ORDER BY 1;
SELECT reason FROM gpu.explain_why('SELECT sum(extract(year FROM at)) FROM ranged') WHERE node = 'GpuQuery';
-- Moments that numbers tell: local time goes back at other numbers than the column's own.
CREATE TABLE ranged_seconds (seconds int4, milliseconds int8, recent int8, fraction float8) WITH (autovacuum_enabled = off);
INSERT INTO ranged_seconds SELECT floor(extract(epoch FROM zoned)), floor(extract(epoch FROM zoned) * 1000), floor(extract(epoch FROM zoned) * 1000), extract(epoch FROM zoned) FROM ranged;
INSERT INTO ranged_seconds SELECT s, s * 1000 - 1, 1230768000000 + s * 100, 1230768000.25 + s / 10 FROM generate_series(-30000000::int8, 1200000000, 17003) AS s;
CREATE INDEX ranged_seconds_i ON ranged_seconds USING gpu_column (seconds, milliseconds, recent, fraction);
VACUUM ANALYZE ranged_seconds;
SELECT column_name, encoding, bits > 16 AS is_wide FROM gpu.columns('ranged_seconds_i');
SELECT zone, set_config('timezone', zone, false) IS NOT NULL AS is_set,
       by_ranges('SELECT date_trunc(''day'', to_timestamp(seconds)), count(*) FROM ranged_seconds GROUP BY 1') AS day,
       by_ranges('SELECT to_timestamp(milliseconds / 1000)::date, count(*) FROM ranged_seconds GROUP BY 1') AS date,
       by_ranges('SELECT date_trunc(''hour'', to_timestamp(recent / 1000.0)), count(*), min(seconds) FROM ranged_seconds GROUP BY 1') AS hour,
       by_ranges('SELECT extract(hour FROM to_timestamp(fraction)), extract(dow FROM to_timestamp(fraction)), count(*) FROM ranged_seconds GROUP BY 1, 2') AS parts,
       by_ranges('SELECT to_char(to_timestamp(recent / 1000::float8), ''YYYY-MM-DD HH24''), count(*), sum(seconds) FROM ranged_seconds GROUP BY 1') AS shown,
       by_ranges('SELECT date_trunc(''day'', to_timestamp(seconds) AT TIME ZONE ''Europe/Berlin''), date_trunc(''month'', to_timestamp(seconds), ''Pacific/Apia''), count(*) FROM ranged_seconds GROUP BY 1, 2') AS zones,
       by_ranges('SELECT count(*) FROM ranged_seconds WHERE to_timestamp(seconds)::date > ''2010-03-28'' OR milliseconds < 0') AS condition
FROM unnest(ARRAY['Europe/Berlin', 'America/St_Johns', 'Pacific/Apia']) AS zone;
SELECT by_ranges('SELECT date_trunc(''day'', to_timestamp(recent / -20000)), count(*) FROM ranged_seconds GROUP BY 1'), by_ranges('SELECT date_trunc(''day'', to_timestamp(recent / -1000.0)), count(*) FROM ranged_seconds GROUP BY 1'),
       by_ranges('SELECT date_trunc(''hour'', to_timestamp(round(extract(epoch FROM zoned) / 7000) * 7000)), count(*) FROM ranged GROUP BY 1');
-- Of integers so great that not all digits fit a float, and of floats between two microseconds.
SELECT by_ranges('SELECT to_timestamp(milliseconds / 10), count(*) FROM ranged_seconds GROUP BY 1'), by_ranges('SELECT to_timestamp(fraction / 3), count(*), min(to_timestamp(fraction * -1.1)) FROM ranged_seconds GROUP BY 1');
INSERT INTO ranged_seconds (milliseconds, fraction) VALUES (9e18, 'Infinity');
SELECT by_ranges('SELECT date_trunc(''day'', to_timestamp(milliseconds / 1000)), count(*) FROM ranged_seconds GROUP BY 1'), by_ranges('SELECT date_trunc(''day'', to_timestamp(fraction)), count(*) FROM ranged_seconds GROUP BY 1');
SET timezone = 'UTC';
DROP TABLE ranged_seconds;
SET enable_bitmapscan = off;
-- Of a few values that conditions leave only those have ranges: there are too many minutes in four years. What is kept of some isn't taken for others.
SELECT condition, by_ranges('SELECT date_trunc(''minute'', zoned), count(*), min(id), sum(id) FROM ranged WHERE ' || condition || ' GROUP BY 1') AS minutes,
       by_ranges('SELECT date_trunc(''second'', until), count(*), min(id) FROM ranged WHERE ' || replace(condition, 'zoned', 'until') || ' GROUP BY 1') AS seconds
FROM unnest(ARRAY['zoned >= ''2010-03-28'' AND zoned < ''2010-03-28 12:00''', 'zoned BETWEEN ''2010-03-28 00:00:30'' AND ''2010-03-28 03:00:30''', 'zoned >= ''2010-03-27'' AND zoned < ''2010-03-27 12:00''', 'zoned = ''2010-03-28 01:00''', 'zoned < ''2009-01-02''', 'zoned > ''2012-12-29 18:00'' AND id > 100',
       'zoned > ''2030-01-01'' AND zoned < ''infinity''', 'zoned < ''2000-01-01'' AND zoned > ''-infinity''', 'zoned > ''2010-03-28'' AND zoned < ''2010-03-27''', 'zoned IN (''2009-11-01 02:31'', ''2009-11-02'')', 'zoned IS NULL', 'zoned > ''2009-01-01''', 'zoned >= ''2010-03-28'' AND zoned < ''2010-03-29'' OR id = 3']) AS condition;
SELECT by_ranges('SELECT date_trunc(''month'', zoned), count(*) FROM ranged WHERE zoned >= ''2010-03-28'' AND zoned < ''2010-05-29'' GROUP BY 1'), by_ranges('SELECT date_trunc(''month'', zoned), count(*) FROM ranged GROUP BY 1'), by_ranges('SELECT date_trunc(''month'', zoned), count(*) FROM ranged WHERE zoned >= ''2011-03-28'' AND zoned < ''2011-05-29'' GROUP BY 1'),
       by_ranges('SELECT floor(f8), count(*) FROM ranged WHERE f8 > 3 AND f8 < 17 GROUP BY 1'), by_ranges('SELECT width_bucket(f8, 0, 1, 3), count(*) FROM ranged WHERE f8 > -5 AND f8 < 5 GROUP BY 1'), by_ranges('SELECT round(plain), count(*), count(*) FILTER (WHERE floor(plain) > 40) FROM ranged WHERE plain > 3 AND plain <= 70.5 GROUP BY 1');
BEGIN;
INSERT INTO ranged (id, zoned) SELECT i, timestamptz '2010-03-28' + i * interval '41 seconds' FROM generate_series(1, 1000) AS i;
SELECT by_ranges('SELECT date_trunc(''minute'', zoned), count(*) FROM ranged WHERE zoned >= ''2010-03-28'' AND zoned < ''2010-03-28 05:00'' GROUP BY 1'), by_ranges('SELECT date_trunc(''minute'', zoned), count(*) FROM ranged WHERE zoned >= ''2010-03-28 05:00'' AND zoned < ''2010-03-28 13:00'' GROUP BY 1');
ROLLBACK;
RESET enable_bitmapscan;
-- What is found out when it is asked: too many results, too little memory, NaN, times at the ends.
SELECT by_ranges('SELECT date_trunc(''milliseconds'', at), count(*) FROM ranged GROUP BY 1');
SELECT by_ranges('SELECT width_bucket(f8, 0, 1, 3), count(*) FROM ranged WHERE f8 <> ''NaN'' GROUP BY 1');
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
-- What is kept is beside that memory.
SELECT by_ranges('SELECT date_trunc(''hour'', zoned), count(*) FROM ranged GROUP BY 1');
SET pg_gpu.map_memory = 0;
SELECT by_ranges('SELECT date_trunc(''hour'', zoned), count(*) FROM ranged GROUP BY 1');
RESET work_mem;
RESET hash_mem_multiplier;
RESET pg_gpu.map_memory;
INSERT INTO ranged (id, far, until) VALUES (1, '0100-01-01 BC', '4000-01-01 BC');
SELECT by_ranges('SELECT date_trunc(''century'', far), count(*) FROM ranged GROUP BY 1');
SELECT by_ranges('SELECT date_trunc(''century'', until), count(*) FROM ranged GROUP BY 1');
-- Only infinite ones and NaN, in dictionaries. One value.
CREATE TABLE ranged_ends (t timestamp, f float8) WITH (autovacuum_enabled = off);
INSERT INTO ranged_ends SELECT CASE i % 2 WHEN 0 THEN 'infinity'::timestamp ELSE '-infinity' END, CASE i % 2 WHEN 0 THEN 'NaN'::float8 ELSE 'Infinity' END FROM generate_series(1, 500) AS i;
CREATE INDEX ranged_ends_i ON ranged_ends USING gpu_column (t, f);
VACUUM ANALYZE ranged_ends;
SELECT by_ranges('SELECT date_trunc(''day'', t), extract(year FROM t), floor(f), count(*) FROM ranged_ends GROUP BY 1, 2, 3');
SELECT by_ranges('SELECT t::date, extract(year FROM t), floor(f), count(*) FROM ranged_ends GROUP BY 1, 2, 3');
TRUNCATE ranged_ends;
INSERT INTO ranged_ends SELECT timestamp '2020-05-05', 'NaN' FROM generate_series(1, 500) AS i;
SELECT by_ranges('SELECT date_trunc(''day'', t), extract(year FROM t), floor(f), count(*) FROM ranged_ends GROUP BY 1, 2, 3');
DROP TABLE ranged, ranged_ends;
DROP FUNCTION by_ranges, compare, compare_all, who_answers, answer_of;
