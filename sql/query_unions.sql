-- UNION ALL in FROM, whose rows the engine computes in the same request as what is around them. Each statement is run with the node and without it, and the
-- answers are held against each other.
SET pg_gpu.path = host;
SET pg_gpu.min_mirror_entries = 0;
SET max_parallel_workers_per_gather = 0;

CREATE TABLE visit (id int4, shop int4, name text, place varchar(20), short char(6), price numeric(8,2), loose numeric, ratio float8, day date, moment timestamptz, is_open bool) WITH (autovacuum_enabled = off);
INSERT INTO visit
SELECT i, CASE WHEN i % 13 > 0 THEN i * 7 % 60 END, CASE WHEN i % 7 > 0 THEN 'name ' || i % 45 END, 'place ' || i % 12, 's' || i % 9, CASE WHEN i % 11 > 0 THEN i * 7919 % 1009 / 4.0 END,
       CASE i % 3 WHEN 0 THEN i % 40 WHEN 1 THEN (i % 40)::numeric(6,1) ELSE (i % 40 / 4.0)::numeric(6,2) END, CASE WHEN i % 19 > 0 THEN i % 17 / 8.0 END,
       date '2025-01-01' + i % 200, timestamptz '2025-01-01 00:00 UTC' + i * interval '50 minutes', i % 2 = 0
