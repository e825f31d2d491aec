# The background worker for merges too large for an INSERT or VACUUM: it starts, merges and ends; answers are right
# and rows go in while it works; whoever needs an exclusive lock on table or index does not wait for the merge.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest::Faults;
use PgGpuTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

fault_seed();

# Where the reservations lie on the metapage, as src/storage/format.h has it.
use constant { RESERVATIONS => 24 + 56, RESERVATION_BYTES => 64 };

# Entries that one INSERT does not merge by itself.
use constant FOREGROUND => 700_000;

my $node = new_node('worker', conf => "shared_buffers = 128MB\nlog_min_messages = debug1\nmax_worker_processes = 8\n");

my $worker = q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'pg_gpu merge'};

# A table whose index is one run that no INSERT merges with another of its level.
sub make_large
{
	my ($name, $database) = @_;
	$database //= 'postgres';
	$node->safe_psql($database, qq{
CREATE TABLE $name (id bigserial, k int8, filler text);
INSERT INTO $name (id, k) SELECT i, i * 7919 % 100001 FROM generate_series(1::int8, 520000) AS i;
CREATE INDEX ${name}_k ON $name USING gpu_kary (k) WITH (fanout = 2);
});
	return;
}

# A session that inserts until there is a worker that has begun to merge. From PostgreSQL 18 on one that still connects is shown too,
# and has a lock on the database.
my $watcher = new_session($node);
my $create_insert = q{
CREATE PROCEDURE insert_until_merge(p_table text, INOUT p_pid int) LANGUAGE plpgsql AS $$
DECLARE
	until timestamptz := clock_timestamp() + interval '60 s';
BEGIN
	LOOP
		EXECUTE format('INSERT INTO %I (k) SELECT i * 17 %% 100001 FROM generate_series(1, 2000) AS i', p_table);
		COMMIT;
		SELECT a.pid INTO p_pid FROM pg_stat_activity AS a JOIN pg_locks AS l USING (pid)
			WHERE a.backend_type = 'pg_gpu merge' AND a.state = 'active' AND l.locktype = 'object' AND l.granted;
		EXIT WHEN FOUND OR clock_timestamp() > until;
	END LOOP;
END $$};

$node->safe_psql('postgres', $create_insert);

