# suite: check
# What one session has found out of heap blocks serves the others, where the library is preloaded: also those that begin later, and
# those on a standby, until a block changes. Older snapshots, rewritten tables, tables for which there is no room, and a crash of
# PostgreSQL are asked about as well. 175_block_facts.pl has the random changes.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use PgGpuTest::Faults;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Hint bits that are logged would change pages.
my $settings = "shared_preload_libraries = 'pg_gpu'\nautovacuum = off\npg_gpu.path = paged\nmax_prepared_transactions = 2\nwal_log_hints = off\n";
my $primary = new_node('primary', streaming => 1, checksums => 0, conf => $settings . "shared_buffers = 16MB\n");
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "hot_standby_feedback = on\nmax_standby_streaming_delay = -1\n");
$standby->start;

# A table whose blocks aren't all-visible, with rows of which none has been looked at. Half of each page is free, so that no
# reader rids it of dead rows, which would be a change as well.
sub make_changed
{
	my ($name) = @_;
	$primary->safe_psql('postgres', "CREATE TABLE $name (k int4, t text) WITH (fillfactor = 50);
INSERT INTO $name SELECT i, 'x' FROM generate_series(1, 5000) AS i;
ALTER TABLE $name SET (fillfactor = 90);
CREATE INDEX ${name}_k ON $name USING gpu_kary (k);
CREATE INDEX ${name}_c ON $name USING gpu_column (k);
DELETE FROM $name WHERE k % 10 = 0");
}

# Of any session: the rows by the index, then by the table itself.
sub count_of
{
	my ($table) = @_;
	return "SELECT gpu.count('${table}_k', ARRAY[1], ARRAY[5000])";
}

sub in_table
{
	my ($table) = @_;
	return "SET pg_gpu.enable_count_scan = off; SET pg_gpu.enable_query = off; SELECT count(*) FROM $table WHERE k + 0 BETWEEN 1 AND 5000";
}

# Does a statement of this session answer without a look at more than a few rows?
my $few = 0;
sub knows
{
	my ($session, $table) = @_;
	my $plan = $session->query_safe("SET enable_seqscan = off; SET enable_bitmapscan = off;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT count(*) FROM $table WHERE k BETWEEN 1 AND 5000");
	return $plan =~ /GpuCount.*Heap Fetches: (\d+)/s ? ($1 <= $few ? 't' : 'f') : $plan;
}

# What a session that has asked nothing yet knows, what it answers, and what is right.
sub first_answer
{
	my ($node, $table) = @_;
	my $session = new_session($node);
	my $answer = join ' ', knows($session, $table), $session->query_safe(count_of($table)), $session->query_safe(in_table($table));
	$session->quit;
	return $answer;
}

make_changed('one');
$primary->wait_for_catchup($standby);
foreach my $node ($primary, $standby)
{
	my $name = $node->name;
	is(first_answer($node, 'one'), 'f 4500 4500', "$name: nobody has looked yet");
	is(first_answer($node, 'one'), 't 4500 4500', "$name: a new session knows what another one found");
}

# Nor does it look at pages, as long as its snapshot sees what the other's did.
sub looks_at_pages
{
	my ($session) = @_;
	knows($session, 'one');
	return $session->query_safe(q{SELECT sum(requests) > 0 FROM gpu.stat WHERE request = 'block facts'});
}
my @late = map { new_session($primary) } 1 .. 3;
looks_at_pages($late[0]);
is(looks_at_pages($late[1]), 'f', 'pages that another session has looked at are not looked at again');
$primary->safe_psql('postgres', 'SELECT pg_current_xact_id()');
is(looks_at_pages($late[2]), 't', 'once a transaction has ended they are');
$_->quit foreach @late;

# A look serves every snapshot that was taken before it, also another one than that of the session which looked.
make_changed('another');
my ($snapshot, $looker) = map { new_session($primary) } 1 .. 2;
my $pages = sub { return $_[0]->query_safe(q{SELECT coalesce(sum(requests), 0) FROM gpu.stat WHERE request = 'block facts'}) };
$snapshot->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; ' . count_of('another'));
knows($snapshot, 'another');
my $looked = $pages->($snapshot);
$primary->safe_psql('postgres', 'SELECT pg_current_xact_id()');
ok(looks_at_pages($looker) eq 't', 'a session looks after a transaction has ended');
is(knows($snapshot, 'one') . ' ' . ($pages->($snapshot) - $looked), 't 0', 'an earlier snapshot needs no look of its own');
$primary->safe_psql('postgres', 'DELETE FROM one WHERE k = 4999; INSERT INTO one VALUES (4999)');
is(knows($looker, 'one') . ' ' . $looker->query_safe(count_of('one')), 'f 4500', 'a page or two change, which the session reads');
is($snapshot->query_safe(count_of('one')) . ' ' . $snapshot->query_safe(in_table('one')), '4500 4500', 'the earlier snapshot sees what it did');
my $later = new_session($primary);
is(knows($later, 'one') . ' ' . $later->query_safe(count_of('one')) . ' ' . $later->query_safe(in_table('one')), 't 4500 4500', 'a later one what is new');
$_->quit foreach $snapshot, $looker, $later;

# Each page changes, so nothing is known; then it is, to everyone.
$primary->safe_psql('postgres', 'DELETE FROM one WHERE k % 10 = 1');
$primary->wait_for_catchup($standby);
foreach my $node ($primary, $standby)
{
	my $name = $node->name;
	is(first_answer($node, 'one'), 'f 4000 4000', "$name: changes are noticed");
	is(first_answer($node, 'one'), 't 4000 4000', "$name: and found out once");
}

# A session learns what others found after it had looked itself, and keeps to its own snapshot.
my $early = new_session($primary);
$early->query_safe(count_of('one'));
my $old = new_session($primary);
is($old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; ' . count_of('one')), 4000, 'a snapshot');
$primary->safe_psql('postgres', "UPDATE one SET t = 'hot' WHERE k % 10 = 2; DELETE FROM one WHERE k % 10 = 3");
is(first_answer($primary, 'one'), 'f 3500 3500', 'changes are found out by a session');
is(knows($early, 'one'), 't', 'another one that was there before has no need to look itself');
is($early->query_safe(count_of('one')), 3500, 'and has the right answer');
is($old->query_safe(count_of('one')) . ' ' . $old->query_safe(in_table('one')), '4000 4000', 'an older snapshot sees what it did');
is($old->query_safe('COMMIT; ' . count_of('one')), 3500, 'the next one what is new');
$early->quit;
$old->quit;

# What has ended beside transactions that go on is known to later snapshots of all sessions, but not to earlier ones, nor to
# the transaction that had not ended. Each is asked before and after the others have told what they found.
my $open = new_session($primary);
$open->query_safe("BEGIN; INSERT INTO one SELECT 4, 'open' FROM generate_series(1, 100)");
my $before = new_session($primary);
is($before->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; ' . count_of('one')), 3500, 'a snapshot beside an open transaction');
my $writer = new_session($primary);
$writer->query_safe('BEGIN; DELETE FROM one WHERE k % 10 = 4');
my $between = new_session($primary);
is($between->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; ' . count_of('one')), 3500, 'a snapshot beside two');
$writer->query_safe('COMMIT');
# Of a page or two with rows of the open transaction nothing can be known.
$few = 150;
is(first_answer($primary, 'one'), 'f 3000 3000', 'one of them has ended: looked at');
is(first_answer($primary, 'one'), 't 3000 3000', 'and known');
foreach my $again (1, 2)
{
	is($before->query_safe(count_of('one')) . ' ' . $before->query_safe(in_table('one')), '3500 3500', "the earlier snapshot, $again");
	is($between->query_safe(count_of('one')) . ' ' . $between->query_safe(in_table('one')), '3500 3500', "the one between, $again");
	is($open->query_safe(count_of('one')) . ' ' . $open->query_safe(in_table('one')), '3100 3100', "the open transaction, $again");
	is(first_answer($primary, 'one'), 't 3000 3000', "a new session, $again");
}
$few = 0;
$writer->query_safe("BEGIN; DELETE FROM one WHERE k % 10 = 5; PREPARE TRANSACTION 'kept'");
is(first_answer($primary, 'one') =~ s/^[ft] //r, '3000 3000', 'a prepared transaction, ' . $_) foreach 1, 2;
$open->query_safe('COMMIT');
is(first_answer($primary, 'one') =~ s/^[ft] //r, '3100 3100', 'a prepared transaction alone, ' . $_) foreach 1, 2;
$primary->safe_psql('postgres', "COMMIT PREPARED 'kept'");
is(first_answer($primary, 'one') =~ s/^[ft] //r, '2600 2600', 'it has ended, ' . $_) foreach 1, 2;
foreach ($before, $between)
{
	is($_->query_safe(count_of('one')) . ' ' . $_->query_safe(in_table('one')), '3500 3500', 'the old snapshots once more');
	$_->quit;
}
$open->quit;
$writer->quit;

# The same blocks of other files, and the same file shorter and longer again.
$primary->safe_psql('postgres', 'ALTER TABLE one SET (fillfactor = 50); VACUUM FULL one; ALTER TABLE one SET (fillfactor = 90); DELETE FROM one WHERE k % 10 = 6');
is(first_answer($primary, 'one'), 'f 2100 2100', 'a rewritten table');
is(first_answer($primary, 'one'), 't 2100 2100', 'and again');
$primary->safe_psql('postgres', 'DELETE FROM one');
is(first_answer($primary, 'one') =~ s/^[ft] //r, '0 0', 'no rows');
$primary->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) one');
$primary->safe_psql('postgres', "ALTER TABLE one SET (fillfactor = 50); INSERT INTO one SELECT i, 'again' FROM generate_series(1, 3000) AS i;
	ALTER TABLE one SET (fillfactor = 90); DELETE FROM one WHERE k % 10 = 0");
is(first_answer($primary, 'one') =~ s/^[ft] //r, '2700 2700', 'a table that was cut off and has grown, ' . $_) foreach 1, 2;

# A session that was told of pages with more rows than it has met so far.
$primary->safe_psql('postgres', 'CREATE TABLE narrow (k int4); INSERT INTO narrow SELECT i FROM generate_series(1, 5000) AS i;
CREATE INDEX narrow_k ON narrow USING gpu_kary (k); CREATE INDEX narrow_c ON narrow USING gpu_column (k); DELETE FROM narrow WHERE k % 10 = 0');
my $wide = new_session($primary);
$wide->query_safe(count_of('one'));
is(first_answer($primary, 'narrow') =~ s/^[ft] //r, '4500 4500', 'pages with many rows, ' . $_) foreach 1, 2;
is($wide->query_safe(count_of('narrow')) . ' ' . $wide->query_safe(count_of('narrow')), '4500 4500', 'in a session that had pages with few');
is($wide->query_safe(count_of('one')), 2700, 'which are right still');
$wide->quit;

# Of a group it learns what others have told since: of some blocks, of more changes than are noted, and of those that held when it asked before.
my $learner = new_session($primary);
my $left = 2700;
is($learner->query_safe(count_of('one')), $left, 'a session that learns');
my $tell = sub
{
	my ($condition, $deleted) = @_;
	$primary->safe_psql('postgres', "DELETE FROM one WHERE $condition");
	$left -= $deleted;
	is(first_answer($primary, 'one'), "f $left $left", "others find out what $condition has changed");
};
$tell->('k BETWEEN 1001 AND 1100', 90);
is(knows($learner, 'one') . ' ' . $learner->query_safe(count_of('one')), "t $left", 'it learns of some blocks');
$tell->("k % 10 = $_", 300 - 10) foreach 1, 2, 3;
is(knows($learner, 'one') . ' ' . $learner->query_safe(count_of('one')), "t $left", 'of all blocks, which have changed several times');
my $held = $left;
is($learner->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; ' . count_of('one')), $held, 'a snapshot');
$tell->('k BETWEEN 2001 AND 2100', 60);
is($learner->query_safe(count_of('one')), $held, 'while blocks hold nothing new is learned of them');
$learner->query_safe('COMMIT');
is(knows($learner, 'one') . ' ' . $learner->query_safe(count_of('one')), "t $left", 'but afterwards');
$learner->quit;

# More tables than there is room for: 16 MB of buffers are 2,048 pages, and a table takes a place for 64 of them.
$primary->safe_psql('postgres', q{DO $$ BEGIN FOR i IN 1 .. 120 LOOP
	EXECUTE format('CREATE TABLE many_%s WITH (fillfactor = 50) AS SELECT g AS k, repeat(%L, 50) AS t FROM generate_series(1, 500) AS g', i, 'x');
	EXECUTE format('CREATE INDEX many_%s_k ON many_%s USING gpu_kary (k)', i, i);
	EXECUTE format('CREATE INDEX many_%s_c ON many_%s USING gpu_column (k)', i, i);
	EXECUTE format('ALTER TABLE many_%s SET (fillfactor = 90)', i);
	EXECUTE format('DELETE FROM many_%s WHERE k <= %s', i, i);
END LOOP; END $$});
my $asks_all = q{DO $$ BEGIN FOR i IN 1 .. 120 LOOP
	IF gpu.count(format('many_%s_k', i)::regclass, ARRAY[1], ARRAY[500]) <> 500 - i THEN RAISE EXCEPTION 'table %', i; END IF;
END LOOP; END $$};
is(query_error($primary, $asks_all), '', 'more tables than there is room for, ' . $_) foreach 1, 2;
my $answer;
ok(wait_until(sub { $answer = first_answer($primary, 'many_120'); return $answer ne 'f 380 380' }), 'those that were not asked about for a while make room');
is($answer, 't 380 380', 'for others');

# Nothing of it is left after a crash.
$primary->stop('immediate');
$primary->start;
is(first_answer($primary, 'one'), "f $left $left", 'after a crash nothing is known');
is(first_answer($primary, 'one'), "t $left $left", 'until somebody looks');

$standby->stop;
$primary->stop;
done_testing();
