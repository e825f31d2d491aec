package PgGpuTest::Fuzz;

# Random statements over random tables, asked of PostgreSQL's own plans and of pg_gpu's nodes, on every path.
#
#   my $found = fuzz(random => $random, tables => 10, statements => 30, rows => 3000);
#   $found->{differences}     texts, each with all that repeats it
#   $found->{asked}, {by_node}, {joins}, {failed}, {undecided}, {rows}
#   $found->{not_answered}    reasons of the node's for leaving a statement to PostgreSQL after all, with their counts
#
# With joins => 1 all tables are such that GpuQuery joins them, and most statements do. With writers => 1 other sessions write
# meanwhile, and statements are asked within one snapshot. The server is that of PGHOST and the like, where the database has pg_gpu and the functions of prepare_fuzz().

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
our @EXPORT = qw(prepare_fuzz fuzz);

use File::Temp ();
use PgGpuTest::Fuzz::Answers;
use PgGpuTest::Fuzz::Statements;
use PgGpuTest::Fuzz::Tables;
use PgGpuTest::Fuzz::Types;

my @without = (
	'SET pg_gpu.enable_query = off', 'SET pg_gpu.enable_count_scan = off', 'SET pg_gpu.enable_lookup_join = off', 'SET enable_seqscan = on',
	'SET enable_indexscan = off', 'SET enable_bitmapscan = off', 'SET work_mem = \'64MB\'');
my @with = (
	'SET pg_gpu.enable_query = on', 'SET pg_gpu.enable_count_scan = on', 'SET pg_gpu.enable_lookup_join = on', 'SET enable_seqscan = off',
	'SET enable_indexscan = on', 'SET enable_bitmapscan = off');
my @always = (
	'SET max_parallel_workers_per_gather = 0', "SET plan_cache_mode = force_generic_plan", 'SET extra_float_digits = 1', 'SET parallel_setup_cost = 0', 'SET parallel_tuple_cost = 0',
	'SET min_parallel_table_scan_size = 0');

sub prepare_fuzz
{
	my $session = PgGpuTest::Fuzz::Answers->new;
	$session->run($_) foreach shared_objects();
	$session->finish;
	return;
}

