-- The server process as SQL sees it: residency, what was answered where, settings, errors.
LOAD 'pg_gpu';
SET pg_gpu.min_mirror_entries = 0;
SET pg_gpu.path = host;
CREATE TABLE server_test (k int8, v int);
INSERT INTO server_test SELECT i * 3, i FROM generate_series(1, 100000) AS i;
INSERT INTO server_test SELECT NULL, i FROM generate_series(1, 100) AS i;
CREATE INDEX server_test_k ON server_test USING gpu_kary (k);
VACUUM server_test;

-- Residency. An entry takes its key, its TID and little more.
SELECT gpu.load('server_test_k') BETWEEN 100000 * 14 AND 100000 * 16 AS loaded;
SELECT gpu.load('server_test_k') AS loaded_again;
SELECT index_name, kind, entries, bytes BETWEEN 100000 * 14 AND 100000 * 16 AS bytes, device, pinned,
       run_id = (SELECT run_id FROM gpu.runs('server_test_k')) AS run, loaded_at BETWEEN now() - interval '1 hour' AND clock_timestamp() AS loaded,
       last_used >= loaded_at AS used
FROM gpu.mirrors WHERE index_name = 'server_test_k'::regclass;
SELECT gpu.evict('server_test_k') BETWEEN 100000 * 14 AND 100000 * 16 AS evicted;
SELECT gpu.evict('server_test_k') AS evicted_again;
SELECT count(*) FROM gpu.mirrors WHERE index_name = 'server_test_k'::regclass;
SELECT gpu.load('server_test_k') > 0 AS loaded;
-- What is there already is pinned where it lies.
SELECT loaded_at AS loaded_before FROM gpu.mirrors WHERE index_name = 'server_test_k'::regclass \gset
SELECT gpu.load('server_test_k', true) AS loaded_again;
SELECT pinned, loaded_at = :'loaded_before' AS the_same FROM gpu.mirrors WHERE index_name = 'server_test_k'::regclass;
SELECT gpu.load('server_test_k') AS loaded_again;
SELECT pinned, loaded_at = :'loaded_before' AS the_same FROM gpu.mirrors WHERE index_name = 'server_test_k'::regclass;

-- Requests are counted where they are answered.
SELECT gpu.stat_reset();
SELECT count(*) FROM gpu.lookup('server_test_k', ARRAY(SELECT i FROM generate_series(1, 3000) AS i));
SELECT gpu.count('server_test_k', ARRAY[3], ARRAY[3000]);
SELECT path, request, requests > 0 AS requests, items > 0 AS items, milliseconds >= 0 AS time, fallbacks, last_reason
FROM gpu.stat WHERE request IN ('lookup', 'count') ORDER BY path, request;
SELECT gpu.stat_reset();
SELECT count(*) FROM gpu.stat WHERE requests > 0 AND request IN ('lookup', 'count');
SET pg_gpu.path = paged;
SELECT count(*) FROM gpu.lookup('server_test_k', ARRAY(SELECT i FROM generate_series(1, 3000) AS i));
SELECT count(*) FROM gpu.count_batch('server_test_k', ARRAY[[3], [3000]], ARRAY[[100], [4000]]);
SELECT path, request, requests, items, milliseconds > 0 AS time FROM gpu.stat WHERE requests > 0 AND request IN ('lookup', 'count') ORDER BY path, request;
SET pg_gpu.path = host;
SELECT gpu.stat_reset();

-- EXPLAIN (ANALYZE) tells who answered a node's requests, of how many each, and with TIMING what that took.
CREATE FUNCTION answered(query text, options text DEFAULT 'TIMING ON') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE format('EXPLAIN (ANALYZE, COSTS OFF, SUMMARY OFF, %s) %s', options, query) LOOP
        CONTINUE WHEN line !~ 'Custom Scan|Path|Requests|Batch Size|(Device|Processor) Time';
        RETURN NEXT regexp_replace(regexp_replace(line, ' *\(actual .*', ''), '\d+\.\d+ ms', 'some ms');
    END LOOP;
