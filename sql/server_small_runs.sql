-- Small runs stay at home: the session reads them from pages while the server process answers for the large ones.
LOAD 'pg_gpu';
SET pg_gpu.min_mirror_entries = 4096;
SET pg_gpu.path = host;
-- Where pages find a key as soon as the server process, no batch of keys makes it pay to load a small run, whatever loads took other tests.
LOAD 'pg_gpu_test';
SET pg_gpu_test.costs = 'paged_key = 0.02';
CREATE TABLE young (a int4, b int4, x int4, y int4);
INSERT INTO young SELECT i * 2, i % 7, i % 200, i / 200 FROM generate_series(1, 20000) AS i;
CREATE INDEX young_a ON young USING gpu_kary (a);
CREATE INDEX young_ab ON young USING gpu_kary (a, b);
CREATE INDEX young_xy ON young USING gpu_grid (x, y);
INSERT INTO young SELECT i, nullif(i % 7, 3), i % 200, i / 200 FROM generate_series(1, 3500) AS i;
INSERT INTO young SELECT NULL, i, NULL, i FROM generate_series(1, 10) AS i;
DELETE FROM young WHERE a % 50 = 0;
VACUUM (ANALYZE) young;
INSERT INTO young VALUES (4, 4, 4, 4), (4000, 1, 0, 20);

-- Only large runs are loaded.
SELECT name, (SELECT count(*) > 1 FROM gpu.runs(name::regclass)) AS several_runs, gpu.load(name::regclass) > 0 AS loaded
FROM (VALUES ('young_a'), ('young_ab'), ('young_xy')) AS v (name);
SELECT index_name, entries FROM gpu.mirrors WHERE index_name IN ('young_a'::regclass, 'young_ab'::regclass, 'young_xy'::regclass) ORDER BY index_name::text;

\getenv source PG_ABS_SRCDIR
\set asked :source '/test/regress/asked.sql'
\set ECHO none
\i :asked
\set ECHO all
SELECT * FROM asked('SELECT a, x FROM young WHERE a = ANY (ARRAY(SELECT generate_series(1, 9000, 3))) ORDER BY a, x');
SELECT * FROM asked('SELECT a FROM young WHERE a BETWEEN 100 AND 9000 ORDER BY a DESC');
SELECT * FROM asked('SELECT count(*) FROM young WHERE a = ANY (ARRAY(SELECT generate_series(1, 9000, 3)))');
SELECT * FROM asked('SELECT count(*) FROM young WHERE a BETWEEN 100 AND 9000');
SELECT * FROM asked('SELECT count(*) FROM young WHERE a BETWEEN 100 AND 9000 AND b IS NOT NULL');
SELECT * FROM asked('SELECT gpu.count(''young_a'', ARRAY[100], ARRAY[9000])');
SELECT * FROM asked('SELECT gpu.count(''young_ab'', ARRAY[100, 2], ARRAY[9000, 5])');
SELECT * FROM asked('SELECT * FROM gpu.count_batch(''young_a'', ARRAY[[1], [3], [500], [90000]], ARRAY[[4], [3], [9000], [90001]])');
SELECT * FROM asked('SELECT position, tid FROM gpu.lookup(''young_a'', ARRAY(SELECT generate_series(1, 9000, 3))) AS l (position, tid) ORDER BY 1, 2');
SELECT * FROM asked('SELECT gpu.count(''young_xy'', ARRAY[20, 1], ARRAY[90, 60])');
SELECT * FROM asked('SELECT x, y, a FROM young WHERE x BETWEEN 20 AND 90 AND y BETWEEN 1 AND 60 ORDER BY 1, 2, 3');
SELECT index_name, entries FROM gpu.mirrors WHERE index_name IN ('young_a'::regclass, 'young_ab'::regclass, 'young_xy'::regclass) ORDER BY index_name::text;

