-- Aggregates of a table of eight partitions beside those of one table with the same four million rows: by nodes on the paged and the
-- host path, and by PostgreSQL's own plans with two workers. Prints the least milliseconds of :runs in turns, and whether answers are alike.
-- usage: psql -X -q -v runs=9 -f test/bench/partitions.sql
\set ON_ERROR_STOP on
CREATE EXTENSION IF NOT EXISTS pg_gpu;
CREATE TABLE whole (day date, city text, small int4, num int4, price numeric(10,2));
INSERT INTO whole
SELECT date '2018-01-01' + (hashint8extended(g, 1) & 2147483647)::int % 2920, 'city ' || (hashint8extended(g, 2) & 2147483647) % 50, (hashint8extended(g, 3) & 2147483647) % 100,
       (hashint8extended(g, 4) & 2147483647) % 100000, ((hashint8extended(g, 5) & 2147483647) % 100000) / 100.0
FROM generate_series(1, 4000000) AS g;
CREATE TABLE parts (LIKE whole) PARTITION BY RANGE (day);
SELECT format('CREATE TABLE parts_%s PARTITION OF parts FOR VALUES FROM (%L) TO (%L)', i, date '2018-01-01' + 365 * i, date '2018-01-01' + 365 * (i + 1)) FROM generate_series(0, 7) AS i
\gexec
INSERT INTO parts TABLE whole;
CREATE INDEX ON whole USING gpu_column (day, city, small, num, price);
CREATE INDEX ON parts USING gpu_column (day, city, small, num, price);
VACUUM (FREEZE, ANALYZE) whole;
VACUUM (FREEZE, ANALYZE) parts;
SELECT gpu.load(indexrelid::regclass) FROM pg_index WHERE indrelid IN (SELECT 'whole'::regclass UNION ALL SELECT inhrelid FROM pg_inherits WHERE inhparent = 'parts'::regclass)
\g /dev/null

CREATE TABLE statements (name text, body text);
INSERT INTO statements VALUES
    ('all rows', 'SELECT count(*), sum(num), avg(price) FROM %s'),
    ('50 groups', 'SELECT city, count(*), sum(num), avg(price), max(day) FROM %s GROUP BY city'),
    ('50 groups, filter', 'SELECT city, count(*), sum(num) FROM %s WHERE small < 10 AND num > 500 GROUP BY city'),
    ('months', 'SELECT date_trunc(''month'', day), count(*), sum(num) FROM %s GROUP BY 1'),
    ('days, the partition key', 'SELECT day, count(*), sum(num) FROM %s GROUP BY day'),
    ('a month, in one partition', 'SELECT city, count(*), sum(num) FROM %s WHERE day BETWEEN ''2020-03-01'' AND ''2020-03-31'' GROUP BY city'),
    ('100,000 groups', 'SELECT num, count(*), sum(small) FROM %s GROUP BY num');
CREATE TABLE samples (name text, source text, way text, ms float8, nodes int, answer text);
CREATE PROCEDURE take_sample(statement statements, source text, way text) LANGUAGE plpgsql AS $$
DECLARE
    query text := format(statement.body, source);
    line text;
    nodes int := 0;
    answer text;
    began timestamptz;
BEGIN
    PERFORM set_config('pg_gpu.enable_query', CASE way WHEN 'PostgreSQL' THEN 'off' ELSE 'on' END, true),
            set_config('pg_gpu.enable_count_scan', CASE way WHEN 'PostgreSQL' THEN 'off' ELSE 'on' END, true),
            set_config('enable_bitmapscan', CASE way WHEN 'PostgreSQL' THEN 'off' ELSE 'on' END, true),
            set_config('pg_gpu.path', CASE way WHEN 'PostgreSQL' THEN 'paged' ELSE way END, true);
    FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
        nodes := nodes + (line LIKE '%GpuAggregate%')::int;
    END LOOP;
    EXECUTE format('SELECT md5(string_agg(q::text, '','' ORDER BY q::text)) FROM (%s) AS q', query) INTO answer;
    began := clock_timestamp();
    EXECUTE format('CREATE TEMPORARY TABLE taken ON COMMIT DROP AS %s', query);
    INSERT INTO samples VALUES (statement.name, source, way, extract(epoch FROM clock_timestamp() - began) * 1000, nodes, answer);
    COMMIT;
END $$;
SET max_parallel_workers_per_gather = 2;
SELECT format('CALL take_sample(%L, %L, %L)', s, source, way)
FROM generate_series(1, :runs) AS run, (VALUES ('PostgreSQL'), ('paged'), ('host')) AS w (way), (VALUES ('whole'), ('parts')) AS t (source), statements AS s
ORDER BY run, s.name, way, source
\gexec
\pset footer off
SELECT name, round(min(ms) FILTER (WHERE way = 'PostgreSQL' AND source = 'whole')::numeric, 1) AS "PostgreSQL, one table",
       round(min(ms) FILTER (WHERE way = 'PostgreSQL' AND source = 'parts')::numeric, 1) AS "partitions",
       round(min(ms) FILTER (WHERE way = 'paged' AND source = 'whole')::numeric, 1) AS "paged, one table", round(min(ms) FILTER (WHERE way = 'paged' AND source = 'parts')::numeric, 1) AS "partitions",
       round(min(ms) FILTER (WHERE way = 'host' AND source = 'whole')::numeric, 1) AS "host, one table", round(min(ms) FILTER (WHERE way = 'host' AND source = 'parts')::numeric, 1) AS "partitions",
       max(nodes) FILTER (WHERE source = 'parts') AS "nodes", count(DISTINCT answer) = 1 AS "alike"
FROM samples GROUP BY name ORDER BY min(ms) FILTER (WHERE way = 'PostgreSQL' AND source = 'whole');
