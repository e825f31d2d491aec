-- Runs of which no row can match, by the least and the greatest value that they tell of their columns, are left out: each statement is run
-- with PostgreSQL's own plan, too, and the answers are held against each other.
SET seq_page_cost = 100;
SET random_page_cost = 100;
SET enable_bitmapscan = off;
SET max_parallel_workers_per_gather = 0;
SET timezone = 'UTC';
\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all

-- How many runs were left out, whichever path answered.
CREATE FUNCTION skipped(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT JSON) ' || query INTO plan;
    RETURN (SELECT coalesce(sum(n::bigint), 0) FROM jsonb_path_query(plan::jsonb, 'strict $.**."Skipped Runs"') AS n);
END $$;
-- The comparison, and whether any run was left out.
CREATE FUNCTION compare_skipped(query text, OUT who text, OUT rows int, OUT same text, OUT any_skipped bool) LANGUAGE sql
    AS $$ SELECT c.who, c.rows, c.same, skipped(query) > 0 FROM compare(query) AS c $$;

-- The first run has the lower half of the numbers, and no value of `late`; those behind it have the upper half, and no NULL of `mixed`.
CREATE TABLE skips (k int4, big int8, day date, at timestamptz, f8 float8, word text, price numeric(10,2), late int4, mixed int4) WITH (autovacuum_enabled = off);
CREATE FUNCTION add_skips(first int, last int) RETURNS void LANGUAGE sql AS $$
INSERT INTO skips
SELECT i, i * 4611686018427::int8 - 4611686018427387904, date '2000-01-01' + i, timestamptz '2020-01-01' + i * interval '1 minute', (i - 5000) / 4.0, 'w' || i / 100, i / 8.0,
       CASE WHEN i > 10000 THEN i END, CASE WHEN i > 10000 OR i % 3 > 0 THEN i END FROM generate_series(first, last) AS i $$;
SELECT add_skips(1, 10000);
CREATE INDEX skips_i ON skips USING gpu_column (k, big, day, at, f8, word, price, late, mixed) WITH (fanout = 64);
SELECT add_skips(10001, 10500);
SELECT add_skips(10001 + 500 * i, 10500 + 500 * i) FROM generate_series(1, 19) AS i;
VACUUM ANALYZE skips;

SELECT condition, c.* FROM (VALUES
    ('k < 100'), ('k <= 10000'), ('k > 10000'), ('k > 19990'), ('k = 20000'), ('k = 1'), ('k = 0'), ('k > 20000'), ('k < -5'), ('k BETWEEN 9990 AND 10010'),
    ('k IN (5, 6)'), ('k IN (5, 19999)'), ('k IN (-1, 40000)'), ('k = ANY (ARRAY[]::int[])'), ('k = ANY (ARRAY[NULL, 7])'), ('k < NULL'),
    ('big < 0 AND k > 19000'), ('big = 9223372036854775807'), ('big < -9223372036854775807'), ('big > 4611686018427387903'),
    ('day > date ''2027-06-01'''), ('day = ''infinity'''), ('day < ''-infinity'''), ('at >= timestamptz ''2020-01-14'''), ('at < timestamptz ''2020-01-01 00:03+00'''),
    ('f8 < -1249'), ('f8 = ''NaN'''), ('f8 = 0'), ('f8 = ''-0'''), ('f8 > 3700'), ('f8 < ''-Infinity'''), ('f8 >= ''Infinity'''),
    ('word = ''w7'''), ('word > ''w19'''), ('price < 2'), ('price > 2499'),
    ('late IS NULL'), ('late IS NOT NULL'), ('late > 0'), ('late < 0'), ('late IS NULL AND k > 19000'), ('mixed IS NULL'), ('mixed IS NULL AND k > 15000'), ('mixed IS NOT NULL AND k < 10'),
    ('k < 10 OR k > 19995'), ('NOT k < 19990'), ('k + 0 > 19990'), ('k < 50 AND price > 3')) AS s (condition),
    compare_skipped('SELECT count(*), count(late), sum(k), min(day), max(at), sum(price) FROM skips WHERE ' || condition) AS c;
SELECT condition, c.* FROM (VALUES ('k > 19000'), ('late IS NULL'), ('f8 < -1000'), ('k > 30000'), ('day < date ''2001-01-01'' AND mixed > 3')) AS s (condition),
    compare_skipped('SELECT word, count(*), sum(big), sum(mixed) FROM skips WHERE ' || condition || ' GROUP BY word') AS c;

