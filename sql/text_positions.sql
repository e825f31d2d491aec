-- gpu_text with positions: phrases and weights answered from the index, as a sequential scan answers them; from the tail, sealed tails
-- and runs, in counts, and in ordered scans. Rows aren't looked at.
SET client_min_messages = warning;
CREATE TABLE p (id int, tsv tsvector);
INSERT INTO p SELECT i, CASE WHEN i % 97 = 0 THEN NULL WHEN i % 89 = 0 THEN strip(to_tsvector('simple', 'w1 w2 w3'))
    ELSE setweight(to_tsvector('simple', 'w' || i % 7 || ' w' || i % 5 || ' w' || i % 3), 'A')
        || to_tsvector('simple', (SELECT string_agg('w' || (i * j * 7919 + j * j) % (3 * j + 4), ' ') FROM generate_series(1, 4 + i % 30) AS j)) END
FROM generate_series(1, 3000) AS i;
CREATE INDEX p_tsv ON p USING gpu_text (tsv) WITH (positions = on);
CREATE INDEX p_without ON p USING gpu_text (tsv);
SELECT pg_relation_size('p_tsv') > pg_relation_size('p_without') AS takes_room;
DROP INDEX p_without;
-- Compares a scan of the index and a count by it with a sequential scan.
CREATE FUNCTION differences(OUT compared int, OUT matched int, OUT different text) LANGUAGE plpgsql AS $$
DECLARE
    q text;
    way text;
    wanted int[];
    found int[];
    counted int8;
BEGIN
    compared := 0; matched := 0;
    FOREACH q IN ARRAY ARRAY['w1 <-> w2', 'w1 <2> w2', 'w1 <0> w2', 'w1:A', 'w1:B', 'w1:AD & w2:A', '!w1:A', '!(w1 <-> w2)', 'w1 <-> !w2', '!w1 <-> w2', '!w1 <-> !w2', '!(!w1 <-> !w2)',
        'w1 <-> w2 <-> w3', 'w1 <-> (w2 | w3)', '(w1 & w2) <-> w3', 'w1 <-> w2:A', 'w1:A <-> w2:D', 'w1 <-> w:*', 'w:*A', 'w1:* <-> w2:*D', 'w1 <-> w1:*', '(w1 <-> w2) & !(w2 <-> w3)',
        '(w1 <-> w2) | w30:D', '!(w1 <-> w2) & !(w2 <-> w1)', 'nothing <-> w1', 'w1 <-> nothing', '!nothing <-> w1', '!nothing <-> !w1', '(w1 | !nothing) <-> w2', 'w2 <-> (w3 <3> w4)', '!(w1 <-> w2) | w3'] LOOP
        PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'off', true), set_config('enable_bitmapscan', 'off', true), set_config('pg_gpu.enable_query', 'off', true);
        EXECUTE format('SELECT array_agg(id ORDER BY id) FROM p WHERE tsv @@ %L', q) INTO wanted;
        matched := matched + coalesce(cardinality(wanted), 0);
        FOREACH way IN ARRAY ARRAY['indexscan', 'bitmapscan'] LOOP
            PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', (way = 'indexscan')::text, true), set_config('enable_bitmapscan', (way = 'bitmapscan')::text, true),
                set_config('pg_gpu.enable_query', 'on', true);
            EXECUTE format('SELECT array_agg(id ORDER BY id) FROM p WHERE tsv @@ %L', q) INTO found;
            EXECUTE format('SELECT count(*) FROM p WHERE tsv @@ %L', q) INTO counted;
            compared := compared + 1;
            IF found IS DISTINCT FROM wanted OR counted <> coalesce(cardinality(wanted), 0) THEN different := concat_ws('; ', different, way || ' ' || q); END IF;
        END LOOP;
    END LOOP;