-- Nor are small runs asked for many boxes: the session compares their rows with all of them.
SELECT * FROM asked('SELECT * FROM gpu.count_batch(''young_xy'', (SELECT array_agg(ARRAY[i % 200, i / 2]) FROM generate_series(1, 100) AS i), (SELECT array_agg(ARRAY[i % 200 + 5, i / 2 + 9]) FROM generate_series(1, 100) AS i))');
SELECT count(*) = (SELECT count(*) FROM gpu.runs('young_xy')) AS all_mirrored FROM gpu.mirrors WHERE index_name = 'young_xy'::regclass;

-- An index of small runs alone is answered from pages, whatever pg_gpu.path says, and gpu.stat tells why.
CREATE TABLE tiny AS SELECT i AS a, i % 10 AS x, i / 10 AS y FROM generate_series(1, 1000) AS i;
CREATE INDEX tiny_a ON tiny USING gpu_kary (a);
CREATE INDEX tiny_xy ON tiny USING gpu_grid (x, y);
VACUUM (ANALYZE) tiny;
SELECT gpu.load('tiny_a') AS bytes_of_keys, gpu.load('tiny_xy') AS bytes_of_points;
SELECT * FROM asked('SELECT count(*) FROM tiny WHERE a BETWEEN 10 AND 90');
SELECT request, fallbacks > 0 AS fell_back, last_reason FROM gpu.stat WHERE path = 'host' AND fallbacks > 0;
SELECT * FROM asked('SELECT count(*) FROM gpu.lookup(''tiny_a'', ARRAY[1, 2, 3])');
SELECT request, fallbacks > 0 AS fell_back, last_reason FROM gpu.stat WHERE path = 'host' AND fallbacks > 0;
SELECT * FROM asked('SELECT gpu.count(''tiny_xy'', ARRAY[2, 10], ARRAY[5, 60])');
SELECT request, fallbacks > 0 AS fell_back, last_reason FROM gpu.stat WHERE path = 'host' AND fallbacks > 0;
SELECT count(*) FROM gpu.mirrors WHERE index_name IN ('tiny_a'::regclass, 'tiny_xy'::regclass);
DO $$
DECLARE
    line text;
BEGIN
    SET LOCAL enable_seqscan = off;
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT count(*) FROM tiny WHERE a = ANY (ARRAY(SELECT generate_series(1, 900)))' LOOP
        IF line ~ 'Custom Scan|Path|Requests|Batch Size' THEN
            RAISE NOTICE '%', regexp_replace(line, ' *\(actual .*', '');
        END IF;
    END LOOP;
END $$;

-- 0 mirrors all.
SET pg_gpu.min_mirror_entries = 0;
SELECT gpu.load('tiny_a') > 0 AS loaded_keys, gpu.load('tiny_xy') > 0 AS loaded_points;
SELECT * FROM asked('SELECT count(*) FROM tiny WHERE a BETWEEN 10 AND 90');
SET pg_gpu.min_mirror_entries = -1;
DROP FUNCTION asked;
DROP TABLE young, tiny;

-- A batch loads small runs where pages would take longer for all of its queries, and where these don't they stay at home.
SET pg_gpu.min_mirror_entries = 4096;
CREATE TABLE notes (id int4, body text);
INSERT INTO notes SELECT i, 'w' || i % 7 || ' w' || i % 11 || ' w' || i % 13 FROM generate_series(1, 20000) AS i;
CREATE INDEX notes_body ON notes USING gpu_text (body) WITH (configuration = 'simple');
CREATE INDEX notes_id ON notes USING gpu_kary (id);
DELETE FROM notes WHERE id % 40 = 0;
VACUUM (ANALYZE) notes;
INSERT INTO notes SELECT i, 'w' || i % 5 || ' w' || i % 11 || ' w' || i % 13 || ' x' FROM generate_series(1, 3000) AS i;
INSERT INTO notes SELECT i, 'w' || i % 3 FROM generate_series(1, 20) AS i;
CREATE FUNCTION loaded(name regclass) RETURNS TABLE (large bool, small bool) LANGUAGE sql
    BEGIN ATOMIC SELECT coalesce(bool_or(entries >= 4096), false), coalesce(bool_or(entries < 4096), false) FROM gpu.mirrors WHERE index_name = name; END;
