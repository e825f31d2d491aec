-- gpu_grid: boxes of any columns through every kind of scan, against the table itself.
SET max_parallel_workers_per_gather = 0;
-- A scan that is switched off costs so much that every statement would be compiled.
SET jit = off;

-- Runs a query over the table and through the index; the index's plan must use it.
CREATE FUNCTION grid_compare(query text, kind text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    expected text;
    found text;
    line text;
    plan text := '';
    sorted text := format('SELECT count(*) || '' rows ''  || coalesce(md5(string_agg(q::text, '','' ORDER BY q::text)), '''') FROM (%s) AS q', query);
BEGIN
    SET LOCAL enable_seqscan = on; SET LOCAL enable_indexscan = off; SET LOCAL enable_bitmapscan = off;
    SET LOCAL enable_indexonlyscan = off; SET LOCAL pg_gpu.enable_count_scan = off;
    EXECUTE sorted INTO expected;
    SET LOCAL enable_seqscan = off;
    IF kind = 'bitmap' THEN SET LOCAL enable_bitmapscan = on;
    ELSIF kind = 'count' THEN SET LOCAL pg_gpu.enable_count_scan = on; SET LOCAL enable_indexscan = on;
    ELSE SET LOCAL enable_indexscan = on; SET LOCAL enable_indexonlyscan = on;
    END IF;
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || CASE kind WHEN 'count' THEN query ELSE sorted END LOOP
        plan := plan || line;
    END LOOP;
    IF plan !~ (CASE kind WHEN 'bitmap' THEN 'Bitmap Index Scan on ' WHEN 'count' THEN 'GpuCount'
                         WHEN 'only' THEN 'Index Only Scan using ' ELSE 'Index Scan using ' END) THEN
        RETURN 'other plan: ' || plan;
    END IF;
    EXECUTE sorted INTO found;
    RETURN CASE WHEN found = expected THEN split_part(found, ' ', 1) ELSE 'expected ' || expected || ', found ' || found END;
END
$$;

CREATE TABLE grid_box (id int, x int4, y int8, z int2, note text);
INSERT INTO grid_box
SELECT g, g * 7919 % 10007 - 5000, (g::int8 * 104729 % 100003) * 1000003, g % 41 - 20, 'row'
FROM generate_series(1, 30000) AS g;
INSERT INTO grid_box SELECT g, CASE WHEN g % 2 = 0 THEN g END, CASE WHEN g % 3 = 0 THEN g END, CASE WHEN g % 5 = 0 THEN g % 7 END, 'null'
FROM generate_series(30001, 32000) AS g;
CREATE INDEX grid_box_i ON grid_box USING gpu_grid (x, y, z);
VACUUM ANALYZE grid_box;
-- Some rows in the tail and in small runs, and some that are not visible to all.
INSERT INTO grid_box SELECT g, g % 1000 - 500, g * 1000003::int8, g % 30, 'late' FROM generate_series(32001, 33100) AS g;
DELETE FROM grid_box WHERE id % 10 = 3;
SELECT count(*) > 1 AS runs FROM gpu.runs('grid_box_i');

CREATE TABLE grid_conditions (n int, condition text);
INSERT INTO grid_conditions VALUES
  (1, 'x BETWEEN -100 AND 100'),
  (2, 'y BETWEEN 0 AND 10000000000'),
  (3, 'z = 5'),
  (4, 'x > 0 AND y < 20000000000'),
  (5, 'x BETWEEN -2000 AND 2000 AND y BETWEEN 10000000000 AND 60000000000 AND z BETWEEN -10 AND 10'),
  (6, 'x = 17 AND y IS NOT NULL'),
  (7, 'x IS NULL'),
  (8, 'y IS NULL AND x > 31000'),
  (9, 'x IS NULL AND y IS NULL AND z IS NULL'),
  (10, 'z IS NULL AND x IS NOT NULL AND y IS NOT NULL'),
  (11, 'x >= -5000 AND x < -4990'),
  (12, 'x > 100 AND x < 100'),
  (13, 'x < 3000000000 AND z > -40000'),
  (14, 'x > 3000000000'),
  (15, 'y = 104729 * 1000003::int8'),
  (16, 'x <= -5001'),
  (17, 'z < 0::int8 AND y >= 99000000000'),
  (18, 'x IS NOT NULL'),
  (19, 'x = (SELECT NULL::int4)'),
  (20, 'x BETWEEN (SELECT -300) AND (SELECT 300) AND z IN (1)');
SELECT n, grid_compare('SELECT id, x, y, z FROM grid_box WHERE ' || condition, 'bitmap') AS bitmap,
       grid_compare('SELECT id, x, y, z FROM grid_box WHERE ' || condition, 'plain') AS plain,
       grid_compare('SELECT x, y, z FROM grid_box WHERE ' || condition, 'only') AS only,
       grid_compare('SELECT count(*) FROM grid_box WHERE ' || condition, 'count') AS count
FROM grid_conditions ORDER BY n;

-- The same with one run, and everything visible.
VACUUM grid_box;
SELECT entries > 0 AS merged FROM gpu.merge('grid_box_i');
VACUUM grid_box;
SELECT count(*) AS runs, sum(dead) AS dead FROM gpu.runs('grid_box_i');
SELECT n, grid_compare('SELECT id, x, y, z FROM grid_box WHERE ' || condition, 'bitmap') AS bitmap,
       grid_compare('SELECT id, x, y, z FROM grid_box WHERE ' || condition, 'plain') AS plain,
       grid_compare('SELECT x, y, z FROM grid_box WHERE ' || condition, 'only') AS only,
       grid_compare('SELECT count(*) FROM grid_box WHERE ' || condition, 'count') AS count
FROM grid_conditions ORDER BY n;
SELECT * FROM gpu.verify('grid_box_i');

-- Arrays are the executor's: a scan for each element.
SET enable_seqscan = off;
SELECT count(*), sum(z) FROM grid_box WHERE x = ANY (ARRAY[1, 17, 17, NULL, 23]);
SET enable_bitmapscan = off;
-- No order, but a cursor may go on after others' changes.
INSERT INTO grid_box SELECT g, g % 1000 - 500, g, 1, 'later' FROM generate_series(33101, 34500) AS g;
SELECT count(*) > 1 AS runs FROM gpu.runs('grid_box_i');
CREATE TABLE grid_fetched (id int);
DO $$
DECLARE
    c CURSOR FOR SELECT id FROM grid_box WHERE x BETWEEN -3000 AND 3000;
    one int;
BEGIN
    OPEN c;
    FOR i IN 1 .. 5000 LOOP
        FETCH c INTO one;
        INSERT INTO grid_fetched VALUES (one);
    END LOOP;
    PERFORM * FROM gpu.merge('grid_box_i');
    LOOP
        FETCH c INTO one;
        EXIT WHEN NOT FOUND;
        INSERT INTO grid_fetched VALUES (one);
    END LOOP;
END
$$;
SELECT count(*) AS runs FROM gpu.runs('grid_box_i');
SET enable_seqscan = on; SET enable_indexscan = off; SET enable_indexonlyscan = off;
SELECT count(*) = count(DISTINCT id) AS once, count(*) = (SELECT count(*) FROM grid_box WHERE x BETWEEN -3000 AND 3000) AS complete FROM grid_fetched;
SET enable_seqscan = off; RESET enable_indexscan; RESET enable_indexonlyscan;
EXPLAIN (COSTS OFF) SELECT x FROM grid_box WHERE x BETWEEN 1 AND 3 ORDER BY x;
RESET enable_bitmapscan;
RESET enable_seqscan;

-- Both split rules, and every number of columns.
CREATE TABLE grid_columns AS
SELECT g % 3 AS a, g % 5 AS b, g % 7 AS c, g % 11 AS d, g % 13 AS e, g % 17 AS f, g % 19 AS g, g AS h, 1 AS one
FROM generate_series(1, 20000) AS g;
CREATE FUNCTION grid_columns_compare(columns text, options text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    SET LOCAL client_min_messages = warning;
    DROP INDEX IF EXISTS grid_columns_i;
    EXECUTE format('CREATE INDEX grid_columns_i ON grid_columns USING gpu_grid (%s) %s', columns, options);
    RETURN (SELECT string_agg(grid_compare('SELECT * FROM grid_columns WHERE ' || c, 'bitmap'), ', ')
            FROM unnest(ARRAY['a = 1', 'a <= 1 AND a >= 0', 'a > 1']) AS c)
        || coalesce((SELECT ': ' || problem FROM gpu.verify('grid_columns_i') LIMIT 1), '');
END
$$;
SELECT columns, options, grid_columns_compare(columns, options)
FROM unnest(ARRAY['a', 'h, a', 'a, h, b', 'a, b, c, d', 'one, a, h', 'a, b, c, d, e', 'a, b, c, d, e, f', 'h, g, f, e, d, c, a',
                  'a, b, c, d, e, f, g, h']) AS columns,
     unnest(ARRAY['', 'WITH (splits = equal)']) AS options;
DROP TABLE grid_fetched, grid_box, grid_conditions, grid_columns;
DROP FUNCTION grid_columns_compare;
DROP FUNCTION grid_compare;
