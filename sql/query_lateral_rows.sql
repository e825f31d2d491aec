-- LATERAL subqueries of the first rows that equal a row: the rows of all keys are numbered in their order, which GpuQuery gives them in, and joined by the key.
-- Each statement is run with the node and without it.
SET pg_gpu.path = host;
SET pg_gpu.min_mirror_entries = 0;
SET max_parallel_workers_per_gather = 0;

CREATE TABLE visit (id int4, shop int4, kind text, paid numeric(9,2), day date, other text) WITH (autovacuum_enabled = off);
INSERT INTO visit SELECT i, CASE WHEN i % 11 > 0 THEN i * 7 % 60 END, 'kind ' || i % 5, (i * 7919 % 3001) / 4.0, date '2026-01-01' + i % 90, 'other ' || i FROM generate_series(1, 6000) AS i;
INSERT INTO visit SELECT i, 100, 'kind 0', 5, NULL, NULL FROM generate_series(6001, 6003) AS i;
CREATE INDEX visit_i ON visit USING gpu_column (id, shop, kind, paid, day);
CREATE TABLE store (id int4 PRIMARY KEY, city text, favourite text) WITH (autovacuum_enabled = off);
INSERT INTO store SELECT i, 'city ' || i % 4, 'kind ' || i % 3 FROM generate_series(0, 69) AS i;
INSERT INTO store VALUES (100, NULL, 'kind 0');
VACUUM ANALYZE visit, store;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set plan_of :source '/test/regress/plan_of.sql'
\set ECHO none
\i :compare
\i :plan_of
\set ECHO all

SELECT * FROM pg_temp.plan_of('SELECT s.id, l.id FROM store s CROSS JOIN LATERAL (SELECT id FROM visit v WHERE v.shop = s.id ORDER BY paid DESC, id LIMIT 3) AS l') WHERE plan ~ 'WindowAgg|GpuQuery|Limit|Join|Sort Key';
SELECT * FROM pg_temp.plan_of('SELECT s.id, l.id FROM store s LEFT JOIN LATERAL (SELECT id FROM visit v WHERE v.shop = s.id LIMIT 3 OFFSET 1) AS l ON l.id > 5') WHERE plan ~ 'WindowAgg|GpuQuery|Limit|Join|Sort Key';

