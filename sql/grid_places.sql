-- gpu_grid: the places of doc/gpu_grid.md, loaded and asked as it says there.
SET max_parallel_workers_per_gather = 0;
\i contrib/demo/places.sql
\i contrib/demo/places-questions.sql
-- The same from the table.
SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off; SET pg_gpu.enable_count_scan = off;
SELECT count(*), min(latitude), max(latitude) FROM place WHERE latitude BETWEEN 46 AND 47 AND longitude BETWEEN 7 AND 9;
SELECT count(*) FROM place WHERE latitude BETWEEN 46 AND 47;
SELECT name FROM place ORDER BY point(longitude, latitude) <-> point(7.748, 46.020) LIMIT 3;
SELECT name FROM place WHERE point(longitude, latitude) <@ box '(5,43),(17,45.9)'
    ORDER BY point(longitude, latitude) <-> point(7.748, 46.020) LIMIT 2;
-- Lines of the questions that the page does not show.
\! grep -vxFf doc/gpu_grid.md contrib/demo/places-questions.sql
DROP TABLE place;
