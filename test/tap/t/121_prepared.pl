# suite: check
# Two-phase commit: index entries of a prepared transaction outlive a crash, a seal, a merge and a vacuum,
# and show exactly from COMMIT PREPARED on.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest::Faults;
use PgGpuTest;
use PostgreSQL::Test::Utils;
use Test::More;

fault_seed();

my $node = new_node('prepared');

sub matches
{
	my ($key) = @_;
	return sql_value($node, "SET enable_seqscan = off; SELECT count(*) FROM t WHERE k = $key");
}

for my $round (1 .. rounds(1, 10))
{
	$node->safe_psql('postgres', 'DROP TABLE IF EXISTS t');
	make_table($node, rows => 3_000, with => 'WITH (fanout = 2)');
	my $rows = random_int(1, 3_000);
	my $async = random_pick('on', 'off');

	# Both transactions delete, update and insert; neither's fate is known when everything else happens.
	foreach my $name ('kept', 'undone')
	{
		my $key = $name eq 'kept' ? 200_001 : 200_002;
		my $part = $name eq 'kept' ? 0 : 1;
		$node->safe_psql(
			'postgres', qq{
SET synchronous_commit = $async;
BEGIN;
INSERT INTO t (k) SELECT $key FROM generate_series(1, $rows);
SAVEPOINT s;
INSERT INTO t (k) SELECT $key FROM generate_series(1, 1000);
ROLLBACK TO s;
UPDATE t SET k = $key + 10 WHERE id <= 1000 AND id % 2 = $part;
DELETE FROM t WHERE id BETWEEN 1001 AND 2000 AND id % 2 = $part;
PREPARE TRANSACTION '$name';
});
	}
	my $moved = sql_value($node, 'SELECT count(*) FROM t WHERE id <= 1000 AND id % 2 = 0');
	foreach my $crash (1, 2)
	{
		my $what = "round $round, crash $crash, prepared";
		$node->safe_psql('postgres', 'INSERT INTO t (k) SELECT i FROM generate_series(1, 1200) AS i');
		$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) t');
		$node->safe_psql('postgres', q{SELECT count(*) FROM gpu.merge('t_k')}) if $crash == 1;
		crash_cluster($node);
		start_again($node, $what);
		is(sql_value($node, 'SELECT count(*) FROM pg_prepared_xacts'), 2, "$what: both transactions are there");
		is(matches($_), 0, "$what: $_ does not show") foreach (200_001, 200_002, 200_011, 200_012);
		check_sound($node, "$what: gpu.verify finds nothing", 't_k');
		check_answers($node, 't', $what);
	}

	my $what = "round $round, decided";
	$node->safe_psql('postgres', "COMMIT PREPARED 'kept'");
	$node->safe_psql('postgres', "ROLLBACK PREPARED 'undone'");
	foreach my $step ('', 'VACUUM (INDEX_CLEANUP ON) t', q{SELECT count(*) FROM gpu.merge('t_k')})
	{
		$node->safe_psql('postgres', $step) if $step;
		my $state = $step ? "$what, after $step" : $what;
		is(matches(200_001), $rows, "$state: rows of the committed one");
		is(matches(200_011), $moved, "$state: its updates");
		is(matches($_), 0, "$state: nothing of the other") foreach (200_002, 200_012);
	}
	check_usable($node, 't', $what);
}

$node->stop;
done_testing();
