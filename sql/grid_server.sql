-- gpu_grid's runs in the server process: residency, what is answered there, and that answers are a sequential scan's.
LOAD 'pg_gpu';
SET pg_gpu.min_mirror_entries = 0;
SET pg_gpu.path = host;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE grid_far (id int, x int4, y float8, p point, z int2);
INSERT INTO grid_far
SELECT g, g * 7919 % 10007 - 5000, CASE WHEN g % 1000 = 7 THEN 'NaN' WHEN g % 1000 = 8 THEN '-Infinity' WHEN g % 1000 = 9 THEN '-0' ELSE (g % 333 - 100.5)::text END::float8,
       point(g % 997, g % 89), g % 41 - 20
FROM generate_series(1, 40000) AS g;
INSERT INTO grid_far SELECT g, CASE WHEN g % 2 = 0 THEN g END, CASE WHEN g % 3 = 0 THEN g END, CASE WHEN g % 5 > 0 THEN point(g, g) END, CASE WHEN g % 7 = 0 THEN 1 END
FROM generate_series(40001, 42000) AS g;
CREATE INDEX grid_far_xyz ON grid_far USING gpu_grid (x, y, z);
CREATE INDEX grid_far_pz ON grid_far USING gpu_grid (p, z) WITH (bucket = 32, splits = equal);
VACUUM ANALYZE grid_far;

-- Residency.
SELECT gpu.load('grid_far_xyz') > 42000 * 18 AS loaded, gpu.load('grid_far_pz') > 42000 * 22 AS loaded_points;
SELECT gpu.load('grid_far_xyz') AS loaded_again;
SELECT index_name, kind, entries, device, pinned, run_id = (SELECT run_id FROM gpu.runs(index_name)) AS run
FROM gpu.mirrors WHERE index_name IN ('grid_far_xyz'::regclass, 'grid_far_pz'::regclass) ORDER BY index_name::text;
SELECT gpu.load('grid_far_pz', true) AS loaded_again;
SELECT pinned FROM gpu.mirrors WHERE index_name = 'grid_far_pz'::regclass;

