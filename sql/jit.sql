-- Expressions that PostgreSQL compiles give what interpreted ones give, in each kind of scan and node. (The other files run without
-- JIT. Where LLVM isn't installed all is interpreted here, too.)
SET pg_gpu.path = host;
SET max_parallel_workers_per_gather = 0;
SET enable_seqscan = off;
SET jit_above_cost = 0;
SET jit_inline_above_cost = -1;
SET jit_optimize_above_cost = -1;
CREATE TABLE jit_test (i int, few int8, word text, p point, tsv tsvector) WITH (autovacuum_enabled = off);
INSERT INTO jit_test SELECT i, nullif(i % 10, 7), 'w' || i % 100, point(i % 30, i / 30), to_tsvector('simple', concat('w' || i % 100, ' v' || i % 7))
FROM generate_series(1, 1000) AS i;
CREATE INDEX jit_kary ON jit_test USING gpu_kary (i);
CREATE INDEX jit_grid ON jit_test USING gpu_grid (p, few);
CREATE INDEX jit_column ON jit_test USING gpu_column (few, word);
CREATE INDEX jit_text ON jit_test USING gpu_text (tsv);
VACUUM ANALYZE jit_test;

-- The plan's node, and whether the answers are the same.
CREATE FUNCTION jit_both(query text) RETURNS TABLE (node text, same bool, answer text) LANGUAGE plpgsql AS $$
DECLARE
    line text;
    interpreted text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        node := coalesce(node, substring(line FROM '(Bitmap Index Scan on \w+|Index Only Scan using \w+|Index Scan using \w+|Gpu\w+)'));
    END LOOP;
    SET LOCAL jit = on;
    EXECUTE format('SELECT string_agg(q::text, '' '' ORDER BY q::text) FROM (%s) AS q', query) INTO answer;
    SET LOCAL jit = off;
    EXECUTE format('SELECT string_agg(q::text, '' '' ORDER BY q::text) FROM (%s) AS q', query) INTO interpreted;
    same := answer IS NOT DISTINCT FROM interpreted;
    RETURN NEXT;
END $$;
SELECT * FROM jit_both('SELECT count(*), sum(i * 2), max(word) FROM jit_test WHERE i BETWEEN 100 AND 400 AND few % 2 = 0');
SELECT * FROM jit_both('SELECT sum(i + 1) FROM jit_test WHERE i BETWEEN 100 AND 400 AND i % 3 = 1');
SELECT * FROM jit_both('SELECT count(*) FROM jit_test WHERE i BETWEEN 100 AND 400');
SELECT * FROM jit_both('SELECT i, p <-> point ''(3,4)'' AS distance FROM jit_test WHERE few > 3 ORDER BY p <-> point ''(3,4)'' LIMIT 3');
SELECT * FROM jit_both('SELECT few, count(*), sum(few * 2) FILTER (WHERE word LIKE ''w1%'') FROM jit_test WHERE word < ''w5'' GROUP BY few');
SELECT * FROM jit_both('SELECT sum(i), max(upper(word)) FROM jit_test WHERE tsv @@ ''w3 & !v2'' AND i % 5 = 3');
SELECT * FROM jit_both('SELECT t.i + l.ordinal AS n, upper(word) FROM gpu.lookup(''jit_kary'', ARRAY[7, 8, 9]) AS l JOIN jit_test AS t ON t.ctid = l.tid WHERE t.few + l.ordinal < 11');
DROP TABLE jit_test;
DROP FUNCTION jit_both;
