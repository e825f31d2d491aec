-- Statements whose rows don't wait for each other and fill one tail of gpu_column after the other, whose small runs merge sixteen at a time: NULLs, dead rows, strings that
-- begin alike, integers whose ranges meet and that don't. Answers by the index are held against those without it.
SET search_path = public;
SET pg_gpu.insert_memory = 0;
\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all
CREATE TABLE column_stream (id int8, at timestamptz, few int2, far int8, near int4, text1 text, text2 text COLLATE "C", amount numeric(10, 2));
CREATE INDEX column_stream_i ON column_stream USING gpu_column (id, at, few, far, near, text1, text2, amount);
CREATE FUNCTION stream_rows(first int, last int) RETURNS SETOF column_stream LANGUAGE sql AS $$
    SELECT g, timestamptz '2026-01-01 00:00+00' + g * interval '1 second', g % 5,
           CASE WHEN g % 11 = 0 THEN NULL ELSE hashint8extended(g, 1) END, CASE WHEN g % 300 < 150 THEN NULL ELSE g % 97 END,
           'the same beginning ' || md5(g::text), CASE g % 4 WHEN 0 THEN NULL WHEN 1 THEN '' ELSE repeat('x', g % 40) END, (g % 10007) / 100.0
    FROM generate_series(first, last) AS g
$$;
CREATE FUNCTION check_stream() RETURNS TABLE (who text, rows int, same text) LANGUAGE sql AS $$
    SELECT c.* FROM unnest(ARRAY[
        'SELECT count(*), count(far), count(near), count(text2), sum(id), min(at), max(at), min(far), max(far), sum(near), sum(amount) FROM column_stream',
        'SELECT few, count(*), min(text1), max(text1), min(text2), max(text2), count(DISTINCT near) FROM column_stream GROUP BY few',
        'SELECT near, count(*), sum(amount), min(far) FROM column_stream WHERE id > 3000 GROUP BY near',
        'SELECT text2, count(*) FROM column_stream WHERE text2 IS NULL OR length(text2) > 30 GROUP BY text2']) AS q CROSS JOIN LATERAL compare(q) AS c
$$;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
INSERT INTO column_stream SELECT * FROM stream_rows(1, 12000);
-- Of almost two hundred tails that were filled.
SELECT count(*) BETWEEN 1 AND 20 AS few_runs, sum(entries) > 11800 AS most_entries FROM gpu.runs('column_stream_i');
SELECT * FROM check_stream();
DELETE FROM column_stream WHERE id % 3 = 0 OR id BETWEEN 4000 AND 5000;
VACUUM (INDEX_CLEANUP ON) column_stream;
-- Ranges that meet those of the runs there are.
INSERT INTO column_stream SELECT * FROM stream_rows(11000, 18000);
UPDATE column_stream SET near = near + 1, text1 = upper(text1) WHERE few = 2;
SELECT * FROM check_stream();
-- One that is taken back.
BEGIN;
INSERT INTO column_stream SELECT * FROM stream_rows(20000, 26000);
SELECT * FROM check_stream();
ROLLBACK;
SELECT * FROM check_stream();
SELECT * FROM gpu.verify('column_stream_i');
VACUUM column_stream;
SELECT * FROM check_stream();
DROP TABLE column_stream CASCADE;
DROP FUNCTION check_stream();
DROP FUNCTION compare, compare_all, who_answers(text), answer_of(text);