-- The same conditions as a count by the server, a bitmap from it, and a sequential scan.
CREATE FUNCTION grid_far_compare(condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    query text := 'SELECT count(*) || '' '' || coalesce(sum(id), 0) FROM grid_far WHERE ' || condition;
    expected text;
    bitmap text;
    counted text;
BEGIN
    SET LOCAL enable_indexscan = off; SET LOCAL enable_indexonlyscan = off;
    SET LOCAL enable_bitmapscan = off; SET LOCAL pg_gpu.enable_count_scan = off;
    EXECUTE query INTO expected;
    SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = on;
    EXECUTE query INTO bitmap;
    SET LOCAL enable_bitmapscan = off; SET LOCAL enable_indexscan = on; SET LOCAL pg_gpu.enable_count_scan = on;
    EXECUTE 'SELECT count(*) FROM grid_far WHERE ' || condition INTO counted;
    RETURN CASE WHEN bitmap = expected AND counted = split_part(expected, ' ', 1) THEN expected
           ELSE 'expected ' || expected || ', bitmap ' || bitmap || ', counted ' || counted END;
END
$$;
CREATE TABLE grid_far_conditions (n int, condition text, boxes int);
INSERT INTO grid_far_conditions VALUES
  (1, 'x BETWEEN -100 AND 4000', 1), (2, 'x = 17', 1), (3, 'y = 0', 1), (4, 'y = ''NaN''', 1), (5, 'y < -1e300', 1),
  (6, 'y > 50 AND y <= ''Infinity'' AND x > 0 AND z < 20', 1), (7, 'x IS NULL', 1), (8, 'x IS NULL AND y IS NOT NULL', 1),
  (9, 'x IS NULL AND y IS NULL AND z IS NULL', 1), (10, 'x BETWEEN 1000 AND 2000 AND y BETWEEN 10 AND 20 AND z BETWEEN -3 AND 3', 1),
  (11, 'x < 3000000000 AND z > 100000', 0), (12, 'x > 5 AND x < 5', 0), (13, 'p <@ box ''(10,10),(200,50)''', 1),
  (14, 'p <@ box ''(10,10),(200,50)'' AND z = 7', 1), (15, 'p IS NULL AND z IS NOT NULL', 1), (16, 'p <@ box ''(NaN,1),(3,4)''', 0),
  (17, 'x = 10006', 1), (18, 'z IS NOT NULL AND z < 0', 1);
SELECT n, grid_far_compare(condition) FROM grid_far_conditions ORDER BY n;
-- Each was asked there twice, but for those that nothing can meet.
SELECT gpu.stat_reset();
SELECT count(grid_far_compare(condition)), sum(boxes) AS boxes FROM grid_far_conditions;
SELECT request, requests >= 15 AS asked FROM gpu.stat WHERE path = 'host' AND request LIKE '%boxes' AND fallbacks = 0 ORDER BY request;
-- Circles and sameness take tests of rows, which pages are read for.
SELECT gpu.stat_reset();
SELECT grid_far_compare('p <@ circle ''<(100,40),20>'''), grid_far_compare('p ~= ''(100,11)''');
SELECT count(*) FROM gpu.stat WHERE path = 'host' AND request LIKE '%boxes';

-- Batches. Entries of the tail and rows that not everyone sees count as well.
CREATE FUNCTION grid_far_batches() RETURNS TABLE (wrong bigint, boxes bigint) LANGUAGE sql AS $$
  WITH box AS (SELECT g AS n, g * 71 % 9000 - 5000 AS x1, g * 71 % 9000 - 4000 + g % 50 AS x2, (g % 300 - 100)::float8 AS y1, (g % 400 - 50)::float8 AS y2
               FROM generate_series(1, 120) AS g),
       answer AS (SELECT * FROM gpu.count_batch('grid_far_xyz', (SELECT array_agg(ROW(x1, y1) ORDER BY n) FROM box),
                                                (SELECT array_agg(CASE WHEN n % 3 = 0 THEN ROW(x2, NULL::float8) ELSE ROW(x2, y2) END ORDER BY n) FROM box)))
  SELECT count(*) FILTER (WHERE count <> (SELECT count(*) FROM grid_far AS f WHERE f.x BETWEEN x1 AND x2 AND f.y >= y1 AND (n % 3 = 0 OR f.y <= y2))), count(*)
  FROM box JOIN answer ON n = ordinal
$$;
SELECT * FROM grid_far_batches();
INSERT INTO grid_far SELECT g, g % 1000 - 500, g % 77, point(g % 97, g % 89), g % 30 FROM generate_series(50001, 52100) AS g;
DELETE FROM grid_far WHERE id % 10 = 3;
SELECT * FROM grid_far_batches();
SELECT n, grid_far_compare(condition) FROM grid_far_conditions ORDER BY n;
BEGIN;
DELETE FROM grid_far WHERE x > 0;
SELECT grid_far_compare('x BETWEEN -10 AND 10');
ROLLBACK;
SELECT grid_far_compare('x BETWEEN -10 AND 10');
VACUUM grid_far;
SELECT * FROM grid_far_batches();
SELECT n, grid_far_compare(condition) FROM grid_far_conditions WHERE n % 2 = 0 ORDER BY n;
SELECT count(*) FROM gpu.merge('grid_far_xyz');
SELECT * FROM grid_far_batches();
SELECT entries, dead FROM gpu.runs('grid_far_xyz') AS r WHERE EXISTS (SELECT FROM gpu.mirrors AS m WHERE m.run_id = r.run_id);
SELECT requests > 0 AS requests, items > 120 AS items, fallbacks FROM gpu.stat WHERE request = 'count boxes' AND path = 'host';
REINDEX INDEX grid_far_xyz;
SELECT grid_far_compare('x BETWEEN -100 AND 4000 AND z = 3');

-- Exact matches: many keys at once, as records of all columns.
CREATE FUNCTION grid_far_lookups(wanted text) RETURNS TABLE (found bigint, wrong bigint) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE format($q$
      WITH key AS MATERIALIZED (SELECT row_number() OVER () AS n, x, y, z FROM (%s) AS q (x, y, z)),
           answer AS (SELECT ordinal, tid FROM gpu.lookup('grid_far_xyz', (SELECT array_agg(ROW(x, y, z) ORDER BY n) FROM key))),
           expected AS (SELECT n, f.ctid FROM key JOIN grid_far AS f USING (x, y, z))
      SELECT (SELECT count(*) FROM answer),
             (SELECT count(*) FROM answer FULL JOIN expected ON n = ordinal AND ctid = tid WHERE n IS NULL OR ordinal IS NULL)
    $q$, wanted);
END
$$;
SELECT gpu.stat_reset();
SELECT * FROM grid_far_lookups('SELECT x, y, z FROM grid_far WHERE id % 3 = 0 UNION ALL SELECT x, y, z FROM grid_far WHERE id % 7 = 0');
SELECT * FROM grid_far_lookups('SELECT x + 1, y, z FROM grid_far WHERE id < 2000');
INSERT INTO grid_far SELECT id + 300000, x, y, p, z FROM grid_far WHERE id < 700;
SELECT * FROM grid_far_lookups('SELECT x::int8, y, z FROM grid_far WHERE id < 900 OR id > 300500');
SELECT * FROM grid_far_lookups('SELECT 3000000000, 1e300::float8, 1::int2');
SELECT * FROM grid_far_lookups('SELECT 1, 1::float8, 1::int2 WHERE false');
SELECT request, requests > 0 AS requests, fallbacks FROM gpu.stat WHERE path = 'host' AND request = 'match';
SET pg_gpu.path = paged;
SELECT * FROM grid_far_lookups('SELECT x, y, z FROM grid_far WHERE id % 3 = 0 UNION ALL SELECT x, y, z FROM grid_far WHERE id % 7 = 0');
SELECT * FROM grid_far_lookups('SELECT x::int8, y, z FROM grid_far WHERE id < 900 OR id > 300500');
SET pg_gpu.path = host;
-- Points are matched by ~=, in the pages.
SELECT ordinal, count(*) FROM gpu.lookup('grid_far_pz', ARRAY[ROW(point(100, 11), 7::int2), ROW(point(100, 11.0000001), -2::int2), NULL, ROW(point(1, 1), NULL::int2)]) GROUP BY 1;
SELECT count(*) FROM grid_far WHERE p ~= '(100,11)' AND z IN (7, -2);
SELECT count(*), sum(f.id) FROM gpu.lookup('grid_far_xyz', (SELECT array_agg(ROW(x, y, z)) FROM grid_far WHERE id BETWEEN 3000 AND 4000)) AS l JOIN grid_far AS f ON f.ctid = l.tid;
SELECT count(*), sum(id) FROM grid_far WHERE id BETWEEN 3000 AND 4000;
SELECT * FROM gpu.lookup('grid_far_xyz', ARRAY[1]);
SELECT * FROM gpu.lookup('grid_far_xyz', ARRAY[ROW(1, 2::float8)]);

-- Paged, counted where it is answered.
SET pg_gpu.path = paged;
SELECT gpu.stat_reset();
SELECT * FROM grid_far_batches();
SELECT request, requests, items, milliseconds > 0 AS time FROM gpu.stat WHERE path = 'paged' AND requests > 0 AND request <> 'block facts';
SET pg_gpu.path = auto;
-- One small box never travels.
SELECT gpu.stat_reset();
SELECT gpu.count('grid_far_xyz', ROW(1, 2::float8), ROW(30, 40::float8)) = (SELECT count(*) FROM grid_far WHERE x + 0 BETWEEN 1 AND 30 AND y + 0 BETWEEN 2 AND 40) AS same;
SELECT count(*) FROM gpu.stat WHERE path <> 'paged';
SET pg_gpu.path = host;

-- A code of 128 bits is two columns there: equality is a box, most ranges are not.
CREATE TABLE grid_wide (u uuid, x int4, v uuid, w uuid, y uuid);
INSERT INTO grid_wide SELECT md5((g % 1000)::text)::uuid, g, CASE WHEN g % 7 > 0 THEN md5(g::text)::uuid END FROM generate_series(1, 5000) AS g;
CREATE INDEX grid_wide_i ON grid_wide USING gpu_grid (u, x, v);
CREATE INDEX grid_wide_all ON grid_wide USING gpu_grid (u, x, v, w, y);
VACUUM grid_wide;
SELECT gpu.stat_reset();
SELECT gpu.count('grid_wide_i', ROW(md5('17')::uuid, 100), ROW(md5('17')::uuid, 4000)) = (SELECT count(*) FROM grid_wide WHERE u::text = md5('17')::uuid::text AND x + 0 BETWEEN 100 AND 4000) AS same,
       gpu.count('grid_wide_i', ROW(NULL::uuid, 100), ROW(NULL::uuid, 4000)) AS open;
SELECT requests > 1 AS asked FROM gpu.stat WHERE path = 'host' AND request = 'count boxes';
-- Of a prefix, of a whole upper half, and of less than that at its ends; then of codes with nothing between them.
SELECT gpu.count('grid_wide_i', ARRAY['70efdf2e-c9b0-8607-0000-000000000000'::uuid], ARRAY['70efdf2e-c9b0-8607-ffff-ffffffffffff'::uuid]) AS prefix,
       (SELECT count(*) FROM grid_wide WHERE u::text COLLATE "C" BETWEEN '70efdf2e-c9b0-8607-0000-000000000000' AND '70efdf2e-c9b0-8607-ffff-ffffffffffff') AS expected,
       gpu.count('grid_wide_i', ARRAY['70efdf2e-c9b0-8607-9795-c442636b55fb'::uuid], ARRAY['70efdf2e-c9b0-8607-9795-c442636b55fb'::uuid]) AS one,
       gpu.count('grid_wide_i', ARRAY['70efdf2e-c9b0-8607-9795-c442636b55fc'::uuid], ARRAY['70efdf2e-c9b0-8607-ffff-ffffffffffff'::uuid]) AS none,
       gpu.count('grid_wide_i', ARRAY['80000000-0000-0000-0000-000000000000'::uuid], ARRAY['a0000000-0000-0000-ffff-ffffffffffff'::uuid]) AS whole,
       (SELECT count(*) FROM grid_wide WHERE u::text COLLATE "C" BETWEEN '80000000-0000-0000-0000-000000000000' AND 'a0000000-0000-0000-ffff-ffffffffffff') AS expected,
       gpu.count('grid_wide_i', ARRAY['70efdf2e-c9b0-8607-9795-c442636b55fc'::uuid], ARRAY['70efdf2e-c9b0-8607-9795-c442636b55fa'::uuid]) AS crossed;
SELECT requests AS before FROM gpu.stat WHERE path = 'host' AND request = 'count boxes' \gset
SELECT gpu.count('grid_wide_i', ARRAY['80000000-0000-0000-0000-000000000001'::uuid], NULL) = (SELECT count(*) FROM grid_wide WHERE u::text COLLATE "C" >= '80000000-0000-0000-0000-000000000001') AS same;
SELECT requests = :before AS not_one_more FROM gpu.stat WHERE path = 'host' AND request = 'count boxes';
SELECT count(*) = (SELECT count(*) FROM grid_wide WHERE v IS NOT NULL) AS all_found FROM gpu.lookup('grid_wide_i', (SELECT array_agg(ROW(u, x, v)) FROM grid_wide));
SELECT requests > 0 AS asked FROM gpu.stat WHERE path = 'host' AND request = 'match';
SELECT gpu.load('grid_wide_all');
SELECT gpu.evict('grid_wide_all');
SELECT gpu.count('grid_wide_all', ROW(md5('17')::uuid, 100), ROW(md5('17')::uuid, 4000)) AS count;
SELECT requests = :before AS not_one_more FROM gpu.stat WHERE path = 'host' AND request = 'count boxes';

-- Residency is the setting's and the owner's to decide.
SET pg_gpu.mirror = manual;
SELECT gpu.evict('grid_far_xyz') > 0 AS evicted, gpu.evict('grid_far_pz') > 0 AS evicted_pinned, gpu.evict('grid_far_pz') AS again;
SELECT gpu.stat_reset();
SELECT gpu.count('grid_far_xyz', ROW(1, 2::float8), ROW(30, 40::float8)) = (SELECT count(*) FROM grid_far WHERE x + 0 BETWEEN 1 AND 30 AND y + 0 BETWEEN 2 AND 40) AS same;
SELECT fallbacks > 0 AS fell_back, last_reason FROM gpu.stat WHERE path = 'host' AND request = 'count boxes';
SET pg_gpu.mirror = off;
SELECT gpu.load('grid_far_xyz');
RESET pg_gpu.mirror;

-- Runs of a sealed tail alone, and an index without an entry.
CREATE TEMP TABLE grid_temp (x int4, p point);
CREATE INDEX grid_temp_i ON grid_temp USING gpu_grid (p, x);
SELECT gpu.load('grid_temp_i'), gpu.count('grid_temp_i', NULL::record, NULL::record);
INSERT INTO grid_temp SELECT g, point(g, -g) FROM generate_series(1, 3000) AS g;
SELECT gpu.load('grid_temp_i') > 0 AS loaded;
SELECT gpu.count('grid_temp_i', ROW(point(10, -1e9), 1), ROW(point(200, 1e9), 150));
SELECT index_name, kind FROM gpu.mirrors WHERE run_id IN (SELECT run_id FROM gpu.runs('grid_temp_i')) LIMIT 1;
-- With a small transfer buffer a large result is left to the pages, and a large batch is cut.
INSERT INTO grid_far SELECT g, g, g % 1000, point(g, g), 1 FROM generate_series(100001, 280000) AS g;
\c -
LOAD 'pg_gpu';
SET pg_gpu.path = host;
SET max_parallel_workers_per_gather = 0;
SET pg_gpu.session_transfer_memory = '1MB';
SELECT gpu.stat_reset();
SELECT grid_far_compare('x > 100');
SELECT request, fallbacks > 0 AS fell_back, last_reason FROM gpu.stat WHERE path = 'host' AND request = 'search boxes';
SELECT count(*), sum(count) = sum((SELECT count(*) FROM grid_far WHERE x + 0 BETWEEN 100001 AND 100010 AND z + 0 = 1) + (ordinal - 1) % 7) AS same
FROM gpu.count_batch('grid_far_xyz', (SELECT array_agg(ROW(100001, 0::float8, 1) ORDER BY g) FROM generate_series(1, 60000) AS g),
                     (SELECT array_agg(ROW(100010 + (g - 1) % 7, 1e9::float8, 1) ORDER BY g) FROM generate_series(1, 60000) AS g));
SELECT requests > 1 AS cut, items >= 60000 AS all_boxes FROM gpu.stat WHERE path = 'host' AND request = 'count boxes';
RESET pg_gpu.session_transfer_memory;
DROP TABLE grid_wide, grid_far, grid_far_conditions;
DROP FUNCTION grid_far_compare, grid_far_batches, grid_far_lookups;
