-- Whose code runs when gpu.verify evaluates an index's expressions: the owner's, as the owner, with names looked up
-- in pg_catalog alone. Each session begins with nothing known of the index.
CREATE ROLE regress_gpu_owner;
CREATE ROLE regress_gpu_reader;
GRANT EXECUTE ON FUNCTION gpu.verify(regclass, bool) TO regress_gpu_reader;
CREATE SCHEMA owners AUTHORIZATION regress_gpu_owner;
CREATE SCHEMA readers AUTHORIZATION regress_gpu_reader;
GRANT USAGE ON SCHEMA owners TO regress_gpu_reader;
GRANT USAGE ON SCHEMA readers TO regress_gpu_owner;

SET ROLE regress_gpu_owner;
CREATE FUNCTION owners.inlined(int4) RETURNS int4 IMMUTABLE LANGUAGE sql AS 'SELECT abs($1)';
CREATE FUNCTION owners.constant() RETURNS int4 IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
    IF current_user <> 'regress_gpu_owner' THEN
        RAISE EXCEPTION 'the owner''s code ran as another';
    END IF;
    RETURN 0;
END
$$;
CREATE TABLE owners.t AS SELECT g AS k FROM generate_series(-10, 10) AS g;
CREATE INDEX t_inlined ON owners.t USING gpu_kary (owners.inlined(k)) WHERE owners.inlined(k) > 3;
CREATE TABLE owners.u AS SELECT g AS k FROM generate_series(-10, 10) AS g;
CREATE INDEX u_constant ON owners.u USING gpu_kary (k) WHERE k > owners.constant();
GRANT SELECT ON owners.t TO regress_gpu_reader;
RESET ROLE;
SET ROLE regress_gpu_reader;
CREATE FUNCTION readers.abs(int4) RETURNS int4 IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
    IF current_user <> 'regress_gpu_reader' THEN
        RAISE EXCEPTION 'the reader''s code ran as another';
    END IF;
    RETURN pg_catalog.abs($1);
END
$$;

-- A plan of the reader's puts the body of the owner's function, as the reader's search path has it, into the
-- session's copy of the expression.
\c -
SET ROLE regress_gpu_reader;
SET search_path = readers, pg_catalog;
SET enable_indexscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM owners.t WHERE owners.inlined(k) = 7;
SELECT * FROM gpu.verify('owners.t_inlined');

-- A predicate's constant is worked out when the session meets it.
\c -
SELECT * FROM gpu.verify('owners.u_constant');

-- Nothing is overlooked: a row that is missing is found.
\c -
SET allow_system_table_mods = on;
UPDATE pg_index SET indpred = NULL WHERE indexrelid = 'owners.u_constant'::regclass;
\c -
SELECT count(*) FROM gpu.verify('owners.u_constant');

SET client_min_messages = warning;
DROP SCHEMA owners, readers CASCADE;
REVOKE EXECUTE ON FUNCTION gpu.verify(regclass, bool) FROM regress_gpu_reader;
DROP ROLE regress_gpu_owner, regress_gpu_reader;
