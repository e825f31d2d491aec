# suite: check
# Logical replication applies changes to tables with gpu_kary indexes: the initial copy, transactions that roll
# back, ones that are streamed while they run, prepared ones, TRUNCATE, a subscriber that crashes and catches up.
# Then both nodes hold the same rows and the subscriber's index finds what its heap holds.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $random = new_random();
my $publisher = new_cluster('publisher', streaming => 1,
	conf => "wal_level = logical\nlogical_decoding_work_mem = 64kB\n");
my $subscriber = new_cluster('subscriber', streaming => 1);
install_checker($subscriber);

# full_row has no key of its own: its rows are found by comparing them whole. spread is partitioned on one node only.
my @tables = ('keyed', 'full_row', 'spread');
$publisher->safe_psql('postgres', <<'SQL');
CREATE TABLE keyed (id int PRIMARY KEY, k int8, note text DEFAULT '');
CREATE TABLE full_row (id int, k int8, note text DEFAULT '');
ALTER TABLE full_row REPLICA IDENTITY FULL;
CREATE TABLE spread (id int PRIMARY KEY, k int8, note text DEFAULT '');
INSERT INTO keyed SELECT i, i * 37 % 1000 FROM generate_series(1, 5000) AS i;
INSERT INTO full_row SELECT i, i % 20 FROM generate_series(1, 300) AS i;
INSERT INTO spread SELECT i, i * 13 % 1000 FROM generate_series(1, 3000) AS i;
CREATE PUBLICATION everything FOR TABLE keyed, full_row, spread;
SQL
$subscriber->safe_psql('postgres', <<'SQL');
CREATE TABLE keyed (note text DEFAULT '', id int PRIMARY KEY, k int8, doubled int8 GENERATED ALWAYS AS (k * 2) STORED);
CREATE INDEX keyed_k ON keyed USING gpu_kary (k);
CREATE INDEX keyed_doubled ON keyed USING gpu_kary (doubled DESC) WITH (fanout = 2);
CREATE TABLE full_row (id int, k int8, note text DEFAULT '');
CREATE INDEX full_row_k ON full_row USING gpu_kary (k);
CREATE TABLE spread (id int, k int8, note text DEFAULT '', PRIMARY KEY (id)) PARTITION BY RANGE (id);
CREATE TABLE spread_1 PARTITION OF spread FOR VALUES FROM (MINVALUE) TO (2000);
CREATE TABLE spread_2 PARTITION OF spread FOR VALUES FROM (2000) TO (MAXVALUE);
CREATE INDEX spread_k ON spread USING gpu_kary (k);
SQL
my @indexes = (
	[ 'keyed', 'keyed_k', 'k' ], [ 'keyed', 'keyed_doubled', 'doubled' ], [ 'full_row', 'full_row_k', 'k' ],
	[ 'spread_1', 'spread_1_k_idx', 'k' ], [ 'spread_2', 'spread_2_k_idx', 'k' ]);

my $connection = $publisher->connstr . ' dbname=postgres';
$subscriber->safe_psql('postgres',
	"CREATE SUBSCRIPTION everything CONNECTION '$connection' PUBLICATION everything WITH (streaming = on, two_phase = on)");
$subscriber->wait_for_subscription_sync($publisher, 'everything');

