-- gpu_text: ranking as BM25 written in SQL ranks, and `@@` as a sequential scan answers, through inserts, updates,
-- deletes, VACUUM and merges, with each codec.
SET client_min_messages = warning;
SET search_path = public, gpu;

-- Documents of a vocabulary in which few lexemes are frequent; entries the index still counts are in `counted`.
CREATE FUNCTION vector_length(vector tsvector) RETURNS int8 LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(sum(greatest(coalesce(cardinality(positions), 0), 1)), 0) FROM unnest(vector)
$$;
CREATE TABLE text_doc (id int PRIMARY KEY, tsv tsvector, length int8 GENERATED ALWAYS AS (vector_length(tsv)) STORED);
CREATE TABLE counted (LIKE text_doc INCLUDING GENERATED);
CREATE FUNCTION random_vector(seed int) RETURNS tsvector LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN seed % 41 = 0 THEN NULL WHEN seed % 37 = 0 THEN ''::tsvector WHEN seed % 5 = 0 THEN strip(v) ELSE v END
    FROM (SELECT to_tsvector('simple', string_agg('w' || floor(400 ^ ((hashint4(seed * 1000 + i)::int8 & 65535) / 65536::float8))::text, ' ' ORDER BY i)) AS v
          FROM generate_series(1, 5 + seed * 7 % 40) AS i) AS x
$$;

-- What the index should say, from the entries it counts; the rows are the table's.
CREATE FUNCTION bm25(lexemes text[], k int, fewest int, k1 float8 DEFAULT 1.2, b float8 DEFAULT 0.75)
RETURNS TABLE (tid tid, score real) LANGUAGE sql STABLE AS $$
    WITH total AS MATERIALIZED (SELECT count(*)::float8 AS n, sum(length)::float8 / count(*) AS avgdl FROM counted WHERE tsv IS NOT NULL),
    weight AS MATERIALIZED (
        SELECT lexeme, ln(1 + (n - df + 0.5::float8) / (df + 0.5::float8)) * (k1 + 1) * 4294967296 AS w
        FROM (SELECT lexeme, (SELECT count(*) FROM counted WHERE tsv @@ quote_literal(lexeme)::tsquery)::float8 AS df FROM unnest(lexemes) AS lexeme) AS x, total),
    posting AS MATERIALIZED (
        SELECT d.ctid AS tid, u.lexeme, greatest(coalesce(cardinality(u.positions), 0), 1)::float8 AS tf, d.length::float8 AS dl
        FROM text_doc AS d, unnest(d.tsv) AS u WHERE u.lexeme = ANY (lexemes))
    SELECT p.tid, (sum(greatest(floor(w * tf / (tf + (k1 * (1 - b) + k1 * b / avgdl * dl)) + 0.5), 1)::int8)::float8 / 4294967296)::real
    FROM posting AS p JOIN weight USING (lexeme), total
    GROUP BY p.tid HAVING count(*) >= fewest
    ORDER BY sum(greatest(floor(w * tf / (tf + (k1 * (1 - b) + k1 * b / avgdl * dl)) + 0.5), 1)::int8) DESC, p.tid LIMIT k
$$;

-- Queries whose ranking differs from SQL's: row by row, scores bit for bit.
CREATE FUNCTION ranking_differences(k1 float8 DEFAULT 1.2, b float8 DEFAULT 0.75)
RETURNS TABLE (compared int8, rows int8, different text) LANGUAGE plpgsql STABLE AS $$
DECLARE
    q text[];
    lexemes text[];
    fewest int;
BEGIN
    compared := 0;
    rows := 0;
    FOREACH q SLICE 1 IN ARRAY ARRAY[['w1 w2', 'or'], ['w1 w2', 'and'], ['w3', 'or'], ['w5 w17 w90', 'or'], ['w2 w5 w17', 'and'],
        ['w250 w311 w2 w77', 'or'], ['w399', 'and'], ['w1 nothing', 'or'], ['w1 nothing', 'and'], ['none', 'or']] LOOP
        lexemes := string_to_array(q[1], ' ');
        fewest := CASE q[2] WHEN 'and' THEN cardinality(lexemes) ELSE 1 END;
        compared := compared + 1;
        rows := rows + (SELECT count(*) FROM gpu.search('text_index', replace(q[1], ' ', ' & ')::tsquery, 100, q[2]));
        IF EXISTS (SELECT FROM (SELECT row_number() OVER () AS place, * FROM bm25(lexemes, 100, fewest, k1, b)) AS x
                   FULL JOIN (SELECT row_number() OVER () AS place, * FROM gpu.search('text_index', replace(q[1], ' ', ' & ')::tsquery, 100, q[2])) AS y
                   USING (place, tid, score) WHERE x.tid IS NULL OR y.tid IS NULL) THEN
            different := concat_ws(', ', different, q[1] || ' by ' || q[2]);
        END IF;
    END LOOP;
    RETURN NEXT;
END $$;

