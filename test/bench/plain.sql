-- Columns that dictionaries don't help, functions beside the statements that say the same, an index of several runs, and pages that aren't
-- all-visible: by nodes on the paged and the host path, and by PostgreSQL's own plans without workers. All of a statement's ways are taken in turns,
-- :runs times. Prints the least milliseconds of each, and beside it those in which the session's process had a processor, which other programs
-- change less.
-- usage: psql -X -q -v rows=5000000 -v runs=5 -f test/bench/plain.sql
\set ON_ERROR_STOP on
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET work_mem = '1GB';
SET timezone = 'UTC';
CREATE EXTENSION IF NOT EXISTS pg_gpu;
CREATE EXTENSION IF NOT EXISTS pg_visibility;
-- Numbers that hardly come twice; the second table's index has grown by eighths.
CREATE TABLE plain_one (id int4, k int8, x float8, n numeric(12,2), v int4, day_at timestamptz, few int2) WITH (autovacuum_enabled = off);
CREATE TABLE plain_grown (LIKE plain_one) WITH (autovacuum_enabled = off, fillfactor = 100);
INSERT INTO plain_one
SELECT i, (hashint8extended(i, 1) & 9223372036854775807) % 1000000000000, (hashint8extended(i, 2) & 2147483647) / 7.0::float8, (hashint8extended(i, 3) & 9223372036854775807) % 1000000000 / 100.0,
       (hashint8extended(i, 4) & 2147483647) % 100000, timestamptz '2020-01-01 00:00+00' + (hashint8extended(i, 5) & 9223372036854775807) % 63072000000000 * interval '1 microsecond', i % 50
FROM generate_series(1, :rows) AS i;
CREATE INDEX plain_one_i ON plain_one USING gpu_column (id, k, x, n, v, day_at, few);
CREATE INDEX plain_grown_i ON plain_grown USING gpu_column (id, k, x, n, v, day_at, few);
SELECT format('INSERT INTO plain_grown SELECT * FROM plain_one WHERE id > %s AND id <= %s', :rows::int8 * i / 8, :rows::int8 * (i + 1) / 8) FROM generate_series(0, 7) AS i
\gexec
VACUUM (FREEZE, ANALYZE) plain_one, plain_grown;
SELECT count(*) AS runs_of_grown_index, min(entries) AS entries_of_smallest FROM gpu.runs('plain_grown_i');
SELECT gpu.load('plain_one_i'), gpu.load('plain_grown_i')
\g /dev/null

CREATE TABLE plain_statements (number serial, name text, body text, is_function bool DEFAULT false);
INSERT INTO plain_statements (name, body, is_function) VALUES
    ('sum(int8)', 'SELECT sum(k) FROM plain_one', false),
    ('sum(numeric)', 'SELECT sum(n) FROM plain_one', false),
    ('sum(float8)', 'SELECT sum(x) FROM plain_one', false),
    ('gpu.summary(int8)', 'SELECT count, nulls, distinct_values, minimum, maximum, sum FROM gpu.summary(''plain_one_i'', ''k'')', true),
    ('the same as SELECT', 'SELECT count(*), count(*) - count(k), count(DISTINCT k), min(k), max(k), sum(k) FROM plain_one', false),
    ('gpu.summary(numeric)', 'SELECT count, nulls, distinct_values, minimum, maximum, sum FROM gpu.summary(''plain_one_i'', ''n'')', true),
    ('gpu.histogram(float8)', 'SELECT bin, count FROM gpu.histogram(''plain_one_i'', ''x'', 100, 0, 3e8) WHERE count > 0', true),
    ('width_bucket(float8)', 'SELECT width_bucket(x, 0, 3e8, 100), count(*) FROM plain_one GROUP BY 1', false),
    ('gpu.histogram(int4)', 'SELECT bin, count FROM gpu.histogram(''plain_one_i'', ''v'', 100, 0, 90000) WHERE count > 0', true),
    ('width_bucket(int4)', 'SELECT width_bucket(v, 0, 90000, 100), count(*) FROM plain_one GROUP BY 1', false),
    ('gpu.count', 'SELECT gpu.count(''plain_one_i'', ''v < 5000 AND few = 3'')', true),
    ('count(*)', 'SELECT count(*) FROM plain_one WHERE v < 5000 AND few = 3', false),
    ('gpu.dictionary', 'SELECT value, count FROM gpu.dictionary(''plain_one_i'', ''v'')', true),
    ('GROUP BY', 'SELECT v, count(*) FROM plain_one GROUP BY v', false),
    ('by day of microseconds', 'SELECT date_trunc(''day'', day_at), count(*), sum(v) FROM plain_one GROUP BY 1', false),
    ('a group a row', 'SELECT id, sum(v) FROM plain_one GROUP BY id', false),
    ('at once: groups', 'SELECT few, count(*), sum(v) FROM plain_one GROUP BY few', false),
    ('grown: groups', 'SELECT few, count(*), sum(v) FROM plain_grown GROUP BY few', false),
    ('at once: filter, sum', 'SELECT sum(v) FROM plain_one WHERE few < 20 AND k < 500000000000', false),
    ('grown: filter, sum', 'SELECT sum(v) FROM plain_grown WHERE few < 20 AND k < 500000000000', false);
