-- GpuAggregate over the rows of a bitmap: conditions on columns that the gpu_column index hasn't are answered by the table's other indexes.
-- Each statement is run with the node and without it.
-- In a table of this size a row isn't worth a node, so rows are made dear.
SET cpu_tuple_cost = 1;
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;
SET client_min_messages = warning;

CREATE TABLE page (id int, tenant int, price numeric(8,2), category int, at timestamp, body text, place point, tags int[], name text) WITH (autovacuum_enabled = off);
CREATE FUNCTION pages(first int, last int) RETURNS SETOF page LANGUAGE sql AS $$
    SELECT i, CASE WHEN i % 23 <> 0 THEN i * 7919 % 40 END, CASE WHEN i % 29 <> 0 THEN i::int8 * 104729 % 1000 / 4.0 END, i * 31 % 17, timestamp '2026-01-01' + i * interval '9 minutes',
        CASE WHEN i % 50 <> 0 THEN concat_ws(' ', CASE WHEN i % 2 = 0 THEN 'Sorted arrays' END, CASE WHEN i % 3 = 0 THEN 'are indexed' END,
            CASE WHEN i % 7 = 0 THEN 'by graphics processors' END, CASE WHEN i % 11 = 0 THEN 'array sorted' END, CASE WHEN i = 333 THEN 'singular' END, repeat('filler ', i % 5)) END,
        point(i % 100, i % 37), ARRAY[i % 5, i % 3], 'name ' || i % 71
    FROM generate_series(first, last) AS i $$;
INSERT INTO page SELECT * FROM pages(1, 5000);
CREATE INDEX page_columns ON page USING gpu_column (tenant, price, category, at);
CREATE INDEX page_body ON page USING gpu_text (body) WITH (configuration = 'english');
CREATE INDEX page_place ON page USING gpu_grid (place);
CREATE INDEX page_id ON page USING gpu_kary (id);
CREATE INDEX page_name ON page (name);
CREATE INDEX page_tags ON page USING gin (tags);
CREATE INDEX page_at ON page USING brin (id);
CREATE INDEX page_hash ON page USING hash (name);
VACUUM ANALYZE page;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all

-- What a plan looks like.
EXPLAIN (COSTS OFF) SELECT category, count(*) FROM page WHERE body @@@ 'array' AND price < 100 GROUP BY category;

