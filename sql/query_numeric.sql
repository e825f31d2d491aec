-- Arithmetic, comparisons, CASE and COALESCE of numerics over several columns, in the node GpuQuery: each statement is run with the node and without
-- it, and the answers are held against each other as text, so that digits behind the point count, too.
SET pg_gpu.path = host;
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;

CREATE TABLE sold (id int4, part int4, price numeric(15,2), discount numeric(15,2), tax numeric(15,2), fine numeric(20,8), loose numeric, count int4, many int8, word text,
                   flag bool) WITH (autovacuum_enabled = off);
INSERT INTO sold
SELECT i, i % 40, CASE WHEN i % 17 <> 0 THEN (i * 7919) % 100003 * 1.25 - 300 END, i % 11 * 0.01, CASE WHEN i % 13 <> 0 THEN i % 9 * 0.01 END, i * 0.00000003 - 0.00004,
       CASE i % 6 WHEN 0 THEN 1.5 WHEN 1 THEN 1.50 WHEN 2 THEN -2 WHEN 3 THEN 100.125 WHEN 4 THEN 0.000 END, i % 50, i::int8 * 1000003, 'word ' || i % 7, i % 3 = 0
FROM generate_series(1, 5000) AS i;
INSERT INTO sold (id) SELECT NULL FROM generate_series(1, 20);
CREATE TABLE parts (part int4 PRIMARY KEY, kind text, cost numeric(15,2), weight numeric) WITH (autovacuum_enabled = off);
INSERT INTO parts SELECT i, CASE i % 3 WHEN 0 THEN 'PROMO' ELSE 'OTHER' END || i, i * 1.11, CASE i % 4 WHEN 0 THEN i WHEN 1 THEN i * 0.5 WHEN 2 THEN i * 0.250 END FROM generate_series(0, 38) AS i;
CREATE INDEX sold_i ON sold USING gpu_column (id, part, price, discount, tax, fine, loose, count, many, word, flag);
VACUUM ANALYZE sold, parts;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all

