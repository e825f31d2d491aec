# suite: check
# Index-only cursors that stand still while everything under them changes: rows that were dead before their
# snapshot are vacuumed away, line pointers are used again, runs are merged, pages recycled. What they return
# must be their snapshot's, forward and backward, on the primary and on a standby.

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

my $primary = new_node('primary', streaming => 1);
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "hot_standby_feedback = on\nwal_receiver_status_interval = 1s\nmax_standby_streaming_delay = -1\n");
$standby->start;

my $question = 'SELECT k FROM t WHERE k BETWEEN 1000 AND 90000';

# What goes on while the cursor waits. Each step leaves more of the cursor's view behind.
my @changes = (
	[ 'nothing', '' ],
	[ 'vacuum', 'VACUUM (INDEX_CLEANUP ON) t' ],
	[ 'vacuum, line pointers used again', q{VACUUM (INDEX_CLEANUP ON) t;
		INSERT INTO t (k) SELECT 50000 FROM generate_series(1, 6000);
		VACUUM t} ],
	[ 'merge, pages used again', q{SELECT count(*) FROM gpu.merge('t_k');
		INSERT INTO t (k) SELECT i * 31 % 100001 FROM generate_series(1, 20000) AS i;
		SELECT count(*) FROM gpu.merge('t_k')} ],
	[ 'all of it', q{VACUUM (INDEX_CLEANUP ON) t;
		SELECT count(*) FROM gpu.merge('t_k');
		INSERT INTO t (k) SELECT i * 31 % 100001 FROM generate_series(1, 20000) AS i;
		DELETE FROM t WHERE id % 7 = 3 AND filler IS NULL;
		VACUUM (INDEX_CLEANUP ON) t;
		SELECT count(*) FROM gpu.merge('t_k');
		VACUUM t} ],);

# Returns the cursor's next rows up to one with key `p_until`, as an array.
$primary->safe_psql('postgres', q{
CREATE FUNCTION faults.fetch(p_forward boolean, p_rows int, p_until bigint DEFAULT NULL) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
	c refcursor := 'c';
	key bigint;
	keys bigint[] := '{}';
BEGIN
	WHILE p_rows IS NULL OR cardinality(keys) < p_rows LOOP
		IF p_forward THEN
			FETCH NEXT FROM c INTO key;
		ELSE
			FETCH PRIOR FROM c INTO key;
		END IF;
		EXIT WHEN NOT FOUND;
		keys := keys || key;
		EXIT WHEN key = p_until;
	END LOOP;
	RETURN keys;
END $$;
});

# Length and digest of an array-valued expression.
sub digest
{
	my ($session, $array) = @_;
	return $session->query_safe("SELECT cardinality(a) || ' ' || md5(a::text) FROM (SELECT $array AS a) AS s");
}

foreach my $where ($primary, $standby)
{
	my $name = $where->name;
	foreach my $change (@changes)
	{
		my ($what, $statements) = @$change;
		$what = "$name, $what";

		# First all blocks are made all-visible; then come dead rows that no snapshot sees, everywhere and in the tail.
		# The executor keeps the page of the row it last fetched pinned, and on a standby replay of VACUUM would wait
		# for that. So the cursor is left idle on rows that fill pages of their own, on which nothing is removed. For the
		# same reason nobody cuts off the end of a file.
		$primary->safe_psql('postgres', 'DROP TABLE IF EXISTS t');
		make_table($primary, rows => 15_000, with => 'WITH (fanout = 2)');
		$primary->safe_psql('postgres', q{
ALTER TABLE t SET (vacuum_truncate = off);
INSERT INTO t (k) SELECT i * 7919 % 100001 FROM generate_series(1, 1700) AS i;
VACUUM t;
ALTER TABLE t ALTER COLUMN filler SET STORAGE PLAIN;
INSERT INTO t (k, filler)
	SELECT CASE WHEN i <= 12 THEN 1000 ELSE 45000 END, repeat('x', 8100) FROM generate_series(1, 15) AS i;
VACUUM t;
DELETE FROM t WHERE id % 3 = 0 AND filler IS NULL;
});
		$primary->wait_for_catchup($standby) if $where == $standby;

		my $session = new_session($where);
		$session->query_safe(qq{
BEGIN ISOLATION LEVEL REPEATABLE READ;
SET LOCAL enable_sort = off;
SET LOCAL enable_bitmapscan = off;
SET LOCAL enable_seqscan = off;
DECLARE c SCROLL CURSOR FOR $question ORDER BY k});
		uses_index($session, "$question ORDER BY k", 't_k', 'Index Only Scan', "$what: the cursor is index-only");
		like(digest($session, 'faults.fetch(true, 10)'), qr/^10 /, "$what: the cursor has begun");
		# Until the primary has heard from the standby, its VACUUM may keep too much: all that a snapshot there might
		# have seen a moment ago. Or it may remove too much, when it does not know of the cursor's snapshot yet.
		my $xmin = $session->query_safe('SELECT pg_snapshot_xmin(pg_current_snapshot())');
		my $comparison = $where == $standby ? '=' : '<=';
		$primary->poll_query_until('postgres',
			"SELECT age(backend_xmin) $comparison age('$xmin'::xid) FROM pg_stat_replication") or die 'no feedback';

		# These are the snapshot's rows, read without the index.
		$session->query_safe('SET LOCAL enable_indexscan = off; SET LOCAL enable_indexonlyscan = off;
SET LOCAL enable_seqscan = on; SET LOCAL enable_sort = on');
		my $middle = 1 + $session->query_safe("SELECT count(*) FROM ($question) AS q WHERE k > 45000");
		my %right = map {
			my ($order, $part) = split / /, $_;
			($_ => digest($session, "(SELECT array_agg(k ORDER BY k $order) FROM ($question) AS q)[$part]"))
		} ('ASC 11:', "DESC 1:$middle", 'DESC ' . ($middle + 1) . ':', 'ASC 1:');
		my ($count) = $right{'ASC 1:'} =~ /^(\d+) /;
		cmp_ok($count, '>', 5_000, "$what: there are rows");

		my $go_on = sub {
			$primary->safe_psql('postgres', $statements) if $statements;
			$primary->wait_for_catchup($standby) if $where == $standby;
		};
		$go_on->();
		cmp_ok(sql_value($primary, q{SELECT relallvisible FROM pg_class WHERE relname = 't'}), '>', 50,
			"$what: VACUUM removed the dead rows") if $change->[0] eq 'vacuum';
		is(digest($session, 'faults.fetch(true, NULL)'), $right{'ASC 11:'}, "$what: forward");

		# The cursor stands behind the last row: the next one backward is the last.
		$go_on->();
		is(digest($session, 'faults.fetch(false, NULL, 45000)'), $right{"DESC 1:$middle"}, "$what: backward from the end");
		$go_on->();
		is(digest($session, 'faults.fetch(false, NULL)'), $right{'DESC ' . ($middle + 1) . ':'}, "$what: backward to the start");
		$go_on->();
		is(digest($session, 'faults.fetch(true, NULL)'), $right{'ASC 1:'}, "$what: forward again from before the first");
		$session->query_safe('COMMIT');
		$session->quit;
		check_sound($primary, "$what: gpu.verify finds nothing", 't_k');
	}
}

$standby->stop;
$primary->stop;
done_testing();
