-- Conditions that operators are asked about, on a dictionary so long that the session keeps the rows that match, not only the codes.
SET pg_gpu.path = host;
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;
SET work_mem = '64MB';
\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all
CREATE TABLE words (id int4, small int4, word text) WITH (autovacuum_enabled = off);
CREATE FUNCTION fill_words(low int, high int) RETURNS void LANGUAGE sql AS $$
    INSERT INTO words SELECT i, i % 7, CASE WHEN i % 29 <> 0 THEN 'word ' || i * 7919::int8 % 100003 END FROM generate_series(low, high) AS i
$$;
SELECT fill_words(1, 80000);
CREATE INDEX words_i ON words USING gpu_column (id, small, word);
VACUUM ANALYZE words;
SELECT column_name, encoding, distinct_values > 65536 AS is_long FROM gpu.columns('words_i') WHERE column_name = 'word';
CREATE TABLE asked (number int GENERATED ALWAYS AS IDENTITY, query text);
INSERT INTO asked (query) VALUES
    ('SELECT count(*) FROM words WHERE word LIKE ''%77%'''),
    ('SELECT count(*) FROM words WHERE word LIKE ''%77%'' AND word NOT LIKE ''%8%'''),
    ('SELECT count(*) FROM words WHERE word LIKE ''%77%'' AND small = 3'),
    ('SELECT count(*) FROM words WHERE word LIKE ''word%'''),
    ('SELECT count(*) FROM words WHERE word LIKE ''%none%'''),
    ('SELECT small, count(*), sum(id) FROM words WHERE word LIKE ''%77%'' GROUP BY small'),
    ('SELECT small, count(*), min(word) FROM words WHERE word ~ ''[13]5'' AND id > 30000 GROUP BY small'),
    ('SELECT small, count(*) FROM words WHERE word LIKE ''%77%'' OR word IS NULL GROUP BY small'),
    ('SELECT sum(id) FROM words WHERE word LIKE ''%77%'''),
    ('SELECT count(*) FILTER (WHERE word LIKE ''%77%'') FROM words'),
    ('SELECT count(*) FILTER (WHERE word LIKE ''%77%''), sum(id) FILTER (WHERE word LIKE ''%77%''), count(DISTINCT small) FILTER (WHERE word LIKE ''%77%'') FROM words WHERE small < 5'),
    ('SELECT count(*) FILTER (WHERE word LIKE ''%77%''), sum(id) FILTER (WHERE word LIKE ''%78%''), min(word), count(*) FROM words'),
    ('SELECT small, count(*) FILTER (WHERE word LIKE ''%77%''), sum(id) FILTER (WHERE word LIKE ''%7%'' AND id > 100), max(id) FILTER (WHERE word LIKE ''%77%''), count(word) FROM words GROUP BY small'),
    ('SELECT small, count(*) FILTER (WHERE word NOT LIKE ''%77%''), count(*) FILTER (WHERE (word LIKE ''%7%'') IS NULL), sum(id) FILTER (WHERE word LIKE ''%9%'' OR small = 3) FROM words GROUP BY small'),
    ('SELECT sum(id) FROM words WHERE lower(word) LIKE ''%77%'''),
    ('SELECT small, sum(id) FILTER (WHERE upper(word) LIKE ''%7%'' AND small <> 2), count(*) FILTER (WHERE lower(word) LIKE ''%77%'') FROM words WHERE lower(word) LIKE ''%9%'' AND id + small > 100 GROUP BY small'),
    ('SELECT small, count(DISTINCT id % 100) FILTER (WHERE word LIKE ''%77%''), count(DISTINCT word) FILTER (WHERE lower(word) LIKE ''%7%'') FROM words GROUP BY small'),
    ('SELECT count(*), sum(1000 / (id % 10)) FILTER (WHERE lower(word) LIKE ''%77%'' AND id % 10 > 0) FROM words'),
    ('SELECT word, count(*) FILTER (WHERE word LIKE ''%77%'') FROM words WHERE id < 5000 GROUP BY word');
