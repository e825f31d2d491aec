-- Counts of boxes beside blocks that aren't all-visible: by the grid's directory, less the entries without a visible row.
SET pg_gpu.enable_query = off;
CREATE TABLE places (id int4, x int4, y float8, p point, u uuid, n int8, t text) WITH (autovacuum_enabled = off, fillfactor = 90);
CREATE FUNCTION add_places(first int, last int, what text) RETURNS void LANGUAGE sql AS $$
    INSERT INTO places SELECT i, hashint4(i) % 1000, hashint4(i + 1000000) % 500 / 4.0::float8, point(hashint4(i) % 300, hashint4(-i) % 300),
                              md5((i % 5000)::text)::uuid, nullif(i % 11, 4), what
    FROM generate_series(first, last) AS i
$$;
SELECT add_places(1, 12000, 'some text');
CREATE INDEX places_xyn ON places USING gpu_grid (x, y, n);
CREATE INDEX places_xi ON places USING gpu_grid (x, id);
CREATE INDEX places_p ON places USING gpu_grid (p);
CREATE INDEX places_ux ON places USING gpu_grid (u, x);
CREATE INDEX places_part ON places USING gpu_grid (x, id) WHERE n = 1;
CREATE INDEX places_sum ON places USING gpu_grid ((x + id), y);
CREATE TABLE asked (index regclass, condition text);
INSERT INTO asked VALUES
    ('places_xyn', 'x BETWEEN -900 AND 900'), ('places_xyn', 'x > -990 AND y BETWEEN -100 AND 110.5'), ('places_xyn', 'n IS NULL AND x < 800'),
    ('places_xyn', 'n IS NOT NULL AND y >= -120'), ('places_xyn', 'n BETWEEN 1 AND 6 AND x BETWEEN -500 AND 990 AND y < 100'),
    ('places_p', 'p <@ box ''(-290,-280),(295,270)'''), ('places_p', 'p <@ circle ''<(10,10),250>'''),
    ('places_ux', 'u BETWEEN ''05000000-0000-0000-0000-000000000000'' AND ''f5000000-0000-0000-0000-000000000000'''), ('places_ux', 'u > ''10000000-0000-0000-0000-000000000001'' AND x < 950'),
    ('places_part', 'n = 1 AND x BETWEEN -990 AND 990'), ('places_sum', 'x + id BETWEEN 500 AND 19000');
-- How many of them the node counts as a sequential scan does, twice, and which are wrong; of how many few entries are looked up without a server process.
-- Then the same for many boxes in one call.
CREATE FUNCTION counted(OUT asked bigint, OUT wrong text, OUT few bigint, OUT batch text) LANGUAGE plpgsql AS $$
DECLARE
    question record;
    line text;
    path text := current_setting('pg_gpu.path');
    rows bigint;
    node bigint;
    expected text;
BEGIN
    asked := 0;
    few := 0;
    FOR question IN SELECT index, 'SELECT count(*) FROM places WHERE ' || condition AS query FROM asked AS a ORDER BY a.index::text COLLATE "C", condition COLLATE "C" LOOP
        SET LOCAL enable_indexscan = off;
        SET LOCAL enable_indexonlyscan = off;
        SET LOCAL enable_bitmapscan = off;
        SET LOCAL pg_gpu.enable_count_scan = off;
        SET LOCAL enable_seqscan = on;
        EXECUTE question.query INTO rows;
        SET LOCAL enable_indexscan = on;
        SET LOCAL enable_indexonlyscan = on;
        SET LOCAL pg_gpu.enable_count_scan = on;
        SET LOCAL enable_seqscan = off;
        FOR again IN 1..2 LOOP
            EXECUTE question.query INTO node;
            IF node <> rows THEN
                wrong := concat_ws('; ', wrong, format('%s: %s instead of %s', question.query, node, rows));
            END IF;
        END LOOP;
        PERFORM set_config('pg_gpu.path', 'paged', true);
        FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || question.query LOOP
            few := few + coalesce((substring(line FROM 'Heap Fetches: (\d+)')::int <= 60)::int, 0);
        END LOOP;
        PERFORM set_config('pg_gpu.path', path, true);
        asked := asked + 1;
    END LOOP;
    SET LOCAL enable_indexscan = off;
    SET LOCAL enable_indexonlyscan = off;
    SET LOCAL enable_bitmapscan = off;
    expected := (SELECT string_agg(c.count::text, ' ' ORDER BY i)
                 FROM (SELECT i, count(id) FROM generate_series(1, 70) AS i LEFT JOIN places ON x BETWEEN i * 7 - 990 AND i * 7 + 300 AND id BETWEEN i * 99 - 98 AND i * 99 + 6000 GROUP BY i) AS c);
    batch := (SELECT string_agg(c.count::text, ' ' ORDER BY c.ordinal)
              FROM gpu.count_batch('places_xi', (SELECT array_agg(ARRAY[i * 7 - 990, i * 99 - 98] ORDER BY i) FROM generate_series(1, 70) AS i),
                                   (SELECT array_agg(ARRAY[i * 7 + 300, i * 99 + 6000] ORDER BY i) FROM generate_series(1, 70) AS i)) AS c);
    batch := CASE WHEN batch = expected THEN 'same' ELSE batch || ' instead of ' || expected END;
