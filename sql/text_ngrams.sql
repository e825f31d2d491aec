-- gpu_text with gpu.bigrams and gpu.trigrams: text without spaces, and parts of words, against LIKE.
SET max_parallel_workers_per_gather = 0;
SET client_min_messages = warning;
SELECT c AS configuration, d AS document, to_tsvector(c, d) AS words
FROM unnest('{gpu.bigrams,gpu.trigrams}'::regconfig[]) AS c, unnest(ARRAY['東京都庁', 'ab', 'Zoë, a b-c', '々ー・〇。「本」', 'ＡＢＣ ｶﾞｷﾞ ㍿', ' .,　!? ', '']) WITH ORDINALITY AS t (d, n) ORDER BY c, n;
SELECT c AS configuration, q AS typed, websearch_to_tsquery(c, q) AS query FROM unnest('{gpu.bigrams,gpu.trigrams}'::regconfig[]) AS c, unnest(ARRAY['京', '京都', '東京都', '-京都 or 大阪', '"東京 大阪"', '…']) WITH ORDINALITY AS t (q, n) ORDER BY c, n;
SELECT alias, description FROM ts_token_type('gpu.bigrams');
SELECT cfgname, prsname FROM pg_ts_config JOIN pg_ts_parser ON pg_ts_parser.oid = cfgparser WHERE cfgnamespace = 'gpu'::regnamespace ORDER BY 1;

-- Words of a few characters, so that what is searched is a part of many.
CREATE TABLE grams (id int, body text);
INSERT INTO grams SELECT g, string_agg((ARRAY['東', '京', '都', '中', '国', 'ひ', 'ラ', 'ー', 'a', 'B', 'é', '8'])[1 + (g * 7919 + n * n * 31 + g / (n + 1) * 17) % (4 + g % 9)], '' ORDER BY n)
FROM generate_series(1, 800) AS g, LATERAL generate_series(1, 1 + g % 11) AS n GROUP BY g;
INSERT INTO grams VALUES (3001, NULL), (3002, ''), (3003, '。'), (3004, '東 京'), (3005, 'ＡＢ'), (3006, 'ab');
CREATE FUNCTION gram_differences(column_index regclass, OUT typed int, OUT lengths text, OUT rows int8, OUT used int, OUT different text) LANGUAGE plpgsql AS $$
DECLARE
    q text;
    way text;
    line text;
    statement text;
    wanted int[];
    found int[];
BEGIN
    typed := 0; rows := 0; used := 0;
    SELECT string_agg(DISTINCT length(part)::text, ' ' ORDER BY length(part)::text) INTO lengths FROM parts;
    FOR q IN SELECT part FROM parts LOOP
        EXECUTE format('SELECT array_agg(id ORDER BY id) FROM grams WHERE lower(normalize(body, NFKC)) LIKE %L', '%' || lower(q) || '%') INTO wanted;
        typed := typed + 1; rows := rows + coalesce(cardinality(wanted), 0);
        FOREACH way IN ARRAY ARRAY['seqscan', 'indexscan', 'bitmapscan'] LOOP
            PERFORM set_config('enable_' || w, (w = way)::text, true) FROM unnest(ARRAY['seqscan', 'indexscan', 'bitmapscan']) AS w;
            statement := format('SELECT id FROM grams WHERE body @@@ %L', q);
            EXECUTE 'SELECT array_agg(id ORDER BY id) FROM (' || statement || ') AS s' INTO found;
            IF found IS DISTINCT FROM wanted THEN different := concat_ws('; ', different, way || ' ' || q); END IF;
            -- One in ten plans is looked at.
            IF typed % 10 = 0 THEN
                FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || statement LOOP used := used + (line LIKE '%Index Scan%' || column_index || '%')::int; END LOOP;
            END IF;
        END LOOP;
    END LOOP;