-- Queries that the index answers otherwise than a sequential scan.
CREATE FUNCTION match_differences() RETURNS TABLE (compared int8, rows int8, different text) LANGUAGE plpgsql AS $$
DECLARE
    q text;
    expected int8[];
    bitmap int8[];
    plain int8[];
BEGIN
    compared := 0;
    rows := 0;
    FOREACH q IN ARRAY ARRAY['w1', 'w1 & w2', 'w1 | w250', '!w1', 'w3 & !w2', '!w1 & !w2', '!w1 | w399', '!(w1 & w2)', 'w1 & (w2 | w30) & !w5', 'w3:*', 'w39:* & w1',
        '!w3:*', 'w1 <-> w2', 'w1 <2> w3', '!w1 <-> w2', 'w1 <-> !w2', '!(w1 <-> w2)', 'w1:A', 'w1:D & w2', '!w1:D', 'w3:*D', 'nothing', '!nothing', 'nothing & w1', ''] LOOP
        SET LOCAL enable_seqscan = on;
        SET LOCAL enable_bitmapscan = off;
        SET LOCAL enable_indexscan = off;
        expected := ARRAY(SELECT id FROM text_doc WHERE tsv @@ q::tsquery ORDER BY id);
        SET LOCAL enable_seqscan = off;
        SET LOCAL enable_bitmapscan = on;
        bitmap := ARRAY(SELECT id FROM text_doc WHERE tsv @@ q::tsquery ORDER BY id);
        SET LOCAL enable_bitmapscan = off;
        SET LOCAL enable_indexscan = on;
        plain := ARRAY(SELECT id FROM text_doc WHERE tsv @@ q::tsquery ORDER BY id);
        compared := compared + 1;
        rows := rows + cardinality(expected);
        IF expected IS DISTINCT FROM bitmap OR expected IS DISTINCT FROM plain THEN
            different := concat_ws(', ', different, q);
        END IF;
    END LOOP;
    RETURN NEXT;
END $$;

-- A build, with each codec.
INSERT INTO text_doc SELECT i, random_vector(i) FROM generate_series(1, 900) AS i;
INSERT INTO counted SELECT id, tsv FROM text_doc;
CREATE INDEX text_index ON text_doc USING gpu_text (tsv);
ANALYZE text_doc;
SELECT * FROM ranking_differences();
SELECT * FROM match_differences();
SELECT * FROM gpu.verify('text_index');
DROP INDEX text_index;
CREATE INDEX text_index ON text_doc USING gpu_text (tsv) WITH (codec = pfordelta, k1 = 0.9, b = 0.4);
SELECT * FROM ranking_differences(0.9, 0.4);
SELECT * FROM gpu.verify('text_index');
DROP INDEX text_index;
CREATE INDEX text_index ON text_doc USING gpu_text (tsv) WITH (codec = rice, k1 = 2, b = 1, fanout = 4);
SELECT * FROM ranking_differences(2, 1);
SELECT * FROM gpu.verify('text_index');

-- k1 and b may change at any time; what runs were written with stays a bound.
ALTER INDEX text_index SET (k1 = 1.2, b = 0.75);
SELECT * FROM ranking_differences();
ALTER INDEX text_index SET (k1 = 0, b = 0);
SELECT * FROM ranking_differences(0, 0);
ALTER INDEX text_index RESET (k1, b);

-- Inserts through the tail, sealed tails and merges.
INSERT INTO text_doc SELECT i, random_vector(i) FROM generate_series(901, 1400) AS i;
INSERT INTO counted SELECT id, tsv FROM text_doc WHERE id > 900;
SELECT count(*) > 1 AS several_runs FROM gpu.runs('text_index');
SELECT * FROM ranking_differences();
SELECT * FROM match_differences();
SELECT * FROM gpu.verify('text_index');

-- Entries of dead rows count until VACUUM removes them.
DELETE FROM text_doc WHERE id % 7 = 0;
SELECT * FROM ranking_differences();
UPDATE text_doc SET tsv = random_vector(id + 10000) WHERE id % 11 = 0;
INSERT INTO counted SELECT id, tsv FROM text_doc WHERE id % 11 = 0;
SELECT * FROM ranking_differences();
SELECT * FROM match_differences();
SELECT * FROM gpu.verify('text_index');
VACUUM text_doc;
TRUNCATE counted;
INSERT INTO counted SELECT id, tsv FROM text_doc;
SELECT * FROM ranking_differences();
SELECT * FROM match_differences();
SELECT * FROM gpu.verify('text_index');
SELECT entries, bytes > 0 AS bytes FROM gpu.merge('text_index');
SELECT entries, dead FROM gpu.runs('text_index');
SELECT * FROM ranking_differences();
SELECT * FROM match_differences();
SELECT * FROM gpu.verify('text_index');

