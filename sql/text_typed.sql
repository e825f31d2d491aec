-- gpu_text on text, jsonb and text[]: @@@ and <@> with what people type. Every answer is compared with tsvectors made outside of the index.
SET client_min_messages = warning;
CREATE TABLE typed (id int, body text, short varchar(200), strings jsonb, tags text[]);
INSERT INTO typed SELECT i, CASE WHEN i % 50 <> 0 THEN concat_ws(' ', CASE WHEN i % 2 = 0 THEN 'Sorted arrays' END, CASE WHEN i % 3 = 0 THEN 'are indexed' END,
    CASE WHEN i % 7 = 0 THEN 'by graphics processors, and by graphics cards' END, CASE WHEN i % 11 = 0 THEN 'array sorted' END, repeat('filler' || i % 13 || ' ', i % 9), 'number' || i) END
FROM generate_series(1, 400) AS i;
UPDATE typed SET short = left(body, 200), strings = jsonb_build_object('title', body, 'n', id, 'list', jsonb_build_array(body, id)), tags = string_to_array(body, ' ');
INSERT INTO typed VALUES (1001, '', '', '{}', '{}'), (1002, 'the of and', 'the of and', '"the of"', '{the,NULL,of}');
CREATE INDEX typed_body ON typed USING gpu_text (body) WITH (configuration = 'english');
CREATE INDEX typed_short ON typed USING gpu_text (short) WITH (configuration = 'pg_catalog.english');
CREATE INDEX typed_strings ON typed USING gpu_text (strings) WITH (configuration = english);
CREATE INDEX typed_tags ON typed USING gpu_text (tags);
CREATE INDEX typed_both ON typed USING gpu_text ((short || ' ' || id)) WITH (configuration = 'english') WHERE id > 10;
INSERT INTO typed SELECT id + 2000, body, short, strings, tags FROM typed WHERE id % 20 = 0;
DELETE FROM typed WHERE id % 17 = 0;
ANALYZE typed;
SELECT opcname, amvalidate(oid) FROM pg_opclass WHERE opcmethod = (SELECT oid FROM pg_am WHERE amname = 'gpu_text') ORDER BY 1;

-- Each statement by the index, by a bitmap and row by row, against @@ on a tsvector that PostgreSQL makes.
CREATE FUNCTION typed_differences() RETURNS TABLE (compared int, rows int8, used int, different text) LANGUAGE plpgsql AS $$
DECLARE
    q text;
    what text[];
    wanted int[];
    found int[];
    way text;
    line text;
    statement text;
    uses bool;
BEGIN
    compared := 0; rows := 0; used := 0;
    FOREACH q IN ARRAY ARRAY['array', 'sorted array', '"sorted arrays"', '"arrays sorted"', 'graphics -cards', 'graphics or indexing', '-array', 'nothing at all', 'the', '', 'filler3 "are indexed" -number42'] LOOP
        FOREACH what SLICE 1 IN ARRAY ARRAY[['body', 'english', 'body', 'true'], ['short', 'english', 'short', 'true'], ['strings', 'english', 'strings', 'true'],
                ['tags', 'simple', $s$array_to_string(tags, E'\n')$s$, 'true'], ['(short || '' '' || id)', 'english', '(short || '' '' || id)', 'id > 10']] LOOP
            EXECUTE format('SELECT array_agg(id ORDER BY id) FROM typed WHERE to_tsvector(%L, %s) @@ websearch_to_tsquery(%L, %L) AND %s', what[2], what[3], what[2], q, what[4]) INTO wanted;
            statement := format('SELECT id FROM typed WHERE %s @@@ %L AND %s', what[1], q, what[4]);
            FOREACH way IN ARRAY ARRAY['seqscan', 'indexscan', 'bitmapscan'] LOOP
                PERFORM set_config('enable_seqscan', (way = 'seqscan')::text, true), set_config('enable_indexscan', (way = 'indexscan')::text, true),
                    set_config('enable_bitmapscan', (way = 'bitmapscan')::text, true);
                EXECUTE 'SELECT array_agg(id ORDER BY id) FROM (' || statement || ') AS s' INTO found;
                uses := false;
                FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || statement LOOP uses := uses OR line LIKE '%Index Scan%typed%'; END LOOP;
                compared := compared + 1; rows := rows + coalesce(cardinality(found), 0); used := used + uses::int;
                IF found IS DISTINCT FROM wanted THEN different := concat_ws('; ', different, way || ' ' || what[1] || ' ' || q); END IF;
            END LOOP;
        END LOOP;
    END LOOP;
    RETURN NEXT;
