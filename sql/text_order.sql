-- gpu_text: ordered scans, search modes, filters in searches, batches, and what is refused.
SET client_min_messages = warning;
SET search_path = public, gpu;
CREATE TABLE text_order (id int, tsv tsvector);
INSERT INTO text_order SELECT i, CASE WHEN i % 50 = 0 THEN NULL ELSE to_tsvector('simple',
    concat_ws(' ', CASE WHEN i % 2 = 0 THEN 'even' END, CASE WHEN i % 3 = 0 THEN 'three' END, CASE WHEN i % 7 = 0 THEN 'seven seven' END,
        CASE WHEN i % 11 = 0 THEN 'even three' END, repeat('filler' || i % 13 || ' ', i % 9), 'number' || i)) END
FROM generate_series(1, 600) AS i;
CREATE INDEX text_order_index ON text_order USING gpu_text (tsv);
ANALYZE text_order;
INSERT INTO text_order SELECT 3000 + i, setweight('even:1 three:2 tail:3', 'A') || (CASE WHEN i % 2 = 0 THEN 'seven:7' ELSE '' END)::tsvector FROM generate_series(1, 30) AS i;

-- The index's order is that of a sort: distances row by row, and every row once, those without a match last, NULLs behind them.
CREATE FUNCTION order_differences() RETURNS TABLE (compared int, rows int8, different text) LANGUAGE plpgsql AS $$
DECLARE
    q text;
    conditions text;
    sorted real[];
    ordered real[];
    sorted_ids int[];
    ordered_ids int[];
    statement text;
BEGIN
    compared := 0;
    rows := 0;
    FOREACH q IN ARRAY ARRAY['even', 'even & three', 'even | seven', 'three & !seven', '!even', 'even <-> three', 'seven <-> seven & even', 'even:A', 'num:*', 'nothing', ''] LOOP
        FOREACH conditions IN ARRAY ARRAY['true', 'tsv @@ ''three''', 'tsv @@ ''!seven | even:A''', 'tsv @@ NULL::tsquery', format('tsv @@ %L', q), format('tsv @@ %L AND tsv @@ ''three''', q)] LOOP
            statement := format('SELECT id, tsv <=> gpu.query(''text_order_index'', %L) AS distance FROM text_order WHERE %s ORDER BY tsv <=> gpu.query(''text_order_index'', %L)', q, conditions, q);
            SET LOCAL enable_indexscan = off;
            SET LOCAL enable_seqscan = on;
            EXECUTE 'SELECT array_agg(distance ORDER BY distance), array_agg(id ORDER BY id) FROM (' || statement || ') AS x' INTO sorted, sorted_ids;
            SET LOCAL enable_indexscan = on;
            SET LOCAL enable_seqscan = off;
            SET LOCAL enable_sort = off;
            EXECUTE 'SELECT array_agg(distance), array_agg(id) FROM (' || statement || ' OFFSET 0) AS x' INTO ordered, ordered_ids;
            compared := compared + 1;
            rows := rows + coalesce(cardinality(ordered), 0);
            IF sorted IS DISTINCT FROM ordered OR sorted_ids IS DISTINCT FROM ARRAY(SELECT i FROM unnest(ordered_ids) AS i ORDER BY i) AND sorted_ids IS NOT NULL THEN
                different := concat_ws(', ', different, q || ' where ' || conditions);
            END IF;
        END LOOP;
    END LOOP;
    RETURN NEXT;
END $$;
SELECT * FROM order_differences();
DELETE FROM text_order WHERE id % 5 = 0;
SELECT * FROM order_differences();
VACUUM text_order;
SELECT * FROM order_differences();

SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM text_order ORDER BY tsv <=> gpu.query('text_order_index', 'seven & even') LIMIT 5;
SELECT id, score FROM (SELECT id, -(tsv <=> gpu.query('text_order_index', 'seven & even')) AS score FROM text_order ORDER BY tsv <=> gpu.query('text_order_index', 'seven & even') LIMIT 5) AS x;
SELECT id, score FROM gpu.search('text_order_index', 'seven & even', 5, 'query') JOIN text_order ON ctid = tid;
-- Two orders at once.
EXPLAIN (COSTS OFF) SELECT id FROM text_order ORDER BY tsv <=> gpu.query('text_order_index', 'even'), tsv <=> gpu.query('text_order_index', 'seven') LIMIT 5;
SELECT array_agg(d1) = array_agg(d1 ORDER BY d1, d2) AND array_agg(d2) = array_agg(d2 ORDER BY d1, d2) AS in_order, count(*)
FROM (SELECT tsv <=> gpu.query('text_order_index', 'even') AS d1, tsv <=> gpu.query('text_order_index', 'seven') AS d2 FROM text_order
      ORDER BY tsv <=> gpu.query('text_order_index', 'even'), tsv <=> gpu.query('text_order_index', 'seven') LIMIT 400) AS x;
