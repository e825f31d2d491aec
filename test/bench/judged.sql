-- Retrieval quality on a collection with relevance judgements: gpu.search beside BM25 in SQL over the same tsvectors. Read by
-- test/bench/text and test/tap/t/010_text_judged.pl, which then fill the three tables and call prepare_collection(configuration).
CREATE TABLE document (id text, title text, body text, tsv tsvector);
CREATE TABLE query (id text, body text, lexemes text[]);
CREATE TABLE judgement (query text, unused text, document text, gain float8);

CREATE TABLE posting (tid tid, lexeme text, tf float8, dl float8);
CREATE INDEX posting_lexeme ON posting (lexeme);
CREATE TABLE ranking (query text, system text, place int8, tid tid, score real);

-- Counts of the whole collection. Scores are sums of integers in units of 2^-32, as the index's are, so both are the same to the bit.
CREATE FUNCTION bm25(wanted text[], most int) RETURNS TABLE (tid tid, score real) LANGUAGE sql STABLE AS $$
    WITH total AS MATERIALIZED (SELECT n, length / n AS avgdl FROM (SELECT (SELECT count(*)::float8 FROM document) AS n, (SELECT sum(tf) FROM posting) AS length) AS x),
    found AS MATERIALIZED (SELECT * FROM posting WHERE lexeme = ANY (wanted)),
    weight AS MATERIALIZED (
        SELECT lexeme, ln(1 + (n - df + 0.5::float8) / (df + 0.5::float8)) * (1.2::float8 + 1) * 4294967296 AS w
        FROM (SELECT lexeme, count(*)::float8 AS df FROM found GROUP BY lexeme) AS x, total),
    score AS (
        SELECT f.tid, sum(greatest(floor(w * tf / (tf + (1.2::float8 * (1 - 0.75::float8) + 1.2::float8 * 0.75 / avgdl * dl)) + 0.5), 1)::int8)::float8 AS units
        FROM found AS f JOIN weight USING (lexeme), total GROUP BY f.tid)
    SELECT s.tid, (units / 4294967296)::real FROM score AS s ORDER BY units DESC, s.tid LIMIT most
$$;

-- Indexes the collection in a text search configuration, and keeps both systems' best 100 for every query.
CREATE FUNCTION prepare_collection(configuration regconfig) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    TRUNCATE posting, ranking;
    DROP INDEX IF EXISTS document_tsv;
    -- The table is written anew, so that no dead rows are counted.
    CREATE TABLE rewritten AS SELECT id, title, body, to_tsvector(configuration, concat_ws(' ', title, body)) AS tsv FROM document;
    DROP TABLE document;
    ALTER TABLE rewritten RENAME TO document;
    UPDATE query SET lexemes = tsvector_to_array(to_tsvector(configuration, body));
    CREATE INDEX document_tsv ON document USING gpu_text (tsv);
    INSERT INTO posting SELECT tid, lexeme, tf, sum(tf) OVER (PARTITION BY tid)
    FROM (SELECT d.ctid AS tid, u.lexeme, cardinality(u.positions)::float8 AS tf FROM document AS d, unnest(d.tsv) AS u) AS x;
    ANALYZE posting;
    INSERT INTO ranking SELECT q.id, 'sql', r.place, r.tid, r.score FROM query AS q, bm25(q.lexemes, 100) WITH ORDINALITY AS r (tid, score, place);
    INSERT INTO ranking SELECT q.id, 'gpu_text', r.place, r.tid, r.score
    FROM query AS q, gpu.search('document_tsv', (SELECT string_agg(quote_literal(l), ' | ') FROM unnest(q.lexemes) AS l)::tsquery, 100, 'or')
        WITH ORDINALITY AS r (tid, score, place);
END $$;

-- Places at which the two differ.
CREATE FUNCTION ranking_differences() RETURNS int8 LANGUAGE sql STABLE AS $$
    SELECT count(*) FROM (SELECT * FROM ranking WHERE system = 'sql') AS s FULL JOIN (SELECT * FROM ranking WHERE system = 'gpu_text') AS g USING (query, place)
    WHERE (s.tid, s.score) IS DISTINCT FROM (g.tid, g.score)
$$;

-- The mean over the queries with a relevant document of the discounted gains of the ten best by those of an ideal order.
CREATE FUNCTION ndcg(of_system text) RETURNS numeric LANGUAGE sql STABLE AS $$
    WITH relevant AS (SELECT query, document, max(gain) AS gain FROM judgement WHERE gain > 0 GROUP BY query, document),
    ideal AS (SELECT query, sum(gain / log(2, (place + 1)::numeric)::float8) AS gain
              FROM (SELECT query, gain, row_number() OVER (PARTITION BY query ORDER BY gain DESC) AS place FROM relevant) AS x WHERE place <= 10 GROUP BY query),
    found AS (SELECT r.query, sum(v.gain / log(2, (r.place + 1)::numeric)::float8) AS gain
              FROM ranking AS r JOIN document AS d ON d.ctid = r.tid JOIN relevant AS v ON v.query = r.query AND v.document = d.id
              WHERE r.system = of_system AND r.place <= 10 GROUP BY r.query)
    SELECT round(avg(coalesce(found.gain, 0) / ideal.gain)::numeric, 4) FROM ideal JOIN query AS q ON q.id = ideal.query LEFT JOIN found ON found.query = ideal.query
$$;
