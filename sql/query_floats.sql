-- Sums and averages of floats whose columns have values of both signs, infinities and NaN, or numbers of many magnitudes. Where floats add up to one that has
-- no more digits than either, PostgreSQL's own sum has no other bits: each statement is run with the node and without it, and the answers are held against each other.
SET pg_gpu.path = host;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET max_parallel_workers_per_gather = 0;
SET extra_float_digits = 1;

CREATE TABLE floats (id int4, signed float8, signed4 float4, negative float8, odd float8, odd4 float4, tiny float8, wide float8, listed float8) WITH (autovacuum_enabled = off);
INSERT INTO floats
SELECT i, (i * 7919 % 100003 - 40000) / 64.0, (i * 7919 % 30011 - 15005) / 64.0, -(i * 7919 % 100003) / 32.0 - 1,
       CASE i % 1000 WHEN 0 THEN 'NaN' WHEN 1 THEN 'Infinity' WHEN 2 THEN '-Infinity' ELSE (i * 104729 % 100003 - 50000) / 16.0 END,
       CASE i % 1000 WHEN 0 THEN 'NaN' WHEN 1 THEN 'Infinity' WHEN 2 THEN '-Infinity' ELSE (i * 104729 % 30011 - 15005) / 16.0 END,
       (i % 30011 - 15000) * 4.9406564584124654e-324, CASE WHEN i % 2 = 0 THEN 1e300 ELSE -1e-300 END * (1 + i / 1048576.0), CASE WHEN i % 3 > 0 THEN i % 50 - 25.5 END
FROM generate_series(1::int8, 30000) AS i;
INSERT INTO floats (id) VALUES (0), (0);
CREATE INDEX floats_i ON floats USING gpu_column (id, signed, signed4, negative, odd, odd4, tiny, wide, listed);
VACUUM ANALYZE floats;
SELECT column_name, encoding FROM gpu.columns('floats_i');

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set plan_of :source '/test/regress/plan_of.sql'
\set ECHO none
\i :compare
\i :plan_of
\set ECHO all
CREATE FUNCTION by_node(query text) RETURNS text LANGUAGE sql AS $$ SELECT who || ', ' || same FROM compare(query) $$;

SELECT expression, by_node(format('SELECT sum(%s), avg(%1$s), count(%1$s) FROM floats', expression)) AS all_rows,
       by_node(format('SELECT id %% 7, sum(%s), avg(%1$s) FROM floats GROUP BY 1', expression)) AS groups,
       by_node(format('SELECT sum(%s), avg(%1$s) FILTER (WHERE id %% 3 = 0) FROM floats WHERE %1$s BETWEEN -1000 AND 1000', expression)) AS within
FROM unnest(ARRAY['signed', 'signed4', 'negative', 'odd', 'odd4', 'tiny', 'listed', 'abs(listed)']) AS expression;
-- Infinities and NaN of rows that don't count are no trouble, and of those that do they are PostgreSQL's.
SELECT condition, by_node('SELECT sum(odd), avg(odd), sum(odd4), avg(odd4) FROM floats WHERE ' || condition)
FROM unnest(ARRAY['id % 1000 > 2', 'id % 1000 > 1', 'id % 1000 = 1', 'id % 1000 IN (1, 2)', 'id % 1000 <> 0 AND id < 1000', 'odd < ''Infinity'' AND odd > ''-Infinity''', 'id = 0', 'id < 0']) AS condition;
-- Numbers of too many magnitudes.
SELECT by_node('SELECT sum(wide) FROM floats'), by_node('SELECT sum(wide) FROM floats WHERE id % 2 = 1 AND id < 3'), by_node('SELECT min(wide), max(odd), max(signed), min(negative) FROM floats');
-- Comparisons, where -0 is 0 and NaN is greatest, with constants that no float4 is equal to, and of columns with each other.
UPDATE floats SET odd = -0.0, odd4 = -0.0, signed = -0.0 WHERE id % 1000 = 3;
UPDATE floats SET odd = 0.0, odd4 = 0.0, signed = 0.0 WHERE id % 1000 = 4;
UPDATE floats SET odd4 = 0.1, tiny = 1e-300 WHERE id % 1000 = 5;
VACUUM floats;
SELECT operator, by_node(format('SELECT %s FROM floats', string_agg(format('count(*) FILTER (WHERE %s %s %L::%s), count(*) FILTER (WHERE %3$L::%4$s %2$s %1$s)', x, operator, number, type), ', '))) AS with_constants
FROM unnest(ARRAY['<', '<=', '=', '<>', '>=', '>']) AS operator, unnest(ARRAY['odd', 'odd4', 'tiny']) AS x, unnest(ARRAY['float8', 'float4']) AS type,
     unnest(ARRAY['0', '0.1', '-1.0625', 'NaN', 'Infinity', '-Infinity']) AS number
