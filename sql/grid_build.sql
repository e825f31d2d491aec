-- gpu_grid: builds of every kind of table, within memory and beyond it, in parallel; runs, merges, options, refusals.
\set VERBOSITY default
SET max_parallel_workers_per_gather = 0;
CREATE FUNCTION grid_counts(table_name text, index_name text, conditions text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    condition text;
    expected bigint;
    found bigint;
    counted bigint;
    result text := '';
BEGIN
    FOREACH condition IN ARRAY conditions LOOP
        SET LOCAL enable_seqscan = on; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_indexscan = off;
        SET LOCAL enable_indexonlyscan = off; SET LOCAL pg_gpu.enable_count_scan = off;
        EXECUTE format('SELECT count(*) FROM %s WHERE %s', table_name, condition) INTO expected;
        SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = on;
        EXECUTE format('SELECT count(*) FROM %s WHERE %s', table_name, condition) INTO found;
        SET LOCAL enable_indexscan = on; SET LOCAL pg_gpu.enable_count_scan = on;
        EXECUTE format('SELECT count(*) FROM %s WHERE %s', table_name, condition) INTO counted;
        result := result || CASE WHEN found = expected AND counted = expected THEN ' ' || expected
                                 ELSE format(' [%s: %s, found %s, counted %s]', condition, expected, found, counted) END;
    END LOOP;
    RETURN ltrim(result) || coalesce((SELECT '; ' || problem FROM gpu.verify(index_name::regclass) LIMIT 1), '');
END
$$;

-- Nothing, one row, nothing but NULLs.
CREATE TABLE grid_few (x int4, y float8, z uuid);
CREATE INDEX grid_few_i ON grid_few USING gpu_grid (x, y, z);
SELECT grid_counts('grid_few', 'grid_few_i', ARRAY['x = 1', 'x IS NULL', 'y < 3']);
INSERT INTO grid_few VALUES (1, 2, NULL);
SELECT grid_counts('grid_few', 'grid_few_i', ARRAY['x = 1', 'x IS NULL', 'y < 3', 'z IS NULL']);
REINDEX INDEX grid_few_i;
SELECT grid_counts('grid_few', 'grid_few_i', ARRAY['x = 1', 'x IS NULL', 'y < 3', 'z IS NULL']);
INSERT INTO grid_few SELECT FROM generate_series(1, 5000);
REINDEX INDEX grid_few_i;
VACUUM grid_few;
SELECT grid_counts('grid_few', 'grid_few_i', ARRAY['x = 1', 'x IS NULL', 'y < 3', 'z IS NULL', 'x IS NOT NULL']);
DROP TABLE grid_few;

-- A quarter of a million identical points, in memory and in files, and a few others among them.
CREATE TABLE grid_same (x int4, y int4);
INSERT INTO grid_same SELECT 7, -7 FROM generate_series(1, 250000);
SET maintenance_work_mem = '256MB';
CREATE INDEX grid_same_i ON grid_same USING gpu_grid (x, y);
VACUUM grid_same;
SELECT grid_counts('grid_same', 'grid_same_i', ARRAY['x = 7', 'y = 7', 'x < 7', 'x >= 7 AND y <= -7']);
INSERT INTO grid_same VALUES (1, 1), (7, 8), (8, -7), (NULL, -7), (7, NULL), (2147483647, -2147483648);
SET maintenance_work_mem = '1MB';
REINDEX INDEX grid_same_i;
VACUUM grid_same;
SELECT grid_counts('grid_same', 'grid_same_i', ARRAY['x = 7', 'y > -7', 'x < 7', 'x > 7', 'x IS NULL', 'y IS NULL AND x = 7']);
SELECT pg_relation_size('grid_same_i') < 2500000 AS small FROM pg_class WHERE relname = 'grid_same';
DROP TABLE grid_same;

-- Skew, both split rules, memory or not, workers or not.
CREATE TABLE grid_skew AS
SELECT g AS id, (exp(15.0 * (g * 7919::int8 % 100003) / 100003))::int8 AS x, (g * 104729::int8 % 100003)::float8 / 3 AS y, g % 2 = 0 AS z
FROM generate_series(1, 100000) AS g;
VACUUM ANALYZE grid_skew;
CREATE FUNCTION grid_skew_build(options text, memory text, workers int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    SET LOCAL client_min_messages = warning;
    PERFORM set_config('maintenance_work_mem', memory, true), set_config('max_parallel_maintenance_workers', workers::text, true),
            set_config('min_parallel_table_scan_size', '0', true);
    DROP INDEX IF EXISTS grid_skew_i;
    EXECUTE 'CREATE INDEX grid_skew_i ON grid_skew USING gpu_grid (x, y, z) ' || options;
    RETURN grid_counts('grid_skew', 'grid_skew_i', ARRAY['x < 100', 'x > 100000 AND y < 5000', 'y BETWEEN 100 AND 200 AND x BETWEEN 5 AND 5000',
                                                         'x = 1', 'z > false AND x < 3', 'x BETWEEN 10 AND 1000000 AND y BETWEEN 1000 AND 30000']);
END
$$;
SELECT options, memory, workers, grid_skew_build(options, memory, workers)
FROM unnest(ARRAY['', 'WITH (splits = equal)']) AS options, unnest(ARRAY['1MB', '64MB']) AS memory, unnest(ARRAY[0, 2]) AS workers;
SELECT count(*) AS runs, sum(entries) AS entries, sum(dead) AS dead FROM gpu.runs('grid_skew_i');
-- Smaller than btree's by more than a third.
CREATE INDEX grid_skew_btree ON grid_skew (x, y, z);
SELECT pg_relation_size('grid_skew_i') < 0.6 * pg_relation_size('grid_skew_btree') AS small;
DROP INDEX grid_skew_btree;

-- Deletes, VACUUM, inserts, merges in little memory.
DELETE FROM grid_skew WHERE id % 5 = 0;
VACUUM grid_skew;
SELECT sum(dead) AS dead FROM gpu.runs('grid_skew_i');
SELECT grid_counts('grid_skew', 'grid_skew_i', ARRAY['x < 100', 'x > 100000 AND y < 5000', 'x BETWEEN 10 AND 1000000']);
INSERT INTO grid_skew SELECT g, g % 1000, g, NULL FROM generate_series(1, 50000) AS g;
SELECT grid_counts('grid_skew', 'grid_skew_i', ARRAY['x < 100', 'x > 100000 AND y < 5000', 'x BETWEEN 10 AND 1000000', 'z IS NULL AND y < 77']);
SET maintenance_work_mem = '1MB';
SELECT step, column_name, entries, path FROM gpu.merge('grid_skew_i');
RESET maintenance_work_mem;
VACUUM grid_skew;
SELECT grid_counts('grid_skew', 'grid_skew_i', ARRAY['x < 100', 'x > 100000 AND y < 5000', 'x BETWEEN 10 AND 1000000', 'z IS NULL AND y < 77']);
SELECT count(*) AS runs, sum(entries) AS entries, sum(dead) AS dead FROM gpu.runs('grid_skew_i');

-- Functions.
SELECT gpu.count('grid_skew_i', ROW(10, 100::float8), ROW(1000, 200::float8)), gpu.count('grid_skew_i', NULL::int[], NULL::int[]),
       gpu.count('grid_skew_i', ROW(10, 100.5::float8, true), ROW(1000, NULL::float8, true)), gpu.count('grid_skew_i', ARRAY[10], NULL);
SELECT count(*) FILTER (WHERE x BETWEEN 10 AND 1000 AND y BETWEEN 100 AND 200), count(*),
       count(*) FILTER (WHERE x BETWEEN 10 AND 1000 AND y >= 100.5 AND z), count(*) FILTER (WHERE x >= 10) FROM grid_skew;
SELECT * FROM gpu.count_batch('grid_skew_i', ARRAY[ROW(1, 1::float8), ROW(10, NULL::float8), ROW(5, 5::float8)],
                              ARRAY[ROW(100, 100::float8), ROW(20, NULL::float8), ROW(4, 4::float8)]);
SELECT count(*) FILTER (WHERE x BETWEEN 1 AND 100 AND y BETWEEN 1 AND 100), count(*) FILTER (WHERE x BETWEEN 10 AND 20) FROM grid_skew;
SELECT * FROM gpu.lookup('grid_skew_i', ARRAY[1]);
SELECT gpu.count('grid_skew_i', ARRAY['a'], NULL);
SELECT gpu.count('grid_skew_i', ARRAY[1, 2], NULL);
SELECT gpu.count('grid_skew_i', ARRAY[1, 2, 3, 4], NULL);

-- Options and refusals.
CREATE INDEX ON grid_skew USING gpu_grid (x) WITH (splits = many);
CREATE INDEX ON grid_skew USING gpu_grid (x) WITH (bucket = 0);
CREATE INDEX ON grid_skew USING gpu_grid (x) WITH (fillfactor = 70);
CREATE INDEX grid_options ON grid_skew USING gpu_grid (x) WITH (splits = equal, bucket = 16, fanout = 4);
ALTER INDEX grid_options SET (splits = distinct, fanout = 2);
SELECT reloptions FROM pg_class WHERE relname = 'grid_options';
CREATE UNIQUE INDEX ON grid_skew USING gpu_grid (x);
CREATE INDEX ON grid_skew USING gpu_grid (x) INCLUDE (y);
CREATE INDEX ON grid_skew USING gpu_grid (x DESC);
CREATE INDEX ON grid_skew USING gpu_grid ((x::text));
CREATE INDEX ON grid_skew USING gpu_grid (x, y, z, id, (x + 1), (x + 2), (x + 3), (x + 4), (x + 5));
CREATE INDEX ON grid_skew USING gpu_grid (x, y, z, id, (x + 1), (x + 2), (x + 3), point(x, y));
CLUSTER grid_skew USING grid_options;

-- Partial, on an expression, concurrently, unlogged and temporary.
CREATE INDEX grid_partial ON grid_skew USING gpu_grid ((x % 100), y) WHERE z;
CREATE INDEX CONCURRENTLY grid_concurrent ON grid_skew USING gpu_grid (id, y);
REINDEX INDEX CONCURRENTLY grid_concurrent;
SELECT grid_counts('grid_skew', 'grid_partial', ARRAY['z AND x % 100 = 5 AND y < 10000', 'id < 100 AND y > 50']);
SELECT problem FROM gpu.verify('grid_concurrent');
CREATE TEMP TABLE grid_temporary AS SELECT x, y FROM grid_skew;
CREATE INDEX grid_temporary_i ON grid_temporary USING gpu_grid (x, y);
INSERT INTO grid_temporary SELECT g, g FROM generate_series(1, 3000) AS g;
SELECT grid_counts('grid_temporary', 'grid_temporary_i', ARRAY['x < 100 AND y < 50', 'x > 100000 AND y < 5000']);
TRUNCATE grid_temporary;
SELECT grid_counts('grid_temporary', 'grid_temporary_i', ARRAY['x < 100']);
CREATE UNLOGGED TABLE grid_unlogged AS SELECT x, y FROM grid_skew;
CREATE INDEX grid_unlogged_i ON grid_unlogged USING gpu_grid (x, y);
SELECT grid_counts('grid_unlogged', 'grid_unlogged_i', ARRAY['x < 100 AND y < 50', 'x > 100000 AND y < 5000']);

-- What the access method says of itself.
SELECT property, pg_indexam_has_property(pg_am.oid, property) AS has
FROM pg_am, unnest(ARRAY['can_order', 'can_unique', 'can_multi_col', 'can_exclude', 'can_include']) WITH ORDINALITY AS p(property, n)
WHERE amname = 'gpu_grid' ORDER BY n;
SELECT property, pg_index_has_property('grid_skew_i', property) AS has
FROM unnest(ARRAY['clusterable', 'index_scan', 'bitmap_scan', 'backward_scan']) WITH ORDINALITY AS p(property, n) ORDER BY n;
CREATE TABLE grid_property (p point, x int4, y float8);
CREATE INDEX grid_property_i ON grid_property USING gpu_grid (p, x, y);
SELECT property, pg_index_column_has_property('grid_property_i', 1, property) AS point,
       pg_index_column_has_property('grid_property_i', 2, property) AS int4, pg_index_column_has_property('grid_property_i', 3, property) AS float8
FROM unnest(ARRAY['orderable', 'distance_orderable', 'returnable', 'search_array', 'search_nulls']) WITH ORDINALITY AS p(property, n) ORDER BY n;
SELECT phase, pg_indexam_progress_phasename(pg_am.oid, phase) AS name
FROM pg_am, generate_series(0, 9) AS phase
WHERE amname = 'gpu_grid' AND pg_indexam_progress_phasename(pg_am.oid, phase) IS NOT NULL ORDER BY phase;
-- An exclusion constraint.
ALTER TABLE grid_property ADD CONSTRAINT grid_exclusion EXCLUDE USING gpu_grid (p WITH ~=);
INSERT INTO grid_property VALUES ('(1,1)', 1, 1), ('(1,2)', 1, 1);
INSERT INTO grid_property VALUES ('(1,1.0000001)', 1, 1);
DROP TABLE grid_skew, grid_unlogged, grid_property;
DROP FUNCTION grid_counts, grid_skew_build;
