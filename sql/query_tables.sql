-- Expressions that the engine doesn't have, over several columns or over columns without a dictionary: the node GpuQuery looks them up in tables of
-- the combinations that rows have. Each statement is run with the node and without it, and the answers are held against each other.
SET pg_gpu.path = host;
SET pg_gpu.min_mirror_entries = 0;
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;
SET timezone = 'Europe/Berlin';

CREATE TABLE ride (id int4, payment text, zone varchar(20), kind char(4), fee numeric(8,2), distance float8, moment timestamp, instant timestamptz, day date, small int2, flag bool, code uuid)
WITH (autovacuum_enabled = off);
INSERT INTO ride
SELECT i, (ARRAY['card', 'cash', 'app', '', NULL])[1 + i % 5], 'zone ' || i % 12, substr('abcd', i % 4 + 1, 1), CASE WHEN i % 7 <> 0 THEN i % 9 * 0.25 END, i / 8.0,
       timestamp '2020-01-15 23:59:59.5' + i * interval '3 hours 7 minutes', timestamptz '2020-03-20 00:00+00' + i * interval '53 minutes', date '1999-12-30' + i % 100, i % 20 - 10,
       CASE WHEN i % 11 <> 0 THEN i % 3 = 0 END, md5((i % 6)::text)::uuid
