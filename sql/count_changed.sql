-- Counts of ranges beside blocks that aren't all-visible: by ranks, less the entries without a visible row.
SET pg_gpu.enable_query = off;
-- What gpu.count, gpu.count_batch and the node say, and whether few entries are looked up in the table without a server process.
CREATE FUNCTION counted(index regclass, source text, key text, low anyelement, high anyelement, OUT rows bigint, OUT functions bigint[], OUT node text, OUT few bool)
LANGUAGE plpgsql AS $$
DECLARE
    line text;
    path text := current_setting('pg_gpu.path');
    question text := format('SELECT count(*) FROM %s AND %s BETWEEN %L AND %L', source, key, low, high);
BEGIN
    SET LOCAL enable_indexscan = off;
    SET LOCAL enable_indexonlyscan = off;
    SET LOCAL enable_bitmapscan = off;
    SET LOCAL pg_gpu.enable_count_scan = off;
    EXECUTE question INTO rows;
    SET LOCAL enable_indexscan = on;
    SET LOCAL enable_indexonlyscan = on;
    SET LOCAL pg_gpu.enable_count_scan = on;
    SET LOCAL enable_seqscan = off;
    functions := ARRAY[gpu.count(index, ARRAY[low], ARRAY[high]), gpu.count(index, ARRAY[low], ARRAY[high])] ||
        ARRAY(SELECT count FROM gpu.count_batch(index, ARRAY[[low], [low]], ARRAY[[high], [high]]) ORDER BY ordinal);
    EXECUTE question INTO node;
    PERFORM set_config('pg_gpu.path', 'paged', true);
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || question LOOP
        few := coalesce(substring(line FROM 'Heap Fetches: (\d+)')::int <= 60, few);
    END LOOP;
    PERFORM set_config('pg_gpu.path', path, true);
    functions := ARRAY(SELECT DISTINCT unnest(functions));
END $$;

CREATE TABLE changed (k int4, w int8, u uuid, v int4, t text) WITH (autovacuum_enabled = off, fillfactor = 90);
INSERT INTO changed SELECT i, i * 3, md5(i::text)::uuid, i % 4, 'some text' FROM generate_series(1, 20000) AS i;
CREATE INDEX changed_k ON changed USING gpu_kary (k);
CREATE INDEX changed_w ON changed USING gpu_kary (w DESC);
CREATE INDEX changed_u ON changed USING gpu_kary (u);
CREATE INDEX changed_v ON changed USING gpu_kary (v);
CREATE INDEX changed_part ON changed USING gpu_kary (k) WHERE v = 1;
CREATE INDEX changed_sum ON changed USING gpu_kary ((k + v));
CREATE FUNCTION all_counted(OUT index regclass, OUT rows bigint, OUT functions bigint[], OUT node text, OUT few bool) RETURNS SETOF record
LANGUAGE sql AS $$
    SELECT 'changed_k'::regclass, * FROM counted('changed_k', 'changed WHERE true', 'k', 101, 19000)
    UNION ALL SELECT 'changed_w', * FROM counted('changed_w', 'changed WHERE true', 'w', 303::int8, 57000::int8)
    UNION ALL SELECT 'changed_u', * FROM counted('changed_u', 'changed WHERE true', 'u', '01000000-0000-0000-0000-000000000000'::uuid, 'ee000000-0000-0000-0000-000000000000')
    UNION ALL SELECT 'changed_v', * FROM counted('changed_v', 'changed WHERE true', 'v', 1, 2)
    UNION ALL SELECT 'changed_part', * FROM counted('changed_part', 'changed WHERE v = 1', 'k', 101, 19000)
    UNION ALL SELECT 'changed_sum', * FROM counted('changed_sum', 'changed WHERE true', '(k + v)', 101, 19000);
