-- GpuQuery joins tables in all ways that there are: inner, outer, semi and anti joins with further conditions, chains of tables, the same table in two roles, and
-- what is computed and grouped above them. Each statement is run with the node and without it, and the answers are held against each other.
SET pg_gpu.path = host;
SET pg_gpu.min_mirror_entries = 0;
SET max_parallel_workers_per_gather = 0;
SET timezone = 'UTC';

-- Deliveries go from one place to another; people order them, more than once or never; goods have prices at several times; and some come back.
CREATE TABLE delivery (id int4, person int4, good int8, origin int2, target int2, day date, moment timestamp, weight numeric(8,2), price numeric, ratio float8, note text, code char(4), express bool) WITH (autovacuum_enabled = off);
CREATE TABLE person (id int4, boss int4, name text, town int2, born date, credit numeric(10,3), kind char(4)) WITH (autovacuum_enabled = off);
CREATE TABLE place (id int2, region text, population int4, note text) WITH (autovacuum_enabled = off);
CREATE TABLE good (id int8, since date, until date, price numeric, name text COLLATE "C", parent int8) WITH (autovacuum_enabled = off);
CREATE TABLE returned (delivery int4, day date, reason text, share float8) WITH (autovacuum_enabled = off);
CREATE TABLE nothing (id int4, name text, amount numeric, day date) WITH (autovacuum_enabled = off);
INSERT INTO delivery
SELECT i, CASE WHEN i % 13 > 0 THEN i * 7 % 900 END, CASE WHEN i % 17 > 0 THEN i * 11 % 260 END, i % 40, CASE WHEN i % 19 > 0 THEN i * 3 % 45 END, date '2024-01-01' + i % 366, timestamp '2024-01-01' + i * interval '97 minutes',
       i % 700 / 8.0, CASE i % 3 WHEN 0 THEN i % 50 WHEN 1 THEN (i % 50)::numeric(6,1) ELSE (i % 50 / 4.0)::numeric(6,2) END, CASE WHEN i % 23 > 0 THEN i % 300 / 4.0 END,
       (ARRAY['fast', 'late', '', 'lost', NULL])[1 + i % 5], (ARRAY['a', 'b', 'c'])[1 + i % 3], i % 4 = 0
FROM generate_series(1, 6000) AS i;
INSERT INTO person
SELECT i, CASE WHEN i % 10 > 0 THEN i / 10 END, CASE WHEN i % 29 > 0 THEN 'name ' || i % 211 END, i % 50, date '1950-01-01' + i * 20, CASE WHEN i % 7 > 0 THEN i * 1.125 - 400 END, (ARRAY['a', 'b', 'd'])[1 + i % 3]
FROM generate_series(0, 999) AS i;
INSERT INTO person SELECT id, boss, name || ' again', town, born, credit, kind FROM person WHERE id % 9 = 0;
INSERT INTO place SELECT i, CASE WHEN i % 8 > 0 THEN 'region ' || i % 6 END, i * i * 1000, CASE WHEN i % 5 > 0 THEN (ARRAY['fast', 'late', '', 'other'])[1 + i % 4] END FROM generate_series(0, 47) AS i;
INSERT INTO place VALUES (NULL, 'nowhere', NULL, NULL), (7, 'second', 7, 'fast');
INSERT INTO good SELECT i % 280, date '2024-01-01' + j * 120, date '2024-01-01' + j * 120 + 119, i * 1.5 + j, 'good ' || i % 97, CASE WHEN i % 4 > 0 THEN i / 4 END FROM generate_series(0, 279) AS i, generate_series(0, 3) AS j;
INSERT INTO good (id, name) VALUES (NULL, 'lost'), (NULL, NULL);
INSERT INTO returned SELECT i * 5 % 7000, date '2024-01-03' + i % 366, 'reason ' || i % 9, i % 9 / 8.0 FROM generate_series(1, 2500) AS i;
CREATE INDEX delivery_i ON delivery USING gpu_column (id, person, good, origin, target, day, moment, weight, price, ratio, note, code, express);
CREATE INDEX person_i ON person USING gpu_column (id, boss, name, town, born, credit, kind);
CREATE INDEX place_i ON place USING gpu_column (id, region, population, note);
CREATE INDEX good_i ON good USING gpu_column (id, since, until, price, name, parent);
CREATE INDEX returned_i ON returned USING gpu_column (delivery, day, reason, share);
CREATE INDEX nothing_i ON nothing USING gpu_column (id, name, amount, day);
VACUUM ANALYZE delivery, person, place, good, returned, nothing;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set rows_of :source '/test/regress/rows_of.sql'
\set ECHO none
\i :compare
\i :rows_of
-- Also in the same order.
CREATE FUNCTION compare_ordered(query text, OUT who text, OUT rows int, OUT same text) LANGUAGE plpgsql AS $$
DECLARE
    by_node text[];
