-- Lookup joins: which joins get one, and that they give what the function and a TID scan a row give.
CREATE TABLE lookup_test (k int8, id int, note text) WITH (autovacuum_enabled = off);
INSERT INTO lookup_test SELECT i % 500, i, repeat('x', i % 40) FROM generate_series(1, 5000) AS i;
INSERT INTO lookup_test VALUES (NULL, 0, 'null');
CREATE INDEX lookup_test_k ON lookup_test USING gpu_kary (k);
CREATE TABLE lookup_other (k int8, id int);
INSERT INTO lookup_other SELECT i, i FROM generate_series(1, 100) AS i;
CREATE INDEX lookup_other_k ON lookup_other USING gpu_kary (k);
VACUUM ANALYZE lookup_test, lookup_other;
SET max_parallel_workers_per_gather = 0;

-- The query with a lookup join and without; whether its plan has one goes before the answers.
CREATE FUNCTION lookup_both(query text) RETURNS TABLE (lookup_join bool, same bool, answer text) LANGUAGE plpgsql AS $$
DECLARE
    line text;
    other text;
BEGIN
    lookup_join := false;
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        lookup_join := lookup_join OR line LIKE '%(GpuLookup)%';
    END LOOP;
    EXECUTE format('SELECT count(*) || '' '' || sum(hashtextextended(q::text, 0)) || '' '' || min(q::text) FROM (%s) AS q', query) INTO answer;
    SET LOCAL pg_gpu.enable_lookup_join = off;
    EXECUTE format('SELECT count(*) || '' '' || sum(hashtextextended(q::text, 0)) || '' '' || min(q::text) FROM (%s) AS q', query) INTO other;
    SET LOCAL pg_gpu.enable_lookup_join = on;
    same := answer IS NOT DISTINCT FROM other;
    RETURN NEXT;
END $$;

EXPLAIN (COSTS OFF) SELECT t.* FROM gpu.lookup('lookup_test_k', ARRAY[7, 8]) AS l JOIN lookup_test AS t ON t.ctid = l.tid;
SELECT l.ordinal, t.k, t.id FROM gpu.lookup('lookup_test_k', ARRAY[499, 7, NULL, 7, 1000000]) AS l
    JOIN lookup_test AS t ON l.tid = t.ctid WHERE t.id < 1000 ORDER BY l.ordinal, t.id;
