# suite: long
# Groups of several engines in one server process, which stand for devices. Against PostgreSQL's own plans.

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

local $ENV{PG_GPU_SERVER} = server_with('--engines host,host,host --colocated-bytes 0 --testing');
my $node = new_node('engines', conf => "autovacuum = off\npg_gpu.request_timeout = 60s\npg_gpu.min_mirror_entries = 0\n");

# Rows in the order of k: each engine's keys are its own, but at the edges. In the order of r all engines have all keys. Two rows of s lie far from
# their neighbours.
$node->safe_psql('postgres', q{
CREATE EXTENSION IF NOT EXISTS pg_gpu;
CREATE TABLE ordered (k int8, r int4, s int8, x int8);
INSERT INTO ordered SELECT i / 3, hashint8(i) % 70000, CASE WHEN i IN (5, 299995) THEN 150000 ELSE i / 2 END, hashint8(i * 3) % 1000 FROM generate_series(0, 299999) AS i;
CREATE INDEX ordered_i ON ordered USING gpu_column (k, r, s, x);
});
$node->safe_psql('postgres', 'VACUUM ANALYZE ordered');

# Asks in one session with several engines and in one without.
sub compare
{
	my ($name, @questions) = @_;
	my $all = join(";", @questions);
	is( sql_value($node, "SET enable_seqscan = off; SET pg_gpu.path = host; $all"),
		sql_value($node, "SET pg_gpu.path = paged; SET pg_gpu.enable_query = off; $all"), $name);
}
foreach my $columns ('k', 'r', 's', 'k % 90000, r % 3')
{
	my $first = $columns =~ s/,.*//r;
	compare("groups by $columns",
		"SELECT $columns, sum(x) FROM ordered GROUP BY $columns ORDER BY sum(x) DESC, $columns LIMIT 20",
		"SELECT $columns, count(*), min(x) FROM ordered GROUP BY $columns ORDER BY min(x), $columns LIMIT 20",
		"SELECT $columns, sum(x) FROM ordered WHERE x > 500 GROUP BY $columns ORDER BY sum(x), $columns LIMIT 20",
		"SELECT count(DISTINCT $first) FROM ordered",
		"SELECT count(*), sum(total) FROM (SELECT $columns, sum(x) AS total FROM ordered GROUP BY $columns HAVING count(*) > 1) AS g");
}
is(sql_value($node, q{SELECT count(DISTINCT device) FROM gpu.mirrors WHERE index_name = 'ordered_i'::regclass}), 3, 'all engines have a part');
like(sql_value($node, 'SET enable_seqscan = off; SET pg_gpu.path = host; EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT k, sum(x) FROM ordered GROUP BY k ORDER BY sum(x) DESC LIMIT 20'),
	qr/GpuQuery/, 'and answer');

# A row that nobody knows to be visible may change the order, so nothing is left out.
$node->safe_psql('postgres', 'UPDATE ordered SET x = 100000 WHERE k = 77');
compare('with rows in doubt', 'SELECT k, sum(x) FROM ordered GROUP BY k ORDER BY sum(x) DESC, k LIMIT 5', 'SELECT count(DISTINCT k) FROM ordered');

done_testing();