RESET enable_seqscan;
SELECT gpu.query('text_order_index', 'even & !seven');

-- Modes: how many rows each finds, and what a sequential scan says. Operators & and | are looked through; what stands under ! or <-> is a filter.
CREATE FUNCTION mode_counts(query tsquery) RETURNS TABLE (mode text, found int8) LANGUAGE sql STABLE AS
$$ SELECT m, count(tid) FROM unnest('{and,or,and_or,query}'::text[]) WITH ORDINALITY AS u (m, place) LEFT JOIN LATERAL gpu.search('text_order_index', query, 10000, m) ON true GROUP BY m, place ORDER BY place $$;
SELECT *, (SELECT count(*) FROM text_order WHERE tsv @@ CASE mode WHEN 'and' THEN 'even & seven' ELSE 'even | seven' END::tsquery) AS expected FROM mode_counts('even | seven');
SELECT *, (SELECT count(*) FROM text_order WHERE tsv @@ CASE WHEN mode IN ('and', 'query') THEN 'even & three & !seven' ELSE '(even | three) & !seven' END::tsquery) AS expected FROM mode_counts('even & three & !seven');
SELECT *, (SELECT count(*) FROM text_order WHERE tsv @@ CASE mode WHEN 'and' THEN '(even <-> three) & seven' ELSE '(even <-> three) | seven' END::tsquery) AS expected FROM mode_counts('(even <-> three) | seven');
SELECT *, (SELECT count(*) FROM text_order WHERE tsv @@ CASE WHEN mode IN ('and', 'query') THEN 'even:A & seven' ELSE 'even:A | seven' END::tsquery) AS expected FROM mode_counts('even:A & seven');
SELECT *, (SELECT count(*) FROM text_order WHERE tsv @@ CASE mode WHEN 'query' THEN '!even' ELSE 'nothing' END::tsquery) AS expected FROM mode_counts('!even');
SELECT * FROM mode_counts('');
SELECT * FROM mode_counts('nothing & even');
-- and_or keeps to AND as long as it has enough.
SELECT (SELECT array_agg(tid) FROM gpu.search('text_order_index', 'even & seven', 20)) = (SELECT array_agg(tid) FROM gpu.search('text_order_index', 'even & seven', 20, 'and')) AS same;

-- A prefix counts as one lexeme.
SELECT count(*), count(DISTINCT score) FROM gpu.search('text_order_index', 'number19:*', 100, 'or');
-- 200 lexemes.
SELECT count(*) FROM gpu.search('text_order_index', (SELECT string_agg('number' || i, '|') FROM generate_series(1, 200) AS i)::tsquery, 1000, 'or');
SELECT count(*) FROM gpu.search('text_order_index', (SELECT string_agg('number' || i, '&') FROM generate_series(1, 200) AS i)::tsquery, 1000, 'and');

SELECT ordinal, count(*), max(score) = (SELECT max(score) FROM gpu.search('text_order_index', 'even', 3)) AS like_even
FROM gpu.search_batch('text_order_index', ARRAY['seven', NULL, 'even', 'nothing', 'even & three']::tsquery[], 3) GROUP BY ordinal ORDER BY ordinal;
SELECT count(*) FROM gpu.intersect('text_order_index', '{even,seven}');
SELECT count(*) FROM text_order WHERE tsv @@ 'even & seven';
SELECT count(*) FROM gpu.intersect('text_order_index', '{}');
SELECT count(*) FROM gpu.intersect('text_order_index', ARRAY[E'it''s \\ odd']);

-- A transaction's own changes, and a savepoint taken back.
BEGIN;
INSERT INTO text_order VALUES (9001, 'mine:1');
SAVEPOINT s;
INSERT INTO text_order VALUES (9002, 'mine:1,2');
SELECT count(*) FROM gpu.search('text_order_index', 'mine');
ROLLBACK TO s;
SELECT id FROM gpu.search('text_order_index', 'mine') JOIN text_order ON ctid = tid;
ROLLBACK;
SELECT count(*) FROM gpu.search('text_order_index', 'mine');

