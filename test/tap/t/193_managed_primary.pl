# suite: check
# doc/managed-primary.md: its statements on a primary without pg_gpu and a subscriber with it, in the page's order. Both give the same answers after each step,
# the subscriber by a GpuQuery.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $page = slurp_file("$FindBin::RealBin/../../../doc/managed-primary.md");
my @blocks = $page =~ /^```(\w*\n.*?)^```$/msg;
cmp_ok(scalar @blocks, '>=', 10, 'the page has statements');

my $primary = new_cluster('primary', streaming => 1, extension => 0, conf => "wal_level = logical\n");
my $subscriber = new_cluster('subscriber', streaming => 1, extension => 0);
my $connection = $primary->connstr . ' dbname=postgres user=analytics';
my $question;

sub check_answers
{
	my ($name) = @_;
	$primary->wait_for_catchup('analytics');
	like($subscriber->safe_psql('postgres', "SET pg_gpu.path = host; EXPLAIN $question"), qr/Custom Scan \(GpuQuery\)/, "$name: a GpuQuery is asked");
	my $answer = $subscriber->safe_psql('postgres', "SET pg_gpu.path = host; $question");
	isnt($answer, '', "$name: there are rows");
	is($answer, $primary->safe_psql('postgres', $question), "$name: the answers are the same");
	return;
}

for my $block (@blocks)
{
	if ($block =~ /^sh\n(.*)/s)
	{
		local $ENV{PRIMARY} = $primary->connstr('postgres');
		local $ENV{PGHOST} = $subscriber->host;
		local $ENV{PGPORT} = $subscriber->port;
		local $ENV{PGDATABASE} = 'postgres';
		system_or_bail('bash', '-o', 'pipefail', '-c', $1);
		next;
	}
	$block =~ /^\n-- on the (primary|subscriber)(, by GpuQuery)?\n(.*)/s or BAIL_OUT("where does this run? $block");
	my ($where, $is_question, $sql) = ($1, $2, $3);
	$sql =~ s/CONNECTION '[^']*'/CONNECTION '$connection'/;
	if ($is_question)
	{
		$question = $sql;
		check_answers('the page');
		next;
	}
	($where eq 'primary' ? $primary : $subscriber)->safe_psql('postgres', $sql);
	$subscriber->wait_for_subscription_sync($primary, 'analytics') if $sql =~ /SUBSCRIPTION/;
	check_answers('after a change') if $question && $sql =~ /INSERT|ALTER/ && $where eq 'primary';
}
is($subscriber->safe_psql('postgres', 'SELECT count(*) FROM store'), '2', 'a table that was added later is copied');
is($subscriber->safe_psql('postgres', q{SELECT channel FROM sale WHERE id = 200001}), 'web', 'and so is a new column');

$primary->safe_psql('postgres', q{
	UPDATE sale SET price = price + 1 WHERE id % 11 = 0;
	DELETE FROM sale WHERE id % 17 = 0;
	BEGIN; UPDATE product SET category = 'none'; ROLLBACK;
	UPDATE product SET category = 'moved' WHERE id % 3 = 0;
	INSERT INTO sale SELECT g, timestamptz '2026-05-20 00:00+00', 5, 2.5, 1, 'web' FROM generate_series(200002, 230000) g;
});
check_answers('after many changes');
$subscriber->safe_psql('postgres', 'VACUUM sale, product');
check_answers('after VACUUM');
$primary->safe_psql('postgres', 'TRUNCATE sale; INSERT INTO sale SELECT g, now(), 1 + g % 9, 1, 1 FROM generate_series(1, 60000) g');
check_answers('after TRUNCATE');

$subscriber->safe_psql('postgres', 'DROP SUBSCRIPTION analytics');
is($primary->safe_psql('postgres', 'SELECT count(*) FROM pg_replication_slots'), '0', 'the primary keeps no slot');
$subscriber->stop;
$primary->stop;
done_testing();