-- Arithmetic.
SELECT * FROM compare_all($list$
SELECT sum(price * (1 - discount)), sum(price * (1 - discount) * (1 + tax)), avg(price * discount), count(price * tax) FROM sold
SELECT word, sum(price), sum(price * (1 - discount)), sum(price * (1 - discount) * (1 + tax)), avg(price), avg(discount), avg(price * tax), count(*) FROM sold GROUP BY word
SELECT word, sum(price + fine), sum(fine - price), sum(-price * fine), sum(+fine - -tax), sum(abs(discount - tax)), sum(abs(price) * tax) FROM sold GROUP BY word
SELECT flag, sum(price * count), avg(count * discount - many), sum(many - price * 3), sum((many + count)::numeric * tax) FROM sold GROUP BY flag
SELECT sum(count::numeric * many), sum(count::numeric - many::numeric) FROM sold
SELECT min(price * (1 - discount)), max(price * (1 - discount)), min(price - tax), max(fine + tax) FROM sold
SELECT word, min(price * tax), max(price * tax) FILTER (WHERE flag) FROM sold GROUP BY word
SELECT sum(price * tax) FILTER (WHERE price * discount > 500 AND flag), sum(price * tax) FILTER (WHERE id < 0) FROM sold
SELECT sum(price * price * tax) FROM sold WHERE id < 0
SELECT word, sum(price * tax) FROM sold GROUP BY word HAVING sum(price * tax) > 200 ORDER BY 2 DESC LIMIT 3

-- Digits behind the point that differ from row to row.
SELECT sum(loose * discount), sum(loose + count), sum(loose * loose - count), avg(loose * tax), sum(loose - price) FROM sold
SELECT id % 6, sum(loose * discount), sum(loose + count), avg(loose * many), sum(-loose * count), sum(loose * loose + discount) FROM sold GROUP BY 1
SELECT id, sum(loose * count), sum(loose * discount * loose) FROM sold WHERE id < 40 GROUP BY id
SELECT min(loose * count), max(loose + discount) FROM sold
SELECT sum(loose * discount) FILTER (WHERE id % 6 = 2), sum(loose * count) FILTER (WHERE id % 6 = 4) FROM sold

-- Comparisons.
SELECT count(*), sum(count) FROM sold WHERE price * discount > tax * 100 AND price <> loose
SELECT count(*) FILTER (WHERE discount = tax), count(*) FILTER (WHERE discount <> tax), count(*) FILTER (WHERE discount < tax), count(*) FILTER (WHERE discount <= tax), count(*) FILTER (WHERE discount > tax), count(*) FILTER (WHERE discount >= tax) FROM sold
SELECT count(*) FROM sold WHERE price IS DISTINCT FROM loose
SELECT count(*) FROM sold WHERE price + tax IS NOT DISTINCT FROM loose * count
SELECT count(*) FROM sold WHERE (price * tax) IS NULL
SELECT count(*) FROM sold WHERE fine > price OR loose >= count
SELECT count(*) FROM sold WHERE discount BETWEEN tax AND tax + 0.02
$list$);
SELECT price * discount > 500 AS high, count(*) FROM sold GROUP BY 1 ORDER BY 1;
SELECT * FROM compare_all($list$
SELECT price * discount > 500, fine < loose, count(*) FROM sold GROUP BY 1, 2

-- With constants that have more digits than the columns, or fewer.
SELECT count(*) FILTER (WHERE price - tax > 1.2399999999999999), count(*) FILTER (WHERE price - tax >= 37.455), count(*) FILTER (WHERE price - tax < -12.5000001), count(*) FILTER (WHERE price - tax <= 38) FROM sold
SELECT count(*) FILTER (WHERE price - tax = 1000.00000), count(*) FILTER (WHERE price - tax = 1000.001), count(*) FILTER (WHERE price - tax <> 1000.001), count(*) FILTER (WHERE -12.3456 < tax - price), count(*) FILTER (WHERE 0.0001 >= tax - discount) FROM sold
SELECT count(*) FILTER (WHERE -0.0001 <= tax - discount), count(*) FILTER (WHERE -0.0001 < tax - discount), count(*) FILTER (WHERE 0 > tax - discount), count(*) FILTER (WHERE NULL > tax - discount) FROM sold
SELECT count(*), sum(price) FROM sold WHERE price * discount > (SELECT avg(price * discount) FROM sold)
SELECT count(*) FILTER (WHERE price - tax > -37.455000000000000000001), count(*) FILTER (WHERE price - tax >= 37.499999999999999999999), count(*) FILTER (WHERE price - tax = 1000.0000000000000000000000000), count(*) FILTER (WHERE price - tax = 1000.0000000000000000000000001) FROM sold
SELECT count(*) FROM sold WHERE many > (SELECT avg(many) FROM sold)

-- Choices: which digits are shown depends on which rows were chosen.
SELECT sum(CASE WHEN flag THEN price * (1 - discount) ELSE 0 END), sum(CASE WHEN flag AND word > 'word 3' THEN price ELSE tax * 0 END) FROM sold
SELECT id, sum(CASE WHEN flag THEN price * (1 - discount) ELSE 0 END), avg(CASE WHEN flag THEN discount ELSE count END) FROM sold WHERE id < 30 GROUP BY id
SELECT word, sum(CASE WHEN price > 60000 THEN tax WHEN discount < 0.03 THEN fine WHEN tax IS NULL THEN 1.5000 END), count(CASE WHEN price > 60000 THEN tax END) FROM sold GROUP BY word
SELECT sum(CASE word WHEN 'word 1' THEN price WHEN 'word 2' THEN -price WHEN 'word 3' THEN NULL ELSE discount END) FROM sold
SELECT sum(CASE count WHEN part THEN price WHEN id THEN tax END) FROM sold
SELECT sum(CASE count WHEN part THEN price ELSE CASE WHEN flag THEN CASE part WHEN 7 THEN fine ELSE loose END END END) FROM sold
SELECT sum(CASE WHEN flag THEN NULL WHEN price > tax THEN NULL::numeric END), count(CASE WHEN price > tax THEN NULL::int4 ELSE NULL END) FROM sold
SELECT sum(coalesce(tax, price, 1.5)), sum(coalesce(price, 0) * coalesce(tax, 1)), sum(coalesce(loose, count)), sum(coalesce(loose, tax, 0)) FROM sold
SELECT id % 6, sum(coalesce(loose, count)), avg(coalesce(tax, loose)), sum(coalesce(price, 0.0000)) FROM sold GROUP BY 1
SELECT sum(coalesce(price, 0)), avg(coalesce(loose, 7.77)), sum(CASE WHEN loose IS NULL THEN 5.55555 ELSE loose END) FROM sold
-- The map is kept, and what NULL gives with it.
SELECT sum(coalesce(price, 1.25)), count(*) FROM sold
SELECT sum(coalesce(price, 1.25)), avg(coalesce(price, 1.25)), count(*) FROM sold
SELECT sum(coalesce(count, part, -1)), max(coalesce(many, count)), min(CASE WHEN flag THEN count ELSE part END), sum(CASE WHEN price > tax THEN count END) FROM sold
SELECT CASE WHEN flag THEN count ELSE part END, count(*) FROM sold GROUP BY 1
SELECT coalesce(count, part), CASE WHEN price > 60000 OR count < part THEN 1 ELSE 2 END, count(*) FROM sold GROUP BY 1, 2
SELECT sum(greatest(count, part)), sum(least(count, part, many)), min(greatest(many, id)), sum(nullif(count, part)), count(least(id, count)) FROM sold
SELECT count(*) FROM sold WHERE CASE WHEN flag THEN price > tax ELSE count > part END
SELECT count(*) FROM sold WHERE coalesce(price > loose, flag)

-- What divides numerics stays with PostgreSQL, unless a condition is on a single column, and so do sums of distinct ones.
SELECT sum(price / nullif(tax, 0)) FROM sold
SELECT sum(CASE WHEN discount = 0 THEN price ELSE 1 / discount END) FROM sold
SELECT sum(CASE WHEN discount <> 0 THEN price * (1 / discount) END) FROM sold
SELECT sum(CASE WHEN count <> 0 THEN many / count END), sum(CASE WHEN part > 3 THEN CASE WHEN count = 0 THEN id % 0 ELSE many % count END END) FROM sold
SELECT sum(CASE WHEN count <> 1 THEN many / count END) FROM sold
SELECT sum(round(price * tax, 2)) FROM sold
SELECT variance(price * tax) FROM sold
SELECT sum(DISTINCT price * tax) FROM sold
$list$);

