-- Results of immutable expressions that a session keeps for later statements: each statement is run several times, before and after
-- changes, with the node GpuQuery and without it, and the answers are held against each other.
SET pg_gpu.path = host;
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;
SET timezone = 'UTC';
SET synchronous_commit = on;
SET extra_float_digits = 1;
\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all
CREATE TABLE mapped (id int4, word text, price numeric, f8 float8, small int2) WITH (autovacuum_enabled = off);
INSERT INTO mapped SELECT i, CASE WHEN i % 11 <> 0 THEN 'wörd ' || i % 400 END, CASE WHEN i % 7 <> 0 THEN (i % 900) * 1.37 - 300 END, (i % 300) / 7.0, i % 10 FROM generate_series(1, 6000) AS i;
CREATE INDEX mapped_i ON mapped USING gpu_column (word, price, f8, small, id);
VACUUM ANALYZE mapped;
CREATE FUNCTION measure(text) RETURNS int4 LANGUAGE internal IMMUTABLE STRICT AS 'textlen';
CREATE FUNCTION compute(text) RETURNS int4 LANGUAGE sql IMMUTABLE STRICT AS 'SELECT length($1) + 1';
CREATE FUNCTION depend(text) RETURNS int4 LANGUAGE plpgsql IMMUTABLE STRICT AS 'BEGIN RETURN length($1) * (SELECT n FROM factor); END';
CREATE TABLE factor (n int4);
INSERT INTO factor VALUES (2);
CREATE FUNCTION ask() RETURNS TABLE (number bigint, who text, same text) LANGUAGE sql AS $$
    SELECT number, c.who, c.same FROM unnest(ARRAY[
        'SELECT count(*) FILTER (WHERE word LIKE ''%3%''), count(*) FILTER (WHERE word NOT LIKE ''_\_%''), count(*) FILTER (WHERE word ILIKE ''WÖRD 1%'') FROM mapped',
        'SELECT sum(length(word)), min(measure(word)), max(compute(word)), sum(octet_length(word)), sum(depend(word)) FROM mapped',
        'SELECT sum(price), avg(price), stddev(price), max(price), sum(price * 2 - 1), sum(coalesce(length(word), 100)) FROM mapped',
        'SELECT small, sum(price), sum(length(f8::text)), count(lower(word)) FROM mapped WHERE f8::text LIKE ''%3'' GROUP BY small',
        'SELECT small, sum(length(word)) FROM mapped WHERE price > 100 AND length(word) % 2 = 0 AND sqrt(price) > 3 GROUP BY small',
        'SELECT small, count(*) FROM mapped WHERE word LIKE ''%1%'' AND word NOT LIKE ''%2'' GROUP BY small',
        'SELECT upper(left(word, 7)), split_part(word, ''d'', 2) > '' 2'', count(*), min(replace(word, ''r'', ''l'')), max(nullif(right(word, 1), ''3'')) FROM mapped GROUP BY 1, 2']) WITH ORDINALITY AS q (query, number), compare(query) AS c ORDER BY number $$;