BEGIN
    who := who_answers(query);
    by_node := rows_of(query);
    SET LOCAL pg_gpu.enable_query = off;
    rows := cardinality(by_node);
    same := CASE WHEN by_node = rows_of(query) THEN 'same' ELSE format('%s instead of %s', by_node, rows_of(query)) END;
    SET LOCAL pg_gpu.enable_query = on;
END $$;
\set ECHO all

-- Two tables.
SELECT * FROM compare_all($list$
SELECT count(*) FROM delivery d JOIN person p ON d.person = p.id
SELECT count(*), count(p.name), sum(d.weight), avg(p.credit), min(p.born), max(d.note) FROM delivery d JOIN person p ON d.person = p.id
SELECT p.kind, d.code, count(*), sum(d.weight * p.credit) FROM delivery d JOIN person p ON d.person = p.id GROUP BY 1, 2
SELECT p.name, sum(d.price), min(d.day) FROM delivery d, person p WHERE d.person = p.id AND p.town < 10 GROUP BY p.name
SELECT d.note, count(*), sum(p.credit) FROM delivery d JOIN person p ON d.person = p.id AND d.day > p.born + 20000 GROUP BY 1
SELECT d.day - p.born > 20000, count(*) FROM delivery d JOIN person p ON d.person = p.id GROUP BY 1
SELECT count(*), sum(g.price) FROM delivery d JOIN good g ON d.good = g.id AND d.day BETWEEN g.since AND g.until
SELECT g.name, count(*), sum(g.price - d.price) FROM delivery d JOIN good g ON d.good = g.id AND d.day >= g.since AND d.day <= g.until GROUP BY 1
SELECT count(*) FROM delivery d JOIN person p ON d.person = p.id AND (d.code = p.kind OR d.weight > p.credit)
SELECT count(*) FROM delivery d JOIN person p ON d.person = p.id AND NOT (d.code = p.kind AND d.express)
SELECT count(*) FROM delivery d JOIN place o ON d.origin = o.id AND d.note = o.note
SELECT count(*) FROM delivery d JOIN place o ON d.origin = o.id WHERE d.note > o.note
SELECT o.region, d.express, count(*) FROM delivery d JOIN place o ON d.origin = o.id WHERE o.population > 5000 AND d.weight < 40 AND o.region IS NOT NULL GROUP BY 1, 2
SELECT count(*) FROM delivery d JOIN place o ON d.origin < o.id AND o.population > d.id * 300
SELECT count(*), sum(o.population) FROM delivery d, place o WHERE d.id < 500
SELECT count(*) FROM person p, place o WHERE p.credit > o.population
SELECT count(*) FROM delivery d JOIN person p ON true WHERE d.id < 5
SELECT count(*) FROM delivery d JOIN person p ON false
SELECT p.town, count(*) FROM delivery d JOIN person p ON d.person = p.id WHERE p.id = 45 GROUP BY 1
SELECT count(*) FROM delivery d JOIN person p ON d.person = p.id WHERE d.person = 45 AND p.name IS NOT NULL
SELECT count(*) FROM delivery d JOIN person p ON d.person = p.id WHERE p.id IN (7, 14, 27, 100000)

-- Outer joins: conditions in ON keep rows that conditions in WHERE remove.
SELECT p.kind, count(*), count(d.id), sum(d.weight) FROM person p LEFT JOIN delivery d ON d.person = p.id GROUP BY 1
SELECT p.kind, count(*), count(d.id), sum(d.weight) FROM person p LEFT JOIN delivery d ON d.person = p.id AND d.express GROUP BY 1
SELECT p.kind, count(*), count(d.id), sum(d.weight) FROM person p LEFT JOIN delivery d ON d.person = p.id AND p.town > 20 GROUP BY 1
SELECT p.kind, count(*), count(d.id), sum(d.weight) FROM person p LEFT JOIN delivery d ON d.person = p.id AND d.weight > p.credit GROUP BY 1
SELECT p.kind, count(*), count(d.id), sum(d.weight) FROM person p LEFT JOIN delivery d ON d.person = p.id WHERE d.express GROUP BY 1
SELECT p.kind, count(*), count(d.id), sum(d.weight) FROM person p LEFT JOIN delivery d ON d.person = p.id WHERE d.express IS NOT TRUE GROUP BY 1
SELECT p.kind, count(*), sum(coalesce(d.weight, 0)) FROM person p LEFT JOIN delivery d ON d.person = p.id WHERE d.id IS NULL OR d.id % 3 = 0 GROUP BY 1
SELECT p.kind, count(*) FROM person p LEFT JOIN delivery d ON d.person = p.id WHERE d.id IS NULL GROUP BY 1
SELECT p.kind, count(*), count(d.id), max(d.note) FROM person p LEFT JOIN delivery d ON d.person = p.id WHERE d.id IS NULL GROUP BY 1
SELECT d.note, coalesce(d.code, p.kind), count(*) FROM person p LEFT JOIN delivery d ON d.person = p.id AND d.express WHERE d.id IS NULL GROUP BY 1, 2
SELECT count(*), count(p.id), count(o.id) FROM person p LEFT JOIN place o ON p.town = o.id AND o.population > 1000000 AND p.credit > 0
SELECT o.region, count(*), count(d.id) FROM delivery d RIGHT JOIN place o ON d.target = o.id GROUP BY 1
SELECT o.region, count(*), count(d.id) FROM delivery d RIGHT JOIN place o ON d.target = o.id AND d.note = 'lost' WHERE o.population IS NOT NULL GROUP BY 1
SELECT o.region, d.code, count(*), count(d.id), count(o.id) FROM delivery d FULL JOIN place o ON d.target = o.id GROUP BY 1, 2
SELECT o.region, count(*), count(d.id), count(o.id) FROM delivery d FULL JOIN place o ON d.target = o.id AND d.express AND o.population > 9000 GROUP BY 1
SELECT coalesce(o.region, d.note, 'neither'), count(*) FROM delivery d FULL JOIN place o ON d.target = o.id AND d.note < o.note WHERE d.weight > 30 OR d.id IS NULL GROUP BY 1
SELECT count(*), count(d.id), count(r.delivery) FROM delivery d FULL JOIN returned r ON d.id = r.delivery AND r.day > d.day
SELECT count(*) FROM (SELECT * FROM delivery WHERE express) d FULL JOIN (SELECT * FROM returned WHERE share > 0.5) r ON d.id = r.delivery WHERE d.id IS NULL OR r.delivery IS NULL
SELECT count(*), count(o.id) FROM delivery d LEFT JOIN place o ON d.origin > o.id + 30
SELECT count(*), count(o.id) FROM delivery d LEFT JOIN place o ON true WHERE d.id < 100
SELECT count(*), count(o.id) FROM delivery d LEFT JOIN place o ON false
SELECT count(*), count(o.id) FROM delivery d LEFT JOIN place o ON d.express WHERE d.id < 300
SELECT x.one, count(*) FROM delivery d LEFT JOIN (SELECT id, 1 AS one FROM place) AS x ON d.target = x.id GROUP BY 1
SELECT x.region, count(*) FROM delivery d LEFT JOIN (SELECT id, coalesce(region, 'no region') AS region FROM place) AS x ON d.target = x.id GROUP BY 1

-- Semi and anti joins.
SELECT d.code, count(*), sum(d.weight) FROM delivery d WHERE EXISTS (SELECT FROM returned r WHERE r.delivery = d.id) GROUP BY 1
SELECT d.code, count(*), sum(d.weight) FROM delivery d WHERE NOT EXISTS (SELECT FROM returned r WHERE r.delivery = d.id) GROUP BY 1
SELECT d.code, count(*), sum(d.weight) FROM delivery d WHERE EXISTS (SELECT FROM returned r WHERE r.delivery = d.id AND r.day > d.day AND r.share > 0.2) GROUP BY 1
SELECT d.code, count(*), sum(d.weight) FROM delivery d WHERE NOT EXISTS (SELECT FROM returned r WHERE r.delivery = d.id AND r.share * 100 > d.ratio) GROUP BY 1
SELECT count(*) FROM person p WHERE p.id IN (SELECT person FROM delivery WHERE express AND weight > 80)
SELECT count(*) FROM person p WHERE p.id NOT IN (SELECT person FROM delivery WHERE express AND weight > 80)
SELECT count(*) FROM person p WHERE p.id NOT IN (SELECT person FROM delivery WHERE person IS NOT NULL AND weight > 50)
SELECT count(*) FROM person p WHERE EXISTS (SELECT FROM delivery d WHERE d.person = p.id AND d.express) AND NOT EXISTS (SELECT FROM delivery d WHERE d.person = p.id AND d.note = 'lost')
SELECT count(*) FROM delivery d WHERE d.weight > 10 AND EXISTS (SELECT FROM place o WHERE o.id < d.origin AND o.note = d.note)
SELECT count(*) FROM delivery d WHERE NOT EXISTS (SELECT FROM delivery e WHERE e.person = d.person AND e.id <> d.id AND e.day > d.day)
SELECT count(*) FROM place o WHERE EXISTS (SELECT FROM delivery d JOIN person p ON d.person = p.id WHERE d.target = o.id AND p.town = o.id)
SELECT count(*) FROM delivery d WHERE d.person IN (SELECT p.id FROM person p WHERE p.town IN (SELECT id FROM place WHERE region = 'region 3'))

-- Chains, stars, and tables in two roles.
SELECT o.region, t.region, count(*), sum(d.weight) FROM delivery d JOIN place o ON d.origin = o.id JOIN place t ON d.target = t.id GROUP BY 1, 2
SELECT o.region, count(*), count(t.id) FROM delivery d JOIN place o ON d.origin = o.id LEFT JOIN place t ON d.target = t.id AND t.region <> o.region GROUP BY 1
SELECT b.name, count(*), sum(d.weight) FROM delivery d JOIN person p ON d.person = p.id JOIN person b ON p.boss = b.id WHERE b.id < 30 GROUP BY 1
SELECT h.region, count(*), sum(d.price) FROM delivery d JOIN person p ON d.person = p.id JOIN place h ON p.town = h.id WHERE d.target = h.id GROUP BY 1
SELECT h.region, t.region, g.name < 'good 5', count(*), max(r.share) FROM delivery d JOIN person p ON d.person = p.id JOIN place h ON p.town = h.id JOIN place t ON d.target = t.id LEFT JOIN good g ON d.good = g.id AND d.day BETWEEN g.since AND g.until LEFT JOIN returned r ON r.delivery = d.id GROUP BY 1, 2, 3
SELECT b.kind, h.region, count(*), count(DISTINCT p.id) FROM person p LEFT JOIN person b ON p.boss = b.id LEFT JOIN place h ON b.town = h.id GROUP BY 1, 2
SELECT c.kind, count(*) FROM person a JOIN person b ON a.boss = b.id JOIN person c ON b.boss = c.id GROUP BY 1
SELECT count(*) FROM delivery a JOIN delivery b ON a.person = b.person AND a.day < b.day WHERE a.note = 'lost' AND b.express
SELECT p.kind, count(*) FROM person p JOIN (delivery d JOIN returned r ON r.delivery = d.id) ON d.person = p.id GROUP BY 1
SELECT p.kind, count(*), count(d.id), count(r.day) FROM person p LEFT JOIN (delivery d JOIN returned r ON r.delivery = d.id) ON d.person = p.id AND r.share > 0.5 GROUP BY 1
SELECT p.kind, count(*), count(d.id), count(r.day) FROM person p LEFT JOIN (delivery d LEFT JOIN returned r ON r.delivery = d.id AND r.day > d.day) ON d.person = p.id WHERE coalesce(r.share, 0) < 0.5 GROUP BY 1
SELECT h.region, count(*), count(p.id), count(d.id) FROM place h FULL JOIN person p ON p.town = h.id FULL JOIN delivery d ON d.person = p.id GROUP BY 1
SELECT count(*) FROM delivery d JOIN person p ON d.person = p.id JOIN place o ON d.origin = o.id JOIN place t ON d.target = t.id JOIN place h ON p.town = h.id JOIN good g ON d.good = g.id WHERE d.weight > 40 AND g.price > 100
SELECT count(*) FROM delivery d JOIN person p ON d.person = p.id AND d.origin = p.town JOIN place o ON o.id = p.town AND o.id = d.origin
SELECT count(*) FROM delivery d JOIN place o ON d.origin = o.id JOIN place t ON d.target = t.id AND o.population < t.population WHERE EXISTS (SELECT FROM returned r WHERE r.delivery = d.id) AND d.person NOT IN (SELECT boss FROM person WHERE boss IS NOT NULL)

-- Empty sides, and conditions that no row fulfils.
SELECT count(*), sum(n.amount), max(d.note) FROM delivery d JOIN nothing n ON d.person = n.id
SELECT d.code, count(*), sum(n.amount) FROM delivery d JOIN nothing n ON d.person = n.id GROUP BY 1
SELECT d.code, count(*), count(n.id), max(n.name) FROM delivery d LEFT JOIN nothing n ON d.person = n.id GROUP BY 1
SELECT d.code, count(*), count(n.id) FROM nothing n LEFT JOIN delivery d ON d.person = n.id GROUP BY 1
SELECT count(*), count(n.id) FROM nothing n FULL JOIN delivery d ON d.person = n.id
SELECT count(*) FROM delivery d WHERE EXISTS (SELECT FROM nothing n WHERE n.id = d.person)
SELECT count(*) FROM delivery d WHERE NOT EXISTS (SELECT FROM nothing n WHERE n.id = d.person)
SELECT count(*) FROM delivery d WHERE d.person NOT IN (SELECT id FROM nothing)
SELECT count(*), max(a.name) FROM nothing a JOIN nothing b ON a.id = b.id LEFT JOIN nothing c ON b.id = c.id
SELECT count(*) FROM nothing n, delivery d
SELECT count(*) FROM delivery d JOIN person p ON d.person = p.id WHERE d.id < 0
SELECT p.kind, count(*), count(d.id) FROM person p LEFT JOIN delivery d ON d.person = p.id AND d.id < 0 GROUP BY 1
SELECT p.kind, count(*) FROM delivery d JOIN person p ON d.person = p.id WHERE p.name = 'nobody' GROUP BY 1
SELECT count(*), count(d.id), count(p.id) FROM (SELECT * FROM delivery WHERE id < 0) d FULL JOIN (SELECT * FROM person WHERE id < 0) p ON d.person = p.id
SELECT count(*) FROM delivery d JOIN person p ON d.person = p.id AND d.code = p.kind AND d.code <> p.kind
SELECT count(*) FROM delivery d JOIN person p ON d.person = p.id WHERE d.person IS NULL
$list$);

