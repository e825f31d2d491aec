-- The same with an index of each of pg_gpu's access methods beside PostgreSQL's: the planner may take either.
\set ON_ERROR_STOP on
\set QUIET on

\echo '      building an index of each access method: gpu_kary, gpu_grid, gpu_column, gpu_text'
CREATE INDEX coast_kary ON coast USING gpu_kary (place);
CREATE INDEX coast_grid ON coast USING gpu_grid (longitude, latitude);
CREATE INDEX coast_column ON coast USING gpu_column (longitude, latitude, shore);
CREATE INDEX shore_column ON shore USING gpu_column (shore, size, surveyor);
CREATE INDEX note_text ON note USING gpu_text (words);
VACUUM ANALYZE coast, shore, note;
CALL demo.ask_all(true);