SELECT * FROM ask();
SELECT * FROM ask();
-- A function is replaced; a setting that functions show values by changes; and what a function depends on though it is declared not to.
CREATE OR REPLACE FUNCTION measure(text) RETURNS int4 LANGUAGE internal IMMUTABLE STRICT AS 'textoctetlen';
SET extra_float_digits = -10;
UPDATE factor SET n = 3;
SELECT * FROM ask();
RESET extra_float_digits;
BEGIN;
CREATE OR REPLACE FUNCTION measure(text) RETURNS int4 LANGUAGE internal IMMUTABLE STRICT AS 'textlen';
SELECT * FROM ask() WHERE number = 2;
ROLLBACK;
SELECT * FROM ask() WHERE number = 2;
-- Runs change, and the index's file does.
INSERT INTO mapped SELECT id + 6000, word || 'é', price + 0.005, f8 * 3, small FROM mapped WHERE id % 3 = 0;
SELECT * FROM ask();
VACUUM mapped;
SELECT * FROM ask();
REINDEX INDEX mapped_i;
SELECT * FROM ask();
BEGIN;
DELETE FROM mapped WHERE id % 2 = 0;
TRUNCATE mapped;
INSERT INTO mapped SELECT i, 'other ' || i, i, i, i % 10 FROM generate_series(1, 1000) AS i;
SELECT * FROM ask();
ROLLBACK;
SELECT * FROM ask();
-- Little memory, and none.
SET pg_gpu.map_memory = '8kB';
SELECT * FROM ask();
SET pg_gpu.map_memory = 0;
SELECT * FROM ask();
RESET pg_gpu.map_memory;
-- Settings that functions depend on though they are declared to be immutable, and what is looked up by text search.
CREATE TEXT SEARCH CONFIGURATION mapped_words (COPY = english);
CREATE FUNCTION ask_settings() RETURNS TABLE (number bigint, same text) LANGUAGE sql AS $$
    SELECT number, c.same FROM unnest(ARRAY[
        'SELECT sum(length(quote_ident(code))), count(*) FILTER (WHERE length(quote_ident(code)) = 4) FROM mapped_more',
        'SELECT count(*) FILTER (WHERE at AT TIME ZONE ''EST'' < ''2026-01-03 00:00+00''::timestamptz) FROM mapped_more',
        'SELECT sum(length(xmlserialize(content xmlelement(name x, bytes) AS text))) FROM mapped_more',
        'SELECT sum(length(to_tsvector(''mapped_words'', line))), count(*) FILTER (WHERE to_tsvector(''mapped_words'', line) @@ ''run''::tsquery) FROM mapped_more',
        'SELECT count(*) FROM mapped_more WHERE length(quote_ident(code)) = 4'])
        WITH ORDINALITY AS q (query, number), compare(query) AS c ORDER BY number $$;
CREATE TABLE mapped_more (id int4, code text, at timestamp, bytes bytea, line text) WITH (autovacuum_enabled = off);
INSERT INTO mapped_more SELECT i, chr(97 + i % 3) || 'bcd', timestamp '2026-01-01' + i % 100 * interval '1 hour', decode('0102' || to_char(i % 10, 'FM00'), 'hex'),
    (ARRAY['the running dogs', 'cats'])[1 + i % 2] FROM generate_series(1, 2000) AS i;
CREATE INDEX mapped_more_i ON mapped_more USING gpu_column (code, at, bytes, line, id);
VACUUM ANALYZE mapped_more;
SELECT * FROM ask_settings();
SELECT * FROM ask_settings();
SET quote_all_identifiers = on;
SET timezone_abbreviations = 'Australia';
SET xmlbinary = hex;
ALTER TEXT SEARCH CONFIGURATION mapped_words ALTER MAPPING FOR asciiword WITH simple;
SELECT * FROM ask_settings();
RESET quote_all_identifiers;
RESET timezone_abbreviations;
RESET xmlbinary;
SELECT * FROM ask_settings();
-- However many there are, no more memory is taken than is allowed.
SET pg_gpu.map_memory = '1MB';
DO $$
BEGIN
    FOR i IN 1 .. 200 LOOP
        EXECUTE format('SELECT count(*) FILTER (WHERE line LIKE %L) FROM mapped_more', '%' || repeat('a', 50000) || i || '%');
    END LOOP;
END $$;
SELECT sum(total_bytes) BETWEEN 500000 AND 1048576 AS is_bounded FROM pg_backend_memory_contexts WHERE name = 'pg_gpu results';
RESET pg_gpu.map_memory;
DROP FUNCTION ask_settings;
DROP TABLE mapped_more;
DROP TEXT SEARCH CONFIGURATION mapped_words;
-- A domain's constraint comes.
CREATE DOMAIN short AS text;
SELECT * FROM compare('SELECT count(word::short), sum(length(word::short)) FROM mapped');
ALTER DOMAIN short ADD CHECK (length(VALUE) < 5);
SELECT * FROM compare('SELECT count(word::short), sum(length(word::short)) FROM mapped');
DROP DOMAIN short;
-- A pattern that isn't whole.
SELECT * FROM compare_all($list$
SELECT count(*) FILTER (WHERE word LIKE '%3\') FROM mapped
SELECT count(*) FROM mapped WHERE price > 100 AND word || 'x' LIKE 'w%\'
$list$);
DROP TABLE mapped, factor;
DROP FUNCTION ask, measure, compute, depend, answer_of, who_answers, compare, compare_all;
