# suite: check
# A disk that fills up under a build, a seal, a merge and a vacuum. The indexes lie in a tablespace on a small
# tmpfs: the one PG_GPU_SMALL_DISK names, where the caller could mount one, or else one that the test mounts
# in a user namespace of its own, where the system permits that.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";

BEGIN
{
	# This comes before anything else is loaded: the whole test, with the servers it starts, runs inside the namespace.
	if (!$ENV{PG_GPU_SMALL_DISK} && !$ENV{PG_GPU_TEST_IN_NAMESPACE})
	{
		my @namespace = ('unshare', '--user', '--map-current-user', '--keep-caps', '--mount');
		if (system("@namespace sh -c 'mount -t tmpfs none /mnt' >/dev/null 2>&1") == 0)
		{
			$ENV{PG_GPU_TEST_IN_NAMESPACE} = 1;
			exec @namespace, $^X, (map { "-I$_" } @INC), $0, @ARGV;
		}
	}
}

use Fcntl qw(:flock);
use File::Path qw(remove_tree);
use PgGpuTest::Faults;
use PgGpuTest;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'no small disk: user namespaces may not mount here, and PG_GPU_SMALL_DISK names none'
  unless $ENV{PG_GPU_TEST_IN_NAMESPACE} || $ENV{PG_GPU_SMALL_DISK};

fault_seed();

my $disk = $ENV{PG_GPU_SMALL_DISK};
my $turn;
if ($disk)
{
	# Another run of this test may want the disk, too: only the one that holds the lock may use it.
	open $turn, '>', "$disk/lock" or die "$disk/lock: $!";
	flock $turn, LOCK_EX or die "$disk/lock: $!";
}
else
{
	$disk = PostgreSQL::Test::Utils::tempdir_short();
	system_or_bail('mount', '-t', 'tmpfs', '-o', 'size=16m', 'none', $disk);
}
mkdir "$disk/space" or die "$disk/space: $!";

my $node = new_node('full', conf => "vacuum_freeze_min_age = 0\nvacuum_freeze_table_age = 0\n");
$node->safe_psql('postgres', "CREATE TABLESPACE small LOCATION '$disk/space'");

