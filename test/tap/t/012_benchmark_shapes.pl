# suite: check
# The statements of the benchmarks `tpch` and `hits` (test/bench) over few rows: each is answered by PostgreSQL's own plan, and by the plan that the planner
# chooses with pg_gpu on the host path, with the same rows in the same order.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $bench = "$FindBin::RealBin/../../bench";
my $node = new_cluster('main', conf => "pg_gpu.request_timeout = 60s\nfsync = off\n");

my %ways = (
	without => join('', map { "SET pg_gpu.$_ = off;\n" } qw(enable_query enable_count_scan)) . "SET enable_bitmapscan = off;\n",
	host => "SET pg_gpu.path = host;\n");

# The names and texts of a benchmark's statements.
sub statements
{
	my ($name) = @_;
	my @lines = split(/\n/, slurp_file("$bench/$name.tsv"));
	return map { [ (split(/\t/))[ 0, 1 ] ] } @lines;
}

# What each of the statements gives, asked in one session.
sub answers
{
	my ($database, $settings, @texts) = @_;
	my $mark = 'the next statement';
	my $output = $node->safe_psql($database, $settings . join('', map { "$_;\n\\echo $mark\n" } @texts));
	my @answers = split(/^$mark\n?/m, $output, -1);
	return @answers[ 0 .. $#texts ];
}

# `size` sets the tables' size; so many statements must be nodes' in part at least.
sub compare
{
	my ($name, $size, $at_least) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $name");
	$node->safe_psql($name, 'CREATE EXTENSION pg_gpu');
	$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-v', $size, '-f', "$bench/$name.sql", '-d', $node->connstr($name) ], "$name: the tables are made");
	my @statements = statements($name);
	my @texts = map { $_->[1] } @statements;
	my @expected = answers($name, $ways{without}, @texts);
	my $empty = grep { $_ eq '' } @expected;
	cmp_ok($empty, '<', @statements / 3, "$name: most statements have rows");
	my @found = answers($name, $ways{host}, @texts);
	is($found[$_], $expected[$_], "$statements[$_][0] by the server process") foreach 0 .. $#statements;
	my @plans = answers($name, $ways{host}, map { "EXPLAIN (COSTS OFF) $_" } @texts);
	my @by_nodes = grep { $plans[$_] =~ /Custom Scan \(Gpu/ } 0 .. $#plans;
	cmp_ok(scalar @by_nodes, '>=', $at_least, "$name: nodes answer " . join(', ', map { $statements[$_][0] } @by_nodes));
	return;
}

compare('tpch', 'scale=0.01', 10);
compare('hits', 'rows=20000', 34);
is($node->safe_psql('hits', "SELECT sum(requests) > 20 FROM gpu.stat WHERE path = 'host'"), 't', 'the server process has answered');

$node->stop;
done_testing();
