-- gpu_text: wor* in what is typed is a word that begins so. All else is as websearch_to_tsquery reads it.
CREATE TABLE prefixes (id int, body text);
INSERT INTO prefixes VALUES (1, 'a word'), (2, 'working works'), (3, 'the world of words'), (4, 'wo or'), (5, 'sword'), (6, 'a running dog'), (7, 'runner''s back\slash');
CREATE INDEX prefixes_body ON prefixes USING gpu_text (body) WITH (configuration = 'english');
SELECT q, gpu.matching_query('prefixes_body', q) AS read, (SELECT array_agg(id ORDER BY id) FROM prefixes WHERE body @@@ q) AS found
FROM unnest(ARRAY['wor*', 'word*', 'wor* -world*', 'dog or wor*', 'wor* or dog', 'wor* dog or run*', 'run* "running dog"', '"wor* dog"', '-wor*', '-wor* dog', 'or wor*', 'wor* or', 'wor*or', 'run*ing', '*', '-*', '**',
    'the*', 'wo*rd*', 'runner''s*', 'back\slash*', 'x-wor*', '"', '" wor*', 'wor* "', E'wor*\tdog', 'nosuch* or dog', '']) WITH ORDINALITY AS t (q, n) ORDER BY n;
-- Stop words beside others are left out without a word about it, and what stands without a space between it is taken apart as in other searches.
SELECT q, gpu.matching_query('prefixes_body', q) AS read FROM unnest(ARRAY['the wor*', 'the or wor*', 'the* wor*', 'wor* or', 'dog|wor*', 'run*&dog', '(wor*)', 'dog"running wor*"run*', '-"a dog" wor*']) AS q;
-- But for the prefixes all is as without the asterisks.
SET client_min_messages = warning;
SELECT count(*), count(*) FILTER (WHERE q LIKE '%:*%') > 100 AS many_prefixes, count(*) FILTER (WHERE replace(q, ':*', '') <> websearch_to_tsquery('english', typed)::text || ' by prefixes_body') AS different
FROM (SELECT typed, gpu.matching_query('prefixes_body', typed)::text AS q
    FROM (SELECT string_agg((ARRAY['*', ' ', '-', '"', 'or', 'dog', 'the', 'runn', 'x-y', 'it''s', '\', '|', ' or ', '(', 'wor* ', 'on the '])[1 + (g * 7919 + n * n * 104729 + g / 7 * n) % 16], '' ORDER BY n) AS typed
        FROM generate_series(1, 600) AS g, generate_series(1, 8) AS n GROUP BY g) AS s) AS t;
RESET client_min_messages;
-- Without an index, of a tsquery, and misspelt.
SET default_text_search_config = 'simple';
SET client_min_messages = warning;
SELECT 'a word' @@@ 'wor*' AS matches, 'a sword' @@@ 'wor*' AS not_so, '{word}'::text[] @@@ 'wor*' AS of_elements, '{"a": "word"}'::jsonb @@@ 'wor*' AS of_strings;
SELECT gpu.fuzzy_query('prefixes_body', 'wrld run*');
-- Nothing that is typed raises an error.
SELECT count(gpu.matching_query('prefixes_body', string_agg)) FROM (SELECT string_agg((ARRAY['*', '-', '"', ' ', 'or', 'a', '''', '\', ':', '&', '|', '!', '(', ')', '<->'])[1 + (g * 7919 + n * 104729) % 15], '') FROM generate_series(1, 400) AS g, generate_series(1, 9) AS n GROUP BY g) AS s;
DROP TABLE prefixes;