FROM generate_series(1, 3000) AS i;
CREATE INDEX visit_i ON visit USING gpu_column (id, shop, name, place, short, price, loose, ratio, day, moment, is_open);
CREATE TABLE old_visit (note text, id int8, shop int4, name varchar(30), price numeric, ratio float4, day date) WITH (autovacuum_enabled = off);
INSERT INTO old_visit SELECT 'note ' || i % 3, i, i % 70, 'name ' || i % 60, i % 500 / 8.0, i % 5, date '2024-01-01' + i % 300 FROM generate_series(1, 2000) AS i;
CREATE INDEX old_visit_i ON old_visit USING gpu_column (note, id, shop, name, price, ratio, day);
CREATE TABLE shop (id int4, kind int4, name text) WITH (autovacuum_enabled = off);
INSERT INTO shop SELECT i, i % 7, 'name ' || i FROM generate_series(0, 79) AS i;
CREATE INDEX shop_i ON shop USING gpu_column (id, kind, name);
CREATE TABLE plain (shop int4, price numeric) WITH (autovacuum_enabled = off);
INSERT INTO plain VALUES (1, 2), (3, 4);
CREATE TABLE empty (shop int4, price numeric) WITH (autovacuum_enabled = off);
CREATE INDEX empty_i ON empty USING gpu_column (shop, price);
CREATE TABLE parted (shop int4, price numeric(8,2), day date) PARTITION BY RANGE (day);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM ('2025-01-01') TO ('2025-04-01');
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM ('2025-04-01') TO ('2026-01-01');
INSERT INTO parted SELECT shop, price, day FROM visit;
CREATE INDEX parted_i ON parted USING gpu_column (shop, price, day);
VACUUM ANALYZE visit, old_visit, shop, plain, empty, parted;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all
EXPLAIN (COSTS OFF) SELECT source, s.kind, count(*), sum(price) FROM (SELECT 'new' AS source, shop, price FROM visit WHERE price > 10 UNION ALL SELECT note, o.shop, o.price FROM old_visit o JOIN shop USING (name)) AS u
JOIN shop s ON s.id = u.shop GROUP BY 1, 2;
-- Groups, conditions inside and above, constants, NULLs, types that look alike, the same table twice, no rows.
SELECT * FROM compare_all($list$
SELECT count(*) FROM (SELECT id FROM visit UNION ALL SELECT shop FROM old_visit) AS u
SELECT count(*), count(shop), sum(price), min(price), max(price), avg(price) FROM (SELECT shop, price::numeric FROM visit UNION ALL SELECT shop, price FROM old_visit) AS u
SELECT shop, count(*), sum(price) FROM (SELECT shop, price::numeric FROM visit UNION ALL SELECT shop, price FROM old_visit) AS u GROUP BY 1
SELECT source, count(*), count(DISTINCT shop), max(day) FROM (SELECT 'new' AS source, shop, day FROM visit WHERE is_open UNION ALL SELECT 'old', shop, day FROM old_visit WHERE price > 3) AS u GROUP BY source
SELECT source, shop, count(*) FROM (SELECT 1 AS source, shop, day FROM visit UNION ALL SELECT 2, shop, day FROM old_visit UNION ALL SELECT 3, id, NULL FROM shop) AS u WHERE source > 1 AND shop < 20 GROUP BY 1, 2
SELECT count(*), sum(shop) FROM (SELECT 1 AS source, shop FROM visit UNION ALL SELECT 2, shop FROM old_visit) AS u WHERE source = 2
SELECT name, count(*) FROM (SELECT name FROM visit UNION ALL SELECT name::text FROM old_visit UNION ALL SELECT name FROM shop WHERE kind = 3) AS u GROUP BY 1
SELECT name, count(*) FROM (SELECT name FROM visit UNION ALL SELECT 'name 3' FROM old_visit) AS u WHERE name LIKE '%3%' GROUP BY 1
SELECT upper(name), length(name) AS l, count(*) FROM (SELECT name FROM visit UNION ALL SELECT note FROM old_visit) AS u GROUP BY 1, 2
SELECT place, count(*) FROM (SELECT place FROM visit UNION ALL SELECT NULL FROM shop) AS u GROUP BY 1
SELECT short, count(*) FROM (SELECT short FROM visit UNION ALL SELECT 's1'::char(6) FROM shop) AS u GROUP BY 1
SELECT min(name), max(name) FROM (SELECT name FROM visit UNION ALL SELECT note FROM old_visit) AS u
SELECT sum(x), count(x) FROM (SELECT ratio AS x FROM visit UNION ALL SELECT ratio::float8 FROM old_visit UNION ALL SELECT -0.0 FROM shop) AS u
SELECT sum(id), max(id) FROM (SELECT id FROM visit UNION ALL SELECT id FROM old_visit) AS u
SELECT sum(x), count(x) FROM (SELECT ratio AS x FROM visit UNION ALL SELECT id FROM old_visit UNION ALL SELECT 2.5 FROM shop) AS u
SELECT name, count(*), max(day) FROM (SELECT name, moment AS day FROM visit UNION ALL SELECT name, day FROM old_visit UNION ALL SELECT NULL, NULL FROM shop) AS u WHERE name <> 'name 3' GROUP BY 1
WITH u AS (SELECT shop, price FROM visit UNION ALL SELECT id, ratio FROM old_visit) SELECT shop, sum(price), avg(price) FROM u WHERE shop < 100 GROUP BY 1
SELECT x, count(*) FROM (SELECT ratio AS x FROM visit UNION ALL SELECT '-0'::float8 FROM shop) AS u GROUP BY 1
SELECT sum(x), max(x) FROM (SELECT loose AS x FROM visit UNION ALL SELECT price FROM old_visit) AS u
SELECT sum(-x), count(*) FROM (SELECT price * 2 AS x FROM visit UNION ALL SELECT price / 3 FROM old_visit) AS u
SELECT date_trunc('month', at), count(*) FROM (SELECT moment AS at FROM visit UNION ALL SELECT moment + interval '1 year' FROM visit WHERE is_open) AS u GROUP BY 1
SELECT extract(year FROM day) AS y, is_old, count(*) FROM (SELECT day, false AS is_old FROM visit UNION ALL SELECT day, true FROM old_visit) AS u GROUP BY 1, 2
SELECT shop, count(*) FROM (SELECT shop, price FROM empty UNION ALL SELECT shop, loose FROM visit WHERE id > 2990) AS u GROUP BY 1
SELECT count(*), sum(price) FROM (SELECT shop, price FROM empty UNION ALL SELECT shop, price FROM empty) AS u
SELECT count(*) FROM (SELECT shop, price FROM empty UNION ALL SELECT shop, price FROM old_visit WHERE false) AS u
SELECT k, count(*) FROM (SELECT shop % 5 AS k FROM visit WHERE shop BETWEEN 3 AND 30 UNION ALL SELECT id % 3 FROM visit) AS u WHERE k <> 2 GROUP BY 1 HAVING count(*) > 20
SELECT CASE WHEN price > 50 THEN 'much' ELSE source END, count(*) FROM (SELECT 'a' AS source, price FROM visit UNION ALL SELECT 'b', price::numeric(8,2) FROM old_visit) AS u GROUP BY 1
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x), mode() WITHIN GROUP (ORDER BY x) FROM (SELECT ratio AS x FROM visit UNION ALL SELECT id / 8.0::float8 FROM visit WHERE id < 100) AS u
SELECT shop, source, grouping(shop), count(*) FROM (SELECT shop, 1 AS source FROM visit UNION ALL SELECT shop, 2 FROM old_visit) AS u GROUP BY CUBE (1, 2)
SELECT DISTINCT shop, source FROM (SELECT shop, 1 AS source FROM visit UNION ALL SELECT shop, 2 FROM old_visit) AS u
SELECT shop, n, sum(n) OVER (ORDER BY shop) FROM (SELECT shop, count(*) AS n FROM (SELECT shop FROM visit UNION ALL SELECT shop FROM old_visit) AS u GROUP BY 1) AS g
$list$);
-- Joins in members, and of unions; groups, EXISTS and IN around them; partitions; members that are unions.
SELECT * FROM compare_all($list$
SELECT kind, sum(v) FROM (SELECT kind, price AS v FROM visit JOIN shop ON shop.id = visit.shop UNION ALL SELECT kind, -o.price FROM old_visit o JOIN shop ON shop.name = o.name WHERE o.id % 2 = 0) AS u GROUP BY 1
SELECT s.kind, count(*), count(u.shop), sum(u.price) FROM shop s LEFT JOIN (SELECT shop, price FROM visit WHERE id < 900 UNION ALL SELECT shop, price FROM old_visit) AS u ON u.shop = s.id AND u.price > 20 GROUP BY 1
SELECT s.kind, u.source, count(*) FROM (SELECT shop, 'v' AS source FROM visit UNION ALL SELECT shop, 'o' FROM old_visit) AS u LEFT JOIN shop s ON u.shop = s.id AND s.kind < 3 GROUP BY 1, 2
SELECT s.kind, count(*) FROM (SELECT shop FROM visit UNION ALL SELECT shop FROM old_visit) AS u FULL JOIN shop s ON u.shop = s.id AND s.kind < 3 GROUP BY 1
SELECT count(*) FROM (SELECT shop, id FROM visit WHERE is_open UNION ALL SELECT shop, id::int4 FROM old_visit) AS u JOIN (SELECT id FROM shop UNION ALL SELECT kind FROM shop) AS v ON u.shop = v.id
SELECT count(*), sum(kind) FROM shop WHERE id IN (SELECT shop FROM visit WHERE id < 30 UNION ALL SELECT shop FROM old_visit WHERE id < 30)
SELECT count(*) FROM shop s WHERE NOT EXISTS (SELECT FROM (SELECT shop FROM visit WHERE price < 10 UNION ALL SELECT shop FROM old_visit WHERE id < 40) AS u WHERE u.shop = s.id)
SELECT s.kind, g.n FROM shop s JOIN (SELECT shop, count(*) AS n FROM (SELECT shop FROM visit UNION ALL SELECT shop FROM old_visit) AS u GROUP BY 1) AS g ON g.shop = s.id WHERE s.kind = 3
SELECT n, count(*) FROM (SELECT shop, count(*) AS n FROM (SELECT shop FROM visit UNION ALL SELECT shop FROM old_visit) AS u GROUP BY 1) AS g GROUP BY 1
SELECT count(*), sum(price) FROM (SELECT shop, price FROM parted WHERE day > date '2025-03-20' UNION ALL SELECT shop, price FROM visit) AS u WHERE shop < 30
SELECT count(*), sum(price) FROM (SELECT * FROM (SELECT shop, price FROM visit UNION ALL SELECT shop, price FROM visit WHERE is_open) AS a UNION ALL SELECT id, kind FROM shop) AS u WHERE shop < 30
WITH u AS (SELECT shop, price FROM visit UNION ALL SELECT shop, price FROM old_visit) SELECT a.shop, a.n, b.total FROM (SELECT shop, count(*) AS n FROM u GROUP BY 1) AS a JOIN (SELECT shop, sum(price) AS total FROM u GROUP BY 1) AS b USING (shop)
WITH u AS (SELECT shop, price FROM visit UNION ALL SELECT shop, price FROM old_visit) SELECT shop, sum(price) FROM u GROUP BY 1 ORDER BY 2 DESC NULLS LAST, 1 LIMIT 3
SELECT shop, name FROM (SELECT shop, name FROM visit UNION ALL SELECT id, name FROM shop) AS u WHERE name <> 'name 3' ORDER BY name DESC, shop NULLS FIRST LIMIT 7
SELECT count(*) FROM visit v WHERE price < (SELECT avg(price) FROM (SELECT shop, price FROM visit UNION ALL SELECT shop, price FROM old_visit) AS u WHERE u.shop = v.shop)
SELECT count(*) FROM (SELECT shop FROM visit v WHERE EXISTS (SELECT FROM shop s WHERE s.id = v.shop AND s.kind = 2) UNION ALL SELECT shop FROM old_visit WHERE shop NOT IN (SELECT id FROM shop WHERE kind < 5)) AS u
SELECT sum(price) FROM (SELECT price FROM visit WHERE price > (SELECT avg(price) FROM visit) UNION ALL SELECT price FROM old_visit) AS u
$list$);
-- PostgreSQL's own: members of other types, tables without an index, groups, whole rows, what the engine can't compute.
SELECT * FROM compare_all($list$
SELECT count(*) FROM (SELECT id FROM visit UNION ALL (SELECT DISTINCT id FROM old_visit)) AS u
SELECT sum(price) FROM (SELECT shop, price FROM plain UNION ALL SELECT shop, price FROM old_visit) AS u
SELECT k, sum(n) FROM (SELECT shop AS k, count(*) AS n FROM visit GROUP BY 1 UNION ALL SELECT kind, count(*) FROM shop GROUP BY 1) AS u GROUP BY 1
SELECT count(u), count(DISTINCT u) FROM (SELECT id, kind FROM shop UNION ALL SELECT id, shop FROM visit) AS u
SELECT count(*) FROM (SELECT shop FROM visit UNION SELECT shop FROM old_visit) AS u
SELECT sum(x) FROM (SELECT shop AS x FROM visit UNION ALL SELECT (random() * 0)::int4 FROM shop) AS u
SELECT sum(x) FROM (SELECT shop AS x FROM visit UNION ALL (SELECT id FROM shop ORDER BY id LIMIT 3)) AS u
SELECT max(x) FROM (SELECT 100 / (kind + 1) AS x FROM shop UNION ALL SELECT 7 FROM visit) AS u
SELECT count(*), sum(x) FROM shop s, LATERAL (SELECT price AS x FROM visit v WHERE v.shop = s.id UNION ALL SELECT price FROM old_visit o WHERE o.shop = s.id) AS u WHERE s.kind = 2
$list$);
-- An error is raised as it would be.
SELECT sum(x) FROM (SELECT shop AS x FROM visit UNION ALL SELECT 100 / kind FROM shop) AS u;
-- Rows of the transaction, views, parameters.
BEGIN;
INSERT INTO visit (id, shop, price) VALUES (5000, 1, 1), (5001, 2, NULL);
DELETE FROM old_visit WHERE id % 5 = 0;
SELECT * FROM compare('SELECT shop, count(*), sum(price) FROM (SELECT shop, price::numeric FROM visit UNION ALL SELECT shop, price FROM old_visit) AS u GROUP BY 1');
ROLLBACK;
CREATE VIEW every_visit AS SELECT 'new' AS source, shop, name, price::numeric, day FROM visit UNION ALL SELECT 'old', shop, name, price, day FROM old_visit;
SELECT * FROM compare('SELECT source, count(*) FROM every_visit WHERE shop BETWEEN 3 AND 9 GROUP BY 1');
SET plan_cache_mode = force_generic_plan;
PREPARE asked (text, date) AS SELECT source, count(*), sum(price) FROM every_visit WHERE source <> $1 AND day < $2 GROUP BY 1;
EXPLAIN (COSTS OFF) EXECUTE asked('x', '2025-02-01');
EXECUTE asked('old', '2025-02-01');
EXECUTE asked('x', '2024-03-01');
DEALLOCATE asked;
RESET plan_cache_mode;