-- A document longer than a tail has a run of its own.
INSERT INTO text_doc SELECT 5000, to_tsvector('simple', string_agg('long' || i || ' w1', ' ')) FROM generate_series(1, 3000) AS i;
INSERT INTO counted SELECT id, tsv FROM text_doc WHERE id = 5000;
SELECT entries, pages > 3 AS many_pages FROM gpu.runs('text_index') ORDER BY entries LIMIT 1;
SELECT count(*) FROM gpu.intersect('text_index', '{long1,long2999,w1}');
SELECT * FROM ranking_differences();
SELECT * FROM match_differences();
SELECT * FROM gpu.verify('text_index');
SELECT entries FROM gpu.merge('text_index');
SELECT * FROM ranking_differences();
SELECT * FROM gpu.verify('text_index');

-- Within little memory the build writes several files and merges them.
SET maintenance_work_mem = '1MB';
REINDEX INDEX text_index;
RESET maintenance_work_mem;
SELECT * FROM ranking_differences();
SELECT * FROM gpu.verify('text_index');

-- An index on an expression, partial, built beside others' work, and one that begins empty.
CREATE TABLE text_body (id int, title text, body text);
INSERT INTO text_body SELECT i, 'title ' || i % 10, 'body w' || i FROM generate_series(1, 300) AS i;
CREATE INDEX CONCURRENTLY text_body_index ON text_body USING gpu_text (to_tsvector('simple', coalesce(title, '') || ' ' || body)) WHERE id > 10;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM text_body WHERE to_tsvector('simple', coalesce(title, '') || ' ' || body) @@ 'title <-> 7' AND id > 10;
SELECT count(*) FROM text_body WHERE to_tsvector('simple', coalesce(title, '') || ' ' || body) @@ 'title <-> 7' AND id > 10;
SELECT id FROM gpu.search('text_body_index', 'w7 | w77') JOIN text_body ON ctid = tid ORDER BY id;
SELECT * FROM gpu.verify('text_body_index');
CREATE UNLOGGED TABLE text_empty (tsv tsvector);
CREATE INDEX text_empty_index ON text_empty USING gpu_text (tsv);
SELECT * FROM gpu.search('text_empty_index', 'a');
SELECT count(*) FROM text_empty WHERE tsv @@ 'a';
INSERT INTO text_empty VALUES ('a:1 b:2'), (NULL), ('');
SELECT tid FROM gpu.search('text_empty_index', 'a');
SELECT count(*) FROM text_empty WHERE tsv @@ '!a';
SELECT * FROM gpu.verify('text_empty_index');
RESET enable_seqscan;

-- A dictionary of many pages, with long lexemes that share long beginnings: each is found, and nothing between them. As inserted, as merged, and as built: every fifth
-- of them, and all as merged.
CREATE TABLE text_vocabulary (id int, lexeme text, tsv tsvector);
CREATE INDEX text_vocabulary_index ON text_vocabulary USING gpu_text (tsv);
CREATE FUNCTION vocabulary_misses(step int) RETURNS TABLE (found int8, wrong int8, absent_found int8, prefixes_wrong int8) LANGUAGE sql AS $$
    SELECT count(*) FILTER (WHERE f = ARRAY[v.ctid]), count(*) FILTER (WHERE f IS DISTINCT FROM ARRAY[v.ctid]), sum(a),
           count(*) FILTER (WHERE CASE WHEN v.id % 50 = 0 THEN p <> (SELECT count(*) FROM text_vocabulary AS o WHERE starts_with(o.lexeme, left(v.lexeme, -2))) END)
    FROM text_vocabulary AS v,
        LATERAL (SELECT array_agg(tid) FROM gpu.search('text_vocabulary_index', quote_literal(lexeme)::tsquery)) AS x (f),
        LATERAL (SELECT count(*) FROM gpu.search('text_vocabulary_index', quote_literal(lexeme || '!')::tsquery)) AS y (a),
        LATERAL (SELECT count(*) FROM gpu.search('text_vocabulary_index', (quote_literal(left(lexeme, -2)) || ':*')::tsquery, 10000) WHERE v.id % 50 = 0) AS z (p)
    WHERE v.id % step = 0
$$;
INSERT INTO text_vocabulary SELECT i, l, array_to_tsvector(ARRAY[l])
FROM (SELECT i, CASE WHEN i % 3 = 0 THEN 'w' || i ELSE repeat(chr(97 + i % 7), i % 97 * 20) || 'e' || i END AS l FROM generate_series(1, 4000) AS i) AS x;
SELECT * FROM vocabulary_misses(5);
SELECT count(*) > 0 AS merged FROM gpu.merge('text_vocabulary_index');
SELECT * FROM vocabulary_misses(1);
SELECT * FROM gpu.verify('text_vocabulary_index');
REINDEX INDEX text_vocabulary_index;
SELECT * FROM vocabulary_misses(5);
SELECT * FROM gpu.verify('text_vocabulary_index');

DROP TABLE text_doc, counted, text_body, text_empty, text_vocabulary;
DROP FUNCTION vector_length, random_vector, bm25, ranking_differences, match_differences, vocabulary_misses;
