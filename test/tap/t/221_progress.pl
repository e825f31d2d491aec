# suite: long
# gpu.progress: merges, merge workers, gpu.verify and gpu.load show while they work, with tuples done and in
# all, and are gone when they end, are cancelled or fail.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use PgGpuTest::Faults;
use PgGpuTest::Server;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

fault_seed();

my $node = new_node('progress', conf => "pg_gpu.path = paged\npg_gpu.mirror = manual\nautovacuum = off\nmax_worker_processes = 16\nshared_preload_libraries = pg_gpu_test\n");
my $columns = q{command || '|' || coalesce(index_name::text, '') || '|' || phase};

# The row of a command, once $condition is true of one; '' when that didn't come to be.
sub row_of
{
	my ($command, $condition) = @_;
	my $row = '';
	wait_until(sub { $row = $node->safe_psql('postgres', "SELECT $columns FROM gpu.progress WHERE command = '$command' AND $condition LIMIT 1"); return $row ne ''; });
	return $row;
}

sub none_left
{
	my ($what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return ok(wait_until(sub { sql_value($node, 'SELECT count(*) FROM gpu.progress') == 0 }), "$what: nothing is left");
}

is(sql_value($node, 'SELECT count(*) FROM gpu.progress'), 0, 'nothing is under way');

# ---- gpu.verify -----------------------------------------------------------------------------------------------------

# A row of the index waits for a lock, so that gpu.verify stands still in the middle of the table.
my $rows = 5000;
$node->safe_psql('postgres', qq{
	CREATE FUNCTION waiting(k int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS \$\$
	BEGIN
		IF k = $rows / 2 THEN PERFORM pg_advisory_lock_shared(1); PERFORM pg_advisory_unlock_shared(1); END IF;
		RETURN k;
	END \$\$;
	CREATE TABLE t (k int);
	INSERT INTO t SELECT generate_series(1, $rows);
	CREATE INDEX t_waiting ON t USING gpu_kary (waiting(k));
	ANALYZE t;
	CREATE ROLE stranger; CREATE ROLE watcher IN ROLE pg_read_all_stats});
my $holder = new_session($node);
$holder->query_safe('SELECT pg_advisory_lock(1)');
foreach my $end ('', 'cancel', 'terminate')
{
	my $run = start_sql($node, q{SELECT count(*) FROM gpu.verify('t_waiting')});
	is(row_of('verify', "tuples_done = $rows / 2 - 1 AND tuples_total = $rows"), 'verify|t_waiting|reading the table', 'gpu.verify shows how far it is');
	is(sql_value($node, 'SELECT datname, usename = current_user, started < clock_timestamp(), pid IN (SELECT pid FROM pg_stat_activity) FROM gpu.progress'), 'postgres|t|t|t',
		'whose it is, and since when');
	is(sql_value($node, 'SET ROLE stranger; SELECT count(*), count(pid), num_nonnulls(max(command), max(phase), max(tuples_done)) FROM gpu.progress'), '1|1|0',
		'others see that there is something');
	is(sql_value($node, q{SET ROLE watcher; SELECT command FROM gpu.progress}), 'verify', 'and who may see all sees what');
	$node->safe_psql('postgres', "SELECT pg_${end}_backend(pid) FROM gpu.progress") if $end;
	if ($end eq '')
	{
		$holder->query_safe('SELECT pg_advisory_unlock(1)');
		is(finish_sql($run)->{out}, "0\n", 'it ends well');
		$holder->query_safe('SELECT pg_advisory_lock(1)');
	}
	else
	{
		isnt(finish_sql($run)->{code}, '', "it ends: $end");
	}
	none_left("gpu.verify, $end");
}

# In a subtransaction whose error is caught, the session lives on.
$node->safe_psql('postgres', 'CREATE TABLE outcome (code text)');
my $caught = start_sql($node, q{DO $$ BEGIN PERFORM gpu.verify('t_waiting'); EXCEPTION WHEN query_canceled THEN INSERT INTO outcome SELECT SQLSTATE; END $$;
	SELECT pg_advisory_lock(1)});
row_of('verify', "phase = 'reading the table'");
$node->safe_psql('postgres', q{SELECT pg_cancel_backend(pid) FROM gpu.progress});
ok(wait_until(sub { sql_value($node, 'SELECT count(*) FROM outcome') == 1 }), 'an error is caught');
none_left('a caught error');
$holder->query_safe('SELECT pg_advisory_unlock(1)');
finish_sql($caught);
$holder->quit;

# ---- merge workers --------------------------------------------------------------------------------------------------

# Workers wait in the middle of their merges.
change_setting($node, 'pg_gpu_test.hold_merge_workers', 'on');
# A merge of few pages may end without having waited.
my $held = q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'pg_gpu merge' AND wait_event_type = 'Extension'};
my %large = (kary => 'k', grid => 'k, v', column => 'k, f', text => 'd');
foreach my $method (sort keys %large)
{
	my $step = $method eq 'text' ? 3000 : 20_000;
	my $row = $method eq 'text' ? q{i, i, '', to_tsvector('simple', 'w' || i % 1000 || ' v' || i % 77 || ' u' || i)} : q{(i * 7919) % 100001, i, repeat(md5(i::text), 8), NULL};
	$node->safe_psql('postgres', qq{
		CREATE TABLE t_$method (k int8, v int8, f text, d tsvector);
		CREATE INDEX t_${method}_i ON t_$method USING gpu_$method ($large{$method}) WITH (fanout = 2)});
	my $found = '';
	my $begin = 0;
	wait_until(sub {
		$node->safe_psql('postgres', "INSERT INTO t_$method SELECT $row FROM generate_series(${begin}::bigint, $begin + $step - 1) AS i");
		$begin += $step;
		wait_until(sub { $found = sql_value($node, qq{SELECT $columns FROM gpu.progress WHERE command = 'merge worker' AND index_name = 't_${method}_i'::regclass AND pid IN ($held)}); return $found ne ''
			|| !sql_value($node, q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'pg_gpu merge'}); });
		return $found ne '';
	});
	like($found, qr/^merge worker\|t_${method}_i\|(?:reading runs|writing columns|writing grids|merging lists)$/, "$method: a worker that is held shows");
	# It has begun to wait when its figures stand still.
	my $figures = q{SELECT tuples_done, tuples_total, phase FROM gpu.progress WHERE command = 'merge worker'};
	my $before = '';
	ok(wait_until(sub { my $now = sql_value($node, $figures); my $same = $now eq $before; $before = $now; return $same && $now ne ''; }, 50_000), "$method: it stands still");
	is(sql_value($node, qq{SELECT bool_and(CASE WHEN tuples_total IS NULL THEN phase = 'merging lists' ELSE tuples_done BETWEEN 0 AND tuples_total
			AND tuples_total <= (SELECT sum(entries) FROM gpu.runs('t_${method}_i')) * 2 END) FROM gpu.progress WHERE index_name = 't_${method}_i'::regclass}), 't',
		"$method: with tuples done and in all");
	change_setting($node, 'pg_gpu_test.hold_merge_workers', 'off');
	ok(wait_until(sub { sql_value($node, q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'pg_gpu merge'}) == 0 }), "$method: the worker goes on and ends");
	none_left("$method: the worker");
	change_setting($node, 'pg_gpu_test.hold_merge_workers', 'on');
}
change_setting($node, 'pg_gpu_test.hold_merge_workers', 'off');

