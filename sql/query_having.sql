-- Groups that HAVING drops don't leave the engine of the node GpuQuery. Each statement is run with the node and without it, and the answers are held
-- against each other; the session tests the groups that leave again.
SET pg_gpu.path = host;
SET pg_gpu.min_mirror_entries = 0;
SET max_parallel_workers_per_gather = 0;

CREATE TABLE lot (id int4, kind int2, day date, at timestamptz, price numeric(10,2), loose numeric, ratio float8, is_sold bool, big int8, note text) WITH (autovacuum_enabled = off);
INSERT INTO lot
SELECT i, CASE WHEN i % 19 > 0 THEN i % 400 - 20 END, date '2025-01-01' + i % 250, timestamptz '2025-01-01 00:00+00' + i % 1000 * interval '7 minutes', CASE WHEN i % 13 > 0 THEN i % 700 / 4.0 - 30 END,
       CASE i % 3 WHEN 0 THEN i % 40 WHEN 1 THEN (i % 40)::numeric(6,1) ELSE (i % 40 / 4.0)::numeric(6,2) END, CASE WHEN i % 17 > 0 THEN i % 30 / 4.0 END, i % 2 = 0,
       (i % 7 - 3) * 1300000000000000000, 'note ' || i % 60
FROM generate_series(1, 12000) AS i;
CREATE INDEX lot_i ON lot USING gpu_column (id, kind, day, at, price, loose, ratio, is_sold, big, note);
VACUUM ANALYZE lot;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
-- How many groups leave the engine, and how many of them the session drops.
CREATE FUNCTION leaving(query text, OUT groups int, OUT dropped int) LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF, COSTS OFF) ' || query LOOP
        groups := coalesce(groups, substring(line FROM ' Groups: (\d+)')::int);
        dropped := coalesce(dropped, substring(line FROM 'Rows Removed by Filter: (\d+)')::int);
    END LOOP;
