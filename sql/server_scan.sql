-- Scans of an index in several runs, by the server process: one request asks all runs.
LOAD 'pg_gpu';
SET pg_gpu.min_mirror_entries = 0;
SET pg_gpu.path = host;
SET pg_gpu.enable_count_scan = off;
CREATE TABLE scan_runs (a int4, b int4, v int4);
INSERT INTO scan_runs SELECT i * 2, i % 7, i FROM generate_series(1, 20000) AS i;
CREATE INDEX scan_runs_a ON scan_runs USING gpu_kary (a) WITH (fanout = 64);
CREATE INDEX scan_runs_ab ON scan_runs USING gpu_kary (a, b) WITH (fanout = 64);
INSERT INTO scan_runs SELECT i, nullif(i % 7, 3), i FROM generate_series(1, 6000) AS i;
INSERT INTO scan_runs SELECT NULL, i, i FROM generate_series(1, 10) AS i;
DELETE FROM scan_runs WHERE v % 50 = 0;
ANALYZE scan_runs;
SELECT count(*) > 2 AS several, gpu.load('scan_runs_a') > 0 AS loaded FROM gpu.runs('scan_runs_a');
SELECT count(*) > 2 AS several, gpu.load('scan_runs_ab') > 0 AS loaded FROM gpu.runs('scan_runs_ab');

\getenv source PG_ABS_SRCDIR
\set asked :source '/test/regress/asked.sql'
\set ECHO none
\i :asked
\set ECHO all
SET enable_bitmapscan = off;
SELECT * FROM asked('SELECT a, v FROM scan_runs WHERE a = ANY (ARRAY(SELECT generate_series(1, 9000, 3))) ORDER BY a');
SELECT * FROM asked('SELECT a, v FROM scan_runs WHERE a = ANY (ARRAY(SELECT generate_series(1, 9000, 3))) ORDER BY a DESC');
SELECT * FROM asked('SELECT a FROM scan_runs WHERE a = ANY (ARRAY(SELECT generate_series(1, 9000, 3))) ORDER BY a');
SELECT * FROM asked('SELECT a, v FROM scan_runs WHERE a BETWEEN 100 AND 9000 ORDER BY a');
SELECT * FROM asked('SELECT a, v FROM scan_runs WHERE a BETWEEN 100 AND 9000 ORDER BY a DESC');
SELECT * FROM asked('SELECT a, b FROM scan_runs WHERE a = ANY (ARRAY(SELECT generate_series(1, 9000, 3))) ORDER BY a, b');
SELECT * FROM asked('SELECT a, b FROM scan_runs WHERE a = ANY (ARRAY(SELECT generate_series(1, 9000, 3))) AND b > 2 ORDER BY a DESC, b DESC');
SELECT * FROM asked('SELECT a, b FROM scan_runs WHERE a > 20 ORDER BY a, b');
SET enable_bitmapscan = on;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SELECT * FROM asked('SELECT sum(v) FROM scan_runs WHERE a = ANY (ARRAY(SELECT generate_series(1, 9000, 3)))');
SELECT * FROM asked('SELECT sum(v) FROM scan_runs WHERE a BETWEEN 100 AND 9000');
SELECT * FROM asked('SELECT sum(v) FROM scan_runs WHERE a = ANY (ARRAY(SELECT generate_series(1, 9000, 3))) AND b > 2');
SELECT * FROM asked('SELECT count(*) FROM gpu.lookup(''scan_runs_a'', ARRAY(SELECT generate_series(1, 9000, 3)))');
RESET enable_indexscan;
RESET enable_indexonlyscan;

-- An ordered scan begins with few keys, for those who want few rows.
SET enable_bitmapscan = off;
SELECT * FROM asked('SELECT a, v FROM scan_runs WHERE a = ANY (ARRAY(SELECT generate_series(1, 30000))) ORDER BY a LIMIT 10');
SELECT * FROM asked('SELECT a, v FROM scan_runs WHERE a = ANY (ARRAY(SELECT generate_series(1, 30000))) ORDER BY a DESC LIMIT 10');
SELECT * FROM asked('SELECT a, v FROM scan_runs WHERE a = ANY (ARRAY(SELECT generate_series(1, 30000))) ORDER BY a');

-- It holds what work_mem has room for: fewer keys at a time, and no range with more rows.
SET work_mem = '64kB';
SELECT * FROM asked('SELECT a, v FROM scan_runs WHERE a = ANY (ARRAY(SELECT generate_series(1, 30000))) ORDER BY a');
SELECT * FROM asked('SELECT a, v FROM scan_runs WHERE a = ANY (ARRAY(SELECT generate_series(1, 30000))) ORDER BY a DESC');
SELECT * FROM asked('SELECT a, v FROM scan_runs WHERE a BETWEEN 100 AND 25000 ORDER BY a');
SELECT request, fallbacks, last_reason FROM gpu.stat WHERE path = 'host' AND fallbacks > 0;
RESET work_mem;

-- A cursor turns round at any row, and goes on from pages where the server's answers end.
BEGIN;
SET LOCAL enable_seqscan = off;
SET LOCAL pg_gpu.path = host;
DECLARE c SCROLL CURSOR FOR SELECT a, v FROM scan_runs WHERE a = ANY (ARRAY(SELECT generate_series(1, 30000))) ORDER BY a;
FETCH 3 FROM c;
MOVE 9000 FROM c;
FETCH 3 FROM c;
FETCH BACKWARD 3 FROM c;
MOVE BACKWARD ALL FROM c;
FETCH 2 FROM c;
MOVE ALL FROM c;
FETCH BACKWARD 2 FROM c;
MOVE BACKWARD 15000 FROM c;
FETCH BACKWARD 2 FROM c;
SET LOCAL pg_gpu.mirror = off;
SELECT gpu.evict('scan_runs_a') > 0 AS evicted;
MOVE BACKWARD ALL FROM c;
FETCH 2 FROM c;
MOVE ALL FROM c;
FETCH BACKWARD 2 FROM c;
ROLLBACK;

-- A merge join marks and restores.
SELECT gpu.load('scan_runs_a') > 0 AS loaded;
SET enable_hashjoin = off;
SET enable_nestloop = off;
SET enable_sort = off;
SELECT * FROM asked('SELECT count(*), sum(x.v), sum(y.v) FROM scan_runs AS x JOIN scan_runs AS y USING (a)
    WHERE x.a = ANY (ARRAY(SELECT generate_series(1, 9000))) AND y.a = ANY (ARRAY(SELECT generate_series(1, 30000)))');
RESET enable_sort;
RESET enable_nestloop;
RESET enable_hashjoin;
RESET enable_bitmapscan;
DROP FUNCTION asked;
DROP TABLE scan_runs;
