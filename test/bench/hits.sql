-- Page views of a web analytics service as ClickBench's statements ask for them: :rows rows with the columns that its 43 statements name, made from hashes
-- of row numbers. How often values repeat, and how long they are, resembles what is said of ClickBench's data; the data are others, so that
-- figures don't compare with published ones.
CREATE FUNCTION random_of(number int8, seed int8) RETURNS int8 LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN hashint8extended(number, seed) & 2147483647;
-- Numbers below a limit, of which low ones are common and high ones rare.
CREATE FUNCTION skewed_of(number int8, seed int8, below int8) RETURNS int8 LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN floor(below * pow(random_of(number, seed) / 2147483648.0::float8, 4))::int8;

CREATE TABLE row_numbers AS SELECT generate_series(1, (:rows)::int8) AS i;
ANALYZE row_numbers;
CREATE TABLE hits AS
SELECT hashint8extended(i, 1) AS watchid, (random_of(i, 2) % 2)::int2 AS javaenable,
    CASE WHEN page % 40 = 0 THEN 'Google ' ELSE '' END || 'Title of page ' || page % 70000 || CASE WHEN page % 3 = 0 THEN ' - a longer title with more words in it' ELSE '' END AS title,
    at AS eventtime, at::date AS eventdate, (CASE WHEN random_of(i, 4) % 8 = 0 THEN 62 ELSE skewed_of(i, 5, 6000) END)::int AS counterid,
    (random_of(person, 6) - 1000000000)::int AS clientip, skewed_of(person, 7, 9000)::int AS regionid, hashint8extended(person, 8) AS userid, (person % 90)::int2 AS os,
    'http://' || CASE WHEN page % 50 = 7 THEN 'www.google.' ELSE 'site' || page % 900 || '.' END || 'com/path/' || page || CASE WHEN page % 2 = 0 THEN '?query=' || page * 7919 % 1000 ELSE '' END AS url,
    CASE WHEN random_of(i, 10) % 5 = 0 THEN '' ELSE 'https://' || CASE WHEN from_page % 4 = 0 THEN 'www.' ELSE '' END || 'site' || from_page % 900 || '.org/from/' || from_page END AS referer,
    (random_of(i, 11) % 9 = 0)::int::int2 AS isrefresh, (320 + 16 * (random_of(person, 12) % 100))::int2 AS resolutionwidth,
    (CASE WHEN random_of(i, 13) % 160 = 0 THEN 1 + skewed_of(i, 14, 40) ELSE 0 END)::int2 AS advengineid, (CASE WHEN searched THEN 1 + skewed_of(i, 15, 30) ELSE 0 END)::int2 AS searchengineid,
    CASE WHEN searched THEN 'search for ' || skewed_of(i, 16, greatest((:rows)::int8 / 15, 10)) ELSE '' END AS searchphrase,
    (person % 40)::int2 AS mobilephone, CASE WHEN person % 18 = 0 THEN 'model ' || skewed_of(person, 17, 160) ELSE '' END AS mobilephonemodel,
    (random_of(i, 18) % 11 - 1)::int2 AS traficsourceid, (random_of(i, 19) % 15 = 0)::int::int2 AS islink, (random_of(i, 20) % 200 = 0)::int::int2 AS isdownload,
    (random_of(i, 21) % 30 = 0)::int::int2 AS dontcounthits, hashint8extended(page % 2000, 22) AS urlhash, hashint8extended(from_page % 500, 23) AS refererhash,
    (300 + 4 * (random_of(i, 24) % 400))::int2 AS windowclientwidth, (200 + 4 * (random_of(i, 25) % 200))::int2 AS windowclientheight
FROM row_numbers, LATERAL (SELECT skewed_of(i, 30, greatest((:rows)::int8 / 6, 100)), skewed_of(i, 31, greatest((:rows)::int8 / 4, 100)), skewed_of(i, 32, greatest((:rows)::int8 / 8, 100)),
        timestamp '2013-07-01' + make_interval(secs => random_of(i, 33) % (31 * 86400)), random_of(i, 34) % 8 = 0) AS v (person, page, from_page, at, searched);
DROP TABLE row_numbers;
CREATE INDEX hits_columns ON hits USING gpu_column (watchid, title, eventtime, eventdate, counterid, clientip, regionid, userid, url, referer, isrefresh, resolutionwidth, advengineid,
    searchengineid, searchphrase, mobilephone, mobilephonemodel, traficsourceid, islink, isdownload, dontcounthits, urlhash, refererhash, windowclientwidth, windowclientheight);
VACUUM (ANALYZE, FREEZE) hits;
