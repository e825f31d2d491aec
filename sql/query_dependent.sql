-- Columns that are the same in all rows of a group though PostgreSQL doesn't group by them: those that depend on a primary key, and, from 16 on, keys that conditions fix or make
-- equal to others. Each statement is run with the node and without it.
SET pg_gpu.path = host;
SET enable_seqscan = off;
SET enable_sort = off;
SET max_parallel_workers_per_gather = 0;
SET jit = off;

CREATE TABLE city (id int4 PRIMARY KEY, name text, state text, people int8, area numeric(8,2));
INSERT INTO city SELECT g, 'city ' || g, 'state ' || g % 4, g * 1000, g * 1.25 FROM generate_series(1, 30) AS g;
CREATE TABLE visit (id int4 PRIMARY KEY, city int4, small int4, other int4, word text, price numeric, paid bool, at timestamp) WITH (autovacuum_enabled = off);
INSERT INTO visit SELECT g, g % 30 + 1, g % 6, g % 9, 'word ' || g % 11, CASE WHEN g % 2 = 0 THEN 2.0 ELSE 2.00 END + g % 3, g % 3 = 0, timestamp '2026-01-01' + g * interval '1 hour' FROM generate_series(1, 3000) AS g;
CREATE INDEX visit_i ON visit USING gpu_column (id, city, small, other, word, price, paid, at);
VACUUM (FREEZE, ANALYZE) visit, city;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all

SELECT number, who, rows, same FROM unnest(ARRAY[
    'SELECT id, word, small, count(*) FROM visit GROUP BY id', 'SELECT id, word, small + 1, count(*) FROM visit GROUP BY id, word, small, price', 'SELECT word, upper(word), sum(other) FROM visit GROUP BY id HAVING small > 3',
    'SELECT id, word, count(*) FROM visit GROUP BY id ORDER BY word, id LIMIT 5', 'SELECT id, price, paid, at FROM visit GROUP BY id, price',
    'SELECT c.id, c.name, c.state, count(*), sum(v.small) FROM visit v JOIN city c ON v.city = c.id GROUP BY c.id', 'SELECT c.name, c.people / 7, avg(v.price) FROM visit v JOIN city c ON v.city = c.id WHERE v.paid GROUP BY c.id HAVING c.state <> ''state 1''',
    'SELECT c.id, c.name, c.area, count(*) FROM visit v LEFT JOIN city c ON v.city = c.id GROUP BY c.id, c.name ORDER BY 4 DESC, 1 LIMIT 4', 'SELECT c.name, v.small, max(v.other) FROM visit v JOIN city c ON v.city = c.id GROUP BY c.id, v.small',
    'SELECT small, word, count(*) FROM visit WHERE small = 2 GROUP BY 1, 2', 'SELECT small, word, count(*) FROM visit WHERE small = 2 GROUP BY 1, 2 ORDER BY 1, 2', 'SELECT small, count(*) FROM visit WHERE small = 2 GROUP BY 1',
    'SELECT small, count(*) FROM visit WHERE small = 77 GROUP BY 1', 'SELECT small, word, paid FROM visit WHERE small = 2 AND word = ''word 3'' GROUP BY 1, 2, 3', 'SELECT count(*) FROM visit WHERE small = 2 AND word = ''word 3'' GROUP BY small, word HAVING small > 1',
    'SELECT small, other, count(*) FROM visit WHERE small = other GROUP BY 1, 2', 'SELECT other, count(*) FROM visit WHERE small = other GROUP BY small, other ORDER BY small', 'SELECT small + other, word, count(*) FROM visit WHERE small + other = 5 GROUP BY 1, 2',
    'SELECT small + other + 1, word FROM visit WHERE small + other = 5 GROUP BY small + other, word ORDER BY 1, 2', 'SELECT small % 2, sum(other) FROM visit WHERE small % 2 = 1 GROUP BY 1', 'SELECT price = 2, word, count(*) FROM visit WHERE price = 2 GROUP BY price, word',
    'SELECT small, word, count(*) FROM visit WHERE small = 2 GROUP BY 1, 2 ORDER BY 3 DESC, 2 LIMIT 3', 'SELECT small, word, count(DISTINCT other) FROM visit WHERE small = 2 GROUP BY 1, 2', 'SELECT DISTINCT small, word FROM visit WHERE small = 2',
    'SELECT DISTINCT small, other FROM visit WHERE small = other ORDER BY 2, 1', 'SELECT small, word, count(*) FROM visit WHERE small = 2 GROUP BY GROUPING SETS ((1, 2), (1))', 'SELECT small, count(*) FROM (SELECT small, word FROM visit WHERE small = 2 GROUP BY 1, 2) AS s GROUP BY 1',
    'SELECT c.state, v.small, count(*) FROM visit v JOIN city c ON v.city = c.id WHERE v.small = 2 AND c.state = ''state 1'' GROUP BY 1, 2', 'SELECT v.city, c.id, count(*) FROM visit v JOIN city c ON v.city = c.id GROUP BY 1, 2',
    'SELECT small, word, sum(count(*)) OVER (PARTITION BY small ORDER BY word) FROM visit WHERE small = 2 GROUP BY 1, 2', 'SELECT DISTINCT v.city, c.id FROM visit v JOIN city c ON v.city = c.id',
    'SELECT city, city, small FROM visit WHERE city = 3 OR city = 4 OR city = 5 GROUP BY 1, 2, 3', 'SELECT a.word, count(*) FROM visit a JOIN visit b ON a.id = b.id WHERE b.small = 3 GROUP BY 1'])
    WITH ORDINALITY AS q (query, number), compare(query) ORDER BY number;
-- Equal numerics may look different, of which any is shown.
SELECT number, who, same FROM unnest(ARRAY['SELECT price::numeric(4,1), count(*) FROM visit WHERE price = 3 GROUP BY price', 'SELECT word, price::int, count(*) FROM visit WHERE price = 3 GROUP BY 1, price']) WITH ORDINALITY AS q (query, number), compare(query) ORDER BY number;

-- Partitions.
CREATE TABLE part (id int4, place int4, word text, small int4, PRIMARY KEY (id, place)) PARTITION BY RANGE (place);
CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (5);
CREATE TABLE part_2 PARTITION OF part FOR VALUES FROM (5) TO (10);
INSERT INTO part SELECT g, g % 10, 'word ' || g % 7, g % 5 FROM generate_series(1, 2000) AS g;
CREATE INDEX part_i ON part USING gpu_column (id, place, word, small);
VACUUM (FREEZE, ANALYZE) part;
SELECT number, who, rows, same FROM unnest(ARRAY[
    'SELECT small, word, count(*) FROM part WHERE small = 2 GROUP BY 1, 2', 'SELECT small, count(*) FROM part WHERE small = 2 GROUP BY 1', 'SELECT id, place, word, count(*) FROM part GROUP BY id, place', 'SELECT place, small, word FROM part WHERE place = small GROUP BY 1, 2, 3',
    'SELECT small + place, word, count(*) FROM part WHERE small + place = 5 GROUP BY 1, 2'])
    WITH ORDINALITY AS q (query, number), compare(query) ORDER BY number;
DROP TABLE visit, city, part;
DROP FUNCTION compare, compare_all, who_answers, answer_of;