# How a statement is asked of the nodes, on a path and with so many parallel workers.
sub _with
{
	my ($statement, $variant) = @_;
	return (
		@with,
		'SET enable_partitionwise_aggregate = ' . ($statement->{partitionwise} ? 'on' : 'off'),
		"SET pg_gpu.path = $variant->{path}",
		"SET work_mem = '$variant->{work_mem}'",
		'SET max_parallel_workers_per_gather = ' . ($variant->{workers} // 0),
		# So that what workers give each by itself doesn't outweigh the work on a few thousand rows.
		$variant->{workers} ? 'SET cpu_tuple_cost = 0' : 'RESET cpu_tuple_cost',
		'SET parallel_leader_participation = ' . ($variant->{without_leader} ? 'off' : 'on'));
}

# ---- asking -----------------------------------------------------------------------------------------------

# The statements that ask one: as it is, prepared, or by a cursor that goes back and forth. $before: EXPLAIN or nothing.
sub _statements_of
{
	my ($statement, $before) = @_;
	my $sql = sql_of($statement);
	return ("${before}$sql") unless $statement->{parameters} || ($statement->{by_cursor} && $before eq '');
	return ("DECLARE c SCROLL CURSOR FOR $sql", 'FETCH 2 c', 'FETCH ALL c', 'FETCH BACKWARD ALL c') if $statement->{by_cursor};
	my @parameters = @{ $statement->{parameters} };
	my $types = join ', ', map { $_->{type} } @parameters;
	my $prepare = 'PREPARE asked' . (@parameters ? " ($types)" : '') . " AS $sql";
	my $execute = sub { $before . 'EXECUTE asked' . (@parameters ? ' (' . join(', ', @_) . ')' : '') };
	my @given = map { $_->{literal} } @parameters;
	return ($prepare, $execute->(@given), $before eq '' && @parameters ? $execute->(map { $statement->{with_nulls} ? 'NULL' : $_ } @given) : ());
}

sub _list
{
	my ($statement, $before, @settings) = @_;
	my $in_transaction = $statement->{transaction};
	return [ @settings, $statement->{setting}, $in_transaction ? 'SAVEPOINT asked' : (), _statements_of($statement, $before), $in_transaction ? 'ROLLBACK TO asked' : (), 'DEALLOCATE ALL' ];
}

# What a statement is asked in: its transaction, if it has one, begins here.
sub _begin
{
	my ($self, $statement) = @_;
	my $transaction = $statement->{transaction} or return;
	$self->{session}->run("BEGIN ISOLATION LEVEL $transaction->{level}");
	foreach my $change (@{ $transaction->{changes} })
	{
		# One that fails is an answer of PostgreSQL's like any other.
		my ($answer) = $self->{session}->ask([ 'SAVEPOINT change', $change ]);
		$self->{session}->ask([ $answer->{error} ? 'ROLLBACK TO change' : 'RELEASE change' ]);
	}
	return;
}

# The first difference between PostgreSQL's answer and the others; '' when there is none.
sub _difference_of
{
	my ($self, $statement, $counts) = @_;
	my @variants = @{ $statement->{variants} };
	my $session = $self->{session};
	$self->_begin($statement);
	my ($expected, $explained, @answers) = $session->ask(
		_list($statement, '', @without, 'SET max_parallel_workers_per_gather = 0'), _list($statement, 'EXPLAIN (COSTS OFF) ', _with($statement, { path => 'host', work_mem => '4MB' })),
		map { _list($statement, $_->{explain} ? 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' : '', _with($statement, $_)) } @variants);
	$session->run('ROLLBACK') if $statement->{transaction};
	if ($counts)
	{
		$counts->{asked}++;
		$counts->{rows} += @{ $expected->{rows} };
		$counts->{by_node}++ if grep { $_->[0] =~ /Gpu(?:Query|Count)/ } @{ $explained->{rows} };
		$counts->{joins}++ if grep { $_->[0] =~ /^ *Join: / } @{ $explained->{rows} };
		$counts->{failed}{ $expected->{error} }++ if defined $expected->{error};
	}
	foreach my $i (0 .. $#variants)
	{
		my $where = $variants[$i]{path} . ", work_mem = $variants[$i]{work_mem}, workers " . ($variants[$i]{workers} // 0);
		if ($variants[$i]{explain})
		{
			return "$where: EXPLAIN (ANALYZE) fails with $answers[$i]{error}" if defined $answers[$i]{error} && $answers[$i]{error} =~ /^XX/;
			next unless $counts;
			$counts->{explained}++;
			$counts->{not_answered}{$_}++ foreach map { $_->[0] =~ /Fallback Reason: (.*)/ ? $1 : () } @{ $answers[$i]{rows} };
			next;
		}
		my $difference = difference($expected, $answers[$i], $statement);
		return "$where: $difference" if $difference ne '';
		$counts->{undecided}++ if $counts && defined($expected->{error}) != defined($answers[$i]{error});
	}
	return '';
}

# Leaves out of a statement what the difference doesn't need.
sub _shrink
{
	my ($self, $statement, $difference) = @_;
	my $left = 60;
	my $smaller = 1;
	while ($smaller && $left > 0)
	{
		$smaller = 0;
		foreach my $candidate (simpler_statements($statement))
		{
			last if $left-- <= 0;
			my $other = $self->_difference_of($candidate);
			next if $other eq '';
			($statement, $difference, $smaller) = ($candidate, $other, 1);
			last;
		}
	}
	return ($statement, $difference);
}

sub _described
{
	my ($self, $table, $statement, $difference) = @_;
	my ($path, $work_mem, $workers) = $difference =~ /^(\w+), work_mem = (\w+), workers (\d+)/;
	my $transaction = $statement->{transaction};
	my $text = join "\n", "-- $difference" =~ s/\n/\n-- /gr, (map { "$_;" } $self->{writers} ? '-- beside other writers' : (), @{ $table->{setup} },
		@always, $statement->{setting}, $transaction ? ("BEGIN ISOLATION LEVEL $transaction->{level}", @{ $transaction->{changes} }) : (),
		_with($statement, { path => $path // 'host', work_mem => $work_mem // '4MB', workers => $workers }), _statements_of($statement, '')), '';
	# The tests' output is one of bytes.
	utf8::encode($text);
	return $text;
}

# ---- what is asked ----------------------------------------------------------------------------------------

sub _choose_statement
{
	my ($self, $table, $number) = @_;
	my $random = $self->{random};
	my $statement = random_statement($random, $table);
	my @variants = map { { path => $_, work_mem => '4MB' } } @{ $self->{paths} };
	push @variants, { path => $random->pick(@{ $self->{paths} }), work_mem => $random->pick('64kB', '64kB', '200kB') };
	push @variants, { path => $random->pick(@{ $self->{paths} }), work_mem => $random->pick('4MB', '4MB', '64kB'), workers => $random->pick(1, 2, 4), without_leader => $random->once_in(4), explain => $random->once_in(6) };
	push @variants, { path => $random->pick(@{ $self->{paths} }), work_mem => $random->pick('4MB', '64kB'), explain => 1 } if $number % 4 == 0;
	$statement->{variants} = \@variants;
	$statement->{setting} = 'SET timezone = ' . $random->pick("'UTC'", "'UTC'", "'America/New_York'", "'Asia/Kathmandu'");
	$statement->{with_nulls} = $random->once_in(3);
	$statement->{partitionwise} = $random->once_in(2);
	if ($self->{writers} || $random->once_in(5))
	{
		my $level = $self->{writers} ? 'REPEATABLE READ' : $random->pick('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE');
		my @changes = grep { !/VACUUM|BEGIN|gpu\.merge|REINDEX|TRUNCATE/ } map { random_change($random, $table) } 1 .. $random->between(0, 3);
		$statement->{transaction} = { level => $level, changes => $self->{writers} ? [] : \@changes };
		$statement->{by_cursor} = 1 if $statement->{is_ordered} && $statement->{body}{order}{is_total} && !$statement->{parameters};
	}
	return $statement;
}

# Starts sessions that write into the table until they are told to stop. They have begun when it returns.
sub _start_writers
{
	my ($self, $table) = @_;
	my @writers;
	foreach my $writer (1 .. 2)
	{
		my $script = File::Temp->new;
		binmode($script, ':utf8');
		# What TRUNCATE takes away is gone for older snapshots, too.
		print $script map { "$_;\n" } grep { !/^TRUNCATE/ } map { random_change($self->{random}, $table) } 1 .. 500;
		$script->flush;
		my $process = fork() // die "no process: $!";
		if ($process == 0)
		{
			open(STDOUT, '>', '/dev/null');
			open(STDERR, '>', '/dev/null');
			exec 'psql', '-X', '-q', '-f', $script->filename or die;
		}
		push @writers, { process => $process, script => $script };
	}
	my $newest = sub { ($self->{session}->run('SELECT pg_snapshot_xmax(pg_current_snapshot())'))[0] };
	my $before = $newest->();
	select(undef, undef, undef, 0.01) while $newest->() eq $before;
	return @writers;
}

sub fuzz
{
	my (%option) = @_;
	my $random = $option{random};
	my $self = bless { random => $random, writers => $option{writers}, session => PgGpuTest::Fuzz::Answers->new }, __PACKAGE__;
	my $session = $self->{session};
	$session->run($_) foreach @always;
	$self->{paths} = [ 'host', $session->run('SELECT 1 FROM gpu.devices()') ? 'cuda' : () ];
	my $found = { asked => 0, by_node => 0, joins => 0, rows => 0, explained => 0, undecided => 0, failed => {}, not_answered => {}, differences => [] };
	foreach my $round (1 .. $option{tables})
	{
		my $table = random_table($random, "fuzz_$round", $option{rows}, $option{joins}, type_names());
		my $statement;
		my @writers;
		my $went_well = eval {
			$session->run($_) foreach (map { "DROP TABLE IF EXISTS $_->{name} CASCADE" } $table, @{ $table->{joined} }), @{ $table->{setup} };
			@writers = $self->_start_writers($table) if $option{writers};
			foreach my $number (1 .. $option{statements})
			{
				$statement = $self->_choose_statement($table, $number);
				my $difference = $self->_difference_of($statement, $found);
				next if $difference eq '';
				push @{ $found->{differences} }, $self->_described($table, $option{writers} ? ($statement, $difference) : $self->_shrink($statement, $difference));
				last if @{ $found->{differences} } >= 5;
			}
			1;
		};
		my $problem = $went_well ? undef : $@;
		kill 'TERM', map { $_->{process} } @writers;
		waitpid($_->{process}, 0) foreach @writers;
		if (defined $problem)
		{
			push @{ $found->{differences} }, $statement ? $self->_described($table, $statement, $problem) : join(";\n", "-- $problem", @{ $table->{setup} });
			return $found;
		}
		last if @{ $found->{differences} } >= 5;
	}
	$session->finish;
	return $found;
}

1;