END $$;
SET enable_seqscan = off;
SELECT answered('SELECT count(*) FROM server_test WHERE k BETWEEN 10 AND 20000');
SELECT answered('SELECT count(*) FROM server_test WHERE k BETWEEN 10 AND 20000', 'TIMING OFF');
SELECT answered('SELECT count(*) FROM server_test WHERE k = ANY (ARRAY(SELECT generate_series(1, 3000)))');
SELECT answered('SELECT count(l.v) FROM gpu.lookup(''server_test_k'', ARRAY(SELECT i FROM generate_series(1, 3000) AS i)) AS f JOIN server_test AS l ON l.ctid = f.tid');
SET pg_gpu.path = paged;
SELECT answered('SELECT count(*) FROM server_test WHERE k BETWEEN 10 AND 20000');
SELECT answered('SELECT count(*) FROM server_test WHERE k = ANY (ARRAY(SELECT generate_series(1, 3000)))');
SELECT answered('SELECT count(l.v) FROM gpu.lookup(''server_test_k'', ARRAY(SELECT i FROM generate_series(1, 3000) AS i)) AS f JOIN server_test AS l ON l.ctid = f.tid');
SET pg_gpu.path = host;
RESET enable_seqscan;
SELECT gpu.stat_reset();

-- New rows, deleted rows, vacuum, merges: a mirror is never stale.
INSERT INTO server_test SELECT i * 3 + 1, i FROM generate_series(1, 2000) AS i;
DELETE FROM server_test WHERE v % 10 = 0;
SELECT count(*) FROM gpu.lookup('server_test_k', ARRAY(SELECT i FROM generate_series(1, 3000) AS i));
SELECT gpu.count('server_test_k', ARRAY[1], ARRAY[3000]);
VACUUM server_test;
SELECT count(*) FROM gpu.lookup('server_test_k', ARRAY(SELECT i FROM generate_series(1, 3000) AS i));
SELECT gpu.count('server_test_k', ARRAY[1], ARRAY[3000]);
SELECT count(*) FROM gpu.merge('server_test_k');
SELECT count(*) FROM gpu.lookup('server_test_k', ARRAY(SELECT i FROM generate_series(1, 3000) AS i));
SELECT gpu.count('server_test_k', ARRAY[1], ARRAY[3000]);
SELECT entries, dead FROM gpu.runs('server_test_k') AS r WHERE EXISTS (SELECT FROM gpu.mirrors AS m WHERE m.run_id = r.run_id);
TRUNCATE server_test;
SELECT gpu.count('server_test_k', ARRAY[1], ARRAY[3000]);
INSERT INTO server_test SELECT i, i FROM generate_series(1, 1000) AS i;
REINDEX INDEX server_test_k;
SELECT gpu.count('server_test_k', ARRAY[1], ARRAY[3000]);

-- Without mirrors, or only with those that were asked for.
SET pg_gpu.mirror = manual;
SELECT gpu.evict('server_test_k') > 0 AS evicted;
SELECT gpu.stat_reset();
SELECT gpu.count('server_test_k', ARRAY[1], ARRAY[500]);
SELECT fallbacks > 0 AS fell_back, last_reason FROM gpu.stat WHERE path = 'host' AND request = 'count';
SELECT gpu.load('server_test_k') > 0 AS loaded;
SELECT gpu.stat_reset();
SELECT gpu.count('server_test_k', ARRAY[1], ARRAY[500]);
SELECT requests > 0 AS requests, fallbacks, last_reason FROM gpu.stat WHERE path = 'host' AND request = 'count';
SET pg_gpu.mirror = off;
SELECT gpu.load('server_test_k');
SELECT gpu.stat_reset();
SELECT gpu.count('server_test_k', ARRAY[1], ARRAY[500]);
SELECT count(*) FROM gpu.stat WHERE path = 'host' AND request = 'count';
RESET pg_gpu.mirror;

