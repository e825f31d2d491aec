-- A table with an index of each access method, and what tells whether they answer as a sequential scan does. For tests that
-- move a database: packages, pg_upgrade, dumps, backups.
CREATE EXTENSION IF NOT EXISTS pg_gpu;
CREATE SCHEMA every;
CREATE TABLE every.item (id bigserial, k int8, name text, title text, x int4, y int4, place point, a int4, b int8, label text, words tsvector, code varchar(20), price numeric(10, 2), weight numeric);
CREATE INDEX item_kary ON every.item USING gpu_kary (k);
CREATE INDEX item_hash ON every.item USING gpu_kary (name gpu.hash_ops);
CREATE INDEX item_code ON every.item USING gpu_kary (code);
CREATE INDEX item_price ON every.item USING gpu_kary (price);
CREATE INDEX item_weight ON every.item USING gpu_grid (weight, y);
CREATE INDEX item_page ON every.item USING gpu_kary (b, id);
CREATE INDEX item_prefix ON every.item USING gpu_kary (title gpu.text_pattern_prefix_ops);
CREATE INDEX item_grid ON every.item USING gpu_grid (x, y);
CREATE INDEX item_place ON every.item USING gpu_grid (place);
CREATE INDEX item_column ON every.item USING gpu_column (a, b, label);
CREATE INDEX item_text ON every.item USING gpu_text (words);

CREATE FUNCTION every.insert(first int, last int) RETURNS void LANGUAGE sql AS $$
    INSERT INTO every.item (k, name, title, x, y, place, a, b, label, words, code, price, weight)
    SELECT g::int8 * 7919 % 100003, 'name ' || g % 5000, 'title ' || g % 5000, g % 100, g / 100 % 1000, point(g % 317, g % 211),
           g % 100, g::int8 * 31 % 100003, 'label ' || g % 300, to_tsvector('simple', 'word' || g % 50 || ' other' || g % 7),
           'code ' || g % 700, g % 10000 / 4.0, g % 3000 / 7.0
    FROM generate_series(first, last) AS g;
$$;

-- One line for each index that is damaged, and each query whose answer is another with indexes than without, or whose plan
-- has no index of ours.
CREATE FUNCTION every.differences() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    query text;
    method text;
    setting text;
    without_index text;
    with_index text;
    plan text;
    line text;
BEGIN
    RETURN QUERY SELECT c.relname || ': ' || v::text
                 FROM pg_class AS c JOIN pg_am AS a ON a.oid = c.relam, LATERAL gpu.verify(c.oid, true) AS v
                 WHERE c.relnamespace = 'every'::regnamespace AND c.relkind = 'i' AND a.amname LIKE 'gpu\_%';
    FOR method, query IN VALUES
        ('item_kary', 'count(*) FROM every.item WHERE k BETWEEN 1000 AND 20000'),
        ('item_kary', 'sum(id) FROM every.item WHERE k = ANY (ARRAY[7919, 15838, 3])'),
        ('item_hash', 'sum(id) FROM every.item WHERE name = ''name 77'''),
        ('item_code', 'sum(id) FROM every.item WHERE code = ''code 77'''),
        ('item_price', 'sum(id) FROM every.item WHERE price > 100.25 AND price <= 130'),
        ('item_weight', 'sum(id) FROM every.item WHERE weight BETWEEN 100 AND 300.5 AND y = 70'),
        ('item_page', 'sum(page.id) FROM (SELECT id FROM every.item WHERE (b, id) < (5000, 300) ORDER BY b DESC, id DESC LIMIT 30) AS page'),
        ('item_prefix', 'sum(id) FROM every.item WHERE title LIKE ''title 499%'''),
        ('item_grid', 'sum(id) FROM every.item WHERE x BETWEEN 10 AND 12 AND y BETWEEN 20 AND 70'),
        ('item_place', 'sum(id) FROM every.item WHERE place <@ box ''(10,10),(40,30)'''),
        ('item_place', 'max(d) FROM (SELECT place <-> point ''(100,100)'' AS d FROM every.item ORDER BY 1 LIMIT 50) AS nearest'),
        ('item_column', 'sum(id) FROM every.item WHERE a > 90 AND label LIKE ''%9%'' AND b < 30000'),
        ('item_text', 'sum(id) FROM every.item WHERE words @@ ''word7 & other3''')
    LOOP
        FOREACH setting IN ARRAY ARRAY['enable_indexscan', 'enable_bitmapscan', 'enable_indexonlyscan', 'pg_gpu.enable_count_scan', 'pg_gpu.enable_query'] LOOP
            PERFORM set_config(setting, 'off', true);
        END LOOP;
        PERFORM set_config('enable_seqscan', 'on', true);
        EXECUTE 'SELECT ' || query INTO without_index;
        FOREACH setting IN ARRAY ARRAY['enable_indexscan', 'enable_bitmapscan', 'enable_indexonlyscan', 'pg_gpu.enable_count_scan', 'pg_gpu.enable_query'] LOOP
            PERFORM set_config(setting, 'on', true);
        END LOOP;
        PERFORM set_config('enable_seqscan', 'off', true);
        plan := '';
        FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) SELECT ' || query LOOP
            plan := plan || line || E'\n';
        END LOOP;
        EXECUTE 'SELECT ' || query INTO with_index;
        IF plan !~ (' ' || method || '\M') THEN
            RETURN NEXT method || ' is not in the plan: ' || query || E'\n' || plan;
        END IF;
        IF with_index IS DISTINCT FROM without_index THEN
            RETURN NEXT format('%s by %s, %s without: %s', with_index, method, without_index, query);
        END IF;
    END LOOP;
    IF gpu.count('every.item_column', 'a > 50 AND b < 30000') <> (SELECT count(*) FROM every.item WHERE a + 0 > 50 AND b + 0 < 30000) THEN
        RETURN NEXT 'gpu.count of item_column';
    END IF;
    IF (SELECT count(*) FROM gpu.search('every.item_text', 'word7', 10)) <> least(10, (SELECT count(*) FROM every.item WHERE words::text LIKE '%''word7''%')) THEN
        RETURN NEXT 'gpu.search of item_text';
    END IF;
END
$$;
