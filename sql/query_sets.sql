-- Grouping sets that the node GpuQuery computes, a node for each set. Each statement is run with the nodes and without them.
SET pg_gpu.path = host;
SET pg_gpu.min_mirror_entries = 0;
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;

CREATE TABLE trip (id int4, part int4, a float8, b float8, fare numeric(10,2), tip numeric, day date, kind text) WITH (autovacuum_enabled = off);
INSERT INTO trip
SELECT i, i % 7, CASE WHEN i % 11 <> 0 THEN i / 8.0 END, i % 13, CASE WHEN i % 17 <> 0 THEN (i * 7919 % 8000) / 100.0 END, round((i * 31 % 900) / 100.0, 2),
       date '2020-01-01' + i % 400, CASE WHEN i % 19 <> 0 THEN 'kind ' || i % 3 END
FROM generate_series(1, 3000) AS i;
CREATE INDEX trip_i ON trip USING gpu_column (id, part, a, b, fare, tip, day, kind);
VACUUM ANALYZE trip;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set plan_of :source '/test/regress/plan_of.sql'
\set ECHO none
\i :compare
\i :plan_of
\set ECHO all

SELECT * FROM compare_all($list$
SELECT part, kind, count(*), sum(a * b), max(a * b), grouping(part, kind) FROM trip WHERE a * b < 1e9 GROUP BY GROUPING SETS ((part), (kind), ())
SELECT part, kind, sum(fare * 2), grouping(kind) FROM trip GROUP BY ROLLUP (part, kind)
SELECT part, kind, day - 1, avg(tip / 2) FROM trip WHERE id % 10 = 0 GROUP BY CUBE (part, kind, day - 1)
SELECT part + 1, kind, sum(fare + 1) FROM trip GROUP BY GROUPING SETS ((part + 1, kind), (part + 1)) HAVING sum(fare + 1) > 3000
SELECT part, kind, count(*), max(id * 2) FROM trip GROUP BY CUBE (part, kind) ORDER BY 3 DESC, 1, 2 LIMIT 4
SELECT part, count(*) + 1, stddev(id + 1) FROM trip WHERE id + 0 < 0 GROUP BY GROUPING SETS ((part), ())
SELECT coalesce(kind, 'all'), part, percentile_disc(0.5) WITHIN GROUP (ORDER BY id) FROM trip GROUP BY ROLLUP (kind, part)
$list$);
SELECT plan FROM pg_temp.plan_of($$SELECT part, kind, sum(fare * 2) FROM trip GROUP BY ROLLUP (part, kind)$$);

DROP FUNCTION compare, compare_all, who_answers, answer_of;
DROP TABLE trip;
