-- compare(query): runs a statement with GpuQuery, which the server process answers, and without it, and holds the answers, or the kinds of errors, against each other.

-- What a statement gives, sorted, or the error's code.
CREATE FUNCTION answer_of(query text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    answer text[];
BEGIN
    EXECUTE format('SELECT array_agg(q::text ORDER BY q::text COLLATE "C") FROM (%s) AS q', query) INTO answer;
    RETURN coalesce(answer, '{}');
EXCEPTION WHEN OTHERS THEN
    RETURN ARRAY[SQLSTATE];
END $$;
-- Who answers: a node, or why it has PostgreSQL's own plan do it; or a plan without one. How many there are, versions of PostgreSQL decide.
CREATE FUNCTION who_answers(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    line text;
    nodes int := 0;
    who text := 'other plan';
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        nodes := nodes + (line LIKE '%(GpuQuery)%')::int;
    END LOOP;
    who := CASE nodes WHEN 0 THEN 'other plan' ELSE 'node' END;
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
        who := coalesce(substring(line FROM 'Fallback Reason: (.*)'), who);
    END LOOP;
    RETURN who;
EXCEPTION WHEN OTHERS THEN
    RETURN who || ', ' || SQLSTATE;
END $$;
CREATE FUNCTION compare(query text, OUT who text, OUT rows int, OUT same text) LANGUAGE plpgsql AS $$
DECLARE
    by_node text[];
    without text[];
    path text := coalesce(current_setting('pg_gpu.path', true), 'auto');
BEGIN
    PERFORM set_config('pg_gpu.path', CASE path WHEN 'cuda' THEN path ELSE 'host' END, true);
    who := who_answers(query);
    by_node := answer_of(query);
    PERFORM set_config('pg_gpu.path', path, true);
    SET LOCAL pg_gpu.enable_query = off;
    SET LOCAL pg_gpu.enable_count_scan = off;
    without := answer_of(query);
    SET LOCAL pg_gpu.enable_query = on;
    SET LOCAL pg_gpu.enable_count_scan = on;
    rows := cardinality(by_node);
    same := CASE WHEN by_node = without THEN 'same'
                 ELSE format('with the node %s, without %s', (SELECT array_agg(x) FROM (SELECT unnest(by_node) EXCEPT ALL SELECT unnest(without) LIMIT 3) AS s (x)),
                             (SELECT array_agg(x) FROM (SELECT unnest(without) EXCEPT ALL SELECT unnest(by_node) LIMIT 3) AS s (x))) END;
END $$;
-- compare(query), or another comparison of the same form, for each line of a list that isn't empty or a comment.
CREATE FUNCTION compare_all(list text, comparison text DEFAULT 'compare', OUT who text, OUT rows int, OUT same text, OUT query text) RETURNS SETOF record
LANGUAGE plpgsql AS $$
BEGIN
    FOREACH query IN ARRAY string_to_array(list, E'\n') LOOP
        IF query !~ '^(--|$)' THEN
            EXECUTE format('SELECT * FROM %I($1)', comparison) USING query INTO who, rows, same;
            RETURN NEXT;
        END IF;
    END LOOP;
END $$;
