-- Operator classes and families: strategy numbers are btree's, and every pair of
-- integer types that a query may bring has its operators, or the query would
-- miss the index without a word. Those of lossy keys have no order.
BEGIN;
SELECT no_plan();

CREATE TEMP TABLE families (family text, type text);
INSERT INTO families VALUES ('bool_ops', 'boolean'), ('char_ops', '"char"'), ('integer_ops', 'smallint'), ('integer_ops', 'integer'), ('integer_ops', 'bigint'),
  ('oid_ops', 'oid'), ('datetime_ops', 'date'), ('datetime_ops', 'timestamp without time zone'), ('datetime_ops', 'timestamp with time zone'),
  ('time_ops', 'time without time zone'), ('float_ops', 'real'), ('float_ops', 'double precision'), ('uuid_ops', 'uuid'), ('macaddr_ops', 'macaddr'),
  ('macaddr8_ops', 'macaddr8');
SELECT set_eq(
  $$ SELECT f.opfname::text, opcintype::regtype::text FROM pg_opclass JOIN pg_opfamily AS f ON f.oid = opcfamily
     WHERE opcmethod = (SELECT oid FROM pg_am WHERE amname = 'gpu_kary') AND opcdefault $$,
  $$ SELECT family, type FROM families
     UNION VALUES ('numeric_ops', 'numeric'), ('text_ops', 'text'), ('bpchar_ops', 'character'), ('hash_ops', 'anyelement') $$,
  'each key type has a default operator class, in the family of its relatives, and so have all others');
SELECT set_eq(
  $$ SELECT f.opfname::text, opcintype::regtype::text FROM pg_opclass JOIN pg_opfamily AS f ON f.oid = opcfamily
     WHERE opcmethod = (SELECT oid FROM pg_am WHERE amname = 'gpu_kary') AND NOT opcdefault $$,
  $$ VALUES ('text_prefix_ops', 'text'), ('text_pattern_prefix_ops', 'text'),
       ('bpchar_prefix_ops', 'character'), ('bpchar_pattern_prefix_ops', 'character') $$,
  'the other operator classes are those of first bytes');
SELECT is_empty(
  $$ SELECT opcname FROM pg_opclass WHERE opcmethod = (SELECT oid FROM pg_am WHERE amname = 'gpu_kary') AND opckeytype <> 0 $$,
  'keys are stored as the column''s type');
SELECT is_empty(
  $$ SELECT opcname FROM pg_opclass WHERE opcmethod = (SELECT oid FROM pg_am WHERE amname = 'gpu_kary') AND NOT amvalidate(oid) $$,
  'amvalidate accepts each');
SELECT is_empty(
  $$ SELECT opcname FROM pg_opclass WHERE opcmethod = (SELECT oid FROM pg_am WHERE amname = 'gpu_kary')
     AND opcnamespace <> 'gpu'::regnamespace $$,
  'they live in schema gpu');

-- What the families must hold: for a column of each type, constants of each type of its family.
CREATE TEMP VIEW members AS
SELECT amoplefttype::regtype::text AS left_type, amoprighttype::regtype::text AS right_type, amopstrategy, amopopr, amoppurpose, amopfamily
FROM pg_amop WHERE amopmethod = (SELECT oid FROM pg_am WHERE amname = 'gpu_kary')
  AND EXISTS (SELECT FROM families JOIN pg_opfamily AS f ON f.opfname = family WHERE f.oid = amopfamily) AND amopstrategy <= 5;
CREATE TEMP VIEW lossy_members AS
SELECT opfname::text AS family, amoplefttype::regtype::text AS left_type, amoprighttype::regtype::text AS right_type, amopstrategy, amopopr, amoppurpose
FROM pg_amop JOIN pg_opfamily AS f ON f.oid = amopfamily WHERE amopmethod = (SELECT oid FROM pg_am WHERE amname = 'gpu_kary')
  AND NOT EXISTS (SELECT FROM families WHERE family = f.opfname);
SELECT set_eq(
  $$ SELECT left_type, right_type, amopstrategy::int, amopopr::regoper::text FROM members $$,
  $$ SELECT l.type AS left_type, r.type AS right_type, s, 'pg_catalog.' || o
     FROM families AS l JOIN families AS r USING (family), (VALUES (1, '<'), (2, '<='), (3, '='), (4, '>='), (5, '>')) AS v(s, o) $$,
  'each column type has five operators with each type of its family');
