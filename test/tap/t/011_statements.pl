# suite: check
# Random statements over random tables with gpu_column indexes, with pg_gpu's plan nodes and without, on all paths there are:
# the same answers, also beside sessions that write. PG_GPU_TEST_SEED and PG_GPU_TEST_ROUNDS choose others; test/fuzz/sql
# asks by the thousand.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use PgGpuTest::Fuzz;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_cluster('main', conf => "pg_gpu.request_timeout = 60s\n");
local @ENV{qw(PGHOST PGPORT PGDATABASE)} = ($node->host, $node->port, 'postgres');
prepare_fuzz();

my $random = new_random();
my ($asked, $by_node) = (0, 0);
foreach my $round (1 .. test_rounds())
{
	foreach my $writers (0, 1)
	{
		my $found = fuzz(random => $random, writers => $writers, $writers ? (tables => 3, statements => 20) : (tables => 12, statements => 22), rows => 3000);
		is(join("\n", @{ $found->{differences} }), '', "round $round" . ($writers ? ', beside writers' : '') . ": $found->{asked} statements");
		$asked += $found->{asked};
		$by_node += $found->{by_node};
	}
}
cmp_ok($by_node, '>', $asked / 10, "$by_node statements of $asked were answered by nodes");
is($node->safe_psql('postgres', "SELECT sum(requests) > 50 FROM gpu.stat WHERE request = 'query' AND path = 'host'"), 't', 'the server process has answered');
$node->stop;
done_testing();
