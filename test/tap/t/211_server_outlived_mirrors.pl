# suite: check
# Mirrors end with their runs and indexes, whoever merged or dropped these, and whether that session had a connection to
# the server process or not.

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
my $node = new_node('outlived', conf => "autovacuum = off\npg_gpu.request_timeout = 60s\n");
$node->safe_psql('postgres', q{
CREATE EXTENSION IF NOT EXISTS pg_gpu;
CREATE TABLE t (k int8, x int8, c text, v tsvector);
CREATE INDEX t_kary ON t USING gpu_kary (k);
CREATE INDEX t_grid ON t USING gpu_grid (k, x);
CREATE INDEX t_column ON t USING gpu_column (k, c);
CREATE INDEX t_text ON t USING gpu_text (v);
CREATE TABLE other (k int8);
INSERT INTO other SELECT generate_series(1, 5000);
CREATE INDEX other_k ON other USING gpu_kary (k);
CREATE TABLE third AS SELECT generate_series(1, 5000::bigint) AS k;
CREATE INDEX third_k ON third USING gpu_kary (k);
});
my $insert = q{
INSERT INTO t SELECT i, i % 1000, 'c' || i % 10, to_tsvector('simple', 'common w' || i % 7) FROM generate_series(1, 3000::bigint) AS i;
};
my %question = (
	kary => q{SELECT count(*) FROM gpu.lookup('t_kary', ARRAY(SELECT generate_series(1, 3000::bigint)))},
	grid => q{SELECT gpu.count('t_grid', ARRAY[1, 0], ARRAY[3000, 998])},
	column => q{SELECT gpu.count('t_column', $$c <> 'c3'$$)},
	text => q{SELECT count(*) FROM gpu.search('t_text', 'w3', 20, 'or')});

sub mirrors_of
{
	my ($index) = @_;
	return $node->safe_psql('postgres', "SELECT count(*) FROM gpu.mirrors WHERE index_name = '$index'::regclass");
}

foreach my $round (1 .. 3)
{
	# One session mirrors several runs; then another, which never talks to the server process, merges them.
	$node->safe_psql('postgres', $insert) foreach 1 .. 2;
	foreach my $method (sort keys %question)
	{
		my $index = "t_$method";
		$node->safe_psql('postgres', "SET pg_gpu.path = $path; $question{$method}");
		cmp_ok(mirrors_of($index), '>=', 1, "round $round, $method: there are mirrors");
		my $before = $node->safe_psql('postgres', "SET pg_gpu.path = paged; $question{$method}");
		$node->safe_psql('postgres', "SET pg_gpu.path = paged; SELECT gpu.merge('$index')");
		is($node->safe_psql('postgres', "SET pg_gpu.path = $path; $question{$method}"),
			$before, "round $round, $method: the same answer of the merged run");
		cmp_ok(mirrors_of($index), '<=', $node->safe_psql('postgres', "SELECT count(*) FROM gpu.runs('$index')"),
			"round $round, $method: no mirror outlives its run");
	}
}

