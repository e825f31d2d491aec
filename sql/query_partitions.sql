-- Partitions and inheritance children, which GpuQuery reads as one table.
SET pg_gpu.path = host;
SET pg_gpu.min_mirror_entries = 0;
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;

CREATE TABLE measured (id int8, kind int2, size int4, price numeric(12,2), loose numeric, ratio float8, small float4, moment timestamptz, word text) PARTITION BY RANGE (id);
CREATE TABLE measured_1 PARTITION OF measured FOR VALUES FROM (0) TO (1000) WITH (autovacuum_enabled = off);
-- Its columns lie elsewhere.
CREATE TABLE measured_2 (word text, dropped int, moment timestamptz, ratio float8, small float4, price numeric(12,2), loose numeric, size int4, kind int2, id int8) WITH (autovacuum_enabled = off);
ALTER TABLE measured_2 DROP COLUMN dropped;
ALTER TABLE measured ATTACH PARTITION measured_2 FOR VALUES FROM (1000) TO (2000);
-- One without rows, and one without an index.
CREATE TABLE measured_3 PARTITION OF measured FOR VALUES FROM (2000) TO (3000) WITH (autovacuum_enabled = off);
CREATE TABLE measured_4 PARTITION OF measured FOR VALUES FROM (3000) TO (4000) WITH (autovacuum_enabled = off);
INSERT INTO measured
SELECT i, i % 5, i * 3, i * 0.25, CASE WHEN i % 13 <> 0 THEN round((i * 7 % 1000) / 8.0, i % 4) END, i / 7.0, i / 3.0, timestamptz '2024-01-01 00:00+00' + i * interval '1 minute', CASE WHEN i % 11 <> 0 THEN 'w' || i % 4 END
FROM generate_series(1, 1999) AS i;
INSERT INTO measured SELECT i, 7, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM generate_series(3000, 3100) AS i;
CREATE INDEX measured_1_i ON measured_1 USING gpu_column (id, kind, size, price, loose, ratio, small, moment, word);
CREATE INDEX measured_2_i ON measured_2 USING gpu_column (id, kind, size, price, loose, ratio, small, moment, word);
CREATE INDEX measured_3_i ON measured_3 USING gpu_column (id, kind, size, price, loose, ratio, small, moment, word);
VACUUM ANALYZE measured;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set plan_of :source '/test/regress/plan_of.sql'
\set ECHO none
\i :compare
\i :plan_of
\set ECHO all

SELECT * FROM compare_all($list$
SELECT kind, count(*), count(loose + size), sum(size * 2), sum(id * size), sum(price * size), sum(loose / (size + 1)) FROM measured GROUP BY kind
SELECT avg(size + kind), avg(id * 3), avg(price / 3), avg(kind + 1::int2) FROM measured
SELECT word, min(price * 2), max(size - kind), max(date_trunc('month', moment)), bool_or(size > kind * 100), bit_or(size + kind) FROM measured GROUP BY word
SELECT kind, variance(size + kind), stddev_pop(id * 2) FROM measured GROUP BY kind
SELECT var_samp(price * kind) FROM measured
SELECT stddev(loose * 2) FROM measured
SELECT word, max(size - kind), bool_or(size > kind * 100) FROM measured GROUP BY word
SELECT round(corr(size, kind + 1)::numeric, 9), round(regr_slope(price, size)::numeric, 9), round(covar_pop(size, kind)::numeric, 6), regr_count(size, loose) FROM measured
SELECT sum(CASE WHEN kind = 1 THEN price WHEN size > 10 THEN loose ELSE 0 END) FROM measured
SELECT kind, round(sum(ratio * 2)::numeric, 6), round(avg(ratio + small)::numeric, 4), max(small * 2), round(avg(small * 2)::numeric, 2) FROM measured GROUP BY kind
SELECT kind, sum(size + kind) FROM measured GROUP BY kind HAVING sum(size + kind) > 600000
SELECT kind, sum(size + kind) FROM measured GROUP BY kind HAVING count(*) > 101 ORDER BY kind LIMIT 2
SELECT kind, sum(size + kind) FROM measured GROUP BY kind ORDER BY 2 DESC NULLS LAST LIMIT 2
SELECT count(*), sum(size + kind) FROM measured WHERE id > 5000
SELECT sum(size + kind), sum(id + 1), sum(price + 1), avg(ratio + 1), corr(ratio::int, kind) FROM measured WHERE id BETWEEN 2000 AND 2500 OR id > 3000
SELECT kind, sum(size + kind) FROM measured WHERE id < 1000 GROUP BY kind
SELECT count(DISTINCT size + kind) FROM measured
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY size + kind) FROM measured
$list$);