-- Parameters.
PREPARE discounted (numeric, numeric) AS SELECT sum(price * ($1 - discount)), sum(CASE WHEN flag THEN price ELSE $2 END) FROM sold WHERE price * tax > $2;
SET plan_cache_mode = force_generic_plan;
EXECUTE discounted (1, 0);
EXECUTE discounted (1.000, 10.5);
EXECUTE discounted (NULL, 0);
EXECUTE discounted ('NaN', 0);
EXECUTE discounted ('-Infinity', 12345678901234567890);
EXECUTE discounted (12345678901234567890, 0);
RESET plan_cache_mode;

-- Columns of joined tables.
SELECT * FROM compare_all($list$
SELECT 100.00 * sum(CASE WHEN kind LIKE 'PROMO%' THEN price * (1 - discount) ELSE 0 END) / sum(price * (1 - discount)) FROM sold JOIN parts USING (part)
SELECT kind, sum(price * weight), sum(price * (1 - discount) - cost * count), min(price - cost) FROM sold JOIN parts USING (part) GROUP BY kind
SELECT sum(coalesce(cost, price)), sum(CASE WHEN cost > price THEN weight ELSE fine END) FROM sold LEFT JOIN parts USING (part)

-- What hasn't room, is answered by the replaced plan.
SELECT sum(many * many::numeric * price) FROM sold
SELECT sum(fine * fine * fine * fine * fine * count) FROM sold
SELECT sum(CASE WHEN flag THEN many * many::numeric * many * many END) FROM sold
SELECT sum(price * 12345678901234567890) FROM sold
SELECT sum(price * 0.000000000000000000000000000000000000001) FROM sold
SELECT sum(price + 1e20 * tax) FROM sold
SELECT sum(price * 1e30), sum(price + 1e30 - discount * 0) FROM sold
$list$);