GROUP BY operator ORDER BY operator COLLATE "C";
SELECT number, by_node(format('SELECT count(*) FILTER (WHERE odd4 < %s), count(*) FILTER (WHERE odd4 <= %1$s), count(*) FILTER (WHERE odd4 = %1$s), count(*) FILTER (WHERE odd4 >= %1$s), count(*) FILTER (WHERE odd4 > %1$s), count(*) FROM floats', number)) AS single
FROM unnest(ARRAY['1e300', '-1e300', '1e-300', '-1e-300', '0.1', '0.10000000149011612', '0.10000000149011613', 'NULL::float8', '-0.0::float8']) AS number;
SELECT operator, by_node(format('SELECT count(*) FILTER (WHERE odd %s signed), count(*) FILTER (WHERE odd4 %1$s signed4), count(*) FILTER (WHERE signed %1$s odd), count(*) FROM floats', operator)) AS columns,
       by_node(format('SELECT count(*) FROM floats WHERE odd %s signed OR odd4 %1$s 7.3', operator)) AS condition
FROM unnest(ARRAY['<', '<=', '=', '<>', '>=', '>', 'IS DISTINCT FROM', 'IS NOT DISTINCT FROM']) AS operator;
SELECT by_node('SELECT count(*) FROM floats WHERE odd4 < signed OR id < 3');
PREPARE above (float8) AS SELECT count(*) FILTER (WHERE odd > $1), count(*) FILTER (WHERE odd4 <= $1) FROM floats;
SET plan_cache_mode = force_generic_plan;
SELECT * FROM pg_temp.plan_of('EXECUTE above (0)');
EXECUTE above (0);
EXECUTE above (100.3);
EXECUTE above (NULL);
RESET plan_cache_mode;
DEALLOCATE above;
-- Choices of floats are grouped by, and added up.
SELECT by_node('SELECT CASE WHEN odd < 0 THEN ''minus'' WHEN odd < 100 THEN ''small'' WHEN odd < ''Infinity'' THEN ''great'' ELSE ''odd'' END, count(*), min(signed) FROM floats GROUP BY 1'),
       by_node('SELECT id % 3, sum(CASE WHEN id % 2 = 0 THEN signed ELSE 0 END), avg(CASE WHEN signed > 0 THEN negative WHEN signed < -100 THEN listed END), sum(coalesce(listed, signed, 0)), sum(nullif(signed, 0)), min(coalesce(listed, 0.5)) FROM floats GROUP BY 1'),
       by_node('SELECT sum(CASE WHEN id % 1000 > 5 THEN odd4 END), sum(CASE WHEN odd > ''-Infinity'' AND odd < ''Infinity'' THEN odd ELSE 0 END), sum(CASE WHEN id > 5 THEN 1.5::float8 ELSE -0.25 END) FROM floats'),
       by_node('SELECT sum(coalesce(odd, 1)) FROM floats'), by_node('SELECT sum(CASE WHEN id = 0 THEN ''NaN'' ELSE signed END) FROM floats');
SELECT by_node('SELECT sum(greatest(signed, 0)), sum(least(signed, negative, listed)), min(greatest(odd, signed)), max(least(odd4, 0.5::float4)), count(greatest(listed, NULL)) FROM floats'), by_node('SELECT id % 5, count(greatest(odd, -0.0)), max(least(odd, 0)), sum(greatest(negative, signed, 10)) FROM floats GROUP BY 1'),
       by_node('SELECT greatest(signed, 0)::text, count(*) FROM floats WHERE id % 1000 IN (3, 4) GROUP BY 1');
-- -0 and 0 are one of the distinct values, and so are all NaNs.
SELECT by_node('SELECT count(DISTINCT signed), count(DISTINCT odd), count(DISTINCT odd4), count(DISTINCT listed), count(DISTINCT tiny) FROM floats'), by_node('SELECT id % 7, count(DISTINCT odd), count(DISTINCT signed4) FILTER (WHERE odd > 0) FROM floats GROUP BY 1'),
       by_node('SELECT count(DISTINCT odd), count(DISTINCT odd4), count(DISTINCT signed) FROM floats WHERE id % 1000 BETWEEN 0 AND 4'), by_node('SELECT count(DISTINCT greatest(odd, 5)) FROM floats'), by_node('SELECT sum(DISTINCT signed) FROM floats');
