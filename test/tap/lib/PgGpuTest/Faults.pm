# Helpers of the tests that break things: crashes, cancels, full disks, damaged files.
#
# A test names its seed and its number of rounds through fault_seed() and rounds(); everything random
# follows from the seed, except the timing of the server.
package PgGpuTest::Faults;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use IPC::Run ();
use PgGpuTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep time);

our @EXPORT = qw(
  fault_seed rounds random_int random_pick random_real
  new_node make_table change_setting
  sql sql_value start_sql finish_sql crash_cluster crash_backend answers_again start_again wait_gone
  index_file index_blocks reserved_pages check_answers check_usable
  workload start_clients next_transaction finish_clients stop_clients client_errors client_transactions
  wait_for_standby bad_log_lines bad_log_context wait_until stands_still pages_of_index temporary_files parallel_workers
  read_page write_page BLOCK_SIZE
  break_statement
);

use constant BLOCK_SIZE => 8192;

# How long to wait for something that must happen. It is no measure of speed: only a test that hangs waits so long.
my $patience = $PostgreSQL::Test::Utils::timeout_default;

# ---- seeds and rounds ---------------------------------------------------------------------------------------

# Seeds Perl's generator and says so. Call once at the start of a test.
sub fault_seed
{
	srand(test_seed());
	note 'PG_GPU_TEST_SEED=' . test_seed() . ', PG_GPU_TEST_ROUNDS=' . test_rounds();
	return;
}

# Returns the number of repetitions: `$base` in a short run, times PG_GPU_TEST_ROUNDS in a long one, at most `$most`.
sub rounds
{
	my ($base, $most) = @_;
	my $count = $base * test_rounds();
	return defined $most && $count > $most ? $most : $count;
}

# Returns an integer from $low to $high, both included.
sub random_int { my ($low, $high) = @_; return $low + int(rand($high - $low + 1)); }

sub random_real { my ($low, $high) = @_; return $low + rand($high - $low); }

sub random_pick { return $_[ int(rand(@_)) ]; }

# ---- clusters and tables ------------------------------------------------------------------------------------

# faults.check() runs the same question in each way an index can answer it, all in the snapshot of one
# REPEATABLE READ transaction, and raises an error of SQLSTATE WRONG when two answers differ or a plan did
# not use the index. The pause between the sequential scan and the others leaves time for vacuum, merges or
# replay to change what lies under the snapshot.
my $checking_functions = <<'SQL';
CREATE SCHEMA faults;