-- Rows that change.
UPDATE measured SET size = size + 1 WHERE id % 9 = 0;
DELETE FROM measured WHERE id % 17 = 0;
INSERT INTO measured VALUES (999, 2, 5, 1.5, 1.123, 0.5, 0.25, NULL, 'new');
SELECT * FROM compare_all($list$
SELECT kind, count(*), sum(size * 2), sum(id * size), sum(price * size), sum(loose * size), avg(size + kind) FROM measured GROUP BY kind
$list$);

-- Inheritance: the parent has rows of its own.
CREATE TABLE base (id int4, v numeric) WITH (autovacuum_enabled = off);
CREATE TABLE derived (more text) INHERITS (base) WITH (autovacuum_enabled = off);
INSERT INTO base SELECT i, i / 4.0 FROM generate_series(1, 500) AS i;
INSERT INTO derived SELECT i, i / 8.0, 'more' FROM generate_series(1, 500) AS i;
CREATE INDEX base_i ON base USING gpu_column (id, v);
CREATE INDEX derived_i ON derived USING gpu_column (id, v);
VACUUM ANALYZE base, derived;
SELECT * FROM compare_all($list$
SELECT id % 3, sum(v * id), avg(v / (id + 1)), count(*) FROM base GROUP BY 1
SELECT sum(v * id), avg(id / 2.0) FROM ONLY base
$list$);

-- So that PostgreSQL's own plans of few rows cost more.
SET enable_bitmapscan = off;

-- All members' rows by one node, grouped, distinct, sorted and counted in any way, with rows of a member that has no index of its own.
SELECT plan FROM pg_temp.plan_of($$SELECT kind, count(*) FROM measured GROUP BY kind$$);
SELECT * FROM compare_all($list$
SELECT count(*) FROM measured
SELECT DISTINCT kind, word FROM measured
SELECT DISTINCT loose FROM measured WHERE size < 900
SELECT kind, word, count(*), sum(price) FROM measured GROUP BY GROUPING SETS ((kind), (word), (kind, word), ())
SELECT kind, word, sum(loose) FROM measured GROUP BY ROLLUP (kind, word)
SELECT word, loose, count(*) FROM measured GROUP BY word, loose
SELECT loose, min(word), max(word) FROM measured GROUP BY loose HAVING count(*) > 1
SELECT mode() WITHIN GROUP (ORDER BY word), percentile_cont(0.25) WITHIN GROUP (ORDER BY ratio) FROM measured
SELECT upper(word) || kind, count(DISTINCT loose), count(*) FILTER (WHERE word LIKE 'w%') FROM measured GROUP BY 1
SELECT word < 'w2', word IS NULL, count(*) FROM measured GROUP BY 1, 2
SELECT to_char(moment, 'YYYY-MM-DD'), count(*) FROM measured GROUP BY 1
SELECT count(*) FROM measured WHERE word IN ('w1', 'w3', 'new') AND kind <> 2
SELECT count(*), sum(size) FROM measured WHERE word = 'w2' OR size IS NULL
SELECT count(*) FROM measured WHERE loose > 3 AND price < 400
SELECT count(tableoid) FROM measured
SELECT count(measured) FROM measured
SELECT kind, count(*) FROM measured WHERE id < 0 OR id > 7000 GROUP BY kind
$list$);

-- First rows, in their order.
\set rows_of :source '/test/regress/rows_of.sql'
\set ECHO none
\i :rows_of
\set ECHO all
CREATE FUNCTION compare_rows(query text, OUT who text, OUT rows int, OUT same text) LANGUAGE plpgsql AS $$
DECLARE
    by_node text[];
    without text[];
BEGIN
    who := who_answers(query);
    by_node := rows_of(query);
    SET LOCAL pg_gpu.enable_query = off;
    without := rows_of(query);
    SET LOCAL pg_gpu.enable_query = on;
    rows := cardinality(by_node);
    same := CASE WHEN by_node = without THEN 'same' ELSE format('with the node %s, without %s', by_node[:5], without[:5]) END;
