-- Numerics that PostgreSQL computes for the node GpuQuery: for each entry of a dictionary, or for each combination that rows have of what is computed
-- with. Each statement is run with the node and without it, and the answers are held against each other as text.
SET pg_gpu.path = host;
SET pg_gpu.min_mirror_entries = 0;
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;
SET parallel_setup_cost = 0;

CREATE TABLE sold (id int4, part int4, price numeric(12,2), loose numeric, rate numeric, odd numeric, doc jsonb, word text, at time, span interval) WITH (autovacuum_enabled = off);
-- `loose` shows 1.5 and 1.50, `rate` has so many digits that two words have them, and `odd` is NaN here and there.
INSERT INTO sold SELECT i, i % 40, i % 300 * 0.25 - 5, (ARRAY[1.5, 1.50, 2, 0.000, 0, -3.25, NULL])[1 + i % 7], (i % 60) / 7.0, CASE i % 30 WHEN 0 THEN 'NaN'::numeric WHEN 1 THEN 'Infinity' WHEN 2 THEN NULL ELSE i % 30 END,
    jsonb_build_object('n', i % 50 * 0.5, 'kind', 'k' || i % 3, 'raw', CASE WHEN i % 9 = 0 THEN 'none' ELSE (i % 9)::text || '.50' END), (i % 80)::text || repeat('0', i % 3), time '00:00' + i * interval '7.25 seconds', i % 100 * interval '11.5 minutes'
FROM generate_series(1, 4000) AS i;
CREATE TABLE parts (part int4 PRIMARY KEY, weight numeric, doc jsonb);
INSERT INTO parts SELECT i, i * 0.5, jsonb_build_object('w', i * 1.25) FROM generate_series(0, 30) AS i;
CREATE INDEX sold_i ON sold USING gpu_column (id, part, price, loose, rate, odd, doc, word, at, span);
VACUUM ANALYZE sold, parts;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all
CREATE FUNCTION twice(text) RETURNS numeric LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN $1::numeric * 2.0; END $$;