sub check_subscriber
{
	my ($name) = @_;
	$publisher->wait_for_catchup('everything');
	my $sum = 'count(*), sum(hashtextextended(row(id, k, note)::text, 0))';
	for my $table (@tables)
	{
		is($subscriber->safe_psql('postgres', "SELECT $sum FROM $table"),
			$publisher->safe_psql('postgres', "SELECT $sum FROM $table"), "$name: $table is the same on both nodes");
	}
	for my $index (@indexes)
	{
		my ($table, $index_name, $column) = @$index;
		my $low = $random->between(0, 500);
		my $keys = join(',', map { $random->between(-20, 1100) } 1 .. 40);
		my @queries;
		for my $where ("$column = $low", "$column BETWEEN $low AND $low + 60", "$column = ANY ('{$keys}')", "$column IS NULL",
			"$column > 900")
		{
			push @queries, { sql => "SELECT $column AS k, id, note FROM $table WHERE $where", mode => $_ } for 'index', 'bitmap';
			push @queries, { sql => "SELECT $column AS k FROM $table WHERE $where", mode => 'index_only' };
		}
		push @queries, { sql => "SELECT $column AS k FROM $table ORDER BY k $_", mode => 'index_only', ordered => 1 }
		  for 'ASC', 'DESC';
		# The descending index has its NULLs first, which is what DESC means; both ways fit both indexes.
		check_queries($subscriber, "$name: $index_name", $index_name, \@queries);
		check_sound($subscriber, "$name: $index_name is sound", $index_name);
	}
	return;
}

check_subscriber('initial copy');

my $next_id = 10_000;
for my $round (1 .. few_or_many(3, 5 * test_rounds()))
{
	my $name = "round $round";
	for (1 .. 15)
	{
		my $table = $random->pick(@tables);
		# Where whole rows are compared, each row takes a scan of the table, so there are fewer of them.
		my $rows = $table eq 'full_row' ? $random->between(1, 40) : $random->between(1, 900);
		my $first = $next_id;
		$next_id += $rows;
		my $some = $random->between(2, 40);
		my $insert = "INSERT INTO $table (id, k) SELECT i, nullif(i * 7919 % 1000, 3) FROM generate_series($first, $first + $rows - 1) AS i;";
		my $update = "UPDATE $table SET k = (k + 17) % 1000 WHERE id % 40 = $some - 1;";
		my $other = "UPDATE $table SET note = note || 'x' WHERE id % 50 = $some;";
		my $delete = "DELETE FROM $table WHERE id % 60 = $some;";
		my $prepared = "p$next_id";
		$publisher->safe_psql('postgres', $random->pick(
			$insert, $insert, $update, $other, $delete,
			"BEGIN; $insert $update $delete COMMIT;",
			"BEGIN; $insert SAVEPOINT s; $update ROLLBACK TO s; $other COMMIT;",
			"BEGIN; $insert $update ROLLBACK;",
			"BEGIN; $insert $update PREPARE TRANSACTION '$prepared'; COMMIT PREPARED '$prepared';",
			"BEGIN; $insert $update PREPARE TRANSACTION '$prepared'; ROLLBACK PREPARED '$prepared';"));
	}
	# These are too large for the decoder's memory, so they are sent before they end; one is aborted and one committed.
	$publisher->safe_psql('postgres',
		"BEGIN; INSERT INTO keyed (id, k) SELECT i, i % 1000 FROM generate_series($next_id, $next_id + 4999) AS i; $_;")
	  for 'ROLLBACK', 'COMMIT';
	$next_id += 5000;
	if ($round == 2)
	{
		$subscriber->stop('immediate');
		$publisher->safe_psql('postgres', 'UPDATE spread SET k = k + 1 WHERE id % 3 = 0; DELETE FROM keyed WHERE id % 4 = 0;');
		$subscriber->start;
	}
	if ($round == 3)
	{
		$publisher->safe_psql('postgres', 'TRUNCATE full_row; INSERT INTO full_row SELECT i, i % 20 FROM generate_series(1, 200) AS i;');
	}
	$publisher->wait_for_catchup('everything');
	$subscriber->safe_psql('postgres', $random->pick('VACUUM keyed, full_row, spread', 'REINDEX INDEX CONCURRENTLY keyed_k', 'SELECT count(*) FROM gpu.merge($$keyed_k$$)'));
	check_subscriber($name);
}
ok($publisher->poll_query_until('postgres', "SELECT stream_txns > 0 FROM pg_stat_replication_slots WHERE slot_name = 'everything'"),
	'some transactions were streamed');

$subscriber->stop;
$publisher->stop;
done_testing();
