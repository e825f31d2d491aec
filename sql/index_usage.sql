-- pg_stat_all_indexes counts every use of an index: an administrator drops those that nobody uses.
CREATE TABLE usage_test (k int, v int, d tsvector) WITH (autovacuum_enabled = off);
INSERT INTO usage_test SELECT i, i % 10, to_tsvector('simple', 'w' || i % 7) FROM generate_series(1, 50000) AS i;
CREATE INDEX usage_kary ON usage_test USING gpu_kary (k);
CREATE INDEX usage_grid ON usage_test USING gpu_grid (k, v);
CREATE INDEX usage_column ON usage_test USING gpu_column (k, v);
CREATE INDEX usage_text ON usage_test USING gpu_text (d);
VACUUM ANALYZE usage_test;
-- The indexes whose counts a statement raises.
CREATE FUNCTION used_by(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    before jsonb;
    names text;
BEGIN
    PERFORM pg_stat_force_next_flush();
    SELECT jsonb_object_agg(indexrelname, pg_stat_get_numscans(indexrelid) + pg_stat_get_xact_numscans(indexrelid)) INTO before
    FROM pg_stat_user_indexes WHERE relname = 'usage_test';
    EXECUTE query;
    SELECT string_agg(indexrelname, ' ' ORDER BY indexrelname) INTO names
    FROM pg_stat_user_indexes
    WHERE relname = 'usage_test' AND pg_stat_get_numscans(indexrelid) + pg_stat_get_xact_numscans(indexrelid) > (before ->> indexrelname)::bigint;
    RETURN coalesce(names, 'none');
END $$;
SELECT used_by($$ SELECT gpu.count('usage_kary', ARRAY[1], ARRAY[10]) $$) AS kary_count;
SELECT used_by($$ SELECT gpu.lookup('usage_kary', ARRAY[1, 2]) $$) AS kary_lookup;
SELECT used_by($$ SELECT gpu.count('usage_grid', ARRAY[1, 1], ARRAY[10, 10]) $$) AS grid_count;
SELECT used_by($$ SELECT gpu.lookup('usage_grid', ARRAY[ROW(1, 1)]) $$) AS grid_lookup;
SELECT used_by($$ SELECT gpu.count('usage_column', 'v = 3') $$) AS column_count;
SELECT used_by($$ SELECT gpu.summary('usage_column', 'v') $$) AS column_summary;
SELECT used_by($$ SELECT gpu.dictionary('usage_column', 'v') $$) AS column_dictionary;
SELECT used_by($$ SELECT gpu.histogram('usage_column', 'v', 16, 0, 10) $$) AS column_histogram;
SELECT used_by($$ SELECT gpu.search('usage_text', 'w3') $$) AS text_search;
SELECT used_by($$ SELECT gpu.search_batch('usage_text', ARRAY['w3'::tsquery]) $$) AS text_search_batch;
SELECT used_by($$ SELECT gpu.intersect('usage_text', ARRAY['w3']) $$) AS text_intersect;
-- Plan nodes.
SET enable_seqscan = off;
SELECT used_by($$ SELECT t.v FROM gpu.lookup('usage_kary', ARRAY[1, 2]) AS l JOIN usage_test AS t ON t.ctid = l.tid $$) AS lookup_join;
SET pg_gpu.path = host;
SELECT used_by('SELECT v, sum(k) FROM usage_test GROUP BY v') AS aggregate;
SELECT used_by('SELECT k, v FROM usage_test ORDER BY v DESC, k LIMIT 3') AS first_rows;
RESET pg_gpu.path;
SELECT used_by($$ SELECT k FROM usage_test WHERE d @@ 'w3' $$) AS text_scan;
SELECT used_by('SELECT count(*) FROM usage_test WHERE k BETWEEN 10 AND 20') IN ('usage_kary', 'usage_grid', 'usage_column') AS count_scan;
-- What only looks at an index isn't a use.
SELECT used_by($$ SELECT gpu.runs('usage_column'), gpu.columns('usage_column') $$) AS looking;
SELECT used_by($$ SELECT gpu.verify('usage_text') $$) AS verifying;
SELECT used_by($$ SELECT * FROM gpu.indexes $$) AS the_view;
DROP FUNCTION used_by;
DROP TABLE usage_test;