$$;
VACUUM (INDEX_CLEANUP ON) changed;
SELECT * FROM all_counted();
-- Deleted rows, still there and then dead line pointers, whose keys are known or looked for.
DELETE FROM changed WHERE k BETWEEN 5001 AND 5020;
SELECT * FROM all_counted();
VACUUM (INDEX_CLEANUP OFF) changed;
SELECT * FROM all_counted();
DELETE FROM changed WHERE k BETWEEN 9001 AND 9003;
SELECT index, rows, functions, node FROM all_counted();
VACUUM (INDEX_CLEANUP OFF) changed;
SELECT index, rows, functions, node FROM all_counted();
VACUUM (INDEX_CLEANUP ON) changed;
-- Line pointers that are used again, by rows that are deleted again.
INSERT INTO changed SELECT i, i * 3, md5(i::text)::uuid, 1, 'again' FROM generate_series(15001, 15015) AS i;
SELECT * FROM all_counted();
DELETE FROM changed WHERE t = 'again' AND k % 2 = 0;
VACUUM (INDEX_CLEANUP OFF) changed;
SELECT index, rows, functions, node FROM all_counted();
SELECT index, rows, functions, node FROM all_counted();
VACUUM (INDEX_CLEANUP ON) changed;
-- Updates with and without new entries, taken back or not, of this transaction and another one.
BEGIN;
UPDATE changed SET t = 'hot' WHERE k BETWEEN 7001 AND 7005;
UPDATE changed SET k = k + 10000, w = w + 1 WHERE k BETWEEN 7003 AND 7007;
SELECT * FROM all_counted();
SAVEPOINT s;
UPDATE changed SET k = -k WHERE k BETWEEN 7001 AND 7002 OR k BETWEEN 17003 AND 17005;
DELETE FROM changed WHERE k BETWEEN 6999 AND 7000;
INSERT INTO changed SELECT 500, 500, '77777777-7777-7777-7777-777777777777', 2, 'new' FROM generate_series(1, 5);
SELECT * FROM all_counted();
ROLLBACK TO s;
SELECT * FROM all_counted();
COMMIT;
SELECT * FROM all_counted();
BEGIN;
INSERT INTO changed SELECT 501, 500, '77777777-7777-7777-7777-777777777777', 2, 'never' FROM generate_series(1, 5);
UPDATE changed SET t = 'never' WHERE k BETWEEN 12001 AND 12005;
ROLLBACK;
SELECT * FROM all_counted();
SELECT * FROM gpu.verify('changed_k');
DROP TABLE changed;

-- NULLs, in one column and in several.
CREATE TABLE with_nulls (a int4, b int8) WITH (autovacuum_enabled = off);
INSERT INTO with_nulls SELECT nullif(i % 10, 3), nullif(i % 7, 5) FROM generate_series(1, 20000) AS i;
CREATE INDEX with_nulls_a ON with_nulls USING gpu_kary (a);
CREATE INDEX with_nulls_ab ON with_nulls USING gpu_kary (a, b);
VACUUM (INDEX_CLEANUP ON) with_nulls;
DELETE FROM with_nulls WHERE ctid = ANY (ARRAY(SELECT format('(50,%s)', i)::tid FROM generate_series(1, 30) AS i));
CREATE FUNCTION nulls_counted(OUT condition text, OUT rows bigint, OUT counted bigint) RETURNS SETOF record LANGUAGE plpgsql AS $$
BEGIN
    FOREACH condition IN ARRAY ARRAY['a IS NULL', 'a IS NOT NULL', 'a BETWEEN 2 AND 6', 'a = 4 AND b > 1', 'a = 4 AND b IS NULL', 'a IS NULL AND b IS NULL', 'a >= 4', 'a IN (2, 5)'] LOOP
        SET LOCAL enable_indexscan = off;
        SET LOCAL enable_indexonlyscan = off;
        SET LOCAL enable_bitmapscan = off;
        SET LOCAL pg_gpu.enable_count_scan = off;
        EXECUTE 'SELECT count(*) FROM with_nulls WHERE ' || condition INTO rows;
        SET LOCAL enable_indexscan = on;
        SET LOCAL enable_indexonlyscan = on;
        SET LOCAL pg_gpu.enable_count_scan = on;
        SET LOCAL enable_seqscan = off;
        EXECUTE 'SELECT count(*) FROM with_nulls WHERE ' || condition INTO counted;
        SET LOCAL enable_seqscan = on;
        RETURN NEXT;
    END LOOP;
