# suite: check
# The whole cluster killed with signal 9 at random moments, under inserts, seals, merges, vacuum and
# checkpoints: after recovery the index is sound and answers as the table does.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest::Faults;
use PgGpuTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

fault_seed();

# Asynchronous commits should lose their WAL in a crash, so the WAL writer seldom comes.
my $node = new_node('crash', conf => "wal_writer_delay = 10s\nwal_writer_flush_after = 0\n");
make_table($node, rows => 20_000, with => 'WITH (fanout = 4)');
make_table($node, rows => 1_000, name => 'narrow', type => 'int4', with => 'WITH (fanout = 2)');

# What the clients do in a round; each round takes the next one.
my @mixes = (
	[ 'everything', '', insert => 6, insert_async => 4, insert_one => 4, abort => 2, savepoint => 2,
		delete => 4, update => 4, vacuum => 2, merge => 1, checkpoint => 1 ],
	[ 'inserts, asynchronous', '-c synchronous_commit=off', insert => 8, insert_one => 8, abort => 1, delete => 3 ],
	[ 'vacuum and merge', '', insert => 3, delete => 3, update => 3, vacuum => 4, merge => 4 ],
	[ 'everything, asynchronous', '-c synchronous_commit=off', insert => 6, insert_one => 4, abort => 2,
		delete => 4, update => 4, vacuum => 2, merge => 1, checkpoint => 1 ],);

for my $round (1 .. rounds(3))
{
	my ($name, $options, %weights) = @{ $mixes[ ($round - 1) % @mixes ] };
	my $what = "round $round, $name";
	my $before = next_transaction($node);
	my @runs = map {
		start_clients($node, workload($_, %weights), clients => 3, options => $options)
	} ('t', 'narrow');
	# On a busy machine clients take longer to begin than they are given below.
	wait_until(sub { next_transaction($node) > $before + 60 }) or die "$what: the clients don't begin";
	usleep(random_int(300_000, 1_500_000));
	crash_cluster($node);
	finish_clients($_) foreach @runs;
	is(client_errors(\@runs), '', "$what: no errors before the crash");
	cmp_ok(client_transactions(\@runs), '>', 10, "$what: the clients had work going");
	start_again($node, $what);
	foreach my $table ('t', 'narrow')
	{
		check_sound($node, "$what: gpu.verify finds nothing in ${table}_k", "${table}_k");
		check_answers($node, $table, $what);
	}
}

check_usable($node, 't', 'at the end');
check_usable($node, 'narrow', 'at the end');

$node->stop;
done_testing();