-- What is computed of joined rows.
SELECT * FROM compare_all($list$
SELECT o.region, count(*) FILTER (WHERE d.express), sum(d.weight) FILTER (WHERE o.population > 100000), avg(d.ratio) FILTER (WHERE d.note = o.note) FROM delivery d JOIN place o ON d.origin = o.id GROUP BY 1
SELECT o.region, count(DISTINCT d.person), count(DISTINCT d.note), sum(DISTINCT o.population) FROM delivery d JOIN place o ON d.origin = o.id GROUP BY 1
SELECT p.kind, percentile_cont(0.5) WITHIN GROUP (ORDER BY d.ratio), percentile_disc(0.9) WITHIN GROUP (ORDER BY p.credit), mode() WITHIN GROUP (ORDER BY d.note) FROM delivery d JOIN person p ON d.person = p.id GROUP BY 1
SELECT p.kind, count(*), sum(d.weight) FROM delivery d JOIN person p ON d.person = p.id GROUP BY 1 HAVING sum(d.weight) > 80000 AND min(p.credit) < 0
SELECT CASE WHEN d.weight > p.credit THEN 'heavy' WHEN p.credit IS NULL THEN d.note ELSE p.name END, count(*) FROM delivery d JOIN person p ON d.person = p.id GROUP BY 1
SELECT coalesce(o.note, d.note, 'none'), greatest(d.origin, o.population), count(*) FROM delivery d JOIN place o ON d.origin = o.id GROUP BY 1, 2
SELECT sum(CASE WHEN o.region = 'region 1' THEN d.weight * 2 ELSE o.population END) FROM delivery d JOIN place o ON d.origin = o.id
SELECT d.note = o.note, d.note < o.note, count(*) FROM delivery d JOIN place o ON d.origin = o.id GROUP BY 1, 2
SELECT extract(year FROM age(d.day, p.born)), count(*) FROM delivery d JOIN person p ON d.person = p.id WHERE p.id < 50 GROUP BY 1
SELECT date_trunc('month', d.moment), o.region, sum(d.price) FROM delivery d JOIN place o ON d.origin = o.id GROUP BY 1, 2
SELECT d.note || '/' || o.region, count(*) FROM delivery d JOIN place o ON d.origin = o.id GROUP BY 1
SELECT upper(o.region), length(d.note), count(*) FROM delivery d JOIN place o ON d.origin = o.id GROUP BY 1, 2
SELECT sum(d.price * g.price), avg(d.price - g.price), stddev(g.price), max(d.weight * g.price) FROM delivery d JOIN good g ON d.good = g.id AND d.day BETWEEN g.since AND g.until
SELECT round(sum(d.ratio)::numeric, 6), max(d.ratio * r.share), min(r.share) FROM delivery d JOIN returned r ON r.delivery = d.id
SELECT DISTINCT o.region, d.code FROM delivery d JOIN place o ON d.origin = o.id
SELECT DISTINCT p.town FROM delivery d JOIN person p ON d.person = p.id WHERE d.weight > 85
SELECT o.region, d.code, grouping(o.region, d.code), count(*), sum(d.weight) FROM delivery d JOIN place o ON d.origin = o.id GROUP BY ROLLUP (1, 2)
SELECT o.region, d.code, count(*) FROM delivery d JOIN place o ON d.origin = o.id GROUP BY GROUPING SETS ((1), (2), ())
SELECT o.region, sum(count(*)) OVER (ORDER BY o.region), rank() OVER (ORDER BY sum(d.weight)) FROM delivery d JOIN place o ON d.origin = o.id GROUP BY 1
SELECT string_agg(DISTINCT o.region, ',' ORDER BY o.region), array_agg(DISTINCT d.code ORDER BY d.code) FROM delivery d JOIN place o ON d.origin = o.id
SELECT bool_or(d.express AND o.population > 2000000), bool_and(d.weight < o.population), bit_or(o.population # d.id) FROM delivery d JOIN place o ON d.origin = o.id
SELECT p.id, p.name, count(*), sum(d.weight) FROM delivery d JOIN person p ON d.person = p.id GROUP BY p.id, p.name
SELECT d.id, count(*), max(g.price) FROM delivery d JOIN good g ON d.good = g.id GROUP BY d.id
SELECT s.region, s.c, o.population FROM (SELECT o.region, count(*) AS c FROM delivery d JOIN place o ON d.origin = o.id GROUP BY 1) AS s JOIN place o ON o.region = s.region
SELECT max(c), count(*) FROM (SELECT p.id, count(d.id) AS c FROM person p LEFT JOIN delivery d ON d.person = p.id GROUP BY p.id) AS s
SELECT c, count(*) FROM (SELECT p.id, count(d.id) AS c FROM person p LEFT JOIN delivery d ON d.person = p.id AND d.note <> 'lost' GROUP BY p.id) AS s GROUP BY c
SELECT count(*) FROM delivery d JOIN person p ON d.person = p.id WHERE d.weight > (SELECT avg(weight) FROM delivery)
SELECT count(*), sum(d.weight) FROM delivery d JOIN place o ON d.origin = o.id WHERE d.weight < (SELECT 0.5 * avg(e.weight) FROM delivery e WHERE e.origin = o.id)
SELECT o.region, count(*) FROM delivery d JOIN place o ON d.origin = o.id WHERE o.region = ANY ('{region 1,region 2}') OR d.note LIKE 'l%' GROUP BY 1
SELECT count(*) FROM delivery d JOIN (SELECT id, max(price) AS most FROM good GROUP BY id) AS g ON d.good = g.id WHERE d.price * 5 > g.most
SELECT count(*) FROM delivery d JOIN (VALUES (1, 'one'), (2, 'two'), (2, 'also two')) AS v (n, name) ON d.origin = v.n
SELECT s.n, count(*) FROM delivery d JOIN generate_series(1, 10, 3) AS s (n) ON d.origin = s.n GROUP BY 1
WITH heavy AS MATERIALIZED (SELECT id FROM delivery WHERE weight > 60) SELECT count(*) FROM heavy h JOIN returned r ON r.delivery = h.id
SELECT (d.*)::text, count(*) FROM delivery d JOIN place o ON d.origin = o.id WHERE d.id < 20 GROUP BY 1
SELECT count(d), count(o.*) FROM delivery d LEFT JOIN place o ON d.target = o.id
SELECT d.ctid = '(0,1)', count(*) FROM delivery d JOIN place o ON d.origin = o.id GROUP BY 1
SELECT d.tableoid::regclass, count(*) FROM delivery d JOIN place o ON d.origin = o.id GROUP BY 1
SELECT count(*) FROM delivery d JOIN place o ON d.origin = o.id WHERE random() >= 0 AND o.population < 1000000
SELECT count(*) FROM delivery d TABLESAMPLE BERNOULLI (100) JOIN place o ON d.origin = o.id
$list$);
SELECT * FROM compare_all($list$
SELECT o.region, count(*) AS c FROM delivery d JOIN place o ON d.origin = o.id GROUP BY 1 ORDER BY c DESC, 1 LIMIT 3
SELECT o.region, count(*) AS c FROM delivery d JOIN place o ON d.origin = o.id GROUP BY 1 ORDER BY 1 NULLS FIRST OFFSET 2
SELECT p.name, p.id, sum(d.weight) AS w FROM delivery d JOIN person p ON d.person = p.id GROUP BY 1, 2 ORDER BY w DESC NULLS LAST, 2, 1 LIMIT 10
SELECT p.town, max(d.price) FROM delivery d RIGHT JOIN person p ON d.person = p.id GROUP BY 1 ORDER BY 2 DESC NULLS FIRST, 1 DESC FETCH FIRST 7 ROWS WITH TIES
SELECT DISTINCT o.region, t.region FROM delivery d JOIN place o ON d.origin = o.id JOIN place t ON d.target = t.id ORDER BY 2 DESC, 1 LIMIT 8
SELECT d.id, p.name, p.credit FROM delivery d JOIN person p ON d.person = p.id ORDER BY d.weight DESC, d.id, p.name LIMIT 9
$list$, 'compare_ordered');

-- Errors: of rows that are joined, and of none that a join or a condition removes.
SELECT * FROM compare_all($list$
SELECT sum(100 / (o.id - 5)) FROM delivery d JOIN place o ON d.origin = o.id
SELECT sum(100 / (o.id - 5)) FROM delivery d JOIN place o ON d.origin = o.id WHERE o.id > 5
SELECT sum(100 / (o.id - 45)) FROM delivery d JOIN place o ON d.origin = o.id
SELECT sum(100 / (d.id - 13)) FROM delivery d JOIN person p ON d.person = p.id
SELECT sum(100 / (d.id - 14)) FROM delivery d JOIN person p ON d.person = p.id
SELECT sum(100 / (d.id - 13)) FROM person p LEFT JOIN delivery d ON d.person = p.id
SELECT sum(CASE WHEN p.credit > 0 THEN d.weight / p.credit ELSE d.weight END) FROM delivery d JOIN person p ON d.person = p.id
SELECT sum(d.weight / nullif(p.credit, 0)) FROM delivery d JOIN person p ON d.person = p.id
SELECT sum(d.id * 3000000000 * g.id * 3000000) FROM delivery d JOIN good g ON d.good = g.id
SELECT sum(o.population * 1000) FROM delivery d JOIN place o ON d.origin = o.id
SELECT sum(o.population::int8 * 1000) FROM delivery d JOIN place o ON d.origin = o.id
SELECT count(*) FROM delivery d JOIN place o ON d.origin = o.id AND 10 / (d.id - 1000 + o.id) < 100
SELECT count(*) FROM delivery d JOIN place o ON d.origin = o.id AND 10 / (d.id + o.id) < 100
SELECT count(*) FROM delivery d LEFT JOIN place o ON d.target = o.id AND 10 / (d.id - 5 + o.id - o.id) < 100
SELECT count(*) FROM delivery d WHERE NOT EXISTS (SELECT FROM place o WHERE o.id = d.target AND 10 / (o.id - 46) < 5)
SELECT count(*) FROM delivery d WHERE EXISTS (SELECT FROM place o WHERE o.id = d.target AND 10 / (o.id - 44) < 5)
SELECT count(*) FROM delivery d JOIN place o ON d.origin = 10 / (o.id - 46)
SELECT count(*) FROM delivery d JOIN place o ON d.origin + 32760::int2 = o.id
SELECT max(d.day + o.population) FROM delivery d JOIN place o ON d.origin = o.id WHERE o.population < 1000
SELECT max(d.day + o.population * 1000) FROM delivery d JOIN place o ON d.origin = o.id
SELECT count(*), sum(x.q) FROM delivery d JOIN (SELECT id, 100 / (id - 46) AS q FROM place WHERE id <> 46) AS x ON d.origin = x.id
$list$);

-- Little memory for PostgreSQL, and results larger than both sides.
SET work_mem = '64kB';
SELECT * FROM compare_all($list$
SELECT p.name, count(*), sum(d.weight) FROM delivery d JOIN person p ON d.person = p.id GROUP BY 1
SELECT d.id, g.since, count(*) FROM delivery d JOIN good g ON d.good = g.id WHERE d.id % 4 = 1 GROUP BY 1, 2
SELECT count(*), sum(a.id - b.id) FROM delivery a JOIN delivery b ON a.origin = b.origin
SELECT a.code, count(*) FROM delivery a JOIN delivery b ON a.code = b.code AND a.origin = b.target WHERE a.id < 3000 GROUP BY 1
$list$);
RESET work_mem;

-- As many tables as pages promise.
CREATE TABLE link (id int4, name text) WITH (autovacuum_enabled = off);
INSERT INTO link SELECT i, 'name ' || i % 30 FROM generate_series(1, 4000) AS i;
CREATE INDEX link_i ON link USING gpu_column (id, name);
VACUUM ANALYZE link;
SELECT c.* FROM compare((SELECT 'SELECT count(*), max(t1.name) FROM ' || string_agg(CASE g WHEN 1 THEN 'link AS t1' ELSE format('JOIN link AS t%s ON t%s.id = t%s.id', g, g, g - 1) END, ' ' ORDER BY g)
                         FROM generate_series(1, 30) AS g)) AS c;
DROP TABLE link;
DROP TABLE delivery, person, place, good, returned, nothing;
DROP FUNCTION compare_ordered, compare, compare_all, who_answers, answer_of, rows_of;
