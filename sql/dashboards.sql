-- Statements as dashboards and tools make them, over a table with an index on all of its columns: for each the nodes answer, or it is told why they don't.
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET max_parallel_workers_per_gather = 0;
SET timezone = 'UTC';
-- What GpuQuery answers depends on the server process.
SET pg_gpu.path = host;
-- Variances of floats have other last digits with PostgreSQL's own plan.
SET extra_float_digits = -4;

CREATE TABLE hit (id int8 NOT NULL, at timestamptz NOT NULL, moment timestamp NOT NULL, day date NOT NULL, epoch int4 NOT NULL, page int4 NOT NULL, visitor int8 NOT NULL, region int4, phrase text NOT NULL, url text, referer text NOT NULL, mobile bool NOT NULL, width int2 NOT NULL, height int2 NOT NULL, price float8, quantity int4 NOT NULL, amount numeric(10, 2), tax numeric(6, 4), duration float4, status text NOT NULL, ip inet) WITH (autovacuum_enabled = off);
INSERT INTO hit
SELECT i, '2025-03-01 00:00+00'::timestamptz + i * interval '218.5 s', '2025-03-01'::timestamp + i * interval '218.5 s', ('2025-03-01'::timestamp + i * interval '218.5 s')::date, 1740787200 + i * 219,
    (i * 7919 % 1009)::int4, i * 104729 % 50021, CASE WHEN i % 11 > 0 THEN (i * 31 % 97)::int4 END, CASE WHEN i % 4 = 0 THEN 'word ' || i * 13 % 601 ELSE '' END,
    CASE WHEN i % 19 > 0 THEN 'https://www.example.org/' || i * 17 % 4001 || '/google' || i % 7 END, 'https://' || CASE i % 5 WHEN 0 THEN 'www.' ELSE '' END || 'site' || i % 37 || '.com/p' || i % 211, i % 3 = 0,
    (ARRAY[1920, 1366, 390, 412])[i % 4 + 1], (ARRAY[1080, 768, 844, 915])[i % 4 + 1], CASE WHEN i % 23 > 0 THEN (i * 7919 % 1000003 - 20000) / 64.0 END, (i % 9)::int4, (i * 7919 % 100003) / 100.0, (i % 19) / 100.0,
    (i * 104729 % 99991) / 16.0, (ARRAY['ok', 'ok', 'ok', 'error', 'timeout'])[i % 5 + 1], ('10.0.' || i % 250 || '.' || i * 7 % 250)::inet
FROM generate_series(1::int8, 40000) AS i;
CREATE TABLE page (id int4 PRIMARY KEY, title text NOT NULL, section text, weight float8);
INSERT INTO page SELECT i, 'Title ' || i, 'section ' || i % 12, i / 8.0 FROM generate_series(0, 1008) AS i;
CREATE TABLE metric (at timestamptz NOT NULL, device int4 NOT NULL, value float8, level int2) PARTITION BY RANGE (at);
CREATE TABLE metric_1 PARTITION OF metric FOR VALUES FROM (MINVALUE) TO ('2025-04-01 00:00+00') WITH (autovacuum_enabled = off);
CREATE TABLE metric_2 PARTITION OF metric FOR VALUES FROM ('2025-04-01 00:00+00') TO ('2025-05-01 00:00+00') WITH (autovacuum_enabled = off);
CREATE TABLE metric_3 PARTITION OF metric FOR VALUES FROM ('2025-05-01 00:00+00') TO (MAXVALUE) WITH (autovacuum_enabled = off);
INSERT INTO metric SELECT at, page, price, width FROM hit;
CREATE INDEX hit_i ON hit USING gpu_column (id, at, moment, day, epoch, page, visitor, region, phrase, url, referer, mobile, width, height, price, quantity, amount, tax, duration, status, ip);
CREATE INDEX page_i ON page USING gpu_column (id, title, section, weight);
CREATE INDEX metric_i ON metric USING gpu_column (at, device, value, level);
VACUUM ANALYZE hit, page, metric;