SELECT is_empty($$ SELECT * FROM members WHERE amoppurpose <> 's' $$, 'all of them search');
-- The planner trusts the order only where btree's family agrees on each operator, and that family's name is ours.
SELECT is_empty(
  $$ SELECT m.amopopr::regoperator FROM members AS m JOIN pg_opfamily AS f ON f.oid = m.amopfamily
     WHERE NOT EXISTS (SELECT FROM pg_amop AS b
       WHERE b.amopopr = m.amopopr AND b.amopstrategy = m.amopstrategy
         AND b.amopfamily = (SELECT oid FROM pg_opfamily WHERE opfname = f.opfname
                             AND opfmethod = (SELECT oid FROM pg_am WHERE amname = 'btree'))) $$,
  'every operator has the strategy number that btree gives it');
SELECT is_empty(
  $$ SELECT m.amopopr::regoperator FROM members AS m JOIN pg_operator AS o ON o.oid = m.amopopr
     WHERE o.oprleft::regtype::text <> m.left_type OR o.oprright::regtype::text <> m.right_type $$,
  'every operator takes the types it is listed under');

-- Lossy keys. The planner takes an index for ordered whose family has an operator with btree's number for `<`.
SELECT is_empty($$ SELECT * FROM lossy_members WHERE amoppurpose <> 's' OR amopstrategy IN (1, 2, 4, 5) $$, 'lossy keys have no order');
SELECT set_eq(
  $$ SELECT amopopr::regoperator::text, amopstrategy::int FROM lossy_members WHERE family = 'hash_ops' $$,
  $$ SELECT amopopr::regoperator::text, 3 FROM pg_amop WHERE amopmethod = (SELECT oid FROM pg_am WHERE amname = 'hash') AND amoplefttype <> 'bool'::regtype
       AND amopfamily IN (SELECT opcfamily FROM pg_opclass WHERE opcdefault AND opcintype = amoplefttype) $$,
  'whatever a default hash operator class calls equal can be searched for by its hash');
SELECT set_eq(
  $$ SELECT family, left_type, right_type, amopstrategy::int, amopopr::regoper::text FROM lossy_members WHERE family IN ('numeric_ops', 'text_ops', 'bpchar_ops') $$,
  $$ VALUES ('numeric_ops', 'numeric', 'numeric', 3, 'pg_catalog.='), ('numeric_ops', 'numeric', 'numeric', 6, 'pg_catalog.<'), ('numeric_ops', 'numeric', 'numeric', 7, 'pg_catalog.<='),
       ('numeric_ops', 'numeric', 'numeric', 8, 'pg_catalog.>='), ('numeric_ops', 'numeric', 'numeric', 9, 'pg_catalog.>'),
       ('text_ops', 'text', 'text', 3, 'pg_catalog.='), ('bpchar_ops', 'character', 'character', 3, 'pg_catalog.=') $$,
  'the defaults of numeric and text have what they can answer');
SELECT cmp_ok((SELECT count(*) FROM lossy_members WHERE family = 'hash_ops'), '>', 40::bigint, 'and these are many types');
SELECT set_eq(
  $$ SELECT family, right_type, amopstrategy::int, (SELECT oprname FROM pg_operator WHERE oid = amopopr) FROM lossy_members WHERE left_type IN ('text', 'character') AND family LIKE '%prefix_ops' $$,
  $$ SELECT t || p || '_ops' AS family, CASE WHEN s < 14 AND t = 'bpchar' THEN 'character' ELSE 'text' END AS right_type, s, o::name AS operator
     FROM unnest(ARRAY['text', 'bpchar']) AS t, unnest(ARRAY['_prefix', '_pattern_prefix']) AS p,
       (VALUES (3, '='), (6, '<'), (7, '<='), (8, '>='), (9, '>'), (10, '~<~'), (11, '~<=~'), (12, '~>=~'), (13, '~>~'), (14, '~~'), (15, '^@')) AS v(s, o)
     WHERE (p = '_prefix' OR s NOT BETWEEN 6 AND 9) AND (t = 'text' OR s <> 15) $$,
  'text has its operators, for patterns those that compare bytes');