CREATE TEMP TABLE list AS SELECT $list$
-- Of a dictionary's entries.
SELECT sum((doc->>'n')::numeric), avg((doc->>'n')::numeric), min((doc->>'n')::numeric), max((doc->>'n')::numeric(10,2)), stddev((doc->>'n')::numeric) FROM sold
SELECT doc->>'kind', sum((doc->>'n')::numeric * price), sum((doc->>'n')::numeric(8,2)), count(DISTINCT (doc->>'n')::numeric) FROM sold GROUP BY 1
SELECT (doc->>'n')::numeric(6,3), count(*) FROM sold WHERE (doc->>'n')::numeric > 3 GROUP BY 1
SELECT (doc->>'n')::numeric, count(*) FROM sold GROUP BY 1
SELECT word::numeric, count(*), sum(part) FROM sold WHERE word::numeric IN (1, 20, 300) OR word::numeric > 70 GROUP BY 1
SELECT sum(to_number(word, '999999')), sum(extract(epoch FROM span)), sum(extract(minute FROM span)) FROM sold
SELECT sum(word::numeric / 7), avg(CASE WHEN part > 3 THEN word::numeric ELSE 0 END), sum(greatest(word::numeric, price)) FROM sold
SELECT sum((doc->>'raw')::numeric) FROM sold
SELECT sum((doc->>'raw')::numeric) FROM sold WHERE doc->>'raw' <> 'none'
SELECT sum(('1e40' || word)::numeric), sum(twice(word)) FROM sold
SELECT * FROM (SELECT id, word::numeric FROM sold ORDER BY 2 DESC, id LIMIT 20) AS s
-- Of combinations, numerics of many digits and several looks among them.
SELECT sum(sqrt(abs(price))), avg(ln(abs(price) + 1)), sum(exp(price / 20)), sum(power(price, 2)), sum(price ^ 3), min(log(abs(price) + 1.5)), max(log(2.0, part + 1.5)) FROM sold
SELECT part, sum(sqrt(part::numeric)), min(sqrt(part::numeric)), stddev(sqrt(part::numeric)), sum(factorial(part % 15)) FROM sold GROUP BY part
SELECT round(sqrt(abs(price)), 1), count(*) FROM sold GROUP BY 1
SELECT sqrt(part::numeric), count(*) FROM sold GROUP BY 1
SELECT sum(sqrt(abs(rate))), sum(ln(rate + 1)), max(sqrt(rate)), count(*) FILTER (WHERE sqrt(rate) > 1.5) FROM sold
SELECT loose::text, scale(loose), count(*) FROM sold GROUP BY 1, 2
SELECT sum(sqrt(abs(loose))), sum(trim_scale(loose)), sum(div(loose, 0.7)), sum(scale(loose)), sum(min_scale(loose)) FROM sold
SELECT id % 7, sum(sqrt(abs(loose))), sum(trim_scale(loose)), sum(exp(loose)), sum(loose ^ 2) FROM sold GROUP BY 1
SELECT width_bucket(price / nullif(part, 0), 0, 20, 6), count(*) FROM sold GROUP BY 1
SELECT width_bucket(loose, ARRAY[0, 1.5, 2]::numeric[]), width_bucket(rate, ARRAY[1, 5]::numeric[]), count(*) FROM sold GROUP BY 1, 2
SELECT extract(hour FROM at), count(*), sum(extract(epoch FROM at)), avg(extract(second FROM at)) FROM sold GROUP BY 1
SELECT sum(sqrt(abs(odd))), sum(ln(odd)), sum(odd ^ 2) FROM sold WHERE odd > 0
SELECT part, sum(sqrt(abs(odd))), min(sqrt(abs(odd))), max(sqrt(abs(odd))), stddev(sqrt(abs(odd))) FROM sold GROUP BY part
SELECT sqrt(abs(odd)), count(*) FROM sold GROUP BY 1
SELECT gcd(part::numeric, 12), lcm(part::numeric, 6), count(*) FROM sold GROUP BY 1, 2
-- What fails in rows that don't count, and in those that do.
SELECT sum(ln(price)) FROM sold
SELECT sum(ln(price)), avg(sqrt(price)) FROM sold WHERE price > 0
SELECT sum(ln(price)) FILTER (WHERE price > 0), sum(CASE WHEN price >= 0 THEN sqrt(price) END), sum(CASE WHEN part > 0 THEN log(part::numeric) ELSE -1 END) FROM sold
SELECT part, avg(ln(loose)) FILTER (WHERE loose > 0) FROM sold GROUP BY part
SELECT count(*) FROM sold WHERE price > 0 AND ln(price) > 2
SELECT count(*) FROM sold WHERE price >= 0 AND ln(price) > 2
-- Many digits: squares that have no room, and such that have.
SELECT part, variance(price * 1000000), stddev(price / 7), var_pop(rate), stddev(rate * price), variance(id * 1e15), stddev_pop(-id * 123456789012345.678) FROM sold GROUP BY part
SELECT stddev(id::int8 * 1000000007 * 1000), variance(id::int8), var_pop(rate) FILTER (WHERE part > 5), stddev(rate * 1e20) FROM sold
SELECT stddev(id * 1e33) FROM sold
SELECT round(corr((doc->>'n')::numeric, part)::numeric, 9), round(regr_slope(price / 7, part)::numeric, 9), regr_count(id * 1e16, rate), round(covar_pop(id * 1e16, part)::numeric / 1e20, 3) FROM sold
-- Distinct numbers that look alike where they are equal, and such that don't.
SELECT sum(DISTINCT loose) FROM sold
SELECT id % 7, sum(DISTINCT loose), avg(DISTINCT loose), count(DISTINCT loose) FROM sold GROUP BY 1
SELECT part, sum(DISTINCT rate), sum(DISTINCT odd), avg(DISTINCT odd) FILTER (WHERE odd < 100), sum(DISTINCT loose) FILTER (WHERE loose = 2) FROM sold GROUP BY part
SELECT max(s), sum(s) FROM (SELECT id % 7 AS k, sum(DISTINCT loose) AS s FROM sold GROUP BY 1) AS g
SELECT part FROM sold GROUP BY part HAVING sum(DISTINCT rate) > 30 ORDER BY sum(DISTINCT rate) DESC, part LIMIT 3
-- Joined rows, and inputs without an index.
SELECT kind, sum(sqrt(weight + price)), sum((p.doc->>'w')::numeric * price) FROM (SELECT part, price, doc->>'kind' AS kind FROM sold WHERE price > 0) AS s JOIN parts p USING (part) GROUP BY 1
SELECT sqrt(weight), count(*) FROM sold JOIN parts USING (part) GROUP BY 1
SELECT s, count(*) FROM (SELECT part, sum(sqrt(part::numeric)) AS s FROM sold GROUP BY 1) AS g GROUP BY 1
$list$ AS queries;
SELECT c.who, c.rows, c.same, c.query FROM list, compare_all(queries) AS c;
INSERT INTO sold (id, part, price, loose, rate, odd, doc, word, at) SELECT i, i % 50, i, 7.70, i / 3.0, '-Infinity', '{"n": 3.125, "kind": "new"}', '9.75', '12:00:00.25' FROM generate_series(5001, 5020) AS i;
DELETE FROM sold WHERE id % 10 = 3;
SELECT c.who, c.rows, c.same, c.query FROM list, compare_all(queries) AS c WHERE c.who NOT IN ('node', 'other plan') OR c.same <> 'same';
DROP TABLE sold, parts;
DROP FUNCTION answer_of, who_answers, compare, compare_all, twice;
