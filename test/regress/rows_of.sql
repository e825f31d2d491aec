-- What a statement gives, in its order, or the error's code.
CREATE FUNCTION rows_of(query text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    answer text[];
BEGIN
    EXECUTE format('SELECT array_agg(q::text) FROM (%s) AS q', query) INTO answer;
    RETURN coalesce(answer, '{}');
EXCEPTION WHEN OTHERS THEN
    RETURN ARRAY[SQLSTATE];
END $$;