-- Comparisons of rows, in the families whose keys tell values.
SELECT set_eq(
  $$ SELECT f.opfname::text, amoplefttype::regtype::text, amoprighttype::regtype::text, amopstrategy::int, amopopr::regoperator::text
     FROM pg_amop JOIN pg_opfamily AS f ON f.oid = amopfamily WHERE amopmethod = (SELECT oid FROM pg_am WHERE amname = 'gpu_kary') AND amopstrategy > 15 $$,
  $$ SELECT DISTINCT family, 'anyelement' AS left_type, 'record' AS right_type, s, format('gpu.#%s(anyelement,record)', o) AS operator FROM families, (VALUES (16, '<'), (17, '<='), (18, '>='), (19, '>')) AS v(s, o) $$,
  'ordered keys are compared with rows');

-- Dependencies: operators on one type belong to its class, those between types to the family.
SELECT is_empty(
  $$ SELECT m.left_type, m.right_type FROM pg_amop AS o JOIN members AS m ON m.amopopr = o.amopopr AND m.amopfamily = o.amopfamily
     JOIN pg_depend AS d ON d.classid = 'pg_amop'::regclass AND d.objid = o.oid
     WHERE (m.left_type = m.right_type AND (d.refclassid, d.deptype) NOT IN (('pg_opclass'::regclass, 'i'), ('pg_operator'::regclass, 'n')))
        OR (m.left_type <> m.right_type AND (d.refclassid, d.deptype) NOT IN (('pg_opfamily'::regclass, 'a'), ('pg_operator'::regclass, 'a'))) $$,
  'operators depend on their class or family as btree''s do');

-- gpu_grid has the same families of key types, and points.
SELECT set_eq(
  $$ SELECT opcname::text, f.opfname::text, opcintype::regtype::text FROM pg_opclass JOIN pg_opfamily AS f ON f.oid = opcfamily
     WHERE opcmethod = (SELECT oid FROM pg_am WHERE amname = 'gpu_grid') AND opcnamespace = 'gpu'::regnamespace AND opcdefault AND opckeytype = 0 $$,
  $$ SELECT opcname::text, f.opfname::text, opcintype::regtype::text FROM pg_opclass JOIN pg_opfamily AS f ON f.oid = opcfamily
     WHERE opcmethod = (SELECT oid FROM pg_am WHERE amname = 'gpu_kary') AND opcdefault AND f.opfname NOT IN ('text_ops', 'bpchar_ops', 'hash_ops')
     UNION VALUES ('point_ops', 'point_ops', 'point') $$,
  'gpu_grid has gpu_kary''s default operator classes but those of hashes, and one of points');
SELECT set_eq(
  $$ SELECT opfname::text, amopopr::regoperator::text, amopstrategy::int, amoppurpose::text FROM pg_amop JOIN pg_opfamily AS f ON f.oid = amopfamily
     WHERE amopmethod = (SELECT oid FROM pg_am WHERE amname = 'gpu_grid') $$,
  $$ SELECT opfname::text, amopopr::regoperator::text, amopstrategy::int, 's' FROM members JOIN pg_opfamily AS f ON f.oid = amopfamily
     UNION SELECT 'numeric_ops', format('%s(numeric,numeric)', o), s, 's' FROM (VALUES (1, '<'), (2, '<='), (3, '='), (4, '>='), (5, '>')) AS v(s, o)
     UNION VALUES ('point_ops', '<@(point,box)', 6, 's'), ('point_ops', '<@(point,circle)', 7, 's'), ('point_ops', '~=(point,point)', 8, 's'),
       ('point_ops', '<->(point,point)', 15, 'o') $$,
  'with the same operators, under the same numbers');
SELECT is_empty(
  $$ SELECT opcname FROM pg_opclass WHERE opcmethod = (SELECT oid FROM pg_am WHERE amname = 'gpu_grid') AND NOT amvalidate(oid) $$,
  'amvalidate accepts each of them');

-- amvalidate really looks: a class made wrong is refused with a reason.
CREATE OPERATOR FAMILY public.wrong_family USING gpu_kary;
CREATE OPERATOR CLASS public.wrong_class FOR TYPE int4 USING gpu_kary FAMILY public.wrong_family AS
  OPERATOR 1 >(int4, int4), OPERATOR 2 >=(int4, int4), OPERATOR 3 =(int4, int4), OPERATOR 4 <=(int4, int4), OPERATOR 5 <(int4, int4);
