-- gpu_text on several columns as an array, whose elements count differently: scores, phrases and plans against tsvectors in which the words are repeated.
SET client_min_messages = warning;
CREATE TABLE article (id int, title varchar(100), body text);
INSERT INTO article SELECT i, CASE WHEN i % 9 <> 0 THEN concat_ws(' ', CASE WHEN i % 4 = 0 THEN 'Sorted arrays' END, CASE WHEN i % 5 = 0 THEN 'graphics' END, 'title' || i) END,
    CASE WHEN i % 7 <> 0 THEN concat_ws(' ', CASE WHEN i % 3 = 0 THEN 'of arrays' END, CASE WHEN i % 6 = 0 THEN 'and graphics cards' END, repeat('more ', i % 11)) END
FROM generate_series(1, 600) AS i;
CREATE INDEX article_words ON article USING gpu_text ((ARRAY[title::text, body])) WITH (configuration = 'english', weights = '{3,1}');
INSERT INTO article SELECT id + 1000, title, body FROM article WHERE id % 10 = 0;
DELETE FROM article WHERE id % 13 = 0;
VACUUM ANALYZE article;
SELECT count(*) FROM gpu.verify('article_words');
-- The same documents, made outside.
CREATE TABLE repeated AS SELECT id, to_tsvector('english', concat_ws(' | ', title, title, title, body)) AS words FROM article;
CREATE INDEX repeated_words ON repeated USING gpu_text (words);
SELECT count(*), count(*) FILTER (WHERE (ARRAY[a.title::text, a.body] <@> 'arrays graphics') IS DISTINCT FROM (r.words OPERATOR(gpu.<=>) gpu.query('repeated_words', 'array & graphic'))) AS different,
    count(DISTINCT ARRAY[a.title::text, a.body] <@> 'arrays graphics') > 5 AS many_scores
FROM article AS a JOIN repeated AS r USING (id) WHERE ARRAY[a.title::text, a.body] @@@ 'arrays graphics';
CREATE FUNCTION weighted_differences(OUT compared int, OUT rows int8, OUT used int, OUT different text) LANGUAGE plpgsql AS $$
DECLARE
    q text;
    way text;
    line text;
    statement text;
    wanted text[];
    found text[];
    uses bool;
BEGIN
    compared := 0; rows := 0; used := 0;
    FOREACH q IN ARRAY ARRAY['arrays', 'sorted arrays', '"sorted arrays"', '"title12 array"', 'graphics -cards', '"graphics title20"', 'title35 or more', '-more', ''] LOOP
        wanted := NULL;
        statement := format('SELECT id, ARRAY[title::text, body] <@> %1$L AS score FROM article WHERE ARRAY[title::text, body] @@@ %1$L ORDER BY ARRAY[title::text, body] <@> %1$L', q);
        FOREACH way IN ARRAY ARRAY['seqscan', 'indexscan', 'bitmapscan'] LOOP
            PERFORM set_config('enable_seqscan', (way = 'seqscan')::text, true), set_config('enable_indexscan', (way = 'indexscan')::text, true),
                set_config('enable_bitmapscan', (way = 'bitmapscan')::text, true);
            EXECUTE 'SELECT array_agg(s::text ORDER BY score, id) FROM (' || statement || ' OFFSET 0) AS s' INTO found;
            uses := false;
            FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || statement LOOP uses := uses OR line LIKE '%Index Scan%article_words%'; END LOOP;
            wanted := coalesce(wanted, found);
            compared := compared + 1; used := used + uses::int; rows := rows + coalesce(cardinality(found), 0);
            IF found IS DISTINCT FROM wanted THEN different := concat_ws('; ', different, way || ' ' || q); END IF;
        END LOOP;
    END LOOP;
END $$;
SELECT compared, rows, used, different FROM weighted_differences();
-- No phrase begins in one element and ends in another, or in another copy of the same one.
SELECT count(*) FROM article WHERE ARRAY[title::text, body] @@@ '"title12 array"';
SELECT count(*) FROM article WHERE ARRAY[title::text, body] @@@ '"title12 sort"';
SELECT count(*) FROM article WHERE ARRAY[title::text, body] @@@ '"sort array title12"';
SELECT id FROM article ORDER BY ARRAY[title::text, body] <@> 'graphics', id LIMIT 3;

-- Other weights count from the next REINDEX on, for the index and for queries alike.
SELECT round(min(ARRAY[title::text, body] <@> 'graphics')::numeric, 4) AS before FROM article \gset
ALTER INDEX article_words SET (weights = '{1,5}');
INSERT INTO article VALUES (5000, 'graphics', 'graphics');
SELECT compared, rows, used, different FROM weighted_differences();
DELETE FROM article WHERE id = 5000;
REINDEX INDEX article_words;
SELECT round(min(ARRAY[title::text, body] <@> 'graphics')::numeric, 4) <> :before AS another_score FROM article;
SELECT compared, rows, used, different FROM weighted_differences();
-- More elements than weights, and elements that are NULL.
CREATE TABLE lists (id int, words text[]);
INSERT INTO lists VALUES (1, '{one,two,three}'), (2, '{NULL,two}'), (3, '{}'), (4, '{NULL}'), (5, NULL), (6, '{three,three,one}');
CREATE INDEX lists_words ON lists USING gpu_text (words) WITH (weights = '{4}');
SELECT id, round((words <@> 'one')::numeric, 3) AS one, round((words <@> 'three')::numeric, 3) AS three FROM lists ORDER BY id;
SELECT count(*) FROM gpu.verify('lists_words');

-- What isn't a list of weights, and what has none.
CREATE INDEX ON lists USING gpu_text (words) WITH (weights = '2,1');
CREATE INDEX ON lists USING gpu_text (words) WITH (weights = '{2,0}');
CREATE INDEX ON lists USING gpu_text (words) WITH (weights = '{17}');
CREATE INDEX ON lists USING gpu_text (words) WITH (weights = '{1,1,1,1,1,1,1,1,1}');
CREATE INDEX ON lists USING gpu_text (words) WITH (weights = '{}');
CREATE INDEX ON article USING gpu_text (body) WITH (weights = '{2}');
ALTER INDEX lists_words SET (weights = '{2,x}');
-- Copies of an element that goes beyond the last position of a tsvector: words are there as often as in a tsvector of as many copies.
CREATE TABLE beyond (id int, body text);
INSERT INTO beyond SELECT words, 'first ' || repeat('filler words ', words / 2) || 'last' FROM unnest('{200,8000,15000,16378,16380,16382,16384,40000}'::int[]) AS words;
CREATE INDEX beyond_words ON beyond USING gpu_text ((ARRAY[body])) WITH (weights = '{5}');
CREATE TABLE beyond_repeated AS SELECT id, to_tsvector('simple', concat_ws(' | ', body, body, body, body, body)) AS words FROM beyond;
CREATE INDEX beyond_repeated_words ON beyond_repeated USING gpu_text (words);
SELECT count(*), count(DISTINCT ARRAY[b.body] <@> 'first') > 1 AS several, count(*) FILTER (WHERE (ARRAY[b.body] <@> q) IS DISTINCT FROM (r.words OPERATOR(gpu.<=>) gpu.query('beyond_repeated_words', q::tsquery))) AS different
FROM beyond AS b JOIN beyond_repeated AS r USING (id), unnest('{first,last,filler}'::text[]) AS q;
SELECT count(*) FROM gpu.verify('beyond_words');
DROP TABLE beyond, beyond_repeated;
DROP TABLE article, repeated, lists CASCADE;
DROP FUNCTION weighted_differences;
