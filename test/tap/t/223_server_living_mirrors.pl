# suite: check
# Beside writers whose runs are merged all the time, gpu.mirrors has no more than twice as many mirrors as there are living runs for
# longer than a second in which questions are asked, whoever merged.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use List::Util qw(max);
use PgGpuTest;
use PgGpuTest::Faults;
use PgGpuTest::Server;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

fault_seed();

my $path = ($ENV{PG_GPU_TEST_PATH} // '') eq 'cuda' ? 'cuda' : 'host';
my $seconds = $ENV{PG_GPU_TEST_SECONDS} || rounds(8, 60);

# Even runs of a sealed tail are loaded.
my $node = new_node('living', conf => "autovacuum = off\nmax_worker_processes = 12\npg_gpu.request_timeout = 60s\npg_gpu.min_mirror_entries = 0\nsynchronous_commit = off\n");
$node->safe_psql('postgres', q{
CREATE EXTENSION IF NOT EXISTS pg_gpu;
CREATE SEQUENCE places;
CREATE TABLE t (k int8, x int8, c text, v tsvector);
CREATE INDEX t_kary ON t USING gpu_kary (k) WITH (fanout = 2);
CREATE INDEX t_grid ON t USING gpu_grid (k, x) WITH (fanout = 2);
CREATE INDEX t_column ON t USING gpu_column (k, c) WITH (fanout = 2);
CREATE INDEX t_text ON t USING gpu_text (v) WITH (fanout = 2);
});
my $rows = q{SELECT i, i % 1000, 'c' || i % 10, to_tsvector('simple', 'common w' || i % 7) FROM generate_series(1, 500::bigint) AS i};
my @writes = ([ "INSERT INTO t $rows;\n", 4 ], [ "DELETE FROM t WHERE ctid = ANY (ARRAY(SELECT ctid FROM t OFFSET random() * 1000 LIMIT 50 FOR UPDATE SKIP LOCKED));\n", 1 ],
	map { [ "SELECT gpu.merge('t_$_');\n", 1 ] } qw(kary grid column text));
my @questions = (
	q{SELECT count(*) FROM gpu.lookup('t_kary', ARRAY(SELECT generate_series(1, 3000::bigint)))},
	q{SELECT gpu.count('t_grid', ARRAY[1, 0], ARRAY[3000, 998])},
	q{SELECT gpu.count('t_column', $$c <> 'c3'$$)},
	q{SELECT count(*) FROM gpu.search('t_text', 'w3', 20, 'or')});
my $runs = 'SELECT sum(count) FROM (' . join(' UNION ALL ', map { "SELECT count(*) FROM gpu.runs('t_$_')" } qw(kary grid column text)) . ') AS r';

$node->safe_psql('postgres', "INSERT INTO t $rows") foreach 1 .. 3;
my $session = new_session($node);
$session->query_safe("SET pg_gpu.path = $path");
my $readers = start_clients($node, [ map { [ "$_;\n", 1 ] } @questions ], clients => 1, seconds => $seconds, options => "-c pg_gpu.path=$path");
# Writers never ask the server process anything.
my $writers = start_clients($node, \@writes, clients => 2, seconds => $seconds, options => '-c pg_gpu.path=paged');

my (%seen, @excess, $since, $asked);
my ($looks, $longest, $max_runs) = (0, 0, 0);
my $end = time + $seconds;
while (time < $end)
{
	# Runs may be merged between two looks at them: the larger number counts.
	my $before = $session->query_safe($runs);
	$session->query_safe($_) foreach @questions;
	my @mirrors = split /\n/, $session->query_safe('SELECT index_name, run_id FROM gpu.mirrors');
	my $living = max($before, $session->query_safe($runs));
	$seen{$_} = 1 foreach @mirrors;
	$max_runs = max($max_runs, $living);
	$looks++;
	if (@mirrors <= 2 * $living) { ($since, $asked) = (undef, 0); next; }
	# A machine that stands still for a second has asked nothing meanwhile.
	$since //= time;
	$asked += @questions;
	$longest = max($longest, time - $since) if $asked >= 5 * @questions;
	push @excess, scalar(@mirrors) . " for $living";
}
finish_clients($_) foreach $readers, $writers;
is(client_errors([ $readers, $writers ]), '', 'no errors');
note "$looks looks, at most $max_runs runs, " . keys(%seen) . ' mirrors in all';
cmp_ok(scalar(keys %seen), '>', 2 * $max_runs, 'many more runs have been mirrored than lived at a time');
cmp_ok($longest, '<=', 1, 'mirrors go with their runs') or diag join(', ', @excess);
$session->quit;
is(bad_log_lines($node), '', 'no process died');
$node->stop;
done_testing();
