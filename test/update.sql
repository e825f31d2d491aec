-- ALTER EXTENSION pg_gpu UPDATE from a version 0.0, which test/packages makes: the current one and a function more. Between
-- the library's update and the objects' an index works, and a function tells what to do.
CREATE EXTENSION pg_gpu VERSION '0.0';
CREATE TABLE updated AS SELECT i AS k FROM generate_series(1, 1000) AS i;
CREATE INDEX updated_k ON updated USING gpu_kary (k);
SET enable_seqscan = off;
DO $$
DECLARE
    hint text;
BEGIN
    ASSERT (SELECT sum(k) FROM updated WHERE k BETWEEN 10 AND 12) = 33;
    PERFORM gpu.count('updated_k', ARRAY[10], ARRAY[19]);
    RAISE 'a function of another version has answered';
EXCEPTION WHEN object_not_in_prerequisite_state THEN
    GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
    ASSERT hint = 'Run ALTER EXTENSION pg_gpu UPDATE in this database.', hint;
END $$;
ALTER EXTENSION pg_gpu UPDATE;
DO $$
BEGIN
    ASSERT to_regproc('gpu.of_old') IS NULL, 'the update script has not run';
    ASSERT gpu.count('updated_k', ARRAY[10], ARRAY[19]) = 10;
END $$;
DROP TABLE updated;
DROP EXTENSION pg_gpu;
