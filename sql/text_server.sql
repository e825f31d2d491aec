-- gpu_text's runs in the server process: residency, what is answered there, and that each score has the same bits as on pages.
LOAD 'pg_gpu';
SET pg_gpu.path = host;
SET max_parallel_workers_per_gather = 0;
CREATE FUNCTION text_far_vector(seed int) RETURNS tsvector LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN seed % 101 = 0 THEN NULL WHEN seed % 97 = 0 THEN ''::tsvector WHEN seed % 5 = 0 THEN strip(v) ELSE v END
    FROM (SELECT to_tsvector('simple', string_agg('w' || floor(2000 ^ ((hashint4(seed * 100 + i)::int8 & 65535) / 65536::float8))::text, ' ' ORDER BY i)) AS v
          FROM generate_series(1, 3 + seed * 7 % 20) AS i) AS x
$$;
CREATE TABLE text_far (id int, tsv tsvector);
INSERT INTO text_far SELECT g, text_far_vector(g) FROM generate_series(1, 20000) AS g;
CREATE INDEX text_far_i ON text_far USING gpu_text (tsv);
VACUUM ANALYZE text_far;

-- Residency.
SELECT gpu.load('text_far_i') > 20000 * 9 AS loaded, gpu.load('text_far_i') AS loaded_again;
SELECT index_name, kind, entries, device, pinned, run_id = (SELECT run_id FROM gpu.runs(index_name)) AS run
FROM gpu.mirrors WHERE index_name = 'text_far_i'::regclass;
SELECT gpu.load('text_far_i', true) AS loaded_again;
SELECT pinned FROM gpu.mirrors WHERE index_name = 'text_far_i'::regclass;

-- What the server answers beside what pages do: rows and scores, in order.
CREATE TABLE text_far_query (n int, query tsquery, k int, mode text);
INSERT INTO text_far_query
SELECT row_number() OVER (), q::tsquery, k, mode
FROM unnest(ARRAY['w1', 'w1 & w2', 'w3 & w17 & w90', 'w250 & w311 & w2 & w77', 'w1999', 'nothing', 'w1 & nothing', 'w1 & w1', 'w7 & w8 & w9 & w10 & w11 & w12']) AS q,
     unnest(ARRAY[1, 10, 1000]) AS k, unnest(ARRAY['and', 'or', 'and_or', 'query']) AS mode;
-- More hits than a request may ask for, and more lexemes than a query has as a rule.
INSERT INTO text_far_query SELECT 1000, 'w1 | w2 | w3', 10000, 'query';
INSERT INTO text_far_query SELECT 1001, string_agg('w' || g, '|')::tsquery, 100, 'query' FROM generate_series(1, 200) AS g;
INSERT INTO text_far_query SELECT 1002, 'w1', 0, 'or';
-- Trees of all kinds. What phrases and weights match the rows decide, of which the server gives those that can.
INSERT INTO text_far_query
SELECT 2000 + row_number() OVER (), q::tsquery, k, 'query'
FROM unnest(ARRAY['w1 & !w2', '!w1', '!!w7', 'w5:*', 'w19:* & w2', '!w19:*', 'nothing:*', 'w1 | nothing:*', 'w1 | w2 & !w3', 'w1 & (w2 | w30) & !(w4 & w5)', 'w3 | !w4', '!(w1 & w2) | w900',
                  '(w1 | w2) & (w3 | w4 & (w5 | w6 & (w7 | w8))) & !nothing', 'w1 & w10 | w1 & w11 | w1:* & !w12', 'w1 & !w1', 'w1 | !w1',
                  'w1 <-> w2', 'w1 <2> w3', '!(w1 <-> w2) & w3', 'w1 <-> (w2 | w3:*)', 'w1 <-> !w2', '(w1 <-> w2) | w40', 'w1:D & w2', 'w1:A', '!w1:D & w3', 'w2:*D & !w5']) AS q,
     unnest(ARRAY[10, 1000]) AS k;