CREATE VIEW searched AS SELECT * FROM gpu.search_batch('notes_body', (SELECT array_agg(query::tsquery) FROM (SELECT 'w' || i % 7 || ' | w' || i % 3 || CASE i % 4 WHEN 0 THEN ' & !x' WHEN 1 THEN ' | x' WHEN 2 THEN ' & w1:*' ELSE '' END AS query FROM generate_series(1, 40) AS i UNION ALL VALUES ('nowhere'), (NULL), ('!x')) AS q), 7, 'query');
CREATE VIEW found AS SELECT position, tid FROM gpu.lookup('notes_id', (SELECT array_agg(i) FROM (SELECT generate_series(-50, 4000, 3) UNION ALL SELECT generate_series(1, 3000, 7) UNION ALL SELECT NULL) AS k (i))) AS l (position, tid);
CREATE VIEW counted AS SELECT count(*) FROM notes WHERE id = ANY (ARRAY(SELECT i FROM (SELECT generate_series(-50, 4000, 3) UNION ALL SELECT generate_series(1, 3000, 7) UNION ALL SELECT NULL) AS k (i)));
SET pg_gpu.path = paged;
CREATE TABLE expected_searches AS SELECT * FROM searched;
CREATE TABLE expected_rows AS SELECT * FROM found;
CREATE TABLE expected_count AS SELECT * FROM counted;
SET pg_gpu.path = host;
SELECT gpu.load('notes_body') > 0 AS searches_loaded, gpu.load('notes_id') > 0 AS keys_loaded;
SET pg_gpu_test.costs = 'paged_list = 0, paged_window = 0, paged_posting = 0, paged_shortest = 0, paged_second = 0, paged_key = 0';
SELECT count(*) > 100 AS searched FROM searched;
SELECT count(*) > 100 AS found FROM found;
SELECT * FROM loaded('notes_body');
SELECT * FROM loaded('notes_id');
SET pg_gpu_test.costs = 'paged_list = 10000, paged_key = 1000, host_list = 0, host_key = 0';
SELECT count(*) AS differences FROM ((TABLE searched EXCEPT ALL TABLE expected_searches) UNION ALL (TABLE expected_searches EXCEPT ALL TABLE searched)) AS d;
SELECT count(*) AS differences FROM ((TABLE found EXCEPT ALL TABLE expected_rows) UNION ALL (TABLE expected_rows EXCEPT ALL TABLE found)) AS d;
SELECT (TABLE counted) = (TABLE expected_count) AS same;
SELECT (SELECT count(*) FROM notes WHERE id + 0 = ANY (ARRAY(SELECT i FROM (SELECT generate_series(-50, 4000, 3) UNION ALL SELECT generate_series(1, 3000, 7) UNION ALL SELECT NULL) AS k (i)))) = (TABLE expected_count) AS same;
SELECT * FROM loaded('notes_body');
SELECT * FROM loaded('notes_id');
RESET pg_gpu_test.costs;
RESET pg_gpu.min_mirror_entries;
DROP VIEW searched, found, counted;
DROP TABLE notes, expected_searches, expected_rows, expected_count;
DROP FUNCTION loaded;

-- Of gpu_column, runs whose entries are long are mirrored as if there were more of them.
SET pg_gpu.min_mirror_entries = 32768;
CREATE TABLE wordy WITH (autovacuum_enabled = off) AS SELECT md5(i::text) || md5((i + 1)::text) || md5((i + 2)::text) AS note, i % 9 AS n FROM generate_series(1, 6000) AS i;
CREATE INDEX wordy_note ON wordy USING gpu_column (note);
CREATE INDEX wordy_n ON wordy USING gpu_column (n);
VACUUM ANALYZE wordy;
SELECT gpu.load('wordy_note') > 0 AS loaded_notes, gpu.load('wordy_n') > 0 AS loaded_numbers;
DROP TABLE wordy;
