-- The extension as CREATE EXTENSION leaves it, and how it goes.
-- pg_regress has created it already.
SELECT extname, extversion, nspname AS schema, extrelocatable
FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace
WHERE extname = 'pg_gpu';
SELECT pg_describe_object(classid, objid, 0) AS object
FROM pg_depend
WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
  -- From 17 on, the types of arrays, tables and views are members too.
  AND NOT (classid = 'pg_type'::regclass
           AND EXISTS (SELECT FROM pg_type LEFT JOIN pg_class ON pg_class.oid = typrelid
                       WHERE pg_type.oid = objid AND (typcategory = 'A' OR relkind IN ('r', 'v'))))
  AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_gpu')
ORDER BY pg_describe_object(classid, objid, 0) COLLATE "C";

-- Operator classes and families, as psql lists them.
\dAc gpu_kary
\dAf gpu_kary
-- The hashes' family has what hash's families have in this version of PostgreSQL, gpu_column's what btree's have besides:
-- test/pgtap/operators.sql looks at them.
\dAo gpu_kary gpu.[^h]*
\dAc gpu_grid
\dAf gpu_grid
\dAo gpu_grid gpu.point_ops
\dAo gpu_text
\dAc gpu_column
\dAf gpu_column
SELECT amname, amtype, amhandler FROM pg_am WHERE amname IN ('gpu_kary', 'gpu_grid', 'gpu_text', 'gpu_column') ORDER BY amname;

-- Every operator class passes its own access method's examination.
SELECT amname, opcname, amvalidate(pg_opclass.oid)
FROM pg_opclass JOIN pg_am ON pg_am.oid = opcmethod
WHERE amname IN ('gpu_kary', 'gpu_grid', 'gpu_text', 'gpu_column')
ORDER BY amname, opcname COLLATE "C";

-- An index holds the extension.
CREATE TABLE install_test (k int4);
CREATE INDEX install_test_k ON install_test USING gpu_kary (k);
DROP EXTENSION pg_gpu;
DROP EXTENSION pg_gpu CASCADE;
SELECT count(*) AS indexes_left FROM pg_index WHERE indrelid = 'install_test'::regclass;
SELECT count(*) AS schemas_left FROM pg_namespace WHERE nspname = 'gpu';
CREATE INDEX install_test_k ON install_test USING gpu_kary (k);

-- Its schema is for choice. It can't be changed later, nor does it go unless CASCADE takes the extension along.
CREATE SCHEMA install_elsewhere;
CREATE EXTENSION pg_gpu SCHEMA install_elsewhere;
SELECT DISTINCT oprnamespace::regnamespace, oprname FROM pg_operator WHERE oprname IN ('@@@', '<@>') AND oid >= 16384 ORDER BY 2;
ALTER EXTENSION pg_gpu SET SCHEMA public;
DROP SCHEMA install_elsewhere;
DROP EXTENSION pg_gpu;
DROP SCHEMA install_elsewhere;

-- And comes back.
CREATE EXTENSION pg_gpu;
CREATE INDEX install_test_k ON install_test USING gpu_kary (k);
INSERT INTO install_test VALUES (1), (2);
SET enable_seqscan = off;
SELECT k FROM install_test WHERE k = 2;
DROP TABLE install_test;
