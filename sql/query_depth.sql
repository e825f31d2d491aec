-- Expressions that are refused in the middle, and expressions that are nested deeply or very long: planning takes as long as PostgreSQL's own, whatever is refused, and
-- the answers are the same. Were an operand compiled twice, twenty-five levels would take hours, so that the time limit is only to end a test that fails.
SET enable_seqscan = off;
SET pg_gpu.path = host;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET statement_timeout = '10min';

CREATE TABLE trip (name text, place text, shipped timestamp, ordered timestamp, delay interval, i int4, k int4, s int4, id int8, far int8, price numeric, cost numeric, weight float8, height float8)
    WITH (autovacuum_enabled = off);
INSERT INTO trip
SELECT 'a' || g % 7, 'b' || g % 5, timestamp '2026-01-01' + g * interval '1 hour', timestamp '2026-01-01', interval '1 day', g * 31 % 1009, g * 17 % 997, g % 5, g * 10007, -g * 20011, g * 7919 % 1000 / 8.0, g * 31 % 777 / 4.0, g / 8.0, g % 97 / 4.0
FROM generate_series(1, 1200) AS g;
CREATE INDEX trip_i ON trip USING gpu_column (name, place, shipped, ordered, delay, i, k, s, id, far, price, cost, weight, height);
VACUUM (FREEZE, ANALYZE) trip;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all
CREATE FUNCTION compared(query text) RETURNS text LANGUAGE sql AS $$ SELECT who || ', ' || same FROM compare(query) $$;
-- What is refused first, in words.
CREATE FUNCTION refusals(query text) RETURNS text LANGUAGE sql AS $$ SELECT string_agg(DISTINCT reason, '; ' ORDER BY reason) FROM gpu.explain_why(query) $$;
-- A form around itself, so many times: # is what was made so far, @ the number of the level.
CREATE FUNCTION nested(form text, levels int, inside text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    FOR level IN 1 .. levels LOOP
        inside := replace(replace(form, '#', inside), '@', level::text);
    END LOOP;
    RETURN inside;
END $$;

-- Nothing is computed from what was refused.
SELECT query, refusals(query), compared(query)
FROM unnest(ARRAY['SELECT coalesce(shipped + delay, ordered + delay), count(*) FROM trip GROUP BY 1', 'SELECT DISTINCT coalesce(strpos(name, place), strpos(place, name)) FROM trip',
                  'SELECT coalesce(name ~ place, place ~ name), count(*) FROM trip GROUP BY 1', 'SELECT count(DISTINCT greatest(shipped + delay, ordered + delay)) FROM trip',
                  'SELECT greatest(weight * height, height), count(*) FROM trip GROUP BY 1', 'SELECT stddev(coalesce(weight * height, height)) FROM trip', 'SELECT sum(DISTINCT nullif(price / cost, 1)) FROM trip',
                  'SELECT max(CASE WHEN strpos(name, place) > 1 THEN strpos(place, name) ELSE i END) FROM trip', 'SELECT count(*) FROM trip WHERE coalesce(strpos(name, place), i) = i']) AS query;
SELECT compared('SELECT coalesce(strpos(name, place), strpos(place, name)), count(*) FROM trip GROUP BY ROLLUP (1)');

-- Twenty-five levels.
SELECT form, compared(format('SELECT sum(%s) FROM trip', nested(form, 25, '(i + s)'))) AS sums, compared(format('SELECT %s AS g, count(*) FROM trip GROUP BY 1', nested(form, 25, '(i + s)'))) AS groups
FROM unnest(ARRAY['nullif(#, k + @)', 'coalesce(nullif(#, k), @)', 'CASE # WHEN k + @ THEN 1 WHEN i + @ THEN s ELSE i END', 'CASE WHEN # IS DISTINCT FROM k THEN @ ELSE k END', 'greatest(#, k - @)', 'least(k * @, #)', '(# + nullif(s, @))',
                  'CASE WHEN # > @ OR k > @ THEN k END', '(# % @)', 'CASE WHEN k > @ THEN # ELSE s END']) AS form;
SELECT form, compared(format('SELECT sum(%s) FROM trip', nested(form, 25, 'price * cost'))) AS sums
FROM unnest(ARRAY['nullif(#, price + @)', 'CASE # WHEN price + @ THEN 1 WHEN cost + @ THEN price ELSE cost END', 'CASE WHEN # IS DISTINCT FROM price THEN cost ELSE price END', 'greatest(#, cost - @)', 'coalesce(#, price)', 'round(#, 1)']) AS form;
SELECT form, compared(format('SELECT sum(%s) FROM trip', nested(form, 20, 'weight'))) AS sums, compared(format('SELECT %s AS g, count(*) FROM trip GROUP BY 1', nested(form, 20, 'weight'))) AS groups
FROM unnest(ARRAY['greatest(height, #)', 'least(#, height)', 'nullif(#, height)', 'CASE # WHEN height THEN 1 WHEN weight THEN height ELSE weight END']) AS form;
SELECT form, compared(format('SELECT %s AS g, count(*) FROM trip GROUP BY 1', nested(form, 25, 'far'))) AS groups, compared(format('SELECT count(%s) FROM trip', nested(form, 25, 'far'))) AS counts
FROM unnest(ARRAY['greatest(#, id)', 'least(far, #)', 'coalesce(nullif(#, id), far)']) AS form;
-- Operands that a statement names twice aren't compiled twice either.
SELECT compared(format('SELECT count(%s), count(DISTINCT %1$s) FROM trip', nested('(# + #)', 8, 'id')));

-- Deeper than a program can be.
SELECT depth, refusals(format('SELECT sum(%s) FROM trip', nested('(# + 1)', depth, 'i'))), compared(format('SELECT sum(%s) FROM trip', nested('(# + 1)', depth, 'i'))) FROM unnest(ARRAY[100, 1000]) AS depth;
SELECT compared(format('SELECT count(*) FROM trip WHERE %s', nested('(k > @ AND (i > @ OR #))', 200, 's = 1'))), compared(format('SELECT %s AS g, count(*) FROM trip GROUP BY 1', nested('replace(#, ''x@'', ''y'')', 200, 'name')));
-- And very long.
SELECT compared(format('SELECT count(*) FROM trip WHERE %s', (SELECT string_agg(format('i = %s AND k <> %s', g, g), ' OR ') FROM generate_series(1, 500) AS g))) AS conditions,
       compared(format('SELECT sum(coalesce(%s)) FROM trip', (SELECT string_agg(format('nullif(i, %s)', g), ', ') FROM generate_series(1, 500) AS g))) AS coalesced,
       compared(format('SELECT sum(greatest(%s)) FROM trip', (SELECT string_agg(format('k - %s', g), ', ') FROM generate_series(1, 500) AS g))) AS greatest,
       compared(format('SELECT sum(CASE %s END) FROM trip', (SELECT string_agg(format('WHEN k = %s THEN i + %1$s', g), ' ') FROM generate_series(1, 500) AS g))) AS cases,
       compared(format('SELECT count(*) FROM trip WHERE i IN (k, %s)', (SELECT string_agg(g::text, ', ') FROM generate_series(1, 500) AS g))) AS list,
       compared(format('SELECT count(*) FROM trip WHERE name LIKE ANY (ARRAY[%s])', (SELECT string_agg(format('''%%%s''', g), ', ') FROM generate_series(1, 500) AS g))) AS patterns;
DROP TABLE trip;
DROP FUNCTION compared, refusals, nested, compare, compare_all, who_answers, answer_of;