CREATE VIEW comparison AS SELECT number, c.who, c.rows, c.same FROM asked, compare(query) AS c ORDER BY number;
SELECT * FROM comparison;
-- Again, with what is kept; then without the rows that are gone, and with new ones.
SELECT number, rows, same FROM comparison WHERE same <> 'same';
SELECT number, rows, same FROM comparison WHERE same <> 'same' AND number % 3 = 1;
BEGIN;
DELETE FROM words WHERE id % 10 = 7;
SELECT number, rows, same FROM comparison WHERE same <> 'same' AND number % 3 = 2;
ROLLBACK;
SELECT number, rows, same FROM comparison WHERE same <> 'same' AND number % 3 = 0;
DELETE FROM words WHERE id % 50 = 3;
SELECT fill_words(80001, 80900);
SELECT number, rows, same FROM comparison WHERE same <> 'same' AND number % 3 = 1;
VACUUM words;
SELECT number, rows, same FROM comparison WHERE same <> 'same' AND number % 3 = 2;
SELECT count(*) FROM gpu.merge('words_i') WHERE step = 'merge TIDs';
SELECT number, rows, same FROM comparison WHERE same <> 'same' AND number % 3 = 0;
-- Room for codes and not for rows, and for neither.
SET pg_gpu.map_memory = '32kB';
SELECT number, rows, same FROM comparison WHERE same <> 'same' AND number % 3 = 1;
SELECT number, rows, same FROM comparison WHERE same <> 'same' AND number % 3 = 2;
SET pg_gpu.map_memory = 0;
SELECT number, rows, same FROM comparison WHERE same <> 'same' AND number % 3 = 0;
RESET pg_gpu.map_memory;
-- What all aggregates are filtered by. Groups without such rows are groups nevertheless.
CREATE TABLE label (k int4 PRIMARY KEY, name text);
INSERT INTO label SELECT i, 'label ' || i % 3 FROM generate_series(0, 5) AS i;
ANALYZE label;
\x
SELECT query, c.who, c.rows, c.same FROM unnest(ARRAY[
    'SELECT count(*) FILTER (WHERE word LIKE ''%77%''), max(id) FILTER (WHERE word LIKE ''%77%'') FROM words',
    'SELECT count(*) FILTER (WHERE word LIKE ''%77%'' AND small = 3), count(id) FILTER (WHERE word LIKE ''%77%'' AND small = 3) FROM words WHERE id > 100',
    'SELECT count(*) FILTER (WHERE word LIKE ''%none%''), sum(id) FILTER (WHERE word LIKE ''%none%'') FROM words',
    'SELECT count(*) FILTER (WHERE word IS NULL) FROM words HAVING count(*) FILTER (WHERE word IS NULL) > 10',
    'SELECT sum(100 / small) FILTER (WHERE small > 0) FROM words',
    'SELECT count(DISTINCT word) FILTER (WHERE small > 5), avg(id) FILTER (WHERE small > 5) FROM words',
    'SELECT count(*) FILTER (WHERE small = 3) FROM words GROUP BY GROUPING SETS ((), ())',
    'SELECT count(*) FILTER (WHERE l.name = ''label 1'') FROM words w JOIN label l ON w.small = l.k',
    'SELECT count(*) FILTER (WHERE l.name IS NULL AND w.id > 70000) FROM words w LEFT JOIN label l ON w.small = l.k',
    'SELECT count(*) FILTER (WHERE false), sum(id) FILTER (WHERE false) FROM words',
    'SELECT count(*) FILTER (WHERE word LIKE ''%77%''), count(*) FROM words',
    'SELECT count(*) FILTER (WHERE 100 / small > 50) FROM words WHERE small > 0',
    'SELECT count(*) FILTER (WHERE 100 / small > 50) FROM words',
    'SELECT small, count(*) FILTER (WHERE small = 3) FROM words GROUP BY small',
    'SELECT count(*) FILTER (WHERE small = 3) FROM words WHERE id < 0 GROUP BY small',
    'SELECT 1 FROM words HAVING count(*) FILTER (WHERE small = 99) = 0']) AS q (query), compare(query) AS c;
\x
DROP TABLE label;
DROP TABLE words, asked CASCADE;
DROP FUNCTION fill_words, answer_of, who_answers, compare, compare_all;