SET LOCAL client_min_messages = error;
SELECT is((SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'wrong_class'), false, 'amvalidate refuses operators in btree''s reverse order');
CREATE OPERATOR FAMILY public.short_family USING gpu_kary;
CREATE OPERATOR CLASS public.short_class FOR TYPE int8 USING gpu_kary FAMILY public.short_family AS OPERATOR 3 =(int8, int8);
SELECT is((SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'short_class'), false, 'amvalidate misses missing operators');
CREATE OPERATOR CLASS public.text_class FOR TYPE text USING gpu_kary AS
  OPERATOR 1 <(text, text), OPERATOR 2 <=(text, text), OPERATOR 3 =(text, text), OPERATOR 4 >=(text, text), OPERATOR 5 >(text, text);
SELECT is((SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'text_class'), false, 'amvalidate refuses an order of lossy keys');
CREATE TEMP TABLE text_table (t text);
SELECT throws_ok($$ CREATE INDEX ON text_table USING gpu_kary (t public.text_class) $$, '42P17', NULL, 'and no index can be made of them');
CREATE OPERATOR FAMILY public.half_family USING gpu_kary;
CREATE OPERATOR CLASS public.half_class FOR TYPE int2 USING gpu_kary FAMILY public.half_family AS
  OPERATOR 1 <(int2, int2), OPERATOR 2 <=(int2, int2), OPERATOR 3 =(int2, int2), OPERATOR 4 >=(int2, int2), OPERATOR 5 >(int2, int2);
SELECT is((SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'half_class'), true, 'a class of one''s own can be sound');
ALTER OPERATOR FAMILY public.half_family USING gpu_kary ADD OPERATOR 3 =(int2, int8);
SELECT is((SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'half_class'), false, 'amvalidate misses the other operators of a pair of types');
CREATE OPERATOR CLASS public.number_class FOR TYPE int4 USING gpu_kary AS OPERATOR 6 <(int4, int4);
SELECT is((SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'number_class'), false, 'amvalidate refuses strategies of other types');
CREATE OPERATOR CLASS public.point_class FOR TYPE point USING gpu_kary AS OPERATOR 3 ~=(point, point);
SELECT is((SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'point_class'), false, 'amvalidate refuses an equality that is no hash''s');
CREATE OPERATOR CLASS public.numeric_class FOR TYPE numeric USING gpu_kary AS OPERATOR 3 =(numeric, numeric);
SELECT is((SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'numeric_class'), true, 'a class of one''s own for numeric is sound');
CREATE OPERATOR CLASS public.interval_class FOR TYPE interval USING gpu_kary AS OPERATOR 3 =(interval, interval);
SELECT is((SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'interval_class'), true, 'and one for a hashable type');
CREATE OPERATOR CLASS public.backwards_class FOR TYPE numeric USING gpu_kary AS OPERATOR 3 =(numeric, numeric), OPERATOR 6 >(numeric, numeric);
SELECT is((SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'backwards_class'), false, 'but not one in reverse order');
CREATE OPERATOR CLASS public.other_class FOR TYPE numeric USING gpu_kary AS OPERATOR 3 =(float8, float8);
SELECT is((SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'other_class'), false, 'unless it lacks its own type''s equality');
CREATE OPERATOR CLASS public.grid_point_class FOR TYPE point USING gpu_grid AS OPERATOR 6 <@(point, circle);
SELECT is((SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'grid_point_class'), false, 'amvalidate of gpu_grid refuses another strategy''s operator');
CREATE OPERATOR CLASS public.grid_order_class FOR TYPE point USING gpu_grid AS OPERATOR 6 <@(point, box), OPERATOR 15 <->(point, point) FOR ORDER BY integer_ops;
SELECT is((SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'grid_order_class'), false, 'and an order of distances that is none');
CREATE OPERATOR CLASS public.grid_wrong_class FOR TYPE int4 USING gpu_grid AS
  OPERATOR 1 >(int4, int4), OPERATOR 2 >=(int4, int4), OPERATOR 3 =(int4, int4), OPERATOR 4 <=(int4, int4), OPERATOR 5 <(int4, int4);
