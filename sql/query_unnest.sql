-- Sub-selects that compute an aggregate for each row around them, as groups that are joined, where that costs less. Each statement is run with the node
-- GpuQuery and without it, and the answers are held against each other.
SET pg_gpu.path = host;
SET pg_gpu.min_mirror_entries = 0;
SET max_parallel_workers_per_gather = 0;

CREATE TABLE piece (id int4, part int4, wide int8, name text, size numeric(8,2), day date, ratio float8) WITH (autovacuum_enabled = off);
INSERT INTO piece
SELECT i, CASE WHEN i % 29 > 0 THEN i * 7 % 600 END, i % 40, 'name ' || i % 50, CASE WHEN i % 11 > 0 THEN i * 7919 % 1009 / 4.0 END, date '2025-01-01' + i % 200, i % 17
FROM generate_series(1, 3600) AS i;
CREATE INDEX piece_i ON piece USING gpu_column (id, part, wide, name, size, day, ratio);
CREATE TABLE part (id int8, kind int4, name text, least numeric, tag "char") WITH (autovacuum_enabled = off);
INSERT INTO part SELECT CASE WHEN i % 31 > 0 THEN i END, i % 7, 'name ' || i % 60, i % 50 / 2.0, 'a' FROM generate_series(0, 399) AS i;
VACUUM ANALYZE piece, part;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
-- Is there a sub-select left that is asked for each row?
CREATE FUNCTION is_unnested(query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE line text; is_nested bool := false;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        is_nested := is_nested OR line ~ 'SubPlan';
    END LOOP;
    RETURN NOT is_nested;
END $$;
CREATE FUNCTION is_nested_loop(query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE line text; is_nested bool := false;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        is_nested := is_nested OR line ~ 'Nested Loop';
    END LOOP;
    RETURN is_nested;
END $$;
\set ECHO all
EXPLAIN (COSTS OFF) SELECT count(*) FROM piece p WHERE size < (SELECT 0.5 * avg(size) FROM piece q WHERE q.part = p.part);
\set asked '{"SELECT count(*), sum(size) FROM piece p WHERE size < (SELECT 0.5 * avg(size) FROM piece q WHERE q.part = p.part)","SELECT t.kind, count(*), sum(p.size) FROM piece p, part t WHERE p.part = t.id AND p.size > (SELECT min(size) + 3 FROM piece q WHERE q.part = t.id AND q.day < date ''2025-06-01'') GROUP BY 1","SELECT count(*) FROM part t WHERE t.least <= (SELECT max(q.size) FROM piece q WHERE q.part = t.id AND q.name = t.name)","SELECT count(*) FROM part t WHERE (SELECT sum(q.wide) FROM piece q WHERE q.wide = t.kind) > t.id","SELECT count(*) FROM piece p LEFT JOIN part t ON t.id = p.part AND t.kind = 3 WHERE p.size >= (SELECT avg(q.size) FROM piece q WHERE q.wide = t.kind)","SELECT count(*) FROM part t WHERE t.id IN (SELECT part FROM piece p WHERE size = (SELECT max(size) FROM piece q WHERE q.part = p.part))","SELECT count(*) FROM (SELECT id, size FROM piece p WHERE size > (SELECT 2 * stddev(size) FROM piece q WHERE q.wide = p.wide)) AS s WHERE id % 2 = 0","SELECT count(*) FROM piece p WHERE size < (SELECT avg(size) FROM piece q WHERE q.part = p.part) AND size > (SELECT min(size) FROM piece q WHERE q.wide = p.wide)","WITH w AS (SELECT part, size FROM piece p WHERE size <> (SELECT max(size) FROM piece q WHERE q.part = p.part)) SELECT count(*), sum(size) FROM w","SELECT count(*) FROM piece p, piece s WHERE p.id = s.id + 1 AND p.ratio < (SELECT max(q.ratio) FROM piece q, part t WHERE q.part = t.id AND t.kind = 2 AND q.wide = s.wide AND q.name = p.name)"}'
SELECT is_unnested(q), c.same, c.rows, q AS query FROM unnest(:'asked'::text[]) AS q, compare(q) AS c;
-- What must stay as it is: other results of no rows than NULL, other conditions than equality, errors of groups that nobody asks for, and the like.
\set others '{"SELECT count(*) FROM part t WHERE 0 = (SELECT count(*) FROM piece q WHERE q.part = t.id)","SELECT count(*) FROM part t WHERE t.least >= (SELECT coalesce(sum(size), 0) FROM piece q WHERE q.part = t.id)","SELECT count(*) FROM part t WHERE t.least IS DISTINCT FROM (SELECT max(size) FROM piece q WHERE q.part = t.id)","SELECT count(*) FROM part t WHERE t.least > (SELECT max(size) FROM piece q WHERE q.part < t.id) AND t.id < 20","SELECT count(*) FROM part t WHERE t.least > 3 OR t.least = (SELECT max(size) FROM piece q WHERE q.part = t.id)","SELECT count(*) FROM part t WHERE t.least > (SELECT max(100 / (q.wide - 3)) FROM piece q WHERE q.part = t.id AND q.wide <> 3)","SELECT id, (SELECT max(size) FROM piece q WHERE q.part = t.id) FROM part t WHERE id < 5 ORDER BY 1","SELECT count(*) FROM part t WHERE t.least > (SELECT size FROM piece q WHERE q.part = t.id ORDER BY id LIMIT 1)","SELECT count(*) FROM part t WHERE t.least > (SELECT max(size) FROM piece q WHERE q.part = t.id GROUP BY q.wide ORDER BY 1 LIMIT 1)","SELECT count(*) FROM part t WHERE t.least > (SELECT max(q.size + t.kind) FROM piece q WHERE q.part = t.id)"}'
SELECT is_unnested(q), c.same, c.rows, q AS query FROM unnest(:'others'::text[]) AS q, compare(q) AS c;
-- Elsewhere in WHERE, in SELECT, and of what isn't NULL of no rows: an outer join.
EXPLAIN (COSTS OFF) SELECT id, (SELECT count(*) FROM piece q WHERE q.part = t.id) AS n FROM part t ORDER BY n DESC, id LIMIT 3;
\set outer '{"SELECT id, (SELECT count(*) FROM piece q WHERE q.part = t.id) FROM part t","SELECT id, kind, (SELECT max(size) FROM piece q WHERE q.part = t.id AND q.wide < 20), (SELECT min(name) FROM piece q WHERE q.part = t.id) FROM part t","SELECT id, coalesce((SELECT sum(size) FROM piece q WHERE q.part = t.id), 0) + kind FROM part t WHERE kind < 5 ORDER BY 2 DESC, 1 LIMIT 9","SELECT id, (SELECT coalesce(sum(size), -1) FROM piece q WHERE q.part = t.id) FROM part t ORDER BY 2, 1 NULLS FIRST LIMIT 5","SELECT count(*) FROM part t WHERE 0 = (SELECT count(*) FROM piece q WHERE q.part = t.id)","SELECT count(*) FROM part t WHERE (SELECT count(*) FROM piece q WHERE q.part = t.id) > 5 OR kind = 3","SELECT kind, count(*) FROM part t WHERE t.least IS DISTINCT FROM (SELECT max(size) FROM piece q WHERE q.part = t.id) GROUP BY 1","SELECT t.kind, p.name, (SELECT count(*) FROM piece q WHERE q.wide = t.kind AND q.name = p.name) FROM part t LEFT JOIN piece p ON p.part = t.id WHERE t.id < 60","SELECT s.n, count(*) FROM (SELECT id, (SELECT count(*) FROM piece q WHERE q.part = t.id) AS n FROM part t) AS s GROUP BY 1","SELECT s.name || s.n, count(*) FROM (SELECT t.kind, (SELECT max(name) FROM piece q WHERE q.part = t.id) AS name, (SELECT count(size) FROM piece q WHERE q.part = t.id) AS n FROM part t) AS s GROUP BY 1","SELECT DISTINCT (SELECT count(*) FROM piece q WHERE q.part = t.id) FROM part t","SELECT id, rank() OVER (ORDER BY (SELECT count(*) FROM piece q WHERE q.part = t.id)) FROM part t","SELECT (SELECT count(*) FROM piece q WHERE q.part = t.id AND q.wide = t.kind AND t.id > 3) FROM part t","SELECT kind, (SELECT count(*) FROM piece q WHERE q.wide = t.kind) FROM part t GROUP BY kind","SELECT id, (SELECT 100 / count(*) FROM piece q WHERE q.part = t.id) FROM part t WHERE id < 5","SELECT t.id, (SELECT count(*) FROM piece q WHERE q.part = t.id), (SELECT q.id FROM piece q WHERE q.id = t.id) FROM part t WHERE t.id BETWEEN 10 AND 90","SELECT id FROM part t WHERE EXISTS (SELECT FROM piece p WHERE p.part = t.id AND p.size > (SELECT count(*) FROM piece q WHERE q.wide = p.wide AND q.size > 200))","WITH w AS MATERIALIZED (SELECT id, (SELECT count(*) FROM piece q WHERE q.part = t.id) AS n FROM part t) SELECT a.n, count(*) FROM w a JOIN w b ON a.n = b.n AND a.id = b.id GROUP BY 1"}'
SELECT is_unnested(q), c.same, c.rows, q AS query FROM unnest(:'outer'::text[]) AS q, compare(q) AS c;
-- EXISTS and IN as values: below OR, in CASE, in what is aggregated and grouped by, and in SELECT. Whether a row has a match is a column of a join.
EXPLAIN (COSTS OFF) SELECT kind, count(*) FILTER (WHERE EXISTS (SELECT FROM piece q WHERE q.part = t.id AND q.wide = 3)) FROM part t GROUP BY kind;
\set values '{"SELECT count(*) FROM part t WHERE EXISTS (SELECT FROM piece q WHERE q.part = t.id AND q.wide = 3) OR EXISTS (SELECT 1 FROM piece q WHERE q.name = t.name AND q.size > 240)","SELECT count(*) FROM part t WHERE kind < 2 OR NOT EXISTS (SELECT FROM piece q WHERE q.part = t.id AND q.wide < 9 LIMIT 1)","SELECT kind, count(CASE WHEN EXISTS (SELECT DISTINCT q.id FROM piece q WHERE q.part = t.id AND q.wide < 9 ORDER BY q.id) THEN 1 END), count(*) FROM part t GROUP BY 1","SELECT kind, count(*) FILTER (WHERE EXISTS (SELECT FROM piece q WHERE q.part = t.id AND q.wide = 3)) FROM part t GROUP BY kind HAVING bool_or(EXISTS (SELECT FROM piece q WHERE q.part = t.id AND q.wide = 3))","SELECT EXISTS (SELECT FROM piece q WHERE q.part = t.id AND q.wide < 9) AS x, count(*) FROM part t GROUP BY 1","SELECT CASE WHEN EXISTS (SELECT FROM piece q WHERE q.part = t.id AND q.wide < 9) THEN ''some'' ELSE name END, kind, count(*), GROUPING(kind) FROM part t GROUP BY ROLLUP (1, 2)","SELECT id, EXISTS (SELECT FROM piece q WHERE q.part = t.id AND q.name = t.name) FROM part t ORDER BY 2 DESC, 1 LIMIT 9","SELECT x, count(*) FROM (SELECT EXISTS (SELECT FROM piece q JOIN part s ON s.id = q.part WHERE q.wide = t.id) AS x FROM part t) AS v GROUP BY 1","SELECT count(*) FROM part t WHERE id IN (SELECT part FROM piece q WHERE q.wide = t.kind)","SELECT count(*) FROM part t WHERE id IN (SELECT part FROM piece q WHERE q.wide = t.kind) OR kind = 6","SELECT count(*) FROM part t WHERE (id, kind) IN (SELECT part, wide FROM piece) OR kind = 6","SELECT t.id IN (SELECT part FROM piece q WHERE q.wide < 9) AS x, count(*) FROM part t GROUP BY 1","SELECT t.id IN (SELECT part FROM piece q WHERE q.wide < 9 AND part > 3) AS x, count(*) FROM part t GROUP BY 1","SELECT t.id IN (SELECT part FROM piece q WHERE q.wide > 99) AS x, count(*) FROM part t GROUP BY 1","SELECT count(*) FROM part t WHERE kind = 6 OR NOT id IN (SELECT part FROM piece WHERE part > 100)","SELECT count(*) FROM part t WHERE (id IN (SELECT part FROM piece GROUP BY part HAVING count(*) > 5)) IS NOT TRUE","SELECT count(*) FROM part t WHERE CASE WHEN kind > 3 THEN id IN (SELECT part FROM piece WHERE wide = 7) ELSE least > 9 END","SELECT count(*) FROM piece p LEFT JOIN part t ON t.id = p.part WHERE t.kind > 4 OR EXISTS (SELECT FROM piece q WHERE q.wide = t.id)","SELECT count(DISTINCT t.id) FROM part t, piece p WHERE p.part = t.id AND (t.kind = 1 OR EXISTS (SELECT FROM piece q WHERE q.id = t.id AND q.wide = p.wide))"}'
SELECT is_unnested(q), c.same, c.rows, q AS query FROM unnest(:'values'::text[]) AS q, compare(q) AS c;
-- Not so: no equality, what may fail, more rows than LIMIT leaves, an expression above groups, a set.
\set kept '{"SELECT count(*) FROM part t WHERE kind = 1 OR EXISTS (SELECT FROM piece q WHERE q.part > t.id AND q.wide = 3)","SELECT count(*) FROM part t WHERE kind = 1 OR EXISTS (SELECT FROM piece q WHERE q.part = 100 / t.kind)","SELECT count(*) FROM part t WHERE kind > 0 AND (kind = 1 OR EXISTS (SELECT FROM piece q WHERE 100 / (q.wide - 3) = t.id))","SELECT count(*) FROM part t WHERE kind = 1 OR EXISTS (SELECT FROM piece q WHERE q.part = t.id LIMIT 0)","SELECT count(*) FROM part t WHERE kind = 1 OR EXISTS (SELECT FROM piece q WHERE q.part = t.id OFFSET 6)","SELECT count(*) FROM part t WHERE kind = 1 OR EXISTS (SELECT count(*) FROM piece q WHERE q.part = t.id)","SELECT kind, EXISTS (SELECT FROM piece q WHERE q.wide = t.kind) FROM part t GROUP BY kind","SELECT id, EXISTS (SELECT FROM piece q WHERE q.part = t.id), generate_series(1, 2) FROM part t WHERE id < 9","SELECT count(*) FROM part t WHERE kind = 1 OR (id, kind) NOT IN (SELECT part, wide FROM piece)","SELECT count(*) FROM part t WHERE kind = 1 OR id NOT IN (SELECT q.part FROM piece q WHERE q.wide = t.kind)","SELECT rank() OVER (ORDER BY id) IN (SELECT part FROM piece) AS x FROM part t"}'
SELECT is_unnested(q), c.same, c.rows, q AS query FROM unnest(:'kept'::text[]) AS q, compare(q) AS c;
-- LATERAL subqueries of aggregates, whose columns are such sub-selects where they are named.
EXPLAIN (COSTS OFF) SELECT t.id, x.n, x.most FROM part t CROSS JOIN LATERAL (SELECT count(*) AS n, max(size) AS most FROM piece q WHERE q.part = t.id) AS x;
\set lateral '{"SELECT t.kind, sum(x.n), sum(x.s) FROM part t CROSS JOIN LATERAL (SELECT count(*) AS n, sum(size) AS s FROM piece q WHERE q.part = t.id) AS x GROUP BY 1","SELECT t.id, x.n, x.most FROM part t LEFT JOIN LATERAL (SELECT count(*) AS n, max(day) AS most FROM piece q WHERE q.part = t.id AND q.wide < 9) AS x ON true","SELECT x.n, count(*), x.n + 1 FROM part t, LATERAL (SELECT count(*) AS n FROM piece q WHERE q.part = t.id) AS x GROUP BY x.n HAVING x.n > 3","SELECT t.id, x.*, y.m FROM part t CROSS JOIN LATERAL (SELECT count(*) AS n, min(name) AS name FROM piece q WHERE q.part = t.id) AS x CROSS JOIN LATERAL (SELECT avg(size) AS m FROM piece q WHERE q.wide = t.kind) AS y JOIN piece p ON p.id = t.id WHERE x.n > 5","SELECT t.kind, count(*) FROM part t JOIN LATERAL (SELECT max(size) AS s FROM piece q WHERE q.part = t.id) AS x ON x.s > 220 AND t.kind > 1 LEFT JOIN piece p ON p.id = t.id AND p.wide = 3 GROUP BY 1","SELECT rank() OVER (ORDER BY x.n), x.one FROM part t, LATERAL (SELECT count(*) AS n, 1 AS one FROM piece q WHERE q.part = t.id) AS x WHERE x.n IS NOT NULL"}'
SELECT is_unnested(q) AND NOT is_nested_loop(q) AS is_unnested, c.same, c.rows, q AS query FROM unnest(:'lateral'::text[]) AS q, compare(q) AS c;
-- Not those of whole rows, below outer joins, in conditions of joins, of rows of one another, with a function that returns a set, with LIMIT or groups.
\set per_row '{"SELECT t.id, x FROM part t CROSS JOIN LATERAL (SELECT count(*) AS n FROM piece q WHERE q.part = t.id) AS x WHERE t.id < 30","SELECT p.id, x.n FROM piece p LEFT JOIN (part t CROSS JOIN LATERAL (SELECT count(*) AS n FROM piece q WHERE q.part = t.id) AS x) ON t.id = p.id * 20 WHERE p.id < 20","SELECT t.id, p.id FROM part t CROSS JOIN LATERAL (SELECT count(*) AS n FROM piece q WHERE q.part = t.id) AS x LEFT JOIN piece p ON p.id = x.n WHERE t.id < 20","SELECT t.id, y.m FROM part t CROSS JOIN LATERAL (SELECT max(q.wide) AS n FROM piece q WHERE q.part = t.id) AS x CROSS JOIN LATERAL (SELECT count(*) AS m FROM piece q WHERE q.wide = x.n) AS y WHERE t.id < 20","SELECT x.n, generate_series(1, 2) FROM part t CROSS JOIN LATERAL (SELECT count(*) AS n FROM piece q WHERE q.part = t.id) AS x WHERE t.id < 20","SELECT t.id, x.size FROM part t CROSS JOIN LATERAL (SELECT size FROM piece q WHERE q.part = t.id ORDER BY id LIMIT 1) AS x WHERE t.id < 20","SELECT t.id, x.* FROM part t CROSS JOIN LATERAL (SELECT wide, count(*) FROM piece q WHERE q.part = t.id GROUP BY 1) AS x WHERE t.id < 20"}'
SELECT is_unnested(q) AND NOT is_nested_loop(q) AS is_unnested, c.same, c.rows, q AS query FROM unnest(:'per_row'::text[]) AS q, compare(q) AS c;
-- NOT IN, of values and NULLs, where PostgreSQL would go through the sub-select's rows for each row.
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
\set excluded '{"SELECT count(*) FROM part WHERE id NOT IN (SELECT id FROM piece)","SELECT count(*), sum(kind) FROM part WHERE id NOT IN (SELECT part FROM piece WHERE part > 100)","SELECT count(*) FROM part WHERE id NOT IN (SELECT part FROM piece)","SELECT count(*), count(id) FROM part WHERE id NOT IN (SELECT id FROM piece WHERE wide > 99)","SELECT count(*), count(part) FROM piece WHERE part NOT IN (SELECT id FROM part t WHERE id < 300)","SELECT part, count(*) FROM piece WHERE name NOT IN (SELECT name FROM part) GROUP BY 1","SELECT count(*) FROM part WHERE kind + 3000 NOT IN (SELECT max(id) FROM piece GROUP BY wide, name)","SELECT count(*) FROM part t LEFT JOIN piece p ON p.id = t.id AND p.wide = 3 WHERE p.part NOT IN (SELECT id FROM piece WHERE id > 500)","SELECT count(*) FROM (SELECT id FROM part WHERE id NOT IN (SELECT q.id FROM piece q, part t WHERE q.part = t.id)) AS s","WITH w AS MATERIALIZED (SELECT id FROM part WHERE least NOT IN (SELECT size FROM piece WHERE size IS NOT NULL)) SELECT count(*) FROM w","SELECT count(*) FROM part WHERE NOT id NOT IN (SELECT id FROM piece)","SELECT count(*) FROM part WHERE (id, kind) NOT IN (SELECT id, part FROM piece)","SELECT count(*) FROM part WHERE id NOT IN (SELECT id FROM piece q WHERE q.wide = part.kind)","SELECT count(*) FROM part WHERE id <> ALL (SELECT id FROM piece)","SELECT count(*) FROM part WHERE id NOT IN (SELECT 100 / (wide - 3) FROM piece WHERE wide <> 3)"}'
SELECT is_unnested(q), c.same, c.rows, q AS query FROM unnest(:'excluded'::text[]) AS q, compare(q) AS c;
RESET work_mem;
RESET hash_mem_multiplier;
-- Where they have room, but reading them costs more than the join.
CREATE TABLE chosen (part int4) WITH (autovacuum_enabled = off);
INSERT INTO chosen SELECT nullif(i % 700, 0) FROM generate_series(1, 60000) AS i;
CREATE INDEX chosen_i ON chosen USING gpu_column (part);
VACUUM ANALYZE chosen;
SELECT is_unnested(q), c.same, c.rows, q AS query FROM unnest(ARRAY['SELECT count(*), sum(id) FROM piece WHERE part NOT IN (SELECT part FROM chosen WHERE part IS NOT NULL)',
    'SELECT count(*), sum(id) FROM piece WHERE part IN (SELECT part FROM chosen WHERE part > 300) OR wide = 3']) AS q, compare(q) AS c;
DROP TABLE chosen;
-- What sub-selects are matched by can't raise an error: remainders and quotients of constants, fields and units of moments, parts of text.
\set computed '{"SELECT count(*) FROM piece p WHERE size < (SELECT avg(size) FROM piece q WHERE q.id % 20 = p.id % 20)","SELECT count(*) FROM piece p WHERE size < (SELECT avg(size) FROM piece q WHERE q.wide / 3 = p.wide / 3)","SELECT count(*) FROM piece p WHERE size < (SELECT avg(size) FROM piece q WHERE extract(month FROM q.day) = extract(month FROM p.day) AND q.part = p.part)","SELECT count(*) FROM piece p WHERE size < (SELECT avg(size) FROM piece q WHERE date_trunc(\'week\', q.day) = date_trunc(\'week\', p.day))","SELECT count(*) FROM piece p WHERE size < (SELECT avg(size) FROM piece q WHERE upper(q.name) = upper(p.name))","SELECT kind, (SELECT max(size) FROM piece q WHERE left(q.name, 6) = left(t.name, 6)) FROM part t"}'
SELECT is_unnested(q), c.same, c.rows, q AS query FROM unnest(:'computed'::text[]) AS q, compare(q) AS c;
-- Those that may.
\set computed '{"SELECT count(*) FROM piece p WHERE size < (SELECT avg(size) FROM piece q WHERE q.id % 20 = p.id % (p.wide - 41))","SELECT count(*) FROM piece p WHERE size < (SELECT avg(size) FROM piece q WHERE q.wide / -1 = p.wide)","SELECT count(*) FROM piece p WHERE size < (SELECT avg(size) FROM piece q WHERE q.id + 1 = p.id)"}'
SELECT is_unnested(q), c.same, c.rows, q AS query FROM unnest(:'computed'::text[]) AS q, compare(q) AS c;
-- INSERT of what SELECT gives, and of which WITH queries are a part.
CREATE TABLE kept (way text, id int8, size numeric);
\set first 'INSERT INTO kept SELECT current_setting(\'pg_gpu.enable_query\'), id, size FROM piece p WHERE size < (SELECT avg(size) FROM piece q WHERE q.part = p.part)'
\set second 'WITH large AS (SELECT part, max(size) AS most FROM piece GROUP BY part) INSERT INTO kept SELECT current_setting(\'pg_gpu.enable_query\'), t.id, (SELECT sum(size) FROM piece q WHERE q.name = t.name) FROM part t JOIN large ON large.part = t.id WHERE most > 240 ON CONFLICT DO NOTHING'
SELECT is_unnested(q), q AS query FROM unnest(ARRAY[:'first', :'second']) AS q;
:first;
:second;
SET pg_gpu.enable_query = off;
:first;
:second;
RESET pg_gpu.enable_query;
SELECT count(*), count(*) FILTER (WHERE ways <> '{off,on}') AS others FROM (SELECT array_agg(way ORDER BY way) AS ways FROM kept GROUP BY id, size) AS s;
DROP TABLE kept;
-- Without the index of columns, nothing changes.
DROP INDEX piece_i;
SELECT is_unnested($$SELECT count(*) FROM piece p WHERE size < (SELECT 0.5 * avg(size) FROM piece q WHERE q.wide = p.wide)$$);
CREATE INDEX piece_i ON piece USING gpu_column (id, part, wide, name, size, day, ratio);
-- Parameters, views, and privileges.
SET plan_cache_mode = force_generic_plan;
PREPARE asked (numeric, date) AS SELECT count(*) FROM piece p WHERE size < $1 * (SELECT avg(size) FROM piece q WHERE q.part = p.part AND q.day < $2);
EXECUTE asked(0.5, '2025-03-01');
EXECUTE asked(2, NULL);
CREATE VIEW above AS SELECT * FROM piece p WHERE size > (SELECT avg(size) FROM piece q WHERE q.part = p.part);
SELECT * FROM compare('SELECT count(*), sum(size) FROM above WHERE wide > 5');
CREATE ROLE regress_unnest_reader;
GRANT SELECT ON part TO regress_unnest_reader;
SET ROLE regress_unnest_reader;
SELECT count(*) FROM part t WHERE t.least < (SELECT max(size) FROM piece q WHERE q.part = t.id);
RESET ROLE;
GRANT SELECT ON above TO regress_unnest_reader;
SET ROLE regress_unnest_reader;
SELECT count(*) FROM above;
RESET ROLE;
DROP OWNED BY regress_unnest_reader;
DROP ROLE regress_unnest_reader;

DROP FUNCTION compare, compare_all, who_answers, answer_of, is_unnested, is_nested_loop;
DROP VIEW above;
DROP TABLE piece, part;
