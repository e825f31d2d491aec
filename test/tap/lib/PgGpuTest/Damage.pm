# Damaged indexes: bytes flipped at random in their files, and what is asked of them afterwards.
package PgGpuTest::Damage;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use PgGpuTest::Faults;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(new_damageable make_damaged ask_damaged alive_since converse);

use constant { CONTENT => 24, TAIL => 1 };

# A length read from a damaged page must not fill the disk of whoever runs this: no file grows beyond 128 MB.
if (!$ENV{PG_GPU_TEST_LIMITED})
{
	$ENV{PG_GPU_TEST_LIMITED} = 1;
	exec 'sh', '-c', 'ulimit -f 262144 && exec "$@"', 'sh', $^X, (map { "-I$_" } @INC), $0, @ARGV;
}

# A cluster that damaged pages are read in: with checksums, PostgreSQL would refuse them.
sub new_damageable
{
	my ($name) = @_;
	return new_node($name, checksums => 0,
		conf => "restart_after_crash = on\nshared_buffers = 64MB\nmax_locks_per_transaction = 1000\n");
}

# Blocks behind the tail, as a file has them at random.
sub flip
{
	my ($file, @flips) = @_;
	foreach my $flip (@flips)
	{
		my ($place, $at, $bits) = @$flip;
		my $block = TAIL + 1 + int($place * (index_blocks($file) - TAIL - 1));
		my $page = read_page($file, $block);
		my $offset = CONTENT + int($at * (BLOCK_SIZE - CONTENT - 64));
		substr($page, $offset, 1) = chr(ord(substr($page, $offset, 1)) ^ $bits);
		write_page($file, $block, $page);
	}
	return;
}

# Runs the script, which makes tables d1 to dN with indexes d1_i to dN_i, and table sound with the rows of each, and damages
# the indexes while the server is down: those that `planted` has a function of a file for by it, the others at random.
sub make_damaged
{
	my ($node, $count, $script, $planted) = @_;
	$node->safe_psql('postgres', $script);
	my %file = map { $_ => index_file($node, "d${_}_i") } 1 .. $count;
	$node->stop;
	foreach my $number (1 .. $count)
	{
		my $plant = $planted->{$number} // sub { flip($_[0], map { [ rand(), rand(), random_int(1, 255) ] } 1 .. random_int(1, 12)) };
		$plant->($file{$number});
	}
	$node->start;
	return;
}

# What the statements of a psql script answered and their SQLSTATE, by the names they have in it (<<name, the statement, >>:SQLSTATE),
# what psql said, and what is wrong with that: no statement may end otherwise than well or by a corruption error with its hint.
# The last statement's name is `mended`.
sub converse
{
	my ($node, $text) = @_;
	my ($out, $err, $timed_out) = ('', '', 0);
	$node->psql('postgres', $text, stdout => \$out, stderr => \$err, on_error_stop => 0,
		timeout => 2 * $PostgreSQL::Test::Utils::timeout_default, timed_out => \$timed_out);
	my (%answer, %state);
	while ($out =~ /^<<([^\n]*)\n(.*?)^>>(\w+)$/msg)
	{
		$answer{$1} = $2;
		$state{$1} = $3;
		chomp $answer{$1};
	}
	my @problems;
	push @problems, 'the conversation never ended' if $timed_out;
	push @problems, "it broke off: $err" unless defined $state{mended};
	foreach my $statement (sort keys %state)
	{
		push @problems, "$statement: SQLSTATE $state{$statement}" unless $state{$statement} =~ /^(00000|XX001|XX002|55000)$/;
	}
	# Each error of ours says what to do. (PostgreSQL's own, XX001, about pages it can't read do not.)
	my $errors = () = $err =~ /ERROR:  (?:XX002|55000)/g;
	my $hints = () = $err =~ /HINT:  [^\n]*REINDEX/g;
	push @problems, "$errors errors with $hints hints to REINDEX" if $errors > $hints;
	return (\%answer, \%state, $err, @problems);
}

# When the server's processes began: a dead backend makes the postmaster restart everybody.
sub alive_since
{
	my ($node) = @_;
	$node->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die 'the server does not answer';
	return sql_value($node, q{SELECT backend_start FROM pg_stat_activity WHERE backend_type = 'checkpointer'});
}

# Asks each damaged table the questions, [ name, statement about :t ], which the sound one is asked too, then does `others`. Last come an
# insert, VACUUM, gpu.merge and REINDEX. No statement may end otherwise than well or by a corruption error with its hint,
# and a wrong answer is all right only if gpu.verify found something.
sub ask_damaged
{
	my ($node, $count, $questions, $others) = @_;
	my $started = alive_since($node);
	my @questions = @$questions;
	my @others = (
		@$others,
		[ 'vacuum', q{DELETE FROM :t WHERE id % 50 = 7; VACUUM (INDEX_CLEANUP ON) :t} ],
		[ 'merge', q{SELECT count(*) >= 0 FROM gpu.merge(':t_i')} ],
		[ 'reindex', q{REINDEX INDEX :t_i} ],
		[ 'mended', q{SELECT count(*) FROM gpu.verify(':t_i', true)} ],);

	my %right;
	foreach my $question (@questions)
	{
		my ($name, $statement) = @$question;
		$statement =~ s/:t\b/sound/g;
		$right{$name} = sql_value($node, "SET enable_indexscan = off; SET enable_bitmapscan = off; $statement");
	}

	my $noticed = 0;
	foreach my $number (1 .. $count)
	{
		my $text = "\\set VERBOSITY verbose\nSET statement_timeout = '30s'; SET client_min_messages = warning; SET enable_seqscan = off;\n";
		foreach my $asked ([ 'verify', q{SELECT count(*) FROM gpu.verify(':t_i', true)} ], @questions, @others)
		{
			$text .= "\\echo <<$asked->[0]\n$asked->[1];\n\\echo >>:SQLSTATE\n";
		}
		$text =~ s/:t(?![a-z])/d$number/g;
		my ($answer, $state, $err, @problems) = converse($node, $text);
		push @problems, "something was left behind: $err" if $err =~ /WARNING/;
		my $found = ($state->{verify} // '') ne '00000' || ($answer->{verify} // 0) > 0;
		$noticed++ if $found;
		foreach my $question (@questions)
		{
			my $asked = $question->[0];
			push @problems, "$asked: $answer->{$asked} instead of $right{$asked}, and gpu.verify found nothing"
				if !$found && ($state->{$asked} // '') eq '00000' && $answer->{$asked} ne $right{$asked};
		}
		push @problems, 'not mended by REINDEX' unless ($state->{reindex} // '') eq '00000' && ($answer->{mended} // '') eq '0';

		my $now = alive_since($node);
		push @problems, 'the server crashed' if $now ne $started;
		$started = $now;
		is(join("\n", @problems), '', "file $number");
	}
	cmp_ok($noticed, '>', $count / 4, 'gpu.verify noticed damage');
	is(bad_log_lines($node), '', 'no process died');
	return;
}

1;