END $$;
SELECT * FROM differences();
-- Rows stay in the tail, in sealed tails, in runs of several merges; some are long.
INSERT INTO p SELECT id + 10000, tsv FROM p WHERE id % 3 = 0;
INSERT INTO p SELECT 50000 + i, to_tsvector('simple', (SELECT string_agg(CASE WHEN j % 5 = 0 THEN 'w1 w2' ELSE 'long' || j END, ' ') FROM generate_series(1, 2000) AS j)) FROM generate_series(1, 2) AS i;
SELECT * FROM differences();
DELETE FROM p WHERE id % 11 = 0;
VACUUM p;
SELECT count(*) > 0 AS merged FROM gpu.merge('p_tsv');
SELECT * FROM differences();
SELECT * FROM gpu.verify('p_tsv', true);
-- Merged and built, an index is the same.
CREATE FUNCTION scores(index regclass) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(q || ' ' || n || ' ' || score, '; ' ORDER BY q) FROM (SELECT q, count(*) AS n, sum(score::numeric) AS score
        FROM unnest(ARRAY['w1 <-> w2', 'w1:A', 'w1 & !(w2 <-> w3)', 'w1:* <-> w2']) AS q, LATERAL gpu.search(index, q::tsquery, 10000, 'query') GROUP BY q) AS s $$;
CREATE TABLE before AS SELECT scores('p_tsv');
REINDEX INDEX p_tsv;
SELECT scores('p_tsv') = scores AS same FROM before;
-- Counts look at no rows.
VACUUM p;
\getenv source PG_ABS_SRCDIR
\set plan_of :source '/test/regress/plan_of.sql'
\set ECHO none
\i :plan_of
\set ECHO all
CREATE FUNCTION shown(statement text, what text) RETURNS SETOF text LANGUAGE sql AS $$
    SELECT trim(plan) FROM pg_temp.plan_of(statement, 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF') WHERE plan ~ what $$;
SET enable_seqscan = off;
SET enable_indexscan = off;
SELECT shown($$SELECT id FROM p WHERE tsv @@ 'w1 <-> w2'$$, 'Scan|Removed');
RESET enable_indexscan;
SELECT shown($$SELECT count(*) FROM p WHERE tsv @@ 'w1 <-> w2'$$, 'Gpu|Fetches|Removed');
-- Text: what was typed in quotation marks.
CREATE TABLE t AS SELECT i AS id, 'A sorted array is ' || CASE WHEN i % 3 = 0 THEN 'an index' WHEN i % 3 = 1 THEN 'index an array sorted' ELSE 'a tree' END || ' number ' || i AS body FROM generate_series(1, 2000) AS i;
CREATE INDEX t_body ON t USING gpu_text (body) WITH (configuration = 'english', positions = on);
INSERT INTO t SELECT id + 5000, body FROM t WHERE id <= 20;
VACUUM ANALYZE t;
SELECT count(*) FROM t WHERE body @@@ '"sorted array"';
SELECT count(*) FROM t WHERE body @@@ '"array sorted"';
SELECT id FROM t WHERE body @@@ '"array sorted" number -"sorted tree"' ORDER BY body <@> '"array sorted" number', id LIMIT 3;
SELECT shown($$SELECT count(*) FROM t WHERE body @@@ '"array sorted"'$$, 'Gpu|Fetches|Removed');
-- The option counts from the next REINDEX on.
ALTER INDEX t_body SET (positions = off);
INSERT INTO t SELECT id + 6000, body FROM t WHERE id <= 20;
SELECT count(*) FROM gpu.verify('t_body', true);
SELECT shown($$SELECT count(*) FROM t WHERE body @@@ '"array sorted"'$$, 'Gpu');
REINDEX INDEX t_body;
SELECT count(*) FROM t WHERE body @@@ '"array sorted"';
SELECT count(*) FROM gpu.verify('t_body', true);
-- Without positions the rows decide, of those that have the words.
SELECT shown($$SELECT id FROM t WHERE body @@@ '"array sorted"'$$, 'Scan|Removed');
SELECT id FROM t WHERE body @@@ '"array sorted" number -"sorted tree"' ORDER BY body <@> '"array sorted" number', id LIMIT 3;
DROP INDEX p_tsv;
CREATE INDEX p_without ON p USING gpu_text (tsv);
SELECT * FROM differences();
CREATE INDEX t_wrong ON t USING gpu_text (body) WITH (positions = maybe);
DROP TABLE p, t, before;
DROP FUNCTION differences, scores, shown;
