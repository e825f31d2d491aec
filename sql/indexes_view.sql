-- gpu.indexes: all indexes of the four methods, with their runs, merges and fallbacks.
LOAD 'pg_gpu';
CREATE SCHEMA indexes_view;
SET search_path = indexes_view;
CREATE TABLE item (k int, v int, d tsvector) WITH (autovacuum_enabled = off);
SET pg_gpu.path = paged;
INSERT INTO item SELECT i, i % 10, to_tsvector('simple', 'w' || i % 7) FROM generate_series(1, 20000) AS i;
CREATE INDEX item_kary ON item USING gpu_kary (k);
CREATE INDEX item_grid ON item USING gpu_grid (k, v);
CREATE INDEX item_column ON item USING gpu_column (k, v);
CREATE INDEX item_text ON item USING gpu_text (d);
CREATE INDEX item_btree ON item (k);
CREATE FUNCTION rows_of(pattern text) RETURNS TABLE (index_name text, table_name text, method text, state text, runs int, entries bigint,
                                                     dead numeric, resident numeric, merges bigint, put_off bigint, fallbacks bigint)
LANGUAGE sql AS $$
    SELECT i.index_name::text, i.table_name::text, i.method, i.state, i.runs, i.entries, round(i.dead_share::numeric, 2), round(i.resident_share::numeric, 2),
           i.merges, i.merges_deferred, i.fallbacks
    FROM gpu.indexes AS i JOIN pg_class AS c ON c.oid = i.index_name
    WHERE c.relnamespace IN ('indexes_view'::regnamespace, pg_my_temp_schema()) AND c.relname LIKE pattern ORDER BY c.relname COLLATE "C"
$$;
SELECT * FROM rows_of('item%');
SELECT count(*) AS with_size FROM gpu.indexes JOIN pg_class ON oid = index_name WHERE relname LIKE 'item%' AND bytes = pg_relation_size(index_name);
SELECT count(*) AS with_activity FROM gpu.indexes JOIN pg_class ON oid = index_name
WHERE relname LIKE 'item%' AND num_nonnulls(problem, last_merge, last_deferred, last_fallback, last_reason, reasons, reason_counts) > 0;

-- Dead entries, more runs, a merge.
DELETE FROM item WHERE k <= 2000;
VACUUM item;
SELECT index_name, dead FROM rows_of('item%');
INSERT INTO item SELECT i, 1, NULL FROM generate_series(30001, 31000) AS i;
SELECT runs > 1 AS more_runs FROM rows_of('item_kary');
SELECT count(*) FROM gpu.merge('item_kary');
SELECT index_name, runs, dead, merges >= 1 AS merged FROM rows_of('item_kary');
SELECT last_merge BETWEEN now() - interval '1 hour' AND clock_timestamp() AS lately FROM gpu.indexes WHERE index_name = 'item_kary'::regclass;

-- Residency.
SET pg_gpu.min_mirror_entries = 0;
SET pg_gpu.path = host;
SELECT gpu.load('item_kary') > 0 AS loaded;
SELECT index_name, resident FROM rows_of('item%');
SELECT gpu.evict('item_kary') > 0 AS evicted;
SELECT index_name, resident FROM rows_of('item_kary');

-- Why requests fell back: the index has a count for each reason, which all sessions add to.
SET pg_gpu.mirror = manual;
SELECT count(*) FROM gpu.lookup('item_kary', ARRAY[2001, 2002, 2003]);
SELECT count(*) FROM gpu.lookup('item_kary', ARRAY[2001, 2002, 2003]);
RESET pg_gpu.mirror;
SET pg_gpu.min_mirror_entries = 1000000;
SELECT count(*) FROM gpu.lookup('item_kary', ARRAY[2001, 2002, 2003]);
SELECT i.fallbacks >= 3 AS fallbacks, i.last_reason, reason, count >= 1 AS count, i.last_fallback BETWEEN now() - interval '1 hour' AND clock_timestamp() AS lately
FROM gpu.indexes AS i, unnest(i.reasons, i.reason_counts) WITH ORDINALITY AS r(reason, count, place) WHERE index_name = 'item_kary'::regclass ORDER BY place;
SELECT index_name, fallbacks > 0 AS fallbacks FROM rows_of('item%');
SELECT sum(c) = max(fallbacks) AS each_has_a_reason FROM gpu.indexes, unnest(reason_counts) AS c WHERE index_name = 'item_kary'::regclass;
SELECT gpu.stat_reset();
SELECT index_name, merges, fallbacks FROM rows_of('item_kary');
RESET pg_gpu.min_mirror_entries;
RESET pg_gpu.path;

