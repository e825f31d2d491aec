-- What PostgreSQL computes of a row or a group may fail though nobody asks for the result. Each statement is run with the node and without it, and answers and errors are held
-- against each other.
SET pg_gpu.path = host;
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;
SET jit = off;

CREATE TABLE account (id int8 NOT NULL, owner int4 NOT NULL, near int8 NOT NULL, few int4 NOT NULL, none int4 NOT NULL, word text NOT NULL, price numeric(12,2) NOT NULL) WITH (autovacuum_enabled = off);
-- `near` is close to the end of its type, `few` is 0 in some rows and `none` in all of them, and `word` isn't always a number.
INSERT INTO account SELECT g, g % 50, 9223372036854770000 + g, g % 10, 0, CASE WHEN g % 10 = 0 THEN 'none' ELSE (g % 10)::text END, g % 300 / 4.0 FROM generate_series(1, 2000) AS g;
CREATE TABLE owner (owner int4 PRIMARY KEY, share int4 NOT NULL);
INSERT INTO owner SELECT g, g % 5 FROM generate_series(0, 40) AS g;
CREATE INDEX account_i ON account USING gpu_column (id, owner, near, few, none, word, price);
VACUUM (FREEZE, ANALYZE) account, owner;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all
CREATE FUNCTION compared(query text) RETURNS text LANGUAGE sql AS $$ SELECT who || ', ' || same FROM compare(query) $$;

-- What is counted is never NULL, so that the rows would do, if nothing could fail.
SELECT argument, compared(format('SELECT count(%s) FROM account', argument)) AS all_rows, compared(format('SELECT owner, count(%s), sum(id) FROM account GROUP BY 1', argument)) AS by_owner
FROM unnest(ARRAY['near * 2', 'near + id * 3000000', '- near * 3', 'near + owner * id', 'coalesce(id / few, 1)', 'coalesce(near * owner, id)', 'greatest(id, near * 2)', '(near - id)::int4', 'owner % few', 'id / none', 'near * 2 > 5',
                  '(near * id) IS NULL', 'few / none', 'owner / few', '10 / few', 'word::int4', 'price * id', 'near - id', 'owner + few']) AS argument;
SELECT compared('SELECT count(near * 2), sum(near * 2) FROM account'), compared('SELECT count(near - id), sum(near - id), avg(near - id) FROM account'), compared('SELECT near - id, count(near - id) FROM account GROUP BY 1'),
       compared('SELECT count(DISTINCT near * owner) FROM account'), compared('SELECT sum(near * owner * 0) FROM account'), compared('SELECT min(near + owner * id), max(id) FROM account');

-- A CASE evaluates its conditions, whatever they choose.
SELECT expression, compared(format('SELECT count(%s) FROM account', expression)) AS counts, compared(format('SELECT sum(%s) FROM account WHERE owner <> id', expression)) AS sums, compared(format('SELECT %s, count(*) FROM account GROUP BY 1', expression)) AS groups
FROM unnest(ARRAY['CASE WHEN id / few > 1 THEN NULL::int8 END', 'CASE WHEN owner = id THEN near WHEN near * owner > 1 THEN NULL END', 'CASE WHEN owner < id THEN NULL WHEN id / none > 1 THEN 1 END', 'CASE near * owner WHEN 1 THEN NULL::int8 END',
                  'CASE WHEN owner <= id THEN owner WHEN id / none > 1 THEN NULL END', 'CASE WHEN few = 0 THEN NULL WHEN id / few > 1 THEN NULL::int8 END', 'CASE WHEN id / few > 1 THEN NULL::numeric END', 'nullif(near * owner, id)', 'coalesce(owner, id / none)']) AS expression;

-- WHERE comes before FILTER, also where a FILTER that all aggregates have is taken for a condition.
SELECT compared('SELECT count(*) FILTER (WHERE few <> 0) FROM account WHERE 10 / few > 0'), compared('SELECT count(*) FILTER (WHERE few <> 0) FROM account WHERE id / few > 0'), compared('SELECT sum(id) FILTER (WHERE word <> ''none'') FROM account WHERE word::int4 > 3'),
       compared('SELECT sum(10 / few) FILTER (WHERE few <> 0), count(*) FILTER (WHERE few <> 0) FROM account'), compared('SELECT sum(id / few) FILTER (WHERE few <> 0) FROM account'), compared('SELECT sum(id) FILTER (WHERE id / few > 1) FROM account WHERE few > 0'),
       compared('SELECT owner, sum(id / few) FILTER (WHERE few <> 0) FROM account GROUP BY 1'), compared('SELECT count(*) FILTER (WHERE near * owner > 1) FROM account');

-- PostgreSQL computes what it shows of all groups, also of those that a LIMIT leaves out.
SELECT shown, compared(format('SELECT owner, count(*), %s FROM account GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 3', shown)) AS by_count, compared(format('SELECT owner, sum(price), %s FROM account GROUP BY 1 ORDER BY 2, 1 LIMIT 3', shown)) AS by_sum
FROM unnest(ARRAY['1 / owner', '10 / min(few)', 'sum(near) / sum(few)', 'sum(few)::int2 * 400::int2', 'round(avg(price), 1)', 'sum(id) / 3', 'coalesce(sum(id), 0) - 1']) AS shown;
SELECT compared('SELECT owner, count(*) FROM account GROUP BY 1 HAVING 10 / min(few) > 0 ORDER BY 2 DESC, 1 LIMIT 3'), compared('SELECT 10 / few, count(*) FROM account GROUP BY 1'), compared('SELECT DISTINCT near * owner FROM account'),
       compared('SELECT few, word, count(near * 2) FROM account GROUP BY GROUPING SETS ((few), (word), ())'), compared('SELECT few FROM (SELECT few, count(near * 2) FROM account GROUP BY 1) AS unused'),
       compared('SELECT count(*) FROM (SELECT near * 2 AS twice FROM account) AS unused'), compared('SELECT count(twice) FROM (SELECT near * 2 AS twice FROM account) AS used'),
       compared('SELECT 1 WHERE EXISTS (SELECT count(near * 2) FROM account HAVING count(*) > 0)');

-- Joins compute for the rows that have a match.
SELECT compared('SELECT count(10 / share) FROM account JOIN owner USING (owner)'), compared('SELECT count(10 / share) FROM account JOIN owner USING (owner) WHERE share > 0'), compared('SELECT share, count(near * 2) FROM account JOIN owner USING (owner) GROUP BY 1'),
       compared('SELECT count(near * share) FROM account LEFT JOIN owner USING (owner)'), compared('SELECT count(near + id) FROM account WHERE owner IN (SELECT owner FROM owner)'), compared('SELECT sum(share / few) FROM account JOIN owner USING (owner)');
DROP TABLE account, owner;
DROP FUNCTION compared, compare, compare_all, who_answers, answer_of;
