-- A condition and an expression over five million different words, asked for the first time in a session and again: on the paged and the host
-- path, and by PostgreSQL's own plan. Prints milliseconds, of repetitions the least of :runs, and whether answers are alike.
-- usage: psql -X -q -v runs=9 -f test/bench/maps.sql
\set ON_ERROR_STOP on
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pg_gpu;
CREATE TABLE words (word text, small int2);
INSERT INTO words SELECT 'word ' || hashint8extended(i, 7), i % 10 FROM generate_series(1, 5000000) AS i;
CREATE INDEX words_i ON words USING gpu_column (word, small);
VACUUM (FREEZE, ANALYZE) words;
SELECT gpu.load('words_i')
\g /dev/null
CREATE TABLE statements (name text, body text);
INSERT INTO statements VALUES
    ('WHERE word LIKE ''%77%''', 'SELECT count(*) FROM words WHERE word LIKE ''%77%'''),
    ('... GROUP BY small', 'SELECT small, count(*) FROM words WHERE word LIKE ''%78%'' GROUP BY small'),
    ('FILTER (WHERE word LIKE ''%79%'')', 'SELECT count(*) FILTER (WHERE word LIKE ''%79%'') FROM words');
CREATE TABLE samples (name text, way text, number int, ms float8, answer text);
CREATE PROCEDURE take_samples(statement statements, way text, runs int) LANGUAGE plpgsql AS $$
DECLARE
    began timestamptz;
    answer text;
BEGIN
    PERFORM set_config('pg_gpu.enable_query', CASE way WHEN 'PostgreSQL' THEN 'off' ELSE 'on' END, true),
            set_config('pg_gpu.enable_count_scan', CASE way WHEN 'PostgreSQL' THEN 'off' ELSE 'on' END, true),
            set_config('pg_gpu.path', CASE way WHEN 'PostgreSQL' THEN 'paged' ELSE way END, true),
            set_config('enable_bitmapscan', CASE way WHEN 'PostgreSQL' THEN 'off' ELSE 'on' END, true),
            -- What was kept for another way goes.
            set_config('pg_gpu.map_memory', '0', true);
    EXECUTE 'SELECT count(*) FROM words WHERE word LIKE ''%none%''';
    PERFORM set_config('pg_gpu.map_memory', '32MB', true);
    FOR number IN 0 .. runs LOOP
        began := clock_timestamp();
        EXECUTE format('SELECT string_agg(s::text, '';'' ORDER BY s::text) FROM (%s) AS s', statement.body) INTO answer;
        INSERT INTO samples VALUES (statement.name, way, number, extract(epoch FROM clock_timestamp() - began) * 1000, answer);
    END LOOP;
END $$;
SELECT format('CALL take_samples(%L, %L, %s)', s, way, :runs) FROM statements AS s, unnest(ARRAY['PostgreSQL', 'paged', 'host']) AS way
\gexec
SELECT name, round(min(ms) FILTER (WHERE way = 'PostgreSQL')::numeric, 1) AS "PostgreSQL",
       round(min(ms) FILTER (WHERE way = 'paged' AND number = 0)::numeric, 1) AS "paged, first", round(min(ms) FILTER (WHERE way = 'paged' AND number > 0)::numeric, 1) AS again,
       round(min(ms) FILTER (WHERE way = 'host' AND number = 0)::numeric, 1) AS "host, first", round(min(ms) FILTER (WHERE way = 'host' AND number > 0)::numeric, 1) AS again,
       count(DISTINCT answer) = 1 AS alike
FROM samples GROUP BY name ORDER BY 2;
DROP PROCEDURE take_samples;
DROP TABLE words, statements, samples;