SELECT * FROM lookup_both('SELECT sum(t.id) FROM gpu.lookup(''lookup_test_k'', ARRAY(SELECT generate_series(10, 90))) AS l JOIN lookup_test AS t ON t.ctid = l.tid');
SELECT * FROM lookup_both('SELECT t.*, l.ordinal FROM gpu.lookup(''lookup_test_k'', ''{5,6,7,5}''::int8[]) AS l JOIN lookup_test AS t ON t.ctid = l.tid');
SELECT * FROM lookup_both('SELECT t.ctid, l.tid, t.xmin IS NULL AS x, t.tableoid::regclass, note FROM gpu.lookup(''lookup_test_k'', ''{5,6,7,5}''::int8[]) AS l JOIN lookup_test AS t ON t.ctid = l.tid');
SELECT * FROM lookup_both('SELECT 1 FROM gpu.lookup(''lookup_test_k'', ''{5,6,7,5}''::int2[]) AS l, lookup_test AS t WHERE t.ctid = l.tid');
SELECT * FROM lookup_both('SELECT upper(note) || l.ordinal FROM gpu.lookup(''lookup_test_k'', ''{5,6,7,5}''::int4[]) AS l JOIN lookup_test AS t ON t.ctid = l.tid AND t.id > l.ordinal * 100 WHERE ordinal <> 3 AND note <> ''''');
SELECT * FROM lookup_both('SELECT k, count(*) FROM gpu.lookup(''lookup_test_k'', ''{5,6,7,5}''::int4[]) AS l JOIN lookup_test AS t ON t.ctid = l.tid GROUP BY k ORDER BY k');
SELECT * FROM lookup_both('SELECT t.id, o.id AS other FROM gpu.lookup(''lookup_test_k'', ''{5,6,7,5}''::int4[]) AS l JOIN lookup_test AS t ON t.ctid = l.tid JOIN lookup_other AS o ON o.k = t.k');
SELECT * FROM lookup_both('SELECT t.id FROM gpu.lookup(''lookup_test_k'', ''{}''::int4[]) AS l JOIN lookup_test AS t ON t.ctid = l.tid');
SELECT * FROM lookup_both('SELECT t.id FROM gpu.lookup(''lookup_test_k'', (SELECT NULL::int4[])) AS l JOIN lookup_test AS t ON t.ctid = l.tid');
SELECT * FROM lookup_both('SELECT t.id FROM gpu.lookup(''lookup_test_k'', ''{5}''::int4[]) AS l JOIN lookup_test AS t ON t.ctid = l.tid LIMIT 3');
-- Computed by the join itself.
EXPLAIN (COSTS OFF) SELECT t.id + 1 AS next, l.ordinal * 2 AS twice
    FROM gpu.lookup('lookup_test_k', ARRAY[7, 499]) AS l JOIN lookup_test AS t ON t.ctid = l.tid WHERE t.id + l.ordinal < 1008;
SELECT t.id + 1 AS next, l.ordinal * 2 AS twice, upper(left(t.note, 2)) AS note, 'constant' AS c
    FROM gpu.lookup('lookup_test_k', ARRAY[7, 499]) AS l JOIN lookup_test AS t ON t.ctid = l.tid WHERE t.id + l.ordinal < 1008;

-- Not these.
SELECT * FROM lookup_both('SELECT t.id FROM gpu.lookup(''lookup_test_k'', ''{5}''::int4[]) AS l LEFT JOIN lookup_test AS t ON t.ctid = l.tid');
SELECT * FROM lookup_both('SELECT o.id FROM gpu.lookup(''lookup_test_k'', ''{5}''::int4[]) AS l JOIN lookup_other AS o ON o.ctid = l.tid');
SELECT * FROM lookup_both('SELECT t FROM gpu.lookup(''lookup_test_k'', ''{5}''::int4[]) AS l JOIN lookup_test AS t ON t.ctid = l.tid');
SELECT * FROM lookup_both('SELECT t.id FROM gpu.lookup(''lookup_test_k'', ''{5}''::int4[]) AS l JOIN lookup_test AS t ON t.ctid = l.tid WHERE t::text <> ''''');
SELECT * FROM lookup_both('SELECT t.id FROM gpu.lookup(''lookup_test_k'', ''{5}''::int4[]) AS l JOIN lookup_test AS t ON t.ctid = l.tid AND l IS NOT NULL');
SELECT * FROM lookup_both('SELECT t.id FROM gpu.lookup(''lookup_test_k'', ''{5}''::int4[]) AS l JOIN lookup_test AS t ON t.ctid = l.tid AND (l.ordinal, t) IS NOT NULL');
SELECT * FROM lookup_both('SELECT t.id, l.ordinality FROM gpu.lookup(''lookup_test_k'', ''{5}''::int4[]) WITH ORDINALITY AS l JOIN lookup_test AS t ON t.ctid = l.tid');
SELECT * FROM lookup_both('SELECT t.id FROM gpu.lookup(''lookup_test_k'', ''{5}''::int4[]) AS l JOIN lookup_test AS t ON t.k = l.ordinal');
SELECT * FROM lookup_both('SELECT t.id, o.id AS o FROM lookup_other AS o, gpu.lookup(''lookup_test_k'', ARRAY[o.k]) AS l JOIN lookup_test AS t ON t.ctid = l.tid');
BEGIN;
EXPLAIN (COSTS OFF) SELECT t.id FROM gpu.lookup('lookup_test_k', ARRAY[7]) AS l JOIN lookup_test AS t ON t.ctid = l.tid FOR UPDATE OF t;
SELECT count(*) FROM (SELECT t.id FROM gpu.lookup('lookup_test_k', ARRAY[7]) AS l JOIN lookup_test AS t ON t.ctid = l.tid FOR UPDATE OF t) AS s;
UPDATE lookup_test AS t SET note = 'found' FROM gpu.lookup('lookup_test_k', ARRAY[7]) AS l WHERE t.ctid = l.tid;
ROLLBACK;

-- A call by itself.
EXPLAIN (COSTS OFF) SELECT ordinal + 1 AS next, tid FROM gpu.lookup('lookup_test_k', ARRAY[7, 8]) WHERE ordinal < 2;
SELECT * FROM lookup_both('SELECT * FROM gpu.lookup(''lookup_test_k'', ''{499,7,NULL,7,1000000}''::int8[])');
SELECT * FROM lookup_both('SELECT count(*) FROM gpu.lookup(''lookup_test_k'', ARRAY(SELECT generate_series(10, 90)))');
SELECT * FROM lookup_both('SELECT ordinal * 2 AS twice FROM gpu.lookup(''lookup_test_k'', ''{5,6,7,5}''::int2[]) WHERE ordinal <> 3 ORDER BY 1 DESC LIMIT 7');
SELECT * FROM lookup_both('SELECT a.tid, b.ordinal FROM gpu.lookup(''lookup_test_k'', ''{5,6}''::int8[]) AS a FULL JOIN gpu.lookup(''lookup_other_k'', ''{5,7}''::int8[]) AS b ON a.ordinal = b.ordinal');
SELECT * FROM lookup_both('SELECT l FROM gpu.lookup(''lookup_test_k'', ''{5,6}''::int8[]) AS l');
SELECT g, (SELECT count(*) FROM gpu.lookup('lookup_test_k', ARRAY[g, g + 1])) AS own, (SELECT count(*) FROM gpu.lookup('lookup_test_k', ARRAY[7, 8])) AS same
    FROM generate_series(0, 2) AS g;
