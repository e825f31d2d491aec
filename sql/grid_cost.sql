-- gpu_grid: the planner takes the index where it pays.
SET max_parallel_workers_per_gather = 0;
-- ANALYZE looks at every row, so that estimates are the same each time.
SET default_statistics_target = 250;
CREATE TABLE grid_cost AS SELECT g AS id, g * 7919 % 100003 AS x, g * 104729::int8 % 100003 AS y, repeat('x', 50) AS note FROM generate_series(1, 60000) AS g;
CREATE INDEX grid_cost_i ON grid_cost USING gpu_grid (x, y);
VACUUM ANALYZE grid_cost;
EXPLAIN (COSTS OFF) SELECT * FROM grid_cost WHERE x BETWEEN 100 AND 1000 AND y BETWEEN 100 AND 1000;
EXPLAIN (COSTS OFF) SELECT sum(id) FROM grid_cost WHERE x BETWEEN 100 AND 10000 AND y BETWEEN 100 AND 10000;
EXPLAIN (COSTS OFF) SELECT sum(id) FROM grid_cost WHERE y = 17;
EXPLAIN (COSTS OFF) SELECT sum(id) FROM grid_cost WHERE x > 100;
EXPLAIN (COSTS OFF) SELECT count(*) FROM grid_cost WHERE x > 100 AND y < 50000;
EXPLAIN (COSTS OFF) SELECT count(*) FROM grid_cost;
EXPLAIN (COSTS OFF) SELECT x, y FROM grid_cost WHERE x BETWEEN 100 AND 1000 AND y BETWEEN 100 AND 1000;
EXPLAIN (COSTS OFF) SELECT * FROM grid_cost AS a JOIN grid_cost AS b ON b.x = a.x + 1 AND b.y = a.y WHERE a.id = 5;
-- A box beside btree's first column: the grid reads less.
CREATE INDEX grid_cost_btree ON grid_cost (x, y);
EXPLAIN (COSTS OFF) SELECT * FROM grid_cost WHERE x BETWEEN 100 AND 20000 AND y BETWEEN 100 AND 600;
-- Costs grow with what is read, and are never nothing.
CREATE FUNCTION grid_cost_of(condition text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    SET LOCAL enable_seqscan = off; SET LOCAL enable_indexscan = off; SET LOCAL enable_indexonlyscan = off;
    EXECUTE 'EXPLAIN (FORMAT JSON) SELECT * FROM grid_cost WHERE ' || condition INTO plan;
    RETURN (plan -> 0 -> 'Plan' -> 'Plans' -> 0 ->> 'Total Cost')::float8;
END
$$;
DROP INDEX grid_cost_btree;
SELECT a < b AND b < c AND c < d AND a > 0 AS grows FROM (SELECT grid_cost_of('x = 5 AND y = 5') AS a, grid_cost_of('x BETWEEN 5 AND 5000 AND y BETWEEN 5 AND 5000') AS b,
  grid_cost_of('x BETWEEN 5 AND 5000') AS c, grid_cost_of('x > 5') AS d) AS q;
-- A small box reads few pages, wherever in the index it lies: the directory leads there.
CREATE FUNCTION grid_cost_pages(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off;
    EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ' || query INTO plan;
    RETURN (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::int + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::int;
END
$$;
SELECT (SELECT pages FROM gpu.runs('grid_cost_i') ORDER BY entries DESC LIMIT 1) > 30 AS large,
       max(grid_cost_pages(format('SELECT id FROM grid_cost WHERE x BETWEEN %1$s AND %1$s + 100 AND y BETWEEN %2$s AND %2$s + 100', x, y))) < 16 AS few
FROM generate_series(0, 99000, 33000) AS x, generate_series(0, 99000, 33000) AS y;
DROP TABLE grid_cost;
DROP FUNCTION grid_cost_of, grid_cost_pages;
