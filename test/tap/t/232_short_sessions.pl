# suite: check
# What requests would have saved with a run resident is summed up over sessions: one that asks once each time loads
# nothing by itself, but many of them do.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use PgGpuTest::Faults;
use PgGpuTest::Server;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $path = ($ENV{PG_GPU_TEST_PATH} // '') eq 'cuda' ? 'cuda' : 'host';
# A question's lookups are expected to take 1.5 ms on pages, which is about what they take, and next to nothing elsewhere, and a
# load 20 ms.
my $costs = "paged_key = 0.15, ${path}_request = 1, ${path}_key = 0.001, ${path}_entry = 0.001, load = 80000, transfer = 0.01";
my $node = new_node('short', conf => "shared_preload_libraries = 'pg_gpu, pg_gpu_test'\nautovacuum = off\npg_gpu.request_timeout = 60s\npg_gpu.min_mirror_entries = 0\n"
	  . "pg_gpu.path = auto\npg_gpu_test.costs = '$costs'\n");
$node->safe_psql('postgres', q{
CREATE EXTENSION IF NOT EXISTS pg_gpu;
CREATE TABLE t (k int8);
INSERT INTO t SELECT i FROM generate_series(1, 20000) AS i;
CREATE INDEX t_k ON t USING gpu_kary (k);
VACUUM t;
});
my $question = q{SELECT count(*) FROM gpu.lookup('t_k', ARRAY(SELECT generate_series(1, 40000::bigint, 4)))};
my $right = 5000;
wait_for_server($node);
sub resident_runs { return sql_value($node, 'SELECT count(*) FROM gpu.mirrors'); }

my $wrong = 0;
my $sessions = 0;
do
{
	$wrong++ if sql_value($node, $question) != $right;
	$sessions++;
} until (resident_runs() > 0 || $sessions == 100);
is($wrong, 0, 'answers are right');
is(resident_runs(), 1, 'together they load the run');
cmp_ok($sessions, '>', 3, 'and not the first one');
# What was saved up is spent.
is(sql_value($node, q{SELECT gpu.evict('t_k') > 0}), 't', 'the mirror is evicted');
is(sql_value($node, $question), $right, 'the answer is right again');
is(resident_runs(), 0, 'one more session does not load it again');

# None of these sessions asked for a device, so that none has missed it where there is none.
SKIP:
{
	skip 'there is a device', 3 if sql_value($node, q{SELECT cuda <> 'absent' FROM gpu.server}) eq 't';
	my $missed = q{SELECT coalesce(sum(fallbacks), 0) FROM gpu.stat WHERE path = 'cuda'};
	# Pages and the processors look dear, so that the device is tried first.
	my $dear = "paged_key = 1.5, host_request = 1000, host_key = 0.1, cuda_request = 1, cuda_key = 0.001, cuda_entry = 0.001";
	is(sql_value($node, "SET pg_gpu_test.costs = '$dear'; $question"), $right, 'a session that would take a device gets its answer');
	is(sql_value($node, $missed), 0, 'which is no fallback');
	sql_value($node, "SET client_min_messages = error; SET pg_gpu.path = cuda; $question");
	cmp_ok(sql_value($node, $missed), '>', 0, 'a session that asks for a device has one');
}

$node->stop;
done_testing();
