-- gpu_text: the planner takes the index where it pays, and leaves it where it doesn't.
SET max_parallel_workers_per_gather = 0;
SET search_path = public, gpu;
-- ANALYZE looks at every row, so that estimates are the same each time.
SET default_statistics_target = 250;
CREATE TABLE text_cost AS SELECT i AS id, to_tsvector('simple', concat_ws(' ', 'every', CASE WHEN i % 2 = 0 THEN 'half' END, CASE WHEN i % 500 = 0 THEN 'seldom' END,
    'group' || i % 40, 'other' || i % 90, 'number' || i, repeat('filler ', i % 20))) AS tsv, repeat('x', 100) AS note FROM generate_series(1, 30000) AS i;
CREATE INDEX text_cost_tsv ON text_cost USING gpu_text (tsv);
CREATE INDEX text_cost_id ON text_cost (id);
VACUUM ANALYZE text_cost;
-- Few rows, and more than half of them.
EXPLAIN (COSTS OFF) SELECT * FROM text_cost WHERE tsv @@ 'seldom';
EXPLAIN (COSTS OFF) SELECT * FROM text_cost WHERE tsv @@ 'group7 & other7';
EXPLAIN (COSTS OFF) SELECT * FROM text_cost WHERE tsv @@ 'every';
EXPLAIN (COSTS OFF) SELECT * FROM text_cost WHERE tsv @@ '!seldom';
-- A limit: a scan of the table soon has rows enough of a frequent lexeme, but not of a rare one.
EXPLAIN (COSTS OFF) SELECT * FROM text_cost WHERE tsv @@ 'half' LIMIT 10;
EXPLAIN (COSTS OFF) SELECT * FROM text_cost WHERE tsv @@ 'seldom & half' LIMIT 10;
-- The best of many, of few, and all.
EXPLAIN (COSTS OFF) SELECT * FROM text_cost ORDER BY tsv <=> gpu.query('text_cost_tsv', 'half | group7') LIMIT 10;
EXPLAIN (COSTS OFF) SELECT * FROM text_cost WHERE tsv @@ 'half' ORDER BY tsv <=> gpu.query('text_cost_tsv', 'half') LIMIT 10;
EXPLAIN (COSTS OFF) SELECT * FROM text_cost WHERE tsv @@ 'seldom & half' ORDER BY tsv <=> gpu.query('text_cost_tsv', 'seldom & half') LIMIT 10;
-- Another index that says more.
EXPLAIN (COSTS OFF) SELECT * FROM text_cost WHERE tsv @@ 'half' AND id = 5;
EXPLAIN (COSTS OFF) SELECT * FROM text_cost WHERE tsv @@ 'seldom' AND id > 100;
EXPLAIN (COSTS OFF) SELECT * FROM text_cost WHERE id BETWEEN 100 AND 120 ORDER BY tsv <=> gpu.query('text_cost_tsv', 'half') LIMIT 10;
EXPLAIN (COSTS OFF) SELECT * FROM generate_series(1, 3) AS g JOIN text_cost ON tsv @@ ('number' || g)::tsquery;
-- Costs grow with what is read, and are never nothing.
CREATE FUNCTION text_cost_of(query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    SET LOCAL enable_seqscan = off; SET LOCAL enable_indexscan = off;
    EXECUTE 'EXPLAIN (FORMAT JSON) SELECT * FROM text_cost WHERE tsv @@ ' || quote_literal(query) INTO plan;
    RETURN (plan -> 0 -> 'Plan' -> 'Plans' -> 0 ->> 'Total Cost')::float8;
END
$$;
SELECT 0 < a AND a < b AND b < c AS grows FROM (SELECT text_cost_of('number5') AS a, text_cost_of('group7') AS b, text_cost_of('half') AS c) AS q;
-- A table of a few pages.
CREATE TABLE text_tiny AS SELECT * FROM text_cost WHERE id <= 50;
CREATE INDEX text_tiny_tsv ON text_tiny USING gpu_text (tsv);
VACUUM ANALYZE text_tiny;
EXPLAIN (COSTS OFF) SELECT * FROM text_tiny WHERE tsv @@ 'number5';
EXPLAIN (COSTS OFF) SELECT * FROM text_tiny ORDER BY tsv <=> gpu.query('text_tiny_tsv', 'number5') LIMIT 3;
-- No column is wanted: whatever reads the index reads the rows, too.
INSERT INTO text_tiny SELECT i, NULL, repeat('x', 7000) FROM generate_series(51, 80) AS i;
ALTER TABLE text_tiny ALTER note SET STORAGE PLAIN;
UPDATE text_tiny SET note = repeat('y', 7000);
VACUUM (FULL, ANALYZE) text_tiny;
VACUUM text_tiny;
EXPLAIN (COSTS OFF) SELECT count(*) FROM text_tiny;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM text_tiny;
SELECT count(*) FROM text_tiny;
CREATE INDEX text_tiny_part ON text_tiny USING gpu_text (tsv) WHERE id > 20;
DROP INDEX text_tiny_tsv;
EXPLAIN (COSTS OFF) SELECT 1 FROM text_tiny WHERE id > 20;
SELECT count(*) FROM text_tiny WHERE id > 20;
DROP TABLE text_cost, text_tiny;
DROP FUNCTION text_cost_of;
