# suite: check
# Indexes whose contents go back to empty or never reach the WAL: UNLOGGED tables, TEMP tables, ON COMMIT
# DELETE ROWS, TRUNCATE inside the creating transaction, and wal_level = minimal. The same relation file is
# filled again, so nothing of its former contents may show.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest::Faults;
use PgGpuTest;
use PostgreSQL::Test::Utils;
use Test::More;

fault_seed();

my $node = new_node('reset', conf => "wal_level = replica\nwal_skip_threshold = 64kB\n");

# ---- UNLOGGED -----------------------------------------------------------------------------------------------

for my $round (1 .. rounds(1, 10))
{
	$node->safe_psql('postgres', 'DROP TABLE IF EXISTS u, empty_then');
	make_table($node, name => 'u', kind => 'UNLOGGED', rows => 20_000);
	make_table($node, name => 'empty_then', kind => 'UNLOGGED', rows => 0, type => 'int4');
	check_usable($node, 'u', "unlogged $round");
	$node->safe_psql('postgres', 'INSERT INTO empty_then (k) SELECT generate_series(1, 2000)');
	$node->safe_psql('postgres', 'CHECKPOINT') if $round % 2;
	crash_cluster($node);
	start_again($node, "unlogged $round");
	foreach my $table ('u', 'empty_then')
	{
		my $what = "$table after crash $round";
		is(sql_value($node, "SELECT count(*) FROM $table"), 0, "$what: the table is empty");
		is(sql_value($node, "SELECT count(*) FROM gpu.runs('${table}_k')"), 0, "$what: the index has no runs");
		is(sql_value($node, "SELECT gpu.count('${table}_k', ARRAY[NULL::int8], ARRAY[NULL::int8])"),
			0, "$what: gpu.count counts nothing") if $table eq 'u';
		check_usable($node, $table, $what);
		$node->safe_psql('postgres', "INSERT INTO $table (k) SELECT i % 1000 FROM generate_series(1, 5000) AS i");
		check_usable($node, $table, "$what, filled again");
		$node->safe_psql('postgres', "SELECT count(*) FROM gpu.merge('${table}_k')");
		check_usable($node, $table, "$what, merged");
	}

	# A clean stop keeps the contents.
	$node->restart;
	is(sql_value($node, 'SELECT count(*) FROM u'), 5000, "unlogged $round: a clean restart keeps the rows");
	check_usable($node, 'u', "unlogged $round, after a clean restart");
	$node->safe_psql('postgres', 'ALTER TABLE u SET LOGGED');
	crash_cluster($node);
	start_again($node, "set logged $round");
	is(sql_value($node, 'SELECT count(*) FROM u'), 5000, "unlogged $round: SET LOGGED makes them last");
	check_usable($node, 'u', "unlogged $round, after SET LOGGED and a crash");
}

# ---- TEMP, ON COMMIT DELETE ROWS ----------------------------------------------------------------------------

# The tables live in one session, so every check runs in it.
my $check = "BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT faults.check('%s', '%s_k', -10, 1000000);
COMMIT;
SELECT count(*) FROM gpu.verify('%s_k', true);";
$check =~ s/%s/scratch/g;
my $result = sql(
	$node, qq{
CREATE TEMP TABLE scratch (id bigserial, k int8);
CREATE INDEX scratch_k ON scratch USING gpu_kary (k);
INSERT INTO scratch (k) SELECT i * 7919 % 1001 FROM generate_series(1, 20000) AS i;
$check
DELETE FROM scratch WHERE k < 300;
VACUUM scratch;
SELECT count(*) >= 0 FROM gpu.merge('scratch_k');
INSERT INTO scratch (k) SELECT i * 7919 % 1001 FROM generate_series(1, 3000) AS i;
$check
TRUNCATE scratch;
INSERT INTO scratch (k) SELECT i * 7919 % 1001 FROM generate_series(1, 3000) AS i;
$check
DISCARD TEMP;
});
is($result->{err} . $result->{out}, join("\n", "same\n0", "t\nsame\n0", "same\n0"), 'a temporary table');

# The rows go at each commit. The file stays, with pages of runs that no longer exist.
$result = sql(
	$node, q{
CREATE TEMP TABLE scratch (id bigserial, k int8) ON COMMIT DELETE ROWS;
CREATE INDEX scratch_k ON scratch USING gpu_kary (k);
} . join(
		'', map {
			qq{
BEGIN ISOLATION LEVEL REPEATABLE READ;
INSERT INTO scratch (k) SELECT i * $_ % 1009 FROM generate_series(1, 700 * $_) AS i;
SELECT faults.check('scratch', 'scratch_k', -10, 1000000);
SELECT count(*) FROM gpu.verify('scratch_k', true);
SELECT gpu.count('scratch_k', ARRAY[0], ARRAY[1009]);
COMMIT;
SELECT gpu.count('scratch_k', ARRAY[0], ARRAY[1009]);
}
		} (1 .. 5)));
