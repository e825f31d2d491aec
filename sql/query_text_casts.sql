-- Texts cast to numbers, dates and truth values, where most rows' texts are none: a table of names and values. GpuQuery doesn't give such
-- statements up while the rows that count can be cast. Each statement is run with the node and without it, and the answers are compared.
SET pg_gpu.path = host;
SET pg_gpu.min_mirror_entries = 0;
SET max_parallel_workers_per_gather = 0;
SET timezone = 'Europe/Berlin';
SET datestyle = 'ISO, DMY';

CREATE TABLE property (thing int4, name text, value text, short varchar(30), padded char(30)) WITH (autovacuum_enabled = off);
INSERT INTO property
SELECT i / 9, n, v, v, v FROM generate_series(1, 9000) AS i,
LATERAL (SELECT (ARRAY['whole', 'big', 'price', 'real', 'day', 'moment', 'zoned', 'flag', 'word'])[1 + i % 9]) AS names (n),
LATERAL (SELECT CASE n
    WHEN 'whole' THEN (i % 700 - 300)::text
    WHEN 'big' THEN (i * 1234567890123 % 1000000000000000)::text
    WHEN 'price' THEN (i % 900 / 8.0)::numeric(8,3)::text
    WHEN 'real' THEN (i / 64.0)::float8::text
    WHEN 'day' THEN (date '2023-12-20' + i % 400)::text
    WHEN 'moment' THEN (timestamp '2024-03-30 22:00' + i * interval '7 minutes 0.25 seconds')::text
    WHEN 'zoned' THEN to_char(timestamp '2024-10-26 22:00' + i * interval '3 minutes', 'YYYY-MM-DD"T"HH24:MI:SS') || 'Z'
    WHEN 'flag' THEN (ARRAY['true', 'f', 'YES', 'off', '1'])[1 + i % 5]
    ELSE 'word ' || i % 50 END) AS vs (v);
INSERT INTO property VALUES (5000, 'whole', NULL, NULL, NULL), (5001, 'whole', '  12 ', '+7', '007'), (5002, 'big', '-999999999999999999', '0', '-0'),
    (5003, 'price', '12.', '1e2', '.5'), (5004, 'real', '-1.5E-20', 'NaN', '5.'), (5005, 'day', '2024-02-29', '0001-01-01', '9999-12-31'),
    (5006, 'moment', '2024-02-29T23:59:59.999999', '2024-01-01', '2024-01-01 10:11'), (5007, 'zoned', '2024-07-01 12:00+05:30', '2024-07-01 12:00-03', '2024-07-01');
-- Values that PostgreSQL reads and few people write, and those that are nearly right.
INSERT INTO property VALUES (6000, 'odd whole', '-2147483648', '32768', '9223372036854775808'), (6001, 'odd whole', '1 2', '--1', '1.0'),
    (6002, 'odd day', '20240229', 'Feb 29 2024', 'today'), (6003, 'odd day', '2023-02-29', '2024-13-01', '2024-1-1'), (6004, 'odd price', 'nan', '1e500', '1_000'),
    (6005, 'odd price', '', ' ', '.'), (6006, 'odd moment', '2024-02-29 24:00', '2024-02-29 10:60', '2024-02-29 10:00 Europe/Berlin'), (6007, 'odd flag', 'tru', '2', 'o');
CREATE INDEX property_i ON property USING gpu_column (thing, name, value, short, padded);
VACUUM ANALYZE property;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all