BEGIN;
DECLARE looked SCROLL CURSOR FOR SELECT ordinal FROM gpu.lookup('lookup_test_k', ARRAY[7, 8]);
FETCH 3 FROM looked;
FETCH BACKWARD 1 FROM looked;
SAVEPOINT s;
FETCH 7 FROM looked;
ROLLBACK TO s;
DELETE FROM lookup_test WHERE k = 8;
FETCH 12 FROM looked;
ROLLBACK;
SELECT count(*) FROM gpu.lookup('lookup_test_k', (SELECT NULL::int4[]));
SELECT count(*) FROM gpu.lookup('lookup_test_k', '{}'::int4[]);
SELECT count(*) FROM gpu.lookup('lookup_test', ARRAY[7]);

-- Once for every row outside: the same keys again, and other ones.
SELECT g, (SELECT sum(t.id + g) FROM gpu.lookup('lookup_test_k', ARRAY[7, 8]) AS l JOIN lookup_test AS t ON t.ctid = l.tid WHERE t.id % 3 = g),
       (SELECT sum(t.id) FROM gpu.lookup('lookup_test_k', ARRAY[g, g + 1]) AS l JOIN lookup_test AS t ON t.ctid = l.tid)
    FROM generate_series(0, 2) AS g;
PREPARE looked(int8[]) AS SELECT count(*), sum(t.id) FROM gpu.lookup('lookup_test_k', $1) AS l JOIN lookup_test AS t ON t.ctid = l.tid;
EXECUTE looked('{7}');
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE looked('{7}');
EXECUTE looked('{7,8,8}');
EXECUTE looked(NULL);
RESET plan_cache_mode;
DEALLOCATE looked;

-- Rows moved by HOT and other updates, deleted ones, one's own, and slots used again.
UPDATE lookup_test SET note = 'moved' WHERE id % 5 = 0;
UPDATE lookup_test SET k = k + 1 WHERE id % 11 = 0;
DELETE FROM lookup_test WHERE id % 7 = 0;
SELECT * FROM lookup_both('SELECT t.* FROM gpu.lookup(''lookup_test_k'', ARRAY(SELECT generate_series(10, 90))) AS l JOIN lookup_test AS t ON t.ctid = l.tid');
VACUUM (INDEX_CLEANUP ON) lookup_test;
SELECT * FROM lookup_both('SELECT t.* FROM gpu.lookup(''lookup_test_k'', ARRAY(SELECT generate_series(10, 90))) AS l JOIN lookup_test AS t ON t.ctid = l.tid');
BEGIN;
INSERT INTO lookup_test SELECT i % 500, -i, 'new' FROM generate_series(1, 2000) AS i;
UPDATE lookup_test SET note = 'own' WHERE k BETWEEN 20 AND 30;
SAVEPOINT s;
DELETE FROM lookup_test WHERE k = 25;
SELECT * FROM lookup_both('SELECT t.* FROM gpu.lookup(''lookup_test_k'', ARRAY(SELECT generate_series(10, 90))) AS l JOIN lookup_test AS t ON t.ctid = l.tid');
ROLLBACK TO s;
SELECT * FROM lookup_both('SELECT t.* FROM gpu.lookup(''lookup_test_k'', ARRAY(SELECT generate_series(10, 90))) AS l JOIN lookup_test AS t ON t.ctid = l.tid');
COMMIT;

-- What the function refuses, the join refuses.
SELECT t.id FROM gpu.lookup('lookup_test_k', ARRAY['a']) AS l JOIN lookup_test AS t ON t.ctid = l.tid;
CREATE ROLE lookup_reader;
GRANT SELECT (id) ON lookup_test TO lookup_reader;
SET ROLE lookup_reader;
SELECT t.id FROM gpu.lookup('lookup_test_k', ARRAY[7]) AS l JOIN lookup_test AS t ON t.ctid = l.tid;
RESET ROLE;
GRANT SELECT ON lookup_test TO lookup_reader;
SET ROLE lookup_reader;
SELECT count(t.id) FROM gpu.lookup('lookup_test_k', ARRAY[7]) AS l JOIN lookup_test AS t ON t.ctid = l.tid;
RESET ROLE;
REVOKE EXECUTE ON FUNCTION gpu.lookup FROM PUBLIC;
SET ROLE lookup_reader;
SELECT count(t.id) FROM gpu.lookup('lookup_test_k', ARRAY[7]) AS l JOIN lookup_test AS t ON t.ctid = l.tid;
RESET ROLE;
GRANT EXECUTE ON FUNCTION gpu.lookup TO PUBLIC;
ALTER TABLE lookup_test ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON lookup_test FOR SELECT TO lookup_reader USING (id < 100);
SET ROLE lookup_reader;
SELECT count(t.id) FROM gpu.lookup('lookup_test_k', ARRAY[7]) AS l JOIN lookup_test AS t ON t.ctid = l.tid;
SELECT count(*) FROM gpu.lookup('lookup_test_k', ARRAY[7]);
RESET ROLE;
DROP TABLE lookup_test, lookup_other;
DROP ROLE lookup_reader;
DROP FUNCTION lookup_both;