-- Variances, held against those of the same numbers as numerics, which are exact. PostgreSQL's own of floats differ from these in their last digits.
CREATE FUNCTION deviations(expression text, source text DEFAULT 'floats') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    query text := 'SELECT ARRAY[var_pop(%s), var_samp(%1$s), variance(%1$s), stddev_pop(%1$s), stddev_samp(%1$s), stddev(%1$s)] FROM %s';
    who text := who_answers(format(query, expression, source));
    by_node float8[];
    exact numeric[];
BEGIN
    EXECUTE format(query, expression, source) INTO by_node;
    SET LOCAL pg_gpu.enable_query = off;
    EXECUTE format(query, format('(%s)::float8::numeric', expression), source) INTO exact;
    SET LOCAL pg_gpu.enable_query = on;
    RETURN who || ', ' || CASE WHEN (SELECT bool_and(CASE WHEN of_floats IS NULL OR of_numerics IS NULL THEN of_floats IS NULL AND of_numerics IS NULL ELSE abs(of_floats - of_numerics::float8) <= 1e-14 * of_numerics END)
                                     FROM unnest(by_node, exact) AS pairs (of_floats, of_numerics)) THEN 'near' ELSE format('%s instead of %s', by_node, exact) END;
END $$;
SELECT expression, deviations(expression) AS all_rows, deviations(expression, 'floats WHERE id < 1000') AS some, deviations(expression, 'floats WHERE id = 17') AS one, deviations(expression, 'floats WHERE id = 0') AS none
FROM unnest(ARRAY['signed', 'signed4', 'negative', 'listed', 'floor(signed)', 'id::float4']) AS expression;
SELECT deviations('odd', 'floats WHERE id % 1000 > 2'), deviations('odd4', 'floats WHERE id % 1000 > 5'), deviations('signed + 0.0', 'floats'), deviations('coalesce(listed, 0)', 'floats');
SELECT by_node('SELECT stddev(odd), variance(odd4) FROM floats'), by_node('SELECT stddev(wide) FROM floats WHERE id % 2 = 0'), by_node('SELECT variance(wide) FROM floats WHERE id % 2 = 1'), by_node('SELECT var_pop(tiny) FROM floats WHERE id % 1000 <> 5'),
       by_node('SELECT stddev(DISTINCT listed) FROM floats');
-- Numbers beside each other, far away from 0, keep their digits.
CREATE TABLE far (x float8, y float8, z float4, same float8) WITH (autovacuum_enabled = off);
INSERT INTO far SELECT 1e9 + (i * 7919 % 30011) / 16.0, -(2::float8 ^ 40) - (i * 7919 % 30011) / 4.0, 3e38 + (i % 3 - 1) * 2e31, 0.1 FROM generate_series(1, 30000) AS i;
CREATE INDEX far_i ON far USING gpu_column (x, y, z, same);
VACUUM ANALYZE far;
SELECT by_node('SELECT min(x), max(y) FROM far'), deviations('x', 'far'), deviations('y', 'far'), deviations('same', 'far'), deviations('x', 'far WHERE false');
SELECT stddev(x) AS x, stddev_pop(y) AS y, var_pop(z) AS z, variance(same) AS same FROM far;
DROP TABLE far;
-- What is found of a run isn't taken for another one's: so much greater numbers come in further runs, and in rows that nobody has put into one, that they would have no room.
\set sums '''SELECT sum(signed) FILTER (WHERE id < 100000), sum(signed) FILTER (WHERE id BETWEEN 100000 AND 200000), avg(signed) FILTER (WHERE id > 200000) FROM floats'''
SELECT by_node(:sums);
INSERT INTO floats (id, signed) SELECT 100000 + i, (i - 15000) * 2::float8 ^ 24 FROM generate_series(1, 30000) AS i;
SELECT by_node(:sums);
INSERT INTO floats (id, signed) VALUES (200001, -(2::float8 ^ 60)), (200002, 2::float8 ^ 61);
SELECT by_node(:sums);
SET pg_gpu.map_memory = 0;
SELECT by_node(:sums);
RESET pg_gpu.map_memory;
REINDEX INDEX floats_i;
SELECT by_node(:sums);
DROP TABLE floats;
DROP FUNCTION by_node, deviations, compare, compare_all, who_answers, answer_of;
