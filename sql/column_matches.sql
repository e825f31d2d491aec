-- Conditions that operators are asked about, on a dictionary so long that the session keeps the rows that match, not only the codes.
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
    ('SELECT sum(id) FROM words WHERE word LIKE ''%77%''');
CREATE VIEW comparison AS SELECT number, c.who, c.rows, c.same FROM asked, compare(query) AS c ORDER BY number;
SELECT * FROM comparison;
-- Again, with what is kept; then without the rows that are gone, and with new ones.
SELECT number, rows, same FROM comparison WHERE same <> 'same';
SELECT number, rows, same FROM comparison WHERE same <> 'same';
BEGIN;
DELETE FROM words WHERE id % 10 = 7;
SELECT number, rows, same FROM comparison WHERE same <> 'same';
ROLLBACK;
SELECT number, rows, same FROM comparison WHERE same <> 'same';
DELETE FROM words WHERE id % 50 = 3;
SELECT fill_words(80001, 80900);
SELECT number, rows, same FROM comparison WHERE same <> 'same';
VACUUM words;
SELECT number, rows, same FROM comparison WHERE same <> 'same';
SELECT count(*) FROM gpu.merge('words_i') WHERE step = 'merge TIDs';
SELECT number, rows, same FROM comparison WHERE same <> 'same';
-- Room for codes and not for rows, and for neither.
SET pg_gpu.map_memory = '32kB';
SELECT number, rows, same FROM comparison WHERE same <> 'same';
SELECT number, rows, same FROM comparison WHERE same <> 'same';
SET pg_gpu.map_memory = 0;
SELECT number, rows, same FROM comparison WHERE same <> 'same';
DROP TABLE words, asked CASCADE;
DROP FUNCTION fill_words, answer_of, who_answers, compare;
