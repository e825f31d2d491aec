-- Texts, and other values that the engine knows by numbers alone, in the node GpuQuery: values of several columns and constants meet, are ordered,
-- and computed of several columns. Each statement is run with the node and without it, and the answers are held against each other.
SET pg_gpu.path = host;
SET pg_gpu.min_mirror_entries = 0;
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;
SET timezone = 'Europe/Berlin';

CREATE COLLATION regress_backwards (provider = icu, locale = 'en-u-kf-upper');
CREATE COLLATION regress_caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TYPE mood AS ENUM ('sad', 'fine', 'glad');

CREATE TABLE ride (id int4, distance float8, payment text, zone varchar(20), kind char(4), word text COLLATE "C", other text COLLATE "C", icu text COLLATE regress_backwards,
                   caseless text COLLATE regress_caseless, code uuid, at time, mood mood, blob bytea, moment timestamp, instant timestamptz, small int2, flag bool) WITH (autovacuum_enabled = off);
INSERT INTO ride
SELECT i, CASE WHEN i % 31 <> 0 THEN i % 200 / 10.0 END, (ARRAY['card', 'cash', 'app', 'zone 3', '', NULL])[1 + i % 6], 'zone ' || i % 40, substr('abcd', i % 4 + 1, 1 + i % 2),
       CASE WHEN i % 17 <> 0 THEN (ARRAY['b', 'B', 'a', 'A', 'ä', 'Zz', 'a b', 'ab'])[1 + i % 8] END, (ARRAY['A', 'a', 'ab', 'zz', 'b'])[1 + i % 5],
       (ARRAY['b', 'B', 'a', 'A', 'ä', 'Zz', 'a b', 'ab'])[1 + i % 8], 'same', md5((i % 13)::text)::uuid, time '08:00' + i % 7 * interval '1 hour', (ARRAY['sad', 'fine', 'glad'])[1 + i % 3]::mood,
       decode(lpad(to_hex(i % 11), 4, '0'), 'hex'), timestamp '2020-01-15' + i * interval '3 hours 7 minutes', timestamptz '2020-03-01 00:00+00' + i * interval '53 minutes', i % 50 - 20, i % 3 = 0
FROM generate_series(1, 3000) AS i;
INSERT INTO ride (id) VALUES (3001), (3002);
CREATE INDEX ride_i ON ride USING gpu_column (id, distance, payment, zone, kind, word, other, icu, caseless, code, at, mood, blob, moment, instant, small, flag);
VACUUM ANALYZE ride;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all

-- Constants and columns meet in CASE, COALESCE, NULLIF, GREATEST and LEAST.
CREATE TEMP TABLE choices AS SELECT $list$
SELECT CASE WHEN distance < 2 THEN 'short' WHEN distance < 10 THEN 'medium' ELSE 'long' END AS class, count(*), avg(small) FROM ride GROUP BY 1
SELECT CASE WHEN distance < 2 THEN 'short' WHEN distance < 10 THEN payment END AS class, count(*) FROM ride GROUP BY 1
SELECT coalesce(payment, 'none'), coalesce(payment, zone, 'none'), count(*) FROM ride GROUP BY 1, 2
SELECT CASE payment WHEN 'card' THEN 'plastic' WHEN 'cash' THEN 'coins' ELSE payment END, sum(id) FROM ride GROUP BY 1
SELECT CASE payment WHEN zone THEN 'both' ELSE zone END, count(*) FROM ride GROUP BY 1
SELECT nullif(payment, ''), nullif(payment, zone), count(*) FROM ride GROUP BY 1, 2
SELECT greatest(word, other), least(word, other, 'a'), count(*) FROM ride GROUP BY 1, 2
SELECT count(*) FILTER (WHERE CASE WHEN distance < 2 THEN 'short' ELSE payment END = 'short'), count(DISTINCT coalesce(payment, zone)), max(coalesce(payment, zone)) FROM ride
SELECT count(*) FROM ride WHERE CASE WHEN flag THEN payment ELSE zone END IN ('card', 'zone 3', 'nothing') AND coalesce(payment, 'none') <> 'app'
SELECT count(*) FROM ride WHERE CASE WHEN flag THEN payment ELSE zone END NOT IN ('card', 'zone 3', NULL)
SELECT CASE WHEN flag THEN NULL ELSE NULL END::text, count(*) FROM ride GROUP BY 1
SELECT CASE WHEN flag THEN kind ELSE 'zz' END, coalesce(kind, 'none'), count(*) FROM ride GROUP BY 1, 2
SELECT coalesce(at, '00:00'), CASE WHEN flag THEN mood ELSE 'glad' END, coalesce(code, '00000000-0000-0000-0000-000000000000'), count(*) FROM ride GROUP BY 1, 2, 3
SELECT 'all' AS name, count(*) FROM ride WHERE small + id > 3 GROUP BY 1
$list$ AS list;
SELECT compared.* FROM choices, compare_all(list) AS compared;

