# suite: check
# Runs that have no mirror, because they are small or not loaded yet, are read from pages by the session, while the
# server process answers for the others. The answers add up.

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
my $node = new_node('partly', conf => "autovacuum = off\npg_gpu.request_timeout = 60s\npg_gpu.min_mirror_entries = 0\n");
$node->safe_psql('postgres', q{
CREATE EXTENSION IF NOT EXISTS pg_gpu;
CREATE FUNCTION rows_of(first int8, last int8) RETURNS TABLE (k int8, x int8, n float8, c text, v tsvector) LANGUAGE sql IMMUTABLE AS $$
	SELECT i, i % 1000, CASE WHEN i % 11 > 0 THEN i % 500 / 4.0 END, 'c' || i % 10, to_tsvector('simple', 'common w' || i % 7 || ' u' || i)
	FROM generate_series(first, last) AS i $$;
CREATE TABLE t (k int8, x int8, n float8, c text, v tsvector);
INSERT INTO t SELECT * FROM rows_of(1, 20000);
CREATE INDEX t_kary ON t USING gpu_kary (k);
CREATE INDEX t_grid ON t USING gpu_grid (k, x);
CREATE INDEX t_column ON t USING gpu_column (k, n, c);
CREATE INDEX t_text ON t USING gpu_text (v);
});

my $keys = q{ARRAY(SELECT generate_series(1, 40000::bigint, 3))};
my %question = (
	'a lookup' => ['t_kary', "SELECT count(*), sum((l.tid::text::point)[0]) FROM gpu.lookup('t_kary', $keys) AS l"],
	'a bitmap' => ['t_kary', "SET enable_seqscan = off; SET enable_indexscan = off; SET pg_gpu.enable_count_scan = off; SELECT count(*), sum(x) FROM t WHERE k = ANY ($keys)"],
	'ranges' => ['t_kary', q{SELECT sum(count) FROM gpu.count_batch('t_kary', ARRAY(SELECT ARRAY[i] FROM generate_series(1, 40000::bigint, 50) AS i), ARRAY(SELECT ARRAY[i + 89] FROM generate_series(1, 40000::bigint, 50) AS i))}],
	'a box' => ['t_grid', q{SELECT gpu.count('t_grid', ARRAY[10, 100], ARRAY[36000, 700])}],
	'boxes' => ['t_grid', q{SELECT sum(count), sum(count * count), count(*) FROM gpu.count_batch('t_grid',
		ARRAY(SELECT ROW(i, i % 500) FROM generate_series(1, 40000::bigint, 50) AS i), ARRAY(SELECT ROW(i + 500, i % 500 + 400) FROM generate_series(1, 40000::bigint, 50) AS i))}],
	'points' => ['t_grid', q{SELECT count(*), sum(ordinal), sum((l.tid::text::point)[0]) FROM gpu.lookup('t_grid', ARRAY(SELECT ROW(i, i % 1000) FROM generate_series(1, 40000::bigint, 3) AS i)) AS l}],
	'a few points' => ['t_grid', q{SELECT count(*), sum(ordinal), sum((l.tid::text::point)[0]) FROM gpu.lookup('t_grid', ARRAY(SELECT ROW(i, i % 1000) FROM generate_series(1, 40000::bigint, 801) AS i)) AS l}],
	'rows' => ['t_column', q{SELECT gpu.count('t_column', $$c <> 'c3' AND n < 100$$)}],
	'values' => ['t_column', q{SELECT value, count FROM gpu.dictionary('t_column', 'c', 'k > 100') ORDER BY 1}],
	'a histogram' => ['t_column', q{SELECT bin, count FROM gpu.histogram('t_column', 'n', 16, filter => 'k > 7') WHERE count > 0 ORDER BY 1}],
	'a search' => ['t_text', q{SELECT tid, score FROM gpu.search('t_text', 'w3 & common', 2000, 'and')}],
	'an intersection' => ['t_text', q{SELECT tid FROM gpu.intersect('t_text', ARRAY['w3', 'common']) AS tid ORDER BY 1}],
	'a search of any' => ['t_text', q{SELECT tid, score FROM gpu.search('t_text', 'w3 | u20200 | u100', 50, 'or')}]);