-- Only superusers say what is mirrored; only owners say what is resident.
CREATE ROLE regress_gpu_server;
GRANT SELECT ON server_test TO regress_gpu_server;
SELECT gpu.load('server_test_k') AS resident_already;
SET ROLE regress_gpu_server;
SET pg_gpu.mirror = off;
SELECT gpu.load('server_test_k');
SELECT gpu.evict('server_test_k');
SELECT gpu.count('server_test_k', ARRAY[1], ARRAY[500]);
SELECT count(*) FROM gpu.mirrors;
RESET ROLE;
GRANT pg_read_all_stats TO regress_gpu_server;
SET ROLE regress_gpu_server;
SELECT count(*) > 0 AS mirrors FROM gpu.mirrors;
RESET ROLE;
REVOKE SELECT ON server_test FROM regress_gpu_server;
REVOKE pg_read_all_stats FROM regress_gpu_server;
DROP ROLE regress_gpu_server;

-- What isn't an index of ours.
SELECT gpu.load('server_test');
SELECT gpu.evict('pg_class_oid_index');
SELECT gpu.load('pg_class_oid_index', true);
SELECT gpu.load(NULL);

-- A temporary index has mirrors too, which go without its name; an index without an entry, or with NULLs only, has none.
CREATE TEMP TABLE server_temp (k int4);
CREATE INDEX server_temp_k ON server_temp USING gpu_kary (k);
SELECT gpu.load('server_temp_k');
INSERT INTO server_temp SELECT NULL FROM generate_series(1, 5000);
REINDEX INDEX server_temp_k;
SELECT gpu.load('server_temp_k');
INSERT INTO server_temp SELECT i FROM generate_series(1, 5000) AS i;
REINDEX INDEX server_temp_k;
SELECT gpu.load('server_temp_k') > 0 AS loaded;
SELECT index_name, entries FROM gpu.mirrors WHERE run_id = (SELECT run_id FROM gpu.runs('server_temp_k'));
SELECT gpu.count('server_temp_k', ARRAY[10], ARRAY[20]);
SELECT gpu.evict('server_temp_k') > 0 AS evicted;

-- Subtransactions: a failed statement within one leaves the session's connection usable.
BEGIN;
SAVEPOINT s;
SELECT gpu.count('server_test_k', ARRAY[1], ARRAY['x'::text]);
ROLLBACK TO s;
SELECT gpu.count('server_test_k', ARRAY[1], ARRAY[500]);
COMMIT;
SELECT gpu.evict('server_test_k') > 0 AS evicted;
DROP TABLE server_test;

-- What is dropped or rewritten isn't told to the server process: the next gpu.load drops its mirrors, pinned ones too.
CREATE TABLE server_gone AS SELECT i AS k FROM generate_series(1, 12345) AS i;
CREATE INDEX server_gone_k ON server_gone USING gpu_kary (k);
SELECT gpu.load('server_gone_k', true) > 0 AS pinned;
INSERT INTO server_gone VALUES (0);
REINDEX INDEX server_gone_k;
SELECT gpu.load('server_gone_k', true) > 0 AS pinned;
SELECT index_name, entries, pinned FROM gpu.mirrors WHERE entries IN (12345, 12346);
CREATE TABLE server_next (k int8);
CREATE INDEX server_next_k ON server_next USING gpu_kary (k);
DROP TABLE server_gone;
SELECT gpu.load('server_next_k');
SELECT index_name, entries, pinned FROM gpu.mirrors WHERE entries IN (12345, 12346);
DROP TABLE server_next;
CREATE TEMP TABLE server_temporary AS SELECT i AS k FROM generate_series(1, 12347) AS i;
CREATE INDEX server_temporary_k ON server_temporary USING gpu_kary (k);
SELECT gpu.load('server_temporary_k', true) > 0 AS pinned;
CREATE TABLE server_last (k int8);
CREATE INDEX server_last_k ON server_last USING gpu_kary (k);
SELECT gpu.load('server_last_k');
SELECT index_name, entries, pinned FROM gpu.mirrors WHERE entries = 12347;
SELECT gpu.evict('server_temporary_k') > 0 AS evicted;
DROP TABLE server_temporary, server_last;