CREATE FUNCTION text_far_answer(path text, search_query tsquery, k int, mode text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('pg_gpu.path', path, true);
    RETURN (SELECT count(*) || ' ' || coalesce(md5(string_agg(tid || ' ' || encode(float4send(score), 'hex'), ',')), '') FROM gpu.search('text_far_i', search_query, k, mode));
END $$;
CREATE FUNCTION text_far_batch(path text, mode text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('pg_gpu.path', path, true);
    RETURN (SELECT count(*) || ' ' || md5(string_agg(ordinal || ' ' || tid || ' ' || encode(float4send(score), 'hex'), ','))
            FROM gpu.search_batch('text_far_i', (SELECT array_agg(query ORDER BY n) || ARRAY[NULL, 'w1 <-> w2'::tsquery, 'w5:*'::tsquery] FROM text_far_query), 7, mode));
END $$;
CREATE FUNCTION text_far_intersection(path text, lexemes text[]) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('pg_gpu.path', path, true);
    RETURN (SELECT count(*) || ' ' || coalesce(md5(string_agg(tid::text, ',')), '') FROM gpu.intersect('text_far_i', lexemes) AS x (tid));
END $$;
-- `found` says that there is something to compare.
CREATE FUNCTION text_far_differences() RETURNS TABLE (what text, compared int8, found boolean, different text) LANGUAGE sql AS $$
    SELECT 'search', count(*), bool_or(split_part(p, ' ', 1)::int >= 1000), string_agg(n::text, ',') FILTER (WHERE h <> p)
    FROM (SELECT n, text_far_answer('host', query, k, mode) AS h, text_far_answer('paged', query, k, mode) AS p FROM text_far_query) AS x
    UNION ALL
    SELECT 'batch', count(*), bool_and(split_part(p, ' ', 1)::int > 100), string_agg(mode, ',') FILTER (WHERE h <> p)
    FROM (SELECT mode, text_far_batch('host', mode) AS h, text_far_batch('paged', mode) AS p FROM unnest(ARRAY['and', 'or', 'and_or', 'query']) AS mode) AS x
    UNION ALL
    SELECT 'intersect', count(*), bool_or(split_part(p, ' ', 1)::int > 100), string_agg(words, ',') FILTER (WHERE h <> p)
    FROM (SELECT words, text_far_intersection('host', string_to_array(words, ' ')) AS h, text_far_intersection('paged', string_to_array(words, ' ')) AS p
          FROM unnest(ARRAY['w1', 'w1 w2', 'w3 w17', 'w2 w9 w30', 'w1 nothing', 'w1999']) AS words) AS x
$$;
SELECT gpu.stat_reset();
SELECT * FROM text_far_differences();
SELECT request, requests > 3 AS requests, fallbacks, last_reason FROM gpu.stat WHERE path = 'host' AND request IN ('search', 'intersect', 'count documents') ORDER BY 1;
-- A batch is one request, and of and_or those that found too little another one.
SELECT gpu.stat_reset();
SELECT count(DISTINCT ordinal) FROM gpu.search_batch('text_far_i', (SELECT array_agg(query) FROM text_far_query WHERE mode = 'or' AND k > 0), 5, 'and_or');
SELECT requests, items FROM gpu.stat WHERE path = 'host' AND request = 'search';
-- Trees take one request each, too.
SELECT gpu.stat_reset();
SELECT count(*) FROM gpu.search('text_far_i', 'w1 <-> w2', 5, 'query');
SELECT count(*) FROM gpu.search('text_far_i', 'w19:*', 5, 'or');
SELECT count(*) FROM gpu.search('text_far_i', 'w1 & !w2', 5, 'and');
SELECT requests, fallbacks, last_reason FROM gpu.stat WHERE path = 'host' AND request = 'search';
-- What is too long for the server, pages rank.
SELECT gpu.stat_reset();
SELECT text_far_answer('host', q, 100, 'query') = text_far_answer('paged', q, 100, 'query') AS same FROM (SELECT string_agg('w' || g, '|')::tsquery AS q FROM generate_series(1, 1100) AS g) AS x;
SELECT text_far_answer('host', q, 100, 'query') = text_far_answer('paged', q, 100, 'query') AS same FROM (SELECT (string_agg('(w' || g % 50 || '&!w' || g % 40 || ')', '|'))::tsquery AS q FROM generate_series(1, 2000) AS g) AS x;
SELECT requests, fallbacks, last_reason FROM gpu.stat WHERE path = 'host' AND request = 'search';

-- Ordered scans.
CREATE FUNCTION text_far_ordered(path text, search_query tsquery, condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text;
BEGIN
    PERFORM set_config('pg_gpu.path', path, true);
    SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off; SET LOCAL pg_gpu.enable_search = off;
    EXECUTE format('SELECT count(*) || md5(string_agg(id::text, '','')) FROM (SELECT id FROM text_far WHERE %s ORDER BY tsv OPERATOR(gpu.<=>) gpu.query(''text_far_i'', %L) LIMIT 1500) AS x',
                   condition, search_query) INTO answer;
    RETURN answer;
END $$;
SELECT gpu.stat_reset();
SELECT text_far_ordered('host', 'w1 | w5', 'true') = text_far_ordered('paged', 'w1 | w5', 'true') AS same,
       text_far_ordered('host', 'w1 & w5', 'tsv @@ ''w1 & w5''') = text_far_ordered('paged', 'w1 & w5', 'tsv @@ ''w1 & w5''') AS same_of_all,
       text_far_ordered('host', 'w1 | w5', 'tsv @@ ''w2''') = text_far_ordered('paged', 'w1 | w5', 'tsv @@ ''w2''') AS same_with_condition;
SELECT requests, fallbacks FROM gpu.stat WHERE path = 'host' AND request = 'search';
SELECT bool_and(text_far_ordered('host', q, 'true') = text_far_ordered('paged', q, 'true')) AS same_by_trees FROM unnest(ARRAY['w1 & !w5', 'w19:* | w2 & w3', 'w1 <-> w2', 'w2 & !(w1 <-> w5)', 'w2:D']::tsquery[]) AS q;

-- Tail, sealed tails and merged runs beside the large one; rows that are gone and entries that are dead.
INSERT INTO text_far SELECT g, text_far_vector(g) FROM generate_series(20001, 20900) AS g;
UPDATE text_far SET tsv = text_far_vector(id + 50000) WHERE id % 17 = 3;
DELETE FROM text_far WHERE id % 10 = 4;
SELECT * FROM text_far_differences();
BEGIN;
DELETE FROM text_far WHERE id % 2 = 0;
SELECT * FROM text_far_differences();
ROLLBACK;
SELECT gpu.stat_reset();
VACUUM text_far;
SELECT sum(dead) > 0 AS dead FROM gpu.runs('text_far_i');
SELECT * FROM text_far_differences();
SELECT request, requests > 3 AS requests, fallbacks, last_reason FROM gpu.stat WHERE path = 'host' AND request IN ('search', 'intersect', 'count documents') ORDER BY 1;
SELECT text_far_ordered('host', 'w1 | w5', 'true') = text_far_ordered('paged', 'w1 | w5', 'true') AS same;
-- Bounds that were written with another k1, and lengths that weigh otherwise.
ALTER INDEX text_far_i SET (k1 = 0.9, b = 0.3);
SELECT * FROM text_far_differences();
ALTER INDEX text_far_i RESET (k1, b);
SELECT count(*) FROM gpu.merge('text_far_i');
SELECT * FROM text_far_differences();
ALTER INDEX text_far_i SET (codec = pfordelta);
REINDEX INDEX text_far_i;
SELECT * FROM text_far_differences();
ALTER INDEX text_far_i SET (codec = rice);
REINDEX INDEX text_far_i;
SELECT * FROM text_far_differences();

-- Residency is the setting's and the owner's to decide.
SET pg_gpu.mirror = manual;
SELECT gpu.evict('text_far_i') > 0 AS evicted, gpu.evict('text_far_i') AS again;
SELECT gpu.stat_reset();
SELECT text_far_answer('host', 'w1 | w2', 10, 'query') = text_far_answer('paged', 'w1 | w2', 10, 'query') AS same;
SELECT request, fallbacks > 0 AS fell_back, last_reason FROM gpu.stat WHERE path = 'host' AND request = 'search';
SELECT gpu.load('text_far_i') > 0 AS loaded;
SELECT text_far_answer('host', 'w1 | w2', 10, 'query') = text_far_answer('paged', 'w1 | w2', 10, 'query') AS same;
SELECT requests FROM gpu.stat WHERE path = 'host' AND request = 'search';
RESET pg_gpu.mirror;
-- A small index never travels.
SET pg_gpu.path = auto;
CREATE TEMP TABLE text_near AS SELECT id, tsv FROM text_far WHERE id < 500;
CREATE INDEX text_near_i ON text_near USING gpu_text (tsv);
SELECT gpu.stat_reset();
SELECT count(*) FROM gpu.search('text_near_i', 'w1', 5, 'or');
SELECT path, request, requests FROM gpu.stat;
SET pg_gpu.path = host;
SELECT gpu.load('text_near_i') > 0 AS loaded;
SELECT count(*) FROM gpu.search('text_near_i', 'w1', 5, 'or');
SELECT requests FROM gpu.stat WHERE path = 'host' AND request = 'search';
-- An index without an entry.
CREATE TEMP TABLE text_none (tsv tsvector);
CREATE INDEX text_none_i ON text_none USING gpu_text (tsv);
SELECT gpu.load('text_none_i'), (SELECT count(*) FROM gpu.search('text_none_i', 'w1', 5, 'or'));
-- With a small transfer buffer a batch is cut, and what doesn't fit is left to pages.
SET pg_gpu.session_transfer_memory = '1MB';
\c -
LOAD 'pg_gpu';
SET pg_gpu.path = host;
SET pg_gpu.session_transfer_memory = '1MB';
SELECT gpu.stat_reset();
SELECT count(*) FROM gpu.search_batch('text_far_i', (SELECT array_agg('w1 | w2'::tsquery) FROM generate_series(1, 2000)), 10, 'query');
SELECT requests > 1 AS cut, items, fallbacks FROM gpu.stat WHERE path = 'host' AND request = 'search';
SELECT text_far_intersection('host', '{w1}') = text_far_intersection('paged', '{w1}') AS same;
DROP TABLE text_far, text_far_query;
DROP FUNCTION text_far_vector, text_far_answer, text_far_batch, text_far_intersection, text_far_differences, text_far_ordered;
