-- Elements of a table's arrays, which the node GpuQuery joins: each statement is run with the node and without it, and the answers are held against
-- each other.
SET pg_gpu.path = host;
SET pg_gpu.min_mirror_entries = 0;
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;
SET parallel_setup_cost = 0;

CREATE TYPE mood AS ENUM ('fine', 'sad', 'odd');
CREATE TABLE page (id int4, part int4, tags text[], nums int4[], long varchar(10)[], moods mood[], sums numeric[], reals float8[], list text, price numeric(8,2)) WITH (autovacuum_enabled = off);
INSERT INTO page SELECT i, i % 10, CASE WHEN i % 11 = 0 THEN NULL WHEN i % 7 = 0 THEN '{}'::text[] WHEN i % 5 = 0 THEN ARRAY['a', NULL, 'a'] ELSE ARRAY['t' || i % 4, 't' || i % 6] END,
    CASE i % 4 WHEN 0 THEN '{{1,2},{3,4}}' WHEN 1 THEN '{1,2,3,4}' WHEN 2 THEN '[5:6]={7,8}'::int4[] ELSE '{7,8}' END, ARRAY['v' || i % 3], ARRAY[(ARRAY['fine', 'sad', 'odd'])[1 + i % 3]]::mood[],
    CASE i % 3 WHEN 0 THEN ARRAY[1.0] WHEN 1 THEN ARRAY[1.00] ELSE ARRAY[2, 'NaN'::numeric] END, CASE i % 2 WHEN 0 THEN ARRAY[0, 1.5]::float8[] ELSE ARRAY['-0'::float8, 'NaN'] END, 'x' || i % 3 || ',y' || i % 2, i * 0.25
FROM generate_series(1, 3000) AS i;
CREATE TABLE names (tag text, name text);
INSERT INTO names VALUES ('t0', 'zero'), ('t1', 'one'), ('t2', 'two'), ('a', 'A'), (NULL, 'none');
CREATE INDEX page_i ON page USING gpu_column (id, part, tags, nums, long, moods, sums, reals, list, price);
VACUUM ANALYZE page, names;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all

CREATE TEMP TABLE list AS SELECT $list$
SELECT tag, count(*), sum(price) FROM page, unnest(tags) AS tag GROUP BY tag
SELECT tag, part, count(*), avg(price) FROM page CROSS JOIN unnest(page.tags) AS t(tag) WHERE part > 3 AND tag <> 't1' GROUP BY 1, 2
SELECT tag, count(*), count(tag) FROM page LEFT JOIN LATERAL unnest(tags) AS t(tag) ON true GROUP BY tag
SELECT tag, count(*), count(tag) FROM page LEFT JOIN LATERAL unnest(tags) AS t(tag) ON tag LIKE 't%' GROUP BY tag
SELECT n, count(*), sum(n) FROM page, unnest(nums) AS n GROUP BY n
SELECT tag, n, count(*) FROM page, unnest(tags) AS tag, unnest(nums) AS n GROUP BY 1, 2
SELECT x, count(*) FROM page, unnest(long) AS x GROUP BY 1
SELECT x, count(*) FROM page, unnest(moods) AS x GROUP BY 1
SELECT x, count(*) FROM page, unnest(string_to_array(list, ',')) AS x GROUP BY 1
SELECT count(*) FROM page, unnest(tags) AS tag WHERE tag IS NULL
SELECT count(DISTINCT tag), max(tag), min(tag) FROM page, unnest(tags) AS tag WHERE id < 1000
SELECT name, count(*) FROM page, unnest(tags) AS t(tag) JOIN names USING (tag) GROUP BY name
SELECT name, count(*) FROM page JOIN unnest(tags) AS t(tag) ON true LEFT JOIN names ON names.tag = t.tag GROUP BY name
SELECT name, count(p.id), count(t.tag) FROM names LEFT JOIN (page AS p CROSS JOIN unnest(p.tags) AS t(tag)) ON names.tag = t.tag GROUP BY name
SELECT name, count(tag) FROM (SELECT name, p.tags FROM names LEFT JOIN page AS p ON p.part = 3 AND names.tag = 't1') AS s, unnest(s.tags) AS tag GROUP BY name
SELECT unnest(tags), count(*) FROM page GROUP BY 1
SELECT part, unnest(tags) AS tag, sum(price) FROM page WHERE id > 500 GROUP BY 1, 2 HAVING count(*) > 10 ORDER BY 3 DESC, 1, 2 LIMIT 5
SELECT DISTINCT unnest(tags) FROM page
SELECT count(*), count(DISTINCT tag) FROM (SELECT unnest(tags) AS tag FROM page) AS s
SELECT tag, max(part) FROM (SELECT id, part, unnest(tags) AS tag FROM page) AS s WHERE part < 5 GROUP BY tag
WITH w AS (SELECT part, tag FROM page, unnest(tags) AS tag) SELECT w.tag, count(*) FROM w JOIN names USING (tag) GROUP BY 1
SELECT tag, (SELECT name FROM names WHERE names.tag = t.tag) FROM page, unnest(tags) AS t(tag) GROUP BY tag
-- Equal arrays that may look different, and what isn't of one table alone, or not of its rows.
SELECT x, count(*) FROM page, unnest(reals) AS x GROUP BY 1
SELECT x = 1, count(*) FROM page, unnest(sums) AS x GROUP BY 1
SELECT tag, n, count(*) FROM page, unnest(tags) WITH ORDINALITY AS t(tag, n) GROUP BY 1, 2
SELECT tag, n, count(*) FROM page, unnest(tags, nums) AS t(tag, n) GROUP BY 1, 2
SELECT unnest(tags), unnest(nums), count(*) FROM page GROUP BY 1, 2
SELECT unnest(array_agg(part ORDER BY id)) FROM page
SELECT x, count(*) FROM page JOIN names ON tag = 't' || part, unnest(tags || name) AS x GROUP BY 1
SELECT count(*) FROM page, unnest(ARRAY[part, random()::int4]) AS x
SELECT tag, count(*) FROM page TABLESAMPLE SYSTEM (100), unnest(tags) AS tag GROUP BY tag
$list$ AS queries;
SELECT c.who, c.rows, c.same, c.query FROM list, compare_all(queries) AS c;
-- New arrays, and such that are gone.
INSERT INTO page (id, part, tags, nums, list) VALUES (5001, 3, '{new,t1}', '{9}', 'z'), (5002, 4, '{{u,v},{w,NULL}}', NULL, '');
DELETE FROM page WHERE tags[1] = 't2';
SELECT c.who, c.rows, c.same, c.query FROM list, compare_all(queries) AS c WHERE c.who NOT IN ('node', 'other plan') OR c.same <> 'same';

