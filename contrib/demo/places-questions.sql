SELECT count(*), min(latitude), max(latitude) FROM place WHERE latitude BETWEEN 46 AND 47 AND longitude BETWEEN 7 AND 9;
SELECT gpu.count('place_i', ARRAY[46, 7]::float8[], ARRAY[47, 9]::float8[]);
SELECT * FROM gpu.count_batch('place_i', ARRAY[[46, 7], [46, NULL]]::float8[], ARRAY[[47, 9], [47, NULL]]::float8[]);
SELECT name FROM place ORDER BY point(longitude, latitude) <-> point(7.748, 46.020) LIMIT 3;
SELECT name FROM place WHERE point(longitude, latitude) <@ box '(5,43),(17,45.9)'
    ORDER BY point(longitude, latitude) <-> point(7.748, 46.020) LIMIT 2;
