-- CREATE INDEX and REINDEX in all their forms. Every index is verified against
-- its heap and asked for a number that can be reckoned by hand.
CREATE TABLE build_test (k int4, l int8, id int, flag bool);
INSERT INTO build_test SELECT (i * 7919) % 20000, (i * 7919) % 20000 * 5000000000, i, i % 4 = 0 FROM generate_series(1, 20000) AS i;
INSERT INTO build_test SELECT NULL, NULL, i, false FROM generate_series(20001, 20100) AS i;
DELETE FROM build_test WHERE k % 100 = 99;
ANALYZE build_test;
SET enable_seqscan = off;
SET enable_bitmapscan = off;

CREATE INDEX build_up ON build_test USING gpu_kary (k);
CREATE INDEX build_down ON build_test USING gpu_kary (k DESC);
CREATE INDEX build_up_first ON build_test USING gpu_kary (k ASC NULLS FIRST);
CREATE INDEX build_down_last ON build_test USING gpu_kary (l DESC NULLS LAST) WITH (fanout = 4);
CREATE INDEX build_partial ON build_test USING gpu_kary (k) WHERE flag;
CREATE INDEX build_expression ON build_test USING gpu_kary ((k / 2 + l % 7)) WHERE NOT flag;
CREATE INDEX build_opclass ON build_test USING gpu_kary (l gpu.int8_ops);
CREATE INDEX CONCURRENTLY build_concurrently ON build_test USING gpu_kary (l);
CREATE INDEX IF NOT EXISTS build_up ON build_test USING gpu_kary (l);
CREATE INDEX ON build_test USING gpu_kary (k);
SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'build_test'::regclass
ORDER BY indexrelid::regclass::text COLLATE "C";
-- One run each, whatever the size; the heap's dead rows aren't in it.
SELECT index, count(*) AS runs, sum(r.entries) AS entries, sum(r.dead) AS dead
FROM (SELECT indexrelid::regclass::text COLLATE "C" AS index FROM pg_index WHERE indrelid = 'build_test'::regclass) AS i,
     gpu.runs(i.index::regclass) AS r
GROUP BY index ORDER BY index;
SELECT index, v.* FROM (SELECT indexrelid::regclass::text AS index FROM pg_index WHERE indrelid = 'build_test'::regclass) AS i,
     gpu.verify(i.index::regclass) AS v;
SELECT gpu.count('build_up', ARRAY[100], ARRAY[299]) AS up,
       gpu.count('build_down', ARRAY[100], ARRAY[299]) AS down,
       gpu.count('build_up_first', ARRAY[100], ARRAY[299]) AS up_first,
       gpu.count('build_down_last', ARRAY[500000000000], ARRAY[1495000000000]) AS down_last,
       gpu.count('build_partial', ARRAY[100], ARRAY[299]) AS partial,
       gpu.count('build_concurrently', ARRAY[500000000000], ARRAY[1495000000000]) AS concurrently;
EXPLAIN (COSTS OFF) SELECT count(id) FROM build_test WHERE k / 2 + l % 7 = 1002 AND NOT flag;
SELECT count(id), sum(id) FROM build_test WHERE k / 2 + l % 7 = 1002 AND NOT flag;

-- Rebuilt in all ways.
INSERT INTO build_test SELECT 30000 + i, 30000 + i, i, true FROM generate_series(1, 1500) AS i;
DELETE FROM build_test WHERE k BETWEEN 100 AND 199;
REINDEX INDEX build_up;
REINDEX INDEX CONCURRENTLY build_partial;
SELECT count(*) AS runs, sum(entries) AS entries, sum(dead) AS dead FROM gpu.runs('build_up');
SELECT gpu.count('build_up', ARRAY[100], NULL) AS up, gpu.count('build_partial', ARRAY[100], NULL) AS partial;
REINDEX TABLE build_test;
REINDEX TABLE CONCURRENTLY build_test;
SELECT gpu.count('build_up', ARRAY[100], NULL) AS up, gpu.count('build_partial', ARRAY[100], NULL) AS partial;
VACUUM FULL build_test;
SELECT gpu.count('build_up', ARRAY[100], NULL) AS up, gpu.count('build_partial', ARRAY[100], NULL) AS partial;
SELECT index, v.* FROM (SELECT indexrelid::regclass::text AS index FROM pg_index WHERE indrelid = 'build_test'::regclass) AS i,
     gpu.verify(i.index::regclass) AS v;

-- Renamed, moved, dropped.
ALTER INDEX build_up RENAME TO build_renamed;
SELECT gpu.count('build_renamed', ARRAY[200], ARRAY[209]);
CREATE SCHEMA build_schema;
ALTER TABLE build_test SET SCHEMA build_schema;
SELECT gpu.count('build_schema.build_renamed', ARRAY[200], ARRAY[209]);
ALTER INDEX build_schema.build_renamed SET TABLESPACE pg_default;
DROP INDEX build_schema.build_down, build_schema.build_up_first;
DROP INDEX CONCURRENTLY build_schema.build_opclass;
SELECT gpu.count('build_schema.build_renamed', ARRAY[200], ARRAY[209]);
DROP SCHEMA build_schema CASCADE;