-- The order of each collation.
CREATE TEMP TABLE orders AS SELECT $list$
SELECT min(zone), max(zone), min(payment), max(kind), min(at), max(at) FROM ride
SELECT min(word), max(word), max(other) FROM ride
SELECT min(icu), max(icu) FROM ride
SELECT payment, max(zone), min(zone) FROM ride GROUP BY payment
SELECT word, other, max(icu) FROM ride GROUP BY word, other
SELECT min(word COLLATE regress_backwards), max(icu) FROM ride
SELECT max(icu COLLATE "C"), min(word) FROM ride
SELECT max(icu COLLATE "C"), min(icu) FROM ride
SELECT min(word) FILTER (WHERE flag), max(word) FILTER (WHERE id < 0), max(coalesce(word, other)) FROM ride
SELECT mode() WITHIN GROUP (ORDER BY zone), mode() WITHIN GROUP (ORDER BY payment) FROM ride
SELECT percentile_disc(0.3) WITHIN GROUP (ORDER BY word), percentile_disc(0.5) WITHIN GROUP (ORDER BY other) FROM ride
SELECT payment, mode() WITHIN GROUP (ORDER BY icu), percentile_disc(0.9) WITHIN GROUP (ORDER BY icu) FROM ride GROUP BY 1
SELECT count(*) FROM ride WHERE word < other
SELECT count(*) FILTER (WHERE word <= other), count(*) FILTER (WHERE word IS DISTINCT FROM other), count(*) FILTER (WHERE coalesce(word, 'b') > other) FROM ride
SELECT count(*) FILTER (WHERE payment = zone), count(*) FILTER (WHERE payment <> zone), count(*) FILTER (WHERE payment > zone) FROM ride
SELECT word < other, count(*) FROM ride GROUP BY 1
SELECT count(*) FROM ride WHERE coalesce(word, 'zz') ~<~ other
SELECT zone, count(*) FROM ride GROUP BY zone ORDER BY zone LIMIT 7
SELECT icu, count(*) FROM ride GROUP BY icu ORDER BY icu DESC LIMIT 3
SELECT payment, word, sum(id) FROM ride GROUP BY 1, 2 ORDER BY payment NULLS FIRST, word DESC NULLS LAST LIMIT 9
SELECT zone, count(*) c FROM ride GROUP BY zone ORDER BY c DESC, zone LIMIT 5
SELECT code, at, mood, blob, count(*) FROM ride GROUP BY 1, 2, 3, 4 ORDER BY at DESC, code, blob, mood LIMIT 4
SELECT count(DISTINCT word), count(DISTINCT icu), count(DISTINCT kind), count(DISTINCT code) FROM ride
SELECT max(caseless), caseless, count(*) FROM ride GROUP BY caseless
$list$ AS list;
SELECT compared.* FROM orders, compare_all(list) AS compared;

-- Rows of the tail have values that no run has, and such that are equal to others without looking the same.
INSERT INTO ride (id, distance, payment, zone, kind, word, other, icu, caseless, moment, small) VALUES
    (4000, 1, 'new', 'zone', 'new', 'new', 'C', 'Bb', 'other', '2021-01-01', 1), (4001, 100, 'aaa', 'zzz', 'a   ', NULL, '', '', 'same', '2021-01-02', 2);
SELECT compared.* FROM choices, compare_all(list) AS compared;
SELECT compared.* FROM orders, compare_all(list) AS compared;
INSERT INTO ride (id, caseless, word) VALUES (4002, 'SAME', 'x');
SELECT * FROM compare_all($list$
SELECT caseless, count(*) FROM ride GROUP BY caseless
SELECT max(caseless) FROM ride
SELECT count(DISTINCT caseless) FROM ride
SELECT count(*) FROM ride WHERE caseless COLLATE "C" = word OR coalesce(caseless, 'x') = 'Same'
$list$);

-- Texts that the session has no room to number: forty of seven megabytes each.
CREATE TABLE tall (word text) WITH (autovacuum_enabled = off);
INSERT INTO tall SELECT 'w' || i FROM generate_series(10, 49) AS i;
CREATE INDEX tall_i ON tall USING gpu_column (word);
VACUUM ANALYZE tall;
SELECT * FROM compare('SELECT count(DISTINCT repeat(word, 2400000)) FROM tall');
DROP TABLE tall;

DROP FUNCTION compare, compare_all, who_answers, answer_of;
DROP TABLE ride;
DROP TYPE mood;
DROP COLLATION regress_backwards, regress_caseless;