SELECT * FROM compare_all($list$
SELECT s.id, l.id FROM store s, LATERAL (SELECT id FROM visit v WHERE v.shop = s.id ORDER BY paid DESC, id LIMIT 3) AS l
SELECT s.id, l.* FROM store s CROSS JOIN LATERAL (SELECT id, paid, day FROM visit v WHERE v.shop = s.id AND v.paid > 200 ORDER BY day NULLS FIRST, id DESC LIMIT 2 OFFSET 1) AS l
SELECT s.id, l.* FROM store s LEFT JOIN LATERAL (SELECT id, paid FROM visit v WHERE s.id = v.shop AND v.kind = s.favourite ORDER BY paid, id LIMIT 2) AS l ON true
SELECT s.id, l.* FROM store s LEFT JOIN LATERAL (SELECT id, paid FROM visit v WHERE s.id = v.shop ORDER BY paid, id LIMIT 2) AS l ON l.paid > 20 AND s.city <> 'city 1'
SELECT s.id, l.* FROM store s JOIN LATERAL (SELECT id AS v_id, upper(kind) AS k FROM visit v WHERE s.id = v.shop ORDER BY kind, id DESC LIMIT 1) AS l ON l.v_id % 2 = 0 WHERE s.id < 50
SELECT s.city, count(*), sum(l.paid) FROM store s, LATERAL (SELECT paid FROM visit v WHERE v.shop = s.id ORDER BY paid DESC LIMIT 3) AS l GROUP BY s.city
SELECT s.id, a.x, b.y FROM store s, LATERAL (SELECT id AS x FROM visit v WHERE v.shop = s.id ORDER BY id LIMIT 1) AS a, LATERAL (SELECT id AS y FROM visit v WHERE v.shop = s.id ORDER BY id DESC LIMIT 2) AS b
SELECT s.id, t.id, l.id FROM store s JOIN store t ON s.id = t.id + 1 CROSS JOIN LATERAL (SELECT v.id FROM visit v WHERE v.shop = t.id AND v.kind = s.favourite ORDER BY id LIMIT 2) AS l
SELECT s.id, t.id, l.id FROM store s, store t LEFT JOIN LATERAL (SELECT v.id FROM visit v WHERE v.shop = s.id ORDER BY id LIMIT 2) AS l ON true WHERE t.id = s.id + 1
SELECT s.id, l.id FROM store s CROSS JOIN LATERAL (SELECT v.id FROM visit v JOIN store t ON t.id = v.shop WHERE t.id = s.id AND t.city = 'city 2' ORDER BY v.paid, v.id LIMIT 2) AS l
SELECT s.id, l.id FROM (SELECT id FROM store UNION ALL SELECT 5) AS s, LATERAL (SELECT id FROM visit v WHERE v.shop = s.id ORDER BY paid DESC, id LIMIT 3) AS l
SELECT count(*), count(l.id) FROM store s LEFT JOIN LATERAL (SELECT id FROM visit v WHERE v.shop = s.id LIMIT 4) AS l ON true
SELECT s.id, l.first, l.b FROM store s, LATERAL (SELECT id, paid FROM visit v WHERE v.shop = s.id ORDER BY paid DESC, id LIMIT 2) AS l (first, b)
SELECT city, (SELECT sum(l.id) FROM store t, LATERAL (SELECT id FROM visit v WHERE v.shop = t.id ORDER BY id LIMIT 2) AS l WHERE t.city = s.city) FROM store s
SELECT * FROM (SELECT s.id, l.id AS v FROM store s, LATERAL (SELECT id FROM visit v WHERE v.shop = s.id ORDER BY paid DESC, id LIMIT 3) AS l) AS q WHERE v > 3000
WITH s AS MATERIALIZED (SELECT id FROM store WHERE city = 'city 3') SELECT s.id, l.id FROM s, LATERAL (SELECT id FROM visit v WHERE v.shop = s.id ORDER BY paid DESC, id LIMIT 3) AS l
SELECT s.id, l.d FROM store s, LATERAL (SELECT day AS d FROM visit v WHERE v.shop = s.id AND v.day = '2026-01-04' ORDER BY id LIMIT 3) AS l
-- Those that stay as they are.
SELECT s.id, l FROM store s, LATERAL (SELECT id, paid FROM visit v WHERE v.shop = s.id ORDER BY paid DESC, id LIMIT 3) AS l
SELECT s.id, l.id FROM store s, LATERAL (SELECT id FROM visit v WHERE v.shop = s.id ORDER BY paid DESC, id LIMIT s.id % 3) AS l
SELECT s.id, l.id FROM store s, LATERAL (SELECT id FROM visit v WHERE v.shop > s.id ORDER BY paid DESC, id LIMIT 3) AS l
SELECT s.id, l.id FROM store s, LATERAL (SELECT id FROM visit v WHERE v.shop = s.id ORDER BY abs(paid - s.id), id LIMIT 3) AS l
SELECT s.id, l.x FROM store s, LATERAL (SELECT id + s.id AS x FROM visit v WHERE v.shop = s.id ORDER BY id LIMIT 3) AS l
SELECT s.id, l.x FROM store s, LATERAL (SELECT 10 / (id % 20) AS x FROM visit v WHERE v.shop = s.id ORDER BY id LIMIT 1) AS l WHERE s.id < 3
SELECT s.id, l.paid FROM store s, LATERAL (SELECT paid FROM visit v WHERE v.shop = s.id ORDER BY paid FETCH FIRST 2 ROWS WITH TIES) AS l
SELECT s.id, l.kind FROM store s, LATERAL (SELECT DISTINCT kind FROM visit v WHERE v.shop = s.id ORDER BY kind LIMIT 3) AS l
SELECT s.id, l.id FROM store s, LATERAL (SELECT id FROM visit v WHERE v.shop = s.id ORDER BY id LIMIT 0) AS l
SELECT s.id, l.id FROM store s, LATERAL (SELECT id FROM visit v WHERE v.shop = s.id ORDER BY id LIMIT NULL) AS l WHERE s.id = 3
SELECT s.id, l.other FROM store s, LATERAL (SELECT other FROM visit v WHERE v.shop = s.id ORDER BY id LIMIT 2) AS l WHERE s.id = 3
$list$);
DROP TABLE visit, store;
DROP FUNCTION compare_all, compare, who_answers, answer_of;