-- NaN, infinities and very many digits, in rows that nobody sees, too.
CREATE TABLE odd (i int4, a numeric, b numeric) WITH (autovacuum_enabled = off);
INSERT INTO odd SELECT i, i * 0.5, i FROM generate_series(1, 2000) AS i;
INSERT INTO odd VALUES (3000, 1, 12345678901234567890123456789);
CREATE INDEX odd_i ON odd USING gpu_column (i, a, b);
VACUUM ANALYZE odd;
SELECT * FROM compare_all($list$
SELECT sum(a * b), sum(b) FROM odd
SELECT sum(a * b), sum(b) FROM odd WHERE i < 2500
SELECT sum(b), count(*) FILTER (WHERE a IS NULL), sum(coalesce(b, 0)) FROM odd
$list$);
UPDATE odd SET b = 'NaN' WHERE i = 3000;
SELECT * FROM compare('SELECT sum(a * b), sum(a + i), min(a - i), max(b) FROM odd');
UPDATE odd SET b = 'Infinity' WHERE i = 3000;
SELECT * FROM compare_all($list$
SELECT sum(a * b), sum(a - b), sum(b) FROM odd
SELECT count(*) FROM odd WHERE a < b
$list$);
DELETE FROM odd WHERE i = 3000;
VACUUM odd;
SELECT * FROM compare('SELECT sum(a * b), sum(a - b), sum(b) FROM odd');
SELECT count(*) > 0 AS merged FROM gpu.merge('odd_i');
SELECT * FROM compare('SELECT sum(a * b), sum(a - b), sum(b) FROM odd');
-- At the ends of 64 bits.
TRUNCATE odd;
INSERT INTO odd VALUES (1, 9223372036854775807, 1), (2, -9223372036854775808, 1), (3, 0.5, -1), (4, -0.00, 0.0), (5, NULL, 1);
SELECT * FROM compare_all($list$
SELECT sum(a * b) FROM odd WHERE i <> 3
SELECT i, sum(a * b), sum(b - a) FROM odd GROUP BY i
$list$);
DELETE FROM odd WHERE i = 3;
VACUUM odd;
SELECT * FROM compare_all($list$
SELECT i, sum(a * b), max(a) FROM odd GROUP BY i
SELECT i, sum(b - a) FROM odd GROUP BY i
SELECT i, sum(-a * b) FROM odd GROUP BY i
$list$);

-- Without rows, and without any that are not NULL.
TRUNCATE odd;
SELECT * FROM compare('SELECT sum(a * b), avg(a - b), min(a + b), count(a * b), sum(CASE WHEN a > b THEN a ELSE 0 END) FROM odd');
INSERT INTO odd SELECT i FROM generate_series(1, 100) AS i;
SELECT * FROM compare('SELECT sum(a * b), avg(a - b), min(a + b), count(a * b), sum(CASE WHEN a > b THEN a ELSE 0 END), sum(coalesce(a, b, 0.00)) FROM odd');

-- Partial aggregates of partitions.
CREATE TABLE split (id int4, price numeric(15,2), rate numeric(6,4), loose numeric) PARTITION BY RANGE (id);
CREATE TABLE split_1 PARTITION OF split FOR VALUES FROM (0) TO (1000);
CREATE TABLE split_2 PARTITION OF split FOR VALUES FROM (1000) TO (3000);
INSERT INTO split SELECT i, i * 1.5, i % 100 * 0.0001, CASE WHEN i < 1000 THEN i ELSE i * 0.125 END FROM generate_series(1, 2999) AS i;
CREATE INDEX ON split USING gpu_column (id, price, rate, loose);
VACUUM ANALYZE split;
SELECT * FROM compare_all($list$
SELECT sum(price * rate), avg(price - rate), sum(loose * rate), min(price * rate), sum(CASE WHEN id > 1500 THEN price ELSE loose END) FROM split
SELECT id % 7, sum(price * rate), sum(loose * rate) FROM split GROUP BY 1
$list$);
-- GREATEST, LEAST and NULLIF. Of equal numbers the first one's digits are shown.
SELECT expression, c.who, c.same FROM unnest(ARRAY['greatest(price, loose)', 'least(price, loose)', 'greatest(loose, tax, price * discount)', 'least(loose, NULL, count, fine)', 'greatest(tax, discount)', 'greatest(loose, CASE WHEN part > 3 THEN 1.5000 END)',
    'least(loose, CASE WHEN part > 3 THEN 1.50000 ELSE -2.0 END)', 'greatest(CASE WHEN part > 3 THEN 1.500 END, loose)', 'nullif(price, loose)', 'nullif(loose, price)', 'nullif(price * discount, 0)', 'nullif(loose, CASE WHEN flag THEN 1.5 END)',
    'coalesce(nullif(discount, tax), -1.0)', 'nullif(discount - tax, 0.010)', 'greatest(price - fine, 0)', 'least(round(price * tax, 1), loose)', 'price % nullif(discount - tax, 0)']) AS expression,
    compare(format('SELECT id, sum(%s), count(%1$s), sum(price) FILTER (WHERE %1$s > 1) FROM sold GROUP BY id', expression)) AS c;
