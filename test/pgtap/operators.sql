-- Operator classes and families: strategy numbers are btree's, and every pair of
-- integer types that a query may bring has its operators, or the query would
-- miss the index without a word.
\set ECHO none
\set QUIET 1
\pset format unaligned
\pset tuples_only true
\pset pager off
BEGIN;
SELECT no_plan();

SELECT results_eq(
  $$ SELECT opcname::text COLLATE "C", opcintype::regtype::text, opcdefault
     FROM pg_opclass WHERE opcmethod = (SELECT oid FROM pg_am WHERE amname = 'gpu_kary') ORDER BY 1 $$,
  $$ VALUES ('int4_ops' COLLATE "C", 'integer', true), ('int8_ops', 'bigint', true) $$,
  'there are two operator classes, each the default of its type');
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

-- What the families must hold: for a column of int4 or int8, constants of int2, int4 and int8.
CREATE TEMP VIEW members AS
SELECT amoplefttype::regtype::text AS left_type, amoprighttype::regtype::text AS right_type, amopstrategy, amopopr, amoppurpose, amopfamily
FROM pg_amop WHERE amopmethod = (SELECT oid FROM pg_am WHERE amname = 'gpu_kary');
SELECT set_eq(
  $$ SELECT left_type, right_type, amopstrategy::int, amopopr::regoper::text FROM members
     WHERE left_type IN ('integer', 'bigint') $$,
  $$ SELECT l, r, s, 'pg_catalog.' || o
     FROM unnest(ARRAY['integer', 'bigint']) AS l, unnest(ARRAY['smallint', 'integer', 'bigint']) AS r,
          (VALUES (1, '<'), (2, '<='), (3, '='), (4, '>='), (5, '>')) AS v(s, o) $$,
  'each column type has five operators with each integer type');
SELECT is_empty($$ SELECT * FROM members WHERE amoppurpose <> 's' $$, 'all of them search');
-- The planner trusts the order only where btree's family agrees on each operator.
SELECT is_empty(
  $$ SELECT m.amopopr::regoperator FROM members AS m
     WHERE NOT EXISTS (SELECT FROM pg_amop AS b
       WHERE b.amopopr = m.amopopr AND b.amopstrategy = m.amopstrategy
         AND b.amopfamily = (SELECT oid FROM pg_opfamily WHERE opfname = 'integer_ops'
                             AND opfmethod = (SELECT oid FROM pg_am WHERE amname = 'btree'))) $$,
  'every operator has the strategy number that btree gives it');
SELECT is_empty(
  $$ SELECT m.amopopr::regoperator FROM members AS m JOIN pg_operator AS o ON o.oid = m.amopopr
     WHERE o.oprleft::regtype::text <> m.left_type OR o.oprright::regtype::text <> m.right_type $$,
  'every operator takes the types it is listed under');
SELECT is(
  (SELECT count(DISTINCT opcfamily) FROM pg_opclass WHERE opcmethod = (SELECT oid FROM pg_am WHERE amname = 'gpu_kary')), 1::bigint,
  'both classes share a family, so that int4 and int8 indexes can be merge joined');

-- amvalidate really looks: a class made wrong is refused with a reason.
CREATE OPERATOR FAMILY public.wrong_family USING gpu_kary;
CREATE OPERATOR CLASS public.wrong_class FOR TYPE int4 USING gpu_kary FAMILY public.wrong_family AS
  OPERATOR 1 >(int4, int4), OPERATOR 2 >=(int4, int4), OPERATOR 3 =(int4, int4), OPERATOR 4 <=(int4, int4), OPERATOR 5 <(int4, int4);
SET LOCAL client_min_messages = error;
SELECT is((SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'wrong_class'), false, 'amvalidate refuses operators in btree''s reverse order');
CREATE OPERATOR FAMILY public.short_family USING gpu_kary;
CREATE OPERATOR CLASS public.short_class FOR TYPE int8 USING gpu_kary FAMILY public.short_family AS OPERATOR 3 =(int8, int8);
SELECT is((SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'short_class'), false, 'amvalidate misses missing operators');
SELECT throws_ok(
  $$ CREATE OPERATOR CLASS public.number_class FOR TYPE int4 USING gpu_kary AS OPERATOR 6 =(int4, int4) $$,
  NULL, NULL, 'there is no sixth strategy');

SELECT * FROM finish();
ROLLBACK;
