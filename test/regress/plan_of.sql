-- EXPLAIN (COSTS OFF), less what differs between PostgreSQL's versions: 17 names what a subplan gives otherwise than 15 and
-- 16, and 18 says which nodes are disabled.
CREATE FUNCTION pg_temp.plan_of(query text) RETURNS TABLE (plan text) LANGUAGE plpgsql AS $$
BEGIN
    FOR plan IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        CONTINUE WHEN plan ~ '^ *Disabled: true$';
        plan := regexp_replace(regexp_replace(plan, ' \(returns \$\d+\)', ''), '\(InitPlan (\d+)\)\.col1|\$(\d+)', 'a subplan', 'g');
        RETURN NEXT;
    END LOOP;
END
$$;
