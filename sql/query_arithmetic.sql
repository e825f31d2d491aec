-- Expressions over several columns as reports and dashboards have them: roundings, remainders, casts and variances of numerics, time between two
-- moments, and groups that a CASE or COALESCE tells. Each statement is run with the node and without it, and the answers are held against each other.
SET pg_gpu.path = host;
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;
SET timezone = 'UTC';
SET datestyle = 'ISO';

CREATE TABLE sale (id int8, sold_at timestamptz, sent_at timestamptz, day date, paid_on date, shop text, category text, customer int4, pieces int4, price numeric(10,2), discount numeric(4,2),
                   cost numeric(12,4), free numeric, code varchar(8), paid bool, note text) WITH (autovacuum_enabled = off);
INSERT INTO sale
SELECT i, timestamptz '2025-01-01 00:00+00' + i * interval '1.000001 hours', CASE WHEN i % 9 > 0 THEN timestamptz '2025-01-01 00:00+00' + (i * 7 % 5000) * interval '1 hour 3 microseconds' END,
       date '2025-01-01' + i % 300, CASE WHEN i % 8 > 0 THEN date '2024-12-01' + i * 7 % 400 END, 'shop ' || i % 12, (ARRAY['food','books','toys',NULL,'music'])[1 + i % 5], i * 13 % 500, i % 12 - 2,
       (i * 7919 % 100000 - 20000) / 100.0, CASE WHEN i % 11 > 0 THEN i % 30 / 100.0 END, (i * 104729 % 10000000 - 3000000) / 10000.0, CASE i % 4 WHEN 0 THEN round(i % 50 / 8.0, 3) WHEN 1 THEN i % 7 WHEN 2 THEN round(i % 50 / 10.0, 1) END,
       'c' || i % 40, i % 3 = 0, CASE WHEN i % 4 > 0 THEN 'note ' || i % 60 END
FROM generate_series(1, 2500) AS i;
CREATE INDEX sale_i ON sale USING gpu_column (id, sold_at, sent_at, day, paid_on, shop, category, customer, pieces, price, discount, cost, free, code, paid, note);
VACUUM (FREEZE, ANALYZE) sale;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all
CREATE FUNCTION compared(query text) RETURNS text LANGUAGE sql AS $$ SELECT who || ', ' || same FROM compare(query) $$;

-- Roundings: halves go away from 0, and what is shown has as many digits as are asked for.
SELECT expression, compared(format('SELECT category, sum(%s), min(%1$s), max(%1$s), avg(%1$s), count(%1$s) FROM sale GROUP BY 1', expression)) AS sums,
       compared(format('SELECT count(*), sum(pieces) FROM sale WHERE %s > 20 OR %1$s = -3', expression)) AS conditions
FROM unnest(ARRAY['round(price * pieces * (1 - discount), 2)', 'round(price * cost, 0)', 'round(price * cost, 5)', 'round(price - cost)', 'round(cost + pieces, 9)', 'trunc(price * discount, 1)', 'trunc(price * cost)',
                  'ceil(price * discount)', 'ceiling(cost - price)', 'floor(price * discount)', 'floor(cost * pieces)', 'sign(price - cost)', 'abs(round(price - cost, 1))', 'round(round(price * cost, 3) - price, 1)',
                  'round(free * pieces, 1)', 'floor(free + price)', '(price * pieces)::numeric(12,1)', '(price * cost)::numeric(15,5)', '(price * pieces)::numeric(30,3)', '(free * price)::numeric(12,2)']) AS expression;
-- Remainders have the sign of the dividend.
SELECT expression, compared(format('SELECT category, sum(%s), min(%1$s), count(*) FROM sale WHERE cost <> 0 AND pieces <> 0 GROUP BY 1', expression))
FROM unnest(ARRAY['price % cost', 'mod(cost, price + 1000)', 'price % pieces', 'pieces % price', 'CASE WHEN discount > 0 THEN price % discount ELSE 0 END']) AS expression;
SELECT compared('SELECT sum(price % pieces) FROM sale'), compared('SELECT sum(price % discount) FROM sale'), compared('SELECT sum(price % nullif(pieces, 0)) FROM sale'),
       compared('SELECT sum(price % discount) FROM sale WHERE discount <> 0'), compared('SELECT sum(CASE WHEN pieces <> 0 THEN price % pieces END) FROM sale');
