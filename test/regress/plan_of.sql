-- EXPLAIN (COSTS OFF, perhaps more), less what differs between PostgreSQL's versions: 17 names what a subplan gives otherwise than 15 and
-- 16, and 18 says which nodes are disabled, and gives the rows of a loop two digits behind the point.
CREATE FUNCTION pg_temp.plan_of(query text, options text DEFAULT 'COSTS OFF') RETURNS TABLE (plan text) LANGUAGE plpgsql AS $$
BEGIN
    FOR plan IN EXECUTE format('EXPLAIN (%s) %s', options, query) LOOP
        CONTINUE WHEN plan ~ '^ *Disabled: true$';
        plan := regexp_replace(regexp_replace(plan, ' \(returns \$\d+\)', ''), '\(InitPlan (\d+)\)\.col1|\$(\d+)', 'a subplan', 'g');
        plan := regexp_replace(plan, '(actual rows=\d+)\.00 ', '\1 ');
        RETURN NEXT;
    END LOOP;
END
$$;
