-- gpu.count, gpu.histogram, gpu.summary, gpu.dictionary, gpu.columns and gpu.byte_histogram: exact for visible rows.
SET pg_gpu.enable_query = off;
SET search_path = public;
SET timezone = 'UTC';
CREATE TABLE column_function (k int4, v int8, x float8, y float4, n numeric, t text, d date, ts timestamp, tz timestamptz, b bool);
INSERT INTO column_function
SELECT g % 50, (g::int8 * 7919) % 1000003, CASE g % 10 WHEN 0 THEN 'NaN' WHEN 1 THEN NULL WHEN 2 THEN '-0' ELSE g / 7.0 END::float8, (g % 12) / 8.0::float4,
       (g % 30)::numeric / 4, 'w' || g % 200, '2000-01-01'::date + g % 400, '2000-01-01'::timestamp + g * interval '1 hour',
       '2000-01-01'::timestamptz + g * interval '1 hour', g % 2 = 0
FROM generate_series(1, 6000) AS g;
CREATE INDEX column_function_i ON column_function USING gpu_column (k, v, x, y, n, t, d, ts, tz, b);

-- Each in four states: built, with runs and a tail, with dead rows, vacuumed; and seen by an older snapshot.
CREATE FUNCTION width_bins(name text, bins int, low float8, high float8, condition text) RETURNS TABLE (bin int, count bigint) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE format(
        'SELECT CASE WHEN number <> ''NaN'' THEN width_bucket(number, %L, %L, %s) WHEN number = ''NaN'' THEN %s END, count(*)
         FROM (SELECT %s AS number FROM column_function WHERE %s) AS numbers GROUP BY 1', low, high, bins, bins + 2, name, condition);
END
$$;
CREATE FUNCTION histogram_differences(name text, expression text, bins int, low float8, high float8, condition text)
RETURNS TABLE (problem text) LANGUAGE sql AS $$
    SELECT format('%s, %s bins: bin %s has %s, and not %s', name, bins, coalesce(h.bin, w.bin), h.count, w.count)
    FROM (SELECT bin, count FROM gpu.histogram('column_function_i', name, bins, low, high, condition)) AS h
         FULL JOIN width_bins(expression, bins, low, high, coalesce(condition, 'true')) AS w ON coalesce(h.bin, -1) = coalesce(w.bin, -1)
    WHERE coalesce(h.count, 0) <> coalesce(w.count, 0)
$$;
CREATE FUNCTION function_differences() RETURNS TABLE (problem text) LANGUAGE plpgsql AS $$
DECLARE
    name text;
    filter text;
    expected bigint;
    found bigint;
BEGIN
    FOREACH filter IN ARRAY ARRAY['k = 5', '7 > k', 'k BETWEEN 3 AND 7 AND b', 'k = ANY (''{1,2,77}'') AND NOT b', 't LIKE ''w1%'' AND n > 2.5', 't IS NULL',
                                  'x IS NOT NULL AND x < 100', 'x = 0', 'd >= ''2000-06-01'' AND d < ''2000-07-01''', 'k = NULL', 'true', 'false', 'k = 1 AND k = 2',
                                  'tz > ''2000-02-01 00:00+05''::timestamptz', 'v <> 7919'] LOOP
        BEGIN
            EXECUTE 'SELECT count(*) FROM (SELECT * FROM column_function OFFSET 0) AS by_row WHERE ' || filter INTO expected;
            found := gpu.count('column_function_i', filter);
            IF found <> expected THEN
                problem := format('%s: %s instead of %s', filter, found, expected);
                RETURN NEXT;
            END IF;
        EXCEPTION WHEN feature_not_supported THEN
            problem := format('%s is not supported', filter);
            RETURN NEXT;
        END;
    END LOOP;
    RETURN QUERY SELECT format('bounds: %s instead of %s', a, b)
        FROM (SELECT gpu.count('column_function_i', row(3, 100::int8), row(20, NULL::int8)), (SELECT count(*) FROM column_function WHERE k + 0 BETWEEN 3 AND 20 AND v + 0 >= 100)) AS c(a, b)
        WHERE a <> b;
    RETURN QUERY SELECT format('batch: %s instead of %s', b.count, (SELECT count(*) FROM column_function WHERE k + 0 BETWEEN b.ordinal AND b.ordinal + 9))
        FROM gpu.count_batch('column_function_i', ARRAY[ARRAY[1], ARRAY[2]], ARRAY[ARRAY[10], ARRAY[11]]) AS b
        WHERE b.count <> (SELECT count(*) FROM column_function WHERE k + 0 BETWEEN b.ordinal AND b.ordinal + 9);
    FOREACH name IN ARRAY ARRAY['k', 'v', 'y', 'n', 'x'] LOOP
        RETURN QUERY SELECT histogram_differences(name, name || '::float8', 7, 1.5, 40.25, NULL);
        RETURN QUERY SELECT histogram_differences(name, name || '::float8', 256, 0, 1000003, 't LIKE ''w1%'' AND k < 40');
        RETURN QUERY SELECT histogram_differences(name, name || '::float8', 1000, -1e-3, 1e2 / 3, NULL);
    END LOOP;
    FOREACH name IN ARRAY ARRAY['d', 'ts', 'tz'] LOOP
        RETURN QUERY SELECT histogram_differences(name, format('date_part(''epoch'', %s)', name), 33, 946684800.5, 963684800, NULL);
    END LOOP;
    FOREACH name IN ARRAY ARRAY['k', 'v', 'x', 'n', 't', 'd'] LOOP
        RETURN QUERY EXECUTE format(
            'SELECT format(''%%s: %%s, and not %%s'', %L, s, e) FROM
             (SELECT s.count || '' '' || s.nulls || '' '' || s.distinct_values || '' '' || s.minimum || '' '' || s.maximum FROM gpu.summary(''column_function_i'', %1$L) AS s) AS a(s),
             (SELECT count(*) || '' '' || count(*) - count(%1$I) || '' '' || count(DISTINCT %1$I) || '' '' || coalesce((array_agg(%1$I ORDER BY %1$I) FILTER (WHERE %1$I IS NOT NULL))[1]::text, '''') || '' '' ||
                     (array_agg(%1$I ORDER BY %1$I DESC) FILTER (WHERE %1$I IS NOT NULL))[1]::text FROM column_function) AS c(e)
             WHERE replace(s, ''-0'', ''0'') IS DISTINCT FROM replace(e, ''-0'', ''0'')', name);
        RETURN QUERY EXECUTE format(
            'SELECT format(''%%s: %%s has %%s, and not %%s'', %L, coalesce(d.value, e.value::text), d.count, e.count)
             FROM gpu.dictionary(''column_function_i'', %1$L) AS d FULL JOIN (SELECT %1$I AS value, count(*) FROM column_function GROUP BY 1) AS e
                  ON coalesce(d.value::%2$s::text, ''(null)'') = coalesce(e.value::text, ''(null)'') WHERE d.count IS DISTINCT FROM e.count',
            name, (SELECT atttypid::regtype FROM pg_attribute WHERE attrelid = 'column_function'::regclass AND attname = name));
    END LOOP;
    RETURN QUERY SELECT format('columns: %s', a) FROM (SELECT string_agg(distinct_values::text, ' ') FROM gpu.columns('column_function_i')) AS c(a)
        WHERE a <> (SELECT concat_ws(' ', count(DISTINCT k), count(DISTINCT v), count(DISTINCT x), count(DISTINCT y), count(DISTINCT n), count(DISTINCT t),
                                     count(DISTINCT d), count(DISTINCT ts), count(DISTINCT tz), count(DISTINCT b)) FROM column_function);
END
$$;
-- Filters with parameters: what each gives is what SQL gives. A literal's type is told by the filter.
CREATE FUNCTION parameter_differences() RETURNS TABLE (problem text) LANGUAGE sql AS $$
    SELECT format('case %s: %s instead of %s', n, found, expected)
    FROM (VALUES
        (1, gpu.count('column_function_i', 'k = $1', 5), (SELECT count(*) FROM column_function WHERE k + 0 = 5)),
        (2, gpu.count('column_function_i', 'k = $1', '5'), (SELECT count(*) FROM column_function WHERE k + 0 = 5)),
        (3, gpu.count('column_function_i', 'k = $1', 5::int8), (SELECT count(*) FROM column_function WHERE k + 0 = 5)),
        (4, gpu.count('column_function_i', 'k BETWEEN $1 AND $2 AND b', 3, '7'), (SELECT count(*) FROM column_function WHERE k + 0 BETWEEN 3 AND 7 AND b)),
        (5, gpu.count('column_function_i', 'k = ANY ($1)', ARRAY[1, 2, 77, NULL]), (SELECT count(*) FROM column_function WHERE k + 0 = ANY ('{1,2,77}'))),
        (6, gpu.count('column_function_i', 'k = ANY ($1) AND v > $2', '{1,2,77}', 500000), (SELECT count(*) FROM column_function WHERE k + 0 = ANY ('{1,2,77}') AND v > 500000)),
        (7, gpu.count('column_function_i', 't LIKE $1', 'w1%'), (SELECT count(*) FROM column_function WHERE t || '' LIKE 'w1%')),
        (8, gpu.count('column_function_i', 't = $1', 'w1'' OR true --'), 0),
        (9, gpu.count('column_function_i', 't = $1 AND n < $2', 'w7'::text, 2.5), (SELECT count(*) FROM column_function WHERE t || '' = 'w7' AND n < 2.5)),
        (10, gpu.count('column_function_i', 'd >= $1 AND d < $1 + 30', '2000-06-01'::date), (SELECT count(*) FROM column_function WHERE d + 0 >= '2000-06-01' AND d < '2000-07-01')),
        (11, gpu.count('column_function_i', 'tz > $1', '2000-02-01 00:00+05'), (SELECT count(*) FROM column_function WHERE tz + '0 s' > '2000-02-01 00:00+05')),
        (12, gpu.count('column_function_i', 'k = $1', NULL::int), 0),
        (13, gpu.count('column_function_i', 'k = $2 AND t > $1', NULL, 5), 0),
        (14, gpu.count('column_function_i', 'k = ANY ($1)', NULL::int[]), 0),
        (15, gpu.count('column_function_i', 'b = $1', 'true'), (SELECT count(*) FROM column_function WHERE b)),
        (16, gpu.count('column_function_i', '$1', true), (SELECT count(*) FROM column_function)),
        (17, gpu.count('column_function_i', 'k = $1 AND v <> $2 AND k >= $1', VARIADIC ARRAY[5, 7919]), (SELECT count(*) FROM column_function WHERE k + 0 = 5 AND v <> 7919)),
        (18, gpu.count('column_function_i', 'x > $1', 'NaN'), 0),
        (19, gpu.count('column_function_i', 'y <= $1', 0.5), (SELECT count(*) FROM column_function WHERE y + 0 <= 0.5)),
        (20, gpu.count('column_function_i', 'k = 5', VARIADIC NULL::int[]), (SELECT count(*) FROM column_function WHERE k + 0 = 5)),
        (21, (SELECT sum(count)::int8 FROM gpu.histogram('column_function_i', 'v', 7, 0, 1000, 'k < $1 AND t LIKE $2', 20, 'w1%')),
         (SELECT count(*) FROM column_function WHERE k + 0 < 20 AND t LIKE 'w1%')),
        (22, (SELECT sum(count)::int8 FROM gpu.histogram('column_function_i', 'v', 7, NULL, NULL, 'k < $1', NULL::int)), 0)
    ) AS c(n, found, expected)
    WHERE found IS DISTINCT FROM expected
    UNION ALL
    SELECT format('summary of k = %s: %s instead of %s', g, a, e)
    FROM (SELECT g, (SELECT format('%s %s %s %s %s %s', s.count, s.nulls, s.distinct_values, s.minimum, s.maximum, s.sum)
                     FROM gpu.summary('column_function_i', 'v', 'k = $1 AND d > $2', g, '2000-03-01') AS s) AS a,
              (SELECT format('%s %s %s %s %s %s', count(*), count(*) - count(v), count(DISTINCT v), min(v), max(v), sum(v))
               FROM column_function WHERE k + 0 = g AND d > '2000-03-01') AS e
          FROM unnest(ARRAY[3, 4, 49, 101]) AS g) AS c
    WHERE replace(a, ' 0  ', ' 0  ') IS DISTINCT FROM e
    UNION ALL
    SELECT format('dictionary: %s has %s, and not %s', coalesce(w.t, h.value), h.count, w.count)
    FROM gpu.dictionary('column_function_i', 't', 'k < $1 AND b', 7) AS h
         FULL JOIN (SELECT t, count(*) FROM column_function WHERE k + 0 < 7 AND b GROUP BY t) AS w ON w.t = h.value
    WHERE h.count IS DISTINCT FROM w.count
    UNION ALL
    SELECT format('dictionary without parameters: %s has %s, and not %s', coalesce(w.k::text, h.value), h.count, w.count)
    FROM gpu.dictionary('column_function_i', 'k', filter => 't IS NOT NULL AND v > 10') AS h
         FULL JOIN (SELECT k, count(*) FROM column_function WHERE t || '' IS NOT NULL AND v > 10 GROUP BY k) AS w ON w.k = h.value::int
    WHERE h.count IS DISTINCT FROM w.count
    UNION ALL
    SELECT format('summary without rows: %s', s) FROM gpu.summary('column_function_i', 't', 'false') AS s
    WHERE s IS DISTINCT FROM ROW(0::int8, 0::int8, 0::int8, NULL::text, NULL::text, NULL::numeric, NULL::float8)
$$;
SELECT * FROM function_differences();
SELECT * FROM parameter_differences();
VACUUM column_function;
SELECT * FROM function_differences();
INSERT INTO column_function (k, v, x, n, t, d) SELECT g + 100, g, NULL, -g, 'new ' || g, 'infinity' FROM generate_series(1, 1500) AS g;
SELECT * FROM function_differences();
BEGIN ISOLATION LEVEL REPEATABLE READ;
DELETE FROM column_function WHERE k % 5 = 0;
SELECT * FROM function_differences();
SELECT * FROM parameter_differences();
SAVEPOINT a;
INSERT INTO column_function (k, t) VALUES (-5, 'mine');
SELECT gpu.count('column_function_i', 'k = -5');
ROLLBACK TO a;
SELECT gpu.count('column_function_i', 'k = -5');
SELECT count(*) FROM gpu.dictionary('column_function_i', 't') WHERE value = 'mine';
COMMIT;
SELECT * FROM function_differences();
VACUUM column_function;
SELECT * FROM function_differences();
SELECT entries > 0 FROM gpu.merge('column_function_i') WHERE step = 'merge runs';
SELECT * FROM function_differences();
SELECT * FROM parameter_differences();
SELECT * FROM gpu.verify('column_function_i');
SELECT (gpu.summary('column_function_i', 'n')).sum = (SELECT sum(n) FROM column_function),
       abs((gpu.summary('column_function_i', 'y')).mean - (SELECT avg(y) FROM column_function)) < 1e-9;

-- A merge tells its steps.
INSERT INTO column_function (k, t) VALUES (1, repeat('long', 5000));
SELECT step, column_name, entries FROM gpu.merge('column_function_i') WHERE step <> 'merge runs';

-- Bounds that are left open: the least value and what comes after the greatest.
SELECT bin, lower, upper, count FROM gpu.histogram('column_function_i', 'k', 3, high => 30);
SELECT count(*), min(lower) FILTER (WHERE bin > 0), sum(count) FROM gpu.histogram('column_function_i', 'v');
SELECT sum(count), bool_and(count = (SELECT count(*) FROM column_function WHERE width_bucket(y::float8, low, high, 4) = bin))
FROM (SELECT bin, count, min(lower) FILTER (WHERE bin = 1) OVER () AS low, max(upper) FILTER (WHERE bin = 4) OVER () AS high
      FROM gpu.histogram('column_function_i', 'y', 4)) AS h
WHERE bin BETWEEN 0 AND 5;

-- Bytes.
SELECT ordinal, counts[1:4], (SELECT sum(c) FROM unnest(counts) AS c) FROM gpu.byte_histogram(ARRAY['\x000102ff00'::bytea, NULL, '', '\x0303030303030303']);
SELECT bool_and(h = (SELECT array_agg((SELECT count(*) FROM generate_series(0, length(image) - 1) AS i WHERE get_byte(image, i) = value) ORDER BY value)
                     FROM generate_series(0, 255) AS value))
FROM (SELECT image, gpu.byte_histogram(image) AS h FROM (SELECT decode(string_agg(md5((g * n)::text), ''), 'hex') AS image
      FROM generate_series(1, 3) AS n, generate_series(1, 20) AS g GROUP BY n) AS images) AS histograms;

-- Columns that are comparisons; numbers beyond float8's; columns without values.
CREATE TABLE column_odd (a int, n numeric, e float8);
INSERT INTO column_odd SELECT i % 10, CASE i WHEN 1 THEN 1e400 ELSE 1 END, NULL FROM generate_series(1, 100) AS i;
CREATE INDEX column_odd_i ON column_odd USING gpu_column ((a > 5), n, e);
SELECT gpu.count('column_odd_i', 'a > 5'), (SELECT count(*) FROM column_odd WHERE a > 5) AS right;
SELECT count, sum > 1e399 AS large, mean FROM gpu.summary('column_odd_i', 'n');
SELECT sum(count) FROM gpu.histogram('column_odd_i', 'e', 4, low => 1e17);
SELECT sum(count) FROM gpu.histogram('column_odd_i', 'e', 4, high => -1e17);
DROP TABLE column_odd;

-- As many columns as an index has at most; types that are compared by btree alone.
SELECT format('CREATE TABLE column_wide (%s)', string_agg('c' || i || ' int', ', ')) FROM generate_series(1, 32) AS i \gexec
INSERT INTO column_wide (c1, c32) SELECT g, g % 7 FROM generate_series(1, 100) AS g;
SELECT format('CREATE INDEX column_wide_i ON column_wide USING gpu_column (%s)', string_agg('c' || i, ', ')) FROM generate_series(1, 32) AS i \gexec
SELECT gpu.count('column_wide_i', array_fill(NULL::int, ARRAY[31]) || 5, array_fill(NULL::int, ARRAY[31]) || 6);
SELECT gpu.count('column_wide_i', array_fill(0, ARRAY[32]), array_fill(100, ARRAY[32]));
SELECT * FROM gpu.count_batch('column_wide_i', ARRAY[array_fill(NULL::int, ARRAY[31]) || 5, array_fill(NULL::int, ARRAY[32])], NULL);
DROP TABLE column_wide;
CREATE TABLE column_ordered (m money, b bit(8));
INSERT INTO column_ordered SELECT g::money, g::bit(8) FROM generate_series(1, 100) AS g;
CREATE INDEX column_ordered_i ON column_ordered USING gpu_column (m, b);
SELECT gpu.count('column_ordered_i', ARRAY[31::money], ARRAY[60::money]), gpu.count('column_ordered_i', row(31::money, B'00100000'), NULL);
SELECT gpu.count('column_ordered_i', ARRAY[31], NULL);
DROP TABLE column_ordered;

-- What is refused.
SELECT gpu.count('column_function_i', '*');
SELECT * FROM gpu.histogram('column_function_i', 'k', 4, filter => '*');
SELECT gpu.count('column_function_i', 'k = 1 OR k = 2');
SELECT gpu.count('column_function_i', 'k = v');
SELECT gpu.count('column_function_i', 'k = random()');
SELECT gpu.count('column_function_i', 'k + 1 = 2');
SELECT gpu.count('column_function_i', 'k IN (SELECT 1)');
SELECT gpu.count('column_function_i', 't COLLATE "C" = ''w1''');
SELECT gpu.count('column_function_i', 'k = 1 LIMIT 5');
SELECT gpu.count('column_function_i', 'k = 1 UNION SELECT 2');
SELECT gpu.count('column_function_i', 'count(*) > 1');
SELECT gpu.count('column_function_i', 'k');
SELECT gpu.count('column_function_i', 'nothing = 1');
SELECT gpu.count('column_function_i', 'k = ');
SELECT gpu.count('column_function_i', NULL::text);
-- Parameters without values, values without parameters, and values of wrong types.
SELECT gpu.count('column_function_i', 'k = $1');
SELECT gpu.count('column_function_i', 'k = $2', 1);
SELECT gpu.count('column_function_i', 'k = $0', 1);
SELECT gpu.count('column_function_i', 'k = $99999999', 1);
SELECT gpu.count('column_function_i', 'k = 1', 1);
SELECT gpu.count('column_function_i', 'k = $1', 1, 2, 3);
SELECT gpu.count('column_function_i', 'k = $1', 'five');
SELECT gpu.count('column_function_i', 'k = $1', 'five'::text);
SELECT gpu.count('column_function_i', 'k = $1', ARRAY[1]);
SELECT gpu.count('column_function_i', 'k = $1 AND t = $1', '1');
SELECT gpu.count('column_function_i', '$1 IS NULL', 'x');
SELECT gpu.count('column_function_i', 'k = $1', VARIADIC ARRAY['1', '2']);
SELECT gpu.count('column_function_i', NULL, 1);
SELECT gpu.count('column_function_i', NULL::text, ARRAY[1]);
SELECT gpu.count('column_function_i', NULL, NULL);
SELECT gpu.summary('column_function_i', 'k', NULL, 1);
SELECT gpu.summary('column_function_i', 'k', 'k = $1 OR k = 2', 1);
SELECT * FROM gpu.dictionary('column_function_i', 'k', 'k = $1');
SELECT * FROM gpu.histogram('column_function_i', 'k', 4, NULL, NULL, 'k = 1', 1);
SELECT * FROM gpu.histogram('column_function_i', 't');
SELECT * FROM gpu.histogram('column_function_i', 'nothing');
SELECT * FROM gpu.histogram('column_function_i', 'k', 0);
SELECT * FROM gpu.histogram('column_function_i', 'k', 4, 5, 5);
SELECT * FROM gpu.histogram('column_function_i', 'k', 4, 'NaN', 5);
SELECT * FROM gpu.histogram('column_function_i', 'd', 4);
CREATE INDEX column_function_kary ON column_function USING gpu_kary (k);
SELECT * FROM gpu.histogram('column_function_kary', 'k');
SELECT gpu.count('column_function_kary', 'k = 1');

-- Privileges and row security.
CREATE ROLE column_reader;
GRANT SELECT (k, t) ON column_function TO column_reader;
CREATE INDEX column_function_kt ON column_function USING gpu_column (k, t);
SET ROLE column_reader;
SELECT gpu.count('column_function_kt', 'k = 1') > 0;
SELECT gpu.count('column_function_i', 'k = 1') > 0;
SELECT * FROM gpu.dictionary('column_function_i', 'k');
SELECT * FROM gpu.merge('column_function_kt');
RESET ROLE;
GRANT SELECT ON column_function TO column_reader;
ALTER TABLE column_function ENABLE ROW LEVEL SECURITY;
SET ROLE column_reader;
SELECT * FROM gpu.summary('column_function_i', 'k');
RESET ROLE;
DROP TABLE column_function;
DROP FUNCTION function_differences, parameter_differences, histogram_differences, width_bins;
DROP ROLE column_reader;
