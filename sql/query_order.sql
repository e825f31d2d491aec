-- Groups in the order of their keys: each statement is run with the node GpuQuery and without it, on pages and by the server process,
-- and the answers are held against each other row by row, in the order in which they come.
SET pg_gpu.path = host;
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;
SET timezone = 'UTC';
CREATE TYPE mood AS ENUM ('sad', 'fair', 'glad');
CREATE TABLE ordered (id int4, small int2, wide int8, word text, num numeric, f8 float8, day date, at timestamptz, flag bool, feels mood, name varchar(9), many int4) WITH (autovacuum_enabled = off);
INSERT INTO ordered SELECT i, CASE WHEN i % 9 <> 0 THEN i % 7 - 3 END, CASE WHEN i % 5 <> 0 THEN (i % 11 - 5) * 1844674407370955161 END,
    CASE WHEN i % 13 <> 0 THEN (ARRAY['b', 'a', 'Ä', 'B', 'z', '', 'ab'])[1 + i % 7] END, CASE WHEN i % 8 <> 0 THEN (ARRAY[1.0, 1.00, -2.5, 'NaN', 300])[1 + i % 5] END,
    CASE WHEN i % 6 <> 0 THEN (ARRAY[0, '-0', 'NaN', '-infinity', 1.5])[1 + i % 5] END, date '2026-01-01' + i % 40, timestamptz '2026-01-01' + i % 50 * interval '1 day',
    CASE WHEN i % 4 <> 0 THEN i % 2 = 0 END, CASE WHEN i % 10 <> 0 THEN (enum_range(NULL::mood))[1 + i % 3] END, 'n' || i % 12, i * 7919 % 6007
FROM generate_series(1, 12000) AS i;
CREATE INDEX ordered_i ON ordered USING gpu_column (small, wide, word, num, f8, day, at, flag, feels, name, many, id);
VACUUM ANALYZE ordered;
CREATE TABLE label (word text PRIMARY KEY, label text);
INSERT INTO label VALUES ('a', 'y'), ('b', 'x'), ('z', NULL), ('B', 'x');
ANALYZE label;