END $$;
SELECT * FROM compare_all($list$
SELECT id, word, loose FROM measured ORDER BY ratio DESC NULLS LAST, id LIMIT 10
SELECT id + 1, word || 'x' FROM measured WHERE kind = 3 ORDER BY word COLLATE "C", id DESC LIMIT 7
SELECT size + kind, price FROM measured ORDER BY size + kind DESC NULLS FIRST, id LIMIT 12 OFFSET 95
SELECT loose FROM measured WHERE loose IS NOT NULL ORDER BY loose, id LIMIT 20
SELECT id, v FROM base ORDER BY v, id LIMIT 9
$list$, 'compare_rows');

-- Sub-partitions, by list, range and hash, some pruned; a member with an index of other columns, and one with an index in another order.
CREATE TABLE sale (region text COLLATE "C", day date, shop int4, amount numeric, items int8) PARTITION BY LIST (region);
CREATE TABLE sale_north PARTITION OF sale FOR VALUES IN ('north') PARTITION BY RANGE (day);
CREATE TABLE sale_north_1 (items int8, amount numeric, gone text, shop int4, day date, region text COLLATE "C") WITH (autovacuum_enabled = off);
ALTER TABLE sale_north_1 DROP COLUMN gone;
ALTER TABLE sale_north ATTACH PARTITION sale_north_1 FOR VALUES FROM ('2024-01-01') TO ('2024-07-01');
CREATE TABLE sale_north_2 PARTITION OF sale_north FOR VALUES FROM ('2024-07-01') TO ('2025-01-01') WITH (autovacuum_enabled = off);
CREATE TABLE sale_south PARTITION OF sale FOR VALUES IN ('south', 'east') PARTITION BY HASH (shop);
CREATE TABLE sale_south_0 PARTITION OF sale_south FOR VALUES WITH (MODULUS 2, REMAINDER 0) WITH (autovacuum_enabled = off);
CREATE TABLE sale_south_1 PARTITION OF sale_south FOR VALUES WITH (MODULUS 2, REMAINDER 1) WITH (autovacuum_enabled = off);
CREATE TABLE sale_other PARTITION OF sale DEFAULT WITH (autovacuum_enabled = off);
INSERT INTO sale
SELECT (ARRAY['north', 'south', 'east', 'west', NULL])[1 + i % 5], date '2024-01-01' + i % 366, i * 7 % 50, CASE WHEN i % 9 > 0 THEN round(i / 8.0, i % 4) END, i % 20
FROM generate_series(1, 4000) AS i;
CREATE INDEX ON sale_north_1 USING gpu_column (region, day, shop, amount, items);
CREATE INDEX ON sale_north_2 USING gpu_column (items, amount, shop, day, region);
CREATE INDEX ON sale_south_0 USING gpu_column (day, region, shop, amount, items);
CREATE INDEX ON sale_south_1 USING gpu_column (region, day, shop, amount, items);
CREATE INDEX ON sale_other USING gpu_column (region, day, shop);
CREATE TABLE shop (id int4, name text, opened date) PARTITION BY RANGE (id);
CREATE TABLE shop_1 PARTITION OF shop FOR VALUES FROM (0) TO (20) WITH (autovacuum_enabled = off);
CREATE TABLE shop_2 (opened date, name text, id int4) WITH (autovacuum_enabled = off);
ALTER TABLE shop ATTACH PARTITION shop_2 FOR VALUES FROM (20) TO (60);
INSERT INTO shop SELECT i, CASE WHEN i % 7 > 0 THEN 'shop ' || i % 12 END, date '2024-01-01' + i * 5 FROM generate_series(0, 44) AS i;
CREATE INDEX ON shop_1 USING gpu_column (id, name, opened);
CREATE INDEX ON shop_2 USING gpu_column (id, name, opened);
CREATE TABLE town (shop int4, town text) WITH (autovacuum_enabled = off);
INSERT INTO town SELECT i, 'town ' || i % 5 FROM generate_series(5, 54) AS i;
CREATE INDEX ON town USING gpu_column (shop, town);
VACUUM ANALYZE sale, shop, town;
SELECT plan FROM pg_temp.plan_of($$SELECT s.name, sum(amount) FROM sale JOIN shop AS s ON s.id = sale.shop WHERE region IN ('north', 'south') GROUP BY 1$$) WHERE plan !~ '(Loop|Hash|Materialize|Cond|Filter)';
SELECT * FROM compare_all($list$
SELECT region, count(*), sum(amount), avg(amount), min(amount), max(day) FROM sale GROUP BY region
SELECT region, shop, count(*) FROM sale GROUP BY CUBE (region, shop)
SELECT date_trunc('month', day), sum(amount * items) FROM sale GROUP BY 1
SELECT day, count(*) FROM sale WHERE region = 'north' AND day >= '2024-08-01' GROUP BY day
SELECT count(*), sum(items) FROM sale WHERE region = 'south' AND shop = 14
SELECT count(*) FROM sale WHERE region IS NULL
SELECT DISTINCT amount FROM sale WHERE region = 'north'
SELECT DISTINCT region, items % 3 FROM sale
SELECT count(*) FROM sale WHERE region = 'nowhere'
-- Joins: a dimension, a dimension with partitions, both.
SELECT t.town, count(*), sum(amount) FROM sale JOIN town AS t USING (shop) GROUP BY 1
SELECT s.name, count(*), sum(amount) FROM sale JOIN shop AS s ON s.id = sale.shop GROUP BY 1
SELECT s.name, t.town, sum(items) FROM sale JOIN shop AS s ON s.id = sale.shop JOIN town AS t ON t.shop = s.id WHERE region <> 'east' GROUP BY 1, 2
SELECT s.name, count(*), count(s.id), sum(amount) FROM sale LEFT JOIN shop AS s ON s.id = sale.shop AND s.opened < day GROUP BY 1
SELECT s.name, count(*), count(sale.day) FROM shop AS s LEFT JOIN sale ON s.id = sale.shop AND sale.items = 3 GROUP BY 1
SELECT t.town, count(*), sum(amount) FROM sale FULL JOIN town AS t ON t.shop = sale.shop GROUP BY 1
SELECT region, count(*) FROM sale WHERE EXISTS (SELECT FROM shop WHERE id = sale.shop AND name IS NOT NULL) GROUP BY 1
SELECT region, count(*) FROM sale WHERE NOT EXISTS (SELECT FROM shop WHERE id = sale.shop AND opened > sale.day) GROUP BY 1
SELECT name, count(*) FROM shop WHERE EXISTS (SELECT FROM sale WHERE shop = shop.id AND region = 'south') GROUP BY 1
SELECT count(*) FROM shop WHERE id NOT IN (SELECT shop FROM sale WHERE amount > 400)
SELECT a.region, b.region, count(*) FROM sale AS a JOIN sale AS b ON a.day = b.day AND a.shop = b.shop GROUP BY 1, 2
SELECT count(*) FROM sale AS a JOIN sale AS b ON a.day = b.day WHERE a.region = 'north' AND b.region = 'south' AND a.items > b.items
SELECT count(DISTINCT s.name), sum(DISTINCT items) FROM sale JOIN shop AS s ON s.id = sale.shop
-- Rows of joins.
SELECT sale.day, s.name, amount FROM sale JOIN shop AS s ON s.id = sale.shop WHERE items = 7 AND amount > 200
SELECT s.name, t.town, opened FROM shop AS s LEFT JOIN town AS t ON t.shop = s.id
$list$);
SELECT * FROM compare_all($list$
SELECT region, day, amount FROM sale WHERE items < 15 ORDER BY amount DESC NULLS LAST, day, shop, items LIMIT 15
SELECT s.name, amount, day FROM sale JOIN shop AS s ON s.id = sale.shop ORDER BY amount NULLS LAST, day, s.id, items LIMIT 11
$list$, 'compare_rows');