-- UNION, INTERSECT and EXCEPT are groups of UNION ALL: in FROM, WITH, IN and by themselves, of several members, NULLs, types that look alike, no rows.
EXPLAIN (COSTS OFF) SELECT count(*) FROM (SELECT shop FROM visit EXCEPT SELECT id FROM shop WHERE kind > 2) AS u;
SELECT * FROM compare_all($list$
SELECT count(*), sum(shop) FROM (SELECT shop FROM visit UNION SELECT shop FROM old_visit) AS u
SELECT count(*), sum(shop), count(shop) FROM (SELECT shop FROM visit INTERSECT SELECT shop FROM old_visit) AS u
SELECT count(*), sum(shop), count(shop) FROM (SELECT shop FROM old_visit EXCEPT SELECT shop FROM visit WHERE is_open) AS u
SELECT count(*), count(shop) FROM (SELECT shop FROM visit EXCEPT SELECT shop FROM old_visit) AS u
SELECT shop, name FROM visit UNION SELECT shop, name FROM old_visit WHERE price > 40
SELECT shop, name FROM visit INTERSECT SELECT DISTINCT shop, name::text FROM old_visit
SELECT id AS key FROM shop EXCEPT SELECT shop FROM visit ORDER BY key DESC LIMIT 5
SELECT id FROM shop EXCEPT SELECT shop FROM visit WHERE is_open EXCEPT SELECT shop FROM old_visit WHERE price > 50
SELECT id FROM shop INTERSECT (SELECT shop FROM visit WHERE is_open UNION SELECT shop FROM old_visit WHERE price > 50)
SELECT id FROM shop INTERSECT SELECT shop FROM visit INTERSECT SELECT shop FROM old_visit
SELECT id FROM shop INTERSECT (SELECT shop FROM visit INTERSECT (SELECT shop FROM old_visit UNION SELECT id + 1 FROM shop)) INTERSECT SELECT id FROM shop WHERE id > 3
SELECT count(*) FROM (SELECT shop FROM visit EXCEPT SELECT id FROM shop WHERE id % 2 = 0 EXCEPT SELECT shop FROM old_visit WHERE price > 90) AS u
SELECT shop FROM visit UNION ALL SELECT shop FROM old_visit EXCEPT SELECT id FROM shop
SELECT id FROM shop UNION SELECT shop FROM visit UNION ALL SELECT shop FROM old_visit WHERE id < 10
SELECT id FROM visit UNION SELECT id FROM old_visit
SELECT ratio FROM visit UNION SELECT ratio FROM old_visit
SELECT price FROM visit UNION SELECT price FROM old_visit
SELECT loose FROM visit UNION SELECT price FROM old_visit
SELECT day FROM visit EXCEPT SELECT day FROM old_visit
SELECT shop FROM visit EXCEPT SELECT shop FROM empty
SELECT shop FROM empty EXCEPT SELECT shop FROM visit
SELECT shop FROM visit UNION SELECT shop FROM plain
SELECT kind, count(*) FROM shop WHERE id IN (SELECT shop FROM visit WHERE is_open UNION SELECT shop FROM old_visit WHERE price > 50) GROUP BY 1
WITH u AS (SELECT shop FROM visit INTERSECT SELECT shop FROM old_visit) SELECT s.kind, count(*) FROM shop s JOIN u ON u.shop = s.id GROUP BY 1
WITH c AS (SELECT shop AS k FROM visit WHERE is_open) SELECT count(*) FROM (SELECT k FROM c UNION SELECT shop FROM old_visit) AS u
SELECT name, count(*) FROM (SELECT shop, name FROM visit UNION SELECT shop, name FROM old_visit) AS u GROUP BY 1 HAVING count(*) > 3
SELECT shop FROM parted UNION SELECT id FROM shop
SELECT id, (SELECT count(*) FROM (SELECT name FROM visit v WHERE v.shop = s.id UNION SELECT name FROM old_visit) AS u) FROM shop s WHERE id < 4
WITH RECURSIVE r AS (SELECT id FROM shop WHERE id < 3 UNION SELECT r.id + 20 FROM r WHERE r.id < 70) SELECT count(*), sum(id) FROM r
-- PostgreSQL's own: rows that are there several times, of a recursion that might not end, what is ordered or grouped inside.
WITH RECURSIVE r AS (SELECT id FROM shop WHERE id < 3 UNION ALL SELECT id FROM r WHERE id < 0) SELECT count(*) FROM visit v JOIN r ON r.id = v.shop
SELECT shop FROM visit INTERSECT ALL SELECT shop FROM old_visit
SELECT name::char(9) COLLATE "C" AS name FROM visit INTERSECT SELECT name::char(20) COLLATE "C" FROM old_visit
SELECT shop FROM visit EXCEPT ALL SELECT shop FROM old_visit
(SELECT shop FROM visit ORDER BY id LIMIT 9) UNION SELECT id FROM shop
SELECT shop FROM visit GROUP BY 1 HAVING count(*) > 50 UNION SELECT id FROM shop
SELECT id / 0 FROM shop UNION SELECT shop FROM visit
$list$);