FROM generate_series(1, 3000) AS i;
INSERT INTO ride (id) VALUES (3001), (3002);
CREATE INDEX ride_i ON ride USING gpu_column (id, payment, zone, kind, fee, distance, moment, instant, day, small, flag, code);
VACUUM ANALYZE ride;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all
CREATE FUNCTION folded(text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN upper($1) || '!'; END $$;
CREATE FUNCTION fails_for(text, int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN 10 / length($1) + $2; END $$;

CREATE TEMP TABLE tables AS SELECT $list$
SELECT payment || '/' || zone, count(*), sum(fee) FROM ride GROUP BY 1
SELECT concat(payment, '-', zone), concat_ws(',', kind, payment, zone), count(*) FROM ride GROUP BY 1, 2
SELECT format('%s of %s', payment, upper(zone)) AS name, avg(fee), count(DISTINCT small) FROM ride GROUP BY name HAVING count(*) > 20 ORDER BY name LIMIT 5
SELECT lower(payment || zone), count(*) FROM ride WHERE payment || zone LIKE 'c%1' GROUP BY 1
SELECT max(payment || zone), min(zone || kind), count(DISTINCT payment || small) FROM ride
SELECT payment, sum(length(payment || zone || 'é')), sum(position(payment IN zone || payment)) FROM ride GROUP BY payment
SELECT upper(coalesce(payment, 'none')), length(coalesce(payment, zone)), count(*) FROM ride GROUP BY 1, 2
SELECT small || '.' || payment, small::text, flag::text || kind, count(*) FROM ride GROUP BY 1, 2, 3
SELECT fee || ' EUR', count(*) FROM ride GROUP BY 1
SELECT sum(length((small * 2 + 1)::text)), sum((payment || '1' = zone)::int), bool_or(zone || payment > 'zone 9') FROM ride
SELECT code || payment, count(*) FROM ride GROUP BY 1
SELECT md5(payment || zone), substr(zone || payment, 3, 6), count(*) FROM ride GROUP BY 1, 2
SELECT folded(coalesce(payment, zone)), count(*) FROM ride GROUP BY 1
SELECT CASE WHEN small > 0 THEN payment || zone ELSE 'low' END, count(*) FROM ride GROUP BY 1
SELECT count(*) FILTER (WHERE payment || zone = 'cardzone 3'), count(*) FILTER (WHERE (payment, zone) IN (('card', 'zone 5'), ('app', 'zone 7'))) FROM ride
SELECT to_char(moment, 'YYYY-MM'), count(*), sum(fee) FROM ride GROUP BY 1
SELECT to_char(instant, 'YYYY-MM-DD'), count(*) FROM ride GROUP BY 1
SELECT to_char(instant, 'Day, DD. TMMonth'), to_char(moment, 'IYYY-IW'), count(*) FROM ride GROUP BY 1, 2
SELECT to_char(instant, 'HH24'), to_char(moment, 'FMHH12 AM'), count(*) FROM ride GROUP BY 1, 2
SELECT to_char(instant, 'YYYY-MM-DD HH24:MI:SS TZH'), to_char(moment, 'MI:SS.MS'), count(*) FROM ride GROUP BY 1, 2
SELECT to_char(day, 'Dy'), to_char(day, 'YYYY"year" Q') || payment, count(*) FROM ride GROUP BY 1, 2
SELECT extract(hour FROM moment) || ' h', to_char(extract(dow FROM day), '9'), count(*) FROM ride GROUP BY 1, 2
SELECT date_trunc('month', moment)::text, (date_trunc('day', instant) + interval '1 month')::date, count(*) FROM ride GROUP BY 1, 2
SELECT age(day, date '2000-01-01') IS NULL, max(small) FROM ride GROUP BY 1
SELECT count(*) FROM ride WHERE to_char(moment, 'Dy') = 'Sun' AND zone || payment <> 'zone 1card' AND small / 3 > 1
SELECT payment || zone, count(*) FROM ride WHERE id + small < 0 GROUP BY 1
SELECT sum(fails_for(payment, small)) FROM ride
SELECT sum(fails_for(payment, small)) FROM ride WHERE payment <> ''
SELECT sum(CASE WHEN payment <> '' THEN fails_for(payment, small) END) FROM ride
SELECT sum(10 / length(payment || payment)) FROM ride
SELECT distance || payment, count(*) FROM ride GROUP BY 1
SELECT id || payment, count(*) FROM ride GROUP BY 1
$list$ AS list;
SELECT compared.* FROM tables, compare_all(list) AS compared;
-- Rows of the tail, and deleted ones.
INSERT INTO ride VALUES (4000, 'new', 'zone', 'new', 1.25, 3, 'infinity', '2020-10-25 00:30+00', '2000-02-29', 3, true, '00000000-0000-0000-0000-000000000000'),
    (4001, 'aaa', NULL, 'b', -7, NULL, '2019-12-31', '-infinity', 'infinity', 32000, NULL, NULL);
DELETE FROM ride WHERE id % 13 = 0;
SELECT compared.* FROM tables, compare_all(list) AS compared;

-- Parameters are part of what is looked up.
PREPARE asked(text) AS SELECT payment || $1 || zone AS name, count(*) FROM ride WHERE small > 7 GROUP BY name ORDER BY name LIMIT 3;
SET plan_cache_mode = force_generic_plan;
EXECUTE asked('-');
EXECUTE asked('+');
EXECUTE asked(NULL);

-- The planner takes an expression for one of the engine's, which a value makes one for the session, where it raises an error that no row does.
CREATE TABLE stay (id int4, day date, payment text) WITH (autovacuum_enabled = off);
INSERT INTO stay SELECT i, date '2024-01-01' + i % 50, 'cash' FROM generate_series(1, 3000) AS i;
CREATE INDEX stay_i ON stay USING gpu_column (id, day, payment);
VACUUM ANALYZE stay;
INSERT INTO stay (id, day) VALUES (4002, '5874897-12-31');
SELECT * FROM compare_all($list$
SELECT count(*), sum(id) FROM stay WHERE (id IS NOT DISTINCT FROM -11 AND day + 5 = day AND payment IS NULL) IS NOT NULL
SELECT count(*), sum(id) FROM stay WHERE id < 4000 AND CASE WHEN id < 4000 THEN day + 5 END > '2020-03-01'
SELECT count(*), sum(id) FROM stay WHERE day + 5 > '2020-03-01'
$list$);
DROP TABLE stay;
-- The engine itself finds out that a moment is moved out of its range.
INSERT INTO ride (id, moment) VALUES (4002, '294276-12-31 23:59:59');
VACUUM ANALYZE ride;
SELECT * FROM compare_all($list$
SELECT count(*) FROM ride WHERE (id IS NOT DISTINCT FROM -11 AND moment + interval '1 month' = moment AND payment IS NULL) IS NOT NULL
SELECT count(*) FROM ride WHERE id < 4000 AND CASE WHEN id < 4000 THEN moment + interval '1 month' END > '2020-03-01'
SELECT count(*) FROM ride WHERE moment + interval '1 month' > '2020-03-01'
$list$);

-- Behind row security nothing that may raise an error is evaluated beforehand.
CREATE ROLE regress_query_rider;
GRANT SELECT ON ride TO regress_query_rider;
ALTER TABLE ride ENABLE ROW LEVEL SECURITY;
CREATE POLICY most ON ride USING (payment <> '');
SET ROLE regress_query_rider;
SELECT * FROM compare_all($list$
SELECT sum(fails_for(payment, small)) FROM ride
SELECT payment || zone, count(*) FROM ride GROUP BY 1
$list$);
RESET ROLE;

DROP FUNCTION compare, compare_all, who_answers, answer_of;
DROP TABLE ride;
DROP FUNCTION folded, fails_for;
DROP ROLE regress_query_rider;
