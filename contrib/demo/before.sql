-- PostgreSQL by itself: the indexes one would make for these questions, and their answers.
\set ON_ERROR_STOP on
\set QUIET on

\echo '      building btree indexes on the keys and on both coordinates, and a GIN index on the words'
CREATE INDEX coast_place_btree ON coast (place);
CREATE INDEX coast_box_btree ON coast (latitude, longitude);
CREATE INDEX note_words_gin ON note USING gin (words);
VACUUM ANALYZE coast, note;
SELECT pg_stat_statements_reset() \g /dev/null
CALL demo.ask_all(false);
