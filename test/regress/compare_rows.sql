-- A statement with the node and without it. PostgreSQL's plans are so dear with the node that it is there wherever it can be. Without an order rows are
-- sorted here. It wants rows_of.sql and compare.sql.
CREATE FUNCTION compare_rows(query text, OUT who text, OUT rows int, OUT same text) LANGUAGE plpgsql AS $$
DECLARE
    by_node text[];
    without text[];
    is_sorted bool := query ~ 'ORDER BY';
    setting text;
    own text[] := '{enable_seqscan,enable_bitmapscan,enable_indexscan,enable_hashjoin,enable_mergejoin,enable_nestloop}';
BEGIN
    FOREACH setting IN ARRAY own LOOP PERFORM set_config(setting, 'off', true); END LOOP;
    who := who_answers(query);
    by_node := CASE WHEN is_sorted THEN rows_of(query) ELSE answer_of(query) END;
    FOREACH setting IN ARRAY own LOOP PERFORM set_config(setting, 'on', true); END LOOP;
    SET LOCAL pg_gpu.enable_query = off;
    without := CASE WHEN is_sorted THEN rows_of(query) ELSE answer_of(query) END;
    SET LOCAL pg_gpu.enable_query = on;
    rows := cardinality(by_node);
    same := CASE WHEN by_node = without THEN 'same' ELSE format('with the node %s, without %s', by_node[:5], without[:5]) END;
END $$;
