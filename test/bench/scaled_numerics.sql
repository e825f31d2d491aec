-- Numerics of many values with a dictionary, and as integers (scaled_numerics): size and build of the index, and statements by the node in
-- the session. Makes tables bench_listed and bench_scaled of the same rows, a million unless said otherwise:
--
--   psql -v rows=1000000 -v option=auto -f test/bench/scaled_numerics.sql
--
-- Processor time is the session's own, from schedstat, so that other programs matter little; the two are asked in turn. Figures are medians,
-- "first" of seven statements with nothing kept from earlier ones (a change of any function drops it all), "again" of five times ten. The
-- kernel counts time by ticks of some milliseconds, so that a single statement's may be as much too long or too short.
\set ON_ERROR_STOP on
\if :{?rows}
\else
    \set rows 1000000
\endif
\if :{?option}
\else
    \set option on
\endif
\set options 'WITH (scaled_numerics = ' :option ')'
\pset footer off
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pg_gpu;
SET pg_gpu.path = paged;
SET max_parallel_maintenance_workers = 0;
SET max_parallel_workers_per_gather = 0;
SET maintenance_work_mem = '256MB';
SET work_mem = '64MB';
SET jit = off;
SELECT setseed(0.5);
CREATE TABLE bench_listed AS
SELECT i AS id, 'kind ' || i % 7 AS kind, (floor(random() * 10000000) / 100)::numeric(12,2) AS amount, (random() * 1000)::numeric(9,3) AS price
FROM generate_series(1, :rows) AS i;
CREATE TABLE bench_scaled AS TABLE bench_listed;
CREATE TABLE bench_joined AS SELECT DISTINCT amount FROM bench_listed WHERE id <= 1000;
VACUUM ANALYZE bench_listed, bench_scaled, bench_joined;
SELECT count(*) AS rows, count(DISTINCT amount) AS amounts, count(DISTINCT price) AS prices, pg_size_pretty(pg_table_size('bench_listed')) AS table FROM bench_listed;
CREATE FUNCTION pg_temp.processor_ms() RETURNS numeric LANGUAGE sql AS $$ SELECT split_part(pg_read_file('/proc/' || pg_backend_pid() || '/schedstat'), ' ', 1)::numeric / 1e6 $$;
CREATE TEMP TABLE result (number int, what text, of text, value numeric, answer text);
CREATE FUNCTION pg_temp.forget() RETURNS void LANGUAGE plpgsql AS $$ BEGIN CREATE OR REPLACE FUNCTION pg_temp.nothing() RETURNS int LANGUAGE sql AS 'SELECT 1'; END $$;
CREATE FUNCTION pg_temp.build(kind text, options text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    started numeric;
BEGIN
    FOR i IN 1 .. 3 LOOP
        EXECUTE format('DROP INDEX IF EXISTS %s_i', kind);
        started := pg_temp.processor_ms();
        EXECUTE format('CREATE INDEX %1$s_i ON %1$s USING gpu_column (id, kind, amount, price) %2$s', kind, options);
        INSERT INTO result VALUES (1, 'build, ms', kind, pg_temp.processor_ms() - started);
    END LOOP;
    INSERT INTO result SELECT 2, 'size, MB', kind, pg_relation_size(kind || '_i') / 1e6;
    INSERT INTO result SELECT 3, 'of this ' || column_name || ', MB', kind, bytes / 1e6 FROM gpu.columns((kind || '_i')::regclass) WHERE column_name IN ('amount', 'price');
    INSERT INTO result SELECT 4, column_name || ' is kept as', kind, NULL, encoding FROM gpu.columns((kind || '_i')::regclass) WHERE column_name IN ('amount', 'price');
END $$;
SELECT pg_temp.build('bench_listed', ''), pg_temp.build('bench_scaled', :'options') \g /dev/null
CREATE FUNCTION pg_temp.ask(number int, kind text, query text, turn text, times int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    started numeric;
    answer text;
BEGIN
    started := pg_temp.processor_ms();
    FOR time IN 1 .. times LOOP
        EXECUTE format(query, kind) INTO answer;
    END LOOP;
    INSERT INTO result VALUES (number, replace(query, ' FROM %s', '') || ', ' || turn, kind, (pg_temp.processor_ms() - started) / times, answer);
END $$;
CREATE TEMP TABLE question (number int, query text);
INSERT INTO question VALUES
    (10, 'SELECT sum(amount) FROM %s'), (11, 'SELECT avg(amount) FROM %s'), (12, 'SELECT (min(amount), max(amount)) FROM %s'), (13, 'SELECT var_pop(amount) FROM %s'),
    (14, 'SELECT string_agg(r, '' '' ORDER BY r) FROM (SELECT (kind, sum(amount))::text AS r FROM %s GROUP BY kind) AS t'),
    (15, 'SELECT count(*) FROM %s WHERE amount > 90000'), (16, 'SELECT sum(price) FROM %s WHERE amount > 90000'), (17, 'SELECT sum(amount * price) FROM %s'),
    (18, 'SELECT string_agg(amount::text, '' '') FROM (SELECT amount FROM %s ORDER BY amount DESC LIMIT 10) AS t'),
    (19, 'SELECT count(DISTINCT amount) FROM %s'), (20, 'SELECT sum(round(amount)) FROM %s'), (21, 'SELECT max(amount::float8) FROM %s'), (22, 'SELECT sum(DISTINCT amount) FROM %s'),
    (23, 'SELECT sum(b.price) FROM %s AS b JOIN bench_joined AS j ON b.amount = j.amount'), (24, 'SELECT (count, sum, distinct_values) FROM gpu.summary(''%s_i'', ''amount'')'),
    (25, 'SELECT string_agg(count::text, '' '') FROM gpu.histogram(''%s_i'', ''amount'', 10, 0, 100000)'),
    (26, 'SELECT sum(w * c) FROM (SELECT width_bucket(amount, 0, 100000, 20) AS w, count(*) AS c FROM %s GROUP BY 1) AS t'),
    (27, 'SELECT sum(w * c) FROM (SELECT floor(amount / 100) AS w, count(*) AS c FROM %s GROUP BY 1) AS t'),
    (28, 'SELECT count(*) FROM (SELECT floor(amount) FROM %s GROUP BY 1) AS t'), (29, 'SELECT count(*) FROM %s WHERE amount / 3 > 20000'),
    (30, 'SELECT count(*) FROM %s WHERE amount::text LIKE ''%%.00''');
-- A transaction each, because the results that one uses of those that the session keeps leave no room to others until it ends.
CREATE PROCEDURE pg_temp.measure() LANGUAGE plpgsql AS $$
DECLARE
    q record;
    kind text;
BEGIN
    FOR q IN SELECT * FROM question ORDER BY number LOOP
        FOR turn IN 1 .. 7 LOOP
            FOREACH kind IN ARRAY ARRAY['bench_listed', 'bench_scaled'] LOOP
                PERFORM pg_temp.forget();
                PERFORM pg_temp.ask(q.number, kind, q.query, 'first', 1);
                COMMIT;
            END LOOP;
        END LOOP;
        FOR turn IN 1 .. 5 LOOP
            FOREACH kind IN ARRAY ARRAY['bench_listed', 'bench_scaled'] LOOP
                PERFORM pg_temp.ask(q.number, kind, q.query, 'again', 10);
                COMMIT;
            END LOOP;
        END LOOP;
    END LOOP;
END $$;
CALL pg_temp.measure();
SELECT of, what, answer FROM result WHERE number = 4 ORDER BY 1, 2;
SELECT what, round(percentile_cont(0.5) WITHIN GROUP (ORDER BY value) FILTER (WHERE of = 'bench_listed')::numeric, 1) AS dictionary,
       round(percentile_cont(0.5) WITHIN GROUP (ORDER BY value) FILTER (WHERE of = 'bench_scaled')::numeric, 1) AS integers,
       count(DISTINCT answer) <= 1 AS agree
FROM result WHERE number <> 4 GROUP BY number, what ORDER BY number, what DESC;
DROP TABLE bench_listed, bench_scaled, bench_joined;
