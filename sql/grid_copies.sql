-- The nearest of places of which one has most rows: a search reads the rows that it returns, not all that lie there.
SET jit = off;
SET max_parallel_workers_per_gather = 0;
SET pg_gpu.path = paged;
CREATE TABLE spot (id int, p point, kind int2);
INSERT INTO spot SELECT g, CASE WHEN g % 10 = 0 THEN point(g % 1000, g % 777) ELSE point(7, 7) END, g % 3 FROM generate_series(1, 60000) AS g;
CREATE INDEX spot_p ON spot USING gpu_grid (p);
VACUUM ANALYZE spot;
-- Pages of the index and the table that ten rows take.
CREATE FUNCTION pages_of(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  plan json;
  pages int;
BEGIN
  EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ' || query INTO plan;
  plan := plan -> 0 -> 'Plan' -> 'Plans' -> 0;
  pages := (plan ->> 'Shared Hit Blocks')::int + (plan ->> 'Shared Read Blocks')::int;
  RETURN format('%s, %s', plan ->> 'Node Type', CASE WHEN pages <= 20 THEN 'few pages' ELSE pages || ' pages' END);
END
$$;
SELECT x, y, pages_of(format('SELECT id FROM spot ORDER BY p <-> point(%s, %s) LIMIT 10', x, y))
FROM (VALUES (7.1, 7.1), (7, 7), (6.9, 7), (7, 6.9), (6.9, 7.1), (700, 7), (-1, -1)) AS v (x, y);
SELECT pages_of('SELECT id FROM spot WHERE id > 0 ORDER BY p <-> point(7.1, 7.1) LIMIT 10');
-- Beside another column, and in an index that is built in a file because memory is short.
CREATE INDEX spot_pk ON spot USING gpu_grid (kind, p);
DROP INDEX spot_p;
SELECT pages_of('SELECT id FROM spot WHERE kind = 1 ORDER BY p <-> point(7.1, 7.1) LIMIT 10');
SET maintenance_work_mem = '1MB';
CREATE INDEX spot_small ON spot USING gpu_grid (p);
DROP INDEX spot_pk;
SELECT pages_of('SELECT id FROM spot ORDER BY p <-> point(7.1, 7.1) LIMIT 10');
SELECT * FROM gpu.verify('spot_small');
RESET maintenance_work_mem;
-- The same rows by index and by table, also where NaN, infinities and zeros are what most rows have, and after inserts, deletes and a merge.
CREATE FUNCTION nearest_same(x float8, y float8, most int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  query constant text := format('SELECT md5(string_agg(d::text, '','')) FROM (SELECT p <-> point(%L, %L) AS d FROM spot ORDER BY p <-> point(%L, %L) LIMIT %s) AS q', x, y, x, y, most);
  by_index text;
  by_table text;
BEGIN
  SET LOCAL enable_seqscan = off;
  SET LOCAL enable_indexscan = on;
  SET LOCAL enable_indexonlyscan = on;
  EXECUTE query INTO by_index;
  SET LOCAL enable_seqscan = on;
  SET LOCAL enable_indexscan = off;
  SET LOCAL enable_indexonlyscan = off;
  EXECUTE query INTO by_table;
  RETURN CASE WHEN by_index = by_table THEN 'same' ELSE 'DIFFERENT' END;
END
$$;
INSERT INTO spot SELECT g, point(7, 7), 1 FROM generate_series(1, 5000) AS g;
INSERT INTO spot SELECT g, NULL, 1 FROM generate_series(1, 5000) AS g;
INSERT INTO spot SELECT g, point('-0', 0), 1 FROM generate_series(1, 6000) AS g;
INSERT INTO spot SELECT g, point('Infinity', 3), 1 FROM generate_series(1, 5000) AS g;
INSERT INTO spot SELECT g, point('NaN', 3), 1 FROM generate_series(1, 5000) AS g;
DELETE FROM spot WHERE id % 7 = 0;
SELECT x, y, most, nearest_same(x, y, most) FROM (VALUES (7.1, 7.1, 10), (7, 7, 50000), (6.9, 7.1, 60000), (0, 0, 7000), (1, 1, 86000), ('Infinity', 3, 10), (700, 700, 100)) AS v (x, y, most);
VACUUM spot;
SELECT count(*) > 0 FROM gpu.merge('spot_small');
SELECT * FROM gpu.verify('spot_small');
SELECT x, y, most, nearest_same(x, y, most) FROM (VALUES (7.1, 7.1, 10), (7, 7, 50000), (6.9, 7.1, 60000), (0, 0, 7000), (1, 1, 86000), ('Infinity', 3, 10), (700, 700, 100)) AS v (x, y, most);
SELECT count(*) = (SELECT count(*) FROM spot WHERE p[0] BETWEEN 6 AND 8 AND p[1] BETWEEN 6 AND 8) FROM spot WHERE p <@ box '(6,6),(8,8)';
DROP TABLE spot;
DROP FUNCTION pages_of, nearest_same;
