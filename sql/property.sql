-- What the access method says of itself.
SELECT property, pg_indexam_has_property(pg_am.oid, property) AS has
FROM pg_am,
     unnest(ARRAY['can_order', 'can_unique', 'can_multi_col', 'can_exclude', 'can_include', 'bogus'])
       WITH ORDINALITY AS p(property, n)
WHERE amname = 'gpu_kary'
ORDER BY n;

CREATE TABLE property_test (k int4);
CREATE INDEX property_up ON property_test USING gpu_kary (k);
CREATE INDEX property_down ON property_test USING gpu_kary (k DESC);
CREATE INDEX property_up_first ON property_test USING gpu_kary (k NULLS FIRST);
CREATE INDEX property_down_last ON property_test USING gpu_kary (k DESC NULLS LAST);
SELECT property, pg_index_has_property('property_up', property) AS has
FROM unnest(ARRAY['clusterable', 'index_scan', 'bitmap_scan', 'backward_scan'])
       WITH ORDINALITY AS p(property, n)
ORDER BY n;
SELECT property,
       pg_index_column_has_property('property_up', 1, property) AS up,
       pg_index_column_has_property('property_down', 1, property) AS down,
       pg_index_column_has_property('property_up_first', 1, property) AS up_first,
       pg_index_column_has_property('property_down_last', 1, property) AS down_last
FROM unnest(ARRAY['asc', 'desc', 'nulls_first', 'nulls_last', 'orderable', 'distance_orderable',
                  'returnable', 'search_array', 'search_nulls'])
       WITH ORDINALITY AS p(property, n)
ORDER BY n;

-- Phases of pg_stat_progress_create_index: phase 1 is the server's own, and 100 that of gpu.load.
SELECT amname, phase, pg_indexam_progress_phasename(pg_am.oid, phase) AS name
FROM pg_am, generate_series(0, 110) AS phase
WHERE amname LIKE 'gpu\_%' AND pg_indexam_progress_phasename(pg_am.oid, phase) IS NOT NULL
ORDER BY amname, phase;

-- Definitions come back as they were given.
SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'property_test'::regclass
ORDER BY indexrelid::regclass::text COLLATE "C";
DROP TABLE property_test;
