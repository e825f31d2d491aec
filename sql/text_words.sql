-- gpu_text: which index says how the words of `document @@@ 'what was typed'` are made. It doesn't depend on the plan, on OIDs or on the order in which indexes came to be.
SET default_text_search_config = 'simple';
SET client_min_messages = notice;
CREATE TABLE words (id int, lang text, body text, other text);
INSERT INTO words SELECT g, CASE WHEN g % 10 = 0 THEN 'en' ELSE 'de' END, CASE WHEN g % 10 = 0 THEN 'running zebras' ELSE 'laufende Hunde ' || g END, 'zebras' FROM generate_series(1, 500) AS g;
CREATE INDEX words_en ON words USING gpu_text (body) WITH (configuration = 'english');
SELECT count(*) FROM words WHERE body @@@ 'zebra';
-- Two that disagree.
CREATE INDEX words_de ON words USING gpu_text (body) WITH (configuration = 'german');
\set VERBOSITY default
SELECT count(*) FROM words WHERE body @@@ 'zebra';
SELECT id FROM words ORDER BY body <@> 'zebra' LIMIT 1;
\set VERBOSITY terse
SELECT count(*) FROM words WHERE body @@@ gpu.matching_query('words_en', 'zebra');
SELECT count(*) FROM words WHERE body @@@ gpu.matching_query('words_de', 'laufend');
REINDEX INDEX CONCURRENTLY words_en;
SELECT count(*) FROM words WHERE body @@@ 'zebra';
-- An index that is not valid doesn't count.
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'words_de'::regclass;
SELECT count(*) FROM words WHERE body @@@ 'zebra';
DROP INDEX words_de;
-- The way from one configuration to another.
ALTER INDEX words_en SET (configuration = 'german');
SELECT count(*) FROM words WHERE body @@@ 'zebra';
REINDEX INDEX CONCURRENTLY words_en;
SELECT count(*) FROM words WHERE body @@@ 'zebra';
SELECT count(*) FROM words WHERE body @@@ 'laufend';
DROP INDEX words_en;

-- Partial ones: those whose predicate the statement implies, wherever it says so.
CREATE INDEX words_en ON words USING gpu_text (body) WITH (configuration = 'english') WHERE lang = 'en';
CREATE INDEX words_de ON words USING gpu_text (body) WITH (configuration = 'german') WHERE lang = 'de';
SELECT count(*) FROM words WHERE lang = 'en' AND body @@@ 'zebra';
SELECT count(*) FROM words WHERE lang = 'de' AND body @@@ 'laufend';
SELECT count(*) FROM words w JOIN (VALUES (10), (20)) AS v (id) ON w.id = v.id AND lang = 'en' AND body @@@ 'zebra';
SELECT count(*) FROM (VALUES (10), (20)) AS v (id) LEFT JOIN words w ON w.id = v.id AND lang = 'en' AND body @@@ 'zebra' WHERE w.id IS NOT NULL;
SELECT count(*) FROM (SELECT body FROM words WHERE lang = 'en' OFFSET 0) AS s WHERE body @@@ 'zebra';
SELECT count(body <@> 'zebra') FROM words WHERE lang = 'en';
SELECT count(*) FROM words WHERE body @@@ 'zebra';
SELECT count(*) FROM words w LEFT JOIN words v ON w.lang = 'en' WHERE w.body @@@ 'zebra';
-- Where none is implied they count if they agree.
DROP INDEX words_de;
SELECT count(*) FROM words WHERE body @@@ 'zebra';
-- Several that agree: statistics are those of all rows, and then of the first by name.
CREATE INDEX words_all ON words USING gpu_text (body) WITH (configuration = 'english');
CREATE INDEX words_a ON words USING gpu_text (body) WITH (configuration = 'english', k1 = 2);
EXPLAIN (COSTS OFF) SELECT id FROM words WHERE lang = 'en' ORDER BY body <@> 'zebra' LIMIT 1;
DROP INDEX words_a;
EXPLAIN (COSTS OFF) SELECT id FROM words WHERE lang = 'en' ORDER BY body <@> 'zebra' LIMIT 1;
DROP INDEX words_en;

-- Columns are followed to their tables.
CREATE VIEW words_view AS SELECT id, body AS text FROM words;
CREATE VIEW words_twice AS SELECT id, text FROM words_view UNION ALL SELECT id, body FROM words;
SELECT count(*) FROM words_view WHERE text @@@ 'zebra';
SELECT count(*) FROM words_twice WHERE text @@@ 'zebra';
SELECT count(*), count(DISTINCT text <@> 'zebra') FROM words_twice WHERE text <@> 'zebra' < 0;
SELECT count(*) FROM (SELECT body FROM words UNION SELECT body FROM words OFFSET 0) AS s WHERE body @@@ 'zebra';
WITH s AS MATERIALIZED (SELECT body FROM words) SELECT count(*) FROM s WHERE body @@@ 'zebra';
WITH r AS MATERIALIZED (SELECT body FROM words), s AS MATERIALIZED (SELECT body AS text FROM r) SELECT (SELECT count(*) FROM s WHERE text @@@ 'zebra');
SELECT count(*) FROM words WHERE EXISTS (SELECT 1 FROM (VALUES ('zebra'), ('lion')) AS v (word) WHERE words.body @@@ v.word OFFSET 0);
SELECT count(*) FROM words WHERE (SELECT body @@@ 'zebra');
SELECT body, min(body <@> 'zebra') < 0 AS found FROM words WHERE id IN (10, 11) GROUP BY body HAVING body @@@ 'zebra';

-- What has no index is searched by default_text_search_config, which is said once a statement.
SELECT count(*) FROM words WHERE coalesce(body, '') @@@ 'zebra' OR lower(body) @@@ 'zebra';
SELECT count(*) FROM words WHERE other @@@ 'zebra' OR other @@@ 'zebras';
WITH RECURSIVE r AS (SELECT body, 1 AS n FROM words UNION ALL SELECT body, n + 1 FROM r WHERE n < 2) SELECT count(*) FROM r WHERE body @@@ 'zebra';
DO $$
DECLARE
    r record;
    found int := 0;
BEGIN
    FOR r IN SELECT * FROM words LOOP
        IF r.body @@@ 'zebra' THEN found := found + 1; END IF;
    END LOOP;
    RAISE NOTICE 'found by default_text_search_config: %', found;
    found := 0;
    FOR r IN SELECT * FROM words LOOP
        IF r.body @@@ gpu.matching_query('words_all', 'zebra') THEN found := found + 1; END IF;
    END LOOP;
    RAISE NOTICE 'found as by the index: %', found;
END
$$;
DROP TABLE words CASCADE;