# Where nobody asks the index a question, gpu.load drops them.
foreach my $method (sort keys %question)
{
	my $index = "t_$method";
	$node->safe_psql('postgres', "SET pg_gpu.path = $path; SELECT gpu.load('$index')");
	cmp_ok(mirrors_of($index), '>=', 1, "$method: there are mirrors to outlive their runs");
	$node->safe_psql('postgres', "SET pg_gpu.path = paged; $insert SELECT gpu.merge('$index')");
	# What the INSERT leaves to the merge worker may be merged after a load.
	ok(wait_until(sub {
		$node->safe_psql('postgres', "SET pg_gpu.path = $path; SELECT gpu.load('$index')");
		return $node->safe_psql('postgres', "SELECT count(*) FROM gpu.mirrors AS m WHERE index_name = '$index'::regclass
			AND NOT EXISTS (SELECT FROM gpu.runs('$index') AS r WHERE r.run_id = m.run_id)") == 0;
	}), "$method: none does after gpu.load");
}

# A later session need ask only one question, about another index, for the mirrors of what was dropped to go, pinned or
# not.
$node->safe_psql('postgres', "SET pg_gpu.path = $path; SELECT gpu.load('t_kary', true); SELECT gpu.load('t_text')");
my @dropped = $node->safe_psql('postgres', q{SELECT count(*) FROM gpu.mirrors WHERE index_name IN ('t_kary'::regclass, 't_text'::regclass)});
cmp_ok($dropped[0], '>=', 2, 'mirrors of indexes that are to be dropped');
$node->safe_psql('postgres', 'SET pg_gpu.path = paged; DROP TABLE t');
# Whose question drops what is gone, unless another session has just done so.
my $ask = sub { $node->safe_psql('postgres', "SET pg_gpu.path = $path; SELECT count(*) FROM gpu.lookup('other_k', ARRAY(SELECT generate_series(1, 3000::bigint)))") };
my $left_when_asked = sub {
	my ($rows, $left) = @_;
	return wait_until(sub { $ask->(); $node->safe_psql('postgres', "SELECT count(*) FROM gpu.mirrors WHERE $rows") == $left });
};
ok($left_when_asked->('index_name IS NULL', 0), 'dropped indexes leave none');

# Temporary indexes: of a session that goes on, of one that has ended and whose number another has now, and of a
# transaction. The one that stays is another session's, which doesn't ask.
my $make_temporary = sub {
	my ($name) = @_;
	return "CREATE TEMP TABLE $name AS SELECT generate_series(1, 5000::bigint) AS k; CREATE INDEX ${name}_k ON $name USING gpu_kary (k);
		SET pg_gpu.path = $path; SELECT gpu.load('${name}_k', pinned => true);";
};
my $mirrors = sub { return $node->safe_psql('postgres', 'SELECT count(*) FROM gpu.mirrors WHERE pinned') };
is($mirrors->(), 0, 'nothing is pinned');
my $session = new_session($node);
$session->query_safe($make_temporary->('kept') . $make_temporary->('dropped'));
$session->query_safe('BEGIN; ' . $make_temporary->('uncommitted'));
$node->safe_psql('postgres', $make_temporary->('ended'));
is($mirrors->(), 4, 'temporary indexes are loaded');
ok($left_when_asked->('pinned', 3), 'that of a session that has ended goes, whoever has its number now');
$session->query_safe('ROLLBACK; DROP TABLE dropped');
ok($left_when_asked->('pinned', 1), 'and those that a session has dropped that goes on');
is($session->query_safe(q{SELECT count(*) FROM gpu.mirrors AS m JOIN gpu.runs('kept_k') AS r USING (run_id)}), 1, 'the other one stays');

# An index that a transaction has made or rewritten and not committed yet isn't gone; what it was before is still others'.
$session->query_safe(qq{
SET pg_gpu.path = $path;
SELECT gpu.load('other_k', pinned => true);
BEGIN;
CREATE TABLE made AS SELECT generate_series(1, 5000::bigint) AS k;
CREATE INDEX made_k ON made USING gpu_kary (k);
REINDEX INDEX other_k;
SELECT gpu.load('made_k', pinned => true);
SELECT gpu.load('other_k', pinned => true);
});
is($mirrors->(), 4, 'a transaction loads what it has made, beside what may be there again');
my $kept = q{SELECT string_agg(run_id || ' ' || loaded_at, ',' ORDER BY run_id) FROM gpu.mirrors WHERE pinned};
my $before = $node->safe_psql('postgres', $kept);
# Loading looks for what is gone, whatever others have done.
my $load_another = q{SELECT gpu.evict('third_k') >= 0 AND gpu.load('third_k') > 0};
is($node->safe_psql('postgres', $load_another), 't', 'another session loads an index');
is($node->safe_psql('postgres', $kept), $before, 'nothing of the transaction goes');
$session->query_safe('ROLLBACK');
is($node->safe_psql('postgres', $load_another), 't', 'it loads again');
is($mirrors->(), 2, 'what was rolled back goes, and nothing else');
$session->quit;

$node->stop;
done_testing();
