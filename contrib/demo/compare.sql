-- Builds a btree and a gpu_kary index on the same column, puts the same questions to both, and keeps times
-- and answers. Each index is asked alone: the other is dropped in a subtransaction that is undone afterwards.
\set ON_ERROR_STOP on
\set QUIET on

CREATE TABLE demo.results (
    position int GENERATED ALWAYS AS IDENTITY,
    statement text NOT NULL,
    btree_ms float8 NOT NULL,
    gpu_kary_ms float8 NOT NULL,
    same_answer bool            -- NULL where there is no answer
);

-- The milliseconds one execution takes.
CREATE FUNCTION demo.once(query text) RETURNS float8
LANGUAGE plpgsql AS $$
DECLARE
    started timestamptz := clock_timestamp();
BEGIN
    EXECUTE query;
    RETURN extract(epoch FROM clock_timestamp() - started) * 1000;
END;
$$;

-- The median of seven executions after two to warm up, without the index `hidden`; and the answer. `expected`
-- is the index that the plan must show; it is NULL for queries that a function answers.
CREATE FUNCTION demo.measure(query text, hidden regclass, expected regclass, OUT milliseconds float8, OUT answer text)
LANGUAGE plpgsql AS $$
DECLARE
    times float8[] := '{}';
    started timestamptz;
    line text;
    plan text := '';
BEGIN
    BEGIN
        EXECUTE format('DROP INDEX %s', hidden);
        IF expected IS NOT NULL THEN
            FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
                plan := plan || line || E'\n';
            END LOOP;
            IF strpos(plan, expected::text) = 0 THEN
                RAISE EXCEPTION 'the plan does not use %', expected USING DETAIL = plan;
            END IF;
        END IF;
        FOR i IN -1..7 LOOP
            started := clock_timestamp();
            EXECUTE query INTO answer;
            IF i > 0 THEN
                times := times || (extract(epoch FROM clock_timestamp() - started) * 1000)::float8;
            END IF;
        END LOOP;
        -- Brings the hidden index back; what was measured stays in the variables.
        RAISE EXCEPTION USING ERRCODE = 'PGDEM';
    EXCEPTION WHEN SQLSTATE 'PGDEM' THEN
        NULL;
    END;
    SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY t) INTO milliseconds FROM unnest(times) AS t;
END;
$$;

-- Puts one question to both indexes. The last argument is another way to ask that only gpu_kary knows.
CREATE PROCEDURE demo.compare(title text, query text, gpu_query text DEFAULT NULL)
LANGUAGE plpgsql AS $$
DECLARE
    btree record;
    gpu_kary record;
BEGIN
    RAISE NOTICE '%', title;
    btree := demo.measure(query, 'coast_place_gpu_kary', CASE WHEN query ~ 'FROM coast' THEN 'coast_place_btree'::regclass END);
    gpu_kary := demo.measure(coalesce(gpu_query, query), 'coast_place_btree',
        CASE WHEN gpu_query IS NULL AND query ~ 'FROM coast' THEN 'coast_place_gpu_kary'::regclass END);
    INSERT INTO demo.results (statement, btree_ms, gpu_kary_ms, same_answer)
    VALUES (title, btree.milliseconds, gpu_kary.milliseconds, btree.answer IS NOT DISTINCT FROM gpu_kary.answer);
END;
$$;

-- One statement for each place, prepared, as an application would ask.
CREATE FUNCTION demo.one_by_one(places bigint[]) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    wanted bigint;
    found_shore int;
    answer bigint := 0;
BEGIN
    FOREACH wanted IN ARRAY places LOOP
        SELECT max(shore) INTO found_shore FROM coast WHERE place = wanted;
        answer := answer + coalesce(found_shore, -1);
    END LOOP;
    RETURN answer;
END;
$$;

-- Plans that don't use the index would tell nothing about it. A scan that is switched off has an estimate so
-- high that every statement on a small table would be compiled first.
SET enable_seqscan = off;
SET jit = off;

\echo '      building both indexes'
INSERT INTO demo.results (statement, btree_ms, gpu_kary_ms)
SELECT 'CREATE INDEX ON coast (place)',
    demo.once('CREATE INDEX coast_place_btree ON coast USING btree (place)'),
    demo.once('CREATE INDEX coast_place_gpu_kary ON coast USING gpu_kary (place)');

CREATE VIEW demo.many AS SELECT places FROM demo.questions WHERE name = 'many';
-- A tenth of all points, in the order of their places.
CREATE TABLE demo.tenth AS
SELECT percentile_disc(0.40) WITHIN GROUP (ORDER BY place) AS low,
    percentile_disc(0.50) WITHIN GROUP (ORDER BY place) AS high
FROM coast;

CALL demo.compare('10,000 times: max(shore) WHERE place = ?',
    $$SELECT demo.one_by_one(places) FROM demo.questions WHERE name = 'few'$$);

CALL demo.compare('count(*) WHERE place = ANY (100,000 places)',
    $$SELECT count(*)::text FROM coast WHERE place = ANY ((SELECT places FROM demo.many)::bigint[])$$);

CALL demo.compare('sum(shore) WHERE place = ANY (100,000 places)',
    $$SELECT sum(shore)::text FROM coast WHERE place = ANY ((SELECT places FROM demo.many)::bigint[])$$);

CALL demo.compare('the same, gpu_kary by gpu.lookup and a join',
    $$SELECT sum(shore)::text FROM coast WHERE place = ANY ((SELECT places FROM demo.many)::bigint[])$$,
    $$SELECT sum(c.shore)::text
      FROM gpu.lookup('coast_place_gpu_kary', (SELECT places FROM demo.many)) AS l
      JOIN coast AS c ON c.ctid = l.tid$$);

CALL demo.compare('a map tile of Norway: count(*), sum(shore) WHERE place BETWEEN ? AND ?',
    $$SELECT count(*) || ' ' || sum(shore) FROM coast
      WHERE place BETWEEN demo.tile_low(6, 61, 6) AND demo.tile_high(6, 61, 6)$$);

CALL demo.compare('count(*) of a tenth of the table WHERE place BETWEEN ? AND ?',
    $$SELECT count(*)::text FROM coast
      WHERE place BETWEEN (SELECT low FROM demo.tenth) AND (SELECT high FROM demo.tenth)$$);

CALL demo.compare('the same, gpu_kary by gpu.count',
    $$SELECT count(*)::text FROM coast
      WHERE place BETWEEN (SELECT low FROM demo.tenth) AND (SELECT high FROM demo.tenth)$$,
    $$SELECT gpu.count('coast_place_gpu_kary', ARRAY[low], ARRAY[high])::text FROM demo.tenth$$);

CALL demo.compare('WHERE place >= ? ORDER BY place LIMIT 1000',
    $$SELECT md5(string_agg(place::text, ','))
      FROM (SELECT place FROM coast WHERE place >= demo.place(18.4, -34.4) ORDER BY place LIMIT 1000) AS following$$);

CALL demo.compare('WHERE place <= ? ORDER BY place DESC LIMIT 1000',
    $$SELECT md5(string_agg(place::text, ','))
      FROM (SELECT place FROM coast WHERE place <= demo.place(18.4, -34.4) ORDER BY place DESC LIMIT 1000) AS preceding$$);
