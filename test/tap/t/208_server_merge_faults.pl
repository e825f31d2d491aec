# suite: long
# A merge that the server process leaves halfway, of a run whose mirror lacks dead bits: a VACUUM that broke off has set them
# and told nobody. Pages take up where the server stopped, and no row is missing.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest::Faults;
use PgGpuTest::Server;
use PgGpuTest;
use Test::More;
use Time::HiRes qw(time usleep);

fault_seed();
my $path = ($ENV{PG_GPU_TEST_PATH} // '') eq 'cuda' ? 'cuda' : 'host';

# Entries come from the server in pieces of 65536.
use constant { ROWS => 600_000, MORE => 2_000, TRIES => 40 };

my $node = new_node('halfway', conf => "pg_gpu.path = $path\npg_gpu.mirror = manual\n");
$node->safe_psql('postgres', q{
CREATE EXTENSION pg_buffercache;
CREATE EXTENSION pg_prewarm;
CREATE TABLE t (k int8, v int);
CREATE TABLE filler AS SELECT i, repeat('x', 1000) AS x FROM generate_series(1, 30000) AS i;
});

# Makes a large run of which some entries are known to be dead, with a mirror, and small ones. Then a third of the large
# one's rows is deleted, and a VACUUM marks them, meets a page that it can't read, and ends without having said what it
# did.
sub leave_unknown_dead_bits
{
	$node->safe_psql('postgres', qq{
DROP INDEX IF EXISTS t_k;
TRUNCATE t;
INSERT INTO t SELECT (i * 7919) % 1000003, i FROM generate_series(1, @{[ROWS]}::bigint) AS i;
CREATE INDEX t_k ON t USING gpu_kary (k) WITH (fanout = 64);
});
	my $file = index_file($node, 't_k');
	# This block is a leaf: pages of other kinds lie behind the leaves.
	my $block = int(0.9 * pages_of_index($node, 't_k'));
	$node->safe_psql('postgres', 'DELETE FROM t WHERE v % 1000 = 0');
	$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) t');
	$node->safe_psql('postgres', "INSERT INTO t SELECT i * 400, -i FROM generate_series(1, @{[MORE]}::bigint) AS i");
	# The server process starts when it is asked for.
	wait_until(sub { return sql($node, q{SELECT gpu.load('t_k')})->{code} eq '' }) or die 'no mirror';
	$node->safe_psql('postgres', 'DELETE FROM t WHERE k % 3 = 0 AND v > 0');
	$node->safe_psql('postgres', 'CHECKPOINT');
	wait_until(sub { return sql_value($node, qq{SELECT pg_prewarm('filler') IS NULL; SELECT count(*) FROM pg_buffercache
		WHERE relfilenode = pg_relation_filenode('t_k') AND relblocknumber = $block}) =~ /^0$/m }, 0) or die 'the page stays in the buffers';
	my $page = read_page($file, $block);
	write_page($file, $block, 'x' x BLOCK_SIZE);
	my $vacuum = sql($node, 'VACUUM (INDEX_CLEANUP ON) t');
	write_page($file, $block, $page);
	die "VACUUM did not break off: $vacuum->{err}" unless $vacuum->{code} eq 'XX001';
	return;
}

# Merges all runs; kills the server process after some seconds, if any are given. Returns how long the merge took, and
# which path it says has merged.
sub merge_all
{
	my ($patience) = @_;
	# The id must not be 0, because a signal to 0 would be this test's own.
	my $server = server_pid($node) || die 'no server process';
	my $began = time();
	my $merge = start_sql($node, q{SET client_min_messages = error; SELECT path FROM gpu.merge('t_k')});
	if (defined $patience)
	{
		usleep($patience * 1e6);
		kill 'KILL', $server;
	}
	my $result = finish_sql($merge);
	die $result->{err} if $result->{code} ne '';
	chomp $result->{out};
	return (time() - $began, $result->{out});
}

sub entries { return sql_value($node, q{SELECT sum(entries) FROM gpu.runs('t_k')}); }

my $by_table = 'SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off';
my $by_index = 'SET pg_gpu.path = paged; SET enable_seqscan = off';
my $question = 'SELECT count(*), sum(k) FROM t WHERE k >= 0';

# First nothing fails on the way: entries that the mirror doesn't know to be dead go into the merged run.
leave_unknown_dead_bits();
my ($whole, $merged_by) = merge_all();
my $by_server = entries();
my $dead = ROWS + MORE - sql_value($node, 'SELECT count(*) FROM t');
is($merged_by, $path, 'the server merges');
cmp_ok($by_server, '>', ROWS, 'and takes for alive what its mirror takes to be alive');
is(sql_value($node, "$by_index; $question"), sql_value($node, "$by_table; $question"), 'all rows are found');

my ($tries, $halfway) = (0, 0);
while ($tries < TRIES && $halfway < rounds(2))
{
	$tries++;
	# A server process that is killed again and again is started later and later.
	$node->restart;
	leave_unknown_dead_bits();
	my (undef, $by) = merge_all(random_real(0.1, 1) * $whole);
	my $entries = entries();
	if ($by_server - $dead < $entries && $entries < $by_server)
	{
		$halfway++;
		is($by, 'paged', 'a merge that pages ended is the paged path\'s');
	}
	my ($found, $right) = map { sql_value($node, "$_; $question") } $by_index, $by_table;
	is($found, $right, "all rows are found: $entries entries, from " . ($by_server - $dead) . " to $by_server");
	check_sound($node, 'gpu.verify finds nothing', 't_k');
}
cmp_ok($halfway, '>', 0, "pages went on with what the server had begun ($tries tries)");

$node->stop;
done_testing();
