# suite: check
# A hot standby has a server process of its own, with mirrors of what it has replayed, before and after its promotion.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest::Faults;
use PgGpuTest::Server;
use PgGpuTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

fault_seed();

my $seconds = rounds(2, 60);
my $preload = "shared_preload_libraries = 'pg_gpu'\n";
my $primary = new_node('primary', streaming => 1, conf => "${preload}autovacuum_naptime = 1s\nmax_wal_size = 4GB\n");
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "hot_standby_feedback = on\nmax_standby_streaming_delay = -1\n");
$standby->start;
ok(wait_for_server($standby), 'preloaded, a server process starts on the standby');
isnt(server_pid($standby), wait_for_server($primary), 'which is not the primary\'s');

make_table($primary, rows => 20_000, with => 'WITH (fanout = 4)');
$primary->wait_for_catchup($standby);
cmp_ok(sql_value($standby, "SET pg_gpu.path = host; SELECT gpu.load('t_k')"), '>', 0, 'gpu.load works on a standby');

my %mix = (insert => 6, insert_one => 4, savepoint => 2, delete => 4, update => 4, vacuum => 3, merge => 1);
my $writers = start_clients($primary, workload('t', %mix), clients => 3, seconds => $seconds, options => HOST);
my $readers = start_clients($standby, workload('t', check => 2, slow_check => 1), clients => 3, seconds => $seconds, options => HOST);
finish_clients($_) foreach ($writers, $readers);
is(client_errors([$writers]), '', 'no errors on the primary');
is(client_errors([$readers]), '', 'no errors and no wrong answers on the standby');
cmp_ok(client_transactions([$readers]), '>', 2, 'the standby answered during replay');
cmp_ok(sql_value($standby, q{SELECT coalesce(sum(requests), 0) FROM gpu.stat WHERE path = 'host' AND request IN ('lookup', 'range', 'count')}),
	'>', 10, 'from mirrors');
$primary->wait_for_catchup($standby);
{
	local $ENV{PGOPTIONS} = HOST;
	check_answers($standby, 't', 'standby');
}

my $server = server_pid($standby);
$primary->stop;
$standby->promote;
{
	local $ENV{PGOPTIONS} = HOST;
	check_answers($standby, 't', 'promoted');
	is(server_pid($standby), $server, 'the server process stays over a promotion');
	$writers = start_clients($standby, workload('t', %mix, check => 4), clients => 4, seconds => $seconds, options => HOST);
	finish_clients($writers);
	is(client_errors([$writers]), '', 'it takes writes, and answers rightly');
	cmp_ok(client_transactions([$writers]), '>', 3, 'each of them');
	check_usable($standby, 't', 'promoted');
}
is(bad_log_lines($_), '', $_->name . ': nothing died') foreach ($primary, $standby);
$standby->stop;
done_testing();
