-- GpuQuery counts the rows that the statement's snapshot sees: whether these are visible is settled before the engine answers.
SET pg_gpu.path = host;
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE seen (id int4, part int4, amount numeric(12,2), word text) WITH (autovacuum_enabled = off, fillfactor = 60);
INSERT INTO seen SELECT i, i % 7, CASE WHEN i % 11 > 0 THEN i * 1.25 END, CASE WHEN i % 5 > 0 THEN 'word ' || i % 13 END FROM generate_series(1, 9000) AS i;
CREATE INDEX seen_i ON seen USING gpu_column (id, part, amount, word);
VACUUM ANALYZE seen;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
-- How many requests a statement takes.
CREATE FUNCTION requests_of(query text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    PERFORM gpu.stat_reset();
    EXECUTE query;
    RETURN (SELECT requests FROM gpu.stat WHERE path = 'host' AND request = 'query');
END
$$;
\set ECHO all
CREATE TABLE statements (n int GENERATED ALWAYS AS IDENTITY, query text);
INSERT INTO statements (query) VALUES
  ('SELECT count(*), sum(amount * 2), min(id), max(amount + 1) FROM seen'),
  ('SELECT part, word, count(*), sum(amount * part), avg(amount) FROM seen GROUP BY part, word'),
  ('SELECT sum(id * part) FROM seen WHERE id BETWEEN 1000 AND 4000'),
  ('SELECT part, sum(id + 1) FROM seen WHERE word LIKE ''word 1%'' AND amount > 100 GROUP BY part');

SELECT n, c.* FROM statements, compare(query) AS c ORDER BY n;
SELECT requests_of(query) FROM statements ORDER BY n;

-- Of what this transaction has done itself no block facts can be made, so the engine names rows that the session looks up.
BEGIN;
DELETE FROM seen WHERE id % 10 = 3;
UPDATE seen SET amount = amount + 1 WHERE id % 100 = 7;
UPDATE seen SET part = part WHERE id % 1000 = 9;
SELECT n, c.* FROM statements, compare(query) AS c ORDER BY n;
SELECT requests_of(query) FROM statements ORDER BY n;
SAVEPOINT before;
DELETE FROM seen WHERE id < 3000;
INSERT INTO seen SELECT i, 3, 2.5, 'later' FROM generate_series(20001, 20600) AS i;
SELECT n, c.* FROM statements, compare(query) AS c ORDER BY n;
ROLLBACK TO before;
SELECT n, c.* FROM statements, compare(query) AS c ORDER BY n;
-- A cursor's snapshot doesn't see what comes after it.
DECLARE earlier CURSOR FOR SELECT count(*), sum(amount * 2), min(id) FROM seen;
DELETE FROM seen WHERE id > 4000;
FETCH earlier;
SELECT count(*), sum(amount * 2), min(id) FROM seen;
ROLLBACK;
SELECT n, c.* FROM statements, compare(query) AS c ORDER BY n;

-- Rows that wait, a tail, raw runs and a second run.
INSERT INTO seen SELECT i, i % 3, i / 8.0, 'new' FROM generate_series(30001, 30400) AS i;
INSERT INTO seen VALUES (40000, NULL, NULL, NULL);
DELETE FROM seen WHERE id % 50 = 1;
SELECT n, c.* FROM statements, compare(query) AS c ORDER BY n;
VACUUM seen;
SELECT n, c.* FROM statements, compare(query) AS c ORDER BY n;
SELECT requests_of(query) FROM statements ORDER BY n;

-- Of runs that are too small for mirrors the session sends the rows itself, unless there are no others; and no run may have any row that counts.
SELECT count(*) AS mirrors, sum(entries) AS entries FROM gpu.mirrors WHERE index_name = 'seen_i'::regclass;
SET pg_gpu.min_mirror_entries = 9000;
INSERT INTO seen SELECT i, i % 3, i / 16.0, 'newest ' || i % 3 FROM generate_series(50001, 50900) AS i;
VACUUM seen;
SELECT n, c.* FROM statements, compare(query) AS c ORDER BY n;
SELECT count(*) AS mirrors, sum(entries) AS entries FROM gpu.mirrors WHERE index_name = 'seen_i'::regclass;
SET pg_gpu.min_mirror_entries = 100000;
SELECT n, c.* FROM statements, compare(query) AS c ORDER BY n;
SELECT * FROM compare('SELECT count(*), sum(amount * 2) FROM seen WHERE id > 900000');
SELECT requests_of('SELECT count(*), sum(amount * 2) FROM seen WHERE id > 900000');

-- A result that work_mem has no room for goes to a file, and is read again.
SET work_mem = '64kB';
SELECT * FROM compare('SELECT id, count(*), sum(amount * 2) FROM seen GROUP BY id');
-- An expression that may raise an error is evaluated in a subtransaction, which the file outlives.
SELECT * FROM compare($$SELECT id, sum(('0' || regexp_replace(word, '[^0-9]', '', 'g'))::int) FROM seen GROUP BY id$$);
SELECT v, count(g), sum(s) FROM (VALUES (0), (1), (2)) AS v (v), LATERAL (SELECT id AS g, sum(amount * 2) AS s FROM seen GROUP BY id HAVING count(*) >= v) AS q GROUP BY v ORDER BY v;
DROP TABLE seen, statements;
DROP FUNCTION requests_of, compare, compare_all, who_answers, answer_of;