END $$;
\set ECHO all
SELECT * FROM compare_all($list$
SELECT kind, count(*), sum(price) FROM lot GROUP BY kind HAVING count(*) > 30
SELECT kind, count(price) FROM lot GROUP BY kind HAVING sum(price) BETWEEN 1000 AND 1500.125 OR kind IS NULL
SELECT kind FROM lot GROUP BY kind HAVING avg(price) > 57.25
SELECT kind, avg(big) FROM lot GROUP BY kind HAVING avg(big) < 0 AND sum(big) < -4000000000000000000.5
SELECT kind, avg(kind) FROM lot GROUP BY kind HAVING avg(kind) = kind AND avg(kind) > 370
SELECT day, max(price), min(at) FROM lot GROUP BY day HAVING max(price) - min(price) > 120 AND min(at) < '2025-01-03 12:00+00'
SELECT day, count(*) FROM lot GROUP BY day HAVING day >= '2025-08-20' AND count(*) FILTER (WHERE is_sold) > 20
SELECT is_sold, kind % 5, count(*) FROM lot GROUP BY 1, 2 HAVING is_sold AND (kind % 5 > 2 OR kind % 5 IS NULL)
SELECT kind % 9, sum(kind) FROM lot GROUP BY 1 HAVING sum(kind) / count(*) > 180 AND bool_or(is_sold)
SELECT kind, min(ratio), count(DISTINCT day) FROM lot GROUP BY kind HAVING min(ratio) > 1.5 AND count(DISTINCT day) > 20
SELECT kind, sum(loose), max(loose) FROM lot GROUP BY kind HAVING sum(loose) > 430 AND min(loose) < 3
SELECT kind, avg(loose) FROM lot GROUP BY kind HAVING avg(loose) > 14
SELECT note, count(*) FROM lot GROUP BY note HAVING note > 'note 4' AND count(*) > 100
SELECT kind, count(*) FROM lot GROUP BY kind HAVING CASE WHEN kind > 300 THEN sum(price) > 1500 WHEN kind IS NULL THEN true ELSE count(*) = 1 END
SELECT kind, count(*) FROM lot GROUP BY kind HAVING coalesce(sum(price) FILTER (WHERE id < 0), -1) = -1 AND kind IN (3, 5, 77, NULL)
SELECT kind, count(*) FROM lot GROUP BY kind HAVING 100 / (kind - 3) > 20
SELECT kind, count(*) FROM lot GROUP BY kind HAVING count(*) > 30 AND 100 / nullif(kind - 3, 0) > 20
SELECT count(*), sum(price) FROM lot HAVING sum(price) > 1e9
SELECT count(*), sum(price) FROM lot WHERE id < 0 HAVING sum(price) IS NULL AND count(*) = 0
SELECT 1 FROM lot HAVING count(*) > 5
SELECT kind, sum(ratio) FROM lot GROUP BY kind HAVING sum(ratio) > 110
SELECT kind, stddev(price), count(*) FROM lot GROUP BY kind HAVING stddev(price) > 40 AND count(*) > 28
SELECT kind, sum(price) FROM lot GROUP BY kind HAVING sum(price) > (SELECT avg(price) * 20 FROM lot)
SELECT kind, sum(price) FROM lot GROUP BY kind HAVING kind NOT IN (SELECT kind + 1 FROM lot WHERE id < 300 AND kind IS NOT NULL)
SELECT kind, day, count(*) FROM lot GROUP BY GROUPING SETS ((kind), (day), ()) HAVING count(*) > 45
SELECT a.kind, count(*), sum(b.price) FROM lot a JOIN lot b ON a.id = b.id + 7 AND b.is_sold GROUP BY 1 HAVING sum(b.price) > 700 AND a.kind > 100
$list$);
-- With an order and a limit no more groups leave than these want, if the engine tests all of HAVING.
SELECT * FROM compare_all($list$
SELECT id, sum(price) FROM lot GROUP BY id HAVING sum(price) > 100 ORDER BY sum(price) DESC, id LIMIT 7
SELECT kind, count(*) FROM lot GROUP BY kind HAVING sum(price) > 1000 ORDER BY count(*) DESC, kind LIMIT 5 OFFSET 3
SELECT kind, count(*) FROM lot GROUP BY kind HAVING stddev(price) > 40 ORDER BY count(*) DESC, kind LIMIT 5
SELECT note, count(*) FROM lot GROUP BY note HAVING note > 'note 4' ORDER BY count(*) DESC, note LIMIT 3
$list$);
SELECT s.query, l.* FROM (VALUES
    ('SELECT id, sum(price) FROM lot GROUP BY id HAVING sum(price) > 100'),
    ('SELECT id, sum(price) FROM lot GROUP BY id HAVING sum(price) > 100 ORDER BY sum(price) DESC, id LIMIT 7'),
    ('SELECT id FROM lot GROUP BY id HAVING avg(price) > 144.7'),
    ('SELECT kind FROM lot GROUP BY kind HAVING stddev(price) > 40 AND count(*) > 28')) AS s (query), leaving(s.query) AS l;
-- Parameters, and outer rows.
SET plan_cache_mode = force_generic_plan;
PREPARE of_price (numeric, int) AS SELECT kind, sum(price) FROM lot GROUP BY kind HAVING sum(price) > $1 AND count(*) > $2 ORDER BY 2 DESC, 1 LIMIT 3;
EXECUTE of_price(1400, 10);
EXECUTE of_price(1900, NULL);
EXECUTE of_price(-1, 30);
SELECT x, (SELECT count(*) FROM (SELECT kind FROM lot GROUP BY kind HAVING sum(price) > x) AS s) FROM generate_series(0, 2000, 500) AS x;
-- What is grouped by, with a sub-select of its own, is no column that groups could have. PostgreSQL 18 knows that it is grouped by.
SELECT rows, same FROM compare('SELECT floor(id / 900.5) + (SELECT 9) AS part FROM lot GROUP BY 1 HAVING floor(id / 900.5) + (SELECT 9) IS NOT NULL OR count(*) > 2');
SELECT * FROM compare_all($list$
SELECT kind % 7 + (SELECT 1), count(*) FROM lot GROUP BY 1 HAVING max(price) > 1 AND kind % 7 + (SELECT 1) > 3
SELECT kind % 7 + (SELECT 1) AS k, count(*) FROM lot GROUP BY k HAVING max(price) > 1
$list$);
-- Sums that don't fit.
SELECT kind, sum(big::numeric * big * big * big) FROM lot GROUP BY kind HAVING avg(big::numeric * big) > 1e36 ORDER BY 1 LIMIT 2;
INSERT INTO lot (id, price, loose) VALUES (-1, 'NaN', 'NaN');
SELECT id, sum(price) FROM lot GROUP BY id HAVING sum(price) > 144.5 ORDER BY id;

DROP FUNCTION compare, compare_all, who_answers, answer_of, leaving;
DROP TABLE lot;
