-- gpu_grid beside GiST on PostGIS's geometries: the vertices of all coastlines, as points. Each statement is asked in turn with
-- one index and with the other, in one session, and what is told is processor time of that session (/proc/self/schedstat, so only for a
-- superuser on Linux), a statement on the average. Both give the same rows, or an error is raised.
--
--   gmt pscoast -M -Df -W -R-180/180/-90/90 --FORMAT_FLOAT_OUT=%.9g --IO_COL_SEPARATOR=comma | grep -v ">" >coast.csv    # Debian: gmt, gmt-gshhg-full
--   PG_GPU_POINTS=coast.csv psql -X -f test/bench/postgis.sql
\set QUIET
\set ON_ERROR_STOP
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS postgis;
CREATE EXTENSION IF NOT EXISTS pg_gpu_postgis CASCADE;
SET max_parallel_workers_per_gather = 0;
SET max_parallel_maintenance_workers = 0;
SET maintenance_work_mem = '1GB';
SET jit = off;
SET pg_gpu.path = paged;
SELECT pg_gpu_version, postgis_version, split_part(version(), ' ', 2) AS postgresql
FROM (SELECT extversion FROM pg_extension WHERE extname = 'pg_gpu') AS a(pg_gpu_version),
     (SELECT extversion FROM pg_extension WHERE extname = 'postgis') AS b(postgis_version);

CREATE FUNCTION pg_temp.processor_ms() RETURNS float8 LANGUAGE sql AS $$SELECT split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::float8 / 1e6$$;

CREATE TABLE loaded (lon float8, lat float8);
\copy loaded FROM PROGRAM 'cat "$PG_GPU_POINTS"' WITH (FORMAT csv)
CREATE TABLE coast AS SELECT (row_number() OVER ())::int AS id, st_setsrid(st_makepoint(lon, lat), 4326)::geometry(Point, 4326) AS g FROM loaded;
DROP TABLE loaded;
VACUUM ANALYZE coast;

CREATE TEMP TABLE taken (what text, by text, ms float8);
-- What a statement takes, after one that isn't counted.
CREATE FUNCTION pg_temp.measure(what text, by text, statement text, times int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE began float8; answer text; first text;
BEGIN
    IF times > 1 THEN EXECUTE statement INTO first; END IF;
    began := pg_temp.processor_ms();
    IF statement ~ '^CREATE' THEN EXECUTE statement;
    ELSE FOR i IN 1 .. times LOOP EXECUTE statement INTO answer; END LOOP;
    END IF;
    INSERT INTO taken VALUES (what, by, (pg_temp.processor_ms() - began) / times);
    RETURN answer;
END $$;
-- Rounds of one index and the other. An index that is not valid is no choice for the planner.
CREATE FUNCTION pg_temp.compare(what text, statement text, times int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE gist text; grid text; plan text; line text;
BEGIN
    FOR round IN 1 .. 3 LOOP
        UPDATE pg_index SET indisvalid = indexrelid = 'coast_gist'::regclass WHERE indexrelid IN ('coast_gist'::regclass, 'coast_grid'::regclass);
        gist := pg_temp.measure(what, 'gist', statement, times);
        UPDATE pg_index SET indisvalid = indexrelid = 'coast_grid'::regclass WHERE indexrelid IN ('coast_gist'::regclass, 'coast_grid'::regclass);
        plan := '';
        FOR line IN EXECUTE 'EXPLAIN ' || statement LOOP plan := plan || line; END LOOP;
        IF plan !~ 'coast_grid' THEN RAISE EXCEPTION '% is not answered by gpu_grid: %', what, plan; END IF;
        grid := pg_temp.measure(what, 'gpu_grid', statement, times);
        IF gist IS DISTINCT FROM grid THEN RAISE EXCEPTION '%: % and %', what, gist, grid; END IF;
    END LOOP;
END $$;

SELECT pg_temp.measure('CREATE INDEX', 'gist', 'CREATE INDEX coast_gist ON coast USING gist (g)', 1) AS built \gset
SELECT pg_temp.measure('CREATE INDEX', 'gpu_grid', 'CREATE INDEX coast_grid ON coast USING gpu_grid (g)', 1) AS built \gset
INSERT INTO taken SELECT 'bytes a row', substr(relname, 7), pg_relation_size(oid)::float8 / 10640359 FROM pg_class WHERE relname IN ('coast_gist', 'coast_grid');
UPDATE taken SET by = 'gpu_grid' WHERE by = 'grid';
VACUUM coast;

CREATE TEMP TABLE centre AS SELECT row_number() OVER () AS n, g AS c FROM coast WHERE id % 21001 = 5;
ANALYZE centre;

\o /dev/null
SELECT pg_temp.compare(format('count in boxes of %s degrees, 500 boxes', size), format(
    $$SELECT sum(count) FROM (SELECT count(*) FROM centre JOIN coast ON g && st_expand(c, %s) GROUP BY n) AS q$$, size / 2), 1)
FROM unnest(ARRAY[0.02, 0.2, 1]) AS size;
SELECT pg_temp.compare('the same, of 0.2 degrees, summing a column',
    $$SELECT sum(id) FROM centre JOIN coast ON g && st_expand(c, 0.1)$$, 1);
SELECT pg_temp.compare('count in a box of 10 degrees', $$SELECT count(*) FROM coast WHERE g && st_makeenvelope(5, 55, 15, 65, 4326)$$, 10);
SELECT pg_temp.compare('the same, summing a column', $$SELECT sum(id) FROM coast WHERE g && st_makeenvelope(5, 55, 15, 65, 4326)$$, 10);
SELECT pg_temp.compare('ST_DWithin 0.05 degrees of 500 points', $$SELECT count(*) FROM centre JOIN coast ON st_dwithin(g, c, 0.05)$$, 1);
SELECT pg_temp.compare('ST_Intersects with 100 circles of 64 corners, 0.1 degrees',
    $$SELECT count(*) FROM (SELECT st_buffer(c, 0.1, 16) AS circle FROM centre WHERE n <= 100 OFFSET 0) AS circles JOIN coast ON st_intersects(g, circle)$$, 1);
SELECT pg_temp.compare('the 10 nearest of 500 points',
    $$SELECT sum(d)::numeric(20, 9) FROM centre, LATERAL (SELECT g <-> c AS d FROM coast ORDER BY g <-> c LIMIT 10) AS near$$, 3);
SELECT pg_temp.compare('the 1000 nearest of 50 points',
    $$SELECT sum(d)::numeric(20, 9) FROM (SELECT c FROM centre WHERE n <= 50) AS centre, LATERAL (SELECT g <-> c AS d FROM coast ORDER BY g <-> c LIMIT 1000) AS near$$, 1);
\o
UPDATE pg_index SET indisvalid = true WHERE indexrelid IN ('coast_gist'::regclass, 'coast_grid'::regclass);

\pset footer off
SELECT what, round(gist::numeric, 2) AS gist, round(grid::numeric, 2) AS gpu_grid, round((grid / gist)::numeric, 2) AS ratio
FROM (SELECT what, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FILTER (WHERE by = 'gist'), percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FILTER (WHERE by = 'gpu_grid'),
             min(ctid) FROM taken GROUP BY what) AS q(what, gist, grid, place) ORDER BY place;
