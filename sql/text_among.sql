-- GpuSearch: the best rows of gpu_text's indexes among those that other indexes leave. Every answer is compared with PostgreSQL's own sort.
SET client_min_messages = warning;
CREATE TABLE page (id int, tenant int, price int, body text, words tsvector);
CREATE FUNCTION pages(first int, last int) RETURNS SETOF page LANGUAGE sql AS $$
    SELECT i, i * 7919 % 40, i * 104729 % 1000, CASE WHEN i % 50 <> 0 THEN concat_ws(' ', CASE WHEN i % 2 = 0 THEN 'Sorted arrays' END, CASE WHEN i % 3 = 0 THEN 'are indexed' END,
        CASE WHEN i % 7 = 0 THEN 'by graphics processors, and by graphics cards' END, CASE WHEN i % 11 = 0 THEN 'array sorted' END,
        CASE WHEN i * 7919 % 40 = 5 THEN 'tenanted' END, repeat('filler' || i % 13 || ' ', i % 9), 'number' || i) END, NULL::tsvector
    FROM generate_series(first, last) AS i $$;
INSERT INTO page SELECT * FROM pages(1, 1200);
CREATE INDEX page_body ON page USING gpu_text (body) WITH (configuration = 'english');
CREATE INDEX page_words ON page USING gpu_text (to_tsvector('simple', body));
CREATE INDEX page_tenant ON page (tenant);
CREATE INDEX page_price ON page USING gpu_kary (price);
CREATE INDEX page_id ON page USING brin (id) WITH (pages_per_range = 2);
CREATE INDEX page_columns ON page USING gpu_column (tenant, price);
INSERT INTO page SELECT * FROM pages(1201, 1500);
INSERT INTO page SELECT * FROM pages(1501, 1540);
INSERT INTO page SELECT (jsonb_populate_record(p, jsonb_build_object('id', id + 20000, 'body', repeat(body || ' ', 500)))).* FROM page AS p WHERE tenant = 5 AND id < 150;
DELETE FROM page WHERE id % 17 = 0;
UPDATE page SET price = price + 1 WHERE id % 19 = 0;
ANALYZE page;

-- What a plan looks like, with and without a bitmap. In a table of this size a row is not worth one, so rows are made dear.
SET cpu_tuple_cost = 10;
SET enable_seqscan = off;
SET enable_sort = off;
EXPLAIN (COSTS OFF) SELECT id, body <@> 'sorted array' AS score FROM page ORDER BY body <@> 'sorted array' LIMIT 10;
EXPLAIN (COSTS OFF) SELECT id, body <@> 'sorted array' AS score FROM page WHERE tenant = 5 AND id % 2 = 0 ORDER BY score LIMIT 10;
SET pg_gpu.enable_search = off;
EXPLAIN (COSTS OFF) SELECT id, body <@> 'sorted array' AS score FROM page WHERE tenant = 5 AND id % 2 = 0 ORDER BY score LIMIT 10;
RESET pg_gpu.enable_search;
RESET enable_seqscan;
RESET enable_sort;

-- What a statement gives by a sort: all of its rows; and by the node: these, and the scores of the first seven.
CREATE FUNCTION among_differences(OUT compared int, OUT rows int8, OUT nodes int, OUT bitmaps int, OUT different text) LANGUAGE plpgsql AS $$
DECLARE
    q text;
    conditions text;
    statement text;
    line text;
    wanted text[];
    first real[];
    found text[];
    found_first real[];
    bitmap bool;
BEGIN
    compared := 0; rows := 0; nodes := 0; bitmaps := 0;
    FOREACH q IN ARRAY ARRAY['body <@> ''sorted array''', 'body <@> ''"sorted arrays"''', 'body <@> ''graphics or tenanted''', 'body <@> ''indexed -cards''', 'body <@> ''the''', 'body <@> ''number17 or number105''',
            'body <@> to_tsquery(''english'', ''gra:* & index'')', 'to_tsvector(''simple'', body) OPERATOR(gpu.<=>) gpu.query(''page_words'', ''arrays | indexed'')'] LOOP
        FOREACH conditions IN ARRAY ARRAY['tenant = 5', 'tenant = 5 AND price < 300', 'tenant = 5 OR price IN (3, 4)', 'tenant < 20', 'tenant = -1', 'price = ANY (''{1,2,3,4,5,6}'') AND id % 2 = 0',
                'tenant IN (5, 6) AND price BETWEEN 0 AND 200', 'id BETWEEN 500 AND 530', 'tenant = 5 AND body @@@ ''array''', 'tenant = 5 AND body @@@ ''graphics'' AND NOT body @@@ ''cards''', 'body @@@ ''sorted array'''] LOOP
            statement := format('SELECT id, %1$s AS score FROM page WHERE %2$s ORDER BY %1$s', q, conditions);
            SET LOCAL enable_indexscan = off; SET LOCAL enable_seqscan = on; SET LOCAL enable_sort = on;
            EXECUTE format('SELECT array_agg((score, id)::text ORDER BY score, id), (array_agg(score ORDER BY score))[:7] FROM (%s OFFSET 0) AS s', statement) INTO wanted, first;
            SET LOCAL enable_indexscan = on; SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off;
            EXECUTE format('SELECT array_agg((score, id)::text ORDER BY score, id) FROM (%s OFFSET 0) AS s', statement) INTO found;
            EXECUTE format('SELECT array_agg(score) FROM (%s LIMIT 7) AS s', statement) INTO found_first;
            bitmap := false;
            FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || statement LOOP
                nodes := nodes + (line LIKE '%GpuSearch%')::int;
                bitmap := bitmap OR line LIKE '%Bitmap Heap Scan%';
            END LOOP;
            compared := compared + 1; bitmaps := bitmaps + bitmap::int; rows := rows + coalesce(cardinality(wanted), 0);
            IF found IS DISTINCT FROM wanted OR found_first IS DISTINCT FROM first THEN different := concat_ws('; ', different, statement); END IF;
        END LOOP;
    END LOOP;
