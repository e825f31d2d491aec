-- A queue's scans pass over the entries of rows that were taken from it. The table is temporary, so that nobody else's snapshot needs its rows.
SET jit = off;
CREATE TEMP TABLE job (id int, state text, created int);
CREATE INDEX job_created ON job USING gpu_kary (created) WHERE state = 'ready';
INSERT INTO job SELECT g, 'ready', g FROM generate_series(1, 1500) AS g;
ANALYZE job;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM job WHERE state = 'ready' ORDER BY created LIMIT 1;
-- What scans of the index have returned, since the last time.
CREATE FUNCTION pg_temp.returned(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  before bigint := pg_stat_get_xact_tuples_returned('job_created'::regclass);
  found text;
BEGIN
  EXECUTE query INTO found;
  RETURN found || ', ' || pg_stat_get_xact_tuples_returned('job_created'::regclass) - before || ' entries';
END
$$;
\set next 'SELECT pg_temp.returned($$SELECT id FROM job WHERE state = ''ready'' ORDER BY created LIMIT 1$$);'
\set last 'SELECT pg_temp.returned($$SELECT id FROM job WHERE state = ''ready'' ORDER BY created DESC LIMIT 1$$);'
:next
-- Entries in the runs and in the tail: the first scan looks at the rows, the others don't.
DELETE FROM job WHERE created <= 1000 OR created > 1490;
:next
:next
:last
:last
-- Another scan of the session goes on where rows die meanwhile, in both directions.
BEGIN;
DECLARE ready SCROLL CURSOR FOR SELECT id FROM job WHERE state = 'ready' ORDER BY created;
FETCH 2 FROM ready;
FETCH BACKWARD 2 FROM ready;
FETCH 3 FROM ready;
COMMIT;
-- Rows that are updated, and a row that takes a dead one's place.
UPDATE job SET state = 'done' WHERE created <= 1400 AND created > 1000;
:next
:next
VACUUM job;
INSERT INTO job SELECT g, 'ready', g FROM generate_series(1, 1000) AS g;
:next
:last
DELETE FROM job WHERE created <= 999;
:next
:next
-- A table and an index that are emptied in place.
TRUNCATE job;
INSERT INTO job SELECT g, 'ready', g FROM generate_series(1, 1000) AS g;
:next
DELETE FROM job WHERE created <= 999;
:next
REINDEX INDEX job_created;
:next
-- Pages of a run that have dead entries alone aren't even read once that is known, forwards and backwards.
CREATE FUNCTION pg_temp.pages_of(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  plan json;
BEGIN
  EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ' || query INTO plan;
  RETURN (plan -> 0 -> 'Plan' ->> 'Local Hit Blocks')::int + (plan -> 0 -> 'Plan' ->> 'Local Read Blocks')::int;
END
$$;
TRUNCATE job;
INSERT INTO job SELECT g, 'ready', g FROM generate_series(1, 30000) AS g;
REINDEX INDEX job_created;
DELETE FROM job WHERE created <= 14000 OR created > 16000;
:next
:last
:next
:last
SELECT pg_temp.pages_of($$SELECT id FROM job WHERE state = 'ready' ORDER BY created LIMIT 1$$) < 10 AS few_forwards,
       pg_temp.pages_of($$SELECT id FROM job WHERE state = 'ready' ORDER BY created DESC LIMIT 1$$) < 10 AS few_backwards;
SELECT count(*) FROM (SELECT id FROM job WHERE state = 'ready' AND created > 0 ORDER BY created) AS ordered;
SELECT count(*) FROM (SELECT id FROM job WHERE state = 'ready' AND created BETWEEN 5000 AND 14002 ORDER BY created) AS ordered;
SELECT id FROM job WHERE state = 'ready' AND created BETWEEN 15999 AND 25000 ORDER BY created DESC;
CREATE TEMP TABLE brief (k int) ON COMMIT DELETE ROWS;
CREATE INDEX brief_k ON brief USING gpu_kary (k);
BEGIN;
INSERT INTO brief SELECT generate_series(1, 1000);
DELETE FROM brief WHERE k < 1000;
SELECT k FROM brief ORDER BY k LIMIT 1;
COMMIT;
BEGIN;
INSERT INTO brief SELECT generate_series(1, 1000);
SELECT k FROM brief ORDER BY k LIMIT 1;
COMMIT;
DROP TABLE job, brief;