\getenv source PG_ABS_SRCDIR
\set rows_of :source '/test/regress/rows_of.sql'
\set plan_of :source '/test/regress/plan_of.sql'
\set ECHO none
\i :rows_of
\i :plan_of
\set ECHO all
-- Which nodes of the plan are Sorts, or ours, above the plan that stands by.
CREATE FUNCTION top_nodes(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    line text;
    nodes text := '';
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        nodes := nodes || coalesce(CASE WHEN line ~ '^ *(->)? *(Incremental )?Sort$' THEN 'Sort, ' END, '');
        IF line LIKE '%(GpuQuery)%' THEN
            RETURN nodes || 'node';
        END IF;
    END LOOP;
    RETURN 'other plan';
END $$;
CREATE FUNCTION compare_order(query text, OUT nodes text, OUT rows int, OUT same text) LANGUAGE plpgsql AS $$
DECLARE
    without text[];
    by_node text[];
BEGIN
    nodes := top_nodes(query);
    same := 'same';
    -- A sort below the groups, which is no dearer than hashing beside a disabled scan, would show other ones of equal values.
    SET LOCAL pg_gpu.enable_query = off;
    SET LOCAL enable_seqscan = on;
    without := rows_of(query);
    SET LOCAL pg_gpu.enable_query = on;
    SET LOCAL enable_seqscan = off;
    by_node := rows_of(query);
    IF by_node IS DISTINCT FROM without THEN
        same := format('%s, without the node %s', left(by_node::text, 300), left(without::text, 300));
    END IF;
    rows := cardinality(without);
END $$;

-- A key; NULLs at either end; up and down.
SELECT key, nodes, rows, same FROM unnest(ARRAY['small', 'wide', 'word', 'num', 'f8', 'day', 'at', 'flag', 'feels', 'name', 'many', 'small::int8', 'word COLLATE "POSIX"', '(many % 5 - 2)::oid']) AS key,
    unnest(ARRAY['', 'DESC', 'NULLS FIRST', 'DESC NULLS LAST']) WITH ORDINALITY AS way (way, number),
    compare_order(format('SELECT %1$s, count(*), sum(id), avg(small) FROM ordered GROUP BY 1 ORDER BY %1$s %2$s', key, way)) ORDER BY key, number;
-- Several of them, expressions among them, in another order than GROUP BY's, with and without room in 64 bits.
SELECT number, nodes, rows, same FROM unnest(ARRAY[
    'SELECT small, word, count(*), avg(small) FROM ordered GROUP BY 1, 2 ORDER BY word DESC NULLS LAST, small',
    'SELECT small, word, day, sum(id) FROM ordered GROUP BY 1, 2, 3 ORDER BY day, small DESC, word',
    'SELECT wide, at, count(*) FROM ordered GROUP BY 1, 2 ORDER BY at DESC, wide',
    'SELECT wide, small, count(*) FROM ordered GROUP BY 1, 2 ORDER BY wide DESC NULLS LAST, small NULLS FIRST',
    'SELECT num, f8, count(*) FROM ordered GROUP BY 1, 2 ORDER BY f8 DESC, num',
    'SELECT date_trunc(''week'', at), small + id % 5, count(*) FROM ordered GROUP BY 1, 2 ORDER BY 1 DESC, 2',
    'SELECT small, name, count(*) FROM ordered WHERE small = 2 GROUP BY 1, 2 ORDER BY 1, 2',
    'SELECT lower(word), count(*) FROM ordered GROUP BY 1 ORDER BY 1',
    'SELECT DISTINCT feels, flag FROM ordered ORDER BY flag, feels DESC',
    'SELECT small, max(wide) FROM ordered GROUP BY 1 HAVING count(*) > 1500 ORDER BY 1 DESC',
    'SELECT small, count(DISTINCT word) FROM ordered GROUP BY 1 ORDER BY 1',
    'SELECT day, row_number() OVER (ORDER BY day DESC), count(*) FROM ordered GROUP BY 1',
    'SELECT many, count(*) FROM ordered GROUP BY 1 ORDER BY 1 DESC',
    'SELECT many, count(*) FROM ordered GROUP BY 1 ORDER BY 1 LIMIT 5 OFFSET 5500',
    'SELECT label, small, count(*) FROM ordered JOIN label USING (word) GROUP BY 1, 2 ORDER BY 1 DESC, 2',
    'SELECT small, f.n FROM generate_series(1, 2) AS g (g), LATERAL (SELECT small, count(*) AS n FROM ordered WHERE id > g GROUP BY 1 ORDER BY 1 LIMIT 3) AS f'])
    WITH ORDINALITY AS q (query, number), compare_order(query) ORDER BY number;
-- What is left to a Sort: what isn't of the keys alone, and grouping sets.
SELECT number, nodes, rows, same FROM unnest(ARRAY[
    'SELECT small, sum(id) FROM ordered GROUP BY 1 ORDER BY 2',
    'SELECT small, sum(id) FROM ordered GROUP BY 1 ORDER BY -small',
    'SELECT small, flag, sum(id) FROM ordered GROUP BY ROLLUP (1, 2) ORDER BY 1, 2, 3'])
    WITH ORDINALITY AS q (query, number), compare_order(query) ORDER BY number;

-- Groups that memory has no room for, an error after which the other plan answers, and a column with NaN whose sum it computes.
SET work_mem = '64kB';
SELECT compare_order('SELECT many, word, count(*), max(wide) FROM ordered GROUP BY 1, 2 ORDER BY 2 DESC, 1');
RESET work_mem;
SELECT compare_order('SELECT day, sum(f8) FROM ordered GROUP BY 1 ORDER BY 1 DESC');
SELECT compare_order('SELECT small, sum(100 / (id - 5)) FROM ordered GROUP BY 1 ORDER BY 1 DESC');

-- Cursors that nobody has told to go back do so, as PostgreSQL's own sort: by codes, by rows, and by the other plan.
BEGIN;
DECLARE c CURSOR FOR SELECT small, count(*) FROM ordered GROUP BY 1 ORDER BY 1 DESC;
FETCH 3 FROM c;
FETCH BACKWARD 2 FROM c;
FETCH BACKWARD 2 FROM c;
FETCH ALL FROM c;
FETCH BACKWARD 2 FROM c;
FETCH ABSOLUTE 4 FROM c;
DECLARE d CURSOR FOR SELECT wide, small, count(*) FROM ordered WHERE small > 1 GROUP BY 1, 2 ORDER BY 1, 2;
FETCH 2 FROM d;
MOVE LAST FROM d;
FETCH BACKWARD 2 FROM d;
DECLARE e CURSOR FOR SELECT small, sum(f8) FROM ordered GROUP BY 1 ORDER BY 1;
FETCH 2 FROM e;
FETCH BACKWARD 1 FROM e;
FETCH BACKWARD 1 FROM e;
DECLARE f SCROLL CURSOR FOR SELECT small, count(*) FROM ordered GROUP BY 1 ORDER BY 2, 1;
FETCH 2 FROM f;
FETCH BACKWARD 1 FROM f;
COMMIT;

-- Where the other plan groups what it has sorted, it doesn't go back. Of a cursor that is to do so PostgreSQL keeps the rows then, and others don't.
BEGIN;
SELECT top_nodes('SELECT small, sum(f8), count(DISTINCT flag) FROM ordered GROUP BY 1 ORDER BY 1');
DECLARE g SCROLL CURSOR FOR SELECT small, sum(f8), count(DISTINCT flag) FROM ordered GROUP BY 1 ORDER BY 1;
FETCH 2 FROM g;
MOVE ALL FROM g;
FETCH BACKWARD 2 FROM g;
DECLARE h SCROLL CURSOR FOR SELECT small, count(DISTINCT flag) FROM ordered GROUP BY 1 ORDER BY 1;
FETCH 2 FROM h;
FETCH BACKWARD 1 FROM h;
DECLARE i CURSOR FOR SELECT small, sum(f8), count(DISTINCT flag) FROM ordered GROUP BY 1 ORDER BY 1;
FETCH 2 FROM i;
FETCH BACKWARD 1 FROM i;
ROLLBACK;

-- Rows that are in no run, and rows that the snapshot doesn't see.
BEGIN;
INSERT INTO ordered SELECT id + 20000, small + 100, wide, word || 'q', num, f8, day + 100, at, flag, feels, name, many FROM ordered WHERE id < 50;
DELETE FROM ordered WHERE word = 'a';
SELECT compare_order('SELECT word, small, count(*) FROM ordered GROUP BY 1, 2 ORDER BY 1 DESC, 2');
ROLLBACK;
SELECT compare_order('SELECT word, day, count(*) FROM ordered GROUP BY 1, 2 ORDER BY 1, 2');
SELECT * FROM pg_temp.plan_of($$SELECT small, word COLLATE "POSIX", count(*) FROM ordered GROUP BY 1, 2 ORDER BY 2 DESC, 1 NULLS FIRST$$);
DROP TABLE ordered, label;
DROP FUNCTION compare_order, top_nodes, rows_of;
DROP TYPE mood;