END $$;
SELECT * FROM typed_differences();

-- The order of an index scan is that of a sort, and so are the scores; those without a match come last.
CREATE FUNCTION typed_order_differences() RETURNS TABLE (compared int, rows int8, ordered int, different text) LANGUAGE plpgsql AS $$
DECLARE
    q text;
    what text;
    conditions text;
    distances real[];
    found real[];
    statement text;
    line text;
BEGIN
    compared := 0; rows := 0; ordered := 0;
    FOREACH q IN ARRAY ARRAY['array', 'sorted array', '"sorted arrays"', 'graphics or cards', 'graphics -cards', '-array', 'the', ''] LOOP
        FOREACH what IN ARRAY ARRAY['body', 'short', 'strings', 'tags'] LOOP
            FOREACH conditions IN ARRAY ARRAY['true', format('%s @@@ %L', what, q), format('%s @@@ ''indexed''', what)] LOOP
                statement := format('SELECT %s <@> %L AS distance FROM typed WHERE %s ORDER BY %s <@> %L', what, q, conditions, what, q);
                SET LOCAL enable_indexscan = off; SET LOCAL enable_seqscan = on; SET LOCAL enable_sort = on;
                EXECUTE 'SELECT array_agg(distance) FROM (' || statement || ' OFFSET 0) AS s' INTO distances;
                SET LOCAL enable_indexscan = on; SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off;
                EXECUTE 'SELECT array_agg(distance) FROM (' || statement || ' OFFSET 0) AS s' INTO found;
                FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || statement LOOP ordered := ordered + (line LIKE '%Order By: %')::int; END LOOP;
                compared := compared + 1; rows := rows + coalesce(cardinality(found), 0);
                IF found IS DISTINCT FROM distances THEN different := concat_ws('; ', different, what || ' ' || q || ' where ' || conditions); END IF;
            END LOOP;
        END LOOP;
    END LOOP;
    RETURN NEXT;
END $$;
SELECT * FROM typed_order_differences();
VACUUM typed;
SELECT * FROM typed_differences();
SELECT * FROM typed_order_differences();
SELECT count(*) FROM gpu.verify('typed_body') UNION ALL SELECT count(*) FROM gpu.verify('typed_strings') UNION ALL SELECT count(*) FROM gpu.verify('typed_tags');

-- The scores are those of an index on the tsvector itself, and of gpu.search.
CREATE INDEX typed_tsvector ON typed USING gpu_text (to_tsvector('english', body));
SELECT count(*), count(*) FILTER (WHERE (body <@> 'sorted array') IS DISTINCT FROM to_tsvector('english', body) OPERATOR(gpu.<=>) gpu.query('typed_tsvector', 'sort & array')) AS different
FROM typed WHERE body @@@ 'sorted array';
SELECT (SELECT array_agg(score) FROM gpu.search('typed_body', 'sort & array', 20, 'query')) = (SELECT array_agg(-(d)) FROM (SELECT body <@> 'sorted array' AS d FROM typed ORDER BY body <@> 'sorted array' LIMIT 20) AS s) AS same;

-- What a plan looks like; parameters; a tsquery; a sub-select that is not pulled up; a view.
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM typed WHERE body @@@ 'sorted array' ORDER BY body <@> 'sorted array' LIMIT 3;
PREPARE search (text) AS SELECT count(*) FROM typed WHERE body @@@ $1;
SET plan_cache_mode = force_generic_plan;
EXECUTE search('"sorted arrays"');
EXECUTE search('graphics');
EXECUTE search(NULL);
RESET plan_cache_mode;
SELECT count(*) FROM typed WHERE body @@@ to_tsquery('english', 'arrays & !indexed');
SET default_text_search_config = 'simple';
SELECT count(*) FROM (SELECT body FROM typed OFFSET 0) AS s WHERE body @@@ 'arrays';
CREATE VIEW typed_view AS SELECT id, body AS text FROM typed;
SELECT count(*) FROM typed_view WHERE text @@@ 'arrays';
SELECT count(*) FROM typed WHERE body @@@ 'array' AND NOT short @@@ 'graphics';
RESET enable_seqscan;