CREATE FUNCTION faults.ask(p_query text, p_index name, p_node text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	line text;
	fits boolean := false;
	answer text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || p_query LOOP
		IF line LIKE '%' || p_node || '%' AND (p_index IS NULL OR line LIKE '%' || p_index || '%') THEN
			fits := true;
		END IF;
	END LOOP;
	IF NOT fits THEN
		RAISE EXCEPTION 'no % in the plan of %', p_node, p_query USING ERRCODE = 'WRONG';
	END IF;
	EXECUTE p_query INTO answer;
	RETURN answer;
END $$;

CREATE FUNCTION faults.by_seq(text) RETURNS text LANGUAGE plpgsql
SET enable_indexscan = off SET enable_indexonlyscan = off SET enable_bitmapscan = off
SET max_parallel_workers_per_gather = 0
AS $$ BEGIN RETURN faults.ask($1, NULL, 'Seq Scan'); END $$;

CREATE FUNCTION faults.by_index_only(text, name) RETURNS text LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET max_parallel_workers_per_gather = 0
AS $$ BEGIN RETURN faults.ask($1, $2, 'Index Only Scan'); END $$;

-- A tuple's cost is raised so that the planner doesn't call plans equally good that differ by one or two.
CREATE FUNCTION faults.by_count(text) RETURNS text LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET max_parallel_workers_per_gather = 0
SET cpu_tuple_cost = 1000
AS $$ BEGIN RETURN faults.ask($1, NULL, 'GpuCount'); END $$;

CREATE FUNCTION faults.by_index(text, name) RETURNS text LANGUAGE plpgsql
SET enable_seqscan = off SET enable_indexonlyscan = off SET enable_bitmapscan = off
SET max_parallel_workers_per_gather = 0
AS $$ BEGIN RETURN faults.ask($1, $2, 'Index Scan'); END $$;

CREATE FUNCTION faults.by_bitmap(text, name) RETURNS text LANGUAGE plpgsql
SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off
SET max_parallel_workers_per_gather = 0
AS $$ BEGIN RETURN faults.ask($1, $2, 'Bitmap Index Scan'); END $$;

CREATE FUNCTION faults.must_equal(p_what text, p_expected text, p_found text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
	IF p_expected IS DISTINCT FROM p_found THEN
		RAISE EXCEPTION '%: % by sequential scan, % through the index', p_what, p_expected, p_found
			USING ERRCODE = 'WRONG';
	END IF;
END $$;

-- Table p_table has columns id and k; p_index is a gpu_kary index on k.
CREATE FUNCTION faults.check(p_table regclass, p_index regclass, p_low bigint, p_high bigint,
	p_pause float8 DEFAULT 0) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	name name := (SELECT relname FROM pg_class WHERE oid = p_index);
	of_keys text := format('SELECT count(*) || '':'' || coalesce(sum(k), 0) || '':'' ||
		coalesce(sum(hashint8(k)), 0) FROM %s WHERE ', p_table);
	of_rows text := format('SELECT count(*) || '':'' || coalesce(sum(hashint8extended(id, coalesce(k, 0)) >> 8), 0)
		FROM %s WHERE ', p_table);
	in_order text := format('SELECT count(*) || '':'' || count(*) FILTER (WHERE k < before)
		FROM (SELECT k, lag(k) OVER () AS before FROM (SELECT k FROM %s WHERE ', p_table);
	condition text := format('k BETWEEN %s AND %s', p_low, p_high);
	keys bigint[] := ARRAY[p_low, p_high, (p_low::numeric + (p_high::numeric - p_low) / 2)::bigint, p_low, NULL];
	some_keys text := format('k = ANY (%L::bigint[])', keys);
	range_of_keys text; range_of_rows text; array_of_rows text; null_rows text; looked_up text; found text;
BEGIN
	IF current_setting('transaction_isolation') NOT IN ('repeatable read', 'serializable') THEN
		RAISE EXCEPTION 'faults.check() compares answers of one snapshot: begin REPEATABLE READ first';
	END IF;
	range_of_keys := faults.by_seq(of_keys || condition);
	range_of_rows := faults.by_seq(of_rows || condition);
	array_of_rows := faults.by_seq(of_rows || some_keys);
	null_rows := faults.by_seq(of_rows || 'k IS NULL');
	EXECUTE format('SELECT coalesce(string_agg(n || '':'' || row.ctid, '' '' ORDER BY n, row.ctid), '''')
		FROM unnest($1) WITH ORDINALITY AS key(v, n) JOIN %s AS row ON k = v', p_table) INTO looked_up USING keys;

	PERFORM pg_sleep(p_pause);

	PERFORM faults.must_equal(format('index-only scan, %s', condition), range_of_keys,
		faults.by_index_only(of_keys || condition, name));
	PERFORM faults.must_equal(format('index scan, %s', condition), range_of_rows,
		faults.by_index(of_rows || condition, name));
	PERFORM faults.must_equal(format('bitmap scan, %s', condition), range_of_rows,
		faults.by_bitmap(of_rows || condition, name));
	PERFORM faults.must_equal(format('array, %s', some_keys), array_of_rows,
		faults.by_index(of_rows || some_keys, name));
	PERFORM faults.must_equal('NULL keys', null_rows, faults.by_index(of_rows || 'k IS NULL', name));
	PERFORM faults.must_equal(format('order, %s', condition), split_part(range_of_rows, ':', 1) || ':0',
		faults.by_index_only(in_order || condition || ' ORDER BY k) AS sorted) AS pairs', name));
	PERFORM faults.must_equal(format('count scan, %s', condition), split_part(range_of_rows, ':', 1),
		faults.by_count(format('SELECT count(*) FROM %s WHERE %s', p_table, condition)));
	PERFORM faults.must_equal(format('count scan, %s', some_keys), split_part(array_of_rows, ':', 1),
		faults.by_count(format('SELECT count(*) FROM %s WHERE %s', p_table, some_keys)));
	PERFORM faults.must_equal('count scan, NULL keys', split_part(null_rows, ':', 1),
		faults.by_count(format('SELECT count(*) FROM %s WHERE k IS NULL', p_table)));
	PERFORM faults.must_equal(format('gpu.count, %s', condition), split_part(range_of_rows, ':', 1),
		gpu.count(p_index, ARRAY[p_low], ARRAY[p_high])::text);
	SELECT coalesce(string_agg(ordinal || ':' || tid, ' ' ORDER BY ordinal, tid), '') INTO found
		FROM gpu.lookup(p_index, keys);
	PERFORM faults.must_equal(format('gpu.lookup, %s', keys), looked_up, found);
	RETURN 'same';
END $$;
SQL

# Makes a cluster as PgGpuTest's new_cluster() does, with the checking functions in database postgres. `conf`,
# `streaming` and `checksums` go to new_cluster().
sub new_node
{
	my ($name, %params) = @_;
	my $conf = "shared_buffers = 16MB\nmax_parallel_workers_per_gather = 0\ndeadlock_timeout = 200ms\n"
	  . "log_checkpoints = off\n" . ($params{conf} // '');
	my $node = new_cluster($name, streaming => $params{streaming} // 0, checksums => $params{checksums} // 1, conf => $conf);
	$node->safe_psql('postgres', $checking_functions);
	return $node;
}

# Makes a table t(id, k, filler) with an index t_k, and fills it with `rows` rows: keys from 0 to `keys` and some NULLs.
# `type` is int4 or int8, `with` the WITH clause of the index, `name` another name for the table.
sub make_table
{
	my ($node, %params) = @_;
	my $name = $params{name} // 't';
	my $type = $params{type} // 'int8';
	my $rows = $params{rows} // 0;
	my $keys = $params{keys} // 100_000;
	my $with = $params{with} // '';
	my $kind = $params{kind} // '';
	my $seed = random_real(-1, 1);
	$node->safe_psql(
		$params{database} // 'postgres', qq{
SELECT setseed($seed);
CREATE $kind TABLE $name (id bigserial, k $type, filler text);
INSERT INTO $name (k)
	SELECT CASE WHEN random() < 0.01 THEN NULL ELSE (random() * $keys)::$type END
	FROM generate_series(1, $rows);
CREATE INDEX ${name}_k ON $name USING gpu_kary (k) $with;
});
	return;
}

# ---- running SQL --------------------------------------------------------------------------------------------

# Runs SQL in one psql session that stops at the first error. Returns a hash: `out`, `err`, and of the first
# error or lost connection its `code` (SQLSTATE, '08006' for a lost connection, '' without one).
sub sql
{
	my ($node, $sql, %params) = @_;
	my ($out, $err, $timed_out) = ('', '', 0);
	my $rc = eval { $node->psql(
		$params{database} // 'postgres', $sql,
		stdout => \$out,
		stderr => \$err,
		timeout => $params{timeout} // $patience,
		timed_out => \$timed_out,
		on_error_stop => 1,
		extra_params => [ '-v', 'VERBOSITY=verbose' ]) };
	# A psql that can't connect may end before it has been given the statement, which is an exception of IPC::Run.
	die $@ if !defined $rc && $@ !~ /Broken pipe/;
	$rc //= 2;
	my $code = '';
	if ($timed_out) { $code = 'HUNG'; }
	elsif ($err =~ /(?:ERROR|FATAL|PANIC):  ([0-9A-Z]{5}): /) { $code = $1; }
	elsif ($rc != 0) { $code = '08006'; }
	return { out => $out, err => $err, rc => $rc, code => $code };
}

# Starts SQL in one psql session in the background, with application name "victim"; finish_sql() waits for its
# end and returns what sql() would.
sub start_sql
{
	my ($node, $sql, %params) = @_;
	my $folder = PostgreSQL::Test::Utils::tempdir;
	append_to_file("$folder/sql", $sql);
	my @command = (
		'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-v', 'VERBOSITY=verbose',
		'-h', $node->host, '-p', $node->port, '-f', "$folder/sql", '-d', $params{database} // 'postgres');
	local $ENV{PGAPPNAME} = 'victim';
	my $handle = IPC::Run::start(\@command, '<', '/dev/null', '>', "$folder/out", '2>', "$folder/err");
	return { handle => $handle, out => "$folder/out", err => "$folder/err" };
}

sub finish_sql
{
	my ($run) = @_;
	my $fine = IPC::Run::finish($run->{handle});
	my $err = slurp_file($run->{err});
	my $code = $err =~ /(?:ERROR|FATAL|PANIC):  ([0-9A-Z]{5}): / ? $1 : $fine ? '' : '08006';
	return { out => slurp_file($run->{out}), err => $err, code => $code };
}

# Returns one value; ends the test when the query fails.
sub sql_value { my ($node, $sql) = @_; return $node->safe_psql('postgres', $sql); }

# Changes a setting in postgresql.conf and returns when new sessions have it. `$value` is written as SHOW shows it. What
# runs already hears of it before one of its next commands.
sub change_setting
{
	my ($node, $name, $value) = @_;
	# The last line counts.
	$node->append_conf('postgresql.conf', "$name = $value\n");
	$node->reload;
	wait_until(sub { return sql_value($node, "LOAD 'pg_gpu'; SHOW $name") eq $value }) or die "$name does not become $value";
	return;
}

# Waits for a condition that must come true. Returns false when it did not within the patience of the suite.
sub wait_until
{
	my ($condition, $pause) = @_;
	my $end = time() + $patience;
	$pause //= 10_000;
	while (time() < $end)
	{
		return 1 if $condition->();
		usleep($pause);
		# The pauses grow, because most conditions ask a session of their own, which takes the processor from what is
		# waited for.
		$pause *= 2 if $pause < 100_000;
	}
	return 0;
}

# ---- crashes ------------------------------------------------------------------------------------------------

# Returns state letter, parent and used processor time (in ticks) of a process from /proc, or an empty list when it is
# gone.
sub process_state
{
	my ($pid) = @_;
	open my $file, '<', "/proc/$pid/stat" or return;
	my $line = <$file>;
	close $file;
	return unless defined $line && $line =~ /^\d+ \(.*\) (\S) (\d+)(?: \S+){9} (\d+) (\d+)/s;
	return ($1, $2, $3 + $4);
}

# Waits until none of the processes runs any more. A zombie has let go of everything, so it counts as gone.
sub wait_gone
{
	my (@pids) = @_;
	return wait_until(
		sub {
			return !grep { my ($state) = process_state($_); defined $state && $state ne 'Z' } @pids;
		},
		2_000);
}

sub postmaster_pid
{
	my ($node) = @_;
	my ($pid) = split /\n/, slurp_file($node->data_dir . '/postmaster.pid');
	return $pid;
}

sub children_of
{
	my ($parent) = @_;
	opendir my $proc, '/proc' or die "cannot list /proc: $!";
	my @pids = grep { /^\d+$/ } readdir $proc;
	closedir $proc;
	my @children;
	foreach my $pid (@pids)
	{
		my ($state, $ppid) = process_state($pid);
		push @children, $pid if defined $ppid && $ppid == $parent;
	}
	return @children;
}

# Says whether for a second none of the cluster's processes works, or waits for a processor or a disk. It looks until
# `$while` is false.
sub stands_still
{
	my ($node, $while) = @_;
	my $postmaster = postmaster_pid($node);
	my ($looks, $used) = (0, -1);
	while ($while->())
	{
		return 1 if $looks == 100;
		usleep(10_000);
		my @states = map { [ process_state($_) ] } children_of($postmaster);
		my ($working, $ticks) = (0, 0);
		foreach my $process (grep { @$_ } @states)
		{
			$working ||= $process->[0] =~ /[RD]/;
			$ticks += $process->[2];
		}
		$looks = $working || $ticks != $used ? 0 : $looks + 1;
		$used = $ticks;
	}
	return 0;
}

# Kills the postmaster and all its children with signal 9 at one moment, as when a machine loses power but
# keeps its page cache. The postmaster is stopped first, so that it can neither fork nor tell its children.
sub crash_cluster
{
	my ($node) = @_;
	my $postmaster = postmaster_pid($node);
	kill 'STOP', $postmaster;
	wait_until(sub { my ($state) = process_state($postmaster); return !defined $state || $state =~ /[TZ]/ }, 200);
	my @children = children_of($postmaster);
	kill 'KILL', @children;
	$node->kill9;
	wait_gone($postmaster, @children) or die 'processes of the cluster outlive SIGKILL';

	# Where nothing reaps orphans (in containers without an init process) the zombie's id still looks alive.
	unlink $node->data_dir . '/postmaster.pid', $node->host . '/.s.PGSQL.' . $node->port . '.lock';
	return;
}

# Waits until a server that may be restarting can be written to.
sub answers_again
{
	my ($node) = @_;
	return wait_until(sub { return sql($node, 'SELECT NOT pg_is_in_recovery()')->{out} eq 't' });
}

# Kills one backend with signal 9, which makes the postmaster restart everybody, and waits for the restart. It needs
# restart_after_crash = on. Returns false when the backend had ended by itself.
sub crash_backend
{
	my ($node, $pid) = @_;
	return 0 unless kill 'KILL', $pid;
	wait_gone($pid) or die "backend $pid outlives SIGKILL";
	answers_again($node) or die 'no connections after the crash of a backend';
	return 1;
}

# Starts a crashed cluster; a failure to recover is a failed test, with the end of the log.
sub start_again
{
	my ($node, $what) = @_;
	my $started = $node->start(fail_ok => 1);
	if (!$started)
	{
		fail("$what: the cluster starts");
		my @log = split /\n/, slurp_file($node->logfile);
		diag join("\n", @log > 40 ? @log[ -40 .. -1 ] : @log);
		BAIL_OUT('no recovery after a crash');
	}
	return;
}

# ---- soundness ----------------------------------------------------------------------------------------------

# Passes when answers through the index equal those of a sequential scan, for the whole key range and some random parts.
sub check_answers
{
	my ($node, $table, $what, %params) = @_;
	my $index = $params{index} // "${table}_k";
	my $keys = $params{keys} // 100_000;
	my @ranges = ([ '-9223372036854775808', '9223372036854775807' ]);
	foreach my $width (1, 100, $keys / 3)
	{
		my $low = random_int(0, $keys);
		push @ranges, [ $low, $low + int($width) ];
	}
	my $statements = "BEGIN ISOLATION LEVEL REPEATABLE READ;\n";
	$statements .= "SELECT faults.check('$table', '$index', $_->[0], $_->[1]);\n" foreach @ranges;
	$statements .= "COMMIT;\n";
	my $result = sql($node, $statements, %params);
	return is(
		$result->{err} . $result->{out},
		join("\n", map { 'same' } @ranges),
		"$what: answers through $index equal a sequential scan's");
}

# Passes when the index is sound, answers rightly, and still takes inserts that are found again.
sub check_usable
{
	my ($node, $table, $what, %params) = @_;
	my $index = $params{index} // "${table}_k";
	check_sound($node, "$what: gpu.verify finds nothing in $index", $index);
	check_answers($node, $table, $what, %params);
	my $result = sql(
		$node, qq{
BEGIN;
INSERT INTO $table (k) SELECT 2000000000 + i FROM generate_series(1, 1500) AS i;
SELECT gpu.count('$index', ARRAY[2000000001], ARRAY[2000001500]);
DELETE FROM $table WHERE k > 2000000000;
SELECT gpu.count('$index', ARRAY[2000000001], ARRAY[2000001500]);
COMMIT;}, %params);
	return is($result->{err} . $result->{out}, "1500\n0", "$what: $table takes rows and deletes them");
}

# ---- clients in the background ------------------------------------------------------------------------------

# Scripts for start_clients() that exercise everything that writes to the index of make_table()'s table.
# `weights` names the kinds; a kind left out does not run. Rows are locked with SKIP LOCKED before they are
# changed, so that no two clients wait for each other and every error is one to look at.
sub workload
{
	my ($table, %weights) = @_;
	my $some_rows = "SELECT ctid FROM $table WHERE k BETWEEN :low AND :low + :width FOR UPDATE SKIP LOCKED";
	my $insert = "INSERT INTO $table (k) SELECT CASE WHEN i % 97 = 0 THEN NULL
		ELSE (:low + i * 7919) % 100001 END FROM generate_series(1, :rows) AS i;";
	my $variables = "\\set low random(0, 100000)\n\\set width random(1, 1200)\n\\set rows random(1, 900)\n";
	my %scripts = (
		insert => $insert,
		insert_async => "BEGIN; SET LOCAL synchronous_commit = off; $insert COMMIT;",
		insert_one => "INSERT INTO $table (k) VALUES (:low);",
		abort => "BEGIN; $insert SAVEPOINT s; $insert ROLLBACK TO s; $insert ROLLBACK;",
		savepoint => "BEGIN; $insert SAVEPOINT s; $insert ROLLBACK TO s; COMMIT;",
		delete => "DELETE FROM $table WHERE ctid = ANY (ARRAY($some_rows));",
		update => "UPDATE $table SET k = (k + 1) % 100001 WHERE ctid = ANY (ARRAY($some_rows LIMIT 100));",
		vacuum => "VACUUM (INDEX_CLEANUP ON) $table;",
		merge => "SELECT count(*) FROM gpu.merge('${table}_k');",
		checkpoint => 'CHECKPOINT;',
		check => "\\set high :low + :width\nBEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT faults.check('$table', '${table}_k', :low, :high);\nCOMMIT;",
		slow_check => "\\set high :low + :width\nBEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT faults.check('$table', '${table}_k', :low, :high, 0.1);\nCOMMIT;",);
	my @chosen;
	foreach my $kind (sort keys %weights)
	{
		my $script = $scripts{$kind} // die "no script $kind";
		$script =~ s/\s*\n(?=\s*(?:ELSE|COMMIT|SELECT))/ /g unless $kind =~ /check$/;
		push @chosen, [ $variables . join("\n", split /(?<=;) /, $script) . "\n", $weights{$kind} ];
	}
	return \@chosen;
}

# Waits until the standby has replayed all that has been committed. wait_for_catchup by itself waits for what has been written, which the
# last commits may not be yet where synchronous_commit is off: a commit that waits for the disk writes them too.
sub wait_for_standby
{
	my ($primary, $standby) = @_;
	$primary->safe_psql('postgres', "SET synchronous_commit = on; SELECT pg_logical_emit_message(true, 'pg_gpu', '')");
	$primary->wait_for_catchup($standby);
	return;
}

# Starts one pgbench with the given scripts ([text, weight]) that runs until stopped. Options: `clients`,
# `seconds`, `options` (PGOPTIONS), `seed`, `database`, `tries` (attempts after a serialization failure).
sub start_clients
{
	my ($node, $scripts, %params) = @_;
	my $folder = PostgreSQL::Test::Utils::tempdir;
	my $clients = $params{clients} // 4;
	my @command = (
		'pgbench', '-n',
		'-h', $node->host,
		'-p', $node->port,
		'-c', $clients,
		'-j', $clients > 2 ? 2 : 1,
		'-T', $params{seconds} // 600,
		'--random-seed=' . ($params{seed} // random_int(1, 2**30)));
	push @command, "--max-tries=$params{tries}" if $params{tries};
	my $number = 0;
	foreach my $script (@$scripts)
	{
		my ($text, $weight) = @$script;
		my $file = "$folder/" . $number++ . '.sql';
		append_to_file($file, $text);
		push @command, '-f', "$file\@$weight";
	}
	push @command, $params{database} // 'postgres';

	local $ENV{PGOPTIONS} = $params{options} // '';
	local $ENV{PGAPPNAME} = 'clients';
	my $handle =
	  IPC::Run::start(\@command, '<', '/dev/null', '>', "$folder/out", '2>', "$folder/err");
	return { handle => $handle, out => "$folder/out", err => "$folder/err" };
}

# Returns the number that the next transaction which writes will have.
sub next_transaction
{
	my ($node) = @_;
	return sql_value($node, 'SELECT pg_snapshot_xmax(pg_current_snapshot())');
}

# Waits for the clients to end by themselves: after their time, or when the cluster is gone.
sub finish_clients { my ($run) = @_; return IPC::Run::finish($run->{handle}); }

# Ends the clients now.
sub stop_clients { my ($run) = @_; return IPC::Run::kill_kill($run->{handle}, grace => 5); }

# Returns how many transactions the clients (a list of what start_clients() returned) finished.
sub client_transactions
{
	my ($runs) = @_;
	my $count = 0;
	foreach my $run (@$runs)
	{
		$count += $1 if slurp_file($run->{out}) =~ /number of transactions actually processed: (\d+)/;
	}
	return $count;
}

# Returns the errors that the clients (a list of what start_clients() returned) met, without those expected. Losing the
# connection in a crash is no error of a statement.
sub client_errors
{
	my ($runs, @expected) = @_;
	my @errors = map { grep { /ERROR:|FATAL:|PANIC:/ } split /\n/, slurp_file($_->{err}) } @$runs;
	push @expected, qr/terminating connection/, qr/the database system is/;
	foreach my $pattern (@expected) { @errors = grep { !/$pattern/ } @errors; }
	return join("\n", @errors);
}

# Returns the lines of the server's log that tell of a process that died, or that match `$more`.
sub bad_log_lines
{
	my ($node, $more) = @_;
	my $pattern = qr/PANIC|TRAP:|terminated by signal/;
	$pattern = qr/$pattern|$more/ if defined $more;
	return join("\n", grep { /$pattern/ } split /\n/, slurp_file($node->logfile));
}

# Returns the same lines, each with what follows: for a deadlock, who waited for whom and said what.
sub bad_log_context
{
	my ($node, $more) = @_;
	my %bad = map { $_ => 1 } split /\n/, bad_log_lines($node, $more);
	my ($wanted, @context) = (0);
	foreach my $line (split /\n/, slurp_file($node->logfile))
	{
		$wanted = 12 if $bad{$line};
		push @context, $line if $wanted-- > 0;
	}
	return join("\n", @context);
}

# ---- files --------------------------------------------------------------------------------------------------

# Returns the path of the main fork of a relation.
sub index_file
{
	my ($node, $relation, $database) = @_;
	my $path = $node->safe_psql($database // 'postgres', "SELECT pg_relation_filepath('$relation')");
	return $node->data_dir . "/$path";
}

sub index_blocks { my ($file) = @_; return (-s $file) / BLOCK_SIZE; }

sub pages_of_index
{
	my ($node, $index) = @_;
	return sql_value($node, "SELECT pg_relation_size('$index') / current_setting('block_size')::int");
}

# What an index's metapage says is reserved for runs that are being written, as src/storage/format.h has it: "" for nothing.
sub reserved_pages
{
	my ($node, $index) = @_;
	$node->safe_psql('postgres', 'CHECKPOINT');
	my @extents = unpack('x80 (VV)8', read_page(index_file($node, $index), 0));
	return join(' ', map { $extents[2 * $_ + 1] ? "$extents[2 * $_]+$extents[2 * $_ + 1]" : () } 0 .. 7);
}

sub read_page
{
	my ($file, $block) = @_;
	open my $handle, '<:raw', $file or die "$file: $!";
	sysseek $handle, $block * BLOCK_SIZE, 0 or die "$file: $!";
	my $page;
	(sysread($handle, $page, BLOCK_SIZE) // 0) == BLOCK_SIZE or die "$file: block $block cannot be read";
	close $handle;
	return $page;
}

sub write_page
{
	my ($file, $block, $page) = @_;
	die 'not a page' unless length($page) == BLOCK_SIZE;
	open my $handle, '+<:raw', $file or die "$file: $!";
	sysseek $handle, $block * BLOCK_SIZE, 0 or die "$file: $!";
	syswrite($handle, $page) == BLOCK_SIZE or die "$file: $!";
	close $handle or die "$file: $!";
	return;
}

# Returns the names of the cluster's temporary files.
sub temporary_files
{
	my ($node) = @_;
	my @found;
	foreach my $folder (glob($node->data_dir . '/base/pgsql_tmp'))
	{
		opendir my $handle, $folder or next;
		push @found, grep { !/^\./ } readdir $handle;
		closedir $handle;
	}
	return @found;
}

sub parallel_workers
{
	my ($node) = @_;
	return sql_value($node, q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker'});
}

# ---- cancelled statements ------------------------------------------------------------------------------------

# Returns how many milliseconds a statement takes when nobody disturbs it; `after` undoes it.
sub milliseconds_of
{
	my ($node, $settings, $statement) = @_;
	my $result = sql($node, "$settings SELECT extract(epoch FROM clock_timestamp()) AS begin \\gset
$statement;
SELECT 'took ' || extract(epoch FROM clock_timestamp()) - :begin;");
	die $result->{err} if $result->{code};
	return $result->{out} =~ /took ([0-9.]+)/ ? $1 * 1000 : die "no time in $result->{out}";
}

# Breaks a statement at several points. `before` prepares each try, `after` clears up. A statement that counts as `long`
# must be broken at least once, by the first timeout. `undone` says whether its work was left undone, which must be so
# after some timeout. On a busy machine all timeouts may have come too late, so more are tried.
sub break_statement
{
	my ($node, $name, %how) = @_;
	my $points = few_or_many(2, rounds(3, 12));
	my $settings = $how{settings} // '';
	my $before = $how{before} // '';
	my $after = $how{after} // '';
	my $whole = 0;
	$node->safe_psql('postgres', $before) if $before;
	$whole = milliseconds_of($node, $settings, $how{statement});
	$node->safe_psql('postgres', $after) if $after;

	my ($broken, $undone) = (0, 0);
	my @unclear;
	for my $point (0 .. $points + 40)
	{
		last if $point > $points && ($undone || !$how{undone});
		# The last try ends the whole session instead of the statement.
		my $terminate = $point == $points && !$how{no_terminate};
		my $share = $point > $points ? random_real(0, 1) : ($point - random_real(0, 1)) / $points;
		my $timeout = $point == 0 ? 1 : int($whole * $share) || 1;
		$node->safe_psql('postgres', $before) if $before;
		my $result;
		if ($terminate)
		{
			my $run = start_sql($node, "$settings\n$how{statement};\n");
			my $pid = '';
			wait_until(
				sub {
					$pid = sql_value($node, q{SELECT pid FROM pg_stat_activity WHERE application_name = 'victim' AND backend_type = 'client backend'});
					return $pid ne '' || !$run->{handle}->pumpable;
				},
				1_000);
			usleep(int(random_real(0, $whole) * 1000));
			$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid, 60000)") if $pid ne '';
			$result = finish_sql($run);
			push @unclear, $result->{err} unless $result->{code} =~ /^(57P01)?$/;
		}
		else
		{
			$result = sql($node, "$settings SET statement_timeout = $timeout; $how{statement}");
			$broken++ if $result->{code} eq '57014';
			$undone++
			  if $how{undone} && $point > 0 && $result->{code} eq '57014' && sql_value($node, $how{undone}) eq 't';
			# PostgreSQL starts the clock again after parsing, and reports a timeout that was over by then as the user's
			# request.
			push @unclear, $result->{err}
			  unless $result->{code} eq ''
			  || ($result->{code} eq '57014' && $result->{err} =~ /canceling statement due to (statement timeout|user request)/);
		}
		push @unclear, 'parallel workers stay behind'
		  unless wait_until(sub { return parallel_workers($node) == 0 });
		my @left = temporary_files($node);
		push @unclear, "temporary files: @left" if @left;
		$node->safe_psql('postgres', $after) if $after;
	}
	is(join("\n", @unclear), '', "$name: only clear errors, and nothing left behind");
	cmp_ok($broken, '>', 0, "$name: cancelled $broken times") if $how{long};
	cmp_ok($undone, '>', 0, "$name: cancelled in the middle, not at the end") if $how{undone};
	return;
}

1;