-- Partitioned and temporary tables, invalid indexes, empty ones, tables that nobody has written to.
CREATE TABLE part (k int) PARTITION BY RANGE (k);
CREATE TABLE part_low PARTITION OF part FOR VALUES FROM (0) TO (100);
CREATE TABLE part_high PARTITION OF part FOR VALUES FROM (100) TO (200);
INSERT INTO part SELECT i FROM generate_series(0, 199) AS i;
CREATE INDEX part_k ON part USING gpu_kary (k);
CREATE TEMP TABLE item_temporary (k int);
CREATE INDEX item_temporary_k ON item_temporary USING gpu_kary (k);
CREATE UNLOGGED TABLE item_unlogged (k int);
CREATE INDEX item_unlogged_k ON item_unlogged USING gpu_column (k);
CREATE TABLE item_broken (k int);
CREATE INDEX item_broken_invalid ON item_broken USING gpu_kary (k);
CREATE INDEX item_broken_unbuilt ON item_broken USING gpu_kary (k);
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'item_broken_invalid'::regclass;
UPDATE pg_index SET indisvalid = false, indisready = false WHERE indexrelid = 'item_broken_unbuilt'::regclass;
SELECT * FROM rows_of('part%');
SELECT * FROM rows_of('item\_temp%');
SELECT * FROM rows_of('item\_unlogged%');
SELECT * FROM rows_of('item\_broken%');

-- Everybody sees the indexes; why requests fell back, the owner and who may see all statistics.
CREATE ROLE indexes_view_stranger;
CREATE ROLE indexes_view_watcher IN ROLE pg_read_all_stats;
GRANT USAGE ON SCHEMA indexes_view TO indexes_view_stranger, indexes_view_watcher;
SET ROLE indexes_view_stranger;
SELECT index_name, state, runs > 0 AS runs, fallbacks IS NULL AND reasons IS NULL AS hidden FROM rows_of('item_kary'), LATERAL (SELECT reasons FROM gpu.indexes AS i WHERE i.index_name::text = rows_of.index_name) AS r;
SET ROLE indexes_view_watcher;
SELECT index_name, state, fallbacks FROM rows_of('item_kary');
RESET ROLE;

-- Latencies: each request is in one bucket, and sums rise to the number of requests.
SELECT gpu.stat_reset();
SET pg_gpu.path = paged;
SELECT count(*) FROM gpu.lookup('item_kary', ARRAY(SELECT generate_series(2001, 5000)));
SELECT count(*) FROM gpu.lookup('item_kary', ARRAY(SELECT generate_series(2001, 5000)));
SELECT path, request, sum(l.requests), max(all_up_to), max(s.requests) AS requests, min(l.requests) >= 0 AS sound
FROM gpu.latency AS l JOIN gpu.stat AS s USING (path, request) WHERE request = 'lookup' GROUP BY path, request;
SELECT count(*) AS disorder FROM (SELECT up_to_ms, all_up_to, lag(all_up_to) OVER w AS before, lag(up_to_ms) OVER w AS shorter, requests
                                  FROM gpu.latency WHERE request = 'lookup' AND path = 'paged' WINDOW w AS (ORDER BY up_to_ms)) AS l
WHERE all_up_to <> coalesce(before, 0) + requests OR up_to_ms NOT IN (2 * shorter, 'infinity');
SELECT count(*), min(up_to_ms), max(up_to_ms) FROM gpu.latency WHERE request = 'lookup' AND path = 'paged';
RESET pg_gpu.path;

SET client_min_messages = warning;
DROP SCHEMA indexes_view CASCADE;
DROP TABLE item_temporary;
DROP ROLE indexes_view_stranger, indexes_view_watcher;
