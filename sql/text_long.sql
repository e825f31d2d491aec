-- gpu_text: documents whose words take more room than a tsvector has.
CREATE TABLE long (id int, body text, strings jsonb, parts text[]);
INSERT INTO long SELECT g, 'short document number ' || g, jsonb_build_array('short', g), ARRAY['short', 'number ' || g] FROM generate_series(1, 100) AS g;
CREATE FUNCTION long_text(words int) RETURNS text LANGUAGE sql IMMUTABLE AS $$SELECT string_agg('word' || g || repeat('x', 1000), ' ') || ' verylast' FROM generate_series(1, words) AS g$$;
CREATE INDEX long_body ON long USING gpu_text (body);
INSERT INTO long (id, body) VALUES (1000, long_text(1100));
SELECT count(*) FROM long WHERE id = 1000;
DROP INDEX long_body;
INSERT INTO long (id, body) VALUES (1000, long_text(1100));
SELECT ctid FROM long WHERE id = 1000;
CREATE INDEX long_body ON long USING gpu_text (body);
SET client_min_messages = warning;
SELECT count(*) FROM long WHERE body @@@ 'short';
RESET client_min_messages;
CREATE INDEX ON long USING gpu_text (body) WITH (long_documents = 'ignore');

-- Its first words, by the index and by rows alike.
CREATE FUNCTION long_found() RETURNS TABLE (scan text, first int8, last int8, without int8, short int8) LANGUAGE plpgsql AS $$
BEGIN
    FOREACH scan IN ARRAY ARRAY['index', 'rows'] LOOP
        PERFORM set_config('enable_seqscan', (scan = 'rows')::text, true), set_config('enable_indexscan', (scan = 'index')::text, true), set_config('enable_bitmapscan', (scan = 'index')::text, true);
        EXECUTE format('SELECT count(*) FILTER (WHERE q = %L), count(*) FILTER (WHERE q = %L), count(*) FILTER (WHERE q = %L), count(*) FILTER (WHERE q = %L)
            FROM unnest(ARRAY[%1$L, %2$L, %3$L, %4$L]) AS q JOIN long ON body @@@ q AND (id >= 1000 OR q = %4$L)', 'word1' || repeat('x', 1000), 'verylast', '-nothing', 'short') INTO first, last, without, short;
        RETURN NEXT;
    END LOOP;
END
$$;
CREATE INDEX long_body ON long USING gpu_text (body) WITH (long_documents = truncate);
SELECT * FROM long_found();
INSERT INTO long (id, body) VALUES (1001, long_text(1100)), (1002, long_text(600));
SELECT * FROM long_found();
SELECT count(*) AS problems FROM gpu.verify('long_body');
SELECT (body <@> 'verylast') < 0 AS last_word_counts, id FROM long WHERE id >= 1000 ORDER BY id;
-- No words at all, once it is built so.
ALTER INDEX long_body SET (long_documents = skip);
SELECT * FROM long_found();
REINDEX INDEX long_body;
SELECT * FROM long_found();
SELECT count(*) AS problems FROM gpu.verify('long_body');
ALTER INDEX long_body SET (long_documents = error);
REINDEX INDEX long_body;
SELECT count(*) FROM long WHERE body @@@ 'short';
-- Strings of jsonb, and elements with weights.
UPDATE long SET strings = jsonb_build_array('first', long_text(1100), 'verylast'), parts = ARRAY['first', long_text(1100), 'verylast'] WHERE id = 1000;
CREATE INDEX long_strings ON long USING gpu_text (strings) WITH (long_documents = truncate);
CREATE INDEX long_parts ON long USING gpu_text (parts) WITH (long_documents = truncate, weights = '{1,16}');
SELECT count(*) FILTER (WHERE strings @@@ 'first'), count(*) FILTER (WHERE strings @@@ 'verylast') AS last, count(*) FILTER (WHERE parts @@@ 'first') AS first_part, count(*) FILTER (WHERE parts @@@ 'verylast') AS last_part FROM long;
SET enable_seqscan = off;
SELECT count(*) FROM long WHERE strings @@@ 'first -verylast';
SELECT count(*) FROM long WHERE parts @@@ 'first -verylast';
SELECT count(*) FROM long WHERE parts @@@ 'short' AND strings @@@ 'short';
RESET enable_seqscan;
SELECT count(*) AS problems FROM gpu.verify('long_strings');
SELECT count(*) AS problems FROM gpu.verify('long_parts');
-- What an index was built with is remembered until it is built anew, also where that is in its old file.
BEGIN;
CREATE TABLE long_again (body text);
CREATE INDEX long_again_body ON long_again USING gpu_text (body) WITH (configuration = 'english');
INSERT INTO long_again VALUES ('short');
ALTER INDEX long_again_body SET (long_documents = skip);
SELECT count(*) FROM long_again WHERE body @@@ 'short';
TRUNCATE long_again;
INSERT INTO long_again VALUES (long_text(1100)), ('short');
SELECT count(*) FROM long_again WHERE body @@@ 'short';
COMMIT;
SELECT count(*) AS problems FROM gpu.verify('long_again_body');
DROP TABLE long, long_again;
DROP FUNCTION long_text, long_found;
