-- The questions, and what asks them: once with PostgreSQL's own indexes alone, once with those of pg_gpu beside them.
\set ON_ERROR_STOP on
\set QUIET on

-- `stock` and `ours` are one statement, but where the ranking itself is another.
CREATE TABLE demo.questions (
    number int GENERATED ALWAYS AS IDENTITY,
    method text NOT NULL,       -- whose question it is
    title text NOT NULL,
    stock text NOT NULL,
    ours text NOT NULL
);

CREATE TABLE demo.results (
    number int NOT NULL,
    with_pg_gpu bool NOT NULL,
    milliseconds float8 NOT NULL,
    answer text NOT NULL,
    plan text NOT NULL,
    PRIMARY KEY (number, with_pg_gpu)
);

INSERT INTO demo.questions (method, title, stock, ours)
SELECT method, title, query, coalesce(ours, query) FROM (VALUES
    ('gpu_kary', '100,000 keys at once: sum(shore) WHERE place = ANY (…)',
     'SELECT count(*), sum(shore) FROM coast WHERE place = ANY ((SELECT places FROM demo.many)::bigint[])', NULL),
    ('gpu_kary', 'the same by gpu.lookup and a join',
     'SELECT count(*), sum(shore) FROM coast WHERE place = ANY ((SELECT places FROM demo.many)::bigint[])',
     $$SELECT count(*), sum(c.shore)
       FROM gpu.lookup('coast_kary', (SELECT places FROM demo.many)) AS l JOIN coast AS c ON c.ctid = l.tid$$),
    ('gpu_kary', 'a tenth of the table: count(*) WHERE place BETWEEN …',
     'SELECT count(*) FROM coast WHERE place BETWEEN (SELECT low FROM demo.tenth) AND (SELECT high FROM demo.tenth)', NULL),
    ('gpu_grid', 'a box: count(*) WHERE longitude BETWEEN … AND latitude BETWEEN …',
     'SELECT count(*) FROM coast WHERE longitude BETWEEN -10 AND 40 AND latitude BETWEEN 35 AND 70', NULL),
    ('gpu_column', 'groups: min, max, count(*) GROUP BY floor(latitude)',
     'SELECT floor(latitude) AS degree, count(*), min(longitude), max(longitude) FROM coast GROUP BY 1', NULL),
    ('gpu_column', 'a star join: count(*) of coast and shore GROUP BY size, surveyor',
     $$SELECT size, surveyor, count(*), max(latitude) FROM coast JOIN shore USING (shore)
       WHERE longitude BETWEEN -30 AND 60 AND surveyor <> 'Dan' GROUP BY size, surveyor$$, NULL),
    ('gpu_text', 'full text: count(*) of notes with two words',
     $$SELECT count(*) FROM note WHERE words @@ 'word3 & word5'::tsquery$$, NULL),
    ('gpu_text', 'the ten best notes of three words (ts_rank; pg_gpu: BM25)',
     $$SELECT id FROM note WHERE words @@ 'word7 | word30 | word200'::tsquery
       ORDER BY ts_rank(words, 'word7 | word30 | word200'::tsquery) DESC LIMIT 10$$,
     $$SELECT id FROM note WHERE words @@ 'word7 | word30 | word200'::tsquery
       ORDER BY words OPERATOR(gpu.<=>) gpu.query('note_text', 'word7 | word30 | word200'::tsquery) LIMIT 10$$)
    ) AS asked (method, title, query, ours);

-- Asks one question: twice to warm up, and the median of five. The answer is that of all rows, in any order.
CREATE PROCEDURE demo.ask(question demo.questions, with_pg_gpu bool)
LANGUAGE plpgsql AS $$
DECLARE
    query text := CASE WHEN with_pg_gpu THEN question.ours ELSE question.stock END;
    times float8[] := '{}';
    started timestamptz;
    line text;
    plan text := '';
    answer text;
BEGIN
    FOR i IN -1..5 LOOP
        started := clock_timestamp();
        -- Its rows go nowhere: with INTO the plan would not run in parallel.
        EXECUTE query;
        IF i > 0 THEN
            times := times || (extract(epoch FROM clock_timestamp() - started) * 1000)::float8;
        END IF;
    END LOOP;
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
        plan := plan || line || E'\n';
    END LOOP;
    EXECUTE 'CREATE TEMP TABLE answer AS ' || query;
    SELECT md5(string_agg(a::text, E'\n' ORDER BY a::text)) INTO answer FROM answer AS a;
    DROP TABLE answer;
    INSERT INTO demo.results
    SELECT question.number, with_pg_gpu, percentile_cont(0.5) WITHIN GROUP (ORDER BY t), answer, plan FROM unnest(times) AS t;
END;
$$;

CREATE PROCEDURE demo.ask_all(with_pg_gpu bool)
LANGUAGE plpgsql AS $$
DECLARE
    question demo.questions;
BEGIN
    FOR question IN SELECT * FROM demo.questions ORDER BY number LOOP
        RAISE NOTICE '%', question.title;
        CALL demo.ask(question, with_pg_gpu);
    END LOOP;
END;
$$;
