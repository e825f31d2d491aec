# suite: check
# GpuAggregates that parallel workers share, beside what changes under them: runs that are merged and VACUUMs that end behind every view
# that leader and workers take, random writers, cancels, and workers that are ended. The answers are those of sequential scans under
# the same snapshot. PG_GPU_TEST_SECONDS sets how long others write.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest::Faults;
use PgGpuTest;
use PostgreSQL::Test::Utils;
use Test::More;

fault_seed();

use constant FIRST_KEY => 4000;

my $seconds = $ENV{PG_GPU_TEST_SECONDS} || few_or_many(3, rounds(5, 60));

my $node = new_node('shared', conf => qq{
pg_gpu.path = paged
fsync = off
max_worker_processes = 16
max_parallel_workers = 12
parallel_setup_cost = 0
parallel_tuple_cost = 0
cpu_tuple_cost = 0
enable_seqscan = off
enable_bitmapscan = off
});
$node->safe_psql('postgres', q{
CREATE TABLE sale (id int4, city text, num int4, price numeric(10,2)) WITH (parallel_workers = 4, fillfactor = 95);
CREATE FUNCTION add_sales(first int, last int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO sale SELECT i, (ARRAY['Oslo', 'Lima', 'Kyiv', NULL])[1 + i % 4], nullif(i % 501, 7), i % 700 / 10.0 FROM generate_series(first, last) AS i;
$$;
SELECT add_sales(1, 60000);
CREATE INDEX sale_i ON sale USING gpu_column (id, city, num, price) WITH (fanout = 2);
VACUUM ANALYZE sale;
-- Both answers are of the transaction's snapshot.
CREATE FUNCTION check_sale(question text, workers int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	expected text;
	found text;
BEGIN
	PERFORM set_config('pg_gpu.enable_aggregate', 'off', true);
	EXECUTE question INTO expected;
	PERFORM set_config('pg_gpu.enable_aggregate', 'on', true), set_config('max_parallel_workers_per_gather', workers::text, true);
	EXECUTE question INTO found;
	PERFORM set_config('max_parallel_workers_per_gather', '0', true);
	PERFORM faults.must_equal(question || ', workers ' || workers, expected, found);
END $$;
});

my $groups = q{SELECT string_agg(q::text, ' ' ORDER BY q::text) FROM (SELECT city, count(*), sum(num), avg(price), max(id), variance(num) FROM sale GROUP BY city) AS q};
my $many = q{SELECT md5(string_agg(q::text, ' ' ORDER BY q::text)) FROM (SELECT num, count(*), sum(id), min(city) FROM sale WHERE id % 3 > 0 GROUP BY num) AS q};

# Starting workers costs each of them as much as the first, in the units of the node's own costs.
sub cost_with_setup
{
	my ($setup) = @_;
	my $plan = $node->safe_psql('postgres', qq{SET max_parallel_workers_per_gather = 4; SET parallel_setup_cost = $setup; EXPLAIN SELECT city, count(*), sum(num) FROM sale GROUP BY city});
	like($plan, qr/Workers Planned: 4.*Parallel Custom Scan \(GpuAggregate\)/s, "workers share the rows where starting them costs $setup");
	my ($cost) = $plan =~ /Gather.*?\(cost=[0-9.]+\.\.([0-9.]+)/;
	return $cost;
}
my $more = cost_with_setup(1) - cost_with_setup(0);
cmp_ok(abs($more - 12), '<', 0.05, "four workers cost twelve times what starting them costs PostgreSQL's plans: $more");

# How many wait behind a view.
sub waiting
{
	return sql_value($node, 'SELECT count(*) FROM pg_locks WHERE locktype = \'advisory\' AND NOT granted AND objid IN (' . FIRST_KEY . ', ' . (FIRST_KEY + 1) . ')');
}

# Deletes rows, has them forgotten, makes all runs one in other pages, and lets new rows fill the old ones.
my $added = 60_000;
sub change_everything
{
	my $next = $added + 1;
	$added += 3_000;
	$node->safe_psql('postgres', qq{
DELETE FROM sale WHERE id % 100 = $added / 3000 % 100;
VACUUM (INDEX_CLEANUP on) sale;
SELECT gpu.merge('sale_i');
SELECT add_sales($next, $added);
UPDATE sale SET num = num + 1 WHERE id % 1000 = 3;
SELECT gpu.merge('sale_i');
VACUUM (INDEX_CLEANUP on) sale;
});
	return;
}

# --- Views that are outdated as soon as they are taken ----------------------

my $gate = new_session($node);
my $all_changes = 0;
foreach my $question ($groups, $many)
{
	foreach my $workers (2, 4)
	{
		like($node->safe_psql('postgres', "SET max_parallel_workers_per_gather = $workers; EXPLAIN $question"), qr/Parallel Custom Scan \(GpuAggregate\)/, "$workers workers share $question");
		$gate->query_safe('SELECT pg_advisory_lock(' . (FIRST_KEY + $_) . ')') for 0, 1;
		my $run = start_sql($node, "LOAD 'pg_gpu'; LOAD 'pg_gpu_test'; BEGIN ISOLATION LEVEL REPEATABLE READ; SET LOCAL pg_gpu.enable_aggregate = off; $question;
SET LOCAL pg_gpu.enable_aggregate = on; SET LOCAL max_parallel_workers_per_gather = $workers; SET LOCAL pg_gpu_test.hold_readers = " . FIRST_KEY . "; $question; COMMIT;");
		my $changes = 0;
		while (1)
		{
			wait_until(sub { return waiting() > 0 || !$run->{handle}->pumpable }) or die 'the readers are stuck';
			last unless $run->{handle}->pumpable && $changes < 4;
			change_everything();
			$changes++;
			$gate->query_safe("SELECT pg_advisory_unlock($_), pg_advisory_lock($_)") for FIRST_KEY, FIRST_KEY + 1;
		}
		$gate->query_safe('SELECT pg_advisory_unlock_all()');
		my $found = finish_sql($run);
		my ($expected, $shared) = split /\n/, $found->{out};
		is($found->{err}, '', "$workers workers, $changes changes: no error");
		is($shared, $expected, "$workers workers: the answer is that of a sequential scan");
		cmp_ok($changes, '>', 0, 'readers waited behind views');
		$all_changes += $changes;
	}
}
# Whether a reader has to begin again depends on which of them were late, so not each statement's does.
cmp_ok($all_changes, '>', 4, 'and behind those that they took again');

# --- Workers that are ended --------------------------------------------------

$gate->query_safe('SELECT pg_advisory_lock(' . (FIRST_KEY + $_) . ')') for 0, 1;
my $run = start_sql($node, "LOAD 'pg_gpu'; LOAD 'pg_gpu_test'; SET max_parallel_workers_per_gather = 2; SET pg_gpu_test.hold_readers = " . FIRST_KEY . "; $groups;");
wait_until(sub { return waiting() > 1 && parallel_workers($node) > 0 }) or die 'no worker has begun';
$node->safe_psql('postgres', q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'parallel worker'});
wait_until(sub { return parallel_workers($node) == 0 }) or die 'a worker stays';
$gate->query_safe('SELECT pg_advisory_unlock_all()');
is(finish_sql($run)->{code}, '57P01', 'a worker that is ended ends the statement');
$gate->quit;

break_statement($node, 'shared aggregate', settings => "SET max_parallel_workers_per_gather = 2;", statement => $many);
$node->safe_psql('postgres', "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT check_sale(\$q\$$_\$q\$, 2); COMMIT;") foreach $groups, $many;

# --- Beside writers -----------------------------------------------------------

my $variables = "\\set low random(1, 60000)\n\\set new random(1000000, 100000000)\n\\set workers random(0, 4)\n";
my $writers = start_clients($node, [
	[ "${variables}SELECT add_sales(:new, :new + 200);", 4 ],
	[ "${variables}DELETE FROM sale WHERE id BETWEEN :low AND :low + 100;", 2 ],
	[ "${variables}UPDATE sale SET num = num + 1 WHERE id BETWEEN :low AND :low + 50;", 2 ],
	[ "${variables}BEGIN; SELECT add_sales(:new, :new + 50); ROLLBACK;", 1 ],
	[ "VACUUM (INDEX_CLEANUP on) sale;", 1 ],
	[ "SELECT gpu.merge('sale_i');", 1 ] ], clients => 3, seconds => $seconds);
my $readers = start_clients($node, [ map { [ "${variables}BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT check_sale(\$q\$$_\$q\$, :workers);\nCOMMIT;", 1 ] } $groups, $many ],
	clients => 2, seconds => $seconds);
finish_clients($_) foreach $writers, $readers;
cmp_ok(client_transactions([$readers]), '>', 0, 'questions were asked: ' . client_transactions([$readers]));
is(client_errors([$readers]), '', 'the answers are those of sequential scans');
is(client_errors([$writers], qr/could not serialize|deadlock detected/), '', 'writers meet no errors');
check_sound($node, 'the index is sound', 'sale_i');
is(bad_log_lines($node), '', 'no process died');
$node->stop;
done_testing();