-- Of the rows that pass.
SELECT * FROM compare_all($list$
SELECT sum(value::int), min(value::int2), max(value::int8), avg(value::numeric), count(*) FROM property WHERE name = 'whole'
SELECT sum(value::int8), max(value::int8 % 1000) FROM property WHERE name = 'big' AND value::int8 > 5000000000
SELECT value::int / 100 AS k, count(*) FROM property WHERE name = 'whole' GROUP BY 1
SELECT sum(value::numeric), min(value::numeric), max(value::numeric * 2 - 1) FROM property WHERE name = 'price'
SELECT sum(value::numeric(9,1)), count(DISTINCT round(value::numeric)) FROM property WHERE name = 'price' AND thing < 5000
SELECT sum(value::float8), min(value::float8), max(value::float4) FROM property WHERE name = 'real' AND value::float8 >= 1
SELECT date_trunc('month', value::date)::date AS m, count(*) FROM property WHERE name = 'day' GROUP BY 1
SELECT min(value::date), max(value::date), max(value::date) - min(value::date) FROM property WHERE name = 'day' AND value::date > '2024-01-01'
SELECT date_trunc('day', value::timestamp) AS d, count(*), max(value::timestamp) FROM property WHERE name = 'moment' GROUP BY 1
SELECT value::timestamptz AT TIME ZONE 'America/New_York' > '2024-10-27' AS x, count(*), min(value::timestamptz) FROM property WHERE name = 'zoned' GROUP BY 1
SELECT value::bool, count(*) FROM property WHERE name = 'flag' GROUP BY 1
SELECT bool_or(value::bool), bool_and(NOT value::bool) FROM property WHERE name = 'flag' AND thing < 900
SELECT sum(short::int), max(padded::int) FROM property WHERE name = 'whole'
SELECT sum(short::numeric), max(padded::numeric) FROM property WHERE name = 'price'
SELECT max(short::date), min(padded::timestamp) FROM property WHERE name IN ('day', 'moment')
$list$);
-- Guarded by FILTER, CASE, AND and OR.
SELECT * FROM compare_all($list$
SELECT count(*), sum(value::int) FILTER (WHERE name = 'whole'), sum(value::numeric) FILTER (WHERE name = 'price') FROM property
SELECT thing, max(CASE WHEN name = 'whole' THEN value::int END) AS w, max(CASE name WHEN 'day' THEN value::date END) AS d FROM property WHERE thing < 5000 GROUP BY 1
SELECT sum(CASE WHEN value ~ '^-?[0-9]+$' THEN value::numeric ELSE 0 END) FROM property WHERE thing < 5000
SELECT count(*) FROM property WHERE name = 'whole' AND value::int < 10 OR name = 'day' AND value::date < '2024-02-01'
SELECT thing % 5 AS k, sum(CASE WHEN name = 'price' AND value::numeric > 50 THEN 1 ELSE 0 END) FROM property GROUP BY 1 HAVING max(CASE WHEN name = 'real' THEN value::float8 END) > 90
SELECT count(*) FROM property a JOIN property b ON a.thing = b.thing WHERE a.name = 'whole' AND b.name = 'price' AND a.value::int > b.value::numeric
SELECT name, value::int AS v FROM property WHERE name = 'whole' AND thing < 5000 ORDER BY value::int DESC, thing LIMIT 5
SELECT thing, sum(value::int) OVER (ORDER BY value::int, thing) FROM property WHERE name = 'whole' AND thing < 300
$list$);
-- Parts of texts.
SELECT * FROM compare_all($list$
SELECT substring(value FROM 6)::int % 7 AS k, count(*) FROM property WHERE name = 'word' GROUP BY 1
SELECT extract(year FROM left(value, 10)::date) AS y, count(*) FROM property WHERE name IN ('moment', 'day', 'zoned') AND thing < 5000 GROUP BY 1
SELECT split_part(value, '.', 1)::int AS k, count(*) FROM property WHERE name = 'price' AND thing < 5000 GROUP BY 1
SELECT sum(right(split_part(value, '-', 3)::int::text, 1)::int) FROM property WHERE name = 'day'
$list$);
-- Rows that nobody has merged, and changed ones.
INSERT INTO property VALUES (7000, 'whole', '41', '42', '43'), (7001, 'none', 'forty', 'one', '');
UPDATE property SET value = '77' WHERE thing = 12 AND name = 'whole';
SELECT * FROM compare_all($list$
SELECT sum(value::int), min(short::int), max(padded::int), count(*) FROM property WHERE name = 'whole' AND thing <> 5001
SELECT sum(value::int) FILTER (WHERE name = 'whole') FROM property
$list$);
-- What few people write is PostgreSQL's plan's to read, and what is nothing its error.
SELECT * FROM compare_all($list$
SELECT max(value::int) FROM property WHERE name = 'odd whole' AND thing = 6000
SELECT max(value::date) FROM property WHERE name = 'odd day' AND thing = 6002
SELECT min(value::numeric) FROM property WHERE name = 'odd price' AND thing = 6004
SELECT max(value::numeric(3,2)) FROM property WHERE name = 'price'
SELECT max(value::numeric(4,1)) FROM property WHERE name = 'price' AND thing = 5003
SELECT max(value::timestamp) FROM property WHERE name = 'odd moment'
SELECT count(*) FROM property WHERE name = 'odd flag' AND value::bool
SELECT max(short::int2) FROM property WHERE thing = 6000
$list$);
SELECT sum(value::int) FROM property WHERE name IN ('whole', 'word');
SELECT max(value::date) FROM property WHERE thing = 6003;
SELECT max(padded::numeric) FROM property WHERE thing = 6005;
SELECT max(short::int) FROM property WHERE name = 'odd whole';
SELECT count(*) FROM property WHERE name = 'big' AND value::int > 0;
DROP FUNCTION compare, compare_all, who_answers, answer_of;
DROP TABLE property;
