# suite: check
# Copies of a database: dump and restore, base backup, logical replication, a copied template. And the smallest
# tables.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest::Faults;
use PgGpuTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

fault_seed();

my $node = new_node('origin', streaming => 1, conf => "wal_level = logical\n");
make_table($node, rows => 20_000, with => 'WITH (fanout = 4)');
make_table($node, rows => 3_000, name => 'narrow', type => 'int4');

# ---- no rows, one row ---------------------------------------------------------------------------------------

foreach my $rows (0, 1)
{
	foreach my $type ('int4', 'int8')
	{
		my $what = "$rows rows of $type";
		$node->safe_psql(
			'postgres', qq{
DROP TABLE IF EXISTS small;
CREATE TABLE small (id bigserial, k $type);
INSERT INTO small (k) SELECT 7 FROM generate_series(1, $rows);
CREATE INDEX small_k ON small USING gpu_kary (k);
});
		check_usable($node, 'small', "built over $what", keys => 10);
		$node->safe_psql('postgres', 'VACUUM (FREEZE, INDEX_CLEANUP ON) small; SELECT gpu.merge(\'small_k\')');
		check_usable($node, 'small', "built over $what, vacuumed and merged", keys => 10);
		$node->safe_psql('postgres', 'DELETE FROM small; VACUUM (INDEX_CLEANUP ON) small; SELECT gpu.merge(\'small_k\')');
		is(sql_value($node, q{SELECT count(*) FROM gpu.runs('small_k')}), 0, "$what: nothing is left of them");
		$node->safe_psql('postgres', 'INSERT INTO small (k) VALUES (NULL)');
		check_usable($node, 'small', "$what, then one without a key", keys => 10);
		$node->safe_psql('postgres', 'TRUNCATE small');
		check_usable($node, 'small', "$what, truncated", keys => 10);
	}
}

# ---- dump and restore ---------------------------------------------------------------------------------------

my $folder = PostgreSQL::Test::Utils::tempdir;
$node->safe_psql('postgres', 'CREATE INDEX t_part ON t USING gpu_kary (k DESC NULLS LAST) WITH (fanout = 8) WHERE id % 2 = 0');
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$folder/dump", 'postgres' ], 'pg_dump');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok([ 'pg_restore', '-d', 'restored', '-j', '2', "$folder/dump" ], 'pg_restore');
my $definitions = q{SELECT string_agg(indexdef, E'\n' ORDER BY indexdef) FROM pg_indexes WHERE indexdef LIKE '%gpu_kary%'};
is($node->safe_psql('restored', $definitions), $node->safe_psql('postgres', $definitions),
	'restored indexes are defined as they were');
foreach my $index ('t_k', 'narrow_k', 't_part')
{
	is($node->safe_psql('restored', "SELECT * FROM gpu.verify('$index', true)"), '', "restored: $index is sound");
}
is( $node->safe_psql(
		'restored', q{BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT faults.check('t', 't_k', 0, 100000)}),
	'same', 'restored: answers equal a sequential scan\'s');

# ---- a database copied as a template, by files and by WAL -----------------------------------------------------

foreach my $strategy ('file_copy', 'wal_log')
{
	$node->safe_psql('postgres', "CREATE DATABASE $strategy TEMPLATE restored STRATEGY $strategy");
	is($node->safe_psql($strategy, q{SELECT * FROM gpu.verify('t_k', true)}), '', "$strategy: t_k is sound");
	is( $node->safe_psql(
			$strategy, q{INSERT INTO t (k) SELECT i FROM generate_series(1, 3000) AS i; VACUUM t;
BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT faults.check('t', 't_k', 0, 100000)}),
		'same', "$strategy: takes rows, answers equal a sequential scan's");
}
check_answers($node, 't', 'the template is as it was');

# ---- base backup under load ---------------------------------------------------------------------------------

my $writers = start_clients($node, workload('t', insert => 4, delete => 2, update => 2, vacuum => 1, merge => 1), clients => 2);
$node->backup('base');
stop_clients($writers);
is(client_errors([$writers]), '', 'writers beside the backup met no errors');
my $copy = PostgreSQL::Test::Cluster->new('copy');
$copy->init_from_backup($node, 'base');
$copy->append_conf('postgresql.conf', "autovacuum = off\n");
$copy->start;
check_usable($copy, 't', 'from the backup');
check_usable($copy, 'narrow', 'from the backup');
$copy->stop;

# ---- logical replication into tables with the index -----------------------------------------------------------

$node->safe_psql('postgres', q{
ALTER TABLE t REPLICA IDENTITY FULL;
CREATE PUBLICATION p FOR TABLE t;
});
my $subscriber = new_node('subscriber', streaming => 1);
$subscriber->safe_psql('postgres', q{
CREATE TABLE t (id bigserial, k int8, filler text);
CREATE INDEX t_k ON t USING gpu_kary (k);
});
my $connection = $node->connstr . ' dbname=postgres';
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION s CONNECTION '$connection' PUBLICATION p");
$subscriber->wait_for_subscription_sync($node, 's');
$node->safe_psql('postgres', q{
INSERT INTO t (k) SELECT i * 31 % 100001 FROM generate_series(1, 2000) AS i;
UPDATE t SET k = k + 1 WHERE id <= 30;
DELETE FROM t WHERE id BETWEEN 40 AND 60;
});
$node->wait_for_catchup('s');
my $all = 'SELECT count(*), sum(k), sum(id) FROM t';
is(sql_value($subscriber, $all), sql_value($node, $all), 'the subscriber has the same rows');
check_usable($subscriber, 't', 'on the subscriber');
$subscriber->safe_psql('postgres', 'DROP SUBSCRIPTION s');
$subscriber->stop;

$node->stop;
done_testing();
