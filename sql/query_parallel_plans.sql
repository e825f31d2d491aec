-- The node GpuQuery above a plan of PostgreSQL's that starts workers, where expressions may raise errors: such a plan has parallel mode around it, in which
-- no subtransaction can be started before PostgreSQL 17.
SET pg_gpu.path = host;
SET enable_seqscan = on;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
CREATE TABLE visit (id int4, device char(6), url text, seen timestamp, spent numeric(8,2)) WITH (autovacuum_enabled = off, parallel_workers = 2);
INSERT INTO visit SELECT i, (ARRAY['TV', 'phone', 'Tablet', NULL])[1 + i % 4], 'https://shop/' || i % 7 || '/' || (ARRAY['cart', 'list', 'x1'])[1 + i % 3],
    timestamp '2025-01-01' + i * interval '1 hour', i % 1000 / 4.0 FROM generate_series(1, 20000) AS i;
CREATE TABLE device_kind (name text, kind text) WITH (autovacuum_enabled = off);
INSERT INTO device_kind VALUES ('tv', 'large'), ('tablet', 'small'), ('phone', 'small');
CREATE INDEX visit_i ON visit USING gpu_column (id, device, url, seen, spent);
CREATE INDEX device_kind_i ON device_kind USING gpu_column (name, kind);
VACUUM ANALYZE visit, device_kind;
\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all
-- Does PostgreSQL's own plan below the node start workers?
CREATE FUNCTION has_workers(query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        IF line LIKE '%Gather%' THEN RETURN true; END IF;
    END LOOP;
    RETURN false;
END $$;
CREATE TEMP TABLE statements AS SELECT * FROM unnest(string_to_array($list$SELECT count(*), sum(spent) FROM visit WHERE lower(device) = 'tv'
SELECT split_part(url, '/', 4) AS part, sum(spent) FROM visit WHERE split_part(url, '/', 5) = 'cart' GROUP BY 1
SELECT count(*) FROM visit WHERE to_char(seen, 'YYYY-MM') = '2025-03'
SELECT sum(substring(url FROM 'shop/(\d)')::int) FROM visit WHERE length(url) < 20
SELECT kind, count(*), sum(spent) FROM visit JOIN device_kind ON lower(device) = name GROUP BY kind
SELECT sum(substring(url FROM '/([a-z0-9]+)$')::int) FROM visit WHERE spent > 100
SELECT count(*) FROM visit AS v WHERE spent > (SELECT avg(spent) FROM visit WHERE upper(device) = 'TV')$list$, E'\n')) WITH ORDINALITY AS s (query, number);
SELECT number, has_workers(query), who, rows, same FROM statements, compare(query) ORDER BY number;
-- A function that runs in such a plan may have caught an error itself.
CREATE FUNCTION caught() RETURNS int LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN 1 / 0;
EXCEPTION WHEN division_by_zero THEN
    RETURN (SELECT count(*) FROM visit WHERE lower(device) = 'tv');
END $$;
SELECT caught();
-- The plan is executed again for each outer row, beside workers that it has started.
SELECT d.name, (SELECT count(*) FROM visit WHERE lower(device) = d.name) AS visits FROM device_kind AS d ORDER BY 1;
-- A union's rows that workers sort are a path of the stage before and of that with the node, which drives them away.
CREATE TABLE sorted_union (id int4, word text, price numeric) WITH (autovacuum_enabled = off);
INSERT INTO sorted_union SELECT i, 'w' || i % 5, i FROM generate_series(1, 100) AS i;
CREATE INDEX sorted_union_i ON sorted_union USING gpu_column (id, word, price);
VACUUM ANALYZE sorted_union;
SET parallel_tuple_cost = 0;
SET cpu_tuple_cost = 0;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT * FROM compare($$SELECT word FROM (SELECT id, word, price FROM sorted_union UNION ALL SELECT id, word, price FROM sorted_union WHERE price = 1) AS u
WHERE word IN ('w3', 'w1') AND price * price < price + 1000 ORDER BY 1 NULLS FIRST LIMIT 12$$);
-- What workers compute of the rows isn't given beside the columns that it is computed from.
SELECT * FROM compare($$SELECT count(*), sum(s) FROM (SELECT sign(price) AS s FROM (SELECT id, word, price FROM sorted_union UNION ALL SELECT id, word, price FROM sorted_union) AS u
WHERE CASE WHEN id > 0 THEN coalesce(price, 1.5) <= price ELSE id < price END ORDER BY 1 LIMIT 4) AS q$$);
RESET parallel_tuple_cost;
RESET cpu_tuple_cost;
RESET enable_seqscan;
RESET enable_bitmapscan;
DROP TABLE sorted_union;
DROP FUNCTION has_workers, caught, compare, compare_all, who_answers, answer_of;
DROP TABLE visit, device_kind;
