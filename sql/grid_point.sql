-- gpu_grid on points: boxes, circles, sameness, nearest neighbours.
SET max_parallel_workers_per_gather = 0;
-- A scan that is switched off costs so much that every statement would be compiled.
SET jit = off;
CREATE TABLE grid_point (id int, p point, k int);
INSERT INTO grid_point SELECT g, point(g * 7919 % 1009, g * 104729 % 997), g % 5 FROM generate_series(1, 20000) AS g;
INSERT INTO grid_point VALUES
  (20001, NULL, 1), (20002, 'Infinity,0', 1), (20003, '-Infinity,5', 2), (20004, 'NaN,1', 1), (20005, '1,NaN', 2), (20006, 'NaN,NaN', 3),
  (20007, '-0,-0', 1), (20008, '0,0', 1), (20009, '1e-7,0', 2), (20010, '1.0000001,1', 1), (20011, '1e300,1e300', 4), (20012, NULL, NULL),
  (20013, 'Infinity,-Infinity', 1), (20014, 'Infinity,NaN', 1);
CREATE TABLE grid_point_plain AS SELECT * FROM grid_point;
CREATE INDEX grid_point_i ON grid_point USING gpu_grid (p);
CREATE INDEX grid_point_ki ON grid_point USING gpu_grid (k, p);
VACUUM ANALYZE grid_point, grid_point_plain;
INSERT INTO grid_point SELECT id + 30000, p, k FROM grid_point WHERE id BETWEEN 19000 AND 20014;
INSERT INTO grid_point_plain SELECT id + 30000, p, k FROM grid_point_plain WHERE id BETWEEN 19000 AND 20014;
ANALYZE grid_point;

SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM grid_point WHERE p <@ box '(10,10),(30,50)';
EXPLAIN (COSTS OFF) SELECT * FROM grid_point WHERE box '(10,10),(30,50)' @> p AND k = 2;
EXPLAIN (COSTS OFF) SELECT count(*) FROM grid_point WHERE p <@ circle '<(100,100),20>';
EXPLAIN (COSTS OFF) SELECT * FROM grid_point ORDER BY p <-> point '(500,500)' LIMIT 5;
SET enable_incremental_sort = off;
EXPLAIN (COSTS OFF) SELECT * FROM grid_point WHERE k = 3 ORDER BY p <-> point '(500,500)', id LIMIT 5;
RESET enable_incremental_sort;

