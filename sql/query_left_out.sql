-- Rows that a join leaves out anyway: they are left out before they are grouped, or put into a hash table. Each statement is run with the node and without it,
-- and the answers are held against each other.
SET pg_gpu.path = host;
SET pg_gpu.min_mirror_entries = 0;
SET max_parallel_workers_per_gather = 0;

CREATE TABLE line (id int4, part int4, place int8, price numeric(8,2), loose numeric, name varchar(20), short char(6), ratio float8, day date) WITH (autovacuum_enabled = off);
INSERT INTO line
SELECT i, CASE WHEN i % 29 > 0 THEN i * 7 % 15000 END, i % 40, CASE WHEN i % 11 > 0 THEN i * 7919 % 1009 / 4.0 END,
       CASE i % 3 WHEN 0 THEN i % 13000 WHEN 1 THEN (i % 13000)::numeric(6,1) ELSE (i % 13000 / 4.0)::numeric(6,2) END,
       CASE WHEN i % 7 > 0 THEN 'name ' || i % 12500 END, 's' || i % 12000, CASE i % 5 WHEN 0 THEN -0.0 WHEN 1 THEN 'NaN' ELSE i % 14000 / 8.0 END, date '2025-01-01' + i % 200
FROM generate_series(1, 30000) AS i;
CREATE INDEX line_i ON line USING gpu_column (id, part, place, price, loose, name, short, ratio, day);
CREATE TABLE part (id int8, kind int4, name text, least numeric, short char(6), ratio float4) WITH (autovacuum_enabled = off);
INSERT INTO part SELECT CASE WHEN i % 31 > 0 THEN i END, i % 100, 'name ' || i % 14000, i % 5000 / 2.0, 's' || i % 13000, CASE WHEN i % 3 = 0 THEN 0 ELSE i % 9000 / 8.0 END FROM generate_series(0, 14999) AS i;
CREATE INDEX part_i ON part USING gpu_column (id, kind, name, least, short, ratio);
CREATE TABLE plain (id int4, kind int4) WITH (autovacuum_enabled = off);
INSERT INTO plain SELECT i, i % 50 FROM generate_series(0, 14999) AS i;
CREATE TABLE few (id int4, kind int4) WITH (autovacuum_enabled = off);
INSERT INTO few SELECT i * 70, i FROM generate_series(0, 30) AS i;
CREATE TABLE parted (part int4, price numeric(8,2), day date) PARTITION BY RANGE (day);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM ('2025-01-01') TO ('2025-04-01');
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM ('2025-04-01') TO ('2026-01-01');
INSERT INTO parted SELECT part, price, day FROM line;
CREATE INDEX parted_i ON parted USING gpu_column (part, price, day);
VACUUM ANALYZE line, part, plain, few, parted;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
-- The joins below the groups: the semi joins that leave the wanted rows.
CREATE FUNCTION semi_joins(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE plan json; found text;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
    SELECT string_agg(words[1], '; ' ORDER BY words[1]) INTO found FROM regexp_matches(plan::text, '"(\w[^"]* SEMI JOIN [^"]*)"', 'g') AS words;
    RETURN found;
END $$;
\set ECHO all
EXPLAIN (COSTS OFF) SELECT p.name, t.n FROM part p JOIN (SELECT part, count(*) AS n FROM line GROUP BY 1) AS t ON t.part = p.id WHERE p.kind = 3;
-- Wanted groups alone: of joins of all kinds, several keys, keys of several types, groups below groups, rows of tables without an index, partitions.
\set wanted '{"SELECT p.name, t.n, t.total FROM part p JOIN (SELECT part, count(*) AS n, sum(price) AS total FROM line GROUP BY 1) AS t ON t.part = p.id WHERE p.kind = 3","SELECT p.id, t.n FROM part p LEFT JOIN (SELECT part, count(*) AS n FROM line GROUP BY 1) AS t ON t.part = p.id WHERE p.kind = 3","SELECT p.kind, count(*), max(t.total) FROM part p JOIN (SELECT loose, sum(price) AS total FROM line GROUP BY 1) AS t ON t.loose = p.least WHERE p.kind = 5 GROUP BY 1","SELECT p.id, t.n FROM part p JOIN (SELECT name, count(*) AS n FROM line GROUP BY 1) AS t ON t.name = p.name WHERE p.kind = 5","SELECT p.id, t.n FROM part p JOIN (SELECT short, count(*) AS n FROM line GROUP BY 1) AS t ON t.short = p.short WHERE p.kind = 5 AND p.id < 4000","SELECT p.id, t.n FROM part p JOIN (SELECT name, part, sum(place) AS n FROM line GROUP BY 1, 2 HAVING count(*) > 1) AS t ON t.name = p.name AND t.part = p.id WHERE p.kind < 4","SELECT count(*), sum(t.n) FROM part p JOIN (SELECT part, max(n) AS n FROM (SELECT part, count(*) AS n FROM line GROUP BY 1) AS s GROUP BY 1) AS t ON t.part = p.id WHERE p.kind = 3 AND p.id < 2000","SELECT count(*), sum(total), max(kind) FROM few JOIN (SELECT part, sum(price) AS total FROM line GROUP BY 1) AS t ON part = id","SELECT count(*), sum(total) FROM plain JOIN (SELECT part, sum(price) AS total FROM line GROUP BY 1) AS t ON part = id WHERE kind = 3","SELECT count(*), sum(total) FROM part JOIN (SELECT part, sum(price) AS total FROM parted WHERE day > date ''2025-02-01'' GROUP BY 1) AS t ON part = id WHERE kind = 3","SELECT count(*) FROM part p WHERE kind = 3 AND id IN (SELECT part FROM line GROUP BY part HAVING sum(price) > 1000)","SELECT count(*) FROM part p WHERE kind = 3 AND NOT EXISTS (SELECT FROM (SELECT part, count(*) AS n FROM line GROUP BY 1) AS t WHERE t.part = p.id AND n > 9)","SELECT p.id, t.n FROM part p JOIN (SELECT ratio, count(*) AS n FROM line GROUP BY 1) AS t ON t.ratio = p.ratio WHERE p.kind = 3","SELECT count(*) FROM line l, part p WHERE l.part = p.id AND p.kind = 3 AND l.price < (SELECT avg(price) FROM line s WHERE s.part = p.id)","SELECT count(*), sum(t.total) FROM part p JOIN (SELECT l.part, sum(s.least) AS total FROM line l JOIN part s ON s.id = l.place GROUP BY 1) AS t ON t.part = p.id WHERE p.kind = 3","SELECT count(*), sum(t.total) FROM part p JOIN (SELECT l.part, sum(s.least) AS total FROM line l LEFT JOIN part s ON s.id = l.place AND s.kind = 4 GROUP BY 1) AS t ON t.part = p.id WHERE p.kind = 3","SELECT count(*), sum(d.day - date ''2025-01-01'') FROM part p JOIN (SELECT DISTINCT part, day FROM line) AS d ON d.part = p.id WHERE p.kind = 3","WITH t AS (SELECT part, max(price) AS most FROM line GROUP BY 1) SELECT count(*), sum(most) FROM t JOIN part p ON p.id = t.part WHERE p.kind = 3 AND p.least > 3"}'
SELECT semi_joins(q), c.*, q AS query FROM unnest(:'wanted'::text[]) AS q, compare(q) AS c;
-- EXISTS and NOT EXISTS, alone and above each other, with further conditions, of several keys, and of joins.
\set wanted '{"SELECT count(*) FROM part p WHERE kind = 3 AND EXISTS (SELECT FROM line l WHERE l.part = p.id AND l.price > 100)","SELECT count(*) FROM part p WHERE kind = 3 AND NOT EXISTS (SELECT FROM line l WHERE l.part = p.id AND l.price > 100)","SELECT count(*), sum(least) FROM part p WHERE kind = 3 AND EXISTS (SELECT FROM line l WHERE l.part = p.id AND l.price > p.least) AND NOT EXISTS (SELECT FROM line l WHERE l.part = p.id AND l.place <> p.kind AND l.day < date ''2025-03-01'')","SELECT count(*) FROM line l JOIN part p ON p.id = l.part WHERE p.kind = 3 AND EXISTS (SELECT FROM line s WHERE s.part = l.part AND s.place <> l.place) AND NOT EXISTS (SELECT FROM line t WHERE t.part = l.part AND t.place <> l.place AND t.price > 50)","SELECT count(*) FROM part p WHERE kind = 3 AND EXISTS (SELECT FROM line l JOIN part s ON s.kind = l.place WHERE l.part = p.id AND s.least > p.least)","SELECT count(*) FROM part p WHERE kind = 3 AND NOT EXISTS (SELECT FROM line l LEFT JOIN part s ON s.id = l.place AND s.kind = 5 WHERE l.part = p.id AND l.name = p.name AND coalesce(s.kind, 0) < 5)","SELECT id, kind FROM few p WHERE EXISTS (SELECT FROM line l WHERE l.part = p.id AND l.price > p.kind) ORDER BY kind DESC LIMIT 5","SELECT count(*) FROM part p WHERE kind = 3 AND id IN (SELECT part FROM line l WHERE l.price > p.least)","SELECT count(*) FROM part p WHERE EXISTS (SELECT FROM line l WHERE l.part = p.id AND l.price > p.least)"}'
SELECT semi_joins(q), c.*, q AS query FROM unnest(:'wanted'::text[]) AS q, compare(q) AS c;
-- All groups: where rows without a match are wanted, most groups are, or what is joined isn't a key.
CREATE COLLATION first_letters (provider = icu, locale = 'und-u-ks-level1', deterministic = false);
\set all_groups '{"SELECT p.id, t.n FROM (SELECT part, count(*) AS n FROM line GROUP BY 1) AS t LEFT JOIN part p ON t.part = p.id AND p.kind = 3","SELECT p.id, t.n FROM (SELECT part, count(*) AS n FROM line GROUP BY 1) AS t FULL JOIN (SELECT * FROM part WHERE kind = 3) AS p ON t.part = p.id","SELECT count(*) FROM (SELECT part, count(*) AS n FROM line GROUP BY 1) AS t WHERE NOT EXISTS (SELECT FROM part p WHERE t.part = p.id AND p.kind = 3)","SELECT p.id, t.n FROM part p JOIN (SELECT part, count(*) AS n FROM line GROUP BY 1) AS t ON t.n = p.id WHERE p.kind = 3","SELECT p.id, t.n FROM part p JOIN (SELECT part, count(*) AS n FROM line GROUP BY 1) AS t ON t.part = p.id WHERE p.kind > 20","SELECT p.id, t.n FROM part p JOIN (SELECT name COLLATE first_letters AS name, count(*) AS n FROM line GROUP BY 1) AS t ON t.name COLLATE ucs_basic = p.name WHERE p.kind = 3","SELECT p.id, t.n FROM part p JOIN (SELECT part, count(*) AS n FROM line GROUP BY ROLLUP (1)) AS t ON t.part = p.id WHERE p.kind = 3"}'
SELECT semi_joins(q), c.same, c.rows, q AS query FROM unnest(:'all_groups'::text[]) AS q, compare(q) AS c;

DROP FUNCTION compare, compare_all, who_answers, answer_of, semi_joins;
DROP COLLATION first_letters;
DROP TABLE line, part, plain, few, parted;