is($result->{err} . $result->{out}, join("\n", map { "same\n0\n" . 700 * $_ . "\n0" } (1 .. 5)),
	'ON COMMIT DELETE ROWS: every transaction sees its own rows only');

# Two sessions have temporary tables of the same name.
my @sessions = map { new_session($node) } (1, 2);
foreach my $number (0, 1)
{
	$sessions[$number]->query_safe("CREATE TEMP TABLE mine (id bigserial, k int8);
CREATE INDEX mine_k ON mine USING gpu_kary (k);
INSERT INTO mine (k) SELECT $number FROM generate_series(1, 2000)");
}
foreach my $number (0, 1)
{
	is($sessions[$number]->query_safe(
			"SELECT gpu.count('mine_k', ARRAY[0], ARRAY[0]) || ' ' || gpu.count('mine_k', ARRAY[1], ARRAY[1])"),
		$number ? '0 2000' : '2000 0', "session $number sees its own temporary index");
}
my $other = $sessions[0]->query_safe("SELECT 'mine_k'::regclass::oid");
like(query_error($sessions[1], "SELECT * FROM gpu.count($other, ARRAY[0], ARRAY[0])"),
	qr/temporary/, "another session's temporary index is refused");
$_->quit foreach @sessions;

# ---- TRUNCATE in the creating transaction, under both WAL levels -------------------------------------------

foreach my $level ('replica', 'minimal')
{
	$node->append_conf('postgresql.conf', "wal_level = $level\nmax_wal_senders = 0\n");
	$node->restart;

	# There are two sizes, below and above wal_skip_threshold, which decides between WAL and a sync at commit.
	foreach my $rows (100, 30_000)
	{
		foreach my $end ('COMMIT', 'ROLLBACK')
		{
			my $what = "wal_level $level, $rows rows, $end";
			my $file = $node->data_dir . '/copy.txt';
			unlink $file;
			append_to_file($file, join('', map { $_ * 17 % 5003 . "\n" } 1 .. $rows));
			$node->safe_psql(
				'postgres', qq{
DROP TABLE IF EXISTS made, copied, cleared, before;
CREATE TABLE before (id bigserial, k int8);
CREATE INDEX before_k ON before USING gpu_kary (k);
INSERT INTO before (k) SELECT i FROM generate_series(1, 3000) AS i;
BEGIN;
-- The table is created, filled, emptied and filled, all under relation files of this transaction.
CREATE TABLE made (id bigserial, k int8);
CREATE INDEX made_k ON made USING gpu_kary (k);
INSERT INTO made (k) SELECT i % 997 FROM generate_series(1, $rows) AS i;
TRUNCATE made;
INSERT INTO made (k) SELECT i % 499 FROM generate_series(1, $rows) AS i;
SAVEPOINT s;
TRUNCATE made;
INSERT INTO made (k) SELECT -i FROM generate_series(1, $rows) AS i;
ROLLBACK TO s;
INSERT INTO made (k) SELECT 1000 + i FROM generate_series(1, 700) AS i;
CREATE TABLE copied (id bigserial, k int8);
COPY copied (k) FROM '$file';
CREATE INDEX copied_k ON copied USING gpu_kary (k);
INSERT INTO copied (k) VALUES (-1);
CREATE TABLE cleared (id bigserial, k int8);
CREATE INDEX cleared_k ON cleared USING gpu_kary (k);
INSERT INTO cleared (k) SELECT i FROM generate_series(1, $rows) AS i;
TRUNCATE cleared;
-- A table that was there before gets a new file.
TRUNCATE before;
INSERT INTO before (k) SELECT i FROM generate_series(1, $rows) AS i;
REINDEX INDEX before_k;
$end;
});
			crash_cluster($node);
			start_again($node, $what);
			my %expected =
			  $end eq 'COMMIT'
			  ? (made => $rows + 700, copied => $rows + 1, cleared => 0, before => $rows)
			  : (before => 3000);
			foreach my $table (sort keys %expected)
			{
				is(sql_value($node, "SELECT count(*) FROM $table"), $expected{$table}, "$what: rows of $table");
				check_usable($node, $table, $what, keys => 5000);
			}
		}
	}
}

$node->stop;
done_testing();