# ---- merges and loads in sessions ---------------------------------------------------------------------

# These are looked at while they go on and on; figures never exceed what they are of.
$node->safe_psql('postgres', q{CREATE TABLE m (k int8); INSERT INTO m SELECT generate_series(1, 300000); CREATE INDEX m_k ON m USING gpu_kary (k)});
my %endless = (
	merge => q{CALL merge_often()},
	load => q{SET pg_gpu.path = host; DO $$ BEGIN LOOP PERFORM gpu.evict('m_k'); PERFORM gpu.load('m_k'); END LOOP; END $$});
$node->safe_psql('postgres', q{CREATE PROCEDURE merge_often() LANGUAGE plpgsql AS $$
	BEGIN
		LOOP
			INSERT INTO m SELECT generate_series(1, 2000);
			COMMIT;
			PERFORM gpu.merge('m_k');
			COMMIT;
		END LOOP;
	END $$});
foreach my $command (sort keys %endless)
{
	my $run = start_sql($node, $endless{$command});
	like(row_of($command, 'tuples_total > 0 AND tuples_done > 0 AND tuples_done < tuples_total'), qr/^$command\|m_k\|[a-z ]+$/, "gpu.$command is seen in the middle");
	is(sql_value($node, 'SELECT count(*) FROM gpu.progress WHERE tuples_done > tuples_total'), 0, "gpu.$command: no more is done than there is");
	$node->safe_psql('postgres', q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'victim'});
	is(finish_sql($run)->{code}, '57014', "gpu.$command is cancelled");
	none_left("gpu.$command");
}

is(bad_log_lines($node), '', 'nothing died');
$node->stop;
done_testing();