SELECT expression, c.who, c.same FROM unnest(ARRAY['greatest(price, tax)', 'least(price, discount * price)', 'nullif(price, tax)']) AS expression,
    compare(format('SELECT word, sum(%s), avg(%1$s), min(%1$s), max(%1$s), variance(%1$s), count(DISTINCT %1$s) FROM sold WHERE %1$s IS DISTINCT FROM 1 GROUP BY word', expression)) AS c;
SELECT * FROM compare('SELECT sum(greatest(loose, ''NaN''::numeric + price)) FROM sold');

-- Sums and averages have the bytes that PostgreSQL's have, whatever digits are 0, and however many there are.
CREATE TABLE size (k int4, v numeric, n int8) WITH (autovacuum_enabled = off);
INSERT INTO size SELECT k, (sign || digits || 'e' || exponent)::numeric, (sign || digits)::int8
FROM unnest(ARRAY['', '-']) AS sign, unnest('{0,1,10,12,1200,9999,10000,10001,120000000,99999999999}'::int8[]) WITH ORDINALITY AS d (digits, k), unnest('{0,-1,-3,-4,-5,-8,-12,3}'::int[]) AS exponent
WHERE sign = '' OR k % 3 <> 0;
INSERT INTO size SELECT 100 + i, ('1e-' || i)::numeric, i * 1000000007::int8 FROM generate_series(1, 18) AS i;
CREATE INDEX size_i ON size USING gpu_column (k, v, n);
VACUUM ANALYZE size;
SELECT * FROM compare_all($list$
SELECT k, sum(v), pg_column_size(sum(v)), numeric_send(sum(v)), avg(n), pg_column_size(avg(n)), sum(n), pg_column_size(sum(n)) FROM size GROUP BY k
SELECT k, scale(v), sum(v), pg_column_size(sum(v)), pg_column_size(avg(v)), pg_column_size(avg(n)) FROM size GROUP BY k, scale(v)
$list$);

-- Ranks, by the first bytes of values and where these are the same by all of them: numbers of many digits, NaN and infinities, equal ones
-- that look different, long words that begin alike.
CREATE TABLE ranked (id int, n numeric, w text COLLATE "C", l text, u uuid, b bytea, i inet) WITH (autovacuum_enabled = off);
INSERT INTO ranked SELECT i, CASE i % 50 WHEN 0 THEN NULL WHEN 1 THEN 'NaN' WHEN 2 THEN 'Infinity' WHEN 3 THEN '-Infinity' ELSE 12345678901234567890123::numeric * (i % 3 - 1) + i * 7919 % 1009 / 1000.0 END,
    'the same beginning ' || i * 7919 % 1009, 'the same beginning ' || i * 7919 % 1009, ('00000000-0000-0000-0000-0000000' || 10000 + i * 7919 % 1009)::uuid, ('the same beginning ' || i * 7919 % 1009)::bytea,
    ('2001:db8::' || to_hex(i * 7919 % 1009))::inet
FROM generate_series(1, 900) AS i;
INSERT INTO ranked (id, n) VALUES (1000, 0.10), (1001, 0.1), (1002, 0.100), (1003, 0.1);
CREATE INDEX ranked_i ON ranked USING gpu_column (id, n, w, l, u, b, i);
VACUUM ANALYZE ranked;
INSERT INTO ranked SELECT id + 2000, n - 0.0001, w || 'x', l || 'x', u, b || 'x', i FROM ranked WHERE id % 90 = 5;
SELECT * FROM compare_all($list$
SELECT min(n), max(n), min(w), max(w), min(l), max(l), min(i), max(i) FROM ranked
SELECT id % 10, min(n), max(n), min(w), max(w), max(l), min(i), max(i), max(n) FILTER (WHERE n < 1e30) FROM ranked WHERE id NOT BETWEEN 1000 AND 1003 GROUP BY 1
$list$);
SELECT string_agg(id::text, ' ') FROM (SELECT id FROM ranked ORDER BY n DESC NULLS LAST, w DESC LIMIT 30) AS s;
SET pg_gpu.enable_query = off;
SELECT string_agg(id::text, ' ') FROM (SELECT id FROM ranked ORDER BY n DESC NULLS LAST, w DESC LIMIT 30) AS s;
RESET pg_gpu.enable_query;
DROP TABLE ranked;

DROP TABLE sold, parts, odd, split, size;
DROP FUNCTION answer_of, who_answers, compare, compare_all;