-- What is refused.
SELECT * FROM gpu.search('text_order_index', 'even', 10, 'any');
SELECT * FROM gpu.search('text_order_index', 'even', -1);
SELECT * FROM gpu.search('text_order_index', 'even', 10001);
SELECT * FROM gpu.search('text_order_index', 'even', 0);
SELECT * FROM gpu.search('text_order', 'even');
SELECT * FROM gpu.intersect('text_order_index', '{even,NULL}');
SELECT * FROM gpu.intersect('text_order_index', '{""}');
SELECT gpu.count('text_order_index', ARRAY[1], ARRAY[2]);
SELECT * FROM gpu.lookup('text_order_index', ARRAY[1]);
SELECT 'even'::gpu.bm25_query;
CREATE INDEX text_order_kary ON text_order USING gpu_kary (id);
SELECT * FROM gpu.search('text_order_kary', 'even');
CREATE INDEX ON text_order USING gpu_text (id);
CREATE INDEX ON text_order USING gpu_text (tsv, tsv);
CREATE UNIQUE INDEX ON text_order USING gpu_text (tsv);
CREATE INDEX ON text_order USING gpu_text (tsv) INCLUDE (id);
CREATE INDEX ON text_order USING gpu_text (tsv) WITH (codec = zip);
CREATE INDEX ON text_order USING gpu_text (tsv) WITH (k1 = -1);
CREATE INDEX ON text_order USING gpu_text (tsv) WITH (b = 2);
CREATE ROLE text_reader;
GRANT SELECT (id) ON text_order TO text_reader;
SET ROLE text_reader;
SELECT * FROM gpu.search('text_order_index', 'even');
SELECT gpu.query('text_order_index', 'even');
RESET ROLE;
GRANT SELECT (tsv) ON text_order TO text_reader;
ALTER TABLE text_order ENABLE ROW LEVEL SECURITY;
SET ROLE text_reader;
SELECT * FROM gpu.intersect('text_order_index', '{even}');
RESET ROLE;
DROP TABLE text_order;
DROP ROLE text_reader;
DROP FUNCTION order_differences, mode_counts;

-- A query of an index with other norms, and one that was kept: the scanned index's bounds are for neither.
CREATE TABLE text_norms (id int, tsv tsvector);
INSERT INTO text_norms SELECT i, CASE WHEN i <= 1500 THEN to_tsvector('simple', 'a' || repeat(' f', 9)) WHEN i <= 4000 THEN to_tsvector('simple', repeat('f' || i % 7 || ' ', 40))
    ELSE to_tsvector('simple', 'a') END FROM generate_series(1, 5000) AS i;
CREATE INDEX text_norms_short ON text_norms USING gpu_text (tsv) WITH (b = 0.1);
CREATE INDEX text_norms_long ON text_norms USING gpu_text (tsv) WITH (b = 1) WHERE id > -5;
ANALYZE text_norms;
CREATE TABLE text_kept AS SELECT gpu.query(i, 'a') AS q FROM unnest(ARRAY['text_norms_short', 'text_norms_long']::regclass[]) AS i;
DROP INDEX text_norms_long;
CREATE FUNCTION best_and_worst(q gpu.bm25_query, by_index bool) RETURNS text LANGUAGE plpgsql AS $$
DECLARE found text;
BEGIN
    PERFORM set_config(name, CASE WHEN by_index = (name = 'enable_indexscan') THEN 'on' ELSE 'off' END, true) FROM unnest(ARRAY['enable_indexscan', 'enable_seqscan', 'enable_sort']) AS name;
    SELECT concat_ws(' ', count(*), min(distance), max(distance)) INTO found FROM (SELECT tsv <=> q AS distance FROM text_norms ORDER BY tsv <=> q LIMIT 100) AS x;
    RETURN found;
END $$;
SELECT best_and_worst(q, true) = best_and_worst(q, false) AS same FROM text_kept;
ALTER INDEX text_norms_short SET (b = 0.9, k1 = 2);
SELECT best_and_worst(q, true) = best_and_worst(q, false) AS same FROM text_kept;
INSERT INTO text_kept SELECT gpu.query('text_norms_short', 'a');
SELECT best_and_worst(q, true) = best_and_worst(q, false) AS same FROM text_kept;
REINDEX INDEX text_norms_short;
SELECT best_and_worst(q, true) = best_and_worst(q, false) AS same FROM text_kept;
DROP TABLE text_norms, text_kept;
DROP FUNCTION best_and_worst;
