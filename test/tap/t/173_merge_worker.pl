# suite: check
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

fault_seed();

# For each kind of index on k: how many rows CREATE INDEX makes one run of that no INSERT merges with another of its
# level, and how many entries no INSERT merges by itself. Entries of a gpu_column index count for more, so fewer are
# enough.
my %kinds = (
	gpu_kary => { columns => 'k', rows => 200_000, foreground => 260_000, step => 2000 },
	gpu_column => { columns => 'k, filler', rows => 30_000, foreground => 52_000, step => 1000 },);
my %kind_of;

my $node = new_node('worker', conf => "shared_buffers = 128MB\nlog_min_messages = debug1\nmax_worker_processes = 8\ndeadlock_timeout = 1ms\nshared_preload_libraries = pg_gpu_test\n");

my $worker = q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'pg_gpu merge'};

# Makes workers wait in the middle of a merge, or go on. While they wait they hold no lock that others need for a moment
# only. A worker that starts after this has the setting from the postmaster, as a new session has.
sub hold_workers
{
	my ($hold) = @_;
	change_setting($node, 'pg_gpu_test.hold_merge_workers', $hold);
	return;
}

# Inserts until there is a worker that waits in its merge. With the strings a gpu_column index is so large that its
# merge looks whether somebody waits for it.
my $create_insert = q{
CREATE FUNCTION fill(p_table text, p_low int, p_rows int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('INSERT INTO %I (k, filler) SELECT i * 7919::int8 %% 100001, CASE WHEN %L LIKE ''%%column'' THEN repeat(md5(i::text), 8) END
		FROM generate_series(%s, %s) AS i', p_table, p_table, p_low, p_low + p_rows - 1);
END $$;
CREATE PROCEDURE insert_until_merge(p_table text, p_step int, INOUT p_pid int) LANGUAGE plpgsql AS $$
DECLARE
	due boolean;
BEGIN
	FOR i IN 1 .. 2000 LOOP
		PERFORM fill(p_table, i * 17, p_step);
		COMMIT;
		-- Two runs of the highest level are for a worker. It is given time to come: inserts that go on without it would merge
		-- by themselves in the end.
		SELECT count(*) > 1 INTO due FROM gpu.runs((p_table || '_k')::regclass) GROUP BY level ORDER BY level DESC LIMIT 1;
		FOR look IN 1 .. CASE WHEN due THEN 200 ELSE 1 END LOOP
			SELECT pid INTO p_pid FROM pg_stat_activity WHERE backend_type = 'pg_gpu merge' AND wait_event_type = 'Extension';
			IF FOUND THEN
				RETURN;
			END IF;
			PERFORM pg_sleep(CASE WHEN due THEN 0.01 ELSE 0 END);
			COMMIT;
		END LOOP;
	END LOOP;
END $$};
$node->safe_psql('postgres', $create_insert);

# Makes a table with an index of one run.
sub make_large
{
	my ($name, $database) = @_;
	my ($kind) = grep { $name =~ /$_$/ } sort keys %kinds;
	$kind_of{$name} = $kinds{$kind};
	$node->safe_psql($database // 'postgres', qq{
CREATE TABLE $name (id bigserial, k int8, filler text);
SELECT fill('$name', 1, $kinds{$kind}{rows});
CREATE INDEX ${name}_k ON $name USING $kind ($kinds{$kind}{columns}) WITH (fanout = 2);
});
	return;
}

# Waits until the next worker is held in the middle of its merge; rows go in and are read meanwhile.
sub hold_next_worker
{
	my ($name, $database) = @_;
	$database //= 'postgres';
	hold_workers('on');
	my $pid = $node->safe_psql($database, "CALL insert_until_merge('$name', $kind_of{$name}{step}, NULL)");
	die 'no merge worker' unless $pid =~ /^\d+$/;
	# A worker that pauses because somebody has the runs' locks looks as one that is held, and may be about to begin.
	ok(wait_until(sub { sql_value($node, "SELECT backend_xmin IS NULL AND backend_xid IS NULL FROM pg_stat_activity WHERE pid = $pid") eq 't' }),
		"$name: the worker holds no snapshot back");
	my $read = sql($node, "SELECT fill('$name', 5, 1500);
		SELECT count(*) > 0 FROM gpu.runs('${name}_k');
		SELECT sum(k) > 0 FROM $name;
		SET enable_seqscan = off;
		SELECT sum(k) > 0 FROM $name WHERE k >= 0", database => $database);
	is($read->{err} . $read->{out} =~ s/\n//gr, 'ttt', "$name: rows go in while the worker merges");
	ok(!is_merged($name, $database), "$name: the worker has not finished");
	# A session that asked twice, because the worker took more than a second to start, has a second one that waits for the
	# runs and would merge them when the first gives way. It ends by itself after some seconds.
	ok(wait_until(sub { return workers_left() == 1 }), "$name: no other worker waits for the runs");
	return $pid;
}

# Passes when answers through the index equal those of a sequential scan.
sub same_answers
{
	my ($name, $what) = @_;
	my $index = 'SET LOCAL enable_seqscan = off;';
	my $table = 'SET LOCAL enable_indexscan = off; SET LOCAL enable_indexonlyscan = off; SET LOCAL enable_bitmapscan = off;';
	foreach my $condition ('k BETWEEN 0 AND 20000', 'k BETWEEN 5000 AND 5100', 'k = ANY (ARRAY[3, 77, 99000])')
	{
		my $question = "SELECT count(*) || ':' || sum(k) FROM $name WHERE $condition";
		my ($found, $right) = map { sql_value($node, "BEGIN; $_ $question; COMMIT") } ($index, $table);
		is($found, $right, "$what: $condition");
	}
	return;
}

# How many workers were asked for and haven't ended, whether they have started or not, by the postmaster's account.
sub workers_left
{
	my $log = slurp_file($node->logfile);
	my ($asked, $ended) = map { my $times = () = $log =~ /DEBUG:  $_ background worker "pg_gpu merge"/g; $times } ('registering', 'unregistering');
	return $asked - $ended;
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

sub is_merged
{
	my ($name, $database) = @_;
	return $node->safe_psql($database // 'postgres', "SELECT max(entries) > $kind_of{$name}{foreground} FROM gpu.runs('${name}_k')") eq 't';
}

sub puts_off { my ($name, $from) = @_; my $times = () = slurp_file($node->logfile, $from) =~ /"${name}_k" deferred: .* gives way/g; return $times; }

# ---- merging ------------------------------------------------------------------------------------------------

make_large('merged_gpu_kary');
hold_next_worker('merged_gpu_kary');
same_answers('merged_gpu_kary', 'while the worker waits');
is(sql($node, 'DELETE FROM merged_gpu_kary WHERE k % 10 = 3')->{code}, '', 'rows are deleted while the worker waits');
hold_workers('off');
ok(wait_until(sub { return is_merged('merged_gpu_kary') }), 'the worker has merged');
ok(no_worker(), 'the worker ends');
same_answers('merged_gpu_kary', 'after the merge');
check_sound($node, 'after the merge: gpu.verify finds nothing', 'merged_gpu_kary_k');
$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) merged_gpu_kary');
ok(no_worker(), 'what VACUUM may have asked for ends');
same_answers('merged_gpu_kary', 'after VACUUM');

# A merge that somebody asked for keeps what it has reserved no longer than it works, either.
$node->safe_psql('postgres', q{SELECT fill('merged_gpu_kary', 1, 600000)});
ok(no_worker(), 'no worker');
# The cancel comes long before the merge's end and after its beginning, since it merges hundreds of thousands of
# entries.
my $cancelled = '';
$node->psql('postgres', "\\set VERBOSITY sqlstate\nSET statement_timeout = '15ms';\nSELECT * FROM gpu.merge('merged_gpu_kary_k')",
	stderr => \$cancelled);
like($cancelled, qr/57014/, 'gpu.merge is cancelled');
is(reserved_pages($node, 'merged_gpu_kary_k'), '', 'nothing stays reserved');
same_answers('merged_gpu_kary', 'cancelled');

# ---- a file that grows meanwhile ---------------------------------------------------------------------------

# What the worker has reserved lies within the file, so others that need room don't have to fill it. Where a session that
# merges small runs must make the file longer by many pages it holds nothing that others want: it is held there.
make_large('grown_gpu_kary');
hold_next_worker('grown_gpu_kary');
my $gate = $node->background_psql('postgres', on_error_stop => 1);
$gate->query_safe('SELECT pg_advisory_lock(1)');
my @growing = start_sql($node, q{LOAD 'pg_gpu'; LOAD 'pg_gpu_test'; SET pg_gpu_test.hold_extensions = 1; SELECT fill('grown_gpu_kary', 1, 400000)});
ok(wait_until(sub { return sql_value($node, q{SELECT count(*) FROM pg_stat_activity
	WHERE application_name = 'victim' AND wait_event = 'advisory'}) eq '1' }), 'a session that merges is about to extend the file');
my $meanwhile = sql($node, q{SET enable_seqscan = off; SELECT count(*) > 0 FROM grown_gpu_kary WHERE k BETWEEN 5000 AND 5100});
is($meanwhile->{code} . $meanwhile->{out}, 't', 'others look rows up meanwhile');
$meanwhile = sql($node, q{SELECT fill('grown_gpu_kary', 5, 1500)}) unless $meanwhile->{code};
is($meanwhile->{code}, '', 'and insert, though tails get full');
same_answers('grown_gpu_kary', 'while a session extends the file') unless $meanwhile->{code};
$gate->quit;
is(finish_sql($_)->{code}, '', 'the session goes on') foreach @growing;
hold_workers('off');
ok(wait_until(sub { return is_merged('grown_gpu_kary') }), 'and so does the worker');
ok(no_worker(), 'which ends');
same_answers('grown_gpu_kary', 'with the longer file');
check_sound($node, 'with the longer file: gpu.verify finds nothing', 'grown_gpu_kary_k');

# ---- giving way ---------------------------------------------------------------------------------------------

my $number = 0;
foreach my $kind (test_rounds() > 1 ? sort keys %kinds : 'gpu_column')
{
	my @statements = ('BEGIN; LOCK TABLE :t IN ACCESS EXCLUSIVE MODE; COMMIT', 'REINDEX INDEX :t_k', 'DROP TABLE :t');
	push @statements, 'TRUNCATE :t', 'DROP INDEX :t_k' if test_rounds() > 1;
	foreach my $statement (@statements)
	{
		my $name = 'way' . ++$number . "_$kind";
		make_large($name);
		hold_next_worker($name);
		my $log_size = -s $node->logfile;
		my $victim = start_sql($node, $statement =~ s/:t/$name/gr);
		ok(waits_for_lock(), "$statement: waits");
		hold_workers('off');
		is(finish_sql($victim)->{code}, '', "$statement: done");
		ok(no_worker(), "$statement: the worker ends");
		is(puts_off($name, $log_size), 1, "$statement: the worker gave way");
		next if $statement !~ /LOCK/;

		# Nothing may be left of the merge, and the next one must do its work.
		is(reserved_pages($node, "${name}_k"), '', "$statement: nothing stays reserved");
		ok(!is_merged($name), "$statement: the runs are as they were");
		check_sound($node, "$statement: gpu.verify finds nothing", "${name}_k");
		ok(wait_until(sub {
			$node->safe_psql('postgres', "SELECT fill('$name', 1, $kind_of{$name}{step})");
			return is_merged($name) }, 300_000), "$statement: merged later");
		ok(no_worker(), "$statement: the later worker ends");
		same_answers($name, $statement);
	}
}

# ---- the database goes --------------------------------------------------------------------------------------

sub make_other
{
	$node->safe_psql('postgres', 'CREATE DATABASE other');
	$node->safe_psql('other', 'CREATE EXTENSION pg_gpu');
	$node->safe_psql('other', $create_insert);
	make_large('t_gpu_column', 'other');
	return;
}

make_other();
hold_next_worker('t_gpu_column', 'other');
my $log_size = -s $node->logfile;
my $drop = start_sql($node, 'DROP DATABASE other');
ok(wait_until(sub { return sql_value($node, q{SELECT count(*) FROM pg_locks WHERE classid = 'pg_database'::regclass
	AND mode = 'AccessExclusiveLock' AND granted}) ne '0' }), 'DROP DATABASE has begun');
hold_workers('off');
my $dropped = finish_sql($drop);
ok(no_worker(), 'the worker ends');
is(puts_off('t_gpu_column', $log_size), 1, 'the worker gave way');
# PostgreSQL waits for five seconds at most, which a busy machine may need to hand the setting on.
$dropped = sql($node, 'DROP DATABASE other') if $dropped->{code} eq '55006';
is($dropped->{err}, '', 'DROP DATABASE does not find the worker in its way');

make_other();
hold_next_worker('t_gpu_column', 'other');
is(sql($node, 'DROP DATABASE other WITH (FORCE)')->{err}, '', 'DROP DATABASE WITH (FORCE) ends a worker that is held');
hold_workers('off');

# ---- parallel VACUUM ----------------------------------------------------------------------------------------

# Neither the workers of a parallel VACUUM nor its leader can merge, so they ask for a background worker that can.
$node->safe_psql('postgres', q{
CREATE TABLE shared (k int8, n int8) WITH (autovacuum_enabled = off);
INSERT INTO shared SELECT i, i FROM generate_series(1, 20000) AS i;
CREATE INDEX shared_k ON shared USING gpu_kary (k);
CREATE INDEX shared_n ON shared USING gpu_kary (n);
DELETE FROM shared WHERE k % 3 = 0;
});
my $output = sql($node, "SET min_parallel_index_scan_size = 0; VACUUM (PARALLEL 2, INDEX_CLEANUP ON, VERBOSE) shared");
like($output->{err}, qr/launched \d+ parallel vacuum worker/, 'VACUUM is parallel');
ok(wait_until(sub { return sql_value($node, q{SELECT bool_and(dead = 0) FROM (SELECT dead FROM gpu.runs('shared_k')
	UNION ALL SELECT dead FROM gpu.runs('shared_n')) AS r}) eq 't' }), 'dead entries leave both indexes');
ok(no_worker(), 'the workers end');
# Nor can they cut the files off, which is all there is to do when no entry lives.
$node->safe_psql('postgres', 'DELETE FROM shared; SET min_parallel_index_scan_size = 0; VACUUM (PARALLEL 2, INDEX_CLEANUP ON) shared');
ok(wait_until(sub { return sql_value($node, q{SELECT pg_relation_size('shared_k') + pg_relation_size('shared_n') < 10 * 8192}) eq 't' }),
	'both files become short');
ok(no_worker(), 'and the workers end');

is(bad_log_lines($node), '', 'no process died');
$node->stop;

# ---- no worker to be had ------------------------------------------------------------------------------------

# Without workers, an INSERT still merges nothing that takes long.
my $alone = new_node('alone', conf => "shared_buffers = 128MB\nmax_worker_processes = 0\nsynchronous_commit = off\n");
$alone->safe_psql('postgres', q{
CREATE TABLE t (k int8);
CREATE INDEX t_k ON t USING gpu_kary (k);
INSERT INTO t SELECT i FROM generate_series(1, 700000) AS i;
});
is(sql_value($alone, q{SELECT max(entries) <= 260000 FROM gpu.runs('t_k')}), 't', 'an INSERT merges small runs alone');
$alone->safe_psql('postgres', 'VACUUM t');
is(sql_value($alone, q{SELECT max(entries) > 260000 FROM gpu.runs('t_k')}), 't', 'VACUUM merges more');
# Small runs don't pile up, whatever their rows are made of.
$alone->safe_psql('postgres', q{
CREATE TABLE c (k int8, s text) WITH (autovacuum_enabled = off);
CREATE INDEX c_ks ON c USING gpu_column (k, s);
DO $$
BEGIN
	FOR i IN 1 .. 100 LOOP
		INSERT INTO c SELECT i * 2000 + j, 'word ' || j % 7 FROM generate_series(1, 2000) AS j;
	END LOOP;
END $$;
});
cmp_ok(sql_value($alone, q{SELECT count(*) FROM gpu.runs('c_ks')}), '<', 30, 'INSERTs merge the small runs of a gpu_column index alone');
check_sound($alone, 'which is sound', 'c_ks');
$alone->stop;
done_testing();
