# Damaged indexes: faults planted in their files, bytes flipped at random, and what is asked of them afterwards. The server
# must neither crash nor hang; a statement that notices raises a corruption error with a hint to REINDEX; gpu.verify
# finds every planted fault, and whatever changes an answer; and REINDEX mends the index.
#
#   foreach my $method (damaged_methods('kary', 'grid'))
#   {
#       ask_damaged($method, 'planted', $method->faults);
#   }
#
# PgGpuTest::Damage::Kary and the others say what is different: `name`; `rows` and `table`, the SQL that makes table rows and
# then table :t with index :t_i of some of them; `faults`, a hash of name => [ kind, sub($file) ]; `flips` and `random_fault`, how
# many files are damaged at random, and a function of a file that does so; `questions`, [ name, settings, statement about :t, the
# statement that gives its answer without the index ]; and `writes`, [ name, statement ]. Kinds of faults:
#
#   refused: no statement that reads the index may give an answer
#   loud:    a statement raises an error or answers rightly
#   silent:  entries lie about the table in a way no lookup can see; gpu.verify must
#   unused:  nothing goes by what was changed, and answers are right
#   random:  as silent, but gpu.verify need not notice what no answer shows
package PgGpuTest::Damage;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use PgGpuTest;
use PgGpuTest::Faults;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(damaged_methods ask_damaged change listed_runs built_run section_block flip_anywhere flip_runs CONTENT META_RUNS RUN_ENTRY TAIL);

# Where things lie, as src/storage/format.h has them. A page's content begins behind the page header and ends before the
# stamp.
use constant {
	CONTENT => 24,
	META_RUNS => 24 + 128,
	RUN_ENTRY => 128,
	TAIL => 1,
};

# A length read from a damaged page must not fill the disk of whoever runs this: no file grows beyond 128 MB.
if (!$ENV{PG_GPU_TEST_LIMITED})
{
	$ENV{PG_GPU_TEST_LIMITED} = 1;
	exec 'sh', '-c', 'ulimit -f 262144 && exec "$@"', 'sh', $^X, (map { "-I$_" } @INC), $0, @ARGV;
}

sub damaged_methods
{
	my @names = @_;
	return map {
		my $class = 'PgGpuTest::Damage::' . ucfirst;
		eval "require $class" or die $@;
		bless {}, $class;
	} @names ? @names : qw(kary grid text column);
}

# Most methods leave these empty: the first problem that gpu.verify reports of a fault, as "block: problem"; what the
# errors must say of it; and whether gpu.verify reports it without an error of its own.
sub problem { return; }
sub complaint { return; }
sub verify_reads_on { return 0; }

# ---- the file's format --------------------------------------------------------------------------------------

# Changes `length` bytes of a block to others, or through a function of the old bytes.
sub change
{
	my ($file, $block, $offset, $length, $new) = @_;
	my $page = read_page($file, $block);
	substr($page, $offset, $length) = ref $new ? $new->(substr($page, $offset, $length)) : $new;
	write_page($file, $block, $page);
	return;
}

# Returns the runs of the metapage's list. `at` is where on the metapage a run's entry lies, `blocks` are those of its
# pages in order, `sections` the first page of each section: dead bitmap, entries, and two of the method's.
sub listed_runs
{
	my ($file) = @_;
	my $page = read_page($file, 0);
	my $count = unpack('v', substr($page, CONTENT + 6, 2));
	my @runs;
	foreach my $number (0 .. $count - 1)
	{
		my $at = META_RUNS + $number * RUN_ENTRY;
		my $entry = substr($page, $at, RUN_ENTRY);
		my ($entries) = unpack('Q<', substr($entry, 16, 8));
		my @extents = unpack('V8', substr($entry, 48, 32));
		my @sections = unpack('V8', substr($entry, 80, 32));
		my (undef, $extent_count, undef, $bitmap_offset) = unpack('VvvV', substr($entry, 112, 12));
		my @blocks;
		foreach my $extent (0 .. $extent_count - 1)
		{
			push @blocks, map { $extents[ 2 * $extent ] + $_ } 0 .. $extents[ 2 * $extent + 1 ] - 1;
		}
		push @runs, { at => $at, entries => $entries, blocks => \@blocks, sections => [ @sections[ 0, 2, 4, 6 ] ],
			bitmap_offset => $bitmap_offset };
	}
	return @runs;
}

