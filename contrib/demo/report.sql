-- The table at the end.
\set ON_ERROR_STOP on
\set QUIET on
\pset footer off
\pset null ''

SELECT statement,
    round(btree_ms::numeric, 2) AS "btree ms",
    round(gpu_kary_ms::numeric, 2) AS "gpu_kary ms",
    CASE same_answer WHEN true THEN 'yes' WHEN false THEN 'NO' END AS "same answer"
FROM demo.results ORDER BY position;

\pset tuples_only on
\pset format unaligned
SELECT format('Of %s rows. The btree index takes %s, the gpu_kary index %s.', (SELECT count(*) FROM coast),
    pg_size_pretty(pg_relation_size('coast_place_btree')), pg_size_pretty(pg_relation_size('coast_place_gpu_kary')));
