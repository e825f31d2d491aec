-- What pg_gpu would do for the statements that were just asked. None has been told to it: it reads pg_stat_statements.
\set ON_ERROR_STOP on
\set QUIET on
\pset footer off
SET client_min_messages = warning;

SELECT command, count(*) AS statements, round(sum(milliseconds * (1 - cost_with / cost))::numeric) AS "ms it would save"
FROM gpu.advise() WHERE advice = 'create' GROUP BY command ORDER BY 3 DESC;