# Compares answers of pages with those of the server process for what it has; and counts how many requests the latter
# answered.
sub compare
{
	my ($title, $settings) = @_;
	foreach my $name (sort keys %question)
	{
		my ($index, $sql) = @{ $question{$name} };
		my $expected = $node->safe_psql('postgres', "SET pg_gpu.path = paged; $sql");
		my $count = "SELECT (SELECT coalesce(sum(requests), 0) FROM gpu.stat WHERE path = '$path' AND request NOT IN ('load', 'finish', 'set dead')),
			(SELECT coalesce(sum(requests), 0) FROM gpu.stat WHERE path = '$path' AND request = 'load')";
		my ($before, $loads) = split /\|/, $node->safe_psql('postgres', $count);
		is($node->safe_psql('postgres', "SET pg_gpu.path = $path; $settings $sql"), $expected, "$title: the same answer to $name");
		my ($after, $loads_after) = split /\|/, $node->safe_psql('postgres', $count);
		cmp_ok($after, '>', $before, "$title: the $path path has answered $name");
		is($loads_after, $loads, "$title: $name has loaded nothing");
		next unless $name =~ /^(?:boxes|points|a few points)$/;
		# A request that is refused counts above, too.
		my $paged = q{SELECT coalesce(sum(requests), 0) FROM gpu.stat WHERE path = 'paged' AND request IN ('count boxes', 'match')};
		my $paged_before = $node->safe_psql('postgres', $paged);
		is($node->safe_psql('postgres', "SET pg_gpu.path = $path; $settings SELECT count(*) > 0 FROM ($sql) AS s; $paged"), "t\n$paged_before", "$title: pages have not answered $name for all runs");
	}
}

$node->safe_psql('postgres', "SET pg_gpu.path = $path; SELECT gpu.load('$_')") foreach map { "t_$_" } qw(kary grid column text);
cmp_ok(sql_value($node, "SELECT sum(requests) FROM gpu.stat WHERE path = '$path' AND request = 'load'"), '>', 0, 'loads are counted');
compare('all resident', '');

# Each round adds new runs, and dead entries of old and new ones.
foreach my $round (1 .. 3)
{
	my $first = 17000 + $round * 3001;
	$node->safe_psql('postgres', "SET pg_gpu.path = paged; INSERT INTO t SELECT * FROM rows_of($first, $first + 3000)");
}
compare('new runs', 'SET pg_gpu.mirror = manual;');
$node->safe_psql('postgres', 'SET pg_gpu.path = paged; DELETE FROM t WHERE k % 13 = 0');
compare('deleted rows', 'SET pg_gpu.mirror = manual;');
$node->safe_psql('postgres', 'SET pg_gpu.path = paged; VACUUM t');
compare('dead entries', 'SET pg_gpu.mirror = manual;');

# Small runs are not loaded at all.
$node->safe_psql('postgres', "SELECT gpu.evict('$_')") foreach map { "t_$_" } qw(kary grid column text);
change_setting($node, 'pg_gpu.min_mirror_entries', '15000');
$node->safe_psql('postgres', "SET pg_gpu.path = $path; SELECT gpu.load('$_')") foreach map { "t_$_" } qw(kary grid column text);
is($node->safe_psql('postgres', 'SELECT count(*) FROM gpu.mirrors'), 4, 'small runs are not loaded');
# Unless loading one pays for a batch at once, which it may here.
compare('small runs', 'SET pg_gpu.mirror = manual;');

# Of several runs of documents those that pages rank sooner than the server process begins with them stay at home, and
# aren't loaded for that. Requests with more queries have more of them loaded.
change_setting($node, 'pg_gpu.min_mirror_entries', '0');
$node->safe_psql('postgres', q{SET pg_gpu.path = paged; CREATE TABLE d (v tsvector); INSERT INTO d SELECT v FROM rows_of(1, 60000); CREATE INDEX d_v ON d USING gpu_text (v)});
foreach my $round (0 .. 2)
{
	$node->safe_psql('postgres', "SET pg_gpu.path = paged; INSERT INTO d SELECT v FROM rows_of(60001 + $round * 2200, 62200 + $round * 2200)");
}
my $runs = sql_value($node, q{SELECT count(*) FROM gpu.runs('d_v') WHERE level >= 0});
cmp_ok($runs, '>', 1, 'there are several runs of documents');
foreach my $query ('w3 & u60777', 'w3 & u100', 'u61 & w5 & common', 'u64001 & common')
{
	my $search = "SELECT tid, score FROM gpu.search('d_v', '$query', 20, 'and')";
	is($node->safe_psql('postgres', "SET pg_gpu.path = $path; $search"), $node->safe_psql('postgres', "SET pg_gpu.path = paged; $search"), "small runs at home: $query");
}
is($node->safe_psql('postgres', q{SELECT count(*) FROM gpu.mirrors WHERE index_name = 'd_v'::regclass}), 1, 'only the large run has been loaded');

$node->stop;
done_testing();
