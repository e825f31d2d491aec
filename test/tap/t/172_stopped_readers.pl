# Readers that are stopped for a few milliseconds wherever they happen to be, while an insert seals the tail. The
# tail and the run list are read under two locks: between them nothing may change sides. The row that readers look
# for is always there, in the tail or in the run that the tail has become.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuFaults;
use PgGpuTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

fault_seed();

use constant READERS => 4;
my $seconds = rounds(6, 60);

my $node = new_node('stopped', conf => "synchronous_commit = off\nshared_buffers = 64MB\nfull_page_writes = off\n");
$node->safe_psql('postgres', q{
CREATE TABLE t (k int8);
CREATE INDEX t_k ON t USING gpu_kary (k);
INSERT INTO t VALUES (1);
VACUUM t;

-- Looks for the row until there is one in done.
CREATE TABLE done ();
CREATE PROCEDURE faults.look(INOUT looks bigint) LANGUAGE plpgsql AS $$
DECLARE
	found bigint;
BEGIN
	LOOP
		FOR i IN 1 .. 1000 LOOP
			SELECT count(*) INTO found FROM t WHERE k = 1;
			IF found <> 1 THEN
				RAISE EXCEPTION '% rows instead of one', found USING ERRCODE = 'WRONG';
			END IF;
		END LOOP;
		looks := looks + 1000;
		COMMIT;
		EXIT WHEN EXISTS (SELECT FROM done);
	END LOOP;
END $$;

-- Puts the row into the tail anew, then lets the tail be sealed behind it.
CREATE PROCEDURE faults.seal(INOUT seals bigint) LANGUAGE plpgsql AS $$
BEGIN
	LOOP
		FOR i IN 1 .. 20 LOOP
			DELETE FROM t WHERE k = 1;
			INSERT INTO t VALUES (1);
			COMMIT;
			INSERT INTO t SELECT 2 FROM generate_series(1, 500);
			ROLLBACK;
		END LOOP;
		seals := seals + 20;
		EXIT WHEN EXISTS (SELECT FROM done);
	END LOOP;
END $$;
});

# A reader that was stopped for long takes the paged path, and says so once where another is forced.
my $settings = 'SET client_min_messages = warning; SET enable_seqscan = off; SET enable_bitmapscan = off; ';
my @readers = map { start_sql($node, $settings . 'CALL faults.look(0)') } 1 .. READERS;
my $writer = start_sql($node, $settings . 'CALL faults.seal(0)');
my $pids = q{SELECT pid FROM pg_stat_activity WHERE query LIKE '%CALL faults.look%' AND pid <> pg_backend_pid()};
$node->poll_query_until('postgres', "SELECT count(*) = @{[READERS]} FROM ($pids) AS p") or die 'no readers';
my @pids = split /\n/, sql_value($node, $pids);

my ($stops, $alive) = (0, 1);
my $end = time() + $seconds;
my $next_vacuum = time() + 1;
while ($alive && time() < $end)
{
	kill 'STOP', @pids;
	usleep(random_int(2_000, 4_000));
	$alive = kill('CONT', @pids) == @pids;
	usleep(random_int(300, 3_000));
	$stops++;
	if (time() > $next_vacuum)
	{
		$node->safe_psql('postgres', 'VACUUM t');
		$next_vacuum = time() + 1;
	}
}
$node->safe_psql('postgres', 'INSERT INTO done DEFAULT VALUES');

my $sealed = finish_sql($writer);
is($sealed->{err}, '', 'the writer met no error');
cmp_ok($sealed->{out}, '>', 100, 'tails were sealed');
cmp_ok($stops, '>', 100, 'readers were stopped');
foreach my $reader (@readers)
{
	my $looked = finish_sql($reader);
	is($looked->{err}, '', 'every look found one row');
	cmp_ok($looked->{out} || 0, '>', 1000, 'the reader looked often');
}
note("$stops stops, $sealed->{out} seals");
check_sound($node, 'gpu.verify finds nothing', 't_k');

$node->stop;
done_testing();
