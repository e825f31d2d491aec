-- gpu.explain_why: which nodes a statement's plan could have had, and why it has them or not.
SET pg_gpu.path = host;
SET max_parallel_workers_per_gather = 0;
SET timezone = 'UTC';
CREATE TABLE why (a text, b text, n int4, price numeric, at timestamptz, other int4) WITH (autovacuum_enabled = off);
INSERT INTO why SELECT 'a' || i % 10, 'b' || i % 7, i, i % 100, '2026-01-01'::timestamptz + i * interval '7 milliseconds', i FROM generate_series(1, 20000) AS i;
CREATE INDEX why_i ON why USING gpu_column (a, b, n, price, at);
CREATE INDEX why_k ON why USING gpu_kary (n);
CREATE INDEX why_b ON why USING btree (b);
VACUUM ANALYZE why;
CREATE VIEW reasons AS SELECT NULL::text AS node, NULL::text AS candidate, NULL::bool AS used, NULL::text AS reason, NULL::text AS costs;
CREATE FUNCTION reasons(query text) RETURNS SETOF reasons LANGUAGE sql AS $$
  SELECT node, candidate, used, reason,
         CASE WHEN cost IS NULL THEN 'none' WHEN cost < other_cost THEN 'less' ELSE 'not less' END || CASE WHEN other_cost IS NULL THEN ', alone' ELSE '' END
  FROM gpu.explain_why(query)
$$;