SELECT is((SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'grid_wrong_class'), false, 'and operators in reverse order');
CREATE OPERATOR CLASS public.grid_text_class FOR TYPE text USING gpu_grid AS OPERATOR 3 =(text, text);
SELECT is((SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'grid_text_class'), false, 'and types without codes');
CREATE FUNCTION public.any_row(anyelement, record) RETURNS bool LANGUAGE internal IMMUTABLE STRICT AS 'record_image_eq';
CREATE OPERATOR public.##< (LEFTARG = anyelement, RIGHTARG = record, FUNCTION = public.any_row);
ALTER OPERATOR FAMILY public.half_family USING gpu_kary DROP OPERATOR 3 (int2, int8);
SELECT is((SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'half_class'), true, 'the class is sound again');
ALTER OPERATOR FAMILY public.half_family USING gpu_kary ADD OPERATOR 16 gpu.#<(anyelement, record);
SELECT is((SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'half_class'), true, 'also with a comparison of rows');
ALTER OPERATOR FAMILY public.half_family USING gpu_kary DROP OPERATOR 16 (anyelement, record);
ALTER OPERATOR FAMILY public.half_family USING gpu_kary ADD OPERATOR 16 public.##<(anyelement, record);
SELECT is((SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'half_class'), false, 'but not with one of somebody else''s');
SELECT throws_ok($$ CREATE INDEX ON text_table USING gpu_grid (t public.grid_text_class) $$, '0A000', NULL, 'of which no index can be made');
SELECT throws_ok(
  $$ CREATE OPERATOR CLASS public.far_class FOR TYPE int4 USING gpu_kary AS OPERATOR 20 =(int4, int4) $$,
  NULL, NULL, 'there is no twentieth strategy');

-- gpu_column: what btree's and hash's default operator classes have, and what a dictionary answers besides.
CREATE TEMP VIEW column_members AS
SELECT amoplefttype, amoprighttype, amopstrategy::int, amopopr, amoppurpose
FROM pg_amop WHERE amopmethod = (SELECT oid FROM pg_am WHERE amname = 'gpu_column');
SELECT set_eq(
  $$ SELECT opcname::text, opcintype::regtype::text, amvalidate(oid) FROM pg_opclass WHERE opcmethod = (SELECT oid FROM pg_am WHERE amname = 'gpu_column') AND opcdefault $$,
  $$ VALUES ('column_ops', 'anyelement', true), ('bool_ops', 'boolean', true) $$, 'amvalidate accepts both classes of gpu_column');
SELECT set_eq(
  $$ SELECT amopopr::regoperator::text, amopstrategy FROM column_members WHERE amopstrategy <= 5 $$,
  $$ SELECT amopopr::regoperator::text, CASE amopmethod WHEN 403 THEN amopstrategy::int ELSE 3 END FROM pg_amop
     WHERE amopmethod IN (403, 405) AND amopfamily IN (SELECT opcfamily FROM pg_opclass WHERE opcdefault AND opcintype = amoplefttype) $$,
  'every comparison of a default operator class can be searched for');
SELECT set_eq(
  $$ SELECT amopopr::regoperator::text FROM column_members WHERE amopstrategy = 6 $$,
  $$ SELECT oprnegate::regoperator::text FROM column_members JOIN pg_operator ON pg_operator.oid = amopopr WHERE amopstrategy = 3 AND oprnegate <> 0 $$,
  'and what equality denies');
SELECT set_eq(
  $$ SELECT amopstrategy, (SELECT oprname FROM pg_operator WHERE oid = amopopr) FROM column_members WHERE amoplefttype = 'text'::regtype AND amopstrategy > 6 $$,
  $$ SELECT 6 + n::int, o::name FROM unnest(ARRAY['~~', '!~~', '~~*', '!~~*', '~', '!~', '~*', '!~*', '^@', '~<~', '~<=~', '~>=~', '~>~']) WITH ORDINALITY AS v(o, n) $$,
  'patterns on text');
SELECT is_empty($$ SELECT * FROM column_members WHERE amoppurpose <> 's' $$, 'all of them search');

-- PostgreSQL 18 walks through each condition for each column of an index whose family has the equality of booleans, so
-- that planning takes cubic time where AND and OR are nested.
SELECT set_eq(
  $$ SELECT DISTINCT amname::text, opfname::text, opcintype::regtype::text
     FROM pg_amop JOIN pg_opfamily AS f ON f.oid = amopfamily JOIN pg_am AS a ON a.oid = opfmethod JOIN pg_opclass ON opcfamily = f.oid
     WHERE amname LIKE 'gpu%' AND amopopr = '=(boolean, boolean)'::regoperator $$,
  $$ VALUES ('gpu_kary', 'bool_ops', 'boolean'), ('gpu_grid', 'bool_ops', 'boolean'), ('gpu_column', 'bool_ops', 'boolean') $$,
  'only families for booleans alone have their equality');

SELECT * FROM finish();
ROLLBACK;
