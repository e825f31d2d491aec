# suite: check
# Rows of gpu_column wait while exception blocks begin, end and fail within and around their statement, and an error in writing
# them is that statement's.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest::Faults;
use PgGpuTest::WaitingRows;
use PgGpuTest;
use PostgreSQL::Test::Utils;
use Test::More;

fault_seed();

my $node = new_node('blocks', conf => "autovacuum = off\n");
$node->safe_psql('postgres', $waiting_table);
my $rows = 20_000;

my $held = q{SELECT pid FROM pg_stat_activity WHERE application_name = 'victim' AND wait_event = 'advisory'};

# Starts a statement, cancels it where it makes the file longer, and gives its result.
sub cancelled_in_writing
{
	my ($text) = @_;
	my $holder = new_session($node);
	$holder->query_safe('SELECT pg_advisory_lock(1)');
	my $statement = start_sql($node, "LOAD 'pg_gpu'; LOAD 'pg_gpu_test'; SET pg_gpu_test.hold_extensions = 1; $text");
	wait_until(sub { return sql_value($node, $held) ne '' }) or die "doesn't stand still: $text";
	sql_value($node, "SELECT pg_cancel_backend(pid) FROM ($held) AS s");
	$holder->quit;
	return finish_sql($statement);
}

# Runs `inner` in an exception block for one of the rows.
sub make_block
{
	my ($condition, $inner) = @_;
	$node->safe_psql('postgres', "TRUNCATE waiting; CREATE OR REPLACE FUNCTION block(k int8) RETURNS int8 LANGUAGE plpgsql AS \$\$
BEGIN
	IF $condition THEN
		BEGIN
			$inner
		EXCEPTION WHEN query_canceled OR division_by_zero THEN
			RAISE WARNING 'caught inside';
		END;
	END IF;
	RETURN k;
END \$\$");
	$beside = 0;
	return;
}
my $through_block = "INSERT INTO waiting SELECT block(g), md5(g::text) FROM generate_series(1, $rows) AS g";
my $is_one_run = "SELECT count(*) FROM gpu.runs('waiting_i') WHERE entries > 10000";

# Rows wait while blocks begin and end.
make_block('true', 'PERFORM 1 / (k % 100);');
is(sql($node, "LOAD 'pg_gpu'; $through_block")->{code}, '', 'a block for each row');
has_rows($node, $rows, 'a block for each row');
# A function that executes statements has rows written before each, so they don't wait for long.
make_block('k % 100 = 0', 'k := k / 1;');
is(sql($node, "LOAD 'pg_gpu'; $through_block")->{code}, '', 'blocks');
is(sql_value($node, $is_one_run), '1', 'rows wait while blocks begin and end');
has_rows($node, $rows, 'blocks');

# Those of a block are taken back with it, and the others aren't.
foreach my $end ('', 'PERFORM 1 / 0;')
{
	my $how = $end ? 'taken back' : 'kept';
	make_block('k = 15000', "INSERT INTO waiting SELECT -g FROM generate_series(1, 5000) AS g; $end");
	is(sql($node, "LOAD 'pg_gpu'; $through_block")->{code}, '', "an INSERT in a block, $how");
	$beside = $end ? 0 : 5000;
	has_rows($node, $rows, "an INSERT in a block, $how");
	add_beside($node, 1000);
	has_rows($node, $rows, "an INSERT in a block, $how, and others came");
}
check_sound($node, 'blocks: gpu.verify', 'waiting_i');

# What is cancelled may be in a block itself, which catches the error: the session goes on.
make_block('k = 15000', 'k := k / 1;');
{
	my $result = cancelled_in_writing("DO \$\$ BEGIN $through_block; EXCEPTION WHEN query_canceled THEN RAISE WARNING 'caught outside'; END \$\$; SELECT 'goes on'");
	like($result->{err}, qr/caught outside/, 'a block around the statement catches the error');
	is($result->{code} . $result->{out}, "goes on\n", 'and the session goes on');
	has_rows($node, 0, 'cancelled in a block');
}

# An error in writing them is the statement's, also where a block that has read within it has caught it: else it would go on without their entries.
make_block('k = 15000', "PERFORM gpu.count('waiting_i', 'k > 0');");
{
	my $result = cancelled_in_writing($through_block);
	is($result->{code}, '57014', 'cancelled while a function has rows written');
	like($result->{err}, qr/caught inside/, 'which catches the error');
	has_rows($node, 0, 'cancelled while a function has rows written');
	$result = cancelled_in_writing("DO \$\$ BEGIN $through_block; EXCEPTION WHEN query_canceled THEN RAISE WARNING 'caught outside'; END \$\$; INSERT INTO waiting VALUES (-1)");
	like($result->{err}, qr/caught inside.*caught outside/s, 'a block around the statement catches it, too');
	is($result->{code}, '', 'and the session goes on');
	$beside = 1;
	has_rows($node, 0, 'the rows are taken back');
}

is(bad_log_lines($node), '', 'no process died');
$node->stop;
done_testing();
