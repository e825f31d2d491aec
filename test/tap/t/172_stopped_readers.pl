# suite: long
# Readers that are stopped for a few milliseconds wherever they happen to be, while an insert seals the tail. The
# tail and the run list are read under two locks: between them nothing may change sides. The row that readers look
# for is always there, in the tail or in the run that the tail has become.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest::Faults;
use PgGpuTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

fault_seed();

# How long readers are stopped at least, and what must have happened meanwhile however slow the machine is.
use constant { READERS => 4, STOPS => 200, LOOKS => 5_000, SEALS => 120 };
my $seconds = rounds(6, 60);

my $node = new_node('stopped', conf => "synchronous_commit = off\nshared_buffers = 64MB\nfull_page_writes = off\n");
$node->safe_psql('postgres', q{
CREATE TABLE t (k int8);
CREATE INDEX t_k ON t USING gpu_kary (k);
INSERT INTO t VALUES (1);
VACUUM t;

-- What was done, in hundreds of looks and in seals, without a transaction to wait for.
CREATE SEQUENCE hundreds_of_looks;
CREATE SEQUENCE seals;

-- Looks for the row until table done has a row.
CREATE TABLE done ();
CREATE PROCEDURE faults.look(INOUT looks bigint) LANGUAGE plpgsql AS $$
DECLARE
	found bigint;
BEGIN
	LOOP
		FOR i IN 1 .. 100 LOOP
			SELECT count(*) INTO found FROM t WHERE k = 1;
			IF found <> 1 THEN
				RAISE EXCEPTION '% rows instead of one', found USING ERRCODE = 'WRONG';
			END IF;
		END LOOP;
		looks := looks + 100;
		PERFORM nextval('hundreds_of_looks');
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
			PERFORM nextval('seals');
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

my ($stops, $alive, $enough) = (0, 1, 0);
my $end = time() + $seconds;
my $give_up = $end + $PostgreSQL::Test::Utils::timeout_default;
my $next_vacuum = time() + 1;
while ($alive && time() < $give_up && !($enough && time() > $end))
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
		$enough = $stops > STOPS && sql_value($node, "SELECT (SELECT last_value * 100 FROM hundreds_of_looks) > @{[LOOKS]}
			AND (SELECT last_value FROM seals) > @{[SEALS]}") eq 't';
	}
}
$node->safe_psql('postgres', 'INSERT INTO done DEFAULT VALUES');

my $sealed = finish_sql($writer);
is($sealed->{err}, '', 'the writer met no error');
cmp_ok($sealed->{out}, '>', SEALS, 'tails were sealed');
cmp_ok($stops, '>', STOPS, 'readers were stopped');
my $looks = 0;
foreach my $reader (@readers)
{
	my $looked = finish_sql($reader);
	is($looked->{err}, '', 'every look found one row');
	$looks += $looked->{out} || 0;
}
cmp_ok($looks, '>', LOOKS, 'readers looked often');
note("$stops stops, " . ($sealed->{out} + 0) . " seals, $looks looks");
check_sound($node, 'gpu.verify finds nothing', 't_k');

$node->stop;
done_testing();
