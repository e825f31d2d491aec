-- Places around the Alps, from GeoNames, and two indexes: by latitude and longitude, and by point.
\set ON_ERROR_STOP on
SET client_encoding = 'UTF8';
CREATE EXTENSION IF NOT EXISTS pg_gpu;
CREATE TABLE place (name text, country text, latitude float8, longitude float8);
\copy place FROM PROGRAM 'gzip -dc contrib/demo/places.tsv.gz'
CREATE INDEX place_i ON place USING gpu_grid (latitude, longitude);
CREATE INDEX place_p ON place USING gpu_grid (point(longitude, latitude));
VACUUM ANALYZE place;