CREATE TABLE plain_samples (number int, way text, ms float8, processor_ms float8, answer text);
CREATE FUNCTION processor_ms() RETURNS float8 LANGUAGE sql AS $$ SELECT split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::float8 / 1e6 $$;
CREATE PROCEDURE take_sample(statement plain_statements, way text) LANGUAGE plpgsql AS $$
DECLARE
    began timestamptz;
    used float8;
    answer text;
BEGIN
    PERFORM set_config('pg_gpu.enable_query', CASE way WHEN 'PostgreSQL' THEN 'off' ELSE 'on' END, true),
            set_config('pg_gpu.enable_count_scan', CASE way WHEN 'PostgreSQL' THEN 'off' ELSE 'on' END, true),
            set_config('enable_bitmapscan', CASE way WHEN 'PostgreSQL' THEN 'off' ELSE 'on' END, true),
            set_config('pg_gpu.path', CASE way WHEN 'PostgreSQL' THEN 'paged' ELSE way END, true);
    -- The first time is to be alike, and warms up.
    IF NOT EXISTS (SELECT FROM plain_samples AS s WHERE s.number = statement.number AND s.way = take_sample.way) THEN
        EXECUTE format('SELECT count(*) || '' '' || sum(hashtextextended(s::text, 0)) FROM (%s) AS s', statement.body) INTO answer;
        INSERT INTO plain_samples VALUES (statement.number, way, NULL, NULL, answer);
    END IF;
    began := clock_timestamp();
    used := processor_ms();
    -- Which takes the rows, and does nothing with them.
    EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF) ' || statement.body;
    used := processor_ms() - used;
    INSERT INTO plain_samples VALUES (statement.number, way, extract(epoch FROM clock_timestamp() - began) * 1000, used);
END $$;
CREATE FUNCTION best(which int, by text) RETURNS text LANGUAGE sql AS $$
    SELECT coalesce(round(min(ms)::numeric, 1) || ' (' || round(min(processor_ms)::numeric, 1) || ')', '') FROM plain_samples WHERE number = which AND way = by
$$;
CREATE VIEW plain_results AS
    SELECT number, name, best(number, 'PostgreSQL') AS "PostgreSQL", best(number, 'paged') AS paged, best(number, 'host') AS host,
           (SELECT count(DISTINCT answer) = 1 FROM plain_samples AS s WHERE s.number = t.number) AS alike FROM plain_statements AS t;
SELECT format('CALL take_sample(%L, %L)', s, way) FROM generate_series(1, :runs) AS run, plain_statements AS s, unnest(ARRAY['PostgreSQL', 'paged', 'host']) AS way
WHERE NOT (s.is_function AND way = 'PostgreSQL') AND NOT (way = 'PostgreSQL' AND run > 2) ORDER BY run, s.number, way
\gexec
TABLE plain_results ORDER BY number;

