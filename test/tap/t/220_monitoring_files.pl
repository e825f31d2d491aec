# suite: check
# contrib/monitoring: each query of queries.yaml runs for a role that may only monitor and gives the columns that the file
# names, and the dashboard asks for no metric or label that the queries don't give.

use strict;
use warnings FATAL => 'all';

use FindBin;
use JSON::PP qw(decode_json);
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use PgGpuTest::Faults;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $folder = "$FindBin::RealBin/../../../contrib/monitoring";

# The part of YAML that the file is written in: name, query as a literal block, and a line for each column.
my (%query, @order);
{
	my ($name, $in_query);
	foreach my $line (split /\n/, slurp_file("$folder/queries.yaml"))
	{
		next if $line =~ /^\s*(#|$)/;
		if ($line =~ /^(\w+):$/) { ($name, $in_query) = ($1, 0); push @order, $name; $query{$name} = { sql => '', columns => {} }; }
		elsif ($line eq '  query: |') { $in_query = 1; }
		elsif ($line =~ /^  (?:metrics:|master: true)$/) { $in_query = 0; }
		elsif ($in_query && $line =~ /^    (.*)/) { $query{$name}{sql} .= "$1\n"; }
		elsif ($line =~ /^    - (\w+): \{usage: "(LABEL|GAUGE|COUNTER)", description: "[^"]+"\}$/) { $query{$name}{columns}{$1} = $2; }
		else { fail("queries.yaml: what is \"$line\"?"); }
	}
}
cmp_ok(scalar @order, '>=', 6, 'queries.yaml has queries');

my $node = new_node('monitoring', conf => "pg_gpu.path = paged\nautovacuum = off\n");
make_table($node, rows => 20_000, keys => 10_000);
$node->safe_psql('postgres', q{
	CREATE ROLE exporter IN ROLE pg_monitor;
	CREATE TABLE part (k int) PARTITION BY RANGE (k);
	CREATE TABLE part_one PARTITION OF part DEFAULT;
	CREATE INDEX part_k ON part USING gpu_column (k)});

# Returns the rows of a query as hashes, by the role of an exporter.
sub rows_of
{
	my ($name) = @_;
	my $json = $node->safe_psql('postgres', "SET ROLE exporter; SELECT coalesce(json_agg(r), '[]') FROM ($query{$name}{sql}) AS r");
	return @{ decode_json($json) };
}

# What PostgreSQL says of the columns, also where there is no row.
sub columns_of
{
	my ($name) = @_;
	$node->safe_psql('postgres', "CREATE VIEW of_query AS $query{$name}{sql}");
	my %type = split /[|\n]/, $node->safe_psql('postgres',
		q{SELECT attname, typcategory FROM pg_attribute JOIN pg_type ON pg_type.oid = atttypid WHERE attrelid = 'of_query'::regclass AND attnum > 0});
	$node->safe_psql('postgres', 'DROP VIEW of_query');
	return \%type;
}

foreach my $state ('nothing has happened', 'after requests')
{
	if ($state eq 'after requests')
	{
		$node->safe_psql('postgres', q{SET client_min_messages = error; SET pg_gpu.path = host; SET pg_gpu.mirror = manual;
			SELECT count(*) FROM gpu.lookup('t_k', ARRAY(SELECT g FROM generate_series(0, 2000) AS g)); SELECT gpu.load('t_k');
			SELECT count(*) FROM gpu.lookup('t_k', ARRAY(SELECT g FROM generate_series(0, 2000) AS g)); SELECT * FROM gpu.merge('t_k')});
	}
	foreach my $name (@order)
	{
		my $columns = $query{$name}{columns};
		my $types = columns_of($name);
		is_deeply([ sort keys %$types ], [ sort keys %$columns ], "$state: $name gives the columns that it names");
		is(join(' ', grep { $types->{$_} ne ($columns->{$_} eq 'LABEL' ? 'S' : 'N') } sort keys %$columns), '', "$state: $name: labels are text, all else numbers");
		my @labels = grep { $columns->{$_} eq 'LABEL' } sort keys %$columns;
		my (%seen, @wrong);
		foreach my $row (rows_of($name))
		{
			push @wrong, "$_ is null" foreach grep { !defined $row->{$_} } @labels;
			my $key = join("\0", map { $row->{$_} // '' } @labels);
			push @wrong, "twice: $key" if $seen{$key}++;
		}
		is_deeply(\@wrong, [], "$state: $name: no two rows have the same labels");
		cmp_ok(scalar keys %seen, '>', 0, "$state: $name has rows") if $state eq 'after requests' || $name =~ /^pg_gpu_(server|index)/;
	}
}
my ($server) = rows_of('pg_gpu_server');
is($server->{up}, 1, 'the server process is up');
my @latencies = grep { $_->{path} eq 'paged' && $_->{request} eq 'lookup' } rows_of('pg_gpu_latency');
is(scalar(grep { $_->{le} eq '+Inf' } @latencies), 1, 'a histogram ends with +Inf');
my %bounds;
push @{ $bounds{"$_->{path} $_->{request}"} }, $_->{le} foreach rows_of('pg_gpu_latency');
my %lists = map { join(' ', sort @$_) => 1 } values %bounds;
cmp_ok(scalar keys %bounds, '>', 1, 'there are several');
is(scalar keys %lists, 1, 'with the same bounds, so that they can be added up');

# ---- the dashboard --------------------------------------------------------------------------------------------------

my (%metric, %label);
foreach my $name (@order)
{
	my $columns = $query{$name}{columns};
	$label{$_} = 1 foreach grep { $columns->{$_} eq 'LABEL' } keys %$columns;
	$metric{"${name}_$_"} = { map { $_ => 1 } 'instance', grep { $columns->{$_} eq 'LABEL' } keys %$columns } foreach grep { $columns->{$_} ne 'LABEL' } keys %$columns;
}
my $dashboard = decode_json(slurp_file("$folder/dashboard.json"));
my %variable = map { $_->{name} => 1 } @{ $dashboard->{templating}{list} };
my (%asked, %ids);
foreach my $panel (@{ $dashboard->{panels} })
{
	my $title = $panel->{title};
	ok(!$ids{ $panel->{id} }++, "panel \"$title\" has a number of its own");
	foreach my $target (@{ $panel->{targets} })
	{
		my $expression = $target->{expr};
		my @metrics = $expression =~ /\b(pg_gpu_\w+)/g;
		is(join(' ', grep { !$metric{$_} } @metrics), '', "panel \"$title\": the queries give its metrics");
		ok(@metrics, "panel \"$title\" asks for one");
		$asked{$_} = 1 foreach @metrics;
		my @used = (map { split /,\s*/ } $expression =~ /\bby \(([^)]*)\)/g), $expression =~ /[{,]\s*(\w+)(?:=~|!~|!=|=)"/g, ($target->{legendFormat} // '') =~ /\{\{(\w+)\}\}/g;
		foreach my $name (grep { $metric{$_} } @metrics)
		{
			is(join(' ', grep { !$metric{$name}{$_} } @used), '', "panel \"$title\": and their labels");
		}
		is(join(' ', grep { !/^__/ && !$variable{$_} } $expression =~ /\$(\w+)/g), '', "panel \"$title\": its variables are the dashboard's");
	}
}
# Grafana makes one row of those that agree in all columns which the answers have in common, and a metric's name is a column of its answer.
foreach my $panel (grep { grep { $_->{id} eq 'merge' } @{ $_->{transformations} // [] } } @{ $dashboard->{panels} })
{
	my %by = map { ($_->{expr} =~ /^max by \(([^)]*)\) \(/ ? $1 : 'a name') => 1 } @{ $panel->{targets} };
	is_deeply([ keys %by ], ['instance, datname, index_name, method'], "panel \"$panel->{title}\": its answers differ in their values alone");
}
foreach my $variable (grep { $_->{type} eq 'query' } @{ $dashboard->{templating}{list} })
{
	my ($name, $values) = $variable->{query}{query} =~ /^label_values\((\w+), (\w+)\)$/;
	ok($metric{$name} && $metric{$name}{$values}, "variable $variable->{name}: the queries give its values");
}
cmp_ok(scalar keys %asked, '>', 15, 'the dashboard shows most of them');

is(bad_log_lines($node), '', 'nothing died');
$node->stop;
done_testing();