-- Facets of a search, on a table that is all-visible, and then on one that isn't.
CREATE FUNCTION facets() RETURNS TABLE (number int, who text, rows int, same text) LANGUAGE sql AS $$
    SELECT number, (compare(query)).* FROM unnest(ARRAY[
        $q$SELECT category, count(*) FROM page WHERE body @@@ 'array' GROUP BY category$q$,
        $q$SELECT category, count(*) FROM page WHERE body @@@ 'array' GROUP BY category ORDER BY 2 DESC, 1 LIMIT 5$q$,
        $q$SELECT tenant, count(*), sum(price), avg(price), min(at), max(price) FROM page WHERE body @@@ 'graphics or indexed' GROUP BY tenant$q$,
        $q$SELECT count(*), count(tenant), sum(price), stddev(tenant) FROM page WHERE body @@@ 'graphics -indexed'$q$,
        $q$SELECT category, count(*) FILTER (WHERE tenant < 9), sum(tenant * 2) FROM page WHERE body @@@ 'sorted' AND price BETWEEN 10 AND 200 GROUP BY category HAVING count(*) > 3$q$,
        $q$SELECT count(DISTINCT tenant), sum(DISTINCT price) FROM page WHERE body @@@ 'indexed'$q$,
        $q$SELECT DISTINCT category, tenant FROM page WHERE body @@@ 'graphics'$q$,
        $q$SELECT date_trunc('day', at), count(*) FROM page WHERE body @@@ 'graphics' AND tenant IS NOT NULL GROUP BY 1 ORDER BY 1$q$,
        $q$SELECT width_bucket(price, 0, 250, 10), count(*) FROM page WHERE body @@@ 'array' GROUP BY 1$q$,
        $q$SELECT category, count(*) FROM page WHERE body @@@ 'singular' GROUP BY category$q$,
        $q$SELECT category, count(*) FROM page WHERE body @@@ 'nothing' GROUP BY category$q$,
        $q$SELECT count(*), sum(price) FROM page WHERE body @@@ 'nothing'$q$,
        $q$SELECT sum(100 / (category - 3)) FROM page WHERE body @@@ 'graphics' AND category <> 3$q$,
        -- Other indexes.
        $q$SELECT category, sum(price) FROM page WHERE place <@ box '((3,4),(40,20))' GROUP BY category$q$,
        $q$SELECT category, sum(price) FROM page WHERE id BETWEEN 100 AND 150 GROUP BY category$q$,
        $q$SELECT category, sum(price) FROM page WHERE id = ANY ('{1,2,2,77,-5,4999,9000}') GROUP BY category$q$,
        $q$SELECT category, max(price) FROM page WHERE name = 'name 7' GROUP BY category$q$,
        $q$SELECT category, max(price) FROM page WHERE tags && ARRAY[4] GROUP BY category$q$,
        -- A bitmap of two of them, or none of one.
        $q$SELECT category, count(*) FROM page WHERE body @@@ 'graphics' AND id < 2000 GROUP BY category$q$,
        $q$SELECT category, count(*) FROM page WHERE body @@@ 'graphics' OR category = 3 GROUP BY category$q$,
        $q$SELECT category, count(*) FROM page WHERE body LIKE '%array%' GROUP BY category$q$,
        -- Phrases need a look at rows.
        $q$SELECT category, count(*) FROM page WHERE body @@@ '"array sorted"' GROUP BY category$q$,
        -- Each set would need a bitmap.
        $q$SELECT category, tenant, count(*) FROM page WHERE body @@@ 'graphics' GROUP BY ROLLUP (category, tenant)$q$,
        -- Subqueries and the values of other rows.
        $q$SELECT category, count(*) FROM page WHERE body @@@ (SELECT 'graph' || 'ics') GROUP BY category$q$,
        $q$SELECT word, (SELECT count(*) FROM page WHERE body @@@ word AND tenant > 3) FROM unnest(ARRAY['array', 'nothing', 'graphics', 'array']) AS word$q$
    ]) WITH ORDINALITY AS q (query, number) $$;
SELECT * FROM facets();
INSERT INTO page SELECT * FROM pages(5001, 5600);
DELETE FROM page WHERE id % 13 = 0;
UPDATE page SET price = price + 1 WHERE id % 19 = 0;
UPDATE page SET body = 'graphics instead' WHERE id % 31 = 0;
UPDATE page SET name = 'name 7' WHERE id % 101 = 0;
INSERT INTO page SELECT * FROM pages(6001, 6020);
SELECT * FROM facets() WHERE same <> 'same';

-- What this transaction has changed, and what it has taken back.
BEGIN;
INSERT INTO page SELECT * FROM pages(7001, 7100);
DELETE FROM page WHERE category = 5;
SAVEPOINT one;
UPDATE page SET body = 'sorted array of graphics';
SELECT * FROM facets() WHERE same <> 'same';
ROLLBACK TO one;
SELECT * FROM facets() WHERE same <> 'same';
ROLLBACK;
VACUUM page;
SELECT * FROM facets() WHERE same <> 'same';

-- A prepared statement asks anew with each value.
SET plan_cache_mode = force_generic_plan;
PREPARE facet(text, numeric) AS SELECT category, count(*), sum(price) FROM page WHERE body @@@ $1 AND price < $2 GROUP BY category ORDER BY category LIMIT 3;
EXECUTE facet('graphics', 50);
EXECUTE facet('array', 500);
EXECUTE facet('nothing', 500);
EXECUTE facet(NULL, 500);
DEALLOCATE facet;
RESET plan_cache_mode;

-- Back and forth.
BEGIN;
DECLARE facets SCROLL CURSOR FOR SELECT category, count(*) FROM page WHERE body @@@ 'graphics' GROUP BY category ORDER BY category;
FETCH 2 FROM facets;
FETCH BACKWARD 1 FROM facets;
FETCH LAST FROM facets;
MOVE FIRST IN facets;
FETCH 1 FROM facets;
COMMIT;