-- INTERSECT ALL and EXCEPT ALL count rows, and give each as often, of types whose equal values look alike.
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT * FROM compare_all($list$
SELECT shop FROM visit INTERSECT ALL SELECT shop FROM old_visit
SELECT shop FROM visit EXCEPT ALL SELECT shop FROM old_visit
SELECT shop FROM old_visit EXCEPT ALL SELECT shop FROM visit
SELECT shop, name FROM visit INTERSECT ALL SELECT shop, name::text FROM old_visit
SELECT shop FROM visit EXCEPT ALL SELECT shop FROM old_visit EXCEPT ALL SELECT id FROM shop
SELECT shop FROM visit EXCEPT ALL (SELECT shop FROM old_visit UNION ALL SELECT id FROM shop)
(SELECT shop FROM visit UNION ALL SELECT id FROM shop) INTERSECT ALL SELECT shop FROM old_visit
SELECT shop FROM visit EXCEPT ALL (SELECT shop FROM old_visit UNION SELECT id FROM shop)
SELECT shop FROM visit EXCEPT ALL SELECT shop FROM old_visit EXCEPT SELECT id FROM shop
SELECT shop FROM visit EXCEPT ALL SELECT DISTINCT shop FROM old_visit
SELECT shop FROM visit INTERSECT ALL SELECT shop FROM old_visit INTERSECT ALL SELECT shop FROM visit
SELECT shop FROM visit WHERE id < 0 INTERSECT ALL SELECT shop FROM old_visit
SELECT shop FROM empty EXCEPT ALL SELECT shop FROM visit
SELECT shop FROM visit EXCEPT ALL SELECT shop FROM empty
SELECT shop AS s, day FROM visit INTERSECT ALL SELECT shop, day + 365 FROM old_visit ORDER BY s DESC, day LIMIT 7
SELECT count(*), sum(shop) FROM (SELECT shop FROM visit EXCEPT ALL SELECT shop FROM old_visit) AS u
SELECT kind, (SELECT count(*) FROM (SELECT shop FROM visit WHERE visit.shop = s.id EXCEPT ALL SELECT shop FROM old_visit WHERE price > s.kind) AS u) FROM shop s WHERE id < 9
WITH v AS MATERIALIZED (SELECT shop FROM visit WHERE is_open) SELECT shop FROM v EXCEPT ALL SELECT shop FROM old_visit
SELECT price FROM visit EXCEPT ALL SELECT price FROM old_visit
SELECT ratio FROM visit INTERSECT ALL SELECT ratio FROM old_visit
SELECT short FROM visit EXCEPT ALL SELECT short FROM visit WHERE is_open
(SELECT shop FROM visit ORDER BY id LIMIT 50) INTERSECT ALL SELECT shop FROM old_visit
$list$);
RESET enable_seqscan;
RESET enable_bitmapscan;

