-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION pg_gpu" to load this file. \quit

CREATE SCHEMA gpu;
COMMENT ON SCHEMA gpu IS 'pg_gpu: index access methods and analytics on the GPU';
GRANT USAGE ON SCHEMA gpu TO PUBLIC;

-- functions

CREATE FUNCTION gpu.runs(index regclass, OUT run_id bigint, OUT level int, OUT entries bigint, OUT dead bigint,
                         OUT pages bigint, OUT bytes bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_gpu_runs'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION gpu.runs(regclass) IS 'the runs of a pg_gpu index';

CREATE FUNCTION gpu.merge(index regclass, OUT step text, OUT column_name name, OUT entries bigint, OUT bytes bigint,
                          OUT milliseconds float8, OUT path text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_gpu_merge'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION gpu.merge(regclass) IS 'merges all runs of a pg_gpu index into one, now';

CREATE FUNCTION gpu.verify(index regclass, heap bool DEFAULT true, OUT block bigint, OUT tid tid, OUT problem text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_gpu_verify'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION gpu.verify(regclass, bool) IS 'checks a pg_gpu index, and that its table''s rows are in it; no rows when sound';

CREATE FUNCTION gpu.lookup(index regclass, keys anyarray, OUT ordinal bigint, OUT tid tid)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_gpu_lookup'
LANGUAGE C STRICT STABLE PARALLEL RESTRICTED ROWS 1000;
COMMENT ON FUNCTION gpu.lookup(regclass, anyarray) IS 'visible rows with one of the keys: position in keys, and tid';

CREATE FUNCTION gpu.count(index regclass, low anyarray, high anyarray)
RETURNS bigint
AS 'MODULE_PATHNAME', 'pg_gpu_count_array'
LANGUAGE C STABLE PARALLEL RESTRICTED;
COMMENT ON FUNCTION gpu.count(regclass, anyarray, anyarray) IS 'visible rows with keys between two bounds, both inclusive; NULL is open';

CREATE FUNCTION gpu.count(index regclass, low record, high record)
RETURNS bigint
AS 'MODULE_PATHNAME', 'pg_gpu_count_record'
LANGUAGE C STABLE PARALLEL RESTRICTED;
COMMENT ON FUNCTION gpu.count(regclass, record, record) IS 'visible rows with keys between two bounds, both inclusive; NULL is open';

-- private functions

CREATE FUNCTION gpu.gpu_kary_handler(internal)
RETURNS index_am_handler
AS 'MODULE_PATHNAME', 'pg_gpu_kary_handler'
LANGUAGE C;
COMMENT ON FUNCTION gpu.gpu_kary_handler(internal) IS 'gpu_kary index access method handler';

-- access methods

CREATE ACCESS METHOD gpu_kary TYPE INDEX HANDLER gpu.gpu_kary_handler;
COMMENT ON ACCESS METHOD gpu_kary IS 'sorted runs of fixed-width keys with K-ary separator levels';

-- opclasses

CREATE OPERATOR FAMILY gpu.integer_ops USING gpu_kary;
COMMENT ON OPERATOR FAMILY gpu.integer_ops USING gpu_kary IS 'integers';

CREATE OPERATOR CLASS gpu.int4_ops
DEFAULT FOR TYPE int4 USING gpu_kary FAMILY gpu.integer_ops AS
    OPERATOR 1 < (int4, int4),
    OPERATOR 2 <= (int4, int4),
    OPERATOR 3 = (int4, int4),
    OPERATOR 4 >= (int4, int4),
    OPERATOR 5 > (int4, int4);
COMMENT ON OPERATOR CLASS gpu.int4_ops USING gpu_kary IS 'int4 keys, 32 bits';

CREATE OPERATOR CLASS gpu.int8_ops
DEFAULT FOR TYPE int8 USING gpu_kary FAMILY gpu.integer_ops AS
    OPERATOR 1 < (int8, int8),
    OPERATOR 2 <= (int8, int8),
    OPERATOR 3 = (int8, int8),
    OPERATOR 4 >= (int8, int8),
    OPERATOR 5 > (int8, int8);
COMMENT ON OPERATOR CLASS gpu.int8_ops USING gpu_kary IS 'int8 keys, 64 bits';

ALTER OPERATOR FAMILY gpu.integer_ops USING gpu_kary ADD
    OPERATOR 1 < (int4, int2),
    OPERATOR 2 <= (int4, int2),
    OPERATOR 3 = (int4, int2),
    OPERATOR 4 >= (int4, int2),
    OPERATOR 5 > (int4, int2),
    OPERATOR 1 < (int4, int8),
    OPERATOR 2 <= (int4, int8),
    OPERATOR 3 = (int4, int8),
    OPERATOR 4 >= (int4, int8),
    OPERATOR 5 > (int4, int8),
    OPERATOR 1 < (int8, int2),
    OPERATOR 2 <= (int8, int2),
    OPERATOR 3 = (int8, int2),
    OPERATOR 4 >= (int8, int2),
    OPERATOR 5 > (int8, int2),
    OPERATOR 1 < (int8, int4),
    OPERATOR 2 <= (int8, int4),
    OPERATOR 3 = (int8, int4),
    OPERATOR 4 >= (int8, int4),
    OPERATOR 5 > (int8, int4);
