-- Fills the tables that are asked: the points as they came, what is known of each coastline, and notes of words.
\set ON_ERROR_STOP on
\set QUIET on

INSERT INTO coast
SELECT demo.place(longitude, latitude), longitude, latitude, shore FROM demo.raw;
DROP TABLE demo.raw;

INSERT INTO shore
SELECT shore, CASE WHEN count(*) < 20 THEN 'islet' WHEN count(*) < 2000 THEN 'island' ELSE 'mainland' END,
    (ARRAY['Ada', 'Bo', 'Cleo', 'Dan'])[1 + shore % 4]
FROM coast GROUP BY shore;

-- Words as seldom as those of a language: the n-th is asked for in one note of about n. The same ones in each run.
SELECT setseed(0.5) \g /dev/null
INSERT INTO note
SELECT id, array_to_tsvector(array_agg(DISTINCT 'word' || floor(exp(random() * ln(20000)))::int))
FROM generate_series(1, 60000) AS id, generate_series(1, 40) GROUP BY id;

-- The places that will be asked for: points of the coast picked by chance, about every fifth of them moved by
-- a metre, to where there is mostly none. No place comes twice.
SELECT setseed(0.25) \g /dev/null
CREATE TABLE demo.many AS
SELECT array_agg(place) AS places
FROM (SELECT place FROM (SELECT DISTINCT place + (place % 5 = 0)::int AS place FROM coast) AS moved
      ORDER BY random() LIMIT 100000) AS picked;
-- A tenth of all points, in the order of their places.
CREATE TABLE demo.tenth AS
SELECT percentile_disc(0.40) WITHIN GROUP (ORDER BY place) AS low,
    percentile_disc(0.50) WITHIN GROUP (ORDER BY place) AS high
FROM coast;
VACUUM (ANALYZE, FREEZE) coast, shore, note;