-- Parameters of a generic plan prune when it begins; also where a table is read twice.
SET plan_cache_mode = force_generic_plan;
PREPARE by_region(text, date) AS SELECT region, count(*), sum(amount) FROM sale WHERE region = $1 AND day >= $2 GROUP BY region;
PREPARE joined(text) AS SELECT s.name, count(*) FROM sale JOIN shop AS s ON s.id = sale.shop WHERE region = $1 GROUP BY 1 ORDER BY 1 LIMIT 3;
PREPARE twice(text) AS SELECT count(*) FROM sale AS a JOIN sale AS b ON a.day = b.day AND a.shop = b.shop WHERE a.region = $1;
PREPARE below(int8) AS SELECT kind, count(*), sum(size) FROM measured WHERE id < $1 GROUP BY kind ORDER BY kind;
SELECT plan FROM pg_temp.plan_of($$EXECUTE by_region('north', '2024-08-01')$$);
EXECUTE by_region('north', '2024-08-01');
EXECUTE by_region('east', '2024-08-01');
EXECUTE by_region('west', '2023-08-01');
EXECUTE by_region('nowhere', '2024-08-01');
EXECUTE by_region(NULL, NULL);
EXECUTE joined('south');
EXECUTE joined('north');
EXECUTE twice('north');
EXECUTE twice('east');
EXECUTE below(900);
EXECUTE below(1);
EXECUTE below(3050);
SET pg_gpu.enable_query = off;
SET enable_seqscan = on;
DEALLOCATE ALL;
PREPARE by_region(text, date) AS SELECT region, count(*), sum(amount) FROM sale WHERE region = $1 AND day >= $2 GROUP BY region;
PREPARE joined(text) AS SELECT s.name, count(*) FROM sale JOIN shop AS s ON s.id = sale.shop WHERE region = $1 GROUP BY 1 ORDER BY 1 LIMIT 3;
PREPARE twice(text) AS SELECT count(*) FROM sale AS a JOIN sale AS b ON a.day = b.day AND a.shop = b.shop WHERE a.region = $1;
PREPARE below(int8) AS SELECT kind, count(*), sum(size) FROM measured WHERE id < $1 GROUP BY kind ORDER BY kind;
EXECUTE by_region('north', '2024-08-01');
EXECUTE by_region('east', '2024-08-01');
EXECUTE by_region('west', '2023-08-01');
EXECUTE joined('south');
EXECUTE joined('north');
EXECUTE twice('north');
EXECUTE twice('east');
EXECUTE below(900);
EXECUTE below(3050);
RESET pg_gpu.enable_query;
SET enable_seqscan = off;
RESET plan_cache_mode;