# Inserts until a worker merges, and stops it there, where it holds no lock that others need only for a moment:
# shown by rows that go in and are read.
sub stop_next_worker
{
	my ($name, $database) = @_;
	my $session = $database ? new_session($node, $database) : $watcher;
	my ($pid, $went_in, $merged);
	for my $try (1 .. 20)
	{
		$pid = $session->query_safe("CALL insert_until_merge('$name', NULL)");
		die 'no merge worker' unless $pid =~ /^\d+$/;
		kill 'STOP', $pid;
		$went_in = goes_in($name, $pid, $database);
		$merged = entries_of_largest_run($name, $database) > FOREGROUND;
		last unless $merged;
		# On a busy machine the signal may come too late.
		note("the worker had finished when it was stopped, $try times");
		kill 'CONT', $pid;
		no_worker() or die 'the worker does not end';
		$node->safe_psql($database // 'postgres', "DROP TABLE $name");
		make_large($name, $database);
	}
	$session->quit if $database;
	ok($went_in, "$name: rows go in while the worker merges");
	ok(!$merged, "$name: the worker has not finished");
	return $pid;
}

# Do rows go in and are they read while the worker is stopped? Stopped while it holds a lock on a buffer, on the buffer
# table or on WAL it holds up whoever needs that: then it goes on for a moment, much shorter than the merge, and is tried
# again where it then stands.
sub goes_in
{
	my ($name, $pid, $database) = @_;
	return wait_until(sub {
		my $insert = start_sql($node, "INSERT INTO $name (k) SELECT i % 100001 FROM generate_series(1, 1500) AS i;
			SELECT count(*) > 0 FROM gpu.runs('${name}_k');
			SELECT sum(k) FROM $name;
			SET enable_seqscan = off;
			SELECT sum(k) FROM $name WHERE k >= 0", database => $database);
		my $undisturbed = 1;
		while (stands_still($node, sub { return $insert->{handle}->pumpable }))
		{
			$undisturbed = 0;
			kill 'CONT', $pid;
			usleep(1_000);
			kill 'STOP', $pid;
		}
		my $result = finish_sql($insert);
		die $result->{err} if $result->{code} ne '';
		return $undisturbed }, 0);
}

# Answers through the index equal those of a sequential scan.
sub same_answers
{
	my ($name, $what) = @_;
	my $index = 'SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off;';
	my $table = 'SET LOCAL enable_indexscan = off; SET LOCAL enable_indexonlyscan = off; SET LOCAL enable_bitmapscan = off;';
	foreach my $condition ('k BETWEEN 0 AND 20000', 'k BETWEEN 5000 AND 5100', 'k = ANY (ARRAY[3, 77, 99000])')
	{
		my $question = "SELECT count(*) || ':' || sum(k) FROM $name WHERE $condition";
		my ($found, $right) = map { sql_value($node, "BEGIN; $_ $question; COMMIT") } ($index, $table);
		is($found, $right, "$what: $condition");
	}
	return;
}

sub no_worker { return wait_until(sub { return sql_value($node, $worker) eq '' }); }

sub waits_for_lock
{
	my $waits = wait_until(sub {
		return sql_value($node, q{SELECT count(*) FROM pg_stat_activity
			WHERE application_name = 'victim' AND wait_event_type = 'Lock'}) eq '1' });
	diag(sql_value($node, q{SELECT string_agg(concat_ws(' ', backend_type, application_name, state, wait_event_type, wait_event, query), E'\n')
		FROM pg_stat_activity})) unless $waits;
	return $waits;
}

sub entries_of_largest_run
{
	my ($name, $database) = @_;
	return $node->safe_psql($database // 'postgres', "SELECT max(entries) FROM gpu.runs('${name}_k')");
}

# ---- merging ------------------------------------------------------------------------------------------------

make_large('t');
my $pid = stop_next_worker('t');
same_answers('t', 'while the worker stands still');
is(sql($node, 'DELETE FROM t WHERE k % 10 = 3')->{code}, '', 'rows are deleted while the worker stands still');
kill 'CONT', $pid;
ok(wait_until(sub { return entries_of_largest_run('t') > FOREGROUND }), 'the worker has merged');
ok(no_worker(), 'the worker ends');
same_answers('t', 'after the merge');
check_sound($node, 'after the merge: gpu.verify finds nothing', 't_k');
$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) t');
ok(no_worker(), 'what VACUUM may have asked for ends');
same_answers('t', 'after VACUUM');

# ---- giving way ---------------------------------------------------------------------------------------------

my $number = 0;
foreach my $statement (
	'BEGIN; LOCK TABLE :t IN ACCESS EXCLUSIVE MODE; COMMIT', 'REINDEX INDEX :t_k',
	'TRUNCATE :t', 'DROP INDEX :t_k', 'DROP TABLE :t')
{
	my $name = 'way' . ++$number;
	make_large($name);
	$pid = stop_next_worker($name);
	my $before = () = slurp_file($node->logfile) =~ /"${name}_k" put off: .* gives way/g;
	my $victim = start_sql($node, $statement =~ s/:t/$name/gr);
	ok(waits_for_lock(), "$statement: waits");
	kill 'CONT', $pid;
	is(finish_sql($victim)->{code}, '', "$statement: done");
	ok(no_worker(), "$statement: the worker ends");
	my $after = () = slurp_file($node->logfile) =~ /"${name}_k" put off: .* gives way/g;
	cmp_ok($after, '>', $before, "$statement: the worker gave way");
	next if $statement !~ /LOCK/;

	# Nothing is left of the merge, and the next one does it.
	$node->safe_psql('postgres', 'CHECKPOINT');
	is(substr(read_page(index_file($node, "${name}_k"), 0), RESERVATIONS, RESERVATION_BYTES), "\0" x RESERVATION_BYTES,
		"$statement: nothing stays reserved");
	cmp_ok(entries_of_largest_run($name), '<', FOREGROUND, "$statement: the runs are as they were");
	check_sound($node, "$statement: gpu.verify finds nothing", "${name}_k");
	ok(wait_until(sub {
		$node->safe_psql('postgres', "INSERT INTO $name (k) SELECT i FROM generate_series(1, 3000) AS i");
		return entries_of_largest_run($name) > FOREGROUND }, 300_000), "$statement: merged later");
	ok(no_worker(), "$statement: the later worker ends");
	same_answers($name, $statement);
}

# A merge somebody asked for keeps what it has reserved no longer than it works either.
make_large('asked');
$node->safe_psql('postgres', 'INSERT INTO asked (k) SELECT i FROM generate_series(1, 3000) AS i');
ok(no_worker(), 'no worker');
# Long before its end, and after it has begun: it merges hundreds of thousands of entries.
my $cancelled = '';
$node->psql('postgres', "\\set VERBOSITY sqlstate\nSET statement_timeout = '15ms';\nSELECT * FROM gpu.merge('asked_k')",
	stderr => \$cancelled);
like($cancelled, qr/57014/, 'gpu.merge is cancelled');
$node->safe_psql('postgres', 'CHECKPOINT');
is(substr(read_page(index_file($node, 'asked_k'), 0), RESERVATIONS, RESERVATION_BYTES), "\0" x RESERVATION_BYTES,
	'nothing stays reserved');
same_answers('asked', 'cancelled');

# ---- the database goes --------------------------------------------------------------------------------------

$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql('other', 'CREATE EXTENSION pg_gpu');
$node->safe_psql('other', $create_insert);
make_large('t', 'other');
$pid = stop_next_worker('t', 'other');
my $log_size = -s $node->logfile;
my $drop = start_sql($node, 'DROP DATABASE other');
ok(wait_until(sub { return sql_value($node, q{SELECT count(*) FROM pg_locks WHERE classid = 'pg_database'::regclass
	AND mode = 'AccessExclusiveLock' AND granted}) ne '0' }), 'DROP DATABASE has begun');
kill 'CONT', $pid;
is(finish_sql($drop)->{code}, '', 'DROP DATABASE does not find the worker in its way');
like(slurp_file($node->logfile, $log_size), qr/"t_k" put off: .* gives way/, 'the worker gave way');

$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql('other', 'CREATE EXTENSION pg_gpu');
$node->safe_psql('other', $create_insert);
make_large('t', 'other');
$pid = stop_next_worker('t', 'other');
$drop = start_sql($node, 'DROP DATABASE other WITH (FORCE)');
ok(wait_until(sub { return sql_value($node, q{SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'DROP DATABASE%'}) ne '0' }),
	'DROP DATABASE has begun');
kill 'CONT', $pid;
is(finish_sql($drop)->{code}, '', 'DROP DATABASE WITH (FORCE) ends the worker');

is(bad_log_lines($node), '', 'no process died');
$watcher->quit;
$node->stop;
done_testing();