\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all
-- Whether a node answers: what it says where it couldn't, or why there is none; and whether the answer is that of a plan without nodes.
CREATE FUNCTION verdict(query text, OUT answered text, OUT is_same boolean) LANGUAGE plpgsql AS $$
DECLARE
    line text;
    by_node text[];
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
        answered := CASE WHEN line LIKE '%Fallback Reason: %' THEN substring(line FROM 'Fallback Reason: (.*)') WHEN line ~ '\(Gpu[A-Z][a-z]+\)' THEN coalesce(answered, 'yes') ELSE answered END;
    END LOOP;
    SELECT coalesce(answered, min(split_part(reason, ':', 1))) INTO answered FROM gpu.explain_why(query) WHERE node <> 'GpuCount' AND NOT used;
    by_node := answer_of(query);
    SET LOCAL pg_gpu.enable_query = off;
    SET LOCAL pg_gpu.enable_count_scan = off;
    SET LOCAL pg_gpu.enable_query = off;
    is_same := by_node = answer_of(query);
    SET LOCAL pg_gpu.enable_query = on;
    SET LOCAL pg_gpu.enable_count_scan = on;
    SET LOCAL pg_gpu.enable_query = on;
END $$;
CREATE TABLE statement (number serial, text text);
INSERT INTO statement (text) VALUES
($$SELECT count(*) FROM hit$$),
($$SELECT count(*) FROM hit WHERE quantity <> 0$$),
($$SELECT sum(quantity), count(*), avg(width) FROM hit$$),
($$SELECT avg(visitor) FROM hit$$),
($$SELECT count(DISTINCT visitor) FROM hit$$),
($$SELECT count(DISTINCT phrase) FROM hit$$),
($$SELECT min(day), max(day) FROM hit$$),
($$SELECT quantity, count(*) FROM hit WHERE quantity <> 0 GROUP BY quantity ORDER BY count(*) DESC, 1$$),
($$SELECT region, count(DISTINCT visitor) AS u FROM hit GROUP BY region ORDER BY u DESC, 1 LIMIT 10$$),
($$SELECT region, sum(quantity), count(*) AS c, avg(width), count(DISTINCT visitor) FROM hit GROUP BY region ORDER BY c DESC, 1 LIMIT 10$$),
($$SELECT phrase, count(DISTINCT visitor) AS u FROM hit WHERE phrase <> '' GROUP BY phrase ORDER BY u DESC, 1 LIMIT 10$$),
($$SELECT visitor, phrase, count(*) FROM hit GROUP BY visitor, phrase ORDER BY count(*) DESC, 1, 2 LIMIT 10$$),
($$SELECT visitor, extract(minute FROM at) AS m, phrase, count(*) FROM hit GROUP BY visitor, m, phrase ORDER BY count(*) DESC, 1, 2, 3 LIMIT 10$$),
($$SELECT count(*) FROM hit WHERE url LIKE '%google%'$$),
($$SELECT phrase, min(url), count(*) AS c FROM hit WHERE url LIKE '%google%' AND phrase <> '' GROUP BY phrase ORDER BY c DESC, 1 LIMIT 10$$),
($$SELECT phrase, min(url), count(*) AS c, count(DISTINCT visitor) FROM hit WHERE url LIKE '%google1%' AND url NOT LIKE '%.google.%' AND phrase <> '' GROUP BY phrase ORDER BY c DESC, 1 LIMIT 10$$),
($$SELECT region, avg(length(url)) AS l, count(*) AS c FROM hit WHERE url <> '' GROUP BY region HAVING count(*) > 1000 ORDER BY l DESC, 1 LIMIT 25$$),
($$SELECT regexp_replace(referer, '^https?://(?:www\.)?([^/]+)/.*$', '\1') AS k, avg(length(referer)) AS l, count(*) AS c, min(referer) FROM hit WHERE referer <> '' GROUP BY k HAVING count(*) > 100 ORDER BY l DESC, 1 LIMIT 25$$),
($$SELECT sum(width), sum(width + 1), sum(width + 2), sum(width + 3) FROM hit$$),
($$SELECT url, count(*) AS c FROM hit GROUP BY url ORDER BY c DESC, 1 LIMIT 10$$),
($$SELECT 1, url, count(*) AS c FROM hit GROUP BY 1, url ORDER BY c DESC, 2 LIMIT 10$$),
($$SELECT page, page - 1, page - 2, page - 3, count(*) AS c FROM hit GROUP BY page, page - 1, page - 2, page - 3 ORDER BY c DESC, 1 LIMIT 10$$),
($$SELECT region, quantity, CASE WHEN mobile AND quantity > 3 THEN referer ELSE '' END AS src, url AS dst, count(*) AS c FROM hit WHERE day >= '2025-03-01' AND day <= '2025-03-31' GROUP BY region, quantity, src, dst ORDER BY c DESC, 1, 2, 3, 4 LIMIT 10 OFFSET 5$$),
($$SELECT date_trunc('minute', at) AS m, count(*) FROM hit WHERE day BETWEEN '2025-03-14' AND '2025-03-15' GROUP BY 1 ORDER BY 1 LIMIT 10$$),
($$SELECT date_trunc('minute', at) AS m, count(*) FROM hit WHERE at >= '2025-03-14 00:00+00' AND at < '2025-03-15 00:00+00' GROUP BY 1 ORDER BY 1$$),
($$SELECT date_trunc('hour', at) AS h, count(*), avg(price), max(price) FROM hit GROUP BY 1 ORDER BY 1$$),
($$SELECT date_trunc('day', at AT TIME ZONE 'Europe/Berlin') AS d, sum(price) FROM hit GROUP BY 1 ORDER BY 1$$),
($$SELECT date_trunc('day', at, 'Europe/Berlin') AS d, count(*) FROM hit GROUP BY 1 ORDER BY 1$$),
($$SELECT extract(dow FROM at) AS d, extract(hour FROM at) AS h, count(*) FROM hit GROUP BY 1, 2 ORDER BY 1, 2$$),
($$SELECT to_char(at, 'YYYY-MM') AS m, sum(amount) FROM hit GROUP BY 1 ORDER BY 1$$),
($$SELECT date_trunc('day', to_timestamp(epoch)) AS d, count(*) FROM hit GROUP BY 1 ORDER BY 1$$),
($$SELECT to_timestamp(epoch)::date AS d, count(*) FROM hit GROUP BY 1 ORDER BY 1$$),
($$SELECT epoch / 3600 * 3600 AS h, count(*) FROM hit GROUP BY 1 ORDER BY 1 LIMIT 20$$),
($$SELECT at::date AS d, count(*) FILTER (WHERE status = 'error') AS errors, count(*) AS all, round(100.0 * count(*) FILTER (WHERE status = 'error') / count(*), 2) AS percent FROM hit GROUP BY 1 ORDER BY 1$$),
($$SELECT day, sum(CASE WHEN status = 'ok' THEN 1 ELSE 0 END), sum(CASE WHEN status = 'error' THEN 1 ELSE 0 END) FROM hit GROUP BY day ORDER BY day$$),
($$SELECT CASE WHEN price < 0 THEN 'refund' WHEN price < 100 THEN 'small' WHEN price < 5000 THEN 'medium' ELSE 'large' END AS bucket, count(*) FROM hit GROUP BY 1 ORDER BY 1$$),
($$SELECT region, sum(CASE WHEN mobile THEN price ELSE 0 END) AS m, sum(CASE WHEN NOT mobile THEN price END) AS o FROM hit GROUP BY region ORDER BY region$$),
($$SELECT status, sum(price), avg(price), stddev(price), min(price), max(price) FROM hit GROUP BY status ORDER BY status$$),
($$SELECT sum(price * quantity) FROM hit WHERE status = 'ok'$$),
($$SELECT status, sum(amount * quantity) AS revenue, sum(amount * (1 + tax)) FROM hit GROUP BY status ORDER BY status$$),
($$SELECT region, round(avg(amount), 2), round(100.0 * sum(quantity) / sum(width), 2) FROM hit GROUP BY region ORDER BY 2 DESC, 1 LIMIT 5$$),
($$SELECT count(*) FILTER (WHERE price > 100), count(*) FILTER (WHERE duration > 1000), avg(duration) FILTER (WHERE duration BETWEEN 1 AND 5000) FROM hit$$),
($$SELECT count(*) FROM hit WHERE price > 1000 OR duration < 5 OR region IS NULL$$),
($$SELECT count(*) FROM hit WHERE url ILIKE '%Google3%' OR referer ~ 'site1[0-9]'$$),
($$SELECT status, count(*) FROM hit WHERE region IN (1, 2, 3, 5, 8) AND status NOT IN ('timeout') GROUP BY status ORDER BY status$$),
($$SELECT coalesce(region, -1) AS r, count(*) FROM hit GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10$$),
($$SELECT coalesce(url, 'none') AS u, sum(quantity) FROM hit GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10$$),
($$SELECT status, mobile, count(*) FROM hit GROUP BY ROLLUP (status, mobile) ORDER BY 1, 2$$),
($$SELECT p.section, sum(h.quantity), count(*) FROM hit h JOIN page p ON p.id = h.page GROUP BY p.section ORDER BY 1$$),
($$SELECT p.section, date_trunc('month', h.at) AS m, sum(h.price) FROM hit h LEFT JOIN page p ON p.id = h.page WHERE h.status = 'ok' GROUP BY 1, 2 ORDER BY 1, 2$$),
($$SELECT avg(c) FROM (SELECT visitor, count(*) AS c FROM hit GROUP BY visitor) AS s$$),
($$WITH daily AS (SELECT at::date AS d, sum(price) AS s FROM hit GROUP BY 1) SELECT d, s, sum(s) OVER (ORDER BY d) FROM daily ORDER BY d$$),
($$SELECT region, count(*) AS c, 100.0 * count(*) / sum(count(*)) OVER () AS percent FROM hit GROUP BY region ORDER BY c DESC, 1 LIMIT 10$$),
($$SELECT 'ok' AS s, count(*) FROM hit WHERE status = 'ok' UNION ALL SELECT 'other', count(*) FROM hit WHERE status <> 'ok'$$),
($$SELECT count(*) FROM hit WHERE price > (SELECT avg(price) FROM hit)$$),
($$SELECT date_trunc('day', at) AS d, count(*), avg(value), max(value) FROM metric GROUP BY 1 ORDER BY 1$$),
($$SELECT device, sum(value) FROM metric WHERE at >= '2025-04-10 00:00+00' AND at < '2025-05-10 00:00+00' GROUP BY device ORDER BY 2 DESC NULLS LAST, 1 LIMIT 10$$),
($$SELECT section, avg(value) FROM metric JOIN page ON page.id = device GROUP BY section ORDER BY 1$$),
($$SELECT width::int * height AS area, count(*) FROM hit GROUP BY 1 ORDER BY 1$$),
($$SELECT avg(extract(epoch FROM at - moment::timestamptz)) FROM hit$$),
($$SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY price) FROM hit$$),
($$SELECT status, array_agg(DISTINCT region) FROM hit GROUP BY status ORDER BY 1$$),
($$SELECT extract(year FROM day) AS y, extract(week FROM day) AS w, count(*) FROM hit GROUP BY 1, 2 ORDER BY 1, 2$$),
($$SELECT width_bucket(price, 0, 15000, 10) AS b, count(*) FROM hit GROUP BY 1 ORDER BY 1$$),
($$SELECT round(price / 1000) * 1000 AS b, count(*) FROM hit GROUP BY 1 ORDER BY 1$$),
($$SELECT floor(price / 500) AS b, count(*) FROM hit GROUP BY 1 ORDER BY 1$$),
($$SELECT round(price::numeric, -2) AS b, count(*) FROM hit GROUP BY 1 ORDER BY 1 LIMIT 10$$),
($$SELECT amount / nullif(quantity, 0) > 10 AS dear, count(*) FROM hit GROUP BY 1 ORDER BY 1$$),
($$SELECT sum(amount / 1.19) FROM hit$$),
($$SELECT sum(amount) / 1000 AS k, sum(amount) - sum(tax) FROM hit$$),
($$SELECT sum(price) / nullif(sum(quantity), 0) FROM hit$$),
($$SELECT avg(quantity::float8), sum(quantity::numeric), avg(price::numeric) FROM hit$$),
($$SELECT variance(amount), stddev_pop(quantity), stddev(duration) FROM hit$$),
($$SELECT corr(price, duration) FROM hit$$),
($$SELECT split_part(url, '/', 3) AS host, count(*) FROM hit GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 5$$),
($$SELECT host(ip), count(*) FROM hit WHERE ip << '10.0.3.0/24' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 5$$),
($$SELECT DISTINCT status, mobile FROM hit ORDER BY 1, 2$$),
($$SELECT * FROM hit ORDER BY at DESC LIMIT 10$$),
($$SELECT id, url FROM hit WHERE status = 'error' ORDER BY price DESC NULLS LAST, id LIMIT 10$$),
($$SELECT day, count(*) FROM hit WHERE at BETWEEN '2025-03-10'::timestamptz AND '2025-03-20'::timestamptz AND status = 'ok' GROUP BY day ORDER BY day$$),
($$SELECT max(at) - min(at), max(epoch) FROM hit$$),
($$SELECT visitor, max(at) - min(at) AS span FROM hit GROUP BY visitor ORDER BY 2 DESC, 1 LIMIT 5$$),
($$SELECT bool_or(mobile), every(quantity >= 0), string_agg(DISTINCT status, ',') FROM hit$$),
($$SELECT date_bin('15 minutes', at, '2025-01-01 00:00+00') AS b, avg(price) FROM hit WHERE at < '2025-03-08 00:00+00' GROUP BY 1 ORDER BY 1$$),
($$SELECT time_bucket, c FROM (SELECT date_trunc('hour', moment) AS time_bucket, count(*) AS c FROM hit GROUP BY 1) AS s WHERE c > 80 ORDER BY 1 LIMIT 5$$),
($$SELECT date_trunc('week', day) AS w, count(*) FROM hit GROUP BY 1 ORDER BY 1$$),
($$SELECT greatest(price, 0) AS p, count(*) FROM hit GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 3$$),
($$SELECT sum(greatest(price, 0)), sum(abs(price)), sum(-price), sum(price * 1.19), sum(price::float4) FROM hit$$),
($$SELECT sum(price) FILTER (WHERE price > 0) AS gain, sum(price) FILTER (WHERE price < 0) AS loss FROM hit$$),
($$SELECT region, sum(price) AS s FROM hit GROUP BY region HAVING sum(price) > 1000 ORDER BY s DESC LIMIT 5$$),
($$SELECT count(DISTINCT price), count(DISTINCT at) FROM hit$$),
($$SELECT status || '/' || mobile::text AS k, count(*) FROM hit GROUP BY 1 ORDER BY 1$$),
($$SELECT concat(status, '-', region) AS k, count(*) FROM hit GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 5$$),
($$SELECT avg(CASE WHEN status = 'ok' THEN 1.0 ELSE 0 END), avg((status = 'ok')::int) FROM hit$$),
($$SELECT lower(status), initcap(status), count(*) FROM hit GROUP BY 1, 2 ORDER BY 1$$),
($$SELECT extract(hour FROM moment)::int AS h, count(*) FROM hit GROUP BY 1 ORDER BY 1$$),
($$SELECT extract(epoch FROM date_trunc('hour', at))::int8 AS h, count(*) FROM hit GROUP BY 1 ORDER BY 1 LIMIT 3$$),
($$SELECT (extract(epoch FROM at) / 3600)::int8 * 3600 AS h, count(*) FROM hit GROUP BY 1 ORDER BY 1 LIMIT 3$$),
($$SELECT date_trunc('hour', to_timestamp(epoch) AT TIME ZONE 'America/New_York') AS h, count(*) FROM hit GROUP BY 1 ORDER BY 1 LIMIT 5$$),
($$SELECT mobile, avg(price), stddev_pop(price), var_samp(duration) FROM hit GROUP BY mobile ORDER BY mobile$$),
($$SELECT count(*), count(price), count(*) FILTER (WHERE price IS NULL) FROM hit WHERE region BETWEEN 10 AND 20$$),
($$SELECT device, date_trunc('month', at) AS m, stddev(value) FROM metric GROUP BY 1, 2 ORDER BY 3 DESC NULLS LAST, 1, 2 LIMIT 5$$),
($$SELECT DISTINCT ON (region) region, id, url FROM hit ORDER BY region, id$$),
($$SELECT region, status, sum(quantity) FROM hit GROUP BY GROUPING SETS ((region, status), (region), ()) ORDER BY 1, 2$$),
($$SELECT status, row_number() OVER (ORDER BY sum(amount) DESC), sum(amount) FROM hit GROUP BY status ORDER BY 2$$),
($$SELECT p.title, count(*) AS c FROM hit h JOIN page p ON p.id = h.page WHERE p.weight > 100 GROUP BY p.title ORDER BY c DESC, 1 LIMIT 5$$),
($$SELECT count(*) FROM hit h WHERE EXISTS (SELECT FROM page p WHERE p.id = h.page AND p.section = 'section 3')$$),
($$SELECT count(*) FROM hit WHERE page NOT IN (SELECT id FROM page WHERE section LIKE '%1')$$),
($$SELECT a.d, a.c, b.c FROM (SELECT day AS d, count(*) AS c FROM hit WHERE mobile GROUP BY 1) AS a FULL JOIN (SELECT day AS d, count(*) AS c FROM hit WHERE NOT mobile GROUP BY 1) AS b USING (d) ORDER BY 1 LIMIT 5$$),
($$SELECT count(*) FROM (SELECT DISTINCT visitor, day FROM hit) AS s$$),
($$SELECT day, sum(sum(quantity)) OVER (ORDER BY day ROWS 6 PRECEDING) FROM hit GROUP BY day ORDER BY day LIMIT 5$$),
($$SELECT extract(isodow FROM day) AS w, round(avg(quantity), 3), round(stddev(quantity), 3) FROM hit GROUP BY 1 ORDER BY 1$$),
($$SELECT status, max(price) - min(price), sum(quantity)::float8 / count(*) FROM hit GROUP BY status HAVING avg(price) > 100 ORDER BY 1$$),
($$SELECT CASE WHEN extract(hour FROM at) BETWEEN 8 AND 17 THEN 'day' ELSE 'night' END AS shift, count(*) FROM hit GROUP BY 1 ORDER BY 1$$),
($$SELECT CASE status WHEN 'ok' THEN 0 WHEN 'error' THEN 1 ELSE 2 END AS s, count(*) FROM hit GROUP BY 1 ORDER BY 1$$),
($$SELECT upper(left(status, 1)) AS s, count(*) FROM hit WHERE phrase ~* '^word 1' GROUP BY 1 ORDER BY 1$$),
($$SELECT count(*) FROM hit WHERE url IS NULL OR url = '' OR length(url) > 38$$),
($$SELECT count(*) FROM hit WHERE at >= date_trunc('month', timestamptz '2025-05-17') AND at < date_trunc('month', timestamptz '2025-05-17') + interval '1 month'$$),
($$SELECT count(*) FROM hit WHERE (region, status) IN ((1, 'ok'), (2, 'error'))$$),
($$SELECT count(*) FROM hit WHERE status = ANY ('{ok,error}') AND NOT (mobile AND quantity = 3)$$),
($$SELECT day, json_agg(status) FROM hit WHERE id < 10 GROUP BY day$$),
($$SELECT region, avg(amount * quantity)::numeric(12, 2) FROM hit WHERE amount > 500 AND tax < 0.1 GROUP BY region ORDER BY 2 DESC, 1 LIMIT 3$$),
($$SELECT at::time AS t, count(*) FROM hit GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 3$$),
($$SELECT extract(epoch FROM max(at) - min(at)) / 3600 FROM hit WHERE visitor = 100$$),
($$SELECT ip, count(*) FROM hit GROUP BY ip ORDER BY 2 DESC, 1 LIMIT 3$$),
($$SELECT round(price) AS p, count(*) FROM hit WHERE price BETWEEN 0 AND 10 GROUP BY 1 ORDER BY 1$$),
($$SELECT mode() WITHIN GROUP (ORDER BY status) FROM hit$$),
($$SELECT region FROM hit GROUP BY region HAVING count(*) FILTER (WHERE status = 'error') > 80 ORDER BY region$$);
SELECT number, answered, is_same, text FROM statement, verdict(text) ORDER BY number;
DROP TABLE hit, page, metric, statement;
DROP FUNCTION verdict, compare, compare_all, who_answers, answer_of;
