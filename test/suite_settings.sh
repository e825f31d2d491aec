# Sourced by what starts a cluster for the suites: the settings that tests expect. The snapshot of an autovacuum worker would
# now and then keep a VACUUM from marking pages all-visible, and with them the plans and counts that tests expect. The TAP
# tests have it on. Plans that tests leave the planner for want of others look dear, and with JIT would be compiled for longer
# than they run; sql/jit.sql has it on. On a busy machine the server process takes its time, and tests show what it answers; also
# of small tables, for which requests must cost little.
# shellcheck shell=bash disable=SC2034
suite_settings=(--set autovacuum=off --set jit=off --set max_prepared_transactions=10 --set pg_gpu.request_timeout=60s
    --set pg_gpu.min_mirror_entries=0 --set parallel_setup_cost=200)
