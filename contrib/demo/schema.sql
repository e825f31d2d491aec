-- The demo's tables and the functions around them.
\set ON_ERROR_STOP on
\set QUIET on
SET client_min_messages = warning;

DROP SCHEMA IF EXISTS demo CASCADE;
DROP TABLE IF EXISTS coast, shore, note;
CREATE EXTENSION IF NOT EXISTS pg_gpu;
CREATE EXTENSION IF NOT EXISTS pg_stat_statements;
CREATE SCHEMA demo;

-- Spreads the lower 25 bits of a number over the even bits of the result. (Without the inner parentheses | would
-- be done before <<: SQL gives both the same precedence.)
CREATE FUNCTION demo.spread(bits bigint) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    bits := (bits | (bits << 16)) & x'0000ffff0000ffff'::bigint;
    bits := (bits | (bits << 8)) & x'00ff00ff00ff00ff'::bigint;
    bits := (bits | (bits << 4)) & x'0f0f0f0f0f0f0f0f'::bigint;
    bits := (bits | (bits << 2)) & x'3333333333333333'::bigint;
    RETURN (bits | (bits << 1)) & x'5555555555555555'::bigint;
END;
$$;

-- A place on earth as one number: the bits of longitude and latitude by turns (a Z-order or Morton code).
-- Places near each other mostly have numbers near each other, and each square tile of a map is one range of
-- numbers. 25 bits each way are about a metre.
CREATE FUNCTION demo.place(longitude float8, latitude float8) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN demo.spread(least(floor((longitude + 180) / 360 * 33554432), 33554431)::bigint)
    | (demo.spread(least(floor((latitude + 90) / 180 * 33554432), 33554431)::bigint) << 1);

CREATE UNLOGGED TABLE demo.raw (shore int, longitude float8, latitude float8);

CREATE TABLE coast (
    place bigint NOT NULL,      -- demo.place(longitude, latitude)
    longitude float8 NOT NULL,
    latitude float8 NOT NULL,
    shore int NOT NULL          -- the coastline it belongs to
);

CREATE TABLE shore (
    shore int PRIMARY KEY,
    size text NOT NULL,
    surveyor text NOT NULL
);

CREATE TABLE note (
    id int PRIMARY KEY,
    words tsvector NOT NULL
);
