# Damaged gpu_column files: bytes flipped at random in TIDs, dictionaries, codes, headers and sealed tails. The server must
# neither crash nor hang; a statement that notices raises a corruption error with a hint to REINDEX; whatever changes
# an answer is found by gpu.verify, which leaves nothing behind; and REINDEX mends the index. What all access methods
# share is damaged by 160_damage.pl.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
BEGIN
{
	# A length read from a damaged page must not fill the disk of whoever runs this: no file grows beyond 128 MB.
	if (!$ENV{PG_GPU_TEST_LIMITED})
	{
		$ENV{PG_GPU_TEST_LIMITED} = 1;
		exec 'sh', '-c', 'ulimit -f 262144 && exec "$@"', 'sh', $^X, (map { "-I$_" } @INC), $0, @ARGV;
	}
}

use PgGpuFaults;
use PgGpuTest;
use PostgreSQL::Test::Utils;
use Test::More;

use constant { CONTENT => 24, TAIL => 1 };

fault_seed();

# Blocks behind the tail, as a file has them at random: of TIDs, of the stream of words, of headers, of sealed tails.
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

my $node = new_node('column_damage', conf => "restart_after_crash = on\nshared_buffers = 64MB\nmax_locks_per_transaction = 1000\n");
my $count = rounds(24, 400);
my $script = q{
SET client_min_messages = warning;
CREATE TABLE rows AS SELECT i AS id, i * 7919 % 5003 AS k, CASE WHEN i % 13 > 0 THEN 'w' || i % 701 END AS t, i * 1000000007::int8 * 7 AS l,
	i % 40 / 4::numeric AS n FROM generate_series(1, 4000) AS i;
};
foreach my $number (1 .. $count)
{
	# One run from the build with dead entries in it, sealed tails, and a tail.
	$script .= "CREATE TABLE d$number (id int, k int, t text, l int8, n numeric);
INSERT INTO d$number SELECT * FROM rows WHERE id <= 3500;
CREATE INDEX d${number}_i ON d$number USING gpu_column (k, t, l, n);
DELETE FROM d$number WHERE id BETWEEN 700 AND 750;
VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) d$number;
INSERT INTO d$number SELECT * FROM rows WHERE id > 3500;\n";
}
$script .= "CREATE TABLE sound (LIKE d1); INSERT INTO sound SELECT * FROM d1; CREATE INDEX sound_i ON sound USING gpu_column (k, t, l, n);";
$node->safe_psql('postgres', $script);
my %file = map { $_ => index_file($node, "d${_}_i") } 1 .. $count;
$node->stop;
flip($file{$_}, map { [ rand(), rand(), random_int(1, 255) ] } 1 .. random_int(1, 12)) foreach 1 .. $count;
$node->start;

my $alive_since = q{SELECT backend_start FROM pg_stat_activity WHERE backend_type = 'checkpointer'};
my $started = sql_value($node, $alive_since);

# Asked of the sound table too.
my @questions = (
	[ 'range', q{SELECT count(*) || ':' || coalesce(sum(id), 0) FROM :t WHERE k BETWEEN 500 AND 3000} ],
	[ 'like', q{SELECT count(*) || ':' || coalesce(sum(id), 0) FROM :t WHERE t LIKE 'w1%' AND n > 2.5} ],
	[ 'null', q{SELECT count(*) || ':' || coalesce(sum(id), 0) FROM :t WHERE t IS NULL AND l > 1000000007} ],
	[ 'numeric', q{SELECT count(*) || ':' || coalesce(sum(id), 0) FROM :t WHERE n = ANY ('{1.25,3}')} ],);
my @others = (
	[ 'count', q{SELECT gpu.count(':t_i', 'k < 1000 AND t > ''w3''')} ],
	[ 'histogram', q{SELECT count(*) FROM gpu.histogram(':t_i', 'l')} ],
	[ 'dictionary', q{SELECT count(*) FROM gpu.dictionary(':t_i', 't')} ],
	[ 'columns', q{SELECT count(*) FROM gpu.columns(':t_i')} ],
	[ 'insert', q{INSERT INTO :t SELECT id + 10000, k, t, l, n FROM rows WHERE id <= 900} ],
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
		push @problems, "$statement: SQLSTATE $state{$statement}" unless $state{$statement} =~ /^(00000|XX001|XX002)$/;
	}
	my $errors = () = $err =~ /ERROR:  XX002/g;
	my $hints = () = $err =~ /HINT:  [^\n]*REINDEX/g;
	push @problems, "$errors errors with $hints hints to REINDEX" if $errors > $hints;
	push @problems, "something was left behind: $err" if $err =~ /WARNING/;
	my $found = ($state{verify} // '') ne '00000' || ($answer{verify} // 0) > 0;
	$noticed++ if $found;
	foreach my $question (@questions)
	{
		my $asked = $question->[0];
		push @problems, "$asked: $answer{$asked} instead of $right{$asked}, and gpu.verify found nothing"
			if !$found && ($state{$asked} // '') eq '00000' && $answer{$asked} ne $right{$asked};
	}
	push @problems, 'not mended by REINDEX' unless ($state{reindex} // '') eq '00000' && ($answer{mended} // '') eq '0';

	# A dead backend makes the postmaster restart everybody; statistics of the restart tell.
	$node->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die 'the server does not answer';
	my $now = sql_value($node, $alive_since);
	push @problems, 'the server crashed' if $now ne $started;
	$started = $now;
	is(join("\n", @problems), '', "file $number");
}
cmp_ok($noticed, '>', $count / 4, 'gpu.verify noticed damage');
is(bad_log_lines($node), '', 'no process died');
$node->stop;
done_testing();
