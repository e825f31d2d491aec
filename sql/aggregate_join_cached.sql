-- Rows of joined tables, and where codes lead among them, which a session keeps for later statements: what compare() finds with the node and
-- without it, before and after changes. kept() says how many tables' rows were taken from an earlier statement.
SET max_parallel_workers_per_gather = 0;
SET synchronous_commit = on;
DO $$ BEGIN PERFORM set_config(name, 'off', false) FROM pg_settings WHERE name = 'enable_presorted_aggregate'; END $$;
CREATE TABLE fact (id int, near int, amount int) WITH (autovacuum_enabled = off);
CREATE TABLE near (k int PRIMARY KEY, name text, many text, kind int, note int) WITH (autovacuum_enabled = off, fillfactor = 50);
INSERT INTO near SELECT i, CASE WHEN i % 9 <> 0 THEN 'name ' || i % 23 END, 'many ' || i % 700, CASE WHEN i % 7 <> 0 THEN i % 12 END, 0 FROM generate_series(1, 12000) AS i;
INSERT INTO fact SELECT i, CASE WHEN i % 17 <> 0 THEN (i * 7) % 15000 - 1000 END, i % 500 - 100 FROM generate_series(1, 20000) AS i;
CREATE INDEX fact_i ON fact USING gpu_column (id, near, amount);
CREATE INDEX near_i ON near USING gpu_column (k, name, many, kind);
VACUUM ANALYZE fact, near;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all
CREATE FUNCTION kept(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    line text;
    tables bigint := 0;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
        tables := tables + coalesce(substring(line FROM 'Cached Tables: (.*)')::int, 0);
    END LOOP;
    RETURN tables;
END $$;
CREATE FUNCTION measure(text) RETURNS int LANGUAGE internal IMMUTABLE STRICT AS 'textlen';
CREATE FUNCTION ask() RETURNS TABLE (number bigint, who text, rows int, same text, kept bigint) LANGUAGE sql AS $$
    SELECT number, c.*, kept(query) FROM unnest(ARRAY[
        'SELECT n.name, count(*), sum(f.amount) FROM fact f JOIN near n ON f.near = n.k GROUP BY 1',
        'SELECT n.many, n.kind, sum(n.kind) FROM fact f JOIN near n ON f.near = n.k WHERE n.kind > 5 GROUP BY 1, 2',
        'SELECT n.name, n.kind IS NULL, count(n.k), sum(f.amount) FROM fact f LEFT JOIN near n ON f.near = n.k GROUP BY 1, 2',
        'SELECT count(*), sum(f.amount) FROM fact f WHERE f.near IN (SELECT k FROM near WHERE name = ''name 2'')',
        'SELECT count(*), sum(f.amount) FROM fact f WHERE NOT EXISTS (SELECT FROM near n WHERE n.k = f.near AND n.kind = 3)',
        'SELECT a.name, b.name, count(*), sum(a.kind - b.kind) FROM fact f JOIN near a ON f.near = a.k LEFT JOIN near b ON f.id = b.k GROUP BY 1, 2',
        'SELECT f.near % 3, n.kind + f.near, count(*) FROM fact f JOIN near n ON f.near = n.k WHERE f.id < 3000 GROUP BY 1, 2',
        'SELECT sum(length(n.name)), min(n.many), count(*) FILTER (WHERE n.name LIKE ''%1'') FROM fact f JOIN near n ON f.near = n.k',
        'SELECT n.name, count(*) FROM fact f JOIN near n ON f.near = n.k WHERE measure(n.name) = 6 GROUP BY 1']) WITH ORDINALITY AS q (query, number), compare(query) AS c ORDER BY number $$;
SET enable_seqscan = off;
SET enable_nestloop = off;
SET enable_bitmapscan = off;
SET enable_indexscan = off;
SELECT * FROM ask();

-- Values that other statements ask for.
SELECT kept(format('SELECT n.name, count(*) FROM fact f JOIN near n ON f.near = n.k WHERE n.kind > %s GROUP BY 1', kind)) FROM unnest('{1,2,1,2,3}'::int[]) AS kind;
PREPARE by_kind(int) AS SELECT n.name, count(*) FROM fact f JOIN near n ON f.near = n.k WHERE n.kind > $1 GROUP BY 1 ORDER BY 1 LIMIT 2;
SET plan_cache_mode = force_generic_plan;
EXECUTE by_kind(3);
EXECUTE by_kind(4);
EXECUTE by_kind(3);
RESET plan_cache_mode;

-- Rows of the joined table come, go and change. Until everyone sees all of them nothing is kept.
BEGIN;
DELETE FROM near WHERE k % 5 = 1;
UPDATE near SET name = 'new ' || k % 7 WHERE k % 5 = 2;
INSERT INTO near VALUES (-100, 'other', 'other', 1, 1), (-101, NULL, NULL, NULL, NULL);
SELECT * FROM ask();
ROLLBACK;
SELECT number, rows, same, kept FROM ask();
VACUUM near;
SELECT number, rows, same FROM ask();
DELETE FROM near WHERE k % 5 = 1;
UPDATE near SET name = 'new ' || k % 7 WHERE k % 5 = 2;
INSERT INTO near VALUES (-100, 'other', 'other', 1, 1), (-101, NULL, NULL, NULL, NULL);
SELECT number, rows, same, kept FROM ask();
VACUUM near;
SELECT number, rows, same, kept FROM ask();
-- Versions that share an entry.
UPDATE near SET note = k WHERE k % 50 = 3;
VACUUM near;
SELECT number, rows, same, kept FROM ask();
INSERT INTO near VALUES (-102, 'tail', 'tail', 2, 1);
VACUUM near;
SELECT number, rows, same, kept FROM ask();

-- The other side changes: rows without a run, several runs whose groups come in another order, and none of the old ones.
INSERT INTO fact SELECT 20000 + i, 12000 - i * 3, i FROM generate_series(1, 500) AS i;
INSERT INTO fact VALUES (30001, -102, 5), (30002, -101, 6), (30003, NULL, 7);
SELECT number, rows, same, kept FROM ask();
DELETE FROM fact WHERE id % 3 = 0;
SELECT number, rows, same, kept FROM ask();
VACUUM fact;
SELECT number, rows, same, kept FROM ask();
SELECT count(*) > 0 AS merged FROM gpu.merge('fact_i');
SELECT number, rows, same, kept FROM ask();

-- A function is replaced, the table is another one, and so is its index.
CREATE OR REPLACE FUNCTION measure(text) RETURNS int LANGUAGE internal IMMUTABLE STRICT AS 'textoctetlen';
SELECT number, rows, same, kept FROM ask();
REINDEX INDEX near_i;
SELECT number, rows, same, kept FROM ask();
BEGIN;
TRUNCATE near;
INSERT INTO near SELECT i, 'again ' || i % 3, 'many ' || i % 700, i % 5 FROM generate_series(1, 9000) AS i;
SELECT number, rows, same FROM ask();
ROLLBACK;
SELECT number, rows, same, kept FROM ask();

-- Rows that a cursor goes on using are there until it ends, whatever comes meanwhile.
BEGIN;
DECLARE names CURSOR FOR SELECT n.name, count(*) FROM fact f JOIN near n ON f.near = n.k GROUP BY 1 ORDER BY 1;
FETCH 2 FROM names;
SET LOCAL pg_gpu.map_memory = '16kB';
SELECT number, rows, same FROM ask();
FETCH 2 FROM names;
COMMIT;

-- Little memory, and none.
SET pg_gpu.map_memory = '64kB';
SELECT number, rows, same FROM ask();
SELECT coalesce(sum(total_bytes), 0) <= 65536 AS is_bounded FROM pg_backend_memory_contexts WHERE name = 'pg_gpu results';
SET pg_gpu.map_memory = 0;
SELECT number, rows, same, kept FROM ask();
RESET pg_gpu.map_memory;

-- Tables so small that they are read by plain scans: by all of the ways, by keys of text, and with columns that their gpu_column index lacks.
CREATE TABLE small (k int, name text, kind int, note int) WITH (autovacuum_enabled = off, fillfactor = 50);
CREATE TABLE word (name text PRIMARY KEY, label text) WITH (autovacuum_enabled = off);
INSERT INTO small SELECT i, 'name ' || i % 23, i % 12, i % 3 FROM generate_series(-200, 600) AS i;
INSERT INTO word SELECT 'name ' || i, 'label ' || i % 4 FROM generate_series(0, 19) AS i;
ALTER TABLE small ADD PRIMARY KEY (k);
CREATE INDEX small_partial ON small (k) WHERE kind > 4;
CREATE INDEX small_i ON small USING gpu_column (k, name, kind);
CREATE INDEX word_i ON word USING gpu_column (name, label);
VACUUM (ANALYZE, INDEX_CLEANUP ON) small, word, near;
CREATE OR REPLACE FUNCTION ask() RETURNS TABLE (number bigint, who text, rows int, same text, kept bigint) LANGUAGE sql AS $$
    SELECT number, c.*, kept(query) FROM unnest(ARRAY[
        'SELECT s.name, count(*), sum(f.amount) FROM fact f JOIN small s ON f.near = s.k GROUP BY 1',
        'SELECT s.kind, s.name, count(*) FROM fact f JOIN small s ON f.near = s.k WHERE s.kind > 4 AND s.name LIKE ''%1%'' GROUP BY 1, 2',
        'SELECT s.note, count(*), sum(f.amount) FROM fact f JOIN small s ON f.near = s.k GROUP BY 1',
        'SELECT s.name, count(*) FROM fact f JOIN small s ON f.near = s.k WHERE s.note = 1 GROUP BY 1',
        'SELECT s.name, count(*), count(s.k) FROM fact f LEFT JOIN small s ON f.near = s.k AND s.kind = 7 GROUP BY 1',
        'SELECT count(*), sum(f.amount) FROM fact f WHERE f.near IN (SELECT kind FROM small WHERE name > ''name 2'')',
        'SELECT s.name, count(*) FROM fact f JOIN small s ON f.near = s.k WHERE now() > ''2000-01-01'' AND s.kind < extract(year FROM now()) GROUP BY 1',
        'SELECT s.name, count(*) FROM fact f JOIN small s ON f.near = s.k WHERE s.ctid > ''(0,5)'' GROUP BY 1',
        'SELECT s.kind, w.label, count(*) FROM fact f JOIN small s ON f.near = s.k JOIN word w ON s.name = w.name GROUP BY 1, 2'])
        WITH ORDINALITY AS q (query, number), compare(query) AS c ORDER BY number $$;
RESET enable_seqscan;
RESET enable_indexscan;
RESET enable_bitmapscan;
SELECT * FROM ask();
SELECT * FROM ask();
SET enable_seqscan = off;
SELECT number, rows, same FROM ask();
SET enable_indexscan = off;
SELECT number, rows, same FROM ask();
RESET enable_seqscan;
RESET enable_indexscan;
-- Only columns that the index lacks change, in versions that share entries.
UPDATE small SET note = note + 10 WHERE k % 4 = 0;
SELECT number, rows, same, kept FROM ask();
VACUUM small;
SELECT number, rows, same, kept FROM ask();
UPDATE small SET name = 'other' WHERE k % 9 = 0;
DELETE FROM small WHERE k % 10 = 3;
DELETE FROM word WHERE label = 'label 2';
SELECT number, rows, same, kept FROM ask();
VACUUM (INDEX_CLEANUP ON) small, word;
SELECT number, rows, same, kept FROM ask();
-- The index that tells of changes goes, and one that has only some of the rows comes.
DROP INDEX small_i;
CREATE INDEX small_i ON small USING gpu_column (k, name, kind) WHERE kind > 4;
VACUUM small;
SELECT number, rows, same, kept FROM ask();
UPDATE small SET name = 'partial' WHERE k % 8 = 1 AND kind <= 4;
VACUUM (INDEX_CLEANUP ON) small;
SELECT number, rows, same, kept FROM ask();
-- An index with an expression doesn't have whole rows.
DROP INDEX small_i;
CREATE INDEX small_i ON small USING gpu_column (k, name, (length(name)));
VACUUM (INDEX_CLEANUP ON) small;
CREATE FUNCTION ask_whole() RETURNS TABLE (who text, rows int, same text, kept bigint) LANGUAGE sql AS $$
    SELECT c.*, kept(query) FROM (VALUES ('SELECT s.name, count(*) FROM fact f JOIN small s ON f.near = s.k WHERE s IS NOT NULL GROUP BY 1')) AS q (query), compare(query) AS c $$;
SELECT * FROM ask_whole();
UPDATE small SET note = NULL WHERE k % 4 = 1;
VACUUM small;
SELECT * FROM ask_whole();
-- Keys far apart, which the other side has as a column or as an expression: rows are hashed differently.
CREATE TABLE remote (k bigint PRIMARY KEY, name text) WITH (autovacuum_enabled = off);
INSERT INTO remote SELECT i * 20000003, 'name ' || i % 4 FROM generate_series(-50, 50) AS i;
CREATE TABLE both_ways (id int, short int, long bigint) WITH (autovacuum_enabled = off);
INSERT INTO both_ways SELECT i, (i % 100 - 30) * 20000003, (i % 100 - 30) * 20000003 FROM generate_series(1, 20000) AS i;
CREATE INDEX remote_i ON remote USING gpu_column (k, name);
CREATE INDEX both_ways_i ON both_ways USING gpu_column (id, short, long);
VACUUM ANALYZE remote, both_ways;
CREATE FUNCTION ask_hashed(int[]) RETURNS TABLE (number int, who text, rows int, same text) LANGUAGE sql AS $$
    SELECT number, c.* FROM unnest($1) WITH ORDINALITY AS n (number, place),
        compare(format('SELECT r.name, sum(b.id), count(DISTINCT b.id) FROM both_ways b JOIN remote r ON %s = r.k GROUP BY 1',
                       (ARRAY['b.short::bigint', 'b.long'])[number])) AS c ORDER BY place $$;
SELECT * FROM ask_hashed('{1,2,1,2}');
UPDATE remote SET name = 'other' WHERE k = 0;
VACUUM (INDEX_CLEANUP ON) remote;
SELECT * FROM ask_hashed('{2,1,2,1}');
DROP TABLE remote, both_ways;
DROP FUNCTION ask_hashed;
-- Parameters of a subquery for each row.
SELECT * FROM compare('SELECT v, (SELECT sum(f.amount) FROM fact f JOIN word w ON ''name '' || f.near = w.name WHERE w.label = v) FROM unnest(''{label 1,label 3}''::text[]) AS v');
DROP TABLE fact, near, small, word;
DROP FUNCTION ask, ask_whole, kept, measure, compare, compare_all, who_answers, answer_of;
