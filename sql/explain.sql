-- EXPLAIN (ANALYZE) tells of PostgreSQL's own scans of our indexes what it tells of our nodes, from 18 on; before, nothing.
LOAD 'pg_gpu';
SET max_parallel_workers_per_gather = 0;
SET enable_seqscan = off;
SET pg_gpu.enable_count_scan = off;

-- The plan's index scans and custom scans, and what is told of them.
CREATE FUNCTION told(query text, options text) RETURNS TABLE (node text, what text) LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE format('EXPLAIN (COSTS OFF, FORMAT JSON, %s) %s', options, query) INTO plan;
    RETURN QUERY WITH RECURSIVE nodes (n) AS (SELECT plan->0->'Plan' UNION ALL SELECT json_array_elements(n->'Plans') FROM nodes)
        SELECT n->>'Node Type', (SELECT string_agg(key || CASE WHEN key ~ 'Time' THEN '' ELSE ' ' || value END, ', ' ORDER BY place)
                                 FROM json_each_text(n) WITH ORDINALITY AS e (key, value, place)
                                 WHERE key IN ('Path', 'Requests', 'Batch Size', 'Device Time', 'Processor Time', 'Workers Not Counted'))
        FROM nodes WHERE n->>'Node Type' ~ 'Index|Custom';
END $$;
-- Is that of the index scans what is expected of this version?
CREATE FUNCTION explained(query text, expected text, options text DEFAULT 'ANALYZE') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    wanted text := CASE WHEN current_setting('server_version_num')::int >= 180000 THEN expected ELSE regexp_replace(expected, ' \(.*?\)', '', 'g') END;
    found text := (SELECT string_agg(node || coalesce(' (' || what || ')', ''), ', ') FROM told(query, options) WHERE node ~ 'Index');
BEGIN
    RETURN CASE WHEN found = wanted THEN 'as expected' ELSE format('"%s" instead of "%s"', found, wanted) END;
END $$;

CREATE TABLE explain_test (k int8, x int4, y int4, c int2, t text, v tsvector, id int);
INSERT INTO explain_test SELECT i, i % 1000, i / 1000, i % 100, 'https://example.org/' || i, to_tsvector('simple', 'w' || i % 10 || ' w' || i % 7), i FROM generate_series(1, 20000) AS i;
CREATE INDEX explain_kary ON explain_test USING gpu_kary (k);
CREATE INDEX explain_hash ON explain_test USING gpu_kary (t gpu.hash_ops);
CREATE INDEX explain_grid ON explain_test USING gpu_grid (x, y);
CREATE INDEX explain_column ON explain_test USING gpu_column (c);
CREATE INDEX explain_text ON explain_test USING gpu_text (v);
CREATE INDEX explain_btree ON explain_test (id);
VACUUM ANALYZE explain_test;

-- gpu_kary. Few keys are not worth counting; of lists of them one request is made a run.
CREATE FUNCTION kary_query(keys int, tail text DEFAULT '') RETURNS text LANGUAGE sql AS
$$ SELECT format('SELECT k, x FROM explain_test WHERE k = ANY (ARRAY(SELECT generate_series(1, %s))) %s', keys, tail) $$;
SET pg_gpu.path = paged;
SELECT explained('SELECT x FROM explain_test WHERE k = 5', 'Index Scan (Path paged)');
SELECT explained('SELECT k FROM explain_test WHERE k BETWEEN 5 AND 500', 'Index Only Scan (Path paged)');
SELECT explained(kary_query(600), 'Index Scan (Path paged, Requests 1, Batch Size 600, Processor Time)');
-- A cursor's end needn't have been reached.
SELECT explained(kary_query(600, 'LIMIT 5'), 'Index Scan (Path paged, Requests 1, Batch Size 600, Processor Time)');
SET pg_gpu.path = host;
SELECT explained('SELECT x FROM explain_test WHERE k = 5', 'Index Scan (Path host, Requests 1, Batch Size 1, Processor Time)');
SELECT explained(kary_query(600), 'Index Scan (Path host, Requests 1, Batch Size 600, Processor Time)');
SELECT explained(replace(kary_query(600), 'k, x', 'k'), 'Index Only Scan (Path host, Requests 1, Batch Size 600, Processor Time)');
SELECT explained(kary_query(600), 'Index Scan (Path host, Requests 1, Batch Size 600)', 'ANALYZE, TIMING OFF');
SELECT explained(kary_query(600), 'Index Scan', 'ANALYZE OFF');
-- Rows fetched one by one begin with small requests.
SELECT explained(kary_query(20000), 'Index Scan (Path host, Requests 2, Batch Size 10000, Processor Time)');
SELECT explained(kary_query(20000, 'LIMIT 5'), 'Index Scan (Path host, Requests 1, Batch Size 4096, Processor Time)');
SET enable_indexscan = off;
SELECT explained(kary_query(20000), 'Bitmap Index Scan (Path host, Requests 1, Batch Size 20000, Processor Time)');
RESET enable_indexscan;
-- All rescans together; nothing where there was none.
SELECT explained('SELECT * FROM generate_series(1, 3) AS g, LATERAL (' || kary_query(600, 'AND x >= g OFFSET 0') || ') AS s', 'Index Scan (Path host, Requests 3, Batch Size 600, Processor Time)');
SELECT explained(kary_query(600, 'AND (SELECT id < 0 FROM explain_test WHERE id = 1)'), 'Index Only Scan, Index Scan');
-- Where rows are looked at by the scan itself.
SELECT explained('SELECT x FROM explain_test WHERE t = ANY (ARRAY(SELECT ''https://example.org/'' || i FROM generate_series(1, 600) AS i))',
                 'Index Scan (Path host, Requests 1, Batch Size 600, Processor Time)');

