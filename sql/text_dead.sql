-- What dead documents take off BM25's document count and lengths is found once by a session, and not by every search: the
-- pages of the index that a search looks at.
SET client_min_messages = warning;
SET pg_gpu.path = paged;
CREATE TABLE text_dead (id int, words tsvector) WITH (autovacuum_enabled = off);
INSERT INTO text_dead SELECT i, to_tsvector('simple', 'common w' || i % 7 || CASE WHEN i % 1000 = 1 THEN ' rare' ELSE '' END)
FROM generate_series(1, 40000) AS i;
CREATE INDEX text_dead_words ON text_dead USING gpu_text (words);
CREATE FUNCTION pages_of_a_search() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    before bigint := pg_stat_get_xact_blocks_fetched('text_dead_words'::regclass);
BEGIN
    PERFORM gpu.search('text_dead_words', 'rare', 5);
    RETURN pg_stat_get_xact_blocks_fetched('text_dead_words'::regclass) - before;
END $$;
SELECT pages_of_a_search() AS clean \gset
DELETE FROM text_dead WHERE id % 20 = 0;
VACUUM (INDEX_CLEANUP ON) text_dead;
SELECT sum(dead) FROM gpu.runs('text_dead_words');
SELECT pages_of_a_search() AS first \gset
SELECT pages_of_a_search() AS second \gset
SELECT :first > :clean + 20 AS the_first_reads_of_dead_documents, :second <= :clean + 4 AS the_next_one_does_not;
-- Another document that is dead is noticed.
DELETE FROM text_dead WHERE id = 3;
VACUUM (INDEX_CLEANUP ON) text_dead;
SELECT pages_of_a_search() AS third \gset
SELECT :third > :clean + 20 AS read_again;
SELECT round(score::numeric, 4) FROM gpu.search('text_dead_words', 'rare', 1);
-- Rows that are deleted and not vacuumed yet are found and passed over. The first search has to go on for others; later ones
-- ask for enough at once.
DELETE FROM text_dead WHERE id % 2 = 0;
CREATE FUNCTION rankings_of_a_search(OUT rankings numeric, OUT rows bigint) LANGUAGE plpgsql AS $$
DECLARE
    before numeric := (SELECT coalesce(sum(requests), 0) FROM gpu.stat WHERE request = 'search' AND path = 'paged');
BEGIN
    SELECT count(*) INTO rows FROM gpu.search('text_dead_words', 'common', 40);
    rankings := (SELECT sum(requests) FROM gpu.stat WHERE request = 'search' AND path = 'paged') - before;
END $$;
SELECT * FROM rankings_of_a_search();
SELECT count(*) FROM generate_series(1, 3), LATERAL gpu.search('text_dead_words', 'common', 40);
SELECT * FROM rankings_of_a_search();
DROP TABLE text_dead;
DROP FUNCTION pages_of_a_search(), rankings_of_a_search();