-- Who may see the arrays, and which of them.
CREATE ROLE regress_array_reader;
GRANT SELECT (tags) ON page TO regress_array_reader;
SET ROLE regress_array_reader;
SELECT * FROM compare('SELECT tag, count(*) FROM page, unnest(tags) AS tag GROUP BY tag');
SELECT * FROM compare('SELECT n, count(*) FROM page, unnest(nums) AS n GROUP BY n');
RESET ROLE;
ALTER TABLE page ENABLE ROW LEVEL SECURITY;
CREATE POLICY firsts ON page USING (id < 100);
SET ROLE regress_array_reader;
SELECT * FROM compare('SELECT tag, count(*) FROM page, unnest(tags) AS tag GROUP BY tag');
RESET ROLE;
ALTER TABLE page DISABLE ROW LEVEL SECURITY;
CREATE VIEW tagged AS SELECT id, tag FROM page, unnest(tags) AS tag;
GRANT SELECT ON tagged TO regress_array_reader;
SET ROLE regress_array_reader;
SELECT * FROM compare('SELECT tag, count(*), max(id) FROM tagged GROUP BY tag');
RESET ROLE;
DROP VIEW tagged;

-- Arrays of other types' elements are never equal, though their operator is the same.
CREATE TABLE box (part int4, bigs int8[]);
INSERT INTO box SELECT i % 10, ARRAY[i % 5, i % 9]::int8[] FROM generate_series(0, 20) AS i UNION ALL VALUES (3, '{7,8}'::int8[]), (4, '{1,2,3,4}');
CREATE INDEX ON box USING gpu_column (part, bigs);
VACUUM ANALYZE box;
SELECT * FROM compare_all($list$
SELECT b, n, count(*) FROM page JOIN box USING (part) LEFT JOIN LATERAL unnest(bigs) AS b ON true LEFT JOIN LATERAL unnest(nums) AS n ON true GROUP BY 1, 2
SELECT bigs, nums, count(*) FROM page JOIN box USING (part) GROUP BY 1, 2
SELECT count(DISTINCT bigs), count(DISTINCT nums) FROM page JOIN box USING (part)
SELECT x.part, y.bigs, count(*) FROM page JOIN box AS x USING (part) JOIN box AS y ON x.bigs = y.bigs JOIN page AS z ON z.nums = page.nums WHERE z.id < 50 GROUP BY 1, 2
$list$);
DROP TABLE box;

-- Partitions.
CREATE TABLE parted (id int4, tags text[]) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (1000);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (1000) TO (3000);
INSERT INTO parted SELECT i, ARRAY['t' || i / 300, 'u' || i % 3] FROM generate_series(1, 2999) AS i;
CREATE INDEX ON parted USING gpu_column (id, tags);
VACUUM ANALYZE parted;
SELECT * FROM compare('SELECT tag, count(*), sum(id) FROM parted, unnest(tags) AS tag GROUP BY tag');
SELECT * FROM compare('SELECT tag, count(*) FROM parted, unnest(tags) AS tag WHERE id > 1500 GROUP BY tag');
DROP TABLE page, names, parted;
DROP TYPE mood;
DROP ROLE regress_array_reader;
DROP FUNCTION answer_of, who_answers, compare, compare_all;