-- Casts to integers round, too, and what doesn't fit is PostgreSQL's to refuse.
SELECT compared('SELECT (price * pieces)::int, count(*) FROM sale GROUP BY 1'), compared('SELECT sum((price * cost)::int8), sum((price - cost)::int2) FROM sale'), compared('SELECT sum((price * cost)::int2) FROM sale'),
       compared('SELECT sum((price * cost)::numeric(6,2)) FROM sale'), compared('SELECT sum(CASE WHEN abs(price * cost) < 9999 THEN (price * cost)::numeric(6,2) END) FROM sale'),
       compared('SELECT count(*) FROM sale WHERE (price * pieces)::numeric(8,1) = 12.5 OR (price * pieces)::int % 7 = 3');

-- Variances and distinct values.
SELECT aggregate, compared(format('SELECT category, %s(price * pieces), %1$s(price - cost) FILTER (WHERE paid), %1$s(cost * discount) FROM sale GROUP BY 1', aggregate)),
       compared(format('SELECT %s(free * pieces), %1$s(free + price), %1$s(round(price * cost, 1)), %1$s(price * free) FROM sale WHERE pieces = 3', aggregate))
FROM unnest(ARRAY['var_pop', 'var_samp', 'variance', 'stddev_pop', 'stddev_samp', 'stddev']) AS aggregate;
SELECT compared('SELECT stddev(price * pieces) FROM sale WHERE pieces > 100'), compared('SELECT shop, pieces, variance(price * pieces) FROM sale WHERE shop LIKE ''%1'' GROUP BY 1, 2');
SELECT compared('SELECT category, count(DISTINCT price * pieces), count(DISTINCT free * pieces), count(DISTINCT price - cost) FILTER (WHERE paid) FROM sale GROUP BY 1'),
       compared('SELECT count(DISTINCT price * pieces), count(DISTINCT round(price * discount, 1)) FROM sale'), compared('SELECT sum(DISTINCT price * pieces) FROM sale');

-- Time that passes.
SELECT compared('SELECT category, sum(extract(epoch FROM sent_at - sold_at)), avg(extract(epoch FROM sent_at - sold_at)), max(extract(epoch FROM sent_at - sold_at)) FROM sale GROUP BY 1'),
       compared('SELECT count(*) FROM sale WHERE extract(epoch FROM sent_at - sold_at) > 86400.5'),
       compared('SELECT paid_on - day, count(*) FROM sale GROUP BY 1'), compared('SELECT category, avg(paid_on - day), max(paid_on - day) FROM sale WHERE paid_on - day > 10 GROUP BY 1'),
       compared('SELECT round(extract(epoch FROM sent_at - sold_at) * pieces, 1) > 0, count(*) FROM sale GROUP BY 1');

-- Groups by what is chosen.
SELECT expression, compared(format('SELECT %s, count(*), sum(price) FROM sale GROUP BY 1', expression)) AS groups, compared(format('SELECT count(DISTINCT %s), category FROM sale GROUP BY 2', expression)) AS distinct_values
FROM unnest(ARRAY['CASE WHEN price * pieces < 100 THEN ''small'' WHEN price * pieces < 1000 THEN ''middle'' ELSE ''large'' END', 'CASE WHEN pieces > 6 THEN ''many'' WHEN paid THEN category END',
                  'CASE WHEN paid THEN shop ELSE category END', 'coalesce(category, note, ''neither'')', 'coalesce(note, CASE WHEN paid THEN category END)', 'CASE WHEN price > cost THEN upper(shop) ELSE lower(note) || ''!'' END',
                  'CASE shop WHEN note THEN ''same'' ELSE shop END', 'CASE WHEN paid THEN code ELSE ''c3'' END', 'CASE WHEN price > cost THEN NULL ELSE ''x''::text END', 'CASE WHEN price > cost THEN code::text ELSE note END',
                  'CASE WHEN price > cost THEN NULL::text END', 'CASE WHEN price < cost THEN price ELSE cost END', 'CASE WHEN paid THEN shop ELSE ''a'' || pieces END']) AS expression;
