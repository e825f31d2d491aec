-- What searches of text as people type it take, planning included, beside the same statements by GIN and btree: a missing word, a rare
-- one and a common one, newest first; phrases, of which the index has no positions; two searches joined; ranked and then by a key; 400
-- partitions; row security.
--
--   psql -f test/bench/text_searching.sql           in an empty database, as a superuser
--
-- The session's own processor time, from schedstat, so that other programs matter little: the mean of as many runs as take 400 ms, after
-- one that isn't counted. Nothing is computed by a server process. Takes some minutes.
\set ON_ERROR_STOP on
\pset footer off
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pg_gpu;
SET pg_gpu.path = paged;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
CREATE FUNCTION bench_processor_ms() RETURNS numeric LANGUAGE sql SECURITY DEFINER AS $$ SELECT split_part(pg_read_file('/proc/' || pg_backend_pid() || '/schedstat'), ' ', 1)::numeric / 1e6 $$;
CREATE TABLE bench_result (number serial, what text, method text, milliseconds numeric);
CREATE FUNCTION bench_measure(what text, method text, statement text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    started numeric;
    taken numeric := 0;
    runs int := 0;
BEGIN
    EXECUTE statement;
    started := bench_processor_ms();
    WHILE taken < 400 LOOP
        EXECUTE statement;
        runs := runs + 1;
        taken := bench_processor_ms() - started;
    END LOOP;
    INSERT INTO bench_result (what, method, milliseconds) VALUES (what, method, round(taken / runs, 2));
END
$$;
GRANT INSERT ON bench_result TO PUBLIC;
GRANT USAGE ON SEQUENCE bench_result_number_seq TO PUBLIC;

CREATE TABLE bench_message (id int PRIMARY KEY, created timestamptz, body text);
INSERT INTO bench_message SELECT g, timestamptz '2025-01-01' + g * interval '1 min', 'message ' || (g * 13) % 9973 || CASE WHEN g % 5000 = 0 THEN ' zebra' ELSE '' END || CASE WHEN g % 3 = 0 THEN ' please' ELSE '' END || ' some more words here' FROM generate_series(1, 600000) g;
CREATE INDEX bench_message_created ON bench_message (created);
CREATE INDEX bench_message_body ON bench_message USING gpu_text (body) WITH (configuration = 'english');
VACUUM ANALYZE bench_message;
CREATE TABLE bench_gin AS SELECT * FROM bench_message;
ALTER TABLE bench_gin ADD PRIMARY KEY (id);
CREATE INDEX bench_gin_created ON bench_gin (created);
CREATE INDEX bench_gin_body ON bench_gin USING gin (to_tsvector('english', body));
VACUUM ANALYZE bench_gin;
SELECT bench_measure(what || ', newest first', 'gpu_text', format('SELECT * FROM bench_message WHERE body @@@ %L ORDER BY created DESC LIMIT 10', word)),
    bench_measure(what || ', newest first', 'GIN', format('SELECT * FROM bench_gin WHERE to_tsvector(''english'', body) @@ websearch_to_tsquery(''english'', %L) ORDER BY created DESC LIMIT 10', word))
FROM (VALUES ('a missing word', 'nosuchword'), ('a rare word', 'zebra'), ('a common word', 'please')) AS v (what, word);
SELECT bench_measure('a phrase, counted', 'gpu_text', $$SELECT count(*) FROM bench_message WHERE body @@@ '"message 77"'$$),
    bench_measure('a phrase, counted', 'GIN', $$SELECT count(*) FROM bench_gin WHERE to_tsvector('english', body) @@ websearch_to_tsquery('english', '"message 77"')$$),
    bench_measure('a phrase, ranked', 'gpu_text', $$SELECT id FROM bench_message WHERE body @@@ '"message 77"' ORDER BY body <@> '"message 77"' LIMIT 10$$),
    bench_measure('a phrase, ranked', 'GIN, ts_rank', $$SELECT id FROM bench_gin WHERE to_tsvector('english', body) @@ websearch_to_tsquery('english', '"message 77"')
        ORDER BY ts_rank(to_tsvector('english', body), websearch_to_tsquery('english', '"message 77"')) DESC LIMIT 10$$);

CREATE TABLE bench_thread (id int PRIMARY KEY, author text, reply_to text, body text);
INSERT INTO bench_thread SELECT g, 'author ' || g, 'author ' || g * 7 % 6000, 'message ' || (g * 13) % 9973 || ' thanks and kind regards from the team' FROM generate_series(1, 6000) g;
CREATE INDEX bench_thread_body ON bench_thread USING gpu_text (body) WITH (configuration = 'english');
CREATE TABLE bench_thread_gin AS SELECT * FROM bench_thread;
CREATE INDEX bench_thread_gin_body ON bench_thread_gin USING gin (to_tsvector('english', body));
VACUUM ANALYZE bench_thread, bench_thread_gin;
SELECT bench_measure('two searches joined', 'gpu_text', $$SELECT count(*) FROM bench_thread m JOIN bench_thread r ON r.author = m.reply_to WHERE m.body @@@ 'kind regards team' AND r.body @@@ 'kind regards team'$$),
    bench_measure('two searches joined', 'GIN', $$SELECT count(*) FROM bench_thread_gin m JOIN bench_thread_gin r ON r.author = m.reply_to
        WHERE to_tsvector('english', m.body) @@ websearch_to_tsquery('english', 'kind regards team') AND to_tsvector('english', r.body) @@ websearch_to_tsquery('english', 'kind regards team')$$);

CREATE TABLE bench_ranked (id int PRIMARY KEY, body text);
INSERT INTO bench_ranked SELECT g, 'message ' || (g * 13) % 9973 || CASE WHEN g % 3 = 0 THEN ' please' ELSE '' END || repeat(' filler', g % 50) FROM generate_series(1, 200000) g;
CREATE INDEX bench_ranked_body ON bench_ranked USING gpu_text (body) WITH (configuration = 'english');
CREATE TABLE bench_ranked_gin AS SELECT * FROM bench_ranked;
CREATE INDEX bench_ranked_gin_body ON bench_ranked_gin USING gin (to_tsvector('english', body));
VACUUM ANALYZE bench_ranked, bench_ranked_gin;
SELECT bench_measure('ranked, then by id', 'gpu_text', $$SELECT id FROM bench_ranked WHERE body @@@ 'please' ORDER BY body <@> 'please', id LIMIT 10$$),
    bench_measure('ranked, then by id', 'gpu_text, by hand', $$SELECT * FROM (SELECT id, body <@> 'please' AS d FROM bench_ranked WHERE body @@@ 'please' ORDER BY body <@> 'please' FETCH FIRST 10 ROWS WITH TIES) s ORDER BY d, id LIMIT 10$$),
    bench_measure('ranked, then by id', 'GIN, ts_rank', $$SELECT id FROM bench_ranked_gin WHERE to_tsvector('english', body) @@ websearch_to_tsquery('english', 'please')
        ORDER BY ts_rank(to_tsvector('english', body), websearch_to_tsquery('english', 'please')) DESC, id LIMIT 10$$);

CREATE TABLE bench_log (id int, day int, body text) PARTITION BY RANGE (day);
SELECT format('CREATE TABLE bench_log_%s PARTITION OF bench_log FOR VALUES FROM (%s) TO (%s)', i, i, i + 1) FROM generate_series(0, 399) AS i
\gexec
INSERT INTO bench_log SELECT g, g % 400, 'event ' || g % 500 FROM generate_series(1, 40000) g;
CREATE INDEX ON bench_log USING gpu_text (body) WITH (configuration = 'english');
CREATE TABLE bench_log_gin (id int, day int, body text) PARTITION BY RANGE (day);
SELECT format('CREATE TABLE bench_log_gin_%s PARTITION OF bench_log_gin FOR VALUES FROM (%s) TO (%s)', i, i, i + 1) FROM generate_series(0, 399) AS i
\gexec
INSERT INTO bench_log_gin SELECT * FROM bench_log;
CREATE INDEX ON bench_log_gin USING gin (to_tsvector('english', body));
ANALYZE bench_log;
ANALYZE bench_log_gin;
SELECT bench_measure('400 partitions, counted', 'gpu_text', $$SELECT count(*) FROM bench_log WHERE body @@@ 'event 77'$$),
    bench_measure('400 partitions, counted', 'GIN', $$SELECT count(*) FROM bench_log_gin WHERE to_tsvector('english', body) @@ websearch_to_tsquery('english', 'event 77')$$),
    bench_measure('400 partitions, ranked', 'gpu_text', $$SELECT id FROM bench_log WHERE body @@@ 'event 77' ORDER BY body <@> 'event 77' LIMIT 10$$),
    bench_measure('400 partitions, ranked', 'GIN, ts_rank', $$SELECT id FROM bench_log_gin WHERE to_tsvector('english', body) @@ websearch_to_tsquery('english', 'event 77')
        ORDER BY ts_rank(to_tsvector('english', body), websearch_to_tsquery('english', 'event 77')) DESC LIMIT 10$$);

CREATE TABLE bench_secured (id int PRIMARY KEY, owner name, body text, tsv tsvector GENERATED ALWAYS AS (to_tsvector('english', body)) STORED);
INSERT INTO bench_secured (id, owner, body) SELECT g, CASE WHEN g % 3 = 0 THEN 'alice' ELSE 'bob' END, 'note number ' || (g * 13) % 9973 || CASE WHEN g % 1000 = 0 THEN ' zebra' ELSE '' END || repeat(' filler', 10) FROM generate_series(1, 100000) g;
CREATE INDEX bench_secured_body ON bench_secured USING gpu_text (body) WITH (configuration = 'english');
CREATE INDEX bench_secured_gin ON bench_secured USING gin (tsv);
VACUUM ANALYZE bench_secured;
CREATE ROLE bench_alice;
GRANT SELECT ON bench_secured TO bench_alice;
ALTER TABLE bench_secured ENABLE ROW LEVEL SECURITY;
CREATE POLICY mine ON bench_secured USING (owner = 'alice');
SET ROLE bench_alice;
SELECT bench_measure('row security, counted', 'gpu_text', $$SELECT count(*) FROM bench_secured WHERE body @@@ 'zebra'$$),
    bench_measure('row security, counted', 'GIN, stored tsvector', $$SELECT count(*) FROM bench_secured WHERE tsv @@ 'zebra'$$),
    bench_measure('row security, ranked', 'gpu_text', $$SELECT id FROM bench_secured WHERE body @@@ 'zebra' ORDER BY body <@> 'zebra' LIMIT 5$$),
    bench_measure('row security, ranked', 'GIN, ts_rank', $$SELECT id FROM bench_secured WHERE tsv @@ 'zebra' ORDER BY ts_rank(tsv, 'zebra') DESC LIMIT 5$$);
RESET ROLE;
SELECT what, method, milliseconds FROM bench_result ORDER BY number;
DROP TABLE bench_result, bench_message, bench_gin, bench_thread, bench_thread_gin, bench_ranked, bench_ranked_gin, bench_log, bench_log_gin, bench_secured;
DROP FUNCTION bench_processor_ms, bench_measure;
DROP ROLE bench_alice;
