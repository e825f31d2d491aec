-- Bins and time zones in the node GpuQuery: date_bin, AT TIME ZONE and width_bucket. Each statement is run with the node and without it, and the answers
-- are held against each other.
SET pg_gpu.path = host;
SET pg_gpu.min_mirror_entries = 0;
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;
SET timezone = 'Europe/Berlin';

CREATE TABLE reading (id int4, ratio float8, fine float8, fee numeric(10,2), small int2, moment timestamp, instant timestamptz, day date) WITH (autovacuum_enabled = off);
INSERT INTO reading
SELECT i, CASE WHEN i % 40 <> 0 THEN (i * 7919 % 2003) / 100.0 - 2 END, ((i * 7919) % 100003) / 100003.0, CASE WHEN i % 9 <> 0 THEN (i * 31 % 999) * 0.05 - 5 END, i % 60 - 10,
       timestamp '1999-12-25' + i * interval '1 hour 1 second', timestamptz '2020-03-20 00:00+00' + i * interval '47 minutes', date '2020-03-20' + i % 300
FROM generate_series(1, 6000) AS i;
INSERT INTO reading (id) VALUES (6001);
INSERT INTO reading (id, moment, instant) SELECT 7000 + i, timestamp '2000-01-01' + i * interval '15 minutes', timestamptz '2020-10-24 23:30+00' + i * interval '15 minutes' FROM generate_series(-5, 20) AS i;
CREATE INDEX reading_i ON reading USING gpu_column (id, ratio, fine, fee, small, moment, instant, day);
VACUUM ANALYZE reading;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all

CREATE TEMP TABLE binned AS SELECT $list$
SELECT date_bin('15 minutes', moment, timestamp '2000-01-01'), count(*) FROM reading GROUP BY 1
SELECT date_bin('15 minutes', moment, timestamp '2000-01-01 00:07:30'), date_bin('7 days', moment, timestamp '2010-01-04'), count(*) FROM reading GROUP BY 1, 2
SELECT date_bin('1 day 01:00', instant, timestamptz '2020-07-01 00:00+00') AS bin, min(small) FROM reading GROUP BY bin ORDER BY bin LIMIT 20
SELECT date_bin('1 microsecond', moment, timestamp '2020-01-01'), count(*) FROM reading GROUP BY 1
SELECT date_bin('1 month', moment, timestamp '2020-01-01'), count(*) FROM reading GROUP BY 1
SELECT width_bucket(ratio, 0, 15, 10), count(*) FROM reading GROUP BY 1
SELECT width_bucket(ratio, 1.5, 9, 7), width_bucket(small, -5, 40, 9), count(*) FROM reading GROUP BY 1, 2
SELECT width_bucket(fine, 0, 1, 1000), count(*) FROM reading GROUP BY 1
SELECT width_bucket(fine, 0.1, 0.9, 333), width_bucket(fine, 0.3, 0.7, 77), count(*) FROM reading GROUP BY 1, 2
SELECT width_bucket(fee, 0, 40, 8), sum(fee) FROM reading GROUP BY 1
SELECT width_bucket(fee, 0.5, 39.995, 13), width_bucket(fee * 2, -1, 80.5, 3), count(*) FROM reading GROUP BY 1, 2
SELECT sum(width_bucket(ratio, 3, 3, 5)) FROM reading
SELECT sum(width_bucket(ratio, 3, 4, 0)) FROM reading
SELECT sum(width_bucket(CASE WHEN id = 77 THEN 'NaN' ELSE ratio END, 3, 4, 5)) FROM reading
SELECT width_bucket(CASE WHEN id = 77 THEN 'infinity' WHEN id = 78 THEN '-infinity' ELSE ratio END, 3, 4, 5), count(*) FROM reading GROUP BY 1
SELECT extract(hour FROM instant AT TIME ZONE 'America/New_York'), count(*) FROM reading GROUP BY 1
SELECT date_trunc('day', instant AT TIME ZONE 'Asia/Kathmandu'), max(instant AT TIME ZONE 'UTC'), count(*) FROM reading GROUP BY 1
SELECT date_trunc('hour', moment AT TIME ZONE 'america/new_york'), count(*) FROM reading GROUP BY 1
SELECT (instant AT TIME ZONE 'Europe/Berlin')::date, (moment AT TIME ZONE 'Australia/Lord_Howe')::date, count(*) FROM reading GROUP BY 1, 2
SELECT max(instant AT TIME ZONE interval '-03:30'), min(moment AT TIME ZONE interval '05:45') FROM reading
SELECT date_trunc('day', instant, 'America/New_York'), count(*) FROM reading GROUP BY 1
SELECT max(instant AT TIME ZONE 'EST'), max(instant AT TIME ZONE 'nowhere') FROM reading
SELECT count(*) FROM reading WHERE instant AT TIME ZONE 'America/New_York' < day AND instant AT TIME ZONE 'Asia/Tokyo' > '2020-05-01'
$list$ AS list;
SELECT compared.* FROM binned, compare_all(list) AS compared;
INSERT INTO reading VALUES (8000, 'infinity', 'NaN', 'NaN', NULL, 'infinity', '-infinity', 'infinity');
SELECT compared.* FROM binned, compare_all(list) AS compared;

DROP FUNCTION compare, compare_all, who_answers, answer_of;
-- How many groups are expected of remainders, buckets and what is computed of them, of which PostgreSQL has no statistics.
CREATE FUNCTION expected_groups(expression text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE format('EXPLAIN SELECT %s, count(*) FROM reading GROUP BY 1', expression) LOOP
        IF line ~ 'GpuQuery' THEN
            RETURN substring(line FROM 'rows=(\d+)');
        END IF;
    END LOOP;
END $$;
SELECT e, expected_groups(e) FROM unnest(ARRAY['id % 10', '1 + mod(id, -10)', 'mod(id::int8, 4) * 2', 'width_bucket(ratio, 0, 20, 4)', 'CASE WHEN small > 0 THEN id % 3 ELSE 7 END']) AS e;
DROP FUNCTION expected_groups;
DROP TABLE reading;