# Fills the disk up to `$blocks` free blocks of 8 kB. free_disk() takes that back.
sub fill_disk
{
	my ($blocks) = @_;
	open my $file, '>', "$disk/ballast" or die "$disk/ballast: $!";
	my $block = 'x' x BLOCK_SIZE;
	while (syswrite($file, $block) // 0) { }
	my $length = -s "$disk/ballast";
	$length = $length > $blocks * BLOCK_SIZE ? $length - $blocks * BLOCK_SIZE : 0;
	truncate $file, $length - $length % BLOCK_SIZE or die "$disk/ballast: $!";
	close $file;
	return;
}

sub free_disk { unlink "$disk/ballast" or die "$disk/ballast: $!"; return; }

sub is_full
{
	my ($result, $what) = @_;
	is($result->{code}, '53100', "$what: the error says that the disk is full")
	  or diag $result->{err};
	return;
}

$node->safe_psql(
	'postgres', q{
CREATE TABLE t (id bigserial, k int8);
INSERT INTO t (k) SELECT i * 7919 % 100001 FROM generate_series(1, 120000) AS i;
CREATE TABLE grow (id bigserial, k int8);
CREATE INDEX grow_k ON grow USING gpu_kary (k) WITH (fanout = 4) TABLESPACE small;
INSERT INTO grow (k) SELECT i * 7919 % 100001 FROM generate_series(1, 20000) AS i;
CREATE ROLE nobody;
});
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql('other', 'CREATE EXTENSION pg_gpu');

for my $round (1 .. rounds(1, 20))
{
	# ---- build ----

	my $what = "build, round $round";
	fill_disk(random_int(5, 150));
	my $build = 'CREATE INDEX t_k ON t USING gpu_kary (k) TABLESPACE small';
	is_full(sql($node, $build), $what);
	is_full(sql($node, "SET maintenance_work_mem = '1MB'; $build"), "$what, little memory");
	is_full(sql($node, 'CREATE INDEX CONCURRENTLY t_k ON t USING gpu_kary (k) TABLESPACE small'),
		"$what, concurrently");
	$node->safe_psql('postgres', 'DROP INDEX IF EXISTS t_k');
	free_disk();
	$node->safe_psql('postgres', $build);
	check_usable($node, 't', "$what, with room");

	# ---- seals ----

	# Inserts single rows and many at a time, until the disk is full. Rows of statements that failed must not be there,
	# all others must.
	$what = "seal, round $round";
	fill_disk(random_int(0, 20));
	my ($failed, $inserted) = (0, 0);
	my $before = sql_value($node, 'SELECT count(*) FROM grow');
	for my $try (1 .. 60)
	{
		my $rows = random_pick(1, 100, 700, 3_000);
		my $result = sql($node, "INSERT INTO grow (k) SELECT i % 100001 FROM generate_series(1, $rows) AS i");
		if ($result->{code} eq '') { $inserted += $rows; }
		else
		{
			is_full($result, "$what, insert $try");
			last if ++$failed == 5;
		}
	}
	cmp_ok($failed, '>', 0, "$what: the disk got full");
	is(sql_value($node, 'SELECT count(*) FROM grow'), $before + $inserted, "$what: the rows are those that went in");
	check_sound($node, "$what: gpu.verify finds nothing", 'grow_k');
	check_answers($node, 'grow', $what);

	# ---- merge ----

	$what = "merge, round $round";
	# t_k is one large run and some small ones, with no free pages between them.
	is_full(sql($node, q{SELECT count(*) FROM gpu.merge('t_k')}), $what);
	check_sound($node, "$what: gpu.verify finds nothing", 't_k');
	check_answers($node, 't', $what);
	# This may succeed, because the pages of runs merged before may suffice here.
	like(sql($node, q{SELECT count(*) FROM gpu.merge('grow_k')})->{code}, qr/^(53100)?$/,
		"$what: no other error");
	check_sound($node, "$what: gpu.verify finds nothing", 'grow_k');
	check_answers($node, 'grow', $what);

	# ---- vacuum ----

	# Freezing goes on without room for the index; what VACUUM would like to merge has to wait.
	$what = "vacuum, round $round";
	$node->safe_psql('postgres', 'DELETE FROM grow WHERE id % 3 = 0');
	my $age = "SELECT relfrozenxid FROM pg_class WHERE relname = 'grow'";
	my $frozen = sql_value($node, $age);
	my $vacuum = sql($node, 'VACUUM (FREEZE, INDEX_CLEANUP ON) grow');
	is($vacuum->{err}, '', "$what: no error");
	isnt(sql_value($node, $age), $frozen, "$what: relfrozenxid moves on");
	check_sound($node, "$what: gpu.verify finds nothing", 'grow_k');
	check_answers($node, 'grow', $what);

	# A run with half of its entries dead is to be written anew, which there is no room for. The session counts that, and
	# others see it: a reason, which names an index, only those who may see other users' statistics.
	$what = "put off, round $round";
	my $log = -s $node->logfile;
	$node->safe_psql('postgres', 'DELETE FROM t WHERE id % 2 = 0');
	my $counted = q{SELECT requests || ' ' || fallbacks || ' ' || coalesce(last_reason, 'unknown') FROM gpu.stat WHERE request = 'deferred merge'};
	my $put_off = sql($node, "SELECT gpu.stat_reset();
VACUUM (INDEX_CLEANUP ON) t;
$counted;");
	is($put_off->{err}, '', "$what: no error");
	like($put_off->{out}, qr/\A\s*1 1 index "t_k": could not extend file .*No space left on device\n*\z/, "$what: it is counted, with its reason");
	like(sql_value($node, $counted), qr/\A1 1 index "t_k": could not extend file .*No space left on device\z/, "$what: for all sessions");
	like($node->safe_psql('other', $counted), qr/\A1 1 database "postgres", index "t_k": could not extend file/, "$what: of all databases");
	is(sql_value($node, "SET ROLE nobody; $counted"), '1 1 unknown', "$what: and users");
	is(sql_value($node, "SET ROLE nobody; SELECT gpu.stat_reset(); $counted"), "\n1 1 unknown", "$what: a user resets what is his");
	is(sql_value($node, "SELECT gpu.stat_reset(); $counted"), '', "$what: a superuser resets all");
	like(slurp_file($node->logfile, $log),
		qr/LOG:  merge of index "t_k" was deferred\n[^\n]*DETAIL:  The reason is: could not extend file .*\n[^\n]*HINT:  The next insert that fills a page/,
		"$what: the log tells");
	check_sound($node, "$what: gpu.verify finds nothing", 't_k');
	check_answers($node, 't', $what);

	# ---- nothing but dead entries ----

	# Runs without living entries go although nothing can be written, and the end of the file with them.
	$what = "dead, round $round";
	free_disk();
	$node->safe_psql('postgres', q{
CREATE TABLE dead (k int8, note text);
CREATE INDEX dead_k ON dead USING gpu_kary (k) TABLESPACE small;
CREATE INDEX dead_note ON dead USING gpu_text (note) TABLESPACE small;
CREATE INDEX dead_both ON dead USING gpu_column (k, note) TABLESPACE small;
INSERT INTO dead SELECT g, md5(g::text) FROM generate_series(1, 9000) AS g;
INSERT INTO dead SELECT g, md5(g::text) FROM generate_series(1, 3000) AS g;
DELETE FROM dead;});
	fill_disk(0);
	is(sql($node, 'VACUUM (INDEX_CLEANUP ON, PARALLEL 0) dead')->{err}, '', "$what: VACUUM goes through");
	foreach my $index ('dead_k', 'dead_note', 'dead_both')
	{
		is(sql_value($node, "SELECT count(*) FROM gpu.runs('$index')"), 0, "$what: no run of $index is left");
		cmp_ok(pages_of_index($node, $index), '<', 20, "$what: nor its pages");
		check_sound($node, "$what: gpu.verify finds nothing in $index", $index);
	}
	is(sql($node, q{INSERT INTO dead SELECT g, md5(g::text) FROM generate_series(1, 2000) AS g})->{code}, '', "$what: rows go in again");
	$node->safe_psql('postgres', 'DROP TABLE dead');

	# ---- room again, with a crash before it or without ----

	# Recovery itself needs room to write again what the log holds, of failed builds too.
	$what = "room again, round $round";
	crash_cluster($node) if $round % 2;
	free_disk();
	start_again($node, $what) if $round % 2;
	check_usable($node, 'grow', $what);
	$node->safe_psql('postgres', q{SELECT count(*) FROM gpu.merge('grow_k')});
	check_usable($node, 'grow', "$what, merged");
	# Half of the rows have an even number again.
	$node->safe_psql('postgres', 'DROP INDEX t_k; INSERT INTO t (id, k) SELECT id - 1, k FROM t; DELETE FROM grow WHERE id % 4 <> 0; VACUUM grow; REINDEX INDEX grow_k; CHECKPOINT');
}

$node->safe_psql('postgres', 'DROP TABLE grow; DROP TABLE t; DROP TABLESPACE small');
$node->stop;
remove_tree("$disk/space");
done_testing();