-- Rows beside the runs, changed ones and deleted ones.
BEGIN;
UPDATE skips SET k = k + 15000 WHERE k BETWEEN 10 AND 60;
DELETE FROM skips WHERE k BETWEEN 19000 AND 19100;
INSERT INTO skips (k, late) VALUES (3, 3), (NULL, NULL), (-7, NULL);
SELECT condition, c.* FROM (VALUES ('k < 100'), ('k > 18000'), ('k BETWEEN 15010 AND 15060'), ('k < 0'), ('k IS NULL'), ('late < 100'), ('late IS NULL'), ('k = 19050')) AS s (condition),
    compare_skipped('SELECT count(*), sum(k), count(late), sum(price) FROM skips WHERE ' || condition) AS c;
ROLLBACK;

-- Values that are known when the statement runs.
SET plan_cache_mode = force_generic_plan;
PREPARE between_two(int, int) AS SELECT count(*), sum(k) FROM skips WHERE k BETWEEN $1 AND $2;
EXECUTE between_two(19000, 30000);
EXECUTE between_two(-5, 10);
EXECUTE between_two(9999, 10002);
EXECUTE between_two(NULL, 10);
EXECUTE between_two(10, 5);
SELECT skipped('EXECUTE between_two(19000, 30000)') > 0 AS many, skipped('EXECUTE between_two(-5, 30000)') AS none;
RESET plan_cache_mode;
SELECT * FROM compare_skipped('SELECT count(*), sum(k) FROM skips WHERE k > (SELECT 19000 + count(*) FROM (VALUES (1), (2)) AS v (x))');
SELECT * FROM compare_skipped('SELECT x, (SELECT sum(k) FROM skips WHERE k > x) FROM (VALUES (0), (9000), (19998), (20000), (NULL)) AS v (x)');
SELECT * FROM compare_skipped('SELECT x, n FROM (VALUES (0), (9000), (19998), (20000)) AS v (x), LATERAL (SELECT count(*) AS n FROM skips WHERE k = x OFFSET 0) AS s');

-- Rows instead of groups: first rows, counts, and bitmap scans.
SELECT * FROM compare_skipped('SELECT k, word FROM skips WHERE k > 19000 ORDER BY k DESC LIMIT 5');
SELECT * FROM compare_skipped('SELECT k, word FROM skips WHERE late IS NULL ORDER BY price DESC, k LIMIT 5');
SELECT * FROM compare_skipped('SELECT count(*) FROM skips WHERE k > 19000');
SET enable_bitmapscan = on;
SELECT condition, c.rows, c.same FROM (VALUES ('k > 19990 OR late = 10001'), ('k < 3'), ('k > 19997 AND late IS NOT NULL'), ('late IS NULL AND k > 9998'), ('k > 30000')) AS s (condition), compare('SELECT k, word FROM skips WHERE ' || condition) AS c;
SET enable_bitmapscan = off;
SELECT sum(count) AS in_bins FROM gpu.histogram('skips_i', 'k', 8, filter => 'k > 19000');
SELECT count(*) AS words FROM gpu.dictionary('skips_i', 'word', filter => 'k > 19000') WHERE count > 0;

-- Partitions: each member leaves out runs of its own.
CREATE TABLE skip_parts (k int, v int) PARTITION BY LIST (v);
CREATE TABLE skip_parts_0 PARTITION OF skip_parts FOR VALUES IN (0) WITH (autovacuum_enabled = off);
CREATE TABLE skip_parts_1 PARTITION OF skip_parts FOR VALUES IN (1) WITH (autovacuum_enabled = off);
INSERT INTO skip_parts SELECT i, i / 4001 FROM generate_series(1, 8000) AS i;
CREATE INDEX skip_parts_0_i ON skip_parts_0 USING gpu_column (k, v);
CREATE INDEX skip_parts_1_i ON skip_parts_1 USING gpu_column (v, k);
VACUUM ANALYZE skip_parts;
SET pg_gpu.path = 'host';
SET pg_gpu.min_mirror_entries = 0;
SELECT condition, c.rows, c.same, c.any_skipped FROM (VALUES ('k < 100'), ('k > 7990'), ('k > 9000'), ('k BETWEEN 3990 AND 4010'), ('k = ANY (ARRAY[1, 8000])')) AS s (condition),
    compare_skipped('SELECT v, count(*), sum(k) FROM skip_parts WHERE ' || condition || ' GROUP BY v') AS c;

DROP TABLE skips, skip_parts;
DROP FUNCTION add_skips, compare_skipped, skipped, compare, compare_all, answer_of, who_answers;