-- A build that fails leaves nothing behind, a concurrent one an invalid index.
CREATE TABLE build_fail (k int4);
INSERT INTO build_fail SELECT i FROM generate_series(-10, 10) AS i;
CREATE INDEX build_fail_k ON build_fail USING gpu_kary ((100 / k));
CREATE INDEX CONCURRENTLY build_fail_k ON build_fail USING gpu_kary ((100 / k));
SELECT indexrelid::regclass, indisvalid FROM pg_index WHERE indrelid = 'build_fail'::regclass;
-- Functions refuse an index that isn't valid, as the planner does.
SELECT gpu.count('build_fail_k', ARRAY[1], ARRAY[50]);
SELECT * FROM gpu.lookup('build_fail_k', ARRAY[1]);
DELETE FROM build_fail WHERE k = 0;
REINDEX INDEX CONCURRENTLY build_fail_k;
SELECT indexrelid::regclass, indisvalid FROM pg_index WHERE indrelid = 'build_fail'::regclass;
SELECT gpu.count('build_fail_k', ARRAY[1], ARRAY[50]);
-- Later rows meet the expression too.
INSERT INTO build_fail VALUES (0);
SELECT gpu.count('build_fail_k', NULL::int4[], NULL::int4[]);
DROP TABLE build_fail;

-- Little memory: sorted in chunks and merged. Much of it, and parallel workers: the same index.
CREATE TABLE build_chunks (k int8);
INSERT INTO build_chunks SELECT (i * 48271::int8) % 65537 - 30000 FROM generate_series(1, 150000) AS i;
INSERT INTO build_chunks SELECT NULL FROM generate_series(1, 3000);
ALTER TABLE build_chunks SET (parallel_workers = 2);
SET maintenance_work_mem = '1MB';
SET max_parallel_maintenance_workers = 0;
CREATE INDEX build_small ON build_chunks USING gpu_kary (k);
SET maintenance_work_mem = '64MB';
CREATE INDEX build_large ON build_chunks USING gpu_kary (k DESC);
SET max_parallel_maintenance_workers = 2;
CREATE INDEX build_parallel ON build_chunks USING gpu_kary (k);
SET maintenance_work_mem = '1MB';
CREATE INDEX build_parallel_small ON build_chunks USING gpu_kary (k NULLS FIRST);
RESET maintenance_work_mem;
RESET max_parallel_maintenance_workers;
SELECT index, count(*) AS runs, sum(entries) AS entries, sum(dead) AS dead
FROM unnest(ARRAY['build_small', 'build_large', 'build_parallel', 'build_parallel_small']) AS index, gpu.runs(index::regclass)
GROUP BY index ORDER BY index COLLATE "C";
SELECT index, v.* FROM unnest(ARRAY['build_small', 'build_large', 'build_parallel', 'build_parallel_small']) AS index,
     gpu.verify(index::regclass) AS v;
SELECT index, gpu.count(index::regclass, ARRAY[-500::int8], ARRAY[499::int8]) AS middle,
       gpu.count(index::regclass, NULL::int8[], ARRAY[-30000::int8]) AS low,
       gpu.count(index::regclass, ARRAY[35000::int8], NULL::int8[]) AS high
FROM unnest(ARRAY['build_small', 'build_large', 'build_parallel', 'build_parallel_small']) AS index
ORDER BY index COLLATE "C";
SELECT count(*) FILTER (WHERE k BETWEEN -500 AND 499) AS middle, count(*) FILTER (WHERE k <= -30000) AS low,
       count(*) FILTER (WHERE k >= 35000) AS high FROM build_chunks;
DROP TABLE build_chunks;

-- Nothing, one row, nothing but NULLs, nothing but equal keys.
CREATE TABLE build_edge (k int4);
CREATE INDEX build_edge_k ON build_edge USING gpu_kary (k);
SELECT count(*) AS runs FROM gpu.runs('build_edge_k');
SELECT count(*) FROM build_edge WHERE k > 0;
SELECT k FROM build_edge ORDER BY k;
SELECT gpu.count('build_edge_k', NULL::int4[], NULL::int4[]);
SELECT * FROM gpu.lookup('build_edge_k', ARRAY[1, NULL]);
VACUUM build_edge;
SELECT count(*) AS steps FROM gpu.merge('build_edge_k');
REINDEX INDEX build_edge_k;
SELECT * FROM gpu.verify('build_edge_k');
INSERT INTO build_edge VALUES (5);
REINDEX INDEX build_edge_k;
SELECT count(*) AS runs, sum(entries) AS entries FROM gpu.runs('build_edge_k');
SELECT count(*) FROM build_edge WHERE k > 0;
DELETE FROM build_edge;
INSERT INTO build_edge SELECT NULL FROM generate_series(1, 2000);
REINDEX INDEX build_edge_k;
SELECT count(*) FROM build_edge WHERE k > -2147483648;
SELECT count(*) FROM build_edge WHERE k IS NULL;
SELECT count(*) FROM (SELECT k FROM build_edge ORDER BY k DESC) AS o;
SELECT gpu.count('build_edge_k', NULL::int4[], NULL::int4[]) AS open, gpu.count('build_edge_k', ARRAY[-2147483648], NULL::int4[]) AS bounded;
SELECT * FROM gpu.verify('build_edge_k');
TRUNCATE build_edge;
INSERT INTO build_edge SELECT 7 FROM generate_series(1, 30000);
SELECT count(*) FROM build_edge WHERE k = 7;
SELECT count(*) FROM build_edge WHERE k <> 7;
REINDEX INDEX build_edge_k;
SELECT count(*) FROM build_edge WHERE k = 7;
SELECT count(*) FROM build_edge WHERE k > 7 OR k < 7;
SELECT gpu.count('build_edge_k', ARRAY[7], ARRAY[7]) AS equal, gpu.count('build_edge_k', ARRAY[8], NULL::int4[]) AS above;
SELECT count(*), count(DISTINCT tid) FROM gpu.lookup('build_edge_k', ARRAY[7, 8, 7]);
SELECT * FROM gpu.verify('build_edge_k');
DROP TABLE build_edge;
