-- Fills the table that is asked from the points as they came.
\set ON_ERROR_STOP on
\set QUIET on

INSERT INTO coast
SELECT demo.place(longitude, latitude), longitude, latitude, shore FROM demo.raw;
DROP TABLE demo.raw;
VACUUM (ANALYZE, FREEZE) coast;

-- The places that will be asked for: points of the coast picked by chance, about every fifth of them moved by
-- a metre, to where there is mostly none. No place comes twice.
CREATE TABLE demo.questions (name text PRIMARY KEY, places bigint[] NOT NULL);

SELECT setseed(0.25) \g /dev/null
CREATE TEMP TABLE picked AS
SELECT place, random() AS turn
FROM (SELECT DISTINCT place + (place % 5 = 0)::int AS place FROM coast) AS moved;
INSERT INTO demo.questions
SELECT 'few', array_agg(place) FROM (SELECT place FROM picked ORDER BY turn LIMIT 10000) AS first;
INSERT INTO demo.questions
SELECT 'many', array_agg(place) FROM (SELECT place FROM picked ORDER BY turn LIMIT 100000) AS first;
DROP TABLE picked;