-- gpu_grid's, gpu_column's and gpu_text's.
SET enable_bitmapscan = off;
SELECT explained('SELECT id FROM explain_test WHERE x BETWEEN 3 AND 50 AND y < 5', 'Index Scan (Path paged)');
RESET enable_bitmapscan;
SELECT explained('SELECT x FROM explain_test WHERE x BETWEEN 3 AND 50 AND y < 5', 'Index Only Scan (Path paged)');
SET enable_indexscan = off;
SELECT explained('SELECT id FROM explain_test WHERE x BETWEEN 3 AND 50 AND y < 5', 'Bitmap Index Scan (Path host, Requests 1, Batch Size 1, Processor Time)');
SELECT explained('SELECT id FROM explain_test WHERE c < 3', 'Bitmap Index Scan (Path host, Requests 1, Batch Size 1, Processor Time)');
SELECT explained('SELECT id FROM explain_test WHERE v @@ ''w1 & w2''', 'Bitmap Index Scan (Path paged)');
RESET enable_indexscan;
SELECT explained('SELECT id FROM explain_test ORDER BY v OPERATOR(gpu.<=>) gpu.query(''explain_text'', ''w1'') LIMIT 3', 'Index Scan (Path host, Requests 1, Batch Size 1, Processor Time)');
-- The second request is for more hits than the server process is asked for.
SELECT explained('SELECT id FROM explain_test WHERE v @@ ''w1'' ORDER BY v OPERATOR(gpu.<=>) gpu.query(''explain_text'', ''w1'') LIMIT 3000',
                 'Index Scan (Path paged, host, Requests 2, Batch Size 1, Processor Time)');
SET pg_gpu.path = paged;
SELECT explained('SELECT id FROM explain_test ORDER BY v OPERATOR(gpu.<=>) gpu.query(''explain_text'', ''w1'') LIMIT 3', 'Index Scan (Path paged, Requests 1, Batch Size 1, Processor Time)');
SET enable_indexscan = off;
SELECT explained('SELECT id FROM explain_test WHERE x BETWEEN 3 AND 50 AND y < 5', 'Bitmap Index Scan (Path paged)');
SELECT explained('SELECT id FROM explain_test WHERE c < 3 AND k < 900', 'Bitmap Index Scan (Path paged), Bitmap Index Scan (Path paged)');
RESET enable_indexscan;

-- Nothing of other access methods'.
SELECT explained('SELECT id FROM explain_test WHERE id = 5', 'Index Only Scan');
SELECT explained('SELECT x FROM explain_test WHERE id = 5', 'Index Scan');

-- What workers asked is not known; that they did is told, of our own nodes too.
SET pg_gpu.path = host;
SELECT set_config(name, 'on', false) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
SET max_parallel_workers_per_gather = 1;
SELECT explained(kary_query(600), 'Index Scan (Workers Not Counted 1)');
SET enable_indexscan = off;
SELECT explained(kary_query(600), 'Bitmap Index Scan (Workers Not Counted 1)');
RESET enable_indexscan;
SET pg_gpu.enable_count_scan = on;
SELECT node, what FROM told('SELECT count(*) FROM explain_test WHERE k < 900', 'ANALYZE') WHERE node = 'Custom Scan';
SELECT set_config(name, 'off', false) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
SET max_parallel_workers_per_gather = 0;
-- A node of ours tells what was asked; the scan it stands for was never executed.
SELECT explained('SELECT count(*) FROM explain_test WHERE k < 900', 'Index Only Scan');
SELECT node, what FROM told('SELECT count(*) FROM explain_test WHERE k < 900', 'ANALYZE') WHERE node = 'Custom Scan';

-- As text.
DO $$
DECLARE
    line text;
    found text := '';
    wanted text := CASE WHEN current_setting('server_version_num')::int >= 180000 THEN 'Path: host; Requests: 1; Batch Size: 600; Processor Time: some ms; ' ELSE '' END;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE) ' || kary_query(600) LOOP
        CONTINUE WHEN line !~ 'Path|Requests|Batch Size|(Device|Processor) Time|Not Counted';
        found := found || regexp_replace(trim(line), '\d+\.\d{3} ms', 'some ms') || '; ';
    END LOOP;
    IF found <> wanted THEN
        RAISE '"%" instead of "%"', found, wanted;
    END IF;
END $$;

DROP TABLE explain_test;
DROP FUNCTION told, explained, kary_query;