-- No index: by the configuration in force, and a hint.
SET client_min_messages = notice;
CREATE TABLE typed_bare AS SELECT body FROM typed;
SELECT count(*) FROM typed_bare WHERE body @@@ 'arrays';
SET default_text_search_config = 'english';
SELECT count(*) FROM typed_bare WHERE body @@@ 'arrays';
SELECT body <@> 'graphics' AS distance FROM typed_bare WHERE body @@@ 'graphics -cards' OR body IS NULL ORDER BY 1 NULLS FIRST LIMIT 1;
RESET default_text_search_config;
SET client_min_messages = warning;

-- Partitions: one set of statistics for all.
CREATE TABLE typed_parts (id int, body text) PARTITION BY RANGE (id);
CREATE TABLE typed_parts_1 PARTITION OF typed_parts FOR VALUES FROM (0) TO (200);
CREATE TABLE typed_parts_2 PARTITION OF typed_parts FOR VALUES FROM (200) TO (10000);
CREATE INDEX typed_parts_body ON typed_parts USING gpu_text (body) WITH (configuration = 'english');
INSERT INTO typed_parts SELECT id, body FROM typed;
SET enable_seqscan = off;
SELECT count(*) FROM typed_parts WHERE body @@@ 'sorted array';
SELECT array_agg(p) = (SELECT array_agg(d) FROM (SELECT body <@> 'graphics or array' AS d FROM typed WHERE body @@@ 'graphics or array' ORDER BY body <@> 'graphics or array', id LIMIT 10) AS t) AS same
FROM (SELECT body <@> 'graphics or array' AS p FROM typed_parts WHERE body @@@ 'graphics or array' ORDER BY body <@> 'graphics or array', id LIMIT 10) AS s;
RESET enable_seqscan;

-- An index whose words are made otherwise than the statement's is searched row by row; another configuration counts from REINDEX on.
CREATE INDEX typed_simple ON typed USING gpu_text (body) WITH (configuration = 'simple');
DROP INDEX typed_body;
SET enable_seqscan = off;
SELECT count(*) FROM typed WHERE body @@@ 'arrays';
SELECT count(*) FROM typed WHERE body @@@ gpu.matching_query('typed_short', 'arrays');
SELECT count(*), min(d) FROM (SELECT body <@> gpu.ranking_query('typed_short', 'arrays') AS d FROM typed ORDER BY body <@> gpu.ranking_query('typed_short', 'arrays') LIMIT 20) AS s;
ALTER INDEX typed_simple SET (configuration = 'english');
SELECT count(*) FROM typed WHERE body @@@ 'arrays';
REINDEX INDEX typed_simple;
SELECT count(*) FROM typed WHERE body @@@ 'arrays';
RESET enable_seqscan;

-- What is refused.
\set VERBOSITY default
CREATE INDEX ON typed USING gpu_text (body) WITH (configuration = 'klingon');
CREATE TEXT SEARCH CONFIGURATION public.own_english (COPY = pg_catalog.english);
CREATE INDEX ON typed USING gpu_text (body) WITH (configuration = 'own_english');
CREATE INDEX typed_own ON typed USING gpu_text (body) WITH (configuration = 'public.own_english');
DROP TEXT SEARCH CONFIGURATION public.own_english;
ALTER TEXT SEARCH CONFIGURATION public.own_english RENAME TO other_english;
INSERT INTO typed (id, body) VALUES (5000, 'Sorted arrays');
ALTER TEXT SEARCH CONFIGURATION public.other_english RENAME TO own_english;
INSERT INTO typed (id, body) VALUES (5000, 'Sorted arrays');
-- Also for a session that quotes all identifiers.
SET quote_all_identifiers = on;
INSERT INTO typed (id, body) VALUES (5001, 'Sorted arrays');
RESET quote_all_identifiers;
ALTER INDEX typed_own SET (configuration = 'english');
REINDEX INDEX typed_own;
DROP TEXT SEARCH CONFIGURATION public.own_english;
DROP INDEX typed_own;
DROP TEXT SEARCH CONFIGURATION public.own_english;
CREATE INDEX ON typed USING gpu_text (body, short);
CREATE INDEX ON typed USING gpu_text (id);
SELECT gpu.ranking_query('typed_tsvector', 'array');
SELECT 'text' @@@ gpu.query('typed_tsvector', 'array');
DROP TABLE typed, typed_bare, typed_parts CASCADE;
DROP FUNCTION typed_differences, typed_order_differences;