END $$;
SELECT compared, rows > 7000 AS many_rows, nodes = compared AS all_by_the_node, bitmaps > compared / 2 AS most_with_a_bitmap, different FROM among_differences();
VACUUM page;
SELECT count(*) > 0 AS merged FROM gpu.merge('page_body');
SELECT compared, rows > 7000 AS many_rows, nodes = compared AS all_by_the_node, bitmaps > compared / 2 AS most_with_a_bitmap, different FROM among_differences();

-- Counts by the index and by a scan of the table: while all rows are visible to everyone, and after changes; phrases ask the rows.
CREATE INDEX page_other ON page USING gpu_text (upper(body));
CREATE FUNCTION count_differences(OUT compared int, OUT nodes int, OUT rows int8, OUT different text) LANGUAGE plpgsql AS $$
DECLARE
    condition text;
    line text;
    by_index int8;
    by_scan int8;
BEGIN
    compared := 0; nodes := 0; rows := 0;
    FOREACH condition IN ARRAY ARRAY['body @@@ ''array''', 'body @@@ ''sorted array''', 'body @@@ ''graphics or number105''', 'body @@@ ''-array''', 'body @@@ ''"sorted arrays"''', 'body @@@ ''indexed -"graphics cards"''', 'body @@@ ''the''',
            'body @@@ ''''', 'body @@@ NULL::text', 'body @@@ to_tsquery(''english'', ''gra:* & index'')', 'to_tsvector(''simple'', body) @@ ''arrays | tenanted''::tsquery', 'body @@@ ''array'' AND body @@@ ''graphics or tenanted''',
            'body @@@ gpu.matching_query(''page_other'', ''arrays''::text)'] LOOP
        SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off;
        EXECUTE 'SELECT count(*) FROM page WHERE ' || condition INTO by_index;
        FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) SELECT count(*) FROM page WHERE ' || condition LOOP nodes := nodes + (line LIKE '%GpuCount%')::int; END LOOP;
        SET LOCAL enable_seqscan = on; SET LOCAL pg_gpu.enable_count_scan = off; SET LOCAL enable_indexscan = off;
        EXECUTE 'SELECT count(*) FROM page WHERE ' || condition INTO by_scan;
        SET LOCAL pg_gpu.enable_count_scan = on; SET LOCAL enable_indexscan = on; SET LOCAL enable_bitmapscan = on;
        compared := compared + 1; rows := rows + by_index;
        IF by_index IS DISTINCT FROM by_scan THEN different := concat_ws('; ', different, format('%s: %s, not %s', condition, by_index, by_scan)); END IF;
    END LOOP;
END $$;
SELECT compared, nodes > 10 AS by_the_node, rows > 3000 AS many_rows, different FROM count_differences();
BEGIN;
DELETE FROM page WHERE id % 5 = 0;
INSERT INTO page SELECT id + 50000, tenant, price, body FROM page WHERE id % 7 = 0;
SAVEPOINT before;
UPDATE page SET body = 'sorted arrays' WHERE id % 11 = 0;
ROLLBACK TO before;
SELECT compared, nodes > 10 AS by_the_node, rows > 3000 AS many_rows, different FROM count_differences();
ROLLBACK;
SELECT compared, nodes > 10 AS by_the_node, rows > 3000 AS many_rows, different FROM count_differences();

