-- What EXPLAIN (VERBOSE) tells of expressions in a GpuAggregate and a GpuSort, and EXPLAIN (ANALYZE) of what the server process didn't answer.
LOAD 'pg_gpu';
SET pg_gpu.query_processor = off;
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;
SET timezone = 'UTC';

-- What is told of the first of our nodes, in JSON.
CREATE FUNCTION told(query text, options text DEFAULT 'VERBOSE') RETURNS TABLE (what text, told text) LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE format('EXPLAIN (COSTS OFF, FORMAT JSON, %s) %s', options, query) INTO plan;
    RETURN QUERY WITH RECURSIVE nodes (n) AS (SELECT plan->0->'Plan' UNION ALL SELECT json_array_elements(n->'Plans') FROM nodes),
        node (n) AS (SELECT n FROM nodes WHERE n->>'Custom Plan Provider' ~ 'Gpu' LIMIT 1)
        SELECT key, CASE WHEN key = 'Bytes' THEN (value::int > 0)::text ELSE value END FROM node, json_each_text(n) WITH ORDINALITY AS e (key, value, place)
        WHERE key IN ('Custom Plan Provider', 'Index', 'Index Cond', 'Computed by Entry', 'Computed by Range', 'Computed by Row', 'Path', 'Requests', 'Bytes', 'Small Runs', 'Runs Not Resident',
                      'Fallbacks', 'Last Reason', 'Groups', 'Fallback Reason') ORDER BY place;
END $$;
-- The lines of the first of our nodes as text.
CREATE FUNCTION lines(query text, options text DEFAULT 'VERBOSE') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE format('EXPLAIN (COSTS OFF, TIMING OFF, SUMMARY OFF, %s) %s', options, query) LOOP
        CONTINUE WHEN line !~ '(Index Cond|Computed by \w+|Small Runs|Runs Not Resident|Fallbacks|Last Reason): ';
        RETURN NEXT trim(line);
    END LOOP;
END $$;

CREATE TABLE told_ride (id int4, a int4, b int4, price numeric(8,2), word text, at timestamptz, "Way" int4) WITH (autovacuum_enabled = off);
INSERT INTO told_ride SELECT i, i % 100, i % 7, i % 1000 / 8.0, 'word ' || i % 23, timestamptz '2026-01-01 00:00+00' + i * interval '1.000037 hours', i % 5 FROM generate_series(1, 20000) AS i;
CREATE INDEX told_ride_i ON told_ride USING gpu_column (id, a, b, price, word, at, "Way");
VACUUM ANALYZE told_ride;

-- Columns and constants alone are neither.
SELECT * FROM told('SELECT a, sum(b), avg(price), max(word) FROM told_ride GROUP BY a');
SELECT * FROM told('SELECT upper(word), sum(a), sum(price * 2), count(*) FILTER (WHERE word LIKE ''%1'') FROM told_ride WHERE a > 3 AND word <> ''word 4'' AND length(word) > 5 GROUP BY 1');
SELECT * FROM told('SELECT upper(word), sum(a + b * 2), max(a - b) FILTER (WHERE a > b) FROM told_ride WHERE a < b + 50 OR lower(word) = ''word 3'' GROUP BY 1, a % 3 + b');
SELECT * FROM told('SELECT date_trunc(''month'', at), count(*) FROM told_ride GROUP BY 1');
SELECT * FROM told('SELECT upper(r.word), sum(r."Way" + r.a) FROM told_ride AS r WHERE "Way" BETWEEN 1 AND 3 GROUP BY 1');
SELECT * FROM told('SELECT id FROM told_ride WHERE a + b > 5 AND b < 3 ORDER BY a * 2 + b, id LIMIT 3');
SELECT * FROM lines('SELECT upper(word), lower(word), sum(a + b), sum(a - b) FROM told_ride WHERE a > 3 GROUP BY 1, 2');
-- Without VERBOSE nothing of it.
SELECT * FROM lines('SELECT upper(word), lower(word), sum(a + b), sum(a - b) FROM told_ride WHERE a > 3 GROUP BY 1, 2', 'VERBOSE OFF');