CREATE FUNCTION grid_point_compare(condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    expected text;
    found text;
    result text := '';
    mode text;
BEGIN
    EXECUTE 'SELECT count(*) || md5(coalesce(string_agg(id::text, '','' ORDER BY id), '''')) FROM grid_point_plain WHERE ' || condition INTO expected;
    FOREACH mode IN ARRAY ARRAY['enable_bitmapscan', 'enable_indexscan'] LOOP
        PERFORM set_config('enable_bitmapscan', 'off', true), set_config('enable_indexscan', 'off', true);
        PERFORM set_config(mode, 'on', true);
        EXECUTE 'SELECT count(*) || md5(coalesce(string_agg(id::text, '','' ORDER BY id), '''')) FROM grid_point WHERE ' || condition INTO found;
        IF found <> expected THEN result := result || ' wrong with ' || mode; END IF;
    END LOOP;
    PERFORM set_config('enable_indexscan', 'on', true);
    EXECUTE 'SELECT count(*) FROM grid_point WHERE ' || condition INTO found;
    IF NOT starts_with(expected, found) THEN result := result || ' wrong count ' || found; END IF;
    RETURN substring(expected, 1, length(expected) - 32) || result;
END
$$;
SELECT condition, grid_point_compare(condition) AS rows FROM unnest(ARRAY[
  $$p <@ box '(10,10),(30,50)'$$, $$p <@ box '(0,0),(0,0)'$$, $$p <@ box '(-Infinity,-Infinity),(Infinity,Infinity)'$$,
  $$p <@ box '(0,0),(NaN,5)'$$, $$p <@ box '(900,900),(Infinity,Infinity)'$$, $$box '(10,10),(30,50)' @> p AND k = 2$$,
  $$p <@ circle '<(100,100),20>'$$, $$p <@ circle '<(0,0),0>'$$, $$p <@ circle '<(0,0),1e-7>'$$, $$p <@ circle '<(0,0),Infinity>'$$,
  $$p <@ circle '<(Infinity,0),5>'$$, $$p <@ circle '<(1,1),NaN>'$$, $$circle '<(500,500),100>' @> p AND k IS NOT NULL$$,
  $$p ~= point '(1,1)'$$, $$p ~= point '(0,0)'$$, $$p ~= point '(NaN,1)'$$, $$p ~= point '(NaN,NaN)'$$, $$p ~= point '(Infinity,0)'$$,
  $$p ~= point '(7,7)' AND k = 1$$, $$p IS NULL$$, $$p IS NULL AND k IS NULL$$, $$p IS NOT NULL AND k = 4$$, $$p <@ (SELECT NULL::box)$$,
  $$p <@ box '(10,10),(300,500)' AND p <@ circle '<(100,100),200>'$$]) AS condition;

-- Nearest neighbours: the order of distances is the table's, whatever comes first of equals.
CREATE FUNCTION grid_point_nearest(origin text, condition text, most int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    expected text;
    found text;
BEGIN
    PERFORM set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true);
    EXECUTE format('SELECT string_agg(coalesce(d::text, ''null''), '','') FROM (SELECT p <-> %1$L::point AS d FROM grid_point_plain WHERE %2$s ORDER BY 1 LIMIT %3$s) AS q',
                   origin, condition, most) INTO expected;
    EXECUTE format('SELECT string_agg(coalesce(d::text, ''null''), '','') FROM (SELECT p <-> %1$L::point AS d FROM grid_point WHERE %2$s ORDER BY p <-> %1$L::point LIMIT %3$s) AS q',
                   origin, condition, most) INTO found;
    RETURN CASE WHEN found IS NOT DISTINCT FROM expected THEN 'same' ELSE 'expected ' || left(expected, 200) || ' found ' || left(found, 200) END;
END
$$;
SELECT origin, most, grid_point_nearest(origin, 'p[0] IS NULL OR p[0] < 1e200', most) AS nearest
FROM unnest(ARRAY['(500,500)', '(-1000,20)', '(0,0)', '(2000,2000)', '(1e100,0)', '(333.3,777.7)']) AS origin, unnest(ARRAY[1, 10, 3000]) AS most;
SELECT grid_point_nearest('(500,500)', 'k = 3', 500), grid_point_nearest('(500,500)', $$p <@ box '(0,0),(100,100)'$$, 500),
       grid_point_nearest('(5,5)', $$p <@ circle '<(100,100),50>' AND k >= 2$$, 500), grid_point_nearest('(5,5)', 'p IS NULL', 500),
       grid_point_nearest('(5,5)', 'k IS NULL', 500), grid_point_nearest('(5,5)', 'k = 17', 500);
-- Everything, to the points that are at no distance, infinitely far, and none.
SELECT grid_point_nearest('(5,5)', 'id % 30000 > 20000 AND id % 30000 <> 20011', 500), grid_point_nearest('(Infinity,5)', 'id % 30000 > 20000', 500),
       grid_point_nearest('(NaN,5)', 'id % 30000 > 20000', 500);
-- Index-only scans give points as the table has them, -0 and NaN too, in the order of distances and without.
EXPLAIN (COSTS OFF) SELECT p FROM grid_point WHERE p <@ box '(0,0),(100,100)' ORDER BY p <-> point '(5,5)' LIMIT 5;
EXPLAIN (COSTS OFF) SELECT k FROM grid_point WHERE k = 2 AND p <@ box '(0,0),(100,100)' ORDER BY p <-> point '(5,5)', p <-> point '(7,7)' LIMIT 5;
CREATE FUNCTION grid_point_values(columns text, condition text, ordering text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    listed text := 'SELECT count(*) || '' '' || md5(coalesce(string_agg(q::text, '','' ORDER BY q::text), '''')) FROM (SELECT %1$s FROM %2$s WHERE %3$s %4$s) AS q';
    expected text;
    found text;
    line text;
    plan text := '';
BEGIN
    PERFORM set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true);
    EXECUTE format(listed, columns, 'grid_point_plain', condition, '') INTO expected;
    FOR line IN EXECUTE 'EXPLAIN ' || format(listed, columns, 'grid_point', condition, ordering) LOOP plan := plan || line; END LOOP;
    IF plan !~ 'Index Only Scan' OR (ordering <> '' AND plan !~ 'Order By') THEN RETURN 'other plan: ' || plan; END IF;
    EXECUTE format(listed, columns, 'grid_point', condition, ordering) INTO found;
    RETURN CASE WHEN found = expected THEN split_part(found, ' ', 1) ELSE 'expected ' || expected || ', found ' || found END;
END
$$;
SELECT columns, condition, ordering, grid_point_values(columns, first || condition, ordering) AS rows
FROM (VALUES ('p', ''), ('p, k', 'k = 2 AND ')) AS v (columns, first),
     unnest(ARRAY[$$p <@ box '(-1,-1),(20,20)'$$, $$p <@ box '(-1,-1),(300,20)' AND p <@ circle '<(100,0),90>'$$, 'p IS NULL', 'p IS NOT NULL']) AS condition,
     unnest(ARRAY['', $$ORDER BY p <-> point '(5,5)'$$, $$ORDER BY p <-> point '(Infinity,NaN)'$$]) AS ordering
WHERE NOT (condition = 'p IS NOT NULL' AND ordering ~ '5,5') AND NOT (columns <> 'p' AND condition ~ 'circle');
VACUUM grid_point;
SELECT columns, grid_point_values(columns, $$p <@ box '(-1,-1),(20,20)'$$, $$ORDER BY p <-> point '(0,-0)'$$) AS rows_when_all_are_visible
FROM unnest(ARRAY['p', 'p, k']) AS columns;
SELECT count(*), count(d) FROM (SELECT p <-> NULL AS d FROM grid_point ORDER BY p <-> NULL) AS q;
-- Two distances.
SET enable_sort = off;
SELECT count(*) FROM (
    SELECT p <-> point '(3,3)' AS a, lag(p <-> point '(3,3)') OVER () AS before_a, p <-> point '(9,1)' AS b, lag(p <-> point '(9,1)') OVER () AS before_b
    FROM (SELECT p FROM grid_point WHERE k = 2 AND p <@ box '(0,0),(1000,1000)' ORDER BY p <-> point '(3,3)', p <-> point '(9,1)') AS q) AS q
WHERE a < before_a OR (a = before_a AND b < before_b);
RESET enable_sort;
SELECT gpu.count('grid_point_i', ARRAY[point '(10,10)'], ARRAY[point '(30,50)']),
       gpu.count('grid_point_ki', ROW(2, point '(10,10)'), ROW(2, point '(30,50)')),
       gpu.count('grid_point_i', NULL::point[], ARRAY[point '(30,50)']);
SELECT count(*) FROM grid_point_plain WHERE p <@ box '(10,10),(30,50)';
SELECT count(*) FROM grid_point_plain WHERE p <@ box '(10,10),(30,50)' AND k = 2;
SELECT count(*) FROM grid_point_plain WHERE p[0] <= 30 AND p[1] <= 50;
SELECT * FROM gpu.verify('grid_point_i') UNION ALL SELECT * FROM gpu.verify('grid_point_ki');

-- A row's nearest neighbour in a join.
SELECT count(*), round(sum(d)::numeric, 6) FROM grid_point_plain AS a, LATERAL (
    SELECT a.p <-> b.p AS d FROM grid_point AS b WHERE b.id <> a.id ORDER BY b.p <-> a.p LIMIT 1) AS q WHERE a.id < 50;
DROP TABLE grid_point, grid_point_plain;
DROP FUNCTION grid_point_compare, grid_point_nearest, grid_point_values;