-- Rows of one's own, deleted and changed ones, of several members at once, also where a partition gets other rows than the planner knew.
CREATE FUNCTION compare_changed() RETURNS SETOF record LANGUAGE sql AS $$
    SELECT c.who, c.rows, c.same, c.query FROM compare_all($list$
SELECT region, count(*), sum(amount), min(amount), max(day), count(DISTINCT shop) FROM sale GROUP BY region
SELECT s.name, count(*), sum(amount) FROM sale JOIN shop AS s ON s.id = sale.shop GROUP BY 1
SELECT s.name, count(*), count(sale.day) FROM shop AS s LEFT JOIN sale ON s.id = sale.shop AND sale.items = 3 GROUP BY 1
SELECT DISTINCT amount FROM sale WHERE shop < 20
SELECT region, items, count(*) FROM sale GROUP BY ROLLUP (region, items)
$list$) AS c $$;
BEGIN;
INSERT INTO sale SELECT (ARRAY['north', 'south', 'east', 'west'])[1 + i % 4], date '2024-02-01' + i % 300, i % 50, i * 0.00125, 3 FROM generate_series(1, 200) AS i;
INSERT INTO shop VALUES (45, 'new', '2024-05-05'), (14, NULL, NULL);
DELETE FROM sale WHERE items = 5;
UPDATE sale SET region = 'north' WHERE items = 6 AND region = 'south';
SELECT * FROM compare_changed() AS c (who text, rows int, same text, query text);
ROLLBACK;
SELECT * FROM compare_changed() AS c (who text, rows int, same text, query text);
DELETE FROM sale WHERE items = 5 OR shop = 3;
UPDATE sale SET amount = amount + 0.5 WHERE items = 6;
SELECT * FROM compare_changed() AS c (who text, rows int, same text, query text);
VACUUM sale;
TRUNCATE sale_north_2;
SELECT * FROM compare_changed() AS c (who text, rows int, same text, query text);
INSERT INTO sale SELECT 'north', date '2024-09-01', 4, 1e40, 3 FROM generate_series(1, 3) AS i;
SELECT * FROM compare_changed() AS c (who text, rows int, same text, query text);

-- Row security of the parent.
DELETE FROM sale WHERE amount = 1e40;
CREATE ROLE partitions_reader;
GRANT SELECT ON sale, shop TO partitions_reader;
ALTER TABLE sale ENABLE ROW LEVEL SECURITY;
CREATE POLICY visible ON sale USING (shop < 30);
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO partitions_reader;
SET ROLE partitions_reader;
SELECT * FROM compare_changed() AS c (who text, rows int, same text, query text);
RESET ROLE;
REVOKE ALL ON sale, shop FROM partitions_reader;
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA public FROM partitions_reader;
DROP ROLE partitions_reader;

DROP FUNCTION compare_rows, compare_changed, rows_of, compare, compare_all, who_answers, answer_of;
DROP TABLE measured, base, derived, sale, shop, town;