# Returns the largest run, which is the one that CREATE INDEX made.
sub built_run
{
	my ($file) = @_;
	my ($run) = sort { $b->{entries} <=> $a->{entries} } listed_runs($file);
	return $run;
}

# Returns the block of a section's page, of its first one unless told.
sub section_block { my ($run, $section, $page) = @_; return $run->{blocks}[ $run->{sections}[$section] + ($page // 0) ]; }

# Flips bits of a byte at a place, from 0 to 1, in a block, or in any one where none is named. On the metapage only the
# bytes that four runs use are flipped.
sub flip_anywhere
{
	my ($file, $block, $place, $bits) = @_;
	$block //= int($place * index_blocks($file));
	my $in_use = $block == 0 ? META_RUNS + RUN_ENTRY * 4 : BLOCK_SIZE;
	change($file, $block, int($place * 65_521) % $in_use, 1, sub { chr(ord($_[0]) ^ $bits) });
	return;
}

# Returns a function of a file that flips a few bytes of the contents behind the tail.
sub flip_runs
{
	my @flips = map { [ rand(), rand(), random_int(1, 255) ] } 1 .. random_int(1, 12);
	return sub {
		my ($file) = @_;
		foreach my $flip (@flips)
		{
			my ($place, $at, $bits) = @$flip;
			my $block = TAIL + 1 + int($place * (index_blocks($file) - TAIL - 1));
			change($file, $block, CONTENT + int($at * (BLOCK_SIZE - CONTENT - 64)), 1, sub { chr(ord($_[0]) ^ $bits) });
		}
	};
}

# ---- asking and looking -------------------------------------------------------------------------------------

# The SQL that asks one table all questions and prints the SQLSTATE after every statement.
sub conversation
{
	my ($method, $table) = @_;
	my $reset = "RESET ALL; SET statement_timeout = '100s'; SET client_min_messages = warning;\n";
	my $text = "\\set VERBOSITY verbose\n$reset";
	my $ask = sub {
		my ($name, $statement) = @_;
		$text .= "\\echo <<$name\n$statement;\n\\echo >>:SQLSTATE\n";
	};
	$ask->('verify', q{SELECT count(*) FROM gpu.verify(':t_i', true)});
	$ask->('verify alone', q{SELECT count(*) FROM gpu.verify(':t_i', false)});
	$ask->('problem', q{SELECT block || ': ' || problem FROM gpu.verify(':t_i') LIMIT 1});
	foreach my $question ($method->questions)
	{
		$text .= "SET enable_seqscan = off; $question->[1]\n";
		$ask->($question->[0], $question->[2]);
		$text .= $reset;
	}
	$ask->(@$_) foreach $method->writes,
		[ 'vacuum', q{DELETE FROM :t WHERE id % 50 = 7; VACUUM (INDEX_CLEANUP ON) :t} ],
		[ 'gpu.merge', q{SELECT count(*) >= 0 FROM gpu.merge(':t_i')} ];
	$text .= 'SET enable_seqscan = off;';
	$ask->('scan', ($method->questions)[0][2]);
	$text .= $reset;
	$ask->('vacuum again', q{DELETE FROM :t WHERE id % 50 = 8; VACUUM (INDEX_CLEANUP ON) :t});
	$ask->('reindex', q{REINDEX INDEX :t_i});
	$ask->('mended', q{SELECT count(*) FROM gpu.verify(':t_i', true)});
	return $text =~ s/:t(?![a-z])/$table/gr;
}

# Returns what the statements of a conversation answered and their SQLSTATE, by name; what psql said; and what is wrong
# with that: a statement may only succeed, or end by a corruption error with its hint.
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
	push @problems, "something was left behind: $err" if $err =~ /WARNING/;
	# Each error of ours says what to do. (PostgreSQL's own, XX001, about pages it can't read do not.)
	my $errors = () = $err =~ /ERROR:  (?:XX002|55000)/g;
	my $hints = () = $err =~ /HINT:  [^\n]*REINDEX/g;
	push @problems, "$errors errors with $hints hints to REINDEX" if $errors > $hints;
	return (\%answer, \%state, $err, @problems);
}

# Returns when the server's processes began. A dead backend makes the postmaster restart everybody, so it would change.
sub alive_since
{
	my ($node) = @_;
	answers_again($node) or die 'the server does not answer';
	return sql_value($node, q{SELECT backend_start FROM pg_stat_activity WHERE backend_type = 'checkpointer'});
}

# Returns what is wrong with what a fault's index answered.
sub wrong_answers
{
	my ($method, $name, $kind, $right, $answer, $state) = @_;
	my @problems;
	my $found = $state->{verify} ne '00000' || $answer->{verify} > 0;
	my $problem = $method->problem($name);
	push @problems, "gpu.verify says: $answer->{problem}" if defined $problem && $answer->{problem} ne $problem;
	push @problems, 'gpu.verify found nothing' unless $found || $kind =~ /random|unused/;
	push @problems, 'gpu.verify gave up' if $kind ne 'random' && $method->verify_reads_on($name) && $state->{verify} ne '00000';
	foreach my $asked (sort keys %$right)
	{
		next unless $state->{$asked} eq '00000';
		push @problems, "$asked: an answer from an index that nothing may be read from" if $kind eq 'refused';
		next if $answer->{$asked} eq $right->{$asked};
		push @problems, "$asked: $answer->{$asked} instead of $right->{$asked}" if $kind =~ /loud|unused/;
		push @problems, "$asked: $answer->{$asked} instead of $right->{$asked}, and gpu.verify found nothing" if !$found;
	}
	push @problems, 'a row in an index that nothing may be read from'
		if $kind eq 'refused' && ($state->{'one insert'} // '') eq '00000';
	push @problems, 'not mended by REINDEX' unless $state->{reindex} eq '00000' && $answer->{mended} eq '0';
	return @problems;
}

# Makes a table for each fault, damages the indexes while the server is down, and asks each of them; each fault is a
# test. gpu.verify must notice a good part of random faults.
sub ask_damaged
{
	my ($method, $what, %faults) = @_;
	my @names = sort keys %faults;
	# With checksums, PostgreSQL would refuse damaged pages.
	my $node = new_node($method->name . "_$what", checksums => 0,
		conf => "restart_after_crash = on\nshared_buffers = 64MB\nmax_locks_per_transaction = 1000\n");
	my $script = 'SET client_min_messages = warning;' . $method->rows;
	my %table;
	$table{ $names[$_] } = "d$_" foreach 0 .. $#names;
	$script .= $method->table($_) =~ s/:t(?![a-z])/d$_/gr foreach 0 .. $#names;
	$node->safe_psql('postgres', $script);
	my %file = map { $_ => index_file($node, "$table{$_}_i") } @names;
	$node->stop;
	$faults{$_}[1]->($file{$_}) foreach @names;
	$node->start;

	# These are the answers that the questions should give: the sequential scan's, the same for every table.
	my $started = alive_since($node);
	$node->safe_psql('postgres', 'CREATE TABLE sound AS SELECT * FROM d0');
	my %right;
	foreach my $question ($method->questions)
	{
		my ($name, undef, $statement, $without_index) = @$question;
		$right{$name} = sql_value($node, ($without_index // $statement) =~ s/:t(?![a-z])/sound/gr);
	}

	my ($random, $noticed) = (0, 0);
	foreach my $name (@names)
	{
		my $kind = $faults{$name}[0];
		my ($answer, $state, $err, @problems) = converse($node, conversation($method, $table{$name}));
		push @problems, wrong_answers($method, $name, $kind, \%right, $answer, $state) if defined $state->{mended};
		my $complaint = $method->complaint($name);
		push @problems, 'no message of its own' if defined $complaint && $err !~ $complaint;
		my $now = alive_since($node);
		push @problems, 'the server crashed' if $now ne $started;
		$started = $now;
		is(join("\n", @problems), '', $method->name . ", $name ($kind)") or diag $err;
		$random++ if $kind eq 'random';
		$noticed++ if $kind eq 'random' && (($state->{verify} // '') ne '00000' || $answer->{verify} > 0);
	}
	cmp_ok($noticed, '>', $random / 4, $method->name . ', gpu.verify noticed damage') if $random > 0;
	is(bad_log_lines($node), '', $method->name . ', no process died');
	$node->stop;
	return;
}

1;