-- Little memory makes a bitmap that names whole pages, and phrases need a look at rows: the plan that stands by has the word.
CREATE TABLE wide (id int, category int, body text, filler text) WITH (autovacuum_enabled = off);
INSERT INTO wide SELECT i, i % 17, CASE WHEN i % 3 = 0 THEN 'array sorted' ELSE 'sorted array' END, repeat('x', 400) FROM generate_series(1, 30000) AS i;
CREATE INDEX wide_columns ON wide USING gpu_column (category);
CREATE INDEX wide_id ON wide USING gpu_kary (id);
CREATE INDEX wide_body ON wide USING gpu_text (body) WITH (configuration = 'english');
VACUUM ANALYZE wide;
SET enable_indexscan = off;
SELECT * FROM compare_all($list$
SELECT category, count(*) FROM wide WHERE id BETWEEN 0 AND 29000 GROUP BY category
SELECT category, count(*) FROM wide WHERE body @@@ '"array sorted"' GROUP BY category
$list$);
SET work_mem = '64kB';
SELECT * FROM compare('SELECT category, count(*) FROM wide WHERE id BETWEEN 0 AND 29000 GROUP BY category');
RESET work_mem;
DROP INDEX wide_body;
CREATE INDEX wide_body ON wide USING gpu_text (body) WITH (configuration = 'english', positions = on);
SELECT * FROM compare($$SELECT category, count(*) FROM wide WHERE body @@@ '"array sorted"' GROUP BY category$$);
RESET enable_indexscan;
DROP TABLE wide;
SELECT * FROM facets() WHERE same <> 'same';

-- Partial indexes: what their predicates imply needs no test.
DROP INDEX page_body;
CREATE INDEX page_some ON page USING gpu_text (body) WITH (configuration = 'english') WHERE name < 'name 3';
SELECT * FROM compare_all($list$
SELECT category, count(*) FROM page WHERE body @@@ 'graphics' AND name < 'name 3' GROUP BY category
SELECT category, count(*) FROM page WHERE body @@@ 'graphics' AND name < 'name 2' GROUP BY category
$list$);

-- Why it is used, and why not.
CREATE FUNCTION reasons(query text) RETURNS TABLE (candidate text, used bool, reason text) LANGUAGE sql AS $$
    SELECT candidate, used, reason FROM gpu.explain_why(query) WHERE node = 'GpuAggregate' $$;
SELECT * FROM reasons('SELECT category, count(*) FROM page WHERE id < 90 GROUP BY category');
SELECT * FROM reasons('SELECT category, count(*) FROM page WHERE id + 1 < 90 GROUP BY category');
SELECT * FROM reasons('SELECT category, max(name) FROM page WHERE id < 90 GROUP BY category');

-- What others must not see.
CREATE ROLE page_reader;
CREATE FUNCTION tells(x int) RETURNS bool LANGUAGE plpgsql COST 1e-6 AS $$ BEGIN RAISE WARNING 'category %', x; RETURN true; END $$;
CREATE VIEW own_pages WITH (security_barrier) AS SELECT * FROM page WHERE id < 9;
GRANT SELECT ON own_pages TO page_reader;
SET ROLE page_reader;
SELECT category, count(*) FROM own_pages WHERE tells(category) GROUP BY category ORDER BY category LIMIT 2;
SELECT category, count(*) FROM page WHERE id < 9 GROUP BY category;
RESET ROLE;

-- Partitions.
CREATE TABLE parted (LIKE page) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (1000);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (1000) TO (9000);
INSERT INTO parted SELECT * FROM pages(1, 3000);
CREATE INDEX ON parted USING gpu_column (tenant, category, price);
CREATE INDEX ON parted USING gpu_text (body) WITH (configuration = 'english');
VACUUM ANALYZE parted;
SELECT * FROM compare_all($list$
SELECT category, count(*), sum(price) FROM parted WHERE body @@@ 'graphics' GROUP BY category
SELECT count(*), sum(price) FROM parted WHERE body @@@ 'graphics' AND tenant = 7
$list$);

DROP TABLE parted;
DROP VIEW own_pages;
DROP FUNCTION facets(), reasons(text), tells(int), pages(int, int), compare, compare_all, answer_of(text), who_answers(text, text);
DROP TABLE page;
DROP ROLE page_reader;
