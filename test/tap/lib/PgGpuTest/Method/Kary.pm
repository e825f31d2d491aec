# gpu_kary: two tables with an index each, of 8-byte and of 4-byte keys.
package PgGpuTest::Method::Kary;

use strict;
use warnings FATAL => 'all';

use parent 'PgGpuTest::Method';
use PgGpuTest::Faults;

sub name { return 'gpu_kary'; }
sub table { return 't'; }
sub indexes { return ('t_k', 'narrow_k'); }
sub some_rows { return 'k BETWEEN 10 * :low AND 10 * :low + :width'; }
sub change { return 'k = (k + 1) % 100001'; }
sub request { return 'count'; }
sub count { return q{gpu.count('t_k', ARRAY[0::int8], ARRAY[50000::int8])}; }

sub more_writes
{
	my $some_rows = 'SELECT ctid FROM narrow WHERE k BETWEEN 10 * :low AND 10 * :low + :width FOR UPDATE SKIP LOCKED';
	return (
		delete_narrow => [ "DELETE FROM narrow WHERE ctid = ANY (ARRAY($some_rows));", 3 ],
		vacuum_narrow => [ 'VACUUM (INDEX_CLEANUP ON) narrow;', 1 ]);
}

sub make
{
	my (undef, $node) = @_;
	make_table($node, rows => 20_000, with => 'WITH (fanout = 4)');
	make_table($node, rows => 2_000, name => 'narrow', type => 'int4', with => 'WITH (fanout = 2)');
	$node->safe_psql('postgres', q{
CREATE FUNCTION fill(low int, rows int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO t (k) SELECT CASE WHEN i % 97 > 0 THEN (low * 10 + i * 7919) % 100001 END FROM generate_series(1, rows) AS i;
	INSERT INTO narrow (k) SELECT (low * 10 + i * 31) % 100001 FROM generate_series(1, rows / 2) AS i;
$$;
-- Asks the same questions in each way an index can answer them, under one snapshot.
CREATE FUNCTION faults.check_method(low int, width int, pause float8) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM faults.check('t', 't_k', low * 10, low * 10 + width, pause);
	RETURN faults.check('narrow', 'narrow_k', low * 10, low * 10 + width, pause);
END $$;
});
	return;
}

1;
