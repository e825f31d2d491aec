# suite: check
# A machine that loses power keeps of the pages written since the last checkpoint what it likes: the old
# page, the new one, or some sectors of each; and a file that had grown may be short again. After every crash
# here the index file is put into such a state. Recovery must bring back every page from the WAL alone.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest::Faults;
use PgGpuTest;
use List::Util qw(min);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

use constant SECTOR => 512;

fault_seed();

# There are few buffers, so that most changed pages reach the file before the crash.
my $node = new_node('torn', conf => "max_wal_size = 8GB\nshared_buffers = 1MB\nwal_level = replica\n");
make_table($node, rows => 20_000, with => 'WITH (fanout = 4)');
make_table($node, rows => 1_000, name => 'narrow', type => 'int4', with => 'WITH (fanout = 2)');

# Where recovery would begin.
sub checkpoint_of
{
	my ($out) = run_command([ 'pg_controldata', $node->data_dir ]);
	return $out =~ /REDO location:\s+(\S+)/ ? $1 : die 'pg_controldata shows no checkpoint';
}

# Counts the blocks that two states of a file have both, and that differ. VACUUM may have cut the file.
sub changed_blocks
{
	my ($old, $new) = @_;
	my $blocks = min(length($old), length($new)) / BLOCK_SIZE;
	return scalar grep { substr($old, $_ * BLOCK_SIZE, BLOCK_SIZE) ne substr($new, $_ * BLOCK_SIZE, BLOCK_SIZE) } 0 .. $blocks - 1;
}

# Puts a file that was $old at the checkpoint and is $new now into a state that a power cut could leave.
sub lose_writes
{
	my ($file, $old, $new) = @_;
	my $old_blocks = length($old) / BLOCK_SIZE;
	my $blocks = length($new) / BLOCK_SIZE;
	my %changed = (kept => 0, lost => 0, torn => 0);

	# The end of a file that has grown may be missing altogether, and that of one that was cut may be there again.
	$blocks = random_int($old_blocks, $blocks) if $blocks > $old_blocks && rand() < 0.5;
	$new .= substr($old, length($new)) if $blocks < $old_blocks && rand() < 0.5;
	$blocks = length($new) / BLOCK_SIZE if $blocks < $old_blocks;
	my $result = '';
	for my $block (0 .. $blocks - 1)
	{
		my $after = substr($new, $block * BLOCK_SIZE, BLOCK_SIZE);
		my $before =
		  $block < $old_blocks ? substr($old, $block * BLOCK_SIZE, BLOCK_SIZE) : "\0" x BLOCK_SIZE;
		my $what = $before eq $after ? 'same' : random_pick('kept', 'lost', 'torn');
		$changed{$what}++;
		if ($what eq 'lost') { $after = $before; }
		elsif ($what eq 'torn')
		{
			for (my $at = 0; $at < BLOCK_SIZE; $at += SECTOR)
			{
				substr($after, $at, SECTOR) = substr($before, $at, SECTOR) if rand() < 0.5;
			}
		}
		$result .= $after;
	}
	open my $handle, '>:raw', $file or die "$file: $!";
	print $handle $result;
	close $handle or die "$file: $!";
	note "$file: $changed{lost} pages lost, $changed{torn} torn, $changed{kept} kept, "
	  . length($new) / BLOCK_SIZE . " blocks cut to $blocks";
	return $changed{lost} + $changed{torn};
}

my @mixes = (
	{ insert => 6, insert_one => 4, abort => 2, savepoint => 2, delete => 4, update => 4, vacuum => 2, merge => 1 },
	{ insert => 2, insert_one => 2, delete => 4, vacuum => 4, merge => 4 },);

for my $round (1 .. rounds(2))
{
	my $what = "round $round";
	my %files = map { $_ => index_file($node, "${_}_k") } ('t', 'narrow');
	$node->safe_psql('postgres', 'CHECKPOINT');
	my %old = map { $_ => slurp_file($files{$_}) } keys %files;
	my $checkpoint = checkpoint_of();

	my $mix = $mixes[ ($round - 1) % @mixes ];
	my @runs = map { start_clients($node, workload($_, %$mix), clients => 3) } ('t', 'narrow');
	# On a busy machine clients take longer to begin than they are given below. Some of the pages written are kept as they are, so
	# there must be many for one to be lost.
	wait_until(sub { return changed_blocks($old{t}, slurp_file($files{t})) >= 20 }) or die "$what: no pages are written";
	usleep(random_int(300_000, 1_000_000));
	crash_cluster($node);
	finish_clients($_) foreach @runs;
	is(client_errors(\@runs), '', "$what: no errors before the crash");
	is(checkpoint_of(), $checkpoint, "$what: no checkpoint since the copy");

	my $damaged = 0;
	$damaged += lose_writes($files{$_}, $old{$_}, slurp_file($files{$_})) foreach sort keys %files;
	cmp_ok($damaged, '>', 0, "$what: pages were lost or torn");
	start_again($node, $what);
	foreach my $table ('t', 'narrow')
	{
		check_sound($node, "$what: gpu.verify finds nothing in ${table}_k", "${table}_k");
		check_answers($node, $table, $what);
	}
}

# None of a new index's pages outlives the crash: the WAL must hold all of them, and the tail's first items, too.
$node->safe_psql(
	'postgres', q{
CHECKPOINT;
CREATE INDEX t_built ON t USING gpu_kary (k);
REINDEX INDEX narrow_k;
INSERT INTO t (k) SELECT generate_series(1, 100);
});
my @built = map { index_file($node, $_) } ('t_built', 'narrow_k');
crash_cluster($node);
truncate($_, 0) || die "$_: $!" foreach @built;
start_again($node, 'after a build');
check_sound($node, 'after a build: gpu.verify finds nothing in t_built', 't_built');
$node->safe_psql('postgres', 'DROP INDEX t_built');

check_usable($node, 't', 'at the end');
check_usable($node, 'narrow', 'at the end');

$node->stop;
done_testing();
