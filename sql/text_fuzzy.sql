-- gpu.fuzzy_query: the words of an index that are written nearly alike, against all words of the table compared one by one.
SET client_min_messages = warning;
CREATE TABLE misspelt (id int, body text, words tsvector);
INSERT INTO misspelt SELECT i, w, to_tsvector('simple', w) FROM (SELECT i, concat_ws(' ', 'word', substr('abcdefghij', 1 + i % 7, 4), translate('gibberish', chr(97 + i % 26), chr(97 + i * 7 % 26)), 'łódź' || left('żółw', i % 5),
    repeat('x', i % 6), CASE WHEN i % 3 = 0 THEN 'it''s \ "quoted"' END) AS w FROM generate_series(1, 300) AS i) AS s;
CREATE INDEX misspelt_body ON misspelt USING gpu_text (body) WITH (configuration = 'simple');
CREATE INDEX misspelt_words ON misspelt USING gpu_text (words);
INSERT INTO misspelt VALUES (1000, 'wurd gibberis', to_tsvector('simple', 'wurd gibberis')), (1001, NULL, NULL), (1002, repeat('long ', 3000) || 'wort', NULL);
SELECT gpu.fuzzy_query('misspelt_body', 'ward');
SELECT gpu.fuzzy_query('misspelt_body', 'ward', 2);
SELECT gpu.fuzzy_query('misspelt_body', 'ward -word "wood gibberisch"');
SELECT gpu.fuzzy_query('misspelt_words', 'ward:* & (wird:A | !word)'::tsquery);
SELECT gpu.fuzzy_query('misspelt_words', 'łódz'::tsquery), gpu.fuzzy_query('misspelt_body', 'xxxx'), gpu.fuzzy_query('misspelt_body', ''), gpu.fuzzy_query('misspelt_body', NULL) IS NULL AS nothing;
-- Every word of the table that is near, for many words and both distances; levenshtein distances by a plain recursion over characters.
CREATE FUNCTION edits(a text, b text) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    before int[];
    now int[];
BEGIN
    before := ARRAY(SELECT generate_series(0, length(b)));
    FOR i IN 1 .. length(a) LOOP
        now := ARRAY[i];
        FOR j IN 1 .. length(b) LOOP
            now := now || least(before[j + 1] + 1, now[j] + 1, before[j] + (substr(a, i, 1) <> substr(b, j, 1))::int);
        END LOOP;
        before := now;
    END LOOP;
    RETURN before[length(b) + 1];
END $$;
CREATE TABLE lexeme AS SELECT DISTINCT lexeme FROM misspelt, unnest(to_tsvector('simple', body)) WHERE body IS NOT NULL;
SELECT count(*) AS words, sum(cardinality(found)) AS near, count(*) FILTER (WHERE found IS DISTINCT FROM wanted) AS different
FROM (SELECT q.lexeme, d, (SELECT array_agg(x ORDER BY x COLLATE "C") FROM unnest(tsvector_to_array(to_tsvector('simple', replace(replace(gpu.fuzzy_query('misspelt_body', to_tsquery('simple', quote_literal(q.lexeme)), d)::text, '''', ' '), '|', ' ')))) AS x) AS found,
        (SELECT array_agg(x.lexeme ORDER BY x.lexeme COLLATE "C") FROM lexeme AS x WHERE edits(x.lexeme, q.lexeme) <= d) AS wanted
    FROM (SELECT lexeme FROM lexeme WHERE lexeme ~ '^\w+$' ORDER BY lexeme COLLATE "C" LIMIT 40) AS q, generate_series(1, 2) AS d) AS s;
SELECT count(*) FROM misspelt WHERE body @@@ gpu.fuzzy_query('misspelt_body', 'wort gibberisch');
SELECT count(*) FROM gpu.search('misspelt_words', gpu.fuzzy_query('misspelt_words', 'wird'::tsquery), 10, 'query');
-- Partitions, what can't be asked, and who may not.
CREATE TABLE halves (id int, body text) PARTITION BY RANGE (id);
CREATE TABLE half_1 PARTITION OF halves FOR VALUES FROM (0) TO (150);
CREATE TABLE half_2 PARTITION OF halves FOR VALUES FROM (150) TO (2000);
CREATE INDEX halves_body ON halves USING gpu_text (body);
INSERT INTO halves SELECT id, body FROM misspelt;
SELECT gpu.fuzzy_query('halves_body', 'ward');
SELECT gpu.fuzzy_query('misspelt_body', 'ward', 0);
SELECT gpu.fuzzy_query('misspelt_body', 'ward', 3);
SELECT gpu.fuzzy_query('misspelt_words', 'ward'::text);
CREATE ROLE text_fuzzy_reader;
SET ROLE text_fuzzy_reader;
SELECT gpu.fuzzy_query('misspelt_body', 'ward');
RESET ROLE;
DROP ROLE text_fuzzy_reader;
DROP TABLE misspelt, lexeme, halves CASCADE;
DROP FUNCTION edits;
