-- The indexes that gpu.advise names, those first that would save most of the recorded time, and the statements each would serve.
SELECT command, count(*) AS statements, sum(calls) AS calls,
       round(sum(milliseconds * (1 - cost_with / cost))::numeric) AS milliseconds_saved,
       round(min(1 - cost_with / cost)::numeric, 1) AS least_saving
FROM gpu.advise()
WHERE advice = 'create'
GROUP BY command
ORDER BY milliseconds_saved DESC, command;
-- Those that nobody uses.
SELECT command, pg_size_pretty(bytes) AS size FROM gpu.advise(0) WHERE advice = 'drop' ORDER BY bytes DESC, command;
