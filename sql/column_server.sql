-- gpu_column's runs in the server process: residency, what is answered there, and that answers are a sequential scan's.
SET pg_gpu.enable_query = off;
LOAD 'pg_gpu';
SET pg_gpu.path = host;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE column_far (id int, few int4, wide int8, f float8, r float4, s text, d date, b bool, n numeric);
INSERT INTO column_far
SELECT g, g % 91 - 40, g::int8 * 7919 % 1000003 * 1000000007, CASE WHEN g % 1000 = 7 THEN 'NaN' WHEN g % 1000 = 8 THEN '-Infinity' WHEN g % 1000 = 9 THEN '-0' ELSE (g % 333 - 100.5)::text END::float8,
       (g % 20000 * 104729 % 10007)::float4 / 8, CASE WHEN g % 17 > 0 THEN 'name' || g % 211 END, date '2020-01-01' + g % 700, g % 3 = 0, (g % 25)::numeric / 4
FROM generate_series(1, 60000) AS g;
CREATE INDEX column_far_i ON column_far USING gpu_column (few, wide, f, r, s, d, b, n);
VACUUM ANALYZE column_far;

-- Residency.
SELECT gpu.load('column_far_i') BETWEEN 60000 * 12 AND 60000 * 20 AS loaded;
SELECT gpu.load('column_far_i') AS loaded_again;
SELECT index_name, kind, entries, device, pinned, run_id = (SELECT run_id FROM gpu.runs(index_name)) AS run FROM gpu.mirrors WHERE index_name = 'column_far_i'::regclass;
SELECT gpu.load('column_far_i', true) AS loaded_again;
SELECT pinned FROM gpu.mirrors WHERE index_name = 'column_far_i'::regclass;

