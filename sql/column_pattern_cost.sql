-- A pattern is evaluated for each value of a dictionary before it selects a row, and the bitmap's cost says so.
SET jit = off;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE note (id int, kind int, body text, price numeric);
INSERT INTO note SELECT (g * 7919) % 20011, g % 10, 'note ' || g || ' of kind ' || g % 10, g FROM generate_series(1, 20000) AS g;
CREATE INDEX note_id ON note USING btree (id);
CREATE INDEX note_columns ON note USING gpu_column (kind, body, price);
VACUUM ANALYZE note;
-- The cost of the bitmap of the index of columns.
CREATE FUNCTION bitmap_cost(condition text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
  plan json;
BEGIN
  SET LOCAL enable_seqscan = off;
  EXECUTE 'EXPLAIN (FORMAT JSON) SELECT * FROM note WHERE ' || condition INTO plan;
  RETURN plan -> 0 -> 'Plan' -> 'Plans' -> 0 ->> 'Total Cost';
END
$$;
-- 20,000 values, each once through the operator, with a cost of 0.0025. Numbers are compared by their codes.
SELECT bitmap_cost('body LIKE ''%zebra%''') - bitmap_cost('body IS NULL') BETWEEN 45 AND 55 AS each_value,
       bitmap_cost('kind = 3') - bitmap_cost('kind IS NULL') < 5 AS codes, bitmap_cost('price < 3') - bitmap_cost('price IS NULL') < 5 AS numerics;
-- So a few rows of another index are looked at one by one, and many aren't.
EXPLAIN (COSTS OFF) SELECT * FROM note WHERE id BETWEEN 300 AND 330 AND body LIKE '%zebra%';
EXPLAIN (COSTS OFF) SELECT * FROM note WHERE id BETWEEN 300 AND 1300 AND body LIKE '%zebra%';
SELECT count(*) FROM note WHERE id BETWEEN 300 AND 330 AND body LIKE '%7 of%';
DROP TABLE note;
DROP FUNCTION bitmap_cost;
