# suite: check
# postgres_fdw over partitions: a table with local partitions and ones on another node, gpu_kary indexes on both.
# The remote side is reached twice: with connections that must use its indexes, and with ones that must not. Each
# query gives the same rows over both.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use Test::More;

my $random = new_random();
my $remote = new_cluster('remote');
my $local = new_cluster('local');

$remote->safe_psql('postgres', <<'SQL');
CREATE TABLE far_1 (k int8, id int, note text);
CREATE TABLE far_2 (k int8, id int, note text);
CREATE INDEX far_1_k ON far_1 USING gpu_kary (k);
CREATE INDEX far_2_k ON far_2 USING gpu_kary (k DESC) WITH (fanout = 2);
SQL

my ($host, $port) = ($remote->host, $remote->port);
my %options = (
	by_index => '-c enable_seqscan=off -c enable_bitmapscan=off',
	by_bitmap => '-c enable_seqscan=off -c enable_indexscan=off -c enable_indexonlyscan=off',
	by_heap => '-c enable_indexscan=off -c enable_indexonlyscan=off -c enable_bitmapscan=off');
my @ways = sort keys %options;
$local->safe_psql('postgres', 'CREATE EXTENSION postgres_fdw; CREATE TABLE probe (v int4, n int);'
	. ' INSERT INTO probe SELECT i * 53 % 4000, i FROM generate_series(1, 60) AS i; ANALYZE probe;');
for my $way (@ways)
{
	$local->safe_psql('postgres', <<"SQL");
CREATE SERVER $way FOREIGN DATA WRAPPER postgres_fdw
  OPTIONS (host '$host', port '$port', dbname 'postgres', options '$options{$way}', use_remote_estimate 'true', async_capable 'true');
CREATE USER MAPPING FOR CURRENT_USER SERVER $way;
CREATE TABLE $way (k int8, id int, note text) PARTITION BY RANGE (k);
CREATE TABLE ${way}_near PARTITION OF $way FOR VALUES FROM (MINVALUE) TO (1000);
CREATE INDEX ${way}_near_k ON ${way}_near USING gpu_kary (k);
CREATE FOREIGN TABLE ${way}_far_1 PARTITION OF $way FOR VALUES FROM (1000) TO (2000) SERVER $way OPTIONS (table_name 'far_1');
CREATE FOREIGN TABLE ${way}_far_2 PARTITION OF $way FOR VALUES FROM (2000) TO (MAXVALUE) SERVER $way OPTIONS (table_name 'far_2');
SQL
}

# The remote rows are shared by all three ways; the local ones are written alike.
sub insert_rows
{
	my ($first, $rows) = @_;
	my $select = "SELECT i * 7919 % 3000, i, 'n' || i % 10 FROM generate_series($first, $first + $rows - 1) AS i";
	$local->safe_psql('postgres', "INSERT INTO by_index $select");
	$local->safe_psql('postgres', "INSERT INTO ${_}_near SELECT * FROM by_index_near WHERE id >= $first") for grep { $_ ne 'by_index' } @ways;
	$remote->safe_psql('postgres', 'VACUUM ANALYZE far_1; VACUUM ANALYZE far_2');
	$local->safe_psql('postgres', join(' ', map { "ANALYZE $_;" } @ways));
	return;
}

# Settings of the local side: local partitions through the index or through the heap as well.
my %local_settings = (
	by_index => 'SET enable_seqscan = off; SET enable_bitmapscan = off;',
	by_bitmap => 'SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_seqscan = off;',
	by_heap => 'SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off;');

sub same_answers
{
	my ($name, @queries) = @_;
	for my $query (@queries)
	{
		my %answers;
		for my $way (@ways)
		{
			(my $sql = $query) =~ s/\bT\b/$way/g;
			$answers{$way} = $local->safe_psql('postgres', "$local_settings{$way} $sql");
		}
		isnt($answers{by_heap}, '', "$name: there is something to compare: $query");
		is($answers{$_}, $answers{by_heap}, "$name, $_: $query") for grep { $_ ne 'by_heap' } @ways;
	}
	return;
}

for my $round (1 .. few_or_many(2, 3 * test_rounds()))
{
	insert_rows($round * 10_000, 3000);
	my ($low, $point) = ($random->between(500, 1900), $random->between(0, 2999));
	my $keys = join(',', map { $random->between(0, 2999) } 1 .. 50);
	same_answers("round $round",
		"SELECT * FROM T WHERE k = $point ORDER BY k, id",
		"SELECT * FROM T WHERE k BETWEEN $low AND $low + 300 ORDER BY k, id",
		"SELECT count(*), sum(id), min(k), max(k) FROM T WHERE k = ANY ('{$keys,NULL}')",
		"SELECT k FROM T WHERE k > $low ORDER BY k LIMIT 50",
		"SELECT k FROM T WHERE k < $low ORDER BY k DESC LIMIT 50",
		"SELECT n, count(*), sum(id) FROM probe JOIN T ON k = v GROUP BY n ORDER BY n",
		"SELECT n, (SELECT max(k) FROM T WHERE k <= v) FROM probe ORDER BY n",
		"SELECT k, count(*) FROM T GROUP BY k HAVING sum(id) % 2 = 0 ORDER BY k",
		"SELECT count(*) FROM T a JOIN T b USING (k) WHERE a.id <> b.id AND k > $low",
		"SELECT id, note FROM T WHERE k IN (SELECT v FROM probe WHERE n < 20) ORDER BY id");

	# These writes go over the wrapper: one is pushed down whole, one goes row by row.
	$local->safe_psql('postgres', "UPDATE by_index_far_1 SET note = note || 'u' WHERE k BETWEEN $low AND $low + 20");
	$local->safe_psql('postgres', "DELETE FROM by_index_far_2 WHERE k = ANY ('{$keys}')");
	$local->safe_psql('postgres', "UPDATE by_index_far_1 SET k = 1000 + (k + n) % 1000 FROM probe WHERE k = v AND n < 30");
	$local->safe_psql('postgres', "BEGIN; DELETE FROM by_index_far_1; ROLLBACK;");
	same_answers("round $round, after writes",
		'SELECT count(*), sum(k), sum(id), sum(length(note)) FROM T WHERE k >= 0',
		"SELECT k, id, note FROM T WHERE k BETWEEN $low AND $low + 40 ORDER BY k, id");
	check_sound($remote, "round $round: $_ is sound", $_) for 'far_1_k', 'far_2_k';
	check_sound($local, "round $round: ${_}_near_k is sound", "${_}_near_k") for @ways;
}

# Each way must be what it claims to be.
for my $case ([ 'by_index', 'Index Scan', 'far_1_k' ], [ 'by_bitmap', 'Bitmap Index Scan', 'far_1_k' ])
{
	my ($way, $node_type, $index) = @$case;
	local $ENV{PGOPTIONS} = $options{$way};
	uses_index($remote, 'SELECT k, id FROM public.far_1 WHERE ((k = 1500))', $index, $node_type, "$way reads the remote index");
}
my $pushed = $local->safe_psql('postgres', 'EXPLAIN (VERBOSE, COSTS OFF) SELECT * FROM by_index WHERE k = 1500');
like($pushed, qr/Remote SQL: .*WHERE \(\(k = 1500\)\)/, 'conditions are sent to the remote node');

$local->stop;
$remote->stop;
done_testing();