SELECT compared('SELECT CASE WHEN price > cost THEN ''gain'' ELSE ''loss'' END, CASE WHEN price > cost * 2 THEN ''gain'' WHEN paid THEN ''loss'' END, day, sum(price - cost) FROM sale GROUP BY 1, 2, 3'),
       compared('SELECT CASE WHEN price > cost THEN ''gain'' ELSE ''loss'' END, count(*) FROM sale GROUP BY 1 ORDER BY 2 DESC LIMIT 1'), compared('SELECT DISTINCT CASE WHEN price > cost THEN ''gain'' ELSE category END FROM sale'),
       compared('SELECT CASE WHEN price > cost THEN shop ELSE category END COLLATE "C", count(*) FROM sale GROUP BY 1'),
       compared('SELECT CASE WHEN price > cost THEN ''gain'' ELSE ''loss'' END FROM sale WHERE pieces > 100 GROUP BY 1'),
       compared('SELECT CASE WHEN price > cost THEN ''gain'' ELSE (100 / (pieces - 3))::text END, count(*) FROM sale GROUP BY 1'),
       compared('SELECT CASE WHEN pieces = 3 AND price > -1e9 THEN ''none'' WHEN cost > -1e9 THEN (100 / (pieces - 3))::text END, count(*) FROM sale GROUP BY 1');
PREPARE by_size(numeric, text) AS SELECT CASE WHEN price * pieces < $1 THEN $2 ELSE category END AS size, count(*) FROM sale GROUP BY 1 ORDER BY 1;
SET plan_cache_mode = force_generic_plan;
EXECUTE by_size(100, 'small');
EXECUTE by_size(1000, 'food');
EXECUTE by_size(1000, NULL);
RESET plan_cache_mode;

-- Rows of several runs and of the tail, some of them with what has no integer, or overflows.
INSERT INTO sale SELECT 10000 + i, NULL, now(), NULL, '2025-05-05', 'shop ' || i, 'new ' || i % 3, i, i, i, 0.5, i * 2, i * 1.5, 'c3', i % 2 = 0, NULL FROM generate_series(1, 700) AS i;
INSERT INTO sale (id, price, cost, free, pieces, category, paid_on, day, sent_at, sold_at) VALUES (20000, 1, 1, 'NaN', 1, 'odd', 'infinity', '2025-01-01', '-infinity', now());
INSERT INTO sale (id, price, cost, free, pieces, category) VALUES (20001, 99999999.99, 99999999.9999, 1e30, 1000000, 'odd');
SELECT expression, compared(format('SELECT category, sum(%s), stddev(%1$s), count(DISTINCT %1$s) FROM sale WHERE id < 20000 GROUP BY 1', expression)) AS known,
       (compare(format('SELECT category, sum(%s) FROM sale GROUP BY 1', expression))).same AS all
FROM unnest(ARRAY['round(price * pieces, 1)', 'round(free * pieces, 1)', 'price % (abs(cost) + 1)', 'ceil(price * cost)', '(price * cost)::numeric(14,2)', '(price * cost)::int', 'extract(epoch FROM sent_at - sold_at)', 'paid_on - day']) AS expression;
SELECT compared('SELECT CASE WHEN price * pieces < 100 THEN ''small'' WHEN paid THEN category ELSE shop END, count(*) FROM sale GROUP BY 1');
DROP TABLE sale;
DROP FUNCTION compared, compare, compare_all, who_answers, answer_of;