-- What is used, and what costs more.
SELECT * FROM reasons('SELECT a, count(*), sum(n) FROM why GROUP BY a');
SELECT * FROM reasons('SELECT count(*) FROM why WHERE n BETWEEN 10 AND 12000');
SELECT * FROM reasons('SELECT sum(n) FROM why WHERE b = ''nothing''');
SELECT used, cost > 0 AS has_cost, other_cost > cost AS saves FROM gpu.explain_why('SELECT a, count(*) FROM why GROUP BY a');
-- Not a candidate at all.
SELECT * FROM reasons('SELECT a FROM why');
SELECT * FROM reasons('SELECT count(*) FROM pg_class');
SELECT * FROM reasons('SELECT max(x) FROM (VALUES (1), (2)) AS v (x)');
-- The statement.
SELECT * FROM reasons('SELECT a, b, count(*) FROM why GROUP BY GROUPING SETS (a, b)');
SELECT * FROM reasons('SELECT w.a, count(*) FROM why AS w JOIN why AS v ON w.n = v.n WHERE v.n < 5 GROUP BY w.a');
SELECT * FROM reasons('SELECT a, generate_series(1, 2), count(*) FROM why GROUP BY a');
SELECT * FROM reasons('SELECT count(*) FROM why WHERE false');
SELECT * FROM reasons('SELECT b, string_agg(a, '','' ORDER BY n) FROM why GROUP BY b');
SELECT * FROM reasons('SELECT a, (SELECT min(v.n) FROM why AS v WHERE v.a = w.a) FROM why AS w GROUP BY a');
-- Expressions.
SELECT * FROM reasons('SELECT upper(a || b), count(*) FROM why GROUP BY 1');
SELECT * FROM reasons('SELECT a, sum(other) FROM why GROUP BY a');
SELECT * FROM reasons('SELECT a, count(*) FROM why WHERE other > 5 GROUP BY a');
SELECT * FROM reasons('SELECT a, count(*) FROM why WHERE random() < 0.5 GROUP BY a');
SELECT * FROM reasons('SELECT a, count(*) FROM why WHERE a < b GROUP BY a');
SELECT * FROM reasons('SELECT a, max(pg_column_size(b)) FROM why GROUP BY a');
SELECT * FROM reasons('SELECT a, array_agg(b) FROM why GROUP BY a');
SELECT * FROM reasons('SELECT to_char(w.at, ''US'') AS part, count(*) FROM why AS w GROUP BY 1');
SELECT * FROM reasons('SELECT a, count(*) FROM why AS w WHERE w.at::text > ''2026'' GROUP BY 1');
SELECT * FROM reasons('SELECT count(*) FROM why GROUP BY why');
SELECT * FROM reasons('SELECT count(a) FROM why WHERE n > 5');
SELECT * FROM reasons('SELECT count(*) FROM why WHERE n % 2 = 0');
-- Settings.
SET pg_gpu.enable_query = off;
SET pg_gpu.enable_count_scan = off;
SELECT * FROM reasons('SELECT count(*) FROM why WHERE n > 5');
RESET pg_gpu.enable_query;
RESET pg_gpu.enable_count_scan;
-- Each query level, and what is planned within.
SELECT * FROM reasons('WITH c AS MATERIALIZED (SELECT a, count(*) AS x FROM why GROUP BY a) SELECT max(x) FROM c');
-- A partial index, and part of a table.
CREATE INDEX why_partial ON why USING gpu_column (a) WHERE n < 100;
SELECT * FROM reasons('SELECT a, count(*) FROM why GROUP BY a');
SELECT * FROM reasons('SELECT a, count(*) FROM why TABLESAMPLE SYSTEM (10) GROUP BY a');
DROP INDEX why_partial;
-- Lookups.
SELECT * FROM reasons('SELECT * FROM gpu.lookup(''why_k'', ARRAY[1, 2])');
SELECT * FROM reasons('SELECT why.a FROM gpu.lookup(''why_k'', ARRAY[1, 2]) AS l JOIN why ON why.ctid = l.tid');
SELECT * FROM reasons('SELECT why.a FROM gpu.lookup(''why_k'', ARRAY[1, 2]) AS l LEFT JOIN why ON why.ctid = l.tid');
SELECT * FROM reasons('SELECT why.a FROM gpu.lookup(''why_k'', ARRAY[1, 2]) AS l JOIN why ON why.n = l.ordinal');
SELECT * FROM reasons('SELECT why.a FROM gpu.lookup(''why_k'', ARRAY[1, 2]) AS l JOIN why ON why.ctid = l.tid FOR UPDATE OF why');
SET pg_gpu.enable_lookup_join = off;
SELECT * FROM reasons('SELECT * FROM gpu.lookup(''why_k'', ARRAY[1, 2])');
RESET pg_gpu.enable_lookup_join;
-- Only planned: neither the division nor the function comes to it.
CREATE FUNCTION noisy(text) RETURNS text LANGUAGE plpgsql STABLE AS 'BEGIN RAISE NOTICE ''called''; RETURN $1; END';
SELECT count(*) FROM gpu.explain_why('SELECT noisy(a), sum(1 / (n - n)) FROM why GROUP BY 1') WHERE used;
-- A function that planning runs plans statements of its own, which nobody has asked for.
CREATE FUNCTION nested() RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN (SELECT count(*) FROM why WHERE n < 10); END';
SELECT * FROM reasons('SELECT sum(n) FROM why WHERE n < nested()') WHERE node = 'GpuCount';
-- It may ask of itself.
SELECT * FROM reasons('SELECT count(*) FROM gpu.explain_why(''SELECT 1'')');
-- Parameters, and other statements that compute rows.
PREPARE asked (int4, unknown) AS SELECT a, count(*) FROM why WHERE n > $1 AND b < $2 GROUP BY a;
SELECT s AS statement, r.* FROM unnest(ARRAY['SELECT a, count(*) FROM why WHERE n = $1 GROUP BY a', 'EXECUTE asked (1, ''b'')', 'INSERT INTO why (a) SELECT a FROM why GROUP BY a',
    'CREATE TABLE asked AS SELECT a, sum(n) FROM why GROUP BY a', 'CREATE TABLE asked AS EXECUTE asked (1, ''b'')', 'DECLARE asked CURSOR FOR SELECT a, sum(n) FROM why GROUP BY a']) AS s, reasons(s) AS r
