-- What positions cost and save: the sizes and the processor time of builds, of phrases and of conjunctions by gpu_text with and without
-- positions, GIN and RUM. Makes table bench_doc of documents as make_corpus.sh writes them:
--
--   awk 'NR % 12 == 0' corpus.tsv > sample.tsv
--   psql -v corpus=sample.tsv -f test/bench/text_positions.sql
--
-- Processor time is the session's own, from schedstat, so that other programs matter little; nothing is computed by a server process.
\set ON_ERROR_STOP on
\pset footer off
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pg_gpu;
CREATE EXTENSION IF NOT EXISTS rum;
SET pg_gpu.path = paged;
SET max_parallel_maintenance_workers = 0;
SET max_parallel_workers_per_gather = 0;
SET maintenance_work_mem = '256MB';
SET jit = off;
CREATE TABLE bench_loaded (id text, title text, body text);
\set copy '\\copy bench_loaded FROM ' :'corpus' ' (FORMAT csv, DELIMITER E\'\\t\', QUOTE E\'\\x01\', ESCAPE E\'\\x01\')'
:copy
CREATE TABLE bench_doc AS SELECT to_tsvector('english', title || ' ' || body) AS tsv FROM bench_loaded;
DROP TABLE bench_loaded;
VACUUM ANALYZE bench_doc;
SELECT count(*) AS documents, round(avg(length(tsv))) AS lexemes, pg_size_pretty(pg_table_size('bench_doc')) AS table FROM bench_doc;
CREATE FUNCTION pg_temp.processor_ms() RETURNS numeric LANGUAGE sql AS $$ SELECT split_part(pg_read_file('/proc/' || pg_backend_pid() || '/schedstat'), ' ', 1)::numeric / 1e6 $$;
CREATE TEMP TABLE kinds (number int, name text, definition text);
INSERT INTO kinds VALUES (1, 'gpu_text', 'gpu_text (tsv)'), (2, 'gpu_text, positions', 'gpu_text (tsv) WITH (positions = on)'), (3, 'GIN', 'gin (tsv)'), (4, 'RUM', 'rum (tsv rum_tsvector_ops)');
-- Two hundred pairs of lexemes that follow each other in some document, drawn by a hash: as they come, so often of frequent ones.
CREATE TEMP TABLE pairs AS
WITH word AS MATERIALIZED (SELECT d.place, u.lexeme, p.position FROM (SELECT ctid AS place, tsv FROM bench_doc WHERE hashtid(ctid) % 60 = 0) AS d, unnest(d.tsv) AS u, unnest(u.positions) AS p (position) WHERE u.lexeme ~ '^[a-z]+$')
SELECT lexemes FROM (SELECT DISTINCT ARRAY[a.lexeme, b.lexeme] AS lexemes FROM word AS a JOIN word AS b ON b.place = a.place AND b.position = a.position + 1) AS x ORDER BY md5(lexemes::text) LIMIT 200;
CREATE TEMP TABLE result (number int, what text, value numeric, found int8);
CREATE FUNCTION pg_temp.measure(kind int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    started numeric;
    pair text[];
    q record;
    n int8;
    total int8;
BEGIN
    started := pg_temp.processor_ms();
    EXECUTE 'CREATE INDEX bench_index ON bench_doc USING ' || (SELECT definition FROM kinds WHERE number = kind);
    INSERT INTO result VALUES (kind, '1 build, s', round((pg_temp.processor_ms() - started) / 1000, 1)), (kind, '2 size, MB', round(pg_relation_size('bench_index') / 1e6, 1));
    SET LOCAL enable_seqscan = off;
    FOR q IN SELECT * FROM (VALUES ('3 a <-> b, ms', '%I <-> %I'), ('4 a <3> b, ms', '%I <3> %I'), ('5 a & !(a <-> b), ms', '%1$I & !(%1$I <-> %2$I)'), ('6 a & b, ms', '%I & %I')) AS v (what, form) LOOP
        FOR round IN 1 .. 2 LOOP  -- the first one warms
            started := pg_temp.processor_ms();
            total := 0;
            FOR pair IN SELECT lexemes FROM pairs LOOP
                EXECUTE 'SELECT count(*) FROM bench_doc WHERE tsv @@ $1' INTO n USING format(q.form, pair[1], pair[2])::tsquery;
                total := total + n;
            END LOOP;
        END LOOP;
        INSERT INTO result VALUES (kind, q.what, round((pg_temp.processor_ms() - started) / 200, 3), total);
    END LOOP;
    DROP INDEX bench_index;
END $$;
SELECT pg_temp.measure(number) FROM kinds ORDER BY number;
SELECT what, max(value) FILTER (WHERE number = 1) AS gpu_text, max(value) FILTER (WHERE number = 2) AS positions, max(value) FILTER (WHERE number = 3) AS gin, max(value) FILTER (WHERE number = 4) AS rum,
    max(found) AS found, count(DISTINCT found) <= 1 AS agree FROM result GROUP BY what ORDER BY what;
DROP TABLE bench_doc;