END $$;
-- Parts of rows, and strings that are nowhere, or would be if a word's end and beginning were side by side.
CREATE TABLE parts AS SELECT DISTINCT substr(body, 1 + id % 7, 1 + id / 3 % 5) AS part FROM grams WHERE id < 3000 AND id % 3 = 0 AND length(body) > 1 + id % 7;
INSERT INTO parts VALUES ('都都'), ('国東'), ('東京東京'), ('zz'), ('é8é8é'), ('京東都a');
CREATE INDEX grams_two ON grams USING gpu_text (body) WITH (configuration = 'gpu.bigrams');
VACUUM ANALYZE grams;
SELECT typed > 80 AS many, lengths, rows > 1000 AS many_rows, used > 10 AS uses_index, different FROM gram_differences('grams_two');
-- The same with positions in the index, of rows that come later, and without the index.
DROP INDEX grams_two;
CREATE INDEX grams_two ON grams USING gpu_text (body) WITH (configuration = 'gpu.bigrams', positions = on);
INSERT INTO grams SELECT id + 4000, body FROM grams WHERE id % 5 = 0;
DELETE FROM grams WHERE id % 17 = 0;
SELECT lengths, used > 10 AS uses_index, different FROM gram_differences('grams_two');
SELECT count(*) FROM gpu.verify('grams_two');
DROP INDEX grams_two;
SET default_text_search_config = 'gpu.trigrams';
SELECT lengths, used, different FROM gram_differences('grams');
CREATE INDEX grams_three ON grams USING gpu_text (body) WITH (configuration = 'gpu.trigrams', positions = on);
SET default_text_search_config = 'simple';
SELECT lengths, used > 10 AS uses_index, different FROM gram_differences('grams_three');
-- Spaces in what is typed are between words, each of which must be there; quoted, one behind the other. An asterisk changes nothing, nor do capital and wide letters.
SELECT count(*) = (SELECT count(*) FROM grams WHERE body LIKE '%東京%' AND body LIKE '%都%') AS same, count(*) > 3 AS some FROM grams WHERE body @@@ '東京 都';
SELECT count(*) = (SELECT count(*) FROM grams WHERE body LIKE '%東京%' AND NOT body LIKE '%都%') AS same, count(*) > 3 AS some FROM grams WHERE body @@@ '東京 -都';
SELECT id FROM grams WHERE body @@@ '"東 京"' AND id BETWEEN 3001 AND 3010;
SELECT count(*) = (SELECT count(*) FROM grams WHERE body @@@ '東京都') AS same FROM grams WHERE body @@@ '東京都*';
SELECT array_agg(id ORDER BY id) FROM grams WHERE body @@@ 'Ａｂ' AND id BETWEEN 3001 AND 3010;
SELECT count(*) FROM grams WHERE body @@@ '。';
-- Ranked, as words are.
CREATE TABLE ranked_grams (id int, body text);
INSERT INTO ranked_grams VALUES (1, '東京'), (2, '東京東京'), (3, '大阪と東京と京都と神戸と奈良'), (4, '京都');
CREATE INDEX ON ranked_grams USING gpu_text (body) WITH (configuration = 'gpu.bigrams', positions = on);
SELECT id FROM ranked_grams WHERE body @@@ '東京' ORDER BY body <@> '東京', id;
-- A tsvector's positions end at 16,383: further back a string of two characters is found, and none of three.
INSERT INTO ranked_grams VALUES (5, repeat('〇', 20000) || '札幌駅');
SELECT ARRAY(SELECT id FROM ranked_grams WHERE body @@@ '札幌') AS two, ARRAY(SELECT id FROM ranked_grams WHERE body @@@ '駅') AS one, ARRAY(SELECT id FROM ranked_grams WHERE body @@@ '札幌駅') AS three;
-- Elements and jsonb.
SELECT ARRAY['東京', '都庁'] @@@ websearch_to_tsquery('gpu.bigrams', '都庁') AS element, ARRAY['東京', '都庁'] @@@ websearch_to_tsquery('gpu.bigrams', '京都') AS across FROM set_config('default_text_search_config', 'gpu.bigrams', false);
SELECT '{"a": ["東京都"]}'::jsonb @@@ '京都' AS string;
DROP TABLE grams, parts, ranked_grams;
DROP FUNCTION gram_differences;
