-- The table at the end, why the planner took what it took, and what the indexes take.
\set ON_ERROR_STOP on
\set QUIET on
\pset footer off

CREATE VIEW demo.comparison AS
SELECT number, method, title, before.milliseconds AS before, after.milliseconds AS after,
    CASE WHEN stock <> ours AND title ~ 'BM25' THEN NULL ELSE before.answer = after.answer END AS same_answer,
    -- Which node answered, and on which path where it says so.
    concat_ws(', ', coalesce(substring(after.plan FROM 'Custom Scan \((\w+)\)'), substring(after.plan FROM '[A-Z][\w ]+ (?:using|on) (?:coast|note)_\w+')),
        substring(after.plan FROM 'Path: (\w+)')) AS how
FROM demo.questions JOIN demo.results AS before USING (number) JOIN demo.results AS after USING (number)
WHERE NOT before.with_pg_gpu AND after.with_pg_gpu;

SELECT method AS "index", title AS question, round(before::numeric, 2) AS "before, ms", round(after::numeric, 2) AS "with pg_gpu, ms",
    round((before / after)::numeric, 1) || ' times' AS faster, how AS "node, path",
    CASE same_answer WHEN true THEN 'yes' WHEN false THEN 'NO' ELSE 'ranked otherwise' END AS "same answer"
FROM demo.comparison ORDER BY number;

\echo 'The plan of the star join, with pg_gpu:'
\pset tuples_only on
\pset format unaligned
SELECT regexp_replace(plan, '^', '    ', 'gn') FROM demo.questions JOIN demo.results USING (number) WHERE with_pg_gpu AND title ~ 'star join';
\pset tuples_only off
\pset format aligned

\echo
\echo 'Why, by gpu.explain_why, of the star join:'
SELECT node, candidate, used, reason FROM gpu.explain_why((SELECT ours FROM demo.questions WHERE title ~ 'star join'));

\echo 'What the indexes take:'
SELECT c.relname AS "index", am.amname AS method, pg_size_pretty(pg_relation_size(c.oid)) AS size
FROM pg_class AS c JOIN pg_am AS am ON am.oid = c.relam JOIN pg_index AS i ON i.indexrelid = c.oid
WHERE i.indrelid IN ('coast'::regclass, 'note'::regclass) AND NOT i.indisprimary ORDER BY i.indrelid::regclass::text, am.amname, 1;
