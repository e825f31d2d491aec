-- Partitions whose groups GpuQuery computes, each by itself, as states that PostgreSQL puts together.
SET pg_gpu.path = host;
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;

CREATE TABLE measured (id int8, kind int2, size int4, price numeric(12,2), loose numeric, ratio float8, small float4, moment timestamptz, word text) PARTITION BY RANGE (id);
CREATE TABLE measured_1 PARTITION OF measured FOR VALUES FROM (0) TO (1000) WITH (autovacuum_enabled = off);
-- Its columns lie elsewhere.
CREATE TABLE measured_2 (word text, dropped int, moment timestamptz, ratio float8, small float4, price numeric(12,2), loose numeric, size int4, kind int2, id int8) WITH (autovacuum_enabled = off);
ALTER TABLE measured_2 DROP COLUMN dropped;
ALTER TABLE measured ATTACH PARTITION measured_2 FOR VALUES FROM (1000) TO (2000);
-- One without rows, and one without an index.
CREATE TABLE measured_3 PARTITION OF measured FOR VALUES FROM (2000) TO (3000) WITH (autovacuum_enabled = off);
CREATE TABLE measured_4 PARTITION OF measured FOR VALUES FROM (3000) TO (4000) WITH (autovacuum_enabled = off);
INSERT INTO measured
SELECT i, i % 5, i * 3, i * 0.25, CASE WHEN i % 13 <> 0 THEN round((i * 7 % 1000) / 8.0, i % 4) END, i / 7.0, i / 3.0, timestamptz '2024-01-01 00:00+00' + i * interval '1 minute', CASE WHEN i % 11 <> 0 THEN 'w' || i % 4 END
FROM generate_series(1, 1999) AS i;
INSERT INTO measured SELECT i, 7, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM generate_series(3000, 3100) AS i;
CREATE INDEX measured_1_i ON measured_1 USING gpu_column (id, kind, size, price, loose, ratio, small, moment, word);
CREATE INDEX measured_2_i ON measured_2 USING gpu_column (id, kind, size, price, loose, ratio, small, moment, word);
CREATE INDEX measured_3_i ON measured_3 USING gpu_column (id, kind, size, price, loose, ratio, small, moment, word);
VACUUM ANALYZE measured;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all

SELECT * FROM compare_all($list$
SELECT kind, count(*), count(loose + size), sum(size * 2), sum(id * size), sum(price * size), sum(loose / (size + 1)) FROM measured GROUP BY kind
SELECT avg(size + kind), avg(id * 3), avg(price / 3), avg(kind + 1::int2) FROM measured
SELECT word, min(price * 2), max(size - kind), max(date_trunc('month', moment)), bool_or(size > kind * 100), bit_or(size + kind) FROM measured GROUP BY word
SELECT kind, variance(size + kind), stddev_pop(id * 2) FROM measured GROUP BY kind
SELECT var_samp(price * kind) FROM measured
SELECT stddev(loose * 2) FROM measured
SELECT word, max(size - kind), bool_or(size > kind * 100) FROM measured GROUP BY word
SELECT round(corr(size, kind + 1)::numeric, 9), round(regr_slope(price, size)::numeric, 9), round(covar_pop(size, kind)::numeric, 6), regr_count(size, loose) FROM measured
SELECT sum(CASE WHEN kind = 1 THEN price WHEN size > 10 THEN loose ELSE 0 END) FROM measured
SELECT kind, round(sum(ratio * 2)::numeric, 6), round(avg(ratio + small)::numeric, 4), max(small * 2), round(avg(small * 2)::numeric, 2) FROM measured GROUP BY kind
SELECT kind, sum(size + kind) FROM measured GROUP BY kind HAVING sum(size + kind) > 600000
SELECT kind, sum(size + kind) FROM measured GROUP BY kind HAVING count(*) > 101 ORDER BY kind LIMIT 2
SELECT kind, sum(size + kind) FROM measured GROUP BY kind ORDER BY 2 DESC NULLS LAST LIMIT 2
SELECT count(*), sum(size + kind) FROM measured WHERE id > 5000
SELECT sum(size + kind), sum(id + 1), sum(price + 1), avg(ratio + 1), corr(ratio::int, kind) FROM measured WHERE id BETWEEN 2000 AND 2500 OR id > 3000
SELECT kind, sum(size + kind) FROM measured WHERE id < 1000 GROUP BY kind
SELECT count(DISTINCT size + kind) FROM measured
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY size + kind) FROM measured
$list$);

-- Rows that change.
UPDATE measured SET size = size + 1 WHERE id % 9 = 0;
DELETE FROM measured WHERE id % 17 = 0;
INSERT INTO measured VALUES (999, 2, 5, 1.5, 1.123, 0.5, 0.25, NULL, 'new');
SELECT * FROM compare_all($list$
SELECT kind, count(*), sum(size * 2), sum(id * size), sum(price * size), sum(loose * size), avg(size + kind) FROM measured GROUP BY kind
$list$);

-- Inheritance: the parent has rows of its own.
CREATE TABLE base (id int4, v numeric) WITH (autovacuum_enabled = off);
CREATE TABLE derived (more text) INHERITS (base) WITH (autovacuum_enabled = off);
INSERT INTO base SELECT i, i / 4.0 FROM generate_series(1, 500) AS i;
INSERT INTO derived SELECT i, i / 8.0, 'more' FROM generate_series(1, 500) AS i;
CREATE INDEX base_i ON base USING gpu_column (id, v);
CREATE INDEX derived_i ON derived USING gpu_column (id, v);
VACUUM ANALYZE base, derived;
SELECT * FROM compare_all($list$
SELECT id % 3, sum(v * id), avg(v / (id + 1)), count(*) FROM base GROUP BY 1
SELECT sum(v * id), avg(id / 2.0) FROM ONLY base
$list$);

DROP FUNCTION compare, compare_all, who_answers, answer_of;
DROP TABLE measured, base, derived;