END $$;
VACUUM (INDEX_CLEANUP ON) places;
SELECT * FROM counted();
-- Deleted rows, still there and then dead line pointers, of which rows have the places again.
DELETE FROM places WHERE id BETWEEN 5001 AND 5020;
SELECT * FROM counted();
VACUUM (INDEX_CLEANUP OFF) places;
SELECT asked, wrong, batch FROM counted();
SELECT * FROM counted();
DELETE FROM places WHERE id BETWEEN 9001 AND 9003;
SELECT asked, wrong, batch FROM counted();
VACUUM (INDEX_CLEANUP OFF) places;
SELECT asked, wrong, batch FROM counted();
VACUUM (INDEX_CLEANUP ON) places;
SELECT add_places(15001, 15015, 'again');
SELECT * FROM counted();
DELETE FROM places WHERE t = 'again' AND id % 2 = 0;
VACUUM (INDEX_CLEANUP OFF) places;
SELECT asked, wrong, batch FROM counted();
SELECT asked, wrong, batch FROM counted();
VACUUM (INDEX_CLEANUP ON) places;
-- Updates with and without new entries, taken back or not, of this transaction and another one.
BEGIN;
UPDATE places SET t = 'hot' WHERE id BETWEEN 7001 AND 7005;
UPDATE places SET x = x + 100, y = -y, n = NULL, p = point(0, 0) WHERE id BETWEEN 7003 AND 7007;
SELECT * FROM counted();
SAVEPOINT s;
UPDATE places SET x = -x, u = '77777777-7777-7777-7777-777777777777', n = 1 WHERE id BETWEEN 7001 AND 7004;
DELETE FROM places WHERE id BETWEEN 6999 AND 7000;
SELECT add_places(500, 505, 'new');
SELECT * FROM counted();
ROLLBACK TO s;
SELECT * FROM counted();
COMMIT;
SELECT * FROM counted();
BEGIN;
SELECT add_places(501, 504, 'never');
UPDATE places SET t = 'never' WHERE id BETWEEN 11001 AND 11005;
ROLLBACK;
SELECT * FROM counted();
SELECT count(*) > 0 AS merged FROM gpu.merge('places_xyn');
SELECT asked, wrong, batch FROM counted();
-- -0 and 0 are one place, and so are all NaNs; infinity is one too.
INSERT INTO places SELECT 30000 + i, 5, v, point(v, -v), NULL, 2, 'odd' FROM unnest(ARRAY[0, '-0', 'NaN', 'Infinity', '-Infinity']::float8[]) WITH ORDINALITY AS o (v, i);
VACUUM (INDEX_CLEANUP ON) places;
DELETE FROM places WHERE t = 'odd' AND id % 2 = 1;
SELECT * FROM counted();
SELECT v, gpu.count('places_xyn', ROW(-2000, v, 0::int8), ROW(2000, v, 100::int8)), (SELECT count(*) FROM places WHERE y + 0 = v AND n + 0 BETWEEN 0 AND 100)
FROM unnest(ARRAY[0, 'NaN', 'Infinity', '-Infinity']::float8[]) AS v ORDER BY v;
-- More blocks changed than pay: entries are looked at one by one.
UPDATE places SET t = t || 'y' WHERE id % 5 = 0;
SELECT asked, wrong, batch FROM counted();
SELECT count(*) FROM asked, gpu.verify(index);
DROP TABLE places;

-- All rows in one place, and in two that one NULL tells apart: an entry is searched for among all of these.
CREATE TABLE heap_of (id int4, x int4, n int4) WITH (autovacuum_enabled = off);
INSERT INTO heap_of SELECT i, 7, CASE WHEN i % 2 = 0 THEN 0 END FROM generate_series(1, 30000) AS i;
CREATE INDEX heap_of_xn ON heap_of USING gpu_grid (x, n);
VACUUM (INDEX_CLEANUP ON) heap_of;
DELETE FROM heap_of WHERE id BETWEEN 12001 AND 12003;
SET enable_seqscan = off;
SELECT (SELECT count(*) FROM heap_of WHERE x = 7 AND n IS NULL), (SELECT count(*) FROM heap_of WHERE x BETWEEN 0 AND 9 AND n >= 0), (SELECT count(*) FROM heap_of WHERE x = 7), (SELECT count(*) FROM heap_of WHERE x > 7);
VACUUM (INDEX_CLEANUP OFF) heap_of;
SELECT (SELECT count(*) FROM heap_of WHERE x = 7 AND n IS NULL), (SELECT count(*) FROM heap_of WHERE x BETWEEN 0 AND 9 AND n >= 0), (SELECT count(*) FROM heap_of WHERE x = 7), (SELECT count(*) FROM heap_of WHERE x > 7);
SELECT (SELECT count(*) FROM heap_of WHERE x = 7 AND n IS NULL), (SELECT count(*) FROM heap_of WHERE x BETWEEN 0 AND 9 AND n >= 0), (SELECT count(*) FROM heap_of WHERE x = 7), (SELECT count(*) FROM heap_of WHERE x > 7);
DROP TABLE heap_of, asked;
DROP FUNCTION counted, add_places;