WHERE r.node = 'GpuQuery' ORDER BY s;
DEALLOCATE asked;
-- Rows of such a cursor may be fetched backwards, which first rows of an index can't.
SELECT s AS statement, r.reason FROM unnest(ARRAY['', 'DECLARE asked CURSOR FOR ', 'DECLARE asked NO SCROLL CURSOR FOR ']) AS s, reasons(s || 'SELECT a, n FROM why ORDER BY n LIMIT 3') AS r WHERE r.node = 'GpuQuery' ORDER BY s;
-- A statement that is planned in another way than it is written in.
SELECT * FROM reasons('SELECT count(*) FROM why AS w WHERE n > (SELECT avg(n) FROM why AS v WHERE v.a = w.a)') WHERE node = 'GpuQuery';
-- What can't be planned.
SELECT * FROM gpu.explain_why('SELECT count(* FROM why');
SELECT * FROM gpu.explain_why('SELECT count(*) FROM nowhere');
SELECT * FROM gpu.explain_why('SELECT count(*) FROM why; SELECT 1');
SELECT * FROM gpu.explain_why('');
SELECT * FROM gpu.explain_why('DELETE FROM why');
SELECT * FROM gpu.explain_why('EXPLAIN SELECT 1');
SELECT count(*) FROM gpu.explain_why(NULL);
-- A column of the second table, of which row security hides rows.
CREATE TABLE other (id int4, n int4) WITH (autovacuum_enabled = off);
INSERT INTO other SELECT i, i % 70 FROM generate_series(1, 2000) AS i;
CREATE INDEX other_i ON other USING gpu_column (id, n);
VACUUM ANALYZE other;
ALTER TABLE other ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON other USING (id > 5);
CREATE ROLE why_reader;
GRANT SELECT ON why, other TO why_reader;
SET ROLE why_reader;
SELECT node, reason FROM gpu.explain_why('SELECT count(*) FROM why AS w JOIN other AS o ON w.n = o.id WHERE o.n + 0 = 30');
RESET ROLE;
DROP OWNED BY why_reader;
DROP ROLE why_reader;
DROP TABLE other;
-- After an error nobody asks any more, and the next call answers.
SELECT * FROM gpu.explain_why('SELECT count(*) FROM why WHERE n < 1 / 0');
SELECT * FROM reasons('SELECT a, max(n) FROM why GROUP BY a') WHERE used;
-- Privileges are those of EXPLAIN.
CREATE ROLE gpu_why_stranger;
SET ROLE gpu_why_stranger;
SELECT * FROM gpu.explain_why('SELECT a, count(*) FROM why GROUP BY a');
RESET ROLE;
GRANT SELECT (a) ON why TO gpu_why_stranger;
SET ROLE gpu_why_stranger;
SELECT node, candidate, used FROM gpu.explain_why('SELECT a, count(*) FROM why GROUP BY a');
SELECT * FROM gpu.explain_why('SELECT b, count(*) FROM why GROUP BY b');
RESET ROLE;
-- Behind a security barrier: a condition that leaks, and one that doesn't.
CREATE FUNCTION leaky(text) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 > ''a3''; END';
GRANT SELECT ON why TO gpu_why_stranger;
ALTER TABLE why ENABLE ROW LEVEL SECURITY;
CREATE POLICY even ON why USING (n % 2 = 0);
SET ROLE gpu_why_stranger;
SELECT node, candidate, used, reason FROM gpu.explain_why('SELECT a, count(*) FROM why WHERE leaky(b) GROUP BY a');
SELECT node, candidate, used, reason FROM gpu.explain_why('SELECT a, count(*) FROM why WHERE b > ''b3'' GROUP BY a');
RESET ROLE;
DROP POLICY even ON why;
ALTER TABLE why DISABLE ROW LEVEL SECURITY;
REVOKE ALL ON why FROM gpu_why_stranger;
REVOKE SELECT (a) ON why FROM gpu_why_stranger;
DROP ROLE gpu_why_stranger;
-- A table that others inherit from.
CREATE TABLE why_child () INHERITS (why);
SELECT * FROM reasons('SELECT a, count(*) FROM why GROUP BY a');
SELECT * FROM reasons('SELECT a, count(DISTINCT n) FROM why GROUP BY a');
CREATE TABLE why_parent (a text);
ALTER TABLE why_child INHERIT why_parent;
SELECT * FROM reasons('SELECT a, count(*) FROM why_parent GROUP BY a');
SELECT * FROM reasons('SELECT a, count(*) FROM ONLY why GROUP BY a') WHERE used;
DROP VIEW reasons CASCADE;
SET client_min_messages = warning;
DROP TABLE why, why_parent CASCADE;
DROP FUNCTION leaky, noisy, nested;

-- A refused expression without a column, of a table of several partitions.
CREATE TABLE divided_why (id int4, raw numeric, word text) PARTITION BY RANGE (id);
CREATE TABLE divided_why_1 PARTITION OF divided_why FOR VALUES FROM (0) TO (2000);
CREATE TABLE divided_why_2 PARTITION OF divided_why FOR VALUES FROM (2000) TO (4000);
INSERT INTO divided_why SELECT i, i / 8.0, 'word ' || i % 9 FROM generate_series(0, 3999) AS i;
CREATE INDEX divided_why_i ON divided_why USING gpu_column (id, raw, word);
ANALYZE divided_why;
SELECT DISTINCT reason FROM gpu.explain_why($$SELECT string_agg('x', ',') FROM divided_why$$) WHERE node = 'GpuQuery';
SELECT DISTINCT reason FROM gpu.explain_why($$SELECT sum(raw) FILTER (WHERE raw <> 'NaN') FROM divided_why$$) WHERE node = 'GpuQuery';
DROP TABLE divided_why;