-- Renamed columns have their new names, and so have parameters their numbers.
ALTER TABLE told_ride RENAME word TO said;
SELECT * FROM told('SELECT upper(said), count(*) FROM told_ride GROUP BY 1');
PREPARE told_ask (int) AS SELECT upper(said || $1), count(*) FROM told_ride WHERE a > $1 GROUP BY 1;
SET plan_cache_mode = force_generic_plan;
SELECT * FROM told('EXECUTE told_ask (5)');
RESET plan_cache_mode;

-- Partitions by their parent's name, though a partition has other columns before; joined tables by their own.
CREATE TABLE told_parts (k int4, word text, a int4, b int4) PARTITION BY RANGE (k);
CREATE TABLE told_first (dropped int4, b int4, k int4, word text, a int4);
ALTER TABLE told_first DROP dropped;
ALTER TABLE told_parts ATTACH PARTITION told_first FOR VALUES FROM (0) TO (10);
CREATE TABLE told_second PARTITION OF told_parts FOR VALUES FROM (10) TO (20);
INSERT INTO told_parts SELECT i % 20, 'word ' || i % 3, i, i % 9 FROM generate_series(1, 20000) AS i;
CREATE INDEX told_parts_i ON told_parts USING gpu_column (k, word, a, b);
CREATE TABLE told_place (place int4 PRIMARY KEY, name text, size int4);
INSERT INTO told_place SELECT i, 'place ' || i, i * 10 FROM generate_series(0, 99) AS i;
VACUUM ANALYZE told_parts, told_place;
SELECT * FROM told('SELECT upper(word), sum(a + b) FROM told_parts WHERE k > 3 GROUP BY 1');
SELECT * FROM told('SELECT upper(p.name), sum(r.a + r.b) FROM told_ride AS r JOIN told_place AS p ON r.a = p.place WHERE p.size > 100 AND r.b < 5 GROUP BY 1');

-- Who answered, and why others didn't.
SET pg_gpu.path = paged;
SELECT * FROM told('SELECT a, count(*) FROM told_ride GROUP BY a', 'ANALYZE');
SET pg_gpu.path = host;
SELECT * FROM told('SELECT a, count(*) FROM told_ride GROUP BY a', 'ANALYZE');
-- The server process would have divided by 0, where no row does.
SELECT * FROM told('SELECT 10 / (a - 5), count(*) FROM told_ride WHERE a - 5 <> 0 GROUP BY 1', 'ANALYZE');
SET pg_gpu.min_mirror_entries = 1000000;
SELECT * FROM told('SELECT a, count(*) FROM told_ride GROUP BY a', 'ANALYZE');
SELECT * FROM lines('SELECT a, count(*) FROM told_ride GROUP BY a', 'ANALYZE');
-- The session looks through small runs by itself, and through those that aren't loaded.
SET pg_gpu.min_mirror_entries = 10000;
SET pg_gpu.mirror = manual;
INSERT INTO told_ride SELECT i, i % 100, i % 7, 5, 'word', '2026-01-01', 3 FROM generate_series(1, 8000) AS i;
VACUUM told_ride;
SELECT what, CASE WHEN what = 'Small Runs' THEN (told::int > 0)::text ELSE told END FROM told('SELECT a, count(*) FROM told_ride GROUP BY a', 'ANALYZE');
REINDEX INDEX told_ride_i;
SELECT what, CASE WHEN what IN ('Requests', 'Fallbacks') THEN (told::int > 0)::text ELSE told END FROM told('SELECT a, count(*) FROM told_ride GROUP BY a', 'ANALYZE')
WHERE what <> 'Runs Not Resident';
-- What isn't resident is known for a second, in which the session doesn't ask again.
DO $$
BEGIN
    FOR i IN 1 .. 600 LOOP
        EXIT WHEN EXISTS (SELECT FROM told('SELECT a, count(*) FROM told_ride GROUP BY a', 'ANALYZE') WHERE what = 'Runs Not Resident' AND told = '1');
        IF i = 600 THEN
            RAISE 'no run is said not to be resident';
        END IF;
    END LOOP;
END $$;

DROP TABLE told_ride, told_parts, told_place;
DROP FUNCTION told, lines;