END $$;
SELECT * FROM nulls_counted();
VACUUM (INDEX_CLEANUP OFF) with_nulls;
SELECT * FROM nulls_counted();
SELECT bool_and(rows = counted) AS same FROM nulls_counted();
UPDATE with_nulls SET b = NULL WHERE ctid = ANY (ARRAY(SELECT format('(51,%s)', i)::tid FROM generate_series(1, 30) AS i));
SELECT * FROM nulls_counted();
DROP TABLE with_nulls;

-- Chains that are older than the index, and have other values before the last one.
CREATE TABLE chained (id int4, v int4) WITH (autovacuum_enabled = off, fillfactor = 50);
INSERT INTO chained SELECT i, i FROM generate_series(1, 20000) AS i;
UPDATE chained SET v = v + 30000 WHERE id BETWEEN 1001 AND 1040;
CREATE INDEX chained_v ON chained USING gpu_kary (v);
VACUUM chained;
DELETE FROM chained WHERE id BETWEEN 1011 AND 1020;
UPDATE chained SET id = -id WHERE id BETWEEN 1021 AND 1030;
SELECT * FROM counted('chained_v', 'chained WHERE true', 'v', 1, 40000);
SELECT * FROM counted('chained_v', 'chained WHERE true', 'v', 1, 30000);
SELECT * FROM counted('chained_v', 'chained WHERE true', 'v', 30001, 40000);
TRUNCATE chained;
INSERT INTO chained SELECT i, i FROM generate_series(1, 20000) AS i;
VACUUM chained;
DELETE FROM chained WHERE id BETWEEN 11 AND 15;
SELECT * FROM counted('chained_v', 'chained WHERE true', 'v', 1, 15000);
DROP TABLE chained;

-- Dead entries on several pages of a run's bitmap, counted from odd places on.
CREATE TABLE often (k int4) WITH (autovacuum_enabled = off);
INSERT INTO often SELECT i FROM generate_series(1, 150000) AS i;
CREATE INDEX often_k ON often USING gpu_kary (k);
DELETE FROM often WHERE k % 7 = 0 OR k BETWEEN 65200 AND 65299;
VACUUM (INDEX_CLEANUP ON) often;
SELECT low, high, gpu.count('often_k', ARRAY[low], ARRAY[high]), (SELECT count(*) FROM often WHERE k + 0 BETWEEN low AND high)
FROM (VALUES (1, 150000), (3, 65216), (65216, 65218), (65210, 65290), (65279, 130432), (64, 127), (65, 129), (130431, 149999), (130433, 130440)) AS r (low, high);
SELECT count(*), sum(gpu.count('often_k', ARRAY[low], ARRAY[low + 500])), sum((low + 500) - (low + 500) / 7 - (low - 1) + (low - 1) / 7) FROM generate_series(1, 60000, 777) AS low;
DROP TABLE often;

-- A key that dead rows don't tell: entries are looked at one by one, until VACUUM has made line pointers of these.
CREATE TABLE worded (k int4, t text) WITH (autovacuum_enabled = off);
INSERT INTO worded SELECT i, 'w' || i FROM generate_series(1, 20000) AS i;
CREATE INDEX worded_kt ON worded USING gpu_kary (k, t gpu.hash_ops);
VACUUM worded;
DELETE FROM worded WHERE k BETWEEN 11 AND 15;
SELECT gpu.count('worded_kt', ROW(1, NULL::text), ROW(15000, NULL::text)), (SELECT count(*) FROM worded WHERE k + 0 BETWEEN 1 AND 15000);
VACUUM (INDEX_CLEANUP OFF) worded;
SELECT gpu.count('worded_kt', ROW(1, NULL::text), ROW(15000, NULL::text)), gpu.count('worded_kt', ROW(1, NULL::text), ROW(15000, NULL::text)), (SELECT count(*) FROM worded WHERE k + 0 BETWEEN 1 AND 15000);
DROP TABLE worded;
DROP FUNCTION counted, all_counted, nulls_counted;