-- A row of each tenth block changes, so that a tenth of the blocks aren't all-visible; then nobody knows anything about them, and then what
-- the last statement has found out.
TRUNCATE plain_samples;
UPDATE plain_one SET few = few WHERE (ctid::text::point)[0]::int % 10 = 3 AND (ctid::text::point)[1] = 1;
SELECT count(*) AS blocks, count(*) FILTER (WHERE NOT all_visible) AS not_all_visible FROM pg_visibility_map('plain_one');
SELECT format('CALL take_sample(%L, %L)', s, way) FROM generate_series(1, :runs) AS run, plain_statements AS s, unnest(ARRAY['PostgreSQL', 'paged', 'host']) AS way
WHERE s.name IN ('at once: groups', 'at once: filter, sum') AND NOT (way = 'PostgreSQL' AND run > 2) ORDER BY run, s.number, way
\gexec
SELECT * FROM plain_results WHERE "paged" <> '' ORDER BY number;

-- What planning costs where no node can be had: milliseconds of a processor, the mean of :runs times three hundred plans, beside a table with a btree
-- on the same columns, and with the nodes turned off.
CREATE TABLE plan_column AS SELECT * FROM plain_one LIMIT 100000;
CREATE TABLE plan_btree AS TABLE plan_column;
CREATE INDEX ON plan_column USING gpu_column (id, k, x, n, v, day_at, few);
CREATE INDEX ON plan_btree (id, k, x, n, v, day_at, few);
CREATE UNIQUE INDEX ON plan_column (id);
CREATE UNIQUE INDEX ON plan_btree (id);
VACUUM ANALYZE plan_column, plan_btree;
CREATE TABLE plan_statements (number serial, body text);
INSERT INTO plan_statements (body) VALUES
    ('SELECT k FROM %s WHERE id = 5'), ('SELECT few, array_agg(v) FROM %s WHERE v > 5 GROUP BY few'), ('SELECT v + few, sum(x * v) FROM %s WHERE n > 5 GROUP BY 1'),
    ('SELECT a.few, string_agg(b.v::text, '','') FROM %1$s AS a JOIN %1$s AS b ON a.id = b.v JOIN %1$s AS c ON c.id = a.v GROUP BY a.few');
CREATE TABLE plan_samples (number int, way text, ms float8);
CREATE PROCEDURE take_plans(statement plan_statements, way text) LANGUAGE plpgsql AS $$
DECLARE
    query text := 'EXPLAIN ' || format(statement.body, CASE way WHEN 'btree' THEN 'plan_btree' ELSE 'plan_column' END);
    used float8;
BEGIN
    PERFORM set_config(name, CASE way WHEN 'nodes off' THEN 'off' ELSE 'on' END, true) FROM pg_settings
        WHERE name IN ('pg_gpu.enable_query', 'pg_gpu.enable_count_scan', 'pg_gpu.enable_lookup_join');
    EXECUTE query;
    used := processor_ms();
    FOR i IN 1 .. 100 LOOP
        EXECUTE query;
    END LOOP;
    INSERT INTO plan_samples VALUES (statement.number, way, (processor_ms() - used) / 100);
END $$;
SELECT format('CALL take_plans(%L, %L)', s, way) FROM generate_series(1, 3 * :runs) AS run, plan_statements AS s, unnest(ARRAY['btree', 'gpu_column', 'nodes off']) AS way
ORDER BY run, s.number, way
\gexec
SELECT body, round(avg(ms) FILTER (WHERE way = 'btree')::numeric, 3) AS btree, round(avg(ms) FILTER (WHERE way = 'gpu_column')::numeric, 3) AS gpu_column,
       round(avg(ms) FILTER (WHERE way = 'nodes off')::numeric, 3) AS "nodes off" FROM plan_samples JOIN plan_statements USING (number) GROUP BY number, body ORDER BY number;

DROP PROCEDURE take_plans;
DROP TABLE plan_column, plan_btree, plan_statements, plan_samples;
DROP VIEW plain_results;
DROP PROCEDURE take_sample;
DROP FUNCTION processor_ms, best;
DROP TABLE plain_one, plain_grown, plain_statements, plain_samples;