-- The same conditions as a count and a bitmap by the server, on pages, and in a sequential scan.
CREATE FUNCTION column_far_compare(condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    query text := 'SELECT count(*) || '' '' || coalesce(sum(id), 0) FROM column_far WHERE ' || condition;
    expected text;
    bitmap text;
    counted bigint := gpu.count('column_far_i', condition);
    paged bigint;
BEGIN
    SET LOCAL enable_indexscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_seqscan = on; SET LOCAL pg_gpu.enable_count_scan = off;
    EXECUTE query INTO expected;
    SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = on;
    EXECUTE query INTO bitmap;
    SET LOCAL pg_gpu.path = paged;
    paged := gpu.count('column_far_i', condition);
    SET LOCAL pg_gpu.path = host;
    RETURN CASE WHEN bitmap = expected AND counted::text = split_part(expected, ' ', 1) AND paged = counted THEN expected
           ELSE format('expected %s, bitmap %s, counted %s, paged %s', expected, bitmap, counted, paged) END;
END
$$;
CREATE TABLE column_far_conditions (n int, condition text, bitmaps int);
INSERT INTO column_far_conditions VALUES
  (1, 'few BETWEEN -10 AND 20', 1), (2, 'few = 17 AND b', 1), (3, 'f = 0', 1), (4, 'f = ''NaN''', 1), (5, 'f < -1e300', 1),
  (6, 'wide BETWEEN 1000000000000 AND 500000000000000 AND few > 0', 1), (7, 's IS NULL', 1), (8, 's IS NOT NULL AND s = ''name7''', 1),
  (9, 'few = ANY (''{1,5,6,7,50}'')', 1), (10, 'wide = ANY (''{7919000055433,15838000110866,4,5}'')', 1), (11, 'few > 3000000000', 0), (12, 'few IS NULL', 1),
  (13, 's LIKE ''name1%'' AND d < ''2021-01-01''', 0), (14, 's < ''name3'' AND NOT b', 1), (15, 'n = 1.50', 1), (16, 'n > 2 AND r < 100', 1), (17, 'few <> 3', 1),
  (18, 'd = ''2020-06-01''', 1), (19, 's = ANY (''{name1,name2,nobody}'')', 1), (20, 's ~~* ''NAME_''', 0);
SELECT n, column_far_compare(condition) FROM column_far_conditions ORDER BY n;
-- Each was asked there twice, but for those that nothing can meet, and bitmaps by operators that may raise errors.
SELECT gpu.stat_reset();
SELECT count(column_far_compare(condition)), sum(bitmaps) AS bitmaps FROM column_far_conditions;
SELECT request, requests FROM gpu.stat WHERE path = 'host' AND request IN ('count rows', 'match rows') AND fallbacks = 0 ORDER BY request;

-- Histograms, summaries and dictionaries.
CREATE FUNCTION column_far_same(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    differences bigint;
    rows bigint;
BEGIN
    EXECUTE 'CREATE TEMP TABLE column_far_answer ON COMMIT DROP AS ' || query;
    SET LOCAL pg_gpu.path = paged;
    EXECUTE format('SELECT count(*) FROM ((TABLE column_far_answer EXCEPT %1$s) UNION ALL (%1$s EXCEPT TABLE column_far_answer)) AS d', query) INTO differences;
    SET LOCAL pg_gpu.path = host;
    SELECT count(*) INTO rows FROM column_far_answer;
    DROP TABLE column_far_answer;
    RETURN format('%s rows, %s differences', rows, differences);
END
$$;
SELECT gpu.stat_reset();
SELECT c, column_far_same(format('SELECT * FROM gpu.histogram(''column_far_i'', %L, 37, -50, 150)', c)) AS given,
       column_far_same(format('SELECT * FROM gpu.histogram(''column_far_i'', %L, 1000, filter => ''few > -30 AND f > -1e300 AND f < 1e300'')', c)) AS found
FROM unnest('{few,wide,f,r,d,n}'::text[]) AS c;
SELECT c, column_far_same(format('SELECT count, nulls, distinct_values, minimum, maximum, sum, mean FROM gpu.summary(''column_far_i'', %L)', c)) AS summary,
       column_far_same(format('SELECT * FROM gpu.dictionary(''column_far_i'', %L)', c)) AS dictionary
FROM unnest('{few,f,s,d,b,n}'::text[]) AS c;
SELECT request, requests > 20 AS asked, fallbacks FROM gpu.stat WHERE path = 'host' AND request LIKE 'count%' ORDER BY request;
-- Minus zero is zero, and infinite bounds are refused wherever they were found.
SELECT lower FROM gpu.histogram('column_far_i', 'f', 2, filter => 'f BETWEEN -0.25 AND 0.25') WHERE bin = 1;
SELECT count(*) FROM gpu.histogram('column_far_i', 'f', 10);
-- A column of many values that have no dictionary is left to the pages.
SELECT distinct_values FROM gpu.summary('column_far_i', 'wide');
SELECT last_reason FROM gpu.stat WHERE path = 'host' AND request = 'count values';

-- Rows that not everybody sees, a tail, and dead entries.
BEGIN;
UPDATE column_far SET few = few + 1000, s = 'changed' WHERE id % 7 = 0;
DELETE FROM column_far WHERE id % 11 = 0;
INSERT INTO column_far SELECT g, g, g, g, g, 'new', '2030-01-01', true, g FROM generate_series(70001, 70100) AS g;
SELECT column_far_compare('few > 900'), column_far_compare('s = ''changed'''), column_far_compare('s LIKE ''%e%'' AND b'), column_far_compare('n > 70000');
SELECT column_far_same('SELECT * FROM gpu.histogram(''column_far_i'', ''few'')'), column_far_same('SELECT * FROM gpu.dictionary(''column_far_i'', ''s'')'),
       column_far_same('SELECT * FROM gpu.histogram(''column_far_i'', ''n'', 20)');
ROLLBACK;
SELECT column_far_compare('few > 900'), column_far_compare('s LIKE ''%e%'' AND b');
SELECT column_far_same('SELECT * FROM gpu.histogram(''column_far_i'', ''few'')'), column_far_same('SELECT * FROM gpu.dictionary(''column_far_i'', ''s'')');
DELETE FROM column_far WHERE id % 5 = 0;
VACUUM column_far;
SELECT column_far_compare('few BETWEEN -10 AND 20'), column_far_compare('b'), column_far_compare('d > ''2021-06-01'' AND s IS NOT NULL');
SELECT column_far_same('SELECT * FROM gpu.histogram(''column_far_i'', ''wide'', 64)'), column_far_same('SELECT * FROM gpu.summary(''column_far_i'', ''few'')');
SELECT count(*) > 0 AS merged FROM gpu.merge('column_far_i');
SELECT column_far_compare('few BETWEEN -10 AND 20'), column_far_same('SELECT * FROM gpu.histogram(''column_far_i'', ''r'', 64)');
-- Dictionaries of integers are merged there; every entry's code is looked at again.
CREATE TABLE column_far_merge (k int8, f float8);
INSERT INTO column_far_merge SELECT g % 4000 * 1000003::int8, CASE WHEN g % 50 > 0 THEN g % 3000 / 7.0::float8 END FROM generate_series(1, 40000) AS g;
CREATE INDEX column_far_merge_i ON column_far_merge USING gpu_column (k, f) WITH (fanout = 64);
INSERT INTO column_far_merge SELECT g % 5000 * 999983::int8, g % 2000 / 3.0::float8 FROM generate_series(1, 20000) AS g;
DELETE FROM column_far_merge WHERE k % 7 = 0;
SELECT step, column_name, path FROM gpu.merge('column_far_merge_i') WHERE step = 'merge dictionaries';
SELECT column_name, encoding, distinct_values = (SELECT count(DISTINCT k) FROM column_far_merge) OR distinct_values = (SELECT count(DISTINCT f) FROM column_far_merge) AS all_values
FROM gpu.columns('column_far_merge_i');
SELECT count(*) FROM gpu.verify('column_far_merge_i');
SELECT count(*) FROM (SELECT value::int8, count FROM gpu.dictionary('column_far_merge_i', 'k') EXCEPT SELECT k, count(*) FROM column_far_merge GROUP BY k) AS d;
SELECT count(*) FROM (SELECT value::float8, count FROM gpu.dictionary('column_far_merge_i', 'f') EXCEPT SELECT f, count(*) FROM column_far_merge GROUP BY f) AS d;
SELECT requests > 1 AS asked, fallbacks FROM gpu.stat WHERE path = 'host' AND request = 'merge dictionaries';
-- An operator sees no value that the query can't see: of those that are left it raises no error.
CREATE TABLE column_far_errors (id int, v int4);
INSERT INTO column_far_errors SELECT g, g % 50 FROM generate_series(1, 20000) AS g;
INSERT INTO column_far_errors VALUES (0, 666);
CREATE FUNCTION column_far_raise(int4, text) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN IF $1 = 666 THEN RAISE EXCEPTION 'saw 666'; END IF; RETURN $1::text = $2; END $$;
CREATE OPERATOR ==== (LEFTARG = int4, RIGHTARG = text, FUNCTION = column_far_raise);
ALTER OPERATOR FAMILY gpu.column_ops USING gpu_column ADD OPERATOR 3 ==== (int4, text);
CREATE INDEX column_far_errors_i ON column_far_errors USING gpu_column (v);
SELECT gpu.count('column_far_errors_i', 'v ==== ''7''');
DELETE FROM column_far_errors WHERE v = 666;
SELECT gpu.stat_reset();
SELECT gpu.count('column_far_errors_i', 'v ==== ''7''');
SELECT request, requests FROM gpu.stat WHERE path = 'host' AND request LIKE 'count%' ORDER BY request;
ALTER OPERATOR FAMILY gpu.column_ops USING gpu_column DROP OPERATOR 3 (int4, text);

-- Residency is the setting's and the owner's to decide.
SET pg_gpu.mirror = manual;
SELECT gpu.evict('column_far_i') > 0 AS evicted, gpu.evict('column_far_i') AS again;
SELECT gpu.stat_reset();
SELECT gpu.count('column_far_i', 'few = 1') = (SELECT count(*) FROM column_far WHERE few + 0 = 1) AS same;
SELECT fallbacks > 0 AS fell_back, last_reason FROM gpu.stat WHERE path = 'host' AND request = 'count rows';
SET pg_gpu.mirror = off;
SELECT gpu.load('column_far_i');
RESET pg_gpu.mirror;

-- Runs of a sealed tail alone, and an index without a row.
CREATE TEMP TABLE column_temp (x int4, t text);
CREATE INDEX column_temp_i ON column_temp USING gpu_column (x, t);
SELECT gpu.load('column_temp_i'), gpu.count('column_temp_i', 'x > 1');
INSERT INTO column_temp SELECT g, 't' || g % 9 FROM generate_series(1, 3000) AS g;
SELECT gpu.load('column_temp_i') > 0 AS loaded;
SELECT gpu.count('column_temp_i', 'x BETWEEN 10 AND 2000 AND t = ''t3''');
SELECT index_name, kind FROM gpu.mirrors WHERE run_id IN (SELECT run_id FROM gpu.runs('column_temp_i')) LIMIT 1;
-- With a small transfer buffer a large result is left to the pages.
SET pg_gpu.session_transfer_memory = '1MB';
INSERT INTO column_far SELECT g, g % 100, g, g, g, 's', '2020-01-01', true, 1 FROM generate_series(100001, 300000) AS g;
SELECT count(*) > 0 AS merged FROM gpu.merge('column_far_i');
SELECT gpu.stat_reset();
SELECT gpu.count('column_far_i', 'few >= 0') = (SELECT count(*) FROM column_far WHERE few + 0 >= 0) AS same;
SELECT fallbacks, last_reason FROM gpu.stat WHERE path = 'host' AND request = 'count rows';
DROP TABLE column_far, column_far_conditions, column_far_errors, column_far_merge CASCADE;
DROP FUNCTION column_far_compare(text), column_far_same(text), column_far_raise(int4, text) CASCADE;
