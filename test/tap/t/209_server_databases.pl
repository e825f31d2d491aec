# suite: check
# A database that is dropped and made again with the same OID from the same template has the old one's files and run
# ids, but not its dead entries: nothing that the server process holds of the old one may answer for the new one.

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
my $node = new_node('databases', conf => "autovacuum = off\npg_gpu.path = $path\n");
$node->safe_psql('postgres', 'CREATE DATABASE origin');
$node->safe_psql('origin', q{
CREATE EXTENSION pg_gpu;
CREATE TABLE t (k int8, x int8, c text, v tsvector);
INSERT INTO t SELECT i, i % 1000, 'c' || i % 10, to_tsvector('simple', 'common w' || i % 7) FROM generate_series(1, 20000::bigint) AS i;
CREATE INDEX t_kary ON t USING gpu_kary (k);
CREATE INDEX t_grid ON t USING gpu_grid (k, x);
CREATE INDEX t_column ON t USING gpu_column (k, c);
CREATE INDEX t_text ON t USING gpu_text (v);
VACUUM t;
});

# What each of the four access methods finds. A mirror without some of the rows would answer wrongly.
my $questions = q{
SELECT count(*) FROM gpu.lookup('t_kary', ARRAY(SELECT generate_series(1, 20000::bigint)));
SELECT gpu.count('t_kary', ARRAY[1], ARRAY[20000]);
SELECT gpu.count('t_grid', ARRAY[1, 0], ARRAY[20000, 998]);
SELECT gpu.count('t_column', $$c <> 'c3'$$);
SELECT array_agg(tid ORDER BY tid) FROM gpu.search('t_text', 'w3', 20, 'or');
};
my $load = join('', map { "SELECT gpu.load('t_$_');\n" } qw(kary grid column text));
my $right = $node->safe_psql('origin', "SET pg_gpu.path = paged;\n$questions");

foreach my $strategy ('file_copy', 'wal_log')
{
	my $create = "CREATE DATABASE copy OID 60000 TEMPLATE origin STRATEGY $strategy";
	$node->safe_psql('postgres', $create);
	$node->safe_psql('copy', 'DELETE FROM t WHERE k <= 10000; VACUUM (INDEX_CLEANUP ON) t');
	$node->safe_psql('copy', $load);
	is((split /\n/, $node->safe_psql('copy', $questions))[0], 10_000, "$strategy: the first copy has half of the rows");
	$node->safe_psql('postgres', 'DROP DATABASE copy');
	$node->safe_psql('postgres', $create);
	is($node->safe_psql('copy', q{SELECT count(*) FROM gpu.mirrors WHERE index_name IS NOT NULL}),
		0, "$strategy: no mirror is shown as the second copy's");
	is($node->safe_psql('copy', $questions), $right, "$strategy: the second copy, with the same OID, has all");
	$node->safe_psql('copy', $load);
	is($node->safe_psql('copy', $questions), $right, "$strategy: also once it is loaded");
	cmp_ok($node->safe_psql('copy', q{SELECT count(*) FROM gpu.mirrors WHERE index_name IS NOT NULL}),
		'>=', 4, "$strategy: whose mirrors are its own");
	$node->safe_psql('postgres', 'DROP DATABASE copy');
}

# ALTER DATABASE and GRANT write the database's row anew. Mirrors stay, and are of use, also when a session of another database
# tidies up.
$node->safe_psql('postgres', q{
CREATE EXTENSION IF NOT EXISTS pg_gpu;
CREATE TABLE t (k int8);
INSERT INTO t SELECT generate_series(1, 20000::bigint);
CREATE INDEX t_kary ON t USING gpu_kary (k);
});
$node->safe_psql('origin', $load);
my $mirrors = q{SELECT string_agg(index_name || ' ' || run_id || ' ' || loaded_at, ',' ORDER BY run_id) FROM gpu.mirrors};
my $loaded = $node->safe_psql('origin', $mirrors);
foreach my $statement ('ALTER DATABASE origin CONNECTION LIMIT 50', 'GRANT CONNECT ON DATABASE origin TO PUBLIC',
	"ALTER DATABASE origin SET work_mem = '5MB'", 'ALTER DATABASE origin RENAME TO renamed', 'ALTER DATABASE renamed RENAME TO origin')
{
	$node->safe_psql('postgres', $statement);
	is($node->safe_psql('postgres', q{SELECT gpu.evict('t_kary') >= 0 AND gpu.load('t_kary') > 0}), 't', "$statement: another database loads");
	next if $statement =~ /TO renamed/;
	is($node->safe_psql('origin', $questions), $right, "after $statement the answers are the same");
	is($node->safe_psql('origin', $mirrors), $loaded, "after $statement the mirrors are the same");
}

$node->stop;
done_testing();
