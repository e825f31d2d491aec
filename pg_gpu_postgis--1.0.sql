-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION pg_gpu_postgis" to load this file. \quit

CREATE OPERATOR FAMILY gpu.geometry_ops USING gpu_grid;
COMMENT ON OPERATOR FAMILY gpu.geometry_ops USING gpu_grid IS 'geometries that are points';

-- The operators are all those of PostGIS's default class of GiST, with 15 added to their numbers (src/plan/substitute_family.cpp). They are
-- looked for in PostGIS's own schema, wherever that is, and nowhere else.
DO $$
BEGIN
    EXECUTE (
        SELECT pg_catalog.format($class$
            CREATE OPERATOR CLASS gpu.geometry_ops
            DEFAULT FOR TYPE %1$I.geometry USING gpu_grid FAMILY gpu.geometry_ops AS
                OPERATOR 16 %1$I.<<,
                OPERATOR 17 %1$I.&<,
                OPERATOR 18 %1$I.&&,
                OPERATOR 19 %1$I.&>,
                OPERATOR 20 %1$I.>>,
                OPERATOR 21 %1$I.~=,
                OPERATOR 22 %1$I.~,
                OPERATOR 23 %1$I.@,
                OPERATOR 24 %1$I.&<|,
                OPERATOR 25 %1$I.<<|,
                OPERATOR 26 %1$I.|>>,
                OPERATOR 27 %1$I.|&>,
                OPERATOR 28 %1$I.<-> FOR ORDER BY pg_catalog.float_ops,
                OPERATOR 29 %1$I.<#> FOR ORDER BY pg_catalog.float_ops,
                FUNCTION 1 %1$I.point(%1$I.geometry),
                FUNCTION 2 %1$I.box(%1$I.geometry)$class$, nspname)
        FROM pg_catalog.pg_extension JOIN pg_catalog.pg_namespace ON pg_namespace.oid OPERATOR(pg_catalog.=) extnamespace
        WHERE extname OPERATOR(pg_catalog.=) 'postgis');
END
$$;
COMMENT ON OPERATOR CLASS gpu.geometry_ops USING gpu_grid IS 'geometries that are points, two dimensions';