-- Members that are groups, distinct rows or rows with windows, which the same request computes.
EXPLAIN (COSTS OFF) SELECT shop, sum(total), count(*) FROM (SELECT shop, sum(price) AS total FROM visit GROUP BY shop UNION ALL SELECT shop, sum(price) FROM old_visit GROUP BY shop) AS u GROUP BY 1;
SELECT * FROM compare_all($list$
SELECT shop, sum(total), count(*) FROM (SELECT shop, sum(price) AS total FROM visit GROUP BY shop UNION ALL SELECT shop, sum(price) FROM old_visit GROUP BY shop) AS u GROUP BY 1
SELECT kind, source, max(total) FROM (SELECT 'new' AS source, shop, count(*) AS total FROM visit WHERE is_open GROUP BY shop HAVING count(*) > 3 UNION ALL SELECT 'old', shop, count(*) FROM old_visit GROUP BY shop UNION ALL SELECT 'row', shop, id FROM old_visit WHERE id < 40) AS u JOIN shop ON shop.id = u.shop GROUP BY 1, 2
SELECT count(*), sum(shop) FROM (SELECT DISTINCT shop FROM visit UNION ALL SELECT DISTINCT shop FROM old_visit) AS u
SELECT shop, sum(n) FROM (SELECT shop, row_number() OVER (PARTITION BY shop ORDER BY id) AS n FROM visit UNION ALL SELECT shop, count(*) FROM old_visit GROUP BY shop) AS u WHERE n < 20 GROUP BY 1
SELECT * FROM (SELECT shop, avg(price) AS a FROM visit GROUP BY shop UNION ALL SELECT shop, avg(price) FROM old_visit GROUP BY shop) AS u ORDER BY a DESC NULLS LAST, shop LIMIT 9
SELECT a.shop, a.total, b.total FROM (SELECT * FROM (SELECT 'n' AS s, shop, sum(price) AS total FROM visit GROUP BY shop UNION ALL SELECT 'o', shop, sum(price) FROM old_visit GROUP BY shop) AS x WHERE s = 'n') AS a JOIN (SELECT shop, sum(price) AS total FROM old_visit GROUP BY shop) AS b ON a.shop = b.shop WHERE a.total > b.total
SELECT count(*), max(total) FROM (SELECT count(*) AS total FROM visit UNION ALL SELECT count(*) FROM old_visit) AS u
SELECT count(*) FROM ((SELECT DISTINCT ON (shop) shop, id::int8 AS id FROM visit ORDER BY shop, visit.id DESC) UNION ALL SELECT shop, id FROM old_visit) AS u WHERE id > 100
SELECT shop, count(*) FROM visit GROUP BY shop UNION SELECT shop, count(*) FROM old_visit GROUP BY shop
SELECT shop FROM visit GROUP BY shop HAVING count(*) > 40 INTERSECT SELECT shop FROM old_visit GROUP BY shop HAVING sum(price) > 100
SELECT shop, max(day) FROM visit GROUP BY shop EXCEPT SELECT id, NULL FROM shop EXCEPT SELECT shop, max(day) FROM old_visit GROUP BY shop
SELECT shop, avg(price) FROM visit GROUP BY shop UNION SELECT shop, price FROM old_visit WHERE id < 9 ORDER BY 2 DESC NULLS LAST, 1 LIMIT 7
SELECT count(*), max(n) FROM (SELECT shop, count(*) AS n FROM visit GROUP BY shop INTERSECT SELECT shop, count(*) FROM visit WHERE is_open GROUP BY shop) AS u
SELECT shop, count(*) FROM visit GROUP BY shop UNION SELECT NULL, count(*) FROM old_visit
SELECT shop, count(*) FROM (SELECT shop, day FROM visit GROUP BY shop, day LIMIT 5) AS u GROUP BY 1 HAVING count(*) > 100
$list$);
DROP FUNCTION compare, compare_all, who_answers, answer_of;
DROP VIEW every_visit;
DROP TABLE visit, old_visit, shop, plain, empty, parted;
