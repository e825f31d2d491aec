# suite: check
# One backend killed while it seals a tail or merges runs, which makes PostgreSQL restart everybody; and
# merges broken off by a timeout, a cancel or a crash: nothing is lost, and the room that a broken merge had
# reserved is used again.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest::Faults;
use PgGpuTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep time);

fault_seed();

my $node = new_node('broken', conf => "restart_after_crash = on\n");
make_table($node, rows => 1_000, with => 'WITH (fanout = 3)');

sub client_pid
{
	my $pid;
	wait_until(
		sub {
			$pid = sql_value($node,
				q{SELECT min(pid) FROM pg_stat_activity WHERE application_name = 'clients' AND state = 'active'
					AND backend_type = 'client backend'});
			return $pid ne '';
		}) or die 'no client came';
	return $pid;
}

# ---- a backend killed in a seal -----------------------------------------------------------------------------

for my $round (1 .. rounds(3))
{
	my $what = "seal $round";
	my $file = index_file($node, 't_k');
	my $async = $round % 2 == 0 ? '-c synchronous_commit=off' : '';
	my $run = start_clients($node, workload('t', insert => 3, insert_one => 1, delete => 1),
		clients => 1, options => $async);
	my $pid = client_pid();

	# A seal that finds no free page makes the file longer. That is the moment to strike, or a little later. When no
	# seal does so for a while, any moment will do.
	my $size = -s $file;
	my $end = time() + 1;
	while (-s $file == $size && time() < $end) { }
	my $late = time() + ($round % 3 == 0 ? 0 : random_real(0, 0.0005));
	while (time() < $late) { }

	ok(crash_backend($node, $pid), "$what: the backend was killed and the cluster came back");
	finish_clients($run);
	is(client_errors([$run]), '', "$what: no errors of the client");
	check_sound($node, "$what: gpu.verify finds nothing", 't_k');
	check_answers($node, 't', $what);
}
check_usable($node, 't', 'after the seals');

# ---- broken merges ------------------------------------------------------------------------------------------

make_table($node, name => 'big', rows => 250_000, keys => 10_000_000);
my $more_runs = 'INSERT INTO big (k) SELECT i * 1009 % 10000000 FROM generate_series(1, 6000) AS i';
my $merge = q{SELECT count(*) FROM gpu.merge('big_k')};

# This measures the length of a whole merge, and the file's size when it has held an old and a new run side by side.
$node->safe_psql('postgres', "$more_runs; $merge; $more_runs");
my $begin = time();
$node->safe_psql('postgres', $merge);
my $milliseconds = (time() - $begin) * 1000;

sub listed_pages { return sql_value($node, q{SELECT sum(pages) FROM gpu.runs('big_k')}); }

# There is room for the runs, for a full copy of them by the merge under way, and for as much again as inserts need
# between merges. Room that is never given back would exceed this after the second broken merge.
sub max_pages { return 2.3 * listed_pages() + 100; }

cmp_ok(pages_of_index($node, 'big_k'), '<=', max_pages(), 'a whole merge needs room for two copies');

my $broken = 0;
# The merge that was measured may have been slower than these are, so that all timeouts come too late. Then more are tried.
my $tries = rounds(5);
for (my $round = 1; $round <= $tries || ($broken == 0 && $round <= $tries + 40); $round++)
{
	$node->safe_psql('postgres', $more_runs) if $round % 3 == 1 || $broken == 0;
	my $timeout = int(random_real(1, $milliseconds)) || 1;
	my $result = sql($node, "SET statement_timeout = $timeout; $merge");
	like($result->{code}, qr/^(57014)?$/, "merge $round: only the timeout of $timeout ms breaks it");
	$broken++ if $result->{code} ne '';
	cmp_ok(pages_of_index($node, 'big_k'), '<=', max_pages(), "merge $round: reserved room is used again");
}
cmp_ok($broken, '>', 0, "$broken merges were broken off");
check_sound($node, 'after broken merges: gpu.verify finds nothing', 'big_k');

for my $round (1 .. rounds(2))
{
	my $what = "crash in merge $round";
	$node->safe_psql('postgres', $more_runs);
	my $run = start_clients($node, [ [ "$more_runs;\n$merge;\n", 1 ] ], clients => 1);
	my $pid = client_pid();
	usleep(random_int(0, 2_000 * $milliseconds));
	if ($round % 2)
	{
		crash_cluster($node);
		finish_clients($run);
		start_again($node, $what);
	}
	else
	{
		crash_backend($node, $pid);
		finish_clients($run);
	}
	is(client_errors([$run]), '', "$what: no errors of the client");
	check_sound($node, "$what: gpu.verify finds nothing", 'big_k');
	cmp_ok(pages_of_index($node, 'big_k'), '<=', max_pages(), "$what: reserved room is used again");
}

$node->safe_psql('postgres', $merge);
is(sql_value($node, q{SELECT count(*) FROM gpu.runs('big_k')}), 1, 'a whole merge succeeds in the end');
cmp_ok(pages_of_index($node, 'big_k'), '<=', max_pages(), 'and needs no more room than before');
check_usable($node, 'big', 'after broken merges', keys => 10_000_000);

$node->stop;
done_testing();