-- Parameters of a prepared statement, and of an outer query, which the node is asked with again and again.
SET enable_seqscan = off;
SET enable_sort = off;
SET plan_cache_mode = force_generic_plan;
PREPARE search (int, text) AS SELECT id FROM page WHERE tenant = $1 AND id < 9600 ORDER BY body <@> $2, id LIMIT 3;
PREPARE best (int, text) AS SELECT tenant, round((body <@> $2)::numeric, 3) AS score FROM page WHERE tenant = $1 ORDER BY body <@> $2 LIMIT 2;
EXECUTE search(5, 'graphics');
EXECUTE best(5, 'graphics');
EXECUTE best(6, '"sorted arrays"');
EXECUTE best(6, NULL);
EXECUTE best(-1, 'graphics');
RESET plan_cache_mode;
EXPLAIN (COSTS OFF) SELECT t.tenant, s.score FROM (VALUES (5, 'graphics'), (6, 'indexed')) AS t (tenant, words), LATERAL (SELECT body <@> t.words AS score FROM page WHERE page.tenant = t.tenant ORDER BY score LIMIT 2) AS s;
CREATE FUNCTION best_of_tenants() RETURNS SETOF text LANGUAGE sql AS $$
    SELECT concat_ws(' ', t.tenant, t.words, round(s.score::numeric, 3)) FROM (VALUES (5, 'graphics'), (6, 'indexed'), (5, 'indexed'), (-1, 'indexed'), (7, NULL), (8, 'graphics -cards')) AS t (tenant, words),
        LATERAL (SELECT body <@> t.words AS score FROM page WHERE page.tenant = t.tenant ORDER BY score LIMIT 3) AS s ORDER BY t.tenant, t.words, s.score $$;
CREATE TABLE by_node AS SELECT * FROM best_of_tenants() AS line;
SET pg_gpu.enable_search = off;
SELECT count(*) FROM by_node;
SELECT * FROM best_of_tenants() EXCEPT ALL TABLE by_node;
RESET pg_gpu.enable_search;

-- Whole rows, columns of the system, a score that is computed with, conditions that aren't about rows, rows that are locked, and a query of another configuration.
SELECT (p).id, tableoid::regclass, ctid IS NOT NULL AS has_place, abs(body <@> 'tenanted') > 0 AS has_score FROM page AS p WHERE tenant = 5 ORDER BY body <@> 'tenanted' LIMIT 1 OFFSET 3;
SELECT count(*) FROM (SELECT id FROM page WHERE tenant = 5 AND now() > '2000-01-01' ORDER BY body <@> 'tenanted' LIMIT 10) AS s;
SELECT count(*) FROM (SELECT id FROM page WHERE tenant = 5 AND now() < '2000-01-01' ORDER BY body <@> 'tenanted' LIMIT 10) AS s;
EXPLAIN (COSTS OFF) SELECT id FROM page WHERE tenant = 5 ORDER BY body <@> 'tenanted' LIMIT 1 FOR UPDATE;
SELECT node, used, reason FROM gpu.explain_why($$SELECT id FROM page WHERE tenant = 5 ORDER BY body <@> 'tenanted' LIMIT 1 FOR UPDATE$$) WHERE node = 'GpuSearch';
CREATE INDEX page_simple ON page USING gpu_text ((body || '')) WITH (configuration = 'simple');
SELECT array_agg(round((body <@> gpu.ranking_query('page_simple', 'processors'))::numeric, 3)) FROM (SELECT body FROM page WHERE tenant = 5 ORDER BY body <@> gpu.ranking_query('page_simple', 'processors') LIMIT 3) AS s;
SELECT array_agg(round(score::numeric, 3)) FROM (SELECT body <@> gpu.ranking_query('page_simple', 'processors') AS score FROM page WHERE tenant = 5 ORDER BY score LIMIT 3) AS s;

-- A cursor, and partitions.
BEGIN;
DECLARE found CURSOR FOR SELECT tenant, body <@> 'tenanted' < 0 AS matches FROM page WHERE tenant = 5 ORDER BY body <@> 'tenanted';
FETCH 2 FROM found;
MOVE 10 FROM found;
FETCH 2 FROM found;
COMMIT;
CREATE TABLE part (LIKE page) PARTITION BY RANGE (id);
CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (1000);
CREATE TABLE part_2 PARTITION OF part FOR VALUES FROM (1000) TO (100000);
CREATE INDEX ON part USING gpu_text (body) WITH (configuration = 'english');
CREATE INDEX ON part (tenant);
INSERT INTO part SELECT * FROM page;
ANALYZE part;
EXPLAIN (COSTS OFF) SELECT id FROM part WHERE tenant = 5 ORDER BY body <@> 'graphics' LIMIT 5;
CREATE FUNCTION of_partitions() RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(score::text, ' ') FROM (SELECT round((body <@> 'graphics or indexed')::numeric, 3) AS score FROM part WHERE tenant = 5 ORDER BY body <@> 'graphics or indexed' LIMIT 20) AS s $$;
SELECT of_partitions() AS by_node
\gset
SET enable_seqscan = on;
SET enable_sort = on;
SET enable_indexscan = off;
SELECT of_partitions() = :'by_node' AS same;
DROP TABLE page, part, by_node CASCADE;
DROP FUNCTION among_differences, count_differences, best_of_tenants, of_partitions;
