# suite: check
# pg_stat_progress_create_index shows how far CREATE INDEX of each access method is, while it scans and while it writes, and
# gpu.merge and gpu.load: phase, blocks and tuples, in the middle of the work. Afterwards, and after an error, nothing is left.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use PgGpuTest::Faults;
use PgGpuTest::Server;
use PostgreSQL::Test::Utils;
use Test::More;

fault_seed();

my $node = new_node('build_progress', conf => "pg_gpu.path = paged\npg_gpu.mirror = manual\nautovacuum = off\nshared_preload_libraries = pg_gpu_test\n");
my $rows = 100_000;
my $waiting_row = $rows / 2;
$node->safe_psql('postgres', qq{
	CREATE TABLE t (k int, v int, d tsvector);
	INSERT INTO t SELECT g, g * 7919 % 100003, (SELECT array_to_tsvector(array_agg('w' || g * n % (997 - n))) FROM generate_series(1, 8) n) FROM generate_series(1, $rows) g;
	VACUUM ANALYZE t;
	CREATE FUNCTION waiting(k int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS \$\$
	BEGIN
		IF k = $waiting_row THEN PERFORM pg_advisory_lock_shared(1); PERFORM pg_advisory_unlock_shared(1); END IF;
		RETURN k;
	END \$\$;
	CREATE FUNCTION waiting(d tsvector, k int) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE AS 'BEGIN PERFORM public.waiting(k); RETURN d; END'});

my $view = 'pg_stat_progress_create_index';
my $holder = new_session($node);

# Does the statement wait for a lock that the test holds?
sub awaits { my ($key) = @_; return sql_value($node, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = $key") == 1; }

# Who writes a run waits for the locks 2 and 3 in turn, so that it takes one step whenever the test lets it. Returns the view's row
# once that meets the condition.
my $held = 2;
sub hold_writers { $held = 2; $holder->query_safe('SELECT pg_advisory_lock(2)'); return; }
sub release_writers { $holder->query_safe('SELECT pg_advisory_unlock_all()'); return; }
sub step_until
{
	my ($run, $condition) = @_;
	for (;;)
	{
		wait_until(sub { return awaits($held) || !$run->{handle}->pumpable; });
		return '' unless awaits($held);
		my $row = sql_value($node, "SELECT phase, tuples_done, tuples_total FROM $view WHERE $condition");
		return $row if $row ne '';
		my $other = 5 - $held;
		$holder->query_safe("SELECT pg_advisory_lock($other); SELECT pg_advisory_unlock($held)");
		$held = $other;
	}
}

sub none_left
{
	my ($what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is(sql_value($node, "SELECT count(*) FROM $view"), 0, "$what: nothing is left");
}

my %methods = (
	kary => [ 'waiting(k), v', 'scanning table', 'merging and writing runs' ],
	grid => [ 'waiting(k), v', 'scanning table', 'making and writing grids' ],
	column => [ 'waiting(k), v', 'scanning table and collecting columns', 'merging dictionaries and writing columns' ],
	text => [ 'waiting(d, k)', 'scanning table and inverting documents', 'merging and writing lists' ]);
foreach my $method (sort keys %methods)
{
	my ($columns, $scanning, $writing) = @{ $methods{$method} };

	# Both halves of the table are read with a look in between.
	$holder->query_safe('SELECT pg_advisory_lock(1)');
	hold_writers();
	my $run = start_sql($node, "SET pg_gpu_test.hold_run_pages = 2; CREATE INDEX t_$method ON t USING gpu_$method ($columns)");
	ok(wait_until(sub { return awaits(1); }), "$method: the build waits for a row");
	is(sql_value($node, "SELECT command, phase, relid::regclass FROM $view"), "CREATE INDEX|building index: $scanning|t", "$method: its phase");
	is(sql_value($node, "SELECT blocks_done > 0, blocks_done < blocks_total, blocks_total = pg_relation_size('t') / current_setting('block_size')::int FROM $view"),
		't|t|t', "$method: blocks of the table that are read");
	$holder->query_safe('SELECT pg_advisory_unlock(1)');

	my $row = step_until($run, "tuples_done > 0 AND tuples_done < tuples_total");
	like($row, qr/^building index: \Q$writing\E\|\d+\|\d+$/, "$method: what is written, in the middle: $row");
	release_writers();
	is(finish_sql($run)->{code}, '', "$method: the build ends");
	none_left("$method, CREATE INDEX");

	# gpu.merge, of runs that are there after the first large one.
	$node->safe_psql('postgres', "INSERT INTO t SELECT $rows + k, v, d FROM t WHERE k <= 20000");
	hold_writers();
	$run = start_sql($node, "SET pg_gpu_test.hold_run_pages = 2; SELECT count(*) FROM gpu.merge('t_$method')");
	$row = step_until($run, "tuples_done > 0 AND (tuples_done < tuples_total OR tuples_total = 0)");
	like($row, qr/^building index: merging runs\|\d+\|\d+$/, "$method: gpu.merge, in the middle: $row");
	is(sql_value($node, "SELECT relid::regclass, index_relid::regclass FROM $view"), "t|t_$method", "$method: of which index");
	if ($method eq 'kary')
	{
		$node->safe_psql('postgres', "SELECT pg_cancel_backend(pid) FROM $view");
		is(finish_sql($run)->{code}, '57014', "$method: it is cancelled");
		release_writers();
	}
	else
	{
		release_writers();
		is(finish_sql($run)->{code}, '', "$method: it ends");
	}
	none_left("$method, gpu.merge");
	$node->safe_psql('postgres', "DROP INDEX t_$method; DELETE FROM t WHERE k > $rows; VACUUM t");
}

# Within a command that shows its own progress, that one's stays.
$node->safe_psql('postgres', 'CREATE INDEX t_k ON t USING gpu_kary (k)');
$node->safe_psql('postgres', "INSERT INTO t SELECT $rows + k, v, d FROM t WHERE k <= 20000");
hold_writers();
my $run = start_sql($node, q{SET pg_gpu_test.hold_run_pages = 2; COPY (SELECT count(*) FROM gpu.merge('t_k')) TO STDOUT});
ok(wait_until(sub { return awaits(2); }), 'a merge in COPY');
is(sql_value($node, "SELECT (SELECT count(*) FROM pg_stat_progress_copy), (SELECT count(*) FROM $view)"), '1|0', 'shows as COPY');
release_writers();
is(finish_sql($run)->{code}, '', 'and ends');

# gpu.load is too quick to be held, so it goes on until it is seen.
$run = start_sql($node, q{SET pg_gpu.path = host; DO $$ BEGIN LOOP PERFORM gpu.evict('t_k'); PERFORM gpu.load('t_k'); END LOOP; END $$});
my $load = '';
ok(wait_until(sub { $load = sql_value($node, "SELECT phase, index_relid::regclass FROM $view WHERE blocks_done BETWEEN 1 AND blocks_total - 1 AND tuples_done < tuples_total"); return $load ne ''; }),
	'gpu.load is seen in the middle');
is($load, 'building index: loading into the server process|t_k', 'with its index');
$node->safe_psql('postgres', q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'victim'});
is(finish_sql($run)->{code}, '57014', 'it is cancelled');
none_left('gpu.load');

$holder->quit;
is(bad_log_lines($node), '', 'nothing died');
$node->stop;
done_testing();
